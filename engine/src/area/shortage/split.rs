//! Claims on energy that limits withhold, and their proportional split.
//!
//! Vehicles of one class (a node and a deadline) share the sum `S` of what is missing:
//!
//! ```text
//! share_v = min( want_v, S·(want_v / q_v) / Σ_u (want_u / q_u) )
//! ```
//!
//! `want_v` is the energy wanted by that deadline and `q_v` the priority. What the cap at `want_v`
//! leaves over is shared among the others in the same way.
use crate::area::model::sessions::Sessions;

/// Energy that one vehicle wants by one deadline, and the part of it that is missing.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    /// Node, and first slot after the deadline. Claims of one class share what is missing.
    pub(crate) class: (u32, u32),
    /// Position of the vehicle.
    pub(crate) position: usize,
    /// Deadline before departure, a position in `Deadlines::needs`; `None` for departure.
    pub(crate) stage: Option<usize>,
    /// Energy wanted by then, in µWh.
    wanted: i64,
    /// Energy missing by then, in µWh.
    pub(crate) missing: i64,
    /// Priority of the vehicle, as a part of the largest one.
    priority: f32,
}

impl Claim {
    /// Claim of the vehicle at `position` by the deadline `stage`.
    pub(crate) fn new(
        sessions: &Sessions,
        position: usize,
        stage: Option<usize>,
        missing: i64,
    ) -> Self {
        let session = &sessions.each[position];
        let (end, wanted) = match (stage, sessions.deadlines_of(session)) {
            (Some(stage), Some(deadlines)) => (deadlines.end_of(stage), deadlines.needs[stage]),
            _ => (session.end, session.need),
        };
        let class = (session.node, end);
        Self { class, position, stage, wanted, missing, priority: session.priority }
    }

    /// Weight of the claim in a split.
    fn weight(&self) -> f64 {
        self.wanted as f64 / f64::from(self.priority)
    }
}

/// Splits what each class misses among its claims, and sorts these by vehicle and deadline.
pub(crate) fn split_by_class(claims: &mut [Claim]) {
    claims.sort_by_key(|claim| (claim.class, claim.position, claim.stage));
    for members in claims.chunk_by_mut(|a, b| a.class == b.class) {
        let missing = members.iter().map(|claim| claim.missing).sum();
        split_proportionally(members, missing);
    }
    claims.sort_by_key(|claim| (claim.position, claim.stage));
}

/// Splits `missing` µWh among the claims in proportion to want over priority, each part capped at
/// its want.
pub(crate) fn split_proportionally(claims: &mut [Claim], missing: i64) {
    for claim in claims.iter_mut() {
        claim.missing = 0;
    }
    let mut left = missing;
    let mut open: Vec<&mut Claim> = claims.iter_mut().collect();
    while left > 0 && !open.is_empty() {
        let weights: f64 = open.iter().map(|claim| claim.weight()).sum();
        // Parts are rounded up; those at their cap leave the next pass.
        let before = left;
        let total = left as f64;
        for claim in &mut open {
            let part = (total * claim.weight() / weights.max(1.0)).ceil() as i64;
            let part = part.min(claim.wanted - claim.missing).min(left);
            claim.missing += part;
            left -= part;
        }
        open.retain(|claim| claim.missing < claim.wanted);
        if left == before {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Claims of one class, from pairs of want and priority.
    fn claims(wants: &[(i64, u8)]) -> Vec<Claim> {
        let claim = |(position, &(wanted, priority)): (usize, &(i64, u8))| Claim {
            class: (0, 0),
            position,
            stage: None,
            wanted,
            missing: 0,
            priority: f32::from(priority),
        };
        wants.iter().enumerate().map(claim).collect()
    }

    proptest! {
        /// Shares add up to the shortage and none exceeds its want. Shares below their want are
        /// equal in proportion to want over priority.
        #[test]
        fn shares_are_even(
            wants in prop::collection::vec((0..1_000_000i64, 1..5u8), 1..20),
            missing in 0..10_000_000i64,
        ) {
            let mut claims = claims(&wants);
            split_proportionally(&mut claims, missing);
            let all: i64 = wants.iter().map(|(want, _)| want).sum();
            let shared: i64 = claims.iter().map(|claim| claim.missing).sum();
            prop_assert_eq!(shared, missing.min(all));
            let part = |claim: &Claim| claim.missing as f64 / claim.weight();
            for claim in &claims {
                prop_assert!((0..=claim.wanted).contains(&claim.missing));
                let is_open = claim.missing < claim.wanted;
                let mut others = claims.iter().filter(|other| other.wanted > 1_000);
                // Rounding up gives the first ones 1 µWh more in each pass.
                let is_even = |other: &Claim| part(other) <= part(claim) + 0.1;
                prop_assert!(!is_open || claim.wanted < 1_000 || others.all(is_even));
            }
        }

        /// The sum of each class stays as it was, and claims come back in the order of vehicles.
        #[test]
        fn classes_keep_their_sums(
            wants in prop::collection::vec((0..1_000_000i64, 1..5u8, 0..3u32, 0.0..1.0f64), 1..20),
        ) {
            let of_all: Vec<(i64, u8)> = wants.iter().map(|&(want, q, ..)| (want, q)).collect();
            let mut claims = claims(&of_all);
            for (claim, &(want, _, node, part)) in claims.iter_mut().zip(&wants) {
                (claim.class, claim.missing) = ((node, 0), (want as f64 * part) as i64);
            }
            let sum = |claims: &[Claim], node: u32| -> i64 {
                let members = claims.iter().filter(|claim| claim.class.0 == node);
                members.map(|claim| claim.missing).sum()
            };
            let before: Vec<i64> = (0..3).map(|node| sum(&claims, node)).collect();
            split_by_class(&mut claims);
            prop_assert_eq!((0..3).map(|node| sum(&claims, node)).collect::<Vec<_>>(), before);
            prop_assert!(claims.is_sorted_by_key(|claim| claim.position));
            prop_assert!(claims.iter().all(|claim| claim.missing <= claim.wanted));
        }
    }
}

//! Shortfall of each vehicle, and proportional shares of a shortage.
//!
//! Vehicles of one class (a node and a deadline) share the sum `S` of their shortfalls:
//!
//! ```text
//! share_v = min( want_v, S·(want_v / q_v) / Σ_w (want_w / q_w) )
//! ```
//!
//! `want_v` is the energy wanted by that deadline and `q_v` the priority. What the cap at `want_v`
//! leaves over is shared among the others in the same way.
use std::collections::{BTreeMap, BTreeSet};

use crate::area::model::energy_by_slot::EnergyBySlot;
use crate::area::model::session::Session;
use crate::area::model::sessions::Sessions;
use crate::area::pricing::buffers::PricingBuffers;
use crate::area::pricing::context::PricingContext;
use crate::area::recovery::plans::{PlanReader, PricesByClass};
use crate::area::solve::subproblem::{Solution, Subproblem};
use crate::tolerance::SHORTFALL_TOLERANCE;

/// Shortfall of one vehicle, in µWh.
#[derive(Debug, Clone, Default)]
pub(crate) struct VehicleShortfall {
    /// Largest shortfall at any deadline, at most the need.
    pub(crate) missing: i64,
    /// Shortfall at each deadline before the last; empty without such deadlines.
    pub(crate) by_deadline: Vec<i64>,
    /// First deadline before the last whose shortfall is `missing`; `None` if that is the last.
    pub(crate) by: Option<usize>,
}

impl VehicleShortfall {
    /// This shortfall in proportion to another total `missing`, with `by` as its worst deadline and
    /// `stages` deadlines before the last.
    fn scaled(&self, missing: i64, by: Option<usize>, stages: usize) -> Self {
        let part = |stage: usize| {
            let most = self.by_deadline.get(stage).copied().unwrap_or(0);
            let part = i128::from(most) * i128::from(missing) / i128::from(self.missing.max(1));
            if by == Some(stage) { missing } else { (part as i64).min(missing) }
        };
        let stages = if missing > 0 { stages } else { 0 };
        Self {
            missing,
            by_deadline: (0..stages).map(part).collect(),
            by: by.filter(|_| missing > 0),
        }
    }
}

/// Copy of `sessions` with each need reduced by the vehicle's share. Energy that is late for an
/// intermediate deadline stays wanted by departure, at the late penalty.
pub(crate) fn reduce_needs(sessions: &Sessions, shares: &[VehicleShortfall]) -> Sessions {
    let later = |share: &VehicleShortfall| if share.by.is_some() { share.missing } else { 0 };
    let needs = sessions.each.iter().zip(shares);
    let needs = needs.map(|(session, share)| session.need - share.missing + later(share));
    let mut cut = sessions.with_needs(&needs.collect::<Vec<i64>>());
    for (session, share) in cut.each.iter().zip(shares) {
        if let Some(deadlines) = sessions.deadlines.get(session.deadlines as usize) {
            let without = deadlines.reduced_by(&share.by_deadline, session.need, later(share));
            cut.deadlines[session.deadlines as usize] = without;
        }
    }
    cut
}

/// Shortfall of each vehicle in `solution`, planned with the sessions `now`, against the needs of
/// the sessions `before`. In the order of the sessions.
pub(crate) fn measure(
    subproblem: &Subproblem<'_>,
    (before, now): (&Sessions, &Sessions),
    solution: &Solution,
) -> Vec<VehicleShortfall> {
    let (context, context_before) = (subproblem.context(now), subproblem.context(before));
    let by_class = PricesByClass::new(
        &context,
        subproblem.constraints,
        &solution.assignment,
        &solution.prices,
    );
    let plans =
        PlanReader { context: &context, assignment: &solution.assignment, prices: &by_class };
    let (mut buffers, mut taken) = (PricingBuffers::default(), EnergyBySlot::new());
    let mut shortfalls = vec![VehicleShortfall::default(); now.each.len()];
    for block in &now.blocks {
        for position in block.sessions.clone() {
            plans.plan(block.group, position, &mut buffers, &mut taken);
            shortfalls[position] =
                shortfall_of_vehicle(&context_before, before, &before.each[position], &taken);
        }
    }
    shortfalls
}

/// Shortfall of a plan against the need of `session`, deadline by deadline.
pub(crate) fn shortfall_of_vehicle(
    context: &PricingContext<'_>,
    sessions: &Sessions,
    session: &Session,
    taken: &EnergyBySlot,
) -> VehicleShortfall {
    // Levels of batteries are rounded: 1 µWh may be missing beyond the need.
    let missing = context.shortfall_of(session, taken).missing.min(session.need);
    let deadlines = sessions.deadlines.get(session.deadlines as usize).filter(|_| missing > 0);
    let before =
        deadlines.map_or_else(Vec::new, |deadlines| deadlines.shortfall_by_deadline(taken));
    // By rounding, slightly more may be missing at departure than at the deadline before.
    let by = before.iter().position(|&at| at + SHORTFALL_TOLERANCE >= missing);
    VehicleShortfall { missing, by_deadline: before, by }
}

/// Pools shortfalls of vehicles with the same node, departure and deadlines.
///
/// Only pools whose whole shortfall is due at one deadline are changed. The total of each deadline
/// is split in proportion to the energy wanted by it over priority.
fn pool_equal_deadlines(
    sessions: &Sessions,
    shortfalls: &[VehicleShortfall],
) -> Vec<VehicleShortfall> {
    let mut alike: BTreeMap<(u32, u32, Vec<u32>), Vec<usize>> = BTreeMap::new();
    for (at, session) in sessions.each.iter().enumerate() {
        if let Some(deadlines) = sessions.deadlines.get(session.deadlines as usize) {
            let ends =
                (0..deadlines.needs.len() - 1).map(|stage| deadlines.end_of(stage)).collect();
            alike.entry((session.node, session.last, ends)).or_default().push(at);
        }
    }
    let mut pooled = shortfalls.to_vec();
    for ((.., ends), members) in alike {
        let of_stage =
            |at: usize, stage: usize| shortfalls[at].by_deadline.get(stage).copied().unwrap_or(0);
        let sums = (0..ends.len()).map(|stage| members.iter().map(|&at| of_stage(at, stage)).sum());
        let sums: Vec<i64> = sums.collect();
        let all: i64 = members.iter().map(|&at| shortfalls[at].missing).sum();
        let slack = SHORTFALL_TOLERANCE * members.len() as i64;
        // The pool must miss everything by one deadline, up to rounding.
        let Some(by) = sums.iter().position(|&sum| all > slack && sum + slack >= all) else {
            continue;
        };
        let shares = |missing: i64, stage: usize| {
            let want = |&at: &usize| {
                let session = &sessions.each[at];
                (sessions.deadlines[session.deadlines as usize].needs[stage], session.priority)
            };
            split_proportionally(missing, &members.iter().map(want).collect::<Vec<_>>())
        };
        // Split the pool's shortfall at that deadline, then at the others, where none exceeds it.
        for (&at, missing) in members.iter().zip(shares(all, by)) {
            pooled[at] =
                VehicleShortfall { missing, by_deadline: vec![missing; ends.len()], by: Some(by) };
        }
        for (stage, &sum) in sums.iter().enumerate().filter(|&(stage, _)| stage != by) {
            for (&at, share) in members.iter().zip(shares(sum, stage)) {
                pooled[at].by_deadline[stage] = share.min(pooled[at].missing);
            }
        }
    }
    pooled
}

/// Redistributes the shortfall of each (node, deadline) in proportion to need over priority, capped
/// at the need. Totals per (node, deadline) do not change.
pub(crate) fn proportional_shares(
    sessions: &Sessions,
    shortfalls: &[VehicleShortfall],
) -> Vec<VehicleShortfall> {
    let shortfalls = &pool_equal_deadlines(sessions, shortfalls);
    let deadlines_of = |at: usize| sessions.deadlines.get(sessions.each[at].deadlines as usize);
    let ends = |at: usize, stage: usize| deadlines_of(at).map(|deadlines| deadlines.end_of(stage));
    let early = |at: usize, by: Option<usize>| Some((sessions.each[at].node, ends(at, by?)?));
    // Deadlines before departure that are some vehicle's worst, by node.
    let missed: BTreeSet<(u32, u32)> = shortfalls
        .iter()
        .enumerate()
        .filter_map(|(at, shortfall)| early(at, shortfall.by))
        .collect();
    // A vehicle without shortfall joins the class of its first deadline that others miss.
    let own = |at: usize| {
        let stages = deadlines_of(at).map_or(0, |deadlines| deadlines.needs.len() - 1);
        let is_missed = |&by: &usize| early(at, Some(by)).is_some_and(|of| missed.contains(&of));
        (0..stages).find(is_missed)
    };
    let by: Vec<Option<usize>> = (0..shortfalls.len())
        .map(|at| if shortfalls[at].missing > 0 { shortfalls[at].by } else { own(at) })
        .collect();
    // Class of a vehicle: its node and the slot after its worst deadline, or its departure.
    let class = |at: usize| {
        let end = early(at, by[at]).map_or(sessions.each[at].last, |(_, end)| end);
        (sessions.each[at].node, end)
    };
    let want = |at: usize| {
        by[at].map_or(sessions.each[at].need, |by| {
            deadlines_of(at).map_or(0, |deadlines| deadlines.needs[by])
        })
    };
    // Split the shortfall of each class.
    let mut order: Vec<usize> = (0..shortfalls.len()).collect();
    order.sort_by_key(|&at| (class(at), at));
    let mut shares = vec![VehicleShortfall::default(); shortfalls.len()];
    for members in order.chunk_by(|&a, &b| class(a) == class(b)) {
        let left = members.iter().map(|&at| shortfalls[at].missing).sum();
        let wants: Vec<(i64, f32)> =
            members.iter().map(|&at| (want(at), sessions.each[at].priority)).collect();
        for (&at, share) in members.iter().zip(split_proportionally(left, &wants)) {
            let stages = deadlines_of(at).map_or(0, |deadlines| deadlines.needs.len() - 1);
            shares[at] = shortfalls[at].scaled(share, by[at], stages);
        }
    }
    shares
}

/// Splits `missing` in proportion to want over priority, each part capped at its want. `wants` are
/// pairs of want in µWh and priority.
pub(crate) fn split_proportionally(missing: i64, wants: &[(i64, f32)]) -> Vec<i64> {
    let mut shares = vec![0; wants.len()];
    let mut left = missing;
    let mut open: Vec<usize> = (0..wants.len()).collect();
    while left > 0 && !open.is_empty() {
        let weight = |at: usize| wants[at].0 as f64 / f64::from(wants[at].1);
        let weights: f64 = open.iter().map(|&at| weight(at)).sum();
        // Parts are rounded up; those at their cap leave the next pass.
        let before = left;
        let total = left as f64;
        for &at in &open {
            let part = (total * weight(at) / weights.max(1.0)).ceil() as i64;
            let part = part.min(wants[at].0 - shares[at]).min(left);
            shares[at] += part;
            left -= part;
        }
        open.retain(|&at| shares[at] < wants[at].0);
        if left == before {
            break;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Shares add up to the shortage and none exceeds its want. Shares below their want are
        /// equal in proportion to want over priority.
        #[test]
        fn shares_are_even(
            wants in prop::collection::vec((0..1_000_000i64, 1..5u8), 1..20),
            missing in 0..10_000_000i64,
        ) {
            let wants: Vec<(i64, f32)> =
                wants.into_iter().map(|(want, priority)| (want, f32::from(priority))).collect();
            let shares = split_proportionally(missing, &wants);
            let all: i64 = wants.iter().map(|(want, _)| want).sum();
            prop_assert_eq!(shares.iter().sum::<i64>(), missing.min(all));
            let part = |at: usize| shares[at] as f64 * f64::from(wants[at].1) / wants[at].0 as f64;
            for (at, &share) in shares.iter().enumerate() {
                prop_assert!((0..=wants[at].0).contains(&share));
                let is_open = share < wants[at].0;
                let others = (0..shares.len()).filter(|&other| wants[other].0 > 1_000);
                // Rounding up gives the first ones 1 µWh more in each pass.
                let is_even = |other: usize| part(other) <= part(at) + 0.1;
                prop_assert!(!is_open || wants[at].0 < 1_000 || others.into_iter().all(is_even));
            }
        }
    }

    #[test]
    fn a_share_is_missed_where_as_much_was_missed() {
        let found = VehicleShortfall { missing: 8, by_deadline: vec![2, 8, 4], by: Some(1) };
        let half = found.scaled(4, found.by, 3);
        assert_eq!((half.missing, half.by_deadline, half.by), (4, vec![1, 4, 2], Some(1)));
        // A vehicle without shortfall gets a share at its second deadline.
        let none = VehicleShortfall::default().scaled(5, Some(1), 2);
        assert_eq!((none.missing, none.by_deadline, none.by), (5, vec![0, 5], Some(1)));
        let nothing = found.scaled(0, Some(1), 3);
        assert_eq!((nothing.by_deadline.len(), nothing.by), (0, None));
    }
}

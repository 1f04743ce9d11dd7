//! What vehicles go without, and how those share it that could take each other's place.
use std::collections::{BTreeMap, BTreeSet};

use crate::area::model::energy_by_slot::Taken;
use crate::area::model::session::Stay;
use crate::area::model::sessions::Stays;
use crate::area::pricing::buffers::Scratch;
use crate::area::pricing::context::Asked;
use crate::area::problem::micro_wh::GRAINS_IGNORED;
use crate::area::recovery::plans::{Plans, Signals};
use crate::area::solve::subproblem::{Coordinated, Task};

/// What a vehicle goes without.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lack {
    pub(crate) missing: i64,
    /// What is missing by each deadline before the last, if it has some.
    pub(crate) before: Vec<i64>,
    /// The first of these by which as much is missing as in all.
    pub(crate) by: Option<usize>,
}

impl Lack {
    /// The same for another amount.
    fn scaled(&self, missing: i64, by: Option<usize>, stages: usize) -> Self {
        let part = |stage: usize| {
            let most = self.before.get(stage).copied().unwrap_or(0);
            let part = i128::from(most) * i128::from(missing) / i128::from(self.missing.max(1));
            if by == Some(stage) { missing } else { (part as i64).min(missing) }
        };
        let stages = if missing > 0 { stages } else { 0 };
        Self { missing, before: (0..stages).map(part).collect(), by: by.filter(|_| missing > 0) }
    }
}

/// The same vehicles without what they are to go without. What is missed at a
/// deadline is wanted by departure all the same, but less than all else.
pub(crate) fn cut(stays: &Stays, shares: &[Lack]) -> Stays {
    let later = |share: &Lack| if share.by.is_some() { share.missing } else { 0 };
    let needs = stays.each.iter().zip(shares);
    let needs = needs.map(|(stay, share)| stay.need - share.missing + later(share));
    let mut cut = stays.with_needs(&needs.collect::<Vec<i64>>());
    for (stay, share) in cut.each.iter().zip(shares) {
        if let Some(wishes) = stays.wishes.get(stay.wishes as usize) {
            let without = wishes.without(&share.before, stay.need, later(share));
            cut.wishes[stay.wishes as usize] = without;
        }
    }
    cut
}

/// What each vehicle goes without of what it asked for, in the order of the stays.
pub(crate) fn lacks(
    task: &Task<'_>,
    (before, now): (&Stays, &Stays),
    done: &Coordinated,
) -> Vec<Lack> {
    let (asked, asked_before) = (task.asked(now), task.asked(before));
    let signals = Signals::new(&asked, task.terms, &done.settled, &done.prices);
    let plans = Plans { asked: &asked, settled: &done.settled, signals: &signals };
    let (mut scratch, mut taken) = (Scratch::default(), Taken::new());
    let mut lacks = vec![Lack::default(); now.each.len()];
    for block in &now.blocks {
        for position in block.stays.clone() {
            plans.plan(block.group, position, &mut scratch, &mut taken);
            lacks[position] = lack_of(&asked_before, before, &before.each[position], &taken);
        }
    }
    lacks
}

/// Need of `stay` that a plan leaves unmet, deadline by deadline.
pub(crate) fn lack_of(asked: &Asked<'_>, stays: &Stays, stay: &Stay, taken: &Taken) -> Lack {
    // Levels of batteries are rounded: a grain may be missing beyond the need.
    let missing = asked.missing(stay, taken).need.min(stay.need);
    let wishes = stays.wishes.get(stay.wishes as usize).filter(|_| missing > 0);
    let before = wishes.map_or_else(Vec::new, |wishes| wishes.missing_before(taken));
    // A grain may be missing at departure that was there before.
    let by = before.iter().position(|&at| at + GRAINS_IGNORED >= missing);
    Lack { missing, before, by }
}

/// The same sums, deadline by deadline, among vehicles of one node that have the
/// same deadlines, where one of these is what all of them miss most.
fn evened(stays: &Stays, found: &[Lack]) -> Vec<Lack> {
    let mut alike: BTreeMap<(u32, u32, Vec<u32>), Vec<usize>> = BTreeMap::new();
    for (at, stay) in stays.each.iter().enumerate() {
        if let Some(wishes) = stays.wishes.get(stay.wishes as usize) {
            let ends = (0..wishes.needs.len() - 1).map(|stage| wishes.end_of(stage)).collect();
            alike.entry((stay.node, stay.last, ends)).or_default().push(at);
        }
    }
    let mut evened = found.to_vec();
    for ((.., ends), members) in alike {
        let of_stage = |at: usize, stage: usize| found[at].before.get(stage).copied().unwrap_or(0);
        let sums = (0..ends.len()).map(|stage| members.iter().map(|&at| of_stage(at, stage)).sum());
        let sums: Vec<i64> = sums.collect();
        let all: i64 = members.iter().map(|&at| found[at].missing).sum();
        let slack = GRAINS_IGNORED * members.len() as i64;
        let Some(by) = sums.iter().position(|&sum| all > slack && sum + slack >= all) else {
            continue;
        };
        let shares = |missing: i64, stage: usize| {
            let want = |&at: &usize| {
                let stay = &stays.each[at];
                (stays.wishes[stay.wishes as usize].needs[stage], stay.priority)
            };
            evenly(missing, &members.iter().map(want).collect::<Vec<_>>())
        };
        for (&at, missing) in members.iter().zip(shares(all, by)) {
            evened[at] = Lack { missing, before: vec![missing; ends.len()], by: Some(by) };
        }
        for (stage, &sum) in sums.iter().enumerate().filter(|&(stage, _)| stage != by) {
            for (&at, share) in members.iter().zip(shares(sum, stage)) {
                evened[at].before[stage] = share.min(evened[at].missing);
            }
        }
    }
    evened
}

/// The same sums by node and deadline, spread in proportion to need over
/// priority, no vehicle going without more than it needs.
pub(crate) fn equal_shares(stays: &Stays, found: &[Lack]) -> Vec<Lack> {
    let found = &evened(stays, found);
    let wishes = |at: usize| stays.wishes.get(stays.each[at].wishes as usize);
    let ends = |at: usize, stage: usize| wishes(at).map(|wishes| wishes.end_of(stage));
    let early = |at: usize, by: Option<usize>| Some((stays.each[at].node, ends(at, by?)?));
    let missed: BTreeSet<(u32, u32)> =
        found.iter().enumerate().filter_map(|(at, lack)| early(at, lack.by)).collect();
    // Who lacks nothing bears a part of what others miss at a deadline of its own.
    let own = |at: usize| {
        let stages = wishes(at).map_or(0, |wishes| wishes.needs.len() - 1);
        let is_missed = |&by: &usize| early(at, Some(by)).is_some_and(|of| missed.contains(&of));
        (0..stages).find(is_missed)
    };
    let by: Vec<Option<usize>> = (0..found.len())
        .map(|at| if found[at].missing > 0 { found[at].by } else { own(at) })
        .collect();
    let class = |at: usize| {
        let end = early(at, by[at]).map_or(stays.each[at].last, |(_, end)| end);
        (stays.each[at].node, end)
    };
    let want = |at: usize| {
        by[at].map_or(stays.each[at].need, |by| wishes(at).map_or(0, |wishes| wishes.needs[by]))
    };
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|&at| (class(at), at));
    let mut shares = vec![Lack::default(); found.len()];
    for members in order.chunk_by(|&a, &b| class(a) == class(b)) {
        let left = members.iter().map(|&at| found[at].missing).sum();
        let wants: Vec<(i64, f32)> =
            members.iter().map(|&at| (want(at), stays.each[at].priority)).collect();
        for (&at, share) in members.iter().zip(evenly(left, &wants)) {
            let stages = wishes(at).map_or(0, |wishes| wishes.needs.len() - 1);
            shares[at] = found[at].scaled(share, by[at], stages);
        }
    }
    shares
}

/// Parts of what is missing, in proportion to what each wants over its priority,
/// and none larger than what it wants.
pub(crate) fn evenly(missing: i64, wants: &[(i64, f32)]) -> Vec<i64> {
    let mut shares = vec![0; wants.len()];
    let mut left = missing;
    let mut open: Vec<usize> = (0..wants.len()).collect();
    while left > 0 && !open.is_empty() {
        let weight = |at: usize| wants[at].0 as f64 / f64::from(wants[at].1);
        let weights: f64 = open.iter().map(|&at| weight(at)).sum();
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
        /// Shares add up, nobody bears more than it wants, and of two who could bear
        /// more the one that wants more over its priority bears more.
        #[test]
        fn shares_are_even(
            wants in prop::collection::vec((0..1_000_000i64, 1..5u8), 1..20),
            missing in 0..10_000_000i64,
        ) {
            let wants: Vec<(i64, f32)> =
                wants.into_iter().map(|(want, priority)| (want, f32::from(priority))).collect();
            let shares = evenly(missing, &wants);
            let all: i64 = wants.iter().map(|(want, _)| want).sum();
            prop_assert_eq!(shares.iter().sum::<i64>(), missing.min(all));
            let part = |at: usize| shares[at] as f64 * f64::from(wants[at].1) / wants[at].0 as f64;
            for (at, &share) in shares.iter().enumerate() {
                prop_assert!((0..=wants[at].0).contains(&share));
                let is_open = share < wants[at].0;
                let others = (0..shares.len()).filter(|&other| wants[other].0 > 1_000);
                // Rounding up gives the first ones a grain each time.
                let is_even = |other: usize| part(other) <= part(at) + 0.1;
                prop_assert!(!is_open || wants[at].0 < 1_000 || others.into_iter().all(is_even));
            }
        }
    }

    #[test]
    fn a_share_is_missed_where_as_much_was_missed() {
        let found = Lack { missing: 8, before: vec![2, 8, 4], by: Some(1) };
        let half = found.scaled(4, found.by, 3);
        assert_eq!((half.missing, half.before, half.by), (4, vec![1, 4, 2], Some(1)));
        // Who misses nothing bears a share at its second deadline.
        let none = Lack::default().scaled(5, Some(1), 2);
        assert_eq!((none.missing, none.before, none.by), (5, vec![0, 5], Some(1)));
        let nothing = found.scaled(0, Some(1), 3);
        assert_eq!((nothing.before.len(), nothing.by), (0, None));
    }
}

//! Shortfall of each vehicle, and its share of a shortage.
use std::collections::{BTreeMap, BTreeSet};

use crate::area::model::energy_by_slot::EnergyBySlot;
use crate::area::model::session::Session;
use crate::area::model::sessions::Sessions;
use crate::area::pricing::buffers::PricingBuffers;
use crate::area::pricing::context::PricingContext;
use crate::area::recovery::plans::{PlanReader, PricesByClass};
use crate::area::shortage::split::{Claim, split_by_class, split_proportionally};
use crate::area::solve::area_instance::{AreaInstance, Solution};
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
    for (position, share) in shares.iter().enumerate() {
        let session = cut.each[position];
        if let (Some(before), Some(now)) =
            (sessions.deadlines_of(&session), cut.deadlines_of_mut(&session))
        {
            *now = before.reduced_by(&share.by_deadline, session.need, later(share));
        }
    }
    cut
}

/// Shortfall of each vehicle in `solution`, planned with the sessions `now`, against the needs of
/// the sessions `before`. In the order of the sessions.
pub(crate) fn measure(
    instance: &AreaInstance<'_>,
    (before, now): (&Sessions, &Sessions),
    solution: &Solution,
) -> Vec<VehicleShortfall> {
    let (context, context_before) = (instance.context(now), instance.context(before));
    let Solution { assignment, duals_by_round, .. } = solution;
    let by_class = PricesByClass::new(&context, instance.constraints, assignment, duals_by_round);
    let plans = PlanReader { context: &context, assignment, prices: &by_class };
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
    let deadlines = sessions.deadlines_of(session).filter(|_| missing > 0);
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
        if let Some(deadlines) = sessions.deadlines_of(session) {
            let ends =
                (0..deadlines.needs.len() - 1).map(|stage| deadlines.end_of(stage)).collect();
            alike.entry((session.node, session.end, ends)).or_default().push(at);
        }
    }
    let mut pooled = shortfalls.to_vec();
    for ((.., ends), members) in alike {
        // Claims of the pool, deadline by deadline.
        let claim = |at: usize, stage: usize| {
            let missing = shortfalls[at].by_deadline.get(stage).copied().unwrap_or(0);
            Claim::new(sessions, at, Some(stage), missing)
        };
        let claims_at = |stage| members.iter().map(|&at| claim(at, stage)).collect();
        let mut claims: Vec<Vec<Claim>> = (0..ends.len()).map(claims_at).collect();
        let sum = |claims: &Vec<Claim>| claims.iter().map(|claim| claim.missing).sum();
        let sums: Vec<i64> = claims.iter().map(sum).collect();
        let all: i64 = members.iter().map(|&at| shortfalls[at].missing).sum();
        let slack = SHORTFALL_TOLERANCE * members.len() as i64;
        // The pool must miss everything by one deadline, up to rounding.
        let Some(by) = sums.iter().position(|&sum| all > slack && sum + slack >= all) else {
            continue;
        };
        for (stage, claims) in claims.iter_mut().enumerate() {
            split_proportionally(claims, if stage == by { all } else { sums[stage] });
        }
        // No share at another deadline exceeds the one at `by`.
        for (number, at) in members.into_iter().enumerate() {
            let missing = claims[by][number].missing;
            let parts = claims.iter().map(|claims| claims[number].missing.min(missing));
            pooled[at] = VehicleShortfall { missing, by_deadline: parts.collect(), by: Some(by) };
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
    let stages_of = |position: usize| {
        let deadlines = sessions.deadlines_of(&sessions.each[position]);
        deadlines.map_or(0, |deadlines| deadlines.needs.len() - 1)
    };
    let claim = |position: usize, by: Option<usize>| {
        Claim::new(sessions, position, by, shortfalls[position].missing)
    };
    // Deadlines before departure that are some vehicle's worst, by node.
    let early = shortfalls.iter().enumerate().filter(|(_, shortfall)| shortfall.by.is_some());
    let missed: BTreeSet<(u32, u32)> =
        early.map(|(position, shortfall)| claim(position, shortfall.by).class).collect();
    let claim_of = |(position, shortfall): (usize, &VehicleShortfall)| {
        if shortfall.missing > 0 {
            return claim(position, shortfall.by);
        }
        // A vehicle without shortfall joins the class of its first deadline that others miss.
        let mut own = (0..stages_of(position)).map(|stage| claim(position, Some(stage)));
        own.find(|claim| missed.contains(&claim.class)).unwrap_or_else(|| claim(position, None))
    };
    let mut claims: Vec<Claim> = shortfalls.iter().enumerate().map(claim_of).collect();
    split_by_class(&mut claims);
    let shares = claims.iter().zip(shortfalls);
    shares
        .map(|(share, before)| before.scaled(share.missing, share.stage, stages_of(share.position)))
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use std::ops::ControlFlow;

    use super::*;
    use crate::area::column_generation::search_state::{StoppingCriteria, Termination};
    use crate::area::distributed::executor::Executor;
    use crate::area::distributed::observer::{Hooks, Progress};
    use crate::area::model::energy_by_slot::Assignment;
    use crate::area::model::rooms::Rooms;
    use crate::area::pricing::effective_prices::ShortfallPenalty;
    use crate::area::problem::micro_wh::{as_kwh, to_micro_wh};
    use crate::area::problem::options::WarmStart;
    use crate::area::recovery::totals::AreaLoad;
    use crate::area::recovery::totals::tests::{Car, Town, car, plan};

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

    /// Calls `work` with an area that is planned to a thousandth of its cost.
    pub(crate) fn with_instance<R>(
        town: &Town,
        work: impl FnOnce(&AreaInstance<'_>, &Sessions, &mut Executor<'_>) -> R,
    ) -> R {
        town.with(|problem, sessions, constraints| {
            let base = constraints.shortfall_penalty;
            let rooms = Rooms::default();
            let instance = AreaInstance {
                rooms: &rooms,
                problem,
                constraints,
                penalty: ShortfallPenalty::uniform(base),
                is_free: false,
                stopping: StoppingCriteria { gap: 1e-3, rounds_max: 100, scale: 1.0 },
                money: 10.0,
            };
            let mut to_the_end = |_: &Progress| ControlFlow::Continue(());
            let hooks = Hooks::new(&mut to_the_end);
            work(&instance, sessions, &mut Executor::new(hooks, sessions))
        })
    }

    /// A solution of given plans.
    fn solution_of(instance: &AreaInstance<'_>, plans: Vec<EnergyBySlot>) -> Solution {
        let constraints = instance.constraints;
        let assignment = Assignment::of_plans(plans.len(), plans);
        let duals_by_round = vec![vec![0.0; constraints.each.len() * constraints.slots()]];
        Solution {
            assignment,
            duals_by_round,
            load: AreaLoad::default(),
            bound: f64::NEG_INFINITY,
            duals: Vec::new(),
            termination: Termination::Stalled,
            rounds: 0,
            warm_start: WarmStart::default(),
        }
    }

    fn missing(kwh: f64) -> VehicleShortfall {
        VehicleShortfall { missing: to_micro_wh(kwh), ..VehicleShortfall::default() }
    }

    #[track_caller]
    pub(crate) fn assert_near(found: &[f64], expected: &[f64]) {
        let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-3);
        assert!(near && found.len() == expected.len(), "{found:?}, not {expected:?}");
    }

    fn missing_kwh(shortfalls: &[VehicleShortfall]) -> Vec<f64> {
        shortfalls.iter().map(|shortfall| as_kwh(shortfall.missing)).collect()
    }

    #[test]
    fn the_worst_deadline_is_measured_and_its_energy_stays_wanted() {
        let cars = [Car { target: Some((1, 6.0)), ..car(2, 10.0) }, Car { node: 1, ..car(2, 5.0) }];
        let town = Town::new(&[10, 20], &cars, &[Some(20.0), None]);
        with_instance(&town, |instance, sessions, _| {
            // 1 of 6 kWh by the first hour and 8 of 10 in the end; 4 of 5 kWh.
            let plans = vec![plan(&[(0, 1.0), (1, 7.0)]), plan(&[(0, 4.0)])];
            let solution = solution_of(instance, plans);
            let found = measure(instance, (sessions, sessions), &solution);
            assert_near(&missing_kwh(&found), &[5.0, 1.0]);
            assert_eq!((found[0].by, found[1].by), (Some(0), None));
            assert_eq!(found[0].by_deadline, [to_micro_wh(5.0)]);
            let cut = reduce_needs(sessions, &found);
            let needs = cut.each.iter().map(|session| as_kwh(session.need));
            assert_eq!(needs.collect::<Vec<f64>>(), [10.0, 4.0]);
            let deadlines = &cut.deadlines[0];
            assert_eq!(deadlines.needs, [to_micro_wh(1.0), to_micro_wh(10.0)]);
            assert_eq!(deadlines.later, to_micro_wh(5.0));
        });
    }

    #[test]
    fn vehicles_of_a_node_share_in_proportion_to_their_needs() {
        let cars = [(1, 10.0), (1, 30.0), (2, 20.0)].map(|(node, kwh)| Car { node, ..car(4, kwh) });
        let town = Town::new(&[10; 4], &cars, &[Some(9.0), None, None]);
        town.with(|_, sessions, _| {
            // 8 kWh of the first node in parts of 10 and 30; the second node is for itself.
            let shares = proportional_shares(sessions, &[missing(8.0), missing(0.0), missing(5.0)]);
            assert_near(&missing_kwh(&shares), &[2.0, 6.0, 5.0]);
        });
    }

    #[test]
    fn half_the_priority_bears_twice_the_share() {
        let cars = [1.0, 0.5].map(|priority| Car { priority, ..car(2, 10.0) });
        let town = Town::new(&[10; 2], &cars, &[Some(9.0)]);
        town.with(|_, sessions, _| {
            let shares = proportional_shares(sessions, &[missing(9.0), missing(0.0)]);
            assert_near(&missing_kwh(&shares), &[3.0, 6.0]);
            // No more than the need: 15 of 20 kWh are 5 and 10.
            let shares = proportional_shares(sessions, &[missing(10.0), missing(6.5)]);
            assert_near(&missing_kwh(&shares), &[6.5, 10.0]);
        });
    }

    #[test]
    fn vehicles_that_miss_one_deadline_share_what_is_missing_there() {
        let cars = [4.0, 8.0].map(|kwh| Car { target: Some((1, kwh)), ..car(2, 15.0) });
        let town = Town::new(&[10; 2], &cars, &[Some(9.0)]);
        town.with(|_, sessions, _| {
            let of = |kwh: f64| VehicleShortfall {
                missing: to_micro_wh(kwh),
                by_deadline: vec![to_micro_wh(kwh)],
                by: Some(0),
            };
            // 6 kWh in proportion to the 4 and 8 kWh wanted by then.
            let shares = proportional_shares(sessions, &[of(4.0), of(2.0)]);
            assert_near(&missing_kwh(&shares), &[2.0, 4.0]);
            assert_eq!(shares[1].by_deadline, [to_micro_wh(4.0)]);
            assert_eq!((shares[0].by, shares[1].by), (Some(0), Some(0)));
        });
    }

    proptest! {
        #[test]
        fn a_class_misses_as_much_before_and_after_sharing(
            cars in prop::collection::vec((1..3u32, 1..4i64, 1.0..30.0f64, 0.1..1.0f64), 1..10),
            parts in prop::collection::vec(0.0..1.0f64, 10),
        ) {
            let of = |&(node, hours, kwh, priority): &(u32, i64, f64, f64)| {
                Car { node, priority, ..car(hours, kwh) }
            };
            let cars: Vec<Car> = cars.iter().map(of).collect();
            let town = Town::new(&[10; 4], &cars, &[Some(9.0), None, None]);
            town.with(|_, sessions, _| {
                let found: Vec<VehicleShortfall> = sessions.each.iter().zip(&parts)
                    .map(|(session, part)| missing(as_kwh(session.need) * part)).collect();
                let shares = proportional_shares(sessions, &found);
                let sum = |all: &[VehicleShortfall], class: (u32, u32)| {
                    let members = sessions.each.iter().zip(all);
                    members.filter(|(one, _)| (one.node, one.end) == class)
                        .map(|(_, shortfall)| shortfall.missing).sum::<i64>()
                };
                for (session, share) in sessions.each.iter().zip(&shares) {
                    let class = (session.node, session.end);
                    assert_eq!(sum(&found, class), sum(&shares, class));
                    assert!((0..=session.need).contains(&share.missing));
                }
            });
        }
    }
}

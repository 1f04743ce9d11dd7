//! Plans of a large fleet from the master solution of a sample, without columns of all vehicles.
//!
//! A plan of all vehicles needs one pricing problem for each: at the duals of the column that it
//! follows. Which columns, and in which proportion, a sample tells. Its loads differ from those of
//! all vehicles by the sampling error `e`. It is measured on the plans of all vehicles, and the
//! sample is solved again with bounds that make up for it:
//!
//! ```text
//! sample         min cost   with   s_l·Σ_(v in sample) x_v <= p·( b_l - s_l·e_l )  ,  e = 0 at first
//! plans          vehicle v of all follows the column of round k in the proportion θ_gk
//! error          e_l = load_l of the plans - (load_l of the sample's solution) / p
//! certificate    gap = ( cost of the plans after repair - D(λ) ) / scale
//! ```
//!
//! The error hardly depends on the solution: of two similar ones most vehicles have the same plan.
//! It is therefore measured first on one pricing round at the sample's best duals, which takes half
//! the time of plans and proves a bound, and then on the plans. So corrected plans are within the
//! bounds `b` up to a part of the first error, and repair moves the rest. `D(λ)` is the Lagrangian
//! bound of all vehicles, from that round, and from one at newer duals if it is too low. Plans that
//! miss the requested gap or any need are dropped, and rounds of all vehicles follow as for a
//! smaller fleet.
//!
//! | Symbol | Code |
//! |---|---|
//! | `p` | `SampleSearch::part` |
//! | `θ_gk` | [`SampleSolution::weights`] |
//! | `e` | [`SampleSearch::price_error`], [`SampleSearch::error_of`], [`move_bounds`] |
//! | `D(λ)` | `PricingOracle::bound_of` |
//!
//! A coarse problem whose right-hand side is corrected by its measured error is the τ-correction of
//! multigrid methods (A. Brandt, Multi-level adaptive solutions to boundary-value problems,
//! Mathematics of Computation 31, 1977). A sample in place of all vehicles is a sample average
//! approximation (A. J. Kleywegt, A. Shapiro, T. Homem-de-Mello, The sample average approximation
//! method for stochastic discrete optimization, SIAM Journal on Optimization 12, 2002).
use crate::area::column_generation::pricing_round::PricingOracle;
use crate::area::column_generation::search_state::{
    ColumnGeneration, ColumnMix, SearchState, StoppingCriteria, Termination, relative_gap,
};
use crate::area::column_generation::single_level::{PricedColumns, SingleLevelColumnGeneration};
use crate::area::distributed::executor::Executor;
use crate::area::model::energy_by_slot::{Assignment, ColumnWeights};
use crate::area::model::linking::{LinkingConstraints, Penalty};
use crate::area::model::sessions::{Sessions, shares_curves};
use crate::area::problem::micro_wh::as_kwh;
use crate::area::problem::options::WarmStart;
use crate::area::recovery::plans::{PlanReader, PricesByClass};
use crate::area::recovery::totals::{AreaLoad, load_of_assignment};
use crate::area::solve::area_instance::{AreaInstance, Solution};
use crate::area::solve::recover::{SummedPlans, reaches_gap, recover_from};
use crate::area::solve::sampling::{SAMPLE, margin};
use crate::tolerance::DIVISOR_MIN;

/// Upper bound on the corrections of the sample's bounds. Each leaves a part of the error
/// before it, and takes one pricing problem of each vehicle. Not tuned.
const CORRECTIONS_MAX: usize = 3;

/// Upper bound on repairs that miss the requested gap or a need. A correction may help once; after
/// that rounds of all vehicles are the better use of time. Not tuned.
const MISSES_MAX: usize = 2;

/// Result of planning by a sample.
pub(crate) enum SampledPlans {
    /// Plans of all vehicles, at the requested gap or after a stop by the caller.
    Found(Box<Solution>),
    /// No plans that are good enough: the warm start of the first sample, if there is one.
    Open(Option<WarmStart>),
}

/// Returns true if an area may be planned by a sample: it is large, and all of its devices are
/// divisible vehicles.
pub(crate) fn may_plan_by_sample(instance: &AreaInstance<'_>, sessions: &Sessions) -> bool {
    sessions.each.len() >= 4 * SAMPLE
        && instance.rooms.each.is_empty()
        && !sessions.has_indivisible()
        // Passes over all vehicles count as rounds: the plans of all corrections and the bounds.
        && instance.stopping.rounds_max >= 2 * (CORRECTIONS_MAX + 1)
}

/// Plans by a sample of `size` vehicles, whose search begins at `start`.
pub(crate) fn plan_by_sample(
    instance: &AreaInstance<'_>,
    sessions: &Sessions,
    (size, start): (usize, &WarmStart),
    executor: &mut Executor<'_>,
) -> SampledPlans {
    let by_curve = shares_curves(instance.problem, sessions.each.len());
    let sample = sessions.sample(size, (sessions.groups, true), by_curve);
    let part = sample.need_kwh() / sessions.need_kwh().max(DIVISOR_MIN);
    if part <= 0.0 {
        return SampledPlans::Open(None);
    }
    let search = SampleSearch { instance, sessions, sample: &sample, part };
    let mut progress = PlanProgress::new(instance.constraints);
    // Plans without these duals take longer than the sample: finish it after a stop.
    let mut solved = executor.finish_even_if_stopped(|executor| {
        search.solve_corrected(SampleStart::Duals(start), &[], executor)
    });
    let first = solved.warm_start.clone();
    // The error at the best duals is nearly that of the plans. Its round also proves a bound.
    if !solved.has_shortfall && solved.columns.best_duals.iter().any(|&dual| dual != 0.0) {
        let error = search.price_error(&solved, &mut progress, executor);
        solved = executor.finish_even_if_stopped(|executor| {
            search.solve_corrected(SampleStart::Columns(solved.columns), &error, executor)
        });
    }
    let mut misses = 0;
    for correction in 0..=CORRECTIONS_MAX {
        // A shortage is found by rounds of all vehicles, which prove its size.
        if solved.has_shortfall || executor.has_failed() {
            break;
        }
        let plans = search.plan_all(&solved, &mut progress, executor);
        let is_last = correction == CORRECTIONS_MAX || executor.is_stopped();
        let error = search.error_of(&solved, &plans.total);
        // Repair is for the rest that correction leaves.
        let is_near = search.excess_gap(&solved, &plans.total) <= instance.stopping.gap;
        if is_near || is_last {
            let found = search.recover_plans(&solved, plans, &mut progress, executor);
            if let Some(solution) = found {
                return SampledPlans::Found(Box::new(solution));
            }
            misses += 1;
        }
        if is_last || misses >= MISSES_MAX {
            break;
        }
        solved = search.solve_corrected(SampleStart::Columns(solved.columns), &error, executor);
    }
    SampledPlans::Open(Some(first))
}

/// Start of a search on the sample.
enum SampleStart<'a> {
    /// Duals of an earlier plan, or none.
    Duals(&'a WarmStart),
    /// Columns of the search before.
    Columns(PricedColumns),
}

/// Master solution of the sample.
struct SampleSolution {
    columns: PricedColumns,
    /// Rounds and weights of each group of the sample.
    weights: Vec<ColumnWeights>,
    /// Loads of limited nodes, in kWh by slot.
    loads: Vec<Vec<f64>>,
    has_shortfall: bool,
    warm_start: WarmStart,
}

/// Bound and rounds of all vehicles so far.
struct PlanProgress {
    /// Best bound and its duals; the duals of the rounds are those of the present plans.
    state: SearchState,
    /// Passes over all vehicles.
    rounds: usize,
}

impl PlanProgress {
    /// Progress without a bound.
    fn new(constraints: &LinkingConstraints) -> Self {
        let state = SearchState::new(constraints.each.len() * constraints.slots());
        Self { state, rounds: 0 }
    }
}

/// Searches on a sample, and plans of all vehicles from its solutions.
struct SampleSearch<'a> {
    instance: &'a AreaInstance<'a>,
    sessions: &'a Sessions,
    sample: &'a Sessions,
    /// Part of the need that the sample has.
    part: f64,
}

impl SampleSearch<'_> {
    /// Solves the sample to a tenth of the requested gap, with the bounds corrected by `error`.
    fn solve_corrected(
        &self,
        start: SampleStart<'_>,
        error: &[Vec<f64>],
        executor: &mut Executor<'_>,
    ) -> SampleSolution {
        let (instance, part) = (self.instance, self.part);
        let mut constraints = instance.constraints.scaled(part);
        move_bounds(&mut constraints, error, part);
        let mut column_generation = SingleLevelColumnGeneration::new(
            instance.context(self.sample),
            &constraints,
            (instance.money * part, margin(instance, self.sessions)),
        );
        let stopping = StoppingCriteria {
            gap: instance.stopping.gap * 0.1,
            scale: instance.stopping.scale * part,
            ..instance.stopping
        };
        let begun = match start {
            SampleStart::Duals(start) => column_generation.begin(start, stopping, executor),
            SampleStart::Columns(columns) => column_generation.resume(columns, stopping, executor),
        };
        if begun == Termination::Gap {
            column_generation.run(stopping, executor);
        }
        let weights = column_generation.weights();
        SampleSolution {
            warm_start: column_generation.state().warm_start(&weights),
            weights,
            loads: column_generation.loads(),
            has_shortfall: column_generation.has_shortfall(),
            columns: column_generation.into_columns(),
        }
    }

    /// Sampling error of the load of each limited node at the best duals of the sample, in kWh by slot.
    fn price_error(
        &self,
        solved: &SampleSolution,
        progress: &mut PlanProgress,
        executor: &mut Executor<'_>,
    ) -> Vec<Vec<f64>> {
        let duals = &solved.columns.best_duals;
        let all = self.raise_bound(duals, progress, executor);
        let context = self.instance.context(self.sample);
        let some = PricingOracle::new(context, self.instance.constraints).solve_unobserved(duals);
        let of_node = |(all, some): (Vec<f64>, Vec<f64>)| {
            all.iter().zip(some).map(|(all, some)| all - some / self.part).collect()
        };
        all.into_iter().zip(some.loads).map(of_node).collect()
    }

    /// Plans of all vehicles, each at the duals of one column of its group in the sample.
    fn plan_all(
        &self,
        solved: &SampleSolution,
        progress: &mut PlanProgress,
        executor: &mut Executor<'_>,
    ) -> SummedPlans {
        let (context, constraints) =
            (self.instance.context(self.sessions), self.instance.constraints);
        let weights = (0..self.sessions.groups)
            .map(|group| solved.weights[self.sampled_group(group)].clone())
            .collect();
        let assignment = Assignment::new(&context, weights, true);
        let duals = &solved.columns.duals_by_round;
        let by_class = PricesByClass::new(&context, constraints, &assignment, duals);
        let plans = PlanReader { context: &context, assignment: &assignment, prices: &by_class };
        let (total, _) = load_of_assignment(constraints, &plans, duals, executor);
        progress.rounds += 1;
        SummedPlans { assignment, by_class, total }
    }

    /// Group of the sample that stands for a group of all vehicles: that at its middle.
    fn sampled_group(&self, group: usize) -> usize {
        let blocks = &self.sessions.blocks;
        let first = blocks.partition_point(|block| block.group < group);
        let end = blocks.partition_point(|block| block.group <= group);
        let (from, to) = (blocks[first].sessions.start, blocks[end - 1].sessions.end);
        let (some, all) = (self.sample.each.len(), self.sessions.each.len());
        self.sample.group_of(usize::midpoint(from, to) * some / all)
    }

    /// Sampling error of the load of each limited node, in kWh by slot.
    fn error_of(&self, solved: &SampleSolution, total: &AreaLoad) -> Vec<Vec<f64>> {
        let of_node = |(all, sampled): (&Vec<i64>, &Vec<f64>)| {
            all.iter()
                .zip(sampled)
                .map(|(&all, sampled)| as_kwh(all) - sampled / self.part)
                .collect()
        };
        total.loads.iter().zip(&solved.loads).map(of_node).collect()
    }

    /// Energy of plans above hard limits, at the duals of these, relative to the scale of the gap.
    fn excess_gap(&self, solved: &SampleSolution, total: &AreaLoad) -> f64 {
        let constraints = self.instance.constraints;
        let duals = solved.columns.best_duals.chunks(constraints.slots().max(1));
        let hard = constraints.each.iter().zip(duals);
        let hard = hard.filter(|(constraint, _)| constraint.penalty == Penalty::Hard);
        let excess = hard.map(|(constraint, duals)| {
            let loads = total.loads[constraint.node].iter().zip(&constraint.bounds);
            let beyond =
                loads.map(|(&load, bound)| (constraint.sign * as_kwh(load) - bound).max(0.0));
            beyond.zip(duals).map(|(kwh, dual)| kwh * dual).sum::<f64>()
        });
        relative_gap(excess.sum(), 0.0, self.instance.stopping.scale)
    }

    /// Solution of plans after repair. `None` if it misses the requested gap or a need, unless the
    /// caller asked to stop.
    fn recover_plans(
        &self,
        solved: &SampleSolution,
        plans: SummedPlans,
        progress: &mut PlanProgress,
        executor: &mut Executor<'_>,
    ) -> Option<Solution> {
        let (instance, context) = (self.instance, self.instance.context(self.sessions));
        progress.state.duals_by_round.clone_from(&solved.columns.duals_by_round);
        let weights = plans.assignment.weights.clone();
        if progress.state.bound == f64::NEG_INFINITY {
            self.raise_bound(&solved.columns.best_duals, progress, executor);
        }
        let mut mix = ColumnMix { state: &progress.state, weights, has_shortfall: false };
        let plans = recover_from(instance, &mix, context, plans, executor);
        let mut is_enough = reaches_gap(instance, &mix, self.sessions, &plans);
        if !is_enough && !executor.is_stopped() {
            let weights = mix.weights;
            self.raise_bound(&solved.columns.best_duals, progress, executor);
            mix = ColumnMix { state: &progress.state, weights, has_shortfall: false };
            is_enough = reaches_gap(instance, &mix, self.sessions, &plans);
        }
        let termination =
            if executor.is_stopped() { Termination::Caller } else { Termination::Gap };
        let warm_start = mix.state.warm_start(&mix.weights);
        let (mut assignment, load, _) = plans;
        let used = keep_used_rounds(&mut assignment.weights, &mix.state.duals_by_round);
        (is_enough || termination == Termination::Caller).then(|| Solution {
            assignment,
            duals_by_round: used,
            load,
            bound: progress.state.bound,
            duals: progress.state.best_duals.clone(),
            termination,
            rounds: progress.rounds,
            warm_start,
        })
    }

    /// Prices all vehicles at `duals`, and keeps the better bound. Returns the loads of limited
    /// nodes, in kWh by slot.
    fn raise_bound(
        &self,
        duals: &[f64],
        progress: &mut PlanProgress,
        executor: &mut Executor<'_>,
    ) -> Vec<Vec<f64>> {
        let oracle =
            PricingOracle::new(self.instance.context(self.sessions), self.instance.constraints);
        let priced = oracle.solve(progress.rounds, duals, executor);
        progress.rounds += 1;
        let bound = oracle.bound_of(duals, &priced);
        if bound > progress.state.bound {
            progress.state.bound = bound;
            progress.state.best_duals = duals.to_vec();
        }
        // The observer sees the pass; a stop is noticed by the recovery that follows.
        let progress = progress.state.progress(self.instance.stopping.scale);
        executor.stops(&progress);
        priced.loads
    }
}

/// Lowers the bounds of a sample by the part `part` of the error of its loads, where there is one.
/// Bounds of hard limits on import stay at least zero.
fn move_bounds(constraints: &mut LinkingConstraints, error: &[Vec<f64>], part: f64) {
    for constraint in &mut constraints.each {
        let is_hard = constraint.penalty == Penalty::Hard && constraint.sign > 0.0;
        let least = if is_hard { 0.0 } else { f64::NEG_INFINITY };
        let errors = error.get(constraint.node).into_iter().flatten();
        for (bound, error) in constraint.bounds.iter_mut().zip(errors) {
            *bound = (*bound - constraint.sign * part * error).max(least);
        }
    }
}

/// Numbers the rounds with a weight from 0 on. Returns their duals.
fn keep_used_rounds(weights: &mut [ColumnWeights], duals_by_round: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut rounds: Vec<usize> = weights.iter().flatten().map(|&(round, _)| round).collect();
    rounds.sort_unstable();
    rounds.dedup();
    for (round, _) in weights.iter_mut().flatten() {
        *round = rounds.partition_point(|&other| other < *round);
    }
    rounds.into_iter().map(|round| duals_by_round[round].clone()).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::ops::ControlFlow;

    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;

    use super::*;
    use crate::area::distributed::observer::{Hooks, Progress};
    use crate::area::model::rooms::Rooms;
    use crate::area::pricing::effective_prices::ShortfallPenalty;
    use crate::area::problem::micro_wh::to_micro_wh;
    use crate::area::problem::options::AreaOptions;
    use crate::area::recovery::totals::objective_of;
    use crate::area::recovery::totals::tests::{Car, Town, car};
    use crate::area::solve::search::solve_first;
    use crate::tolerance::ENERGY_SHARE_MIN;

    /// Requested gap.
    const GAP: f64 = 1e-2;

    /// Prices of four hours.
    const CENTS: [i32; 4] = [10, 20, 15, 40];

    /// Plans of a town by a sample of `size` vehicles, checked against its limits, its needs and a
    /// search of all vehicles. Returns the rounds, or `None` without plans that are good enough.
    fn rounds_by_sample(
        limits: &[f64],
        (cents, cars): (&[i32], &[Car]),
        size: usize,
    ) -> Option<usize> {
        let each: Vec<Option<f64>> = limits.iter().copied().map(Some).collect();
        Town::new(cents, cars, &each).in_groups(8).with(|problem, sessions, constraints| {
            let rooms = Rooms::new(problem, constraints);
            let penalty = ShortfallPenalty::uniform(rooms.shortfall_penalty);
            let options = AreaOptions { gap: GAP, ..AreaOptions::default() };
            let need_kwh = sessions.need_kwh();
            // A kWh costs some tenths of the currency.
            let scales = (0.3 * need_kwh, need_kwh);
            let of_limits = (constraints, &rooms);
            let instance = AreaInstance::new(problem, of_limits, &options, penalty, scales);
            let mut to_the_end = |_: &Progress| ControlFlow::Continue(());
            let mut executor = Executor::new(Hooks::new(&mut to_the_end), sessions);
            let start = WarmStart::default();
            let sampled = plan_by_sample(&instance, sessions, (size, &start), &mut executor);
            let SampledPlans::Found(found) = sampled else { return None };
            let cost = objective_of(constraints, &found.load);
            assert!(relative_gap(cost, found.bound, scales.0) <= GAP, "{cost} {}", found.bound);
            assert!(as_kwh(found.load.shortfall) <= ENERGY_SHARE_MIN * need_kwh);
            for (loads, &limit) in found.load.loads.iter().zip(limits) {
                let most = to_micro_wh(limit);
                assert!(loads.iter().all(|&load| load <= most), "{loads:?} above {limit}");
            }
            // Both bounds hold for the plans of both.
            let other = solve_first(&instance, sessions, &start, &mut executor);
            let rounding = 1e-9 * scales.0;
            assert!(found.bound <= objective_of(constraints, &other.load) + rounding);
            assert!(other.bound <= cost + rounding);
            Some(found.rounds)
        })
    }

    /// A vehicle for some of six hours below one of two nodes; most of them below the first one.
    fn any_car() -> impl Strategy<Value = Car> {
        (0..20u32, 0..4i64, 1..4i64, 0.5..9.0f64).prop_map(|(node, from, hours, kwh)| Car {
            node: u32::from(node == 0),
            stay: (from, (from + hours).min(6)),
            ..car(6, kwh)
        })
    }

    #[test]
    fn plans_by_a_sample_are_certified_or_dropped() {
        let towns = (
            prop::collection::vec(any_car(), 200..400),
            prop::collection::vec(-5..60i32, 6),
            (0.15..0.6f64, 0.2..3.0f64),
            20..60usize,
        );
        let found = Cell::new(0);
        let plan = |(cars, cents, shares, size): (Vec<Car>, Vec<i32>, (f64, f64), usize)| {
            let kwh = |node: u32| {
                cars.iter().filter(|car| car.node >= node).map(|car| car.kwh).sum::<f64>()
            };
            let limits = [kwh(0) * shares.0, kwh(1) * shares.1];
            let rounds = rounds_by_sample(&limits, (&cents, &cars), size);
            found.set(found.get() + u32::from(rounds.is_some()));
            Ok(())
        };
        TestRunner::new(ProptestConfig::with_cases(48)).run(&towns, plan).unwrap();
        assert!(found.get() >= 24, "{} of 48", found.get());
    }

    #[test]
    fn like_vehicles_are_planned_in_few_rounds() {
        let rounds = rounds_by_sample(&[700.0], (&CENTS, &vec![car(4, 5.0); 400]), 50);
        assert!(rounds.is_some_and(|rounds| rounds <= 2 * (CORRECTIONS_MAX + 1)), "{rounds:?}");
    }

    #[test]
    fn a_node_that_the_sample_misses_is_within_its_limit() {
        let alone = Car { node: 1, ..car(4, 8.0) };
        let mut cars = vec![car(4, 5.0); 399];
        cars.insert(200, alone);
        // 8 kWh in four hours of at most 3 kWh, the cheapest of which would take all.
        assert!(rounds_by_sample(&[700.0, 3.0], (&CENTS, &cars), 20).is_some());
    }

    #[test]
    fn one_vehicle_that_needs_most_has_plans_that_are_certified_or_dropped() {
        let mut cars = vec![car(4, 0.05); 300];
        cars.push(car(4, 38.0));
        // The sample has the vehicle or not: its part of the need is far from that of all.
        for size in [20, 60, 100] {
            let rounds = rounds_by_sample(&[16.0], (&CENTS, &cars), size);
            assert!(rounds.is_none_or(|rounds| rounds <= 2 * (CORRECTIONS_MAX + 1)), "{rounds:?}");
        }
    }

    #[test]
    fn a_shortage_is_left_to_rounds_of_all_vehicles() {
        let cars = vec![car(4, 5.0); 400];
        assert_eq!(rounds_by_sample(&[400.0], (&CENTS, &cars), 50), None);
    }

    #[test]
    fn bounds_make_up_for_the_error_of_the_sample() {
        let limits = [Some(10.0), None];
        Town::new(&[10, 20], &[car(2, 5.0)], &limits).with(|_, _, constraints| {
            let moved = |error: [f64; 2]| {
                let mut moved = constraints.scaled(0.5);
                move_bounds(&mut moved, &[error.to_vec()], 0.5);
                moved.each[0].bounds.clone()
            };
            // 2 kWh more than the sample says are 1 kWh of its half.
            assert_eq!(moved([2.0, -1.0]), [4.0, 5.5]);
            assert_eq!(moved([50.0, 0.0]), [0.0, 5.0]);
        });
    }

    #[test]
    fn rounds_without_weight_are_dropped() {
        let mut weights = vec![vec![(4, 0.5), (1, 0.5)], vec![(4, 1.0)]];
        let duals: Vec<Vec<f64>> = (0..6).map(|round| vec![f64::from(round)]).collect();
        let used = keep_used_rounds(&mut weights, &duals);
        assert_eq!(used, [[1.0], [4.0]]);
        assert_eq!(weights, [vec![(1, 0.5), (0, 0.5)], vec![(1, 1.0)]]);
    }
}

//! Schedule of a device that switches, near the plan before at a cost within a budget.
//!
//! With the columns of the [mixed-integer programme](super::mixed_integer), the least cost `C`, the
//! budget `B`, the shortfall `M_j` of the cheapest plan and the energy `w_t` of the plan before:
//!
//! ```text
//! minimise    Σ |x_t − w_t|
//! subject to  all rows of that programme,   m_j ≤ M_j,   Σ p_t·x_t + c·Σ v_t ≤ C + B
//! ```
//!
//! The programme is solved under the first set of rules that has a plan of this shortfall, which is
//! that of the cheapest plan. With the binaries fixed, the least cost among the schedules of that
//! distance follows, which gives exact energies.
//!
//! | Symbol | Code |
//! |---|---|
//! | `w_t` | [`PreviousEnergies::by_slot`] |
//! | `M_j` | `FoundSchedule::missing` of the cheapest plan |
//! | `C` | `cost_of` its schedule |
use crate::lp::{LpError, MipSolution, Row, Solution};
use crate::plan::search_status::SearchStatus;
use crate::plan::stability::distance::{Distance, PreviousEnergies};
use crate::plan::switching::mixed_integer::{SearchEffort, SwitchingModel};
use crate::plan::switching::path_search::FoundSchedule;
use crate::plan::switching::problem::SwitchingProblem;
use crate::plan::switching::search::attempts;
use crate::plan::switching::timeline::{Rules, Timeline};
use crate::tolerance::{SOLVER_AGREEMENT, SOLVER_ROUNDING, SOLVER_SLACK, allowed};
use crate::units::Price;

/// Schedule near the plan before, with a bound on the distance of its steps.
pub(crate) struct NearSchedule {
    /// The schedule; `None` if the search found none.
    pub(crate) found: Option<FoundSchedule>,
    /// Lower bound on the distance of the steps from `energies`, in kWh.
    pub(crate) bound: f64,
    pub(crate) price_of_change: Option<Price>,
    pub(crate) status: SearchStatus,
}

/// Finds the schedule nearest to `energies` that costs at most `left` more than `cheapest` and
/// misses no more.
pub(crate) fn stay_near(
    problem: &SwitchingProblem<'_>,
    cheapest: &FoundSchedule,
    energies: &PreviousEnergies,
    left: f64,
    seconds_left: &dyn Fn() -> f64,
) -> NearSchedule {
    let (nodes_max, seconds_max) = (problem.request.nodes_max, problem.request.seconds_max);
    let effort = SearchEffort { nodes_max, seconds_max, seconds_left };
    let timeline = &problem.timeline;
    let cost_max = cost_of(timeline, &cheapest.kwh) + left;
    let mut nothing = NearSchedule {
        found: None,
        bound: 0.0,
        price_of_change: None,
        status: SearchStatus::Optimal,
    };
    for rules in attempts(timeline) {
        let Some(programme) = NearSwitching::new(timeline, rules, cheapest, energies, cost_max)
        else {
            continue;
        };
        match programme.minimise(effort) {
            Ok(near) => return near,
            // These rules have no plan of this shortfall.
            Err(LpError::Infeasible) => {}
            Err(error) => nothing.status = nothing.status.max(error.into()),
        }
    }
    nothing
}

/// Cost of a schedule at the prices of the steps, with its starts.
pub(crate) fn cost_of(timeline: &Timeline, kwh: &[f64]) -> f64 {
    let is_on = |step: usize| kwh[step] > 0.0;
    let continues = |step: usize| timeline.is_joined(step) && step.checked_sub(1).is_none_or(is_on);
    let starts = (0..kwh.len()).filter(|&step| is_on(step) && !continues(step)).count();
    let energy = timeline.steps.iter().zip(kwh).map(|(step, kwh)| step.price * kwh);
    energy.sum::<f64>() + starts as f64 * timeline.start_cost
}

/// Mixed-integer programme of a timeline whose objective is the distance from the plan before.
struct NearSwitching<'t> {
    model: SwitchingModel<'t>,
    distance: Distance,
    /// Cost of the schedule as terms, in units.
    money: Vec<(usize, f64)>,
    /// Position of the row that bounds the cost.
    money_row: usize,
}

impl<'t> NearSwitching<'t> {
    /// Programme under one set of rules; `None` if a carried session cannot keep them.
    fn new(
        timeline: &'t Timeline,
        rules: Rules,
        cheapest: &FoundSchedule,
        energies: &PreviousEnergies,
        cost_max: f64,
    ) -> Option<Self> {
        if timeline.breaks_carried_session(rules) {
            return None;
        }
        let mut model = SwitchingModel::new(timeline, rules);
        let unit_kwh = model.unit_kwh;
        let linear = &mut model.programme.linear;
        for (&column, missing) in model.missing.iter().zip(&cheapest.missing) {
            let most = missing / unit_kwh;
            linear.columns[column].upper = if most > 0.0 { most + SOLVER_SLACK } else { 0.0 };
        }
        let money = linear.objective();
        let most = cost_max / model.unit_money;
        let upper = most + allowed(SOLVER_ROUNDING, most);
        let money_row = linear.rows.len();
        linear.rows.push(Row { lower: f64::NEG_INFINITY, upper, terms: money.clone() });
        let mut distance = Distance::default();
        for (columns, &kept) in model.columns.iter().zip(&energies.by_slot) {
            // The device only draws, so that energy fed by the plan before is a change.
            distance.add_part(vec![(columns.kwh, 1.0)], kept.max(0.0) / unit_kwh);
            distance.add_fixed((-kept).max(0.0) / unit_kwh);
        }
        let objective = distance.add_to(linear);
        linear.set_costs(&objective);
        Some(Self { model, distance, money, money_row })
    }

    /// Schedule of least distance.
    ///
    /// # Errors
    /// The error of a search that ended without a schedule.
    fn minimise(&self, effort: SearchEffort<'_>) -> Result<NearSchedule, LpError> {
        let limits = effort.limits(1.0);
        let programme = &self.model.programme;
        let searched = programme.minimise(&limits)?;
        let linear = programme.linear.with_whole(&programme.integers, &searched.values);
        let nearest = linear.minimise_within(&limits)?;
        let dual = nearest.duals[self.money_row];
        let price_of_change = (dual < -SOLVER_ROUNDING)
            .then(|| Price::from_per_kwh(self.model.unit_money / self.model.unit_kwh / -dual).ok())
            .flatten();
        // Of the schedules of this distance, the cheapest.
        let mut cheaper = linear.clone();
        let terms = linear.columns.iter().enumerate().map(|(at, column)| (at, column.cost));
        let upper = nearest.cost + allowed(SOLVER_ROUNDING, nearest.cost);
        let terms = terms.filter(|(_, cost)| *cost != 0.0).collect();
        cheaper.rows.push(Row { lower: f64::NEG_INFINITY, upper, terms });
        cheaper.set_costs(&self.money);
        let chosen = cheaper.minimise_within(&limits).unwrap_or(nearest);
        Ok(NearSchedule {
            found: self.read_schedule(&searched, &chosen),
            bound: (searched.bound + self.distance.constant()) * self.model.unit_kwh,
            price_of_change,
            status: searched.status.into(),
        })
    }

    /// Schedule of a solution with its binaries fixed; `None` if it misses a level by more than
    /// rounding. The rounding of the solver is taken out step by step.
    fn read_schedule(&self, searched: &MipSolution, solution: &Solution) -> Option<FoundSchedule> {
        let (timeline, unit) = (self.model.timeline, self.model.unit_kwh);
        let pattern = self.model.pattern(searched);
        let noise = SOLVER_AGREEMENT * unit;
        let mut kwh: Vec<f64> = Vec::with_capacity(timeline.len());
        for (index, step) in timeline.steps.iter().enumerate() {
            let value = solution.values[self.model.columns[index].kwh] * unit;
            let is_top_off = pattern.top_off == Some(index);
            let (least, most) = match (pattern.on[index], is_top_off) {
                (false, _) => (0.0, 0.0),
                (true, true) => (0.0, step.least),
                (true, false) => (step.least, step.most),
            };
            let near = |bound: f64| (value - bound).abs() <= SOLVER_SLACK * unit;
            let snapped = [least, most].into_iter().find(|&bound| near(bound)).unwrap_or(value);
            kwh.push(snapped.max(least).min(most));
        }
        // Rounding that is missing of a level, or above the last one, goes into steps with room.
        let mut missing = Vec::with_capacity(timeline.levels.len());
        for (level, &column) in timeline.levels.iter().zip(&self.model.missing) {
            let allowed = (solution.values[column] * unit).max(0.0);
            let allowed = if allowed <= noise { 0.0 } else { allowed };
            let bought: f64 = kwh[..level.boundary].iter().sum();
            let mut lacking = level.kwh - allowed - bought;
            if lacking.abs() > noise {
                // More than the level is bought for the levels after it, or because it has to run.
                missing.push(if lacking > 0.0 { return None } else { allowed });
                continue;
            }
            for (index, step) in timeline.steps[..level.boundary].iter().enumerate() {
                let is_free = pattern.on[index] && pattern.top_off != Some(index);
                let room = if is_free { (step.least, step.most) } else { (kwh[index], kwh[index]) };
                let changed = (kwh[index] + lacking).max(room.0).min(room.1);
                lacking -= changed - kwh[index];
                kwh[index] = changed;
            }
            if let Some(top_off) = pattern.top_off.filter(|&step| step < level.boundary) {
                let changed = (kwh[top_off] + lacking).max(0.0).min(timeline.steps[top_off].least);
                kwh[top_off] = changed;
            }
            missing.push(allowed);
        }
        let top_off = pattern.top_off.filter(|&index| kwh[index] > 0.0);
        Some(FoundSchedule { kwh, top_off, missing, lagrangian_bound: None })
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use proptest::prelude::*;

    use crate::plan::interval::Interval;
    use crate::plan::stability::budget::Budget;
    use crate::plan::stability::previous_powers::PreviousPowers;
    use crate::plan::switching::explain::explain;
    use crate::plan::switching::plan::SwitchingPlan;
    use crate::plan::switching::planner::plan_switching;
    use crate::plan::switching::problem::SwitchingProblem;
    use crate::plan::switching::request::{SwitchingError, SwitchingRequest};
    use crate::plan::switching::timeline::tests::request_of;
    use crate::plan::switching::verify::verify;
    use crate::prices::curve::tests::curve_of;
    use crate::units::{Money, Power, money};

    fn plan(cents: &[i32], request: &SwitchingRequest) -> SwitchingPlan {
        let curve = curve_of(60, cents);
        let problem = SwitchingProblem::new(request.clone(), &curve).unwrap();
        let plan = plan_switching(&problem);
        let broken: Vec<_> =
            verify(&problem, &plan).into_iter().filter(|check| !check.holds()).collect();
        assert!(broken.is_empty(), "{broken:?}");
        plan
    }

    fn previous(before: &SwitchingPlan, total: f64) -> PreviousPowers {
        let interval = |i: &crate::plan::switching::plan::SwitchingInterval| Interval {
            start: i.start,
            end: i.end,
            power: i.power,
        };
        let budget = Budget::new(money(total), Money::ZERO).unwrap();
        PreviousPowers { intervals: before.intervals.iter().map(interval).collect(), budget }
    }

    fn near(
        cents: &[i32],
        request: &SwitchingRequest,
        before: &SwitchingPlan,
        total: f64,
    ) -> SwitchingPlan {
        plan(
            cents,
            &SwitchingRequest { previous: Some(previous(before, total)), ..request.clone() },
        )
    }

    fn energies(plan: &SwitchingPlan) -> Vec<f64> {
        plan.slots.iter().map(|slot| slot.energy.as_kwh()).collect()
    }

    #[test]
    fn a_device_keeps_its_session_as_far_as_the_budget_goes() {
        // 4 to 10 kW, 20 kWh at one start.
        let mut request = request_of(20.0);
        request.one_block = true;
        let before = plan(&[10, 12, 30, 30], &request);
        assert_eq!(energies(&before), [10.0, 10.0, 0.0, 0.0]);
        let cents = [30, 12, 10, 30];
        assert_eq!(energies(&near(&cents, &request, &before, 0.0)), [0.0, 10.0, 10.0, 0.0]);
        // 1 kWh back from 20:00 costs 0.20, but 18:00 needs 4 kWh and 20:00 keeps 4 or none.
        let kept = near(&cents, &request, &before, 1.0);
        let wanted = [5.0, 10.0, 5.0, 0.0];
        assert!(
            energies(&kept).iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6),
            "{:?}",
            energies(&kept)
        );
        let stability = kept.stability.unwrap();
        assert!(stability.is_proved(), "{stability:?}");
        assert!((stability.extra_cost - money(1.0)).as_amount().abs() < 1e-6);
        assert!((stability.change.as_kwh() - 10.0).abs() < 1e-6);
        assert!((kept.certificate.gap() - money(1.0)).as_amount().abs() < 1e-6);
        assert_eq!(explain(&kept)[0].code.as_str(), "previous_plan");
        assert_eq!(energies(&near(&cents, &request, &before, 2.0)), [10.0, 10.0, 0.0, 0.0]);
        let text = serde_json::to_string(&kept).unwrap();
        assert_eq!(serde_json::from_str::<SwitchingPlan>(&text).unwrap(), kept);
    }

    #[test]
    fn overlapping_intervals_are_refused() {
        let request = request_of(6.0);
        let before = plan(&[10, 20], &request);
        let mut twice = previous(&before, 1.0);
        twice.intervals.push(twice.intervals[0]);
        let curve = curve_of(60, &[10, 20]);
        let request = SwitchingRequest { previous: Some(twice), ..request };
        let refused = SwitchingProblem::new(request, &curve).unwrap_err();
        assert!(matches!(refused, SwitchingError::PreviousPeriods { .. }), "{refused}");
        assert!(refused.to_string().starts_with("previous: slot 1 starts at"), "{refused}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// A device that is on at 10 kW or off and wants whole hours: every pattern is compared.
        #[test]
        fn no_pattern_within_the_budget_is_nearer(
            old in prop::array::uniform6(-10..40i32), new in prop::array::uniform6(-10..40i32),
            hours in 1..6u32, start_cost in 0.0..2.0f64, total in 0.0..4.0f64,
        ) {
            let mut request = request_of(10.0 * f64::from(hours));
            request.power_min = Power::ZERO;
            request.start_cost = money(start_cost);
            let before = plan(&old, &request);
            let was = energies(&before);
            let steady = near(&new, &request, &before, total);
            let stability = steady.stability.unwrap();
            prop_assert!(stability.is_proved(), "{stability:?}");
            let patterns: Vec<(f64, f64)> = (0..64u32).filter(|on| on.count_ones() == hours).map(|on| {
                let is_on = |hour: usize| on >> hour & 1 == 1;
                let starts = (0..6).filter(|&hour| is_on(hour) && (hour == 0 || !is_on(hour - 1)));
                let energy: i32 = (0..6).filter(|&hour| is_on(hour)).map(|hour| new[hour]).sum();
                let cost = f64::from(energy) / 10.0 + start_cost * starts.count() as f64;
                let change = (0..6).map(|hour| (if is_on(hour) { 10.0 } else { 0.0 } - was[hour]).abs());
                (cost, change.sum())
            }).collect();
            let least = patterns.iter().map(|(cost, _)| *cost).fold(f64::INFINITY, f64::min);
            let within = patterns.iter().filter(|(cost, _)| *cost <= least + total + 1e-9);
            let nearest = within.map(|(_, change)| *change).fold(f64::INFINITY, f64::min);
            let change = stability.change.as_kwh();
            prop_assert!((change - nearest).abs() < 1e-5, "{change}, not {nearest}");
            prop_assert!(steady.cost.as_amount() <= least + total + 1e-6);
        }

        /// Least powers and times, sessions and shortfalls: the rules hold (`plan` verifies them),
        /// the plan misses no more and costs at most the budget more.
        #[test]
        fn any_device_stays_within_its_budget(
            old in prop::collection::vec(-10..60i32, 2..8), new in prop::collection::vec(-10..60i32, 8),
            share in 0.1..1.1f64, start_cost in 0.0..1.0f64, on_min in 0..3i64,
            run_last in 0..2i64, total in 0.0..3.0f64,
        ) {
            let mut request = request_of(share * 10.0 * old.len() as f64);
            request.start_cost = money(start_cost);
            request.on_min = TimeDelta::hours(on_min);
            request.run_last = TimeDelta::hours(run_last);
            let before = plan(&old, &request);
            let cheapest = plan(&new[..old.len()], &request);
            let steady = near(&new[..old.len()], &request, &before, total);
            let stability = steady.stability.unwrap();
            let extra = (steady.cost - cheapest.cost).as_amount();
            prop_assert!(extra <= total + 1e-6, "{extra}");
            prop_assert!((steady.shortfall - cheapest.shortfall).as_kwh() < 1e-5);
            prop_assert!(stability.change <= stability.cheapest_change);
            prop_assert!(stability.change_bound <= stability.change);
            prop_assert!(stability.is_proved(), "{stability:?}");
            let kept = near(&old, &request, &before, 0.0);
            prop_assert!(kept.stability.unwrap().change.as_kwh() < 1e-4, "{:?}", kept.stability);
        }
    }
}

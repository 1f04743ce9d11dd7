//! Plan of a battery that stays near the plan before, at a cost within a budget.
//!
//! With the [symbols](super) of a battery, the least cost `C` and the budget `B`:
//!
//! ```text
//! minimise    Σ_t |y_t/η_c − max(v_t, 0)| + |z_t·η_d − max(−v_t, 0)|
//! subject to  balance, levels, power, sign, charge limit
//!             Σ_t (a_t·y_t − b_t·z_t) − v·e_T ≤ C + B
//! ```
//!
//! and then the cost among the plans of that distance. It is a linear programme but for the last two
//! rules. It is solved without them first; if its solution breaks one, a search with a binary `s_t`
//! or `c_t` for each slot in which a rule can be broken follows:
//!
//! ```text
//! y_t ≤ A_t·s_t,   z_t ≤ B_t·(1 − s_t)            sign
//! y_t ≤ A_t·c_t,   e_t ≤ H_t − (H_t − C_t)·c_t    charge limit
//! ```
//!
//! The bound on the distance is that of the linear programme, or of the search. Energies are in
//! units of the largest one and prices in units of the highest, to which the absolute tolerances of
//! the solver then are relative.
//!
//! | Symbol | Code |
//! |---|---|
//! | `v_t`, energy of the plan before | [`PreviousEnergies::by_slot`] |
//! | `y_t`, `z_t`, `e_t` | `SlotColumns::{charge, discharge, level}` |
use chrono::{DateTime, Utc};

use crate::lp::{Column, Limits, LinearProgram, MixedProgram, Row, Solution};
use crate::plan::stability::distance::{Distance, PreviousEnergies};
use crate::plan::stability::previous_powers::PreviousPowers;
use crate::plan::stability::stay_close::Stability;
use crate::plan::storage::dynamic_programme::ProgrammeSlot;
use crate::plan::storage::slots::Layout;
use crate::tolerance::{
    SOLVER_AGREEMENT, SOLVER_ROUNDING, SOLVER_SLACK, SUM_DRIFT, SUM_ROUNDING, allowed,
};
use crate::units::{Energy, Money, Price};

/// Changes of the stored energy that are near the plan before.
pub(crate) struct NearChanges {
    /// Changes in each slot, without driving; `None` if no plan is nearer than the cheapest one.
    pub(crate) changes: Option<Vec<f64>>,
    /// Distance from the plan before. The cost beyond the cheapest plan is left to the caller.
    pub(crate) stability: Stability,
}

/// Positions of the columns of a slot.
#[derive(Debug, Clone, Copy)]
struct SlotColumns {
    charge: usize,
    discharge: usize,
    /// Level after the slot.
    level: usize,
}

/// Programme of a battery, with the distance from the plan before as its objective.
struct NearStorage<'a> {
    layout: &'a Layout,
    program: LinearProgram,
    columns: Vec<SlotColumns>,
    distance: Distance,
    /// Change of the stored energy in each slot that is the energy of the plan before.
    kept: Vec<f64>,
    /// Cost as terms of the columns, in units of energy times price.
    money: Vec<(usize, f64)>,
    /// Position of the row that bounds the cost.
    money_row: usize,
    /// Unit of energy, in kWh.
    unit_kwh: f64,
    /// Unit of prices, per kWh.
    unit_price: f64,
}

/// Finds the changes nearest to `previous` at a cost of up to its budget above that of `cheapest`,
/// which are the changes of the cheapest plan.
pub(crate) fn stay_near(
    layout: &Layout,
    cheapest: &[f64],
    previous: &PreviousPowers,
    now: DateTime<Utc>,
) -> NearChanges {
    let slots = layout.pieces.iter().map(|piece| (piece.start, piece.end));
    let energies = PreviousEnergies::new(&previous.intervals, slots, now);
    let left = previous.budget.left().as_amount();
    let programme = NearStorage::new(layout, cheapest, &energies, left);
    let found = programme.minimise(cheapest);
    let cheapest_change = distance_of(layout, &energies, cheapest);
    let rounding = SOLVER_AGREEMENT * programme.unit_kwh;
    let is_closer =
        |changes: &Vec<f64>| distance_of(layout, &energies, changes) < cheapest_change - rounding;
    let changes = found.changes.filter(is_closer);
    let change =
        changes.as_ref().map_or(cheapest_change, |changes| distance_of(layout, &energies, changes));
    let bound = found.bound * programme.unit_kwh;
    let kwh = |kwh: f64| Energy::from_kwh(kwh).unwrap_or_default();
    let stability = Stability {
        budget: previous.budget,
        extra_cost: Money::ZERO,
        change: kwh(change),
        change_bound: kwh(if change <= bound + rounding { change } else { bound.max(0.0) }),
        cheapest_change: kwh(cheapest_change),
        price_of_change: found.price_of_change,
    };
    NearChanges { changes, stability }
}

/// Distance of changes from the plan before, in kWh at the plug.
fn distance_of(layout: &Layout, energies: &PreviousEnergies, changes: &[f64]) -> f64 {
    let both = changes.iter().zip(&energies.by_slot);
    let parts = both.map(|(&change, before)| (layout.programme.at_plug(change) - before).abs());
    energies.outside + parts.sum::<f64>()
}

/// Result of a search: changes, bound on the distance in units, and price of change.
struct FoundChanges {
    changes: Option<Vec<f64>>,
    bound: f64,
    price_of_change: Option<Price>,
}

impl<'a> NearStorage<'a> {
    /// Programme of the distance from `energies`, at a cost of up to `left` above that of
    /// `cheapest`.
    fn new(
        layout: &'a Layout,
        cheapest: &[f64],
        energies: &PreviousEnergies,
        left: f64,
    ) -> NearStorage<'a> {
        let programme = &layout.programme;
        let largest = programme.slots.iter().map(ProgrammeSlot::largest_kwh);
        let largest = largest.fold(programme.stored_kwh, f64::max);
        let prices = layout
            .import
            .iter()
            .chain(&layout.export)
            .chain([&programme.end_value_per_kwh, &programme.wear_per_kwh]);
        let dearest = prices.filter(|price| !price.is_nan()).fold(0.0_f64, |m, p| m.max(p.abs()));
        let one_if_zero = |number: f64| if number > 0.0 { number } else { 1.0 };
        let mut near = NearStorage {
            layout,
            program: LinearProgram::default(),
            columns: Vec::with_capacity(programme.slots.len()),
            distance: Distance::default(),
            kept: Vec::with_capacity(programme.slots.len()),
            money: Vec::new(),
            money_row: 0,
            unit_kwh: one_if_zero(largest),
            unit_price: one_if_zero(dearest),
        };
        near.distance.add_fixed(energies.outside / near.unit_kwh);
        near.add_slots(energies);
        let least = near.cost_of(&near.values_of(cheapest));
        let most = least + left / (near.unit_kwh * near.unit_price);
        near.money_row = near.program.rows.len();
        let upper = most + allowed(SOLVER_ROUNDING, most);
        let terms = near.money.clone();
        near.program.rows.push(Row { lower: f64::NEG_INFINITY, upper, terms });
        let objective = near.distance.add_to(&mut near.program);
        near.program.set_costs(&objective);
        near
    }

    /// Adds columns, balance, money and distance of each slot.
    fn add_slots(&mut self, energies: &PreviousEnergies) {
        let programme = &self.layout.programme;
        let mut before: Option<usize> = None;
        for (index, slot) in programme.slots.iter().enumerate() {
            let mut column = |lower: f64, upper: f64| {
                let (lower, upper) = (lower / self.unit_kwh, upper / self.unit_kwh);
                self.program.add_column(Column { cost: 0.0, lower, upper })
            };
            let charge = column(0.0, slot.charge_kwh);
            let discharge = column(0.0, slot.discharge_kwh);
            let level = column(slot.least_kwh, slot.most_kwh.max(slot.least_kwh));
            self.columns.push(SlotColumns { charge, discharge, level });
            // Balance: e_t − e_{t−1} − y_t + z_t = −w_t.
            let mut terms = vec![(level, 1.0), (charge, -1.0), (discharge, 1.0)];
            let mut known = -slot.driving_kwh / self.unit_kwh;
            match before {
                Some(before) => terms.push((before, -1.0)),
                None => known += programme.stored_kwh / self.unit_kwh,
            }
            self.program.rows.push(Row { lower: known, upper: known, terms });
            before = Some(level);
            // A slot without a price has no power, and its price is not a number.
            if slot.charge_kwh > 0.0 {
                let price = programme.charge_price(self.layout.import[index]);
                self.money.push((charge, price / self.unit_price));
            }
            if slot.discharge_kwh > 0.0 {
                let price = programme.discharge_price(self.layout.export[index]);
                self.money.push((discharge, -price / self.unit_price));
            }
            let before_kwh = energies.by_slot[index];
            self.kept.push(if before_kwh > 0.0 {
                before_kwh * programme.efficiency_charge
            } else {
                before_kwh / programme.efficiency_discharge
            });
            let kept = before_kwh / self.unit_kwh;
            let per_charge = vec![(charge, 1.0 / programme.efficiency_charge)];
            self.distance.add_part(per_charge, kept.max(0.0));
            let per_discharge = vec![(discharge, programme.efficiency_discharge)];
            self.distance.add_part(per_discharge, (-kept).max(0.0));
        }
        if let Some(last) = before {
            self.money.push((last, -programme.end_value_per_kwh / self.unit_price));
        }
    }

    /// Cost of the values of the columns, in units.
    fn cost_of(&self, values: &[f64]) -> f64 {
        self.money.iter().map(|&(column, weight)| weight * values[column]).sum()
    }

    /// Values of the columns of the slots for changes of the stored energy.
    fn values_of(&self, changes: &[f64]) -> Vec<f64> {
        let programme = &self.layout.programme;
        let mut level = programme.stored_kwh;
        let slots = programme.slots.iter().zip(changes);
        let values = slots.flat_map(|(slot, &change)| {
            level += change - slot.driving_kwh;
            [change.max(0.0), (-change).max(0.0), level].map(|kwh| kwh / self.unit_kwh)
        });
        values.collect()
    }

    /// Minimises the distance without binaries, and with them if a rule is broken.
    fn minimise(&self, cheapest: &[f64]) -> FoundChanges {
        let limits = Limits::default();
        let nothing = |bound: f64| FoundChanges { changes: None, bound, price_of_change: None };
        let Ok(relaxed) = self.program.minimise_within(&limits) else { return nothing(0.0) };
        let bound = relaxed.cost + self.distance.constant();
        if self.keeps_rules(&relaxed.values) {
            return self.read(self.program.clone(), &relaxed, bound);
        }
        let mixed = self.with_binaries(cheapest);
        let Ok(found) = mixed.minimise(&limits) else { return nothing(bound) };
        let bound = bound.max(found.bound + self.distance.constant());
        // With the binaries fixed, the values are exact.
        let program = mixed.linear.with_whole(&mixed.integers, &found.values);
        match program.minimise_within(&limits) {
            Ok(solution) => self.read(program, &solution, bound),
            Err(_) => nothing(bound),
        }
    }

    /// True if no slot breaks the rules of sign and charge limit, to the rounding of the solver.
    fn keeps_rules(&self, values: &[f64]) -> bool {
        let slots = self.layout.programme.slots.iter().zip(&self.columns);
        slots.into_iter().all(|(slot, columns)| {
            let charge = values[columns.charge];
            charge.min(values[columns.discharge]) <= SOLVER_SLACK
                && (charge <= SOLVER_SLACK
                    || values[columns.level] <= slot.limit_kwh / self.unit_kwh + SOLVER_SLACK)
        })
    }

    /// Programme with a binary for each rule that a slot can break, starting from `cheapest`.
    fn with_binaries(&self, cheapest: &[f64]) -> MixedProgram {
        let mut start = self.values_of(cheapest);
        let held: Vec<f64> = self.distance.held(&start).collect();
        start.extend(held);
        let (mut linear, mut integers) = (self.program.clone(), Vec::new());
        let mut binary = |linear: &mut LinearProgram, is_one: bool| {
            let column = linear.add_column(Column { cost: 0.0, lower: 0.0, upper: 1.0 });
            integers.push(column);
            start.push(f64::from(u8::from(is_one)));
            column
        };
        let slots = self.layout.programme.slots.iter().zip(&self.columns);
        for ((slot, columns), &change) in slots.zip(cheapest) {
            let [charge, discharge, most, limit] =
                [slot.charge_kwh, slot.discharge_kwh, slot.most_kwh, slot.limit_kwh]
                    .map(|kwh| kwh / self.unit_kwh);
            let at_most = |linear: &mut LinearProgram, terms, upper| {
                linear.rows.push(Row { lower: f64::NEG_INFINITY, upper, terms });
            };
            if charge > 0.0 && discharge > 0.0 {
                let sign = binary(&mut linear, change > 0.0);
                at_most(&mut linear, vec![(columns.charge, 1.0), (sign, -charge)], 0.0);
                let terms = vec![(columns.discharge, 1.0), (sign, discharge)];
                at_most(&mut linear, terms, discharge);
            }
            if charge > 0.0 && limit < most {
                let within = binary(&mut linear, change > 0.0);
                at_most(&mut linear, vec![(columns.charge, 1.0), (within, -charge)], 0.0);
                let terms = vec![(columns.level, 1.0), (within, most - limit)];
                at_most(&mut linear, terms, most);
            }
        }
        MixedProgram { linear, integers, start: Some(start) }
    }

    /// Changes of the cheapest solution of the least distance.
    fn read(&self, mut program: LinearProgram, nearest: &Solution, bound: f64) -> FoundChanges {
        // Cost of a kWh less of change: the inverse of the change that a unit of money saves.
        let dual = nearest.duals[self.money_row];
        let price_of_change = (dual < -SOLVER_ROUNDING)
            .then(|| Price::from_per_kwh(self.unit_price / -dual).ok())
            .flatten();
        let least = self.distance.measure(&nearest.values);
        let terms = program.objective();
        let most = nearest.cost + allowed(SOLVER_ROUNDING, nearest.cost);
        program.rows.push(Row { lower: f64::NEG_INFINITY, upper: most, terms });
        program.set_costs(&self.money);
        let cheaper = program.minimise_within(&Limits::default()).ok().filter(|cheaper| {
            self.keeps_rules(&cheaper.values)
                && self.distance.measure(&cheaper.values) <= least + SOLVER_AGREEMENT
        });
        let changes = cheaper.and_then(|cheaper| self.changes_of(&cheaper.values));
        let changes = changes.or_else(|| self.changes_of(&nearest.values));
        FoundChanges { changes, bound, price_of_change }
    }

    /// Changes of the stored energy for values of the columns; `None` if they miss a level by more
    /// than the rounding of a plan. The rounding of the solver is taken out slot by slot.
    fn changes_of(&self, values: &[f64]) -> Option<Vec<f64>> {
        let programme = &self.layout.programme;
        let noise = SOLVER_SLACK * self.unit_kwh;
        let mut level = programme.stored_kwh;
        let mut changes = Vec::with_capacity(self.columns.len());
        let slots = programme.slots.iter().zip(&self.columns).zip(&self.kept);
        for ((slot, columns), &kept) in slots {
            let net = (values[columns.charge] - values[columns.discharge]) * self.unit_kwh;
            let near = |bound: f64| (net - bound).abs() <= noise;
            let bounds = [0.0, slot.charge_kwh, -slot.discharge_kwh, kept];
            let net = bounds.into_iter().find(|&bound| near(bound)).unwrap_or(net);
            let left = level - slot.driving_kwh;
            let most = if net > 0.0 { slot.most_kwh.min(slot.limit_kwh) } else { slot.most_kwh };
            let wanted = (left + net).max(slot.least_kwh).min(most);
            let change = (wanted - left).clamp(-slot.discharge_kwh, slot.charge_kwh);
            let is_rounding = change.abs() <= SUM_ROUNDING * self.unit_kwh;
            let change = if is_rounding { 0.0 } else { change };
            level = left + change;
            let drift = SUM_DRIFT * self.unit_kwh;
            let is_beyond_limit = change > 0.0 && level > slot.limit_kwh + drift;
            if level < slot.least_kwh - drift || level > slot.most_kwh + drift || is_beyond_limit {
                return None;
            }
            changes.push(change);
        }
        Some(changes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::vehicle::{Battery, SocTarget};
    use crate::plan::stability::budget::Budget;
    use crate::plan::storage::explain::explain;
    use crate::plan::storage::plan::StoragePlan;
    use crate::plan::storage::planner::plan_storage;
    use crate::plan::storage::request::{StorageError, StorageProblem, StorageRequest};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, money, per_kwh, percent};

    /// Battery of 4 kWh and 2 kW from 18:00 on, which may end empty.
    fn battery(soc: f64, efficiency: f64) -> StorageRequest {
        let battery = Battery {
            capacity: kwh(4.0),
            soc: Some(percent(soc)),
            soc_fallback: None,
            charge_limit: percent(100.0),
            efficiency,
        };
        let now = "2026-01-05T18:00:00Z".parse().unwrap();
        let end_value = Some(per_kwh(0.0));
        StorageRequest { end_value, ..StorageRequest::new(now, battery, kw(2.0)) }
    }

    fn plan(cents: &[i32], request: &StorageRequest) -> StoragePlan {
        let curve = curve_of(60, cents);
        plan_storage(&curve, Some(&curve), &StorageProblem::new(request.clone()).unwrap())
    }

    fn near(
        cents: &[i32],
        request: &StorageRequest,
        before: &StoragePlan,
        total: f64,
    ) -> StoragePlan {
        let budget = Budget::new(money(total), Money::ZERO).unwrap();
        let previous = Some(PreviousPowers { intervals: before.intervals.clone(), budget });
        plan(cents, &StorageRequest { previous, ..request.clone() })
    }

    fn energies(plan: &StoragePlan) -> Vec<f64> {
        plan.slots.iter().map(|slot| slot.charged.as_kwh() - slot.discharged.as_kwh()).collect()
    }

    #[test]
    fn a_battery_keeps_its_hours_as_far_as_the_budget_goes() {
        let mut request = battery(50.0, 1.0);
        request.targets.push(SocTarget { by: None, soc: Some(percent(50.0)) });
        let before = plan(&[10, 40, 20], &request);
        assert_eq!(energies(&before), [2.0, -2.0, 0.0]);
        // The dear hour comes an hour later: −2 at 20:00 in place of 19:00 gains 0.10.
        let [free, half, whole] =
            [0.0, 0.05, 0.2].map(|total| near(&[10, 40, 45], &request, &before, total));
        assert_eq!(energies(&free), [2.0, 0.0, -2.0]);
        assert_eq!(energies(&whole), energies(&before));
        assert!(energies(&half).iter().zip([2.0, -1.0, -1.0]).all(|(a, b)| (a - b).abs() < 1e-6));
        let stability = half.stability.unwrap();
        assert!(stability.is_proved(), "{stability:?}");
        assert!((stability.extra_cost - money(0.05)).as_amount().abs() < 1e-7);
        assert!((stability.change.as_kwh() - 2.0).abs() < 1e-6);
        // A kWh of change less is half a kWh at 0.05.
        let price = stability.price_of_change.unwrap().as_per_kwh();
        assert!((price - 0.025).abs() < 1e-6, "{price}");
        assert!((half.certificate.gap() - money(0.05)).as_amount().abs() < 1e-7);
        assert_eq!(explain(&half)[0].code.as_str(), "previous_plan");
        assert_eq!(explain(&free)[0].code.as_str(), "sell_later");
        let text = serde_json::to_string(&half).unwrap();
        assert_eq!(serde_json::from_str::<StoragePlan>(&text).unwrap(), half);
    }

    #[test]
    fn a_full_battery_does_not_burn_energy_to_charge_as_before() {
        let before = plan(&[10, 40], &battery(0.0, 1.0));
        assert_eq!(energies(&before), [2.0, -2.0]);
        let plan = near(&[10, 40], &battery(100.0, 0.8), &before, 100.0);
        // It cannot charge 2 kWh as before without a discharge in the same slot.
        let stability = plan.stability.unwrap();
        assert!(stability.is_proved(), "{stability:?}");
        assert_eq!(energies(&plan), [0.0, -2.0]);
        assert!((stability.change.as_kwh() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn overlapping_intervals_are_refused() {
        let before = plan(&[10, 40], &battery(50.0, 1.0));
        let budget = Budget::new(money(1.0), Money::ZERO).unwrap();
        let intervals = [before.intervals.clone(), before.intervals.clone()].concat();
        let previous = Some(PreviousPowers { intervals, budget });
        let refused = StorageProblem::new(StorageRequest { previous, ..battery(50.0, 1.0) });
        let error = refused.unwrap_err();
        assert!(matches!(error, StorageError::PreviousPeriods { .. }), "{error}");
        assert!(error.to_string().starts_with("previous: slot 1 starts at"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        /// On whole kWh: no plan within the budget is nearer, and one is as near where the budget
        /// does not bind.
        #[test]
        fn no_plan_on_a_grid_is_nearer(
            old in prop::array::uniform4(-20..40i32), new in prop::array::uniform4(-20..40i32),
            start in 0..5i32, end in 0..5i32, total in 0.0..1.0f64, is_free in any::<bool>(),
        ) {
            let total = if is_free { 50.0 } else { total };
            let mut request = battery(f64::from(start) * 25.0, 1.0);
            let soc = Some(percent(f64::from(end) * 25.0));
            request.targets.push(SocTarget { by: None, soc });
            let before = plan(&old, &request);
            let was = energies(&before);
            let plan = near(&new, &request, &before, total);
            let stability = plan.stability.unwrap();
            prop_assert!(stability.is_proved(), "{stability:?}");
            let all = (0..625).map(|code| [code / 125 - 2, code / 25 % 5 - 2, code / 5 % 5 - 2, code % 5 - 2]);
            let plans: Vec<(f64, f64)> = all.filter(|path: &[i32; 4]| {
                let mut level = start;
                let holds = path.iter().all(|change| { level += change; (0..=4).contains(&level) });
                holds && level >= end
            }).map(|path| {
                let cents: i32 = path.iter().zip(new).map(|(kwh, price)| kwh * price).sum();
                let change: f64 = path.iter().zip(&was).map(|(&kwh, was)| (f64::from(kwh) - was).abs()).sum();
                (f64::from(cents) / 100.0, change)
            }).collect();
            let least = plans.iter().map(|(cost, _)| *cost).fold(f64::INFINITY, f64::min);
            let within = plans.iter().filter(|(cost, _)| *cost <= least + total + 1e-9);
            let nearest = within.map(|(_, change)| *change).fold(f64::INFINITY, f64::min);
            let change = stability.change.as_kwh();
            prop_assert!((change - energies(&plan).iter().zip(&was).map(|(a, b)| (a - b).abs()).sum::<f64>()).abs() < 1e-6);
            prop_assert!(change <= nearest + 1e-5, "{change}, but {nearest} on the grid");
            prop_assert!(!is_free || change >= nearest - 1e-5, "{change}, but {nearest}");
            prop_assert!(plan.cost.as_amount() <= least + total + 1e-7);
        }

        /// Losses, wear, a charge limit and negative prices: the plan costs at most the budget more,
        /// and the bound is below its distance.
        #[test]
        fn any_battery_stays_within_its_budget(
            old in prop::collection::vec(-30..60i32, 1..9), new in prop::collection::vec(-30..60i32, 9),
            (soc, limit) in (0.0..100.0f64, 20.0..100.0f64), efficiency in 0.6..1.0f64,
            wear in 0.0..0.1f64, total in 0.0..1.0f64,
        ) {
            let mut request = battery(soc, efficiency);
            request.efficiency_discharge = efficiency;
            request.battery.charge_limit = percent(limit);
            request.wear_price = per_kwh(wear);
            let before = plan(&old, &request);
            let cheapest = plan(&new[..old.len()], &request);
            let steady = near(&new[..old.len()], &request, &before, total);
            let stability = steady.stability.unwrap();
            let extra = (steady.cost - cheapest.cost).as_amount();
            prop_assert!(extra <= total + 1e-7, "{extra}");
            prop_assert!((extra.max(0.0) - stability.extra_cost.as_amount()).abs() < 1e-9);
            prop_assert!(stability.change <= stability.cheapest_change);
            prop_assert!(stability.is_proved(), "{stability:?}");
            // With a budget for it, the plan before is kept where it still can be.
            let kept = near(&old, &request, &before, 0.0);
            prop_assert!(kept.stability.unwrap().change.as_kwh() < 1e-5, "{:?}", kept.stability);
        }
    }
}

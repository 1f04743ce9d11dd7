//! Plan of a site that stays near the plan before, at a cost within a budget.
//!
//! After shortfall and money one more objective is minimised, the distance from the plan before:
//!
//! ```text
//! minimise    Σ_i,t |x_it − v_it|
//! subject to  the rows and columns of the site,   f_k(x) ≤ F_k,   c·x ≤ C + B
//! ```
//!
//! and then the cost among the plans of that distance. It is linear in the columns of each direction
//! ([`Distance`]). The linear relaxation is solved first; if it is not integral
//! ([`is_whole`](crate::plan::site::solve)), a search with all binaries follows. The bound on the
//! distance is that of the relaxation, or of the search.
//!
//! | Symbol | Code |
//! |---|---|
//! | `x_it`, energy of device `i` in slot `t` | columns of `SiteModel::flows` |
//! | `v_it`, energy of the plan before | [`PreviousEnergies::by_slot`] |
//! | `f_k`, `F_k`, objectives before money and their least values | `before_money` |
//! | `C`, least cost | cost of `cheapest` |
//! | `B`, budget | [`PreviousSite::budget`](crate::plan::site::request::PreviousSite) |
use crate::lp::{Limits, LinearProgram, LpError, MixedProgram, Solution};
use crate::plan::search_status::SearchStatus;
use crate::plan::site::device::Device;
use crate::plan::site::lexicographic::{
    Objective, before_money, bound_row, forbid, keep_optimal, slack_of, value_of,
};
use crate::plan::site::model::SiteModel;
use crate::plan::site::request::{PreviousSite, SiteRequest};
use crate::plan::site::solve::{Active, SiteSolution, is_whole, with_binaries};
use crate::plan::stability::distance::{Distance, PreviousEnergies};
use crate::plan::stability::stay_close::Stability;
use crate::tolerance::{SITE_MIN_KWH, SOLVER_ROUNDING};
use crate::units::{Energy, Money, Price};

/// Values of the columns that are near the plan before, with their distance.
#[derive(Debug)]
pub(crate) struct NearSolution {
    pub(crate) values: Vec<f64>,
    pub(crate) stability: Stability,
    /// Termination of the search for the least distance.
    pub(crate) status: SearchStatus,
}

/// Values found, the bound on their distance in kWh, and the price of change.
struct NearestValues {
    /// Values of the columns of the model; `None` if the search ended without any.
    values: Option<Vec<f64>>,
    bound: f64,
    price_of_change: Option<Price>,
    status: SearchStatus,
}

/// Search for the least distance within a cost.
struct NearSearch<'a> {
    model: &'a SiteModel,
    distance: Distance,
    /// Values of the cheapest plan.
    cheapest: &'a [f64],
    /// Cost of the columns, in units of the programme.
    money: Objective,
    /// Highest cost of the columns.
    money_max: f64,
    limits: &'a Limits,
}

/// Finds the plan that is nearest to `previous` at no more shortfall than `cheapest` and at a cost
/// of up to the budget above it. If none is nearer, the values are those of `cheapest`.
///
/// Vehicles, batteries, shiftable loads and heat units of both plans count. A device without a plan before has
/// no distance, and what only follows forecasts has none either.
pub(crate) fn stay_near(
    request: &SiteRequest,
    model: &SiteModel,
    previous: &PreviousSite,
    cheapest: &SiteSolution,
    limits: &Limits,
) -> NearSolution {
    let money = model.program.objective();
    let least = value_of(&money, &cheapest.values);
    let search = NearSearch {
        model,
        distance: distance_of(request, model, previous),
        cheapest: &cheapest.values,
        money_max: least + previous.budget.left().as_amount() / model.unit,
        money,
        limits,
    };
    let found = search.run();
    let cheapest_change = search.distance.measure(&cheapest.values);
    let is_closer =
        |values: &Vec<f64>| search.distance.measure(values) < cheapest_change - SITE_MIN_KWH;
    let values = found.values.filter(is_closer).unwrap_or_else(|| cheapest.values.clone());
    let change = search.distance.measure(&values);
    // Less than a hundredth of a watt-hour above the bound is rounding of the solver.
    let is_least = change <= found.bound + SITE_MIN_KWH;
    let bound = if is_least { change } else { found.bound.max(0.0) };
    let kwh = |kwh: f64| Energy::from_kwh(kwh).unwrap_or_default();
    let extra_cost = (value_of(&search.money, &values) - least).max(0.0) * model.unit;
    let stability = Stability {
        budget: previous.budget,
        extra_cost: Money::from_amount(extra_cost).unwrap_or(Money::ZERO),
        change: kwh(change),
        change_bound: kwh(bound),
        cheapest_change: kwh(cheapest_change),
        price_of_change: found.price_of_change,
    };
    NearSolution { values, stability, status: found.status }
}

/// Distance of the columns of a model from the plan before.
fn distance_of(request: &SiteRequest, model: &SiteModel, previous: &PreviousSite) -> Distance {
    let mut distance = Distance::default();
    for (index, device) in request.devices.iter().enumerate() {
        let is_planned = model.storages[index].is_some()
            || matches!(device, Device::Shiftable(_) | Device::Heat(_));
        let before = previous.devices.iter().find(|before| before.name == device.name());
        let Some(before) = before.filter(|_| is_planned) else { continue };
        let slots = model.grid.starts.iter().copied().zip(model.grid.ends.iter().copied());
        let energies = PreviousEnergies::new(&before.intervals, slots, request.now);
        distance.add_fixed(energies.outside);
        for (slot, &energy) in energies.by_slot.iter().enumerate() {
            for sign in [1.0, -1.0] {
                let flows = model.flows[slot].iter();
                let flows = flows.filter(|flow| flow.device == index && flow.weight * sign > 0.0);
                let terms = flows.map(|flow| (flow.column, flow.weight * sign)).collect();
                let fixed = model.fixed[index][slot] * sign;
                distance.add_part(terms, (energy * sign).max(0.0) - fixed.max(0.0));
            }
        }
    }
    distance
}

impl NearSearch<'_> {
    /// Minimises the distance without binaries, and with them if the result needs them.
    fn run(&self) -> NearestValues {
        let mut program = self.model.program.clone();
        let money_row = self.restrict(&mut program);
        let objective = self.distance.add_to(&mut program);
        program.set_costs(&objective);
        let solution = match program.minimise_within(self.limits) {
            Ok(solution) => solution,
            Err(error) => return NearestValues::without_values(0.0, error),
        };
        let bound = solution.cost + self.distance.constant();
        // Flows in both directions that were undone may leave more distance than the solver counts.
        let is_as_near = |values: &Vec<f64>| self.distance.measure(values) <= bound + SITE_MIN_KWH;
        match self.read_values(&solution).filter(is_as_near) {
            Some(values) => NearestValues {
                values: Some(self.choose_cheapest(program, &solution, values)),
                bound,
                price_of_change: self.price_of_change(solution.duals[money_row]),
                status: SearchStatus::Optimal,
            },
            None => self.run_with_binaries(bound),
        }
    }

    /// Minimises the distance with all binaries. `relaxed` is the bound without them.
    fn run_with_binaries(&self, relaxed: f64) -> NearestValues {
        let mut mixed: MixedProgram =
            with_binaries(self.model, &Active::all(self.model), self.cheapest);
        let money_row = self.restrict(&mut mixed.linear);
        let objective = self.distance.add_to(&mut mixed.linear);
        mixed.linear.set_costs(&objective);
        if let Some(start) = &mut mixed.start {
            start.extend(self.distance.held(self.cheapest));
        }
        let found = match mixed.minimise(self.limits) {
            Ok(found) => found,
            Err(error) => return NearestValues::without_values(relaxed, error),
        };
        let bound = (found.bound + self.distance.constant()).max(relaxed);
        let status = found.status.into();
        // With the binaries fixed, the values are exact.
        let program = mixed.linear.with_whole(&mixed.integers, &found.values);
        let solution = match program.minimise_within(self.limits) {
            Ok(solution) => solution,
            Err(error) => return NearestValues::without_values(bound, error),
        };
        let values = self.read_values(&solution);
        let price_of_change = self.price_of_change(solution.duals[money_row]);
        let values = values.map(|values| self.choose_cheapest(program, &solution, values));
        NearestValues { values, bound, price_of_change, status }
    }

    /// Bounds the objectives before money by their values in the cheapest plan, and the cost by its
    /// maximum. Returns the position of the row of the cost.
    fn restrict(&self, program: &mut LinearProgram) -> usize {
        for objective in before_money(self.model) {
            let least = value_of(&objective, self.cheapest);
            if least <= SITE_MIN_KWH {
                forbid(program, &objective, self.cheapest);
            } else {
                program.rows.push(bound_row(&objective, least + slack_of(&objective)));
            }
        }
        program.rows.push(bound_row(&self.money, self.money_max));
        program.rows.len() - 1
    }

    /// Values of the columns of the model, if they are integral.
    fn read_values(&self, solution: &Solution) -> Option<Vec<f64>> {
        let mut values = solution.values[..self.cheapest.len()].to_vec();
        is_whole(self.model, &mut values, &mut Active::default()).then_some(values)
    }

    /// Cheapest plan of the least distance; `values` if the solver finds no other.
    fn choose_cheapest(
        &self,
        mut program: LinearProgram,
        solution: &Solution,
        values: Vec<f64>,
    ) -> Vec<f64> {
        keep_optimal(&mut program, solution);
        program.set_costs(&self.money);
        let Ok(cheaper) = program.minimise_within(self.limits) else { return values };
        let Some(chosen) = self.read_values(&cheaper) else { return values };
        let is_as_near =
            self.distance.measure(&chosen) <= self.distance.measure(&values) + SITE_MIN_KWH;
        if is_as_near { chosen } else { values }
    }

    /// Cost of one kWh less of change, from the dual of the row of the cost: the change that a unit
    /// of money saves. `None` if the budget does not bind.
    fn price_of_change(&self, dual: f64) -> Option<Price> {
        (dual < -SOLVER_ROUNDING)
            .then(|| Price::from_per_kwh(self.model.unit / -dual).ok())
            .flatten()
    }
}

impl NearestValues {
    /// Result of a search that ended without values.
    fn without_values(bound: f64, error: LpError) -> Self {
        Self { values: None, bound, price_of_change: None, status: error.into() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::greedy::plan_charge;
    use crate::plan::charge::request::{ChargeProblem, ChargeRequest, Target};
    use crate::plan::site::planner::plan_site;
    use crate::plan::site::problem::SiteProblem;
    use crate::plan::site::request::tests::{at, hard, home, site, van};
    use crate::plan::site::verify::verify;
    use crate::plan::stability::budget::Budget;
    use crate::plan::stability::stay_close::stay_close;
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, money};

    fn budget(total: f64) -> Budget {
        Budget::new(money(total), Money::ZERO).unwrap()
    }

    /// The cheapest plan of a request, then that at other prices near it.
    fn replan(
        request: &SiteRequest,
        cents: &[i32],
        total: f64,
    ) -> crate::plan::site::plan::SitePlan {
        let before = plan_site(&SiteProblem::new(request.clone()).unwrap());
        let mut request = SiteRequest { import_prices: curve_of(60, cents), ..request.clone() };
        if request.export_prices.is_some() {
            request.export_prices = Some(curve_of(60, cents));
        }
        request.previous = Some(PreviousSite::new(&before, budget(total)));
        let problem = SiteProblem::new(request).unwrap();
        let plan = plan_site(&problem);
        let broken: Vec<_> =
            verify(&problem, &plan).into_iter().filter(|check| !check.holds()).collect();
        assert!(broken.is_empty(), "{broken:?}");
        plan
    }

    #[test]
    fn vans_under_one_limit_keep_their_hours_within_the_budget() {
        let mut request =
            site(&[30, 10, 20], &["a", "b"].map(|name| Device::Vehicle(van(name, 4.0, 4.0))));
        request.import_limit = Some(hard(6.0));
        // 6 kWh at 19:00 and 2 kWh at 20:00; then 18:00 is the cheapest hour by 5 cents.
        let powers = |total: f64| {
            let plan = replan(&request, &[10, 15, 20], total);
            let sum = |slot: usize| plan.devices.iter().map(|d| d.power[slot].as_kw()).sum::<f64>();
            let near = plan.stability.unwrap();
            assert!(near.is_proved() && plan.certificate.is_proved(), "{near:?}");
            ([sum(0), sum(1), sum(2)], near.extra_cost.as_amount(), near.change.as_kwh())
        };
        let is_about = |(found, cost, change): ([f64; 3], f64, f64),
                        wanted: ([f64; 3], f64, f64)| {
            let same = found.iter().zip(wanted.0).all(|(a, b)| (a - b).abs() < 1e-5);
            assert!(
                same && (cost - wanted.1).abs() < 1e-6 && (change - wanted.2).abs() < 1e-5,
                "{found:?} {cost} {change}"
            );
        };
        // The cheapest plan costs 6·0.10 + 2·0.15, the old one 6·0.15 + 2·0.20.
        is_about(powers(0.4), ([0.0, 6.0, 2.0], 0.4, 0.0));
        // A kWh back from 18:00 to 20:00 costs 0.10 and one to 19:00 costs 0.05.
        is_about(powers(0.2), ([2.0, 6.0, 0.0], 0.2, 4.0));
        assert!(powers(0.0).1 < 1e-9);
        let plan = replan(&request, &[10, 15, 20], 0.2);
        let reasons = crate::plan::site::explain(&request, &plan);
        assert!(reasons.iter().all(|r| r.code.as_str() == "previous_plan"), "{reasons:?}");
    }

    #[test]
    fn a_battery_that_is_full_does_not_burn_energy_to_charge_as_before() {
        // The plan before charged 4 kWh at 18:00; now the battery is full, and charging would need
        // a discharge in the same slot.
        let mut request = site(&[10, 30], &[Device::Battery(home(4.0, 8.0, 0.0))]);
        request.export_prices = Some(curve_of(60, &[10, 30]));
        let before = plan_site(&SiteProblem::new(request.clone()).unwrap());
        assert!((before.devices[0].power[0].as_kw() - 4.0).abs() < 1e-6);
        let mut full = home(4.0, 8.0, 100.0);
        full.battery.efficiency = 0.8;
        request.devices = vec![Device::Battery(full)];
        request.previous = Some(PreviousSite::new(&before, budget(100.0)));
        let plan = plan_site(&SiteProblem::new(request).unwrap());
        let near = plan.stability.unwrap();
        assert!(near.is_proved(), "{near:?}");
        assert!(plan.devices[0].power[0].as_kw().abs() < 1e-6, "{:?}", plan.devices[0].power);
        assert!((near.change.as_kwh() - 4.0).abs() < 1e-5, "{near:?}");
    }

    #[test]
    fn devices_without_a_plan_before_have_no_distance() {
        let request = site(&[30, 10], &[Device::Vehicle(van("a", 4.0, 4.0))]);
        let mut other = site(&[10, 30], &[Device::Vehicle(van("b", 4.0, 4.0))]);
        let before = plan_site(&SiteProblem::new(request).unwrap());
        other.previous = Some(PreviousSite::new(&before, budget(1.0)));
        let near = plan_site(&SiteProblem::new(other.clone()).unwrap()).stability.unwrap();
        assert_eq!((near.change, near.cheapest_change), (Energy::ZERO, Energy::ZERO));
        // Intervals from a file are checked.
        let intervals = &mut other.previous.as_mut().unwrap().devices[0].intervals;
        intervals.push(intervals[0]);
        let refused = SiteProblem::new(other).unwrap_err().to_string();
        assert!(refused.starts_with("previous (a): slot 1 starts at"), "{refused}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// One vehicle that charges: the method of multipliers finds the same distance.
        #[test]
        fn one_vehicle_is_as_near_as_by_multipliers(
            (old, new) in (2..7usize).prop_flat_map(|hours| {
                let cents = || prop::collection::vec(-9..40i32, hours);
                (cents(), cents())
            }),
            energy in 1.0..30.0f64, total in 0.0..1.5f64, early in prop::option::of(0.2..0.9f64),
        ) {
            let hours = old.len() as i64;
            let energy = energy.min(6.0 * hours as f64);
            let mut wish = vec![Target { by: None, energy: kwh(energy) }];
            let by = Some(at(60 * (hours - 1)));
            wish.extend(early.map(|share| Target { by, energy: kwh(share * energy) }));
            let mut car = van("car", 7.0, 0.0);
            car.targets.clone_from(&wish);
            let plan = replan(&site(&old, &[Device::Vehicle(car)]), &new, total);
            let near = plan.stability.unwrap();
            let mut request = ChargeRequest::new(at(0), kw(7.0), wish[0]);
            request.targets = wish;
            let problem = ChargeProblem::new(request).unwrap();
            let before = plan_charge(&curve_of(60, &old), &problem);
            let cheapest = plan_charge(&curve_of(60, &new), &problem);
            // The site buys no more than is wanted, also at negative prices, as the vehicle alone.
            let alone = stay_close(&cheapest, &problem, &before, budget(total)).stability;
            prop_assert!(near.is_proved(), "{near:?}");
            let (a, b) = (near.change.as_kwh(), alone.change.as_kwh());
            prop_assert!((a - b).abs() < 1e-4, "{a}, not {b}");
            prop_assert!(near.extra_cost.as_amount() <= total + 1e-7);
        }

        /// Two batteries on whole kWh: no plan of whole kWh within the budget is nearer, and one is
        /// as near where the budget does not bind.
        #[test]
        fn no_plan_on_a_grid_is_nearer(
            old in prop::array::uniform3(1..40i32), new in prop::array::uniform3(1..40i32),
            starts in prop::array::uniform2(0..3i32), total in 0.0..1.0f64, is_free in any::<bool>(),
        ) {
            let total = if is_free { 50.0 } else { total };
            let devices: Vec<Device> = ["a", "b"].iter().zip(starts).map(|(name, start)| {
                let mut battery = home(2.0, 2.0, f64::from(start) * 50.0);
                (*name).clone_into(&mut battery.name);
                Device::Battery(battery)
            }).collect();
            let mut request = site(&old, &devices);
            request.export_prices = Some(curve_of(60, &old));
            request.import_limit = Some(hard(3.0));
            request.export_limit = Some(hard(3.0));
            let before = plan_site(&SiteProblem::new(request.clone()).unwrap());
            let plan = replan(&request, &new, total);
            let near = plan.stability.unwrap();
            prop_assert!(near.is_proved(), "{near:?}");
            let old_power = |device: usize, slot: usize| before.devices[device].power[slot].as_kw();
            // Whole powers of one battery that keep its levels.
            let paths = |start: i32| {
                let all = (0..125).map(|code| [code / 25 - 2, code / 5 % 5 - 2, code % 5 - 2]);
                all.filter(move |path: &[i32; 3]| {
                    let mut level = start;
                    path.iter().all(|change| { level += change; (0..=2).contains(&level) })
                }).collect::<Vec<_>>()
            };
            let (mut least, mut plans) = (f64::INFINITY, Vec::new());
            for a in paths(starts[0]) {
                for b in paths(starts[1]) {
                    let net = [0, 1, 2].map(|slot| a[slot] + b[slot]);
                    if net.iter().any(|net| net.abs() > 3) {
                        continue;
                    }
                    let cents: i32 = net.iter().zip(new).map(|(net, price)| net * price).sum();
                    let change: f64 = [a, b].iter().enumerate().flat_map(|(device, path)| {
                        path.iter().enumerate().map(move |(slot, &kw)| (device, slot, kw))
                    }).map(|(device, slot, kw)| (f64::from(kw) - old_power(device, slot)).abs()).sum();
                    least = least.min(f64::from(cents) / 100.0);
                    plans.push((f64::from(cents) / 100.0, change));
                }
            }
            let within = plans.iter().filter(|(cost, _)| *cost <= least + total + 1e-9);
            let nearest = within.map(|(_, change)| *change).fold(f64::INFINITY, f64::min);
            let change = near.change.as_kwh();
            prop_assert!(change <= nearest + 1e-4, "{change}, but {nearest} on the grid");
            prop_assert!(!is_free || change >= nearest - 1e-4, "{change}, but {nearest}");
        }
    }
}

//! Each statement of an area plan beside what the problem, the intervals and the duals give.
use rayon::prelude::*;

use crate::area::model::linking::{LinkingConstraint, LinkingConstraints, Penalty};
use crate::area::problem::area_problem::{AreaError, AreaProblem};
use crate::area::problem::limits::{Limit, base_loads_kw};
use crate::area::report::outcome::AreaPlan;
use crate::area::report::table::AreaNumbers;
use crate::area::verification::check_vehicle::VehicleCheck;
use crate::area::verification::heat_units::{
    CheckedRoom, HeatUnitCheck, StatedHeatUnit, check_rooms,
};
use crate::area::verification::slot_energies::SlotEnergies;
use crate::area::verification::vehicle_at_prices::{NoCertificate, VehicleAtPrices};
use crate::columns::intervals::IntervalColumns;
use crate::columns::plan_table::PlanTable;
use crate::plan::verification::Check;
use crate::tolerance::{GAP_MAX, POWER_ROUNDING_KW, allowed};

/// Rows of a plan that are written at a time.
const ROWS: usize = 65_536;

/// Statements of an area plan, in the units of [`AreaPlan`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatedArea {
    /// Cost of energy and soft limits.
    pub cost: f64,
    /// Lower bound on the cost.
    pub bound: f64,
    /// Relative gap.
    pub gap: f64,
    /// Cost of the baseline, which the gap is relative to if it exceeds the bound. It is taken as
    /// it is.
    pub baseline_cost: f64,
    /// Energy charged, in kWh.
    pub energy_kwh: f64,
    /// Energy discharged, in kWh.
    pub discharged_kwh: f64,
    /// Need that is not met, in kWh.
    pub unmet_kwh: f64,
    /// Lower bound on it, which is taken as it is. The gap is then at least that of the costs.
    pub unmet_bound_kwh: Option<f64>,
    /// Row and energy in kWh of each need that is not met.
    pub unmet: Vec<(usize, f64)>,
    /// Rows with a late reserve.
    pub late_reserves: Vec<usize>,
    /// Load of each node in kW by slot, and the most by which it exceeds a hard limit.
    pub nodes: Vec<(Vec<f64>, f64)>,
    /// Duals of each limit, per kWh by slot.
    pub duals_per_kwh: Vec<Vec<f64>>,
    /// Heat units in the order of the problem.
    pub heat: Vec<StatedHeatUnit>,
}

/// Checks of an area plan.
#[derive(Debug, Clone, PartialEq)]
pub struct AreaVerification {
    /// Statements of the area.
    pub checks: Vec<Check>,
    /// Vehicles in the order of their rows; rows in error are left out.
    pub vehicles: Vec<VehicleCheck>,
    /// Heat units in the order of the problem.
    pub heat: Vec<HeatUnitCheck>,
    /// Lower bound that the certificates of the devices and the duals give.
    pub bound: f64,
    /// Cost of the limits beyond their part of the bound: with the gaps of the devices it adds up
    /// to cost less bound.
    pub limits_gap: f64,
}

/// Vehicle with its plan, check, and a bound on what rounding costs.
struct CheckedVehicle {
    energies: SlotEnergies,
    /// `None` for a row in error.
    check: Option<(VehicleCheck, f64)>,
    /// Cost of the plan at its own prices.
    own_cost: f64,
}

/// Loads of the nodes, in kWh by slot, and sums over all vehicles.
struct Totals {
    loads: Vec<Vec<f64>>,
    charged_kwh: f64,
    discharged_kwh: f64,
    /// Cost of the energy of all vehicles.
    cost: f64,
    /// Bound on the rounding of all energies, in kWh.
    rounding_kwh: f64,
}

impl AreaPlan {
    /// Computes each statement of the plan anew; see [`verify_area`].
    ///
    /// # Errors
    /// [`AreaError::OtherProblem`] if `problem` has other vehicles, prices or nodes.
    pub fn verify(&self, problem: &AreaProblem<'_>) -> Result<AreaVerification, AreaError> {
        verify_area(problem, &self.intervals(problem)?, &self.stated())
    }

    /// Intervals of all vehicles, by row.
    fn intervals(&self, problem: &AreaProblem<'_>) -> Result<IntervalColumns, AreaError> {
        let mut plans = IntervalColumns::default();
        let mut append = |rows: PlanTable<AreaNumbers>| {
            let rows = &rows.intervals;
            for row in 0..rows.rows() {
                for at in rows.range(row) {
                    plans.push(rows.start[at], rows.end[at], rows.power_kw[at]);
                }
                plans.end_row();
            }
        };
        self.rows(problem, ROWS, &mut append)?;
        Ok(plans)
    }

    /// Statements of the plan.
    fn stated(&self) -> StatedArea {
        StatedArea {
            cost: self.cost,
            bound: self.bound,
            gap: self.gap,
            baseline_cost: self.unmanaged.cost,
            energy_kwh: self.energy_kwh,
            discharged_kwh: self.discharged_kwh,
            unmet_kwh: self.unmet_kwh,
            unmet_bound_kwh: self.unmet_bound_kwh,
            unmet: self.unmet.iter().map(|unmet| (unmet.row, unmet.energy_kwh)).collect(),
            late_reserves: self.late_reserves.clone(),
            nodes: self.nodes.iter().map(|at| (at.load_kw.clone(), at.breach_kw)).collect(),
            duals_per_kwh: self.shadow_prices.iter().map(|one| one.per_kwh.clone()).collect(),
            heat: self.heat.iter().map(StatedHeatUnit::new).collect(),
        }
    }
}

/// Computes each statement of an area plan from `problem`, the intervals of its vehicles and its
/// duals, without the search that made it.
///
/// The checks are, for each node, its loads, the breach of hard limits and the hard limit on
/// import; the signs of the duals; the number of vehicles that break a rule or whose certificate
/// does not hold; energies, cost, bound and gap. The bound holds if it is not above the one
/// computed here. Limits and their conjugates are read from the problem by the code of the planner.
///
/// # Errors
/// [`AreaError::OtherProblem`] if the number of rows, nodes, limits or slots is another one.
pub fn verify_area(
    problem: &AreaProblem<'_>,
    plans: &IntervalColumns,
    stated: &StatedArea,
) -> Result<AreaVerification, AreaError> {
    let constraints = LinkingConstraints::new(problem);
    check_sizes(&constraints, problem, plans, stated)?;
    let given: Vec<f64> = stated.duals_per_kwh.concat();
    let mut duals: Vec<f64> =
        given.iter().map(|dual| if dual.is_finite() { *dual } else { 0.0 }).collect();
    constraints.clamp(&mut duals);
    let vehicles = check_vehicles(problem, &constraints, &duals, (plans, stated));
    let rooms = check_rooms(problem, &constraints, &duals, &stated.heat);
    let totals = add_up(problem, &constraints, (&vehicles, &rooms));
    let mut checks = check_nodes(problem, &constraints, &totals, stated);
    // Duals outside of the domain of a conjugate prove nothing.
    let moved = given.iter().zip(&duals).map(|(given, kept)| (given - kept).abs());
    let moved = moved.map(|far| if far.is_nan() { f64::INFINITY } else { far }).fold(0.0, f64::max);
    let largest = duals.iter().fold(0.0f64, |most, dual| most.max(dual.abs()));
    checks.push(Check::rule("shadow_price_per_kwh", moved, allowed(GAP_MAX, largest)));
    // The vehicles, and what they and the limits add up to.
    let checked = vehicles.into_iter().filter_map(|vehicle| vehicle.check);
    let (vehicles, rounding): (Vec<VehicleCheck>, Vec<f64>) = checked.unzip();
    let failing = vehicles.iter().filter(|vehicle| !vehicle.failed.is_empty()).count();
    checks.push(Check::rule("vehicles", failing as f64, 0.0));
    if !rooms.is_empty() {
        let failing = rooms.iter().filter(|room| !room.check.failed.is_empty()).count();
        checks.push(Check::rule("heat", failing as f64, 0.0));
    }
    let sums = Sums {
        device_bound: vehicles.iter().map(|vehicle| vehicle.bound).sum::<f64>()
            + rooms.iter().map(|room| room.check.bound).sum::<f64>(),
        bound_rounding: rounding.iter().sum(),
        room_scale: rooms.iter().map(|room| room.scale).sum(),
        ..Sums::of_limits(&constraints, &duals, &totals)
    };
    checks.extend(check_money(problem, &totals, &sums, stated));
    Ok(AreaVerification {
        checks,
        vehicles,
        heat: rooms.into_iter().map(|room| room.check).collect(),
        bound: sums.device_bound - sums.conjugates,
        limits_gap: sums.limits - sums.paid + sums.conjugates,
    })
}

/// Compares the numbers of rows, nodes, limits and slots.
fn check_sizes(
    constraints: &LinkingConstraints,
    problem: &AreaProblem<'_>,
    plans: &IntervalColumns,
    stated: &StatedArea,
) -> Result<(), AreaError> {
    let (rows, slots) = (problem.vehicles.fleet.len(), constraints.slots());
    let is_same = plans.rows() == rows
        && stated.nodes.len() == problem.nodes.len()
        && stated.heat.len() == problem.heat.len()
        && stated.nodes.iter().all(|(load_kw, _)| load_kw.len() == slots)
        && stated.duals_per_kwh.len() == constraints.each.len()
        && stated.duals_per_kwh.iter().all(|duals| duals.len() == slots)
        && stated.unmet.iter().all(|(row, _)| *row < rows)
        && stated.late_reserves.iter().all(|row| *row < rows);
    if is_same { Ok(()) } else { Err(AreaError::OtherProblem) }
}

/// Checks the plan of each vehicle, in parallel.
fn check_vehicles(
    problem: &AreaProblem<'_>,
    constraints: &LinkingConstraints,
    duals: &[f64],
    (plans, stated): (&IntervalColumns, &StatedArea),
) -> Vec<CheckedVehicle> {
    let rows = problem.vehicles.fleet.len();
    let (mut unmet_kwh, mut is_late) = (vec![0.0; rows], vec![false; rows]);
    stated.unmet.iter().for_each(|&(row, kwh)| unmet_kwh[row] += kwh);
    stated.late_reserves.iter().for_each(|&row| is_late[row] = true);
    let dual_prices: Vec<Vec<f64>> =
        (0..problem.nodes.len()).map(|node| constraints.dual_price(node as u32, duals)).collect();
    let none = vec![0.0; constraints.slots()];
    let check = |row: usize| {
        let energies = SlotEnergies::new(problem.curves.horizon(), plans, row);
        let place = (problem, row);
        let promised = (unmet_kwh[row], is_late[row]);
        let own = VehicleAtPrices::new(place, &none, &energies, promised);
        let own_cost = own.as_ref().map_or(0.0, VehicleAtPrices::cost_of_energy);
        let dual_price = &dual_prices[node_of(problem, row)];
        let at_prices = VehicleAtPrices::new(place, dual_price, &energies, promised);
        let check = match at_prices.map_err(NoCertificate::Row).and_then(|at| at.check()) {
            Ok(check) => Some(check),
            // A row in error has no plan; one that has a plan breaks that rule.
            Err(NoCertificate::Row(_)) if energies.runs.is_empty() => None,
            Err(error) => {
                let failed = vec![match error {
                    NoCertificate::Row(error) => error.to_string(),
                    NoCertificate::Prices(error) => error.to_string(),
                }];
                Some((VehicleCheck { row, cost: own_cost, bound: own_cost, failed }, 0.0))
            }
        };
        CheckedVehicle { energies, check, own_cost }
    };
    (0..rows).into_par_iter().with_min_len(256).map(check).collect()
}

/// Position of the node of a vehicle.
fn node_of(problem: &AreaProblem<'_>, row: usize) -> usize {
    problem.vehicles.node.map_or(0, |nodes| nodes[row] as usize)
}

/// Adds up loads, energies and costs, in the order of the rows, then those of heat units.
fn add_up(
    problem: &AreaProblem<'_>,
    constraints: &LinkingConstraints,
    (vehicles, rooms): (&[CheckedVehicle], &[CheckedRoom]),
) -> Totals {
    let slots = constraints.slots();
    let mut own = vec![vec![0.0; slots]; problem.nodes.len()];
    let mut totals = Totals {
        loads: Vec::new(),
        charged_kwh: 0.0,
        discharged_kwh: 0.0,
        cost: 0.0,
        rounding_kwh: 0.0,
    };
    for (row, vehicle) in vehicles.iter().enumerate() {
        let load = &mut own[node_of(problem, row)];
        vehicle.energies.each.iter().for_each(|&(slot, kwh)| load[slot] += kwh);
        totals.charged_kwh += vehicle.energies.charged_kwh();
        totals.discharged_kwh += vehicle.energies.discharged_kwh();
        totals.rounding_kwh += vehicle.energies.rounding_kwh;
        totals.cost += vehicle.own_cost;
    }
    for room in rooms {
        own[room.node].iter_mut().zip(&room.load).for_each(|(load, kwh)| *load += kwh);
        totals.cost += room.own_cost;
    }
    // A node carries the load of all nodes below it.
    totals.loads = vec![vec![0.0; slots]; problem.nodes.len()];
    for (node, load) in own.iter().enumerate() {
        let up = std::iter::successors(Some(node), |&at| problem.nodes[at].parent);
        for above in up {
            totals.loads[above].iter_mut().zip(load).for_each(|(sum, kwh)| *sum += kwh);
        }
    }
    totals
}

/// Checks of each node: its loads, the breach of hard limits, and hard limits on import.
fn check_nodes(
    problem: &AreaProblem<'_>,
    constraints: &LinkingConstraints,
    totals: &Totals,
    stated: &StatedArea,
) -> Vec<Check> {
    let bases = base_loads_kw(&problem.nodes, constraints.slots());
    let hours_min = constraints.hours.iter().copied().fold(f64::INFINITY, f64::min);
    let mut checks = Vec::new();
    for (at, ((stated_kw, breach_kw), base_kw)) in stated.nodes.iter().zip(&bases).enumerate() {
        let powers = totals.loads[at].iter().zip(&constraints.hours).zip(base_kw);
        let load_kw: Vec<f64> = powers.map(|((kwh, hours), base)| kwh / hours + base).collect();
        let largest = load_kw.iter().fold(0.0f64, |most, load| most.max(load.abs()));
        let tolerance = POWER_ROUNDING_KW
            + totals.rounding_kwh / hours_min.max(f64::MIN_POSITIVE)
            + allowed(GAP_MAX, largest);
        // Of all slots the one whose load differs most.
        let far = |slot: &usize| {
            let far = (stated_kw[*slot] - load_kw[*slot]).abs();
            if far.is_nan() { f64::INFINITY } else { far }
        };
        let worst = (0..load_kw.len()).max_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(0);
        let [stated, computed] =
            [stated_kw, &load_kw].map(|loads| loads.get(worst).copied().unwrap_or(0.0));
        let line = |field: &str| format!("nodes[{at}].{field}");
        checks.push(Check { line: line("load_kw"), stated, computed, tolerance });
        let computed = breach_of_hard_limits(problem, at, &load_kw, tolerance);
        checks.push(Check { line: line("breach_kw"), stated: *breach_kw, computed, tolerance });
        let hard = |one: &&LinkingConstraint| one.penalty == Penalty::Hard && one.sign > 0.0;
        let limits = constraints.each.iter().filter(|one| one.node == at).filter(hard);
        for limit in limits {
            let beyond = totals.loads[at].iter().zip(&limit.bounds).zip(&constraints.hours);
            let beyond = beyond.map(|((kwh, bound), hours)| (kwh - bound) / hours);
            checks.push(Check::rule(line("limit_kw"), beyond.fold(0.0, f64::max), tolerance));
        }
    }
    checks
}

/// Most by which the load of a node exceeds a hard limit, in kW; 0 within the tolerance.
fn breach_of_hard_limits(
    problem: &AreaProblem<'_>,
    node: usize,
    load_kw: &[f64],
    tolerance: f64,
) -> f64 {
    let mut breach = 0.0f64;
    for limit in &problem.nodes[node].limits {
        let (most, sign) = match limit {
            Limit::Import { power_max, price: None } => (power_max, 1.0),
            Limit::Export { power_max, price: None } => (power_max, -1.0),
            _ => continue,
        };
        for (slot, load) in load_kw.iter().enumerate() {
            breach = breach.max(most.at(slot).map_or(0.0, |most| sign * load - most.as_kw()));
        }
    }
    if breach > tolerance { breach } else { 0.0 }
}

/// Sums that the bound is made of.
#[derive(Default)]
struct Sums {
    /// Bounds of all devices.
    device_bound: f64,
    /// Sum of the sizes of the terms of heat units.
    room_scale: f64,
    bound_rounding: f64,
    /// `Σ_l f_l(y_l)`.
    limits: f64,
    /// `Σ_l λ_l·y_l`.
    paid: f64,
    /// `Σ_l f_l*(λ_l)`.
    conjugates: f64,
    /// Sum of the sizes of all terms of the limits.
    scale: f64,
}

impl Sums {
    /// Sums over the limits.
    fn of_limits(constraints: &LinkingConstraints, duals: &[f64], totals: &Totals) -> Self {
        let mut sums = Self::default();
        let by_limit = constraints.each.iter().zip(duals.chunks(constraints.slots().max(1)));
        for (limit, duals) in by_limit {
            let load = &totals.loads[limit.node];
            let cost = constraints.cost(limit, load);
            let paid: f64 = load.iter().zip(duals).map(|(kwh, dual)| kwh * dual).sum();
            let conjugate = constraints.conjugate(limit, duals);
            sums.limits += cost;
            sums.paid += limit.sign * paid;
            sums.conjugates += conjugate;
            sums.scale += cost.abs() + paid.abs() + conjugate.abs();
        }
        sums
    }
}

/// Checks of energies, cost, bound and gap.
fn check_money(
    problem: &AreaProblem<'_>,
    totals: &Totals,
    sums: &Sums,
    stated: &StatedArea,
) -> Vec<Check> {
    let energy = |line: &str, stated: f64, computed: f64| Check {
        line: line.to_owned(),
        stated,
        computed,
        tolerance: totals.rounding_kwh + allowed(GAP_MAX, computed),
    };
    let unmet: f64 = stated.unmet.iter().map(|(_, kwh)| kwh).sum();
    let (least, most, _) = problem.curves.spread();
    let price = least.abs().max(most.abs());
    let cost = totals.cost + sums.limits;
    let scale = totals.cost.abs() + sums.device_bound.abs() + sums.scale + sums.room_scale;
    // Rounding moves loads, and a soft limit then costs as much as its dual at most.
    let rounding = sums.bound_rounding + price * totals.rounding_kwh + allowed(GAP_MAX, scale);
    let bound = sums.device_bound - sums.conjugates;
    let gap = (stated.cost - stated.bound).max(0.0)
        / stated.bound.abs().max(stated.baseline_cost.abs()).max(f64::MIN_POSITIVE);
    let too_high = Check::rule("bound", stated.bound - bound, rounding);
    vec![
        energy("energy_kwh", stated.energy_kwh, totals.charged_kwh),
        energy("discharged_kwh", stated.discharged_kwh, totals.discharged_kwh),
        energy("shortfall_kwh", stated.unmet_kwh, unmet),
        Check { line: "cost".to_owned(), stated: stated.cost, computed: cost, tolerance: rounding },
        too_high,
        // With a bound on the unmet need the gap may count what is unmet, too.
        if stated.unmet_bound_kwh.is_some() {
            Check::rule("relative_gap", gap - stated.gap, allowed(GAP_MAX, gap))
        } else {
            Check::equal("relative_gap", stated.gap, gap, gap)
        },
    ]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::area::worker::tests::town::{Car, Columns, Town, car};
    use crate::area::{AreaOptions, plan_area};

    fn planned<'a>(columns: &'a Columns, town: &'a Town) -> (AreaProblem<'a>, AreaPlan) {
        let problem = columns.problem(town);
        let options = AreaOptions { gap: 1e-3, max_rounds: 200, start: None };
        let plan = plan_area(&problem, &options);
        (problem, plan)
    }

    #[track_caller]
    fn check_honest(columns: &Columns, town: &Town) -> AreaVerification {
        let (problem, plan) = planned(columns, town);
        let found = plan.verify(&problem).unwrap();
        for check in &found.checks {
            assert!(check.holds(), "{check:?}, vehicles {:?}", found.vehicles);
        }
        // The gaps of the vehicles and of the limits are the gap of the area.
        let gaps: f64 = found.vehicles.iter().map(VehicleCheck::gap).sum();
        let gap = plan.cost - found.bound;
        assert!((gaps + found.limits_gap - gap).abs() <= 1e-6 * plan.cost.abs().max(1.0));
        found
    }

    /// Vehicles that charge, some with a reserve.
    fn cars(count: usize) -> Vec<Car> {
        let with_reserve = |number: usize| Car {
            reserve_percent: if number.is_multiple_of(3) { 40.0 } else { 0.0 },
            ..car(number)
        };
        (0..count).map(with_reserve).collect()
    }

    #[test]
    fn an_honest_plan_holds_with_and_without_a_shortage() {
        for limit_kw in [400.0, 60.0, 12.0] {
            let found = check_honest(&Columns::new(&cars(20)), &Town::new(limit_kw));
            assert_eq!(found.vehicles.len(), 20);
        }
    }

    #[test]
    fn batteries_and_vehicles_that_are_on_or_off_hold() {
        let mut mixed = cars(24);
        for (number, car) in mixed.iter_mut().enumerate() {
            match number % 4 {
                0 => car.discharge_max_kw = 11.0,
                1 => car.power_min_kw = 6.0,
                _ => {}
            }
        }
        for limit_kw in [400.0, 60.0, 15.0] {
            check_honest(&Columns::new(&mixed), &Town::new(limit_kw));
        }
    }

    /// Lines that fail once the statements or the intervals of an honest plan are changed.
    fn failing(change: impl FnOnce(&mut StatedArea, &mut IntervalColumns)) -> Vec<String> {
        let (columns, town) = (Columns::new(&cars(20)), Town::new(60.0));
        let (problem, plan) = planned(&columns, &town);
        let (mut stated, mut plans) = (plan.stated(), plan.intervals(&problem).unwrap());
        change(&mut stated, &mut plans);
        let checks = verify_area(&problem, &plans, &stated).unwrap().checks;
        checks.into_iter().filter(|check| !check.holds()).map(|check| check.line).collect()
    }

    #[test]
    fn a_changed_statement_is_named() {
        assert_eq!(failing(|_, _| ()), [""; 0]);
        assert_eq!(failing(|stated, _| stated.cost += 0.01), ["cost", "relative_gap"]);
        assert_eq!(failing(|stated, _| stated.bound += 1.0), ["bound"]);
        assert_eq!(failing(|stated, _| stated.bound -= 1.0), ["relative_gap"]);
        assert_eq!(failing(|stated, _| stated.gap += 0.01), ["relative_gap"]);
        assert_eq!(failing(|stated, _| stated.energy_kwh += 0.01), ["energy_kwh"]);
        assert_eq!(failing(|stated, _| stated.discharged_kwh = 1.0), ["discharged_kwh"]);
        assert_eq!(failing(|stated, _| stated.unmet_kwh = 1.0), ["shortfall_kwh"]);
        assert_eq!(failing(|stated, _| stated.nodes[1].0[3] += 0.1), ["nodes[1].load_kw"]);
        assert_eq!(failing(|stated, _| stated.nodes[0].1 = 2.0), ["nodes[0].breach_kw"]);
    }

    #[test]
    fn duals_that_prove_less_are_named() {
        let changed = |dual: f64| {
            failing(move |stated, _| stated.duals_per_kwh[0].iter_mut().for_each(|it| *it = dual))
        };
        assert_eq!(changed(0.0), ["bound"]);
        assert_eq!(changed(-0.01), ["shadow_price_per_kwh", "bound"]);
        assert_eq!(changed(f64::NAN), ["shadow_price_per_kwh", "bound"]);
    }

    #[test]
    fn changed_plans_are_named() {
        // A vehicle that charges a second longer, at half its power, or not at all.
        let longer = failing(|_, plans| plans.end[0] += 1_000_000);
        assert!(longer.contains(&"vehicles".to_owned()), "{longer:?}");
        let weaker = failing(|_, plans| plans.power_kw[0] /= 2.0);
        for line in ["vehicles", "energy_kwh", "cost"] {
            assert!(weaker.contains(&line.to_owned()), "{line} in {weaker:?}");
        }
        let stronger = failing(|_, plans| plans.power_kw.iter_mut().for_each(|kw| *kw *= 3.0));
        for line in ["nodes[0].limit_kw", "nodes[0].breach_kw", "nodes[1].limit_kw", "vehicles"] {
            assert!(stronger.contains(&line.to_owned()), "{line} in {stronger:?}");
        }
    }

    #[test]
    fn another_problem_is_refused() {
        let (columns, town) = (Columns::new(&cars(5)), Town::new(60.0));
        let (problem, plan) = planned(&columns, &town);
        let (mut stated, plans) = (plan.stated(), plan.intervals(&problem).unwrap());
        stated.duals_per_kwh.pop();
        let found = verify_area(&problem, &plans, &stated);
        assert_eq!(found.map(|found| found.bound), Err(AreaError::OtherProblem));
    }

    fn any_car() -> impl Strategy<Value = Car> {
        let power = prop_oneof![Just(3.7), Just(11.0), 1.0..22.0f64];
        let discharge = prop_oneof![3 => Just(f64::NAN), 1 => Just(11.0)];
        let least = prop_oneof![3 => Just(f64::NAN), 1 => Just(1.0)];
        let kinds = (power, least, discharge, 0..2u32);
        (0..8i64, 2..12i64, 5.0..95.0f64, prop_oneof![Just(0.0), 10.0..60.0f64], kinds).prop_map(
            |(from_hour, hours, soc_percent, reserve_percent, (power, least, discharge, node))| {
                // A battery charges and discharges at any power.
                let power_min_kw = if discharge.is_nan() { least } else { f64::NAN };
                let (power_max_kw, discharge_max_kw, priority) = (power, discharge, 1.0);
                Car {
                    from_hour,
                    hours,
                    soc_percent,
                    reserve_percent,
                    power_max_kw,
                    power_min_kw,
                    discharge_max_kw,
                    priority,
                    node,
                }
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        /// Every plan of the engine passes, whatever its vehicles and limit.
        #[test]
        fn every_plan_holds(cars in prop::collection::vec(any_car(), 1..9), limit_kw in 2.0..90.0f64) {
            check_honest(&Columns::new(&cars), &Town::new(limit_kw));
        }
    }
}

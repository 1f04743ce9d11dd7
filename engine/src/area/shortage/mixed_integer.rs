//! Mixed-integer programme of a small area with indivisible vehicles (on or off).
//!
//! The bound of column generation is that of vehicles with any power, and rounding its solution
//! to whole columns may withhold energy for which there is capacity. A small area is therefore one
//! mixed-integer programme:
//!
//! ```text
//! on or off:   c·y <= x <= c·(y + z),   Σ z <= number of deadlines,   y, z in {0, 1}
//! deadline d:  Σ x up to d  +  s >= need of d
//! limit:       Σ x over the vehicles below a node <= bound
//! ```
//!
//! | Symbol | Meaning | Code |
//! |---|---|---|
//! | `x` | energy of a vehicle in a slot | `SlotVariables::energy` |
//! | `c` | energy of the slot at full power | `SlotVariables::cap` |
//! | `y`, `z` | on for the whole slot, on for a part of it | `SlotVariables::on` |
//! | `s` | shortfall of a vehicle at its worst deadline | `VehicleVariables::short` |
//!
//! So a vehicle is on for whole slots, except for one slot per deadline, in which a need ends.
//! Three searches follow each other: the least sum of `s`, even shares of it by tiers as in
//! `fair_shares`, and the least cost of serving each vehicle so.
use crate::area::distributed::executor::Executor;
use crate::area::model::energy_by_slot::EnergyBySlot;
use crate::area::model::linking::{LinkingConstraint, Penalty};
use crate::area::model::session::Session;
use crate::area::model::sessions::Sessions;
use crate::area::problem::micro_wh::{MICRO_WH_PER_KWH, as_kwh, to_micro_wh};
use crate::area::shortage::measure::{VehicleShortfall, shortfall_of_vehicle};
use crate::area::solve::area_instance::AreaInstance;
use crate::lp::{Column, Limits, LpError, MipSolution, MixedProgram, Row};
use crate::tolerance::SHORTFALL_TOLERANCE_KWH;

/// Upper bound on the binary variables: one search then takes up to about three seconds.
const BINARIES_MAX: usize = 400;

/// Upper bound on the energy variables, one per vehicle and slot.
const CELLS_MAX: usize = 4_000;

/// Branch-and-bound nodes of the search for the least shortfall.
///
/// Nodes are a limit that is the same on every machine. The proof of this search needs most; more
/// nodes for the other two took four times as long and changed few plans.
const NODES_UNMET: u32 = 1_000;

/// Branch-and-bound nodes of the search for even shares.
const NODES_SHARE: u32 = 30;

/// Branch-and-bound nodes of the search for the least cost.
const NODES_COST: u32 = 100;

/// Tiers of a need; the penalty rises from each to the next.
const TIERS: usize = 10;

/// Penalty on energy missing at departure, where there are deadlines before; the first tier of a
/// shortfall costs 1.
const DEPARTURE_PENALTY: f64 = 0.25;

/// Rounding of the solver, as a part of the unit of energy: three times its least integrality
/// tolerance.
const UNIT_TOLERANCE: f64 = 3e-8;

/// Energy missing at departure that is taken for none. It is balanced by the tiers of the need and
/// by the cells of the plan, whose rounding adds up. Not tuned.
const AT_DEPARTURE_MIN: f64 = 20.0 * UNIT_TOLERANCE;

/// Plans of all vehicles, and the bound that is proved on their shortfall.
pub(crate) struct MixedIntegerPlan {
    /// Plan of each vehicle, in the order of the sessions.
    pub(crate) plans: Vec<EnergyBySlot>,
    /// Shortfall of each vehicle.
    pub(crate) shortfalls: Vec<VehicleShortfall>,
    /// Shortfall of any plan, a lower bound in kWh.
    pub(crate) least_kwh: f64,
}

/// Variables of one vehicle in one slot.
struct SlotVariables {
    slot: usize,
    /// Energy of the slot at full power, in µWh.
    cap: i64,
    /// Column of the energy.
    energy: usize,
    /// Binary columns of an indivisible vehicle: on for the whole slot, on for a part of it.
    on: Option<(usize, usize)>,
}

/// Variables of one vehicle, as columns of the programme.
struct VehicleVariables {
    cells: Vec<SlotVariables>,
    /// Column of the shortfall at the worst deadline.
    short: usize,
    /// Column of the shortfall at departure.
    at_departure: usize,
}

/// Mixed-integer programme of an area, with the values of its best solution so far.
struct MixedIntegerModel<'a> {
    instance: &'a AreaInstance<'a>,
    sessions: &'a Sessions,
    programme: MixedProgram,
    vehicles: Vec<VehicleVariables>,
    /// Energy that is 1 in the programme, in kWh.
    unit: f64,
    /// Values of all columns that satisfy all rows.
    values: Vec<f64>,
}

/// Solves a small area. `None` if it is too large, if it has parts that the programme does not
/// model (batteries, reserves, quadratic limits, heat units), or if no solution was found.
pub(crate) fn solve_mixed_integer(
    instance: &AreaInstance<'_>,
    sessions: &Sessions,
    executor: &mut Executor<'_>,
) -> Option<MixedIntegerPlan> {
    if !is_small(instance, sessions) {
        return None;
    }
    let mut model = MixedIntegerModel::new(instance, sessions);
    let solved = model.minimise_unmet();
    let least = executor.note_error(solved)?;
    // If a later search fails, the solution of the one before has the same shortfall.
    let refined = model.refine(least.cost);
    executor.note_error(refined);
    model.finish(least.bound)
}

/// Returns true if the programme can model the area and is small enough.
pub(crate) fn is_small(instance: &AreaInstance<'_>, sessions: &Sessions) -> bool {
    let slots = |session: &Session| (session.end - session.first) as usize;
    let cells: usize = sessions.each.iter().map(slots).sum();
    let binaries: usize = sessions
        .each
        .iter()
        .filter(|session| session.is_indivisible)
        .map(|session| 2 * slots(session))
        .sum();
    // An export bound below zero demands a least load, which no row states. Vehicles that only
    // charge keep every other export limit.
    let is_plain = |constraint: &LinkingConstraint| match constraint.penalty {
        Penalty::Square(_) => false,
        Penalty::Hard if constraint.sign < 0.0 => {
            constraint.bounds.iter().all(|bound| *bound >= 0.0)
        }
        _ => true,
    };
    instance.rooms.each.is_empty()
        && binaries <= BINARIES_MAX
        && cells <= CELLS_MAX
        && sessions.batteries.is_empty()
        && !sessions
            .deadlines
            .iter()
            .any(|deadlines| deadlines.has_reserve() || deadlines.is_late())
        && instance.constraints.each.iter().all(is_plain)
}

/// Row `terms <= upper`.
fn at_most(terms: Vec<(usize, f64)>, upper: f64) -> Row {
    Row { lower: f64::NEG_INFINITY, upper, terms }
}

impl<'a> MixedIntegerModel<'a> {
    /// Programme with all vehicles and hard limits, and values in which no vehicle charges.
    fn new(instance: &'a AreaInstance<'a>, sessions: &'a Sessions) -> Self {
        let largest = sessions.each.iter().map(|session| session.need).max().unwrap_or(0);
        let unit = as_kwh(largest).max(SHORTFALL_TOLERANCE_KWH);
        let (programme, values) = (MixedProgram::default(), Vec::new());
        let mut model = Self { instance, sessions, programme, vehicles: Vec::new(), unit, values };
        for session in &sessions.each {
            model.add_vehicle(session);
        }
        model.add_limits();
        model
    }

    /// Adds a column from 0 to `upper` with a start value. Returns its position.
    fn column(&mut self, upper: f64, value: f64) -> usize {
        self.values.push(value);
        self.programme.linear.add_column(Column { cost: 0.0, lower: 0.0, upper })
    }

    /// Energy in units of the programme.
    fn in_units(&self, energy: i64) -> f64 {
        as_kwh(energy) / self.unit
    }

    /// Adds the variables and rows of a vehicle.
    fn add_vehicle(&mut self, session: &Session) {
        let curves = self.instance.problem.curves;
        let (horizon, prices) = (curves.horizon(), curves.prices(session.curve as usize));
        let need = self.in_units(session.need);
        let (short, at_departure) = (self.column(need, need), self.column(need, need));
        let mut cells = Vec::new();
        let slots = session.first as usize..session.end as usize;
        for slot in slots.filter(|&slot| session.need > 0 && !prices[slot].is_nan()) {
            let cap = session.cap(horizon, slot);
            let energy = self.column(self.in_units(cap), 0.0);
            let on = session.is_indivisible.then(|| (self.column(1.0, 0.0), self.column(1.0, 0.0)));
            // c·y <= x <= c·(y + z)
            if let Some((full, part)) = on {
                self.programme.integers.extend([full, part]);
                let cap = self.in_units(cap);
                let rows = &mut self.programme.linear.rows;
                rows.push(at_most(vec![(full, cap), (energy, -1.0)], 0.0));
                rows.push(at_most(vec![(energy, 1.0), (full, -cap), (part, -cap)], 0.0));
            }
            cells.push(SlotVariables { slot, cap, energy, on });
        }
        let vehicle = VehicleVariables { cells, short, at_departure };
        self.add_needs(session, &vehicle);
        self.vehicles.push(vehicle);
    }

    /// Adds the rows of the need and of each deadline before the last.
    fn add_needs(&mut self, session: &Session, vehicle: &VehicleVariables) {
        let VehicleVariables { cells, short, at_departure } = vehicle;
        let need = self.in_units(session.need);
        let mut all: Vec<(usize, f64)> = cells.iter().map(|cell| (cell.energy, 1.0)).collect();
        all.push((*at_departure, 1.0));
        self.programme.linear.rows.push(Row { lower: need, upper: need, terms: all });
        self.programme.linear.rows.push(at_most(vec![(*at_departure, 1.0), (*short, -1.0)], 0.0));
        let sessions = self.sessions;
        let deadlines = sessions.deadlines_of(session);
        let stages = deadlines.map_or(1, |deadlines| deadlines.needs.len());
        if session.is_indivisible {
            let parts = cells.iter().filter_map(|cell| Some((cell.on?.1, 1.0))).collect();
            self.programme.linear.rows.push(at_most(parts, stages as f64));
        }
        let Some(deadlines) = deadlines else { return };
        for (stage, &wanted) in deadlines.needs.iter().take(stages - 1).enumerate() {
            let mut terms = vec![(*short, 1.0)];
            for cell in cells {
                let cap = deadlines.cap_by(cell.slot as u32, stage);
                if cap >= cell.cap {
                    terms.push((cell.energy, 1.0));
                } else if cap > 0 {
                    // The deadline is inside the slot: energy up to `cap` is in time.
                    let in_time = self.column(self.in_units(cap), 0.0);
                    let rows = &mut self.programme.linear.rows;
                    rows.push(at_most(vec![(in_time, 1.0), (cell.energy, -1.0)], 0.0));
                    terms.push((in_time, 1.0));
                }
            }
            let lower = self.in_units(wanted);
            self.programme.linear.rows.push(Row { lower, upper: f64::INFINITY, terms });
        }
    }

    /// Terms of the load of a node in a slot: the energies of all vehicles below it.
    fn load(&self, node: usize, slot: usize) -> Vec<(usize, f64)> {
        let paths = &self.instance.constraints.paths;
        let pairs = self.sessions.each.iter().zip(&self.vehicles);
        let below =
            pairs.filter(|(session, _)| paths[session.node as usize].contains(&(node as u32)));
        let cells = below.flat_map(|(_, vehicle)| &vehicle.cells);
        cells.filter(|cell| cell.slot == slot).map(|cell| (cell.energy, 1.0)).collect()
    }

    /// Adds a row for each hard import limit and slot.
    fn add_limits(&mut self) {
        let terms = self.instance.constraints;
        for constraint in terms.each.iter().filter(|constraint| constraint.penalty == Penalty::Hard)
        {
            for (slot, bound) in constraint.bounds.iter().enumerate().filter(|(_, b)| b.is_finite())
            {
                if constraint.sign > 0.0 {
                    let row = at_most(self.load(constraint.node, slot), bound / self.unit);
                    self.programme.linear.rows.push(row);
                }
            }
        }
    }

    /// Minimises the present objective, starting from the values so far.
    fn minimise(&mut self, nodes: u32) -> Result<MipSolution, LpError> {
        self.programme.start = Some(self.values.clone());
        let limits = Limits { nodes, ..Limits::default() };
        let solved = self.programme.minimise(&limits)?;
        self.values.clone_from(&solved.values);
        Ok(solved)
    }

    /// Minimises the sum of shortfalls.
    fn minimise_unmet(&mut self) -> Result<MipSolution, LpError> {
        for vehicle in &self.vehicles {
            self.programme.linear.columns[vehicle.short].cost = 1.0;
        }
        self.minimise(NODES_UNMET)
    }

    /// Shares the least sum of shortfalls evenly, then minimises the cost.
    fn refine(&mut self, least: f64) -> Result<(), LpError> {
        if least > self.rounding() {
            self.share_shortfall(least)?;
        }
        self.minimise_cost()
    }

    /// Rounding of the solver in the sum of all vehicles, in units of the programme.
    fn rounding(&self) -> f64 {
        UNIT_TOLERANCE * self.vehicles.len() as f64
    }

    /// Result from the values; `bound` is the lower bound on the sum of shortfalls, in units.
    fn finish(&self, bound: f64) -> Option<MixedIntegerPlan> {
        let least_kwh = ((bound - self.rounding()) * self.unit).max(0.0);
        let plans = self.plans()?;
        let context = self.instance.context(self.sessions);
        let shortfalls = self.sessions.each.iter().zip(&plans);
        let shortfalls = shortfalls
            .map(|(session, taken)| shortfall_of_vehicle(&context, self.sessions, session, taken))
            .collect();
        Some(MixedIntegerPlan { plans, shortfalls, least_kwh })
    }

    /// Shares the least shortfall evenly: it becomes a row, and tiers with a rising penalty become
    /// the objective.
    fn share_shortfall(&mut self, least: f64) -> Result<(), LpError> {
        let short = self.vehicles.iter().map(|vehicle| (vehicle.short, 1.0)).collect();
        self.programme
            .linear
            .rows
            .push(at_most(short, least * (1.0 + UNIT_TOLERANCE) + UNIT_TOLERANCE));
        let has_deadlines = !self.sessions.deadlines.is_empty();
        for (at, session) in self.sessions.each.iter().enumerate() {
            let VehicleVariables { short, at_departure, .. } = self.vehicles[at];
            let part = self.in_units(session.need) / TIERS as f64;
            let mut terms = vec![(short, -1.0)];
            let mut rest = self.values[short];
            for tier in 0..TIERS {
                let column = self.column(part, rest.clamp(0.0, part));
                rest -= part;
                self.programme.linear.columns[column].cost =
                    1.0 + f64::from(session.priority) * tier as f64;
                terms.push((column, 1.0));
            }
            let columns = &mut self.programme.linear.columns;
            // Energy that is still delivered by departure lowers the penalty by
            // `DEPARTURE_PENALTY`.
            columns[short].cost = 0.0;
            columns[at_departure].cost = if has_deadlines { DEPARTURE_PENALTY } else { 0.0 };
            self.programme.linear.rows.push(Row { lower: 0.0, upper: 0.0, terms });
        }
        self.minimise(NODES_SHARE).map(drop)
    }

    /// Minimises the cost, with the shortfall of each vehicle fixed at its value.
    fn minimise_cost(&mut self) -> Result<(), LpError> {
        self.programme.linear.columns.iter_mut().for_each(|column| column.cost = 0.0);
        let curves = self.instance.problem.curves;
        let money = self.instance.money;
        for (vehicle, session) in self.vehicles.iter().zip(&self.sessions.each) {
            let prices = curves.prices(session.curve as usize);
            let columns = &mut self.programme.linear.columns;
            for cell in &vehicle.cells {
                columns[cell.energy].cost = prices[cell.slot] * self.unit / money;
            }
            // By rounding of the solver, values may be below their bounds.
            let [short, at_departure] =
                [vehicle.short, vehicle.at_departure].map(|at| self.values[at].max(0.0));
            columns[vehicle.short].upper = short + UNIT_TOLERANCE;
            columns[vehicle.at_departure].lower = (at_departure - UNIT_TOLERANCE).max(0.0);
            columns[vehicle.at_departure].upper = at_departure + UNIT_TOLERANCE;
        }
        for at in 0..self.instance.constraints.each.len() {
            self.add_soft(at, money);
        }
        self.minimise(NODES_COST).map(drop)
    }

    /// Adds the cost of a soft limit: one column for the excess of each slot, or one for the peak.
    fn add_soft(&mut self, at: usize, money: f64) {
        let terms_of = self.instance.constraints;
        let constraint = &terms_of.each[at];
        let (price, is_peak) = match constraint.penalty {
            Penalty::Priced(price) => (price, false),
            Penalty::Peak(price) => (price, true),
            Penalty::Hard | Penalty::Square(_) => return,
        };
        let mut peak = None;
        for (slot, bound) in constraint.bounds.iter().enumerate().filter(|(_, b)| b.is_finite()) {
            let mut terms = self.load(constraint.node, slot);
            for (_, weight) in &mut terms {
                *weight = constraint.sign;
            }
            let load: f64 = terms.iter().map(|&(at, weight)| weight * self.values[at]).sum();
            let hours = if is_peak { terms_of.hours[slot] } else { 1.0 };
            let beyond = ((load - bound / self.unit) / hours).max(0.0);
            let column = peak.unwrap_or_else(|| self.column(f64::INFINITY, 0.0));
            self.values[column] = self.values[column].max(beyond);
            self.programme.linear.columns[column].cost = price * self.unit / money;
            terms.push((column, -hours));
            self.programme.linear.rows.push(at_most(terms, bound / self.unit));
            peak = is_peak.then_some(column);
        }
    }

    /// Plans from the values, in whole µWh within every hard limit; `None` if rounding exceeds one.
    fn plans(&self) -> Option<Vec<EnergyBySlot>> {
        let mut capacity = self.capacity();
        let mut energies: Vec<Vec<i64>> = Vec::new();
        for (vehicle, session) in self.vehicles.iter().zip(&self.sessions.each) {
            // Binaries are whole up to the tolerance of the solver only.
            let energies_of = vehicle.cells.iter().map(|cell| match cell.on {
                Some((full, _)) if self.values[full] > 0.5 => cell.cap,
                Some((_, part)) if self.values[part] < 0.5 => 0,
                _ => self.micro_wh(self.values[cell.energy]).clamp(0, cell.cap),
            });
            let of_vehicle: Vec<i64> = energies_of.collect();
            for (cell, energy) in vehicle.cells.iter().zip(&of_vehicle) {
                self.take(&mut capacity, (session, cell.slot), *energy);
            }
            energies.push(of_vehicle);
        }
        // Repair rounding, vehicle by vehicle, in the residual capacity.
        for ((vehicle, session), energies) in
            self.vehicles.iter().zip(&self.sessions.each).zip(&mut energies)
        {
            self.fit(&mut capacity, (vehicle, session), energies);
        }
        let is_kept = capacity.iter().flatten().all(|&left| left >= 0);
        let plan = |(vehicle, energies): (&VehicleVariables, Vec<i64>)| {
            let cells = vehicle.cells.iter().zip(energies).filter(|(_, energy)| *energy > 0);
            cells.map(|(cell, energy)| (cell.slot as u32, energy)).collect()
        };
        is_kept.then(|| self.vehicles.iter().zip(energies).map(plan).collect())
    }

    /// Energy in whole µWh from units of the programme.
    fn micro_wh(&self, units: f64) -> i64 {
        to_micro_wh(units * self.unit)
    }

    /// Capacity of each hard import limit, in µWh by slot; empty for other limits.
    fn capacity(&self) -> Vec<Vec<i64>> {
        let limit = |constraint: &LinkingConstraint| {
            let is_hard = constraint.penalty == Penalty::Hard && constraint.sign > 0.0;
            let whole = |bound: &f64| (bound * MICRO_WH_PER_KWH).floor().clamp(-4e18, 4e18) as i64;
            if is_hard { constraint.bounds.iter().map(whole).collect() } else { Vec::new() }
        };
        self.instance.constraints.each.iter().map(limit).collect()
    }

    /// Subtracts energy from the capacity of the limits above a vehicle.
    fn take(&self, capacity: &mut [Vec<i64>], (session, slot): (&Session, usize), energy: i64) {
        for &node in &self.instance.constraints.paths[session.node as usize] {
            for &constraint in &self.instance.constraints.by_node[node as usize] {
                if let Some(left) = capacity[constraint].get_mut(slot) {
                    *left -= energy;
                }
            }
        }
    }

    /// Repairs rounding in the plan of a vehicle: removes energy above limits and the need, and
    /// adds energy up to the need. `at` holds its energies in µWh, cell by cell.
    fn fit(
        &self,
        capacity: &mut [Vec<i64>],
        (vehicle, session): (&VehicleVariables, &Session),
        at: &mut [i64],
    ) {
        let at_departure = self.values[vehicle.at_departure];
        let at_departure =
            if at_departure <= AT_DEPARTURE_MIN { 0 } else { self.micro_wh(at_departure) };
        let mut wanted = (session.need - at_departure).max(0) - at.iter().sum::<i64>();
        let terms = self.instance.constraints;
        for (cell, energy) in vehicle.cells.iter().zip(at) {
            // Slots that are fully on or off stay as they are.
            let is_part = |(_, part): (usize, usize)| self.values[part] > 0.5;
            if cell.on.is_some_and(|on| self.values[on.0] > 0.5 || !is_part(on)) {
                continue;
            }
            let above = terms.paths[session.node as usize].iter();
            let above = above.flat_map(|&node| &terms.by_node[node as usize]);
            let left = above.filter_map(|&constraint| capacity[constraint].get(cell.slot)).min();
            let most = left.map_or(cell.cap, |&left| left.saturating_add(*energy)).min(cell.cap);
            let next = (*energy + wanted).clamp(0, most.max(0));
            let change = next - *energy;
            self.take(capacity, (session, cell.slot), change);
            (*energy, wanted) = (next, wanted - change);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::area::problem::micro_wh::to_micro_wh;
    use crate::area::recovery::totals::tests::{Car, Town, car};
    use crate::area::shortage::measure::tests::with_instance;

    const HOURS: usize = 3;

    fn indivisible(from: i64, hours: i64, kwh: f64) -> Car {
        let stay = (from, (from + hours).min(HOURS as i64));
        Car { stay, is_indivisible: true, ..car(HOURS as i64, kwh) }
    }

    /// All plans of a vehicle in steps of 5 kWh: hours of 0 or 10 kWh, and one of 5.
    fn all_plans(car: &Car) -> Vec<[u32; HOURS]> {
        let mut all = Vec::new();
        for code in 0..27_u32 {
            let plan = [code % 3 * 5, code / 3 % 3 * 5, code / 9 * 5];
            let stay = car.stay.0 as usize..car.stay.1 as usize;
            let is_present = (0..HOURS).all(|hour| plan[hour] == 0 || stay.contains(&hour));
            let parts = plan.iter().filter(|&&kwh| kwh == 5).count();
            if is_present && parts <= 1 && f64::from(plan.iter().sum::<u32>()) <= car.kwh {
                all.push(plan);
            }
        }
        all
    }

    /// Most energy that vehicles can have together in what limits leave of each hour.
    fn most_delivered(cars: &[Car], left: [u32; HOURS]) -> u32 {
        let Some((car, others)) = cars.split_first() else { return 0 };
        let mut most = 0;
        for plan in all_plans(car) {
            if (0..HOURS).all(|hour| plan[hour] <= left[hour]) {
                let rest = [0, 1, 2].map(|hour| left[hour] - plan[hour]);
                most = most.max(plan.iter().sum::<u32>() + most_delivered(others, rest));
            }
        }
        most
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// With needs, powers and limits in steps of 5 kWh some best plan has such steps, too.
        #[test]
        fn no_plans_of_steps_withhold_less(
            cars in prop::collection::vec((0..3i64, 1..4i64, 1..6u32), 1..4), limit in 1..6u32,
        ) {
            let of = |&(from, hours, steps): &(i64, i64, u32)| {
                let hours = hours.min(HOURS as i64 - from);
                let kwh = (5.0 * f64::from(steps)).min(10.0 * hours as f64);
                indivisible(from, hours, kwh)
            };
            let cars: Vec<Car> = cars.iter().map(of).collect();
            let town = Town::new(&[30, 10, 20], &cars, &[Some(5.0 * f64::from(limit))]);
            let found = with_instance(&town, |instance, sessions, executor| {
                solve_mixed_integer(instance, sessions, executor)
            });
            let found = found.unwrap();
            let wanted: f64 = cars.iter().map(|car| car.kwh).sum();
            let least = wanted - f64::from(most_delivered(&cars, [5 * limit; HOURS]));
            let missing = found.shortfalls.iter().map(|shortfall| as_kwh(shortfall.missing));
            let missing = missing.sum::<f64>();
            prop_assert!((missing - least).abs() < 1e-3, "{missing}, not {least}");
            prop_assert!(found.least_kwh <= least + 1e-6);
            let mut load = [0; HOURS];
            for taken in &found.plans {
                let is_part = |&&(_, energy): &&(u32, i64)| energy < to_micro_wh(10.0);
                prop_assert!(taken.iter().filter(is_part).count() <= 1, "{taken:?}");
                for &(slot, energy) in taken {
                    load[slot as usize] += energy;
                }
            }
            prop_assert!(load.iter().all(|&load| load <= to_micro_wh(5.0 * f64::from(limit))));
        }
    }

    #[test]
    fn a_shortage_is_shared_evenly_and_served_at_the_least_cost() {
        // 15 of 20 kWh in the only hour: of each 2 of 10 tiers are missing, and a third of one.
        let cars = [indivisible(1, 1, 10.0); 2];
        let town = Town::new(&[30, 10, 20], &cars, &[Some(15.0)]);
        with_instance(&town, |instance, sessions, executor| {
            let found = solve_mixed_integer(instance, sessions, executor).unwrap();
            let energies = found.plans.iter().map(|taken| as_kwh(taken[0].1));
            let near = energies.into_iter().all(|kwh| (6.999..=8.001).contains(&kwh));
            assert!(near, "{:?}", found.plans);
            assert!((found.least_kwh - 5.0).abs() < 1e-4);
        });
        // Without a shortage the cheapest hour is full, and the second cheapest has the rest.
        let town = Town::new(&[30, 10, 20], &[indivisible(0, 3, 15.0)], &[Some(15.0)]);
        with_instance(&town, |instance, sessions, executor| {
            let found = solve_mixed_integer(instance, sessions, executor).unwrap();
            assert_eq!(found.plans, [[(1, to_micro_wh(10.0)), (2, to_micro_wh(5.0))]]);
            assert_eq!(found.shortfalls[0].missing, 0);
        });
    }

    #[test]
    fn large_areas_and_reserves_are_left_to_other_methods() {
        let is_small = |cars: &[Car]| {
            let town = Town::new(&[30, 10, 20], cars, &[Some(15.0)]);
            with_instance(&town, |instance, sessions, _| is_small(instance, sessions))
        };
        let one = indivisible(0, 3, 5.0);
        // Two binaries for each of three hours: 66 vehicles have 396.
        assert!(is_small(&[one; 66]) && !is_small(&[one; 67]));
        assert!(is_small(&[car(3, 5.0); 67]));
        assert!(!is_small(&[Car { reserve_kwh: 2.0, ..one }]));
        assert!(is_small(&[Car { target: Some((1, 2.0)), ..one }]));
    }
}

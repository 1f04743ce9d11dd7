//! Least shortage and least cost of small areas with vehicles that are on or off.
//!
//! Column generation proves what vehicles can do in parts, and rounding its mix may
//! withhold energy for which there is room. A small area is therefore one
//! mixed-integer programme. With `x` the energy of a vehicle in a slot, `c` its
//! energy at full power, and `s` its shortfall:
//!
//! ```text
//! on or off:   c·y <= x <= c·(y + z),   Σ z <= number of deadlines,   y, z in {0, 1}
//! deadline d:  Σ x up to d  +  s >= need of d
//! limit:       Σ x over the vehicles below a node <= bound
//! ```
//!
//! So a vehicle is on for whole slots, but for one in which a need ends. First the sum of
//! `s` is minimised, then what that leaves open is shared evenly, as in `fair_shares`, and
//! then the cost of serving each vehicle so.
use crate::area::distributed::executor::Executor;
use crate::area::model::energy_by_slot::EnergyBySlot;
use crate::area::model::linking::Penalty;
use crate::area::model::session::Session;
use crate::area::model::sessions::Sessions;
use crate::area::problem::micro_wh::{MICRO_WH_PER_KWH, as_kwh};
use crate::area::shortage::measure::{VehicleShortfall, shortfall_of_vehicle};
use crate::area::solve::subproblem::Subproblem;
use crate::lp::{Column, Limits, LpError, MipSolution, MixedProgram, Row};

/// Decisions of a programme that one search still solves in about three seconds.
const BINARIES_MAX: usize = 400;

/// Energies of a programme, at most.
const CELLS_MAX: usize = 4_000;

/// Nodes of the search for the least unmet energy, for even shares and for the least
/// cost: limits that are the same on every machine. A proof of the first needs most,
/// and more nodes for the others took four times as long and changed few plans.
const NODES_UNMET: u32 = 1_000;

const NODES_SHARE: u32 = 30;

const NODES_COST: u32 = 100;

/// Tenths of a need, each worth more than the one before.
const TIERS: usize = 10;

/// Worth of energy that comes after a missed deadline, beside that of a need.
const LATE: f64 = 0.25;

/// Part of the unit of energy that is rounding of the solver: three times its least
/// tolerance for whole numbers.
const UNIT_TOLERANCE: f64 = 3e-8;

/// Plans of all vehicles, and what they prove.
pub(crate) struct MixedIntegerPlan {
    /// Energy of each vehicle by slot, in the order of the stays.
    pub(crate) plans: Vec<EnergyBySlot>,
    /// Need that each vehicle goes without.
    pub(crate) shortfalls: Vec<VehicleShortfall>,
    /// Need that goes unmet in any plan, in kWh.
    pub(crate) least_kwh: f64,
}

/// Energy of a vehicle in a slot.
struct SlotVariables {
    slot: usize,
    cap: i64,
    energy: usize,
    /// Whether the vehicle is on for all of the slot, and for a part of it.
    on: Option<(usize, usize)>,
}

/// Columns of one vehicle.
struct VehicleVariables {
    cells: Vec<SlotVariables>,
    /// Need that is missed at the worst deadline, and in the end.
    short: usize,
    late: usize,
}

/// The programme of an area.
struct MixedIntegerModel<'a> {
    subproblem: &'a Subproblem<'a>,
    sessions: &'a Sessions,
    programme: MixedProgram,
    vehicles: Vec<VehicleVariables>,
    /// Energy that counts as 1, in kWh.
    unit: f64,
    /// Values that keep all rows.
    values: Vec<f64>,
}

/// Searches a small area; `None` where it is too large, where vehicles have what the
/// programme does not know (batteries, reserves, squares), or where nothing was found.
pub(crate) fn solve_mixed_integer(
    subproblem: &Subproblem<'_>,
    sessions: &Sessions,
    executor: &mut Executor<'_>,
) -> Option<MixedIntegerPlan> {
    if !is_small(subproblem, sessions) {
        return None;
    }
    let mut model = MixedIntegerModel::new(subproblem, sessions);
    let found = model.minimise_unmet();
    let least = executor.note_error(found)?;
    // Should a later step fail, the plan of the one before leaves no more unmet.
    let refined = model.refine(least.cost);
    executor.note_error(refined);
    model.finish(least.bound)
}

/// Whether an area is one for the programme.
pub(crate) fn is_small(subproblem: &Subproblem<'_>, sessions: &Sessions) -> bool {
    let slots = |session: &Session| (session.last - session.first) as usize;
    let cells: usize = sessions.each.iter().map(slots).sum();
    let binaries: usize = sessions
        .each
        .iter()
        .filter(|session| session.is_indivisible)
        .map(|session| 2 * slots(session))
        .sum();
    // A feeder that must be kept from exporting is nothing that a bound can say.
    let is_plain =
        |constraint: &crate::area::model::linking::LinkingConstraint| match constraint.penalty {
            Penalty::Square(_) => false,
            Penalty::Hard if constraint.sign < 0.0 => {
                constraint.bounds.iter().all(|bound| *bound >= 0.0)
            }
            _ => true,
        };
    binaries <= BINARIES_MAX
        && cells <= CELLS_MAX
        && sessions.batteries.is_empty()
        && !sessions
            .deadlines
            .iter()
            .any(|deadlines| deadlines.has_reserve() || deadlines.is_late())
        && subproblem.constraints.each.iter().all(is_plain)
}

fn at_most(terms: Vec<(usize, f64)>, upper: f64) -> Row {
    Row { lower: f64::NEG_INFINITY, upper, terms }
}

impl<'a> MixedIntegerModel<'a> {
    fn new(subproblem: &'a Subproblem<'a>, sessions: &'a Sessions) -> Self {
        let largest = sessions.each.iter().map(|session| session.need).max().unwrap_or(0);
        let unit = as_kwh(largest).max(1e-6);
        let (programme, values) = (MixedProgram::default(), Vec::new());
        let mut model =
            Self { subproblem, sessions, programme, vehicles: Vec::new(), unit, values };
        for session in &sessions.each {
            model.add_vehicle(session);
        }
        model.add_limits();
        model
    }

    /// Adds a column from 0 to `upper`, with its value in the plan of nobody charging.
    fn column(&mut self, upper: f64, value: f64) -> usize {
        self.values.push(value);
        self.programme.linear.add_column(Column { cost: 0.0, lower: 0.0, upper })
    }

    fn in_units(&self, energy: i64) -> f64 {
        as_kwh(energy) / self.unit
    }

    fn add_vehicle(&mut self, session: &Session) {
        let curves = self.subproblem.problem.curves;
        let (horizon, prices) = (curves.horizon(), curves.prices(session.curve as usize));
        let need = self.in_units(session.need);
        let (short, late) = (self.column(need, need), self.column(need, need));
        let mut cells = Vec::new();
        let slots = session.first as usize..session.last as usize;
        for slot in slots.filter(|&slot| session.need > 0 && !prices[slot].is_nan()) {
            let cap = session.cap(horizon, slot);
            let energy = self.column(self.in_units(cap), 0.0);
            let on = session.is_indivisible.then(|| (self.column(1.0, 0.0), self.column(1.0, 0.0)));
            if let Some((full, part)) = on {
                self.programme.integers.extend([full, part]);
                let cap = self.in_units(cap);
                let rows = &mut self.programme.linear.rows;
                rows.push(at_most(vec![(full, cap), (energy, -1.0)], 0.0));
                rows.push(at_most(vec![(energy, 1.0), (full, -cap), (part, -cap)], 0.0));
            }
            cells.push(SlotVariables { slot, cap, energy, on });
        }
        let vehicle = VehicleVariables { cells, short, late };
        self.add_needs(session, &vehicle);
        self.vehicles.push(vehicle);
    }

    fn add_needs(&mut self, session: &Session, vehicle: &VehicleVariables) {
        let VehicleVariables { cells, short, late } = vehicle;
        let need = self.in_units(session.need);
        let mut all: Vec<(usize, f64)> = cells.iter().map(|cell| (cell.energy, 1.0)).collect();
        all.push((*late, 1.0));
        self.programme.linear.rows.push(Row { lower: need, upper: need, terms: all });
        self.programme.linear.rows.push(at_most(vec![(*late, 1.0), (*short, -1.0)], 0.0));
        let sessions = self.sessions;
        let deadlines = sessions.deadlines.get(session.deadlines as usize);
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
                    // Energy comes first in its slot: as much is in time as fits before.
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

    /// Energies of all vehicles below a node in a slot.
    fn load(&self, node: usize, slot: usize) -> Vec<(usize, f64)> {
        let paths = &self.subproblem.constraints.paths;
        let pairs = self.sessions.each.iter().zip(&self.vehicles);
        let below =
            pairs.filter(|(session, _)| paths[session.node as usize].contains(&(node as u32)));
        let cells = below.flat_map(|(_, vehicle)| &vehicle.cells);
        cells.filter(|cell| cell.slot == slot).map(|cell| (cell.energy, 1.0)).collect()
    }

    fn add_limits(&mut self) {
        let terms = self.subproblem.constraints;
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

    /// Minimises what the columns cost now, from the values so far.
    fn minimise(&mut self, nodes: u32) -> Result<MipSolution, LpError> {
        self.programme.start = Some(self.values.clone());
        let limits = Limits { nodes, ..Limits::default() };
        let solved = self.programme.minimise(&limits)?;
        self.values.clone_from(&solved.values);
        Ok(solved)
    }

    /// Minimises the energy that goes unmet.
    fn minimise_unmet(&mut self) -> Result<MipSolution, LpError> {
        for vehicle in &self.vehicles {
            self.programme.linear.columns[vehicle.short].cost = 1.0;
        }
        self.minimise(NODES_UNMET)
    }

    /// Shares the least unmet energy, and minimises what that costs.
    fn refine(&mut self, least: f64) -> Result<(), LpError> {
        if least > self.rounding() {
            self.share_shortfall(least)?;
        }
        self.minimise_cost()
    }

    /// Energy of all vehicles that is rounding of the solver.
    fn rounding(&self) -> f64 {
        UNIT_TOLERANCE * self.vehicles.len() as f64
    }

    /// Plans of the values; `bound` is what must go unmet.
    fn finish(&self, bound: f64) -> Option<MixedIntegerPlan> {
        let least_kwh = ((bound - self.rounding()) * self.unit).max(0.0);
        let plans = self.plans()?;
        let context = self.subproblem.context(self.sessions);
        let shortfalls = self.sessions.each.iter().zip(&plans);
        let shortfalls = shortfalls
            .map(|(session, taken)| shortfall_of_vehicle(&context, self.sessions, session, taken))
            .collect();
        Some(MixedIntegerPlan { plans, shortfalls, least_kwh })
    }

    /// Shares the least shortage evenly, by tenths that are worth more one by one.
    fn share_shortfall(&mut self, least: f64) -> Result<(), LpError> {
        let short = self.vehicles.iter().map(|vehicle| (vehicle.short, 1.0)).collect();
        self.programme
            .linear
            .rows
            .push(at_most(short, least * (1.0 + UNIT_TOLERANCE) + UNIT_TOLERANCE));
        let has_deadlines = !self.sessions.deadlines.is_empty();
        for (at, session) in self.sessions.each.iter().enumerate() {
            let VehicleVariables { short, late, .. } = self.vehicles[at];
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
            columns[short].cost = 0.0;
            columns[late].cost = if has_deadlines { LATE } else { 0.0 };
            self.programme.linear.rows.push(Row { lower: 0.0, upper: 0.0, terms });
        }
        self.minimise(NODES_SHARE).map(drop)
    }

    /// Minimises the cost of serving each vehicle as the values do.
    fn minimise_cost(&mut self) -> Result<(), LpError> {
        self.programme.linear.columns.iter_mut().for_each(|column| column.cost = 0.0);
        let curves = self.subproblem.problem.curves;
        let money = self.subproblem.money;
        for (vehicle, session) in self.vehicles.iter().zip(&self.sessions.each) {
            let prices = curves.prices(session.curve as usize);
            let columns = &mut self.programme.linear.columns;
            for cell in &vehicle.cells {
                columns[cell.energy].cost = prices[cell.slot] * self.unit / money;
            }
            // Values may be below their bounds, by rounding.
            let [short, late] = [vehicle.short, vehicle.late].map(|at| self.values[at].max(0.0));
            columns[vehicle.short].upper = short + UNIT_TOLERANCE;
            columns[vehicle.late].lower = (late - UNIT_TOLERANCE).max(0.0);
            columns[vehicle.late].upper = late + UNIT_TOLERANCE;
        }
        for at in 0..self.subproblem.constraints.each.len() {
            self.add_soft(at, money);
        }
        self.minimise(NODES_COST).map(drop)
    }

    /// Adds what a soft limit costs.
    fn add_soft(&mut self, at: usize, money: f64) {
        let terms_of = self.subproblem.constraints;
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

    /// Plans of the values, in whole grains that keep every limit; `None` where
    /// rounding is in the way.
    fn plans(&self) -> Option<Vec<EnergyBySlot>> {
        let mut capacity = self.capacity();
        let mut energies: Vec<Vec<i64>> = Vec::new();
        for (vehicle, session) in self.vehicles.iter().zip(&self.sessions.each) {
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

    fn micro_wh(&self, units: f64) -> i64 {
        crate::area::problem::micro_wh::to_micro_wh(units * self.unit)
    }

    /// Room of each hard limit on import; none of others.
    fn capacity(&self) -> Vec<Vec<i64>> {
        let limit = |constraint: &crate::area::model::linking::LinkingConstraint| {
            let is_hard = constraint.penalty == Penalty::Hard && constraint.sign > 0.0;
            let whole = |bound: &f64| (bound * MICRO_WH_PER_KWH).floor().clamp(-4e18, 4e18) as i64;
            if is_hard { constraint.bounds.iter().map(whole).collect() } else { Vec::new() }
        };
        self.subproblem.constraints.each.iter().map(limit).collect()
    }

    /// Takes energy from the room of the limits above a vehicle.
    fn take(&self, capacity: &mut [Vec<i64>], (session, slot): (&Session, usize), energy: i64) {
        for &node in &self.subproblem.constraints.paths[session.node as usize] {
            for &constraint in &self.subproblem.constraints.by_node[node as usize] {
                if let Some(left) = capacity[constraint].get_mut(slot) {
                    *left -= energy;
                }
            }
        }
    }

    /// Takes back what rounding put beyond limits and the need, and gives what it lost.
    fn fit(
        &self,
        capacity: &mut [Vec<i64>],
        (vehicle, session): (&VehicleVariables, &Session),
        at: &mut [i64],
    ) {
        let late = self.values[vehicle.late];
        let late = if late <= 20.0 * UNIT_TOLERANCE { 0 } else { self.micro_wh(late) };
        let mut wanted = (session.need - late).max(0) - at.iter().sum::<i64>();
        let terms = self.subproblem.constraints;
        for (cell, energy) in vehicle.cells.iter().zip(at) {
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

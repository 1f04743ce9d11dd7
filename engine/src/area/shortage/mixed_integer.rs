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
use crate::area::distributed::executor::Staff;
use crate::area::model::energy_by_slot::Taken;
use crate::area::model::linking::Kind;
use crate::area::model::session::Stay;
use crate::area::model::sessions::Stays;
use crate::area::problem::micro_wh::{GRAINS_PER_KWH, as_kwh};
use crate::area::shortage::measure::{Lack, lack_of};
use crate::area::solve::subproblem::Task;
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
const HAIR: f64 = 3e-8;

/// Plans of all vehicles, and what they prove.
pub(crate) struct Exact {
    /// Energy of each vehicle by slot, in the order of the stays.
    pub(crate) plans: Vec<Taken>,
    /// Need that each vehicle goes without.
    pub(crate) lacks: Vec<Lack>,
    /// Need that goes unmet in any plan, in kWh.
    pub(crate) least_kwh: f64,
}

/// Energy of a vehicle in a slot.
struct Cell {
    slot: usize,
    cap: i64,
    energy: usize,
    /// Whether the vehicle is on for all of the slot, and for a part of it.
    on: Option<(usize, usize)>,
}

/// Columns of one vehicle.
struct Vehicle {
    cells: Vec<Cell>,
    /// Need that is missed at the worst deadline, and in the end.
    short: usize,
    late: usize,
}

/// The programme of an area.
struct Model<'a> {
    task: &'a Task<'a>,
    stays: &'a Stays,
    programme: MixedProgram,
    vehicles: Vec<Vehicle>,
    /// Energy that counts as 1, in kWh.
    unit: f64,
    /// Values that keep all rows.
    values: Vec<f64>,
}

/// Searches a small area; `None` where it is too large, where vehicles have what the
/// programme does not know (batteries, reserves, squares), or where nothing was found.
pub(crate) fn search(task: &Task<'_>, stays: &Stays, staff: &mut Staff<'_>) -> Option<Exact> {
    if !is_small(task, stays) {
        return None;
    }
    let mut model = Model::new(task, stays);
    let found = model.minimise_unmet();
    let least = staff.note_error(found)?;
    // Should a later step fail, the plan of the one before leaves no more unmet.
    let refined = model.refine(least.cost);
    staff.note_error(refined);
    model.finish(least.bound)
}

/// Whether an area is one for the programme.
pub(crate) fn is_small(task: &Task<'_>, stays: &Stays) -> bool {
    let slots = |stay: &Stay| (stay.last - stay.first) as usize;
    let cells: usize = stays.each.iter().map(slots).sum();
    let binaries: usize =
        stays.each.iter().filter(|stay| stay.whole).map(|stay| 2 * slots(stay)).sum();
    // A feeder that must be kept from exporting is nothing that a bound can say.
    let is_plain = |term: &crate::area::model::linking::Term| match term.kind {
        Kind::Square(_) => false,
        Kind::Hard if term.sign < 0.0 => term.bounds.iter().all(|bound| *bound >= 0.0),
        _ => true,
    };
    binaries <= BINARIES_MAX
        && cells <= CELLS_MAX
        && stays.stores.is_empty()
        && !stays.wishes.iter().any(|wishes| wishes.has_reserve() || wishes.is_late())
        && task.terms.each.iter().all(is_plain)
}

fn at_most(terms: Vec<(usize, f64)>, upper: f64) -> Row {
    Row { lower: f64::NEG_INFINITY, upper, terms }
}

impl<'a> Model<'a> {
    fn new(task: &'a Task<'a>, stays: &'a Stays) -> Self {
        let largest = stays.each.iter().map(|stay| stay.need).max().unwrap_or(0);
        let unit = as_kwh(largest).max(1e-6);
        let (programme, values) = (MixedProgram::default(), Vec::new());
        let mut model = Self { task, stays, programme, vehicles: Vec::new(), unit, values };
        for stay in &stays.each {
            model.add_vehicle(stay);
        }
        model.add_limits();
        model
    }

    /// Adds a column from 0 to `upper`, with its value in the plan of nobody charging.
    fn column(&mut self, upper: f64, value: f64) -> usize {
        self.values.push(value);
        self.programme.linear.add_column(Column { cost: 0.0, lower: 0.0, upper })
    }

    fn in_units(&self, grains: i64) -> f64 {
        as_kwh(grains) / self.unit
    }

    fn add_vehicle(&mut self, stay: &Stay) {
        let curves = self.task.problem.curves;
        let (horizon, prices) = (curves.horizon(), curves.prices(stay.curve as usize));
        let need = self.in_units(stay.need);
        let (short, late) = (self.column(need, need), self.column(need, need));
        let mut cells = Vec::new();
        let slots = stay.first as usize..stay.last as usize;
        for slot in slots.filter(|&slot| stay.need > 0 && !prices[slot].is_nan()) {
            let cap = stay.cap(horizon, slot);
            let energy = self.column(self.in_units(cap), 0.0);
            let on = stay.whole.then(|| (self.column(1.0, 0.0), self.column(1.0, 0.0)));
            if let Some((full, part)) = on {
                self.programme.integers.extend([full, part]);
                let cap = self.in_units(cap);
                let rows = &mut self.programme.linear.rows;
                rows.push(at_most(vec![(full, cap), (energy, -1.0)], 0.0));
                rows.push(at_most(vec![(energy, 1.0), (full, -cap), (part, -cap)], 0.0));
            }
            cells.push(Cell { slot, cap, energy, on });
        }
        let vehicle = Vehicle { cells, short, late };
        self.add_needs(stay, &vehicle);
        self.vehicles.push(vehicle);
    }

    fn add_needs(&mut self, stay: &Stay, vehicle: &Vehicle) {
        let Vehicle { cells, short, late } = vehicle;
        let need = self.in_units(stay.need);
        let mut all: Vec<(usize, f64)> = cells.iter().map(|cell| (cell.energy, 1.0)).collect();
        all.push((*late, 1.0));
        self.programme.linear.rows.push(Row { lower: need, upper: need, terms: all });
        self.programme.linear.rows.push(at_most(vec![(*late, 1.0), (*short, -1.0)], 0.0));
        let stays = self.stays;
        let wishes = stays.wishes.get(stay.wishes as usize);
        let stages = wishes.map_or(1, |wishes| wishes.needs.len());
        if stay.whole {
            let parts = cells.iter().filter_map(|cell| Some((cell.on?.1, 1.0))).collect();
            self.programme.linear.rows.push(at_most(parts, stages as f64));
        }
        let Some(wishes) = wishes else { return };
        for (stage, &wanted) in wishes.needs.iter().take(stages - 1).enumerate() {
            let mut terms = vec![(*short, 1.0)];
            for cell in cells {
                let cap = wishes.cap_by(cell.slot as u32, stage);
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
        let paths = &self.task.terms.paths;
        let pairs = self.stays.each.iter().zip(&self.vehicles);
        let below = pairs.filter(|(stay, _)| paths[stay.node as usize].contains(&(node as u32)));
        let cells = below.flat_map(|(_, vehicle)| &vehicle.cells);
        cells.filter(|cell| cell.slot == slot).map(|cell| (cell.energy, 1.0)).collect()
    }

    fn add_limits(&mut self) {
        let terms = self.task.terms;
        for term in terms.each.iter().filter(|term| term.kind == Kind::Hard) {
            for (slot, bound) in term.bounds.iter().enumerate().filter(|(_, b)| b.is_finite()) {
                if term.sign > 0.0 {
                    let row = at_most(self.load(term.node, slot), bound / self.unit);
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
            self.share(least)?;
        }
        self.cheapen()
    }

    /// Energy of all vehicles that is rounding of the solver.
    fn rounding(&self) -> f64 {
        HAIR * self.vehicles.len() as f64
    }

    /// Plans of the values; `bound` is what must go unmet.
    fn finish(&self, bound: f64) -> Option<Exact> {
        let least_kwh = ((bound - self.rounding()) * self.unit).max(0.0);
        let plans = self.plans()?;
        let asked = self.task.asked(self.stays);
        let lacks = self.stays.each.iter().zip(&plans);
        let lacks = lacks.map(|(stay, taken)| lack_of(&asked, self.stays, stay, taken)).collect();
        Some(Exact { plans, lacks, least_kwh })
    }

    /// Shares the least shortage evenly, by tenths that are worth more one by one.
    fn share(&mut self, least: f64) -> Result<(), LpError> {
        let short = self.vehicles.iter().map(|vehicle| (vehicle.short, 1.0)).collect();
        self.programme.linear.rows.push(at_most(short, least * (1.0 + HAIR) + HAIR));
        let has_deadlines = !self.stays.wishes.is_empty();
        for (at, stay) in self.stays.each.iter().enumerate() {
            let Vehicle { short, late, .. } = self.vehicles[at];
            let part = self.in_units(stay.need) / TIERS as f64;
            let mut terms = vec![(short, -1.0)];
            let mut rest = self.values[short];
            for tier in 0..TIERS {
                let column = self.column(part, rest.clamp(0.0, part));
                rest -= part;
                self.programme.linear.columns[column].cost =
                    1.0 + f64::from(stay.priority) * tier as f64;
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
    fn cheapen(&mut self) -> Result<(), LpError> {
        self.programme.linear.columns.iter_mut().for_each(|column| column.cost = 0.0);
        let curves = self.task.problem.curves;
        let money = self.task.money;
        for (vehicle, stay) in self.vehicles.iter().zip(&self.stays.each) {
            let prices = curves.prices(stay.curve as usize);
            let columns = &mut self.programme.linear.columns;
            for cell in &vehicle.cells {
                columns[cell.energy].cost = prices[cell.slot] * self.unit / money;
            }
            // Values may be below their bounds, by rounding.
            let [short, late] = [vehicle.short, vehicle.late].map(|at| self.values[at].max(0.0));
            columns[vehicle.short].upper = short + HAIR;
            columns[vehicle.late].lower = (late - HAIR).max(0.0);
            columns[vehicle.late].upper = late + HAIR;
        }
        for at in 0..self.task.terms.each.len() {
            self.add_soft(at, money);
        }
        self.minimise(NODES_COST).map(drop)
    }

    /// Adds what a soft limit costs.
    fn add_soft(&mut self, at: usize, money: f64) {
        let terms_of = self.task.terms;
        let term = &terms_of.each[at];
        let (price, is_peak) = match term.kind {
            Kind::Priced(price) => (price, false),
            Kind::Peak(price) => (price, true),
            Kind::Hard | Kind::Square(_) => return,
        };
        let mut peak = None;
        for (slot, bound) in term.bounds.iter().enumerate().filter(|(_, b)| b.is_finite()) {
            let mut terms = self.load(term.node, slot);
            for (_, weight) in &mut terms {
                *weight = term.sign;
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
    fn plans(&self) -> Option<Vec<Taken>> {
        let mut room = self.room();
        let mut energies: Vec<Vec<i64>> = Vec::new();
        for (vehicle, stay) in self.vehicles.iter().zip(&self.stays.each) {
            let energies_of = vehicle.cells.iter().map(|cell| match cell.on {
                Some((full, _)) if self.values[full] > 0.5 => cell.cap,
                Some((_, part)) if self.values[part] < 0.5 => 0,
                _ => self.grains(self.values[cell.energy]).clamp(0, cell.cap),
            });
            let of_vehicle: Vec<i64> = energies_of.collect();
            for (cell, energy) in vehicle.cells.iter().zip(&of_vehicle) {
                self.take(&mut room, (stay, cell.slot), *energy);
            }
            energies.push(of_vehicle);
        }
        for ((vehicle, stay), energies) in
            self.vehicles.iter().zip(&self.stays.each).zip(&mut energies)
        {
            self.fit(&mut room, (vehicle, stay), energies);
        }
        let is_kept = room.iter().flatten().all(|&left| left >= 0);
        let plan = |(vehicle, energies): (&Vehicle, Vec<i64>)| {
            let cells = vehicle.cells.iter().zip(energies).filter(|(_, energy)| *energy > 0);
            cells.map(|(cell, energy)| (cell.slot as u32, energy)).collect()
        };
        is_kept.then(|| self.vehicles.iter().zip(energies).map(plan).collect())
    }

    fn grains(&self, units: f64) -> i64 {
        crate::area::problem::micro_wh::grains(units * self.unit)
    }

    /// Room of each hard limit on import; none of others.
    fn room(&self) -> Vec<Vec<i64>> {
        let limit = |term: &crate::area::model::linking::Term| {
            let is_hard = term.kind == Kind::Hard && term.sign > 0.0;
            let whole = |bound: &f64| (bound * GRAINS_PER_KWH).floor().clamp(-4e18, 4e18) as i64;
            if is_hard { term.bounds.iter().map(whole).collect() } else { Vec::new() }
        };
        self.task.terms.each.iter().map(limit).collect()
    }

    /// Takes energy from the room of the limits above a vehicle.
    fn take(&self, room: &mut [Vec<i64>], (stay, slot): (&Stay, usize), energy: i64) {
        for &node in &self.task.terms.paths[stay.node as usize] {
            for &term in &self.task.terms.by_node[node as usize] {
                if let Some(left) = room[term].get_mut(slot) {
                    *left -= energy;
                }
            }
        }
    }

    /// Takes back what rounding put beyond limits and the need, and gives what it lost.
    fn fit(&self, room: &mut [Vec<i64>], (vehicle, stay): (&Vehicle, &Stay), at: &mut [i64]) {
        let late = self.values[vehicle.late];
        let late = if late <= 20.0 * HAIR { 0 } else { self.grains(late) };
        let mut wanted = (stay.need - late).max(0) - at.iter().sum::<i64>();
        let terms = self.task.terms;
        for (cell, energy) in vehicle.cells.iter().zip(at) {
            let is_part = |(_, part): (usize, usize)| self.values[part] > 0.5;
            if cell.on.is_some_and(|on| self.values[on.0] > 0.5 || !is_part(on)) {
                continue;
            }
            let above = terms.paths[stay.node as usize].iter();
            let above = above.flat_map(|&node| &terms.by_node[node as usize]);
            let left = above.filter_map(|&term| room[term].get(cell.slot)).min();
            let most = left.map_or(cell.cap, |&left| left.saturating_add(*energy)).min(cell.cap);
            let next = (*energy + wanted).clamp(0, most.max(0));
            let change = next - *energy;
            self.take(room, (stay, cell.slot), change);
            (*energy, wanted) = (next, wanted - change);
        }
    }
}

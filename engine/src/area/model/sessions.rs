//! Sessions of all vehicles of an area, sorted into blocks and groups.
//!
//! Energies are whole µWh and stays are runs of slots. Sessions are sorted by node, by curve if
//! curves are shared, by battery and by indivisible power, then by last and first slot, power, need
//! and row. Like vehicles therefore stand side by side, and the order does not depend on threads.
//!
//! A *group* has columns of its own in the restricted master; a *block* is a part of a group with
//! one node, at most [`BLOCK_LEN`] vehicles, that is priced as one piece of work.
use rayon::prelude::*;

use crate::area::model::battery::{Battery, highest_levels};
use crate::area::model::deadlines::Deadlines;
use crate::area::model::session::{Block, Demand, Session};
use crate::area::problem::area_problem::{AreaProblem, StorageColumns};
use crate::area::problem::micro_wh::{MICRO_WH_PER_KWH, as_kwh, to_micro_wh};
use crate::columns::fleet::Curves;
use crate::columns::row_error::RowError;
use crate::plan::charge::selection::slot_selection::Window;
use crate::units::{Energy, MICROS_PER_HOUR};

/// Most vehicles of a block.
pub(crate) const BLOCK_LEN: usize = 4_096;

/// Most nodes with vehicles for which each group has one node; with more, groups span nodes.
const NODES_MAX: usize = 1024;

/// Least number of groups (if there are as many vehicles) where groups are cut regardless of nodes.
const GROUPS_MANY: usize = 192;

/// Number of nodes from which on the groups of a node follow from its size alone.
pub(crate) const NODES_MANY: usize = 8;

/// Vehicles per group of a node if there are [`NODES_MANY`] nodes or more.
const PER_GROUP: usize = 64;

/// Most groups of a node if there are [`NODES_MANY`] nodes or more.
const GROUPS_PER_NODE: usize = 4;

/// Sessions of all vehicles of an area, or of a sample or a partition of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sessions {
    /// Sessions in their order; positions of vehicles refer to it.
    pub(crate) each: Vec<Session>,
    /// Deadlines of the sessions with [`Demand::Deadlines`].
    pub(crate) deadlines: Vec<Deadlines>,
    /// Batteries of the sessions with [`Demand::Battery`].
    pub(crate) batteries: Vec<Battery>,
    /// Blocks in the order of the sessions.
    pub(crate) blocks: Vec<Block>,
    /// Number of groups; a group is a run of blocks.
    pub(crate) groups: usize,
    /// Rows of the fleet that are errors; they have no session.
    pub(crate) errors: Vec<(usize, RowError)>,
    /// By row of the fleet, the energy in kWh that its stay is too short for, or its charge limit
    /// too low. Only rows that have some.
    pub(crate) out_of_reach_kwh: Vec<(u32, f64)>,
    /// Position of the first session among all vehicles of the area; 0 unless a partition.
    pub(crate) offset: usize,
    /// True for a sample, on which starting duals are found.
    pub(crate) is_sample: bool,
    /// True if needs were reduced by a shortage.
    pub(crate) is_reduced: bool,
    /// Version of the needs and reserves; a change of it is sent to the workers.
    pub(crate) version: u32,
    /// True if sessions are sorted by curve within a node.
    pub(crate) by_curve: bool,
    /// Largest priority as given; `Session::priority` is a part of it.
    pub(crate) priority_max: f32,
}

/// Result of preparing one row. The number is the energy in kWh for `Sessions::out_of_reach_kwh`.
enum Prepared {
    /// Vehicle that only charges.
    Session(Session, Option<Deadlines>, f64),
    /// Vehicle that also discharges.
    Battery(Session, Box<Battery>, f64),
    /// Row that is an error.
    Error(RowError),
}

impl Sessions {
    /// Prepares the vehicles of an area, with about `groups_max` groups in all or, with many nodes,
    /// up to [`GROUPS_PER_NODE`] for each node.
    pub(crate) fn new(problem: &AreaProblem<'_>, groups_max: usize) -> Self {
        let rows = problem.vehicles.fleet.len();
        let mut all = Self::prepare(problem);
        let most =
            all.each.iter().map(|session| session.priority).fold(f32::MIN_POSITIVE, f32::max);
        all.set_priority_max(most);
        let by_curve = shares_curves(problem, rows);
        // The key ends with the row: no two are equal, so an unstable sort has one result.
        all.each.par_sort_unstable_by_key(|session| {
            let curve = if by_curve { session.curve } else { 0 };
            let when = (session.end, session.first, session.cap, session.need);
            (session.node, curve, session.has_battery(), session.is_indivisible, when, session.row)
        });
        let ends = all.group_ends(groups_max);
        all.cut_into_blocks(by_curve, ends);
        all
    }

    /// Divides all priorities by the largest one of the area.
    pub(crate) fn set_priority_max(&mut self, most: f32) {
        self.priority_max = most;
        self.each.iter_mut().for_each(|session| session.priority /= most);
    }

    /// Prepares the rows in parallel, and collects sessions and errors in the order of the rows,
    /// without blocks.
    pub(crate) fn prepare(problem: &AreaProblem<'_>) -> Self {
        let rows = problem.vehicles.fleet.len();
        let made: Vec<Prepared> = (0..rows)
            .into_par_iter()
            .with_min_len(1024)
            .map(|row| prepare_session(problem, row))
            .collect();
        let mut all = Self::default();
        for (row, made) in made.into_iter().enumerate() {
            match made {
                Prepared::Error(error) => all.errors.push((row, error)),
                Prepared::Battery(mut session, battery, out_of_reach) => {
                    session.demand = Demand::Battery(all.batteries.len() as u32);
                    all.batteries.push(*battery);
                    if out_of_reach > 0.0 {
                        all.out_of_reach_kwh.push((row as u32, out_of_reach));
                    }
                    all.each.push(session);
                }
                Prepared::Session(mut session, deadlines, out_of_reach) => {
                    if let Some(deadlines) = deadlines {
                        session.demand = Demand::Deadlines(all.deadlines.len() as u32);
                        all.deadlines.push(deadlines);
                    }
                    if out_of_reach > 0.0 {
                        all.out_of_reach_kwh.push((row as u32, out_of_reach));
                    }
                    all.each.push(session);
                }
            }
        }
        all
    }

    /// Cuts the groups, given by their `ends`, into blocks of one node and one kind of vehicle, of
    /// one curve with `by_curve`, and of at most [`BLOCK_LEN`] vehicles.
    fn cut_into_blocks(&mut self, by_curve: bool, ends: Vec<usize>) {
        self.groups = ends.len();
        self.by_curve = by_curve;
        let mut start = 0;
        for (group, end) in ends.into_iter().enumerate() {
            while start < end {
                let first = &self.each[start];
                let like = |session: &Session| {
                    session.node == first.node
                        && (!by_curve || session.curve == first.curve)
                        && session.has_battery() == first.has_battery()
                };
                let most = (start + BLOCK_LEN).min(end);
                let same =
                    self.each[start..most].iter().take_while(|session| like(session)).count();
                self.add_block(start..start + same, group);
                start += same;
            }
        }
    }

    /// Adds the block of the sessions at some positions.
    pub(crate) fn add_block(&mut self, sessions: std::ops::Range<usize>, group: usize) {
        let first = &self.each[sessions.start];
        // Batteries are priced one by one, also on a shared curve.
        let curve = (self.by_curve && !first.has_battery()).then_some(first.curve);
        self.blocks.push(Block { node: first.node, sessions, curve, group });
    }

    /// Ends of the groups. A group has one node where possible, so that the master can combine
    /// columns for each node.
    fn group_ends(&self, groups_max: usize) -> Vec<usize> {
        let count = self.each.len();
        if count == 0 {
            return vec![0];
        }
        let nodes: Vec<usize> =
            self.each.chunk_by(|a, b| a.node == b.node).map(<[Session]>::len).collect();
        // Too many nodes for a group each, or few vehicles: equal parts regardless of nodes.
        if nodes.len() > NODES_MAX || count <= groups_max {
            return cut_evenly(0, count, groups_max.max(GROUPS_MANY).min(count)).collect();
        }
        // With many nodes the size of a node counts, else its part of `groups_max`.
        let are_many = nodes.len() >= NODES_MANY;
        let parts = |length: usize| {
            if are_many {
                return (length / PER_GROUP).clamp(1, GROUPS_PER_NODE);
            }
            (groups_max * length / count).clamp(1, length)
        };
        let mut ends = Vec::new();
        for &length in &nodes {
            let start = ends.last().copied().unwrap_or(0);
            ends.extend(cut_evenly(start, start + length, parts(length)));
        }
        ends
    }

    /// Sample of `count` sessions, spread evenly and in the same order. With `is_by_node` groups
    /// are cut as for all vehicles, else into `groups_max` equal parts.
    pub(crate) fn sample(
        &self,
        count: usize,
        (groups_max, is_by_node): (usize, bool),
        by_curve: bool,
    ) -> Self {
        let all = self.each.len();
        let sessions = (0..count).map(|at| self.each[at * all / count]).collect();
        // All are kept, so that the positions in `Demand` stay valid.
        let (deadlines, batteries) = (self.deadlines.clone(), self.batteries.clone());
        let mut sample =
            Self { each: sessions, deadlines, batteries, is_sample: true, ..Self::default() };
        let ends = if is_by_node {
            sample.group_ends(groups_max)
        } else {
            cut_evenly(0, count, groups_max).collect()
        };
        sample.cut_into_blocks(by_curve, ends);
        sample
    }

    /// Copy with the needs `needs`, in µWh and in the order of the sessions.
    pub(crate) fn with_needs(&self, needs: &[i64]) -> Self {
        let mut sessions = Self { is_reduced: true, ..self.clone() };
        for (session, &need) in sessions.each.iter_mut().zip(needs) {
            session.need = need;
            match session.demand {
                Demand::Departure => {}
                Demand::Deadlines(at) => sessions.deadlines[at as usize].reduce_need(need),
                Demand::Battery(at) => sessions.batteries[at as usize].set_need(need),
            }
        }
        sessions
    }

    /// Deadlines of a session before its departure, if it has any.
    #[inline(always)]
    pub(crate) fn deadlines_of(&self, session: &Session) -> Option<&Deadlines> {
        match session.demand {
            Demand::Deadlines(at) => Some(&self.deadlines[at as usize]),
            Demand::Departure | Demand::Battery(_) => None,
        }
    }

    /// Battery of a session, if it has one.
    #[inline(always)]
    pub(crate) fn battery_of(&self, session: &Session) -> Option<&Battery> {
        match session.demand {
            Demand::Battery(at) => Some(&self.batteries[at as usize]),
            Demand::Departure | Demand::Deadlines(_) => None,
        }
    }

    /// Deadlines of a session for changes, if it has any.
    pub(crate) fn deadlines_of_mut(&mut self, session: &Session) -> Option<&mut Deadlines> {
        match session.demand {
            Demand::Deadlines(at) => Some(&mut self.deadlines[at as usize]),
            Demand::Departure | Demand::Battery(_) => None,
        }
    }

    /// Battery of a session for changes, if it has one.
    pub(crate) fn battery_of_mut(&mut self, session: &Session) -> Option<&mut Battery> {
        match session.demand {
            Demand::Battery(at) => Some(&mut self.batteries[at as usize]),
            Demand::Departure | Demand::Deadlines(_) => None,
        }
    }

    /// Group of the vehicle at a position.
    pub(crate) fn group_of(&self, position: usize) -> usize {
        self.blocks[self.blocks.partition_point(|block| block.sessions.end <= position)].group
    }

    /// Returns true if some vehicle is on or off.
    pub(crate) fn has_indivisible(&self) -> bool {
        self.each.iter().any(|session| session.is_indivisible)
    }

    /// Sum of all needs, in kWh.
    pub(crate) fn need_kwh(&self) -> f64 {
        as_kwh(self.each.iter().map(|session| session.need).sum())
    }
}

/// Ends of `parts` parts of `from..to` that differ in length by at most 1.
fn cut_evenly(from: usize, to: usize, parts: usize) -> impl Iterator<Item = usize> {
    (1..=parts).map(move |part| from + part * (to - from) / parts)
}

/// Returns true if curves have 64 vehicles or more on average: sorting by curve then lets a block
/// rank its prices once.
pub(crate) fn shares_curves(problem: &AreaProblem<'_>, rows: usize) -> bool {
    match problem.curves {
        Curves::Shared(_) => true,
        Curves::PerVehicle(table) => table.len() * 64 <= rows,
    }
}

/// Prepares the session of a row, with its deadlines or its battery.
fn prepare_session(problem: &AreaProblem<'_>, row: usize) -> Prepared {
    let fleet = &problem.vehicles.fleet;
    if let Err(error) = problem.vehicles.check(row) {
        return Prepared::Error(error);
    }
    if let Some(columns) = battery_columns(problem, row) {
        return prepare_battery(problem, columns, row).unwrap_or_else(Prepared::Error);
    }
    let known = fleet.vehicle(row).and_then(|vehicle| Ok((vehicle, curve_of(problem, row)?)));
    let (vehicle, curve) = match known {
        Ok(known) => known,
        Err(error) => return Prepared::Error(error),
    };
    let horizon = problem.curves.horizon();
    let window = Window::new(horizon, vehicle.arrival, vehicle.departure);
    let rate = vehicle.power_max.as_kw() * MICRO_WH_PER_KWH / MICROS_PER_HOUR;
    let mut session = build_session(problem, row, (curve, window, rate));
    // Capacity: what full power delivers in slots with a price, up to the charge limit.
    let prices = problem.curves.prices(curve);
    let caps = (window.first..window.last).filter(|&slot| !prices[slot].is_nan());
    let capacity: i64 = caps.map(|slot| session.cap(horizon, slot)).sum();
    let capacity = match charge_limit(problem, row) {
        Ok(most) => most.map_or(capacity, |most| capacity.min(to_micro_wh(most.as_kwh()))),
        Err(error) => return Prepared::Error(error),
    };
    // The most that need, reserve and targets require; what exceeds the capacity is reported.
    let mut wanted = vehicle.energy.max(vehicle.reserve).as_kwh();
    if fleet.has_targets(row) {
        match fleet.targets(row, &vehicle) {
            Ok(targets) => {
                wanted = targets.iter().fold(wanted, |most, t| most.max(t.energy.as_kwh()));
            }
            Err(error) => return Prepared::Error(error),
        }
    }
    // Capped before the conversion, so that every want fits into an `i64`.
    session.need = to_micro_wh(wanted.min(as_kwh(capacity) + 1.0)).min(capacity);
    let beyond = (wanted - as_kwh(session.need)).max(0.0);
    let beyond = if beyond * MICRO_WH_PER_KWH > 1.0 { beyond } else { 0.0 };
    match Deadlines::of(problem, row, &vehicle, &session, window) {
        Ok(None) => Prepared::Session(session, None, beyond),
        Ok(Some((deadlines, beyond_before))) => {
            session.need = deadlines.needs.last().copied().unwrap_or(session.need);
            Prepared::Session(session, Some(deadlines), beyond.max(beyond_before))
        }
        Err(error) => Prepared::Error(error),
    }
}

/// Columns of the battery of a row that is planned as one: a vehicle that discharges, or one that is
/// filled.
///
/// A vehicle that only charges is filled if the caller asks for it, if it has neither targets before
/// its departure, nor a reserve in kWh, nor a least power, and if a price of its stay is negative.
/// Its plan is then that of a battery that does not discharge: between need and charge limit it
/// buys what lowers the cost of the area. Other vehicles buy their need alone, which is what is
/// cheapest for them where no price is negative.
pub(crate) fn battery_columns<'a>(
    problem: &'a AreaProblem<'_>,
    row: usize,
) -> Option<&'a StorageColumns<'a>> {
    let columns = problem.vehicles.storage.as_ref()?;
    (columns.has(row) || is_filled(problem, columns, row)).then_some(columns)
}

/// Returns true if a vehicle that only charges is filled.
fn is_filled(problem: &AreaProblem<'_>, columns: &StorageColumns<'_>, row: usize) -> bool {
    let fleet = &problem.vehicles.fleet;
    let has = |column: Option<&[f64]>| column.is_some_and(|values| values[row] > 0.0);
    if !columns.fills.is_some_and(|fills| fills[row])
        || has(fleet.reserve_kwh)
        || has(problem.vehicles.power_min_kw)
        || fleet.has_targets(row)
    {
        return false;
    }
    let (Ok(vehicle), Ok(curve)) = (fleet.vehicle(row), curve_of(problem, row)) else {
        return false;
    };
    let window = Window::new(problem.curves.horizon(), vehicle.arrival, vehicle.departure);
    let prices = problem.curves.prices(curve);
    // What a battery needs besides, such as some capacity, is no error of a vehicle that charges.
    prices[window.first..window.last].iter().any(|&price| price < 0.0)
        && Battery::new(columns, fleet, row).is_ok()
}

/// Energy at the plug with which a vehicle that only charges reaches its charge limit.
pub(crate) fn charge_limit(
    problem: &AreaProblem<'_>,
    row: usize,
) -> Result<Option<Energy>, RowError> {
    let limits = problem.vehicles.storage.and_then(|columns| columns.charge_limit_percent);
    let limit = limits.map(|limits| limits[row]).filter(|limit| !limit.is_nan());
    limit.map(|limit| problem.vehicles.fleet.energy_up_to(row, limit)).transpose()
}

/// Row of the price table with the prices of a vehicle.
pub(crate) fn curve_of(problem: &AreaProblem<'_>, row: usize) -> Result<usize, RowError> {
    match problem.curves {
        Curves::Shared(_) => Ok(0),
        Curves::PerVehicle(table) => {
            let curve = problem.vehicles.fleet.curve.map_or(row, |curve| curve[row] as usize);
            if curve < table.len() { Ok(curve) } else { Err(RowError::UnknownPrice) }
        }
    }
}

/// Session without a need, on a curve, a window, and at a power `rate` in µWh per microsecond.
fn build_session(
    problem: &AreaProblem<'_>,
    row: usize,
    (curve, window, rate): (usize, Window, f64),
) -> Session {
    let horizon = problem.curves.horizon();
    let number = |column: Option<&[f64]>, none: f64| {
        column.map(|column| column[row]).filter(|value| !value.is_nan()).unwrap_or(none)
    };
    let mut session = Session {
        first: window.first as u32,
        end: window.last as u32,
        row: row as u32,
        node: problem.vehicles.node.map_or(0, |node| node[row]),
        curve: curve as u32,
        demand: Demand::Departure,
        need: 0,
        first_cap: 0,
        last_cap: 0,
        cap: horizon.step().map_or(0, |step| (rate * step as f64).round() as i64),
        rate,
        priority: number(problem.vehicles.priority, 1.0) as f32,
        is_indivisible: number(problem.vehicles.power_min_kw, 0.0) > 0.0,
    };
    let usable = |slot: usize| (rate * window.usable(horizon, slot) as f64).round() as i64;
    // Arrival and departure may cut the first and the last slot.
    if window.len() > 0 {
        session.first_cap = usable(window.first);
        session.last_cap = usable(window.last - 1);
    }
    session
}

/// Prepares the session of a row that also discharges. Its need is stored energy, at most what full
/// power reaches by departure.
fn prepare_battery(
    problem: &AreaProblem<'_>,
    columns: &StorageColumns<'_>,
    row: usize,
) -> Result<Prepared, RowError> {
    let fleet = &problem.vehicles.fleet;
    let curve = curve_of(problem, row)?;
    let mut battery = Battery::new(columns, fleet, row)?;
    let horizon = problem.curves.horizon();
    let window = Window::new(horizon, battery.row.from, battery.row.to);
    let rate = battery.row.charge_max.as_kw() * MICRO_WH_PER_KWH / MICROS_PER_HOUR;
    let mut session = build_session(problem, row, (curve, window, rate));
    battery.reserve_from = session.first;
    let prices = problem.curves.prices(curve);
    let levels =
        highest_levels(|slot| prices[slot], horizon, (session.first, session.end), &battery);
    let reach = levels.last().copied().unwrap_or(battery.stored_kwh());
    let (need, beyond) = battery.need(reach);
    session.need = need;
    Ok(Prepared::Battery(session, Box::new(battery), beyond))
}

//! The vehicles of an area, made ready to be asked many times.
//!
//! Energy becomes whole grains, stays become runs of slots, and like vehicles come
//! to stand side by side: by node, departure, arrival. The order depends on them alone.
use rayon::prelude::*;

use crate::area::model::battery::{Battery, highest_levels};
use crate::area::model::deadlines::Deadlines;
use crate::area::model::session::{Block, NO_BATTERY, NO_DEADLINES, Session};
use crate::area::problem::area_problem::{AreaProblem, StorageColumns};
use crate::area::problem::micro_wh::{MICRO_WH_PER_KWH, as_kwh, to_micro_wh};
use crate::columns::fleet::Curves;
use crate::columns::row_error::RowError;
use crate::plan::charge::selection::slot_selection::Window;
use crate::units::{Energy, MICROS_PER_HOUR};

/// Vehicles answered in one piece of work.
pub(crate) const BLOCK_LEN: usize = 4_096;

/// Nodes that are groups of their own, at most; with more of them, groups as they come.
const NODES_MAX: usize = 1024;

const GROUPS_MANY: usize = 192;

/// Nodes that are many, so that each has groups of its own whatever its part of the vehicles.
pub(crate) const NODES_MANY: usize = 8;

/// Vehicles that make another group worth while there, and groups at most.
const PER_GROUP: usize = 64;

const GROUPS_PER_NODE: usize = 4;

/// All vehicles of an area that can be planned.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sessions {
    pub(crate) each: Vec<Session>,
    pub(crate) deadlines: Vec<Deadlines>,
    pub(crate) batteries: Vec<Battery>,
    pub(crate) blocks: Vec<Block>,
    /// Number of groups; a group is a run of blocks.
    pub(crate) groups: usize,
    /// Rows that make no sense.
    pub(crate) errors: Vec<(usize, RowError)>,
    /// Energy that a stay is too short for, or a charge limit too low, by row, in kWh.
    pub(crate) above_charge_limit_kwh: Vec<(u32, f64)>,
    /// Position of the first one among all vehicles of the area.
    pub(crate) first: usize,
    /// Whether these are only some of the vehicles, to try prices on.
    pub(crate) is_sample: bool,
    /// Whether needs are less than what was asked for.
    pub(crate) is_reduced: bool,
    /// Differs wherever needs or reserves do.
    pub(crate) state: u32,
    /// Whether vehicles of one curve stand side by side.
    pub(crate) by_curve: bool,
    /// The largest priority as given.
    pub(crate) priority_max: f32,
}

/// What becomes of one row.
enum Prepared {
    Session(Session, Option<Deadlines>, f64),
    Battery(Session, Box<Battery>, f64),
    Error(RowError),
}

impl Sessions {
    /// Prepares the vehicles of an area, split in at most `groups_max` groups.
    pub(crate) fn new(problem: &AreaProblem<'_>, groups_max: usize) -> Self {
        let rows = problem.vehicles.fleet.len();
        let mut all = Self::prepare(problem);
        let most =
            all.each.iter().map(|session| session.priority).fold(f32::MIN_POSITIVE, f32::max);
        all.set_priority_max(most);
        let by_curve = shares_curves(problem, rows);
        all.each.par_sort_unstable_by_key(|session| {
            let curve = if by_curve { session.curve } else { 0 };
            let when = (session.last, session.first, session.cap, session.need);
            (
                session.node,
                curve,
                session.battery != NO_BATTERY,
                session.is_indivisible,
                when,
                session.row,
            )
        });
        let ends = all.group_ends(groups_max);
        all.cut_into_blocks(by_curve, ends);
        all
    }

    /// Puts priorities in proportion to the largest one.
    pub(crate) fn set_priority_max(&mut self, most: f32) {
        self.priority_max = most;
        self.each.iter_mut().for_each(|session| session.priority /= most);
    }

    /// The rows that make sense, as they come.
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
                Prepared::Battery(mut session, battery, beyond) => {
                    session.battery = all.batteries.len() as u32;
                    all.batteries.push(*battery);
                    if beyond > 0.0 {
                        all.above_charge_limit_kwh.push((row as u32, beyond));
                    }
                    all.each.push(session);
                }
                Prepared::Session(mut session, deadlines, beyond) => {
                    if let Some(deadlines) = deadlines {
                        session.deadlines = all.deadlines.len() as u32;
                        all.deadlines.push(deadlines);
                    }
                    if beyond > 0.0 {
                        all.above_charge_limit_kwh.push((row as u32, beyond));
                    }
                    all.each.push(session);
                }
            }
        }
        all
    }

    /// Cuts the order into groups, and these into blocks.
    fn cut_into_blocks(&mut self, by_curve: bool, ends: Vec<usize>) {
        self.groups = ends.len();
        self.by_curve = by_curve;
        let mut start = 0;
        for (group, end) in ends.into_iter().enumerate() {
            while start < end {
                let first = &self.each[start];
                let batteries = first.battery != NO_BATTERY;
                let like = |session: &Session| {
                    session.node == first.node
                        && (!by_curve || session.curve == first.curve)
                        && (session.battery != NO_BATTERY) == batteries
                };
                let most = (start + BLOCK_LEN).min(end);
                let same =
                    self.each[start..most].iter().take_while(|session| like(session)).count();
                self.add_block(start..start + same, group);
                start += same;
            }
        }
    }

    /// Vehicles that are asked together.
    pub(crate) fn add_block(&mut self, sessions: std::ops::Range<usize>, group: usize) {
        let first = &self.each[sessions.start];
        // Batteries are asked one by one, whatever they share.
        let curve = (self.by_curve && first.battery == NO_BATTERY).then_some(first.curve);
        self.blocks.push(Block { node: first.node, sessions, curve, group });
    }

    /// Where groups end: limits of a node are best met by a mix of its own.
    fn group_ends(&self, groups_max: usize) -> Vec<usize> {
        let count = self.each.len();
        if count == 0 {
            return vec![0];
        }
        let nodes: Vec<usize> =
            self.each.chunk_by(|a, b| a.node == b.node).map(<[Session]>::len).collect();
        if nodes.len() > NODES_MAX || count <= groups_max {
            return cut_evenly(0, count, groups_max.max(GROUPS_MANY).min(count)).collect();
        }
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

    /// Some of the stays, spread evenly, in the same order.
    pub(crate) fn sample(
        &self,
        count: usize,
        (groups_max, is_by_node): (usize, bool),
        by_curve: bool,
    ) -> Self {
        let all = self.each.len();
        let sessions = (0..count).map(|at| self.each[at * all / count]).collect();
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

    /// The same vehicles with other needs, in the order of the stays.
    pub(crate) fn with_needs(&self, needs: &[i64]) -> Self {
        let mut sessions = Self { is_reduced: true, ..self.clone() };
        for (session, &need) in sessions.each.iter_mut().zip(needs) {
            session.need = need;
            if let Some(deadlines) = sessions.deadlines.get_mut(session.deadlines as usize) {
                deadlines.reduce_need(need);
            }
            if let Some(battery) = sessions.batteries.get_mut(session.battery as usize) {
                battery.set_need(need);
            }
        }
        sessions
    }

    /// The group of the vehicle at a position.
    pub(crate) fn group_of(&self, position: usize) -> usize {
        self.blocks[self.blocks.partition_point(|block| block.sessions.end <= position)].group
    }

    /// Whether some vehicle is on or off.
    pub(crate) fn has_indivisible(&self) -> bool {
        self.each.iter().any(|session| session.is_indivisible)
    }

    /// Energy needed by all, in kWh.
    pub(crate) fn need_kwh(&self) -> f64 {
        as_kwh(self.each.iter().map(|session| session.need).sum())
    }
}

/// Ends of parts of like size.
fn cut_evenly(from: usize, to: usize, parts: usize) -> impl Iterator<Item = usize> {
    (1..=parts).map(move |part| from + part * (to - from) / parts)
}

/// Whether vehicles are many on each curve, so that its price order pays.
pub(crate) fn shares_curves(problem: &AreaProblem<'_>, rows: usize) -> bool {
    match problem.curves {
        Curves::Shared(_) => true,
        Curves::PerVehicle(table) => table.len() * 64 <= rows,
    }
}

fn prepare_session(problem: &AreaProblem<'_>, row: usize) -> Prepared {
    let fleet = &problem.vehicles.fleet;
    if let Err(error) = problem.vehicles.check(row) {
        return Prepared::Error(error);
    }
    if let Some(columns) = problem.vehicles.storage.as_ref().filter(|columns| columns.has(row)) {
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
    let mut session = session_of(problem, row, (curve, window, rate));
    let prices = problem.curves.prices(curve);
    let caps = (window.first..window.last).filter(|&slot| !prices[slot].is_nan());
    let capacity: i64 = caps.map(|slot| session.cap(horizon, slot)).sum();
    let capacity = match charge_limit(problem, row) {
        Ok(most) => most.map_or(capacity, |most| capacity.min(to_micro_wh(most.as_kwh()))),
        Err(error) => return Prepared::Error(error),
    };
    let mut wanted = vehicle.energy.max(vehicle.reserve).as_kwh();
    if fleet.has_targets(row) {
        match fleet.targets(row, &vehicle) {
            Ok(targets) => {
                wanted = targets.iter().fold(wanted, |most, t| most.max(t.energy.as_kwh()));
            }
            Err(error) => return Prepared::Error(error),
        }
    }
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

/// Energy with which a vehicle that only charges is at its charge limit.
fn charge_limit(problem: &AreaProblem<'_>, row: usize) -> Result<Option<Energy>, RowError> {
    let limits = problem.vehicles.storage.and_then(|columns| columns.charge_limit_percent);
    let limit = limits.map(|limits| limits[row]).filter(|limit| !limit.is_nan());
    limit.map(|limit| problem.vehicles.fleet.energy_up_to(row, limit)).transpose()
}

/// The row of the price table that a vehicle pays.
fn curve_of(problem: &AreaProblem<'_>, row: usize) -> Result<usize, RowError> {
    match problem.curves {
        Curves::Shared(_) => Ok(0),
        Curves::PerVehicle(table) => {
            let curve = problem.vehicles.fleet.curve.map_or(row, |curve| curve[row] as usize);
            if curve < table.len() { Ok(curve) } else { Err(RowError::UnknownPrice) }
        }
    }
}

/// A stay that needs nothing yet, at so many grains in a microsecond.
fn session_of(
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
        last: window.last as u32,
        row: row as u32,
        node: problem.vehicles.node.map_or(0, |node| node[row]),
        curve: curve as u32,
        deadlines: NO_DEADLINES,
        battery: NO_BATTERY,
        need: 0,
        first_cap: 0,
        last_cap: 0,
        cap: horizon.step().map_or(0, |step| (rate * step as f64).round() as i64),
        rate,
        priority: number(problem.vehicles.priority, 1.0) as f32,
        is_indivisible: number(problem.vehicles.power_min_kw, 0.0) > 0.0,
    };
    let usable = |slot: usize| (rate * window.usable(horizon, slot) as f64).round() as i64;
    if window.len() > 0 {
        session.first_cap = usable(window.first);
        session.last_cap = usable(window.last - 1);
    }
    session
}

/// A row that also discharges.
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
    let mut session = session_of(problem, row, (curve, window, rate));
    battery.reserve_from = session.first;
    let prices = problem.curves.prices(curve);
    let levels =
        highest_levels(|slot| prices[slot], horizon, (session.first, session.last), &battery);
    let reach = levels.last().copied().unwrap_or(battery.stored_kwh());
    let (need, beyond) = battery.need(reach);
    session.need = need;
    Ok(Prepared::Battery(session, Box::new(battery), beyond))
}

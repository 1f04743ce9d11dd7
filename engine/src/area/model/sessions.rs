//! The vehicles of an area, made ready to be asked many times.
//!
//! Energy becomes whole grains, stays become runs of slots, and like vehicles come
//! to stand side by side: by node, departure, arrival. The order depends on them alone.
use rayon::prelude::*;

use crate::area::model::battery::{Store, reaches};
use crate::area::model::deadlines::Wishes;
use crate::area::model::session::{Block, NO_STORE, NO_WISHES, Stay};
use crate::area::problem::area_problem::{AreaProblem, StorageColumns};
use crate::area::problem::micro_wh::{GRAINS_PER_KWH, as_kwh, grains};
use crate::columns::fleet::Curves;
use crate::columns::row_error::RowError;
use crate::plan::choice::Window;
use crate::units::{Energy, MICROS_PER_HOUR};

/// Vehicles answered in one piece of work.
pub(crate) const BLOCK: usize = 4_096;

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
pub(crate) struct Stays {
    pub(crate) each: Vec<Stay>,
    pub(crate) wishes: Vec<Wishes>,
    pub(crate) stores: Vec<Store>,
    pub(crate) blocks: Vec<Block>,
    /// Number of groups; a group is a run of blocks.
    pub(crate) groups: usize,
    /// Rows that make no sense.
    pub(crate) errors: Vec<(usize, RowError)>,
    /// Energy that a stay is too short for, or a charge limit too low, by row, in kWh.
    pub(crate) beyond_kwh: Vec<(u32, f64)>,
    /// Position of the first one among all vehicles of the area.
    pub(crate) first: usize,
    /// Whether these are only some of the vehicles, to try prices on.
    pub(crate) is_sample: bool,
    /// Whether needs are less than what was asked for.
    pub(crate) is_cut: bool,
    /// Differs wherever needs or reserves do.
    pub(crate) state: u32,
    /// Whether vehicles of one curve stand side by side.
    pub(crate) by_curve: bool,
    /// The largest priority as given.
    pub(crate) priority_max: f32,
}

/// What becomes of one row.
enum Made {
    Stay(Stay, Option<Wishes>, f64),
    Store(Stay, Box<Store>, f64),
    Error(RowError),
}

impl Stays {
    /// Prepares the vehicles of an area, split in at most `groups_max` groups.
    pub(crate) fn new(problem: &AreaProblem<'_>, groups_max: usize) -> Self {
        let rows = problem.vehicles.fleet.len();
        let mut all = Self::made(problem);
        let most = all.each.iter().map(|stay| stay.priority).fold(f32::MIN_POSITIVE, f32::max);
        all.weigh(most);
        let by_curve = shares_curves(problem, rows);
        all.each.par_sort_unstable_by_key(|stay| {
            let curve = if by_curve { stay.curve } else { 0 };
            let when = (stay.last, stay.first, stay.cap, stay.need);
            (stay.node, curve, stay.store != NO_STORE, stay.whole, when, stay.row)
        });
        let ends = all.group_ends(groups_max);
        all.cut(by_curve, ends);
        all
    }

    /// Puts priorities in proportion to the largest one.
    pub(crate) fn weigh(&mut self, most: f32) {
        self.priority_max = most;
        self.each.iter_mut().for_each(|stay| stay.priority /= most);
    }

    /// The rows that make sense, as they come.
    pub(crate) fn made(problem: &AreaProblem<'_>) -> Self {
        let rows = problem.vehicles.fleet.len();
        let made: Vec<Made> =
            (0..rows).into_par_iter().with_min_len(1024).map(|row| make(problem, row)).collect();
        let mut all = Self::default();
        for (row, made) in made.into_iter().enumerate() {
            match made {
                Made::Error(error) => all.errors.push((row, error)),
                Made::Store(mut stay, store, beyond) => {
                    stay.store = all.stores.len() as u32;
                    all.stores.push(*store);
                    if beyond > 0.0 {
                        all.beyond_kwh.push((row as u32, beyond));
                    }
                    all.each.push(stay);
                }
                Made::Stay(mut stay, wishes, beyond) => {
                    if let Some(wishes) = wishes {
                        stay.wishes = all.wishes.len() as u32;
                        all.wishes.push(wishes);
                    }
                    if beyond > 0.0 {
                        all.beyond_kwh.push((row as u32, beyond));
                    }
                    all.each.push(stay);
                }
            }
        }
        all
    }

    /// Cuts the order into groups, and these into blocks.
    fn cut(&mut self, by_curve: bool, ends: Vec<usize>) {
        self.groups = ends.len();
        self.by_curve = by_curve;
        let mut start = 0;
        for (group, end) in ends.into_iter().enumerate() {
            while start < end {
                let first = &self.each[start];
                let stores = first.store != NO_STORE;
                let like = |stay: &Stay| {
                    stay.node == first.node
                        && (!by_curve || stay.curve == first.curve)
                        && (stay.store != NO_STORE) == stores
                };
                let most = (start + BLOCK).min(end);
                let same = self.each[start..most].iter().take_while(|stay| like(stay)).count();
                self.add_block(start..start + same, group);
                start += same;
            }
        }
    }

    /// Vehicles that are asked together.
    pub(crate) fn add_block(&mut self, stays: std::ops::Range<usize>, group: usize) {
        let first = &self.each[stays.start];
        // Batteries are asked one by one, whatever they share.
        let curve = (self.by_curve && first.store == NO_STORE).then_some(first.curve);
        self.blocks.push(Block { node: first.node, stays, curve, group });
    }

    /// Where groups end: limits of a node are best met by a mix of its own.
    fn group_ends(&self, groups_max: usize) -> Vec<usize> {
        let count = self.each.len();
        if count == 0 {
            return vec![0];
        }
        let nodes: Vec<usize> =
            self.each.chunk_by(|a, b| a.node == b.node).map(<[Stay]>::len).collect();
        if nodes.len() > NODES_MAX || count <= groups_max {
            return even(0, count, groups_max.max(GROUPS_MANY).min(count)).collect();
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
            ends.extend(even(start, start + length, parts(length)));
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
        let stays = (0..count).map(|at| self.each[at * all / count]).collect();
        let (wishes, stores) = (self.wishes.clone(), self.stores.clone());
        let mut sample = Self { each: stays, wishes, stores, is_sample: true, ..Self::default() };
        let ends = if is_by_node {
            sample.group_ends(groups_max)
        } else {
            even(0, count, groups_max).collect()
        };
        sample.cut(by_curve, ends);
        sample
    }

    /// The same vehicles with other needs, in the order of the stays.
    pub(crate) fn with_needs(&self, needs: &[i64]) -> Self {
        let mut stays = Self { is_cut: true, ..self.clone() };
        for (stay, &need) in stays.each.iter_mut().zip(needs) {
            stay.need = need;
            if let Some(wishes) = stays.wishes.get_mut(stay.wishes as usize) {
                wishes.cut(need);
            }
            if let Some(store) = stays.stores.get_mut(stay.store as usize) {
                store.set_need(need);
            }
        }
        stays
    }

    /// The group of the vehicle at a position.
    pub(crate) fn group_of(&self, position: usize) -> usize {
        self.blocks[self.blocks.partition_point(|block| block.stays.end <= position)].group
    }

    /// Whether some vehicle is on or off.
    pub(crate) fn has_whole(&self) -> bool {
        self.each.iter().any(|stay| stay.whole)
    }

    /// Energy needed by all, in kWh.
    pub(crate) fn need_kwh(&self) -> f64 {
        as_kwh(self.each.iter().map(|stay| stay.need).sum())
    }
}

/// Ends of parts of like size.
fn even(from: usize, to: usize, parts: usize) -> impl Iterator<Item = usize> {
    (1..=parts).map(move |part| from + part * (to - from) / parts)
}

/// Whether vehicles are many on each curve, so that its price order pays.
pub(crate) fn shares_curves(problem: &AreaProblem<'_>, rows: usize) -> bool {
    match problem.curves {
        Curves::Shared(_) => true,
        Curves::PerVehicle(table) => table.len() * 64 <= rows,
    }
}

fn make(problem: &AreaProblem<'_>, row: usize) -> Made {
    let fleet = &problem.vehicles.fleet;
    if let Err(error) = problem.vehicles.check(row) {
        return Made::Error(error);
    }
    if let Some(columns) = problem.vehicles.storage.as_ref().filter(|columns| columns.has(row)) {
        return make_store(problem, columns, row).unwrap_or_else(Made::Error);
    }
    let known = fleet.vehicle(row).and_then(|vehicle| Ok((vehicle, curve_of(problem, row)?)));
    let (vehicle, curve) = match known {
        Ok(known) => known,
        Err(error) => return Made::Error(error),
    };
    let horizon = problem.curves.horizon();
    let window = Window::new(horizon, vehicle.arrival, vehicle.departure);
    let rate = vehicle.power_max.as_kw() * GRAINS_PER_KWH / MICROS_PER_HOUR;
    let mut stay = stay_of(problem, row, (curve, window, rate));
    let prices = problem.curves.prices(curve);
    let caps = (window.first..window.last).filter(|&slot| !prices[slot].is_nan());
    let capacity: i64 = caps.map(|slot| stay.cap(horizon, slot)).sum();
    let capacity = match charge_limit(problem, row) {
        Ok(most) => most.map_or(capacity, |most| capacity.min(grains(most.as_kwh()))),
        Err(error) => return Made::Error(error),
    };
    let mut wanted = vehicle.energy.max(vehicle.reserve).as_kwh();
    if fleet.has_targets(row) {
        match fleet.targets(row, &vehicle) {
            Ok(targets) => {
                wanted = targets.iter().fold(wanted, |most, t| most.max(t.energy.as_kwh()));
            }
            Err(error) => return Made::Error(error),
        }
    }
    stay.need = grains(wanted.min(as_kwh(capacity) + 1.0)).min(capacity);
    let beyond = (wanted - as_kwh(stay.need)).max(0.0);
    let beyond = if beyond * GRAINS_PER_KWH > 1.0 { beyond } else { 0.0 };
    match Wishes::of(problem, row, &vehicle, &stay, window) {
        Ok(None) => Made::Stay(stay, None, beyond),
        Ok(Some((wishes, beyond_before))) => {
            stay.need = wishes.needs.last().copied().unwrap_or(stay.need);
            Made::Stay(stay, Some(wishes), beyond.max(beyond_before))
        }
        Err(error) => Made::Error(error),
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
fn stay_of(
    problem: &AreaProblem<'_>,
    row: usize,
    (curve, window, rate): (usize, Window, f64),
) -> Stay {
    let horizon = problem.curves.horizon();
    let number = |column: Option<&[f64]>, none: f64| {
        column.map(|column| column[row]).filter(|value| !value.is_nan()).unwrap_or(none)
    };
    let mut stay = Stay {
        first: window.first as u32,
        last: window.last as u32,
        row: row as u32,
        node: problem.vehicles.node.map_or(0, |node| node[row]),
        curve: curve as u32,
        wishes: NO_WISHES,
        store: NO_STORE,
        need: 0,
        first_cap: 0,
        last_cap: 0,
        cap: horizon.step().map_or(0, |step| (rate * step as f64).round() as i64),
        rate,
        priority: number(problem.vehicles.priority, 1.0) as f32,
        whole: number(problem.vehicles.power_min_kw, 0.0) > 0.0,
    };
    let usable = |slot: usize| (rate * window.usable(horizon, slot) as f64).round() as i64;
    if window.len() > 0 {
        stay.first_cap = usable(window.first);
        stay.last_cap = usable(window.last - 1);
    }
    stay
}

/// A row that also discharges.
fn make_store(
    problem: &AreaProblem<'_>,
    columns: &StorageColumns<'_>,
    row: usize,
) -> Result<Made, RowError> {
    let fleet = &problem.vehicles.fleet;
    let curve = curve_of(problem, row)?;
    let mut store = Store::new(columns, fleet, row)?;
    let horizon = problem.curves.horizon();
    let window = Window::new(horizon, store.battery.from, store.battery.to);
    let rate = store.battery.charge_max.as_kw() * GRAINS_PER_KWH / MICROS_PER_HOUR;
    let mut stay = stay_of(problem, row, (curve, window, rate));
    store.reserve_from = stay.first;
    let prices = problem.curves.prices(curve);
    let levels = reaches(|slot| prices[slot], horizon, (stay.first, stay.last), &store);
    let reach = levels.last().copied().unwrap_or(store.stored_kwh());
    let (need, beyond) = store.need(reach);
    stay.need = need;
    Ok(Made::Store(stay, Box::new(store), beyond))
}

//! Linear programme of a site: columns and rows.
//!
//! Columns are energies per slot in kWh at the plug, levels in stored kWh, shortfalls, breaches
//! and the peaks in kW. The balance of the meter in slot `t` is
//!
//! ```text
//! g_t − e_t = fixed_t + Σ_f weight_f·x_f      over the flows f of the slot
//! ```
//!
//! A slot in which the devices cannot feed more than they draw needs no columns `g_t` and `e_t`:
//! the import is the right-hand side, and its price goes to the columns `x_f`. All columns have
//! bounds that come from the data, so that no constant replaces infinity.
//!
//! | Symbol | Field |
//! |---|---|
//! | `g_t`, `e_t` | `Meter::import`, `Meter::export` |
//! | `fixed_t` | sum of `SiteModel::fixed` over the devices |
//! | `weight_f`, `x_f` | `Flow::weight`, `Flow::column` |
use crate::lp::{Column, LinearProgram, Row};
use crate::plan::site::device::{Device, Phase};
use crate::plan::site::price_slots::SiteSlots;
use crate::plan::site::request::SiteRequest;
use crate::plan::site::room::Room;
use crate::plan::site::storage::Storage;
use crate::time::instant::micros_of;
use crate::tolerance::SITE_MIN_KWH;

/// Column that moves energy of a device in a slot: the device draws `weight` times its value, in
/// kWh at the plug; a negative energy is fed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flow {
    pub(crate) device: usize,
    pub(crate) column: usize,
    pub(crate) weight: f64,
}

/// Two columns of which at least one must be zero.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    /// Charging, or importing.
    pub(crate) first: usize,
    /// Discharging, or exporting.
    pub(crate) second: usize,
    /// Slot of both columns.
    pub(crate) slot: usize,
    /// Position of the storage; `None` for the meter.
    pub(crate) device: Option<usize>,
}

/// Semicontinuous charge of a slot: zero, or at least `least` kWh, or a top-off. A top-off is less
/// than `least`, in the last slot of a run, up to one of the levels at which a run may end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Semi {
    pub(crate) column: usize,
    pub(crate) least: f64,
    pub(crate) device: usize,
    pub(crate) slot: usize,
    /// Column of the level after the slot.
    pub(crate) level: usize,
    /// Column of the charge of the next slot, if no gap lies between.
    pub(crate) next: Option<usize>,
}

/// Column that requires a level, or an idle meter: `gate` is zero, or the sum of `terms` is at
/// least `least`.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    /// Column of the charge or discharge of a slot, or of the shortfall at a deadline or of a drive.
    pub(crate) gate: usize,
    /// Terms `(column, weight)`: the level after the slot, on departure or before the drive, in
    /// stored kWh, and the shortfalls that replace level; or the import or export of the slot with
    /// the opposite sign, in kWh.
    pub(crate) terms: Vec<(usize, f64)>,
    pub(crate) least: f64,
    /// Lower bound on the sum of the terms.
    pub(crate) lower: f64,
}

impl Guard {
    /// True if the gate is zero or the sum of the terms is high enough, to [`SITE_MIN_KWH`].
    pub(crate) fn is_kept(&self, values: &[f64]) -> bool {
        values[self.gate] <= SITE_MIN_KWH || self.allows_gate(values)
    }

    /// True if the sum of the terms is high enough for any gate, to [`SITE_MIN_KWH`].
    pub(crate) fn allows_gate(&self, values: &[f64]) -> bool {
        let sum: f64 = self.terms.iter().map(|&(column, weight)| weight * values[column]).sum();
        sum >= self.least - SITE_MIN_KWH
    }
}

/// Quantity that a limit bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitKind {
    Import,
    Export,
    /// Position of the group; the phase, if the limit is one per phase.
    Group(usize, Option<Phase>),
}

/// One limit with its rows in all slots.
#[derive(Debug, Clone)]
pub(crate) struct LimitRows {
    pub(crate) kind: LimitKind,
    /// The limit in kW by slot; `None` in slots without a limit.
    pub(crate) limit_kw: Vec<Option<f64>>,
    /// Rows of a slot: the limit, and the limit in the opposite direction; `None` for a row that
    /// cannot bind.
    pub(crate) rows: Vec<[Option<usize>; 2]>,
    /// Share of each device's power that counts towards the limit, from 0 to 1.
    pub(crate) shares: Vec<f64>,
    /// Price per kWh above the limit; `None` for a hard limit.
    pub(crate) breach_price: Option<f64>,
}

/// Shortfall of one goal or drive: its column, its weight and its deadline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Miss {
    pub(crate) column: usize,
    /// Energy in kWh at the plug per unit of the column.
    pub(crate) energy: f64,
    pub(crate) priority: f64,
    pub(crate) device: usize,
    /// Position of the goal, or of the drive, in its storage, or of the slot in its session; 0 for
    /// a shiftable load.
    pub(crate) goal: usize,
    /// Number of slots before the deadline.
    pub(crate) slots: usize,
    pub(crate) kind: MissKind,
}

/// Kind of a shortfall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissKind {
    /// Energy that a target, or a shiftable load, misses at its deadline.
    Target,
    /// Energy that is wanted by departure after a missed deadline: that of the late goal.
    Late,
    /// Energy that the battery lacks for a drive.
    Drive,
    /// Energy that misses to the power that is wanted in a slot.
    Power,
}

/// Columns of a storage, one per slot of its session.
#[derive(Debug, Clone, Default)]
pub(crate) struct StorageColumns {
    pub(crate) charge: Vec<usize>,
    pub(crate) discharge: Vec<Option<usize>>,
    /// Level after each slot; empty if the storage needs no levels.
    pub(crate) level: Vec<usize>,
    /// Positions of the guards whose gates are the energy that was wanted in a slot, and that the
    /// storage is spared.
    pub(crate) spared: Vec<usize>,
}

/// Columns of a heat unit, one per step of its room.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoomColumns {
    /// Electrical energy; `None` in a step in which the unit cannot run.
    pub(crate) used: Vec<Option<usize>>,
    /// Energy that the unit has added and that is left after the step; `None` where there is none.
    pub(crate) added: Vec<Option<usize>>,
}

/// Possible start of a shiftable load. The column is 1 if the load starts there, else 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub(crate) device: usize,
    pub(crate) column: usize,
}

/// Columns of the meter in a slot, in kWh.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meter {
    pub(crate) import: usize,
    pub(crate) export: usize,
}

/// Linear programme of a site. Its costs are money in units of `unit`.
#[derive(Debug, Clone)]
pub(crate) struct SiteModel {
    pub(crate) grid: SiteSlots,
    /// True if the late goals are included.
    pub(crate) goes_on: bool,
    /// True if the late goals are included, or if no storage can have one.
    pub(crate) is_final: bool,
    /// Storage of each device; `None` for other kinds of device.
    pub(crate) storages: Vec<Option<Storage>>,
    pub(crate) columns: Vec<StorageColumns>,
    /// Room or tank of each heat unit; `None` for other kinds of device.
    pub(crate) rooms: Vec<Option<Room>>,
    pub(crate) room_columns: Vec<RoomColumns>,
    /// Columns of the stored kWh outside comfort bands, beyond those that no plan avoids, each with
    /// its degree-hours per kWh times the priority of the unit.
    pub(crate) discomfort: Vec<(usize, f64)>,
    pub(crate) program: LinearProgram,
    /// Money per unit of cost in the programme: the largest power of two up to the highest price.
    /// The tolerances of the solver are thereby relative to the prices.
    pub(crate) unit: f64,
    /// Cost that no decision changes, in money.
    pub(crate) constant: f64,
    /// Flows by slot.
    pub(crate) flows: Vec<Vec<Flow>>,
    /// Energy in kWh by device and slot that no decision changes; negative is fed.
    pub(crate) fixed: Vec<Vec<f64>>,
    pub(crate) meters: Vec<Option<Meter>>,
    /// Least cost per imported kWh by slot: price, emissions and the surcharge of the cheapest
    /// block.
    pub(crate) import_least: Vec<f64>,
    pub(crate) limits: Vec<LimitRows>,
    pub(crate) pairs: Vec<Pair>,
    pub(crate) semis: Vec<Semi>,
    pub(crate) guards: Vec<Guard>,
    pub(crate) starts: Vec<Start>,
    pub(crate) misses: Vec<Miss>,
    /// Columns of the energy above hard limits that cannot be kept.
    pub(crate) breaches: Vec<usize>,
    /// Columns of the stored kWh below a reserve, each with the hours of its slot.
    pub(crate) reserves: Vec<(usize, f64)>,
    /// Column of the peak import in kW.
    pub(crate) peak: Option<usize>,
    /// Column of the peak export in kW.
    pub(crate) export_peak: Option<usize>,
}

impl SiteModel {
    /// Model of a request. With `goes_on`, energy that misses a deadline is wanted by departure.
    pub(crate) fn new(request: &SiteRequest, goes_on: bool) -> Self {
        let grid = SiteSlots::new(request);
        let (count, slots) = (request.devices.len(), grid.len());
        let storage = |device: &Device| match device {
            Device::Vehicle(vehicle) => Some(Storage::of_vehicle(vehicle, &grid, goes_on)),
            Device::Battery(battery) => Some(Storage::of_battery(battery, &grid)),
            _ => None,
        };
        let storages: Vec<Option<Storage>> = request.devices.iter().map(storage).collect();
        let room = |device: &Device| match device {
            Device::Heat(unit) => Some(Room::new(unit, &grid)),
            _ => None,
        };
        let rooms = request.devices.iter().map(room).collect();
        // Late goals change nothing if no storage can charge after a deadline.
        let is_final = goes_on || !storages.iter().flatten().any(|storage| storage.may_go_on);
        let mut model = Self {
            goes_on,
            is_final,
            storages,
            columns: vec![StorageColumns::default(); count],
            rooms,
            room_columns: vec![RoomColumns::default(); count],
            discomfort: Vec::new(),
            program: LinearProgram::default(),
            unit: 1.0,
            constant: 0.0,
            flows: vec![Vec::new(); slots],
            fixed: vec![vec![0.0; slots]; count],
            meters: vec![None; slots],
            import_least: Vec::new(),
            limits: Vec::new(),
            pairs: Vec::new(),
            semis: Vec::new(),
            guards: Vec::new(),
            starts: Vec::new(),
            misses: Vec::new(),
            breaches: Vec::new(),
            reserves: Vec::new(),
            peak: None,
            export_peak: None,
            grid,
        };
        for (index, device) in request.devices.iter().enumerate() {
            model.add_device(index, device);
        }
        // The meter needs all flows; peaks, blocks and limits need the columns of the meter.
        model.bound_grid_use();
        model.add_meters(request);
        model.guard_grid_use();
        model.add_demand_charges(request);
        model.add_tiers(request);
        model.add_limits(request);
        model.set_unit();
        model
    }

    /// Divides all costs by the largest power of two up to the highest absolute cost. Such a
    /// division is exact.
    fn set_unit(&mut self) {
        let highest = self.program.columns.iter().map(|c| c.cost.abs()).fold(0.0, f64::max);
        // The bits of the exponent alone: the number rounded down to a power of two.
        let unit = f64::from_bits(highest.to_bits() & f64::INFINITY.to_bits());
        if unit > 0.0 {
            self.unit = unit;
            for column in &mut self.program.columns {
                column.cost /= unit;
            }
        }
    }

    pub(crate) fn add_column(&mut self, cost: f64, lower: f64, upper: f64) -> usize {
        self.program.add_column(Column { cost, lower, upper })
    }

    pub(crate) fn add_row(&mut self, lower: f64, upper: f64, terms: Vec<(usize, f64)>) -> usize {
        self.program.rows.push(Row { lower, upper, terms });
        self.program.rows.len() - 1
    }

    /// Adds the columns, flows and rows of a device.
    fn add_device(&mut self, index: usize, device: &Device) {
        match device {
            Device::Vehicle(_) | Device::Battery(_) => self.add_storage(index),
            Device::Heat(_) => self.add_room(index),
            Device::Solar(solar) => {
                let powers = self.grid.powers(&solar.forecast);
                for (slot, power) in powers.into_iter().enumerate() {
                    let most = power.unwrap_or(0.0) * self.grid.hours[slot];
                    // A forecast that cannot be curtailed is fixed; another one is an upper bound.
                    if !solar.is_curtailable {
                        self.fixed[index][slot] = -most;
                    } else if most > 0.0 {
                        let column = self.add_column(0.0, 0.0, most);
                        self.flows[slot].push(Flow { device: index, column, weight: -1.0 });
                    }
                }
            }
            Device::Load(load) => {
                let powers = self.grid.powers(&load.forecast);
                for (slot, power) in powers.into_iter().enumerate() {
                    self.fixed[index][slot] = power.unwrap_or(0.0) * self.grid.hours[slot];
                }
            }
            Device::Shiftable(load) => {
                // One start or the shortfall of the whole run: Σ starts + miss = 1.
                let duration = load.duration().num_microseconds().unwrap_or(i64::MAX);
                let from = load.earliest.map_or(i64::MIN, micros_of);
                let to = load.latest.map_or(i64::MAX, micros_of);
                self.add_starts(index, (from, to), duration, load.power.as_kw());
                let miss = self.add_column(0.0, 0.0, 1.0);
                let mut terms: Vec<(usize, f64)> = self
                    .starts
                    .iter()
                    .filter(|start| start.device == index)
                    .map(|start| (start.column, 1.0))
                    .collect();
                terms.push((miss, 1.0));
                self.add_row(1.0, 1.0, terms);
                let slots = self.grid.ends.partition_point(|&end| end <= to);
                self.misses.push(Miss {
                    column: miss,
                    energy: load.energy().as_kwh(),
                    priority: load.priority,
                    device: index,
                    goal: 0,
                    slots,
                    kind: MissKind::Target,
                });
            }
        }
    }

    /// Adds a column for each slot at whose start a run of `duration` (microseconds) at `power`
    /// (kW) can begin: it stays inside `window` (microseconds) and crosses no gap.
    fn add_starts(&mut self, device: usize, window: (i64, i64), duration: i64, power: f64) {
        for first in 0..self.grid.len() {
            let at = self.grid.starts[first];
            let end = at.saturating_add(duration);
            if at < window.0 || end > window.1 {
                continue;
            }
            // Slots that the run covers, with its hours in each; a gap ends the walk.
            let mut covered = Vec::new();
            let mut reached = at;
            for slot in first..self.grid.len() {
                if reached >= end || self.grid.starts[slot] != reached {
                    break;
                }
                let until = self.grid.ends[slot].min(end);
                covered.push((slot, (until - reached) as f64 / crate::units::MICROS_PER_HOUR));
                reached = self.grid.ends[slot];
            }
            // The run would reach into time without a price.
            if reached < end {
                continue;
            }
            let column = self.add_column(0.0, 0.0, 1.0);
            self.starts.push(Start { device, column });
            for (slot, hours) in covered {
                self.flows[slot].push(Flow { device, column, weight: power * hours });
            }
        }
    }

    /// Least and largest energy `(least, most)` in kWh that the flows of a slot can draw together.
    /// `shares` weighs the devices; `None` counts each in full.
    pub(crate) fn choice(&self, slot: usize, shares: Option<&[f64]>) -> (f64, f64) {
        let mut range = (0.0, 0.0);
        for flow in &self.flows[slot] {
            let share = shares.map_or(1.0, |shares| shares[flow.device]);
            let most = share * flow.weight * self.program.columns[flow.column].upper;
            if most < 0.0 { range.0 += most } else { range.1 += most }
        }
        range
    }

    /// Energy of a slot in kWh that no decision changes. `shares` weighs the devices.
    pub(crate) fn fixed_in(&self, slot: usize, shares: Option<&[f64]>) -> f64 {
        let share = |device: usize| shares.map_or(1.0, |shares| shares[device]);
        self.fixed.iter().enumerate().map(|(device, kwh)| share(device) * kwh[slot]).sum()
    }

    /// Price per imported kWh with its emissions, without the surcharge of a block.
    pub(crate) fn import_price(&self, request: &SiteRequest, slot: usize) -> f64 {
        let per_kg = request.carbon.as_ref().map_or(0.0, |carbon| carbon.price_per_kg);
        self.grid.import[slot] + per_kg * self.grid.carbon[slot]
    }

    /// Adds the balance of the meter in each slot that may export, and the price of the import in
    /// all slots.
    fn add_meters(&mut self, request: &SiteRequest) {
        // Surcharges rise from block to block, so the first is the least that is added.
        let block = request.tiers.as_ref().and_then(|tiers| tiers.blocks.first());
        let surcharge = block.map_or(0.0, |block| block.surcharge.as_per_kwh());
        self.import_least =
            (0..self.grid.len()).map(|slot| self.import_price(request, slot) + surcharge).collect();
        for slot in 0..self.grid.len() {
            let fixed = self.fixed_in(slot, None);
            let (least, most) = self.choice(slot, None);
            let price = self.import_price(request, slot);
            if fixed + least >= 0.0 {
                // The slot cannot export: its import is the sum of the devices.
                self.constant += price * fixed;
                for flow in self.flows[slot].clone() {
                    self.program.columns[flow.column].cost += price * flow.weight;
                }
                continue;
            }
            let import = self.add_column(price, 0.0, (fixed + most).max(0.0));
            let earns = self.grid.export[slot];
            let export = self.add_column(-earns, 0.0, -(fixed + least));
            let mut terms = self.draws(slot, None);
            terms.extend([(import, -1.0), (export, 1.0)]);
            self.add_row(-fixed, -fixed, terms);
            self.meters[slot] = Some(Meter { import, export });
            self.pairs.push(Pair { first: import, second: export, slot, device: None });
        }
    }

    /// Terms `(column, weight)` of the energy that the flows of a slot draw, in kWh. `shares`
    /// weighs the devices.
    pub(crate) fn draws(&self, slot: usize, shares: Option<&[f64]>) -> Vec<(usize, f64)> {
        let share = |device: usize| shares.map_or(1.0, |shares| shares[device]);
        let flows = self.flows[slot].iter();
        flows
            .map(|flow| (flow.column, flow.weight * share(flow.device)))
            .filter(|&(_, weight)| weight != 0.0)
            .collect()
    }

    /// Import of a slot in kWh, as terms `(column, weight)` and a constant.
    pub(crate) fn import_terms(&self, slot: usize) -> (Vec<(usize, f64)>, f64) {
        match self.meters[slot] {
            Some(meter) => (vec![(meter.import, 1.0)], 0.0),
            None => (self.draws(slot, None), self.fixed_in(slot, None)),
        }
    }

    /// Upper bound on the import of a slot in kWh.
    pub(crate) fn most_import(&self, slot: usize) -> f64 {
        match self.meters[slot] {
            Some(meter) => self.program.columns[meter.import].upper,
            None => self.fixed_in(slot, None) + self.choice(slot, None).1,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::site::device::ShiftableLoad;
    use crate::plan::site::request::tests::{at, house, site, sun, tiers, van, washer};
    use crate::plan::site::request::{Carbon, CarbonSlot};
    use crate::prices::curve::PriceCurve;
    use crate::prices::curve::tests::curve_of;
    use crate::time::horizon::Horizon;
    use crate::units::per_kwh;

    fn model(request: &SiteRequest) -> SiteModel {
        SiteModel::new(request, false)
    }

    #[test]
    fn a_slot_that_cannot_feed_the_grid_has_no_meter() {
        let van = Device::Vehicle(van("van", 5.0, 3.0));
        let model = model(&site(&[10, 20], &[van, house(&[1.0, 2.0])]));
        assert!(model.meters.iter().all(Option::is_none) && model.pairs.is_empty());
        // The house costs 1·0.10 + 2·0.20, whatever the van does.
        assert!((model.constant - 0.5).abs() < 1e-12);
        let costs = model.columns[0].charge.iter().map(|&c| model.program.columns[c].cost);
        assert_eq!(costs.map(|cost| cost * model.unit).collect::<Vec<_>>(), [0.1, 0.2]);
        let (terms, fixed) = model.import_terms(1);
        assert_eq!((terms, fixed), (vec![(model.columns[0].charge[1], 1.0)], 2.0));
        assert_eq!((model.most_import(1), model.choice(1, None)), (7.0, (0.0, 5.0)));
    }

    #[test]
    fn a_slot_that_can_feed_the_grid_has_a_meter() {
        let van = Device::Vehicle(van("van", 5.0, 3.0));
        let model = model(&site(&[10, 20], &[van, house(&[1.0, 1.0]), sun(&[1.0, 3.0], true)]));
        // In the first hour the sunshine does no more than feed the house.
        assert!(model.meters[0].is_none());
        let meter = model.meters[1].unwrap();
        let upper = |column: usize| model.program.columns[column].upper;
        assert_eq!((upper(meter.import), upper(meter.export)), (6.0, 2.0));
        assert_eq!((model.most_import(1), model.import_terms(1).1), (6.0, 0.0));
        let pair = model.pairs[0];
        assert_eq!((pair.first, pair.second), (meter.import, meter.export));
        assert_eq!((pair.slot, pair.device), (1, None));
    }

    #[test]
    fn sunshine_that_cannot_be_turned_down_is_no_choice() {
        let model = model(&site(&[10], &[sun(&[3.0], false), house(&[1.0])]));
        assert!(model.flows[0].is_empty());
        assert_eq!((model.fixed_in(0, None), model.fixed_in(0, Some(&[1.0, 0.0]))), (-2.0, -3.0));
    }

    #[test]
    fn shares_weigh_what_devices_draw() {
        let vans = ["a", "b", "c"].map(|name| Device::Vehicle(van(name, 4.0, 1.0)));
        let model = model(&site(&[10], &vans));
        let column = |device: usize| model.columns[device].charge[0];
        let shares = [0.5, 0.0, 1.0];
        assert_eq!(model.draws(0, Some(&shares)), [(column(0), 0.5), (column(2), 1.0)]);
        assert_eq!(model.choice(0, Some(&shares)), (0.0, 6.0));
    }

    #[test]
    fn costs_are_in_units_of_the_power_of_two_below_the_highest() {
        let van = Device::Vehicle(van("van", 5.0, 3.0));
        let unit = |cents: &[i32]| model(&site(cents, std::slice::from_ref(&van))).unit;
        assert_eq!((unit(&[10, 30]), unit(&[-100, 30]), unit(&[399, 0])), (0.25, 1.0, 2.0));
        assert!((unit(&[0, 0]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_run_starts_where_it_stays_inside_its_window() {
        let mut load = washer(2.0, 90.0);
        let starts = |load: &ShiftableLoad, request: &dyn Fn(&mut SiteRequest)| {
            let mut site = site(&[10, 20, 30], &[Device::Shiftable(load.clone())]);
            request(&mut site);
            let model = model(&site);
            let energy = |start: &Start| {
                let flows = model.flows.iter().flatten();
                flows
                    .filter(|flow| flow.column == start.column)
                    .map(|flow| flow.weight)
                    .sum::<f64>()
            };
            assert!(model.starts.iter().all(|start| (energy(start) - 3.0).abs() < 1e-12));
            model.starts.len()
        };
        // At 0 and 60, and to end at 120 and 180: at 30 and 90.
        assert_eq!(starts(&load, &|_| {}), 4);
        load.earliest = Some(at(30));
        assert_eq!(starts(&load, &|_| {}), 3);
        load.latest = Some(at(120));
        assert_eq!(starts(&load, &|_| {}), 1);
        load.latest = Some(at(119));
        assert_eq!(starts(&load, &|_| {}), 0);
        // An hour without a price in the middle interrupts every run.
        load = washer(2.0, 90.0);
        let gap = |site: &mut SiteRequest| {
            let periods = Horizon::new([(at(0), at(60)), (at(120), at(180))]).unwrap();
            site.import_prices = PriceCurve::from_parts(periods, vec![0.1, 0.1]).unwrap();
        };
        assert_eq!(starts(&load, &gap), 0);
    }

    #[test]
    fn the_cheapest_block_and_the_emissions_are_in_the_least_price() {
        let mut request = site(&[10, -10], &[]);
        request.tiers = Some(tiers(&[(10.0, 0.02), (f64::INFINITY, 0.5)], 0.0));
        let intensity = vec![CarbonSlot { start: at(0), end: at(120), kg_per_kwh: 0.5 }];
        request.carbon = Some(Carbon { price_per_kg: 0.1, intensity });
        let least = model(&request).import_least;
        // 0.10 + 0.05 + 0.02, and -0.10 + 0.05 + 0.02.
        assert!((least[0] - 0.17).abs() < 1e-12 && (least[1] + 0.03).abs() < 1e-12);
        request.tiers.as_mut().unwrap().blocks[0].surcharge = per_kwh(0.5);
        assert!((model(&request).import_least[0] - 0.65).abs() < 1e-12);
    }

    proptest! {
        /// Imports and exports of each hour, priced one by one, are the cost of the programme.
        #[test]
        fn the_programme_costs_what_the_meter_shows(
            cents in prop::collection::vec((-20..60i32, -5..20i32), 1..6),
            kws in prop::collection::vec((0.0..4.0_f64, 0.0..4.0_f64, 0.0..5.0_f64), 6),
        ) {
            let (import, export): (Vec<i32>, Vec<i32>) = cents.iter().copied().unzip();
            let (drawn, fed): (Vec<f64>, Vec<f64>) =
                kws[..cents.len()].iter().map(|&(house, sun, _)| (house, sun)).unzip();
            let mut van = van("van", 5.0, 1.0);
            van.fill_when_worth = true;
            let devices = [Device::Vehicle(van), house(&drawn), sun(&fed, false)];
            let mut request = site(&import, &devices);
            request.export_prices = Some(curve_of(60, &export));
            let model = model(&request);
            let columns = &model.program.columns;
            let mut values = vec![0.0; columns.len()];
            let mut expected = 0.0;
            for (slot, &(house, sun, charge)) in kws[..cents.len()].iter().enumerate() {
                let net = house - sun + charge;
                let (bought, sold) = (f64::max(net, 0.0), f64::max(-net, 0.0));
                let price = if net > 0.0 { import[slot] } else { export[slot] };
                expected += net * f64::from(price) / 100.0;
                values[model.columns[0].charge[slot]] = charge;
                if let Some(meter) = model.meters[slot] {
                    (values[meter.import], values[meter.export]) = (bought, sold);
                }
            }
            for row in model.program.rows.iter().filter(|row| row.lower >= row.upper) {
                let terms = row.terms.iter().map(|&(column, weight)| weight * values[column]);
                prop_assert!((terms.sum::<f64>() - row.lower).abs() < 1e-9);
            }
            let cost: f64 = columns.iter().zip(&values).map(|(c, value)| c.cost * value).sum();
            prop_assert!((cost * model.unit + model.constant - expected).abs() < 1e-9);
        }
    }
}

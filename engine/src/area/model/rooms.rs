//! Rooms and tanks of heat units, ready for pricing, and the price of a degree-hour.
//!
//! Needs of vehicles by their deadlines come before comfort, and comfort before money, as on a site.
//! An area has one objective, so that this order is one of prices. With the symbols of
//! [`heat`](crate::plan::heat), `q` the priority of a unit, `w_0` the penalty per kWh that exceeds what
//! delivering one kWh more can cost, and `v` the value of a kWh stored at the end:
//!
//! ```text
//! S_t = Σ_(s ≥ t) η_t·(a_(t+1)·…·a_s)·h_s/C              most degree-hours that 1 kWh in step t saves
//! M   = 2·max( M_alone , (w_0 + |v|·η_t)/S_t )/q          price of a degree-hour, over units and steps
//! w   = w_0 + 4·M·max( q·S_t )                            penalty per kWh that a vehicle misses
//! ```
//!
//! `M_alone` is the price from which the plan of a unit alone no longer changes
//! ([`degree_hour_price`]). Late energy has a quarter of the penalty `w`, hence the factor 4. So that
//! the programme stays within the range of its solver, `M·max(q·S_t)` is at most 1e5 times `w_0`: heat
//! that a store loses before it is of use may be given up above that. The price is no proof of the
//! order: where a kWh makes one step warmer and another one too warm, it saves less than `S_t`, and a
//! part of a degree-hour may be given up for money.
//!
//! | Symbol | Code |
//! |---|---|
//! | `M` | [`Rooms::degree_hour_price`] |
//! | `q·M` | [`AreaRoom::degree_hour_price`] |
//! | `w` | [`Rooms::shortfall_penalty`] |
use crate::area::model::linking::LinkingConstraints;
use crate::area::problem::area_problem::{AreaHeatUnit, AreaProblem};
use crate::area::problem::micro_wh::{MICRO_WH_PER_KWH, as_kwh};
use crate::plan::heat::degree_hour_price::degree_hour_price;
use crate::plan::heat::dynamic_programme::HeatBuffers;
use crate::plan::heat::slots::{ThermalProgramme, ThermalStep};
use crate::plan::site::room::Room;
use crate::prices::curve::PriceCurve;
use crate::time::horizon::Horizon;
use crate::tolerance::SOLVER_AGREEMENT;

/// Factor of the price of a degree-hour above the least one that comes before money.
const SAFETY: f64 = 2.0;

/// Upper bound on the price of the degree-hours that 1 kWh saves, as a multiple of `w_0`.
const COMFORT_MAX: f64 = 1e5;

/// Reciprocal of the part of the penalty that late energy has.
const LATE: f64 = 4.0;

/// Electrical energy of each step of a room, in µWh.
pub(crate) type RoomPlan = Vec<i64>;

/// Room or tank on a node, with its steps and the slots of the area in which they lie.
#[derive(Debug, Clone)]
pub(crate) struct AreaRoom {
    /// Position of the node.
    pub(crate) node: u32,
    /// Steps, which are cut where weather, limits or the band of the unit change.
    pub(crate) room: Room,
    /// Slot of the area of each step; `None` for time without a price.
    pub(crate) slots: Vec<Option<u32>>,
    /// Length of each step as a share of all steps in its slot.
    shares: Vec<f64>,
    /// Price of a degree-hour, weighted by the priority of the unit.
    pub(crate) degree_hour_price: f64,
}

/// Money of the plan of a room.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct RoomCost {
    /// Cost of the electricity less the value of the heat stored at the end.
    pub(crate) money: f64,
    /// Degree-hours outside the band at their price.
    pub(crate) discomfort: f64,
}

impl RoomCost {
    /// Both together.
    pub(crate) fn total(self) -> f64 {
        self.money + self.discomfort
    }
}

/// Rooms of an area, and the prices that put needs before comfort and comfort before money.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rooms {
    pub(crate) each: Vec<AreaRoom>,
    /// Price of a degree-hour of a unit of priority 1; 0 without units.
    pub(crate) degree_hour_price: f64,
    /// Penalty per kWh of the shortfall of a vehicle.
    pub(crate) shortfall_penalty: f64,
}

impl Rooms {
    /// Rooms of the heat units of `problem`, whose limits are `constraints`.
    pub(crate) fn new(problem: &AreaProblem<'_>, constraints: &LinkingConstraints) -> Self {
        let before_heat = constraints.shortfall_penalty;
        let Some(prices) = problem.shared_prices().filter(|_| !problem.heat.is_empty()) else {
            return Self { shortfall_penalty: before_heat, ..Self::default() };
        };
        let horizon = prices.horizon();
        let mut each: Vec<AreaRoom> =
            problem.heat.iter().map(|own| AreaRoom::new(own, prices, horizon)).collect();
        let (mut price, mut saved_most) = (0.0_f64, 0.0_f64);
        for room in &each {
            let priority = room.room.priority;
            price = price.max(SAFETY * room.least_price(before_heat) / priority);
            saved_most = saved_most.max(priority * room.saved_range().1);
        }
        let price = price.min(COMFORT_MAX * before_heat / saved_most.max(f64::MIN_POSITIVE));
        for room in &mut each {
            room.degree_hour_price = price * room.room.priority;
        }
        let storage = problem.vehicles.storage;
        let lost = storage.map_or(1.0, |columns| columns.dearest(&problem.vehicles.fleet).0);
        let shortfall_penalty = before_heat + LATE * price * saved_most * lost;
        Self { each, degree_hour_price: price, shortfall_penalty }
    }

    /// Electrical energy of thermostats in place of plans, in kWh.
    pub(crate) fn held_kwh(rooms: &[AreaRoom]) -> f64 {
        rooms.iter().flat_map(AreaRoom::thermostat).map(as_kwh).sum()
    }
}

/// Money of a plan in kWh by step, at the prices of `programme`.
pub(crate) fn cost_of_plan(
    (programme, degree_hour_price): (&ThermalProgramme, f64),
    used_kwh: impl Iterator<Item = f64>,
) -> RoomCost {
    let mut level = programme.stored_kwh;
    let (mut bought, mut outside) = (0.0, 0.0);
    for (step, kwh) in programme.steps.iter().zip(used_kwh) {
        level = step.after(level, kwh);
        bought += step.price * kwh;
        let distance = (step.low_kwh - level).max(level - step.high_kwh);
        // Energies in whole µWh meet an edge of the band up to rounding.
        if distance > SOLVER_AGREEMENT {
            outside += step.hours * distance;
        }
    }
    let gained = level - programme.stored_kwh;
    RoomCost {
        money: bought - programme.end_value * gained,
        discomfort: degree_hour_price * outside / programme.kwh_per_k,
    }
}

impl AreaRoom {
    fn new(own: &AreaHeatUnit, prices: &PriceCurve, horizon: &Horizon) -> Self {
        let room = Room::alone(&own.unit, prices);
        let slot = |start: i64| horizon.starts().partition_point(|&at| at <= start) - 1;
        let parts = room.layout.parts.iter();
        let slots: Vec<Option<u32>> =
            parts.map(|part| part.is_priced.then(|| slot(part.start) as u32)).collect();
        let mut hours = vec![0.0; horizon.len()];
        let steps = &room.layout.programme.steps;
        for (step, slot) in steps.iter().zip(&slots) {
            if let Some(slot) = slot {
                hours[*slot as usize] += step.hours;
            }
        }
        let share = |(step, slot): (&ThermalStep, &Option<u32>)| {
            slot.map_or(0.0, |slot| step.hours / hours[slot as usize])
        };
        let shares = steps.iter().zip(&slots).map(share).collect();
        Self { node: own.node, room, slots, shares, degree_hour_price: 0.0 }
    }

    /// Programme of the unit at its own prices.
    pub(crate) fn programme(&self) -> &ThermalProgramme {
        &self.room.layout.programme
    }

    /// Most degree-hours that a kWh saves in the step in which it saves least, and in that in which it
    /// saves most; steps without power are left out.
    fn saved_range(&self) -> (f64, f64) {
        let programme = self.programme();
        let (mut kept, mut range) = (0.0, (f64::INFINITY, 0.0_f64));
        let mut decay = 1.0;
        for step in programme.steps.iter().rev() {
            // Degree-hours of 1 kWh stored at the end of the step.
            kept = step.hours / programme.kwh_per_k + decay * kept;
            decay = step.decay;
            if step.power_kwh > 0.0 {
                let saved = step.stored_per_kwh * kept;
                range = (range.0.min(saved), range.1.max(saved));
            }
        }
        range
    }

    /// Least price of a degree-hour that comes before `money_most` per kWh, for a priority of 1.
    fn least_price(&self, money_most: f64) -> f64 {
        let programme = self.programme();
        let mut buffers = HeatBuffers::new();
        buffers.solve(programme);
        let alone = degree_hour_price(programme, &buffers);
        let stored_most =
            programme.steps.iter().map(|step| step.stored_per_kwh).fold(0.0, f64::max);
        let money = money_most + programme.end_value.abs() * stored_most;
        let (saved_least, _) = self.saved_range();
        alone.max(if saved_least.is_finite() { money / saved_least } else { 0.0 })
    }

    /// Most energy of a step, in whole µWh.
    pub(crate) fn most(&self, step: usize) -> i64 {
        (self.programme().steps[step].power_kwh * MICRO_WH_PER_KWH).floor() as i64
    }

    /// Programme with `dual_price` added to the prices, by slot of the area. If energy is free, only the
    /// duals count: neither comfort nor heat at the end has a value. `capacity` is the most energy of
    /// each slot of the area in µWh, of which each step gets a part by its length.
    pub(crate) fn programme_at(
        &self,
        (is_free, dual_price): (bool, &[f64]),
        capacity: Option<&[i64]>,
    ) -> ThermalProgramme {
        let mut programme = self.programme().clone();
        if is_free {
            programme.end_value = 0.0;
        }
        let slots = self.slots.iter().zip(&self.shares);
        for (step, (slot, share)) in programme.steps.iter_mut().zip(slots) {
            let Some(slot) = slot.map(|slot| slot as usize) else { continue };
            step.price = if is_free { 0.0 } else { step.price } + dual_price[slot];
            if let Some(capacity) = capacity {
                step.power_kwh = step.power_kwh.min(as_kwh(capacity[slot]) * share);
            }
        }
        programme
    }

    /// Price of a degree-hour; 0 in the search for the least shortfall, in which energy is free.
    pub(crate) fn price_of_discomfort(&self, is_free: bool) -> f64 {
        if is_free { 0.0 } else { self.degree_hour_price }
    }

    /// Money of a plan at the unit's own prices; nothing if energy is free.
    pub(crate) fn cost(&self, is_free: bool, plan: &RoomPlan) -> RoomCost {
        if is_free {
            return RoomCost::default();
        }
        let used = plan.iter().map(|&energy| as_kwh(energy));
        cost_of_plan((self.programme(), self.degree_hour_price), used)
    }

    /// Adds the energies of a plan to a load in µWh by slot of the area, times `sign`.
    pub(crate) fn add_to(&self, load: &mut [i64], plan: &RoomPlan, sign: i64) {
        for (slot, energy) in self.slots.iter().zip(plan) {
            if let Some(slot) = slot {
                load[*slot as usize] += sign * energy;
            }
        }
    }

    /// Plan of a thermostat, which knows no price and no limit.
    pub(crate) fn thermostat(&self) -> RoomPlan {
        let used = self.room.thermostat(self.slots.len(), |_| f64::INFINITY);
        self.to_plan(used.into_iter())
    }

    /// Plan of energies in kWh by step, in whole µWh within the power of the unit.
    pub(crate) fn to_plan(&self, used_kwh: impl Iterator<Item = f64>) -> RoomPlan {
        let whole = |(at, kwh): (usize, f64)| {
            ((kwh * MICRO_WH_PER_KWH).round() as i64).clamp(0, self.most(at))
        };
        used_kwh.enumerate().map(whole).collect()
    }
}

//! Plans of heat units: power, temperatures, cost, and the reason of each period in which one runs.
//!
//! The first rule that holds for a step gives its reason: the temperature is outside the band at its
//! start or end, the price is negative, the same heat would cost less in another slot that a limit
//! fills, the edge of the band at the end of the step, an edge that is reached later, and else a cheap
//! step. Heat of step `k` that is used at the end of step `m` costs `p_k/(η_k·a_(k+1)·…·a_m)` per kWh.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::area::model::linking::LinkingConstraints;
use crate::area::model::rooms::{AreaRoom, RoomPlan};
use crate::area::problem::micro_wh::as_kwh;
use crate::area::solve::area_instance::{AreaInstance, Solution};
use crate::plan::heat::planned_slot::DegreeHours;
use crate::plan::heat::request::HeatMode;
use crate::plan::interval::Interval;
use crate::plan::site::device::HeatUnit;
use crate::plan::site::plan::{HeatOutcome, RoomSlot};
use crate::time::instant::micros_between;
use crate::tolerance::{POWER_ROUNDING_KW, SOLVER_AGREEMENT};
use crate::units::{MICROS_PER_HOUR, Power};
use crate::words::words;

/// Distance of a temperature from an edge of the band, in K, at which it is at that edge.
const SAME_KELVIN: f64 = 1e-4;

/// Difference of two prices per kWh that no reason rests on.
const SAME_PRICE: f64 = 1e-9;

words! {
    /// Reason for which a heat unit of an area runs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[non_exhaustive]
    pub enum HeatUnitReasonCode {
        /// The temperature is outside the band.
        Recover = "recover",
        /// The price is negative.
        NegativePrice = "negative_price",
        /// A limit leaves no power in a time in which the same heat would cost less.
        Limit = "limit",
        /// The edge of the band is held.
        Hold = "hold",
        /// Heat is stored for a later time at the edge of the band.
        Ahead = "ahead",
        /// Heat is stored because it costs little.
        Cheap = "cheap",
    }
}

/// Period in which a heat unit of an area runs, with its reason.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct HeatUnitReason {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Electrical energy, in kWh.
    pub used_kwh: f64,
    /// Cost of the energy.
    pub cost: f64,
    /// Reason code.
    pub code: HeatUnitReasonCode,
    /// Node whose limit fills the cheaper time, or leaves too little for the band.
    pub node: Option<usize>,
    /// Instant at which the edge of the band is reached, for heat that is stored until then.
    pub due: Option<DateTime<Utc>>,
}

/// Plan of one heat unit.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HeatUnitPlan {
    /// Name of the unit.
    pub name: String,
    /// Position of its node.
    pub node: usize,
    /// Electrical energy, in kWh.
    pub energy_kwh: f64,
    /// Cost of the electricity, less the value of the heat stored at the end.
    pub cost: f64,
    /// Cost of a thermostat that holds the edge of the band, less the value of the heat that it leaves,
    /// without regard to limits.
    pub baseline_cost: f64,
    /// Degree-hours of that thermostat outside the band.
    pub baseline_discomfort: DegreeHours,
    /// Periods of constant power above zero, in time order.
    pub intervals: Vec<Interval>,
    /// Temperatures, step by step, and degree-hours outside the band.
    pub room: HeatOutcome,
    /// Reason of each period in which the unit runs, in time order.
    pub reasons: Vec<HeatUnitReason>,
}

impl HeatUnitPlan {
    /// Cost of the thermostat minus cost. Negative if the plan costs more, as it may where limits leave
    /// dear times only, or where it is outside the band for less time.
    #[must_use]
    pub fn savings(&self) -> f64 {
        self.baseline_cost - self.cost
    }
}

/// Plans of all heat units of a solution.
pub(crate) fn heat_unit_plans(
    instance: &AreaInstance<'_>,
    solution: &Solution,
) -> Vec<HeatUnitPlan> {
    let rooms = instance.rooms.each.iter().zip(&solution.assignment.rooms);
    let plan = |((room, plan), unit): ((&AreaRoom, &RoomPlan), &HeatUnit)| {
        let used: Vec<f64> = plan.iter().map(|&energy| as_kwh(energy)).collect();
        let outcome = room.room.report(unit, &used);
        let held = room.thermostat();
        let held_kwh: Vec<f64> = held.iter().map(|&energy| as_kwh(energy)).collect();
        let duals = (instance.constraints, &solution.duals[..]);
        let added = instance.constraints.dual_price(room.node, &solution.duals);
        let view = RoomView { room, outcome: &outcome, added: &added, duals };
        HeatUnitPlan {
            name: unit.name.clone(),
            node: room.node as usize,
            energy_kwh: used.iter().sum(),
            cost: room.cost(false, plan).money,
            baseline_cost: room.cost(false, &held).money,
            baseline_discomfort: room.room.report(unit, &held_kwh).discomfort,
            intervals: intervals(&outcome),
            reasons: view.explain(),
            room: outcome,
        }
    };
    rooms.zip(instance.problem.heat_units()).map(plan).collect()
}

/// Power of a step.
fn power(slot: &RoomSlot) -> Power {
    let hours = micros_between(slot.start, slot.end) as f64 / MICROS_PER_HOUR;
    Power::from_kw(slot.used.as_kwh() / hours).unwrap_or(Power::ZERO)
}

/// Periods of constant power.
fn intervals(outcome: &HeatOutcome) -> Vec<Interval> {
    let is_same = |a: Power, b: Power| (a - b).as_kw().abs() <= POWER_ROUNDING_KW;
    let mut intervals = Vec::new();
    for slot in outcome.slots.iter().filter(|slot| slot.used.as_kwh() > 0.0) {
        let (start, end) = (slot.start, slot.end);
        Interval { start, end, power: power(slot) }.join(&mut intervals, is_same);
    }
    intervals
}

/// Plan of a room with the prices of the limits above it.
struct RoomView<'a> {
    room: &'a AreaRoom,
    outcome: &'a HeatOutcome,
    /// Amount that limits add to the price, per kWh by slot of the area.
    added: &'a [f64],
    duals: (&'a LinkingConstraints, &'a [f64]),
}

impl RoomView<'_> {
    /// Reasons of all periods in which the unit runs; neighbours of one reason are merged.
    fn explain(&self) -> Vec<HeatUnitReason> {
        let mut reasons: Vec<HeatUnitReason> = Vec::new();
        for at in 0..self.outcome.slots.len() {
            if self.outcome.slots[at].used.as_kwh() <= SOLVER_AGREEMENT {
                continue;
            }
            let next = self.explain_step(at);
            match reasons.last_mut() {
                Some(last)
                    if last.end == next.start
                        && (last.code, last.node, last.due) == (next.code, next.node, next.due) =>
                {
                    last.end = next.end;
                    last.used_kwh += next.used_kwh;
                    last.cost += next.cost;
                }
                _ => reasons.push(next),
            }
        }
        reasons
    }

    /// Kelvin to the edge of the band for which the unit runs, at the end of a step; negative beyond it.
    fn to_edge(&self, temperature: f64, slot: &RoomSlot) -> f64 {
        match self.outcome.mode {
            HeatMode::Heat => temperature - slot.temperature_min.as_celsius(),
            HeatMode::Cool => slot.temperature_max.as_celsius() - temperature,
        }
    }

    /// Reason of one step.
    fn explain_step(&self, at: usize) -> HeatUnitReason {
        use HeatUnitReasonCode as Code;
        let slots = &self.outcome.slots;
        let own = &slots[at];
        let used_kwh = own.used.as_kwh();
        let price = self.room.programme().steps[at].price;
        let reason = |code, node, due| HeatUnitReason {
            start: own.start,
            end: own.end,
            used_kwh,
            cost: price * used_kwh,
            code,
            node,
            due,
        };
        let to_edge = |slot: &RoomSlot| self.to_edge(slot.temperature.as_celsius(), slot);
        let before = at
            .checked_sub(1)
            .map_or(self.outcome.temperature_start, |last| slots[last].temperature);
        if to_edge(own).min(self.to_edge(before.as_celsius(), own)) < -SAME_KELVIN {
            return reason(Code::Recover, self.binding_node(at), None);
        }
        if price < 0.0 {
            return reason(Code::NegativePrice, None, None);
        }
        let due = slots[at..].iter().position(|slot| to_edge(slot) < SAME_KELVIN);
        let due = due.map(|after| at + after);
        let needed = due.unwrap_or(slots.len() - 1);
        if let Some(node) = self.cheaper_time(at, needed).and_then(|at| self.binding_node(at)) {
            return reason(Code::Limit, Some(node), due.map(|due| slots[due].end));
        }
        match due {
            Some(due) if due == at => reason(Code::Hold, None, None),
            Some(due) => reason(Code::Ahead, None, Some(slots[due].end)),
            None => reason(Code::Cheap, None, None),
        }
    }

    /// Step up to `needed`, other than `at`, with power left in which the heat of `at` would cost least,
    /// if that is less than it costs in `at`.
    fn cheaper_time(&self, at: usize, needed: usize) -> Option<usize> {
        let steps = &self.room.programme().steps[..=needed];
        let mut kept = 1.0;
        let mut cheapest: Option<(usize, f64)> = None;
        let mut own = 0.0;
        for (index, step) in steps.iter().enumerate().rev() {
            let price = step.price / (step.stored_per_kwh * kept);
            let used = self.outcome.slots[index].used.as_kwh();
            if index == at {
                own = price;
            } else if used < step.power_kwh - SOLVER_AGREEMENT
                && cheapest.is_none_or(|(_, least)| price < least)
            {
                cheapest = Some((index, price));
            }
            kept *= step.decay;
        }
        cheapest.filter(|&(_, price)| price < own - SAME_PRICE).map(|(index, _)| index)
    }

    /// Node whose limits add most to the price in the slot of a step; `None` if none adds anything.
    fn binding_node(&self, step: usize) -> Option<usize> {
        let slot = self.room.slots[step]? as usize;
        if self.added[slot] <= SAME_PRICE {
            return None;
        }
        let (constraints, duals) = self.duals;
        let added = |&node: &u32| {
            let limits = constraints.by_node[node as usize].iter();
            let dual =
                |&at: &usize| constraints.each[at].sign * duals[at * constraints.slots() + slot];
            (node as usize, limits.map(dual).sum::<f64>())
        };
        let path = constraints.paths[self.room.node as usize].iter().map(added);
        path.filter(|(_, added)| *added > SAME_PRICE)
            .max_by(|one, other| one.1.total_cmp(&other.1))
            .map(|(node, _)| node)
    }
}

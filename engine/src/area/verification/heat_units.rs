//! Statements of the heat units of an area, and a bound for each at its effective prices.
//!
//! Power, balance and band of each step are checked by the certificate of a room alone
//! ([`certificate`](crate::plan::heat::certificate)), at the prices of the unit plus what the duals add,
//! and with the price of a degree-hour of the area. Its dual bound holds for any values of stored energy;
//! they are found anew here.
use crate::area::model::linking::LinkingConstraints;
use crate::area::model::rooms::{AreaRoom, Rooms, cost_of_plan};
use crate::area::problem::area_problem::AreaProblem;
use crate::area::report::heat_units::HeatUnitPlan;
use crate::plan::heat::certificate::{HeatEvidence, certify};
use crate::plan::heat::dynamic_programme::HeatBuffers;
use crate::plan::heat::planned_slot::HeatSlot;
use crate::plan::heat::slots::{HeatSlotPart, ThermalStep, sign};
use crate::plan::site::device::HeatUnit;
use crate::time::instant::instant_at;
use crate::tolerance::{GAP_MAX, SOLVER_AGREEMENT, allowed};
use crate::units::{Energy, Power, Price, Temperature};

/// Statements of the plan of one heat unit, in the units of [`HeatUnitPlan`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatedHeatUnit {
    /// Cost of the electricity, less the value of the heat stored at the end.
    pub cost: f64,
    /// Electrical energy, in kWh.
    pub energy_kwh: f64,
    /// Electrical energy of each step, in kWh.
    pub used_kwh: Vec<f64>,
    /// Temperature at the end of each step, in °C.
    pub temperature_celsius: Vec<f64>,
    /// Degree-hours below the band, in °C·h.
    pub below_celsius_hours: f64,
    /// Degree-hours above the band, in °C·h.
    pub above_celsius_hours: f64,
}

impl StatedHeatUnit {
    /// Statements of a plan.
    #[must_use]
    pub fn new(plan: &HeatUnitPlan) -> Self {
        let slots = || plan.room.slots.iter();
        Self {
            cost: plan.cost,
            energy_kwh: plan.energy_kwh,
            used_kwh: slots().map(|slot| slot.used.as_kwh()).collect(),
            temperature_celsius: slots().map(|slot| slot.temperature.as_celsius()).collect(),
            below_celsius_hours: plan.room.discomfort.below,
            above_celsius_hours: plan.room.discomfort.above,
        }
    }
}

/// Certificate of one heat unit at its price plus those of the limits.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatUnitCheck {
    /// Position of the unit.
    pub unit: usize,
    /// Cost of its plan at these prices.
    pub cost: f64,
    /// Lower bound on the cost of every plan with the same degree-hours.
    pub bound: f64,
    /// Names of the statements that do not hold.
    pub failed: Vec<String>,
}

impl HeatUnitCheck {
    /// Cost less bound: what the unit could save at these prices.
    #[must_use]
    pub fn gap(&self) -> f64 {
        self.cost - self.bound
    }
}

/// Heat unit with its load, its money and its check.
pub(super) struct CheckedRoom {
    /// Position of the node.
    pub(super) node: usize,
    /// Load in kWh by slot of the area.
    pub(super) load: Vec<f64>,
    /// Cost at its own prices.
    pub(super) own_cost: f64,
    pub(super) check: HeatUnitCheck,
    /// Size of the terms of cost and bound, to which their rounding is relative.
    pub(super) scale: f64,
}

/// Checks all heat units of an area.
pub(super) fn check_rooms(
    problem: &AreaProblem<'_>,
    constraints: &LinkingConstraints,
    duals: &[f64],
    stated: &[StatedHeatUnit],
) -> Vec<CheckedRoom> {
    let rooms = Rooms::new(problem, constraints);
    let units = rooms.each.iter().zip(problem.heat_units()).zip(stated).enumerate();
    let check =
        |(at, ((room, unit), stated)): (usize, ((&AreaRoom, &HeatUnit), &StatedHeatUnit))| {
            let dual_price = constraints.dual_price(room.node, duals);
            check_room(room, (at, unit), &dual_price, stated)
        };
    units.map(check).collect()
}

/// Checks one heat unit.
fn check_room(
    room: &AreaRoom,
    (at, unit): (usize, &HeatUnit),
    dual_price: &[f64],
    stated: &StatedHeatUnit,
) -> CheckedRoom {
    let mut load = vec![0.0; dual_price.len()];
    for (slot, kwh) in room.slots.iter().zip(&stated.used_kwh) {
        if let Some(slot) = slot {
            load[*slot as usize] += kwh;
        }
    }
    let own =
        cost_of_plan((room.programme(), room.degree_hour_price), stated.used_kwh.iter().copied());
    let slots = slots_at(room, unit, (dual_price, &stated.used_kwh));
    let evidence = HeatEvidence {
        store: unit.heat.store,
        mode: unit.heat.mode,
        temperature_start: unit.heat.temperature,
        end_value: unit.heat.end_value,
        degree_hour_price: room.degree_hour_price,
        on_off: None,
    };
    let mut failed = Vec::new();
    // A plan that breaks its own limits has no certificate, and adds what it costs.
    let (cost, bound) = match certify(&slots, evidence) {
        Ok(found) => {
            // Degree-hours of rounding are none, as in the cost of the plan.
            let rounding = room.degree_hour_price * found.degree_hours - own.discomfort;
            (found.cost.as_amount(), found.bound.as_amount() + rounding)
        }
        Err(error) => {
            failed.push(error.to_string());
            (own.money, own.money)
        }
    };
    failed.extend(failed_statements(room, (unit, &slots), stated, own.money));
    let weighted =
        room.degree_hour_price * (stated.below_celsius_hours + stated.above_celsius_hours);
    let scale = cost.abs() + bound.abs() + weighted;
    let check = HeatUnitCheck { unit: at, cost, bound, failed };
    CheckedRoom { node: room.node as usize, load, own_cost: own.money, check, scale }
}

/// Slots of a plan of `used` kWh by step at effective prices, with the values of stored energy there.
fn slots_at(
    room: &AreaRoom,
    unit: &HeatUnit,
    (dual_price, used): (&[f64], &[f64]),
) -> Vec<HeatSlot> {
    let programme = room.programme_at((false, dual_price), None);
    let mut buffers = HeatBuffers::new();
    buffers.solve_at_price(&programme, room.degree_hour_price);
    let signed = sign(unit.heat.mode) * programme.kwh_per_k;
    let mut level = programme.stored_kwh;
    let steps = programme.steps.iter().zip(&room.room.layout.parts).zip(used).enumerate();
    let slot = |(at, ((step, part), &kwh)): (usize, ((&ThermalStep, &HeatSlotPart), &f64))| {
        level = step.after(level, kwh);
        HeatSlot {
            start: instant_at(part.start),
            end: instant_at(part.end),
            price: part.is_priced.then(|| Price::from_per_kwh(step.price).ok()).flatten(),
            outdoor: Temperature::from_celsius(part.outdoor_celsius).unwrap_or_default(),
            gain: Power::from_kw(part.gain_kw).unwrap_or(Power::ZERO),
            cop: part.cop,
            power_max: part.power_max,
            used: Energy::from_kwh(kwh).unwrap_or(Energy::ZERO),
            temperature: Temperature::from_celsius(level / signed).unwrap_or_default(),
            temperature_min: part.band.min,
            temperature_max: part.band.max,
            marginal_value: Price::from_per_kwh(buffers.values[at].money).unwrap_or(Price::ZERO),
            marginal_degree_hours: 0.0,
        }
    };
    steps.map(slot).collect()
}

/// Names of the statements that differ from those computed: energy, temperatures, degree-hours, cost.
fn failed_statements(
    room: &AreaRoom,
    (unit, slots): (&HeatUnit, &[HeatSlot]),
    stated: &StatedHeatUnit,
    cost: f64,
) -> Vec<String> {
    let found = room.room.report(unit, &stated.used_kwh);
    let agree = |stated: f64, computed: f64, tolerance: f64| (stated - computed).abs() <= tolerance;
    let kelvin = SOLVER_AGREEMENT / unit.heat.store.capacity.as_kwh_per_k();
    let near = |(stated, slot): (&f64, &HeatSlot)| {
        let computed = slot.temperature.as_celsius();
        agree(*stated, computed, kelvin + allowed(GAP_MAX, computed))
    };
    let hours: f64 = slots.iter().map(HeatSlot::hours).sum();
    let degree_hours = |stated: f64, computed: f64| {
        agree(stated, computed, kelvin * hours + allowed(GAP_MAX, computed))
    };
    let energy: f64 = stated.used_kwh.iter().sum();
    let money = allowed(GAP_MAX, cost.abs() + stated.cost.abs());
    [
        ("energy_kwh", agree(stated.energy_kwh, energy, allowed(GAP_MAX, energy))),
        ("temperature_celsius", stated.temperature_celsius.iter().zip(slots).all(near)),
        ("below_celsius_hours", degree_hours(stated.below_celsius_hours, found.discomfort.below)),
        ("above_celsius_hours", degree_hours(stated.above_celsius_hours, found.discomfort.above)),
        ("cost", agree(stated.cost, cost, money)),
    ]
    .into_iter()
    .filter(|(_, holds)| !holds)
    .map(|(name, _)| name.to_owned())
    .collect()
}

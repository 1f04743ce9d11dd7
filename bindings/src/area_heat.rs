//! Heat units of an area: their plans, reasons and certificates.
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use slackwater_engine::area as engine;

use crate::plan::Interval;
use crate::site::{HeatOutcome, heat};

record! {
    /// Period in which a heat unit of an area runs at one power.
    pub(crate) struct AreaHeatInterval in AreaHeatIntervals {
        /// Name of the unit.
        unit: String,
        /// Name of its node.
        node: String,
        /// First instant, in UTC.
        start: DateTime<Utc>,
        /// First instant after the period, in UTC.
        end: DateTime<Utc>,
        /// Electrical power throughout, in kW.
        power_kw: f64,
    }

    /// Reason for which a heat unit of an area runs in a period.
    pub(crate) struct AreaHeatReason {
        /// First instant, in UTC.
        start: DateTime<Utc>,
        /// First instant after the period, in UTC.
        end: DateTime<Utc>,
        /// Electrical energy over the period, in kWh.
        used_kwh: f64,
        /// Cost of the energy, in units of the currency.
        cost: f64,
        /// The reason: ``recover``, ``negative_price``, ``limit``, ``hold``, ``ahead`` or ``cheap``.
        code: String,
        /// Node whose limit fills the cheaper time, or leaves too little for the band; ``None`` if none
        /// does.
        node: Option<String>,
        /// Instant at which the temperature is at the edge of the band, of heat that is stored until
        /// then, in UTC; ``None`` if it is kept for longer.
        deadline: Option<DateTime<Utc>>,
    }

    /// Plan of a heat unit of an area.
    pub(crate) struct AreaHeat {
        /// Name of the unit.
        name: String,
        /// Name of its node.
        node: String,
        /// Electrical energy, in kWh.
        energy_kwh: f64,
        /// Cost of the electricity less the value of the heat stored at the end, in units of the
        /// currency; a part of the cost of the area.
        cost: f64,
        /// Cost of a thermostat that holds the edge of the band, less the value of the heat that it
        /// leaves, without regard to limits.
        baseline_cost: f64,
        /// Degree-hours of that thermostat below the band, in °C·h.
        baseline_below_celsius_hours: f64,
        /// Degree-hours of that thermostat above the band, in °C·h.
        baseline_above_celsius_hours: f64,
        /// Periods of constant power, in time order.
        intervals: Vec<Interval>,
        /// Temperatures, and the degree-hours outside the band.
        room: HeatOutcome,
        /// Reason of each period in which the unit runs, in time order.
        reasons: Vec<AreaHeatReason>,
    }

    /// Own certificate of a heat unit of an area, at its price plus those of the limits.
    pub(crate) struct AreaHeatCertificate {
        /// Name of the unit.
        name: String,
        /// Cost of its plan at these prices, in units of the currency.
        cost: f64,
        /// Lower bound on the cost of every plan with the same degree-hours.
        bound: f64,
        /// Cost less bound: what the unit could save at these prices by a plan of its own.
        gap: f64,
        /// True if the plan keeps power and balance and all its statements hold.
        holds: bool,
        /// Names of the statements that do not hold, separated by commas; empty if all do.
        failed: String,
    }
}

impl AreaHeat {
    /// Plan of the engine. `names` are those of the nodes.
    pub(crate) fn new(plan: &engine::HeatUnitPlan, names: &[String]) -> Self {
        let reason = |reason: &engine::HeatUnitReason| AreaHeatReason {
            start: reason.start,
            end: reason.end,
            used_kwh: reason.used_kwh,
            cost: reason.cost,
            code: reason.code.as_str().to_owned(),
            node: reason.node.map(|node| names[node].clone()),
            deadline: reason.due,
        };
        Self {
            name: plan.name.clone(),
            node: names[plan.node].clone(),
            energy_kwh: plan.energy_kwh,
            cost: plan.cost,
            baseline_cost: plan.baseline_cost,
            baseline_below_celsius_hours: plan.baseline_discomfort.below,
            baseline_above_celsius_hours: plan.baseline_discomfort.above,
            intervals: plan.intervals.iter().map(Interval::new).collect(),
            room: heat(&plan.room),
            reasons: plan.reasons.iter().map(reason).collect(),
        }
    }

    /// Statements of the plan, for verification.
    pub(crate) fn state(&self) -> engine::StatedHeatUnit {
        let (cost, energy_kwh) = (self.cost, self.energy_kwh);
        engine::StatedHeatUnit { cost, energy_kwh, ..self.room.state() }
    }

    /// Periods of constant power with the names of unit and node.
    pub(crate) fn list_intervals(&self) -> impl Iterator<Item = AreaHeatInterval> {
        self.intervals.iter().map(|own| {
            let (start, end, power_kw) = own.parts();
            let (unit, node) = (self.name.clone(), self.node.clone());
            AreaHeatInterval { unit, node, start, end, power_kw }
        })
    }
}

impl AreaHeatCertificate {
    /// Certificate of the unit `name`.
    pub(crate) fn new(check: &engine::HeatUnitCheck, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            cost: check.cost,
            bound: check.bound,
            gap: check.gap(),
            holds: check.failed.is_empty(),
            failed: check.failed.join(", "),
        }
    }
}

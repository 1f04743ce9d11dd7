//! Slots of a plan under a price of power.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::time::instant::micros_between;
use crate::units::{Energy, MICROS_PER_HOUR, Money, Power, Price, kw};

/// Period of one price, in one window of the tariff.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapacitySlot {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Price of a kWh bought, if it is known.
    #[serde(rename = "import_price_per_kwh")]
    pub import_price: Option<Price>,
    /// Price of a kWh sold; zero if none is given.
    #[serde(rename = "export_price_per_kwh")]
    pub export_price: Price,
    /// Energy of the rest of the connection; negative into the grid.
    #[serde(rename = "load_kwh")]
    pub load: Energy,
    /// Energy into the battery, at the plug.
    #[serde(rename = "charged_kwh")]
    pub charged: Energy,
    /// Energy out of the battery, at the plug, as a positive number.
    #[serde(rename = "discharged_kwh")]
    pub discharged: Energy,
    /// Consumption of driving over the slot, as stored energy.
    #[serde(rename = "driven_kwh")]
    pub driven: Energy,
    /// Stored energy at the end.
    #[serde(rename = "stored_kwh")]
    pub stored: Energy,
    /// Least stored energy at the end that wishes allow.
    #[serde(rename = "stored_min_kwh")]
    pub stored_min: Energy,
    /// Highest stored energy at the end.
    #[serde(rename = "stored_max_kwh")]
    pub stored_max: Energy,
    /// Highest charging power, at the plug.
    #[serde(rename = "charge_max_kw")]
    pub charge_max: Power,
    /// Highest discharging power, at the plug.
    #[serde(rename = "discharge_max_kw")]
    pub discharge_max: Power,
    /// Position of the group of windows of which one power counts; none if the window does not
    /// count.
    pub group: Option<usize>,
    /// Weighted power that the group of the window reaches in the plan or reached before; none if
    /// the window does not count.
    #[serde(rename = "level_kw")]
    pub level: Option<Power>,
    /// Weight of the window by the tariff; zero if it does not count.
    pub weight: f64,
    /// Value of a stored kWh in the slot.
    #[serde(rename = "marginal_value_per_kwh")]
    pub marginal_value: Price,
    /// Price of a kW of the level that the slot pays. Over the slots of a group these add up to at
    /// most the price of its power, and only slots at the level pay.
    pub power_price_per_kw: Money,
}

impl CapacitySlot {
    /// Energy through the meter; negative into the grid.
    #[must_use]
    pub fn metered(&self) -> Energy {
        self.load + self.charged - self.discharged
    }

    /// Weighted mean power from the grid.
    #[must_use]
    pub fn power(&self) -> Power {
        let hours = micros_between(self.start, self.end) as f64 / MICROS_PER_HOUR;
        kw(self.weight * self.metered().as_kwh().max(0.0) / hours)
    }
}

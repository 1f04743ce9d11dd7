//! Request of the contract, with the names of its fields.
use serde::{Deserialize, Serialize};

use crate::words::words;

words! {
    /// Preference for charging where it costs the same.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub enum ChargingStrategy {
        /// None.
        #[default]
        None = "none",
        /// Charging before exporting.
        ChargeBeforeExport = "charge_before_export",
        /// A low and even import.
        AttenuateDemandPeaks = "attenuate_demand_peaks",
        /// A low and even export.
        AttenuateFeedinPeaks = "attenuate_feedin_peaks",
        /// Both a low and even import and export.
        AttenuateGridPeaks = "attenuate_grid_peaks",
    }
}

words! {
    /// Preference for discharging where it costs the same.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub enum DischargingStrategy {
        /// None.
        #[default]
        None = "none",
        /// Discharging before importing.
        DischargeBeforeImport = "discharge_before_import",
    }
}

/// Preferences where money decides nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvccStrategy {
    /// Preference for charging.
    #[serde(default)]
    pub charging_strategy: ChargingStrategy,
    /// Preference for discharging.
    #[serde(default)]
    pub discharging_strategy: DischargingStrategy,
}

/// Limits of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvccGrid {
    /// Highest import in W.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_max_imp: Option<f64>,
    /// Highest export in W; power above it is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_max_exp: Option<f64>,
    /// Demand rate per W on the highest import above `p_max_imp`. Without it the limit is broken
    /// only if a request leaves nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prc_p_exc_imp: Option<f64>,
}

/// Battery of the house or of a vehicle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvccBattery {
    /// False if it charges only in steps without import.
    #[serde(default)]
    pub charge_from_grid: bool,
    /// False if it discharges only in steps without export.
    #[serde(default)]
    pub discharge_to_grid: bool,
    /// Energy of the full battery in Wh; `s_max` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s_capacity: Option<f64>,
    /// Least energy in Wh; less than that costs a penalty.
    pub s_min: f64,
    /// Largest energy in Wh; more than that costs a penalty.
    pub s_max: f64,
    /// Energy at the start in Wh.
    pub s_initial: f64,
    /// Least charging power in W, if it charges.
    pub c_min: f64,
    /// Highest charging power in W.
    pub c_max: f64,
    /// Highest discharging power in W.
    pub d_max: f64,
    /// Value per Wh of what is stored at the end.
    pub p_a: f64,
    /// Energy in Wh that each step is to charge until the battery is full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_demand: Option<Vec<f64>>,
    /// Energy in Wh that is to be stored after each step; zero for none. The first is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s_goal: Option<Vec<f64>>,
    /// Priority over other batteries, from 0 to 2.
    #[serde(default)]
    pub c_priority: u8,
    /// Stored energy per energy charged, in place of that of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta_c: Option<f64>,
    /// Energy discharged per stored energy, in place of that of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta_d: Option<f64>,
}

/// Steps of the horizon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvccSteps {
    /// Length of each step in s.
    pub dt: Vec<f64>,
    /// Consumption of the house in Wh.
    pub gt: Vec<f64>,
    /// More consumption in Wh, added to `gt`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gt_add: Vec<Vec<f64>>,
    /// Solar energy in Wh.
    pub ft: Vec<f64>,
    /// Price of an imported Wh.
    #[serde(rename = "p_N")]
    pub p_n: Vec<f64>,
    /// Revenue of an exported Wh.
    #[serde(rename = "p_E")]
    pub p_e: Vec<f64>,
}

/// Request for a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvccRequest {
    /// Preferences.
    #[serde(default)]
    pub strategy: EvccStrategy,
    /// Limits of the connection.
    #[serde(default)]
    pub grid: EvccGrid,
    /// Batteries, at least one.
    pub batteries: Vec<EvccBattery>,
    /// Steps of the horizon.
    pub time_series: EvccSteps,
    /// Stored energy per energy charged.
    #[serde(default = "efficiency_default")]
    pub eta_c: f64,
    /// Energy discharged per stored energy.
    #[serde(default = "efficiency_default")]
    pub eta_d: f64,
    /// A constant of the contract's first solver, which the example of the contract sends. It is
    /// not used.
    #[serde(default, rename = "M", skip_serializing_if = "Option::is_none")]
    pub big_m: Option<f64>,
}

/// Efficiency of the contract where a request has none.
fn efficiency_default() -> f64 {
    0.95
}

impl EvccBattery {
    /// Energy of the full battery in Wh.
    pub(crate) fn capacity(&self) -> f64 {
        self.s_capacity.unwrap_or(self.s_max)
    }
}

impl EvccSteps {
    /// Number of steps.
    pub(crate) fn len(&self) -> usize {
        self.dt.len()
    }

    /// Hours of a step.
    pub(crate) fn hours(&self, step: usize) -> f64 {
        self.dt[step] / 3600.0
    }

    /// Energy in Wh that the house takes from all else in a step; negative if the sun gives more.
    pub(crate) fn net(&self, step: usize) -> f64 {
        let more: f64 = self.gt_add.iter().map(|load| load[step]).sum();
        self.gt[step] + more - self.ft[step]
    }
}

impl EvccRequest {
    /// Efficiencies `(eta_c, eta_d)` of a battery.
    pub(crate) fn efficiencies(&self, battery: &EvccBattery) -> (f64, f64) {
        (battery.eta_c.unwrap_or(self.eta_c), battery.eta_d.unwrap_or(self.eta_d))
    }

    /// True if the highest import above the limit is paid for.
    pub(crate) fn has_demand_rate(&self) -> bool {
        self.grid.p_max_imp.is_some() && self.grid.prc_p_exc_imp.is_some()
    }
}

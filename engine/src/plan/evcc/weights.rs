//! Weights of the objective: penalties and strategies of the contract.
//!
//! All penalties are multiples of `highest`, the highest price per Wh that a request can pay or
//! earn. Costs of the programme are prices divided by it, so that the tolerances of the solver are
//! relative to the prices.
use crate::plan::evcc::request::{ChargingStrategy, DischargingStrategy, EvccRequest};

/// Price of the least unit of money per Wh: that of a request without prices.
const HIGHEST_MIN: f64 = 1e-4;

/// Penalty per Wh of a missed goal, a missed demand, a broken limit or lost solar energy.
pub(crate) const MISSED: f64 = 100.0;

/// Penalty per Wh and step outside `s_min` to `s_max`.
pub(crate) const OUTSIDE: f64 = 1000.0;

/// Penalty per W of the highest import or export, with a strategy against peaks.
pub(crate) const PEAK: f64 = 1e-3;

/// Penalty per W of each change of import or export, with a strategy against peaks.
pub(crate) const RAMP: f64 = 1e-5;

/// Decrease per step of the penalty on lost solar energy, which moves the loss to later steps.
pub(crate) const LOSS_FADE: f64 = 1e-5;

/// Weights of one request. All but `highest` are in units of `highest`.
#[derive(Debug, Clone)]
pub(crate) struct Weights {
    /// Highest price per Wh.
    pub(crate) highest: f64,
    /// Lowest import price, the unit of the strategies.
    lowest: f64,
    steps: f64,
    batteries: f64,
    prefers_charging: bool,
    prefers_discharging: bool,
    /// True if peaks of the import, and of the export, are to be low.
    pub(crate) levels: (bool, bool),
}

impl Weights {
    pub(crate) fn new(request: &EvccRequest) -> Self {
        let steps = &request.time_series;
        let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut highest = most(&steps.p_n).max(most(&steps.p_e)).max(HIGHEST_MIN);
        highest = request.batteries.iter().fold(highest, |most, battery| most.max(battery.p_a));
        if let (true, Some(rate)) = (request.has_demand_rate(), request.grid.prc_p_exc_imp) {
            // A Wh of the shortest step is the most W.
            let shortest = steps.dt.iter().copied().fold(f64::INFINITY, f64::min);
            highest = highest.max(rate * 3600.0 / shortest);
        }
        let lowest = steps.p_n.iter().copied().fold(f64::INFINITY, f64::min);
        let charging = request.strategy.charging_strategy;
        let both = ChargingStrategy::AttenuateGridPeaks;
        let levels = |side| charging == side || charging == both;
        Self {
            highest,
            lowest: lowest / highest,
            steps: steps.len() as f64,
            batteries: request.batteries.len() as f64,
            prefers_charging: charging == ChargingStrategy::ChargeBeforeExport,
            prefers_discharging: request.strategy.discharging_strategy
                == DischargingStrategy::DischargeBeforeImport,
            levels: (
                levels(ChargingStrategy::AttenuateDemandPeaks),
                levels(ChargingStrategy::AttenuateFeedinPeaks),
            ),
        }
    }

    /// Steps from `step` to the end, that one included.
    fn left(&self, step: usize) -> f64 {
        self.steps - step as f64
    }

    /// Cost per exported Wh of charging first.
    pub(crate) fn export(&self, step: usize) -> f64 {
        let weight = if self.prefers_charging { 2e-5 * self.batteries } else { 0.0 };
        weight * self.lowest * self.left(step)
    }

    /// Cost per imported Wh of discharging first.
    pub(crate) fn import(&self, step: usize) -> f64 {
        let weight = if self.prefers_discharging { 5e-6 * self.batteries } else { 0.0 };
        weight * self.lowest * self.left(step)
    }

    /// Worth per Wh through a battery of a priority.
    pub(crate) fn priority(&self, priority: u8, step: usize) -> f64 {
        5e-5 * f64::from(priority) * self.lowest * self.left(step)
    }

    /// Penalty per Wh of missed demand: more for an early step.
    pub(crate) fn demand(&self, step: usize) -> f64 {
        MISSED * (1.0 + self.left(step) / self.steps)
    }
}

//! Response of the contract, computed from the charges and discharges of a solution alone.
use serde::{Deserialize, Serialize};

use crate::plan::evcc::columns::kwh;
use crate::plan::evcc::request::{EvccBattery, EvccRequest};
use crate::words::words;

/// Energies in Wh are rounded to this part of a Wh.
const PER_WH: f64 = 1e6;

/// Energy in Wh that rounding may leave.
pub(crate) const DUST_WH: f64 = 1e-3;

words! {
    /// Status of a schedule.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum EvccStatus {
        /// No schedule is worth more.
        Optimal = "Optimal",
        /// A limit ended the search: a schedule that keeps all rules, and may not be the best.
        Feasible = "Feasible",
    }
}

/// Limits that a schedule cannot keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitViolations {
    /// True if a step imports more than `p_max_imp`.
    pub grid_import_limit_exceeded: bool,
    /// True if a step loses energy to `p_max_exp`.
    pub grid_export_limit_hit: bool,
}

/// Schedule of a battery, in Wh per step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BatterySchedule {
    /// Energy charged.
    pub charging_power: Vec<f64>,
    /// Energy discharged.
    pub discharging_power: Vec<f64>,
    /// Energy stored after the step.
    pub state_of_charge: Vec<f64>,
}

/// Schedule of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvccSchedule {
    /// Status.
    pub status: EvccStatus,
    /// Money: revenue less cost, and the value of what is stored at the end less that at the start.
    /// Without penalties and strategies.
    pub objective_value: f64,
    /// Limits that are not kept.
    pub limit_violations: LimitViolations,
    /// Batteries, in the order of the request.
    pub batteries: Vec<BatterySchedule>,
    /// Imported energy in Wh; without what is above a limit that has no demand rate.
    pub grid_import: Vec<f64>,
    /// Exported energy in Wh.
    pub grid_export: Vec<f64>,
    /// 1 in steps that may not import, else 0.
    pub flow_direction: Vec<u8>,
    /// Imported energy above the limit in Wh; empty without one.
    pub grid_import_overshoot: Vec<f64>,
    /// Energy in Wh that the export limit loses; empty without one.
    pub grid_export_overshoot: Vec<f64>,
}

fn round_energy(wh: f64) -> f64 {
    // Adding zero makes a negative zero positive.
    (wh * PER_WH).round() / PER_WH + 0.0
}

/// Energies of a battery in Wh per step.
pub(crate) struct Flows {
    pub(crate) charge: Vec<f64>,
    pub(crate) discharge: Vec<f64>,
}

impl EvccSchedule {
    /// Schedule of charges and discharges in Wh.
    pub(crate) fn new(request: &EvccRequest, status: EvccStatus, flows: &[Flows]) -> Self {
        let batteries: Vec<BatterySchedule> = request
            .batteries
            .iter()
            .zip(flows)
            .map(|(battery, flows)| follow_battery(request, battery, flows))
            .collect();
        let mut schedule = Self {
            status,
            objective_value: 0.0,
            limit_violations: LimitViolations {
                grid_import_limit_exceeded: false,
                grid_export_limit_hit: false,
            },
            batteries,
            grid_import: Vec::new(),
            grid_export: Vec::new(),
            flow_direction: Vec::new(),
            grid_import_overshoot: Vec::new(),
            grid_export_overshoot: Vec::new(),
        };
        for step in 0..request.time_series.len() {
            schedule.add_step(request, step);
        }
        let is_any = |energies: &[f64]| energies.iter().any(|&wh| wh > DUST_WH);
        schedule.limit_violations = LimitViolations {
            grid_import_limit_exceeded: is_any(&schedule.grid_import_overshoot),
            grid_export_limit_hit: is_any(&schedule.grid_export_overshoot),
        };
        schedule.objective_value = schedule.value(request);
        schedule
    }

    /// Energy in Wh that a step draws from the grid; negative if it feeds it.
    fn net(&self, request: &EvccRequest, step: usize) -> f64 {
        let batteries = self.batteries.iter();
        let flows = batteries.map(|b| b.charging_power[step] - b.discharging_power[step]);
        round_energy(request.time_series.net(step) + flows.sum::<f64>())
    }

    fn add_step(&mut self, request: &EvccRequest, step: usize) {
        let net = self.net(request, step);
        let net = if net.abs() <= DUST_WH { 0.0 } else { net };
        let limit = |watts: Option<f64>| {
            watts.map_or(f64::INFINITY, |watts| kwh(watts, request.time_series.hours(step)) * 1e3)
        };
        let within = |wh: f64, most: f64| {
            let over = round_energy(wh - most).max(0.0);
            // A limit that is kept to the rounding of the solver is kept.
            if over <= DUST_WH { (wh, 0.0) } else { (round_energy(most), over) }
        };
        let (import, over) = within(net.max(0.0), limit(request.grid.p_max_imp));
        let (export, lost) = within((-net).max(0.0), limit(request.grid.p_max_exp));
        // With a demand rate, all that is imported is paid for as usual.
        let paid = if request.has_demand_rate() { import + over } else { import };
        self.grid_import.push(round_energy(paid));
        self.grid_export.push(export);
        let is_solar = request.batteries.iter().zip(&self.batteries).any(|(battery, schedule)| {
            !battery.charge_from_grid && schedule.charging_power[step] > DUST_WH
        });
        self.flow_direction.push(u8::from(export + lost > 0.0 || is_solar && net <= 0.0));
        if request.grid.p_max_imp.is_some() {
            self.grid_import_overshoot.push(over);
        }
        if request.grid.p_max_exp.is_some() {
            self.grid_export_overshoot.push(lost);
        }
    }

    /// Money of the schedule.
    fn value(&self, request: &EvccRequest) -> f64 {
        let steps = &request.time_series;
        let over = |step: usize| self.grid_import_overshoot.get(step).copied().unwrap_or(0.0);
        let money: f64 = (0..steps.len())
            .map(|step| {
                let above = if request.has_demand_rate() { 0.0 } else { over(step) };
                steps.p_e[step] * self.grid_export[step]
                    - steps.p_n[step] * (self.grid_import[step] + above)
            })
            .sum();
        let stored = request.batteries.iter().zip(&self.batteries).map(|(battery, schedule)| {
            let last = schedule.state_of_charge.last().copied().unwrap_or(battery.s_initial);
            (last - battery.s_initial) * battery.p_a
        });
        let rate = request.grid.prc_p_exc_imp.filter(|_| request.has_demand_rate());
        let highest =
            (0..steps.len()).map(|step| over(step) / steps.hours(step)).fold(0.0, f64::max);
        money + stored.sum::<f64>() - rate.unwrap_or(0.0) * highest
    }
}

/// Schedule of a battery from its charges and discharges.
fn follow_battery(request: &EvccRequest, battery: &EvccBattery, flows: &Flows) -> BatterySchedule {
    let (eta_c, eta_d) = request.efficiencies(battery);
    let clean = |energies: &[f64]| -> Vec<f64> {
        energies.iter().map(|&wh| if wh <= DUST_WH { 0.0 } else { round_energy(wh) }).collect()
    };
    let (charging_power, discharging_power) = (clean(&flows.charge), clean(&flows.discharge));
    let mut level = battery.s_initial;
    let levels = charging_power.iter().zip(&discharging_power).map(|(charge, discharge)| {
        level += eta_c * charge - discharge / eta_d;
        round_energy(level).max(0.0)
    });
    let state_of_charge = levels.collect();
    BatterySchedule { charging_power, discharging_power, state_of_charge }
}

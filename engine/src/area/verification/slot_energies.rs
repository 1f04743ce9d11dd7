//! Energies of one vehicle in the slots of the prices, from the intervals of its plan.
use crate::columns::intervals::IntervalColumns;
use crate::time::horizon::Horizon;
use crate::tolerance::INSTANT_MICROS;
use crate::units::MICROS_PER_HOUR;

/// Rounding of the energy in one slot, in kWh: plans of areas have whole µWh.
const SLOT_ROUNDING_KWH: f64 = 1e-9;

/// Interval of constant power: start and end in microseconds since 1970, power in kW.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) power_kw: f64,
}

impl Run {
    /// Energy in kWh until an instant; negative discharges.
    fn energy_by(&self, by: i64) -> f64 {
        self.power_kw * (self.end.min(by) - self.start).max(0) as f64 / MICROS_PER_HOUR
    }
}

/// Plan of one vehicle: its intervals, and their energy in each slot.
#[derive(Debug, Clone, Default)]
pub(crate) struct SlotEnergies {
    pub(crate) runs: Vec<Run>,
    /// Slot and energy in kWh at the plug, in time order; negative discharges.
    pub(crate) each: Vec<(usize, f64)>,
    /// Energy outside of all slots, in kWh, charging and discharging added up.
    pub(crate) outside_kwh: f64,
    /// Bound on the rounding of all energies together, in kWh.
    pub(crate) rounding_kwh: f64,
}

impl SlotEnergies {
    /// Spreads the intervals of a row over the slots.
    pub(crate) fn new(horizon: &Horizon, plans: &IntervalColumns, row: usize) -> Self {
        let mut made = Self::default();
        for at in plans.range(row) {
            let run =
                Run { start: plans.start[at], end: plans.end[at], power_kw: plans.power_kw[at] };
            let mut inside = 0;
            for slot in horizon.overlapping(run.start, run.end) {
                let start = run.start.max(horizon.starts()[slot]);
                let micros = (run.end.min(horizon.ends()[slot]) - start).max(0);
                inside += micros;
                let kwh = run.power_kw * micros as f64 / MICROS_PER_HOUR;
                match made.each.last_mut() {
                    Some(last) if last.0 == slot => last.1 += kwh,
                    _ => made.each.push((slot, kwh)),
                }
            }
            let outside = (run.end - run.start).max(0) - inside;
            made.outside_kwh += run.power_kw.abs() * outside as f64 / MICROS_PER_HOUR;
            // The ends of a run are whole microseconds.
            made.rounding_kwh += run.power_kw.abs() * INSTANT_MICROS as f64 / MICROS_PER_HOUR;
            made.runs.push(run);
        }
        made.rounding_kwh += SLOT_ROUNDING_KWH * (made.each.len() + 1) as f64;
        made
    }

    /// Energy until an instant, in kWh at the plug.
    pub(crate) fn energy_by(&self, by: i64) -> f64 {
        self.runs.iter().map(|run| run.energy_by(by)).sum()
    }

    /// Energy that charges, in kWh at the plug.
    pub(crate) fn charged_kwh(&self) -> f64 {
        self.each.iter().map(|(_, kwh)| kwh.max(0.0)).sum()
    }

    /// Energy that discharges, in kWh at the plug, as a positive number.
    pub(crate) fn discharged_kwh(&self) -> f64 {
        self.each.iter().map(|(_, kwh)| (-kwh).max(0.0)).sum()
    }
}

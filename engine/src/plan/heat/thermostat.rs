//! Thermostat that holds the edge of the band, for any unit.
//!
//! ```text
//! x_t = min( X_t, max( 0, (L_t − a_t·e_{t−1} − g_t)/η_t ) )
//! ```
//!
//! In each slot it uses the least power with which the band is reached at the end of the slot, as far
//! as its power allows ([symbols](super)). A unit that is only on or off runs at full power in slots
//! with `x_t > 0`, as far as its least times allow.
use crate::plan::heat::on_off::{LeastTimes, Stretch};
use crate::plan::heat::slots::ThermalStep;

/// Thermostat at a slot.
#[derive(Debug)]
pub(crate) struct Thermostat<'a> {
    /// Least times of a unit that is on or off, and its state in the slots up to a boundary.
    on_off: Option<(&'a LeastTimes, Stretch)>,
}

impl<'a> Thermostat<'a> {
    /// Thermostat at the start of a plan.
    pub(crate) fn new(least_times: Option<&'a LeastTimes>) -> Self {
        Self { on_off: least_times.map(|times| (times, times.first)) }
    }

    /// Energy of the next slot in kWh, of which `slot` is the position.
    pub(crate) fn next_kwh(&mut self, slot: usize, step: &ThermalStep, before_kwh: f64) -> f64 {
        let held = held_kwh(step, before_kwh);
        let Some((times, now)) = &mut self.on_off else { return held };
        if slot >= now.until {
            let is_wanted = held > 0.0;
            let mut ways = times.ways_from(slot, now.is_on);
            // The last way is to switch; the unit that may not do as wanted has one way.
            let first = ways.next();
            let next = ways.chain(first).find(|next| next.is_on == is_wanted).or(first);
            *now = next.unwrap_or(Stretch { is_on: false, until: slot + 1 });
        }
        if now.is_on { step.power_kwh } else { 0.0 }
    }
}

/// Energy with which the edge of the band is held in a slot, in kWh.
fn held_kwh(step: &ThermalStep, before_kwh: f64) -> f64 {
    let missing = step.low_kwh - step.after(before_kwh, 0.0);
    if missing <= 0.0 || step.power_kwh <= 0.0 {
        return 0.0;
    }
    (missing / step.stored_per_kwh).min(step.power_kwh)
}

//! Price of a degree-hour above which a plan no longer changes.
//!
//! A plan with the least degree-hours and of those the least cost also has the least `cost + M·D`, if
//! `M` is large enough. The dual bound of that sum is reached if each reduced cost has the sign that
//! the plan wants ([`certificate`](super::certificate)), with `λ = λ^c + M·λ^d`:
//!
//! ```text
//! r_t = p_t − λ_t·η_t                ≤ 0 at full power,  ≥ 0 at none
//! κ_t = λ_t − a_{t+1}·λ_{t+1}        in [0, M·h_t/C] at L_t,  in [−M·h_t/C, 0] at H_t
//! ```
//!
//! Each condition is a lower bound on `M`, and the price is the largest of them.
use crate::plan::heat::dynamic_programme::HeatBuffers;
use crate::plan::heat::slots::{ThermalProgramme, ThermalStep};
use crate::plan::heat::worth::Worth;

/// Rounding of a difference of two values, as a share of both: a hundred times that of one operation.
const DIFFERENCE_ROUNDING: f64 = 1e-14;

/// Least price of a degree-hour, in units of currency per °C·h, at which the plan in `buffers` has
/// the least sum of cost and degree-hours.
pub(crate) fn degree_hour_price(programme: &ThermalProgramme, buffers: &HeatBuffers) -> f64 {
    let mut price = 0.0_f64;
    let mut next = Worth::of(programme.end_value);
    for (index, step) in programme.steps.iter().enumerate().rev() {
        let value = buffers.values[index];
        price = price.max(by_power(step, value, buffers.shares[index]));
        let kept = Worth {
            degree_hours: value.degree_hours - next.degree_hours,
            money: value.money - next.money,
        };
        let edge = step.hours / programme.kwh_per_k;
        let rounding =
            DIFFERENCE_ROUNDING * (value.degree_hours.abs() + next.degree_hours.abs() + edge);
        price = price.max(by_band(step, kept, buffers.levels[index], (edge, rounding)));
        next = value.times(step.decay);
    }
    price
}

/// Least price at which the power of a slot is best, full or none.
fn by_power(step: &ThermalStep, value: Worth, share: f64) -> f64 {
    let reduced = step.price - value.money * step.stored_per_kwh;
    let saved = value.degree_hours * step.stored_per_kwh;
    let is_against = if share >= 1.0 { reduced > 0.0 } else { share <= 0.0 && reduced < 0.0 };
    let price = reduced / saved;
    if is_against && step.power_kwh > 0.0 && price > 0.0 && price.is_finite() { price } else { 0.0 }
}

/// Least price at which the level after a slot is best, where it is an edge of the band. `kept` is
/// `κ_t`, and `edge` the degree-hours per kWh outside the band.
fn by_band(step: &ThermalStep, kept: Worth, level: f64, (edge, rounding): (f64, f64)) -> f64 {
    let (from_low, from_high) = ((level - step.low_kwh).abs(), (level - step.high_kwh).abs());
    // Ends of the interval of `κ_t` as multiples of the price; both edges may be one temperature.
    let least = if from_high <= from_low { -edge } else { 0.0 };
    let most = if from_low <= from_high { edge } else { 0.0 };
    let (below, above) = (kept.degree_hours - least, most - kept.degree_hours);
    if kept.money < 0.0 && below > rounding {
        -kept.money / below
    } else if kept.money > 0.0 && above > rounding {
        kept.money / above
    } else {
        0.0
    }
}

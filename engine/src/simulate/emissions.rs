//! Emissions of energy from the grid: its carbon intensity in kg per kWh, times the energy.
//!
//! The price of emissions is no matter of a simulation: it is within the settled prices
//! ([`PriceCurve::plus_emissions`]) and within the forecasts of them.
use crate::prices::curve::PriceCurve;
use crate::simulate::exact::Milliwatts;

/// Emissions in kg of a power in `[from, to)`. Time without an intensity counts for nothing.
pub(crate) fn emitted(
    intensity: Option<&PriceCurve>,
    power: Milliwatts,
    (from, to): (i64, i64),
) -> f64 {
    let Some(intensity) = intensity else { return 0.0 };
    let horizon = intensity.horizon();
    let slots = horizon.overlapping(from, to);
    let of_slot = |slot: usize| {
        let length = horizon.ends()[slot].min(to) - horizon.starts()[slot].max(from);
        intensity.prices()[slot] * power.over(length).as_kwh()
    };
    slots.map(of_slot).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::curve::tests::curve_of;
    use crate::units::kw;

    #[test]
    fn energy_counts_at_the_intensity_of_its_time() {
        // 0.2 and 0.5 kg per kWh in two hours, and nothing known after them.
        let intensity = curve_of(60, &[20, 50]);
        let start = intensity.horizon().starts()[0];
        let hour = 3_600_000_000;
        let of = |from: i64, to: i64| {
            let power = Milliwatts::from_power(kw(4.0));
            emitted(Some(&intensity), power, (start + from * hour / 2, start + to * hour / 2))
        };
        assert!((of(0, 1) - 0.4).abs() < 1e-12);
        assert!((of(1, 3) - 1.4).abs() < 1e-12);
        assert!((of(3, 9) - 1.0).abs() < 1e-12);
        assert!(of(2, 2).abs() < 1e-12);
        let uncounted = emitted(None, Milliwatts::from_power(kw(4.0)), (start, start + hour));
        assert!(uncounted.abs() < 1e-12);
    }
}

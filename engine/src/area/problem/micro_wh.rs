//! Energy as whole numbers, so that sums over vehicles are exact in any order.

/// One grain is a nanowatt hour times a thousand: 1e-9 kWh.
pub(crate) const MICRO_WH_PER_KWH: f64 = 1e9;

/// Missing energy that is rounding: 1e-6 kWh.
pub(crate) const SHORTFALL_TOLERANCE: i64 = 1_000;

/// Most energy of a whole area, in grains: sums stay far from overflow.
pub(crate) const MICRO_WH_MAX: f64 = 4e18;

/// The nearest whole number of grains.
#[inline(always)]
pub(crate) fn to_micro_wh(energy_kwh: f64) -> i64 {
    (energy_kwh * MICRO_WH_PER_KWH).round() as i64
}

/// Grains in kWh.
#[inline(always)]
pub(crate) fn as_kwh(energy: i64) -> f64 {
    energy as f64 / MICRO_WH_PER_KWH
}

pub(crate) fn share_of_need(energy: i64, need_kwh: f64) -> f64 {
    crate::area::problem::micro_wh::as_kwh(energy) / need_kwh.max(1e-9)
}

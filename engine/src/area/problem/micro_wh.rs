//! Energy in whole µWh (1e-9 kWh), so that sums over vehicles are exact in any order.
use crate::tolerance::DIVISOR_MIN;

/// µWh in a kWh.
pub(crate) const MICRO_WH_PER_KWH: f64 = 1e9;

/// Most energy of all vehicles of an area, in µWh (4e9 kWh): less than half of what an `i64` holds,
/// so that sums do not overflow.
pub(crate) const MICRO_WH_MAX: f64 = 4e18;

/// Nearest whole number of µWh.
#[inline(always)]
pub(crate) fn to_micro_wh(energy_kwh: f64) -> i64 {
    (energy_kwh * MICRO_WH_PER_KWH).round() as i64
}

/// Energy in kWh, from µWh.
#[inline(always)]
pub(crate) fn as_kwh(energy: i64) -> f64 {
    energy as f64 / MICRO_WH_PER_KWH
}

/// Energy in µWh as a part of a need in kWh; the need counts as at least [`DIVISOR_MIN`] kWh.
pub(crate) fn share_of_need(energy: i64, need_kwh: f64) -> f64 {
    as_kwh(energy) / need_kwh.max(DIVISOR_MIN)
}

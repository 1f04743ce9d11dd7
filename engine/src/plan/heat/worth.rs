//! Value of stored energy in degree-hours and money, and the limits of its unit.
use crate::tolerance::SUM_ROUNDING;

/// Least unit of energy, `s_t`. Below it the unit is reset, so that no length overflows.
pub(crate) const UNIT_MIN: f64 = 1e-90;

/// Least length of a segment in its unit: of shorter ones nothing remains.
pub(crate) const LENGTH_MIN: f64 = 1e-180;

/// Value of a stored kWh: first the degree-hours outside the band that it saves, then money.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub(crate) struct Worth {
    pub(crate) degree_hours: f64,
    pub(crate) money: f64,
}

impl Worth {
    /// Value of money alone.
    pub(crate) const fn of(money: f64) -> Self {
        Self { degree_hours: 0.0, money }
    }

    pub(crate) fn times(self, factor: f64) -> Self {
        Self { degree_hours: self.degree_hours * factor, money: self.money * factor }
    }

    pub(crate) fn plus_degree_hours(self, degree_hours: f64) -> Self {
        Self { degree_hours: self.degree_hours + degree_hours, ..self }
    }

    /// This value with the degree-hours of another one, if both differ by rounding only. `size` is
    /// the size of the degree-hours that were added up.
    pub(crate) fn snapped_to(self, other: Self, size: f64) -> Self {
        let is_near = (self.degree_hours - other.degree_hours).abs() <= SUM_ROUNDING * size;
        if is_near { Self { degree_hours: other.degree_hours, ..self } } else { self }
    }
}

/// Part of a segment, as a share.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if part > 0.0 { part / whole } else { 0.0 }
}

//! Request that shares a power limit with others, and the shared power limit.
use crate::area::problem::limits::Profile;
use crate::plan::charge::request::ChargeProblem;
use crate::shared_supply::wrap_around::mean_kw;
use crate::units::Power;

/// Request of one vehicle or device within a shared power limit.
#[derive(Debug, Clone, Copy)]
pub struct SharedWish<'a> {
    /// Charging problem.
    pub problem: &'a ChargeProblem,
    /// Position of its price curve.
    pub curve: usize,
    /// Power that it takes while it is on. It may differ from that of the request: one in hours
    /// states 1 kW.
    pub power: Power,
    /// True if it is on now, or has been told to start.
    pub is_on: bool,
}

/// Shared power limit and its headroom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedPower {
    /// Highest power of all requests together at any time.
    pub power_max: Power,
    /// Part of it that is kept back after the current slot, and half as much in that slot, because
    /// vehicles start late, arrive and leave.
    pub headroom: f64,
}

impl SharedPower {
    /// Power limit with a headroom of a tenth.
    #[must_use]
    pub const fn with_headroom(power_max: Power) -> Self {
        Self { power_max, headroom: 0.1 }
    }

    /// Power limit without headroom.
    #[must_use]
    pub const fn whole(power_max: Power) -> Self {
        Self { power_max, headroom: 0.0 }
    }

    /// Limit on the mean power of each slot for vehicles of the given powers, by [`mean_kw`].
    pub(crate) fn profile(self, powers_kw: &[f64], slots: usize) -> Profile {
        let kept_back = |part| mean_kw(powers_kw.iter().copied(), self.power_max.as_kw(), part);
        let (now, later) = (kept_back(self.headroom / 2.0), kept_back(self.headroom));
        let power = |slot| Power::from_kw(if slot == 0 { now } else { later }).ok();
        Profile::PerSlot((0..slots).map(power).collect())
    }
}

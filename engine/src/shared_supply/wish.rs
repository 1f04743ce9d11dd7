//! One request of those that share a power, and that power.
use crate::area::problem::limits::Profile;
use crate::plan::charge::request::ChargeProblem;
use crate::shared_supply::wrap_around::mean_kw;
use crate::units::Power;

/// A request among others.
#[derive(Debug, Clone, Copy)]
pub struct SharedWish<'a> {
    /// What is asked.
    pub problem: &'a ChargeProblem,
    /// Position of its prices.
    pub curve: usize,
    /// Power that it takes while it is on, if that is not what it says of
    /// itself: a request in hours speaks of 1 kW.
    pub power: Power,
    /// Whether it takes it now, or was told to.
    pub is_on: bool,
}

/// Power that vehicles share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedPower {
    /// What they take at most at any time.
    pub power_max: Power,
    /// Part of it that is kept back after the slot under way, for what comes in
    /// between: vehicles obey late, come, and leave. Half as much in that slot.
    pub headroom: f64,
}

impl SharedPower {
    /// With a tenth that is kept back.
    #[must_use]
    pub const fn with_headroom(power_max: Power) -> Self {
        Self { power_max, headroom: 0.1 }
    }

    /// All of it, at any time.
    #[must_use]
    pub const fn whole(power_max: Power) -> Self {
        Self { power_max, headroom: 0.0 }
    }

    /// What slots hold in the mean, by vehicles with these powers.
    pub(crate) fn profile(self, powers_kw: &[f64], slots: usize) -> Profile {
        let kept_back = |part| mean_kw(powers_kw.iter().copied(), self.power_max.as_kw(), part);
        let (now, later) = (kept_back(self.headroom / 2.0), kept_back(self.headroom));
        let power = |slot| Power::from_kw(if slot == 0 { now } else { later }).ok();
        Profile::PerSlot((0..slots).map(power).collect())
    }
}

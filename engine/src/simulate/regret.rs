//! Regret: realised cost less the hindsight optimum, split into parts that add up.
//!
//! The same simulation is run again under conditions that are relaxed one after the other, until
//! nothing separates it from the hindsight optimum:
//!
//! | Run | Relaxed | Part: cost of the run before, less that of this run |
//! |---|---|---|
//! | `R_0` | nothing: the realised cost | |
//! | `R_1` | every settled price is known from the start | `forecast` |
//! | `R_2` | and the horizon has no end | `horizon` |
//! | `R_3` | and starts are free, and plans need not stay close | `switching` |
//! | `R_4` | and there is no least power | `power_min` |
//! | `R_5` | and any power up to the highest is possible | `power_step` |
//! | `R_6` | and charging has no losses | `efficiency` |
//! | `H` | the hindsight optimum itself | `policy` |
//!
//! Each cost is rounded once to 1e-12 of the currency, and the parts are differences of
//! neighbours, so `Σ parts = R_0 − H` holds in whole numbers, whatever the policy does. A part can
//! be negative: a wrong forecast may be lucky. The order is part of the definition: another order
//! would share the same sum in another way. `policy` is what remains for a policy that does not
//! plan; for [`Replanner`](crate::simulate::Replanner) it is zero, because the rest of a cheapest
//! plan is the cheapest plan of the rest.
use crate::simulate::device::ChargeDevice;
use crate::simulate::exact::ExactEnergy;
use crate::simulate::facts::Stay;
use crate::statistics::fixed::Amount;
use crate::units::{Energy, Money, Power};

/// Number of relaxations, one after the other.
pub(crate) const RUNGS: usize = 6;

/// Conditions of a simulation that are relaxed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one independent switch per condition")]
pub(crate) struct Relaxation {
    /// Every settled price is known.
    pub(crate) foresight: bool,
    /// The horizon has no end.
    pub(crate) horizon: bool,
    /// Starts are free, and plans need not stay close.
    pub(crate) switching: bool,
    /// There is no least power.
    pub(crate) power_min: bool,
    /// Any power is possible.
    pub(crate) power_step: bool,
    /// Charging has no losses.
    pub(crate) efficiency: bool,
}

impl Relaxation {
    /// The first `count` conditions relaxed.
    pub(crate) fn first(count: usize) -> Self {
        Self {
            foresight: count >= 1,
            horizon: count >= 2,
            switching: count >= 3,
            power_min: count >= 4,
            power_step: count >= 5,
            efficiency: count >= RUNGS,
        }
    }

    /// Device of a stay under these conditions, and the energy at the plug that it needs.
    pub(crate) fn device(self, stay: &Stay) -> (ChargeDevice, ExactEnergy) {
        let (mut device, mut need) = (stay.device, stay.need);
        if self.switching {
            device.start_cost = Money::ZERO;
        }
        if self.power_min {
            device.power_min = Power::ZERO;
        }
        if self.power_step {
            device.power_step = Power::ZERO;
        }
        if self.efficiency {
            // The need at the plug holds the losses.
            let stored = need.as_kwh() * device.efficiency;
            need = Energy::from_kwh(stored).unwrap_or(need);
            device.efficiency = 1.0;
        }
        (device, ExactEnergy::from_energy(need))
    }
}

/// Parts of the regret of a stay, or of many; their sum is the regret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RegretParts {
    /// Prices that were not known, or known wrongly.
    pub forecast: Amount,
    /// Known prices beyond the horizon of planning.
    pub horizon: Amount,
    /// Starts, and plans that stayed close to earlier ones.
    pub switching: Amount,
    /// Least power of the device.
    pub power_min: Amount,
    /// Steps of its powers.
    pub power_step: Amount,
    /// Its losses.
    pub efficiency: Amount,
    /// Decisions of the policy that are not the cheapest, although all is known and possible.
    pub policy: Amount,
}

impl RegretParts {
    /// Names of the parts, in the order of [`RegretParts::amounts`].
    pub const NAMES: [&str; RUNGS + 1] =
        ["forecast", "horizon", "switching", "power_min", "power_step", "efficiency", "policy"];

    /// Parts from the costs of the runs and the hindsight optimum.
    pub(crate) fn new(runs: [Amount; RUNGS + 1], hindsight: Amount) -> Self {
        let part = |run: usize| runs[run] - runs[run + 1];
        Self {
            forecast: part(0),
            horizon: part(1),
            switching: part(2),
            power_min: part(3),
            power_step: part(4),
            efficiency: part(5),
            policy: runs[RUNGS] - hindsight,
        }
    }

    /// All parts, in the order of [`RegretParts::NAMES`].
    #[must_use]
    pub fn amounts(&self) -> [Amount; RUNGS + 1] {
        let Self { forecast, horizon, switching, power_min, power_step, efficiency, policy } =
            *self;
        [forecast, horizon, switching, power_min, power_step, efficiency, policy]
    }

    /// Sum of the parts.
    #[must_use]
    pub fn total(&self) -> Amount {
        self.amounts().into_iter().sum()
    }
}

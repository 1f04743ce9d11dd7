//! Request of a vehicle that only charges, and its checks.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::time::horizon::{Horizon, HorizonError};
use crate::time::instant::micros_of;
use crate::units::{Energy, Power};

/// Energy wanted by a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The deadline; `None` is the end of the known prices.
    pub by: Option<DateTime<Utc>>,
    /// Energy at the plug, counted from the start of the plan. Targets are
    /// levels, not portions: 10 kWh by six and 30 kWh by nine is 30 kWh in all.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
}

/// Power limit of a period.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerLimit {
    /// First instant of the period.
    pub start: DateTime<Utc>,
    /// First instant after the period.
    pub end: DateTime<Utc>,
    /// Highest power in the period. Zero forbids charging.
    #[serde(rename = "power_max_kw")]
    pub power_max: Power,
}

/// Rule for a deadline that passes before its target is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum AfterDeadline {
    /// Charging continues without pause until the target is reached.
    #[default]
    #[serde(rename = "continue")]
    Continue,
    /// Charging for that target ends at its deadline.
    #[serde(rename = "stop")]
    Stop,
}

/// Targets and limits of one vehicle in kWh and kW, not checked yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargeRequest {
    /// First instant that a plan may use: the plug-in time, or the present.
    pub now: DateTime<Utc>,
    /// Departure; no plan goes beyond it. `None` if it is not known.
    pub until: Option<DateTime<Utc>>,
    /// Highest power at any time.
    #[serde(rename = "power_max_kw")]
    pub power_max: Power,
    /// Periods with a lower limit, in any order; elsewhere `power_max` holds.
    pub power_limits: Vec<PowerLimit>,
    /// Energy wanted by deadlines, in any order.
    pub targets: Vec<Target>,
    /// Energy bought at once, at any price.
    #[serde(rename = "reserve_kwh")]
    pub reserve: Energy,
    /// Most energy the vehicle can take. Energy beyond the targets is bought
    /// only where the price is negative. `None` buys what the targets want.
    #[serde(rename = "energy_max_kwh")]
    pub energy_max: Option<Energy>,
    /// Energy at which the vehicle stops charging by itself. It bounds `reserve`
    /// and `energy_max`; energy that targets want above it is a shortfall. `None`
    /// is a vehicle that takes any energy.
    #[serde(rename = "charge_limit_kwh", default, skip_serializing_if = "Option::is_none")]
    pub charge_limit: Option<Energy>,
    /// Rule for a deadline that is missed.
    pub after_deadline: AfterDeadline,
}

impl Target {
    /// The deadline in microseconds since 1970; `i64::MAX` if it is the end of
    /// the known prices.
    pub(crate) fn by_micros(&self) -> i64 {
        self.by.map_or(i64::MAX, micros_of)
    }
}

impl ChargeRequest {
    /// Position of the deciding target: the earliest, if no other wants more energy.
    ///
    /// Targets are levels that only rise, so a plan that meets this one meets all.
    /// An example is a vehicle that has the same target every morning.
    pub(crate) fn deciding(&self) -> Option<usize> {
        let first = self.targets.iter().map(Target::by_micros).min()?;
        let most = self.targets.iter().fold(Energy::ZERO, |most, t| most.max(self.within_limit(t)));
        let decides = |t: &Target| t.by_micros() == first && self.within_limit(t) >= most;
        self.targets.iter().position(decides)
    }

    /// Energy of a target, up to the charge limit.
    pub(crate) fn within_limit(&self, target: &Target) -> Energy {
        self.charge_limit.map_or(target.energy, |limit| target.energy.min(limit))
    }

    /// Highest energy of any target above the charge limit; zero if there is none.
    pub(crate) fn above_limit(&self) -> Energy {
        let above = self.targets.iter().map(|target| target.energy - self.within_limit(target));
        above.fold(Energy::ZERO, Energy::max)
    }

    /// The last deadline in microseconds since 1970; `None` without targets.
    pub(crate) fn last_by(&self) -> Option<i64> {
        self.targets.iter().map(Target::by_micros).max()
    }

    /// A request with one target, no reserve and no limits but `power_max`.
    #[must_use]
    pub fn new(now: DateTime<Utc>, power_max: Power, target: Target) -> Self {
        Self {
            now,
            until: None,
            power_max,
            power_limits: Vec::new(),
            targets: vec![target],
            reserve: Energy::ZERO,
            energy_max: None,
            charge_limit: None,
            after_deadline: AfterDeadline::Continue,
        }
    }
}

/// Reason why a request is invalid. A target that cannot be met is not an error.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChargeRequestError {
    /// A power below zero.
    #[error("power_max_kw is {} kW; a vehicle that only charges needs 0 kW or more", power.as_kw())]
    NegativePower {
        /// The power as given.
        power: Power,
    },
    /// A power limit below zero.
    #[error("power_limits[{index}] is {} kW; a limit is 0 kW or more", power.as_kw())]
    NegativeLimit {
        /// Position in the input.
        index: usize,
        /// The power as given.
        power: Power,
    },
    /// The periods of the power limits overlap or have no length.
    #[error("power_limits: {0}")]
    LimitPeriods(#[from] HorizonError),
    /// A target below zero.
    #[error("targets[{index}].energy_kwh is {} kWh; a target is 0 kWh or more", energy.as_kwh())]
    NegativeTarget {
        /// Position in the input.
        index: usize,
        /// The energy as given.
        energy: Energy,
    },
    /// A reserve below zero.
    #[error("reserve_kwh is {} kWh; a reserve is 0 kWh or more", energy.as_kwh())]
    NegativeReserve {
        /// The energy as given.
        energy: Energy,
    },
    /// A charge limit below zero.
    #[error("charge_limit_kwh is {} kWh; a charge limit is 0 kWh or more", energy.as_kwh())]
    NegativeChargeLimit {
        /// The energy as given.
        energy: Energy,
    },
    /// The bound on the energy is below the highest target or the reserve.
    #[error(
        "energy_max_kwh is {} kWh, less than the {} kWh of targets and reserve",
        energy_max.as_kwh(), wanted.as_kwh()
    )]
    MaxBelowTargets {
        /// The bound as given.
        energy_max: Energy,
        /// The highest target or the reserve.
        wanted: Energy,
    },
}

/// A checked request. Planning it cannot fail.
#[derive(Debug, Clone, PartialEq)]
pub struct ChargeProblem {
    request: ChargeRequest,
    limits: Horizon,
}

impl ChargeProblem {
    /// Checks a request, sorts its power limits and caps reserve and `energy_max` at the charge
    /// limit.
    ///
    /// # Errors
    /// A power, an energy or a limit is negative; limits overlap; the bound on the
    /// energy is below the highest target or the reserve.
    pub fn new(request: ChargeRequest) -> Result<Self, ChargeRequestError> {
        if request.power_max < Power::ZERO {
            return Err(ChargeRequestError::NegativePower { power: request.power_max });
        }
        if request.reserve < Energy::ZERO {
            return Err(ChargeRequestError::NegativeReserve { energy: request.reserve });
        }
        if let Some(energy) = request.charge_limit.filter(|limit| *limit < Energy::ZERO) {
            return Err(ChargeRequestError::NegativeChargeLimit { energy });
        }
        for (index, target) in request.targets.iter().enumerate() {
            if target.energy < Energy::ZERO {
                return Err(ChargeRequestError::NegativeTarget { index, energy: target.energy });
            }
        }
        for (index, limit) in request.power_limits.iter().enumerate() {
            if limit.power_max < Power::ZERO {
                return Err(ChargeRequestError::NegativeLimit { index, power: limit.power_max });
            }
        }
        // Limits may come in any order; a horizon has them in time order.
        let mut request = request;
        request.power_limits.sort_by_key(|limit| limit.start);
        // The vehicle stops at its charge limit, so nothing beyond it can be bought.
        if let Some(limit) = request.charge_limit {
            request.reserve = request.reserve.min(limit);
            request.energy_max = request.energy_max.map(|most| most.min(limit));
        }
        let limits = Horizon::new(request.power_limits.iter().map(|l| (l.start, l.end)))?;
        let problem = Self { request, limits };
        let wanted = problem.wanted();
        match problem.request.energy_max {
            Some(energy_max) if energy_max < wanted => {
                Err(ChargeRequestError::MaxBelowTargets { energy_max, wanted })
            }
            _ => Ok(problem),
        }
    }

    /// The checked request.
    #[must_use]
    pub fn request(&self) -> &ChargeRequest {
        &self.request
    }

    /// Highest energy among targets and reserve, up to the charge limit.
    #[must_use]
    pub fn wanted(&self) -> Energy {
        let ChargeRequest { targets, reserve, .. } = &self.request;
        targets.iter().fold(*reserve, |most, t| most.max(self.request.within_limit(t)))
    }

    /// Periods of the power limits.
    pub(crate) fn limits(&self) -> &Horizon {
        &self.limits
    }

    /// First usable microsecond.
    pub(crate) fn from(&self) -> i64 {
        micros_of(self.request.now)
    }

    /// First microsecond that is no longer usable.
    pub(crate) fn to(&self) -> i64 {
        self.request.until.map_or(i64::MAX, micros_of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{kw, kwh};

    fn request() -> ChargeRequest {
        let now = "2026-01-05T18:00:00Z".parse().unwrap();
        ChargeRequest::new(now, kw(11.0), Target { by: None, energy: kwh(30.0) })
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut ChargeRequest), expected: &str) {
        let mut request = request();
        change(&mut request);
        assert_eq!(ChargeProblem::new(request).unwrap_err().to_string(), expected);
    }

    #[test]
    fn errors_name_field_value_and_unit() {
        check(
            |r| r.power_max = kw(-1.0),
            "power_max_kw is -1 kW; a vehicle that only charges needs 0 kW or more",
        );
        check(
            |r| r.targets[0].energy = kwh(-2.5),
            "targets[0].energy_kwh is -2.5 kWh; a target is 0 kWh or more",
        );
        check(|r| r.reserve = kwh(-1.0), "reserve_kwh is -1 kWh; a reserve is 0 kWh or more");
        check(
            |r| r.charge_limit = Some(kwh(-42.75)),
            "charge_limit_kwh is -42.75 kWh; a charge limit is 0 kWh or more",
        );
        check(
            |r| r.energy_max = Some(kwh(20.0)),
            "energy_max_kwh is 20 kWh, less than the 30 kWh of targets and reserve",
        );
        check(
            |r| {
                let limit = PowerLimit { start: r.now, end: r.now, power_max: kw(1.0) };
                r.power_limits.push(limit);
            },
            "power_limits: slot 0 ends at 2026-01-05 18:00:00 UTC, \
             not after its start at 2026-01-05 18:00:00 UTC",
        );
    }

    #[test]
    fn a_request_survives_its_json() {
        let text = serde_json::to_string(&request()).unwrap();
        assert!(text.contains(r#""power_max_kw":11.0"#), "{text}");
        assert_eq!(serde_json::from_str::<ChargeRequest>(&text).unwrap(), request());
    }
}

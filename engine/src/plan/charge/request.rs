//! What a vehicle that only charges is asked to do.
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

/// A period with a power limit of its own.
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

/// What happens when a deadline passes before its target is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum AfterDeadline {
    /// Charging goes on without pause until the target is reached.
    #[default]
    #[serde(rename = "continue")]
    Continue,
    /// Charging for that target ends at its deadline.
    #[serde(rename = "stop")]
    Stop,
}

/// The wishes and limits of one vehicle, as a caller states them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargeRequest {
    /// Plug-in time, or the present; the first instant a plan may use.
    pub now: DateTime<Utc>,
    /// When the vehicle leaves, if that is known; no plan goes beyond it.
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
    /// Most energy the vehicle can take. Beyond the targets it is bought
    /// only where the price is negative. `None` buys what the targets want.
    #[serde(rename = "energy_max_kwh")]
    pub energy_max: Option<Energy>,
    /// Energy at which the vehicle stops charging by itself: it bounds `reserve`
    /// and `energy_max`, and what targets want above it is missed. `None` is
    /// a vehicle that takes any energy.
    #[serde(rename = "charge_limit_kwh", default, skip_serializing_if = "Option::is_none")]
    pub charge_limit: Option<Energy>,
    /// What a missed deadline means.
    pub after_deadline: AfterDeadline,
}

impl Target {
    /// The deadline in microseconds since 1970; the last instant there is where
    /// it is the end of the known prices.
    pub(crate) fn by_micros(&self) -> i64 {
        self.by.map_or(i64::MAX, micros_of)
    }
}

impl ChargeRequest {
    /// Position of the target that decides alone: the earliest, if none wants more.
    ///
    /// Levels that are reached stay reached, so that whoever meets this one meets
    /// all. A vehicle that is to be ready every morning asks for nothing else.
    pub(crate) fn deciding(&self) -> Option<usize> {
        let first = self.targets.iter().map(Target::by_micros).min()?;
        let most = self.targets.iter().fold(Energy::ZERO, |most, t| most.max(self.within_limit(t)));
        let decides = |t: &Target| t.by_micros() == first && self.within_limit(t) >= most;
        self.targets.iter().position(decides)
    }

    /// Energy of a target up to the charge limit.
    pub(crate) fn within_limit(&self, target: &Target) -> Energy {
        self.charge_limit.map_or(target.energy, |limit| target.energy.min(limit))
    }

    /// Most energy that a target wants above the charge limit.
    pub(crate) fn above_limit(&self) -> Energy {
        let above = self.targets.iter().map(|target| target.energy - self.within_limit(target));
        above.fold(Energy::ZERO, Energy::max)
    }

    /// The last deadline in microseconds since 1970, if there is any target.
    pub(crate) fn last_by(&self) -> Option<i64> {
        self.targets.iter().map(Target::by_micros).max()
    }

    /// A request for one target and nothing else.
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

/// Why a request makes no sense. An unmet wish is not among the reasons.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
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
    /// The vehicle cannot take what the targets want.
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

/// A request that makes sense. Planning it cannot fail.
#[derive(Debug, Clone, PartialEq)]
pub struct ChargeProblem {
    request: ChargeRequest,
    limits: Horizon,
}

impl ChargeProblem {
    /// Checks a request.
    ///
    /// # Errors
    /// A negative power, energy or limit; limits that overlap; a bound on the
    /// energy below the highest target.
    pub fn new(request: ChargeRequest) -> Result<Self, ChargeRequestError> {
        if request.power_max < Power::ZERO {
            return Err(ChargeRequestError::NegativePower { power: request.power_max });
        }
        if request.reserve < Energy::ZERO {
            return Err(ChargeRequestError::NegativeReserve { energy: request.reserve });
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
        let mut request = request;
        request.power_limits.sort_by_key(|limit| limit.start);
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

    /// The request as it was checked.
    #[must_use]
    pub fn request(&self) -> &ChargeRequest {
        &self.request
    }

    /// Energy that targets and reserve want together: the highest of them, up to
    /// the charge limit.
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

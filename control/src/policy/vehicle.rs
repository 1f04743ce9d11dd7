//! Smart charging of a vehicle: a floor at once, the charge limit by a deadline.
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use slackwater_engine::plan::charge::AfterDeadline;
use slackwater_engine::plan::charge::{Battery, SocTarget, VehicleRequest};
use slackwater_engine::time::deadline::next_deadline;
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_engine::units::{Percent, Power, UnitError};

/// Request for a smart charging policy of a vehicle, not yet checked.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VehiclePolicyRequest {
    /// True if smart charging controls the vehicle.
    pub is_enabled: bool,
    /// Time at which the vehicle must be ready; `None` is no deadline, so that a plan may use all
    /// known prices.
    pub deadline: Option<HourMinute>,
    /// State of charge reached at once, at any price.
    pub minimum_charge_limit_percent: f64,
}

/// Value of a smart charging policy that is out of range.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum VehiclePolicyError {
    /// The floor is no percentage.
    #[error("minimum_charge_limit_percent: {0}")]
    NotPercent(#[from] UnitError),
    /// The floor is above the limit at which the vehicle stops itself.
    #[error(
        "minimum_charge_limit_percent is {} %, above the charge limit of {} %",
        minimum.as_percent(), charge_limit.as_percent()
    )]
    AboveChargeLimit {
        /// The floor as given.
        minimum: Percent,
        /// The charge limit of the vehicle.
        charge_limit: Percent,
    },
}

/// A smart charging policy that makes sense for its vehicle.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct VehiclePolicy {
    is_enabled: bool,
    deadline: Option<HourMinute>,
    minimum: Percent,
}

impl VehiclePolicy {
    /// Checks a policy against the charge limit of its vehicle, `None` being 100 %.
    ///
    /// # Errors
    /// The floor is no percentage, or above the charge limit.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_control::policy::vehicle::{VehiclePolicy, VehiclePolicyRequest};
    /// use slackwater_engine::units::percent;
    /// let floor = VehiclePolicyRequest { minimum_charge_limit_percent: 85.0, ..Default::default() };
    /// assert!(VehiclePolicy::new(floor, None).is_ok());
    /// let error = VehiclePolicy::new(floor, Some(percent(80.0))).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "minimum_charge_limit_percent is 85 %, above the charge limit of 80 %"
    /// );
    /// ```
    pub fn new(
        request: VehiclePolicyRequest,
        charge_limit: Option<Percent>,
    ) -> Result<Self, VehiclePolicyError> {
        let VehiclePolicyRequest { is_enabled, deadline, minimum_charge_limit_percent } = request;
        let minimum = Percent::from_percent(minimum_charge_limit_percent)?;
        let charge_limit = charge_limit.unwrap_or(Percent::FULL);
        if minimum > charge_limit {
            return Err(VehiclePolicyError::AboveChargeLimit { minimum, charge_limit });
        }
        Ok(Self { is_enabled, deadline, minimum })
    }

    /// Returns true if smart charging controls the vehicle.
    #[must_use]
    pub const fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// State of charge reached at once, at any price.
    #[must_use]
    pub const fn minimum(&self) -> Percent {
        self.minimum
    }

    /// Next time at which the vehicle must be ready, if there is one.
    ///
    /// Compute it once, at plug-in. After a missed deadline the result is the next day, and a
    /// plan would wait again.
    #[must_use]
    pub fn next_deadline(&self, time_zone: Tz, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.deadline.map(|deadline| next_deadline(deadline.time(), time_zone, now))
    }

    /// Converts the policy into a request for a plan: the floor at once, the charge limit by
    /// `by`. A policy that is off requests no energy.
    #[must_use]
    pub fn request(
        &self,
        now: DateTime<Utc>,
        by: Option<DateTime<Utc>>,
        power_max: Power,
        battery: Battery,
    ) -> VehicleRequest {
        // A target without a number is the charge limit.
        let limit = SocTarget { by, soc: None };
        VehicleRequest {
            now,
            until: None,
            power_max,
            power_limits: Vec::new(),
            battery,
            targets: self.is_enabled.then_some(limit).into_iter().collect(),
            reserve: if self.is_enabled { self.minimum } else { Percent::ZERO },
            fill_when_negative: false,
            after_deadline: AfterDeadline::Continue,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::flex::tests::curve_of;
    use slackwater_engine::plan::charge::ChargeProblem;
    use slackwater_engine::plan::charge::Plan;
    use slackwater_engine::plan::charge::plan_charge;
    use slackwater_engine::units::{Energy, kw, kwh, money, percent};

    fn policy(is_enabled: bool, minimum: f64) -> VehiclePolicy {
        let request = VehiclePolicyRequest {
            is_enabled,
            deadline: Some(HourMinute::parse("07:00").unwrap()),
            minimum_charge_limit_percent: minimum,
        };
        VehiclePolicy::new(request, Some(percent(80.0))).unwrap()
    }

    /// Four hours at 30, 20, 10 and 40 cents; 10 kW into 50 kWh.
    fn plan(policy: VehiclePolicy, soc: f64) -> Plan {
        let battery = Battery {
            capacity: kwh(50.0),
            soc: Some(percent(soc)),
            soc_fallback: None,
            charge_limit: percent(80.0),
            efficiency: 1.0,
        };
        let now = "2026-01-05T18:00:00Z".parse().unwrap();
        let request = policy.request(now, None, kw(10.0), battery).in_energy().unwrap();
        plan_charge(&curve_of(60, &[30, 20, 10, 40]), &ChargeProblem::new(request).unwrap())
    }

    #[test]
    fn the_floor_is_at_most_the_charge_limit() {
        let mut request =
            VehiclePolicyRequest { minimum_charge_limit_percent: 80.0, ..Default::default() };
        assert!(VehiclePolicy::new(request, Some(percent(80.0))).is_ok());
        request.minimum_charge_limit_percent = 80.1;
        assert!(VehiclePolicy::new(request, Some(percent(80.0))).is_err());
        for wrong in [-1.0, 100.5, f64::NAN] {
            request.minimum_charge_limit_percent = wrong;
            let error = VehiclePolicy::new(request, None).unwrap_err();
            assert!(matches!(error, VehiclePolicyError::NotPercent(_)));
        }
        let default = VehiclePolicy::new(VehiclePolicyRequest::default(), Some(Percent::ZERO));
        assert_eq!(default, Ok(VehiclePolicy::default()));
    }

    #[test]
    fn the_deadline_is_read_in_the_zone_of_the_location() {
        let now = "2026-01-15T20:00:00Z".parse().unwrap();
        let next = |zone: Tz| policy(true, 0.0).next_deadline(zone, now).map(|at| at.to_rfc3339());
        assert_eq!(next(chrono_tz::Europe::Oslo).as_deref(), Some("2026-01-16T06:00:00+00:00"));
        assert_eq!(next(Tz::UTC).as_deref(), Some("2026-01-16T07:00:00+00:00"));
        let never = VehiclePolicy::default();
        assert_eq!(never.next_deadline(Tz::UTC, now), None);
    }

    #[test]
    fn the_floor_at_once_the_rest_where_it_is_cheap() {
        // 10 kWh at once at 0.30, then 10 kWh at 0.10 and 10 at 0.20.
        let plan = plan(policy(true, 40.0), 20.0);
        assert!((plan.cost - money(6.0)).as_amount().abs() < 1e-9);
        assert_eq!(plan.energy, kwh(30.0));
    }

    #[test]
    fn a_policy_that_is_off_asks_for_nothing() {
        assert_eq!(plan(policy(false, 40.0), 20.0).energy, Energy::ZERO);
    }
}

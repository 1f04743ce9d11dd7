//! State of one connector.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use slackwater_engine::units::{Energy, Power};

use crate::assumption::Assumption;
use crate::facts::{Quantity, Sample, Samples, Status};
use crate::station::identification::Identification;
use crate::station::limit_state::Limits;
use crate::station::register::Register;
use crate::station::transactions::Transactions;

/// Earliest time that a clock can rightly show: no charge point is older that speaks 1.6-J.
const CLOCK_MIN: &str = "2015-01-01T00:00:00Z";

/// Most that a clock may be ahead of ours, in minutes.
const AHEAD_MAX_MINUTES: i64 = 5;

/// Age up to which a power is that of now.
const FRESH_MAX: TimeDelta = TimeDelta::minutes(5);

/// State of a connector.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectorState {
    /// State of plug and charging.
    pub status: Option<Status>,
    /// Power that the vehicle takes; negative where it gives.
    #[serde(rename = "power_kw")]
    pub power: Option<Power>,
    /// Time at which a power came that was measured just before.
    #[serde(skip)]
    pub power_at: Option<DateTime<Utc>>,
    /// Register of the energy taken.
    pub imported: Register,
    /// Register of the energy given.
    pub exported: Register,
    /// Transactions.
    pub transactions: Transactions,
    /// Limits.
    pub limits: Limits,
    /// Identifiers of the vehicle that is plugged in.
    #[serde(default, skip_serializing_if = "Identification::is_empty")]
    pub identification: Identification,
}

/// Result of measured values.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Last register of the energy taken in the message, which may be older than the last known.
    pub imported: Option<Energy>,
    /// Everything that was assumed.
    pub assumed: Vec<Assumption>,
}

/// Time of a message, and what had to be assumed about it.
#[must_use]
pub fn time_of(
    given: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> (DateTime<Utc>, Option<Assumption>) {
    let Some(at) = given else { return (now, Some(Assumption::TimeMissing)) };
    let is_ahead = (at - now).num_minutes() >= AHEAD_MAX_MINUTES;
    if !was_set(at) || is_ahead { (now, Some(Assumption::ClockWrong)) } else { (at.min(now), None) }
}

/// Returns true if a time is that of a clock which was set at some time.
#[must_use]
pub fn was_set(at: DateTime<Utc>) -> bool {
    CLOCK_MIN.parse::<DateTime<Utc>>().is_ok_and(|earliest| earliest <= at)
}

impl ConnectorState {
    /// Takes over a state. Without a flow there is no power.
    pub fn set_status(&mut self, status: Status) {
        // An occupied connector may charge: the transaction tells more.
        let is_vaguer = status == Status::Occupied
            && self.status.is_some_and(|known| known.is_plugged_in() == Some(true));
        if !is_vaguer {
            self.status = Some(status);
        }
        if self.status != Some(Status::Charging) {
            self.power = None;
        }
        // A pause is one of the vehicle. Until it has left, also its next transaction has to wait.
        if self.status.and_then(Status::is_plugged_in) == Some(false) {
            self.limits.is_paused = false;
            self.identification = Identification::default();
        }
    }

    /// Takes over measured values.
    pub fn measure(&mut self, samples: &Samples, now: DateTime<Utc>) -> Measured {
        let mut assumed = vec![Assumption::SampleUnreadable; samples.unreadable];
        let mut imported = None;
        if let Some((at, power)) = net_power(&samples.values, now) {
            self.take_power(at, power, now);
        }
        for sample in &samples.values {
            let (at, wrong) = time_of(sample.at, now);
            assumed.extend(wrong);
            match sample.quantity {
                Quantity::Imported => {
                    imported = count(&mut self.imported, sample, at, self.power, &mut assumed);
                }
                Quantity::Exported => {
                    let power = self.power.map(|power| -power);
                    count(&mut self.exported, sample, at, power, &mut assumed);
                }
                _ => {}
            }
        }
        Measured { imported, assumed }
    }

    /// Takes over a power. One that was kept without a connection is not that of now, unless nothing
    /// newer is known, and the state does not speak against it.
    fn take_power(&mut self, at: DateTime<Utc>, power: Power, now: DateTime<Utc>) {
        let is_late = now - at > FRESH_MAX;
        let flows = matches!(self.status, None | Some(Status::Charging | Status::Occupied));
        let is_newer_known = self.power_at.is_some_and(|newer| now - newer <= FRESH_MAX);
        if is_late && (!flows || is_newer_known) {
            return;
        }
        self.power = Some(power);
        if !is_late {
            self.power_at = Some(now);
        }
    }

    /// Last register of the energy taken.
    #[must_use]
    pub fn register(&self) -> Option<Energy> {
        self.imported.last().map(|(_, energy)| energy)
    }
}

/// Adds a register to the counts and returns it.
fn count(
    register: &mut Register,
    sample: &Sample,
    at: DateTime<Utc>,
    power: Option<Power>,
    assumed: &mut Vec<Assumption>,
) -> Option<Energy> {
    let is_in_kwh = !sample.has_unit && register.is_in_kwh(at, sample.value, power);
    if is_in_kwh {
        assumed.push(Assumption::KilowattHours);
    }
    let energy = Energy::from_kwh(if is_in_kwh { sample.value } else { sample.value / 1e3 });
    let Some(energy) = energy.ok().filter(|&energy| energy >= Energy::ZERO) else {
        assumed.push(Assumption::SampleUnreadable);
        return None;
    };
    assumed.extend(register.add(at, energy));
    Some(energy)
}

/// Time and power of the latest values: taken less given.
fn net_power(values: &[Sample], now: DateTime<Utc>) -> Option<(DateTime<Utc>, Power)> {
    let time = |one: &Sample| time_of(one.at, now).0;
    let last = |quantity| {
        let of_quantity = values.iter().filter(|one| one.quantity == quantity);
        of_quantity.max_by_key(|one| time(one))
    };
    let (taken, given) = (last(Quantity::Power), last(Quantity::PowerGiven));
    let at = taken.into_iter().chain(given).map(time).max()?;
    let watts =
        |one: Option<&Sample>| one.filter(|one| time(one) == at).map_or(0.0, |one| one.value);
    Some((at, Power::from_kw((watts(taken) - watts(given)) / 1e3).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_clock_that_cannot_be_right_is_not_believed() {
        for (given, expected) in [
            ("2026-01-05T17:00:00Z", None),
            ("2026-01-05T18:04:00Z", None),
            ("2026-01-05T18:05:00Z", Some(Assumption::ClockWrong)),
            ("1970-01-01T00:00:07Z", Some(Assumption::ClockWrong)),
            ("2045-01-01T00:00:00Z", Some(Assumption::ClockWrong)),
        ] {
            let (at, assumed) = time_of(given.parse().ok(), now());
            assert_eq!(assumed, expected, "{given}");
            assert!(at <= now());
        }
        assert_eq!(time_of(None, now()), (now(), Some(Assumption::TimeMissing)));
    }

    #[test]
    fn an_occupied_connector_stays_what_is_known_of_it() {
        let mut connector = ConnectorState::default();
        for (status, expected) in [
            (Status::Occupied, Status::Occupied),
            (Status::Charging, Status::Charging),
            (Status::Occupied, Status::Charging),
            (Status::Available, Status::Available),
            (Status::Occupied, Status::Occupied),
        ] {
            connector.set_status(status);
            assert_eq!(connector.status, Some(expected));
        }
    }
}

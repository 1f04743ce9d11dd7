//! Conversion of repeated device readings to samples and stays.
//!
//! A device's own meter counts quarters of an hour. The poller requests the quarters that ended
//! since the last poll and assigns each to a stay at the plug. A stay is settled, and can be
//! frozen, once all of its energy is known.
use chrono::{DateTime, TimeDelta, Utc};

use crate::prices::curve::PriceCurve;
use crate::statistics::measurements::{Measured, Rules, SessionEnergy, from_sessions};
use crate::statistics::sample::Sample;
use crate::statistics::savings::priced;
use crate::units::{Energy, Power};

/// Length of one meter period.
const QUARTER: TimeDelta = TimeDelta::minutes(15);

/// Direction of the energy that counts for a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Energy taken minus energy given back: vehicles, chargers, heating.
    Taken,
    /// Energy given minus energy taken: inverters.
    Given,
}

/// Energy that a meter counted in a period, in both directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeteredPeriod {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Energy that the device took.
    pub imported: Energy,
    /// Energy that it gave.
    pub exported: Energy,
}

/// A stay of a vehicle at a plug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stay {
    /// Time of plug-in.
    pub plugged_in: DateTime<Utc>,
    /// Time of unplugging; `None` while the vehicle is plugged in.
    pub unplugged: Option<DateTime<Utc>>,
}

impl Counts {
    /// The energy that counts.
    #[must_use]
    pub fn net(self, imported: Energy, exported: Energy) -> Energy {
        match self {
            Self::Taken => imported - exported,
            Self::Given => exported - imported,
        }
    }

    /// Returns the monotone counter of the two: the one of the direction that counts.
    #[must_use]
    pub const fn total(self, imported: Energy, exported: Energy) -> Energy {
        match self {
            Self::Taken => imported,
            Self::Given => exported,
        }
    }
}

/// Time range to request from a meter at `now`, if it is recorded until `until`: it ends with the
/// last full quarter of an hour. `None` if no quarter has ended since.
///
/// # Example
///
/// ```
/// use slackwater_engine::statistics::recording::to_ask;
/// let at = |clock: &str| format!("2026-01-05T{clock}:00Z").parse().unwrap();
/// assert_eq!(to_ask(at("18:00"), at("18:40")), Some((at("18:00"), at("18:30"))));
/// assert_eq!(to_ask(at("18:07"), at("18:29")), None);
/// ```
#[must_use]
pub fn to_ask(until: DateTime<Utc>, now: DateTime<Utc>) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
    let quarter = QUARTER.num_seconds();
    let to = DateTime::from_timestamp(now.timestamp().div_euclid(quarter) * quarter, 0)?;
    let has_ended = to.signed_duration_since(until) >= QUARTER;
    has_ended.then_some((until, to))
}

/// Converts metered periods to samples by the rules of [`from_sessions`]: implausible periods are
/// dropped, and repeated ones count once.
#[must_use]
pub fn from_periods(periods: &[MeteredPeriod], counts: Counts, rules: Rules) -> Measured {
    let energies: Vec<SessionEnergy> = periods
        .iter()
        .map(|period| SessionEnergy {
            start: period.start,
            end: period.end,
            energy: counts.net(period.imported, period.exported),
        })
        .collect();
    from_sessions(&energies, rules)
}

/// Updates the stays after an observation of the plug. A stay begins if the plug is in and none
/// is open; the open stay ends if the plug is out. `None` changes nothing.
#[must_use]
pub fn seen(stays: &[Stay], is_plugged_in: Option<bool>, at: DateTime<Utc>) -> Vec<Stay> {
    let mut stays = stays.to_vec();
    let open = stays.iter_mut().find(|stay| stay.unplugged.is_none());
    match (is_plugged_in, open) {
        (Some(true), None) => stays.push(Stay { plugged_in: at, unplugged: None }),
        // A look that comes late does not make a stay of negative length.
        (Some(false), Some(open)) => open.unplugged = Some(at.max(open.plugged_in)),
        _ => {}
    }
    stays
}

/// Position of the stay that a sample belongs to: the first that overlaps it. A vehicle plugged
/// in and out within one quarter shares that quarter's energy with the next stay, because the
/// meter does not separate the two.
#[must_use]
pub fn stay_of(stays: &[Stay], sample: &Sample) -> Option<usize> {
    stays.iter().position(|stay| {
        stay.plugged_in < sample.end && stay.unplugged.is_none_or(|at| sample.start < at)
    })
}

/// Returns true if all energy of a stay is known, if the device is recorded until `until`.
#[must_use]
pub fn is_settled(stay: Stay, until: DateTime<Utc>) -> bool {
    stay.unplugged.is_some_and(|at| at <= until)
}

/// Samples with the prices that held, cut where these change. One that brings
/// its price keeps it. Where no price is known there is none.
#[must_use]
pub fn with_prices(samples: &[Sample], prices: &PriceCurve) -> Vec<Sample> {
    samples.iter().flat_map(|sample| priced(sample, prices)).collect()
}

/// The power at which a stay would have charged unmanaged: the limit of the
/// device, or more where more was measured.
#[must_use]
pub fn unmanaged_power(limit: Option<Power>, samples: &[Sample]) -> Power {
    let measured = samples.iter().filter_map(|sample| sample.power);
    measured.fold(limit.unwrap_or(Power::ZERO), Power::max)
}

/// Returns true if any energy flowed, in either direction.
#[must_use]
pub fn has_energy(samples: &[Sample]) -> bool {
    samples.iter().any(|sample| sample.power.is_some_and(|power| power != Power::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::curve::Slot;
    use crate::units::{Price, kw, kwh, per_kwh};

    fn at(clock: &str) -> DateTime<Utc> {
        format!("2026-01-05T{clock}:00Z").parse().unwrap()
    }

    fn sample(start: &str, end: &str, power: f64) -> Sample {
        let (start, end) = (at(start), at(end));
        Sample { start, end, power: Some(kw(power)), price: None, non_smart: None }
    }

    fn rules(most: f64) -> Rules {
        Rules::new("pause_max", TimeDelta::zero(), Some(kw(most))).unwrap()
    }

    #[test]
    fn energy_counts_in_the_device_s_direction() {
        let period = MeteredPeriod {
            start: at("18:00"),
            end: at("18:15"),
            imported: kwh(3.0),
            exported: kwh(1.0),
        };
        let power = |counts| from_periods(&[period, period], counts, rules(20.0)).samples;
        assert_eq!(power(Counts::Taken), [sample("18:00", "18:15", 8.0)]);
        assert_eq!(power(Counts::Given), [sample("18:00", "18:15", -8.0)]);
        let odd = from_periods(&[period], Counts::Taken, rules(7.0));
        assert_eq!((odd.samples.len(), odd.findings.implausible), (0, 1));
    }

    #[test]
    fn only_whole_quarters_are_asked_for() {
        assert_eq!(to_ask(at("18:00"), at("18:00")), None);
        assert_eq!(to_ask(at("18:00"), at("18:15")), Some((at("18:00"), at("18:15"))));
        assert_eq!(to_ask(at("18:07"), at("18:30")), Some((at("18:07"), at("18:30"))));
        assert_eq!(to_ask(at("19:00"), at("18:30")), None);
    }

    #[test]
    fn stays_begin_and_end_as_the_plug_is_seen() {
        let none = seen(&[], Some(false), at("17:00"));
        assert_eq!((none.len(), seen(&[], None, at("17:00")).len()), (0, 0));
        let open = seen(&none, Some(true), at("18:00"));
        assert_eq!(seen(&open, Some(true), at("18:10")), open);
        assert_eq!(seen(&open, None, at("18:10")), open);
        let ended = seen(&open, Some(false), at("18:20"));
        assert_eq!(ended, [Stay { plugged_in: at("18:00"), unplugged: Some(at("18:20")) }]);
        let again = seen(&ended, Some(true), at("18:25"));
        assert_eq!(again.len(), 2);

        let place = |start, end| stay_of(&again, &sample(start, end, 1.0));
        assert_eq!(place("17:30", "17:45"), None);
        assert_eq!(place("17:45", "18:05"), Some(0));
        assert_eq!(place("18:15", "18:30"), Some(0));
        assert_eq!(place("18:20", "18:25"), None);
        assert_eq!(place("18:30", "18:45"), Some(1));
        let settled = |until| is_settled(again[0], at(until));
        assert_eq!([settled("18:15"), settled("18:20")], [false, true]);
        assert!(!is_settled(again[1], at("23:00")));
    }

    #[test]
    fn samples_are_cut_where_prices_change_and_keep_their_own() {
        let slot =
            |start, end, price| Slot { start: at(start), end: at(end), price: per_kwh(price) };
        let prices = PriceCurve::new(&[slot("18:05", "18:10", 0.1)]).unwrap();
        let cut = with_prices(&[sample("18:00", "18:15", 4.0)], &prices);
        let seen: Vec<Option<f64>> = cut.iter().map(|s| s.price.map(Price::as_per_kwh)).collect();
        assert_eq!(seen, [None, Some(0.1), None]);
        let own = Sample { price: Some(per_kwh(0.7)), ..sample("18:00", "18:15", 4.0) };
        assert_eq!(with_prices(&[own], &prices), [own]);
    }

    #[test]
    fn the_unmanaged_power_is_at_least_what_was_measured() {
        let samples = [sample("18:00", "18:15", 0.0), sample("18:15", "18:30", 8.0)];
        assert_eq!(unmanaged_power(Some(kw(11.0)), &samples), kw(11.0));
        assert_eq!(unmanaged_power(Some(kw(4.0)), &samples), kw(8.0));
        assert_eq!(unmanaged_power(None, &[]), Power::ZERO);
        assert!(has_energy(&samples) && !has_energy(&samples[..1]));
    }
}

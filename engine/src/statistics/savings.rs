//! Ledger of savings: the cost of each session with and without smart charging, fixed when the
//! session ends.
//!
//! A comparison of past energy with present prices would change without a new measurement. A
//! session is therefore frozen once: its samples carry the prices that held, and baseline rows
//! beside them carry the energy without smart charging at the prices that held then. All later
//! sums are sums of these rows in whole parts ([`crate::statistics::fixed`]), so slots, sessions,
//! days and months agree to the last digit.
use chrono::{DateTime, Utc};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::prices::curve::PriceCurve;
use crate::statistics::fixed::Amount;
use crate::statistics::sample::{Sample, SampleError, check};
use crate::time::instant::{instant_at, micros_of};
use crate::units::{Energy, MICROS_PER_HOUR, Power};

/// A charging session that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Time of plug-in; the baseline starts then.
    pub plugged_in: DateTime<Utc>,
    /// Power of the baseline, which charges without control.
    #[serde(rename = "power_max_kw")]
    pub power_max: Power,
    /// True if smart charging controlled the session.
    pub is_smart: bool,
    /// Measured samples. A sample with a price keeps it.
    pub samples: Vec<Sample>,
}

/// Reason why a session cannot be frozen.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Sample without a length.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// Positive energy in a session whose `power_max` is not positive.
    #[error("power_max_kw is {} kW; a session with energy needs more than 0 kW", power.as_kw())]
    NoPower {
        /// The power as given.
        power: Power,
    },
}

/// Frozen session: no value in it depends on later prices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrozenSession {
    /// Measured rows, followed by the baseline rows; input of
    /// [`crate::statistics::charging::series`].
    pub samples: Vec<Sample>,
    /// Savings, in parts of 1e-12 units of the currency; `None` if smart charging had no part in
    /// the session or a price is unknown.
    pub savings_parts: Option<i128>,
}

impl FrozenSession {
    /// Returns the savings; negative if smart charging cost more.
    #[must_use]
    pub fn savings(&self) -> Option<Amount> {
        self.savings_parts.map(Amount::from_parts)
    }
}

/// Freezes the prices and the baseline of a session.
///
/// The baseline is the same energy at `power_max` from plug-in on, so that the battery ends in the
/// same state. Energy that flowed back counts with its sign; if the net energy is not positive, the
/// baseline is empty. If a price of either course is unknown, the savings are `None`, not zero.
///
/// # Errors
/// A sample has no length; energy flowed and `power_max` is not positive.
///
/// # Example
///
/// 8 kWh at 0.10 in the night instead of at 0.35 on plug-in saves 2.00.
///
/// ```
/// use slackwater_engine::prices::curve::{PriceCurve, Slot};
/// use slackwater_engine::statistics::sample::Sample;
/// use slackwater_engine::statistics::savings::{Session, freeze};
/// use slackwater_engine::units::{kw, per_kwh};
/// let at = |text: &str| text.parse().unwrap();
/// let curve = PriceCurve::new(&[
///     Slot { start: at("2024-01-01T18:00:00Z"), end: at("2024-01-01T22:00:00Z"), price: per_kwh(0.35) },
///     Slot { start: at("2024-01-01T22:00:00Z"), end: at("2024-01-02T06:00:00Z"), price: per_kwh(0.10) },
/// ])?;
/// let session = Session {
///     plugged_in: at("2024-01-01T18:00:00Z"),
///     power_max: kw(8.0),
///     is_smart: true,
///     samples: vec![Sample {
///         start: at("2024-01-02T02:00:00Z"),
///         end: at("2024-01-02T03:00:00Z"),
///         power: Some(kw(8.0)),
///         price: None,
///         non_smart: None,
///     }],
/// };
/// let frozen = freeze(&session, &curve)?;
/// assert_eq!(frozen.savings().unwrap().to_string(), "2.000000000000");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn freeze(session: &Session, prices: &PriceCurve) -> Result<FrozenSession, SessionError> {
    check(&session.samples)?;
    let mut samples: Vec<Sample> =
        session.samples.iter().flat_map(|sample| priced(sample, prices)).collect();
    let instead = if session.is_smart { baseline(session, prices)? } else { Vec::new() };
    let is_priced = |sample: &Sample| {
        let power = sample.power.or(sample.non_smart);
        sample.price.is_some() || power.is_none_or(|power| power == Power::ZERO)
    };
    // Savings need a price for every row with power, measured and baseline.
    let is_known = samples.iter().chain(&instead).all(is_priced);
    if !session.is_smart || !is_known {
        for sample in &mut samples {
            sample.non_smart = None;
        }
        return Ok(FrozenSession { samples, savings_parts: None });
    }
    // Measured rows carry a baseline of zero, because the baseline is in rows of its own.
    for sample in &mut samples {
        sample.non_smart = Some(Power::ZERO);
    }
    let cost = |rows: &[Sample], power: fn(&Sample) -> Option<Power>| -> Amount {
        rows.iter().map(|row| cost_of(row, power(row))).sum()
    };
    let savings = cost(&instead, |row| row.non_smart) - cost(&samples, |row| row.power);
    samples.extend(instead);
    Ok(FrozenSession { samples, savings_parts: Some(savings.as_parts()) })
}

/// Freezes many sessions on all cores, in their order.
///
/// `prices_of` returns the prices that held for a session, by its position.
///
/// # Errors
/// The first session that cannot be frozen, by its position. None is frozen
/// then: a ledger has all of its sessions or says which one it refuses.
pub fn freeze_each<'a>(
    sessions: &[Session],
    prices_of: impl Fn(usize) -> &'a PriceCurve + Sync,
) -> Result<Vec<FrozenSession>, (usize, SessionError)> {
    let frozen: Vec<Result<FrozenSession, SessionError>> = sessions
        .par_iter()
        .enumerate()
        .map(|(index, session)| freeze(session, prices_of(index)))
        .collect();
    let named = |(index, frozen): (usize, _)| Result::map_err(frozen, |error| (index, error));
    frozen.into_iter().enumerate().map(named).collect()
}

/// Cost of a row, rounded once, exactly as the series rounds it.
fn cost_of(row: &Sample, power: Option<Power>) -> Amount {
    let hours = (micros_of(row.end) - micros_of(row.start)) as f64 / MICROS_PER_HOUR;
    power.zip(row.price).map_or(Amount::ZERO, |(power, price)| {
        Amount::from_units(power.as_kw() * hours * price.as_per_kwh())
    })
}

/// Cuts a sample where prices change; a sample with its own price is returned whole.
pub(crate) fn priced(sample: &Sample, prices: &PriceCurve) -> Vec<Sample> {
    if sample.price.is_some() {
        return vec![*sample];
    }
    let mut pieces = Vec::new();
    let mut push = |start: DateTime<Utc>, end: DateTime<Utc>, price| {
        if start < end {
            pieces.push(Sample { start, end, price, ..*sample });
        }
    };
    // Time between the slots has no price, but keeps its power.
    let mut at = sample.start;
    for slot in prices.between(sample.start, sample.end).slots() {
        push(at, slot.start, None);
        push(slot.start, slot.end, Some(slot.price));
        at = slot.end;
    }
    push(at, sample.end, None);
    pieces
}

/// Baseline rows of a session: its energy at full power from plug-in on.
fn baseline(session: &Session, prices: &PriceCurve) -> Result<Vec<Sample>, SessionError> {
    let energy = session.samples.iter().fold(Energy::ZERO, |sum, sample| {
        sum + sample.power.unwrap_or(Power::ZERO).over(sample.end - sample.start)
    });
    if energy <= Energy::ZERO {
        return Ok(Vec::new());
    }
    if session.power_max <= Power::ZERO {
        return Err(SessionError::NoPower { power: session.power_max });
    }
    // The duration is rounded up to a whole microsecond, and the power adjusted to the energy.
    let micros = session.power_max.micros_for(energy).ceil().max(1.0);
    let power = Power::from_kw(energy.as_kwh() * MICROS_PER_HOUR / micros);
    let start = micros_of(session.plugged_in);
    let whole = Sample {
        start: session.plugged_in,
        end: instant_at(
            start.saturating_add(micros as i64).min(micros_of(DateTime::<Utc>::MAX_UTC)),
        ),
        power: None,
        price: None,
        non_smart: Some(power.unwrap_or(session.power_max)),
    };
    Ok(priced(&whole, prices))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::curve::tests::curve_of;
    use crate::statistics::charging::series;
    use crate::statistics::range::Range;
    use crate::statistics::resolution::{Buckets, Resolution, UtcOffset};
    use crate::units::kw;
    use chrono::TimeDelta;
    use proptest::prelude::*;

    fn session(minutes: &[(i64, i64, f64)], power_max: f64, is_smart: bool) -> Session {
        let plugged_in = curve_of(60, &[1]).horizon().period(0).0;
        let sample = |&(from, to, power): &(i64, i64, f64)| Sample {
            start: plugged_in + TimeDelta::minutes(from),
            end: plugged_in + TimeDelta::minutes(to),
            power: Some(kw(power)),
            price: None,
            non_smart: None,
        };
        let samples = minutes.iter().map(sample).collect();
        Session { plugged_in, power_max: kw(power_max), is_smart, samples }
    }

    #[test]
    fn savings_are_signed() {
        let late = session(&[(60, 120, 10.0)], 10.0, true);
        let saved = |cents: &[i32]| freeze(&late, &curve_of(60, cents)).unwrap().savings().unwrap();
        assert_eq!(saved(&[30, 10]).to_string(), "2.000000000000");
        assert_eq!(saved(&[10, 30]).to_string(), "-2.000000000000");
        assert_eq!(saved(&[10, 10]), Amount::ZERO);
    }

    #[test]
    fn without_smart_charging_there_are_no_savings() {
        let plain = session(&[(60, 120, 10.0)], 10.0, false);
        let frozen = freeze(&plain, &curve_of(60, &[30, 10])).unwrap();
        assert_eq!((frozen.savings(), frozen.samples.len()), (None, 1));
    }

    #[test]
    fn an_unknown_price_makes_savings_unknown_not_zero() {
        let late = session(&[(60, 180, 10.0)], 10.0, true);
        let frozen = freeze(&late, &curve_of(60, &[30, 10])).unwrap();
        assert_eq!(frozen.savings(), None);
        assert!(frozen.samples.iter().all(|sample| sample.non_smart.is_none()));
        // The third hour has no price and stays without one.
        assert_eq!(frozen.samples.iter().filter(|sample| sample.price.is_none()).count(), 1);
    }

    #[test]
    fn energy_without_power_is_refused() {
        let odd = session(&[(0, 60, 10.0)], 0.0, true);
        let text = freeze(&odd, &curve_of(60, &[30])).unwrap_err().to_string();
        assert_eq!(text, "power_max_kw is 0 kW; a session with energy needs more than 0 kW");
    }

    #[test]
    fn many_sessions_are_frozen_in_their_order() {
        let (dear, cheap) = (curve_of(60, &[30, 10]), curve_of(60, &[20, 10]));
        let curves = [&dear, &cheap];
        let mut sessions = vec![session(&[(60, 120, 10.0)], 10.0, true); 2];
        let frozen = freeze_each(&sessions, |index| curves[index]).unwrap();
        let alone = curves.map(|curve| freeze(&sessions[0], curve).unwrap());
        assert_eq!(frozen, alone);
        sessions.push(session(&[(0, 60, 10.0)], 0.0, true));
        sessions.push(session(&[(60, 0, 10.0)], 1.0, true));
        let refused = freeze_each(&sessions, |_| &dear).unwrap_err();
        assert_eq!(refused, (2, SessionError::NoPower { power: kw(0.0) }));
    }

    proptest! {
        /// Savings of buckets add up to those of sessions, to the last digit,
        /// at every resolution and offset; and both courses move the same energy.
        #[test]
        fn savings_add_up_at_all_resolutions(
            sessions in prop::collection::vec(
                (prop::collection::vec((0..1200_i64, 1..240_i64, 0..11_000_i32), 1..6), 1000..11_000_i32),
                1..5,
            ),
            cents in prop::collection::vec(-50..100_i32, 60..61),
            resolution in prop::sample::select(Resolution::ALL.to_vec()),
            minutes in -840..=840_i32,
        ) {
            let curve = curve_of(60, &cents);
            let (mut rows, mut sum) = (Vec::new(), Amount::ZERO);
            for (parts, watts) in &sessions {
                let parts: Vec<(i64, i64, f64)> = parts
                    .iter()
                    .map(|&(from, length, watts)| (from, from + length, f64::from(watts) / 1000.0))
                    .collect();
                let smart = session(&parts, f64::from(*watts) / 1000.0, true);
                let frozen = freeze(&smart, &curve).unwrap();
                let Some(savings) = frozen.savings() else { continue };
                sum += savings;
                let energy = |power: fn(&Sample) -> Option<Power>| {
                    let flow = |row: &Sample| power(row).unwrap_or(Power::ZERO).over(row.end - row.start);
                    frozen.samples.iter().map(|row| flow(row).as_kwh()).sum::<f64>()
                };
                let (actual, instead) = (energy(|row| row.power), energy(|row| row.non_smart));
                prop_assert!((actual - instead).abs() < 1e-9 * actual.max(1.0));
                rows.extend(frozen.samples);
            }
            let offset = UtcOffset::from_hours(f64::from(minutes) / 60.0).unwrap();
            let items = series(&rows, Buckets::new(resolution, offset), Range::all()).unwrap();
            let saved = items.iter().filter_map(|item| item.totals.non_smart).map(|n| n.savings);
            prop_assert_eq!(saved.sum::<Amount>(), sum);
        }
    }
}

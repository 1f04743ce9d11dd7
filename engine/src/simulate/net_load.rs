//! Net load of a home: what it draws besides its battery, less its solar power, and what was known
//! of it.
use chrono::{DateTime, Utc};

use crate::simulate::device::MINUTE;
use crate::simulate::exact::{MONEY_MAX, Milliwatts};
use crate::simulate::naive::{NaiveForecast, NaiveRule};
use crate::time::civil::{instant_of, local_of};
use crate::time::horizon::Horizon;
use crate::time::instant::{instant_at, micros_of};
use crate::units::Power;

/// Powers that no home has.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NetLoadError {
    /// A power is negative, missing or too large to be counted.
    #[error("{column} is {value} kW at {at}; it lies between 0 and {MONEY_MAX:e} kW")]
    Power {
        /// Name of the column.
        column: &'static str,
        /// Power in kW.
        value: f64,
        /// Start of its slot.
        at: DateTime<Utc>,
    },
    /// A slot starts or ends within a minute.
    #[error("a slot of load and solar power starts or ends at {at}; slots are whole minutes")]
    Minute {
        /// The instant.
        at: DateTime<Utc>,
    },
}

/// Load less solar power, as means of slots that are whole minutes.
#[derive(Debug, Clone, PartialEq)]
pub struct NetLoad {
    horizon: Horizon,
    powers: Vec<Milliwatts>,
}

impl NetLoad {
    /// Net load from powers in kW, one of each for each slot; `None` is zero throughout.
    ///
    /// # Errors
    /// A power is out of range, or a slot is not of whole minutes.
    pub fn new(
        horizon: Horizon,
        load_kw: Option<&[f64]>,
        solar_kw: Option<&[f64]>,
    ) -> Result<Self, NetLoadError> {
        let inside = |at: &&i64| at.rem_euclid(MINUTE) != 0;
        if let Some(&at) = horizon.starts().iter().chain(horizon.ends()).find(inside) {
            return Err(NetLoadError::Minute { at: instant_at(at) });
        }
        let power = |column: &'static str, powers: Option<&[f64]>, slot: usize| {
            let Some(&value) = powers.and_then(|powers| powers.get(slot)) else {
                return Ok(Milliwatts(0));
            };
            let in_range = Some(value).filter(|value| (0.0..=MONEY_MAX).contains(value));
            match in_range.map(Power::from_kw) {
                Some(Ok(power)) => Ok(Milliwatts::from_power(power)),
                _ => Err(NetLoadError::Power { column, value, at: horizon.period(slot).0 }),
            }
        };
        let net = |slot: usize| {
            let load = power("load_kw", load_kw, slot)?;
            Ok(Milliwatts(load.0 - power("solar_kw", solar_kw, slot)?.0))
        };
        let powers = (0..horizon.len()).map(net).collect::<Result<_, _>>()?;
        Ok(Self { horizon, powers })
    }

    /// Ends of slots of one length, the least time from one start to the next, so that a start
    /// that is left out leaves a gap. `None` for fewer than two starts.
    #[must_use]
    pub fn ends_of(starts: &[i64]) -> Option<Vec<i64>> {
        let lengths = starts.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
        let length = lengths.min()?;
        Some(starts.iter().map(|start| start.saturating_add(length)).collect())
    }

    /// The slots.
    #[must_use]
    pub fn horizon(&self) -> &Horizon {
        &self.horizon
    }

    /// Net load of each slot.
    pub(crate) fn powers(&self) -> &[Milliwatts] {
        &self.powers
    }
}

/// A forecast of a net load that was known from an instant on.
#[derive(Debug, Clone, PartialEq)]
pub struct IssuedNetLoad {
    /// Instant from which it may be used.
    pub known_at: DateTime<Utc>,
    /// The net load that is expected.
    pub expected: NetLoad,
}

/// Forecast of a net load before it is measured.
#[derive(Debug, Clone, PartialEq)]
pub enum NetForecast {
    /// A rule on what was measured.
    Naive(NaiveForecast),
    /// Forecasts in the order in which they became known. Of two for one slot the later one wins.
    Issued(Vec<IssuedNetLoad>),
}

/// No slot.
const NONE: u32 = u32::MAX;

/// Knowledge of a net load, at instants that never go back.
///
/// A slot is measured when it has ended. Of a slot that no forecast covers, the last measured net
/// load is expected, or zero before anything was measured. A forecast is read at the start of each
/// slot of the facts.
#[derive(Debug)]
pub(crate) struct NetReader<'a> {
    net: Option<&'a NetLoad>,
    forecast: &'a NetForecast,
    /// True if all slots are known.
    has_foresight: bool,
    /// Slot at the same time one season before each slot, by a seasonal rule.
    season_before: Vec<u32>,
    /// Expected net load of each slot, by issued forecasts.
    issued: Vec<Option<Milliwatts>>,
    /// Number of forecasts that were taken in.
    taken: usize,
    /// Number of slots that were measured.
    measured: usize,
}

impl<'a> NetReader<'a> {
    /// Nothing is known yet, or everything with foresight.
    pub(crate) fn new(
        net: Option<&'a NetLoad>,
        forecast: &'a NetForecast,
        has_foresight: bool,
    ) -> Self {
        let mut reader = Self {
            net,
            forecast,
            has_foresight,
            season_before: Vec::new(),
            issued: Vec::new(),
            taken: 0,
            measured: 0,
        };
        match (net, forecast) {
            (Some(net), NetForecast::Naive(naive)) if !has_foresight => {
                reader.season_before = seasons_before(net.horizon(), *naive);
            }
            (Some(net), NetForecast::Issued(_)) if !has_foresight => {
                reader.issued = vec![None; net.powers.len()];
            }
            _ => {}
        }
        reader
    }

    /// Takes in everything that is known at `now`, in microseconds.
    pub(crate) fn read_until(&mut self, now: i64) {
        let Some(net) = self.net.filter(|_| !self.has_foresight) else { return };
        while net.horizon.ends().get(self.measured).is_some_and(|&end| end <= now) {
            self.measured += 1;
        }
        let NetForecast::Issued(forecasts) = self.forecast else { return };
        while let Some(forecast) = forecasts.get(self.taken) {
            if micros_of(forecast.known_at) > now {
                break;
            }
            let expected = &forecast.expected;
            for (slot, &power) in expected.powers.iter().enumerate() {
                let (start, end) = (expected.horizon.starts()[slot], expected.horizon.ends()[slot]);
                for of_facts in net.horizon.overlapping(start, end) {
                    if net.horizon.starts()[of_facts] >= start {
                        self.issued[of_facts] = Some(power);
                    }
                }
            }
            self.taken += 1;
        }
    }

    /// Slots of the facts.
    pub(crate) fn horizon(&self) -> Option<&'a Horizon> {
        self.net.map(NetLoad::horizon)
    }

    /// Net load that is expected in a slot of the facts; after its end, the measured one.
    pub(crate) fn expected(&self, slot: usize) -> Milliwatts {
        let Some(net) = self.net else { return Milliwatts(0) };
        if self.has_foresight || slot < self.measured {
            return net.powers[slot];
        }
        let mut earlier = self.season_before.get(slot).copied().unwrap_or(NONE);
        while earlier != NONE {
            if (earlier as usize) < self.measured {
                return net.powers[earlier as usize];
            }
            earlier = self.season_before[earlier as usize];
        }
        let issued = self.issued.get(slot).copied().flatten();
        let last = || net.powers[..self.measured].last().copied();
        issued.or_else(last).unwrap_or_default()
    }
}

/// Slot at the same wall-clock time one season before each slot; empty without a season.
fn seasons_before(horizon: &Horizon, naive: NaiveForecast) -> Vec<u32> {
    let NaiveRule::Seasonal { days } = naive.rule else { return Vec::new() };
    let back = chrono::TimeDelta::days(i64::from(days.max(1)));
    let before = |&start: &i64| {
        let local = local_of(instant_at(start), naive.time_zone).checked_sub_signed(back)?;
        let then = micros_of(instant_of(local, naive.time_zone));
        // A season is longer than a clock change, so the slot is an earlier one.
        let found = horizon.overlapping(then, then + 1).next();
        found.filter(|&slot| horizon.starts()[slot] < start).map(|slot| slot as u32)
    };
    horizon.starts().iter().map(|start| before(start).unwrap_or(NONE)).collect()
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use chrono_tz::Tz;

    use super::*;

    /// Hours from a start with these loads.
    fn hours(start: &str, load_kw: &[f64]) -> NetLoad {
        let start = start.parse().unwrap();
        let horizon = Horizon::steps(start, TimeDelta::hours(1), load_kw.len()).unwrap();
        NetLoad::new(horizon, Some(load_kw), None).unwrap()
    }

    fn kw_of(reader: &NetReader<'_>, slot: usize) -> f64 {
        (reader.expected(slot).as_kw() * 1000.0).round() / 1000.0
    }

    #[test]
    fn a_day_before_follows_the_wall_clock_and_is_used_once_it_is_measured() {
        // From midnight in Berlin on 24 October 2026; the 25th has 25 hours.
        let start = "2026-10-23T22:00:00Z";
        let local = |hour: usize| if hour < 27 { hour % 24 } else { (hour - 1) % 24 };
        let load: Vec<f64> = (0..73).map(|hour| local(hour) as f64).collect();
        let net = hours(start, &load);
        let naive =
            NaiveForecast { rule: NaiveRule::Seasonal { days: 1 }, time_zone: Tz::Europe__Berlin };
        let forecast = NetForecast::Naive(naive);
        let mut reader = NetReader::new(Some(&net), &forecast, false);
        let origin = micros_of(start.parse().unwrap());
        reader.read_until(origin + 30 * 60 * MINUTE);
        // 18:00 on the 25th is hour 43, and 18:00 on the 26th is hour 67.
        assert_eq!((kw_of(&reader, 43), kw_of(&reader, 67)), (18.0, 18.0));
        // Nothing is known of the first day before it was measured.
        let mut early = NetReader::new(Some(&net), &forecast, false);
        early.read_until(origin);
        assert!(kw_of(&early, 5).abs() < 1e-12);
        early.read_until(origin + 4 * 60 * MINUTE);
        assert!((kw_of(&early, 5) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn an_issued_forecast_is_used_from_its_instant_on() {
        let net = hours("2026-01-05T18:00:00Z", &[1.0, 2.0, 3.0, 4.0]);
        let issue = |at: &str, load_kw: &[f64]| IssuedNetLoad {
            known_at: at.parse().unwrap(),
            expected: hours("2026-01-05T19:00:00Z", load_kw),
        };
        let forecast = NetForecast::Issued(vec![
            issue("2026-01-05T18:00:00Z", &[7.0, 8.0]),
            issue("2026-01-05T19:00:00Z", &[9.0]),
        ]);
        let mut reader = NetReader::new(Some(&net), &forecast, false);
        let at = |text: &str| micros_of(text.parse().unwrap());
        reader.read_until(at("2026-01-05T18:30:00Z"));
        let seen: Vec<f64> = (0..4).map(|slot| kw_of(&reader, slot)).collect();
        assert_eq!(seen, [0.0, 7.0, 8.0, 0.0]);
        reader.read_until(at("2026-01-05T19:00:00Z"));
        let seen: Vec<f64> = (0..4).map(|slot| kw_of(&reader, slot)).collect();
        assert_eq!(seen, [1.0, 9.0, 8.0, 1.0]);
        let foresight = NetReader::new(Some(&net), &forecast, true);
        assert!((kw_of(&foresight, 3) - 4.0).abs() < 1e-12);
    }

    #[test]
    fn errors_name_column_value_and_instant() {
        let six: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().unwrap();
        let horizon = Horizon::steps(six, TimeDelta::hours(1), 1).unwrap();
        let refused = NetLoad::new(horizon, None, Some(&[-1.0])).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "solar_kw is -1 kW at 2026-01-05 18:00:00 UTC; it lies between 0 and 1e6 kW"
        );
        let odd = Horizon::steps(six, TimeDelta::seconds(90), 2).unwrap();
        assert_eq!(
            NetLoad::new(odd, None, None).unwrap_err().to_string(),
            "a slot of load and solar power starts or ends at 2026-01-05 18:01:30 UTC; slots are \
             whole minutes"
        );
    }
}

//! Series of a home's energy system, on the clock of the place where it stands.
use chrono::{DateTime, FixedOffset, Months, NaiveDate, NaiveTime, Offset, TimeDelta, Utc};
use chrono_tz::Tz;

use crate::statistics::sample::{Row, Sample};
use crate::statistics::tally::Tally;
use crate::statistics::totals::Totals;
use crate::time::civil::instant_of;
use crate::time::instant::{instant_at, micros_of};
use crate::units::{Energy, Percent, Power};

/// Bucket length from which a bucket reports energy; shorter buckets report power.
const ENERGY_FROM: TimeDelta = TimeDelta::hours(1);

/// The stretch of local time that a series covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// One local day, in buckets of the system's own length.
    Day(NaiveDate),
    /// The month that starts on this day, in days.
    Month(NaiveDate),
    /// The year that starts on this day, in months.
    Year(NaiveDate),
}

/// Invalid period of home energy statistics.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeriodError {
    /// The kind of period is unknown.
    #[error("period is {name:?}; it is one of day, month, year")]
    UnknownPeriod {
        /// The name as given.
        name: String,
    },
    /// The value is no date of that form.
    #[error("value is {value:?}; a {period} is written {form}")]
    Value {
        /// The value as given.
        value: String,
        /// Kind of period.
        period: &'static str,
        /// Expected notation.
        form: &'static str,
    },
    /// The system's buckets are too short, too long, or do not divide an hour.
    #[error("bucket_minutes is {minutes} min; it is 1 min to 1440 min")]
    Bucket {
        /// The length as given.
        minutes: i64,
    },
}

impl Period {
    /// The period written as a day `YYYY-MM-DD`, a month `YYYY-MM` or a year `YYYY`.
    ///
    /// # Errors
    /// The kind is unknown, or the value is not written that way.
    pub fn parse(kind: &str, value: &str) -> Result<Self, PeriodError> {
        let (period, form, suffix): (_, _, _) = match kind.to_ascii_lowercase().as_str() {
            "day" => ("day", "YYYY-MM-DD", ""),
            "month" => ("month", "YYYY-MM", "-01"),
            "year" => ("year", "YYYY", "-01-01"),
            _ => return Err(PeriodError::UnknownPeriod { name: kind.to_owned() }),
        };
        // Digits where the form has letters: a sign or a blank is no digit.
        let is_of_form = value.len() == form.len()
            && value.bytes().zip(form.bytes()).all(|(given, wanted)| match wanted {
                b'-' => given == b'-',
                _ => given.is_ascii_digit(),
            });
        let date = is_of_form
            .then(|| NaiveDate::parse_from_str(&format!("{value}{suffix}"), "%Y-%m-%d").ok())
            .flatten()
            .ok_or_else(|| PeriodError::Value { value: value.to_owned(), period, form })?;
        Ok(match period {
            "day" => Self::Day(date),
            "month" => Self::Month(date),
            _ => Self::Year(date),
        })
    }

    /// Edges of the buckets, the end of the last one included.
    ///
    /// Local days and months may have any length; those of a day are counted
    /// in elapsed time, so that a day of 23 hours has 92 quarter hours.
    fn edges(self, time_zone: Tz, native: TimeDelta) -> Vec<i64> {
        let midnight =
            |date: NaiveDate| micros_of(instant_of(date.and_time(NaiveTime::MIN), time_zone));
        let after = |date: NaiveDate, months: u32| {
            date.checked_add_months(Months::new(months)).unwrap_or(NaiveDate::MAX)
        };
        match self {
            Self::Day(date) => {
                let (start, end) = (midnight(date), midnight(date.succ_opt().unwrap_or(date)));
                let step = native.num_microseconds().unwrap_or(i64::MAX);
                let mut edges: Vec<i64> = (start..end).step_by(step as usize).collect();
                edges.push(end);
                edges
            }
            Self::Month(first) => {
                // The first of the next month is included, because it is the last edge.
                let end = after(first, 1);
                first.iter_days().take_while(|date| *date <= end).map(midnight).collect()
            }
            Self::Year(first) => (0..=12).map(|month| midnight(after(first, month))).collect(),
        }
    }
}

/// Unit of the numbers of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Mean power.
    Kilowatt,
    /// Energy.
    KilowattHour,
    /// State of charge.
    Percent,
}

impl Unit {
    /// The unit as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kilowatt => "kW",
            Self::KilowattHour => "kWh",
            Self::Percent => "%",
        }
    }
}

/// One number of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Start of the bucket, with the offset of the place.
    pub at: DateTime<FixedOffset>,
    /// The number; `None` if nothing was measured.
    pub value: Option<f64>,
}

/// Device of a series that the system lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// There is no battery.
    #[error("the system has no battery")]
    NoBattery,
    /// A state of charge does not add up over days.
    #[error("the state of charge is available for single days only")]
    DaysOnly,
    /// No measurement in the whole period.
    #[error("nothing was measured in this period")]
    NotMeasured,
}

/// A series over one period.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Unit of the numbers.
    pub unit: Unit,
    /// One number per bucket, in time order.
    pub data: Vec<Point>,
}

/// A place and the length of the buckets that its system has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct System {
    time_zone: Tz,
    native: TimeDelta,
}

impl System {
    /// A system in a time zone, with buckets of so many minutes.
    ///
    /// # Errors
    /// A bucket is shorter than a minute or longer than a day.
    pub fn new(time_zone: Tz, bucket_minutes: i64) -> Result<Self, PeriodError> {
        if !(1..=1440).contains(&bucket_minutes) {
            return Err(PeriodError::Bucket { minutes: bucket_minutes });
        }
        Ok(Self { time_zone, native: TimeDelta::minutes(bucket_minutes) })
    }

    fn edges(self, period: Period) -> Vec<i64> {
        let mut edges = period.edges(self.time_zone, self.native);
        // A day that a place skipped when it changed sides of the date line.
        edges.dedup();
        edges
    }

    fn at(self, micros: i64) -> DateTime<FixedOffset> {
        let local = instant_at(micros).with_timezone(&self.time_zone);
        local.with_timezone(&local.offset().fix())
    }

    /// Generation, consumption or another flow, from its samples.
    ///
    /// Buckets of an hour or more hold energy, shorter ones the mean power
    /// over the time that was measured.
    ///
    /// # Errors
    /// Nothing was measured in the whole period.
    ///
    /// # Example: the day on which clocks go forward
    ///
    /// ```
    /// use slackwater_engine::statistics::hem::{Period, System};
    /// use slackwater_engine::statistics::sample::Sample;
    /// use slackwater_engine::units::kw;
    /// let constant = Sample {
    ///     start: "2024-03-01T00:00:00Z".parse().unwrap(),
    ///     end: "2024-05-01T00:00:00Z".parse().unwrap(),
    ///     power: Some(kw(1.0)),
    ///     price: None,
    ///     non_smart: None,
    /// };
    /// let berlin = System::new("Europe/Berlin".parse().unwrap(), 15)?;
    /// let day = berlin.flow(Period::parse("DAY", "2024-03-31")?, &[constant]).unwrap();
    /// assert_eq!((day.data.len(), day.unit.as_str()), (92, "kW"));
    /// # Ok::<(), slackwater_engine::statistics::hem::PeriodError>(())
    /// ```
    pub fn flow(self, period: Period, samples: &[Sample]) -> Result<Series, Unavailable> {
        let edges = self.edges(period);
        let tallies = tallies(&edges, samples);
        if tallies.iter().all(Tally::is_empty) {
            return Err(Unavailable::NotMeasured);
        }
        // The native buckets of a day are even, but for the last: all have the
        // unit that their length as configured gives.
        let is_energy = !matches!(period, Period::Day(_)) || self.native >= ENERGY_FROM;
        let unit = if is_energy { Unit::KilowattHour } else { Unit::Kilowatt };
        let value = |tally: &Tally| {
            let Totals { energy, power, .. } = tally.totals();
            let value = if is_energy { Energy::as_kwh(energy) } else { Power::as_kw(power.mean) };
            (!tally.is_empty()).then_some(value)
        };
        let points = edges.iter().zip(&tallies);
        let data =
            points.map(|(&at, tally)| Point { at: self.at(at), value: value(tally) }).collect();
        Ok(Series { unit, data })
    }

    /// State of charge at the start of each bucket of a day, as last read.
    ///
    /// Readings may be in any order. A reading from before the day holds until the next one.
    ///
    /// # Errors
    /// There is no battery, the period is no day, or nothing was read by then.
    pub fn battery_level(
        self,
        period: Period,
        readings: Option<&[(DateTime<Utc>, Percent)]>,
    ) -> Result<Series, Unavailable> {
        let readings = readings.ok_or(Unavailable::NoBattery)?;
        if !matches!(period, Period::Day(_)) {
            return Err(Unavailable::DaysOnly);
        }
        // Stable: of readings at one instant the last one counts.
        let mut sorted = readings.to_vec();
        sorted.sort_by_key(|reading| reading.0);
        let edges = self.edges(period);
        let point = |&at: &i64| {
            let read = sorted.partition_point(|reading| micros_of(reading.0) <= at);
            let value = read.checked_sub(1).map(|last| sorted[last].1.as_percent());
            Point { at: self.at(at), value }
        };
        let starts = &edges[..edges.len().saturating_sub(1)];
        let data: Vec<Point> = starts.iter().map(point).collect();
        if data.iter().all(|point| point.value.is_none()) {
            return Err(Unavailable::NotMeasured);
        }
        Ok(Series { unit: Unit::Percent, data })
    }
}

/// Returns one tally for each pair of neighbouring edges.
fn tallies(edges: &[i64], samples: &[Sample]) -> Vec<Tally> {
    let mut tallies = vec![Tally::EMPTY; edges.len().saturating_sub(1)];
    for row in samples.iter().map(Row::from).filter(|row| row.start < row.end) {
        // The bucket in which the row starts, or the first one if it starts before the period.
        let first = edges.partition_point(|&edge| edge <= row.start).saturating_sub(1);
        for (tally, edge) in tallies.iter_mut().zip(edges.windows(2)).skip(first) {
            if edge[0] >= row.end {
                break;
            }
            let (start, end) = (row.start.max(edge[0]), row.end.min(edge[1]));
            if start < end {
                tally.add(&row, start, end);
            }
        }
    }
    tallies
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{kw, percent};

    fn constant(power: f64) -> Vec<Sample> {
        let at = |text: &str| text.parse().unwrap();
        let (start, end) = (at("2023-01-01T00:00:00Z"), at("2026-01-01T00:00:00Z"));
        vec![Sample { start, end, power: Some(kw(power)), price: None, non_smart: None }]
    }

    #[track_caller]
    fn check(
        zone: &str,
        minutes: i64,
        kind: &str,
        value: &str,
        expected: (usize, &str, f64, &str),
    ) {
        let system = System::new(zone.parse().unwrap(), minutes).unwrap();
        let period = Period::parse(kind, value).unwrap();
        let series = system.flow(period, &constant(2.0)).unwrap();
        let sum: f64 = series.data.iter().filter_map(|point| point.value).sum();
        let first = series.data[0].at.to_rfc3339();
        let found = (series.data.len(), series.unit.as_str(), sum, first.as_str());
        assert_eq!(found, expected);
    }

    #[test]
    fn a_day_has_the_buckets_of_the_system() {
        let berlin = "Europe/Berlin";
        check(berlin, 15, "DAY", "2024-03-31", (92, "kW", 184.0, "2024-03-31T00:00:00+01:00"));
        check(berlin, 15, "DAY", "2024-10-27", (100, "kW", 200.0, "2024-10-27T00:00:00+02:00"));
        check("UTC", 60, "day", "2024-01-01", (24, "kWh", 48.0, "2024-01-01T00:00:00+00:00"));
        // Half an hour of this day is skipped: the last bucket is half as long.
        check(
            "Australia/Lord_Howe",
            60,
            "DAY",
            "2024-10-06",
            (24, "kWh", 47.0, "2024-10-06T00:00:00+10:30"),
        );
    }

    #[test]
    fn a_month_has_days_and_a_year_has_months() {
        let berlin = "Europe/Berlin";
        check(
            berlin,
            15,
            "MONTH",
            "2024-03",
            (31, "kWh", 2.0 * 743.0, "2024-03-01T00:00:00+01:00"),
        );
        check(berlin, 15, "YEAR", "2024", (12, "kWh", 2.0 * 8784.0, "2024-01-01T00:00:00+01:00"));
        check("UTC", 15, "MONTH", "2024-02", (29, "kWh", 2.0 * 696.0, "2024-02-01T00:00:00+00:00"));
    }

    #[test]
    fn a_day_whose_midnight_is_skipped_starts_at_one() {
        check(
            "Africa/Cairo",
            60,
            "DAY",
            "2024-04-26",
            (23, "kWh", 46.0, "2024-04-26T01:00:00+03:00"),
        );
    }

    #[test]
    fn a_day_that_a_place_skipped_has_no_bucket() {
        let apia = System::new("Pacific/Apia".parse().unwrap(), 60).unwrap();
        let mut year = constant(1.0);
        year[0].start = "2011-01-01T00:00:00Z".parse().unwrap();
        let flow = |kind, value| apia.flow(Period::parse(kind, value).unwrap(), &year);
        let december = flow("MONTH", "2011-12").unwrap();
        assert_eq!(december.data.len(), 30);
        assert!(december.data.windows(2).all(|pair| pair[0].at < pair[1].at));
        assert_eq!(december.data[29].at.to_rfc3339(), "2011-12-31T00:00:00+14:00");
        assert_eq!(flow("DAY", "2011-12-30"), Err(Unavailable::NotMeasured));
    }

    #[test]
    fn the_battery_level_is_there_for_days_only() {
        let system = System::new(Tz::UTC, 60).unwrap();
        let day = Period::parse("DAY", "2024-01-02").unwrap();
        let month = Period::parse("MONTH", "2024-01").unwrap();
        let at = |text: &str| text.parse().unwrap();
        let readings = [
            (at("2024-01-02T12:30:00Z"), percent(80.0)),
            (at("2024-01-01T18:00:00Z"), percent(40.0)),
        ];
        let series = system.battery_level(day, Some(&readings)).unwrap();
        assert_eq!((series.data.len(), series.unit), (24, Unit::Percent));
        assert_eq!((series.data[12].value, series.data[13].value), (Some(40.0), Some(80.0)));
        assert_eq!(system.battery_level(month, Some(&readings)), Err(Unavailable::DaysOnly));
        assert_eq!(system.battery_level(day, None), Err(Unavailable::NoBattery));
        let reason = system.battery_level(day, Some(&[])).unwrap_err().to_string();
        assert_eq!(reason, "nothing was measured in this period");
    }

    #[test]
    fn a_period_without_data_says_so() {
        let system = System::new(Tz::UTC, 60).unwrap();
        let day = Period::parse("DAY", "2020-01-02").unwrap();
        assert_eq!(system.flow(day, &constant(1.0)), Err(Unavailable::NotMeasured));
    }

    #[test]
    fn a_period_is_written_in_one_way() {
        for (kind, value) in
            [("DAY", "2024-1-1"), ("MONTH", "2024-13"), ("YEAR", "24"), ("DAY", "2023-02-29")]
        {
            assert!(Period::parse(kind, value).is_err(), "{kind} {value}");
        }
        for (kind, value) in
            [("YEAR", "-024"), ("YEAR", "+024"), ("YEAR", " 024"), ("DAY", "2024- 1-01")]
        {
            assert!(Period::parse(kind, value).is_err(), "{kind} {value}");
        }
        let text = Period::parse("MONTH", "2024-03-01").unwrap_err().to_string();
        assert_eq!(text, "value is \"2024-03-01\"; a month is written YYYY-MM");
        let text = Period::parse("WEEK", "2024-03-01").unwrap_err().to_string();
        assert_eq!(text, "period is \"WEEK\"; it is one of day, month, year");
        assert!(System::new(Tz::UTC, 0).is_err());
    }
}

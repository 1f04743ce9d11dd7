//! Tariffs: named rates on a weekly schedule in the time zone of a location.
use std::cmp::Ordering;
use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, NaiveDateTime, TimeDelta, Timelike, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::prices::cost::{Cost, CostError};
use crate::prices::curve::PriceCurve;
use crate::time::civil::local_of;
use crate::time::horizon::{Horizon, HorizonError};
use crate::time::hour_minute::{HourMinute, MINUTES_PER_DAY};
use crate::time::instant::micros_of;
use crate::time::wall::stretches;
use crate::units::Price;

/// Longest time for which a tariff is written out as slots, in days.
const DAYS_MAX: i64 = 36_525;

/// Longest span as a duration: a hundred years.
pub const SPAN_MAX: TimeDelta = TimeDelta::days(DAYS_MAX);

/// Request for a named price, not yet checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateRequest {
    /// Name, unique in its tariff.
    pub name: String,
    /// Price per kWh as a decimal string.
    pub cost: String,
}

/// Request for a weekly interval, not yet checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntervalRequest {
    /// Name of the rate that holds in it.
    pub name: String,
    /// Weekdays from 0 (Monday) to 6 (Sunday); `None` is the whole week, an
    /// empty list no day at all. Repeated days count once.
    #[serde(default)]
    pub weekdays: Option<Vec<i64>>,
    /// First minute of the day; `None` is midnight.
    #[serde(default)]
    pub start: Option<HourMinute>,
    /// First minute after it; `None` is the end of the day. Not after `start`
    /// it closes the part of the day around midnight: 22:00 to 06:00 is from
    /// 00:00 to 06:00 and from 22:00 on, of each named weekday.
    #[serde(default)]
    pub end: Option<HourMinute>,
}

/// Invalid rates and intervals of a tariff.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TariffError {
    /// A cost that is no decimal number.
    #[error("rates[{index}].cost: {source}")]
    Cost {
        /// Position of the rate.
        index: usize,
        /// Reason why the text was refused.
        source: CostError,
    },
    /// Two rates of one name.
    #[error("rates[{index}].name is {name:?}, as is that of rates[{first}]")]
    RepeatedName {
        /// Position of the later rate.
        index: usize,
        /// Position of the earlier rate.
        first: usize,
        /// Their name.
        name: String,
    },
    /// A number that is no weekday.
    #[error("intervals[{index}].weekdays[{position}] is {weekday}; 0 is Monday and 6 is Sunday")]
    NoWeekday {
        /// Position of the interval.
        index: usize,
        /// Position in its weekdays.
        position: usize,
        /// The number as given.
        weekday: i64,
    },
    /// Two intervals share a time of the week.
    #[error(
        "intervals[{index}] overlaps intervals[{first}] on weekday {weekday} from {from} to {to}"
    )]
    Overlap {
        /// Position of the later interval.
        index: usize,
        /// Position of the earlier interval.
        first: usize,
        /// The first weekday on which they meet, 0 is Monday.
        weekday: u8,
        /// First minute that both have.
        from: HourMinute,
        /// First minute that not both have; 00:00 is the end of the day.
        to: HourMinute,
    },
    /// An interval names a rate that the tariff lacks.
    #[error("intervals[{index}].name is {name:?}, which is no rate of the tariff")]
    UnknownRate {
        /// Position of the interval.
        index: usize,
        /// The name as given.
        name: String,
    },
}

/// Time for which the prices of a tariff are not resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpanError {
    /// More than a hundred years.
    #[error("start and end lie {days} days apart; prices are resolved for at most {DAYS_MAX}")]
    TooLong {
        /// Days between start and end.
        days: i64,
    },
    /// A time outside the years 1 to 9999.
    #[error(transparent)]
    OutOfRange(#[from] HorizonError),
}

/// A named price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rate {
    /// Name, unique in its tariff.
    pub name: String,
    /// Price per kWh.
    pub cost: Cost,
}

/// Named prices, each name once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rates(Vec<Rate>);

impl Rates {
    /// Checks named prices. None at all is no error.
    ///
    /// # Errors
    /// A cost is no decimal number, or two rates have one name.
    pub fn new(requests: &[RateRequest]) -> Result<Self, TariffError> {
        let mut rates: Vec<Rate> = Vec::with_capacity(requests.len());
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, RateRequest { name, cost }) in requests.iter().enumerate() {
            let cost = Cost::parse(cost).map_err(|source| TariffError::Cost { index, source })?;
            if let Some(&first) = places.get(name.as_str()) {
                return Err(TariffError::RepeatedName { index, first, name: name.clone() });
            }
            places.insert(name, index);
            rates.push(Rate { name: name.clone(), cost });
        }
        Ok(Self(rates))
    }

    /// The rates in the order they were given.
    #[must_use]
    pub fn rates(&self) -> &[Rate] {
        &self.0
    }
}

/// A part of one weekday, in minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    weekday: u8,
    from: u16,
    to: u16,
    interval: usize,
}

/// Weekly intervals without overlap; time outside all of them has no rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeeklyIntervals {
    requests: Vec<IntervalRequest>,
    /// Parts in the order of the week.
    parts: Vec<Part>,
    /// Minutes of the day at which some part starts or ends, ascending.
    cuts: Vec<u16>,
}

impl WeeklyIntervals {
    /// Checks weekly intervals. They may touch, but not overlap; the check
    /// looks at each weekday with its parts before and after midnight.
    ///
    /// # Errors
    /// A weekday is not 0 to 6, or two intervals overlap.
    pub fn new(requests: Vec<IntervalRequest>) -> Result<Self, TariffError> {
        let mut parts: Vec<Part> = Vec::new();
        for (index, request) in requests.iter().enumerate() {
            parts.extend(parts_of(index, request)?);
        }
        parts.sort_unstable();
        // If any two of the sorted parts overlap, two neighbours do.
        if let Some(pair) = parts.windows(2).find(|pair| is_overlap(pair[0], pair[1])) {
            return Err(overlap(pair[0], pair[1]));
        }
        let mut cuts: Vec<u16> = parts.iter().flat_map(|part| [part.from, part.to]).collect();
        // Midnight is a cut of every day anyway.
        cuts.retain(|&cut| cut > 0 && cut < MINUTES_PER_DAY);
        cuts.sort_unstable();
        cuts.dedup();
        Ok(Self { requests, parts, cuts })
    }

    /// Position of the interval that holds when clocks show `local`.
    #[must_use]
    pub fn at(&self, local: NaiveDateTime) -> Option<usize> {
        let weekday = local.weekday().num_days_from_monday() as u8;
        let minute = (local.hour() * 60 + local.minute()) as u16;
        let behind = self.parts.partition_point(|p| (p.weekday, p.from) <= (weekday, minute));
        let part = self.parts.get(behind.checked_sub(1)?)?;
        (part.weekday == weekday && minute < part.to).then_some(part.interval)
    }
}

/// The parts of weekdays that an interval covers.
fn parts_of(index: usize, request: &IntervalRequest) -> Result<Vec<Part>, TariffError> {
    let mut days = [request.weekdays.is_none(); 7];
    for (position, &weekday) in request.weekdays.iter().flatten().enumerate() {
        let day = usize::try_from(weekday).ok().and_then(|day| days.get_mut(day));
        *day.ok_or(TariffError::NoWeekday { index, position, weekday })? = true;
    }
    let from = request.start.unwrap_or(HourMinute::MIDNIGHT).minutes();
    // An end at midnight is the end of the day.
    let to = request.end.map(HourMinute::minutes).filter(|&to| to != 0).unwrap_or(MINUTES_PER_DAY);
    let spans = match from.cmp(&to) {
        Ordering::Less => vec![(from, to)],
        // Equal times, such as 08:00 to 08:00, are the whole day in one part.
        Ordering::Equal => vec![(0, MINUTES_PER_DAY)],
        Ordering::Greater => vec![(0, to), (from, MINUTES_PER_DAY)],
    };
    let named = (0..7).zip(days).filter(|&(_, named)| named);
    let part = |weekday, (from, to)| Part { weekday, from, to, interval: index };
    let parts = named.flat_map(|(day, _)| spans.iter().map(move |&span| part(day, span)));
    Ok(parts.collect())
}

/// Returns true if a part overlaps the next one in the order of the week.
fn is_overlap(earlier: Part, later: Part) -> bool {
    earlier.weekday == later.weekday && later.from < earlier.to
}

fn overlap(earlier: Part, later: Part) -> TariffError {
    let (first, index) =
        (earlier.interval.min(later.interval), earlier.interval.max(later.interval));
    let clock = |minute: u16| {
        HourMinute::parse(&format!("{:02}:{:02}", minute / 60 % 24, minute % 60))
            .expect("a minute of the day")
    };
    let (from, to) = (clock(later.from), clock(earlier.to.min(later.to)));
    TariffError::Overlap { index, first, weekday: earlier.weekday, from, to }
}

/// Price of a tariff at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TariffPrice<'a> {
    /// The rate.
    pub rate: &'a Rate,
    /// Position of the interval that chose it.
    pub interval: usize,
}

/// Rates on a weekly schedule. Where no interval holds there is no price.
///
/// # Example: nights from Monday to Friday
///
/// ```
/// use slackwater_engine::prices::tariff::{
///     IntervalRequest, RateRequest, Rates, Tariff, WeeklyIntervals,
/// };
/// use slackwater_engine::time::hour_minute::HourMinute;
/// let rates = Rates::new(&[RateRequest { name: "night".into(), cost: "0.12".into() }])?;
/// let nights = WeeklyIntervals::new(vec![IntervalRequest {
///     name: "night".into(),
///     weekdays: Some(vec![0, 1, 2, 3, 4]),
///     start: Some(HourMinute::parse("22:00")?),
///     end: Some(HourMinute::parse("06:00")?),
/// }])?;
/// let tariff = Tariff::new(rates, nights)?;
/// let oslo = "Europe/Oslo".parse().unwrap();
/// let name = |at: &str| Some(tariff.at(at.parse().unwrap(), oslo)?.rate.name.as_str());
/// assert_eq!(name("2026-01-09T21:00:00Z"), Some("night")); // Friday, 22:00 in Oslo
/// assert_eq!(name("2026-01-09T23:00:00Z"), None); // Saturday, 00:00
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tariff {
    rates: Rates,
    intervals: WeeklyIntervals,
    /// The rate of each interval.
    rate_of: Vec<usize>,
}

impl Tariff {
    /// Joins rates and intervals.
    ///
    /// # Errors
    /// An interval names a rate that is not there.
    pub fn new(rates: Rates, intervals: WeeklyIntervals) -> Result<Self, TariffError> {
        let mut rate_of = Vec::with_capacity(intervals.requests.len());
        for (index, IntervalRequest { name, .. }) in intervals.requests.iter().enumerate() {
            let rate = rates.0.iter().position(|rate| rate.name == *name);
            let unknown = || TariffError::UnknownRate { index, name: name.clone() };
            rate_of.push(rate.ok_or_else(unknown)?);
        }
        Ok(Self { rates, intervals, rate_of })
    }

    /// Joins rates with the intervals whose rate exists. An interval whose rate was removed has
    /// no price, like a gap (TAR-05, TAR-12).
    #[must_use]
    pub fn of_known(rates: Rates, intervals: &WeeklyIntervals) -> Self {
        let place = |name: &String| rates.0.iter().position(|rate| rate.name == *name);
        let known: Vec<Option<usize>> =
            intervals.requests.iter().map(|request| place(&request.name)).collect();
        let kept = |part: &&Part| known[part.interval].is_some();
        let parts = intervals.parts.iter().filter(kept).copied().collect();
        // No remaining part refers to an unknown rate, so its placeholder is never read.
        let rate_of = known.iter().map(|place| place.unwrap_or_default()).collect();
        Self { intervals: WeeklyIntervals { parts, ..intervals.clone() }, rates, rate_of }
    }

    /// The rate at an instant, or `None` where no interval holds.
    ///
    /// The clocks of `time_zone` decide: an interval in the hour that they
    /// skip does not occur, one in the hour that they show twice occurs twice.
    #[must_use]
    pub fn at(&self, at: DateTime<Utc>, time_zone: Tz) -> Option<TariffPrice<'_>> {
        let interval = self.intervals.at(local_of(at, time_zone))?;
        Some(TariffPrice { rate: &self.rates.0[self.rate_of[interval]], interval })
    }

    /// The tariff written out for `[from, to)`, a slot per stay in an
    /// interval. Gaps between intervals are gaps of the curve.
    ///
    /// # Errors
    /// More than a hundred years, or a time outside the years 1 to 9999.
    pub fn curve(
        &self,
        time_zone: Tz,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
    ) -> Result<PriceCurve, SpanError> {
        let days = (to - from).num_days();
        if days > DAYS_MAX {
            return Err(SpanError::TooLong { days });
        }
        let (from, to) = (micros_of(from), micros_of(to));
        // The horizon is built for its check of the years only.
        if from < to {
            Horizon::from_micros([(from, to)])?;
        }
        let price = |rate: &Rate| rate.cost.price().as_per_kwh();
        let prices_of: Vec<f64> = self.rates.0.iter().map(price).collect();
        let (mut periods, mut prices): (Vec<(i64, i64)>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut last = None;
        for stretch in stretches(time_zone, from, to, &self.intervals.cuts) {
            let interval = self.intervals.at(stretch.local);
            match (interval, periods.last_mut()) {
                // A stay in an interval goes on over midnight and over a change of the clocks.
                (Some(_), Some(period)) if interval == last && period.1 == stretch.start => {
                    period.1 = stretch.end;
                }
                (Some(interval), _) => {
                    periods.push((stretch.start, stretch.end));
                    prices.push(prices_of[self.rate_of[interval]]);
                }
                (None, _) => {}
            }
            last = interval;
        }
        Ok(PriceCurve::of_pieces(periods, prices))
    }

    /// The tariff written out for the microsecond that starts at an instant.
    ///
    /// # Errors
    /// A time outside the years 1 to 9999.
    pub fn moment(&self, time_zone: Tz, at: DateTime<Utc>) -> Result<PriceCurve, SpanError> {
        let end = at.checked_add_signed(TimeDelta::microseconds(1)).unwrap_or(at);
        self.curve(time_zone, at, end)
    }

    /// The price at an instant, or `None` where no interval holds.
    #[must_use]
    pub fn price_at(&self, at: DateTime<Utc>, time_zone: Tz) -> Option<Price> {
        self.at(at, time_zone).map(|found| found.rate.cost.price())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn interval(name: &str, days: Option<&[i64]>, from: &str, to: &str) -> IntervalRequest {
        let time = |text: &str| (!text.is_empty()).then(|| HourMinute::parse(text).unwrap());
        let weekdays = days.map(<[i64]>::to_vec);
        IntervalRequest { name: name.into(), weekdays, start: time(from), end: time(to) }
    }

    fn rates(names: &[&str]) -> Rates {
        let rate = |(i, name): (usize, &&str)| RateRequest {
            name: (*name).into(),
            cost: format!("0.{}", i + 1),
        };
        Rates::new(&names.iter().enumerate().map(rate).collect::<Vec<_>>()).unwrap()
    }

    #[track_caller]
    fn refused(intervals: &[IntervalRequest], expected: &str) {
        let error = WeeklyIntervals::new(intervals.to_vec()).unwrap_err();
        assert_eq!(error.to_string(), expected);
        let mut reversed = intervals.to_vec();
        reversed.reverse();
        assert!(WeeklyIntervals::new(reversed).is_err(), "the order of intervals matters");
    }

    #[track_caller]
    fn accepted(intervals: &[IntervalRequest]) -> WeeklyIntervals {
        WeeklyIntervals::new(intervals.to_vec()).unwrap()
    }

    #[test]
    fn rates_have_one_name_and_a_decimal_cost() {
        let rate = |name: &str, cost: &str| RateRequest { name: name.into(), cost: cost.into() };
        let twice = [rate("low", "0.1"), rate("high", "0.3"), rate("low", "0.2")];
        let text = Rates::new(&twice).unwrap_err().to_string();
        assert_eq!(text, "rates[2].name is \"low\", as is that of rates[0]");
        let comma = [rate("low", "0.1"), rate("high", "0,3")];
        let text = Rates::new(&comma).unwrap_err().to_string();
        assert_eq!(text, "rates[1].cost: \"0,3\" is not a decimal number such as 0.25 or -1");
        assert_eq!(Rates::new(&[]).unwrap().rates(), []);
        let both = Rates::new(&[rate("low", "0.1"), rate("Low", "0.1")]).unwrap();
        assert_eq!(both.rates()[1], Rate { name: "Low".into(), cost: both.rates()[0].cost });
    }

    #[test]
    fn weekdays_are_0_to_6() {
        for wrong in [7, -1, i64::MAX, i64::MIN] {
            let error = WeeklyIntervals::new(vec![interval("a", Some(&[0, wrong]), "", "")]);
            let expected = TariffError::NoWeekday { index: 0, position: 1, weekday: wrong };
            assert_eq!(error.unwrap_err(), expected);
        }
        // No day is no interval; a repeated day counts once.
        accepted(&[interval("a", Some(&[]), "", ""), interval("b", None, "", "")]);
        accepted(&[interval("a", Some(&[2, 2]), "", "")]);
    }

    #[test]
    fn an_interval_without_its_rate_is_a_gap() {
        let intervals =
            accepted(&[interval("a", None, "06:00", "12:00"), interval("b", None, "12:00", "")]);
        let at = |hour: &str| format!("2026-01-05T{hour}:00:00Z").parse().unwrap();
        let tariff = Tariff::of_known(rates(&["b"]), &intervals);
        let name = |hour| Some(tariff.at(at(hour), Tz::UTC)?.rate.name.as_str());
        assert_eq!([name("05"), name("06"), name("12")], [None, None, Some("b")]);
        let curve = tariff.curve(Tz::UTC, at("00"), at("23")).unwrap();
        assert_eq!((curve.len(), curve.price_at(at("12"))), (1, Some(crate::units::per_kwh(0.1))));
        let nothing = Tariff::of_known(rates(&[]), &intervals);
        assert!(nothing.curve(Tz::UTC, at("00"), at("23")).unwrap().is_empty());
        let whole = Tariff::new(rates(&["a", "b"]), intervals.clone()).unwrap();
        assert_eq!(Tariff::of_known(rates(&["a", "b"]), &intervals), whole);
    }

    #[test]
    fn intervals_that_overlap_are_named() {
        refused(
            &[
                interval("a", Some(&[0]), "08:00", "12:00"),
                interval("b", Some(&[0]), "11:00", "14:00"),
            ],
            "intervals[1] overlaps intervals[0] on weekday 0 from 11:00 to 12:00",
        );
        // Friday's night has a part before six on Friday itself.
        refused(
            &[
                interval("a", Some(&[4]), "22:00", "06:00"),
                interval("b", Some(&[4, 5]), "05:00", ""),
            ],
            "intervals[1] overlaps intervals[0] on weekday 4 from 05:00 to 06:00",
        );
        refused(
            &[interval("a", None, "", ""), interval("b", Some(&[3]), "23:59", "")],
            "intervals[1] overlaps intervals[0] on weekday 3 from 23:59 to 00:00",
        );
        refused(
            &[interval("a", None, "07:00", "07:00"), interval("b", None, "00:00", "00:01")],
            "intervals[1] overlaps intervals[0] on weekday 0 from 00:00 to 00:01",
        );
        // One that lies inside another is found behind a shorter neighbour, too.
        refused(
            &[
                interval("a", None, "01:00", "20:00"),
                interval("b", None, "02:00", "03:00"),
                interval("c", None, "21:00", "22:00"),
            ],
            "intervals[1] overlaps intervals[0] on weekday 0 from 02:00 to 03:00",
        );
    }

    #[test]
    fn intervals_that_touch_are_fine() {
        accepted(&[]);
        accepted(&[interval("a", None, "22:00", "06:00"), interval("b", None, "06:00", "22:00")]);
        accepted(&[interval("a", None, "", "12:00"), interval("b", None, "12:00", "")]);
        accepted(&[interval("a", Some(&[0]), "", ""), interval("b", Some(&[1]), "", "")]);
        // Monday's night ends at midnight; the small hours of Tuesday are free.
        accepted(&[
            interval("a", Some(&[0]), "22:00", "06:00"),
            interval("b", Some(&[1]), "05:00", "07:00"),
        ]);
    }

    #[test]
    fn an_unknown_rate_is_named() {
        let week =
            accepted(&[interval("low", Some(&[0]), "", ""), interval("x", Some(&[1]), "", "")]);
        let text = Tariff::new(rates(&["low"]), week).unwrap_err().to_string();
        assert_eq!(text, "intervals[1].name is \"x\", which is no rate of the tariff");
    }

    /// The tariff written out: clock at the start, minutes, price.
    #[track_caller]
    fn check(intervals: &[IntervalRequest], from: &str, to: &str, expected: &str) {
        let zone = chrono_tz::Europe::Oslo;
        let tariff = Tariff::new(rates(&["low", "high"]), accepted(intervals)).unwrap();
        let curve = tariff.curve(zone, from.parse().unwrap(), to.parse().unwrap()).unwrap();
        let line = |slot: crate::prices::curve::Slot| {
            let clock = local_of(slot.start, zone).format("%a %H:%M");
            let minutes = (slot.end - slot.start).num_minutes();
            format!("{clock} {minutes} min at {}", slot.price.as_per_kwh())
        };
        assert_eq!(curve.slots().map(line).collect::<Vec<_>>().join(", "), expected);
    }

    #[test]
    fn gaps_stay_open() {
        check(
            &[
                interval("low", None, "22:00", "06:00"),
                interval("high", Some(&[0]), "08:00", "20:00"),
            ],
            "2026-01-04T22:00:00Z",
            "2026-01-06T10:00:00Z",
            "Sun 23:00 420 min at 0.1, Mon 08:00 720 min at 0.2, Mon 22:00 480 min at 0.1",
        );
    }

    #[test]
    fn an_interval_in_the_skipped_hour_does_not_occur() {
        let hour = [interval("low", None, "02:00", "03:00")];
        let days = "Sat 02:00 60 min at 0.1, Mon 02:00 60 min at 0.1";
        check(&hour, "2026-03-28T00:00:00Z", "2026-03-30T12:00:00Z", days);
        // A night over the jump is an hour shorter.
        let night = [interval("high", None, "22:00", "06:00")];
        check(&night, "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z", "Sat 22:00 420 min at 0.2");
    }

    #[test]
    fn an_interval_in_the_doubled_hour_occurs_twice() {
        let half = [interval("low", Some(&[6]), "02:00", "02:30")];
        let twice = "Sun 02:00 30 min at 0.1, Sun 02:00 30 min at 0.1";
        check(&half, "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z", twice);
        let hour = [interval("low", Some(&[6]), "02:00", "03:00")];
        check(&hour, "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z", "Sun 02:00 120 min at 0.1");
    }

    #[test]
    fn days_of_23_24_and_25_hours_are_covered_in_full() {
        let whole = [interval("low", Some(&[6]), "", "")];
        for (from, to, minutes) in [
            ("2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z", 23 * 60),
            ("2026-07-04T12:00:00Z", "2026-07-06T12:00:00Z", 24 * 60),
            ("2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z", 25 * 60),
        ] {
            check(&whole, from, to, &format!("Sun 00:00 {minutes} min at 0.1"));
        }
    }

    #[test]
    fn spans_have_a_bound() {
        let tariff =
            Tariff::new(rates(&["low"]), accepted(&[interval("low", None, "", "")])).unwrap();
        let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
        let (start, end) = (at("2026-01-01T00:00:00Z"), at("2126-01-03T00:00:00Z"));
        let error = tariff.curve(Tz::UTC, start, end).unwrap_err();
        assert_eq!(error, SpanError::TooLong { days: 36_525 + 1 });
        assert_eq!(tariff.curve(Tz::UTC, start, start + SPAN_MAX).unwrap().len(), 1);
        for from in [start, end] {
            assert!(tariff.curve(Tz::UTC, from, start).unwrap().is_empty());
        }
        let last = DateTime::<Utc>::MAX_UTC;
        let error = tariff.curve(Tz::UTC, last - TimeDelta::days(1), last).unwrap_err();
        assert!(matches!(error, SpanError::OutOfRange(_)));
    }

    fn any_interval() -> impl Strategy<Value = IntervalRequest> {
        let time = || prop::option::of((0..48u16).prop_map(|half| half * 30));
        let days = prop::option::of(prop::collection::vec(0..7i64, 0..3));
        let name = prop::sample::select(vec!["low", "high"]);
        (name, days, time(), time()).prop_map(|(name, weekdays, from, to)| {
            let clock =
                |m: u16| HourMinute::parse(&format!("{:02}:{:02}", m / 60, m % 60)).unwrap();
            IntervalRequest {
                name: name.into(),
                weekdays,
                start: from.map(clock),
                end: to.map(clock),
            }
        })
    }

    /// Returns true if an interval holds, straight from its definition.
    fn holds(request: &IntervalRequest, local: NaiveDateTime) -> bool {
        let weekday = i64::from(local.weekday().num_days_from_monday());
        let from = request.start.unwrap_or_default().time();
        let to = request.end.unwrap_or_default().time();
        let time = local.time();
        let in_time = if from < to { from <= time && time < to } else { time < to || from <= time };
        request.weekdays.as_ref().is_none_or(|days| days.contains(&weekday)) && in_time
    }

    proptest! {
        /// TAR-11: refused exactly if some half hour of the week is in two
        /// intervals, in whatever order they are given.
        #[test]
        fn intervals_are_refused_exactly_if_they_overlap(
            mut requests in prop::collection::vec(any_interval(), 0..4), turn in 0..4usize,
        ) {
            let monday: NaiveDateTime = "2026-01-05T00:00:00".parse().unwrap();
            let meets = (0..336).map(|half| monday + TimeDelta::minutes(30 * half)).any(|local| {
                requests.iter().filter(|request| holds(request, local)).count() > 1
            });
            prop_assert_eq!(WeeklyIntervals::new(requests.clone()).is_err(), meets);
            let len = requests.len().max(1);
            requests.rotate_left(turn % len);
            prop_assert_eq!(WeeklyIntervals::new(requests).is_err(), meets);
        }

        /// TAR-12, in every zone and week: the curve, the rate at an instant
        /// and the definition agree, and slots of the curve are disjoint.
        #[test]
        fn curve_and_instant_agree(
            requests in prop::collection::vec(any_interval(), 1..4),
            zone in 0..chrono_tz::TZ_VARIANTS.len(),
            quarter in 0..52 * 60 * 672i64,
        ) {
            let Ok(week) = WeeklyIntervals::new(requests.clone()) else { return Ok(()) };
            let zone = chrono_tz::TZ_VARIANTS[zone];
            let tariff = Tariff::new(rates(&["low", "high"]), week).unwrap();
            let start = DateTime::UNIX_EPOCH + TimeDelta::minutes(15 * quarter);
            let curve = tariff.curve(zone, start, start + TimeDelta::days(9)).unwrap();
            for step in 0..9 * 24 * 4 {
                let at = start + TimeDelta::minutes(15 * step);
                let local = local_of(at, zone);
                let by_definition = requests.iter().find(|request| holds(request, local));
                let found = tariff.at(at, zone).map(|found| found.rate.name.as_str());
                prop_assert_eq!(found, by_definition.map(|request| request.name.as_str()));
                prop_assert_eq!(curve.price_at(at), tariff.price_at(at, zone));
                let moment = tariff.moment(zone, at).unwrap();
                prop_assert_eq!(moment.price_at(at), tariff.price_at(at, zone));
            }
        }
    }
}

//! Prices per kWh of a billed tariff, as a curve that plans read.
//!
//! ```text
//! price(t) = Σ_c p_c(t)·f_c      over the energy components c of one direction
//! f_c      = 1 + Σ of the percentages that count c, each with those that count it
//! ```
//!
//! The clocks of most days show each minute once. Such days have a pattern that depends on month,
//! weekday and holiday alone, which is computed once for each kind of day. A day on which clocks
//! change is read quarter-hour by quarter-hour.
use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, NaiveDate, Utc};

use crate::bill::condition::{Clock, Condition, TIME_STEP_MINUTES};
use crate::bill::error::list_devices;
use crate::bill::file::Direction;
use crate::bill::load::MINUTE;
use crate::bill::tariff::{BillingTariff, ComponentKind, EnergyRate, number};
use crate::prices::curve::{CurveError, PriceCurve};
use crate::time::civil::{local_of, offset_micros, start_of_date};
use crate::time::horizon::Horizon;
use crate::time::hour_minute::MINUTES_PER_DAY;
use crate::time::instant::{instant_at, micros_of};

/// Length of a day on which clocks do not change, in microseconds.
const DAY: i64 = MINUTES_PER_DAY as i64 * MINUTE;

/// Longest time that is written out, in days: a hundred years.
const DAYS_MAX: i64 = 36_525;

/// A tariff whose prices per kWh are no curve over the given time.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EnergyPriceError {
    /// An end that is not after the start, or more than a hundred years after it.
    #[error("the time from {from} to {to} is none, or is longer than a hundred years")]
    Period {
        /// First instant.
        from: DateTime<Utc>,
        /// First instant after the period.
        to: DateTime<Utc>,
    },
    /// A date for which the tariff does not hold.
    #[error("{date} is not within the dates of the tariff, {validity}")]
    NotValid {
        /// First or last date of the period.
        date: NaiveDate,
        /// Dates of the tariff, in words.
        validity: String,
    },
    /// No component with a price of a kWh in that direction.
    #[error("the tariff {tariff:?} has no price of a kWh of {}", direction.as_str())]
    NoPrice {
        /// Name of the tariff.
        tariff: String,
        /// Direction that was asked for.
        direction: Direction,
    },
    /// A price that depends on hours of use, or on the energy of another component.
    #[error(
        "component {component:?} has the rate {rate:?}, which depends on hours of use or on another \
         component and not on the clocks alone"
    )]
    DependsOnUse {
        /// The component.
        component: String,
        /// The rate.
        rate: String,
    },
    /// A device without a price of its own.
    #[error("device is {device:?}; the tariff has {}", list_devices(known))]
    NoDevice {
        /// Name of the device.
        device: String,
        /// Devices of the tariff.
        known: Vec<String>,
    },
    /// A price that depends on the energy of the month.
    #[error(
        "component {component:?} has an allowance of energy, so that its price depends on the \
         energy of the month"
    )]
    Allowance {
        /// The component.
        component: String,
    },
    /// A sum that is no price.
    #[error(transparent)]
    Curve(#[from] CurveError),
}

/// Prices of a kWh in one direction over `[from, to)`, all energy components together, with the
/// percentages on them. What is paid for a kWh of export is positive. Prices are those of a kWh of
/// `device`, or of no device that has a price of its own.
///
/// Fixed fees, powers and the rounding of lines are not in them.
///
/// # Errors
/// A period without length or longer than a hundred years, a date outside of those of the tariff, a
/// device that the tariff does not know, a tariff without a price in that direction, with an
/// allowance of energy, or with a rate that depends on use.
///
/// # Example: a day of 23 hours
///
/// Night until six in the morning: five hours on the day in which Oslo skips one.
///
/// ```
/// use slackwater_engine::bill::energy_prices::energy_prices;
/// use slackwater_engine::bill::file::Direction;
/// use slackwater_engine::bill::tariff::BillingTariff;
/// let tariff: BillingTariff = serde_json::from_str(r#"{
///     "name": "Day and night", "operator": "Example", "country": "NO", "currency": "NOK",
///     "time_zone": "Europe/Oslo", "valid_from": "2026-01-01", "vat": "added",
///     "sources": [{"document": "Price list", "url": "https://example.org"}],
///     "components": [{
///         "id": "network", "kind": "energy", "category": "network", "direction": "import",
///         "rates": [
///             {"name": "day", "price_per_kwh": "0.40", "when": {"times": ["06:00-22:00"]}},
///             {"name": "night", "price_per_kwh": "0.20"}
///         ]
///     }, {"id": "vat", "kind": "percentage", "category": "tax", "percent": "25"}]
/// }"#).unwrap();
/// let (from, to) = ("2026-03-28T23:00:00Z".parse()?, "2026-03-29T22:00:00Z".parse()?);
/// let curve = energy_prices(&tariff, Direction::Import, None, from, to).unwrap();
/// let slots: Vec<(i64, f64)> = curve
///     .slots()
///     .map(|slot| ((slot.end - slot.start).num_hours(), slot.price.as_per_kwh()))
///     .collect();
/// assert_eq!(slots, [(5, 0.25), (16, 0.5), (2, 0.25)]);
/// # Ok::<(), chrono::ParseError>(())
/// ```
pub fn energy_prices(
    tariff: &BillingTariff,
    direction: Direction,
    device: Option<&str>,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
) -> Result<PriceCurve, EnergyPriceError> {
    let (start, end) = (micros_of(from), micros_of(to));
    if end <= start || end - start > DAYS_MAX * DAY {
        return Err(EnergyPriceError::Period { from, to });
    }
    check_dates(tariff, start, end)?;
    let rates = RateTable::new(tariff, direction, device)?;
    let mut written = Written { span: (start, end), ..Written::default() };
    let zone = tariff.time_zone();
    let mut patterns: BTreeMap<(u32, u32, bool), Vec<(u16, f64)>> = BTreeMap::new();
    let mut date = local_of(from, zone).date();
    let mut at = start_of_date(date, zone);
    let mut offset = offset_micros(at, zone);
    while at < end {
        let next = date.succ_opt().unwrap_or(date);
        let is_holiday = rates.reads_holidays && tariff.holidays().contains(date);
        let next_offset = offset_micros(at + DAY, zone);
        if next_offset == offset && (at + offset) % DAY == 0 {
            let kind = (date.month(), date.weekday().num_days_from_monday(), is_holiday);
            let pattern = patterns
                .entry(kind)
                .or_insert_with(|| rates.pattern(|minute| Clock::of(date, minute, is_holiday)));
            for (place, &(minute, price)) in pattern.iter().enumerate() {
                let until = pattern.get(place + 1).map_or(MINUTES_PER_DAY, |next| next.0);
                let (minute, until) = (i64::from(minute) * MINUTE, i64::from(until) * MINUTE);
                written.push(at + minute, at + until, price);
            }
            at += DAY;
        } else {
            let end_of_day = start_of_date(next, zone).max(at + 1);
            let step = i64::from(TIME_STEP_MINUTES) * MINUTE;
            while at < end_of_day {
                let until = (at - at.rem_euclid(step) + step).min(end_of_day);
                let clock = Clock::at(local_of(instant_at(at), zone), tariff.holidays());
                written.push(at, until, rates.price(clock));
                at = until;
            }
        }
        (date, offset) = (next, offset_micros(at, zone));
    }
    Ok(PriceCurve::from_parts(
        Horizon::from_micros(written.periods).map_err(CurveError::from)?,
        written.prices,
    )?)
}

fn check_dates(tariff: &BillingTariff, start: i64, end: i64) -> Result<(), EnergyPriceError> {
    let (valid_from, valid_to) = (tariff.request().valid_from, tariff.request().valid_to);
    for at in [start, end - 1] {
        let date = local_of(instant_at(at), tariff.time_zone()).date();
        if date < valid_from || valid_to.is_some_and(|valid_to| valid_to <= date) {
            let validity = match valid_to {
                Some(to) => format!("which begins on {valid_from} and ends before {to}"),
                None => format!("which begins on {valid_from}"),
            };
            return Err(EnergyPriceError::NotValid { date, validity });
        }
    }
    Ok(())
}

/// Slots as they are written, cut to a period; neighbours of one price are joined.
#[derive(Debug, Default)]
struct Written {
    span: (i64, i64),
    periods: Vec<(i64, i64)>,
    prices: Vec<f64>,
}

impl Written {
    fn push(&mut self, start: i64, end: i64, price: f64) {
        let (start, end) = (start.max(self.span.0), end.min(self.span.1));
        if start >= end {
            return;
        }
        match self.periods.last_mut() {
            Some(last) if last.1 == start && self.prices.last() == Some(&price) => last.1 = end,
            _ => {
                self.periods.push((start, end));
                self.prices.push(price);
            }
        }
    }
}

/// Rates of all energy components of one direction.
struct RateTable<'a> {
    /// Rates of each component, and its factor.
    components: Vec<(&'a [EnergyRate], f64)>,
    /// Minutes of the day at which a rate can change, from 0 on.
    minutes: Vec<u16>,
    /// True if a calendar asks for holidays.
    reads_holidays: bool,
}

impl<'a> RateTable<'a> {
    fn new(
        tariff: &'a BillingTariff,
        direction: Direction,
        device: Option<&str>,
    ) -> Result<Self, EnergyPriceError> {
        let known = tariff.devices();
        if let Some(device) = device.filter(|name| !known.contains(name)) {
            let known = known.into_iter().map(str::to_owned).collect();
            return Err(EnergyPriceError::NoDevice { device: device.to_owned(), known });
        }
        let sign = if direction == Direction::Export { -1.0 } else { 1.0 };
        let mut components = Vec::new();
        for (component, factor) in tariff.components().iter().zip(tariff.tax_factors()) {
            let ComponentKind::Energy(energy) = &component.kind else { continue };
            if energy.direction != direction || !energy.counted.counts(device) {
                continue;
            }
            let component = &component.id;
            if energy.allowance.is_some() {
                return Err(EnergyPriceError::Allowance { component: component.clone() });
            }
            if let Some(rate) = energy.rates.iter().find(|rate| !rate.has_calendar_only()) {
                let (component, rate) = (component.clone(), rate.name.clone());
                return Err(EnergyPriceError::DependsOnUse { component, rate });
            }
            components.push((energy.rates.as_slice(), sign * factor));
        }
        if components.is_empty() {
            let tariff = tariff.request().name.clone();
            return Err(EnergyPriceError::NoPrice { tariff, direction });
        }
        let calendars = || components.iter().flat_map(|(rates, _)| *rates).map(|rate| &rate.when);
        let mut minutes: Vec<u16> = calendars().flat_map(Condition::edges).chain([0]).collect();
        minutes.sort_unstable();
        minutes.dedup();
        minutes.retain(|&minute| minute < MINUTES_PER_DAY);
        let reads_holidays = calendars().any(Condition::reads_holidays);
        Ok(Self { components, minutes, reads_holidays })
    }

    /// Price of a kWh on those clocks.
    fn price(&self, clock: Clock) -> f64 {
        let of = |(rates, factor): &(&[EnergyRate], f64)| {
            // The last rate always holds.
            let rate = rates.iter().find(|rate| rate.when.holds(clock));
            rate.map_or(0.0, |rate| number(rate.price) * factor)
        };
        self.components.iter().map(of).sum()
    }

    /// Prices of a day, each from a minute on.
    fn pattern(&self, clock: impl Fn(u16) -> Clock) -> Vec<(u16, f64)> {
        let mut pattern: Vec<(u16, f64)> = Vec::with_capacity(self.minutes.len());
        for &minute in &self.minutes {
            let price = self.price(clock(minute));
            if pattern.last().is_none_or(|last| last.1.total_cmp(&price).is_ne()) {
                pattern.push((minute, price));
            }
        }
        pattern
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::bill::invoice::{Contract, bill_month};
    use crate::bill::library::FILES;
    use crate::bill::load::{MeteredLoad, Reading};
    use crate::bill::month::Month;
    use crate::units::kwh;

    fn read(name: &str, text: &str) -> BillingTariff {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Quarter-hours of a month, spread evenly, and all those of a day with a change of clocks.
    fn sampled(month: Month, tariff: &BillingTariff) -> Vec<DateTime<Utc>> {
        let (from, to) = month.period(tariff.time_zone());
        let quarters = (to - from).num_minutes() / 15;
        let at = |quarter: i64| from + TimeDelta::minutes(15 * quarter);
        let of = |at: DateTime<Utc>| offset_micros(micros_of(at), tariff.time_zone());
        let near = |quarter: i64| of(at((quarter - 12).max(0))) != of(at(quarter + 12));
        (0..quarters).filter(|&quarter| quarter % 97 == 0 || near(quarter)).map(at).collect()
    }

    /// A thousand kWh more in one quarter-hour cost what the curve says, by the bill.
    #[test]
    fn prices_are_those_of_bills() {
        let mut compared = 0;
        for (name, text) in FILES {
            let tariff = read(name, text);
            let first = Month::of(tariff.request().valid_from).next();
            let is_capacity = text.contains("\"capacity\"") || text.contains("\"contracted\"");
            let months = std::iter::successors(Some(first), |month| Some(month.next()));
            for month in months.take(12).filter(|month| [1, 3, 7, 10, 11].contains(&month.number()))
            {
                let (from, to) = month.period(tariff.time_zone());
                let Ok(curve) = energy_prices(&tariff, Direction::Import, None, from, to) else {
                    continue;
                };
                if is_capacity {
                    continue;
                }
                let total = |readings: &[Reading]| {
                    let load = MeteredLoad::new(15, readings).unwrap();
                    let bill = bill_month(&load, &tariff, month, &Contract::default()).unwrap();
                    bill.total.to_string().parse::<f64>().unwrap()
                };
                for start in sampled(month, &tariff) {
                    let reading = Reading { start, import: kwh(1000.0), export: kwh(0.0) };
                    let price = curve.price_at(start).unwrap().as_per_kwh();
                    let billed = (total(&[reading]) - total(&[])) / 1000.0;
                    assert!((price - billed).abs() < 1e-4, "{name} {start}: {price} not {billed}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 2000, "{compared}");
    }

    #[test]
    fn prices_that_are_no_curve_are_named() {
        let text = |name: &str, direction: Direction, from: &str, to: &str| {
            let file = crate::bill::library::find_file(name).unwrap();
            let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
            energy_prices(&read(name, file), direction, None, from, to).unwrap_err().to_string()
        };
        let (march, april) = ("2026-03-10T00:00:00Z", "2026-04-01T00:00:00Z");
        assert_eq!(
            text("us-ca-pge-e-1-2026-03", Direction::Import, march, april),
            "component \"baseline credit\" has an allowance of energy, so that its price depends on \
             the energy of the month"
        );
        assert_eq!(
            text("us-ca-pge-ev2-a-2026-03", Direction::Export, march, april),
            "the tariff \"PG&E EV2-A, March 2026\" has no price of a kWh of export"
        );
        assert_eq!(
            text("us-ca-pge-ev2-a-2026-03", Direction::Import, april, march),
            "the time from 2026-04-01 00:00:00 UTC to 2026-03-10 00:00:00 UTC is none, or is longer \
             than a hundred years"
        );
        let refused =
            text("us-ca-pge-ev2-a-2026-03", Direction::Import, "2020-01-01T12:00:00Z", march);
        assert!(
            refused.starts_with("2020-01-01 is not within the dates of the tariff"),
            "{refused}"
        );
    }

    #[test]
    fn an_export_is_paid_for_with_a_positive_price() {
        let name = "gb-octopus-outgoing-2022-10";
        let tariff = read(name, crate::bill::library::find_file(name).unwrap());
        let from = Month::of(tariff.request().valid_from).next().period(tariff.time_zone()).0;
        let to = from + TimeDelta::days(1);
        let curve = energy_prices(&tariff, Direction::Export, None, from, to).unwrap();
        assert!(curve.prices().iter().all(|&price| price > 0.0), "{:?}", curve.prices());
    }
}

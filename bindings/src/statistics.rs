//! Series, sessions and the ledger, for lists of samples.
use chrono::{DateTime, FixedOffset, Utc};
use pyo3::prelude::*;
use slackwater_engine::statistics::charging;
use slackwater_engine::statistics::fixed::Amount;
use slackwater_engine::statistics::hem::{self, Period, System, Unavailable};
use slackwater_engine::statistics::range::Range;
use slackwater_engine::statistics::resolution::{Buckets, Resolution, UtcOffset};
use slackwater_engine::statistics::sample;
use slackwater_engine::statistics::savings;
use slackwater_engine::statistics::sessions;
use slackwater_engine::statistics::totals::{NonSmart, Spread, Totals};
use slackwater_engine::units::{Percent, Power, Price};
use slackwater_wire::version::shape::{Record, Shape};

use crate::error::{Named, Refused};
use crate::prices::Prices;
use crate::time::{Instant, in_calendar, time_zone};

/// Start, end, power, price, and power without smart charging.
type SampleTuple = (Instant, Instant, Option<f64>, Option<f64>, Option<f64>);

/// The same on its way back.
type SampleBack = (DateTime<Utc>, DateTime<Utc>, Option<f64>, Option<f64>, Option<f64>);

/// Least, largest and mean.
type SpreadTuple = (f64, f64, f64);

/// Sums of samples: power, hours, energy, priced energy, price, cost.
type TotalsTuple = (SpreadTuple, f64, f64, f64, Option<SpreadTuple>, String);

/// Charging without control: energy, price, cost, savings.
type NonSmartTuple = (f64, Option<SpreadTuple>, String, String);

/// One bucket: its label, its sums, and what would have been.
type ItemTuple = (DateTime<Utc>, TotalsTuple, Option<NonSmartTuple>);

/// A session: its first and last instant, its sums, and what would have been.
type SessionTuple = (DateTime<Utc>, DateTime<Utc>, TotalsTuple, Option<NonSmartTuple>);

/// A series: its unit, its points, and why it is missing.
type SeriesTuple =
    (Option<&'static str>, Vec<(DateTime<FixedOffset>, Option<f64>)>, Option<String>);

fn spread<T: Copy>(spread: Spread<T>, number: fn(T) -> f64) -> SpreadTuple {
    (number(spread.min), number(spread.max), number(spread.mean))
}

fn totals(totals: &Totals) -> TotalsTuple {
    (
        spread(totals.power, Power::as_kw),
        totals.hours,
        totals.energy.as_kwh(),
        totals.priced_energy.as_kwh(),
        totals.price.map(|price| spread(price, Price::as_per_kwh)),
        totals.cost.to_string(),
    )
}

fn non_smart(instead: &NonSmart) -> NonSmartTuple {
    let price = instead.price.map(|price| spread(price, Price::as_per_kwh));
    (instead.energy.as_kwh(), price, instead.cost.to_string(), instead.savings.to_string())
}

/// Buckets that are made into Python objects: quarter hours of eleven years.
const ITEMS_MAX: usize = 400_000;

/// Samples as the engine takes them.
fn samples(given: Vec<SampleTuple>) -> Result<Vec<sample::Sample>, Refused> {
    let sample = |(index, (start, end, power, price, instead)): (usize, SampleTuple)| {
        let name = |field: &str| format!("samples[{index}].{field}");
        let power = power.map(Power::from_kw).transpose().named(&name("power_kw"))?;
        let price = price.map(Price::from_per_kwh).transpose().named(&name("price_per_kwh"))?;
        let non_smart = instead.map(Power::from_kw).transpose().named(&name("non_smart_kw"))?;
        Ok(sample::Sample { start: start.0, end: end.0, power, price, non_smart })
    };
    given.into_iter().enumerate().map(sample).collect()
}

fn back(sample: &sample::Sample) -> SampleBack {
    (
        sample.start,
        sample.end,
        sample.power.map(Power::as_kw),
        sample.price.map(Price::as_per_kwh),
        sample.non_smart.map(Power::as_kw),
    )
}

/// Buckets by the name of a resolution, and the clock they follow: an offset in hours, or that of
/// a time zone.
pub(crate) fn buckets(
    resolution: &str,
    utc_offset_hours: Option<f64>,
    time_zone: Option<&str>,
) -> Result<Buckets, Refused> {
    let length = Resolution::from_name(resolution)?;
    match (utc_offset_hours, time_zone) {
        (Some(hours), Some(zone)) => Err(Refused::Input(format!(
            "utc_offset_hours is {hours} h and time_zone is {zone:?}; give one of them"
        ))),
        (hours, None) => Ok(Buckets::new(length, UtcOffset::from_hours(hours.unwrap_or(0.0))?)),
        (None, Some(zone)) => Ok(Buckets::in_zone(length, self::time_zone(zone)?)),
    }
}

/// The range asked for: all of time where nothing limits it.
pub(crate) fn range(
    start: Option<Instant>,
    end: Option<Instant>,
    now: Option<Instant>,
) -> Result<Range, Refused> {
    let (start, end) = (start.map(|start| start.0), end.map(|end| end.0));
    Ok(match now {
        Some(now) => Range::available(start, end, now.0)?,
        None => Range::between(start, end)?,
    })
}

#[pyfunction]
#[pyo3(signature = (samples, *, resolution, utc_offset_hours, time_zone, start, end, now))]
pub(crate) fn statistics_series(
    py: Python<'_>,
    samples: Vec<SampleTuple>,
    resolution: &str,
    utc_offset_hours: Option<f64>,
    time_zone: Option<&str>,
    start: Option<Instant>,
    end: Option<Instant>,
    now: Option<Instant>,
) -> Result<Vec<ItemTuple>, Refused> {
    let samples = self::samples(samples)?;
    let buckets = self::buckets(resolution, utc_offset_hours, time_zone)?;
    let range = self::range(start, end, now)?;
    let items = py.detach(|| charging::series(&samples, buckets, range))?;
    if items.len() > ITEMS_MAX {
        let text = format!("samples fill {} buckets; a list holds {ITEMS_MAX}", items.len());
        return Err(Refused::Input(format!("{text}, statistics.aggregate tells any number")));
    }
    let item = |item: &charging::Item| {
        let instead = item.totals.non_smart.as_ref().map(non_smart);
        (item.label, totals(&item.totals), instead)
    };
    Ok(items.iter().map(item).collect())
}

#[pyfunction]
#[pyo3(signature = (samples))]
pub(crate) fn statistics_session(
    samples: Vec<SampleTuple>,
) -> Result<Option<SessionTuple>, Refused> {
    let item = sessions::session(&self::samples(samples)?)?;
    Ok(item.map(|item| {
        let instead = item.totals.non_smart.as_ref().map(non_smart);
        (item.from, item.to, totals(&item.totals), instead)
    }))
}

#[pyfunction]
#[pyo3(signature = (record, *, version))]
pub(crate) fn statistics_members(
    record: &str,
    version: Option<&str>,
) -> Result<Vec<&'static str>, Refused> {
    Ok(Shape::of_version(version)?.members(Record::from_name(record)?))
}

#[pyfunction]
#[pyo3(signature = (at, *, resolution, utc_offset_hours, time_zone))]
pub(crate) fn bucket_label(
    at: Instant,
    resolution: &str,
    utc_offset_hours: Option<f64>,
    time_zone: Option<&str>,
) -> Result<DateTime<Utc>, Refused> {
    Ok(buckets(resolution, utc_offset_hours, time_zone)?.label(at.0))
}

#[pyfunction]
pub(crate) fn utc_offset_minutes(hours: f64) -> Result<i64, Refused> {
    Ok(UtcOffset::from_hours(hours)?.as_minutes())
}

#[pyfunction]
#[pyo3(signature = (*, start, end, now))]
pub(crate) fn available_range(
    start: Option<Instant>,
    end: Option<Instant>,
    now: Instant,
) -> Result<(DateTime<Utc>, DateTime<Utc>), Refused> {
    let range = range(start, end, Some(now))?;
    Ok((range.start, range.end))
}

/// See `slackwater.statistics.freeze_session`.
#[pyfunction]
#[pyo3(signature = (samples, prices, *, plugged_in, power_max_kw, is_smart))]
pub(crate) fn freeze_session(
    py: Python<'_>,
    samples: Vec<SampleTuple>,
    prices: &Prices,
    plugged_in: Instant,
    power_max_kw: f64,
    is_smart: bool,
) -> Result<(Vec<SampleBack>, Option<String>), Refused> {
    let session = savings::Session {
        plugged_in: plugged_in.0,
        power_max: Power::from_kw(power_max_kw).named("power_max_kw")?,
        is_smart,
        samples: self::samples(samples)?,
    };
    let frozen = py.detach(|| savings::freeze(&session, &prices.curve))?;
    for sample in &frozen.samples {
        // Energy at next to no power takes longer than there are years.
        in_calendar(sample.end).named("the same energy at power_max_kw from plugged_in on")?;
    }
    let savings = frozen.savings().map(|savings: Amount| savings.to_string());
    Ok((frozen.samples.iter().map(back).collect(), savings))
}

fn series(series: Result<hem::Series, Unavailable>) -> SeriesTuple {
    match series {
        Err(reason) => (None, Vec::new(), Some(reason.to_string())),
        Ok(series) => {
            let points = series.data.iter().map(|point| (point.at, point.value)).collect();
            (Some(series.unit.as_str()), points, None)
        }
    }
}

fn system(zone: &str, bucket_minutes: i64) -> Result<System, Refused> {
    Ok(System::new(time_zone(zone)?, bucket_minutes)?)
}

#[pyfunction]
#[pyo3(signature = (samples, *, period, value, time_zone, bucket_minutes))]
pub(crate) fn hem_flow(
    py: Python<'_>,
    samples: Vec<SampleTuple>,
    period: &str,
    value: &str,
    time_zone: &str,
    bucket_minutes: i64,
) -> Result<SeriesTuple, Refused> {
    let samples = self::samples(samples)?;
    sample::check(&samples)?;
    let system = system(time_zone, bucket_minutes)?;
    let period = Period::parse(period, value)?;
    Ok(series(py.detach(|| system.flow(period, &samples))))
}

#[pyfunction]
#[pyo3(signature = (readings, *, period, value, time_zone, bucket_minutes))]
pub(crate) fn hem_battery_level(
    readings: Option<Vec<(Instant, f64)>>,
    period: &str,
    value: &str,
    time_zone: &str,
    bucket_minutes: i64,
) -> Result<SeriesTuple, Refused> {
    let reading = |(index, (at, soc)): (usize, (Instant, f64))| {
        let name = format!("readings[{index}].soc_percent");
        Ok::<_, Refused>((at.0, Percent::from_percent(soc).named(&name)?))
    };
    let readings = readings
        .map(|readings| {
            readings.into_iter().enumerate().map(reading).collect::<Result<Vec<_>, _>>()
        })
        .transpose()?;
    let period = Period::parse(period, value)?;
    Ok(series(system(time_zone, bucket_minutes)?.battery_level(period, readings.as_deref())))
}

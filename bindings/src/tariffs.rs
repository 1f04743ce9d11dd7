//! Tariffs, and which of several prices counts.
use chrono_tz::Tz;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::prices::resolve::{Sources, resolve, resolve_at};
use slackwater_engine::prices::tariff::{
    IntervalRequest, RateRequest, Rates, Tariff, WeeklyIntervals,
};
use slackwater_engine::units::Price;

use crate::error::{InputError, Refused};
use crate::prices::Prices;
use crate::time::{ClockTime, Instant, time_zone};

/// A number that should be a weekday.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weekday(i64);

impl<'py> FromPyObject<'_, 'py> for Weekday {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        value.extract().map(Self).map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(value.py()) {
                InputError::new_err("weekdays has a number beyond 64 bits; 6 is Sunday")
            } else {
                error
            }
        })
    }
}

type RateTuple = (String, String);
type IntervalTuple = (String, Option<Vec<Weekday>>, Option<ClockTime>, Option<ClockTime>);
/// Rates, intervals, currency, time zone.
type TariffTuple = (Vec<RateTuple>, Vec<IntervalTuple>, String, String);

fn rates(given: Vec<RateTuple>) -> Result<Rates, Refused> {
    let rate = |(name, cost)| RateRequest { name, cost };
    Ok(Rates::new(&given.into_iter().map(rate).collect::<Vec<_>>())?)
}

fn intervals(given: Vec<IntervalTuple>) -> Result<WeeklyIntervals, Refused> {
    let mut requests = Vec::with_capacity(given.len());
    for (index, (name, weekdays, start, end)) in given.into_iter().enumerate() {
        let time = |time: Option<ClockTime>, member: &str| {
            let name = format!("intervals[{index}].{member}");
            time.map(|time| time.hour_minute(&name)).transpose()
        };
        let (start, end) = (time(start, "start")?, time(end, "end")?);
        let weekdays = weekdays.map(|days| days.iter().map(|day| day.0).collect());
        requests.push(IntervalRequest { name, weekdays, start, end });
    }
    Ok(WeeklyIntervals::new(requests)?)
}

/// A tariff with its time zone and its currency.
fn tariff(given: TariffTuple) -> Result<(Tariff, Tz, String), Refused> {
    let (rate_tuples, interval_tuples, currency, zone) = given;
    let tariff = Tariff::new(rates(rate_tuples)?, intervals(interval_tuples)?)?;
    Ok((tariff, time_zone(&zone)?, currency))
}

/// The one currency of all that is given.
fn one_currency(currencies: &[&str]) -> Result<String, Refused> {
    let Some(&first) = currencies.first() else {
        return Err(Refused::Input("give a tariff, market prices or a price signal".into()));
    };
    match currencies.iter().find(|&&currency| currency != first) {
        Some(other) => {
            Err(Refused::Input(format!("prices are in {first} and in {other}; give one currency")))
        }
        None => Ok(first.into()),
    }
}

/// The currency of the sources that are given.
fn currency_of(
    price_signal: Option<&Prices>,
    tariff: Option<&(Tariff, Tz, String)>,
    market: Option<&Prices>,
) -> Result<String, Refused> {
    let currencies = [
        price_signal.map(Prices::currency),
        tariff.map(|(_, _, currency)| currency.as_str()),
        market.map(Prices::currency),
    ];
    one_currency(&currencies.into_iter().flatten().collect::<Vec<_>>())
}

#[pyfunction]
pub(crate) fn check_rates(rates: Vec<RateTuple>) -> Result<(), Refused> {
    self::rates(rates).map(|_| ())
}

#[pyfunction]
pub(crate) fn check_intervals(intervals: Vec<IntervalTuple>) -> Result<(), Refused> {
    self::intervals(intervals).map(|_| ())
}

#[pyfunction]
pub(crate) fn tariff_prices(
    py: Python<'_>,
    tariff: TariffTuple,
    start: Instant,
    end: Instant,
) -> Result<Prices, Refused> {
    let (tariff, zone, currency) = self::tariff(tariff)?;
    let curve = py.detach(|| tariff.curve(zone, start.0, end.0))?;
    Ok(Prices::new(curve, currency))
}

#[pyfunction]
#[pyo3(signature = (start, end, *, price_signal, tariff, market))]
pub(crate) fn resolve_prices(
    py: Python<'_>,
    start: Instant,
    end: Instant,
    price_signal: Option<&Prices>,
    tariff: Option<TariffTuple>,
    market: Option<&Prices>,
) -> Result<(Prices, Vec<&'static str>), Refused> {
    let tariff = tariff.map(self::tariff).transpose()?;
    let currency = currency_of(price_signal, tariff.as_ref(), market)?;
    let resolved = py.detach(|| {
        let written_out = tariff.map(|(tariff, zone, _)| tariff.curve(zone, start.0, end.0));
        let tariff: Option<PriceCurve> = written_out.transpose()?;
        let sources = Sources {
            price_signal: price_signal.map(|prices| &*prices.curve),
            tariff: tariff.as_ref(),
            market: market.map(|prices| &*prices.curve),
        };
        Ok::<_, Refused>(resolve(sources, start.0, end.0))
    })?;
    let origins = resolved.slots().map(|slot| slot.source.as_str()).collect();
    Ok((Prices::new(resolved.curve().clone(), currency), origins))
}

#[pyfunction]
#[pyo3(signature = (at, *, price_signal, tariff, market))]
pub(crate) fn resolve_price(
    at: Instant,
    price_signal: Option<&Prices>,
    tariff: Option<TariffTuple>,
    market: Option<&Prices>,
) -> Result<Option<(f64, &'static str)>, Refused> {
    let tariff = tariff.map(self::tariff).transpose()?;
    currency_of(price_signal, tariff.as_ref(), market)?;
    let moment = tariff.map(|(tariff, zone, _)| tariff.moment(zone, at.0)).transpose()?;
    let sources = Sources {
        price_signal: price_signal.map(|prices| &*prices.curve),
        tariff: moment.as_ref(),
        market: market.map(|prices| &*prices.curve),
    };
    let found = resolve_at(sources, at.0);
    Ok(found.map(|(price, source)| (Price::as_per_kwh(price), source.as_str())))
}

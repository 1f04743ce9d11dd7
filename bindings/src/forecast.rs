//! Forecasts with the instant at which they were known.
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use slackwater_engine::prices::layers::Standing;
use slackwater_engine::simulate as engine;
use slackwater_engine::simulate::{ForecastBook, NaiveForecast, NaiveRule, publish_day_ahead};

use crate::error::{LookAheadError, Refused};
use crate::prices::Prices;
use crate::time::{ClockTime, Instant, time_zone};

/// Prices that were known from an instant on. See `slackwater.Forecast`.
#[pyclass(frozen, module = "slackwater._engine")]
#[derive(Debug)]
pub(crate) struct Forecast {
    forecast: engine::Forecast,
    currency: std::sync::Arc<str>,
}

impl Forecast {
    pub(crate) fn engine(&self) -> &engine::Forecast {
        &self.forecast
    }
}

/// Use of something that is not known yet, as an exception.
pub(crate) fn looked_ahead(error: engine::LookAhead) -> Refused {
    Refused::Python(LookAheadError::new_err(error.to_string()))
}

#[pymethods]
impl Forecast {
    #[new]
    #[pyo3(signature = (prices, *, known_at, is_final))]
    fn new(prices: &Prices, known_at: Instant, is_final: bool) -> Self {
        let standing = if is_final { Standing::Known } else { Standing::Estimate };
        let curve = (*prices.curve).clone();
        let forecast = engine::Forecast::new(known_at.0, standing, curve);
        Self { forecast, currency: prices.currency.clone() }
    }

    #[getter]
    fn known_at(&self) -> DateTime<Utc> {
        self.forecast.known_at()
    }

    #[getter]
    fn is_final(&self) -> bool {
        self.forecast.standing() == Standing::Known
    }

    #[getter]
    fn currency(&self) -> &str {
        &self.currency
    }

    #[pyo3(signature = (*, at))]
    fn read(&self, at: Instant) -> Result<Prices, Refused> {
        let curve = self.forecast.read(at.0).map_err(looked_ahead)?;
        Ok(Prices::new(curve.clone(), self.currency.clone()))
    }
}

/// See `slackwater.publish_day_ahead`.
#[pyfunction]
#[pyo3(signature = (prices, *, at, time_zone))]
pub(crate) fn published_day_ahead(
    prices: &Prices,
    at: ClockTime,
    time_zone: &str,
) -> Result<Vec<Forecast>, Refused> {
    let zone = self::time_zone(time_zone)?;
    let at = at.hour_minute("at")?.time();
    let forecasts = publish_day_ahead(&prices.curve, at, zone).into_iter();
    Ok(forecasts.map(|forecast| Forecast { forecast, currency: prices.currency.clone() }).collect())
}

/// Prices known at an instant: settled before it, and published or forecast after it. Also the
/// starts of the settled slots from then until `until` for which nothing is known.
/// First instant, and first instant after it.
type Period = (DateTime<Utc>, DateTime<Utc>);

#[pyfunction]
#[pyo3(signature = (settled, forecasts, *, at, until))]
pub(crate) fn known_prices(
    settled: &Prices,
    forecasts: Vec<PyRef<'_, Forecast>>,
    at: Instant,
    until: Instant,
) -> (Prices, Vec<Period>) {
    let book = ForecastBook::new(forecasts.iter().map(|f| f.forecast.clone()).collect());
    let known = book.known_prices(&settled.curve, at.0);
    let ahead = settled.curve.between(at.0, until.0);
    let is_unknown = |slot: &(DateTime<Utc>, DateTime<Utc>)| known.price_at(slot.0).is_none();
    let unknown = ahead.horizon().periods().filter(is_unknown).collect();
    (Prices::new(known, settled.currency.clone()), unknown)
}

/// See `slackwater.SeasonalNaive` and `slackwater.Persistence`.
#[pyfunction]
#[pyo3(signature = (known, at, levels, *, days, time_zone))]
pub(crate) fn naive_quantiles(
    py: Python<'_>,
    known: &Prices,
    at: Vec<Instant>,
    levels: Vec<f64>,
    days: Option<u32>,
    time_zone: &str,
) -> Result<Vec<Vec<f64>>, Refused> {
    if let Some(level) = levels.iter().find(|level| !(0.0..=1.0).contains(*level)) {
        return Err(Refused::Input(format!("levels holds {level}; a level lies between 0 and 1")));
    }
    if days == Some(0) {
        return Err(Refused::Input("days is 0; a season has a day or more".into()));
    }
    let rule = days.map_or(NaiveRule::Persistence, |days| NaiveRule::Seasonal { days });
    let naive = NaiveForecast { rule, time_zone: self::time_zone(time_zone)? };
    let at: Vec<DateTime<Utc>> = at.iter().map(|at| at.0).collect();
    Ok(py.detach(|| naive.quantiles(&known.curve, &at, &levels)))
}

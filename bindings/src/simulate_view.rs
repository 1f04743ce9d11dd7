//! The view of a policy of Python, and one stay that is stepped through.
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::simulate as engine;
use slackwater_engine::simulate::{
    ForecastBook, ForecastBranch, KnownPriceTree, LookAhead, QuantileForecast,
};
use slackwater_engine::units::Price;

use crate::arrow::TableInput;
use crate::error::{Named, Refused};
use crate::forecast::{Forecast, looked_ahead};
use crate::prices::Prices;
use crate::simulate::{ReadStays, Settings};
use crate::time::Instant;

/// Settled prices that a view holds: four weeks back.
const HISTORY: TimeDelta = TimeDelta::days(28);

/// Copies of all that is known of one stay at one instant. See `slackwater.View`.
#[pyclass(frozen, subclass, module = "slackwater._engine")]
#[derive(Debug, Clone)]
pub(crate) struct View {
    /// Position of the stay in the table.
    #[pyo3(get)]
    stay: usize,
    /// The present, in UTC.
    #[pyo3(get)]
    now: DateTime<Utc>,
    /// Next instant of decision.
    #[pyo3(get)]
    until: DateTime<Utc>,
    /// When the vehicle was plugged in.
    #[pyo3(get)]
    arrival: DateTime<Utc>,
    /// When it leaves.
    #[pyo3(get)]
    departure: DateTime<Utc>,
    /// Energy at the plug that is still needed.
    #[pyo3(get)]
    missing_kwh: f64,
    /// Highest power that the device can draw.
    #[pyo3(get)]
    power_max_kw: f64,
    prices: SeenPrices,
}

/// Prices that a view hands out: those known now, and the settled ones of four weeks back.
#[derive(Debug, Clone)]
pub(crate) struct SeenPrices {
    now: DateTime<Utc>,
    known: Arc<PriceCurve>,
    past: Arc<PriceCurve>,
    currency: Arc<str>,
}

impl SeenPrices {
    /// Prices that are known at a moment.
    pub(crate) fn new(moment: &engine::Moment<'_>, currency: &Arc<str>) -> Self {
        let now = moment.now();
        Self {
            now,
            known: Arc::new(moment.prices()),
            past: Arc::new(moment.history(now - HISTORY)),
            currency: currency.clone(),
        }
    }

    /// Another curve in the currency of these prices.
    pub(crate) fn wrap_curve(&self, curve: &Arc<PriceCurve>) -> Prices {
        Prices::new(curve.clone(), self.currency.clone())
    }

    /// Prices from now on.
    pub(crate) fn known_prices(&self) -> Prices {
        self.wrap_curve(&self.known)
    }

    /// Settled prices before now.
    pub(crate) fn past_prices(&self) -> Prices {
        self.wrap_curve(&self.past)
    }

    /// Price per kWh at an instant, if it is known now.
    pub(crate) fn find_price(&self, at: Instant) -> Result<f64, Refused> {
        let curve = if at.0 < self.now { &self.past } else { &self.known };
        let unknown = LookAhead::Price { at: at.0, now: self.now };
        let price = curve.price_at(at.0).ok_or(unknown).map_err(looked_ahead)?;
        Ok(Price::as_per_kwh(price))
    }
}

/// A forecast, and its quantiles as pairs of a level and a forecast of the prices at it.
type LevelsTuple<'py> = (PyRef<'py, Forecast>, Vec<(f64, PyRef<'py, Forecast>)>);

/// Certain prices, and branches as pairs of a probability and prices.
type TreeTuple = (Prices, Vec<(f64, Prices)>);

impl View {
    pub(crate) fn new(view: &engine::View<'_>, currency: &Arc<str>) -> Self {
        Self {
            stay: view.row(),
            now: view.now(),
            until: view.until(),
            arrival: view.arrival(),
            departure: view.departure(),
            missing_kwh: view.missing().as_kwh(),
            power_max_kw: view.power_max().as_kw(),
            prices: SeenPrices::new(view, currency),
        }
    }
}

#[pymethods]
impl View {
    /// Makes the class of Python, which takes forecasts beside the view.
    #[new]
    #[pyo3(signature = (native, *_rest: "object"))]
    fn from_native(native: &Self, _rest: &Bound<'_, PyTuple>) -> Self {
        native.clone()
    }

    #[getter(_known)]
    fn prices(&self) -> Prices {
        self.prices.known_prices()
    }

    #[getter(_past)]
    fn history(&self) -> Prices {
        self.prices.past_prices()
    }

    #[pyo3(signature = (at))]
    fn price_at(&self, at: Instant) -> Result<f64, Refused> {
        self.prices.find_price(at)
    }

    /// Certain prices, and the probabilities and prices of the branches that may follow. Forecasts
    /// come with their quantiles, as pairs of a level and a forecast of the prices at it.
    #[pyo3(name = "_price_tree")]
    fn price_tree(&self, forecasts: Vec<LevelsTuple<'_>>) -> Result<TreeTuple, Refused> {
        let mut known_forecasts = Vec::with_capacity(forecasts.len());
        for (forecast, quantiles) in &forecasts {
            let levels = quantiles.iter();
            let read =
                levels.map(|(level, at_level)| Ok((*level, at_level.engine().read(self.now)?)));
            let quantiles = read.collect::<Result<_, LookAhead>>().map_err(looked_ahead)?;
            known_forecasts.push(QuantileForecast { forecast: forecast.engine(), quantiles });
        }
        let known = &self.prices.known;
        let tree = KnownPriceTree::new(known, (self.now, self.departure), &known_forecasts);
        let wrap = |curve: PriceCurve| self.prices.wrap_curve(&Arc::new(curve));
        let branch = |ForecastBranch { probability, prices }| (probability, wrap(prices));
        Ok((wrap(tree.certain), tree.branches.into_iter().map(branch).collect()))
    }

    /// Known price at `count` instants from now on, a step apart; NaN where nothing is known.
    #[pyo3(name = "_sample")]
    fn sample(&self, step: TimeDelta, count: usize) -> Vec<f64> {
        let mut at = Some(self.now);
        let sample = |_| {
            let price = at.and_then(|at| self.prices.known.price_at(at));
            at = at.and_then(|at| at.checked_add_signed(step));
            price.map_or(f64::NAN, Price::as_per_kwh)
        };
        (0..count).map(sample).collect()
    }
}

/// Checks stays, and counts them.
#[pyfunction]
#[pyo3(signature = (stays, prices, *, settings))]
pub(crate) fn count_stays(
    stays: TableInput,
    prices: &Prices,
    settings: Settings,
) -> Result<usize, Refused> {
    settings.options()?;
    Ok(settings.facts(&ReadStays::new(stays)?, prices)?.stays().len())
}

/// One stay, from decision to decision. See `slackwater.gym`.
#[pyclass(frozen, module = "slackwater._engine")]
pub(crate) struct Episode {
    episode: Mutex<engine::Episode>,
    currency: Arc<str>,
}

/// Energy in kWh, energy missing in kWh, cost, reward, and whether the vehicle has left.
type StepTuple = (f64, f64, f64, f64, bool);

#[pymethods]
impl Episode {
    #[new]
    #[pyo3(signature = (stays, row, prices, forecasts, *, settings))]
    fn new(
        stays: TableInput,
        row: usize,
        prices: &Prices,
        forecasts: Vec<PyRef<'_, Forecast>>,
        settings: Settings,
    ) -> Result<Self, Refused> {
        let facts = settings.facts(&ReadStays::new(stays)?.keep_only(row)?, prices)?;
        let book = ForecastBook::new(forecasts.iter().map(|f| f.engine().clone()).collect());
        let episode = engine::Episode::new(facts, book.into(), &settings.options()?)?;
        let episode = episode.ok_or_else(|| Refused::Input("stays holds no row".into()))?;
        Ok(Self { episode: Mutex::new(episode), currency: prices.currency.clone() })
    }

    /// Facts that are known now; `None` after the departure.
    fn view(&self) -> Option<View> {
        let episode = self.episode.lock().unwrap_or_else(PoisonError::into_inner);
        episode.view().map(|view| View::new(&view, &self.currency))
    }

    /// Holds a share of the highest power until the next decision; `None` after the departure.
    fn advance(&self, share: f64) -> Result<Option<StepTuple>, Refused> {
        let mut episode = self.episode.lock().unwrap_or_else(PoisonError::into_inner);
        let made = episode.advance_by_share(share).named("action")?;
        Ok(made.map(|engine::EpisodeStep { step, has_left, reward }| {
            let (cost, reward) = (step.cost.as_units(), reward.as_units());
            (step.energy_kwh, step.missing_kwh, cost, reward, has_left)
        }))
    }
}

//! `Prices`: a price curve with its currency.
use std::sync::Arc;

use arrow_array::Array;
use chrono::{DateTime, TimeDelta, Utc};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use slackwater_engine::plan::record as engine;
use slackwater_engine::prices::combine::CombineError;
use slackwater_engine::prices::curve::{CurveError, PriceCurve};
use slackwater_engine::prices::layers::{Layer, LayerError, LayeredPrices, Standing};
use slackwater_engine::prices::table::PriceTable;
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::Price;

use crate::arrow::{Columns, Table, TableInput};
use crate::carbon::EmissionPrice;
use crate::doubts::{warn_of_prices, warn_of_result};
use crate::error::{Named, Refused};
use crate::provenance::{LayerTuple, layer};
use crate::series::{self, SlotTuple};
use crate::time::Instant;

/// A price curve with its currency. See `slackwater.Prices`.
#[pyclass(frozen, module = "slackwater._engine")]
#[derive(Debug)]
pub(crate) struct Prices {
    pub(crate) curve: Arc<PriceCurve>,
    pub(crate) currency: Arc<str>,
    /// Where the prices come from, where that was said.
    pub(crate) layers: Option<Arc<LayeredPrices>>,
    /// The price of emissions that they hold, where it was added.
    pub(crate) emissions: Option<engine::EmissionPrice>,
}

/// Source of a layer, whether it is an estimate, its ceiling and its prices.
type LayerOut = (String, bool, Option<f64>, Prices);

/// Start, end, price, source, and whether the price is an estimate.
type SourcedTuple = (DateTime<Utc>, DateTime<Utc>, f64, String, bool);

impl Prices {
    /// A curve in a currency.
    pub(crate) fn new(curve: impl Into<Arc<PriceCurve>>, currency: impl Into<Arc<str>>) -> Self {
        Self { curve: curve.into(), currency: currency.into(), layers: None, emissions: None }
    }

    /// The prices with their sources; without any they are known, of the source `prices`.
    pub(crate) fn layered(&self) -> Result<LayeredPrices, Refused> {
        if let Some(layers) = &self.layers {
            return Ok(LayeredPrices::clone(layers));
        }
        let (source, curve) = ("prices".to_owned(), PriceCurve::clone(&self.curve));
        let standing = Standing::Known;
        Ok(LayeredPrices::new(vec![Layer { source, standing, ceiling: None, curve }])?)
    }

    /// Periods whose price is an estimate.
    pub(crate) fn estimated(&self) -> Horizon {
        self.layers.as_ref().map(|layers| layers.estimated()).unwrap_or_default()
    }

    /// The same change to the prices and to each of their layers.
    fn changed(
        &self,
        curve: impl FnOnce(&PriceCurve) -> Result<PriceCurve, CurveError>,
        layers: impl FnOnce(&LayeredPrices) -> Result<LayeredPrices, LayerError>,
    ) -> Result<Self, Refused> {
        match &self.layers {
            Some(layered) => Ok(self.of_layers(layers(layered)?)),
            None => Ok(self.in_same_currency(curve(&self.curve)?)),
        }
    }

    /// Refuses prices in another currency.
    pub(crate) fn require_same_currency(&self, other: &Self) -> Result<(), Refused> {
        if self.currency == other.currency {
            return Ok(());
        }
        let text =
            format!("prices are in {} and in {}; give one currency", self.currency, other.currency);
        Err(Refused::Input(text))
    }

    fn of_layers(&self, layered: LayeredPrices) -> Self {
        let curve = Arc::new(layered.curve().clone());
        Self { layers: Some(layered.into()), ..Self::new(curve, self.currency.clone()) }
    }

    /// The prices, after a warning if they are unlikely and those that they come from are not.
    fn doubted(self, py: Python<'_>, from: &[&Self]) -> Result<Self, Refused> {
        let from: Vec<&[f64]> = from.iter().map(|prices| prices.curve.prices()).collect();
        warn_of_result(py, &self.currency, self.curve.prices(), &from)?;
        Ok(self)
    }

    fn in_same_currency(&self, curve: PriceCurve) -> Self {
        Self::new(curve, self.currency.clone())
    }
}

#[pymethods]
impl Prices {
    #[staticmethod]
    #[pyo3(signature = (slots, *, currency))]
    fn from_slots(
        py: Python<'_>,
        slots: Vec<(Instant, Instant, f64)>,
        currency: String,
    ) -> Result<Self, Refused> {
        let horizon = Horizon::new(slots.iter().map(|slot| (slot.0.0, slot.1.0)))?;
        let prices: Vec<f64> = slots.iter().map(|slot| slot.2).collect();
        warn_of_prices(py, &currency, &prices)?;
        Ok(Self::new(PriceCurve::from_parts(horizon, prices)?, currency))
    }

    #[staticmethod]
    #[pyo3(signature = (start, prices, *, slot, currency))]
    fn from_steps(
        py: Python<'_>,
        start: Instant,
        prices: Vec<f64>,
        slot: TimeDelta,
        currency: String,
    ) -> Result<Self, Refused> {
        let horizon = Horizon::steps(start.0, slot, prices.len()).named("slot")?;
        warn_of_prices(py, &currency, &prices)?;
        Ok(Self::new(PriceCurve::from_parts(horizon, prices)?, currency))
    }

    #[staticmethod]
    #[pyo3(signature = (data, *, currency, start, end, price))]
    fn from_arrow(
        py: Python<'_>,
        data: TableInput,
        currency: String,
        start: &str,
        end: &str,
        price: &str,
    ) -> Result<Self, Refused> {
        let mut periods = Vec::new();
        let mut prices = Vec::new();
        for batch in crate::arrow::batches(data)? {
            let columns = Columns::new(&batch);
            let starts = columns.times(start)?;
            let ends = columns.times(end)?;
            let column = columns.numbers(price)?;
            Columns::refuse_nulls(start, &starts, periods.len())?;
            Columns::refuse_nulls(end, &ends, periods.len())?;
            // A slot without a price is a gap.
            for row in (0..batch.num_rows()).filter(|&row| column.is_valid(row)) {
                if column.value(row).is_nan() {
                    let slot = periods.len();
                    return Err(Refused::Input(format!(
                        "price of slot {slot}: NaN per kWh is no price; a slot without one is \
                         null, or left out"
                    )));
                }
                periods.push((starts.value(row), ends.value(row)));
                prices.push(column.value(row));
            }
        }
        warn_of_prices(py, &currency, &prices)?;
        let curve = PriceCurve::from_parts(Horizon::from_micros(periods)?, prices)?;
        Ok(Self::new(curve, currency))
    }

    #[staticmethod]
    fn from_layers(layers: Vec<LayerTuple<'_>>, currency: String) -> Result<Self, Refused> {
        if let Some((source, _, _, prices)) = layers.iter().find(|l| *l.3.currency != *currency) {
            let theirs = &prices.currency;
            let text = format!("prices of {source} are in {theirs}, the others in {currency}");
            return Err(Refused::Input(text));
        }
        let layers = layers.iter().enumerate().map(layer).collect::<Result<_, _>>()?;
        let layered = LayeredPrices::new(layers)?;
        let curve = Arc::new(layered.curve().clone());
        Ok(Self { layers: Some(layered.into()), ..Self::new(curve, currency) })
    }

    fn layers(&self) -> Option<Vec<LayerOut>> {
        let out = |layer: &Layer| {
            let is_estimate = layer.standing == Standing::Estimate;
            let prices = self.in_same_currency(layer.curve.clone());
            (layer.source.clone(), is_estimate, layer.ceiling.map(Price::as_per_kwh), prices)
        };
        self.layers.as_ref().map(|layered| layered.layers().iter().map(out).collect())
    }

    fn sourced_slots(&self) -> Result<Vec<SourcedTuple>, Refused> {
        let layered = self.layered()?;
        let sourced = layered.slots().map(|slot| {
            let is_estimate = slot.layer.standing == Standing::Estimate;
            let source = slot.layer.source.clone();
            (slot.start, slot.end, slot.price.as_per_kwh(), source, is_estimate)
        });
        Ok(sourced.collect())
    }

    #[getter]
    pub(crate) fn currency(&self) -> &str {
        &self.currency
    }

    fn __len__(&self) -> usize {
        self.curve.len()
    }

    #[getter]
    fn unit(&self) -> String {
        format!("{}/kWh", self.currency)
    }

    #[getter]
    fn slots(&self) -> Vec<SlotTuple> {
        series::slots(&self.curve)
    }

    fn ends(&self) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
        self.curve.ends()
    }

    fn summary(&self) -> Option<(f64, f64, f64)> {
        series::summary(&self.curve)
    }

    fn value_at(&self, at: Instant) -> Option<f64> {
        self.curve.price_at(at.0).map(Price::as_per_kwh)
    }

    #[getter]
    fn gaps(&self) -> Vec<(DateTime<Utc>, DateTime<Utc>)> {
        self.curve.gaps()
    }

    fn between(&self, start: Instant, end: Instant) -> Result<Self, Refused> {
        let (start, end) = (start.0, end.0);
        self.changed(|curve| Ok(curve.between(start, end)), |layers| layers.between(start, end))
    }

    fn plus(&self, py: Python<'_>, per_kwh: f64) -> Result<Self, Refused> {
        let fee = Price::from_per_kwh(per_kwh).named("per_kwh")?;
        self.changed(|curve| curve.plus_price(fee), |layers| layers.plus_price(fee))?
            .doubted(py, &[self])
    }

    fn times(&self, py: Python<'_>, factor: f64) -> Result<Self, Refused> {
        self.changed(|curve| curve.times(factor), |layers| layers.times(factor))?
            .doubted(py, &[self])
    }

    fn plus_other(&self, py: Python<'_>, other: &Self, cut: bool) -> Result<Self, Refused> {
        if self.currency != other.currency {
            let (mine, theirs) = (&self.currency, &other.currency);
            return Err(Refused::Input(format!(
                "prices in {mine} and in {theirs} cannot be added"
            )));
        }
        if !cut {
            self.curve.check_same_time(&other.curve)?;
        }
        let sum = match &other.layers {
            // Estimates of either are estimates of the sum.
            Some(layers) => {
                let (mine, layers) = (self.layered()?, layers.clone());
                self.of_layers(mine.plus_layered(&layers)?)
            }
            None => self.changed(|curve| curve.plus(&other.curve), |own| own.plus(&other.curve))?,
        };
        sum.doubted(py, &[self, other])
    }

    fn plus_emissions(&self, py: Python<'_>, emissions: &EmissionPrice) -> Result<Self, Refused> {
        if self.emissions.is_some() {
            let text = "carbon: these prices hold a price of emissions already";
            return Err(Refused::Input(text.into()));
        }
        // All prices have to be covered, so that none is dropped by the sum.
        emissions.0.check(&self.curve).named("carbon")?;
        let each = emissions.0.intensity().times(emissions.0.price_per_kg())?;
        let summed = self.changed(|curve| curve.plus(&each), |own| own.plus(&each))?;
        summed.holding(Some(emissions))?.doubted(py, &[self])
    }

    /// The same prices, of which a part is the price of emissions.
    fn holding(&self, emissions: Option<&EmissionPrice>) -> Result<Self, Refused> {
        if let Some(emissions) = emissions {
            emissions.0.check(&self.curve).named("carbon")?;
        }
        let (layers, emissions) = (self.layers.clone(), emissions.map(|one| one.0.clone()));
        Ok(Self { layers, emissions, ..Self::new(self.curve.clone(), self.currency.clone()) })
    }

    /// The price of emissions that they hold; `None` if none was added.
    #[getter]
    fn emissions(&self) -> Option<EmissionPrice> {
        self.emissions.clone().map(EmissionPrice)
    }

    fn resampled(&self, resolution: &str, time_zone: &str, how: &str) -> Result<Self, Refused> {
        let (buckets, summary) = series::resampling(resolution, time_zone, how)?;
        self.changed(
            |curve| Ok(curve.resampled(|at| buckets.period(at), summary)),
            |layers| layers.resampled(|at| buckets.period(at), summary),
        )
    }

    #[staticmethod]
    fn concat(series: Vec<PyRef<'_, Self>>) -> Result<Self, Refused> {
        let first = series.first().ok_or_else(|| Refused::Input("series holds none".into()))?;
        if series.iter().all(|one| one.layers.is_none()) {
            let curves: Vec<&PriceCurve> = series.iter().map(|one| &*one.curve).collect();
            return Ok(first.in_same_currency(PriceCurve::concat(&curves).named("series")?));
        }
        let layered = series.iter().map(|one| one.layered()).collect::<Result<Vec<_>, _>>()?;
        let layered: Vec<&LayeredPrices> = layered.iter().collect();
        let all: Result<LayeredPrices, CombineError> = LayeredPrices::concat(&layered);
        Ok(first.of_layers(all.named("series")?))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.currency == other.currency && self.curve == other.curve && self.layers == other.layers
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> Result<Bound<'py, PyCapsule>, Refused> {
        let batch = series::record_batch(&self.curve, "price_per_kwh")?;
        Table::in_currency(batch, &self.currency)?.stream(py, requested_schema)
    }
}

/// Many price curves by their `price_id`.
#[pyclass(frozen, module = "slackwater._engine")]
#[derive(Debug)]
pub(crate) struct PriceCurves {
    pub(crate) table: PriceTable,
    pub(crate) ids: Vec<String>,
    /// Periods of estimates of each curve.
    pub(crate) estimated: Vec<Horizon>,
    currency: Arc<str>,
}

#[pymethods]
impl PriceCurves {
    #[staticmethod]
    #[pyo3(signature = (curves, *, ids))]
    fn from_prices(curves: Vec<PyRef<'_, Prices>>, ids: Vec<String>) -> Result<Self, Refused> {
        let Some(first) = curves.first() else {
            return Err(Refused::Input("prices holds no price curve".into()));
        };
        let currency = first.currency.clone();
        if let Some(other) = curves.iter().find(|curve| curve.currency != currency) {
            let text =
                format!("prices are in {currency} and in {}; give one currency", other.currency);
            return Err(Refused::Input(text));
        }
        let estimated = curves.iter().map(|prices| prices.estimated()).collect();
        let curves: Vec<PriceCurve> =
            curves.iter().map(|prices| PriceCurve::clone(&prices.curve)).collect();
        Ok(Self { table: PriceTable::from_curves(&curves), ids, estimated, currency })
    }

    #[getter]
    pub(crate) fn currency(&self) -> &str {
        &self.currency
    }

    fn __len__(&self) -> usize {
        self.table.len()
    }
}

//! `Prices`: a price curve with its currency.
use std::sync::Arc;

use arrow_array::{Array, Float64Array, RecordBatch, TimestampMicrosecondArray};
use chrono::{DateTime, TimeDelta, Utc};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::input::AnyRecordBatch;
use slackwater_engine::prices::curve::{CurveError, PriceCurve};
use slackwater_engine::prices::layers::{Layer, LayerError, LayeredPrices, Standing};
use slackwater_engine::prices::table::PriceTable;
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::Price;

use crate::arrow::{Columns, Table, utc};
use crate::doubts::warn_of_prices;
use crate::error::{Named, Refused};
use crate::provenance::{LayerTuple, layer};
use crate::time::Instant;

/// A price curve with its currency. See `slackwater.Prices`.
#[pyclass(frozen, module = "slackwater._engine")]
#[derive(Debug)]
pub(crate) struct Prices {
    pub(crate) curve: Arc<PriceCurve>,
    pub(crate) currency: Arc<str>,
    /// Where the prices come from, where that was said.
    pub(crate) layers: Option<Arc<LayeredPrices>>,
}

/// Source of a layer, whether it is an estimate, its ceiling and its prices.
type LayerOut = (String, bool, Option<f64>, Prices);

type SlotTuple = (DateTime<Utc>, DateTime<Utc>, f64);

/// Start, end, price, source, and whether the price is an estimate.
type SourcedTuple = (DateTime<Utc>, DateTime<Utc>, f64, String, bool);

impl Prices {
    /// A curve in a currency.
    pub(crate) fn new(curve: impl Into<Arc<PriceCurve>>, currency: impl Into<Arc<str>>) -> Self {
        Self { curve: curve.into(), currency: currency.into(), layers: None }
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

    /// The same change to the prices and to each of their layers.
    fn changed(
        &self,
        curve: impl FnOnce(&PriceCurve) -> Result<PriceCurve, CurveError>,
        layers: impl FnOnce(&LayeredPrices) -> Result<LayeredPrices, LayerError>,
    ) -> Result<Self, Refused> {
        match &self.layers {
            Some(layered) => {
                let layered = layers(layered)?;
                let curve = Arc::new(layered.curve().clone());
                let layers = Some(layered.into());
                Ok(Self { curve, currency: self.currency.clone(), layers })
            }
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
        data: AnyRecordBatch,
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
        Ok(Self { curve, currency: currency.into(), layers: Some(layered.into()) })
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
    fn slots(&self) -> Vec<SlotTuple> {
        self.curve.slots().map(|slot| (slot.start, slot.end, slot.price.as_per_kwh())).collect()
    }

    fn price_at(&self, at: Instant) -> Option<f64> {
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

    fn plus(&self, per_kwh: f64) -> Result<Self, Refused> {
        let fee = Price::from_per_kwh(per_kwh).named("per_kwh")?;
        self.changed(|curve| curve.plus_price(fee), |layers| layers.plus_price(fee))
    }

    fn times(&self, factor: f64) -> Result<Self, Refused> {
        self.changed(|curve| curve.times(factor), |layers| layers.times(factor))
    }

    fn plus_prices(&self, other: &Self) -> Result<Self, Refused> {
        if self.currency != other.currency {
            let (mine, theirs) = (&self.currency, &other.currency);
            return Err(Refused::Input(format!(
                "prices in {mine} and in {theirs} cannot be added"
            )));
        }
        self.changed(|curve| curve.plus(&other.curve), |layers| layers.plus(&other.curve))
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
        let micros = |times: Vec<DateTime<Utc>>| {
            let micros: Vec<i64> = times.iter().map(DateTime::timestamp_micros).collect();
            utc(TimestampMicrosecondArray::from(micros))
        };
        let (starts, ends) = self.curve.horizon().periods().unzip();
        let batch = RecordBatch::try_from_iter([
            ("start", Arc::new(micros(starts)) as _),
            ("end", Arc::new(micros(ends)) as _),
            ("price_per_kwh", Arc::new(Float64Array::from(self.curve.prices().to_vec())) as _),
        ])
        .map_err(crate::arrow::refused)?;
        Table::in_currency(batch, &self.currency)?.stream(py, requested_schema)
    }
}

/// Many price curves by their `price_id`.
#[pyclass(frozen, module = "slackwater._engine")]
#[derive(Debug)]
pub(crate) struct PriceCurves {
    pub(crate) table: PriceTable,
    pub(crate) ids: Vec<String>,
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
        let curves: Vec<PriceCurve> =
            curves.iter().map(|prices| PriceCurve::clone(&prices.curve)).collect();
        Ok(Self { table: PriceTable::from_curves(&curves), ids, currency })
    }

    #[getter]
    pub(crate) fn currency(&self) -> &str {
        &self.currency
    }

    fn __len__(&self) -> usize {
        self.table.len()
    }
}

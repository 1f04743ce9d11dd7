//! `Series`: values over time in a unit, such as a carbon intensity or a load.
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, TimestampMicrosecondArray};
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use slackwater_engine::import::series_unit::{SeriesUnit, parse_series_unit};
use slackwater_engine::prices::combine::Summary;
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::statistics::resolution::Buckets;
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{Power, Price};

use crate::arrow::{Table, refused, utc};
use crate::error::{Named, Refused};
use crate::prices::Prices;
use crate::statistics::buckets;
use crate::time::Instant;

/// Slots and their values.
pub(crate) type SlotTuple = (DateTime<Utc>, DateTime<Utc>, f64);

/// A step function of time and the unit of its values. See `slackwater.Series`.
#[pyclass(frozen, module = "slackwater._engine")]
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) curve: Arc<PriceCurve>,
    unit: Arc<str>,
}

impl Series {
    /// A carbon intensity.
    pub(crate) fn of_intensity(curve: Arc<PriceCurve>) -> Self {
        Self { curve, unit: SeriesUnit::KgPerKwh.name().into() }
    }

    fn with_curve(&self, curve: PriceCurve) -> Self {
        Self { curve: curve.into(), unit: self.unit.clone() }
    }
}

/// Name of a unit, the factor to it, and its currency if it is a price.
type UnitTuple = (String, f64, Option<String>);

/// See `slackwater.Series.from_slots`.
#[pyfunction]
#[pyo3(signature = (unit, *, currency = None))]
pub(crate) fn series_unit(unit: &str, currency: Option<&str>) -> Result<UnitTuple, Refused> {
    let (found, factor) = parse_series_unit(unit, currency).named("unit")?;
    let name = found.name();
    let currency = match found {
        SeriesUnit::Price { currency } => Some(currency),
        SeriesUnit::KgPerKwh | SeriesUnit::Kilowatt => None,
    };
    Ok((name, factor, currency))
}

/// Buckets to resample in, and the value of each.
pub(crate) fn resampling(
    resolution: &str,
    time_zone: &str,
    how: &str,
) -> Result<(Buckets, Summary), Refused> {
    let summary = Summary::ALL.into_iter().find(|known| known.as_str() == how);
    let summary = summary
        .ok_or_else(|| Refused::Input(format!("how is {how:?}; it is one of mean, min, max")))?;
    Ok((buckets(resolution, None, Some(time_zone))?, summary))
}

/// Slots of a curve.
pub(crate) fn slots(curve: &PriceCurve) -> Vec<SlotTuple> {
    curve.slots().map(|slot| (slot.start, slot.end, slot.price.as_per_kwh())).collect()
}

/// Mean, least and largest value; none without a slot.
pub(crate) fn summary(curve: &PriceCurve) -> Option<(f64, f64, f64)> {
    let (least, largest) = curve.extremes()?;
    Some((curve.mean()?.as_per_kwh(), least.as_per_kwh(), largest.as_per_kwh()))
}

/// Columns of a curve: starts, ends and values.
pub(crate) fn record_batch(curve: &PriceCurve, value: &str) -> Result<RecordBatch, Refused> {
    let micros = |times: Vec<DateTime<Utc>>| {
        let micros: Vec<i64> = times.iter().map(DateTime::timestamp_micros).collect();
        Arc::new(utc(TimestampMicrosecondArray::from(micros))) as ArrayRef
    };
    let (starts, ends) = curve.horizon().periods().unzip();
    let values: ArrayRef = Arc::new(Float64Array::from(curve.prices().to_vec()));
    RecordBatch::try_from_iter([("start", micros(starts)), ("end", micros(ends)), (value, values)])
        .map_err(refused)
}

#[pymethods]
impl Series {
    #[staticmethod]
    #[pyo3(signature = (slots, *, unit, factor))]
    fn from_slots(
        slots: Vec<(Instant, Instant, f64)>,
        unit: String,
        factor: f64,
    ) -> Result<Self, Refused> {
        let horizon = Horizon::new(slots.iter().map(|slot| (slot.0.0, slot.1.0)))?;
        let values = slots.iter().map(|slot| slot.2).collect();
        let curve = PriceCurve::from_parts(horizon, values)?;
        Ok(Self { curve: curve.times(factor)?.into(), unit: unit.into() })
    }

    /// Values that were read as if they were prices.
    #[staticmethod]
    #[pyo3(signature = (read, *, unit, factor))]
    fn from_read(read: &Prices, unit: String, factor: f64) -> Result<Self, Refused> {
        Ok(Self { curve: read.curve.times(factor)?.into(), unit: unit.into() })
    }

    #[staticmethod]
    fn concat(series: Vec<PyRef<'_, Self>>) -> Result<Self, Refused> {
        let first = series.first().ok_or_else(|| Refused::Input("series holds none".into()))?;
        let curves: Vec<&PriceCurve> = series.iter().map(|one| &*one.curve).collect();
        Ok(first.with_curve(PriceCurve::concat(&curves).named("series")?))
    }

    #[getter]
    fn unit(&self) -> &str {
        &self.unit
    }

    fn __len__(&self) -> usize {
        self.curve.len()
    }

    #[getter]
    fn slots(&self) -> Vec<SlotTuple> {
        slots(&self.curve)
    }

    fn value_at(&self, at: Instant) -> Option<f64> {
        self.curve.price_at(at.0).map(Price::as_per_kwh)
    }

    #[getter]
    fn gaps(&self) -> Vec<(DateTime<Utc>, DateTime<Utc>)> {
        self.curve.gaps()
    }

    fn ends(&self) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
        self.curve.ends()
    }

    fn summary(&self) -> Option<(f64, f64, f64)> {
        summary(&self.curve)
    }

    fn between(&self, start: Instant, end: Instant) -> Self {
        self.with_curve(self.curve.between(start.0, end.0))
    }

    fn plus(&self, value: f64) -> Result<Self, Refused> {
        Ok(self.with_curve(self.curve.plus_price(Price::from_per_kwh(value)?)?))
    }

    fn times(&self, factor: f64) -> Result<Self, Refused> {
        Ok(self.with_curve(self.curve.times(factor)?))
    }

    fn plus_other(&self, other: &Self, cut: bool) -> Result<Self, Refused> {
        if !cut {
            self.curve.check_same_time(&other.curve)?;
        }
        Ok(self.with_curve(self.curve.plus(&other.curve)?))
    }

    /// Sum of value times power over periods of constant power.
    fn weigh(&self, periods: Vec<(Instant, Instant, f64)>) -> Result<f64, Refused> {
        let period = |(start, end, kw): (Instant, Instant, f64)| {
            Ok::<_, Refused>((start.0, end.0, Power::from_kw(kw)?))
        };
        let periods = periods.into_iter().map(period).collect::<Result<Vec<_>, _>>()?;
        Ok(self.curve.weigh(periods))
    }

    fn resampled(&self, resolution: &str, time_zone: &str, how: &str) -> Result<Self, Refused> {
        let (buckets, summary) = resampling(resolution, time_zone, how)?;
        Ok(self.with_curve(self.curve.resampled(|at| buckets.period(at), summary)))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.unit == other.unit && self.curve == other.curve
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> Result<Bound<'py, PyCapsule>, Refused> {
        let batch = record_batch(&self.curve, "value")?;
        Table::with_metadata(batch, "unit", &self.unit)?.stream(py, requested_schema)
    }
}

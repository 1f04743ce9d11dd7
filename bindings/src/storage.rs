//! Plans of batteries that also give back.
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, TimestampMicrosecondArray};
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use slackwater_engine::plan::charge::{Gap, SocTarget};
use slackwater_engine::plan::record::{GridPrices, SavedRun};
use slackwater_engine::plan::storage::{Consumption, StorageLimit, StorageRequest};
use slackwater_engine::plan::{questions, storage as engine};
use slackwater_engine::units::{Energy, Percent, Power, Price};

use crate::arrow::{Table, refused, utc};
use crate::error::{Named, Refused};
use crate::plan::{BatteryTuple, Interval, NO_PRICE, after_deadline, battery};
use crate::prices::Prices;
use crate::provenance::SourceShare;
use crate::saved::Terms;
use crate::time::{Instant, time_zone};

/// A period of constant prices and limits, used or not.
#[pyclass(frozen, get_all, eq, module = "slackwater")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StorageSlot {
    start: DateTime<Utc>,
    end: DateTime<Utc>,
    import_price_per_kwh: Option<f64>,
    export_price_per_kwh: Option<f64>,
    power_max_kw: f64,
    discharge_max_kw: f64,
    charged_kwh: f64,
    discharged_kwh: f64,
    driven_kwh: f64,
    stored_kwh: f64,
    stored_min_kwh: f64,
    stored_max_kwh: f64,
    charge_limit_kwh: f64,
    soc_percent: f64,
    soc_min_percent: f64,
    soc_max_percent: f64,
    marginal_value_per_kwh: f64,
}

/// What becomes of one target.
#[pyclass(frozen, get_all, eq, module = "slackwater")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StorageOutcome {
    by: Option<DateTime<Utc>>,
    wanted_percent: f64,
    soc_percent: f64,
    shortfall_kwh: f64,
    above_limit_kwh: f64,
    reached_at: Option<DateTime<Utc>>,
}

/// Why a period of charging or discharging is in a plan.
#[pyclass(frozen, get_all, eq, module = "slackwater")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StorageReason {
    start: DateTime<Utc>,
    end: DateTime<Utc>,
    energy_kwh: f64,
    cost: f64,
    price_min_per_kwh: Option<f64>,
    price_max_per_kwh: Option<f64>,
    code: &'static str,
    marginal_value_per_kwh: f64,
    deadline: Option<DateTime<Utc>>,
    counterpart_start: Option<DateTime<Utc>>,
    counterpart_price_per_kwh: Option<f64>,
    sentence: String,
}

/// Cost of a plan, the bound that no plan can undercut, and how it was found.
#[pyclass(frozen, get_all, eq, module = "slackwater")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StorageCertificate {
    cost: f64,
    bound: f64,
    gap: f64,
    is_proved: bool,
    bound_by_values: f64,
    nodes: usize,
}

repr! {
    StorageSlot {
        start, end, import_price_per_kwh, export_price_per_kwh, charged_kwh, discharged_kwh, stored_kwh
    }
    StorageOutcome { by, wanted_percent, soc_percent, shortfall_kwh, above_limit_kwh, reached_at }
    StorageReason { start, end, energy_kwh, cost, code, sentence }
    StorageCertificate { cost, bound, gap, is_proved, nodes }
}

/// A storage plan of the engine.
#[pyclass(frozen, module = "slackwater._engine")]
#[derive(Debug)]
pub(crate) struct StoragePlan {
    run: SavedRun<StorageRequest>,
    terms: Terms,
}

impl StoragePlan {
    /// A plan on the terms of its prices.
    pub(crate) fn new(run: SavedRun<StorageRequest>, terms: Terms) -> Self {
        Self { run, terms }
    }

    fn intended(&self) -> &engine::StoragePlan {
        self.run.plan()
    }
}

#[pymethods]
impl StoragePlan {
    #[getter]
    fn now(&self) -> DateTime<Utc> {
        self.run.request().now
    }

    #[getter]
    fn prices(&self) -> Prices {
        self.terms.import(self.run.prices().import.clone())
    }

    #[getter]
    fn export_prices(&self) -> Option<Prices> {
        self.run.prices().export.clone().map(|curve| self.terms.export(curve))
    }

    fn to_json(&self, py: Python<'_>) -> String {
        py.detach(|| self.terms.to_json(self.run.clone()))
    }

    #[getter]
    fn cost(&self) -> f64 {
        self.intended().cost.as_amount()
    }

    #[getter]
    fn import_cost(&self) -> f64 {
        self.intended().costs.import.as_amount()
    }

    #[getter]
    fn export_revenue(&self) -> f64 {
        self.intended().costs.export.as_amount()
    }

    #[getter]
    fn wear_cost(&self) -> f64 {
        self.intended().costs.wear.as_amount()
    }

    #[getter]
    fn stored_value(&self) -> f64 {
        self.intended().costs.stored.as_amount()
    }

    #[getter]
    fn charged_kwh(&self) -> f64 {
        self.intended().charged.as_kwh()
    }

    #[getter]
    fn discharged_kwh(&self) -> f64 {
        self.intended().discharged.as_kwh()
    }

    #[getter]
    fn capacity_kwh(&self) -> f64 {
        self.intended().capacity.as_kwh()
    }

    #[getter]
    fn shortfall_kwh(&self) -> f64 {
        self.intended().shortfall.as_kwh()
    }

    #[getter]
    fn floor_shortfall_kwh(&self) -> f64 {
        self.intended().floor_shortfall.as_kwh()
    }

    #[getter]
    fn unserved_kwh(&self) -> f64 {
        self.intended().unserved.as_kwh()
    }

    #[getter]
    fn baseline_cost(&self) -> f64 {
        self.intended().baseline_cost.as_amount()
    }

    #[getter]
    fn savings(&self) -> f64 {
        self.intended().savings().as_amount()
    }

    #[getter]
    fn unpriced_hours(&self) -> f64 {
        self.intended().unpriced_hours
    }

    #[getter]
    fn sources(&self) -> Result<Vec<SourceShare>, Refused> {
        let price = |price: Option<Price>| price.unwrap_or(Price::ZERO);
        let slots = self.intended().slots.iter();
        let bought = slots.map(|slot| (slot.start, slot.charged, price(slot.import_price)));
        Ok(SourceShare::all(questions::shares(&self.prices().layered()?, bought)))
    }

    #[getter]
    fn export_sources(&self) -> Result<Vec<SourceShare>, Refused> {
        let Some(prices) = self.export_prices() else { return Ok(Vec::new()) };
        let price = |price: Option<Price>| price.unwrap_or(Price::ZERO);
        let slots = self.intended().slots.iter();
        let sold = slots.map(|slot| (slot.start, slot.discharged, price(slot.export_price)));
        Ok(SourceShare::all(questions::shares(&prices.layered()?, sold)))
    }

    #[getter]
    fn intervals(&self) -> Vec<Interval> {
        self.intended().intervals.iter().map(Interval::new).collect()
    }

    #[getter]
    fn slots(&self) -> Vec<StorageSlot> {
        let capacity = self.intended().capacity;
        let soc = |stored: Energy| Percent::filled(stored, capacity).as_percent();
        let slot = |slot: &engine::StorageSlot| StorageSlot {
            start: slot.start,
            end: slot.end,
            import_price_per_kwh: slot.import_price.map(Price::as_per_kwh),
            export_price_per_kwh: slot.export_price.map(Price::as_per_kwh),
            power_max_kw: slot.charge_max.as_kw(),
            discharge_max_kw: slot.discharge_max.as_kw(),
            charged_kwh: slot.charged.as_kwh(),
            discharged_kwh: slot.discharged.as_kwh(),
            driven_kwh: slot.driven.as_kwh(),
            stored_kwh: slot.stored.as_kwh(),
            stored_min_kwh: slot.stored_min.as_kwh(),
            stored_max_kwh: slot.stored_max.as_kwh(),
            charge_limit_kwh: slot.charge_limit.as_kwh(),
            soc_percent: soc(slot.stored),
            soc_min_percent: soc(slot.stored_min),
            soc_max_percent: soc(slot.stored_max),
            marginal_value_per_kwh: slot.marginal_value.as_per_kwh(),
        };
        self.intended().slots.iter().map(slot).collect()
    }

    #[getter]
    fn targets(&self) -> Vec<StorageOutcome> {
        let outcome = |target: &engine::StorageOutcome| StorageOutcome {
            by: target.by,
            wanted_percent: target.wanted.as_percent(),
            soc_percent: target.soc.as_percent(),
            shortfall_kwh: target.shortfall.as_kwh(),
            above_limit_kwh: target.above_limit.as_kwh(),
            reached_at: target.reached_at,
        };
        self.intended().targets.iter().map(outcome).collect()
    }

    #[getter]
    fn certificate(&self) -> StorageCertificate {
        let certificate = &self.intended().certificate;
        StorageCertificate {
            cost: certificate.cost.as_amount(),
            bound: certificate.bound.as_amount(),
            gap: certificate.gap().as_amount(),
            is_proved: certificate.is_proved(),
            bound_by_values: certificate.bound_by_values.as_amount(),
            nodes: certificate.evidence.searched.map_or(1, |searched| searched.nodes),
        }
    }

    #[pyo3(signature = (*, time_zone))]
    fn explain(&self, time_zone: &str) -> Result<Vec<StorageReason>, Refused> {
        let zone = self::time_zone(time_zone)?;
        let tell = |reason: &engine::StorageReason| {
            let (sentence, period) = (reason.sentence(zone), (reason.start, reason.end));
            if reason.energy > Energy::ZERO {
                self.terms.tell_bought(sentence, period)
            } else {
                self.terms.tell_sold(sentence, period)
            }
        };
        let reason = |reason: engine::StorageReason| StorageReason {
            start: reason.start,
            end: reason.end,
            energy_kwh: reason.energy.as_kwh(),
            cost: reason.cost.as_amount(),
            price_min_per_kwh: Some(reason.price_min.as_per_kwh()),
            price_max_per_kwh: Some(reason.price_max.as_per_kwh()),
            code: reason.code.as_str(),
            marginal_value_per_kwh: reason.marginal_value.as_per_kwh(),
            deadline: reason.due,
            counterpart_start: reason.counterpart.map(|deal| deal.start),
            counterpart_price_per_kwh: reason.counterpart.map(|deal| deal.price.as_per_kwh()),
            sentence: tell(&reason),
        };
        let plan = self.intended();
        let gap = |gap: Gap| StorageReason {
            start: gap.start,
            end: gap.end,
            energy_kwh: 0.0,
            cost: 0.0,
            price_min_per_kwh: None,
            price_max_per_kwh: None,
            code: NO_PRICE,
            marginal_value_per_kwh: plan.marginal_value_at(gap.start).as_per_kwh(),
            deadline: gap.missed.first().and_then(|missed| missed.by),
            counterpart_start: None,
            counterpart_price_per_kwh: None,
            sentence: gap.sentence(zone),
        };
        let gaps = engine::gaps(self.run.request(), self.run.prices().export.is_some(), plan);
        let reasons = engine::explain(plan).into_iter().map(reason);
        let mut reasons: Vec<StorageReason> = reasons.chain(gaps.into_iter().map(gap)).collect();
        reasons.sort_by_key(|reason| reason.start);
        Ok(reasons)
    }

    fn soc_percent_by(&self, at: Instant) -> f64 {
        self.intended().soc_at(at.0).as_percent()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.intended() == other.intended() && self.now() == other.now()
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> Result<Bound<'py, PyCapsule>, Refused> {
        let slots = &self.intended().slots;
        let times = |of: fn(&engine::StorageSlot) -> DateTime<Utc>| -> ArrayRef {
            let micros: Vec<i64> = slots.iter().map(|slot| of(slot).timestamp_micros()).collect();
            Arc::new(utc(TimestampMicrosecondArray::from(micros)))
        };
        let prices = |of: fn(&engine::StorageSlot) -> Option<Price>| -> ArrayRef {
            Arc::new(
                slots.iter().map(|slot| of(slot).map(Price::as_per_kwh)).collect::<Float64Array>(),
            )
        };
        let energies = |of: fn(&engine::StorageSlot) -> Energy| -> ArrayRef {
            Arc::new(Float64Array::from(
                slots.iter().map(|slot| of(slot).as_kwh()).collect::<Vec<_>>(),
            ))
        };
        let batch = RecordBatch::try_from_iter([
            ("start", times(|slot| slot.start)),
            ("end", times(|slot| slot.end)),
            ("import_price_per_kwh", prices(|slot| slot.import_price)),
            ("export_price_per_kwh", prices(|slot| slot.export_price)),
            ("charged_kwh", energies(|slot| slot.charged)),
            ("discharged_kwh", energies(|slot| slot.discharged)),
            ("driven_kwh", energies(|slot| slot.driven)),
            ("stored_kwh", energies(|slot| slot.stored)),
            ("stored_min_kwh", energies(|slot| slot.stored_min)),
            ("stored_max_kwh", energies(|slot| slot.stored_max)),
            ("marginal_value_per_kwh", prices(|slot| Some(slot.marginal_value))),
        ])
        .map_err(refused)?;
        Table::from_batch(batch).stream(py, requested_schema)
    }
}

type LimitTuple = (Instant, Instant, Option<f64>, Option<f64>, Option<f64>, Option<f64>);

fn limit((index, given): (usize, &LimitTuple)) -> Result<StorageLimit, Refused> {
    let named = |field: &str| format!("limits[{index}].{field}");
    let power = |value: Option<f64>, field: &str| {
        value.map(Power::from_kw).transpose().named(&named(field))
    };
    let percent = |value: Option<f64>, field: &str| {
        value.map(Percent::from_percent).transpose().named(&named(field))
    };
    Ok(StorageLimit {
        start: given.0.0,
        end: given.1.0,
        charge_max: power(given.2, "power_max_kw")?,
        discharge_max: power(given.3, "discharge_max_kw")?,
        soc_min: percent(given.4, "soc_min_percent")?,
        soc_max: percent(given.5, "soc_max_percent")?,
    })
}

type ConsumptionTuple = (Instant, Instant, f64, bool);

fn consumption((index, given): (usize, &ConsumptionTuple)) -> Result<Consumption, Refused> {
    let name = format!("consumption[{index}].energy_kwh");
    Ok(Consumption {
        start: given.0.0,
        end: given.1.0,
        energy: Energy::from_kwh(given.2).named(&name)?,
        is_plugged_in: given.3,
    })
}

#[pyfunction]
#[pyo3(signature = (
    prices, *, export_prices, now, until, battery, discharge_efficiency, power_max_kw,
    discharge_max_kw, targets, reserve_percent, consumption, limits, end_value_per_kwh,
    wear_price_per_kwh, after_deadline
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn plan_storage(
    py: Python<'_>,
    prices: &Prices,
    export_prices: Option<&Prices>,
    now: Instant,
    until: Option<Instant>,
    battery: BatteryTuple,
    discharge_efficiency: f64,
    power_max_kw: f64,
    discharge_max_kw: f64,
    targets: Vec<(Option<Instant>, Option<f64>)>,
    reserve_percent: f64,
    consumption: Vec<ConsumptionTuple>,
    limits: Vec<LimitTuple>,
    end_value_per_kwh: f64,
    wear_price_per_kwh: f64,
    after_deadline: &str,
) -> Result<StoragePlan, Refused> {
    let target = |(index, target): (usize, &(Option<Instant>, Option<f64>))| {
        let name = format!("targets[{index}].soc_percent");
        let soc = target.1.map(Percent::from_percent).transpose().named(&name)?;
        Ok::<_, Refused>(SocTarget { by: target.0.map(|by| by.0), soc })
    };
    if let Some(export) = export_prices {
        prices.require_same_currency(export)?;
    }
    let request = StorageRequest {
        now: now.0,
        until: until.map(|until| until.0),
        battery: self::battery(battery)?,
        efficiency_discharge: discharge_efficiency,
        charge_max: Power::from_kw(power_max_kw).named("power_max_kw")?,
        discharge_max: Power::from_kw(discharge_max_kw).named("discharge_max_kw")?,
        limits: limits.iter().enumerate().map(limit).collect::<Result<_, _>>()?,
        targets: targets.iter().enumerate().map(target).collect::<Result<_, _>>()?,
        reserve: Percent::from_percent(reserve_percent).named("reserve_percent")?,
        consumption: consumption
            .iter()
            .enumerate()
            .map(self::consumption)
            .collect::<Result<_, _>>()?,
        end_value: Price::from_per_kwh(end_value_per_kwh).named("end_value_per_kwh")?,
        wear_price: Price::from_per_kwh(wear_price_per_kwh).named("wear_price_per_kwh")?,
        after_deadline: self::after_deadline(after_deadline)?,
    };
    let export = export_prices.map(|export| export.curve.clone());
    let curves = GridPrices { import: prices.curve.clone(), export };
    let run = py.detach(|| SavedRun::new(curves, request))?;
    Ok(StoragePlan::new(run, Terms::new(prices, export_prices)))
}

//! Plans of everything behind one meter.
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use chrono::{DateTime, TimeDelta, Utc};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use slackwater_engine::plan::charge::Gap;
use slackwater_engine::plan::record::SavedRun;
use slackwater_engine::plan::site::{Phase, SiteRequest, explain, gaps};
use slackwater_engine::plan::{questions, site as engine};
use slackwater_engine::units::{Percent, Power, Price};

use crate::arrow::{Table, refused, utc};
use crate::error::Refused;
use crate::interrupt;
use crate::plan::{Interval, NO_PRICE};
use crate::prices::Prices;
use crate::provenance::SourceShare;
use crate::saved::Terms;
use crate::site_request::{
    CarbonArgument, DemandChargeArgument, DeviceArgument, GroupArgument, LimitArgument,
    TiersArgument, request,
};
use crate::time::{Instant, time_zone};

/// A period in which nothing changes, with what passes the meter.
#[pyclass(frozen, get_all, eq, module = "slackwater")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SiteSlot {
    start: DateTime<Utc>,
    end: DateTime<Utc>,
    import_price_per_kwh: f64,
    export_price_per_kwh: f64,
    carbon_kg_per_kwh: f64,
    import_kwh: f64,
    export_kwh: f64,
}

/// Why a wish is not met: `own_limits`, `no_price`, `charge_limit`, `limit` or `priority`.
#[pyclass(frozen, get_all, eq, module = "slackwater")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SiteCause {
    code: &'static str,
    limit: Option<String>,
    phase: Option<&'static str>,
}

/// What becomes of one wish of a device.
#[pyclass(frozen, get_all, eq, module = "slackwater")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SiteWish {
    by: Option<DateTime<Utc>>,
    wanted_kwh: f64,
    delivered_kwh: f64,
    shortfall_kwh: f64,
    reached_at: Option<DateTime<Utc>>,
    causes: Vec<SiteCause>,
}

/// What one device is to do.
#[pyclass(frozen, get_all, eq, module = "slackwater")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DevicePlan {
    name: String,
    kind: String,
    power_kw: Vec<f64>,
    power_max_kw: Vec<f64>,
    soc_percent: Vec<f64>,
    intervals: Vec<Interval>,
    energy_kwh: f64,
    fed_kwh: f64,
    wishes: Vec<SiteWish>,
    shortfall_kwh: f64,
}

/// A limit over time: what it allows, what passes, what more would save.
#[pyclass(frozen, get_all, eq, module = "slackwater")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SiteLimit {
    name: String,
    phase: Option<&'static str>,
    limit_kw: Vec<Option<f64>>,
    power_kw: Vec<f64>,
    shadow_price_per_kwh: Vec<f64>,
}

/// A slot in which a limit is passed.
#[pyclass(frozen, get_all, eq, module = "slackwater")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SiteBreach {
    name: String,
    phase: Option<&'static str>,
    start: DateTime<Utc>,
    end: DateTime<Utc>,
    limit_kw: f64,
    excess_kw: f64,
    excess_kwh: f64,
    is_hard: bool,
}

/// The parts of a cost; they add up to it.
#[pyclass(frozen, get_all, eq, module = "slackwater")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SiteCosts {
    energy: f64,
    export: f64,
    demand: f64,
    tiers: f64,
    carbon: f64,
    wear: f64,
    breach: f64,
}

/// The same devices without a plan.
#[pyclass(frozen, get_all, eq, module = "slackwater")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SiteBaseline {
    costs: SiteCosts,
    cost: f64,
    stored_value: f64,
    import_max_kw: f64,
    breaches: Vec<SiteBreach>,
}

/// Cost of a plan, the bound that no plan can undercut, and the gap.
#[pyclass(frozen, get_all, eq, module = "slackwater")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SiteCertificate {
    cost: f64,
    bound: f64,
    gap: f64,
    allowance: f64,
    tolerance: f64,
    is_proved: bool,
}

/// A period in which a device does one thing for one reason.
#[pyclass(frozen, get_all, eq, module = "slackwater")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SiteReason {
    device: Option<String>,
    start: DateTime<Utc>,
    end: DateTime<Utc>,
    energy_kwh: f64,
    price_max_per_kwh: Option<f64>,
    code: &'static str,
    deadline: Option<DateTime<Utc>>,
    limit: Option<String>,
    limit_phase: Option<&'static str>,
    limit_at: Option<DateTime<Utc>>,
    shadow_price_per_kwh: Option<f64>,
    sentence: String,
}

repr! {
    SiteSlot { start, end, import_price_per_kwh, import_kwh, export_kwh }
    SiteCause { code, limit, phase }
    SiteWish { by, wanted_kwh, delivered_kwh, shortfall_kwh, causes }
    DevicePlan { name, kind, energy_kwh, fed_kwh, shortfall_kwh }
    SiteLimit { name, phase }
    SiteBreach { name, phase, start, end, limit_kw, excess_kw, is_hard }
    SiteCosts { energy, export, demand, tiers, carbon, wear, breach }
    SiteBaseline { cost, import_max_kw }
    SiteCertificate { cost, bound, gap, is_proved }
    SiteReason { device, start, end, energy_kwh, code, sentence }
}

impl SiteCosts {
    fn new(costs: &engine::Costs) -> Self {
        Self {
            energy: costs.energy.as_amount(),
            export: costs.export.as_amount(),
            demand: costs.demand.as_amount(),
            tiers: costs.tiers.as_amount(),
            carbon: costs.carbon.as_amount(),
            wear: costs.wear.as_amount(),
            breach: costs.breach.as_amount(),
        }
    }
}

impl SiteBreach {
    fn all(breaches: &[engine::Breach]) -> Vec<Self> {
        let breach = |breach: &engine::Breach| Self {
            name: breach.name.clone(),
            phase: breach.phase.map(Phase::as_str),
            start: breach.start,
            end: breach.end,
            limit_kw: breach.limit.as_kw(),
            excess_kw: breach.excess.as_kw(),
            excess_kwh: breach.energy.as_kwh(),
            is_hard: breach.is_hard,
        };
        breaches.iter().map(breach).collect()
    }
}

impl SiteCause {
    fn new(cause: &engine::Cause) -> Self {
        match cause {
            engine::Cause::OwnLimits => Self { code: "own_limits", limit: None, phase: None },
            engine::Cause::ChargeLimit => Self { code: "charge_limit", limit: None, phase: None },
            engine::Cause::NoPrice => Self { code: NO_PRICE, limit: None, phase: None },
            engine::Cause::Priority => Self { code: "priority", limit: None, phase: None },
            engine::Cause::Limit { name, phase } => {
                let phase = phase.map(Phase::as_str);
                Self { code: "limit", limit: Some(name.clone()), phase }
            }
        }
    }
}

fn powers(powers: &[Power]) -> Vec<f64> {
    powers.iter().map(|power| power.as_kw()).collect()
}

fn device(device: &engine::DevicePlan) -> DevicePlan {
    let wish = |wish: &engine::WishOutcome| SiteWish {
        by: wish.by,
        wanted_kwh: wish.wanted.as_kwh(),
        delivered_kwh: wish.delivered.as_kwh(),
        shortfall_kwh: wish.shortfall.as_kwh(),
        reached_at: wish.reached_at,
        causes: wish.causes.iter().map(SiteCause::new).collect(),
    };
    DevicePlan {
        name: device.name.clone(),
        kind: device.kind.clone(),
        power_kw: powers(&device.power),
        power_max_kw: powers(&device.power_max),
        soc_percent: device.soc.iter().copied().map(Percent::as_percent).collect(),
        intervals: device.intervals.iter().map(Interval::new).collect(),
        energy_kwh: device.energy.as_kwh(),
        fed_kwh: device.fed.as_kwh(),
        wishes: device.wishes.iter().map(wish).collect(),
        shortfall_kwh: device.shortfall.as_kwh(),
    }
}

/// A plan with the request that it answers.
#[pyclass(frozen, module = "slackwater._engine")]
#[derive(Debug)]
pub(crate) struct SitePlan {
    run: SavedRun<SiteRequest>,
    terms: Terms,
}

impl SitePlan {
    /// A plan on the terms of its prices.
    pub(crate) fn new(run: SavedRun<SiteRequest>, terms: Terms) -> Self {
        Self { run, terms }
    }

    /// The request and the plan, to be evaluated under other facts.
    pub(crate) fn evaluated(&self) -> (&SiteRequest, &engine::SitePlan) {
        (self.run.request(), self.run.plan())
    }

    fn intended(&self) -> &engine::SitePlan {
        self.run.plan()
    }
}

#[pymethods]
impl SitePlan {
    #[getter]
    fn now(&self) -> DateTime<Utc> {
        self.run.request().now
    }

    #[getter]
    fn prices(&self) -> Prices {
        self.terms.import(self.run.request().import_prices.clone())
    }

    #[getter]
    fn export_prices(&self) -> Option<Prices> {
        self.run.request().export_prices.clone().map(|curve| self.terms.export(curve))
    }

    fn to_json(&self, py: Python<'_>) -> String {
        py.detach(|| self.terms.to_json(self.run.clone()))
    }

    #[getter]
    fn cost(&self) -> f64 {
        self.intended().cost.as_amount()
    }

    #[getter]
    fn costs(&self) -> SiteCosts {
        SiteCosts::new(&self.intended().costs)
    }

    #[getter]
    fn stored_value(&self) -> f64 {
        self.intended().stored_value.as_amount()
    }

    #[getter]
    fn shortfall_kwh(&self) -> f64 {
        self.intended().shortfall.as_kwh()
    }

    #[getter]
    fn peak_kw(&self) -> Option<f64> {
        self.intended().peak.map(Power::as_kw)
    }

    #[getter]
    fn carbon_kg(&self) -> f64 {
        self.intended().carbon_kg
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
        let slots = self.intended().slots.iter();
        let bought = slots.map(|slot| (slot.start, slot.import, slot.import_price));
        Ok(SourceShare::all(questions::shares(&self.prices().layered()?, bought)))
    }

    #[getter]
    fn export_sources(&self) -> Result<Vec<SourceShare>, Refused> {
        let Some(prices) = self.export_prices() else { return Ok(Vec::new()) };
        let slots = self.intended().slots.iter();
        let sold = slots.map(|slot| (slot.start, slot.export, slot.export_price));
        Ok(SourceShare::all(questions::shares(&prices.layered()?, sold)))
    }

    #[getter]
    fn status(&self) -> &'static str {
        self.intended().status.as_str()
    }

    #[getter]
    fn is_reproducible(&self) -> bool {
        self.intended().is_reproducible
    }

    #[getter]
    fn slots(&self) -> Vec<SiteSlot> {
        let slot = |slot: &engine::SiteSlot| SiteSlot {
            start: slot.start,
            end: slot.end,
            import_price_per_kwh: slot.import_price.as_per_kwh(),
            export_price_per_kwh: slot.export_price.as_per_kwh(),
            carbon_kg_per_kwh: slot.carbon_kg_per_kwh,
            import_kwh: slot.import.as_kwh(),
            export_kwh: slot.export.as_kwh(),
        };
        self.intended().slots.iter().map(slot).collect()
    }

    #[getter]
    fn devices(&self) -> Vec<DevicePlan> {
        self.intended().devices.iter().map(device).collect()
    }

    #[getter]
    fn limits(&self) -> Vec<SiteLimit> {
        let limit = |limit: &engine::LimitOutcome| SiteLimit {
            name: limit.name.clone(),
            phase: limit.phase.map(Phase::as_str),
            limit_kw: limit.limit.iter().map(|kw| kw.map(Power::as_kw)).collect(),
            power_kw: powers(&limit.power),
            shadow_price_per_kwh: limit.shadow_price.iter().map(|p| p.as_per_kwh()).collect(),
        };
        self.intended().limits.iter().map(limit).collect()
    }

    #[getter]
    fn breaches(&self) -> Vec<SiteBreach> {
        SiteBreach::all(&self.intended().breaches)
    }

    #[getter]
    fn baseline(&self) -> SiteBaseline {
        let baseline = &self.intended().baseline;
        SiteBaseline {
            costs: SiteCosts::new(&baseline.costs),
            cost: baseline.cost.as_amount(),
            stored_value: baseline.stored_value.as_amount(),
            import_max_kw: baseline.import_max.as_kw(),
            breaches: SiteBreach::all(&baseline.breaches),
        }
    }

    #[getter]
    fn certificate(&self) -> SiteCertificate {
        let certificate = &self.intended().certificate;
        SiteCertificate {
            cost: certificate.cost.as_amount(),
            bound: certificate.bound.as_amount(),
            gap: certificate.gap().as_amount(),
            allowance: certificate.allowance.as_amount(),
            tolerance: certificate.tolerance.as_amount(),
            is_proved: certificate.is_proved(),
        }
    }

    #[pyo3(signature = (*, time_zone))]
    fn explain(&self, time_zone: &str) -> Result<Vec<SiteReason>, Refused> {
        let zone = self::time_zone(time_zone)?;
        let (request, plan) = (self.run.request(), self.intended());
        let reason = |reason: slackwater_engine::plan::site::SiteReason| SiteReason {
            start: reason.start,
            end: reason.end,
            energy_kwh: reason.energy.as_kwh(),
            price_max_per_kwh: Some(reason.price_max.as_per_kwh()),
            code: reason.code.as_str(),
            deadline: reason.deadline,
            limit: reason.limit.as_ref().map(|limit| limit.name.clone()),
            limit_phase: reason.limit.as_ref().and_then(|l| l.phase.map(Phase::as_str)),
            limit_at: reason.limit.as_ref().map(|limit| limit.at),
            shadow_price_per_kwh: reason.limit.as_ref().map(|l| l.shadow_price.as_per_kwh()),
            sentence: self.terms.tell_both(reason.sentence(zone), (reason.start, reason.end)),
            device: Some(reason.device),
        };
        let gap = |gap: Gap| SiteReason {
            device: None,
            start: gap.start,
            end: gap.end,
            energy_kwh: 0.0,
            price_max_per_kwh: None,
            code: NO_PRICE,
            deadline: gap.missed.first().and_then(|missed| missed.by),
            limit: None,
            limit_phase: None,
            limit_at: None,
            shadow_price_per_kwh: None,
            sentence: gap.sentence(zone),
        };
        let reasons = explain(request, plan).into_iter().map(reason);
        Ok(reasons.chain(gaps(request, plan).into_iter().map(gap)).collect())
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.intended() == other.intended()
    }

    /// One row per device and slot.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> Result<Bound<'py, PyCapsule>, Refused> {
        let plan = self.intended();
        let rows =
            || plan.devices.iter().flat_map(|device| plan.slots.iter().map(move |s| (device, s)));
        let times = |of: fn(&engine::SiteSlot) -> DateTime<Utc>| -> ArrayRef {
            let micros: Vec<i64> = rows().map(|(_, slot)| of(slot).timestamp_micros()).collect();
            Arc::new(utc(TimestampMicrosecondArray::from(micros)))
        };
        let names = |of: fn(&engine::DevicePlan) -> &str| -> ArrayRef {
            Arc::new(StringArray::from(rows().map(|(device, _)| of(device)).collect::<Vec<_>>()))
        };
        let numbers = |values: Vec<f64>| -> ArrayRef { Arc::new(Float64Array::from(values)) };
        let power = plan.devices.iter().flat_map(|device| powers(&device.power)).collect();
        let most = plan.devices.iter().flat_map(|device| powers(&device.power_max)).collect();
        let price = |of: fn(&engine::SiteSlot) -> Price| -> ArrayRef {
            numbers(rows().map(|(_, slot)| of(slot).as_per_kwh()).collect())
        };
        let batch = RecordBatch::try_from_iter([
            ("device", names(|device| &device.name)),
            ("kind", names(|device| &device.kind)),
            ("start", times(|slot| slot.start)),
            ("end", times(|slot| slot.end)),
            ("power_kw", numbers(power)),
            ("power_max_kw", numbers(most)),
            ("import_price_per_kwh", price(|slot| slot.import_price)),
            ("export_price_per_kwh", price(|slot| slot.export_price)),
        ])
        .map_err(refused)?;
        Table::from_batch(batch).stream(py, requested_schema)
    }
}

/// See `slackwater.plan_site`.
#[pyfunction]
#[pyo3(signature = (
    prices, *, export_prices, now, until, devices, groups, import_limit, export_limit,
    demand_charge, tiers, carbon, prefer, preference_budget, nodes_max, time_max
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn plan_site(
    py: Python<'_>,
    prices: &Prices,
    export_prices: Option<PyRef<'_, Prices>>,
    now: Instant,
    until: Option<Instant>,
    devices: Vec<DeviceArgument>,
    groups: Vec<GroupArgument>,
    import_limit: Option<LimitArgument>,
    export_limit: Option<LimitArgument>,
    demand_charge: Option<DemandChargeArgument>,
    tiers: Option<TiersArgument>,
    carbon: Option<CarbonArgument>,
    prefer: Vec<String>,
    preference_budget: f64,
    nodes_max: u32,
    time_max: Option<TimeDelta>,
) -> Result<SitePlan, Refused> {
    let terms = Terms::new(prices, export_prices.as_deref());
    let request: SiteRequest = request(
        (prices, export_prices.as_deref()),
        (now, until),
        (devices, groups),
        (import_limit, export_limit),
        (demand_charge, tiers, carbon),
        (prefer, preference_budget),
        (nodes_max, time_max),
    )?;
    // Each search has its own limit, so the clock only watches for signals.
    let run = interrupt::run(py, None, move |_| SavedRun::new((), request))??;
    Ok(SitePlan::new(run, terms))
}

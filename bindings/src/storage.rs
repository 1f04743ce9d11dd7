//! Plans of batteries that also give back.
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, TimestampMicrosecondArray};
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use slackwater_engine::plan::Stated;
use slackwater_engine::plan::charge::{Gap, SocTarget};
use slackwater_engine::plan::record::{GridPrices, SavedRun};
use slackwater_engine::plan::stability::{Budget, PreviousPowers};
use slackwater_engine::plan::storage::{Consumption, StorageLimit, StorageRequest};
use slackwater_engine::plan::{questions, storage as engine};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::units::{Energy, Money, Percent, Power, Price};

use crate::arrow::{Table, utc};
use crate::doubts::warn_of_values;
use crate::error::{Named, Refused};
use crate::plan::{BatteryTuple, Interval, Intervals, NO_PRICE, after_deadline, battery};
use crate::prices::Prices;
use crate::provenance::SourceShare;
use crate::record;
use crate::saved::Terms;
use crate::steady;
use crate::time::{Instant, time_zone};
use crate::verification::Verification;

/// Code of the stored energy of the start that a plan sells.
pub(crate) const STOCK_USED: &str = "stock_used";

record! {
    /// A period of constant prices and limits, used or not.
    pub(crate) struct StorageSlot {
        /// First instant, in UTC.
        start: DateTime<Utc>,
        /// First instant after the slot, in UTC.
        end: DateTime<Utc>,
        /// Price of a kWh bought over the slot; `None` if it is not known, then nothing is bought.
        import_price_per_kwh: Option<f64>,
        /// Revenue of a kWh sold over the slot; `None` if nothing may be sold.
        export_price_per_kwh: Option<f64>,
        /// Highest charging power over the slot, in kW at the plug; 0 while unplugged.
        power_max_kw: f64,
        /// Highest discharging power over the slot, in kW at the plug, as a positive number; 0
        /// while unplugged.
        discharge_max_kw: f64,
        /// Energy bought over the slot, in kWh at the plug.
        charged_kwh: f64,
        /// Energy sold over the slot, in kWh at the plug, as a positive number.
        discharged_kwh: f64,
        /// Stored energy used by driving over the slot, as far as the battery can serve it, in kWh.
        driven_kwh: f64,
        /// Stored energy at the end of the slot, in kWh.
        stored_kwh: f64,
        /// Least stored energy at the end of the slot, in kWh: the wished level, or the highest
        /// possible one if that is lower.
        stored_min_kwh: f64,
        /// Most stored energy at the end of the slot, in kWh: the charge limit, or the highest
        /// possible level if that is higher.
        stored_max_kwh: f64,
        /// Charge limit over the slot as stored energy, in kWh.
        charge_limit_kwh: f64,
        /// State of charge at the end of the slot, in percent.
        soc_percent: f64,
        /// `stored_min_kwh` in percent of the capacity.
        soc_min_percent: f64,
        /// `stored_max_kwh` in percent of the capacity.
        soc_max_percent: f64,
        /// Value of one more stored kWh in the slot, in units of the currency.
        marginal_value_per_kwh: f64,
    }

    /// Outcome of one target.
    pub(crate) struct StorageOutcome {
        /// The deadline, in UTC; `None` is the end of the plan.
        by: Option<DateTime<Utc>>,
        /// State of charge wanted by the deadline, in percent.
        wanted_percent: f64,
        /// State of charge at the deadline, in percent.
        soc_percent: f64,
        /// Stored energy missing at the deadline, in kWh; 0 if the target is met.
        shortfall_kwh: f64,
        /// Part of the shortfall above the charge limit at the deadline, which no plan can deliver,
        /// in stored kWh.
        above_limit_kwh: f64,
        /// Instant at which the wanted energy is stored, in time or late, in UTC; `None` if never.
        reached_at: Option<DateTime<Utc>>,
    }

    /// Why a period of charging or discharging is in a plan, or why a period is not used.
    pub(crate) struct StorageReason in StorageReasons {
        /// First instant of the period, in UTC.
        start: DateTime<Utc>,
        /// First instant after the period, in UTC.
        end: DateTime<Utc>,
        /// Energy over the period, in kWh at the plug: positive is bought, negative is sold.
        energy_kwh: f64,
        /// Cost of that energy without wear, in units of the currency; negative is revenue.
        cost: f64,
        /// Least price in the period, per kWh; `None` for time without a price.
        price_min_per_kwh: Option<f64>,
        /// Highest price in the period, per kWh; `None` for time without a price.
        price_max_per_kwh: Option<f64>,
        /// The reason: `reserve`, `target`, `driving`, `negative_price`, `sell_later`, `end_value`,
        /// `buy_back`, `above_value`, `make_room`, `no_price` or `stock_used`.
        code: String,
        /// Value of one more stored kWh in the period, in units of the currency.
        marginal_value_per_kwh: f64,
        /// Instant by which the energy is wanted, in UTC; `None` if it is not for a wish. For time
        /// without a price the first deadline that is missed because of it.
        deadline: Option<DateTime<Utc>>,
        /// Start of the slot in which the energy is sold or bought back, in UTC; `None` if there is
        /// none.
        counterpart_start: Option<DateTime<Utc>>,
        /// Price of a kWh in that slot; `None` if there is none.
        counterpart_price_per_kwh: Option<f64>,
        /// The reason as a sentence, with times on the wall clock that `explain` was asked for.
        sentence: String,
    }

    /// Cost of a plan, the bound that no plan can undercut, and how it was found.
    pub(crate) struct StorageCertificate {
        /// Cost of the plan, in units of the currency: import less export plus wear less stored
        /// value.
        cost: f64,
        /// Lower bound on the cost of every plan.
        bound: f64,
        /// Cost minus bound: the most that another plan can save; 0 up to rounding if proved.
        gap: f64,
        /// True if the gap is rounding: at most 1e-9 of the cost, or of 1 if the cost is less.
        is_proved: bool,
        /// Lower bound by the marginal values of the slots alone; at most `bound`.
        bound_by_values: f64,
        /// Number of relaxations that a branch and bound solved; 1 if none was needed.
        nodes: usize,
        /// Bound of that branch and bound; `None` if none was needed.
        bound_by_search: Option<f64>,
        /// Stored energy at the start of the plan, in kWh.
        stored_start_kwh: f64,
        /// Stored energy per energy at the plug when charging.
        efficiency: f64,
        /// Energy at the plug per stored energy when discharging.
        discharge_efficiency: f64,
        /// Wear of a stored kWh that is discharged to the plug, in units of the currency.
        wear_price_per_kwh: f64,
        /// Value of a kWh stored at the end, in units of the currency.
        end_value_per_kwh: f64,
        /// All slots with energies, levels, limits and marginal values, in time order.
        slots: Vec<StorageSlot>,
    }
    impl {
        /// Compute each statement anew from the numbers of the certificate alone.
        ///
        /// The cost is summed up from the slots, the balance of stored energy is followed, and the
        /// bound is the Lagrangian at the marginal values of the slots. None of it uses the planner.
        /// Where a branch and bound was needed, the bound of its search is taken as it is.
        ///
        /// Returns:
        ///     Each statement with the computed number and the difference. Nothing is raised for a
        ///     statement that does not hold: look at ``failed``.
        ///
        /// Raises:
        ///     InputError: A number of the certificate is NaN, infinite or beyond all measure.
        ///
        /// Example:
        ///     >>> from datetime import UTC, datetime
        ///     >>> import slackwater as sw
        ///     >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        ///     >>> prices = sw.Prices.from_values(six, [0.10, 0.40, 0.20], currency="EUR")
        ///     >>> battery = sw.Battery(capacity_kwh=10, soc_percent=50)
        ///     >>> plan = sw.plan_storage(
        ///     ...     prices, export_prices=prices, now=six, battery=battery,
        ///     ...     power_max_kw=4, discharge_max_kw=4, targets=[sw.SocTarget(None, 50)],
        ///     ... )
        ///     >>> plan.certificate.verify().holds
        ///     True
        fn verify(&self) -> Result<Verification, Refused> {
            let slots = self.slots.iter().map(StorageSlot::stated);
            let slots = slots.collect::<Result<Vec<_>, Refused>>()?;
            let bound = self.bound_by_search.map(Money::from_amount).transpose();
            let bound = bound.named("bound_by_search")?;
            let evidence = engine::StorageEvidence {
                stored_start: Energy::from_kwh(self.stored_start_kwh).named("stored_start_kwh")?,
                efficiency: self.efficiency,
                efficiency_discharge: self.discharge_efficiency,
                wear_price: Price::from_per_kwh(self.wear_price_per_kwh)
                    .named("wear_price_per_kwh")?,
                end_value: Price::from_per_kwh(self.end_value_per_kwh)
                    .named("end_value_per_kwh")?,
                searched: bound.map(|bound| engine::Searched { bound, nodes: self.nodes }),
            };
            let Self { cost, bound, gap, is_proved, bound_by_values, .. } = *self;
            let stated = Stated { cost, bound, gap, is_proved };
            Ok(Verification::new(engine::verify(&slots, &evidence, bound_by_values, stated)))
        }
    }
}

impl StorageSlot {
    /// The slot as the engine has it.
    fn stated(&self) -> Result<engine::StorageSlot, Refused> {
        let price =
            |price: Option<f64>, name| price.map(Price::from_per_kwh).transpose().named(name);
        let power = |kw, name| Power::from_kw(kw).named(name);
        let energy = |kwh, name| Energy::from_kwh(kwh).named(name);
        Ok(engine::StorageSlot {
            start: self.start,
            end: self.end,
            import_price: price(self.import_price_per_kwh, "import_price_per_kwh")?,
            export_price: price(self.export_price_per_kwh, "export_price_per_kwh")?,
            charge_max: power(self.power_max_kw, "power_max_kw")?,
            discharge_max: power(self.discharge_max_kw, "discharge_max_kw")?,
            charged: energy(self.charged_kwh, "charged_kwh")?,
            discharged: energy(self.discharged_kwh, "discharged_kwh")?,
            driven: energy(self.driven_kwh, "driven_kwh")?,
            stored: energy(self.stored_kwh, "stored_kwh")?,
            stored_min: energy(self.stored_min_kwh, "stored_min_kwh")?,
            stored_max: energy(self.stored_max_kwh, "stored_max_kwh")?,
            charge_limit: energy(self.charge_limit_kwh, "charge_limit_kwh")?,
            // The bound does not rest on the wish that set the least level.
            wish: engine::Wish::Empty,
            marginal_value: Price::from_per_kwh(self.marginal_value_per_kwh)
                .named("marginal_value_per_kwh")?,
        })
    }
}

/// Plan of a battery with its request, prices and currency; see `slackwater.StoragePlan`.
#[pyclass(frozen, subclass, module = "slackwater._engine")]
#[derive(Debug, Clone)]
pub(crate) struct StoragePlan {
    run: Arc<SavedRun<StorageRequest>>,
    terms: Terms,
}

impl StoragePlan {
    /// A plan on the terms of its prices.
    pub(crate) fn new(run: SavedRun<StorageRequest>, terms: Terms) -> Self {
        Self { run: Arc::new(run), terms }
    }

    /// The request and the plan, to be evaluated under other facts.
    pub(crate) fn evaluated(&self) -> (&StorageRequest, &engine::StoragePlan) {
        (self.run.request(), self.run.plan())
    }

    fn intended(&self) -> &engine::StoragePlan {
        self.run.plan()
    }

    /// The plan of the same request near another plan.
    pub(crate) fn plan_near(
        &self,
        py: Python<'_>,
        previous: &Self,
        budget: Budget,
    ) -> Result<Self, Refused> {
        let intervals = previous.intended().intervals.clone();
        let previous = Some(PreviousPowers { intervals, budget });
        let request = StorageRequest { previous, ..self.run.request().clone() };
        let run = py.detach(|| SavedRun::new(self.run.prices().clone(), request))?;
        Ok(Self::new(run, self.terms.clone()))
    }

    /// Emissions in kg of the plan and of its baseline.
    pub(crate) fn emissions(&self, intensity: &PriceCurve) -> Result<(f64, f64), Refused> {
        let problem = engine::StorageProblem::new(self.run.request().clone())?;
        let prices = (&*self.run.prices().import, self.run.prices().export.as_deref());
        Ok(engine::emissions(self.run.plan(), &problem, prices, intensity))
    }

    /// The text of the saved plan.
    pub(crate) fn to_json(&self) -> String {
        self.terms.to_json(SavedRun::clone(&self.run))
    }
}

#[pymethods]
impl StoragePlan {
    /// Makes the class of Python, which takes prices beside the plan.
    #[new]
    #[pyo3(signature = (native, *_rest: "object"))]
    fn from_native(native: &Self, _rest: &Bound<'_, PyTuple>) -> Self {
        native.clone()
    }

    /// First instant that the plan could use, in UTC.
    #[getter]
    fn now(&self) -> DateTime<Utc> {
        self.run.request().now
    }

    #[getter(_import_prices)]
    fn prices(&self) -> Prices {
        self.terms.import(self.run.prices().import.clone())
    }

    #[getter(_export_prices)]
    fn export_prices(&self) -> Option<Prices> {
        self.run.prices().export.clone().map(|curve| self.terms.export(curve))
    }

    /// Import minus export plus wear minus the value stored, in units of the currency.
    ///
    /// The sum of :attr:`import_cost`, :attr:`wear_cost`, less
    /// :attr:`export_revenue` and :attr:`stored_value`.
    #[getter]
    fn cost(&self) -> f64 {
        self.intended().cost.as_amount()
    }

    /// Cost of the bought energy.
    #[getter]
    fn import_cost(&self) -> f64 {
        self.intended().costs.import.as_amount()
    }

    /// Revenue of the sold energy.
    #[getter]
    fn export_revenue(&self) -> f64 {
        self.intended().costs.export.as_amount()
    }

    /// Wear of the stored energy that is discharged to the plug.
    #[getter]
    fn wear_cost(&self) -> f64 {
        self.intended().costs.wear.as_amount()
    }

    /// Value of what is stored at the end beyond the start, at ``end_value_per_kwh``.
    #[getter]
    fn stored_value(&self) -> f64 {
        self.intended().costs.stored.as_amount()
    }

    /// Energy bought, in kWh at the plug.
    #[getter]
    fn charged_kwh(&self) -> f64 {
        self.intended().charged.as_kwh()
    }

    /// Energy sold, in kWh at the plug.
    #[getter]
    fn discharged_kwh(&self) -> f64 {
        self.intended().discharged.as_kwh()
    }

    /// Usable capacity of the battery, in kWh.
    #[getter]
    fn capacity_kwh(&self) -> f64 {
        self.intended().capacity.as_kwh()
    }

    /// Most stored energy missing at a target, in kWh; 0 if all are met.
    #[getter]
    fn shortfall_kwh(&self) -> f64 {
        self.intended().shortfall.as_kwh()
    }

    /// Most stored energy missing below reserve or ``soc_min_percent``, in kWh.
    #[getter]
    fn floor_shortfall_kwh(&self) -> f64 {
        self.intended().floor_shortfall.as_kwh()
    }

    /// Consumption that the battery cannot serve, in stored kWh.
    #[getter]
    fn unserved_kwh(&self) -> f64 {
        self.intended().unserved.as_kwh()
    }

    /// Cost without discharging, charged at full power from plug-in.
    ///
    /// It charges the energy of the targets, or the net energy of the plan if
    /// that is more; energy left at the end counts at ``end_value_per_kwh`` in both.
    #[getter]
    fn baseline_cost(&self) -> f64 {
        self.intended().baseline_cost.as_amount()
    }

    /// Baseline cost minus cost, signed.
    ///
    /// Stored energy of the start that is sold counts as savings, less its value at
    /// ``end_value_per_kwh``: :attr:`stock_used_kwh` tells how much that is.
    #[getter]
    fn savings(&self) -> f64 {
        self.intended().savings().as_amount()
    }

    /// Stored energy of the start that is not there at the end, in kWh: it was sold.
    ///
    /// Its revenue is a part of :attr:`savings`, less its value at ``end_value_per_kwh``. A
    /// target at the end keeps it.
    #[getter]
    fn stock_used_kwh(&self) -> f64 {
        self.intended().stock_used().as_kwh()
    }

    /// Time from ``now`` to the end of the plan without a price, in hours.
    ///
    /// Nothing is bought without a price to buy at. With prices to sell at, time
    /// without one of them counts too: nothing is sold then.
    #[getter]
    fn unpriced_hours(&self) -> f64 {
        self.intended().unpriced_hours
    }

    /// Energy bought at the prices of each source, in the order of the layers.
    ///
    /// Prices without layers are one known source, ``"prices"``.
    #[getter]
    fn sources(&self) -> Result<Vec<SourceShare>, Refused> {
        let price = |price: Option<Price>| price.unwrap_or(Price::ZERO);
        let slots = self.intended().slots.iter();
        let bought = slots.map(|slot| (slot.start, slot.charged, price(slot.import_price)));
        Ok(SourceShare::all(questions::shares(&self.prices().layered()?, bought)))
    }

    /// Energy sold at the prices of each source, with its revenue.
    #[getter]
    fn export_sources(&self) -> Result<Vec<SourceShare>, Refused> {
        let Some(prices) = self.export_prices() else { return Ok(Vec::new()) };
        let price = |price: Option<Price>| price.unwrap_or(Price::ZERO);
        let slots = self.intended().slots.iter();
        let sold = slots.map(|slot| (slot.start, slot.discharged, price(slot.export_price)));
        Ok(SourceShare::all(questions::shares(&prices.layered()?, sold)))
    }

    /// Periods of charging (positive kW) and discharging (negative), in UTC.
    #[getter]
    fn intervals(&self) -> Intervals {
        self.intended().intervals.iter().map(Interval::new).collect()
    }

    /// All slots, with energies, levels, their bounds and marginal values.
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

    /// How close the plan was kept to the one before; ``None`` if it was not.
    #[getter]
    fn stability(&self) -> Option<steady::Stability> {
        self.intended().stability.as_ref().map(steady::Stability::new)
    }

    /// Outcome of each target, in the order they were given.
    ///
    /// ``above_limit_kwh`` is the part of ``shortfall_kwh`` that lies above
    /// the charge limit that holds at the deadline.
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

    /// The proof: cost, bound and gap. Rests on the marginal values of the slots.
    #[getter]
    fn certificate(&self) -> StorageCertificate {
        let certificate = &self.intended().certificate;
        let evidence = &certificate.evidence;
        StorageCertificate {
            cost: certificate.cost.as_amount(),
            bound: certificate.bound.as_amount(),
            gap: certificate.gap().as_amount(),
            is_proved: certificate.is_proved(),
            bound_by_values: certificate.bound_by_values.as_amount(),
            nodes: evidence.searched.map_or(1, |searched| searched.nodes),
            bound_by_search: evidence.searched.map(|searched| searched.bound.as_amount()),
            stored_start_kwh: evidence.stored_start.as_kwh(),
            efficiency: evidence.efficiency,
            discharge_efficiency: evidence.efficiency_discharge,
            wear_price_per_kwh: evidence.wear_price.as_per_kwh(),
            end_value_per_kwh: evidence.end_value.as_per_kwh(),
            slots: self.slots(),
        }
    }

    #[pyo3(signature = (*, time_zone))]
    fn explain(&self, time_zone: &str) -> Result<StorageReasons, Refused> {
        let zone = self::time_zone(time_zone)?;
        let tell = |reason: &engine::StorageReason| {
            let sentence = reason.sentence(zone, self.terms.currency());
            let period = (reason.start, reason.end);
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
            code: reason.code.as_str().to_owned(),
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
            code: NO_PRICE.to_owned(),
            marginal_value_per_kwh: plan.marginal_value_at(gap.start).as_per_kwh(),
            deadline: gap.missed.first().and_then(|missed| missed.by),
            counterpart_start: None,
            counterpart_price_per_kwh: None,
            sentence: gap.sentence(zone),
        };
        let gaps = engine::gaps(self.run.request(), self.run.prices().export.is_some(), plan);
        let reasons = engine::explain(plan).into_iter().map(reason);
        let stock = engine::explain_stock(plan).map(|stock| StorageReason {
            start: stock.start,
            end: stock.end,
            energy_kwh: 0.0,
            cost: 0.0,
            price_min_per_kwh: None,
            price_max_per_kwh: None,
            code: STOCK_USED.to_owned(),
            marginal_value_per_kwh: plan.marginal_value_at(stock.start).as_per_kwh(),
            deadline: None,
            counterpart_start: None,
            counterpart_price_per_kwh: None,
            sentence: stock.sentence(zone, self.terms.currency()),
        });
        let gaps = gaps.into_iter().map(gap);
        let mut reasons: Vec<StorageReason> = reasons.chain(gaps).chain(stock).collect();
        reasons.sort_by_key(|reason| reason.start);
        Ok(reasons.into_iter().collect())
    }

    fn soc_percent_by(&self, at: Instant) -> f64 {
        self.intended().soc_at(at.0).as_percent()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.intended() == other.intended() && self.now() == other.now()
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        record::hash(slf.as_any(), &["cost", "shortfall_kwh"])
    }

    /// Hand the slots of the plan to an Arrow library.
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
        let table = Table::of_columns([
            ("start", times(|slot| slot.start), false),
            ("end", times(|slot| slot.end), false),
            ("import_price_per_kwh", prices(|slot| slot.import_price), true),
            ("export_price_per_kwh", prices(|slot| slot.export_price), true),
            ("charged_kwh", energies(|slot| slot.charged), false),
            ("discharged_kwh", energies(|slot| slot.discharged), false),
            ("driven_kwh", energies(|slot| slot.driven), false),
            ("stored_kwh", energies(|slot| slot.stored), false),
            ("stored_min_kwh", energies(|slot| slot.stored_min), false),
            ("stored_max_kwh", energies(|slot| slot.stored_max), false),
            ("marginal_value_per_kwh", prices(|slot| Some(slot.marginal_value)), false),
        ])?;
        table.stream(py, requested_schema)
    }
}

pub(crate) type LimitTuple = (Instant, Instant, Option<f64>, Option<f64>, Option<f64>, Option<f64>);

pub(crate) fn storage_limit((index, given): (usize, &LimitTuple)) -> Result<StorageLimit, Refused> {
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

pub(crate) type ConsumptionTuple = (Instant, Instant, f64, bool);

pub(crate) fn consumption(
    (index, given): (usize, &ConsumptionTuple),
) -> Result<Consumption, Refused> {
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
    end_value_per_kwh: Option<f64>,
    wear_price_per_kwh: f64,
    after_deadline: &str,
) -> Result<StoragePlan, Refused> {
    if let Some(export) = export_prices {
        prices.require_same_currency(export)?;
    }
    let request = storage_request(
        now,
        until,
        battery,
        discharge_efficiency,
        power_max_kw,
        discharge_max_kw,
        targets,
        reserve_percent,
        consumption,
        limits,
        end_value_per_kwh,
        wear_price_per_kwh,
        after_deadline,
    )?;
    let end_value = end_value_per_kwh.unwrap_or(0.0);
    warn_of_values(py, prices.currency(), (wear_price_per_kwh, end_value))?;
    let export = export_prices.map(|export| export.curve.clone());
    let curves = GridPrices { import: prices.curve.clone(), export };
    let run = py.detach(|| SavedRun::new(curves, request))?;
    Ok(StoragePlan::new(run, Terms::new(prices, export_prices)))
}

/// Request of the arguments that planners of a battery share.
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python functions")]
pub(crate) fn storage_request(
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
    end_value_per_kwh: Option<f64>,
    wear_price_per_kwh: f64,
    after_deadline: &str,
) -> Result<StorageRequest, Refused> {
    let target = |(index, target): (usize, &(Option<Instant>, Option<f64>))| {
        let name = format!("targets[{index}].soc_percent");
        let soc = target.1.map(Percent::from_percent).transpose().named(&name)?;
        Ok::<_, Refused>(SocTarget { by: target.0.map(|by| by.0), soc })
    };
    Ok(StorageRequest {
        now: now.0,
        until: until.map(|until| until.0),
        battery: self::battery(battery)?,
        efficiency_discharge: discharge_efficiency,
        charge_max: Power::from_kw(power_max_kw).named("power_max_kw")?,
        discharge_max: Power::from_kw(discharge_max_kw).named("discharge_max_kw")?,
        limits: limits.iter().enumerate().map(storage_limit).collect::<Result<_, _>>()?,
        targets: targets.iter().enumerate().map(target).collect::<Result<_, _>>()?,
        reserve: Percent::from_percent(reserve_percent).named("reserve_percent")?,
        consumption: consumption
            .iter()
            .enumerate()
            .map(self::consumption)
            .collect::<Result<_, _>>()?,
        end_value: end_value_per_kwh
            .map(Price::from_per_kwh)
            .transpose()
            .named("end_value_per_kwh")?,
        wear_price: Price::from_per_kwh(wear_price_per_kwh).named("wear_price_per_kwh")?,
        after_deadline: self::after_deadline(after_deadline)?,
        previous: None,
    })
}

/// Least price per unit of stored energy at which no limit of its levels is passed for money.
#[pyfunction]
#[pyo3(signature = (slots, *, efficiency, peak))]
pub(crate) fn find_breach_price(slots: Vec<(f64, f64, f64)>, efficiency: f64, peak: f64) -> f64 {
    engine::find_breach_price(&slots, efficiency, peak)
}

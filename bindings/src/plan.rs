//! Plans of one vehicle.
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, TimestampMicrosecondArray};
use chrono::{DateTime, TimeDelta, Utc};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use slackwater_engine::plan::Stated;
use slackwater_engine::plan::charge as engine;
use slackwater_engine::plan::charge::{
    AfterDeadline, Battery, ChargeProblem, ChargeRequest, DurationRequest, Forgone, Gap,
    PowerLimit, SocTarget, Target, VehicleRequest, forgone, gaps,
};
use slackwater_engine::plan::questions;
use slackwater_engine::plan::record::{RefusedRequest, Replay, SavedRun, SteadyRequest};
use slackwater_engine::plan::stability::{Budget, Stability};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::units::{Energy, Percent, Power, Price};

use crate::arrow::{Table, utc};
use crate::charged::Charged;
use crate::error::{Named, Refused};
use crate::prices::Prices;
use crate::provenance::SourceShare;
use crate::questions::SocPoint;
use crate::record;
use crate::saved::Terms;
use crate::steady;
use crate::time::{Instant, time_zone};
use crate::verification::Verification;

/// Code of the reason for a period without a price.
pub(crate) const NO_PRICE: &str = "no_price";

/// Code of a reason for energy at negative prices that is not bought.
pub(crate) const NEGATIVE_UNUSED: &str = "negative_unused";

pub(crate) type LimitTuple = (Instant, Instant, f64);

record! {
    /// Charging or discharging at one power from `start` until `end`.
    pub(crate) struct Interval in Intervals {
        /// First instant, in UTC.
        start: DateTime<Utc>,
        /// First instant after the interval, in UTC.
        end: DateTime<Utc>,
        /// Power throughout, in kW at the plug: positive charges, negative discharges.
        power_kw: f64,
    }

    /// A period of constant price that the plan could use, used or not.
    pub(crate) struct PlannedSlot {
        /// First instant, in UTC.
        start: DateTime<Utc>,
        /// First instant after the slot, in UTC.
        end: DateTime<Utc>,
        /// Price of a kWh over the slot, in units of the currency; may be negative.
        price_per_kwh: f64,
        /// Highest power over the slot, in kW at the plug.
        power_max_kw: f64,
        /// Energy bought over the slot, in kWh at the plug; 0 if the slot is not used.
        energy_kwh: f64,
    }

    /// Outcome of one target.
    pub(crate) struct TargetOutcome {
        /// The deadline, in UTC; `None` is the end of the known prices.
        by: Option<DateTime<Utc>>,
        /// Energy wanted by the deadline, counted from the start of the plan, in kWh at the plug.
        wanted_kwh: f64,
        /// Energy bought by the deadline, counted from the start of the plan, in kWh at the plug.
        delivered_kwh: f64,
        /// Energy missing at the deadline, in kWh at the plug; 0 if the target is met.
        shortfall_kwh: f64,
        /// Part of the shortfall above the charge limit of the battery, which no plan can deliver,
        /// in kWh.
        above_limit_kwh: f64,
        /// Instant at which the wanted energy is there, in time or late, in UTC; `None` if never.
        reached_at: Option<DateTime<Utc>>,
    }

    /// Energy that must be bought by a deadline, and the price of one more kWh.
    pub(crate) struct Requirement {
        /// The deadline, in UTC; `None` is the end of the slots.
        by: Option<DateTime<Utc>>,
        /// Energy that any plan has to buy by the deadline, in kWh: the target, or what is possible
        /// if that is less.
        energy_kwh: f64,
        /// Price of the last kWh bought for this or a later deadline, in units of the currency.
        marginal_price_per_kwh: f64,
    }

    /// Why a period of charging is in a plan, or why a period is not used.
    pub(crate) struct Reason in Reasons {
        /// First instant of the period, in UTC.
        start: DateTime<Utc>,
        /// First instant after the period, in UTC.
        end: DateTime<Utc>,
        /// Energy bought in the period, in kWh at the plug; 0 for time without a price.
        energy_kwh: f64,
        /// Cost of that energy, in units of the currency; negative if charging is paid for.
        cost: f64,
        /// Highest price paid in the period, per kWh; `None` for time without a price.
        price_max_per_kwh: Option<f64>,
        /// The reason: `reserve`, `missed_deadline`, `deadline`, `below_marginal_price`,
        /// `negative_price`, `kept` or `no_price`.
        code: String,
        /// Deadline that the period serves, in UTC; `None` for a reserve or a negative price. For
        /// time without a price the first deadline that is missed because of it.
        deadline: Option<DateTime<Utc>>,
        /// Price of the next kWh before that deadline, or before the last one; `None` if no
        /// capacity is left.
        marginal_price_per_kwh: Option<f64>,
        /// Start of the slot that the next kWh would come from, in UTC; `None` if there is none.
        runner_up_start: Option<DateTime<Utc>>,
        /// Price of the next kWh in that slot; `None` if there is none.
        runner_up_price_per_kwh: Option<f64>,
        /// The reason as a sentence, with times on the wall clock that `explain` was asked for.
        sentence: String,
    }

    /// Cost of a plan, the bound that no plan can undercut, and all that the bound rests on.
    pub(crate) struct Certificate {
        /// Cost of the plan, in units of the currency: the sum over the slots.
        cost: f64,
        /// Lower bound on the cost of every plan for the same requirements.
        bound: f64,
        /// Cost minus bound: the most that another plan can save; 0 up to rounding if proved.
        gap: f64,
        /// True if the gap is rounding: at most 1e-9 of the cost, or of 1 if the cost is less.
        is_proved: bool,
        /// Energy bought at once, at any price, in kWh: the reserve, or all that a missed deadline
        /// wants.
        at_once_kwh: f64,
        /// Energy wanted by each deadline with its marginal price, in time order.
        requirements: Vec<Requirement>,
        /// Most energy of any plan, in kWh; `None` if no more than the last requirement is bought.
        energy_max_kwh: Option<f64>,
        /// Price of the last kWh bought only because its price is negative; 0 or less.
        surplus_price_per_kwh: f64,
        /// All slots that the plan could use, with their prices and energies, in time order.
        slots: Vec<PlannedSlot>,
    }
    impl {
        /// Compute each statement anew from the numbers of the certificate alone.
        ///
        /// The cost is summed up from the slots, and the bound is the Lagrangian at the marginal
        /// prices of the requirements. Neither uses the planner. A number that the bound does not
        /// rest on, such as the price of an unused slot that is dearer than all others, is free to
        /// change.
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
        ///     >>> prices = sw.Prices.from_values(six, [0.5, 0.25], currency="EUR")
        ///     >>> plan = sw.plan_charge(prices, now=six, power_max_kw=8, targets=[(None, 8)])
        ///     >>> plan.certificate.verify().holds
        ///     True
        ///     >>> tampered = plan.certificate.to_dict() | {
        ///     ...     "bound": 1.5,
        ///     ...     "requirements": plan.certificate.requirements,
        ///     ...     "slots": plan.certificate.slots,
        ///     ... }
        ///     >>> sw.Certificate(**tampered).verify().failed
        ///     ['bound', 'gap', 'is_proved']
        fn verify(&self) -> Result<Verification, Refused> {
            let slots = self.slots.iter().map(PlannedSlot::stated);
            let slots = slots.collect::<Result<Vec<_>, Refused>>()?;
            let requirement = |requirement: &Requirement| {
                Ok::<_, Refused>(engine::Requirement {
                    by: requirement.by,
                    energy: Energy::from_kwh(requirement.energy_kwh).named("energy_kwh")?,
                    marginal_price: Price::from_per_kwh(requirement.marginal_price_per_kwh)
                        .named("marginal_price_per_kwh")?,
                })
            };
            let evidence = engine::ChargeEvidence {
                at_once: Energy::from_kwh(self.at_once_kwh).named("at_once_kwh")?,
                requirements: self.requirements.iter().map(requirement).collect::<Result<_, _>>()?,
                energy_max: self
                    .energy_max_kwh
                    .map(Energy::from_kwh)
                    .transpose()
                    .named("energy_max_kwh")?,
                surplus_price: Price::from_per_kwh(self.surplus_price_per_kwh)
                    .named("surplus_price_per_kwh")?,
            };
            let Self { cost, bound, gap, is_proved, .. } = *self;
            let stated = Stated { cost, bound, gap, is_proved };
            Ok(Verification::new(engine::verify(&slots, &evidence, stated)))
        }
    }
}

impl PlannedSlot {
    /// The slot as the engine has it.
    fn stated(&self) -> Result<engine::PlannedSlot, Refused> {
        Ok(engine::PlannedSlot {
            start: self.start,
            end: self.end,
            price: Price::from_per_kwh(self.price_per_kwh).named("price_per_kwh")?,
            power_max: Power::from_kw(self.power_max_kw).named("power_max_kw")?,
            energy: Energy::from_kwh(self.energy_kwh).named("energy_kwh")?,
        })
    }
}

impl Interval {
    pub(crate) fn new(interval: &slackwater_engine::plan::Interval) -> Self {
        let slackwater_engine::plan::Interval { start, end, power } = *interval;
        Self { start, end, power_kw: power.as_kw() }
    }

    /// Start, end and power in kW.
    pub(crate) fn parts(&self) -> (DateTime<Utc>, DateTime<Utc>, f64) {
        (self.start, self.end, self.power_kw)
    }
}

/// Plan of one vehicle with its request, prices and currency; see `slackwater.Plan`.
#[pyclass(frozen, subclass, module = "slackwater._engine")]
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    charged: Arc<Charged>,
    terms: Terms,
    /// The battery, where the plan was made from one that knew it.
    vehicle: Option<VehicleRequest>,
}

impl Plan {
    /// A plan on the terms of its prices.
    pub(crate) fn new(charged: Charged, terms: Terms) -> Self {
        let vehicle = charged.vehicle().cloned();
        Self { charged: Arc::new(charged), terms, vehicle }
    }

    /// Plan of the engine.
    pub(crate) fn intended(&self) -> &engine::Plan {
        self.charged.plan()
    }

    /// The battery and its wishes, where the plan was made for one.
    pub(crate) fn vehicle(&self) -> Option<&VehicleRequest> {
        self.vehicle.as_ref()
    }

    /// Energy at negative prices that is not bought, where energy is what is wanted.
    fn forgone(&self) -> Result<Option<Forgone>, Refused> {
        if matches!(*self.charged, Charged::Duration(_)) {
            return Ok(None);
        }
        let (problem, plan) = (self.problem()?, self.intended());
        Ok(forgone(self.charged.prices(), &problem, &plan.slots, plan.energy))
    }

    /// Energy asked for, in kWh.
    pub(crate) fn problem(&self) -> Result<ChargeProblem, RefusedRequest> {
        self.charged.wish().problem()
    }

    /// How close the plan was kept to an older one, if it was.
    pub(crate) fn steadiness(&self) -> Option<&Stability> {
        match &*self.charged {
            Charged::Kept(run) => Some(&run.plan().stability),
            Charged::Charge(_) | Charged::Vehicle(_) | Charged::Duration(_) => None,
        }
    }

    /// The text of the saved plan.
    pub(crate) fn to_json(&self) -> String {
        self.terms.to_json(self.charged.recorded())
    }

    /// The plan of the same wish that stays close to an older one.
    pub(crate) fn close_to(
        &self,
        prices: &Prices,
        previous: &Self,
        budget: Budget,
    ) -> Result<Self, RefusedRequest> {
        let (wish, previous) = (self.charged.wish(), Arc::new(previous.intended().clone()));
        let run = SavedRun::new(prices.curve.clone(), SteadyRequest { wish, previous, budget })?;
        Ok(Self {
            charged: Arc::new(Charged::Kept(run)),
            terms: Terms::new(prices, None),
            vehicle: self.vehicle.clone(),
        })
    }

    /// Where the prices come from that the plan rests on.
    fn provenance(&self, py: Python<'_>) -> Result<questions::Provenance, Refused> {
        let (layered, problem) = (self.prices().layered()?, self.problem()?);
        Ok(py.detach(|| questions::provenance(&layered, &problem, self.intended())))
    }

    /// The plan of a changed request, for the same battery.
    pub(crate) fn changed(
        &self,
        prices: &Prices,
        request: ChargeRequest,
    ) -> Result<Self, RefusedRequest> {
        let charged = Charged::Charge(SavedRun::new(prices.curve.clone(), request)?);
        let (charged, vehicle) = (Arc::new(charged), self.vehicle.clone());
        Ok(Self { charged, terms: Terms::new(prices, None), vehicle })
    }
}

pub(crate) fn planned_slots(slots: &[engine::PlannedSlot]) -> Vec<PlannedSlot> {
    let slot = |slot: &engine::PlannedSlot| PlannedSlot {
        start: slot.start,
        end: slot.end,
        price_per_kwh: slot.price.as_per_kwh(),
        power_max_kw: slot.power_max.as_kw(),
        energy_kwh: slot.energy.as_kwh(),
    };
    slots.iter().map(slot).collect()
}

pub(crate) fn outcomes(targets: &[engine::TargetOutcome]) -> Vec<TargetOutcome> {
    let outcome = |target: &engine::TargetOutcome| TargetOutcome {
        by: target.by,
        wanted_kwh: target.wanted.as_kwh(),
        delivered_kwh: target.delivered.as_kwh(),
        shortfall_kwh: target.shortfall.as_kwh(),
        above_limit_kwh: target.above_limit.as_kwh(),
        reached_at: target.reached_at,
    };
    targets.iter().map(outcome).collect()
}

#[pymethods]
impl Plan {
    /// Makes the class of Python, which takes prices beside the plan.
    #[new]
    #[pyo3(signature = (native, *_rest: "object"))]
    fn from_native(native: &Self, _rest: &Bound<'_, PyTuple>) -> Self {
        native.clone()
    }

    /// First instant that the plan could use, in UTC.
    #[getter]
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.charged.now()
    }

    #[getter(_import_prices)]
    fn prices(&self) -> Prices {
        self.terms.import(self.charged.prices().clone())
    }

    /// Cost of the energy, in units of the currency.
    #[getter]
    fn cost(&self) -> f64 {
        self.intended().cost.as_amount()
    }

    /// Energy bought, in kWh at the plug.
    #[getter]
    fn energy_kwh(&self) -> f64 {
        self.intended().energy.as_kwh()
    }

    /// Most energy missing at any deadline, in kWh; 0 if all targets are met.
    #[getter]
    fn shortfall_kwh(&self) -> f64 {
        self.intended().shortfall.as_kwh()
    }

    /// Price of the next kWh before the last deadline; ``None`` without capacity.
    #[getter]
    fn marginal_price_per_kwh(&self) -> Option<f64> {
        self.intended().marginal_price.map(Price::as_per_kwh)
    }

    /// Cost of the same energy at full power from plug-in.
    #[getter]
    fn baseline_cost(&self) -> f64 {
        self.intended().baseline_cost.as_amount()
    }

    /// Baseline cost minus cost; negative if smart charging cost more.
    #[getter]
    fn savings(&self) -> f64 {
        self.intended().savings().as_amount()
    }

    /// Time before the last deadline without a price, never used, in hours.
    ///
    /// Without a deadline it ends with ``until``, or with the last price.
    #[getter]
    fn unpriced_hours(&self) -> f64 {
        self.intended().unpriced_hours
    }

    /// Charging periods at full power, in time order, in UTC.
    #[getter]
    fn intervals(&self) -> Intervals {
        self.intended().intervals.iter().map(Interval::new).collect()
    }

    /// All slots that the plan could use, with the energy bought in each.
    #[getter]
    fn slots(&self) -> Vec<PlannedSlot> {
        planned_slots(&self.intended().slots)
    }

    /// Outcome of each target, in the order they were given.
    ///
    /// ``above_limit_kwh`` is the part of ``shortfall_kwh`` that lies above
    /// the charge limit of the battery.
    #[getter]
    fn targets(&self) -> Vec<TargetOutcome> {
        outcomes(&self.intended().targets)
    }

    /// The proof: cost, bound and gap, with the marginal prices behind them.
    #[getter]
    fn certificate(&self) -> Certificate {
        let certificate = &self.intended().certificate;
        let engine::ChargeEvidence { at_once, requirements, energy_max, surplus_price } =
            &certificate.evidence;
        Certificate {
            cost: certificate.cost.as_amount(),
            bound: certificate.bound.as_amount(),
            gap: certificate.gap().as_amount(),
            is_proved: certificate.is_proved(),
            at_once_kwh: at_once.as_kwh(),
            requirements: requirements
                .iter()
                .map(|requirement| Requirement {
                    by: requirement.by,
                    energy_kwh: requirement.energy.as_kwh(),
                    marginal_price_per_kwh: requirement.marginal_price.as_per_kwh(),
                })
                .collect(),
            energy_max_kwh: energy_max.map(Energy::as_kwh),
            surplus_price_per_kwh: surplus_price.as_per_kwh(),
            slots: self.slots(),
        }
    }

    /// Energy at negative prices before the last deadline that is not bought, in kWh.
    ///
    /// At most the room up to the charge limit, where the plan was made for a battery. Where
    /// the need is in kWh nobody knows the room, and it is all that the power allows:
    /// ``energy_max_kwh`` says how much fits, and then it is bought.
    #[getter]
    fn forgone_kwh(&self) -> Result<f64, Refused> {
        Ok(self.forgone()?.map_or(0.0, |forgone| forgone.energy.as_kwh()))
    }

    /// Money that :attr:`forgone_kwh` would earn, in units of the currency.
    #[getter]
    fn forgone_revenue(&self) -> Result<f64, Refused> {
        Ok(self.forgone()?.map_or(0.0, |forgone| forgone.revenue.as_amount()))
    }

    #[pyo3(signature = (*, time_zone))]
    fn explain(&self, time_zone: &str) -> Result<Reasons, Refused> {
        let zone = self::time_zone(time_zone)?;
        let reasons = engine::explain(self.intended()).into_iter();
        let reason = |reason: engine::Reason| Reason {
            start: reason.start,
            end: reason.end,
            energy_kwh: reason.energy.as_kwh(),
            cost: reason.cost.as_amount(),
            price_max_per_kwh: Some(reason.price_max.as_per_kwh()),
            code: reason.code.as_str().to_owned(),
            deadline: reason.deadline,
            marginal_price_per_kwh: reason.marginal_price.map(Price::as_per_kwh),
            runner_up_start: reason.runner_up.map(|next| next.start),
            runner_up_price_per_kwh: reason.runner_up.map(|next| next.price.as_per_kwh()),
            sentence: self.terms.tell_bought(
                reason.sentence(zone, self.terms.currency()),
                (reason.start, reason.end),
            ),
        };
        let gap = |gap: Gap| Reason {
            start: gap.start,
            end: gap.end,
            energy_kwh: 0.0,
            cost: 0.0,
            price_max_per_kwh: None,
            code: NO_PRICE.to_owned(),
            deadline: gap.missed.first().and_then(|missed| missed.by),
            marginal_price_per_kwh: None,
            runner_up_start: None,
            runner_up_price_per_kwh: None,
            sentence: gap.sentence(zone),
        };
        let gaps =
            gaps(self.charged.prices(), &self.problem()?, &self.intended().targets).into_iter();
        let unused = |forgone: Forgone| Reason {
            start: forgone.start,
            end: forgone.end,
            energy_kwh: 0.0,
            cost: 0.0,
            price_max_per_kwh: None,
            code: NEGATIVE_UNUSED.to_owned(),
            deadline: None,
            marginal_price_per_kwh: None,
            runner_up_start: None,
            runner_up_price_per_kwh: None,
            sentence: forgone.sentence(zone, self.terms.currency(), forgone.way()),
        };
        let unused = self.forgone()?.map(unused);
        let reasons = reasons.map(reason).chain(gaps.map(gap)).chain(unused);
        let mut reasons: Vec<Reason> = reasons.collect();
        reasons.sort_by_key(|reason| reason.start);
        Ok(reasons.into_iter().collect())
    }

    fn energy_kwh_by(&self, at: Instant) -> f64 {
        self.intended().energy_by(at.0).as_kwh()
    }

    fn soc_percent_by(&self, at: Instant) -> Result<Option<f64>, Refused> {
        let Some(vehicle) = self.charged.vehicle() else { return Ok(None) };
        Ok(Some(vehicle.soc_after(self.intended().energy_by(at.0))?.as_percent()))
    }

    /// Whether the state of charge was not known and the fallback was taken.
    #[getter]
    fn soc_is_assumed(&self) -> bool {
        self.charged.vehicle().is_some_and(|vehicle| vehicle.battery.soc.is_none())
    }

    /// How close the plan was kept to an older one; ``None`` if it was not.
    #[getter]
    fn stability(&self) -> Option<steady::Stability> {
        self.steadiness().map(steady::Stability::new)
    }

    /// Tell energy and state of charge as a function of time, by its corners.
    ///
    /// Between two corners both grow evenly. The state of charge is ``None`` if
    /// the plan knows no battery.
    fn soc_by_time(&self) -> Result<Vec<SocPoint>, Refused> {
        SocPoint::all(self)
    }

    /// Energy bought at the prices of each source, in the order of the layers.
    ///
    /// Prices without layers are one known source, ``"prices"``.
    #[getter]
    fn sources(&self, py: Python<'_>) -> Result<Vec<SourceShare>, Refused> {
        Ok(SourceShare::all(self.provenance(py)?.shares))
    }

    /// Energy bought at prices that are only estimated, in kWh.
    #[getter]
    fn energy_on_estimates_kwh(&self, py: Python<'_>) -> Result<f64, Refused> {
        Ok(self.provenance(py)?.energy_on_estimates.as_kwh())
    }

    /// Cost of the energy on estimates, if the estimates are right.
    #[getter]
    fn cost_on_estimates(&self, py: Python<'_>) -> Result<f64, Refused> {
        Ok(self.provenance(py)?.cost_on_estimates.as_amount())
    }

    /// Latest time to wait for prices without risk; ``None`` if nothing is to be charged.
    ///
    /// Whatever the prices that are still unknown turn out to be, a plan made
    /// then misses no more of a target and costs no more than known prices
    /// would have. Prices that arrive earlier are a reason to plan again.
    #[getter]
    fn decide_by(&self, py: Python<'_>) -> Result<Option<DateTime<Utc>>, Refused> {
        Ok(self.provenance(py)?.decide_by)
    }

    /// Whether to wait for now: lower prices may come, and waiting is without risk.
    #[getter]
    fn awaiting_prices(&self, py: Python<'_>) -> Result<bool, Refused> {
        Ok(self.provenance(py)?.awaiting_prices)
    }

    /// Compute each statement of the plan and of its certificate anew from request and prices.
    ///
    /// ``certificate.verify()`` checks a certificate in itself. This checks besides that the plan
    /// is one of :attr:`request` at :attr:`prices`: slots have the prices and the power limits of
    /// the stay and leave none of its priced time out, intervals are the energies of the slots,
    /// energy, cost, baseline and outcomes of targets follow from them, and the certificate rests
    /// on the energies that the request asks for. The planner is not used. The bound is the
    /// Lagrangian at the marginal prices of the certificate, which is a bound at any prices.
    ///
    /// Request and prices are taken as they are: of a file from elsewhere compare them with your
    /// own. :attr:`carbon_kg` is no statement, but follows from the intervals whenever it is asked.
    ///
    /// Returns:
    ///     Each statement with the computed number and the difference. Nothing is raised for a
    ///     statement that does not hold: look at ``failed``, whose first is the cause of those
    ///     after it as a rule.
    ///
    /// Example:
    ///     >>> from datetime import UTC, datetime
    ///     >>> import slackwater as sw
    ///     >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
    ///     >>> prices = sw.Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
    ///     >>> plan = sw.plan_charge(prices, now=six, power_max_kw=7, targets=[(None, 10)])
    ///     >>> plan.verify().holds
    ///     True
    ///     >>> text = plan.to_json().replace('"energy_kwh": 10.0', '"energy_kwh": 12.0', 1)
    ///     >>> forged = sw.Plan.from_json(text)
    ///     >>> forged.certificate.verify().holds, forged.verify().failed[0]
    ///     (True, 'targets[0].wanted_kwh')
    fn verify(&self, py: Python<'_>) -> Result<Verification, Refused> {
        let problem = self.problem()?;
        let (curve, plan) = (self.charged.prices(), self.intended());
        Ok(Verification::new(py.detach(|| engine::verify_plan(curve, &problem, plan))))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.intended() == other.intended()
            && self.now() == other.now()
            && self.steadiness() == other.steadiness()
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
        let times = |of: fn(&engine::PlannedSlot) -> DateTime<Utc>| -> ArrayRef {
            let micros: Vec<i64> = slots.iter().map(|slot| of(slot).timestamp_micros()).collect();
            Arc::new(utc(TimestampMicrosecondArray::from(micros)))
        };
        let numbers = |of: fn(&engine::PlannedSlot) -> f64| -> ArrayRef {
            Arc::new(Float64Array::from(slots.iter().map(of).collect::<Vec<f64>>()))
        };
        let table = Table::of_columns([
            ("start", times(|slot| slot.start), false),
            ("end", times(|slot| slot.end), false),
            ("price_per_kwh", numbers(|slot| slot.price.as_per_kwh()), false),
            ("power_max_kw", numbers(|slot| slot.power_max.as_kw()), false),
            ("energy_kwh", numbers(|slot| slot.energy.as_kwh()), false),
        ])?;
        table.stream(py, requested_schema)
    }
}

pub(crate) fn after_deadline(name: &str) -> Result<AfterDeadline, Refused> {
    match name {
        "continue" => Ok(AfterDeadline::Continue),
        "stop" => Ok(AfterDeadline::Stop),
        other => {
            let text = format!("after_deadline is {other:?}; it is \"continue\" or \"stop\"");
            Err(Refused::Input(text))
        }
    }
}

pub(crate) fn limits(limits: &[LimitTuple]) -> Result<Vec<PowerLimit>, Refused> {
    let limit = |(index, limit): (usize, &LimitTuple)| {
        let power_max = Power::from_kw(limit.2).named(&format!("power_limits[{index}]"))?;
        Ok(PowerLimit { start: limit.0.0, end: limit.1.0, power_max })
    };
    limits.iter().enumerate().map(limit).collect()
}

#[pyfunction]
#[pyo3(signature = (
    prices, *, now, power_max_kw, targets, until, reserve_kwh, energy_max_kwh, power_limits,
    after_deadline
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn plan_charge(
    py: Python<'_>,
    prices: &Prices,
    now: Instant,
    power_max_kw: f64,
    targets: Vec<(Option<Instant>, f64)>,
    until: Option<Instant>,
    reserve_kwh: f64,
    energy_max_kwh: Option<f64>,
    power_limits: Vec<LimitTuple>,
    after_deadline: &str,
) -> Result<Plan, Refused> {
    let target = |(index, target): (usize, &(Option<Instant>, f64))| {
        let energy = Energy::from_kwh(target.1).named(&format!("targets[{index}].energy_kwh"))?;
        Ok::<_, Refused>(Target { by: target.0.map(|by| by.0), energy })
    };
    let request = ChargeRequest {
        now: now.0,
        until: until.map(|until| until.0),
        power_max: Power::from_kw(power_max_kw).named("power_max_kw")?,
        power_limits: limits(&power_limits)?,
        targets: targets.iter().enumerate().map(target).collect::<Result<_, _>>()?,
        reserve: Energy::from_kwh(reserve_kwh).named("reserve_kwh")?,
        energy_max: energy_max_kwh.map(Energy::from_kwh).transpose().named("energy_max_kwh")?,
        charge_limit: None,
        after_deadline: self::after_deadline(after_deadline)?,
    };
    planned(py, prices, request, Charged::Charge)
}

/// Plans without the interpreter lock.
pub(crate) fn planned<R>(
    py: Python<'_>,
    prices: &Prices,
    request: R,
    charged: impl FnOnce(SavedRun<R>) -> Charged,
) -> Result<Plan, Refused>
where
    R: Replay<Prices = Arc<PriceCurve>, Plan: Send> + Send,
{
    let run = py.detach(|| SavedRun::new(prices.curve.clone(), request))?;
    Ok(Plan::new(charged(run), Terms::new(prices, None)))
}

/// The battery as Python gives it.
pub(crate) type BatteryTuple = (f64, Option<f64>, Option<f64>, f64, f64);

pub(crate) fn battery(given: BatteryTuple) -> Result<Battery, Refused> {
    let (capacity, soc, fallback, limit, efficiency) = given;
    let percent =
        |value: Option<f64>, name: &str| value.map(Percent::from_percent).transpose().named(name);
    Ok(Battery {
        capacity: Energy::from_kwh(capacity).named("capacity_kwh")?,
        soc: percent(soc, "soc_percent")?,
        soc_fallback: percent(fallback, "soc_fallback_percent")?,
        charge_limit: Percent::from_percent(limit).named("charge_limit_percent")?,
        efficiency,
    })
}

#[pyfunction]
#[pyo3(signature = (
    prices, *, now, power_max_kw, battery, targets, until, reserve_percent, fill_when_negative,
    power_limits, after_deadline
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn plan_vehicle(
    py: Python<'_>,
    prices: &Prices,
    now: Instant,
    power_max_kw: f64,
    battery: BatteryTuple,
    targets: Vec<(Option<Instant>, Option<f64>)>,
    until: Option<Instant>,
    reserve_percent: f64,
    fill_when_negative: bool,
    power_limits: Vec<LimitTuple>,
    after_deadline: &str,
) -> Result<Plan, Refused> {
    let target = |(index, target): (usize, &(Option<Instant>, Option<f64>))| {
        let name = format!("targets[{index}].soc_percent");
        let soc = target.1.map(Percent::from_percent).transpose().named(&name)?;
        Ok::<_, Refused>(SocTarget { by: target.0.map(|by| by.0), soc })
    };
    let vehicle = VehicleRequest {
        now: now.0,
        until: until.map(|until| until.0),
        power_max: Power::from_kw(power_max_kw).named("power_max_kw")?,
        power_limits: limits(&power_limits)?,
        battery: self::battery(battery)?,
        targets: targets.iter().enumerate().map(target).collect::<Result<_, _>>()?,
        reserve: Percent::from_percent(reserve_percent).named("reserve_percent")?,
        fill_when_negative,
        after_deadline: self::after_deadline(after_deadline)?,
    };
    planned(py, prices, vehicle, Charged::Vehicle)
}

#[pyfunction]
#[pyo3(signature = (prices, *, now, duration, by, power_kw))]
pub(crate) fn plan_duration(
    py: Python<'_>,
    prices: &Prices,
    now: Instant,
    duration: TimeDelta,
    by: Option<Instant>,
    power_kw: f64,
) -> Result<Plan, Refused> {
    let power = Power::from_kw(power_kw).named("power_kw")?;
    let request = DurationRequest { now: now.0, duration, by: by.map(|by| by.0), power };
    planned(py, prices, request, Charged::Duration)
}

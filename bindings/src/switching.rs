//! Plans of devices that switch.
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use slackwater_engine::plan::charge::{ChargeProblem, Forgone, Gap, Target, forgone, gaps};
use slackwater_engine::plan::evaluation::{ConnectionFacts, Evaluation, evaluate_switching};
use slackwater_engine::plan::questions;
use slackwater_engine::plan::record::SavedRun;
use slackwater_engine::plan::stability::{Budget, PreviousPowers};
use slackwater_engine::plan::switching::{
    DeviceState, SwitchingRequest, UnmetWish, plan_switching_within,
};
use slackwater_engine::plan::{self, switching as engine};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::units::{Energy, Money, Power, Price};

use crate::charged::Charged;
use crate::error::{Named, Refused};
use crate::interrupt;
use crate::plan::{
    LimitTuple, NEGATIVE_UNUSED, NO_PRICE, Plan, PlannedSlot, TargetOutcome, after_deadline,
    limits, outcomes, planned_slots,
};
use crate::prices::Prices;
use crate::provenance::SourceShare;
use crate::record;
use crate::saved::Terms;
use crate::steady;
use crate::time::{Instant, time_zone};
use crate::verification::Verification;

record! {
    /// A period at one power.
    pub(crate) struct SwitchingInterval in SwitchingIntervals {
        /// First instant, in UTC.
        start: DateTime<Utc>,
        /// First instant after the interval, in UTC.
        end: DateTime<Utc>,
        /// Power throughout, in kW at the plug, at least the least power.
        power_kw: f64,
        /// True for the last slot of a need, which ends early at the least power.
        is_top_off: bool,
    }

    /// Time without pause in which the device is on.
    pub(crate) struct Session {
        /// First instant within the plan, in UTC.
        start: DateTime<Utc>,
        /// First instant after the session, in UTC.
        end: DateTime<Utc>,
        /// Energy bought over the session, in kWh at the plug.
        energy_kwh: f64,
        /// True if it continues a session from before the plan, so that it costs no start.
        is_carried: bool,
    }

    /// A wish that could not be kept, and by how much.
    pub(crate) struct UnmetSwitchingWish {
        /// Name of the wish: `target`, `switching_limits`, `on_min` or `run_last`.
        wish: String,
        /// Position of the target in the request, from 0; `None` for other wishes.
        target: Option<usize>,
        /// End of the session that is shorter than `on_min`, in UTC; `None` for other wishes.
        at: Option<DateTime<Utc>>,
        /// Energy missing, in kWh at the plug; `None` for wishes about time.
        shortfall_kwh: Option<f64>,
        /// Time missing, in minutes; `None` for wishes about energy.
        shortfall_minutes: Option<f64>,
    }

    /// Cost of a plan, the bound that no plan can undercut, and the search that it rests on.
    pub(crate) struct SwitchingCertificate {
        /// Method of the search: `exact_search` or `mixed_integer`.
        method: String,
        /// How the search ended: `optimal`, `limit_reached`, `time_reached`, `solver_failed` or
        /// `bound_above_cost`.
        status: String,
        /// True if the search was complete: its status is `optimal`.
        is_complete: bool,
        /// Cost of energy and starts, in units of the currency.
        cost: f64,
        /// Lower bound on the cost of all plans with as little shortfall.
        bound: f64,
        /// Cost minus bound: the most that another plan can save.
        gap: f64,
        /// True if the search was complete and the gap is rounding.
        is_proved: bool,
        /// Lower bound by a price on energy alone; `None` after a mixed-integer programme, or if no
        /// search found a plan.
        relaxed_bound: Option<f64>,
        /// The price of that bound, per kWh; `None` where there is no such bound.
        relaxed_price_per_kwh: Option<f64>,
    }

    /// Why a period of running is in a plan.
    pub(crate) struct SwitchingReason in SwitchingReasons {
        /// First instant of the period, in UTC.
        start: DateTime<Utc>,
        /// First instant after the period, in UTC.
        end: DateTime<Utc>,
        /// Energy bought in the period, in kWh at the plug.
        energy_kwh: f64,
        /// Cost of that energy without starts, in units of the currency.
        cost: f64,
        /// Highest price paid in the period, per kWh; `None` for time without a price, and for
        /// negative prices that are not used.
        price_max_per_kwh: Option<f64>,
        /// The reason: `cheapest`, `deadline`, `missed_deadline`, `avoids_start`, `on_min`,
        /// `run_last`, `top_off`, `previous_plan`, `no_price` or `negative_unused`.
        code: String,
        /// Deadline that the period serves, in UTC; `None` is the end of the known prices.
        deadline: Option<DateTime<Utc>>,
        /// Start of the cheapest slot in which the device could run and is off, in UTC; `None` if
        /// there is none.
        runner_up_start: Option<DateTime<Utc>>,
        /// Price of a kWh in that slot; `None` if there is none.
        runner_up_price_per_kwh: Option<f64>,
        /// The reason as a sentence, with times on the wall clock that `explain` was asked for.
        sentence: String,
    }
}

/// Plan of a device that switches, with its request, prices and currency; see
/// `slackwater.SwitchingPlan`.
#[pyclass(frozen, subclass, module = "slackwater._engine")]
#[derive(Debug, Clone)]
pub(crate) struct SwitchingPlan {
    run: Arc<SavedRun<SwitchingRequest>>,
    terms: Terms,
}

impl SwitchingPlan {
    /// A plan on the terms of its prices.
    pub(crate) fn new(run: SavedRun<SwitchingRequest>, terms: Terms) -> Self {
        Self { run: Arc::new(run), terms }
    }

    /// Plan of the engine.
    pub(crate) fn intended(&self) -> &engine::SwitchingPlan {
        self.run.plan()
    }

    /// The plan of the same request near another plan.
    pub(crate) fn plan_near(
        &self,
        py: Python<'_>,
        previous: &Self,
        budget: Budget,
    ) -> Result<Self, Refused> {
        let interval = |interval: &engine::SwitchingInterval| plan::Interval {
            start: interval.start,
            end: interval.end,
            power: interval.power,
        };
        let intervals = previous.intended().intervals.iter().map(interval).collect();
        let previous = Some(PreviousPowers { intervals, budget });
        let request = SwitchingRequest { previous, ..self.run.request().clone() };
        let run = plan_within_time(py, self.run.prices().clone(), request)?;
        Ok(Self::new(run, self.terms.clone()))
    }

    /// The need and the times of the device, without rules of switching.
    fn problem(&self) -> Result<ChargeProblem, Refused> {
        Ok(ChargeProblem::new(self.intended().free_request.clone())?)
    }

    /// Energy at negative prices that is not bought.
    fn forgone(&self) -> Result<Option<Forgone>, Refused> {
        let plan = self.intended();
        Ok(forgone(self.run.prices(), &self.problem()?, &plan.slots, plan.energy))
    }

    /// The plan under the prices that it was made for.
    fn at_own_prices(&self) -> Evaluation {
        evaluate_switching(self.intended(), &ConnectionFacts::new(self.run.prices()))
    }

    /// The text of the saved plan.
    pub(crate) fn to_json(&self) -> String {
        self.terms.to_json(SavedRun::clone(&self.run))
    }
}

#[pymethods]
impl SwitchingPlan {
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
        self.terms.import(self.run.prices().clone())
    }

    /// Cost of energy and starts, in units of the currency.
    #[getter]
    fn cost(&self) -> f64 {
        self.intended().cost.as_amount()
    }

    /// Cost of the energy alone.
    #[getter]
    fn energy_cost(&self) -> f64 {
        self.intended().energy_cost.as_amount()
    }

    /// Cost of all starts.
    #[getter]
    fn start_costs(&self) -> f64 {
        self.intended().start_costs.as_amount()
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

    /// Extra cost of the energy over a free choice of hours; starts are not in it.
    #[getter]
    fn smoothness_cost(&self) -> f64 {
        self.intended().smoothness_cost().as_amount()
    }

    /// Cost of the same energy at full power from the start, in one session, in units of the
    /// currency.
    #[getter]
    fn baseline_cost(&self) -> f64 {
        self.at_own_prices().baseline.total().as_amount()
    }

    /// Baseline cost less cost; negative if the plan costs more.
    #[getter]
    fn savings(&self) -> f64 {
        let own = self.at_own_prices();
        (own.baseline.total() - own.cost()).as_amount()
    }

    /// Energy at negative prices before the last deadline that is not bought, in kWh.
    ///
    /// It is all that the power allows: rules of switching may leave less of it.
    #[getter]
    fn forgone_kwh(&self) -> Result<f64, Refused> {
        Ok(self.forgone()?.map_or(0.0, |forgone| forgone.energy.as_kwh()))
    }

    /// Money that :attr:`forgone_kwh` would earn, without starts, in units of the currency.
    #[getter]
    fn forgone_revenue(&self) -> Result<f64, Refused> {
        Ok(self.forgone()?.map_or(0.0, |forgone| forgone.revenue.as_amount()))
    }

    /// Sessions of :attr:`free_plan`.
    #[getter]
    fn free_sessions(&self) -> usize {
        self.intended().free_sessions()
    }

    #[getter]
    fn free_plan(&self) -> Result<Plan, Refused> {
        let request = self.intended().free_request.clone();
        let run = SavedRun::new(self.run.prices().clone(), request)?;
        Ok(Plan::new(Charged::Charge(run), self.terms.clone()))
    }

    /// Whether every run gives this plan: no clock ended the search.
    #[getter]
    fn is_reproducible(&self) -> bool {
        self.intended().is_reproducible()
    }

    /// Periods at one power, in time order, in UTC.
    #[getter]
    fn intervals(&self) -> SwitchingIntervals {
        let interval = |interval: &engine::SwitchingInterval| SwitchingInterval {
            start: interval.start,
            end: interval.end,
            power_kw: interval.power.as_kw(),
            is_top_off: interval.is_top_off,
        };
        self.intended().intervals.iter().map(interval).collect()
    }

    /// Time without pause in which the device is on.
    #[getter]
    fn sessions(&self) -> Vec<Session> {
        let session = |session: &engine::Session| Session {
            start: session.start,
            end: session.end,
            energy_kwh: session.energy.as_kwh(),
            is_carried: session.is_carried,
        };
        self.intended().sessions.iter().map(session).collect()
    }

    /// All slots that the plan could use, with the energy bought in each.
    #[getter]
    fn slots(&self) -> Vec<PlannedSlot> {
        planned_slots(&self.intended().slots)
    }

    /// Energy bought at the prices of each source, in the order of the layers.
    ///
    /// Prices without layers are one known source, ``"prices"``.
    #[getter]
    fn sources(&self) -> Result<Vec<SourceShare>, Refused> {
        let bought = self.intended().slots.iter().map(|slot| (slot.start, slot.energy, slot.price));
        Ok(SourceShare::all(questions::shares(&self.prices().layered()?, bought)))
    }

    /// How close the plan was kept to the one before; ``None`` if it was not.
    #[getter]
    fn stability(&self) -> Option<steady::Stability> {
        self.intended().stability.as_ref().map(steady::Stability::new)
    }

    /// Outcome of each target, in the order they were given.
    #[getter]
    fn targets(&self) -> Vec<TargetOutcome> {
        outcomes(&self.intended().targets)
    }

    /// Wishes that could not be kept, by name and by how much.
    #[getter]
    fn unmet(&self) -> Vec<UnmetSwitchingWish> {
        self.intended().unmet.iter().map(unmet).collect()
    }

    /// Cost, bound and gap, with the method that they rest on.
    ///
    /// ``certificate.status`` says how the search ended: ``"optimal"``,
    /// ``"limit_reached"`` (nodes or work), ``"time_reached"``,
    /// ``"solver_failed"`` (a better plan may exist) or ``"bound_above_cost"``
    /// (an internal error). Only an optimal plan can be proved, if its gap is
    /// rounding beside the sum of all that the plan pays and is paid.
    #[getter]
    fn certificate(&self) -> SwitchingCertificate {
        let certificate = &self.intended().certificate;
        SwitchingCertificate {
            method: certificate.method.as_str().to_owned(),
            status: certificate.status.as_str().to_owned(),
            is_complete: certificate.is_complete,
            cost: certificate.cost.as_amount(),
            bound: certificate.bound.as_amount(),
            gap: certificate.gap().as_amount(),
            is_proved: certificate.is_proved(),
            relaxed_bound: certificate.relaxed_bound.map(Money::as_amount),
            relaxed_price_per_kwh: certificate.relaxed_price.map(Price::as_per_kwh),
        }
    }

    /// Compute each statement of the plan and of its certificate anew from its slots.
    ///
    /// Energies, sessions, costs and outcomes have to be those of the slots, and the sessions have
    /// to keep the rules of switching. After an exact search both bounds are computed by another
    /// method than the search: ``relaxed_bound`` by potentials of the states of the device, and
    /// ``bound`` path by path for each price that can separate full slots from the least power. A
    /// report without a line ``bound`` says that the bound rests on the search alone: on a
    /// mixed-integer programme, on a search that a limit ended, or on one with too many paths to
    /// follow. That no plan misses less is not checked.
    ///
    /// Returns:
    ///     Each statement with the computed number and the difference. Nothing is raised for a
    ///     statement that does not hold: look at ``failed``.
    ///
    /// Example:
    ///     >>> from datetime import UTC, datetime
    ///     >>> import slackwater as sw
    ///     >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
    ///     >>> prices = sw.Prices.from_values(six, [0.10, 0.30, 0.10, 0.20], currency="EUR")
    ///     >>> plan = sw.plan_switching(
    ///     ...     prices, now=six, power_max_kw=10, power_min_kw=4, targets=[(None, 20)],
    ///     ...     start_cost=1.5,
    ///     ... )
    ///     >>> verified = plan.verify()
    ///     >>> verified.holds, verified.checks[-1].line
    ///     (True, 'bound')
    fn verify(&self, py: Python<'_>) -> Result<Verification, Refused> {
        let (request, prices, plan) = (self.run.request(), self.run.prices(), self.intended());
        let problem = engine::SwitchingProblem::new(request.clone(), prices)?;
        Ok(Verification::new(py.detach(|| engine::verify(&problem, plan))))
    }

    #[pyo3(signature = (*, time_zone))]
    fn explain(&self, time_zone: &str) -> Result<SwitchingReasons, Refused> {
        let zone = self::time_zone(time_zone)?;
        let reason = |reason: &engine::SwitchingReason| SwitchingReason {
            start: reason.start,
            end: reason.end,
            energy_kwh: reason.energy.as_kwh(),
            cost: reason.cost.as_amount(),
            price_max_per_kwh: Some(reason.price_max.as_per_kwh()),
            code: reason.code.as_str().to_owned(),
            deadline: reason.deadline,
            runner_up_start: reason.runner_up.map(|next| next.start),
            runner_up_price_per_kwh: reason.runner_up.map(|next| next.price.as_per_kwh()),
            sentence: self.terms.tell_bought(
                reason.sentence(zone, self.terms.currency()),
                (reason.start, reason.end),
            ),
        };
        let idle = |start, end, code: &str, deadline, sentence| SwitchingReason {
            start,
            end,
            energy_kwh: 0.0,
            cost: 0.0,
            price_max_per_kwh: None,
            code: code.to_owned(),
            deadline,
            runner_up_start: None,
            runner_up_price_per_kwh: None,
            sentence,
        };
        let plan = self.intended();
        let gap = |gap: Gap| {
            let deadline = gap.missed.first().and_then(|missed| missed.by);
            idle(gap.start, gap.end, NO_PRICE, deadline, gap.sentence(zone))
        };
        let gaps = gaps(self.run.prices(), &self.problem()?, &plan.targets).into_iter();
        let unused = |left: Forgone| {
            let way = "a target for more energy allows it";
            let sentence = left.sentence(zone, self.terms.currency(), way);
            idle(left.start, left.end, NEGATIVE_UNUSED, None, sentence)
        };
        let reasons = engine::explain(plan);
        let reasons = reasons.iter().map(reason).chain(gaps.map(gap));
        let mut reasons: Vec<SwitchingReason> =
            reasons.chain(self.forgone()?.map(unused)).collect();
        reasons.sort_by_key(|reason| reason.start);
        Ok(reasons.into_iter().collect())
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.intended() == other.intended()
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        record::hash(slf.as_any(), &["cost", "shortfall_kwh"])
    }
}

fn unmet(wish: &UnmetWish) -> UnmetSwitchingWish {
    let mut unmet = UnmetSwitchingWish {
        wish: wish.as_str().to_owned(),
        target: None,
        at: None,
        shortfall_kwh: None,
        shortfall_minutes: None,
    };
    match *wish {
        UnmetWish::Target { target, missing } => {
            (unmet.target, unmet.shortfall_kwh) = (Some(target), Some(missing.as_kwh()));
        }
        UnmetWish::SwitchingLimits { missing } => unmet.shortfall_kwh = Some(missing.as_kwh()),
        UnmetWish::OnMin { at, missing_minutes } => {
            (unmet.at, unmet.shortfall_minutes) = (Some(at), Some(missing_minutes));
        }
        UnmetWish::RunLast { missing_minutes } => unmet.shortfall_minutes = Some(missing_minutes),
    }
    unmet
}

/// State of a device that is on, or off, since an instant.
pub(crate) fn state(
    running: Option<DateTime<Utc>>,
    stopped: Option<DateTime<Utc>>,
) -> Result<DeviceState, Refused> {
    match (running, stopped) {
        (None, None) => Ok(DeviceState::Off),
        (Some(since), None) => Ok(DeviceState::RunningSince(since)),
        (None, Some(since)) => Ok(DeviceState::StoppedSince(since)),
        (Some(_), Some(_)) => {
            let text = "running_since and stopped_since are both given; a device is on or off";
            Err(Refused::Input(text.to_owned()))
        }
    }
}

#[pyfunction]
#[pyo3(signature = (
    prices, *, now, power_max_kw, power_min_kw, targets, until, power_limits, start_cost,
    sessions_max, one_block, on_min, off_min, running_since, stopped_since, run_last,
    after_deadline, nodes_max, time_max
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn plan_switching(
    py: Python<'_>,
    prices: &Prices,
    now: Instant,
    power_max_kw: f64,
    power_min_kw: f64,
    targets: Vec<(Option<Instant>, f64)>,
    until: Option<Instant>,
    power_limits: Vec<LimitTuple>,
    start_cost: f64,
    sessions_max: Option<i64>,
    one_block: bool,
    on_min: Option<TimeDelta>,
    off_min: Option<TimeDelta>,
    running_since: Option<Instant>,
    stopped_since: Option<Instant>,
    run_last: Option<TimeDelta>,
    after_deadline: &str,
    nodes_max: i64,
    time_max: Option<TimeDelta>,
) -> Result<SwitchingPlan, Refused> {
    let target = |(index, target): (usize, &(Option<Instant>, f64))| {
        let energy = Energy::from_kwh(target.1).named(&format!("targets[{index}].energy_kwh"))?;
        Ok::<_, Refused>(Target { by: target.0.map(|by| by.0), energy })
    };
    let count = |value: i64, name: &str| {
        u32::try_from(value).map_err(|_| {
            Refused::Input(format!(
                "{name} is {value}; it is a whole number from 0 to {}",
                u32::MAX
            ))
        })
    };
    let request = SwitchingRequest {
        now: now.0,
        until: until.map(|until| until.0),
        power_max: Power::from_kw(power_max_kw).named("power_max_kw")?,
        power_min: Power::from_kw(power_min_kw).named("power_min_kw")?,
        power_limits: limits(&power_limits)?,
        targets: targets.iter().enumerate().map(target).collect::<Result<_, _>>()?,
        start_cost: Money::from_amount(start_cost).named("start_cost")?,
        sessions_max: sessions_max.map(|most| count(most, "sessions_max")).transpose()?,
        one_block,
        on_min: on_min.unwrap_or_default(),
        off_min: off_min.unwrap_or_default(),
        state: state(running_since.map(|at| at.0), stopped_since.map(|at| at.0))?,
        run_last: run_last.unwrap_or_default(),
        after_deadline: self::after_deadline(after_deadline)?,
        nodes_max: count(nodes_max, "nodes_max")?,
        seconds_max: time_max.map(TimeDelta::as_seconds_f64),
        previous: None,
    };
    let run = plan_within_time(py, prices.curve.clone(), request)?;
    Ok(SwitchingPlan::new(run, Terms::new(prices, None)))
}

/// Plans a request within its seconds, if it has any, and until a signal comes.
fn plan_within_time(
    py: Python<'_>,
    curve: Arc<PriceCurve>,
    request: SwitchingRequest,
) -> Result<SavedRun<SwitchingRequest>, Refused> {
    let run = interrupt::run(py, request.seconds_max, move |clock| {
        let seconds_left = || clock.seconds_left();
        SavedRun::planned_by(curve, request, |_, problem| {
            plan_switching_within(problem, &seconds_left)
        })
    })??;
    Ok(run)
}

//! Questions to a plan: what if, what does a wish cost, what is at risk.
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use slackwater_engine::plan::charge::Target;
use slackwater_engine::plan::questions as engine;
use slackwater_engine::plan::questions::{
    ChangedInput, PlanTotals, TotalsChange, WhatIf, one_more_percent,
};
use slackwater_engine::units::{Energy, Money, Percent, Price, kwh};

use crate::area::AreaNumbers;
use crate::error::{Named, Refused};
use crate::evaluate::AnyPlan;
use crate::plan::Plan;
use crate::prices::Prices;
use crate::time::{Instant, time_zone};

record! {
    /// Energy bought, and state of charge, by an instant.
    pub(crate) struct SocPoint {
        /// The instant, in UTC.
        at: DateTime<Utc>,
        /// Energy bought until then, counted from the start of the plan, in kWh at the plug.
        energy_kwh: f64,
        /// State of charge at the instant, in percent; `None` if the plan knows no battery.
        soc_percent: Option<f64>,
    }

    /// Outcome of a plan if the vehicle leaves at an instant.
    pub(crate) struct DepartureOutcome {
        /// The departure, in UTC.
        at: DateTime<Utc>,
        /// Probability of this departure, from 0 to 1.
        probability: f64,
        /// Energy bought until then, in kWh at the plug.
        energy_kwh: f64,
        /// Energy missing then, in kWh at the plug; 0 if nothing is missing.
        shortfall_kwh: f64,
    }

    /// Energy that a plan may fail to deliver because nobody knows the departure.
    pub(crate) struct EnergyAtRisk {
        /// Energy that nothing should be missing of, in kWh at the plug.
        wanted_kwh: f64,
        /// Mean of the missing energy over all departures by their probabilities, in kWh.
        expected_shortfall_kwh: f64,
        /// Most missing energy of any departure that can happen, in kWh.
        shortfall_max_kwh: f64,
        /// Probability that energy is missing, from 0 to 1.
        probability_short: f64,
        /// One outcome per instant of departure, in time order.
        outcomes: Vec<DepartureOutcome>,
    }

    /// A corner of an insurance frontier.
    pub(crate) struct InsurancePoint {
        /// Energy bought by the instant of the frontier, in kWh at the plug.
        energy_kwh: f64,
        /// State of charge with that energy, in percent; `None` if the plan knows no battery.
        soc_percent: Option<f64>,
        /// Least cost of that beyond the cost of the plan, in units of the currency; 0 or more.
        added_cost: f64,
        /// Added cost of the next kWh; `None` at the last corner.
        marginal_price_per_kwh: Option<f64>,
    }
}

/// Cost of having energy earlier. See `slackwater.InsuranceFrontier`.
#[pyclass(frozen, subclass, eq, module = "slackwater._engine")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InsuranceFrontier {
    frontier: engine::InsuranceFrontier,
    socs: Vec<Option<f64>>,
}

#[pymethods]
impl InsuranceFrontier {
    /// Makes the class of Python, which takes a plan beside the frontier.
    #[new]
    #[pyo3(signature = (native, *_rest: "object"))]
    fn from_native(native: &Self, _rest: &Bound<'_, PyTuple>) -> Self {
        native.clone()
    }

    /// The instant by which the energy is there, in UTC.
    #[getter]
    fn at(&self) -> DateTime<Utc> {
        self.frontier.at
    }

    /// Corners of the added cost, by energy: exact, straight in between, convex.
    #[getter]
    fn points(&self) -> Vec<InsurancePoint> {
        let points = self.frontier.points.iter().zip(&self.socs);
        let point = |(point, &soc_percent): (&engine::InsurancePoint, _)| InsurancePoint {
            energy_kwh: point.energy.as_kwh(),
            soc_percent,
            added_cost: point.added_cost.as_amount(),
            marginal_price_per_kwh: point.marginal_price.map(Price::as_per_kwh),
        };
        points.map(point).collect()
    }

    #[pyo3(signature = (*, energy_kwh: "float"))]
    fn added_cost(&self, energy_kwh: f64) -> Result<Option<f64>, Refused> {
        let energy = Energy::from_kwh(energy_kwh).named("energy_kwh")?;
        Ok(self.frontier.added_cost(energy).map(Money::as_amount))
    }
}

fn soc_percent(plan: &Plan, energy: Energy) -> Result<Option<f64>, Refused> {
    let soc = plan.vehicle().map(|vehicle| vehicle.soc_after(energy)).transpose()?;
    Ok(soc.map(Percent::as_percent))
}

impl SocPoint {
    /// Corners of energy and state of charge as functions of time.
    pub(crate) fn all(plan: &Plan) -> Result<Vec<Self>, Refused> {
        let corners = engine::energy_by_time(plan.intended(), plan.now());
        let point = |point: &engine::EnergyPoint| {
            let soc_percent = soc_percent(plan, point.energy)?;
            Ok(Self { at: point.at, energy_kwh: point.energy.as_kwh(), soc_percent })
        };
        corners.iter().map(point).collect()
    }
}

/// See `slackwater.Plan.energy_at_risk`.
#[pyfunction]
#[pyo3(signature = (plan, departures, *, wanted_kwh))]
pub(crate) fn energy_at_risk(
    plan: &Plan,
    departures: Vec<(Instant, f64)>,
    wanted_kwh: Option<f64>,
) -> Result<EnergyAtRisk, Refused> {
    let wanted = wanted_kwh.map(Energy::from_kwh).transpose().named("wanted_kwh")?;
    let departure = |&(at, weight): &(Instant, f64)| engine::Departure { at: at.0, weight };
    let departures: Vec<_> = departures.iter().map(departure).collect();
    let risk = engine::energy_at_risk(plan.intended(), &departures, wanted)?;
    let outcome = |outcome: &engine::DepartureOutcome| DepartureOutcome {
        at: outcome.at,
        probability: outcome.probability,
        energy_kwh: outcome.energy.as_kwh(),
        shortfall_kwh: outcome.missing.as_kwh(),
    };
    Ok(EnergyAtRisk {
        wanted_kwh: risk.wanted.as_kwh(),
        expected_shortfall_kwh: risk.expected_missing.as_kwh(),
        shortfall_max_kwh: risk.missing_max.as_kwh(),
        probability_short: risk.probability_short,
        outcomes: risk.outcomes.iter().map(outcome).collect(),
    })
}

/// See `slackwater.insurance_frontier`.
#[pyfunction]
#[pyo3(signature = (plan, *, at))]
pub(crate) fn insurance_frontier(plan: &Plan, at: Instant) -> Result<InsuranceFrontier, Refused> {
    let now = plan.now();
    if at.0 < now {
        let text =
            format!("at is {}, before the plan begins at {now}; nothing is charged by then", at.0);
        return Err(Refused::Input(text));
    }
    let frontier = engine::insurance_frontier(plan.intended(), at.0);
    let socs = frontier.points.iter().map(|point| soc_percent(plan, point.energy));
    let socs = socs.collect::<Result<_, _>>()?;
    Ok(InsuranceFrontier { frontier, socs })
}

/// A plan with something changed, cost, energy and shortfall that it adds, and the sentence.
type Answer = (Plan, f64, f64, f64, String);

fn answer(plan: &Plan, prices: &Prices, what_if: WhatIf, zone: Tz) -> Result<Answer, Refused> {
    let sentence = what_if.sentence(zone, prices.currency());
    Ok((
        plan.changed(prices, what_if.request)?,
        what_if.cost_change.as_amount(),
        what_if.energy_change.as_kwh(),
        what_if.shortfall_change.as_kwh(),
        sentence,
    ))
}

/// See `slackwater.Plan.what_if`.
#[pyfunction]
#[pyo3(signature = (
    plan, prices, *, no_reserve, departure, more_kwh, without_deadline, floor, time_zone
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn what_if(
    py: Python<'_>,
    plan: &Plan,
    prices: &Prices,
    no_reserve: bool,
    departure: Option<Instant>,
    more_kwh: Option<f64>,
    without_deadline: Option<Instant>,
    floor: Vec<(Option<Instant>, f64)>,
    time_zone: &str,
) -> Result<Answer, Refused> {
    let zone = self::time_zone(time_zone)?;
    let mut changes: Vec<ChangedInput> = Vec::new();
    changes.extend(no_reserve.then_some(ChangedInput::NoReserve));
    changes.extend(without_deadline.map(|by| ChangedInput::NoDeadline { by: by.0 }));
    changes.extend(departure.map(|at| ChangedInput::Departure { at: at.0 }));
    let more = more_kwh.map(Energy::from_kwh).transpose().named("more_kwh")?;
    changes.extend(more.map(|energy| ChangedInput::MoreEnergy { energy }));
    let level = |(index, level): (usize, &(Option<Instant>, f64))| {
        let energy = Energy::from_kwh(level.1).named(&format!("floor[{index}].energy_kwh"))?;
        Ok::<_, Refused>(Target { by: level.0.map(|by| by.0), energy })
    };
    if !floor.is_empty() {
        let levels = floor.iter().enumerate().map(level).collect::<Result<_, _>>()?;
        changes.push(ChangedInput::Floor { levels });
    }
    let problem = plan.problem()?;
    let what_if = py.detach(|| engine::what_if(&prices.curve, &problem, &changes))?;
    answer(plan, prices, what_if, zone)
}

/// See `slackwater.Plan.costs`.
#[pyfunction]
#[pyo3(signature = (plan, prices, *, time_zone))]
pub(crate) fn costs(
    py: Python<'_>,
    plan: &Plan,
    prices: &Prices,
    time_zone: &str,
) -> Result<Vec<Answer>, Refused> {
    let zone = self::time_zone(time_zone)?;
    let one_more = match plan.vehicle() {
        Some(vehicle) => one_more_percent(vehicle)?,
        None => Some(kwh(1.0)),
    };
    let problem = plan.problem()?;
    let answers = py.detach(|| engine::costs(&prices.curve, &problem, one_more));
    answers.into_iter().map(|what_if| answer(plan, prices, what_if, zone)).collect()
}

/// A plan whose totals are compared.
#[derive(FromPyObject)]
pub(crate) enum ComparedPlan<'py> {
    One(AnyPlan<'py>),
    Area(PyRef<'py, AreaNumbers>),
}

impl ComparedPlan<'_> {
    fn totals(&self) -> Result<PlanTotals, Refused> {
        match self {
            Self::One(AnyPlan::Storage(plan)) => Ok(plan.evaluated().1.into()),
            Self::One(AnyPlan::Switching(plan)) => Ok(plan.intended().into()),
            Self::One(AnyPlan::Site(plan)) => Ok(plan.evaluated().1.into()),
            Self::One(AnyPlan::Capacity(plan)) => Ok(plan.intended().into()),
            Self::Area(numbers) => numbers.add_up(),
            Self::One(AnyPlan::Heat(plan)) => Ok(plan.intended().into()),
            Self::One(AnyPlan::Charge(_)) => {
                Err(Refused::Input("a plan of this kind is not planned again by arguments".into()))
            }
        }
    }
}

/// Cost, energy and shortfall of a second plan less those of a first one, the sentence, and the
/// difference in degree-hours; see `slackwater.SitePlan.what_if`.
#[pyfunction]
#[pyo3(signature = (before, after, *, changes, currency))]
pub(crate) fn compare_totals(
    before: ComparedPlan<'_>,
    after: ComparedPlan<'_>,
    changes: Vec<String>,
    currency: &str,
) -> Result<(f64, f64, f64, String, f64), Refused> {
    let change = TotalsChange::between(&before.totals()?, &after.totals()?);
    Ok((
        change.cost.as_amount(),
        change.energy.as_kwh(),
        change.shortfall.as_kwh(),
        change.sentence(&changes, currency),
        change.degree_hours,
    ))
}

//! Policies of one vehicle while prices and its departure are uncertain.
use std::sync::{Arc, OnceLock};

use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use slackwater_engine::plan::Stated;
use slackwater_engine::plan::policy as engine;
use slackwater_engine::plan::policy::{
    PolicyRequest, PriceBranch, UncertainPrices, UncertainPricesError,
};
use slackwater_engine::plan::questions::Departure;
use slackwater_engine::prices::layers::LayeredPrices;
use slackwater_engine::units::{Energy, Power, Price};

use crate::error::{Named, Refused};
use crate::plan::{LimitTuple, limits};
use crate::prices::Prices;
use crate::record;
use crate::saved::tell_estimates;
use crate::time::{Instant, Whole, time_zone};
use crate::verification::Verification;

record! {
    /// Decision of a policy in a slot, in one of its states.
    pub(crate) struct PolicySlot in PolicySlots {
        /// First instant, in UTC.
        start: DateTime<Utc>,
        /// First instant after the slot, in UTC.
        end: DateTime<Utc>,
        /// Number of the state among those of the slot, from 0.
        state: usize,
        /// Probability of the state, from 0 to 1, if the vehicle is still there.
        probability: f64,
        /// Price of a kWh in this state, in units of the currency; may be negative.
        price_per_kwh: f64,
        /// Highest power over the slot, in kW at the plug.
        power_max_kw: f64,
        /// Energy to leave for later, in kWh at the plug: what is wanted above it is charged, as
        /// far as the power allows.
        left_kwh: f64,
    }

    /// Why a policy charges or waits in a slot, in one of its states.
    pub(crate) struct PolicyReason in PolicyReasons {
        /// First instant of the slot, in UTC.
        start: DateTime<Utc>,
        /// First instant after the slot, in UTC.
        end: DateTime<Utc>,
        /// Number of the state among those of the slot, from 0.
        state: usize,
        /// Probability of the state, from 0 to 1, if the vehicle is still there.
        probability: f64,
        /// Price of a kWh in this state, in units of the currency.
        price_per_kwh: f64,
        /// The reason: `charge_all`, `charge_above` or `wait`.
        code: String,
        /// Energy to leave for later, in kWh at the plug.
        left_kwh: f64,
        /// Expected cost of the next kWh if it was left for later, too; where all is left, of the
        /// last one. `None` if no energy is wanted at all.
        later_price_per_kwh: Option<f64>,
        /// The reason as a sentence, with times on the wall clock that `explain` was asked for.
        sentence: String,
    }

    /// Decision from an instant to the end of its slot.
    pub(crate) struct PolicyDecision {
        /// The instant, in UTC.
        start: DateTime<Utc>,
        /// End of its slot, in UTC: decide again then.
        end: DateTime<Utc>,
        /// Price of a kWh until then, in units of the currency.
        price_per_kwh: f64,
        /// Power until then, in kW at the plug: the energy, evenly.
        power_kw: f64,
        /// Energy to charge until then, in kWh at the plug.
        energy_kwh: f64,
        /// Energy that is still wanted afterwards, in kWh at the plug.
        left_kwh: f64,
        /// Expected cost from the instant on, of the electricity and of what will be missing.
        expected_cost: f64,
        /// Expected cost of one kWh more that is wanted now.
        marginal_cost_per_kwh: f64,
    }

    /// Step of a bid curve: energy that is bought at this price, or at a lower one.
    pub(crate) struct BidStep in BidCurve {
        /// Highest price at which the energy is bought, in units of the currency.
        price_per_kwh: f64,
        /// Energy until the end of the slot, that of the steps before included, in kWh at the plug.
        energy_kwh: f64,
    }

    /// Slot of a policy with all that its certificate rests on.
    pub(crate) struct PolicyStep {
        /// First instant, in UTC.
        start: DateTime<Utc>,
        /// First instant after the slot, in UTC.
        end: DateTime<Utc>,
        /// Most energy of the slot, in kWh at the plug.
        energy_max_kwh: f64,
        /// Probability that a vehicle that is still there leaves at the end, from 0 to 1.
        departure_probability: f64,
        /// Price of a kWh in each state, in units of the currency.
        prices_per_kwh: Vec<f64>,
        /// For each state, pairs `(state, probability)` of the states of the next slot that may
        /// follow it; empty in the last slot.
        transitions: Vec<Vec<(usize, f64)>>,
        /// Ends of the segments of the energy left for later, in kWh at the plug, in rising order.
        segment_ends_kwh: Vec<f64>,
        /// For each state, the expected cost of a kWh in each segment, in units of the currency, in
        /// rising order.
        marginal_costs_per_kwh: Vec<Vec<f64>>,
    }

    /// Expected cost of a policy, and a bound that no policy can undercut.
    pub(crate) struct PolicyCertificate {
        /// Expected cost by following the decisions, of the electricity and of what is missing.
        expected_cost: f64,
        /// Expected energy that is missing when the vehicle leaves, in kWh at the plug.
        expected_shortfall_kwh: f64,
        /// Lower bound on the expected cost of every policy.
        bound: f64,
        /// Expected cost minus bound: the most that another policy can save; 0 up to rounding if
        /// proved.
        gap: f64,
        /// True if the gap is rounding: at most 1e-9 of the cost, or of 1 if the cost is less.
        is_proved: bool,
        /// Energy wanted, in kWh at the plug.
        energy_kwh: f64,
        /// Price of a kWh that is missing when the vehicle leaves, in units of the currency.
        shortfall_price_per_kwh: f64,
        /// Probabilities of the states of the first slot.
        first_probabilities: Vec<f64>,
        /// All slots with prices, probabilities and marginal costs, in time order.
        slots: Vec<PolicyStep>,
    }
    impl {
        /// Compute each statement anew from the numbers of the certificate alone.
        ///
        /// The decisions follow from the prices and marginal costs of the slots. The distribution
        /// over states and energies is carried from slot to slot for the expected cost, and the
        /// marginal costs give the bound by weak duality. None of it uses the planner.
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
        ///     >>> policy = sw.plan_policy(
        ///     ...     sw.Prices.from_values(six, [0.20, 0.10], currency="EUR"),
        ///     ...     now=six, power_max_kw=10, energy_kwh=15, shortfall_price_per_kwh=1,
        ///     ... )
        ///     >>> policy.certificate.verify().holds
        ///     True
        fn verify(&self) -> Result<Verification, Refused> {
            let Self { expected_cost: cost, bound, gap, is_proved, .. } = *self;
            let stated = Stated { cost, bound, gap, is_proved };
            let evidence = self.evidence()?;
            Ok(Verification::new(engine::verify(&evidence, self.expected_shortfall_kwh, stated)))
        }
    }
}

impl PolicyCertificate {
    /// Certificate of a policy with its data.
    fn new(policy: &engine::ChargePolicy) -> Self {
        let (certificate, evidence) = (policy.certificate(), policy.evidence());
        let step = |step: engine::PolicyStep| PolicyStep {
            start: step.start,
            end: step.end,
            energy_max_kwh: step.energy_max.as_kwh(),
            departure_probability: step.departure_probability,
            prices_per_kwh: step.prices.into_iter().map(Price::as_per_kwh).collect(),
            transitions: step.transitions,
            segment_ends_kwh: step.segment_ends_kwh,
            marginal_costs_per_kwh: step.marginal_costs,
        };
        Self {
            expected_cost: certificate.expected_cost.as_amount(),
            expected_shortfall_kwh: certificate.expected_shortfall.as_kwh(),
            bound: certificate.bound.as_amount(),
            gap: certificate.gap().as_amount(),
            is_proved: certificate.is_proved(),
            energy_kwh: evidence.energy.as_kwh(),
            shortfall_price_per_kwh: evidence.shortfall_price.as_per_kwh(),
            first_probabilities: evidence.first,
            slots: evidence.steps.into_iter().map(step).collect(),
        }
    }

    /// The data of the certificate as the engine has them.
    fn evidence(&self) -> Result<engine::PolicyEvidence, Refused> {
        let price = |value: f64, name: &str| Price::from_per_kwh(value).named(name);
        let step = |step: &PolicyStep| {
            let prices = step.prices_per_kwh.iter().map(|&value| price(value, "prices_per_kwh"));
            Ok::<_, Refused>(engine::PolicyStep {
                start: step.start,
                end: step.end,
                energy_max: Energy::from_kwh(step.energy_max_kwh).named("energy_max_kwh")?,
                departure_probability: step.departure_probability,
                prices: prices.collect::<Result<_, _>>()?,
                transitions: step.transitions.clone(),
                segment_ends_kwh: step.segment_ends_kwh.clone(),
                marginal_costs: step.marginal_costs_per_kwh.clone(),
            })
        };
        Ok(engine::PolicyEvidence {
            energy: Energy::from_kwh(self.energy_kwh).named("energy_kwh")?,
            shortfall_price: price(self.shortfall_price_per_kwh, "shortfall_price_per_kwh")?,
            first: self.first_probabilities.clone(),
            steps: self.slots.iter().map(step).collect::<Result<_, _>>()?,
        })
    }
}

/// Prices that may come true, in a currency; see `slackwater.MarkovPrices` and
/// `slackwater.PriceTree`.
#[pyclass(frozen, module = "slackwater._engine")]
#[derive(Debug)]
pub(crate) struct ScenarioPrices {
    prices: UncertainPrices,
    currency: Arc<str>,
    layers: PriceLayers,
}

/// Layers of each curve of uncertain prices.
type PriceLayers = Arc<[Option<Arc<LayeredPrices>>]>;

impl ScenarioPrices {
    /// Prices in the currency that all curves share.
    fn new<'a>(
        curves: impl IntoIterator<Item = &'a Prices>,
        prices: impl FnOnce() -> Result<UncertainPrices, UncertainPricesError>,
    ) -> Result<Self, Refused> {
        let curves: Vec<&Prices> = curves.into_iter().collect();
        let [first, others @ ..] = &curves[..] else {
            return Err(Refused::Input("states is empty; give at least one price curve".into()));
        };
        for other in others {
            first.require_same_currency(other)?;
        }
        let layers = curves.iter().map(|prices| prices.layers.clone()).collect();
        Ok(Self { prices: prices()?, currency: first.currency.clone(), layers })
    }
}

/// Position of the branch before, probability, and prices of a branch.
type BranchTuple<'py> = (Option<usize>, f64, PyRef<'py, Prices>);

#[pymethods]
impl ScenarioPrices {
    #[staticmethod]
    #[pyo3(signature = (states, *, transitions, first))]
    fn markov(
        states: Vec<PyRef<'_, Prices>>,
        transitions: Vec<Vec<Vec<f64>>>,
        first: Vec<f64>,
    ) -> Result<Self, Refused> {
        let curves: Vec<_> = states.iter().map(|prices| &*prices.curve).collect();
        Self::new(states.iter().map(|prices| &**prices), || {
            UncertainPrices::markov(&curves, &transitions, &first)
        })
    }

    #[staticmethod]
    fn tree(branches: Vec<BranchTuple<'_>>) -> Result<Self, Refused> {
        let nodes: Vec<_> = branches
            .iter()
            .map(|(parent, probability, prices)| PriceBranch {
                parent: *parent,
                probability: *probability,
                curve: &prices.curve,
            })
            .collect();
        Self::new(branches.iter().map(|branch| &*branch.2), || UncertainPrices::tree(&nodes))
    }

    #[getter]
    fn currency(&self) -> &str {
        &self.currency
    }
}

/// Policy of one vehicle with the currency of its prices; see `slackwater.ChargePolicy`.
#[pyclass(frozen, subclass, module = "slackwater._engine")]
#[derive(Debug, Clone)]
pub(crate) struct ChargePolicy {
    policy: Arc<engine::ChargePolicy>,
    currency: Arc<str>,
    layers: PriceLayers,
    /// It takes longer than the policy, so it is made once it is asked for.
    certificate: Arc<OnceLock<PolicyCertificate>>,
}

impl ChargePolicy {
    /// The certificate, made when it is first asked for.
    fn certified(&self, py: Python<'_>) -> &PolicyCertificate {
        py.detach(|| self.certificate.get_or_init(|| PolicyCertificate::new(&self.policy)))
    }

    fn slots(&self) -> PolicySlots {
        let slot = |reason: engine::PolicyReason| PolicySlot {
            start: reason.start,
            end: reason.end,
            state: reason.state,
            probability: reason.probability,
            price_per_kwh: reason.price.as_per_kwh(),
            power_max_kw: reason.power_max.as_kw(),
            left_kwh: reason.deferred.as_kwh(),
        };
        engine::explain(&self.policy).into_iter().map(slot).collect()
    }
}

/// Number of a state.
fn state_number(state: Option<Whole>) -> Result<Option<usize>, Refused> {
    let number = |Whole(state): Whole| {
        let told = |_| Refused::Input(format!("state is {state}; states are counted from 0"));
        usize::try_from(state).map_err(told)
    };
    state.map(number).transpose()
}

#[pymethods]
impl ChargePolicy {
    /// Makes the class of Python, which takes prices beside the policy.
    #[new]
    #[pyo3(signature = (native, *_rest: "object"))]
    fn from_native(native: &Self, _rest: &Bound<'_, PyTuple>) -> Self {
        native.clone()
    }

    /// Currency of all amounts.
    #[getter]
    fn currency(&self) -> &str {
        &self.currency
    }

    /// Expected cost of the electricity and of what is missing, before the first price is known.
    #[getter]
    fn expected_cost(&self) -> f64 {
        self.policy.expected_cost().as_amount()
    }

    /// Expected energy that is missing when the vehicle leaves, in kWh at the plug.
    #[getter]
    fn expected_shortfall_kwh(&self, py: Python<'_>) -> f64 {
        self.certified(py).expected_shortfall_kwh
    }

    /// The proof: expected cost by following the decisions, and a bound on that of every policy.
    ///
    /// It walks all slots, states and energies anew when it is first asked for.
    #[getter]
    fn certificate(&self, py: Python<'_>) -> PolicyCertificate {
        self.certified(py).clone()
    }

    /// All decisions, by slot and state: the energy to leave for later.
    ///
    /// States that cannot happen are left out. An Arrow library reads the policy itself as this
    /// table.
    #[getter(slots)]
    fn all_slots(&self) -> PolicySlots {
        self.slots()
    }

    #[pyo3(signature = (*, at, wanted_kwh: "float", state: "int | None"))]
    fn decide(
        &self,
        at: Instant,
        wanted_kwh: f64,
        state: Option<Whole>,
    ) -> Result<PolicyDecision, Refused> {
        let wanted = Energy::from_kwh(wanted_kwh).named("wanted_kwh")?;
        let decision = self.policy.decide_at(at.0, state_number(state)?, wanted)?;
        Ok(PolicyDecision {
            start: decision.start,
            end: decision.end,
            price_per_kwh: decision.price.as_per_kwh(),
            power_kw: decision.power.as_kw(),
            energy_kwh: decision.energy.as_kwh(),
            left_kwh: decision.left.as_kwh(),
            expected_cost: decision.expected_cost.as_amount(),
            marginal_cost_per_kwh: decision.marginal_cost.as_per_kwh(),
        })
    }

    #[pyo3(signature = (*, at, wanted_kwh: "float", state: "int | None"))]
    fn bid_curve(
        &self,
        at: Instant,
        wanted_kwh: f64,
        state: Option<Whole>,
    ) -> Result<BidCurve, Refused> {
        let wanted = Energy::from_kwh(wanted_kwh).named("wanted_kwh")?;
        let steps = self.policy.bid_curve_at(at.0, state_number(state)?, wanted)?;
        let step = |step: engine::BidStep| BidStep {
            price_per_kwh: step.price.as_per_kwh(),
            energy_kwh: step.energy.as_kwh(),
        };
        Ok(steps.into_iter().map(step).collect())
    }

    #[pyo3(signature = (*, level: "float"))]
    fn conditional_value_at_risk(&self, level: f64) -> Result<f64, Refused> {
        Ok(self.policy.conditional_value_at_risk(level)?.as_amount())
    }

    #[pyo3(signature = (*, time_zone))]
    fn explain(&self, time_zone: &str) -> Result<PolicyReasons, Refused> {
        let zone = self::time_zone(time_zone)?;
        let reason = |reason: engine::PolicyReason| PolicyReason {
            start: reason.start,
            end: reason.end,
            state: reason.state,
            probability: reason.probability,
            price_per_kwh: reason.price.as_per_kwh(),
            code: reason.code.as_str().to_owned(),
            left_kwh: reason.deferred.as_kwh(),
            later_price_per_kwh: reason.later_price.map(Price::as_per_kwh),
            sentence: tell_estimates(
                reason.sentence(zone, &self.currency),
                &*self.layers,
                (reason.start, reason.end),
            ),
        };
        Ok(engine::explain(&self.policy).into_iter().map(reason).collect())
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.currency == other.currency && self.policy == other.policy
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        record::hash(slf.as_any(), &["currency", "expected_cost"])
    }

    /// Hand the decisions to an Arrow library.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> Result<Bound<'py, PyCapsule>, Refused> {
        self.slots().table()?.stream(py, requested_schema)
    }
}

/// See `slackwater.plan_policy`.
#[pyfunction]
#[pyo3(signature = (
    prices, *, now, power_max_kw, energy_kwh, shortfall_price_per_kwh, departures, power_limits
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn plan_policy(
    py: Python<'_>,
    prices: &ScenarioPrices,
    now: Instant,
    power_max_kw: f64,
    energy_kwh: f64,
    shortfall_price_per_kwh: f64,
    departures: Vec<(Instant, f64)>,
    power_limits: Vec<LimitTuple>,
) -> Result<ChargePolicy, Refused> {
    let departure = |(at, weight): (Instant, f64)| Departure { at: at.0, weight };
    let departures: Vec<Departure> = departures.into_iter().map(departure).collect();
    let request = PolicyRequest {
        now: now.0,
        prices: &prices.prices,
        power_max: Power::from_kw(power_max_kw).named("power_max_kw")?,
        power_limits: &limits(&power_limits)?,
        energy: Energy::from_kwh(energy_kwh).named("energy_kwh")?,
        shortfall_price: Price::from_per_kwh(shortfall_price_per_kwh)
            .named("shortfall_price_per_kwh")?,
        departures: &departures,
    };
    let policy = py.detach(|| engine::plan_policy_request(&request))?;
    Ok(ChargePolicy {
        policy: Arc::new(policy),
        currency: prices.currency.clone(),
        layers: prices.layers.clone(),
        certificate: Arc::default(),
    })
}

//! The decisions of a policy, with their bids, marginal values and outcomes.
use std::cmp::Ordering;

use chrono::{DateTime, Utc};

use crate::plan::policy::marginal_costs::MarginalCosts;
use crate::plan::policy::price_states::PriceStates;
use crate::plan::policy::problem::PolicyProblem;
use crate::time::horizon::Horizon;
use crate::time::instant::micros_of;
use crate::tolerance::ENERGY_SHARE_MIN;
use crate::units::{Energy, MICROS_PER_HOUR, Money, Power, Price};

/// Step of a demand curve: the energy that is bought at this price, or at a lower one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BidStep {
    /// Highest price at which the energy is bought.
    pub price: Price,
    /// Energy of the slot, that of the steps before included.
    pub energy: Energy,
}

/// One way in which things may turn out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// Its probability.
    pub probability: f64,
    /// Cost of the electricity and of what is missing.
    pub cost: Money,
    /// Energy that is missing when the vehicle leaves.
    pub shortfall: Energy,
}

/// Decision from an instant to the end of its slot.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PolicyDecision {
    /// The instant.
    pub start: DateTime<Utc>,
    /// End of its slot.
    pub end: DateTime<Utc>,
    /// Price until then.
    pub price: Price,
    /// Power until then: the energy, evenly.
    pub power: Power,
    /// Energy to charge.
    pub energy: Energy,
    /// Energy that is still wanted afterwards.
    pub left: Energy,
    /// Expected cost from the instant on: of the electricity, and of what will be missing.
    pub expected_cost: Money,
    /// Expected cost of one kWh more that is wanted now.
    pub marginal_cost: Price,
}

/// Question about a slot, state or energy that the policy does not have.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyStateError {
    /// No such slot.
    #[error("slot is {slot}; the policy has {slots} slots")]
    Slot {
        /// The number.
        slot: usize,
        /// Number of slots.
        slots: usize,
    },
    /// No such state.
    #[error("state is {state}; slot {slot} has {states} states")]
    State {
        /// The number.
        state: usize,
        /// Position of the slot.
        slot: usize,
        /// Number of its states.
        states: usize,
    },
    /// No state where there are several.
    #[error("state is missing; there are {states} of them at {at}, with the numbers 0 to {}", states - 1)]
    StateMissing {
        /// Number of states.
        states: usize,
        /// Instant of the question.
        at: DateTime<Utc>,
    },
    /// Instant without a slot.
    #[error("at is {at}, when the policy has no price; it goes from {start} to {end}")]
    Time {
        /// The instant.
        at: DateTime<Utc>,
        /// Start of the first slot.
        start: DateTime<Utc>,
        /// End of the last slot.
        end: DateTime<Utc>,
    },
    /// Energy outside 0 to the energy of the problem.
    #[error(
        "wanted_kwh is {} kWh; the policy was made for 0 to {} kWh", wanted.as_kwh(), most.as_kwh()
    )]
    Wanted {
        /// The energy.
        wanted: Energy,
        /// Energy of the problem.
        most: Energy,
    },
}

/// Reason why there is no conditional value at risk.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RiskError {
    /// Level outside 0 to below 1.
    #[error("level is {level}; it is 0 or more and below 1, such as 0.95")]
    Level {
        /// The level.
        level: f64,
    },
    /// Prices with several ways to a state.
    #[error(
        "prices are a chain with several ways to a state, which has too many outcomes to list; \
         give a tree of prices, or certain ones"
    )]
    ManyWays,
}

/// Policy of least expected cost: what to charge in each slot once its price is known.
#[derive(Debug, Clone, PartialEq)]
pub struct ChargePolicy {
    pub(crate) horizon: Horizon,
    pub(crate) prices: PriceStates,
    pub(crate) energy: Energy,
    pub(crate) shortfall_price: f64,
    /// Most energy of each slot in kWh.
    pub(crate) most_kwh: Vec<f64>,
    /// Probability that a vehicle that is still there leaves at the end of each slot.
    pub(crate) leaving: Vec<f64>,
    /// Marginal costs of the energy that each slot leaves for later.
    pub(crate) later: Vec<MarginalCosts>,
}

impl ChargePolicy {
    /// Policy by the marginal costs of what is left for later.
    pub(crate) fn new(
        problem: &PolicyProblem<'_>,
        leaving: Vec<f64>,
        later: Vec<MarginalCosts>,
    ) -> Self {
        Self {
            horizon: problem.horizon.clone(),
            prices: problem.prices.clone(),
            energy: problem.energy,
            shortfall_price: problem.shortfall_price.as_per_kwh(),
            most_kwh: (0..problem.horizon.len()).map(|slot| problem.most_kwh(slot)).collect(),
            leaving,
            later,
        }
    }

    /// Slots of the policy.
    #[must_use]
    pub fn horizon(&self) -> &Horizon {
        &self.horizon
    }

    /// Prices and probabilities that the policy was made for.
    #[must_use]
    pub fn prices(&self) -> &PriceStates {
        &self.prices
    }

    /// Expected cost of the electricity and of what is missing, before the first price is known.
    #[must_use]
    pub fn expected_cost(&self) -> Money {
        let first = self.prices.first().iter().enumerate();
        money(
            first
                .map(|(state, share)| share * self.cost_from(0, state, self.energy.as_kwh()))
                .sum(),
        )
    }

    /// Energy to charge in a slot whose state is known, of what is still wanted.
    ///
    /// # Errors
    /// The policy has no such slot, state or energy.
    pub fn decide(
        &self,
        slot: usize,
        state: usize,
        wanted: Energy,
    ) -> Result<Energy, PolicyStateError> {
        self.check_state(slot, state, wanted)?;
        Ok(energy(self.charged(slot, state, wanted.as_kwh())))
    }

    /// Energy that a slot leaves for later although it could charge it: the best is to charge what
    /// is wanted above it.
    ///
    /// # Errors
    /// The policy has no such slot or state.
    pub fn deferred(&self, slot: usize, state: usize) -> Result<Energy, PolicyStateError> {
        self.check_state(slot, state, Energy::ZERO)?;
        Ok(energy(self.later[slot].cheaper_than(state, self.prices.price(slot, state))))
    }

    /// Demand curve of a slot, before its price is known in full: falling prices, each with the energy
    /// that is bought at it. What the state says of the prices after the slot is part of it, the
    /// price of the slot itself is not.
    ///
    /// # Errors
    /// The policy has no such slot, state or energy.
    pub fn bid_curve(
        &self,
        slot: usize,
        state: usize,
        wanted: Energy,
    ) -> Result<Vec<BidStep>, PolicyStateError> {
        self.check_state(slot, state, wanted)?;
        Ok(self.list_bids(slot, state, wanted.as_kwh(), self.most_kwh[slot]))
    }

    /// Demand curve as of [`ChargePolicy::bid_curve`] from an instant to the end of its slot.
    ///
    /// # Errors
    /// The policy has no such instant, state or energy, or `state` is none where there are several.
    pub fn bid_curve_at(
        &self,
        at: DateTime<Utc>,
        state: Option<usize>,
        wanted: Energy,
    ) -> Result<Vec<BidStep>, PolicyStateError> {
        let place = self.place_at(at, state, wanted)?;
        Ok(self.list_bids(place.slot, place.state, wanted.as_kwh(), place.most_kwh))
    }

    /// Decision from an instant to the end of its slot, for what is still wanted then.
    ///
    /// # Errors
    /// As [`ChargePolicy::bid_curve_at`].
    pub fn decide_at(
        &self,
        at: DateTime<Utc>,
        state: Option<usize>,
        wanted: Energy,
    ) -> Result<PolicyDecision, PolicyStateError> {
        let RestOfSlot { slot, state, hours, most_kwh } = self.place_at(at, state, wanted)?;
        let later = &self.later[slot];
        let here = self.prices.price(slot, state);
        let wanted = wanted.as_kwh();
        let charged = (wanted - later.cheaper_than(state, here)).clamp(0.0, most_kwh);
        let left = wanted - charged;
        // One more kWh is charged here if there is room, or else left for later.
        let next = later.next_cost(state, left).unwrap_or(self.shortfall_price);
        let marginal = if charged < most_kwh { here.min(next) } else { next };
        Ok(PolicyDecision {
            start: at,
            end: self.horizon.period(slot).1,
            price: price(here),
            power: power(charged / hours),
            energy: energy(charged),
            left: energy(left),
            expected_cost: money(charged * here + later.total(state, left)),
            marginal_cost: price(marginal),
        })
    }

    /// Steps of a demand curve, of at most `most_kwh`.
    fn list_bids(&self, slot: usize, state: usize, wanted: f64, most_kwh: f64) -> Vec<BidStep> {
        let later = &self.later[slot];
        let most = most_kwh.min(wanted);
        let mut steps: Vec<BidStep> = Vec::new();
        let segments = later.costs(state).iter().enumerate().rev();
        for (index, &cost) in segments {
            let start = index.checked_sub(1).map_or(0.0, |before| later.ends()[before]);
            let bought = (wanted - start).clamp(0.0, most);
            let before = steps.last().map_or(0.0, |step| step.energy.as_kwh());
            if bought <= before {
                continue;
            }
            match steps.last_mut() {
                Some(step) if step.price.as_per_kwh() <= cost => step.energy = energy(bought),
                _ => steps.push(BidStep { price: price(cost), energy: energy(bought) }),
            }
        }
        steps
    }

    /// Expected cost of one kWh more that is still wanted after a slot.
    ///
    /// # Errors
    /// The policy has no such slot, state or energy.
    pub fn marginal_cost(
        &self,
        slot: usize,
        state: usize,
        wanted: Energy,
    ) -> Result<Price, PolicyStateError> {
        self.check_state(slot, state, wanted)?;
        let cost = self.later[slot].next_cost(state, wanted.as_kwh());
        Ok(price(cost.unwrap_or(self.shortfall_price)))
    }

    /// All ways in which things may turn out, if each state has one way to it, as in a tree.
    /// Otherwise there are too many, and this is none.
    #[must_use]
    pub fn outcomes(&self) -> Option<Vec<Outcome>> {
        let kwh = self.energy.as_kwh();
        let mut outcomes = Vec::new();
        let mut paths: Vec<Option<Branch>> = self
            .prices
            .first()
            .iter()
            .map(|&probability| {
                (probability > 0.0).then_some(Branch { probability, cost: 0.0, kwh })
            })
            .collect();
        for slot in 0..self.horizon.len() {
            let mut next = vec![None; self.prices.states(slot + 1)];
            for (state, path) in paths.iter().enumerate() {
                let Some(path) = path else { continue };
                let charged = self.charged(slot, state, path.kwh);
                let cost = path.cost + charged * self.prices.price(slot, state);
                let path = Branch { cost, kwh: path.kwh - charged, ..*path };
                let leaves = path.probability * self.leaving[slot];
                if leaves > 0.0 {
                    outcomes.push(path.end(leaves, self.shortfall_price));
                }
                let stays = path.probability - leaves;
                if stays > 0.0 {
                    for &(to, share) in self.prices.transitions(slot).after(state) {
                        let place: &mut Option<Branch> = &mut next[to];
                        if place.replace(Branch { probability: stays * share, ..path }).is_some() {
                            return None;
                        }
                    }
                }
            }
            paths = next;
        }
        Some(outcomes)
    }

    /// Mean cost of the worst outcomes that together have the probability `1 − level`: the
    /// conditional value at risk (Rockafellar and Uryasev, *Optimization of Conditional
    /// Value-at-Risk*, 2000).
    ///
    /// # Errors
    /// `level` is not in 0 to below 1, or [`ChargePolicy::outcomes`] is none.
    pub fn conditional_value_at_risk(&self, level: f64) -> Result<Money, RiskError> {
        if !(0.0..1.0).contains(&level) {
            return Err(RiskError::Level { level });
        }
        let mut outcomes = self.outcomes().ok_or(RiskError::ManyWays)?;
        let worst_first = |a: &Outcome, b: &Outcome| -> Ordering { b.cost.total_cmp(&a.cost) };
        outcomes.sort_by(worst_first);
        let tail = 1.0 - level;
        let mut rest = tail;
        let mut sum = 0.0;
        for outcome in outcomes {
            let share = outcome.probability.min(rest);
            sum += share * outcome.cost.as_amount();
            rest -= share;
        }
        // Probabilities add up to 1 but for rounding.
        Ok(money(sum / (tail - rest)))
    }

    /// Energy charged in a slot and state, in kWh.
    pub(crate) fn charged(&self, slot: usize, state: usize, wanted_kwh: f64) -> f64 {
        let deferred = self.later[slot].cheaper_than(state, self.prices.price(slot, state));
        (wanted_kwh - deferred).clamp(0.0, self.most_kwh[slot])
    }

    /// Expected cost from a slot on whose state is known: `V_t(r, s)`.
    pub(crate) fn cost_from(&self, slot: usize, state: usize, wanted_kwh: f64) -> f64 {
        let charged = self.charged(slot, state, wanted_kwh);
        let paid = charged * self.prices.price(slot, state);
        paid + self.later[slot].total(state, wanted_kwh - charged)
    }

    /// Slot and state at an instant, with the time and the energy until the end of the slot.
    fn place_at(
        &self,
        at: DateTime<Utc>,
        state: Option<usize>,
        wanted: Energy,
    ) -> Result<RestOfSlot, PolicyStateError> {
        let micros = micros_of(at);
        let Some(slot) = self.horizon.overlapping(micros, micros.saturating_add(1)).next() else {
            let last = self.horizon.len() - 1;
            let (start, end) = (self.horizon.period(0).0, self.horizon.period(last).1);
            return Err(PolicyStateError::Time { at, start, end });
        };
        let states = self.prices.states(slot);
        let state = match state {
            Some(state) => state,
            None if states == 1 => 0,
            None => return Err(PolicyStateError::StateMissing { states, at }),
        };
        self.check_state(slot, state, wanted)?;
        let hours = (self.horizon.ends()[slot] - micros) as f64 / MICROS_PER_HOUR;
        let share = hours / self.horizon.hours(slot);
        Ok(RestOfSlot { slot, state, hours, most_kwh: share * self.most_kwh[slot] })
    }

    /// Most power of a slot.
    pub(crate) fn power_max(&self, slot: usize) -> Power {
        power(self.most_kwh[slot] / self.horizon.hours(slot))
    }

    /// Checks that there is such a slot, state and energy.
    fn check_state(
        &self,
        slot: usize,
        state: usize,
        wanted: Energy,
    ) -> Result<(), PolicyStateError> {
        let slots = self.horizon.len();
        let states = self.prices.states(slot);
        let most = self.energy;
        let rounding = ENERGY_SHARE_MIN * most.as_kwh();
        if slot >= slots {
            Err(PolicyStateError::Slot { slot, slots })
        } else if state >= states {
            Err(PolicyStateError::State { state, slot, states })
        } else if !(0.0..=most.as_kwh() + rounding).contains(&wanted.as_kwh()) {
            Err(PolicyStateError::Wanted { wanted, most })
        } else {
            Ok(())
        }
    }
}

/// Rest of a slot in one of its states.
#[derive(Debug, Clone, Copy)]
struct RestOfSlot {
    slot: usize,
    state: usize,
    hours: f64,
    most_kwh: f64,
}

/// Way to a state: its probability, what it cost, and what is still wanted.
#[derive(Debug, Clone, Copy)]
struct Branch {
    probability: f64,
    cost: f64,
    kwh: f64,
}

impl Branch {
    /// Outcome if the vehicle leaves here.
    fn end(self, probability: f64, shortfall_price: f64) -> Outcome {
        Outcome {
            probability,
            cost: money(self.cost + shortfall_price * self.kwh),
            shortfall: energy(self.kwh),
        }
    }
}

/// Power of a finite number of kW.
fn power(kw: f64) -> Power {
    Power::from_kw(kw).unwrap_or(Power::ZERO)
}

/// Energy of a finite number of kWh.
pub(crate) fn energy(kwh: f64) -> Energy {
    Energy::from_kwh(kwh).unwrap_or(Energy::ZERO)
}

/// Money of a sum; zero if the sum is not finite.
pub(crate) fn money(sum: f64) -> Money {
    Money::from_amount(sum).unwrap_or(Money::ZERO)
}

/// Price between others, so within their range.
pub(crate) fn price(per_kwh: f64) -> Price {
    Price::from_per_kwh(per_kwh).unwrap_or(Price::ZERO)
}

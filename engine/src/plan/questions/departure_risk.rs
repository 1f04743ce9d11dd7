//! Risk of an early departure: the energy at risk, and the least cost of having energy earlier.
//!
//! With `E(t)` the energy that a plan has bought by `t` and `w` the wanted energy, a departure at
//! `t` misses `max(0, w − E(t))`. Weighted with the probabilities of departures, this is the
//! energy at risk ([`energy_at_risk`]).
//!
//! The insurance frontier ([`insurance_frontier`]) is the least added cost of having energy `e` by
//! an instant `a`, as a function of `e`:
//!
//! ```text
//! added cost(e) = ∫ from E(a) to e of  max(0, c(s) − d(s)) ds
//! ```
//!
//! `c` are the prices of free energy before `a` in rising order, `d` the prices of energy bought
//! after `a` in falling order. Energy by `a` grows only if a kWh moves across `a`, and moving it
//! earlier violates no deadline, so the most expensive kWh moves to the cheapest free slot first.
//! The function is convex, with corners where a slot becomes full or empty. Energy that
//! `energy_max` still allows counts in `d` at the price zero: it is bought, not moved.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::charge::plan::Plan;
use crate::plan::stability::feasible_region::purchase_min;
use crate::tolerance::INSTANT_MICROS;
use crate::units::{Energy, Money, Price};

/// Energy bought by an instant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EnergyPoint {
    /// The instant.
    pub at: DateTime<Utc>,
    /// Energy bought by then, counted from the start of the plan.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
}

/// Energy of a plan as a function of time, by its corners.
///
/// It is linear between two corners. The first corner is `now`; the last
/// is the end of the last slot, or `now` if there is no slot.
#[must_use]
pub fn energy_by_time(plan: &Plan, now: DateTime<Utc>) -> Vec<EnergyPoint> {
    let mut corners = vec![now];
    let intervals = plan.intervals.iter().flat_map(|interval| [interval.start, interval.end]);
    corners.extend(intervals.chain(plan.slots.last().map(|slot| slot.end)));
    corners.sort_unstable();
    corners.dedup();
    corners.into_iter().map(|at| EnergyPoint { at, energy: plan.energy_by(at) }).collect()
}

/// Possible departure with its weight.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Departure {
    /// Instant of the departure.
    pub at: DateTime<Utc>,
    /// Weight of the departure, zero or more. Only the ratios of weights count.
    pub weight: f64,
}

/// Reason why departures or the wanted energy are invalid.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DepartureError {
    /// There is no departure.
    #[error("departures is empty; give at least one")]
    Empty,
    /// A weight is negative or no number.
    #[error("departures[{index}] has the weight {weight}; a weight is a finite number, 0 or more")]
    Weight {
        /// Position in the input.
        index: usize,
        /// The weight as given.
        weight: f64,
    },
    /// All weights are zero, or so large that their sum is no number.
    #[error("the weights of departures add up to {sum}, not to a number above 0")]
    Sum {
        /// The sum.
        sum: f64,
    },
    /// Wanted energy below zero.
    #[error("wanted_kwh is {} kWh; it is 0 kWh or more", wanted.as_kwh())]
    NegativeWish {
        /// The energy as given.
        wanted: Energy,
    },
}

/// Outcome of a plan for one departure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DepartureOutcome {
    /// Instant of the departure.
    pub at: DateTime<Utc>,
    /// Probability, from 0 to 1.
    pub probability: f64,
    /// Energy bought by then.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// Energy missing by then.
    #[serde(rename = "missing_kwh")]
    pub missing: Energy,
}

/// Energy that a plan may miss at an uncertain departure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EnergyAtRisk {
    /// Wanted energy.
    #[serde(rename = "wanted_kwh")]
    pub wanted: Energy,
    /// Expected missing energy.
    #[serde(rename = "expected_shortfall_kwh")]
    pub expected_missing: Energy,
    /// Most missing energy of any departure with a probability above zero.
    #[serde(rename = "shortfall_max_kwh")]
    pub missing_max: Energy,
    /// Probability that energy is missing, from 0 to 1.
    pub probability_short: f64,
    /// One outcome per instant of departure, in time order.
    pub outcomes: Vec<DepartureOutcome>,
}

/// Returns the energy that a plan may miss at an uncertain departure.
///
/// The energy is measured against `wanted`, by default the highest target of the
/// plan. Several departures at one instant are one outcome. A plan that is short
/// at its own deadline is short at earlier departures, too.
///
/// # Errors
/// There is no departure, a weight is negative or not a number, the weights do not
/// add up to a number above zero, or `wanted` is negative.
pub fn energy_at_risk(
    plan: &Plan,
    departures: &[Departure],
    wanted: Option<Energy>,
) -> Result<EnergyAtRisk, DepartureError> {
    let highest = plan.targets.iter().fold(Energy::ZERO, |most, target| most.max(target.wanted));
    let wanted = wanted.unwrap_or(highest);
    if wanted < Energy::ZERO {
        return Err(DepartureError::NegativeWish { wanted });
    }
    let total = total_weight(departures)?;
    let outcome = |departure: &Departure| {
        let energy = plan.energy_by(departure.at);
        let rounding = plan
            .slots
            .iter()
            .fold(Energy::ZERO, |most, slot| most.max(slot.power_max.over_micros(INSTANT_MICROS)));
        let missing = (wanted - energy).max(Energy::ZERO);
        let missing = if missing <= rounding { Energy::ZERO } else { missing };
        DepartureOutcome {
            at: departure.at,
            probability: departure.weight / total,
            energy,
            missing,
        }
    };
    // Departures at one instant are one outcome, with the sum of their probabilities.
    let mut outcomes: Vec<DepartureOutcome> = departures.iter().map(outcome).collect();
    outcomes.sort_by_key(|outcome| outcome.at);
    outcomes.dedup_by(|later, earlier| {
        let same = later.at == earlier.at;
        if same {
            earlier.probability += later.probability;
        }
        same
    });
    let short = || outcomes.iter().filter(|o| o.missing > Energy::ZERO && o.probability > 0.0);
    let expected = short().fold(0.0, |sum, o| sum + o.probability * o.missing.as_kwh());
    Ok(EnergyAtRisk {
        wanted,
        expected_missing: Energy::from_kwh(expected).unwrap_or(wanted).min(wanted),
        missing_max: short().fold(Energy::ZERO, |most, o| most.max(o.missing)),
        probability_short: short().fold(0.0, |sum, o| sum + o.probability).min(1.0),
        outcomes,
    })
}

/// Sum of the weights, checked to be above zero.
pub(crate) fn total_weight(departures: &[Departure]) -> Result<f64, DepartureError> {
    if departures.is_empty() {
        return Err(DepartureError::Empty);
    }
    for (index, &Departure { weight, .. }) in departures.iter().enumerate() {
        if !weight.is_finite() || weight < 0.0 {
            return Err(DepartureError::Weight { index, weight });
        }
    }
    let sum = departures.iter().fold(0.0, |sum, departure| sum + departure.weight);
    if sum.is_finite() && sum > 0.0 { Ok(sum) } else { Err(DepartureError::Sum { sum }) }
}

/// Corner of an insurance frontier.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InsurancePoint {
    /// Energy bought by the instant.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// Least cost of that beyond the cost of the plan.
    pub added_cost: Money,
    /// Cost of the next kWh by the instant; `None` at the last corner.
    #[serde(rename = "marginal_price_per_kwh")]
    pub marginal_price: Option<Price>,
}

/// Least added cost of having more energy by an instant than a plan has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InsuranceFrontier {
    /// The instant.
    pub at: DateTime<Utc>,
    /// Corners of the added cost, by energy. The cost is convex, and linear between corners.
    pub points: Vec<InsurancePoint>,
}

impl InsuranceFrontier {
    /// Least cost, beyond the cost of the plan, of having `energy` by the instant.
    ///
    /// Zero up to the energy that the plan has by then; `None` above the possible energy.
    #[must_use]
    pub fn added_cost(&self, energy: Energy) -> Option<Money> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        if energy <= first.energy {
            return Some(Money::ZERO);
        }
        if energy > last.energy {
            return None;
        }
        let after = self.points.partition_point(|point| point.energy < energy);
        let before = self.points.get(after.checked_sub(1)?)?;
        let price = before.marginal_price.unwrap_or(Price::ZERO);
        Some(before.added_cost + price.of(energy - before.energy))
    }
}

/// Returns the least added cost of having energy by `at`.
///
/// The frontier reaches from the energy that `plan` has by `at` to the most that is
/// possible: the total of the plan, or its `energy_max`. Each cost is the one that
/// a new plan with a target at `at` would add. `plan` should be a cheapest one; for
/// another the costs count from it.
///
/// A slot that `at` cuts is used from its start, as always.
#[must_use]
pub fn insurance_frontier(plan: &Plan, at: DateTime<Utc>) -> InsuranceFrontier {
    // Free slots by rising price, movable energy by falling price.
    let start = plan.energy_by(at);
    let (mut room, mut movable) = moves(plan, at);
    room.sort_by(|a, b| a.0.total_cmp(&b.0));
    movable.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut points = Vec::new();
    let (mut energy, mut cost) = (start, Money::ZERO);
    let (mut room, mut movable) = (room.into_iter(), movable.into_iter());
    let (mut to, mut from) = (room.next(), movable.next());
    // Each step moves energy until a free slot is full or a used one is empty.
    while let (Some((to_price, to_energy)), Some((from_price, from_energy))) = (to, from) {
        let step = to_energy.min(from_energy);
        let marginal = (to_price - from_price).max(Price::ZERO);
        // Steps of one price are one segment, so only a new price makes a corner.
        let is_new =
            points.last().is_none_or(|last: &InsurancePoint| last.marginal_price != Some(marginal));
        if is_new {
            let marginal_price = Some(marginal);
            points.push(InsurancePoint { energy, added_cost: cost, marginal_price });
        }
        energy = energy + step;
        cost = cost + marginal.of(step);
        to = if to_energy > step { Some((to_price, to_energy - step)) } else { room.next() };
        from = if from_energy > step {
            Some((from_price, from_energy - step))
        } else {
            movable.next()
        };
    }
    points.push(InsurancePoint { energy, added_cost: cost, marginal_price: None });
    InsuranceFrontier { at, points }
}

/// Prices and energies of free slots before an instant, and of energy that may move there.
type Moves = (Vec<(Price, Energy)>, Vec<(Price, Energy)>);

/// Free energy before `at`, and energy bought after it, by slot.
fn moves(plan: &Plan, at: DateTime<Utc>) -> Moves {
    let (mut room, mut movable) = (Vec::new(), Vec::new());
    for slot in &plan.slots {
        let fits =
            slot.power_max.over((at.min(slot.end) - slot.start).max(chrono::TimeDelta::zero()));
        let fits = fits.min(slot.capacity());
        let bought = slot.energy_by(at);
        let free = fits - bought;
        // Energy charged at once may count as movable, because no energy is free ahead of it.
        let late = slot.energy - bought;
        if free > purchase_min(slot) {
            room.push((slot.price, free));
        }
        if late > purchase_min(slot) {
            movable.push((slot.price, late));
        }
    }
    // Energy below `energy_max` is added instead of moved, so no purchase is saved for it.
    if let Some(energy_max) = plan.certificate.evidence.energy_max {
        let extra = energy_max - plan.energy;
        if extra > Energy::ZERO {
            movable.push((Price::ZERO, extra));
        }
    }
    (room, movable)
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::greedy::plan_charge;
    use crate::plan::charge::request::{AfterDeadline, ChargeProblem, ChargeRequest, Target};
    use crate::prices::curve::PriceCurve;
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, money, per_kwh};

    fn minute(minutes: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    fn request(targets: &[(i64, f64)]) -> ChargeRequest {
        let target = |&(by, energy)| Target { by: Some(minute(by)), energy: kwh(energy) };
        let mut request = ChargeRequest::new(minute(0), kw(10.0), target(&(0, 0.0)));
        request.targets = targets.iter().map(target).collect();
        request
    }

    fn plan(curve: &PriceCurve, request: ChargeRequest) -> Plan {
        plan_charge(curve, &ChargeProblem::new(request).unwrap())
    }

    /// Plan of 15 kWh in three hours at 30, 20 and 10 cents, 10 of them in the last hour.
    fn evening() -> Plan {
        plan(&curve_of(60, &[30, 20, 10]), request(&[(180, 15.0)]))
    }

    #[test]
    fn energy_grows_at_full_power_between_corners() {
        let corners = energy_by_time(&evening(), minute(0));
        let corner = |minutes, energy| EnergyPoint { at: minute(minutes), energy: kwh(energy) };
        let expected = [corner(0, 0.0), corner(60, 0.0), corner(90, 5.0), corner(120, 5.0)];
        assert_eq!(corners[..4], expected);
        assert_eq!(corners[4..], [corner(180, 15.0)]);
        let idle = plan(&curve_of(60, &[]), request(&[]));
        assert_eq!(energy_by_time(&idle, minute(7)), [corner(7, 0.0)]);
    }

    #[test]
    fn risk_is_weighed_by_departures() {
        // 15 kWh are missing at 18:00 with 10 %, 10 at 20:00 with 30 %, none at 21:00.
        let leave = |minutes, weight| Departure { at: minute(minutes), weight };
        let departures = [leave(120, 1.0), leave(180, 6.0), leave(0, 1.0), leave(120, 2.0)];
        let risk = energy_at_risk(&evening(), &departures, None).unwrap();
        assert!((risk.expected_missing - kwh(1.5 + 3.0)).as_kwh().abs() < 1e-12);
        assert!((risk.probability_short - 0.4).abs() < 1e-12);
        assert_eq!((risk.wanted, risk.missing_max), (kwh(15.0), kwh(15.0)));
        assert_eq!(risk.outcomes.len(), 3);
        let less = energy_at_risk(&evening(), &departures, Some(kwh(5.0))).unwrap();
        assert!((less.expected_missing - kwh(0.5)).as_kwh().abs() < 1e-12);
    }

    #[test]
    fn departures_without_weight_are_refused() {
        let text = |departures: &[Departure], wanted| {
            energy_at_risk(&evening(), departures, wanted).unwrap_err().to_string()
        };
        let leave = |weight| Departure { at: minute(0), weight };
        assert_eq!(text(&[], None), "departures is empty; give at least one");
        let negative = "departures[1] has the weight -1; a weight is a finite number, 0 or more";
        assert_eq!(text(&[leave(1.0), leave(-1.0)], None), negative);
        let none = "the weights of departures add up to 0, not to a number above 0";
        assert_eq!(text(&[leave(0.0)], None), none);
        let huge = "the weights of departures add up to inf, not to a number above 0";
        assert_eq!(text(&[leave(f64::MAX), leave(f64::MAX)], None), huge);
        let wish = "wanted_kwh is -1 kWh; it is 0 kWh or more";
        assert_eq!(text(&[leave(1.0)], Some(kwh(-1.0))), wish);
    }

    #[test]
    fn insurance_moves_the_dearest_to_the_cheapest_room() {
        // By 20:00 the plan has 5 of 15 kWh. Free before: 5 at 20 and 10 at 30 cents; movable: 10
        // at 10 cents.
        let frontier = insurance_frontier(&evening(), minute(120));
        let point = |energy, cost: f64, price: Option<f64>| (energy, cost, price);
        let rounded = |value: f64| (value * 1e9).round() / 1e9;
        let points: Vec<_> = frontier
            .points
            .iter()
            .map(|p| {
                let price = p.marginal_price.map(|price| rounded(price.as_per_kwh()));
                point(p.energy.as_kwh(), rounded(p.added_cost.as_amount()), price)
            })
            .collect();
        let expected =
            [point(5.0, 0.0, Some(0.1)), point(10.0, 0.5, Some(0.2)), point(15.0, 1.5, None)];
        assert_eq!(points, expected);
        let cost = |energy| frontier.added_cost(kwh(energy)).map(|cost| rounded(cost.as_amount()));
        assert_eq!([cost(0.0), cost(7.0), cost(12.0)], [Some(0.0), Some(0.2), Some(0.9)]);
        assert_eq!(cost(15.1), None);
        let late = insurance_frontier(&evening(), minute(500));
        assert_eq!(late.points.len(), 1);
        assert_eq!(late.added_cost(kwh(15.0)), Some(Money::ZERO));
        let nothing = InsuranceFrontier { at: minute(0), points: Vec::new() };
        assert_eq!(nothing.added_cost(kwh(1.0)), None);
        assert_eq!(frontier.points[0].marginal_price, Some(per_kwh(0.2 - 0.1)));
        assert_eq!(frontier.points[0].added_cost, money(0.0));
    }

    proptest! {
        /// The cost at each point of a frontier is that of a new plan with a target there.
        #[test]
        fn a_frontier_is_what_planning_anew_costs(
            cents in prop::collection::vec(-20..60i32, 1..60),
            targets in prop::collection::vec((0..900i64, 0.0..1.0f64), 1..4),
            reserve in prop_oneof![2 => Just(0.0), 1 => 0.0..10.0f64],
            extra in prop::option::of(0.0..50.0f64),
            at in 0..900i64, share in 0.0..1.0f64, stop in any::<bool>(),
        ) {
            let curve = curve_of(15, &cents);
            let end = 15 * cents.len() as i64;
            // Targets are shares of the possible energy, so that every deadline is met.
            let mut wish = request(&[]);
            for (by, share) in targets {
                let by = by.min(end);
                let target = Target { by: Some(minute(by)), energy: kwh(share * by as f64 / 6.0) };
                wish.targets.push(target);
            }
            wish.reserve = kwh(reserve.min(end as f64 / 6.0));
            let most = wish.targets.iter().fold(wish.reserve, |most, t| most.max(t.energy));
            wish.energy_max = extra.map(|extra| most + kwh(extra));
            if stop {
                wish.after_deadline = AfterDeadline::Stop;
            }
            let cheapest = plan(&curve, wish.clone());
            let at = minute(at.min(end));
            let frontier = insurance_frontier(&cheapest, at);
            let (first, last) = (frontier.points[0], frontier.points[frontier.points.len() - 1]);
            for pair in frontier.points.windows(2) {
                prop_assert!(pair[0].energy < pair[1].energy);
                prop_assert!(pair[1].marginal_price.is_none_or(|price| Some(price) > pair[0].marginal_price));
            }
            let span = (last.energy - first.energy).as_kwh();
            for share in [share, 1.0] {
                let energy = kwh(first.energy.as_kwh() + share * span);
                let mut insured = wish.clone();
                insured.targets.push(Target { by: Some(at), energy });
                // The last corner may lie above the bound by rounding.
                insured.energy_max = insured.energy_max.map(|most| most.max(energy));
                let cost = plan(&curve, insured).cost - cheapest.cost;
                let added = frontier.added_cost(energy.min(last.energy)).unwrap();
                let gap = (added - cost).as_amount().abs();
                prop_assert!(gap < 1e-7, "{added:?} by the frontier, {cost:?} by planning");
            }
        }

        /// A later departure never risks more, and the outcomes add up to the risk.
        #[test]
        fn risk_falls_with_the_departure(
            cents in prop::collection::vec(-20..60i32, 1..40), need in 0.0..100.0f64,
            at in prop::collection::vec((0..900i64, 0.0..5.0f64), 1..6), later in 0..300i64,
        ) {
            let charged = plan(&curve_of(15, &cents), request(&[(600, need)]));
            let departures = |shift: i64| -> Vec<Departure> {
                at.iter().map(|&(at, weight)| Departure { at: minute(at + shift), weight: weight + 0.1 }).collect()
            };
            let early = energy_at_risk(&charged, &departures(0), None).unwrap();
            let late = energy_at_risk(&charged, &departures(later), None).unwrap();
            prop_assert!(late.expected_missing <= early.expected_missing + kwh(1e-9));
            prop_assert!(late.probability_short <= early.probability_short + 1e-9);
            let sum: f64 = early.outcomes.iter().map(|o| o.probability * o.missing.as_kwh()).sum();
            prop_assert!((sum - early.expected_missing.as_kwh()).abs() < 1e-9);
            let all: f64 = early.outcomes.iter().map(|o| o.probability).sum();
            prop_assert!((all - 1.0).abs() < 1e-9);
        }
    }
}

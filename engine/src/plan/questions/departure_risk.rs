//! What if the vehicle leaves before its deadline?
//!
//! The energy of a plan as a function of time says what would be missing at
//! any departure; weighed with probabilities that is the energy at risk. And
//! it can be insured: a frontier says what it costs at least to have so much
//! energy by an earlier instant.
//!
//! The frontier is exact without planning anew. Energy by the instant can only
//! be raised by moving a kWh across it, moving it earlier breaks no deadline,
//! and of what may move the dearest goes to the cheapest room first. So the
//! added cost is the integral of one sorted list of prices less another: it
//! is convex, and its corners are where a slot is full or empty.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::charge::plan::Plan;
use crate::plan::stability::feasible_region::crumb;
use crate::units::{Energy, Money, Price};

/// Energy bought by an instant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EnergyPoint {
    /// The instant.
    pub at: DateTime<Utc>,
    /// Energy bought by then, counted from the start of the plan.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
}

/// The energy of a plan as a function of time, by its corners.
///
/// Between two corners it grows evenly. The first corner is `now`; the last
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

/// A time at which the vehicle may leave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Departure {
    /// When it leaves.
    pub at: DateTime<Utc>,
    /// How likely that is, in any measure: only the ratios count.
    pub weight: f64,
}

/// Why departures are no distribution.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum DepartureError {
    /// There is none.
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

/// What becomes of a plan if the vehicle leaves at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DepartureOutcome {
    /// When it leaves.
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

/// Energy that a plan may fail to deliver because nobody knows the departure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnergyAtRisk {
    /// Energy that nothing should be missing of.
    #[serde(rename = "wanted_kwh")]
    pub wanted: Energy,
    /// Missing energy, on average.
    #[serde(rename = "expected_missing_kwh")]
    pub expected_missing: Energy,
    /// Most that is missing at a departure that is possible.
    #[serde(rename = "missing_max_kwh")]
    pub missing_max: Energy,
    /// Probability that anything is missing, from 0 to 1.
    pub probability_short: f64,
    /// One outcome per departure, in time order.
    pub outcomes: Vec<DepartureOutcome>,
}

/// What may be missing when the vehicle leaves at an uncertain time.
///
/// Measured against `wanted`, by default the highest target of the plan. At
/// one instant several departures count together. A plan that is short at its
/// own deadline is short at earlier ones, too.
///
/// # Errors
/// There is no departure, a weight is negative or no number, or all are zero.
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
        // Charging is planned to the microsecond; what less than one moves is rounding.
        let rounding = plan
            .slots
            .iter()
            .fold(Energy::ZERO, |most, slot| most.max(slot.power_max.over_micros(1)));
        let missing = (wanted - energy).max(Energy::ZERO);
        let missing = if missing <= rounding { Energy::ZERO } else { missing };
        DepartureOutcome {
            at: departure.at,
            probability: departure.weight / total,
            energy,
            missing,
        }
    };
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

fn total_weight(departures: &[Departure]) -> Result<f64, DepartureError> {
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

/// A corner of an insurance frontier.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct InsurancePoint {
    /// Energy that is there by the instant.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// Least cost of that beyond the plan's.
    pub added_cost: Money,
    /// Cost of the next kWh by the instant; `None` at the last corner.
    #[serde(rename = "marginal_price_per_kwh")]
    pub marginal_price: Option<Price>,
}

/// What it costs to have energy earlier than the plan has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InsuranceFrontier {
    /// The instant by which the energy is there.
    pub at: DateTime<Utc>,
    /// Corners of the added cost, by energy. Straight in between, convex.
    pub points: Vec<InsurancePoint>,
}

impl InsuranceFrontier {
    /// Least cost, beyond the plan's, of having so much energy by the instant.
    ///
    /// Zero up to what the plan has anyway; `None` beyond what is possible.
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

/// What it costs at least to have energy by an earlier instant.
///
/// From the energy that `plan` has by `at` on, up to all that can be there: no
/// more than the plan buys in all, unless it may take more. Each cost is what
/// planning anew with a target at `at` would add, to the last kWh of it. The
/// plan is meant to be the cheapest one; for another the costs count from it.
///
/// A slot that `at` cuts is used from its start, as always.
#[must_use]
pub fn insurance_frontier(plan: &Plan, at: DateTime<Utc>) -> InsuranceFrontier {
    let start = plan.energy_by(at);
    let (mut room, mut movable) = moves(plan, at);
    room.sort_by(|a, b| a.0.total_cmp(&b.0));
    movable.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut points = Vec::new();
    let (mut energy, mut cost) = (start, Money::ZERO);
    let (mut room, mut movable) = (room.into_iter(), movable.into_iter());
    let (mut to, mut from) = (room.next(), movable.next());
    while let (Some((to_price, to_energy)), Some((from_price, from_energy))) = (to, from) {
        let step = to_energy.min(from_energy);
        let marginal = (to_price - from_price).max(Price::ZERO);
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

/// Prices and energies of the room before an instant, and of what may move there.
type Moves = (Vec<(Price, Energy)>, Vec<(Price, Energy)>);

fn moves(plan: &Plan, at: DateTime<Utc>) -> Moves {
    let (mut room, mut movable) = (Vec::new(), Vec::new());
    for slot in &plan.slots {
        let fits =
            slot.power_max.over((at.min(slot.end) - slot.start).max(chrono::TimeDelta::zero()));
        let fits = fits.min(slot.capacity());
        let bought = slot.energy_by(at);
        let free = fits - bought;
        // What is charged at once may count as movable: ahead of it there is no room.
        let late = slot.energy - bought;
        if free > crumb(slot) {
            room.push((slot.price, free));
        }
        if late > crumb(slot) {
            movable.push((slot.price, late));
        }
    }
    // What is still allowed need not be taken from anywhere.
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

    /// Three hours at 30, 20 and 10 cents; 15 kWh, 10 of them in the last hour.
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
        // 15 kWh missing at six with 10 %, 10 at eight with 30 %, none at nine.
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
        // By eight: 5 of 15 kWh. Room before: 5 at 20 and 10 at 30 cents; movable: 10 at 10 cents.
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
        /// Each point of a frontier costs what planning anew with it costs.
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
            // Shares of what is possible, so that every deadline is met.
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
                // The last corner may lie above it by rounding.
                insured.energy_max = insured.energy_max.map(|most| most.max(energy));
                let cost = plan(&curve, insured).cost - cheapest.cost;
                let added = frontier.added_cost(energy.min(last.energy)).unwrap();
                let gap = (added - cost).as_amount().abs();
                prop_assert!(gap < 1e-7, "{added:?} by the frontier, {cost:?} by planning");
            }
        }

        /// Leaving later never risks more, and all of the risk is in its outcomes.
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

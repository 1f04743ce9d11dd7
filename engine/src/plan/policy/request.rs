//! Request for a policy in instants, and its translation into slots.
use chrono::{DateTime, Utc};

use crate::plan::charge::request::PowerLimit;
use crate::plan::policy::charge_policy::ChargePolicy;
use crate::plan::policy::planner::plan_policy;
use crate::plan::policy::problem::{PolicyError, PolicyProblem};
use crate::plan::policy::uncertain_prices::UncertainPrices;
use crate::plan::questions::departure_risk::{Departure, DepartureError, total_weight};
use crate::time::horizon::{Horizon, HorizonError};
use crate::time::instant::{instant_at, micros_of};
use crate::units::{Energy, Power, Price};

/// Vehicle at the plug, with instants in place of slots.
#[derive(Debug, Clone, Copy)]
pub struct PolicyRequest<'a> {
    /// First usable instant.
    pub now: DateTime<Utc>,
    /// Prices and their probabilities.
    pub prices: &'a UncertainPrices,
    /// Most power.
    pub power_max: Power,
    /// Periods with a lower power limit, in any order, without overlap.
    pub power_limits: &'a [PowerLimit],
    /// Energy wanted at the plug.
    pub energy: Energy,
    /// Price of a kWh that is missing when the vehicle leaves.
    pub shortfall_price: Price,
    /// Departures that may happen. Empty: the vehicle stays to the last price.
    pub departures: &'a [Departure],
}

/// Invalid request of a policy.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyRequestError {
    /// Wrong energy, or too many marginal costs.
    #[error(transparent)]
    Problem(#[from] PolicyError),
    /// Wrong weights.
    #[error(transparent)]
    Weights(#[from] DepartureError),
    /// No price at or after the present.
    #[error("now is {now}; prices end at {end}")]
    NoPrice {
        /// First usable instant.
        now: DateTime<Utc>,
        /// End of the last price.
        end: DateTime<Utc>,
    },
    /// Departure without a price before it, or after the last price.
    #[error(
        "departures[{index}] is at {at}; give one after {from}, the first time with a price, and by \
         {to}, the end of the prices"
    )]
    Departure {
        /// Position of the departure.
        index: usize,
        /// The departure.
        at: DateTime<Utc>,
        /// First usable instant with a price.
        from: DateTime<Utc>,
        /// End of the last price.
        to: DateTime<Utc>,
    },
    /// Power below zero.
    #[error("power_max_kw is {} kW; a vehicle that only charges needs 0 kW or more", power.as_kw())]
    NegativePower {
        /// The power.
        power: Power,
    },
    /// Power limit below zero.
    #[error("power_limits[{index}] is {} kW; a limit is 0 kW or more", power.as_kw())]
    NegativeLimit {
        /// Position of the limit.
        index: usize,
        /// The power.
        power: Power,
    },
    /// Power limits that overlap or have no length.
    #[error("power_limits: {0}")]
    LimitPeriods(#[from] HorizonError),
    /// Missing energy that earns money.
    #[error(
        "shortfall_price_per_kwh is {}; a missing kWh costs 0 or more", price.as_per_kwh()
    )]
    NegativeShortfallPrice {
        /// The price.
        price: Price,
    },
}

/// Policy of least expected cost for a request: [`plan_policy`] once prices are cut at the present,
/// at the departures and at the power limits.
///
/// # Errors
/// There is no price after `now`, a departure lies beyond the prices or has a negative weight, or a
/// power, energy or price of missing energy is negative.
pub fn plan_policy_request(
    request: &PolicyRequest<'_>,
) -> Result<ChargePolicy, PolicyRequestError> {
    let mut limits = request.power_limits.to_vec();
    check_powers(request)?;
    limits.sort_by_key(|limit| limit.start);
    let limit_periods = Horizon::new(limits.iter().map(|limit| (limit.start, limit.end)))?;
    let mut cuts: Vec<i64> = limit_periods.starts().to_vec();
    cuts.extend(limit_periods.ends());
    cuts.extend(request.departures.iter().map(|departure| micros_of(departure.at)));
    cuts.sort_unstable();

    let end = last_instant(request)?;
    let pieces = cut_stay(&request.prices.horizon, (micros_of(request.now), end), &cuts);
    let periods = pieces.iter().map(|piece| (piece.start, piece.end));
    let horizon = Horizon::from_micros(periods)?;
    let slots: Vec<usize> = pieces.iter().map(|piece| piece.slot).collect();
    let power_max: Vec<Power> = pieces
        .iter()
        .map(|piece| {
            // No limit starts or ends inside a piece, so at most one overlaps it.
            let limit = limit_periods.overlapping(piece.start, piece.end).next();
            let power_max = request.power_max;
            limit.map_or(power_max, |index| power_max.min(limits[index].power_max))
        })
        .collect();
    let departures = check_departures(request, &horizon)?;
    Ok(plan_policy(&PolicyProblem {
        horizon: &horizon,
        prices: &request.prices.states.of_slots(&slots),
        power_max: &power_max,
        energy: request.energy,
        shortfall_price: request.shortfall_price,
        departures: departures.as_deref(),
    })?)
}

/// Checks powers and the price of missing energy.
fn check_powers(request: &PolicyRequest<'_>) -> Result<(), PolicyRequestError> {
    if request.power_max < Power::ZERO {
        return Err(PolicyRequestError::NegativePower { power: request.power_max });
    }
    if request.shortfall_price < Price::ZERO {
        let price = request.shortfall_price;
        return Err(PolicyRequestError::NegativeShortfallPrice { price });
    }
    match request.power_limits.iter().position(|limit| limit.power_max < Power::ZERO) {
        Some(index) => {
            let power = request.power_limits[index].power_max;
            Err(PolicyRequestError::NegativeLimit { index, power })
        }
        None => Ok(()),
    }
}

/// End of the policy in microseconds: the last departure that may happen, or the last price. Checks
/// that departures lie within the prices.
fn last_instant(request: &PolicyRequest<'_>) -> Result<i64, PolicyRequestError> {
    let horizon = &request.prices.horizon;
    let now = micros_of(request.now);
    let end = horizon.end().map_or(now, micros_of);
    let first = horizon.overlapping(now, i64::MAX).next();
    let Some(first) = first else {
        let end = instant_at(end);
        return Err(PolicyRequestError::NoPrice { now: request.now, end });
    };
    let from = horizon.starts()[first].max(now);
    for (index, departure) in request.departures.iter().enumerate() {
        if !(from + 1..=end).contains(&micros_of(departure.at)) {
            let (from, to) = (instant_at(from), instant_at(end));
            return Err(PolicyRequestError::Departure { index, at: departure.at, from, to });
        }
    }
    let possible = request.departures.iter().filter(|departure| departure.weight > 0.0);
    Ok(possible.map(|departure| micros_of(departure.at)).max().unwrap_or(end))
}

/// Part of a slot.
#[derive(Debug, Clone, Copy)]
struct CutSlot {
    slot: usize,
    start: i64,
    end: i64,
}

/// Slots within `[from, to)`, cut at `cuts`, which are in time order.
fn cut_stay(horizon: &Horizon, (from, to): (i64, i64), cuts: &[i64]) -> Vec<CutSlot> {
    let mut pieces = Vec::new();
    for slot in horizon.overlapping(from, to) {
        let (mut start, end) = (horizon.starts()[slot].max(from), horizon.ends()[slot].min(to));
        let next = cuts.partition_point(|&cut| cut <= start);
        for &cut in cuts[next..].iter().take_while(|&&cut| cut < end) {
            if cut > start {
                pieces.push(CutSlot { slot, start, end: cut });
                start = cut;
            }
        }
        pieces.push(CutSlot { slot, start, end });
    }
    pieces
}

/// Probability that the vehicle leaves at the end of each slot. A departure in a gap of the prices
/// is one at the end of the slot before.
fn check_departures(
    request: &PolicyRequest<'_>,
    horizon: &Horizon,
) -> Result<Option<Vec<f64>>, DepartureError> {
    if request.departures.is_empty() {
        return Ok(None);
    }
    let total = total_weight(request.departures)?;
    let mut shares = vec![0.0; horizon.len()];
    for departure in request.departures.iter().filter(|departure| departure.weight > 0.0) {
        let ended = horizon.ends().partition_point(|&end| end <= micros_of(departure.at));
        shares[ended.saturating_sub(1)] += departure.weight / total;
    }
    Ok(Some(shares))
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::greedy::plan_charge;
    use crate::plan::charge::request::{ChargeProblem, ChargeRequest, Target};
    use crate::plan::policy::explain::explain;
    use crate::plan::policy::uncertain_prices::PriceBranch;
    use crate::prices::curve::PriceCurve;
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, per_kwh};

    fn start() -> DateTime<Utc> {
        curve_of(60, &[0]).horizon().period(0).0
    }

    fn minutes(count: i64) -> DateTime<Utc> {
        start() + TimeDelta::minutes(count)
    }

    fn request(prices: &UncertainPrices) -> PolicyRequest<'_> {
        PolicyRequest {
            now: start(),
            prices,
            power_max: kw(10.0),
            power_limits: &[],
            energy: kwh(15.0),
            shortfall_price: per_kwh(1.0),
            departures: &[],
        }
    }

    /// One hour, followed by two equally likely ones.
    fn tree() -> UncertainPrices {
        let (first, low, high) = (curve_of(60, &[20]), curve_of(60, &[10]), curve_of(60, &[40]));
        let after = |curve: &PriceCurve| {
            let later = curve
                .horizon()
                .periods()
                .map(|(start, end)| (start + TimeDelta::hours(1), end + TimeDelta::hours(1)));
            PriceCurve::from_parts(Horizon::new(later).unwrap(), curve.prices().to_vec()).unwrap()
        };
        let (low, high) = (after(&low), after(&high));
        UncertainPrices::tree(&[
            PriceBranch { parent: None, probability: 1.0, curve: &first },
            PriceBranch { parent: Some(0), probability: 0.8, curve: &low },
            PriceBranch { parent: Some(0), probability: 0.2, curve: &high },
        ])
        .unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        /// With certain prices and one departure the policy costs what the cheapest plan costs.
        #[test]
        fn certain_prices_cost_what_the_plan_costs(
            cents in prop::collection::vec(0i32..50, 1..8),
            energy in 0.0..60.0_f64,
            now in 0i64..50,
            stay in 1i64..400,
            limit in prop::option::of((0i64..200, 1i64..90, 0.0..12.0_f64)),
        ) {
            let curve = curve_of(60, &cents);
            let end = minutes(60 * cents.len() as i64);
            let leaves = minutes(now + stay).min(end);
            prop_assume!(leaves > minutes(now));
            let power_limits: Vec<PowerLimit> = limit.into_iter().map(|(from, length, power)| {
                let (start, end) = (minutes(from), minutes(from + length));
                PowerLimit { start, end, power_max: kw(power) }
            }).collect();
            let prices = UncertainPrices::certain(&curve).unwrap();
            let policy = plan_policy_request(&PolicyRequest {
                now: minutes(now),
                power_limits: &power_limits,
                energy: kwh(energy),
                departures: &[Departure { at: leaves, weight: 3.0 }],
                ..request(&prices)
            }).unwrap();
            let target = Target { by: Some(leaves), energy: kwh(energy) };
            let plan = plan_charge(&curve, &ChargeProblem::new(ChargeRequest {
                power_limits,
                until: Some(leaves),
                ..ChargeRequest::new(minutes(now), kw(10.0), target)
            }).unwrap());
            let cost = plan.cost.as_amount() + plan.shortfall.as_kwh();
            prop_assert!((policy.expected_cost().as_amount() - cost).abs() <= 1e-6, "{plan:?}");
            let certificate = policy.certificate();
            prop_assert!(certificate.is_proved(), "{certificate:?}");
            let missing = certificate.expected_shortfall.as_kwh();
            prop_assert!((missing - plan.shortfall.as_kwh()).abs() <= 1e-6);
        }

        /// A departure that never happens cuts slots, and changes nothing.
        #[test]
        fn cuts_change_no_cost(at in 1i64..180, energy in 0.0..40.0_f64) {
            let curves = [curve_of(60, &[20, 30, 5]), curve_of(60, &[30, 10, 40])];
            let curves: Vec<&PriceCurve> = curves.iter().collect();
            let matrix = vec![vec![0.7, 0.3], vec![0.4, 0.6]];
            let prices = UncertainPrices::markov(&curves, &[matrix], &[0.5, 0.5]).unwrap();
            let whole = PolicyRequest { energy: kwh(energy), ..request(&prices) };
            let never = Departure { at: minutes(at), weight: 0.0 };
            let departures = [never, Departure { at: minutes(180), weight: 1.0 }];
            let cut = PolicyRequest { departures: &departures, ..whole };
            let cost = |request: &PolicyRequest<'_>| {
                plan_policy_request(request).unwrap().expected_cost().as_amount()
            };
            prop_assert!((cost(&whole) - cost(&cut)).abs() <= 1e-9);
        }
    }

    #[test]
    fn a_decision_within_a_slot_is_for_its_rest() {
        let prices = tree();
        let policy = plan_policy_request(&request(&prices)).unwrap();
        let decision = policy.decide_at(minutes(30), None, kwh(15.0)).unwrap();
        assert_eq!((decision.energy, decision.power), (kwh(5.0), kw(10.0)));
        assert_eq!((decision.left, decision.end), (kwh(10.0), minutes(60)));
        let decision = policy.decide_at(start(), None, kwh(15.0)).unwrap();
        assert_eq!((decision.energy, decision.power), (kwh(5.0), kw(5.0)));
        // 0.20 for 5 kWh now, and 10 kWh at 0.16 on average.
        assert!((decision.expected_cost.as_amount() - 2.6).abs() < 1e-12);
        assert_eq!(decision.marginal_cost, per_kwh(0.2));
        let curve = policy.bid_curve_at(minutes(45), Some(0), kwh(15.0)).unwrap();
        assert_eq!(curve.last().unwrap().energy, kwh(2.5));
    }

    #[test]
    fn each_state_has_a_sentence() {
        let prices = tree();
        let policy = plan_policy_request(&request(&prices)).unwrap();
        let sentences: Vec<String> = explain(&policy)
            .iter()
            .map(|reason| reason.sentence(chrono_tz::Europe::Oslo, "EUR"))
            .collect();
        expect![[r#"
            Mon 19:00 to Mon 20:00 at 0.20 EUR/kWh: leaves 10 kWh for later and charges what is wanted above; one more kWh later is expected to cost 1.00 EUR.
            Mon 20:00 to Mon 21:00 at 0.10 EUR/kWh: charges all that is wanted; later a kWh is expected to cost 1.00 EUR.
            Mon 20:00 to Mon 21:00 at 0.40 EUR/kWh: charges all that is wanted; later a kWh is expected to cost 1.00 EUR."#]].assert_eq(&sentences.join("\n"));
    }

    #[test]
    fn wrong_requests_are_told() {
        let prices = tree();
        let told =
            |request: &PolicyRequest<'_>| plan_policy_request(request).unwrap_err().to_string();
        let request = request(&prices);
        let leaving = |minute, weight| Departure { at: minutes(minute), weight };
        let texts = [
            told(&PolicyRequest { now: minutes(120), ..request }),
            told(&PolicyRequest { departures: &[leaving(0, 1.0)], ..request }),
            told(&PolicyRequest { departures: &[leaving(121, 1.0)], ..request }),
            told(&PolicyRequest { departures: &[leaving(60, 0.0)], ..request }),
            told(&PolicyRequest { power_max: kw(-1.0), ..request }),
            told(&PolicyRequest { shortfall_price: per_kwh(-1.0), ..request }),
        ];
        expect![[r#"
            now is 2026-01-05 20:00:00 UTC; prices end at 2026-01-05 20:00:00 UTC
            departures[0] is at 2026-01-05 18:00:00 UTC; give one after 2026-01-05 18:00:00 UTC, the first time with a price, and by 2026-01-05 20:00:00 UTC, the end of the prices
            departures[0] is at 2026-01-05 20:01:00 UTC; give one after 2026-01-05 18:00:00 UTC, the first time with a price, and by 2026-01-05 20:00:00 UTC, the end of the prices
            the weights of departures add up to 0, not to a number above 0
            power_max_kw is -1 kW; a vehicle that only charges needs 0 kW or more
            shortfall_price_per_kwh is -1; a missing kWh costs 0 or more"#]].assert_eq(&texts.join("\n"));
        let policy = plan_policy_request(&request).unwrap();
        let asked = |minute, state| {
            policy.decide_at(minutes(minute), state, kwh(1.0)).unwrap_err().to_string()
        };
        let texts = [asked(60, None), asked(120, Some(0)), asked(-1, None), asked(60, Some(2))];
        expect![[r#"
            state is missing; there are 2 of them at 2026-01-05 19:00:00 UTC, with the numbers 0 to 1
            at is 2026-01-05 20:00:00 UTC, when the policy has no price; it goes from 2026-01-05 18:00:00 UTC to 2026-01-05 20:00:00 UTC
            at is 2026-01-05 17:59:00 UTC, when the policy has no price; it goes from 2026-01-05 18:00:00 UTC to 2026-01-05 20:00:00 UTC
            state is 2; slot 1 has 2 states"#]].assert_eq(&texts.join("\n"));
    }

    #[test]
    fn curves_that_do_not_fit_are_told() {
        let (two, three) = (curve_of(60, &[10, 20]), curve_of(60, &[10, 20, 30]));
        let sure = vec![vec![0.5, 0.5]; 2];
        let markov = |curves: &[&PriceCurve]| {
            let matrix = std::slice::from_ref(&sure);
            UncertainPrices::markov(curves, matrix, &[0.5, 0.5]).unwrap_err().to_string()
        };
        let branch = |parent, probability, curve| PriceBranch { parent, probability, curve };
        let branched =
            |branches: &[PriceBranch<'_>]| UncertainPrices::tree(branches).unwrap_err().to_string();
        let late = three.between(minutes(120), minutes(180));
        let texts = [
            markov(&[&two, &three]),
            markov(&[&PriceCurve::default(), &two]),
            branched(&[branch(None, 1.0, &two), branch(Some(0), 1.0, &three)]),
            branched(&[branch(None, 1.0, &two), branch(Some(0), 0.9, &late)]),
            branched(&[branch(None, 1.0, &two), branch(Some(0), 1.0, &PriceCurve::default())]),
            branched(&[branch(None, 0.5, &two), branch(None, 0.5, &three)]),
        ];
        expect![[r#"
            states[1] has 2026-01-05 20:00:00 UTC to 2026-01-05 21:00:00 UTC where states[0] has no slot; all have the same slots
            states[0] has no price; give it at least one slot
            then[0] starts at 2026-01-05 18:00:00 UTC, before the prices ahead of it end at 2026-01-05 20:00:00 UTC
            probabilities of then add up to 0.9, not to 1
            then[0] has no price; give it at least one slot
            paths[1] has 2026-01-05 20:00:00 UTC to 2026-01-05 21:00:00 UTC where paths[0] has no slot; all have the same slots"#]].assert_eq(&texts.join("\n"));
    }
}

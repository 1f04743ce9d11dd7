//! Provenance of the prices of a plan: the share of each source, and the time until which waiting
//! for unknown prices is safe.
//!
//! A plan uses estimates as if they were known, so its deadlines hold at any prices. This module
//! reports which part of the plan depends on estimates, and computes `decide_by`.
//!
//! # Safe waiting
//!
//! Waiting until an instant is safe if for *all* values of the unknown prices the cheapest plan
//! from that instant on misses no more of any target than the cheapest plan from now on, and costs
//! no more. The plan from now on may buy only at prices that are known when their time comes.
//! (Prices that arrive earlier are a reason to plan again, and earlier.)
//!
//! The worst case of the unknown prices is the highest: higher later prices move charging only to
//! earlier, known ones. So it suffices to plan with each unknown price at its ceiling. A price
//! without a ceiling is higher than all others. Of equal prices the later slot is used, and a
//! partly used slot at its end. `decide_by` is the instant at which this plan starts to charge.
//! Until then it passes no known price that it may need later; after it, a kWh may cost more than
//! at the known prices.
//!
//! Unknown prices are the estimates, and those of all time between the last price and the last
//! deadline, which are still to come. A gap between prices is neither known nor unknown: no plan
//! uses it. Energy that is charged at once (a reserve, a target that cannot be met) does not wait.
use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::charge::greedy::plan_charge;
use crate::plan::charge::plan::Plan;
use crate::plan::charge::request::ChargeProblem;
use crate::plan::stability::feasible_region::{FeasibleRegion, SlotRoom, purchase_min};
use crate::prices::curve::{PriceCurve, Slot};
use crate::prices::layers::{Layer, LayeredPrices, Standing};
use crate::time::horizon::Horizon;
use crate::time::instant::{instant_at, micros_of};
use crate::units::{Energy, Money, Price};

/// Energy that a plan buys at the prices of one source, and its cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SourceShare {
    /// Name of the source.
    pub source: String,
    /// Standing of its prices: known or estimated.
    pub standing: Standing,
    /// Energy bought at its prices.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// Cost of that energy.
    pub cost: Money,
}

/// Sources of the prices of a plan, and the time until which waiting for others is safe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Provenance {
    /// One share per layer, in the order of the layers.
    pub shares: Vec<SourceShare>,
    /// Energy bought at estimates.
    #[serde(rename = "energy_on_estimates_kwh")]
    pub energy_on_estimates: Energy,
    /// Cost of that energy if the estimates are right.
    pub cost_on_estimates: Money,
    /// Source of each slot of the plan, as a position in `shares`.
    pub slot_sources: Vec<usize>,
    /// Latest instant until which waiting is safe; `None` if there is nothing to
    /// charge. Not before the first usable instant.
    pub decide_by: Option<DateTime<Utc>>,
    /// `true` if the plan waits for prices: prices before the last deadline are
    /// not known yet, nothing is charged now, and waiting is safe.
    pub awaiting_prices: bool,
}

/// Returns the provenance of the prices of a plan.
///
/// `plan` is a plan of `problem` at the prices of `prices`.
#[must_use]
pub fn provenance(prices: &LayeredPrices, problem: &ChargeProblem, plan: &Plan) -> Provenance {
    let slot_sources = plan.slots.iter().map(|slot| source_at(prices, slot.start)).collect();
    let shares =
        shares(prices, plan.slots.iter().map(|slot| (slot.start, slot.energy, slot.price)));
    let estimated = || shares.iter().filter(|share| share.standing == Standing::Estimate);
    let (worst, has_unknown) = Worst::new(prices, problem);
    let decide_by = worst.decide_by(problem);
    let now = problem.request().now;
    let is_idle = plan.intervals.first().is_none_or(|interval| interval.start > now);
    Provenance {
        energy_on_estimates: estimated().fold(Energy::ZERO, |sum, share| sum + share.energy),
        cost_on_estimates: estimated().fold(Money::ZERO, |sum, share| sum + share.cost),
        awaiting_prices: has_unknown && is_idle && decide_by.is_some_and(|by| by > now),
        shares,
        slot_sources,
        decide_by,
    }
}

/// Sums energy and cost by price source, in the order of the layers.
///
/// `energies` are bought or sold energies, each with an instant in its slot and the price there.
#[must_use]
pub fn shares(
    prices: &LayeredPrices,
    energies: impl IntoIterator<Item = (DateTime<Utc>, Energy, Price)>,
) -> Vec<SourceShare> {
    let none = |layer: &Layer| SourceShare {
        source: layer.source.clone(),
        standing: layer.standing,
        energy: Energy::ZERO,
        cost: Money::ZERO,
    };
    let mut shares: Vec<SourceShare> = prices.layers().iter().map(none).collect();
    for (at, energy, price) in energies {
        if let Some(share) = shares.get_mut(source_at(prices, at)) {
            share.energy = share.energy + energy;
            share.cost = share.cost + price.of(energy);
        }
    }
    shares
}

/// Position of the layer of the price at an instant; `usize::MAX` if there is no price.
fn source_at(prices: &LayeredPrices, at: DateTime<Utc>) -> usize {
    let start = micros_of(at);
    let index = prices.curve().horizon().overlapping(start, start.saturating_add(1)).next();
    // A slot of another curve has no source in these layers.
    index.map_or(usize::MAX, |index| prices.sources()[index])
}

/// Sentence that names the sources of estimates among the prices of `[start, end)`;
/// `None` if all of them are known.
#[must_use]
pub fn estimates_in(
    prices: &LayeredPrices,
    (start, end): (DateTime<Utc>, DateTime<Utc>),
) -> Option<String> {
    let slots = prices.curve().horizon().overlapping(micros_of(start), micros_of(end));
    let used: BTreeSet<usize> = slots.map(|slot| prices.sources()[slot]).collect();
    let layers = used.into_iter().map(|layer| &prices.layers()[layer]);
    let estimates = layers.filter(|layer| layer.standing == Standing::Estimate);
    let names: Vec<&str> = estimates.map(|layer| layer.source.as_str()).collect();
    (!names.is_empty()).then(|| format!("It rests on estimates ({}).", names.join(", ")))
}

/// All usable time, with the worst case of its prices.
struct Worst {
    /// Slots at their worst prices, with a finite substitute for `None`.
    curve: PriceCurve,
    /// Worst price of each slot of the curve; `None` is higher than any.
    prices: Vec<Option<Price>>,
}

impl Worst {
    /// Returns the worst prices, and `true` if a price before the last deadline is unknown.
    fn new(prices: &LayeredPrices, problem: &ChargeProblem) -> (Self, bool) {
        let worst = |(slot, &layer): (Slot, &usize)| {
            let layer = &prices.layers()[layer];
            match layer.standing {
                Standing::Known => (slot, Some(slot.price)),
                Standing::Estimate => (slot, layer.ceiling),
            }
        };
        let mut slots: Vec<(Slot, Option<Price>)> =
            prices.curve().slots().zip(prices.sources()).map(worst).collect();
        let last = last_deadline(problem);
        // A price counts as unknown if it is an estimate for usable time before the last deadline.
        let is_unknown = |index: usize, slot: &Slot| {
            prices.layers()[prices.sources()[index]].standing == Standing::Estimate
                && slot.end > problem.request().now
                && last.is_none_or(|last| slot.start < last)
        };
        let mut has_unknown =
            slots.iter().enumerate().any(|(index, (slot, _))| is_unknown(index, slot));
        // Time between the last price and the last deadline is one slot without a ceiling.
        let start = slots.last().map(|(slot, _)| slot.end).max(Some(problem.request().now));
        if let (Some(start), Some(end)) = (start, last)
            && start < end
            && [start, end].into_iter().all(|at| Horizon::holds(micros_of(at)))
        {
            slots.push((Slot { start, end, price: Price::ZERO }, None));
            has_unknown = true;
        }
        (Self::of(&slots), has_unknown)
    }

    /// Builds the curve, with a price above all others in place of `None`.
    fn of(slots: &[(Slot, Option<Price>)]) -> Self {
        // Only the order of prices counts, so one unit above the highest price is enough.
        let highest = slots.iter().filter_map(|(_, price)| *price);
        let highest = highest.fold(Price::ZERO, Price::max);
        let top = Price::from_per_kwh(highest.as_per_kwh() + 1.0).unwrap_or(highest);
        let priced =
            |(slot, price): &(Slot, Option<Price>)| Slot { price: price.unwrap_or(top), ..*slot };
        let curve = PriceCurve::new(&slots.iter().map(priced).collect::<Vec<_>>())
            .expect("time after the last slot does not overlap it");
        Self { curve, prices: slots.iter().map(|(_, price)| *price).collect() }
    }

    /// Start of charging of the plan that charges as late as possible at the worst prices.
    fn decide_by(&self, problem: &ChargeProblem) -> Option<DateTime<Utc>> {
        let plan = plan_charge(&self.curve, problem);
        let region = FeasibleRegion::new(&plan);
        let filled = region.fill(&self.latest_first(&region));
        let used = region.slots.iter().zip(&filled.energies).enumerate();
        let (first, (slot, &energy)) =
            used.into_iter().find(|(_, (s, e))| **e > purchase_min(s))?;
        if region.forced[first] > Energy::ZERO {
            return Some(slot.start);
        }
        // The first used slot is used at its end, so charging starts that much before it.
        let micros = slot.power_max.micros_for(energy).ceil() as i64;
        let start = instant_at(micros_of(slot.end).saturating_sub(micros));
        Some(start.max(slot.start))
    }

    /// Segments by worst price; of one price the later first.
    fn latest_first(&self, region: &FeasibleRegion<'_>) -> Vec<SlotRoom> {
        let worst = |slot: usize| {
            let start = micros_of(region.slots[slot].start);
            let index = self.curve.horizon().overlapping(start, start.saturating_add(1)).next();
            index.and_then(|index| self.prices[index])
        };
        let mut order = region.cheapest_first();
        order.sort_by(|a, b| {
            let (slot_a, slot_b) = (worst(a.slot), worst(b.slot));
            let by_price = match (slot_a, slot_b) {
                (Some(a), Some(b)) => a.total_cmp(&b),
                (a, b) => a.is_none().cmp(&b.is_none()),
            };
            by_price.then(b.slot.cmp(&a.slot))
        });
        order
    }
}

/// The last deadline or the departure, whichever is earlier; `None` if a target may use all prices
/// or if there is no target.
fn last_deadline(problem: &ChargeProblem) -> Option<DateTime<Utc>> {
    let request = problem.request();
    let last = request.targets.iter().map(|target| target.by).try_fold(None, |most, by| {
        by.map(|by| Some(most.map_or(by, |most: DateTime<Utc>| most.max(by))))
    });
    match (last.flatten(), request.until) {
        (Some(last), Some(until)) => Some(last.min(until)),
        (last, _) => last,
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::request::{ChargeRequest, Target};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, money, per_kwh};

    fn minute(minutes: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    fn problem(by: i64, energy: f64) -> ChargeProblem {
        let target = Target { by: Some(minute(by)), energy: kwh(energy) };
        ChargeProblem::new(ChargeRequest::new(minute(0), kw(10.0), target)).unwrap()
    }

    /// Layers with prices in cents for hours from 18:00 on; `known` of them are known, the rest are
    /// estimates.
    fn layers(cents: &[i32], known: usize, ceiling: Option<f64>) -> LayeredPrices {
        let curve = curve_of(60, cents);
        let (from, cut) = (minute(0), minute(60 * known as i64));
        let end = minute(60 * cents.len() as i64);
        LayeredPrices::new(vec![
            Layer {
                source: "market".into(),
                standing: Standing::Known,
                ceiling: None,
                curve: curve.between(from, cut),
            },
            Layer {
                source: "yesterday".into(),
                standing: Standing::Estimate,
                ceiling: ceiling.map(per_kwh),
                curve: curve.between(cut, end),
            },
        ])
        .unwrap()
    }

    /// Compares `decide_by`, in minutes from 18:00, and `awaiting_prices`.
    #[track_caller]
    fn check(prices: &LayeredPrices, problem: &ChargeProblem, expected: (Option<i64>, bool)) {
        let plan = plan_charge(prices.curve(), problem);
        let result = provenance(prices, problem, &plan);
        let minutes = result.decide_by.map(|at| (at - minute(0)).num_minutes());
        assert_eq!((minutes, result.awaiting_prices), expected);
    }

    #[test]
    fn what_rests_on_estimates_is_told_apart() {
        let prices = layers(&[30, 20, 10, 40], 2, None);
        let problem = problem(240, 15.0);
        let plan = plan_charge(prices.curve(), &problem);
        let result = provenance(&prices, &problem, &plan);
        assert_eq!((result.energy_on_estimates, result.cost_on_estimates), (kwh(10.0), money(1.0)));
        let shares: Vec<f64> = result.shares.iter().map(|share| share.energy.as_kwh()).collect();
        assert_eq!(shares, [5.0, 10.0]);
        assert_eq!(result.slot_sources, [0, 0, 1, 1]);
        assert_eq!(estimates_in(&prices, (minute(0), minute(120))), None);
        let note = estimates_in(&prices, (minute(60), minute(180)));
        assert_eq!(note.as_deref(), Some("It rests on estimates (yesterday)."));
    }

    #[test]
    fn known_prices_are_not_passed_by_for_a_guess() {
        // 10 kWh fit into the known hour at 20 cents: it is used, although 10 cents are estimated.
        check(&layers(&[30, 20, 10, 40], 2, None), &problem(240, 10.0), (Some(60), true));
        // 5 kWh may wait for the second half of that hour.
        check(&layers(&[30, 20, 10, 40], 2, None), &problem(240, 5.0), (Some(90), true));
        // If the later hours cost at most 15 cents, all may wait for the later one of them.
        check(&layers(&[30, 20, 10, 14], 2, Some(0.15)), &problem(240, 10.0), (Some(180), true));
        // A ceiling above the known prices changes nothing.
        check(&layers(&[30, 20, 10, 40], 2, Some(0.5)), &problem(240, 10.0), (Some(60), true));
    }

    #[test]
    fn of_equal_prices_the_later_can_be_waited_for() {
        let prices = layers(&[20, 20, 20, 40], 4, None);
        check(&prices, &problem(240, 10.0), (Some(120), false));
    }

    #[test]
    fn without_any_price_the_need_must_still_fit() {
        // 10 kWh by 22:00 at 10 kW must start at 21:00.
        check(&LayeredPrices::new(Vec::new()).unwrap(), &problem(240, 10.0), (Some(180), true));
        check(&layers(&[], 0, None), &problem(240, 40.0), (Some(0), false));
        check(&layers(&[], 0, None), &problem(240, 0.0), (None, false));
    }

    #[test]
    fn what_is_charged_at_once_does_not_wait() {
        let mut wish = problem(240, 10.0).request().clone();
        wish.reserve = kwh(1.0);
        let reserve = ChargeProblem::new(wish).unwrap();
        check(&layers(&[30, 20, 10, 40], 2, None), &reserve, (Some(0), false));
        check(&layers(&[30, 20], 2, None), &problem(120, 99.0), (Some(0), false));
    }

    #[test]
    fn deadlines_beyond_all_calendars_are_left_alone() {
        let mut wish = problem(240, 10.0).request().clone();
        wish.targets[0].by = Some(DateTime::<Utc>::MAX_UTC);
        let far = ChargeProblem::new(wish).unwrap();
        check(&layers(&[30, 20, 10, 40], 2, None), &far, (Some(60), true));
    }

    proptest! {
        /// At all values of the unknown prices, planning at `decide_by` costs as much
        /// as planning now; a minute later it may cost more.
        #[test]
        fn waiting_cannot_hurt(
            cents in prop::collection::vec(0..40i32, 1..30), known in 0..20usize,
            truth in prop::collection::vec(-20..200i32, 30), ceiling in prop::option::of(40..60i32),
            early in (0..900i64, 0.0..1.0f64), last in (1..1000i64, 0.0..1.0f64),
        ) {
            let known = known.min(cents.len());
            let prices = layers(&cents, known, ceiling.map(|cent| f64::from(cent) / 100.0));
            let mut wish = problem(0, 0.0).request().clone();
            wish.targets = [early, last].iter().map(|&(by, share)| Target {
                by: Some(minute(by)), energy: kwh(share * by as f64 / 6.0),
            }).collect();
            let problem = ChargeProblem::new(wish.clone()).unwrap();
            let result = provenance(&prices, &problem, &plan_charge(prices.curve(), &problem));
            let Some(decide_by) = result.decide_by else {
                prop_assert!(problem.wanted() < kwh(1e-6));
                return Ok(());
            };
            // Known prices stay; unknown ones take any value, up to a declared ceiling.
            let end = wish.targets.iter().filter_map(|target| target.by).max().unwrap();
            let hours = ((end - minute(0)).num_minutes() / 60 + 1).max(cents.len() as i64) as usize;
            let later = |at: usize, worst: bool| match (at < known, worst, ceiling) {
                (true, ..) => cents[at],
                (_, true, Some(ceiling)) if at < cents.len() => ceiling,
                (_, true, _) => 10_000,
                (_, false, Some(ceiling)) if at < cents.len() => truth[at].min(ceiling),
                (_, false, _) => truth[at % truth.len()],
            };
            // While waiting, nothing is bought at unknown prices.
            let blind_until = decide_by.max(minute(60 * known as i64));
            let curve = |worst: bool| {
                let all = curve_of(60, &(0..hours).map(|at| later(at, worst)).collect::<Vec<i32>>());
                let seen = all.between(minute(0), minute(60 * known as i64));
                let slots: Vec<Slot> = seen.slots().chain(all.between(blind_until, minute(9999)).slots()).collect();
                PriceCurve::new(&slots).unwrap()
            };
            let from = |curve: &PriceCurve, now: DateTime<Utc>| {
                let plan = plan_charge(curve, &ChargeProblem::new(ChargeRequest { now, ..wish.clone() }).unwrap());
                (plan.shortfall.as_kwh(), plan.cost.as_amount())
            };
            for curve in [curve(false), curve(true)] {
                let (now, then) = (from(&curve, minute(0)), from(&curve, decide_by));
                prop_assert!((now.0 - then.0).abs() < 1e-6, "{now:?} {then:?}");
                prop_assert!((now.1 - then.1).abs() < 1e-6, "{now:?} {then:?}");
            }
            let (now, late) = (from(&curve(true), minute(0)), from(&curve(true), decide_by + TimeDelta::minutes(1)));
            // Of unknown hours at one price the latest is used, so a minute is missing in the end.
            prop_assert!(late.0 > now.0 + 1e-6 || late.1 > now.1 + 1e-6, "{now:?} {late:?}");
        }
    }
}

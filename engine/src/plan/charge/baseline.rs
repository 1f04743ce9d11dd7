//! Baseline: the cost and the emissions of the same energy without smart charging.
use crate::plan::charge::plan::{Plan, PlannedSlot, intervals};
use crate::plan::interval::emissions_of;
use crate::prices::curve::PriceCurve;
use crate::units::{Energy, Money};

/// Cost of `energy` at full power from the first slot on.
///
/// The slots are those of the plan, so the baseline keeps the same power limits
/// and skips the same gaps in the prices. Energy above the capacity of the
/// slots is not bought.
#[must_use]
pub fn unmanaged_cost(slots: &[PlannedSlot], energy: Energy) -> Money {
    let mut missing = energy;
    let mut cost = Money::ZERO;
    for slot in slots {
        let taken = slot.capacity().min(missing).max(Energy::ZERO);
        cost = cost + slot.price.of(taken);
        missing = missing - taken;
    }
    cost
}

/// Emissions in kg of a plan, and of the same energy at full power from the first slot on, at a
/// carbon intensity in kg per kWh.
///
/// Time without an intensity counts for nothing. Prices that hold the price of emissions
/// ([`PriceCurve::plus_emissions`]) have an intensity throughout.
#[must_use]
pub fn emissions(plan: &Plan, intensity: &PriceCurve) -> (f64, f64) {
    let mut missing = plan.slots.iter().fold(Energy::ZERO, |sum, slot| sum + slot.energy);
    let unmanaged = plan.slots.iter().map(|slot| {
        let energy = slot.capacity().min(missing).max(Energy::ZERO);
        missing = missing - energy;
        PlannedSlot { energy, ..*slot }
    });
    let unmanaged: Vec<PlannedSlot> = unmanaged.collect();
    (emissions_of(&plan.intervals, intensity), emissions_of(&intervals(&unmanaged), intensity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::charge::greedy::plan_charge;
    use crate::plan::charge::request::{ChargeProblem, ChargeRequest, Target};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, money, per_kwh};
    use proptest::prelude::*;

    #[test]
    fn full_power_from_plug_in() {
        let slot = |start: &str, end: &str, price| PlannedSlot {
            start: start.parse().unwrap(),
            end: end.parse().unwrap(),
            price: per_kwh(price),
            power_max: kw(10.0),
            energy: Energy::ZERO,
        };
        let slots = [
            slot("2026-01-05T18:30:00Z", "2026-01-05T19:00:00Z", 0.4),
            slot("2026-01-05T19:00:00Z", "2026-01-05T20:00:00Z", 0.5),
        ];
        assert_eq!(unmanaged_cost(&slots, kwh(7.0)), money(5.0 * 0.4 + 2.0 * 0.5));
        assert_eq!(unmanaged_cost(&slots, Energy::ZERO), Money::ZERO);
        assert_eq!(unmanaged_cost(&slots, kwh(99.0)), money(5.0 * 0.4 + 10.0 * 0.5));
    }

    proptest! {
        /// The cost of a plan on prices with emissions is that of its energy and of its kilograms,
        /// and so is the cost of its baseline.
        #[test]
        fn cost_is_that_of_energy_and_emissions(
            cents in prop::collection::vec(-20..60_i32, 1..12),
            grams in prop::collection::vec(0..100_i32, 24),
            need in 0.0..150.0_f64,
            per_kg in 0.0..2.0_f64,
        ) {
            let (prices, intensity) = (curve_of(60, &cents), curve_of(30, &grams));
            let summed = prices.plus_emissions(&intensity, per_kg).unwrap();
            let now = "2026-01-05T18:20:00Z".parse().unwrap();
            let target = Target { by: None, energy: kwh(need) };
            let problem = ChargeProblem::new(ChargeRequest::new(now, kw(10.0), target)).unwrap();
            let plan = plan_charge(&summed, &problem);
            let (kg, baseline_kg) = emissions(&plan, &intensity);
            let energy = prices.weigh(plan.intervals.iter().map(|i| (i.start, i.end, i.power)));
            prop_assert!((plan.cost.as_amount() - energy - per_kg * kg).abs() < 1e-6);
            let paid = |slot: &PlannedSlot| PlannedSlot { price: prices.price_at(slot.start).unwrap(), ..*slot };
            let slots: Vec<PlannedSlot> = plan.slots.iter().map(paid).collect();
            let baseline = unmanaged_cost(&slots, plan.energy).as_amount();
            let all = plan.baseline_cost.as_amount();
            prop_assert!((all - baseline - per_kg * baseline_kg).abs() < 1e-6);
        }
    }
}

//! Baseline: the cost of the same energy without smart charging.
use crate::plan::charge::plan::PlannedSlot;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{kw, kwh, money, per_kwh};

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
}

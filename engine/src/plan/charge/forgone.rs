//! Forgone revenue: what negative prices would pay for energy that a plan does not buy.
//!
//! A plan buys the energy of its targets, and more only up to an `energy_max`. Where prices are
//! negative before its last deadline and power is free, more energy would earn money. How much of
//! it fits is known up to the charge limit, if the request has one.
use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use crate::plan::charge::explain::{format_amount, wall_clock};
use crate::plan::charge::plan::PlannedSlot;
use crate::plan::charge::request::ChargeProblem;
use crate::plan::charge::sub_slots;
use crate::prices::curve::PriceCurve;
use crate::time::instant::instant_at;
use crate::units::{Energy, Money, Price};

/// Share of the room below which it counts as full.
const ROOM_SHARE_MIN: f64 = 1e-9;

/// Energy at negative prices that a plan does not buy.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Forgone {
    /// Start of the first slot with such energy.
    pub start: DateTime<Utc>,
    /// End of the last one.
    pub end: DateTime<Utc>,
    /// Energy at the plug, at most the room up to the charge limit.
    pub energy: Energy,
    /// Money that it would earn, cheapest slots first.
    pub revenue: Money,
    /// True if the room of the battery is known, so that all of `energy` fits.
    pub fits: bool,
}

impl Forgone {
    /// Argument that allows a single charging plan to buy the energy.
    #[must_use]
    pub fn way(&self) -> &'static str {
        if self.fits { "fill_when_negative allows it" } else { "energy_max_kwh allows it" }
    }

    /// Sentence about the energy, with times on the wall clock of `time_zone`, amounts in
    /// `currency` (empty if it is not known) and the way to buy it.
    #[must_use]
    pub fn sentence(&self, time_zone: Tz, currency: &str, way: &str) -> String {
        let clock = |at: DateTime<Utc>| wall_clock(at, time_zone);
        let (kwh, money) = (self.energy.as_kwh(), format_amount(self.revenue, currency));
        format!(
            "{} to {}: up to {kwh:.1} kWh at negative prices are not bought, which would earn up to \
             {money}; {way}.",
            clock(self.start),
            clock(self.end)
        )
    }
}

/// Returns the energy at negative prices that a plan does not buy; `None` if it leaves none.
///
/// `slots` are those of the plan of `problem`, and `energy` is what it buys. The plan of a device
/// that switches has them, too: its least power and starts may leave less to earn.
#[must_use]
pub fn forgone(
    curve: &PriceCurve,
    problem: &ChargeProblem,
    slots: &[PlannedSlot],
    energy: Energy,
) -> Option<Forgone> {
    let request = problem.request();
    let (from, to) = sub_slots::span(curve, problem);
    let (from, to) = (instant_at(from), instant_at(to));
    let limit = request.energy_max.or(request.charge_limit);
    let is_inside = |slot: &&PlannedSlot| slot.start >= from && slot.end <= to;
    let slots = slots.iter().filter(is_inside).copied();
    forgone_in(slots, limit.map(|limit| (energy, limit)), |_, _| ())
}

/// Energy at negative prices that `slots` leave, cheapest slots first. `room` is the energy bought
/// and the most that fits, if that is known. `use_up` is called with each slot and its energy.
pub(crate) fn forgone_in(
    slots: impl IntoIterator<Item = PlannedSlot>,
    room: Option<(Energy, Energy)>,
    mut use_up: impl FnMut(&PlannedSlot, Energy),
) -> Option<Forgone> {
    let mut left = room.map(|(bought, limit)| (limit - bought).as_kwh());
    let least = room.map_or(0.0, |(_, limit)| limit.as_kwh() * ROOM_SHARE_MIN);
    let spare = |slot: &PlannedSlot| slot.power_max.over(slot.end - slot.start) - slot.energy;
    let has_spare = |slot: &PlannedSlot| slot.price < Price::ZERO && spare(slot) > Energy::ZERO;
    let mut slots: Vec<PlannedSlot> = slots.into_iter().filter(has_spare).collect();
    slots.sort_by(|a, b| a.price.as_per_kwh().total_cmp(&b.price.as_per_kwh()));
    let mut found: Option<Forgone> = None;
    for slot in &slots {
        let energy = match left {
            Some(left) if left <= least => break,
            Some(left) => spare(slot).min(Energy::from_kwh(left).unwrap_or(Energy::ZERO)),
            None => spare(slot),
        };
        left = left.map(|left| left - energy.as_kwh());
        use_up(slot, energy);
        let sum = found.get_or_insert(Forgone {
            start: slot.start,
            end: slot.end,
            energy: Energy::ZERO,
            revenue: Money::ZERO,
            fits: room.is_some(),
        });
        (sum.start, sum.end) = (sum.start.min(slot.start), sum.end.max(slot.end));
        sum.energy = sum.energy + energy;
        sum.revenue = sum.revenue - slot.price.of(energy);
    }
    found
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::plan::charge::greedy::plan_charge;
    use crate::plan::charge::request::{ChargeRequest, Target};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh};

    /// Sentence about a plan of 5 kWh at 10 kW, at 30, -10, -20 and -30 cents from 18:00 on.
    #[track_caller]
    fn check(hours: i64, change: impl FnOnce(&mut ChargeRequest), expected: Option<&str>) {
        let curve = curve_of(60, &[30, -10, -20, -30]);
        let start = instant_at(curve.horizon().starts()[0]);
        let target = Target { by: Some(start + TimeDelta::hours(hours)), energy: kwh(5.0) };
        let mut wish = ChargeRequest::new(start, kw(10.0), target);
        change(&mut wish);
        let problem = ChargeProblem::new(wish).unwrap();
        let plan = plan_charge(&curve, &problem);
        let found = forgone(&curve, &problem, &plan.slots, plan.energy);
        let found = found.map(|found| found.sentence(Tz::UTC, "EUR", found.way()));
        assert_eq!(found.as_deref().map(|text| text.split_once(": ").unwrap().1), expected);
    }

    #[test]
    fn unused_negative_prices_before_the_deadline_are_told() {
        let text = "up to 15.0 kWh at negative prices are not bought, which would earn up to 2.00 EUR; \
                    energy_max_kwh allows it.";
        check(3, |_| (), Some(text));
        check(1, |_| (), None);
    }

    #[test]
    fn room_bounds_the_energy_and_a_plan_that_fills_leaves_none() {
        let text = "up to 7.0 kWh at negative prices are not bought, which would earn up to 1.20 EUR; \
                    fill_when_negative allows it.";
        check(3, |wish| wish.charge_limit = Some(kwh(12.0)), Some(text));
        check(3, |wish| wish.energy_max = Some(kwh(12.0)), None);
        check(3, |wish| wish.charge_limit = Some(kwh(5.0)), None);
    }
}

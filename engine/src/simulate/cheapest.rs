//! Cheapest charging periods of one need in one window, in whole microseconds at full power.
//!
//! The searches of [`plan_charge`](crate::plan_charge) find the slots. A need is a whole number of
//! microseconds, so the periods are exact: planning the rest anew from the middle of a plan, on
//! equal prices, gives the rest of that plan.
use crate::plan::charge::selection::slot_selection::{Need, SlotSelection, Window};
use crate::plan::charge::selection::threshold::choose_one;
use crate::prices::curve::PriceCurve;
use crate::prices::ranking::SLOTS_MAX;
use crate::simulate::exact::Milliwatts;
use crate::units::MICROS_PER_HOUR;

/// Calls `visit(start, end)` for each period at full power, in time order: `micros` in all, or the
/// whole window if it is shorter. Of equal prices the earlier slot is used.
#[inline]
pub(crate) fn cheapest_periods(
    curve: &PriceCurve,
    (from, to): (i64, i64),
    micros: i64,
    power: Milliwatts,
    mut visit: impl FnMut(i64, i64),
) {
    if micros <= 0 || power.0 <= 0 || from >= to {
        return;
    }
    let power_kw = power.as_kw();
    let need = Need { energy_kwh: power_kw * micros as f64 / MICROS_PER_HOUR, power_kw };
    let horizon = curve.horizon();
    let choice = if let Some(ranked) = curve.ranked() {
        ranked.choose(from, to, need).1
    } else {
        let window = Window::new(horizon, from, to);
        if window.len() == 0 {
            return;
        }
        if window.len() > SLOTS_MAX {
            for (start, end) in longest(curve, window, micros) {
                visit(start, end);
            }
            return;
        }
        choose_one(horizon, curve.prices(), window, need)
    };
    choice.for_each_used(|slot, is_partial| {
        let start = horizon.starts()[slot].max(from);
        let end = if is_partial {
            start + partial_micros(&choice, power_kw)
        } else {
            horizon.ends()[slot].min(to)
        };
        visit(start, end);
    });
}

/// Time at full power in the slot that is used in part. The need is a whole number of
/// microseconds and so are the full slots: rounding removes the error of the floating point.
fn partial_micros(choice: &SlotSelection, power_kw: f64) -> i64 {
    (choice.partial_kwh / power_kw * MICROS_PER_HOUR).round() as i64
}

/// Cheapest periods of a window of more slots than the searches take, by sorting.
#[inline(never)]
fn longest(curve: &PriceCurve, window: Window, micros: i64) -> Vec<(i64, i64)> {
    let horizon = curve.horizon();
    let mut order: Vec<usize> = (window.first..window.last).collect();
    order.sort_by(|&a, &b| curve.prices()[a].total_cmp(&curve.prices()[b]));
    let (mut missing, mut periods) = (micros, Vec::new());
    for slot in order {
        let start = horizon.starts()[slot].max(window.from);
        let length = window.usable(horizon, slot).min(missing);
        periods.push((start, start + length));
        missing -= length;
        if missing == 0 {
            break;
        }
    }
    periods.sort_unstable();
    periods
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::greedy::plan_charge;
    use crate::plan::charge::request::{ChargeProblem, ChargeRequest, Target};
    use crate::prices::curve::tests::curve_of;
    use crate::time::instant::instant_at;
    use crate::units::kwh;

    fn periods(curve: &PriceCurve, span: (i64, i64), micros: i64) -> Vec<(i64, i64)> {
        let mut periods = Vec::new();
        cheapest_periods(curve, span, micros, Milliwatts(7_400_000), |a, b| periods.push((a, b)));
        periods
    }

    proptest! {
        /// Cheapest periods cost what the planner's plan costs, hold the whole need to the
        /// microsecond, and from any instant on they are those of the rest of the need.
        #[test]
        fn the_rest_of_a_plan_is_the_plan_of_the_rest(
            cents in prop::collection::vec(-20..60i32, 1..300), need in 1..20_000_000_000_i64,
            later in 0..40_000_000_000_i64, step in prop::sample::select(vec![15, 60]),
        ) {
            let curve = curve_of(step, &cents);
            let from = curve.horizon().starts()[0];
            let to = *curve.horizon().ends().last().unwrap();
            let now = (from + later).min(to);
            let all = periods(&curve, (from, to), need);
            let used: i64 = all.iter().map(|(start, end)| end - start).sum();
            prop_assert_eq!(used, need.min(to - from));
            let past: i64 = all.iter().map(|(start, end)| ((*end).min(now) - start).max(0)).sum();
            let rest: Vec<(i64, i64)> = all.iter().filter(|period| period.1 > now)
                .map(|&(start, end)| (start.max(now), end)).collect();
            prop_assert_eq!(rest, periods(&curve, (now, to), used - past));
            let target = Target { by: None, energy: kwh(7.4 * need as f64 / MICROS_PER_HOUR) };
            let request = ChargeRequest::new(instant_at(from), crate::units::kw(7.4), target);
            let plan = plan_charge(&curve, &ChargeProblem::new(request).unwrap());
            let cost: f64 = all.iter().map(|&(start, end)| {
                let slot = curve.horizon().overlapping(start, end).start;
                curve.prices()[slot] * 7.4 * (end - start) as f64 / MICROS_PER_HOUR
            }).sum();
            prop_assert!((plan.cost.as_amount() - cost).abs() < 1e-6, "{cost} {:?}", plan.cost);
        }
    }
}

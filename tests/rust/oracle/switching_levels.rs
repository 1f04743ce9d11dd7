//! Devices that switch with two deadlines, against all ways to switch there are.
//!
//! Every set of slots that are on is tried, with and without a top-off and with
//! each deadline as the one that ends the buying. The plan that comes back is then
//! read by a checker that knows the limits and nothing of how they were searched.
use std::cell::RefCell;

use proptest::prelude::*;
use proptest::sample::select;
use slackwater_engine::plan::charge::AfterDeadline;
use slackwater_engine::plan::switching::{SwitchingPlan, SwitchingProblem, plan_switching};
use slackwater_engine::prices::curve::{PriceCurve, Slot};
use slackwater_engine::units::{money, per_kwh};

use crate::census::Census;
use crate::runner::for_all;
use crate::switching::{
    Part, Switch, at, carries, keeps_the_minimum, sessions, short_sessions, uneven, whole_length,
};

/// Part of the money at stake by which a proved plan may be dearer than the best.
const PROVED: f64 = 2e-6;

#[derive(Debug, Clone)]
struct Case {
    switch: Switch,
    stops: bool,
    /// All money is in units of this.
    scale: f64,
}

#[derive(Debug, Clone, Copy)]
struct Best {
    missing: [f64; 2],
    yielded: bool,
    energy: f64,
    cost: f64,
}

impl Case {
    fn early(&self) -> (i32, f64) {
        self.switch.early.expect("every case has an early target")
    }

    fn plan(&self) -> SwitchingPlan {
        let slot = |&(start, end, price): &(i32, i32, f64)| Slot {
            start: at(start),
            end: at(end),
            price: per_kwh(price * self.scale),
        };
        let slots: Vec<Slot> = self.switch.slots.iter().map(slot).collect();
        let curve = PriceCurve::new(&slots).expect("slots are in order");
        let mut request = self.switch.request();
        request.start_cost = money(self.switch.start_cost * self.scale);
        if self.stops {
            request.after_deadline = AfterDeadline::Stop;
        }
        plan_switching(&SwitchingProblem::new(request, &curve).expect("cases make sense"))
    }

    /// Energies wanted early and in the end.
    fn wanted(&self) -> [f64; 2] {
        let early = self.early().1;
        [early, if self.stops { self.switch.kwh } else { self.switch.kwh.max(early) }]
    }
}

fn brute(case: &Case) -> Best {
    let parts = case.switch.parts();
    let mut best: Option<Best> = None;
    for mask in 0..1_u32 << parts.len() {
        let on: Vec<usize> = (0..parts.len()).filter(|part| mask >> part & 1 == 1).collect();
        let runs = sessions(&parts, &on);
        let Some(short) = short_sessions(&case.switch, &parts, &runs) else { continue };
        let is_short = match short[..] {
            [] => false,
            [only] if only == runs.len() => true,
            _ => continue,
        };
        let starts = runs.len() - usize::from(carries(&case.switch, &parts, &on));
        for top_off in [false, true] {
            if top_off && on.is_empty() {
                continue;
            }
            let yielded = if top_off {
                whole_length(&case.switch, &parts, &runs) < case.switch.on_min
            } else {
                is_short
            };
            for ends_early in [false, true] {
                let start_cost = case.switch.start_cost * starts as f64;
                let next = spread(case, &parts, &on, top_off, ends_early).map(|best| Best {
                    yielded,
                    cost: best.cost + start_cost,
                    ..best
                });
                if let Some(next) = next
                    && best.is_none_or(|best| is_better(&next, &best))
                {
                    best = Some(next);
                }
            }
        }
    }
    best.expect("staying off is a plan")
}

fn is_better(a: &Best, b: &Best) -> bool {
    for (a, b) in a.missing.iter().zip(&b.missing) {
        if (a - b).abs() > 1e-9 {
            return a < b;
        }
    }
    (a.yielded, a.cost) < (b.yielded, b.cost)
}

/// The energies of slots that are on: first what the early deadline wants, at its
/// cheapest, then the rest.
fn spread(
    case: &Case,
    parts: &[Part],
    on: &[usize],
    top_off: bool,
    ends_early: bool,
) -> Option<Best> {
    let by = case.early().0;
    let wanted = case.wanted();
    // Price, least, most, and whether the slot counts for the early deadline.
    let mut slots: Vec<(f64, f64, f64, bool)> = on
        .iter()
        .map(|&i| (parts[i].price, parts[i].least, parts[i].most, parts[i].end <= by))
        .collect();
    if top_off && let Some(last) = slots.last_mut() {
        (last.1, last.2) = (0.0, last.1);
    }
    if ends_early && slots.iter().any(|slot| !slot.3) {
        return None;
    }
    let most = if ends_early { wanted[0] } else { wanted[1] };
    let least: f64 = slots.iter().map(|slot| slot.1).sum();
    if least > most + 1e-9 {
        return None;
    }
    slots.sort_by(|a, b| a.0.total_cmp(&b.0));
    let late: f64 = slots.iter().filter(|slot| !slot.3).map(|slot| slot.1).sum();
    let mut taken: Vec<f64> = slots.iter().map(|slot| slot.1).collect();
    for (goal, is_early) in [(wanted[0].min(most - late), true), (most, false)] {
        for index in 0..slots.len() {
            let counts = |slot: usize| !is_early || slots[slot].3;
            let sum: f64 = (0..slots.len()).filter(|&i| counts(i)).map(|i| taken[i]).sum();
            if counts(index) {
                taken[index] += (goal - sum).clamp(0.0, slots[index].2 - taken[index]);
            }
        }
    }
    let early: f64 = slots.iter().zip(&taken).filter(|(s, _)| s.3).map(|(_, kwh)| kwh).sum();
    let energy: f64 = taken.iter().sum();
    Some(Best {
        missing: [(wanted[0] - early).max(0.0), (wanted[1] - energy).max(0.0)],
        yielded: false,
        energy,
        cost: slots.iter().zip(&taken).map(|(slot, kwh)| slot.0 * kwh).sum(),
    })
}

/// Reads the plan as its device does: limits of power, sessions and pauses.
fn keeps_the_limits(case: &Case, plan: &SwitchingPlan) -> Result<(), TestCaseError> {
    let switch = &case.switch;
    keeps_the_minimum(switch, plan)?;
    for interval in &plan.intervals {
        if let Some((from, to, kw)) = switch.limit {
            let is_within = interval.start < at(to) && at(from) < interval.end;
            prop_assert!(!is_within || interval.power.as_kw() <= kw + 1e-9, "{interval:?}");
        }
    }
    let most = switch.sessions.map_or(usize::MAX, |most| most as usize);
    prop_assert!(plan.sessions.len() <= most, "{plan:?}");
    for pair in plan.sessions.windows(2) {
        let pause = (pair[1].start - pair[0].end).num_minutes();
        prop_assert!(pause >= i64::from(switch.off_min), "{plan:?}");
        let carried = switch.state.filter(|_| pair[0].is_carried);
        let start = carried.map_or(pair[0].start, |(_, since)| at(since));
        let length = (pair[0].end - start).num_minutes();
        prop_assert!(length >= i64::from(switch.on_min), "{plan:?}");
    }
    Ok(())
}

fn cases() -> BoxedStrategy<Case> {
    let early = (select(vec![-15, 0, 15, 30, 45, 60]), 0.05..1.3_f64);
    (uneven(), early, any::<bool>(), select(vec![1e-6, 1.0, 1e6]))
        .prop_map(|(mut switch, (after, share), stops, scale)| {
            let by = (switch.now + after).min(switch.by - 1);
            switch.early = Some((by, share * switch.kwh.max(1.0)));
            Case { switch, stops, scale }
        })
        .boxed()
}

#[test]
fn two_deadlines_are_met_at_the_least_cost() {
    let census = RefCell::new(Census::default());
    for_all(500, &cases(), |case| {
        let (plan, best) = (case.plan(), brute(&case));
        keeps_the_limits(&case, &plan)?;
        let status = plan.certificate.status.as_str();
        prop_assert!(status == "optimal", "{status}\n{best:?}\n{plan:?}");
        let early = plan.targets[1].shortfall.as_kwh();
        prop_assert!((early - best.missing[0]).abs() <= 1e-6, "{early}\n{best:?}\n{plan:?}");
        let energy = plan.energy.as_kwh();
        prop_assert!((energy - best.energy).abs() <= 1e-6, "{energy}\n{best:?}\n{plan:?}");
        let (cost, least) = (plan.cost.as_amount(), best.cost * case.scale);
        let paid = plan.slots.iter().map(|slot| slot.price.of(slot.energy).as_amount().abs());
        let stake = paid.sum::<f64>() + plan.start_costs.as_amount() + 1e-7 * case.scale;
        prop_assert!((cost - least).abs() <= PROVED * stake, "{cost}\n{best:?}\n{plan:?}");
        prop_assert!(plan.certificate.is_proved(), "{:?}", plan.certificate);
        census.borrow_mut().count(&[
            ("the early deadline missed", best.missing[0] > 1e-9),
            ("energy missing in the end", best.missing[1] > 1e-9),
            ("missed deadlines are over", case.stops && best.missing[0] > 1e-9),
            ("a past deadline", case.early().0 <= case.switch.now),
            ("several sessions", plan.sessions.len() > 1),
            ("a session goes on", plan.sessions.iter().any(|session| session.is_carried)),
            ("a negative cost", cost < 0.0),
            ("tiny amounts", case.scale < 1.0),
            ("a gap in the prices", case.switch.has_gap()),
        ]);
        Ok(())
    });
    census.into_inner().assert_each(0.02);
}

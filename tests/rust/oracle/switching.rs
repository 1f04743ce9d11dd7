//! Plans of devices that switch, against all ways to switch there are.
//!
//! [`brute`] tries each set of slots that are on, and for each the cheapest
//! way to spread the energy; it knows the rules of switching as sentences
//! about sessions and pauses, and nothing of graphs or tables.
use std::cell::RefCell;

use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;
use proptest::sample::select;
use slackwater_engine::plan::charge::Target;
use slackwater_engine::plan::switching::{
    DeviceState, SwitchingPlan, SwitchingProblem, SwitchingRequest, UnmetWish, plan_switching,
};
use slackwater_engine::prices::curve::{PriceCurve, Slot};
use slackwater_engine::units::{kw, kwh, money, per_kwh};

use crate::census::Census;
use crate::runner::{for_all, near};

/// A problem in minutes and kW; slots are `(start, end, price)`.
#[derive(Debug, Clone)]
pub(crate) struct Switch {
    pub(crate) slots: Vec<(i32, i32, f64)>,
    pub(crate) now: i32,
    pub(crate) by: i32,
    pub(crate) kwh: f64,
    /// Energy wanted earlier: `(by, kWh)`.
    pub(crate) early: Option<(i32, f64)>,
    pub(crate) kw_max: f64,
    pub(crate) kw_min: f64,
    /// A period with a limit of its own: `(start, end, kW)`.
    pub(crate) limit: Option<(i32, i32, f64)>,
    pub(crate) start_cost: f64,
    pub(crate) sessions: Option<u32>,
    pub(crate) on_min: i32,
    pub(crate) off_min: i32,
    /// On (true) or off since a minute.
    pub(crate) state: Option<(bool, i32)>,
    pub(crate) run_last: i32,
}

/// A slot as far as it can be used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) start: i32,
    pub(crate) end: i32,
    pub(crate) price: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Switch {
    pub(crate) fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        let within = |slot: &&(i32, i32, f64)| slot.0 < self.by && self.now < slot.1;
        for &(start, end, price) in self.slots.iter().filter(within) {
            let mut cuts = vec![start.max(self.now), end.min(self.by)];
            let limits = self.limit.iter().flat_map(|&(from, to, _)| [from, to]);
            let inner = limits.chain(self.early.iter().map(|&(by, _)| by));
            cuts.extend(inner.filter(|&cut| start.max(self.now) < cut && cut < end.min(self.by)));
            cuts.sort_unstable();
            cuts.dedup();
            for pair in cuts.windows(2).filter(|pair| pair[0] < pair[1]) {
                let within = |&(from, to, _): &(i32, i32, f64)| from <= pair[0] && pair[1] <= to;
                let kw =
                    self.limit.filter(within).map_or(self.kw_max, |limit| limit.2.min(self.kw_max));
                let hours = f64::from(pair[1] - pair[0]) / 60.0;
                let least = self.kw_min * hours;
                if kw >= self.kw_min {
                    parts.push(Part {
                        start: pair[0],
                        end: pair[1],
                        price,
                        least,
                        most: kw * hours,
                    });
                }
            }
        }
        parts
    }

    pub(crate) fn has_gap(&self) -> bool {
        self.slots.windows(2).any(|pair| pair[0].1 < pair[1].0)
    }

    pub(crate) fn plan(&self) -> SwitchingPlan {
        let slot = |&(start, end, price): &(i32, i32, f64)| Slot {
            start: at(start),
            end: at(end),
            price: per_kwh(price),
        };
        let slots: Vec<Slot> = self.slots.iter().map(slot).collect();
        let curve = PriceCurve::new(&slots).expect("slots are in order");
        plan_switching(&SwitchingProblem::new(self.request(), &curve).expect("cases make sense"))
    }

    pub(crate) fn request(&self) -> SwitchingRequest {
        let target = Target { by: Some(at(self.by)), energy: kwh(self.kwh) };
        let mut request = SwitchingRequest::new(at(self.now), kw(self.kw_max), target);
        if let Some((by, energy)) = self.early {
            request.targets.push(Target { by: Some(at(by)), energy: kwh(energy) });
        }
        if let Some((start, end, power)) = self.limit {
            request.power_limits.push(slackwater_engine::plan::charge::PowerLimit {
                start: at(start),
                end: at(end),
                power_max: kw(power),
            });
        }
        request.until = Some(at(self.by));
        request.power_min = kw(self.kw_min);
        request.start_cost = money(self.start_cost);
        request.sessions_max = self.sessions;
        request.on_min = TimeDelta::minutes(self.on_min.into());
        request.off_min = TimeDelta::minutes(self.off_min.into());
        request.run_last = TimeDelta::minutes(self.run_last.into());
        request.state = match self.state {
            None => DeviceState::Off,
            Some((true, since)) => DeviceState::RunningSince(at(since)),
            Some((false, since)) => DeviceState::StoppedSince(at(since)),
        };
        request
    }
}

pub(crate) fn at(minute: i32) -> DateTime<Utc> {
    "2026-01-05T00:00:00Z".parse::<DateTime<Utc>>().expect("an instant")
        + TimeDelta::minutes(minute.into())
}

/// The best of all plans: energy missing of the early and the last target,
/// cost with starts, and whether a session had to be short or the last
/// minutes could not be run.
#[derive(Debug, Clone, PartialEq)]
struct Best {
    missing: f64,
    /// 0: all rules kept; 1: a short last session; 2 and 3: the same without
    /// the last minutes.
    yielded: usize,
    cost: f64,
}

/// Tries every set of slots, with and without a top-off.
fn brute(case: &Switch) -> Best {
    let parts = case.parts();
    let mut best: Option<Best> = None;
    for mask in 0..1_u32 << parts.len() {
        let on: Vec<usize> = (0..parts.len()).filter(|part| mask >> part & 1 == 1).collect();
        let sessions = sessions(&parts, &on);
        let runs_last = parts
            .iter()
            .enumerate()
            .all(|(index, part)| part.end <= case.by - case.run_last || on.contains(&index));
        let Some(short) = short_sessions(case, &parts, &sessions) else { continue };
        let carried = carries(case, &parts, &on);
        let starts = sessions.len() - usize::from(carried);
        for top_off in [false, true] {
            let is_last_short = match short[..] {
                [] => false,
                [only] if only == sessions.len() => true,
                _ => continue,
            };
            let mut bounds: Vec<(f64, f64, f64)> =
                on.iter().map(|&i| (parts[i].price, parts[i].least, parts[i].most)).collect();
            let mut is_short = is_last_short;
            if top_off {
                let Some(&last) = on.last() else { continue };
                let position = bounds.len() - 1;
                (bounds[position].1, bounds[position].2) = (0.0, parts[last].least);
                is_short = whole_length(case, &parts, &sessions) < case.on_min;
            }
            let last_run = runs_last && (!top_off || case.run_last == 0);
            let yields = |runs: bool| match (runs, is_short) {
                (true, false) => 0,
                (true, true) => 1,
                (false, false) => 2,
                (false, true) => 3,
            };
            // A plan counts with the wish, and as a plan of those without it.
            let options = if case.run_last > 0 { vec![true, false] } else { vec![true] };
            for runs in options.into_iter().filter(|&runs| last_run || !runs) {
                let run: f64 = parts
                    .iter()
                    .filter(|part| part.end > case.by - case.run_last)
                    .map(|part| part.least)
                    .sum();
                let wanted = if runs && case.run_last > 0 { case.kwh.max(run) } else { case.kwh };
                let Some((energy, cost)) = spread(&bounds, wanted) else { continue };
                let next = Best {
                    missing: (case.kwh - energy).max(0.0),
                    yielded: yields(runs),
                    cost: cost + case.start_cost * starts as f64,
                };
                if best.as_ref().is_none_or(|best| is_better(&next, best)) {
                    best = Some(next);
                }
            }
        }
    }
    best.expect("staying off is a plan")
}

/// Minutes that the last session is on before its last slot.
pub(crate) fn whole_length(case: &Switch, parts: &[Part], sessions: &[Vec<usize>]) -> i32 {
    let last = sessions.last().expect("a top-off has a session");
    let first = parts[last[0]].start;
    let start = match case.state {
        Some((true, since)) if sessions.len() == 1 && first == case.now => since,
        _ => first,
    };
    let before = last[..last.len() - 1].last();
    before.map_or(first, |&part| parts[part].end) - start
}

fn is_better(a: &Best, b: &Best) -> bool {
    if (a.missing - b.missing).abs() > 1e-9 {
        return a.missing < b.missing;
    }
    (a.yielded, a.cost) < (b.yielded, b.cost)
}

/// The most energy up to `wanted`, and its least cost; `None` if the least is too much.
pub(crate) fn spread(bounds: &[(f64, f64, f64)], wanted: f64) -> Option<(f64, f64)> {
    let mut order = bounds.to_vec();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut energy: f64 = order.iter().map(|bound| bound.1).sum();
    let mut cost: f64 = order.iter().map(|bound| bound.0 * bound.1).sum();
    if energy > wanted + 1e-9 {
        return None;
    }
    for (price, least, most) in order {
        let more = (most - least).min(wanted - energy).max(0.0);
        energy += more;
        cost += price * more;
    }
    Some((energy, cost))
}

/// Slots that are on, session by session.
pub(crate) fn sessions(parts: &[Part], on: &[usize]) -> Vec<Vec<usize>> {
    let mut sessions: Vec<Vec<usize>> = Vec::new();
    for &index in on {
        match sessions.last_mut() {
            Some(last)
                if parts[*last.last().expect("a session has slots")].end == parts[index].start =>
            {
                last.push(index);
            }
            _ => sessions.push(vec![index]),
        }
    }
    sessions
}

/// Whether the first slot goes on with a session from before.
pub(crate) fn carries(case: &Switch, parts: &[Part], on: &[usize]) -> bool {
    matches!(case.state, Some((true, _))) && on.first().is_some_and(|&i| parts[i].start == case.now)
}

/// Numbers of the sessions that are too short, from 1 on; 0 is the one that
/// stopped at `now`. `None` if a limit is broken.
pub(crate) fn short_sessions(
    case: &Switch,
    parts: &[Part],
    sessions: &[Vec<usize>],
) -> Option<Vec<usize>> {
    if case.sessions.is_some_and(|most| sessions.len() > most as usize) {
        return None;
    }
    let flat: Vec<usize> = sessions.iter().flatten().copied().collect();
    let carried = carries(case, parts, &flat);
    let mut short = Vec::new();
    let mut stopped = match case.state {
        Some((true, since)) if !carried => {
            // Only where it could have gone on is stopping a choice.
            let could = parts.first().is_some_and(|part| part.start == case.now)
                && case.sessions != Some(0);
            if could && case.now - since < case.on_min {
                short.push(0);
            }
            Some(case.now)
        }
        Some((false, since)) => Some(since),
        _ => None,
    };
    for (number, session) in sessions.iter().enumerate() {
        let (first, last) =
            (parts[session[0]].start, parts[*session.last().expect("a session has slots")].end);
        let start =
            if number == 0 && carried { case.state.expect("a session goes on").1 } else { first };
        if let Some(stopped) = stopped.filter(|_| number > 0 || !carried)
            && first - stopped < case.off_min
        {
            return None;
        }
        if last - start < case.on_min {
            short.push(number + 1);
        }
        stopped = Some(last);
    }
    Some(short)
}

/// Tiny problems of slots of one length; `now` and `by` may lie inside one.
fn tiny() -> BoxedStrategy<Switch> {
    let slot = (-4..9_i32, prop_oneof![9 => Just(0), 1 => select(vec![15, 30])]);
    let slots = prop::collection::vec(slot, 1..=8);
    let stay = (0..15_i32, 0..15_i32, 0.0..1.15_f64, any::<bool>());
    let power = (select(vec![0.0, 4.0, 7.0, 8.0]), select(vec![0.0, 0.05, 0.3, 1.0]));
    let rules = (
        prop::option::weighted(0.5, 0..4_u32),
        select(vec![0, 0, 15, 20, 45]),
        select(vec![0, 0, 15, 40]),
        prop::option::weighted(0.5, (any::<bool>(), 0..60_i32)),
        select(vec![0, 0, 0, 10, 30]),
    );
    (slots, stay, power, rules)
        .prop_map(|(raw, (late, early, share, quarters), (kw_min, start_cost), rules)| {
            let (sessions, on_min, off_min, state, run_last) = rules;
            let mut end = 0;
            let slots: Vec<(i32, i32, f64)> = raw
                .into_iter()
                .map(|(cents, gap)| {
                    let start = end + gap;
                    end = start + 15;
                    (start, end, f64::from(cents) / 10.0)
                })
                .collect();
            let kw_min: f64 = if kw_min > 0.0 { kw_min } else { 8.0 };
            let mut case = Switch {
                slots,
                now: late,
                by: (end - early).max(late + 1),
                kwh: 0.0,
                early: None,
                kw_max: 8.0,
                kw_min,
                limit: None,
                start_cost,
                sessions,
                on_min,
                off_min,
                state: state.map(|(on, since)| (on, late - since)),
                run_last,
            };
            let possible: f64 = case.parts().iter().map(|part| part.most).sum();
            case.kwh = share * possible;
            if quarters {
                case.kwh = (case.kwh / 2.0).floor() * 2.0;
            }
            case
        })
        .boxed()
}

/// Power is zero or at least the minimum, but for a marked top-off, which is the last.
pub(crate) fn keeps_the_minimum(case: &Switch, plan: &SwitchingPlan) -> Result<(), TestCaseError> {
    for interval in &plan.intervals {
        prop_assert!(interval.power >= kw(case.kw_min), "{interval:?}");
        prop_assert!(interval.power <= kw(case.kw_max), "{interval:?}");
    }
    for (index, slot) in plan.slots.iter().enumerate() {
        let hours =
            (slot.end - slot.start).num_microseconds().expect("a short time") as f64 / 3.6e9;
        let least = case.kw_min * hours;
        let energy = slot.energy.as_kwh();
        let is_kept = energy == 0.0 || energy >= least - 1e-9;
        prop_assert!(is_kept || plan.top_off == Some(index), "{slot:?}");
    }
    if let Some(top_off) = plan.top_off {
        prop_assert!(plan.slots[top_off + 1..].iter().all(|slot| slot.energy == kwh(0.0)));
        prop_assert!(plan.intervals.last().is_some_and(|last| last.is_top_off));
    }
    let executed: f64 = plan
        .intervals
        .iter()
        .map(|i| {
            i.power.as_kw() * (i.end - i.start).num_microseconds().expect("a short time") as f64
                / 3.6e9
        })
        .sum();
    prop_assert!(near(executed, plan.energy.as_kwh(), 1e-6), "{executed} of {:?}", plan.energy);
    Ok(())
}

#[test]
fn no_way_to_switch_is_better() {
    let census = RefCell::new(Census::default());
    for_all(4000, &tiny(), |case| {
        let plan = case.plan();
        let best = brute(&case);
        let missing = plan.shortfall.as_kwh();
        prop_assert!(near(missing, best.missing, 1e-7), "misses {missing}, {best:?}\n{plan:?}");
        let cost = plan.cost.as_amount();
        prop_assert!(near(cost, best.cost, 1e-8), "costs {cost}, {best:?}\n{plan:?}");
        keeps_the_minimum(&case, &plan)?;
        let relaxed =
            plan.certificate.relaxed_bound.expect("an exact search has a bound").as_amount();
        prop_assert!(
            relaxed <= cost + 1e-8 && plan.certificate.is_proved(),
            "{:?}",
            plan.certificate
        );
        let free = plan.smoothness_cost().as_amount();
        prop_assert!(free >= -1e-6, "smoothness pays {free}\n{plan:?}");
        let names = |name: &str| plan.unmet.iter().any(|wish| wish.as_str() == name);
        let is_unpriced = plan.unmet.iter().any(|wish| matches!(wish, UnmetWish::RunLast { .. }));
        prop_assert!(best.yielded < 2 || is_unpriced, "{plan:?}");
        // A top-off within the least time may still end after it.
        let may_be_short = best.yielded % 2 == 1 || case.state.is_some_and(|(on, _)| on);
        prop_assert!(may_be_short || !names("on_min"), "{best:?} {plan:?}");
        census.borrow_mut().count(&[
            ("energy missing", best.missing > 1e-9),
            ("a rule yielded", best.yielded > 0),
            ("a top-off", plan.top_off.is_some()),
            ("several sessions", plan.sessions.len() > 1),
            ("a session goes on", plan.sessions.iter().any(|session| session.is_carried)),
            ("smoothness costs", free > 1e-9),
        ]);
        Ok(())
    });
    census.into_inner().assert_each(0.03);
}

/// Such problems with slots of several lengths or a limit that varies, so that
/// they go to the mixed-integer programme. Hours without a price stay.
pub(crate) fn uneven() -> BoxedStrategy<Switch> {
    let shape = (select(vec![15, 30, 45]), prop::option::of(select(vec![0.0, 5.0])));
    (tiny(), shape)
        .prop_map(|(mut case, (length, limit))| {
            case.slots.truncate(6);
            let (mut end, mut before) = (0, 0);
            for (index, slot) in case.slots.iter_mut().enumerate() {
                let start = end + slot.0 - before;
                before = slot.1;
                end = start + if index == 1 { length } else { 15 };
                *slot = (start, end, slot.2);
            }
            case.by = case.by.min(end).max(case.now + 1);
            case.limit = limit.map(|kw| (15, 30, kw));
            case.run_last = 0;
            let possible: f64 = case.parts().iter().map(|part| part.most).sum();
            case.kwh = case.kwh.min(1.1 * possible);
            case
        })
        .boxed()
}

#[test]
fn uneven_problems_are_solved_as_well() {
    let census = RefCell::new(Census::default());
    for_all(150, &uneven(), |case| {
        let plan = case.plan();
        let best = brute(&case);
        let missing = plan.shortfall.as_kwh();
        prop_assert!(near(missing, best.missing, 1e-5), "misses {missing}, {best:?}\n{plan:?}");
        let cost = plan.cost.as_amount();
        prop_assert!(near(cost, best.cost, 1e-4), "costs {cost}, {best:?}\n{plan:?}");
        prop_assert!(plan.certificate.is_complete, "{:?}", plan.certificate);
        keeps_the_minimum(&case, &plan)?;
        let is_mixed = plan.certificate.method.as_str() == "mixed_integer";
        census.borrow_mut().count(&[
            ("mixed", is_mixed),
            ("energy missing", best.missing > 1e-9),
            ("several sessions", plan.sessions.len() > 1),
            ("a gap in the prices", case.has_gap()),
        ]);
        Ok(())
    });
    census.into_inner().assert_each(0.05);
}

/// A charger that has just begun, with nothing more to charge, and a limit later
/// on, so that the mixed-integer programme plans it: it stops, although it has not
/// been on for so long as it should.
#[test]
fn no_least_time_takes_energy_that_nobody_wants() {
    let case = Switch {
        slots: vec![(0, 15, 0.0), (15, 30, 0.1)],
        now: 1,
        by: 30,
        kwh: 0.0,
        early: None,
        kw_max: 8.0,
        kw_min: 4.0,
        limit: Some((15, 30, 5.0)),
        start_cost: 0.0,
        sessions: None,
        on_min: 15,
        off_min: 0,
        state: Some((true, 1)),
        run_last: 0,
    };
    let plan = case.plan();
    assert_eq!(plan.certificate.method.as_str(), "mixed_integer");
    assert!(plan.intervals.is_empty(), "{plan:?}");
    let unmet: Vec<&str> = plan.unmet.iter().map(UnmetWish::as_str).collect();
    assert_eq!(unmet, ["on_min"]);
    let even = Switch { limit: None, ..case }.plan();
    assert_eq!(even.certificate.method.as_str(), "exact_search");
    assert_eq!(even.intervals, plan.intervals);
    assert_eq!(even.unmet.iter().map(UnmetWish::as_str).collect::<Vec<_>>(), unmet);
}

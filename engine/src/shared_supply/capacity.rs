//! Joint plan of many on-off requests within a shared power limit.
//!
//! The requests become the vehicles of an area with one node and one hard import limit:
//!
//! 1. [`plan_area`] finds the plans of least total cost under a limit on the mean power of each
//!    slot ([`SharedPower`]).
//! 2. [`apply_wrap_around`] arranges the vehicles within each slot, so that the limit holds at
//!    every instant.
//! 3. [`fill_gaps`] serves remaining shortfalls in the residual capacity and closes short pauses.
//!
//! If a limit binds and vehicles are alike, many plans have the same cost, and each new search
//! could choose other vehicles. Vehicles that are on now therefore get prices with a switching
//! bonus that falls to zero within [`SWITCHING_BONUS_SPAN`]:
//!
//! ```text
//! p'(t) = p(t) - β·(p_max - p_min)·max(0, 1 - (t - t_0)/H)
//! ```
//!
//! | Symbol | Meaning | Code |
//! |---|---|---|
//! | `p`, `t_0` | price curve, start of its first slot | [`favour_running`] |
//! | `β` | 0.01 | [`SWITCHING_BONUS_SHARE`] |
//! | `H` | 1 h | [`SWITCHING_BONUS_SPAN`] |
//!
//! Reported costs are those of `p`.
//!
//! A limit that changes in time cuts the slots of the prices, so that each slot has one limit. A
//! vehicle above the limit of some slots has no price there ([`LimitedRows`]).
use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use crate::area::plan_area::plan_area;
use crate::area::problem::area_problem::{AreaError, AreaProblem, AreaVehicles};
use crate::area::problem::limits::Node;
use crate::area::problem::options::AreaOptions;
use crate::area::report::outcome::AreaPlan;
use crate::area::report::table::AreaNumbers;
use crate::batch::requests::plan_requests;
use crate::columns::fleet::{Curves, Fleet, Needs, TargetLists};
use crate::columns::plan_table::PlanTable;
use crate::plan::charge::request::ChargeProblem;
use crate::plan::interval::Interval;
use crate::plan::record::summary::PlanSummary;
use crate::prices::curve::{PriceCurve, Slot};
use crate::prices::table::PriceTable;
use crate::shared_supply::gaps::fill_gaps;
use crate::shared_supply::incremental::{energy_by, paid};
use crate::shared_supply::limit::SharedLimit;
use crate::shared_supply::wish::{SharedPower, SharedWish};
use crate::shared_supply::wrap_around::{OnOffSchedule, apply_wrap_around};
use crate::time::horizon::Horizon;
use crate::time::instant::{instant_at, micros_of};
use crate::tolerance::NEED_SHARE_MIN;
use crate::units::{Energy, Power};

/// Rows of the area plan that are read at a time.
const RUN: usize = 8_192;

/// Time from now within which running vehicles have a bonus.
const SWITCHING_BONUS_SPAN: TimeDelta = TimeDelta::hours(1);

/// Bonus on the price of the first slot, as a part of the span of prices.
const SWITCHING_BONUS_SHARE: f64 = 0.01;

/// Requests as columns of a fleet, with energies scaled to the power they take.
///
/// A request in hours states 1 kW and its energy in kWh at 1 kW; here it has its true power.
#[derive(Debug, Default)]
struct Rows {
    arrival: Vec<i64>,
    departure: Vec<i64>,
    energy_kwh: Vec<f64>,
    power_kw: Vec<f64>,
    reserve_kwh: Vec<f64>,
    curve: Vec<u32>,
    /// Row `i` has the targets before departure at `offsets[i]..offsets[i + 1]` of `by`, `by_kwh`.
    offsets: Vec<i32>,
    by: Vec<i64>,
    by_kwh: Vec<f64>,
    /// Power taken per power of the request.
    scale: Vec<f64>,
}

impl Rows {
    /// Adds a request. `curve` is its price curve, `end` the end of the prices, which stands for a
    /// missing deadline.
    fn push(&mut self, wish: &SharedWish<'_>, curve: usize, end: i64) {
        let request = wish.problem.request();
        let own = request.power_max.as_kw();
        let scale = if own > 0.0 { wish.power.as_kw() / own } else { 1.0 };
        let kwh = |energy: Energy| energy.as_kwh() * scale;
        let now = micros_of(request.now);
        let until = request.until.map_or(end, micros_of);
        let by = |target: Option<_>| target.map_or(end, micros_of).min(until);
        let (mut reserve, mut departure, mut last) = (kwh(request.reserve), now, 0.0_f64);
        for target in &request.targets {
            if by(target.by) <= now {
                // A target whose deadline has passed is wanted at once.
                reserve = reserve.max(kwh(request.within_limit(target)));
            } else {
                departure = departure.max(by(target.by));
            }
        }
        // The last deadline is the departure; targets before it are listed.
        for target in request.targets.iter().filter(|target| by(target.by) > now) {
            if by(target.by) == departure {
                last = last.max(kwh(request.within_limit(target)));
            } else {
                self.by.push(by(target.by));
                self.by_kwh.push(kwh(request.within_limit(target)));
            }
        }
        // Energy wanted at once may come late, up to the end of the stay.
        let departure = if reserve > 0.0 { departure.max(until) } else { departure };
        self.arrival.push(now);
        self.departure.push(departure);
        self.energy_kwh.push(last.max(reserve));
        self.power_kw.push(wish.power.as_kw());
        self.reserve_kwh.push(reserve);
        self.curve.push(curve as u32);
        self.offsets.push(self.by.len() as i32);
        self.scale.push(scale);
    }

    /// View of the columns as a fleet.
    fn fleet(&self) -> Fleet<'_> {
        let targets =
            TargetLists { offsets: &self.offsets, by: &self.by, energy_kwh: &self.by_kwh };
        Fleet {
            arrival: &self.arrival,
            departure: &self.departure,
            needs: Needs::Energy { energy_kwh: &self.energy_kwh },
            power_max_kw: &self.power_kw,
            reserve_kwh: Some(&self.reserve_kwh),
            targets: Some(targets),
            curve: Some(&self.curve),
        }
    }
}

/// Plans of least total cost that keep `power.limit` together.
///
/// Each request is on or off, at its own power. Those that are on now stay on if that costs nearly
/// the same. If the power does not suffice for all needs, the shortage is shared. The `bound` of
/// each plan is the cost that it would have alone. `None` is a request that an area cannot plan.
///
/// Vehicles that use a part of a slot are arranged one after the other within it; the current slot
/// counts from now on. Energy that is wanted at once or due within a slot is not moved, and may
/// exceed the limit. A vehicle whose power exceeds the limit at times is off at these times; for one
/// that exceeds it at all times the limit holds in the mean of each slot. Headroom is given up if it causes a shortfall. Shortfalls that remain are
/// served in the power that the others leave free.
///
/// # Errors
/// The needs together exceed the energy that an area can represent.
pub fn plan_within_capacity(
    curves: &[PriceCurve],
    wishes: &[SharedWish<'_>],
    power: &SharedPower,
    options: &AreaOptions,
) -> Result<Vec<Option<PlanSummary>>, AreaError> {
    // Cut each curve at `now`: the elapsed part of the current slot is no capacity.
    let ahead = |curve| cut_where_limit_changes(ahead(curve, wishes), &power.limit);
    let curves: Vec<PriceCurve> = curves.iter().map(ahead).collect();
    let favoured = curves.iter().map(favour_running);
    let table =
        PriceTable::from_curves(&curves.iter().cloned().chain(favoured).collect::<Vec<_>>());
    let end = table.horizon().end().map_or(0, micros_of);
    let mut rows = Rows { offsets: vec![0], ..Rows::default() };
    let mut limited = LimitedRows::new(&table, &power.limit);
    for wish in wishes {
        let curve = if wish.is_on { wish.curve + curves.len() } else { wish.curve };
        rows.push(wish, limited.row_for(curve, wish.power), end);
    }
    let table = limited.into_table();
    let alone = each_alone(&curves, wishes);
    // Shortfall that each would have alone, except for energy above its charge limit.
    let missed = alone.iter().zip(wishes).zip(&rows.scale).map(|((plan, wish), scale)| {
        (plan.shortfall - wish.problem.request().above_limit()).as_kwh() * scale
    });
    let (area, plan) = least_short((&rows, &table), power, missed.sum(), options)?;
    let mut summaries = Vec::with_capacity(wishes.len());
    plan.rows(&area, RUN, &mut |made| {
        for row in 0..made.len() {
            let position = summaries.len();
            let wish = &wishes[position];
            let alone = (&alone[position], &curves[wish.curve]);
            let made = summary(&made, row, alone, rows.scale[position]);
            summaries.push(made.map(|made| with_limit(made, wish)));
        }
    })?;
    // Turns within slots come first, since they show where power is left free.
    sequence_within_slots(&mut summaries, wishes, (table.horizon(), &power.limit));
    fill_gaps(&mut summaries, wishes, (&curves, &alone), &power.limit);
    Ok(summaries)
}

/// Plan of each request without the others, planned in groups of one price curve.
fn each_alone(curves: &[PriceCurve], wishes: &[SharedWish<'_>]) -> Vec<PlanSummary> {
    let mut order: Vec<usize> = (0..wishes.len()).collect();
    order.sort_by_key(|&position| wishes[position].curve);
    let mut alone: Vec<(usize, PlanSummary)> = Vec::with_capacity(wishes.len());
    for group in order.chunk_by(|&a, &b| wishes[a].curve == wishes[b].curve) {
        let problems: Vec<&ChargeProblem> =
            group.iter().map(|&position| wishes[position].problem).collect();
        let plans = plan_requests(&curves[wishes[group[0]].curve], &problems);
        alone.extend(group.iter().copied().zip(plans));
    }
    // Back to the order of the requests.
    alone.sort_by_key(|&(position, _)| position);
    alone.into_iter().map(|(_, plan)| plan).collect()
}

/// Plans the area with headroom, or without if that leaves more unmet than `alone_kwh`, the sum of
/// the shortfalls of each request alone.
fn least_short<'a>(
    (rows, table): (&'a Rows, &'a PriceTable),
    power: &SharedPower,
    alone_kwh: f64,
    options: &AreaOptions,
) -> Result<(AreaProblem<'a>, AreaPlan), AreaError> {
    let vehicles = AreaVehicles {
        fleet: rows.fleet(),
        node: None,
        priority: None,
        // The least power is the highest: vehicles are indivisible.
        power_min_kw: Some(&rows.power_kw),
        storage: None,
    };
    let problem = |power: &SharedPower| {
        let node = Node::limited("area", power.profile(&rows.power_kw, table.horizon()));
        AreaProblem::new(vehicles, Curves::PerVehicle(table), vec![node])
    };
    let area = problem(power)?;
    let plan = plan_area(&area, options);
    let wanted_kwh: f64 = rows.energy_kwh.iter().sum();
    if power.headroom <= 0.0 || plan.unmet_kwh <= alone_kwh + NEED_SHARE_MIN * wanted_kwh {
        return Ok((area, plan));
    }
    // Headroom causes a shortfall: plan again without it, from the duals found.
    let area = problem(&SharedPower::whole(power.limit.clone()))?;
    let options = AreaOptions { start: Some(plan.state), ..options.clone() };
    let plan = plan_area(&area, &options);
    Ok((area, plan))
}

/// Prices with the switching bonus `p'` of vehicles that are on now (formula in the module docs).
fn favour_running(curve: &PriceCurve) -> PriceCurve {
    let prices = curve.prices().iter().copied();
    let span =
        prices.clone().fold(f64::NEG_INFINITY, f64::max) - prices.fold(f64::INFINITY, f64::min);
    let start = curve.slots().next().map(|slot| slot.start);
    let cheaper = curve.slots().map(|slot| {
        let ahead = start.map_or(TimeDelta::zero(), |start| slot.start - start);
        let rest: f64 = 1.0 - ahead.as_seconds_f64() / SWITCHING_BONUS_SPAN.as_seconds_f64();
        slot.price.as_per_kwh() - SWITCHING_BONUS_SHARE * span * rest.max(0.0)
    });
    let cheaper = PriceCurve::from_parts(curve.horizon().clone(), cheaper.collect());
    cheaper.unwrap_or_else(|_| curve.clone())
}

/// Price curve cut at the earliest `now` of the requests.
fn ahead(curve: &PriceCurve, wishes: &[SharedWish<'_>]) -> PriceCurve {
    let now = wishes.iter().map(|wish| wish.problem.request().now).min();
    match (now, curve.horizon().end()) {
        (Some(now), Some(end)) if now < end => curve.between(now, end),
        _ => curve.clone(),
    }
}

/// Price curve with its slots cut at the instants at which the limit changes.
fn cut_where_limit_changes(curve: PriceCurve, limit: &SharedLimit) -> PriceCurve {
    if limit.periods().is_empty() {
        return curve;
    }
    let pieces = |slot: Slot| {
        let steps = limit.steps(slot.start, slot.end).into_iter();
        steps.map(move |step| Slot { start: step.start, end: step.end, ..slot })
    };
    let slots: Vec<Slot> = curve.slots().flat_map(pieces).collect();
    PriceCurve::new(&slots).unwrap_or(curve)
}

/// Rows of a price table, and copies of them with gaps where a vehicle exceeds the limit.
struct LimitedRows<'a> {
    table: &'a PriceTable,
    limit: &'a SharedLimit,
    prices: Vec<f64>,
    /// Copies by the row and the power, in bits, that they were made for.
    copies: BTreeMap<(usize, u64), usize>,
}

impl<'a> LimitedRows<'a> {
    fn new(table: &'a PriceTable, limit: &'a SharedLimit) -> Self {
        Self { table, limit, prices: table.prices().to_vec(), copies: BTreeMap::new() }
    }

    /// Row of the prices of a vehicle: `row`, or its copy if `power` exceeds the limit of a slot.
    /// One that fits at no time keeps its row.
    fn row_for(&mut self, row: usize, power: Power) -> usize {
        let Self { table, limit, prices, copies } = self;
        let is_above = |start| limit.at(start).is_some_and(|most| most < power);
        let mut starts = table.horizon().periods().map(|(start, _)| start);
        if limit.periods().is_empty() || limit.excludes(power) || !starts.any(is_above) {
            return row;
        }
        let next = table.len() + copies.len();
        *copies.entry((row, power.as_kw().to_bits())).or_insert_with(|| {
            let starts = table.horizon().periods().map(|(start, _)| start);
            let own = starts.zip(table.row(row));
            prices.extend(own.map(|(at, price)| if is_above(at) { f64::NAN } else { *price }));
            next
        })
    }

    fn into_table(self) -> PriceTable {
        PriceTable::new(self.table.horizon().clone(), self.prices)
    }
}

/// Applies the wrap-around rule ([`apply_wrap_around`]) to the plans, slot by slot.
fn sequence_within_slots(
    summaries: &mut [Option<PlanSummary>],
    wishes: &[SharedWish<'_>],
    (horizon, limit): (&Horizon, &SharedLimit),
) {
    let planned = summaries.iter().zip(wishes);
    let mut vehicles: Vec<OnOffSchedule> =
        planned.map(|(b, wish)| switched(b.as_ref(), wish)).collect();
    let slots = horizon.periods().map(|(start, end)| {
        let power_max_kw = limit.at(start).map_or(f64::INFINITY, Power::as_kw);
        (micros_of(start)..micros_of(end), power_max_kw)
    });
    apply_wrap_around(&mut vehicles, slots);
    for (summary, vehicle) in summaries.iter_mut().zip(vehicles) {
        let Some(summary) = summary else { continue };
        let Some(&Interval { power, .. }) = summary.intervals.first() else { continue };
        let interval =
            |&(start, end)| Interval { start: instant_at(start), end: instant_at(end), power };
        summary.intervals = vehicle.on.iter().map(interval).collect();
    }
}

/// On-off schedule of a plan. `from` excludes energy that is wanted at once.
fn switched(summary: Option<&PlanSummary>, wish: &SharedWish<'_>) -> OnOffSchedule {
    let request = wish.problem.request();
    let intervals = summary.map_or(&[][..], |summary| &summary.intervals);
    let on = intervals.iter().map(|i| (micros_of(i.start), micros_of(i.end))).collect();
    let is_late = |at: Option<DateTime<Utc>>| at.is_some_and(|at| at <= request.now);
    let is_at_once =
        request.reserve > Energy::ZERO || request.targets.iter().any(|target| is_late(target.by));
    let first = intervals.first().filter(|_| is_at_once);
    let due = request.targets.iter().map(|target| target.by).chain([request.until]);
    OnOffSchedule {
        on,
        power_kw: wish.power.as_kw(),
        from: micros_of(first.map_or(request.now, |interval| interval.end)),
        due: due.flatten().map(micros_of).collect(),
        is_on: wish.is_on,
    }
}

/// Adds the energy that targets want above the charge limit to the shortfall of a plan.
fn with_limit(summary: PlanSummary, wish: &SharedWish<'_>) -> PlanSummary {
    let request = wish.problem.request();
    let above = request.targets.iter().filter(|t| t.energy > request.within_limit(t));
    let missing = above.map(|target| {
        let had = energy_by(&summary.intervals, target.by).min(request.within_limit(target));
        target.energy - had
    });
    let shortfall = missing.fold(summary.shortfall, Energy::max);
    PlanSummary { shortfall, ..summary }
}

/// Plan of a row in the units of its request, divided by `scale`, at the cost of its price curve.
/// `alone` is the plan without the others, and gives bound and baseline.
fn summary(
    made: &PlanTable<AreaNumbers>,
    row: usize,
    (alone, curve): (&PlanSummary, &PriceCurve),
    scale: f64,
) -> Option<PlanSummary> {
    let energy = |kwh: f64| Energy::from_kwh(kwh / scale).ok();
    let power = |power: Power| Power::from_kw(power.as_kw() / scale).unwrap_or(Power::ZERO);
    let own = |interval: Interval| Interval { power: power(interval.power), ..interval };
    let intervals: Vec<Interval> = made.intervals.of_row(row).into_iter().map(own).collect();
    let (cost, _) = paid(curve, &intervals);
    Some(PlanSummary {
        energy: energy(made.numbers.energy_kwh[row])?,
        cost,
        bound: if alone.cost < cost { alone.cost } else { cost },
        baseline_cost: alone.baseline_cost,
        shortfall: energy(made.numbers.unmet_kwh[row])?,
        marginal_price: None,
        unpriced_hours: alone.unpriced_hours,
        intervals,
    })
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};
    use proptest::prelude::*;

    use super::*;
    use crate::area::problem::options::AreaOptions;
    use crate::plan::charge::request::{ChargeProblem, ChargeRequest, PowerLimit, Target};
    use crate::plan::interval::Interval;
    use crate::plan::record::summary::PlanSummary;
    use crate::prices::curve::tests::curve_of;
    use crate::shared_supply::wish::{SharedPower, SharedWish};
    use crate::units::{kw, kwh};

    fn at(hour: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::hours(hour)
    }

    /// Requests of 10 kW for 10 kWh each within four hours.
    fn cars(count: usize) -> Vec<ChargeProblem> {
        let wish =
            ChargeRequest::new(at(0), kw(10.0), Target { by: Some(at(4)), energy: kwh(10.0) });
        vec![ChargeProblem::new(wish).unwrap(); count]
    }

    /// Wishes at 10 kW that are off now.
    fn wishes(problems: &[ChargeProblem]) -> Vec<SharedWish<'_>> {
        let wish = |problem| SharedWish { problem, curve: 0, power: kw(10.0), is_on: false };
        problems.iter().map(wish).collect()
    }

    #[test]
    fn a_shared_limit_moves_those_that_do_not_fit() {
        let curves = [curve_of(60, &[40, 10, 30, 20])];
        let cars = cars(4);
        let wishes = wishes(&cars);
        let options = AreaOptions::default();
        let plan = plan_within_capacity(&curves, &wishes, &SharedPower::whole(kw(20.0)), &options)
            .unwrap();
        let mut starts: Vec<i64> =
            plan.iter().flatten().map(|b| (b.intervals[0].start - at(0)).num_hours()).collect();
        starts.sort_unstable();
        assert_eq!(starts, [1, 1, 3, 3]);
        let cost: f64 = plan.iter().flatten().map(|summary| summary.cost.as_amount()).sum();
        assert!((cost - 6.0).abs() < 1e-6, "{cost}");
        assert!(plan.iter().flatten().all(|summary| summary.bound <= summary.cost));
    }

    #[test]
    fn hours_count_with_the_power_that_they_take() {
        // One hour each, in kWh at 1 kW, of chargers that take 10 kW.
        let curves = [curve_of(60, &[40, 10, 30, 20])];
        let wish = ChargeRequest::new(at(0), kw(1.0), Target { by: Some(at(4)), energy: kwh(1.0) });
        let chargers = vec![ChargeProblem::new(wish).unwrap(); 2];
        let wishes = wishes(&chargers);
        let options = AreaOptions::default();
        let plan = plan_within_capacity(&curves, &wishes, &SharedPower::whole(kw(10.0)), &options)
            .unwrap();
        let mut hours: Vec<_> = plan
            .iter()
            .flatten()
            .map(|b| ((b.intervals[0].start - at(0)).num_hours(), b.energy))
            .collect();
        hours.sort_by_key(|(hour, _)| *hour);
        assert_eq!(hours.iter().map(|(hour, _)| *hour).collect::<Vec<_>>(), [1, 3]);
        assert!(hours.iter().all(|(_, energy)| (*energy - kwh(1.0)).as_kwh().abs() < 1e-9));
    }

    #[test]
    fn the_limit_holds_at_any_time() {
        // Forty minutes each, requested in the middle of the only cheap hour.
        let curves = [curve_of(60, &[10, 20])];
        let now = at(0) + TimeDelta::minutes(30);
        let need = Target { by: Some(at(2)), energy: kwh(20.0 / 3.0) };
        let cars = vec![ChargeProblem::new(ChargeRequest::new(now, kw(10.0), need)).unwrap(); 4];
        let wishes = wishes(&cars);
        let options = AreaOptions::default();
        let plan = plan_within_capacity(&curves, &wishes, &SharedPower::whole(kw(25.0)), &options)
            .unwrap();
        let summaries: Vec<&PlanSummary> = plan.iter().flatten().collect();
        assert!(summaries.iter().all(|summary| summary.shortfall.as_kwh() < 1e-6));
        for minute in 0..120 {
            let at = at(0) + TimeDelta::minutes(minute);
            let is_on = |i: &&Interval| i.start <= at && at < i.end;
            let on = summaries.iter().flat_map(|summary| &summary.intervals).filter(is_on).count();
            assert!(on <= 2, "{on} are on in minute {minute}");
        }
    }

    #[test]
    fn something_is_kept_back_for_later_unless_somebody_needs_it() {
        let curves = [curve_of(60, &[40, 10, 30, 20])];
        let options = AreaOptions::default();
        let power = SharedPower::with_headroom(kw(120.0));
        // It needs an hour and has half an hour, so it has a shortfall in any plan.
        let need = Target { by: Some(at(0) + TimeDelta::minutes(30)), energy: kwh(10.0) };
        let hopeless = ChargeProblem::new(ChargeRequest::new(at(0), kw(10.0), need)).unwrap();
        let minutes_of_the_cheapest = |count: usize| {
            let cars = [cars(count), vec![hopeless.clone()]].concat();
            let wishes = wishes(&cars);
            let plan = plan_within_capacity(&curves, &wishes, &power, &options).unwrap();
            let short: f64 = plan.iter().flatten().map(|summary| summary.shortfall.as_kwh()).sum();
            assert!((short - 5.0).abs() < 1e-6, "{short}");
            let intervals = plan.iter().flatten().flat_map(|summary| &summary.intervals);
            let within = intervals.map(|i| (i.end.min(at(2)) - i.start.max(at(1))).num_minutes());
            within.filter(|minutes| *minutes > 0).sum::<i64>()
        };
        assert_eq!(minutes_of_the_cheapest(24), 11 * 60);
        assert_eq!(minutes_of_the_cheapest(47), 12 * 60);
    }

    #[test]
    fn who_is_on_goes_on_where_it_costs_the_same() {
        let curves = [curve_of(60, &[10, 10, 30, 30])];
        let cars = cars(3);
        for on in 0..3 {
            let mut wishes = wishes(&cars);
            wishes[on].is_on = true;
            let power = SharedPower::whole(kw(10.0));
            let options = AreaOptions::default();
            let plan = plan_within_capacity(&curves, &wishes, &power, &options).unwrap();
            let summary = plan[on].as_ref().unwrap();
            assert_eq!((summary.intervals[0].start, summary.intervals.len()), (at(0), 1));
            // The cost is that of the prices without the bonus.
            assert!((summary.cost.as_amount() - 1.0).abs() < 1e-9);
            let all: f64 = plan.iter().flatten().map(|summary| summary.cost.as_amount()).sum();
            assert!((all - 5.0).abs() < 1e-6, "{all}");
        }
        // A larger price difference outweighs the bonus.
        let curves = [curve_of(60, &[20, 10, 30, 10])];
        let mut wishes = wishes(&cars[..1]);
        wishes[0].is_on = true;
        let power = SharedPower::whole(kw(10.0));
        let options = AreaOptions::default();
        let plan = plan_within_capacity(&curves, &wishes, &power, &options).unwrap();
        assert_eq!(plan[0].as_ref().unwrap().intervals[0].start, at(1));
    }

    #[test]
    fn what_is_late_is_wanted_at_once() {
        let curves = [curve_of(60, &[40, 10, 30, 20])];
        let late =
            ChargeRequest::new(at(0), kw(10.0), Target { by: Some(at(-1)), energy: kwh(10.0) });
        let late = ChargeProblem::new(late).unwrap();
        let late = [late];
        let wishes = wishes(&late);
        let options = AreaOptions::default();
        let plan = plan_within_capacity(&curves, &wishes, &SharedPower::whole(kw(20.0)), &options)
            .unwrap();
        let summary = plan[0].as_ref().unwrap();
        assert_eq!(summary.intervals[0].start, at(0));
        assert!((summary.energy - kwh(10.0)).as_kwh().abs() < 1e-9);
    }

    /// Four cars of an hour each; from the second hour on one fits, in the fourth none.
    #[test]
    fn a_limit_that_changes_is_kept_in_each_hour() {
        let curves = [curve_of(60, &[40, 30, 20, 10])];
        let cars = cars(4);
        let wishes = wishes(&cars);
        let period =
            |from, to, power| PowerLimit { start: at(from), end: at(to), power_max: kw(power) };
        let periods = vec![period(1, 3, 14.0), period(3, 4, 0.0)];
        let limit = SharedLimit::new(Some(kw(20.0)), periods).unwrap();
        let hours = |limit: &SharedLimit| {
            let power = SharedPower::whole(limit.clone());
            let options = AreaOptions::default();
            let plan = plan_within_capacity(&curves, &wishes, &power, &options).unwrap();
            let mut starts: Vec<i64> =
                plan.iter().flatten().map(|b| (b.intervals[0].start - at(0)).num_hours()).collect();
            starts.sort_unstable();
            starts
        };
        assert_eq!(hours(&limit), [0, 0, 1, 2]);
        assert_eq!(hours(&limit.cleared(at(3), at(4))), [1, 2, 3, 3]);
        // Nothing is limited outside of the periods.
        let only = SharedLimit::new(None, limit.periods()[1..].to_vec()).unwrap();
        assert_eq!(hours(&only), [2; 4]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]
        /// Whatever the limit is, it holds at every minute, also where it changes within an hour of
        /// prices, and for vehicles that fit at some times only.
        #[test]
        fn a_limit_holds_at_every_minute(
            cents in prop::collection::vec(-5..60_i32, 4),
            needs in prop::collection::vec((0..3_usize, 1.0..30.0_f64, any::<bool>()), 1..9),
            lengths in prop::collection::vec((0i64..60, 1i64..90, 0u32..40), 0..4),
            usual in prop::option::of(12u32..60),
        ) {
            let curves = [curve_of(60, &cents)];
            let powers = [3.7, 7.4, 11.0];
            let by = Some(at(4));
            let problems: Vec<ChargeProblem> = needs
                .iter()
                .map(|&(power, energy, _)| {
                    let need = Target { by, energy: kwh(energy) };
                    ChargeProblem::new(ChargeRequest::new(at(0), kw(powers[power]), need)).unwrap()
                })
                .collect();
            let wish = |(problem, need): (_, &(usize, f64, bool))| {
                SharedWish { problem, curve: 0, power: kw(powers[need.0]), is_on: need.2 }
            };
            let wishes: Vec<SharedWish<'_>> = problems.iter().zip(&needs).map(wish).collect();
            let mut reached = at(0);
            let periods = lengths.into_iter().map(|(pause, length, power)| {
                let start = reached + TimeDelta::minutes(pause);
                reached = start + TimeDelta::minutes(length);
                PowerLimit { start, end: reached, power_max: kw(power.into()) }
            });
            let periods = periods.collect();
            let limit = SharedLimit::new(usual.map(|power| kw(power.into())), periods).unwrap();
            let power = SharedPower::with_headroom(limit.clone());
            let plan = plan_within_capacity(&curves, &wishes, &power, &AreaOptions::default());
            let plan: Vec<PlanSummary> = plan.unwrap().into_iter().map(Option::unwrap).collect();
            for second in (30..4 * 3600).step_by(60) {
                let at = at(0) + TimeDelta::seconds(second);
                let is_on = |summary: &PlanSummary| {
                    summary.intervals.iter().any(|i| i.start <= at && at < i.end)
                };
                let on = plan.iter().zip(&wishes).filter(|(summary, _)| is_on(summary));
                let load_kw: f64 = on.map(|(_, wish)| wish.power.as_kw()).sum();
                let most = limit.at(at);
                prop_assert!(
                    most.is_none_or(|most| load_kw <= most.as_kw() + 1e-6),
                    "{load_kw} kW at {at}, the limit is {most:?}"
                );
            }
        }
    }
}

//! Planner of a site: from a [`SiteProblem`] to a [`SitePlan`].
//!
//! The model is solved without late goals first, if each device alone could meet its targets. If a
//! target is missed all the same, the model with late goals is solved (`plan_within`). The values
//! of the columns become energies by device (`collect_accounts`). Costs, breaches and outcomes are
//! added up from these, without the solver (`assemble_plan`).
use chrono::{DateTime, Utc};

use crate::lp::Limits;
use crate::plan::interval::Interval;
use crate::plan::search_status::SearchStatus;
use crate::plan::site::accounting::{Account, Books, energy, money, name_of, power};
use crate::plan::site::baseline;
use crate::plan::site::binding_limits::find_binding_limits;
use crate::plan::site::certificate::{
    Duals, SiteCertificate, SiteEvidence, bound_by_duals, weak_bound,
};
use crate::plan::site::course::Course;
use crate::plan::site::device::{Device, ShiftableLoad};
use crate::plan::site::goal::Goal;
use crate::plan::site::lexicographic::{before_money, value_of};
use crate::plan::site::model::{Miss, MissKind, SiteModel};
use crate::plan::site::plan::{Cause, DevicePlan, LimitOutcome, SitePlan, SiteSlot, WishOutcome};
use crate::plan::site::power_wanted::report_power_wishes;
use crate::plan::site::price_slots::SiteSlots;
use crate::plan::site::problem::SiteProblem;
use crate::plan::site::request::SiteRequest;
use crate::plan::site::solve::{self, SiteSolution};
use crate::plan::site::stay_near::stay_near;
use crate::plan::site::storage::Storage;
use crate::time::instant::{instant_at, micros_of};
use crate::tolerance::{SITE_MIN_KWH, SOLVER_ROUNDING, allowed};
use crate::units::{Energy, Money, Percent, Power, Price};

/// Plans all devices behind one meter: for the least shortfall, then for the least cost, then for
/// the preferences.
///
/// Limits hold for the mean power of each slot. A hard limit that fixed loads exceed is exceeded by
/// as little as possible, and listed in `breaches`. A target that cannot be met is met as far as
/// possible, by priority and then the earlier deadline first; the plan holds the shortfall and its
/// causes. Comfort bands of heat units come after deadlines and before money: of the plans with the
/// least shortfall those with the least degree-hours outside the bands are taken. No storage charges and discharges in one slot, and the meter does not import and export
/// in one slot. Time without a price is not used.
///
/// With [`SiteRequest::previous`] the plan is not the cheapest but the one that is nearest to the
/// plan before, of those with no more shortfall and with a cost within the budget of the least one.
/// Its shadow prices are those of the cheapest plan.
///
/// # Example
///
/// Two vans on one connection of 11 kW, two hours at 0.10 and 0.30 per kWh. Each van wants 10 kWh.
/// The cheap hour holds 11 kWh for 1.10, and the other 9 kWh cost 2.70, together 3.80. One more kWh
/// of the limit in the cheap hour would save 0.20:
///
/// ```
/// use slackwater_engine::plan::charge::Target;
/// use slackwater_engine::plan::site::{Device, Vehicle};
/// use slackwater_engine::plan::site::plan_site;
/// use slackwater_engine::plan::site::{Limit, SiteProblem, SiteRequest};
/// use slackwater_engine::plan::site::Series;
/// use slackwater_engine::prices::curve::PriceCurve;
/// use slackwater_engine::time::horizon::Horizon;
/// use slackwater_engine::units::{kw, kwh};
/// # let six = "2026-01-05T18:00:00Z".parse().unwrap();
/// # let hour = chrono::TimeDelta::hours(1);
/// let prices = PriceCurve::from_parts(Horizon::steps(six, hour, 2).unwrap(), vec![0.1, 0.3]);
/// let mut request = SiteRequest::new(prices.unwrap(), six);
/// for name in ["van 1", "van 2"] {
///     let mut van = Vehicle::new(name, kw(11.0));
///     van.targets.push(Target { by: None, energy: kwh(10.0) });
///     request.devices.push(Device::Vehicle(van));
/// }
/// request.import_limit = Some(Limit { power: Series::Constant(kw(11.0)), breach_price: None });
/// let plan = plan_site(&SiteProblem::new(request)?);
/// assert!((plan.cost.as_amount() - 3.8).abs() < 1e-9);
/// assert!((plan.limits[0].shadow_price[0].as_per_kwh() - 0.2).abs() < 1e-9);
/// assert!(plan.certificate.is_proved());
/// # Ok::<(), slackwater_engine::plan::site::SiteError>(())
/// ```
#[must_use]
pub fn plan_site(problem: &SiteProblem) -> SitePlan {
    let effort = &problem.request().effort;
    let (nodes, seconds) = (effort.nodes_max, effort.seconds_max);
    plan_within(problem, &Limits { nodes, seconds, ..Limits::default() })
}

/// Plans a site within `limits` on the nodes, iterations and seconds of each search.
pub(crate) fn plan_within(problem: &SiteProblem, limits: &Limits) -> SitePlan {
    let request = problem.request();
    // Without late goals, which is enough if no target is missed.
    let model = SiteModel::new(request, false);
    if (model.is_final || is_reachable(&model))
        && let Some(answer) = solve::solve(request, &model, limits)
        && (model.is_final || is_all_met(&model, &answer))
    {
        return finish_plan(request, &model, answer, limits);
    }
    // With late goals: energy that misses a deadline is wanted by departure.
    let model = SiteModel::new(request, true);
    let answer = solve::solve(request, &model, limits);
    let answer = answer.unwrap_or_else(|| solve::unsolved(&model, SearchStatus::SolverFailed));
    finish_plan(request, &model, answer, limits)
}

/// Plan of a solution, or the one nearest to the plan before at a cost within the budget.
fn finish_plan(
    request: &SiteRequest,
    model: &SiteModel,
    cheapest: SiteSolution,
    limits: &Limits,
) -> SitePlan {
    let Some(previous) = &request.previous else { return assemble_plan(request, model, &cheapest) };
    let near = stay_near(request, model, previous, &cheapest, limits);
    // The cost is proved whatever ended the search for the least distance, but a limit on seconds
    // makes the plan depend on the machine.
    let by_clock = near.status == SearchStatus::TimeReached;
    let status = if by_clock { cheapest.status.max(near.status) } else { cheapest.status };
    let answer = SiteSolution { values: near.values, status, ..cheapest };
    SitePlan { stability: Some(near.stability), ..assemble_plan(request, model, &answer) }
}

/// True if each storage alone could meet its goals.
fn is_reachable(model: &SiteModel) -> bool {
    let mut goals = model.storages.iter().flatten().flat_map(|storage| &storage.goals);
    goals.all(|goal| goal.wanted - goal.reachable <= SITE_MIN_KWH)
}

/// True if no target is missed, to [`SITE_MIN_KWH`] kWh.
fn is_all_met(model: &SiteModel, answer: &SiteSolution) -> bool {
    let is_met = |miss: &Miss| {
        miss.kind == MissKind::Power || answer.values[miss.column] * miss.energy <= SITE_MIN_KWH
    };
    model.misses.iter().all(is_met)
}

/// Makes the plan of a solution.
fn assemble_plan(request: &SiteRequest, model: &SiteModel, answer: &SiteSolution) -> SitePlan {
    let accounts = collect_accounts(request, model, &answer.values);
    let books = Books::new(request, model, &accounts);
    let devices: Vec<DevicePlan> = (0..request.devices.len())
        .map(|device| report_device(request, model, &accounts, &books, device))
        .collect();
    let cost = books.costs.total();
    let stored_value = money(books.stored_value);
    // The programme values stored energy, so the cost that it bounds does as well.
    let (certificate, status) = certify(request, model, answer, cost - stored_value);
    let grid = &model.grid;
    let slot = |slot: usize| SiteSlot {
        start: instant_at(grid.starts[slot]),
        end: instant_at(grid.ends[slot]),
        import_price: Price::from_per_kwh(grid.import[slot]).unwrap_or_default(),
        export_price: Price::from_per_kwh(grid.export[slot]).unwrap_or_default(),
        carbon_kg_per_kwh: grid.carbon[slot],
        import: energy(books.import[slot]),
        export: energy(books.export[slot]),
    };
    SitePlan {
        slots: (0..grid.len()).map(slot).collect(),
        shortfall: devices.iter().fold(Energy::ZERO, |sum, device| sum + device.shortfall),
        devices,
        limits: report_limits(request, model, &books, &answer.duals),
        certificate,
        breaches: books.breaches,
        costs: books.costs,
        cost,
        stored_value,
        peak: books.peak.map(power),
        export_peak: books.export_peak.map(power),
        carbon_kg: books.carbon_kg,
        baseline: baseline::without_plan(request, model),
        status,
        is_reproducible: status != SearchStatus::TimeReached,
        unpriced_hours: grid.unpriced_hours(),
        stability: None,
    }
}

/// Tolerance of a certificate as a part of the sum of all payments.
const MONEY_PART: f64 = 1e-7;

/// Tolerance of a certificate in kWh at the highest price: a milliwatt-hour.
const ENERGY_KWH: f64 = 1e-6;

/// Tolerance of a certificate, in units of the programme, from the sum of all payments.
pub(crate) fn tolerance_of(model: &SiteModel, values: &[f64]) -> f64 {
    let passes = model.program.columns.iter().zip(values);
    let turnover: f64 = passes.map(|(c, value)| (c.cost * (value - c.lower)).abs()).sum();
    MONEY_PART * turnover + ENERGY_KWH
}

/// Certificate of `cost`, and the final status of the plan. A bound above the cost is wrong, and is
/// replaced by a bound without duals. A plan with an open gap is not `Optimal`.
fn certify(
    request: &SiteRequest,
    model: &SiteModel,
    answer: &SiteSolution,
    cost: Money,
) -> (SiteCertificate, SearchStatus) {
    let in_money = |bound: f64| money(bound * model.unit + model.constant);
    let before = before_money(model);
    let most: Vec<f64> = before.iter().map(|o| value_of(o, &answer.values)).collect();
    let by = |duals: &Duals| in_money(bound_by_duals(&model.program, &before, &most, duals));
    let tolerance = money(tolerance_of(model, &answer.values) * model.unit);
    let mut proof = answer.proof.clone();
    let mut by_duals = by(&proof);
    let searched = in_money(answer.bound.max(weak_bound(&model.program, &[])));
    let mut certificate = SiteCertificate {
        cost,
        // The two agree without binaries; the larger one proves more.
        bound: if by_duals > searched + tolerance { by_duals } else { searched },
        allowance: request.allowance(),
        tolerance,
        evidence: SiteEvidence::default(),
    };
    let mut status = answer.status;
    if certificate.is_contradicted() {
        status = status.max(SearchStatus::BoundAboveCost);
    }
    if matches!(status, SearchStatus::SolverFailed | SearchStatus::BoundAboveCost) {
        proof = Duals::default();
        by_duals = by(&proof);
        certificate.bound = by_duals.min(cost);
    }
    if status == SearchStatus::Optimal && !certificate.is_proved() {
        status = SearchStatus::SolverFailed;
    }
    proof.rows.resize(model.program.rows.len(), 0.0);
    proof.objectives.resize(before.len(), 0.0);
    certificate.evidence = SiteEvidence {
        bound_by_duals: by_duals,
        searched: Some(certificate.bound).filter(|bound| *bound > by_duals + tolerance),
        goes_on: model.goes_on,
        duals: proof.rows,
        objective_prices: proof.objectives,
    };
    (certificate, status)
}

/// Energies of each device by slot. Values of columns are clamped to their bounds, and take the
/// bound if they differ from it by at most 1e-9 (relative, above 1), the solver's tolerance.
fn collect_accounts(request: &SiteRequest, model: &SiteModel, values: &[f64]) -> Vec<Account> {
    let slots = model.grid.len();
    let clean = |column: usize| {
        let bounds = &model.program.columns[column];
        let value = values[column].clamp(bounds.lower, bounds.upper);
        let near = |bound: f64| (value - bound).abs() <= allowed(SOLVER_ROUNDING, bound);
        if near(bounds.lower) {
            bounds.lower
        } else if near(bounds.upper) {
            bounds.upper
        } else {
            value
        }
    };
    // Fixed energies first: a negative one is fed.
    let account = |device: usize| {
        let mut account = Account { drawn: vec![0.0; slots], fed: vec![0.0; slots] };
        for (slot, &kwh) in model.fixed[device].iter().enumerate() {
            account.drawn[slot] += kwh.max(0.0);
            account.fed[slot] += (-kwh).max(0.0);
        }
        account
    };
    let mut accounts: Vec<Account> = (0..request.devices.len()).map(account).collect();
    for (slot, flows) in model.flows.iter().enumerate() {
        for flow in flows {
            // Flows with a negative weight feed.
            let kwh = clean(flow.column) * flow.weight;
            let account = &mut accounts[flow.device];
            if kwh > 0.0 { account.drawn[slot] += kwh } else { account.fed[slot] -= kwh }
        }
    }
    accounts
}

/// Outcome of each limit: its power and its shadow price by slot.
fn report_limits(
    request: &SiteRequest,
    model: &SiteModel,
    books: &Books,
    duals: &[f64],
) -> Vec<LimitOutcome> {
    let both = model.limits.iter().zip(&books.loads);
    both.map(|(limit, load)| {
        let (name, phase) = name_of(request, limit.kind);
        // A higher limit costs less, so its dual is negative. Less than 1e-9 is rounding.
        let shadow = |rows: &[Option<usize>; 2]| {
            let saved: f64 = rows.iter().flatten().map(|&row| (-duals[row]).max(0.0)).sum();
            let saved = saved * model.unit;
            Price::from_per_kwh(if saved > SOLVER_ROUNDING * model.unit { saved } else { 0.0 })
                .unwrap_or_default()
        };
        LimitOutcome {
            name,
            phase,
            limit: limit.limit_kw.iter().map(|kw| kw.map(power)).collect(),
            power: load.iter().map(|&kw| power(kw)).collect(),
            shadow_price: limit.rows.iter().map(shadow).collect(),
        }
    })
    .collect()
}

/// Plan of the device at position `index`.
pub(crate) fn report_device(
    request: &SiteRequest,
    model: &SiteModel,
    accounts: &[Account],
    books: &Books,
    index: usize,
) -> DevicePlan {
    let (device, account) = (&request.devices[index], &accounts[index]);
    let hours = &model.grid.hours;
    let powers: Vec<Power> =
        (0..hours.len()).map(|slot| power(account.net(slot) / hours[slot])).collect();
    let course = model.storages[index]
        .as_ref()
        .map(|storage| Course::new(storage, &account.drawn, &account.fed));
    // Solar power and inflexible loads have no wishes: their list is empty.
    let wishes = match (&model.storages[index], &course) {
        (Some(storage), Some(course)) => {
            report_storage_wishes(request, model, accounts, books, index, storage, course)
        }
        _ => report_shiftable_wishes(request, model, account, books, index),
    };
    let capacity = model.storages[index].as_ref().and_then(|storage| storage.capacity);
    let soc = |level: f64| Percent::filled(energy(level), energy(capacity.unwrap_or(0.0)));
    DevicePlan {
        name: device.name().to_owned(),
        kind: device.kind().to_owned(),
        power_max: power_max(model, index),
        soc: match (&course, capacity) {
            (Some(course), Some(_)) => course.levels.iter().map(|&level| soc(level)).collect(),
            _ => Vec::new(),
        },
        intervals: join_intervals(model, &powers),
        power: powers,
        energy: energy(account.drawn.iter().sum()),
        fed: energy(account.fed.iter().sum()),
        shortfall: wishes.iter().fold(Energy::ZERO, |sum, wish| sum + wish.shortfall),
        wishes,
        heat: match (device, &model.rooms[index]) {
            (Device::Heat(unit), Some(room)) => Some(room.report(unit, &account.drawn)),
            _ => None,
        },
    }
}

/// Highest power by slot that a device could draw; of solar power, that it could feed.
fn power_max(model: &SiteModel, device: usize) -> Vec<Power> {
    let most = |column: usize| model.program.columns[column].upper;
    let mut kwh: Vec<f64> = model.fixed[device].iter().map(|kwh| kwh.abs()).collect();
    if let Some(storage) = &model.storages[device] {
        for (&charge, slot) in model.columns[device].charge.iter().zip(storage.stay.clone()) {
            kwh[slot] = kwh[slot].max(most(charge));
        }
    } else {
        for (kwh, flows) in kwh.iter_mut().zip(&model.flows) {
            let own = flows.iter().filter(|flow| flow.device == device);
            *kwh = own.map(|flow| (most(flow.column) * flow.weight).abs()).fold(*kwh, f64::max);
        }
    }
    kwh.iter().zip(&model.grid.hours).map(|(kwh, hours)| power(kwh / hours)).collect()
}

/// Periods of one power other than zero: adjacent slots of equal power are joined.
fn join_intervals(model: &SiteModel, powers: &[Power]) -> Vec<Interval> {
    let mut intervals: Vec<Interval> = Vec::new();
    for (slot, &power) in powers.iter().enumerate().filter(|(_, p)| **p != Power::ZERO) {
        let (start, end) = (instant_at(model.grid.starts[slot]), instant_at(model.grid.ends[slot]));
        Interval { start, end, power }.join(&mut intervals, is_same);
    }
    intervals
}

/// True if two powers are equal up to rounding: 1e-9 of the first, at least 1e-9 kW.
fn is_same(one: Power, other: Power) -> bool {
    (one.as_kw() - other.as_kw()).abs() <= allowed(SOLVER_ROUNDING, one.as_kw())
}

/// Outcomes of the targets of a storage, in the order of the request: energy targets, then states
/// of charge, then drives, then periods of wanted power.
fn report_storage_wishes(
    request: &SiteRequest,
    model: &SiteModel,
    accounts: &[Account],
    books: &Books,
    device: usize,
    storage: &Storage,
    course: &Course,
) -> Vec<WishOutcome> {
    let at_plug = |level: f64| (level - storage.start) / storage.efficiency_in;
    let outcome = |goal: &Goal, wanted: f64| {
        let above_limit = goal.above_limit / storage.efficiency_in;
        // Shortfall below the charge limit; the part above the limit is added at the end.
        let missing = at_plug(goal.wanted) - at_plug(course.level_at(storage, goal));
        let missing = if missing > SITE_MIN_KWH { missing } else { 0.0 };
        let mut causes =
            find_causes(request, model, accounts, books, (device, storage), (goal, missing));
        let missing = missing + if above_limit > SITE_MIN_KWH { above_limit } else { 0.0 };
        if above_limit > SITE_MIN_KWH {
            causes.push(Cause::ChargeLimit);
        }
        let level = goal.wanted + goal.above_limit;
        let outcome = WishOutcome {
            by: goal.by,
            wanted: energy(wanted),
            delivered: energy((wanted - missing).max(0.0)),
            shortfall: energy(missing),
            reached_at: find_reached_at(
                model,
                &course.levels,
                level,
                course.begins_at(storage, goal, level - SITE_MIN_KWH),
                request.now,
            ),
            causes,
        };
        (goal.target, outcome)
    };
    let targets = storage.goals.iter().filter(|goal| goal.target.is_some()).map(|goal| {
        // What the drives before it took is wanted as well.
        let driven = course.driven(goal.drives) / storage.efficiency_in;
        outcome(goal, (at_plug(goal.wanted + goal.above_limit) + driven).max(0.0))
    });
    let mut wishes: Vec<(Option<usize>, WishOutcome)> = targets.collect();
    wishes.sort_by_key(|(target, _)| *target);
    let drives = storage.drives.iter();
    let drives = drives.map(|drive| outcome(&drive.goal, drive.energy / storage.efficiency_in));
    let mut drives: Vec<(Option<usize>, WishOutcome)> = drives.collect();
    drives.sort_by_key(|(position, _)| *position);
    let powers = report_power_wishes(request, model, accounts, books, (device, storage, course));
    wishes.into_iter().chain(drives).map(|(_, wish)| wish).chain(powers).collect()
}

/// Causes of the energy that is missing at the deadline of a goal, in kWh at the plug, without the
/// part above the charge limit. The tuples are `(device, storage)` and `(goal, missing)`.
fn find_causes(
    request: &SiteRequest,
    model: &SiteModel,
    accounts: &[Account],
    books: &Books,
    (device, storage): (usize, &Storage),
    (goal, missing): (&Goal, f64),
) -> Vec<Cause> {
    let mut causes = Vec::new();
    if missing > 0.0 && goal.wanted - goal.reachable_if_priced > SITE_MIN_KWH {
        causes.push(Cause::OwnLimits);
    }
    if missing > 0.0 && goal.reachable_if_priced - goal.reachable > SITE_MIN_KWH {
        causes.push(Cause::NoPrice);
    }
    let by_others = missing - (goal.wanted - goal.reachable) / storage.efficiency_in;
    if by_others > SITE_MIN_KWH {
        let slots = storage.stay.start..goal.slots.min(storage.stay.end);
        let limits = |at_full_power: bool| {
            let slots = slots.clone();
            find_binding_limits(request, model, accounts, books, device, slots, at_full_power)
        };
        let held = limits(false);
        // Residual capacity below its least power is of no use to a device.
        causes.extend(if held.is_empty() { limits(true) } else { held });
        if !storage.charges_from_grid {
            causes.push(Cause::NoSurplus);
        }
    }
    if missing > 0.0 && causes.is_empty() {
        causes.push(Cause::OwnLimits);
    }
    causes
}

/// Instant at which the level reaches `wanted` (stored kWh) from the boundary `first` on, by linear
/// interpolation inside the slot; `now` if it begins there, `None` if it never does.
fn find_reached_at(
    model: &SiteModel,
    levels: &[f64],
    wanted: f64,
    first: usize,
    now: DateTime<Utc>,
) -> Option<DateTime<Utc>> {
    let is_reached = |&level: &f64| level >= wanted - SITE_MIN_KWH;
    let after = first + levels.get(first..)?.iter().position(is_reached)?;
    let Some(slot) = after.checked_sub(1) else { return Some(now) };
    let share = (wanted - levels[slot]) / (levels[after] - levels[slot]);
    let (start, end) = (model.grid.starts[slot], model.grid.ends[slot]);
    let part = ((end - start) as f64 * share.clamp(0.0, 1.0)).round() as i64;
    Some(instant_at(start + part))
}

/// Outcome of a shiftable load; empty for other devices.
fn report_shiftable_wishes(
    request: &SiteRequest,
    model: &SiteModel,
    account: &Account,
    books: &Books,
    index: usize,
) -> Vec<WishOutcome> {
    let Device::Shiftable(load) = &request.devices[index] else { return Vec::new() };
    let wanted = load.energy().as_kwh();
    let delivered: f64 = account.drawn.iter().sum();
    let missing = if wanted - delivered > SITE_MIN_KWH { wanted - delivered } else { 0.0 };
    let mut causes = Vec::new();
    let can_run = |slot: &usize| model.flows[*slot].iter().any(|flow| flow.device == index);
    if missing > 0.0 {
        let slots: Vec<usize> = (0..model.grid.len()).filter(can_run).collect();
        // Without a possible start, the window is too short or prices are missing.
        if slots.is_empty() {
            let has_time = has_time_to_run(load, request, &model.grid);
            causes.push(if has_time { Cause::NoPrice } else { Cause::OwnLimits });
        }
        for (limit, loads) in model.limits.iter().zip(&books.loads) {
            let share = limit.shares[index];
            // A limit is a cause if the load would exceed it in any slot of a possible run.
            let is_short = |&slot: &usize| {
                let most = limit.limit_kw[slot].unwrap_or(f64::INFINITY);
                loads[slot] + share * load.power.as_kw() > most
            };
            if share > 0.0 && slots.iter().any(is_short) {
                let (name, phase) = name_of(request, limit.kind);
                causes.push(Cause::Limit { name, phase });
            }
        }
    }
    // The run ends `duration` after the start of the first slot in which it draws.
    let reached_at = match account.drawn.iter().position(|&kwh| kwh > 0.0) {
        Some(first) if missing == 0.0 => {
            instant_at(model.grid.starts[first]).checked_add_signed(load.duration())
        }
        _ => None,
    };
    vec![WishOutcome {
        by: load.latest,
        wanted: energy(wanted),
        delivered: energy(delivered.min(wanted)),
        shortfall: energy(missing),
        reached_at,
        causes,
    }]
}

/// True if a load could run if all time up to its deadline had a price.
fn has_time_to_run(load: &ShiftableLoad, request: &SiteRequest, grid: &SiteSlots) -> bool {
    let start = load.earliest.map_or(request.now, |earliest| earliest.max(request.now));
    let until = request.until.map_or(i64::MAX, micros_of);
    let end = load.latest.map_or(i64::MAX, micros_of).min(until);
    // Without a deadline, time after the last price does not count.
    let end = if end == i64::MAX { grid.open_end } else { end };
    let duration = load.duration().num_microseconds().unwrap_or(i64::MAX);
    end.saturating_sub(micros_of(start)) >= duration
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::plan::charge::request::Target;
    use crate::plan::charge::vehicle::{Battery, SocTarget};
    use crate::plan::site::device::{Phase, TaperPoint, Vehicle};
    use crate::plan::site::request::Limit;
    use crate::plan::site::request::tests::{at, battery_of, group, hard, house, site, van};
    use crate::plan::site::series::Series;
    use crate::prices::curve::PriceCurve;
    use crate::time::horizon::Horizon;
    use crate::units::{kw, kwh, percent};

    pub(crate) fn planned(request: &SiteRequest) -> SitePlan {
        plan_site(&SiteProblem::new(request.clone()).unwrap())
    }

    /// Powers of a device in kW, to a tenth of a milliwatt.
    pub(crate) fn powers_of(plan: &SitePlan, name: &str) -> Vec<f64> {
        let device = plan.devices.iter().find(|device| device.name == name).unwrap();
        device.power.iter().map(|power| (power.as_kw() * 1e7).round() / 1e7 + 0.0).collect()
    }

    /// Three vans of 11 kW behind a limit of 8 kW for four hours, the last one with a higher
    /// priority. Each wants `energy` kWh. At 10 kWh each, all targets can be met. The limit of the
    /// first one alone makes it a site for the solver.
    fn vans(energy: f64) -> SiteProblem {
        let noon = "2026-01-05T12:00:00Z".parse().unwrap();
        let hours = Horizon::steps(noon, chrono::TimeDelta::hours(1), 4).unwrap();
        let prices = PriceCurve::from_parts(hours, vec![0.4, 0.1, 0.3, 0.2]).unwrap();
        let mut request = SiteRequest::new(prices, noon);
        for (name, priority) in [("a", 1.0), ("b", 1.0), ("c", 2.0)] {
            let mut van = Vehicle::new(name, kw(11.0));
            van.targets.push(Target { by: None, energy: kwh(energy) });
            van.priority = priority;
            van.group = Some("first".to_owned()).filter(|_| name == "a");
            request.devices.push(Device::Vehicle(van));
        }
        request.groups = vec![group("first", None, Some(hard(7.0)))];
        let power = Series::Constant(kw(8.0));
        request.import_limit = Some(Limit { power, breach_price: None });
        SiteProblem::new(request).unwrap()
    }

    fn after(problem: &SiteProblem, iterations: u32) -> SitePlan {
        plan_within(problem, &Limits { iterations, ..Limits::default() })
    }

    /// Causes of the first wish of a device, and `unpriced_hours`, on two hours of prices.
    fn causes(device: Device) -> (Vec<Cause>, f64) {
        let noon: DateTime<Utc> = "2026-01-05T12:00:00Z".parse().unwrap();
        let hours = Horizon::steps(noon, chrono::TimeDelta::hours(1), 2).unwrap();
        let prices = PriceCurve::from_parts(hours, vec![0.4, 0.1]).unwrap();
        let mut request = SiteRequest::new(prices, noon);
        request.devices.push(device);
        let plan = plan_site(&SiteProblem::new(request).unwrap());
        (plan.devices[0].wishes[0].causes.clone(), plan.unpriced_hours)
    }

    #[test]
    fn a_wish_missed_for_want_of_prices_has_the_cause() {
        let by = Some("2026-01-05T16:00:00Z".parse().unwrap());
        let van = |energy: f64| {
            let mut van = Vehicle::new("van", kw(10.0));
            van.targets.push(Target { by, energy: kwh(energy) });
            Device::Vehicle(van)
        };
        assert_eq!(causes(van(20.0)), (vec![], 2.0));
        assert_eq!(causes(van(40.0)), (vec![Cause::NoPrice], 2.0));
        assert_eq!(causes(van(41.0)), (vec![Cause::OwnLimits, Cause::NoPrice], 2.0));
    }

    #[test]
    fn a_taper_leaves_as_much_with_a_gap_as_without() {
        // 10 kW at an empty battery, zero at a full one of 10 kWh: the level tends to 10 kWh.
        let by = Some("2026-01-05T16:00:00Z".parse().unwrap());
        let van = |soc: f64| {
            let mut van = Vehicle::new("van", kw(10.0));
            van.battery = Some(Battery {
                capacity: kwh(10.0),
                soc: Some(percent(0.0)),
                soc_fallback: None,
                charge_limit: percent(100.0),
                efficiency: 1.0,
            });
            let points = [(0.0, 10.0), (100.0, 0.0)];
            let point = |(soc, power)| TaperPoint { soc: percent(soc), power_max: kw(power) };
            van.taper = points.map(point).to_vec();
            van.soc_targets.push(SocTarget { by, soc: Some(percent(soc)) });
            Device::Vehicle(van)
        };
        // Two slots of an hour give 7.5 kWh, and 8 steps of a quarter hour leave 0.8^8 of the rest.
        assert_eq!(causes(van(75.0)).0, vec![]);
        assert_eq!(causes(van(95.0)).0, vec![Cause::NoPrice]);
        assert_eq!(causes(van(100.0)).0, vec![Cause::OwnLimits, Cause::NoPrice]);
    }

    #[test]
    fn a_load_without_prices_to_run_in_has_the_cause() {
        let load = |minutes: f64, latest: &str| {
            Device::Shiftable(ShiftableLoad {
                name: "wash".to_owned(),
                group: None,
                phases: Phase::ALL.to_vec(),
                power: kw(1.0),
                duration_minutes: minutes,
                earliest: None,
                latest: Some(latest.parse().unwrap()),
                priority: 1.0,
            })
        };
        assert_eq!(causes(load(180.0, "2026-01-05T16:00:00Z")), (vec![Cause::NoPrice], 2.0));
        assert_eq!(causes(load(300.0, "2026-01-05T16:00:00Z")), (vec![Cause::OwnLimits], 2.0));
        assert_eq!(causes(load(120.0, "2026-01-05T14:00:00Z")), (vec![], 0.0));
    }

    #[test]
    fn without_iterations_the_wishes_are_met_as_they_come() {
        let plan = after(&vans(10.0), 0);
        assert_eq!(plan.status, SearchStatus::LimitReached);
        assert!(plan.is_reproducible && plan.breaches.is_empty());
        // c first: 8 and 2; then a with 6 and 4, then b with 4 and 6: 8 + 8 + 8 + 6 kWh.
        let powers = |device: usize| {
            plan.devices[device].power.iter().map(|power| power.as_kw()).collect::<Vec<_>>()
        };
        assert_eq!(powers(2), [8.0, 2.0, 0.0, 0.0]);
        assert_eq!(powers(0), [0.0, 6.0, 4.0, 0.0]);
        assert_eq!(powers(1), [0.0, 0.0, 4.0, 6.0]);
        let cost = 8.0 * (0.4 + 0.1 + 0.3) + 6.0 * 0.2;
        assert!((plan.cost.as_amount() - cost).abs() < 1e-9);
        assert!(plan.certificate.bound <= plan.cost && !plan.certificate.is_proved());
    }

    #[test]
    fn every_limit_gives_a_plan_that_keeps_limits_and_bound() {
        for energy in [10.0, 13.0] {
            let problem = vans(energy);
            let best = plan_site(&problem);
            assert_eq!((best.status, best.certificate.is_proved()), (SearchStatus::Optimal, true));
            let mut limited = 0;
            for iterations in 0..60 {
                let plan = after(&problem, iterations);
                assert_eq!(plan, after(&problem, iterations));
                assert!(plan.breaches.is_empty() && plan.shortfall >= best.shortfall);
                assert!(plan.certificate.gap().as_amount() >= -1e-9);
                limited += u32::from(plan.status == SearchStatus::LimitReached);
                if plan.status == SearchStatus::Optimal {
                    assert_eq!(plan, best);
                }
            }
            assert!(0 < limited && limited < 60, "{limited} of 60 ended early");
        }
    }

    #[test]
    fn a_level_is_reached_on_a_straight_line_inside_its_slot() {
        let mut van = van("van", 4.0, 6.0);
        van.targets.push(Target { by: None, energy: kwh(2.0) });
        van.targets.push(Target { by: None, energy: kwh(0.0) });
        let plan = planned(&site(&[10, 20], &[Device::Vehicle(van)]));
        // 4 kWh in the first hour and 2 in the second one; nothing is wanted last.
        let reached = plan.devices[0].wishes.iter().map(|wish| wish.reached_at);
        assert_eq!(reached.collect::<Vec<_>>(), [Some(at(120)), Some(at(30)), Some(at(0))]);
    }

    #[test]
    fn slots_of_one_power_are_one_interval() {
        let request = site(&[10, 10, 30, 20], &[Device::Vehicle(van("van", 4.0, 10.0))]);
        let intervals = planned(&request).devices[0].intervals.clone();
        let expected = [(at(0), at(120), kw(4.0)), (at(180), at(240), kw(2.0))];
        let found: Vec<_> = intervals.iter().map(|i| (i.start, i.end, i.power)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_plan_tells_levels_powers_and_limits() {
        let mut car = van("car", 4.0, 6.0);
        car.battery = Some(battery_of(20.0, 50.0));
        let mut request = site(&[10, 20], &[Device::Vehicle(car), house(&[1.0, 1.0])]);
        request.import_limit = Some(hard(4.0));
        let plan = planned(&request);
        // 3 kW beside the house, twice. A kWh more in the first hour saves 0.10.
        assert_eq!(plan.devices[0].soc, [50.0, 65.0, 80.0].map(percent));
        assert_eq!(plan.devices[0].power_max, [kw(4.0), kw(4.0)]);
        let limit = &plan.limits[0];
        assert_eq!(
            (limit.limit.clone(), limit.power.clone()),
            (vec![Some(kw(4.0)); 2], vec![kw(4.0); 2])
        );
        let shadow: Vec<f64> = limit.shadow_price.iter().map(|price| price.as_per_kwh()).collect();
        assert!((shadow[0] - shadow[1] - 0.1).abs() < 1e-9, "{shadow:?}");
        assert!((plan.cost.as_amount() - 1.2).abs() < 1e-9);
    }

    #[test]
    fn a_bound_above_the_cost_is_told_and_replaced() {
        let request = site(&[10, 20], &[Device::Vehicle(van("van", 4.0, 6.0))]);
        let model = SiteModel::new(&request, false);
        let mut answer = solve::solve(&request, &model, &Limits::default()).unwrap();
        let cost = money(0.8);
        let (certificate, status) = certify(&request, &model, &answer, cost);
        assert!(certificate.is_proved() && status == SearchStatus::Optimal);
        // An open gap is not optimal; duals that close it prove the cost, whatever a search says.
        answer.bound -= 1.0;
        assert_eq!(certify(&request, &model, &answer, cost).1, SearchStatus::Optimal);
        answer.proof = Duals::default();
        assert_eq!(certify(&request, &model, &answer, cost).1, SearchStatus::SolverFailed);
        answer.bound += 2.0;
        let (certificate, status) = certify(&request, &model, &answer, cost);
        assert_eq!(status, SearchStatus::BoundAboveCost);
        // Without duals no more is known than that nothing is drawn below zero.
        assert_eq!(certificate.bound, money(0.0));
    }

    #[test]
    fn the_dust_of_a_solver_is_swept_to_the_bounds() {
        let request = site(&[10, 20], &[Device::Vehicle(van("van", 4.0, 6.0)), house(&[1.0, 1.0])]);
        let model = SiteModel::new(&request, false);
        let mut values = vec![0.0; model.program.columns.len()];
        let charge = &model.columns[0].charge;
        (values[charge[0]], values[charge[1]]) = (4.0 + 1e-12, -1e-12);
        let found = collect_accounts(&request, &model, &values);
        assert_eq!((&found[0].drawn, &found[1].drawn), (&vec![4.0, 0.0], &vec![1.0, 1.0]));
        values[charge[1]] = 0.5;
        assert_eq!(collect_accounts(&request, &model, &values)[0].drawn, [4.0, 0.5]);
    }

    #[test]
    fn a_missed_wish_names_the_limit_and_who_went_first() {
        let mut urgent = van("urgent", 5.0, 8.0);
        urgent.priority = 3.0;
        let devices = [Device::Vehicle(van("van", 5.0, 5.0)), Device::Vehicle(urgent)];
        let mut request = site(&[10, 10], &devices);
        request.groups = vec![group("garage", None, Some(hard(5.0)))];
        for device in &mut request.devices {
            let Device::Vehicle(vehicle) = device else { unreachable!() };
            vehicle.group = Some("garage".to_owned());
        }
        let wish = planned(&request).devices[0].wishes[0].clone();
        let garage = Cause::Limit { name: "garage".to_owned(), phase: None };
        assert_eq!(wish.causes, [garage, Cause::Priority]);
        assert!((wish.shortfall.as_kwh() - 3.0).abs() < 1e-6);
        assert!((wish.delivered.as_kwh() - 2.0).abs() < 1e-6 && wish.reached_at.is_none());
    }
}

//! Planner of a device that switches: runs the search and builds the plan with its certificate.
use chrono::{DateTime, Utc};

use crate::plan::charge::greedy::plan_charge;
use crate::plan::charge::plan::{Plan, PlannedSlot, TargetOutcome};
use crate::plan::charge::request::{AfterDeadline, ChargeProblem, ChargeRequest, Target};
use crate::plan::charge::sub_slots::{SubSlot, sub_slots};
use crate::plan::search_status::SearchStatus;
#[cfg(feature = "lp")]
use crate::plan::stability::distance::PreviousEnergies;
#[cfg(feature = "lp")]
use crate::plan::stability::previous_powers::PreviousPowers;
#[cfg(feature = "lp")]
use crate::plan::stability::stay_close::Stability;
use crate::plan::switching::path_search::FoundSchedule;
use crate::plan::switching::plan::{
    Method, Session, SwitchingCertificate, SwitchingInterval, SwitchingPlan, UnmetWish,
};
use crate::plan::switching::problem::SwitchingProblem;
use crate::plan::switching::request::{DeviceState, SwitchingRequest};
use crate::plan::switching::search::{EnergySchedule, search};
#[cfg(feature = "lp")]
use crate::plan::switching::stay_near::{cost_of, stay_near};
use crate::time::instant::{instant_at, micros_of};
#[cfg(feature = "lp")]
use crate::tolerance::SOLVER_AGREEMENT;
use crate::tolerance::{ENERGY_SHARE_MIN, INSTANT_MICROS};
use crate::units::{Energy, Money, Power, Price};

/// Returns the cheapest plan among those with the least shortfall.
///
/// Every problem has a plan. [`SwitchingPlan::unmet`] lists the relaxed rules and the shortfall,
/// and [`SwitchingPlan::smoothness_cost`] is the extra energy cost against a plan without limits
/// on switching. Of plans with equal cost the one that charges earlier is returned.
///
/// With [`SwitchingRequest::previous`] the plan is the one nearest to the plan before, of those with
/// no more shortfall that cost at most the budget more.
///
/// # Example
///
/// Four hours cost 0.10, 0.30, 0.10 and 0.20 per kWh. A charger of 4 to 10 kW has to deliver
/// 20 kWh. Without a start cost it runs in both cheap hours, for 2.00 in two sessions. When a
/// start costs 1.50, running through the dear hour at the least power is cheaper than a second
/// start: 10 kWh for 1.00, 4 kWh for 1.20 and 6 kWh for 0.60 are 2.80, and 4.30 with the start.
///
/// ```
/// use slackwater_engine::plan::charge::Target;
/// use slackwater_engine::plan::switching::plan_switching;
/// use slackwater_engine::plan::switching::{SwitchingProblem, SwitchingRequest};
/// use slackwater_engine::prices::curve::PriceCurve;
/// use slackwater_engine::time::horizon::Horizon;
/// use slackwater_engine::units::{kw, kwh, money};
///
/// let hours = (0..4).map(|hour| (hour * 3_600_000_000, (hour + 1) * 3_600_000_000));
/// let hours = Horizon::from_micros(hours)?;
/// let curve = PriceCurve::from_parts(hours, vec![0.10, 0.30, 0.10, 0.20])?;
/// let now = "1970-01-01T00:00:00Z".parse().unwrap();
/// let mut request = SwitchingRequest::new(now, kw(10.0), Target { by: None, energy: kwh(20.0) });
/// request.power_min = kw(4.0);
///
/// let chopped = plan_switching(&SwitchingProblem::new(request.clone(), &curve)?);
/// assert_eq!(chopped.sessions.len(), 2);
/// assert!((chopped.cost - money(2.0)).as_amount().abs() < 1e-9);
///
/// request.start_cost = money(1.5);
/// let smooth = plan_switching(&SwitchingProblem::new(request, &curve)?);
/// assert_eq!(smooth.sessions.len(), 1);
/// assert!((smooth.cost - money(4.3)).as_amount().abs() < 1e-9);
/// assert!((smooth.smoothness_cost() - money(0.8)).as_amount().abs() < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn plan_switching(problem: &SwitchingProblem<'_>) -> SwitchingPlan {
    plan_switching_within(problem, &|| f64::INFINITY)
}

/// Runs [`plan_switching`] within a time limit of the caller.
///
/// The search calls `seconds_left` repeatedly. At zero or less it returns the best plan found
/// so far with its bound, and the status [`SearchStatus::TimeReached`].
#[must_use]
pub fn plan_switching_within(
    problem: &SwitchingProblem<'_>,
    seconds_left: &dyn Fn() -> f64,
) -> SwitchingPlan {
    let schedule = search(problem, seconds_left);
    let cheapest = Draft::new(problem, &schedule).finish(problem, &schedule);
    #[cfg(feature = "lp")]
    if let Some(previous) = &problem.request.previous {
        return plan_near(problem, cheapest, &schedule, previous, seconds_left);
    }
    cheapest
}

/// Plan nearest to the plan before, at a cost of up to its budget above that of `cheapest`, which
/// has the energies of `schedule`.
#[cfg(feature = "lp")]
fn plan_near(
    problem: &SwitchingProblem<'_>,
    cheapest: SwitchingPlan,
    schedule: &EnergySchedule,
    previous: &PreviousPowers,
    seconds_left: &dyn Fn() -> f64,
) -> SwitchingPlan {
    let now = problem.request.now;
    let steps = problem.timeline.steps.iter().map(|step| (step.start, step.end));
    let energies = PreviousEnergies::new(&previous.intervals, steps, now);
    let left = previous.budget.left().as_amount();
    let near = stay_near(problem, &schedule.found, &energies, left, seconds_left);
    let distance = |plan: &SwitchingPlan| {
        let slots = plan.slots.iter().map(|slot| (micros_of(slot.start), micros_of(slot.end)));
        let before = PreviousEnergies::new(&previous.intervals, slots, now);
        let both = plan.slots.iter().zip(&before.by_slot);
        before.outside + both.map(|(s, kwh)| (s.energy.as_kwh() - kwh).abs()).sum::<f64>()
    };
    let cheapest_change = distance(&cheapest);
    let by_clock = near.status == SearchStatus::TimeReached;
    let found = near.found.map(|found| {
        let lagrangian_bound = schedule.found.lagrangian_bound;
        // The least cost stays the bound, and the gap is what this plan costs more.
        let least = cost_of(&problem.timeline, &schedule.found.kwh);
        let schedule = EnergySchedule {
            found: FoundSchedule { lagrangian_bound, ..found },
            method: schedule.method,
            status: if by_clock { schedule.status.max(near.status) } else { schedule.status },
            bound: Some(schedule.bound.unwrap_or(least)),
        };
        Draft::new(problem, &schedule).finish(problem, &schedule)
    });
    let rounding = SOLVER_AGREEMENT * problem.request.power_max.as_kw();
    let is_closer = |plan: &SwitchingPlan| distance(plan) < cheapest_change - rounding;
    let least_cost = cheapest.cost;
    let plan = found.filter(is_closer).unwrap_or(cheapest);
    let change = distance(&plan);
    // Energy of the plan before outside of the steps is a change, unless a shortfall is delivered
    // after the last deadline.
    let window = problem.timeline.window_end;
    let ends_in_window = plan.slots.last().is_none_or(|slot| micros_of(slot.end) <= window);
    let bound = near.bound + if ends_in_window { energies.outside } else { 0.0 };
    let kwh = |kwh: f64| Energy::from_kwh(kwh).unwrap_or_default();
    let stability = Stability {
        budget: previous.budget,
        extra_cost: (plan.cost - least_cost).max(Money::ZERO),
        change: kwh(change),
        change_bound: kwh(if change <= bound + rounding { change } else { bound.max(0.0) }),
        cheapest_change: kwh(cheapest_change),
        price_of_change: near.price_of_change,
    };
    SwitchingPlan { stability: Some(stability), ..plan }
}

/// Plan of slots with known energies: sessions, costs, outcomes and unmet wishes. Its certificate is
/// that of the plan without limits on switching.
pub(crate) fn plan_again(
    problem: &SwitchingProblem<'_>,
    slots: &[PlannedSlot],
    top_off: Option<usize>,
) -> SwitchingPlan {
    let window = problem.timeline.window_end;
    let searched = slots.iter().filter(|slot| micros_of(slot.end) <= window).count();
    let found =
        FoundSchedule { kwh: Vec::new(), top_off, missing: Vec::new(), lagrangian_bound: None };
    let (method, status) = (Method::ExactSearch, SearchStatus::LimitReached);
    let schedule = EnergySchedule { found, method, status, bound: None };
    Draft { slots: slots.to_vec(), top_off, searched }.finish(problem, &schedule)
}

/// Cost of the slots of a plan after its first `searched` ones, with the starts there.
pub(crate) fn add_up_after(
    problem: &SwitchingProblem<'_>,
    plan: &SwitchingPlan,
    searched: usize,
) -> Money {
    Draft { slots: plan.slots.clone(), top_off: plan.top_off, searched }.cost_after(problem)
}

/// Slots of a plan with their energies, before costs and certificate are known.
struct Draft {
    slots: Vec<PlannedSlot>,
    /// Position of the top-off, if there is one.
    top_off: Option<usize>,
    /// Number of slots up to the last deadline. Later slots serve the shortfall.
    searched: usize,
}

impl Draft {
    /// Draft of a schedule: its energies in all usable slots, and the slots after the deadline.
    fn new(problem: &SwitchingProblem<'_>, schedule: &EnergySchedule) -> Self {
        let free = ChargeProblem::new(problem.request.free())
            .expect("the request was checked when the problem was built");
        let mut draft = Self { slots: Vec::new(), top_off: None, searched: 0 };
        let mut steps =
            problem.timeline.steps.iter().zip(&schedule.found.kwh).enumerate().peekable();
        let window = problem.timeline.window_end;
        let all = sub_slots(problem.curve, &free, &problem.timeline.cuts);
        for piece in all.iter().filter(|piece| piece.end <= window) {
            // Steps are those sub-slots in which the device may be on, in the same order.
            let mut slot = piece.planned();
            if let Some((index, (_, &kwh))) =
                steps.next_if(|(_, (step, _))| step.start == piece.start)
            {
                slot.energy = Energy::from_kwh(kwh).expect("energies of a plan are finite");
                if schedule.found.top_off == Some(index) {
                    draft.top_off = Some(draft.slots.len());
                }
            }
            draft.slots.push(slot);
        }
        draft.searched = draft.slots.len();
        if problem.request.after_deadline == AfterDeadline::Continue {
            let later = all.iter().filter(|piece| piece.start >= window).map(SubSlot::planned);
            draft.go_on(&problem.request, later);
        }
        draft
    }

    /// Adds slots after the last deadline that deliver the shortfall, at full power and as soon
    /// as the limits on switching allow.
    fn go_on(&mut self, request: &SwitchingRequest, later: impl Iterator<Item = PlannedSlot>) {
        let step_power = request.step_power();
        let wanted = request.targets.iter().fold(Energy::ZERO, |most, t| most.max(t.energy));
        let mut missing = wanted - self.slots.iter().fold(Energy::ZERO, |sum, s| sum + s.energy);
        let tolerance = wanted.as_kwh() * ENERGY_SHARE_MIN;
        let mut used = self.slots.len();
        for mut slot in later {
            if self.top_off.is_some() || missing.as_kwh() <= tolerance {
                break;
            }
            // A slot that needs less than the least power throughout is the top-off.
            let is_on = slot.power_max >= step_power
                && slot.power_max > Power::ZERO
                && self.may_run(request, slot.start);
            if is_on {
                slot.energy = slot.capacity().min(missing);
                missing = missing - slot.energy;
                if slot.energy < step_power.over(slot.end - slot.start) {
                    self.top_off = Some(self.slots.len());
                }
                used = self.slots.len() + 1;
            }
            self.slots.push(slot);
        }
        self.slots.truncate(used);
    }

    /// Returns true if the device may be on from the instant `at`, which follows all slots so
    /// far.
    fn may_run(&self, request: &SwitchingRequest, at: DateTime<Utc>) -> bool {
        let intervals = self.intervals(request.step_power());
        let sessions = sessions(&intervals, carried_at(request));
        let limit = request.sessions_limit().map_or(usize::MAX, |most| most as usize);
        let Some(last) = sessions.last() else {
            let stopped = match request.state {
                DeviceState::RunningSince(_) if at == request.now => return limit > 0,
                DeviceState::RunningSince(_) => request.now,
                DeviceState::StoppedSince(since) => since,
                DeviceState::Off => return limit > 0,
            };
            return limit > 0 && at.signed_duration_since(stopped) >= request.off_min;
        };
        if last.end == at {
            return true;
        }
        let since = match request.state {
            DeviceState::RunningSince(since) if last.is_carried => since,
            _ => last.start,
        };
        // Only the last session may be short, so no session follows a short one.
        sessions.len() < limit
            && at - last.end >= request.off_min
            && last.end - since >= request.on_min
    }

    /// Plan of the draft, with sessions, costs, outcomes and certificate.
    fn finish(self, problem: &SwitchingProblem<'_>, schedule: &EnergySchedule) -> SwitchingPlan {
        let request = problem.request.clone();
        let intervals = self.intervals(request.step_power());
        let mut sessions = sessions(&intervals, carried_at(&request));
        for session in &mut sessions {
            session.energy = energy_within(&self.slots, session);
        }
        let energy = self.slots.iter().fold(Energy::ZERO, |sum, slot| sum + slot.energy);
        let energy_cost =
            self.slots.iter().fold(Money::ZERO, |sum, slot| sum + slot.price.of(slot.energy));
        // A carried session pays no start.
        let starts = sessions.iter().filter(|session| !session.is_carried);
        let start_costs = starts.fold(Money::ZERO, |sum, _| sum + request.start_cost);
        let targets: Vec<TargetOutcome> =
            request.targets.iter().map(|target| self.outcome(problem, target, energy)).collect();
        let shortfall = targets.iter().fold(Energy::ZERO, |most, t| most.max(t.shortfall));
        let cost = energy_cost + start_costs;
        // Compare with the plan that delivers as much without limits on switching.
        let free_request = delivering(request.free(), &targets, energy, &self.slots);
        let free_plan = free_plan(problem, free_request.clone());
        let certificate = self.certificate(problem, schedule, &free_plan, (cost, start_costs));
        let mut plan = SwitchingPlan {
            free_plan,
            free_request,
            certificate,
            request,
            intervals,
            sessions,
            slots: self.slots,
            top_off: self.top_off,
            energy,
            energy_cost,
            start_costs,
            cost,
            shortfall,
            targets,
            unmet: Vec::new(),
            stability: None,
        };
        plan.unmet = unmet(problem, &plan);
        plan
    }

    /// Certificate with cost and bound. Both include the slots after the last deadline, in which
    /// the plan has no choice. `cost` is the whole cost, of which `start_costs` are the starts.
    fn certificate(
        &self,
        problem: &SwitchingProblem<'_>,
        schedule: &EnergySchedule,
        free_plan: &Plan,
        (cost, start_costs): (Money, Money),
    ) -> SwitchingCertificate {
        let money = |amount: f64| Money::from_amount(amount).unwrap_or(cost);
        let pays = |slot: &PlannedSlot| slot.price.of(slot.energy);
        let paid = self.slots.iter().map(|slot| pays(slot).as_amount().abs()).sum::<f64>();
        let after = self.cost_after(problem);
        // Prices of the steps include the additions of `TIE_BREAK`, which the cost does not.
        let tie = problem.timeline.tie_cost();
        let rounding = schedule.method.tolerance() * (paid + start_costs.as_amount()) + tie;
        let mut status = schedule.status;
        // The plan without limits on switching is a lower bound for every search.
        let free = free_plan.certificate.bound;
        let bound = match schedule.bound {
            Some(bound) if status.is_optimal() => money(bound - tie) + after,
            Some(bound) => (money(bound - tie) + after).max(free.min(cost)),
            None if !status.is_optimal() => free,
            None => cost,
        };
        // A bound above the cost by more than rounding is an error of the solver.
        let gap = (cost - bound).as_amount();
        if gap < -rounding {
            status = status.max(SearchStatus::BoundAboveCost);
        }
        let lagrangian_bound = schedule.found.lagrangian_bound;
        SwitchingCertificate {
            method: schedule.method,
            is_complete: status.is_optimal(),
            status,
            cost,
            bound: if gap <= rounding { cost } else { bound },
            relaxed_bound: lagrangian_bound.map(|(_, bound)| (money(bound) + after).min(cost)),
            relaxed_price: lagrangian_bound.and_then(|(price, _)| Price::from_per_kwh(price).ok()),
        }
    }

    /// Cost of the slots after the last deadline, with the starts there.
    fn cost_after(&self, problem: &SwitchingProblem<'_>) -> Money {
        let request = &problem.request;
        let after = &self.slots[self.searched..];
        let energy = after.iter().fold(Money::ZERO, |sum, slot| sum + slot.price.of(slot.energy));
        let starts = |slots: &[PlannedSlot]| {
            let draft = Self { slots: slots.to_vec(), top_off: self.top_off, searched: 0 };
            let intervals = draft.intervals(request.step_power());
            let sessions = sessions(&intervals, carried_at(request));
            sessions.iter().filter(|session| !session.is_carried).count()
        };
        // Starts of the whole plan less those up to the last deadline.
        let count = starts(&self.slots) - starts(&self.slots[..self.searched]);
        (0..count).fold(energy, |sum, _| sum + request.start_cost)
    }

    /// Periods at one power; `least` is the least power while on. Neighbours of equal power are
    /// merged, except the top-off.
    fn intervals(&self, least: Power) -> Vec<SwitchingInterval> {
        let mut intervals: Vec<SwitchingInterval> = Vec::new();
        for (index, slot) in self.slots.iter().enumerate() {
            if slot.energy <= Energy::ZERO {
                continue;
            }
            let is_top_off = self.top_off == Some(index);
            let (start, mut end) = (slot.start, slot.end);
            let power = if is_top_off {
                // The top-off runs at the least power and ends early.
                let micros = least.micros_for(slot.energy).round() as i64;
                end = instant_at(micros_of(start) + micros).min(end);
                least
            } else {
                mean_power(slot, least)
            };
            match intervals.last_mut() {
                Some(before) if before.end == start && before.power == power && !is_top_off => {
                    before.end = end;
                }
                _ if end > start => {
                    intervals.push(SwitchingInterval { start, end, power, is_top_off });
                }
                _ => {}
            }
        }
        intervals
    }

    /// Instant at which the plan has bought the energy `wanted`; `None` if it never has.
    fn reached_at(&self, wanted: Energy, least: Power) -> Option<DateTime<Utc>> {
        let mut missing = wanted;
        for (index, slot) in self.slots.iter().enumerate() {
            let power = if self.top_off == Some(index) { least } else { mean_power(slot, least) };
            if slot.energy > Energy::ZERO
                && slot.energy + power.over_micros(INSTANT_MICROS) >= missing
            {
                // At a very small power it takes longer than the calendar.
                let micros = power.micros_for(missing).round() as i64;
                let reached = micros_of(slot.start).saturating_add(micros);
                return Some(instant_at(reached.min(micros_of(slot.end))));
            }
            missing = missing - slot.energy;
        }
        None
    }

    /// Outcome of a target: energy delivered by its deadline, and the shortfall.
    fn outcome(
        &self,
        problem: &SwitchingProblem<'_>,
        target: &Target,
        energy: Energy,
    ) -> TargetOutcome {
        let wanted = target.energy;
        let before = |by| {
            let slots = self.slots.iter().filter(|slot| slot.end <= by);
            slots.fold(Energy::ZERO, |sum, slot| sum + slot.energy)
        };
        let delivered = target.by.map_or(energy, before).min(wanted);
        let missing = wanted - delivered;
        // A shortfall below one microsecond at least power, or `ENERGY_SHARE_MIN`, is rounding.
        let least = problem.request.step_power();
        let is_met = missing
            <= least.over_micros(INSTANT_MICROS).max(kwh(ENERGY_SHARE_MIN * wanted.as_kwh()));
        let reached_at = if wanted <= Energy::ZERO {
            Some(problem.request.now)
        } else {
            self.reached_at(wanted - kwh(ENERGY_SHARE_MIN * wanted.as_kwh()), least)
        };
        TargetOutcome {
            by: target.by,
            wanted,
            delivered: if is_met { wanted } else { delivered },
            shortfall: if is_met { Energy::ZERO } else { missing },
            above_limit: Energy::ZERO,
            reached_at,
        }
    }
}

/// Energy of a finite number of kWh.
fn kwh(value: f64) -> Energy {
    Energy::from_kwh(value).expect("a part of a quantity is finite")
}

/// Mean power of a slot that is on throughout. Within rounding of the highest or the least
/// power it is exactly that one.
fn mean_power(slot: &PlannedSlot, least: Power) -> Power {
    let share = slot.energy.as_kwh() / slot.capacity().as_kwh();
    let power = Power::from_kw(slot.power_max.as_kw() * share).unwrap_or(slot.power_max);
    let near =
        |other: Power| (power - other).as_kw().abs() <= slot.power_max.as_kw() * ENERGY_SHARE_MIN;
    if near(slot.power_max) {
        slot.power_max
    } else if near(least) {
        least
    } else {
        power
    }
}

/// Sessions of intervals in time order, without their energy. `carried` is the instant at which
/// a session from before the plan may continue.
fn sessions(intervals: &[SwitchingInterval], carried: Option<DateTime<Utc>>) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    for interval in intervals {
        match sessions.last_mut() {
            Some(last) if last.end == interval.start => last.end = interval.end,
            _ => sessions.push(Session {
                start: interval.start,
                end: interval.end,
                energy: Energy::ZERO,
                is_carried: carried == Some(interval.start),
            }),
        }
    }
    sessions
}

/// Energy of the slots of a session.
fn energy_within(slots: &[PlannedSlot], session: &Session) -> Energy {
    let inside = |slot: &&PlannedSlot| session.start <= slot.start && slot.start < session.end;
    slots.iter().filter(inside).fold(Energy::ZERO, |sum, slot| sum + slot.energy)
}

/// Instant at which a session from before the plan may continue; `None` if the device is off.
fn carried_at(request: &SwitchingRequest) -> Option<DateTime<Utc>> {
    matches!(request.state, DeviceState::RunningSince(_)).then_some(request.now)
}

/// Request for the energy that a plan delivers by each deadline.
fn delivering(
    mut request: ChargeRequest,
    outcomes: &[TargetOutcome],
    energy: Energy,
    slots: &[PlannedSlot],
) -> ChargeRequest {
    for (target, outcome) in request.targets.iter_mut().zip(outcomes) {
        target.energy = outcome.delivered;
    }
    // The time that must be run, and slots after a missed deadline, may add energy.
    if outcomes.iter().all(|outcome| outcome.delivered < energy) {
        request.targets.push(Target { by: slots.last().map(|slot| slot.end), energy });
    }
    request
}

/// Cheapest plan for `request` without limits on switching.
fn free_plan(problem: &SwitchingProblem<'_>, request: ChargeRequest) -> Plan {
    let free = ChargeProblem::new(request).expect("what was delivered is no less than nothing");
    plan_charge(problem.curve, &free)
}

/// List of the unmet wishes of a plan: shortfalls, short sessions, and time not run at the end.
fn unmet(problem: &SwitchingProblem<'_>, plan: &SwitchingPlan) -> Vec<UnmetWish> {
    let outcomes = plan.targets.iter().enumerate();
    let missed = outcomes.filter(|(_, outcome)| outcome.shortfall > Energy::ZERO);
    let mut unmet: Vec<UnmetWish> = missed
        .map(|(target, outcome)| UnmetWish::Target { target, missing: outcome.shortfall })
        .collect();
    if !unmet.is_empty() {
        let free = ChargeProblem::new(problem.request.free())
            .expect("the request was checked when the problem was built");
        // Shortfall that remains without limits on switching is not due to them.
        let missing = plan.shortfall - plan_charge(problem.curve, &free).shortfall;
        if missing.as_kwh() > ENERGY_SHARE_MIN * plan.shortfall.as_kwh().max(1.0) {
            unmet.push(UnmetWish::SwitchingLimits { missing });
        }
    }
    let timeline = &problem.timeline;
    let minutes = |micros: i64| micros as f64 / 6e7;
    unmet.extend(
        short_sessions(problem, plan)
            .map(|(at, missing)| UnmetWish::OnMin { at, missing_minutes: minutes(missing) }),
    );
    let missing = timeline.not_run(
        plan.intervals.iter().map(|interval| (micros_of(interval.start), micros_of(interval.end))),
    );
    if missing > 0 {
        unmet.push(UnmetWish::RunLast { missing_minutes: minutes(missing) });
    }
    unmet
}

/// Sessions shorter than `on_min`: the end of each and the missing time in microseconds. A
/// session from before the plan that stops at once is included.
fn short_sessions<'p>(
    problem: &'p SwitchingProblem<'_>,
    plan: &'p SwitchingPlan,
) -> impl Iterator<Item = (DateTime<Utc>, i64)> + 'p {
    let timeline = &problem.timeline;
    let is_carried = plan.sessions.first().is_some_and(|session| session.is_carried);
    let stopped = timeline.running_since.filter(|_| !is_carried);
    let before = stopped.map(|since| (plan.request.now, micros_of(plan.request.now) - since));
    let sessions = plan.sessions.iter().map(|session| {
        let since = timeline.running_since.filter(|_| session.is_carried);
        let start = since.unwrap_or(micros_of(session.start));
        (session.end, micros_of(session.end) - start)
    });
    let short = before.into_iter().chain(sessions);
    let missing = short.map(|(at, length)| (at, timeline.on_min().saturating_sub(length)));
    // The lengths include a top-off only up to its end.
    missing.filter(|&(_, missing)| missing > 0)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use chrono::TimeDelta;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::request::PowerLimit;
    use crate::plan::switching::timeline::tests::{minute, request_of};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, money};

    fn plan_of(
        cents: &[i32],
        energy: f64,
        change: impl FnOnce(&mut SwitchingRequest),
    ) -> SwitchingPlan {
        let mut request = request_of(energy);
        change(&mut request);
        let curve = curve_of(60, cents);
        plan_switching(&SwitchingProblem::new(request, &curve).unwrap())
    }

    /// The periods of a plan, when each target is reached, and what is unmet.
    #[track_caller]
    fn check(plan: &SwitchingPlan, expected: &Expect) {
        // An instant that is rounded down by a microsecond is still that minute.
        let clock = |at: DateTime<Utc>| (at + TimeDelta::seconds(1)).format("%H:%M").to_string();
        let mut text = String::new();
        for interval in &plan.intervals {
            let (start, end) = (clock(interval.start), clock(interval.end));
            let part = if interval.is_top_off { ", top-off" } else { "" };
            let _ = writeln!(text, "{start} to {end} {} kW{part}", interval.power.as_kw());
        }
        for outcome in &plan.targets {
            let (had, wanted) = (outcome.delivered.as_kwh(), outcome.wanted.as_kwh());
            let at = outcome.reached_at.map_or_else(|| "never".to_owned(), clock);
            let _ = writeln!(text, "{had} of {wanted} kWh, reached {at}");
        }
        for wish in &plan.unmet {
            let _ = writeln!(text, "unmet: {}", serde_json::to_string(wish).unwrap());
        }
        expected.assert_eq(&text);
    }

    #[test]
    fn neighbours_at_one_power_are_one_period() {
        check(
            &plan_of(&[10, 10, 20, 30], 26.5, |_| {}),
            &expect![[r#"
                18:00 to 20:00 10 kW
                20:00 to 21:00 6.5 kW
                26.5 of 26.5 kWh, reached 21:00
            "#]],
        );
    }

    #[test]
    fn a_top_off_ends_when_the_energy_is_there() {
        check(
            &plan_of(&[10, 20, 30], 11.0, |_| {}),
            &expect![[r#"
                18:00 to 19:00 10 kW
                19:00 to 19:15 4 kW, top-off
                11 of 11 kWh, reached 19:15
            "#]],
        );
    }

    #[test]
    fn the_rest_of_a_missed_deadline_comes_after_it() {
        let by = |request: &mut SwitchingRequest| request.targets[0].by = Some(minute(60));
        let plan = plan_of(&[30, 20, 10], 15.0, by);
        check(
            &plan,
            &expect![[r#"
                18:00 to 19:00 10 kW
                19:00 to 20:00 5 kW
                10 of 15 kWh, reached 20:00
                unmet: {"wish":"target","target":0,"missing_kwh":5.0}
            "#]],
        );
        // 10 kWh at 30 cents and at once 5 more at 20 cents, in cost and bound alike.
        assert!((plan.cost - money(4.0)).as_amount().abs() < 1e-9);
        assert!(plan.certificate.is_proved());
        let stopped = plan_of(&[30, 20, 10], 15.0, |request| {
            by(request);
            request.after_deadline = AfterDeadline::Stop;
        });
        check(
            &stopped,
            &expect![[r#"
            18:00 to 19:00 10 kW
            10 of 15 kWh, reached never
            unmet: {"wish":"target","target":0,"missing_kwh":5.0}
        "#]],
        );
    }

    #[test]
    fn what_yields_is_named() {
        // On since 17:30 for two hours at least, and nothing is wanted.
        let carried = plan_of(&[10, 20, 30], 0.0, |request| {
            request.state = DeviceState::RunningSince(minute(-30));
            request.on_min = TimeDelta::hours(2);
        });
        check(
            &carried,
            &expect![[r#"
            0 of 0 kWh, reached 18:00
            unmet: {"wish":"on_min","at":"2026-01-05T18:00:00Z","missing_minutes":90.0}
        "#]],
        );
        // Half of the last hour is below the least power.
        let limited = plan_of(&[10, 20, 30], 8.0, |request| {
            let (start, end) = (minute(150), minute(180));
            request.power_limits.push(PowerLimit { start, end, power_max: kw(3.0) });
            request.targets[0].by = Some(end);
            request.run_last = TimeDelta::hours(1);
        });
        check(
            &limited,
            &expect![[r#"
                18:00 to 19:00 6 kW
                20:00 to 20:30 4 kW
                8 of 8 kWh, reached 20:30
                unmet: {"wish":"run_last","missing_minutes":30.0}
            "#]],
        );
        // Free choice could deliver 25 kWh at 10 kW; one session of an hour and a half holds 15.
        let switching = plan_of(&[10, 20, 30], 25.0, |request| {
            let (start, end) = (minute(60), minute(90));
            request.power_limits.push(PowerLimit { start, end, power_max: kw(3.0) });
            request.one_block = true;
        });
        check(
            &switching,
            &expect![[r#"
                19:30 to 21:00 10 kW
                15 of 25 kWh, reached never
                unmet: {"wish":"target","target":0,"missing_kwh":10.0}
                unmet: {"wish":"switching_limits","missing_kwh":10.0}
            "#]],
        );
    }

    #[test]
    fn a_session_that_goes_on_costs_no_start() {
        let plan = plan_of(&[20, 10, 10, 30], 24.0, |request| {
            request.state = DeviceState::RunningSince(minute(-60));
            request.start_cost = money(1.0);
        });
        assert_eq!(plan.start_costs, Money::ZERO);
        assert_eq!(plan.sessions.len(), 1);
        let Session { start, end, energy, is_carried } = plan.sessions[0];
        assert_eq!((start, end, is_carried), (minute(0), minute(180), true));
        assert!((energy.as_kwh() - 24.0).abs() < 1e-9);
        // 4 kWh at 20 cents and 20 at 10 cents; a new start at 19:00 would save none of it.
        assert!((plan.cost - money(2.8)).as_amount().abs() < 1e-9);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_plan_adds_up(
            cents in prop::collection::vec(-20..60i32, 2..9), share in 0.0..1.1f64,
            start_cost in 0.0..2.0f64, on_min in 0..3i64, run_last in 0..2i64,
        ) {
            let wanted = share * 10.0 * cents.len() as f64;
            let plan = plan_of(&cents, wanted, |request| {
                request.start_cost = money(start_cost);
                request.on_min = TimeDelta::hours(on_min);
                request.run_last = TimeDelta::hours(run_last);
            });
            let hours = |start: DateTime<Utc>, end: DateTime<Utc>| {
                (end - start).num_microseconds().unwrap() as f64 / 3.6e9
            };
            let drawn = plan.intervals.iter().map(|at| at.power.as_kw() * hours(at.start, at.end));
            prop_assert!((drawn.sum::<f64>() - plan.energy.as_kwh()).abs() < 1e-6);
            let powers = plan.intervals.iter().map(|interval| interval.power.as_kw());
            prop_assert!(powers.into_iter().all(|kw| (4.0..=10.0).contains(&kw)));
            let in_sessions: f64 = plan.sessions.iter().map(|one| one.energy.as_kwh()).sum();
            prop_assert!((in_sessions - plan.energy.as_kwh()).abs() < 1e-6);
            let starts = plan.sessions.len() as f64 * start_cost;
            prop_assert!((plan.start_costs.as_amount() - starts).abs() < 1e-9);
            prop_assert_eq!(plan.cost, plan.energy_cost + plan.start_costs);
            let certificate = &plan.certificate;
            prop_assert!(certificate.is_proved());
            prop_assert!(certificate.relaxed_bound.is_none_or(|bound| bound <= plan.cost));
            prop_assert!(plan.smoothness_cost().as_amount() >= -1e-9);
        }
    }
}

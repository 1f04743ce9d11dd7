//! Usable slots of a device as steps, with the rules of switching as step positions.
//!
//! *Boundary* `i` lies before step `i`; boundary `T` is the end. Instants and lengths of time
//! become boundaries here, so the searches compare positions only.
use crate::plan::charge::request::{AfterDeadline, ChargeProblem};
use crate::plan::charge::sub_slots::{Deadline, deadlines, nest, sub_slots};
use crate::plan::switching::request::{DeviceState, SwitchingRequest, Uneven};
use crate::prices::curve::PriceCurve;
use crate::time::instant::micros_of;
use crate::tolerance::{ENERGY_SHARE_MIN, SUM_ROUNDING};
use crate::units::{Energy, MICROS_PER_HOUR, Power};

/// Most cells in the tables of the exact search: 200 MB at 8 bytes a cell.
const CELLS_MAX: f64 = 2.5e7;

/// Price added per hour from the start, as a share of the highest absolute price, so that of
/// plans of equal cost the earlier is cheaper. Rounding of sums is a hundred times smaller, and
/// the tolerance of a proof ten times larger.
const TIE_BREAK: f64 = 1e-13;

/// Slot, or the usable part of one. Instants are in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// Price per kWh, with the addition of `TIE_BREAK` per hour.
    pub(crate) price: f64,
    /// Energy at the least power, in kWh.
    pub(crate) least: f64,
    /// Energy at the highest power, in kWh.
    pub(crate) most: f64,
}

impl Step {
    /// Length in microseconds.
    fn length(&self) -> i64 {
        self.end - self.start
    }
}

/// Rules that are kept or relaxed in one search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// True if the device runs in the last slots (`run_last`).
    pub(crate) runs_last: bool,
    /// True if the last session may be shorter than `on_min`.
    pub(crate) last_may_be_short: bool,
}

/// Input of the searches: steps, levels and rules.
#[derive(Debug, Clone)]
pub(crate) struct Timeline {
    pub(crate) steps: Vec<Step>,
    /// Energy wanted before boundaries, by rising boundary.
    pub(crate) levels: Vec<Level>,
    /// Cost of one start.
    pub(crate) start_cost: f64,
    /// Most sessions; `None` is no limit.
    pub(crate) sessions_max: Option<usize>,
    /// First step of the time that must be run; `T` if there is none.
    pub(crate) first_run: usize,
    /// Start of the session that the first step can continue, in microseconds.
    pub(crate) carried_since: Option<i64>,
    /// First boundary at which the device may start.
    pub(crate) first_start: usize,
    /// Start of the session that was running when the plan begins, in microseconds. It is also
    /// set where the first step cannot continue that session.
    pub(crate) running_since: Option<i64>,
    /// Last deadline: the end of the window of the plan, in microseconds.
    pub(crate) window_end: i64,
    /// Deadlines at which slots are cut.
    pub(crate) cuts: Vec<Deadline>,
    /// Period in which the device must run, `[start, end)` in microseconds.
    run: (i64, i64),
    on_min: i64,
    off_min: i64,
    now: i64,
    /// Largest addition of `TIE_BREAK` to the price of a step.
    tie_max: f64,
}

/// Energy wanted before a boundary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Level {
    pub(crate) boundary: usize,
    pub(crate) kwh: f64,
}

impl Timeline {
    /// Timeline of a request; `free` is its request without limits on switching.
    pub(crate) fn new(
        curve: &PriceCurve,
        request: &SwitchingRequest,
        free: &ChargeProblem,
    ) -> Self {
        let wanted = wanted_by(request, free);
        let last = wanted.last().map_or(i64::MAX, |deadline| deadline.by);
        let (steps, tie_max) = steps(curve, request, free, &wanted, last);
        let micros = |length: chrono::TimeDelta| length.num_microseconds().unwrap_or(i64::MAX);
        let now = free.from();
        // Without a last deadline the plan ends with the last step.
        let end = if last < i64::MAX { last } else { steps.last().map_or(now, |step| step.end) };
        let run_from = end.saturating_sub(micros(request.run_last));
        let first_run = steps.partition_point(|step| step.end <= run_from);
        let mut timeline = Self {
            levels: levels(&steps, &wanted),
            start_cost: request.start_cost.as_amount(),
            sessions_max: request.sessions_limit().map(|most| most as usize),
            first_run,
            carried_since: None,
            running_since: None,
            first_start: 0,
            window_end: last,
            cuts: wanted,
            run: (run_from.max(now), end),
            on_min: micros(request.on_min),
            off_min: micros(request.off_min),
            now,
            tie_max,
            steps,
        };
        timeline.carry(request.state);
        timeline.drop_unwanted_end();
        // More sessions than steps are no limit, and each layer of the graph costs time.
        timeline.sessions_max = timeline.sessions_max.filter(|&most| most <= timeline.len());
        timeline
    }

    /// Drops the steps after the level, if there is only one and no time that must be run.
    fn drop_unwanted_end(&mut self) {
        if let [only] = self.levels[..]
            && self.first_run == self.len()
        {
            self.keep_first(only.boundary);
        }
    }

    /// Truncates the timeline to its first `steps` steps.
    fn keep_first(&mut self, steps: usize) {
        self.steps.truncate(steps);
        self.first_run = self.first_run.min(steps);
        self.first_start = self.first_start.min(steps);
    }

    /// Problem up to the first level; `None` if a later level wants more, or if that problem is
    /// uneven.
    ///
    /// A plan that meets this level meets all levels, so the cheapest such plan is optimal for
    /// the whole problem. If the level cannot be met, the later levels matter.
    pub(crate) fn first_part(&self) -> Option<Self> {
        let (first, later) = self.levels.split_first()?;
        let is_enough = later.iter().all(|level| level.kwh <= first.kwh);
        // One level is the whole problem already, and time that must be run ends with the last.
        if later.is_empty() || !is_enough || self.first_run < self.len() {
            return None;
        }
        let mut part = Self { levels: vec![*first], ..self.clone() };
        part.keep_first(first.boundary);
        part.uneven().is_none().then_some(part)
    }

    /// Sets the carried session and the first start from the state of the device.
    fn carry(&mut self, state: DeviceState) {
        if let DeviceState::RunningSince(since) = state {
            self.running_since = Some(micros_of(since));
        }
        // Time at the start in which the device may not run ends the session.
        let goes_on = self.steps.first().is_some_and(|step| step.start == self.now);
        let stopped = match state {
            DeviceState::Off => return,
            DeviceState::RunningSince(since) if goes_on && self.sessions_max != Some(0) => {
                self.carried_since = Some(micros_of(since));
                self.now
            }
            // The session ends here, and its pause begins.
            DeviceState::RunningSince(_) => self.now,
            DeviceState::StoppedSince(since) => micros_of(since),
        };
        let ready = stopped.saturating_add(self.off_min);
        self.first_start = self.steps.partition_point(|step| step.start < ready);
        if self.carried_since.is_some() {
            // A stop and a start at boundary 0 would be the carried session without a pause.
            self.first_start = self.first_start.max(1);
        }
    }

    /// Number of steps, `T`.
    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    /// First step that must be on under `rules`; `T` if there is none.
    pub(crate) fn first_run(&self, rules: Rules) -> usize {
        if rules.runs_last { self.first_run } else { self.len() }
    }

    /// Returns true if a session can continue over a boundary, because no time lies between its
    /// steps.
    pub(crate) fn is_joined(&self, boundary: usize) -> bool {
        match boundary {
            0 => self.carried_since.is_some(),
            i => i < self.len() && self.steps[i - 1].end == self.steps[i].start,
        }
    }

    /// First boundary at which a session that starts with step `start` may stop; `None` if it
    /// cannot last for `on_min`.
    pub(crate) fn may_stop(&self, start: usize) -> Option<usize> {
        self.on_until(start, self.steps[start].start).map(|end| end.max(start + 1))
    }

    /// True if the session that was running when the plan begins cannot last for its least time, and
    /// may not be short under the rules.
    #[cfg(feature = "lp")]
    pub(crate) fn breaks_carried_session(&self, rules: Rules) -> bool {
        self.carried_since.is_some()
            && self.carried_may_stop().is_none()
            && !rules.last_may_be_short
    }

    /// First boundary at which the carried session may stop; `None` without one, or if it cannot
    /// last for `on_min`.
    pub(crate) fn carried_may_stop(&self) -> Option<usize> {
        self.on_until(0, self.carried_since?)
    }

    /// First boundary at or after `first` at which a session that began at `since` has lasted
    /// for `on_min`; `None` if a gap or the end comes first.
    fn on_until(&self, first: usize, since: i64) -> Option<usize> {
        let until = since.saturating_add(self.on_min);
        let mut end = first;
        let mut at = self.steps[first].start;
        while at < until {
            if end == self.len() || (end > first && !self.is_joined(end)) {
                return None;
            }
            at = self.steps[end].end;
            end += 1;
        }
        Some(end)
    }

    /// First boundary at which the device may start after a stop at boundary `stopped`; `T` if
    /// it may not.
    pub(crate) fn may_start(&self, stopped: usize) -> usize {
        if stopped == 0 {
            return self.first_start;
        }
        let ready = self.steps[stopped - 1].end.saturating_add(self.off_min);
        let rest = &self.steps[stopped..];
        let first = stopped + rest.partition_point(|step| step.start < ready);
        // A start at the boundary of the stop would continue the session.
        if self.is_joined(stopped) { first.max(stopped + 1) } else { first }
    }

    /// Upper bound on what the additions of `TIE_BREAK` add to the cost of any plan.
    pub(crate) fn tie_cost(&self) -> f64 {
        let wanted = self.levels.iter().fold(0.0, |most: f64, level| most.max(level.kwh));
        let run: f64 = self.steps[self.first_run..].iter().map(|step| step.least).sum();
        self.tie_max * (wanted + run)
    }

    /// Returns true if there is a least time on.
    pub(crate) fn has_on_min(&self) -> bool {
        self.on_min > 0
    }

    /// Timeline of a device that runs at full power or not at all.
    pub(crate) fn at_full_power(&self) -> Self {
        let steps = self.steps.iter().map(|step| Step { least: step.most, ..*step });
        Self { steps: steps.collect(), ..self.clone() }
    }

    /// Time in which the device must run and does not, in microseconds. `running` are the
    /// periods `[start, end)` of the plan.
    pub(crate) fn not_run(&self, running: impl Iterator<Item = (i64, i64)>) -> i64 {
        let (from, to) = self.run;
        let covered =
            running.map(|(start, end)| (end.min(to) - start.max(from)).max(0)).sum::<i64>();
        (to.saturating_sub(from)).max(0) - covered
    }

    /// Least time on, in microseconds.
    pub(crate) fn on_min(&self) -> i64 {
        self.on_min
    }

    /// Need in kWh: that of the last level, or the least energy of the steps that must run if
    /// that is more.
    pub(crate) fn wanted(&self, rules: Rules) -> f64 {
        let wanted = self.levels.last().map_or(0.0, |level| level.kwh);
        let run = self.steps[self.first_run(rules)..].iter().map(|step| step.least).sum::<f64>();
        wanted.max(run)
    }

    /// Step of the length of all steps except the first and the last.
    pub(crate) fn regular(&self) -> Step {
        self.steps[usize::from(self.len() > 2)]
    }

    /// Reason why the exact search does not apply; `None` if it does. The exact search has one
    /// level, at the end.
    pub(crate) fn uneven(&self) -> Option<Uneven> {
        let is_at_end = |level: &Level| level.boundary == self.len();
        if self.levels.len() > 1 || !self.levels.iter().all(is_at_end) {
            return Some(Uneven::Deadlines);
        }
        let (first, last) = (self.steps.first()?, self.steps.last()?);
        let kw = |step: &Step| step.most / step.length() as f64;
        if self.steps.iter().any(|step| (kw(step) - kw(first)).abs() > kw(first) * SUM_ROUNDING) {
            return Some(Uneven::Powers);
        }
        // The first and the last step may be cut short by the start and the end of the plan.
        let inner = self.steps.get(1..self.len() - 1).unwrap_or_default();
        if inner.iter().any(|step| step.length() != inner[0].length()) {
            return Some(Uneven::Lengths);
        }
        let regular = inner.first().unwrap_or(last);
        let count = self.len() as f64;
        let wanted = self.levels.last().map_or(0.0, |level| level.kwh);
        let most = |kwh: f64| if kwh > 0.0 { (wanted / kwh + 2.0).min(count) } else { count };
        // Size of the tables: full slots × least slots × boundaries × layers.
        let cells = most(regular.most)
            * most(regular.least)
            * count
            * (self.sessions_max.unwrap_or(0) + 1) as f64
            * 4.0;
        (cells > CELLS_MAX).then_some(Uneven::States)
    }
}

/// Steps up to the instant `last` at which the device may be on, with the largest addition to
/// a price.
fn steps(
    curve: &PriceCurve,
    request: &SwitchingRequest,
    free: &ChargeProblem,
    wanted: &[Deadline],
    last: i64,
) -> (Vec<Step>, f64) {
    let step_power = request.step_power();
    let hours = |micros: i64| micros as f64 / MICROS_PER_HOUR;
    let pieces = sub_slots(curve, free, wanted);
    // Where a limit is below the least power, the device is off.
    let usable = pieces.iter().filter(|piece| {
        piece.end <= last && piece.power >= step_power && piece.power > Power::ZERO
    });
    let mut steps: Vec<Step> = Vec::with_capacity(pieces.len());
    let scale =
        pieces.iter().fold(0.0, |most: f64, piece| most.max(piece.price.as_per_kwh().abs()));
    let mut tie_max: f64 = 0.0;
    for piece in usable {
        let length = hours(piece.end - piece.start);
        let tie = hours(piece.start - free.from()) * TIE_BREAK * scale;
        tie_max = tie_max.max(tie);
        steps.push(Step {
            start: piece.start,
            end: piece.end,
            price: piece.price.as_per_kwh() + tie,
            least: step_power.as_kw() * length,
            most: piece.power.as_kw() * length,
        });
    }
    (steps, tie_max)
}

/// Deadlines in time order, with the energy wanted by each.
///
/// With [`AfterDeadline::Continue`] the next deadline includes the shortfall of a missed one, so
/// the energy wanted does not fall over time. With [`AfterDeadline::Stop`] each deadline is
/// separate. A deadline that wants nothing cuts no slot, except for the last one, which ends
/// the plan.
fn wanted_by(request: &SwitchingRequest, free: &ChargeProblem) -> Vec<Deadline> {
    let mut wanted = deadlines(free);
    for deadline in &mut wanted {
        deadline.by = deadline.by.min(free.to());
    }
    // Deadlines after the departure now fall on it, so they are sorted by energy again.
    wanted.sort_by(|a, b| a.by.cmp(&b.by).then(a.energy.total_cmp(&b.energy)));
    match request.after_deadline {
        AfterDeadline::Continue => nest(&mut wanted),
        AfterDeadline::Stop => {}
    }
    // The last deadline stays in any case, because it ends the window of the plan.
    let last = wanted.last().map(|deadline| deadline.by);
    wanted.retain(|deadline| deadline.energy > Energy::ZERO || Some(deadline.by) == last);
    wanted
}

/// Levels of the deadlines: for each boundary the most energy that is wanted there.
///
/// A level before the first step is left out, because no plan can deliver any of it.
fn levels(steps: &[Step], wanted: &[Deadline]) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    for deadline in wanted {
        let boundary = steps.partition_point(|step| step.end <= deadline.by);
        let kwh = deadline.energy.as_kwh();
        match levels.last_mut() {
            Some(last) if last.boundary == boundary => last.kwh = last.kwh.max(kwh),
            _ if boundary > 0 && kwh > 0.0 => levels.push(Level { boundary, kwh }),
            _ => {}
        }
    }
    levels
}

/// Compares two plans by the shortfall of each level in kWh, earliest level first: `Some(true)`
/// if `a` has less, `None` if both are equal within `ENERGY_SHARE_MIN`.
pub(crate) fn misses_less(a: &[f64], b: &[f64], timeline: &Timeline) -> Option<bool> {
    let levels = timeline.levels.iter().zip(a.iter().zip(b));
    let mut unequal =
        levels.filter(|(level, (a, b))| (**a - **b).abs() > ENERGY_SHARE_MIN * level.kwh);
    unequal.next().map(|(_, (a, b))| a < b)
}

#[cfg(test)]
pub(crate) mod tests {
    use chrono::{DateTime, TimeDelta, Utc};

    use super::*;
    use crate::plan::charge::request::{PowerLimit, Target};
    use crate::plan::switching::problem::SwitchingProblem;
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh};

    /// No rule yields.
    pub(crate) const STRICT: Rules = Rules { runs_last: true, last_may_be_short: false };

    /// An instant so many minutes after 18:00Z, where `curve_of` begins.
    pub(crate) fn minute(minutes: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    /// A device of 4 to 10 kW that is to buy so many kWh from 18:00Z on.
    pub(crate) fn request_of(energy: f64) -> SwitchingRequest {
        let target = Target { by: None, energy: kwh(energy) };
        SwitchingRequest {
            power_min: kw(4.0),
            ..SwitchingRequest::new(minute(0), kw(10.0), target)
        }
    }

    /// Hours priced in cents for `request_of(energy)`, with a change.
    pub(crate) fn timeline_of(
        cents: &[i32],
        energy: f64,
        change: impl FnOnce(&mut SwitchingRequest),
    ) -> Timeline {
        let mut request = request_of(energy);
        change(&mut request);
        SwitchingProblem::new(request, &curve_of(60, cents)).unwrap().timeline
    }

    fn limit(from: i64, to: i64, power: f64) -> PowerLimit {
        PowerLimit { start: minute(from), end: minute(to), power_max: kw(power) }
    }

    #[cfg(feature = "lp")]
    fn by(minutes: i64, energy: f64) -> Target {
        Target { by: Some(minute(minutes)), energy: kwh(energy) }
    }

    #[test]
    fn a_step_holds_the_energy_of_its_length() {
        // Half an hour is left of the first hour: 2 to 5 kWh at 4 to 10 kW.
        let timeline = timeline_of(&[10, 20], 6.0, |request| request.now = minute(30));
        let energies: Vec<(f64, f64)> =
            timeline.steps.iter().map(|step| (step.least, step.most)).collect();
        assert_eq!(energies, [(2.0, 5.0), (4.0, 10.0)]);
        assert_eq!(timeline.levels, [Level { boundary: 2, kwh: 6.0 }]);
    }

    #[test]
    fn of_equal_prices_the_earlier_one_is_the_lower() {
        let timeline = timeline_of(&[20, 20, 20], 6.0, |_| {});
        assert!(timeline.steps.is_sorted_by(|a, b| a.price < b.price));
        let added = timeline.steps[2].price - 0.2;
        assert!(added > 0.0 && added * 6.0 <= timeline.tie_cost() * 1.01);
        assert!(timeline.tie_cost() < 1e-11);
    }

    #[test]
    fn a_limit_below_the_least_power_forbids_running() {
        let timeline = timeline_of(&[10, 20, 30], 6.0, |request| {
            request.power_limits = vec![limit(60, 120, 3.0)];
            request.on_min = TimeDelta::hours(2);
        });
        let starts: Vec<i64> = timeline.steps.iter().map(|step| step.start).collect();
        assert_eq!(starts, [micros_of(minute(0)), micros_of(minute(120))]);
        assert!(!timeline.is_joined(1));
        // No session of two hours fits on either side of the gap.
        assert_eq!((timeline.may_stop(0), timeline.may_stop(1)), (None, None));
    }

    #[test]
    fn least_times_are_whole_steps() {
        let timeline = timeline_of(&[10, 20, 30, 40], 6.0, |request| {
            request.on_min = TimeDelta::minutes(90);
            request.off_min = TimeDelta::minutes(90);
        });
        // 90 minutes from 18:00 end at 19:30, within the second hour.
        let stops: Vec<Option<usize>> = (0..4).map(|start| timeline.may_stop(start)).collect();
        assert_eq!(stops, [Some(2), Some(3), Some(4), None]);
        // Stopped at 19:00 it is ready at 20:30, so at 21:00.
        assert_eq!((1..=4).map(|at| timeline.may_start(at)).collect::<Vec<_>>(), [3, 4, 4, 4]);
        let free = timeline_of(&[10, 20, 30], 6.0, |_| {});
        // Stopping and starting at once is going on.
        assert_eq!((free.may_stop(1), free.may_start(1)), (Some(2), 2));
    }

    #[test]
    fn the_past_counts_for_least_times() {
        let running = timeline_of(&[10, 20, 30], 6.0, |request| {
            request.state = DeviceState::RunningSince(minute(-30));
            (request.on_min, request.off_min) = (TimeDelta::hours(2), TimeDelta::hours(2));
        });
        assert!(running.is_joined(0));
        // On since 17:30 until 19:30 at least; off from 18:00 on it may start at 20:00.
        assert_eq!((running.carried_may_stop(), running.first_start), (Some(2), 2));
        let stopped = timeline_of(&[10, 20, 30], 6.0, |request| {
            request.state = DeviceState::StoppedSince(minute(-30));
            request.off_min = TimeDelta::hours(1);
        });
        assert!(!stopped.is_joined(0));
        assert_eq!((stopped.carried_may_stop(), stopped.first_start), (None, 1));
    }

    #[cfg(feature = "lp")]
    #[test]
    fn the_rest_of_a_missed_deadline_is_wanted_later() {
        let levels = |after_deadline| {
            let timeline = timeline_of(&[10, 20, 30], 8.0, |request| {
                request.targets.push(by(60, 20.0));
                request.after_deadline = after_deadline;
            });
            timeline.levels.iter().map(|level| (level.boundary, level.kwh)).collect::<Vec<_>>()
        };
        assert_eq!(levels(AfterDeadline::Continue), [(1, 20.0), (3, 20.0)]);
        assert_eq!(levels(AfterDeadline::Stop), [(1, 20.0), (3, 8.0)]);
    }

    #[cfg(feature = "lp")]
    #[test]
    fn a_first_level_that_wants_most_is_a_problem_of_its_own() {
        let two = |early: f64, late: f64| {
            timeline_of(&[10, 20, 30], late, |request| request.targets.push(by(120, early)))
        };
        let part = two(8.0, 8.0).first_part().unwrap();
        assert_eq!((part.len(), &part.levels[..]), (2, &[Level { boundary: 2, kwh: 8.0 }][..]));
        assert!(two(8.0, 9.0).first_part().is_none());
        assert!(timeline_of(&[10, 20], 8.0, |_| {}).first_part().is_none());
    }

    #[test]
    fn the_last_minutes_are_whole_steps_that_want_their_least() {
        let timeline = timeline_of(&[10, 20, 30, 40], 3.0, |request| {
            request.run_last = TimeDelta::minutes(90);
        });
        // From 20:30 on, so the two hours from 20:00 on, of 4 kWh each.
        let free = Rules { runs_last: false, ..STRICT };
        assert_eq!((timeline.first_run(STRICT), timeline.first_run(free)), (2, 4));
        assert_eq!((timeline.wanted(STRICT), timeline.wanted(free)), (8.0, 3.0));
        // A plan that runs from 18:00 to 21:00 leaves 60 of the 90 minutes out.
        let ran = [(micros_of(minute(0)), micros_of(minute(180)))];
        assert_eq!(timeline.not_run(ran.into_iter()), 3_600_000_000);
    }

    #[cfg(feature = "lp")]
    #[test]
    fn the_exact_search_is_told_what_it_does_not_know() {
        let uneven =
            |change: fn(&mut SwitchingRequest)| timeline_of(&[10, 20, 30], 6.0, change).uneven();
        assert_eq!(uneven(|_| {}), None);
        assert_eq!(uneven(|request| request.now = minute(30)), None);
        let deadlines = uneven(|request| request.targets.push(by(60, 2.0)));
        assert_eq!(deadlines, Some(Uneven::Deadlines));
        let powers = uneven(|request| request.power_limits.push(limit(60, 120, 6.0)));
        assert_eq!(powers, Some(Uneven::Powers));
        // A limit inside the second hour cuts it in three, all at one power.
        let lengths = uneven(|request| request.power_limits.push(limit(75, 90, 10.0)));
        assert_eq!(lengths, Some(Uneven::Lengths));
        // 1,500 kWh in steps of 10 W: a hundred times more states than are allowed.
        let many = timeline_of(&[10; 1500], 1500.0, |request| request.power_min = kw(0.01));
        assert_eq!(many.uneven(), Some(Uneven::States));
    }

    #[cfg(feature = "lp")]
    #[test]
    fn the_earliest_level_decides_which_plan_misses_less() {
        let timeline =
            timeline_of(&[10, 20, 30], 20.0, |request| request.targets.push(by(60, 10.0)));
        assert_eq!(misses_less(&[0.0, 5.0], &[1.0, 0.0], &timeline), Some(true));
        assert_eq!(misses_less(&[1.0, 5.0], &[1.0, 4.0], &timeline), Some(false));
        // Rounding at the first level, of 10 kWh, is below 1e-8 kWh.
        assert_eq!(misses_less(&[5e-9, 4.0], &[0.0, 5.0], &timeline), Some(true));
        assert_eq!(misses_less(&[2.0, 4.0], &[2.0, 4.0], &timeline), None);
    }
}

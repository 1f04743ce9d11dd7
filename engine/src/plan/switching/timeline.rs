//! The slots a device may use, and the rules of switching among them.
//!
//! A *boundary* `i` lies before step `i`; boundary `T` is the end. All rules
//! that speak of time are turned into boundaries here, so that the searches
//! only count.
use crate::plan::charge::request::{AfterDeadline, ChargeProblem};
use crate::plan::charge::sub_slots::{Deadline, deadlines, nest, sub_slots};
use crate::plan::switching::request::{DeviceState, SwitchingRequest, Uneven};
use crate::prices::curve::PriceCurve;
use crate::time::instant::micros_of;
use crate::units::{Energy, MICROS_PER_HOUR, Power};

/// Most numbers in the tables of the exact search: 200 MB.
const CELLS_MAX: f64 = 2.5e7;

/// A later step is dearer by this part of the highest price, so that of equal
/// plans the earlier is the cheaper one. Rounding of sums is a hundred times
/// smaller, and what counts as proved ten times larger.
const TIE: f64 = 1e-13;

/// A slot, or the part of one that can be used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// Per kWh, the later the dearer among equals.
    pub(crate) price: f64,
    /// Least and most energy when on, in kWh.
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Step {
    fn length(&self) -> i64 {
        self.end - self.start
    }
}

/// What is relaxed in one attempt at a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// The last slots are run.
    pub(crate) runs_last: bool,
    /// The last session may be shorter than `on_min`.
    pub(crate) last_may_be_short: bool,
}

/// All that the searches know of a problem.
#[derive(Debug, Clone)]
pub(crate) struct Timeline {
    pub(crate) steps: Vec<Step>,
    /// Energy wanted before boundaries, in the order of these.
    pub(crate) levels: Vec<Level>,
    pub(crate) start_cost: f64,
    /// Most sessions; `None` is no limit.
    pub(crate) sessions_max: Option<usize>,
    /// First step of the time that must be run; `T` if there is none.
    pub(crate) first_run: usize,
    /// The first step continues a session that began at this instant.
    pub(crate) carried_since: Option<i64>,
    /// First boundary at which the device may start.
    pub(crate) first_start: usize,
    /// A session was running when the plan begins, since this instant.
    pub(crate) running_since: Option<i64>,
    /// Where the window of the plan ends, and where its slots are cut.
    pub(crate) window_end: i64,
    pub(crate) cuts: Vec<Deadline>,
    /// First instant of the time that must be run, and the end of that time.
    run: (i64, i64),
    on_min: i64,
    off_min: i64,
    now: i64,
    /// Largest addition to the price of a step that orders equal prices.
    tie_max: f64,
}

/// Energy wanted before a boundary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Level {
    pub(crate) boundary: usize,
    pub(crate) kwh: f64,
}

impl Timeline {
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
        timeline.sessions_max = timeline.sessions_max.filter(|&most| most <= timeline.len());
        timeline
    }

    /// Drops the steps after the only level: nothing is wanted there.
    fn drop_unwanted_end(&mut self) {
        if let [only] = self.levels[..]
            && self.first_run == self.len()
        {
            self.keep_first(only.boundary);
        }
    }

    fn keep_first(&mut self, steps: usize) {
        self.steps.truncate(steps);
        self.first_run = self.first_run.min(steps);
        self.first_start = self.first_start.min(steps);
    }

    /// The problem up to the first level, if no later level wants more.
    ///
    /// A plan that meets this level meets all levels, so the cheapest such plan
    /// is the cheapest plan of the whole problem. Where the level cannot be met,
    /// the later levels decide how its rest is bought.
    pub(crate) fn first_part(&self) -> Option<Self> {
        let (first, later) = self.levels.split_first()?;
        let is_enough = later.iter().all(|level| level.kwh <= first.kwh);
        if later.is_empty() || !is_enough || self.first_run < self.len() {
            return None;
        }
        let mut part = Self { levels: vec![*first], ..self.clone() };
        part.keep_first(first.boundary);
        part.uneven().is_none().then_some(part)
    }

    /// Takes over what the device did before.
    fn carry(&mut self, state: DeviceState) {
        if let DeviceState::RunningSince(since) = state {
            self.running_since = Some(micros_of(since));
        }
        let goes_on = self.steps.first().is_some_and(|step| step.start == self.now);
        let stopped = match state {
            DeviceState::Off => return,
            DeviceState::RunningSince(since) if goes_on && self.sessions_max != Some(0) => {
                self.carried_since = Some(micros_of(since));
                self.now
            }
            DeviceState::RunningSince(_) => self.now,
            DeviceState::StoppedSince(since) => micros_of(since),
        };
        let ready = stopped.saturating_add(self.off_min);
        self.first_start = self.steps.partition_point(|step| step.start < ready);
        if self.carried_since.is_some() {
            // Stopping and starting at once is going on.
            self.first_start = self.first_start.max(1);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    /// First step that must be on, under these rules.
    pub(crate) fn first_run(&self, rules: Rules) -> usize {
        if rules.runs_last { self.first_run } else { self.len() }
    }

    /// Whether a session can go on over a boundary.
    pub(crate) fn is_joined(&self, boundary: usize) -> bool {
        match boundary {
            0 => self.carried_since.is_some(),
            i => i < self.len() && self.steps[i - 1].end == self.steps[i].start,
        }
    }

    /// First boundary at which a session from `start` on may stop, if it can
    /// last so long.
    pub(crate) fn may_stop(&self, start: usize) -> Option<usize> {
        self.on_until(start, self.steps[start].start).map(|end| end.max(start + 1))
    }

    /// The same for the session that goes on at the first boundary.
    pub(crate) fn carried_may_stop(&self) -> Option<usize> {
        self.on_until(0, self.carried_since?)
    }

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

    /// First boundary at which the device may start again after it stopped at
    /// a boundary; `T` if it may not.
    pub(crate) fn may_start(&self, stopped: usize) -> usize {
        if stopped == 0 {
            return self.first_start;
        }
        let ready = self.steps[stopped - 1].end.saturating_add(self.off_min);
        let rest = &self.steps[stopped..];
        let first = stopped + rest.partition_point(|step| step.start < ready);
        if self.is_joined(stopped) { first.max(stopped + 1) } else { first }
    }

    /// Most that the order of equal prices adds to the cost of any plan.
    pub(crate) fn tie_cost(&self) -> f64 {
        let wanted = self.levels.iter().fold(0.0, |most: f64, level| most.max(level.kwh));
        let run: f64 = self.steps[self.first_run..].iter().map(|step| step.least).sum();
        self.tie_max * (wanted + run)
    }

    /// Whether least times to be on or off matter at all.
    pub(crate) fn has_on_min(&self) -> bool {
        self.on_min > 0
    }

    /// The same time for a device that runs at full power or not at all.
    pub(crate) fn at_full_power(&self) -> Self {
        let steps = self.steps.iter().map(|step| Step { least: step.most, ..*step });
        Self { steps: steps.collect(), ..self.clone() }
    }

    /// Microseconds of the time that must be run in which nothing runs.
    pub(crate) fn not_run(&self, running: impl Iterator<Item = (i64, i64)>) -> i64 {
        let (from, to) = self.run;
        let covered =
            running.map(|(start, end)| (end.min(to) - start.max(from)).max(0)).sum::<i64>();
        (to.saturating_sub(from)).max(0) - covered
    }

    pub(crate) fn on_min(&self) -> i64 {
        self.on_min
    }

    /// Energy wanted in all; with time that must be run, at least what that takes.
    pub(crate) fn wanted(&self, rules: Rules) -> f64 {
        let wanted = self.levels.last().map_or(0.0, |level| level.kwh);
        let run = self.steps[self.first_run(rules)..].iter().map(|step| step.least).sum::<f64>();
        wanted.max(run)
    }

    /// A step of the length that all have but the first and the last.
    pub(crate) fn regular(&self) -> Step {
        self.steps[usize::from(self.len() > 2)]
    }

    /// Why the exact search does not apply. It knows one level, at the end.
    pub(crate) fn uneven(&self) -> Option<Uneven> {
        let is_at_end = |level: &Level| level.boundary == self.len();
        if self.levels.len() > 1 || !self.levels.iter().all(is_at_end) {
            return Some(Uneven::Deadlines);
        }
        let (first, last) = (self.steps.first()?, self.steps.last()?);
        let kw = |step: &Step| step.most / step.length() as f64;
        if self.steps.iter().any(|step| (kw(step) - kw(first)).abs() > kw(first) * 1e-12) {
            return Some(Uneven::Powers);
        }
        let inner = self.steps.get(1..self.len() - 1).unwrap_or_default();
        if inner.iter().any(|step| step.length() != inner[0].length()) {
            return Some(Uneven::Lengths);
        }
        let regular = inner.first().unwrap_or(last);
        let count = self.len() as f64;
        let wanted = self.levels.last().map_or(0.0, |level| level.kwh);
        let most = |kwh: f64| if kwh > 0.0 { (wanted / kwh + 2.0).min(count) } else { count };
        let cells = most(regular.most)
            * most(regular.least)
            * count
            * (self.sessions_max.unwrap_or(0) + 1) as f64
            * 4.0;
        (cells > CELLS_MAX).then_some(Uneven::States)
    }
}

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
    let usable = pieces.iter().filter(|piece| {
        piece.end <= last && piece.power >= step_power && piece.power > Power::ZERO
    });
    let mut steps: Vec<Step> = Vec::with_capacity(pieces.len());
    let scale =
        pieces.iter().fold(0.0, |most: f64, piece| most.max(piece.price.as_per_kwh().abs()));
    let mut tie_max: f64 = 0.0;
    for piece in usable {
        let length = hours(piece.end - piece.start);
        let tie = hours(piece.start - free.from()) * TIE * scale;
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

/// The deadlines in time order, with the energy wanted by each.
///
/// The rest of a missed deadline is wanted by the next one, so that each wants
/// what the one before it wants, or more. With [`AfterDeadline::Stop`] a missed
/// deadline is over, and each stands for itself. A deadline that wants nothing
/// cuts no slot, except for the last one, which ends the plan.
fn wanted_by(request: &SwitchingRequest, free: &ChargeProblem) -> Vec<Deadline> {
    let mut wanted = deadlines(free);
    for deadline in &mut wanted {
        deadline.by = deadline.by.min(free.to());
    }
    wanted.sort_by(|a, b| a.by.cmp(&b.by).then(a.energy.total_cmp(&b.energy)));
    match request.after_deadline {
        AfterDeadline::Continue => nest(&mut wanted),
        AfterDeadline::Stop => {}
    }
    let last = wanted.last().map(|deadline| deadline.by);
    wanted.retain(|deadline| deadline.energy > Energy::ZERO || Some(deadline.by) == last);
    wanted
}

/// One level for each boundary by which energy is wanted: the highest one.
///
/// A level before the first step is left out: no plan delivers any of it.
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

/// Part of a level that may be missing without being told.
pub(crate) const MISSED: f64 = 1e-9;

/// Order of two plans by the energy that they miss, of the earliest level first: `None` is equal.
pub(crate) fn misses_less(a: &[f64], b: &[f64], timeline: &Timeline) -> Option<bool> {
    let levels = timeline.levels.iter().zip(a.iter().zip(b));
    let mut unequal = levels.filter(|(level, (a, b))| (**a - **b).abs() > MISSED * level.kwh);
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

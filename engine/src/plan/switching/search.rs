//! Choice of the relaxed rules and of the method (exact search or mixed-integer programme).
//!
//! `on_min` and `run_last` may yield. [`search`] solves the problem once for each set of rules
//! in the order of `attempts`, from all kept to all relaxed. It keeps the first schedule with
//! the least shortfall, and stops at the first one without shortfall.
use crate::plan::search_status::SearchStatus;
use crate::plan::switching::path_search::{self, FoundSchedule};
use crate::plan::switching::plan::Method;
use crate::plan::switching::problem::SwitchingProblem;
use crate::plan::switching::timeline::{Rules, Timeline, misses_less};

/// Schedule of a problem with its method, status and bound.
pub(crate) struct EnergySchedule {
    pub(crate) found: FoundSchedule,
    pub(crate) method: Method,
    pub(crate) status: SearchStatus,
    /// Lower bound on the cost at the prices of the steps. After a complete search `None`
    /// stands for the cost of the plan itself.
    pub(crate) bound: Option<f64>,
}

impl EnergySchedule {
    /// Schedule of a complete path search.
    fn exact(found: FoundSchedule) -> Self {
        let (method, status) = (Method::ExactSearch, SearchStatus::Optimal);
        Self { found, method, status, bound: None }
    }

    /// True if no level has a shortfall.
    fn misses_nothing(&self) -> bool {
        self.found.missing.iter().all(|&missing| missing <= 0.0)
    }
}

/// Returns the plan with the least shortfall (earliest level first), then with the first
/// rules in the order of `attempts`, then with the least cost.
pub(crate) fn search(
    problem: &SwitchingProblem<'_>,
    seconds_left: &dyn Fn() -> f64,
) -> EnergySchedule {
    let timeline = &problem.timeline;
    let part = timeline.first_part();
    if let Some(found) = part.and_then(|part| meet_first_level(timeline, &part, seconds_left)) {
        return EnergySchedule::exact(found);
    }
    // Try the rules from all kept to all relaxed, and keep the first of least shortfall.
    let mut best: Option<EnergySchedule> = None;
    let mut status = SearchStatus::Optimal;
    for rules in attempts(timeline) {
        let schedule = match solve_under(problem, rules, seconds_left) {
            Ok(Some(schedule)) => schedule,
            Ok(None) => continue,
            // A limit ended this search: a plan that keeps these rules may exist.
            Err(ended) => {
                status = status.max(ended);
                continue;
            }
        };
        status = status.max(schedule.status);
        let is_better = |best: &EnergySchedule| {
            misses_less(&schedule.found.missing, &best.found.missing, timeline) == Some(true)
        };
        if best.as_ref().is_none_or(is_better) {
            best = Some(schedule);
        }
        // No shortfall is left to reduce, and later attempts relax more rules.
        if best.as_ref().is_some_and(EnergySchedule::misses_nothing) {
            break;
        }
    }
    // Without any plan the device stays off. That is feasible, but not proved optimal.
    let best = best.unwrap_or_else(|| {
        status = status.max(SearchStatus::LimitReached);
        EnergySchedule::exact(FoundSchedule {
            lagrangian_bound: None,
            ..path_search::idle(timeline)
        })
    });
    EnergySchedule { status, ..best }
}

/// Cheapest plan for the first of several levels, if that level can be met.
///
/// `part` is the problem up to the first level, which wants the most, so a plan that meets it
/// meets all levels.
fn meet_first_level(
    timeline: &Timeline,
    part: &Timeline,
    seconds_left: &dyn Fn() -> f64,
) -> Option<FoundSchedule> {
    let until = reserve_half(seconds_left);
    let mut met = None;
    for rules in attempts(part) {
        // Where a limit ended the search, the mixed-integer programme takes over.
        let found = path_search::solve(part, rules, &until).ok()?;
        met = found.filter(|found| found.missing.iter().all(|&missing| missing <= 0.0));
        if met.is_some() {
            break;
        }
    }
    let mut found = met?;
    // After the first level the device stays off, because the later levels want no more.
    found.kwh.resize(timeline.len(), 0.0);
    found.missing = vec![0.0; timeline.levels.len()];
    Some(found)
}

/// Clock that reserves half of the remaining seconds for the searches that follow.
fn reserve_half(seconds_left: &dyn Fn() -> f64) -> impl Fn() -> f64 {
    let left = seconds_left();
    let kept = if left.is_finite() { left / 2.0 } else { 0.0 };
    move || seconds_left() - kept
}

/// Combinations of rules to try, from all kept to all relaxed.
pub(crate) fn attempts(timeline: &Timeline) -> Vec<Rules> {
    let all = [(true, false), (true, true), (false, false), (false, true)];
    let rules = all.map(|(runs_last, last_may_be_short)| Rules { runs_last, last_may_be_short });
    let has_run = timeline.first_run < timeline.len();
    let makes_sense = |rules: &Rules| {
        (has_run || !rules.runs_last) && (timeline.has_on_min() || !rules.last_may_be_short)
    };
    rules.into_iter().filter(makes_sense).collect()
}

/// Solves the problem under one set of rules: by exact search if the problem is even, else or
/// after a limit by mixed-integer programme. `None` if no pattern keeps the rules.
///
/// # Errors
/// The status of a search that a limit or the solver ended without a plan.
fn solve_under(
    problem: &SwitchingProblem<'_>,
    rules: Rules,
    seconds_left: &dyn Fn() -> f64,
) -> Result<Option<EnergySchedule>, SearchStatus> {
    if problem.uneven.is_none() {
        let ended = match path_search::solve(&problem.timeline, rules, &reserve_half(seconds_left))
        {
            Ok(found) => return Ok(found.map(EnergySchedule::exact)),
            Err(ended) => ended,
        };
        // A limit ended the exact search, and no solver is there to take over.
        if !cfg!(feature = "lp") {
            return Err(ended);
        }
    }
    #[cfg(feature = "lp")]
    {
        use crate::plan::switching::mixed_integer::{self, SearchEffort};
        let request = &problem.request;
        let (nodes_max, seconds_max) = (request.nodes_max, request.seconds_max);
        let effort = SearchEffort { nodes_max, seconds_max, seconds_left };
        let mixed = mixed_integer::solve(&problem.timeline, rules, effort)?;
        let method = Method::MixedInteger;
        Ok(mixed.map(|mixed| EnergySchedule {
            found: mixed.found,
            method,
            status: mixed.status,
            bound: mixed.bound,
        }))
    }
    #[cfg(not(feature = "lp"))]
    {
        let _ = seconds_left;
        Err(SearchStatus::SolverFailed)
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    #[cfg(feature = "lp")]
    use crate::plan::charge::request::Target;
    use crate::plan::switching::request::SwitchingRequest;
    #[cfg(feature = "lp")]
    use crate::plan::switching::timeline::tests::minute;
    use crate::plan::switching::timeline::tests::{request_of, timeline_of};
    use crate::prices::curve::tests::curve_of;
    #[cfg(feature = "lp")]
    use crate::units::kwh;

    /// The answer for hours priced in cents, with so many seconds left.
    fn answer_of(
        cents: &[i32],
        energy: f64,
        seconds: f64,
        change: impl FnOnce(&mut SwitchingRequest),
    ) -> EnergySchedule {
        let mut request = request_of(energy);
        change(&mut request);
        let curve = curve_of(60, cents);
        search(&SwitchingProblem::new(request, &curve).unwrap(), &|| seconds)
    }

    #[cfg(feature = "lp")]
    fn early(energy: f64) -> impl FnOnce(&mut SwitchingRequest) {
        move |request| request.targets.push(Target { by: Some(minute(120)), energy: kwh(energy) })
    }

    #[test]
    fn wishes_yield_before_limits() {
        let rules = |on_min: i64, run_last: i64| {
            let timeline = timeline_of(&[10, 20, 30], 6.0, |request| {
                request.on_min = TimeDelta::hours(on_min);
                request.run_last = TimeDelta::hours(run_last);
            });
            let pair = |rules: Rules| (rules.runs_last, rules.last_may_be_short);
            attempts(&timeline).into_iter().map(pair).collect::<Vec<_>>()
        };
        assert_eq!(rules(0, 0), [(false, false)]);
        assert_eq!(rules(1, 0), [(false, false), (false, true)]);
        assert_eq!(rules(0, 1), [(true, false), (false, false)]);
        assert_eq!(rules(1, 1), [(true, false), (true, true), (false, false), (false, true)]);
    }

    #[cfg(feature = "lp")]
    #[test]
    fn a_first_level_that_wants_most_needs_no_programme() {
        let exact = answer_of(&[10, 30, 20], 8.0, f64::INFINITY, early(12.0));
        assert_eq!((exact.method, exact.status), (Method::ExactSearch, SearchStatus::Optimal));
        // 10 kWh at 10 cents before 20:00 and a top-off of 2 kWh at 30 cents, none after it.
        assert_eq!(exact.found.missing, [0.0, 0.0]);
        assert!((exact.found.kwh[0] - 10.0).abs() < 1e-9 && exact.found.kwh[2] == 0.0);
        let mixed = answer_of(&[10, 30, 20], 14.0, f64::INFINITY, early(12.0));
        assert_eq!(mixed.method, Method::MixedInteger);
    }

    #[test]
    fn the_last_session_is_short_only_where_energy_would_be_missing() {
        let on = |answer: &EnergySchedule| {
            answer.found.kwh.iter().map(|kwh| *kwh > 0.0).collect::<Vec<_>>()
        };
        let two_hours = |request: &mut SwitchingRequest| request.on_min = TimeDelta::hours(2);
        // 9 kWh fit in a session of two hours, 8 or more.
        let kept = answer_of(&[10, 20, 30], 9.0, f64::INFINITY, two_hours);
        assert_eq!(on(&kept), [true, true, false]);
        // 5 kWh do not, and one hour is enough for them.
        let short = answer_of(&[10, 20, 30], 5.0, f64::INFINITY, two_hours);
        assert_eq!((on(&short), &short.found.missing[..]), (vec![true, false, false], &[0.0][..]));
    }

    #[test]
    fn without_time_the_device_stays_off_and_the_status_says_why() {
        let answer = answer_of(&[10, 20, 30], 9.0, 0.0, |_| {});
        assert_eq!((answer.found.kwh, answer.found.missing), (vec![0.0; 3], vec![9.0]));
        assert!(answer.status >= SearchStatus::LimitReached);
        assert!(!answer.status.is_optimal());
    }

    #[test]
    fn a_first_search_leaves_half_of_the_time() {
        let of_ten = reserve_half(&|| 10.0)();
        assert_eq!((of_ten, reserve_half(&|| f64::INFINITY)()), (5.0, f64::INFINITY));
    }
}

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
        EnergySchedule::exact(FoundSchedule { relaxed: None, ..path_search::idle(timeline) })
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
fn attempts(timeline: &Timeline) -> Vec<Rules> {
    let all = [(true, false), (true, true), (false, false), (false, true)];
    let rules = all.map(|(runs_last, last_may_be_short)| Rules { runs_last, last_may_be_short });
    let has_run = timeline.first_run < timeline.len();
    let makes_sense = |rules: &Rules| {
        (has_run || !rules.runs_last) && (timeline.has_on_min() || !rules.last_may_be_short)
    };
    let mut rules: Vec<Rules> = rules.into_iter().filter(makes_sense).collect();
    rules.dedup();
    rules
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

//! The search for the steps that run: which rules are tried, and by which method.
use crate::plan::search_status::SearchStatus;
use crate::plan::switching::path_search::{self, FoundSchedule};
use crate::plan::switching::plan::Method;
use crate::plan::switching::problem::SwitchingProblem;
use crate::plan::switching::timeline::{Rules, Timeline, misses_less};

/// Energies with what is known about better ones.
pub(crate) struct EnergySchedule {
    pub(crate) found: FoundSchedule,
    pub(crate) method: Method,
    pub(crate) status: SearchStatus,
    /// Cost at the prices of the steps that no plan undercuts. After a complete
    /// search `None` is the cost of the plan itself.
    pub(crate) bound: Option<f64>,
}

impl EnergySchedule {
    fn exact(found: FoundSchedule) -> Self {
        let (method, status) = (Method::ExactSearch, SearchStatus::Optimal);
        Self { found, method, status, bound: None }
    }

    fn misses_nothing(&self) -> bool {
        self.found.missing.iter().all(|&missing| missing <= 0.0)
    }
}

/// The plan that misses the least energy, of the earliest level first, keeps most
/// rules among these, and then costs the least.
pub(crate) fn search(
    problem: &SwitchingProblem<'_>,
    seconds_left: &dyn Fn() -> f64,
) -> EnergySchedule {
    let timeline = &problem.timeline;
    let part = timeline.first_part();
    if let Some(found) = part.and_then(|part| meet_first_level(timeline, &part, seconds_left)) {
        return EnergySchedule::exact(found);
    }
    let mut best: Option<EnergySchedule> = None;
    let mut status = SearchStatus::Optimal;
    for rules in attempts(timeline) {
        let answer = match answer(problem, rules, seconds_left) {
            Ok(Some(answer)) => answer,
            Ok(None) => continue,
            // A plan that keeps these rules may exist, and nobody knows it.
            Err(ended) => {
                status = status.max(ended);
                continue;
            }
        };
        status = status.max(answer.status);
        let is_better = |best: &EnergySchedule| {
            misses_less(&answer.found.missing, &best.found.missing, timeline) == Some(true)
        };
        if best.as_ref().is_none_or(is_better) {
            best = Some(answer);
        }
        // No other rules miss less than nothing, and these keep more.
        if best.as_ref().is_some_and(EnergySchedule::misses_nothing) {
            break;
        }
    }
    // Staying off keeps every limit, but no search says that it is the best.
    let best = best.unwrap_or_else(|| {
        status = status.max(SearchStatus::LimitReached);
        EnergySchedule::exact(FoundSchedule { relaxed: None, ..path_search::idle(timeline) })
    });
    EnergySchedule { status, ..best }
}

/// The cheapest plan that meets the first of several levels, if that one wants
/// most and can be met: it meets all of them.
fn meet_first_level(
    timeline: &Timeline,
    part: &Timeline,
    seconds_left: &dyn Fn() -> f64,
) -> Option<FoundSchedule> {
    let until = share(seconds_left);
    let mut met = None;
    for rules in attempts(part) {
        // A search that a limit ended leaves it to the mixed-integer programme.
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

/// A clock that leaves half of the seconds to the searches that follow.
fn share(seconds_left: &dyn Fn() -> f64) -> impl Fn() -> f64 {
    let left = seconds_left();
    let kept = if left.is_finite() { left / 2.0 } else { 0.0 };
    move || seconds_left() - kept
}

/// Rules to try, in the order in which they may yield.
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

fn answer(
    problem: &SwitchingProblem<'_>,
    rules: Rules,
    seconds_left: &dyn Fn() -> f64,
) -> Result<Option<EnergySchedule>, SearchStatus> {
    if problem.uneven.is_none() {
        let ended = match path_search::solve(&problem.timeline, rules, &share(seconds_left)) {
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

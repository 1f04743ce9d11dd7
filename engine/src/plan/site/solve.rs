//! Solution of the programme of a site: shortfall, money and preferences, with lazy binaries.
//!
//! Vehicles behind one limit need no solver (`shared_limit`). For all other sites the linear
//! relaxation is solved first. If it is integral ([`is_whole`]: opposite flows are
//! exclusive, charges are zero or at least their least, starts are 0 or 1), it is optimal.
//! Otherwise the violated families of binaries enter and a mixed-integer search follows, for
//! [`ROUNDS_MAX`] rounds. The last round has all binaries. After a search its binaries are fixed,
//! and the linear programme that is left gives exact values and duals.
//!
//! ```text
//! pair       x ≤ X·y,   x' ≤ X'·(1 − y)
//! switch     c ≤ most·y,   c ≥ least·(y − Σ_j z_j),   Σ_j z_j ≤ y
//! top-off    L ≥ lower + (end_j − lower)·z_j,   L ≤ upper − (upper − end_j)·z_j
//!            c_next ≤ most·(1 − Σ_j z_j)
//! guard      gate ≤ most·y,   terms ≥ lower + (least − lower)·y
//! ```
//!
//! | Symbol | Field |
//! |---|---|
//! | `x`, `x'` | `Pair::{first, second}`; `X`, `X'` are their upper bounds |
//! | `c`, `L`, `c_next`, `least` | `Semi::{column, level, next, least}` |
//! | `end_j` | levels of `SiteModel::run_ends` |
//! | `gate`, `terms`, `lower`, `least` | `Guard::{gate, terms, lower, least}` |
//! | `y`, `z_j` | binaries |
use crate::lp::{Limits, LpError, MipStatus, MixedProgram};
use crate::plan::search_status::SearchStatus;
use crate::plan::site::certificate::{Duals, weak_bound};
use crate::plan::site::exclusive_flows::settle;
use crate::plan::site::first_come_first_served::first_come;
use crate::plan::site::lexicographic::{
    Objective, Solved, after_penalties, before_money, bound_row, forbid, least_money, slack_of,
    value_of, with_penalties,
};
use crate::plan::site::model::{Guard, MissKind, Pair, Semi, SiteModel};
use crate::plan::site::preferences;
use crate::plan::site::request::{Preference, SiteRequest};
use crate::plan::site::shared_limit::{SharedLimitSolution, solve_shared_limit};
use crate::tolerance::{SITE_MIN_KWH, SOLVER_AGREEMENT};

/// Rounds of the mixed-integer search; the last one has all binaries.
const ROUNDS_MAX: usize = 4;

/// Most nodes of a search that only chooses among plans of one cost. Its result needs no proof,
/// so that a few nodes are enough.
const PREFERENCE_NODES_MAX: u32 = 100;

/// Slack of the money row in such a search, in units of the largest price: above the tolerance of
/// the solver (1e-9), below that of a certificate.
const MONEY_SLACK: f64 = 1e-7;

/// Values of the columns of a model, with their bound and status.
#[derive(Debug, Clone)]
pub(crate) struct SiteSolution {
    /// Value of each column of the model.
    pub(crate) values: Vec<f64>,
    /// Dual of each row of the model in the last money stage.
    pub(crate) duals: Vec<f64>,
    /// Lower bound on the cost of any plan, without the model's constant.
    pub(crate) bound: f64,
    /// Duals of the programme without binaries, and of all stages together.
    pub(crate) proof: Duals,
    pub(crate) status: SearchStatus,
}

/// Families of binaries that are in the programme.
#[derive(Debug, Clone, Default)]
pub(crate) struct Active {
    pairs: Vec<Pair>,
    /// True if all semicontinuous charges have their binaries. With those of one device alone, the
    /// charges below the least power would move to other devices.
    semis: bool,
    /// True if all [`Guard`]s have their binary.
    guards: bool,
    /// True if the starts of shiftable loads are binary.
    starts: bool,
}

impl Active {
    /// All binaries of a model.
    pub(crate) fn all(model: &SiteModel) -> Self {
        Self { pairs: model.pairs.clone(), semis: true, guards: true, starts: true }
    }
}

/// Solves a model within limits. A search without a result gives a first-come-first-served plan.
/// Returns `None` if a target is missed and the model has no late goals: the model that includes
/// them must be solved instead.
pub(crate) fn solve(
    request: &SiteRequest,
    model: &SiteModel,
    limits: &Limits,
) -> Option<SiteSolution> {
    let Some(SharedLimitSolution { values, duals, bound }) = solve_shared_limit(request, model)
    else {
        return solve_by_programmes(request, model, limits);
    };
    let proof = Duals { rows: duals.clone(), objectives: Vec::new() };
    Some(SiteSolution { values, duals, bound, proof, status: SearchStatus::Optimal })
}

/// Solves a model by the solver of programmes. The result is that of [`solve`], for all models.
pub(crate) fn solve_by_programmes(
    request: &SiteRequest,
    model: &SiteModel,
    limits: &Limits,
) -> Option<SiteSolution> {
    let before = before_money(model);
    // Linear relaxation, with penalties on all objectives before money.
    let solution = match with_penalties(&model.program, &before).minimise_within(limits) {
        Ok(solution) => solution,
        Err(error) => return Some(unsolved(model, error.into())),
    };
    let is_missed = model.misses.iter().any(|miss| {
        let kwh = solution.values[miss.column] * miss.energy;
        miss.kind != MissKind::Power && kwh > SITE_MIN_KWH
    });
    if is_missed && !model.is_final {
        return None;
    }
    let solved = after_penalties(&model.program, &before, solution, limits);
    let bound = weak_bound(&solved.program, &solved.solution.duals);
    let proof = solved.duals.clone();
    let mut values = solved.solution.values.clone();
    let mut active = Active::default();
    // A relaxation that is not integral needs binaries.
    if !is_whole(model, &mut values, &mut active) {
        if solved.status != SearchStatus::Optimal {
            return Some(unsolved(model, solved.status));
        }
        activate_paying_pairs(model, &mut active);
        let start = first_come(model);
        let answer = solve_with_binaries(request, model, &before, active, &start, limits);
        return Some(SiteSolution { proof, ..answer });
    }
    let duals = solved.solution.duals.clone();
    let start = Solved { solution: with_values(&solved, &values), ..solved };
    let (mut preferred, status) = preferences::apply(request, model, start, limits, false);
    if is_whole(model, &mut preferred, &mut active) {
        return Some(SiteSolution { values: preferred, duals, bound, proof, status });
    }
    // The preferences use other slots than those that are on: search with binaries.
    let chosen = solve_with_binaries(request, model, &before, active, &values, limits);
    let answer = if chosen.status == SearchStatus::Optimal {
        chosen
    } else {
        SiteSolution { values, duals, bound, proof: Duals::default(), status }
    };
    Some(SiteSolution { proof, ..answer })
}

/// Solves with the active binaries, and adds those that the result violates, round by round.
/// `start` are values of the model's columns from which the searches start.
fn solve_with_binaries(
    request: &SiteRequest,
    model: &SiteModel,
    before: &[Objective],
    mut active: Active,
    start: &[f64],
    limits: &Limits,
) -> SiteSolution {
    for round in 1..=ROUNDS_MAX {
        if round == ROUNDS_MAX {
            active = Active::all(model);
        }
        let (next, solved) = solve_mixed(request, model, before, &active, start, limits);
        let mut values = next.values.clone();
        if !is_whole(model, &mut values, &mut active) {
            continue;
        }
        let Some(solved) = solved else { return next };
        let cheapest = Solved { solution: with_values(&solved, &values), ..solved };
        let (mut preferred, ended) = preferences::apply(request, model, cheapest, limits, true);
        if is_whole(model, &mut preferred, &mut active) {
            values = preferred;
        }
        return SiteSolution { values, status: next.status.max(ended), ..next };
    }
    // With all binaries, the result of the solver was still not integral.
    unsolved(model, SearchStatus::SolverFailed)
}

/// The solution of `solved` with other values of its first columns.
fn with_values(solved: &Solved, values: &[f64]) -> crate::lp::Solution {
    let mut solution = solved.solution.clone();
    solution.values[..values.len()].copy_from_slice(values);
    solution
}

/// Returns true if the values are integral; otherwise activates the binaries that they violate.
/// Opposite flows that can be removed at no cost are removed from the values first.
pub(crate) fn is_whole(model: &SiteModel, values: &mut [f64], active: &mut Active) -> bool {
    let burning = settle(model, values);
    let semis = model.semis.iter().any(|semi| !model.keeps_least(semi, values));
    let is_part = |value: f64| value > SOLVER_AGREEMENT && value < 1.0 - SOLVER_AGREEMENT;
    let parts = model.starts.iter().any(|start| is_part(values[start.column]));
    let is_low = model.guards.iter().any(|guard| !guard.is_kept(values));
    let is_whole = burning.is_empty() && !semis && !parts && !is_low;
    active.guards |= is_low;
    active.semis |= semis;
    for pair in burning {
        if active.pairs.iter().all(|known| known.first != pair.first) {
            active.pairs.push(pair);
        }
    }
    active.starts |= parts || !is_whole && !model.starts.is_empty();
    is_whole
}

/// Activates the pairs of which both directions at once pay, if any pair is active: import and
/// export where selling earns more than buying costs, and charging and discharging where a price
/// is negative.
fn activate_paying_pairs(model: &SiteModel, active: &mut Active) {
    if active.pairs.is_empty() {
        return;
    }
    let pays = |pair: &Pair| {
        let (import, export) = (model.import_least[pair.slot], model.grid.export[pair.slot]);
        if pair.device.is_none() { import < export } else { import < 0.0 || export < 0.0 }
    };
    for pair in model.pairs.iter().filter(|pair| pays(pair)) {
        if active.pairs.iter().all(|known| known.first != pair.first) {
            active.pairs.push(*pair);
        }
    }
}

/// Mixed-integer programme with the active binaries. It starts from the values `start` of the
/// model's columns and the binaries that belong to them.
pub(crate) fn with_binaries(model: &SiteModel, active: &Active, start: &[f64]) -> MixedProgram {
    let linear = model.program.clone();
    let mut mixed = MixedProgram { linear, integers: Vec::new(), start: Some(start.to_vec()) };
    for pair in &active.pairs {
        let choice = binary(&mut mixed, start[pair.second] <= SITE_MIN_KWH);
        let first = model.program.columns[pair.first].upper;
        let second = model.program.columns[pair.second].upper;
        at_most(&mut mixed, vec![(pair.first, 1.0), (choice, -first)], 0.0);
        at_most(&mut mixed, vec![(pair.second, 1.0), (choice, second)], second);
    }
    for semi in model.semis.iter().filter(|_| active.semis) {
        add_switch(model, &mut mixed, semi, start);
    }
    for guard in model.guards.iter().filter(|_| active.guards) {
        add_guard(model, &mut mixed, guard, start);
    }
    if active.starts {
        mixed.integers.extend(model.starts.iter().map(|start| start.column));
    }
    mixed
}

/// Adds the binaries of one charge: on or off, and one top-off for each level at which a run may
/// end.
fn add_switch(model: &SiteModel, mixed: &mut MixedProgram, semi: &Semi, start: &[f64]) {
    let upper = |column: usize| model.program.columns[column].upper;
    let level = model.program.columns[semi.level];
    let (value, most) = (start[semi.column], upper(semi.column));
    let is_on = binary(mixed, value > SITE_MIN_KWH);
    at_most(mixed, vec![(semi.column, 1.0), (is_on, -most)], 0.0);
    let mut is_short = value > SITE_MIN_KWH && value < semi.least - SITE_MIN_KWH;
    let mut least = vec![(semi.column, -1.0), (is_on, semi.least)];
    let mut one = vec![(is_on, -1.0)];
    let mut top_offs = Vec::new();
    // A top-off holds the level at its end from both sides, and lifts the least charge.
    for end in model.run_ends(semi) {
        let ends_here = is_short && (start[semi.level] - end).abs() <= SITE_MIN_KWH;
        is_short &= !ends_here;
        let top_off = binary(mixed, ends_here);
        let above = vec![(semi.level, -1.0), (top_off, end - level.lower)];
        at_most(mixed, above, -level.lower);
        if end < level.upper {
            let below = vec![(semi.level, 1.0), (top_off, level.upper - end)];
            at_most(mixed, below, level.upper);
        }
        least.push((top_off, -semi.least));
        one.push((top_off, 1.0));
        top_offs.push(top_off);
    }
    at_most(mixed, least, 0.0);
    at_most(mixed, one, 0.0);
    // After a top-off the next slot does not charge.
    if let Some(next) = semi.next {
        let ended = top_offs.into_iter().map(|top_off| (top_off, upper(next)));
        at_most(mixed, std::iter::once((next, 1.0)).chain(ended).collect(), upper(next));
    }
}

/// Adds the binary of a guard: the gate is zero, or the level is high enough.
fn add_guard(model: &SiteModel, mixed: &mut MixedProgram, guard: &Guard, start: &[f64]) {
    let most = model.program.columns[guard.gate].upper;
    let is_open = binary(mixed, start[guard.gate] > SITE_MIN_KWH);
    at_most(mixed, vec![(guard.gate, 1.0), (is_open, -most)], 0.0);
    let mut terms: Vec<(usize, f64)> =
        guard.terms.iter().map(|&(column, weight)| (column, -weight)).collect();
    terms.push((is_open, guard.least - guard.lower));
    at_most(mixed, terms, -guard.lower);
}

/// Adds a binary column that starts at `is_one`.
fn binary(mixed: &mut MixedProgram, is_one: bool) -> usize {
    let column = crate::lp::Column { cost: 0.0, lower: 0.0, upper: 1.0 };
    let position = mixed.linear.add_column(column);
    mixed.integers.push(position);
    if let Some(start) = &mut mixed.start {
        start.push(f64::from(u8::from(is_one)));
    }
    position
}

/// Adds the row `terms <= upper`.
fn at_most(mixed: &mut MixedProgram, terms: Vec<(usize, f64)>, upper: f64) {
    mixed.linear.rows.push(crate::lp::Row { lower: f64::NEG_INFINITY, upper, terms });
}

/// Values of a mixed-integer search, with the bound on their cost and the status.
#[derive(Debug)]
struct FoundValues {
    values: Vec<f64>,
    bound: f64,
    status: SearchStatus,
}

/// Solves with the active binaries, then again with the binaries fixed, which gives exact values
/// and duals. If the two solutions contradict each other, the status is `SolverFailed`. The
/// [`Solved`] is that of the second programme; `None` if it has no solution.
fn solve_mixed(
    request: &SiteRequest,
    model: &SiteModel,
    before: &[Objective],
    active: &Active,
    start: &[f64],
    limits: &Limits,
) -> (SiteSolution, Option<Solved>) {
    let mut mixed = with_binaries(model, active, start);
    let linear = mixed.linear.clone();
    let found = search(&mut mixed, before, limits);
    let is_found = found.is_ok();
    let mut found = found.unwrap_or_else(|error| FoundValues {
        // The search ended without a solution: the binaries keep their start values.
        values: mixed.start.clone().unwrap_or_default(),
        bound: f64::NEG_INFINITY,
        status: error.into(),
    });
    let prefers_earlier = request.preferences.first() == Some(&Preference::Earlier);
    if is_found && active.semis && prefers_earlier {
        search_earlier(request, model, &mut mixed, &mut found, limits);
    }
    match least_money(&linear.with_whole(&mixed.integers, &found.values), before, limits) {
        Ok(solved) => {
            let (mut bound, mut status) = (found.bound, found.status.max(solved.status));
            if is_found && solved.status.is_optimal() && contradicts(before, &found, &solved) {
                (bound, status) = (f64::NEG_INFINITY, status.max(SearchStatus::SolverFailed));
            }
            let values = solved.solution.values[..model.program.columns.len()].to_vec();
            let duals = solved.solution.duals[..model.program.rows.len()].to_vec();
            let proof = Duals::default();
            (SiteSolution { values, duals, bound, proof, status }, Some(solved))
        }
        Err(error) => (unsolved(model, error.into()), None),
    }
}

/// True if an objective of `solved` is higher than in the search, or lower although the search was
/// optimal. Only the first objective that differs counts.
fn contradicts(before: &[Objective], found: &FoundValues, solved: &Solved) -> bool {
    for objective in before {
        let searched = value_of(objective, &found.values);
        let change = value_of(objective, &solved.solution.values) - searched;
        if change.abs() > 10.0 * slack_of(objective) {
            return change > 0.0 || found.status == SearchStatus::Optimal;
        }
    }
    false
}

/// Minimises the objectives in `before`, then money, with binaries. On return, `mixed` has a row
/// for each objective in `before` that is not zero, and money as its costs.
fn search(
    mixed: &mut MixedProgram,
    before: &[Objective],
    limits: &Limits,
) -> Result<FoundValues, LpError> {
    let money = mixed.linear.clone();
    mixed.linear = with_penalties(&money, before);
    let first = mixed.minimise(limits)?;
    let mut status = first.status.into();
    mixed.linear = money.clone();
    mixed.start = Some(first.values.clone());
    if before.iter().all(|objective| value_of(objective, &first.values) <= SITE_MIN_KWH) {
        for objective in before {
            forbid(&mut mixed.linear, objective, &first.values);
        }
        return Ok(FoundValues { values: first.values, bound: first.bound, status });
    }
    let mut values = first.values;
    for (rank, objective) in before.iter().enumerate() {
        if value_of(objective, &values) <= SITE_MIN_KWH {
            forbid(&mut mixed.linear, objective, &values);
            continue;
        }
        mixed.linear.set_costs(objective);
        let found = mixed.minimise(limits)?;
        status = status.max(found.status.into());
        // The value of the search may profit from the slack of earlier rows and from numbers that
        // are not quite whole. A row at that value could leave no true plan for later searches,
        // so that it takes the value with the binaries fixed.
        let rest = money.with_whole(&mixed.integers, &found.values);
        let exact = least_money(&rest, &before[..=rank], limits)?;
        status = status.max(exact.status);
        let least = value_of(objective, &exact.solution.values);
        mixed.linear.rows.push(bound_row(objective, least + slack_of(objective)));
        mixed.start = Some(exact.solution.values.clone());
        values = exact.solution.values;
    }
    // The last stage: money, within the rows of the stages before it.
    for (column, money) in mixed.linear.columns.iter_mut().zip(&money.columns) {
        column.cost = money.cost;
    }
    let found = mixed.minimise(limits)?;
    status = status.max(found.status.into());
    Ok(FoundValues { values: found.values, bound: found.bound, status })
}

/// Moves binaries to earlier slots at equal cost. A result that is not found within
/// [`PREFERENCE_NODES_MAX`] nodes is given up, because the cost is decided already.
fn search_earlier(
    request: &SiteRequest,
    model: &SiteModel,
    mixed: &mut MixedProgram,
    found: &mut FoundValues,
    limits: &Limits,
) {
    let mut row = preferences::money_row(request, model, &mixed.linear, &found.values);
    row.upper += MONEY_SLACK;
    mixed.linear.rows.push(row);
    mixed.linear.set_costs(&preferences::earlier(model));
    mixed.start = Some(found.values.clone());
    let few = Limits { nodes: limits.nodes.min(PREFERENCE_NODES_MAX), ..*limits };
    match mixed.minimise(&few) {
        Ok(earlier) => {
            if earlier.status == MipStatus::TimeLimit {
                found.status = found.status.max(SearchStatus::TimeReached);
            }
            found.values = earlier.values;
        }
        Err(LpError::TimeLimit) => found.status = found.status.max(SearchStatus::TimeReached),
        Err(_) => {}
    }
}

/// Fallback without a result of the solver: a first-come-first-served plan with a weak bound.
pub(crate) fn unsolved(model: &SiteModel, status: SearchStatus) -> SiteSolution {
    let duals = vec![0.0; model.program.rows.len()];
    let bound = weak_bound(&model.program, &duals);
    let proof = Duals::default();
    SiteSolution { values: first_come(model), duals, bound, proof, status }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lp::Solution;
    use crate::plan::site::device::{Device, Vehicle};
    use crate::plan::site::planner::tests::{planned, powers_of};
    use crate::plan::site::request::tests::{hard, home, house, site, sun, van, washer};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, percent};

    /// A van of 2 to 4 kW that wants 5 kWh.
    fn slow() -> Vehicle {
        let mut slow = van("van", 4.0, 5.0);
        slow.power_min = kw(2.0);
        slow
    }

    /// Returns true if a programme has a solution with these columns at these values.
    fn has_plan(mixed: &MixedProgram, fixed: &[(usize, f64)]) -> bool {
        let mut mixed = mixed.clone();
        mixed.start = None;
        for &(column, value) in fixed {
            let column = &mut mixed.linear.columns[column];
            (column.lower, column.upper) = (value, value);
        }
        mixed.minimise(&Limits::default()).is_ok()
    }

    #[test]
    fn binaries_allow_a_top_off_at_the_end_of_a_run_only() {
        let model = SiteModel::new(&site(&[10, 10], &[Device::Vehicle(slow())]), false);
        let active = Active { semis: true, ..Active::default() };
        let start = vec![0.0; model.program.columns.len()];
        let mixed = with_binaries(&model, &active, &start);
        let charge = &model.columns[0].charge;
        for (first, second) in (0..=4).flat_map(|first| (0..=4).map(move |second| (first, second)))
        {
            let keeps =
                |kwh: i32, level: i32, next: i32| kwh == 0 || kwh >= 2 || level == 5 && next == 0;
            let sum = first + second;
            let expected = sum <= 5 && keeps(first, first, second) && keeps(second, sum, 0);
            let fixed = [(charge[0], f64::from(first)), (charge[1], f64::from(second))];
            assert_eq!(has_plan(&mixed, &fixed), expected, "{first} and {second}");
            if sum <= 5 {
                let mut values = start.clone();
                (values[charge[0]], values[charge[1]]) = (fixed[0].1, fixed[1].1);
                let levels = &model.columns[0].level;
                (values[levels[0]], values[levels[1]]) = (fixed[0].1, f64::from(sum));
                let all_keep = model.semis.iter().all(|semi| model.keeps_least(semi, &values));
                assert_eq!(all_keep, expected, "{first} and {second}");
            }
        }
    }

    #[test]
    fn a_binary_leaves_one_direction() {
        let devices = [Device::Battery(home(5.0, 10.0, 50.0)), house(&[1.0])];
        let model = SiteModel::new(&site(&[10], &devices), false);
        let active = Active { pairs: model.pairs.clone(), ..Active::default() };
        let mixed = with_binaries(&model, &active, &vec![0.0; model.program.columns.len()]);
        let pair = model.pairs[0];
        for (charge, discharge, expected) in
            [(5.0, 0.0, true), (0.0, 5.0, true), (0.0, 0.0, true), (1.0, 0.5, false)]
        {
            let fixed = [(pair.first, charge), (pair.second, discharge)];
            assert_eq!(has_plan(&mixed, &fixed), expected, "{charge} and {discharge}");
        }
        assert_eq!(mixed.integers.len(), model.pairs.len());
    }

    #[test]
    fn a_guard_holds_a_discharge_to_its_level() {
        let mut home = home(5.0, 10.0, 20.0);
        home.discharge.soc_min = percent(50.0);
        let model = SiteModel::new(&site(&[10, 10], &[Device::Battery(home)]), false);
        let active = Active { guards: true, ..Active::default() };
        let mixed = with_binaries(&model, &active, &vec![0.0; model.program.columns.len()]);
        let columns = &model.columns[0];
        let gives = |kwh: f64| {
            let fixed = [(columns.charge[0], 5.0), (columns.charge[1], 0.0)];
            has_plan(&mixed, &[&fixed[..], &[(columns.discharge[1].unwrap(), kwh)]].concat())
        };
        // From 2 + 5 kWh it may give 2, which leaves the 5 that it keeps.
        assert!(gives(0.0) && gives(2.0) && !gives(2.1));
    }

    #[test]
    fn a_pair_of_which_both_would_pay_is_a_choice_from_the_start() {
        let first_choices = |import: i32, export: i32| {
            let devices = [Device::Battery(home(5.0, 10.0, 50.0)), sun(&[1.0], true)];
            let mut request = site(&[import], &devices);
            request.export_prices = Some(curve_of(60, &[export]));
            let model = SiteModel::new(&request, false);
            let mut active = Active::default();
            activate_paying_pairs(&model, &mut active);
            assert!(active.pairs.is_empty());
            active.pairs.push(model.pairs[0]);
            activate_paying_pairs(&model, &mut active);
            active.pairs.iter().map(|pair| pair.device).collect::<Vec<_>>()
        };
        assert_eq!(first_choices(10, 5), [Some(0)]);
        assert_eq!(first_choices(10, 20), [Some(0), None]);
        assert_eq!(first_choices(-10, -20), [Some(0)]);
    }

    #[test]
    fn nothing_burns_where_drawing_is_paid_for() {
        let mut home = home(5.0, 2.5, 0.0);
        (home.battery.efficiency, home.discharge.efficiency) = (0.5, 0.5);
        let plan = planned(&site(&[-10, -10], &[Device::Battery(home)]));
        // 5 kWh fill the battery. Charging and discharging at once would draw more.
        assert!((plan.cost.as_amount() + 0.5).abs() < 1e-6, "{}", plan.cost.as_amount());
        assert!(plan.status == SearchStatus::Optimal && plan.certificate.is_proved());
    }

    #[test]
    fn only_a_change_beyond_the_room_of_the_rows_contradicts() {
        let before = [vec![(0, 1.0)], vec![(1, 1.0)]];
        let check = |searched: [f64; 2], solved: [f64; 2], status: SearchStatus| {
            let found = FoundValues { values: searched.to_vec(), bound: 0.0, status };
            let (duals, reduced_costs) = (Vec::new(), Vec::new());
            let solution = Solution { cost: 0.0, values: solved.to_vec(), duals, reduced_costs };
            let program = crate::lp::LinearProgram::default();
            contradicts(
                &before,
                &found,
                &Solved {
                    program,
                    solution,
                    status: SearchStatus::Optimal,
                    duals: Duals::default(),
                },
            )
        };
        let (done, ended) = (SearchStatus::Optimal, SearchStatus::LimitReached);
        assert!(!check([1.0, 1.0], [1.0 + 5e-7, 1.0], done));
        assert!(check([1.0, 1.0], [1.1, 0.0], done) && check([1.0, 1.0], [1.1, 0.0], ended));
        // Less is missing than a complete search found, or than one that was cut short.
        assert!(check([1.0, 1.0], [0.9, 2.0], done) && !check([1.0, 1.0], [0.9, 2.0], ended));
        assert!(check([1.0, 1.0], [1.0, 1.1], ended));
    }

    #[test]
    fn without_a_solver_the_bound_still_holds() {
        let mut request = site(&[10, -20], &[Device::Vehicle(slow()), house(&[1.0, 1.0])]);
        request.import_limit = Some(hard(4.0));
        let model = SiteModel::new(&request, false);
        let answer = unsolved(&model, SearchStatus::SolverFailed);
        assert_eq!(answer.status, SearchStatus::SolverFailed);
        // At most 4 kWh at −0.20 and none at 0.10; first come, 3 kWh are drawn at 0.10.
        assert!((answer.bound * model.unit + 0.8).abs() < 1e-9);
        let drawn: Vec<f64> = model.columns[0].charge.iter().map(|&c| answer.values[c]).collect();
        assert_eq!(drawn, [3.0, 2.0]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// On at full power or off: the cheapest hours of all that are long enough.
        #[test]
        fn what_is_on_or_off_takes_the_cheapest_hours(
            cents in prop::collection::vec(-20..60i32, 3..7), hours in 1..4usize,
        ) {
            let mut van = van("van", 4.0, 4.0 * hours as f64);
            van.power_min = kw(4.0);
            let plan = planned(&site(&cents, &[Device::Vehicle(van)]));
            let mut cheapest = cents.clone();
            cheapest.sort_unstable();
            let expected = 4.0 * f64::from(cheapest[..hours].iter().sum::<i32>()) / 100.0;
            prop_assert!((plan.cost.as_amount() - expected).abs() < 1e-6);
            let is_whole = |power: &f64| [0.0, 4.0].contains(power);
            prop_assert!(powers_of(&plan, "van").iter().all(is_whole));
        }

        /// A run tried at every minute costs no less than the planned one.
        #[test]
        fn a_run_starts_at_the_best_minute(
            cents in prop::collection::vec(-20..60i32, 2..5), minutes in 10..120i64,
        ) {
            let plan = planned(&site(&cents, &[Device::Shiftable(washer(3.0, minutes as f64))]));
            let run = |start: i64| {
                let during = (start..start + minutes).map(|minute| cents[(minute / 60) as usize]);
                during.sum::<i32>()
            };
            let best = (0..=60 * cents.len() as i64 - minutes).map(run).min().unwrap();
            let expected = 3.0 * f64::from(best) / 6000.0;
            prop_assert!((plan.cost.as_amount() - expected).abs() < 1e-6);
            prop_assert!(plan.devices[0].wishes[0].shortfall.is_zero());
        }
    }
}

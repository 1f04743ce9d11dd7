//! Shortfall, then money, then preferences; on or off only where it must be.
use crate::lp::{Limits, LpError, MipStatus, MixedProgram};
use crate::plan::search_status::SearchStatus;
use crate::plan::site::certificate::weak_bound;
use crate::plan::site::exclusive_flows::settle;
use crate::plan::site::first_come_first_served::first_come;
use crate::plan::site::lexicographic::{
    Objective, Solved, after_penalties, before_money, bound_row, forbid, least_money, set_costs,
    slack_of, value_of, with_penalties,
};
use crate::plan::site::model::{Guard, Pair, Semi, SiteModel};
use crate::plan::site::preferences;
use crate::plan::site::request::{Preference, SiteRequest};
use crate::tolerance::{SITE_MIN_KWH, SOLVER_AGREEMENT};

/// How often binaries are added before all are in.
const ROUNDS_MAX: usize = 4;

/// Most nodes of a search that only decides between plans of one cost. Its
/// answer needs no proof, so a few are enough.
const PREFERENCE_NODES_MAX: u32 = 100;

/// Room in units of the largest price that the preferences of such a search
/// get: above the tolerance of the solver, below that of a certificate.
const MONEY_SLACK: f64 = 1e-7;

/// The values of a model's columns, with what is known of them.
#[derive(Debug, Clone)]
pub(crate) struct SiteSolution {
    /// Value of each column of the model.
    pub(crate) values: Vec<f64>,
    /// Dual of each row of the model in the last money stage.
    pub(crate) duals: Vec<f64>,
    /// Cost that no plan can undercut, without the model's constant.
    pub(crate) bound: f64,
    pub(crate) status: SearchStatus,
}

/// Binaries that are in the programme.
#[derive(Debug, Clone, Default)]
struct Active {
    pairs: Vec<Pair>,
    /// Whether everything with a least power is on or off. One device alone
    /// would be no help: the parts would move to the others.
    semis: bool,
    /// Whether columns that need a level are a choice.
    guards: bool,
    /// Whether starts are whole.
    starts: bool,
}

impl Active {
    /// All binaries of a model.
    fn all(model: &SiteModel) -> Self {
        Self { pairs: model.pairs.clone(), semis: true, guards: true, starts: true }
    }
}

/// Solves a model within limits. Never fails: what comes first can be served
/// first. `None` where a wish is missed that is to be wanted on, which is
/// another model.
pub(crate) fn solve(
    request: &SiteRequest,
    model: &SiteModel,
    limits: &Limits,
) -> Option<SiteSolution> {
    let before = before_money(model);
    let solution = match with_penalties(&model.program, &before).minimise_within(limits) {
        Ok(solution) => solution,
        Err(error) => return Some(unsolved(model, error.into())),
    };
    let is_missed =
        model.misses.iter().any(|miss| solution.values[miss.column] * miss.energy > SITE_MIN_KWH);
    if is_missed && !model.is_final {
        return None;
    }
    let solved = after_penalties(&model.program, &before, solution, limits);
    let bound = weak_bound(&solved.program, &solved.solution.duals);
    let mut values = solved.solution.values.clone();
    let mut active = Active::default();
    if !is_whole(model, &mut values, &mut active) {
        if solved.status != SearchStatus::Optimal {
            return Some(unsolved(model, solved.status));
        }
        prices_first(model, &mut active);
        let start = first_come(model);
        return Some(with_choices(request, model, &before, active, &start, limits));
    }
    let duals = solved.solution.duals.clone();
    let start = Solved { solution: with_values(&solved, &values), ..solved };
    let (mut preferred, status) = preferences::apply(request, model, start, limits, false);
    if is_whole(model, &mut preferred, &mut active) {
        return Some(SiteSolution { values: preferred, duals, bound, status });
    }
    // The preferences ask for other slots than those that are on.
    let chosen = with_choices(request, model, &before, active, &values, limits);
    let cheapest = SiteSolution { values, duals, bound, status };
    Some(if chosen.status == SearchStatus::Optimal { chosen } else { cheapest })
}

/// Solves with binaries where they are needed, round by round.
fn with_choices(
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
    // With all binaries in, the answer of the solver was not whole.
    unsolved(model, SearchStatus::SolverFailed)
}

fn with_values(solved: &Solved, values: &[f64]) -> crate::lp::Solution {
    let mut solution = solved.solution.clone();
    solution.values[..values.len()].copy_from_slice(values);
    solution
}

/// Whether everything is on or off that must be; if not, what is to become a
/// binary is added. Ties that can be undone at no cost are undone.
fn is_whole(model: &SiteModel, values: &mut [f64], active: &mut Active) -> bool {
    let burning = settle(model, values);
    let semis = model.semis.iter().any(|semi| !keeps_least(model, semi, values));
    let is_part = |value: f64| value > SOLVER_AGREEMENT && value < 1.0 - SOLVER_AGREEMENT;
    let parts = model.starts.iter().any(|start| is_part(values[start.column]));
    let is_low = model.guards.iter().any(|guard| {
        values[guard.gate] > SITE_MIN_KWH
            && value_of(&guard.terms(), values) < guard.least - SITE_MIN_KWH
    });
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

/// Whether a charge is zero, its least or more, or a top-off.
fn keeps_least(model: &SiteModel, semi: &Semi, values: &[f64]) -> bool {
    let value = values[semi.column];
    if value <= SITE_MIN_KWH || value >= semi.least - SITE_MIN_KWH {
        return true;
    }
    model.ends_run(semi, values)
}

/// Where a price is below zero, or selling pays more than buying costs, both
/// directions at once would pay: such pairs are binary from the start.
fn prices_first(model: &SiteModel, active: &mut Active) {
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

/// The programme with binaries. They start from what they are at some values.
fn with_binaries(model: &SiteModel, active: &Active, start: &[f64]) -> MixedProgram {
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

/// On or off, and the top-off of a run to each level at which it may end.
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
    if let Some(next) = semi.next {
        let ended = top_offs.into_iter().map(|top_off| (top_off, upper(next)));
        at_most(mixed, std::iter::once((next, 1.0)).chain(ended).collect(), upper(next));
    }
}

/// A column that is zero, or a level that is high enough.
fn add_guard(model: &SiteModel, mixed: &mut MixedProgram, guard: &Guard, start: &[f64]) {
    let most = model.program.columns[guard.gate].upper;
    let lower = model.program.columns[guard.level].lower;
    let is_open = binary(mixed, start[guard.gate] > SITE_MIN_KWH);
    at_most(mixed, vec![(guard.gate, 1.0), (is_open, -most)], 0.0);
    let mut terms: Vec<(usize, f64)> =
        guard.terms().into_iter().map(|(column, weight)| (column, -weight)).collect();
    terms.push((is_open, guard.least - lower));
    at_most(mixed, terms, -lower);
}

fn binary(mixed: &mut MixedProgram, is_one: bool) -> usize {
    let column = crate::lp::Column { cost: 0.0, lower: 0.0, upper: 1.0 };
    let position = mixed.linear.add_column(column);
    mixed.integers.push(position);
    if let Some(start) = &mut mixed.start {
        start.push(f64::from(u8::from(is_one)));
    }
    position
}

fn at_most(mixed: &mut MixedProgram, terms: Vec<(usize, f64)>, upper: f64) {
    mixed.linear.rows.push(crate::lp::Row { lower: f64::NEG_INFINITY, upper, terms });
}

/// Values of a search with whole numbers, and what is known of them.
#[derive(Debug)]
struct FoundValues {
    values: Vec<f64>,
    bound: f64,
    status: SearchStatus,
}

/// Solves with binaries, then once more with them fixed, which gives the
/// shadow prices and exact values. Where the two contradict each other, the
/// solver failed.
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
        // Nothing better in time: binaries stay as they were.
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
            (SiteSolution { values, duals, bound, status }, Some(solved))
        }
        Err(error) => (unsolved(model, error.into()), None),
    }
}

/// Whether more is missing than the search found, or less although it was
/// complete.
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

/// Whole values of least money among the least of everything before it, the
/// bound on the money, and how the search ended. The programme is left with
/// the rows of what comes before money, and with money as its costs.
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
        set_costs(&mut mixed.linear, objective);
        let found = mixed.minimise(limits)?;
        status = status.max(found.status.into());
        // The search may owe a part of its value to the room of earlier rows and to numbers
        // that are not quite whole. Held to that, later searches would have no true plan left.
        let rest = money.with_whole(&mixed.integers, &found.values);
        let exact = least_money(&rest, &before[..=rank], limits)?;
        status = status.max(exact.status);
        let least = value_of(objective, &exact.solution.values);
        mixed.linear.rows.push(bound_row(objective, least + slack_of(objective)));
        mixed.start = Some(exact.solution.values.clone());
        values = exact.solution.values;
    }
    for (column, money) in mixed.linear.columns.iter_mut().zip(&money.columns) {
        column.cost = money.cost;
    }
    let found = mixed.minimise(limits)?;
    status = status.max(found.status.into());
    Ok(FoundValues { values: found.values, bound: found.bound, status })
}

/// Moves whole values to earlier slots at the same money. What is not found
/// within a few nodes is left, as money has been decided.
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
    set_costs(&mut mixed.linear, &preferences::earlier(model));
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

/// The answer where the solver has none: the wishes as they come.
pub(crate) fn unsolved(model: &SiteModel, status: SearchStatus) -> SiteSolution {
    let duals = vec![0.0; model.program.rows.len()];
    let bound = weak_bound(&model.program, &duals);
    SiteSolution { values: first_come(model), duals, bound, status }
}

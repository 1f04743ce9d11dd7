//! Mixed-integer programme of a switching problem to which the exact search does not apply.
//!
//! # The programme
//!
//! | symbol | column | meaning |
//! |---|---|---|
//! | `x_t` | `kwh` | energy of step `t` |
//! | `u_t` | `on` | the step is on |
//! | `v_t` | `start` | a session starts with the step |
//! | `s_t` | `short` | that session is the last one and may be short |
//! | `o_t` | `top_off` | the step is the top-off, and the last one that is on |
//! | `m_j` | `missing` | energy missing of level `j` |
//! | `z_k` | `endings` | level `k` ends the buying |
//!
//! Data are the price `p_t`, the start cost `c`, the least and most energy `l_t` and `h_t` of a
//! step, the most sessions `S`, and boundary `B_j` and energy `E_j` of level `j`.
//!
//! ```text
//! minimise    Σ p_t·x_t + c·Σ v_t
//! subject to  l_t·(u_t − o_t) ≤ x_t ≤ h_t·u_t − (h_t − l_t)·o_t
//!             u_t − u_{t−1} ≤ v_t ≤ min(u_t, 1 − u_{t−1})
//!             Σ v_i − s_i over starts i whose least time on covers t ≤ u_t − o_t
//!             Σ stops whose least time off covers t ≤ 1 − u_t
//!             Σ v_t ≤ S                            (a carried session counts)
//!             Σ_{t < B_j} x_t + m_j ≥ E_j
//!             z_k = 1  ⇒  Σ_{t < B_k} x_t ≤ E_k, and least energy of steps that must run after
//!             Σ z_k = 1
//! ```
//!
//! A stop before step `t` is `u_{t−1} − u_t + v_t`. The sums over windows of starts and stops
//! are those of the convex hull of least times on and off (Rajan and Takriti, "Minimum up/down
//! polytopes of the unit commitment problem with start-up costs", 2005). The constants of the
//! implications are the most energy of the steps in the row.
//!
//! First `m_j = 0` for all levels. If that is infeasible, the shortfalls are minimised one by
//! one, earliest level first, and then the cost.
//!
//! Energies are in units of the largest step, and money in units of the largest amount in the
//! objective, so that the absolute tolerances of the solver are relative ones. The solver only
//! chooses the steps that are on; [`spread`] then computes their energies without a solver.
use crate::lp::{Column, Limits, LpError, MipSolution, MixedProgram, Row};
use crate::plan::search_status::SearchStatus;
use crate::plan::switching::path_search::FoundSchedule;
use crate::plan::switching::spread::{Ending, Pattern, Spread, endings, spread};
use crate::plan::switching::timeline::{Rules, Timeline};
use crate::tolerance::{SOLVER_AGREEMENT, SOLVER_ROUNDING, SOLVER_SLACK};

/// Threshold above which an integer column counts as 1.
const WHOLE: f64 = 0.5;

impl FoundSchedule {
    /// Schedule of a pattern and its energies.
    pub(crate) fn new(pattern: &Pattern, spread: Spread) -> Self {
        // A top-off without energy is off.
        let is_part = |&index: &usize| spread.kwh[index] > 0.0;
        Self {
            top_off: pattern.top_off.filter(is_part),
            kwh: spread.kwh,
            missing: spread.missing,
            lagrangian_bound: None,
        }
    }
}

/// Share of the remaining seconds that one of several searches may take.
const SHARE: f64 = 0.5;

/// Schedule of the programme, with its bound and status.
pub(crate) struct Mixed {
    pub(crate) found: FoundSchedule,
    /// Lower bound on the cost of the plans with as little shortfall, if one is known.
    pub(crate) bound: Option<f64>,
    pub(crate) status: SearchStatus,
}

/// Limits on the effort of the searches.
#[derive(Clone, Copy)]
pub(crate) struct SearchEffort<'e> {
    pub(crate) nodes_max: u32,
    /// Most seconds of one search.
    pub(crate) seconds_max: Option<f64>,
    /// Seconds left for all searches, by a clock of the caller.
    pub(crate) seconds_left: &'e dyn Fn() -> f64,
}

impl SearchEffort<'_> {
    /// Solver limits of one search that may take `share` of the seconds left.
    pub(crate) fn limits(&self, share: f64) -> Limits {
        let left = (self.seconds_left)() * share;
        let seconds = self.seconds_max.map_or(left, |most| most.min(left));
        Limits {
            nodes: self.nodes_max,
            seconds: seconds.is_finite().then_some(seconds),
            tolerance: SOLVER_ROUNDING,
            presolve: true,
            ..Limits::default()
        }
    }
}

/// Returns the cheapest plan with the least shortfall, as far as the limits allow; `None` if no
/// pattern keeps the rules.
///
/// # Errors
/// The status of a search that ended without any plan.
pub(crate) fn solve(
    timeline: &Timeline,
    rules: Rules,
    effort: SearchEffort<'_>,
) -> Result<Option<Mixed>, SearchStatus> {
    if timeline.breaks_carried_session(rules) {
        return Ok(None);
    }
    let mut model = SwitchingModel::new(timeline, rules);
    let mut status = SearchStatus::Optimal;
    // Most problems have a plan without shortfall, and then one search is enough.
    match model.programme.minimise(&effort.limits(SHARE)) {
        Ok(solution) => return model.read_solution(&solution, true, status).map(Some),
        Err(LpError::Infeasible) => {}
        Err(error) => status = error.into(),
    }
    let kept = match model.minimise_shortfall(effort, &mut status) {
        Ok(kept) => kept,
        Err(LpError::Infeasible) if status == SearchStatus::Optimal => return Ok(None),
        Err(LpError::Infeasible) => return Err(status),
        Err(error) => return Err(status.max(error.into())),
    };
    match (model.programme.minimise(&effort.limits(1.0)), kept) {
        (Ok(solution), _) => model.read_solution(&solution, true, status).map(Some),
        // The plan with the least shortfall is returned, though its cost is not minimised.
        (Err(error), Some(kept)) => {
            model.read_solution(&kept, false, status.max(error.into())).map(Some)
        }
        // Without levels no shortfall can be allowed, so the rules are infeasible.
        (Err(LpError::Infeasible), None) if status.is_optimal() => Ok(None),
        (Err(error), None) => Err(status.max(error.into())),
    }
}

/// Positions of the columns of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns {
    pub(crate) kwh: usize,
    on: usize,
    start: usize,
    short: usize,
    top_off: usize,
    /// 1 if a short session started with this step or before it.
    shortened: usize,
    /// 1 if this step or one before it is the top-off.
    topped: usize,
}

/// Programme of a timeline under one set of rules.
pub(crate) struct SwitchingModel<'t> {
    pub(crate) timeline: &'t Timeline,
    rules: Rules,
    pub(crate) programme: MixedProgram,
    pub(crate) columns: Vec<Columns>,
    /// Column that is 1 if the carried session is the last one and may be short.
    carried_short: usize,
    /// Shortfall column of each level.
    pub(crate) missing: Vec<usize>,
    /// Endings with their columns `z_k`.
    endings: Vec<(Ending, usize)>,
    /// Unit of energy, in kWh.
    pub(crate) unit_kwh: f64,
    /// Unit of the objective, in money.
    pub(crate) unit_money: f64,
}

impl<'t> SwitchingModel<'t> {
    /// Programme with all columns and rows, in which every level must be met.
    pub(crate) fn new(timeline: &'t Timeline, rules: Rules) -> Self {
        let largest = |of: &dyn Fn(usize) -> f64| {
            let most = (0..timeline.len()).fold(0.0, |most: f64, step| most.max(of(step)));
            if most > 0.0 { most } else { 1.0 }
        };
        // Energy and money are scaled to about one, where the solver's tolerances fit.
        let unit_kwh = largest(&|step| timeline.steps[step].most);
        let dearest = largest(&|step| {
            (timeline.steps[step].price * timeline.steps[step].most).abs().max(timeline.start_cost)
        });
        let mut model = Self {
            timeline,
            rules,
            programme: MixedProgram::default(),
            columns: Vec::with_capacity(timeline.len()),
            carried_short: 0,
            missing: Vec::new(),
            endings: Vec::new(),
            unit_kwh,
            unit_money: dearest,
        };
        // Columns first, because rows refer to them by position.
        model.add_columns();
        model.add_energy_rows();
        model.add_level_rows();
        model.add_start_rows();
        model.add_time_on_rows();
        model.add_time_off_rows();
        model.add_top_off_rows();
        model
    }

    /// Adds a continuous column.
    fn column(&mut self, lower: f64, upper: f64, cost: f64) -> usize {
        self.programme.linear.add_column(Column { cost, lower, upper })
    }

    /// Adds an integer column.
    fn whole(&mut self, lower: f64, upper: f64) -> usize {
        let column = self.column(lower, upper, 0.0);
        self.programme.integers.push(column);
        column
    }

    /// Adds the columns of all steps, levels and endings.
    fn add_columns(&mut self) {
        let timeline = self.timeline;
        let one_if = |is: bool| f64::from(u8::from(is));
        let short = one_if(self.rules.last_may_be_short);
        let first_run = timeline.first_run(self.rules);
        let may_top_off = one_if(first_run == timeline.len());
        let carried = one_if(timeline.carried_since.is_some());
        self.carried_short = self.whole(0.0, short * carried);
        for (index, step) in timeline.steps.iter().enumerate() {
            let may_start = one_if(index >= timeline.first_start);
            let price = step.price * self.unit_kwh / self.unit_money;
            let start_cost = timeline.start_cost / self.unit_money;
            let columns = Columns {
                kwh: self.column(0.0, step.most / self.unit_kwh, price),
                on: self.whole(one_if(index >= first_run), 1.0),
                // Its rows make it integer where `on` is.
                start: self.column(0.0, may_start, start_cost),
                short: self.whole(0.0, short * may_start),
                top_off: self.whole(0.0, may_top_off),
                shortened: self.column(0.0, short, 0.0),
                topped: self.column(0.0, may_top_off, 0.0),
            };
            self.columns.push(columns);
        }
        self.missing = timeline.levels.iter().map(|_| self.column(0.0, 0.0, 0.0)).collect();
        for ending in endings(timeline, self.rules) {
            let ends = self.whole(0.0, 1.0);
            self.endings.push((ending, ends));
        }
    }

    /// Adds a row. Weights of a repeated column are summed, because HiGHS rejects duplicates.
    fn row(&mut self, lower: f64, upper: f64, mut terms: Vec<(usize, f64)>) {
        terms.sort_by_key(|&(column, _)| column);
        terms.dedup_by(|next, first| {
            let is_same = next.0 == first.0;
            first.1 += if is_same { next.1 } else { 0.0 };
            is_same
        });
        terms.retain(|&(_, weight)| weight != 0.0);
        self.programme.linear.rows.push(Row { lower, upper, terms });
    }

    /// Adds the row `Σ terms ≤ upper`.
    fn at_most(&mut self, upper: f64, terms: Vec<(usize, f64)>) {
        self.row(f64::NEG_INFINITY, upper, terms);
    }

    /// Adds the row `Σ terms ≥ lower`.
    fn at_least(&mut self, lower: f64, terms: Vec<(usize, f64)>) {
        self.row(lower, f64::INFINITY, terms);
    }

    /// Least and most energy of a step, in units of `unit_kwh`.
    fn energies(&self, index: usize) -> (f64, f64) {
        let step = &self.timeline.steps[index];
        (step.least / self.unit_kwh, step.most / self.unit_kwh)
    }

    /// Adds the rows of the energy of each step.
    fn add_energy_rows(&mut self) {
        for index in 0..self.columns.len() {
            let Columns { kwh, on, top_off, .. } = self.columns[index];
            let (least, most) = self.energies(index);
            self.at_most(0.0, vec![(kwh, 1.0), (on, -most), (top_off, most - least)]);
            self.at_least(0.0, vec![(kwh, 1.0), (on, -least), (top_off, least)]);
        }
    }

    /// Adds the rows of the levels and of the endings.
    fn add_level_rows(&mut self) {
        for (index, level) in self.timeline.levels.iter().enumerate() {
            let mut terms = self.energy_of(0..level.boundary);
            terms.push((self.missing[index], 1.0));
            self.at_least(level.kwh / self.unit_kwh, terms);
        }
        let first_run = self.timeline.first_run(self.rules);
        for (ending, ends) in self.endings.clone() {
            // At most the energy of the ending before its boundary.
            let wanted = ending.kwh / self.unit_kwh;
            let before = 0..ending.boundary;
            self.bound_if(ends, before, wanted);
            // After it no energy, except the least energy of the steps that must run.
            let free = ending.boundary..first_run.max(ending.boundary);
            self.bound_if(ends, free, 0.0);
            let run = first_run.max(ending.boundary)..self.columns.len();
            let least = run.clone().map(|step| self.energies(step).0).sum();
            self.bound_if(ends, run, least);
        }
        let all = self.endings.iter().map(|&(_, ends)| (ends, 1.0)).collect();
        self.row(1.0, 1.0, all);
    }

    /// Terms of the sum of the energies of some steps.
    fn energy_of(&self, steps: std::ops::Range<usize>) -> Vec<(usize, f64)> {
        self.columns[steps].iter().map(|columns| (columns.kwh, 1.0)).collect()
    }

    /// Adds the row: if the column `ends` is 1, the energy of `steps` is at most `upper`.
    fn bound_if(&mut self, ends: usize, steps: std::ops::Range<usize>, upper: f64) {
        let most: f64 = steps.clone().map(|step| self.energies(step).1).sum();
        if most > upper {
            let mut terms = self.energy_of(steps);
            terms.push((ends, most - upper));
            self.at_most(most, terms);
        }
    }

    /// Column `on` of the step before, if a session can continue from it; else `None`.
    fn on_before(&self, index: usize) -> Option<usize> {
        let before = index.checked_sub(1)?;
        self.timeline.is_joined(index).then(|| self.columns[before].on)
    }

    /// Adds the rows of starts, of the number of sessions and of the short last session.
    fn add_start_rows(&mut self) {
        let mut sessions = Vec::new();
        let mut shortened = self.carried_short;
        for index in 0..self.columns.len() {
            let columns = self.columns[index];
            let Columns { on, start, short, .. } = columns;
            sessions.push((start, 1.0));
            if index == 0 && self.timeline.is_joined(0) {
                // The carried session counts and costs no start.
                sessions.push((on, 1.0));
            }
            self.at_most(0.0, vec![(start, 1.0), (on, -1.0)]);
            match self.on_before(index) {
                Some(before) => {
                    self.at_most(0.0, vec![(on, 1.0), (before, -1.0), (start, -1.0)]);
                    self.at_most(1.0, vec![(start, 1.0), (before, 1.0)]);
                }
                None if index == 0 && self.timeline.is_joined(0) => {}
                None => self.at_most(0.0, vec![(on, 1.0), (start, -1.0)]),
            }
            if self.rules.last_may_be_short {
                self.at_most(0.0, vec![(short, 1.0), (start, -1.0)]);
                // No session starts after a short one.
                self.at_most(1.0, vec![(start, 1.0), (shortened, 1.0)]);
                let next = columns.shortened;
                self.row(0.0, 0.0, vec![(next, 1.0), (shortened, -1.0), (short, -1.0)]);
                shortened = next;
            }
        }
        if let Some(most) = self.timeline.sessions_max {
            self.at_most(most as f64, sessions);
        }
    }

    /// Adds the rows of the least time on: a session that started within the window before a
    /// step, and is not short, is on in that step, and that step is not its top-off.
    fn add_time_on_rows(&mut self) {
        let steps = self.columns.len();
        let until: Vec<Option<usize>> =
            (0..steps).map(|start| self.timeline.may_stop(start)).collect();
        for (index, until) in until.iter().enumerate() {
            if until.is_none() {
                let Columns { start, short, .. } = self.columns[index];
                self.at_most(0.0, vec![(start, 1.0), (short, -1.0)]);
            }
        }
        // A carried session that cannot last for `on_min` is short.
        let carried = self.timeline.carried_since.map(|_| self.timeline.carried_may_stop());
        if carried == Some(None) {
            self.at_least(1.0, vec![(self.carried_short, 1.0)]);
        }
        let carried = carried.flatten().unwrap_or(0);
        let mut first = 0;
        for index in 0..steps {
            // Least times on end in the order in which they start, so the window only moves on.
            while first < index && until[first].is_none_or(|until| until <= index) {
                first += 1;
            }
            let covers = |start: &usize| until[*start].is_some_and(|until| until > index);
            let mut terms: Vec<(usize, f64)> = Vec::new();
            for start in (first..=index).filter(covers) {
                let Columns { start, short, .. } = self.columns[start];
                terms.extend([(start, 1.0), (short, -1.0)]);
            }
            // The carried session covers the step unless it is short: `1 − carried_short`.
            let mut upper = 0.0;
            if index < carried {
                terms.push((self.carried_short, -1.0));
                upper = -1.0;
            }
            if terms.is_empty() {
                continue;
            }
            let Columns { on, top_off, .. } = self.columns[index];
            terms.push((on, -1.0));
            if self.timeline.has_on_min() {
                terms.push((top_off, 1.0));
            }
            self.at_most(upper, terms);
        }
    }

    /// Adds the rows of the least time off: a device that stopped within the window before a step
    /// is off in that step.
    fn add_time_off_rows(&mut self) {
        let steps = self.columns.len();
        for index in 1..steps {
            let mut terms: Vec<(usize, f64)> = Vec::new();
            for stop in (1..=index).rev() {
                if self.timeline.may_start(stop) <= index {
                    break;
                }
                // The stop `u_{t−1} − u_t + v_t`; over a gap it is `u_{t−1}`.
                terms.push((self.columns[stop - 1].on, 1.0));
                if self.timeline.is_joined(stop) {
                    let Columns { on, start, .. } = self.columns[stop];
                    terms.extend([(on, -1.0), (start, 1.0)]);
                }
            }
            if !terms.is_empty() {
                terms.push((self.columns[index].on, 1.0));
                self.at_most(1.0, terms);
            }
        }
    }

    /// Adds the rows of the top-off: it is on, and no step after it is.
    fn add_top_off_rows(&mut self) {
        if self.timeline.first_run(self.rules) < self.timeline.len() {
            return;
        }
        let mut before: Option<usize> = None;
        for index in 0..self.columns.len() {
            let Columns { on, top_off, topped, .. } = self.columns[index];
            self.at_most(0.0, vec![(top_off, 1.0), (on, -1.0)]);
            let mut terms = vec![(topped, 1.0), (top_off, -1.0)];
            if let Some(before) = before {
                self.at_most(1.0, vec![(on, 1.0), (before, 1.0)]);
                terms.push((before, -1.0));
            }
            self.row(0.0, 0.0, terms);
            before = Some(topped);
        }
    }

    /// Minimises the shortfall of each level in turn, earliest first, and fixes it as the upper
    /// bound of its column. Returns the solution of the last search; `None` without levels.
    ///
    /// # Errors
    /// The error of the first search, if it found no solution.
    fn minimise_shortfall(
        &mut self,
        effort: SearchEffort<'_>,
        status: &mut SearchStatus,
    ) -> Result<Option<MipSolution>, LpError> {
        let mut kept: Option<MipSolution> = None;
        let costs: Vec<f64> =
            self.programme.linear.columns.iter().map(|column| column.cost).collect();
        for (&missing, level) in self.missing.iter().zip(&self.timeline.levels) {
            self.programme.linear.columns[missing].upper = level.kwh / self.unit_kwh;
        }
        for missing in self.missing.clone() {
            for column in &mut self.programme.linear.columns {
                column.cost = 0.0;
            }
            self.programme.linear.columns[missing].cost = 1.0;
            // Shortfalls of earlier levels are fixed by the upper bounds of their columns.
            let solution = match self.programme.minimise(&effort.limits(SHARE)) {
                Ok(solution) => solution,
                // Keep the solution of the level before, with its shortfall of this one.
                Err(error) if kept.is_some() => {
                    *status = (*status).max(error.into());
                    continue;
                }
                Err(error) => return Err(error),
            };
            *status = (*status).max(solution.status.into());
            self.programme.linear.columns[missing].upper = solution.cost.max(0.0) + SOLVER_SLACK;
            self.programme.start = Some(solution.values.clone());
            kept = Some(solution);
        }
        // Restore the objective for the search by cost.
        for (column, cost) in self.programme.linear.columns.iter_mut().zip(costs) {
            column.cost = cost;
        }
        Ok(kept)
    }

    /// On-off pattern of a solution.
    pub(crate) fn pattern(&self, solution: &MipSolution) -> Pattern {
        let is_set = |column: usize| solution.values[column] > WHOLE;
        let top_off = self.columns.iter().position(|columns| is_set(columns.top_off));
        Pattern { on: self.columns.iter().map(|columns| is_set(columns.on)).collect(), top_off }
    }

    /// Energies of the pattern of a solution. The bound is that of the solver if it minimised the
    /// cost (`is_cheapest`).
    ///
    /// # Errors
    /// `SolverFailed` if the pattern exceeds the need.
    fn read_solution(
        &self,
        solution: &MipSolution,
        is_cheapest: bool,
        status: SearchStatus,
    ) -> Result<Mixed, SearchStatus> {
        let pattern = self.pattern(solution);
        let Some(spread) = spread(self.timeline, self.rules, &pattern) else {
            return Err(SearchStatus::SolverFailed);
        };
        let is_same = self.confirms_shortfall(solution, &spread);
        let found = if is_same { SearchStatus::Optimal } else { SearchStatus::SolverFailed };
        let bound = is_cheapest && solution.bound.is_finite();
        Ok(Mixed {
            bound: bound.then_some(solution.bound * self.unit_money),
            status: status.max(solution.status.into()).max(found),
            found: FoundSchedule::new(&pattern, spread),
        })
    }

    /// Returns true if the shortfall of `spread` is at most that of the solver, within
    /// [`SOLVER_AGREEMENT`] of a level.
    fn confirms_shortfall(&self, solution: &MipSolution, spread: &Spread) -> bool {
        let levels = self.timeline.levels.iter().zip(&self.missing).zip(&spread.missing);
        levels.into_iter().all(|((level, &column), &missing)| {
            missing <= solution.values[column] * self.unit_kwh + SOLVER_AGREEMENT * level.kwh
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::request::Target;
    use crate::plan::switching::graph::tests::Switching;
    use crate::plan::switching::path_search;
    use crate::plan::switching::timeline::tests::{STRICT, minute, timeline_of};
    use crate::units::kwh;

    const EFFORT: SearchEffort<'_> =
        SearchEffort { nodes_max: 1_000, seconds_max: None, seconds_left: &|| f64::INFINITY };

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn the_programme_and_the_path_search_agree(
            hours in Switching::any(), cents in prop::collection::vec(-20..60i32, 7),
            wanted in 0.5..75.0f64, start_cost in 0.0..3.0f64,
        ) {
            let timeline = hours.timeline(&cents, wanted, start_cost);
            let exact = path_search::solve(&timeline, hours.rules(), &|| f64::INFINITY).unwrap();
            let mixed = solve(&timeline, hours.rules(), EFFORT).unwrap();
            prop_assert_eq!(exact.is_some(), mixed.is_some());
            let Some((exact, mixed)) = exact.zip(mixed) else { return Ok(()) };
            prop_assert_eq!(mixed.status, SearchStatus::Optimal);
            let missing = mixed.found.missing[0];
            prop_assert!((exact.missing[0] - missing).abs() < 1e-5, "{exact:?}: {missing}");
            let cost = |found: &FoundSchedule| hours.cost(&timeline, &found.kwh);
            let (exact, own) = (cost(&exact).unwrap(), cost(&mixed.found).unwrap());
            prop_assert!((exact - own).abs() < 1e-5, "{own}, not {exact}");
            prop_assert!(mixed.bound.unwrap() <= own + 1e-5);
        }
    }

    /// Hours priced in cents that want energy by 19:00 and by the end.
    fn with_early(cents: &[i32], early: f64, last: f64) -> Timeline {
        timeline_of(cents, last, |request| {
            request.targets.push(Target { by: Some(minute(60)), energy: kwh(early) });
        })
    }

    #[test]
    fn an_early_level_is_met_at_the_least_cost() {
        // 5 kWh before 19:00 at 30 cents, and of the rest all at 10 cents: 1.50 and 0.70.
        let timeline = with_early(&[30, 10, 20], 5.0, 12.0);
        let mixed = solve(&timeline, STRICT, EFFORT).unwrap().unwrap();
        let near = mixed.found.kwh.iter().zip([5.0, 7.0, 0.0]).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(near, "{:?}", mixed.found.kwh);
        assert_eq!((mixed.found.missing, mixed.status), (vec![0.0, 0.0], SearchStatus::Optimal));
        assert!((mixed.bound.unwrap() - 2.2).abs() < 1e-6);
    }

    #[test]
    fn a_level_that_cannot_be_met_misses_as_little_as_it_can() {
        // 10 of 15 kWh before 19:00; the rest is bought at 10 cents: 3.00 and 0.50.
        let timeline = with_early(&[30, 10, 20], 15.0, 15.0);
        let mixed = solve(&timeline, STRICT, EFFORT).unwrap().unwrap();
        let FoundSchedule { kwh, missing, top_off, .. } = mixed.found;
        assert!((missing[0] - 5.0).abs() < 1e-6 && missing[1] == 0.0, "{missing:?}");
        assert!((kwh[0] - 10.0).abs() < 1e-6 && (kwh[1] - 5.0).abs() < 1e-6, "{kwh:?}");
        assert_eq!(top_off, None);
    }

    #[test]
    fn a_search_ends_with_its_share_of_the_seconds_left() {
        let limits = |seconds_max, left: f64| {
            let seconds_left = &|| left;
            SearchEffort { nodes_max: 7, seconds_max, seconds_left }.limits(0.5)
        };
        assert_eq!(limits(None, 10.0).seconds, Some(5.0));
        assert_eq!(limits(Some(2.0), 10.0).seconds, Some(2.0));
        assert_eq!(limits(Some(2.0), 1.0).seconds, Some(0.5));
        assert_eq!(limits(None, f64::INFINITY).seconds, None);
        assert_eq!(limits(None, 10.0).nodes, 7);
    }

    #[test]
    fn weights_of_a_column_add_up_in_its_row() {
        let timeline = timeline_of(&[10, 20], 6.0, |_| {});
        let mut model = SwitchingModel::new(&timeline, STRICT);
        model.at_most(3.0, vec![(4, 1.0), (2, 1.0), (4, 2.0), (5, 1.0), (5, -1.0)]);
        let row = model.programme.linear.rows.last().unwrap();
        assert_eq!((row.upper, &row.terms[..]), (3.0, &[(2, 1.0), (4, 3.0)][..]));
    }
}

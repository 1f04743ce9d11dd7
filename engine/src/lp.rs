//! Linear and mixed-integer programmes on HiGHS, with reproducible results.
//!
//! ```text
//! minimise    Σ_j cost_j·x_j
//! subject to  lower_i ≤ Σ_j a_ij·x_j ≤ upper_i    for each row i
//!             lower_j ≤ x_j ≤ upper_j             for each column j
//! ```
//!
//! Limits that several devices share give a [`LinearProgram`]; devices that are on or off give a
//! [`MixedProgram`], in which some `x_j` are whole numbers. Only this module calls the solver:
//! silent, on one thread, limited in nodes, and in seconds only if the caller sets a limit. The
//! same programme therefore gives the same bytes on every run.
//!
//! | Symbol | Field |
//! |---|---|
//! | `cost_j`, bounds of `x_j` | [`Column`] |
//! | `a_ij`, bounds of row `i` | [`Row`] |
//! | `x_j` | `values` of [`Solution`] and [`MipSolution`] |
use highs::{HighsModelStatus, HighsSolutionStatus, Model, RowProblem, Sense, SolvedModel};

use crate::tolerance::{GAP_MAX, SOLVER_AGREEMENT, SOLVER_ROUNDING};

pub mod warm;

/// Options of the solver that [`Limits::tolerance`] is set for.
const TOLERANCES: [&str; 2] = ["primal_feasibility_tolerance", "dual_feasibility_tolerance"];

/// Search parameters of one solution of a mixed-integer programme.
#[derive(Debug, Clone, Copy)]
struct Search {
    /// Integrality tolerance: largest distance of a value from a whole number.
    tolerance: f64,
    /// Use of presolve; `None` leaves it to [`Limits::presolve`].
    presolve: Option<bool>,
    /// Seed of the solver; only the search of seed 0 starts from given values.
    seed: i32,
    /// Part of [`Limits::seconds`] that the search may take.
    share: f64,
}

/// Searches of a mixed-integer programme, run in this order until two of them agree.
///
/// HiGHS 1.15 and 1.16 cut off the optimum of one search in some thousands and prove the
/// rest, at each tolerance and with each other setting. Agreement is no proof either, but no
/// two of these were wrong together in the long runs of the oracles.
const SEARCHES: [Search; 4] = [
    Search { tolerance: 1e-8, presolve: None, seed: 0, share: 0.5 },
    Search { tolerance: 1e-7, presolve: Some(true), seed: 1, share: 0.25 },
    Search { tolerance: 1e-8, presolve: Some(false), seed: 2, share: 0.125 },
    Search { tolerance: 1e-6, presolve: Some(true), seed: 3, share: 0.125 },
];

/// A variable: its cost per unit and its bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column {
    /// Cost per unit.
    pub cost: f64,
    /// Least value; negative infinity for none.
    pub lower: f64,
    /// Largest value; infinity for none.
    pub upper: f64,
}

/// Constraint: bounds on a weighted sum of variables.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Least value of the sum; negative infinity for none.
    pub lower: f64,
    /// Largest value of the sum; infinity for none.
    pub upper: f64,
    /// Variables by position, with their weights.
    pub terms: Vec<(usize, f64)>,
}

/// Linear programme: minimises the total cost within all bounds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LinearProgram {
    /// The variables.
    pub columns: Vec<Column>,
    /// The constraints.
    pub rows: Vec<Row>,
}

/// Optimal solution of a linear programme.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// Least cost.
    pub cost: f64,
    /// Value of each variable.
    pub values: Vec<f64>,
    /// Dual of each row: change of the cost per unit of the row's bound, positive if a higher bound
    /// costs more.
    pub duals: Vec<f64>,
    /// Reduced cost of each variable: its cost per unit less the duals of its rows; zero for a
    /// variable between its bounds.
    pub reduced_costs: Vec<f64>,
}

/// Mixed-integer linear programme: some variables are whole numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MixedProgram {
    /// Variables, constraints and costs.
    pub linear: LinearProgram,
    /// Variables that are whole numbers, by position. They are binary only if their bounds are 0
    /// and 1.
    pub integers: Vec<usize>,
    /// Values to start from, one per variable. HiGHS ignores values outside
    /// the bounds.
    pub start: Option<Vec<f64>>,
}

/// Limits that end a search before its proof is complete.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Most nodes of the search tree.
    pub nodes: u32,
    /// Most iterations of the simplex method, in a programme without whole
    /// numbers. HiGHS does not limit the iterations inside a search tree.
    pub iterations: u32,
    /// Most seconds of wall-clock time. If this limit ends a search, the result depends on the
    /// machine, and [`MipSolution::is_reproducible`] is false.
    pub seconds: Option<f64>,
    /// Feasibility tolerance, at least 1e-10: distance by which values may violate a bound or a
    /// row, and reduced costs may have the wrong sign.
    pub tolerance: f64,
    /// Use of presolve in the first search with whole numbers. Without it, large searches exceed
    /// their limit of seconds.
    pub presolve: bool,
}

impl Default for Limits {
    /// Defaults: 10,000 nodes, 1,000,000 iterations, no time limit, a tolerance three orders
    /// below the callers' smallest relevant value, and no presolve.
    fn default() -> Self {
        Self {
            nodes: 10_000,
            iterations: 1_000_000,
            seconds: None,
            tolerance: SOLVER_ROUNDING,
            presolve: false,
        }
    }
}

/// Termination of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MipStatus {
    /// Optimal, within the tolerances of the solver.
    Optimal,
    /// The limit on nodes was reached.
    NodeLimit,
    /// The limit on iterations was reached.
    IterationLimit,
    /// The limit on seconds was reached.
    TimeLimit,
    /// No two searches found the same least cost, so that none counts as proven.
    Disputed,
}

/// Best solution found, with a lower bound on the cost.
#[derive(Debug, Clone, PartialEq)]
pub struct MipSolution {
    /// Cost of the values.
    pub cost: f64,
    /// Lower bound on the cost of any solution; negative infinity if none is known.
    pub bound: f64,
    /// Value of each variable. Integers are whole, or whole to 1e-6 if a limit ended the search.
    pub values: Vec<f64>,
    /// Termination of the search.
    pub status: MipStatus,
}

impl MipStatus {
    /// Status of the limit that an error reports; `None` for other errors.
    fn of_limit(error: LpError) -> Option<Self> {
        match error {
            LpError::NodeLimit => Some(Self::NodeLimit),
            LpError::IterationLimit => Some(Self::IterationLimit),
            LpError::TimeLimit => Some(Self::TimeLimit),
            _ => None,
        }
    }
}

impl MipSolution {
    /// Cost minus bound: most that a better solution could save.
    #[must_use]
    pub fn gap(&self) -> f64 {
        self.cost - self.bound
    }

    /// Returns true if every run gives this result: no time limit ended the search.
    #[must_use]
    pub fn is_reproducible(&self) -> bool {
        self.status != MipStatus::TimeLimit
    }
}

/// Error of a programme without a solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LpError {
    /// No values lie within all bounds.
    #[error("infeasible: no values lie within all bounds")]
    Infeasible,
    /// The cost has no least value.
    #[error("the cost is unbounded below")]
    Unbounded,
    /// A row names a variable that is not there, or a number is NaN.
    #[error("row {row} names an unknown variable, or holds NaN")]
    BadRow {
        /// Position of the row.
        row: usize,
    },
    /// A variable has a cost that is not finite, or bounds that cross.
    #[error("column {column} has a cost that is no number, or bounds that cross")]
    BadColumn {
        /// Position of the column.
        column: usize,
    },
    /// A whole number names a variable that is not there.
    #[error("an integrality names an unknown variable")]
    BadInteger,
    /// The values to start from are not one for each variable.
    #[error("{found} values to start from are for {expected} variables")]
    BadStart {
        /// Number of values.
        found: usize,
        /// Number of variables.
        expected: usize,
    },
    /// The limit on iterations was reached before the optimum.
    #[error("the limit on iterations was reached before the optimum")]
    IterationLimit,
    /// The limit on seconds was reached before the optimum.
    #[error("the limit on seconds was reached before the optimum")]
    TimeLimit,
    /// The limit on nodes was reached before any values were found.
    #[error("the limit on nodes was reached before any values were found")]
    NodeLimit,
    /// The solver stopped without a result.
    #[error("the solver stopped before the optimum")]
    Stopped,
}

impl LinearProgram {
    /// Adds a variable and returns its position.
    pub fn add_column(&mut self, column: Column) -> usize {
        self.columns.push(column);
        self.columns.len() - 1
    }

    /// Replaces the costs of all columns by an objective; costs of a repeated column add up.
    pub(crate) fn set_costs(&mut self, objective: &[(usize, f64)]) {
        for column in &mut self.columns {
            column.cost = 0.0;
        }
        for &(column, weight) in objective {
            self.columns[column].cost += weight;
        }
    }

    /// Objective as terms of a row: each column with a cost, and the cost.
    pub(crate) fn objective(&self) -> Vec<(usize, f64)> {
        let columns = self.columns.iter().enumerate();
        columns.filter(|(_, c)| c.cost != 0.0).map(|(index, c)| (index, c.cost)).collect()
    }

    /// Solves the programme.
    ///
    /// # Errors
    /// The programme is invalid, infeasible or unbounded, or takes more iterations than
    /// [`Limits::default`] allows.
    ///
    /// # Example
    ///
    /// Two hours at 3 and 5, at most 4 kWh in each, 6 kWh wanted in all: the
    /// cheap hour is full, and one more kWh would cost 5.
    ///
    /// ```
    /// use slackwater_engine::lp::{Column, LinearProgram, Row};
    /// let mut programme = LinearProgram::default();
    /// let cheap = programme.add_column(Column { cost: 3.0, lower: 0.0, upper: 4.0 });
    /// let dear = programme.add_column(Column { cost: 5.0, lower: 0.0, upper: 4.0 });
    /// let terms = vec![(cheap, 1.0), (dear, 1.0)];
    /// programme.rows.push(Row { lower: 6.0, upper: f64::INFINITY, terms });
    /// let solution = programme.minimise()?;
    /// assert_eq!((solution.cost, solution.values), (22.0, vec![4.0, 2.0]));
    /// assert_eq!(solution.duals, [5.0]);
    /// # Ok::<(), slackwater_engine::lp::LpError>(())
    /// ```
    pub fn minimise(&self) -> Result<Solution, LpError> {
        self.minimise_within(&Limits::default())
    }

    /// Minimises the programme within limits on iterations and, if given, seconds. The limit on
    /// nodes does not apply.
    ///
    /// The simplex method may keep dual feasibility rather than primal feasibility on its way. An
    /// interrupted solution may therefore be infeasible, and none is returned.
    ///
    /// # Errors
    /// As [`LinearProgram::minimise`]; a limit was reached.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_engine::lp::{Column, Limits, LinearProgram, LpError, Row};
    /// let mut programme = LinearProgram::default();
    /// for cost in [1.0, 2.0, 4.0] {
    ///     programme.add_column(Column { cost, lower: 0.0, upper: 4.0 });
    /// }
    /// for (first, second) in [(0, 1), (1, 2), (0, 2)] {
    ///     let terms = vec![(first, 1.0), (second, 1.0)];
    ///     programme.rows.push(Row { lower: 5.0, upper: f64::INFINITY, terms });
    /// }
    /// let none = Limits { iterations: 0, ..Limits::default() };
    /// assert_eq!(programme.minimise_within(&none), Err(LpError::IterationLimit));
    /// assert_eq!(programme.minimise()?.values, [4.0, 4.0, 1.0]);
    /// # Ok::<(), LpError>(())
    /// ```
    pub fn minimise_within(&self, limits: &Limits) -> Result<Solution, LpError> {
        self.minimise_from(&[], limits)
    }

    /// Minimises the programme as [`LinearProgram::minimise_within`] does, from given values, one
    /// per variable.
    ///
    /// The least cost is the same from any values. The simplex method begins at a basis in which
    /// variables at a bound stay there, so values near the optimum save most of its steps. They need
    /// not be feasible. No values leave the start to the solver.
    ///
    /// # Errors
    /// As [`LinearProgram::minimise_within`]; [`LpError::BadStart`] if there are values for another
    /// number of variables.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_engine::lp::{Column, Limits, LinearProgram, Row};
    /// let mut programme = LinearProgram::default();
    /// for cost in [3.0, 5.0] {
    ///     programme.add_column(Column { cost, lower: 0.0, upper: 4.0 });
    /// }
    /// let terms = vec![(0, 1.0), (1, 1.0)];
    /// programme.rows.push(Row { lower: 6.0, upper: f64::INFINITY, terms });
    /// let solution = programme.minimise_from(&[2.0, 4.0], &Limits::default())?;
    /// assert_eq!(solution.values, [4.0, 2.0]);
    /// # Ok::<(), slackwater_engine::lp::LpError>(())
    /// ```
    pub fn minimise_from(&self, values: &[f64], limits: &Limits) -> Result<Solution, LpError> {
        self.check()?;
        if !values.is_empty() {
            check_start(values, self.columns.len())?;
        }
        let mut model = self.model(&[])?;
        make_reproducible(&mut model);
        set_limits(&mut model, limits);
        // Presolve finds little in these programmes, and takes a quarter of the time.
        model.set_option("presolve", "off");
        if !values.is_empty() {
            let set = model.try_set_solution(Some(values), None, None, None);
            set.map_err(|_| LpError::Stopped)?;
        }
        let solved = model.try_solve().map_err(|_| LpError::Stopped)?;
        match solved.status() {
            HighsModelStatus::Optimal | HighsModelStatus::ModelEmpty => {}
            HighsModelStatus::ReachedIterationLimit => return Err(LpError::IterationLimit),
            HighsModelStatus::ReachedTimeLimit => return Err(LpError::TimeLimit),
            status => return Err(self.without_answer(status)),
        }
        let solution = solved.get_solution();
        Ok(Solution {
            cost: solved.objective_value(),
            values: solution.columns().to_vec(),
            duals: solution.dual_rows().to_vec(),
            reduced_costs: solution.dual_columns().to_vec(),
        })
    }

    /// Copy in which the variables at `integers` are fixed at the whole numbers nearest to
    /// `values`. Its solution does not depend on the integrality tolerance of the search.
    pub(crate) fn with_whole(&self, integers: &[usize], values: &[f64]) -> Self {
        let mut rest = self.clone();
        for &column in integers {
            let whole = values.get(column).map_or(0.0, |value| value.round());
            (rest.columns[column].lower, rest.columns[column].upper) = (whole, whole);
        }
        rest
    }

    /// The programme inside HiGHS, with the variables at `integers` whole.
    fn model(&self, integers: &[usize]) -> Result<Model, LpError> {
        let mut is_integer = vec![false; self.columns.len()];
        for &column in integers {
            is_integer[column] = true;
        }
        let mut problem = RowProblem::default();
        let mut variables = Vec::with_capacity(self.columns.len());
        for (column, is_integer) in self.columns.iter().zip(is_integer) {
            let bounds = column.lower..=column.upper;
            variables.push(problem.add_column_with_integrality(column.cost, bounds, is_integer));
        }
        for row in &self.rows {
            let terms = row.terms.iter().map(|&(column, weight)| (variables[column], weight));
            problem.add_row(row.lower..=row.upper, terms);
        }
        problem.try_optimise(Sense::Minimise).map_err(|_| LpError::Stopped)
    }

    /// Error for a status without a solution.
    fn without_answer(&self, status: HighsModelStatus) -> LpError {
        match status {
            HighsModelStatus::Infeasible => LpError::Infeasible,
            HighsModelStatus::Unbounded => LpError::Unbounded,
            // Presolve can tell that it is one of the two, not which.
            HighsModelStatus::UnboundedOrInfeasible => self.tell_unbounded_from_infeasible(),
            _ => LpError::Stopped,
        }
    }

    /// Distinguishes infeasible from unbounded: without costs no programme is unbounded.
    fn tell_unbounded_from_infeasible(&self) -> LpError {
        if self.columns.iter().all(|column| column.cost == 0.0) {
            return LpError::Infeasible;
        }
        let mut free = self.clone();
        for column in &mut free.columns {
            column.cost = 0.0;
        }
        match free.minimise() {
            Ok(_) => LpError::Unbounded,
            Err(error) => error,
        }
    }

    /// Checks positions of variables, costs and bounds.
    fn check(&self) -> Result<(), LpError> {
        for (index, column) in self.columns.iter().enumerate() {
            let is_range = column.lower <= column.upper; // False for NaN too.
            if !column.cost.is_finite() || !is_range {
                return Err(LpError::BadColumn { column: index });
            }
        }
        for (index, row) in self.rows.iter().enumerate() {
            let good = |&(column, weight): &(usize, f64)| {
                column < self.columns.len() && weight.is_finite()
            };
            if row.lower.is_nan() || row.upper.is_nan() || !row.terms.iter().all(good) {
                return Err(LpError::BadRow { row: index });
            }
        }
        Ok(())
    }
}

impl MixedProgram {
    /// Minimises the cost within limits.
    ///
    /// Searches are repeated until two of them agree, because the pruning of a branch-and-bound
    /// search cannot be checked afterwards. Values and cost are those of the linear programme
    /// with the integers fixed, which does not depend on the integrality tolerance.
    ///
    /// A limit is no error if a feasible solution was found by then: it is returned with the
    /// bound and the status.
    ///
    /// # Errors
    /// The programme is invalid or has no solution, or a limit ended the search before a solution
    /// was found.
    ///
    /// # Example
    ///
    /// A device draws 2 to 4 kW when it runs, at 3 per kWh; a second source has no minimum and
    /// costs 5. For 5 kWh within an hour the device runs at 4 kW, and the cost is 17. For 1 kWh
    /// its minimum is too much, and the source supplies the energy for 5.
    ///
    /// ```
    /// use slackwater_engine::lp::{Column, Limits, MipStatus, MixedProgram, Row};
    /// let mut programme = MixedProgram::default();
    /// let linear = &mut programme.linear;
    /// let runs = linear.add_column(Column { cost: 0.0, lower: 0.0, upper: 1.0 });
    /// let device = linear.add_column(Column { cost: 3.0, lower: 0.0, upper: 4.0 });
    /// let source = linear.add_column(Column { cost: 5.0, lower: 0.0, upper: 9.0 });
    /// let least = vec![(device, 1.0), (runs, -2.0)];
    /// linear.rows.push(Row { lower: 0.0, upper: f64::INFINITY, terms: least });
    /// let most = vec![(device, 1.0), (runs, -4.0)];
    /// linear.rows.push(Row { lower: f64::NEG_INFINITY, upper: 0.0, terms: most });
    /// let both = vec![(device, 1.0), (source, 1.0)];
    /// linear.rows.push(Row { lower: 5.0, upper: 5.0, terms: both });
    /// programme.integers.push(runs);
    ///
    /// let much = programme.minimise(&Limits::default())?;
    /// assert_eq!((much.cost, much.status), (17.0, MipStatus::Optimal));
    /// (programme.linear.rows[2].lower, programme.linear.rows[2].upper) = (1.0, 1.0);
    /// let little = programme.minimise(&Limits::default())?;
    /// assert_eq!((little.cost, little.values), (5.0, vec![0.0, 0.0, 1.0]));
    /// # Ok::<(), slackwater_engine::lp::LpError>(())
    /// ```
    pub fn minimise(&self, limits: &Limits) -> Result<MipSolution, LpError> {
        self.linear.check()?;
        let count = self.linear.columns.len();
        if let Some(start) = &self.start {
            check_start(start, count)?;
        }
        if self.integers.iter().any(|&column| column >= count) {
            return Err(LpError::BadInteger);
        }
        // Without whole numbers there is no pruning to confirm.
        if self.integers.is_empty() {
            return self.search(limits, &Search { share: 1.0, ..SEARCHES[0] });
        }
        let mut best: Option<MipSolution> = None;
        let mut is_infeasible = false;
        for search in &SEARCHES {
            let found = match self.search(limits, search).and_then(|f| self.exact(f, limits)) {
                Ok(found) => found,
                // A feasible solution outweighs the result `Infeasible` of another search.
                Err(LpError::Infeasible) if is_infeasible && best.is_none() => {
                    return Err(LpError::Infeasible);
                }
                Err(LpError::Infeasible) => {
                    is_infeasible = true;
                    continue;
                }
                Err(error) => match (best.take(), MipStatus::of_limit(error)) {
                    // One search found a solution, and no other one confirmed it in time.
                    (Some(best), Some(status)) => return Ok(MipSolution { status, ..best }),
                    (None, Some(_)) => return Err(error),
                    (kept, None) => {
                        best = kept;
                        continue;
                    }
                },
            };
            let Some(known) = best.take() else {
                if found.status != MipStatus::Optimal {
                    return Ok(found);
                }
                best = Some(found);
                continue;
            };
            // Either search may have cut off the optimum, so the lower of both bounds counts.
            let bound = known.bound.min(found.bound);
            // Two searches agree if their costs differ by no more than `SOLVER_AGREEMENT`.
            let agrees = (known.cost - found.cost).abs()
                <= SOLVER_AGREEMENT * known.cost.abs().max(found.cost.abs()).max(1.0);
            let status = found.status;
            let better = if found.cost < known.cost { found } else { known };
            if agrees || status != MipStatus::Optimal {
                return Ok(MipSolution { bound, status, ..better });
            }
            best = Some(better);
        }
        // No two searches agreed: the best values are returned without a bound.
        match best {
            Some(best) => {
                let (bound, status) = (f64::NEG_INFINITY, MipStatus::Disputed);
                Ok(MipSolution { bound, status, ..best })
            }
            None if is_infeasible => Err(LpError::Infeasible),
            None => Err(LpError::Stopped),
        }
    }

    /// Values and cost of the linear programme with the integers fixed at those of a search. If a
    /// limit ends that programme, the values of the search are kept.
    fn exact(&self, found: MipSolution, limits: &Limits) -> Result<MipSolution, LpError> {
        match self.linear.with_whole(&self.integers, &found.values).minimise_within(limits) {
            Ok(exact) => Ok(MipSolution { cost: exact.cost, values: exact.values, ..found }),
            // The rounded integers violate a row, within the tolerance of the search.
            Err(LpError::Infeasible) => Err(LpError::Stopped),
            Err(error) => match MipStatus::of_limit(error) {
                Some(status) => Ok(MipSolution { status, ..found }),
                None => Err(error),
            },
        }
    }

    /// Runs one search.
    fn search(&self, limits: &Limits, search: &Search) -> Result<MipSolution, LpError> {
        let count = self.linear.columns.len();
        let mut model = self.linear.model(&self.integers)?;
        make_reproducible(&mut model);
        let seconds = limits.seconds.map(|seconds| seconds * search.share);
        set_limits(&mut model, &Limits { seconds, ..*limits });
        model.set_option("mip_feasibility_tolerance", search.tolerance);
        model.set_option("random_seed", search.seed);
        if !search.presolve.unwrap_or(limits.presolve) && !self.integers.is_empty() {
            model.set_option("presolve", "off");
        }
        if let Some(start) = self.start.as_ref().filter(|_| search.seed == 0) {
            model.try_set_solution(Some(start), None, None, None).map_err(|_| LpError::Stopped)?;
        }
        let solved = model.try_solve().map_err(|_| LpError::Stopped)?;
        let status = match solved.status() {
            HighsModelStatus::Optimal | HighsModelStatus::ModelEmpty => MipStatus::Optimal,
            HighsModelStatus::ReachedSolutionLimit => MipStatus::NodeLimit,
            HighsModelStatus::ReachedIterationLimit => MipStatus::IterationLimit,
            HighsModelStatus::ReachedTimeLimit => MipStatus::TimeLimit,
            status => return Err(self.linear.without_answer(status)),
        };
        // A limit may end a search before it finds feasible values.
        let has_values = solved.primal_solution_status() == HighsSolutionStatus::Feasible;
        if count > 0 && !has_values {
            return Err(match status {
                MipStatus::Optimal | MipStatus::Disputed => LpError::Stopped,
                MipStatus::NodeLimit => LpError::NodeLimit,
                MipStatus::IterationLimit => LpError::IterationLimit,
                MipStatus::TimeLimit => LpError::TimeLimit,
            });
        }
        Ok(MipSolution {
            cost: solved.objective_value(),
            bound: self.bound(&solved, status),
            values: solved.get_solution().columns().to_vec(),
            status,
        })
    }

    /// Lower bound on the cost that the solver reports.
    fn bound(&self, solved: &SolvedModel, status: MipStatus) -> f64 {
        match status {
            _ if !self.integers.is_empty() => {
                solved.double_info_value(c"mip_dual_bound").unwrap_or(f64::NEG_INFINITY)
            }
            MipStatus::Optimal => solved.objective_value(),
            _ => f64::NEG_INFINITY,
        }
    }
}

/// Checks that there is a value to start from for each variable.
fn check_start(values: &[f64], expected: usize) -> Result<(), LpError> {
    let found = values.len();
    if found == expected { Ok(()) } else { Err(LpError::BadStart { found, expected }) }
}

/// Sets the options that make the solver silent and its results reproducible.
fn make_reproducible(model: &mut Model) {
    model.make_quiet();
    // On several threads the course of the search would depend on their timing.
    model.set_option("threads", 1);
    model.set_option("parallel", "off");
    model.set_option("random_seed", 0);
}

/// Sets the tolerances and limits of a solution.
fn set_limits(model: &mut Model, limits: &Limits) {
    for option in TOLERANCES {
        model.set_option(option, limits.tolerance);
    }
    model.set_option("mip_rel_gap", GAP_MAX);
    model.set_option("mip_abs_gap", GAP_MAX);
    model.set_option("mip_max_nodes", i32::try_from(limits.nodes).unwrap_or(i32::MAX));
    let iterations = i32::try_from(limits.iterations).unwrap_or(i32::MAX);
    model.set_option("simplex_iteration_limit", iterations);
    if let Some(seconds) = limits.seconds {
        model.set_option("time_limit", seconds.max(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programme(columns: &[(f64, f64, f64)], rows: &[(f64, f64)]) -> LinearProgram {
        let columns: Vec<Column> =
            columns.iter().map(|&(cost, lower, upper)| Column { cost, lower, upper }).collect();
        let all = || (0..columns.len()).map(|column| (column, 1.0)).collect();
        let rows = rows.iter().map(|&(lower, upper)| Row { lower, upper, terms: all() }).collect();
        LinearProgram { columns, rows }
    }

    #[test]
    fn a_programme_without_an_answer_says_why() {
        let never = programme(&[(1.0, 0.0, 1.0)], &[(2.0, f64::INFINITY)]);
        assert_eq!(never.minimise(), Err(LpError::Infeasible));
        let endless = programme(&[(-1.0, 0.0, f64::INFINITY)], &[(0.0, f64::INFINITY)]);
        assert_eq!(endless.minimise(), Err(LpError::Unbounded));
        let crossed = programme(&[(1.0, 2.0, 1.0)], &[]);
        assert_eq!(crossed.minimise(), Err(LpError::BadColumn { column: 0 }));
        let mut beyond = programme(&[(1.0, 0.0, 1.0)], &[(0.0, 1.0)]);
        beyond.rows[0].terms.push((7, 1.0));
        assert_eq!(beyond.minimise(), Err(LpError::BadRow { row: 0 }));
        assert_eq!(LinearProgram::default().minimise().map(|solution| solution.values), Ok(vec![]));
    }

    #[test]
    fn a_programme_without_costs_is_never_unbounded() {
        let free = programme(&[(0.0, 0.0, f64::INFINITY)], &[(0.0, f64::INFINITY)]);
        let told = free.without_answer(HighsModelStatus::UnboundedOrInfeasible);
        assert_eq!(told, LpError::Infeasible);
        let costly = programme(&[(-1.0, 0.0, f64::INFINITY)], &[(0.0, f64::INFINITY)]);
        let told = costly.without_answer(HighsModelStatus::UnboundedOrInfeasible);
        assert_eq!(told, LpError::Unbounded);
    }

    #[test]
    fn what_a_limit_on_iterations_interrupts_is_no_answer() {
        // Ten pairs in a ring, each wanting 1 in all at unlike costs.
        let mut ring = programme(&[], &[]);
        for index in 0..10 {
            let cost = f64::from(index * 7 % 10 + 1);
            ring.add_column(Column { cost, lower: 0.0, upper: 1.0 });
            let terms = vec![(index as usize, 1.0), (((index + 1) % 10) as usize, 1.0)];
            ring.rows.push(Row { lower: 1.0, upper: f64::INFINITY, terms });
        }
        let within = |iterations| ring.minimise_within(&Limits { iterations, ..Limits::default() });
        assert_eq!(within(0), Err(LpError::IterationLimit));
        assert_eq!(within(1_000), ring.minimise());
        let hurried = Limits { seconds: Some(0.0), ..Limits::default() };
        assert_eq!(ring.minimise_within(&hurried), Err(LpError::TimeLimit));
    }

    #[test]
    fn the_same_programme_gives_the_same_bytes() {
        let columns: Vec<(f64, f64, f64)> =
            (0..40).map(|i| (f64::from(i * 37 % 11), 0.0, f64::from(1 + i % 3))).collect();
        let programme = programme(&columns, &[(30.0, 35.0)]);
        let first = programme.minimise().unwrap();
        for _ in 0..5 {
            assert_eq!(programme.minimise().unwrap(), first);
        }
    }

    /// Thirty items of which some must weigh 50.5 to 51 together: a knapsack problem on which the
    /// search must branch.
    fn knapsack() -> MixedProgram {
        let item = |i: usize| (((i * 37) % 11 + 3) as f64, ((i * 29) % 13 + 4) as f64 + 0.25);
        let mut programme = MixedProgram::default();
        let terms = (0..30)
            .map(|i| {
                let (cost, weight) = item(i);
                (programme.linear.add_column(Column { cost, lower: 0.0, upper: 1.0 }), weight)
            })
            .collect();
        programme.linear.rows.push(Row { lower: 50.5, upper: 51.0, terms });
        programme.integers = (0..30).collect();
        programme
    }

    #[test]
    fn whole_numbers_cost_more_than_parts() {
        let programme = knapsack();
        let parts = programme.linear.minimise().unwrap();
        let whole = programme.minimise(&Limits::default()).unwrap();
        assert_eq!(whole.status, MipStatus::Optimal);
        assert!(whole.values.iter().all(|value| (value - value.round()).abs() < 1e-6));
        assert!(whole.cost > parts.cost, "{} and {}", whole.cost, parts.cost);
        assert!(whole.gap().abs() < 1e-6 && whole.is_reproducible());
        assert_eq!(programme.minimise(&Limits::default()).unwrap(), whole);
        let unlimited = MixedProgram { integers: vec![], ..programme };
        let same = unlimited.minimise(&Limits::default()).unwrap();
        assert_eq!((same.cost, same.bound), (parts.cost, parts.cost));
    }

    #[test]
    fn a_limit_returns_what_was_found_by_then() {
        let mut programme = knapsack();
        let best = programme.minimise(&Limits::default()).unwrap();
        programme.start = Some(best.values.clone());
        let hurried = Limits { seconds: Some(0.0), ..Limits::default() };
        let stopped = programme.minimise(&hurried).unwrap();
        assert_eq!((stopped.status, stopped.values), (MipStatus::TimeLimit, best.values));
        assert!(stopped.bound <= stopped.cost);
        programme.start = None;
        assert_eq!(programme.minimise(&hurried), Err(LpError::TimeLimit));
        programme.integers.push(99);
        assert_eq!(programme.minimise(&hurried), Err(LpError::BadInteger));
    }

    #[test]
    fn values_to_start_from_change_the_way_and_not_the_least_cost() {
        let mut programme = LinearProgram::default();
        for at in 0..12 {
            let cost = f64::from(7 * at % 12);
            programme.add_column(Column { cost, lower: 0.0, upper: 3.0 });
        }
        let terms = (0..12).map(|column| (column, 1.0)).collect();
        programme.rows.push(Row { lower: 10.0, upper: f64::INFINITY, terms });
        let least = programme.minimise().unwrap();
        // Feasible, infeasible, and outside the bounds.
        for start in [vec![1.0; 12], vec![0.0; 12], vec![9.0; 12]] {
            let from = programme.minimise_from(&start, &Limits::default()).unwrap();
            assert!((from.cost - least.cost).abs() < 1e-9, "{start:?}");
        }
        let few = programme.minimise_from(&[1.0], &Limits::default());
        assert_eq!(few, Err(LpError::BadStart { found: 1, expected: 12 }));
        let mixed =
            MixedProgram { linear: programme, integers: vec![0], start: Some(vec![1.0; 13]) };
        let many = mixed.minimise(&Limits::default());
        assert_eq!(many, Err(LpError::BadStart { found: 13, expected: 12 }));
    }
}

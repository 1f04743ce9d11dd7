//! Warm-started linear programme that grows between solutions.
//!
//! Column generation repeatedly solves a programme and adds variables and constraints to it. The
//! solver is kept between solutions, and each solution starts from the last basis. New variables
//! keep that basis primal feasible, so the primal simplex method continues from it. New
//! constraints keep it dual feasible, so the dual simplex method does.
use std::ops::RangeInclusive;

use highs::{Col, HighsModelStatus, Model, RowProblem, Sense};

use crate::lp::{Column, LpError, Solution};

/// The two simplex methods, as the solver counts them.
const DUAL: i32 = 1;
const PRIMAL: i32 = 4;

/// A programme to minimise that keeps its last basis. Same steps, same bytes.
#[derive(Debug)]
pub struct WarmProgram {
    /// Absent only after the solver refused a step.
    model: Option<Model>,
    columns: Vec<Col>,
    rows: Vec<highs::Row>,
    /// True if constraints were added since the last solution.
    has_new_rows: bool,
}

#[expect(
    unsafe_code,
    reason = "the solver's handle is a bare pointer, which is not Send by itself"
)]
// SAFETY: the handle is owned, is used through `&mut self` only, and the solver keeps
// no state per thread: its executor is created on the thread that first calls it, and
// with `threads = 1` no work is handed to other threads.
unsafe impl Send for WarmProgram {}

impl WarmProgram {
    /// A programme without variables or constraints.
    ///
    /// # Errors
    /// The solver cannot be started.
    pub fn new() -> Result<Self, LpError> {
        let mut model =
            RowProblem::default().try_optimise(Sense::Minimise).map_err(|_| LpError::Stopped)?;
        model.make_quiet();
        model.set_option("threads", 1);
        model.set_option("parallel", "off");
        model.set_option("random_seed", 0);
        // Presolve would throw the basis away.
        model.set_option("presolve", "off");
        Ok(Self { model: Some(model), columns: Vec::new(), rows: Vec::new(), has_new_rows: false })
    }

    /// Adds a constraint over the existing variables and returns its position.
    ///
    /// # Errors
    /// The solver refuses a number.
    pub fn add_row(
        &mut self,
        bounds: RangeInclusive<f64>,
        terms: impl IntoIterator<Item = (usize, f64)>,
    ) -> Result<usize, LpError> {
        let model = self.model.as_mut().ok_or(LpError::Stopped)?;
        let columns = &self.columns;
        let terms = terms.into_iter().map(|(column, weight)| (columns[column], weight));
        let bad = LpError::BadRow { row: self.rows.len() };
        self.rows.push(model.try_add_row(bounds, terms).map_err(|_| bad)?);
        self.has_new_rows = true;
        Ok(self.rows.len() - 1)
    }

    /// Adds a variable with its weights in the constraints that are there.
    ///
    /// # Errors
    /// The cost is no finite number, the bounds cross, or the solver refuses a number.
    pub fn add_column(
        &mut self,
        column: Column,
        terms: impl IntoIterator<Item = (usize, f64)>,
    ) -> Result<usize, LpError> {
        let model = self.model.as_mut().ok_or(LpError::Stopped)?;
        let rows = &self.rows;
        let terms = terms.into_iter().map(|(row, weight)| (rows[row], weight));
        let bounds = column.lower..=column.upper;
        let bad = LpError::BadColumn { column: self.columns.len() };
        let is_range = column.lower <= column.upper; // False for NaN too.
        if !column.cost.is_finite() || !is_range {
            return Err(bad); // The solver takes NaN, and calls what it finds optimal.
        }
        self.columns.push(model.try_add_column(column.cost, bounds, terms).map_err(|_| bad)?);
        Ok(self.columns.len() - 1)
    }

    /// Changes the cost of a variable. One that is no number fails the next solution.
    pub fn change_cost(&mut self, column: usize, cost: f64) {
        if let Some(model) = self.model.as_mut() {
            model.change_column_cost(self.columns[column], cost);
        }
    }

    /// Solves the programme from where the last solution ended.
    ///
    /// # Errors
    /// It has no solution or no least cost, or the solver gave up.
    ///
    /// # Example
    ///
    /// 6 kWh at 5 each; then a cheaper way at 3 for at most 4 kWh turns up.
    ///
    /// ```
    /// use slackwater_engine::lp::{Column, warm::WarmProgram};
    /// let mut programme = WarmProgram::new()?;
    /// let wanted = programme.add_row(6.0..=f64::INFINITY, [])?;
    /// let dear = Column { cost: 5.0, lower: 0.0, upper: f64::INFINITY };
    /// programme.add_column(dear, [(wanted, 1.0)])?;
    /// assert_eq!(programme.minimise()?.cost, 30.0);
    /// let cheap = Column { cost: 3.0, lower: 0.0, upper: 4.0 };
    /// programme.add_column(cheap, [(wanted, 1.0)])?;
    /// let solution = programme.minimise()?;
    /// assert_eq!((solution.cost, solution.values), (22.0, vec![2.0, 4.0]));
    /// # Ok::<(), slackwater_engine::lp::LpError>(())
    /// ```
    pub fn minimise(&mut self) -> Result<Solution, LpError> {
        let mut model = self.model.take().ok_or(LpError::Stopped)?;
        let is_dual = std::mem::take(&mut self.has_new_rows);
        model.set_option("simplex_strategy", if is_dual { DUAL } else { PRIMAL });
        let solved = model.try_solve().map_err(|_| LpError::Stopped)?;
        let outcome = match solved.status() {
            HighsModelStatus::Optimal | HighsModelStatus::ModelEmpty => Ok(()),
            HighsModelStatus::Infeasible => Err(LpError::Infeasible),
            HighsModelStatus::Unbounded => Err(LpError::Unbounded),
            _ => Err(LpError::Stopped),
        };
        let solution = solved.get_solution();
        let cost = solved.objective_value();
        self.model = Some(solved.into());
        outcome?;
        if !cost.is_finite() {
            return Err(LpError::Stopped); // A changed cost was no number.
        }
        let (values, duals) = (solution.columns().to_vec(), solution.dual_rows().to_vec());
        let reduced_costs = solution.dual_columns().to_vec();
        Ok(Solution { cost, values, duals, reduced_costs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_none_are_refused_and_never_optimal() {
        let mut programme = WarmProgram::new().unwrap();
        let row = programme.add_row(1.0..=2.0, []).unwrap();
        let column = |cost, lower| Column { cost, lower, upper: 3.0 };
        for bad in [column(f64::NAN, 0.0), column(f64::NEG_INFINITY, 0.0), column(1.0, f64::NAN)] {
            let refused = programme.add_column(bad, [(row, 1.0)]);
            assert_eq!(refused.unwrap_err(), LpError::BadColumn { column: 0 });
        }
        let good = programme.add_column(column(1.0, 0.0), [(row, 1.0)]).unwrap();
        assert!((programme.minimise().unwrap().cost - 1.0).abs() < 1e-9);
        programme.change_cost(good, f64::NAN);
        assert_eq!(programme.minimise().unwrap_err(), LpError::Stopped);
    }
}

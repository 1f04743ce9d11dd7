//! Linear programmes on HiGHS, solved the same way every time.
//!
//! What has no closed form (limits that several devices share) is a linear
//! programme. This module is the one door to the solver: silent, on one
//! thread, with a bound on iterations and none on seconds, so that the same
//! programme gives the same bytes on every run.
use highs::{HighsModelStatus, RowProblem, Sense};

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

/// A constraint: bounds on a weighted sum of variables.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Least value of the sum; negative infinity for none.
    pub lower: f64,
    /// Largest value of the sum; infinity for none.
    pub upper: f64,
    /// Variables by position, with their weights.
    pub terms: Vec<(usize, f64)>,
}

/// Minimise the total cost within all bounds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LinearProgram {
    /// The variables.
    pub columns: Vec<Column>,
    /// The constraints.
    pub rows: Vec<Row>,
}

/// Values at the least cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// Least cost.
    pub cost: f64,
    /// Value of each variable.
    pub values: Vec<f64>,
    /// Change of the cost per unit of each row's bound, positive where a
    /// higher bound costs more.
    pub duals: Vec<f64>,
}

/// Why a programme has no solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LpError {
    /// No values lie within all bounds.
    #[error("no values lie within all bounds")]
    Infeasible,
    /// The cost has no least value.
    #[error("the cost has no least value")]
    Unbounded,
    /// A row names a variable that is not there, or a number is NaN.
    #[error("row {row} names a variable that is not there, or holds NaN")]
    BadRow {
        /// Position of the row.
        row: usize,
    },
    /// A variable has a cost that is no number, or bounds that cross.
    #[error("column {column} has a cost that is no number, or bounds that cross")]
    BadColumn {
        /// Position of the column.
        column: usize,
    },
    /// The solver gave up.
    #[error("the solver stopped before the optimum")]
    Stopped,
}

impl LinearProgram {
    /// Adds a variable and tells its position.
    pub fn add_column(&mut self, column: Column) -> usize {
        self.columns.push(column);
        self.columns.len() - 1
    }

    /// Solves the programme.
    ///
    /// # Errors
    /// It makes no sense, has no solution or no least cost, or takes more
    /// iterations than HiGHS allows.
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
        self.check()?;
        let mut problem = RowProblem::default();
        let variables: Vec<_> = self
            .columns
            .iter()
            .map(|column| problem.add_column(column.cost, column.lower..=column.upper))
            .collect();
        for row in &self.rows {
            let terms = row.terms.iter().map(|&(column, weight)| (variables[column], weight));
            problem.add_row(row.lower..=row.upper, terms);
        }
        let mut model = problem.try_optimise(Sense::Minimise).map_err(|_| LpError::Stopped)?;
        model.make_quiet();
        model.set_option("threads", 1);
        model.set_option("parallel", "off");
        model.set_option("random_seed", 0);
        let solved = model.try_solve().map_err(|_| LpError::Stopped)?;
        match solved.status() {
            HighsModelStatus::Optimal | HighsModelStatus::ModelEmpty => {}
            HighsModelStatus::Infeasible => return Err(LpError::Infeasible),
            HighsModelStatus::Unbounded => return Err(LpError::Unbounded),
            // Presolve can tell that it is one of the two, not which.
            HighsModelStatus::UnboundedOrInfeasible => return Err(self.tell_apart()),
            _ => return Err(LpError::Stopped),
        }
        let solution = solved.get_solution();
        Ok(Solution {
            cost: solved.objective_value(),
            values: solution.columns().to_vec(),
            duals: solution.dual_rows().to_vec(),
        })
    }

    /// Without costs nothing is unbounded: what is left is infeasible or not.
    fn tell_apart(&self) -> LpError {
        let mut free = self.clone();
        for column in &mut free.columns {
            column.cost = 0.0;
        }
        match free.minimise() {
            Ok(_) => LpError::Unbounded,
            Err(error) => error,
        }
    }

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
    fn the_same_programme_gives_the_same_bytes() {
        let columns: Vec<(f64, f64, f64)> =
            (0..40).map(|i| (f64::from(i * 37 % 11), 0.0, f64::from(1 + i % 3))).collect();
        let programme = programme(&columns, &[(30.0, 35.0)]);
        let first = programme.minimise().unwrap();
        for _ in 0..5 {
            assert_eq!(programme.minimise().unwrap(), first);
        }
    }
}

//! A bound on the money, by weak duality, from rows, columns and duals alone.
use serde::{Deserialize, Serialize};

use crate::lp::LinearProgram;
use crate::units::Money;

/// The proof that comes with a plan of a site.
///
/// The bound is on plans with no more shortfall than this one. It is rebuilt
/// from the rows, the columns and the shadow prices by adding up; what the
/// solver calls its optimum does not enter. Only where something is on or off
/// is it the bound of the solver's search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteCertificate {
    /// Cost of the plan, rebuilt from its slots, less the worth of what is
    /// stored at the end.
    pub cost: Money,
    /// Cost that no plan can undercut.
    pub bound: Money,
    /// What the preferences may have cost.
    pub allowance: Money,
}

impl SiteCertificate {
    /// Cost minus bound: the most that a better plan could save.
    #[must_use]
    pub fn gap(&self) -> Money {
        self.cost - self.bound
    }

    /// Whether cost and bound meet, to one part in ten million.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        let cost = self.cost.as_amount();
        let gap = self.gap().as_amount() - self.allowance.as_amount();
        gap <= 1e-7 * cost.abs().max(1.0)
    }
}

/// The least that any values within all bounds can cost, as the duals prove.
///
/// Whatever the duals are, the bound holds; good ones make it tight. A dual
/// that asks for a bound which is not there counts as zero.
pub(crate) fn weak_bound(program: &LinearProgram, duals: &[f64]) -> f64 {
    let mut reduced: Vec<f64> = program.columns.iter().map(|column| column.cost).collect();
    let mut bound = 0.0;
    for (row, &dual) in program.rows.iter().zip(duals) {
        let side = if dual > 0.0 { row.lower } else { row.upper };
        if dual == 0.0 || !side.is_finite() {
            continue;
        }
        bound += dual * side;
        for &(column, weight) in &row.terms {
            reduced[column] -= dual * weight;
        }
    }
    for (column, price) in program.columns.iter().zip(reduced) {
        bound += price * if price > 0.0 { column.lower } else { column.upper };
    }
    bound
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lp::{Column, Row};

    /// Two hours at 1 and 3 with room for 4 each, 6 wanted: 4 + 2·3 = 10.
    fn programme() -> LinearProgram {
        let mut programme = LinearProgram::default();
        for cost in [1.0, 3.0] {
            programme.add_column(Column { cost, lower: 0.0, upper: 4.0 });
        }
        let terms = vec![(0, 1.0), (1, 1.0)];
        programme.rows.push(Row { lower: 6.0, upper: f64::INFINITY, terms });
        programme
    }

    #[test]
    fn any_dual_bounds_and_the_right_one_meets() {
        let least = programme().minimise().unwrap();
        assert!((weak_bound(&programme(), &least.duals) - 10.0).abs() < 1e-12);
        for tenth in -50..=100 {
            let bound = weak_bound(&programme(), &[f64::from(tenth) / 10.0]);
            assert!(bound <= 10.0 + 1e-12, "{tenth}: {bound}");
        }
        // A dual for an upper side that is not there counts for nothing.
        assert!((weak_bound(&programme(), &[-2.0]) - 0.0).abs() < 1e-12);
    }
}

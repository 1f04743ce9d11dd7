//! Lower bound on the cost of a site, by weak duality, from rows, columns and duals alone.
//!
//! For a programme `min c·x, lower <= A x <= upper, l <= x <= u` and any duals `y`, with reduced
//! costs `r = c − Aᵀy`:
//!
//! ```text
//! bound = Σ_rows max(y, 0)·lower + min(y, 0)·upper  +  Σ_columns max(r, 0)·l + min(r, 0)·u
//! ```
//!
//! A plan has no more shortfall than another one if each objective before money is at most that of
//! the other: `f_k(x) = Σ_j w_kj·x_j <= F_k` with `w_kj > 0`. With a price `m_k >= 0` on each of these
//! rows, the costs are `c + Σ_k m_k·w_k`, the bound falls by `Σ_k m_k·F_k`, and each column of the
//! objective is at most `l_j + (F_k − Σ_i w_ki·l_i) / w_kj`.
use serde::{Deserialize, Serialize};

use crate::lp::{Column, LinearProgram, Row};
use crate::units::Money;

/// Certificate of a plan of a site: its cost and a lower bound on the cost of any plan.
///
/// The bound holds for plans with no more shortfall, and no more degree-hours outside comfort bands,
/// than this one. It is a sum over rows, columns
/// and shadow prices, and does not use the optimum of the solver. Only for a plan that needed
/// binaries is it the bound of the solver's search. [`verify`](super::verify::verify) computes it
/// anew from the request and the duals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SiteCertificate {
    /// Cost of the plan, added up from its slots, less the value of the energy stored at the end.
    pub cost: Money,
    /// Lower bound on the cost of any plan.
    pub bound: Money,
    /// Most that the preferences, and staying near the plan before, may have added to the cost.
    pub allowance: Money,
    /// Difference between cost and bound that counts as rounding: 1e-7 of the sum of all payments,
    /// and a milliwatt-hour at the highest price.
    #[serde(default)]
    pub tolerance: Money,
    /// Numbers from which the bound is computed anew. Plans that were saved before there were any
    /// have none.
    #[serde(default, skip_serializing_if = "SiteEvidence::is_missing")]
    pub evidence: SiteEvidence,
}

/// Duals of the programme of a request, and the bounds that they give.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SiteEvidence {
    /// Lower bound on the cost by weak duality, from the request and the duals alone.
    pub bound_by_duals: Money,
    /// Bound of the solver where it is higher than that by more than the tolerance: after a search
    /// with binaries. Nothing but the search proves it.
    pub searched: Option<Money>,
    /// True if energy that misses a deadline is wanted by departure, which adds rows.
    pub goes_on: bool,
    /// Dual of each row, in units of the programme.
    pub duals: Vec<f64>,
    /// Price `m_k` of each objective before money, in units of the programme.
    pub objective_prices: Vec<f64>,
}

impl SiteEvidence {
    /// True if there is no evidence, as in a plan that was saved before there was any.
    fn is_missing(&self) -> bool {
        *self == Self::default()
    }
}

/// Duals of a programme whose objectives are minimised one after the other.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Duals {
    /// Dual of each row.
    pub(crate) rows: Vec<f64>,
    /// Price of each objective before money, zero or more.
    pub(crate) objectives: Vec<f64>,
}

impl SiteCertificate {
    /// Cost minus bound: most that a better plan could save.
    #[must_use]
    pub fn gap(&self) -> Money {
        self.cost - self.bound
    }

    /// True if cost and bound are equal up to [`Self::tolerance`] and [`Self::allowance`]. A bound
    /// above the cost by more than the tolerance proves nothing.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        let excess = self.gap() - self.allowance;
        !self.is_contradicted() && excess <= self.tolerance
    }

    /// True if the plan costs less than the bound, so that one of the two is wrong.
    pub(crate) fn is_contradicted(&self) -> bool {
        self.cost + self.tolerance < self.bound
    }
}

/// Lower bound on the cost of all feasible values whose objectives `before` money are at most
/// `most`: the larger one of those by `duals` and by none.
pub(crate) fn bound_by_duals(
    program: &LinearProgram,
    before: &[Vec<(usize, f64)>],
    most: &[f64],
    duals: &Duals,
) -> f64 {
    let mut narrowed = program.columns.clone();
    for (objective, &most) in before.iter().zip(most) {
        let least = |&(column, weight): &(usize, f64)| weight * program.columns[column].lower;
        let room = (most - objective.iter().map(least).sum::<f64>()).max(0.0);
        for &(column, weight) in objective.iter().filter(|(_, weight)| *weight > 0.0) {
            let column = &mut narrowed[column];
            column.upper = column.upper.min(column.lower + room / weight);
        }
    }
    let without = weak_bound_of(&narrowed, &[], &[]);
    let mut paid = 0.0;
    for ((objective, most), price) in before.iter().zip(most).zip(&duals.objectives) {
        // A negative price proves nothing.
        let price = price.max(0.0);
        paid += price * most;
        for &(column, weight) in objective {
            narrowed[column].cost += price * weight;
        }
    }
    (weak_bound_of(&narrowed, &program.rows, &duals.rows) - paid).max(without)
}

/// Lower bound on the cost of all feasible values, from any duals. Rows without a dual count as if
/// it were zero.
///
/// The bound holds for all duals and equals the least cost at optimal ones. A dual whose side of
/// the row is infinite counts as zero.
pub(crate) fn weak_bound(program: &LinearProgram, duals: &[f64]) -> f64 {
    weak_bound_of(&program.columns, &program.rows, duals)
}

/// The bound of [`weak_bound`] on the cost of `columns` within `rows`.
fn weak_bound_of(columns: &[Column], rows: &[Row], duals: &[f64]) -> f64 {
    let mut reduced: Vec<f64> = columns.iter().map(|column| column.cost).collect();
    let mut bound = 0.0;
    for (row, &dual) in rows.iter().zip(duals) {
        // A positive dual prices the lower side of its row, a negative one the upper side.
        let side = if dual > 0.0 { row.lower } else { row.upper };
        if dual == 0.0 || !side.is_finite() {
            continue;
        }
        bound += dual * side;
        for &(column, weight) in &row.terms {
            reduced[column] -= dual * weight;
        }
    }
    // Each column takes the bound at which its reduced cost is least.
    for (column, price) in columns.iter().zip(reduced) {
        bound += price * if price > 0.0 { column.lower } else { column.upper };
    }
    bound
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Two hours at prices of 1 and 3 with a capacity of 4 kWh each, and a need of 6 kWh:
    /// 4 + 2·3 = 10.
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
    fn a_certificate_is_proved_where_cost_and_bound_meet_from_either_side() {
        let money = |amount: f64| Money::from_amount(amount).unwrap();
        let certificate = |bound: f64| SiteCertificate {
            cost: money(5.0),
            bound: money(bound),
            allowance: money(0.5),
            tolerance: money(0.1),
            evidence: SiteEvidence::default(),
        };
        for (bound, is_proved) in [(4.3, false), (4.5, true), (5.05, true), (9.0, false)] {
            assert_eq!(certificate(bound).is_proved(), is_proved, "{bound}");
        }
        assert!(certificate(9.0).is_contradicted() && !certificate(5.05).is_contradicted());
    }

    #[test]
    fn any_dual_bounds_and_the_right_one_meets() {
        let least = programme().minimise().unwrap();
        assert!((weak_bound(&programme(), &least.duals) - 10.0).abs() < 1e-12);
        for tenth in -50..=100 {
            let bound = weak_bound(&programme(), &[f64::from(tenth) / 10.0]);
            assert!(bound <= 10.0 + 1e-12, "{tenth}: {bound}");
        }
        // A negative dual of a row without an upper side counts as zero.
        assert!((weak_bound(&programme(), &[-2.0]) - 0.0).abs() < 1e-12);
    }

    #[test]
    fn a_price_on_an_objective_proves_what_comes_after_it() {
        // 6 kWh are wanted, 4 at 1 and 1 at 3 can be had: 1 is missing, and 7 is the least cost.
        let mut programme = programme();
        programme.columns[1].upper = 1.0;
        programme.add_column(Column { cost: 0.0, lower: 0.0, upper: 6.0 });
        programme.rows[0].terms.push((2, 1.0));
        let before = [vec![(2, 1.0)]];
        let bound = |most: f64, rows: f64, price: f64| {
            let duals = Duals { rows: vec![rows], objectives: vec![price] };
            bound_by_duals(&programme, &before, &[most], &duals)
        };
        // A kWh is worth 3 or more, because none is left to be missing.
        for dual in [3.0, 9.0] {
            assert!((bound(1.0, dual, dual) - 7.0).abs() < 1e-9);
            assert!((bound(1.5, dual, dual) - (7.0 - dual / 2.0)).abs() < 1e-9);
        }
        // Without the price, a missing kWh is bounded by what may be missing alone.
        assert!((bound(1.0, 3.0, 0.0) - 7.0).abs() < 1e-9);
        assert!(bound(1.0, 3.0, -1.0) <= 7.0 + 1e-9);
    }

    proptest! {
        /// No values within all bounds cost less, whatever the duals are.
        #[test]
        fn no_feasible_values_cost_less_than_the_bound(
            columns in prop::collection::vec(
                (-5.0..5.0_f64, -3.0..3.0_f64, 0.0..4.0_f64, 0.0..=1.0_f64), 1..5,
            ),
            rows in prop::collection::vec(
                (prop::array::uniform5(-2.0..2.0_f64), 0.0..2.0_f64, 0..3u8, -4.0..4.0_f64), 0..5,
            ),
        ) {
            let mut programme = LinearProgram::default();
            let (mut values, mut cost) = (Vec::new(), 0.0);
            for (price, lower, width, share) in columns {
                programme.add_column(Column { cost: price, lower, upper: lower + width });
                values.push(lower + share * width);
                cost += price * (lower + share * width);
            }
            let mut duals = Vec::new();
            for (weights, room, sides, dual) in rows {
                // The values keep the row, with some room to the side or sides that it has.
                let terms: Vec<_> = weights.into_iter().take(values.len()).enumerate().collect();
                let sum: f64 = terms.iter().map(|&(column, weight)| weight * values[column]).sum();
                let lower = if sides == 1 { f64::NEG_INFINITY } else { sum - room };
                let upper = if sides == 0 { f64::INFINITY } else { sum + room };
                programme.rows.push(Row { lower, upper, terms });
                duals.push(dual);
            }
            let bound = weak_bound(&programme, &duals);
            prop_assert!(bound <= cost + 1e-9, "{bound} above {cost}");
        }
    }
}

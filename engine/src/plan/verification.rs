//! Verification of certificates: each statement beside what its data give.
use crate::tolerance::{GAP_MAX, allowed};

/// Statement of a certificate, and the number that its data give.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Name of the statement, such as `bound` or `requirements[1].energy_kwh`.
    pub line: String,
    /// Number of the certificate. For a rule, zero: nothing breaks it.
    pub stated: f64,
    /// Number computed from the data. For a rule, how far the data break it.
    pub computed: f64,
    /// Difference that counts as rounding.
    pub tolerance: f64,
}

impl Check {
    /// Check that a stated number is the computed one, up to [`GAP_MAX`] of `scale`.
    pub(crate) fn equal(line: &str, stated: f64, computed: f64, scale: f64) -> Self {
        Self { line: line.to_owned(), stated, computed, tolerance: allowed(GAP_MAX, scale) }
    }

    /// Check that a stated truth is the computed one.
    pub(crate) fn same(line: &str, stated: bool, computed: bool) -> Self {
        let number = |truth: bool| f64::from(u8::from(truth));
        let (stated, computed) = (number(stated), number(computed));
        Self { line: line.to_owned(), stated, computed, tolerance: 0.0 }
    }

    /// Check of a rule that the data break by `excess`; nothing, or less than nothing, keeps it.
    pub(crate) fn rule(line: impl Into<String>, excess: f64, tolerance: f64) -> Self {
        Self { line: line.into(), stated: 0.0, computed: excess.max(0.0), tolerance }
    }

    /// Computed less stated number.
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.computed - self.stated
    }

    /// Returns `true` if the difference is rounding.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.difference().abs() <= self.tolerance
    }
}

/// Checks of cost, bound, gap and proof that every certificate states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stated {
    /// Cost of the plan.
    pub cost: f64,
    /// Lower bound on the cost of every plan.
    pub bound: f64,
    /// Cost less bound.
    pub gap: f64,
    /// True if the gap is said to be rounding.
    pub is_proved: bool,
}

impl Stated {
    /// Checks of the four statements against a computed cost and bound. `scale` is the sum of all
    /// amounts in them, which rounding is relative to.
    pub(crate) fn checks(&self, cost: f64, bound: f64, scale: f64) -> [Check; 4] {
        let is_proved = (self.cost - self.bound).abs() <= allowed(GAP_MAX, self.cost);
        [
            Check::equal("cost", self.cost, cost, scale),
            Check::equal("bound", self.bound, bound, scale),
            Check::equal("gap", self.gap, self.cost - self.bound, self.cost),
            Check::same("is_proved", self.is_proved, is_proved),
        ]
    }
}

//! Smoothing of the duals of the restricted master, which damps their oscillation.
//!
//! ```text
//! λ = α·λ_best + (1 - α)·λ_master
//! ```
//!
//! | Symbol | Code |
//! |---|---|
//! | `α` | [`DualSmoothing`], 0 to 0.7 |
//! | `λ_best` | duals of the best Lagrangian bound, `best` |
//! | `λ_master` | duals of the last master solution, `newest` |
//! | `λ` | [`DualSmoothing::separation_point`] |
//!
//! The smoothed duals are a point between two dual vectors, at which columns are *separated*
//! (in-out separation: A. Pessoa, R. Sadykov, E. Uchoa, F. Vanderbeck, Automation and combination
//! of linear-programming based stabilization techniques in column generation, INFORMS Journal on
//! Computing 30, 2018).
//!
//! After P. Wentges, Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming,
//! International Transactions in Operational Research 4 (1997). The schedule of `α` is ours.

/// Smoothing weight `α` at the start, and its upper bound.
const ALPHA_START: f64 = 0.7;

/// Smoothing weight `α` of the duals with the best bound.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DualSmoothing(f64);

impl Default for DualSmoothing {
    fn default() -> Self {
        Self(ALPHA_START)
    }
}

impl DualSmoothing {
    /// Duals of the next pricing round, between the best and the newest ones.
    pub(crate) fn separation_point(self, best: &[f64], newest: &[f64]) -> Vec<f64> {
        let drawn = best.iter().zip(newest);
        drawn.map(|(best, newest)| self.0 * best + (1.0 - self.0) * newest).collect()
    }

    /// Adapts `α` to a round. `is_new` says that it gave new columns, `is_better` a better bound.
    ///
    /// A better bound lowers `α`, new columns alone raise it towards 0.7. A round without new
    /// columns (a misprice) lowers it to 0.4, or to 0 if it was 0.5 or less. Returns true if there
    /// was no new column at `α = 0`: none has a negative reduced cost at the duals of the master.
    pub(crate) fn update(&mut self, is_new: bool, is_better: bool) -> bool {
        let Self(smoothing) = *self;
        let is_done = !is_new && smoothing <= 0.0;
        self.0 = match (is_new, is_better) {
            // A better bound allows a longer step.
            (true, true) => smoothing * 0.8,
            (true, false) => 0.3 * ALPHA_START + 0.7 * smoothing,
            // No new column between the two duals: go to those of the master in two steps.
            (false, _) => {
                if smoothing > 0.5 {
                    0.4
                } else {
                    0.0
                }
            }
        };
        is_done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_separation_point_lies_between_the_two_duals() {
        let point = DualSmoothing(0.25).separation_point(&[4.0, 0.0], &[0.0, 8.0]);
        assert_eq!(point, [1.0, 6.0]);
        assert_eq!(DualSmoothing(0.0).separation_point(&[4.0], &[9.0]), [9.0]);
    }

    #[test]
    fn better_bounds_lengthen_the_step_and_columns_alone_shorten_it() {
        let mut smoothing = DualSmoothing::default();
        assert!(!smoothing.update(true, true));
        assert!((smoothing.0 - 0.56).abs() < 1e-12);
        assert!(!smoothing.update(true, false));
        assert!(smoothing.0 > 0.56 && smoothing.0 < ALPHA_START);
    }

    #[test]
    fn a_misprice_ends_the_smoothing_and_two_more_end_the_search() {
        let mut smoothing = DualSmoothing::default();
        assert!(!smoothing.update(false, false), "no column at smoothed duals proves nothing");
        assert!(!smoothing.update(false, true));
        assert_eq!(smoothing.0.to_bits(), 0.0_f64.to_bits());
        assert!(smoothing.update(false, false), "no column at the duals of the master");
    }
}

//! Smoothing of the duals of the restricted master: `α·best + (1 − α)·newest`.
//!
//! After P. Wentges, Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming,
//! International Transactions in Operational Research 4 (1997). The schedule of `α` is ours.

/// How far prices are drawn towards the best so far, at first and at most.
const ALPHA_START: f64 = 0.7;

/// How far prices are drawn towards the best so far (Wentges).
#[derive(Debug, Clone, Copy)]
pub(crate) struct DualSmoothing(f64);

impl Default for DualSmoothing {
    fn default() -> Self {
        Self(ALPHA_START)
    }
}

impl DualSmoothing {
    /// The next prices to ask at.
    pub(crate) fn separation_point(self, best: &[f64], newest: &[f64]) -> Vec<f64> {
        let drawn = best.iter().zip(newest);
        drawn.map(|(best, newest)| self.0 * best + (1.0 - self.0) * newest).collect()
    }

    /// Learns from a round; tells whether there is nothing left to ask.
    pub(crate) fn update(&mut self, is_new: bool, is_better: bool) -> bool {
        let Self(smoothing) = *self;
        let is_done = !is_new && smoothing <= 0.0;
        self.0 = match (is_new, is_better) {
            // A better bound says that the step may be longer.
            (true, true) => smoothing * 0.8,
            (true, false) => 0.3 * ALPHA_START + 0.7 * smoothing,
            // Nothing new between the two prices: ask at the new ones themselves.
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

//! Optimal trades at the present book: a sweep over the products, and branch and bound where a
//! negative price makes the cost of a product not convex.
//!
//! The sweep is that of [`storage`](crate::plan::storage::dynamic_programme): each product adds the
//! pieces of its cost to the value function, and the limits of the stored energy cut it.
use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::plan::rolling_intrinsic::trade_costs::{Sign, TradeCosts};
use crate::plan::storage::segments::{Segment, Segments};
use crate::tolerance::{SUM_DRIFT, SUM_ROUNDING, allowed};

/// Most relaxations of one update. The bound of the trades states what remains.
const NODES_MAX: usize = 2_000;

/// Limits of the stored energy, in kWh.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredLimits {
    /// Energy before the first product.
    pub(crate) start: f64,
    /// Most energy.
    pub(crate) most: f64,
    /// Least energy after the last product.
    pub(crate) end_least: f64,
}

/// Gain of the best trades and a bound on that of all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GainAndBound {
    pub(crate) gain: f64,
    pub(crate) bound: f64,
    /// Bound by the marginal values alone.
    pub(crate) bound_by_values: f64,
}

/// Open node of the branch and bound: signs of products, with the cost of their relaxation.
#[derive(Debug, Clone)]
struct SignNode {
    bound: f64,
    signs: Vec<Sign>,
    /// Product to decide next.
    split: usize,
}

impl PartialEq for SignNode {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for SignNode {}

impl PartialOrd for SignNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SignNode {
    /// Order for a max-heap: the node with the least bound is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.bound.total_cmp(&self.bound)
    }
}

/// Solved relaxation.
#[derive(Debug, Clone, Copy)]
struct RelaxedTrades {
    /// Cost with the hulls, a lower bound.
    bound: f64,
    /// Cost of the trades as they are executed.
    cost: f64,
    /// Product furthest above its hull, if one is.
    split: Option<usize>,
}

/// Memory of the search for trades, and its result.
#[derive(Debug, Clone, Default)]
pub(crate) struct OptimalTrades {
    segments: Segments,
    hulls: TradeCosts,
    /// Energy used of each product above its least change.
    used: Vec<f64>,
    /// Slopes at the cuts after each product; infinite without a cut.
    cuts: Vec<(f64, f64)>,
    relaxed_changes: Vec<f64>,
    /// Changes of the stored energy by the best positions.
    pub(crate) changes: Vec<f64>,
    /// Value `λ_t` of a stored kWh after each product.
    pub(crate) values: Vec<f64>,
}

impl OptimalTrades {
    /// Finds the trades of most gain.
    pub(crate) fn solve(&mut self, costs: &TradeCosts, limits: StoredLimits) -> GainAndBound {
        self.changes.clear();
        self.changes.extend(costs.products.iter().map(|product| product.present));
        let signs = vec![Sign::Any; costs.products.len()];
        // No cost is below that of trading nothing unless the search finds one.
        let mut best = 0.0;
        let Some(root) = self.relax(costs, limits, &signs) else {
            // Only rounding of the positions can do this: they are kept.
            self.values.clear();
            self.values.resize(costs.products.len(), 0.0);
            let bound = bound_gain(costs, limits, &self.values);
            return GainAndBound { gain: 0.0, bound, bound_by_values: bound };
        };
        self.write_values();
        let by_values = bound_gain(costs, limits, &self.values);
        self.keep_best(root, &mut best);
        let mut bound = root.bound;
        let mut open = BinaryHeap::new();
        if let Some(split) = root.split
            && is_below(root.bound, best)
        {
            open.push(SignNode { bound: root.bound, signs, split });
        } else {
            bound = best.min(root.bound);
        }
        let mut nodes = 1;
        while let Some(node) = open.pop() {
            bound = node.bound.min(best);
            if !is_below(node.bound, best) || nodes >= NODES_MAX {
                break;
            }
            for sign in [Sign::Charge, Sign::Discharge] {
                let mut signs = node.signs.clone();
                signs[node.split] = sign;
                nodes += 1;
                let Some(relaxed) = self.relax(costs, limits, &signs) else { continue };
                self.keep_best(relaxed, &mut best);
                let bound = relaxed.bound.max(node.bound);
                if let Some(split) = relaxed.split
                    && is_below(bound, best)
                {
                    open.push(SignNode { bound, signs, split });
                }
            }
            // Without an open node the best trades are optimal.
            bound = best;
        }
        GainAndBound { gain: -best, bound: by_values.min(-bound), bound_by_values: by_values }
    }

    /// Keeps the changes of a relaxation if they cost least so far.
    fn keep_best(&mut self, relaxed: RelaxedTrades, best: &mut f64) {
        if is_below(relaxed.cost, *best) {
            *best = relaxed.cost;
            self.changes.clone_from(&self.relaxed_changes);
        }
    }

    /// Solves the relaxation in which positions have the given signs; `None` if none fits.
    fn relax(
        &mut self,
        costs: &TradeCosts,
        limits: StoredLimits,
        signs: &[Sign],
    ) -> Option<RelaxedTrades> {
        self.hulls.clear();
        for (product, &sign) in costs.products.iter().zip(signs) {
            if !costs.write_hull(product, sign, &mut self.hulls) {
                return None;
            }
        }
        self.sweep(limits)?;
        for segment in self.segments.iter() {
            // Energy is worth nothing after the last product: it is kept at no gain, not bought.
            let is_kept = segment.tag % 2 == 0 && segment.slope <= 0.0;
            if segment.slope < 0.0 || is_kept {
                self.used[(segment.tag / 2) as usize] += segment.length;
            }
        }
        Some(self.read_changes(costs, limits))
    }

    /// Adds and cuts the pieces product by product; `None` if no positions keep the limits.
    fn sweep(&mut self, limits: StoredLimits) -> Option<()> {
        let Self { segments, hulls, used, cuts, .. } = self;
        let count = hulls.products.len();
        segments.clear(hulls.len() + 1);
        used.clear();
        used.resize(count, 0.0);
        cuts.clear();
        let (mut low, mut high) = (limits.start, limits.start);
        for (index, product) in hulls.products.iter().enumerate() {
            let tag = 2 * index as u32;
            low += product.low;
            high += product.low;
            for piece in hulls.pieces(product) {
                high += piece.length;
                let (slope, length) = (piece.slope, piece.length);
                // Of equal slopes energy is kept before it is bought.
                if piece.is_kept {
                    segments.insert_first(Segment { slope, length, tag });
                } else {
                    segments.insert_last(Segment { slope, length, tag: tag + 1 });
                }
            }
            let least = if index + 1 == count { limits.end_least } else { 0.0 };
            let mut cut = (f64::NEG_INFINITY, f64::INFINITY);
            let rounding = SUM_ROUNDING * limits.most;
            if least - low > rounding {
                let take = |tag: u32, energy: f64| used[(tag / 2) as usize] += energy;
                let (slope, missing) = segments.cut_left(least - low, take);
                (cut.0, low) = (slope, least);
                if missing > SUM_DRIFT * limits.most {
                    return None;
                }
            }
            if high - limits.most > rounding {
                let (slope, excess) = segments.cut_right(high - limits.most);
                (cut.1, high) = (slope, limits.most);
                if excess > SUM_DRIFT * limits.most {
                    return None;
                }
            }
            cuts.push(cut);
        }
        Some(())
    }

    /// Reads changes and costs from the energy used.
    fn read_changes(&mut self, costs: &TradeCosts, limits: StoredLimits) -> RelaxedTrades {
        self.relaxed_changes.clear();
        let mut relaxed = RelaxedTrades { bound: 0.0, cost: 0.0, split: None };
        let mut worst = 0.0;
        for (index, product) in costs.products.iter().enumerate() {
            let hull = self.hulls.products[index];
            let change = hull.low + self.used[index];
            // A change by rounding is no trade.
            let is_kept = (change - product.present).abs() <= SUM_ROUNDING * limits.most;
            let change = if is_kept { product.present } else { change };
            self.relaxed_changes.push(change);
            let hulled = self.hulls.cost_at(&hull, change);
            let cost = costs.cost_at(product, change);
            relaxed.bound += hulled;
            relaxed.cost += cost;
            if cost - hulled > worst {
                worst = cost - hulled;
                // Rounding alone is no reason to decide a sign.
                if worst > allowed(SUM_ROUNDING, cost) {
                    relaxed.split = Some(index);
                }
            }
        }
        relaxed
    }

    /// Writes the values `λ_t`, backwards from zero and between the slopes of the cuts.
    fn write_values(&mut self) {
        self.values.clear();
        self.values.resize(self.cuts.len(), 0.0);
        let mut value = 0.0_f64;
        for (slot, &(least, most)) in self.values.iter_mut().zip(&self.cuts).rev() {
            value = value.max(least).min(most);
            *slot = value;
        }
    }
}

/// Returns true if a cost is below another by more than rounding.
fn is_below(cost: f64, other: f64) -> bool {
    cost < other - allowed(SUM_ROUNDING, other)
}

/// Bound on the gain of all trades by values of a stored kWh; see the
/// [module](crate::plan::rolling_intrinsic).
pub(crate) fn bound_gain(costs: &TradeCosts, limits: StoredLimits, values: &[f64]) -> f64 {
    let mut bound = values.first().map_or(0.0, |first| first * limits.start);
    for (index, product) in costs.products.iter().enumerate() {
        let next = values.get(index + 1).copied();
        let least = if next.is_none() { limits.end_least } else { 0.0 };
        let fall = values[index] - next.unwrap_or(0.0);
        let level = if fall > 0.0 { least } else { limits.most };
        bound -= costs.least_cost_at_value(product, values[index]) + fall * level;
    }
    bound
}

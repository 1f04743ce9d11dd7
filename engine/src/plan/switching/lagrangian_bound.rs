//! Lagrangian bound: the need is relaxed, with a price `λ` on energy.
//!
//! ```text
//! L(λ) = λ·E + min over paths of Σ_t (p_t − λ)·x_t + c·(number of starts)
//! ```
//!
//! The minimum is a shortest path through the state graph. `L(λ)` is at most the cost of every
//! plan that buys `E`, for any `λ`. It is concave and piecewise linear in `λ`, so the best `λ`
//! is found by intersecting the linear pieces on both sides of the maximum.
//!
//! | Symbol | Field |
//! |---|---|
//! | `λ`, `L(λ)` | `LagrangianPaths::price`, `bound` |
//! | `p_t`, `x_t` | `timeline::Step::price`; `most` if `p_t < λ`, else `least` |
//! | `c` | `Timeline::start_cost` |
//! | `E` | argument `wanted` |
use crate::plan::switching::graph::Graph;
use crate::plan::switching::timeline::Timeline;
use crate::tolerance::SUM_ROUNDING;

/// Most linear pieces of the bound that are evaluated.
const ROUNDS_MAX: usize = 40;

/// Shortest paths of all nodes at one price on energy, and the bound.
#[derive(Debug, Clone)]
pub(crate) struct LagrangianPaths {
    /// Price on energy `λ`, per kWh.
    pub(crate) price: f64,
    /// Lower bound `L(λ)` on the cost of every plan that buys the need.
    pub(crate) bound: f64,
    /// Length of the shortest path from the first node to each node: `Σ (p_t − λ)·x_t` plus
    /// starts.
    pub(crate) before: Vec<f64>,
    /// Length of the shortest path from each node to the last node.
    pub(crate) after: Vec<f64>,
}

/// Length of a shortest path, and the energy in kWh bought along it.
#[derive(Debug, Clone, Copy)]
struct Path {
    length: f64,
    kwh: f64,
}

impl LagrangianPaths {
    /// Best bound for a need of `wanted` kWh; `None` if no pattern keeps the rules.
    pub(crate) fn new(timeline: &Timeline, graph: &Graph, wanted: f64) -> Option<Self> {
        let price = best_price(timeline, graph, wanted)?;
        let runs = Runs::new(timeline, graph, price);
        let before =
            runs.before(timeline, graph).into_iter().map(|path| path.length).collect::<Vec<f64>>();
        let bound = before[graph.end()] + price * wanted;
        Some(Self { price, bound, after: runs.after(timeline, graph), before })
    }
}

/// Price on energy with the highest bound; `None` if no path reaches the end.
fn best_price(timeline: &Timeline, graph: &Graph, wanted: f64) -> Option<f64> {
    let path = |price: f64| {
        let runs = Runs::new(timeline, graph, price);
        let end = runs.before(timeline, graph)[graph.end()];
        end.length.is_finite().then_some(end)
    };
    // Bracket: at a low price the path buys the least, at a high one the most.
    let prices = || timeline.steps.iter().map(|step| step.price);
    let width = 1.0 + timeline.start_cost + prices().fold(0.0, |most: f64, p| most.max(p.abs()));
    let scale = timeline.start_cost + prices().fold(0.0, |most: f64, p| most.max(p.abs())) * wanted;
    let (mut low, mut high) = (-width, width);
    let (mut cheap, mut dear) = (path(low)?, path(high)?);
    // Raise the upper end until its path buys the need.
    for _ in 0..ROUNDS_MAX {
        if dear.kwh >= wanted || high > width * 1e6 {
            break;
        }
        high *= 4.0;
        dear = path(high)?;
    }
    for _ in 0..ROUNDS_MAX {
        if cheap.kwh >= wanted {
            return Some(low);
        }
        if dear.kwh <= wanted {
            return Some(high);
        }
        // Intersection of the linear pieces at `low` and `high`.
        let price = (dear.length + dear.kwh * high - cheap.length - cheap.kwh * low)
            / (dear.kwh - cheap.kwh);
        let next = path(price)?;
        // Value of both pieces there. If the path at this price is no shorter, it is the maximum.
        let above = cheap.length + cheap.kwh * (low - price);
        if next.length >= above - SUM_ROUNDING * above.abs().max(scale)
            || !(low..high).contains(&price)
        {
            return Some(price);
        }
        if next.kwh < wanted {
            (low, cheap) = (price, next);
        } else {
            (high, dear) = (price, next);
        }
    }
    Some(low)
}

/// Reduced cost and energy of each run at one price on energy, at the best power per step.
struct Runs {
    paths: Vec<Path>,
}

impl Runs {
    /// Runs of the graph at `price`: a step is full if it costs less than `price`, else least.
    fn new(timeline: &Timeline, graph: &Graph, price: f64) -> Self {
        let step = |step: usize| {
            let step = &timeline.steps[step];
            let kwh = if step.price < price { step.most } else { step.least };
            Path { length: (step.price - price) * kwh, kwh }
        };
        let run = |&(first, last): &(usize, usize)| {
            (first..last).map(step).fold(Path { length: 0.0, kwh: 0.0 }, |sum, next| Path {
                length: sum.length + next.length,
                kwh: sum.kwh + next.kwh,
            })
        };
        Self { paths: graph.runs.iter().map(run).collect() }
    }

    /// Shortest paths from the first node.
    fn before(&self, timeline: &Timeline, graph: &Graph) -> Vec<Path> {
        let mut paths = vec![Path { length: f64::INFINITY, kwh: 0.0 }; graph.end() + 1];
        paths[Graph::BEGIN].length = 0.0;
        // Edges are in the order of their first node, so one pass finds all shortest paths.
        for edge in &graph.edges {
            let start = if edge.starts { timeline.start_cost } else { 0.0 };
            let length = paths[edge.from].length + start + self.paths[edge.run].length;
            if length < paths[edge.to].length {
                let kwh = paths[edge.from].kwh + self.paths[edge.run].kwh;
                paths[edge.to] = Path { length, kwh };
            }
        }
        paths
    }

    /// Lengths of the shortest paths to the last node.
    fn after(&self, timeline: &Timeline, graph: &Graph) -> Vec<f64> {
        let mut lengths = vec![f64::INFINITY; graph.end() + 1];
        lengths[graph.end()] = 0.0;
        // In reverse order, the later node of each edge is complete.
        for edge in graph.edges.iter().rev() {
            let start = if edge.starts { timeline.start_cost } else { 0.0 };
            let length = lengths[edge.to] + start + self.paths[edge.run].length;
            lengths[edge.from] = lengths[edge.from].min(length);
        }
        lengths
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::switching::graph::tests::Switching;
    use crate::plan::switching::timeline::tests::{STRICT, timeline_of};

    /// The bound at a price on energy, from all sets of hours that keep the rules.
    fn bound_at(price: f64, wanted: f64, hours: &Switching, timeline: &Timeline) -> f64 {
        let length = |mask: u32| {
            let starts = hours.starts(mask)? as f64 * timeline.start_cost;
            let on = timeline.steps.iter().enumerate().filter(|(step, _)| mask >> step & 1 == 1);
            // 4 or 10 kWh in each hour that is on, whichever costs less.
            let worth = on.map(|(_, step)| step.price - price);
            Some(starts + worth.map(|each| (each * 4.0).min(each * 10.0)).sum::<f64>())
        };
        (0..1 << hours.hours).filter_map(length).fold(f64::INFINITY, f64::min) + price * wanted
    }

    proptest! {
        #[test]
        fn no_price_on_energy_gives_a_higher_bound(
            hours in Switching::any(), cents in prop::collection::vec(-20..60i32, 7),
            share in 0.05..1.0f64, start_cost in 0.0..3.0f64,
        ) {
            let wanted = share * 10.0 * hours.hours as f64;
            let timeline = hours.timeline(&cents, wanted, start_cost);
            let graph = Graph::new(&timeline, hours.rules());
            let Some(paths) = LagrangianPaths::new(&timeline, &graph, wanted) else {
                prop_assert!((0..1 << hours.hours).all(|mask| hours.starts(mask).is_none()));
                return Ok(());
            };
            // If no plan takes the energy, there is no highest bound.
            let on = (0..1u32 << hours.hours).filter(|&mask| hours.starts(mask).is_some());
            let on: Vec<f64> = on.map(|mask| f64::from(mask.count_ones())).collect();
            let [least, most] = [on.iter().copied().fold(f64::INFINITY, f64::min) * 4.0,
                on.iter().copied().fold(0.0, f64::max) * 10.0];
            prop_assume!((least..=most).contains(&wanted));
            let own = bound_at(paths.price, wanted, &hours, &timeline);
            prop_assert!((paths.bound - own).abs() < 1e-9, "{} for {own}", paths.bound);
            for price in -40..100 {
                let other = bound_at(f64::from(price) / 20.0, wanted, &hours, &timeline);
                prop_assert!(other <= paths.bound + 1e-9, "{other} above {}", paths.bound);
            }
        }
    }

    #[test]
    fn distances_from_both_ends_meet_at_the_bound() {
        // 12 kWh in hours at 10 and 30 cents. At 30 cents a kWh the first hour earns 2.00 and
        // the second nothing, so the bound is 12·0.30 - 2.00 = 1.60, and 10·0.10 + 2·0.30 costs
        // the same.
        let timeline = timeline_of(&[10, 30], 12.0, |_| {});
        let graph = Graph::new(&timeline, STRICT);
        let paths = LagrangianPaths::new(&timeline, &graph, 12.0).unwrap();
        assert!((paths.price - 0.3).abs() < 1e-9 && (paths.bound - 1.6).abs() < 1e-9);
        assert!((paths.before[graph.end()] + 2.0).abs() < 1e-9);
        assert!((paths.after[Graph::BEGIN] + 2.0).abs() < 1e-9);
        let through = paths.before.iter().zip(&paths.after).map(|(before, after)| before + after);
        assert!(through.into_iter().all(|length| length >= -2.0 - 1e-9));
    }
}

//! Join of forward and backward labels over the one step of free energy (bidirectional labelling).
//!
//! A plan is a forward label `(E_before, cost)`, an edge with one free step, and a backward
//! label `(E_after, cost)`. The free step takes `E − E_before − E_after − E_fixed`, where
//! `E_fixed` is the energy of the other steps of the edge.
use std::collections::VecDeque;

use crate::plan::switching::cost_by_energy::{Cell, LabelTable, MoveGrid};
use crate::plan::switching::graph::{Edge, Graph};
use crate::plan::switching::lagrangian_bound::LagrangianPaths;
use crate::plan::switching::timeline::Timeline;
use crate::tolerance::{SUM_DRIFT, SUM_ROUNDING};

/// Smallest top-off, as a share of the least energy of its step: some microseconds.
const TOP_OFF_MIN: f64 = 1e-8;

/// Edge with one free step, which takes any energy between its least and its most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JoinEdge {
    /// Position of the edge in `Graph::edges`, or in `Graph::top_offs` for a top-off.
    pub(crate) edge: usize,
    pub(crate) is_top_off: bool,
    pub(crate) step: usize,
    /// Energy of the other steps of the edge, in kWh.
    fixed_kwh: f64,
    /// Cost of that energy and of the start, if the edge has one.
    fixed_cost: f64,
    /// Least and most energy of the free step, in kWh.
    least: f64,
    most: f64,
    /// Lagrangian lower bound on the cost of any plan through this join edge.
    pub(crate) bound: f64,
}

/// Cheapest plan through one join edge: its cost, and its cells in both tables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JoinedPath {
    pub(crate) cost: f64,
    pub(crate) before: Cell,
    pub(crate) after: Cell,
    /// Energy of the free step, in kWh.
    pub(crate) kwh: f64,
}

impl JoinEdge {
    /// All join edges of a graph, by rising bound.
    pub(crate) fn all(
        timeline: &Timeline,
        graph: &Graph,
        paths: &LagrangianPaths,
        wanted: f64,
    ) -> Vec<Self> {
        let mut join_edges = Vec::with_capacity(2 * graph.edges.len());
        let edges = graph.edges.iter().map(|edge| (edge, false)).enumerate();
        let top_offs = graph.top_offs.iter().map(|edge| (edge, true)).enumerate();
        for (position, (edge, is_top_off)) in edges.chain(top_offs) {
            let rest = paths.before[edge.from] + paths.after[edge.to];
            let run = graph.runs[edge.run];
            // An edge that no path passes belongs to no plan.
            if rest.is_finite() {
                let new = |step| Self::new(timeline, run, edge, (position, is_top_off), step);
                join_edges.extend((run.0..run.1).map(new).map(|join_edge| Self {
                    bound: rest + join_edge.reduced(timeline, paths.price) + paths.price * wanted,
                    ..join_edge
                }));
            }
        }
        join_edges.sort_by(|a, b| a.bound.total_cmp(&b.bound));
        join_edges
    }

    /// Join edge at `step` of the run `first..last` of `edge`, which is at `position` in its list.
    fn new(
        timeline: &Timeline,
        (first, last): (usize, usize),
        edge: &Edge,
        (position, is_top_off): (usize, bool),
        step: usize,
    ) -> Self {
        let free = &timeline.steps[step];
        let start = if edge.starts { timeline.start_cost } else { 0.0 };
        let mut join_edge = Self {
            edge: position,
            is_top_off,
            step,
            fixed_kwh: 0.0,
            fixed_cost: start,
            // A top-off takes less than the least energy of its step, and more than nothing.
            least: if is_top_off { free.least * TOP_OFF_MIN } else { free.least },
            most: if is_top_off { free.least } else { free.most },
            bound: 0.0,
        };
        for other in (first..last).filter(|&other| other != step) {
            let kwh = fixed_energy(timeline, step, other);
            join_edge.fixed_kwh += kwh;
            join_edge.fixed_cost += timeline.steps[other].price * kwh;
        }
        join_edge
    }

    /// Reduced cost of the edge at a price on energy: `Σ (p − price)·x` plus the start, least over
    /// the energy of the free step.
    fn reduced(&self, timeline: &Timeline, price: f64) -> f64 {
        let profit = timeline.steps[self.step].price - price;
        let free = (profit * self.least).min(profit * self.most);
        self.fixed_cost - price * self.fixed_kwh + free
    }

    /// Cheapest plan for `wanted` kWh through this join edge; `None` if no two labels fit.
    ///
    /// As the forward energy rises, the window of backward energies that fit slides down. A
    /// monotone queue holds the labels of the window that can still be the cheapest.
    pub(crate) fn best(
        &self,
        timeline: &Timeline,
        (left, before): (&MoveGrid, &LabelTable),
        (right, after): (&MoveGrid, &LabelTable),
        wanted: f64,
    ) -> Option<JoinedPath> {
        let price = timeline.steps[self.step].price;
        let rest = wanted - self.fixed_kwh;
        let slack = wanted.max(self.most) * SUM_DRIFT;
        // Backward labels by falling energy; the queue holds `(kWh, cost − price·kWh, cell)`.
        let mut later = after.finite(right).into_iter().rev().peekable();
        let mut queue: VecDeque<(f64, f64, Cell)> = VecDeque::new();
        let mut best: Option<JoinedPath> = None;
        for (kwh, cost, cell) in before.finite(left) {
            let missing = rest - kwh;
            // Admit backward labels that leave the free step no more than its most.
            while let Some(&(kwh, cost, cell)) =
                later.peek().filter(|later| later.0 >= missing - self.most - slack)
            {
                later.next();
                let worth = cost - price * kwh;
                // A label of more energy leaves the window first, so it must cost less to be of
                // use.
                while queue.back().is_some_and(|last| last.1 >= worth) {
                    queue.pop_back();
                }
                queue.push_back((kwh, worth, cell));
            }
            // Drop those that leave it less than its least.
            let least = if self.is_top_off { self.least } else { self.least - slack };
            while queue.front().is_some_and(|first| first.0 > missing - least) {
                queue.pop_front();
            }
            let Some(&(later_kwh, worth, after)) = queue.front() else { continue };
            // The free step costs `price·(missing − kWh)`; its last part is in `worth` already.
            let total = self.fixed_cost + cost + worth + price * missing;
            if best.is_none_or(|best| total < best.cost) {
                let kwh = (missing - later_kwh).clamp(self.least, self.most);
                best = Some(JoinedPath { cost: total, before: cell, after, kwh });
            }
        }
        best
    }

    /// Most energy up to `wanted`, in kWh, as a sum of labels on both sides and the full steps
    /// of the edge.
    pub(crate) fn most_below(
        &self,
        (left, before): (&MoveGrid, &LabelTable),
        (right, after): (&MoveGrid, &LabelTable),
        wanted: f64,
    ) -> Option<f64> {
        let room = wanted * (1.0 + SUM_ROUNDING) - self.fixed_kwh - self.most;
        let known = |grid: &MoveGrid, table: &LabelTable| {
            table.finite(grid).into_iter().map(|(kwh, ..)| kwh).collect::<Vec<f64>>()
        };
        let later = known(right, after);
        let sums = known(left, before).into_iter().filter_map(|kwh| {
            let count = later.partition_point(|&later| later <= room - kwh);
            count.checked_sub(1).map(|last| kwh + later[last] + self.fixed_kwh + self.most)
        });
        sums.max_by(f64::total_cmp)
    }

    /// Writes the energies of the steps of the edge to `kwh`; `free` is that of the free step.
    pub(crate) fn write(
        &self,
        timeline: &Timeline,
        run: (usize, usize),
        free: f64,
        kwh: &mut [f64],
    ) {
        for other in (run.0..run.1).filter(|&other| other != self.step) {
            kwh[other] = fixed_energy(timeline, self.step, other);
        }
        kwh[self.step] = free;
    }
}

/// Energy of another step of the edge: its most if it is cheaper than the free step, else its
/// least. At equal price the earlier step counts as cheaper.
fn fixed_energy(timeline: &Timeline, free: usize, other: usize) -> f64 {
    let (step, free_step) = (&timeline.steps[other], &timeline.steps[free]);
    let is_before = step.price.total_cmp(&free_step.price).then(other.cmp(&free)).is_lt();
    if is_before { step.most } else { step.least }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::switching::cost_by_energy::TablePool;
    use crate::plan::switching::timeline::tests::{STRICT, timeline_of};

    /// Sums that the steps can reach if each is off, or on as a session of its own.
    fn table(grid: &MoveGrid, steps: std::ops::Range<usize>) -> LabelTable {
        let spare = &mut TablePool::default();
        let mut before = grid.table(0, spare);
        before.begin();
        for (count, step) in steps.enumerate() {
            let mut after = grid.table(count + 1, spare);
            for by in grid.moves[0].iter().chain(&grid.moves[step + 1]) {
                after.lower(&before, by, 0.0);
            }
            before = after;
        }
        before
    }

    /// The join edge at the third of five hours.
    fn join_edge(timeline: &Timeline, is_top_off: bool) -> JoinEdge {
        let edge = Edge { from: 0, to: 0, run: 3, starts: false };
        JoinEdge::new(timeline, (2, 3), &edge, (0, is_top_off), 2)
    }

    /// Energy and cost of two hours, each off, at 4 or at 10 kWh.
    fn sums(timeline: &Timeline, hours: [usize; 2]) -> Vec<(f64, f64)> {
        let [first, second] = hours.map(|hour| timeline.steps[hour].price);
        let of =
            |kwh: f64| [0.0, 4.0, 10.0].map(|other| (kwh + other, kwh * first + other * second));
        [0.0, 4.0, 10.0].into_iter().flat_map(of).collect()
    }

    proptest! {
        #[test]
        fn the_best_match_is_the_best_of_all_pairs(
            cents in prop::collection::vec(-20..60i32, 5), wanted in 0.1..49.0f64,
            is_top_off: bool,
        ) {
            let timeline = timeline_of(&cents, wanted, |_| {});
            let graph = Graph::new(&timeline, STRICT);
            let left = MoveGrid::new(&timeline, &graph, wanted, true);
            let right = MoveGrid::new(&timeline, &graph, wanted, false);
            let (before, after) = (table(&left, 0..2), table(&right, 3..5));
            let found = join_edge(&timeline, is_top_off)
                .best(&timeline, (&left, &before), (&right, &after), wanted);
            let (least, most) = if is_top_off { (1e-6, 4.0) } else { (4.0, 10.0) };
            let mut cheapest: Option<f64> = None;
            for (early_kwh, early) in sums(&timeline, [0, 1]) {
                for (late_kwh, late) in sums(&timeline, [3, 4]) {
                    let free = wanted - early_kwh - late_kwh;
                    if (least..=most).contains(&free) {
                        let cost = early + late + free * timeline.steps[2].price;
                        cheapest = Some(cheapest.map_or(cost, |best| best.min(cost)));
                    }
                }
            }
            match (found, cheapest) {
                (Some(found), Some(cheapest)) => {
                    prop_assert!((found.cost - cheapest).abs() < 1e-9, "{found:?}: {cheapest}");
                    prop_assert!((least..=most).contains(&found.kwh));
                }
                (found, cheapest) => prop_assert!(found.is_none() && cheapest.is_none()),
            }
        }
    }

    #[test]
    fn steps_beside_the_free_one_are_full_if_cheaper_and_at_their_least_if_dearer() {
        let timeline = timeline_of(&[10, 30, 20], 20.0, |request| {
            request.start_cost = crate::units::money(1.5);
        });
        let edge = Edge { from: 0, to: 0, run: 0, starts: true };
        let join_edge = JoinEdge::new(&timeline, (0, 3), &edge, (0, false), 2);
        // 10 kWh at 10 cents, 4 kWh at 30 cents, and the start.
        let (kwh, cost) = (join_edge.fixed_kwh, join_edge.fixed_cost);
        assert!((kwh - 14.0).abs() < 1e-9 && (cost - 3.7).abs() < 1e-9);
        let mut kwh = vec![0.0; 3];
        join_edge.write(&timeline, (0, 3), 6.0, &mut kwh);
        assert_eq!(kwh, [10.0, 4.0, 6.0]);
        // At 25 cents a kWh the free step buys all it can: 3.7 - 14·0.25 - 10·0.05.
        assert!((join_edge.reduced(&timeline, 0.25) + 0.3).abs() < 1e-9);
    }

    #[test]
    fn full_hours_come_as_near_to_the_need_as_they_can() {
        let timeline = timeline_of(&[10; 5], 25.0, |_| {}).at_full_power();
        let graph = Graph::new(&timeline, STRICT);
        let most_below = |wanted: f64| {
            let left = MoveGrid::new(&timeline, &graph, 50.0, true);
            let right = MoveGrid::new(&timeline, &graph, 50.0, false);
            let (before, after) = (table(&left, 0..2), table(&right, 3..5));
            join_edge(&timeline, false).most_below((&left, &before), (&right, &after), wanted)
        };
        let wanted = [5.0, 10.0, 25.0, 30.0, 99.0];
        let found = [None, Some(10.0), Some(20.0), Some(30.0), Some(50.0)];
        assert_eq!(wanted.map(most_below), found);
    }

    #[test]
    fn meetings_come_by_their_bound_and_none_is_below_the_bound_of_all() {
        let timeline = timeline_of(&[30, 10, 20], 12.0, |_| {});
        let graph = Graph::new(&timeline, STRICT);
        let paths = LagrangianPaths::new(&timeline, &graph, 12.0).unwrap();
        let all = JoinEdge::all(&timeline, &graph, &paths, 12.0);
        assert!(all.is_sorted_by(|a, b| a.bound <= b.bound));
        assert!(all[0].bound >= paths.bound - 1e-9);
        // One for each step that is on along an edge or a top-off.
        let steps = |edges: &[Edge]| {
            let on = |edge: &Edge| graph.runs[edge.run].1 - graph.runs[edge.run].0;
            edges.iter().filter(|edge| paths.before[edge.from].is_finite()).map(on).sum::<usize>()
        };
        assert_eq!(all.len(), steps(&graph.edges) + steps(&graph.top_offs));
    }
}

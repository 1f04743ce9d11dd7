//! Join of forward and backward tables over the one step of free energy.
//!
//! A plan is a forward label `(E_before, cost)`, an edge with one free step, and a backward
//! label `(E_after, cost)`. The free step takes `E − E_before − E_after − E_fixed`, where
//! `E_fixed` is the energy of the other steps of the edge.
use std::collections::VecDeque;

use crate::plan::switching::cost_by_energy::{Cell, MoveGrid, Table};
use crate::plan::switching::graph::{Edge, Graph};
use crate::plan::switching::lagrangian_bound::LagrangianPaths;
use crate::plan::switching::timeline::Timeline;
use crate::tolerance::{SUM_DRIFT, SUM_ROUNDING};

/// Smallest top-off, as a share of the least energy of its step: some microseconds.
const TOP_OFF_MIN: f64 = 1e-8;

/// Edge with one free step, which takes any energy between its least and its most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meeting {
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
    /// Lagrangian lower bound on the cost of any plan through this meeting.
    pub(crate) bound: f64,
}

/// Cheapest plan through one meeting: its cost, and its cells in both tables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Match {
    pub(crate) cost: f64,
    pub(crate) before: Cell,
    pub(crate) after: Cell,
    /// Energy of the free step, in kWh.
    pub(crate) kwh: f64,
}

impl Meeting {
    /// All meetings of a graph, by rising bound.
    pub(crate) fn all(
        timeline: &Timeline,
        graph: &Graph,
        relaxed: &LagrangianPaths,
        wanted: f64,
    ) -> Vec<Self> {
        let mut meetings = Vec::with_capacity(2 * graph.edges.len());
        let edges = graph.edges.iter().map(|edge| (edge, false)).enumerate();
        let top_offs = graph.top_offs.iter().map(|edge| (edge, true)).enumerate();
        for (position, (edge, is_top_off)) in edges.chain(top_offs) {
            let rest = relaxed.before[edge.from] + relaxed.after[edge.to];
            let run = graph.runs[edge.run];
            if rest.is_finite() {
                let new = |step| Self::new(timeline, run, edge, (position, is_top_off), step);
                meetings.extend((run.0..run.1).map(new).map(|meeting| Self {
                    bound: rest + meeting.reduced(timeline, relaxed.price) + relaxed.price * wanted,
                    ..meeting
                }));
            }
        }
        meetings.sort_by(|a, b| a.bound.total_cmp(&b.bound));
        meetings
    }

    /// Meeting at `step` of the run `first..last` of `edge`, which is at `position` in its list.
    fn new(
        timeline: &Timeline,
        (first, last): (usize, usize),
        edge: &Edge,
        (position, is_top_off): (usize, bool),
        step: usize,
    ) -> Self {
        let free = &timeline.steps[step];
        let start = if edge.starts { timeline.start_cost } else { 0.0 };
        let mut meeting = Self {
            edge: position,
            is_top_off,
            step,
            fixed_kwh: 0.0,
            fixed_cost: start,
            least: if is_top_off { free.least * TOP_OFF_MIN } else { free.least },
            most: if is_top_off { free.least } else { free.most },
            bound: 0.0,
        };
        for other in (first..last).filter(|&other| other != step) {
            let kwh = fixed_energy(timeline, step, other);
            meeting.fixed_kwh += kwh;
            meeting.fixed_cost += timeline.steps[other].price * kwh;
        }
        meeting
    }

    /// Reduced cost of the edge at a price on energy: `Σ (p − price)·x` plus the start, least over
    /// the energy of the free step.
    fn reduced(&self, timeline: &Timeline, price: f64) -> f64 {
        let profit = timeline.steps[self.step].price - price;
        let free = (profit * self.least).min(profit * self.most);
        self.fixed_cost - price * self.fixed_kwh + free
    }

    /// Cheapest plan for `wanted` kWh through this meeting; `None` if no two labels fit.
    ///
    /// As the forward energy rises, the window of backward energies that fit slides down. A
    /// monotone queue holds the labels of the window that can still be the cheapest.
    pub(crate) fn best(
        &self,
        timeline: &Timeline,
        (left, before): (&MoveGrid, &Table),
        (right, after): (&MoveGrid, &Table),
        wanted: f64,
    ) -> Option<Match> {
        let price = timeline.steps[self.step].price;
        let rest = wanted - self.fixed_kwh;
        let slack = wanted.max(self.most) * SUM_DRIFT;
        // Backward labels by falling energy; the queue holds `(kWh, cost − price·kWh, cell)`.
        let mut later = after.finite(right).into_iter().rev().peekable();
        let mut queue: VecDeque<(f64, f64, Cell)> = VecDeque::new();
        let mut best: Option<Match> = None;
        for (kwh, cost, cell) in before.finite(left) {
            let missing = rest - kwh;
            // Admit backward labels that leave the free step no more than its most.
            while let Some(&(kwh, cost, cell)) =
                later.peek().filter(|later| later.0 >= missing - self.most - slack)
            {
                later.next();
                let worth = cost - price * kwh;
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
            let total = self.fixed_cost + cost + worth + price * missing;
            if best.is_none_or(|best| total < best.cost) {
                let kwh = (missing - later_kwh).clamp(self.least, self.most);
                best = Some(Match { cost: total, before: cell, after, kwh });
            }
        }
        best
    }

    /// Most energy up to `wanted`, in kWh, as a sum of labels on both sides and the full steps
    /// of the edge.
    pub(crate) fn most_below(
        &self,
        (left, before): (&MoveGrid, &Table),
        (right, after): (&MoveGrid, &Table),
        wanted: f64,
    ) -> Option<f64> {
        let room = wanted * (1.0 + SUM_ROUNDING) - self.fixed_kwh - self.most;
        let known = |grid: &MoveGrid, table: &Table| {
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

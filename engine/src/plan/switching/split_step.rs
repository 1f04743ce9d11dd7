//! Where what lies before the one free step meets what lies after it.
use std::collections::VecDeque;

use crate::plan::switching::cost_by_energy::{Cell, MoveGrid, Table};
use crate::plan::switching::graph::{Edge, Graph};
use crate::plan::switching::lagrangian_bound::LagrangianPaths;
use crate::plan::switching::timeline::Timeline;

/// Least share of its least energy that a top-off takes: some microseconds.
const TOP_OFF_MIN: f64 = 1e-8;

/// The one step that may run between its least and its most, on some edge.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meeting {
    /// Position of the edge, among the edges or the top-offs.
    pub(crate) edge: usize,
    pub(crate) is_top_off: bool,
    pub(crate) step: usize,
    /// Energy and cost of the other steps of the edge, and of its start.
    fixed_kwh: f64,
    fixed_cost: f64,
    /// Least and most energy of the step.
    least: f64,
    most: f64,
    /// No plan by way of this meeting costs less.
    pub(crate) bound: f64,
}

/// How a meeting is best used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Match {
    pub(crate) cost: f64,
    pub(crate) before: Cell,
    pub(crate) after: Cell,
    /// Energy of the free step.
    pub(crate) kwh: f64,
}

impl Meeting {
    /// All meetings of a graph, those with the lowest bound first.
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

    /// Least cost on the edge less the worth of its energy.
    fn reduced(&self, timeline: &Timeline, price: f64) -> f64 {
        let profit = timeline.steps[self.step].price - price;
        let free = (profit * self.least).min(profit * self.most);
        self.fixed_cost - price * self.fixed_kwh + free
    }

    /// The cheapest way to buy `wanted` by way of this meeting.
    ///
    /// The more was bought before, the less is bought after it, so a window
    /// slides over what lies after; a queue holds what can still be cheapest.
    pub(crate) fn best(
        &self,
        timeline: &Timeline,
        (left, before): (&MoveGrid, &Table),
        (right, after): (&MoveGrid, &Table),
        wanted: f64,
    ) -> Option<Match> {
        let price = timeline.steps[self.step].price;
        let rest = wanted - self.fixed_kwh;
        let slack = wanted.max(self.most) * 1e-10;
        let mut later = after.finite(right).into_iter().rev().peekable();
        let mut queue: VecDeque<(f64, f64, Cell)> = VecDeque::new();
        let mut best: Option<Match> = None;
        for (kwh, cost, cell) in before.finite(left) {
            let missing = rest - kwh;
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

    /// The most energy up to `wanted` that full slots add up to.
    pub(crate) fn most_below(
        &self,
        (left, before): (&MoveGrid, &Table),
        (right, after): (&MoveGrid, &Table),
        wanted: f64,
    ) -> Option<f64> {
        let room = wanted * (1.0 + 1e-12) - self.fixed_kwh - self.most;
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

    /// Writes the energies of the edge.
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

/// Cheaper steps than the free one are full, dearer ones at their least.
fn fixed_energy(timeline: &Timeline, free: usize, other: usize) -> f64 {
    let (step, free_step) = (&timeline.steps[other], &timeline.steps[free]);
    let is_before = step.price.total_cmp(&free_step.price).then(other.cmp(&free)).is_lt();
    if is_before { step.most } else { step.least }
}

//! Tables of the least cost by energy bought.
//!
//! A set of slots of one length, each full or at its least power, has the energy of `a` full
//! and `b` least slots. One slot of another length (the *odd* one), the first or the last, is
//! off, full or at its least: three planes `q` of the table. The energy of a cell is
//!
//! ```text
//! E(q, a, b) = e_q + a·e_max + b·e_min
//! ```
//!
//! | Symbol | Field |
//! |---|---|
//! | `q`, `a`, `b` | `Cell::plane`, `full`, `least` |
//! | `e_q` | `MoveGrid::odd_kwh` |
//! | `e_max`, `e_min` | `MoveGrid::full_kwh`, `least_kwh` |
use std::mem;
use std::ops::Range;

use crate::plan::switching::graph::Graph;
use crate::plan::switching::timeline::Timeline;
use crate::tolerance::ENERGY_SHARE_MIN;

/// Rounding of a number of slots: a quotient of two energies that is a whole number up to it is
/// that number. It is [`ENERGY_SHARE_MIN`] of 1,000 slots.
const COUNT_ROUNDING: f64 = 1e-6;

/// Energies of one run of steps: the offset of the cell that it leads to, and its cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Move {
    /// Plane that it leads to from plane 0. Zero leaves the plane as it is.
    pub(crate) plane: usize,
    pub(crate) full: usize,
    pub(crate) least: usize,
    pub(crate) cost: f64,
}

/// Position in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cell {
    pub(crate) plane: usize,
    pub(crate) full: usize,
    pub(crate) least: usize,
}

/// Energies of the cells of a table, and the moves of each run.
#[derive(Debug, Clone)]
pub(crate) struct MoveGrid {
    /// Odd step, if there is one.
    odd: Option<usize>,
    /// Energy of the odd step on each plane, in kWh.
    odd_kwh: [f64; 3],
    full_kwh: f64,
    least_kwh: f64,
    planes: usize,
    full_max: usize,
    least_max: usize,
    /// Moves of each run of the graph.
    pub(crate) moves: Vec<Vec<Move>>,
}

impl MoveGrid {
    /// Grid of forward tables (`is_before`), or of backward ones, for a need of `wanted` kWh.
    pub(crate) fn new(timeline: &Timeline, graph: &Graph, wanted: f64, is_before: bool) -> Self {
        let regular = timeline.regular();
        let edge = if is_before { 0 } else { timeline.len() - 1 };
        let is_odd = |step: usize| {
            (timeline.steps[step].most - regular.most).abs() > regular.most * ENERGY_SHARE_MIN
        };
        let odd = is_odd(edge).then_some(edge);
        let all: f64 = timeline.steps.iter().map(|step| step.most).sum();
        // Steps of `by` kWh that fit into `kwh`; steps without energy have no limit.
        let most = |kwh: f64, by: f64| {
            if by > 0.0 { (kwh / by + COUNT_ROUNDING).max(0.0) as usize } else { usize::MAX }
        };
        // With more least slots than `spare`, all others full are less than the need.
        let spare = most(all - wanted, regular.most - regular.least).saturating_add(1);
        // With one power there is no choice, and every step that is on counts as full.
        let least_max =
            if regular.least < regular.most { most(wanted, regular.least).min(spare) } else { 0 };
        let mut grid = Self {
            odd,
            odd_kwh: odd
                .map_or([0.0; 3], |odd| [0.0, timeline.steps[odd].most, timeline.steps[odd].least]),
            full_kwh: regular.most,
            least_kwh: regular.least,
            planes: if odd.is_some() { 3 } else { 1 },
            full_max: most(wanted, regular.most).min(timeline.len()),
            least_max: least_max.min(timeline.len()),
            moves: Vec::new(),
        };
        // Runs over the odd step of the other direction have no moves here.
        let is_known = |&(first, last): &(usize, usize)| {
            (first..last).all(|step| odd == Some(step) || !is_odd(step))
        };
        let moves = |run| if is_known(run) { grid.moves_of(timeline, *run) } else { Vec::new() };
        grid.moves = graph.runs.iter().map(moves).collect();
        grid
    }

    /// Moves of a run: one for each number of full steps, of which the cheapest steps are full.
    fn moves_of(&self, timeline: &Timeline, (first, last): (usize, usize)) -> Vec<Move> {
        let ranked = self.ranked(timeline, (first, last));
        let price = |step: usize| timeline.steps[step].price;
        let most = |step: usize| price(step) * timeline.steps[step].most;
        let fewest = |step: usize| price(step) * timeline.steps[step].least;
        let has_steps = timeline.regular().least < timeline.regular().most;
        let odd = self.odd.filter(|odd| (first..last).contains(odd));
        // Plane and cost of the odd step, where the run contains it.
        let odds = match odd {
            None => vec![(0, 0.0)],
            Some(step) if has_steps => vec![(1, most(step)), (2, fewest(step))],
            Some(step) => vec![(1, most(step))],
        };
        let mut moves = Vec::new();
        for (plane, odd_cost) in odds {
            // With one power, the only move has all steps full.
            let start = if has_steps { 0 } else { ranked.len() };
            for full in start..=ranked.len() {
                let cost = odd_cost
                    + ranked[..full].iter().map(|&step| most(step)).sum::<f64>()
                    + ranked[full..].iter().map(|&step| fewest(step)).sum::<f64>();
                moves.push(Move { plane, full, least: ranked.len() - full, cost });
            }
        }
        moves
    }

    /// Steps of a run without the odd one, by rising price.
    fn ranked(&self, timeline: &Timeline, (first, last): (usize, usize)) -> Vec<usize> {
        let mut ranked: Vec<usize> = (first..last).filter(|&step| self.odd != Some(step)).collect();
        ranked.sort_by(|&a, &b| timeline.steps[a].price.total_cmp(&timeline.steps[b].price));
        ranked
    }

    /// Writes the energies of the run `first..last` for a move to `kwh`.
    pub(crate) fn write(
        &self,
        timeline: &Timeline,
        run: (usize, usize),
        by: &Move,
        kwh: &mut [f64],
    ) {
        for (rank, &step) in self.ranked(timeline, run).iter().enumerate() {
            let energies = &timeline.steps[step];
            kwh[step] = if rank < by.full { energies.most } else { energies.least };
        }
        if let Some(odd) = self.odd.filter(|odd| (run.0..run.1).contains(odd)) {
            kwh[odd] =
                if by.plane == 1 { timeline.steps[odd].most } else { timeline.steps[odd].least };
        }
    }

    /// Energy of a cell, in kWh.
    fn kwh(&self, cell: Cell) -> f64 {
        self.odd_kwh[cell.plane]
            + cell.full as f64 * self.full_kwh
            + cell.least as f64 * self.least_kwh
    }

    /// Table of labels for `steps` steps with infinite costs.
    pub(crate) fn table(&self, steps: usize, spare: &mut TablePool) -> LabelTable {
        let (rows, columns) = (self.full_max.min(steps) + 1, self.least_max.min(steps) + 1);
        LabelTable { first: 0, rows, columns, cells: spare.cells(self.planes * rows * columns) }
    }
}

/// Memory of complete tables for reuse. Few tables are open at a time, and fresh memory for
/// each would cost more than filling it.
#[derive(Debug, Clone, Default)]
pub(crate) struct TablePool(Vec<Vec<f64>>);

impl TablePool {
    /// `count` cells, all infinite.
    fn cells(&mut self, count: usize) -> Vec<f64> {
        let mut cells = self.0.pop().unwrap_or_default();
        cells.clear();
        cells.resize(count, f64::INFINITY);
        cells
    }
}

/// Least cost of each energy; infinite for an energy that is not reached.
#[derive(Debug, Clone, Default)]
pub(crate) struct LabelTable {
    /// Full slots of the first row that is kept.
    first: usize,
    /// Rows kept, one for each number of full slots.
    rows: usize,
    /// Columns kept, one for each number of least slots.
    columns: usize,
    cells: Vec<f64>,
}

impl LabelTable {
    /// Drops cells with `cost − price·kWh > most`, then outer rows and last columns without a
    /// finite cell.
    pub(crate) fn forget(&mut self, grid: &MoveGrid, price: f64, most: f64, spare: &mut TablePool) {
        if self.is_empty() {
            return;
        }
        let (mut first, mut end, mut columns) = (self.rows, 0, 0);
        for (index, cells) in self.cells.chunks_mut(self.columns).enumerate() {
            let (plane, row) = (index / self.rows, index % self.rows);
            let least = Cell { plane, full: self.first + row, least: 0 };
            // Worth of the first cell of the row, and of each further least slot.
            let (worth, step) = (price * grid.kwh(least), price * grid.least_kwh);
            for (least, cell) in cells.iter_mut().enumerate() {
                if *cell - worth - step * least as f64 > most {
                    *cell = f64::INFINITY;
                }
            }
            if let Some(last) = cells.iter().rposition(|cell| cell.is_finite()) {
                (first, end) = (first.min(row), end.max(row + 1));
                columns = columns.max(last + 1);
            }
        }
        self.keep(first.min(end)..end, columns, spare);
    }

    /// Keeps `rows` and the first `columns`, in memory of their size.
    fn keep(&mut self, rows: Range<usize>, columns: usize, spare: &mut TablePool) {
        let whole = mem::take(&mut self.cells);
        let planes = whole.chunks(self.rows * self.columns);
        self.cells.reserve_exact(planes.len() * rows.len() * columns);
        for plane in planes {
            for row in rows.clone() {
                let at = row * self.columns;
                self.cells.extend_from_slice(&plane[at..at + columns]);
            }
        }
        self.first += rows.start;
        (self.rows, self.columns) = (rows.len(), columns);
        // The memory of the whole table serves a later one.
        spare.0.push(whole);
    }

    /// Position of a cell; `None` if its row or column is not kept.
    fn index(&self, cell: Cell) -> Option<usize> {
        let row = cell.full.checked_sub(self.first)?;
        (row < self.rows && cell.least < self.columns)
            .then(|| (cell.plane * self.rows + row) * self.columns + cell.least)
    }

    /// Least cost of a cell; infinite if it is not kept.
    pub(crate) fn cost(&self, cell: Cell) -> f64 {
        let index = self.index(cell).filter(|&index| index < self.cells.len());
        index.map_or(f64::INFINITY, |index| self.cells[index])
    }

    /// Finite cells as `(kWh, cost, cell)`, by rising energy.
    pub(crate) fn finite(&self, grid: &MoveGrid) -> Vec<(f64, f64, Cell)> {
        let mut finite = Vec::new();
        for (index, row) in self.cells.chunks(self.columns.max(1)).enumerate() {
            let (plane, full) = (index / self.rows, self.first + index % self.rows);
            for (least, &cost) in row.iter().enumerate().filter(|(_, cost)| cost.is_finite()) {
                let cell = Cell { plane, full, least };
                finite.push((grid.kwh(cell), cost, cell));
            }
        }
        // The cell decides between equal energies, so the order does not depend on the sort.
        finite.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
        finite
    }

    /// Sets the cost of no energy to zero.
    pub(crate) fn begin(&mut self) {
        self.cells[0] = 0.0;
    }

    /// Returns true if the table has no cell.
    pub(crate) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Number of cells.
    pub(crate) fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Lowers each cell to the cost through a move from the table `from`, if that is less.
    /// Returns the number of cells visited.
    pub(crate) fn lower(&mut self, from: &Self, by: &Move, start_cost: f64) -> usize {
        let up = from.first + by.full;
        // Cells beyond the table would exceed the need or the number of steps.
        let rows = from.rows.min(self.rows.saturating_sub(up));
        let columns = from.columns.min(self.columns.saturating_sub(by.least));
        if rows == 0 || columns == 0 {
            return 0;
        }
        let cost = by.cost + start_cost;
        let planes = from.cells.len() / (from.rows * from.columns);
        // The odd step is run once, so a move that runs it starts in plane 0.
        let sources = if by.plane > 0 { 0..1 } else { 0..planes };
        for plane in sources {
            let target = plane + by.plane;
            for row in 0..rows {
                let at = (plane * from.rows + row) * from.columns;
                let to = (target * self.rows + row + up) * self.columns + by.least;
                let source = &from.cells[at..at + columns];
                for (cell, &before) in self.cells[to..to + columns].iter_mut().zip(source) {
                    let after = before + cost;
                    *cell = if after < *cell { after } else { *cell };
                }
            }
        }
        planes * rows * columns
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::plan::switching::timeline::tests::{STRICT, minute, timeline_of};

    fn grid(timeline: &Timeline, wanted: f64) -> (Graph, MoveGrid) {
        let graph = Graph::new(timeline, STRICT);
        let grid = MoveGrid::new(timeline, &graph, wanted, true);
        (graph, grid)
    }

    fn rounded(value: f64) -> f64 {
        (value * 1e6).round() / 1e6
    }

    /// Energies and costs after two hours at 10 and 30 cents, each of them off or on.
    fn two_hours(timeline: &Timeline, grid: &MoveGrid, spare: &mut TablePool) -> LabelTable {
        let mut before = grid.table(0, spare);
        before.begin();
        for hour in 0..2 {
            let mut after = grid.table(hour + 1, spare);
            for by in grid.moves[0].iter().chain(&grid.moves[hour + 1]) {
                after.lower(&before, by, 0.0);
            }
            before = after;
        }
        assert_eq!(timeline.len(), 2);
        before
    }

    #[test]
    fn the_cheapest_hours_of_a_run_are_full_first() {
        let timeline = timeline_of(&[30, 10, 20], 14.0, |request| {
            request.on_min = TimeDelta::hours(2);
        });
        let (graph, grid) = grid(&timeline, 14.0);
        let run = graph.runs.iter().position(|&run| run == (0, 2)).unwrap();
        let moves: Vec<(usize, usize, f64)> =
            grid.moves[run].iter().map(|by| (by.full, by.least, rounded(by.cost))).collect();
        // 4 kWh of each cost 1.60; 6 more at 10 cents 2.20; 6 more at 30 cents 4.00.
        assert_eq!(moves, [(0, 2, 1.6), (1, 1, 2.2), (2, 0, 4.0)]);
        let mut kwh = vec![0.0; 3];
        grid.write(&timeline, (0, 2), &grid.moves[run][1], &mut kwh);
        assert_eq!(kwh, [4.0, 10.0, 0.0]);
    }

    #[test]
    fn a_step_of_another_length_has_planes_of_its_own() {
        // Half of the first hour is left: off, 5 kWh or 2 kWh.
        let timeline = timeline_of(&[10, 30, 20], 14.0, |request| request.now = minute(30));
        let (graph, grid) = grid(&timeline, 14.0);
        let moves: Vec<(usize, usize, usize, f64)> = grid.moves[1]
            .iter()
            .map(|by| (by.plane, by.full, by.least, rounded(by.cost)))
            .collect();
        assert_eq!(moves, [(1, 0, 0, 0.5), (2, 0, 0, 0.2)]);
        let energies = (0..3).map(|plane| grid.kwh(Cell { plane, full: 1, least: 1 }));
        assert_eq!(energies.collect::<Vec<f64>>(), [14.0, 19.0, 16.0]);
        let mut kwh = vec![0.0; 3];
        grid.write(&timeline, graph.runs[1], &grid.moves[1][1], &mut kwh);
        assert_eq!(kwh, [2.0, 0.0, 0.0]);
    }

    #[test]
    fn a_table_holds_the_least_cost_of_each_energy() {
        let timeline = timeline_of(&[10, 30], 14.0, |_| {});
        let (_, grid) = grid(&timeline, 14.0);
        let table = two_hours(&timeline, &grid, &mut TablePool::default());
        let costs: Vec<(f64, f64)> =
            table.finite(&grid).iter().map(|&(kwh, cost, _)| (kwh, rounded(cost))).collect();
        // 14 kWh are 10 at 10 cents and 4 at 30; two full hours are more than is wanted.
        assert_eq!(costs, [(0.0, 0.0), (4.0, 0.4), (8.0, 1.6), (10.0, 1.0), (14.0, 2.2)]);
    }

    #[test]
    fn energy_that_costs_more_than_its_worth_is_forgotten() {
        let timeline = timeline_of(&[10, 30], 14.0, |_| {});
        let (_, grid) = grid(&timeline, 14.0);
        let mut spare = TablePool::default();
        let mut table = two_hours(&timeline, &grid, &mut spare);
        // At 20 cents a kWh: 0, -0.40, 0, -1.00 and -0.60, in the order of the energies.
        table.forget(&grid, 0.2, -0.5, &mut spare);
        let left: Vec<f64> = table.finite(&grid).iter().map(|&(kwh, ..)| kwh).collect();
        assert_eq!((left, table.cells()), (vec![10.0, 14.0], 2));
        let cost = |full| table.cost(Cell { plane: 0, full, least: 1 });
        assert!((cost(1) - 2.2).abs() < 1e-9 && cost(0).is_infinite());
        // Memory that was used before holds nothing of it.
        assert!(grid.table(2, &mut spare).finite(&grid).is_empty());
        table.forget(&grid, 0.2, -2.0, &mut spare);
        assert!(table.is_empty());
    }

    #[test]
    fn a_start_adds_its_cost_and_a_dearer_way_changes_nothing() {
        let timeline = timeline_of(&[10, 30], 14.0, |_| {});
        let (_, grid) = grid(&timeline, 14.0);
        let mut spare = TablePool::default();
        let (mut from, mut to) = (grid.table(0, &mut spare), grid.table(1, &mut spare));
        from.begin();
        let full = grid.moves[1].iter().find(|by| by.full == 1).unwrap();
        let cell = Cell { plane: 0, full: 1, least: 0 };
        for (start_cost, cost) in [(1.5, 2.5), (0.5, 1.5), (0.7, 1.5)] {
            to.lower(&from, full, start_cost);
            assert!((to.cost(cell) - cost).abs() < 1e-9, "{start_cost}: {}", to.cost(cell));
        }
    }
}

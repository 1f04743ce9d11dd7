//! Least costs by energy bought.
//!
//! All energies that slots of one length can add up to, at full or at least
//! power, are `a` full and `b` least slots. A slot of another length, at the
//! beginning or at the end, is off, full or least: three planes of such a
//! table.
use std::mem;
use std::ops::Range;

use crate::plan::switching::graph::Graph;
use crate::plan::switching::timeline::Timeline;

/// One way to run some steps: where it leads in a table, and what it costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Move {
    /// Plane it leads to, from plane 0; 0 stays in any plane.
    pub(crate) plane: usize,
    pub(crate) full: usize,
    pub(crate) least: usize,
    pub(crate) cost: f64,
}

/// A place in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cell {
    pub(crate) plane: usize,
    pub(crate) full: usize,
    pub(crate) least: usize,
}

/// Which energies there are, and the moves among them.
#[derive(Debug, Clone)]
pub(crate) struct MoveGrid {
    /// The one step of another length, and its energy on each plane.
    odd: Option<usize>,
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
    /// The grid of the steps before any boundary, or of those after one.
    pub(crate) fn new(timeline: &Timeline, graph: &Graph, wanted: f64, is_before: bool) -> Self {
        let regular = timeline.regular();
        let edge = if is_before { 0 } else { timeline.len() - 1 };
        let is_odd =
            |step: usize| (timeline.steps[step].most - regular.most).abs() > regular.most * 1e-9;
        let odd = is_odd(edge).then_some(edge);
        let all: f64 = timeline.steps.iter().map(|step| step.most).sum();
        let most = |kwh: f64, by: f64| {
            if by > 0.0 { (kwh / by + 1e-6).max(0.0) as usize } else { usize::MAX }
        };
        let spare = most(all - wanted, regular.most - regular.least).saturating_add(1);
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
        let is_known = |&(first, last): &(usize, usize)| {
            (first..last).all(|step| odd == Some(step) || !is_odd(step))
        };
        let moves = |run| if is_known(run) { grid.moves_of(timeline, *run) } else { Vec::new() };
        grid.moves = graph.runs.iter().map(moves).collect();
        grid
    }

    /// The ways to run steps without pause. For so many of them at full power
    /// these are the cheapest ones, so there is one way per number.
    fn moves_of(&self, timeline: &Timeline, (first, last): (usize, usize)) -> Vec<Move> {
        let ranked = self.ranked(timeline, (first, last));
        let price = |step: usize| timeline.steps[step].price;
        let most = |step: usize| price(step) * timeline.steps[step].most;
        let fewest = |step: usize| price(step) * timeline.steps[step].least;
        let has_steps = timeline.regular().least < timeline.regular().most;
        let odd = self.odd.filter(|odd| (first..last).contains(odd));
        let odds = match odd {
            None => vec![(0, 0.0)],
            Some(step) if has_steps => vec![(1, most(step)), (2, fewest(step))],
            Some(step) => vec![(1, most(step))],
        };
        let mut moves = Vec::new();
        for (plane, odd_cost) in odds {
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

    /// Steps of a run but the odd one, the cheapest first.
    fn ranked(&self, timeline: &Timeline, (first, last): (usize, usize)) -> Vec<usize> {
        let mut ranked: Vec<usize> = (first..last).filter(|&step| self.odd != Some(step)).collect();
        ranked.sort_by(|&a, &b| timeline.steps[a].price.total_cmp(&timeline.steps[b].price));
        ranked
    }

    /// Writes the energies of a run that was made by a move.
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

    /// Energy of a cell.
    fn kwh(&self, cell: Cell) -> f64 {
        self.odd_kwh[cell.plane]
            + cell.full as f64 * self.full_kwh
            + cell.least as f64 * self.least_kwh
    }

    /// A table of what so many steps can add up to, with nothing reached yet.
    pub(crate) fn table(&self, steps: usize, spare: &mut Spare) -> Table {
        let (rows, columns) = (self.full_max.min(steps) + 1, self.least_max.min(steps) + 1);
        Table { first: 0, rows, columns, cells: spare.cells(self.planes * rows * columns) }
    }
}

/// Memory of tables that are complete. Only few tables are open at a time,
/// and fresh memory for each would cost more than filling it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spare(Vec<Vec<f64>>);

impl Spare {
    /// So many cells, all infinite.
    fn cells(&mut self, count: usize) -> Vec<f64> {
        let mut cells = self.0.pop().unwrap_or_default();
        cells.clear();
        cells.resize(count, f64::INFINITY);
        cells
    }
}

/// Least cost of each energy; infinite where there is none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// Full slots of the first row that is kept, and how many rows are.
    first: usize,
    rows: usize,
    columns: usize,
    cells: Vec<f64>,
}

impl Table {
    /// Forgets what costs too much for the energy it buys, at a price on
    /// energy, and all rows and last columns in which nothing is left.
    pub(crate) fn forget(&mut self, grid: &MoveGrid, price: f64, most: f64, spare: &mut Spare) {
        if self.is_empty() {
            return;
        }
        let (mut first, mut end, mut columns) = (self.rows, 0, 0);
        for (index, cells) in self.cells.chunks_mut(self.columns).enumerate() {
            let (plane, row) = (index / self.rows, index % self.rows);
            let least = Cell { plane, full: self.first + row, least: 0 };
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

    /// Keeps some rows and the first columns, in memory of their size.
    fn keep(&mut self, rows: Range<usize>, columns: usize, spare: &mut Spare) {
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
        spare.0.push(whole);
    }

    fn index(&self, cell: Cell) -> Option<usize> {
        let row = cell.full.checked_sub(self.first)?;
        (row < self.rows && cell.least < self.columns)
            .then(|| (cell.plane * self.rows + row) * self.columns + cell.least)
    }

    /// Least cost of an energy.
    pub(crate) fn cost(&self, cell: Cell) -> f64 {
        let index = self.index(cell).filter(|&index| index < self.cells.len());
        index.map_or(f64::INFINITY, |index| self.cells[index])
    }

    /// What is left, as energy, cost and cell, the least energy first.
    pub(crate) fn finite(&self, grid: &MoveGrid) -> Vec<(f64, f64, Cell)> {
        let mut finite = Vec::new();
        for (index, row) in self.cells.chunks(self.columns.max(1)).enumerate() {
            let (plane, full) = (index / self.rows, self.first + index % self.rows);
            for (least, &cost) in row.iter().enumerate().filter(|(_, cost)| cost.is_finite()) {
                let cell = Cell { plane, full, least };
                finite.push((grid.kwh(cell), cost, cell));
            }
        }
        finite.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
        finite
    }

    /// Puts a cost of nothing on no energy.
    pub(crate) fn begin(&mut self) {
        self.cells[0] = 0.0;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Number of cells.
    pub(crate) fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Takes over what is cheaper by way of a move from another table. Tells how
    /// many cells it looked at.
    pub(crate) fn lower(&mut self, from: &Self, by: &Move, start_cost: f64) -> usize {
        let up = from.first + by.full;
        let rows = from.rows.min(self.rows.saturating_sub(up));
        let columns = from.columns.min(self.columns.saturating_sub(by.least));
        if rows == 0 || columns == 0 {
            return 0;
        }
        let cost = by.cost + start_cost;
        let planes = from.cells.len() / (from.rows * from.columns);
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

//! Lower bound on the cost of every schedule of an on/off unit, with degree-hours at a price.
//!
//! # Reduced costs
//!
//! For any values `λ_t` of a stored kWh ([symbols](super)) and `φ_t = a_{t+1}·λ_{t+1}`, `φ_T = v`, the
//! cost of a schedule with degree-hours at the price `M` is a constant plus reduced costs of its slots,
//! because the sum of the values telescopes:
//!
//! ```text
//! cost + M·D = (v − φ_0)·e_0 + Σ_t ( p_t·x_t + M·h_t/C·d_t(e_t) + φ_{t−1}·e_{t−1} − φ_t·e_t )
//! ```
//!
//! # Intervals
//!
//! The bound is a shortest path through the nodes of the [search](super::on_off_search), one for each
//! [cell](super::energy_cells) of a boundary and state. A node has an interval of energies, which
//! contains those of all schedules that pass through its cell, and the least sum of reduced costs up
//! to it. Along an edge the interval follows the balance exactly, and each slot counts its least
//! reduced cost over the interval; at the end it is divided among the cells. So no schedule costs
//! less than the shortest path.
//!
//! A path may move within a cell, as if heat came from nowhere. That heat is paid at `λ`, so the bound
//! loses only the difference of `λ` from its true value, times the width of a cell. While a cell has
//! one energy, its interval is a point and nothing is lost: of few schedules the bound is the optimum.
use crate::plan::heat::energy_cells::Cells;
use crate::plan::heat::on_off::{LeastTimes, Stretch};
use crate::plan::heat::slots::{ThermalProgramme, ThermalStep};

/// Energies of the schedules in a cell, and the least sum of their reduced costs.
#[derive(Debug, Clone, Copy)]
struct BoundNode {
    low: f64,
    high: f64,
    cost: f64,
}

/// Data of a bound.
struct Relaxed<'a> {
    programme: &'a ThermalProgramme,
    cells: Vec<Cells>,
    /// Value of a kWh at each boundary, `φ_t`.
    values: Vec<f64>,
    /// Price of a degree-hour, `M`.
    degree_hour_price: f64,
    nodes: Vec<[Vec<Option<BoundNode>>; 2]>,
}

impl Relaxed<'_> {
    /// Least price of the degree-hours of a slot that ends with an energy of an interval.
    fn price_outside(&self, step: &ThermalStep, (low, high): (f64, f64)) -> f64 {
        let kwh = (step.low_kwh - high).max(low - step.high_kwh).max(0.0);
        self.degree_hour_price * step.hours / self.programme.kwh_per_k * kwh
    }

    /// Follows a node from a boundary to the cells at the end of a stretch.
    fn extend_node(&mut self, node: BoundNode, boundary: usize, stretch: Stretch) {
        let steps = &self.programme.steps[boundary..stretch.until];
        let Some((last, inner)) = steps.split_last() else {
            // A unit that may switch at once.
            return self.keep_node(boundary, stretch.is_on, 0, node);
        };
        let mut cost = node.cost;
        let (mut low, mut high) = (node.low, node.high);
        let mut follow = |step: &ThermalStep| {
            let used = if stretch.is_on { step.power_kwh } else { 0.0 };
            (low, high) = (step.after(low, used), step.after(high, used));
            (step.price * used, (low, high))
        };
        for step in inner {
            let (bought, energies) = follow(step);
            cost += bought + self.price_outside(step, energies);
        }
        let (bought, (low, high)) = follow(last);
        cost += bought;
        let (before, after) = (self.values[boundary], self.values[stretch.until]);
        let (at_low, at_high) =
            (before * node.low - after * low, before * node.high - after * high);
        let cells = self.cells[stretch.until];
        for cell in cells.cell_at(low)..=cells.cell_at(high) {
            let part = cells.part_within(cell, (low, high));
            // The value is linear in the energy at the end.
            let value = |kwh: f64| {
                let share = if high > low { (kwh - low) / (high - low) } else { 0.0 };
                at_low + (at_high - at_low) * share
            };
            let kept =
                if high > low { value(part.0).min(value(part.1)) } else { at_low.min(at_high) };
            let cost = cost + kept + self.price_outside(last, part);
            let node = BoundNode { low: part.0, high: part.1, cost };
            self.keep_node(stretch.until, stretch.is_on, cell, node);
        }
    }

    /// Joins a node with the one of its cell.
    fn keep_node(&mut self, boundary: usize, is_on: bool, cell: usize, node: BoundNode) {
        let kept = &mut self.nodes[boundary][usize::from(is_on)][cell];
        *kept = Some(kept.map_or(node, |kept| BoundNode {
            low: kept.low.min(node.low),
            high: kept.high.max(node.high),
            cost: kept.cost.min(node.cost),
        }));
    }
}

/// Lower bound on `cost + M·D` of every schedule, with so many inner cells at each boundary. `values`
/// are `λ_t`.
pub(crate) fn bound_schedules(
    programme: &ThermalProgramme,
    (times, cell_count): (&LeastTimes, usize),
    values: &[f64],
    degree_hour_price: f64,
) -> f64 {
    let cells = Cells::of(programme, times, cell_count);
    let start = programme.stored_kwh;
    let before = programme.steps.iter().zip(values).map(|(step, value)| step.decay * value);
    let values: Vec<f64> = before.chain([programme.end_value]).collect();
    let constant = (programme.end_value - values[0]) * start;
    let empty = |cells: &Cells| [vec![None; cells.len()], vec![None; cells.len()]];
    let nodes = cells.iter().map(empty).collect();
    let mut relaxed = Relaxed { programme, cells, values, degree_hour_price, nodes };
    relaxed.extend_node(BoundNode { low: start, high: start, cost: 0.0 }, 0, times.first);
    let count = programme.steps.len();
    for boundary in 0..count {
        for (state, is_on) in [false, true].into_iter().enumerate() {
            for cell in 0..relaxed.cells[boundary].len() {
                let Some(node) = relaxed.nodes[boundary][state][cell] else { continue };
                for stretch in times.ways_from(boundary, is_on) {
                    relaxed.extend_node(node, boundary, stretch);
                }
            }
        }
    }
    let ends = relaxed.nodes[count].iter().flatten().flatten();
    constant + ends.map(|node| node.cost).fold(f64::INFINITY, f64::min)
}

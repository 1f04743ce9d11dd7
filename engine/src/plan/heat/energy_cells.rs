//! Cells of stored energy, in which the searches of an on/off unit compare schedules.
//!
//! At each boundary the energies that a good plan can have are divided into equal cells. These are the
//! energies between the levels `min(L_t, R_t)` and `max(H_t, P_t)`
//! ([`dynamic_programme`](super::dynamic_programme)), with a margin of the energy that the unit adds in
//! its least time on, or the store loses in its least time off. One cell more on each side has all
//! other energies.
use crate::plan::heat::on_off::LeastTimes;
use crate::plan::heat::slots::{ThermalProgramme, ThermalStep};

/// Most inner cells of a boundary.
const CELLS_MAX: usize = 1_000;

/// Least inner cells of a boundary.
const CELLS_MIN: usize = 8;

/// Cells of a search through all slots, times the slots of all ways from a boundary to the next.
const WORK_MAX: usize = 1_000_000;

/// Cells at one boundary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cells {
    low_kwh: f64,
    width_kwh: f64,
    count: usize,
}

impl Cells {
    /// Number of inner cells for a search.
    pub(crate) fn count(times: &LeastTimes) -> usize {
        (WORK_MAX / times.count_work().max(1)).clamp(CELLS_MIN, CELLS_MAX)
    }

    /// Cells at all boundaries of a programme, so many inner ones at each, but no more than a search
    /// has.
    pub(crate) fn of(programme: &ThermalProgramme, times: &LeastTimes, count: usize) -> Vec<Self> {
        let count = count.clamp(1, Self::count(times));
        let margin = margin_kwh(programme, times);
        let start = programme.stored_kwh;
        let mut cells = vec![Self { low_kwh: start, width_kwh: 1.0, count }];
        let (mut least, mut most) = (start, start);
        for step in &programme.steps {
            (least, most) = (step.after(least, 0.0), step.after(most, step.power_kwh));
            let low = (step.low_kwh.min(most) - margin).max(least);
            let high = (step.high_kwh.max(least) + margin).min(most);
            let width = (high - low) / count as f64;
            // One energy, or a width that rounding makes zero, has one cell.
            let width_kwh = if low + width > low { width } else { 1.0 };
            cells.push(Self { low_kwh: low, width_kwh, count });
        }
        cells
    }

    /// Number of cells, with the outer ones.
    pub(crate) fn len(&self) -> usize {
        self.count + 2
    }

    /// Cell of an energy.
    pub(crate) fn cell_at(&self, kwh: f64) -> usize {
        let position = (kwh - self.low_kwh) / self.width_kwh;
        if position < 0.0 { 0 } else { position.min(self.count as f64) as usize + 1 }
    }

    /// Part of `[low, high]` that lies within a cell.
    pub(crate) fn part_within(&self, cell: usize, (low, high): (f64, f64)) -> (f64, f64) {
        let edge = |cell: usize| self.low_kwh + self.width_kwh * cell as f64;
        let from = if cell == 0 { low } else { low.max(edge(cell - 1)) };
        let to = if cell > self.count { high } else { high.min(edge(cell)) };
        (from.min(high), to.max(low))
    }
}

/// Energy by which a unit with least times may be beyond the band: the most that it adds in its least
/// time on, or that is lost from the upper edge in its least time off.
fn margin_kwh(programme: &ThermalProgramme, times: &LeastTimes) -> f64 {
    let mut margin = 0.0_f64;
    for start in 0..programme.steps.len() {
        for next in [true, false].into_iter().flat_map(|is_on| times.ways_from(start, is_on)) {
            let steps = &programme.steps[start..next.until];
            let moved = if next.is_on {
                steps.iter().map(ThermalStep::most_kwh).sum()
            } else {
                let before = programme.steps[start].high_kwh;
                before - steps.iter().fold(before, |level, step| step.after(level, 0.0))
            };
            margin = margin.max(moved);
        }
    }
    margin
}

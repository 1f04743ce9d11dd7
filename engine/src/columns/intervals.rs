//! Intervals of all rows of a table, as columns.
use std::ops::Range;

use crate::plan::interval::{Interval, emissions_of};
use crate::prices::curve::PriceCurve;
use crate::time::horizon::Horizon;
use crate::time::instant::instant_at;
use crate::units::{MICROS_PER_HOUR, Power};

/// Intervals of constant power of all rows of a table, row after row.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalColumns {
    /// Row i has the intervals at `offsets[i]..offsets[i + 1]`.
    pub offsets: Vec<i32>,
    /// Starts, in microseconds since 1970.
    pub start: Vec<i64>,
    /// Ends, in microseconds since 1970.
    pub end: Vec<i64>,
    /// Power in kW; negative is discharging.
    pub power_kw: Vec<f64>,
}

impl Default for IntervalColumns {
    fn default() -> Self {
        Self { offsets: vec![0], start: Vec::new(), end: Vec::new(), power_kw: Vec::new() }
    }
}

impl IntervalColumns {
    /// Empty columns with memory for `rows` rows of four intervals.
    pub(crate) fn with_capacity(rows: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Self {
            offsets,
            start: Vec::with_capacity(rows * 4),
            end: Vec::with_capacity(rows * 4),
            power_kw: Vec::with_capacity(rows * 4),
        }
    }

    /// Number of rows that are complete.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Positions of the intervals of a row.
    #[must_use]
    pub fn range(&self, row: usize) -> Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }

    /// Intervals of a row.
    #[must_use]
    pub fn of_row(&self, row: usize) -> Vec<Interval> {
        let interval = |at: usize| {
            let power = Power::from_kw(self.power_kw[at]).unwrap_or(Power::ZERO);
            Interval { start: instant_at(self.start[at]), end: instant_at(self.end[at]), power }
        };
        self.range(row).map(interval).collect()
    }

    /// Emissions of each row in kg, at a carbon intensity in kg per kWh; see [`emissions_of`].
    #[must_use]
    pub fn emissions(&self, intensity: &PriceCurve) -> Vec<f64> {
        (0..self.rows()).map(|row| emissions_of(&self.of_row(row), intensity)).collect()
    }

    /// Energy in kWh that each row takes, and that each gives back, in the `periods` of the row.
    ///
    /// With the periods of estimated prices ([`LayeredPrices::estimated`]) it is the energy bought
    /// and sold on estimates. A row without periods, `None`, has 0.
    ///
    /// [`LayeredPrices::estimated`]: crate::prices::layers::LayeredPrices::estimated
    #[must_use]
    pub fn energy_within<'a>(
        &self,
        periods: impl Fn(usize) -> Option<&'a Horizon>,
    ) -> (Vec<f64>, Vec<f64>) {
        let of_row = |row: usize| {
            let (mut taken, mut given) = (0.0, 0.0);
            let Some(periods) = periods(row).filter(|periods| !periods.is_empty()) else {
                return (taken, given);
            };
            for at in self.range(row) {
                let covered = periods.covered(self.start[at], self.end[at]);
                let energy = self.power_kw[at] * covered as f64 / MICROS_PER_HOUR;
                taken += energy.max(0.0);
                given += (-energy).max(0.0);
            }
            (taken, given)
        };
        (0..self.rows()).map(of_row).unzip()
    }

    /// Adds an interval to the row under way.
    #[inline(always)]
    pub fn push(&mut self, start: i64, end: i64, power_kw: f64) {
        self.start.push(start);
        self.end.push(end);
        self.power_kw.push(power_kw);
    }

    /// Adds an interval that touches none of the row with the same power; none if it is empty.
    #[inline(always)]
    pub(crate) fn push_unless_empty(&mut self, start: i64, end: i64, power_kw: f64) {
        if end > start {
            self.push(start, end, power_kw);
        }
    }

    /// Adds an interval to the row under way; it extends the one before if both touch and have the
    /// same power. An empty interval is left out.
    #[inline(always)]
    pub(crate) fn join(&mut self, start: i64, end: i64, power_kw: f64) {
        let first = self.offsets.last().map_or(0, |&offset| offset as usize);
        // An interval of the row before is not extended, even if it touches.
        let touches = self.start.len() > first
            && self.end.last() == Some(&start)
            && self.power_kw.last().is_some_and(|last| last.total_cmp(&power_kw).is_eq());
        match self.end.last_mut() {
            _ if end <= start => {}
            Some(last) if touches => *last = end,
            _ => self.push(start, end, power_kw),
        }
    }

    /// Ends the row under way.
    #[inline(always)]
    pub fn end_row(&mut self) {
        self.offsets.push(self.start.len() as i32);
    }

    /// Removes the intervals of the row under way, if it was not ended.
    pub(crate) fn drop_unfinished(&mut self) {
        let first = self.offsets.last().map_or(0, |&offset| offset as usize);
        self.start.truncate(first);
        self.end.truncate(first);
        self.power_kw.truncate(first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_within_periods_tells_both_directions_apart() {
        let hour = 3_600_000_000;
        let mut columns = IntervalColumns::default();
        columns.push(0, 2 * hour, 7.0);
        columns.push(2 * hour, 3 * hour, -4.0);
        columns.end_row();
        columns.push(0, hour, 7.0);
        columns.end_row();
        let periods = Horizon::from_micros([(hour / 2, hour), (2 * hour, 5 * hour / 2)]).unwrap();
        let (taken, given) = columns.energy_within(|row| (row == 0).then_some(&periods));
        assert_eq!((taken, given), (vec![3.5, 0.0], vec![2.0, 0.0]));
    }

    #[test]
    fn intervals_join_within_a_row_where_they_touch_at_equal_power() {
        let mut columns = IntervalColumns::default();
        columns.join(0, 10, 7.0);
        columns.join(10, 20, 7.0);
        columns.join(20, 20, 3.0);
        columns.join(20, 30, 3.0);
        columns.join(40, 50, 3.0);
        columns.end_row();
        columns.join(50, 60, 3.0);
        columns.drop_unfinished();
        columns.end_row();
        assert_eq!(columns.offsets, [0, 3, 3]);
        assert_eq!(columns.start, [0, 20, 40]);
        assert_eq!(columns.end, [20, 30, 50]);
        assert_eq!(columns.power_kw, [7.0, 3.0, 3.0]);
        assert_eq!(columns.range(0), 0..3);
    }
}

//! Distance of a new plan from a plan before, as an objective of a linear programme.
//!
//! The distance is the one of [`stay_close`](fn@super::stay_close): the sum of the absolute differences
//! in energy at the plug, slot by slot,
//!
//! ```text
//! Σ_t |x_t − v_t|  =  Σ_t |max(x_t, 0) − max(v_t, 0)| + Σ_t |max(−x_t, 0) − max(−v_t, 0)|
//! ```
//!
//! Both sides are equal because `x_t`, and `v_t` alike, either charges or discharges. The right-hand
//! side is linear in the columns of a programme that has one column for each direction.
//!
//! | Symbol | Code |
//! |---|---|
//! | `x_t`, energy of the new plan in slot `t` | columns of a programme |
//! | `v_t`, energy of the previous plan in slot `t` | [`PreviousEnergies::by_slot`] |
use chrono::{DateTime, Utc};

use crate::lp::{Column, LinearProgram, Row};
use crate::plan::interval::Interval;
use crate::time::instant::micros_of;
use crate::tolerance::SUM_DRIFT;
use crate::units::MICROS_PER_HOUR;

/// Energies of a plan before in the slots of a new one, in kWh at the plug.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct PreviousEnergies {
    /// Energy in each slot; negative is discharged.
    pub(crate) by_slot: Vec<f64>,
    /// Absolute energy from the start of the new plan on that lies in no slot. No plan can avoid
    /// this change.
    pub(crate) outside: f64,
}

impl PreviousEnergies {
    /// Spreads checked intervals over slots `(start, end)` in microseconds, which are in time order
    /// and begin at `now` or later.
    pub(crate) fn new(
        intervals: &[Interval],
        slots: impl Iterator<Item = (i64, i64)>,
        now: DateTime<Utc>,
    ) -> Self {
        let now = micros_of(now);
        // Energy of an interval from `start` to `end`.
        let energy = |interval: &Interval, start: i64, end: i64| {
            let micros = micros_of(interval.end).min(end) - micros_of(interval.start).max(start);
            interval.power.as_kw() * micros.max(0) as f64 / MICROS_PER_HOUR
        };
        let (mut first, mut inside) = (0, 0.0);
        let mut by_slot = Vec::new();
        for (start, end) in slots {
            while intervals.get(first).is_some_and(|interval| micros_of(interval.end) <= start) {
                first += 1;
            }
            let overlapping = intervals[first..].iter().take_while(|i| micros_of(i.start) < end);
            let mut net = 0.0;
            for interval in overlapping {
                let kwh = energy(interval, start, end);
                net += kwh;
                inside += kwh.abs();
            }
            by_slot.push(net);
        }
        let due: f64 = intervals.iter().map(|interval| energy(interval, now, i64::MAX).abs()).sum();
        // The difference of two sums of the same energies is rounding.
        let outside = if due - inside > SUM_DRIFT * due { due - inside } else { 0.0 };
        Self { by_slot, outside }
    }
}

/// Energies of one direction in one slot as terms of a programme, with the previous energy.
#[derive(Debug, Clone)]
struct DistancePart {
    /// Columns with their energies at the plug per unit, all above zero.
    terms: Vec<(usize, f64)>,
    /// Energy of the plan before in this direction.
    kept: f64,
}

/// Distance of the columns of a programme from a plan before.
#[derive(Debug, Clone, Default)]
pub(crate) struct Distance {
    parts: Vec<DistancePart>,
    /// Change that no values of the columns avoid.
    fixed: f64,
}

impl Distance {
    /// Adds a change that no values of the columns avoid.
    pub(crate) fn add_fixed(&mut self, change: f64) {
        self.fixed += change;
    }

    /// Adds the energy of one direction in one slot: the sum of `terms` against `kept`. A negative
    /// `kept` is energy that the slot has beside its columns and the plan before had not.
    pub(crate) fn add_part(&mut self, terms: Vec<(usize, f64)>, kept: f64) {
        self.fixed += (-kept).max(0.0);
        let kept = kept.max(0.0);
        if terms.is_empty() {
            self.fixed += kept;
        } else {
            self.parts.push(DistancePart { terms, kept });
        }
    }

    /// The distance at the values of the columns.
    pub(crate) fn measure(&self, values: &[f64]) -> f64 {
        let parts = self.parts.iter().map(|part| (part.sum(values) - part.kept).abs());
        self.fixed + parts.sum::<f64>()
    }

    /// Adds a column for each kept energy to a programme. Returns the distance as an objective,
    /// without [`Self::constant`].
    ///
    /// With `h ≤ v` and `h ≤ x`, the distance `|x − v|` is the least value of `v + x − 2·h`.
    pub(crate) fn add_to(&self, program: &mut LinearProgram) -> Vec<(usize, f64)> {
        let mut objective = Vec::new();
        for part in &self.parts {
            objective.extend(part.terms.iter().copied());
            if part.kept > 0.0 {
                let column = Column { cost: 0.0, lower: 0.0, upper: part.kept };
                let held = program.add_column(column);
                let mut terms = part.terms.clone();
                terms.push((held, -1.0));
                program.rows.push(Row { lower: 0.0, upper: f64::INFINITY, terms });
                objective.push((held, -2.0));
            }
        }
        objective
    }

    /// Values of the columns that [`Self::add_to`] adds, in its order.
    pub(crate) fn held<'a>(&'a self, values: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let kept = self.parts.iter().filter(|part| part.kept > 0.0);
        kept.map(|part| part.sum(values).clamp(0.0, part.kept))
    }

    /// Part of the distance that is not in the objective of [`Self::add_to`].
    pub(crate) fn constant(&self) -> f64 {
        self.fixed + self.parts.iter().map(|part| part.kept).sum::<f64>()
    }
}

impl DistancePart {
    /// Energy of the terms at the values of the columns.
    fn sum(&self, values: &[f64]) -> f64 {
        self.terms.iter().map(|&(column, weight)| weight * values[column]).sum()
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::units::kw;

    fn at(minutes: i64) -> DateTime<Utc> {
        "2026-03-29T00:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    fn interval(start: i64, end: i64, power: f64) -> Interval {
        Interval { start: at(start), end: at(end), power: kw(power) }
    }

    fn energies(intervals: &[Interval], slots: &[(i64, i64)], now: i64) -> PreviousEnergies {
        let slots = slots.iter().map(|&(start, end)| (micros_of(at(start)), micros_of(at(end))));
        PreviousEnergies::new(intervals, slots, at(now))
    }

    #[test]
    fn energy_goes_to_the_slots_that_its_time_overlaps() {
        let before = [interval(-30, 30, 6.0), interval(30, 90, -2.0), interval(150, 180, 4.0)];
        // The time before now does not count, and the last hour has no slot for half of it.
        let found = energies(&before, &[(0, 60), (60, 120), (120, 165)], 0);
        assert_eq!(found.by_slot, [3.0 - 1.0, -1.0, 1.0]);
        assert!((found.outside - 1.0).abs() < 1e-12, "{found:?}");
        assert!((energies(&before, &[], 0).outside - 7.0).abs() < 1e-12);
        assert_eq!(energies(&[], &[(0, 60)], 0).by_slot, [0.0]);
    }

    #[test]
    fn the_objective_is_the_distance() {
        let mut distance = Distance::default();
        distance.add_part(vec![(0, 2.0)], 3.0);
        distance.add_part(vec![(1, 1.0)], 0.0);
        distance.add_part(vec![], 0.5);
        distance.add_part(vec![(2, 1.0)], -0.25);
        distance.add_fixed(1.0);
        let mut program = LinearProgram::default();
        for value in [1.0, 4.0, 0.5] {
            program.add_column(Column { cost: 0.0, lower: value, upper: value });
        }
        let objective = distance.add_to(&mut program);
        for &(column, weight) in &objective {
            program.columns[column].cost += weight;
        }
        let solution = program.minimise().unwrap();
        // |2 − 3| + 4 + 0.5 + (0.25 + 0.5) + 1.
        assert!((distance.measure(&[1.0, 4.0, 0.5]) - 7.25).abs() < 1e-12);
        assert!((solution.cost + distance.constant() - 7.25).abs() < 1e-9);
        assert_eq!(distance.held(&[1.0, 4.0, 0.5]).collect::<Vec<_>>(), [2.0]);
    }
}

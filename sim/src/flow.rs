//! Power and energy between two events.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use slackwater_engine::time::instant::micros_of;
use slackwater_engine::units::{Energy, MICROS_PER_HOUR, Power, kw, kwh};

/// Pieces of a course that are kept for [`Course::counters_at`] in the past:
/// six weeks of quarters of an hour.
const PIECES_KEPT: usize = 42 * 96;

/// A power that is constant, or falls exponentially towards zero.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Power at the start; positive is taken.
    #[serde(rename = "power_kw")]
    pub power: Power,
    /// Rate of decay `k` in `exp(-k·t)`, per hour. Zero is constant.
    pub decay_per_hour: f64,
}

impl Flow {
    /// No power.
    pub const NONE: Self = Self::constant(Power::ZERO);

    /// Constant power.
    #[must_use]
    pub const fn constant(power: Power) -> Self {
        Self { power, decay_per_hour: 0.0 }
    }

    /// Power after so many hours.
    #[must_use]
    pub fn power_after(&self, hours: f64) -> Power {
        kw(self.power.as_kw() * (-self.decay_per_hour * hours).exp())
    }

    /// Energy of so many hours.
    #[must_use]
    pub fn energy_after(&self, hours: f64) -> Energy {
        let (power, decay) = (self.power.as_kw(), self.decay_per_hour);
        if decay <= 0.0 {
            return kwh(power * hours);
        }
        kwh(power * -(-decay * hours).exp_m1() / decay)
    }

    /// Hours until `energy` has flowed; `None` if it never will.
    #[must_use]
    pub fn hours_for(&self, energy: Energy) -> Option<f64> {
        let (power, decay, energy) = (self.power.as_kw(), self.decay_per_hour, energy.as_kwh());
        if energy <= 0.0 {
            return Some(0.0);
        }
        let hours =
            if decay <= 0.0 { energy / power } else { -(-decay * energy / power).ln_1p() / decay };
        (power > 0.0 && hours.is_finite()).then_some(hours)
    }
}

/// Two cumulative counters: energy taken and energy given. Neither falls.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// Taken so far.
    #[serde(rename = "imported_kwh")]
    pub imported: Energy,
    /// Given so far.
    #[serde(rename = "exported_kwh")]
    pub exported: Energy,
}

impl Counted {
    /// Taken less given.
    #[must_use]
    pub fn net(&self) -> Energy {
        self.imported - self.exported
    }

    /// Difference to an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            imported: self.imported - earlier.imported,
            exported: self.exported - earlier.exported,
        }
    }

    fn with(self, energy: Energy) -> Self {
        Self {
            imported: self.imported + energy.max(Energy::ZERO),
            exported: self.exported + (-energy).max(Energy::ZERO),
        }
    }
}

/// Piece of a course: the flow from `start` on, and the counters at `start`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    start: i64,
    before: Counted,
    flow: Flow,
}

impl Piece {
    fn counted_at(&self, micros: i64) -> Counted {
        self.before.with(self.flow.energy_after(hours_between(self.start, micros)))
    }
}

/// Course of power through a device over time, with its energy counters.
///
/// Six weeks of quarter-hour pieces are kept. For an earlier instant the counters at the start of
/// the oldest kept piece are returned.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    pieces: Vec<Piece>,
}

impl Course {
    /// Course without power, counters at zero.
    #[must_use]
    pub fn starting(at: DateTime<Utc>) -> Self {
        let piece = Piece { start: micros_of(at), before: Counted::default(), flow: Flow::NONE };
        Self { pieces: vec![piece] }
    }

    /// Changes the flow from `at` on. An instant before the last change counts as the last
    /// change.
    pub fn change(&mut self, at: DateTime<Utc>, flow: Flow) {
        self.change_at(micros_of(at), flow);
    }

    pub(crate) fn change_at(&mut self, micros: i64, flow: Flow) {
        let last = *self.last();
        let start = micros.max(last.start);
        if start > last.start && flow == last.flow && flow.decay_per_hour <= 0.0 {
            // An unchanged constant power needs no new piece.
            return;
        }
        self.push(Piece { start, before: last.counted_at(start), flow });
    }

    /// Adds energy at one instant, such as the quarter-hourly step of a meter register.
    pub(crate) fn add_at(&mut self, micros: i64, energy: Energy) {
        let last = *self.last();
        let start = micros.max(last.start);
        let before = last.counted_at(start).with(energy);
        self.push(Piece { start, before, flow: last.flow });
    }

    /// Appends a piece; a piece that starts with the last one replaces it.
    fn push(&mut self, piece: Piece) {
        if self.last().start == piece.start {
            self.pieces.pop();
        }
        self.pieces.push(piece);
        if self.pieces.len() > 2 * PIECES_KEPT {
            self.pieces.drain(..self.pieces.len() - PIECES_KEPT);
        }
    }

    /// Counters at an instant, which may lie in the past.
    #[must_use]
    pub fn counters_at(&self, at: DateTime<Utc>) -> Counted {
        self.counted_at(micros_of(at))
    }

    pub(crate) fn counted_at(&self, micros: i64) -> Counted {
        let behind = self.pieces.partition_point(|piece| piece.start <= micros);
        match behind.checked_sub(1) {
            Some(index) => self.pieces[index].counted_at(micros),
            None => self.pieces[0].before,
        }
    }

    /// Power at an instant that is not before the last change.
    #[must_use]
    pub fn power_at(&self, at: DateTime<Utc>) -> Power {
        let last = self.last();
        last.flow.power_after(hours_between(last.start, micros_of(at)))
    }

    fn last(&self) -> &Piece {
        self.pieces.last().expect("a course begins with a piece and never loses its last")
    }
}

/// Hours from one instant to a later one; zero if it is not later.
pub(crate) fn hours_between(start: i64, end: i64) -> f64 {
    (end - start).max(0) as f64 / MICROS_PER_HOUR
}

/// The instant so many hours after another, rounded up to the microsecond.
pub(crate) fn hours_after(start: i64, hours: f64) -> i64 {
    start.saturating_add((hours * MICROS_PER_HOUR).ceil() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;
    use proptest::prelude::*;

    fn at(minutes: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    #[test]
    fn counters_follow_the_course_and_never_fall() {
        let mut course = Course::starting(at(0));
        course.change(at(30), Flow::constant(kw(8.0)));
        course.change(at(60), Flow::constant(kw(8.0)));
        course.change(at(90), Flow::constant(kw(-2.0)));
        course.change(at(120), Flow::NONE);
        assert_eq!(course.counters_at(at(0)), Counted::default());
        assert_eq!(course.counters_at(at(75)).imported, kwh(6.0));
        let end = course.counters_at(at(500));
        assert_eq!((end.imported, end.exported, end.net()), (kwh(8.0), kwh(1.0), kwh(7.0)));
        assert_eq!(course.counters_at(at(-10)), Counted::default());
        assert_eq!(course.power_at(at(130)), Power::ZERO);
    }

    #[test]
    fn a_register_moves_at_once() {
        let mut course = Course::starting(at(0));
        course.add_at(micros_of(at(15)), kwh(1.5));
        course.add_at(micros_of(at(30)), kwh(-0.5));
        assert_eq!(course.counters_at(at(14)), Counted::default());
        assert_eq!(course.counters_at(at(15)).imported, kwh(1.5));
        assert_eq!(course.counters_at(at(40)).exported, kwh(0.5));
    }

    #[test]
    fn old_pieces_are_dropped_and_counters_stay() {
        let mut course = Course::starting(at(0));
        for minute in 1..20_000 {
            course.change(at(minute), Flow::constant(kw(f64::from(minute as i32 % 2 + 1))));
        }
        assert!(course.pieces.len() <= 2 * PIECES_KEPT);
        let total = course.counters_at(at(20_000)).imported.as_kwh();
        assert!((total - 19_999.0 * 1.5 / 60.0).abs() < 0.02, "{total}");
    }

    proptest! {
        /// Energy is the integral of power, and the time for an energy its inverse.
        #[test]
        fn energy_is_the_integral_of_power(power in 0.1..300.0f64, decay in 0.0..5.0f64, hours in 0.01..20.0f64) {
            let flow = Flow { power: kw(power), decay_per_hour: decay };
            let steps = 8000;
            let width = hours / f64::from(steps);
            let sum: f64 = (0..steps)
                .map(|step| flow.power_after((f64::from(step) + 0.5) * width).as_kw() * width)
                .sum();
            let energy = flow.energy_after(hours);
            prop_assert!((sum - energy.as_kwh()).abs() <= 1e-4 * sum.max(1.0));
            let back = flow.hours_for(energy);
            prop_assert!(back.is_none() || (back.unwrap() - hours).abs() < 1e-3 * hours.max(1.0) || decay * hours > 20.0);
        }
    }
}

//! Home battery with operation modes, stepped from event to event.
use chrono::{DateTime, Timelike, Utc};
use chrono_tz::Tz;

use crate::flow::{Course, Flow, hours_after, hours_between};
use slackwater_control::device::battery::OperationMode;
use slackwater_engine::time::civil::local_of;
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_engine::time::instant::{instant_at, micros_of};
use slackwater_engine::units::{Energy, Percent, Power, kw, kwh};

/// Tolerance in kWh within which a battery counts as empty or full.
const LEVEL_TOLERANCE_KWH: f64 = 1e-9;

/// Specification of a home battery.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StorageSpec {
    /// Usable capacity.
    pub capacity: Energy,
    /// Highest power of charging and of discharging.
    pub power_max: Power,
    /// Round-trip efficiency: energy given per energy taken.
    pub round_trip: Percent,
    /// State of charge at the start.
    pub soc: Percent,
    /// Operation mode at the start.
    pub mode: OperationMode,
    /// Start of the cheap hours of its rate schedule.
    pub cheap_from: HourMinute,
    /// End of the cheap hours.
    pub cheap_to: HourMinute,
    /// Time zone of the battery's clock.
    pub time_zone: Tz,
}

/// Observable state of a battery.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StorageView {
    /// State of charge.
    pub soc: Percent,
    /// Power; positive charges.
    pub power: Power,
    /// Operation mode.
    pub mode: OperationMode,
}

/// A home battery that is stepped from event to event.
#[derive(Debug, Clone, PartialEq)]
pub struct Storage {
    spec: StorageSpec,
    since: i64,
    stored: f64,
    mode: OperationMode,
    flow: Flow,
    course: Course,
    next: i64,
}

impl Storage {
    /// A battery as it is at `at`, idle until it is settled.
    #[must_use]
    pub fn new(spec: StorageSpec, at: DateTime<Utc>) -> Self {
        Self {
            since: micros_of(at),
            stored: spec.soc.of(spec.capacity).as_kwh(),
            mode: spec.mode,
            flow: Flow::NONE,
            course: Course::starting(at),
            next: i64::MAX,
            spec,
        }
    }

    /// Course of power and energy.
    #[must_use]
    pub const fn course(&self) -> &Course {
        &self.course
    }

    pub(crate) const fn next(&self) -> i64 {
        self.next
    }

    pub(crate) fn aim(&mut self, mode: OperationMode) {
        self.mode = mode;
    }

    pub(crate) fn fill(&mut self, soc: Percent) {
        self.stored = soc.of(self.spec.capacity).as_kwh();
    }

    /// Stored energy at an instant not before the last event.
    #[must_use]
    pub fn stored_at(&self, at: DateTime<Utc>) -> Energy {
        kwh(self.stored_after(hours_between(self.since, micros_of(at))))
    }

    /// Half of the losses fall on the way in, half on the way out.
    fn one_way(&self) -> f64 {
        (self.spec.round_trip.as_percent() / 100.0).sqrt()
    }

    fn stored_after(&self, hours: f64) -> f64 {
        let energy = self.flow.energy_after(hours).as_kwh();
        let gained = if energy > 0.0 { energy * self.one_way() } else { energy / self.one_way() };
        (self.stored + gained).clamp(0.0, self.spec.capacity.as_kwh())
    }

    /// Executes the events due at `at`. `surplus` is the power of the roofs minus the power of
    /// the household. Call it each quarter, at its own next event and after a change of mode.
    pub(crate) fn settle(&mut self, at: i64, surplus: Power) {
        self.stored = self.stored_after(hours_between(self.since, at));
        self.since = at;
        let wanted = self.wanted(at, surplus.as_kw());
        let most = self.spec.power_max.as_kw();
        let power = wanted.clamp(-most, most);
        let room = self.spec.capacity.as_kwh() - self.stored;
        let is_stuck = (power > 0.0 && room <= LEVEL_TOLERANCE_KWH)
            || (power < 0.0 && self.stored <= LEVEL_TOLERANCE_KWH);
        let power = if is_stuck { 0.0 } else { power };
        let hours = if power > 0.0 {
            room / self.one_way() / power
        } else {
            self.stored * self.one_way() / -power
        };
        self.flow = Flow::constant(kw(power));
        self.course.change_at(at, self.flow);
        let ends = power.abs() > 0.0;
        self.next = if ends { hours_after(at, hours).max(at + 1) } else { i64::MAX };
    }

    fn wanted(&self, at: i64, surplus_kw: f64) -> f64 {
        let most = self.spec.power_max.as_kw();
        let is_cheap = self.mode == OperationMode::TimeOfUse && self.is_cheap(at);
        match self.mode {
            _ if is_cheap => most,
            OperationMode::SelfReliance | OperationMode::TimeOfUse => surplus_kw,
            OperationMode::ImportFocus => most,
            OperationMode::ExportFocus => -most,
            OperationMode::Idle => 0.0,
        }
    }

    fn is_cheap(&self, at: i64) -> bool {
        let local = local_of(instant_at(at), self.spec.time_zone);
        let minute = (local.hour() * 60 + local.minute()) as u16;
        let (from, to) = (self.spec.cheap_from.minutes(), self.spec.cheap_to.minutes());
        if from <= to { (from..to).contains(&minute) } else { !(to..from).contains(&minute) }
    }

    /// Observable state at an instant not before the last event.
    #[must_use]
    pub fn view(&self, at: DateTime<Utc>) -> StorageView {
        StorageView {
            soc: Percent::filled(self.stored_at(at), self.spec.capacity),
            power: self.flow.power,
            mode: self.mode,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;
    use proptest::prelude::*;
    use slackwater_engine::units::percent;

    fn storage(mode: OperationMode, soc: f64) -> Storage {
        let spec = StorageSpec {
            capacity: kwh(10.0),
            power_max: kw(5.0),
            round_trip: percent(81.0),
            soc: percent(soc),
            mode,
            cheap_from: HourMinute::parse("23:00").unwrap(),
            cheap_to: HourMinute::parse("05:00").unwrap(),
            time_zone: chrono_tz::Europe::Berlin,
        };
        Storage::new(spec, start())
    }

    fn start() -> DateTime<Utc> {
        "2026-01-05T12:00:00Z".parse().unwrap()
    }

    /// Advances by one quarter per surplus.
    fn run(storage: &mut Storage, surpluses: &[f64]) -> DateTime<Utc> {
        let mut at = storage.since;
        for &surplus in surpluses {
            let end = at + 900_000_000;
            while at < end {
                storage.settle(at, kw(surplus));
                at = storage.next().min(end);
            }
        }
        storage.settle(at, Power::ZERO);
        instant_at(at)
    }

    #[test]
    fn modes_are_what_it_aims_at() {
        let table = [
            (OperationMode::SelfReliance, 2.0, 50.0 + 18.0),
            (OperationMode::SelfReliance, -1.8, 50.0 - 20.0),
            (OperationMode::ImportFocus, -2.0, 50.0 + 45.0),
            (OperationMode::ExportFocus, 2.0, 0.0),
            (OperationMode::Idle, 2.0, 50.0),
            (OperationMode::TimeOfUse, 2.0, 50.0 + 18.0),
        ];
        for (mode, surplus, expected) in table {
            let mut storage = storage(mode, 50.0);
            let end = run(&mut storage, &[surplus; 4]);
            let soc = storage.view(end).soc.as_percent();
            assert!((soc - expected).abs() < 1e-6, "{mode:?}: {soc}");
        }
    }

    #[test]
    fn cheap_hours_of_a_night_fill_it() {
        let mut storage = storage(OperationMode::TimeOfUse, 20.0);
        let end = run(&mut storage, &[0.0; 4 * 12]);
        assert_eq!(storage.view(end).soc, percent(100.0));
        let before = storage.course().counters_at(start() + TimeDelta::hours(10));
        assert_eq!(before.imported, Energy::ZERO);
    }

    proptest! {
        /// Energy is conserved, and the battery never holds more or less than it can.
        #[test]
        fn energy_is_conserved(surpluses in prop::collection::vec(-8.0..8.0f64, 1..100), soc in 0.0..100.0f64) {
            let mut storage = storage(OperationMode::SelfReliance, soc);
            let end = run(&mut storage, &surpluses);
            let counted = storage.course().counters_at(end);
            let gained = counted.imported.as_kwh() * 0.9 - counted.exported.as_kwh() / 0.9;
            let stored = storage.stored_at(end).as_kwh();
            prop_assert!((stored - soc / 10.0 - gained).abs() < 1e-6, "{stored} {gained}");
            prop_assert!((0.0..=10.0).contains(&stored));
        }
    }
}

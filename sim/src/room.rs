//! Heated or cooled room with its thermostat, stepped from event to event.
use chrono::{DateTime, Timelike, Utc};
use chrono_tz::Tz;

use crate::flow::{Course, Flow, hours_after, hours_between};
use slackwater_control::device::hvac::{Hold, Mode};
use slackwater_engine::time::civil::local_of;
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_engine::time::instant::{instant_at, micros_of};
use slackwater_engine::units::{Power, Temperature, celsius};

/// Half width of the band around a setpoint, in degrees.
const STRAY: f64 = 0.4;

/// Room, its heating or cooling unit and the schedule on its thermostat.
#[derive(Debug, Clone, PartialEq)]
pub struct RoomSpec {
    /// Time constant in hours: without heating the difference to the outside falls by 63 % in it.
    pub time_constant_hours: f64,
    /// Degrees above the outside per kilowatt of heat in the steady state.
    pub celsius_per_kw: f64,
    /// Power of the unit while it is on.
    pub power: Power,
    /// Heat moved per energy taken (coefficient of performance).
    pub gain: f64,
    /// Temperature at the start.
    pub temperature: Temperature,
    /// Setting of the device's schedule by day.
    pub by_day: Hold,
    /// Setting of the device's schedule by night.
    pub by_night: Hold,
    /// Start of the day on the local clock.
    pub day_starts: HourMinute,
    /// Start of the night on the local clock.
    pub night_starts: HourMinute,
    /// Time zone of the thermostat's clock.
    pub time_zone: Tz,
    /// Hold at the start; `None` follows the schedule.
    pub held: Option<Hold>,
}

/// Observable state of a room.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoomView {
    /// Temperature of the room.
    pub temperature: Temperature,
    /// True if the unit is on.
    pub is_active: bool,
    /// Power of the unit.
    pub power: Power,
    /// Present setting of the thermostat.
    pub setting: Hold,
    /// True if the schedule on the device determines the setting.
    pub follows_schedule: bool,
}

/// Effect of a unit on its room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drive {
    Off,
    Heats,
    Cools,
}

/// A room that is stepped from event to event.
#[derive(Debug, Clone, PartialEq)]
pub struct Room {
    spec: RoomSpec,
    since: i64,
    temperature: f64,
    outside: f64,
    drive: Drive,
    held: Option<Hold>,
    setting: Hold,
    course: Course,
    next: i64,
}

impl Room {
    /// A room as it is at `at`, with so many degrees outside.
    #[must_use]
    pub fn new(spec: RoomSpec, at: DateTime<Utc>, outside: Temperature) -> Self {
        let mut room = Self {
            since: micros_of(at),
            temperature: spec.temperature.as_celsius(),
            outside: outside.as_celsius(),
            drive: Drive::Off,
            held: spec.held,
            setting: spec.by_day,
            course: Course::starting(at),
            next: i64::MAX,
            spec,
        };
        room.settle(micros_of(at), outside);
        room
    }

    /// Course of power and energy of the unit.
    #[must_use]
    pub const fn course(&self) -> &Course {
        &self.course
    }

    pub(crate) const fn next(&self) -> i64 {
        self.next
    }

    /// Follows the schedule on the device (`None`), or holds a setting.
    pub(crate) fn hold(&mut self, hold: Option<Hold>) {
        // A setpoint that the hold does not name keeps its value.
        self.held = hold.map(|hold| Hold {
            heat_setpoint: hold.heat_setpoint.or(self.setting.heat_setpoint),
            cool_setpoint: hold.cool_setpoint.or(self.setting.cool_setpoint),
            ..hold
        });
    }

    /// Temperature towards which the room tends.
    fn goal(&self) -> f64 {
        let warmth = self.spec.power.as_kw() * self.spec.gain * self.spec.celsius_per_kw;
        match self.drive {
            Drive::Off => self.outside,
            Drive::Heats => self.outside + warmth,
            Drive::Cools => self.outside - warmth,
        }
    }

    fn temperature_after(&self, hours: f64) -> f64 {
        let goal = self.goal();
        goal + (self.temperature - goal) * (-hours / self.spec.time_constant_hours).exp()
    }

    /// Executes the events due at `at`. Call it each quarter with the temperature outside, at its
    /// own next event, and after a hold.
    pub(crate) fn settle(&mut self, at: i64, outside: Temperature) {
        self.temperature = self.temperature_after(hours_between(self.since, at));
        self.since = at;
        self.outside = outside.as_celsius();
        self.setting = self.held.unwrap_or_else(|| self.scheduled(at));
        self.drive = self.decided();
        let power = if self.drive == Drive::Off { Power::ZERO } else { self.spec.power };
        self.course.change_at(at, Flow::constant(power));
        let hours = self.threshold().and_then(|threshold| self.hours_until(threshold));
        self.next = hours.map_or(i64::MAX, |hours| hours_after(at, hours).max(at + 1));
    }

    fn scheduled(&self, at: i64) -> Hold {
        let local = local_of(instant_at(at), self.spec.time_zone);
        let minute = (local.hour() * 60 + local.minute()) as u16;
        let (day, night) = (self.spec.day_starts.minutes(), self.spec.night_starts.minutes());
        let is_day = if day <= night {
            (day..night).contains(&minute)
        } else {
            !(night..day).contains(&minute)
        };
        if is_day { self.spec.by_day } else { self.spec.by_night }
    }

    /// Setpoints that apply in the present mode.
    fn setpoints(&self) -> (Option<f64>, Option<f64>) {
        let heat = self.setting.heat_setpoint.map(Temperature::as_celsius);
        let cool = self.setting.cool_setpoint.map(Temperature::as_celsius);
        match self.setting.mode {
            Mode::Off => (None, None),
            Mode::Heat => (heat, None),
            Mode::Cool => (None, cool),
            Mode::Auto => (heat, cool),
        }
    }

    /// On below, or above, the band around a setpoint; off beyond its other
    /// end; in between as before.
    fn decided(&self) -> Drive {
        let (heat, cool) = self.setpoints();
        // An event is at its threshold but for rounding.
        let now = self.temperature;
        let is_below = |edge: f64| now <= edge + 1e-6;
        let is_above = |edge: f64| now >= edge - 1e-6;
        match (heat, cool) {
            (Some(heat), _) if is_below(heat - STRAY) => Drive::Heats,
            (_, Some(cool)) if is_above(cool + STRAY) => Drive::Cools,
            (Some(heat), _) if self.drive == Drive::Heats && !is_above(heat + STRAY) => {
                Drive::Heats
            }
            (_, Some(cool)) if self.drive == Drive::Cools && !is_below(cool - STRAY) => {
                Drive::Cools
            }
            _ => Drive::Off,
        }
    }

    /// Temperature at which the unit switches next.
    fn threshold(&self) -> Option<f64> {
        let (heat, cool) = self.setpoints();
        match self.drive {
            Drive::Heats => heat.map(|heat| heat + STRAY),
            Drive::Cools => cool.map(|cool| cool - STRAY),
            Drive::Off if self.outside < self.temperature => heat.map(|heat| heat - STRAY),
            Drive::Off => cool.map(|cool| cool + STRAY),
        }
    }

    fn hours_until(&self, threshold: f64) -> Option<f64> {
        let goal = self.goal();
        let left = (threshold - goal) / (self.temperature - goal);
        let hours = -self.spec.time_constant_hours * left.ln();
        (hours.is_finite() && hours >= 0.0).then_some(hours)
    }

    /// Observable state at an instant not before the last event.
    #[must_use]
    pub fn view(&self, at: DateTime<Utc>) -> RoomView {
        let hours = hours_between(self.since, micros_of(at));
        RoomView {
            temperature: celsius(self.temperature_after(hours)),
            is_active: self.drive != Drive::Off,
            power: self.course.power_at(at),
            setting: self.setting,
            follows_schedule: self.held.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;
    use slackwater_engine::units::kw;

    fn heat(setpoint: f64) -> Hold {
        Hold { mode: Mode::Heat, heat_setpoint: Some(celsius(setpoint)), cool_setpoint: None }
    }

    fn room() -> RoomSpec {
        RoomSpec {
            time_constant_hours: 40.0,
            celsius_per_kw: 5.0,
            power: kw(2.5),
            gain: 3.0,
            temperature: celsius(20.0),
            by_day: heat(21.0),
            by_night: heat(18.0),
            day_starts: HourMinute::parse("06:00").unwrap(),
            night_starts: HourMinute::parse("22:00").unwrap(),
            time_zone: chrono_tz::Europe::Oslo,
            held: None,
        }
    }

    fn noon() -> DateTime<Utc> {
        "2026-01-05T11:00:00Z".parse().unwrap()
    }

    /// Advances event by event and quarter by quarter, and checks each event.
    fn run(room: &mut Room, minutes: i64, outside: f64, check: impl Fn(&RoomView)) {
        let mut at = room.since;
        let end = at + minutes * 60_000_000;
        while at < end {
            let quarter = (at / 900_000_000 + 1) * 900_000_000;
            at = quarter.min(room.next()).min(end);
            room.settle(at, celsius(outside));
            check(&room.view(instant_at(at)));
        }
    }

    #[test]
    fn a_cold_day_is_kept_near_the_setpoint() {
        let spec = RoomSpec { temperature: celsius(21.0), ..room() };
        let mut room = Room::new(spec, noon(), celsius(-5.0));
        run(&mut room, 120, -5.0, |_| ());
        run(&mut room, 400, -5.0, |view| {
            let temperature = view.temperature.as_celsius();
            assert!((20.5..21.5).contains(&temperature), "{temperature}");
            assert_eq!(view.power, if view.is_active { kw(2.5) } else { Power::ZERO });
        });
        let taken = room.course().counters_at(noon() + TimeDelta::minutes(520)).imported.as_kwh();
        // 26 degrees above the outside at 5 degrees per kW and a gain of 3: 1.73 kW.
        assert!((taken - 1.73 * 520.0 / 60.0).abs() < 1.2, "{taken}");
    }

    #[test]
    fn a_hold_stays_until_the_schedule_is_followed() {
        let mut room = Room::new(room(), noon(), celsius(5.0));
        room.hold(Some(heat(24.0)));
        room.settle(micros_of(noon()), celsius(5.0));
        run(&mut room, 24 * 60, 5.0, |view| assert!(!view.follows_schedule));
        assert!(room.view(instant_at(room.since)).temperature > celsius(23.4));
        room.hold(None);
        run(&mut room, 12 * 60, 5.0, |view| assert!(view.follows_schedule));
        assert_eq!(room.view(instant_at(room.since)).setting, heat(18.0));
    }

    #[test]
    fn a_hot_day_is_cooled_in_cool_and_auto_only() {
        for (mode, cools) in
            [(Mode::Cool, true), (Mode::Auto, true), (Mode::Heat, false), (Mode::Off, false)]
        {
            let hold = Hold {
                mode,
                heat_setpoint: Some(celsius(19.0)),
                cool_setpoint: Some(celsius(24.0)),
            };
            let spec = RoomSpec { held: Some(hold), ..room() };
            let mut room = Room::new(spec, noon(), celsius(33.0));
            run(&mut room, 48 * 60, 33.0, |_| ());
            let temperature = room.view(instant_at(room.since)).temperature.as_celsius();
            assert_eq!(temperature < 24.6, cools, "{mode:?} {temperature}");
        }
    }
}

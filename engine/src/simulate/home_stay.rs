//! Vehicles of a home while it is simulated: what each of them still needs, and what it draws.
use chrono::{DateTime, Utc};

use crate::simulate::command::Command;
use crate::simulate::device::ExactDevice;
use crate::simulate::exact::{ExactEnergy, Milliwatts};
use crate::simulate::facts::Stay;
use crate::simulate::regret::Relaxation;
use crate::time::instant::{instant_at, micros_of};
use crate::units::{Energy, Power};

/// A vehicle of a home that is known to a policy: at its plug, or to come where all is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HomeStay {
    /// Position of the stay in [`HomeFacts::stays`](crate::simulate::HomeFacts::stays).
    pub row: usize,
    /// Instant at which the vehicle is plugged in.
    pub arrival: DateTime<Utc>,
    /// Departure.
    pub departure: DateTime<Utc>,
    /// Energy at the plug that it still needs.
    pub missing: Energy,
    /// Highest power at the plug.
    pub power_max: Power,
}

/// Meter of one stay of a vehicle. The vehicle draws the next power that its device can draw above the
/// one that it is asked for, until nothing is missing.
#[derive(Debug, Clone)]
pub(crate) struct StayMeter {
    /// Position of the stay in the facts.
    pub(crate) row: usize,
    /// Arrival, in microseconds.
    pub(crate) start: i64,
    /// Departure, in microseconds.
    pub(crate) end: i64,
    /// Powers that the vehicle can draw.
    pub(crate) device: ExactDevice,
    /// Energy at the plug that is missing now.
    pub(crate) missing: ExactEnergy,
}

impl StayMeter {
    /// Meter of stay `row` before its arrival, under relaxed conditions.
    pub(crate) fn new(row: usize, stay: &Stay, relaxed: Relaxation) -> Self {
        let (device, missing) = relaxed.device(stay);
        let (start, end) = (micros_of(stay.arrival), micros_of(stay.departure));
        Self { row, start, end, device: ExactDevice::new(&device), missing }
    }

    /// True if the vehicle needs energy at or after an instant.
    pub(crate) fn is_waiting(&self, at: i64) -> bool {
        self.end > at && self.missing > ExactEnergy::ZERO
    }

    /// Power that the vehicle draws from `at` on, and the first instant at which that may change.
    /// `command` is the first one that ends after `at`.
    pub(crate) fn drawn_at(&self, command: Option<&Command>, at: i64) -> (Milliwatts, i64) {
        let Some(command) = command else { return (Milliwatts(0), i64::MAX) };
        let (start, end) = (command.start.max(self.start), command.end.min(self.end));
        if at < start {
            return (Milliwatts(0), start);
        }
        let power = self.device.drawn(command.power);
        // The microsecond in which the need is reached is drawn as a whole.
        let until = end.min(at.saturating_add(self.missing.micros_at(power)));
        if power.0 > 0 && at < until { (power, until) } else { (Milliwatts(0), command.end) }
    }

    /// Counts a power in a period, and returns its energy.
    pub(crate) fn count(&mut self, power: Milliwatts, micros: i64) -> ExactEnergy {
        let energy = power.over(micros);
        self.missing = (self.missing - energy).max(ExactEnergy::ZERO);
        energy
    }

    /// The stay as a policy sees it.
    pub(crate) fn as_seen(&self) -> HomeStay {
        HomeStay {
            row: self.row,
            arrival: instant_at(self.start),
            departure: instant_at(self.end),
            missing: Energy::from_kwh(self.missing.as_kwh()).unwrap_or(Energy::ZERO),
            power_max: Power::from_kw(self.device.power_max.as_kw()).unwrap_or(Power::ZERO),
        }
    }
}

/// Plan of a vehicle, with the energy that it needed when it was made.
#[derive(Debug)]
pub(crate) struct PlannedStay {
    /// Position among the stays of the home.
    pub(crate) position: usize,
    pub(crate) need: ExactEnergy,
    /// Its powers, in time order.
    pub(crate) commands: Vec<Command>,
}

impl PlannedStay {
    /// Energy that is missing at an instant by the plan.
    pub(crate) fn missing_at(&self, now: i64) -> ExactEnergy {
        let past = self.commands.iter().take_while(|command| command.start < now);
        past.fold(self.need, |missing, command| {
            missing - command.power.over(command.end.min(now) - command.start)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::device::ChargeDevice;
    use crate::units::{kw, kwh};

    #[test]
    fn a_vehicle_draws_until_nothing_is_missing_or_it_leaves() {
        let second = 1_000_000;
        let ideal = ChargeDevice::ideal(kw(6.0));
        let mut meter = StayMeter {
            row: 0,
            start: 10 * second,
            end: 100 * second,
            device: ExactDevice::new(&ideal),
            missing: ExactEnergy::from_energy(kwh(0.1)),
        };
        let command = Command { start: 0, end: 200 * second, power: Milliwatts(9_000_000) };
        assert_eq!(meter.drawn_at(None, 0), (Milliwatts(0), i64::MAX));
        assert_eq!(meter.drawn_at(Some(&command), 0), (Milliwatts(0), 10 * second));
        // 0.1 kWh at 6 kW take a minute.
        let drawn = meter.drawn_at(Some(&command), 10 * second);
        assert_eq!(drawn, (Milliwatts(6_000_000), 70 * second));
        meter.count(drawn.0, 30 * second);
        assert!((meter.missing.as_kwh() - 0.05).abs() < 1e-12);
        let slow = Command { power: Milliwatts(1), ..command };
        assert_eq!(meter.drawn_at(Some(&slow), 40 * second), (Milliwatts(1), 100 * second));
        assert_eq!(meter.drawn_at(Some(&slow), 100 * second), (Milliwatts(0), 200 * second));
        meter.count(Milliwatts(6_000_000), 30 * second);
        assert!(!meter.is_waiting(0));
        let least = ChargeDevice { power_min: kw(1.4), power_step: kw(1.0), ..ideal };
        let stepped = StayMeter { device: ExactDevice::new(&least), ..meter.clone() };
        let asked = Command { power: Milliwatts(100_000), ..command };
        let stepped = StayMeter { missing: ExactEnergy::from_energy(kwh(0.1)), ..stepped };
        // The next of its powers above 1.4 kW is 2 kW, at which 0.1 kWh take three minutes.
        assert_eq!(
            stepped.drawn_at(Some(&asked), 10 * second),
            (Milliwatts(2_000_000), 100 * second)
        );
        assert_eq!(meter.drawn_at(Some(&command), 40 * second), (Milliwatts(0), 200 * second));
    }
}

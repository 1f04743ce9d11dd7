//! Settlement: from commands to the energy that a device draws, minute by minute, and its cost at
//! the settled prices.
//!
//! An ideal device follows a command to the microsecond. A real one is asked, minute by minute,
//! for the mean power of the commands in that minute. It draws the next power that it can hold,
//! for the whole minute, or until nothing is missing any more.
use crate::simulate::command::Command;
use crate::simulate::device::{ExactDevice, MINUTE};
use crate::simulate::emissions::emitted;
use crate::simulate::exact::{ExactEnergy, ExactMoney, Milliwatts};
use crate::simulate::facts::Facts;

/// Meter of one stay: what is still missing, what was drawn, what it costs.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    pub(crate) device: ExactDevice,
    pub(crate) missing: ExactEnergy,
    pub(crate) drawn: ExactEnergy,
    /// Cost of energy and starts.
    pub(crate) cost: ExactMoney,
    /// Emissions of what was drawn, in kg; 0 where they are not counted.
    pub(crate) carbon_kg: f64,
    pub(crate) starts: u32,
    /// End of the last time on, in microseconds.
    on_until: i64,
}

impl Meter {
    pub(crate) fn new(device: ExactDevice, need: ExactEnergy) -> Self {
        Self {
            device,
            missing: need,
            drawn: ExactEnergy::ZERO,
            cost: ExactMoney::ZERO,
            carbon_kg: 0.0,
            starts: 0,
            on_until: i64::MIN,
        }
    }

    /// Settles commands, in time order, within `[from, to)`.
    pub(crate) fn settle(&mut self, facts: &Facts, commands: &[Command], (from, to): (i64, i64)) {
        if self.device.is_ideal() {
            for command in commands {
                let power = command.power.min(self.device.power_max);
                self.draw(facts, power, command.start.max(from), command.end.min(to));
            }
            return;
        }
        let mut start = from;
        while start < to && self.missing > ExactEnergy::ZERO {
            let end = ((start.div_euclid(MINUTE) + 1) * MINUTE).min(to);
            let asked = mean_power(commands, start, end);
            self.draw(facts, self.device.drawn(asked), start, end);
            start = end;
        }
    }

    /// Draws a power in `[from, to)`, until nothing is missing any more.
    fn draw(&mut self, facts: &Facts, power: Milliwatts, from: i64, to: i64) {
        if power.0 <= 0 || from >= to {
            return;
        }
        // The microsecond in which the need is reached is drawn as a whole.
        let to = to.min(from.saturating_add(self.missing.micros_at(power)));
        if from >= to {
            return;
        }
        if self.on_until < from {
            self.starts += 1;
            self.cost += self.device.start_cost;
        }
        self.on_until = to;
        self.carbon_kg += emitted(facts.intensity(), power, (from, to));
        facts.for_each_price(from, to, |start, end, price| {
            let energy = power.over(end - start);
            self.cost += price.of(energy);
            self.drawn += energy;
            self.missing -= energy;
        });
        self.missing = self.missing.max(ExactEnergy::ZERO);
    }

    /// Cost of energy, starts, and the energy that is missing.
    pub(crate) fn total(&self, facts: &Facts) -> ExactMoney {
        self.cost + facts.missing_price().of(self.missing)
    }
}

/// Mean power of commands in `[from, to)`, rounded up to a milliwatt.
fn mean_power(commands: &[Command], from: i64, to: i64) -> Milliwatts {
    let mut sum: i128 = 0;
    for command in commands {
        let length = command.end.min(to) - command.start.max(from);
        sum += i128::from(length.max(0)) * i128::from(command.power.0);
    }
    let length = i128::from(to - from);
    Milliwatts(i64::try_from((sum + length - 1) / length).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::prices::curve::tests::curve_of;
    use crate::simulate::device::ChargeDevice;
    use crate::simulate::facts::Stay;
    use crate::time::instant::micros_of;
    use crate::units::{kw, kwh, money};

    const SECOND: i64 = 1_000_000;

    /// Facts of two hours at 0.30 and 0.10, the device of their one stay, and their start.
    fn facts(device: ChargeDevice) -> (Facts, i64) {
        let arrival = "2026-01-05T18:00:00Z".parse().unwrap();
        let departure = arrival + TimeDelta::hours(2);
        let stay = Stay { home: 0, arrival, departure, need: kwh(9.0), device };
        (Facts::new(curve_of(60, &[30, 10]), vec![stay], None).unwrap(), micros_of(arrival))
    }

    /// Meter after commands of (second, second, kW), and its energy and total as text.
    fn settled(device: ChargeDevice, commands: &[(i64, i64, f64)]) -> (Meter, String) {
        let (facts, start) = facts(device);
        let mut meter = Meter::new(ExactDevice::new(&device), ExactEnergy::from_energy(kwh(9.0)));
        let command = |&(from, to, power): &(i64, i64, f64)| Command {
            start: start + from * SECOND,
            end: start + to * SECOND,
            power: Milliwatts::from_power(kw(power)),
        };
        let commands: Vec<Command> = commands.iter().map(command).collect();
        meter.settle(&facts, &commands, (start, start + 7_200 * SECOND));
        let text = format!("{:.6} {}", meter.drawn.as_kwh(), meter.total(&facts).amount());
        (meter, text)
    }

    #[test]
    fn an_ideal_device_follows_to_the_microsecond() {
        let device = ChargeDevice::ideal(kw(6.0));
        // Half a minute at 6 kW, and no more than 6 kW in the second hour.
        let (meter, text) = settled(device, &[(0, 30, 6.0), (3600, 7200, 99.0)]);
        assert_eq!((meter.starts, text.as_str()), (2, "6.050000 1.500000000000"));
    }

    #[test]
    fn a_real_device_holds_a_power_for_a_minute() {
        let device = ChargeDevice {
            power_min: kw(4.0),
            power_step: kw(1.0),
            start_cost: money(0.5),
            ..ChargeDevice::ideal(kw(6.5))
        };
        // Half a minute at 6 kW is a mean of 3 kW, drawn as 4 kW; then multiples of a kW only.
        let (meter, text) = settled(device, &[(0, 30, 6.0), (3600, 7200, 6.5)]);
        let kwh = 4.0 / 60.0 + 6.0;
        let cost = 4.0 / 60.0 * 0.3 + 0.6 + 2.0 * 0.5 + (9.0 - kwh) * 0.3;
        assert_eq!((meter.starts, text), (2, format!("{kwh:.6} {cost:.12}")));
    }

    #[test]
    fn nothing_is_drawn_beyond_the_need() {
        let (meter, text) = settled(ChargeDevice::ideal(kw(6.0)), &[(0, 7200, 6.0)]);
        assert_eq!((meter.starts, text.as_str()), (1, "9.000000 2.100000000000"));
        assert_eq!(meter.missing, ExactEnergy::ZERO);
    }
}

//! Settlement of a home: from commands to the powers of its battery, and the cost at its meter.
//!
//! ```text
//! net   = load − solar + battery + vehicles                       at each instant
//! cost  = Σ price to buy · net⁺ − Σ price to sell · net⁻ + wear + missing energy · its price
//! ```
//!
//! A vehicle draws its command until nothing is missing, to the microsecond, as an ideal device does.
//! The battery holds a command. In the minute in which it would become full or empty it takes or
//! gives what is possible at one mean power, and rests after it. Powers are whole milliwatts, so
//! energies at the meter and money are whole numbers; the stored energy, which has losses, is not.
use crate::plan::storage::behind_meter::BehindMeterBattery;
use crate::simulate::command::{Command, HomeCommands};
use crate::simulate::device::MINUTE;
use crate::simulate::emissions::emitted;
use crate::simulate::exact::{ExactEnergy, ExactMoney, ExactPrice, Milliwatts};
use crate::simulate::home::{HomeFacts, Part, for_each_part};
use crate::simulate::home_stay::StayMeter;
use crate::simulate::net_load::NetLoad;
use crate::units::{Energy, MICROS_PER_HOUR, Power, Price};

/// Stored energy in kWh that no battery is said to lack: more than rounding to whole milliwatts
/// makes of a year.
const LACK_MIN_KWH: f64 = 1e-6;

/// Meter of one home, and the energy in its battery.
#[derive(Debug, Clone)]
pub(crate) struct HomeMeter {
    row: usize,
    /// Battery; its stored energy is that of the present.
    pub(crate) battery: BehindMeterBattery,
    /// Stays of its vehicles.
    pub(crate) stays: Vec<StayMeter>,
    charge_max: Milliwatts,
    discharge_max: Milliwatts,
    /// Wear per kWh at the plug that is discharged.
    wear: ExactPrice,
    pub(crate) imported: ExactEnergy,
    pub(crate) exported: ExactEnergy,
    /// Energy at the plug of the battery.
    pub(crate) charged: ExactEnergy,
    pub(crate) discharged: ExactEnergy,
    /// Energy at the plugs of the vehicles.
    pub(crate) driven: ExactEnergy,
    /// Cost without the energy that is missing at the end.
    pub(crate) cost: ExactMoney,
    /// Emissions of the energy from the grid, in kg; 0 where they are not counted.
    pub(crate) carbon_kg: f64,
}

impl HomeMeter {
    /// Meter of home `row` before its simulation.
    pub(crate) fn new(row: usize, battery: BehindMeterBattery, stays: Vec<StayMeter>) -> Self {
        let power = |kw: f64| Milliwatts::from_power(Power::from_kw(kw).unwrap_or(Power::ZERO));
        let wear = Price::from_per_kwh(battery.wear_per_kwh / battery.efficiency_discharge);
        Self {
            row,
            battery,
            stays,
            charge_max: power(battery.charge_max_kw),
            discharge_max: power(battery.discharge_max_kw),
            wear: ExactPrice::from_price(wear.unwrap_or(Price::ZERO)),
            imported: ExactEnergy::ZERO,
            exported: ExactEnergy::ZERO,
            charged: ExactEnergy::ZERO,
            discharged: ExactEnergy::ZERO,
            driven: ExactEnergy::ZERO,
            cost: ExactMoney::ZERO,
            carbon_kg: 0.0,
        }
    }

    /// Settles commands within `[from, to)`.
    pub(crate) fn settle(
        &mut self,
        facts: &HomeFacts,
        commands: &HomeCommands,
        (from, to): (i64, i64),
    ) {
        let net = facts.homes()[self.row].net.as_ref();
        let settled = |slot: usize| net.map_or(Milliwatts(0), |net| net.powers()[slot]);
        let horizon = net.map(NetLoad::horizon);
        // Position of the present command to the battery, and of those to the vehicles.
        let (mut at, mut positions) = (0, vec![0; self.stays.len()]);
        for_each_part((facts.import(), facts.export()), horizon, (from, to), settled, |part| {
            let mut rest = part;
            while rest.start < rest.end {
                let with_vehicles = self.draw_stays(&commands.stays, &mut positions, &rest);
                self.follow(facts, &commands.battery, &mut at, &with_vehicles);
                rest.start = with_vehicles.end;
            }
        });
    }

    /// Draws what the vehicles take from the start of a part on, and returns the time in which no
    /// power of theirs changes, with the net load raised by them.
    fn draw_stays(
        &mut self,
        commands: &[Vec<Command>],
        positions: &mut [usize],
        part: &Part,
    ) -> Part {
        let mut drawn = *part;
        let mut powers = Vec::with_capacity(self.stays.len());
        for ((stay, own), position) in self.stays.iter().zip(commands).zip(positions) {
            while own.get(*position).is_some_and(|command| command.end <= part.start) {
                *position += 1;
            }
            let (power, until) = stay.drawn_at(own.get(*position), part.start);
            drawn.end = drawn.end.min(until);
            drawn.net.0 += power.0;
            powers.push(power);
        }
        for (stay, power) in self.stays.iter_mut().zip(powers) {
            self.driven += stay.count(power, drawn.end - drawn.start);
        }
        drawn
    }

    /// Follows the commands to the battery in a part, from position `at` on.
    fn follow(&mut self, facts: &HomeFacts, commands: &[Command], at: &mut usize, part: &Part) {
        let mut start = part.start;
        while start < part.end {
            while commands.get(*at).is_some_and(|command| command.end <= start) {
                *at += 1;
            }
            let (power, end) = match commands.get(*at) {
                Some(command) if command.start <= start => (command.power, command.end),
                Some(command) => (Milliwatts(0), command.start),
                None => (Milliwatts(0), i64::MAX),
            };
            let end = end.min(part.end);
            self.hold(facts, power, (start, end), part);
            start = end;
        }
    }

    /// Holds a power in `[from, to)` of a part, as far as the battery can.
    fn hold(&mut self, facts: &HomeFacts, power: Milliwatts, (from, to): (i64, i64), part: &Part) {
        let power = Milliwatts(power.0.clamp(-self.discharge_max.0, self.charge_max.0));
        let until = from.saturating_add(self.micros_at(power));
        if until >= to {
            return self.count(facts, power, (from, to), part);
        }
        // Whole minutes at the power, a minute at the mean power of the rest, and then nothing.
        let minute = (until.div_euclid(MINUTE) * MINUTE).max(from);
        let end = ((minute.div_euclid(MINUTE) + 1) * MINUTE).min(to);
        self.count(facts, power, (from, minute), part);
        let share = self.micros_at(power) as f64 / (end - minute) as f64;
        let mean = Milliwatts((power.0 as f64 * share.min(1.0)) as i64);
        self.count(facts, mean, (minute, end), part);
        self.count(facts, Milliwatts(0), (end, to), part);
    }

    /// Microseconds for which the battery can hold a power before it is full or empty.
    fn micros_at(&self, power: Milliwatts) -> i64 {
        let battery = &self.battery;
        let (kwh, kw) = match power.0 {
            0 => return i64::MAX,
            1.. => {
                let room = battery.most_kwh - battery.stored_kwh;
                (room, power.as_kw() * battery.efficiency_charge)
            }
            _ => {
                let left = battery.stored_kwh - battery.least_kwh;
                (left, -power.as_kw() / battery.efficiency_discharge)
            }
        };
        (kwh.max(0.0) / kw * MICROS_PER_HOUR) as i64
    }

    /// Counts a power of the battery in `[from, to)` of a part.
    fn count(&mut self, facts: &HomeFacts, power: Milliwatts, (from, to): (i64, i64), part: &Part) {
        if from >= to {
            return;
        }
        let energy = power.over(to - from);
        let battery = &mut self.battery;
        if power.0 > 0 {
            self.charged += energy;
            let stored = battery.stored_kwh + energy.as_kwh() * battery.efficiency_charge;
            battery.stored_kwh = stored.min(battery.most_kwh);
        } else if power.0 < 0 {
            let energy = Milliwatts(-power.0).over(to - from);
            self.discharged += energy;
            self.cost += self.wear.of(energy);
            let stored = battery.stored_kwh - energy.as_kwh() / battery.efficiency_discharge;
            battery.stored_kwh = stored.max(battery.least_kwh);
        }
        let net = Milliwatts(part.net.0 + power.0);
        if net.0 > 0 {
            self.carbon_kg += emitted(facts.intensity(), net, (from, to));
        }
        let (price, sum) = if net.0 > 0 {
            (part.import, &mut self.imported)
        } else {
            (part.export, &mut self.exported)
        };
        let price = ExactPrice::from_price(Price::from_per_kwh(price).unwrap_or(Price::ZERO));
        self.cost += price.of(net.over(to - from));
        *sum += Milliwatts(net.0.abs()).over(to - from);
    }

    /// Energy at the plug that the battery lacks to its target.
    pub(crate) fn missing(&self) -> ExactEnergy {
        let lack = (self.battery.target_kwh - self.battery.stored_kwh).max(0.0);
        if lack < LACK_MIN_KWH {
            return ExactEnergy::ZERO;
        }
        let at_plug = Energy::from_kwh(lack / self.battery.efficiency_charge);
        ExactEnergy::from_energy(at_plug.unwrap_or(Energy::ZERO))
    }

    /// Energy at the plugs that the vehicles need now.
    pub(crate) fn missing_of_stays(&self) -> ExactEnergy {
        self.stays.iter().fold(ExactEnergy::ZERO, |sum, stay| sum + stay.missing)
    }

    /// Cost with the energy that is missing now.
    pub(crate) fn total(&self, facts: &HomeFacts) -> ExactMoney {
        self.cost + facts.missing_price().of(self.missing() + self.missing_of_stays())
    }

    /// First arrival after an instant; the largest number without one.
    pub(crate) fn next_arrival(&self, at: i64) -> i64 {
        let arrivals = self.stays.iter().map(|stay| stay.start);
        arrivals.filter(|&start| start > at).min().unwrap_or(i64::MAX)
    }
}

//! Golden bits of batches: fleets that only charge, and batteries.
//!
//! One line a scenario: sums in clear, and a fingerprint of every number of the answers.
//! Rows that cannot be planned follow with their errors. `UPDATE_EXPECT=1` writes the file anew.
use std::fmt::Write;

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use expect_test::expect_file;
use slackwater_engine::batch::{plan_batch, plan_compact, plan_dense, plan_storage_batch};
use slackwater_engine::columns::{
    Batteries, ChargeNumbers, Curves, Fleet, IntervalColumns, NO_TIME, Needs, PlanTable, RowError,
    StorageNumbers, TargetLists,
};
use slackwater_engine::plan::charge::SlotSelection;
use slackwater_engine::plan::storage::PriceSlots;
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::prices::table::PriceTable;
use slackwater_engine::time::civil::instant_of;
use slackwater_engine::time::horizon::Horizon;

use crate::area::{HOUR, Random};
use crate::golden::{fingerprint, on_any_threads};

/// Bits of numbers; every NaN is the same.
pub(crate) fn bits(numbers: &[f64]) -> impl Iterator<Item = u64> {
    numbers.iter().map(|&number| if number.is_nan() { u64::MAX } else { number.to_bits() })
}

fn whole(numbers: &[i64]) -> impl Iterator<Item = u64> {
    numbers.iter().map(|&number| number as u64)
}

/// One line about columns of answers.
pub(crate) fn line(name: &str, columns: [&[f64]; 3], bits: Vec<u64>) -> String {
    let sum = |column: &[f64]| {
        column.iter().filter(|number| !number.is_nan()).fold(0.0, |sum, number| sum + number)
    };
    let [cost, energy, short] = columns.map(sum);
    format!(
        "{name:<35} {:>6} rows cost {cost:>14.6} energy {energy:>12.4} short {short:>10.4} \
         bits {:016x}\n",
        columns[0].len(),
        fingerprint(bits),
    )
}

fn errors(first: usize, errors: &[(usize, RowError)]) -> String {
    errors.iter().fold(String::new(), |mut text, (position, error)| {
        writeln!(text, "    row {}: {error}", first + position).expect("a string takes all text");
        text
    })
}

/// Slots of an hour from the beginning of 1970, without those that `is_gap`.
fn hours(count: usize, is_gap: impl Fn(usize) -> bool) -> Horizon {
    let slots = (0..count).filter(|&slot| !is_gap(slot)).map(|slot| slot as i64 * HOUR);
    Horizon::from_micros(slots.map(|start| (start, start + HOUR))).expect("hours make a horizon")
}

pub(crate) fn curve(horizon: Horizon, random: &mut Random, from: f64, to: f64) -> PriceCurve {
    let prices = (0..horizon.len()).map(|_| random.between(from, to)).collect();
    PriceCurve::from_parts(horizon, prices).expect("prices make a curve")
}

/// Vehicles as columns.
#[derive(Default)]
struct Rows {
    arrival: Vec<i64>,
    departure: Vec<i64>,
    energy: Vec<f64>,
    power: Vec<f64>,
    reserve: Vec<f64>,
    soc: Vec<f64>,
    target: Vec<f64>,
    capacity: Vec<f64>,
    floor: Vec<f64>,
    efficiency: Vec<f64>,
    discharge: Vec<f64>,
    worth: Vec<f64>,
    curve: Vec<u32>,
    offsets: Vec<i32>,
    by: Vec<i64>,
    by_energy: Vec<f64>,
}

impl Rows {
    /// Vehicles that come and leave between two instants, to the minute.
    fn random(seed: u64, count: usize, (from, to): (i64, i64)) -> Self {
        let mut random = Random::new(seed);
        let mut rows = Self { offsets: vec![0], ..Self::default() };
        let minutes = (to - from) / (HOUR / 60);
        for _ in 0..count {
            let arrival = random.below(minutes as u64 * 2 / 3) as i64;
            let stay = random.below((minutes - arrival) as u64) as i64;
            let energy = random.between(0.0, 60.0);
            rows.arrival.push(from + arrival * (HOUR / 60));
            rows.departure.push(from + (arrival + stay) * (HOUR / 60));
            rows.energy.push(energy);
            rows.power.push([1.4, 3.7, 7.4, 11.0, 22.0][random.below(5) as usize]);
            rows.reserve.push(if random.below(4) == 0 { random.between(0.0, 9.0) } else { 0.0 });
            rows.soc.push(random.between(0.0, 100.0));
            rows.target.push(random.between(0.0, 100.0));
            rows.capacity.push(random.between(20.0, 100.0));
            rows.floor.push(if random.below(3) == 0 { 30.0 } else { f64::NAN });
            rows.efficiency.push(random.between(0.85, 1.0));
            rows.discharge.push(random.between(0.0, 11.0));
            rows.worth.push(random.between(0.0, 0.3));
            rows.curve.push(random.below(5) as u32);
            if random.below(2) == 0 {
                rows.by.push(from + (arrival + stay / 2) * (HOUR / 60));
                rows.by_energy.push(energy * random.between(0.0, 1.2));
            }
            rows.offsets.push(rows.by.len() as i32);
        }
        rows
    }

    fn fleet(&self) -> Fleet<'_> {
        Fleet {
            arrival: &self.arrival,
            departure: &self.departure,
            needs: Needs::Energy { energy_kwh: &self.energy },
            power_max_kw: &self.power,
            reserve_kwh: None,
            targets: None,
            curve: Some(&self.curve),
        }
    }

    /// The same with reserves and with targets before departure.
    fn fleet_of_deadlines(&self) -> Fleet<'_> {
        let (offsets, by, energy_kwh) = (&self.offsets[..], &self.by[..], &self.by_energy[..]);
        let targets = TargetLists { offsets, by, energy_kwh };
        Fleet { reserve_kwh: Some(&self.reserve), targets: Some(targets), ..self.fleet() }
    }

    /// The same in percent of batteries.
    fn fleet_of_percent(&self) -> Fleet<'_> {
        let needs = Needs::Soc {
            soc_percent: &self.soc,
            target_percent: &self.target,
            capacity_kwh: &self.capacity,
            reserve_percent: Some(&self.floor),
            efficiency: Some(&self.efficiency),
        };
        Fleet { needs, ..self.fleet() }
    }

    /// Batteries that only buy.
    fn batteries(&self) -> Batteries<'_> {
        Batteries {
            arrival: &self.arrival,
            departure: &self.departure,
            capacity_kwh: &self.capacity,
            soc_percent: &self.soc,
            charge_max_kw: &self.power,
            discharge_max_kw: &self.discharge,
            ..Batteries::default()
        }
    }

    /// Batteries with all that a battery may have.
    fn full_batteries(&self) -> Batteries<'_> {
        Batteries {
            target_percent: Some(&self.target),
            reserve_percent: Some(&self.floor),
            charge_limit_percent: Some(&self.target),
            efficiency: Some(&self.efficiency),
            efficiency_discharge: Some(&self.efficiency),
            end_value_per_kwh: Some(&self.worth),
            wear_price_per_kwh: Some(&self.worth),
            ..self.batteries()
        }
    }

    /// The first rows with a fault each.
    fn spoil(&mut self) {
        self.arrival[0] = NO_TIME;
        self.departure[1] = self.arrival[1] - HOUR;
        self.power[2] = f64::NAN;
        self.power[3] = -1.0;
        self.power[4] = f64::INFINITY;
        (self.energy[5], self.capacity[5]) = (-2.0, 0.0);
        (self.energy[6], self.soc[6]) = (f64::NAN, f64::NAN);
        (self.curve[7], self.soc[8], self.efficiency[9]) = (99, 101.0, 1.5);
        (self.worth[10], self.target[11], self.departure[12]) = (-0.1, -5.0, NO_TIME);
    }
}

/// Answers of the runs of a batch, one run after the other.
#[derive(Default)]
struct Answered {
    /// Cost, energy and shortfall.
    clear: [Vec<f64>; 3],
    bits: Vec<u64>,
    errors: String,
}

impl Answered {
    /// Adds a run; the first three of its columns are cost, energy and shortfall.
    fn add(
        &mut self,
        numbers: &[&[f64]],
        intervals: &IntervalColumns,
        refused: &[(usize, RowError)],
    ) {
        self.errors += &errors(self.clear[0].len(), refused);
        self.clear.iter_mut().zip(numbers).for_each(|(all, run)| all.extend_from_slice(run));
        self.bits.extend(numbers.iter().flat_map(|column| bits(column)));
        self.bits.extend(intervals.offsets.iter().map(|&offset| offset as u64));
        self.bits.extend(whole(&intervals.start).chain(whole(&intervals.end)));
    }

    fn text(self, name: &str) -> String {
        let [cost, energy, short] = &self.clear;
        line(name, [cost, energy, short], self.bits) + &self.errors
    }
}

fn answered(name: &str, runs: &[PlanTable<ChargeNumbers>]) -> String {
    let mut all = Answered::default();
    for run in runs {
        let numbers = [
            &run.numbers.cost[..],
            &run.numbers.energy_kwh,
            &run.numbers.shortfall_kwh,
            &run.numbers.marginal_price,
            &run.numbers.baseline_cost,
            &run.numbers.savings,
            &run.numbers.gap,
            &run.numbers.unpriced_hours,
            &run.intervals.power_kw,
        ];
        all.add(&numbers, &run.intervals, &run.errors);
    }
    all.text(name)
}

fn stored(name: &str, runs: &[PlanTable<StorageNumbers>]) -> String {
    let mut all = Answered::default();
    for run in runs {
        let numbers = [
            &run.numbers.cost[..],
            &run.numbers.charged_kwh,
            &run.numbers.shortfall_kwh,
            &run.numbers.discharged_kwh,
            &run.numbers.soc_percent,
            &run.numbers.baseline_cost,
            &run.numbers.savings,
            &run.numbers.gap,
            &run.intervals.power_kw,
        ];
        all.add(&numbers, &run.intervals, &run.errors);
    }
    all.text(name)
}

fn chosen(name: &str, choices: &[Option<SlotSelection>]) -> String {
    let column = |of: fn(&SlotSelection) -> f64| -> Vec<f64> {
        choices.iter().map(|choice| choice.as_ref().map_or(f64::NAN, of)).collect()
    };
    let [cost, energy, short] =
        [column(|c| c.cost), column(|c| c.energy_kwh), column(|c| c.shortfall_kwh)];
    let mut all: Vec<u64> = [&cost, &energy, &short].into_iter().flat_map(|c| bits(c)).collect();
    for choice in choices.iter().flatten() {
        all.extend(choice.full);
        all.extend([choice.origin.into(), choice.partial.map_or(u64::MAX, u64::from)]);
        all.extend(bits(&[choice.partial_kwh, choice.baseline_cost, choice.marginal_price]));
    }
    line(name, [&cost, &energy, &short], all)
}

/// A day in Oslo in quarters of an hour, from midnight to midnight.
fn day_in_oslo(date: &str) -> (Horizon, (i64, i64)) {
    let oslo: Tz = "Europe/Oslo".parse().expect("Oslo has a time zone");
    let midnight: NaiveDateTime = format!("{date}T00:00:00").parse().expect("a date is a date");
    let at = |local| -> DateTime<Utc> { instant_of(local, oslo) };
    let (start, end) = (at(midnight), at(midnight + TimeDelta::days(1)));
    let slots = (end - start).num_minutes() as usize / 15;
    let horizon = Horizon::steps(start, TimeDelta::minutes(15), slots).expect("a day is a horizon");
    (horizon, (start.timestamp_micros(), end.timestamp_micros()))
}

/// Fleets that only charge.
fn fleets() -> String {
    let day = (0, 24 * HOUR);
    let mut random = Random::new(1);
    let mut dear = |horizon| curve(horizon, &mut random, 0.05, 0.45);
    let shared = dear(hours(24, |_| false));
    let gaps = dear(hours(24, |slot| slot % 5 == 2));
    let negative = curve(hours(24, |_| false), &mut Random::new(2), -0.2, 0.2);
    let rows = Rows::random(3, 300, day);
    let plan = |name: &str, fleet: Fleet<'_>, curve: &PriceCurve| {
        answered(name, &plan_batch(&fleet, Curves::Shared(curve)))
    };
    let mut text = plan("need in kWh", rows.fleet(), &shared);
    text += &plan("need in percent", rows.fleet_of_percent(), &shared);
    text += &plan("deadlines and reserves", rows.fleet_of_deadlines(), &shared);
    text += &plan("negative prices", rows.fleet_of_deadlines(), &negative);
    text += &plan("hours without a price", rows.fleet(), &gaps);
    text += &plan("deadlines, hours without price", rows.fleet_of_deadlines(), &gaps);
    for (name, date) in [("clocks go forward", "2026-03-29"), ("clocks go back", "2026-10-25")] {
        let (horizon, day) = day_in_oslo(date);
        let rows = Rows::random(4, 100, day);
        text += &plan(name, rows.fleet_of_deadlines(), &dear(horizon));
    }
    let many = Rows::random(5, 20_000, day);
    text += &plan("20,000 rows", many.fleet(), &shared);
    text
}

/// Fleets whose vehicles pay prices of their own, and other forms of the answer.
fn tables() -> String {
    let mut random = Random::new(6);
    let table = |slots: usize, random: &mut Random| {
        let price = |_| if random.below(9) == 0 { f64::NAN } else { random.between(-0.05, 0.4) };
        PriceTable::new(hours(slots, |_| false), (0..5 * slots).map(price).collect())
    };
    let (day, fortnight) = (table(24, &mut random), table(300, &mut random));
    let rows = Rows::random(7, 300, (0, 24 * HOUR));
    let long = Rows::random(8, 60, (0, 300 * HOUR));
    let own = |name: &str, fleet: Fleet<'_>, table: &PriceTable| {
        answered(name, &plan_batch(&fleet, Curves::PerVehicle(table)))
    };
    let mut text = own("five curves", rows.fleet(), &day);
    text += &own("five curves, deadlines", rows.fleet_of_deadlines(), &day);
    text += &own("300 slots", long.fleet(), &fortnight);
    let mut spoilt = Rows::random(9, 40, (0, 24 * HOUR));
    spoilt.spoil();
    text += &own("rows in error, kWh", spoilt.fleet(), &day);
    text += &own("rows in error, percent", spoilt.fleet_of_percent(), &day);
    let mut choices = vec![None; rows.fleet().len()];
    plan_compact(&rows.fleet_of_deadlines(), Curves::PerVehicle(&day), &mut choices);
    text += &chosen("compact", &choices);
    let mut powers = vec![0.0f32; rows.fleet().len() * 24];
    plan_dense(&rows.fleet_of_deadlines(), Curves::PerVehicle(&day), &mut powers);
    let powers: Vec<f64> = powers.into_iter().map(f64::from).collect();
    text += &line("power of each slot", [&[], &powers, &[]], bits(&powers).collect());
    text
}

/// Batteries that also discharge.
fn batteries() -> String {
    let mut random = Random::new(10);
    let day = hours(24, |_| false);
    let bought = curve(day.clone(), &mut random, -0.05, 0.4);
    let sold = curve(day, &mut random, -0.05, 0.3);
    let gaps = curve(hours(24, |slot| slot % 7 == 3), &mut random, -0.1, 0.4);
    let grids = [
        PriceSlots::new(&bought, Some(&sold)),
        PriceSlots::new(&bought, None),
        PriceSlots::new(&gaps, Some(&sold)),
        PriceSlots::new(&sold, Some(&gaps)),
        PriceSlots::new(&gaps, Some(&gaps)),
    ];
    let rows = Rows::random(11, 200, (0, 24 * HOUR));
    let plan = |name: &str, batteries: &Batteries<'_>| {
        stored(name, &plan_storage_batch(batteries, &grids))
    };
    let mut text = plan("batteries", &rows.batteries());
    text += &plan("batteries with all there is", &rows.full_batteries());
    let five = Batteries { grid: Some(&rows.curve), ..rows.full_batteries() };
    text += &plan("batteries of five grids", &five);
    let mut spoilt = Rows::random(12, 40, (0, 24 * HOUR));
    spoilt.spoil();
    let five = Batteries { grid: Some(&spoilt.curve), ..spoilt.full_batteries() };
    text += &plan("batteries in error", &five);
    text
}

#[test]
fn batches_have_the_bits_that_they_had() {
    let text = on_any_threads(|| fleets() + &tables() + &batteries());
    expect_file!["../../golden/batches.txt"].assert_eq(&text);
}

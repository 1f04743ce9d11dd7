//! Deterministic inputs for benchmarks, sized by what a user has.
use chrono::{DateTime, TimeDelta, Utc};
use slackwater_engine::columns::{Curves, Fleet, Needs};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::prices::table::PriceTable;
use slackwater_engine::time::horizon::Horizon;

pub mod area;

/// A small generator (SplitMix64): the same numbers on every machine.
pub struct Random(u64);

impl Random {
    /// A stream of its own for each seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from `low` up to but not including `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        let unit = (self.bits() >> 11) as f64 / (1u64 << 53) as f64;
        low + unit * (high - low)
    }
}

/// Noon of a Monday in winter.
#[must_use]
pub fn noon() -> DateTime<Utc> {
    DateTime::from_timestamp(1_767_614_400, 0).unwrap_or_default()
}

/// `slots` quarter hours from noon on.
///
/// # Panics
/// There are more than the calendar holds.
#[must_use]
pub fn quarters(slots: usize) -> Horizon {
    Horizon::steps(noon(), TimeDelta::minutes(15), slots).expect("quarter hours have a length")
}

/// Day-ahead prices: dear in the evening, cheap at night, noisy, at times negative.
pub fn day_ahead(random: &mut Random, slots: usize) -> Vec<f64> {
    let wave = |slot: usize| (slot as f64 / 96.0 * std::f64::consts::TAU).cos();
    (0..slots).map(|slot| 0.12 + 0.13 * wave(slot) + random.between(-0.04, 0.04)).collect()
}

/// A shared price curve of quarter hours.
///
/// # Panics
/// As [`quarters`].
#[must_use]
pub fn curve(slots: usize) -> PriceCurve {
    PriceCurve::from_parts(quarters(slots), day_ahead(&mut Random::new(1), slots))
        .expect("prices are finite")
}

/// A table with a price curve for every vehicle.
#[must_use]
pub fn table(vehicles: usize, slots: usize) -> PriceTable {
    let mut random = Random::new(2);
    let prices = (0..vehicles).flat_map(|_| day_ahead(&mut random, slots)).collect();
    PriceTable::new(quarters(slots), prices)
}

/// A fleet that comes home in the afternoon and leaves in the morning.
#[derive(Debug, Clone)]
pub struct Columns {
    arrival: Vec<i64>,
    departure: Vec<i64>,
    energy_kwh: Vec<f64>,
    power_max_kw: Vec<f64>,
}

impl Columns {
    /// `vehicles` stays within 96 slots: 6 to 20 hours, 25 to 45 kWh at 7.4,
    /// 11 or 22 kW, arrivals and departures inside slots. More than ten slots
    /// are used on average ([`slots_used`]).
    #[must_use]
    pub fn new(vehicles: usize) -> Self {
        let mut random = Random::new(3);
        let mut columns = Self {
            arrival: Vec::with_capacity(vehicles),
            departure: Vec::with_capacity(vehicles),
            energy_kwh: Vec::with_capacity(vehicles),
            power_max_kw: Vec::with_capacity(vehicles),
        };
        let day = 86_400e6;
        for _ in 0..vehicles {
            let arrival = random.between(0.0, 0.25) * day;
            let departure = arrival + random.between(0.30, 0.75) * day;
            let power = [7.4, 11.0, 11.0, 22.0][(random.bits() % 4) as usize];
            columns.arrival.push(noon().timestamp_micros() + arrival as i64);
            columns.departure.push(noon().timestamp_micros() + departure as i64);
            columns.energy_kwh.push(random.between(25.0, 45.0));
            columns.power_max_kw.push(power);
        }
        columns
    }

    /// The columns as a fleet; with a table each vehicle has its own row.
    #[must_use]
    pub fn fleet(&self) -> Fleet<'_> {
        Fleet {
            arrival: &self.arrival,
            departure: &self.departure,
            needs: Needs::Energy { energy_kwh: &self.energy_kwh },
            power_max_kw: &self.power_max_kw,
            reserve_kwh: None,
            targets: None,
            curve: None,
        }
    }
}

/// Slots that a plan uses on average, so that a benchmark can say it.
#[must_use]
pub fn slots_used(fleet: &Fleet<'_>, curves: Curves<'_>) -> f64 {
    let mut choices = vec![None; fleet.len()];
    slackwater_engine::batch::plan_compact(fleet, curves, &mut choices);
    let used = |full: &[u64]| full.iter().map(|word| word.count_ones() as usize).sum::<usize>();
    let slots: usize = choices
        .iter()
        .flatten()
        .map(|choice| used(&choice.full) + usize::from(choice.partial.is_some()))
        .sum();
    slots as f64 / fleet.len().max(1) as f64
}

/// Length of a sample, in microseconds.
pub const QUARTER_MICROS: i64 = 900_000_000;

/// Quarter hours of several devices, one device after the other.
pub struct SampleColumns {
    /// Number of the device.
    pub device: Vec<u32>,
    /// First microsecond.
    pub start: Vec<i64>,
    /// Mean power; most quarters have none.
    pub power_kw: Vec<f64>,
    /// Price that held.
    pub price_per_kwh: Vec<f64>,
}

impl SampleColumns {
    /// So many quarters of each device, from 2021 on.
    #[must_use]
    pub fn new(devices: usize, quarters: usize) -> Self {
        const FIRST: i64 = 1_609_459_200_000_000;
        let mut random = Random::new(5);
        let price = day_ahead(&mut random, quarters);
        let rows = devices * quarters;
        let power = |random: &mut Random| match random.bits() % 4 {
            0 => random.between(1.4, 11.0),
            _ => 0.0,
        };
        Self {
            device: (0..rows).map(|row| (row / quarters) as u32).collect(),
            start: (0..rows).map(|row| FIRST + (row % quarters) as i64 * QUARTER_MICROS).collect(),
            power_kw: (0..rows).map(|_| power(&mut random)).collect(),
            price_per_kwh: (0..rows).map(|row| price[row % quarters]).collect(),
        }
    }
}

//! A town and the vehicles in it, for tests.
use chrono::{DateTime, TimeDelta};

use crate::area::{AreaProblem, AreaVehicles, Node, Profile, StorageColumns};
use crate::columns::{Curves, Fleet, Needs};
use crate::prices::curve::PriceCurve;
use crate::time::horizon::Horizon;
use crate::units::kw;

pub(in crate::area) const SLOTS: usize = 20;
pub(in crate::area) const HOUR: i64 = 3_600_000_000;

/// One vehicle; without discharging power it only charges.
#[derive(Debug, Clone, Copy)]
pub(in crate::area) struct Car {
    pub(in crate::area) from_hour: i64,
    pub(in crate::area) hours: i64,
    pub(in crate::area) soc_percent: f64,
    pub(in crate::area) reserve_percent: f64,
    pub(in crate::area) power_max_kw: f64,
    pub(in crate::area) power_min_kw: f64,
    pub(in crate::area) discharge_max_kw: f64,
    pub(in crate::area) priority: f64,
    pub(in crate::area) node: u32,
}

/// An ordinary vehicle; `number` makes it differ from others.
pub(in crate::area) fn car(number: usize) -> Car {
    Car {
        from_hour: (number % 5) as i64,
        hours: 8 + (number % 7) as i64,
        soc_percent: 20.0 + (number % 31) as f64,
        reserve_percent: 0.0,
        power_max_kw: 11.0,
        power_min_kw: f64::NAN,
        discharge_max_kw: f64::NAN,
        priority: 1.0,
        node: (number % 2) as u32,
    }
}

/// Vehicles as columns.
#[derive(Debug, Clone)]
pub(in crate::area) struct Columns {
    pub(in crate::area) arrival: Vec<i64>,
    pub(in crate::area) departure: Vec<i64>,
    pub(in crate::area) node: Vec<u32>,
    /// State of charge, target, capacity, reserve, powers and priority.
    pub(in crate::area) numbers: [Vec<f64>; 8],
}

impl Columns {
    pub(in crate::area) fn new(cars: &[Car]) -> Self {
        let number = |of: fn(&Car) -> f64| cars.iter().map(of).collect::<Vec<f64>>();
        Self {
            arrival: cars.iter().map(|car| car.from_hour * HOUR).collect(),
            departure: cars.iter().map(|car| (car.from_hour + car.hours) * HOUR).collect(),
            node: cars.iter().map(|car| car.node).collect(),
            numbers: [
                number(|car| car.soc_percent),
                number(|_| 80.0),
                number(|_| 50.0),
                number(|car| car.reserve_percent),
                number(|car| car.power_max_kw),
                number(|car| car.power_min_kw),
                number(|car| car.discharge_max_kw),
                number(|car| car.priority),
            ],
        }
    }

    /// Some rows, in an order of their own.
    pub(in crate::area) fn taken(&self, rows: &[u32]) -> Self {
        let numbers = self.numbers.each_ref().map(|column| pick(column, rows));
        let arrival = pick(&self.arrival, rows);
        Self {
            arrival,
            departure: pick(&self.departure, rows),
            node: pick(&self.node, rows),
            numbers,
        }
    }

    /// A street in a town; both have a limit.
    pub(in crate::area) fn problem<'a>(&'a self, town: &'a Town) -> AreaProblem<'a> {
        let [soc, target, capacity, reserve, power_max, power_min, discharge, priority] =
            &self.numbers;
        let needs = Needs::Soc {
            soc_percent: soc,
            target_percent: target,
            capacity_kwh: capacity,
            reserve_percent: Some(reserve),
            efficiency: None,
        };
        let fleet = Fleet {
            arrival: &self.arrival,
            departure: &self.departure,
            needs,
            power_max_kw: power_max,
            reserve_kwh: None,
            targets: None,
            curve: None,
        };
        let storage = StorageColumns {
            discharge_max_kw: discharge,
            efficiency_discharge: None,
            charge_limit_percent: None,
            end_value_per_kwh: None,
            wear_price_per_kwh: None,
            export: Some(Curves::Shared(&town.sold)),
            fills: None,
        };
        let vehicles = AreaVehicles {
            fleet,
            node: Some(&self.node),
            priority: Some(priority),
            power_min_kw: Some(power_min),
            storage: Some(storage),
        };
        let limited = |name, limit| Node::limited(name, Profile::Constant(kw(limit)));
        let mut street = limited("street", 0.7 * town.limit_kw);
        street.parent = Some(0);
        let nodes = vec![limited("town", town.limit_kw), street];
        AreaProblem::new(vehicles, Curves::Shared(&town.bought), nodes).unwrap()
    }
}

pub(in crate::area) fn pick<T: Copy>(column: &[T], rows: &[u32]) -> Vec<T> {
    rows.iter().map(|&row| column[row as usize]).collect()
}

/// Prices and the limit of all.
pub(in crate::area) struct Town {
    pub(in crate::area) bought: PriceCurve,
    pub(in crate::area) sold: PriceCurve,
    pub(in crate::area) limit_kw: f64,
}

impl Town {
    pub(in crate::area) fn new(limit_kw: f64) -> Self {
        let horizon = Horizon::steps(DateTime::UNIX_EPOCH, TimeDelta::hours(1), SLOTS).unwrap();
        let cents = |slot: usize| (slot * 37 % 29) as f64;
        let prices = |part: f64| (0..SLOTS).map(|slot| part * cents(slot) / 100.0).collect();
        let curve = |part| PriceCurve::from_parts(horizon.clone(), prices(part)).unwrap();
        Self { bought: curve(1.0), sold: curve(0.8), limit_kw }
    }

    pub(in crate::area) fn curves(&self) -> (Curves<'_>, Option<Curves<'_>>) {
        (Curves::Shared(&self.bought), Some(Curves::Shared(&self.sold)))
    }
}

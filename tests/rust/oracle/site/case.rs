//! Random sites in plain numbers: kWh, kW and slots counted from the start.
use chrono::{DateTime, TimeDelta, Utc};
use slackwater_engine::plan::charge::{Battery, SocTarget, Target};
use slackwater_engine::plan::site::{
    Device, Discharge, Group, Limit, Load, Phase, Series, SiteProblem, SiteRequest, Solar,
    StationaryBattery, Vehicle,
};
use slackwater_engine::plan::storage::Consumption;
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{Percent, Power, Price, kw, kwh};

/// The start of every site.
pub(crate) fn start() -> DateTime<Utc> {
    "2026-01-05T18:00:00Z".parse().expect("an instant")
}

/// A vehicle that is there from the start.
#[derive(Debug, Clone)]
pub(crate) struct Car {
    pub(crate) most_kw: f64,
    pub(crate) least_kw: f64,
    /// Number of slots before each deadline, and the energy wanted by then.
    pub(crate) targets: Vec<(usize, f64)>,
    pub(crate) departure: usize,
    pub(crate) priority: f64,
    pub(crate) in_group: bool,
    /// Stored energy and capacity of a battery that may give back at `most_kw`.
    pub(crate) gives_back: Option<(f64, f64)>,
    /// Stored energy at the charge limit, where that is below what is wanted.
    pub(crate) limit: Option<f64>,
    /// First slot, slot after the last one, and stored energy of each drive. Targets of a car that
    /// drives are levels.
    pub(crate) drives: Vec<(usize, usize, f64)>,
    /// Stored energy and capacity of a car that drives and gives nothing back.
    pub(crate) brings: (f64, f64),
    /// Whether a car that drives may fill its battery.
    pub(crate) fills: bool,
    /// Whether it may charge while the site imports, and discharge while it exports.
    pub(crate) grid: Grid,
}

/// What a storage may do with the grid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) charge_from: bool,
    pub(crate) discharge_to: bool,
}

impl Grid {
    pub(crate) const FREE: Self = Self { charge_from: true, discharge_to: true };

    fn draw(draw: &mut Draw) -> Self {
        Self { charge_from: draw.chance(40), discharge_to: draw.chance(50) }
    }
}

/// Capacity of a car with a charge limit that gives nothing back.
const CAPACITY_KWH: f64 = 200.0;

impl Car {
    /// Energy stored at the start.
    pub(crate) fn level(&self) -> f64 {
        self.gives_back.map_or(self.brings.0, |(level, _)| level)
    }

    /// Number of drives that begin with a slot or before it.
    pub(crate) fn driven(&self, slot: usize) -> usize {
        self.drives.iter().filter(|drive| drive.0 <= slot).count()
    }

    /// True if no drive begins at a deadline or after it.
    pub(crate) fn is_last_stay(&self, by: usize) -> bool {
        self.driven(by - 1) == self.drives.len()
    }

    pub(crate) fn is_away(&self, slot: usize) -> bool {
        self.drives.iter().any(|drive| (drive.0..drive.1).contains(&slot))
    }

    /// Most energy that a car stores after so many drives, full or not charged at all.
    pub(crate) fn full(&self, drives: usize) -> f64 {
        if self.drives.is_empty() {
            return self.ceiling();
        }
        let (_, capacity) = self.gives_back.unwrap_or(self.brings);
        self.limit.unwrap_or(capacity).max(self.left(drives))
    }

    /// Energy that is left after so many drives of what the car had at the start.
    fn left(&self, drives: usize) -> f64 {
        let used = self.drives[..drives].iter().map(|drive| drive.2);
        used.fold(self.level(), |level, kwh| (level - kwh).max(0.0))
    }

    /// Most energy that is of use after so many drives: for targets, and for the next drive and all
    /// after it.
    fn useful(&self, drives: usize) -> f64 {
        let due = self.targets.iter().filter(|&&(by, _)| self.driven(by - 1) == drives);
        let due = due.map(|&(_, level)| level).fold(0.0, f64::max);
        let next = self.drives.get(drives).map_or(0.0, |drive| drive.2 + self.useful(drives + 1));
        due.max(next).min(self.full(drives)).max(self.left(drives))
    }

    /// Most energy that the car stores after so many drives.
    pub(crate) fn most(&self, drives: usize) -> f64 {
        let is_bounded = !self.drives.is_empty() && self.gives_back.is_none() && !self.fills;
        if is_bounded { self.useful(drives) } else { self.full(drives) }
    }

    /// Most energy that it stores: a full battery, or all that is wanted, up to the
    /// charge limit.
    pub(crate) fn ceiling(&self) -> f64 {
        let most = self.gives_back.map_or(self.wanted(), |(_, capacity)| capacity);
        self.limit.map_or(most, |limit| limit.max(self.level()))
    }

    /// The highest target.
    fn wanted(&self) -> f64 {
        self.targets.iter().map(|&(_, kwh)| kwh).fold(0.0, f64::max)
    }

    /// Levels at which a run may end with less than the least power.
    pub(crate) fn run_ends(&self) -> Vec<f64> {
        let most = self.ceiling();
        let mut levels: Vec<f64> = self.targets.iter().map(|&(_, kwh)| kwh.min(most)).collect();
        levels.push(most);
        levels.extend(self.limit);
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        levels
    }
}

/// A battery that stays, with its losses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Home {
    pub(crate) kw: f64,
    pub(crate) capacity: f64,
    pub(crate) level: f64,
    pub(crate) efficiency_in: f64,
    pub(crate) efficiency_out: f64,
    pub(crate) grid: Grid,
}

/// A site over slots of one length.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) hours: f64,
    pub(crate) prices: Vec<f64>,
    pub(crate) export: Option<Vec<f64>>,
    pub(crate) house_kw: f64,
    /// Solar power of each slot, which cannot be turned down; empty for none.
    pub(crate) sun_kw: Vec<f64>,
    pub(crate) import_limit: Option<f64>,
    pub(crate) group_limit: Option<f64>,
    pub(crate) cars: Vec<Car>,
    pub(crate) home: Option<Home>,
}

/// Numbers from a seed (Steele, Lea and Flood 2014, Fast splittable pseudorandom number
/// generators).
struct Draw(u64);

impl Draw {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % count
    }

    /// Whole number of a range.
    fn count(&mut self, from: usize, to: usize) -> usize {
        from + usize::try_from(self.below((to - from + 1) as u64)).expect("it is small")
    }

    /// Hundredths from one number to another.
    fn between(&mut self, from: f64, to: f64) -> f64 {
        let hundredths = ((to - from) * 100.0).round().max(0.0) as u64;
        from + self.below(hundredths + 1) as f64 / 100.0
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn one_of(&mut self, values: &[f64]) -> f64 {
        values[self.count(0, values.len() - 1)]
    }
}

impl Site {
    /// The site of a seed.
    pub(crate) fn draw(seed: u64) -> Self {
        let mut draw = Draw(seed);
        let hours = if draw.chance(70) { 1.0 } else { 0.25 };
        let is_small = draw.chance(90);
        let slots = draw.count(2, if is_small { 4 } else { 3 });
        let devices = if is_small { draw.count(2, 4) } else { draw.count(5, 14) };
        let lowest = draw.one_of(&[-0.4, -0.1, 0.05, 0.05]);
        let scale = draw.one_of(&[1e-6, 1e-3, 1.0, 1.0, 1.0, 1.0, 1e3, 1e6]);
        let mut curve =
            || -> Vec<f64> { (0..slots).map(|_| draw.between(lowest, 0.5) * scale).collect() };
        let prices = curve();
        let export = match curve() {
            _ if draw.chance(50) => None,
            _ if draw.chance(40) => Some(prices.clone()),
            other => Some(other.iter().zip(&prices).map(|(a, b)| a.min(*b)).collect()),
        };
        let has_home = devices > 2 && draw.chance(40);
        let alike = draw.chance(25).then(|| Car::draw(&mut draw, slots, hours, true));
        let mut cars: Vec<Car> = (0..devices - usize::from(has_home))
            .map(|_| alike.clone().unwrap_or_else(|| Car::draw(&mut draw, slots, hours, false)))
            .collect();
        let house_kw = if draw.chance(30) { draw.between(0.0, 3.0) } else { 0.0 };
        let total: f64 = cars.iter().map(|car| car.most_kw).sum();
        let limit = |draw: &mut Draw, percent: u64| {
            let share = draw.between(0.15, 0.8);
            draw.chance(percent).then_some((total * share * 100.0).round() / 100.0)
        };
        let home = has_home.then(|| Home {
            kw: draw.one_of(&[2.5, 5.0]),
            capacity: 10.0,
            level: draw.between(0.0, 10.0),
            efficiency_in: draw.one_of(&[1.0, 0.9]),
            efficiency_out: draw.one_of(&[1.0, 0.95]),
            grid: Grid::FREE,
        });
        let import_limit = limit(&mut draw, 60).map(|kw| kw.max(house_kw));
        let group_limit = limit(&mut draw, 35);
        // Drawn last, so that a seed is the same site as without charge limits.
        for car in &mut cars {
            let share = draw.between(0.3, 0.95);
            car.limit = draw.chance(5).then_some((car.wanted() * share * 100.0).round() / 100.0);
        }
        for car in &mut cars {
            if draw.chance(25) {
                car.drive(&mut draw);
            }
        }
        let sun_kw = Vec::new();
        Self { hours, prices, export, house_kw, sun_kw, import_limit, group_limit, cars, home }
    }

    /// The site of a seed with solar power, behind which not all storages may use the grid.
    pub(crate) fn draw_sunny(seed: u64) -> Self {
        let mut site = Self::draw(seed);
        let mut draw = Draw(!seed);
        let most = site.cars.iter().map(|car| car.most_kw).fold(0.0, f64::max);
        site.sun_kw = site.prices.iter().map(|_| draw.between(0.0, most * 1.5)).collect();
        for car in &mut site.cars {
            car.grid = Grid::draw(&mut draw);
        }
        if let Some(home) = &mut site.home {
            home.grid = Grid::draw(&mut draw);
        }
        site
    }

    /// Power of a slot that no device decides on, negative if the sun gives more.
    pub(crate) fn fixed_kw(&self, slot: usize) -> f64 {
        self.house_kw - self.sun_kw.get(slot).copied().unwrap_or(0.0)
    }

    /// The same site as the planner is asked.
    pub(crate) fn problem(&self) -> SiteProblem {
        let slot = TimeDelta::minutes((self.hours * 60.0) as i64);
        let curve = |prices: &[f64]| {
            let slots = Horizon::steps(start(), slot, prices.len()).expect("slots");
            PriceCurve::from_parts(slots, prices.to_vec()).expect("prices")
        };
        let mut request = SiteRequest::new(curve(&self.prices), start());
        request.export_prices = self.export.as_deref().map(curve);
        let limit = |power: f64| Limit { power: Series::Constant(kw(power)), breach_price: None };
        request.import_limit = self.import_limit.map(limit);
        let limit = self.group_limit.map(limit);
        request.groups.push(Group { name: "row".into(), parent: None, limit, phase_limit: None });
        let at = |slots: usize| start() + slot * i32::try_from(slots).expect("it is small");
        for (index, car) in self.cars.iter().enumerate() {
            request.devices.push(Device::Vehicle(car.vehicle(format!("car {index}"), at)));
        }
        if self.house_kw > 0.0 {
            let (phases, forecast) = (Phase::ALL.to_vec(), Series::Constant(kw(self.house_kw)));
            let load = Load { name: "house".into(), group: None, phases, forecast };
            request.devices.push(Device::Load(load));
        }
        if !self.sun_kw.is_empty() {
            let forecast = Series::PerSlot(self.sun_kw.iter().map(|&power| kw(power)).collect());
            let (name, phases) = ("sun".into(), Phase::ALL.to_vec());
            let sun = Solar { name, group: None, phases, forecast, is_curtailable: false };
            request.devices.push(Device::Solar(sun));
        }
        request.devices.extend(self.home.iter().map(|home| Device::Battery(home.battery())));
        SiteProblem::new(request).expect("it makes sense")
    }
}

impl Car {
    fn draw(draw: &mut Draw, slots: usize, hours: f64, is_stepped: bool) -> Self {
        let most_kw = draw.one_of(&[3.7, 7.4, 11.0, 22.0]);
        let least_kw = match draw.count(0, 5) {
            0 | 1 => (most_kw * 0.376 * 100.0).round() / 100.0,
            2 => most_kw,
            3 if is_stepped => most_kw / 2.0,
            _ => 0.0,
        };
        let departure = if draw.chance(70) { slots } else { draw.count(1, slots) };
        let gives_back = draw.chance(20).then(|| {
            let capacity = draw.one_of(&[20.0, 40.0]);
            (draw.between(0.0, capacity), capacity)
        });
        let most = gives_back.map_or(f64::INFINITY, |(_, capacity)| capacity);
        let level = gives_back.map_or(0.0, |(level, _)| level);
        let mut targets: Vec<(usize, f64)> = (0..draw.count(1, 3))
            .map(|_| {
                let by = draw.count(1, departure);
                let most_share = if draw.chance(25) { 1.6 } else { 0.9 };
                let share = draw.between(0.2, most_share);
                let wanted = level + most_kw * hours * by as f64 * share;
                (by, ((wanted * 100.0).round() / 100.0).clamp(0.1, most))
            })
            .collect();
        targets.sort_by_key(|&(by, _)| by);
        let priority = draw.one_of(&[1.0, 1.0, 2.0, 5.0]);
        let in_group = draw.chance(50);
        let limit = None;
        Self {
            most_kw,
            least_kw,
            targets,
            departure,
            priority,
            in_group,
            gives_back,
            limit,
            drives: Vec::new(),
            brings: (0.0, 0.0),
            fills: false,
            grid: Grid::FREE,
        }
    }

    /// Lets the car drive once or twice between the start and its departure.
    fn drive(&mut self, draw: &mut Draw) {
        self.least_kw = 0.0;
        self.fills = draw.chance(50);
        if self.gives_back.is_none() {
            self.brings = (draw.between(0.0, 20.0), 40.0);
        }
        let (mut from, most) = (0, self.most_kw);
        for _ in 0..draw.count(1, 2) {
            if from >= self.departure {
                break;
            }
            let start = draw.count(from, self.departure - 1);
            let end = draw.count(start + 1, self.departure);
            self.drives.push((start, end, draw.between(0.0, most * 2.0)));
            from = end;
        }
        let (_, capacity) = self.gives_back.unwrap_or(self.brings);
        let drives = self.drives.clone();
        for (by, level) in &mut self.targets {
            // No target is due while the car is away.
            let away = drives.iter().find(|drive| drive.0 < *by && *by < drive.1);
            *by = away.map_or(*by, |drive| drive.1);
            *level = level.min(capacity);
        }
        self.limit = self.limit.map(|limit| limit.min(capacity));
        self.targets.sort_by_key(|&(by, _)| by);
    }

    fn vehicle(&self, name: String, at: impl Fn(usize) -> DateTime<Utc>) -> Vehicle {
        let mut vehicle = Vehicle::new(name, kw(self.most_kw));
        vehicle.power_min = kw(self.least_kw);
        vehicle.departure = Some(at(self.departure));
        vehicle.priority = self.priority;
        vehicle.charge_from_grid = self.grid.charge_from;
        vehicle.group = self.in_group.then(|| "row".into());
        let drives = !self.drives.is_empty();
        if let Some((level, capacity)) = self.gives_back.or(drives.then_some(self.brings)) {
            let percent = |kwh: f64| Percent::from_percent(kwh / capacity * 100.0);
            vehicle.battery = Some(battery(capacity, level, 1.0, self.limit));
            vehicle.discharge = self.gives_back.map(|_| give_back(self.most_kw, 1.0, self.grid));
            vehicle.fill_when_worth = drives && self.fills;
            let drive = |&(first, end, energy): &(usize, usize, f64)| Consumption {
                start: at(first),
                end: at(end),
                energy: kwh(energy),
                is_plugged_in: false,
            };
            vehicle.consumption = self.drives.iter().map(drive).collect();
            let target = |&(by, level): &(usize, f64)| SocTarget {
                by: Some(at(by)),
                soc: Some(percent(level).expect("a share")),
            };
            vehicle.soc_targets = self.targets.iter().map(target).collect();
        } else {
            let target =
                |&(by, energy): &(usize, f64)| Target { by: Some(at(by)), energy: kwh(energy) };
            vehicle.targets = self.targets.iter().map(target).collect();
            let limited = |limit| battery(CAPACITY_KWH, 0.0, 1.0, Some(limit));
            vehicle.battery = self.limit.map(limited);
        }
        vehicle
    }
}

impl Home {
    fn battery(&self) -> StationaryBattery {
        StationaryBattery {
            name: "home".into(),
            group: None,
            phases: Phase::ALL.to_vec(),
            power_max: Power::from_kw(self.kw).expect("a power"),
            charge_from_grid: self.grid.charge_from,
            battery: battery(self.capacity, self.level, self.efficiency_in, None),
            discharge: give_back(self.kw, self.efficiency_out, self.grid),
            soc_end: None,
            end_value: Price::ZERO,
            soft_bounds: Vec::new(),
            limits: Vec::new(),
            power_wanted: None,
        }
    }
}

fn battery(capacity: f64, level: f64, efficiency: f64, limit: Option<f64>) -> Battery {
    let percent = |kwh: f64| Percent::from_percent(kwh / capacity * 100.0).expect("a share");
    Battery {
        capacity: kwh(capacity),
        soc: Some(percent(level)),
        soc_fallback: None,
        charge_limit: limit.map_or(Percent::FULL, percent),
        efficiency,
    }
}

fn give_back(power: f64, efficiency: f64, grid: Grid) -> Discharge {
    let (power_max, discharge_to_grid) = (kw(power), grid.discharge_to);
    Discharge {
        power_max,
        efficiency,
        soc_min: Percent::ZERO,
        wear: Price::ZERO,
        discharge_to_grid,
    }
}

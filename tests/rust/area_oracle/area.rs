//! Random small areas in plain numbers, and their plans.
use slackwater_engine::area::{
    AreaNumbers, AreaOptions, AreaPlan, AreaProblem, AreaVehicles, Limit, Node, PriceBlock,
    Profile, StorageColumns, plan_area,
};
use slackwater_engine::columns::PlanTable;
use slackwater_engine::columns::{Curves, Fleet, Needs, TargetLists};
use slackwater_engine::prices::table::PriceTable;
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{kw, per_kwh};

pub(crate) const HOUR: i64 = 3_600_000_000;

/// What vehicles have that do more than charge until they leave.
#[derive(Default)]
pub(crate) struct More {
    pub(crate) capacity: Vec<f64>,
    pub(crate) soc: Vec<f64>,
    pub(crate) target: Vec<f64>,
    /// Where charging ends, in percent; NaN where only a full battery ends it.
    pub(crate) limit: Vec<f64>,
    /// Level that is kept, in percent; of vehicles that discharge.
    pub(crate) floor: Vec<f64>,
    pub(crate) discharge: Vec<f64>,
    pub(crate) efficiency: Vec<f64>,
    pub(crate) efficiency_discharge: Vec<f64>,
    pub(crate) end_value: Vec<f64>,
    pub(crate) wear: Vec<f64>,
    /// Energy at once, in kWh; of vehicles that only charge.
    pub(crate) reserve: Vec<f64>,
    pub(crate) power_min: Vec<f64>,
    pub(crate) offsets: Vec<i32>,
    pub(crate) by: Vec<i64>,
    pub(crate) by_energy: Vec<f64>,
    pub(crate) export: Option<PriceTable>,
    pub(crate) export_prices: Vec<f64>,
}

impl More {
    fn taken(&self, rows: &[u32]) -> Self {
        let mut taken = Self {
            capacity: pick(&self.capacity, rows),
            soc: pick(&self.soc, rows),
            target: pick(&self.target, rows),
            limit: pick(&self.limit, rows),
            floor: pick(&self.floor, rows),
            discharge: pick(&self.discharge, rows),
            efficiency: pick(&self.efficiency, rows),
            efficiency_discharge: pick(&self.efficiency_discharge, rows),
            end_value: pick(&self.end_value, rows),
            wear: pick(&self.wear, rows),
            reserve: pick(&self.reserve, rows),
            power_min: pick(&self.power_min, rows),
            offsets: vec![0],
            by: Vec::new(),
            by_energy: Vec::new(),
            export: self.export.clone(),
            export_prices: self.export_prices.clone(),
        };
        for &row in rows {
            let list = self.offsets[row as usize] as usize..self.offsets[row as usize + 1] as usize;
            taken.by.extend_from_slice(&self.by[list.clone()]);
            taken.by_energy.extend_from_slice(&self.by_energy[list]);
            taken.offsets.push(taken.by.len() as i32);
        }
        taken
    }
}

fn pick<T: Copy>(column: &[T], rows: &[u32]) -> Vec<T> {
    rows.iter().map(|&row| column[row as usize]).collect()
}

/// An area that owns its columns.
pub(crate) struct Area {
    pub(crate) lengths: Vec<i64>,
    pub(crate) arrival: Vec<i64>,
    pub(crate) departure: Vec<i64>,
    pub(crate) energy: Vec<f64>,
    pub(crate) power: Vec<f64>,
    pub(crate) priority: Vec<f64>,
    pub(crate) node: Vec<u32>,
    pub(crate) curve: Vec<u32>,
    pub(crate) table: PriceTable,
    pub(crate) prices: Vec<f64>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) more: Option<More>,
    /// Whether the judge, too, keeps vehicles with a least power on or off.
    pub(crate) is_exact: bool,
    /// Money that counts as 1 for the judge.
    pub(crate) price_unit: f64,
}

/// A plan and what each row of it takes.
pub(crate) struct Planned {
    pub(crate) plan: AreaPlan,
    pub(crate) rows: PlanTable<AreaNumbers>,
}

impl Planned {
    pub(crate) fn new(problem: &AreaProblem<'_>, plan: AreaPlan) -> Self {
        let mut rows = PlanTable::default();
        plan.rows(problem, usize::MAX, &mut |run| rows = run).expect("the plan is of this problem");
        Self { plan, rows }
    }

    pub(crate) fn row_energy(&self, row: usize) -> f64 {
        self.rows.numbers.energy_kwh[row]
    }

    /// Every number as bits.
    pub(crate) fn bytes(&self) -> Vec<u64> {
        let rows = &self.rows;
        let numbers = [
            &rows.numbers.cost,
            &rows.numbers.energy_kwh,
            &rows.numbers.discharged_kwh,
            &rows.numbers.unmet_kwh,
            &rows.numbers.baseline_cost,
            &rows.numbers.savings,
            &rows.intervals.power_kw,
            &self.plan.load_kw,
        ];
        let mut bits: Vec<u64> =
            numbers.into_iter().flatten().map(|number| number.to_bits()).collect();
        let times = rows.intervals.start.iter().chain(&rows.intervals.end);
        bits.extend(times.map(|&time| time as u64));
        bits.extend(rows.intervals.offsets.iter().map(|&offset| offset as u64));
        bits.extend([self.plan.cost.to_bits(), self.plan.bound.to_bits()]);
        bits
    }
}

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % count
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.below(10_001) as f64 / 10_000.0
    }
}

impl Area {
    pub(crate) fn random(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(7_919) + 1);
        let slots = 6 + random.below(30) as usize;
        let is_even = random.below(3) > 0;
        let mut length =
            || if is_even { HOUR / 4 } else { HOUR / 4 * (1 + random.below(4) as i64) };
        let lengths: Vec<i64> = (0..slots).map(|_| length()).collect();
        let curves = if random.below(2) == 0 { 1 } else { 1 + random.below(5) };
        let count = 1 + random.below(60) as usize;
        let end: i64 = lengths.iter().sum();
        let prices: Vec<f64> =
            (0..slots as u64 * curves).map(|_| random.between(-0.05, 0.4)).collect();
        let mut area = Self::empty(lengths, prices);
        area.nodes = nodes(&mut random, count, slots);
        for _ in 0..count {
            let from = random.below((end / 2) as u64) as i64;
            let to = from + (random.between(0.1, 1.0) * (end - from) as f64) as i64;
            let power = [3.7, 7.4, 11.0, 22.0][random.below(4) as usize];
            let hours = (to - from) as f64 / HOUR as f64;
            area.arrival.push(from);
            area.departure.push(to);
            area.power.push(power);
            area.energy.push(random.between(0.0, 0.9) * power * hours);
            area.priority.push(1.0 + random.below(3) as f64);
            area.node.push(random.below(area.nodes.len() as u64) as u32);
            area.curve.push(random.below(curves) as u32);
        }
        area
    }

    /// Some 200 vehicles in eight or more branches below one node, or below none.
    /// Some branches have a node inside.
    pub(crate) fn branched(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(15_485_863) + 3);
        let slots = 6 + random.below(8) as usize;
        let lengths = vec![HOUR / 2; slots];
        let end: i64 = lengths.iter().sum();
        let prices: Vec<f64> = (0..slots).map(|_| random.between(-0.05, 0.4)).collect();
        let mut area = Self::empty(lengths, prices);
        let count = 200 + random.below(40) as usize;
        let branches = 8 + random.below(6) as usize;
        let has_top = random.below(4) > 0;
        let level =
            |random: &mut Random, vehicles: usize| vehicles as f64 * random.between(2.5, 7.0);
        if has_top {
            let most = level(&mut random, count);
            area.nodes.push(Node::limited("area", Profile::Constant(kw(most))));
        }
        for branch in 0..branches {
            let most = level(&mut random, count / branches);
            let limits = vec![limit(&mut random, most, slots)];
            let parent = has_top.then_some(0);
            area.nodes.push(Node { name: format!("branch {branch}"), parent, base: None, limits });
            if random.below(3) == 0 {
                let parent = Some(area.nodes.len() - 1);
                let limits = vec![limit(&mut random, most * 0.6, slots)];
                area.nodes.push(Node {
                    name: format!("inside {branch}"),
                    parent,
                    base: None,
                    limits,
                });
            }
        }
        let first = u64::from(has_top);
        for _ in 0..count {
            let from = random.below((end / 2) as u64) as i64;
            let to = from + (random.between(0.3, 1.0) * (end - from) as f64) as i64;
            let power = [3.7, 7.4, 11.0, 22.0][random.below(4) as usize];
            let hours = (to - from) as f64 / HOUR as f64;
            area.arrival.push(from);
            area.departure.push(to);
            area.power.push(power);
            area.energy.push(random.between(0.0, 0.7) * power * hours);
            area.priority.push(1.0 + random.below(3) as f64);
            area.node.push((first + random.below(area.nodes.len() as u64 - first)) as u32);
            area.curve.push(0);
        }
        area
    }

    /// Some 230 vehicles below one node, each with prices of its own.
    pub(crate) fn own_curves(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(32_452_843) + 7);
        let slots = 6 + random.below(8) as usize;
        let lengths = vec![HOUR / 2; slots];
        let end: i64 = lengths.iter().sum();
        let count = 200 + random.below(60) as usize;
        let prices: Vec<f64> = (0..slots * count).map(|_| random.between(-0.05, 0.4)).collect();
        let mut area = Self::empty(lengths, prices);
        let level = count as f64 * random.between(1.2, 5.0);
        let limits = vec![limit(&mut random, level, slots)];
        area.nodes.push(Node { name: "area".to_owned(), parent: None, base: None, limits });
        for row in 0..count {
            let from = random.below((end / 2) as u64) as i64;
            let to = from + (random.between(0.3, 1.0) * (end - from) as f64) as i64;
            let power = [3.7, 7.4, 11.0, 22.0][random.below(4) as usize];
            let hours = (to - from) as f64 / HOUR as f64;
            area.arrival.push(from);
            area.departure.push(to);
            area.power.push(power);
            area.energy.push(random.between(0.0, 0.7) * power * hours);
            area.priority.push(1.0 + random.below(3) as f64);
            area.node.push(0);
            area.curve.push(row as u32);
        }
        area
    }

    /// A random area with vehicles that discharge, with reserves, earlier targets,
    /// and vehicles that are on or off. Prices are above what is paid for a
    /// kWh sold, unless `is_wild`.
    pub(crate) fn mixed(seed: u64, is_wild: bool) -> Self {
        let mut area = Self::random(seed);
        let mut random = Random(seed.wrapping_mul(104_729) + 7);
        if !is_wild {
            area.prices.iter_mut().for_each(|price| *price = price.abs() + 0.02);
        }
        let horizon = area.table.horizon().clone();
        let sold = |price: &f64| if is_wild { price + 0.1 } else { price * 0.93 };
        let export_prices: Vec<f64> = area.prices.iter().map(sold).collect();
        area.table = PriceTable::new(horizon.clone(), area.prices.clone());
        let export = PriceTable::new(horizon, export_prices.clone());
        let mut more = More { export: Some(export), export_prices, ..More::default() };
        more.offsets.push(0);
        // Numbers of their own, so that a seed is the same area as without charge limits.
        let mut limits = Random(seed.wrapping_mul(6_700_417) + 11);
        for row in 0..area.energy.len() {
            area.make_more(&mut random, &mut more, row);
            if seed % 2 == 1 {
                more.power_min[row] = 0.0;
            }
            // Nobody comes above its limit: the judge, a linear programme, could charge there.
            let (soc, target) = (more.soc[row], more.target[row]);
            let limit = soc + (target - soc) * limits.between(0.1, 0.95);
            let has_limit = limits.below(20) == 0 && target > soc;
            more.limit.push(if has_limit { limit } else { f64::NAN });
        }
        for (at, node) in area.nodes.iter_mut().enumerate() {
            node.limits.retain(|limit| !matches!(limit, Limit::Follow { .. }));
            // Room for all that others feed in, so that nobody has to burn.
            let level = area.energy.len() as f64 * 8.0;
            if at == 0 && random.below(2) == 0 {
                let power_max = Profile::Constant(kw(level * 0.35));
                node.limits.push(Limit::Export { power_max, price: None });
            }
        }
        area.more = Some(more);
        area
    }

    fn make_more(&mut self, random: &mut Random, more: &mut More, row: usize) {
        let capacity = random.between(60.0, 90.0);
        let discharges = random.below(3) == 0;
        let wanted = self.energy[row].min(capacity * 0.9);
        let soc = if discharges { random.between(5.0, 90.0) } else { 5.0 };
        let target = if discharges { random.between(0.0, 100.0) } else { soc };
        let wanted = if discharges { wanted } else { wanted.min(capacity * 0.9) };
        more.capacity.push(capacity);
        more.soc.push(soc);
        more.target.push(if discharges { target } else { soc + wanted / capacity * 100.0 });
        self.energy[row] = wanted;
        more.floor.push(if discharges { soc * random.between(0.0, 0.9) } else { 0.0 });
        more.discharge.push(if discharges { random.between(1.0, 11.0) } else { 0.0 });
        let loss = if discharges { random.between(0.85, 1.0) } else { 1.0 };
        more.efficiency.push(loss);
        more.efficiency_discharge.push(loss);
        more.end_value.push(if discharges { random.between(0.0, 0.3) } else { 0.0 });
        more.wear.push(if discharges { random.between(0.0, 0.05) } else { 0.0 });
        let is_whole = random.below(5) == 0;
        // A least power is not planned for vehicles that discharge.
        let is_whole = is_whole && !discharges;
        more.power_min.push(if is_whole { self.power[row] * 0.5 } else { 0.0 });
        let has_wishes = !discharges && random.below(3) == 0;
        more.reserve.push(if has_wishes { wanted * random.between(0.0, 0.3) } else { 0.0 });
        if has_wishes {
            let mut ends = self.lengths.iter().scan(0, |at, length| {
                *at += length;
                Some(*at)
            });
            let inside = |end: &i64| *end > self.arrival[row] && *end < self.departure[row];
            let found: Vec<i64> = ends.by_ref().filter(inside).collect();
            if !found.is_empty() {
                more.by.push(found[random.below(found.len() as u64) as usize]);
                more.by_energy.push(wanted * random.between(0.2, 0.9));
            }
        }
        more.offsets.push(more.by.len() as i32);
    }

    /// Two vehicles that want 20 kWh each where there are 20 for both.
    pub(crate) fn two_alike(priority: [f64; 2]) -> Self {
        let mut area = Self::empty(vec![HOUR; 4], vec![0.3, 0.1, 0.2, 0.4]);
        area.nodes = vec![Node::limited("street", Profile::Constant(kw(5.0)))];
        area.arrival = vec![0, 0];
        area.departure = vec![4 * HOUR, 4 * HOUR];
        (area.energy, area.power) = (vec![20.0, 20.0], vec![11.0, 11.0]);
        area.priority = priority.to_vec();
        (area.node, area.curve) = (vec![0, 0], vec![0, 0]);
        area
    }

    pub(crate) fn empty(lengths: Vec<i64>, prices: Vec<f64>) -> Self {
        let mut at = 0;
        let periods = lengths.iter().map(|length| {
            at += length;
            (at - length, at)
        });
        let horizon = Horizon::from_micros(periods).expect("a random area makes sense");
        let table = PriceTable::new(horizon, prices.clone());
        Self {
            lengths,
            table,
            prices,
            arrival: vec![],
            departure: vec![],
            energy: vec![],
            power: vec![],
            priority: vec![],
            node: vec![],
            curve: vec![],
            nodes: vec![],
            more: None,
            is_exact: false,
            price_unit: 1.0,
        }
    }

    pub(crate) fn problem(&self) -> AreaProblem<'_> {
        let more = self.more.as_ref();
        let needs = match more {
            None => Needs::Energy { energy_kwh: &self.energy },
            Some(more) => Needs::Soc {
                soc_percent: &more.soc,
                target_percent: &more.target,
                capacity_kwh: &more.capacity,
                reserve_percent: Some(&more.floor),
                efficiency: Some(&more.efficiency),
            },
        };
        let fleet = Fleet {
            arrival: &self.arrival,
            departure: &self.departure,
            needs,
            power_max_kw: &self.power,
            reserve_kwh: more.map(|more| &more.reserve[..]),
            targets: more.map(|more| TargetLists {
                offsets: &more.offsets,
                by: &more.by,
                energy_kwh: &more.by_energy,
            }),
            curve: Some(&self.curve),
        };
        let vehicles = AreaVehicles {
            fleet,
            node: Some(&self.node),
            priority: Some(&self.priority),
            power_min_kw: more.map(|more| &more.power_min[..]),
            storage: more.map(|more| StorageColumns {
                discharge_max_kw: &more.discharge,
                efficiency_discharge: Some(&more.efficiency_discharge),
                charge_limit_percent: Some(&more.limit),
                end_value_per_kwh: Some(&more.end_value),
                wear_price_per_kwh: Some(&more.wear),
                export: more.export.as_ref().map(Curves::PerVehicle),
                fills: None,
            }),
        };
        AreaProblem::new(vehicles, Curves::PerVehicle(&self.table), self.nodes.clone())
            .expect("a random area makes sense")
    }

    /// Prices to buy and to sell at.
    pub(crate) fn curves(&self) -> (Curves<'_>, Option<Curves<'_>>) {
        let sold = self.more.as_ref().and_then(|more| more.export.as_ref());
        (Curves::PerVehicle(&self.table), sold.map(Curves::PerVehicle))
    }

    /// Some of the vehicles, in an order of their own.
    pub(crate) fn taken(&self, rows: &[u32]) -> Self {
        Self {
            arrival: pick(&self.arrival, rows),
            departure: pick(&self.departure, rows),
            energy: pick(&self.energy, rows),
            power: pick(&self.power, rows),
            priority: pick(&self.priority, rows),
            node: pick(&self.node, rows),
            curve: pick(&self.curve, rows),
            nodes: self.nodes.clone(),
            more: self.more.as_ref().map(|more| more.taken(rows)),
            ..Self::empty(self.lengths.clone(), self.prices.clone())
        }
    }

    pub(crate) fn plan(&self, options: &AreaOptions) -> Planned {
        let problem = self.problem();
        let plan = plan_area(&problem, options);
        Planned::new(&problem, plan)
    }

    /// Other prices for the same vehicles.
    pub(crate) fn change_prices(&mut self, seed: u64) {
        let mut random = Random(seed.wrapping_mul(31) + 5);
        let factors: Vec<f64> = self.prices.iter().map(|_| random.between(0.7, 1.4)).collect();
        let scaled = |prices: &[f64]| -> Vec<f64> {
            prices.iter().zip(&factors).map(|(price, factor)| price * factor).collect()
        };
        self.prices = scaled(&self.prices);
        let horizon = self.table.horizon().clone();
        self.table = PriceTable::new(horizon.clone(), self.prices.clone());
        if let Some(more) = &mut self.more {
            more.export_prices = scaled(&more.export_prices);
            more.export = Some(PriceTable::new(horizon, more.export_prices.clone()));
        }
    }

    pub(crate) fn slots(&self) -> usize {
        self.lengths.len()
    }

    pub(crate) fn hours(&self, slot: usize) -> f64 {
        self.lengths[slot] as f64 / HOUR as f64
    }

    /// Energy that a vehicle can take in a slot.
    pub(crate) fn cap(&self, row: usize, slot: usize) -> f64 {
        let start: i64 = self.lengths[..slot].iter().sum();
        let end = start + self.lengths[slot];
        let usable = end.min(self.departure[row]) - start.max(self.arrival[row]);
        self.power[row] * usable.max(0) as f64 / HOUR as f64
    }

    /// What each vehicle can be served if no limit binds.
    pub(crate) fn needs(&self) -> Vec<f64> {
        let room = |row| (0..self.slots()).map(|slot| self.cap(row, slot)).sum::<f64>();
        let most = |row| room(row).min(self.up_to_limit(row));
        (0..self.energy.len()).map(|row| self.energy[row].min(most(row))).collect()
    }

    /// Energy with which a vehicle that only charges is at its charge limit.
    pub(crate) fn up_to_limit(&self, row: usize) -> f64 {
        let most = |more: &More| {
            let limit = more.limit[row];
            let share = if limit.is_nan() { f64::INFINITY } else { limit - more.soc[row] };
            (share / 100.0 * more.capacity[row]).max(0.0)
        };
        self.more.as_ref().map_or(f64::INFINITY, most)
    }

    /// Energy that a vehicle can give back in a slot.
    pub(crate) fn cap_down(&self, row: usize, slot: usize) -> f64 {
        let down = self.more.as_ref().map_or(0.0, |more| more.discharge[row]);
        self.cap(row, slot) / self.power[row] * down
    }

    /// Whether some vehicle is on or off.
    pub(crate) fn has_whole(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.power_min.iter().any(|power| *power > 0.0))
    }

    /// Whether a vehicle discharges.
    pub(crate) fn discharges(&self, row: usize) -> bool {
        self.more.as_ref().is_some_and(|more| more.discharge[row] > 0.0)
    }

    /// Energy that a vehicle that only charges wants by the end of slots before
    /// its last, as far as it can have it: by deadlines, and if asked for at once.
    pub(crate) fn wishes(&self, row: usize, has_reserve: bool) -> Vec<(usize, f64)> {
        let Some(more) = self.more.as_ref().filter(|_| !self.discharges(row)) else {
            return vec![];
        };
        let mut wishes = Vec::new();
        let mut reach = 0.0;
        let mut end = 0;
        for slot in 0..self.slots() {
            end += self.lengths[slot];
            reach = (reach + self.cap(row, slot)).min(self.up_to_limit(row));
            if has_reserve {
                wishes.push((slot, more.reserve[row].min(reach)));
            }
            for at in more.offsets[row] as usize..more.offsets[row + 1] as usize {
                if more.by[at] == end {
                    wishes.push((slot, more.by_energy[at].min(reach)));
                }
            }
        }
        wishes.retain(|(_, energy)| *energy > 0.0);
        wishes
    }

    pub(crate) fn price(&self, row: usize, slot: usize) -> f64 {
        self.prices[self.curve[row] as usize * self.slots() + slot]
    }

    /// Whether a node hangs below another, or is it.
    pub(crate) fn is_below(&self, node: usize, top: usize) -> bool {
        std::iter::successors(Some(node), |&at| self.nodes[at].parent).any(|at| at == top)
    }
}

pub(crate) fn nodes(random: &mut Random, vehicles: usize, slots: usize) -> Vec<Node> {
    let count = 1 + random.below(5) as usize;
    (0..count)
        .map(|at| {
            let parent = (at > 0).then(|| random.below(at as u64) as usize);
            let share = if at == 0 { 1.0 } else { 0.5 };
            let level = vehicles as f64 * share * random.between(0.8, 7.0);
            let kinds = 1 + random.below(2);
            let limits = (0..kinds).map(|_| limit(random, level, slots)).collect();
            let base = (random.below(3) == 0).then(|| {
                let load =
                    |_| Some(kw((random.between(-0.3, 0.5) * level * 100.0).round() / 100.0));
                Profile::PerSlot((0..slots).map(load).collect())
            });
            Node { name: format!("node {at}"), parent, base, limits }
        })
        .collect()
}

fn limit(random: &mut Random, level: f64, slots: usize) -> Limit {
    let some = |random: &mut Random| {
        let at = |_| (random.below(6) > 0).then(|| kw(level * random.between(0.5, 1.5)));
        Profile::PerSlot((0..slots).map(at).collect())
    };
    match random.below(8) {
        0 => Limit::Peak { price_per_kw: random.between(0.0, 0.5), incurred: kw(level * 0.3) },
        1 => Limit::Import {
            power_max: some(random),
            price: Some(per_kwh(random.between(0.0, 0.3))),
        },
        2 => Limit::Blocks(vec![
            PriceBlock { above: kw(level * 0.3), price: per_kwh(0.02) },
            PriceBlock { above: kw(level * 0.8), price: per_kwh(0.1) },
        ]),
        3 => Limit::Follow { power: some(random), price: per_kwh(random.between(0.0, 0.2)) },
        4 => Limit::Import { power_max: some(random), price: None },
        _ => Limit::Import { power_max: Profile::Constant(kw(level)), price: None },
    }
}

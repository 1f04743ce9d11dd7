//! Random small areas in plain numbers, and their plans.
use slackwater_engine::area::coordinate::{AreaOptions, plan_area};
use slackwater_engine::area::fleet::{Curves, Fleet, Needs};
use slackwater_engine::area::limits::{Block, Limit, Node, Profile};
use slackwater_engine::area::outcome::AreaPlan;
use slackwater_engine::area::problem::{AreaProblem, AreaVehicles};
use slackwater_engine::area::rows::AreaRows;
use slackwater_engine::prices::table::PriceTable;
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{kw, per_kwh};

const HOUR: i64 = 3_600_000_000;

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
}

/// A plan and what each row of it takes.
pub(crate) struct Planned {
    pub(crate) plan: AreaPlan,
    pub(crate) rows: AreaRows,
}

impl Planned {
    pub(crate) fn row_energy(&self, row: usize) -> f64 {
        self.rows.energy_kwh[row]
    }

    /// Every number as bits.
    pub(crate) fn bytes(&self) -> Vec<u64> {
        let rows = &self.rows;
        let numbers = [&rows.cost, &rows.energy_kwh, &rows.interval_power_kw, &self.plan.load_kw];
        let mut bits: Vec<u64> =
            numbers.into_iter().flatten().map(|number| number.to_bits()).collect();
        bits.extend(rows.interval_start.iter().map(|&start| start as u64));
        bits.extend([self.plan.cost.to_bits(), self.plan.bound.to_bits()]);
        bits
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % count
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
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

    fn empty(lengths: Vec<i64>, prices: Vec<f64>) -> Self {
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
        }
    }

    pub(crate) fn problem(&self) -> AreaProblem<'_> {
        let fleet = Fleet {
            arrival: &self.arrival,
            departure: &self.departure,
            needs: Needs::Energy { energy_kwh: &self.energy },
            power_max_kw: &self.power,
            reserve_kwh: None,
            targets: None,
            curve: Some(&self.curve),
        };
        let vehicles = AreaVehicles {
            fleet,
            node: Some(&self.node),
            priority: Some(&self.priority),
            power_min_kw: None,
        };
        AreaProblem::new(vehicles, Curves::PerVehicle(&self.table), self.nodes.clone())
            .expect("a random area makes sense")
    }

    pub(crate) fn plan(&self, options: &AreaOptions) -> Planned {
        let problem = self.problem();
        let plan = plan_area(&problem, options, &mut |_| false);
        let mut rows = AreaRows::default();
        plan.rows(&problem, usize::MAX, &mut |run| rows = run);
        Planned { plan, rows }
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
        (0..self.energy.len()).map(|row| self.energy[row].min(room(row))).collect()
    }

    pub(crate) fn price(&self, row: usize, slot: usize) -> f64 {
        self.prices[self.curve[row] as usize * self.slots() + slot]
    }

    /// Whether a node hangs below another, or is it.
    pub(crate) fn is_below(&self, node: usize, top: usize) -> bool {
        std::iter::successors(Some(node), |&at| self.nodes[at].parent).any(|at| at == top)
    }
}

fn nodes(random: &mut Random, vehicles: usize, slots: usize) -> Vec<Node> {
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
            Block { above: kw(level * 0.3), price: per_kwh(0.02) },
            Block { above: kw(level * 0.8), price: per_kwh(0.1) },
        ]),
        3 => Limit::Follow { power: some(random), price: per_kwh(random.between(0.0, 0.2)) },
        4 => Limit::Import { power_max: some(random), price: None },
        _ => Limit::Import { power_max: Profile::Constant(kw(level)), price: None },
    }
}

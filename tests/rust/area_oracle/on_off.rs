//! Small areas with vehicles that are on or off, judged by a mixed-integer programme.
//!
//! The judge knows limits, stays and needs, and nothing of the planner: least unmet
//! energy first, then the least cost of serving each vehicle just so.
use slackwater_engine::area::AreaOptions;
use slackwater_engine::area::Status;
use slackwater_engine::area::{Node, Profile};
use slackwater_engine::units::kw;

use crate::area::{Area, HOUR, More, Planned, Random, nodes};
use crate::judge;
use crate::scale;

/// Areas of a normal run.
const AREAS: u64 = 500;

/// Energy in kWh that may be missing by rounding: 1e-6 of each vehicle.
const UNMET: f64 = 1e-5;

impl Area {
    /// Two to six vehicles, at least one of them on or off, with prices of any size.
    pub(crate) fn on_off(seed: u64) -> Self {
        let mut random = Random::new(seed.wrapping_mul(6_700_417) + 11);
        let slots = 2 + random.below(6) as usize;
        let lengths = vec![HOUR / (1 + random.below(2) as i64); slots];
        let end: i64 = lengths.iter().sum();
        let size = 10f64.powi(random.below(13) as i32 - 6);
        let prices = (0..slots).map(|_| random.between(-0.05, 0.4) * size).collect();
        let count = 2 + random.below(5) as usize;
        let mut area = Self::empty(lengths, prices);
        (area.is_exact, area.price_unit) = (true, size);
        area.nodes = nodes(&mut random, count, slots);
        area.nodes.iter_mut().for_each(|node| node.limits.truncate(1));
        let mut more = More { offsets: vec![0], ..More::default() };
        for row in 0..count {
            let from = random.below((end / 2) as u64) as i64;
            let to = from + (random.between(0.3, 1.0) * (end - from) as f64) as i64;
            let power = [3.7, 7.4, 11.0, 22.0][random.below(4) as usize];
            let need = random.between(0.1, 1.1) * power * (to - from) as f64 / HOUR as f64;
            let is_whole = row == 0 || random.below(2) == 0;
            area.add(row, (from, to), (need.min(95.0), power));
            area.priority.push(1.0 + random.below(3) as f64);
            area.node.push(random.below(area.nodes.len() as u64) as u32);
            more.add(need.min(95.0), if is_whole { power } else { 0.0 });
            let by = HOUR / 2 * random.below((end * 2 / HOUR) as u64 + 1) as i64;
            let is_end = by % area.lengths[0] == 0 && by > from && by < to;
            if is_end && random.below(2) == 0 {
                more.by.push(by);
                more.by_energy.push(need.min(95.0) * random.between(0.2, 0.9));
            }
            more.offsets.push(more.by.len() as i32);
        }
        area.more = Some(more);
        area
    }

    fn add(&mut self, row: usize, (from, to): (i64, i64), (energy, power): (f64, f64)) {
        assert_eq!(row, self.energy.len(), "rows come in order");
        self.arrival.push(from);
        self.departure.push(to);
        self.energy.push(energy);
        self.power.push(power);
        self.curve.push(0);
    }
}

impl More {
    /// A vehicle that only charges, empty on arrival, with a battery of 100 kWh.
    fn add(&mut self, need: f64, power_min: f64) {
        self.capacity.push(100.0);
        self.target.push(need);
        self.power_min.push(power_min);
        self.limit.push(f64::NAN);
        let zeros = [
            &mut self.soc,
            &mut self.floor,
            &mut self.discharge,
            &mut self.end_value,
            &mut self.wear,
            &mut self.reserve,
        ];
        for column in zeros {
            column.push(0.0);
        }
        self.efficiency.push(1.0);
        self.efficiency_discharge.push(1.0);
    }
}

/// A vehicle that is on or off pauses at slot ends, but for one in which each need ends.
fn is_on_or_off(area: &Area, planned: &Planned, seed: u64) {
    let more = area.more.as_ref().expect("the area has columns of its own");
    for row in (0..area.energy.len()).filter(|&row| more.power_min[row] > 0.0) {
        let energies = judge::energies_of(area, planned, row, seed);
        let is_part =
            |slot: &usize| energies[*slot] > 1e-6 && energies[*slot] < area.cap(row, *slot) - 1e-6;
        let parts = (0..area.slots()).filter(is_part).count();
        let needs = (more.offsets[row + 1] - more.offsets[row]) as usize + 1;
        assert!(parts <= needs, "area {seed}: row {row} takes parts of {parts} slots");
    }
}

/// Judges one area; tells whether limits withhold energy there.
fn judge_on_off(area: &Area, seed: u64) -> bool {
    let planned = area.plan(&AreaOptions::default());
    let served = judge::keeps_its_word(area, &planned, seed);
    is_on_or_off(area, &planned, seed);
    let plan = planned.plan;
    assert!(plan.status != Status::Failed, "area {seed}: the solver failed");
    let unmet: f64 = served.iter().map(judge::Served::unmet).sum();
    let least = judge::least_unmet(area, false);
    assert!((unmet - least).abs() < UNMET, "area {seed}: {unmet} unmet, least {least}");
    let bound = plan.unmet_bound_kwh.expect("a vehicle is on or off") - (plan.unmet_kwh - unmet);
    assert!(bound <= least + UNMET, "area {seed}: {bound} proved, least {least}");
    let need: f64 = area.needs().iter().sum();
    let open = (unmet - bound) / need;
    assert!(open <= plan.gap + 1e-6, "area {seed}: {open} not proved, gap {}", plan.gap);
    let optimum = judge::least_cost(area, &served);
    let money = plan.unmanaged.cost.abs().max(plan.bound.abs());
    let slack = 1e-7 * money.max(area.price_unit);
    let (cost, gap) = (plan.cost, plan.gap * money);
    assert!(cost >= optimum - slack, "area {seed}: cost {cost} below {optimum}");
    // The hair of the judge is worth something: without it, it serves for more.
    let is_near = plan.bound <= optimum + slack && cost <= optimum + gap + slack;
    let most = if is_near { optimum } else { judge::least_cost_at_least(area, &served) } + slack;
    assert!(plan.bound <= most, "area {seed}: bound {}, optimum {most}", plan.bound);
    assert!(cost <= most + gap, "area {seed}: {cost}, optimum {most}, gap {}", plan.gap);
    least > 1e-3
}

#[test]
fn areas_with_on_off_vehicles_agree_with_a_mixed_programme() {
    let areas = AREAS * scale();
    let short = (0..areas).filter(|&seed| judge_on_off(&Area::on_off(seed), seed)).count() as u64;
    assert!(short > areas / 10, "{short} of {areas} areas are short of energy");
}

/// Asking for a smaller gap never leaves more unmet, and costs no more.
#[test]
fn a_smaller_gap_is_never_a_worse_plan() {
    for seed in 0..40 * scale() {
        // Every other area is one of many vehicles, too many for one programme.
        let area = if seed % 2 == 0 { Area::mixed(seed, false) } else { Area::on_off(seed) };
        let mut before = (f64::INFINITY, f64::INFINITY);
        for gap in [5e-2, 3e-3, 1e-3, 2e-4, 1e-6] {
            let plan = area.plan(&AreaOptions { gap, ..AreaOptions::default() }).plan;
            let slack = 1e-6 * plan.unmanaged.cost.abs();
            let is_less = plan.unmet_kwh < before.0 - 1e-5;
            let is_no_worse = plan.unmet_kwh <= before.0 + 1e-5 && plan.cost <= before.1 + slack;
            let now = (plan.unmet_kwh, plan.cost);
            assert!(is_less || is_no_worse, "area {seed} at {gap}: {now:?} after {before:?}");
            before = now;
        }
    }
}

/// A vehicle of 22 kW under 20 kW runs for as much of a slot as the mean allows, and
/// leaves a steady one what it needs.
#[test]
fn a_vehicle_above_the_limit_does_not_withhold_what_fits() {
    let mut area = Area::empty(vec![HOUR; 2], vec![0.38, 0.40]);
    (area.is_exact, area.nodes) = (true, vec![Node::limited("site", Profile::Constant(kw(20.0)))]);
    area.add(0, (HOUR / 6, 2 * HOUR), (24.0, 22.0));
    area.add(1, (0, 2 * HOUR), (5.5, 11.0));
    (area.priority, area.node) = (vec![1.0; 2], vec![0; 2]);
    let mut more = More { offsets: vec![0; 3], ..More::default() };
    more.add(24.0, 22.0);
    more.add(5.5, 0.0);
    area.more = Some(more);
    let plan = area.plan(&AreaOptions::default()).plan;
    assert_eq!(plan.unmet_bound_kwh, Some(0.0));
    assert!(plan.unmet_kwh < 1e-6 && plan.gap <= 1e-3, "{} kWh, {}", plan.unmet_kwh, plan.gap);
    assert!(!judge_on_off(&area, 0), "limits withhold nothing");
}

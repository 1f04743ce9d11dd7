//! The same area as one linear programme, and what a plan must keep.
use good_lp::solvers::highs::{HighsProblem, highs};
use good_lp::{
    Expression, ProblemVariables, Solution, SolverModel, Variable, constraint, variable,
};
use slackwater_engine::area::{Limit, Profile};
use slackwater_engine::units::Power;

use crate::area::{Area, Planned};

/// What a vehicle has of what it wants.
pub(crate) struct Served {
    /// Energy that it goes without because of limits.
    pub(crate) unmet: f64,
    /// Energy bought.
    bought: f64,
    /// Energy by the end of slots, no more than it wants by then.
    by: Vec<(usize, f64)>,
}

impl Served {
    /// Energy that it goes without because of limits.
    pub(crate) fn unmet(&self) -> f64 {
        self.unmet
    }
}

/// Energies as unknowns, by vehicle and slot.
struct Model {
    variables: ProblemVariables,
    taken: Vec<Vec<Variable>>,
    sold: Vec<Vec<Variable>>,
    /// What each vehicle goes without.
    shed: Vec<Variable>,
}

impl Model {
    fn new(area: &Area) -> Self {
        let mut variables = ProblemVariables::new();
        let mut each = |most: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<Variable>> {
            (0..area.energy.len())
                .map(|row| {
                    (0..area.slots())
                        .map(|slot| variables.add(variable().min(0.0).max(most(row, slot))))
                        .collect()
                })
                .collect()
        };
        let taken = each(&|row, slot| area.cap(row, slot));
        let sold = each(&|row, slot| area.cap_down(row, slot));
        let shed = area.energy.iter().map(|_| variables.add(variable().min(0.0))).collect();
        Self { variables, taken, sold, shed }
    }

    /// Load of the vehicles below a node in a slot, in kWh.
    fn load(&self, area: &Area, node: usize, slot: usize) -> Expression {
        let below = |row: &usize| area.is_below(area.node[*row] as usize, node);
        (0..area.energy.len())
            .filter(below)
            .map(|row| self.taken[row][slot] - self.sold[row][slot])
            .sum()
    }

    /// Stored energy after a slot beyond that on arrival.
    fn gained(&self, area: &Area, row: usize, slot: usize) -> Expression {
        let more = area.more.as_ref().expect("only batteries store");
        let (eta, eta_down) = (more.efficiency[row], more.efficiency_discharge[row]);
        (0..=slot).map(|at| eta * self.taken[row][at] - self.sold[row][at] / eta_down).sum()
    }

    /// Targets and deadlines of those who only charge, as far as they are met.
    fn wishes(&self, area: &Area, has_reserve: bool) -> Vec<good_lp::Constraint> {
        let mut rows = Vec::new();
        let needs = area.needs();
        for (row, taken) in self.taken.iter().enumerate().filter(|(row, _)| !area.discharges(*row))
        {
            let sum: Expression = taken.iter().copied().sum();
            rows.push(constraint!(sum.clone() <= needs[row]));
            rows.push(constraint!(sum + self.shed[row] >= needs[row]));
            for (slot, wanted) in area.wishes(row, has_reserve) {
                let sum: Expression = taken[..=slot].iter().copied().sum();
                rows.push(constraint!(sum + self.shed[row] >= wanted));
            }
        }
        rows
    }

    /// Vehicles that are on for whole slots, but for one in which each need ends.
    fn on_or_off(&mut self, area: &Area) -> Vec<good_lp::Constraint> {
        let mut rows = Vec::new();
        let Some(more) = area.more.as_ref().filter(|_| area.is_exact) else { return rows };
        for row in (0..area.energy.len()).filter(|&row| more.power_min[row] > 0.0) {
            let mut parts = Expression::from(0.0);
            for slot in 0..area.slots() {
                let (cap, taken) = (area.cap(row, slot), self.taken[row][slot]);
                let [full, part] = [(); 2].map(|()| self.variables.add(variable().binary()));
                rows.push(constraint!(taken >= cap * full));
                rows.push(constraint!(taken <= cap * full + cap * part));
                parts += part;
            }
            let needs = more.offsets[row + 1] - more.offsets[row] + 1;
            rows.push(constraint!(parts <= f64::from(needs)));
        }
        rows
    }

    /// The same service for all vehicles, but for a hair.
    fn served(&self, area: &Area, served: &[Served], hair: f64) -> Vec<good_lp::Constraint> {
        let mut rows = Vec::new();
        for (row, (taken, served)) in self.taken.iter().zip(served).enumerate() {
            rows.push(constraint!(self.shed[row] <= served.unmet + hair));
            if area.discharges(row) {
                continue;
            }
            let sum: Expression = taken.iter().copied().sum();
            rows.push(constraint!(sum.clone() <= served.bought + hair));
            rows.push(constraint!(sum >= served.bought - hair));
            for &(slot, had) in &served.by {
                let sum: Expression = taken[..=slot].iter().copied().sum();
                rows.push(constraint!(sum >= had - hair));
            }
        }
        rows
    }

    /// Levels and targets of batteries.
    fn levels(&self, area: &Area) -> Vec<good_lp::Constraint> {
        let mut rows = Vec::new();
        for row in (0..self.taken.len()).filter(|&row| area.discharges(row)) {
            let store = Store::of(area, row);
            let last = area.slots() - 1;
            for slot in 0..=last {
                let gained = self.gained(area, row, slot);
                rows.push(constraint!(gained.clone() <= store.most - store.stored));
                rows.push(constraint!(gained >= store.floor - store.stored));
            }
            let wanted = store.target.min(store.reach) - store.stored;
            rows.push(constraint!(self.gained(area, row, last) + self.shed[row] >= wanted));
        }
        rows
    }
}

/// A battery in kWh.
pub(crate) struct Store {
    /// Most that it stores: its charge limit.
    pub(crate) most: f64,
    pub(crate) stored: f64,
    pub(crate) floor: f64,
    pub(crate) target: f64,
    pub(crate) reach: f64,
}

impl Store {
    pub(crate) fn of(area: &Area, row: usize) -> Self {
        let more = area.more.as_ref().expect("only batteries store");
        let of = |percent: f64| more.capacity[row] * percent / 100.0;
        let stored = of(more.soc[row]);
        let most: f64 = (0..area.slots()).map(|slot| area.cap(row, slot)).sum();
        let limit = of(if more.limit[row].is_nan() { 100.0 } else { more.limit[row] });
        Self {
            most: limit,
            stored,
            floor: of(more.floor[row]),
            target: of(more.target[row]),
            reach: (stored + most * more.efficiency[row]).min(limit),
        }
    }
}

/// Base load of a node and of all below it.
fn base_kw(area: &Area, node: usize, slot: usize) -> f64 {
    let below = area.nodes.iter().enumerate().filter(|(at, _)| area.is_below(*at, node));
    let bases = below.filter_map(|(_, at)| at.base.as_ref()?.at(slot));
    bases.map(Power::as_kw).sum()
}

/// Energy that a profile leaves for vehicles, if it says anything.
fn room(area: &Area, node: usize, slot: usize, profile: &Profile) -> Option<f64> {
    let most = profile.at(slot)?.as_kw();
    Some((most - base_kw(area, node, slot)) * area.hours(slot))
}

/// Presolve of the two searches of an area with whole numbers. Either may cut off an
/// optimum or find nothing, but what it finds is possible.
const PRESOLVE: [&str; 2] = ["on", "off"];

/// The least that the searches of an area find.
fn least(area: &Area, search: impl Fn(&'static str) -> Option<f64>) -> Option<f64> {
    let searches = if area.is_exact { &PRESOLVE[..] } else { &PRESOLVE[..1] };
    searches.iter().filter_map(|presolve| search(presolve)).min_by(f64::total_cmp)
}

fn set_options(area: &Area, programme: HighsProblem, presolve: &'static str) -> HighsProblem {
    let programme = programme.set_option("mip_rel_gap", 1e-9);
    if !area.is_exact {
        return programme;
    }
    programme
        .set_option("mip_abs_gap", 1e-9)
        .set_option("mip_feasibility_tolerance", 1e-8)
        .set_option("primal_feasibility_tolerance", 1e-9)
        .set_option("presolve", presolve)
}

/// Least energy that goes unmet under the hard limits, each vehicle by the
/// deadline by which it misses most; with reserves among the deadlines or not.
pub(crate) fn least_unmet(area: &Area, has_reserve: bool) -> f64 {
    least(area, |presolve| unmet_in(area, has_reserve, presolve))
        .expect("the programme has an optimum")
}

fn unmet_in(area: &Area, has_reserve: bool, presolve: &'static str) -> Option<f64> {
    let mut model = Model::new(area);
    let mut rows = hard_rows(area, &model);
    rows.extend(model.on_or_off(area));
    rows.extend(model.levels(area));
    rows.extend(model.wishes(area, has_reserve));
    let unmet: Expression = model.shed.iter().copied().sum();
    let mut programme = model.variables.minimise(unmet.clone()).using(highs);
    programme.set_verbose(false);
    let programme = set_options(area, programme, presolve);
    let solved = rows.into_iter().fold(programme, SolverModel::with).solve().ok()?;
    Some(solved.eval(unmet))
}

fn hard_rows(area: &Area, model: &Model) -> Vec<good_lp::Constraint> {
    let mut rows = Vec::new();
    for (node, at) in area.nodes.iter().enumerate() {
        for limit in &at.limits {
            for slot in 0..area.slots() {
                match limit {
                    Limit::Import { power_max, price: None } => {
                        if let Some(room) = room(area, node, slot, power_max) {
                            let room = room.max(0.0);
                            rows.push(constraint!(model.load(area, node, slot) <= room));
                        }
                    }
                    Limit::Export { power_max, price: None } => {
                        let most = power_max.at(slot).map(Power::as_kw);
                        let base = base_kw(area, node, slot);
                        if let Some(room) = most.map(|most| (most + base) * area.hours(slot)) {
                            rows.push(constraint!(-1.0 * model.load(area, node, slot) <= room));
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    rows
}

/// Rounding may leave a plan a hair below what it serves, in kWh.
const HAIR: f64 = 1e-7;

/// Energy in kWh that is not counted as missing.
const IGNORED: f64 = 1e-6;

/// Least cost of energy and limits that serves each vehicle just so, within a hair.
pub(crate) fn least_cost(area: &Area, served: &[Served]) -> f64 {
    within_hair(area, served).1
}

/// Least cost, and the hair within which vehicles can be served so. Where they are on or
/// off, a plan may lack up to what the engine counts as nothing.
fn within_hair(area: &Area, served: &[Served]) -> (f64, f64) {
    let hairs = [HAIR, if area.is_exact { IGNORED } else { HAIR }];
    let mut found = hairs.iter().map(|&hair| Some((hair, least_within(area, served, hair)?)));
    found.find_map(|found| found).expect("the programme has an optimum")
}

/// At least what it is without that hair: where limits are tight, each 1e-7 kWh can
/// be worth much. Another such hair saves no more than the first.
pub(crate) fn least_cost_at_least(area: &Area, served: &[Served]) -> f64 {
    let (hair, least) = within_hair(area, served);
    2.0 * least - least_within(area, served, 2.0 * hair).expect("more hair allows more")
}

fn least_within(area: &Area, served: &[Served], hair: f64) -> Option<f64> {
    least(area, |presolve| cost_in(area, served, hair, presolve))
}

fn cost_in(area: &Area, served: &[Served], hair: f64, presolve: &'static str) -> Option<f64> {
    let mut model = Model::new(area);
    let mut rows = model.levels(area);
    rows.extend(model.on_or_off(area));
    rows.extend(model.served(area, served, hair));
    let mut cost = Expression::from(0.0);
    for (row, taken) in model.taken.iter().enumerate() {
        for (slot, &taken) in taken.iter().enumerate() {
            cost += area.price(row, slot) * taken;
        }
        if let Some(more) = area.more.as_ref().filter(|_| area.discharges(row)) {
            for (slot, &sold) in model.sold[row].iter().enumerate() {
                let price = more.export_prices[area.curve[row] as usize * area.slots() + slot];
                let wear = more.wear[row] / more.efficiency_discharge[row];
                cost += (wear - price) * sold;
            }
            cost += -more.end_value[row] * model.gained(area, row, area.slots() - 1);
        }
    }
    rows.extend(hard_rows(area, &model));
    for node in 0..area.nodes.len() {
        for limit in area.nodes[node].limits.clone() {
            cost += soft_cost(area, &mut model, &mut rows, node, &limit);
        }
    }
    let scaled = cost.clone() * (1.0 / area.price_unit);
    let mut programme = model.variables.minimise(scaled).using(highs);
    programme.set_verbose(false);
    let programme = set_options(area, programme, presolve);
    let solved = rows.into_iter().fold(programme, SolverModel::with).solve().ok()?;
    Some(solved.eval(cost))
}

fn soft_cost(
    area: &Area,
    model: &mut Model,
    rows: &mut Vec<good_lp::Constraint>,
    node: usize,
    limit: &Limit,
) -> Expression {
    let mut cost = Expression::from(0.0);
    let peak =
        matches!(limit, Limit::Peak { .. }).then(|| model.variables.add(variable().min(0.0)));
    for slot in 0..area.slots() {
        let load = model.load(area, node, slot);
        let mut beyond = |price: f64, amount: Expression| {
            let excess = model.variables.add(variable().min(0.0));
            rows.push(constraint!(amount <= excess));
            price * excess
        };
        match limit {
            Limit::Import { power_max, price: Some(price) } => {
                if let Some(room) = room(area, node, slot, power_max) {
                    cost += beyond(price.as_per_kwh(), load - room);
                }
            }
            Limit::Blocks(blocks) => {
                let mut below = 0.0;
                for block in blocks {
                    let level = Profile::Constant(block.above);
                    let room =
                        room(area, node, slot, &level).expect("the programme has an optimum");
                    cost += beyond(block.price.as_per_kwh() - below, load.clone() - room);
                    below = block.price.as_per_kwh();
                }
            }
            Limit::Follow { power, price } => {
                if let Some(room) = room(area, node, slot, power) {
                    cost += beyond(price.as_per_kwh(), load.clone() - room);
                    cost += beyond(price.as_per_kwh(), room - load);
                }
            }
            Limit::Peak { incurred, .. } => {
                let room = room(area, node, slot, &Profile::Constant(*incurred))
                    .expect("the programme has an optimum");
                let peak = peak.expect("the programme has an optimum");
                rows.push(constraint!(load - room <= area.hours(slot) * peak));
            }
            _ => {}
        }
    }
    if let (Limit::Peak { price_per_kw, .. }, Some(peak)) = (limit, peak) {
        cost += *price_per_kw * peak;
    }
    cost
}

/// Rebuilds loads and levels from intervals and checks limits and needs;
/// returns what each vehicle has.
pub(crate) fn keeps_its_word(area: &Area, planned: &Planned, seed: u64) -> Vec<Served> {
    let rows = &planned.rows;
    let mut served = Vec::new();
    let mut loads = vec![vec![0.0; area.slots()]; area.nodes.len()];
    let mut unmet = vec![(0.0, 0.0); area.energy.len()];
    for missing in &planned.plan.unmet {
        let of_row = &mut unmet[missing.row];
        of_row.0 += missing.energy_kwh;
        of_row.1 += if missing.node.is_some() { missing.energy_kwh } else { 0.0 };
    }
    for (row, &(unmet, by_limits)) in unmet.iter().enumerate() {
        let energies = energies_of(area, planned, row, seed);
        for (node, loads) in loads.iter_mut().enumerate() {
            if area.is_below(area.node[row] as usize, node) {
                loads.iter_mut().zip(&energies).for_each(|(load, energy)| *load += energy);
            }
        }
        let name = format!("area {seed}: row {row}");
        let bought: f64 = energies.iter().map(|energy| energy.max(0.0)).sum();
        let sold: f64 = energies.iter().map(|energy| (-energy).max(0.0)).sum();
        assert!((bought - rows.numbers.energy_kwh[row]).abs() < 1e-6, "{name}");
        assert!((sold - rows.numbers.discharged_kwh[row]).abs() < 1e-6, "{name}");
        let had = |slot: usize| energies[..=slot].iter().sum::<f64>();
        let by = area.wishes(row, true).into_iter();
        let by = by.map(|(slot, wish)| (slot, had(slot).min(wish))).collect();
        served.push(Served { unmet: by_limits, bought, by });
        if area.discharges(row) {
            keeps_levels(area, (row, unmet), &energies, &name);
            continue;
        }
        assert!(sold == 0.0, "{name} sells");
        let wanted = area.energy[row];
        assert!(bought + unmet >= wanted - 1e-5, "{name}: {bought} of {wanted}, {unmet} unmet");
        keeps_deadlines(area, (row, by_limits, bought), had, &name);
        let is_late = planned.plan.late_reserves.contains(&row);
        let in_time = |(slot, wish): (usize, f64)| had(slot) + unmet >= wish - 1e-6;
        assert!(is_late || area.wishes(row, true).into_iter().all(in_time), "{name}: reserve");
    }
    limits_hold(area, planned, &loads, seed);
    served
}

/// What limits let be missing is that of the deadline by which most is missing,
/// of what the vehicle could have alone.
fn keeps_deadlines(
    area: &Area,
    (row, unmet, bought): (usize, f64, f64),
    had: impl Fn(usize) -> f64,
    name: &str,
) {
    let wanted = area.needs()[row];
    assert!(bought <= wanted + 1e-6, "{name}: {bought} of {wanted}");
    let before = area.wishes(row, false).into_iter().map(|(slot, wish)| wish - had(slot));
    let missing = before.fold(wanted - bought, f64::max);
    assert!((unmet - missing).abs() < 1e-5, "{name}: {missing} is missing, {unmet} unmet");
}

/// Energy of a vehicle in each slot, from its intervals.
pub(crate) fn energies_of(area: &Area, planned: &Planned, row: usize, seed: u64) -> Vec<f64> {
    let rows = &planned.rows;
    let is_whole = area.more.as_ref().is_some_and(|more| more.power_min[row] > 0.0);
    let down = area.more.as_ref().map_or(0.0, |more| more.discharge[row]);
    let mut energies = vec![0.0; area.slots()];
    for at in rows.intervals.range(row) {
        let (start, end) = (rows.intervals.start[at], rows.intervals.end[at]);
        let power = rows.intervals.power_kw[at];
        assert!(start >= area.arrival[row] && end <= area.departure[row], "area {seed}");
        let most = if power > 0.0 { area.power[row] } else { down };
        assert!(power.abs() <= most * (1.0 + 1e-8) + 1e-8, "area {seed}: row {row} at {power} kW");
        if is_whole {
            assert!((power.abs() - most).abs() < 1e-9, "area {seed}: row {row} at {power} kW");
        }
        let mut slot_start = 0;
        for (slot, energy) in energies.iter_mut().enumerate() {
            let slot_end = slot_start + area.lengths[slot];
            let micros = (end.min(slot_end) - start.max(slot_start)).max(0);
            *energy += power * micros as f64 / 3.6e9;
            slot_start = slot_end;
        }
    }
    energies
}

fn keeps_levels(area: &Area, (row, unmet): (usize, f64), energies: &[f64], name: &str) {
    let store = Store::of(area, row);
    let more = area.more.as_ref().expect("only batteries store");
    let mut level = store.stored;
    for &energy in energies {
        level += if energy > 0.0 {
            energy * more.efficiency[row]
        } else {
            energy / more.efficiency_discharge[row]
        };
        let floor = store.floor.min(store.stored);
        assert!(level >= floor - 1e-5 && level <= store.most + 1e-5, "{name} at {level} kWh");
    }
    assert!(level + unmet >= store.target - 1e-5, "{name}: {level} of {}, {unmet}", store.target);
}

fn limits_hold(area: &Area, planned: &Planned, loads: &[Vec<f64>], seed: u64) {
    for (node, at) in area.nodes.iter().enumerate() {
        let told = &planned.plan.nodes[node];
        for (slot, energy) in loads[node].iter().enumerate() {
            let base = base_kw(area, node, slot);
            let load = energy / area.hours(slot) + base;
            let name = format!("area {seed}: node {node} slot {slot}");
            assert!((base - told.base_kw[slot]).abs() < 1e-9, "{name}");
            assert!((load - told.load_kw[slot]).abs() < 1e-5, "{name}");
        }
        for (limit, slot) in
            at.limits.iter().flat_map(|limit| (0..area.slots()).map(move |s| (limit, s)))
        {
            let (most, sign) = match limit {
                Limit::Import { power_max, price: None } => (power_max.at(slot), 1.0),
                Limit::Export { power_max, price: None } => (power_max.at(slot), -1.0),
                _ => continue,
            };
            let Some(most) = most.map(Power::as_kw) else { continue };
            // Other load alone may be beyond a limit.
            let most = most.max(sign * told.base_kw[slot]);
            assert!(
                sign * told.load_kw[slot] <= most + 1e-9 * most.abs().max(1.0),
                "area {seed}: node {node} slot {slot}: {} of {most}",
                told.load_kw[slot]
            );
        }
    }
}

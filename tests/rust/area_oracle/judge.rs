//! The same area as one linear programme, and what a plan must keep.
use good_lp::solvers::highs::highs;
use good_lp::{
    Expression, ProblemVariables, Solution, SolverModel, Variable, constraint, variable,
};
use slackwater_engine::area::limits::{Limit, Profile};
use slackwater_engine::units::Power;

use crate::area::{Area, Planned};

/// Energies as unknowns, by vehicle and slot.
struct Model {
    variables: ProblemVariables,
    taken: Vec<Vec<Variable>>,
}

impl Model {
    fn new(area: &Area) -> Self {
        let mut variables = ProblemVariables::new();
        let taken = (0..area.energy.len())
            .map(|row| {
                (0..area.slots())
                    .map(|slot| variables.add(variable().min(0.0).max(area.cap(row, slot))))
                    .collect()
            })
            .collect();
        Self { variables, taken }
    }

    /// Load of the vehicles below a node in a slot, in kWh.
    fn load(&self, area: &Area, node: usize, slot: usize) -> Expression {
        let below = |row: &usize| area.is_below(area.node[*row] as usize, node);
        (0..area.energy.len()).filter(below).map(|row| self.taken[row][slot]).sum()
    }
}

fn base_kw(area: &Area, node: usize, slot: usize) -> f64 {
    let base = area.nodes[node].base.as_ref().and_then(|base| base.at(slot));
    base.map_or(0.0, Power::as_kw)
}

/// Energy that a profile leaves for vehicles, if it says anything.
fn room(area: &Area, node: usize, slot: usize, profile: &Profile) -> Option<f64> {
    let most = profile.at(slot)?.as_kw();
    Some((most - base_kw(area, node, slot)) * area.hours(slot))
}

/// Least energy that goes unmet under the hard limits.
pub(crate) fn least_unmet(area: &Area) -> f64 {
    let model = Model::new(area);
    let needs = area.needs();
    let served: Expression = model.taken.iter().flatten().copied().sum();
    let mut rows = hard_rows(area, &model);
    for (taken, need) in model.taken.iter().zip(&needs) {
        rows.push(constraint!(taken.iter().copied().sum::<Expression>() <= *need));
    }
    let mut programme = model.variables.minimise(-served.clone()).using(highs);
    programme.set_verbose(false);
    let solved = rows
        .into_iter()
        .fold(programme, SolverModel::with)
        .solve()
        .expect("the programme has an optimum");
    needs.iter().sum::<f64>() - solved.eval(served)
}

fn hard_rows(area: &Area, model: &Model) -> Vec<good_lp::Constraint> {
    let mut rows = Vec::new();
    for (node, at) in area.nodes.iter().enumerate() {
        for limit in &at.limits {
            let Limit::Import { power_max, price: None } = limit else { continue };
            for slot in 0..area.slots() {
                if let Some(room) = room(area, node, slot, power_max) {
                    let room = room.max(0.0);
                    rows.push(constraint!(model.load(area, node, slot) <= room));
                }
            }
        }
    }
    rows
}

/// Least cost of energy and limits that serves each vehicle just so much.
pub(crate) fn least_cost(area: &Area, served: &[f64]) -> f64 {
    let mut model = Model::new(area);
    let mut rows = Vec::new();
    let mut cost = Expression::from(0.0);
    for (row, (taken, served)) in model.taken.iter().zip(served).enumerate() {
        let sum: Expression = taken.iter().copied().sum();
        // Rounding may leave a plan a hair below what it serves.
        rows.push(constraint!(sum.clone() >= served - 1e-7));
        rows.push(constraint!(sum <= served + 1e-7));
        for (slot, &taken) in taken.iter().enumerate() {
            cost += area.price(row, slot) * taken;
        }
    }
    rows.extend(hard_rows(area, &model));
    for node in 0..area.nodes.len() {
        for limit in area.nodes[node].limits.clone() {
            cost += soft_cost(area, &mut model, &mut rows, node, &limit);
        }
    }
    let mut programme = model.variables.minimise(cost.clone()).using(highs);
    programme.set_verbose(false);
    let solved = rows
        .into_iter()
        .fold(programme, SolverModel::with)
        .solve()
        .expect("the programme has an optimum");
    solved.eval(cost)
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

/// Rebuilds loads from intervals and checks limits and needs; returns what
/// each vehicle is served.
pub(crate) fn keeps_its_word(area: &Area, planned: &Planned, seed: u64) -> Vec<f64> {
    let rows = &planned.rows;
    let mut loads = vec![vec![0.0; area.slots()]; area.nodes.len()];
    let mut unmet = vec![0.0; area.energy.len()];
    planned.plan.unmet.iter().for_each(|missing| unmet[missing.row] += missing.energy_kwh);
    for (row, &unmet) in unmet.iter().enumerate() {
        let mut served = 0.0;
        for at in rows.offsets[row] as usize..rows.offsets[row + 1] as usize {
            let (start, end) = (rows.interval_start[at], rows.interval_end[at]);
            assert!(start >= area.arrival[row] && end <= area.departure[row], "area {seed}");
            assert!(rows.interval_power_kw[at] <= area.power[row] * (1.0 + 1e-9), "area {seed}");
            let mut slot_start = 0;
            for slot in 0..area.slots() {
                let slot_end = slot_start + area.lengths[slot];
                let micros = (end.min(slot_end) - start.max(slot_start)).max(0);
                let energy = rows.interval_power_kw[at] * micros as f64 / 3.6e9;
                served += energy;
                for (node, loads) in loads.iter_mut().enumerate() {
                    if area.is_below(area.node[row] as usize, node) {
                        loads[slot] += energy;
                    }
                }
                slot_start = slot_end;
            }
        }
        let wanted = area.energy[row];
        assert!((served - rows.energy_kwh[row]).abs() < 1e-6, "area {seed}: row {row}");
        assert!(
            (served + unmet - wanted).abs() < 1e-6,
            "area {seed}: row {row} gets {served} of {wanted}, unmet {unmet}"
        );
    }
    for (node, at) in area.nodes.iter().enumerate() {
        for limit in &at.limits {
            let Limit::Import { power_max, price: None } = limit else { continue };
            for (slot, load) in loads[node].iter().enumerate() {
                let Some(room) = room(area, node, slot, power_max) else { continue };
                let breach = planned.plan.nodes[node].breach_kw * area.hours(slot);
                let most = room.max(0.0).max(breach.min(room + breach));
                assert!(
                    *load <= most + 1e-6,
                    "area {seed}: node {node} slot {slot}: {load} of {room}"
                );
            }
        }
    }
    rows.energy_kwh.clone()
}

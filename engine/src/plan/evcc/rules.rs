//! Rules that need binaries, and which of them some values break.
//!
//! ```text
//! meter    n + x ≤ N·(1 − y),  e + z ≤ E·y,  c ≤ C·y and d ≤ D·(1 − y) without leave to use the grid
//! flows    c ≤ C·w,  d ≤ D·(1 − w)
//! on, off  c ≤ C·on,  c ≥ c_min·(on − top),  s ≥ (s_max − c_min)·top      top only if demanded
//! full     s ≥ s_max·full,  c + missed ≥ wanted·(1 − full)                in the relaxation already
//! ```
use std::collections::BTreeSet;

use crate::lp::{Column, MixedProgram, Row};
use crate::plan::evcc::columns::{DUST_KWH, Demand, EvccModel};

/// Rules whose binaries are in the programme, each for single steps. Few steps break a rule of the
/// contract, and a search takes the longer the more binaries it has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ActiveRules {
    /// Steps with a direction of the meter.
    meters: BTreeSet<usize>,
    /// Batteries and steps with a direction of the battery.
    flows: BTreeSet<(usize, usize)>,
    /// Batteries and steps that are on or off.
    switches: BTreeSet<(usize, usize)>,
    /// Batteries and positions of demands that end when the battery is full.
    demands: BTreeSet<(usize, usize)>,
}

impl ActiveRules {
    /// All rules of a model.
    pub(crate) fn all(model: &EvccModel) -> Self {
        let steps = model.steps.len();
        let of_each = |count: &dyn Fn(usize) -> usize| -> BTreeSet<(usize, usize)> {
            let batteries = 0..model.batteries.len();
            batteries.flat_map(|battery| (0..count(battery)).map(move |at| (battery, at))).collect()
        };
        Self {
            meters: (0..steps).collect(),
            flows: of_each(&|_| steps),
            switches: of_each(&|_| steps),
            demands: of_each(&|battery| model.batteries[battery].demands.len()),
        }
    }

    /// Steps with a direction of the meter.
    pub(crate) fn meters(&self) -> impl Iterator<Item = usize> {
        self.meters.iter().copied()
    }

    /// Batteries and steps with a direction of the battery.
    pub(crate) fn flows(&self) -> impl Iterator<Item = (usize, usize)> {
        self.flows.iter().copied()
    }

    /// Adds the rules that some values break. Returns true if there is one.
    pub(crate) fn add_broken(&mut self, model: &EvccModel, values: &[f64]) -> bool {
        let broken = Self::all(model).into_broken(model, values);
        let is_broken = broken != Self::default();
        self.meters.extend(broken.meters);
        self.flows.extend(broken.flows);
        self.switches.extend(broken.switches);
        self.demands.extend(broken.demands);
        is_broken
    }

    /// Those of these rules that some values break.
    fn into_broken(mut self, model: &EvccModel, values: &[f64]) -> Self {
        self.meters.retain(|&step| breaks_meter(model, values, step));
        self.flows.retain(|&(battery, step)| {
            let columns = &model.batteries[battery];
            values[columns.charge[step]].min(values[columns.discharge[step]]) > DUST_KWH
        });
        self.switches.retain(|&at| breaks_switch(model, values, at));
        self.demands.retain(|&(battery, position)| {
            let demand = &model.batteries[battery].demands[position];
            breaks_demand(model, values, (battery, demand))
        });
        self
    }

    /// Programme with the binaries of these rules.
    pub(crate) fn add_binaries(&self, model: &EvccModel) -> MixedProgram {
        let linear = model.program.clone();
        let mut mixed = MixedProgram { linear, ..MixedProgram::default() };
        for &step in &self.meters {
            add_meter(model, &mut mixed, step);
        }
        for &(battery, step) in &self.flows {
            let columns = &model.batteries[battery];
            let (charge, discharge) = (columns.charge[step], columns.discharge[step]);
            if model.upper(charge).min(model.upper(discharge)) > 0.0 {
                let charges = add_binary(&mut mixed);
                only_if(&mut mixed, model, charge, charges);
                only_unless(&mut mixed, model, discharge, charges);
            }
        }
        for &at in &self.switches {
            add_switch(model, &mut mixed, at);
        }
        let demands = self.demands.iter();
        let is_full = demands.map(|&(battery, at)| model.batteries[battery].demands[at].is_full);
        mixed.integers.extend(is_full);
        mixed
    }
}

/// Charges of a step that need an idle import, and discharges that need an idle export.
pub(crate) fn without_grid(model: &EvccModel, step: usize) -> (Vec<usize>, Vec<usize>) {
    let batteries = || model.request.batteries.iter().zip(&model.batteries);
    let charges = batteries().filter(|(battery, _)| !battery.charge_from_grid);
    let discharges = batteries().filter(|(battery, _)| !battery.discharge_to_grid);
    (
        charges.map(|(_, columns)| columns.charge[step]).collect(),
        discharges.map(|(_, columns)| columns.discharge[step]).collect(),
    )
}

/// Columns of the export that exclude an import. An export limit of zero is never a direction: what
/// it loses excludes nothing.
pub(crate) fn list_exports(model: &EvccModel, step: usize) -> Vec<usize> {
    let is_closed = model.request.grid.p_max_exp == Some(0.0);
    if is_closed { vec![model.steps[step].export] } else { model.export_terms(step) }
}

fn breaks_meter(model: &EvccModel, values: &[f64], step: usize) -> bool {
    let is_on = |columns: &[usize]| columns.iter().any(|&column| values[column] > DUST_KWH);
    let (charges, discharges) = without_grid(model, step);
    let imports = is_on(&model.import_terms(step));
    let exports = is_on(&list_exports(model, step));
    imports && (exports || is_on(&charges)) || exports && is_on(&discharges)
}

fn breaks_switch(model: &EvccModel, values: &[f64], (battery, step): (usize, usize)) -> bool {
    let columns = &model.batteries[battery];
    let (charge, least) = (values[columns.charge[step]], model.charge_least(battery, step));
    if charge <= DUST_KWH || charge >= least - DUST_KWH {
        return false;
    }
    let is_demanded = columns.demands.iter().any(|demand| demand.step == step);
    let full = model.request.batteries[battery].s_max / 1000.0;
    !(is_demanded && values[columns.level[step]] >= full - least - DUST_KWH)
}

fn breaks_demand(model: &EvccModel, values: &[f64], (battery, demand): (usize, &Demand)) -> bool {
    let columns = &model.batteries[battery];
    let full = model.request.batteries[battery].s_max / 1000.0;
    let given = values[columns.charge[demand.step]] + values[demand.missed];
    given < demand.wanted - DUST_KWH && values[columns.level[demand.step]] < full - DUST_KWH
}

/// Adds the direction of the meter: 1 is an export.
fn add_meter(model: &EvccModel, mixed: &mut MixedProgram, step: usize) {
    let exports_now = add_binary(mixed);
    let (charges, discharges) = without_grid(model, step);
    for column in model.import_terms(step).into_iter().chain(discharges) {
        only_unless(mixed, model, column, exports_now);
    }
    for column in list_exports(model, step).into_iter().chain(charges) {
        only_if(mixed, model, column, exports_now);
    }
}

/// Adds the binaries of a charge that is off or at least its least.
fn add_switch(model: &EvccModel, mixed: &mut MixedProgram, (battery, step): (usize, usize)) {
    let columns = &model.batteries[battery];
    let (charge, least) = (columns.charge[step], model.charge_least(battery, step));
    if least <= 0.0 || model.upper(charge) <= 0.0 {
        return;
    }
    let is_on = add_binary(mixed);
    only_if(mixed, model, charge, is_on);
    let mut terms = vec![(charge, -1.0), (is_on, least)];
    if columns.demands.iter().any(|demand| demand.step == step) {
        let top = add_binary(mixed);
        terms.push((top, -least));
        let lowest = model.level_least(battery);
        let needed = model.request.batteries[battery].s_max / 1000.0 - least;
        if needed > lowest {
            let rise = vec![(columns.level[step], -1.0), (top, needed - lowest)];
            at_most(mixed, rise, -lowest);
        }
    }
    at_most(mixed, terms, 0.0);
}

fn add_binary(mixed: &mut MixedProgram) -> usize {
    let column = mixed.linear.add_column(Column { cost: 0.0, lower: 0.0, upper: 1.0 });
    mixed.integers.push(column);
    column
}

/// Adds the row: the column is zero unless the binary is 1.
fn only_if(mixed: &mut MixedProgram, model: &EvccModel, column: usize, binary: usize) {
    let most = model.upper(column);
    at_most(mixed, vec![(column, 1.0), (binary, -most)], 0.0);
}

/// Adds the row: the column is zero if the binary is 1.
fn only_unless(mixed: &mut MixedProgram, model: &EvccModel, column: usize, binary: usize) {
    let most = model.upper(column);
    at_most(mixed, vec![(column, 1.0), (binary, most)], most);
}

fn at_most(mixed: &mut MixedProgram, terms: Vec<(usize, f64)>, upper: f64) {
    mixed.linear.rows.push(Row { lower: f64::NEG_INFINITY, upper, terms });
}

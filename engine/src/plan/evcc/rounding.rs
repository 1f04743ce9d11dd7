//! Schedule near some values that keeps all rules, without a search.
//!
//! A charge below its least is on as long as the charges that are on do not run ahead of the values,
//! and a battery is full where it is full there. What is left is a linear programme. Where its
//! solution breaks another rule, the meter or the battery takes the direction of its larger flow, and
//! the programme is solved again.
use crate::lp::{Limits, LinearProgram};
use crate::plan::evcc::columns::{DUST_KWH, EvccModel};
use crate::plan::evcc::rules::{ActiveRules, list_exports, without_grid};

/// Most solutions of the programme. Each decides the directions that the one before had open.
const ROUNDS_MAX: usize = 5;

/// Cost and values of the columns near `values` that keep all rules; `None` if the decisions do not
/// go together.
pub(crate) fn round_values(
    model: &EvccModel,
    values: &[f64],
    limits: &Limits,
) -> Option<(f64, Vec<f64>)> {
    let mut program = model.program.clone();
    for battery in 0..model.batteries.len() {
        decide_switches(model, values, battery, &mut program);
        let full = model.request.batteries[battery].s_max / 1000.0;
        let columns = &model.batteries[battery];
        for demand in &columns.demands {
            let is_full = values[columns.level[demand.step]] >= full - DUST_KWH;
            let whole = f64::from(u8::from(is_full)).min(model.upper(demand.is_full));
            let column = &mut program.columns[demand.is_full];
            (column.lower, column.upper) = (whole, whole);
        }
    }
    for _ in 0..ROUNDS_MAX {
        let solution = program.minimise_from(values, limits).ok()?;
        let mut broken = ActiveRules::default();
        if !broken.add_broken(model, &solution.values) {
            return Some((solution.cost, solution.values));
        }
        for step in broken.meters() {
            decide_meter(model, &solution.values, step, &mut program);
        }
        for (battery, step) in broken.flows() {
            let columns = &model.batteries[battery];
            let (charge, discharge) = (columns.charge[step], columns.discharge[step]);
            let charges_more = solution.values[charge] > solution.values[discharge];
            forbid_flow(&mut program, if charges_more { discharge } else { charge });
        }
    }
    None
}

fn forbid_flow(program: &mut LinearProgram, column: usize) {
    program.columns[column].upper = program.columns[column].lower;
}

/// Decides the direction of the meter in a step.
fn decide_meter(model: &EvccModel, values: &[f64], step: usize, program: &mut LinearProgram) {
    let sum = |columns: &[usize]| columns.iter().map(|&column| values[column]).sum::<f64>();
    let (imports, exports) = (model.import_terms(step), list_exports(model, step));
    let (charges, discharges) = without_grid(model, step);
    let exports_now = if (sum(&imports) - sum(&exports)).abs() > DUST_KWH {
        sum(&exports) > sum(&imports)
    } else {
        // An idle meter allows either.
        sum(&charges) >= sum(&discharges)
    };
    let idle = if exports_now { [imports, discharges] } else { [exports, charges] };
    for column in idle.into_iter().flatten() {
        forbid_flow(program, column);
    }
}

/// Decides the steps in which a battery is on.
fn decide_switches(model: &EvccModel, values: &[f64], battery: usize, program: &mut LinearProgram) {
    // Energy that the values have charged and the steps that are on have not.
    let mut behind = 0.0;
    for step in 0..model.steps.len() {
        let column = model.batteries[battery].charge[step];
        let (charge, least) = (values[column], model.charge_least(battery, step));
        if least <= 0.0 {
            continue;
        }
        behind += charge;
        let is_on = charge > DUST_KWH && behind >= 0.5 * least && least <= model.upper(column);
        if is_on && program.columns[column].upper >= least {
            program.columns[column].lower = least;
            behind -= charge.max(least);
        } else {
            forbid_flow(program, column);
        }
    }
}

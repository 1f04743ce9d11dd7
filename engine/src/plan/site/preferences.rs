//! What decides between plans of the same shortfall and of (almost) the same
//! cost.
use crate::lp::{Column, Limits, LinearProgram, LpError, Row};
use crate::plan::search_status::SearchStatus;
use crate::plan::site::demand_charge::add_up;
use crate::plan::site::device::Device;
use crate::plan::site::lexicographic::{
    Objective, Solved, bound_row, keep_optimal, set_costs, value_of,
};
use crate::plan::site::model::SiteModel;
use crate::plan::site::request::{Preference, SiteRequest};
use crate::tolerance::SITE_MIN_KWH;

/// The values that the preferences choose, and how that ended; those of
/// `start` where there are none, or where a limit struck. What a limit left
/// undecided is decided by nobody. With `keeps_switching`, whatever has a
/// least power is on or off in the slots of `start`.
pub(crate) fn apply(
    request: &SiteRequest,
    model: &SiteModel,
    start: Solved,
    limits: &Limits,
    keeps_switching: bool,
) -> (Vec<f64>, SearchStatus) {
    let count = model.program.columns.len();
    let status = start.status;
    let mut values = start.solution.values.clone();
    values.truncate(count);
    if request.preferences.is_empty() || status != SearchStatus::Optimal {
        return (values, status);
    }
    let mut program = within_budget(request, model, start);
    keep_directions(model, &mut program, &values);
    if keeps_switching {
        keep_switching(model, &mut program, &values);
    }
    for preference in &request.preferences {
        let objective = match preference {
            Preference::Earlier => earlier(model),
            Preference::Smoother => smoother(model, &mut program),
            Preference::Fairer => fairer(request, model, &mut program, &values),
        };
        if objective.is_empty() {
            continue;
        }
        set_costs(&mut program, &objective);
        let solution = match program.minimise_within(limits) {
            Ok(solution) => solution,
            Err(error @ (LpError::IterationLimit | LpError::TimeLimit)) => {
                return (values, error.into());
            }
            // Within the tolerances nothing else is left to choose from.
            Err(_) => return (values, status),
        };
        keep_optimal(&mut program, &solution);
        values = solution.values;
        values.truncate(count);
    }
    (values, status)
}

/// The plans that cost the least, or up to the budget more.
fn within_budget(request: &SiteRequest, model: &SiteModel, start: Solved) -> LinearProgram {
    let Solved { mut program, solution, .. } = start;
    if request.preference_budget.as_amount() > 0.0 {
        let row = money_row(request, model, &program, &solution.values);
        program.rows.push(row);
    } else {
        keep_optimal(&mut program, &solution);
    }
    program
}

/// The costs of a programme at most those of some values, and the budget more.
pub(crate) fn money_row(
    request: &SiteRequest,
    model: &SiteModel,
    program: &LinearProgram,
    values: &[f64],
) -> Row {
    let costs = program.columns.iter().enumerate();
    let money: Objective =
        costs.filter(|(_, c)| c.cost != 0.0).map(|(index, c)| (index, c.cost)).collect();
    let budget = request.preference_budget.as_amount() / model.unit;
    bound_row(&money, value_of(&money, values) + budget)
}

/// Preferences turn no battery around, so what was exclusive stays so.
fn keep_directions(model: &SiteModel, program: &mut LinearProgram, values: &[f64]) {
    for pair in &model.pairs {
        let idle = if values[pair.second] > values[pair.first] { pair.first } else { pair.second };
        program.columns[idle].upper = program.columns[idle].lower.max(values[idle].min(0.0));
    }
    for guard in &model.guards {
        if values[guard.gate] <= SITE_MIN_KWH {
            let gate = &mut program.columns[guard.gate];
            gate.upper = gate.lower.max(0.0);
        } else {
            let terms = guard.terms();
            let lower = guard.least.min(value_of(&terms, values));
            program.rows.push(Row { lower, upper: f64::INFINITY, terms });
        }
    }
    for start in &model.starts {
        let value = values[start.column].round();
        let column = &mut program.columns[start.column];
        (column.lower, column.upper) = (value, value);
    }
}

/// Preferences switch nothing on that has a least power, and hold it to that
/// power, except in the last slot of a run that reaches a level at which it may
/// end: there the level stays, and any power is a top-off.
fn keep_switching(model: &SiteModel, program: &mut LinearProgram, values: &[f64]) {
    for semi in &model.semis {
        let column = &mut program.columns[semi.column];
        if values[semi.column] <= SITE_MIN_KWH {
            column.upper = column.lower.max(0.0);
        } else if model.ends_run(semi, values) {
            let level = &mut program.columns[semi.level];
            let value = values[semi.level].clamp(level.lower, level.upper);
            (level.lower, level.upper) = (value, value);
        } else {
            column.lower = column.lower.max(semi.least).min(column.upper);
        }
    }
}

/// Hours from the start to each kWh charged.
pub(crate) fn earlier(model: &SiteModel) -> Objective {
    let mut objective = Objective::new();
    let mut after = 0.0;
    let mut by_slot = Vec::with_capacity(model.grid.len());
    for hours in &model.grid.hours {
        by_slot.push(after + hours / 2.0);
        after += hours;
    }
    for (storage, columns) in model.storages.iter().zip(&model.columns) {
        let Some(storage) = storage else { continue };
        let slots = storage.stay.clone();
        objective.extend(columns.charge.iter().zip(slots).map(|(&c, slot)| (c, by_slot[slot])));
    }
    objective
}

/// Steps of the power at the meter from slot to slot, in kW.
fn smoother(model: &SiteModel, program: &mut LinearProgram) -> Objective {
    let mut objective = Objective::new();
    let net = |slot: usize, sign: f64| {
        let per_kw = sign / model.grid.hours[slot];
        if let Some(meter) = model.meters[slot] {
            return (vec![(meter.import, per_kw), (meter.export, -per_kw)], 0.0);
        }
        let (terms, fixed) = model.import_terms(slot);
        let terms = terms.into_iter().map(|(c, weight)| (c, weight * per_kw)).collect::<Vec<_>>();
        (terms, fixed * per_kw)
    };
    for slot in 1..model.grid.len() {
        let (mut terms, known) = net(slot, 1.0);
        let (before, known_before) = net(slot - 1, -1.0);
        terms.extend(before);
        add_up(&mut terms);
        let bound = |index: &(usize, f64)| {
            let column = &program.columns[index.0];
            index.1.abs() * column.upper.abs().max(column.lower.abs())
        };
        let most = terms.iter().map(bound).sum::<f64>() + (known + known_before).abs();
        let up = program.add_column(Column { cost: 0.0, lower: 0.0, upper: most });
        let down = program.add_column(Column { cost: 0.0, lower: 0.0, upper: most });
        terms.extend([(up, -1.0), (down, 1.0)]);
        let constant = -(known + known_before);
        program.rows.push(Row { lower: constant, upper: constant, terms });
        objective.extend([(up, 1.0), (down, 1.0)]);
    }
    objective
}

/// The largest share of a wish that is missed, by priority.
fn fairer(
    request: &SiteRequest,
    model: &SiteModel,
    program: &mut LinearProgram,
    values: &[f64],
) -> Objective {
    let wishes: Vec<_> = model.misses.iter().filter(|miss| !miss.is_late).collect();
    if wishes.iter().all(|miss| values[miss.column] * miss.energy <= SITE_MIN_KWH) {
        return Objective::new();
    }
    let upper = wishes.iter().map(|miss| miss.priority).fold(0.0, f64::max);
    let most = program.add_column(Column { cost: 0.0, lower: 0.0, upper });
    for miss in wishes {
        let wanted = match (&request.devices[miss.device], &model.storages[miss.device]) {
            (Device::Shiftable(_), _) | (_, None) => 1.0,
            (_, Some(storage)) => {
                let goal = &storage.goals[miss.goal];
                (goal.wanted - storage.start).max(SITE_MIN_KWH) / storage.efficiency_in
            }
        };
        let terms = vec![(miss.column, miss.priority / wanted), (most, -1.0)];
        program.rows.push(Row { lower: f64::NEG_INFINITY, upper: 0.0, terms });
    }
    vec![(most, 1.0)]
}

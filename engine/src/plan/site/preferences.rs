//! Choice among plans of equal shortfall and of equal cost, or of a cost within the budget.
//!
//! The preferences are further objectives of the lexicographic minimisation, in the order of the
//! request:
//!
//! ```text
//! Earlier     Σ_i,t mid_t·c_it                  mid_t: hours to the middle of slot t
//! Smoother    Σ_t |P_t − P_{t−1}|               P_t: net power at the meter in kW
//! Fairer      max_k priority_k·s_k / wanted_k   s_k: shortfall of target k
//! ```
//!
//! If energy of a storage is still exported for nothing then, a last objective keeps it:
//!
//! ```text
//! Kept        Σ_t,i d_it                       over the slots t whose export earns nothing
//! ```
//!
//! They are linear programmes: the directions of storages, the guards and the starts of loads stay
//! as the money stage left them.
use crate::lp::{Column, Limits, LinearProgram, LpError, Row};
use crate::plan::search_status::SearchStatus;
use crate::plan::site::demand_charge::add_up;
use crate::plan::site::device::Device;
use crate::plan::site::lexicographic::{Objective, Solved, bound_row, keep_optimal, value_of};
use crate::plan::site::model::{MissKind, SiteModel};
use crate::plan::site::request::{Preference, SiteRequest};
use crate::tolerance::SITE_MIN_KWH;

/// Applies the preferences to `start`; returns the chosen values and the termination. Without
/// preferences the values are those of `start`; if a limit ends a preference, they are those of
/// the one before it. With `keeps_switching`, devices with a least power are on in the same slots
/// as in `start`.
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
    // The stages before may have added columns of their own.
    values.truncate(count);
    let has_work = !request.preferences.is_empty() || gives_away(model, &values);
    if !has_work || status != SearchStatus::Optimal {
        return (values, status);
    }
    let money = start.program.objective();
    let mut program = within_budget(request, model, start);
    // Fix what is not linear, then apply one preference after the other on the optimal face.
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
        program.set_costs(&objective);
        let solution = match program.minimise_within(limits) {
            Ok(solution) => solution,
            Err(error @ (LpError::IterationLimit | LpError::TimeLimit)) => {
                return (values, error.into());
            }
            // Within the tolerances no other solution is left.
            Err(_) => return (values, status),
        };
        keep_optimal(&mut program, &solution);
        values = solution.values;
        values.truncate(count);
    }
    if gives_away(model, &values) {
        // The budget is for the preferences: keeping energy costs nothing.
        program.rows.push(bound_row(&money, value_of(&money, &values)));
        program.set_costs(&unpaid_discharges(model));
        if let Ok(solution) = program.minimise_within(limits) {
            values = solution.values;
            values.truncate(count);
        }
    }
    (values, status)
}

/// True if a storage discharges in a slot in which the site exports for nothing. At no cost a plan
/// may keep that energy as well.
fn gives_away(model: &SiteModel, values: &[f64]) -> bool {
    let exports =
        |slot: usize| model.meters[slot].is_some_and(|meter| values[meter.export] > SITE_MIN_KWH);
    let mut unpaid = unpaid_columns(model);
    unpaid.any(|(slot, column)| values[column] > SITE_MIN_KWH && exports(slot))
}

/// Energy that storages discharge in slots in which an export earns nothing.
fn unpaid_discharges(model: &SiteModel) -> Objective {
    unpaid_columns(model).map(|(_, column)| (column, 1.0)).collect()
}

/// Slots in which an export earns nothing, with the discharge of each storage in them.
fn unpaid_columns(model: &SiteModel) -> impl Iterator<Item = (usize, usize)> + '_ {
    let storages = model.storages.iter().zip(&model.columns);
    let discharges = storages.filter_map(|(storage, columns)| Some((storage.as_ref()?, columns)));
    discharges
        .flat_map(|(storage, columns)| storage.stay.clone().zip(&columns.discharge))
        .filter(|&(slot, _)| model.grid.export[slot] == 0.0)
        .filter_map(|(slot, discharge)| Some((slot, (*discharge)?)))
}

/// Restricts a programme to the plans of least cost, or of up to the budget more.
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

/// Row that bounds the cost of a programme by the cost of `values` plus the budget.
pub(crate) fn money_row(
    request: &SiteRequest,
    model: &SiteModel,
    program: &LinearProgram,
    values: &[f64],
) -> Row {
    let money = program.objective();
    let budget = request.preference_budget.as_amount() / model.unit;
    bound_row(&money, value_of(&money, values) + budget)
}

/// Fixes the directions of pairs, the guards and the starts of loads at those of `values`, so that
/// exclusive flows stay exclusive.
fn keep_directions(model: &SiteModel, program: &mut LinearProgram, values: &[f64]) {
    for pair in &model.pairs {
        // Of two opposite flows the lesser one stays idle.
        let idle = if values[pair.second] > values[pair.first] { pair.first } else { pair.second };
        program.columns[idle].upper = program.columns[idle].lower.max(values[idle].min(0.0));
    }
    for guard in &model.guards {
        if values[guard.gate] <= SITE_MIN_KWH {
            let gate = &mut program.columns[guard.gate];
            gate.upper = gate.lower.max(0.0);
        } else {
            let lower = guard.least.min(value_of(&guard.terms, values));
            let terms = guard.terms.clone();
            program.rows.push(Row { lower, upper: f64::INFINITY, terms });
        }
    }
    for start in &model.starts {
        let value = values[start.column].round();
        let column = &mut program.columns[start.column];
        (column.lower, column.upper) = (value, value);
    }
}

/// Fixes the slots in which devices with a least power are on, and keeps the least power. In the
/// last slot of a run that reaches a level at which it may end, the level is fixed instead, and
/// any power is a top-off.
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

/// Objective of `Earlier`: kWh charged, or used by heat units, times the hours from the first slot to the middle of its
/// slot. Gaps do not count.
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
    for (room, columns) in model.rooms.iter().zip(&model.room_columns) {
        let steps = room.iter().flat_map(|room| &room.slots).zip(&columns.used);
        let runs = steps.filter_map(|(slot, used)| slot.zip(*used));
        objective.extend(runs.map(|(slot, used)| (used, by_slot[slot])));
    }
    objective
}

/// Objective of `Smoother`: the sum of the absolute steps of the power at the meter from slot to
/// slot, in kW. Adds two columns and a row per step.
fn smoother(model: &SiteModel, program: &mut LinearProgram) -> Objective {
    let mut objective = Objective::new();
    // Net power at the meter, as terms and a constant, times `sign`.
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
        // Largest step that the bounds of the columns allow.
        let most = terms.iter().map(bound).sum::<f64>() + (known + known_before).abs();
        // The step is `up - down`; at most one of the two is positive in an optimum.
        let up = program.add_column(Column { cost: 0.0, lower: 0.0, upper: most });
        let down = program.add_column(Column { cost: 0.0, lower: 0.0, upper: most });
        terms.extend([(up, -1.0), (down, 1.0)]);
        let constant = -(known + known_before);
        program.rows.push(Row { lower: constant, upper: constant, terms });
        objective.extend([(up, 1.0), (down, 1.0)]);
    }
    objective
}

/// Objective of `Fairer`: the largest missing share of a target times its priority. Empty if
/// nothing is missing. Adds one column and a row per target.
fn fairer(
    request: &SiteRequest,
    model: &SiteModel,
    program: &mut LinearProgram,
    values: &[f64],
) -> Objective {
    let is_wish = |kind| !matches!(kind, MissKind::Late | MissKind::Power);
    let wishes: Vec<_> = model.misses.iter().filter(|miss| is_wish(miss.kind)).collect();
    if wishes.iter().all(|miss| values[miss.column] * miss.energy <= SITE_MIN_KWH) {
        return Objective::new();
    }
    let upper = wishes.iter().map(|miss| miss.priority).fold(0.0, f64::max);
    let most = program.add_column(Column { cost: 0.0, lower: 0.0, upper });
    for miss in wishes {
        let wanted = match (&request.devices[miss.device], &model.storages[miss.device]) {
            (Device::Shiftable(_), _) | (_, None) => 1.0,
            (_, Some(storage)) if miss.kind == MissKind::Drive => {
                storage.drives[miss.goal].energy.max(SITE_MIN_KWH) / storage.efficiency_in
            }
            (_, Some(storage)) => {
                let goal = &storage.goals[miss.goal];
                // A need of zero must not become a divisor.
                (goal.wanted - storage.start).max(SITE_MIN_KWH) / storage.efficiency_in
            }
        };
        let terms = vec![(miss.column, miss.priority / wanted), (most, -1.0)];
        program.rows.push(Row { lower: f64::NEG_INFINITY, upper: 0.0, terms });
    }
    vec![(most, 1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::site::planner::tests::{planned, powers_of};
    use crate::plan::site::request::tests::{at, hard, home, house, site, van};
    use crate::units::{kw, money};

    fn charger(name: &str, power: f64, energy: f64) -> Device {
        Device::Vehicle(van(name, power, energy))
    }

    #[test]
    fn a_kwh_counts_the_hours_to_the_middle_of_its_slot() {
        let mut late = van("van", 4.0, 4.0);
        late.arrival = Some(at(30));
        let model = SiteModel::new(&site(&[10, 10], &[Device::Vehicle(late)]), false);
        let hours: Vec<f64> = earlier(&model).iter().map(|&(_, hours)| hours).collect();
        // From 30 to 60 and from 60 to 120 minutes.
        assert_eq!(hours, [0.75, 1.5]);
    }

    #[test]
    fn a_budget_buys_earlier_energy_and_no_more() {
        let mut request = site(&[20, 10], &[charger("van", 4.0, 4.0)]);
        assert_eq!(powers_of(&planned(&request), "van"), [0.0, 4.0]);
        // Each kWh an hour earlier costs 0.10.
        request.preference_budget = money(0.15);
        let plan = planned(&request);
        assert_eq!(powers_of(&plan, "van"), [1.5, 2.5]);
        assert!((plan.cost.as_amount() - 0.55).abs() < 1e-6 && plan.certificate.is_proved());
        request.preferences.clear();
        assert_eq!(powers_of(&planned(&request), "van"), [0.0, 4.0]);
    }

    #[test]
    fn energy_is_not_given_away() {
        // Half of 10 kWh is stored, and the house draws 1 kWh in each of two hours.
        let devices = [Device::Battery(home(5.0, 10.0, 50.0)), house(&[1.0, 1.0])];
        let mut request = site(&[30, 20], &devices);
        for preferences in [vec![Preference::Earlier], Vec::new()] {
            request.preferences = preferences;
            let plan = planned(&request);
            assert_eq!(powers_of(&plan, "home"), [-1.0, -1.0]);
            assert!(plan.slots.iter().all(|slot| slot.export <= crate::units::Energy::ZERO));
            assert!(plan.certificate.is_proved());
        }
        // A budget is not spent on it.
        request.preferences = vec![Preference::Earlier];
        request.preference_budget = money(1.0);
        assert_eq!(powers_of(&planned(&request), "home"), [-1.0, -1.0]);
        // Without a load nothing is discharged.
        let alone = site(&[30, 20], &[Device::Battery(home(5.0, 10.0, 50.0))]);
        assert_eq!(powers_of(&planned(&alone), "home"), [0.0, 0.0]);
    }

    #[test]
    fn energy_makes_room_for_what_is_paid_for() {
        let devices = [Device::Battery(home(5.0, 10.0, 100.0))];
        let plan = planned(&site(&[30, -20], &devices));
        assert_eq!(powers_of(&plan, "home"), [-5.0, 5.0]);
    }

    #[test]
    fn the_row_for_money_is_in_units_of_the_programme() {
        let mut request = site(&[30, 10], &[charger("van", 4.0, 4.0)]);
        request.preference_budget = money(0.5);
        let model = SiteModel::new(&request, false);
        let mut values = vec![0.0; model.program.columns.len()];
        values[model.columns[0].charge[0]] = 2.0;
        let row = money_row(&request, &model, &model.program, &values);
        // 2·0.30 and the budget of 0.50, over a unit of 0.25.
        assert!((row.upper - 4.4).abs() < 1e-7);
        assert_eq!(row.terms.len(), 2);
    }

    #[test]
    fn smoother_power_takes_fewer_and_smaller_steps() {
        let mut request = site(&[10, 10, 10], &[charger("van", 6.0, 6.0), house(&[3.0, 0.0, 0.0])]);
        request.preferences = vec![Preference::Smoother];
        // 9 kWh in three hours.
        assert_eq!(powers_of(&planned(&request), "van"), [0.0, 3.0, 3.0]);
        request.preferences = vec![Preference::Earlier, Preference::Smoother];
        assert_eq!(powers_of(&planned(&request), "van"), [6.0, 0.0, 0.0]);
    }

    #[test]
    fn a_shortage_is_shared_by_parts_of_the_wishes() {
        let mut request = site(&[10], &[charger("a", 9.0, 4.0), charger("b", 9.0, 6.0)]);
        request.import_limit = Some(hard(5.0));
        request.preferences = vec![Preference::Fairer];
        let plan = planned(&request);
        assert_eq!((powers_of(&plan, "a"), powers_of(&plan, "b")), (vec![2.0], vec![3.0]));
    }

    #[test]
    fn preferences_turn_nothing_around() {
        let devices = [Device::Battery(home(5.0, 10.0, 50.0)), house(&[1.0])];
        let model = SiteModel::new(&site(&[10], &devices), false);
        let mut values = vec![0.0; model.program.columns.len()];
        let (charge, discharge) =
            (model.columns[0].charge[0], model.columns[0].discharge[0].unwrap());
        let meter = model.meters[0].unwrap();
        (values[discharge], values[meter.export]) = (3.0, 2.0);
        let mut program = model.program.clone();
        keep_directions(&model, &mut program, &values);
        let upper =
            [charge, discharge, meter.import, meter.export].map(|c| program.columns[c].upper);
        assert_eq!(upper[..], [0.0, 5.0, 0.0, 4.0]);
    }

    #[test]
    fn preferences_switch_nothing_on_and_keep_the_least_power() {
        let mut slow = van("van", 4.0, 7.0);
        slow.power_min = kw(2.0);
        let model = SiteModel::new(&site(&[10, 10, 10], &[Device::Vehicle(slow)]), false);
        let columns = &model.columns[0];
        let mut values = vec![0.0; model.program.columns.len()];
        // Off, then at 4 to a level of 4, then a top-off of 3 to the 7 that are wanted.
        (values[columns.charge[1]], values[columns.level[1]]) = (4.0, 4.0);
        (values[columns.charge[2]], values[columns.level[2]]) = (3.0, 7.0);
        let mut program = model.program.clone();
        keep_switching(&model, &mut program, &values);
        let bounds = |column: usize| (program.columns[column].lower, program.columns[column].upper);
        assert_eq!(bounds(columns.charge[0]), (0.0, 0.0));
        assert_eq!(bounds(columns.charge[1]), (2.0, 4.0));
        assert_eq!((bounds(columns.charge[2]), bounds(columns.level[2])), ((0.0, 4.0), (7.0, 7.0)));
    }
}

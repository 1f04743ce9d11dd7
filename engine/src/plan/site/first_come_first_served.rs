//! What a site does where a limit ended the search before any answer.
use crate::plan::site::model::{LimitKind, SiteModel};
use crate::plan::site::storage::Storage;
use crate::tolerance::SITE_MIN_KWH;

/// Values in which what is wanted is charged as early as limits allow:
/// whoever weighs more first, then the earlier deadline, then the order of
/// the request. Nothing is given back, loads that can wait do not run, and
/// sunshine is not turned down.
pub(crate) fn first_come(model: &SiteModel) -> Vec<f64> {
    let mut values: Vec<f64> = model.program.columns.iter().map(|column| column.lower).collect();
    // Nobody counts on it: all may be missed.
    for miss in &model.misses {
        values[miss.column] = model.program.columns[miss.column].upper;
    }
    use_sunshine(model, &mut values);
    let storages = model.storages.iter().enumerate();
    let mut order: Vec<(usize, &Storage)> =
        storages.filter_map(|(device, storage)| Some((device, storage.as_ref()?))).collect();
    order.sort_by(|(_, one), (_, other)| {
        let deadline = |storage: &Storage| storage.goals.first().map_or(usize::MAX, |g| g.slots);
        let by_weight = other.priority.total_cmp(&one.priority);
        by_weight.then(deadline(one).cmp(&deadline(other)))
    });
    for (device, storage) in order {
        charge(model, device, storage, &mut values);
    }
    for slot in 0..model.grid.len() {
        if let Some(meter) = model.meters[slot] {
            let net = net_in(model, &values, slot, None);
            values[meter.import] = net.max(0.0);
            values[meter.export] = (-net).max(0.0);
        }
    }
    values
}

/// All sunshine that the meter may pass on.
fn use_sunshine(model: &SiteModel, values: &mut [f64]) {
    for (slot, flows) in model.flows.iter().enumerate() {
        for flow in flows.iter().filter(|flow| flow.weight < 0.0) {
            if model.storages[flow.device].is_none() {
                let most = model.program.columns[flow.column].upper;
                values[flow.column] = most.min(room(model, values, slot, (flow.device, -1.0)));
            }
        }
    }
}

fn charge(model: &SiteModel, device: usize, storage: &Storage, values: &mut [f64]) {
    let goals = storage.goals.iter().map(|goal| goal.wanted);
    let wanted = goals.fold(storage.reserve, f64::max).min(storage.ceiling);
    let mut level = storage.start;
    for (index, slot) in storage.stay.clone().enumerate() {
        let hours = model.grid.hours[slot];
        let needed = (wanted - level).max(0.0) / storage.efficiency_in;
        let possible = storage.charge_from(level, slot, hours).min(needed);
        let kwh = possible.min(room(model, values, slot, (device, 1.0)));
        // Less than the least power is a top-off, and only where it is the rest.
        let is_enough = kwh >= storage.charge_min[index].min(needed) - SITE_MIN_KWH;
        if kwh > 0.0 && is_enough {
            values[model.columns[device].charge[index]] = kwh;
            level += kwh * storage.efficiency_in;
        }
        if let Some(&column) = model.columns[device].level.get(index) {
            values[column] = level;
        }
    }
}

/// Energy that a device may still draw, or feed with a sign of -1, before a
/// limit is reached.
fn room(model: &SiteModel, values: &[f64], slot: usize, (device, sign): (usize, f64)) -> f64 {
    let mut room = f64::INFINITY;
    for limit in &model.limits {
        let share = limit.shares[device];
        let Some(most) = limit.limit_kw[slot].filter(|_| share > 0.0) else { continue };
        let draws = match limit.kind {
            LimitKind::Import => sign > 0.0,
            LimitKind::Export => sign < 0.0,
            LimitKind::Group(..) => true,
        };
        if draws {
            let load = sign * net_in(model, values, slot, Some(&limit.shares));
            room = room.min((most * model.grid.hours[slot] - load).max(0.0) / share);
        }
    }
    room
}

/// What passes in a slot: what is fixed and what the values say.
fn net_in(model: &SiteModel, values: &[f64], slot: usize, shares: Option<&[f64]>) -> f64 {
    let terms = model.draws(slot, shares);
    let chosen: f64 = terms.iter().map(|&(column, weight)| weight * values[column]).sum();
    model.fixed_in(slot, shares) + chosen
}

//! Undoes what is exclusive and happens at once only because it costs nothing.
use crate::plan::site::model::{Flow, Pair, SiteModel};
use crate::tolerance::{SITE_MIN_KWH, allowed};

/// Takes out of the values what charges and discharges, or imports and
/// exports, in one slot without any use. Returns the pairs of which it does
/// have a use, because energy is then paid for: those need a binary.
pub(crate) fn settle(model: &SiteModel, values: &mut [f64]) -> Vec<Pair> {
    let before = values.to_vec();
    let is_both = |pair: &&Pair| before[pair.first].min(before[pair.second]) > SITE_MIN_KWH;
    let burning = undo(model, values);
    if keeps_limits(model, values) {
        return burning;
    }
    // What is given up held another limit: all that is exclusive is a choice.
    values.copy_from_slice(&before);
    model.pairs.iter().filter(is_both).copied().collect()
}

/// Whether the rows of all limits hold.
fn keeps_limits(model: &SiteModel, values: &[f64]) -> bool {
    let rows = model.limits.iter().flat_map(|limit| limit.rows.iter().flatten().flatten());
    rows.map(|&row| &model.program.rows[row]).all(|row| {
        let sum: f64 = row.terms.iter().map(|&(column, weight)| weight * values[column]).sum();
        sum <= row.upper + allowed(SITE_MIN_KWH, row.upper)
    })
}

fn undo(model: &SiteModel, values: &mut [f64]) -> Vec<Pair> {
    let mut burning = Vec::new();
    for pair in model.pairs.iter().filter(|pair| pair.device.is_some()) {
        if !settle_storage(model, values, pair) {
            burning.push(*pair);
        }
    }
    for pair in model.pairs.iter().filter(|pair| pair.device.is_none()) {
        let both = values[pair.first].min(values[pair.second]);
        if both <= 0.0 {
            continue;
        }
        // A kWh that is bought and sold at one price is a kWh left alone.
        if both <= SITE_MIN_KWH || model.import_least[pair.slot] >= model.grid.export[pair.slot] {
            values[pair.first] -= both;
            values[pair.second] -= both;
        } else {
            burning.push(*pair);
        }
    }
    burning
}

/// Whether a storage now charges or discharges only.
fn settle_storage(model: &SiteModel, values: &mut [f64], pair: &Pair) -> bool {
    let (charge, discharge) = (values[pair.first], values[pair.second]);
    let Some(storage) = pair.device.and_then(|device| model.storages[device].as_ref()) else {
        return true;
    };
    if charge.min(discharge) <= 0.0 {
        return true;
    }
    let stored = charge * storage.efficiency_in - discharge / storage.efficiency_out;
    let after = if stored >= 0.0 {
        (stored / storage.efficiency_in, 0.0)
    } else {
        (0.0, -stored * storage.efficiency_out)
    };
    let freed = (charge - discharge) - (after.0 - after.1);
    if charge.min(discharge) > SITE_MIN_KWH && !give_up(model, values, pair.slot, freed) {
        return false;
    }
    (values[pair.first], values[pair.second]) = after;
    true
}

/// Takes energy that is no longer needed from sunshine, or from an import
/// that costs nothing, or sends it where it earns nothing.
fn give_up(model: &SiteModel, values: &mut [f64], slot: usize, freed: f64) -> bool {
    let mut changes = Vec::new();
    let mut rest = freed;
    let sunshine = |flow: &&Flow| flow.weight < 0.0 && model.storages[flow.device].is_none();
    for flow in model.flows[slot].iter().filter(sunshine) {
        let part = values[flow.column].min(rest);
        changes.push((flow.column, -part));
        rest -= part;
    }
    if let Some(meter) = model.meters[slot] {
        let part = values[meter.import].min(rest);
        if model.import_least[slot] >= 0.0 {
            changes.push((meter.import, -part));
            rest -= part;
        }
    }
    if rest > SITE_MIN_KWH {
        return false;
    }
    for (column, change) in changes {
        values[column] += change;
    }
    true
}

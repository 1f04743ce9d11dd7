//! Removal of opposite flows in one slot that cost nothing.
//!
//! The linear relaxation may charge and discharge a storage, or import and export, in one slot. A
//! storage that charges `c` and discharges `d` keeps its level with the one flow that stores
//! `η·c − d/ζ`. The energy at the plug that this saves reduces solar power, or the import unless
//! its price is negative. If they are less than that energy, burning it has a value, and the pair
//! needs a binary.
use crate::plan::site::lexicographic::DUST;
use crate::plan::site::model::{Flow, Pair, SiteModel};

/// Removes opposite flows in one slot from the values where they have no use. Returns the pairs
/// that need a binary: those that burn energy at a gain, or all pairs with two flows if a limit
/// would be exceeded without them.
pub(crate) fn settle(model: &SiteModel, values: &mut [f64]) -> Vec<Pair> {
    let before = values.to_vec();
    let is_both = |pair: &&Pair| before[pair.first].min(before[pair.second]) > DUST;
    let burning = remove_opposite_flows(model, values);
    if keeps_limits(model, values) {
        return burning;
    }
    // A removed flow kept a limit: restore the values, and make all these pairs binary.
    values.copy_from_slice(&before);
    model.pairs.iter().filter(is_both).copied().collect()
}

/// True if the rows of all limits hold, to [`DUST`] of the limit (at least of 1 kWh).
fn keeps_limits(model: &SiteModel, values: &[f64]) -> bool {
    let rows = model.limits.iter().flat_map(|limit| limit.rows.iter().flatten().flatten());
    rows.map(|&row| &model.program.rows[row]).all(|row| {
        let sum: f64 = row.terms.iter().map(|&(column, weight)| weight * values[column]).sum();
        sum <= row.upper + DUST * row.upper.abs().max(1.0)
    })
}

/// Removes opposite flows of storages, then of the meter; returns the pairs in which it failed.
fn remove_opposite_flows(model: &SiteModel, values: &mut [f64]) -> Vec<Pair> {
    let mut burning = Vec::new();
    for pair in model.pairs.iter().filter(|pair| pair.device.is_some()) {
        if !merge_storage_flows(model, values, pair) {
            burning.push(*pair);
        }
    }
    for pair in model.pairs.iter().filter(|pair| pair.device.is_none()) {
        let both = values[pair.first].min(values[pair.second]);
        if both <= 0.0 {
            continue;
        }
        // A kWh that is bought and sold in one slot earns nothing at import price >= export price.
        if both <= DUST || model.import_least[pair.slot] >= model.grid.export[pair.slot] {
            values[pair.first] -= both;
            values[pair.second] -= both;
        } else {
            burning.push(*pair);
        }
    }
    burning
}

/// Replaces the two flows of a storage by one with the same change of level. Returns false if that
/// frees energy that would have to be paid for.
fn merge_storage_flows(model: &SiteModel, values: &mut [f64], pair: &Pair) -> bool {
    let (charge, discharge) = (values[pair.first], values[pair.second]);
    let Some(storage) = pair.device.and_then(|device| model.storages[device].as_ref()) else {
        return true;
    };
    if charge.min(discharge) <= 0.0 {
        return true;
    }
    let stored = charge * storage.efficiency_in - discharge / storage.efficiency_out;
    // `(charge, discharge)` with the same change of level and one of the two at zero.
    let after = if stored >= 0.0 {
        (stored / storage.efficiency_in, 0.0)
    } else {
        (0.0, -stored * storage.efficiency_out)
    };
    let freed = (charge - discharge) - (after.0 - after.1);
    if charge.min(discharge) > DUST && !absorb_surplus(model, values, pair.slot, freed) {
        return false;
    }
    (values[pair.first], values[pair.second]) = after;
    true
}

/// Reduces solar power, and then an import that is not paid for, by `freed` kWh. Returns false,
/// and changes nothing, if they are less than that.
fn absorb_surplus(model: &SiteModel, values: &mut [f64], slot: usize, freed: f64) -> bool {
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
    if rest > DUST {
        return false;
    }
    for (column, change) in changes {
        values[column] += change;
    }
    true
}

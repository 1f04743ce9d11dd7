//! Plan of a site where a time or node limit ended the search before any solution was found.
use crate::plan::site::model::{LimitKind, MissKind, SiteModel};
use crate::plan::site::storage::Storage;
use crate::tolerance::SITE_MIN_KWH;

/// Values of a plan in which storages charge as early as the limits allow. A higher priority comes
/// first, then an earlier deadline, then the order of the request. No storage discharges, no
/// shiftable load runs, solar power is used as far as the limits allow, and thermostats run within what
/// all others leave.
pub(crate) fn first_come(model: &SiteModel) -> Vec<f64> {
    let mut values: Vec<f64> = model.program.columns.iter().map(|column| column.lower).collect();
    // Shortfalls are at their upper bounds: the rows of the targets hold for any charge.
    for miss in &model.misses {
        values[miss.column] = model.program.columns[miss.column].upper;
    }
    use_sunshine(model, &mut values);
    let storages = model.storages.iter().enumerate();
    let mut order: Vec<(usize, &Storage)> =
        storages.filter_map(|(device, storage)| Some((device, storage.as_ref()?))).collect();
    order.sort_by(|(_, one), (_, other)| {
        let deadline = |storage: &Storage| {
            let drive = storage.drives.first().map(|drive| &drive.goal);
            let goals = storage.goals.first().into_iter().chain(drive);
            goals.map(|goal| goal.slots).min().unwrap_or(usize::MAX)
        };
        // A storage without leave to charge from the grid takes what all others leave.
        let by_grid = other.charges_from_grid.cmp(&one.charges_from_grid);
        let by_weight = by_grid.then(other.priority.total_cmp(&one.priority));
        by_weight.then(deadline(one).cmp(&deadline(other)))
    });
    for (device, storage) in order {
        charge(model, device, storage, &mut values);
    }
    for device in 0..model.rooms.len() {
        hold_band(model, device, &mut values);
    }
    for slot in 0..model.grid.len() {
        if let Some(meter) = model.meters[slot] {
            // Import and export balance the flows that were chosen.
            let net = net_in(model, &values, slot, None);
            values[meter.import] = net.max(0.0);
            values[meter.export] = (-net).max(0.0);
        }
    }
    values
}

/// Uses solar power as far as the limits allow.
fn use_sunshine(model: &SiteModel, values: &mut [f64]) {
    for (slot, flows) in model.flows.iter().enumerate() {
        for flow in flows.iter().filter(|flow| flow.weight < 0.0) {
            if model.storages[flow.device].is_none() {
                let most = model.program.columns[flow.column].upper;
                values[flow.column] =
                    most.min(residual_capacity(model, values, slot, (flow.device, -1.0)));
            }
        }
    }
}

/// Charges one storage in time order, within the limits that the values leave.
fn charge(model: &SiteModel, device: usize, storage: &Storage, values: &mut [f64]) {
    let lacks = model.misses.iter().filter(|m| m.device == device && m.kind == MissKind::Drive);
    let lacks: Vec<usize> = lacks.map(|miss| miss.column).collect();
    let mut level = storage.start;
    for (index, slot) in storage.stay.clone().enumerate() {
        for drive in storage.drives_in(slot) {
            // A drive lacks what the battery does not hold.
            let missing = (storage.drives[drive].energy - level).max(0.0);
            values[lacks[drive]] = missing / storage.efficiency_in;
            level = storage.level_after_drives(drive..drive + 1, level);
        }
        let hours = model.grid.hours[slot];
        let bounds = storage.bounds_in(slot);
        let wanted = bounds.wanted.min(bounds.ceiling);
        let needed = (wanted - level).max(0.0) / storage.efficiency_in;
        let possible = storage.charge_from(level, slot, hours).min(needed);
        let mut room = residual_capacity(model, values, slot, (device, 1.0));
        if !storage.charges_from_grid {
            room = room.min((-net_in(model, values, slot, None)).max(0.0));
        }
        let kwh = possible.min(room);
        // Less than the least power is possible only as a top-off, which takes all that is needed.
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

/// Runs a heat unit by a thermostat, within the limits that the values leave.
fn hold_band(model: &SiteModel, device: usize, values: &mut [f64]) {
    let Some(room) = &model.rooms[device] else { return };
    let left = |slot| residual_capacity(model, values, slot, (device, 1.0));
    let used = room.thermostat(model.grid.len(), left);
    let columns = &model.room_columns[device];
    for (&column, &slot) in columns.used.iter().zip(&room.slots) {
        if let Some((column, slot)) = column.zip(slot) {
            values[column] = used[slot];
        }
    }
    for (&column, kwh) in columns.added.iter().zip(room.added(&used)) {
        if let Some(column) = column {
            values[column] = kwh;
        }
    }
    // The largest energies outside the band: their rows hold for any level.
    for &(column, _) in &model.discomfort {
        values[column] = model.program.columns[column].upper;
    }
}

/// Residual capacity in kWh for a device in a slot: the energy that it can still draw (`sign` 1) or
/// feed (`sign` -1) within all limits. The tuple is `(device, sign)`.
fn residual_capacity(
    model: &SiteModel,
    values: &[f64],
    slot: usize,
    (device, sign): (usize, f64),
) -> f64 {
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

/// Net energy in kWh that a slot draws: fixed energy and the flows at their values. `shares` weighs
/// the devices; `None` counts each in full.
fn net_in(model: &SiteModel, values: &[f64], slot: usize, shares: Option<&[f64]>) -> f64 {
    let terms = model.draws(slot, shares);
    let chosen: f64 = terms.iter().map(|&(column, weight)| weight * values[column]).sum();
    model.fixed_in(slot, shares) + chosen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::site::device::Device;
    use crate::plan::site::request::tests::{hard, house, site, sun, van};
    use crate::units::kw;

    #[test]
    fn less_than_the_least_power_is_drawn_only_as_the_rest() {
        let mut van = van("van", 10.0, 12.0);
        van.power_min = kw(4.0);
        let mut request = site(&[10, 10, 10], &[Device::Vehicle(van), house(&[9.0, 0.0, 0.0])]);
        request.import_limit = Some(hard(11.0));
        let model = SiteModel::new(&request, false);
        let values = first_come(&model);
        // 2 kW beside the house are below the least; then 10, and a rest of 2.
        let columns = &model.columns[0];
        assert_eq!(columns.charge.iter().map(|&c| values[c]).collect::<Vec<_>>(), [0.0, 10.0, 2.0]);
        assert_eq!(columns.level.iter().map(|&c| values[c]).collect::<Vec<_>>(), [0.0, 10.0, 12.0]);
    }

    #[test]
    fn sunshine_is_used_up_to_the_export_limit() {
        let mut request = site(&[10], &[sun(&[5.0], true), house(&[1.0])]);
        request.export_limit = Some(hard(3.0));
        let model = SiteModel::new(&request, false);
        let values = first_come(&model);
        let meter = model.meters[0].unwrap();
        assert!((values[model.flows[0][0].column] - 4.0).abs() < 1e-12);
        assert_eq!((values[meter.import], values[meter.export]), (0.0, 3.0));
    }

    proptest! {
        /// Two vans by hand: the one that weighs more fills the room that the house leaves, and
        /// the other one what is left of it.
        #[test]
        fn who_weighs_more_is_served_first(
            house_kw in prop::collection::vec(0.0..6.0_f64, 1..6), most in 6.0..12.0_f64,
            wanted in prop::array::uniform2(0.0..20.0_f64), weighs_more in 0..2usize,
        ) {
            let mut vans = [van("a", 5.0, wanted[0]), van("b", 5.0, wanted[1])];
            vans[weighs_more].priority = 2.0;
            let [a, b] = vans.map(Device::Vehicle);
            let mut request = site(&vec![10; house_kw.len()], &[a, b, house(&house_kw)]);
            request.import_limit = Some(hard(most));
            let model = SiteModel::new(&request, false);
            let values = first_come(&model);
            let mut room: Vec<f64> = house_kw.iter().map(|house| most - house).collect();
            for device in [weighs_more, 1 - weighs_more] {
                let mut rest = wanted[device];
                for (slot, room) in room.iter_mut().enumerate() {
                    let expected = room.min(5.0).min(rest);
                    let found = model.columns[device].charge.get(slot).map_or(0.0, |&c| values[c]);
                    prop_assert!((found - expected).abs() < 1e-9, "{device} {slot}");
                    (*room, rest) = (*room - expected, rest - expected);
                }
            }
        }
    }
}

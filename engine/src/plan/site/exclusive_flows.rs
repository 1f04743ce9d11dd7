//! Undoes what is exclusive and happens at once only because it costs nothing.
use crate::plan::site::model::{Flow, Pair, SiteModel};
use crate::tolerance::{SITE_MIN_KWH, allowed};

/// Removes opposite flows in one slot from the values where they have no use. Returns the pairs
/// that need a binary: those that burn energy at a gain, or all pairs with two flows if a limit
/// would be exceeded without them.
pub(crate) fn settle(model: &SiteModel, values: &mut [f64]) -> Vec<Pair> {
    let before = values.to_vec();
    let is_both = |pair: &&Pair| before[pair.first].min(before[pair.second]) > SITE_MIN_KWH;
    let burning = remove_opposite_flows(model, values);
    if keeps_limits(model, values) {
        return burning;
    }
    // A removed flow kept a limit: restore the values, and make all these pairs binary.
    values.copy_from_slice(&before);
    model.pairs.iter().filter(is_both).copied().collect()
}

/// True if the rows of all limits hold, to [`SITE_MIN_KWH`] of the limit (at least of 1 kWh).
fn keeps_limits(model: &SiteModel, values: &[f64]) -> bool {
    let rows = model.limits.iter().flat_map(|limit| limit.rows.iter().flatten().flatten());
    rows.map(|&row| &model.program.rows[row]).all(|row| {
        let sum: f64 = row.terms.iter().map(|&(column, weight)| weight * values[column]).sum();
        sum <= row.upper + allowed(SITE_MIN_KWH, row.upper)
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

/// Replaces the two flows of a storage by one with the same change of level. Returns false if that
/// frees energy that would have to be paid for, or takes from a charge that is wanted.
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
    let is_wanted = storage.power_wanted[pair.slot - storage.stay.start] > 0.0;
    let keeps = |values: &mut [f64]| !is_wanted && absorb_surplus(model, values, pair.slot, freed);
    if charge.min(discharge) > SITE_MIN_KWH && !keeps(values) {
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
    if rest > SITE_MIN_KWH {
        return false;
    }
    for (column, change) in changes {
        values[column] += change;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::site::device::Device;
    use crate::plan::site::request::SiteRequest;
    use crate::plan::site::request::tests::{group, hard, home, house, site, sun};
    use crate::prices::curve::tests::curve_of;

    /// One hour with a battery that stores and gives back half, and with a house of 2 kW.
    fn request(cents: i32) -> SiteRequest {
        let mut home = home(5.0, 10.0, 50.0);
        (home.battery.efficiency, home.discharge.efficiency) = (0.5, 0.5);
        site(&[cents], &[Device::Battery(home), house(&[2.0])])
    }

    /// Charge, discharge, import and export of the first slot.
    fn columns(model: &SiteModel) -> [usize; 4] {
        let (battery, meter) = (&model.columns[0], model.meters[0].unwrap());
        [battery.charge[0], battery.discharge[0].unwrap(), meter.import, meter.export]
    }

    /// Settled values of a charge, discharge, import and export, and the number of pairs that are
    /// left to a choice.
    fn settled(model: &SiteModel, flows: [f64; 4]) -> ([f64; 4], usize) {
        let mut values = vec![0.0; model.program.columns.len()];
        let columns = columns(model);
        for (column, kwh) in columns.into_iter().zip(flows) {
            values[column] = kwh;
        }
        let burning = settle(model, &mut values);
        (columns.map(|column| values[column]), burning.len())
    }

    #[test]
    fn a_battery_keeps_its_level_and_the_meter_buys_less() {
        let model = SiteModel::new(&request(10), false);
        // 4·0.5 − 1/0.5 = 0, so the 3 kWh between are not needed.
        assert_eq!(settled(&model, [4.0, 1.0, 5.0, 0.0]), ([0.0, 0.0, 2.0, 0.0], 0));
        // 4·0.5 − 0.5/0.5 = 1, which 2 kWh charge as well.
        assert_eq!(settled(&model, [4.0, 0.5, 5.5, 0.0]), ([2.0, 0.0, 4.0, 0.0], 0));
        // 1·0.5 − 2/0.5 = −3.5, which gives 1.75 kWh without the detour.
        assert_eq!(settled(&model, [1.0, 2.0, 1.0, 0.0]), ([0.0, 1.75, 0.25, 0.0], 0));
        assert_eq!(settled(&model, [3.0, 0.0, 5.0, 0.0]), ([3.0, 0.0, 5.0, 0.0], 0));
    }

    #[test]
    fn where_buying_is_paid_for_it_is_a_choice() {
        let model = SiteModel::new(&request(-10), false);
        assert_eq!(settled(&model, [4.0, 1.0, 5.0, 0.0]), ([4.0, 1.0, 5.0, 0.0], 1));
        // Dust is undone at any price.
        assert_eq!(settled(&model, [1e-6, 1e-6, 2.0, 0.0]).1, 0);
    }

    #[test]
    fn sunshine_is_turned_down_before_less_is_bought() {
        let mut request = request(-10);
        request.devices.push(sun(&[3.0], true));
        let model = SiteModel::new(&request, false);
        let sunshine = model.flows[0].iter().find(|flow| flow.device == 2).unwrap().column;
        let [charge, discharge, import, _] = columns(&model);
        let mut values = vec![0.0; model.program.columns.len()];
        for (column, kwh) in [(charge, 4.0), (discharge, 1.0), (import, 2.0), (sunshine, 3.0)] {
            values[column] = kwh;
        }
        assert!(settle(&model, &mut values).is_empty());
        let found = (values[charge], values[import], values[sunshine]);
        assert_eq!(found, (0.0, 2.0, 0.0));
    }

    #[test]
    fn what_is_bought_to_be_sold_is_left_alone_unless_it_pays() {
        let mut request = request(10);
        request.export_prices = Some(curve_of(60, &[5]));
        let model = SiteModel::new(&request, false);
        assert_eq!(settled(&model, [0.0, 0.0, 5.0, 3.0]), ([0.0, 0.0, 2.0, 0.0], 0));
        request.export_prices = Some(curve_of(60, &[20]));
        let model = SiteModel::new(&request, false);
        assert_eq!(settled(&model, [0.0, 0.0, 5.0, 3.0]), ([0.0, 0.0, 5.0, 3.0], 1));
    }

    #[test]
    fn what_holds_a_limit_is_not_undone() {
        let mut request = request(10);
        let Device::Battery(battery) = &mut request.devices[0] else { unreachable!() };
        battery.group = Some("roof".to_owned());
        let mut sun = sun(&[10.0], false);
        let Device::Solar(solar) = &mut sun else { unreachable!() };
        solar.group = Some("roof".to_owned());
        request.devices.extend([
            sun,
            Device::Shiftable(crate::plan::site::request::tests::washer(10.0, 60.0)),
        ]);
        request.groups = vec![group("roof", None, Some(hard(7.0)))];
        let model = SiteModel::new(&request, false);
        let [charge, discharge, import, _] = columns(&model);
        let mut values = vec![0.0; model.program.columns.len()];
        // The washer runs, and 10 kW of sunshine leave the roof but for the 3 of the battery.
        let washer = model.starts[0].column;
        for (column, value) in [(charge, 4.0), (discharge, 1.0), (import, 5.0), (washer, 1.0)] {
            values[column] = value;
        }
        let before = values.clone();
        let burning = settle(&model, &mut values);
        assert_eq!(burning.iter().map(|pair| pair.first).collect::<Vec<_>>(), [charge]);
        assert_eq!(values, before);
    }
}

//! Baseline: the site without a plan, as the measure of savings.
use crate::plan::site::accounting::{Account, Books, money, power};
use crate::plan::site::device::Device;
use crate::plan::site::model::SiteModel;
use crate::plan::site::plan::SiteBaseline;
use crate::plan::site::request::SiteRequest;
use crate::plan::site::storage::Storage;

/// Baseline of a request. Vehicles charge at full power from plug-in until their targets are met
/// and their drives are provided for,
/// stationary batteries are idle, shiftable loads run as early as possible, thermostats hold the edge of
/// the comfort band, and no solar power is curtailed. Limits are ignored, and breaches of them listed; who may not charge from the grid
/// does so all the same.
pub(crate) fn without_plan(request: &SiteRequest, model: &SiteModel) -> SiteBaseline {
    let account = |(index, device): (usize, &Device)| {
        let slots = model.grid.len();
        let mut account = Account { drawn: vec![0.0; slots], fed: vec![0.0; slots] };
        match (device, &model.storages[index]) {
            (Device::Vehicle(_), Some(storage)) => charge_at_once(model, storage, &mut account),
            (Device::Shiftable(_), _) => run_first(model, index, &mut account),
            (Device::Solar(_), _) => {
                for (slot, fed) in account.fed.iter_mut().enumerate() {
                    // All that the sun gives: columns at their upper bounds, and fixed energies,
                    // which are negative.
                    let own = model.flows[slot].iter().filter(|flow| flow.device == index);
                    let most = own.map(|flow| model.program.columns[flow.column].upper);
                    *fed = most.sum::<f64>() - model.fixed[index][slot];
                }
            }
            (Device::Heat(_), _) => {
                let room = model.rooms[index].as_ref();
                let used = room.map(|room| room.thermostat(slots, |_| f64::INFINITY));
                account.drawn = used.unwrap_or(account.drawn);
            }
            (Device::Load(_), _) => account.drawn.clone_from(&model.fixed[index]),
            _ => {}
        }
        account
    };
    let accounts: Vec<Account> = request.devices.iter().enumerate().map(account).collect();
    let books = Books::new(request, model, &accounts);
    let highest = books.import.iter().zip(&model.grid.hours).map(|(kwh, hours)| kwh / hours);
    SiteBaseline {
        cost: books.costs.total(),
        stored_value: money(books.stored_value),
        import_max: power(highest.fold(0.0, f64::max)),
        costs: books.costs,
        breaches: books.breaches,
    }
}

/// Charges a vehicle at full power, from arrival and after each drive, up to all that it wants.
fn charge_at_once(model: &SiteModel, storage: &Storage, account: &mut Account) {
    let mut before = storage.start;
    for slot in storage.stay.clone() {
        before = storage.level_after_drives(storage.drives_in(slot), before);
        let kwh = storage.charge_from(before, slot, model.grid.hours[slot]);
        // A vehicle above all that it wants keeps its level.
        let level = before + storage.efficiency_in * kwh;
        let level = level.min(storage.bounds_in(slot).wanted).max(before);
        account.drawn[slot] = (level - before) / storage.efficiency_in;
        before = level;
    }
}

/// Runs a shiftable load at its earliest possible start.
fn run_first(model: &SiteModel, device: usize, account: &mut Account) {
    let Some(start) = model.starts.iter().find(|start| start.device == device) else { return };
    for (slot, flows) in model.flows.iter().enumerate() {
        let own = flows.iter().filter(|flow| flow.column == start.column);
        account.drawn[slot] += own.map(|flow| flow.weight).sum::<f64>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::site::request::tests::{
        at, battery_of, hard, home, house, site, sun, van, washer,
    };
    use crate::units::{kw, per_kwh, percent};

    fn baseline(request: &SiteRequest) -> SiteBaseline {
        without_plan(request, &SiteModel::new(request, false))
    }

    #[test]
    fn a_vehicle_charges_at_full_power_from_its_arrival() {
        let mut van = van("van", 4.0, 6.0);
        van.arrival = Some(at(60));
        let found = baseline(&site(&[10, 20, 30, 40], &[Device::Vehicle(van)]));
        // 4 kWh at 0.20 and 2 at 0.30.
        assert!((found.cost.as_amount() - 1.4).abs() < 1e-9);
        assert_eq!(found.import_max, kw(4.0));
    }

    #[test]
    fn losses_are_paid_for_and_the_largest_wish_is_met() {
        let mut van = van("van", 4.0, 2.0);
        van.battery = Some(battery_of(10.0, 20.0));
        van.battery.as_mut().unwrap().efficiency = 0.5;
        van.end_value = per_kwh(0.1);
        van.reserve = percent(40.0);
        let found = baseline(&site(&[10, 20], &[Device::Vehicle(van)]));
        // From 2 kWh to the reserve of 4, which is more than 2 + 2·0.5: 4 kWh at the plug.
        assert!((found.cost.as_amount() - 0.4).abs() < 1e-9);
        assert!((found.stored_value.as_amount() - 0.4).abs() < 1e-9);
    }

    #[test]
    fn nobody_waits_and_nothing_is_turned_down() {
        let devices = [
            house(&[1.0, 1.0]),
            sun(&[3.0, 0.0], true),
            Device::Battery(home(5.0, 10.0, 50.0)),
            Device::Shiftable(washer(6.0, 60.0)),
        ];
        let mut request = site(&[30, 10], &devices);
        request.import_limit = Some(hard(3.0));
        let found = baseline(&request);
        // 1 + 6 − 3 kWh at 0.30, then 1 at 0.10; the battery is idle.
        assert!((found.costs.energy.as_amount() - 1.3).abs() < 1e-9);
        assert_eq!(found.import_max, kw(4.0));
        assert_eq!((found.breaches.len(), found.breaches[0].excess), (1, kw(1.0)));
    }
}

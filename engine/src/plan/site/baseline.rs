//! The same site without a plan.
use crate::plan::site::accounting::{Account, Books, money, power};
use crate::plan::site::device::Device;
use crate::plan::site::model::SiteModel;
use crate::plan::site::plan::SiteBaseline;
use crate::plan::site::request::SiteRequest;
use crate::plan::site::storage::Storage;

/// Baseline of every device on its own: vehicles at full power from plug-in until
/// their targets are met, batteries idle, loads as early as allowed, and no
/// curtailment. Limits are ignored, and their breaches listed.
pub(crate) fn without_plan(request: &SiteRequest, model: &SiteModel) -> SiteBaseline {
    let account = |(index, device): (usize, &Device)| {
        let slots = model.grid.len();
        let mut account = Account { drawn: vec![0.0; slots], fed: vec![0.0; slots] };
        match (device, &model.storages[index]) {
            (Device::Vehicle(_), Some(storage)) => charge_at_once(model, storage, &mut account),
            (Device::Shiftable(_), _) => run_first(model, index, &mut account),
            (Device::Solar(_), _) => {
                for (slot, fed) in account.fed.iter_mut().enumerate() {
                    let own = model.flows[slot].iter().filter(|flow| flow.device == index);
                    let most = own.map(|flow| model.program.columns[flow.column].upper);
                    *fed = most.sum::<f64>() - model.fixed[index][slot];
                }
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

fn charge_at_once(model: &SiteModel, storage: &Storage, account: &mut Account) {
    let wanted = storage.goals.iter().map(|goal| goal.wanted).fold(storage.reserve, f64::max);
    let mut before = storage.start;
    let levels = storage.levels_at_full_power(&model.grid);
    for (slot, level) in storage.stay.clone().zip(levels) {
        let level = level.min(wanted).max(before);
        account.drawn[slot] = (level - before) / storage.efficiency_in;
        before = level;
    }
}

fn run_first(model: &SiteModel, device: usize, account: &mut Account) {
    let Some(start) = model.starts.iter().find(|start| start.device == device) else { return };
    for (slot, flows) in model.flows.iter().enumerate() {
        let own = flows.iter().filter(|flow| flow.column == start.column);
        account.drawn[slot] += own.map(|flow| flow.weight).sum::<f64>();
    }
}

//! Adds up what a site does, from the energies of its devices alone. The
//! programme that found them plays no part in it.
use crate::plan::site::demand_charge::demand_windows;
use crate::plan::site::device::Phase;
use crate::plan::site::model::{LimitKind, LimitRows, SiteModel};
use crate::plan::site::plan::{Breach, Costs};
use crate::plan::site::request::SiteRequest;
use crate::time::instant::instant_at;
use crate::tolerance::SOLVER_ROUNDING;
use crate::units::{Energy, Money, Power};

/// Powers above a limit by less are rounding: a milliwatt and a half.
const BREACH_MIN_KW: f64 = 1.5e-6;

/// Energies of one device, slot by slot, in kWh at the plug.
#[derive(Debug, Clone, Default)]
pub(crate) struct Account {
    /// Energy drawn.
    pub(crate) drawn: Vec<f64>,
    /// Energy fed.
    pub(crate) fed: Vec<f64>,
}

impl Account {
    pub(crate) fn net(&self, slot: usize) -> f64 {
        self.drawn[slot] - self.fed[slot]
    }
}

/// What the devices do together.
#[derive(Debug, Clone)]
pub(crate) struct Books {
    pub(crate) import: Vec<f64>,
    pub(crate) export: Vec<f64>,
    pub(crate) costs: Costs,
    pub(crate) stored_value: f64,
    pub(crate) peak: Option<f64>,
    pub(crate) carbon_kg: f64,
    /// Power through each limit in kW.
    pub(crate) loads: Vec<Vec<f64>>,
    pub(crate) breaches: Vec<Breach>,
}

pub(crate) fn money(amount: f64) -> Money {
    Money::from_amount(amount).unwrap_or(Money::ZERO)
}

pub(crate) fn energy(kwh: f64) -> Energy {
    Energy::from_kwh(kwh).unwrap_or(Energy::ZERO)
}

pub(crate) fn power(kw: f64) -> Power {
    Power::from_kw(kw).unwrap_or(Power::ZERO)
}

/// Name and phase of a limit.
pub(crate) fn name_of(request: &SiteRequest, kind: LimitKind) -> (String, Option<Phase>) {
    match kind {
        LimitKind::Import => ("import".into(), None),
        LimitKind::Export => ("export".into(), None),
        LimitKind::Group(group, phase) => (request.groups[group].name.clone(), phase),
    }
}

impl Books {
    /// Adds up the accounts of all devices.
    pub(crate) fn new(request: &SiteRequest, model: &SiteModel, accounts: &[Account]) -> Self {
        let grid = &model.grid;
        let net = |slot: usize| accounts.iter().map(|account| account.net(slot)).sum::<f64>();
        let nets: Vec<f64> = (0..grid.len()).map(net).collect();
        // Rounding is neither bought nor sold.
        let part = |kwh: f64| if kwh > SOLVER_ROUNDING { kwh } else { 0.0 };
        let mut books = Self {
            import: nets.iter().map(|&kwh| part(kwh)).collect(),
            export: nets.iter().map(|&kwh| part(-kwh)).collect(),
            costs: Costs::default(),
            stored_value: 0.0,
            peak: None,
            carbon_kg: 0.0,
            loads: Vec::new(),
            breaches: Vec::new(),
        };
        books.loads = model.limits.iter().map(|limit| books.load(limit, model, accounts)).collect();
        books.price(request, model, accounts);
        books.find_breaches(request, model);
        books
    }

    fn load(&self, limit: &LimitRows, model: &SiteModel, accounts: &[Account]) -> Vec<f64> {
        let energy = |slot: usize| match limit.kind {
            LimitKind::Import => self.import[slot],
            LimitKind::Export => self.export[slot],
            LimitKind::Group(..) => {
                limit.shares.iter().zip(accounts).map(|(share, a)| share * a.net(slot)).sum()
            }
        };
        (0..model.grid.len()).map(|slot| energy(slot) / model.grid.hours[slot]).collect()
    }

    fn price(&mut self, request: &SiteRequest, model: &SiteModel, accounts: &[Account]) {
        let grid = &model.grid;
        let cost = |energies: &[f64], prices: &[f64]| -> f64 {
            energies.iter().zip(prices).map(|(kwh, price)| kwh * price).sum()
        };
        self.costs.energy = money(cost(&self.import, &grid.import));
        self.costs.export = money(-cost(&self.export, &grid.export));
        self.carbon_kg = cost(&self.import, &grid.carbon);
        let per_kg = request.carbon.as_ref().map_or(0.0, |carbon| carbon.price_per_kg);
        self.costs.carbon = money(per_kg * self.carbon_kg);
        let mut wear = 0.0;
        for (storage, account) in model.storages.iter().zip(accounts) {
            let Some(storage) = storage else { continue };
            let (drawn, fed) = (account.drawn.iter().sum::<f64>(), account.fed.iter().sum::<f64>());
            wear += storage.wear * fed;
            let stored = drawn * storage.efficiency_in - fed / storage.efficiency_out;
            self.stored_value += storage.end_value * (storage.start + stored);
        }
        self.costs.wear = money(wear);
        self.price_peak(request, model);
        self.price_tiers(request);
    }

    fn price_peak(&mut self, request: &SiteRequest, model: &SiteModel) {
        let Some(charge) = &request.demand_charge else { return };
        let hours = f64::from(charge.window_minutes) / 60.0;
        let windows = demand_windows(request, &model.grid);
        let mean = windows.iter().map(|window| {
            let imported: f64 = window.slots.iter().map(|&slot| self.import[slot]).sum();
            (imported + window.energy) / hours
        });
        let paid = charge.peak.as_kw();
        let peak = mean.fold(paid, f64::max);
        self.costs.demand = money(charge.price_per_kw * (peak - paid));
        self.peak = Some(peak);
    }

    fn price_tiers(&mut self, request: &SiteRequest) {
        let Some(tiers) = &request.tiers else { return };
        let mut from = tiers.energy_before.as_kwh();
        let until = from + self.import.iter().sum::<f64>();
        let mut cost = 0.0;
        for tier in &tiers.blocks {
            let end = tier.until.map_or(f64::INFINITY, Energy::as_kwh).min(until);
            cost += (end - from).max(0.0) * tier.surcharge.as_per_kwh();
            from = from.max(end);
        }
        self.costs.tiers = money(cost);
    }

    fn find_breaches(&mut self, request: &SiteRequest, model: &SiteModel) {
        let mut cost = 0.0;
        for (limit, load) in model.limits.iter().zip(&self.loads) {
            for (slot, (most, &kw)) in limit.limit_kw.iter().zip(load).enumerate() {
                let Some(most) = *most else { continue };
                let above = kw.abs() - most;
                if above <= BREACH_MIN_KW * most.max(1.0) {
                    continue;
                }
                let kwh = above * model.grid.hours[slot];
                cost += limit.breach_price.unwrap_or(0.0) * kwh;
                let (name, phase) = name_of(request, limit.kind);
                self.breaches.push(Breach {
                    name,
                    phase,
                    start: instant_at(model.grid.starts[slot]),
                    end: instant_at(model.grid.ends[slot]),
                    limit: power(most),
                    excess: power(above),
                    energy: energy(kwh),
                    is_hard: limit.breach_price.is_none(),
                });
            }
        }
        self.costs.breach = money(cost);
    }
}

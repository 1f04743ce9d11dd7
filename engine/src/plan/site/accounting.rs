//! Costs, loads and breaches of a site, added up from the energies of its devices alone.
//!
//! The linear programme plays no part in it, so that a plan's cost is independent of the solver.
use crate::plan::site::course::Course;
use crate::plan::site::demand_charge::{Direction, demand_windows, window_powers};
use crate::plan::site::device::Phase;
use crate::plan::site::model::{LimitKind, LimitRows, SiteModel};
use crate::plan::site::plan::{Breach, Costs};
use crate::plan::site::request::SiteRequest;
use crate::time::instant::instant_at;
use crate::tolerance::SOLVER_ROUNDING;
use crate::units::{Energy, Money, Power};

/// Excess over a limit, as a part of it (in kW for limits below 1 kW), that counts as rounding:
/// 1.5e-6, a milliwatt and a half at 1 kW.
const BREACH_MIN_KW: f64 = 1.5e-6;

/// Energies of one device, slot by slot, in kWh at the plug.
#[derive(Debug, Clone, Default)]
pub(crate) struct Account {
    /// Energy drawn, by slot.
    pub(crate) drawn: Vec<f64>,
    /// Energy fed by slot, as a positive number.
    pub(crate) fed: Vec<f64>,
}

impl Account {
    /// Energy drawn less energy fed in a slot, in kWh.
    pub(crate) fn net(&self, slot: usize) -> f64 {
        self.drawn[slot] - self.fed[slot]
    }
}

/// Sums over all devices: energies at the meter by slot in kWh, costs, loads and breaches.
#[derive(Debug, Clone)]
pub(crate) struct Books {
    pub(crate) import: Vec<f64>,
    pub(crate) export: Vec<f64>,
    pub(crate) costs: Costs,
    pub(crate) stored_value: f64,
    pub(crate) peak: Option<f64>,
    pub(crate) export_peak: Option<f64>,
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

/// Name of a limit, and its phase if it is one per phase.
pub(crate) fn name_of(request: &SiteRequest, kind: LimitKind) -> (String, Option<Phase>) {
    match kind {
        LimitKind::Import => ("import".into(), None),
        LimitKind::Export => ("export".into(), None),
        LimitKind::Group(group, phase) => (request.groups[group].name.clone(), phase),
    }
}

impl Books {
    /// Adds up the accounts of all devices, one account per device.
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
            export_peak: None,
            carbon_kg: 0.0,
            loads: Vec::new(),
            breaches: Vec::new(),
        };
        // Loads first, because breaches are read from them.
        books.loads = model.limits.iter().map(|limit| books.load(limit, model, accounts)).collect();
        books.price(request, model, accounts);
        books.find_breaches(request, model);
        books
    }

    /// Mean power through a limit in kW, by slot; negative if a group feeds.
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

    /// Sets the parts of the cost except breaches of limits, the value of stored energy and the
    /// emissions.
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
        let (mut wear, mut outside) = (0.0, 0.0);
        for (storage, account) in model.storages.iter().zip(accounts) {
            let Some(storage) = storage else { continue };
            let (drawn, fed) = (account.drawn.iter().sum::<f64>(), account.fed.iter().sum::<f64>());
            wear += storage.wear * fed;
            let stored = drawn * storage.efficiency_in - fed / storage.efficiency_out;
            // Of drives, the stored energy counts; what they lacked came from elsewhere.
            let counted = storage.drives_before(storage.stay.end);
            let course = Course::new(storage, &account.drawn, &account.fed);
            let driven = course.driven(counted);
            outside += storage.soft_cost(&course, grid);
            self.stored_value += storage.end_value * (storage.start + stored - driven);
        }
        for (room, account) in model.rooms.iter().zip(accounts) {
            self.stored_value +=
                room.as_ref().map_or(0.0, |room| room.stored_value(&account.drawn));
        }
        self.costs.wear = money(wear);
        self.costs.breach = money(outside);
        let peaks = [(Direction::Import, &self.import), (Direction::Export, &self.export)];
        let [import, export] =
            peaks.map(|(direction, energies)| peak_of(request, model, direction, energies));
        self.peak = import.map(|(peak, _)| peak);
        self.export_peak = export.map(|(peak, _)| peak);
        self.costs.demand = money(import.into_iter().chain(export).map(|(_, cost)| cost).sum());
        self.price_tiers(request);
    }

    /// Sets the cost of the blocks of energy, which fill in their order.
    fn price_tiers(&mut self, request: &SiteRequest) {
        let Some(tiers) = &request.tiers else { return };
        let mut from = tiers.energy_before.as_kwh();
        let until = from + self.import.iter().sum::<f64>();
        let mut cost = 0.0;
        for tier in &tiers.blocks {
            // A block that was used up before the plan adds nothing.
            let end = tier.until.map_or(f64::INFINITY, Energy::as_kwh).min(until);
            cost += (end - from).max(0.0) * tier.surcharge.as_per_kwh();
            from = from.max(end);
        }
        self.costs.tiers = money(cost);
    }

    /// Lists the slots in which a limit is exceeded, and adds their cost.
    fn find_breaches(&mut self, request: &SiteRequest, model: &SiteModel) {
        let mut cost = 0.0;
        for (limit, load) in model.limits.iter().zip(&self.loads) {
            for (slot, (most, &kw)) in limit.limit_kw.iter().zip(load).enumerate() {
                let Some(most) = *most else { continue };
                // A group can exceed its limit in either direction.
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
        self.costs.breach = self.costs.breach + money(cost);
    }
}

/// Peak in one direction in kW, at least the one that is paid for already, and its cost in money.
fn peak_of(
    request: &SiteRequest,
    model: &SiteModel,
    direction: Direction,
    energies: &[f64],
) -> Option<(f64, f64)> {
    let charge = direction.charge(request)?;
    let windows = demand_windows(charge, request, &model.grid);
    // Only a peak above the one that is paid for already costs more.
    let paid = charge.peak.as_kw();
    let peak = window_powers(charge, &windows, energies).fold(paid, f64::max);
    Some((peak, charge.price_per_kw * (peak - paid)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::site::device::Device;
    use crate::plan::site::request::tests::{
        at, demand, discharge, group, hard, home, site, sun, tiers, van,
    };
    use crate::plan::site::request::{Carbon, CarbonSlot};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kwh, per_kwh};

    fn account(drawn: &[f64], fed: &[f64]) -> Account {
        Account { drawn: drawn.to_vec(), fed: fed.to_vec() }
    }

    fn books(request: &SiteRequest, accounts: &[Account]) -> Books {
        Books::new(request, &SiteModel::new(request, false), accounts)
    }

    fn near(money: Money, amount: f64) {
        assert!((money.as_amount() - amount).abs() < 1e-9, "{} and {amount}", money.as_amount());
    }

    /// A van that draws 4 and 1 kWh, and sunshine of 1 and 3: 3 are bought and 2 are sold.
    fn two_hours() -> (SiteRequest, [Account; 2]) {
        let devices = [Device::Vehicle(van("van", 5.0, 5.0)), sun(&[1.0, 3.0], true)];
        let mut request = site(&[10, 30], &devices);
        request.export_prices = Some(curve_of(60, &[2, 5]));
        (request, [account(&[4.0, 1.0], &[0.0; 2]), account(&[0.0; 2], &[1.0, 3.0])])
    }

    #[test]
    fn what_is_bought_costs_and_what_is_sold_earns() {
        let (request, accounts) = two_hours();
        let books = books(&request, &accounts);
        assert_eq!((&books.import, &books.export), (&vec![3.0, 0.0], &vec![0.0, 2.0]));
        near(books.costs.energy, 0.3);
        near(books.costs.export, -0.1);
        near(books.costs.total(), 0.2);
        assert_eq!((books.peak, books.breaches.len()), (None, 0));
    }

    #[test]
    fn peak_blocks_and_emissions_are_priced_on_the_import() {
        let (mut request, accounts) = two_hours();
        request.demand_charge = Some(demand(2.0, 1.0));
        request.demand_charge.as_mut().unwrap().window_energy = kwh(0.5);
        request.tiers = Some(tiers(&[(2.0, 0.1), (f64::INFINITY, 0.5)], 1.0));
        let slot = |hour: i64, kg_per_kwh: f64| CarbonSlot {
            start: at(60 * hour),
            end: at(60 * hour + 60),
            kg_per_kwh,
        };
        let intensity = vec![slot(0, 0.5), slot(1, 9.0)];
        request.carbon = Some(Carbon { price_per_kg: 0.2, intensity });
        let books = books(&request, &accounts);
        // 3 kWh and the 0.5 from before, over an hour, of which 1 kW is paid for.
        assert_eq!(books.peak, Some(3.5));
        near(books.costs.demand, 5.0);
        // From 1 to 2 kWh at 0.10, and from 2 to 4 at 0.50.
        near(books.costs.tiers, 1.1);
        assert!((books.carbon_kg - 1.5).abs() < 1e-12);
        near(books.costs.carbon, 0.3);
    }

    #[test]
    fn wear_counts_what_is_fed_and_the_worth_what_stays() {
        let mut home = home(5.0, 10.0, 50.0);
        (home.battery.efficiency, home.discharge) = (0.5, discharge(5.0));
        (home.discharge.efficiency, home.discharge.wear) = (0.8, per_kwh(0.1));
        home.end_value = per_kwh(0.2);
        let request = site(&[10, 10], &[Device::Battery(home)]);
        let books = books(&request, &[account(&[4.0, 0.0], &[0.0, 2.0])]);
        near(books.costs.wear, 0.2);
        // 5 kWh at first, 4·0.5 more, and 2 / 0.8 less.
        assert!((books.stored_value - 0.2 * 4.5).abs() < 1e-12);
    }

    #[test]
    fn a_breach_has_its_name_its_time_and_its_price() {
        let (mut request, accounts) = two_hours();
        let mut soft = hard(2.5);
        soft.breach_price = Some(per_kwh(4.0));
        (request.import_limit, request.export_limit) = (Some(soft), Some(hard(1.5)));
        let books = books(&request, &accounts);
        near(books.costs.breach, 2.0);
        let found = |breach: &Breach| {
            let name = breach.name.clone();
            (name, breach.start, breach.excess.as_kw(), breach.energy.as_kwh(), breach.is_hard)
        };
        let breaches: Vec<_> = books.breaches.iter().map(found).collect();
        let expected = [
            ("import".to_owned(), at(0), 0.5, 0.5, false),
            ("export".to_owned(), at(60), 0.5, 0.5, true),
        ];
        assert_eq!(breaches, expected);
    }

    #[test]
    fn rounding_is_neither_energy_nor_a_breach() {
        let (mut request, _) = two_hours();
        request.import_limit = Some(hard(2.0));
        let at_plug =
            |kwh: f64| [account(&[2.0 + kwh, 5e-10], &[0.0; 2]), account(&[0.0; 2], &[0.0; 2])];
        let (little, more) = (books(&request, &at_plug(2e-6)), books(&request, &at_plug(4e-6)));
        assert_eq!((little.import[1], little.breaches.len(), more.breaches.len()), (0.0, 0, 1));
    }

    #[test]
    fn a_phase_carries_its_share_in_either_direction() {
        let mut one = van("one", 5.0, 5.0);
        (one.group, one.phases) = (Some("g".to_owned()), vec![Phase::L1]);
        let mut home = home(5.0, 10.0, 50.0);
        home.group = Some("g".to_owned());
        let mut request = site(&[10], &[Device::Vehicle(one), Device::Battery(home)]);
        request.groups = vec![group("g", None, None)];
        request.groups[0].phase_limit = Some(hard(0.5));
        let books = books(&request, &[account(&[3.0], &[0.0]), account(&[0.0], &[3.0])]);
        // 3 − 3/3 kW on the first phase, and a third of the battery on the others.
        assert_eq!(books.loads, [[2.0], [-1.0], [-1.0]]);
        let phases: Vec<_> = books.breaches.iter().map(|b| (b.phase, b.excess.as_kw())).collect();
        let [l1, l2, l3] = Phase::ALL.map(Some);
        assert_eq!(phases, [(l1, 1.5), (l2, 0.5), (l3, 0.5)]);
    }

    proptest! {
        /// Each kWh costs the surcharge of the block that it falls into.
        #[test]
        fn blocks_are_priced_kwh_by_kwh(
            widths in prop::collection::vec((1..6u32, 0..5u32), 0..4),
            before in 0..20u32, bought in 0..20u32,
        ) {
            let (mut blocks, mut end, mut tenths) = (Vec::new(), 0, 0);
            for (width, rise) in widths {
                (end, tenths) = (end + width, tenths + rise);
                blocks.push((f64::from(end), f64::from(tenths) / 10.0));
            }
            blocks.push((f64::INFINITY, f64::from(tenths + 1) / 10.0));
            let mut request = site(&[10], &[Device::Vehicle(van("van", 20.0, 1.0))]);
            request.tiers = Some(tiers(&blocks, f64::from(before)));
            let price = |kwh: u32| blocks.iter().find(|block| f64::from(kwh) < block.0).unwrap().1;
            let expected: f64 = (before..before + bought).map(price).sum();
            let found = books(&request, &[account(&[f64::from(bought)], &[0.0])]).costs.tiers;
            prop_assert!((found.as_amount() - expected).abs() < 1e-9);
        }
    }
}

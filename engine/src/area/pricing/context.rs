//! Who is asked, at what prices, and what comes back.
use crate::area::model::energy_by_slot::{Missing, Taken};
use crate::area::model::linking::Terms;
use crate::area::model::session::{Block, NO_STORE, Stay};
use crate::area::model::sessions::Stays;
use crate::area::pricing::effective_prices::{Signal, Worth};
use crate::area::problem::micro_wh::as_kwh;
use crate::columns::fleet::Curves;
use crate::time::horizon::Horizon;

/// Vehicles from which on a block gets an order of its own.
const RANKED_MIN: usize = 24;

/// What all vehicles of a block buy together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// Energy bought in each slot, in grains.
    pub(crate) load: Vec<i64>,
    /// What it costs at the prices of the vehicles' own curves.
    pub(crate) cost: f64,
    /// Need that is not met.
    pub(crate) shed: i64,
    /// What that need is worth.
    pub(crate) shed_worth: f64,
    /// Most by which all this is dearer than the best at these prices.
    pub(crate) slack: f64,
}

/// What does not change from round to round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) curves: Curves<'a>,
    /// Prices to sell at, in the rows of the prices to buy at.
    pub(crate) export: Option<Curves<'a>>,
    pub(crate) stays: &'a Stays,
    pub(crate) worth: Worth,
    /// Whether energy is free but for what limits add.
    pub(crate) is_free: bool,
}

impl Asked<'_> {
    pub(crate) fn horizon(&self) -> &Horizon {
        self.curves.horizon()
    }

    /// The signal of a vehicle, for those that are asked alone.
    pub(crate) fn signal_of(&self, stay: &Stay, added: &[f64]) -> Signal {
        self.signal_on(stay.curve, added, false)
    }

    fn signal_on(&self, curve: u32, added: &[f64], has_ranks: bool) -> Signal {
        let prices = self.curves.prices(curve as usize);
        if !self.is_free {
            return Signal::new(prices, added, has_ranks);
        }
        // A gap stays one, also where energy is free.
        let free: Vec<f64> = prices.iter().map(|price| price * 0.0).collect();
        Signal::new(&free, added, has_ranks)
    }

    /// The prices that a vehicle pays; zero where energy is free.
    pub(crate) fn own_price(&self, curve: u32, slot: usize) -> f64 {
        if self.is_free { 0.0 } else { self.curves.prices(curve as usize)[slot] }
    }

    /// The prices at which a vehicle buys and sells, NaN where it does not.
    #[inline(always)]
    pub(crate) fn prices_of(&self, stay: &Stay, slot: usize) -> (f64, f64) {
        let import = self.curves.prices(stay.curve as usize)[slot];
        let export =
            self.export.map_or(f64::NAN, |export| export.prices(stay.curve as usize)[slot]);
        // A gap stays one, also where energy is free.
        if self.is_free { (import * 0.0, export * 0.0) } else { (import, export) }
    }

    /// What a vehicle pays for its energy of a slot; less than nothing where it sells.
    #[inline(always)]
    pub(crate) fn cost_of(&self, stay: &Stay, slot: usize, energy: i64) -> f64 {
        if stay.store == NO_STORE {
            return self.own_price(stay.curve, slot) * as_kwh(energy);
        }
        if self.is_free {
            return 0.0;
        }
        let (import, export) = self.prices_of(stay, slot);
        self.stays.stores[stay.store as usize].cost(as_kwh(energy), import, export)
    }

    /// Need that a plan leaves unmet.
    pub(crate) fn missing(&self, stay: &Stay, taken: &Taken) -> Missing {
        if let Some(store) = self.stays.stores.get(stay.store as usize) {
            return store.missing(taken).into();
        }
        match self.stays.wishes.get(stay.wishes as usize) {
            Some(wishes) => wishes.missing(taken),
            None => (stay.need - taken.iter().map(|(_, energy)| energy).sum::<i64>()).max(0).into(),
        }
    }

    /// What it is worth.
    pub(crate) fn worth_of(&self, stay: &Stay, missing: Missing) -> f64 {
        let later = self.stays.wishes.get(stay.wishes as usize).map_or(0, |wishes| wishes.later);
        let worth = self.worth.total_kwh(missing.need, stay.need - later, stay.priority);
        worth + self.worth.of_later() * as_kwh(missing.later)
    }

    /// The need of a vehicle as energy at the plug.
    pub(crate) fn need_at_plug(&self, stay: &Stay) -> i64 {
        let store = self.stays.stores.get(stay.store as usize);
        store.map_or(stay.need, |store| store.plug(as_kwh(stay.need)))
    }

    /// The signal of a whole block.
    pub(crate) fn signal(&self, block: &Block, added: &[f64]) -> Signal {
        let has_ranks = block.stays.len() >= RANKED_MIN && self.horizon().step().is_some();
        self.signal_on(block.curve.unwrap_or(0), added, has_ranks)
    }
}

/// What limits add to the prices of each node that has vehicles.
pub(crate) fn added_by_node(asked: &Asked<'_>, terms: &Terms, duals: &[f64]) -> Vec<Vec<f64>> {
    let mut added = vec![Vec::new(); terms.paths.len()];
    for block in &asked.stays.blocks {
        let node = block.node as usize;
        if added[node].is_empty() {
            added[node] = terms.added(block.node, duals);
        }
    }
    added
}

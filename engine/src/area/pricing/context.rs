//! Data of the pricing problems that do not change from round to round, and the cost of a plan.
//!
//! A plan `x` of a vehicle costs `c·x + w(shortfall)`: `cost_of` by slot, and `penalty_of`. Duals
//! are no part of that cost; they only add to the prices at which the plan is made.
use crate::area::model::energy_by_slot::{EnergyBySlot, Shortfall};
use crate::area::model::linking::LinkingConstraints;
use crate::area::model::rooms::AreaRoom;
use crate::area::model::session::{Block, Demand, Session};
use crate::area::model::sessions::Sessions;
use crate::area::pricing::effective_prices::{EffectivePrices, ShortfallPenalty};
use crate::area::problem::micro_wh::as_kwh;
use crate::columns::fleet::Curves;
use crate::time::horizon::Horizon;

/// Least number of vehicles in a block whose prices are ranked.
///
/// One sorting, which costs as much as the plans of several vehicles, is shared by the block. The
/// results are equal with and without ranks. Not tuned.
const RANKED_MIN: usize = 24;

/// Aggregate response of one block of vehicles at one dual vector.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BlockResponse {
    /// Energy of each slot, in µWh; negative if more is sold than bought.
    pub(crate) load: Vec<i64>,
    /// Cost of that energy at the prices of the vehicles, without duals.
    pub(crate) cost: f64,
    /// Shortfall of all vehicles, in µWh.
    pub(crate) shortfall: i64,
    /// Penalty of that shortfall.
    pub(crate) shortfall_penalty: f64,
    /// Upper bound on how much the response costs above the optimum at these duals.
    pub(crate) optimality_slack: f64,
}

/// Prices, sessions and penalties of all pricing problems.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PricingContext<'a> {
    /// Prices to buy at.
    pub(crate) curves: Curves<'a>,
    /// Prices to sell at, in the same rows as the prices to buy at.
    pub(crate) export: Option<Curves<'a>>,
    /// Vehicles, ready for pricing.
    pub(crate) sessions: &'a Sessions,
    /// Rooms of heat units, which are priced in this process only.
    pub(crate) rooms: &'a [AreaRoom],
    /// Penalty on shortfall.
    pub(crate) penalty: ShortfallPenalty,
    /// True if energy costs nothing but the duals: the search for the least shortfall.
    pub(crate) is_free: bool,
}

impl PricingContext<'_> {
    /// Slots of the area.
    pub(crate) fn horizon(&self) -> &Horizon {
        self.curves.horizon()
    }

    /// Effective prices of one vehicle, without ranks. `dual_price` is per kWh and slot.
    pub(crate) fn prices_of_session(
        &self,
        session: &Session,
        dual_price: &[f64],
    ) -> EffectivePrices {
        self.prices_on_curve(session.curve, dual_price, false)
    }

    /// Effective prices on one curve, with ranks if `has_ranks`.
    fn prices_on_curve(&self, curve: u32, dual_price: &[f64], has_ranks: bool) -> EffectivePrices {
        let prices = self.curves.prices(curve as usize);
        if !self.is_free {
            return EffectivePrices::new(prices, dual_price, has_ranks);
        }
        // NaN times zero is NaN: a gap stays a gap if energy is free.
        let free: Vec<f64> = prices.iter().map(|price| price * 0.0).collect();
        EffectivePrices::new(&free, dual_price, has_ranks)
    }

    /// Price per kWh on a curve in a slot, without duals; 0 if energy is free.
    pub(crate) fn own_price(&self, curve: u32, slot: usize) -> f64 {
        if self.is_free { 0.0 } else { self.curves.prices(curve as usize)[slot] }
    }

    /// Prices per kWh to buy and to sell at in a slot, without duals; NaN where there is none.
    #[inline(always)]
    pub(crate) fn own_prices(&self, session: &Session, slot: usize) -> (f64, f64) {
        let import = self.curves.prices(session.curve as usize)[slot];
        let export =
            self.export.map_or(f64::NAN, |export| export.prices(session.curve as usize)[slot]);
        // NaN times zero is NaN: a gap stays a gap if energy is free.
        if self.is_free { (import * 0.0, export * 0.0) } else { (import, export) }
    }

    /// Cost of the energy of a vehicle in a slot, without duals; negative if it is paid. Energy is
    /// in µWh, negative if it is sold. A battery's wear and end value are included.
    #[inline(always)]
    pub(crate) fn cost_of(&self, session: &Session, slot: usize, energy: i64) -> f64 {
        let Some(battery) = self.sessions.battery_of(session) else {
            return self.own_price(session.curve, slot) * as_kwh(energy);
        };
        if self.is_free {
            return 0.0;
        }
        let (import, export) = self.own_prices(session, slot);
        battery.cost(as_kwh(energy), import, export)
    }

    /// Shortfall of a plan, in µWh; of a battery in stored energy.
    pub(crate) fn shortfall_of(&self, session: &Session, taken: &EnergyBySlot) -> Shortfall {
        match session.demand {
            Demand::Departure => {
                (session.need - taken.iter().map(|(_, energy)| energy).sum::<i64>()).max(0).into()
            }
            Demand::Deadlines(at) => self.sessions.deadlines[at as usize].shortfall(taken),
            Demand::Battery(at) => self.sessions.batteries[at as usize].shortfall(taken).into(),
        }
    }

    /// Penalty of a shortfall: tiers of the need that is due in time, and late energy.
    pub(crate) fn penalty_of(&self, session: &Session, missing: Shortfall) -> f64 {
        let later = self.sessions.deadlines_of(session).map_or(0, |deadlines| deadlines.later);
        let penalty =
            self.penalty.cost_of_shortfall(missing.missing, session.need - later, session.priority);
        penalty + self.penalty.of_late() * as_kwh(missing.late)
    }

    /// Need of a vehicle as energy at the plug, in µWh.
    pub(crate) fn need_at_plug(&self, session: &Session) -> i64 {
        let battery = self.sessions.battery_of(session);
        battery.map_or(session.need, |battery| battery.at_plug(as_kwh(session.need)))
    }

    /// Effective prices of a block that shares a curve, with ranks if that pays.
    pub(crate) fn prices_of_block(&self, block: &Block, dual_price: &[f64]) -> EffectivePrices {
        // A search by rank counts slots, so all of them must have one length.
        let has_ranks = block.sessions.len() >= RANKED_MIN && self.horizon().step().is_some();
        self.prices_on_curve(block.curve.unwrap_or(0), dual_price, has_ranks)
    }
}

/// Part of the effective price that limits add, per kWh by node and slot; empty for nodes without
/// vehicles.
pub(crate) fn dual_price_by_node(
    context: &PricingContext<'_>,
    constraints: &LinkingConstraints,
    duals: &[f64],
) -> Vec<Vec<f64>> {
    let mut dual_price = vec![Vec::new(); constraints.paths.len()];
    for block in &context.sessions.blocks {
        let node = block.node as usize;
        if dual_price[node].is_empty() {
            dual_price[node] = constraints.dual_price(block.node, duals);
        }
    }
    dual_price
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::area::recovery::totals::tests::{Car, Town, car, context_of, plan};

    #[test]
    fn what_limits_add_is_the_sum_along_the_path() {
        let cars = [Car { node: 1, ..car(2, 5.0) }, Car { node: 2, ..car(2, 5.0) }];
        let town = Town::new(&[10, 20], &cars, &[Some(9.0), Some(8.0), None]);
        town.with(|problem, sessions, constraints| {
            // Duals of the root in both hours, then those of the first feeder.
            let duals = [1.0, 2.0, 0.25, 0.5];
            let prices = dual_price_by_node(&context_of(problem, sessions), constraints, &duals);
            assert_eq!(prices, [vec![], vec![1.25, 2.5], vec![1.0, 2.0]]);
        });
    }

    #[test]
    fn free_energy_keeps_its_gaps() {
        let town = Town::new(&[10, 20], &[car(2, 5.0)], &[Some(9.0)]);
        town.with(|problem, sessions, _| {
            let paid = context_of(problem, sessions);
            let free = PricingContext { is_free: true, ..paid };
            let session = &sessions.each[0];
            let costs = [paid, free].map(|context| context.cost_of(session, 1, 5_000_000_000));
            assert!((costs[0] - 1.0).abs() < 1e-9 && costs[1].abs() < 1e-9);
            let of = |context: PricingContext<'_>| context.prices_of_session(session, &[0.5, 0.5]);
            assert!((of(paid).prices[1] - 0.7).abs() < 1e-12);
            assert!((of(free).prices[1] - 0.5).abs() < 1e-12);
            // A vehicle that only charges sells at no price.
            assert!(paid.own_prices(session, 0).1.is_nan());
        });
    }

    #[test]
    fn the_worst_deadline_is_what_is_missing() {
        let cars = [Car { target: Some((1, 6.0)), ..car(2, 10.0) }, car(2, 10.0)];
        let town = Town::new(&[10, 20], &cars, &[Some(20.0)]);
        town.with(|problem, sessions, _| {
            let context = context_of(problem, sessions);
            let row = |row: u32| sessions.each.iter().find(|session| session.row == row).unwrap();
            let taken = plan(&[(0, 1.0), (1, 7.0)]);
            let missing = [0, 1].map(|at| context.shortfall_of(row(at), &taken));
            // 5 of 6 kWh by the first hour, which counts more than 2 of 10 at departure.
            let kwh = 1_000_000_000;
            assert_eq!(missing.map(|missing| missing.missing), [5 * kwh, 2 * kwh]);
            assert!((context.penalty_of(row(0), missing[0]) - 5.0).abs() < 1e-9);
            assert_eq!(context.need_at_plug(row(0)), 10 * kwh);
        });
    }

    #[test]
    fn only_a_block_of_many_vehicles_has_ranks() {
        let ranked = |count: usize| {
            let town = Town::new(&[10, 20], &vec![car(2, 5.0); count], &[None]).in_groups(1);
            town.with(|problem, sessions, _| {
                let context = context_of(problem, sessions);
                context.prices_of_block(&sessions.blocks[0], &[0.0, 0.0]).ranks.is_some()
            })
        };
        assert_eq!((ranked(RANKED_MIN - 1), ranked(RANKED_MIN)), (false, true));
    }
}

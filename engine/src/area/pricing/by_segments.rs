//! Pricing problem of a vehicle that also discharges, in stored kWh.
//!
//! ```text
//! minimise   Σ_t (a_t·y_t - b_t·z_t) - v·(e_T - e_0) + Σ_j w_j·u_j
//!            a_t = (p_t + π_t)/η_c ,   b_t = (q_t + π_t)·η_d - wear
//! over       0 <= y_t <= A_t,   0 <= z_t <= B_t,   L_t <= e_t <= H_t,   0 <= u_j <= U_j
//! subject to e_t = e_{t-1} + y_t - z_t,   y_t = 0 or z_t = 0,   e_T + Σ_j u_j >= target
//! ```
//!
//! The symbols are those of [`crate::plan::storage`], whose method solves it: a dynamic programme
//! with a convex, piecewise linear value function, kept as segments (the *segment method*).
//! Shortfall `u` is modelled as one more slot per penalty tier, in which stored energy can be
//! bought at the penalty; so a target that limits leave no capacity for is reduced like the need of
//! any other vehicle. The optimality slack is the cost found less the bound of the method, plus the
//! most that rounding to whole µWh can cost.
//!
//! | Symbol | Code |
//! |---|---|
//! | `p_t`, `q_t` | prices to buy and sell at, [`PricingContext::own_prices`] |
//! | `π_t` | `dual_price` |
//! | `y_t - z_t` | `StorageBuffers::change`, positive if the vehicle charges |
//! | `A_t`, `B_t` | `charge_kwh` and `discharge_kwh` of [`ProgrammeSlot`] |
//! | `L_t`, `H_t` | `least_kwh` and `most_kwh` of [`ProgrammeSlot`] |
//! | `η_c`, `η_d` | `efficiency_charge`, `efficiency_discharge` of [`DynamicProgramme`] |
//! | `wear`, `v` | `wear_per_kwh`, `end_value_per_kwh` of [`DynamicProgramme`] |
//! | `w_j`, `U_j` | `ShortfallPenalty::of_tier`, `tier_energy` |
use crate::area::model::battery::{Battery, FreeCapacity, highest_levels};
use crate::area::model::energy_by_slot::EnergyBySlot;
use crate::area::model::session::Session;
use crate::area::pricing::context::PricingContext;
use crate::area::problem::micro_wh::{MICRO_WH_PER_KWH, as_kwh, to_micro_wh};
use crate::plan::storage::branch_and_bound::{StorageBuffers, reached, solve};
use crate::plan::storage::dynamic_programme::{DynamicProgramme, ProgrammeSlot};
use crate::plan::storage::slots::{stored_by, taken_by};
use crate::tolerance::SHORTFALL_TOLERANCE_KWH;

impl Battery {
    /// Returns true if a plan keeps within powers, levels and the reserve, and buys and sells only
    /// where there is a price. The target is not checked; a plan may miss it.
    pub(crate) fn is_feasible(
        &self,
        context: &PricingContext<'_>,
        session: &Session,
        taken: &EnergyBySlot,
    ) -> bool {
        let (horizon, battery) = (context.horizon(), &self.row);
        let tolerance = SHORTFALL_TOLERANCE_KWH;
        // A reserve that cannot be reached yet is required as far as it can be.
        let reachable = {
            let prices = |slot| context.own_prices(session, slot).0;
            highest_levels(prices, horizon, (session.first, session.end), self)
        };
        let mut level = self.stored_kwh();
        let most = battery.limit_kwh.max(level) + tolerance;
        let mut next = taken.iter().peekable();
        for (slot, reach) in (session.first..session.end).zip(reachable) {
            if let Some(&(at, energy)) = next.next_if(|&&(at, _)| at == slot) {
                let slot = at as usize;
                let start = horizon.starts()[slot].max(battery.from);
                let micros = horizon.ends()[slot].min(battery.to) - start;
                let (import, export) = context.own_prices(session, slot);
                let (power, price) = if energy > 0 {
                    (battery.charge_max, import)
                } else {
                    (battery.discharge_max, export)
                };
                let full = power.over_micros(micros).as_kwh() + tolerance;
                if price.is_nan() || as_kwh(energy).abs() > full {
                    return false;
                }
                level += self.stored(as_kwh(energy));
            }
            let is_kept = slot >= self.reserve_from;
            let least = if is_kept { battery.reserve_kwh.min(reach) } else { 0.0 };
            if level < least - tolerance || level > most {
                return false;
            }
        }
        true
    }
}

/// Working memory for the slots and prices of one battery.
#[derive(Debug, Default)]
pub(crate) struct SegmentBuffers {
    programme: DynamicProgramme,
    import: Vec<f64>,
    export: Vec<f64>,
    memory: StorageBuffers,
}

/// Shortfall and optimality slack of one solution.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct SegmentAnswer {
    /// Stored energy missing at departure, in µWh.
    pub(crate) shortfall: i64,
    /// Upper bound on how much the solution costs above the optimum, in the currency of the prices.
    pub(crate) optimality_slack: f64,
}

/// Solves the pricing problem of a battery, within the capacity `free` if it is limited. `buy` is
/// called with each slot and its energy at the plug in µWh, negative if it discharges.
pub(crate) fn price_by_segments(
    context: &PricingContext<'_>,
    (session, battery): (&Session, &Battery),
    dual_price: &[f64],
    free: Option<FreeCapacity<'_>>,
    buffers: &mut SegmentBuffers,
    mut buy: impl FnMut(usize, i64),
) -> SegmentAnswer {
    buffers.set_slots(context, session, battery, free);
    buffers.set_prices(context, session, battery, dual_price);
    let SegmentBuffers { programme, import, export, memory } = buffers;
    let answer = solve(programme, import, export, memory);
    let count = (session.end - session.first) as usize;
    let mut served =
        SegmentAnswer { shortfall: 0, optimality_slack: (answer.cost - answer.bound).max(0.0) };
    for (at, &change) in memory.change.iter().enumerate() {
        // Behind the slots of the session are those of shortfall.
        if at >= count {
            served.shortfall += to_micro_wh(change);
            continue;
        }
        let slot = session.first as usize + at;
        let mut energy = to_micro_wh(programme.at_plug(change));
        if let Some(free) = free {
            energy = energy.clamp(-free.export[slot], free.import[slot]);
        }
        if energy != 0 {
            // Rounding moves at most 1 µWh of each slot.
            let price = if energy > 0 { import[at] } else { export[at] };
            served.optimality_slack += price.abs() / MICRO_WH_PER_KWH;
            buy(slot, energy);
        }
    }
    served
}

impl SegmentBuffers {
    /// Sets the slots of a battery, and behind them one slot of shortfall for each penalty tier.
    fn set_slots(
        &mut self,
        context: &PricingContext<'_>,
        session: &Session,
        store: &Battery,
        free: Option<FreeCapacity<'_>>,
    ) {
        let (battery, horizon) = (&store.row, context.horizon());
        let programme = &mut self.programme;
        // Copy the values of the battery, but keep the memory of the slots.
        let slots = std::mem::take(&mut programme.slots);
        *programme = store.programme.clone();
        programme.slots = slots;
        programme.slots.clear();
        // `reach` is the highest level after a slot, `most` the one allowed after the slot before.
        let mut reach = programme.stored_kwh;
        let mut most = reach;
        for at in session.first..session.end {
            let slot = at as usize;
            let start = horizon.starts()[slot].max(battery.from);
            let micros = horizon.ends()[slot].min(battery.to) - start;
            let (import, export) = context.own_prices(session, slot);
            let (eta, eta_down) = (programme.efficiency_charge, programme.efficiency_discharge);
            let mut made =
                ProgrammeSlot { limit_kwh: battery.limit_kwh, ..ProgrammeSlot::default() };
            // Without a price to buy at a slot is a gap: no discharging either.
            if !import.is_nan() {
                made.charge_kwh = stored_by(battery.charge_max, micros, eta);
                if !export.is_nan() {
                    made.discharge_kwh = taken_by(battery.discharge_max, micros, eta_down);
                }
            }
            // Limited capacity cuts the energies; an indivisible vehicle has full power or none.
            if let Some(free) = free {
                let fits = |most: f64, capacity: f64| {
                    if session.is_indivisible && capacity < most { 0.0 } else { most.min(capacity) }
                };
                made.charge_kwh = fits(made.charge_kwh, as_kwh(free.import[slot]) * eta);
                made.discharge_kwh = fits(made.discharge_kwh, as_kwh(free.export[slot]) / eta_down);
            }
            made.drop_useless_power(reach, most);
            // Levels are bounded by what can be reached, so that there is always a solution.
            reach = reached(reach, &made);
            most = battery.limit_kwh.max(reach);
            made.most_kwh = most;
            let is_kept = at >= store.reserve_from;
            made.least_kwh = if is_kept { battery.reserve_kwh.min(reach) } else { 0.0 };
            programme.slots.push(made);
        }
        let target = battery.target_kwh;
        // A session without any slot keeps the level of its arrival.
        let nowhere = ProgrammeSlot {
            limit_kwh: battery.limit_kwh,
            most_kwh: battery.limit_kwh.max(reach),
            ..ProgrammeSlot::default()
        };
        let last = programme.slots.last().copied().unwrap_or(nowhere);
        // One slot per tier, in which stored energy up to the size of the tier can be bought.
        for tier in 0..context.penalty.tiers {
            let missing = as_kwh(context.penalty.tier_energy(session.need, tier));
            programme.slots.push(ProgrammeSlot { charge_kwh: missing, discharge_kwh: 0.0, ..last });
            reach = (reach + missing).min(last.limit_kwh.max(reach));
        }
        if let Some(last) = programme.slots.last_mut() {
            last.least_kwh = last.least_kwh.max(target.min(reach));
        }
    }

    /// Sets the prices per kWh at the plug of those slots.
    fn set_prices(
        &mut self,
        context: &PricingContext<'_>,
        session: &Session,
        battery: &Battery,
        dual_price: &[f64],
    ) {
        self.import.clear();
        self.export.clear();
        let of_stay = &dual_price[session.first as usize..session.end as usize];
        for (slot, dual_price) in (session.first as usize..).zip(of_stay) {
            let (import, export) = context.own_prices(session, slot);
            self.import.push(import + dual_price);
            self.export.push(export + dual_price);
        }
        if context.is_free {
            (self.programme.wear_per_kwh, self.programme.end_value_per_kwh) = (0.0, 0.0);
        }
        for tier in 0..context.penalty.tiers {
            // Shortfall is not stored: take back its value at the end. The programme divides prices
            // by the charging efficiency, hence the product.
            let penalty =
                context.penalty.of_tier(tier, session.priority) + self.programme.end_value_per_kwh;
            self.import.push(penalty * battery.programme.efficiency_charge);
            self.export.push(f64::NAN);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::area::model::sessions::Sessions;
    use crate::area::pricing::context::BlockResponse;
    use crate::area::problem::area_problem::{AreaProblem, AreaVehicles, StorageColumns};
    use crate::area::problem::limits::{Node, Profile};
    use crate::area::recovery::totals::tests::{Town, car, context_of, kwh_of, plan};
    use crate::columns::fleet::{Curves, Fleet, Needs};
    use crate::prices::curve::tests::curve_of;
    use crate::units::kw;

    /// A battery of 40 kWh that charges at 10 kW and discharges at 5 kW.
    struct Home<'a> {
        cents: &'a [i32],
        /// Price to sell at in all hours, in cents.
        sold_at: Option<i32>,
        soc: f64,
        target: f64,
    }

    impl Home<'_> {
        fn with<R>(&self, work: impl FnOnce(&PricingContext<'_>, &Session) -> R) -> R {
            let curve = curve_of(60, self.cents);
            let sold = self.sold_at.map(|cents| curve_of(60, &vec![cents; self.cents.len()]));
            let (start, end) =
                (curve.horizon().starts()[0], *curve.horizon().ends().last().unwrap());
            let needs = Needs::Soc {
                soc_percent: &[self.soc],
                target_percent: &[self.target],
                capacity_kwh: &[40.0],
                reserve_percent: None,
                efficiency: None,
            };
            let fleet = Fleet {
                arrival: &[start],
                departure: &[end],
                needs,
                power_max_kw: &[10.0],
                reserve_kwh: None,
                targets: None,
                curve: None,
            };
            let storage = StorageColumns {
                discharge_max_kw: &[5.0],
                efficiency_discharge: None,
                charge_limit_percent: None,
                end_value_per_kwh: None,
                wear_price_per_kwh: None,
                export: sold.as_ref().map(Curves::Shared),
                fills: None,
            };
            let storage = Some(storage);
            let vehicles =
                AreaVehicles { fleet, node: None, priority: None, power_min_kw: None, storage };
            let nodes = vec![Node::limited("", Profile::Constant(kw(9.0)))];
            let problem = AreaProblem::new(vehicles, Curves::Shared(&curve), nodes).unwrap();
            let sessions = Sessions::new(&problem, 1);
            let context =
                PricingContext { export: problem.export(), ..context_of(&problem, &sessions) };
            work(&context, &sessions.each[0])
        }
    }

    /// Load of the battery by slot.
    fn load_of(
        (context, session): (&PricingContext<'_>, &Session),
        free: Option<FreeCapacity<'_>>,
    ) -> (Vec<f64>, SegmentAnswer) {
        let mut load = vec![0; context.horizon().len()];
        let (buffers, no_duals) = (&mut SegmentBuffers::default(), vec![0.0; load.len()]);
        let pair = (session, context.sessions.battery_of(session).unwrap());
        let answer = price_by_segments(context, pair, &no_duals, free, buffers, |slot, energy| {
            load[slot] += energy;
        });
        (kwh_of(&load), answer)
    }

    proptest! {
        /// Energy, duals and shortfall cost the same in the two algorithms.
        #[test]
        fn a_battery_that_sells_nothing_is_a_vehicle_that_charges(
            cents in prop::collection::vec(1..60i32, 1..5), percent in 0.0..100.0f64,
            duals in prop::collection::vec(0.0..0.7f64, 4),
        ) {
            let duals = &duals[..cents.len()];
            let value = |context: &PricingContext<'_>| {
                let BlockResponse { load, cost, shortfall_penalty, .. } =
                    context.price_block(&context.sessions.blocks[0], duals);
                let added = kwh_of(&load).into_iter().zip(duals).map(|(kwh, dual)| kwh * dual);
                cost + added.sum::<f64>() + shortfall_penalty
            };
            let home = Home { cents: &cents, sold_at: None, soc: 0.0, target: percent };
            let stored = home.with(|context, _| value(context));
            let charged = car(cents.len() as i64, 0.4 * percent);
            let charged = Town::new(&cents, &[charged], &[Some(9.0)])
                .with(|problem, sessions, _| value(&context_of(problem, sessions)));
            prop_assert!((stored - charged).abs() < 1e-6, "{stored}, not {charged}");
        }
    }

    #[test]
    fn energy_is_bought_to_be_sold_at_a_higher_price() {
        let home = Home { cents: &[10, 50], sold_at: Some(45), soc: 0.0, target: 0.0 };
        home.with(|context, session| {
            // 5 kWh is what an hour of discharging takes: bought at 10 cents, sold at 45.
            let (load, answer) = load_of((context, session), None);
            assert_eq!((load, answer.shortfall), (vec![5.0, -5.0], 0));
            assert!(answer.optimality_slack < 1e-6);
            let (import, export) = (plan(&[(0, 9.0), (1, 9.0)]), plan(&[(0, 9.0), (1, 2.0)]));
            let micro = |side: EnergyBySlot| side.into_iter().map(|(_, e)| e).collect::<Vec<_>>();
            let (import, export) = (micro(import), micro(export));
            // With room to sell 2 kWh no more than these are bought.
            let free = FreeCapacity { import: &import, export: &export };
            assert_eq!(load_of((context, session), Some(free)).0, [2.0, -2.0]);
        });
    }

    #[test]
    fn a_target_without_capacity_is_a_shortfall() {
        let home = Home { cents: &[10, 20], sold_at: None, soc: 25.0, target: 50.0 };
        home.with(|context, session| {
            // From 10 to 20 kWh.
            assert_eq!(load_of((context, session), None).0, [10.0, 0.0]);
            let import = [3_000_000_000, 2_000_000_000];
            let free = FreeCapacity { import: &import, export: &[0, 0] };
            let (load, answer) = load_of((context, session), Some(free));
            assert_eq!((load, answer.shortfall), (vec![3.0, 2.0], 5_000_000_000));
        });
    }

    #[test]
    fn a_plan_that_breaks_a_power_or_a_level_is_not_feasible() {
        let is_feasible = |sold_at, energies: &[(u32, f64)]| {
            let home = Home { cents: &[10, 20], sold_at, soc: 10.0, target: 10.0 };
            home.with(|context, session| {
                let battery = &context.sessions.batteries[0];
                battery.is_feasible(context, session, &plan(energies))
            })
        };
        // 4 kWh are stored of 40.
        assert!(is_feasible(Some(9), &[(0, 10.0), (1, -5.0)]));
        assert!(!is_feasible(Some(9), &[(0, 10.1)]));
        assert!(!is_feasible(Some(9), &[(0, 10.0), (1, -5.1)]));
        assert!(is_feasible(Some(9), &[(0, -4.0)]));
        assert!(!is_feasible(Some(9), &[(0, -4.1)]));
        assert!(!is_feasible(None, &[(0, -4.0)]));
    }
}

//! Revenue that vehicles of an area leave at negative prices.
//!
//! Vehicles that are not filled buy their need alone. Beside their plans, and within the hard limits
//! on import, they could take more where their price, with the shadow prices of the limits, is
//! negative. It is added up for one vehicle after the other, in the order of their positions, each
//! in its cheapest slots: an amount that is possible at once. Other plans may earn more.
use crate::area::model::energy_by_slot::EnergyBySlot;
use crate::area::model::linking::{LinkingConstraints, Penalty};
use crate::area::model::session::Session;
use crate::area::model::sessions::charge_limit;
use crate::area::pricing::buffers::PricingBuffers;
use crate::area::problem::area_problem::{AreaError, AreaProblem};
use crate::area::problem::micro_wh::as_kwh;
use crate::area::report::outcome::AreaPlan;
use crate::columns::fleet::Needs;
use crate::plan::charge::forgone::forgone_in;
use crate::plan::charge::plan::PlannedSlot;
use crate::time::instant::instant_at;
use crate::tolerance::ENERGY_SHARE_MIN;
use crate::units::{Energy, Power, Price};

/// Energy at negative prices that a vehicle does not buy.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct VehicleForgone {
    /// Row of the vehicle.
    pub row: usize,
    /// Energy in kWh at the plug.
    pub energy_kwh: f64,
    /// Money that it would earn, less what limits with a price would cost.
    pub revenue: f64,
}

/// Capacity that hard limits on import leave, in kWh by limit and slot.
struct LimitCapacity<'a> {
    constraints: &'a LinkingConstraints,
    /// By limit and slot; infinite for other limits.
    free_kwh: Vec<Vec<f64>>,
}

impl<'a> LimitCapacity<'a> {
    fn new(plan: &AreaPlan, constraints: &'a LinkingConstraints) -> Self {
        let free = |at: usize| {
            let constraint = &constraints.each[at];
            if constraint.penalty != Penalty::Hard || constraint.sign < 0.0 {
                return vec![f64::INFINITY; constraints.slots()];
            }
            let node = &plan.nodes[constraint.node];
            let vehicles = node.load_kw.iter().zip(&node.base_kw).map(|(load, base)| load - base);
            let loads = vehicles.zip(&constraints.hours).map(|(kw, hours)| kw * hours);
            constraint.bounds.iter().zip(loads).map(|(bound, load)| bound - load).collect()
        };
        Self { constraints, free_kwh: (0..constraints.each.len()).map(free).collect() }
    }

    /// Limits on the path from a node to the root.
    fn path(&self, node: u32) -> impl Iterator<Item = usize> + '_ {
        let nodes = self.constraints.paths[node as usize].iter();
        nodes.flat_map(|&node| self.constraints.by_node[node as usize].iter().copied())
    }

    fn at(&self, node: u32, slot: usize) -> f64 {
        self.path(node).map(|limit| self.free_kwh[limit][slot]).fold(f64::INFINITY, f64::min)
    }

    fn use_up(&mut self, node: u32, slot: usize, kwh: f64) {
        let path: Vec<usize> = self.path(node).collect();
        for limit in path {
            self.free_kwh[limit][slot] -= kwh;
        }
    }
}

impl AreaPlan {
    /// Returns what each vehicle leaves at negative prices, in the order of the rows; only rows
    /// that leave some.
    ///
    /// # Errors
    /// [`AreaError::OtherProblem`] if `problem` has other vehicles, prices or nodes.
    pub fn forgone(&self, problem: &AreaProblem<'_>) -> Result<Vec<VehicleForgone>, AreaError> {
        self.check_problem(problem)?;
        let constraints = LinkingConstraints::new(problem);
        let mut free = LimitCapacity::new(self, &constraints);
        let mut found = self.read_plans(problem, &constraints, |plans| {
            let sessions = plans.context.sessions;
            let (mut buffers, mut taken) = (PricingBuffers::default(), EnergyBySlot::new());
            let mut found = Vec::new();
            for (at, session) in sessions.each.iter().enumerate() {
                let prices = problem.curves.prices(session.curve as usize);
                let stay = session.first as usize..session.end as usize;
                // A battery buys at negative prices what it can.
                if session.has_battery() || !prices[stay].iter().any(|&price| price < 0.0) {
                    continue;
                }
                plans.plan(sessions.group_of(at), at, &mut buffers, &mut taken);
                found.extend(self.forgone_of(problem, session, &taken, &mut free));
            }
            found
        });
        found.sort_by_key(|forgone| forgone.row);
        Ok(found)
    }

    /// Energy and money that one vehicle leaves; `taken` is its plan.
    fn forgone_of(
        &self,
        problem: &AreaProblem<'_>,
        session: &Session,
        taken: &EnergyBySlot,
        free: &mut LimitCapacity<'_>,
    ) -> Option<VehicleForgone> {
        let (row, horizon) = (session.row as usize, problem.horizon());
        let prices = problem.curves.prices(session.curve as usize);
        let added = &self.nodes[session.node as usize].added_per_kwh;
        let slot = |slot: usize| {
            let price = prices[slot] + added[slot];
            // A limit that pays for load does not make a price negative.
            (prices[slot] < 0.0 && price < 0.0).then_some(())?;
            let in_slot = taken.iter().find(|(at, _)| *at as usize == slot);
            let energy = as_kwh(in_slot.map_or(0, |(_, energy)| *energy));
            let capacity = as_kwh(session.cap(horizon, slot));
            let least = ENERGY_SHARE_MIN * capacity;
            let spare = (capacity - energy).min(free.at(session.node, slot));
            (spare > least).then_some(())?;
            let (start, end) = (horizon.starts()[slot], horizon.ends()[slot]);
            let power_max = Power::from_kw(spare / horizon.hours(slot)).ok()?;
            let price = Price::from_per_kwh(price).ok()?;
            let (start, end) = (instant_at(start), instant_at(end));
            Some(PlannedSlot { start, end, price, power_max, energy: Energy::ZERO })
        };
        let slots: Vec<PlannedSlot> =
            (session.first as usize..session.end as usize).filter_map(slot).collect();
        let bought = taken.iter().map(|(_, energy)| energy).sum::<i64>();
        let room = match problem.vehicles.fleet.needs {
            Needs::Energy { .. } => None,
            Needs::Soc { .. } => {
                let full = || problem.vehicles.fleet.energy_up_to(row, 100.0).ok();
                let limit = charge_limit(problem, row).ok()?.or_else(full)?;
                Some((Energy::from_kwh(as_kwh(bought)).ok()?, limit))
            }
        };
        let mut used = Vec::new();
        let forgone = forgone_in(slots, room, |slot, energy| used.push((slot.start, energy)))?;
        for (start, energy) in used {
            let start = start.timestamp_micros();
            let slots = horizon.overlapping(start, start.saturating_add(1));
            slots.for_each(|slot| free.use_up(session.node, slot, energy.as_kwh()));
        }
        let (energy_kwh, revenue) = (forgone.energy.as_kwh(), forgone.revenue.as_amount());
        Some(VehicleForgone { row, energy_kwh, revenue })
    }
}

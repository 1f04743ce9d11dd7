//! Area plan: cost, bound, unmet need, shadow prices, and the plan of each vehicle.
//!
//! The search minimises energy, soft limits, shortfall penalty and degree-hours at their price
//! together. All plans with the same shortfalls pay the same penalty `w`, and with the same
//! degree-hours the same `d`. So with `D` the Lagrangian bound of the search, `C`
//! the cost of energy and soft limits, and `U` that of unmanaged charging:
//!
//! ```text
//! bound = min(D - w - d, C)      gap = max( (C - bound) / max(|bound|, |U|) , unmet_gap )
//! ```
//!
//! `unmet_gap` is the part of the needs that is unmet and not proved to be, with indivisible
//! vehicles; it is zero without any.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::area::column_generation::search_state::{Termination, relative_gap};
use crate::area::distributed::executor::{Executor, overrides_in, session_update};
use crate::area::distributed::protocol::{
    ColumnChoice, Overrides, Partition, PricingRequest, RequestKind, SessionUpdate,
};
use crate::area::model::deadlines::Deadlines;
use crate::area::model::energy_by_slot::{Assignment, EnergyBySlot};
use crate::area::model::linking::{LinkingConstraint, LinkingConstraints, Penalty};
use crate::area::model::rooms::{AreaRoom, RoomPlan};
use crate::area::model::session::Session;
use crate::area::model::sessions::Sessions;
use crate::area::pricing::block_loads::{self, BlockLoad};
use crate::area::pricing::buffers::PricingBuffers;
use crate::area::pricing::context::PricingContext;
use crate::area::pricing::effective_prices::ShortfallPenalty;
use crate::area::pricing::price_room::price_rooms;
use crate::area::problem::area_problem::{AreaError, AreaProblem};
use crate::area::problem::fingerprint::fingerprint;
use crate::area::problem::limits::{Limit, Node, base_loads_kw};
use crate::area::problem::micro_wh::{MICRO_WH_PER_KWH, as_kwh};
use crate::area::problem::options::WarmStart;
use crate::area::recovery::plans::{PlanReader, PricesByClass};
use crate::area::recovery::totals::{self, AreaLoad, add_rooms, cost_of_limits};
use crate::area::report::causes::split_by_cause;
use crate::area::report::heat_units::{HeatUnitPlan, heat_unit_plans};
use crate::area::report::table::{AreaNumbers, RowWriter, write_rows};
use crate::area::solve::area_instance::{AreaInstance, Solution};
use crate::batch::charge::unpriced_hours;
use crate::columns::plan_table::PlanTable;
use crate::columns::row_error::RowError;
use crate::plan::charge::selection::slot_selection::Window;
use crate::tolerance::{DIVISOR_MIN, NEED_SHARE_MIN, POWER_ROUNDING_KW, SHORTFALL_TOLERANCE_KWH};
use crate::units::MICROS_PER_HOUR;
use crate::words::words;

/// Part of a limit from which a slot counts as full.
const FULL: f64 = 0.999;

words! {
    /// Reason that the column generation ended. Words that [`SearchStatus`](crate::plan::SearchStatus)
    /// has as well mean the same there; words of earlier versions are read from saved plans.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Status {
        /// The requested gap is proved: no plan is cheaper by more than it.
        #[serde(alias = "gap")]
        Gap = "optimal_within_gap",
        /// The maximum number of rounds was reached.
        #[serde(alias = "rounds")]
        Rounds = "limit_reached",
        /// The caller stopped the search. Another run may stop at another plan.
        Stopped = "stopped",
        /// No column improves the master solution, or it reached the gap and the plans did not. The
        /// gap that is left comes from assigning whole columns to vehicles.
        Stalled = "stalled",
        /// The solver failed in one of the searches. Limits hold and the bound is proved, but a
        /// better plan may exist.
        #[serde(alias = "failed")]
        Failed = "solver_failed",
    }
}

impl From<Termination> for Status {
    fn from(termination: Termination) -> Self {
        match termination {
            Termination::Gap => Self::Gap,
            Termination::Rounds => Self::Rounds,
            Termination::Caller => Self::Stopped,
            Termination::Stalled => Self::Stalled,
            Termination::Failed => Self::Failed,
        }
    }
}

/// Load of all vehicles and its cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LoadAndCost {
    /// Mean power of all vehicles and heat units in each slot, in kW.
    pub load_kw: Vec<f64>,
    /// Cost of energy and soft limits.
    pub cost: f64,
}

impl LoadAndCost {
    /// Savings of a plan against this reference; negative if the plan costs more.
    #[must_use]
    pub fn savings(&self, plan_cost: f64) -> f64 {
        self.cost - plan_cost
    }
}

/// Load and prices of one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeOutcome {
    /// Name of the node.
    pub name: String,
    /// Mean power in each slot in kW, base load included; positive is import.
    pub load_kw: Vec<f64>,
    /// Base load in each slot in kW, that of the nodes below included.
    pub base_kw: Vec<f64>,
    /// Largest excess of the load over a hard limit in any slot, in kW. Only base load and limits
    /// on export can cause one.
    pub breach_kw: f64,
    /// Sum of the shadow prices of the limits of the node and of those above it, which they add to
    /// the price of a kWh, by slot.
    pub added_per_kwh: Vec<f64>,
}

/// Shadow price of one limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShadowPrice {
    /// Position of its node.
    pub node: usize,
    /// Fall of the cost if one more kWh were allowed, by slot.
    pub per_kwh: Vec<f64>,
}

/// Unmet need of one vehicle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unmet {
    /// Row of the vehicle.
    pub row: usize,
    /// Energy missing, in kWh at the plug; stored energy if the vehicle discharges. With several
    /// deadlines, that at the deadline with the most missing.
    pub energy_kwh: f64,
    /// Node whose limit causes it; `None` if the stay is too short, the power too low, the charge
    /// limit below the wanted level, or prices are missing.
    pub node: Option<usize>,
    /// True if prices are missing in the stay: with them the vehicle alone could have this energy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unpriced: bool,
}

/// Plan of an area: outcome, proof and the plans of its vehicles.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AreaPlan {
    /// Cost of the energy and of soft limits.
    pub cost: f64,
    /// Lower bound on the cost of every plan with the same shortfalls and degree-hours.
    pub bound: f64,
    /// Cost minus bound, divided by the larger of bound and unmanaged cost. With indivisible
    /// vehicles at least the part of the needs that is unmet and not proved to be.
    pub gap: f64,
    /// Pricing rounds over all vehicles in the last search. Searches before it, on samples or for
    /// a shortage, are not counted.
    pub rounds: usize,
    /// Reason that the column generation ended.
    pub status: Status,
    /// True if another run gives the same bytes.
    pub reproducible: bool,
    /// Energy that vehicles charge, in kWh at the plug.
    pub energy_kwh: f64,
    /// Energy that vehicles discharge, in kWh at the plug.
    pub discharged_kwh: f64,
    /// Need that is not met, in kWh.
    pub unmet_kwh: f64,
    /// Lower bound on the unmet need of any plan, with indivisible vehicles. In a small area it is
    /// the bound of the mixed-integer search, exact if that ended; in a large one the least unmet
    /// need if vehicles could charge at any power. `None` without indivisible vehicles, or if the
    /// search was stopped: nothing is proved there.
    pub unmet_bound_kwh: Option<f64>,
    /// Unmet need by vehicle, in the order of the rows.
    pub unmet: Vec<Unmet>,
    /// Rows whose reserve is complete later than full power from arrival allows.
    pub late_reserves: Vec<usize>,
    /// Load and prices of each node.
    pub nodes: Vec<NodeOutcome>,
    /// Shadow price of each limit, in the order of nodes and limits.
    pub shadow_prices: Vec<ShadowPrice>,
    /// Plan of each heat unit, in the order of the problem.
    pub heat: Vec<HeatUnitPlan>,
    /// Price of a degree-hour outside the band of a unit of priority 1, in units of currency per °C·h;
    /// 0 without units. It puts comfort before money, but for parts of degree-hours that cost more than
    /// that, and behind the needs of vehicles.
    pub degree_hour_price: f64,
    /// Mean power of all vehicles and heat units in each slot, in kW.
    pub load_kw: Vec<f64>,
    /// Load and cost of full power from arrival and of thermostats, without regard to limits.
    pub unmanaged: LoadAndCost,
    /// Load and cost of the cheapest plan of each device, without regard to limits.
    pub price_only: LoadAndCost,
    /// Rows that cannot be planned, and their errors.
    pub errors: Vec<(usize, RowError)>,
    /// Warm start for the next plan of the area.
    pub state: WarmStart,
    /// Sessions that were planned, with needs reduced by a shortage.
    pub(crate) sessions: Sessions,
    pub(crate) assignment: Assignment,
    /// Duals of each pricing round, by limit and slot.
    pub(crate) duals_by_round: Vec<Vec<f64>>,
    /// Duals that proved the bound, by limit and slot.
    pub(crate) duals: Vec<f64>,
    pub(crate) penalty: ShortfallPenalty,
    /// Part of the needs that is unmet and not proved to be.
    pub(crate) unmet_gap: f64,
    /// Fingerprint of the problem.
    pub(crate) problem: u64,
}

/// Load and cost of unmanaged charging: full power from arrival, and thermostats.
pub(crate) fn unmanaged(
    problem: &AreaProblem<'_>,
    (sessions, rooms, penalty): (&Sessions, &[AreaRoom], ShortfallPenalty),
    constraints: &LinkingConstraints,
    executor: &mut Executor<'_>,
) -> LoadAndCost {
    let (curves, export) = (problem.curves, problem.export());
    let context = PricingContext { curves, export, sessions, rooms, penalty, is_free: false };
    let sums = executor.price_remotely(&context, || RequestKind::AtOnce, None);
    let sums = sums.unwrap_or_else(|| block_loads::unmanaged_loads(&context));
    let held: Vec<RoomPlan> = rooms.iter().map(AreaRoom::thermostat).collect();
    load_and_cost(&context, constraints, &sums, &held)
}

/// Load and cost of the cheapest plan of each device, without limits.
fn price_only(
    context: &PricingContext<'_>,
    constraints: &LinkingConstraints,
    executor: &mut Executor<'_>,
) -> LoadAndCost {
    let free = vec![0.0; constraints.each.len() * constraints.slots()];
    let sums = executor.price_remotely(context, || RequestKind::Answer(free.clone()), None);
    let sums = sums.unwrap_or_else(|| block_loads::loads_of_responses(context, constraints, &free));
    let rooms = price_rooms(context, constraints, &free).into_iter().map(|priced| priced.plan);
    load_and_cost(context, constraints, &sums, &rooms.collect::<Vec<RoomPlan>>())
}

/// Power and cost of the sum of all blocks and rooms, soft limits included.
fn load_and_cost(
    context: &PricingContext<'_>,
    constraints: &LinkingConstraints,
    sums: &[BlockLoad],
    rooms: &[RoomPlan],
) -> LoadAndCost {
    let mut total = totals::area_load(sums, constraints);
    add_rooms(&mut total, context, constraints, rooms);
    let cost = total.cost + cost_of_limits(constraints, &total);
    LoadAndCost { load_kw: powers(constraints, &total.load), cost }
}

/// Mean power in each slot, in kW, from energies in µWh.
fn powers(constraints: &LinkingConstraints, load: &[i64]) -> Vec<f64> {
    load.iter().zip(&constraints.hours).map(|(&energy, hours)| as_kwh(energy) / hours).collect()
}

/// Builds the area plan from a solution. `asked_for` are the sessions before a shortage was shared,
/// `least_kwh` is a lower bound on the energy that limits withhold.
pub(crate) fn finish(
    instance: &AreaInstance<'_>,
    (sessions, asked_for, least_kwh): (Sessions, Option<&Sessions>, Option<f64>),
    solution: Solution,
    unmanaged: LoadAndCost,
    executor: &mut Executor<'_>,
) -> AreaPlan {
    let constraints = instance.constraints;
    let context = instance.context(&sessions);
    let total = &solution.load;
    let by_class =
        PricesByClass::new(&context, constraints, &solution.assignment, &solution.duals_by_round);
    let plans =
        PlanReader { context: &context, assignment: &solution.assignment, prices: &by_class };
    let unmet = unmet(instance, &plans, asked_for.unwrap_or(&sessions), total);
    let late_reserves = late_reserves(&plans, total);
    let cost = total.cost + cost_of_limits(constraints, total);
    // The bound includes the penalties on shortfall and on degree-hours. Plans with the same of both
    // pay the same penalties, so the rest is a bound on their cost.
    let bound = solution.bound - total.shortfall_penalty - total.discomfort_penalty;
    let nodes = nodes(
        instance.problem,
        constraints,
        &totals::node_loads(&plans, instance.problem, total),
        &solution.duals,
    );
    // The sum of nothing is -0.0; adding zero makes it 0.0.
    let unmet_kwh = unmet.iter().map(|unmet| unmet.energy_kwh).sum::<f64>() + 0.0;
    let out_of_reach_kwh: f64 = sessions.out_of_reach_kwh.iter().map(|(_, kwh)| kwh).sum();
    // Need that a stay is too short for is unmet in every plan.
    let unmet_bound_kwh = least_kwh.map(|least| (least + out_of_reach_kwh).min(unmet_kwh));
    let need_kwh = asked_for.unwrap_or(&sessions).need_kwh();
    let unmet_gap = unmet_bound_kwh.map_or(0.0, |bound| unmet_gap(unmet_kwh - bound, need_kwh));
    let gap = relative_gap(cost, bound, instance.stopping.scale).max(unmet_gap);
    let status = status_of_plans(solution.termination, gap, instance, executor);
    let price_only =
        price_only(&instance.context(asked_for.unwrap_or(&sessions)), constraints, executor);
    let energy = total.load.iter().sum::<i64>() - total.of_rooms;
    AreaPlan {
        cost,
        // By rounding, a bound may exceed the cost of a plan that is optimal.
        bound: bound.min(cost),
        gap,
        rounds: solution.rounds,
        status,
        reproducible: status != Status::Stopped,
        energy_kwh: as_kwh(energy + total.discharged),
        discharged_kwh: as_kwh(total.discharged),
        unmet_kwh,
        unmet_bound_kwh,
        unmet,
        late_reserves,
        nodes,
        shadow_prices: shadow_prices(constraints, &solution.duals),
        heat: heat_unit_plans(instance, &solution),
        degree_hour_price: instance.rooms.degree_hour_price,
        load_kw: powers(constraints, &total.load),
        unmanaged,
        price_only,
        errors: sessions.errors.clone(),
        state: solution.warm_start,
        assignment: solution.assignment,
        duals_by_round: solution.duals_by_round,
        duals: solution.duals,
        penalty: instance.penalty,
        unmet_gap,
        problem: fingerprint(instance.problem),
        sessions,
    }
}

/// Duals of each limit, by slot.
fn shadow_prices(constraints: &LinkingConstraints, duals: &[f64]) -> Vec<ShadowPrice> {
    let by_limit = constraints.each.iter().zip(duals.chunks(constraints.slots().max(1)));
    by_limit
        .map(|(limit, duals)| ShadowPrice { node: limit.node, per_kwh: duals.to_vec() })
        .collect()
}

/// Status of the finished plans: a gap that the master reached counts only if the plans reach it.
fn status_of_plans(
    termination: Termination,
    gap: f64,
    instance: &AreaInstance<'_>,
    executor: &Executor<'_>,
) -> Status {
    // A failure of the solver is reported first, also if the plans reach the gap.
    match Status::from(termination) {
        Status::Gap | Status::Stalled | Status::Rounds if executor.has_failed() => Status::Failed,
        Status::Gap if gap > instance.stopping.gap => Status::Stalled,
        Status::Stalled | Status::Rounds if gap <= instance.stopping.gap => Status::Gap,
        status => status,
    }
}

/// Part of the needs that is unmet and not proved to be; 0 up to rounding.
fn unmet_gap(open_kwh: f64, need_kwh: f64) -> f64 {
    let part = open_kwh / need_kwh.max(DIVISOR_MIN);
    if part <= NEED_SHARE_MIN { 0.0 } else { part }
}

/// Rows whose reserve is late, in order.
fn late_reserves(plans: &PlanReader<'_>, total: &AreaLoad) -> Vec<usize> {
    let sessions = plans.context.sessions;
    let (mut buffers, mut taken) = (PricingBuffers::default(), EnergyBySlot::new());
    let mut is_late = |at: usize, session: &Session| {
        if let Some(battery) = sessions.battery_of(session) {
            return battery.reserve_from > session.first;
        }
        let deadlines = sessions.deadlines_of(session);
        let is_short = total.with_shortfall.binary_search(&(at as u32)).is_ok();
        // Only vehicles that can be late are planned again here.
        deadlines.filter(|deadlines| is_short || deadlines.is_late()).is_some_and(|deadlines| {
            plans.plan(sessions.group_of(at), at, &mut buffers, &mut taken);
            deadlines.is_reserve_late(&taken)
        })
    };
    let late = sessions.each.iter().enumerate().filter(|(at, session)| is_late(*at, session));
    let mut rows: Vec<usize> = late.map(|(_, session)| session.row as usize).collect();
    rows.sort_unstable();
    rows
}

/// Outcome of every node; `loads` are in µWh by slot, base load excluded.
fn nodes(
    problem: &AreaProblem<'_>,
    constraints: &LinkingConstraints,
    loads: &[Vec<i64>],
    duals: &[f64],
) -> Vec<NodeOutcome> {
    let bases = base_loads_kw(&problem.nodes, constraints.slots());
    let outcome = |(at, (node, base_kw)): (usize, (&Node, Vec<f64>))| {
        let load_kw: Vec<f64> = powers(constraints, &loads[at])
            .iter()
            .zip(&base_kw)
            .map(|(load, base)| load + base)
            .collect();
        let mut breach_kw = 0.0f64;
        for limit in &node.limits {
            let (most, sign) = match limit {
                Limit::Import { power_max, price: None } => (power_max, 1.0),
                Limit::Export { power_max, price: None } => (power_max, -1.0),
                _ => continue,
            };
            for (slot, load) in load_kw.iter().enumerate() {
                let beyond = most.at(slot).map_or(0.0, |most| sign * load - most.as_kw());
                breach_kw = breach_kw.max(if beyond > POWER_ROUNDING_KW { beyond } else { 0.0 });
            }
        }
        let added_per_kwh = constraints.dual_price(at as u32, duals);
        NodeOutcome { name: node.name.clone(), load_kw, base_kw, breach_kw, added_per_kwh }
    };
    problem.nodes.iter().zip(bases).enumerate().map(outcome).collect()
}

/// Unmet need by row, with the node whose limit causes it.
fn unmet(
    instance: &AreaInstance<'_>,
    plans: &PlanReader<'_>,
    asked_for: &Sessions,
    total: &AreaLoad,
) -> Vec<Unmet> {
    let sessions = plans.context.sessions;
    let before = instance.context(asked_for);
    let mut unmet = Vec::new();
    for &(row, energy_kwh) in &sessions.out_of_reach_kwh {
        let row = row as usize;
        let (own_kwh, unpriced_kwh) = split_by_cause(instance.problem, row, energy_kwh);
        for (energy_kwh, is_unpriced) in [(own_kwh, false), (unpriced_kwh, true)] {
            if energy_kwh > 0.0 {
                unmet.push(Unmet { row, energy_kwh, node: None, is_unpriced });
            }
        }
    }
    let (mut buffers, mut taken) = (PricingBuffers::default(), EnergyBySlot::new());
    for (position, (session, now)) in asked_for.each.iter().zip(&sessions.each).enumerate() {
        let deadlines = sessions.deadlines_of(session);
        // Blocks are added up in their order, so these positions are sorted.
        let is_short = total.with_shortfall.binary_search(&(position as u32)).is_ok();
        if now.need >= session.need && !is_short && !deadlines.is_some_and(Deadlines::is_late) {
            continue;
        }
        plans.plan(sessions.group_of(position), position, &mut buffers, &mut taken);
        let (missing, end) = match deadlines {
            Some(deadlines) => deadlines.unmet(&taken),
            None => (before.shortfall_of(session, &taken).missing, None),
        };
        if missing > 0 {
            // Only slots before the missed deadline can be the cause.
            let stopping = Session { end: end.unwrap_or(session.end), ..*session };
            let node = binding_node(instance.constraints, total, &stopping);
            let row = session.row as usize;
            unmet.push(Unmet { row, energy_kwh: as_kwh(missing), node, is_unpriced: false });
        }
    }
    // Entries of one row and node are added up.
    unmet.sort_by_key(|unmet| (unmet.row, unmet.node, unmet.is_unpriced));
    unmet.dedup_by(|next, kept| {
        let cause = |unmet: &Unmet| (unmet.row, unmet.node, unmet.is_unpriced);
        let is_same = cause(next) == cause(kept);
        if is_same {
            kept.energy_kwh += next.energy_kwh;
        }
        is_same
    });
    unmet
}

/// Node with the most slots of the session that are too full for the vehicle, the nearest of
/// equals.
///
/// An indivisible vehicle needs capacity for its full power. If no slot is full, this is the
/// nearest node with a hard limit, whose capacity whole columns did not use. `None` without one.
fn binding_node(
    constraints: &LinkingConstraints,
    total: &AreaLoad,
    session: &Session,
) -> Option<usize> {
    let full = |node: u32| {
        let of_node = constraints.by_node[node as usize]
            .iter()
            .map(|&constraint| &constraints.each[constraint]);
        let hard = of_node
            .filter(|constraint| constraint.penalty == Penalty::Hard && constraint.sign > 0.0);
        let is_full = |constraint: &LinkingConstraint, slot: usize| {
            let power = if session.is_indivisible { session.rate } else { 0.0 };
            let wanted = power * constraints.hours[slot] * MICROS_PER_HOUR / MICRO_WH_PER_KWH;
            as_kwh(total.loads[constraint.node][slot]) + wanted
                >= constraint.bounds[slot] * FULL - SHORTFALL_TOLERANCE_KWH
        };
        let slots = session.first as usize..session.end as usize;
        hard.map(|constraint| slots.clone().filter(|&slot| is_full(constraint, slot)).count()).max()
    };
    let path = &constraints.paths[session.node as usize];
    let counts = path.iter().filter_map(|&node| Some((full(node)?, node)));
    // `max_by_key` returns the last of equals: from the root down, that is the nearest node.
    let most = counts.rev().max_by_key(|&(count, _)| count)?;
    Some(most.1 as usize)
}

impl AreaPlan {
    /// Checks that `problem` is the one that was planned.
    pub(crate) fn check_problem(&self, problem: &AreaProblem<'_>) -> Result<(), AreaError> {
        if self.problem == fingerprint(problem) { Ok(()) } else { Err(AreaError::OtherProblem) }
    }

    /// Passes the plan of every vehicle to `sink`, in runs of at most `run` rows in the order of
    /// the fleet. `problem` is the one that was planned.
    ///
    /// A vehicle charges at constant power in each slot, so a limit on the mean of a slot holds at
    /// every instant, except in slots in which a vehicle arrives or departs. A vehicle with a least
    /// power runs at full power for a part of the slot instead.
    ///
    /// # Errors
    /// [`AreaError::OtherProblem`] if `problem` has other vehicles, prices or nodes.
    pub fn rows(
        &self,
        problem: &AreaProblem<'_>,
        run: usize,
        sink: &mut dyn FnMut(PlanTable<AreaNumbers>),
    ) -> Result<(), AreaError> {
        self.check_problem(problem)?;
        let mut unmet_kwh = vec![0.0; problem.vehicles.fleet.len()];
        for unmet in &self.unmet {
            unmet_kwh[unmet.row] += unmet.energy_kwh;
        }
        let constraints = LinkingConstraints::new(problem);
        self.read_plans(problem, &constraints, |plans| {
            write_rows(&RowWriter { problem, plans, unmet_kwh: &unmet_kwh }, run, sink);
        });
        Ok(())
    }

    /// Calls `read` with the plans of all vehicles.
    pub(crate) fn read_plans<T>(
        &self,
        problem: &AreaProblem<'_>,
        constraints: &LinkingConstraints,
        read: impl FnOnce(&PlanReader<'_>) -> T,
    ) -> T {
        let (sessions, penalty, export) = (&self.sessions, self.penalty, problem.export());
        let context = PricingContext {
            curves: problem.curves,
            export,
            sessions,
            rooms: &[],
            penalty,
            is_free: false,
        };
        let by_class =
            PricesByClass::new(&context, constraints, &self.assignment, &self.duals_by_round);
        read(&PlanReader { context: &context, assignment: &self.assignment, prices: &by_class })
    }

    /// Unmet need in kWh by position of the vehicle, in that order.
    pub(crate) fn unmet_by_position(&self) -> Vec<(usize, f64)> {
        let mut by_row: BTreeMap<usize, f64> = BTreeMap::new();
        for unmet in &self.unmet {
            *by_row.entry(unmet.row).or_default() += unmet.energy_kwh;
        }
        let each = self.sessions.each.iter().enumerate();
        each.filter_map(|(at, session)| Some((at, *by_row.get(&(session.row as usize))?))).collect()
    }

    /// Updates cost, gap, energies and loads for other plans of the same vehicles.
    pub(crate) fn refresh(
        &mut self,
        problem: &AreaProblem<'_>,
        plans: &PlanReader<'_>,
        constraints: &LinkingConstraints,
        (total, cost): (&AreaLoad, f64),
    ) {
        self.cost = cost;
        self.bound = self.bound.min(cost);
        self.gap = relative_gap(cost, self.bound, self.unmanaged.cost).max(self.unmet_gap);
        let energy = total.load.iter().sum::<i64>() - total.of_rooms;
        self.energy_kwh = as_kwh(energy + total.discharged);
        self.discharged_kwh = as_kwh(total.discharged);
        self.nodes =
            nodes(problem, constraints, &totals::node_loads(plans, problem, total), &self.duals);
        self.load_kw = powers(constraints, &total.load);
    }

    /// Duals that proved the bound, per kWh by limit and slot.
    #[must_use]
    pub fn duals_per_kwh(&self) -> &[f64] {
        &self.duals
    }

    /// Cost of unmanaged charging minus cost; negative if limits cost more than planning saves.
    #[must_use]
    pub fn savings(&self) -> f64 {
        self.unmanaged.savings(self.cost)
    }

    /// Most hours of a stay without a price.
    ///
    /// # Errors
    /// [`AreaError::OtherProblem`] if `problem` has other vehicles, prices or nodes.
    pub fn unpriced_hours(&self, problem: &AreaProblem<'_>) -> Result<f64, AreaError> {
        self.check_problem(problem)?;
        let (horizon, fleet) = (problem.horizon(), &problem.vehicles.fleet);
        let hours = |session: &Session| {
            let row = session.row as usize;
            let window = Window::new(horizon, fleet.arrival[row], fleet.departure[row]);
            unpriced_hours(horizon, problem.curves.prices(session.curve as usize), window)
        };
        Ok(self.sessions.each.iter().map(hours).fold(0.0, f64::max))
    }

    /// Number of vehicles planned, without rows in error.
    #[must_use]
    pub fn vehicles(&self) -> usize {
        self.sessions.each.len()
    }
}

impl AreaPlan {
    /// Request by which workers write the plans of their rows, with the overrides and session
    /// updates of each partition.
    #[must_use]
    pub fn instructions(
        &self,
        places: &[Partition],
    ) -> (PricingRequest, Vec<(Overrides, SessionUpdate)>) {
        let what = RequestKind::Plans(ColumnChoice::new(&self.assignment, &self.duals_by_round));
        let question = PricingRequest { penalty: self.penalty, is_free: false, kind: what };
        let unmet = self.unmet_by_position();
        let own = |place: &Partition| {
            let at = place.first..place.first + place.vehicles();
            // Positions ascend, so the vehicles of a part are one run.
            let from = unmet.partition_point(|(position, _)| *position < at.start);
            let to = unmet.partition_point(|(position, _)| *position < at.end);
            let here = unmet[from..to].iter();
            let unmet_kwh = here.map(|&(position, kwh)| ((position - at.start) as u32, kwh));
            let own = Overrides {
                plans: overrides_in(&self.assignment, &at),
                unmet_kwh: unmet_kwh.collect(),
            };
            (own, session_update(&self.sessions, at))
        };
        (question, places.iter().map(own).collect())
    }
}

//! Load, cost and shortfall of plans, block by block and for the whole area.
//!
//! Energies are whole numbers of 1 µWh, so their sums are exact in any order. Sums of money are
//! not. So the amounts of blocks are kept apart until all blocks are computed, here or on
//! workers, and then added in the order of the blocks.
use rayon::prelude::*;

use crate::area::distributed::executor::Executor;
use crate::area::distributed::protocol::{ColumnChoice, RequestKind};
use crate::area::model::energy_by_slot::EnergyBySlot;
use crate::area::model::linking::{LinkingConstraints, Penalty};
use crate::area::model::rooms::{AreaRoom, RoomPlan};
use crate::area::model::session::Block;
use crate::area::pricing::block_loads::BlockLoad;
use crate::area::pricing::buffers::PricingBuffers;
use crate::area::pricing::context::PricingContext;
use crate::area::problem::area_problem::AreaProblem;
use crate::area::problem::micro_wh::as_kwh;
use crate::area::recovery::plans::PlanReader;

/// Load, cost and shortfall of every block of plans, computed in parallel.
pub(crate) fn block_loads(plans: &PlanReader<'_>) -> Vec<BlockLoad> {
    plans.context.sessions.blocks.par_iter().map(|block| block_load(plans, block)).collect()
}

/// Load, cost and shortfall of the plans of one block.
fn block_load(plans: &PlanReader<'_>, block: &Block) -> BlockLoad {
    let context = plans.context;
    let mut sum = BlockLoad::of_block(block, vec![0i64; context.horizon().len()], 0.0);
    let (mut cost, mut shortfall_penalty) = (0.0, 0.0);
    let (mut buffers, mut taken) = (PricingBuffers::default(), EnergyBySlot::new());
    for position in block.sessions.clone() {
        plans.plan(block.group, position, &mut buffers, &mut taken);
        let session = &context.sessions.each[position];
        for &(slot, energy) in &taken {
            sum.load[slot as usize] += energy;
            sum.discharged -= energy.min(0);
            if block.curve.is_none() {
                cost += context.cost_of(session, slot as usize, energy);
            }
        }
        let missing = context.shortfall_of(session, &taken);
        shortfall_penalty += context.penalty_of(session, missing);
        if missing.missing > 0 {
            sum.shortfall += missing.missing;
            sum.with_shortfall.push(position as u32);
        }
    }
    // With one price curve the cost follows from the load of the block.
    if let Some(curve) = block.curve {
        let used = sum.load.iter().enumerate().filter(|(_, energy)| **energy != 0);
        cost = used.map(|(slot, &e)| context.own_price(curve, slot) * as_kwh(e)).sum();
    }
    (sum.cost, sum.shortfall_penalty) = (vec![cost], vec![shortfall_penalty]);
    sum
}

/// Load of every node, in µWh by slot.
///
/// `total` holds the loads of limited nodes only. Loads of the other nodes are added up here from
/// the plans of their own vehicles and from the nodes below.
pub(crate) fn node_loads(
    plans: &PlanReader<'_>,
    problem: &AreaProblem<'_>,
    total: &AreaLoad,
) -> Vec<Vec<i64>> {
    let nodes = &problem.nodes;
    let is_open: Vec<bool> = total.loads.iter().map(Vec::is_empty).collect();
    let mut loads = total.loads.clone();
    if !is_open.contains(&true) {
        return loads;
    }
    for (load, _) in loads.iter_mut().zip(&is_open).filter(|(_, is_open)| **is_open) {
        load.resize(total.load.len(), 0);
    }
    let blocks = &plans.context.sessions.blocks;
    let own: Vec<BlockLoad> = blocks
        .par_iter()
        .filter(|block| is_open[block.node as usize])
        .map(|block| block_load(plans, block))
        .collect();
    let of_room = |(room, plan): (&AreaRoom, &RoomPlan)| {
        let mut load = vec![0; total.load.len()];
        room.add_to(&mut load, plan, 1);
        (Some(room.node as usize), load)
    };
    let rooms = plans.context.rooms.iter().zip(&plans.assignment.rooms);
    let rooms = rooms.filter(|(room, _)| is_open[room.node as usize]).map(of_room);
    let rooms: Vec<(Option<usize>, Vec<i64>)> = rooms.collect();
    let own = own.iter().map(|sum| (Some(sum.node as usize), &sum.load));
    let own = own.chain(rooms.iter().map(|(node, load)| (*node, load)));
    // Sources of load: the devices of open nodes, and limited nodes for the ones above.
    let limited = total.loads.iter().zip(nodes).filter(|(load, _)| !load.is_empty());
    for (from, load) in own.chain(limited.map(|(load, node)| (node.parent, load))) {
        // A limited node already has its sum, and adds it to the nodes above itself.
        let up = std::iter::successors(from, |&at| nodes[at].parent);
        for at in up.take_while(|&at| is_open[at]) {
            loads[at].iter_mut().zip(load).for_each(|(all, load)| *all += load);
        }
    }
    loads
}

/// Sum of all blocks, with the loads of the limited nodes.
pub(crate) fn area_load(sums: &[BlockLoad], constraints: &LinkingConstraints) -> AreaLoad {
    let slots = constraints.slots();
    let limited =
        |constraints: &Vec<usize>| if constraints.is_empty() { Vec::new() } else { vec![0; slots] };
    let mut total = AreaLoad {
        loads: constraints.by_node.iter().map(limited).collect(),
        load: vec![0; slots],
        ..AreaLoad::default()
    };
    for sum in sums {
        // Money is added block by block, so that the sum has the same bits on any workers.
        for (cost, shortfall_penalty) in sum.cost.iter().zip(&sum.shortfall_penalty) {
            total.cost += cost;
            total.shortfall_penalty += shortfall_penalty;
        }
        total.discharged += sum.discharged;
        total.shortfall += sum.shortfall;
        total.with_shortfall.extend_from_slice(&sum.with_shortfall);
        total.load.iter_mut().zip(&sum.load).for_each(|(all, load)| *all += load);
        for &node in &constraints.paths[sum.node as usize] {
            let all = total.loads[node as usize].iter_mut();
            all.zip(&sum.load).for_each(|(all, load)| *all += load);
        }
    }
    total
}

/// Load of an assignment, computed here or on workers, and its objective value. `duals_by_round`
/// holds the duals of each round.
pub(crate) fn load_of_assignment(
    constraints: &LinkingConstraints,
    plans: &PlanReader<'_>,
    duals_by_round: &[Vec<f64>],
    executor: &mut Executor<'_>,
) -> (AreaLoad, f64) {
    let mixed = || RequestKind::Plans(ColumnChoice::new(plans.assignment, duals_by_round));
    let sums = executor.price_remotely(plans.context, mixed, Some(plans.assignment));
    let mut total = area_load(&sums.unwrap_or_else(|| self::block_loads(plans)), constraints);
    add_rooms(&mut total, plans.context, constraints, &plans.assignment.rooms);
    let value = objective_of(constraints, &total);
    (total, value)
}

/// Objective value: cost of energy, cost of soft limits, shortfall penalty, and degree-hours of rooms
/// at their price.
pub(crate) fn objective_of(constraints: &LinkingConstraints, total: &AreaLoad) -> f64 {
    total.cost
        + cost_of_limits(constraints, total)
        + total.shortfall_penalty
        + total.discomfort_penalty
}

/// Cost of all soft limits at a load.
pub(crate) fn cost_of_limits(constraints: &LinkingConstraints, total: &AreaLoad) -> f64 {
    let soft = constraints.each.iter().filter(|constraint| constraint.penalty != Penalty::Hard);
    soft.map(|constraint| {
        let load: Vec<f64> =
            total.loads[constraint.node].iter().map(|&load| as_kwh(load)).collect();
        constraints.cost(constraint, &load)
    })
    .sum()
}

/// Adds the loads and the money of all rooms to those of the vehicles.
pub(crate) fn add_rooms(
    total: &mut AreaLoad,
    context: &PricingContext<'_>,
    constraints: &LinkingConstraints,
    plans: &[RoomPlan],
) {
    for (room, plan) in context.rooms.iter().zip(plans) {
        let cost = room.cost(context.is_free, plan);
        total.cost += cost.money;
        total.discomfort_penalty += cost.discomfort;
        total.of_rooms += plan.iter().sum::<i64>();
        room.add_to(&mut total.load, plan, 1);
        for &node in &constraints.paths[room.node as usize] {
            room.add_to(&mut total.loads[node as usize], plan, 1);
        }
    }
}

/// Load, cost and shortfall of all plans of an area.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct AreaLoad {
    /// Load of each limited node, in µWh by slot; empty for other nodes.
    pub(crate) loads: Vec<Vec<i64>>,
    /// Load of all vehicles and rooms, in µWh by slot.
    pub(crate) load: Vec<i64>,
    /// Part of the load that is that of rooms, in µWh over all slots.
    pub(crate) of_rooms: i64,
    /// Energy that vehicles discharge, in µWh.
    pub(crate) discharged: i64,
    /// Cost of the energy at the devices' own prices, less the value of heat stored at the end.
    pub(crate) cost: f64,
    /// Need that is not met, in µWh.
    pub(crate) shortfall: i64,
    /// Shortfall penalty.
    pub(crate) shortfall_penalty: f64,
    /// Degree-hours of rooms outside their bands, at their price.
    pub(crate) discomfort_penalty: f64,
    /// Positions of vehicles with a shortfall.
    pub(crate) with_shortfall: Vec<u32>,
}

/// Load of all plans, computed in this process.
pub(crate) fn load_of_plans(plans: &PlanReader<'_>, constraints: &LinkingConstraints) -> AreaLoad {
    let mut total = area_load(&self::block_loads(plans), constraints);
    add_rooms(&mut total, plans.context, constraints, &plans.assignment.rooms);
    total
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::area::model::energy_by_slot::Assignment;
    use crate::area::model::sessions::Sessions;
    use crate::area::pricing::effective_prices::ShortfallPenalty;
    use crate::area::problem::area_problem::AreaVehicles;
    use crate::area::problem::limits::{Node, Profile};
    use crate::area::problem::micro_wh::to_micro_wh;
    use crate::area::recovery::plans::PricesByClass;
    use crate::columns::fleet::{Curves, Fleet, Needs, TargetLists};
    use crate::prices::curve::PriceCurve;
    use crate::prices::curve::tests::curve_of;
    use crate::units::kw;

    const HOUR: i64 = 3_600_000_000;

    /// A vehicle of 10 kW.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Car {
        pub(crate) node: u32,
        /// Hours of arrival and departure.
        pub(crate) stay: (i64, i64),
        pub(crate) kwh: f64,
        pub(crate) reserve_kwh: f64,
        /// Energy wanted by an hour before departure.
        pub(crate) target: Option<(i64, f64)>,
        pub(crate) priority: f64,
        pub(crate) is_indivisible: bool,
    }

    /// A vehicle of the first node that needs so much from the first hour on.
    pub(crate) fn car(hours: i64, kwh: f64) -> Car {
        Car {
            node: 0,
            stay: (0, hours),
            kwh,
            reserve_kwh: 0.0,
            target: None,
            priority: 1.0,
            is_indivisible: false,
        }
    }

    /// Vehicles, hours priced in cents, and nodes: the others hang from the first one.
    pub(crate) struct Town {
        curve: PriceCurve,
        cars: Vec<Car>,
        nodes: Vec<Node>,
        groups_max: usize,
    }

    impl Town {
        /// Limits on the import of each node in kW, `None` for a node without one.
        pub(crate) fn new(cents: &[i32], cars: &[Car], limits: &[Option<f64>]) -> Self {
            let node = |(at, limit): (usize, &Option<f64>)| {
                let power = Profile::Constant(kw(limit.unwrap_or(0.0)));
                let mut node = Node::limited(&format!("{at}"), power);
                node.limits.truncate(usize::from(limit.is_some()));
                Node { parent: (at > 0).then_some(0), ..node }
            };
            let nodes = limits.iter().enumerate().map(node).collect();
            let cars = cars.to_vec();
            Self { curve: curve_of(60, cents), groups_max: cars.len(), cars, nodes }
        }

        /// Copy of the area with at most `groups_max` groups of vehicles, instead of one for each.
        pub(crate) fn in_groups(self, groups_max: usize) -> Self {
            Self { groups_max, ..self }
        }

        /// Calls `work` with the sessions and constraints of the area.
        pub(crate) fn with<R>(
            &self,
            work: impl FnOnce(&AreaProblem<'_>, &Sessions, &LinkingConstraints) -> R,
        ) -> R {
            let (cars, begin) = (&self.cars, self.curve.horizon().starts()[0]);
            let number = |of: fn(&Car) -> f64| cars.iter().map(of).collect::<Vec<f64>>();
            let time = |hour: i64| begin + hour * HOUR;
            let count =
                |cars: &[Car]| cars.iter().filter(|car| car.target.is_some()).count() as i32;
            let targets: Vec<(i64, f64)> = cars.iter().filter_map(|car| car.target).collect();
            let fleet = Fleet {
                arrival: &cars.iter().map(|car| time(car.stay.0)).collect::<Vec<i64>>(),
                departure: &cars.iter().map(|car| time(car.stay.1)).collect::<Vec<i64>>(),
                needs: Needs::Energy { energy_kwh: &number(|car| car.kwh) },
                power_max_kw: &vec![10.0; cars.len()],
                reserve_kwh: Some(&number(|car| car.reserve_kwh)),
                targets: Some(TargetLists {
                    offsets: &(0..=cars.len()).map(|to| count(&cars[..to])).collect::<Vec<i32>>(),
                    by: &targets.iter().map(|target| time(target.0)).collect::<Vec<i64>>(),
                    energy_kwh: &targets.iter().map(|target| target.1).collect::<Vec<f64>>(),
                }),
                curve: None,
            };
            let power_min = |car: &Car| if car.is_indivisible { 5.0 } else { f64::NAN };
            let vehicles = AreaVehicles {
                fleet,
                node: Some(&cars.iter().map(|car| car.node).collect::<Vec<u32>>()),
                priority: Some(&number(|car| car.priority)),
                power_min_kw: Some(&number(power_min)),
                storage: None,
            };
            let nodes = self.nodes.clone();
            let problem = AreaProblem::new(vehicles, Curves::Shared(&self.curve), nodes).unwrap();
            let sessions = Sessions::new(&problem, self.groups_max);
            work(&problem, &sessions, &LinkingConstraints::new(&problem))
        }
    }

    /// The vehicles as they are asked, where a kWh that is missing costs 1.
    pub(crate) fn context_of<'s>(
        problem: &AreaProblem<'s>,
        sessions: &'s Sessions,
    ) -> PricingContext<'s> {
        let penalty = ShortfallPenalty::uniform(1.0);
        PricingContext {
            curves: problem.curves,
            export: None,
            sessions,
            rooms: &[],
            penalty,
            is_free: false,
        }
    }

    /// Energy by slot from kWh.
    pub(crate) fn plan(energies: &[(u32, f64)]) -> EnergyBySlot {
        energies.iter().map(|&(slot, kwh)| (slot, to_micro_wh(kwh))).collect()
    }

    /// Energies in kWh from µWh.
    pub(crate) fn kwh_of(energies: &[i64]) -> Vec<f64> {
        energies.iter().map(|&energy| as_kwh(energy)).collect()
    }

    /// Calls `work` with the load of the given plans, one for each session.
    pub(crate) fn with_plans<R>(
        town: &Town,
        plans: Vec<EnergyBySlot>,
        work: impl FnOnce(&AreaProblem<'_>, &LinkingConstraints, &PlanReader<'_>) -> R,
    ) -> R {
        town.with(|problem, sessions, constraints| {
            let context = context_of(problem, sessions);
            let assignment = Assignment::of_plans(sessions.groups, plans);
            let duals = [vec![0.0; constraints.each.len() * constraints.slots()]];
            let prices = PricesByClass::new(&context, constraints, &assignment, &duals);
            let plans = PlanReader { context: &context, assignment: &assignment, prices: &prices };
            work(problem, constraints, &plans)
        })
    }

    #[test]
    fn loads_costs_and_shortfalls_of_plans_add_up() {
        // Two feeders: the first vehicle has 4 + 6 of 10 kWh, the second 3 of 8 kWh.
        let cars = [Car { node: 1, ..car(2, 10.0) }, Car { node: 2, ..car(2, 8.0) }];
        let town = Town::new(&[10, 20], &cars, &[Some(20.0), Some(9.0), None]);
        let plans = vec![plan(&[(0, 4.0), (1, 6.0)]), plan(&[(0, 3.0)])];
        with_plans(&town, plans, |problem, constraints, plans| {
            let total = load_of_plans(plans, constraints);
            assert_eq!(kwh_of(&total.loads[0]), [7.0, 6.0]);
            assert_eq!(kwh_of(&total.loads[1]), [4.0, 6.0]);
            assert!(total.loads[2].is_empty());
            assert_eq!(kwh_of(&total.load), [7.0, 6.0]);
            assert_eq!((as_kwh(total.shortfall), &total.with_shortfall[..]), (5.0, &[1][..]));
            // 7 kWh at 10 cents and 6 at 20 cents; 5 kWh missing at 1 each.
            assert!((total.cost - 1.9).abs() < 1e-9);
            assert!((objective_of(constraints, &total) - 6.9).abs() < 1e-9);
            // Where no limit is, the load of a node is that of its own vehicles.
            let loads = node_loads(plans, problem, &total);
            assert_eq!(kwh_of(&loads[2]), [3.0, 0.0]);
            assert_eq!(loads[..2], total.loads[..2]);
        });
    }

    #[test]
    fn a_node_without_a_limit_has_the_loads_of_the_nodes_below_it() {
        let cars = [Car { node: 1, ..car(2, 10.0) }, Car { node: 2, ..car(2, 8.0) }];
        let town = Town::new(&[10, 20], &cars, &[None, Some(9.0), None]);
        let plans = vec![plan(&[(0, 4.0), (1, 6.0)]), plan(&[(0, 3.0), (1, 5.0)])];
        with_plans(&town, plans, |problem, constraints, plans| {
            let total = load_of_plans(plans, constraints);
            assert_eq!(total.shortfall, 0);
            let loads: Vec<Vec<f64>> =
                node_loads(plans, problem, &total).iter().map(|load| kwh_of(load)).collect();
            assert_eq!(loads, [[7.0, 11.0], [4.0, 6.0], [3.0, 5.0]]);
        });
    }

    #[test]
    fn a_priced_limit_costs_its_excess() {
        use crate::area::model::linking::LinkingConstraint;
        let constraint =
            |sign, penalty| LinkingConstraint { node: 0, sign, penalty, bounds: vec![5.0, 5.0] };
        let constraints = LinkingConstraints {
            each: vec![constraint(1.0, Penalty::Priced(0.5)), constraint(1.0, Penalty::Hard)],
            hours: vec![1.0, 1.0],
            paths: vec![vec![0]],
            by_node: vec![vec![0, 1]],
            shortfall_penalty: 100.0,
        };
        let loads = vec![vec![to_micro_wh(7.0), to_micro_wh(4.0)]];
        let total = AreaLoad { loads, cost: 1.0, shortfall_penalty: 3.0, ..AreaLoad::default() };
        // 2 kWh above the bound in the first hour; a hard limit costs nothing.
        assert!((cost_of_limits(&constraints, &total) - 1.0).abs() < 1e-9);
        assert!((objective_of(&constraints, &total) - 5.0).abs() < 1e-9);
    }
}

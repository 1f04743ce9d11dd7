//! Residual capacity of hard limits, and the vehicles that contribute to an excess.
//!
//! For the bound `b` of a limit and the load `L` of its node the residual capacity is `b - L` for
//! import and `b + L` for export, per slot in µWh. It is negative where the limit is exceeded.
use std::ops::Range;

use crate::area::model::energy_by_slot::EnergyBySlot;
use crate::area::model::linking::{LinkingConstraints, Penalty};
use crate::area::model::session::Session;
use crate::area::problem::micro_wh::MICRO_WH_PER_KWH;
use crate::area::recovery::totals::AreaLoad;

/// Residual capacity of every node, in µWh by slot, for energy that is bought (`import`) and sold
/// (`export`). For each node it is the least over its limits; empty without one.
pub(crate) struct ResidualCapacity {
    slots: usize,
    import: Vec<Vec<i64>>,
    export: Vec<Vec<i64>>,
    /// Number of exceeded slots by node, import and export counted apart.
    exceeded: Vec<usize>,
    /// Sum of `exceeded`.
    exceeded_in_all: usize,
}

impl ResidualCapacity {
    /// Residual capacity that plans with the load `total` leave.
    pub(super) fn new(constraints: &LinkingConstraints, total: &AreaLoad) -> Self {
        let slots = constraints.slots();
        let empty = vec![Vec::new(); constraints.by_node.len()];
        let exceeded = vec![0; empty.len()];
        let (up, down) = (empty.clone(), empty);
        let mut capacity = Self { slots, import: up, export: down, exceeded, exceeded_in_all: 0 };
        for constraint in
            constraints.each.iter().filter(|constraint| constraint.penalty == Penalty::Hard)
        {
            let is_import = constraint.sign > 0.0;
            let side = if is_import { &mut capacity.import } else { &mut capacity.export };
            let left: &mut Vec<i64> = &mut side[constraint.node];
            left.resize(slots, i64::MAX);
            for (slot, left) in left.iter_mut().enumerate() {
                // Rounded down, so that whole µWh keep the bound; clamped, so that the
                // difference to a load, at most `MICRO_WH_MAX`, does not overflow.
                let most =
                    (constraint.bounds[slot] * MICRO_WH_PER_KWH).floor().clamp(-4e18, 4e18) as i64;
                let load = total.loads[constraint.node][slot];
                *left = (*left).min(most - if is_import { load } else { -load });
            }
        }
        // Counts of exceeded slots, which `take` keeps up to date.
        for (node, exceeded) in capacity.exceeded.iter_mut().enumerate() {
            let sides = capacity.import[node].iter().chain(&capacity.export[node]);
            *exceeded = sides.filter(|&&left| left < 0).count();
        }
        capacity.exceeded_in_all = capacity.exceeded.iter().sum();
        capacity
    }

    /// Returns true if any hard limit is exceeded.
    pub(super) fn is_exceeded(&self) -> bool {
        self.exceeded_in_all > 0
    }

    /// Returns true if a limit of `node`, or of one above it, is exceeded.
    pub(super) fn is_exceeded_on_path(&self, constraints: &LinkingConstraints, node: u32) -> bool {
        constraints.paths[node as usize].iter().any(|&node| self.exceeded[node as usize] > 0)
    }

    /// Writes the least residual capacity on the path to the root into `(up, down)`, for import
    /// and export. Only the slots of the session are written.
    pub(super) fn on_path(
        &self,
        constraints: &LinkingConstraints,
        session: &Session,
        (up, down): (&mut Vec<i64>, &mut Vec<i64>),
    ) {
        let window = session.first as usize..session.end as usize;
        for (capacity, side) in [(up, &self.import), (down, &self.export)] {
            capacity.resize(self.slots, 0);
            let capacity = &mut capacity[window.clone()];
            capacity.fill(i64::MAX);
            for &node in &constraints.paths[session.node as usize] {
                // A node without a hard limit on this side has no slots to compare with.
                let left = side[node as usize].get(window.clone()).unwrap_or_default();
                capacity
                    .iter_mut()
                    .zip(left)
                    .for_each(|(capacity, &left)| *capacity = (*capacity).min(left));
            }
        }
    }

    /// Returns true if a plan that is part of the load uses no slot in which a limit is exceeded.
    pub(super) fn holds(
        &self,
        constraints: &LinkingConstraints,
        session: &Session,
        taken: &EnergyBySlot,
    ) -> bool {
        let is_kept = |left: Option<&i64>| left.is_none_or(|&left| left >= 0);
        constraints.paths[session.node as usize].iter().all(|&node| {
            let (up, down) = (&self.import[node as usize], &self.export[node as usize]);
            taken.iter().all(|&(slot, energy)| {
                let slot = slot as usize;
                (energy < 0 || is_kept(up.get(slot))) && (energy > 0 || is_kept(down.get(slot)))
            })
        })
    }

    /// Adds a plan to the load (`sign` 1) or removes it (`sign` -1).
    pub(super) fn take(
        &mut self,
        constraints: &LinkingConstraints,
        session: &Session,
        taken: &EnergyBySlot,
        sign: i64,
    ) {
        for &node in &constraints.paths[session.node as usize] {
            let (up, down) = (&mut self.import[node as usize], &mut self.export[node as usize]);
            for &(slot, energy) in taken {
                for (left, change) in
                    [(up.get_mut(slot as usize), -energy), (down.get_mut(slot as usize), energy)]
                {
                    let Some(left) = left else { continue };
                    // A count changes only where the capacity passes zero.
                    let before = usize::from(*left < 0);
                    *left += sign * change;
                    let after = usize::from(*left < 0);
                    let of_node = &mut self.exceeded[node as usize];
                    *of_node = *of_node + after - before;
                    self.exceeded_in_all = self.exceeded_in_all + after - before;
                }
            }
        }
    }
}

/// Vehicles of the blocks below exceeded limits, numbered in the order of the blocks.
#[derive(Default)]
pub(crate) struct Contributors {
    /// Positions of each block, and the number of vehicles up to its end.
    blocks: Vec<(Range<usize>, usize)>,
}

impl Contributors {
    /// Adds the vehicles of a block.
    pub(super) fn add(&mut self, block: Range<usize>) {
        let count = self.len() + block.len();
        self.blocks.push((block, count));
    }

    /// Number of vehicles.
    pub(super) fn len(&self) -> usize {
        self.blocks.last().map_or(0, |&(_, count)| count)
    }

    /// Position of the vehicle with the given number.
    pub(super) fn at(&self, number: usize) -> usize {
        // `count` vehicles come up to the end of the block: go back from there.
        let (block, count) = &self.blocks[self.blocks.partition_point(|(_, end)| *end <= number)];
        block.end - (count - number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::area::model::linking::LinkingConstraint;
    use crate::area::recovery::totals::tests::{Car, Town, car, kwh_of, plan};

    /// A root with 10 kWh per hour, and a feeder that draws 6 and feeds in 2 at most.
    fn with_feeder<R>(
        loads: [[f64; 2]; 2],
        work: impl FnOnce(&LinkingConstraints, ResidualCapacity, &Session) -> R,
    ) -> R {
        let cars = [Car { node: 1, ..car(2, 10.0) }];
        let town = Town::new(&[10, 20], &cars, &[Some(10.0), Some(6.0)]);
        town.with(|_, sessions, constraints| {
            let mut constraints = constraints.clone();
            constraints.by_node[1].push(constraints.each.len());
            let penalty = Penalty::Hard;
            let bounds = vec![2.0, 2.0];
            constraints.each.push(LinkingConstraint { node: 1, sign: -1.0, penalty, bounds });
            let micro = |load: [f64; 2]| plan(&[(0, load[0]), (1, load[1])]);
            let loads = loads.map(|load| micro(load).into_iter().map(|(_, e)| e).collect());
            let total = AreaLoad { loads: loads.to_vec(), ..AreaLoad::default() };
            let capacity = ResidualCapacity::new(&constraints, &total);
            work(&constraints, capacity, &sessions.each[0])
        })
    }

    #[test]
    fn the_least_capacity_on_the_path_is_left() {
        with_feeder([[9.0, 3.0], [2.0, 3.0]], |constraints, capacity, session| {
            let (mut up, mut down) = (Vec::new(), Vec::new());
            capacity.on_path(constraints, session, (&mut up, &mut down));
            // Import: min(10 - 9, 6 - 2) and min(10 - 3, 6 - 3); export: 2 + 2 and 2 + 3.
            assert_eq!((kwh_of(&up), kwh_of(&down)), (vec![1.0, 3.0], vec![4.0, 5.0]));
            assert!(!capacity.is_exceeded());
        });
    }

    #[test]
    fn exceeded_limits_are_counted_as_plans_come_and_go() {
        with_feeder([[11.0, 3.0], [5.0, -3.0]], |constraints, mut capacity, session| {
            // The root in the first hour, and the export of the feeder in the second.
            assert_eq!((capacity.exceeded_in_all, &capacity.exceeded[..]), (2, &[1, 1][..]));
            assert!(!capacity.holds(constraints, session, &plan(&[(0, 1.0)])));
            assert!(capacity.holds(constraints, session, &plan(&[(1, 1.0)])));
            assert!(!capacity.holds(constraints, session, &plan(&[(1, -1.0)])));
            capacity.take(constraints, session, &plan(&[(0, 1.0), (1, -1.0)]), -1);
            assert!(!capacity.is_exceeded());
            assert!(!capacity.is_exceeded_on_path(constraints, session.node));
            capacity.take(constraints, session, &plan(&[(0, 2.0)]), 1);
            // 12 kWh at the root and 6 at the feeder, which has just so much.
            assert_eq!((capacity.exceeded_in_all, &capacity.exceeded[..]), (1, &[1, 0][..]));
            assert!(capacity.is_exceeded_on_path(constraints, session.node));
        });
    }

    #[test]
    fn contributors_are_numbered_block_by_block() {
        let mut contributors = Contributors::default();
        assert_eq!(contributors.len(), 0);
        for block in [3..5, 5..5, 9..12] {
            contributors.add(block);
        }
        let positions: Vec<usize> = (0..contributors.len()).map(|at| contributors.at(at)).collect();
        assert_eq!(positions, [3, 4, 9, 10, 11]);
    }
}

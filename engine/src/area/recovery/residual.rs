//! The room that plans leave under hard limits, and who is where it is exceeded.
use std::ops::Range;

use crate::area::model::energy_by_slot::Taken;
use crate::area::model::linking::{Kind, Terms};
use crate::area::model::session::Stay;
use crate::area::problem::micro_wh::GRAINS_PER_KWH;
use crate::area::recovery::totals::Total;

/// Room under hard limits, slot by slot: for energy that is bought, and for
/// energy that is sold. For each node the least of its limits; empty without one.
pub(crate) struct Room {
    slots: usize,
    up: Vec<Vec<i64>>,
    down: Vec<Vec<i64>>,
    /// Slots in which a limit is exceeded, by node, and of all nodes together.
    exceeded: Vec<usize>,
    exceeded_in_all: usize,
}

impl Room {
    pub(super) fn new(terms: &Terms, total: &Total) -> Self {
        let slots = terms.slots();
        let empty = vec![Vec::new(); terms.by_node.len()];
        let exceeded = vec![0; empty.len()];
        let (up, down) = (empty.clone(), empty);
        let mut room = Self { slots, up, down, exceeded, exceeded_in_all: 0 };
        for term in terms.each.iter().filter(|term| term.kind == Kind::Hard) {
            let is_import = term.sign > 0.0;
            let side = if is_import { &mut room.up } else { &mut room.down };
            let left: &mut Vec<i64> = &mut side[term.node];
            left.resize(slots, i64::MAX);
            for (slot, left) in left.iter_mut().enumerate() {
                let most = (term.bounds[slot] * GRAINS_PER_KWH).floor().clamp(-4e18, 4e18) as i64;
                let load = total.loads[term.node][slot];
                *left = (*left).min(most - if is_import { load } else { -load });
            }
        }
        for (node, exceeded) in room.exceeded.iter_mut().enumerate() {
            let sides = room.up[node].iter().chain(&room.down[node]);
            *exceeded = sides.filter(|&&left| left < 0).count();
        }
        room.exceeded_in_all = room.exceeded.iter().sum();
        room
    }

    pub(super) fn is_exceeded(&self) -> bool {
        self.exceeded_in_all > 0
    }

    /// Whether a limit of a node, or of one above it, is exceeded.
    pub(super) fn is_exceeded_on_path(&self, terms: &Terms, node: u32) -> bool {
        terms.paths[node as usize].iter().any(|&node| self.exceeded[node as usize] > 0)
    }

    /// The least room on the way to the top, for each slot: up and down. Only
    /// that in the slots of the stay means something.
    pub(super) fn on_path(
        &self,
        terms: &Terms,
        stay: &Stay,
        (up, down): (&mut Vec<i64>, &mut Vec<i64>),
    ) {
        let window = stay.first as usize..stay.last as usize;
        for (room, side) in [(up, &self.up), (down, &self.down)] {
            room.resize(self.slots, 0);
            let room = &mut room[window.clone()];
            room.fill(i64::MAX);
            for &node in &terms.paths[stay.node as usize] {
                let left = side[node as usize].get(window.clone()).unwrap_or_default();
                room.iter_mut().zip(left).for_each(|(room, &left)| *room = (*room).min(left));
            }
        }
    }

    /// Whether a plan that counts already uses no slot beyond a limit.
    pub(super) fn holds(&self, terms: &Terms, stay: &Stay, taken: &Taken) -> bool {
        let is_kept = |left: Option<&i64>| left.is_none_or(|&left| left >= 0);
        terms.paths[stay.node as usize].iter().all(|&node| {
            let (up, down) = (&self.up[node as usize], &self.down[node as usize]);
            taken.iter().all(|&(slot, energy)| {
                let slot = slot as usize;
                (energy < 0 || is_kept(up.get(slot))) && (energy > 0 || is_kept(down.get(slot)))
            })
        })
    }

    pub(super) fn take(&mut self, terms: &Terms, stay: &Stay, taken: &Taken, sign: i64) {
        for &node in &terms.paths[stay.node as usize] {
            let (up, down) = (&mut self.up[node as usize], &mut self.down[node as usize]);
            for &(slot, energy) in taken {
                for (left, change) in
                    [(up.get_mut(slot as usize), -energy), (down.get_mut(slot as usize), energy)]
                {
                    let Some(left) = left else { continue };
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

/// Vehicles of some blocks, by their number among them.
#[derive(Default)]
pub(crate) struct Crowd {
    /// The positions of each block, and how many vehicles there are up to its end.
    blocks: Vec<(Range<usize>, usize)>,
}

impl Crowd {
    pub(super) fn add(&mut self, block: Range<usize>) {
        let count = self.len() + block.len();
        self.blocks.push((block, count));
    }

    pub(super) fn len(&self) -> usize {
        self.blocks.last().map_or(0, |&(_, count)| count)
    }

    /// The position of the vehicle of a number.
    pub(super) fn at(&self, number: usize) -> usize {
        let (block, count) = &self.blocks[self.blocks.partition_point(|(_, end)| *end <= number)];
        block.end - (count - number)
    }
}

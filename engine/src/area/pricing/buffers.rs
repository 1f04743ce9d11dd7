//! Working memory of the pricing problems, and the capacity that other plans leave.
use crate::area::model::energy_by_slot::Taken;
use crate::area::model::session::Stay;
use crate::area::pricing::by_segments::StoreScratch;

/// Room for the slots of one stay.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) prices: Vec<f64>,
    pub(crate) caps: Vec<f64>,
    pub(super) order: Vec<(f64, u32)>,
    pub(super) taken: Vec<i64>,
    pub(crate) store: StoreScratch,
    pub(crate) room: Sides,
}

/// Room slot by slot, for energy that is bought and for energy that is sold:
/// what others leave, and what is free for a vehicle with what it has already.
#[derive(Debug, Default)]
pub(crate) struct Sides {
    pub(crate) up: Vec<i64>,
    pub(crate) down: Vec<i64>,
    pub(crate) free_up: Vec<i64>,
    pub(crate) free_down: Vec<i64>,
}

impl Sides {
    /// What is free for a vehicle in its stay: what others leave, and what it takes.
    pub(crate) fn set_free(&mut self, stay: &Stay, taken: &Taken) {
        let window = stay.first as usize..stay.last as usize;
        let Self { up: others_up, down: others_down, free_up: up, free_down: down } = self;
        for (free, others) in [(&mut *up, others_up), (&mut *down, others_down)] {
            free.resize(others.len(), 0);
            free[window.clone()].copy_from_slice(&others[window.clone()]);
        }
        for &(slot, energy) in taken {
            let (up, down) = (&mut up[slot as usize], &mut down[slot as usize]);
            (*up, *down) = (up.saturating_add(energy), down.saturating_sub(energy));
        }
        for free in [up, down] {
            free[window.clone()].iter_mut().for_each(|room| *room = (*room).max(0));
        }
    }
}

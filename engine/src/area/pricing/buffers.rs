//! Working memory of the pricing problems, and the capacity that other plans leave.
use crate::area::model::energy_by_slot::EnergyBySlot;
use crate::area::model::session::Session;
use crate::area::pricing::by_segments::SegmentBuffers;

/// Room for the slots of one stay.
#[derive(Debug, Default)]
pub(crate) struct PricingBuffers {
    pub(crate) prices: Vec<f64>,
    pub(crate) caps: Vec<f64>,
    pub(super) order: Vec<(f64, u32)>,
    pub(super) taken: Vec<i64>,
    pub(crate) segments: SegmentBuffers,
    pub(crate) capacity: PathCapacity,
}

/// Room slot by slot, for energy that is bought and for energy that is sold:
/// what others leave, and what is free for a vehicle with what it has already.
#[derive(Debug, Default)]
pub(crate) struct PathCapacity {
    pub(crate) import: Vec<i64>,
    pub(crate) export: Vec<i64>,
    pub(crate) free_import: Vec<i64>,
    pub(crate) free_export: Vec<i64>,
}

impl PathCapacity {
    /// What is free for a vehicle in its stay: what others leave, and what it takes.
    pub(crate) fn set_free(&mut self, session: &Session, taken: &EnergyBySlot) {
        let window = session.first as usize..session.last as usize;
        let Self { import: others_up, export: others_down, free_import: up, free_export: down } =
            self;
        for (free, others) in [(&mut *up, others_up), (&mut *down, others_down)] {
            free.resize(others.len(), 0);
            free[window.clone()].copy_from_slice(&others[window.clone()]);
        }
        for &(slot, energy) in taken {
            let (up, down) = (&mut up[slot as usize], &mut down[slot as usize]);
            (*up, *down) = (up.saturating_add(energy), down.saturating_sub(energy));
        }
        for free in [up, down] {
            free[window.clone()].iter_mut().for_each(|capacity| *capacity = (*capacity).max(0));
        }
    }
}

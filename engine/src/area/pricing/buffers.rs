//! Working memory of the pricing problems, and the capacity on the path of one vehicle.
use crate::area::model::energy_by_slot::EnergyBySlot;
use crate::area::model::session::Session;
use crate::area::pricing::by_segments::SegmentBuffers;

/// Memory of one pricing problem, kept from one vehicle to the next.
#[derive(Debug, Default)]
pub(crate) struct PricingBuffers {
    /// Effective prices of the session, slot by slot.
    pub(crate) prices: Vec<f64>,
    /// Energy of each slot of the session at full power, in µWh.
    pub(crate) caps: Vec<f64>,
    /// Price and position of each slot or supply entry, sorted.
    pub(super) order: Vec<(f64, u32)>,
    /// Energy taken of each supply entry, in µWh.
    pub(super) taken: Vec<i64>,
    pub(crate) segments: SegmentBuffers,
    pub(crate) capacity: PathCapacity,
}

/// Capacity on the path from a vehicle to the root, in µWh per slot of the horizon. Only the slots
/// of the session are set.
#[derive(Debug, Default)]
pub(crate) struct PathCapacity {
    /// Residual capacity for import, the present plan of the vehicle subtracted.
    pub(crate) import: Vec<i64>,
    /// Residual capacity for export, the present plan of the vehicle subtracted.
    pub(crate) export: Vec<i64>,
    /// Import that the vehicle may have in all, its present plan included; at least 0.
    pub(crate) free_import: Vec<i64>,
    /// Export that the vehicle may have in all, its present plan included; at least 0.
    pub(crate) free_export: Vec<i64>,
}

impl PathCapacity {
    /// Sets `free_import` and `free_export`: the residual capacity plus the present plan `taken`.
    pub(crate) fn set_free(&mut self, session: &Session, taken: &EnergyBySlot) {
        let window = session.first as usize..session.last as usize;
        let Self { import, export, free_import: up, free_export: down } = self;
        for (free, residual) in [(&mut *up, import), (&mut *down, export)] {
            free.resize(residual.len(), 0);
            free[window.clone()].copy_from_slice(&residual[window.clone()]);
        }
        // Take the plan `x` out of the load: `b - L + x` for import, `b + L - x` for export.
        for &(slot, energy) in taken {
            let (up, down) = (&mut up[slot as usize], &mut down[slot as usize]);
            (*up, *down) = (up.saturating_add(energy), down.saturating_sub(energy));
        }
        for free in [up, down] {
            free[window.clone()].iter_mut().for_each(|capacity| *capacity = (*capacity).max(0));
        }
    }
}

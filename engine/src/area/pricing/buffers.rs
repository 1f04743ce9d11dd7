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
        let window = session.first as usize..session.end as usize;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::area::recovery::totals::tests::{Car, Town, car, plan};

    #[test]
    fn what_a_vehicle_takes_is_free_for_it() {
        let cars = [Car { stay: (1, 4), ..car(4, 5.0) }];
        let town = Town::new(&[10, 20, 30, 40], &cars, &[Some(9.0)]);
        town.with(|_, sessions, _| {
            let kwh = |values: [f64; 4]| plan(&[0, 1, 2, 3].map(|at| (at, values[at as usize])));
            let of = |values: [f64; 4]| kwh(values).into_iter().map(|(_, e)| e).collect::<Vec<_>>();
            let mut capacity = PathCapacity {
                import: of([9.0, 2.0, -4.0, -4.0]),
                export: of([9.0, 1.0, 1.0, -2.0]),
                ..PathCapacity::default()
            };
            let taken = plan(&[(1, 3.0), (2, 3.0), (3, -1.0)]);
            capacity.set_free(&sessions.each[0], &taken);
            // Import: 2 + 3, -4 + 3 and -4 - 1, not below zero; export: 1 - 3, 1 - 3 and -2 + 1.
            assert_eq!(capacity.free_import[1..], of([5.0, 0.0, 0.0, 0.0])[..3]);
            assert_eq!(capacity.free_export[1..], of([0.0, 0.0, 0.0, 0.0])[..3]);
        });
    }

    #[test]
    fn capacity_without_bounds_stays_so() {
        let town = Town::new(&[10], &[car(1, 5.0)], &[Some(9.0)]);
        town.with(|_, sessions, _| {
            let free = || vec![i64::MAX];
            let mut capacity =
                PathCapacity { import: free(), export: free(), ..PathCapacity::default() };
            capacity.set_free(&sessions.each[0], &plan(&[(0, 5.0)]));
            assert_eq!(capacity.free_import, [i64::MAX]);
            assert_eq!(capacity.free_export, [i64::MAX - plan(&[(0, 5.0)])[0].1]);
        });
    }
}

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

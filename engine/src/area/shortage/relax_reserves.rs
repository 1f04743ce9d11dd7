//! Relaxation of reserves that limits leave no capacity for in time.
//!
//! A reserve is energy wanted at once. If limits leave no capacity for it, it is delivered later,
//! as for a vehicle that is planned alone, and does not count as a shortfall. The energy that is
//! late is first shared like a shortage ([`split_by_class`]). What is still late after the
//! next search stays with the vehicles it was found for. Reserves of batteries are delayed slot
//! by slot.
use crate::area::model::battery::highest_levels;
use crate::area::model::energy_by_slot::EnergyBySlot;
use crate::area::model::sessions::Sessions;
use crate::area::pricing::buffers::PricingBuffers;
use crate::area::recovery::plans::{PlanReader, PricesByClass};
use crate::area::shortage::split::{Claim, split_by_class};
use crate::area::solve::area_instance::{AreaInstance, Solution};

/// Lowers the reserves of `sessions` by what `solution` misses of them. Returns whether any was
/// lowered. With `is_shared` the vehicles of a class share it in proportion to want over priority;
/// otherwise each keeps its own.
pub(crate) fn relax_reserves(
    instance: &AreaInstance<'_>,
    sessions: &mut Sessions,
    solution: &Solution,
    is_shared: bool,
) -> bool {
    let mut claims = measure_reserves(instance, sessions, solution);
    if claims.iter().all(|claim| claim.missing <= 0) {
        return false;
    }
    // Vehicles that miss nothing have a claim too: the class shares among all of them.
    if is_shared {
        split_by_class(&mut claims);
    }
    let mut is_new = false;
    for Claim { position, stage, missing, .. } in claims.into_iter().filter(|it| it.missing > 0) {
        let session = sessions.each[position];
        let (Some(stage), Some(deadlines)) = (stage, sessions.deadlines_of_mut(&session)) else {
            continue;
        };
        let before = deadlines.needs[stage];
        deadlines.lower_need(stage, before - missing);
        is_new |= deadlines.needs[stage] < before;
    }
    sessions.version += u32::from(is_new);
    is_new
}

/// Claims of all reserves, also those that miss nothing, in the order of vehicles and deadlines;
/// empty if no vehicle with a reserve has a shortfall.
fn measure_reserves(
    instance: &AreaInstance<'_>,
    sessions: &Sessions,
    solution: &Solution,
) -> Vec<Claim> {
    let reserved = |position: usize| {
        let deadlines = sessions.deadlines_of(&sessions.each[position]);
        deadlines.filter(|deadlines| deadlines.has_reserve())
    };
    let short = &solution.load.with_shortfall;
    if !short.iter().any(|&position| reserved(position as usize).is_some()) {
        return Vec::new();
    }
    let context = instance.context(sessions);
    let Solution { assignment, duals_by_round, .. } = solution;
    let by_class = PricesByClass::new(&context, instance.constraints, assignment, duals_by_round);
    let plans = PlanReader { context: &context, assignment, prices: &by_class };
    let (mut buffers, mut taken) = (PricingBuffers::default(), EnergyBySlot::new());
    let mut claims = Vec::new();
    for position in 0..sessions.each.len() {
        let Some(deadlines) = reserved(position) else { continue };
        let is_short = short.binary_search(&(position as u32)).is_ok();
        if is_short {
            plans.plan(sessions.group_of(position), position, &mut buffers, &mut taken);
        }
        for (stage, missing) in deadlines.of_reserve(is_short.then_some(&taken)) {
            claims.push(Claim::new(sessions, position, Some(stage), missing));
        }
    }
    claims
}

/// Delays the reserves of batteries to the slot from which `solution` keeps them. Returns whether
/// any was delayed. Delays only grow, at most to departure, so that repeating this ends.
pub(crate) fn delay_battery_reserves(
    instance: &AreaInstance<'_>,
    sessions: &mut Sessions,
    solution: &Solution,
) -> bool {
    let mut is_new = false;
    let curves = instance.problem.curves;
    for (&position, taken) in &solution.assignment.overrides {
        let session = sessions.each[position as usize];
        let Some(battery) = sessions.battery_of_mut(&session) else { continue };
        let prices = curves.prices(session.curve as usize);
        let mut wanted = highest_levels(
            |slot| prices[slot],
            curves.horizon(),
            (session.first, session.end),
            battery,
        );
        // The reserve is wanted as far as full power from arrival reaches it.
        for level in &mut wanted {
            *level = level.min(battery.row.reserve_kwh);
        }
        let from = battery.reserve_kept_from(&session, taken, &wanted);
        is_new |= from > battery.reserve_from;
        battery.reserve_from = from;
    }
    sessions.version += u32::from(is_new);
    is_new
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::area::problem::micro_wh::{as_kwh, to_micro_wh};
    use crate::area::problem::options::WarmStart;
    use crate::area::recovery::totals::tests::{Car, Town, car};
    use crate::area::shortage::measure::tests::{assert_near, with_instance};
    use crate::area::solve::search::solve_first;

    /// The reserves of two vehicles in kWh after what is late was shared, or left as it is, and
    /// whether it was the first and the second time that any was lowered.
    fn relaxed(limit: f64, is_shared: bool) -> (Vec<f64>, [bool; 2]) {
        let cars = [5.0, 2.5].map(|reserve_kwh| Car { reserve_kwh, ..car(4, 10.0) });
        let town = Town::new(&[40, 30, 20, 10], &cars, &[Some(limit)]);
        with_instance(&town, |instance, sessions, executor| {
            let mut sessions = sessions.clone();
            let lowered = [(); 2].map(|()| {
                let start = WarmStart::default();
                let solution = solve_first(instance, &sessions, &start, executor);
                relax_reserves(instance, &mut sessions, &solution, is_shared)
            });
            assert_eq!(sessions.version, lowered.iter().map(|&is| u32::from(is)).sum::<u32>());
            let mut reserves = vec![0.0; 2];
            for session in &sessions.each {
                let deadlines = sessions.deadlines_of(session).unwrap();
                reserves[session.row as usize] = as_kwh(deadlines.needs[0]);
            }
            (reserves, lowered)
        })
    }

    #[test]
    fn reserves_that_limits_leave_no_room_for_come_later() {
        // 6 kWh fit in the first hour, and 5 + 2.5 are wanted in it.
        let (reserves, lowered) = relaxed(6.0, true);
        assert_near(&reserves, &[4.0, 2.0]);
        assert_eq!(lowered, [true, false]);
        // What is not shared stays with the vehicles that it was found for.
        let (reserves, lowered) = relaxed(6.0, false);
        assert_near(&[reserves[0] + reserves[1]], &[6.0]);
        assert_eq!(lowered, [true, false]);
    }

    #[test]
    fn reserves_with_room_stay() {
        assert_eq!(relaxed(8.0, true), (vec![5.0, 2.5], [false, false]));
    }

    #[test]
    fn a_class_shares_what_is_late_in_proportion_to_reserves() {
        let cars = [6.0, 3.0].map(|reserve_kwh| Car { reserve_kwh, ..car(4, 10.0) });
        let town = Town::new(&[40, 30, 20, 10], &cars, &[Some(6.0)]);
        town.with(|_, sessions, _| {
            let of = |position: usize, kwh: f64| {
                Claim::new(sessions, position, Some(0), to_micro_wh(kwh))
            };
            let row = |row: u32| sessions.each.iter().position(|one| one.row == row).unwrap();
            let mut late = vec![of(row(0), 0.0), of(row(1), 3.0)];
            split_by_class(&mut late);
            let shares = [row(0), row(1)].map(|position| {
                late.iter().find(|shortfall| shortfall.position == position).unwrap().missing
            });
            assert_near(&shares.map(as_kwh), &[2.0, 1.0]);
        });
    }
}

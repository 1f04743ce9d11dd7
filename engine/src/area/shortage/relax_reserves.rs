//! Relaxation of reserves that limits leave no capacity for in time.
//!
//! A reserve is energy wanted at once. If limits leave no capacity for it, it is delivered later,
//! as for a vehicle that is planned alone, and does not count as a shortfall. The energy that is
//! late is first shared like a shortage ([`split_proportionally`]). What is still late after the
//! next search stays with the vehicles it was found for. Reserves of batteries are delayed slot
//! by slot.
use crate::area::model::battery::highest_levels;
use crate::area::model::energy_by_slot::EnergyBySlot;
use crate::area::model::sessions::Sessions;
use crate::area::pricing::buffers::PricingBuffers;
use crate::area::recovery::plans::{PlanReader, PricesByClass};
use crate::area::shortage::measure::split_proportionally;
use crate::area::solve::subproblem::{Solution, Subproblem};

/// Class of reserves that share what is late: node, and the slot before which they are wanted.
type Class = (u32, u32);

/// Shortfall of the reserve of one vehicle.
struct ReserveShortfall {
    class: Class,
    /// Position of the vehicle.
    position: usize,
    /// Deadline by which the reserve is wanted, a position in `Deadlines::needs`.
    stage: usize,
    /// Energy missing by then, in µWh.
    missing: i64,
}

/// Lowers the reserves of `sessions` by what `solution` misses of them. Returns whether any was
/// lowered. With `is_shared` the vehicles of a class share it in proportion to want over priority;
/// otherwise each keeps its own.
pub(crate) fn relax_reserves(
    subproblem: &Subproblem<'_>,
    sessions: &mut Sessions,
    solution: &Solution,
    is_shared: bool,
) -> bool {
    let mut shortfalls = measure_reserves(subproblem, sessions, solution);
    if shortfalls.iter().all(|shortfall| shortfall.missing <= 0) {
        return false;
    }
    if is_shared {
        spread_over_class(sessions, &mut shortfalls);
    }
    let mut is_new = false;
    for ReserveShortfall { position, stage, missing, .. } in
        shortfalls.into_iter().filter(|shortfall| shortfall.missing > 0)
    {
        let session = sessions.each[position];
        let Some(deadlines) = sessions.deadlines_of_mut(&session) else { continue };
        let before = deadlines.needs[stage];
        deadlines.lower_need(stage, before - missing);
        is_new |= deadlines.needs[stage] < before;
    }
    sessions.state += u32::from(is_new);
    is_new
}

/// Shortfall of every reserve, also those that miss nothing; empty if no vehicle with a reserve
/// has a shortfall.
fn measure_reserves(
    subproblem: &Subproblem<'_>,
    sessions: &Sessions,
    solution: &Solution,
) -> Vec<ReserveShortfall> {
    let wishes_of = |position: usize| sessions.deadlines_of(&sessions.each[position]);
    let reserved =
        |position: usize| wishes_of(position).filter(|deadlines| deadlines.reserve.is_some());
    let short = &solution.load.with_shortfall;
    if !short.iter().any(|&position| reserved(position as usize).is_some()) {
        return Vec::new();
    }
    let context = subproblem.context(sessions);
    let by_class = PricesByClass::new(
        &context,
        subproblem.constraints,
        &solution.assignment,
        &solution.prices,
    );
    let plans =
        PlanReader { context: &context, assignment: &solution.assignment, prices: &by_class };
    let (mut buffers, mut taken) = (PricingBuffers::default(), EnergyBySlot::new());
    let mut shortfalls = Vec::new();
    for position in 0..sessions.each.len() {
        let Some(deadlines) = reserved(position) else { continue };
        let is_short = short.binary_search(&(position as u32)).is_ok();
        if is_short {
            plans.plan(sessions.group_of(position), position, &mut buffers, &mut taken);
        }
        for (stage, missing) in deadlines.of_reserve(is_short.then_some(&taken)) {
            let class = (sessions.each[position].node, deadlines.end_of(stage));
            shortfalls.push(ReserveShortfall { class, position, stage, missing });
        }
    }
    shortfalls
}

/// Redistributes the shortfall of each class in proportion to want over priority.
fn spread_over_class(sessions: &Sessions, shortfalls: &mut [ReserveShortfall]) {
    shortfalls.sort_by_key(|shortfall| (shortfall.class, shortfall.position, shortfall.stage));
    for members in shortfalls.chunk_by_mut(|a, b| a.class == b.class) {
        let missing = members.iter().map(|shortfall| shortfall.missing).sum();
        let wants = |shortfall: &ReserveShortfall| {
            let session = &sessions.each[shortfall.position];
            (
                sessions.deadlines_of(session).map_or(0, |of| of.needs[shortfall.stage]),
                session.priority,
            )
        };
        let wants: Vec<(i64, f32)> = members.iter().map(wants).collect();
        let shares = split_proportionally(missing, &wants);
        members.iter_mut().zip(shares).for_each(|(shortfall, share)| shortfall.missing = share);
    }
    // Deadlines of a vehicle in their order, since lowering one bounds the next.
    shortfalls.sort_by_key(|shortfall| (shortfall.position, shortfall.stage));
}

/// Delays the reserves of batteries to the slot from which `solution` keeps them. Returns whether
/// any was delayed. Delays only grow, at most to departure, so that repeating this ends.
pub(crate) fn delay_battery_reserves(
    subproblem: &Subproblem<'_>,
    sessions: &mut Sessions,
    solution: &Solution,
) -> bool {
    let mut is_new = false;
    let curves = subproblem.problem.curves;
    for (&position, taken) in &solution.assignment.overrides {
        let session = sessions.each[position as usize];
        let Some(battery) = sessions.battery_of_mut(&session) else { continue };
        let prices = curves.prices(session.curve as usize);
        let mut wanted = highest_levels(
            |slot| prices[slot],
            curves.horizon(),
            (session.first, session.last),
            battery,
        );
        for level in &mut wanted {
            *level = level.min(battery.row.reserve_kwh);
        }
        let from = battery.reserve_kept_from(&session, taken, &wanted);
        is_new |= from > battery.reserve_from;
        battery.reserve_from = from;
    }
    sessions.state += u32::from(is_new);
    is_new
}

//! Sub-slots: the slots of a price curve, cut at the power limits and deadlines of one vehicle.
//!
//! A sub-slot lies inside one price slot and between two neighbouring cuts, so that its price,
//! its power and its first deadline are constant.
use crate::plan::charge::plan::PlannedSlot;
use crate::plan::charge::request::ChargeProblem;
use crate::prices::curve::PriceCurve;
use crate::time::instant::{instant_at, micros_of};
use crate::units::{Energy, MICROS_PER_HOUR, Power, Price};

/// Part of a price slot, with the energy bought in it so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SubSlot {
    /// First microsecond since 1970.
    pub(crate) start: i64,
    /// First microsecond after it.
    pub(crate) end: i64,
    pub(crate) price: Price,
    /// Highest power.
    pub(crate) power: Power,
    /// First deadline that this sub-slot counts for; the number of deadlines if none.
    pub(crate) deadline: usize,
    pub(crate) bought: Energy,
}

impl SubSlot {
    /// Energy that the sub-slot can hold.
    pub(crate) fn capacity(&self) -> Energy {
        self.power.over_micros(self.end - self.start)
    }

    /// The sub-slot as a slot of a plan.
    pub(crate) fn planned(&self) -> PlannedSlot {
        PlannedSlot {
            start: instant_at(self.start),
            end: instant_at(self.end),
            price: self.price,
            power_max: self.power,
            energy: self.bought,
        }
    }
}

/// Deadline with the energy wanted by then, counted from the start of the plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    /// Microseconds since 1970; `i64::MAX` is the end of the known prices.
    pub(crate) by: i64,
    pub(crate) energy: Energy,
    /// Position in the request of the target that sets the energy.
    pub(crate) target: usize,
}

/// Deadlines of a problem in time order. Targets at one instant are one deadline, with the
/// highest of their energies, each up to the charge limit.
pub(crate) fn deadlines(problem: &ChargeProblem) -> Vec<Deadline> {
    let mut all: Vec<Deadline> = problem
        .request()
        .targets
        .iter()
        .enumerate()
        .map(|(position, target)| Deadline {
            by: target.by_micros(),
            energy: problem.request().within_limit(target),
            target: position,
        })
        .collect();
    // Of targets at one instant the highest is sorted last, and `dedup` keeps it.
    all.sort_by(|a, b| a.by.cmp(&b.by).then(a.energy.total_cmp(&b.energy)));
    all.reverse();
    all.dedup_by_key(|deadline| deadline.by);
    all.reverse();
    all
}

/// Makes the energies nondecreasing: raises each deadline to the one before it, whose target it
/// then names.
pub(crate) fn nest(deadlines: &mut [Deadline]) {
    for k in 1..deadlines.len() {
        let before = deadlines[k - 1];
        if before.energy >= deadlines[k].energy {
            deadlines[k] = Deadline { by: deadlines[k].by, ..before };
        }
    }
}

/// Cuts a price curve into the sub-slots that a vehicle may use, in time order.
pub(crate) fn sub_slots(
    curve: &PriceCurve,
    problem: &ChargeProblem,
    deadlines: &[Deadline],
) -> Vec<SubSlot> {
    let (from, to) = (problem.from(), problem.to());
    let horizon = curve.horizon();
    let limits = problem.limits();
    let mut cuts: Vec<i64> = limits.starts().iter().chain(limits.ends()).copied().collect();
    cuts.extend(deadlines.iter().map(|deadline| deadline.by));
    cuts.sort_unstable();

    // `cut` is the first cut after the start of the current sub-slot; both only advance.
    let range = horizon.overlapping(from, to);
    let mut pieces = Vec::with_capacity(range.len() + cuts.len());
    let mut cut = cuts.partition_point(|&cut| cut <= from);
    for slot in range {
        let mut start = horizon.starts()[slot].max(from);
        let slot_end = horizon.ends()[slot].min(to);
        while start < slot_end {
            while cuts.get(cut).is_some_and(|&cut| cut <= start) {
                cut += 1;
            }
            let end = cuts.get(cut).map_or(slot_end, |&cut| cut.min(slot_end));
            // No limit starts or ends inside a sub-slot, so at most one overlaps it.
            let limit = limits.overlapping(start, end).next();
            let power_max = problem.request().power_max;
            let power = limit.map_or(power_max, |index| {
                power_max.min(problem.request().power_limits[index].power_max)
            });
            pieces.push(SubSlot {
                start,
                end,
                price: Price::from_per_kwh(curve.prices()[slot])
                    .expect("prices of a curve are finite"),
                power,
                deadline: deadlines.partition_point(|deadline| deadline.by < end),
                bought: Energy::ZERO,
            });
            start = end;
        }
    }
    pieces
}

/// Time from the start to the last deadline, as first microsecond and first microsecond after it.
/// A target without a deadline ends with the departure, or else with the last price. Empty if
/// there is no target.
pub(crate) fn span(curve: &PriceCurve, problem: &ChargeProblem) -> (i64, i64) {
    let (from, to) = (problem.from(), problem.to());
    let known = || curve.horizon().end().map_or(from, micros_of);
    let end = match problem.request().last_by() {
        None => from,
        Some(i64::MAX) if to == i64::MAX => known(),
        Some(last) => last.min(to),
    };
    (from, end.max(from))
}

/// Hours between start and last deadline that have no price.
pub(crate) fn unpriced_hours(curve: &PriceCurve, problem: &ChargeProblem) -> f64 {
    let (from, end) = span(curve, problem);
    ((end - from) - curve.horizon().covered(from, end)) as f64 / MICROS_PER_HOUR
}

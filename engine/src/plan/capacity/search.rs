//! Search for the levels of least cost.
use std::cmp::Ordering;

use crate::plan::capacity::groups::{MonthCharge, PowerGroup, PowerPrice};
use crate::plan::capacity::master::minimise_levels;
use crate::plan::capacity::programme::{LevelSolution, MeterSlot, Multipliers, Programme};
use crate::plan::capacity::search_state::{EVALUATIONS_MAX, Found, Search, Term};
use crate::tolerance::POWER_ROUNDING_KW;

/// Gap, relative to the cost, at which a search is complete.
pub(crate) const GAP_RELATIVE: f64 = 1e-10;

/// Energy above a level, in kWh, that is rounding.
const EXCESS_MAX: f64 = 1e-6;

/// Level of one group, with its cost and the change of the cost per kW.
struct Tangent {
    level: f64,
    cost: f64,
    rise: f64,
    evaluation: LevelSolution,
}

impl Search<'_> {
    /// Plan of least cost, and the least bound of all combinations of steps.
    pub(crate) fn find_cheapest(&mut self) -> Found {
        let none = vec![0.0; self.groups.groups.len()];
        let free = self.evaluate_levels(&vec![f64::INFINITY; none.len()], &none);
        let mut best: Option<Found> = None;
        let mut bound = f64::INFINITY;
        for terms in self.combine_steps() {
            let fixed: f64 = terms.iter().map(|term| term.least()).sum();
            // No levels are cheaper than none at all.
            let least = fixed + free.cost;
            if best.as_ref().is_some_and(|best| least >= best.cost) {
                bound = bound.min(least);
                continue;
            }
            let Some(found) = self.solve_terms(&terms) else { continue };
            bound = bound.min(found.bound);
            if best.as_ref().is_none_or(|best| found.cost < best.cost) {
                best = Some(found);
            }
        }
        // The last step has no upper end, so some combination is always possible.
        if let Some(best) = best {
            Found { bound: bound.min(best.cost), ..best }
        } else {
            let cost = free.cost;
            Found::alone(free, cost, cost)
        }
    }

    /// Terms of the months, one for each combination of steps, the cheapest first.
    fn combine_steps(&self) -> Vec<Vec<Term>> {
        let mut found: Vec<Vec<Term>> = vec![Vec::new()];
        for (place, month) in self.groups.months.iter().enumerate() {
            let carried = month.power(self.groups.levels_of(place, &self.groups.carried()));
            let before = month.charge(carried);
            let terms: Vec<Term> = match &month.price {
                PowerPrice::PerKw(price) => vec![Term::PerKw { price: *price, before }],
                PowerPrice::Steps(steps) => {
                    // A power that rounding puts above a step has its charge all the same.
                    let slack = POWER_ROUNDING_KW / 2.0;
                    let kept = steps.iter().filter(|(most, _)| *most + slack >= carried);
                    let within = |&(most, charge): &(f64, f64)| Term::Within {
                        power_max: most.max(carried),
                        charge: charge - before,
                    };
                    kept.map(within).collect()
                }
            };
            let joined = found
                .iter()
                .flat_map(|before| terms.iter().map(|&term| [before.as_slice(), &[term]].concat()));
            found = joined.collect();
        }
        let sum = |terms: &[Term]| terms.iter().map(|term| term.least()).sum::<f64>();
        found.sort_by(|a, b| sum(a).total_cmp(&sum(b)));
        found
    }

    /// Least cost with the given terms; none if no path keeps the powers of the steps.
    fn solve_terms(&mut self, terms: &[Term]) -> Option<Found> {
        let penalties = self.choose_penalties(terms);
        let found = match self.groups.groups.len() {
            0 => {
                let evaluation = self.evaluate_levels(&[], &[]);
                let cost = evaluation.cost;
                Found::alone(evaluation, cost, cost)
            }
            1 => self.solve_one(terms[0], &penalties),
            _ => minimise_levels(self, terms, &penalties),
        };
        let is_bounded = terms.iter().any(|term| matches!(term, Term::Within { .. }));
        (!is_bounded || found.evaluation.excess <= EXCESS_MAX).then_some(found)
    }

    /// Price of energy above each level, per kW: more than raising the level can cost.
    ///
    /// A price per kW bounds the multiplier of a level by itself. A step bounds none, but a kWh
    /// below a level saves at most the difference of two values of a stored kWh, and each such value
    /// is the slope of a slot's cost of energy, or the value at the end.
    fn choose_penalties(&self, terms: &[Term]) -> Vec<f64> {
        let programme = self.programme;
        let slots = programme.slots.iter();
        let dearest = slots
            .map(|slot| slot.import.abs().max(slot.export.abs()))
            .fold(programme.end_value.abs() + programme.wear, f64::max);
        let efficiencies = programme.efficiency_charge * programme.efficiency_discharge;
        let of_level = |slot: &MeterSlot| slot.level.map_or(0.0, |level| slot.hours / level.1);
        let most_hours = programme.slots.iter().map(of_level).fold(0.0, f64::max);
        let any = 4.0 * (1.0 + dearest) / efficiencies * most_hours.max(1.0);
        let penalty = |group: &PowerGroup| match terms[group.month] {
            Term::PerKw { price, .. } => 2.0 * price + 1e-9 * any,
            Term::Within { .. } => any * 64.0,
        };
        self.groups.groups.iter().map(penalty).collect()
    }

    /// One group: the charge is zero up to a level, and then rises evenly.
    fn solve_one(&mut self, term: Term, penalties: &[f64]) -> Found {
        let month = &self.groups.months[0];
        let carried = self.groups.groups[0].carried;
        let highest = self.highest[0];
        match term {
            Term::Within { power_max, charge } => {
                // The power before is within the step, up to rounding.
                let level = level_within(month, power_max).max(carried);
                let evaluation = self.evaluate_levels(&[level], penalties);
                let cost = evaluation.cost + charge;
                Found::alone(evaluation, cost, cost)
            }
            Term::PerKw { price, before } => {
                let low = carried.max(month.free_level());
                let slope = price / month.highest as f64;
                let paid = price * month.power([low].into_iter()) - before;
                self.minimise_tangents(low, highest, slope, paid, penalties)
            }
        }
    }

    /// Minimum of `paid + slope·(M − low) + E(M)` over `low ≤ M ≤ high` by tangents.
    fn minimise_tangents(
        &mut self,
        low: f64,
        high: f64,
        slope: f64,
        paid: f64,
        penalties: &[f64],
    ) -> Found {
        let mut at = |level: f64| {
            let evaluation = self.evaluate_levels(&[level], penalties);
            let cost = paid + slope * (level - low) + evaluation.cost;
            Tangent { level, cost, rise: slope + evaluation.slopes[0], evaluation }
        };
        let alone = |Tangent { cost, evaluation, .. }| Found::alone(evaluation, cost, cost);
        let mut left = at(low);
        if left.rise >= 0.0 || high <= low {
            return alone(left);
        }
        let mut right = at(high);
        if right.rise <= 0.0 {
            return alone(right);
        }
        let mut rounds = 0;
        loop {
            rounds += 1;
            // The tangents of both sides cross where the cost is at least that of the crossing.
            let across = right.cost - left.cost + left.rise * left.level - right.rise * right.level;
            let level = (across / (left.rise - right.rise)).clamp(left.level, right.level);
            let bound = left.cost + left.rise * (level - left.level);
            let next = at(level);
            let is_done = next.cost - bound <= GAP_RELATIVE * (1.0 + next.cost.abs());
            let is_last = rounds == EVALUATIONS_MAX || level <= left.level || level >= right.level;
            if is_done || is_last {
                return choose_cheapest(left, right, next, bound);
            }
            match next.rise.total_cmp(&0.0) {
                Ordering::Equal => return alone(next),
                Ordering::Less => left = next,
                Ordering::Greater => right = next,
            }
        }
    }
}

/// Cheapest of three plans, with the multipliers of both tangents weighted so that their slopes
/// cancel.
fn choose_cheapest(left: Tangent, right: Tangent, next: Tangent, bound: f64) -> Found {
    let share = right.rise / (right.rise - left.rise);
    let ends =
        [(share, &left.evaluation.multipliers), (1.0 - share, &right.evaluation.multipliers)];
    let multipliers = Multipliers::mean(next.evaluation.change.len(), ends.into_iter());
    let cheaper = |best: Tangent, other: Tangent| if other.cost < best.cost { other } else { best };
    let Tangent { cost, evaluation, .. } = cheaper(cheaper(next, left), right);
    Found { evaluation, cost, bound: bound.min(cost), multipliers }
}

/// Highest level of one group for which the power of the month is at most `power_max`.
fn level_within(month: &MonthCharge, power_max: f64) -> f64 {
    let above: f64 = month.others.iter().take(month.highest - 1).sum();
    power_max * month.highest as f64 - above
}

impl MonthCharge {
    /// Highest power of a single group that costs nothing more.
    fn free_level(&self) -> f64 {
        let above: f64 = self.others.iter().take(self.highest - 1).sum();
        let ranked = self.others.get(self.highest - 1).copied().unwrap_or(0.0);
        ranked.max(self.floor * self.highest as f64 - above).max(0.0)
    }
}

/// Slots without discharging where buying and selling at once would pay, and without charging where
/// the battery may be above its charge limit.
pub(crate) fn restrict_slots(programme: &Programme) -> Programme {
    let slots = programme.slots.iter().map(|&slot| {
        let discharge = if programme.is_hull(&slot) { 0.0 } else { slot.discharge };
        let charge = if slot.may_be_above { 0.0 } else { slot.charge };
        MeterSlot { charge, discharge, ..slot }
    });
    Programme { slots: slots.collect(), ..programme.clone() }
}

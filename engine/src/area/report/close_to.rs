//! Area plan of bounded extra cost that stays close to the previous plans.
//!
//! With `C*` the cost of the cheapest plan `x*`, `B` the budget and `p_v` the previous plan of `v`:
//!
//! ```text
//! minimise  Σ_v Σ_slots |x_v - p_v|    with  cost(x) <= C* + B,  all limits, shortfalls of x*
//! ```
//!
//! This is a heuristic. Vehicles that can return to `p_v` are sorted by extra cost per energy
//! saved. A bisection finds how many can return at once, with the others repaired around them.
//! After that vehicles return one by one, as far as limits and the rest of the budget allow.
//!
//! | Symbol | Code |
//! |---|---|
//! | `p_v` | `previous`, `CloseReplan::previous_plan` |
//! | `Σ abs(x* - p)` | [`PlanChange::cheapest_kwh`] |
//! | `Σ abs(x - p)` | [`PlanChange::moved_kwh`] |
//! | `cost(x) - C*` | [`PlanChange::spent`] |
use crate::area::model::battery::FreeCapacity;
use crate::area::model::energy_by_slot::{Assignment, EnergyBySlot, Shortfall, merge_slots};
use crate::area::model::linking::LinkingConstraints;
use crate::area::model::rooms::Rooms;
use crate::area::model::session::{Demand, Session};
use crate::area::pricing::buffers::PricingBuffers;
use crate::area::pricing::context::{PricingContext, dual_price_by_node};
use crate::area::pricing::pricing_problem::solve_within_capacity;
use crate::area::problem::area_problem::{AreaError, AreaProblem};
use crate::area::problem::micro_wh::{MICRO_WH_PER_KWH, as_kwh};
use crate::area::recovery::plans::{PlanReader, PricesByClass};
use crate::area::recovery::repair::RepairPass;
use crate::area::recovery::totals::{AreaLoad, cost_of_limits, load_of_plans};
use crate::area::report::outcome::AreaPlan;
use crate::columns::intervals::IntervalColumns;
use crate::tolerance::GAP_MAX;
use crate::units::MICROS_PER_HOUR;

/// Passes over all vehicles. One that returns may free capacity for another.
const PASSES: usize = 2;

/// Steps of the bisection for the number of vehicles that return at once.
const TRIALS: usize = 8;

/// Distance of a plan from the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PlanChange {
    /// Energy that the cheapest plan moves, in kWh: the sum over vehicles and slots of the absolute
    /// difference from the previous plan.
    pub cheapest_kwh: f64,
    /// Energy that the plan moves, in kWh, counted like `cheapest_kwh`.
    pub moved_kwh: f64,
    /// Cost of the plan minus that of the cheapest one.
    pub spent: f64,
    /// Number of vehicles with a previous plan.
    pub vehicles: usize,
    /// Number of these whose plan is unchanged, up to rounding.
    pub unchanged: usize,
}

/// Return of one vehicle to its previous plan, as far as that is possible.
struct Candidate {
    position: usize,
    taken: EnergyBySlot,
    /// Moved energy that this saves, in µWh.
    saved: i64,
    /// Extra cost at the duals of soft limits.
    extra: f64,
}

/// Search for a plan close to the previous one.
struct CloseReplan<'a> {
    problem: &'a AreaProblem<'a>,
    context: PricingContext<'a>,
    constraints: &'a LinkingConstraints,
    prices: &'a PricesByClass,
    /// Duals of soft limits, per kWh by node and slot.
    dual_prices: Vec<Vec<f64>>,
    /// Duals of all limits, per kWh by node and slot.
    dual_prices_of_all: Vec<Vec<f64>>,
    previous: &'a IntervalColumns,
}

/// Candidate plan of the area, with its load and cost.
struct Trial {
    assignment: Assignment,
    load: AreaLoad,
    cost: f64,
}

impl AreaPlan {
    /// Moves the plan towards the previous plans, at an extra cost of at most `budget`; `problem`
    /// is the one that was planned.
    ///
    /// Limits hold and shortfalls stay as they are. The change is small but not proved minimal. A
    /// budget of 0 still restores what costs nothing.
    ///
    /// # Errors
    /// [`AreaError::OtherProblem`] if `problem` has other vehicles, prices or nodes.
    pub fn replan_close_to(
        mut self,
        problem: &AreaProblem<'_>,
        previous: &IntervalColumns,
        budget: f64,
    ) -> Result<(Self, PlanChange), AreaError> {
        self.check_problem(problem)?;
        let constraints = LinkingConstraints::new(problem);
        let sessions = self.sessions.clone();
        let rooms = Rooms::new(problem, &constraints);
        let (penalty, export) = (self.penalty, problem.export());
        let context = PricingContext {
            curves: problem.curves,
            export,
            sessions: &sessions,
            rooms: &rooms.each,
            penalty,
            is_free: false,
        };
        // Duals of soft limits alone: capacity under hard ones is checked, not priced.
        let soft = constraints.soft_duals(&self.duals);
        let keeping = CloseReplan {
            problem,
            context,
            constraints: &constraints,
            prices: &PricesByClass::new(
                &context,
                &constraints,
                &self.assignment,
                &self.duals_by_round,
            ),
            dual_prices: dual_price_by_node(&context, &constraints, &soft),
            dual_prices_of_all: dual_price_by_node(&context, &constraints, &self.duals),
            previous,
        };
        // The present plan is the cheapest; search within the budget from there.
        let cheapest = keeping.trial(std::mem::take(&mut self.assignment));
        let (cheapest_kwh, _) = keeping.moved(&cheapest.assignment);
        let most = cheapest.cost + budget.max(0.0);
        let nearest = keeping.nearest(&cheapest, most);
        let (moved_kwh, counted) = keeping.moved(&nearest.assignment);
        let spent = nearest.cost - cheapest.cost;
        let change = PlanChange { cheapest_kwh, moved_kwh, spent, ..counted };
        let plans = PlanReader {
            context: &context,
            assignment: &nearest.assignment,
            prices: keeping.prices,
        };
        self.refresh(problem, &plans, &constraints, (&nearest.load, nearest.cost));
        self.assignment = nearest.assignment;
        Ok((self, change))
    }
}

impl CloseReplan<'_> {
    /// Energy that a plan moves, in kWh, and the counts of vehicles in a [`PlanChange`].
    fn moved(&self, assignment: &Assignment) -> (f64, PlanChange) {
        let plans = PlanReader { context: &self.context, assignment, prices: self.prices };
        let (mut buffers, mut taken) = (PricingBuffers::default(), EnergyBySlot::new());
        let (mut moved, mut change) = (0, PlanChange::default());
        for block in &self.context.sessions.blocks {
            for position in block.sessions.clone() {
                let session = &self.context.sessions.each[position];
                if let Some(before) = self.previous_plan(session) {
                    plans.plan(block.group, position, &mut buffers, &mut taken);
                    let of_this = distance(&before, &taken);
                    change.vehicles += 1;
                    // 1 µWh in each slot is rounding.
                    change.unchanged += usize::from(of_this <= before.len() as i64);
                    moved += of_this;
                }
            }
        }
        (as_kwh(moved), change)
    }

    /// Previous plan of a vehicle in the slots of its session; `None` without one.
    fn previous_plan(&self, session: &Session) -> Option<EnergyBySlot> {
        let previous = self.previous;
        let row = session.row as usize;
        let intervals = previous.range(row);
        let horizon = self.problem.curves.horizon();
        let mut taken = EnergyBySlot::new();
        for at in intervals.clone() {
            let (from, to) = (previous.start[at], previous.end[at]);
            for slot in session.first..session.end {
                let start = horizon.starts()[slot as usize].max(from);
                let end = horizon.ends()[slot as usize].min(to);
                if start < end {
                    let kwh = previous.power_kw[at] * (end - start) as f64 / MICROS_PER_HOUR;
                    taken.push((slot, (kwh * MICRO_WH_PER_KWH).round().clamp(-4e18, 4e18) as i64));
                }
            }
        }
        merge_slots(&mut taken);
        (!intervals.is_empty()).then_some(taken)
    }

    /// Load and cost of an assignment.
    fn trial(&self, assignment: Assignment) -> Trial {
        let plans =
            PlanReader { context: &self.context, assignment: &assignment, prices: self.prices };
        let total = load_of_plans(&plans, self.constraints);
        let cost = total.cost + cost_of_limits(self.constraints, &total);
        Trial { assignment, load: total, cost }
    }

    /// Plan with the least change found at a cost of at most `most`.
    fn nearest(&self, cheapest: &Trial, most: f64) -> Trial {
        let candidates = self.candidates(cheapest);
        let mut best = self.one_by_one(cheapest, most);
        // Bisection: `low` vehicles can return at once, `high` cannot. The first step tries all.
        let (mut low, mut high) = (0, candidates.len() + 1);
        for _ in 0..TRIALS {
            let count =
                if high > candidates.len() { candidates.len() } else { usize::midpoint(low, high) };
            if count == low {
                break;
            }
            match self.at_once(cheapest, &candidates, count, most) {
                Some(trial) => {
                    low = count;
                    // The rest of the budget may let further vehicles return.
                    let trial = self.one_by_one(&trial, most);
                    if self.moved(&trial.assignment).0 < self.moved(&best.assignment).0 {
                        best = trial;
                    }
                }
                None => high = count,
            }
        }
        best
    }

    /// Vehicles that could return to their previous plans, least extra cost per energy saved first.
    fn candidates(&self, now: &Trial) -> Vec<Candidate> {
        let plans =
            PlanReader { context: &self.context, assignment: &now.assignment, prices: self.prices };
        let (mut buffers, mut taken) = (PricingBuffers::default(), EnergyBySlot::new());
        let mut candidates = Vec::new();
        for block in &self.context.sessions.blocks {
            for position in block.sessions.clone() {
                plans.plan(block.group, position, &mut buffers, &mut taken);
                candidates.extend(self.candidate(position, &taken));
            }
        }
        let rate = |candidate: &Candidate| candidate.extra / candidate.saved as f64;
        candidates.sort_by(|a, b| rate(a).total_cmp(&rate(b)).then(a.position.cmp(&b.position)));
        candidates
    }

    /// Plan in which the first `count` candidates return and the others are repaired around them;
    /// `None` if a limit is exceeded, a shortfall changes or the cost exceeds `most`.
    fn at_once(
        &self,
        cheapest: &Trial,
        candidates: &[Candidate],
        count: usize,
        most: f64,
    ) -> Option<Trial> {
        let mut assignment = cheapest.assignment.clone();
        let mut is_back = vec![false; self.context.sessions.each.len()];
        for candidate in &candidates[..count] {
            is_back[candidate.position] = true;
            assignment.overrides.insert(candidate.position as u32, candidate.taken.clone());
        }
        let mut trial = self.trial(assignment);
        // Repair the other vehicles first, then the dearest of those that returned.
        let all = 0..is_back.len();
        let others = all.filter(|&position| !is_back[position]);
        let dearest_first = candidates[..count].iter().rev().map(|candidate| candidate.position);
        let order: Vec<usize> = others.chain(dearest_first).collect();
        let is_within = {
            let drawn = (&mut trial.assignment, self.prices);
            let mut repair = RepairPass::new(&self.context, self.constraints, drawn, &trial.load);
            repair.bring_within(&order, &self.dual_prices_of_all)
        };
        // Repair may raise the cost or cause a shortfall, so both are computed again.
        let trial = self.trial(trial.assignment);
        let is_served = self.short(&trial) == self.short(cheapest);
        (is_within && is_served && trial.cost <= most).then_some(trial)
    }

    /// Shortfall of each vehicle that has one, by position.
    fn short(&self, trial: &Trial) -> Vec<(u32, Shortfall)> {
        let plans = PlanReader {
            context: &self.context,
            assignment: &trial.assignment,
            prices: self.prices,
        };
        let (mut buffers, mut taken) = (PricingBuffers::default(), EnergyBySlot::new());
        let missing = |&position: &u32| {
            let at = position as usize;
            plans.plan(self.context.sessions.group_of(at), at, &mut buffers, &mut taken);
            (position, self.context.shortfall_of(&self.context.sessions.each[at], &taken))
        };
        trial.load.with_shortfall.iter().map(missing).collect()
    }

    /// Plan in which vehicles return one by one, as far as limits and the cost `most` allow.
    fn one_by_one(&self, from: &Trial, most: f64) -> Trial {
        let mut left = most - from.cost;
        let mut assignment = from.assignment.clone();
        for _ in 0..PASSES {
            let before = self.trial(assignment.clone());
            let mut repair = RepairPass::new(
                &self.context,
                self.constraints,
                (&mut assignment, self.prices),
                &before.load,
            );
            let mut is_done = true;
            // Least cost per energy saved first, so that the budget goes furthest.
            for candidate in self.candidates(&before) {
                if candidate.extra <= left
                    && repair.try_replace(candidate.position, candidate.taken)
                {
                    left -= candidate.extra;
                    is_done = false;
                }
            }
            if is_done {
                break;
            }
        }
        let trial = self.trial(assignment);
        // Soft limits may cost more than their duals say.
        if trial.cost <= most + GAP_MAX * most.abs() {
            trial
        } else {
            self.trial(from.assignment.clone())
        }
    }

    /// Return of a vehicle to its previous plan; `None` if it changes the shortfall or saves no
    /// moved energy. `now` is its present plan.
    fn candidate(&self, position: usize, now: &EnergyBySlot) -> Option<Candidate> {
        let session = &self.context.sessions.each[position];
        let previous = self.previous_plan(session)?;
        let taken = self.fit_previous(session, &previous)?;
        if self.context.shortfall_of(session, &taken) != self.context.shortfall_of(session, now) {
            return None;
        }
        let saved = distance(&previous, now) - distance(&previous, &taken);
        let extra = self.value(session, &taken) - self.value(session, now);
        (saved > 0).then_some(Candidate { position, taken, saved, extra })
    }

    /// Cost of a plan at the prices of energy and the duals of soft limits.
    fn value(&self, session: &Session, taken: &EnergyBySlot) -> f64 {
        let dual_price = &self.dual_prices[session.node as usize];
        let cost = taken.iter().map(|&(slot, energy)| {
            let slot = slot as usize;
            self.context.cost_of(session, slot, energy) + dual_price[slot] * as_kwh(energy)
        });
        cost.sum()
    }

    /// Previous plan fitted to the session: energy above the need is cut from the end, missing
    /// energy is bought where it is cheapest. `None` if it cannot be fitted; the plan of a battery
    /// is used as it is or not at all.
    fn fit_previous(&self, session: &Session, previous: &EnergyBySlot) -> Option<EnergyBySlot> {
        if let Some(battery) = self.context.sessions.battery_of(session) {
            return battery.is_feasible(&self.context, session, previous).then(|| previous.clone());
        }
        // Keep the previous energy slot by slot, within power, need and known prices.
        let horizon = self.context.horizon();
        let prices = self.context.curves.prices(session.curve as usize);
        let mut taken = EnergyBySlot::new();
        let mut left = session.need;
        let mut up: Vec<i64> = vec![i64::MAX; horizon.len()];
        for &(slot, energy) in previous {
            let most = session.cap(horizon, slot as usize);
            let is_priced = !prices[slot as usize].is_nan();
            let part = if is_priced { energy.clamp(0, most).min(left) } else { 0 };
            up[slot as usize] = most - part;
            left -= part;
            if part > 0 {
                taken.push((slot, part));
            }
        }
        // 1 µWh per slot is rounding, and no reason to use another slot.
        if left > previous.len() as i64 && !session.is_indivisible {
            let rest = Session { need: left, demand: Demand::Departure, ..*session };
            let free = FreeCapacity { import: &up, export: &up };
            let dual_price = &self.dual_prices[session.node as usize];
            let buffers = &mut PricingBuffers::default();
            solve_within_capacity(&self.context, &rest, dual_price, free, buffers, &mut taken);
        }
        // Rounding is made up for in a slot that is used already.
        let top_up = session.need - taken.iter().map(|(_, energy)| energy).sum::<i64>();
        if top_up > 0 && top_up <= previous.len() as i64 {
            let fits = |(slot, energy): &&mut (u32, i64)| {
                *energy + top_up <= session.cap(horizon, *slot as usize)
            };
            taken.iter_mut().find(fits)?.1 += top_up;
        }
        Some(taken)
    }
}

/// Sum over slots of the absolute difference of two plans, in µWh.
fn distance(a: &EnergyBySlot, b: &EnergyBySlot) -> i64 {
    let mut all = a.clone();
    all.extend(b.iter().map(|&(slot, energy)| (slot, -energy)));
    merge_slots(&mut all);
    all.iter().map(|(_, energy)| energy.abs()).sum()
}

//! A new plan of an area that stays near the one before.
//!
//! The plan found first is the cheapest. Then vehicles go back to what they
//! were told before, those first that save most change for the money: as many
//! at once as a budget pays for after others made room for them, and after
//! that one by one as far as limits and the rest of the budget allow.
use crate::area::model::battery::FreeCapacity;
use crate::area::model::energy_by_slot::{Assignment, EnergyBySlot, Shortfall, merge_slots};
use crate::area::model::linking::{LinkingConstraints, Penalty};
use crate::area::model::session::Session;
use crate::area::pricing::buffers::PricingBuffers;
use crate::area::pricing::context::{PricingContext, dual_price_by_node};
use crate::area::pricing::oracle::solve_within_capacity;
use crate::area::problem::area_problem::AreaProblem;
use crate::area::problem::micro_wh::{MICRO_WH_PER_KWH, as_kwh};
use crate::area::recovery::plans::{PlanReader, PricesByClass};
use crate::area::recovery::repair::RepairPass;
use crate::area::recovery::totals::{AreaLoad, cost_of_limits, load_of_plans};
use crate::area::report::outcome::AreaPlan;
use crate::units::MICROS_PER_HOUR;

/// Walks over all vehicles: one may free the room that another one wants.
const PASSES: usize = 2;

/// Trials of how many vehicles can go back at once.
const TRIALS: usize = 8;

/// What vehicles were told before: row i has the intervals at
/// `offsets[i]..offsets[i + 1]`, none where it is new.
#[derive(Debug, Clone, Copy)]
pub struct PreviousPlans<'a> {
    /// One more than there are rows.
    pub offsets: &'a [i32],
    /// Starts, in microseconds since 1970.
    pub start: &'a [i64],
    /// Ends, in microseconds since 1970.
    pub end: &'a [i64],
    /// Power, in kW; negative discharges.
    pub power_kw: &'a [f64],
}

/// How far a plan is from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PlanChange {
    /// Energy that the cheapest plan moves: the sum over vehicles and slots of
    /// what is more or less than before, in kWh.
    pub cheapest_kwh: f64,
    /// Energy that the plan moves, counted in the same way.
    pub moved_kwh: f64,
    /// What it costs more than the cheapest one.
    pub spent: f64,
    /// Vehicles that had a plan before.
    pub vehicles: usize,
    /// Those of them whose plan is the same.
    pub unchanged: usize,
}

/// A plan to go back to.
struct Candidate {
    position: usize,
    taken: EnergyBySlot,
    /// Energy that is moved less then, in grains.
    saved: i64,
    /// What that costs at the prices of soft limits.
    extra: f64,
}

struct CloseReplan<'a> {
    problem: &'a AreaProblem<'a>,
    context: PricingContext<'a>,
    constraints: &'a LinkingConstraints,
    prices: &'a PricesByClass,
    /// What soft limits add to the prices, by node.
    dual_prices: Vec<Vec<f64>>,
    /// What all limits add.
    dual_prices_of_all: Vec<Vec<f64>>,
    previous: &'a PreviousPlans<'a>,
}

/// A plan on trial.
struct Trial {
    assignment: Assignment,
    load: AreaLoad,
    cost: f64,
}

impl AreaPlan {
    /// The plan nearer to what vehicles were told before, at a cost of at most
    /// `budget` more; `problem` is the one that was planned.
    ///
    /// Limits and needs are kept as they are. The change is the least that
    /// taking vehicles one by one finds; a budget of 0 still keeps what costs nothing.
    #[must_use]
    pub fn replan_close_to(
        mut self,
        problem: &AreaProblem<'_>,
        previous: &PreviousPlans<'_>,
        budget: f64,
    ) -> (Self, PlanChange) {
        let constraints = LinkingConstraints::new(problem);
        let sessions = self.sessions.clone();
        let (penalty, export) = (self.penalty, problem.export());
        let context = PricingContext {
            curves: problem.curves,
            export,
            sessions: &sessions,
            penalty,
            is_free: false,
        };
        let mut soft = self.duals.clone();
        for (constraint, duals) in
            constraints.each.iter().zip(soft.chunks_mut(constraints.slots().max(1)))
        {
            if constraint.penalty == Penalty::Hard {
                duals.fill(0.0);
            }
        }
        let keeping = CloseReplan {
            problem,
            context,
            constraints: &constraints,
            prices: &PricesByClass::new(&context, &constraints, &self.assignment, &self.prices),
            dual_prices: dual_price_by_node(&context, &constraints, &soft),
            dual_prices_of_all: dual_price_by_node(&context, &constraints, &self.duals),
            previous,
        };
        let cheapest = keeping.trial(std::mem::take(&mut self.assignment));
        let (cheapest_kwh, _) = keeping.moved(&cheapest.assignment);
        let most = cheapest.cost + budget.max(0.0);
        let found = keeping.nearest(&cheapest, most);
        let (moved_kwh, counted) = keeping.moved(&found.assignment);
        let spent = found.cost - cheapest.cost;
        let change = PlanChange { cheapest_kwh, moved_kwh, spent, ..counted };
        let plans =
            PlanReader { context: &context, assignment: &found.assignment, prices: keeping.prices };
        self.refresh(problem, &plans, &constraints, (&found.load, found.cost));
        self.assignment = found.assignment;
        (self, change)
    }
}

impl CloseReplan<'_> {
    /// Energy moved by a plan, and how many vehicles it leaves alone.
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
                    // A grain in each slot is rounding.
                    change.unchanged += usize::from(of_this <= before.len() as i64);
                    moved += of_this;
                }
            }
        }
        (as_kwh(moved), change)
    }

    /// What a vehicle was told, in the slots of its stay; `None` if it is new.
    fn previous_plan(&self, session: &Session) -> Option<EnergyBySlot> {
        let previous = self.previous;
        let row = session.row as usize;
        let (first, last) = (previous.offsets[row] as usize, previous.offsets[row + 1] as usize);
        let horizon = self.problem.curves.horizon();
        let mut taken = EnergyBySlot::new();
        for at in first..last {
            let (from, to) = (previous.start[at], previous.end[at]);
            for slot in session.first..session.last {
                let start = horizon.starts()[slot as usize].max(from);
                let end = horizon.ends()[slot as usize].min(to);
                if start < end {
                    let kwh = previous.power_kw[at] * (end - start) as f64 / MICROS_PER_HOUR;
                    taken.push((slot, (kwh * MICRO_WH_PER_KWH).round().clamp(-4e18, 4e18) as i64));
                }
            }
        }
        merge_slots(&mut taken);
        (last > first).then_some(taken)
    }

    /// What a plan comes to.
    fn trial(&self, assignment: Assignment) -> Trial {
        let plans =
            PlanReader { context: &self.context, assignment: &assignment, prices: self.prices };
        let total = load_of_plans(&plans, self.constraints);
        let cost = total.cost + cost_of_limits(self.constraints, &total);
        Trial { assignment, load: total, cost }
    }

    /// The least change found at a cost of at most `most`.
    fn nearest(&self, cheapest: &Trial, most: f64) -> Trial {
        let candidates = self.candidates(cheapest);
        let mut best = self.one_by_one(cheapest, most);
        // Bisection: `low` vehicles can go back at once, `high` cannot.
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

    /// Vehicles that could go back, the least costly for the change first.
    fn candidates(&self, now: &Trial) -> Vec<Candidate> {
        let plans =
            PlanReader { context: &self.context, assignment: &now.assignment, prices: self.prices };
        let (mut buffers, mut taken) = (PricingBuffers::default(), EnergyBySlot::new());
        let mut found = Vec::new();
        for block in &self.context.sessions.blocks {
            for position in block.sessions.clone() {
                plans.plan(block.group, position, &mut buffers, &mut taken);
                found.extend(self.candidate(position, &taken));
            }
        }
        let rate = |candidate: &Candidate| candidate.extra / candidate.saved as f64;
        found.sort_by(|a, b| rate(a).total_cmp(&rate(b)).then(a.position.cmp(&b.position)));
        found
    }

    /// The first `count` candidates go back, and the others make room.
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
        let all = 0..is_back.len();
        let others = all.filter(|&position| !is_back[position]);
        let dearest_first = candidates[..count].iter().rev().map(|candidate| candidate.position);
        let order: Vec<usize> = others.chain(dearest_first).collect();
        let is_within = {
            let drawn = (&mut trial.assignment, self.prices);
            let mut walk = RepairPass::new(&self.context, self.constraints, drawn, &trial.load);
            walk.bring_within(&order, &self.dual_prices_of_all)
        };
        let trial = self.trial(trial.assignment);
        let is_served = self.short(&trial) == self.short(cheapest);
        (is_within && is_served && trial.cost <= most).then_some(trial)
    }

    /// Who goes without what.
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

    /// Vehicles go back one after the other while limits and money allow it.
    fn one_by_one(&self, from: &Trial, most: f64) -> Trial {
        let mut left = most - from.cost;
        let mut assignment = from.assignment.clone();
        for _ in 0..PASSES {
            let before = self.trial(assignment.clone());
            let mut walk = RepairPass::new(
                &self.context,
                self.constraints,
                (&mut assignment, self.prices),
                &before.load,
            );
            let mut is_done = true;
            for candidate in self.candidates(&before) {
                if candidate.extra <= left && walk.try_replace(candidate.position, candidate.taken)
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
        // Soft limits may cost more than their prices say.
        if trial.cost <= most + 1e-9 * most.abs() {
            trial
        } else {
            self.trial(from.assignment.clone())
        }
    }

    /// What going back would mean for a vehicle, if it is possible and of use.
    fn candidate(&self, position: usize, now: &EnergyBySlot) -> Option<Candidate> {
        let session = &self.context.sessions.each[position];
        let told = self.previous_plan(session)?;
        let taken = self.fitted(session, &told)?;
        if self.context.shortfall_of(session, &taken) != self.context.shortfall_of(session, now) {
            return None;
        }
        let saved = distance(&told, now) - distance(&told, &taken);
        let extra = self.value(session, &taken) - self.value(session, now);
        (saved > 0).then_some(Candidate { position, taken, saved, extra })
    }

    fn value(&self, session: &Session, taken: &EnergyBySlot) -> f64 {
        let dual_price = &self.dual_prices[session.node as usize];
        let cost = taken.iter().map(|&(slot, energy)| {
            let slot = slot as usize;
            self.context.cost_of(session, slot, energy) + dual_price[slot] * as_kwh(energy)
        });
        cost.sum()
    }

    /// What a vehicle was told, as far as it still fits its stay; what is
    /// missing is bought where it is cheapest, what is too much left out at the end.
    fn fitted(&self, session: &Session, told: &EnergyBySlot) -> Option<EnergyBySlot> {
        if let Some(battery) = self.context.sessions.batteries.get(session.battery as usize) {
            return battery.is_feasible(&self.context, session, told).then(|| told.clone());
        }
        let horizon = self.context.horizon();
        let prices = self.context.curves.prices(session.curve as usize);
        let mut taken = EnergyBySlot::new();
        let mut left = session.need;
        let mut up: Vec<i64> = vec![i64::MAX; horizon.len()];
        for &(slot, energy) in told {
            let most = session.cap(horizon, slot as usize);
            let is_priced = !prices[slot as usize].is_nan();
            let part = if is_priced { energy.clamp(0, most).min(left) } else { 0 };
            up[slot as usize] = most - part;
            left -= part;
            if part > 0 {
                taken.push((slot, part));
            }
        }
        // A hair of rounding is no reason to use another slot.
        if left > told.len() as i64 && !session.is_indivisible {
            let rest = Session {
                need: left,
                deadlines: crate::area::model::session::NO_DEADLINES,
                ..*session
            };
            let free = FreeCapacity { import: &up, export: &up };
            let dual_price = &self.dual_prices[session.node as usize];
            solve_within_capacity(
                &self.context,
                &rest,
                dual_price,
                free,
                &mut PricingBuffers::default(),
                |slot, energy| {
                    taken.push((slot as u32, energy));
                },
            );
            merge_slots(&mut taken);
        }
        let top_up = session.need - taken.iter().map(|(_, energy)| energy).sum::<i64>();
        if top_up > 0 && top_up <= told.len() as i64 {
            let fits = |(slot, energy): &&mut (u32, i64)| {
                *energy + top_up <= session.cap(horizon, *slot as usize)
            };
            taken.iter_mut().find(fits)?.1 += top_up;
        }
        Some(taken)
    }
}

/// Energy by which two plans differ.
fn distance(a: &EnergyBySlot, b: &EnergyBySlot) -> i64 {
    let mut all = a.clone();
    all.extend(b.iter().map(|&(slot, energy)| (slot, -energy)));
    merge_slots(&mut all);
    all.iter().map(|(_, energy)| energy.abs()).sum()
}

//! A new plan of an area that stays near the one before.
//!
//! The plan found first is the cheapest. Then vehicles go back to what they
//! were told before, those first that save most change for the money: as many
//! at once as a budget pays for after others made room for them, and after
//! that one by one as far as limits and the rest of the budget allow.
use crate::area::model::battery::Free;
use crate::area::model::energy_by_slot::{Missing, Settled, Taken, merge};
use crate::area::model::linking::{Kind, Terms};
use crate::area::model::session::Stay;
use crate::area::pricing::buffers::Scratch;
use crate::area::pricing::context::{Asked, added_by_node};
use crate::area::pricing::oracle::within;
use crate::area::problem::area_problem::AreaProblem;
use crate::area::problem::micro_wh::{GRAINS_PER_KWH, as_kwh};
use crate::area::recovery::plans::{Plans, Signals};
use crate::area::recovery::repair::Walk;
use crate::area::recovery::totals::{Total, add_up, cost_of_limits};
use crate::area::report::outcome::AreaPlan;
use crate::units::MICROS_PER_HOUR;

/// Walks over all vehicles: one may free the room that another one wants.
const PASSES: usize = 2;

/// Trials of how many vehicles can go back at once.
const TRIALS: usize = 8;

/// What vehicles were told before: row i has the intervals at
/// `offsets[i]..offsets[i + 1]`, none where it is new.
#[derive(Debug, Clone, Copy)]
pub struct Previous<'a> {
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
pub struct Change {
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
    taken: Taken,
    /// Energy that is moved less then, in grains.
    saved: i64,
    /// What that costs at the prices of soft limits.
    extra: f64,
}

struct Keeping<'a> {
    problem: &'a AreaProblem<'a>,
    asked: Asked<'a>,
    terms: &'a Terms,
    signals: &'a Signals,
    /// What soft limits add to the prices, by node.
    added: Vec<Vec<f64>>,
    /// What all limits add.
    all_added: Vec<Vec<f64>>,
    previous: &'a Previous<'a>,
}

/// A plan on trial.
struct Trial {
    settled: Settled,
    total: Total,
    cost: f64,
}

impl AreaPlan {
    /// The plan nearer to what vehicles were told before, at a cost of at most
    /// `budget` more; `problem` is the one that was planned.
    ///
    /// Limits and needs are kept as they are. The change is the least that
    /// taking vehicles one by one finds; a budget of 0 still keeps what costs nothing.
    #[must_use]
    pub fn near(
        mut self,
        problem: &AreaProblem<'_>,
        previous: &Previous<'_>,
        budget: f64,
    ) -> (Self, Change) {
        let terms = Terms::new(problem);
        let stays = self.stays.clone();
        let (worth, export) = (self.worth, problem.export());
        let asked = Asked { curves: problem.curves, export, stays: &stays, worth, is_free: false };
        let mut soft = self.duals.clone();
        for (term, duals) in terms.each.iter().zip(soft.chunks_mut(terms.slots().max(1))) {
            if term.kind == Kind::Hard {
                duals.fill(0.0);
            }
        }
        let keeping = Keeping {
            problem,
            asked,
            terms: &terms,
            signals: &Signals::new(&asked, &terms, &self.settled, &self.prices),
            added: added_by_node(&asked, &terms, &soft),
            all_added: added_by_node(&asked, &terms, &self.duals),
            previous,
        };
        let cheapest = keeping.trial(std::mem::take(&mut self.settled));
        let (cheapest_kwh, _) = keeping.moved(&cheapest.settled);
        let most = cheapest.cost + budget.max(0.0);
        let found = keeping.nearest(&cheapest, most);
        let (moved_kwh, counted) = keeping.moved(&found.settled);
        let spent = found.cost - cheapest.cost;
        let change = Change { cheapest_kwh, moved_kwh, spent, ..counted };
        let plans = Plans { asked: &asked, settled: &found.settled, signals: keeping.signals };
        self.refresh(problem, &plans, &terms, (&found.total, found.cost));
        self.settled = found.settled;
        (self, change)
    }
}

impl Keeping<'_> {
    /// Energy moved by a plan, and how many vehicles it leaves alone.
    fn moved(&self, settled: &Settled) -> (f64, Change) {
        let plans = Plans { asked: &self.asked, settled, signals: self.signals };
        let (mut scratch, mut taken) = (Scratch::default(), Taken::new());
        let (mut moved, mut change) = (0, Change::default());
        for block in &self.asked.stays.blocks {
            for position in block.stays.clone() {
                let stay = &self.asked.stays.each[position];
                if let Some(before) = self.told(stay) {
                    plans.plan(block.group, position, &mut scratch, &mut taken);
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
    fn told(&self, stay: &Stay) -> Option<Taken> {
        let previous = self.previous;
        let row = stay.row as usize;
        let (first, last) = (previous.offsets[row] as usize, previous.offsets[row + 1] as usize);
        let horizon = self.problem.curves.horizon();
        let mut taken = Taken::new();
        for at in first..last {
            let (from, to) = (previous.start[at], previous.end[at]);
            for slot in stay.first..stay.last {
                let start = horizon.starts()[slot as usize].max(from);
                let end = horizon.ends()[slot as usize].min(to);
                if start < end {
                    let kwh = previous.power_kw[at] * (end - start) as f64 / MICROS_PER_HOUR;
                    taken.push((slot, (kwh * GRAINS_PER_KWH).round().clamp(-4e18, 4e18) as i64));
                }
            }
        }
        merge(&mut taken);
        (last > first).then_some(taken)
    }

    /// What a plan comes to.
    fn trial(&self, settled: Settled) -> Trial {
        let plans = Plans { asked: &self.asked, settled: &settled, signals: self.signals };
        let total = add_up(&plans, self.terms);
        let cost = total.cost + cost_of_limits(self.terms, &total);
        Trial { settled, total, cost }
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
                    if self.moved(&trial.settled).0 < self.moved(&best.settled).0 {
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
        let plans = Plans { asked: &self.asked, settled: &now.settled, signals: self.signals };
        let (mut scratch, mut taken) = (Scratch::default(), Taken::new());
        let mut found = Vec::new();
        for block in &self.asked.stays.blocks {
            for position in block.stays.clone() {
                plans.plan(block.group, position, &mut scratch, &mut taken);
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
        let mut settled = cheapest.settled.clone();
        let mut is_back = vec![false; self.asked.stays.each.len()];
        for candidate in &candidates[..count] {
            is_back[candidate.position] = true;
            settled.anew.insert(candidate.position as u32, candidate.taken.clone());
        }
        let mut trial = self.trial(settled);
        let all = 0..is_back.len();
        let others = all.filter(|&position| !is_back[position]);
        let dearest_first = candidates[..count].iter().rev().map(|candidate| candidate.position);
        let order: Vec<usize> = others.chain(dearest_first).collect();
        let is_within = {
            let drawn = (&mut trial.settled, self.signals);
            let mut walk = Walk::new(&self.asked, self.terms, drawn, &trial.total);
            walk.bring_within(&order, &self.all_added)
        };
        let trial = self.trial(trial.settled);
        let is_served = self.short(&trial) == self.short(cheapest);
        (is_within && is_served && trial.cost <= most).then_some(trial)
    }

    /// Who goes without what.
    fn short(&self, trial: &Trial) -> Vec<(u32, Missing)> {
        let plans = Plans { asked: &self.asked, settled: &trial.settled, signals: self.signals };
        let (mut scratch, mut taken) = (Scratch::default(), Taken::new());
        let missing = |&position: &u32| {
            let at = position as usize;
            plans.plan(self.asked.stays.group_of(at), at, &mut scratch, &mut taken);
            (position, self.asked.missing(&self.asked.stays.each[at], &taken))
        };
        trial.total.short.iter().map(missing).collect()
    }

    /// Vehicles go back one after the other while limits and money allow it.
    fn one_by_one(&self, from: &Trial, most: f64) -> Trial {
        let mut left = most - from.cost;
        let mut settled = from.settled.clone();
        for _ in 0..PASSES {
            let before = self.trial(settled.clone());
            let mut walk =
                Walk::new(&self.asked, self.terms, (&mut settled, self.signals), &before.total);
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
        let trial = self.trial(settled);
        // Soft limits may cost more than their prices say.
        if trial.cost <= most + 1e-9 * most.abs() {
            trial
        } else {
            self.trial(from.settled.clone())
        }
    }

    /// What going back would mean for a vehicle, if it is possible and of use.
    fn candidate(&self, position: usize, now: &Taken) -> Option<Candidate> {
        let stay = &self.asked.stays.each[position];
        let told = self.told(stay)?;
        let taken = self.fitted(stay, &told)?;
        if self.asked.missing(stay, &taken) != self.asked.missing(stay, now) {
            return None;
        }
        let saved = distance(&told, now) - distance(&told, &taken);
        let extra = self.value(stay, &taken) - self.value(stay, now);
        (saved > 0).then_some(Candidate { position, taken, saved, extra })
    }

    fn value(&self, stay: &Stay, taken: &Taken) -> f64 {
        let added = &self.added[stay.node as usize];
        let cost = taken.iter().map(|&(slot, energy)| {
            let slot = slot as usize;
            self.asked.cost_of(stay, slot, energy) + added[slot] * as_kwh(energy)
        });
        cost.sum()
    }

    /// What a vehicle was told, as far as it still fits its stay; what is
    /// missing is bought where it is cheapest, what is too much left out at the end.
    fn fitted(&self, stay: &Stay, told: &Taken) -> Option<Taken> {
        if let Some(store) = self.asked.stays.stores.get(stay.store as usize) {
            return store.allows(&self.asked, stay, told).then(|| told.clone());
        }
        let horizon = self.asked.horizon();
        let prices = self.asked.curves.prices(stay.curve as usize);
        let mut taken = Taken::new();
        let mut left = stay.need;
        let mut up: Vec<i64> = vec![i64::MAX; horizon.len()];
        for &(slot, energy) in told {
            let most = stay.cap(horizon, slot as usize);
            let is_priced = !prices[slot as usize].is_nan();
            let part = if is_priced { energy.clamp(0, most).min(left) } else { 0 };
            up[slot as usize] = most - part;
            left -= part;
            if part > 0 {
                taken.push((slot, part));
            }
        }
        // A hair of rounding is no reason to use another slot.
        if left > told.len() as i64 && !stay.whole {
            let rest = Stay { need: left, wishes: crate::area::model::session::NO_WISHES, ..*stay };
            let free = Free { up: &up, down: &up };
            let added = &self.added[stay.node as usize];
            within(&self.asked, &rest, added, free, &mut Scratch::default(), |slot, energy| {
                taken.push((slot as u32, energy));
            });
            merge(&mut taken);
        }
        let top_up = stay.need - taken.iter().map(|(_, energy)| energy).sum::<i64>();
        if top_up > 0 && top_up <= told.len() as i64 {
            let fits = |(slot, energy): &&mut (u32, i64)| {
                *energy + top_up <= stay.cap(horizon, *slot as usize)
            };
            taken.iter_mut().find(fits)?.1 += top_up;
        }
        Some(taken)
    }
}

/// Energy by which two plans differ.
fn distance(a: &Taken, b: &Taken) -> i64 {
    let mut all = a.clone();
    all.extend(b.iter().map(|&(slot, energy)| (slot, -energy)));
    merge(&mut all);
    all.iter().map(|(_, energy)| energy.abs()).sum()
}

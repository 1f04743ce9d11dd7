//! What an area plan is: what it costs, what it proves, what it leaves unmet,
//! and the plan of each vehicle.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::area::column_generation::incumbent::{Ended, relative_gap};
use crate::area::distributed::executor::{Staff, anew, change};
use crate::area::distributed::protocol::{Change, Mix, Own, Place, Question, What};
use crate::area::model::deadlines::Wishes;
use crate::area::model::energy_by_slot::{Settled, Taken};
use crate::area::model::linking::{Kind, Terms};
use crate::area::model::session::Stay;
use crate::area::model::sessions::Stays;
use crate::area::pricing::block_loads::{self, Sum};
use crate::area::pricing::buffers::Scratch;
use crate::area::pricing::context::Asked;
use crate::area::pricing::effective_prices::Worth;
use crate::area::problem::area_problem::AreaProblem;
use crate::area::problem::limits::{Limit, Node, base_loads_kw};
use crate::area::problem::micro_wh::{GRAINS_PER_KWH, as_kwh};
use crate::area::problem::options::AreaState;
use crate::area::recovery::plans::{Plans, Signals};
use crate::area::recovery::totals::{self, Total, cost_of_limits};
use crate::area::report::table::{AreaRows, Writing, write_rows};
use crate::area::solve::subproblem::{Coordinated, Task};
use crate::columns::row_error::RowError;
use crate::units::MICROS_PER_HOUR;

/// Part of a limit from which on a slot counts as full.
const FULL: f64 = 0.999;

/// Why the rounds ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// The gap asked for is proved.
    #[serde(rename = "gap")]
    Gap,
    /// There were as many rounds as allowed.
    #[serde(rename = "rounds")]
    Rounds,
    /// The caller said so. Another run may end elsewhere.
    #[serde(rename = "stopped")]
    Stopped,
    /// No prices improve the mix: what gap is left comes from whole answers.
    #[serde(rename = "stalled")]
    Stalled,
    /// The solver failed in one of the searches. Limits hold and the bound is
    /// proved, but a better plan may have been within reach.
    #[serde(rename = "failed")]
    Failed,
}

impl From<Ended> for Status {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Gap => Self::Gap,
            Ended::Rounds => Self::Rounds,
            Ended::Caller => Self::Stopped,
            Ended::Stalled => Self::Stalled,
            Ended::Failed => Self::Failed,
        }
    }
}

/// A load and what it costs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LoadAndCost {
    /// Mean power of all vehicles in each slot, in kW.
    pub load_kw: Vec<f64>,
    /// Cost of energy and soft limits.
    pub cost: f64,
}

/// What becomes of one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeOutcome {
    /// Its name.
    pub name: String,
    /// Mean power in each slot in kW, base load included; positive is import.
    pub load_kw: Vec<f64>,
    /// Base load in each slot in kW, that of the nodes below included.
    pub base_kw: Vec<f64>,
    /// Most by which the load is beyond a hard limit in any slot, in kW. Only
    /// base load and limits on export can lead there.
    pub breach_kw: f64,
    /// What the limits of the node and of those above it add to the price of a
    /// kWh in each slot.
    pub added_per_kwh: Vec<f64>,
}

/// The price of one limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShadowPrice {
    /// Position of its node.
    pub node: usize,
    /// What cost would fall by if one more kWh were allowed, slot by slot.
    pub per_kwh: Vec<f64>,
}

/// Need that a vehicle goes without.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unmet {
    /// Row of the vehicle.
    pub row: usize,
    /// Energy missing, in kWh at the plug; stored energy if it discharges. Of
    /// several deadlines that by which most is missing.
    pub energy_kwh: f64,
    /// The node whose limit is in the way; `None` where the stay itself is too
    /// short, the charger too weak, or the charge limit below what is wanted.
    pub node: Option<usize>,
}

/// Plans for the vehicles of an area.
#[derive(Debug, Clone)]
pub struct AreaPlan {
    /// Cost of the energy and of soft limits.
    pub cost: f64,
    /// No plan that serves the same needs costs less.
    pub bound: f64,
    /// Cost minus bound, divided by the larger of bound and unmanaged cost; where
    /// vehicles are on or off, at least the part of the needs that is unmet and was not
    /// proved to be.
    pub gap: f64,
    /// How often all vehicles were asked in the last search. There may be others
    /// before it: on samples, or for what limits then were found to withhold.
    pub rounds: usize,
    /// Why the rounds ended.
    pub status: Status,
    /// Whether another run gives the same bytes.
    pub reproducible: bool,
    /// Energy that vehicles took in, in kWh.
    pub energy_kwh: f64,
    /// Energy that they gave back, in kWh.
    pub discharged_kwh: f64,
    /// Need that is not met, in kWh.
    pub unmet_kwh: f64,
    /// Part of it that goes unmet in any plan, where vehicles are on or off: the bound of
    /// the search with whole numbers for a small area, which is exact where it ends, and
    /// what must go unmet if they could take parts for a large one. `None`
    /// where nobody is on or off, or the work was stopped: nothing is proved there.
    pub unmet_bound_kwh: Option<f64>,
    /// The vehicles it belongs to, by row.
    pub unmet: Vec<Unmet>,
    /// Rows whose reserve limits let come later than full power from arrival would.
    pub late_reserves: Vec<usize>,
    /// Load and prices of each node.
    pub nodes: Vec<NodeOutcome>,
    /// Price of each limit, in the order of nodes and limits.
    pub shadow_prices: Vec<ShadowPrice>,
    /// All vehicles together.
    pub load_kw: Vec<f64>,
    /// Full power from arrival, limits or not.
    pub unmanaged: LoadAndCost,
    /// Each vehicle at its own cheapest, limits or not.
    pub price_only: LoadAndCost,
    /// Rows that make no sense.
    pub errors: Vec<(usize, RowError)>,
    /// Where to begin when the area is planned again.
    pub state: AreaState,
    pub(crate) stays: Stays,
    pub(crate) settled: Settled,
    pub(crate) prices: Vec<Vec<f64>>,
    pub(crate) duals: Vec<f64>,
    pub(crate) worth: Worth,
    pub(crate) unmet_gap: f64,
}

/// The area without any management.
pub(crate) fn unmanaged(
    problem: &AreaProblem<'_>,
    (stays, worth): (&Stays, Worth),
    terms: &Terms,
    staff: &mut Staff<'_>,
) -> LoadAndCost {
    let export = problem.export();
    let asked = Asked { curves: problem.curves, export, stays, worth, is_free: false };
    let sums = staff.ask(&asked, || What::AtOnce, None);
    load_and_cost(terms, &sums.unwrap_or_else(|| block_loads::unmanaged(&asked)))
}

/// Each vehicle at its own cheapest, as if there were no limits.
fn price_only(asked: &Asked<'_>, terms: &Terms, staff: &mut Staff<'_>) -> LoadAndCost {
    let free = vec![0.0; terms.each.len() * terms.slots()];
    let sums = staff.ask(asked, || What::Answer(free.clone()), None);
    load_and_cost(terms, &sums.unwrap_or_else(|| block_loads::answers(asked, terms, &free)))
}

fn load_and_cost(terms: &Terms, sums: &[Sum]) -> LoadAndCost {
    let total = totals::total(sums, terms);
    let cost = total.cost + cost_of_limits(terms, &total);
    LoadAndCost { load_kw: powers(terms, &total.load), cost }
}

fn powers(terms: &Terms, load: &[i64]) -> Vec<f64> {
    load.iter().zip(&terms.hours).map(|(&energy, hours)| as_kwh(energy) / hours).collect()
}

/// Puts the result together. `asked_for` are the stays before a shortage was
/// shared, `least_kwh` is what limits withhold in any plan.
pub(crate) fn finish(
    task: &Task<'_>,
    (stays, asked_for, least_kwh): (Stays, Option<&Stays>, Option<f64>),
    done: Coordinated,
    unmanaged: LoadAndCost,
    staff: &mut Staff<'_>,
) -> AreaPlan {
    let terms = task.terms;
    let asked = task.asked(&stays);
    let total = &done.total;
    let signals = Signals::new(&asked, terms, &done.settled, &done.prices);
    let plans = Plans { asked: &asked, settled: &done.settled, signals: &signals };
    let unmet = unmet(task, &plans, asked_for.unwrap_or(&stays), total);
    let late_reserves = late_reserves(&plans, total);
    let cost = total.cost + cost_of_limits(terms, total);
    // The bound is on cost and worth of what is shed; plans that serve the same
    // shed the same, so that the rest is a bound on their cost.
    let bound = done.bound - total.shed_worth;
    let nodes =
        nodes(task.problem, terms, &totals::loads(&plans, task.problem, total), &done.duals);
    let shadow_prices = terms.each.iter().zip(done.duals.chunks(terms.slots().max(1)));
    let shadow_prices = shadow_prices
        .map(|(term, duals)| ShadowPrice { node: term.node, per_kwh: duals.to_vec() })
        .collect();
    // The sum of nothing is -0.0; adding zero makes it 0.0.
    let unmet_kwh = unmet.iter().map(|unmet| unmet.energy_kwh).sum::<f64>() + 0.0;
    let beyond_kwh: f64 = stays.beyond_kwh.iter().map(|(_, beyond)| beyond).sum();
    let unmet_bound_kwh = least_kwh.map(|least| (least + beyond_kwh).min(unmet_kwh));
    let need_kwh = asked_for.unwrap_or(&stays).need_kwh();
    let unmet_gap = unmet_bound_kwh.map_or(0.0, |bound| unmet_gap(unmet_kwh - bound, need_kwh));
    let gap = relative_gap(cost, bound, task.until.scale).max(unmet_gap);
    // What a gap is reached in rounds counts only if the finished plans keep it.
    let status = match Status::from(done.ended) {
        Status::Gap | Status::Stalled | Status::Rounds if staff.has_failed() => Status::Failed,
        Status::Gap if gap > task.until.gap => Status::Stalled,
        Status::Stalled | Status::Rounds if gap <= task.until.gap => Status::Gap,
        status => status,
    };
    let price_only = price_only(&task.asked(asked_for.unwrap_or(&stays)), terms, staff);
    let energy: i64 = total.load.iter().sum();
    AreaPlan {
        cost,
        bound: bound.min(cost),
        gap,
        rounds: done.rounds,
        status,
        reproducible: status != Status::Stopped,
        energy_kwh: as_kwh(energy + total.sold),
        discharged_kwh: as_kwh(total.sold),
        unmet_kwh,
        unmet_bound_kwh,
        unmet,
        late_reserves,
        nodes,
        shadow_prices,
        load_kw: powers(terms, &total.load),
        unmanaged,
        price_only,
        errors: stays.errors.clone(),
        state: done.state,
        settled: done.settled,
        prices: done.prices,
        duals: done.duals,
        worth: task.worth,
        unmet_gap,
        stays,
    }
}

/// Part of the needs that is unmet and was not proved to be, apart from rounding.
fn unmet_gap(open_kwh: f64, need_kwh: f64) -> f64 {
    let part = open_kwh / need_kwh.max(1e-9);
    if part <= 1e-6 { 0.0 } else { part }
}

/// Vehicles whose reserve comes later than at once, by row.
fn late_reserves(plans: &Plans<'_>, total: &Total) -> Vec<usize> {
    let stays = plans.asked.stays;
    let (mut scratch, mut taken) = (Scratch::default(), Taken::new());
    let mut is_late = |at: usize, stay: &Stay| {
        if let Some(store) = stays.stores.get(stay.store as usize) {
            return store.reserve_from > stay.first;
        }
        let wishes = stays.wishes.get(stay.wishes as usize);
        let is_short = total.short.binary_search(&(at as u32)).is_ok();
        wishes.filter(|wishes| is_short || wishes.is_late()).is_some_and(|wishes| {
            plans.plan(stays.group_of(at), at, &mut scratch, &mut taken);
            wishes.is_reserve_late(&taken)
        })
    };
    let late = stays.each.iter().enumerate().filter(|(at, stay)| is_late(*at, stay));
    let mut rows: Vec<usize> = late.map(|(_, stay)| stay.row as usize).collect();
    rows.sort_unstable();
    rows
}

fn nodes(
    problem: &AreaProblem<'_>,
    terms: &Terms,
    loads: &[Vec<i64>],
    duals: &[f64],
) -> Vec<NodeOutcome> {
    let bases = base_loads_kw(&problem.nodes, terms.slots());
    let outcome = |(at, (node, base_kw)): (usize, (&Node, Vec<f64>))| {
        let load_kw: Vec<f64> = powers(terms, &loads[at])
            .iter()
            .zip(&base_kw)
            .map(|(load, base)| load + base)
            .collect();
        let mut breach_kw = 0.0f64;
        for limit in &node.limits {
            let (most, sign) = match limit {
                Limit::Import { power_max, price: None } => (power_max, 1.0),
                Limit::Export { power_max, price: None } => (power_max, -1.0),
                _ => continue,
            };
            for (slot, load) in load_kw.iter().enumerate() {
                let beyond = most.at(slot).map_or(0.0, |most| sign * load - most.as_kw());
                breach_kw = breach_kw.max(if beyond > 1e-6 { beyond } else { 0.0 });
            }
        }
        let added_per_kwh = terms.added(at as u32, duals);
        NodeOutcome { name: node.name.clone(), load_kw, base_kw, breach_kw, added_per_kwh }
    };
    problem.nodes.iter().zip(bases).enumerate().map(outcome).collect()
}

/// What is not met of what was asked for, by row, and the limit in the way.
fn unmet(task: &Task<'_>, plans: &Plans<'_>, asked_for: &Stays, total: &Total) -> Vec<Unmet> {
    let stays = plans.asked.stays;
    let before = task.asked(asked_for);
    let of_row =
        |&(row, energy_kwh): &(u32, f64)| Unmet { row: row as usize, energy_kwh, node: None };
    let mut found: Vec<Unmet> = stays.beyond_kwh.iter().map(of_row).collect();
    let (mut scratch, mut taken) = (Scratch::default(), Taken::new());
    for (position, (stay, now)) in asked_for.each.iter().zip(&stays.each).enumerate() {
        let wishes = stays.wishes.get(stay.wishes as usize);
        let is_short = total.short.binary_search(&(position as u32)).is_ok();
        if now.need >= stay.need && !is_short && !wishes.is_some_and(Wishes::is_late) {
            continue;
        }
        plans.plan(stays.group_of(position), position, &mut scratch, &mut taken);
        let (missing, end) = match wishes {
            Some(wishes) => wishes.unmet(&taken),
            None => (before.missing(stay, &taken).need, None),
        };
        if missing > 0 {
            let until = Stay { last: end.unwrap_or(stay.last), ..*stay };
            let node = in_the_way(task.terms, total, &until);
            found.push(Unmet { row: stay.row as usize, energy_kwh: as_kwh(missing), node });
        }
    }
    found.sort_by_key(|unmet| (unmet.row, unmet.node));
    found.dedup_by(|next, kept| {
        let is_same = next.row == kept.row && next.node == kept.node;
        if is_same {
            kept.energy_kwh += next.energy_kwh;
        }
        is_same
    });
    found
}

/// The node with the most slots of a stay that are too full for the vehicle,
/// the nearest of equals: one that is on or off needs room for all its power.
/// Where none is, the nearest with a hard limit: whole answers left gaps.
fn in_the_way(terms: &Terms, total: &Total, stay: &Stay) -> Option<usize> {
    let full = |node: u32| {
        let of_node = terms.by_node[node as usize].iter().map(|&term| &terms.each[term]);
        let hard = of_node.filter(|term| term.kind == Kind::Hard && term.sign > 0.0);
        let is_full = |term: &crate::area::model::linking::Term, slot: usize| {
            let power = if stay.whole { stay.rate } else { 0.0 };
            let wanted = power * terms.hours[slot] * MICROS_PER_HOUR / GRAINS_PER_KWH;
            as_kwh(total.loads[term.node][slot]) + wanted >= term.bounds[slot] * FULL - 1e-6
        };
        let slots = stay.first as usize..stay.last as usize;
        hard.map(|term| slots.clone().filter(|&slot| is_full(term, slot)).count()).max()
    };
    let path = &terms.paths[stay.node as usize];
    let counts = path.iter().filter_map(|&node| Some((full(node)?, node)));
    let most = counts.rev().max_by_key(|&(count, _)| count)?;
    Some(most.1 as usize)
}

impl AreaPlan {
    /// Hands the plan of every vehicle to `sink`, in runs of at most `run` rows
    /// in the order of the fleet. `problem` is the one that was planned.
    ///
    /// A vehicle charges at constant power in each slot, so that what holds for
    /// the mean of a slot holds at every instant, but for slots in which it
    /// comes or leaves. One with a least power runs at full power for part of
    /// the slot instead.
    pub fn rows(&self, problem: &AreaProblem<'_>, run: usize, sink: &mut dyn FnMut(AreaRows)) {
        let mut unmet_kwh = vec![0.0; problem.vehicles.fleet.len()];
        for unmet in &self.unmet {
            unmet_kwh[unmet.row] += unmet.energy_kwh;
        }
        let terms = Terms::new(problem);
        let (stays, worth, export) = (&self.stays, self.worth, problem.export());
        let asked = Asked { curves: problem.curves, export, stays, worth, is_free: false };
        let signals = Signals::new(&asked, &terms, &self.settled, &self.prices);
        let plans = Plans { asked: &asked, settled: &self.settled, signals: &signals };
        write_rows(&Writing { problem, plans: &plans, unmet_kwh: &unmet_kwh }, run, sink);
    }

    /// Need that is not met by position of the vehicle, in that order.
    pub(crate) fn unmet_by_position(&self) -> Vec<(usize, f64)> {
        let mut by_row: BTreeMap<usize, f64> = BTreeMap::new();
        for unmet in &self.unmet {
            *by_row.entry(unmet.row).or_default() += unmet.energy_kwh;
        }
        let each = self.stays.each.iter().enumerate();
        each.filter_map(|(at, stay)| Some((at, *by_row.get(&(stay.row as usize))?))).collect()
    }

    /// Puts other plans of the same vehicles in the place of those found.
    pub(crate) fn refresh(
        &mut self,
        problem: &AreaProblem<'_>,
        plans: &Plans<'_>,
        terms: &Terms,
        (total, cost): (&Total, f64),
    ) {
        self.cost = cost;
        self.bound = self.bound.min(cost);
        self.gap = relative_gap(cost, self.bound, self.unmanaged.cost).max(self.unmet_gap);
        let energy: i64 = total.load.iter().sum();
        self.energy_kwh = as_kwh(energy + total.sold);
        self.discharged_kwh = as_kwh(total.sold);
        self.nodes = nodes(problem, terms, &totals::loads(plans, problem, total), &self.duals);
        self.load_kw = powers(terms, &total.load);
    }

    /// The prices that proved the bound, limit by limit and slot by slot.
    #[must_use]
    pub fn duals_per_kwh(&self) -> &[f64] {
        &self.duals
    }

    /// Number of vehicles planned, rows in error apart.
    #[must_use]
    pub fn vehicles(&self) -> usize {
        self.stays.each.len()
    }
}

impl AreaPlan {
    /// What parts have to be told so that they write the plans of their rows:
    /// a question for all, and for each part what is for it alone.
    #[must_use]
    pub fn told(&self, places: &[Place]) -> (Question, Vec<(Own, Change)>) {
        let what = What::Plans(Mix::new(&self.settled, &self.prices));
        let question = Question { worth: self.worth, is_free: false, what };
        let unmet = self.unmet_by_position();
        let own = |place: &Place| {
            let at = place.first..place.first + place.vehicles();
            let from = unmet.partition_point(|(position, _)| *position < at.start);
            let to = unmet.partition_point(|(position, _)| *position < at.end);
            let here = unmet[from..to].iter();
            let unmet_kwh = here.map(|&(position, kwh)| ((position - at.start) as u32, kwh));
            let own = Own { anew: anew(&self.settled, &at), unmet_kwh: unmet_kwh.collect() };
            (own, change(&self.stays, at))
        };
        (question, places.iter().map(own).collect())
    }
}

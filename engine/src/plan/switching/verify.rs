//! Verification of a plan of a device that switches, apart from its planner.
//!
//! Energies, sessions, costs and outcomes are those of the slots, and rules of switching are checked
//! on the sessions. The bounds of an exact search are computed by another method than the one that
//! found the plan:
//!
//! - The bound by a price `λ` on energy has a potential `v` of each node of the state graph, the
//!   shortest way to the end. No edge is shorter than the potentials say, `v_from <= length + v_to`,
//!   so that no plan that buys `E` costs less than `L(λ) = λ·E + v_begin`.
//! - A plan that costs less than the stated bound would have a threshold price `π`, that of its one
//!   slot strictly between its least and its most energy (see [`path_search`](super::path_search)):
//!   slots at lower prices are full, and slots at higher ones at their least. For each `π` the paths
//!   are followed forwards, with the range of energies that their slots at `π` leave,
//!
//!   ```text
//!   length = Σ_t (p_t − π)·x_t + c·starts,      low <= E <= high at the end,      cost = length + π·E
//!   ```
//!
//!   and one is given up where the potentials show that it cannot end below the bound. No slot is
//!   left free, and no tables meet, as in the search of the planner.
//!
//! | Part of the proof | How it is checked |
//! |---|---|
//! | powers, sessions, least times on and off, the top-off, wishes | at the slots of the plan |
//! | no plan that buys as much costs less than `relaxed_bound` | by potentials |
//! | nor less than `bound`, after an exact search | by thresholds; not if they leave too many paths |
//! | nor less than `bound`, after a mixed-integer programme | not: it is the word of the solver |
//! | no plan misses less | not |
use crate::plan::charge::plan::PlannedSlot;
use crate::plan::charge::request::ChargeProblem;
use crate::plan::charge::sub_slots::{SubSlot, sub_slots};
use crate::plan::switching::graph::{Edge, Graph};
use crate::plan::switching::plan::{Method, SwitchingPlan, UnmetWish};
use crate::plan::switching::planner::{add_up_after, plan_again};
use crate::plan::switching::problem::SwitchingProblem;
use crate::plan::switching::request::DeviceState;
use crate::plan::switching::timeline::{Rules, Timeline};
use crate::plan::verification::Check;
use crate::time::instant::micros_of;
use crate::tolerance::{ENERGY_SHARE_MIN, GAP_MAX, allowed};
use crate::units::{Energy, Money, Power};

/// Most steps of paths that the check of a bound follows, so that it ends: more than a week of
/// quarter hours with a start cost and a least time on needs.
const STEPS_MAX: usize = 20_000_000;

/// Compares each statement of a plan and of its certificate with what the request, the prices and
/// the slots of the plan give.
///
/// The checks come in this order: slots, sessions and rules, sums and outcomes, and then the
/// certificate. If slots are not those of the request, or an energy cannot be, nothing else is
/// checked. Without a line `bound` the stated bound rests on the search alone: on a mixed-integer
/// programme, on a search that a limit ended, or on one with too many paths to follow again.
///
/// # Example
///
/// Of four hours two have to run, at one start. Every statement holds, until the bound is changed:
///
/// ```
/// use slackwater_engine::plan::charge::Target;
/// use slackwater_engine::plan::switching::{SwitchingProblem, SwitchingRequest};
/// use slackwater_engine::plan::switching::{plan_switching, verify};
/// use slackwater_engine::prices::curve::PriceCurve;
/// use slackwater_engine::time::horizon::Horizon;
/// use slackwater_engine::units::{kw, kwh, money};
/// # let six = "2026-01-05T18:00:00Z".parse().unwrap();
/// # let hour = chrono::TimeDelta::hours(1);
/// let hours = Horizon::steps(six, hour, 4).unwrap();
/// let curve = PriceCurve::from_parts(hours, vec![0.1, 0.3, 0.1, 0.2]).unwrap();
/// let mut request = SwitchingRequest::new(six, kw(10.0), Target { by: None, energy: kwh(20.0) });
/// (request.power_min, request.start_cost) = (kw(4.0), money(1.5));
/// let problem = SwitchingProblem::new(request, &curve)?;
/// let mut plan = plan_switching(&problem);
/// assert!(verify(&problem, &plan).iter().all(|check| check.holds()));
/// plan.certificate.bound = money(4.0);
/// let failed = verify(&problem, &plan).into_iter().find(|check| !check.holds());
/// assert_eq!(failed.unwrap().line, "bound");
/// # Ok::<(), slackwater_engine::plan::switching::SwitchingError>(())
/// ```
#[must_use]
pub fn verify(problem: &SwitchingProblem<'_>, plan: &SwitchingPlan) -> Vec<Check> {
    let mut checks = check_slots(problem, plan);
    if checks.iter().any(|check| !check.holds()) {
        return checks;
    }
    let again = plan_again(problem, &plan.slots, plan.top_off);
    checks.extend(check_rules(problem, &again));
    checks.extend(check_sums(plan, &again));
    checks.extend(check_bounds(problem, plan, &again));
    checks
}

/// Checks that the slots are those of the request, and each energy.
fn check_slots(problem: &SwitchingProblem<'_>, plan: &SwitchingPlan) -> Vec<Check> {
    let Ok(free) = ChargeProblem::new(problem.request.free()) else { return Vec::new() };
    let all = sub_slots(problem.curve, &free, &problem.timeline.cuts);
    let is_other = |(own, piece): &(&PlannedSlot, PlannedSlot)| {
        (own.start, own.end) != (piece.start, piece.end)
    };
    let pieces = || all.iter().map(SubSlot::planned);
    let others = plan.slots.iter().zip(pieces()).filter(is_other).count();
    let more = plan.slots.len().saturating_sub(all.len());
    let within = all.iter().filter(|piece| piece.end <= problem.timeline.window_end).count();
    let fewer = within.saturating_sub(plan.slots.len());
    let mut checks = vec![Check::rule("slots", (others + more + fewer) as f64, 0.0)];
    let least = problem.request.step_power();
    let end = plan.slots.iter().rposition(|slot| slot.energy > Energy::ZERO);
    for (index, (slot, piece)) in plan.slots.iter().zip(pieces()).enumerate() {
        let line = |name: &str| format!("slots[{index}].{name}");
        let (price, power) = (piece.price.as_per_kwh(), piece.power_max.as_kw());
        checks.push(Check::equal(
            &line("price_per_kwh"),
            slot.price.as_per_kwh(),
            price,
            price.abs(),
        ));
        checks.push(Check::equal(&line("power_max_kw"), slot.power_max.as_kw(), power, power));
        let (kwh, most) = (slot.energy.as_kwh(), piece.capacity().as_kwh());
        let step = least.over(slot.end - slot.start).as_kwh();
        // Off, a top-off below the least energy, or from the least to the most.
        let excess = if kwh == 0.0 {
            0.0
        } else if piece.power_max < least || piece.power_max <= Power::ZERO {
            kwh.abs()
        } else if plan.top_off == Some(index) && end == Some(index) {
            (kwh - step).max(-kwh)
        } else {
            (kwh - most).max(step - kwh)
        };
        checks.push(Check::rule(line("energy_kwh"), excess, allowed(GAP_MAX, most)));
    }
    checks
}

/// Checks of the rules of switching that no plan may break, on the sessions of `again`.
fn check_rules(problem: &SwitchingProblem<'_>, again: &SwitchingPlan) -> [Check; 3] {
    let request = &problem.request;
    let sessions = &again.sessions;
    let limit = request.sessions_limit().map_or(usize::MAX, |most| most as usize);
    let minutes = |micros: i64| micros as f64 / 6e7;
    let off_min = request.off_min.num_microseconds().unwrap_or(i64::MAX);
    let missing = |from: i64, to: i64| off_min.saturating_sub(to.saturating_sub(from));
    let stopped = match request.state {
        DeviceState::Off => None,
        DeviceState::RunningSince(_) => Some(micros_of(request.now)),
        DeviceState::StoppedSince(since) => Some(micros_of(since)),
    };
    let first = sessions.first().filter(|first| !first.is_carried);
    let pause = first.zip(stopped).map(|(first, at)| missing(at, micros_of(first.start)));
    let pauses = sessions
        .windows(2)
        .map(|pair| missing(micros_of(pair[0].end), micros_of(pair[1].start)))
        .chain(pause);
    let too_short = pauses.fold(0, i64::max);
    // Only the last session may be shorter than `on_min`, and then it is an unmet wish.
    let last = sessions.last().map(|session| session.end);
    let early = again.unmet.iter().filter(|wish| match wish {
        UnmetWish::OnMin { at, .. } => last.is_some_and(|last| *at < last),
        _ => false,
    });
    [
        Check::rule("sessions_max", sessions.len().saturating_sub(limit) as f64, 0.0),
        Check::rule("off_min_minutes", minutes(too_short), 0.0),
        Check::rule("on_min", early.count() as f64, 0.0),
    ]
}

/// Compares sums and outcomes with those of the slots.
fn check_sums(plan: &SwitchingPlan, again: &SwitchingPlan) -> Vec<Check> {
    let paid = |slot: &PlannedSlot| slot.price.of(slot.energy).as_amount().abs();
    let scale = again.slots.iter().map(paid).sum::<f64>() + again.start_costs.as_amount();
    let kwh = again.energy.as_kwh();
    let misfits = |fits: bool| f64::from(u8::from(!fits));
    let equal = |name: &str, own: Money, again: Money| {
        Check::equal(name, own.as_amount(), again.as_amount(), scale)
    };
    vec![
        Check::rule("intervals", misfits(plan.intervals == again.intervals), 0.0),
        Check::rule("sessions", misfits(plan.sessions == again.sessions), 0.0),
        Check::rule("targets", misfits(plan.targets == again.targets), 0.0),
        Check::rule("unmet", misfits(plan.unmet == again.unmet), 0.0),
        Check::rule("free_plan", misfits(plan.free_plan == again.free_plan), 0.0),
        Check::equal("energy_kwh", plan.energy.as_kwh(), kwh, kwh),
        Check::equal("shortfall_kwh", plan.shortfall.as_kwh(), again.shortfall.as_kwh(), kwh),
        equal("energy_cost", plan.energy_cost, again.energy_cost),
        equal("start_costs", plan.start_costs, again.start_costs),
        equal("total_cost", plan.cost, again.cost),
        equal("cost", plan.certificate.cost, again.cost),
    ]
}

/// Checks of the bounds, as far as they do not rest on the search of the planner alone.
fn check_bounds(
    problem: &SwitchingProblem<'_>,
    plan: &SwitchingPlan,
    again: &SwitchingPlan,
) -> Vec<Check> {
    let certificate = &plan.certificate;
    let is_optimal = certificate.status.is_optimal();
    let mut checks = vec![Check::same("is_complete", certificate.is_complete, is_optimal)];
    let cost = again.cost.as_amount();
    // A bound above the cost is wrong, whatever it rests on.
    let paid = |slot: &PlannedSlot| slot.price.of(slot.energy).as_amount().abs();
    let amounts = again.slots.iter().map(paid).sum::<f64>() + again.start_costs.as_amount();
    let rounding = certificate.method.tolerance() * amounts + problem.timeline.tie_cost();
    let near = |line: &str, stated: Money, computed: f64| Check {
        line: line.to_owned(),
        stated: stated.as_amount(),
        computed,
        tolerance: rounding + allowed(GAP_MAX, cost),
    };
    let above = certificate.bound.as_amount() - cost;
    checks.push(Check::rule("bound above cost", above, rounding));
    let (Some(stated), Some(price)) = (certificate.relaxed_bound, certificate.relaxed_price) else {
        return checks;
    };
    if certificate.method != Method::ExactSearch {
        return checks;
    }
    let window = problem.timeline.window_end;
    let searched = again.slots.iter().filter(|slot| micros_of(slot.end) <= window).count();
    let after = add_up_after(problem, again, searched).as_amount();
    let wanted = again.slots[..searched].iter().map(|slot| slot.energy.as_kwh()).sum::<f64>();
    let Some(proof) = BoundProof::new(problem, again, searched, wanted, price.as_per_kwh()) else {
        // Whoever buys nothing pays nothing.
        checks.push(near("relaxed_bound", stated, after.min(cost)));
        if is_optimal {
            checks.push(near("bound", certificate.bound, after));
        }
        return checks;
    };
    checks.push(near("relaxed_bound", stated, (proof.bound() + after).min(cost)));
    if is_optimal && let Ok(cheaper) = proof.find_cheaper(cost - after - rounding) {
        checks.push(near(
            "bound",
            certificate.bound,
            cheaper.map_or(cost, |cheaper| cheaper + after),
        ));
    }
    checks
}

/// State graph of the rules that a plan keeps, with a potential of each node.
struct BoundProof {
    timeline: Timeline,
    graph: Graph,
    /// Energy that every plan in question buys, in kWh.
    wanted: f64,
    /// Price on energy `λ`.
    price: f64,
    /// Length of the shortest way from each node to the end, at that price.
    potentials: Vec<f64>,
}

/// Paths to a node whose slots below a threshold price are full, and above it at their least.
#[derive(Debug, Clone, Copy)]
struct PathLabel {
    /// Least and most energy of the path: those of its slots at the threshold.
    low: f64,
    high: f64,
    /// `Σ_t (p_t − π)·x_t`, with starts.
    length: f64,
}

/// More paths than [`STEPS_MAX`] allows.
struct TooManyPaths;

impl BoundProof {
    /// A proof for the plans that keep the rules that `plan` keeps and buy `wanted` kWh in its first
    /// `searched` slots; `None` if they buy nothing.
    fn new(
        problem: &SwitchingProblem<'_>,
        plan: &SwitchingPlan,
        searched: usize,
        wanted: f64,
        price: f64,
    ) -> Option<Self> {
        let timeline = &problem.timeline;
        let is_on = |step: usize| {
            let start = timeline.steps[step].start;
            let mut on = plan.slots[..searched].iter().filter(|slot| slot.energy > Energy::ZERO);
            on.any(|slot| micros_of(slot.start) == start)
        };
        let last = (0..timeline.len()).rev().find(|&step| is_on(step))?;
        let is_short = |plan: &SwitchingPlan| {
            plan.unmet.iter().any(|wish| matches!(wish, UnmetWish::OnMin { .. }))
        };
        let early = plan_again(problem, &plan.slots[..searched], plan.top_off);
        // A first deadline that wants the most is met without the steps after it.
        let is_met = plan.shortfall <= Energy::ZERO;
        let part = timeline.first_part().filter(|part| is_met && last < part.len());
        let timeline = part.as_ref().unwrap_or(timeline);
        let has_run = timeline.first_run < timeline.len();
        let rules = Rules {
            runs_last: has_run && (timeline.first_run..timeline.len()).all(is_on),
            last_may_be_short: timeline.has_on_min() && is_short(&early),
        };
        let graph = Graph::new(timeline, rules);
        // With a shortfall, each slot that is on is full.
        let is_missing = wanted < timeline.wanted(rules) * (1.0 - ENERGY_SHARE_MIN);
        let timeline = if is_missing { timeline.at_full_power() } else { timeline.clone() };
        let potentials = Vec::new();
        let mut proof = Self { timeline, graph, wanted, price, potentials };
        proof.potentials = proof.find_potentials();
        Some(proof)
    }

    /// Bound by the price on energy.
    fn bound(&self) -> f64 {
        self.price * self.wanted + self.potentials[Graph::BEGIN]
    }

    fn start_cost(&self, edge: &Edge) -> f64 {
        if edge.starts { self.timeline.start_cost } else { 0.0 }
    }

    /// Shortest ways to the end, from the last node to the first.
    fn find_potentials(&self) -> Vec<f64> {
        let mut potentials = vec![f64::INFINITY; self.graph.end() + 1];
        potentials[self.graph.end()] = 0.0;
        let reduced = |step: usize, least: f64, most: f64| {
            let worth = self.timeline.steps[step].price - self.price;
            (worth * least).min(worth * most)
        };
        // A top-off leads to the end from any node.
        for edge in &self.graph.top_offs {
            let step = self.graph.runs[edge.run].0;
            let length =
                self.start_cost(edge) + reduced(step, 0.0, self.timeline.steps[step].least);
            potentials[edge.from] = potentials[edge.from].min(length);
        }
        for edge in self.graph.edges.iter().rev() {
            let (first, end) = self.graph.runs[edge.run];
            let on = (first..end).map(|step| {
                let energies = &self.timeline.steps[step];
                reduced(step, energies.least, energies.most)
            });
            let length = self.start_cost(edge) + on.sum::<f64>() + potentials[edge.to];
            potentials[edge.from] = potentials[edge.from].min(length);
        }
        potentials
    }

    /// Least cost below `limit` of the plans that buy the energy, if there is one.
    fn find_cheaper(&self, limit: f64) -> Result<Option<f64>, TooManyPaths> {
        if self.bound() >= limit {
            return Ok(None);
        }
        let (mut least, mut steps) = (None, 0);
        for threshold in self.timeline.steps.iter().map(|step| step.price) {
            let limit = least.unwrap_or(limit);
            if let Some(cost) = self.follow(threshold, limit, &mut steps)? {
                least = Some(cost);
            }
        }
        Ok(least)
    }

    /// Least cost below `limit` of the paths at one threshold.
    fn follow(
        &self,
        threshold: f64,
        limit: f64,
        steps: &mut usize,
    ) -> Result<Option<f64>, TooManyPaths> {
        let end = self.graph.end();
        let mut labels: Vec<Vec<PathLabel>> = vec![Vec::new(); end + 1];
        labels[Graph::BEGIN].push(PathLabel { low: 0.0, high: 0.0, length: 0.0 });
        let mut done = 0;
        for edge in &self.graph.edges {
            // Edges are in the order of their first node: its labels are complete.
            while done <= edge.from {
                self.merge(&mut labels[done]);
                done += 1;
            }
            let (first, last) = self.graph.runs[edge.run];
            let run = (first..last).map(|step| {
                let energies = &self.timeline.steps[step];
                self.run_at(threshold, step, energies.least, energies.most)
            });
            let run = run.fold(PathLabel { low: 0.0, high: 0.0, length: 0.0 }, PathLabel::join);
            self.extend(&mut labels, edge, run, (threshold, limit));
            *steps += labels[edge.from].len() + (last - first);
            if *steps > STEPS_MAX {
                return Err(TooManyPaths);
            }
        }
        for edge in &self.graph.top_offs {
            let step = self.graph.runs[edge.run].0;
            let run = self.run_at(threshold, step, 0.0, self.timeline.steps[step].least);
            self.extend(&mut labels, edge, run, (threshold, limit));
        }
        let rounding = self.wanted * ENERGY_SHARE_MIN;
        let buys = |label: &&PathLabel| {
            label.low <= self.wanted + rounding && label.high >= self.wanted - rounding
        };
        let costs = labels[end].iter().filter(buys);
        let least = costs.map(|label| label.length + threshold * self.wanted);
        Ok(least.filter(|cost| *cost < limit).reduce(f64::min))
    }

    /// Energy and length of a step from `least` to `most` kWh at a threshold.
    fn run_at(&self, threshold: f64, step: usize, least: f64, most: f64) -> PathLabel {
        let worth = self.timeline.steps[step].price - threshold;
        let (low, high) = if worth < 0.0 {
            (most, most)
        } else if worth > 0.0 {
            (least, least)
        } else {
            (least, most)
        };
        PathLabel { low, high, length: worth * low }
    }

    /// Adds the labels of an edge to its last node: those that can still buy the energy, and cost
    /// less than the limit by the potentials.
    fn extend(
        &self,
        labels: &mut [Vec<PathLabel>],
        edge: &Edge,
        run: PathLabel,
        (threshold, limit): (f64, f64),
    ) {
        let (start, rest) = (self.start_cost(edge), self.potentials[edge.to]);
        let rounding = self.wanted * ENERGY_SHARE_MIN;
        let (before, after) = labels.split_at_mut(edge.to);
        for label in &before[edge.from] {
            let next = label.join(run);
            let next = PathLabel { length: next.length + start, ..next };
            // The cost so far is `length + π·x`, and the rest costs `λ·(E − x) + v` or more.
            let at = |kwh: f64| next.length + (threshold - self.price) * kwh;
            let least = at(next.low).min(at(next.high)) + self.price * self.wanted + rest;
            if next.low <= self.wanted + rounding && least < limit {
                after[0].push(next);
            }
        }
    }

    /// Keeps the shortest of the labels with the same energies.
    fn merge(&self, labels: &mut Vec<PathLabel>) {
        labels.sort_unstable_by(|a, b| {
            let energies = a.low.total_cmp(&b.low).then(a.high.total_cmp(&b.high));
            energies.then(a.length.total_cmp(&b.length))
        });
        let rounding = self.wanted * ENERGY_SHARE_MIN / 100.0;
        labels.dedup_by(|next, kept| {
            let is_same =
                next.low - kept.low <= rounding && (next.high - kept.high).abs() <= rounding;
            if is_same {
                kept.length = kept.length.min(next.length);
            }
            is_same
        });
    }
}

impl PathLabel {
    fn join(self, next: Self) -> Self {
        Self {
            low: self.low + next.low,
            high: self.high + next.high,
            length: self.length + next.length,
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::request::Target;
    use crate::plan::switching::planner::plan_switching;
    use crate::plan::switching::request::SwitchingRequest;
    use crate::plan::switching::timeline::tests::{minute, request_of};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kwh, money, per_kwh};

    /// Lines of a verification, and those that fail, once the plan is changed.
    fn lines(
        cents: &[i32],
        request: SwitchingRequest,
        change: impl FnOnce(&mut SwitchingPlan),
    ) -> (Vec<String>, Vec<String>) {
        let curve = curve_of(60, cents);
        let problem = SwitchingProblem::new(request, &curve).unwrap();
        let mut plan = plan_switching(&problem);
        change(&mut plan);
        let checks = verify(&problem, &plan);
        let failing = checks.iter().filter(|check| !check.holds());
        let failing = failing.map(|check| check.line.clone()).collect();
        (checks.into_iter().map(|check| check.line).collect(), failing)
    }

    /// 20 kWh at 4 to 10 kW and 0.30 a start: a plan that the price on energy does not prove.
    fn request() -> SwitchingRequest {
        let mut request = request_of(20.0);
        (request.start_cost, request.on_min) = (money(0.3), TimeDelta::hours(2));
        request
    }

    const CENTS: [i32; 6] = [30, 10, 25, 12, 28, 11];

    fn failing(change: impl FnOnce(&mut SwitchingPlan)) -> Vec<String> {
        lines(&CENTS, request(), change).1
    }

    #[test]
    fn a_bound_that_a_price_does_not_prove_is_computed_by_thresholds() {
        let curve = curve_of(60, &CENTS);
        let plan = plan_switching(&SwitchingProblem::new(request(), &curve).unwrap());
        let certificate = &plan.certificate;
        assert!(certificate.relaxed_bound.unwrap() < certificate.bound - money(0.01));
        let (all, failed) = lines(&CENTS, request(), |_| ());
        assert_eq!(failed, [""; 0]);
        assert!(all.contains(&"bound".to_owned()) && all.contains(&"relaxed_bound".to_owned()));
    }

    #[test]
    fn a_changed_flow_or_price_is_named() {
        let first = |change: fn(&mut PlannedSlot)| {
            failing(|plan| {
                let on = plan.slots.iter().position(|slot| slot.energy > Energy::ZERO).unwrap();
                change(&mut plan.slots[on]);
            })
        };
        assert!(first(|slot| slot.energy = kwh(11.0))[0].ends_with(".energy_kwh"));
        assert!(first(|slot| slot.energy = kwh(1.0))[0].ends_with(".energy_kwh"));
        assert!(first(|slot| slot.energy = kwh(-5.0))[0].ends_with(".energy_kwh"));
        assert!(first(|slot| slot.price = per_kwh(0.01))[0].ends_with(".price_per_kwh"));
        assert!(!first(|slot| slot.energy = slot.energy - kwh(0.5)).is_empty());
        assert_eq!(failing(|plan| plan.slots.truncate(5)), ["slots"]);
        // Energy in an hour before the session breaks the least time on.
        let more = failing(|plan| plan.slots[5].energy = kwh(4.0));
        assert!(!more.is_empty());
    }

    #[test]
    fn a_changed_statement_is_named() {
        let certificate = |change: fn(&mut crate::plan::switching::plan::SwitchingCertificate)| {
            failing(|plan| change(&mut plan.certificate))
        };
        assert_eq!(certificate(|c| c.cost = c.cost - money(0.1)), ["cost"]);
        assert_eq!(certificate(|c| c.bound = c.bound - money(0.1)), ["bound"]);
        assert_eq!(certificate(|c| c.bound = c.bound + money(0.1)), ["bound above cost", "bound"]);
        let relaxed = certificate(|c| c.relaxed_bound = Some(money(0.0)));
        assert_eq!(relaxed, ["relaxed_bound"]);
        let dual = certificate(|c| c.relaxed_price = c.relaxed_price.map(|p| p + per_kwh(0.02)));
        assert_eq!(dual, ["relaxed_bound"]);
        assert_eq!(certificate(|c| c.is_complete = false), ["is_complete"]);
        assert_eq!(failing(|plan| plan.cost = money(0.0)), ["total_cost"]);
        assert_eq!(failing(|plan| plan.start_costs = money(0.0)), ["start_costs"]);
        assert_eq!(failing(|plan| plan.sessions.clear()), ["sessions"]);
        assert_eq!(failing(|plan| plan.intervals.clear()), ["intervals"]);
    }

    #[test]
    fn a_plan_that_could_be_cheaper_has_a_bound_that_fails() {
        // The plan for other prices, at these: the same energy costs less elsewhere.
        let curve = curve_of(60, &CENTS);
        let problem = SwitchingProblem::new(request(), &curve).unwrap();
        let other = curve_of(60, &[10, 12, 25, 30, 28, 31]);
        let mut plan = plan_switching(&SwitchingProblem::new(request(), &other).unwrap());
        for (slot, right) in plan.slots.iter_mut().zip(&plan_switching(&problem).slots) {
            slot.price = right.price;
        }
        let mut dear = plan_again(&problem, &plan.slots, plan.top_off);
        dear.certificate = plan_switching(&problem).certificate;
        (dear.certificate.cost, dear.certificate.bound) = (dear.cost, dear.cost);
        let checks = verify(&problem, &dear);
        let failed: Vec<&Check> = checks.iter().filter(|check| !check.holds()).collect();
        assert_eq!(failed.iter().map(|c| c.line.as_str()).collect::<Vec<_>>(), ["bound"]);
        let least = plan_switching(&problem).cost.as_amount();
        assert!((failed[0].computed - least).abs() < 1e-9, "{failed:?}");
    }

    #[cfg(feature = "lp")]
    #[test]
    fn the_bound_of_a_solver_has_no_line() {
        let mut request = request();
        request.targets.push(Target { by: Some(minute(120)), energy: kwh(8.0) });
        let (all, failed) = lines(&CENTS, request, |_| ());
        assert_eq!(failed, [""; 0]);
        assert!(!all.contains(&"bound".to_owned()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        /// Every plan of the engine holds, whatever is missing.
        #[test]
        fn honest_plans_hold(
            cents in prop::collection::vec(-30..60i32, 3..12), energy in 0.0..80.0f64,
            start_cost in 0.0..2.0f64, on_min in 0..4i64, off_min in 0..3i64,
            sessions in prop::option::of(1..4u32), run_last in 0..3i64, state in 0..3i64,
            is_early: bool,
        ) {
            let mut request = request_of(energy);
            request.start_cost = money(start_cost);
            request.on_min = TimeDelta::minutes(45 * on_min);
            request.off_min = TimeDelta::minutes(40 * off_min);
            (request.sessions_max, request.run_last) = (sessions, TimeDelta::hours(run_last));
            request.state = match state {
                0 => DeviceState::Off,
                1 => DeviceState::RunningSince(minute(-30)),
                _ => DeviceState::StoppedSince(minute(-30)),
            };
            if is_early {
                request.targets[0] = Target { by: Some(minute(150)), energy: kwh(energy) };
            }
            let (_, failed) = lines(&cents, request, |_| ());
            prop_assert_eq!(failed, [""; 0]);
        }
    }
}

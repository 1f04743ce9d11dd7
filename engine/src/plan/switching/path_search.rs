//! Exact search: the cheapest plan of an even problem, in polynomial time.
//!
//! # Candidate plans
//!
//! For a fixed on-off pattern `on`, the energies solve a linear programme with one row:
//!
//! ```text
//! minimise  Σ_on p_t·x_t    subject to  Σ_on x_t = E,   e_min_t ≤ x_t ≤ e_max_t
//! ```
//!
//! A vertex has at most one slot strictly inside its bounds. By exchange, slots cheaper than that
//! one are full (`x_t = e_max_t`) and dearer ones are at their least (`x_t = e_min_t`): moving
//! energy from a dearer to a cheaper slot never costs more. With a top-off the lower bound of the
//! last slot is zero. A vertex then has the top-off strictly inside its bounds and all other slots
//! at theirs; or the top-off at its least, which is no top-off; or at zero, which is the plan that
//! ends one slot earlier. That plan keeps the rules too, because a top-off comes after the least
//! time on.
//!
//! So some optimal plan has *one free slot*, a top-off or not, and all other slots are off,
//! full or at their least.
//!
//! # Search
//!
//! Energies before and after the free slot are sums of `a` full and `b` least slots. Labels
//! are the least costs over `(a, b)` at each node of the [state graph](super::graph), forwards
//! and backwards:
//!
//! ```text
//! F_w(a, b) = min over edges (v, w) and moves (a', b', m) of  F_v(a − a', b − b') + m + c·start
//! ```
//!
//! Here `m` is the cost of a move, and `start` is 1 if the edge starts a session. The free
//! slot takes the energy that a forward and a backward label leave of `E`
//! ([`split_step`](super::split_step)). A label is kept only if its cost and the reduced
//! distance `d` of its node ([`lagrangian_bound`](super::lagrangian_bound)) stay within a
//! limit, `F_v(a, b) − λ·E(a, b) + d_v + λ·E ≤ limit`. A plan found within the limit is
//! optimal; otherwise the limit is raised. With `n` slots, `S` sessions and `k` slots of least
//! time on the work is `O(S·k·n³)`.
//!
//! | Symbol | Field |
//! |---|---|
//! | `e_min_t`, `e_max_t` | `timeline::Step::least`, `most` |
//! | `E` | `PathSearch::wanted` |
//! | `F_v`, and its counterpart backwards | `PathSearch::before`, `after` |
//! | `a`, `b` | `cost_by_energy::Cell::full`, `least` |
//! | `d_v`, `λ` | `LagrangianPaths::after` (or `before`), `price` |
use crate::plan::search_status::SearchStatus;
use crate::plan::switching::cost_by_energy::{Cell, LabelTable, Move, MoveGrid, TablePool};
use crate::plan::switching::graph::{Edge, Graph};
use crate::plan::switching::lagrangian_bound::LagrangianPaths;
use crate::plan::switching::split_step::{JoinEdge, JoinedPath};
use crate::plan::switching::timeline::{Rules, Timeline};
use crate::tolerance::ENERGY_SHARE_MIN;

/// Schedule that keeps the rules, with its shortfall and Lagrangian bound.
#[derive(Debug, Clone)]
pub(crate) struct FoundSchedule {
    /// Energy of each step, in kWh; a step with energy is on.
    pub(crate) kwh: Vec<f64>,
    /// Position of the top-off, if there is one.
    pub(crate) top_off: Option<usize>,
    /// Shortfall of each level, in kWh.
    pub(crate) missing: Vec<f64>,
    /// Price on energy `λ` and the Lagrangian bound `L(λ)`.
    pub(crate) lagrangian_bound: Option<(f64, f64)>,
}

/// Most table cells that one search fills: some ten seconds of work.
const WORK_MAX: u64 = 10_000_000_000;

/// Returns the cheapest plan with the least shortfall; `None` if no pattern keeps the rules.
///
/// # Errors
/// The limit that ended the search: its work, or the seconds left.
pub(crate) fn solve(
    timeline: &Timeline,
    rules: Rules,
    seconds_left: &dyn Fn() -> f64,
) -> Result<Option<FoundSchedule>, SearchStatus> {
    let wanted = timeline.wanted(rules);
    let graph = Graph::new(timeline, rules);
    let is_idle_allowed = may_stay_off(timeline, &graph);
    if wanted <= least_need(timeline) {
        return Ok(is_idle_allowed.then(|| idle(timeline)));
    }
    let Some(mut search) = PathSearch::new(timeline, graph, wanted, seconds_left) else {
        return Ok(None);
    };
    let possible: f64 = timeline.steps.iter().map(|step| step.most).sum();
    if possible >= wanted * (1.0 - ENERGY_SHARE_MIN)
        && let Some(found) = search.solve()?
    {
        return Ok(Some(found));
    }
    // No plan buys the need exactly. With the least shortfall every slot that is on is full,
    // because otherwise it could take more. Search for the most energy below the need, then
    // for the cheapest plan that buys it.
    let full = timeline.at_full_power();
    let Some(mut search) = PathSearch::new(&full, search.graph, wanted, seconds_left) else {
        return Ok(None);
    };
    search.fill(f64::INFINITY)?;
    match search.most_below()? {
        Some(kwh) if kwh > 0.0 => {
            let Some(mut search) = PathSearch::new(&full, search.graph, kwh, seconds_left) else {
                return Ok(None);
            };
            let missing = vec![wanted - kwh; timeline.levels.len()];
            Ok(search.solve()?.map(|found| FoundSchedule { missing, ..found }))
        }
        _ => Ok(is_idle_allowed.then(|| idle(timeline))),
    }
}

/// Relative rounding of the bound of a join edge: a hundred times that of one addition, because a
/// join edge sums up a few amounts. A larger value would lose the cheapest of nearly equal plans.
const BOUND_ROUNDING: f64 = 1e-14;

/// Least need that is planned, in kWh: [`ENERGY_SHARE_MIN`] of a full first step. A smaller one is
/// rounding.
fn least_need(timeline: &Timeline) -> f64 {
    timeline.steps.first().map_or(0.0, |step| step.most * ENERGY_SHARE_MIN)
}

/// Schedule of a device that stays off; the shortfall is the whole of each level.
pub(crate) fn idle(timeline: &Timeline) -> FoundSchedule {
    let missing = timeline.levels.iter().map(|level| level.kwh).collect();
    FoundSchedule {
        kwh: vec![0.0; timeline.len()],
        top_off: None,
        missing,
        lagrangian_bound: Some((0.0, 0.0)),
    }
}

/// Returns true if some path has no step that is on.
fn may_stay_off(timeline: &Timeline, graph: &Graph) -> bool {
    let mut is_reached = vec![false; graph.end() + 1];
    is_reached[Graph::BEGIN] = true;
    for edge in graph.edges.iter().filter(|edge| graph.runs[edge.run] == (0, 0)) {
        is_reached[edge.to] |= is_reached[edge.from];
    }
    timeline.steps.is_empty() || is_reached[graph.end()]
}

/// State of the search for the cheapest plan that buys `wanted`.
struct PathSearch<'t> {
    timeline: &'t Timeline,
    graph: Graph,
    paths: LagrangianPaths,
    /// Need, in kWh.
    wanted: f64,
    /// Energies and moves of the forward tables.
    left: MoveGrid,
    /// Energies and moves of the backward tables.
    right: MoveGrid,
    /// Forward table of each node: least costs from the first node.
    before: Vec<LabelTable>,
    /// Backward table of each node: least costs to the last node.
    after: Vec<LabelTable>,
    spare: TablePool,
    /// Highest cost of the plans that are searched.
    limit: f64,
    /// Cells filled so far.
    work: u64,
    seconds_left: &'t dyn Fn() -> f64,
}

impl<'t> PathSearch<'t> {
    /// Search with empty tables; `None` without steps, or if no path reaches the end.
    fn new(
        timeline: &'t Timeline,
        graph: Graph,
        wanted: f64,
        seconds_left: &'t dyn Fn() -> f64,
    ) -> Option<Self> {
        if timeline.steps.is_empty() {
            return None;
        }
        let paths = LagrangianPaths::new(timeline, &graph, wanted)?;
        // Forward tables know an odd first step, and backward tables an odd last one.
        let left = MoveGrid::new(timeline, &graph, wanted, true);
        let right = MoveGrid::new(timeline, &graph, wanted, false);
        Some(Self {
            before: Vec::new(),
            after: Vec::new(),
            spare: TablePool::default(),
            limit: f64::INFINITY,
            timeline,
            graph,
            paths,
            wanted,
            left,
            right,
            work: 0,
            seconds_left,
        })
    }

    /// Adds `cells` to the work.
    ///
    /// # Errors
    /// The work exceeds `WORK_MAX`, or no seconds are left.
    fn count_work(&mut self, cells: usize) -> Result<(), SearchStatus> {
        self.work = self.work.saturating_add(cells as u64);
        if self.work > WORK_MAX {
            Err(SearchStatus::LimitReached)
        } else if (self.seconds_left)() <= 0.0 {
            Err(SearchStatus::TimeReached)
        } else {
            Ok(())
        }
    }

    /// Returns the cheapest plan, with rising limits on its cost.
    ///
    /// Tables are filled only at nodes that a plan within the limit can pass, so a plan found
    /// within the limit is optimal. The last limit is infinite.
    fn solve(&mut self) -> Result<Option<FoundSchedule>, SearchStatus> {
        let prices = self.timeline.steps.iter().map(|step| step.price.abs());
        let dearest = prices.fold(0.0, f64::max) * self.wanted;
        let scale = self.paths.bound.abs() + self.timeline.start_cost + dearest * 1e-3;
        for slack in [1e-5, 1e-3, 1e-2, 1e-1, f64::INFINITY] {
            self.fill(self.paths.bound + scale * slack)?;
            match self.best()? {
                Some((cost, found)) if cost <= self.limit => return Ok(Some(found)),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Fills the tables of all nodes that a plan of cost `limit` or less can pass.
    fn fill(&mut self, limit: f64) -> Result<(), SearchStatus> {
        self.limit = limit;
        let nodes = self.graph.end() + 1;
        (self.before, self.after) =
            (vec![LabelTable::default(); nodes], vec![LabelTable::default(); nodes]);
        self.fill_before()?;
        self.fill_after()
    }

    /// Highest reduced cost `F − λ·E` of a forward label that is kept at a node.
    fn most_before(&self, node: usize) -> f64 {
        self.limit - self.paths.after[node] - self.paths.price * self.wanted
    }

    /// Highest reduced cost `F − λ·E` of a backward label that is kept at a node.
    fn most_after(&self, node: usize) -> f64 {
        self.limit - self.paths.before[node] - self.paths.price * self.wanted
    }

    /// Returns true if the Lagrangian bound of the plans through a node is within the limit.
    fn is_near(&self, node: usize) -> bool {
        let length = self.paths.before[node] + self.paths.after[node];
        length + self.paths.price * self.wanted <= self.limit && length.is_finite()
    }

    /// Cost of a start if `starts`, else zero.
    fn start_cost(&self, starts: bool) -> f64 {
        if starts { self.timeline.start_cost } else { 0.0 }
    }

    /// Fills the forward tables, edge by edge in the order of first nodes.
    fn fill_before(&mut self) -> Result<(), SearchStatus> {
        let steps = self.timeline.len();
        self.before[Graph::BEGIN] = self.left.table(0, &mut self.spare);
        self.before[Graph::BEGIN].begin();
        let mut done = 0;
        for position in 0..self.graph.edges.len() {
            let edge = self.graph.edges[position];
            // Edges are in the order of their first node, so the table of a node is complete at
            // its first edge. Drop its labels beyond the limit.
            while done <= edge.from {
                let most = self.most_before(done);
                let price = self.paths.price;
                self.before[done].forget(&self.left, price, most, &mut self.spare);
                done += 1;
            }
            // No join edge uses forward tables at the last boundary.
            let boundary = self.graph.boundary(edge.to);
            if boundary == steps || self.before[edge.from].is_empty() || !self.is_near(edge.to) {
                continue;
            }
            let start_cost = self.start_cost(edge.starts);
            let (earlier, later) = self.before.split_at_mut(edge.to);
            if later[0].is_empty() {
                later[0] = self.left.table(boundary, &mut self.spare);
            }
            let mut cells = 0;
            for by in &self.left.moves[edge.run] {
                cells += later[0].lower(&earlier[edge.from], by, start_cost);
            }
            self.count_work(cells)?;
        }
        Ok(())
    }

    /// Fills the backward tables, edge by edge in reverse order.
    fn fill_after(&mut self) -> Result<(), SearchStatus> {
        let steps = self.timeline.len();
        let end = self.graph.end();
        self.after[end] = self.right.table(0, &mut self.spare);
        self.after[end].begin();
        let mut done = end + 1;
        for position in (0..self.graph.edges.len()).rev() {
            let edge = self.graph.edges[position];
            // Tables of nodes after `edge.from` are complete. Drop their labels beyond the limit.
            while done > edge.to.min(end) && done > edge.from + 1 {
                done -= 1;
                let most = self.most_after(done);
                let price = self.paths.price;
                self.after[done].forget(&self.right, price, most, &mut self.spare);
            }
            if edge.from == Graph::BEGIN
                || self.after[edge.to].is_empty()
                || !self.is_near(edge.from)
            {
                continue;
            }
            let start_cost = self.start_cost(edge.starts);
            let (earlier, later) = self.after.split_at_mut(edge.to);
            let to = &later[0];
            let from = &mut earlier[edge.from];
            if from.is_empty() {
                *from = self.right.table(steps - self.graph.boundary(edge.from), &mut self.spare);
            }
            let mut cells = 0;
            for by in &self.right.moves[edge.run] {
                cells += from.lower(to, by, start_cost);
            }
            self.count_work(cells)?;
        }
        Ok(())
    }

    /// Returns the cheapest plan within the limit with its cost, if there is one.
    fn best(&mut self) -> Result<Option<(f64, FoundSchedule)>, SearchStatus> {
        let join_edges = JoinEdge::all(self.timeline, &self.graph, &self.paths, self.wanted);
        let mut best: Option<(JoinEdge, JoinedPath)> = None;
        for join_edge in join_edges {
            let cost = best.map_or(self.limit, |(_, found)| found.cost);
            // Join edges are sorted by bound: no later one can improve on `cost`.
            if cost < f64::INFINITY && join_edge.bound > cost - BOUND_ROUNDING * cost.abs() {
                break;
            }
            let edge = *self.edge(&join_edge);
            self.count_work(self.before[edge.from].cells() + self.after[edge.to].cells())?;
            let before = (&self.left, &self.before[edge.from]);
            let after = (&self.right, &self.after[edge.to]);
            let found = join_edge.best(self.timeline, before, after, self.wanted);
            if let Some(found) = found.filter(|found| best.is_none() || found.cost < cost) {
                best = Some((join_edge, found));
            }
        }
        Ok(best.map(|(join_edge, found)| (found.cost, self.schedule_of(&join_edge, &found))))
    }

    /// Edge of a `JoinEdge`.
    fn edge(&self, join_edge: &JoinEdge) -> &Edge {
        let edges = if join_edge.is_top_off { &self.graph.top_offs } else { &self.graph.edges };
        &edges[join_edge.edge]
    }

    /// Returns the most energy up to the need that full slots add up to, in kWh.
    fn most_below(&mut self) -> Result<Option<f64>, SearchStatus> {
        let join_edges = JoinEdge::all(self.timeline, &self.graph, &self.paths, self.wanted);
        let mut most: Option<f64> = None;
        for join_edge in join_edges.iter().filter(|join_edge| !join_edge.is_top_off) {
            let edge = *self.edge(join_edge);
            self.count_work(self.before[edge.from].cells() + self.after[edge.to].cells())?;
            let before = (&self.left, &self.before[edge.from]);
            let after = (&self.right, &self.after[edge.to]);
            let sum = join_edge.most_below(before, after, self.wanted);
            if sum > most {
                most = sum;
            }
        }
        Ok(most)
    }

    /// Schedule of a joined path: energies of its edge, and of the paths before and after it.
    fn schedule_of(&self, join_edge: &JoinEdge, found: &JoinedPath) -> FoundSchedule {
        let mut kwh = vec![0.0; self.timeline.len()];
        let edge = self.edge(join_edge);
        join_edge.write(self.timeline, self.graph.runs[edge.run], found.kwh, &mut kwh);
        self.trace_before(edge.from, found.before, &mut kwh);
        self.trace_after(edge.to, found.after, &mut kwh);
        FoundSchedule {
            kwh,
            top_off: join_edge.is_top_off.then_some(join_edge.step),
            missing: vec![0.0; self.timeline.levels.len()],
            lagrangian_bound: Some((self.paths.price, self.paths.bound)),
        }
    }

    /// Writes the energies before a node to `kwh`, back along the edges that gave each cost.
    fn trace_before(&self, mut node: usize, mut cell: Cell, kwh: &mut [f64]) {
        let mut edges = self.graph.edges.iter().rev();
        while node != Graph::BEGIN {
            let cost = self.before[node].cost(cell);
            let step = edges.by_ref().filter(|edge| edge.to == node).find_map(|edge| {
                let start_cost = self.start_cost(edge.starts);
                self.left.moves[edge.run].iter().find_map(|by| {
                    let source = cell.before(by)?;
                    let from = self.before[edge.from].cost(source) + (by.cost + start_cost);
                    // Equal to the last bit: the cost is a copy of this very sum.
                    (from.to_bits() == cost.to_bits()).then_some((edge, by, source))
                })
            });
            let (edge, by, source) = step.expect("a cost in a table came from another one");
            self.left.write(self.timeline, self.graph.runs[edge.run], by, kwh);
            (node, cell) = (edge.from, source);
        }
    }

    /// Writes the energies after a node to `kwh`, along the edges that gave each cost.
    fn trace_after(&self, mut node: usize, mut cell: Cell, kwh: &mut [f64]) {
        let mut edges = self.graph.edges.iter();
        while node != self.graph.end() {
            let cost = self.after[node].cost(cell);
            let step = edges.by_ref().filter(|edge| edge.from == node).find_map(|edge| {
                let start_cost = self.start_cost(edge.starts);
                self.right.moves[edge.run].iter().find_map(|by| {
                    let source = cell.before(by)?;
                    let from = self.after[edge.to].cost(source) + (by.cost + start_cost);
                    // Equal to the last bit: the cost is a copy of this very sum.
                    (from.to_bits() == cost.to_bits()).then_some((edge, by, source))
                })
            });
            let (edge, by, source) = step.expect("a cost in a table came from another one");
            self.right.write(self.timeline, self.graph.runs[edge.run], by, kwh);
            (node, cell) = (edge.to, source);
        }
    }
}

impl Cell {
    /// Cell from which a move leads to this one; `None` if there is none.
    fn before(self, by: &Move) -> Option<Self> {
        let plane = if by.plane == 0 { self.plane } else { 0 };
        let fits = by.plane == 0 || by.plane == self.plane;
        let full = self.full.checked_sub(by.full)?;
        let least = self.least.checked_sub(by.least)?;
        fits.then_some(Self { plane, full, least })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::switching::graph::tests::Switching;
    use crate::plan::switching::timeline::tests::{STRICT, minute, timeline_of};

    /// The energy missing and the cost of the best way to run the hours of a mask; nothing if
    /// their least is more than is wanted.
    fn best_of(
        mask: u32,
        ends_early: bool,
        wanted: f64,
        timeline: &Timeline,
    ) -> Option<(f64, f64)> {
        let end = mask.checked_ilog2();
        let mut hours: Vec<(f64, f64, f64)> = (0..timeline.len())
            .filter(|hour| mask >> hour & 1 == 1)
            .map(|hour| {
                let is_part = ends_early && Some(hour as u32) == end;
                let (least, most) = if is_part { (0.0, 4.0) } else { (4.0, 10.0) };
                (timeline.steps[hour].price, least, most)
            })
            .collect();
        hours.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut left = wanted - hours.iter().map(|(_, least, _)| least).sum::<f64>();
        if left < 0.0 {
            return None;
        }
        let mut cost = 0.0;
        for (price, least, most) in hours {
            let more = left.min(most - least);
            cost += price * (least + more);
            left -= more;
        }
        Some((if left < 1e-9 { 0.0 } else { left }, cost))
    }

    /// The least energy missing and then the least cost of all ways to switch.
    fn best(hours: &Switching, wanted: f64, timeline: &Timeline) -> Option<(f64, f64)> {
        let mut all = Vec::new();
        for mask in 0..1 << hours.hours {
            let Some(starts) = hours.starts(mask) else { continue };
            let may_end_early = mask > 0 && hours.may_end_early(mask);
            for ends_early in [false, true].into_iter().take(1 + usize::from(may_end_early)) {
                if let Some((missing, cost)) = best_of(mask, ends_early, wanted, timeline) {
                    all.push((missing, cost + starts as f64 * timeline.start_cost));
                }
            }
        }
        all.into_iter().min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)))
    }

    proptest! {
        #[test]
        fn no_way_to_switch_misses_less_or_costs_less(
            hours in Switching::any(), cents in prop::collection::vec(-20..60i32, 7),
            wanted in 0.5..75.0f64, start_cost in 0.0..3.0f64,
        ) {
            let timeline = hours.timeline(&cents, wanted, start_cost);
            let found = solve(&timeline, hours.rules(), &|| f64::INFINITY).unwrap();
            let Some((missing, cost)) = best(&hours, wanted, &timeline) else {
                prop_assert!(found.is_none());
                return Ok(());
            };
            let found = found.unwrap();
            let bought: f64 = found.kwh.iter().sum();
            prop_assert!((found.missing[0] - missing).abs() < 1e-6, "{found:?}: {missing}");
            prop_assert!((bought + missing - wanted).abs() < 1e-6);
            let paid = hours.cost(&timeline, &found.kwh).unwrap();
            prop_assert!((paid - cost).abs() < 1e-6, "{found:?}: {paid}, not {cost}");
        }
    }

    #[test]
    fn the_rest_comes_as_a_top_off() {
        // 13 kWh in three hours: the last session may end when 3 kWh are there.
        let timeline = timeline_of(&[20, 10, 30], 13.0, |_| {});
        let found = solve(&timeline, STRICT, &|| f64::INFINITY).unwrap().unwrap();
        // 4 + 9 kWh cost 1.70; 3 kWh before 10 are no top-off, and after them cost 30 cents.
        assert_eq!((found.kwh, found.top_off), (vec![4.0, 9.0, 0.0], None));
        let timeline = timeline_of(&[10, 20, 30], 13.0, |_| {});
        let found = solve(&timeline, STRICT, &|| f64::INFINITY).unwrap().unwrap();
        // 10 kWh at 10 cents and 3 kWh at 20 cents, which is below the least of 4 kWh.
        assert_eq!(found.top_off, Some(1));
        assert!((found.kwh[0] - 10.0).abs() < 1e-9 && (found.kwh[1] - 3.0).abs() < 1e-9);
        assert!((found.lagrangian_bound.unwrap().1 - 1.6).abs() < 1e-9);
    }

    #[test]
    fn nothing_wanted_is_nothing_run_unless_a_session_must_go_on() {
        let off = timeline_of(&[10, 20], 0.0, |_| {});
        let found = solve(&off, STRICT, &|| f64::INFINITY).unwrap().unwrap();
        assert_eq!((found.kwh, found.top_off), (vec![0.0, 0.0], None));
        let on = timeline_of(&[10, 20], 0.0, |request| {
            request.state = crate::plan::switching::request::DeviceState::RunningSince(minute(0));
            request.on_min = chrono::TimeDelta::hours(1);
        });
        assert!(solve(&on, STRICT, &|| f64::INFINITY).unwrap().is_none());
    }

    #[test]
    fn a_search_without_time_says_so() {
        let timeline = timeline_of(&[10, 20, 30], 13.0, |_| {});
        assert_eq!(solve(&timeline, STRICT, &|| 0.0).unwrap_err(), SearchStatus::TimeReached);
    }

    #[test]
    fn a_cell_comes_from_the_cell_before_its_move() {
        let cell = |plane, full, least| Cell { plane, full, least };
        let by = |plane, full, least| Move { plane, full, least, cost: 0.0 };
        assert_eq!(cell(1, 2, 3).before(&by(0, 1, 1)), Some(cell(1, 1, 2)));
        // The step of another length leads to its plane from the first one.
        assert_eq!(cell(1, 2, 3).before(&by(1, 0, 0)), Some(cell(0, 2, 3)));
        assert_eq!(cell(1, 2, 3).before(&by(2, 0, 0)), None);
        assert_eq!(cell(0, 0, 3).before(&by(0, 1, 0)), None);
    }
}

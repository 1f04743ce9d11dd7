//! State graph whose paths are the feasible on-off patterns.
//!
//! A node is a slot boundary with the state of the device (on, off, or on in a short last
//! session) and its *layer*: the number of sessions used so far, or 0 without `sessions_max`.
//! An edge stays off, stays on for one step, or stays on for the whole least time on. The paths
//! from [`Graph::BEGIN`] to [`Graph::end`] are exactly the patterns that keep the rules.
use crate::plan::switching::timeline::{Rules, Timeline};

/// Edge between two nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Steps that are on along the edge, as a position in [`Graph::runs`].
    pub(crate) run: usize,
    /// True if the edge pays the cost of a start.
    pub(crate) starts: bool,
}

/// Nodes and edges; node numbers are a topological order.
#[derive(Debug, Clone)]
pub(crate) struct Graph {
    /// Edges in the order of their first node.
    pub(crate) edges: Vec<Edge>,
    /// Edges of one last step that may be run in part.
    pub(crate) top_offs: Vec<Edge>,
    /// Runs: steps `first..last` that are on without pause.
    pub(crate) runs: Vec<(usize, usize)>,
    steps: usize,
    layers: usize,
}

/// State of the device: on for the least time or longer, off, or on in a short last session.
/// `On` and `Off` hold the layer.
#[derive(Debug, Clone, Copy)]
enum State {
    On(usize),
    Off(usize),
    Short,
}

impl Graph {
    /// First node of every path.
    pub(crate) const BEGIN: usize = 0;
    /// Position of the run without steps in `runs`.
    const IDLE: usize = 0;

    /// Graph of the patterns of a timeline under `rules`.
    pub(crate) fn new(timeline: &Timeline, rules: Rules) -> Self {
        let steps = timeline.len();
        let layers = timeline.sessions_max.map_or(1, |most| most + 1);
        // Run 0 is idle, run `t + 1` is step `t` alone; longer runs are appended.
        let mut runs = vec![(0, 0)];
        runs.extend((0..steps).map(|step| (step, step + 1)));
        let edges = Vec::with_capacity(4 * layers * (steps + 1));
        let mut graph = Self { edges, top_offs: Vec::new(), runs, steps, layers };
        graph.begin(timeline, rules);
        for boundary in 0..=steps {
            graph.leave_on(timeline, rules, boundary);
            graph.leave_off(timeline, rules, boundary);
            if rules.last_may_be_short {
                graph.leave_short(timeline, rules, boundary);
            }
        }
        graph
    }

    /// Last node of every path.
    pub(crate) fn end(&self) -> usize {
        1 + (self.steps + 1) * self.width()
    }

    /// Slot boundary of a node.
    pub(crate) fn boundary(&self, node: usize) -> usize {
        match node {
            Self::BEGIN => 0,
            node => ((node - 1) / self.width()).min(self.steps),
        }
    }

    /// Nodes per boundary.
    fn width(&self) -> usize {
        2 * self.layers + 1
    }

    /// Number of the node of a state at a boundary.
    fn node(&self, boundary: usize, state: State) -> usize {
        let place = match state {
            State::On(layer) => layer,
            State::Off(layer) => self.layers + layer,
            State::Short => 2 * self.layers,
        };
        1 + boundary * self.width() + place
    }

    /// Layer after one more session; `None` if `sessions_max` is used up.
    fn next(&self, timeline: &Timeline, layer: usize) -> Option<usize> {
        match timeline.sessions_max {
            None => Some(layer),
            Some(_) => (layer + 1 < self.layers).then_some(layer + 1),
        }
    }

    /// Adds an edge.
    fn push(&mut self, from: usize, to: usize, run: usize, starts: bool) {
        self.edges.push(Edge { from, to, run, starts });
    }

    /// Position in `runs` of the run `first..last`, which is appended if it has 2 steps or more.
    fn run(&mut self, first: usize, last: usize) -> usize {
        match last - first {
            0 => Self::IDLE,
            1 => first + 1,
            _ => {
                self.runs.push((first, last));
                self.runs.len() - 1
            }
        }
    }

    /// Adds the edges of the first node: staying off, or carrying a session on.
    fn begin(&mut self, timeline: &Timeline, rules: Rules) {
        let first_run = timeline.first_run(rules);
        let carried = timeline.carried_since.and_then(|_| self.next(timeline, 0));
        let may_stop = timeline.carried_may_stop();
        // Without a carried session, or if it may stop at once, the device may stay off.
        if (carried.is_none() || may_stop == Some(0)) && timeline.first_start <= first_run {
            let off = self.node(timeline.first_start, State::Off(0));
            self.push(Self::BEGIN, off, Self::IDLE, false);
        }
        let Some(layer) = carried else { return };
        if let Some(last) = may_stop {
            let run = self.run(0, last);
            self.push(Self::BEGIN, self.node(last, State::On(layer)), run, false);
        }
        // As the last session, the carried one may stop before its least time on.
        if rules.last_may_be_short {
            self.push(Self::BEGIN, self.node(0, State::Short), Self::IDLE, false);
        }
    }

    /// Adds the edges of the nodes `On`: another step on, a top-off, or a stop with its pause.
    fn leave_on(&mut self, timeline: &Timeline, rules: Rules, boundary: usize) {
        let first_run = timeline.first_run(rules);
        // A stop at boundary 0 is an edge of the first node.
        let may_start = (boundary > 0).then(|| timeline.may_start(boundary));
        for layer in 0..self.layers {
            let from = self.node(boundary, State::On(layer));
            if boundary == self.steps {
                self.push(from, self.end(), Self::IDLE, false);
            } else if timeline.is_joined(boundary) {
                let on = self.node(boundary + 1, State::On(layer));
                self.push(from, on, boundary + 1, false);
                self.top_off(
                    timeline,
                    rules,
                    Edge { from, to: 0, run: boundary + 1, starts: false },
                );
            }
            // A pause must not reach into the time that must be run.
            if let Some(ready) = may_start.filter(|&ready| ready <= first_run.max(boundary)) {
                self.push(from, self.node(ready, State::Off(layer)), Self::IDLE, false);
            }
        }
    }

    /// Adds the edges of the nodes `Off`: another step off, or a start for the least time on, for
    /// a short last session or for a top-off.
    fn leave_off(&mut self, timeline: &Timeline, rules: Rules, boundary: usize) {
        let is_end = boundary == self.steps;
        let block = if is_end { None } else { timeline.may_stop(boundary) };
        let run = block.map(|last| self.run(boundary, last));
        for layer in 0..self.layers {
            let from = self.node(boundary, State::Off(layer));
            if is_end {
                self.push(from, self.end(), Self::IDLE, false);
                continue;
            }
            if boundary < timeline.first_run(rules) {
                self.push(from, self.node(boundary + 1, State::Off(layer)), Self::IDLE, false);
            }
            let Some(next) = self.next(timeline, layer) else { continue };
            if let (Some(last), Some(run)) = (block, run) {
                self.push(from, self.node(last, State::On(next)), run, true);
            }
            if rules.last_may_be_short {
                let short = self.node(boundary + 1, State::Short);
                self.push(from, short, boundary + 1, true);
            }
            // The session of a top-off ends early, so it needs a rule that allows short sessions.
            if rules.last_may_be_short || !timeline.has_on_min() {
                self.top_off(
                    timeline,
                    rules,
                    Edge { from, to: 0, run: boundary + 1, starts: true },
                );
            }
        }
    }

    /// Adds the edges of the node `Short`: another step on, a top-off, or off until the end.
    fn leave_short(&mut self, timeline: &Timeline, rules: Rules, boundary: usize) {
        let from = self.node(boundary, State::Short);
        // After a short session the device stays off, which time that must be run forbids.
        if timeline.first_run(rules) == self.steps || boundary == self.steps {
            self.push(from, self.end(), Self::IDLE, false);
        }
        if timeline.is_joined(boundary) {
            self.push(from, self.node(boundary + 1, State::Short), boundary + 1, false);
            self.top_off(timeline, rules, Edge { from, to: 0, run: boundary + 1, starts: false });
        }
    }

    /// Adds a top-off: one partial step after which the device stays off.
    fn top_off(&mut self, timeline: &Timeline, rules: Rules, edge: Edge) {
        if timeline.first_run(rules) == self.steps {
            self.top_offs.push(Edge { to: self.end(), ..edge });
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeSet;

    use chrono::TimeDelta;
    use proptest::prelude::*;

    use super::*;
    use crate::plan::switching::request::DeviceState;
    use crate::plan::switching::timeline::tests::{STRICT, minute, timeline_of};

    /// Rules of switching in whole hours.
    #[derive(Debug, Clone)]
    pub(crate) struct Switching {
        pub(crate) hours: usize,
        pub(crate) on_min: usize,
        pub(crate) off_min: usize,
        pub(crate) sessions_max: Option<u32>,
        /// Hours for which the device is on already.
        pub(crate) carried: Option<usize>,
        pub(crate) last_may_be_short: bool,
    }

    impl Switching {
        pub(crate) fn any() -> impl Strategy<Value = Self> {
            let past = prop::option::of(0..4usize);
            let most = prop::option::of(1..4u32);
            (1..7usize, 0..4usize, 0..4usize, most, past, any::<bool>()).prop_map(
                |(hours, on_min, off_min, sessions_max, carried, last_may_be_short)| Self {
                    hours,
                    on_min,
                    off_min,
                    sessions_max,
                    carried,
                    last_may_be_short: last_may_be_short && on_min > 0,
                },
            )
        }

        pub(crate) fn rules(&self) -> Rules {
            Rules { last_may_be_short: self.last_may_be_short, ..STRICT }
        }

        pub(crate) fn timeline(&self, cents: &[i32], energy: f64, start_cost: f64) -> Timeline {
            let mut timeline = timeline_of(&cents[..self.hours], energy, |request| {
                request.on_min = TimeDelta::hours(self.on_min as i64);
                request.off_min = TimeDelta::hours(self.off_min as i64);
                request.sessions_max = self.sessions_max;
                if let Some(past) = self.carried {
                    request.state = DeviceState::RunningSince(minute(-60 * past as i64));
                }
            });
            timeline.start_cost = start_cost;
            timeline
        }

        /// Number of starts if the hours of a mask are on; `None` if that breaks a rule.
        pub(crate) fn starts(&self, mask: u32) -> Option<usize> {
            let is_on = |hour: usize| hour < self.hours && mask >> hour & 1 == 1;
            let begins =
                (0..self.hours).filter(|&hour| is_on(hour) && (hour == 0 || !is_on(hour - 1)));
            let end = |begin: usize| (begin..=self.hours).find(|&hour| !is_on(hour)).unwrap();
            let mut sessions: Vec<(usize, usize)> = begins.map(|from| (from, end(from))).collect();
            let goes_on = self.carried.is_some() && is_on(0);
            let counted = sessions.len();
            if self.carried.is_some() && !goes_on {
                sessions.insert(0, (0, 0));
            }
            let length = |at: usize| {
                let past = if at == 0 { self.carried.unwrap_or(0) } else { 0 };
                sessions[at].1 - sessions[at].0 + past
            };
            let short: Vec<usize> =
                (0..sessions.len()).filter(|&at| length(at) < self.on_min).collect();
            let is_last = |at: &usize| self.last_may_be_short && at + 1 == sessions.len();
            let keeps = short.iter().all(is_last)
                && sessions.windows(2).all(|pair| pair[1].0 - pair[0].1 >= self.off_min)
                && self.sessions_max.is_none_or(|most| counted <= most as usize);
            keeps.then_some(counted - usize::from(goes_on))
        }

        /// Returns true if the last hour of a mask comes after the least time on, so that it may end early.
        pub(crate) fn may_end_early(&self, mask: u32) -> bool {
            let last = mask.ilog2();
            let hours = (mask << (31 - last)).leading_ones() as usize;
            let past = if hours as u32 > last { self.carried.unwrap_or(0) } else { 0 };
            self.last_may_be_short || hours - 1 + past >= self.on_min
        }

        /// Cost of energies with their starts; `None` if they break a rule.
        pub(crate) fn cost(&self, timeline: &Timeline, kwh: &[f64]) -> Option<f64> {
            let on = kwh.iter().enumerate().filter(|(_, kwh)| **kwh > 0.0);
            let starts = self.starts(on.fold(0, |mask, (hour, _)| mask | 1 << hour))?;
            let paid = timeline.steps.iter().zip(kwh).map(|(step, kwh)| step.price * kwh);
            Some(starts as f64 * timeline.start_cost + paid.sum::<f64>())
        }
    }

    /// Hours that are on and number of starts of every path from a node to the end.
    fn paths(
        graph: &Graph,
        node: usize,
        (mask, starts): (u32, usize),
        found: &mut BTreeSet<(u32, usize)>,
    ) {
        if node == graph.end() {
            found.insert((mask, starts));
        }
        for edge in graph.edges.iter().filter(|edge| edge.from == node) {
            let (first, last) = graph.runs[edge.run];
            let on = (first..last).fold(mask, |mask, step| mask | 1 << step);
            paths(graph, edge.to, (on, starts + usize::from(edge.starts)), found);
        }
    }

    proptest! {
        #[test]
        fn paths_are_the_ways_to_switch_that_keep_the_rules(hours in Switching::any()) {
            let timeline = hours.timeline(&[10; 7], 6.0, 0.0);
            let graph = Graph::new(&timeline, hours.rules());
            let mut found = BTreeSet::new();
            paths(&graph, Graph::BEGIN, (0, 0), &mut found);
            let kept = (0..1 << hours.hours).filter_map(|mask| Some((mask, hours.starts(mask)?)));
            prop_assert_eq!(found, kept.collect::<BTreeSet<_>>());
        }

        #[test]
        fn edges_lead_to_later_nodes(hours in Switching::any()) {
            let graph = Graph::new(&hours.timeline(&[10; 7], 6.0, 0.0), hours.rules());
            prop_assert!(graph.edges.is_sorted_by_key(|edge| edge.from));
            for edge in graph.edges.iter().chain(&graph.top_offs) {
                prop_assert!(edge.from < edge.to);
                let (first, last) = graph.runs[edge.run];
                prop_assert!(first == last || first >= graph.boundary(edge.from));
                prop_assert!(last <= graph.boundary(edge.to));
            }
        }
    }

    #[test]
    fn the_last_hours_are_on_in_every_path() {
        let timeline = timeline_of(&[10, 20, 30], 6.0, |request| {
            request.run_last = TimeDelta::hours(2);
        });
        let on = |rules| {
            let (graph, mut found) = (Graph::new(&timeline, rules), BTreeSet::new());
            paths(&graph, Graph::BEGIN, (0, 0), &mut found);
            (found.into_iter().map(|(mask, _)| mask).collect::<Vec<_>>(), graph.top_offs.len())
        };
        // Without the wish all eight sets of hours are allowed. With it nothing ends early.
        assert_eq!(on(STRICT), (vec![0b110, 0b111], 0));
        assert_eq!(on(Rules { runs_last: false, ..STRICT }).0, (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn a_top_off_comes_after_the_least_time_on() {
        let steps = |on_min: i64, last_may_be_short| {
            let timeline = timeline_of(&[10, 20, 30], 6.0, |request| {
                request.on_min = TimeDelta::hours(on_min);
            });
            let graph = Graph::new(&timeline, Rules { last_may_be_short, ..STRICT });
            let mut reached = BTreeSet::from([Graph::BEGIN]);
            for edge in &graph.edges {
                if reached.contains(&edge.from) {
                    reached.insert(edge.to);
                }
            }
            let top_offs = graph.top_offs.iter().filter(|edge| reached.contains(&edge.from));
            top_offs.map(|edge| edge.run - 1).collect::<BTreeSet<_>>()
        };
        // Two hours on come first, so the third is the only one left; a short session has none.
        assert_eq!(steps(2, false), BTreeSet::from([2]));
        assert_eq!(steps(2, true), BTreeSet::from([0, 1, 2]));
        assert_eq!(steps(0, false), BTreeSet::from([0, 1, 2]));
    }
}

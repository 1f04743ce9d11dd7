//! All ways to switch, as paths through a graph.
//!
//! A node is a boundary in time together with what the device is and how many
//! sessions it has used; an edge is a step of staying off, of going on, or a
//! whole least time to be on. Every path from [`Graph::BEGIN`] to
//! [`Graph::end`] is a way to switch that keeps the rules, and every such way
//! is a path.
use crate::plan::switching::timeline::{Rules, Timeline};

/// A step of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Steps that are on along the edge, as a position in [`Graph::runs`].
    pub(crate) run: usize,
    /// Whether a start is paid for.
    pub(crate) starts: bool,
}

/// Nodes and edges, in an order in which every edge leads to a later node.
#[derive(Debug, Clone)]
pub(crate) struct Graph {
    /// Edges by the node they come from.
    pub(crate) edges: Vec<Edge>,
    /// Edges of one step that may be run in part, because nothing follows.
    pub(crate) top_offs: Vec<Edge>,
    /// Steps that are on without pause, `first..last`.
    pub(crate) runs: Vec<(usize, usize)>,
    steps: usize,
    layers: usize,
}

/// Off, on for long enough, or on in a last session of any length.
#[derive(Debug, Clone, Copy)]
enum State {
    On(usize),
    Off(usize),
    Short,
}

impl Graph {
    /// Where every path begins.
    pub(crate) const BEGIN: usize = 0;
    /// The run of no steps.
    const IDLE: usize = 0;

    pub(crate) fn new(timeline: &Timeline, rules: Rules) -> Self {
        let steps = timeline.len();
        let layers = timeline.sessions_max.map_or(1, |most| most + 1);
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

    /// Where every path ends.
    pub(crate) fn end(&self) -> usize {
        1 + (self.steps + 1) * self.width()
    }

    /// Boundary of a node, for what can be reached before and after it.
    pub(crate) fn boundary(&self, node: usize) -> usize {
        match node {
            Self::BEGIN => 0,
            node => ((node - 1) / self.width()).min(self.steps),
        }
    }

    fn width(&self) -> usize {
        2 * self.layers + 1
    }

    fn node(&self, boundary: usize, state: State) -> usize {
        let place = match state {
            State::On(layer) => layer,
            State::Off(layer) => self.layers + layer,
            State::Short => 2 * self.layers,
        };
        1 + boundary * self.width() + place
    }

    /// Layer after one more session; `None` if there may be no more.
    fn next(&self, timeline: &Timeline, layer: usize) -> Option<usize> {
        match timeline.sessions_max {
            None => Some(layer),
            Some(_) => (layer + 1 < self.layers).then_some(layer + 1),
        }
    }

    fn push(&mut self, from: usize, to: usize, run: usize, starts: bool) {
        self.edges.push(Edge { from, to, run, starts });
    }

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

    fn begin(&mut self, timeline: &Timeline, rules: Rules) {
        let first_run = timeline.first_run(rules);
        let carried = timeline.carried_since.and_then(|_| self.next(timeline, 0));
        let may_stop = timeline.carried_may_stop();
        if (carried.is_none() || may_stop == Some(0)) && timeline.first_start <= first_run {
            let off = self.node(timeline.first_start, State::Off(0));
            self.push(Self::BEGIN, off, Self::IDLE, false);
        }
        let Some(layer) = carried else { return };
        if let Some(last) = may_stop {
            let run = self.run(0, last);
            self.push(Self::BEGIN, self.node(last, State::On(layer)), run, false);
        }
        if rules.last_may_be_short {
            self.push(Self::BEGIN, self.node(0, State::Short), Self::IDLE, false);
        }
    }

    fn leave_on(&mut self, timeline: &Timeline, rules: Rules, boundary: usize) {
        let first_run = timeline.first_run(rules);
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
            if let Some(ready) = may_start.filter(|&ready| ready <= first_run.max(boundary)) {
                self.push(from, self.node(ready, State::Off(layer)), Self::IDLE, false);
            }
        }
    }

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
            if rules.last_may_be_short || !timeline.has_on_min() {
                self.top_off(
                    timeline,
                    rules,
                    Edge { from, to: 0, run: boundary + 1, starts: true },
                );
            }
        }
    }

    fn leave_short(&mut self, timeline: &Timeline, rules: Rules, boundary: usize) {
        let from = self.node(boundary, State::Short);
        if timeline.first_run(rules) == self.steps || boundary == self.steps {
            self.push(from, self.end(), Self::IDLE, false);
        }
        if timeline.is_joined(boundary) {
            self.push(from, self.node(boundary + 1, State::Short), boundary + 1, false);
            self.top_off(timeline, rules, Edge { from, to: 0, run: boundary + 1, starts: false });
        }
    }

    /// A step after which the device stays off.
    fn top_off(&mut self, timeline: &Timeline, rules: Rules, edge: Edge) {
        if timeline.first_run(rules) == self.steps {
            self.top_offs.push(Edge { to: self.end(), ..edge });
        }
    }
}

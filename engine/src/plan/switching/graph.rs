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
        if rules.last_may_be_short {
            self.push(Self::BEGIN, self.node(0, State::Short), Self::IDLE, false);
        }
    }

    /// Adds the edges of the nodes `On`: another step on, a top-off, or a stop with its pause.
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

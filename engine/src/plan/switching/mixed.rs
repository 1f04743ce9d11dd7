//! Uneven problems as a mixed-integer programme.
//!
//! A slot has its energy, whether it is on, whether a session starts with it,
//! whether that session may be short because it is the last, and whether the
//! slot is the top-off. No constant stands for infinity: energies are bounded
//! by what a slot can hold.
use crate::lp::{
    Column, Limits, LinearProgram, LpError, MipSolution, MipStatus, MixedProgram, Row,
};
use crate::plan::switching::exact::Found;
use crate::plan::switching::timeline::{Rules, Timeline};

/// Values of whole numbers are whole to this.
const WHOLE: f64 = 0.5;

/// The solver keeps bounds to this, so what it found must stay possible.
const SLACK: f64 = 1e-6;

/// Energies from the solver, and its word on better ones.
pub(crate) struct Mixed {
    pub(crate) found: Found,
    pub(crate) bound: f64,
    pub(crate) is_complete: bool,
}

/// The cheapest plan with the least energy missing, as far as the limit on
/// nodes allows; `None` if no way to switch keeps the rules, or none was found.
pub(crate) fn solve(timeline: &Timeline, rules: Rules, nodes_max: u32) -> Option<Mixed> {
    if timeline.carried_since.is_some()
        && timeline.carried_may_stop().is_none()
        && !rules.last_may_be_short
    {
        return None;
    }
    let mut model = Model::new(timeline, rules);
    let limits = Limits { nodes: nodes_max, ..Limits::default() };
    let mut is_complete = true;
    let solution = match model.programme.minimise(&limits) {
        Ok(solution) => solution,
        Err(error) => {
            is_complete = error == LpError::Infeasible;
            is_complete &= model.miss_least(&limits)?;
            model.programme.minimise(&limits).ok()?
        }
    };
    is_complete &= solution.status == MipStatus::Optimal;
    Some(Mixed { found: model.found(&solution), bound: solution.bound, is_complete })
}

/// Columns of a step, by position.
#[derive(Debug, Clone, Copy)]
struct Columns {
    kwh: usize,
    on: usize,
    start: usize,
    short: usize,
    top_off: usize,
}

struct Model<'t> {
    timeline: &'t Timeline,
    rules: Rules,
    programme: MixedProgram,
    columns: Vec<Columns>,
    /// The session that goes on is the last and may be short.
    carried_short: usize,
    /// Energy missing of each level.
    missing: Vec<usize>,
}

impl<'t> Model<'t> {
    fn new(timeline: &'t Timeline, rules: Rules) -> Self {
        let mut programme = MixedProgram::default();
        let mut whole = |upper: f64, lower: f64, cost: f64| {
            let column = programme.linear.add_column(Column { cost, lower, upper });
            programme.integers.push(column);
            column
        };
        let short = f64::from(u8::from(rules.last_may_be_short));
        let carried_short =
            whole(if timeline.carried_since.is_some() { short } else { 0.0 }, 0.0, 0.0);
        let first_run = timeline.first_run(rules);
        let may_top_off = if first_run == timeline.len() { 1.0 } else { 0.0 };
        let mut columns = Vec::with_capacity(timeline.len());
        for index in 0..timeline.len() {
            let must = if index >= first_run { 1.0 } else { 0.0 };
            let may_start = if index >= timeline.first_start { 1.0 } else { 0.0 };
            columns.push(Columns {
                on: whole(1.0, must, 0.0),
                start: whole(may_start, 0.0, timeline.start_cost),
                short: whole(short, 0.0, 0.0),
                top_off: whole(may_top_off, 0.0, 0.0),
                kwh: 0,
            });
        }
        for (step, columns) in timeline.steps.iter().zip(&mut columns) {
            let column = Column { cost: step.price, lower: 0.0, upper: step.most };
            columns.kwh = programme.linear.add_column(column);
        }
        let none = Column { cost: 0.0, lower: 0.0, upper: 0.0 };
        let missing = timeline.levels.iter().map(|_| programme.linear.add_column(none)).collect();
        let mut model = Self { timeline, rules, programme, columns, carried_short, missing };
        model.state_energy();
        model.state_starts();
        model.state_times();
        model.state_top_off();
        model
    }

    fn row(&mut self, lower: f64, upper: f64, terms: Vec<(usize, f64)>) {
        self.programme.linear.rows.push(Row { lower, upper, terms });
    }

    fn at_most(&mut self, upper: f64, terms: Vec<(usize, f64)>) {
        self.row(f64::NEG_INFINITY, upper, terms);
    }

    fn at_least(&mut self, lower: f64, terms: Vec<(usize, f64)>) {
        self.row(lower, f64::INFINITY, terms);
    }

    fn state_energy(&mut self) {
        for (index, columns) in self.columns.clone().into_iter().enumerate() {
            let step = self.timeline.steps[index];
            self.at_most(0.0, vec![(columns.kwh, 1.0), (columns.on, -step.most)]);
            let least =
                [(columns.kwh, 1.0), (columns.on, -step.least), (columns.top_off, step.least)];
            self.at_least(0.0, least.to_vec());
        }
        let last = self.timeline.levels.len().wrapping_sub(1);
        if self.timeline.levels.is_empty() {
            // Where nothing is wanted, no rule of switching takes energy.
            let wanted = self.timeline.wanted(self.rules);
            let all = self.columns.iter().map(|columns| (columns.kwh, 1.0)).collect();
            self.row(wanted, wanted, all);
        }
        for (index, level) in self.timeline.levels.clone().into_iter().enumerate() {
            let count = if index == last { self.columns.len() } else { level.boundary };
            let mut terms: Vec<(usize, f64)> =
                self.columns[..count].iter().map(|columns| (columns.kwh, 1.0)).collect();
            terms.push((self.missing[index], 1.0));
            if index == last {
                let wanted = self.timeline.wanted(self.rules);
                self.row(wanted, wanted, terms);
            } else {
                self.at_least(level.kwh, terms);
            }
        }
    }

    fn state_starts(&mut self) {
        let mut sessions = Vec::new();
        for (index, columns) in self.columns.clone().into_iter().enumerate() {
            self.at_most(0.0, vec![(columns.start, 1.0), (columns.on, -1.0)]);
            let is_joined = self.timeline.is_joined(index);
            match index.checked_sub(1).filter(|_| is_joined) {
                Some(before) => {
                    let before = self.columns[before].on;
                    let rises = vec![(columns.on, 1.0), (before, -1.0), (columns.start, -1.0)];
                    self.at_most(0.0, rises);
                    self.at_most(1.0, vec![(columns.start, 1.0), (before, 1.0)]);
                }
                // What goes on at the first boundary is a session without a start.
                None if is_joined => sessions.push((columns.on, 1.0)),
                None => self.at_most(0.0, vec![(columns.on, 1.0), (columns.start, -1.0)]),
            }
            sessions.push((columns.start, 1.0));
            self.at_most(0.0, vec![(columns.short, 1.0), (columns.start, -1.0)]);
            let mut earlier: Vec<(usize, f64)> =
                self.columns[..index].iter().map(|columns| (columns.short, 1.0)).collect();
            earlier.extend([(columns.start, 1.0), (self.carried_short, 1.0)]);
            self.at_most(1.0, earlier);
        }
        if let Some(most) = self.timeline.sessions_max {
            self.at_most(most as f64, sessions);
        }
    }

    /// Least times to be on and off.
    fn state_times(&mut self) {
        for (index, columns) in self.columns.clone().into_iter().enumerate() {
            let long = [(columns.start, -1.0), (columns.short, 1.0)];
            match self.timeline.may_stop(index) {
                None => self.at_least(0.0, long.to_vec()),
                Some(last) => {
                    for on in index..last {
                        let on = self.columns[on].on;
                        self.at_least(0.0, [&long[..], &[(on, 1.0)]].concat());
                    }
                }
            }
            let ready = self.timeline.may_start(index + 1);
            for later in index + 1..ready.min(self.columns.len()) {
                let start = self.columns[later].start;
                self.at_most(1.0, vec![(columns.on, 1.0), (start, 1.0)]);
            }
        }
        if self.timeline.carried_since.is_some() {
            match self.timeline.carried_may_stop() {
                None => self.at_least(1.0, vec![(self.carried_short, 1.0)]),
                Some(last) => {
                    for on in 0..last {
                        let on = self.columns[on].on;
                        self.at_least(1.0, vec![(on, 1.0), (self.carried_short, 1.0)]);
                    }
                }
            }
        }
    }

    /// The last slot that is on, after the least time to be on.
    fn state_top_off(&mut self) {
        let mut earlier: Vec<(usize, f64)> = Vec::new();
        for columns in self.columns.clone() {
            self.at_most(0.0, vec![(columns.top_off, 1.0), (columns.on, -1.0)]);
            let mut alone = earlier.clone();
            alone.push((columns.on, 1.0));
            self.at_most(1.0, alone);
            earlier.push((columns.top_off, 1.0));
        }
        if !self.timeline.has_on_min() {
            return;
        }
        for (index, columns) in self.columns.clone().into_iter().enumerate() {
            let last = self.timeline.may_stop(index).unwrap_or(index);
            for within in index..last {
                let top_off = self.columns[within].top_off;
                let terms = vec![(top_off, 1.0), (columns.start, 1.0), (columns.short, -1.0)];
                self.at_most(1.0, terms);
            }
        }
        let carried = self.timeline.carried_may_stop();
        for within in 0..carried.unwrap_or(0) {
            let top_off = self.columns[within].top_off;
            self.at_most(0.0, vec![(top_off, 1.0), (self.carried_short, -1.0)]);
        }
    }

    /// Allows energy to be missing, as little as possible and of the latest
    /// level first. Tells whether every search for it was complete.
    fn miss_least(&mut self, limits: &Limits) -> Option<bool> {
        let mut is_complete = true;
        let costs: Vec<f64> =
            self.programme.linear.columns.iter().map(|column| column.cost).collect();
        for (&missing, level) in self.missing.iter().zip(&self.timeline.levels) {
            self.programme.linear.columns[missing].upper = level.kwh;
        }
        for &missing in &self.missing {
            for column in &mut self.programme.linear.columns {
                column.cost = 0.0;
            }
            self.programme.linear.columns[missing].cost = 1.0;
            let solution = self.programme.minimise(limits).ok()?;
            is_complete &= solution.status == MipStatus::Optimal;
            self.programme.linear.columns[missing].upper = solution.cost.max(0.0) + SLACK;
        }
        for (column, cost) in self.programme.linear.columns.iter_mut().zip(costs) {
            column.cost = cost;
        }
        Some(is_complete)
    }

    /// Energies for the slots that are on, spread once more by a linear
    /// programme, whose bounds are kept to the last digit.
    fn found(&self, solution: &MipSolution) -> Found {
        let is_set = |column: usize| solution.values[column] > WHOLE;
        let mut linear: LinearProgram = self.programme.linear.clone();
        for &column in &self.programme.integers {
            let value = if is_set(column) { 1.0 } else { 0.0 };
            (linear.columns[column].lower, linear.columns[column].upper) = (value, value);
        }
        // Missing a little more would save a little, and be told as missing.
        for &missing in &self.missing {
            let upper = &mut linear.columns[missing].upper;
            *upper = (*upper - SLACK).max(0.0);
        }
        let values =
            linear.minimise().map_or_else(|_| solution.values.clone(), |exact| exact.values);
        let mut kwh = Vec::with_capacity(self.columns.len());
        let mut top_off = None;
        for (index, (columns, step)) in self.columns.iter().zip(&self.timeline.steps).enumerate() {
            let energy = values[columns.kwh];
            let near = |other: f64| (energy - other).abs() <= step.most * 1e-7;
            let is_part = is_set(columns.top_off) && energy < step.least && !near(step.least);
            kwh.push(match energy {
                _ if !is_set(columns.on) || near(0.0) => 0.0,
                energy if is_part => {
                    top_off = Some(index);
                    energy
                }
                _ if near(step.most) => step.most,
                _ if near(step.least) => step.least,
                energy => energy.clamp(step.least, step.most),
            });
        }
        Found { missing: self.missing_after(&kwh), kwh, top_off, relaxed: None }
    }

    fn missing_after(&self, kwh: &[f64]) -> Vec<f64> {
        let last = self.timeline.levels.len().wrapping_sub(1);
        let missing = |(index, level): (usize, &crate::plan::switching::timeline::Level)| {
            let had: f64 = kwh[..level.boundary].iter().sum();
            let wanted = if index == last { self.timeline.wanted(self.rules) } else { level.kwh };
            let missing = wanted - had;
            if missing <= 1e-5 { 0.0 } else { missing }
        };
        self.timeline.levels.iter().enumerate().map(missing).collect()
    }
}

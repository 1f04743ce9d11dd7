//! Days of devices that switch, against a mixed-integer programme of their own.
//!
//! The programme knows the wishes as sentences about slots: a slot is off, on
//! between its least and its most, or the top-off, the last slot that is on,
//! with anything up to its least. Stops are what starts leave over, and the
//! least times are sums over windows of starts and of stops. That is the whole
//! problem, the top-off included, so the comparison is exact for every case,
//! whatever its energy; running in the last minutes alone is left to the
//! search of all sets of slots in `switching`, as its cases are tiny.
//!
//! The solver only chooses which slots are on: the energies are then spread in
//! plain arithmetic, so that its tolerances do not blur the comparison.
use std::cell::RefCell;

use good_lp::solvers::highs::highs;
use good_lp::{
    Constraint, Expression, ProblemVariables, Solution, SolverModel, Variable, constraint, variable,
};
use proptest::prelude::*;
use proptest::sample::select;
use slackwater_engine::plan::switching::UnmetWish;

use crate::census::Census;
use crate::runner::{for_all, near};
use crate::switching::{Part, Switch, keeps_the_minimum, spread};

/// Tolerance of the solver; its gap is closed to nothing.
const TOLERANCE: f64 = 1e-8;

/// Room in kWh for the energy that a search for the least cost must reach: ten times the
/// tolerance.
const ROOM_KWH: f64 = 1e-7;

/// Presolve of the two searches: either may cut off an optimum or find nothing, but what it
/// finds is possible.
const PRESOLVE: [&str; 2] = ["on", "off"];

/// Energy that counts as missing.
const MISSED_KWH: f64 = 1e-6;

/// What the programme minimises.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Goal {
    /// Energy that is missing.
    Missing,
    /// Cost, with this much energy missing.
    CostMissing(f64),
}

/// The least cost, and what it takes.
#[derive(Debug, Clone, Copy)]
struct Optimum {
    missing: f64,
    cost: f64,
    /// Energy is missing unless the last session is short.
    is_short: bool,
}

/// Columns of the slots, one of each per slot.
struct Columns {
    on: Vec<Variable>,
    start: Vec<Variable>,
    top_off: Vec<Variable>,
    kwh: Vec<Variable>,
    /// The session that starts here is the last, and may be short.
    short: Vec<Variable>,
    /// The same for the session that goes on.
    short_before: Variable,
}

struct Milp<'c> {
    case: &'c Switch,
    parts: Vec<Part>,
    /// The device is on when the first slot begins.
    carried: bool,
    may_be_short: bool,
    columns: Columns,
    rows: Vec<Constraint>,
}

/// The cheapest plan of all that miss the least energy; the least time on
/// yields for the last session, and only where energy would be missing else.
fn optimum(case: &Switch) -> Optimum {
    let tried = |may_be_short: bool| {
        if let Some((_, cost)) = solve(case, may_be_short, Goal::CostMissing(0.0)) {
            return Some((0.0, cost));
        }
        let (missing, _) = solve(case, may_be_short, Goal::Missing)?;
        Some((missing, solve(case, may_be_short, Goal::CostMissing(missing))?.1))
    };
    let strict = tried(false);
    let short = if case.on_min > 0 && strict.is_none_or(|(missing, _)| missing > MISSED_KWH) {
        tried(true)
    } else {
        None
    };
    let (missing, cost, is_short) = match (strict, short) {
        (Some((kept, _)), Some((missing, cost))) if missing < kept - MISSED_KWH => {
            (missing, cost, true)
        }
        (None, Some((missing, cost))) => (missing, cost, true),
        (Some((missing, cost)), _) => (missing, cost, false),
        (None, None) => panic!("staying off is a plan: {case:?}"),
    };
    Optimum { missing, cost, is_short }
}

/// Energy missing and cost of the best plan for a goal, if there is a plan.
fn solve(case: &Switch, may_be_short: bool, goal: Goal) -> Option<(f64, f64)> {
    let found = PRESOLVE.iter().filter_map(|presolve| search(case, may_be_short, goal, presolve));
    found.min_by(|a, b| match goal {
        Goal::Missing => a.0.total_cmp(&b.0),
        Goal::CostMissing(_) => a.1.total_cmp(&b.1),
    })
}

fn search(
    case: &Switch,
    may_be_short: bool,
    goal: Goal,
    presolve: &'static str,
) -> Option<(f64, f64)> {
    let mut variables = ProblemVariables::new();
    let mut milp = Milp::new(case, may_be_short, &mut variables);
    milp.energies();
    milp.starts();
    milp.least_time_on();
    milp.least_time_off();
    let energy: Expression = milp.columns.kwh.iter().sum();
    let objective = match goal {
        Goal::Missing => {
            milp.rows.push(constraint!(energy.clone() <= case.kwh));
            -energy
        }
        Goal::CostMissing(missing) => {
            milp.rows.push(constraint!(energy.clone() <= case.kwh - missing));
            milp.rows.push(constraint!(energy >= case.kwh - missing - ROOM_KWH));
            milp.cost()
        }
    };
    let mut model = variables.minimise(objective).using(highs);
    for option in ["mip_feasibility_tolerance", "primal_feasibility_tolerance"] {
        model = model.set_option(option, TOLERANCE);
    }
    model = model.set_option("mip_rel_gap", 0.0).set_option("mip_abs_gap", 0.0).set_threads(1);
    model = model.set_option("presolve", presolve);
    for row in milp.rows.drain(..) {
        model.add_constraint(row);
    }
    let solution = model.solve().ok()?;
    Some(milp.spread(|column| solution.value(column)))
}

impl<'c> Milp<'c> {
    fn new(case: &'c Switch, may_be_short: bool, variables: &mut ProblemVariables) -> Self {
        let parts = case.parts();
        let count = parts.len();
        let runs = case.state.is_some_and(|(on, _)| on) && case.sessions != Some(0);
        let mut binaries = || variables.add_vector(variable().binary(), count);
        let (on, start) = (binaries(), binaries());
        let (top_off, short) = (binaries(), binaries());
        Self {
            carried: runs && parts.first().is_some_and(|part| part.start == case.now),
            columns: Columns {
                on,
                start,
                top_off,
                short,
                kwh: variables.add_vector(variable().min(0.0), count),
                short_before: variables.add(variable().binary()),
            },
            case,
            parts,
            may_be_short,
            rows: Vec::new(),
        }
    }

    fn cost(&self) -> Expression {
        let energies =
            self.parts.iter().zip(&self.columns.kwh).map(|(part, &kwh)| part.price * kwh);
        let starts = self.columns.start.iter().map(|&start| self.case.start_cost * start);
        energies.chain(starts).sum()
    }

    fn is_joined(&self, index: usize) -> bool {
        index.checked_sub(1).is_some_and(|last| self.parts[last].end == self.parts[index].start)
    }

    /// Whether the device is on just before a slot.
    fn before(&self, index: usize) -> Expression {
        match index {
            0 => Expression::from(f64::from(u8::from(self.carried))),
            _ if self.is_joined(index) => self.columns.on[index - 1].into(),
            _ => Expression::from(0.0),
        }
    }

    fn energies(&mut self) {
        let Columns { on, top_off, kwh, .. } = &self.columns;
        let mut rested = Expression::from(0.0);
        for (index, part) in self.parts.iter().enumerate() {
            let (on, top_off, kwh) = (on[index], top_off[index], kwh[index]);
            let more = part.most - part.least;
            self.rows.push(constraint!(kwh <= part.most * on - more * top_off));
            self.rows.push(constraint!(kwh >= part.least * on - part.least * top_off));
            self.rows.push(constraint!(top_off <= on));
            self.rows.push(constraint!(rested.clone() + on <= 1.0));
            rested += top_off;
        }
    }

    fn starts(&mut self) {
        let mut sessions = Expression::from(0.0);
        let mut ended = Expression::from(self.columns.short_before);
        for index in 0..self.parts.len() {
            let before = self.before(index);
            let Columns { on, start, short, .. } = &self.columns;
            let (on, start, short) = (on[index], start[index], short[index]);
            self.rows.push(constraint!(start >= on - before.clone()));
            self.rows.push(constraint!(start <= on));
            self.rows.push(constraint!(start <= 1.0 - before));
            self.rows.push(constraint!(short <= start));
            // After a short session there is none.
            self.rows.push(constraint!(ended.clone() + start <= 1.0));
            ended += short;
            sessions += start;
            if index == 0 && self.carried {
                sessions += on;
            }
        }
        if let Some(most) = self.case.sessions {
            self.rows.push(constraint!(sessions <= f64::from(most)));
        }
        if !self.may_be_short {
            self.rows.push(constraint!(ended <= 0.0));
        } else if !self.carried {
            self.rows.push(constraint!(self.columns.short_before <= 0.0));
        }
    }

    /// A session of any slot on until its least time is over: each slot is on
    /// if a session that is not short started within the window before it.
    fn least_time_on(&mut self) {
        let on_min = self.case.on_min;
        let long = |index: usize| self.columns.start[index] - self.columns.short[index];
        let mut rows = Vec::new();
        let mut require = |within: Expression, slot: usize| {
            rows.push(constraint!(within.clone() <= self.columns.on[slot]));
            rows.push(constraint!(within + self.columns.top_off[slot] <= 1.0));
        };
        let since = self.case.state.map_or(0, |(_, since)| since);
        let going_on = 1.0 - self.columns.short_before;
        for slot in 0..self.parts.len() {
            let begins = self.parts[slot].start;
            let first = (0..=slot).rev().find(|&index| !self.is_joined(index)).unwrap_or(0);
            let within = (first..=slot).filter(|&index| begins < self.parts[index].start + on_min);
            let mut within: Expression = within.map(long).sum();
            if self.carried && first == 0 && begins < since + on_min {
                within += going_on.clone();
            }
            require(within, slot);
        }
        self.rows.extend(rows);
        self.too_late_to_start(since);
    }

    /// Sessions whose least time on does not fit before a gap or the end.
    fn too_late_to_start(&mut self, since: i32) {
        for index in 0..self.parts.len() {
            let last = (index..self.parts.len()).take_while(|&i| i == index || self.is_joined(i));
            let end = last.last().map_or(0, |last| self.parts[last].end);
            let Columns { start, short, short_before, .. } = &self.columns;
            if end < self.parts[index].start + self.case.on_min {
                self.rows.push(constraint!(start[index] <= short[index]));
            }
            if self.carried && index == 0 && end < since + self.case.on_min {
                self.rows.push(constraint!(*short_before >= 1.0));
            }
        }
    }

    /// A slot is off if a session stopped within the window before it.
    fn least_time_off(&mut self) {
        let off_min = self.case.off_min;
        for slot in 0..self.parts.len() {
            let (on, start) = (self.columns.on[slot], self.columns.start[slot]);
            let begins = self.parts[slot].start;
            let mut stops = Expression::from(0.0);
            for index in (0..slot).filter(|&index| begins - self.parts[index].end < off_min) {
                stops += self.columns.on[index];
                if self.is_joined(index + 1) {
                    stops += self.columns.start[index + 1] - self.columns.on[index + 1];
                }
            }
            match self.case.state {
                Some((true, _)) if begins - self.case.now < off_min => {
                    let stopped = if self.carried { 1.0 - self.columns.on[0] } else { 1.0.into() };
                    self.rows.push(constraint!(stopped + start <= 1.0));
                }
                Some((false, since)) if begins - since < off_min => {
                    self.rows.push(constraint!(start <= 0.0));
                }
                _ => {}
            }
            self.rows.push(constraint!(stops + on <= 1.0));
        }
    }

    /// Energy missing and cost of the slots that the solver chose.
    fn spread(&self, value: impl Fn(Variable) -> f64) -> (f64, f64) {
        let is_set = |column: &Variable| value(*column) > 0.5;
        let mut bounds = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            if is_set(&self.columns.top_off[index]) {
                bounds.push((part.price, 0.0, part.least));
            } else if is_set(&self.columns.on[index]) {
                bounds.push((part.price, part.least, part.most));
            }
        }
        let starts = self.columns.start.iter().filter(|start| is_set(start)).count();
        let (kwh, cost) = spread(&bounds, self.case.kwh).expect("the solver keeps its rows");
        (self.case.kwh - kwh, cost + self.case.start_cost * starts as f64)
    }
}

/// Days of 8 to 24 quarter hours; `now` and `by` may lie inside one.
fn days() -> BoxedStrategy<Switch> {
    let slot = (-60..400_i32, prop_oneof![19 => Just(0), 1 => select(vec![15, 30])]);
    let slots = prop::collection::vec(slot, 8..=24);
    let stay = (0..15_i32, 0..15_i32, 0.02..1.1_f64, any::<bool>());
    let power = (select(vec![4.14, 6.9, 8.0, 11.0]), select(vec![0.0, 0.05, 0.2, 1.0]));
    let rules = (
        prop::option::weighted(0.6, 0..5_u32),
        select(vec![0, 0, 15, 20, 60, 90]),
        select(vec![0, 0, 15, 40, 75]),
        prop::option::weighted(0.5, (any::<bool>(), 0..90_i32)),
    );
    (slots, stay, power, rules)
        .prop_map(|(raw, (late, early, share, whole), (kw_min, start_cost), rules)| {
            let (sessions, on_min, off_min, state) = rules;
            let mut end = 0;
            let slots: Vec<(i32, i32, f64)> = raw
                .into_iter()
                .map(|(mills, gap)| {
                    let start = end + gap;
                    end = start + 15;
                    (start, end, f64::from(mills) / 1000.0)
                })
                .collect();
            let mut case = Switch {
                slots,
                now: late,
                by: end - early,
                kwh: 0.0,
                early: None,
                kw_max: 11.0,
                kw_min,
                limit: None,
                start_cost,
                sessions,
                on_min,
                off_min,
                state: state.map(|(on, since)| (on, late - since)),
                run_last: 0,
            };
            let possible: f64 = case.parts().iter().map(|part| part.most).sum();
            case.kwh = share * possible;
            if whole {
                case.kwh = (case.kwh / 2.75).floor() * 2.75;
            }
            case
        })
        .boxed()
}

#[test]
fn days_cost_what_a_mixed_integer_programme_says() {
    let census = RefCell::new(Census::default());
    for_all(250, &days(), |case| {
        let plan = case.plan();
        let best = optimum(&case);
        let missing = plan.shortfall.as_kwh();
        prop_assert!(near(missing, best.missing, 1e-6), "misses {missing}, {best:?}\n{plan:?}");
        let cost = plan.cost.as_amount();
        prop_assert!(near(cost, best.cost, 1e-6), "costs {cost}, {best:?}\n{plan:?}");
        prop_assert!(plan.certificate.is_proved(), "{:?}", plan.certificate);
        keeps_the_minimum(&case, &plan)?;
        let is_short = plan.unmet.iter().any(|wish| matches!(wish, UnmetWish::OnMin { .. }));
        prop_assert!(
            !is_short || best.is_short || case.state.is_some_and(|(on, _)| on),
            "{plan:?}"
        );
        census.borrow_mut().measure("cost", (cost - best.cost).abs() / cost.abs().max(1.0));
        census.borrow_mut().count(&[
            ("energy missing", best.missing > MISSED_KWH),
            ("a short last session", best.is_short),
            ("a top-off", plan.top_off.is_some()),
            ("several sessions", plan.sessions.len() > 1),
            ("a session goes on", plan.sessions.iter().any(|session| session.is_carried)),
            ("a negative cost", cost < 0.0),
            ("a gap in the prices", case.slots.windows(2).any(|pair| pair[0].1 < pair[1].0)),
        ]);
        Ok(())
    });
    census.into_inner().assert_each(0.02);
}

//! Levels of several groups by cutting planes.
//!
//! ```text
//! minimise    Σ_m charge_m(D_m) + θ
//! subject to  θ ≥ E_i + Σ_k s_ik·(M_k − M_ik)                   for each evaluation i
//!             D_m ≥ τ_m + Σ_j u_mj / n,  u_mj ≥ power_j − τ_m   mean of the n highest
//! ```
//!
//! The mean of the `n` highest of some powers is the least `τ + Σ max(power − τ, 0)/n` over `τ`:
//! W. Ogryczak, A. Tamir, Minimizing the sum of the k largest functions in linear time, Information
//! Processing Letters 85 (2003), 117-122.
use crate::lp::{Column, LinearProgram, Row};
use crate::plan::capacity::groups::MonthCharge;
use crate::plan::capacity::programme::{LevelSolution, Multipliers};
use crate::plan::capacity::search_state::{EVALUATIONS_MAX, Found, Search, Term};
use crate::tolerance::{DIVISOR_MIN, GAP_MAX};

/// Gap, as a share of 1 plus the cost, at which the cuts are complete: a proved plan may have twice
/// that.
const GAP: f64 = GAP_MAX / 2.0;

/// Programme of the levels, its first columns.
struct Master {
    program: LinearProgram,
    /// Column of the cost of energy.
    energy: usize,
    /// Row and multipliers of each cut.
    cuts: Vec<(usize, Multipliers)>,
}

/// Least cost of all levels with the given terms.
pub(crate) fn minimise_levels(search: &mut Search<'_>, terms: &[Term], penalties: &[f64]) -> Found {
    let mut master = Master::new(search, terms);
    // Levels without an end bound the cost of energy, and those of before keep every term.
    let free = vec![f64::INFINITY; penalties.len()];
    let evaluation = search.evaluate_levels(&free, penalties);
    master.add_cut(&free, &evaluation);
    let carried = search.groups.carried();
    let at_start = search.evaluate_levels(&carried, penalties);
    master.add_cut(&carried, &at_start);
    let mut best = Found {
        cost: search.charge_of(terms, &carried) + at_start.cost,
        evaluation: at_start,
        bound: evaluation.cost + terms.iter().map(|term| term.least()).sum::<f64>(),
        multipliers: evaluation.multipliers,
    };
    for _ in 0..EVALUATIONS_MAX {
        let Ok(solution) = master.program.minimise() else { break };
        if solution.cost > best.bound {
            best.bound = solution.cost;
            best.multipliers = master.weigh_multipliers(&solution.duals);
        }
        if best.cost - best.bound <= GAP * (1.0 + best.cost.abs()) {
            break;
        }
        let levels = &solution.values[..penalties.len()];
        let evaluation = search.evaluate_levels(levels, penalties);
        let cost = search.charge_of(terms, levels) + evaluation.cost;
        master.add_cut(levels, &evaluation);
        if cost < best.cost {
            (best.cost, best.evaluation) = (cost, evaluation);
        }
    }
    best.bound = best.bound.min(best.cost);
    best
}

impl Search<'_> {
    /// Charge of the terms at levels.
    fn charge_of(&self, terms: &[Term], levels: &[f64]) -> f64 {
        let months = self.groups.months.iter().enumerate();
        let charge = |(place, month): (usize, &MonthCharge)| match terms[place] {
            Term::PerKw { price, before } => {
                price * month.power(self.groups.levels_of(place, levels)) - before
            }
            Term::Within { charge, .. } => charge,
        };
        months.map(charge).sum()
    }
}

impl Master {
    fn new(search: &Search<'_>, terms: &[Term]) -> Self {
        let mut program = LinearProgram::default();
        for (group, &highest) in search.groups.groups.iter().zip(&search.highest) {
            let (lower, upper) = (group.carried, highest.max(group.carried));
            program.add_column(Column { cost: 0.0, lower, upper });
        }
        let (lower, upper) = (f64::NEG_INFINITY, f64::INFINITY);
        let energy = program.add_column(Column { cost: 1.0, lower, upper });
        let mut master = Self { program, energy, cuts: Vec::new() };
        for (place, &term) in terms.iter().enumerate() {
            master.add_month(search, term, place);
        }
        master
    }

    /// Adds power and charge of a month.
    fn add_month(&mut self, search: &Search<'_>, term: Term, place: usize) {
        let month = &search.groups.months[place];
        let (cost, upper, fixed) = match term {
            Term::PerKw { price, before } => (price, f64::INFINITY, -before),
            Term::Within { power_max, charge } => (0.0, power_max, charge),
        };
        let power = self.program.add_column(Column { cost, lower: month.floor, upper });
        // A charge without a choice is a column of one value.
        self.program.add_column(Column { cost: fixed, lower: 1.0, upper: 1.0 });
        let top = self.program.add_column(Column { cost: 0.0, lower: 0.0, upper: f64::INFINITY });
        let share = 1.0 / month.highest as f64;
        let mut sum = vec![(power, 1.0), (top, -1.0)];
        let groups = search.groups.groups.iter().enumerate();
        let levels = groups.filter(|(_, group)| group.month == place).map(|(index, _)| Ok(index));
        for source in levels.chain(month.others.iter().map(|&power| Err(power))) {
            let above =
                self.program.add_column(Column { cost: 0.0, lower: 0.0, upper: f64::INFINITY });
            sum.push((above, -share));
            let (mut terms, lower) = (vec![(above, 1.0), (top, 1.0)], source.err().unwrap_or(0.0));
            terms.extend(source.ok().map(|level| (level, -1.0)));
            self.program.rows.push(Row { lower, upper: f64::INFINITY, terms });
        }
        self.program.rows.push(Row { lower: 0.0, upper: f64::INFINITY, terms: sum });
    }

    /// Adds the tangent of the cost of energy at levels.
    fn add_cut(&mut self, levels: &[f64], evaluation: &LevelSolution) {
        let mut terms = vec![(self.energy, 1.0)];
        let mut lower = evaluation.cost;
        for (level, (&at, &slope)) in levels.iter().zip(&evaluation.slopes).enumerate() {
            if slope != 0.0 {
                lower -= slope * at;
                terms.push((level, -slope));
            }
        }
        self.cuts.push((self.program.rows.len(), evaluation.multipliers.clone()));
        self.program.rows.push(Row { lower, upper: f64::INFINITY, terms });
    }

    /// Multipliers of a solution: those of the cuts, weighted by their duals.
    fn weigh_multipliers(&self, duals: &[f64]) -> Multipliers {
        let weights = self.cuts.iter().map(|(row, _)| duals[*row].max(0.0));
        let sum = weights.clone().sum::<f64>().max(DIVISOR_MIN);
        let own = weights.map(|weight| weight / sum).zip(self.cuts.iter().map(|(_, own)| own));
        let count = self.cuts.first().map_or(0, |(_, own)| own.marginal.len());
        Multipliers::mean(count, own)
    }
}

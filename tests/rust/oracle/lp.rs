//! The problem as linear programmes on HiGHS, written from the wishes.
//!
//! The unknowns are the energies bought in the pieces of time.
//! First each target, earliest deadline first, gets as much as can be had
//! without taking from the ones before it; what is missing is its shortfall.
//! Then the cost is minimised over the plans that
//!
//! * give each target what the first step found,
//! * charge at once to the reserve, and unless charging stops with a missed
//!   deadline also to its target: by every instant there is either that much
//!   or all that could be had by then,
//! * buy no more than `energy_max`, or without it no more than these wishes want.
use good_lp::solvers::DualValues;
use good_lp::solvers::highs::{HighsSolverType, highs};
use good_lp::{
    Expression, ProblemVariables, Solution, SolutionWithDual, SolverModel, Variable, constraint,
    variable,
};

use crate::case::Case;
use crate::cut::{Piece, count_by, pieces, possible_by};

/// A target counts as missed when this much is missing.
const MISSED_KWH: f64 = 1e-8;

/// As tight as HiGHS allows.
const TOLERANCE: f64 = 1e-10;

/// A price is not zero when it is more than this; prices differ by 1e-4 or not at all.
const PRICE_MIN: f64 = 1e-7;

/// A bound on the energy bought in the first `count` pieces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) count: usize,
    pub(crate) kwh: f64,
    pub(crate) side: Side,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Least,
    Most,
    Exactly,
}

/// What a plan must do, once it is known what can be done.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) rows: Vec<Row>,
    /// Energy missing at each deadline, in the order of the targets.
    pub(crate) shortfalls: Vec<f64>,
}

/// The least cost, and the dual's opinion of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Optimum {
    pub(crate) cost: f64,
    /// The least energy at that cost.
    pub(crate) energy: f64,
    /// What the duals say that no plan can undercut.
    pub(crate) bound: f64,
}

struct Solved {
    kwh: Vec<f64>,
    duals: Vec<f64>,
}

impl Model {
    pub(crate) fn new(case: &Case) -> Self {
        let pieces = pieces(case);
        let shortfalls = least_shortfalls(case, &pieces);
        let mut rows: Vec<Row> = Vec::new();
        let mut at_once = case.reserve_kwh;
        for (target, &shortfall) in case.targets.iter().zip(&shortfalls) {
            let count = count_by(&pieces, target.by);
            rows.push(Row { count, kwh: target.kwh - shortfall, side: Side::Least });
            if shortfall > MISSED_KWH && !case.stops {
                at_once = at_once.max(target.kwh);
            }
        }
        rows.extend(rows_at_once(&pieces, at_once));
        // Nobody can be given anything before the first piece.
        rows.retain(|row| row.count > 0);
        let least = rows.iter().fold(0.0, |most: f64, row| most.max(row.kwh));
        let most = case.energy_max_kwh.unwrap_or(least);
        rows.push(Row { count: pieces.len(), kwh: most, side: Side::Most });
        Self { pieces, rows, shortfalls }
    }

    pub(crate) fn solve(&self) -> Optimum {
        let room: Vec<(f64, f64)> = self.pieces.iter().map(|piece| (0.0, piece.kwh())).collect();
        let prices: Vec<f64> = self.pieces.iter().map(|piece| piece.price).collect();
        let cheapest = solve(&room, &self.rows, &prices);
        let cost = prices.iter().zip(&cheapest.kwh).map(|(price, kwh)| price * kwh).sum();
        Optimum { cost, energy: self.least_energy(&cheapest), bound: self.bound(&cheapest.duals) }
    }

    /// The least energy of all cheapest plans.
    ///
    /// Those are the plans that agree with the one found wherever the duals
    /// put a price on changing it.
    fn least_energy(&self, cheapest: &Solved) -> f64 {
        let profits = self.profits(&cheapest.duals);
        let bounds = self.pieces.iter().zip(profits).zip(&cheapest.kwh);
        let bounds: Vec<(f64, f64)> = bounds
            .map(
                |((piece, profit), &kwh)| {
                    if profit.abs() > PRICE_MIN { (kwh, kwh) } else { (0.0, piece.kwh()) }
                },
            )
            .collect();
        let mut rows = self.rows.clone();
        for (row, dual) in rows.iter_mut().zip(&cheapest.duals) {
            if dual.abs() > PRICE_MIN {
                let kwh = cheapest.kwh[..row.count].iter().sum();
                *row = Row { kwh, side: Side::Exactly, ..*row };
            }
        }
        solve(&bounds, &rows, &vec![1.0; bounds.len()]).kwh.iter().sum()
    }

    /// For each piece, what a kWh in it is worth by the duals, less its price.
    fn profits(&self, duals: &[f64]) -> Vec<f64> {
        let mut profits: Vec<f64> = self.pieces.iter().map(|piece| -piece.price).collect();
        for (row, &dual) in self.rows.iter().zip(duals) {
            profits[..row.count].iter_mut().for_each(|profit| *profit += dual);
        }
        profits
    }

    /// The dual objective. Duals of the wrong sign count as zero, so that
    /// this is a bound whatever the solver says.
    fn bound(&self, duals: &[f64]) -> f64 {
        let signed = |(row, &dual): (&Row, &f64)| match row.side {
            Side::Least => dual.max(0.0),
            Side::Most => dual.min(0.0),
            Side::Exactly => dual,
        };
        let duals: Vec<f64> = self.rows.iter().zip(duals).map(signed).collect();
        let rows: f64 = self.rows.iter().zip(&duals).map(|(row, dual)| row.kwh * dual).sum();
        let profits = self.profits(&duals).into_iter().map(|profit| profit.max(0.0));
        rows - self
            .pieces
            .iter()
            .zip(profits)
            .map(|(piece, profit)| piece.kwh() * profit)
            .sum::<f64>()
    }
}

/// By every instant there is `wanted`, or all that could be had.
fn rows_at_once(pieces: &[Piece], wanted: f64) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut possible = 0.0;
    for (index, piece) in pieces.iter().enumerate() {
        if possible >= wanted {
            break; // What was there once is still there later.
        }
        possible += piece.kwh();
        rows.push(Row { count: index + 1, kwh: wanted.min(possible), side: Side::Least });
    }
    rows
}

/// Energy missing at each deadline when the earliest come first.
fn least_shortfalls(case: &Case, pieces: &[Piece]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..case.targets.len()).collect();
    order.sort_by_key(|&index| case.targets[index].by.unwrap_or(i32::MAX));
    let room: Vec<(f64, f64)> = pieces.iter().map(|piece| (0.0, piece.kwh())).collect();
    let mut shortfalls = vec![0.0; order.len()];
    let mut rows: Vec<Row> = Vec::new();
    for index in order {
        let target = case.targets[index];
        let count = count_by(pieces, target.by);
        let mut delivered = 0.0;
        if count > 0 && target.kwh > 0.0 {
            let enough = Row { count, kwh: target.kwh, side: Side::Most };
            let mut gain = vec![0.0; pieces.len()];
            gain[..count].fill(-1.0);
            // Earlier targets may want more than this one; then it is met with them.
            let earlier = rows.iter().fold(0.0, |most: f64, row| most.max(row.kwh));
            delivered = if earlier >= target.kwh {
                target.kwh
            } else {
                let all = [rows.as_slice(), &[enough]].concat();
                solve(&room, &all, &gain).kwh[..count].iter().sum()
            };
            delivered = if target.kwh - delivered > MISSED_KWH { delivered } else { target.kwh };
            let possible = possible_by(pieces, target.by);
            rows.push(Row { count, kwh: delivered.min(possible), side: Side::Least });
        }
        shortfalls[index] = target.kwh - delivered;
    }
    shortfalls
}

/// Minimises the weighted energy within bounds per piece, and rows.
///
/// # Panics
/// The solver finds no optimum: every problem here has one.
fn solve(bounds: &[(f64, f64)], rows: &[Row], weights: &[f64]) -> Solved {
    if bounds.is_empty() {
        return Solved { kwh: Vec::new(), duals: vec![0.0; rows.len()] };
    }
    let mut variables = ProblemVariables::new();
    let add = |&(least, most): &(f64, f64)| variables.add(variable().min(least).max(most));
    let kwh: Vec<Variable> = bounds.iter().map(add).collect();
    let objective: Expression = weights.iter().zip(&kwh).map(|(&weight, &kwh)| weight * kwh).sum();
    let mut model = variables
        .minimise(objective)
        .using(highs)
        .set_solver(HighsSolverType::Simplex)
        .set_threads(1)
        .set_option("primal_feasibility_tolerance", TOLERANCE)
        .set_option("dual_feasibility_tolerance", TOLERANCE);
    let add = |row: &Row| {
        let sum: Expression = kwh[..row.count].iter().sum();
        model.add_constraint(match row.side {
            Side::Least => constraint::geq(sum, row.kwh),
            Side::Most => constraint::leq(sum, row.kwh),
            Side::Exactly => constraint::eq(sum, row.kwh),
        })
    };
    let references: Vec<_> = rows.iter().map(add).collect();
    let mut solution = model.solve().expect("every problem has a cheapest plan");
    let found = kwh.iter().map(|&kwh| solution.value(kwh)).collect();
    let dual = solution.compute_dual();
    let duals = references.into_iter().map(|reference| dual.dual(reference)).collect();
    Solved { kwh: found, duals }
}

//! The best of all plans of a tiny problem, found by trying each of them.
//!
//! Time is cut into quarter hours and energy into units that fill half of one
//! at full power, so that a problem in whole units has a best plan in whole
//! units. The rules are tested on each plan as they are worded, without any
//! thought of what could be had by when.
use crate::case::{Case, Target};

/// A quarter hour.
const CELL: i32 = 15;

/// One cell of the grid.
#[derive(Debug, Clone, Copy)]
struct Cell {
    end: i32,
    cents: f64,
    /// Units that fit: 0, 1 or 2.
    units: usize,
}

/// What the best plan reaches.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Best {
    /// In the order of the targets.
    pub(crate) shortfalls: Vec<f64>,
    pub(crate) cost: f64,
    pub(crate) energy: f64,
}

/// Energy of one unit: half a quarter hour at full power.
pub(crate) fn unit_kwh(case: &Case) -> f64 {
    case.kw / 8.0
}

/// Tries every plan.
///
/// # Panics
/// Not every minute of the case is a whole quarter hour.
pub(crate) fn best(case: &Case) -> Best {
    let cells = cells(case);
    let unit = unit_kwh(case);
    let plans = || plans(&cells).map(|plan| plan.iter().map(|&units| units * unit).collect());
    let missing = |plan: &Vec<f64>| -> Vec<f64> {
        let short = |target: &Target| (target.kwh - by(&cells, plan, target.by)).max(0.0);
        case.targets.iter().map(short).collect()
    };
    let mut order: Vec<usize> = (0..case.targets.len()).collect();
    order.sort_by_key(|&target| case.targets[target].by.unwrap_or(i32::MAX));
    let earliest_first = |missing: &[f64]| order.iter().map(|&target| missing[target]).collect();

    let ranked = plans().map(|plan| -> Vec<f64> { earliest_first(&missing(&plan)) });
    let least = ranked.min_by(|a, b| a.partial_cmp(b).expect("numbers")).expect("a plan");

    let mut best: Option<Best> = None;
    for plan in plans() {
        let shortfalls = missing(&plan);
        let ranked: Vec<f64> = earliest_first(&shortfalls);
        if ranked > least || !is_allowed(case, &cells, &plan, &shortfalls) {
            continue;
        }
        let cents: f64 = cells.iter().zip(&plan).map(|(cell, kwh)| cell.cents * kwh).sum();
        let found = Best { shortfalls, cost: cents / 100.0, energy: plan.iter().sum() };
        if best.as_ref().is_none_or(|best| is_better(case, &found, best)) {
            best = Some(found);
        }
    }
    best.expect("charging all that is wanted at once is allowed")
}

/// Without a bound on the energy no more is bought than wishes need;
/// with one, whatever costs least.
fn is_better(case: &Case, a: &Best, b: &Best) -> bool {
    if case.energy_max_kwh.is_none() {
        (a.energy, a.cost) < (b.energy, b.cost)
    } else {
        (a.cost, a.energy) < (b.cost, b.energy)
    }
}

fn is_allowed(case: &Case, cells: &[Cell], plan: &[f64], shortfalls: &[f64]) -> bool {
    let mut at_once = case.reserve_kwh;
    for (target, &shortfall) in case.targets.iter().zip(shortfalls) {
        if shortfall > 0.0 && !case.stops {
            at_once = at_once.max(target.kwh);
        }
    }
    let mut bought = 0.0;
    for (cell, &kwh) in cells.iter().zip(plan) {
        bought += kwh;
        let is_full = kwh >= units(cell.units) * unit_kwh(case);
        if !is_full && bought < at_once {
            return false; // A pause, although something is wanted at once.
        }
    }
    case.energy_max_kwh.is_none_or(|most| bought <= most)
}

/// Energy bought by a deadline.
fn by(cells: &[Cell], plan: &[f64], by: Option<i32>) -> f64 {
    let cells = cells.iter().zip(plan).filter(|(cell, _)| by.is_none_or(|by| cell.end <= by));
    cells.map(|(_, kwh)| kwh).sum()
}

fn units(count: usize) -> f64 {
    [0.0, 1.0, 2.0][count]
}

fn cells(case: &Case) -> Vec<Cell> {
    let mut cells = Vec::new();
    for slot in &case.slots {
        assert!(slot.start % CELL == 0 && slot.end % CELL == 0, "{slot:?} is off the grid");
        for (start, end) in (slot.start / CELL..slot.end / CELL).map(|n| (n * CELL, (n + 1) * CELL))
        {
            if start < case.now || case.until.is_some_and(|until| until < end) {
                continue;
            }
            let limit = case.limits.iter().find(|limit| limit.start <= start && end <= limit.end);
            let units = match limit {
                Some(limit) if limit.kw <= 0.0 => 0,
                Some(limit) if limit.kw < case.kw => 1,
                _ => 2,
            };
            cells.push(Cell { end, cents: (slot.price * 100.0).round(), units });
        }
    }
    cells
}

/// All plans, as units per cell.
fn plans(cells: &[Cell]) -> impl Iterator<Item = Vec<f64>> {
    let count: usize = cells.iter().map(|cell| cell.units + 1).product();
    (0..count).map(|mut number| {
        let digit = |cell: &Cell| {
            let digit = number % (cell.units + 1);
            number /= cell.units + 1;
            units(digit)
        };
        cells.iter().map(digit).collect()
    })
}

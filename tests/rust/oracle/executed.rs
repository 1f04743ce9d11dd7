//! What a vehicle gets that follows the charging periods to the letter.
//!
//! Energies and costs are summed anew from the periods alone; all that the plan
//! says of itself is compared with these sums.
use crate::case::{Case, Target};
use crate::cut::{Piece, hours};
use crate::lp::{Model, Row, Side};
use crate::planner::{Answer, Interval, Outcome};

/// Periods are kept to the microsecond, so energies to some nano-kWh.
const ROUNDING_KWH: f64 = 1e-6;

/// Less than a microsecond, in minutes.
const INSTANT: f64 = 1e-8;

/// Energy that the charging periods move in each piece.
pub(crate) fn energies(pieces: &[Piece], answer: &Answer) -> Vec<f64> {
    let shared = |piece: &Piece| {
        let overlaps = answer.intervals.iter().map(|interval| {
            let start = interval.start.max(f64::from(piece.start));
            let end = interval.end.min(f64::from(piece.end));
            (end - start).max(0.0) / 60.0 * interval.kw
        });
        overlaps.sum()
    };
    pieces.iter().map(shared).collect()
}

/// Follows a plan and says what is wrong with it, if anything is.
pub(crate) fn check(case: &Case, model: &Model, answer: &Answer) -> Result<(), String> {
    let energies = energies(&model.pieces, answer);
    let planned = answer.intervals.iter().map(|i| (i.end - i.start) / 60.0 * i.kw);
    let total: f64 = energies.iter().sum();
    same("energy inside usable time", total, planned.sum(), ROUNDING_KWH)?;
    same("energy", total, answer.energy, ROUNDING_KWH)?;

    for (piece, energy) in model.pieces.iter().zip(&energies) {
        if *energy > piece.kwh() + ROUNDING_KWH {
            return Err(format!("{energy} kWh in {piece:?}"));
        }
    }
    for row in &model.rows {
        check_row(row, &energies)?;
    }
    for (target, outcome) in case.targets.iter().zip(&answer.outcomes) {
        check_outcome(case, target, outcome, answer)?;
    }
    let has_seam = |pair: &[Interval]| {
        (pair[1].start - pair[0].end).abs() < INSTANT && (pair[0].kw - pair[1].kw).abs() < 1e-12
    };
    if answer.intervals.windows(2).any(has_seam) {
        return Err(format!("periods that could be one in {:?}", answer.intervals));
    }
    let cost: f64 = model.pieces.iter().zip(&energies).map(|(p, energy)| p.price * energy).sum();
    same("cost", cost, answer.cost, ROUNDING_KWH)?;
    same("baseline", unmanaged_cost(&model.pieces, answer.energy), answer.baseline_cost, 1e-9)?;
    same("unpriced hours", unpriced_hours(case), answer.unpriced_hours, 1e-9)
}

/// Energy charged before a minute.
fn charged_by(answer: &Answer, minute: f64) -> f64 {
    let lengths = answer.intervals.iter().map(|i| ((i.end.min(minute) - i.start).max(0.0), i.kw));
    lengths.map(|(length, kw)| length / 60.0 * kw).sum()
}

/// What a plan says of a target against what the vehicle has by then.
fn check_outcome(
    case: &Case,
    target: &Target,
    outcome: &Outcome,
    answer: &Answer,
) -> Result<(), String> {
    let charged = charged_by(answer, target.by.map_or(f64::INFINITY, f64::from));
    same("delivered", outcome.delivered, charged.min(target.kwh), ROUNDING_KWH)?;
    same("wanted", outcome.delivered + outcome.shortfall, target.kwh, 1e-12)?;
    let is_right = match outcome.reached_at {
        None => answer.energy < target.kwh,
        Some(at) if target.kwh <= 0.0 => (at - f64::from(case.now)).abs() < INSTANT,
        // Just then, and not a second before.
        Some(at) => {
            charged_by(answer, at) > target.kwh - ROUNDING_KWH
                && charged_by(answer, at - 1.0 / 60.0) < target.kwh - ROUNDING_KWH
        }
    };
    if is_right { Ok(()) } else { Err(format!("{target:?} is not reached as in {outcome:?}")) }
}

fn check_row(row: &Row, energies: &[f64]) -> Result<(), String> {
    let sum: f64 = energies[..row.count].iter().sum();
    let is_kept = match row.side {
        Side::Least => sum >= row.kwh - ROUNDING_KWH,
        Side::Most => sum <= row.kwh + ROUNDING_KWH,
        Side::Exactly => (sum - row.kwh).abs() <= ROUNDING_KWH,
    };
    if is_kept { Ok(()) } else { Err(format!("{sum} kWh break {row:?}")) }
}

fn same(what: &str, a: f64, b: f64, part: f64) -> Result<(), String> {
    if crate::runner::near(a, b, part) { Ok(()) } else { Err(format!("{what}: {a} and {b}")) }
}

/// Cost of energy bought at full power from the first piece on.
pub(crate) fn unmanaged_cost(pieces: &[Piece], kwh: f64) -> f64 {
    let mut missing = kwh;
    let pay = |piece: &Piece| {
        let taken = missing.min(piece.kwh());
        missing -= taken;
        piece.price * taken
    };
    pieces.iter().map(pay).sum()
}

/// Time from plug-in to the last deadline, or to the departure, that no slot
/// covers, in hours.
fn unpriced_hours(case: &Case) -> f64 {
    let known = case.slots.last().map_or(case.now, |slot| slot.end);
    let deadlines = case.targets.iter().map(|target| target.by);
    let Some(last) = deadlines.map(|by| by.unwrap_or(i32::MAX)).max() else {
        return 0.0;
    };
    let end = match case.until {
        Some(until) => last.min(until),
        None if last == i32::MAX => known,
        None => last,
    };
    let priced: f64 = case
        .slots
        .iter()
        .map(|slot| (slot.start.max(case.now), slot.end.min(end)))
        .filter(|(start, end)| start < end)
        .map(|(start, end)| hours(start, end))
        .sum();
    hours(case.now, end.max(case.now)) - priced
}

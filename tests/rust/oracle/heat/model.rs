//! The heat problem as linear programmes on HiGHS, written in temperatures.
//!
//! First the degree-hours outside the band are minimised, then the cost at no more degree-hours.
use good_lp::solvers::highs::highs;
use good_lp::{Expression, ProblemVariables, Solution, SolverModel, constraint, variable};

use super::case::{Case, Period};

/// Degree-hours that the second programme may have more than the first found.
pub(crate) const SLACK: f64 = 1e-9;

/// Degree-hours up to which the band counts as held.
const HELD: f64 = 1e-8;

/// Time in which all is constant, from a minute on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) start: i32,
    pub(super) hours: f64,
    pub(super) price: f64,
    pub(super) kw: f64,
    pub(super) cop: f64,
    pub(super) outdoor: f64,
    pub(super) gain: f64,
    pub(super) band: (f64, f64),
}

/// Least degree-hours, and least cost at them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Optimum {
    pub(crate) degree_hours: f64,
    pub(crate) cost: f64,
    pub(crate) is_held: bool,
}

fn covers(period: &Period, minute: i32) -> bool {
    period.start <= minute && minute < period.end
}

/// The band that holds in a minute.
fn band_in(case: &Case, minute: i32) -> (f64, f64) {
    let of_day = minute.rem_euclid(1440);
    let holds = |from: i32, to: i32| {
        if from < to { from <= of_day && of_day < to } else { of_day >= from || of_day < to }
    };
    case.night.filter(|night| holds(night.from, night.to)).map_or(case.band, |night| night.band)
}

fn piece(case: &Case, start: i32, end: i32) -> Piece {
    let priced = case.slots.iter().find(|slot| slot.start <= start && start < slot.end);
    let outdoor = case.outdoor.iter().find(|period| covers(period, start));
    let outdoor = outdoor.expect("weather at all times").value;
    let limits = case.limits.iter().filter(|limit| covers(limit, start));
    let share = ((outdoor + 7.0) / 19.0).clamp(0.0, 1.0);
    let (mut low, mut high) = band_in(case, start);
    if end < case.until {
        let next = band_in(case, end);
        (low, high) = (low.max(next.0), high.min(next.1));
    }
    Piece {
        start,
        hours: f64::from(end - start) / 60.0,
        price: priced.map_or(0.0, |slot| slot.price),
        kw: priced.map_or(0.0, |_| limits.map(|limit| limit.value).fold(case.kw, f64::min)),
        cop: case.cops.0 + (case.cops.1 - case.cops.0) * share,
        outdoor,
        gain: case.gains.iter().filter(|gain| covers(gain, start)).map(|gain| gain.value).sum(),
        band: (low, high.max(low)),
    }
}

pub(super) fn pieces(case: &Case) -> Vec<Piece> {
    let mut cuts = vec![case.now, case.until];
    cuts.extend(case.slots.iter().flat_map(|slot| [slot.start, slot.end]));
    for list in [&case.outdoor, &case.gains, &case.limits] {
        cuts.extend(list.iter().flat_map(|period| [period.start, period.end]));
    }
    cuts.extend(
        (case.now + 1..case.until)
            .filter(|&minute| band_in(case, minute) != band_in(case, minute - 1)),
    );
    cuts.retain(|&minute| case.now <= minute && minute <= case.until);
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|pair| piece(case, pair[0], pair[1])).collect()
}

/// Solves for the least of degree-hours, or of the cost at the given ones.
fn solve(case: &Case, pieces: &[Piece], at_most: Option<f64>) -> f64 {
    let mut variables = ProblemVariables::new();
    let mut rows = Vec::new();
    let mut outside = Expression::from(0.0);
    let mut cost = Expression::from(0.0);
    let mut before = Expression::from(case.celsius);
    let sign = if case.cools { -1.0 } else { 1.0 };
    for piece in pieces {
        let power = variables.add(variable().min(0.0).max(piece.kw));
        let after = variables.add(variable().min(-1e6).max(1e6));
        let heat = sign * piece.cop * power + piece.gain;
        // The temperature tends to a limit, and comes nearer to it by the same share in each hour.
        let expected = if case.kw_per_k > 0.0 {
            let kept = (-piece.hours * case.kw_per_k / case.kwh_per_k).exp();
            let limit = piece.outdoor + heat / case.kw_per_k;
            limit.clone() * (1.0 - kept) + before * kept
        } else {
            before + heat * piece.hours / case.kwh_per_k
        };
        rows.push(constraint::eq(expected, after));
        let [below, above] = [(); 2].map(|()| {
            let most = if at_most == Some(0.0) { 0.0 } else { 1e6 };
            variables.add(variable().min(0.0).max(most))
        });
        rows.push(constraint::geq(after + below, piece.band.0));
        rows.push(constraint::leq(after - above, piece.band.1));
        outside += piece.hours * (below + above);
        cost += piece.price * piece.hours * power;
        before = after.into();
    }
    let gained = before - case.celsius;
    cost -= case.end_value * case.kwh_per_k * sign * gained;
    if let Some(most) = at_most {
        rows.push(constraint::leq(outside.clone(), most + SLACK));
    }
    let objective = if at_most.is_some() { cost } else { outside };
    let mut model = variables
        .minimise(objective.clone())
        .using(highs)
        .set_threads(1)
        .set_option("primal_feasibility_tolerance", 1e-9)
        .set_option("dual_feasibility_tolerance", 1e-9);
    for row in rows {
        model.add_constraint(row);
    }
    model.solve().expect("there is a plan").eval(objective)
}

pub(crate) fn optimum(case: &Case) -> Optimum {
    let pieces = pieces(case);
    if pieces.is_empty() {
        return Optimum::default(); // HiGHS has no answer to no question.
    }
    let degree_hours = solve(case, &pieces, None).max(0.0);
    let is_held = degree_hours <= HELD;
    let at_most = if is_held { 0.0 } else { degree_hours };
    Optimum { degree_hours, cost: solve(case, &pieces, Some(at_most)), is_held }
}

//! The storage problem as programmes on HiGHS, written from the wishes.
//!
//! First as much driving as possible is served. Then the fullest path is
//! found, the one with the highest levels summed over time: what it misses of
//! a wish nobody can have. Then the cost is minimised. A slot gets a binary
//! where it would pay to charge and discharge at once, and where the battery
//! could be above its charge limit; all else is linear.
use good_lp::solvers::highs::highs;
use good_lp::{
    Expression, ProblemVariables, Solution, SolverModel, Variable, constraint, variable,
};

use super::case::Case;

/// Less than this is not missing.
const MISSED_KWH: f64 = 1e-6;

/// What one programme calls feasible may miss another's bound by its tolerance.
const SLACK_KWH: f64 = 1e-8;

/// Time in which all is constant, in stored kWh.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) end: i32,
    /// Most that can be bought and sold, at the plug.
    pub(crate) buys: f64,
    pub(crate) sells: f64,
    pub(crate) import: f64,
    pub(crate) export: f64,
    pub(crate) drives: f64,
    pub(crate) limit: f64,
    /// Highest level at the end: the limit, unless the battery may be above it.
    pub(crate) most: f64,
    /// What reserve and minimum ask for at the end.
    pub(crate) floor: f64,
}

/// Pieces with binaries at most, so that HiGHS answers in milliseconds.
pub(crate) const BINARIES_MAX: usize = 24;

/// What a plan must do, once it is known what can be done.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) pieces: Vec<Piece>,
    /// Driving served in each piece.
    pub(crate) served: Vec<f64>,
    /// Highest level at the end of each piece.
    pub(crate) fullest: Vec<f64>,
    /// Least level at the end of each piece.
    pub(crate) least: Vec<f64>,
    /// What each target misses.
    pub(crate) shortfalls: Vec<f64>,
    /// The part of it that lies above the limit.
    pub(crate) above_limit: Vec<f64>,
    /// Whether some target is missed.
    pub(crate) unserved: f64,
    pub(crate) burns: bool,
    pub(crate) above: bool,
}

/// Price of a minute, if there is one.
fn price_at(slots: &[crate::case::Slot], minute: i32) -> Option<f64> {
    let slot = slots.iter().find(|slot| slot.start <= minute && minute < slot.end);
    slot.map(|slot| slot.price)
}

/// The last minute of a plan.
pub(crate) fn end_of(case: &Case) -> i32 {
    let wishes = case.targets.iter().filter_map(|target| target.by);
    let drives = case.drives.iter().map(|drive| drive.end);
    let prices = case.import.last().map(|slot| slot.end);
    case.until.or_else(|| wishes.chain(drives).chain(prices).max()).unwrap_or(i32::MIN)
}

fn pieces(case: &Case) -> Vec<Piece> {
    let end = end_of(case);
    let mut cuts = vec![case.now, end];
    for slot in case.import.iter().chain(case.export.iter().flatten()) {
        cuts.extend([slot.start, slot.end]);
    }
    case.limits.iter().for_each(|limit| cuts.extend([limit.start, limit.end]));
    case.drives.iter().for_each(|drive| cuts.extend([drive.start, drive.end]));
    cuts.extend(case.targets.iter().filter_map(|target| target.by));
    cuts.retain(|&minute| case.now <= minute && minute <= end);
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|pair| piece(case, pair[0], pair[1])).collect()
}

fn piece(case: &Case, start: i32, end: i32) -> Piece {
    let import = price_at(&case.import, start);
    let export = case.export.as_deref().and_then(|slots| price_at(slots, start));
    let drive = case.drives.iter().find(|drive| drive.start <= start && end <= drive.end);
    let away = drive.is_some_and(|drive| !drive.plugged);
    let within: Vec<_> =
        case.limits.iter().filter(|limit| limit.start <= start && end <= limit.end).collect();
    let least = |most: f64, of: &dyn Fn(&super::case::Limit) -> Option<f64>| {
        within.iter().filter_map(|limit| of(limit)).fold(most, f64::min)
    };
    let hours = f64::from(end - start) / 60.0;
    let buys = least(case.charge_kw, &|limit| limit.charge_kw) * hours;
    let sells = least(case.discharge_kw, &|limit| limit.discharge_kw) * hours;
    let limit = least(case.limit_percent, &|limit| limit.most_percent) / 100.0 * case.capacity;
    let at_end = case.limits.iter().filter(|limit| limit.start <= end && end <= limit.end);
    let floor = at_end.filter_map(|limit| limit.least_percent).fold(case.reserve_percent, f64::max);
    Piece {
        end,
        buys: if away || import.is_none() { 0.0 } else { buys },
        // Time without a price to buy at is not used at all.
        sells: if away || import.is_none() || export.is_none() { 0.0 } else { sells },
        import: import.unwrap_or(0.0),
        export: export.unwrap_or(0.0),
        drives: drive.map_or(0.0, |drive| {
            drive.kwh * f64::from(end - start) / f64::from(drive.end - drive.start)
        }),
        limit,
        most: limit,
        floor: (floor / 100.0 * case.capacity).min(limit),
    }
}

/// Variables of one programme.
struct Programme {
    variables: ProblemVariables,
    bought: Vec<Variable>,
    sold: Vec<Variable>,
    served: Vec<Variable>,
    levels: Vec<Variable>,
    is_charging: Vec<Option<Variable>>,
}

impl Programme {
    fn new(pieces: &[Piece], binary: impl Fn(usize) -> bool) -> Self {
        let mut variables = ProblemVariables::new();
        let mut up_to = |most: f64| variables.add(variable().min(0.0).max(most));
        let bought = pieces.iter().map(|piece| up_to(piece.buys)).collect();
        let sold = pieces.iter().map(|piece| up_to(piece.sells)).collect();
        let served = pieces.iter().map(|piece| up_to(piece.drives)).collect();
        let levels = pieces.iter().map(|piece| up_to(piece.most)).collect();
        let is_charging = (0..pieces.len())
            .map(|index| binary(index).then(|| variables.add(variable().binary())))
            .collect();
        Self { variables, bought, sold, served, levels, is_charging }
    }

    /// Minimises within the physics, and between least levels.
    fn solve(
        self,
        case: &Case,
        pieces: &[Piece],
        objective: Expression,
        (served, least): (Option<&[f64]>, Option<&[f64]>),
    ) -> Found {
        if pieces.is_empty() {
            return Found::default(); // HiGHS has no answer to no question.
        }
        let mut model = self
            .variables
            .minimise(objective)
            .using(highs)
            .set_threads(1)
            .set_option("primal_feasibility_tolerance", 1e-9)
            .set_option("dual_feasibility_tolerance", 1e-9)
            .set_option("mip_feasibility_tolerance", 1e-9)
            .set_option("mip_rel_gap", 1e-9)
            .set_option("mip_abs_gap", 1e-9);
        let mut before: Expression = (case.percent / 100.0 * case.capacity).into();
        for (index, piece) in pieces.iter().enumerate() {
            let (bought, sold) = (self.bought[index], self.sold[index]);
            let (drives, level) = (self.served[index], self.levels[index]);
            let change = case.efficiency * bought - sold / case.efficiency_out - drives;
            model.add_constraint(constraint::eq(before + change, level));
            before = level.into();
            if let Some(served) = served {
                let enough = (served[index] - SLACK_KWH).max(0.0);
                model.add_constraint(constraint::geq(drives, enough));
            }
            if let Some(least) = least {
                let enough = (least[index] - SLACK_KWH).max(0.0);
                model.add_constraint(constraint::geq(level, enough));
            }
            if let Some(charging) = self.is_charging[index] {
                model.add_constraint(constraint::leq(bought, piece.buys * charging));
                model.add_constraint(constraint::leq(sold, piece.sells - piece.sells * charging));
                let above = (case.capacity - piece.limit).max(0.0);
                let most = case.capacity - above * charging;
                model.add_constraint(constraint::leq(level, most));
            }
        }
        let solution = model.solve().expect("there is a plan");
        let of = |variables: &[Variable]| -> Vec<f64> {
            variables.iter().map(|&variable| solution.value(variable)).collect()
        };
        Found {
            bought: of(&self.bought),
            sold: of(&self.sold),
            served: of(&self.served),
            levels: of(&self.levels),
        }
    }
}

/// Values of a solved programme.
#[derive(Debug, Default)]
struct Found {
    bought: Vec<f64>,
    sold: Vec<f64>,
    served: Vec<f64>,
    levels: Vec<f64>,
}

fn burning_pays(case: &Case, piece: &Piece) -> bool {
    let worn = piece.export * case.efficiency_out - case.wear;
    piece.buys > 0.0 && piece.sells > 0.0 && piece.import / case.efficiency < worn
}

/// Whether the case could charge and discharge at once, or be above its limit.
pub(crate) fn needs_binaries(case: &Case) -> bool {
    let pieces = pieces(case);
    let burns = pieces.iter().any(|piece| burning_pays(case, piece));
    burns || may_be_above(case, &pieces)
}

/// Levels above a limit are possible only if there once was more than the lowest.
fn may_be_above(case: &Case, pieces: &[Piece]) -> bool {
    let stored = case.percent / 100.0 * case.capacity;
    let lowest = pieces.iter().map(|piece| piece.limit).fold(f64::INFINITY, f64::min);
    let highest = pieces.iter().map(|piece| piece.limit).fold(stored, f64::max);
    highest > lowest + MISSED_KWH
}

impl Model {
    pub(crate) fn new(case: &Case) -> Self {
        let mut pieces = pieces(case);
        let may_be_above = may_be_above(case, &pieces);
        if may_be_above {
            for piece in &mut pieces {
                piece.most = case.capacity;
            }
        }
        let binary = |index: usize| may_be_above && pieces[index].buys > 0.0;
        let programme = Programme::new(&pieces, binary);
        // A battery cannot save what is driven earlier for what is driven later.
        let weight = |index: usize| 2.0 - index as f64 / pieces.len() as f64;
        let served = programme.served.iter().enumerate();
        let most: Expression = served.map(|(index, &served)| -weight(index) * served).sum();
        let served = programme.solve(case, &pieces, most, (None, None)).served;
        let programme = Programme::new(&pieces, binary);
        let fullest = fullest(case, &pieces, programme, &served);
        let mut model = Self {
            burns: pieces.iter().any(|piece| burning_pays(case, piece)),
            above: may_be_above,
            unserved: pieces.iter().zip(&served).map(|(piece, served)| piece.drives - served).sum(),
            least: Vec::new(),
            shortfalls: Vec::new(),
            above_limit: Vec::new(),
            pieces,
            served,
            fullest,
        };
        (model.shortfalls, model.above_limit) =
            case.targets.iter().map(|target| model.missing(case, target)).unzip();
        model.least = model.least_levels(case);
        model
    }

    /// The piece that ends with a deadline; `None` before the plan.
    fn piece_by(&self, case: &Case, by: Option<i32>) -> Option<usize> {
        let by = by.unwrap_or(i32::MAX).min(end_of(case));
        self.pieces.iter().position(|piece| piece.end == by)
    }

    /// What a target misses, and the part of it that lies above the limit.
    fn missing(&self, case: &Case, target: &super::case::Wish) -> (f64, f64) {
        let stored = case.percent / 100.0 * case.capacity;
        let wanted = target.percent / 100.0 * case.capacity;
        let (level, limit) = self
            .piece_by(case, target.by)
            .map_or((stored, case.limit_percent / 100.0 * case.capacity), |index| {
                (self.fullest[index], self.pieces[index].limit)
            });
        let missing = wanted - level;
        let missing = if missing > MISSED_KWH { missing } else { 0.0 };
        (missing, missing.min((wanted - limit).max(0.0)))
    }

    fn least_levels(&self, case: &Case) -> Vec<f64> {
        let mut wished: Vec<f64> = self.pieces.iter().map(|piece| piece.floor).collect();
        for (position, target) in case.targets.iter().enumerate() {
            let wanted = target.percent / 100.0 * case.capacity;
            let cut = |index: usize| wanted.min(self.pieces[index].limit);
            let index = self.piece_by(case, target.by);
            if let Some(index) = index {
                wished[index] = wished[index].max(wanted);
            }
            // Nobody goes on for what lies above the limit.
            let owed = self.shortfalls[position] - self.above_limit[position];
            if owed > MISSED_KWH && !case.stops {
                let first = index.map_or(0, |index| index + 1);
                for (later, wish) in wished.iter_mut().enumerate().skip(first) {
                    *wish = wish.max(cut(later));
                    if self.fullest[later] >= cut(later) - MISSED_KWH {
                        break;
                    }
                }
            }
        }
        wished.iter().zip(&self.fullest).map(|(wished, most)| wished.min(*most)).collect()
    }

    /// The least cost.
    pub(crate) fn least_cost(&self, case: &Case) -> f64 {
        if self.pieces.is_empty() {
            return 0.0;
        }
        let binary = |index: usize| {
            burning_pays(case, &self.pieces[index]) || self.above && self.pieces[index].buys > 0.0
        };
        let programme = Programme::new(&self.pieces, binary);
        let cost = |index: usize| -> Expression {
            let piece = &self.pieces[index];
            let brings = piece.export - case.wear / case.efficiency_out;
            programme.bought[index] * piece.import - programme.sold[index] * brings
        };
        let mut objective: Expression = (0..self.pieces.len()).map(cost).sum();
        if let Some(&last) = programme.levels.last() {
            objective -= case.end_value * last;
        }
        let levels = (Some(self.served.as_slice()), Some(self.least.as_slice()));
        let found = programme.solve(case, &self.pieces, objective, levels);
        let money: f64 = (0..self.pieces.len())
            .map(|index| {
                let piece = &self.pieces[index];
                let brings = piece.export - case.wear / case.efficiency_out;
                piece.import * found.bought[index] - brings * found.sold[index]
            })
            .sum();
        let stored = case.percent / 100.0 * case.capacity;
        let gained = found.levels.last().map_or(0.0, |level| level - stored);
        money - case.end_value * gained
    }
}

/// The levels of the path that is as full as possible at all times.
fn fullest(case: &Case, pieces: &[Piece], programme: Programme, served: &[f64]) -> Vec<f64> {
    if pieces.is_empty() {
        return Vec::new();
    }
    let most: Expression = programme.levels.iter().sum();
    programme.solve(case, pieces, -most, (Some(served), None)).levels
}

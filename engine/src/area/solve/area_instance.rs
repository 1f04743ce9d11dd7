//! Instance of the area problem, with given limits and shortfall penalties, and its solution.
use crate::area::column_generation::search_state::{StoppingCriteria, Termination};
use crate::area::model::energy_by_slot::Assignment;
use crate::area::model::linking::LinkingConstraints;
use crate::area::model::rooms::Rooms;
use crate::area::model::sessions::Sessions;
use crate::area::pricing::context::PricingContext;
use crate::area::pricing::effective_prices::ShortfallPenalty;
use crate::area::problem::area_problem::AreaProblem;
use crate::area::problem::options::{AreaOptions, WarmStart};
use crate::area::recovery::totals::AreaLoad;
use crate::tolerance::DIVISOR_MIN;

/// Plans, bound and duals of an instance.
pub(crate) struct Solution {
    pub(crate) assignment: Assignment,
    /// Duals of each pricing round, by limit and slot.
    pub(crate) duals_by_round: Vec<Vec<f64>>,
    /// Load, cost and shortfall of the plans.
    pub(crate) load: AreaLoad,
    /// Lagrangian bound on cost plus shortfall penalty.
    pub(crate) bound: f64,
    /// Duals that prove `bound`.
    pub(crate) duals: Vec<f64>,
    pub(crate) termination: Termination,
    /// Number of pricing rounds.
    pub(crate) rounds: usize,
    /// Warm start for the next search.
    pub(crate) warm_start: WarmStart,
}

/// End of a search by the caller before it had plans of its own.
pub(crate) struct Stopped;

/// Area with given limits, penalties and stopping criteria. Needs are those of the sessions.
#[derive(Clone, Copy)]
pub(crate) struct AreaInstance<'a> {
    pub(crate) problem: &'a AreaProblem<'a>,
    /// Limits that count: all of the area, or hard ones alone.
    pub(crate) constraints: &'a LinkingConstraints,
    /// Rooms of heat units.
    pub(crate) rooms: &'a Rooms,
    pub(crate) penalty: ShortfallPenalty,
    /// True if energy is free and only duals and shortfall penalties count.
    pub(crate) is_free: bool,
    pub(crate) stopping: StoppingCriteria,
    /// Cost of the area in order of magnitude, to scale the master by.
    pub(crate) money: f64,
}

impl<'a> AreaInstance<'a> {
    /// Instance with all limits, full prices and one penalty. `cost` of unmanaged charging is the
    /// scale of the gap; with the penalty on `need_kwh` it gives the scale of money.
    pub(crate) fn new(
        problem: &'a AreaProblem<'a>,
        (constraints, rooms): (&'a LinkingConstraints, &'a Rooms),
        options: &AreaOptions,
        penalty: ShortfallPenalty,
        (cost, need_kwh): (f64, f64),
    ) -> Self {
        let stopping =
            StoppingCriteria { gap: options.gap, rounds_max: options.max_rounds, scale: cost };
        // Where energy costs almost nothing, a hundredth of the penalty on all needs keeps the
        // master's coefficients within the range in which its solver works.
        let money = cost.abs().max(need_kwh * penalty.base * 1e-2).max(DIVISOR_MIN);
        Self { problem, constraints, rooms, penalty, is_free: false, stopping, money }
    }

    /// Context of the pricing problems of `sessions`.
    pub(crate) fn context<'s>(&self, sessions: &'s Sessions) -> PricingContext<'s>
    where
        'a: 's,
    {
        PricingContext {
            curves: self.problem.curves,
            export: self.problem.export(),
            sessions,
            rooms: &self.rooms.each,
            penalty: self.penalty,
            is_free: self.is_free,
        }
    }
}

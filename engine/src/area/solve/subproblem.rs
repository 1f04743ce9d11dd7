//! An area at one state of its needs and penalties, and its solution.
use crate::area::column_generation::incumbent::{StoppingCriteria, Termination};
use crate::area::model::energy_by_slot::Assignment;
use crate::area::model::linking::LinkingConstraints;
use crate::area::model::sessions::Sessions;
use crate::area::pricing::context::PricingContext;
use crate::area::pricing::effective_prices::ShortfallPenalty;
use crate::area::problem::area_problem::AreaProblem;
use crate::area::problem::options::WarmStart;
use crate::area::recovery::totals::AreaLoad;

/// What coordination came to.
pub(crate) struct Solution {
    pub(crate) assignment: Assignment,
    pub(crate) prices: Vec<Vec<f64>>,
    pub(crate) load: AreaLoad,
    pub(crate) bound: f64,
    pub(crate) duals: Vec<f64>,
    pub(crate) termination: Termination,
    pub(crate) rounds: usize,
    pub(crate) state: WarmStart,
}

impl Solution {
    /// What there is where the work was stopped, and there are plans already.
    pub(crate) fn stopped() -> Self {
        Self {
            assignment: Assignment::default(),
            prices: Vec::new(),
            load: AreaLoad::default(),
            bound: f64::NEG_INFINITY,
            duals: Vec::new(),
            termination: Termination::Caller,
            rounds: 0,
            state: WarmStart::default(),
        }
    }

    /// Whether there are no plans.
    pub(crate) fn is_nothing(&self) -> bool {
        self.prices.is_empty()
    }
}

/// What to coordinate, and how.
#[derive(Clone, Copy)]
pub(crate) struct Subproblem<'a> {
    pub(crate) problem: &'a AreaProblem<'a>,
    pub(crate) constraints: &'a LinkingConstraints,
    pub(crate) penalty: ShortfallPenalty,
    pub(crate) is_free: bool,
    pub(crate) stopping: StoppingCriteria,
    /// Money of the right size, to scale by.
    pub(crate) money: f64,
    /// Whether there are plans already, for whoever stops the work.
    pub(crate) has_plans: bool,
}

impl<'a> Subproblem<'a> {
    /// Who is asked, and in what money.
    pub(crate) fn context<'s>(&self, sessions: &'s Sessions) -> PricingContext<'s>
    where
        'a: 's,
    {
        let (curves, export) = (self.problem.curves, self.problem.export());
        PricingContext { curves, export, sessions, penalty: self.penalty, is_free: self.is_free }
    }
}

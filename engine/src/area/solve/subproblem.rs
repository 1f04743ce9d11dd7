//! An area at one state of its needs and penalties, and its solution.
use crate::area::column_generation::incumbent::{Ended, Until};
use crate::area::model::energy_by_slot::Settled;
use crate::area::model::linking::Terms;
use crate::area::model::sessions::Stays;
use crate::area::pricing::context::Asked;
use crate::area::pricing::effective_prices::Worth;
use crate::area::problem::area_problem::AreaProblem;
use crate::area::problem::options::AreaState;
use crate::area::recovery::totals::Total;

/// What coordination came to.
pub(crate) struct Coordinated {
    pub(crate) settled: Settled,
    pub(crate) prices: Vec<Vec<f64>>,
    pub(crate) total: Total,
    pub(crate) bound: f64,
    pub(crate) duals: Vec<f64>,
    pub(crate) ended: Ended,
    pub(crate) rounds: usize,
    pub(crate) state: AreaState,
}

impl Coordinated {
    /// What there is where the work was stopped, and there are plans already.
    pub(crate) fn stopped() -> Self {
        Self {
            settled: Settled::default(),
            prices: Vec::new(),
            total: Total::default(),
            bound: f64::NEG_INFINITY,
            duals: Vec::new(),
            ended: Ended::Caller,
            rounds: 0,
            state: AreaState::default(),
        }
    }

    /// Whether there are no plans.
    pub(crate) fn is_nothing(&self) -> bool {
        self.prices.is_empty()
    }
}

/// What to coordinate, and how.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) problem: &'a AreaProblem<'a>,
    pub(crate) terms: &'a Terms,
    pub(crate) worth: Worth,
    pub(crate) is_free: bool,
    pub(crate) until: Until,
    /// Money of the right size, to scale by.
    pub(crate) money: f64,
    /// Whether there are plans already, for whoever stops the work.
    pub(crate) has_plans: bool,
}

impl<'a> Task<'a> {
    /// Who is asked, and in what money.
    pub(crate) fn asked<'s>(&self, stays: &'s Stays) -> Asked<'s>
    where
        'a: 's,
    {
        let (curves, export) = (self.problem.curves, self.problem.export());
        Asked { curves, export, stays, worth: self.worth, is_free: self.is_free }
    }
}

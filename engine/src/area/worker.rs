//! Worker: solves the pricing problems of one part of an area, in any process.
//!
//! The vehicles of an area have an order that depends on all of them, and a part is a run of whole
//! blocks of that order. From the rows of a part and its [`Partition`] a worker builds the same
//! blocks, and so the same sums, as one process with all vehicles. A response depends only on the
//! rows, the partition, the [`SessionUpdate`], the [`PricingRequest`] and the [`Overrides`]. So a
//! request can be repeated, also at another worker.
use crate::area::distributed::protocol::{
    ColumnChoice, Overrides, Partition, PricingRequest, RequestKind, SessionUpdate, WorkerError,
};
use crate::area::model::energy_by_slot::{Assignment, EnergyBySlot};
use crate::area::model::linking::LinkingConstraints;
use crate::area::model::sessions::Sessions;
use crate::area::pricing::block_loads::{self, BlockLoad};
use crate::area::pricing::context::PricingContext;
use crate::area::problem::area_problem::AreaProblem;
use crate::area::recovery::plans::{PlanReader, PricesByClass};
use crate::area::recovery::totals;
use crate::area::report::table::{AreaNumbers, RowWriter, write_rows};
use crate::columns::fleet::Curves;
use crate::columns::plan_table::PlanTable;
use crate::columns::row_error::RowError;

/// Rounds that a message may refer to, far more than any search has. It bounds the memory that a
/// corrupt message can take.
const ROUNDS_MAX: usize = 1 << 20;

/// Vehicles and limits of one part of an area, ready for pricing.
#[derive(Debug, Clone)]
pub struct Worker {
    sessions: Sessions,
    constraints: LinkingConstraints,
    /// Hard limits on import alone, for requests with free energy.
    hard: LinkingConstraints,
}

impl Worker {
    /// Prepares the rows of a part. `problem` has these rows alone, in the order of the part, with
    /// the prices and nodes of the whole area.
    ///
    /// # Errors
    /// The rows are not those of `place`.
    pub fn new(problem: &AreaProblem<'_>, place: &Partition) -> Result<Self, WorkerError> {
        let mut sessions = Sessions::prepare(problem);
        let (found, expected) = (sessions.each.len(), place.vehicles());
        if found != expected {
            return Err(WorkerError::OtherRows { found, expected });
        }
        // Scale, order and groups are those of the area, which the rows of a part do not tell.
        sessions.set_priority_max(place.priority_max as f32);
        (sessions.offset, sessions.groups, sessions.by_curve) =
            (place.first, place.groups, place.by_curve);
        // Cut the rows into the blocks of the partition.
        let mut start = 0;
        for &(vehicles, group, node) in &place.blocks {
            let is_here =
                sessions.each[start..start + vehicles].iter().all(|session| session.node == node);
            if vehicles == 0 || !is_here || group >= place.groups {
                return Err(WorkerError::OtherArea);
            }
            sessions.add_block(start..start + vehicles, group);
            start += vehicles;
        }
        let constraints = LinkingConstraints::new(problem);
        let hard = constraints.hard();
        Ok(Self { sessions, constraints, hard })
    }

    /// Returns a worker of the same part with the needs, deadlines and reserves of `change`. An
    /// update holds all changes since the part was assigned: apply it to the worker made by
    /// [`new`](Self::new), not to an updated one.
    ///
    /// # Errors
    /// The update is that of other vehicles.
    pub fn updated(&self, change: &SessionUpdate) -> Result<Self, WorkerError> {
        let mut changed = self.clone();
        for &(position, from) in &change.reserves {
            let session =
                self.sessions.each.get(position as usize).ok_or(WorkerError::OtherArea)?;
            let battery = changed.sessions.battery_of_mut(session);
            battery.ok_or(WorkerError::OtherArea)?.reserve_from = from;
        }
        for (position, needs) in &change.deadlines {
            let session =
                self.sessions.each.get(*position as usize).ok_or(WorkerError::OtherArea)?;
            let deadlines = changed.sessions.deadlines_of_mut(session);
            deadlines
                .and_then(|deadlines| deadlines.apply_update(needs))
                .ok_or(WorkerError::OtherArea)?;
        }
        if let Some(needs) = &change.needs {
            if needs.len() != self.sessions.each.len() {
                return Err(WorkerError::OtherArea);
            }
            changed.sessions = changed.sessions.with_needs(needs);
        }
        Ok(changed)
    }

    /// Sums of the blocks of this part in response to a request. `curves` are the prices to buy at,
    /// `export` those to sell at, and `own` the overrides of this part.
    ///
    /// # Errors
    /// The request is that of another area.
    pub fn answer(
        &self,
        (curves, export): (Curves<'_>, Option<Curves<'_>>),
        request: &PricingRequest,
        own: &Overrides,
    ) -> Result<Vec<BlockLoad>, WorkerError> {
        let (context, constraints) = self.context((curves, export), request);
        let sums = match &request.kind {
            RequestKind::AtOnce => block_loads::unmanaged_loads(&context),
            RequestKind::Answer(duals) => {
                self.check(constraints, duals)?;
                block_loads::loads_of_responses(&context, constraints, duals)
            }
            RequestKind::Plans(choice) => {
                let (assignment, duals_by_round) =
                    self.build_assignment(constraints, choice, own)?;
                let by_class =
                    PricesByClass::new(&context, constraints, &assignment, &duals_by_round);
                totals::block_loads(&PlanReader {
                    context: &context,
                    assignment: &assignment,
                    prices: &by_class,
                })
            }
        };
        Ok(block_loads::concatenate(sums))
    }

    /// Passes the plan of every row of the part to `sink`, in runs of at most `run` rows. `problem`
    /// is the one that the worker was made with.
    ///
    /// # Errors
    /// The request is not one for plans, or that of another area.
    pub fn rows(
        &self,
        problem: &AreaProblem<'_>,
        (request, own): (&PricingRequest, &Overrides),
        run: usize,
        sink: &mut dyn FnMut(PlanTable<AreaNumbers>),
    ) -> Result<(), WorkerError> {
        let (context, constraints) = self.context((problem.curves, problem.export()), request);
        let RequestKind::Plans(choice) = &request.kind else { return Err(WorkerError::OtherArea) };
        let (assignment, duals_by_round) = self.build_assignment(constraints, choice, own)?;
        let by_class = PricesByClass::new(&context, constraints, &assignment, &duals_by_round);
        let plans = PlanReader { context: &context, assignment: &assignment, prices: &by_class };
        let mut unmet_kwh = vec![0.0; problem.vehicles.fleet.len()];
        for &(position, energy) in &own.unmet_kwh {
            let session =
                self.sessions.each.get(position as usize).ok_or(WorkerError::OtherArea)?;
            unmet_kwh[session.row as usize] = energy;
        }
        write_rows(&RowWriter { problem, plans: &plans, unmet_kwh: &unmet_kwh }, run, sink);
        Ok(())
    }

    /// Rows in error, each with its position and the error.
    #[must_use]
    pub fn errors(&self) -> &[(usize, RowError)] {
        &self.sessions.errors
    }

    /// Context and limits for a request: hard limits alone if energy is free.
    fn context<'s>(
        &'s self,
        (curves, export): (Curves<'s>, Option<Curves<'s>>),
        request: &PricingRequest,
    ) -> (PricingContext<'s>, &'s LinkingConstraints) {
        let (sessions, penalty, is_free) = (&self.sessions, request.penalty, request.is_free);
        let constraints = if is_free { &self.hard } else { &self.constraints };
        (PricingContext { curves, export, sessions, rooms: &[], penalty, is_free }, constraints)
    }

    /// Returns an error unless there is one dual for each limit and slot.
    fn check(&self, constraints: &LinkingConstraints, duals: &[f64]) -> Result<(), WorkerError> {
        let is_good = duals.len() == constraints.each.len() * self.constraints.slots();
        if is_good { Ok(()) } else { Err(WorkerError::OtherArea) }
    }

    /// Assignment of columns to the vehicles of this part, and the duals of each round; rounds that
    /// are not used are empty.
    fn build_assignment(
        &self,
        constraints: &LinkingConstraints,
        choice: &ColumnChoice,
        own: &Overrides,
    ) -> Result<(Assignment, Vec<Vec<f64>>), WorkerError> {
        let groups = self.sessions.groups;
        // Rounds ascend, so the last is the largest; the message is refused if another is larger.
        let last = choice.prices.last().map(|(round, _)| *round);
        if last.is_some_and(|last| last >= ROUNDS_MAX) {
            return Err(WorkerError::OtherArea);
        }
        let round_count = last.map_or(0, |last| last + 1);
        let mut duals_by_round = vec![Vec::new(); round_count];
        for (round, duals) in &choice.prices {
            self.check(constraints, duals)?;
            duals_by_round.get_mut(*round).ok_or(WorkerError::OtherArea)?.clone_from(duals);
        }
        // Weights refer to known rounds, and overrides to vehicles of this part.
        let is_known = |(round, _): &(usize, f64)| choice.prices.iter().any(|(r, _)| r == round);
        let is_round = choice.weights.iter().flatten().all(is_known);
        let is_group =
            choice.weights.len() == groups && choice.is_convex_combination.len() == groups;
        let is_here = |&(at, _): &(u32, EnergyBySlot)| (at as usize) < self.sessions.each.len();
        if !is_round || !is_group || !own.plans.iter().all(is_here) {
            return Err(WorkerError::OtherArea);
        }
        let overrides = own.plans.iter().cloned().collect();
        let (shares, is_mixed) = (choice.weights.clone(), choice.is_convex_combination.clone());
        Ok((
            Assignment {
                weights: shares,
                is_convex_combination: is_mixed,
                overrides,
                rooms: Vec::new(),
            },
            duals_by_round,
        ))
    }
}

#[cfg(test)]
pub(super) mod tests;

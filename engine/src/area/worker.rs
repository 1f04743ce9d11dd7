//! An area whose vehicles are asked elsewhere, one part of them at a time.
//!
//! Vehicles stand in an order that depends on all of them, and a part is a run of
//! whole blocks of that order. Whoever has the rows of a part and knows its
//! [`Partition`] answers as the whole would: the same blocks, the same sums. What a
//! part answers depends on its rows, its place, the [`SessionUpdate`] and the
//! [`PricingRequest`] alone, so that it can be asked twice, or by somebody else.
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

/// Vehicles of a part, ready to be asked.
#[derive(Debug, Clone)]
pub struct Worker {
    sessions: Sessions,
    constraints: LinkingConstraints,
    hard: LinkingConstraints,
}

impl Worker {
    /// Prepares the rows of a part; `problem` has these rows alone, in the order
    /// of the part, with the prices and nodes of the whole area.
    ///
    /// # Errors
    /// The rows are not those of the place.
    pub fn new(problem: &AreaProblem<'_>, place: &Partition) -> Result<Self, WorkerError> {
        let mut sessions = Sessions::prepare(problem);
        let (found, expected) = (sessions.each.len(), place.vehicles());
        if found != expected {
            return Err(WorkerError::OtherRows { found, expected });
        }
        sessions.set_priority_max(place.priority_max as f32);
        (sessions.first, sessions.groups, sessions.by_curve) =
            (place.first, place.groups, place.by_curve);
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

    /// The same part after a change.
    ///
    /// # Errors
    /// The change is that of other vehicles.
    pub fn updated(&self, change: &SessionUpdate) -> Result<Self, WorkerError> {
        let mut changed = self.clone();
        for &(position, from) in &change.reserves {
            let session =
                self.sessions.each.get(position as usize).ok_or(WorkerError::OtherArea)?;
            let battery = changed.sessions.batteries.get_mut(session.battery as usize);
            battery.ok_or(WorkerError::OtherArea)?.reserve_from = from;
        }
        for (position, needs) in &change.deadlines {
            let session =
                self.sessions.each.get(*position as usize).ok_or(WorkerError::OtherArea)?;
            let deadlines = changed.sessions.deadlines.get_mut(session.deadlines as usize);
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

    /// What the part answers to a question.
    ///
    /// # Errors
    /// The question is that of another area.
    pub fn answer(
        &self,
        (curves, export): (Curves<'_>, Option<Curves<'_>>),
        question: &PricingRequest,
        own: &Overrides,
    ) -> Result<Vec<BlockLoad>, WorkerError> {
        let (context, constraints) = self.context((curves, export), question);
        let sums = match &question.kind {
            RequestKind::AtOnce => block_loads::unmanaged_loads(&context),
            RequestKind::Answer(duals) => {
                self.check(constraints, duals)?;
                block_loads::loads_of_responses(&context, constraints, duals)
            }
            RequestKind::Plans(mixed) => {
                let (assignment, prices) = self.settled(constraints, mixed, own)?;
                let by_class = PricesByClass::new(&context, constraints, &assignment, &prices);
                totals::block_loads(&PlanReader {
                    context: &context,
                    assignment: &assignment,
                    prices: &by_class,
                })
            }
        };
        Ok(block_loads::concatenate(sums))
    }

    /// Hands the plan of every row of the part to `sink`, in runs of at most `run`
    /// rows. `problem` is the one that the part was made of.
    ///
    /// # Errors
    /// The question is not one for plans, or that of another area.
    pub fn rows(
        &self,
        problem: &AreaProblem<'_>,
        (question, own): (&PricingRequest, &Overrides),
        run: usize,
        sink: &mut dyn FnMut(PlanTable<AreaNumbers>),
    ) -> Result<(), WorkerError> {
        let (context, constraints) = self.context((problem.curves, problem.export()), question);
        let RequestKind::Plans(mixed) = &question.kind else { return Err(WorkerError::OtherArea) };
        let (assignment, prices) = self.settled(constraints, mixed, own)?;
        let by_class = PricesByClass::new(&context, constraints, &assignment, &prices);
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

    /// Rows that make no sense, and why.
    #[must_use]
    pub fn errors(&self) -> &[(usize, crate::columns::row_error::RowError)] {
        &self.sessions.errors
    }

    fn context<'s>(
        &'s self,
        (curves, export): (Curves<'s>, Option<Curves<'s>>),
        question: &PricingRequest,
    ) -> (PricingContext<'s>, &'s LinkingConstraints) {
        let (sessions, penalty, is_free) = (&self.sessions, question.penalty, question.is_free);
        let constraints = if is_free { &self.hard } else { &self.constraints };
        (PricingContext { curves, export, sessions, penalty, is_free }, constraints)
    }

    fn check(&self, constraints: &LinkingConstraints, duals: &[f64]) -> Result<(), WorkerError> {
        let is_good = duals.len() == constraints.each.len() * self.constraints.slots();
        if is_good { Ok(()) } else { Err(WorkerError::OtherArea) }
    }

    /// The mix as it was settled, for the vehicles of this part.
    fn settled(
        &self,
        constraints: &LinkingConstraints,
        mixed: &ColumnChoice,
        own: &Overrides,
    ) -> Result<(Assignment, Vec<Vec<f64>>), WorkerError> {
        let groups = self.sessions.groups;
        let mut prices = vec![Vec::new(); mixed.prices.last().map_or(0, |(round, _)| round + 1)];
        for (round, duals) in &mixed.prices {
            self.check(constraints, duals)?;
            prices.get_mut(*round).ok_or(WorkerError::OtherArea)?.clone_from(duals);
        }
        let is_known = |(round, _): &(usize, f64)| mixed.prices.iter().any(|(r, _)| r == round);
        let is_round = mixed.weights.iter().flatten().all(is_known);
        let is_group = mixed.weights.len() == groups && mixed.is_convex_combination.len() == groups;
        let is_here = |&(at, _): &(u32, EnergyBySlot)| (at as usize) < self.sessions.each.len();
        if !is_round || !is_group || !own.plans.iter().all(is_here) {
            return Err(WorkerError::OtherArea);
        }
        let anew = own.plans.iter().cloned().collect();
        let (shares, is_mixed) = (mixed.weights.clone(), mixed.is_convex_combination.clone());
        Ok((
            Assignment { weights: shares, is_convex_combination: is_mixed, overrides: anew },
            prices,
        ))
    }
}

#[cfg(test)]
mod tests;

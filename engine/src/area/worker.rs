//! An area whose vehicles are asked elsewhere, one part of them at a time.
//!
//! Vehicles stand in an order that depends on all of them, and a part is a run of
//! whole blocks of that order. Whoever has the rows of a part and knows its
//! [`Place`] answers as the whole would: the same blocks, the same sums. What a
//! part answers depends on its rows, its place, the [`Change`] and the
//! [`Question`] alone, so that it can be asked twice, or by somebody else.
use crate::area::distributed::protocol::{Change, Mix, Own, PartError, Place, Question, What};
use crate::area::model::energy_by_slot::{Settled, Taken};
use crate::area::model::linking::Terms;
use crate::area::model::sessions::Stays;
use crate::area::pricing::block_loads::{self, Sum};
use crate::area::pricing::context::Asked;
use crate::area::problem::area_problem::AreaProblem;
use crate::area::recovery::plans::{Plans, Signals};
use crate::area::recovery::totals;
use crate::area::report::table::{AreaRows, Writing, write_rows};
use crate::columns::fleet::Curves;

/// Vehicles of a part, ready to be asked.
#[derive(Debug, Clone)]
pub struct Part {
    stays: Stays,
    terms: Terms,
    hard: Terms,
}

impl Part {
    /// Prepares the rows of a part; `problem` has these rows alone, in the order
    /// of the part, with the prices and nodes of the whole area.
    ///
    /// # Errors
    /// The rows are not those of the place.
    pub fn new(problem: &AreaProblem<'_>, place: &Place) -> Result<Self, PartError> {
        let mut stays = Stays::made(problem);
        let (found, expected) = (stays.each.len(), place.vehicles());
        if found != expected {
            return Err(PartError::OtherRows { found, expected });
        }
        stays.weigh(place.priority_max as f32);
        (stays.first, stays.groups, stays.by_curve) = (place.first, place.groups, place.by_curve);
        let mut start = 0;
        for &(vehicles, group, node) in &place.blocks {
            let is_here = stays.each[start..start + vehicles].iter().all(|stay| stay.node == node);
            if vehicles == 0 || !is_here || group >= place.groups {
                return Err(PartError::OtherArea);
            }
            stays.add_block(start..start + vehicles, group);
            start += vehicles;
        }
        let terms = Terms::new(problem);
        let hard = terms.hard();
        Ok(Self { stays, terms, hard })
    }

    /// The same part after a change.
    ///
    /// # Errors
    /// The change is that of other vehicles.
    pub fn changed(&self, change: &Change) -> Result<Self, PartError> {
        let mut changed = self.clone();
        for &(position, from) in &change.reserves {
            let stay = self.stays.each.get(position as usize).ok_or(PartError::OtherArea)?;
            let store = changed.stays.stores.get_mut(stay.store as usize);
            store.ok_or(PartError::OtherArea)?.reserve_from = from;
        }
        for (position, needs) in &change.wishes {
            let stay = self.stays.each.get(*position as usize).ok_or(PartError::OtherArea)?;
            let wishes = changed.stays.wishes.get_mut(stay.wishes as usize);
            wishes.and_then(|wishes| wishes.changed(needs)).ok_or(PartError::OtherArea)?;
        }
        if let Some(needs) = &change.needs {
            if needs.len() != self.stays.each.len() {
                return Err(PartError::OtherArea);
            }
            changed.stays = changed.stays.with_needs(needs);
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
        question: &Question,
        own: &Own,
    ) -> Result<Vec<Sum>, PartError> {
        let (asked, terms) = self.asked((curves, export), question);
        let sums = match &question.what {
            What::AtOnce => block_loads::unmanaged(&asked),
            What::Answer(duals) => {
                self.check(terms, duals)?;
                block_loads::answers(&asked, terms, duals)
            }
            What::Plans(mixed) => {
                let (settled, prices) = self.settled(terms, mixed, own)?;
                let signals = Signals::new(&asked, terms, &settled, &prices);
                totals::plans(&Plans { asked: &asked, settled: &settled, signals: &signals })
            }
        };
        Ok(block_loads::merged(sums))
    }

    /// Hands the plan of every row of the part to `sink`, in runs of at most `run`
    /// rows. `problem` is the one that the part was made of.
    ///
    /// # Errors
    /// The question is not one for plans, or that of another area.
    pub fn rows(
        &self,
        problem: &AreaProblem<'_>,
        (question, own): (&Question, &Own),
        run: usize,
        sink: &mut dyn FnMut(AreaRows),
    ) -> Result<(), PartError> {
        let (asked, terms) = self.asked((problem.curves, problem.export()), question);
        let What::Plans(mixed) = &question.what else { return Err(PartError::OtherArea) };
        let (settled, prices) = self.settled(terms, mixed, own)?;
        let signals = Signals::new(&asked, terms, &settled, &prices);
        let plans = Plans { asked: &asked, settled: &settled, signals: &signals };
        let mut unmet_kwh = vec![0.0; problem.vehicles.fleet.len()];
        for &(position, energy) in &own.unmet_kwh {
            let stay = self.stays.each.get(position as usize).ok_or(PartError::OtherArea)?;
            unmet_kwh[stay.row as usize] = energy;
        }
        write_rows(&Writing { problem, plans: &plans, unmet_kwh: &unmet_kwh }, run, sink);
        Ok(())
    }

    /// Rows that make no sense, and why.
    #[must_use]
    pub fn errors(&self) -> &[(usize, crate::columns::row_error::RowError)] {
        &self.stays.errors
    }

    fn asked<'s>(
        &'s self,
        (curves, export): (Curves<'s>, Option<Curves<'s>>),
        question: &Question,
    ) -> (Asked<'s>, &'s Terms) {
        let (stays, worth, is_free) = (&self.stays, question.worth, question.is_free);
        let terms = if is_free { &self.hard } else { &self.terms };
        (Asked { curves, export, stays, worth, is_free }, terms)
    }

    fn check(&self, terms: &Terms, duals: &[f64]) -> Result<(), PartError> {
        let is_good = duals.len() == terms.each.len() * self.terms.slots();
        if is_good { Ok(()) } else { Err(PartError::OtherArea) }
    }

    /// The mix as it was settled, for the vehicles of this part.
    fn settled(
        &self,
        terms: &Terms,
        mixed: &Mix,
        own: &Own,
    ) -> Result<(Settled, Vec<Vec<f64>>), PartError> {
        let groups = self.stays.groups;
        let mut prices = vec![Vec::new(); mixed.prices.last().map_or(0, |(round, _)| round + 1)];
        for (round, duals) in &mixed.prices {
            self.check(terms, duals)?;
            prices.get_mut(*round).ok_or(PartError::OtherArea)?.clone_from(duals);
        }
        let is_known = |(round, _): &(usize, f64)| mixed.prices.iter().any(|(r, _)| r == round);
        let is_round = mixed.shares.iter().flatten().all(is_known);
        let is_group = mixed.shares.len() == groups && mixed.is_mixed.len() == groups;
        let is_here = |&(at, _): &(u32, Taken)| (at as usize) < self.stays.each.len();
        if !is_round || !is_group || !own.anew.iter().all(is_here) {
            return Err(PartError::OtherArea);
        }
        let anew = own.anew.iter().cloned().collect();
        let (shares, is_mixed) = (mixed.shares.clone(), mixed.is_mixed.clone());
        Ok((Settled { shares, is_mixed, anew }, prices))
    }
}

#[cfg(test)]
mod tests;

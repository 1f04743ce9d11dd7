//! An area whose vehicles are asked elsewhere, one part of them at a time.
//!
//! Vehicles stand in an order that depends on all of them, and a part is a run of
//! whole blocks of that order. Whoever has the rows of a part and knows its
//! [`Place`] answers as the whole would: the same blocks, the same sums. What a
//! part answers depends on its rows, its place, the [`Change`] and the
//! [`Question`] alone, so that it can be asked twice, or by somebody else.
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::area::asked::Asked;
use crate::area::fleet::Curves;
use crate::area::outcome::AreaPlan;
use crate::area::problem::AreaProblem;
use crate::area::rows::{AreaRows, Writing, write_rows};
use crate::area::settle::{Plans, Settled, Shares, Signals, Taken};
use crate::area::signal::Worth;
use crate::area::stays::Stays;
use crate::area::sums::{self, Sum};
use crate::area::terms::Terms;

/// Where a part stands among all vehicles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Position of its first vehicle in the order of all.
    pub first: usize,
    /// Vehicles, group and node of each block.
    pub blocks: Vec<(usize, usize, u32)>,
    /// Groups of all vehicles.
    pub groups: usize,
    /// Whether vehicles of one curve stand side by side.
    pub by_curve: bool,
    /// The largest priority of all vehicles.
    pub priority_max: f64,
}

impl Place {
    /// Vehicles of the part, rows in error apart.
    #[must_use]
    pub fn vehicles(&self) -> usize {
        self.blocks.iter().map(|(vehicles, ..)| vehicles).sum()
    }

    /// Whether sums are those of the blocks of this part.
    #[must_use]
    pub fn fits(&self, sums: &[Sum], slots: usize) -> bool {
        let mut runs = self.blocks.chunk_by(|a, b| (a.1, a.2) == (b.1, b.2));
        let is_run = |sum: &Sum, run: &[(usize, usize, u32)]| {
            let lengths = [sum.cost.len(), sum.shed_worth.len(), sum.slack.len()];
            let is_inside = |&at: &u32| (at as usize) < self.vehicles();
            (sum.group, sum.node) == (run[0].1, run[0].2)
                && lengths == [run.len(); 3]
                && sum.load.len() == slots
                && sum.short.iter().all(is_inside)
        };
        sums.iter().all(|sum| runs.next().is_some_and(|run| is_run(sum, run)))
            && runs.next().is_none()
    }
}

/// The rows of a part, and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// Where it stands.
    pub place: Place,
    /// Rows of the fleet in the order of the part. Those that make no sense come
    /// after all others, in the last part.
    pub rows: Vec<u32>,
}

/// In what a part is no longer as it was dealt.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Need of each vehicle in billionths of a kWh, where a shortage is shared.
    pub needs: Option<Vec<i64>>,
    /// Batteries whose reserve comes later, and the slot from which it is there.
    pub reserves: Vec<(u32, u32)>,
    /// Vehicles that are late for a deadline, their energy by each but the last, and
    /// what of it may come later.
    pub wishes: Vec<(u32, Vec<i64>)>,
}

/// What all parts are asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    pub(crate) worth: Worth,
    /// Whether energy is free, and only hard limits on import count.
    pub(crate) is_free: bool,
    pub(crate) what: What,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum What {
    /// Full power from arrival.
    #[serde(rename = "at_once")]
    AtOnce,
    /// What vehicles buy when limits cost so much.
    #[serde(rename = "answer")]
    Answer(Vec<f64>),
    /// Plans from a mix of rounds.
    #[serde(rename = "plans")]
    Plans(Mix),
}

/// What plans are made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mix {
    shares: Vec<Shares>,
    is_mixed: Vec<bool>,
    /// Prices of the rounds that anybody draws from.
    prices: Vec<(usize, Vec<f64>)>,
}

impl Mix {
    pub(crate) fn new(settled: &Settled, prices: &[Vec<f64>]) -> Self {
        let mut rounds: Vec<usize> =
            settled.shares.iter().flatten().map(|&(round, _)| round).collect();
        rounds.sort_unstable();
        rounds.dedup();
        Self {
            shares: settled.shares.clone(),
            is_mixed: settled.is_mixed.clone(),
            prices: rounds.into_iter().map(|round| (round, prices[round].clone())).collect(),
        }
    }
}

/// What a question says to one part alone.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Own {
    /// Vehicles that were planned anew, by their position in the part, with the
    /// energy of their slots.
    pub(crate) anew: Vec<(u32, Taken)>,
    /// Need that is not met, by position in the part, in kWh.
    pub(crate) unmet_kwh: Vec<(u32, f64)>,
}

/// Why a part cannot be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// Other rows than those that the place was made for.
    #[error("the part has {found} vehicles; its place has {expected}")]
    OtherRows {
        /// Vehicles that make sense.
        found: usize,
        /// Vehicles of the place.
        expected: usize,
    },
    /// A change, prices or a mix of another area.
    #[error("the question belongs to another area")]
    OtherArea,
}

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
            What::AtOnce => sums::unmanaged(&asked),
            What::Answer(duals) => {
                self.check(terms, duals)?;
                sums::answers(&asked, terms, duals)
            }
            What::Plans(mixed) => {
                let (settled, prices) = self.settled(terms, mixed, own)?;
                let signals = Signals::new(&asked, terms, &settled, &prices);
                sums::plans(&Plans { asked: &asked, settled: &settled, signals: &signals })
            }
        };
        Ok(sums::merged(sums))
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
    pub fn errors(&self) -> &[(usize, crate::area::fleet::RowError)] {
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

/// Cuts all vehicles into at most `parts` parts of whole blocks, much of a size.
pub(crate) fn deal(stays: &Stays, parts: usize) -> Vec<Share> {
    let (count, mut shares) = (stays.each.len(), Vec::new());
    let (mut start, mut vehicles) = (0, 0);
    for (at, block) in stays.blocks.iter().enumerate() {
        let wanted = (shares.len() + 1) * count / parts.max(1);
        let is_last = at + 1 == stays.blocks.len();
        if is_last || block.stays.end >= wanted {
            shares.push(share(stays, start..at + 1, vehicles..block.stays.end));
            (start, vehicles) = (at + 1, block.stays.end);
        }
    }
    if shares.is_empty() {
        shares.push(share(stays, 0..0, 0..0));
    }
    if let Some(last) = shares.last_mut() {
        last.rows.extend(stays.errors.iter().map(|(row, _)| *row as u32));
    }
    shares
}

fn share(stays: &Stays, blocks: Range<usize>, vehicles: Range<usize>) -> Share {
    let block = |block: &crate::area::stays::Block| (block.stays.len(), block.group, block.node);
    let place = Place {
        first: vehicles.start,
        blocks: stays.blocks[blocks].iter().map(block).collect(),
        groups: stays.groups,
        by_curve: stays.by_curve,
        priority_max: f64::from(stays.priority_max),
    };
    Share { place, rows: stays.each[vehicles].iter().map(|stay| stay.row).collect() }
}

/// In what the vehicles at some positions are no longer as they were dealt.
pub(crate) fn change(stays: &Stays, at: Range<usize>) -> Change {
    let each = &stays.each[at];
    let reserve = |(position, stay): (u32, &crate::area::stays::Stay)| {
        let store = stays.stores.get(stay.store as usize)?;
        (store.reserve_from > stay.first).then_some((position, store.reserve_from))
    };
    let wishes = |(position, stay): (u32, &crate::area::stays::Stay)| {
        Some((position, stays.wishes.get(stay.wishes as usize)?.change()?))
    };
    Change {
        wishes: (0..).zip(each).filter_map(wishes).collect(),
        needs: stays.is_cut.then(|| each.iter().map(|stay| stay.need).collect()),
        reserves: (0..).zip(each).filter_map(reserve).collect(),
    }
}

/// What vehicles at some positions have that was planned anew.
pub(crate) fn anew(settled: &Settled, at: &Range<usize>) -> Vec<(u32, Taken)> {
    let found = settled.anew.range(at.start as u32..at.end as u32);
    found.map(|(&position, taken)| (position - at.start as u32, taken.clone())).collect()
}

impl AreaPlan {
    /// What parts have to be told so that they write the plans of their rows:
    /// a question for all, and for each part what is for it alone.
    #[must_use]
    pub fn told(&self, places: &[Place]) -> (Question, Vec<(Own, Change)>) {
        let what = What::Plans(Mix::new(&self.settled, &self.prices));
        let question = Question { worth: self.worth, is_free: false, what };
        let unmet = self.unmet_by_position();
        let own = |place: &Place| {
            let at = place.first..place.first + place.vehicles();
            let from = unmet.partition_point(|(position, _)| *position < at.start);
            let to = unmet.partition_point(|(position, _)| *position < at.end);
            let here = unmet[from..to].iter();
            let unmet_kwh = here.map(|&(position, kwh)| ((position - at.start) as u32, kwh));
            let own = Own { anew: anew(&self.settled, &at), unmet_kwh: unmet_kwh.collect() };
            (own, change(&self.stays, at))
        };
        (question, places.iter().map(own).collect())
    }
}

#[cfg(test)]
mod tests;

//! Price curves that may come true: the states of a Markov chain, or the branches of a tree.
use chrono::{DateTime, Utc};

use crate::plan::policy::price_states::{
    PriceNode, PriceStates, PriceStatesError, check_distribution,
};
use crate::prices::curve::PriceCurve;
use crate::time::horizon::Horizon;
use crate::time::instant::instant_at;
use crate::units::Price;

/// Part of a tree of prices: certain once it has begun, followed by branches.
#[derive(Debug, Clone, Copy)]
pub struct PriceBranch<'a> {
    /// Position of the branch that this one follows, or none for the first. It comes before this
    /// one.
    pub parent: Option<usize>,
    /// Probability of this branch once the one before it has ended.
    pub probability: f64,
    /// Prices of the branch.
    pub curve: &'a PriceCurve,
}

/// Price curves that are no states or branches of one another.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum UncertainPricesError {
    /// Probabilities that are none, or lists of other lengths.
    #[error(transparent)]
    States(#[from] PriceStatesError),
    /// Curve without a price.
    #[error("{list}[{index}] has no price; give it at least one slot")]
    NoPrice {
        /// List of the curves.
        list: &'static str,
        /// Position of the curve.
        index: usize,
    },
    /// Curves whose slots differ.
    #[error(
        "{list}[{index}] has {} where {list}[{first}] has {}; all have the same slots",
        tell_slot(*found), tell_slot(*expected)
    )]
    OtherSlots {
        /// List of the curves.
        list: &'static str,
        /// Position of the curve.
        index: usize,
        /// Position of the curve that it is compared with.
        first: usize,
        /// Its slot, if it has one there.
        found: Option<(DateTime<Utc>, DateTime<Utc>)>,
        /// Slot of the other curve.
        expected: Option<(DateTime<Utc>, DateTime<Utc>)>,
    },
    /// Branch that begins before the one it follows has ended.
    #[error("then[{index}] starts at {start}, before the prices ahead of it end at {end}")]
    Early {
        /// Position of the branch among those that follow the same one.
        index: usize,
        /// Start of the branch.
        start: DateTime<Utc>,
        /// End of the branch before.
        end: DateTime<Utc>,
    },
}

/// A slot in words.
fn tell_slot(slot: Option<(DateTime<Utc>, DateTime<Utc>)>) -> String {
    slot.map_or_else(|| "no slot".to_owned(), |(start, end)| format!("{start} to {end}"))
}

/// Prices by slot and state, with the slots that all states share.
#[derive(Debug, Clone, PartialEq)]
pub struct UncertainPrices {
    pub(crate) horizon: Horizon,
    pub(crate) states: PriceStates,
}

impl UncertainPrices {
    /// Markov chain with one curve for each state; the rest as in [`PriceStates::markov`].
    ///
    /// # Errors
    /// Curves have no price or differ in their slots, a list has another length than there are
    /// states, or probabilities are none or do not add up to 1.
    pub fn markov(
        curves: &[&PriceCurve],
        transitions: &[Vec<Vec<f64>>],
        first: &[f64],
    ) -> Result<Self, UncertainPricesError> {
        let list = "states";
        let horizon = curves.first().map(|curve| curve.horizon().clone()).unwrap_or_default();
        if horizon.is_empty() {
            return Err(UncertainPricesError::NoPrice { list, index: 0 });
        }
        for (index, curve) in curves.iter().enumerate() {
            check_same_slots((list, index, 0), curve.horizon(), &horizon)?;
        }
        let prices: Vec<Vec<Price>> = (0..horizon.len())
            .map(|slot| curves.iter().map(|curve| price_of(curve, slot)).collect())
            .collect();
        Ok(Self { states: PriceStates::markov(&prices, transitions, first)?, horizon })
    }

    /// Tree of branches, each a curve that is certain once it has begun. States of a slot are its
    /// branches, in their order.
    ///
    /// # Errors
    /// A branch has no price or begins too early, branches differ in their slots, or probabilities
    /// are none or do not add up to 1.
    pub fn tree(branches: &[PriceBranch<'_>]) -> Result<Self, UncertainPricesError> {
        let mut nodes: Vec<PriceNode> = Vec::new();
        // Last node of each branch, and all slots from the first branch to its end.
        let mut last: Vec<usize> = Vec::with_capacity(branches.len());
        let mut paths: Vec<Vec<(i64, i64)>> = Vec::with_capacity(branches.len());
        for (index, branch) in branches.iter().enumerate() {
            let (mut parent, mut path) = match branch.parent {
                None => (None, Vec::new()),
                Some(parent) if parent < index => (Some(last[parent]), paths[parent].clone()),
                Some(parent) => return Err(PriceStatesError::Parent { node: index, parent }.into()),
            };
            let horizon = branch.curve.horizon();
            check_follows(branches, index, &path)?;
            path.extend(horizon.starts().iter().zip(horizon.ends()).map(|(&s, &e)| (s, e)));
            for slot in 0..horizon.len() {
                let probability = if slot == 0 { branch.probability } else { 1.0 };
                nodes.push(PriceNode { parent, probability, price: price_of(branch.curve, slot) });
                parent = Some(nodes.len() - 1);
            }
            last.push(nodes.len() - 1);
            paths.push(path);
        }
        check_branches(branches)?;
        let is_leaf = |index: &usize| !branches.iter().any(|branch| branch.parent == Some(*index));
        let leaves: Vec<usize> = (0..branches.len()).filter(is_leaf).collect();
        let horizons: Vec<Horizon> = leaves.iter().map(|&leaf| horizon_of(&paths[leaf])).collect();
        let Some(horizon) = horizons.first() else {
            return Err(UncertainPricesError::NoPrice { list: "prices", index: 0 });
        };
        for (index, other) in horizons.iter().enumerate() {
            check_same_slots(("paths", index, 0), other, horizon)?;
        }
        Ok(Self { states: PriceStates::tree(&nodes)?, horizon: horizon.clone() })
    }

    /// Certain prices: one state.
    ///
    /// # Errors
    /// The curve has no price.
    pub fn certain(curve: &PriceCurve) -> Result<Self, UncertainPricesError> {
        Self::markov(&[curve], &[vec![vec![1.0]]], &[1.0])
    }
}

/// Price of a slot of a curve.
fn price_of(curve: &PriceCurve, slot: usize) -> Price {
    Price::from_per_kwh(curve.prices()[slot]).expect("prices of a curve are finite")
}

/// Horizon of slots that follow each other.
fn horizon_of(path: &[(i64, i64)]) -> Horizon {
    Horizon::from_micros(path.iter().copied()).expect("branches follow each other")
}

/// Checks that a branch has a price, and begins when the one before it has ended.
fn check_follows(
    branches: &[PriceBranch<'_>],
    index: usize,
    path: &[(i64, i64)],
) -> Result<(), UncertainPricesError> {
    let branch = &branches[index];
    let siblings = branches[..index].iter().filter(|other| other.parent == branch.parent);
    let position = siblings.count();
    let list = if branch.parent.is_some() { "then" } else { "prices" };
    let Some(&start) = branch.curve.horizon().starts().first() else {
        return Err(UncertainPricesError::NoPrice { list, index: position });
    };
    match path.last() {
        Some(&(_, end)) if start < end => Err(UncertainPricesError::Early {
            index: position,
            start: instant_at(start),
            end: instant_at(end),
        }),
        _ => Ok(()),
    }
}

/// Checks the probabilities of the branches that follow each branch.
fn check_branches(branches: &[PriceBranch<'_>]) -> Result<(), UncertainPricesError> {
    for parent in (0..branches.len()).map(Some) {
        let after = branches.iter().filter(|branch| branch.parent == parent);
        let mut after = after.map(|branch| branch.probability).peekable();
        if after.peek().is_some() {
            check_distribution("probabilities of then", None, after)?;
        }
    }
    Ok(())
}

/// Checks that the slots of a curve are those of another one.
pub(crate) fn check_same_slots(
    (list, index, first): (&'static str, usize, usize),
    horizon: &Horizon,
    expected: &Horizon,
) -> Result<(), UncertainPricesError> {
    if horizon == expected {
        return Ok(());
    }
    let slots = horizon.len().max(expected.len());
    let slot_of = |horizon: &Horizon, slot| (slot < horizon.len()).then(|| horizon.period(slot));
    let differing = (0..slots).find(|&slot| slot_of(horizon, slot) != slot_of(expected, slot));
    let slot = differing.unwrap_or(0);
    let (found, expected) = (slot_of(horizon, slot), slot_of(expected, slot));
    Err(UncertainPricesError::OtherSlots { list, index, first, found, expected })
}

//! Prices by state, and the probabilities between the states of neighbouring slots.
use crate::tolerance::GAP_MAX;
use crate::units::Price;

/// Node of a tree of prices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriceNode {
    /// Position of the node of the slot before, or none in the first slot. It comes before this one.
    pub parent: Option<usize>,
    /// Probability of this node once its parent has happened.
    pub probability: f64,
    /// Price in the slot of this node.
    pub price: Price,
}

/// Invalid states, probabilities or nodes.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PriceStatesError {
    /// No slot, or a slot without a state.
    #[error("slot {slot} has no price; each slot needs at least one")]
    NoState {
        /// Position of the slot.
        slot: usize,
    },
    /// List of another length than the number of states.
    #[error("{field} has {length} entries for {states} states")]
    Length {
        /// List that is wrong.
        field: &'static str,
        /// Its length.
        length: usize,
        /// Number of states.
        states: usize,
    },
    /// Number of matrices that is neither one nor one between each two slots.
    #[error(
        "{matrices} transition matrices for {slots} slots; give one, or one between each two slots"
    )]
    Matrices {
        /// Number of matrices.
        matrices: usize,
        /// Number of slots.
        slots: usize,
    },
    /// Negative number, or none, in the place of a probability.
    #[error("{field}{} hold {value}; a probability is 0 to 1", tell_row(*row))]
    Probability {
        /// List that is wrong.
        field: &'static str,
        /// Position of the list, where there are several.
        row: Option<usize>,
        /// The number.
        value: f64,
    },
    /// Probabilities that do not add up to 1.
    #[error("{field}{} add up to {sum}, not to 1", tell_row(*row))]
    Sum {
        /// Probabilities that are wrong.
        field: &'static str,
        /// Position of the list, where there are several.
        row: Option<usize>,
        /// Sum of its probabilities.
        sum: f64,
    },
    /// Node whose parent does not come before it.
    #[error("node {node} has parent {parent}; a parent comes before its children")]
    Parent {
        /// Position of the node.
        node: usize,
        /// Position of its parent.
        parent: usize,
    },
    /// Node without children before the last slot.
    #[error("node {node} has no children, but other branches go on; all end in the same slot")]
    EarlyLeaf {
        /// Position of the node.
        node: usize,
    },
}

/// Position of a list in words.
fn tell_row(row: Option<usize>) -> String {
    row.map(|row| format!(" {row}")).unwrap_or_default()
}

/// Probabilities from the states of one slot to those of the next: nonzero entries by row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Transitions {
    rows: Vec<Vec<(usize, f64)>>,
}

impl Transitions {
    /// Each state is followed by itself.
    fn unchanged(states: usize) -> Self {
        Self { rows: (0..states).map(|state| vec![(state, 1.0)]).collect() }
    }

    /// States of the next slot that may follow `state`, with their probabilities.
    pub(crate) fn after(&self, state: usize) -> &[(usize, f64)] {
        &self.rows[state]
    }
}

/// Prices of each slot in each of its states, and how states follow each other.
#[derive(Debug, Clone, PartialEq)]
pub struct PriceStates {
    /// Prices per kWh, by slot and state.
    prices: Vec<Vec<f64>>,
    /// Probabilities of the states of the first slot.
    first: Vec<f64>,
    /// Distinct matrices: one for all slots, or one between each two.
    transitions: Vec<Transitions>,
}

impl PriceStates {
    /// Markov chain: prices by slot and state, probabilities from state to state, and those of
    /// the first slot. `transitions` holds one matrix for all slots, or one between each two.
    ///
    /// # Errors
    /// A list has another length than there are states, or is no distribution.
    pub fn markov(
        prices: &[Vec<Price>],
        transitions: &[Vec<Vec<f64>>],
        first: &[f64],
    ) -> Result<Self, PriceStatesError> {
        let states = prices.first().map_or(0, Vec::len);
        if states == 0 {
            return Err(PriceStatesError::NoState { slot: 0 });
        }
        for slot in prices {
            check_length("a slot of prices", slot.len(), states)?;
        }
        let slots = prices.len();
        if transitions.len() != 1 && transitions.len() != slots - 1 {
            return Err(PriceStatesError::Matrices { matrices: transitions.len(), slots });
        }
        check_length("first", first.len(), states)?;
        check_distribution("probabilities of first", None, first.iter().copied())?;
        let transitions = transitions.iter().map(|matrix| {
            check_length("a matrix of transitions", matrix.len(), states)?;
            let rows = matrix.iter().enumerate().map(|(row, probabilities)| {
                check_length("a row of a matrix of transitions", probabilities.len(), states)?;
                check_distribution(
                    "probabilities of transitions, row",
                    Some(row),
                    probabilities.iter().copied(),
                )?;
                Ok(keep_positive(probabilities.iter().copied().enumerate()))
            });
            Ok(Transitions { rows: rows.collect::<Result<_, _>>()? })
        });
        Ok(Self {
            transitions: transitions.collect::<Result<_, _>>()?,
            prices: prices
                .iter()
                .map(|slot| slot.iter().map(|price| price.as_per_kwh()).collect())
                .collect(),
            first: first.to_vec(),
        })
    }

    /// Tree of scenarios. Nodes of one slot become its states, in their order.
    ///
    /// # Errors
    /// A parent does not come before its child, a branch ends before the others, or the
    /// probabilities of the children of a node do not add up to 1.
    pub fn tree(nodes: &[PriceNode]) -> Result<Self, PriceStatesError> {
        let places = places_of(nodes)?;
        let slots = places.iter().map(|place| place.slot + 1).max().unwrap_or(0);
        if slots == 0 {
            return Err(PriceStatesError::NoState { slot: 0 });
        }
        let mut prices = vec![Vec::new(); slots];
        let mut first = Vec::new();
        let mut transitions = vec![Transitions { rows: Vec::new() }; slots - 1];
        for (node, place) in nodes.iter().zip(&places) {
            prices[place.slot].push(node.price.as_per_kwh());
            if place.slot + 1 < slots {
                transitions[place.slot].rows.push(Vec::new());
            }
            match node.parent {
                None => first.push(node.probability),
                Some(parent) => transitions[place.slot - 1].rows[places[parent].state]
                    .push((place.state, node.probability)),
            }
        }
        check_distribution("probabilities of the first slot", None, first.iter().copied())?;
        for (index, place) in places.iter().enumerate() {
            let Some(children) = transitions.get(place.slot).map(|step| step.after(place.state))
            else {
                continue;
            };
            if children.is_empty() {
                return Err(PriceStatesError::EarlyLeaf { node: index });
            }
            let probabilities = children.iter().map(|&(_, probability)| probability);
            check_distribution(
                "probabilities of the children of node",
                Some(index),
                probabilities,
            )?;
        }
        for step in &mut transitions {
            for row in &mut step.rows {
                *row = keep_positive(row.iter().copied());
            }
        }
        Ok(Self { prices, first, transitions })
    }

    /// States with prices by slot, probabilities of the first slot, and one list of transitions
    /// between each two slots. The lists fit together.
    pub(crate) fn from_parts(
        prices: Vec<Vec<f64>>,
        first: Vec<f64>,
        transitions: Vec<Vec<Vec<(usize, f64)>>>,
    ) -> Self {
        let transitions = transitions.into_iter().map(|rows| Transitions { rows }).collect();
        Self { prices, first, transitions }
    }

    /// Number of slots.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.prices.len()
    }

    /// Number of states of a slot; zero if there is no such slot.
    #[must_use]
    pub fn states(&self, slot: usize) -> usize {
        self.prices.get(slot).map_or(0, Vec::len)
    }

    /// Price per kWh in a slot and state.
    pub(crate) fn price(&self, slot: usize, state: usize) -> f64 {
        self.prices[slot][state]
    }

    /// Probabilities of the states of the first slot.
    pub(crate) fn first(&self) -> &[f64] {
        &self.first
    }

    /// Probabilities between a slot and the next.
    pub(crate) fn transitions(&self, slot: usize) -> &Transitions {
        let only_one = self.transitions.len() == 1;
        &self.transitions[if only_one { 0 } else { slot }]
    }

    /// Prices without anything to learn: one state a slot, at its expected price.
    #[must_use]
    pub fn expected(&self) -> Self {
        let mut probabilities = self.first.clone();
        let mut prices = Vec::with_capacity(self.slots());
        for slot in 0..self.slots() {
            let mean =
                probabilities.iter().zip(&self.prices[slot]).map(|(share, price)| share * price);
            prices.push(vec![mean.sum()]);
            if slot + 1 < self.slots() {
                probabilities = self.step(slot, &probabilities);
            }
        }
        let certain = Transitions { rows: vec![vec![(0, 1.0)]] };
        Self { prices, first: vec![1.0], transitions: vec![certain] }
    }

    /// Probabilities of the states of each slot.
    pub(crate) fn distributions(&self) -> Vec<Vec<f64>> {
        let mut all = vec![self.first.clone()];
        for slot in 1..self.slots() {
            all.push(self.step(slot - 1, &all[slot - 1]));
        }
        all
    }

    /// Prices of some slots, in rising order. A slot that comes several times is one in parts: its
    /// state stays.
    pub(crate) fn of_slots(&self, slots: &[usize]) -> Self {
        let first = slots.first().copied().unwrap_or(0);
        let first = (0..first).fold(self.first.clone(), |shares, slot| self.step(slot, &shares));
        let is_whole = slots.windows(2).all(|pair| pair[0] != pair[1]);
        let transitions = if is_whole && self.transitions.len() == 1 {
            self.transitions.clone()
        } else {
            let between = |pair: &[usize]| match pair {
                &[from, to] if from == to => Transitions::unchanged(self.states(from)),
                _ => self.transitions(pair[0]).clone(),
            };
            slots.windows(2).map(between).collect()
        };
        let prices = slots.iter().map(|&slot| self.prices[slot].clone()).collect();
        Self { prices, first, transitions }
    }

    /// Distribution over the states of the next slot.
    pub(crate) fn step(&self, slot: usize, probabilities: &[f64]) -> Vec<f64> {
        let mut next = vec![0.0; self.states(slot + 1)];
        let step = self.transitions(slot);
        for (state, share) in probabilities.iter().enumerate() {
            for &(to, probability) in step.after(state) {
                next[to] += share * probability;
            }
        }
        next
    }
}

/// Slot of a node, and its position among the nodes of that slot.
#[derive(Clone, Copy)]
struct Place {
    slot: usize,
    state: usize,
}

/// Places of all nodes.
fn places_of(nodes: &[PriceNode]) -> Result<Vec<Place>, PriceStatesError> {
    let mut places: Vec<Place> = Vec::with_capacity(nodes.len());
    let mut counts: Vec<usize> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let slot = match node.parent {
            None => 0,
            Some(parent) if parent < index => places[parent].slot + 1,
            Some(parent) => return Err(PriceStatesError::Parent { node: index, parent }),
        };
        if counts.len() == slot {
            counts.push(0);
        }
        places.push(Place { slot, state: counts[slot] });
        counts[slot] += 1;
    }
    Ok(places)
}

/// Entries above zero.
fn keep_positive(entries: impl Iterator<Item = (usize, f64)>) -> Vec<(usize, f64)> {
    entries.filter(|&(_, probability)| probability > 0.0).collect()
}

/// Checks that a list has an entry for each state.
fn check_length(field: &'static str, length: usize, states: usize) -> Result<(), PriceStatesError> {
    if length == states { Ok(()) } else { Err(PriceStatesError::Length { field, length, states }) }
}

/// Checks that numbers are probabilities which add up to 1, to [`GAP_MAX`].
pub(crate) fn check_distribution(
    field: &'static str,
    row: Option<usize>,
    probabilities: impl Iterator<Item = f64>,
) -> Result<(), PriceStatesError> {
    let mut sum = 0.0;
    for value in probabilities {
        if !(0.0..=1.0).contains(&value) {
            return Err(PriceStatesError::Probability { field, row, value });
        }
        sum += value;
    }
    if (sum - 1.0).abs() <= GAP_MAX {
        Ok(())
    } else {
        Err(PriceStatesError::Sum { field, row, sum })
    }
}

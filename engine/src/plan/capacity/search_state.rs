//! Evaluations of the battery at levels, and what the searches for the best levels share.
use crate::plan::capacity::groups::PowerCharges;
use crate::plan::capacity::programme::{LevelSolution, Memory, Multipliers, Programme};

/// Largest number of evaluations of one search.
pub(crate) const EVALUATIONS_MAX: usize = 400;

/// Charge of a month in a convex search, above that of the power before: a price per kW, or a fixed
/// charge up to a power.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Term {
    PerKw { price: f64, before: f64 },
    Within { power_max: f64, charge: f64 },
}

/// Battery with the price of its power.
pub(crate) struct Search<'a> {
    pub(crate) programme: &'a Programme,
    pub(crate) groups: &'a PowerCharges,
    /// Highest power that each group can have.
    pub(crate) highest: Vec<f64>,
    pub(crate) memory: Memory,
    pub(crate) evaluations: usize,
}

/// Levels with their path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    pub(crate) evaluation: LevelSolution,
    /// Cost of energy and charge on the relaxation, above the charge of the powers before.
    pub(crate) cost: f64,
    /// Lower bound on the cost of all plans with these terms.
    pub(crate) bound: f64,
    /// Multipliers of that bound.
    pub(crate) multipliers: Multipliers,
}

impl Term {
    /// Least charge of the term.
    pub(crate) fn least(self) -> f64 {
        match self {
            Self::PerKw { .. } => 0.0,
            Self::Within { charge, .. } => charge,
        }
    }
}

impl Found {
    /// Plan whose own multipliers prove its bound.
    pub(crate) fn alone(evaluation: LevelSolution, cost: f64, bound: f64) -> Self {
        let multipliers = evaluation.multipliers.clone();
        Self { evaluation, cost, bound: bound.min(cost), multipliers }
    }
}

impl<'a> Search<'a> {
    pub(crate) fn new(programme: &'a Programme, groups: &'a PowerCharges) -> Self {
        let mut highest = groups.carried();
        for slot in &programme.slots {
            if let Some((group, weight)) = slot.level {
                let power = weight * programme.metered(slot, slot.charge) / slot.hours;
                highest[group] = highest[group].max(power);
            }
        }
        Self { programme, groups, highest, memory: Memory::default(), evaluations: 0 }
    }

    /// Solves the battery at levels.
    pub(crate) fn evaluate_levels(&mut self, levels: &[f64], penalties: &[f64]) -> LevelSolution {
        self.evaluations += 1;
        self.programme.evaluate_levels(levels, penalties, &mut self.memory)
    }
}

//! Evaluation of a plan under other facts: prices that were paid, solar power and load that were
//! measured. The plan is executed as it is; nothing is planned.
#[cfg(feature = "lp")]
pub(crate) mod capacity;
pub(crate) mod connection;
pub(crate) mod evaluate;
pub(crate) mod facts;
#[cfg(feature = "lp")]
pub(crate) mod site;
#[cfg(test)]
mod tests;

#[cfg(feature = "lp")]
pub use capacity::evaluate_capacity;
pub use evaluate::{evaluate_charge, evaluate_heat, evaluate_storage, evaluate_switching};
pub use facts::{
    ConnectionFacts, DemandPrice, EvaluatedCosts, Evaluation, EvaluationError, MeasuredPower,
    MissingFact, MissingFactKind,
};
#[cfg(feature = "lp")]
pub use site::{SiteEvaluationError, SiteFacts, evaluate_site};

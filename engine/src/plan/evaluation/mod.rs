//! Evaluation of a plan under other facts: prices that were paid, solar power and load that were
//! measured. The plan is executed as it is; nothing is planned.
pub(crate) mod connection;
pub(crate) mod evaluate;
pub(crate) mod facts;
#[cfg(feature = "lp")]
pub(crate) mod site;
#[cfg(test)]
mod tests;

pub use evaluate::{evaluate_charge, evaluate_heat, evaluate_storage, evaluate_switching};
pub use facts::{
    ConnectionFacts, DemandPrice, EvaluatedCosts, Evaluation, EvaluationError, MeasuredPower,
    MissingFact, MissingFactKind,
};
#[cfg(feature = "lp")]
pub use site::{SiteEvaluationError, SiteFacts, evaluate_site};

//! Analyses of a plan: the cost of a changed request (`what_if`), energy at risk at an early
//! departure (`departure_risk`), sources of its prices (`price_provenance`), and differences
//! between two plans: in totals (`comparison`), of two that charge (`diff`), in power (`power_diff`).
pub(crate) mod comparison;
pub(crate) mod departure_risk;
pub(crate) mod diff;
pub(crate) mod power_diff;
pub(crate) mod price_provenance;
pub(crate) mod what_if;

pub use comparison::{PlanTotals, TotalsChange};
pub use departure_risk::{
    Departure, DepartureError, DepartureOutcome, EnergyAtRisk, EnergyPoint, InsuranceFrontier,
    InsurancePoint, energy_at_risk, energy_by_time, insurance_frontier,
};
pub use diff::{ChangeCode, PeriodChange, Recorded, diff};
pub use power_diff::{PowerChange, power_changes};
pub use price_provenance::{Provenance, SourceShare, estimates_in, provenance, shares};
pub use what_if::{ChangeError, ChangedInput, WhatIf, costs, one_more_percent, what_if};

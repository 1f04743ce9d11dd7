//! Plans for a battery that also gives back: vehicle-to-grid, and storage that
//! buys cheap and sells dear.
//!
//! With `a_t = p_t / η_c` the cost of a stored kWh, `b_t = q_t·η_d − wear` what
//! one brings, `y_t` and `z_t` stored kWh charged and discharged, `w_t` what
//! driving takes and `v` the value of a kWh stored at the end:
//!
//! ```text
//! minimise    Σ_t a_t·y_t − b_t·z_t − v·(e_T − e_0)
//! subject to  e_t = e_{t−1} + y_t − z_t − w_t
//!             L_t ≤ e_t ≤ H_t,  0 ≤ y_t ≤ A_t,  0 ≤ z_t ≤ B_t
//!             y_t = 0 or z_t = 0;  y_t = 0 or e_t ≤ the charge limit
//! ```
//!
//! `kernel` finds the cheapest path in O(T log T), `branch` closes what the
//! last line leaves open, and `certificate` proves the cost by weak duality.
pub(crate) mod baseline;
pub(crate) mod branch_and_bound;
pub(crate) mod certificate;
pub(crate) mod dynamic_programme;
pub(crate) mod explain;
pub(crate) mod plan;
pub(crate) mod planner;
pub(crate) mod price_slots;
pub(crate) mod request;
pub(crate) mod segments;
pub(crate) mod slots;

pub use branch_and_bound::NODES_MAX;
pub use branch_and_bound::StorageBuffers;
pub use certificate::{
    Searched, StorageCertificate, StorageCertificateError, StorageEvidence, certify,
};
pub use dynamic_programme::{CostAndBound, DynamicProgramme, ProgrammeSlot};
pub use explain::{Counterpart, StorageReason, StorageReasonCode, explain};
pub use plan::{StorageCosts, StorageOutcome, StoragePlan, StorageSlot, Wish, gaps};
pub use planner::{plan_on, plan_storage};
pub use price_slots::PriceSlots;
pub use request::{
    Consumption, EFFICIENCY_MIN, StorageError, StorageLimit, StorageProblem, StorageRequest,
};

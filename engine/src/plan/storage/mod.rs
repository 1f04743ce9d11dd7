//! Plans for one battery that charges and discharges: vehicle-to-grid and stationary storage.
//!
//! # The problem
//!
//! All energies are stored kWh, so the efficiencies are in the prices: a stored kWh costs
//! `a_t = p_t / η_c` to charge and earns `b_t = q_t·η_d − wear` when discharged.
//!
//! ```text
//! minimise    Σ_t (a_t·y_t − b_t·z_t) − v·(e_T − e_0)
//! subject to  e_t = e_{t−1} + y_t − z_t − w_t                balance
//!             L_t ≤ e_t ≤ H_t                                levels
//!             0 ≤ y_t ≤ A_t,  0 ≤ z_t ≤ B_t                  power
//!             y_t = 0  or  z_t = 0                           sign
//!             y_t = 0  or  e_t ≤ C_t                         charge limit
//! ```
//!
//! | Symbol | Meaning | Field |
//! |---|---|---|
//! | `y_t`, `z_t` | energy charged and discharged | `StorageBuffers::change` is `y_t − z_t` |
//! | `e_0` | stored energy at the start | `DynamicProgramme::stored_kwh` |
//! | `e_t` | stored energy after slot `t` | `StorageSlot::stored` |
//! | `p_t`, `q_t` | price at the plug to buy and to sell | `slots::Layout::import`, `export` |
//! | `η_c` | efficiency of charging | `DynamicProgramme::efficiency_charge` |
//! | `η_d` | efficiency of discharging | `DynamicProgramme::efficiency_discharge` |
//! | `wear` | wear per stored kWh discharged | `DynamicProgramme::wear_per_kwh` |
//! | `v` | value of a kWh stored at the end | `DynamicProgramme::end_value_per_kwh` |
//! | `A_t`, `B_t` | most charge and discharge | `ProgrammeSlot::charge_kwh`, `discharge_kwh` |
//! | `w_t` | consumption of driving | `ProgrammeSlot::driving_kwh` |
//! | `L_t`, `H_t` | least and highest level | `ProgrammeSlot::least_kwh`, `most_kwh` |
//! | `C_t` | charge limit | `ProgrammeSlot::limit_kwh` |
//! | `λ_t` | marginal value of a stored kWh | `StorageBuffers::marginal` |
//!
//! # The method
//!
//! | Step | Formula | Code |
//! |---|---|---|
//! | levels | `L_t` from reserve and targets, at most what the fullest path reaches | `slots` |
//! | relaxation | `F_t(e) = min_x { F_{t−1}(e − x + w_t) + c_t(x) }` | `dynamic_programme` |
//! | its function `F_t` | segments by slope | `segments` |
//! | sign, charge limit | branch and bound over the slots that break a rule | `branch_and_bound` |
//! | dual bound | weak duality with the marginal values `λ_t` | `certificate` |
//!
//! The relaxation is a dynamic programme whose value function `F_t` is convex and piecewise linear,
//! and is kept as segments (the *segment method*). It takes `O(T·k)` for `T` slots and at most `k`
//! segments in the list, some tens. No branching is needed if `a_t ≥ b_t` in all slots and the
//! battery is never above its charge limit. The certificate states cost and bound, so a search that
//! a limit stopped reports its gap.
//!
//! With a plan before (`StorageRequest::previous`), the plan nearest to it within a budget follows
//! from the cheapest one by a linear programme (`stay_near`, feature `lp`).
pub(crate) mod baseline;
pub(crate) mod behind_meter;
pub(crate) mod branch_and_bound;
pub(crate) mod breach_price;
pub(crate) mod certificate;
pub(crate) mod dynamic_programme;
pub(crate) mod explain;
pub(crate) mod plan;
pub(crate) mod planner;
pub(crate) mod price_slots;
pub(crate) mod request;
pub(crate) mod segments;
pub(crate) mod slots;
#[cfg(feature = "lp")]
pub(crate) mod stay_near;
pub(crate) mod verify;

pub use baseline::emissions;
pub use branch_and_bound::NODES_MAX;
pub use branch_and_bound::StorageBuffers;
pub use breach_price::find_breach_price;
pub use certificate::{
    Searched, StorageCertificate, StorageCertificateError, StorageEvidence, certify,
};
pub use explain::{
    Counterpart, StockUsed, StorageReason, StorageReasonCode, explain, explain_stock,
};
pub use plan::{StorageCosts, StorageOutcome, StoragePlan, StorageSlot, Wish, gaps};
pub use planner::{plan_on, plan_storage};
pub use price_slots::PriceSlots;
pub use request::{
    Consumption, EFFICIENCY_MIN, StorageError, StorageLimit, StorageProblem, StorageRequest,
};
pub use verify::verify;

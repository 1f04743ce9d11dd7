//! Planner of one vehicle that only charges: the cheapest energy before every deadline.
//!
//! # The problem
//!
//! The price curve is cut into sub-slots `t` of one price and one power limit. `S_k` is the set
//! of sub-slots that end by deadline `k`, so that `S_1 ⊆ S_2 ⊆ … ⊆ S_K`, and `r_1 ≤ … ≤ r_K`
//! are the energies wanted by then, counted from the start:
//!
//! ```text
//! minimise    Σ_t p_t·x_t
//! subject to  Σ_{t in S_k} x_t ≥ r_k          every deadline k
//!             Σ_t x_t = r_K                   or  ≤ E_max, if the request has an energy_max
//!             f_t ≤ x_t ≤ u_t                 every sub-slot t
//! ```
//!
//! `f_t` is energy that is charged at once, in time order and at any price: the reserve, or all
//! that a deadline wants which cannot be met. If `f` alone exceeds `r_K`, then `f` is the plan.
//!
//! | Symbol | Code |
//! |---|---|
//! | `p_t`, `u_t`, `x_t` | `SubSlot::price`, `SubSlot::capacity()`, `SubSlot::bought` |
//! | `k(t)`, the first `k` with `t` in `S_k` | `SubSlot::deadline` |
//! | `r_k` | `Deadline::energy` after `nest`, [`Requirement::energy`] |
//! | `E_max` | [`ChargeRequest::energy_max`] |
//! | `Σ_t f_t` | [`ChargeEvidence::at_once`] |
//! | `M_k` | [`Requirement::marginal_price`] |
//! | `W` | [`ChargeEvidence::surplus_price`] |
//!
//! # The greedy rule
//!
//! 1. Buy `f`.
//! 2. For `k = 1, …, K`: buy in the cheapest free sub-slots of `S_k` until they hold `r_k`.
//! 3. With an `energy_max`: buy in sub-slots of negative price, cheapest first, up to `E_max`.
//!
//! Of equal prices the earlier sub-slot is bought first. Energy that was bought is never moved.
//!
//! # Optimality
//!
//! The unused energies `u − x` are bounded from above on nested sets, so they form a polymatroid,
//! on which a greedy choice is optimal \[1\]. Here the greedy runs deadline by deadline; that it
//! reaches the optimum also follows from duality. Let `M_k` be the greatest of the prices of the
//! last purchases for the deadlines `k, …, K` and of `W` (of the lowest price, without an
//! `energy_max`). Then `M` falls in `k`, and
//!
//! - a sub-slot that holds more than `f_t` has `p_t ≤ M_{k(t)}`;
//! - a sub-slot with free energy has `p_t ≥ M_{k(t)}`, or it would have been bought before;
//! - where `M_k > M_{k+1}`, the sub-slots of `S_k` hold exactly `r_k`: a later purchase in `S_k`
//!   costs at most `M_{k+1}`, and deadline `k` would have bought it already.
//!
//! These are the conditions of complementary slackness, so that the dual bound at `M` equals the
//! cost. [`certify`] computes that bound; the docs of `certificate` have its formula.
//!
//! # Code
//!
//! `request` and `vehicle` check the input, `sub_slots` cuts the curve, `greedy` plans. A single
//! target at constant power needs no cutting and no sorting (`single_target`, `selection`).
//! `certificate` proves a plan, `verify` checks the certificate and `verify_plan` the plan against its
//! request, `explain`, `gaps` and `forgone` describe it.
//!
//! # References
//!
//! 1. J. Edmonds, Submodular functions, matroids, and certain polyhedra, in: Combinatorial
//!    Structures and Their Applications (1970).
pub(crate) mod baseline;
pub(crate) mod certificate;
pub(crate) mod duration;
pub(crate) mod explain;
pub(crate) mod forgone;
pub(crate) mod gaps;
pub(crate) mod greedy;
pub(crate) mod plan;
pub(crate) mod request;
pub(crate) mod selection;
pub(crate) mod single_target;
pub(crate) mod sub_slots;
pub(crate) mod vehicle;
pub(crate) mod verify;
pub(crate) mod verify_plan;

pub use crate::tolerance::GAP_MAX;
pub use baseline::{emissions, unmanaged_cost};
pub use certificate::{Certificate, CertificateError, ChargeEvidence, Requirement, certify};
pub use duration::{DurationError, DurationRequest};
pub use explain::{ChargeReasonCode, Reason, RunnerUp, explain};
pub use forgone::{Forgone, forgone};
pub use gaps::{Gap, MissedTarget, MissingPrice, gaps};
pub use greedy::plan_charge;
pub use plan::{Plan, PlannedSlot, Purchase, Purpose, TargetOutcome};
pub use request::{
    AfterDeadline, ChargeProblem, ChargeRequest, ChargeRequestError, PowerLimit, Target,
};
pub use selection::slot_selection::{SlotSelection, SlotSet};
pub use vehicle::{Battery, CAPACITY_MIN_KWH, SocTarget, VehicleError, VehicleRequest};
pub use verify::verify;
pub use verify_plan::verify_plan;

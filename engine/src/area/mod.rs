//! Plans of many vehicles under limits that they share.
//!
//! # The problem
//!
//! Vehicle `v` chooses energies `x_v` per slot from a set `X_v`: its stay, power, deadlines
//! and battery. Limits `l` on the load of a node couple the vehicles below it:
//!
//! ```text
//! minimise   Σ_v ( c_v·x_v + w_v(shortfall of x_v) )  +  Σ_l f_l( A_l Σ_v x_v )
//! ```
//!
//! `c_v` are the prices of energy, `w_v` is a penalty on energy that is not delivered, and
//! `A_l` picks the load of a node, slot by slot. Each `f_l` is convex and zero up to a bound;
//! above it, it is infinite (a hard limit), linear (a limit with a price), linear in the
//! highest power (a peak) or quadratic (a load to follow).
//!
//! # The method
//!
//! Dantzig-Wolfe decomposition \[1\], \[2\]: prices `λ` on the limits take the vehicles apart.
//!
//! | Step | Formula | Code |
//! |---|---|---|
//! | pricing problem of `v` | `min { c_v·x + w_v + Σ_l λ_l·A_l x : x in X_v }` | `pricing::oracle`, `by_deadline`, `by_segments` |
//! | column | cost, shortfall and loads of one group of vehicles at one `λ` | `column_generation::master::Column` |
//! | restricted master | `min Σ_gk θ_gk·cost_gk + Σ_l f_l(Σ_gk θ_gk·load_gk)`, `Σ_k θ_gk = 1`, `θ >= 0` | `column_generation::master` |
//! | dual bound | `Σ_v pricing problem  -  Σ_l f_l*(λ_l)`, for any `λ`; `f*` is the conjugate | `column_generation::pricing_round`, `model::linking` |
//! | smoothing | `λ = α·(λ of the best bound) + (1 - α)·(λ of the master)` \[3\] | `column_generation::smoothing` |
//!
//! A round prices all vehicles, adds the columns with a negative reduced cost and solves the
//! master. It ends when cost and bound meet to the gap asked for. Rows of limits enter the
//! master when a solution violates them. Prices for a large fleet are found on samples first.
//! Areas with many feeders have two levels (`two_level`): a master for the limits above, and
//! one for each feeder.
//!
//! # From columns to plans
//!
//! Each vehicle follows one column of its group, in proportion to `θ`, spread by multiples of
//! the golden ratio (`recovery::plans`). What that leaves above a hard limit is planned anew in the
//! capacity that others leave, and capacity that is left over is used (`recovery::repair`). The gap that is
//! reported is that of these plans.
//!
//! # Shortage
//!
//! Where limits leave less than all needs, a first search has free energy and a penalty that
//! rises with each tenth of a need. It ends with as little shortfall as possible, and vehicles of
//! one node that miss one deadline share it in proportion to need and priority
//! (`shortage`). A second search serves what is left at the least cost. Small areas with vehicles
//! that are on or off are one mixed-integer programme instead (`mixed_integer`).
//!
//! # Determinism
//!
//! Energies are whole numbers of 1 µWh (`micro_wh`). Vehicles are priced in blocks of 4,096, and
//! the sums of blocks are added in their order, so that threads and machines change no bit.
//!
//! # Layers
//!
//! Each folder uses those above it only: `problem`, `model`, `pricing`, `distributed`,
//! `column_generation`, `recovery`, `solve`, `shortage`, `report`; then `worker` and `plan_area`.
//!
//! # References
//!
//! 1. G. B. Dantzig, P. Wolfe, Decomposition principle for linear programs, Operations Research
//!    8 (1960).
//! 2. M. E. Lübbecke, J. Desrosiers, Selected topics in column generation, Operations Research
//!    53 (2005).
//! 3. P. Wentges, Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming,
//!    International Transactions in Operational Research 4 (1997). The schedule of `α` is ours.
pub(crate) mod column_generation;
pub mod distributed;
pub(crate) mod model;
pub(crate) mod plan_area;
pub(crate) mod pricing;
pub(crate) mod problem;
pub(crate) mod recovery;
pub(crate) mod report;
pub(crate) mod shortage;
pub(crate) mod solve;
mod worker;

pub use distributed::observer::{Observer, Progress, SavedColumn, SavedRound, Workers};
pub use plan_area::{plan_area, plan_area_observed};
pub use pricing::block_loads::BlockLoad;
pub use problem::area_problem::{AreaError, AreaProblem, AreaVehicles, StorageColumns};
pub use problem::limits::{Limit, Node, PriceBlock, Profile, base_loads_kw};
pub use problem::options::{AreaOptions, WarmStart};
pub use report::close_to::PlanChange;
pub use report::outcome::{AreaPlan, LoadAndCost, NodeOutcome, ShadowPrice, Status, Unmet};
pub use report::table::AreaNumbers;
pub use worker::Worker;

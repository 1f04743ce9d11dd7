//! Plans of many vehicles under limits that they share.
//!
//! # The problem
//!
//! Vehicle `v` chooses energies `x_v` by slot from a set `X_v`: its session, power, deadlines and
//! battery. Limits `l` on the load `y_l` of a node couple the vehicles below it:
//!
//! ```text
//! minimise   Σ_v ( c_v(x_v) + w_v(x_v) )  +  Σ_l f_l(y_l) ,     y_l = s_l·Σ_(v below l) x_v
//! ```
//!
//! `c_v` is the cost of energy, `w_v` a penalty on the shortfall, the energy that is not delivered.
//! The sign `s_l` is 1 for limits on import and -1 for limits on export. Each `f_l` is convex. Up
//! to bounds `b_l` it is zero; above them it is infinite (a hard limit), linear (a limit with a
//! price), or linear in the highest power (a peak). For a load to follow it is zero at `b_l` alone,
//! and linear or quadratic on both sides.
//!
//! # The method
//!
//! Dantzig-Wolfe decomposition \[1\], \[2\]: duals `λ` on the limits separate the vehicles.
//!
//! ```text
//! pricing problem     P_v(λ) = min { c_v(x) + w_v(x) + π_v·x : x in X_v }
//!                     π_vt = Σ_(l above v) s_l·λ_lt
//! restricted master   min Σ_gk θ_gk·cost_gk + Σ_l f_l( s_l·Σ_gk θ_gk·load_gkl )
//!                     with Σ_k θ_gk = 1 for each group g, θ >= 0
//! Lagrangian bound    D(λ) = Σ_v P_v(λ) - Σ_l f_l*(λ_l)  <=  objective of any plan, for any λ
//! dual smoothing      λ = α·(λ of the best bound) + (1 - α)·(λ of the master)          [3]
//! ```
//!
//! A column `k` is the aggregate response of a group `g` of vehicles at one `λ`, and `f*` is the
//! conjugate of `f`. A round solves the pricing problems of all vehicles, adds the columns with a
//! negative reduced cost, and solves the master. The search ends when cost and bound meet to the
//! requested gap. The row of a limit and slot enters the master when a solution violates it.
//!
//! | Symbol | Meaning | Code |
//! |---|---|---|
//! | `x_v` | energy by slot, in µWh | `EnergyBySlot` |
//! | `x_u` | energy of a heat unit by step, in µWh | `RoomPlan` |
//! | `q_u·M` | price of a degree-hour | `AreaRoom::degree_hour_price` |
//! | `X_v` | session, deadlines, battery | `Session`, `Deadlines`, `Battery` |
//! | `c_v` | prices to buy and to sell | `PricingContext::curves`, `export` |
//! | `w_v` | shortfall penalty | `ShortfallPenalty` |
//! | `s_l`, `b_l`, `f_l` | sign, bounds in kWh, penalty | `LinkingConstraint` |
//! | `f_l*` | conjugate | `LinkingConstraints::conjugate` |
//! | `λ_lt` | duals per kWh, by slot | `MasterSolution::duals` |
//! | `π_vt` | part of the effective price that limits add | `LinkingConstraints::dual_price` |
//! | `P_v` | pricing problem | `pricing::pricing_problem`, `by_deadline`, `by_segments` |
//! | `P_v`, all `v` | pricing round | `PricingOracle::solve` |
//! | `cost_gk`, `load_gkl` | column | `Column::cost`, `loads` |
//! | `θ_gk` | weights | `MasterSolution::weights` |
//! | `D(λ)` | bound | `PricingOracle::bound_of`, best so far in `SearchState::bound` |
//! | `α` | smoothing weight | `DualSmoothing` |
//!
//! A large fleet is planned by the mix of columns of a sample (`solve::sampled_plans`). Where those
//! plans miss the gap, rounds of all vehicles start from duals of samples (`solve::sampling`). Areas
//! with many feeders have two levels (`two_level`): a master for the limits above, and one for each
//! feeder.
//!
//! # From columns to plans
//!
//! Each vehicle follows one column of its group, in proportion to `θ`, spread by multiples of the
//! golden ratio (`recovery::plans`). A divisible vehicle that is a group of its own follows the
//! convex combination. If these plans miss the gap, a second attempt lets the divisible vehicles of
//! larger groups follow it too (`solve::recover`). Vehicles that exceed a hard limit are planned
//! again in the residual capacity, and residual capacity is used where it lowers cost or shortfall
//! (`recovery::repair`). The reported gap is that of these plans.
//!
//! # Heat units
//!
//! A heat unit is a group of its own, with one column for each round. Its pricing problem is the exact
//! plan of its room at the effective prices, with degree-hours at a price (`pricing::price_room`). Its
//! plan is the convex combination of its columns (`recovery::room_plans`). With the cost `c_u` and the
//! degree-hours `D_u` of unit `u` of priority `q_u`, the objective has the terms
//!
//! ```text
//! Σ_u ( c_u(x_u) + q_u·M·D_u(x_u) )
//! ```
//!
//! `M` puts comfort before money, and the penalty on shortfall the needs of vehicles before comfort
//! (`model::rooms`). In the search for the least shortfall only duals count for a unit. Units are priced
//! in the process that runs the master, not on workers, and areas with units have one level.
//!
//! # Shortage
//!
//! If limits leave less than all needs, reserves are delayed first. Then a search with free energy
//! and a penalty that rises with each tenth of a need finds the least shortfall. Vehicles `v` of
//! one node that miss one deadline share its sum `S` in proportion to need over priority `q_v`:
//!
//! ```text
//! share_v = min( need_v, S·(need_v / q_v) / Σ_u (need_u / q_u) )
//! ```
//!
//! A last search serves the reduced needs at least cost (`shortage`). Small areas with indivisible
//! vehicles, which are on or off, and without heat units are one mixed-integer programme instead
//! (`mixed_integer`).
//!
//! # Determinism
//!
//! Energies are whole numbers of 1 µWh (`micro_wh`), so that their sums are exact in any order.
//! Vehicles are priced in blocks of at most 4,096. Money is added up block by block, in the order
//! of the blocks, so that the number of threads and machines does not change a bit.
//!
//! # Layers
//!
//! Each folder uses those above it only: `problem`, `model`, `pricing`, `distributed`,
//! `column_generation`, `recovery`, `solve`, `shortage`, `report`, `verification`; then `worker`,
//! `plan_area` and `scenarios`.
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
pub mod scenarios;
pub(crate) mod shortage;
pub(crate) mod solve;
pub(crate) mod verification;
mod worker;

pub use distributed::observer::{
    Hooks, Observer, Progress, RoundStore, SavedColumn, SavedRound, Workers,
};
pub use plan_area::{plan_area, plan_area_with};
pub use pricing::block_loads::BlockLoad;
pub use problem::area_problem::{AreaError, AreaProblem, AreaVehicles, StorageColumns};
pub use problem::limits::{Limit, Node, PriceBlock, Profile, base_loads_kw};
pub use problem::options::{AreaOptions, WarmStart};
pub use report::close_to::PlanChange;
pub use report::forgone::VehicleForgone;
pub use report::heat_units::{HeatUnitPlan, HeatUnitReason, HeatUnitReasonCode};
pub use report::outcome::{AreaPlan, LoadAndCost, NodeOutcome, ShadowPrice, Status, Unmet};
pub use report::table::AreaNumbers;
pub use verification::check_vehicle::VehicleCheck;
pub use verification::heat_units::{HeatUnitCheck, StatedHeatUnit};
pub use verification::verify::{AreaVerification, StatedArea, verify_area};
pub use worker::Worker;

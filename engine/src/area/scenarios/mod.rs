//! Charging of many vehicles behind one limit while prices and limit are uncertain.
//!
//! # The problem
//!
//! Slots that start before the instant `known_from` are *shared*: what is charged in them is decided
//! before the scenario is known. Later slots exist once for each scenario. A node `n` is a shared
//! slot, or a later slot in one scenario:
//!
//! ```text
//! minimise    Σ_n π_n·p_n·Σ_v x_vn  +  v·Σ_s π_s·Σ_v m_vs
//! subject to  Σ_(n in s) x_vn + m_vs = E_v     for each vehicle v and scenario s
//!             Σ_v x_vn ≤ L_n                   for each node n
//!             0 ≤ x_vn ≤ u_vn,  m_vs ≥ 0
//! ```
//!
//! This is the deterministic equivalent of a two-stage stochastic programme with recourse (J. R.
//! Birge, F. Louveaux, *Introduction to Stochastic Programming*, 2nd edition, section 3.1).
//!
//! | Symbol | Meaning | Code |
//! |---|---|---|
//! | `π_s`, `π_n` | probability of a scenario; of a node, 1 if it is shared | `ScenarioProblem::probabilities`, `TreeNode::probability` |
//! | `p_n` | price of a kWh | `TreeNode::price` |
//! | `L_n` | energy that the limit leaves beside the base load, at least 0 | `TreeNode::capacity_kwh` |
//! | `E_v`, `u_vn` | energy wanted, and most energy of a slot, in µWh | `ScenarioVehicle` |
//! | `v` | price of missing energy | `ScenarioProblem::shortfall_price` |
//! | `m_vs` | energy that is missing at departure | [`ScenarioPlan::shortfall_kwh`] |
//!
//! # The method
//!
//! Column generation as in [`area`](crate::area), with the nodes `n` as the slots of its restricted
//! master. At duals `λ_n` each vehicle alone minimises its cost at the node prices
//! `c_n = π_n·p_n + λ_n`:
//!
//! ```text
//! P_v(λ) = min over e of  C_v(e) + Σ_s C_vs(E_v − e)
//! D(λ)   = Σ_v P_v(λ) − Σ_n λ_n·L_n   ≤   expected cost of every plan, for any λ ≥ 0
//! ```
//!
//! `C_v(e)` is the cost of `e` in the shared slots and `C_vs(r)` that of `r` in the later ones of
//! scenario `s`, both convex and piecewise linear: the cheapest slots first, and then missing energy
//! at `π_s·v`. So `e` rises until its marginal cost meets the sum of the later ones.
//!
//! No vehicle has a least power, so a convex combination of columns is a plan. Where it exceeds `L_n`
//! all vehicles are curtailed in proportion, and each kWh taken away costs `π_n·(v − p_n)`. The
//! master has the largest of these costs as its price on energy above `L_n`, and is never infeasible.
//!
//! | Step | Code |
//! |---|---|
//! | vehicles, scenarios and their nodes, checked | `problem` |
//! | `P_v(λ)` | `node_prices` |
//! | rounds | `search` |
//! | from columns to plans | `planner` |
//! | the plan by scenario | `plan` |
//! | plans for mean prices, and with perfect information | `comparison` |
//! | decisions in sentences | `explain` |
//! | cost, rules and bound from the plan and `λ` alone | `verify` |
pub(crate) mod comparison;
pub(crate) mod explain;
pub(crate) mod node_prices;
pub(crate) mod plan;
pub(crate) mod planner;
pub(crate) mod problem;
pub(crate) mod search;
pub(crate) mod verify;

pub use comparison::ScenarioComparison;
pub use explain::{ScenarioReason, ScenarioReasonCode, explain};
pub use plan::{ScenarioInterval, ScenarioPlan};
pub use planner::plan_area_scenarios;
pub use problem::{AreaScenario, ScenarioError, ScenarioProblem};
pub use search::ScenarioOptions;
pub use verify::{StatedScenarios, verify};

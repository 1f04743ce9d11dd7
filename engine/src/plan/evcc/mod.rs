//! The optimiser contract of evcc: a request with prices, forecasts and batteries per step, and the
//! schedule of the highest value.
//!
//! The contract is the `OpenAPI` file of `github.com/evcc-io/optimizer` (MIT licence). Its fields keep
//! their names, so that a request reads as the contract does; energies are in Wh, powers in W and
//! prices per Wh there. It is a planner of its own because its goals have prices: a missed goal
//! costs 100 times the highest price, where `plan::site` misses the least energy before it looks at
//! money.
//!
//! # The problem
//!
//! Step `t` takes `dt_t` seconds. The site imports `n_t` and exports `e_t`; `x_t` is imported above
//! the limit, and `z_t` is lost above the export limit. Battery `i` charges `c_it` and discharges
//! `d_it`, which leaves `s_it`. With the highest price `b` of the request:
//!
//! ```text
//! maximise    Σ_t p_E·e_t − p_N·(n_t + x_t) + Σ_i p_a·s_iT    money
//!             − r·X                                           demand rate on the highest x
//!             − 100·b·(x_t without a rate, z_t, goals missed, demand missed)
//!             − 1000·b·(energy outside s_min to s_max)
//!             ± strategies                                     small weights
//! subject to  n + x − e − z = gt − ft + Σ_i (c − d)
//!             s_it = s_i,t−1 + η_c·c_it − d_it/η_d,  0 ≤ s_it ≤ s_capacity
//!             n ≤ p_max_imp,  e ≤ p_max_exp,  x ≤ X
//! exclusive   import and export,  c_it and d_it
//!             c_it and import without charge_from_grid
//!             d_it and export without discharge_to_grid
//! on or off   c_it = 0 or c_it ≥ c_min; less if demanded and full but for one step at c_min
//! full        a demand is not missed once s_it = s_max
//! ```
//!
//! # Map
//!
//! | File | What it decides |
//! |---|---|
//! | `request`, `check` | the request and its validation |
//! | `weights` | weights of the objective |
//! | `columns`, `rows` | the linear relaxation |
//! | `rules` | the rules that need binaries, and which of them values break |
//! | `rounding` | a schedule near some values that keeps all rules |
//! | `planner` | relaxation, binaries in rounds, schedule |
//! | `schedule` | the response, from charges and discharges alone |
//! | `reasons` | a sentence per step |
pub(crate) mod check;
pub(crate) mod columns;
pub(crate) mod planner;
pub(crate) mod reasons;
pub(crate) mod request;
pub(crate) mod rounding;
pub(crate) mod rows;
pub(crate) mod rules;
pub(crate) mod schedule;
pub(crate) mod weights;

pub use check::EvccError;
pub use planner::plan_evcc;
pub use reasons::explain;
pub use request::{
    ChargingStrategy, DischargingStrategy, EvccBattery, EvccGrid, EvccRequest, EvccSteps,
    EvccStrategy,
};
pub use schedule::{BatterySchedule, EvccSchedule, EvccStatus, LimitViolations};

//! Plans for one device with a minimum power, start costs, and minimum up and down times
//! (single-unit commitment).
//!
//! Examples are a charger that does not run below six amperes, a contactor that wears with
//! every click, and a heat pump that must not stop at once. [`plan_switching`] finds the
//! cheapest plan; its input is a [`SwitchingRequest`].
//!
//! # The problem
//!
//! Slots `t = 1..T` of length `h_t` at price `p_t`. The device is on or off for whole slots,
//! at constant power within each:
//!
//! ```text
//! minimise    Σ_t p_t·x_t + c·Σ_t v_t
//! subject to  P_min·h_t·u_t ≤ x_t ≤ P_max·h_t·u_t          energy, but for the top-off
//!             Σ_t x_t = E                                  need
//!             v_t ≥ u_t − u_t−1                            starts
//!             Σ_t v_t + v_0 ≤ S                            sessions
//!             v_i = 1          ⇒  u_t = 1 for D_on from i   least time on
//!             a stop before i  ⇒  u_t = 0 for D_off from i  least time off
//! ```
//!
//! | Symbol | Meaning | Field |
//! |---|---|---|
//! | `x_t` | energy of slot `t`, kWh | `path_search::FoundSchedule::kwh` |
//! | `u_t` | 1 if slot `t` is on | `graph::Edge::run` |
//! | `v_t` | 1 if a session starts with slot `t` | `graph::Edge::starts` |
//! | `v_0` | 1 if a session is carried over from before, part of `S` | |
//! | `p_t` | price per kWh | `timeline::Step::price` |
//! | `P_min·h_t`, `P_max·h_t` | least and most energy, kWh | `timeline::Step::least`, `most` |
//! | `c` | cost of one start | `timeline::Timeline::start_cost` |
//! | `E` | need by a deadline, kWh | `timeline::Level::kwh` |
//! | `S` | most sessions | `Timeline::sessions_max` |
//! | `D_on`, `D_off` | least time on and off | `Timeline::on_min`, `off_min` |
//! | `λ` | price on energy in the Lagrangian bound | `lagrangian_bound::LagrangianPaths::price` |
//!
//! A session is time without pause in which the device is on. One slot may take less than
//! the minimum, the *top-off*: the last slot in which the device runs ends early, when the
//! need is met. It runs at the least power from its start, so only the mean power over the
//! slot is between zero and the minimum. It comes after the least time on has passed in
//! whole slots, the plan marks it, and there is at most one.
//!
//! # Hard limits, soft limits and their order
//!
//! 1. Power, `sessions_max`, `one_block` and `off_min` are hard.
//! 2. The shortfall is minimised next, the earliest deadline first.
//! 3. `on_min` and `run_last` are kept where that does not raise the shortfall. `on_min` is
//!    relaxed first, and only for the last session, which otherwise could exceed the need.
//! 4. Cost is minimised last.
//!
//! The plan lists every relaxed rule. With `AfterDeadline::Continue` the next deadline
//! includes the shortfall of a missed one, and after the last deadline the rest is delivered
//! as soon as the limits allow.
//!
//! # The method
//!
//! The feasible on-off patterns are the paths through a state graph (`graph`): a node is a slot
//! boundary with the state and the number of sessions so far, an edge is a run of slots that are
//! on, or a pause. The search is a dynamic programme over these nodes, run from both ends
//! (*bidirectional labelling*); single-unit commitment is solved so in \[1\]. The price on energy
//! in place of the need is the dual approach to the constrained shortest path problem \[2\].
//!
//! | Step | Formula | Code |
//! |---|---|---|
//! | Lagrangian bound | `max_λ { λ·E + min_path Σ_t (p_t − λ)·x_t + c·v_t }` | `lagrangian_bound` |
//! | labels | least cost of a node for `a` full and `b` least slots | `cost_by_energy` |
//! | join | forward label, one slot of free energy, backward label | `split_step` |
//!
//! A node whose shortest path exceeds the bound by more than a slack is skipped; the slack
//! grows until the search is complete (`path_search`). That search is polynomial. It applies to one
//! deadline, a constant highest power, and slots of one length except the first and the last;
//! also to several deadlines if the first wants the most and can be met, because that plan
//! meets all of them.
//!
//! Several deadlines, varying limits and mixed slot lengths are a mixed-integer programme on
//! `HiGHS` (`mixed_integer`, feature `lp`), whose gap is reported: with varying limits the problem
//! contains the knapsack problem. Without that feature such a problem is refused when it is
//! built.
//!
//! # References
//!
//! 1. A. Frangioni, C. Gentile, Solving nonlinear single-unit commitment problems with ramping
//!    constraints, Operations Research 54 (2006).
//! 2. G. Y. Handler, I. Zang, A dual algorithm for the constrained shortest path problem, Networks
//!    10 (1980).
pub(crate) mod cost_by_energy;
pub(crate) mod explain;
pub(crate) mod graph;
pub(crate) mod lagrangian_bound;
#[cfg(feature = "lp")]
pub(crate) mod mixed_integer;
pub(crate) mod path_search;
pub(crate) mod plan;
pub(crate) mod planner;
pub(crate) mod problem;
pub(crate) mod request;
pub(crate) mod search;
pub(crate) mod split_step;
#[cfg(feature = "lp")]
pub(crate) mod spread;
#[cfg(feature = "lp")]
pub(crate) mod stay_near;
pub(crate) mod timeline;
pub(crate) mod verify;

pub use explain::{SwitchingReason, SwitchingReasonCode, explain};
pub use plan::{
    Method, Session, SwitchingCertificate, SwitchingInterval, SwitchingPlan, UnmetWish,
};
pub use planner::{plan_switching, plan_switching_within};
pub use problem::SwitchingProblem;
pub use request::{
    DeviceState, SLOTS_MAX, StateInFuture, SwitchingError, SwitchingRequest, Uneven,
};
pub use verify::verify;

//! Plans for a device that cannot run at any power, nor start for nothing.
//!
//! Below six amperes a charger does not run, a contactor wears with every
//! click, and a heat pump must not stop at once. [`plan_switching`]
//! finds the cheapest plan for one such device; what it may be asked is in
//! [`SwitchingRequest`].
//!
//! # The problem
//!
//! Slots `t = 1..T` of length `h_t` at price `p_t`. The device is on or off
//! for whole slots, at constant power within each:
//!
//! ```text
//! minimise    Σ p_t·x_t + start cost · (number of starts)
//! subject to  x_t = 0 where it is off, P_min·h_t ≤ x_t ≤ P_max·h_t where it is on
//!             Σ x_t = E
//!             at most S sessions; on for at least so long, off for at least so long
//! ```
//!
//! A session is time without pause in which the device is on. One slot is
//! allowed less than the minimum, the *top-off*: the last slot in which the
//! device runs may end early, when the energy is there. It runs at the least
//! power from its start, so power is never between zero and the minimum; only
//! the mean over that slot is. It comes after the least time to be on is over
//! in whole slots, it is marked in the plan, and there is at most one.
//!
//! # What limits and what yields
//!
//! Power, `sessions_max`, `one_block` and `off_min` are limits and always
//! kept. `on_min` is a limit too, which yields in one place: the last session
//! may be shorter where energy would be missing otherwise, or come that is not
//! wanted. `run_last` is a wish, which yields where it cannot be had or would
//! cost energy. Then comes the energy, earliest deadline first, and last the
//! money. What yielded is named in the plan. The rest of a missed deadline is wanted
//! by the next one, and after the last one it is taken as soon as the limits
//! allow; a caller can ask for neither.
//!
//! # What is solved how
//!
//! One deadline, constant highest power, and slots of one length but for the
//! first and the last: `exact`, a complete search in polynomial time, within a
//! limit on its work. The same where the first of several deadlines wants most and
//! can be met, because that plan meets all.
//! Several deadlines, limits that vary, hours mixed with quarter hours: with
//! limits that vary the problem contains the knapsack problem, so these are a
//! mixed-integer programme on `HiGHS` (feature `lp`), whose gap is stated.
//! Without that feature they are refused when the problem is built.
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
pub(crate) mod timeline;

pub use explain::{SwitchingReason, SwitchingReasonCode, explain};
pub use plan::{
    Method, Session, SwitchingCertificate, SwitchingInterval, SwitchingPlan, UnmetWish,
};
pub use planner::{plan_switching, plan_switching_within};
pub use problem::SwitchingProblem;
pub use request::{DeviceState, SLOTS_MAX, SwitchingError, SwitchingRequest, Uneven};

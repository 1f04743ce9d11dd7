//! Plans of one battery or vehicle behind a meter whose tariff prices the measured power.
//!
//! # The problem
//!
//! Beside the battery the connection has another load `b_t` (negative: solar power). `x_t` is the
//! change of the stored energy, and `g_t(x)` the energy through the meter, which is `b_t` plus
//! what the battery takes or gives at its plug ([storage](crate::plan::storage) has the battery).
//!
//! ```text
//! minimise    Σ_t c_t(x_t) − v·(e_T − e_0) + Σ_m charge_m(D_m)
//! subject to  f_t·g_t(x_t) / h_t ≤ M_k            for each slot t of group k
//!             M_k ≥ power reached before
//!             D_m = max(mean of the n highest of M_k and of earlier powers, floor)
//!             balance, levels and power of the battery
//! c_t         = p_t·g if g ≥ 0, q_t·g if g < 0, plus wear
//! ```
//!
//! | Symbol | Meaning |
//! |---|---|
//! | `k` | group of windows of which one power counts: the month, or a day or week of it |
//! | `M_k` | level: highest weighted power of the group |
//! | `f_t`, `h_t` | weight of the window by the tariff, length of the slot in hours |
//! | `p_t`, `q_t` | price of a kWh bought and sold, all components included |
//! | `charge_m` | price per kW, or the price of the step in which `D_m` lies |
//!
//! Slots are the windows of the tariff. Prices within one are averaged, and power is constant in
//! it. Where a limit or a deadline cuts a window, each part keeps to the level.
//!
//! A mean over several months counts each of their powers in as many bills, so a kW of a month
//! costs the price of all of them.
//!
//! # The method
//!
//! For fixed levels the battery is solved by the segment method, with a price on energy above the
//! level that no optimal plan pays. Its least cost `E(M)` is convex and piecewise linear in `M`,
//! and the multipliers of the levels are its slopes.
//!
//! | Charge | Method | Code |
//! |---|---|---|
//! | price per kW, one group | intersection of tangents from both sides | `search` |
//! | price per kW, several groups | cutting planes (Kelley 1960) on HiGHS | `master` |
//! | steps | each step as a bound on `D`, those that cannot win left out | `search` |
//!
//! J. E. Kelley, The cutting-plane method for solving convex programs, J. SIAM 8 (1960), 703-712.
//!
//! The bound is that of the last tangents, whose multipliers prove it
//! ([`certificate`]). Where buying and selling at once would pay, the sign of
//! the meter is relaxed for the bound, and the plan leaves discharging out in such slots. The same
//! goes for charging above the charge limit. Then the gap says what that may cost.
pub mod certificate;
pub mod explain;
pub(crate) mod groups;
mod master;
pub mod plan;
pub mod planned_slot;
pub(crate) mod programme;
pub mod request;
mod search;
mod search_state;
#[cfg(test)]
pub(crate) mod tests;
pub mod verify;

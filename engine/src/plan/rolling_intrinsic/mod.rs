//! Rolling intrinsic trading of a battery against an order book.
//!
//! # The problem
//!
//! A battery holds a position in each delivery product: energy that it has bought or sold. At each
//! change of the order book it trades the difference to the position of most value, at the prices
//! and volumes that rest in the book now, and nothing is forecast. A trade fixes its profit, and
//! the next change of the book may add to it. So the value only grows.
//!
//! With `q_t` the position before, `x_t` the one after, and `e_t` the stored energy after product
//! `t`:
//!
//! ```text
//! gain = max over x of  −Σ_t [ c_t(x_t − q_t) + wear·(d(x_t) − d(q_t)) ]
//! e_t  = e_{t−1} + s(x_t),    0 ≤ e_t ≤ capacity,  e_T ≥ end,    −D_t ≤ x_t ≤ C_t
//! s(x) = η_c·x for x ≥ 0,  x/η_d for x < 0;    d(x) = max(−s(x), 0)
//! ```
//!
//! `c_t(y)` is the money for `y` kWh: asks from the cheapest on for `y > 0`, bids from the dearest
//! on for `y < 0`, and the fee per kWh of either.
//!
//! | Symbol | Meaning | Field |
//! |---|---|---|
//! | `q_t`, `x_t` | position, positive bought and negative sold | [`RollingIntrinsic::positions`] |
//! | `C_t`, `D_t` | most charge and discharge | [`TradingBattery::charge_max`], `discharge_max` |
//! | `η_c`, `η_d` | efficiency of charging, of discharging | [`TradingBattery::efficiency`], `efficiency_discharge` |
//! | `wear` | wear per stored kWh discharged | [`TradingBattery::wear_price`] |
//! | `end` | least energy after the last product | [`TradingBattery::stored_end_min`] |
//! | `λ_t` | value of a stored kWh | [`RollingIntrinsic::marginal_values`] |
//!
//! # The method
//!
//! The cost of a product is piecewise linear in the stored energy: each resting order is a piece
//! whose slope is its price, and fees, efficiency and wear shift the slopes. Such pieces are what
//! the segment method of [`storage`](crate::plan::storage) adds and cuts, so the best trade is
//! exact, without a grid of energies. Schaurecker, Wozabal, Löhndorf and Staake, *Maximizing
//! Battery Storage Profits via High-Frequency Intraday Trading* (2025, arXiv 2504.06932), solve the
//! same recursion on a grid.
//!
//! The pieces have rising slopes except where a price is negative: then to burn energy by losses
//! can pay, and at `x = 0` the slope falls. There the relaxation takes the convex hull, and branch
//! and bound decides between buying and selling.
//!
//! *Certificate.* For any `λ_t`, with `λ_{T+1} = 0`, weak duality bounds the gain of all trades:
//!
//! ```text
//! gain ≤ λ_1·e_0 − Σ_t min over x of [ cost_t(x) − λ_t·s(x) ]
//!                − Σ_t min over e in [L_t, H_t] of  e·(λ_t − λ_{t+1})
//! ```
//!
//! *Updates.* While the bound is met by trading nothing, an order that leaves or is taken cannot
//! change that. A new one can only if it sells a stored kWh for less than `λ_t`, or buys one for
//! more. All other updates need no search.
//!
//! | Step | Code |
//! |---|---|
//! | battery and market rules, checked | `battery` |
//! | resting orders; crossing orders are matched | `order_book` |
//! | from orders to pieces of cost | `trade_costs` |
//! | sweep, branch and bound, dual bound | `optimal_trades` |
//! | positions, gates, trades, replay of many orders | `trader` |
pub(crate) mod battery;
pub(crate) mod optimal_trades;
pub(crate) mod order_book;
pub(crate) mod trade_costs;
pub(crate) mod trader;

pub use battery::{RollingIntrinsicError, TradingBattery, products_between};
pub use order_book::{BookSide, Order, OrderError};
pub use trader::{ReplayError, Retrade, RollingIntrinsic, RollingIntrinsicRequest, Trade};

//! Price of passing a limit of a battery at which passing it never pays.
//!
//! The levels of a battery under limits are a system of difference constraints. To each schedule
//! that passes limits of its levels by at most `e` there is one that passes none, and whose levels
//! differ by at most `e`. Each slot then buys or sells at most `2·e` of stored energy more or less.
//! With prices `p_t` to buy and `q_t` to sell, the efficiency `η` of charging, and the value `v_t` of
//! a stored kWh in a slot, that costs at most
//!
//! ```text
//! 2·e·Σ_t ( max(|p_t|, |q_t|)/η + v_t )  +  2·e·P/η
//! ```
//!
//! for a price `P` of the highest power, per energy of one slot. Limits of the connection can be in
//! the way of that schedule: without any the price holds among other devices, too.

/// Least price per unit of stored energy at which no limit of its levels is passed for money, in
/// the unit of the prices.
///
/// `slots` are prices to buy and to sell with the value of stored energy in each slot, `peak` is the
/// price of the highest power per energy of one slot.
///
/// # Example
///
/// Two slots at 0.30 and 0.10, stored without loss: passing a limit by 1 kWh saves 0.80 at most.
///
/// ```
/// use slackwater_engine::plan::storage::find_breach_price;
///
/// let price = find_breach_price(&[(0.30, 0.05, 0.0), (0.10, 0.05, 0.0)], 1.0, 0.0);
/// assert!((price - 0.80).abs() < 1e-12);
/// ```
#[must_use]
pub fn find_breach_price(slots: &[(f64, f64, f64)], efficiency: f64, peak: f64) -> f64 {
    let slope =
        |&(buy, sell, value): &(f64, f64, f64)| buy.abs().max(sell.abs()) / efficiency + value;
    let slopes: f64 = slots.iter().map(slope).sum();
    2.0 * (slopes + peak / efficiency)
}

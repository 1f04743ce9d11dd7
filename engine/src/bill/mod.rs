//! Electricity as it is billed: a measured load and a tariff make the lines of a month.
//!
//! A [`BillingTariff`](tariff::BillingTariff) is data, read from a file with its sources and its
//! dates. [`bill_month`](invoice::bill_month) is a pure function of load, tariff, month and
//! contract. The tariffs of `prices::tariff`, which charging plans read, have rates per kWh only
//! and stay as they are.
//!
//! # The amounts
//!
//! A month `m` has measured periods `t` with imports `e_t` (or exports) in kWh. `share(m)` is the
//! part of a price that falls in the month: 1 for a price a month, the days of the month for a
//! price a day, 1/12 or days/days of the year for a price a year.
//!
//! ```text
//! energy       Σ_t e_t · p(t)                p(t): the first rate that holds at t
//!   allowance  min(E, A·share) · p           E = Σ_t e_t, within an allowance of A kWh
//!              max(E − A·share, 0) · p       beyond it
//! capacity     P · p · share                 or step(P) · share
//! contracted   C · p · share                 or step(C) · share, C from the contract
//! fixed        p · share
//! percentage   q/100 · Σ of the named lines
//! total        Σ of the rounded lines
//! ```
//!
//! `e_t` is what the meter imports, the part of it that a device draws, or what devices leave of it.
//! Beside its calendar a rate may have some hours of use a day only, or hold along with a rate of
//! another component; `energy_use` has the rule.
//!
//! # The measured power `P`
//!
//! Windows of 15, 30 or 60 minutes on the clocks of the zone have the mean power `w_i = e_i / h`,
//! times the weight of the first calendar that holds at their start (1 if there is none; a window
//! of weight 0 does not take part):
//!
//! ```text
//! s_1 ≥ s_2 ≥ …       windows in descending order; at most one a day or a week if the rule says so
//! D(m)  = max(mean(s_{k+1}, …, s_{k+n}), month floor)      k windows skipped, n highest taken
//! P     = max(F(D(m−j), …, D(m)), floor)                   F: mean or highest of the months
//! ```
//!
//! With `of_months: "together"` the windows of all the months are ranked as one list. Months
//! without a complete window take no part in the mean. `lag_months` moves the months back.
//!
//! | Rule | `window` | `highest` | `one_per` | `months` | floor |
//! |---|---|---|---|---|---|
//! | Flanders, households | quarter-hour | 1 | - | 12, mean | 2.5 kW a month |
//! | most of Norway | hour | 3 | day | 1 | - |
//! | Fjellnett (Norway) | hour | 5 | week | 12, together, a month behind, seasonal weights | - |
//! | Elia (Belgium) | quarter-hour | 1 after 10 skipped | - | 1 | - |
//! | Ellevio (Sweden) | hour | 3, nights count half | day | 1 | - |
//!
//! # Exactness
//!
//! Energies are kept to the milliwatt-hour and summed as whole numbers, prices are decimals, and
//! a line is rounded once. The order of the measurements changes nothing. Missing measurements are
//! listed in [`Bill::missing`](invoice::Bill::missing), and no energy is put in their place.
//!
//! # Time
//!
//! Months, days, weekdays, holidays and hours are those of the clocks of the tariff's zone. A day
//! of 23 or 25 hours has its 92 or 100 quarter-hours, each once; an hour that clocks show twice is
//! two windows.
pub mod condition;
pub(crate) mod demand;
pub mod energy_prices;
pub(crate) mod energy_use;
pub mod error;
pub mod file;
pub mod holidays;
pub mod invoice;
pub mod library;
pub mod load;
pub mod month;
pub mod tariff;
#[cfg(test)]
mod tests;

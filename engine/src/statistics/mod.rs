//! Statistics of energy and money: time series, sessions and the ledger of savings.
//!
//! # The problem
//!
//! Sums over slots, sessions, days and months must agree, and a total must not change after the
//! fact. Sums of binary fractions depend on their order, and later prices would change past costs.
//!
//! # The method
//!
//! A [`sample::Sample`] holds a constant power `P` over `[start, end)` of length `L`, and a price
//! `p`. A session is frozen once ([`savings::freeze`]): its samples are cut where prices change,
//! and the baseline, the same energy at `power_max` from plug-in on, is added as rows. Money is an
//! integer number of parts of 1e-12 units of the currency ([`fixed::Amount`]), so that sums do not
//! depend on order or grouping.
//!
//! | Quantity | Formula | Code |
//! |---|---|---|
//! | cost of a sample | `C = round(P·L·p)` to whole parts, half to even; once per sample | `fixed::Amount::from_units` |
//! | cost of its part `[a, b)` | `C(b) - C(a)` with `C(t) = floor(C·t / L)` | `fixed::Amount::between` |
//! | savings | `Σ cost(baseline) - Σ cost(measured)`; negative if smart charging cost more | `savings::freeze`, `tally` |
//! | mean power | `Σ energy / Σ hours` with a measurement | `totals::Totals::power` |
//! | mean price | `Σ energy·p / Σ energy` of the samples with a price | `totals::Totals::price` |
//!
//! Money is summed as integers; energy (kWh) and hours are summed as `f64`. An unknown price makes
//! the savings of a session unknown, not zero. Buckets without a sample are left out.
pub mod charging;
pub mod columns;
pub mod fixed;
pub mod hem;
pub mod measurements;
pub mod range;
pub mod recording;
pub mod resolution;
pub mod sample;
pub mod sample_columns;
pub mod savings;
pub mod sessions;
mod span;
mod tally;
pub mod totals;
pub mod week;

//! Tolerances: how far two numbers may differ and still count as equal.
//!
//! A double holds 53 bits, so one operation errs by up to `2^-53`, about 1.1e-16 of its result.
//! Sums of energies, sums of money and the solver err by more, in this order of sizes:
//!
//! ```text
//! 1.1e-16  <  SUM_ROUNDING 1e-12  <  SUM_DRIFT 1e-10  <  GAP_MAX 1e-9  <  SOLVER_AGREEMENT 1e-6
//! ```
//!
//! # Shared tolerances
//!
//! | Name | Value | Unit | Used by | Reason |
//! |---|---|---|---|---|
//! | [`SUM_ROUNDING`] | 1e-12 | share of a sum | charge, storage, heat, switching, site, stability, statistics | room for 9,000 additions |
//! | [`SUM_DRIFT`] | 1e-10 | share of the largest energy | storage, heat, switching | a tenth of [`GAP_MAX`] |
//! | [`GAP_MAX`] | 1e-9 | share of a cost or energy | certificates, the solver, `area/report/close_to.rs` | no price list has ten digits |
//! | [`ENERGY_SHARE_MIN`] | 1e-9 | share of an energy | storage, switching, `area/solve/recover.rs` | equal to [`GAP_MAX`] |
//! | [`SNAP_MICROS`] | 1e-3 | µs at full power | charge, stability | a thousandth of what an instant resolves |
//! | [`INSTANT_MICROS`] | 1 | µs at full power | charge, switching, stability, questions | resolution of an instant |
//! | [`SOLVER_ROUNDING`] | 1e-9 | unit of the programme | `lp`, switching, site, area | three orders below what matters to a caller |
//! | [`SOLVER_SLACK`] | 1e-8 | unit of the programme | switching, site | ten times [`SOLVER_ROUNDING`] |
//! | [`SOLVER_AGREEMENT`] | 1e-6 | share of a value, or of 1 | `lp`, switching, site | integrality tolerance of the solver |
//! | [`SITE_MIN_KWH`] | 1e-5 | kWh | site | more than the rounding of all slots |
//! | [`LIMIT_EXCESS_SHARE`] | 1e-7 | share of 1 + bound | area | a hundred times [`SOLVER_ROUNDING`] |
//! | [`SHORTFALL_TOLERANCE`] | 1,000 | µWh | area | a thousand times the unit of its energies |
//! | [`SHORTFALL_TOLERANCE_KWH`] | 1e-6 | kWh | area | [`SHORTFALL_TOLERANCE`] in kWh |
//! | [`NEED_SHARE_MIN`] | 1e-6 | share of the need | area, shared supply | a thousandth of the default gap |
//! | [`POWER_ROUNDING_KW`] | 1e-6 | kW | heat, capacity, area, shared supply | a milliwatt, finer than any meter |
//! | [`PENALTY_MIN`] | 1e-6 | currency per kWh | area | finer than any price list |
//! | [`DIVISOR_MIN`] | 1e-9 | unit of the divisor | area, site | no quotient overflows |
//!
//! # Tolerances of one algorithm
//!
//! These stay beside the algorithm, and their documentation has the reason.
//!
//! | Name | Value | Unit | File |
//! |---|---|---|---|
//! | `AT_BOUND` | 1e-7 | share of a bound, or of 1 | `plan/site/lexicographic.rs` |
//! | `PRICE_SCALE_MIN` | 1e-12 | price of the programme | `plan/site/lexicographic.rs` |
//! | `MONEY_SLACK` | 1e-7 | unit of the programme | `plan/site/solve.rs` |
//! | `MONEY_PART`, `ENERGY_KWH` | 1e-7, 1e-6 | share of the turnover, kWh | `plan/site/planner.rs` |
//! | `BREACH_MIN_KW` | 1.5e-6 | kW | `plan/site/accounting.rs` |
//! | `SAME_KW` | 1e-4 | kW | `plan/site/explain.rs` |
//! | `SLOPE_ROUNDING` | 1e-9 | kW per percent | `plan/site/check.rs` |
//! | `PRUNING_GAP` | 1e-11 | share of a cost, or of 1 | `plan/storage/branch_and_bound.rs` |
//! | `DIFFERENCE_ROUNDING` | 1e-14 | share of two values | `plan/heat/degree_hour_price.rs` |
//! | `EXCESS_MAX` | 1e-6 | kWh | `plan/capacity/search.rs` |
//! | `GAP_RELATIVE`, `GAP` | 1e-10, 5e-10 | share of 1 plus a cost | `plan/capacity/search.rs`, `master.rs` |
//! | `PRICE_ROUNDING` | 1e-13 | share of a price per kW | `plan/capacity/groups.rs` |
//! | `INDEPENDENT_MIN` | 1e-12 | share of a column | `plan/heat/least_squares.rs` |
//! | `SHARE_MIN` | 1e-9 | share of a plan | `plan/stability/stay_close.rs` |
//! | `TIE_BREAK` | 1e-13 | share of the highest price, per hour | `plan/switching/timeline.rs` |
//! | `BOUND_ROUNDING` | 1e-14 | share of a cost | `plan/switching/path_search.rs` |
//! | `COUNT_ROUNDING` | 1e-6 | slots | `plan/switching/cost_by_energy.rs` |
//! | `TOP_OFF_MIN` | 1e-8 | share of the least energy of a step | `plan/switching/split_step.rs` |
//! | `SEARCHES` | 1e-8 to 1e-6 | unit of the programme | `lp.rs` |
//! | `IMPROVEMENT_MIN` | 0.02 | share of the gap | `area/column_generation/two_level.rs` |
//! | `TANGENT_SPACING` | 1e-4 | share of a distance | `area/column_generation/master.rs` |
//! | `FEASIBILITY_TOLERANCE`, `GAIN_MIN` | 500, 1e-9 | µWh, currency | `area/recovery/repair.rs` |
//! | `KEY_MONEY`, `GAIN_SHARE_MIN` | 1e-6 | share of the money scale, of a gap | `area/solve/recover.rs` |
//! | `ON_PLAN_KWH`, `LACK_MIN_KWH` | 1e-6 | kWh | `simulate/home_policy.rs`, `home_meter.rs` |
//! | `ALIKE`, `UNEVEN`, `GAP` | 1e-3, 0.01, 1e-4 | share of the shortage, need, bound | `area/shortage/fair_shares.rs` |
//! | `UNIT_TOLERANCE` | 3e-8 | unit of the programme | `area/shortage/mixed_integer.rs` |
//! | `FULL` | 0.999 | share of a limit | `area/report/outcome.rs` |
//! | `LANE_ROUNDING` | 1e-9 | vehicles | `shared_supply/wrap_around.rs` |
//! | `GRAIN` | 1 | s at full power | `shared_supply/gaps.rs` |
//! | `SLACK`, `REST` | see there | time at full power | `shared_supply/incremental.rs` |
//! | `ALL_ALLOWED`, `ALIKE` | 0.9, 0.05 | share of a power | `device/uptake.rs` |
//! | `CURRENT_TOLERANCE_A`, `POWER_TOLERANCE_KW`, `TEMPERATURE_TOLERANCE_C` | 0.05 | A, kW, °C | `device/command.rs` |
//! | `SOC_TOLERANCE_PERCENT`, `CAPACITY_TOLERANCE_KWH` | 0.02, 0.01 | percent, kWh | `import/driving.rs` |
#![cfg_attr(not(feature = "lp"), expect(dead_code, reason = "some are for the solver alone"))]

/// Relative rounding of a sum of energies or of money: 1e-12 of the sum.
///
/// It is 9,000 times the error of one addition, and plans have at most some hundred slots. It is
/// a thousandth of [`GAP_MAX`], so what it drops leaves a proved plan proved.
pub(crate) const SUM_ROUNDING: f64 = 1e-12;

/// Tolerance of a running sum of energies against a bound, relative to the largest energy so far.
///
/// Energies rounded by [`SUM_ROUNDING`] add up over a hundred slots. It is a tenth of [`GAP_MAX`],
/// so a certificate accepts the sum.
pub(crate) const SUM_DRIFT: f64 = 1e-10;

/// Largest gap of a proved plan: 1e-9 of the cost, or of one unit of currency if the cost is less.
///
/// Certificates allow energies the same share. No price list or meter has ten digits.
pub const GAP_MAX: f64 = 1e-9;

/// Least share of an energy that counts: of a need, a capacity, or what a slot holds.
///
/// It is [`GAP_MAX`], so that a need that counts as met costs no more than a proved plan may.
pub(crate) const ENERGY_SHARE_MIN: f64 = 1e-9;

/// Tolerance of charging time in microseconds at full power: 1e-3. A need is met when less than a
/// nanosecond of charging is missing, because a rest from rounding must not switch a charger on.
pub(crate) const SNAP_MICROS: f64 = 1e-3;

/// Resolution of an instant in microseconds. Ends of charging are rounded to it, so the energy of
/// one microsecond at full power is rounding.
pub(crate) const INSTANT_MICROS: i64 = 1;

/// Feasibility tolerance of the solver, in the units of the programme. A value, a reduced cost or
/// the weight of a column is rounding below it.
///
/// It is three orders below the smallest value that matters to a caller, and ten times the least
/// that HiGHS accepts.
pub(crate) const SOLVER_ROUNDING: f64 = 1e-9;

/// Room of a row that keeps the value of an earlier search, in the units of the programme: ten
/// times [`SOLVER_ROUNDING`], so that the values of that search stay feasible.
pub(crate) const SOLVER_SLACK: f64 = 1e-8;

/// Share of a value, or of 1, up to which two results of the solver are equal, or one of the
/// solver and an exact one. Whole numbers of the solver are whole to 1e-6.
pub(crate) const SOLVER_AGREEMENT: f64 = 1e-6;

/// Least energy of a site that counts, in kWh: a hundredth of a watt-hour. It is 10,000 times
/// [`SOLVER_ROUNDING`], more than the rounding of all slots of a plan adds up to.
pub(crate) const SITE_MIN_KWH: f64 = 1e-5;

/// Excess over a hard limit that counts as none, in kWh for each kWh of 1 + |bound|. It is a
/// hundred times [`SOLVER_ROUNDING`], because the load of a node sums up many columns.
pub(crate) const LIMIT_EXCESS_SHARE: f64 = 1e-7;

/// Tolerance on missing energy of one vehicle of an area, in µWh (1e-6 kWh): less is rounding, and
/// counts as 0. Each slot is rounded to 1 µWh, and a vehicle has at most some hundred of them.
pub(crate) const SHORTFALL_TOLERANCE: i64 = 1_000;

/// [`SHORTFALL_TOLERANCE`] in kWh, also for the shortfall of fractional plans of an area.
pub(crate) const SHORTFALL_TOLERANCE_KWH: f64 = 1e-6;

/// Share of the need of an area up to which a shortfall counts as none: a thousandth of the
/// default gap, which no longer decides between two sets of plans.
pub(crate) const NEED_SHARE_MIN: f64 = 1e-6;

/// Difference up to which two powers are equal, in kW: a milliwatt, which no meter resolves.
pub(crate) const POWER_ROUNDING_KW: f64 = 1e-6;

/// Least penalty on a shortfall in units of currency per kWh, so that no energy is missing where
/// all prices are zero. It is below the last digit of any price list.
pub(crate) const PENALTY_MIN: f64 = 1e-6;

/// Least divisor, in its own unit: a need in kWh, a share, a weight, an amount of money. A zero
/// divisor is replaced by it, so that the quotient is finite.
pub(crate) const DIVISOR_MIN: f64 = 1e-9;

/// Tolerance of an amount that may be near zero: `share` of it, or of 1 if that is more.
///
/// Certificates allow it as their gap, `|cost - bound| <= allowed(GAP_MAX, cost)`.
#[inline]
pub(crate) fn allowed(share: f64, amount: f64) -> f64 {
    share * amount.abs().max(1.0)
}

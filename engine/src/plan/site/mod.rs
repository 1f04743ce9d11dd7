//! Plan of one site: the vehicles, batteries, heat units, solar systems and loads behind one meter,
//! which share limits, a demand charge and a tariff.
//!
//! # The problem
//!
//! Slots `t` of `h_t` hours are cut wherever a price, a forecast, a limit or the presence of a
//! vehicle changes. The meter imports `g_t` kWh and exports `e_t` kWh. Device `i` charges `c_it`
//! kWh and discharges `d_it` kWh, both counted at the plug:
//!
//! ```text
//! minimise    Σ_t (p_t + κ·I_t)·g_t − q_t·e_t                energy and emissions
//!             + D·(P − P₀) + Σ_k r_k·v_k                     peaks and blocks of energy
//!             + Σ_i,t w_i·d_it − Σ_i V_i·L_iT                wear, value of stored energy
//!             + Σ_i,t s_it·h_t·outside_it                    stored energy out of soft bounds
//! subject to  g_t − e_t = fixed_t + Σ_i (c_it − d_it)        the meter
//!             L_it = L_i,t−1 + η_i·c_it − d_it / ζ_i         levels, within their bounds
//!                    − W_it + η_i·u_it                       driving, and what it lacks
//!             c_it ≤ h_t·(a_ij − b_ij·L_it)                  taper
//!             L_ik ≥ wanted_ik − η_i·s_ik                    targets and shortfall
//!             e_it = a_it·e_i,t−1 + η_it·c_it + g_it         heat of rooms and tanks
//!             g_t ≤ h_t·limit_t, |Σ_i∈group (c − d)| ≤ ...   limits, per phase too
//!             Σ_t∈window g_t ≤ hours·P;  Σ_t g_t = Σ_k v_k   peak and blocks; a peak of e_t too
//!             c·d = 0,  g·e = 0,  c ∈ {0} ∪ [least, most]    only where it matters
//!             c·g = 0,  d·e = 0                       without leave to use the grid
//!             c_it = 0  or  L_it ≤ U_it               no charging above the charge limit
//!             c_it + m_it ≥ w_it  or  L_it ≥ U_it     wanted power, until full
//! ```
//!
//! | Symbol | Field or function |
//! |---|---|
//! | `h_t`, `p_t`, `q_t`, `I_t` | `SiteSlots::{hours, import, export, carbon}` |
//! | `κ` | `Carbon::price_per_kg` |
//! | `g_t`, `e_t` | `Meter::{import, export}` |
//! | `fixed_t` | `SiteModel::fixed_in`: forecasts that no decision changes |
//! | `c_it`, `d_it`, `L_it` | `StorageColumns::{charge, discharge, level}` |
//! | `D`, `P₀`, `P` | `DemandCharge::{price_per_kw, peak}`, `SiteModel::{peak, export_peak}` |
//! | `r_k`, `v_k` | `Tier::surcharge`, the columns of `SiteModel::add_tiers` |
//! | `w_i`, `V_i` | `Storage::{wear, end_value}` |
//! | `η_i`, `ζ_i` | `Storage::{efficiency_in, efficiency_out}` |
//! | `a_ij`, `b_ij` | `TaperLine::{at_zero, fall}` |
//! | `wanted_ik`, `s_ik` | `Goal::reachable`, `Miss::column` |
//! | `s_it`, `outside_it` | `SoftLevels::price`, `SoftLevels::outside` |
//! | `W_it`, `u_it` | `Drive::energy`, `Miss::column` |
//! | `least` | `Storage::charge_min`; `most` is `charge_max` |
//! | `U_it`, `w_it`, `m_it` | `Storage::{charge_until, power_wanted}`, `Miss::column` |
//!
//! A top-off may break `c ≥ least`. It is the last slot of a run, after which the level is a
//! target, the reserve or a full battery. `plan::switching` has this exception for its one target.
//! In a slot in which another cause, such as a shared limit, leaves less, the device is off.
//!
//! # Three stages
//!
//! 1. Shortfall: the least breach of hard limits that cannot be kept, then the least energy that
//!    drives lack, weighted by priority, and of equal sums less of it at earlier drives. Then the
//!    least energy below reserves, then the least energy that misses to wanted power, then the
//!    least shortfall at deadlines, weighted by priority. Of equal sums the one with less shortfall
//!    at earlier deadlines is taken, then the one with the fewest degree-hours outside comfort bands,
//!    weighted by priority, then the one with less late shortfall.
//! 2. Money: the least cost among those plans.
//! 3. Preferences among plans of that cost, or of up to `preference_budget` more.
//! 4. With a plan before, the least distance from it among the plans of up to its budget more
//!    (`stay_near`).
//!
//! The first programme has a penalty on each quantity of stage 1. If its solution has none of
//! them, it solves stages 1 and 2 together. Binaries (of the last row, of starts and of late
//! goals) enter lazily: the linear programme without them is a bound, and an integral solution of
//! it is optimal. The last round has all binaries, and a solution of it that is not integral is
//! rejected.
//!
//! Energy that misses its deadline is still wanted by departure. A vehicle that can discharge must
//! keep a target's level on departure only if it missed that target (a binary). For a vehicle that
//! only charges, the row on departure does not bind where the target was met in time. A target
//! before a drive is not gone on with after it.
//!
//! # Drives
//!
//! A drive that lacks energy returns with an empty battery: `u > 0` only if the level after it is
//! zero. The order of the stages has this for a vehicle that only charges: `u` is least before
//! anything could gain by more of it, and a kWh lacked at an early drive is worth at most a kWh less
//! at a later one, which counts less. A vehicle that can discharge could sell the energy, so there a
//! binary enters where the solution breaks the rule.
//!
//! # Map
//!
//! | File | What it decides |
//! |---|---|
//! | `request`, `device`, `series`, `problem` | the request and its parts |
//! | `check`, `error` | validation of a request |
//! | `price_slots` | the slots |
//! | `room`, `comfort` | rooms and tanks of heat units, and degree-hours outside their bands |
//! | `storage`, `goal`, `driving` | vehicles and batteries as storages, and what each reaches alone |
//! | `course` | levels of a storage from the energies at its plug |
//! | `model`, `lp_columns`, `limits`, `demand_charge` | columns and rows |
//! | `lexicographic`, `solve` | one objective after the other; binaries |
//! | `shared_limit`, `transport` | vehicles behind one limit, by a greedy algorithm without the solver |
//! | `first_come_first_served` | fallback if a limit ends the search without a solution |
//! | `preferences` | choice among plans of equal cost |
//! | `exclusive_flows` | removal of opposite flows in one slot |
//! | `storage_limits` | storages above the level up to which they charge |
//! | `soft_bounds`, `soft_levels` | bounds on stored energy with a price |
//! | `power_wanted` | power that is to be taken at any price until a storage is full |
//! | `grid_use` | storages that may not charge from the grid, or not discharge into it |
//! | `accounting`, `certificate`, `baseline` | cost, proof and comparison, without the solver |
//! | `binding_limits` | limits that are the cause of a shortfall |
//! | `planner`, `plan` | from a problem to a plan |
//! | `verify` | a plan and its certificate, computed anew from the request and the duals |
//! | `explain`, `heat_reasons` | reason for each period of a plan |
//! | `forgone`, `stock` | what vehicles leave at negative prices, and stored energy of the start that is sold |
pub(crate) mod accounting;
pub(crate) mod baseline;
pub(crate) mod binding_limits;
pub(crate) mod certificate;
pub(crate) mod check;
pub(crate) mod comfort;
pub(crate) mod course;
pub(crate) mod demand_charge;
pub(crate) mod device;
pub(crate) mod doubts;
pub(crate) mod driving;
pub(crate) mod error;
pub(crate) mod exclusive_flows;
pub(crate) mod explain;
pub(crate) mod first_come_first_served;
pub(crate) mod forgone;
pub(crate) mod goal;
pub(crate) mod grid_use;
pub(crate) mod heat_reasons;
pub(crate) mod lexicographic;
pub(crate) mod limits;
pub(crate) mod lp_columns;
pub(crate) mod model;
pub(crate) mod plan;
pub(crate) mod planner;
pub(crate) mod power_wanted;
pub(crate) mod preferences;
pub(crate) mod price_slots;
pub(crate) mod problem;
pub(crate) mod request;
pub(crate) mod room;
pub(crate) mod series;
pub(crate) mod shared_limit;
pub(crate) mod soft_bounds;
pub(crate) mod soft_levels;
pub(crate) mod solve;
pub(crate) mod stay_near;
pub(crate) mod stock;
pub(crate) mod storage;
pub(crate) mod storage_limits;
pub(crate) mod transport;
pub(crate) mod verify;

pub use certificate::{SiteCertificate, SiteEvidence};
pub use device::{
    Device, Discharge, HeatUnit, Load, Phase, ShiftableLoad, SoftBound, Solar, StationaryBattery,
    TaperPoint, Vehicle, power_of,
};
pub use error::SiteError;
pub use explain::{LimitReason, SiteReason, SiteReasonCode, explain, gaps};
pub use forgone::{DeviceForgone, forgone};
pub use plan::{
    Breach, Cause, Costs, DevicePlan, HeatOutcome, LimitOutcome, RoomSlot, SiteBaseline, SitePlan,
    SiteSlot, WishOutcome,
};
pub use planner::plan_site;
pub use problem::SiteProblem;
pub use request::{
    Carbon, CarbonSlot, DemandCharge, Effort, Group, Limit, Period, Preference, PreviousDevice,
    PreviousSite, SiteRequest, Tier, Tiers,
};
pub use series::{PowerPeriod, Series, SeriesError};
pub use stock::stock_used;
pub use verify::verify;

//! Plans of everything behind one meter: vehicles, batteries, solar power and
//! loads that share limits, a demand charge and a tariff.
//!
//! # The problem
//!
//! Slots `t` of `h_t` hours, cut wherever a price, a forecast, a limit or the
//! presence of a vehicle changes. The meter imports `g_t` and exports `e_t`
//! kWh, device i charges `c_it` and gives back `d_it`:
//!
//! ```text
//! minimise    Σ_t (p_t + κ·I_t)·g_t − q_t·e_t                energy and emissions
//!             + D·(P − P₀) + Σ_k r_k·v_k                     peak and blocks of energy
//!             + Σ_i,t w_i·d_it − Σ_i V_i·L_iT                wear, worth of what is stored
//! subject to  g_t − e_t = fixed_t + Σ_i (c_it − d_it)        the meter
//!             L_it = L_i,t−1 + η_i·c_it − d_it / ζ_i         levels, within their bounds
//!             c_it ≤ h_t·(a_ij − b_ij·L_it)                  taper
//!             L_ik ≥ wanted_ik − η_i·s_ik                    wishes, and what is missing
//!             g_t ≤ h_t·limit_t, |Σ_i∈group (c − d)| ≤ ...   limits, per phase too
//!             Σ_t∈window g_t ≤ hours·P;  Σ_t g_t = Σ_k v_k   peak and blocks
//!             c·d = 0,  g·e = 0,  c ∈ {0} ∪ [least, most]    only where it matters
//! ```
//!
//! A top-off may break `c ≥ least`: the last slot of a run takes less where the
//! level after it is one at which a run may end, which is a target, the reserve
//! or a full battery. `plan::switching` knows the same exception for its one
//! target; what else stops a run early (a shared limit) leaves it off instead.
//!
//! # Three stages
//!
//! 1. Least breach of infeasible limits, then reserves, then the
//!    least sum of what is missing at deadlines, weighed by priority, and
//!    among equals the earlier deadlines first.
//! 2. Least money among those.
//! 3. Preferences among plans of that money, or up to a budget more.
//!
//! The first programme has a price on all that stage 1 looks at. Where it
//! pays none of it, that solution is the answer to both stages. The first
//! two lines of binaries enter lazily: the programme without them is a bound,
//! and where its solution is whole it is the answer. After the last round all
//! of them are in, and an answer that is not whole is not taken.
//!
//! What a missed deadline leaves over is wanted on until departure, from the
//! vehicle that missed: one that can give back is held to a target on departure
//! only where it missed that target (a binary), and for the others the wish
//! changes nothing where it is met.
//!
//! # Map
//!
//! | File | What it decides |
//! |---|---|
//! | `device`, `series`, `problem` | what can be asked |
//! | `check`, `error` | what makes no sense |
//! | `grid` | the slots |
//! | `storage` | vehicles and batteries as one thing; what they can reach alone |
//! | `model`, `columns`, `limits`, `charges` | columns and rows |
//! | `lexicographic`, `stages` | one objective after the other; whole numbers |
//! | `fallback` | what happens where a limit ended the search |
//! | `preferences`, `settle` | what decides between equals; nothing burns |
//! | `books`, `certificate`, `baseline` | cost, proof and comparison, without the solver |
//! | `planner`, `plan` | the plan |
//! | `explain` | a reason for each period |
pub(crate) mod accounting;
pub(crate) mod baseline;
pub(crate) mod certificate;
pub(crate) mod check;
pub(crate) mod demand_charge;
pub(crate) mod device;
pub(crate) mod error;
pub(crate) mod exclusive_flows;
pub(crate) mod explain;
pub(crate) mod first_come_first_served;
pub(crate) mod lexicographic;
pub(crate) mod limits;
pub(crate) mod lp_columns;
pub(crate) mod model;
pub(crate) mod plan;
pub(crate) mod planner;
pub(crate) mod preferences;
pub(crate) mod price_slots;
pub(crate) mod problem;
pub(crate) mod request;
pub(crate) mod series;
pub(crate) mod solve;
pub(crate) mod storage;

pub use certificate::SiteCertificate;
pub use device::{
    Device, Discharge, Load, Phase, ShiftableLoad, Solar, StationaryBattery, TaperPoint, Vehicle,
    power_of,
};
pub use error::SiteError;
pub use explain::{LimitReason, SiteReason, SiteReasonCode, explain, gaps};
pub use plan::{
    Breach, Cause, Costs, DevicePlan, LimitOutcome, SiteBaseline, SitePlan, SiteSlot, WishOutcome,
};
pub use planner::plan_site;
pub use problem::SiteProblem;
pub use request::{
    Carbon, CarbonSlot, DemandCharge, Effort, Group, Limit, Period, Preference, SiteRequest, Tier,
    Tiers,
};
pub use series::{PowerPeriod, Series, SeriesError};

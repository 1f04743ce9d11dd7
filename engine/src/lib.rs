//! Optimal smart charging as pure functions.
//!
//! # The problem
//!
//! Slots `t = 1..T` of length `h_t` hours carry a price `p_t` per kWh. A vehicle
//! may draw at most the power `P_t` in slot t, so at most `u_t = P_t·h_t` kWh.
//! Its targets ask for `E_k` kWh, counted from now, by the instant `d_k`:
//!
//! ```text
//! minimise    Σ_t p_t·x_t
//! subject to  Σ_{t ends by d_k} x_t ≥ E_k     for each target k
//!             Σ_t x_t = E_K                    or  ≤ E_max, if the request has an energy_max
//!             0 ≤ x_t ≤ u_t
//! ```
//!
//! with `E_1 ≤ … ≤ E_K`. A reserve, and all that a deadline wants which cannot be met, is charged
//! at once, at any price; [`plan::charge`] has the whole problem.
//!
//! Walking the deadlines from the earliest and buying the cheapest room left
//! before each is exact, because the sets of slots before the deadlines are
//! nested. [`plan_charge`] does that,
//! [`certify`](plan::charge::certify) proves it for each plan anew, and
//! [`explain`](plan::charge::explain()) says why each interval is there.
//!
//! # Conventions
//!
//! * Every period is half open, `[start, end)`; instants are kept to the
//!   microsecond.
//! * Positive power charges. Energy is counted at the plug.
//! * Of two slots with one price the earlier is used; a slot used in part is
//!   used from its start.
//! * A wish that cannot be met is a value in the result, never an error.
//! * Same input, same bytes out, on any number of threads.
//!
//! # Map
//!
//! | Module | What it decides |
//! |---|---|
//! | [`units`] | quantities with a unit |
//! | [`plausibility`] | numbers that look like another unit |
//! | [`time`] | periods; wall clocks to instants |
//! | [`prices`] | step functions of price, gaps included; tariffs, price signals, which of them counts |
//! | [`bill`] | tariffs as they are billed: energy, capacity, fees and taxes of a month |
//! | [`plan::charge`] | one vehicle that only charges: plan, proof, baseline, reasons |
//! | [`plan::storage`] | batteries that also discharge |
//! | [`plan::heat`] | rooms and tanks with loss, within a comfort band; their thermal model from measurements |
//! | [`plan::policy`] | charging while prices and departure are uncertain: the policy of least expected cost, its bids |
//! | [`plan::switching`] | devices with a least power, starts, least times on and off |
//! | `plan::site` | everything behind one meter (feature `lp`) |
//! | `plan::evcc` | the optimiser contract of evcc (feature `lp`) |
//! | [`plan::stability`], [`plan::questions`] | plans close to the one before; what-ifs, risks, differences |
//! | [`plan::record`] | plans as they are kept, with their inputs, made again |
//! | [`columns`] | fleets, batteries and their plans, one row a vehicle |
//! | [`batch`] | many independent plans, on all cores |
//! | `area` | many vehicles under limits that they share, with a proven gap; `area::scenarios` while prices and limit are uncertain (feature `lp`) |
//! | [`current_share`] | the current of a fuse, divided among devices that charge now |
//! | [`shared_supply`] | several requests within one power |
//! | [`statistics`] | samples summed up by bucket; a ledger of savings |
//! | [`import`] | what foreign price lists and driving logs mean |
//! | [`simulate`] | a policy in a receding horizon, settled at the facts; its regret |
//!
//! # Terms of others
//!
//! | Here | FlexMeasures | S2 (EN 50491-12-2) | OpenADR 3 | OCPP 2.0.1 |
//! |---|---|---|---|---|
//! | `Target`, `SocTarget` | `soc-targets`, `soc-minima` | `FRBC.FillLevelTargetProfile` | - | `departureTime`, `energyAmount` |
//! | `reserve` | `soc-min` | - | - | - |
//! | `charge_limit` | `soc-max` | - | - | - |
//! | `power_max`, `PowerLimit` | `power-capacity` | - | - | `limit` of a `ChargingSchedulePeriod` |
//! | `power_min` | - | - | - | `minChargingRate` |
//! | import limit of a site or node | `site-consumption-capacity` | power envelope (PEBC) | `IMPORT_CAPACITY_LIMIT` | `ChargingStationMaxProfile` |
//! | export limit of a site or node | `site-production-capacity` | power envelope (PEBC) | `EXPORT_CAPACITY_LIMIT` | - |
//! | `Peak`, `DemandCharge` | `site-peak-consumption-price` | - | - | - |
//! | `Follow` | - | - | `DISPATCH_SETPOINT` | - |
//! | `PriceCurve` | `consumption-price` | - | `PRICE` | - |
//! | `Interval`s of a plan | schedule | - | - | charging profile |
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "lp")]
pub mod area;
pub mod batch;
pub mod bill;
pub mod columns;
pub mod current_share;
pub mod import;
#[cfg(feature = "lp")]
#[doc(hidden)]
pub mod lp;
pub mod plan;
pub mod plausibility;
pub mod prices;
pub mod shared_supply;
pub mod simulate;
pub mod statistics;
pub mod time;
pub(crate) mod tolerance;
pub mod units;
mod words;

#[cfg(feature = "lp")]
pub use area::plan_area::plan_area;
#[cfg(feature = "lp")]
pub use area::problem::area_problem::{AreaProblem, AreaVehicles};
#[cfg(feature = "lp")]
pub use area::problem::limits::Node;
#[cfg(feature = "lp")]
pub use area::problem::options::AreaOptions;
#[cfg(feature = "lp")]
pub use area::report::outcome::AreaPlan;
pub use batch::charge::plan_batch;
pub use batch::storage::plan_storage_batch;
pub use columns::batteries::Batteries;
pub use columns::fleet::{Curves, Fleet, Needs};
pub use plan::charge::greedy::plan_charge;
pub use plan::charge::plan::Plan;
pub use plan::charge::request::{ChargeProblem, ChargeRequest, PowerLimit, Target};
pub use plan::charge::vehicle::{Battery, SocTarget, VehicleRequest};
pub use plan::heat::plan::HeatPlan;
pub use plan::heat::planner::plan_heat;
pub use plan::heat::request::{HeatProblem, HeatRequest};
pub use plan::interval::Interval;
#[cfg(feature = "lp")]
pub use plan::site::plan::SitePlan;
#[cfg(feature = "lp")]
pub use plan::site::planner::plan_site;
#[cfg(feature = "lp")]
pub use plan::site::problem::SiteProblem;
#[cfg(feature = "lp")]
pub use plan::site::request::SiteRequest;
pub use plan::storage::plan::StoragePlan;
pub use plan::storage::planner::plan_storage;
pub use plan::storage::request::{StorageProblem, StorageRequest};
pub use plan::switching::plan::SwitchingPlan;
pub use plan::switching::planner::plan_switching;
pub use plan::switching::problem::SwitchingProblem;
pub use plan::switching::request::SwitchingRequest;
pub use prices::curve::{PriceCurve, Slot};
pub use time::horizon::Horizon;
pub use units::{Energy, Money, Percent, Power, Price, kw, kwh, money, per_kwh, percent};

/// The example of the README is run with the other examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

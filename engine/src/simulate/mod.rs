//! Simulation of a policy in a receding horizon, with settlement at the facts.
//!
//! # The loop
//!
//! At each instant of decision `t` a policy sees what is known at `t` ([`View`]): settled prices
//! before `t`, published prices and estimates after it, the energy that is still missing, the
//! departure. It commands powers. Until the next instant of decision the device draws what it can
//! ([`ChargeDevice`]), which is settled minute by minute at the settled prices. Then the policy
//! decides again, with what is known by then.
//!
//! ```text
//! cost = Σ settled price · energy + starts · start cost + missing energy · its price
//! ```
//!
//! A forecast carries the instant at which it was known ([`Forecast`]). The view is put together
//! from forecasts of the past only, so that looking ahead is impossible by construction.
//!
//! A home with a stationary battery ([`simulate_homes`]) has the same loop. Its policy sees prices
//! each way and the expected net load besides, commands the battery, and pays at its meter. Vehicles at
//! the same meter ([`HomeFacts::with_stays`]) are planned together with the battery.
//!
//! # Layers
//!
//! | File | Content |
//! |---|---|
//! | `exact` | power, energy and money as whole numbers |
//! | `device`, `facts`, `stay_columns` | what a device can do; settled prices and stays |
//! | `forecast`, `naive` | what is known when; forecasts by persistence and by season |
//! | `price_tree` | known prices as a tree: certain ones, and quantiles of a forecast as branches |
//! | `command`, `settlement` | from commands to energy and money |
//! | `regret` | the relaxed conditions, and the parts of the regret |
//! | `session`, `view` | a stay while it is simulated, and what a policy sees of it |
//! | `cheapest`, `policy` | any policy, and the built-in planner |
//! | `receding_horizon`, `run`, `episode` | the loop, its results, and one stay step by step |
//! | `net_load`, `home`, `home_stay`, `home_meter` | load and solar power with what is known of them; homes; settlement at their meters |
//! | `home_view`, `home_site`, `home_policy`, `home_run` | the same three for homes with a battery: view, policies, loop with results |
pub(crate) mod cheapest;
pub(crate) mod command;
pub(crate) mod device;
pub(crate) mod emissions;
pub(crate) mod episode;
pub(crate) mod exact;
pub(crate) mod facts;
pub(crate) mod forecast;
pub(crate) mod home;
pub(crate) mod home_meter;
pub(crate) mod home_policy;
pub(crate) mod home_run;
#[cfg(feature = "lp")]
pub(crate) mod home_site;
pub(crate) mod home_stay;
pub(crate) mod home_view;
pub(crate) mod naive;
pub(crate) mod net_load;
pub(crate) mod policy;
pub(crate) mod price_tree;
pub(crate) mod receding_horizon;
pub(crate) mod regret;
pub(crate) mod run;
pub(crate) mod session;
pub(crate) mod settlement;
pub(crate) mod stay_columns;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod view;

pub use command::{Command, HomeCommands};
pub use device::{ChargeDevice, DeviceError};
pub use episode::{Episode, EpisodeStep};
pub use facts::{Facts, FactsError, Stay};
pub use forecast::{Forecast, ForecastBook, KnownPrices, LookAhead, publish_day_ahead};
pub use home::{Home, HomeBattery, HomeError, HomeFacts};
pub use home_policy::{HomeMemory, HomePolicy, HomeReplanner};
pub use home_run::{HomeOutcome, HomeStep, TariffBooks, simulate_homes};
pub use home_stay::HomeStay;
pub use home_view::{ExpectedPower, HomeView};
pub use naive::{NaiveForecast, NaiveRule};
pub use net_load::{IssuedNetLoad, NetForecast, NetLoad, NetLoadError};
pub use policy::{Policy, Replanner};
pub use price_tree::{ForecastBranch, KnownPriceTree, QuantileForecast};
pub use receding_horizon::Stopped;
pub use regret::RegretParts;
pub use run::{LengthError, SimulationOptions, StayOutcome, simulate, simulate_replanner};
pub use session::{Memory, Step};
pub use stay_columns::{StayColumns, stays_of_fleet};
pub use view::{Moment, View};

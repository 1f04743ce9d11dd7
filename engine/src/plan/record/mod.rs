//! Records of plans: summaries, requests, and saved runs that can be planned again.
//!
//! `plan_record` is what a service stores of a plan, `saved_run` what a file holds: prices,
//! request and plan of any planner. `value_tree` compares two files.
#[cfg(feature = "lp")]
pub(crate) mod capacity_run;
pub(crate) mod emission_price;
pub(crate) mod heat_run;
pub(crate) mod plan_record;
pub(crate) mod price_sources;
pub(crate) mod refused_request;
pub(crate) mod saved_plan_error;
pub(crate) mod saved_run;
#[cfg(feature = "lp")]
pub(crate) mod site_run;
pub(crate) mod steady_request;
pub(crate) mod storage_run;
pub(crate) mod summary;
pub(crate) mod switching_run;
pub(crate) mod value_tree;

pub use emission_price::EmissionPrice;
pub use plan_record::{PlanRecord, PreviousPlan, SteadyFrom};
pub use price_sources::{GridPrices, PriceCurves, PriceSources, PriceSourcesError};
pub use refused_request::RefusedRequest;
pub use saved_plan_error::SavedPlanError;
pub use saved_run::{
    ENGINE_VERSION, Format, FormatVersion, Recorded, Replay, SavedPlan, SavedRun, SavedRunError,
    TIME_ZONE_VERSION, UnknownVersion,
};
pub use steady_request::{PlanRequest, SteadyProblem, SteadyRequest};
pub use summary::PlanSummary;
pub use value_tree::{TimeError, ValueChange, ValueTree, changes};

//! Why a saved request cannot be planned.

use crate::plan::charge::duration::DurationError;
use crate::plan::charge::request::ChargeRequestError;
use crate::plan::charge::vehicle::VehicleError;
use crate::plan::record::saved_plan_error::SavedPlanError;
#[cfg(feature = "lp")]
use crate::plan::site::error::SiteError;
use crate::plan::storage::request::StorageError;
use crate::plan::switching::request::SwitchingError;

/// Why a request of any kind makes no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RefusedRequest {
    /// A request in kWh.
    #[error(transparent)]
    Request(#[from] ChargeRequestError),
    /// A request in percent.
    #[error(transparent)]
    Vehicle(#[from] VehicleError),
    /// A request in hours.
    #[error(transparent)]
    Duration(#[from] DurationError),
    /// A request of a battery.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A request of a device that switches.
    #[error(transparent)]
    Switching(#[from] SwitchingError),
    /// A request of a site.
    #[cfg(feature = "lp")]
    #[error(transparent)]
    Site(#[from] SiteError),
    /// The older plan that a plan is to stay close to.
    #[error("previous.{0}")]
    Previous(#[from] SavedPlanError),
}

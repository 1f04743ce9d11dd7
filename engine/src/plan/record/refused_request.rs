//! Error of a request of any kind that cannot be planned.

#[cfg(feature = "lp")]
use crate::plan::capacity::request::CapacityError;
use crate::plan::charge::duration::DurationError;
use crate::plan::charge::request::ChargeRequestError;
use crate::plan::charge::vehicle::VehicleError;
use crate::plan::heat::request::HeatError;
use crate::plan::record::saved_plan_error::SavedPlanError;
#[cfg(feature = "lp")]
use crate::plan::site::error::SiteError;
use crate::plan::storage::request::StorageError;
use crate::plan::switching::request::SwitchingError;

/// Reason why a request of any kind is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RefusedRequest {
    /// The request in kWh is invalid.
    #[error(transparent)]
    Request(#[from] ChargeRequestError),
    /// The request in percent is invalid.
    #[error(transparent)]
    Vehicle(#[from] VehicleError),
    /// The request in hours is invalid.
    #[error(transparent)]
    Duration(#[from] DurationError),
    /// The request of a battery is invalid.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The request of a room or tank is invalid.
    #[error(transparent)]
    Heat(#[from] HeatError),
    /// The request of a switching device is invalid.
    #[error(transparent)]
    Switching(#[from] SwitchingError),
    /// The request of a site is invalid.
    #[cfg(feature = "lp")]
    #[error(transparent)]
    Site(#[from] SiteError),
    /// The request of a battery under a price of power is invalid or cannot be planned.
    #[cfg(feature = "lp")]
    #[error(transparent)]
    Capacity(#[from] CapacityError),
    /// The previous plan, to which the new one should stay close, is invalid.
    #[error("previous.{0}")]
    Previous(#[from] SavedPlanError),
}

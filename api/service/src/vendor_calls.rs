//! Calls of manufacturers: the vendor, and the time limit.
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::state::App;
use slackwater_integration::error::VendorError;
use slackwater_integration::profile::VendorCode;
use slackwater_integration::vendor::Vendor;

/// Calls a manufacturer, and stops waiting after `time_limit`.
///
/// # Errors
/// The call failed or was not answered in time, or the service does not run the vendor's
/// integration ([`VendorError::Outage`]).
pub async fn call_vendor<T, F>(
    app: &App,
    code: &VendorCode,
    time_limit: Duration,
    call: impl FnOnce(Arc<dyn Vendor>) -> F,
) -> Result<T, VendorError>
where
    F: Future<Output = Result<T, VendorError>>,
{
    let vendor = app.vendor(code).ok_or(VendorError::Outage)?;
    timeout(time_limit, call(vendor)).await.unwrap_or(Err(VendorError::TimedOut))
}

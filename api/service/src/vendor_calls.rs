//! Calls of manufacturers: the vendor, the connection of the account, and the time limit.
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::state::App;
use slackwater_integration::error::VendorError;
use slackwater_integration::profile::VendorCode;
use slackwater_integration::vendor::{Linked, Vendor};
use slackwater_store::devices::Device;

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

/// Calls the manufacturer of a device by the connection of the owner's account.
///
/// # Errors
/// As [`call_vendor`]; or the account has no connection, and must be linked again
/// ([`VendorError::Unauthorised`]).
pub async fn call_device<T, F>(
    app: &App,
    device: &Device,
    call: impl FnOnce(Arc<dyn Vendor>, Linked) -> F,
) -> Result<T, VendorError>
where
    F: Future<Output = Result<T, VendorError>>,
{
    let time_limit = Duration::from_secs(app.config().polling.timeout_seconds.into());
    call_vendor(app, &device.vendor, time_limit, |vendor| async {
        let connection = app.cache().read(|tables| {
            let user = tables.user(&device.client_id, &device.user_id)?;
            user.accounts.get(&device.vendor)?.connection.clone()
        });
        let connection = connection.ok_or(VendorError::Unauthorised)?;
        call(vendor, Linked::new(connection, &device.vendor_device)).await
    })
    .await
}

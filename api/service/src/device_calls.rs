//! Calls of the manufacturers of devices, by the connections of their accounts.
use std::sync::Arc;
use std::time::Duration;

use tracing::field::Empty;
use tracing::{Instrument, info_span};

use crate::linking::renewal::{connection_after_refusal, current_connection};
use crate::plans::charging_need;
use crate::state::App;
use crate::vendor_calls::call_vendor;
use slackwater_integration::error::VendorError;
use slackwater_integration::vendor::{Linked, Vendor};
use slackwater_store::devices::Device;
use slackwater_store::trace::{TRACES, current_traceparent};

/// Calls the manufacturer of a device by the connection of the owner's account. `operation` is the
/// name of the call in traces.
///
/// # Errors
/// As [`call_vendor`]; or the account has no connection, and must be linked again
/// ([`VendorError::Unauthorised`]).
pub async fn call_device<T, F>(
    app: &App,
    (device, operation): (&Device, &'static str),
    call: impl Fn(Arc<dyn Vendor>, Linked) -> F,
) -> Result<T, VendorError>
where
    F: Future<Output = Result<T, VendorError>>,
{
    let span = info_span!(
        target: TRACES, "call device", otel.kind = "client", operation, device.id = %device.id,
        vendor = device.vendor.as_str(), outcome = Empty, otel.status_code = Empty
    );
    let called = call_linked(app, device, call).instrument(span.clone()).await;
    match &called {
        Ok(_) => span.record("outcome", "answered"),
        Err(failure) => {
            span.record("otel.status_code", "ERROR").record("outcome", failure.as_str())
        }
    };
    called
}

/// Calls the manufacturer of a device, once more by renewed tokens if it refuses those that are kept.
async fn call_linked<T, F>(
    app: &App,
    device: &Device,
    call: impl Fn(Arc<dyn Vendor>, Linked) -> F,
) -> Result<T, VendorError>
where
    F: Future<Output = Result<T, VendorError>>,
{
    let time_limit = Duration::from_secs(app.config().polling.timeout_seconds.into());
    let called = async |connection| {
        let linked = Linked::new(connection, &device.vendor_device);
        let need = app.cache().read(|tables| charging_need(tables, device.id, app.now()));
        let linked = linked.with_traceparent(current_traceparent()).with_need(need);
        call_vendor(app, &device.vendor, time_limit, |vendor| call(vendor, linked)).await
    };
    let connection = current_connection(app, device).await?;
    match called(connection.clone()).await {
        Err(VendorError::Unauthorised) => {
            match connection_after_refusal(app, device, connection).await? {
                Some(renewed) => called(renewed).await,
                None => Err(VendorError::Unauthorised),
            }
        }
        done => done,
    }
}

//! The ledger: what a session cost and would have cost, fixed when it has ended.
use slackwater_engine::statistics::recording::unmanaged_power;
use slackwater_engine::statistics::savings::{Session, freeze};
use sqlx::AnyConnection;
use tracing::warn;

use crate::samples::prices_at;
use crate::state::App;
use slackwater_integration::reading::Facts;
use slackwater_store::error::StoreError;
use slackwater_store::samples::{
    ChargeSession, replace_session_samples, samples_of_session, upsert_session,
};

/// Freezes a session that has ended and of which all energy is known.
///
/// # Errors
/// The database failed.
pub async fn freeze_session(
    app: &App,
    to: &mut AnyConnection,
    session: &mut ChargeSession,
) -> Result<(), StoreError> {
    let samples = samples_of_session(&mut *to, session.id).await?;
    let measured = &session.measured;
    let from = session.stay.plugged_in;
    let ends = samples.iter().map(|sample| sample.end).chain(session.stay.unplugged);
    let until = ends.max().unwrap_or(from);
    let whose = (measured.client_id.as_str(), measured.user_id.as_str());
    let prices = prices_at(app, measured.location_id, whose, from, until);
    let limit = app.cache().read(|tables| {
        let device = tables.any_device(measured.device_id)?;
        match &device.state.reading.as_ref()?.facts {
            Facts::Vehicle(facts) => facts.charging.charge_rate_limit,
            Facts::Charger(facts) => facts.charging.charge_rate_limit,
            _ => None,
        }
    });
    let charged = Session {
        plugged_in: from,
        power_max: unmanaged_power(limit, &samples),
        is_smart: session.is_smart,
        samples,
    };
    match freeze(&charged, &prices) {
        Ok(frozen) => replace_session_samples(to, session, &frozen.samples).await?,
        // Samples are checked when they are kept: then they stay as they are.
        Err(error) => warn!(%error, session = %session.id, "a session was kept without savings"),
    }
    session.is_frozen = true;
    upsert_session(to, session).await
}

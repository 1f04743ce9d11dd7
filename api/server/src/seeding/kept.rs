//! Clock and patches of the sandbox, which outlive a restart.
//!
//! Rows of devices, prices and events are in the database anyway. If the clock began anew,
//! later rows would be older than earlier ones; if patched devices were gone, their
//! manufacturer would know nothing of devices that clients have linked.
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::interval;
use tracing::{info, warn};

use crate::seeding::residents::SandboxSeeder;
use slackwater_sandbox::control::ClockState;
use slackwater_sandbox::generate::text_of;
use slackwater_service::clock::Speed;
use slackwater_service::state::App;
use slackwater_store::error::StoreError;
use slackwater_store::settings;

/// Name of the clock among the values that the service made for itself.
const CLOCK: &str = "sandbox_clock";

/// Name of all patches together.
const PATCHES: &str = "sandbox_patches";

/// Time of the machine between two notes of the clock. A machine that fails loses less.
const BETWEEN: Duration = Duration::from_secs(10);

/// A clock as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept(ClockState);

/// Keeps what the clock of the sandbox shows, and its speed.
///
/// # Errors
/// The database failed.
pub async fn keep_clock(app: &App) -> Result<(), StoreError> {
    let (now, speed) = (app.now(), app.clock().speed().as_times());
    let text = serde_json::to_string(&Kept(ClockState { now, speed })).unwrap_or_default();
    settings::set_setting(app.store(), CLOCK, &text).await
}

/// Keeps the clock now and then, until the environment stops.
pub async fn keep_clock_running(app: App) {
    let mut ticks = interval(BETWEEN);
    loop {
        ticks.tick().await;
        if let Err(error) = keep_clock(&app).await {
            warn!(%error, "the clock of the sandbox was not kept");
        }
    }
}

/// Puts the clock forward to where it was kept, if that is later than what it shows. A
/// speed that nobody set goes on, too.
///
/// # Errors
/// The database failed.
pub async fn resume_clock(app: &App, is_speed_set: bool) -> Result<(), StoreError> {
    let kept = settings::get_setting(app.store(), CLOCK).await?;
    let kept = kept.and_then(|text| serde_json::from_str::<Kept>(&text).ok());
    let Some(Kept(ClockState { now, speed })) = kept else { return Ok(()) };
    let missing = now - app.now();
    if missing > chrono::TimeDelta::zero() {
        match app.clock().step(missing) {
            Ok(shown) => info!(%shown, "the clock of the sandbox goes on from where it was"),
            Err(error) => warn!(%error, "the clock of the sandbox begins anew"),
        }
    }
    if !is_speed_set
        && let Ok(speed) = Speed::times(speed)
        && let Err(error) = app.clock().set_speed(speed)
    {
        warn!(%error, "the clock of the sandbox has another speed than before");
    }
    Ok(())
}

/// Keeps all patches of the sandbox, in place of those that were kept.
///
/// # Errors
/// The database failed.
pub(crate) async fn keep_patches(residents: &SandboxSeeder) -> Result<(), StoreError> {
    let patches = text_of(&residents.sandbox.patches());
    settings::set_setting(residents.app.store(), PATCHES, &patches).await
}

/// Applies the patches of earlier runs. What they link is in the database already.
///
/// # Errors
/// The database failed.
pub(crate) async fn restore_patches(residents: &SandboxSeeder) -> Result<(), StoreError> {
    let Some(text) = settings::get_setting(residents.app.store(), PATCHES).await? else {
        return Ok(());
    };
    if let Err(reason) = residents.sandbox.apply(&text) {
        warn!(%reason, "patches of an earlier run do not fit the scenario and are left out");
    }
    Ok(())
}

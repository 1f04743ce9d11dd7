//! Way to one device: one request at a time, and a pause after a failure.
use std::time::Duration;

use chrono::{DateTime, Utc};
use slackwater_control::device::battery::OperationMode;
use slackwater_control::device::battery_order::{BatteryOrder, Renewal};
use slackwater_engine::time::backoff;
use slackwater_integration::error::VendorError;
use tokio::sync::Mutex;
use tracing::{info, warn};

use crate::edge::session::{Session, SessionError};
use crate::map::chain::Place;
use crate::map::control::{ControlError, REVERT_SECONDS};
use crate::map::facts::{DeviceFacts, STORAGE_CONTROL};
use crate::settings::DeviceSettings;

/// Failures that count for the length of a pause: it stays below 160 s, and so below the time
/// between two polls of a device that did not answer.
const FAILURES_MAX: u32 = 6;

/// Way to a device.
pub struct Line {
    device: DeviceSettings,
    patience: Duration,
    revert_seconds: u16,
    /// Held during a poll or a command, so that a device has one connection.
    state: Mutex<State>,
}

/// State of the connection, and of orders.
#[derive(Debug, Default)]
struct State {
    failures: u32,
    next_attempt: Option<DateTime<Utc>>,
    order: Option<BatteryOrder>,
}

impl State {
    fn check_pause(&self, now: DateTime<Utc>) -> Result<(), VendorError> {
        let is_paused = self.next_attempt.is_some_and(|next| now < next);
        if is_paused { Err(VendorError::Unreachable) } else { Ok(()) }
    }

    fn record(&mut self, error: Option<&SessionError>, now: DateTime<Utc>) {
        if error.is_some_and(SessionError::needs_pause) {
            self.failures = self.failures.saturating_add(1).min(FAILURES_MAX);
            let pause = backoff::wait(self.failures, throw_dice());
            self.next_attempt = now.checked_add_signed(pause);
        } else {
            (self.failures, self.next_attempt) = (0, None);
        }
    }
}

/// A random number; the largest, for the longest pause, where the system has none.
fn throw_dice() -> u16 {
    let mut bytes = [0xFF; 2];
    // An error leaves the bytes as they are, or random.
    let _ = getrandom::fill(&mut bytes);
    u16::from_be_bytes(bytes)
}

/// Facts of a device over an open connection, and the place of its storage control.
async fn read_device(
    session: &mut Session,
    device: &DeviceSettings,
) -> Result<(DeviceFacts, Option<Place>), SessionError> {
    let places = session.find_models().await?;
    let facts = DeviceFacts::read(&session.read_models(&places).await?);
    let is_meant =
        device.serial_number.as_ref().is_none_or(|own| facts.serial_number.as_ref() == Some(own));
    if !is_meant {
        return Err(SessionError::OtherDevice { found: facts.serial_number });
    }
    Ok((facts, places.get(&STORAGE_CONTROL).copied()))
}

impl Line {
    /// Way to a device.
    #[must_use]
    pub fn new(device: DeviceSettings, patience: Duration, revert_seconds: u16) -> Self {
        Self { device, patience, revert_seconds, state: Mutex::default() }
    }

    /// Settings of the device.
    #[must_use]
    pub const fn device(&self) -> &DeviceSettings {
        &self.device
    }

    async fn open_session(&self) -> Result<Session, SessionError> {
        Session::open(&self.device.address, self.device.unit_id, self.patience).await
    }

    /// Reads all facts of the device. With `renews`, the order that it was given is renewed: of a
    /// hybrid, polls of the battery do that, and those of the inverter leave it alone.
    ///
    /// # Errors
    /// The device does not answer, or its registers are no models.
    pub async fn read(&self, renews: bool, now: DateTime<Utc>) -> Result<DeviceFacts, VendorError> {
        let mut state = self.state.lock().await;
        state.check_pause(now)?;
        let read = self.read_and_renew(&mut state.order, renews, now).await;
        self.end_call(&mut state, read, now)
    }

    async fn read_and_renew(
        &self,
        order: &mut Option<BatteryOrder>,
        renews: bool,
        now: DateTime<Utc>,
    ) -> Result<DeviceFacts, SessionError> {
        let mut session = self.open_session().await?;
        let (facts, place) = read_device(&mut session, &self.device).await?;
        if let Some(given) = order.filter(|_| renews) {
            match given.judge(facts.operation_mode(), now) {
                Renewal::Renew => {
                    let renewed = self.write_mode(&mut session, &facts, place, given.mode).await;
                    match renewed {
                        Ok(()) => {
                            let next = BatteryOrder::begin(given.mode, self.revert_seconds, now);
                            *order = next.map(|next| BatteryOrder { is_shown: true, ..next });
                        }
                        // What was read is right all the same. The device's timer goes on.
                        Err(error) => {
                            warn!(device = self.device.address, %error, "an order was not renewed");
                        }
                    }
                }
                Renewal::Wait => {}
                Renewal::GiveUp => {
                    info!(device = self.device.address, "the device has ended an order");
                    *order = None;
                }
            }
        }
        session.close().await;
        Ok(facts)
    }

    /// Sets the mode of the battery.
    ///
    /// # Errors
    /// The device does not answer, or has no such mode.
    pub async fn order(&self, mode: OperationMode, now: DateTime<Utc>) -> Result<(), VendorError> {
        let mut state = self.state.lock().await;
        state.check_pause(now)?;
        // Whatever the device takes of the new order, the old one is over.
        state.order = None;
        let ordered = self.read_and_write(mode).await;
        if ordered.is_ok() {
            state.order = BatteryOrder::begin(mode, self.revert_seconds, now);
        }
        self.end_call(&mut state, ordered, now)
    }

    async fn read_and_write(&self, mode: OperationMode) -> Result<(), SessionError> {
        let mut session = self.open_session().await?;
        let (facts, place) = read_device(&mut session, &self.device).await?;
        self.write_mode(&mut session, &facts, place, mode).await?;
        session.close().await;
        Ok(())
    }

    async fn write_mode(
        &self,
        session: &mut Session,
        facts: &DeviceFacts,
        place: Option<Place>,
        mode: OperationMode,
    ) -> Result<(), SessionError> {
        let (control, place) = facts.control.zip(place).ok_or(ControlError::NoModel)?;
        let writes = control.list_writes(mode, self.revert_seconds)?;
        for write in writes {
            session.write(place, &write).await?;
            // A timer that stays at 0 ends nothing: no limit is switched on over it.
            if write.offset == REVERT_SECONDS && !session.holds_timer(place).await? {
                return Err(ControlError::NoTimer.into());
            }
        }
        Ok(())
    }

    fn end_call<T>(
        &self,
        state: &mut State,
        result: Result<T, SessionError>,
        now: DateTime<Utc>,
    ) -> Result<T, VendorError> {
        state.record(result.as_ref().err(), now);
        result.map_err(|error| {
            warn!(device = self.device.address, %error, "a call of a device failed");
            error.into_vendor_error()
        })
    }
}

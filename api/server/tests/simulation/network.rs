//! Network of the simulation: manufacturers, and receivers of events.
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use serde_json::Value;
use slackwater_control::device::command::Command;
use slackwater_integration::error::VendorError;
use slackwater_integration::profile::{Profile, VendorHealth};
use slackwater_integration::reading::Reading;
use slackwater_integration::vendor::{Linked, LogIn, Login, Metered, Vendor};
use slackwater_service::clock::Clock;
use slackwater_service::outbox::post::{PostError, Posting, Transport, WebhookRequest};
use tokio::time::{Instant, sleep_until};

use crate::dice::Dice;
use crate::server::Link;

/// Weather of a network, in thousandths.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Weather {
    /// Requests that do not arrive.
    pub(crate) lost: u64,
    /// Requests that arrive, and whose answer does not.
    pub(crate) unanswered: u64,
    /// Requests that arrive twice.
    pub(crate) doubled: u64,
    /// Requests that take up to a minute.
    pub(crate) slow: u64,
}

/// Fate of a request.
#[derive(Debug, Clone, Copy)]
struct Fate {
    delay: Duration,
    is_lost: bool,
    is_unanswered: bool,
    is_doubled: bool,
}

/// A network that all processes share.
#[derive(Debug)]
pub(crate) struct Network {
    dice: Mutex<Dice>,
    weather: Mutex<Weather>,
}

impl Network {
    pub(crate) fn new(dice: Dice) -> Self {
        Self { dice: Mutex::new(dice), weather: Mutex::default() }
    }

    pub(crate) fn set_weather(&self, weather: Weather) {
        *self.weather.lock().unwrap() = weather;
    }

    fn fate(&self) -> Fate {
        let weather = *self.weather.lock().unwrap();
        let mut dice = self.dice.lock().unwrap();
        let most = if dice.happens(weather.slow) { 60_000 } else { 200 };
        Fate {
            delay: Duration::from_millis(dice.below(most)),
            is_lost: dice.happens(weather.lost),
            is_unanswered: dice.happens(weather.unanswered),
            is_doubled: dice.happens(weather.doubled),
        }
    }
}

/// A simulated manufacturer behind the network, as one process reaches it.
#[derive(Debug)]
pub(crate) struct Distant {
    pub(crate) vendor: Arc<dyn Vendor>,
    pub(crate) network: Arc<Network>,
    pub(crate) link: Arc<Link>,
    /// Time of the devices: the clocks of processes may show another.
    pub(crate) clock: Clock,
}

#[async_trait]
impl Vendor for Distant {
    fn profile(&self) -> Arc<Profile> {
        self.vendor.profile()
    }

    fn health(&self, _: DateTime<Utc>) -> VendorHealth {
        self.vendor.health(self.clock.now())
    }

    async fn log_in(&self, login: &Login, _: DateTime<Utc>) -> Result<LogIn, VendorError> {
        self.vendor.log_in(login, self.clock.now()).await
    }

    async fn poll(&self, device: &Linked, _: DateTime<Utc>) -> Result<Reading, VendorError> {
        self.link.call("poll").await;
        let fate = self.network.fate();
        sleep_until(Instant::now() + fate.delay).await;
        if fate.is_lost || fate.is_unanswered {
            return Err(VendorError::Outage);
        }
        let reading = self.vendor.poll(device, self.clock.now()).await;
        self.link.call("read").await;
        reading
    }

    async fn send(
        &self,
        device: &Linked,
        command: &Command,
        _: DateTime<Utc>,
    ) -> Result<(), VendorError> {
        self.link.call("command").await;
        let fate = self.network.fate();
        sleep_until(Instant::now() + fate.delay).await;
        if fate.is_lost {
            return Err(VendorError::Outage);
        }
        for _ in 0..=u8::from(fate.is_doubled) {
            self.vendor.send(device, command, self.clock.now()).await?;
        }
        self.link.call("obeyed").await;
        if fate.is_unanswered { Err(VendorError::TimedOut) } else { Ok(()) }
    }

    async fn metered(
        &self,
        device: &Linked,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
        _: DateTime<Utc>,
    ) -> Result<Vec<Metered>, VendorError> {
        self.vendor.metered(device, from, to, self.clock.now()).await
    }
}

/// A receiver of events: identifiers and bodies, in the order in which they arrived.
#[derive(Debug, Default)]
pub(crate) struct Receiver(Mutex<Vec<(String, Value)>>);

impl Receiver {
    /// Events that arrived from a number on.
    pub(crate) fn got(&self, from: usize) -> Vec<(String, Value)> {
        self.0.lock().unwrap()[from..].to_vec()
    }

    fn take(&self, letter: &WebhookRequest<'_>) {
        let body = serde_json::from_str(letter.body).unwrap();
        self.0.lock().unwrap().push((letter.id.to_owned(), body));
    }
}

/// The way from a process to the receiver.
#[derive(Debug)]
pub(crate) struct Road {
    pub(crate) link: Arc<Link>,
    pub(crate) receiver: Arc<Receiver>,
    pub(crate) network: Arc<Network>,
}

/// Time after which a receiver that does not answer is given up, as of the real transport.
const PATIENCE: Duration = Duration::from_secs(10);

impl Transport for Road {
    fn post<'a>(&'a self, letter: &'a WebhookRequest<'a>) -> Posting<'a> {
        Box::pin(async move {
            self.link.call("post").await;
            let fate = self.network.fate();
            let is_late = fate.delay > PATIENCE;
            sleep_until(Instant::now() + fate.delay.min(PATIENCE)).await;
            if fate.is_lost {
                return Err(PostError::Unreached { reason: "lost".to_owned() });
            }
            for _ in 0..=u8::from(fate.is_doubled) {
                self.receiver.take(letter);
            }
            self.link.call("posted").await;
            if is_late || fate.is_unanswered {
                return Err(PostError::TimedOut { seconds: PATIENCE.as_secs() });
            }
            Ok(())
        })
    }
}

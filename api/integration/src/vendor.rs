//! The trait that stands between the service and a manufacturer.
use std::any::Any;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use slackwater_control::device::command::Command;
use slackwater_control::device::scope::DeviceKind;
use slackwater_control::grid_order::limit::GridLimit;
use slackwater_control::policy::need::ChargingNeed;
use slackwater_engine::units::{Energy, Power};

use crate::authorization::{AccountTokens, Authorization};
use crate::error::VendorError;
use crate::news::News;
use crate::profile::{Profile, VendorHealth};
use crate::reading::Reading;

/// A manufacturer's service.
///
/// Implement this to connect a manufacturer, and give the service a boxed value
/// per vendor code. Every call may take as long as the manufacturer takes: the
/// service polls in the background, bounds the time of each call itself, and
/// answers its clients from memory meanwhile. Calls run at once, also several
/// for one device: a client may ask for a reading while the service polls.
///
/// * Nothing is kept between calls that is not in the arguments. What a log-in
///   yields is a [`Connection`], which the service stores and hands back.
/// * Report what the manufacturer said and leave out what it did not say. Do
///   not repair, derive or clamp: states that are too old, a power while
///   nothing charges, scopes and pairing are the service's affair.
/// * `now` is what the service's clock shows when it calls. Use it for time
///   stamps that the manufacturer leaves out.
/// * A program that knows the type behind a vendor has it by `Any`, for what is its own.
/// * A failed call is a [`VendorError`]. Never repeat a call: the service
///   knows how often and how long.
#[async_trait]
pub trait Vendor: Any + fmt::Debug + Send + Sync {
    /// Facts about the manufacturer. Costs nothing.
    fn profile(&self) -> Arc<Profile>;

    /// State of the manufacturer's service. Costs nothing, or is remembered.
    fn health(&self, now: DateTime<Utc>) -> VendorHealth;

    /// Logs an owner in. Where the manufacturer sends a code first, the answer
    /// is [`LogIn::CodeNeeded`]; the next call carries it. Not called if there is an
    /// [`authorization`](Self::authorization).
    ///
    /// # Errors
    /// [`VendorError::Unauthorised`] for a wrong name or password,
    /// [`VendorError::ChallengeFailed`] for a wrong code, and what may go wrong
    /// with any call.
    async fn log_in(&self, login: &Login, now: DateTime<Utc>) -> Result<LogIn, VendorError>;

    /// Log-in at the manufacturer's own page, in place of a name and a password that are entered on
    /// ours. Costs nothing, and is the same in each call.
    fn authorization(&self) -> Option<Authorization> {
        None
    }

    /// Connects an account whose owner logged in at the manufacturer's own page: returns what calls
    /// its devices from now on, and all devices of the account.
    ///
    /// # Errors
    /// [`VendorError::Unauthorised`] for tokens that the manufacturer does not accept, as for all of
    /// a manufacturer without an [`authorization`](Self::authorization), and what may go wrong with
    /// any call.
    async fn connect_account(
        &self,
        tokens: &AccountTokens,
        now: DateTime<Utc>,
    ) -> Result<(Connection, Vec<Offer>), VendorError> {
        let _ = (tokens, now);
        Err(VendorError::Unauthorised)
    }

    /// Reads all facts of a device, without waking it.
    ///
    /// # Errors
    /// The device sleeps or is not reached, or the call failed.
    async fn poll(&self, device: &Linked, now: DateTime<Utc>) -> Result<Reading, VendorError>;

    /// Devices that have news, of a manufacturer that learns of changes by itself: the service polls
    /// them at once, in place of at the end of their interval. Costs nothing, and is the same in each
    /// call. `None` of a manufacturer that only answers.
    ///
    /// A poll is no news, or it would be followed by another one without end.
    fn news(&self) -> Option<Arc<News>> {
        None
    }

    /// Passes a command on. `Ok` means that the manufacturer took it, not that
    /// the device did it: that shows in a later [`poll`](Self::poll). Sending
    /// the same command again must do no harm.
    ///
    /// # Errors
    /// The command was not passed on.
    async fn send(
        &self,
        device: &Linked,
        command: &Command,
        now: DateTime<Utc>,
    ) -> Result<(), VendorError>;

    /// Log-in that anybody may try, with its code, of a manufacturer that is simulated. The page that
    /// asks for a log-in shows it. Real manufacturers have none.
    fn trial(&self) -> Option<Login> {
        None
    }

    /// Counts of the device's own meter in `[from, to)`, by quarter of an hour, in order and
    /// without overlap. Ends of the range that cut a quarter may be left out. A device without a
    /// meter has none.
    ///
    /// # Errors
    /// The call failed.
    async fn metered(
        &self,
        device: &Linked,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<Vec<Metered>, VendorError>;

    /// Has the devices of a site keep to the limit of a grid operator from now on, as time passes:
    /// also its fail-safe, if the service is silent. Returns `false` if there is no site of that
    /// name. Costs nothing; the service calls it once a second, and again after a start.
    fn follow_grid_limit(&self, site: &str, limit: GridLimit) -> bool {
        let _ = (site, limit);
        false
    }

    /// Power that the devices of a site draw by their last measurements; `None` if there is no site
    /// of that name, or one of its devices has measured nothing. Costs nothing.
    fn site_power(&self, site: &str) -> Option<Power> {
        let _ = site;
        None
    }
}

/// Permission of an owner to act for them, as the manufacturer issued it.
///
/// A secret: it has no `Display`, and its debug form hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Connection(String);

impl Connection {
    /// A connection from what was kept.
    #[must_use]
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// A connection made of tokens. The service renews them before they expire, and when the
    /// manufacturer refuses them, by the token endpoint of
    /// [`authorization`](Vendor::authorization); also those of a manufacturer that replaces the
    /// refresh token at each use.
    #[must_use]
    pub fn of_tokens(tokens: &AccountTokens) -> Self {
        Self(tokens.to_json())
    }

    /// The tokens of a connection that was made of tokens; `None` for any other.
    #[must_use]
    pub fn tokens(&self) -> Option<AccountTokens> {
        AccountTokens::from_json(&self.0)
    }

    /// Text to store.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connection(..)")
    }
}

/// A device, and the connection to call it by.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Linked {
    /// Result of the log-in.
    pub connection: Connection,
    /// Identifier of the device at the manufacturer.
    pub device: String,
    /// Trace context of the call, for the header `traceparent` of requests to a gateway of the
    /// operator's own ([W3C Trace Context](https://www.w3.org/TR/trace-context/)); `None` while the
    /// service sends no traces. Strangers need not be told.
    pub traceparent: Option<String>,
    /// Charging that the plan of the device still wants, if there is one with a deadline. Chargers behind
    /// one fuse share its current by it; others need not look at it.
    pub need: Option<ChargingNeed>,
}

impl Linked {
    /// Device with an identifier of the manufacturer.
    #[must_use]
    pub fn new(connection: Connection, device: impl Into<String>) -> Self {
        Self { connection, device: device.into(), traceparent: None, need: None }
    }

    /// The device, called as part of a trace.
    #[must_use]
    pub fn with_traceparent(self, traceparent: Option<String>) -> Self {
        Self { traceparent, ..self }
    }

    /// The device with the charging that its plan still wants.
    #[must_use]
    pub fn with_need(self, need: Option<ChargingNeed>) -> Self {
        Self { need, ..self }
    }
}

/// Input of an owner who logs in.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Login {
    /// Name of the account.
    pub user_name: String,
    /// Its password.
    pub password: String,
    /// Code that the manufacturer sent, in a second step.
    pub code: Option<String>,
}

impl Login {
    /// Log-in with name and password. In a second step, set the `code`.
    #[must_use]
    pub fn new(user_name: impl Into<String>, password: impl Into<String>) -> Self {
        Self { user_name: user_name.into(), password: password.into(), code: None }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("user_name", &self.user_name).finish_non_exhaustive()
    }
}

/// Result of a step of a log-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogIn {
    /// The manufacturer sent a code, and wants it.
    CodeNeeded {
        /// Destination of the code, in words for the owner.
        sent_to: String,
    },
    /// The owner is in.
    Connected {
        /// To call the devices with.
        connection: Connection,
        /// All devices of the account.
        offers: Vec<Offer>,
    },
}

/// A device that an owner may link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The manufacturer's own identifier.
    pub device: String,
    /// Kind of the device.
    pub kind: DeviceKind,
    /// Name that its owner gave it.
    pub name: String,
}

/// Count of a device's meter in a period.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metered {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Energy that the device took.
    #[serde(rename = "imported_kwh")]
    pub imported: Energy,
    /// Energy that the device gave.
    #[serde(rename = "exported_kwh")]
    pub exported: Energy,
}

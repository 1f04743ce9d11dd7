//! A session as its address finds it, and the steps of it.
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use slackwater_control::device::scope::{DeviceKind, Granted, Permission};

use super::authorization::Attempted;
use super::ending::{self, Failure};
use crate::auth::secret::digest;
use crate::config::language::ColourScheme;
use crate::state::App;
use slackwater_integration::profile::{Profile, VendorCode};
use slackwater_integration::vendor::{Connection, Offer, Vendor};
use slackwater_store::client::Client;
use slackwater_store::clients;
use slackwater_store::devices::Device;
use slackwater_store::error::StoreError;
use slackwater_store::links::{self, KeptSession};

/// Lifetime of a session, which is used once (LIM-03).
pub const LIFETIME: TimeDelta = TimeDelta::hours(24);

/// Request of a client for a session, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkRequest {
    /// The manufacturer, if the user does not choose.
    pub vendor: Option<VendorCode>,
    /// The kind of device, if it is limited to one.
    pub kind: Option<DeviceKind>,
    /// Scopes that the user is asked to grant.
    pub scopes: Vec<(DeviceKind, Granted)>,
    /// Language of the pages, if it is not the browser's.
    pub language: Option<String>,
    /// Their colours, if they are not the operator's.
    #[serde(default)]
    pub colour_scheme: Option<ColourScheme>,
    /// Address to which the user's browser returns in the end.
    pub redirect_uri: Option<String>,
}

/// A session that somebody has the address of.
#[derive(Debug, Clone)]
pub struct Session {
    token: String,
    kept: KeptSession,
    /// Request of the client.
    pub request: LinkRequest,
    /// The client.
    pub client: Client,
    /// The device that is linked again, if it is one.
    pub device: Option<Arc<Device>>,
}

/// Stage of the life of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It can.
    Open,
    /// It was.
    Used,
    /// Nobody did in time.
    Expired,
}

/// Progress of a user.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Next step.
    pub step: Step,
    /// Reason to tell the client if the user leaves now.
    pub failure: Option<Failure>,
}

/// Step of a link session.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Choice of the manufacturer.
    Choose,
    /// Name and password.
    LogIn {
        /// At this manufacturer.
        vendor: VendorCode,
    },
    /// Log-in at the manufacturer's own page, to which the browser was sent.
    Authorization {
        /// The manufacturer.
        vendor: VendorCode,
        /// Secrets of the attempt.
        attempted: Attempted,
    },
    /// The code that the manufacturer sent.
    Code {
        /// The manufacturer.
        vendor: VendorCode,
        /// The name that was entered.
        user_name: String,
        /// The password that was entered; manufacturers want it again with the code.
        password: String,
        /// Destination of the code.
        sent_to: String,
        /// Wrong codes so far.
        wrong: u8,
    },
    /// Choice of devices, and consent.
    Consent {
        /// The manufacturer.
        vendor: VendorCode,
        /// Connection that the log-in yielded.
        connection: Connection,
        /// The devices of the account that may be linked in this session.
        offers: Vec<Offer>,
    },
}

impl Session {
    /// The session of a token; `None` if there is none in this environment.
    ///
    /// # Errors
    /// The database failed.
    pub async fn find(app: &App, token: &str) -> Result<Option<Self>, StoreError> {
        let Some(kept) = links::get_session(app.store(), &digest(token)).await? else {
            return Ok(None);
        };
        let client = clients::get_client(app.store(), &kept.made.client_id).await?;
        let Some(client) = client.map(|row| row.client) else { return Ok(None) };
        if client.environment != app.environment() {
            return Ok(None);
        }
        let request = serde_json::from_str(&kept.made.request);
        let request = request.map_err(|error| StoreError::Corrupt {
            table: "link_sessions",
            id: kept.made.hash.clone(),
            reason: format!("request: {error}"),
        })?;
        let device = kept
            .made
            .device_id
            .and_then(|id| app.cache().read(|tables| tables.device(&client.id, id).cloned()));
        if kept.made.device_id.is_some() && device.is_none() {
            // The device is gone, and with it what there was to link again.
            return Ok(None);
        }
        Ok(Some(Self { token: token.to_owned(), kept, request, client, device }))
    }

    /// State of the session at `now`.
    #[must_use]
    pub fn state(&self, now: DateTime<Utc>) -> State {
        match self.kept.used_at {
            Some(_) => State::Used,
            None if now >= self.kept.made.expires_at => State::Expired,
            None => State::Open,
        }
    }

    /// Key of the stored session.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.kept.made.hash
    }

    /// Token of its address.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The path of its pages.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/link/{}", self.token)
    }

    /// The user who links.
    #[must_use]
    pub fn user_id(&self) -> &str {
        &self.kept.made.user_id
    }

    /// Progress of the user, sealed.
    #[must_use]
    pub fn sealed(&self) -> Option<&str> {
        self.kept.progress.as_deref()
    }

    /// Permissions asked for on a kind of device; `None` if such devices are not wanted.
    #[must_use]
    pub fn granted(&self, kind: DeviceKind) -> Option<&Granted> {
        let is_wanted = self.request.kind.is_none_or(|wanted| wanted == kind);
        let (_, granted) = self.request.scopes.iter().find(|(of, _)| *of == kind)?;
        let reads = granted.contains(&Permission::ReadData) || self.device.is_some();
        (is_wanted && reads).then_some(granted)
    }

    /// Returns `true` if a manufacturer may be chosen.
    #[must_use]
    pub fn takes(&self, profile: &Profile) -> bool {
        let is_named = self.request.vendor.as_ref().is_none_or(|code| *code == profile.code);
        is_named && profile.kinds.iter().any(|kind| self.granted(*kind).is_some())
    }

    /// The manufacturers to choose from, by name.
    #[must_use]
    pub fn vendors(&self, app: &App) -> Vec<(Arc<Profile>, Arc<dyn Vendor>)> {
        let all = app.vendors().into_iter().map(|vendor| (vendor.profile(), vendor));
        let mut all: Vec<_> = all.filter(|(profile, _)| self.takes(profile)).collect();
        all.sort_by(|(a, _), (b, _)| {
            (a.display_name.to_lowercase(), &a.code).cmp(&(b.display_name.to_lowercase(), &b.code))
        });
        all
    }

    /// Devices of an account that may be linked here.
    #[must_use]
    pub fn fitting(&self, offers: Vec<Offer>) -> Vec<Offer> {
        let fits = |offer: &Offer| {
            let is_same =
                self.device.as_ref().is_none_or(|device| device.vendor_device == offer.device);
            is_same && self.granted(offer.kind).is_some()
        };
        offers.into_iter().filter(fits).collect()
    }

    /// First step: the log-in, if the client named the manufacturer (LNK-04).
    #[must_use]
    pub fn beginning(&self) -> Progress {
        let step = match &self.request.vendor {
            Some(vendor) => Step::LogIn { vendor: vendor.clone() },
            None => Step::Choose,
        };
        Progress { step, failure: None }
    }

    /// Address to which the user's browser returns, if the client named one.
    #[must_use]
    pub fn end(&self, failure: Option<Failure>) -> Option<String> {
        let uri = self.request.redirect_uri.as_ref()?;
        Some(ending::address(uri, &self.token, failure))
    }
}

impl Step {
    /// The word by which its form is known.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Choose => "choose",
            // Whoever goes back from the manufacturer's page has this one as it was.
            Self::LogIn { .. } | Self::Authorization { .. } => "login",
            Self::Code { .. } => "code",
            Self::Consent { .. } => "consent",
        }
    }

    /// The manufacturer, once there is one.
    #[must_use]
    pub const fn vendor(&self) -> Option<&VendorCode> {
        match self {
            Self::Choose => None,
            Self::LogIn { vendor }
            | Self::Authorization { vendor, .. }
            | Self::Code { vendor, .. }
            | Self::Consent { vendor, .. } => Some(vendor),
        }
    }
}

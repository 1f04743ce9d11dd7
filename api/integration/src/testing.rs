//! Contract test: what the service expects of every [`Vendor`].
//!
//! Call [`check_vendor`] from a test of the integration, with an account whose devices may be read:
//! a simulated one of the manufacturer, or a recording. It sends no commands.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use slackwater_integration::{testing, vendor::{Login, Vendor}};
//! # async fn test(vendor: Arc<dyn Vendor>) {
//! let login = Login { user_name: "ada".into(), password: "a secret".into(), code: None };
//! let now = "2026-01-05T18:00:00Z".parse().expect("an instant");
//! let breaches = testing::check_vendor(&*vendor, &login, now).await;
//! assert!(breaches.is_empty(), "{breaches:#?}");
//! # }
//! ```
use std::collections::BTreeSet;
use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use slackwater_engine::units::Energy;

use crate::error::VendorError;
use crate::profile::Profile;
use crate::vendor::{Connection, Linked, LogIn, Login, Metered, Offer, Vendor};

/// Identifier that no manufacturer gives to a device.
const NO_DEVICE: &str = "no device has this identifier";

/// Most that the manufacturer's clock may be ahead of ours.
const CLOCK_ERROR_MAX: TimeDelta = TimeDelta::minutes(5);

/// Length of the periods in which meters count.
const QUARTER: TimeDelta = TimeDelta::minutes(15);

/// Length of the period for which meters are read.
const METERED: TimeDelta = TimeDelta::hours(24);

/// Rule of the contract that an integration breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// Method of the trait.
    pub method: &'static str,
    /// Expectation, and what came instead.
    pub reason: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.method, self.reason)
    }
}

/// Checks an integration against the contract of [`Vendor`] and returns all breaches. `login` is
/// right, with the code if the manufacturer asks for one; `now` is the time of the calls.
pub async fn check_vendor(vendor: &dyn Vendor, login: &Login, now: DateTime<Utc>) -> Vec<Breach> {
    let mut check = Check { vendor, now, breaches: Vec::new() };
    check.profile();
    check.wrong_password(login).await;
    if let Some((connection, offers)) = check.log_in(login).await {
        check.offers(&offers);
        check.secrets(login, &connection);
        for offer in &offers {
            let device = Linked { connection: connection.clone(), device: offer.device.clone() };
            check.reading(offer, &device).await;
            check.metered(&device).await;
        }
        check.unknown_device(connection).await;
        if let Some(offer) = offers.first() {
            check.ended_connection(offer).await;
        }
    }
    check.breaches
}

struct Check<'a> {
    vendor: &'a dyn Vendor,
    now: DateTime<Utc>,
    breaches: Vec<Breach>,
}

impl Check<'_> {
    fn expect(&mut self, method: &'static str, holds: bool, reason: impl FnOnce() -> String) {
        if !holds {
            self.breaches.push(Breach { method, reason: reason() });
        }
    }

    fn profile(&mut self) {
        let profile = self.vendor.profile();
        let Profile { display_name, portal_name, kinds, .. } = &*profile;
        let names = [display_name, portal_name];
        let are_named = names.iter().all(|name| !name.trim().is_empty());
        self.expect("profile", are_named, || "display_name or portal_name is empty".to_owned());
        let distinct: BTreeSet<_> = kinds.iter().collect();
        let is_set = !kinds.is_empty() && distinct.len() == kinds.len();
        self.expect("profile", is_set, || {
            format!("kinds are {kinds:?}; expected at least one, each once")
        });
        let again = self.vendor.profile();
        self.expect("profile", profile == again, || "two calls have different results".to_owned());
    }

    /// Logs in, with the code in a second step if one is asked for.
    async fn log_in(&mut self, login: &Login) -> Option<(Connection, Vec<Offer>)> {
        let first = Login { code: None, ..login.clone() };
        let mut answer = self.vendor.log_in(&first, self.now).await;
        if let Ok(LogIn::CodeNeeded { sent_to }) = &answer {
            let is_told = !sent_to.trim().is_empty();
            self.expect("log_in", is_told, || {
                "sent_to is empty: where did the code go?".to_owned()
            });
            answer = self.vendor.log_in(login, self.now).await;
        }
        match answer {
            Ok(LogIn::Connected { connection, offers }) => return Some((connection, offers)),
            other => self.expect("log_in", false, || {
                format!("expected Connected for the right credentials; got {other:?}")
            }),
        }
        None
    }

    async fn wrong_password(&mut self, login: &Login) {
        let wrong = Login { password: format!("{}?", login.password), ..login.clone() };
        let answer = self.vendor.log_in(&wrong, self.now).await;
        self.expect("log_in", answer == Err(VendorError::Unauthorised), || {
            format!("expected Unauthorised for a wrong password; got {answer:?}")
        });
    }

    fn offers(&mut self, offers: &[Offer]) {
        let ids: BTreeSet<_> = offers.iter().map(|offer| &offer.device).collect();
        self.expect("log_in", !offers.is_empty(), || {
            "the account has no devices, so that readings cannot be checked".to_owned()
        });
        self.expect("log_in", ids.len() == offers.len(), || {
            "two devices have one identifier".to_owned()
        });
        let profile = self.vendor.profile();
        for Offer { device, kind, name } in offers {
            self.expect("log_in", profile.kinds.contains(kind), || {
                format!("{device} is a {}, which is none of profile().kinds", kind.as_str())
            });
            self.expect("log_in", !name.trim().is_empty(), || format!("{device} has no name"));
        }
    }

    /// No secret appears in the debug form, which may be written to a log.
    fn secrets(&mut self, login: &Login, connection: &Connection) {
        let debug = format!("{:?}", self.vendor);
        for secret in [login.password.as_str(), connection.secret()] {
            self.expect("Debug", secret.is_empty() || !debug.contains(secret), || {
                "the debug form contains a secret of the account".to_owned()
            });
        }
    }

    async fn reading(&mut self, offer: &Offer, device: &Linked) {
        let reading = match self.vendor.poll(device, self.now).await {
            Ok(reading) => reading,
            // The device is there and does not answer now, which is no breach.
            Err(error) if error.is_silence() => return,
            Err(error) => {
                self.expect("poll", false, || format!("{}: {error}", offer.device));
                return;
            }
        };
        let kind = reading.facts.kind();
        self.expect("poll", kind == offer.kind, || {
            let (read, offered) = (kind.as_str(), offer.kind.as_str());
            format!("{} was offered as a {offered} and reads as a {read}", offer.device)
        });
        let now = self.now;
        self.expect("poll", reading.at <= now + CLOCK_ERROR_MAX, || {
            format!("{} was heard of at {}, which is after {now}", offer.device, reading.at)
        });
    }

    async fn metered(&mut self, device: &Linked) {
        let (from, to) = (self.now - METERED, self.now);
        let all = match self.vendor.metered(device, from, to, self.now).await {
            Ok(all) => all,
            Err(error) if error.is_silence() => return,
            Err(error) => {
                self.expect("metered", false, || format!("{}: {error}", device.device));
                return;
            }
        };
        let is_bad = |one: &Metered| {
            let is_whole = one.end - one.start == QUARTER
                && one.start.timestamp().rem_euclid(QUARTER.num_seconds()) == 0;
            let is_inside = from <= one.start && one.end <= to;
            !is_whole || !is_inside || one.imported < Energy::ZERO || one.exported < Energy::ZERO
        };
        let bad = all.iter().find(|one| is_bad(one));
        self.expect("metered", bad.is_none(), || {
            format!("expected whole quarters of an hour in [{from}, {to}), not negative: {bad:?}")
        });
        let is_ordered = all.windows(2).all(|two| two[0].end <= two[1].start);
        self.expect("metered", is_ordered, || {
            format!("{}: the periods overlap or are out of order", device.device)
        });
    }

    async fn unknown_device(&mut self, connection: Connection) {
        let device = Linked { connection, device: NO_DEVICE.to_owned() };
        let answer = self.vendor.poll(&device, self.now).await;
        self.expect("poll", answer == Err(VendorError::NoSuchDevice), || {
            format!("expected NoSuchDevice for an unknown device; got {answer:?}")
        });
    }

    async fn ended_connection(&mut self, offer: &Offer) {
        let connection = Connection::new("a connection that no log-in yielded");
        let device = Linked { connection, device: offer.device.clone() };
        let answer = self.vendor.poll(&device, self.now).await;
        self.expect("poll", answer == Err(VendorError::Unauthorised), || {
            format!("expected Unauthorised for an unknown connection; got {answer:?}")
        });
    }
}

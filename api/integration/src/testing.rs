//! Contract test: what the service expects of every [`Vendor`].
//!
//! Call [`check_vendor`] from a test of the integration, with an account whose devices may be read:
//! a simulated one of the manufacturer, or a recording. It sends no commands. An integration with an
//! [`Authorization`](crate::authorization::Authorization) is checked by [`check_authorised_vendor`],
//! with tokens of such an account.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use slackwater_integration::{testing, vendor::{Login, Vendor}};
//! # async fn test(vendor: Arc<dyn Vendor>) {
//! let login = Login::new("ada", "a secret");
//! let now = "2026-01-05T18:00:00Z".parse().expect("an instant");
//! let breaches = testing::check_vendor(&*vendor, &login, now).await;
//! assert!(breaches.is_empty(), "{breaches:#?}");
//! # }
//! ```
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use slackwater_engine::units::Energy;

use crate::authorization::AccountTokens;
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

/// Polls of a device of which one at least is followed by no news. Others may fall together with a
/// change of the device.
const POLLS_WITHOUT_NEWS: usize = 3;

/// Rule of the contract that an integration breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
        check.secrets([login.password.as_str(), connection.secret()]);
        check.account("log_in", connection, &offers).await;
    }
    check.breaches
}

/// Checks an integration whose owners log in at the manufacturer's own page, as [`check_vendor`]
/// does. The `tokens` are those of an account, as its log-in yields them.
pub async fn check_authorised_vendor(
    vendor: &dyn Vendor,
    tokens: &AccountTokens,
    now: DateTime<Utc>,
) -> Vec<Breach> {
    let mut check = Check { vendor, now, breaches: Vec::new() };
    check.profile();
    check.authorization();
    check.unknown_tokens().await;
    match vendor.connect_account(tokens, now).await {
        Ok((connection, offers)) => {
            check.secrets([tokens.access_token.as_str(), connection.secret()]);
            check.account("connect_account", connection, &offers).await;
        }
        Err(error) => check.expect("connect_account", false, || {
            format!("expected the account of the tokens; got {error:?}")
        }),
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
        let is_one = match (self.vendor.news(), self.vendor.news()) {
            (Some(news), Some(again)) => Arc::ptr_eq(&news, &again),
            (news, again) => news.is_none() && again.is_none(),
        };
        self.expect("news", is_one, || "two calls have different results".to_owned());
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

    fn authorization(&mut self) {
        let declared = self.vendor.authorization();
        let is_known = declared.as_ref().is_some_and(|known| !known.client_id.is_empty());
        self.expect("authorization", is_known, || {
            format!("expected an authorization with a client_id; got {declared:?}")
        });
        let again = self.vendor.authorization();
        self.expect("authorization", declared == again, || {
            "two calls have different results".to_owned()
        });
    }

    async fn unknown_tokens(&mut self) {
        let tokens = AccountTokens::new("a token that was not issued");
        let answer = self.vendor.connect_account(&tokens, self.now).await;
        let is_refused = matches!(answer, Err(VendorError::Unauthorised));
        self.expect("connect_account", is_refused, || {
            format!("expected Unauthorised for an unknown token; got {answer:?}")
        });
    }

    /// Checks the devices of an account that was logged in to by `method`.
    async fn account(&mut self, method: &'static str, connection: Connection, offers: &[Offer]) {
        self.offers(method, offers);
        for offer in offers {
            let device = Linked::new(connection.clone(), &offer.device);
            self.reading(offer, &device).await;
            self.metered(&device).await;
            self.news(&device).await;
        }
        self.unknown_device(connection).await;
        if let Some(offer) = offers.first() {
            self.ended_connection(offer).await;
        }
    }

    fn offers(&mut self, method: &'static str, offers: &[Offer]) {
        let ids: BTreeSet<_> = offers.iter().map(|offer| &offer.device).collect();
        self.expect(method, !offers.is_empty(), || {
            "the account has no devices, so that readings cannot be checked".to_owned()
        });
        self.expect(method, ids.len() == offers.len(), || {
            "two devices have one identifier".to_owned()
        });
        let profile = self.vendor.profile();
        for Offer { device, kind, name } in offers {
            self.expect(method, profile.kinds.contains(kind), || {
                format!("{device} is a {}, which is none of profile().kinds", kind.as_str())
            });
            self.expect(method, !name.trim().is_empty(), || format!("{device} has no name"));
        }
    }

    /// No secret appears in the debug form, which may be written to a log.
    fn secrets(&mut self, secrets: [&str; 2]) {
        let debug = format!("{:?}", self.vendor);
        for secret in secrets {
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

    /// A poll is no news. Takes away what was told.
    async fn news(&mut self, device: &Linked) {
        let Some(news) = self.vendor.news() else { return };
        for _ in 0..POLLS_WITHOUT_NEWS {
            news.take_each(|_| ());
            // Results of polls are checked elsewhere.
            let _: Result<_, VendorError> = self.vendor.poll(device, self.now).await;
            let mut is_told = false;
            news.take_each(|told| is_told |= told == device.device);
            if !is_told {
                return;
            }
        }
        self.expect("news", false, || format!("{}: each poll is told as news", device.device));
    }

    async fn unknown_device(&mut self, connection: Connection) {
        let device = Linked::new(connection, NO_DEVICE);
        let answer = self.vendor.poll(&device, self.now).await;
        self.expect("poll", answer == Err(VendorError::NoSuchDevice), || {
            format!("expected NoSuchDevice for an unknown device; got {answer:?}")
        });
    }

    async fn ended_connection(&mut self, offer: &Offer) {
        let connection = Connection::new("a connection that no log-in yielded");
        let device = Linked::new(connection, &offer.device);
        let answer = self.vendor.poll(&device, self.now).await;
        self.expect("poll", answer == Err(VendorError::Unauthorised), || {
            format!("expected Unauthorised for an unknown connection; got {answer:?}")
        });
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;
    use std::task::{Context, Poll, Waker};

    use async_trait::async_trait;
    use slackwater_control::device::capability::Capabilities;
    use slackwater_control::device::command::Command;
    use slackwater_control::device::scope::DeviceKind;
    use slackwater_control::policy::flex::ReserveRule;

    use super::*;
    use crate::authorization::{Authorization, Endpoint};
    use crate::news::News;
    use crate::profile::{Health, VendorCode, VendorHealth};
    use crate::reading::{Facts, MeterFacts, Reading};

    /// Integration with one meter, and a breach of the contract if it has one.
    #[derive(Debug)]
    pub(crate) struct Garage {
        code: VendorCode,
        breach: &'static str,
        news: Arc<News>,
    }

    impl Garage {
        pub(crate) fn new(code: VendorCode) -> Self {
            Self::with_breach(code, "")
        }

        fn with_breach(code: VendorCode, breach: &'static str) -> Self {
            Self { code, breach, news: Arc::default() }
        }
    }

    #[async_trait]
    impl Vendor for Garage {
        fn profile(&self) -> Arc<Profile> {
            let kind = if self.breach == "kind" { DeviceKind::Charger } else { DeviceKind::Meter };
            Arc::new(Profile {
                code: self.code.clone(),
                display_name: if self.breach == "name" { "" } else { "Garage" }.to_owned(),
                portal_name: "Garage".to_owned(),
                kinds: vec![kind],
                reserve: ReserveRule::default(),
            })
        }

        fn health(&self, _now: DateTime<Utc>) -> VendorHealth {
            VendorHealth { devices: Health::Ready, linking: Health::Ready }
        }

        async fn log_in(&self, login: &Login, _now: DateTime<Utc>) -> Result<LogIn, VendorError> {
            if login.password != "sesame" && self.breach != "password" {
                return Err(VendorError::Unauthorised);
            }
            if login.code.is_none() {
                return Ok(LogIn::CodeNeeded { sent_to: "a telephone".to_owned() });
            }
            let name = "Cellar".to_owned();
            let offer = Offer { device: "meter".to_owned(), kind: DeviceKind::Meter, name };
            let count = if self.breach == "twice" { 2 } else { 1 };
            let offers = vec![offer; count];
            Ok(LogIn::Connected { connection: Connection::new("key"), offers })
        }

        fn authorization(&self) -> Option<Authorization> {
            let endpoint = |path| Endpoint::parse(&format!("https://garage.example/{path}"));
            (self.breach != "undeclared").then(|| Authorization {
                authorization_endpoint: endpoint("authorize").unwrap(),
                token_endpoint: endpoint("token").unwrap(),
                client_id: "slackwater".to_owned(),
                client_secret: None,
                scopes: Vec::new(),
                parameters: Vec::new(),
            })
        }

        async fn connect_account(
            &self,
            tokens: &AccountTokens,
            now: DateTime<Utc>,
        ) -> Result<(Connection, Vec<Offer>), VendorError> {
            if tokens.access_token != "token" && self.breach != "token" {
                return Err(VendorError::Unauthorised);
            }
            let mut login = Login::new("ada", "sesame");
            login.code = Some("1234".to_owned());
            match self.log_in(&login, now).await? {
                LogIn::Connected { connection, offers } => Ok((connection, offers)),
                LogIn::CodeNeeded { .. } => Err(VendorError::ChallengeFailed),
            }
        }

        fn news(&self) -> Option<Arc<News>> {
            match self.breach {
                "handles" => Some(Arc::default()),
                "silent" => None,
                _ => Some(Arc::clone(&self.news)),
            }
        }

        async fn poll(&self, device: &Linked, now: DateTime<Utc>) -> Result<Reading, VendorError> {
            if self.breach == "echo" {
                self.news.tell_of(&device.device);
            }
            if device.connection.secret() != "key" && self.breach != "connection" {
                return Err(VendorError::Unauthorised);
            }
            if device.device != "meter" && self.breach != "device" {
                return Err(VendorError::NoSuchDevice);
            }
            let ahead = TimeDelta::hours(i64::from(self.breach == "clock"));
            Ok(Reading {
                at: now + ahead,
                is_reachable: Some(true),
                capabilities: Capabilities::default(),
                counters: None,
                facts: Facts::Meter(MeterFacts { power: None, position: None }),
            })
        }

        async fn send(
            &self,
            _device: &Linked,
            _command: &Command,
            _now: DateTime<Utc>,
        ) -> Result<(), VendorError> {
            Err(VendorError::Refused { detail: "a meter takes no commands".to_owned() })
        }

        async fn metered(
            &self,
            _device: &Linked,
            from: DateTime<Utc>,
            _to: DateTime<Utc>,
            _now: DateTime<Utc>,
        ) -> Result<Vec<Metered>, VendorError> {
            let (imported, exported) = (Energy::ZERO, Energy::ZERO);
            let length = if self.breach == "quarter" { QUARTER * 2 } else { QUARTER };
            let one = Metered { start: from, end: from + length, imported, exported };
            let next = Metered { start: one.end, end: one.end + QUARTER, ..one };
            Ok(if self.breach == "order" { vec![next, one] } else { vec![one, next] })
        }
    }

    /// The result of a future that never waits.
    fn result_of<T>(future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result,
            Poll::Pending => panic!("the future waits"),
        }
    }

    fn breaches(breach: &'static str) -> Vec<Breach> {
        let vendor = Garage::with_breach(VendorCode::parse("GARAGE").unwrap(), breach);
        let login = Login {
            user_name: "ada".to_owned(),
            password: "sesame".to_owned(),
            code: Some("1234".to_owned()),
        };
        result_of(check_vendor(&vendor, &login, "2026-01-05T18:00:00Z".parse().unwrap()))
    }

    #[test]
    fn an_integration_that_keeps_the_contract_has_no_breaches() {
        assert_eq!([breaches(""), breaches("silent")], [const { Vec::new() }; 2]);
        assert_eq!(breaches_with_tokens("", "token"), []);
    }

    fn breaches_with_tokens(breach: &'static str, access_token: &str) -> Vec<Breach> {
        let vendor = Garage::with_breach(VendorCode::parse("GARAGE").unwrap(), breach);
        let now = "2026-01-05T18:00:00Z".parse().unwrap();
        result_of(check_authorised_vendor(&vendor, &AccountTokens::new(access_token), now))
    }

    #[test]
    fn each_breach_after_a_log_in_elsewhere_is_found() {
        for (breach, token, method, reason) in [
            ("undeclared", "token", "authorization", "expected an authorization with a client_id"),
            ("token", "token", "connect_account", "expected Unauthorised for an unknown token"),
            ("", "other", "connect_account", "expected the account of the tokens"),
            ("twice", "token", "connect_account", "two devices have one identifier"),
            ("device", "token", "poll", "expected NoSuchDevice for an unknown device"),
        ] {
            let found = breaches_with_tokens(breach, token);
            let is_found = |one: &Breach| one.method == method && one.reason.starts_with(reason);
            assert!(found.iter().any(is_found), "{breach}: {found:?}");
        }
    }

    #[test]
    fn each_breach_is_found() {
        for (breach, method, reason) in [
            ("name", "profile", "display_name or portal_name is empty"),
            ("kind", "log_in", "meter is a meter, which is none of profile().kinds"),
            ("password", "log_in", "expected Unauthorised for a wrong password"),
            ("twice", "log_in", "two devices have one identifier"),
            ("connection", "poll", "expected Unauthorised for an unknown connection"),
            ("device", "poll", "expected NoSuchDevice for an unknown device"),
            ("clock", "poll", "meter was heard of at 2026-01-05 19:00:00 UTC"),
            ("quarter", "metered", "expected whole quarters of an hour"),
            ("handles", "news", "two calls have different results"),
            ("echo", "news", "meter: each poll is told as news"),
            ("order", "metered", "meter: the periods overlap or are out of order"),
        ] {
            let found = breaches(breach);
            let is_found = |one: &Breach| one.method == method && one.reason.starts_with(reason);
            assert!(found.iter().any(is_found), "{breach}: {found:?}");
        }
    }
}

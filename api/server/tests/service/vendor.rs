//! A manufacturer that says what a test tells it to say.
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use slackwater_control::device::command::Command;
use slackwater_control::device::scope::DeviceKind;
use slackwater_control::grid_order::limit::GridLimit;
use slackwater_control::policy::flex::ReserveRule;
use slackwater_control::policy::need::ChargingNeed;
use slackwater_engine::units::Power;
use slackwater_integration::authorization::{AccountTokens, Authorization};
use slackwater_integration::error::VendorError;
use slackwater_integration::news::News;
use slackwater_integration::profile::{Health, Profile, VendorCode, VendorHealth};
use slackwater_integration::reading::Reading;
use slackwater_integration::vendor::{Connection, Linked, LogIn, Login, Metered, Offer, Vendor};
use tokio::sync::watch;

/// Answer of a device.
type Script = Result<Reading, VendorError>;

/// Outcome of a command: the reading from then on, if anything changes.
pub(crate) type Outcome = Result<Option<Reading>, VendorError>;

#[derive(Debug)]
struct Site {
    power: Option<Power>,
    /// The last grid limit that the site was told.
    limit: Option<GridLimit>,
}

#[derive(Debug)]
pub(crate) struct Scripted {
    profile: Arc<Profile>,
    scripts: Mutex<BTreeMap<String, Script>>,
    health: Mutex<VendorHealth>,
    /// Result of a log-in.
    door: Mutex<Result<LogIn, VendorError>>,
    /// Log-in at a page of its own.
    page: Mutex<Option<Authorization>>,
    /// Tokens that accounts were connected by.
    tokens: Mutex<Vec<AccountTokens>>,
    /// The one access token that calls need, or any if it is empty. Connections are made of tokens
    /// if there is one.
    accepted: Mutex<Option<String>>,
    polls: AtomicUsize,
    news: Arc<News>,
    /// Needs by device, as they came with the last poll.
    needs: Mutex<BTreeMap<String, Option<ChargingNeed>>>,
    log_ins: watch::Sender<usize>,
    outcomes: Mutex<BTreeMap<String, VecDeque<Outcome>>>,
    sent: Mutex<Vec<(String, Command)>>,
    sites: Mutex<BTreeMap<String, Site>>,
    /// While true, polls and log-ins wait.
    hangs: watch::Sender<bool>,
    /// While true, whoever polls panics.
    breaks: AtomicBool,
}

impl Scripted {
    pub(crate) fn new(code: &str) -> Arc<Self> {
        let profile = Profile {
            code: VendorCode::parse(code).unwrap(),
            display_name: format!("{code} Cars"),
            portal_name: format!("My {code}"),
            kinds: DeviceKind::ALL.to_vec(),
            reserve: ReserveRule::default(),
        };
        let ready = VendorHealth { devices: Health::Ready, linking: Health::Ready };
        Arc::new(Self {
            profile: Arc::new(profile),
            scripts: Mutex::default(),
            health: Mutex::new(ready),
            door: Mutex::new(Err(VendorError::Unauthorised)),
            page: Mutex::default(),
            tokens: Mutex::default(),
            accepted: Mutex::default(),
            polls: AtomicUsize::new(0),
            news: Arc::default(),
            needs: Mutex::default(),
            log_ins: watch::Sender::new(0),
            outcomes: Mutex::default(),
            sent: Mutex::default(),
            sites: Mutex::default(),
            hangs: watch::Sender::new(false),
            breaks: AtomicBool::new(false),
        })
    }

    pub(crate) fn says(&self, device: &str, script: Script) {
        self.scripts.lock().unwrap().insert(device.to_owned(), script);
    }

    /// From now on a device says this, and tells so.
    pub(crate) fn tells(&self, device: &str, script: Script) {
        self.says(device, script);
        self.news.tell_of(device);
    }

    /// From now on a log-in yields this.
    pub(crate) fn lets_in(&self, answer: Result<LogIn, VendorError>) {
        *self.door.lock().unwrap() = answer;
    }

    /// From now on owners log in at a page of its own.
    pub(crate) fn logs_in_at(&self, page: Authorization) {
        *self.page.lock().unwrap() = Some(page);
    }

    /// Tokens that accounts were connected by.
    pub(crate) fn tokens(&self) -> Vec<AccountTokens> {
        self.tokens.lock().unwrap().clone()
    }

    /// From now on calls need this access token, or any if it is empty, and connections are made of tokens.
    pub(crate) fn accepts(&self, access_token: &str) {
        *self.accepted.lock().unwrap() = Some(access_token.to_owned());
    }

    fn check_token(&self, connection: &Connection) -> Result<(), VendorError> {
        let accepted = self.accepted.lock().unwrap().clone();
        let given = connection.tokens().map(|tokens| tokens.access_token);
        let is_any = accepted.as_deref() == Some("") && given.is_some();
        if accepted.is_none() || is_any || given == accepted {
            Ok(())
        } else {
            Err(VendorError::Unauthorised)
        }
    }

    pub(crate) fn does(&self, devices: Health, linking: Health) {
        *self.health.lock().unwrap() = VendorHealth { devices, linking };
    }

    /// Sets the outcomes of the next commands to a device; later ones come to nothing.
    pub(crate) fn obeys(&self, device: &str, outcomes: impl IntoIterator<Item = Outcome>) {
        self.outcomes.lock().unwrap().insert(device.to_owned(), outcomes.into_iter().collect());
    }

    /// The commands that a device was sent.
    pub(crate) fn sent(&self, device: &str) -> Vec<Command> {
        let sent = self.sent.lock().unwrap();
        sent.iter().filter(|(to, _)| to == device).map(|(_, command)| *command).collect()
    }

    /// From now on there is a site that draws a power, and follows no limit yet.
    pub(crate) fn has_site(&self, name: &str, power: Option<Power>) {
        self.sites.lock().unwrap().insert(name.to_owned(), Site { power, limit: None });
    }

    /// Limit of a grid operator that a site follows.
    pub(crate) fn followed(&self, name: &str) -> Option<GridLimit> {
        self.sites.lock().unwrap()[name].limit
    }

    pub(crate) fn hang(&self, hangs: bool) {
        self.hangs.send_replace(hangs);
    }

    /// Number of log-ins.
    pub(crate) fn log_ins(&self) -> usize {
        *self.log_ins.borrow()
    }

    /// Waits until it was asked so often.
    pub(crate) async fn asked(&self, log_ins: usize) {
        self.log_ins.subscribe().wait_for(|count| *count >= log_ins).await.unwrap();
    }

    pub(crate) fn breaks(&self, breaks: bool) {
        self.breaks.store(breaks, Ordering::SeqCst);
    }

    /// Need of a device, as it came with the last poll.
    pub(crate) fn need_of(&self, device: &str) -> Option<ChargingNeed> {
        self.needs.lock().unwrap()[device]
    }

    pub(crate) fn polls(&self) -> usize {
        self.polls.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Vendor for Scripted {
    fn profile(&self) -> Arc<Profile> {
        Arc::clone(&self.profile)
    }

    fn health(&self, _: DateTime<Utc>) -> VendorHealth {
        *self.health.lock().unwrap()
    }

    fn trial(&self) -> Option<Login> {
        let mut login = Login::new("trial-ada", "trial-password");
        login.code = Some("4711".to_owned());
        Some(login)
    }

    async fn log_in(&self, _: &Login, _: DateTime<Utc>) -> Result<LogIn, VendorError> {
        self.log_ins.send_modify(|count| *count += 1);
        self.hangs.subscribe().wait_for(|hangs| !hangs).await.unwrap();
        self.door.lock().unwrap().clone()
    }

    fn authorization(&self) -> Option<Authorization> {
        self.page.lock().unwrap().clone()
    }

    async fn connect_account(
        &self,
        tokens: &AccountTokens,
        _: DateTime<Utc>,
    ) -> Result<(Connection, Vec<Offer>), VendorError> {
        self.tokens.lock().unwrap().push(tokens.clone());
        match self.door.lock().unwrap().clone()? {
            LogIn::Connected { offers, .. } => {
                let is_of_tokens = self.accepted.lock().unwrap().is_some();
                let plain = || Connection::new(&tokens.access_token);
                let connection = if is_of_tokens { Connection::of_tokens(tokens) } else { plain() };
                Ok((connection, offers))
            }
            LogIn::CodeNeeded { .. } => Err(VendorError::ChallengeFailed),
        }
    }

    fn news(&self) -> Option<Arc<News>> {
        Some(Arc::clone(&self.news))
    }

    async fn poll(&self, device: &Linked, _: DateTime<Utc>) -> Result<Reading, VendorError> {
        self.polls.fetch_add(1, Ordering::SeqCst);
        assert!(!self.breaks.load(Ordering::SeqCst), "a vendor that breaks");
        self.hangs.subscribe().wait_for(|hangs| !hangs).await.unwrap();
        self.check_token(&device.connection)?;
        self.needs.lock().unwrap().insert(device.device.clone(), device.need);
        let script = self.scripts.lock().unwrap().get(&device.device).cloned();
        script.unwrap_or(Err(VendorError::NoSuchDevice))
    }

    async fn send(
        &self,
        device: &Linked,
        command: &Command,
        _: DateTime<Utc>,
    ) -> Result<(), VendorError> {
        self.check_token(&device.connection)?;
        self.sent.lock().unwrap().push((device.device.clone(), *command));
        let mut outcomes = self.outcomes.lock().unwrap();
        let outcome = outcomes.get_mut(&device.device).and_then(VecDeque::pop_front);
        if let Some(reading) = outcome.unwrap_or(Ok(None))? {
            self.says(&device.device, Ok(reading));
        }
        Ok(())
    }

    async fn metered(
        &self,
        _: &Linked,
        _: DateTime<Utc>,
        _: DateTime<Utc>,
        _: DateTime<Utc>,
    ) -> Result<Vec<Metered>, VendorError> {
        Ok(Vec::new())
    }

    fn follow_grid_limit(&self, site: &str, limit: GridLimit) -> bool {
        let mut sites = self.sites.lock().unwrap();
        sites.get_mut(site).map(|site| site.limit = Some(limit)).is_some()
    }

    fn site_power(&self, site: &str) -> Option<Power> {
        self.sites.lock().unwrap().get(site)?.power
    }
}

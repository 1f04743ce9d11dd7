//! State that all requests share.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio::sync::Notify;

use crate::auth::budget::{BudgetSpent, Budgets};
use crate::auth::secret::{NoRandomness, Verified, generate};
use crate::auth::throttle::FailedLoginLimiter;
use crate::auth::token::Tokens;
use crate::cache::grid::{GridSenders, GridSetupError};
use crate::cache::limits::AreaLimits;
use crate::cache::price_book::Prices;
use crate::cache::price_lookup::{PriceBook, PriceLookup};
use crate::cache::recorders::Recorders;
use crate::cache::tables::Cache;
use crate::cache::unit_plans::UnitPlans;
use crate::clock::Clock;
use crate::config::{Config, RateLimitClass};
use crate::queue::orders::OrderQueue;
use crate::queue::outages::Outages;
use crate::queue::plans::PlanQueue;
use crate::queue::polls::PollQueue;
use crate::queue::renewals::Renewals;
use slackwater_engine::shared_supply::SharedLimit;
use slackwater_https::client::{HttpsClient, TlsError, connect_https};
use slackwater_integration::profile::VendorCode;
use slackwater_integration::registry::Vendors;
use slackwater_integration::vendor::Vendor;
use slackwater_store::client::Environment;
use slackwater_store::database::Store;
use slackwater_store::error::StoreError;
use slackwater_store::settings::get_or_insert_setting;

/// The name under which the key of cursors is kept.
const CURSOR_KEY: &str = "cursor_key";

/// Failure to set up a service.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Rows cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A sender of grid orders.
    #[error(transparent)]
    Grid(#[from] GridSetupError),
    /// No key can be made.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
}

/// Public addresses of an environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Urls {
    /// The service itself.
    pub base: String,
    /// Address at which tokens are issued.
    pub auth: String,
    /// Address at which people link devices.
    pub link: String,
}

/// State that both environments share.
#[derive(Debug)]
struct Shared {
    config: Config,
    store: Store,
    cache: Cache,
    prices: Arc<Prices>,
    price_lookup: Arc<PriceLookup>,
    recorders: Recorders,
    limits: AreaLimits,
    grid: GridSenders,
    tokens: Tokens,
    throttle: FailedLoginLimiter,
    verified: Verified,
    budgets: Budgets,
    https: OnceLock<HttpsClient>,
    renewals: Renewals,
    cursor_key: String,
    started: Instant,
    stopping: AtomicBool,
}

/// State of one environment.
struct EnvironmentState {
    environment: Environment,
    clock: Clock,
    urls: Urls,
    vendors: RwLock<Vendors>,
    vendors_set: Notify,
    poller: PollQueue,
    outages: Outages,
    control: OrderQueue,
    planner: PlanQueue,
    units: UnitPlans,
    price_book: RwLock<Arc<dyn PriceBook>>,
}

/// Handle to the state of one environment. Clones share it.
#[derive(Debug, Clone)]
pub struct App {
    shared: Arc<Shared>,
    world: Arc<EnvironmentState>,
}

impl App {
    /// A service that takes requests of one environment, with all that is kept.
    ///
    /// # Errors
    /// What is kept cannot be read.
    pub async fn load(
        config: Config,
        store: Store,
        (environment, clock, urls): (Environment, Clock, Urls),
    ) -> Result<Self, SetupError> {
        let fresh_key = generate()?;
        let prices = Arc::new(Prices::load(&store).await?);
        let price_lookup = Arc::new(PriceLookup::new(Arc::clone(&prices), config.zones.clone()));
        let cache = Cache::load(&store).await?;
        cache.write(|tables| tables.plans.set_configured(config.comfort.clone()));
        let shared = Shared {
            cursor_key: get_or_insert_setting(&store, CURSOR_KEY, &fresh_key).await?,
            cache,
            prices,
            price_lookup,
            recorders: Recorders::load(&store).await?,
            limits: AreaLimits::load(&store, &config.plans.limits).await?,
            grid: GridSenders::load(&store, &config.grid, Clock::system().now()).await?,
            config,
            store,
            tokens: Tokens::default(),
            throttle: FailedLoginLimiter::default(),
            verified: Verified::new()?,
            budgets: Budgets::default(),
            https: OnceLock::new(),
            renewals: Renewals::default(),
            started: Instant::now(),
            stopping: AtomicBool::new(false),
        };
        Ok(Self::with_environment(Arc::new(shared), environment, clock, urls))
    }

    /// State of the other environment of the same service.
    #[must_use]
    pub fn for_environment(&self, environment: Environment, clock: Clock, urls: Urls) -> Self {
        Self::with_environment(Arc::clone(&self.shared), environment, clock, urls)
    }

    fn with_environment(
        shared: Arc<Shared>,
        environment: Environment,
        clock: Clock,
        urls: Urls,
    ) -> Self {
        let world = EnvironmentState {
            environment,
            clock,
            urls,
            vendors: RwLock::default(),
            vendors_set: Notify::new(),
            poller: PollQueue::new(shared.config.polling),
            outages: Outages::default(),
            control: OrderQueue::new(shared.config.action.concurrency),
            planner: PlanQueue::default(),
            units: UnitPlans::default(),
            price_book: RwLock::new(Arc::clone(&shared.price_lookup) as _),
        };
        Self { shared, world: Arc::new(world) }
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// The environment.
    #[must_use]
    pub fn environment(&self) -> Environment {
        self.world.environment
    }

    /// Public addresses.
    #[must_use]
    pub fn urls(&self) -> &Urls {
        &self.world.urls
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.world.clock
    }

    /// Time of the clock.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.world.clock.now()
    }

    /// The database.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// Tables in memory.
    #[must_use]
    pub fn cache(&self) -> &Cache {
        &self.shared.cache
    }

    /// Prices in memory.
    #[must_use]
    pub fn prices(&self) -> &Prices {
        &self.shared.prices
    }

    /// Progress of the recording of devices.
    #[must_use]
    pub fn recorders(&self) -> &Recorders {
        &self.shared.recorders
    }

    /// Limits of areas.
    #[must_use]
    pub fn limits(&self) -> &AreaLimits {
        &self.shared.limits
    }

    /// Senders of grid orders.
    #[must_use]
    pub fn grid(&self) -> &GridSenders {
        &self.shared.grid
    }

    /// The limit of an area from now on; `None` without one.
    #[must_use]
    pub fn area_limit(&self, zone_id: &str, area_id: &str) -> Option<Arc<SharedLimit>> {
        let now = self.now();
        self.limits().of(zone_id, area_id).filter(|limit| !limit.is_unlimited_from(now))
    }

    /// The tokens.
    #[must_use]
    pub fn tokens(&self) -> &Tokens {
        &self.shared.tokens
    }

    /// The counter of wrong secrets.
    #[must_use]
    pub fn throttle(&self) -> &FailedLoginLimiter {
        &self.shared.throttle
    }

    /// The secrets that were right before.
    #[must_use]
    pub fn verified(&self) -> &Verified {
        &self.shared.verified
    }

    /// Queue of polls.
    #[must_use]
    pub fn poller(&self) -> &PollQueue {
        &self.world.poller
    }

    /// Manufacturers that do not answer.
    pub(crate) fn outages(&self) -> &Outages {
        &self.world.outages
    }

    /// Queue of pursuits and evaluations of devices.
    #[must_use]
    pub fn control(&self) -> &OrderQueue {
        &self.world.control
    }

    /// Queue of plans.
    #[must_use]
    pub fn planner(&self) -> &PlanQueue {
        &self.world.planner
    }

    /// Plans of heating and cooling units.
    #[must_use]
    pub fn units(&self) -> &UnitPlans {
        &self.world.units
    }

    /// Prices of locations.
    #[must_use]
    pub fn price_lookup(&self) -> &PriceLookup {
        &self.shared.price_lookup
    }

    /// Prices that plans use: those of [`price_lookup`](Self::price_lookup), unless a test has set
    /// others.
    #[must_use]
    pub fn price_book(&self) -> Arc<dyn PriceBook> {
        Arc::clone(&self.world.price_book.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets the prices that plans use.
    pub fn set_price_book(&self, book: Arc<dyn PriceBook>) {
        *self.world.price_book.write().unwrap_or_else(PoisonError::into_inner) = book;
    }

    /// Client of requests to manufacturers' servers, made when it is first wanted.
    ///
    /// # Errors
    /// There is no TLS.
    pub fn https(&self) -> Result<HttpsClient, TlsError> {
        if let Some(client) = self.shared.https.get() {
            return Ok(client.clone());
        }
        let client = connect_https()?;
        Ok(self.shared.https.get_or_init(|| client).clone())
    }

    /// Accounts whose tokens are renewed in this process.
    pub(crate) fn renewals(&self) -> &Renewals {
        &self.shared.renewals
    }

    /// The key that cursors are signed with.
    #[must_use]
    pub fn cursor_key(&self) -> &[u8] {
        self.shared.cursor_key.as_bytes()
    }

    /// A manufacturer of this environment.
    #[must_use]
    pub fn vendor(&self, code: &VendorCode) -> Option<Arc<dyn Vendor>> {
        self.world.vendors.read().unwrap_or_else(PoisonError::into_inner).get(code).cloned()
    }

    /// All manufacturers of this environment.
    #[must_use]
    pub fn vendors(&self) -> Vec<Arc<dyn Vendor>> {
        let vendors = self.world.vendors.read().unwrap_or_else(PoisonError::into_inner);
        vendors.values().cloned().collect()
    }

    /// Replaces the manufacturers of this environment.
    pub fn set_vendors(&self, vendors: Vendors) {
        *self.world.vendors.write().unwrap_or_else(PoisonError::into_inner) = vendors;
        self.world.vendors_set.notify_one();
    }

    /// Waits until the manufacturers of this environment were replaced since the last wait.
    pub(crate) async fn wait_for_vendors(&self) {
        self.world.vendors_set.notified().await;
    }

    /// Time since the start of the process, on the machine's steady clock.
    #[must_use]
    pub fn uptime(&self) -> Duration {
        self.shared.started.elapsed()
    }

    /// Takes a request from a client's budget.
    ///
    /// # Errors
    /// The budget is spent.
    pub fn check_rate_limit(
        &self,
        client_id: &str,
        limited: RateLimitClass,
    ) -> Result<(), BudgetSpent> {
        let Some(budget) = self.config().limits.budget(client_id, limited) else { return Ok(()) };
        self.shared.budgets.take(client_id, limited, budget, self.uptime())
    }

    /// Takes a request about a user from that user's budget.
    ///
    /// # Errors
    /// The budget is spent.
    pub fn check_user_rate_limit(
        &self,
        client_id: &str,
        user_id: &str,
        limited: RateLimitClass,
    ) -> Result<(), BudgetSpent> {
        let Some(budget) = self.config().limits.budget(client_id, limited) else { return Ok(()) };
        // Neither identifier holds a control character.
        let whose = format!("{client_id}\u{0}{user_id}");
        self.shared.budgets.take(&whose, limited, budget, self.uptime())
    }

    /// From now on the service reports that it is not ready. Requests are still answered.
    pub fn stop(&self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if [`stop`](Self::stop) was called.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.shared.stopping.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for EnvironmentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("environment", &self.environment).finish_non_exhaustive()
    }
}

//! The service as a process runs it: state, sockets and jobs together.
use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use rustls::ClientConfig;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{info, warn};

use crate::admin;
use crate::seeding::residents::SandboxSeeder;
use crate::serve::admission::Limits;
use crate::serve::descriptors::{Shares, raise_limit};
use crate::serve::{ServeError, Sockets, Terms, group_by_socket, tls};
use slackwater_home_assistant::bridge::{Bridge, UnknownClient};
use slackwater_http::auth_router;
use slackwater_http::telemetry;
use slackwater_integration::registry::{Registry, RegistryError, SettingsError};
use slackwater_sandbox::handle::Sandbox;
use slackwater_service::clock::Clock;
use slackwater_service::config::error::ConfigError;
use slackwater_service::config::{Config, Listener, Listeners};
use slackwater_service::grid::orders::{self as grid_orders, GridSiteError, resume_limits};
use slackwater_service::jobs::{measuring, poller, readers};
use slackwater_service::outbox::dispatcher::{Dispatcher, DispatcherError};
use slackwater_service::outbox::subscribing::{ReceiversError, configure};
use slackwater_service::plans::{area, planner};
use slackwater_service::prices;
use slackwater_service::prices::keep::{PriceFileError, keep_files};
use slackwater_service::replicas;
use slackwater_service::state::{App, SetupError, Urls};
use slackwater_service::steering;
use slackwater_service::supervise::keep_running;
use slackwater_store::client::{Client, Environment};
use slackwater_store::clients;
use slackwater_store::database::Store;
use slackwater_store::error::StoreError;
use slackwater_store::notes::ChangeNotifications;
use slackwater_store::rekey::check_keys;

/// Longest time that the database may take to be closed. The process ends in any case.
const CLOSED_WITHIN: Duration = Duration::from_secs(10);

/// Longest time in which leases of readers are given back; else they expire.
const HANDED_OVER_WITHIN: Duration = Duration::from_secs(2);

/// Reason why the service cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Opening of the database.
    #[error("store.url: {0}")]
    OpenStore(StoreError),
    /// The state.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The sockets.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// An address to listen on.
    #[error("{settings}: {error}")]
    Listen {
        /// The settings that name it.
        settings: String,
        /// Reason.
        error: ServeError,
    },
    /// Receivers of events.
    #[error(transparent)]
    Receivers(#[from] ReceiversError),
    /// Posting events.
    #[error(transparent)]
    Dispatcher(#[from] DispatcherError),
    /// Integrations of the settings.
    #[error("environments.production.integrations.{0}")]
    Integrations(#[from] RegistryError),
    /// A site that follows grid orders.
    #[error(transparent)]
    GridSite(#[from] GridSiteError),
    /// A list of market prices.
    #[error(transparent)]
    Prices(#[from] PriceFileError),
    /// Files of the TLS of the operators' address.
    #[error("admin.tls.{0}")]
    AdminTls(#[from] SettingsError),
    /// Authority of the broker of Home Assistant.
    #[error("home_assistant.{0}")]
    BrokerTls(SettingsError),
    /// Client whose user is shown in Home Assistant.
    #[error("home_assistant.{0}")]
    HomeAssistantClient(#[from] UnknownClient),
    /// Neither environment is configured.
    #[error("no environment is configured; give [environments.sandbox] its three addresses")]
    Nothing,
}

/// Service that answers at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Base(Environment),
    Auth(Environment),
    Link(Environment),
    Admin,
}

/// Way in which a service stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It says that it is not ready, answers for `serve.drain_seconds` more, and
    /// only then closes its sockets: balancers have time to send requests elsewhere.
    Drained,
    /// It closes its sockets at once.
    AtOnce,
}

/// Clocks of the environments.
#[derive(Debug, Clone)]
pub struct Clocks {
    /// Clock of the sandbox.
    pub sandbox: Clock,
    /// Clock of production: that of the system, but in trials with simulated devices.
    pub production: Clock,
}

/// A service that listens, and has not answered yet.
#[derive(Debug)]
pub struct Service {
    sockets: Sockets<Role>,
    worlds: Vec<App>,
    residents: Option<SandboxSeeder>,
    admin_url: String,
    /// Notifications of changes of other processes, on a server.
    notes: Option<ChangeNotifications>,
    /// TLS towards the broker of Home Assistant.
    broker_tls: Option<Arc<ClientConfig>>,
}

impl Service {
    /// Listens, opens the database and reads what is kept. Production goes by the clock of the
    /// system.
    ///
    /// # Errors
    /// An integration of the settings cannot be opened, an address is taken, or the database
    /// cannot be read.
    pub async fn start(
        config: Config,
        sandbox_clock: Clock,
        registry: &Registry,
    ) -> Result<Self, ServiceError> {
        let clocks = Clocks { sandbox: sandbox_clock, production: Clock::system() };
        Self::start_by(config, clocks, registry).await
    }

    /// Starts as [`start`](Self::start) does, with a clock for each environment. Integrations have
    /// clocks of their own, which the `registry` gives them.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn start_by(
        config: Config,
        clocks: Clocks,
        registry: &Registry,
    ) -> Result<Self, ServiceError> {
        let tls = config.admin.tls.as_ref().map(tls::read).transpose()?;
        let home_assistant = config.home_assistant.as_ref();
        let broker_tls = home_assistant.map(tls::read_broker).transpose();
        let broker_tls = broker_tls.map_err(ServiceError::BrokerTls)?.flatten();
        let mut sockets = bind_sockets(&config).await?;
        if let Some(tls) = &tls {
            sockets.secure(Role::Admin, tls);
        }
        let opened = Store::open_alone(&config.store.url).await;
        let store = opened.map_err(ServiceError::OpenStore)?;
        let store = store.with_keys(config.store.keys.clone());
        let clear = check_keys(&store).await?;
        if clear > 0 && store.keys().current().is_some() {
            warn!(secrets = clear, "secrets in the database are in clear text");
        }
        // Before anything is read, so that no change falls in between.
        let notes = ChangeNotifications::listen(&store).await?;
        configure(&store, &config.events).await?;
        let urls: Vec<(Role, String)> = sockets.urls().collect();
        let url = |role: Role| {
            let found = urls.iter().find(|(other, _)| *other == role);
            found.map(|(_, url)| url.clone()).unwrap_or_default()
        };
        let mut worlds: Vec<App> = Vec::new();
        for (environment, _) in environments(&config) {
            let clock = match environment {
                Environment::Sandbox => clocks.sandbox.clone(),
                Environment::Production => clocks.production.clone(),
            };
            let urls = Urls {
                base: url(Role::Base(environment)),
                auth: url(Role::Auth(environment)),
                link: url(Role::Link(environment)),
            };
            let app = if let Some(first) = worlds.first() {
                first.for_environment(environment, clock, urls)
            } else {
                // Boxed, since it holds all tables while it reads them.
                let whose = (environment, clock, urls);
                Box::pin(App::load(config.clone(), store.clone(), whose)).await?
            };
            worlds.push(app);
        }
        let Some(first) = worlds.first() else { return Err(ServiceError::Nothing) };
        keep_files(first).await?;
        if let Some(own) = &config.environments.production {
            // Chargers connect from here on: their sites follow grid orders of before at once.
            let integrations = registry.open(&own.integrations)?;
            let is_production = |app: &&App| app.environment() == Environment::Production;
            if let Some(app) = worlds.iter().find(is_production) {
                app.set_vendors(integrations);
            }
        }
        resume_limits(&worlds)?;
        let admin_url = url(Role::Admin);
        let admin_url = match tls {
            Some(_) => admin_url.replacen("http:", "https:", 1),
            None => admin_url,
        };
        Ok(Self { sockets, worlds, residents: None, admin_url, notes, broker_tls })
    }

    /// The state of an environment; `None` if it is not configured.
    #[must_use]
    pub fn app(&self, environment: Environment) -> Option<&App> {
        self.worlds.iter().find(|app| app.environment() == environment)
    }

    /// Address of metrics, documentation and sandbox control for operators.
    #[must_use]
    pub fn admin_url(&self) -> &str {
        &self.admin_url
    }

    /// Simulates a scenario in the sandbox, for a client of it.
    ///
    /// # Errors
    /// The database failed.
    pub async fn populate(&mut self, sandbox: Sandbox, client: &Client) -> Result<(), StoreError> {
        let Some(app) = self.app(Environment::Sandbox).cloned() else { return Ok(()) };
        let all = clients::all_clients(app.store()).await?.into_iter().map(|row| row.client);
        let mut ours = all.filter(|other| other.environment == Environment::Sandbox);
        let first_id = ours.next().map_or_else(|| client.id.clone(), |first| first.id).into();
        let client_id = client.id.as_str().into();
        let residents = SandboxSeeder { app, sandbox, client_id, first_id };
        residents.seed().await?;
        self.residents = Some(residents);
        Ok(())
    }

    /// Answers until `stop`, then finishes the requests that are under way.
    ///
    /// # Errors
    /// A socket or the database failed.
    pub async fn run(self, stop: impl Future<Output = Stop>) -> Result<(), ServiceError> {
        let Some(first) = self.worlds.first().cloned() else { return Err(ServiceError::Nothing) };
        let mut jobs = vec![
            keep("prices of replicas", &first, prices::replicas::run),
            keep("price feeds", &first, prices::feeds::run),
            keep_running("metrics", Clock::system(), telemetry::keep_up),
        ];
        for app in &self.worlds {
            watch_devices(app).await?;
        }
        grid_orders::warn_of_areas_without_homes(&self.worlds);
        let followed = self.worlds.clone();
        let follow = move || grid_orders::run(followed.clone());
        jobs.push(keep_running("grid orders", Clock::system(), follow));
        let measured = self.worlds.clone();
        let watch = move || measuring::run(measured.clone());
        jobs.push(keep_running("measures", Clock::system(), watch));
        jobs.push(keep_following(self.worlds.clone(), self.notes));
        if let Some(settings) = first.config().home_assistant.clone() {
            let bridge = Bridge::new(self.worlds.clone(), settings, self.broker_tls);
            bridge.check_client().await?;
            let show = move || bridge.clone().run();
            jobs.push(keep_running("home assistant", Clock::system(), show));
        }
        for app in &self.worlds {
            jobs.extend(keep_all_running(app, Dispatcher::new(app.clone(), Clock::system())?));
            let Urls { base, auth, link } = app.urls();
            let environment = app.environment().as_str();
            info!(environment, base, auth, link, admin = self.admin_url, "listening");
        }
        let (worlds, residents) = (self.worlds.clone(), self.residents);
        let router_of = |role| router_of(&worlds, residents.clone(), role);
        let config = first.config();
        let is_leaving = Arc::new(AtomicBool::new(false));
        let proxies = config.auth.trusted_proxies.clone();
        let terms = Terms { proxies, is_leaving: Arc::clone(&is_leaving) };
        let drain = Duration::from_secs(config.serve.drain_seconds.into());
        let stop = async {
            let stop = stop.await;
            self.worlds.iter().for_each(App::stop);
            is_leaving.store(true, Ordering::Relaxed);
            if stop == Stop::Drained {
                info!(seconds = drain.as_secs(), "draining");
                sleep_until(Instant::now() + drain).await;
            }
        };
        let served = self.sockets.serve(router_of, limits_of(config), terms, stop).await;
        // A loop that went on would find a closed database, and log that as a failure.
        for job in jobs {
            job.abort();
            let _: Result<(), JoinError> = job.await;
        }
        if timeout(HANDED_OVER_WITHIN, hand_over_reading(&self.worlds)).await.is_err() {
            warn!("leases of readers were not given back in time");
        }
        if timeout(CLOSED_WITHIN, first.store().close()).await.is_err() {
            warn!("the database was still in use, and is closed by the end of the process");
        }
        Ok(served?)
    }
}

/// Leaves the reading of devices to other processes, at once instead of when the leases expire.
async fn hand_over_reading(worlds: &[App]) {
    for app in worlds {
        if let Err(failure) = readers::hand_over(app).await {
            warn!(%failure, "leases of readers were not given back");
        }
    }
}

/// Limits of the sockets, for the file descriptors that there are.
fn limits_of(config: &Config) -> impl Fn(Role) -> Limits {
    let sockets = 3 * environments(config).count();
    let shares = Shares::divide(raise_limit(), sockets, &config.serve);
    let Shares { operators, users } = shares;
    info!(operators = operators.total, users = users.total, peer = users.of_peer, "connections");
    move |role| if role == Role::Admin { operators } else { users }
}

/// All that an environment does in the background.
fn keep_all_running(app: &App, poster: Dispatcher) -> [JoinHandle<()>; 5] {
    [
        keep("poller", app, poller::run),
        keep_running("poster", Clock::system(), move || poster.clone().run()),
        keep("control", app, steering::job::run),
        keep("planner", app, planner::run),
        keep("areas", app, area::run),
    ]
}

/// Follows other replicas: at first by notes that were listened to before the
/// tables were filled, after a panic by new ones.
fn keep_following(worlds: Vec<App>, notes: Option<ChangeNotifications>) -> JoinHandle<()> {
    let notes = Mutex::new(notes);
    keep_running("replicas", Clock::system(), move || {
        let notes = notes.lock().unwrap_or_else(PoisonError::into_inner).take();
        replicas::run(worlds.clone(), notes)
    })
}

/// Keeps a loop of an environment running.
fn keep<Run>(
    job: &'static str,
    app: &App,
    run: impl Fn(App) -> Run + Send + 'static,
) -> JoinHandle<()>
where
    Run: Future<Output = ()> + Send + 'static,
{
    let app = app.clone();
    keep_running(job, Clock::system(), move || run(app.clone()))
}

/// Polls the devices of the clients of an environment.
async fn watch_devices(app: &App) -> Result<(), StoreError> {
    let all = clients::all_clients(app.store()).await?;
    let ours: Vec<String> = all
        .into_iter()
        .filter(|row| row.client.environment == app.environment())
        .map(|row| row.client.id)
        .collect();
    let is_ours = |client_id: &str| ours.iter().any(|id| id == client_id);
    poller::watch_all(app, is_ours);
    steering::job::resume(app, is_ours);
    planner::watch_all(app, is_ours);
    Ok(())
}

fn environments(config: &Config) -> impl Iterator<Item = (Environment, &Listeners)> {
    let all = [
        (Environment::Sandbox, &config.environments.sandbox),
        (Environment::Production, &config.environments.production),
    ];
    all.into_iter().filter_map(|(environment, doors)| Some((environment, doors.as_ref()?)))
}

/// Refuses addresses that share a socket and a host.
///
/// # Errors
/// Two services could not be told apart.
pub(crate) fn check_sockets(config: &Config) -> Result<(), ConfigError> {
    group_by_socket(doors(config)).map(drop)
}

/// Listens on all addresses of the settings.
async fn bind_sockets(config: &Config) -> Result<Sockets<Role>, ServiceError> {
    Sockets::bind(doors(config)).await.map_err(|error| match error {
        ServeError::Listen { address, .. } => {
            ServiceError::Listen { settings: settings_of(config, address), error }
        }
        other => other.into(),
    })
}

/// Names of the settings with an address to listen on.
fn settings_of(config: &Config, address: SocketAddr) -> String {
    let own = doors(config).into_iter().filter(|(door, _)| door.listen.0 == address);
    let names = own.map(|(_, role)| match role {
        Role::Base(environment) => format!("environments.{}.base.listen", environment.as_str()),
        Role::Auth(environment) => format!("environments.{}.auth.listen", environment.as_str()),
        Role::Link(environment) => format!("environments.{}.link.listen", environment.as_str()),
        Role::Admin => "admin.listen".to_owned(),
    });
    names.collect::<Vec<_>>().join(", ")
}

fn doors(config: &Config) -> Vec<(Listener, Role)> {
    let mut doors = vec![(Listener { listen: config.admin.listen, url: None }, Role::Admin)];
    for (environment, own) in environments(config) {
        doors.push((own.base.clone(), Role::Base(environment)));
        doors.push((own.auth.clone(), Role::Auth(environment)));
        doors.push((own.link.clone(), Role::Link(environment)));
    }
    doors
}

fn router_of(worlds: &[App], residents: Option<SandboxSeeder>, role: Role) -> Router {
    let world = |environment| {
        let found = worlds.iter().find(|app| app.environment() == environment);
        found.expect("a door is there only with its environment").clone()
    };
    match role {
        Role::Base(environment) => slackwater_http::router(world(environment)),
        Role::Auth(environment) => auth_router(world(environment)),
        Role::Link(environment) => slackwater_link::router(world(environment)),
        Role::Admin => admin::routes::router(worlds, residents),
    }
}

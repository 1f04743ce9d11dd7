//! Serving, with or without a sandbox full of people.
use std::env;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use crate::admin::clients::Made;
use crate::running::{Service, Stop};
use crate::seeding::kept::{keep_clock, keep_clock_running, resume_clock};
use slackwater_control::device::command::{Command, Switch};
use slackwater_control::device::scope::DeviceKind;
use slackwater_engine::units::amps;
use slackwater_http::telemetry;
use slackwater_integration::registry::Registry;
use slackwater_sandbox::generate::{generate, street};
use slackwater_sandbox::handle::Sandbox;
use slackwater_sandbox::scenario::Scenario;
use slackwater_service::clock::{Clock, ClockError, Speed};
use slackwater_service::config::error::ConfigError;
use slackwater_service::config::load::ignored_variables;
use slackwater_service::config::text::Listen;
use slackwater_service::config::{Config, Environments, log_filter, unknown_crates};
use slackwater_service::control::orders::takes_order;
use slackwater_service::jobs::poller::poll_now;
use slackwater_service::state::App;
use slackwater_service::supervise::keep_running;
use slackwater_service::traces::TraceExport;
use slackwater_store::client::{Client, Environment};
use slackwater_store::clients;
use slackwater_store::trace::TRACES;
use tokio::signal;
use tokio::signal::unix::SignalKind;
use tracing::{info, warn};
use tracing_subscriber::filter::{EnvFilter, filter_fn};
use tracing_subscriber::prelude::*;

use crate::commands::arguments::Serve;
use crate::commands::failure::Failure;
use crate::commands::output::{print, print_secret};

/// The scenario that comes with the service.
const STREET: &str = "street";

/// Serves until a signal says stop.
pub(crate) async fn run_service(
    file: Option<&Path>,
    arguments: &Serve,
    registry: &Registry,
) -> Result<(), Failure> {
    let filter = log_filter(&arguments.log)?;
    let config = apply_arguments(Config::load(file)?, arguments)?;
    let traces = config.telemetry.traces.as_ref().map(TraceExport::start).transpose()?;
    subscribe(filter, traces.as_ref());
    telemetry::install();
    log_outline(&config, file);
    warn_about(&config, file, arguments);
    let scenario = read_scenario(&config)?;
    if let Some(fault) = find_unknown_zones(&config, scenario.as_ref()).next() {
        return Err(fault.into());
    }
    let clock = sandbox_clock(&config, scenario.as_ref())?;
    // Watched from before the first request, so that an early signal is not lost.
    let mut interrupt = signal::unix::signal(SignalKind::interrupt()).map_err(Failure::Signals)?;
    let mut terminate = signal::unix::signal(SignalKind::terminate()).map_err(Failure::Signals)?;
    let is_speed_set = config.sandbox.clock.is_some();
    let mut service = Service::start(config, clock.clone(), registry).await?;
    let sandbox = service.app(Environment::Sandbox).cloned();
    if let Some(app) = &sandbox {
        resume_clock(app, is_speed_set).await?;
    }
    if let (Some(app), Some(scenario)) = (service.app(Environment::Sandbox).cloned(), scenario) {
        let client = resident_client(&app).await?;
        // A large scenario takes minutes. What is missing after a stop is given at the next start.
        tokio::select! {
            populated = service.populate(Sandbox::new(&scenario, clock), &client) => populated?,
            _ = interrupt.recv() => return Ok(()),
            _ = terminate.recv() => return Ok(()),
        }
        if arguments.welcome {
            print_welcome(&app, &client, service.admin_url()).await?;
        }
    }
    if let Some(app) = sandbox.clone() {
        keep_running("sandbox clock", Clock::system(), move || keep_clock_running(app.clone()));
    }
    service
        .run(async move {
            let stop = tokio::select! {
                _ = interrupt.recv() => {
                    info!(signal = "SIGINT", "stopping");
                    Stop::AtOnce
                }
                _ = terminate.recv() => {
                    info!(signal = "SIGTERM", "stopping");
                    Stop::Drained
                }
            };
            if let Some(app) = sandbox
                && let Err(error) = keep_clock(&app).await
            {
                warn!(%error, "the clock of the sandbox was not kept");
            }
            stop
        })
        .await?;
    if let Some(traces) = traces {
        traces.shut_down().await;
    }
    Ok(())
}

/// Logs settings that are valid and probably not meant: unknown variables and crates, production
/// without integrations, files with secrets that anybody can read.
fn warn_about(config: &Config, file: Option<&Path>, arguments: &Serve) {
    let ignored = ignored_variables();
    if !ignored.is_empty() {
        warn!(variables = ignored.join(" "), "these variables are no settings and are ignored");
    }
    let unknown = unknown_crates(&arguments.log);
    if !unknown.is_empty() {
        warn!(crates = unknown.join(" "), "these crates in the log filter are not of the service");
    }
    if config.opens_without_integrations() {
        warn!("production has no integrations, so that no device can be linked");
    }
    for doubt in config.doubts() {
        warn!(doubt, "a setting is probably not meant");
    }
    for open in config.open_files(file) {
        warn!(setting = open.name, file = %open.file.display(), "a file with a secret is open to all");
    }
}

/// Logs an outline of the settings, without secrets: what a reader of the log has to know first.
fn log_outline(config: &Config, file: Option<&Path>) {
    let Environments { sandbox, production } = &config.environments;
    let integrations = production.as_ref().map_or(0, |own| own.integrations.len());
    info!(
        version = env!("CARGO_PKG_VERSION"),
        file = file.map(|file| file.display().to_string()).unwrap_or_default(),
        database = config.store.url.place(),
        is_encrypted = config.store.keys.current().is_some(),
        sandbox = sandbox.is_some(),
        production = production.is_some(),
        integrations,
        zones = config.zones.len(),
        limits = config.plans.limits.len(),
        grid = config.grid.len(),
        receivers = config.events.subscriptions.len(),
        home_assistant = config.home_assistant.is_some(),
        "settings"
    );
}

/// Writes the log as JSON to the standard error, and sends traces if they are set.
fn subscribe(filter: EnvFilter, traces: Option<&TraceExport>) {
    let Some(traces) = traces else {
        let lines = tracing_subscriber::fmt().json().flatten_event(true);
        return lines.with_env_filter(filter).with_writer(io::stderr).init();
    };
    let lines = tracing_subscriber::fmt::layer().json().flatten_event(true);
    let lines = lines.with_writer(io::stderr).with_filter(filter);
    let spans = tracing_opentelemetry::layer()
        .with_tracer(traces.tracer())
        .with_location(false)
        .with_threads(false)
        .with_level(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_context_activation(false)
        .with_filter(filter_fn(|metadata| metadata.target() == TRACES));
    tracing_subscriber::registry().with(lines).with(spans).init();
}

/// Settings with what the command line says instead.
fn apply_arguments(mut config: Config, arguments: &Serve) -> Result<Config, ConfigError> {
    let of_sandbox = [
        ("--listen", arguments.listen.is_some()),
        ("--clock", arguments.clock.is_some()),
        ("--scenario", arguments.scenario.is_some()),
        ("--homes", arguments.homes.is_some()),
    ];
    let given = of_sandbox.iter().find(|(_, is_given)| *is_given);
    if let (None, Some((name, _))) = (&config.environments.sandbox, given) {
        return Err(ConfigError::NoSandbox { name });
    }
    if let Some(Listen(base)) = arguments.listen {
        // The other addresses follow on the ports after it.
        let after = |step: u16| {
            let port = if base.port() == 0 { 0 } else { base.port().saturating_add(step) };
            Listen(SocketAddr::new(base.ip(), port))
        };
        if let Some(doors) = &mut config.environments.sandbox {
            doors.base.listen = after(0);
            doors.auth.listen = after(1);
            doors.link.listen = after(2);
        }
        config.admin.listen = after(3);
    }
    let sandbox = &mut config.sandbox;
    sandbox.clock = arguments.clock.clone().or_else(|| sandbox.clock.take());
    if arguments.scenario.is_some() || arguments.homes.is_some() {
        sandbox.scenario.clone_from(&arguments.scenario);
        sandbox.homes = arguments.homes;
    }
    config.check()?;
    Ok(config)
}

/// Faults of limits and of grid orders for zones that exist nowhere: a mistyped one would limit
/// nothing.
pub(crate) fn find_unknown_zones(
    config: &Config,
    scenario: Option<&Scenario>,
) -> impl Iterator<Item = ConfigError> {
    let is_known = move |zone: &String| {
        let of_scenario = scenario.into_iter().flat_map(|scenario| &scenario.zones);
        config.zones.contains_key(zone) || of_scenario.map(|known| &known.id).any(|id| id == zone)
    };
    let limits = config.plans.limits.iter().enumerate();
    let limited = limits.map(|(index, limit)| (format!("plans.limits[{index}].zone"), &limit.zone));
    let ordered = config.grid.iter().filter_map(|(name, sender)| {
        sender.zone.as_ref().map(|zone| (format!("grid.{name}.zone"), zone))
    });
    let unknown = limited.chain(ordered).filter(move |(_, zone)| !is_known(zone));
    unknown.map(|(name, zone)| ConfigError::NoZone { name, zone: zone.clone() })
}

/// The scenario that is simulated, if one is.
pub(crate) fn read_scenario(config: &Config) -> Result<Option<Scenario>, Failure> {
    if let Some(homes) = config.sandbox.homes {
        return Ok(Some(generate(homes as usize, 1)));
    }
    let Some(file) = &config.sandbox.scenario else { return Ok(None) };
    if file == Path::new(STREET) {
        return Ok(Some(street()));
    }
    let text =
        fs::read_to_string(file).map_err(|reason| Failure::Read { file: file.clone(), reason })?;
    let scenario = Scenario::parse(&text);
    scenario.map(Some).map_err(|error| Failure::Scenario { file: file.clone(), error })
}

/// The sandbox's clock.
pub(crate) fn sandbox_clock(
    config: &Config,
    scenario: Option<&Scenario>,
) -> Result<Clock, ClockError> {
    let speed = config.sandbox.clock.as_deref().map(Speed::parse).transpose()?;
    let start = config.sandbox.start.or_else(|| scenario?.starts);
    let speed = speed.unwrap_or(Speed::REAL);
    Ok(match start {
        None => Clock::from_now(speed),
        Some(start) => Clock::running(start, speed),
    })
}

/// The client whose users live in the scenario: the one that is configured, else
/// the first of the sandbox, else a new one, whose secret is printed.
async fn resident_client(app: &App) -> Result<Client, Failure> {
    let all = clients::all_clients(app.store()).await?.into_iter().map(|row| row.client);
    let mut own = all.filter(|client| client.environment == Environment::Sandbox);
    if let Some(id) = &app.config().sandbox.client {
        return own.find(|client| client.id == *id).ok_or_else(|| Failure::NoClient(id.clone()));
    }
    if let Some(client) = own.next() {
        return Ok(client);
    }
    let version = app.config().versions.current(app.now());
    let name = "residents".to_owned();
    let made = Made::new(Environment::Sandbox, name, version).await?;
    let (client, secret) = (made.row.client.clone(), &made.secret);
    // Printed first: a client whose secret nobody read would be of no use.
    print_secret(&format!("client {}\nsecret {secret}   (shown this once only)", client.id))?;
    clients::insert_client(app.store(), &made.row).await?;
    Ok(client)
}

/// Prints what to try first: the console, commands, requests.
async fn print_welcome(app: &App, client: &Client, admin: &str) -> Result<(), Failure> {
    let issued = app
        .tokens()
        .issue(app.store(), &Arc::new(client.clone()), app.clock().machine().moment())
        .await;
    let token = issued.map_err(|problem| Failure::Token(format!("{problem:?}")))?;
    let base = &app.urls().base;
    let header = format!("Authorization: Bearer {token}");
    let mut lines = vec![format!("\nConsole: {admin}/console")];
    lines.push(format!("Database: {}", app.config().store.url.shown()));
    lines.push("\nCommands for this server, in another terminal:\n".to_owned());
    lines.extend(commands_to_try(app, admin).await.into_iter().map(|line| format!("  {line}")));
    lines.push("\nRequests, with a token that is good for an hour:\n".to_owned());
    for path in ["/vehicles?pageSize=2", "/users/ada/chargers", "/health/chargers"] {
        lines.push(format!("  curl -H '{header}' '{base}{path}'"));
    }
    lines.push(format!("\nDocumentation: {admin}/docs/"));
    match print(&lines.join("\n")) {
        // Whoever read has had enough; requests are answered all the same.
        Err(Failure::Print(reason)) if reason.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

/// Commands that work at once, whatever is simulated.
async fn commands_to_try(app: &App, admin: &str) -> Vec<String> {
    let program = env::current_exe().unwrap_or_else(|_| "slackwater-api".into());
    let folder = program.parent().map(|folder| folder.display().to_string());
    let path = folder.map(|folder| format!("export PATH=\"{folder}:$PATH\""));
    let planned = app.cache().read(|tables| {
        let planned = tables.plans.with_policy().filter_map(|id| tables.any_device(id));
        planned.map(|device| device.vendor_device.clone()).min()
    });
    let of_device = planned.map(|name| format!("slackwater-api policy show {name}"));
    let fixed = [
        format!("export SLACKWATER_ADMIN_URL={admin}"),
        "slackwater-api client list".to_owned(),
        "slackwater-api sandbox devices".to_owned(),
        "slackwater-api events tail --once".to_owned(),
    ];
    let told = commands_to_tell(app).await;
    path.into_iter().chain(fixed).chain(of_device).chain(told).collect()
}

/// Commands that a charger takes now, by its reading.
async fn commands_to_tell(app: &App) -> Vec<String> {
    let charger = app.cache().read(|tables| {
        let planned = tables.plans.with_policy().filter_map(|id| tables.any_device(id));
        let chargers = planned.filter(|device| device.kind == DeviceKind::Charger);
        chargers.min_by_key(|device| device.vendor_device.clone()).cloned()
    });
    let Some(charger) = charger else { return Vec::new() };
    poll_now(app, charger.id).await;
    let name = &charger.vendor_device;
    let candidates = [
        (format!("max-current {name} 10"), Command::MaxCurrent(amps(10.0))),
        (format!("stop {name}"), Command::Charge(Switch::Stop)),
        (format!("start {name}"), Command::Charge(Switch::Start)),
    ];
    let taken = candidates.into_iter().filter(|(_, command)| takes_order(app, charger.id, command));
    taken.map(|(words, _)| format!("slackwater-api command {words}")).collect()
}

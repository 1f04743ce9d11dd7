//! Production by a clock that is stepped, beside simulated homes: `make night-ocpp` has charge points
//! of another project stand between both.
//!
//! `simulated_production SETTINGS SCENARIO` serves the settings as `slackwater-api serve` does. Only
//! the clock of production and of its integration `ocpp` is another: it stands still at the start of
//! the scenario. The homes of the scenario are simulated by the same clock, and the service knows
//! nothing of them; whoever drives this program carries states and limits between their chargers
//! and charge points. Each charger is added as a charge point.
//!
//! The first line that it prints has the secrets of the charge points. Then it reads orders, one a
//! line, and prints a JSON document for each:
//!
//! | Order | Does |
//! |---|---|
//! | `step SECONDS` | puts the clock forward, and waits as `settle` |
//! | `settle` | waits until all that is due is done, and no charge point has to answer |
//! | `truth` | readings of all vehicles and chargers as they are |
//! | `limit AMPS CHARGER` | limits a charger, which obeys at once |
//! | `metered` | energy of each device by quarters of an hour since the start, in kWh |
use std::error::Error;
use std::io::stderr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use mimalloc::MiMalloc;
use serde_json::{Map, Value, json};
use slackwater_control::device::command::Command;
use slackwater_control::device::scope::DeviceKind;
use slackwater_engine::units::Current;
use slackwater_integration::registry::{Registry, SettingsError};
use slackwater_integration::vendor::Linked;
use slackwater_ocpp::edge::clock::{TimeSource, Wait};
use slackwater_ocpp::edge::enrolment::enrol;
use slackwater_ocpp::edge::hub::Hub;
use slackwater_ocpp::settings::OcppSettings;
use slackwater_ocpp::vendor::Ocpp;
use slackwater_sandbox::devices::Common;
use slackwater_sandbox::handle::Sandbox;
use slackwater_sandbox::scenario::Scenario;
use slackwater_server::running::{Clocks, Service};
use slackwater_service::clock::{Clock, Speed};
use slackwater_service::config::{Config, log_filter};
use slackwater_service::plans::area;
use slackwater_service::state::App;
use slackwater_store::client::Environment;
use slackwater_store::error::StoreError;
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio::time::{Instant, sleep_until};

/// Pause between looks at the connections.
const LOOK: Duration = Duration::from_millis(1);

/// That of the service as a process.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

type Failure = Box<dyn Error + Send + Sync>;

/// The clock as the integration takes it: its waits end by steps.
struct Stepped(Clock);

impl TimeSource for Stepped {
    fn now(&self) -> DateTime<Utc> {
        self.0.now()
    }

    fn wait(&self, length: Duration) -> Wait {
        let clock = self.0.clone();
        let length = TimeDelta::from_std(length).unwrap_or(TimeDelta::MAX);
        let until = clock.now().checked_add_signed(length).unwrap_or(DateTime::<Utc>::MAX_UTC);
        Box::pin(async move { clock.until(until).await })
    }
}

/// Service, charge points and homes.
struct Trial {
    clock: Clock,
    started: DateTime<Utc>,
    app: App,
    hub: Arc<Hub>,
    homes: Sandbox,
}

impl Trial {
    async fn obey(&self, line: &str) -> Result<Value, Failure> {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb {
            "step" => {
                let seconds: f64 = rest.parse()?;
                self.clock
                    .step(TimeDelta::try_milliseconds((seconds * 1e3) as i64).ok_or("too far")?)?;
                self.settle().await?;
                Ok(json!({ "now": self.clock.now() }))
            }
            "settle" => {
                self.settle().await?;
                Ok(json!({ "now": self.clock.now() }))
            }
            "truth" => Ok(self.read_devices()),
            "limit" => self.limit(rest).await,
            "metered" => Ok(self.count_quarters()),
            _ => Err(format!("`{verb}` is none of step, settle, truth, limit and metered").into()),
        }
    }

    /// Waits until the service and the charge points have done what is due now.
    async fn settle(&self) -> Result<(), StoreError> {
        let (app, now) = (&self.app, self.clock.now());
        let plans = app.planner();
        loop {
            app.poller().idle(now).await;
            plans.idle(now).await;
            area::idle(app).await?;
            app.control().idle(now).await;
            let is_done = self.hub.is_idle(now)
                && self.hub.news().is_empty()
                && app.poller().is_idle(now)
                && plans.is_idle(now)
                && area::is_idle(app).await?
                && app.control().is_idle(now);
            if is_done {
                return Ok(());
            }
            sleep_until(Instant::now() + LOOK).await;
        }
    }

    fn devices(&self) -> impl Iterator<Item = Common> {
        let all = self.homes.devices();
        let named = all.iter().map(slackwater_sandbox::devices::Device::common);
        let is_meant =
            |common: &Common| matches!(common.kind, DeviceKind::Vehicle | DeviceKind::Charger);
        named.filter(is_meant).collect::<Vec<_>>().into_iter()
    }

    fn read_devices(&self) -> Value {
        let readings = self.devices().filter_map(|common| {
            let reading = self.homes.actual_reading(&common.id)?;
            Some((common.id, json!(reading)))
        });
        Value::Object(readings.collect::<Map<_, _>>())
    }

    async fn limit(&self, rest: &str) -> Result<Value, Failure> {
        let (amps, name) = rest.split_once(' ').ok_or("limit AMPS CHARGER")?;
        let command = Command::MaxCurrent(Current::from_amps(amps.parse()?)?);
        let found = self.devices().find(|common| common.id == name).ok_or("no such charger")?;
        let code = found.vendor.ok_or("nobody made it")?;
        let vendor = self.homes.vendor(&code).ok_or("no such manufacturer")?;
        let linked = Linked::new(self.homes.connection(&found.user, &code), name);
        vendor.send(&linked, &command, self.clock.now()).await?;
        self.homes.reach(name)?;
        Ok(json!(self.homes.actual_reading(name)))
    }

    fn count_quarters(&self) -> Value {
        let now = self.clock.now();
        let counted = self.devices().map(|common| {
            let quarters = self.homes.metered(&common.id, self.started, now);
            let taken: Vec<f64> = quarters.iter().map(|one| one.imported.as_kwh()).collect();
            (common.id, json!(taken))
        });
        Value::Object(counted.collect::<Map<_, _>>())
    }
}

/// A registry whose charge points go by the clock, and where their hub will be.
fn make_registry(clock: &Clock) -> (Registry, Arc<Mutex<Option<Arc<Hub>>>>) {
    let opened = Arc::new(Mutex::new(None));
    let (clock, place) = (clock.clone(), Arc::clone(&opened));
    let registry = Registry::new().with("ocpp", move |settings| {
        let own: OcppSettings = settings.read()?;
        let ocpp = Ocpp::open(&own, Arc::new(Stepped(clock.clone())))?;
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(ocpp.hub()));
        Ok::<_, SettingsError>(Arc::new(ocpp))
    });
    (registry, opened)
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [settings, scenario] = given.as_slice() else { return Err("SETTINGS SCENARIO".into()) };
    let log = tracing_subscriber::fmt().json().flatten_event(true);
    log.with_env_filter(log_filter("info")?).with_writer(stderr).init();
    slackwater_http::telemetry::install();
    let scenario = Scenario::parse(&std::fs::read_to_string(scenario)?)?;
    let started = scenario.starts.ok_or("the scenario has no `starts`")?;
    let clock = Clock::running(started, Speed::STILL);
    let (registry, opened) = make_registry(&clock);
    let config = Config::load(Some(Path::new(settings)))?;
    let clocks = Clocks { sandbox: clock.clone(), production: clock.clone() };
    let service = Service::start_by(config, clocks, &registry).await?;
    let app =
        service.app(Environment::Production).cloned().ok_or("production is not configured")?;
    let hub = opened.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let hub = hub.ok_or("no integration of the type `ocpp` is configured")?;
    let homes = Sandbox::new(&scenario, clock.clone());
    let trial = Trial { clock, started, app, hub, homes };
    let mut secrets = Map::new();
    for charger in trial.devices().filter(|common| common.kind == DeviceKind::Charger) {
        let new = enrol(trial.hub.folder(), &charger.id, true)?;
        secrets.insert(charger.id, json!({ "password": new.password, "code": new.code }));
    }
    println!("{}", Value::Object(secrets));
    let serving = tokio::spawn(service.run(std::future::pending()));
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        match trial.obey(line.trim()).await {
            Ok(answer) => println!("{answer}"),
            Err(error) => println!("{}", json!({ "error": error.to_string() })),
        }
    }
    serving.abort();
    Ok(())
}

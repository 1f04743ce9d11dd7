//! A process of the service: the real crates on a runtime of the simulation.
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, header};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use slackwater_engine::prices::curve::{PriceCurve, Slot};
use slackwater_engine::prices::resolve::{Sources, resolve};
use slackwater_engine::units::per_kwh;
use slackwater_http::router;
use slackwater_integration::vendor::Vendor;
use slackwater_sandbox::handle::Sandbox;
use slackwater_sandbox::scenario::Scenario;
use slackwater_server::seeding::residents::SandboxSeeder;
use slackwater_server::seeding::samples::Keep;
use slackwater_service::cache::price_lookup::{PriceBook, Priced, Purpose};
use slackwater_service::clock::Clock;
use slackwater_service::config::Config;
use slackwater_service::jobs::poller;
use slackwater_service::outbox::dispatcher::Dispatcher;
use slackwater_service::outbox::subscribing::subscribe;
use slackwater_service::plans::planner;
use slackwater_service::replicas;
use slackwater_service::state::{App, Urls};
use slackwater_service::steering::job;
use slackwater_store::client::{Client, Environment};
use slackwater_store::clients::{ClientRow, insert_client};
use slackwater_store::database::Store;
use slackwater_store::locations::Location;
use slackwater_store::notes::ChangeNotifications;
use slackwater_store::subscription::NewSubscription;
use slackwater_wire::version::dated::ApiVersion;
use tokio::runtime::{Builder, Runtime};
use tokio::select;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tower::ServiceExt;
use uuid::Uuid;

use crate::dice::Dice;
use crate::network::{Distant, Network, Receiver, Road};
use crate::server::{Link, Server, listen};

/// The client whose devices there are.
const CLIENT: &str = "client";

/// Homes, each with a charger and a car at it.
pub(crate) const HOMES: [&str; 3] = ["ada", "bo", "chen"];

/// Six in the evening on a Monday.
pub(crate) fn six() -> DateTime<Utc> {
    "2026-01-05T18:00:00Z".parse().unwrap()
}

/// The scenario of the devices.
pub(crate) fn scenario() -> Scenario {
    let mut text = "seed: 1\n\
        zones: [{id: NO1, currency: NOK, areas: [east]}]\n\
        vendors: [{code: VOLTBOX, display_name: Voltbox, kinds: [charger, vehicle]}]\n"
        .to_owned();
    let mut list = |name: &str, line: &dyn Fn(&str) -> String| {
        let homes = HOMES.iter().map(|user| format!("  - {{{}}}\n", line(user)));
        text.extend([format!("{name}:\n")].into_iter().chain(homes));
    };
    list("users", &|user| format!("id: {user}"));
    list("locations", &|user| {
        format!(
            "id: {user}-home, user: {user}, time_zone: Europe/Oslo, latitude: 59.9, \
             longitude: 10.7, zone: NO1, area: east, household_kwh_per_year: 2600"
        )
    });
    list("chargers", &|user| {
        format!(
            "id: {user}-charger, user: {user}, vendor: VOLTBOX, location: {user}-home, \
             name: Driveway, brand: Voltbox, model: Duo, year: 2021, \
             outlet: {{phases: 3, amps: 16}}"
        )
    });
    list("vehicles", &|user| {
        format!(
            "id: {user}-car, user: {user}, vendor: VOLTBOX, location: {user}-home, name: Car, \
             brand: Boreal, model: Aurora, year: 2020, capacity_kwh: 64, power_max_kw: 11, \
             soc_percent: 40, charger: {user}-charger"
        )
    });
    Scenario::parse(&text).unwrap()
}

fn config() -> Config {
    let mut config = Config::default();
    config.action.timeout_seconds = 60;
    config.action.retry_seconds = 10;
    config
}

fn urls() -> Urls {
    let [base, auth, link] =
        ["base", "auth", "link"].map(|door| format!("http://{door}.localhost"));
    Urls { base, auth, link }
}

fn client() -> Client {
    Client {
        id: CLIENT.to_owned(),
        environment: Environment::Sandbox,
        name: CLIENT.to_owned(),
        version: ApiVersion::LATEST,
        created_at: six(),
    }
}

/// A runtime whose clock moves only when all tasks wait.
fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

/// Makes a database with the client, its subscription, and the homes of the scenario.
pub(crate) fn furnish(file: &Path) {
    let server = Server::open(file, None);
    let runtime = runtime();
    let link = {
        let _guard = runtime.enter();
        Link::new("furnisher", &server, Dice::new(0))
    };
    runtime.block_on(furnish_homes(&link.address()));
    link.end();
    server.note_changes();
    server.flush();
}

async fn furnish_homes(address: &str) {
    let store = Store::open(&address.parse().unwrap()).await.unwrap();
    let row = ClientRow { client: client(), secret_hash: String::new() };
    insert_client(&store, &row).await.unwrap();
    let template = json!({
        "event": "{name}", "action": "{data.id}", "state": "{data.state}", "target": "{target}",
    });
    let subscription = NewSubscription {
        name: "receiver".to_owned(),
        client: CLIENT.to_owned(),
        url: "http://receiver.localhost/events".to_owned(),
        version: None,
        events: Vec::new(),
        template: Some(template.to_string()),
        secret: None,
        secret_file: None,
    };
    subscribe(&store, &subscription).await.unwrap();
    let clock = Clock::fixed(six());
    let sandbox = Sandbox::new(&scenario(), clock.clone());
    let app = App::load(config(), store, (Environment::Sandbox, clock, urls())).await.unwrap();
    let residents = SandboxSeeder {
        app,
        sandbox: sandbox.clone(),
        client_id: CLIENT.into(),
        first_id: CLIENT.into(),
    };
    residents.apply_scenario(&scenario(), CLIENT, Keep::New).await.unwrap();
    let vendor = sandbox.vendors().remove(0);
    let app = &residents.app;
    app.set_vendors([(vendor.profile().code.clone(), vendor)].into());
    // In one order, which the tables have not.
    let devices = app.cache().read(|tables| tables.devices().map(|one| one.id).collect());
    let devices: BTreeSet<Uuid> = devices;
    for id in devices {
        poller::poll_now(app, id).await;
    }
    app.store().close().await;
}

/// Prices that rise and fall from hour to hour.
#[derive(Debug)]
struct Hours;

impl PriceBook for Hours {
    fn resolved(
        &self,
        _: &Location,
        _: Purpose,
        (from, to): (DateTime<Utc>, DateTime<Utc>),
    ) -> Priced {
        let slot = |hour: i32| Slot {
            start: six() + TimeDelta::hours(hour.into()),
            end: six() + TimeDelta::hours(i64::from(hour) + 1),
            price: per_kwh(f64::from(hour * 7 % 10) / 10.0),
        };
        let slots: Vec<Slot> = (0..72).map(slot).collect();
        let curve = PriceCurve::new(&slots).unwrap();
        let market = Sources { market: Some(&curve), ..Sources::default() };
        Priced { prices: resolve(market, from, to), currency: "NOK".to_owned() }
    }

    fn alike(&self, location: &Location) -> Option<String> {
        location.facts.area_id.clone()
    }
}

/// Surroundings that all processes share.
pub(crate) struct Surroundings {
    pub(crate) server: Arc<Server>,
    pub(crate) vendor: Arc<dyn Vendor>,
    pub(crate) network: Arc<Network>,
    pub(crate) receiver: Arc<Receiver>,
    /// Time of the devices.
    pub(crate) clock: Clock,
}

/// An answer to a request, by the number of the request.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) number: u64,
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// End of a piece of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It has passed.
    Passed,
    /// The process was killed.
    Killed,
}

/// A process of the service.
pub(crate) struct Process {
    pub(crate) link: Arc<Link>,
    pub(crate) clock: Clock,
    pub(crate) app: App,
    router: Router,
    token: String,
    replies: Arc<Mutex<Vec<Reply>>>,
    requests: BTreeMap<u64, JoinHandle<()>>,
    jobs: Vec<JoinHandle<()>>,
    // Dropped last: it ends all tasks.
    runtime: Runtime,
}

impl Process {
    /// Starts a process whose clock shows `at`. It does not come up, and has to be started again,
    /// while another process holds the database.
    pub(crate) fn start(
        around: &Surroundings,
        (name, dice): (&str, Dice),
        at: DateTime<Utc>,
    ) -> Option<Self> {
        let runtime = runtime();
        let guard = runtime.enter();
        let link = Link::new(name, &around.server, dice);
        let clock = Clock::fixed(at);
        let Some((app, notes, token)) = runtime.block_on(load(around, &link, clock.clone())) else {
            link.end();
            return None;
        };
        let (receiver, network) = (Arc::clone(&around.receiver), Arc::clone(&around.network));
        let road = Road { link: Arc::clone(&link), receiver, network };
        let dispatcher =
            Dispatcher::with_transport(app.clone(), clock.clone(), (Arc::new(road), name));
        poller::watch_all(&app, |_| true);
        job::resume(&app, |_| true);
        planner::watch_all(&app, |_| true);
        let jobs = vec![
            runtime.spawn(replicas::run(vec![app.clone()], notes)),
            runtime.spawn(poller::run(app.clone())),
            runtime.spawn(dispatcher.run()),
            runtime.spawn(job::run(app.clone())),
            runtime.spawn(planner::run(app.clone())),
        ];
        let (router, replies) = (router(app.clone()), Arc::default());
        let requests = BTreeMap::new();
        drop(guard);
        Some(Self { link, clock, app, router, token, replies, requests, jobs, runtime })
    }

    /// Lets time pass for the tasks of the process, unless it is killed meanwhile.
    pub(crate) fn pass(&self, time: Duration) -> Ended {
        self.runtime.block_on(async {
            select! {
                biased;
                () = self.link.wait_for_kill() => Ended::Killed,
                () = sleep_until(Instant::now() + time) => Ended::Passed,
            }
        })
    }

    /// Moves the clocks of the process.
    pub(crate) fn step(&self, time: Duration) {
        self.clock.step(TimeDelta::from_std(time).unwrap()).unwrap();
        self.clock.machine().pass(time).unwrap();
    }

    /// Sends a request, as a client of the service. It may hang up after a number of polls.
    pub(crate) fn ask(
        &mut self,
        (number, polls_max): (u64, Option<u64>),
        (method, path): (Method, &str),
        body: Option<&Value>,
    ) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, "application/json")
            .body(body.map_or_else(Body::empty, |body| Body::from(body.to_string())))
            .unwrap();
        let (router, replies) = (self.router.clone(), Arc::clone(&self.replies));
        let asked = self.runtime.spawn(async move {
            let answered = cut_short(router.oneshot(request), polls_max).await;
            let Some(Ok(answer)) = answered else { return };
            let (head, body) = answer.into_parts();
            let bytes = to_bytes(body, usize::MAX).await.unwrap();
            let body = serde_json::from_slice(&bytes).unwrap_or_default();
            replies.lock().unwrap().push(Reply { number, status: head.status.as_u16(), body });
        });
        self.requests.insert(number, asked);
    }

    /// Replies since the last look.
    pub(crate) fn replies(&mut self) -> Vec<Reply> {
        let replies: Vec<Reply> = std::mem::take(&mut *self.replies.lock().unwrap());
        for reply in &replies {
            self.requests.remove(&reply.number);
        }
        replies
    }

    /// Returns `true` if a loop of the service has ended, which none does but by a panic.
    pub(crate) fn has_lost_a_job(&self) -> bool {
        self.jobs.iter().any(JoinHandle::is_finished)
    }
}

/// Drops a future instead of polling it once more; then there is no value.
async fn cut_short<T>(future: impl Future<Output = T>, polls_max: Option<u64>) -> Option<T> {
    let mut left = polls_max;
    let mut future = Box::pin(future);
    poll_fn(|context| {
        if left == Some(0) {
            return Poll::Ready(None);
        }
        left = left.map(|left| left - 1);
        future.as_mut().poll(context).map(Some)
    })
    .await
}

async fn load(
    around: &Surroundings,
    link: &Arc<Link>,
    clock: Clock,
) -> Option<(App, Option<ChangeNotifications>, String)> {
    let url = link.address().parse().ok()?;
    let store = Store::open(&url).await.ok()?.with_listen(listen);
    let notes = ChangeNotifications::listen(&store).await.ok()?;
    let moment = clock.machine().moment();
    let app = App::load(config(), store, (Environment::Sandbox, clock, urls())).await.ok()?;
    let distant = Distant {
        vendor: Arc::clone(&around.vendor),
        network: Arc::clone(&around.network),
        link: Arc::clone(link),
        clock: around.clock.clone(),
    };
    let code = distant.profile().code.clone();
    app.set_vendors([(code, Arc::new(distant) as Arc<dyn Vendor>)].into());
    app.set_price_book(Arc::new(Hours));
    let token = app.tokens().issue(app.store(), &Arc::new(client()), moment).await.ok()?;
    Some((app, notes, token))
}

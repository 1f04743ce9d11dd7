//! A service with clients, users and devices, as a test wants it.
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Method, Request, header};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use slackwater_control::device::scope::{DeviceKind, Granted};
use slackwater_engine::prices::currency::Currency;
use slackwater_http::auth::gate::SERVICE_USER_ID;
use slackwater_http::auth_router;
use slackwater_http::router;
use slackwater_http::version::SERVICE_VERSION;
use slackwater_integration::profile::VendorCode;
use slackwater_integration::reading::{Position, Reading};
use slackwater_integration::registry::Vendors;
use slackwater_integration::vendor::{Connection, Vendor};
use slackwater_service::clock::Clock;
use slackwater_service::config::Config;
use slackwater_service::config::prices::ZoneSettings;
use slackwater_service::jobs::poller::poll_now;
use slackwater_service::linking::connect::{NewAccount, NewDevice, NewUser, connect};
use slackwater_service::outbox::names::{DEVICE_CHANGED, USER_CHANGED};
use slackwater_service::state::{App, Urls};
use slackwater_service::steering;
use slackwater_store::client::{Client, Environment};
use slackwater_store::clients::{self, ClientRow};
use slackwater_store::database::Store;
use slackwater_store::events;
use slackwater_store::locations::{Location, LocationFacts};
use slackwater_wire::version::dated::ApiVersion;
use tempfile::TempDir;
use tokio::task::AbortHandle;
use uuid::Uuid;

use crate::answer::{Answer, request, send};
use crate::postgres;
use crate::vendor::Scripted;

pub(crate) const OLDEST: &str = "2023-05-01";
pub(crate) const LATEST: &str = "2024-10-01";

/// Six in the evening on a Monday.
pub(crate) fn six() -> DateTime<Utc> {
    "2026-01-05T18:00:00Z".parse().unwrap()
}

/// Database of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    Sqlite,
    Postgres,
}

/// A service, two manufacturers, and a clock that stands still.
pub(crate) struct Stage {
    pub(crate) app: App,
    pub(crate) fjord: Arc<Scripted>,
    pub(crate) heath: Arc<Scripted>,
    pub(crate) url: String,
    folder: Option<TempDir>,
}

/// A client with a token.
#[derive(Clone)]
pub(crate) struct Asker {
    pub(crate) id: String,
    pub(crate) token: String,
    router: Router,
}

/// Adds the zone `NO1` to the settings, activated and without prices of its own.
pub(crate) fn add_zone(config: &mut Config) {
    let currency = Currency::parse("NOK").unwrap();
    let zone = ZoneSettings { currency, is_activated: true, prices: None, feed: None };
    config.zones.insert("NO1".to_owned(), zone);
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(On::Sqlite, |_| ()).await
    }

    pub(crate) async fn with(on: On, change: impl FnOnce(&mut Config)) -> Self {
        let folder = (on == On::Sqlite).then(|| tempfile::tempdir().unwrap());
        let url = match &folder {
            Some(folder) => format!("sqlite:{}", folder.path().join("kept.db").display()),
            None => postgres::database(),
        };
        let mut config = Config::default();
        config.store.url = url.parse().unwrap();
        change(&mut config);
        let app = load(config, Clock::fixed(six())).await;
        let (fjord, heath) = (Scripted::new("FJORD"), Scripted::new("HEATH"));
        let vendors: [Arc<dyn Vendor>; 2] = [Arc::clone(&fjord) as _, Arc::clone(&heath) as _];
        app.set_vendors(vendors.map(|v| (v.profile().code.clone(), v)).into_iter().collect());
        Self { app, fjord, heath, url, folder }
    }

    /// Restarts the service.
    pub(crate) async fn restarted(self) -> Self {
        let clock = self.app.clock().clone();
        let config = self.app.config().clone();
        let vendors: Vendors =
            self.app.vendors().into_iter().map(|v| (v.profile().code.clone(), v)).collect();
        self.app.store().close().await;
        let app = load(config, clock).await;
        app.set_vendors(vendors);
        Self { app, ..self }
    }

    /// Another process on the same database.
    pub(crate) async fn replica(&self) -> Self {
        let app = load(self.app.config().clone(), self.app.clock().clone()).await;
        app.set_vendors(
            self.app.vendors().into_iter().map(|v| (v.profile().code.clone(), v)).collect(),
        );
        let (fjord, heath) = (Arc::clone(&self.fjord), Arc::clone(&self.heath));
        Self { app, fjord, heath, url: self.url.clone(), folder: None }
    }

    /// A service on the same database whose clock shows another time.
    pub(crate) async fn replica_at(&self, at: DateTime<Utc>) -> App {
        load(self.app.config().clone(), Clock::fixed(at)).await
    }

    pub(crate) fn folder(&self) -> &TempDir {
        self.folder.as_ref().unwrap()
    }

    /// A client of the sandbox.
    pub(crate) async fn client(&self, name: &str) -> Asker {
        self.client_in(&self.app, name, ApiVersion::LATEST).await
    }

    pub(crate) async fn client_in(&self, app: &App, name: &str, version: ApiVersion) -> Asker {
        let client = Client {
            id: format!("client-{name}"),
            environment: app.environment(),
            name: name.to_owned(),
            version,
            created_at: six(),
        };
        let row = ClientRow { client: client.clone(), secret_hash: String::new() };
        clients::insert_client(app.store(), &row).await.unwrap();
        let token = app
            .tokens()
            .issue(app.store(), &Arc::new(client), app.clock().machine().moment())
            .await
            .unwrap();
        Asker { id: row.client.id, token, router: router(app.clone()) }
    }

    /// A client that was there before a restart.
    pub(crate) fn again(&self, asker: &Asker) -> Asker {
        Asker { router: router(self.app.clone()), ..asker.clone() }
    }

    /// Client with a new token: the old one ends after an hour.
    pub(crate) async fn renewed(&self, asker: &Asker) -> Asker {
        let row = clients::get_client(self.app.store(), &asker.id).await.unwrap().unwrap();
        let client = Arc::new(row.client);
        let now = self.app.clock().machine().moment();
        let token = self.app.tokens().issue(self.app.store(), &client, now).await;
        Asker { token: token.unwrap(), ..asker.clone() }
    }

    /// The production environment beside the sandbox.
    pub(crate) fn production(&self) -> App {
        let urls = ["base", "auth", "link"].map(|door| format!("https://{door}.example.org"));
        let [base, auth, link] = urls;
        self.app.for_environment(
            Environment::Production,
            self.app.clock().clone(),
            Urls { base, auth, link },
        )
    }

    /// Sends a request to the token endpoint.
    pub(crate) async fn auth(&self, request: Request<Body>) -> Answer {
        send(auth_router(self.app.clone()), request).await
    }

    /// Links one device of a user with the first manufacturer.
    pub(crate) async fn link(&self, asker: &Asker, user: &str, device: NewDevice) -> Uuid {
        self.link_with(asker, user, "FJORD", device).await
    }

    pub(crate) async fn link_with(
        &self,
        asker: &Asker,
        user: &str,
        vendor: &str,
        device: NewDevice,
    ) -> Uuid {
        let account = NewAccount {
            vendor: VendorCode::parse(vendor).unwrap(),
            connection: Connection::new("secret of the account"),
            devices: vec![device],
        };
        let user = NewUser { id: user.to_owned(), accounts: vec![account], locations: Vec::new() };
        connect(&self.app, &asker.id, vec![user]).await.unwrap()[0]
    }

    /// A place of a user.
    pub(crate) async fn place(&self, asker: &Asker, user: &str, at: Option<Position>) -> Uuid {
        let id = Uuid::new_v4();
        let facts = LocationFacts { time_zone: None, position: at, zone_id: None, area_id: None };
        let location =
            Location { id, client_id: asker.id.clone(), user_id: user.to_owned(), facts };
        let user = NewUser { id: user.to_owned(), accounts: Vec::new(), locations: vec![location] };
        connect(&self.app, &asker.id, vec![user]).await.unwrap();
        id
    }

    /// Pursues actions and follows schedules until the handle is aborted.
    pub(crate) fn work(&self) -> AbortHandle {
        tokio::spawn(steering::job::run(self.app.clone())).abort_handle()
    }

    /// Waits until all is done that is due now.
    pub(crate) async fn settle(&self) {
        self.app.control().idle(self.app.now()).await;
    }

    /// Puts the clock forward and waits until all is done that falls due.
    pub(crate) async fn step(&self, seconds: i64) {
        self.app.clock().step(TimeDelta::seconds(seconds)).unwrap();
        self.settle().await;
    }

    /// The names and bodies of the events so far, those for operators left out.
    pub(crate) async fn events(&self) -> Vec<(String, Value)> {
        let mut all: Vec<events::Event> = Vec::new();
        loop {
            let read = all.last().map_or(0, |event| event.seq);
            let next = events::events_after(self.app.store(), read, 1_000).await.unwrap();
            if next.is_empty() {
                break;
            }
            all.extend(next);
        }
        let internal = [DEVICE_CHANGED, USER_CHANGED];
        let told = all.into_iter().filter(|event| !internal.contains(&event.name.as_str()));
        told.map(|event| (event.name, event.body)).collect()
    }

    /// Links a device that was read once.
    pub(crate) async fn live(&self, asker: &Asker, user: &str, reading: Reading) -> Uuid {
        let kind = reading.facts.kind();
        let name = format!("{user}-{}", kind.as_str());
        self.fjord.says(&name, Ok(reading));
        let id = self.link(asker, user, device(&name, kind)).await;
        poll_now(&self.app, id).await;
        id
    }
}

async fn load(config: Config, clock: Clock) -> App {
    let store = Store::open(&config.store.url).await.unwrap();
    let store = store.with_keys(config.store.keys.clone());
    let [base, auth, link] =
        ["base", "auth", "link"].map(|door| format!("http://{door}.localhost"));
    App::load(config, store, (Environment::Sandbox, clock, Urls { base, auth, link }))
        .await
        .unwrap()
}

/// A device with all scopes of its kind.
pub(crate) fn device(name: &str, kind: DeviceKind) -> NewDevice {
    NewDevice {
        id: None,
        vendor_device: name.to_owned(),
        kind,
        scopes: kind.permissions().iter().copied().collect::<Granted>(),
        location: None,
    }
}

impl Asker {
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, None, &[]).await
    }

    pub(crate) async fn post(&self, path: &str, body: Option<&Value>) -> Answer {
        self.ask(Method::POST, path, body, &[]).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.ask(Method::PUT, path, Some(body), &[]).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.ask(Method::DELETE, path, None, &[]).await
    }

    /// In another version than the latest.
    pub(crate) async fn get_in(&self, version: &str, path: &str) -> Answer {
        self.ask(Method::GET, path, None, &[(SERVICE_VERSION, version)]).await
    }

    /// In the oldest version, about a user.
    pub(crate) async fn get_about(&self, user: &str, path: &str) -> Answer {
        let headers = [(SERVICE_VERSION, OLDEST), (SERVICE_USER_ID, user)];
        self.ask(Method::GET, path, None, &headers).await
    }

    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &[(HeaderName, &str)],
    ) -> Answer {
        let mut request = request(method, path, body);
        let all = request.headers_mut();
        let bearer = format!("Bearer {}", self.token);
        all.insert(header::AUTHORIZATION, HeaderValue::from_str(&bearer).unwrap());
        for (name, value) in headers {
            all.insert(name, HeaderValue::from_str(value).unwrap());
        }
        send(self.router.clone(), request).await
    }

    /// Sends a request as it is.
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        send(self.router.clone(), request).await
    }
}

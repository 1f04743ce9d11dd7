//! Several processes on one database: what one leaves behind, another finishes.
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use axum::http::Method;
use chrono::TimeDelta;
use serde_json::{Value, json};
use slackwater_control::device::scope::DeviceKind;
use slackwater_engine::prices::currency::Currency;
use slackwater_engine::prices::signal::Zone;
use slackwater_integration::profile::VendorCode;
use slackwater_integration::vendor::Connection;
use slackwater_service::auth::secret::{digest, generate};
use slackwater_service::linking::connect::{NewAccount, NewDevice, NewUser, connect};
use slackwater_service::plans::area::work;
use slackwater_service::prices::replicas::catch_up;
use slackwater_service::steering::evaluate::evaluate_device;
use slackwater_store::devices::{self, DeviceState};
use slackwater_store::locations::{Location, LocationFacts};
use slackwater_store::policies::{self, FlexRow};
use slackwater_store::prices::{SeriesName, ZoneRow, upsert_zone};
use slackwater_store::tokens::{self, TokenRow};
use sqlx::Row;
use tokio::time::interval;
use uuid::Uuid;

use crate::actions::shows;
use crate::harness::{Asker, On, Stage, device, six};
use crate::plans::{car, week};
use crate::priced::{HOME, at};
use crate::process::ask;

const NORTH: &str = "/flex/price-signals/NO1/areas/north";

/// Vehicles, some changes full of them.
const VEHICLES: u128 = 600;

/// The one at which the first process is held up, in its second change.
const HELD: u128 = 300;

/// A server of its own on the database of a stage.
struct Process {
    child: Child,
    base: String,
}

impl Process {
    /// Starts one whose writes the database knows by `name`.
    fn start(stage: &Stage, name: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_slackwater-api"))
            .args(["serve", "--listen", "127.0.0.1:0", "--clock", "0x"])
            .env("SLACKWATER_STORE__URL", format!("{}&application_name={name}", stage.url))
            .env("SLACKWATER_SANDBOX__START", six().to_rfc3339())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let mut said = String::new();
        let base = lines.by_ref().find_map(|line| {
            said += &line;
            let event: Value = serde_json::from_str(&line).unwrap_or_default();
            Some(event.get("base")?.as_str()?.to_owned())
        });
        let base = base.unwrap_or_else(|| panic!("{name} did not start: {said}"));
        // A pipe that nobody reads fills up, and then the server waits.
        thread::spawn(move || lines.for_each(drop));
        Self { child, base }
    }

    async fn push(&self, asker: &Asker, path: &str) {
        let bearer = format!("Bearer {}", asker.token);
        let url = format!("{}{path}", self.base);
        let (status, body) = ask(Method::PUT, url, &bearer, &signal(0.5).to_string()).await;
        assert_eq!(status, 204, "{body}");
    }

    /// kill -9.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The client with a token for processes that run on the machine's own clock.
async fn lasting(stage: &Stage, mut asker: Asker) -> Asker {
    asker.token = generate().unwrap();
    let expires_at = "9999-01-01T00:00:00Z".parse().unwrap();
    let row = TokenRow { client_id: asker.id.clone(), expires_at };
    tokens::insert_token(stage.app.store(), &digest(&asker.token), &row, six()).await.unwrap();
    asker
}

/// Cheap in the third hour only.
fn signal(price: f64) -> Value {
    let step = |hour: i64, price: f64| json!({ "at": at(hour), "price": price });
    let values = [step(0, price), step(2, price / 10.0), step(3, price)];
    json!({ "currency": "NOK", "to": at(12), "values": values })
}

/// In order of the number, and none that is polled at a start.
fn vehicle_id(number: u128) -> Uuid {
    Uuid::from_u128((0x80 << 120) + number)
}

/// A zone that takes price signals, with a vehicle in each home.
async fn inhabited(stage: &Stage) -> Asker {
    let asker = lasting(stage, stage.client("a").await).await;
    let zone = Zone { currency: Currency::parse("NOK").unwrap(), is_activated: true };
    let zone = ZoneRow { client_id: asker.id.clone(), id: "NO1".to_owned(), zone };
    connect(&stage.app, &asker.id, (0..VEHICLES).map(|n| home(&asker, n)).collect()).await.unwrap();
    let plugged_in = DeviceState {
        heard_at: Some(six()),
        is_reachable: Some(true),
        reading: Some(car(50.0, true, 80.0).into()),
        may_be_woken: None,
        uptake: None,
    };
    let mut change = stage.app.store().begin().await.unwrap();
    upsert_zone(change.connection(), &zone).await.unwrap();
    for number in 0..VEHICLES {
        devices::set_state(change.connection(), vehicle_id(number), &plugged_in).await.unwrap();
        let mut policy = week(10.0, 60.0);
        policy.observed_limit_percent = 80.0;
        let row = FlexRow {
            id: Uuid::from_u128(number),
            client_id: asker.id.as_str().into(),
            vehicle_id: vehicle_id(number),
            location_id: Uuid::from_u128(number),
            policy,
            created_at: six(),
        };
        policies::upsert_flex_policy(change.connection(), &row).await.unwrap();
    }
    change.commit(|| ()).await.unwrap();
    asker
}

fn home(asker: &Asker, number: u128) -> NewUser {
    let user = format!("user-{number}");
    let facts = LocationFacts {
        time_zone: None,
        position: Some(HOME),
        zone_id: Some("NO1".to_owned()),
        area_id: Some("north".to_owned()),
    };
    let (id, client_id) = (Uuid::from_u128(number), asker.id.clone());
    let account = NewAccount {
        vendor: VendorCode::parse("FJORD").unwrap(),
        connection: Connection::new("secret of the account"),
        devices: vec![NewDevice {
            id: Some(vehicle_id(number)),
            ..device(&user, DeviceKind::Vehicle)
        }],
    };
    let location = Location { id, client_id, user_id: user.clone(), facts };
    NewUser { id: user, accounts: vec![account], locations: vec![location] }
}

async fn count(stage: &Stage, query: &'static str) -> i64 {
    let row = sqlx::query(query).fetch_one(stage.app.store().reader()).await.unwrap();
    row.try_get(0).unwrap()
}

async fn run(stage: &Stage, statement: &'static str) {
    sqlx::query(statement).execute(stage.app.store().reader()).await.unwrap();
}

/// Returns once a count is what it has to become.
async fn until(stage: &Stage, query: &'static str, expected: i64) {
    // Other processes tell nobody here when they are done.
    let mut looks = interval(Duration::from_millis(10));
    for _ in 0..12_000 {
        if count(stage, query).await == expected {
            return;
        }
        looks.tick().await;
    }
    panic!("{query} did not become {expected}: {}", count(stage, query).await);
}

/// Has the database note who writes which plan.
async fn watch_writes(stage: &Stage) {
    run(stage, "create table writes (device_id text, writer text, sheet_id text, cause text)")
        .await;
    let note = "create function note() returns trigger language plpgsql as $$ begin
            insert into writes values (
                new.device_id, current_setting('application_name'), new.sheet_id,
                new.state::json ->> 'cause');
            return new;
        end $$";
    run(stage, note).await;
    run(
        stage,
        "create trigger noted after insert or update on plans
         for each row execute function note()",
    )
    .await;
}

/// FLX-14: the process that plans for an area is killed half way. Another one
/// plans for all of it, once, and with the prices that only the first was given.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_process_finishes_what_a_killed_one_began() {
    let stage = Stage::with(On::Postgres, |_| ()).await;
    let asker = inhabited(&stage).await;
    watch_writes(&stage).await;
    let of_first = "select count(*) from writes where writer = 'first'";
    let of_second = "select count(*) from writes where writer = 'second'";
    let mut first = Process::start(&stage, "first");
    until(&stage, of_first, VEHICLES as i64).await;
    let second = Process::start(&stage, "second");
    until(&stage, of_second, VEHICLES as i64).await;
    run(&stage, "delete from writes").await;

    // Plans that follow prices; those that follow a poll are nobody's job.
    let of_first = "select count(*) from writes where writer = 'first' and cause = 'prices'";
    let of_second = "select count(*) from writes where writer = 'second' and cause = 'prices'";

    // Somebody else has a row for so long that the first is killed over it.
    let mut blocker = stage.app.store().begin().await.unwrap();
    let hold = "select device_id from plans where device_id = $1 for update";
    let row = sqlx::query(hold).bind(vehicle_id(HELD).to_string());
    row.fetch_one(blocker.connection()).await.unwrap();
    first.push(&asker, NORTH).await;
    let waits = "select count(*) from pg_stat_activity
        where application_name = 'first' and wait_event_type = 'Lock'";
    until(&stage, waits, 1).await;
    first.kill();
    drop(blocker);
    until(&stage, "select count(*) from pg_stat_activity where application_name = 'first'", 0)
        .await;
    let done = count(&stage, of_first).await;
    assert!(0 < done && done <= HELD as i64, "{done} plans were written before the kill");
    assert_eq!(count(&stage, "select count(*) from area_jobs where done < asked").await, 1);
    assert_eq!(count(&stage, of_second).await, 0, "the lease holds");

    // The lease runs out, and something has the second look.
    run(&stage, "update area_jobs set lease_until = 0").await;
    second.push(&asker, "/flex/price-signals/NO1/areas/nobody-lives-here").await;
    until(&stage, "select count(*) from area_jobs where done < asked", 0).await;
    assert_eq!(count(&stage, of_second).await, VEHICLES as i64);
    let distinct = "select count(distinct device_id) from writes
        where writer = 'second' and cause = 'prices'";
    assert_eq!(count(&stage, distinct).await, VEHICLES as i64);
    assert_eq!(count(&stage, of_first).await, done);
    // Both planned with the same prices.
    let sheets = "select count(distinct sheet_id) from writes where cause = 'prices'";
    assert_eq!(count(&stage, sheets).await, 1);
    let unpriced = "select count(*) from writes where cause = 'prices' and sheet_id is null";
    assert_eq!(count(&stage, unpriced).await, 0);
    assert_eq!(count(&stage, "select count(*) from plans").await, VEHICLES as i64);
    assert_eq!(
        count(&stage, "select count(*) from area_jobs where lease_owner is not null").await,
        0
    );
}

#[tokio::test]
async fn a_replica_sees_the_prices_of_another() {
    let stage = Stage::with(On::Postgres, |_| ()).await;
    let asker = stage.client("a").await;
    let zone = Zone { currency: Currency::parse("NOK").unwrap(), is_activated: true };
    let row = ZoneRow { client_id: asker.id.clone(), id: "NO1".to_owned(), zone };
    let mut change = stage.app.store().begin().await.unwrap();
    upsert_zone(change.connection(), &row).await.unwrap();
    change.commit(|| ()).await.unwrap();
    let (one, other) = (stage.replica().await, stage.replica().await);
    let name = SeriesName::Area {
        client_id: asker.id.clone(),
        zone_id: "NO1".to_owned(),
        area_id: "north".to_owned(),
    };
    let seen = |stage: &Stage| stage.app.prices().read(|book| book.series(&name).cloned());
    assert_eq!(catch_up(&other.app).await.unwrap(), 0);
    for price in [0.5, 0.7] {
        assert_eq!(one.again(&asker).put(NORTH, &signal(price)).await.status, 204);
        assert_ne!(seen(&other), seen(&one));
        assert_eq!(catch_up(&other.app).await.unwrap(), 1);
        assert_eq!(seen(&other), seen(&one));
        assert!(seen(&one).is_some());
    }
    assert_eq!(catch_up(&other.app).await.unwrap(), 0);
    // Who plans for an area looks first.
    assert_eq!(one.again(&asker).put(NORTH, &signal(0.9)).await.status, 204);
    assert_eq!(work(&other.app).await.unwrap(), Some(0));
    assert_eq!(seen(&other), seen(&one));
    let later = seen(&other).unwrap().curve.between(six(), six() + TimeDelta::hours(1));
    assert_eq!(later.prices(), [0.9]);
}

/// Both know the schedule, and neither what the other has begun.
#[tokio::test]
async fn what_two_replicas_look_at_in_one_moment_is_ordered_once() {
    let stage = Stage::with(On::Postgres, |_| ()).await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", shows(16.0, "stopped")).await;
    let always = json!({
        "isEnabled": true, "defaultShouldCharge": true, "rules": [],
        "targetId": id, "targetType": "charger", "locationId": null,
    });
    assert_eq!(asker.post("/users/u/schedules", Some(&always)).await.status, 200);
    let other = stage.replica().await;
    for replica in [&stage, &other, &other] {
        evaluate_device(&replica.app, &[id]).await.unwrap();
    }
    let told = stage.events().await;
    let states: Vec<&Value> = told.iter().map(|(_, body)| &body["state"]).collect();
    assert_eq!(states, ["PENDING"]);
}

/// Two replicas change the same devices, and name them in other orders: one waits for the
/// other, never both for each other.
#[tokio::test]
async fn changes_of_two_replicas_claim_devices_in_one_order() {
    let stage = Stage::with(On::Postgres, |_| ()).await;
    let asker = stage.client("a").await;
    let mut ids = Vec::new();
    for number in 0..20 {
        let named = device(&format!("device-{number}"), DeviceKind::Vehicle);
        ids.push(stage.link(&asker, "u", named).await);
    }
    let other = stage.replica().await;
    let claim = async |stage: &Stage, ids: Vec<Uuid>| {
        let mut change = stage.app.store().begin().await?;
        change.claim(ids).await?;
        change.commit(|| ()).await
    };
    let backwards: Vec<Uuid> = ids.iter().rev().copied().collect();
    for _ in 0..20 {
        let (one, two) = tokio::join!(claim(&stage, ids.clone()), claim(&other, backwards.clone()));
        one.unwrap();
        two.unwrap();
    }
}

/// Asks until the answer has that status.
async fn becomes(process: &Process, asker: &Asker, path: &str, expected: u16) {
    let (bearer, url) = (format!("Bearer {}", asker.token), format!("{}{path}", process.base));
    let mut looks = interval(Duration::from_millis(10));
    for _ in 0..3_000 {
        if ask(Method::GET, url.clone(), &bearer, "").await.0 == expected {
            return;
        }
        looks.tick().await;
    }
    panic!("{path} did not become {expected}");
}

/// A user comes and goes through one process, and does so at the other one, also
/// after the connection was lost on which it listens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_sees_users_of_another() {
    let stage = Stage::with(On::Postgres, |_| ()).await;
    let asker = lasting(&stage, stage.client("a").await).await;
    let (one, other) = (Process::start(&stage, "one"), Process::start(&stage, "other"));
    let bearer = format!("Bearer {}", asker.token);
    let listening = "select count(*) from pg_stat_activity where query like 'LISTEN%'
         and datname = current_database()";
    for _ in 0..2 {
        let url = format!("{}/users/u", one.base);
        let body = json!({ "scopes": ["vehicle:read:data"] }).to_string();
        let linked = ask(Method::POST, format!("{url}/link"), &bearer, &body).await;
        assert_eq!(linked.0, 200, "{}", linked.1);
        becomes(&other, &asker, "/users/u", 200).await;
        assert_eq!(count(&stage, listening).await, 2);
        run(
            &stage,
            "select pg_terminate_backend(pid) from pg_stat_activity
             where query like 'LISTEN%' and datname = current_database()",
        )
        .await;
        assert_eq!(ask(Method::DELETE, url, &bearer, "").await.0, 204);
        becomes(&other, &asker, "/users/u", 404).await;
        until(&stage, listening, 2).await;
    }
}

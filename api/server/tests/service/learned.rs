//! Changes of one process, seen by others on the same database.
use std::sync::Arc;

use axum::http::Method;
use chrono::TimeDelta;
use serde_json::{Value, json};
use slackwater_control::device::scope::{DeviceKind, Permission};
use slackwater_control::policy::ask::Cause;
use slackwater_control::policy::charger::ChargerPolicy;
use slackwater_engine::prices::currency::Currency;
use slackwater_engine::prices::signal::Zone;
use slackwater_engine::prices::tariff::IntervalRequest;
use slackwater_engine::statistics::sample::Sample;
use slackwater_engine::units::kw;
use slackwater_integration::profile::VendorCode;
use slackwater_integration::vendor::Connection;
use slackwater_service::cache::recorders::{Recorded, Recorder};
use slackwater_service::jobs::poller::poll_now;
use slackwater_service::linking::connect::{NewAccount, NewDevice, NewUser, connect};
use slackwater_service::plans::planner::plan_now;
use slackwater_service::queue::orders::Task;
use slackwater_service::replicas::Replicas;
use slackwater_service::replicas::telling::LATER;
use slackwater_service::samples::waiting::keep_recording;
use slackwater_store::limits::{LimitRow, delete_limit, upsert_limit};
use slackwater_store::locations::{Location, LocationFacts};
use slackwater_store::notes::ChangeNotifications;
use slackwater_store::policies::{SmartPolicy, upsert_smart_policy};
use slackwater_store::prices::{ZoneRow, upsert_zone};
use slackwater_store::samples::Measured;
use slackwater_store::tariffs::{TariffSchedule, assign_tariff};
use sqlx::Row;
use uuid::Uuid;

use crate::actions::{action, shows, ten};
use crate::answer::Answer;
use crate::harness::{Asker, On, Stage, device, six};
use crate::plans::{CENTS, car, flexible};
use crate::priced::{Book, at, charger_at, place};
use crate::readings::{charger, reading, vehicle};

/// Two processes, and what the second has to know of the first.
struct Two {
    one: Stage,
    other: Stage,
    /// A client at the first.
    mine: Asker,
    /// The client at the second process.
    theirs: Asker,
    replicas: Replicas,
}

impl Two {
    async fn new() -> Self {
        let one = Stage::with(On::Postgres, |config| {
            config.names.credentials_valid = Some("isValid".to_owned());
        })
        .await;
        let mine = one.client("a").await;
        let other = one.replica().await;
        let replicas = following(&other).await;
        let theirs = other.again(&mine);
        Self { one, other, mine, theirs, replicas }
    }

    /// Answer of the first process, which the second gives only once it has caught up.
    async fn learns(&mut self, path: &str) -> Answer {
        let expected = self.mine.get(path).await;
        let before = self.theirs.get(path).await;
        assert_ne!((before.status, &before.body), (expected.status, &expected.body), "{path}");
        self.catches_up().await;
        self.agree(path).await;
        expected
    }

    async fn agree(&self, path: &str) {
        let (one, other) = (self.mine.get(path).await, self.theirs.get(path).await);
        assert_eq!((other.status, other.body), (one.status, one.body), "{path}");
    }

    async fn catches_up(&mut self) {
        assert_ne!(self.replicas.catch_up().await.unwrap(), 0);
    }

    /// All events, those for operators among them.
    async fn events(&self) -> i64 {
        let query = sqlx::query("select count(*) from events");
        query.fetch_one(self.one.app.store().reader()).await.unwrap().try_get(0).unwrap()
    }

    /// Ends the connection on which the second process listens.
    async fn cut(&mut self) {
        let query = "select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and query like 'LISTEN%'";
        let ended = sqlx::query(query).execute(self.one.app.store().reader()).await.unwrap();
        assert_eq!(ended.rows_affected(), 1);
        assert!(self.replicas.next().await.is_err());
    }
}

async fn following(stage: &Stage) -> Replicas {
    let notes = ChangeNotifications::listen(stage.app.store()).await.unwrap().unwrap();
    Replicas::new(vec![stage.app.clone()], notes)
}

#[tokio::test]
async fn users_and_their_accounts_are_those_of_the_other_process() {
    let mut two = Two::new().await;
    let scopes = json!({ "scopes": ["vehicle:read:data"] });
    assert_eq!(two.mine.post("/users/v/link", Some(&scopes)).await.status, 200);
    assert_eq!(two.learns("/users/v").await.status, 200);
    let id = two.one.live(&two.mine, "u", reading(&vehicle())).await;
    assert_eq!(two.learns("/users/u/vendor/FJORD").await.body["isValid"], true);
    two.agree("/users").await;
    assert_eq!(two.mine.delete("/users/u/authorization").await.status, 204);
    assert_eq!(two.learns("/users/u/vendor/FJORD").await.body["isValid"], false);
    two.one.link(&two.mine, "u", device("u-vehicle", DeviceKind::Vehicle)).await;
    assert_eq!(two.learns("/users/u/vendor/FJORD").await.body["isValid"], true);
    assert_eq!(two.mine.delete("/users/u/vendor/FJORD").await.status, 204);
    assert_eq!(two.learns("/users/u/vendor/FJORD").await.status, 404);
    assert_eq!(two.theirs.get(&format!("/vehicles/{id}")).await.status, 404);
    assert_eq!(two.mine.delete("/users/u").await.status, 204);
    assert_eq!(two.learns("/users/u").await.status, 404);
    assert_eq!(two.theirs.get("/users").await.ids(), ["v"]);
    // What it changes itself is nothing new.
    assert_eq!(two.theirs.delete("/users/v").await.status, 204);
    assert_eq!(two.replicas.catch_up().await.unwrap(), 0);
}

#[tokio::test]
async fn devices_and_their_readings_are_those_of_the_other_process() {
    let mut two = Two::new().await;
    let id = two.one.live(&two.mine, "u", car(50.0, true, 80.0)).await;
    let path = format!("/vehicles/{id}");
    assert_eq!(two.learns(&path).await.body["chargeState"]["batteryLevel"], 50.0);
    two.agree("/vehicles").await;
    two.agree("/users/u/vehicles").await;
    let due = two.other.app.poller().due_at(id);
    assert!(due.is_some_and(|at| at >= six()), "it is in the queues of both from now on: {due:?}");

    two.one.fjord.says("u-vehicle", Ok(car(51.0, false, 80.0)));
    poll_now(&two.one.app, id).await;
    assert_eq!(two.learns(&path).await.body["chargeState"]["batteryLevel"], 51.0);
    assert_eq!(two.other.app.poller().due_at(id), due);
    // It is looked at later, as it may be that nobody else does any more.
    assert_eq!(two.other.app.control().due_at(Task::Look(id)), Some(six() + LATER));
    // What is known is not told again.
    let events = two.events().await;
    poll_now(&two.other.app, id).await;
    assert_eq!(two.events().await, events);

    let mut bare = device("u-vehicle", DeviceKind::Vehicle);
    bare.scopes.remove(&Permission::ControlCharging);
    assert_eq!(two.one.link(&two.mine, "u", bare).await, id);
    two.learns(&path).await;
    assert_eq!(two.mine.delete("/users/u").await.status, 204);
    assert_eq!(two.learns(&path).await.status, 404);
    assert_eq!(two.theirs.get("/vehicles").await.ids(), [""; 0]);
}

#[tokio::test]
async fn a_device_that_was_deleted_and_linked_anew_begins_anew() {
    let mut two = Two::new().await;
    let linked = |at: &Stage| {
        let account = NewAccount {
            vendor: VendorCode::parse("FJORD").unwrap(),
            connection: Connection::new("secret of the account"),
            devices: vec![NewDevice {
                id: Some(Uuid::from_u128(7)),
                ..device("u-vehicle", DeviceKind::Vehicle)
            }],
        };
        let user = NewUser { id: "u".to_owned(), accounts: vec![account], locations: Vec::new() };
        (at.app.clone(), user)
    };
    let id = Uuid::from_u128(7);
    let (app, user) = linked(&two.one);
    connect(&app, &two.mine.id, vec![user.clone()]).await.unwrap();
    two.one.fjord.says("u-vehicle", Ok(reading(&vehicle())));
    poll_now(&app, id).await;
    let path = format!("/vehicles/{id}");
    assert_eq!(two.learns(&path).await.body["information"]["vin"], "1FJ");
    assert_eq!(two.mine.delete("/users/u").await.status, 204);
    app.clock().step(TimeDelta::seconds(1)).unwrap();
    connect(&app, &two.mine.id, vec![user]).await.unwrap();
    assert_eq!(two.learns(&path).await.body["information"]["vin"], Value::Null);
    two.agree("/vehicles").await;
    two.agree("/users").await;
}

#[tokio::test]
async fn a_command_is_pursued_by_the_other_process_if_nobody_else_does() {
    let mut two = Two::new().await;
    let id = two.one.live(&two.mine, "u", shows(16.0, "stopped")).await;
    let door = format!("/chargers/{id}/max-current");
    let made = two.mine.post(&door, Some(&ten())).await;
    assert_eq!(made.status, 200);
    two.catches_up().await;
    let task = Task::Pursue(id);
    assert_eq!(two.other.app.control().due_at(task), Some(six() + LATER));
    two.one.fjord.obeys("u-charger", [Ok(Some(shows(10.0, "stopped")))]);
    let _job = two.other.work();
    two.other.settle().await;
    assert_eq!(two.one.fjord.sent("u-charger"), []);
    two.other.step(LATER.num_seconds()).await;
    two.other.step(30).await;
    assert_eq!(two.one.fjord.sent("u-charger").len(), 1);
    let fresh = two.one.renewed(&two.mine).await;
    assert_eq!(action(&fresh, &made.body["id"]).await["state"], "CONFIRMED");
    // And the first learns of its end.
    let mut of_first = following(&two.one).await;
    assert!(two.one.app.cache().read(|tables| tables.control().pending(id).is_some()));
    of_first.start_again().await.unwrap();
    assert!(two.one.app.cache().read(|tables| tables.control().pending(id).is_none()));
    let told = two.one.events().await;
    let states: Vec<&Value> = told.iter().map(|(_, body)| &body["state"]).collect();
    assert_eq!(states, ["PENDING", "CONFIRMED"]);
}

/// A schedule of a charger that charges now.
fn always(target: Uuid) -> Value {
    json!({
        "isEnabled": true, "defaultShouldCharge": true, "rules": [],
        "targetId": target, "targetType": "charger", "locationId": null,
    })
}

#[tokio::test]
async fn schedules_and_overrides_are_those_of_the_other_process() {
    let mut two = Two::new().await;
    let id = two.one.live(&two.mine, "u", reading(&charger())).await;
    let made = two.mine.post("/users/u/schedules", Some(&always(id))).await;
    let path = format!("/schedules/{}", made.body["id"].as_str().unwrap());
    assert_eq!(two.learns(&path).await.status, 200);
    two.agree("/users/u/schedules").await;
    // Who asks how it stands finds that it is to be started, and starts it.
    let status = two.learns(&format!("{path}/status")).await;
    assert_eq!(status.body["state"], "PENDING");
    assert_eq!(two.mine.put(&path, &json!({ "isEnabled": false })).await.status, 200);
    assert_eq!(two.learns(&path).await.body["isEnabled"], false);
    let door = format!("/chargers/{id}/smart-override");
    assert_eq!(two.mine.post(&door, None).await.status, 200);
    let active = |stage: &Stage| {
        stage.app.cache().read(|tables| tables.control().active_override(id).cloned())
    };
    assert_eq!(active(&two.other), None);
    two.catches_up().await;
    assert!(active(&two.other).is_some());
    assert_eq!(active(&two.other), active(&two.one));
    two.agree(&format!("{path}/status")).await;
    assert_eq!(two.mine.delete(&door).await.status, 200);
    two.catches_up().await;
    assert_eq!(active(&two.other), None);
    assert_eq!(two.mine.delete(&path).await.status, 204);
    assert_eq!(two.learns(&path).await.status, 404);
    assert_eq!(two.theirs.get("/users/u/schedules").await.ids(), [""; 0]);
}

#[tokio::test]
async fn policies_and_plans_are_those_of_the_other_process() {
    let mut two = Two::new().await;
    let book = Arc::new(Book::default());
    two.one.app.set_price_book(Arc::clone(&book) as _);
    let home = place(&two.one, &two.mine, "u", "north").await;
    let id = charger_at(&two.one, &two.mine, "u", home).await;
    two.learns(&format!("/chargers/{id}")).await;
    let door = format!("/chargers/{id}/smart-charging-policy");
    let policy = json!({ "isEnabled": true, "deadline": "23:00", "chargingDuration": "02:00" });
    assert_eq!(two.mine.put(&door, &policy).await.status, 200);
    assert_eq!(two.learns(&door).await.body, policy);
    let status = format!("/chargers/{id}/smart-charging-status");
    two.agree(&status).await;
    book.set("north", &CENTS);
    plan_now(&two.one.app, &[(id, Cause::Prices)]).await.unwrap();
    let shown = two.learns(&status).await;
    assert_eq!(shown.body["chargingIntervals"].as_array().unwrap().len(), 2);
    // Both look at it again in its time.
    let due = |stage: &Stage| stage.app.planner().due_at(id);
    assert!(due(&two.one).is_some_and(|at| at > six()));
    assert_eq!(due(&two.other), due(&two.one));
    // A policy whose plan nobody makes.
    let mut change = two.one.app.store().begin().await.unwrap();
    let off = SmartPolicy::Charger(ChargerPolicy::default());
    upsert_smart_policy(change.connection(), id, &off).await.unwrap();
    change.commit(|| ()).await.unwrap();
    two.catches_up().await;
    assert_eq!(due(&two.other), Some(six() + LATER));
    assert_eq!(two.theirs.get(&door).await.body["isEnabled"], false);
}

#[tokio::test]
async fn flex_policies_are_those_of_the_other_process() {
    let mut two = Two::new().await;
    let (car_id, id) = flexible(&two.one, &two.mine, 10.0).await;
    let path = format!("/flex/vehicle-policies/{id}");
    assert_eq!(two.learns(&path).await.status, 200);
    let plan = |stage: &Stage| stage.app.cache().read(|tables| tables.plans.plan(car_id).cloned());
    assert!(plan(&two.other).is_some());
    assert_eq!(plan(&two.other), plan(&two.one));
    let change = json!({ "batteryReserve": 15 });
    assert_eq!(two.mine.ask(Method::PATCH, &path, Some(&change), &[]).await.status, 200);
    assert_eq!(two.learns(&path).await.body["batteryReserve"], 15.0);
    assert_eq!(plan(&two.other), plan(&two.one));
    assert_eq!(two.mine.delete("/users/u").await.status, 204);
    assert_eq!(two.learns(&path).await.status, 404);
}

#[tokio::test]
async fn tariffs_and_zones_are_those_of_the_other_process() {
    let mut two = Two::new().await;
    let home = place(&two.one, &two.mine, "u", "north").await;
    let id = charger_at(&two.one, &two.mine, "u", home).await;
    let policy = json!({ "isEnabled": true });
    let door = format!("/chargers/{id}/smart-charging-policy");
    assert_eq!(two.mine.put(&door, &policy).await.status, 200);
    two.catches_up().await;
    let facts = LocationFacts {
        time_zone: None,
        position: None,
        zone_id: Some("NO1".to_owned()),
        area_id: Some("north".to_owned()),
    };
    let (client_id, user_id) = (two.mine.id.clone(), "u".to_owned());
    let location = Location { id: home, client_id: client_id.clone(), user_id, facts };
    let prices = |stage: &Stage| {
        let resolved = stage.app.price_lookup().flex_prices(&location, at(0), at(1));
        resolved.slots().map(|slot| slot.slot.price.as_per_kwh()).collect::<Vec<_>>()
    };
    let interval = IntervalRequest {
        name: "all".to_owned(),
        ..serde_json::from_value(json!({ "name": "all" })).unwrap()
    };
    let schedule = TariffSchedule { tariff_id: "t".to_owned(), intervals: vec![interval] };
    for cost in ["0.2", "0.3"] {
        let rates = json!([{ "name": "all", "cost": cost }]);
        assert_eq!(two.mine.put("/tariffs/t", &rates).await.status, 204);
        let mut change = two.one.app.store().begin().await.unwrap();
        assign_tariff(change.connection(), home, Some(&schedule)).await.unwrap();
        let kept = schedule.clone();
        let app = two.one.app.clone();
        let show = move || app.prices().write(|book| book.assign(home, Some(kept)));
        change.commit(show).await.unwrap();
        assert_ne!(prices(&two.other), prices(&two.one));
        two.catches_up().await;
        assert_eq!(prices(&two.other), [cost.parse::<f64>().unwrap()]);
        // Plans that rest on it are looked at, should nobody else do so.
        let due = two.other.app.planner().due_at(id);
        assert_eq!(due, Some(six() + LATER));
    }
    let zone = Zone { currency: Currency::parse("NOK").unwrap(), is_activated: true };
    let zone = ZoneRow { client_id, id: "NO1".to_owned(), zone };
    let mut change = two.one.app.store().begin().await.unwrap();
    assign_tariff(change.connection(), home, None).await.unwrap();
    upsert_zone(change.connection(), &zone).await.unwrap();
    change.commit(|| ()).await.unwrap();
    let signal =
        json!({ "currency": "NOK", "to": at(1), "values": [{ "at": at(0), "price": 0.1 }] });
    let north = "/flex/price-signals/NO1/areas/north";
    assert_ne!(two.theirs.put(north, &signal).await.status, 204);
    two.catches_up().await;
    assert_eq!(prices(&two.other), [0.0; 0]);
    assert_eq!(two.theirs.put(north, &signal).await.status, 204);
}

#[tokio::test]
async fn limits_of_areas_are_those_of_the_other_process() {
    let mut two = Two::new().await;
    let row = LimitRow { area: ("NO1".to_owned(), "north".to_owned()), limit: kw(7.0).into() };
    let usual = |stage: &Stage| stage.app.limits().of("NO1", "north").and_then(|l| l.usual());
    let mut change = two.one.app.store().begin().await.unwrap();
    upsert_limit(change.connection(), &row).await.unwrap();
    change.commit(|| ()).await.unwrap();
    assert_eq!(usual(&two.other), None);
    two.catches_up().await;
    assert_eq!(usual(&two.other), Some(kw(7.0)));
    let mut change = two.one.app.store().begin().await.unwrap();
    delete_limit(change.connection(), &row.area).await.unwrap();
    change.commit(|| ()).await.unwrap();
    two.catches_up().await;
    assert_eq!(usual(&two.other), None);
}

#[tokio::test]
async fn energy_that_two_processes_recorded_counts_once() {
    let mut two = Two::new().await;
    let id = two.one.live(&two.mine, "u", reading(&charger())).await;
    two.catches_up().await;
    let sample = |hour: i64| Sample {
        start: at(hour - 1),
        end: at(hour),
        power: Some(kw(4.0)),
        price: None,
        non_smart: None,
    };
    let recorded = |before: Option<i64>, hour: i64| Recorded {
        device_id: id,
        before: before.map(at),
        recorder: Recorder { until: Some(at(hour)), sessions: Vec::new() },
        parts: vec![(
            Measured {
                device_id: id,
                client_id: two.mine.id.clone(),
                user_id: "u".to_owned(),
                kind: DeviceKind::Charger,
                location_id: None,
            },
            None,
            vec![sample(hour)],
        )],
    };
    let kept = async || -> Vec<i64> {
        let query = sqlx::query("select columns from samples");
        let row = query.fetch_one(two.one.app.store().reader()).await.unwrap();
        let columns: Value = serde_json::from_str(row.try_get(0).unwrap()).unwrap();
        serde_json::from_value(columns["end"].clone()).unwrap()
    };
    let ends = |hours: &[i64]| -> Vec<i64> {
        hours.iter().map(|hour| at(*hour).timestamp_micros()).collect()
    };
    for (before, hour) in [(None, 1), (Some(1), 2)] {
        keep_recording(&two.one.app, recorded(before, hour)).await;
        keep_recording(&two.other.app, recorded(before, hour)).await;
        assert_eq!(kept().await, ends(&[1, 2][..hour as usize]));
        // It goes on from there once it has learned of it.
        assert_ne!(
            two.other.app.recorders().progress_of(id),
            two.one.app.recorders().progress_of(id)
        );
        two.replicas.catch_up().await.unwrap();
        assert_eq!(
            two.other.app.recorders().progress_of(id),
            two.one.app.recorders().progress_of(id)
        );
    }
}

#[tokio::test]
async fn what_was_missed_while_nobody_listened_is_made_up_for() {
    let mut two = Two::new().await;
    let stays = two.one.live(&two.mine, "stays", reading(&charger())).await;
    two.one.live(&two.mine, "goes", reading(&vehicle())).await;
    two.catches_up().await;
    two.agree("/users").await;
    let due = two.other.app.poller().due_at(stays);
    two.cut().await;
    assert_eq!(two.mine.delete("/users/goes").await.status, 204);
    let comes = two.one.live(&two.mine, "comes", reading(&vehicle())).await;
    let policy = json!({ "isEnabled": true, "deadline": "23:00", "chargingDuration": "02:00" });
    let door = format!("/chargers/{stays}/smart-charging-policy");
    assert_eq!(two.mine.put(&door, &policy).await.status, 200);
    assert_eq!(
        two.mine.put("/tariffs/t", &json!([{ "name": "x", "cost": "1" }])).await.status,
        204
    );
    assert!(two.replicas.catch_up().await.is_err(), "there is no connection");
    assert_eq!(two.theirs.get("/users").await.ids().len(), 2);
    two.replicas.start_again().await.unwrap();
    for path in ["/users", "/vehicles", "/chargers", "/users/goes", "/users/comes", &door] {
        two.agree(path).await;
    }
    assert!(two.other.app.prices().read(|book| book.tariff(&two.mine.id, "t").is_some()));
    // What stayed keeps its place in the queue, and what came has one.
    assert_eq!(two.other.app.poller().due_at(stays), due);
    assert!(two.other.app.poller().due_at(comes).is_some());
    assert_eq!(two.other.app.control().due_at(Task::Look(comes)), None);
    // And it is listened to again.
    assert_eq!(two.mine.delete("/users/comes").await.status, 204);
    assert_eq!(two.learns("/users/comes").await.status, 404);
}

#[tokio::test]
async fn what_cannot_be_read_does_not_hide_the_rest() {
    let mut two = Two::new().await;
    let odd = two.one.live(&two.mine, "odd", reading(&vehicle())).await;
    let even = two.one.live(&two.mine, "even", reading(&vehicle())).await;
    let spoil = sqlx::query("update devices set scopes = 'kettle:boil' where id = $1");
    spoil.bind(odd.to_string()).execute(two.one.app.store().reader()).await.unwrap();
    two.learns(&format!("/vehicles/{even}")).await;
    assert_eq!(two.theirs.get(&format!("/vehicles/{odd}")).await.status, 404);
}

#[tokio::test]
async fn a_file_has_one_process_that_listens_to_nobody() {
    let stage = Stage::new().await;
    assert!(ChangeNotifications::listen(stage.app.store()).await.unwrap().is_none());
}

/// Tables that memory does not hold, and why nothing of them is noted: they are
/// read from the database each time, or are nobody's but the process's that reads.
const NOT_IN_MEMORY: [&str; 17] = [
    "_sqlx_migrations",
    "area_jobs",
    "audit",
    "clients",
    "counters",
    "events",
    // Read again each second.
    "grid_orders",
    "link_sessions",
    // Read when a feed is due.
    "price_feeds",
    "price_sheets",
    // Their changes are counted.
    "price_series",
    "price_steps",
    "samples",
    "settings",
    "subscriptions",
    "tokens",
    // Read every ten seconds.
    "vendor_readers",
];

#[tokio::test]
async fn every_table_that_memory_holds_is_noted() {
    let stage = Stage::with(On::Postgres, |_| ()).await;
    let query = "select cast(relname as text), count(tgname) from pg_class
         left join pg_trigger on tgrelid = pg_class.oid and tgname like 'told\\_%'
         where relkind = 'r' and relnamespace = cast('public' as regnamespace)
         group by relname";
    let rows = sqlx::query(query).fetch_all(stage.app.store().reader()).await.unwrap();
    for row in rows {
        let (table, triggers): (String, i64) = (row.try_get(0).unwrap(), row.try_get(1).unwrap());
        let expected = if NOT_IN_MEMORY.contains(&table.as_str()) { 0 } else { 2 };
        assert_eq!(triggers, expected, "{table}");
    }
}

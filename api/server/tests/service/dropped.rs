//! Clients that hang up: a write is made and shown, or neither.
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::task::Poll;

use axum::http::Method;
use serde_json::{Value, json};
use slackwater_service::cache::price_book::{Book, Prices};
use slackwater_service::cache::tables::{Cache, Tables};
use slackwater_store::prices::{SeriesName, series_revisions};
use uuid::Uuid;

use crate::actions::ten;
use crate::answer::operations;
use crate::harness::{Asker, On, Stage, add_zone, six};
use crate::plans::{car, flexible};
use crate::readings::{charger, hvac, reading};

/// Request: method, path, body.
type Ask = (Method, String, Option<Value>);

/// Every operation that is no `GET`. A new one is found by [`operations`].
const WRITES: [&str; 19] = [
    "post /assets/{assetId}/relink",
    "post /chargers/actions/{actionId}/cancel",
    "put /chargers/{chargerId}",
    "post /chargers/{chargerId}/charge-rate-limit",
    "post /chargers/{chargerId}/max-current",
    "put /chargers/{chargerId}/smart-charging-policy",
    "post /chargers/{chargerId}/smart-override",
    "delete /chargers/{chargerId}/smart-override",
    "put /flex/price-signals/{zoneId}/areas/{areaId}",
    "patch /flex/vehicle-policies/{policyId}",
    "post /hvacs/{hvacId}/follow-schedule",
    "put /schedules/{scheduleId}",
    "delete /schedules/{scheduleId}",
    "put /tariffs/{tariffId}",
    "delete /users/{userId}",
    "delete /users/{userId}/authorization",
    "post /users/{userId}/link",
    "post /users/{userId}/schedules",
    "delete /users/{userId}/vendor/{vendor}",
];

/// Operations that keep nothing, or what another one does by the same function.
const OTHERS: [&str; 7] = [
    "post /batteries/actions/{actionId}/cancel",
    "post /batteries/{batteryId}/refresh-hint",
    "post /chargers/{chargerId}/refresh-hint",
    "post /hvacs/{hvacId}/refresh-hint",
    "post /inverters/{inverterId}/refresh-hint",
    "post /vehicles/{vehicleId}/refresh-hint",
    "delete /me/vendors/{vendor}",
];

/// Polls after which a write has ended for sure.
const POLLS_MAX: usize = 1_000;

#[test]
fn every_operation_is_among_those_that_are_dropped() {
    let named: BTreeSet<String> = WRITES.iter().chain(&OTHERS).map(ToString::to_string).collect();
    let writes = operations().into_iter().filter(|operation| operation.method != Method::GET);
    let lower = |method: Method| method.as_str().to_lowercase();
    let writes = writes.map(|operation| format!("{} {}", lower(operation.method), operation.path));
    assert_eq!(writes.collect::<BTreeSet<_>>(), named);
}

/// A charger of a new user, and its path.
async fn new_charger(stage: &Stage, asker: &Asker, user: &str) -> (Uuid, String) {
    let id = stage.live(asker, user, reading(&charger())).await;
    (id, format!("/chargers/{id}"))
}

fn schedule(target: Uuid) -> Value {
    json!({
        "isEnabled": true, "defaultShouldCharge": true, "rules": [],
        "targetId": target, "targetType": "charger", "locationId": null,
    })
}

async fn made(asker: &Asker, path: &str, body: Option<&Value>) -> String {
    let made = asker.post(path, body).await;
    assert_eq!(made.status, 200, "{path}: {}", made.body);
    made.body["id"].as_str().unwrap().to_owned()
}

/// A write that would change something, about things of its own.
async fn prepared(stage: &Stage, asker: &Asker, write: &str, round: usize) -> Ask {
    let user = format!("u{round}-{}", Uuid::new_v4());
    let (id, path) = new_charger(stage, asker, &user).await;
    let home = stage.place(asker, &user, None).await;
    let limit = json!({ "maxCurrent": 10 });
    let scopes = json!({ "scopes": ["vehicle:read:data"] });
    let (path, body) = match write {
        "post /assets/{assetId}/relink" => (format!("/assets/{id}/relink"), None),
        "post /chargers/actions/{actionId}/cancel" => {
            let action = made(asker, &format!("{path}/max-current"), Some(&ten())).await;
            (format!("/chargers/actions/{action}/cancel"), None)
        }
        "put /chargers/{chargerId}" => (path, Some(json!({ "chargingLocationId": home }))),
        "post /chargers/{chargerId}/charge-rate-limit" => {
            (format!("{path}/charge-rate-limit"), Some(json!({ "chargeRateLimit": 4.0 })))
        }
        "post /chargers/{chargerId}/max-current" => (format!("{path}/max-current"), Some(ten())),
        "put /chargers/{chargerId}/smart-charging-policy" => {
            let body = json!({ "isEnabled": true, "deadline": "07:00" });
            (format!("{path}/smart-charging-policy"), Some(body))
        }
        "post /chargers/{chargerId}/smart-override" => (format!("{path}/smart-override"), None),
        "delete /chargers/{chargerId}/smart-override" => {
            let path = format!("{path}/smart-override");
            assert_eq!(asker.post(&path, None).await.status, 200);
            (path, None)
        }
        "put /flex/price-signals/{zoneId}/areas/{areaId}" => {
            let to = six() + chrono::TimeDelta::hours(1);
            let values = [json!({ "at": six(), "price": round })];
            let body = json!({ "currency": "NOK", "to": to, "values": values });
            ("/flex/price-signals/NO1/areas/north".to_owned(), Some(body))
        }
        "patch /flex/vehicle-policies/{policyId}" => {
            stage.fjord.says("u-vehicle", Ok(car(50.0, true, 80.0)));
            assert!(asker.delete("/users/u").await.status < 500);
            let (_, policy) = flexible(stage, asker, 10.0).await;
            (format!("/flex/vehicle-policies/{policy}"), Some(json!({ "batteryReserve": 15 })))
        }
        "post /hvacs/{hvacId}/follow-schedule" => {
            let id = stage.live(asker, &user, reading(&hvac())).await;
            (format!("/hvacs/{id}/follow-schedule"), None)
        }
        "put /schedules/{scheduleId}" | "delete /schedules/{scheduleId}" => {
            let list = format!("/users/{user}/schedules");
            let id = made(asker, &list, Some(&schedule(id))).await;
            let body = write.starts_with("put").then(|| json!({ "isEnabled": false }));
            (format!("/schedules/{id}"), body)
        }
        "put /tariffs/{tariffId}" => {
            let body = json!([{ "name": "low", "cost": format!("0.{round}1") }]);
            ("/tariffs/night".to_owned(), Some(body))
        }
        "delete /users/{userId}" => (format!("/users/{user}"), None),
        "delete /users/{userId}/authorization" => (format!("/users/{user}/authorization"), None),
        "post /users/{userId}/link" => (format!("/users/new-{user}/link"), Some(scopes)),
        "post /users/{userId}/schedules" => {
            (format!("/users/{user}/schedules"), Some(schedule(id)))
        }
        "delete /users/{userId}/vendor/{vendor}" => (format!("/users/{user}/vendor/FJORD"), None),
        other => panic!("{other}: {limit}"),
    };
    let method = write.split(' ').next().unwrap().to_uppercase();
    (method.parse().unwrap(), path, body)
}

/// Polls a future whenever it wakes, at most so often, and then drops it.
async fn dropped_after<T>(polls: usize, future: impl Future<Output = T>) -> Option<T> {
    let (mut future, mut left) = (Box::pin(future), polls);
    poll_fn(|context| {
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// All that is in the tables, one line each.
fn lines_of(tables: &Tables) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for (client, id) in tables.all_users() {
        let user = tables.user(client, id).unwrap();
        let (created, gone) = (user.created_at, user.is_deauthorised);
        lines.insert(format!("{id} {created} {gone} {:?} {:?}", user.accounts, user.locations));
    }
    for device in tables.devices() {
        let (id, control, plans) = (device.id, tables.control(), &tables.plans);
        lines.insert(format!("{device:?}"));
        lines.insert(format!("{id} {:?} {:?}", control.pending(id), control.active_override(id)));
        lines.insert(format!("{id} {:?}", control.schedules_of(id).collect::<Vec<_>>()));
        lines.insert(format!("{id} {:?} {:?}", plans.smart(id), plans.plan(id)));
        lines.insert(format!("{id} {:?}", plans.flex_of(id).collect::<Vec<_>>()));
    }
    lines
}

fn prices_of(book: &Book, names: &[SeriesName]) -> Vec<String> {
    let (tariffs, _, places) = book.keys();
    let tariffs = tariffs.iter().map(|(client, id)| format!("{:?}", book.tariff(client, id)));
    let places = places.iter().map(|place| format!("{place} {:?}", book.schedule(*place)));
    let series = names.iter().map(|name| format!("{name:?} {:?}", book.series(name)));
    tariffs.chain(places).chain(series).collect()
}

/// Compares memory with rows, in the writer's turn.
async fn assert_same(stage: &Stage, what: &str) {
    let store = stage.app.store();
    let turn = store.begin().await.unwrap();
    let rows = Cache::load(store).await.unwrap();
    let (kept, shown) = (rows.read(lines_of), stage.app.cache().read(lines_of));
    assert_eq!(shown, kept, "{what}");
    let names: Vec<SeriesName> =
        series_revisions(store).await.unwrap().into_iter().map(|(name, _)| name).collect();
    let rows = Prices::load(store).await.unwrap();
    let kept = rows.read(|book| prices_of(book, &names));
    assert_eq!(stage.app.prices().read(|book| prices_of(book, &names)), kept, "{what}");
    drop(turn);
}

async fn drop_each(on: On, write: &str) {
    let stage = Stage::with(on, add_zone).await;
    let asker = stage.client("a").await;
    for polls in 1..POLLS_MAX {
        let (method, path, body) = prepared(&stage, &asker, write, polls).await;
        let answer = asker.ask(method, &path, body.as_ref(), &[]);
        let done = dropped_after(polls, answer).await;
        assert_same(&stage, &format!("{on:?} {write} after {polls} polls")).await;
        if let Some(answer) = done {
            assert!(answer.status < 300, "{write}: {} {}", answer.status, answer.body);
            return;
        }
    }
    panic!("{write} does not end");
}

#[tokio::test]
async fn a_write_whose_client_hangs_up_is_made_and_shown_or_neither_in_a_file() {
    for write in WRITES {
        drop_each(On::Sqlite, write).await;
    }
}

#[tokio::test]
async fn a_write_whose_client_hangs_up_is_made_and_shown_or_neither_on_a_server() {
    for write in WRITES {
        drop_each(On::Postgres, write).await;
    }
}

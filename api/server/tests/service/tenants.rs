//! Nobody sees, changes or guesses anything of anybody else.
use std::collections::BTreeMap;

use axum::http::Method;
use serde_json::{Value, json};
use slackwater_control::device::command::Command;
use slackwater_control::device::scope::DeviceKind;
use slackwater_control::policy::flex::FlexRequest;
use slackwater_engine::units::amps;
use slackwater_http::auth::gate::SERVICE_USER_ID;
use slackwater_http::version::SERVICE_VERSION;
use slackwater_service::control::orders::order;
use slackwater_service::jobs::poller::poll_now;
use slackwater_service::plans::patching::keep_flex;
use slackwater_service::state::App;
use slackwater_store::actions::Origin;
use slackwater_wire::version::dated::ApiVersion;
use uuid::Uuid;

use crate::answer::{Answer, Operation, operations};
use crate::harness::{Asker, OLDEST, Stage, device};
use crate::readings::{charger, reading};

/// A client, and one thing of each kind that is its own.
struct Tenant {
    asker: Asker,
    ids: BTreeMap<&'static str, String>,
}

async fn tenant(stage: &Stage, app: &App, name: &str) -> Tenant {
    let asker = stage.client_in(app, name, ApiVersion::LATEST).await;
    let mut ids = BTreeMap::new();
    let kinds = [
        ("{vehicleId}", DeviceKind::Vehicle),
        ("{chargerId}", DeviceKind::Charger),
        ("{hvacId}", DeviceKind::Hvac),
        ("{inverterId}", DeviceKind::Inverter),
        ("{batteryId}", DeviceKind::Battery),
    ];
    let user = format!("user-of-{name}");
    for (parameter, kind) in kinds {
        let id = stage.link(&asker, &user, device(parameter, kind)).await;
        ids.insert(parameter, id.to_string());
    }
    stage.fjord.says("{chargerId}", Ok(reading(&charger())));
    let charger_id = ids["{chargerId}"].parse().unwrap();
    poll_now(app, charger_id).await;
    let limit = Command::MaxCurrent(amps(10.0));
    let action = order(app, charger_id, limit, Origin::Client).await.unwrap();
    ids.insert("{actionId}", action.id.to_string());
    let schedule = json!({
        "isEnabled": false, "defaultShouldCharge": true, "rules": [],
        "targetId": charger_id, "targetType": "charger", "locationId": null,
    });
    let made = asker.post(&format!("/users/{user}/schedules"), Some(&schedule)).await;
    ids.insert("{scheduleId}", made.body["id"].as_str().unwrap().to_owned());
    let home = stage.place(&asker, &user, None).await;
    let (policy, car) = (Uuid::new_v4(), ids["{vehicleId}"].parse().unwrap());
    let wish = FlexRequest {
        reserve_percent: 10.0,
        schedule: BTreeMap::new(),
        observed_limit_percent: 100.0,
    };
    keep_flex(app, &asker.id, policy, (car, home), wish).await.unwrap();
    ids.insert("{policyId}", policy.to_string());
    ids.insert("{assetId}", ids["{vehicleId}"].clone());
    ids.insert("{userId}", user);
    ids.insert("{vendor}", "FJORD".to_owned());
    Tenant { asker, ids }
}

/// Ends of paths of what a client makes under a name of its own choice.
const MAKING: [&str; 3] = ["/link", "/tariffs/{tariffId}", "/areas/{areaId}"];

fn filled(path: &str, ids: &BTreeMap<&'static str, String>) -> String {
    ids.iter().fold(path.to_owned(), |path, (parameter, id)| path.replace(parameter, id))
}

/// Identifiers that nobody has.
fn nobodys() -> BTreeMap<&'static str, String> {
    let parameters = [
        "{vehicleId}",
        "{chargerId}",
        "{hvacId}",
        "{inverterId}",
        "{batteryId}",
        "{assetId}",
        "{actionId}",
        "{scheduleId}",
    ];
    let mut ids: BTreeMap<_, _> =
        parameters.into_iter().map(|parameter| (parameter, Uuid::new_v4().to_string())).collect();
    ids.insert("{policyId}", Uuid::new_v4().to_string());
    ids.insert("{userId}", "user-of-nobody".to_owned());
    ids.insert("{vendor}", "FJORD".to_owned());
    ids
}

/// Everything that a client can see.
async fn seen(asker: &Asker) -> Vec<Value> {
    let mut all = Vec::new();
    for list in ["vehicles", "chargers", "hvacs", "inverters", "batteries", "users"] {
        all.push(asker.get(&format!("/{list}")).await.body["data"].clone());
    }
    let users: Vec<Value> = all.last().and_then(Value::as_array).cloned().unwrap_or_default();
    for user in users {
        let path = format!("/users/{}/schedules", user["id"].as_str().unwrap());
        all.push(asker.get(&path).await.body["data"].clone());
    }
    all
}

#[tokio::test]
async fn foreign_ids_are_as_unknown_as_no_ids() {
    let stage = Stage::new().await;
    let (sandbox, production) = (stage.app.clone(), stage.production());
    let vendors = sandbox.vendors().into_iter().map(|v| (v.profile().code.clone(), v));
    production.set_vendors(vendors.collect());
    let mut tenants = Vec::new();
    for app in [&sandbox, &production] {
        for name in ["a", "b", "c"] {
            let name = format!("{name}-{}", app.environment().as_str());
            tenants.push(tenant(&stage, app, &name).await);
        }
    }
    // Makers make what they name; that it is one's own is tested below.
    let mut operations = operations();
    operations.retain(|one| one.path.contains('{'));
    operations.retain(|one| !MAKING.iter().any(|path| one.path.ends_with(path)));
    let mut checked = 0;
    for (i, one) in tenants.iter().enumerate() {
        for (j, other) in tenants.iter().enumerate().filter(|(j, _)| i != *j) {
            let before = seen(&other.asker).await;
            for operation in &operations {
                let foreign = ask(&one.asker, operation, &other.ids).await;
                let unknown = ask(&one.asker, operation, &nobodys()).await;
                assert_eq!(foreign.status, 404, "{} {}", operation.method, operation.path);
                assert_eq!(foreign.body, unknown.body, "{} {}", operation.method, operation.path);
                checked += 1;
            }
            assert_eq!(seen(&other.asker).await, before, "{i} {j}");
        }
    }
    assert!(checked >= 30 * 15, "{checked}");
}

/// Asks for something by name; in the oldest version where it is the only one.
async fn ask(
    asker: &Asker,
    Operation { method, path, .. }: &Operation,
    ids: &BTreeMap<&'static str, String>,
) -> Answer {
    let is_change = [Method::PUT, Method::PATCH].contains(method);
    let body = is_change.then(|| json!({ "chargingLocationId": null }));
    let about = [(SERVICE_VERSION, OLDEST), (SERVICE_USER_ID, ids["{userId}"].as_str())];
    let headers = if path.starts_with("/me") { &about[..] } else { &[] };
    asker.ask(method.clone(), &filled(path, ids), body.as_ref(), headers).await
}

#[tokio::test]
async fn two_clients_may_have_users_of_one_name() {
    let stage = Stage::new().await;
    let (a, b) = (stage.client("a").await, stage.client("b").await);
    let mine = stage.link(&a, "u1", device("v", DeviceKind::Vehicle)).await;
    let theirs = stage.link(&b, "u1", device("v", DeviceKind::Vehicle)).await;
    assert_eq!(a.get("/users/u1/vehicles").await.ids(), [mine.to_string()]);
    assert_eq!(b.get("/users/u1/vehicles").await.ids(), [theirs.to_string()]);
    assert_eq!(a.delete("/users/u1").await.status, 204);
    assert_eq!(b.get("/users/u1/vehicles").await.ids(), [theirs.to_string()]);
}

#[tokio::test]
async fn a_location_of_another_client_is_as_unknown_as_none() {
    let stage = Stage::new().await;
    let (a, b) = (stage.client("a").await, stage.client("b").await);
    let foreign = stage.place(&b, "u", None).await;
    let charger = stage.link(&a, "u", device("c", DeviceKind::Charger)).await;
    let path = format!("/chargers/{charger}");
    let put = async |id: Uuid| a.put(&path, &json!({ "chargingLocationId": id })).await.body;
    assert_eq!(put(foreign).await, put(Uuid::new_v4()).await);
}

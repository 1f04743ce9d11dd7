//! Views of devices, and reads beside polls.
use axum::http::Method;
use chrono::TimeDelta;
use serde_json::{Value, json};
use slackwater_control::device::scope::{DeviceKind, Permission};
use slackwater_integration::profile::{Health, VendorCode};
use slackwater_integration::reading::{OtherEnd, Position};
use slackwater_service::jobs::poller::poll_now;
use slackwater_service::linking::connect::NewDevice;
use uuid::Uuid;

use crate::answer::Answer;
use crate::harness::{OLDEST, On, Stage, device, six};
use crate::readings::{battery, charger, hvac, inverter, reading, vehicle};

const HOME: Position = Position { latitude: 59.9117, longitude: 10.7500 };

fn without(kind: DeviceKind, name: &str, missing: Permission) -> NewDevice {
    let mut device = device(name, kind);
    device.scopes.remove(&missing);
    device
}

#[tokio::test]
async fn a_vehicle_is_shown_with_all_its_members() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let home = stage.place(&asker, "u", Some(HOME)).await;
    let id = stage.live(&asker, "u", reading(&vehicle())).await;
    let answer = asker.get(&format!("/vehicles/{id}")).await;
    let capable = json!({ "isCapable": true, "interventionIds": ["check"] });
    let mut ranged = capable.clone();
    ranged["allowedRange"] = json!({ "kW": { "min": 1.4, "max": 11.0 } });
    let expected = json!({
        "id": id, "userId": "u", "vendor": "FJORD",
        "lastSeen": "2026-01-05T17:55:00Z", "isReachable": true,
        "information": { "vin": "1FJ", "brand": "Fjord", "model": "Two", "year": 2024 },
        "chargeState": {
            "batteryLevel": 55.0, "isPluggedIn": true, "isCharging": true,
            "isFullyCharged": false, "batteryCapacity": 75.0, "chargeLimit": 80.0,
            "chargeRate": 7.4, "chargeTimeRemaining": 90.0,
            "lastUpdated": "2026-01-05T17:54:00Z", "maxCurrent": 16.0,
            "powerDeliveryState": "PLUGGED_IN:CHARGING", "pluggedInChargerId": null,
            "chargeRateLimit": 11.0,
        },
        "smartChargingPolicy": { "isEnabled": false, "deadline": null, "minimumChargeLimit": 0.0 },
        "odometer": { "distance": 12345.6, "lastUpdated": "2026-01-05T17:50:00Z" },
        "location": {
            "longitude": 10.75, "latitude": 59.911, "lastUpdated": "2026-01-05T17:50:00Z",
            "id": home,
        },
        "capabilities": {
            "information": capable, "chargeState": capable, "location": capable,
            "odometer": capable, "setMaxCurrent": capable, "startCharging": capable,
            "stopCharging": capable, "smartCharging": capable, "refreshState": capable,
            "setChargeRateLimit": ranged,
        },
        "scopes": ["vehicle:control:charging", "vehicle:read:data", "vehicle:read:location"],
    });
    assert_eq!((answer.status, &answer.body), (200, &expected));
}

#[tokio::test]
async fn the_list_shows_what_the_vehicle_does_for_the_token_alone() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&vehicle())).await;
    let one = asker.get(&format!("/vehicles/{id}")).await.body;
    let list = asker.get("/vehicles").await.body;
    assert_eq!(Answer::keys(&list), ["data", "pagination"]);
    assert_eq!(list["data"], json!([one]));
}

#[tokio::test]
async fn policy_odometer_and_scopes_of_a_vehicle() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&vehicle())).await;
    let shown = asker.get(&format!("/vehicles/{id}")).await.body;
    let policy = json!({ "isEnabled": false, "deadline": null, "minimumChargeLimit": 0.0 });
    assert_eq!(shown["smartChargingPolicy"], policy);
    let odometer = json!({ "distance": 12345.6, "lastUpdated": "2026-01-05T17:50:00Z" });
    assert_eq!(shown["odometer"], odometer);
    let scopes = ["vehicle:control:charging", "vehicle:read:data", "vehicle:read:location"];
    assert_eq!(shown["scopes"], json!(scopes));
}

#[tokio::test]
async fn what_a_capability_says() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let mut partly = vehicle();
    let can = &mut partly["capabilities"];
    can["stop_charging"]["is_capable"] = json!(false);
    can["set_charge_rate_limit"]["allowed_range"] = json!({ "min_kw": 1.4, "max_kw": null });
    let id = stage.live(&asker, "u", reading(&partly)).await;
    let shown = asker.get(&format!("/vehicles/{id}")).await.body["capabilities"].clone();
    for (name, capability) in shown.as_object().unwrap() {
        let is_ranged = name == "setChargeRateLimit";
        let ranged = ["allowedRange", "interventionIds", "isCapable"];
        let expected = if is_ranged { &ranged[..] } else { &ranged[1..] };
        assert_eq!(Answer::keys(capability), expected, "{name}");
        // What it can do may come with advice all the same.
        assert_eq!(capability["isCapable"], name != "stopCharging", "{name}");
        assert_eq!(capability["interventionIds"], json!(["check"]), "{name}");
    }
    let range = &shown["setChargeRateLimit"]["allowedRange"];
    assert_eq!(range, &json!({ "kW": { "min": 1.4, "max": null } }));
}

#[tokio::test]
async fn an_unpaired_vehicle_shows_its_own_advice_only() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let mut warned = charger();
    warned["capabilities"]["start_charging"]["intervention_ids"] = json!(["unlock"]);
    stage.live(&asker, "u", reading(&warned)).await;
    let id = stage.live(&asker, "u", reading(&vehicle())).await;
    let shown = asker.get(&format!("/vehicles/{id}")).await.body["capabilities"].clone();
    assert_eq!(shown["startCharging"]["interventionIds"], json!(["check"]));
}

#[tokio::test]
async fn a_charger_is_shown_with_all_its_members() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&charger())).await;
    let answer = asker.get(&format!("/chargers/{id}")).await;
    assert_eq!(answer.status, 200);
    let shown = &answer.body;
    assert_eq!(
        shown["chargeState"],
        json!({
            "isPluggedIn": true, "isCharging": false, "chargeRate": null,
            "lastUpdated": "2026-01-05T17:57:00Z", "maxCurrent": 16.0,
            "powerDeliveryState": "PLUGGED_IN:STOPPED", "pluggedInVehicleId": null,
            "chargeRateLimit": 11.0,
        })
    );
    assert_eq!(
        shown["information"],
        json!({
            "brand": "Heath", "model": "Wall", "displayName": "Garage", "year": 2023,
            "serialNumber": "u-charger", "imageUrl": "https://cdn.example.org/wall.png",
        })
    );
    let abilities = [
        "chargeState",
        "information",
        "setChargeRateLimit",
        "setMaxCurrent",
        "startCharging",
        "stopCharging",
    ];
    assert_eq!(Answer::keys(&shown["capabilities"]), abilities);
    assert!(shown["capabilities"]["startCharging"].get("allowedRange").is_none());
    assert_eq!(shown["location"], json!({ "id": null, "lastUpdated": null }));
    assert_eq!(shown["scopes"], json!(["charger:control:charging", "charger:read:data"]));
    let keys = [
        "capabilities",
        "chargeState",
        "id",
        "information",
        "isReachable",
        "lastSeen",
        "location",
        "scopes",
        "userId",
        "vendor",
    ];
    assert_eq!(Answer::keys(shown), keys);
}

#[tokio::test]
async fn a_heating_unit_is_shown_with_all_its_members() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    stage.live(&asker, "u", reading(&hvac())).await;
    let shown = asker.get("/hvacs").await.body["data"][0].clone();
    assert_eq!(shown["consumptionRate"], 0.0);
    assert_eq!(shown["information"]["category"], "HEAT_PUMP");
    let thermostat = json!({
        "mode": "HEAT", "heatSetpoint": 21.0, "coolSetpoint": null, "holdType": "PERMANENT",
        "lastUpdated": "2026-01-05T17:57:00Z",
    });
    assert_eq!(shown["thermostatState"], thermostat);
    for copy in ["mode", "heatSetpoint", "coolSetpoint", "holdType"] {
        assert_eq!(shown[copy], thermostat[copy], "{copy}");
    }
    for copy in ["isActive", "currentTemperature"] {
        assert_eq!(shown[copy], shown["temperatureState"][copy], "{copy}");
    }
    let can = &shown["capabilities"];
    assert_eq!(can["capableModes"], json!(["OFF", "HEAT"]));
    assert_eq!(can["heatSetpointRange"], json!({ "min": 5.0, "max": 30.0 }));
    assert_eq!(can["coolSetpointRange"], Value::Null);
    assert_eq!(can["capableHoldTypes"], json!(["PERMANENT", "SCHEDULED"]));
    assert_eq!(shown["locationId"], Value::Null);
    assert_eq!(shown["scopes"], json!(["hvac:control:mode", "hvac:read:data"]));
}

#[tokio::test]
async fn an_inverter_is_shown_with_all_its_members() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&inverter())).await;
    let shown = asker.get(&format!("/inverters/{id}")).await.body;
    let production = json!({
        "productionRate": 4.2, "isProducing": true, "lastUpdated": "2026-01-05T17:59:00Z",
    });
    assert_eq!(shown["productionState"], production);
    let information = json!({
        "id": "u-inverter", "brand": "Heath", "model": "Roof", "siteName": "Barn",
        "installationDate": "2021-06-30",
    });
    assert_eq!(shown["information"], information);
    assert_eq!(shown["location"], json!({ "longitude": 10.75, "latitude": 59.9117 }));
    // AMB-89: in every version.
    let scopes =
        json!(["inverter:control:power_limit", "inverter:read:data", "inverter:read:location"]);
    let granted: std::collections::BTreeSet<&str> =
        shown["scopes"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert!(scopes.as_array().unwrap().iter().all(|word| granted.contains(word.as_str().unwrap())));
    let oldest = asker.get_about("u", &format!("/inverters/{id}")).await.body;
    assert_eq!(oldest["scopes"], shown["scopes"]);
    let keys = [
        "id",
        "information",
        "isReachable",
        "lastSeen",
        "location",
        "productionState",
        "scopes",
        "vendor",
    ];
    assert_eq!(Answer::keys(&oldest), keys);
}

#[tokio::test]
async fn a_place_is_not_shown_without_its_scope() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    stage.place(&asker, "u", Some(HOME)).await;
    let nowhere = json!({ "longitude": null, "latitude": null });
    stage.fjord.says("i", Ok(reading(&inverter())));
    stage.fjord.says("v", Ok(reading(&vehicle())));
    for (name, kind) in [("i", DeviceKind::Inverter), ("v", DeviceKind::Vehicle)] {
        let device = without(kind, name, Permission::ReadLocation);
        let id = stage.link(&asker, "u", device).await;
        poll_now(&stage.app, id).await;
        let shown = asker.get(&format!("/{}s/{id}", kind.as_str())).await.body["location"].clone();
        for (key, value) in shown.as_object().unwrap() {
            assert!(value.is_null(), "{key}");
        }
        assert!(nowhere.as_object().unwrap().keys().all(|key| shown.get(key).is_some()));
    }
}

#[tokio::test]
async fn batteries_show_printed_members_only() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&battery())).await;
    let scopes = ["battery:control:operation_mode", "battery:read:location", "battery:read:data"];
    let expected = json!({ "id": id, "userId": "u", "vendor": "FJORD", "scopes": scopes });
    assert_eq!(asker.get("/batteries").await.body["data"], json!([expected]));
}

#[tokio::test]
async fn without_control_no_ability_to_control() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    stage.fjord.says("v", Ok(reading(&vehicle())));
    let device = without(DeviceKind::Vehicle, "v", Permission::ControlCharging);
    let id = stage.link(&asker, "u", device).await;
    poll_now(&stage.app, id).await;
    let can = asker.get(&format!("/vehicles/{id}")).await.body["capabilities"].clone();
    for (name, capability) in can.as_object().unwrap() {
        let controls = ["set", "start", "stop", "smart"].iter().any(|word| name.starts_with(word));
        assert_eq!(capability["isCapable"], !controls, "{name}");
        let advice = capability["interventionIds"].as_array().unwrap();
        assert_eq!(advice.is_empty(), controls, "{name}");
    }
}

#[tokio::test]
async fn a_vehicle_that_was_never_reached() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.link(&asker, "u", device("v", DeviceKind::Vehicle)).await;
    let shown = asker.get(&format!("/vehicles/{id}")).await.body;
    assert_eq!((&shown["lastSeen"], &shown["isReachable"]), (&json!(six()), &Value::Null));
    for (key, value) in shown["chargeState"].as_object().unwrap() {
        let expected = if key == "powerDeliveryState" { json!("UNKNOWN") } else { Value::Null };
        assert_eq!(value, &expected, "{key}");
    }
    assert_eq!(shown["chargeState"].as_object().unwrap().len(), 13);
    let charger = stage.link(&asker, "u", device("c", DeviceKind::Charger)).await;
    let shown = asker.get(&format!("/chargers/{charger}")).await.body;
    assert_eq!(shown["isReachable"], false);
    assert_eq!(shown["information"]["serialNumber"], "c");
    for member in ["brand", "model", "displayName", "year", "imageUrl"] {
        assert_eq!(shown["information"][member], Value::Null, "{member}");
    }
    stage.link(&asker, "u", device("h", DeviceKind::Hvac)).await;
    let shown = asker.get("/hvacs").await.body["data"][0].clone();
    for member in ["brand", "model", "displayName", "groupName", "category"] {
        assert_eq!(shown["information"][member], Value::Null, "{member}");
    }
    for active in [&shown["isActive"], &shown["temperatureState"]["isActive"]] {
        assert_eq!(active, &Value::Null);
    }
    let inverter = stage.link(&asker, "u", device("i", DeviceKind::Inverter)).await;
    let shown = asker.get(&format!("/inverters/{inverter}")).await.body;
    for (name, value) in shown["productionState"].as_object().unwrap() {
        assert_eq!(value, &Value::Null, "{name}");
    }
}

#[tokio::test]
async fn after_seven_days_the_state_is_unknown() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&vehicle())).await;
    // The reading is six minutes old.
    stage.app.clock().step(TimeDelta::days(7) - TimeDelta::minutes(6)).unwrap();
    let asker = stage.client("b").await;
    let other = stage.live(&asker, "u", reading(&vehicle())).await;
    let charging = || async {
        let shown = asker.get(&format!("/vehicles/{other}")).await.body["chargeState"].clone();
        (shown["powerDeliveryState"].clone(), shown["isFullyCharged"].clone())
    };
    assert_eq!(charging().await, (json!("PLUGGED_IN:CHARGING"), json!(false)));
    stage.app.clock().step(TimeDelta::seconds(1)).unwrap();
    assert_eq!(charging().await, (json!("UNKNOWN"), Value::Null));
    assert_ne!(id, other);
}

#[tokio::test]
async fn a_pair_sees_each_other() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let mut at_charger = reading(&vehicle());
    if let slackwater_integration::reading::Facts::Vehicle(facts) = &mut at_charger.facts {
        let vendor = VendorCode::parse("FJORD").unwrap();
        facts.plugged_into = Some(OtherEnd { vendor, device: "u-charger".to_owned() });
    }
    let mut warned = charger();
    warned["capabilities"]["start_charging"]["intervention_ids"] = json!(["unlock", "check"]);
    let charger = stage.live(&asker, "u", reading(&warned)).await;
    let vehicle = stage.live(&asker, "u", at_charger.clone()).await;
    let shown = asker.get(&format!("/vehicles/{vehicle}")).await.body;
    assert_eq!(shown["chargeState"]["pluggedInChargerId"], json!(charger));
    let advice = &shown["capabilities"]["startCharging"]["interventionIds"];
    assert_eq!(advice, &json!(["check", "unlock"]));
    let shown = asker.get(&format!("/chargers/{charger}")).await.body;
    assert_eq!(shown["chargeState"]["pluggedInVehicleId"], json!(vehicle));

    let strangers = stage.live(&asker, "other", at_charger).await;
    let shown = asker.get(&format!("/vehicles/{strangers}")).await.body;
    assert_eq!(shown["chargeState"]["pluggedInChargerId"], Value::Null);
}

/// As chargers by OCPP name the vehicle of a token.
#[tokio::test]
async fn a_charger_that_names_a_vehicle_of_its_user_is_paired_with_it() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let vehicle = stage.live(&asker, "u", reading(&vehicle())).await;
    let mut at_vehicle = reading(&charger());
    if let slackwater_integration::reading::Facts::Charger(facts) = &mut at_vehicle.facts {
        let vendor = VendorCode::parse("FJORD").unwrap();
        facts.plugged_into = Some(OtherEnd { vendor, device: "u-vehicle".to_owned() });
    }
    let charger = stage.live(&asker, "u", at_vehicle.clone()).await;
    let shown = asker.get(&format!("/chargers/{charger}")).await.body;
    assert_eq!(shown["chargeState"]["pluggedInVehicleId"], json!(vehicle));
    let shown = asker.get(&format!("/vehicles/{vehicle}")).await.body;
    assert_eq!(shown["chargeState"]["pluggedInChargerId"], json!(charger));
    // That of somebody else with the same card is not.
    let strangers = stage.live(&asker, "other", at_vehicle).await;
    let shown = asker.get(&format!("/chargers/{strangers}")).await.body;
    assert_eq!(shown["chargeState"]["pluggedInVehicleId"], Value::Null);
}

#[tokio::test]
async fn a_charger_is_put_somewhere() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let asker = stage.client("a").await;
        let home = stage.place(&asker, "u", None).await;
        let away = stage.place(&asker, "other", None).await;
        let id = stage.live(&asker, "u", reading(&charger())).await;
        let path = format!("/chargers/{id}");
        let put = asker.put(&path, &json!({ "chargingLocationId": home })).await;
        assert_eq!((put.status, &put.body["location"]["id"]), (200, &json!(home)));
        assert_eq!(put.body["location"]["lastUpdated"], json!(six()));
        let stage = stage.restarted().await;
        let refusals = [
            json!({}),
            json!({ "chargingLocationId": 1 }),
            json!({ "chargingLocationId": "home" }),
            json!({ "chargingLocationId": away }),
            json!({ "chargingLocationId": Uuid::new_v4() }),
        ];
        let asker = stage.again(&asker);
        assert_eq!(asker.get(&path).await.body["location"]["id"], json!(home));
        for refused in refusals {
            let answer = asker.put(&path, &refused).await;
            assert_eq!((answer.status, answer.title()), (400, "Bad request"), "{refused}");
            let issue = answer.body["issues"][0].as_str().unwrap();
            assert!(issue.starts_with("/chargingLocationId: "), "{issue}");
        }
        let put = asker.put(&path, &json!({ "chargingLocationId": null })).await;
        assert_eq!((put.status, &put.body["location"]["id"]), (200, &Value::Null));
        assert_eq!(asker.get(&path).await.body, put.body);
    }
}

#[tokio::test]
async fn the_health_of_manufacturers_of_chargers() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    stage.heath.does(Health::Outage, Health::ElevatedErrorRate);
    let body = |vendor, status, linking| {
        json!({
            "vendor": vendor, "displayName": format!("{vendor} Cars"), "status": status,
            "portalName": format!("My {vendor}"), "linkingStatus": linking,
        })
    };
    let expected =
        [body("FJORD", "READY", "READY"), body("HEATH", "OUTAGE", "ELEVATED_ERROR_RATE")];
    assert_eq!(asker.get("/health/chargers").await.body, json!(expected));
    assert_eq!(asker.get_in(OLDEST, "/health/chargers").await.status, 200);
}

#[tokio::test]
async fn what_is_withheld_is_not_made_up() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&charger())).await;
    for path in [
        format!("/chargers/{id}/charging"),
        format!("/vehicles/{id}/charging"),
        format!("/vehicles/{id}/smart-charging-policy"),
        format!("/hvacs/{id}/permanent-hold"),
        format!("/hvacs/{id}"),
        format!("/batteries/{id}"),
        format!("/batteries/{id}/operation-mode"),
        "/locations".to_owned(),
        "/charging-locations".to_owned(),
        "/meters".to_owned(),
        format!("/meters/{id}"),
        format!("/meters/{id}/refresh-hint"),
        "/hems".to_owned(),
        format!("/hems/{id}/refresh-hint"),
        "/webhooks".to_owned(),
    ] {
        for method in [Method::GET, Method::POST] {
            let answer = asker.ask(method, &path, None, &[]).await;
            assert_eq!((answer.status, answer.title()), (404, "Not Found"), "{path}");
        }
    }
}

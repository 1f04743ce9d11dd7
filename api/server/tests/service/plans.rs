//! Policies, plans, and plans that follow prices.
use std::sync::Arc;

use axum::body::to_bytes;
use axum::http::Method;
use chrono::TimeDelta;
use serde_json::{Value, json};
use slackwater_control::device::command::Switch;
use slackwater_control::policy::ask::Cause;
use slackwater_control::policy::flex::{DayRequest, FlexRequest};
use slackwater_control::policy::vehicle::VehiclePolicyRequest;
use slackwater_engine::units::{Money, Percent, money};
use slackwater_integration::error::VendorError;
use slackwater_integration::reading::{Facts, Reading};
use slackwater_server::admin;
use slackwater_service::jobs::poller::poll_now;
use slackwater_service::plans::patching::{keep_flex, set_vehicle};
use slackwater_service::plans::planner::plan_now;
use slackwater_service::plans::wanted;
use slackwater_service::state::App;
use slackwater_store::clients;
use uuid::Uuid;

use tower::ServiceExt;

use crate::answer::{Answer, request};
use crate::harness::{Asker, On, Stage, six};
use crate::priced::{Book, at, charger_at, place, place_in, stage_with};
use crate::readings::{charger, reading, vehicle};

/// Client with a token that has not expired.
async fn fresh(stage: &Stage, mut asker: Asker) -> Asker {
    let row = clients::get_client(stage.app.store(), &asker.id).await.unwrap().unwrap();
    let app = &stage.app;
    asker.token = app
        .tokens()
        .issue(app.store(), &Arc::new(row.client), app.clock().machine().moment())
        .await
        .unwrap();
    asker
}

pub(crate) fn starts(status: &Answer) -> Vec<&str> {
    let intervals = status.body["chargingIntervals"].as_array().unwrap();
    intervals.iter().map(|interval| interval["startTime"].as_str().unwrap()).collect()
}

pub(crate) const CENTS: [i32; 8] = [30, 20, 10, 40, 5, 30, 30, 30];

#[tokio::test]
async fn the_policy_of_a_charger() {
    for on in [On::Sqlite, On::Postgres] {
        let (stage, _, asker) = stage_with(on, &[]).await;
        let id = stage.live(&asker, "u", reading(&charger())).await;
        let path = format!("/chargers/{id}/smart-charging-policy");
        let off = json!({ "isEnabled": false, "deadline": null, "chargingDuration": null });
        let before = asker.get(&path).await;
        assert_eq!((before.status, &before.body), (200, &off));
        let times = json!({ "deadline": "07:00", "chargingDuration": "02:30" });
        assert_eq!(asker.put(&path, &times).await.status, 200);
        let put = asker.put(&path, &json!({ "isEnabled": true })).await;
        let on = json!({ "isEnabled": true, "deadline": "07:00", "chargingDuration": "02:30" });
        assert_eq!((put.status, &put.body), (200, &on));
        for (member, wrong) in [
            ("deadline", json!("25:00")),
            ("deadline", json!(7)),
            ("chargingDuration", json!("2:30")),
            ("isEnabled", json!("yes")),
        ] {
            let refused = asker.put(&path, &json!({ member: wrong })).await;
            assert_eq!((refused.status, refused.title()), (400, "Bad request"));
            let issue = refused.body["issues"][0].as_str().unwrap();
            assert!(issue.starts_with(&format!("/{member}: ")), "{issue}");
        }
        let stage = stage.restarted().await;
        let asker = stage.again(&asker);
        assert_eq!(asker.get(&path).await.body, on);
        let unset = asker.put(&path, &json!({ "deadline": null })).await;
        assert_eq!(unset.body["deadline"], Value::Null);
        assert_eq!(unset.body["chargingDuration"], "02:30");
    }
}

#[tokio::test]
async fn the_status_shows_what_a_policy_plans() {
    let (stage, book, asker) = stage_with(On::Sqlite, &[]).await;
    let home = place(&stage, &asker, "u", "north").await;
    let id = charger_at(&stage, &asker, "u", home).await;
    let path = format!("/chargers/{id}/smart-charging-status");
    let status = asker.get(&path).await;
    let keys = ["chargerId", "chargingIntervals", "state", "userId"];
    assert_eq!((status.status, Answer::keys(&status.body)), (200, keys.to_vec()));
    assert_eq!(status.body["state"], "DISABLED");
    // SCP-12: no prices until the deadline, no intervals.
    let policy = json!({ "isEnabled": true, "deadline": "23:00", "chargingDuration": "02:00" });
    let put = asker.put(&format!("/chargers/{id}/smart-charging-policy"), &policy).await;
    assert_eq!(put.status, 200);
    let status = asker.get(&path).await;
    assert_eq!(status.body["state"], "AWAITING_PRICES");
    assert_eq!(status.body["chargingIntervals"], json!([]));
    let device = stage.app.cache().read(|t| t.any_device(id).cloned()).unwrap();
    assert_eq!(wanted(&stage.app, &device, six()).switch, None);
    // SCP-11: the cheapest hours before the deadline.
    book.set("north", &CENTS);
    plan_now(&stage.app, &[(id, Cause::Prices)]).await.unwrap();
    let status = asker.get(&path).await;
    assert_eq!(status.body["state"], "CHARGING_PAUSED");
    assert_eq!(starts(&status), ["2026-01-05T20:00:00Z", "2026-01-05T22:00:00Z"]);
    let now = wanted(&stage.app, &device, six());
    assert_eq!((now.switch, now.until), (Some(Switch::Stop), Some(at(2))));
    // SCP-13: a cheaper hour appears.
    book.set("north", &[30, 1, 10, 40, 5, 30]);
    plan_now(&stage.app, &[(id, Cause::Prices)]).await.unwrap();
    assert_eq!(starts(&asker.get(&path).await), ["2026-01-05T19:00:00Z", "2026-01-05T22:00:00Z"]);
    // SCP-10: the interval that holds the present.
    stage.app.clock().step(TimeDelta::minutes(70)).unwrap();
    let asker = fresh(&stage, asker).await;
    let status = asker.get(&path).await;
    assert_eq!(status.body["chargingIntervals"][0]["status"], "IN_PROGRESS");
    assert_eq!(status.body["chargingIntervals"][1].get("status"), None);
    let now = wanted(&stage.app, &device, stage.app.now());
    assert_eq!((now.switch, now.until), (Some(Switch::Start), Some(at(2))));
}

/// NS-07: what is planned has no printed word; operators may give it one.
#[tokio::test]
async fn a_planned_interval_has_the_word_of_the_settings() {
    let stage = Stage::with(On::Sqlite, |config| {
        config.names.charging_interval_planned = Some("PLANNED".to_owned());
    })
    .await;
    let book = Arc::new(Book::default());
    book.set("north", &CENTS);
    stage.app.set_price_book(Arc::clone(&book) as _);
    let asker = stage.client("a").await;
    let home = place(&stage, &asker, "u", "north").await;
    let id = charger_at(&stage, &asker, "u", home).await;
    let policy = json!({ "isEnabled": true, "deadline": "23:00", "chargingDuration": "02:00" });
    asker.put(&format!("/chargers/{id}/smart-charging-policy"), &policy).await;
    let status = asker.get(&format!("/chargers/{id}/smart-charging-status")).await.body;
    let intervals = status["chargingIntervals"].as_array().unwrap();
    assert_eq!(intervals.len(), 2);
    assert!(intervals.iter().all(|interval| interval["status"] == "PLANNED"), "{status}");
}

/// A charger that is said to stand somewhere, or somewhere else, is planned for
/// with the prices and the clock of that place.
#[tokio::test]
async fn a_plan_follows_a_charger_to_another_place() {
    for on in [On::Sqlite, On::Postgres] {
        let (stage, book, asker) = stage_with(on, &CENTS).await;
        book.set("south", &[1, 30, 20, 10, 2, 30, 30, 30]);
        let id = stage.live(&asker, "u", reading(&charger())).await;
        let policy = json!({ "isEnabled": true, "deadline": "23:00", "chargingDuration": "01:00" });
        let path = format!("/chargers/{id}/smart-charging-policy");
        assert_eq!(asker.put(&path, &policy).await.status, 200);
        let path = format!("/chargers/{id}/smart-charging-status");
        assert_eq!(asker.get(&path).await.body["state"], "AWAITING_PRICES");
        let stands_at = async |place: Value| {
            let put = json!({ "chargingLocationId": place });
            assert_eq!(asker.put(&format!("/chargers/{id}"), &put).await.status, 200);
            asker.get(&path).await
        };
        let home = place(&stage, &asker, "u", "north").await;
        let status = stands_at(json!(home)).await;
        assert_eq!(status.body["state"], "CHARGING_PAUSED");
        assert_eq!(starts(&status), ["2026-01-05T22:00:00Z"]);
        // 23:00 in Oslo is an hour earlier, and the same hours have other prices.
        let oslo = Some(chrono_tz::Europe::Oslo);
        let north = place_in(&stage, &asker, "u", ("north", oslo)).await;
        assert_eq!(starts(&stands_at(json!(north)).await), ["2026-01-05T20:00:00Z"]);
        let south = place_in(&stage, &asker, "u", ("south", oslo)).await;
        assert_eq!(starts(&stands_at(json!(south)).await), ["2026-01-05T18:00:00Z"]);
        assert_eq!(stands_at(Value::Null).await.body["state"], "AWAITING_PRICES");
    }
}

/// The reading of a vehicle at home, so full.
pub(crate) fn car(soc: f64, is_plugged_in: bool, limit: f64) -> Reading {
    let mut car = reading(&vehicle());
    if let Facts::Vehicle(facts) = &mut car.facts {
        facts.soc = Percent::from_percent(soc).ok();
        facts.charge_limit = Percent::from_percent(limit).ok();
        facts.charging.is_plugged_in = Some(is_plugged_in);
        facts.charging.is_charging = Some(false);
    }
    car
}

pub(crate) fn week(reserve: f64, target: f64) -> FlexRequest {
    let day = DayRequest { deadline: Some("23:00".into()), target_percent: Some(target) };
    FlexRequest {
        reserve_percent: reserve,
        schedule: [("monday".to_owned(), day)].into(),
        observed_limit_percent: 100.0,
    }
}

/// A vehicle at home with a flex policy.
pub(crate) async fn flexible(stage: &Stage, asker: &Asker, reserve: f64) -> (Uuid, Uuid) {
    let home = place(stage, asker, "u", "north").await;
    let car_id = stage.live(asker, "u", car(50.0, true, 80.0)).await;
    let policy = Uuid::new_v4();
    let places = (car_id, home);
    keep_flex(&stage.app, &asker.id, policy, places, week(reserve, 60.0)).await.unwrap();
    (car_id, policy)
}

#[tokio::test]
async fn a_flex_policy_is_read_and_patched() {
    for on in [On::Sqlite, On::Postgres] {
        let (stage, _, asker) = stage_with(on, &CENTS).await;
        let (car_id, id) = flexible(&stage, &asker, 10.0).await;
        let path = format!("/flex/vehicle-policies/{id}");
        let shown = asker.get(&path).await;
        let keys = [
            "batteryReserve",
            "id",
            "lastObservedLocationChargeLimit",
            "locationId",
            "schedule",
            "vehicleId",
        ];
        assert_eq!((shown.status, Answer::keys(&shown.body)), (200, keys.to_vec()));
        assert_eq!(shown.body["vehicleId"], json!(car_id));
        // Seen at the place when it was planned for.
        assert_eq!(shown.body["lastObservedLocationChargeLimit"], 80.0);
        let change = json!({
            "batteryReserve": 15,
            "schedule": { "friday": { "deadline": "06:30", "minimumChargeTarget": 75 } },
        });
        let kept = asker.ask(Method::PATCH, &path, Some(&change), &[]).await;
        assert_eq!((kept.status, &kept.body["batteryReserve"]), (200, &json!(15.0)));
        assert_eq!(Answer::keys(&kept.body["schedule"]), ["friday", "monday"]);
        let events = stage.events().await;
        let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Flex Policy Updated", "Flex Policy Status"]);
        assert_eq!(events[0].1, kept.body);
        // FLX-39: nothing but what is printed.
        assert_eq!(
            events[1].1,
            json!({ "settings": { "regularSchedule": kept.body["schedule"] } })
        );
        let stage = stage.restarted().await;
        let asker = stage.again(&asker);
        assert_eq!(asker.get(&path).await.body, kept.body);
        for unknown in ["abc".to_owned(), Uuid::new_v4().to_string()] {
            let path = format!("/flex/vehicle-policies/{unknown}");
            let answer = asker.get(&path).await;
            assert_eq!((answer.status, answer.title()), (404, "Entity Not Found"));
            assert_eq!(answer.body["detail"], "Policy not found");
        }
        let stranger = stage.client("b").await;
        assert_eq!(stranger.get(&path).await.status, 404);
        // FLX-37: nobody makes one here.
        let made = asker.post("/flex/vehicle-policies", Some(&change)).await;
        assert_eq!((made.status, made.title()), (404, "Not Found"));
    }
}

#[tokio::test]
async fn refused_changes_name_the_member_and_change_nothing() {
    let (stage, _, asker) = stage_with(On::Sqlite, &CENTS).await;
    let (_, id) = flexible(&stage, &asker, 10.0).await;
    let path = format!("/flex/vehicle-policies/{id}");
    let before = asker.get(&path).await.body;
    let day = |deadline: Value, target: Value| json!({ "schedule": { "sunday": { "deadline": deadline, "minimumChargeTarget": target } } });
    let refusals = [
        (json!({ "batteryReserve": 21 }), "/batteryReserve: "),
        (json!({ "batteryReserve": "much" }), "/batteryReserve: expected a number"),
        (json!({ "schedule": { "Monday": {} } }), "/schedule/Monday: "),
        (
            json!({ "schedule": { "sunday": { "deadline": "07:00" } } }),
            "/schedule/sunday/minimumChargeTarget: ",
        ),
        (day(json!("7"), json!(50)), "/schedule/sunday/deadline: "),
        (day(json!("07:00"), json!(5)), "/schedule/sunday/minimumChargeTarget: is 5 %, below"),
        (day(json!("07:00"), json!(90)), "/schedule/sunday/minimumChargeTarget: is 90 %, above"),
        (json!({ "schedule": [] }), "/schedule: expected an object"),
    ];
    for (change, expected) in refusals {
        let refused = asker.ask(Method::PATCH, &path, Some(&change), &[]).await;
        assert_eq!((refused.status, refused.title()), (400, "Bad request"), "{change}");
        let issue = refused.body["issues"][0].as_str().unwrap();
        assert!(issue.starts_with(expected), "{issue}");
    }
    assert_eq!(asker.get(&path).await.body, before);
    assert_eq!(stage.events().await, []);
}

#[tokio::test]
async fn a_policy_is_changed_after_the_charge_limit_fell() {
    for on in [On::Sqlite, On::Postgres] {
        let (stage, _, asker) = stage_with(on, &CENTS).await;
        let (car_id, id) = flexible(&stage, &asker, 10.0).await;
        let path = format!("/flex/vehicle-policies/{id}");
        let ask = async |change: Value| asker.ask(Method::PATCH, &path, Some(&change), &[]).await;
        // Monday asks for 60 %; the vehicle is set to 50 % since.
        stage.fjord.says("u-vehicle", Ok(car(40.0, true, 50.0)));
        poll_now(&stage.app, car_id).await;
        settle(&stage.app).await;
        assert_eq!(asker.get(&path).await.body["lastObservedLocationChargeLimit"], 50.0);
        let kept = ask(json!({ "batteryReserve": 15 })).await;
        assert_eq!((kept.status, &kept.body["batteryReserve"]), (200, &json!(15.0)));
        let day = |target: i32| json!({ "deadline": "06:30", "minimumChargeTarget": target });
        let kept = ask(json!({ "schedule": { "friday": day(45) } })).await;
        assert_eq!(kept.status, 200);
        assert_eq!(kept.body["schedule"]["monday"]["minimumChargeTarget"], 60.0);
        // A day that is named is held against the limit, also if it says what is kept.
        for change in [
            json!({ "schedule": { "monday": { "deadline": "23:00", "minimumChargeTarget": 60 } } }),
            json!({ "schedule": { "friday": day(51) } }),
        ] {
            let refused = ask(change).await;
            assert_eq!(refused.status, 400);
            let issues = refused.body["issues"].as_array().unwrap();
            assert_eq!(issues.len(), 1, "{issues:?}");
            let issue = issues[0].as_str().unwrap();
            assert!(issue.contains("above the charge limit of 50 %"), "{issue}");
        }
        // The reserve is held against all days.
        let low = ask(json!({ "schedule": { "friday": day(16) } })).await;
        assert_eq!(low.status, 200);
        let refused = ask(json!({ "batteryReserve": 17 })).await;
        assert_eq!(refused.status, 400);
        let issue = refused.body["issues"][0].as_str().unwrap();
        assert!(issue.starts_with("/schedule/friday/minimumChargeTarget: "), "{issue}");
    }
}

#[tokio::test]
async fn concurrent_changes_of_different_days_lose_nothing() {
    for on in [On::Sqlite, On::Postgres] {
        let (stage, _, asker) = stage_with(on, &CENTS).await;
        let (_, id) = flexible(&stage, &asker, 10.0).await;
        let path = format!("/flex/vehicle-policies/{id}");
        let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
        let mut asks = tokio::task::JoinSet::new();
        for (index, day) in days.into_iter().enumerate() {
            let (asker, path) = (asker.clone(), path.clone());
            let wish = json!({ "deadline": "06:00", "minimumChargeTarget": 50 + index });
            asks.spawn(async move {
                let change = json!({ "schedule": { day: wish } });
                asker.ask(Method::PATCH, &path, Some(&change), &[]).await.status
            });
        }
        assert_eq!(asks.join_all().await, [200; 7]);
        let shown = asker.get(&path).await.body;
        for (index, day) in days.into_iter().enumerate() {
            assert_eq!(shown["schedule"][day]["minimumChargeTarget"], json!(50.0 + index as f64));
        }
        assert_eq!(stage.events().await.len(), 14);
    }
}

#[tokio::test]
async fn what_a_vehicle_does_is_told_with_the_printed_names() {
    let (stage, _, asker) = stage_with(On::Sqlite, &CENTS).await;
    let (car_id, id) = flexible(&stage, &asker, 20.0).await;
    let path = format!("/flex/vehicle-policies/{id}");
    let told = async || {
        let change = json!({ "batteryReserve": 20 });
        assert_eq!(asker.ask(Method::PATCH, &path, Some(&change), &[]).await.status, 200);
        stage.events().await.last().unwrap().1.get("state").cloned()
    };
    assert_eq!(told().await, None);
    let device = || stage.app.cache().read(|t| t.any_device(car_id).cloned()).unwrap();
    // Low: charged at once, although cheaper hours come.
    stage.fjord.says("u-vehicle", Ok(car(10.0, true, 80.0)));
    poll_now(&stage.app, car_id).await;
    assert_eq!(told().await, Some(json!("SCHEDULE:BATTERY_RESERVE")));
    assert_eq!(wanted(&stage.app, &device(), six()).switch, Some(Switch::Start));
    let mut away = car(10.0, true, 80.0);
    if let Facts::Vehicle(facts) = &mut away.facts {
        facts.sighting = None;
    }
    stage.fjord.says("u-vehicle", Ok(away));
    poll_now(&stage.app, car_id).await;
    assert_eq!(told().await, Some(json!("UNAVAILABLE")));
    assert_eq!(wanted(&stage.app, &device(), six()).switch, None);
}

/// A vehicle at its charge limit by eleven in the evening.
pub(crate) fn by_eleven() -> VehiclePolicyRequest {
    VehiclePolicyRequest {
        is_enabled: true,
        deadline: Some("23:00".to_owned().try_into().unwrap()),
        minimum_charge_limit_percent: 0.0,
    }
}

/// Plans for all that is due now.
pub(crate) async fn settle(app: &App) {
    while let Ok(due) = app.planner().take(app.now(), 99) {
        plan_now(app, &due).await.unwrap();
        app.planner().done(due.len());
    }
}

#[tokio::test]
async fn a_plug_a_deadline_and_a_missed_target_make_new_plans() {
    let (stage, _, asker) = stage_with(On::Sqlite, &CENTS).await;
    place(&stage, &asker, "u", "north").await;
    let id = stage.live(&asker, "u", car(50.0, false, 80.0)).await;
    let device = || stage.app.cache().read(|t| t.any_device(id).cloned()).unwrap();
    set_vehicle(&stage.app, &device(), by_eleven()).await.unwrap();
    let shown = asker.get(&format!("/vehicles/{id}")).await.body["smartChargingPolicy"].clone();
    assert_eq!(shown, json!({ "isEnabled": true, "deadline": "23:00", "minimumChargeLimit": 0.0 }));
    let now = async || {
        settle(&stage.app).await;
        wanted(&stage.app, &device(), stage.app.now()).switch
    };
    assert_eq!(now().await, None);
    // Plugged in: 22.5 kWh at 11 kW, in the cheapest hours before eleven.
    stage.fjord.says("u-vehicle", Ok(car(50.0, true, 80.0)));
    poll_now(&stage.app, id).await;
    assert_eq!(now().await, Some(Switch::Stop));
    stage.app.clock().step(TimeDelta::minutes(130)).unwrap();
    assert_eq!(now().await, Some(Switch::Start));
    // It never charges. The deadline passes, and it charges on without pause.
    stage.app.clock().step(TimeDelta::minutes(175)).unwrap();
    assert_eq!(now().await, Some(Switch::Start));
    let plan = stage.app.cache().read(|t| t.plans.plan(id).cloned()).unwrap();
    assert_eq!(plan.state.cause, Cause::Review);
    assert!(plan.state.cycle.is_some_and(|cycle| cycle.is_late(stage.app.now())));
    stage.fjord.says("u-vehicle", Ok(car(50.0, false, 80.0)));
    poll_now(&stage.app, id).await;
    assert_eq!(now().await, None);
}

#[tokio::test]
async fn a_vehicle_that_may_not_be_woken_is_charged_before_it_sleeps() {
    for on in [On::Sqlite, On::Postgres] {
        let (stage, _, asker) = stage_with(on, &CENTS).await;
        place(&stage, &asker, "u", "north").await;
        let id = stage.live(&asker, "u", car(50.0, false, 80.0)).await;
        let device = |stage: &Stage| stage.app.cache().read(|t| t.any_device(id).cloned()).unwrap();
        set_vehicle(&stage.app, &device(&stage), by_eleven()).await.unwrap();
        let sleeps = |may_be_woken| Err(VendorError::Asleep { may_be_woken });
        for (may_be_woken, expected) in [(true, Switch::Stop), (false, Switch::Start)] {
            stage.fjord.says("u-vehicle", sleeps(may_be_woken));
            poll_now(&stage.app, id).await;
            for is_plugged_in in [false, true] {
                stage.fjord.says("u-vehicle", Ok(car(50.0, is_plugged_in, 80.0)));
                poll_now(&stage.app, id).await;
                settle(&stage.app).await;
            }
            let wanted = wanted(&stage.app, &device(&stage), six()).switch;
            assert_eq!(wanted, Some(expected), "{may_be_woken}");
        }
        let stage = stage.restarted().await;
        assert_eq!(device(&stage).state.may_be_woken, Some(false));
    }
}

#[tokio::test]
async fn a_budget_keeps_plans_where_they_are_and_remembers_it() {
    let stage = Stage::with(On::Sqlite, |config| {
        config.plans.stability_budget = Some(money(0.05));
    })
    .await;
    let book = Arc::new(Book::default());
    book.set("north", &[30, 10, 20]);
    stage.app.set_price_book(Arc::clone(&book) as _);
    let asker = stage.client("a").await;
    let home = place(&stage, &asker, "u", "north").await;
    let id = charger_at(&stage, &asker, "u", home).await;
    let policy = json!({ "isEnabled": true, "chargingDuration": "01:00" });
    asker.put(&format!("/chargers/{id}/smart-charging-policy"), &policy).await;
    let path = format!("/chargers/{id}/smart-charging-status");
    assert_eq!(starts(&asker.get(&path).await), ["2026-01-05T19:00:00Z"]);
    book.set("north", &[30, 10, 8]);
    plan_now(&stage.app, &[(id, Cause::Prices)]).await.unwrap();
    assert_eq!(starts(&asker.get(&path).await), ["2026-01-05T19:00:00Z"]);
    let plan = stage.app.cache().read(|t| t.plans.plan(id).cloned()).unwrap();
    assert!(plan.planned().unwrap().kept_from.is_some());
    book.set("north", &[30, 10, 1]);
    plan_now(&stage.app, &[(id, Cause::Prices)]).await.unwrap();
    // The budget buys a part of the hour, and no more.
    assert_eq!(starts(&asker.get(&path).await), ["2026-01-05T19:00:00Z", "2026-01-05T20:00:00Z"]);
    let plan = stage.app.cache().read(|t| t.plans.plan(id).cloned()).unwrap();
    assert_eq!(plan.planned().unwrap().budget.unwrap().spent(), Money::ZERO);
}

#[tokio::test]
async fn operators_set_policies_and_see_plans_with_their_proof() {
    let (stage, _, asker) = stage_with(On::Sqlite, &CENTS).await;
    let home = place(&stage, &asker, "u", "north").await;
    let car_id = stage.live(&asker, "u", car(50.0, true, 80.0)).await;
    let admin = admin::routes::router(std::slice::from_ref(&stage.app), None);
    let ask = async |method, path: &str, body: Option<&Value>| {
        let response = admin.clone().oneshot(request(method, path, body)).await.unwrap();
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, serde_json::from_slice::<Value>(&bytes).unwrap())
    };
    let smart =
        json!({ "is_enabled": true, "deadline": "23:00", "minimum_charge_limit_percent": 0.0 });
    let set = ask(Method::PUT, &format!("/policies/devices/{car_id}"), Some(&smart)).await;
    assert_eq!(set, (200, smart.clone()));
    let policy = json!(week(10.0, 60.0));
    let order = json!({ "vehicle_id": car_id, "location_id": home, "policy": policy });
    let id = Uuid::new_v4();
    let made = ask(Method::PUT, &format!("/policies/flex/{id}"), Some(&order)).await;
    assert_eq!((made.0, &made.1["id"]), (200, &json!(id)));
    assert_eq!(asker.get(&format!("/flex/vehicle-policies/{id}")).await.status, 200);
    let shown = ask(Method::GET, &format!("/policies/devices/{car_id}"), None).await;
    assert_eq!(shown.1["smart_charging"], smart);
    assert_eq!(shown.1["flex"][0]["id"], json!(id));
    let device = stage.app.cache().read(|tables| tables.any_device(car_id).cloned()).unwrap();
    let name = &device.vendor_device;
    assert_eq!(ask(Method::GET, &format!("/policies/devices/{name}"), None).await, shown);
    let plan = ask(Method::GET, &format!("/plans/{car_id}"), None).await.1;
    assert_eq!(ask(Method::GET, &format!("/plans/{name}"), None).await.1, plan);
    assert_eq!(plan["flex_policy_id"], json!(id));
    assert_eq!(plan["reasons"][0]["code"], "below_marginal_price");
    let sentence = plan["sentences"][0].as_str().unwrap();
    assert!(sentence.contains(" kWh for ") && sentence.contains(" NOK"), "{sentence}");
    assert_eq!(plan["saved"]["currency"], "NOK");
    assert_eq!(plan["saved"]["layers"]["import"][0]["source"], "market");
    let saved = &plan["saved"]["recorded"]["run"]["plan"];
    assert_eq!(saved["intervals"], plan["plan"]["intervals"]);
    assert!(saved["certificate"]["evidence"].is_object());
    let floor =
        json!({ "is_enabled": true, "deadline": null, "minimum_charge_limit_percent": 81.0 });
    let refused = ask(Method::PUT, &format!("/policies/devices/{car_id}"), Some(&floor)).await;
    assert_eq!(refused.0, 400);
    let unknown = Uuid::new_v4();
    let (status, problem) = ask(Method::GET, &format!("/plans/{unknown}"), None).await;
    assert_eq!(
        (status, &problem["detail"]),
        (404, &json!(format!("device \"{unknown}\" not found")))
    );
}

#[tokio::test]
async fn a_missing_plan_and_missing_prices_are_explained_by_policy_and_place() {
    let (stage, _, asker) = stage_with(On::Sqlite, &CENTS).await;
    let id = stage.live(&asker, "u", reading(&charger())).await;
    let admin = admin::routes::router(std::slice::from_ref(&stage.app), None);
    let show = async || {
        let response = admin.clone().oneshot(request(Method::GET, "/plans/u-charger", None)).await;
        let bytes = to_bytes(response.unwrap().into_body(), usize::MAX).await.unwrap();
        serde_json::from_slice::<Value>(&bytes).unwrap()
    };
    let told = format!("the charger {id} has no plan, because it has no policy; set one first");
    assert_eq!(show().await["detail"], json!(told));
    let policy = json!({ "isEnabled": true, "deadline": "23:00", "chargingDuration": "01:00" });
    let path = format!("/chargers/{id}/smart-charging-policy");
    assert_eq!(asker.put(&path, &policy).await.status, 200);
    let gap = "The device has no location, and prices are those of a location.";
    let shown = show().await;
    assert_eq!((&shown["idle"], &shown["price_gap"]), (&json!("awaiting_prices"), &json!(gap)));
    let sentence = shown["sentences"][0].as_str().unwrap();
    assert!(sentence.starts_with("There is no plan: ") && sentence.ends_with(gap), "{sentence}");
    let made = json!({ "client": asker.id, "user": "u" });
    let made =
        admin.clone().oneshot(request(Method::POST, "/locations", Some(&made))).await.unwrap();
    let bytes = to_bytes(made.into_body(), usize::MAX).await.unwrap();
    let made: Value = serde_json::from_slice(&bytes).unwrap();
    let put = json!({ "chargingLocationId": made["id"] });
    assert_eq!(asker.put(&format!("/chargers/{id}"), &put).await.status, 200);
    let gap = "Its location has neither a market zone nor a tariff.";
    assert_eq!(show().await["price_gap"], json!(gap));
    let home = place(&stage, &asker, "u", "north").await;
    let put = json!({ "chargingLocationId": home });
    assert_eq!(asker.put(&format!("/chargers/{id}"), &put).await.status, 200);
    assert!(show().await["plan"].is_object());
}

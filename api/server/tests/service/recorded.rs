//! Recordings of devices, and their lifetime.
use std::sync::Arc;

use chrono::TimeDelta;
use serde_json::{Value, json};
use slackwater_control::device::scope::{DeviceKind, Permission};
use slackwater_engine::statistics::recording::Stay;
use slackwater_engine::statistics::sample::Sample;
use slackwater_engine::units::kw;
use slackwater_integration::reading::Reading;
use slackwater_service::cache::device_change::DeviceChange;
use slackwater_service::cache::recorders::{Recorded, Recorder};
use slackwater_service::config::Config;
use slackwater_service::jobs::poller::poll_now;
use slackwater_service::samples::record;
use slackwater_service::samples::waiting;
use slackwater_service::state::App;
use slackwater_store::devices::Device;
use slackwater_store::events;
use slackwater_store::samples::{self, ChargeSession, Measured, OnConflict};
use uuid::Uuid;

use crate::harness::{Asker, On, Stage, device, six};
use crate::priced::HOME;
use crate::readings::{charger, reading, vehicle};

/// Records what a device did since it stood as it did `before`.
async fn record_since(app: &App, before: Arc<Device>) {
    let after = app.cache().read(|tables| tables.any_device(before.id).cloned()).unwrap();
    record::record(app, &DeviceChange { before, after }).await;
}

/// Three hours ago a device charged for an hour, and left two hours ago.
fn charged(asker: &Asker, (device_id, kind): (Uuid, DeviceKind)) -> Recorded {
    let (start, end) = (six() - TimeDelta::hours(3), six() - TimeDelta::hours(2));
    let measured = Measured {
        device_id,
        client_id: asker.id.clone(),
        user_id: "u".to_owned(),
        kind,
        location_id: None,
    };
    let session = ChargeSession {
        id: Uuid::new_v4(),
        measured: measured.clone(),
        stay: Stay { plugged_in: start, unplugged: Some(end) },
        is_smart: false,
        is_frozen: true,
    };
    let sample = Sample { start, end, power: Some(kw(1.0)), price: None, non_smart: None };
    let parts = vec![(measured, Some(session.id), vec![sample])];
    let recorder = Recorder { until: Some(end), sessions: vec![session] };
    Recorded { device_id, before: None, recorder, parts }
}

async fn keep(stage: &Stage, asker: &Asker, what: (Uuid, DeviceKind)) {
    let Recorded { device_id, before, recorder, parts } = charged(asker, what);
    let mut change = stage.app.store().begin().await.unwrap();
    let to = change.connection();
    for (measured, session, own) in &parts {
        samples::insert_samples(to, measured, *session, own, OnConflict::Join).await.unwrap();
    }
    for session in &recorder.sessions {
        samples::upsert_session(to, session).await.unwrap();
    }
    // One that has not ended, which memory knows, too.
    let open = ChargeSession {
        id: Uuid::new_v4(),
        stay: Stay { plugged_in: six(), unplugged: None },
        is_frozen: false,
        ..recorder.sessions[0].clone()
    };
    samples::upsert_session(to, &open).await.unwrap();
    assert!(samples::advance_recording(to, device_id, before, six()).await.unwrap());
    change.commit(|| ()).await.unwrap();
}

/// Energy and sessions of a user's devices of a kind.
async fn shown(asker: &Asker, kind: &str) -> (f64, Vec<Value>) {
    let path = "/users/u/statistics/charging";
    let series = asker.get(&format!("{path}?type={kind}&resolution=YEAR")).await;
    let sum = series.body.as_array().unwrap().iter().map(|item| item["kwhSum"].as_f64().unwrap());
    let sessions = asker.get(&format!("{path}/sessions?type={kind}")).await;
    let targets = sessions.body.as_array().unwrap().iter().map(|item| item["targetId"].clone());
    (sum.sum(), targets.collect())
}

#[tokio::test]
async fn what_was_recorded_goes_with_the_manufacturer() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let asker = stage.client("a").await;
        let car = stage.live(&asker, "u", reading(&vehicle())).await;
        let plug = stage.live(&asker, "u", reading(&charger())).await;
        let kept = stage.link_with(&asker, "u", "HEATH", device("h", DeviceKind::Vehicle)).await;
        for vehicle in [car, kept] {
            keep(&stage, &asker, (vehicle, DeviceKind::Vehicle)).await;
        }
        keep(&stage, &asker, (plug, DeviceKind::Charger)).await;
        let stage = stage.restarted().await;
        let asker = stage.again(&asker);
        assert_eq!(shown(&asker, "vehicle").await.0.to_string(), "2");
        assert_eq!(shown(&asker, "charger").await.1, [plug.to_string()]);
        assert_eq!(stage.app.recorders().progress_of(car).sessions.len(), 1);

        assert_eq!(asker.delete("/users/u/vendor/FJORD").await.status, 204);
        let rest = (1.0, vec![Value::from(kept.to_string())]);
        assert_eq!(shown(&asker, "vehicle").await, rest);
        assert_eq!(shown(&asker, "charger").await, (0.0, Vec::new()));
        assert_eq!(stage.app.recorders().progress_of(car), Recorder::default());
        // Nothing comes back from the database either.
        let stage = stage.restarted().await;
        let asker = stage.again(&asker);
        assert_eq!(shown(&asker, "vehicle").await, rest);
        assert_eq!(shown(&asker, "charger").await, (0.0, Vec::new()));
        for gone in [car, plug] {
            assert_eq!(stage.app.recorders().progress_of(gone), Recorder::default());
        }
        assert_eq!(stage.app.recorders().progress_of(kept).sessions.len(), 1);
    }
}

#[tokio::test]
async fn what_another_process_deleted_is_not_recorded() {
    let stage = Stage::with(On::Postgres, |_| ()).await;
    let asker = stage.client("a").await;
    let car = stage.live(&asker, "u", reading(&vehicle())).await;
    // It polls, and has not heard that the device is gone.
    let other = stage.replica().await;
    assert_eq!(asker.delete("/users/u/vendor/FJORD").await.status, 204);
    for until in [Some(six()), None] {
        let mut recorded = charged(&asker, (car, DeviceKind::Vehicle));
        recorded.recorder.until = until;
        waiting::keep_recording(&other.app, recorded).await;
        assert_eq!(shown(&asker, "vehicle").await, (0.0, Vec::new()));
    }
}

/// A car whose own counter says what it took, at home.
fn counted(minutes: i64, kwh: f64, is_plugged_in: bool) -> Reading {
    let at = six() + TimeDelta::minutes(minutes);
    let mut car = vehicle();
    car["at"] = json!(at);
    car["counters"] = json!({ "imported_kwh": kwh, "exported_kwh": 0.0 });
    let charging = &mut car["facts"]["vehicle"]["charging"];
    charging["last_updated"] = json!(at);
    charging["is_plugged_in"] = json!(is_plugged_in);
    charging["is_charging"] = json!(is_plugged_in);
    charging["power_state"] = json!(if is_plugged_in { "charging" } else { "unplugged" });
    reading(&car)
}

#[tokio::test]
async fn where_a_vehicle_charged_is_told_with_the_scope_only() {
    for is_granted in [true, false] {
        let named = |config: &mut Config| {
            config.statistics.query.location = Some("place".to_owned());
        };
        let stage = Stage::with(On::Sqlite, named).await;
        let asker = stage.client("a").await;
        let home = stage.place(&asker, "u", Some(HOME)).await;
        let mut new = device("car", DeviceKind::Vehicle);
        if !is_granted {
            new.scopes.remove(&Permission::ReadLocation);
        }
        let car = stage.link(&asker, "u", new).await;
        for (minutes, kwh, is_plugged_in) in
            [(0, 10.0, true), (30, 12.0, true), (60, 13.0, false), (90, 13.0, false)]
        {
            stage.app.clock().step(TimeDelta::minutes(minutes.min(30))).unwrap();
            stage.fjord.says("car", Ok(counted(minutes, kwh, is_plugged_in)));
            let before = stage.app.cache().read(|tables| tables.any_device(car).cloned()).unwrap();
            poll_now(&stage.app, car).await;
            record_since(&stage.app, before).await;
        }
        let asker = stage.renewed(&asker).await;
        let path = "/users/u/statistics/charging";
        let all = asker.get(&format!("{path}?type=vehicle&resolution=YEAR")).await.body;
        assert_eq!(all[0]["kwhSum"], json!(3.0), "energy counts wherever it was taken");
        let here = format!("{path}?type=vehicle&resolution=YEAR&place={home}");
        assert_eq!(asker.get(&here).await.body.as_array().unwrap().len(), usize::from(is_granted));
        let sessions = asker.get(&format!("{path}/sessions?type=vehicle")).await.body;
        let place = if is_granted { json!(home) } else { Value::Null };
        assert_eq!(sessions[0]["chargingLocationId"], place, "{sessions}");
        let here = asker.get(&format!("{path}/sessions?type=vehicle&place={home}")).await.body;
        assert_eq!(here.as_array().unwrap().len(), usize::from(is_granted));
    }
}

#[tokio::test]
async fn that_a_vehicle_moved_is_told_with_the_scope_only() {
    for is_granted in [true, false] {
        let stage = Stage::new().await;
        let asker = stage.client("a").await;
        let mut new = device("car", DeviceKind::Vehicle);
        if !is_granted {
            new.scopes.remove(&Permission::ReadLocation);
        }
        let mut car = vehicle();
        stage.fjord.says("car", Ok(reading(&car)));
        let id = stage.link(&asker, "u", new).await;
        poll_now(&stage.app, id).await;
        let start = events::events_after(stage.app.store(), 0, 99).await.unwrap().len();
        car["facts"]["vehicle"]["sighting"]["position"]["latitude"] = json!(60.1);
        stage.fjord.says("car", Ok(reading(&car)));
        poll_now(&stage.app, id).await;
        let told = events::events_after(stage.app.store(), 0, 99).await.unwrap();
        let told: Vec<&Value> = told[start..].iter().map(|event| &event.body).collect();
        let moved = json!({ "kind": "vehicle", "changed": ["sighting"] });
        assert_eq!(told, if is_granted { vec![&moved] } else { Vec::new() });
        // What else changes is told, and nothing of the place with it.
        car["facts"]["vehicle"]["soc_percent"] = json!(56.0);
        car["facts"]["vehicle"]["sighting"]["position"]["latitude"] = json!(60.2);
        stage.fjord.says("car", Ok(reading(&car)));
        poll_now(&stage.app, id).await;
        let told = events::events_after(stage.app.store(), 0, 99).await.unwrap();
        let names: &[&str] =
            if is_granted { &["sighting", "soc_percent"] } else { &["soc_percent"] };
        assert_eq!(told.last().unwrap().body["changed"], json!(names));
    }
}

/// Polls are more frequent than the quarters of an hour after which energy is recorded.
#[tokio::test]
async fn energy_between_all_readings_of_a_counter_counts() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    stage.place(&asker, "u", Some(HOME)).await;
    let car = stage.link(&asker, "u", device("car", DeviceKind::Vehicle)).await;
    for poll in 0..=24_i32 {
        let minutes = 5 * i64::from(poll);
        stage.app.clock().step(TimeDelta::minutes(5.min(minutes))).unwrap();
        let kwh = 10.0 + f64::from(poll.min(20)) / 4.0;
        stage.fjord.says("car", Ok(counted(minutes, kwh, poll < 20)));
        let before = stage.app.cache().read(|tables| tables.any_device(car).cloned()).unwrap();
        poll_now(&stage.app, car).await;
        record_since(&stage.app, before).await;
    }
    let asker = stage.renewed(&asker).await;
    let path = "/users/u/statistics/charging?type=vehicle&resolution=YEAR";
    let all = asker.get(path).await.body;
    assert_eq!(all[0]["kwhSum"], json!(5.0), "a quarter of a kWh in each of twenty intervals");
    let sessions = asker.get("/users/u/statistics/charging/sessions?type=vehicle").await.body;
    assert_eq!(sessions[0]["kwhSum"], json!(5.0), "{sessions}");
}

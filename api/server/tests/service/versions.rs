//! Dated versions.
use axum::http::Method;
use chrono::TimeDelta;
use serde_json::json;
use slackwater_http::auth::gate::SERVICE_USER_ID;
use slackwater_http::version::SERVICE_VERSION;
use slackwater_wire::version::dated::ApiVersion;
use slackwater_wire::version::lifecycle::Releases;

use crate::answer::Answer;
use crate::harness::{LATEST, OLDEST, On, Stage, six};
use crate::readings::{charger, hvac, inverter, reading, vehicle};

#[tokio::test]
async fn a_version_is_pinned_or_named_in_a_header() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    assert_eq!(asker.get("/vehicles").await.header("service-version"), LATEST);
    for version in ApiVersion::ALL.map(ApiVersion::as_str) {
        let answer = asker.get_in(version, "/health/chargers").await;
        assert_eq!((answer.status, answer.header("service-version")), (200, version));
    }
    let app = stage.app.clone();
    let pinned = stage.client_in(&app, "p", ApiVersion::V2024_01_01).await;
    assert_eq!(pinned.get("/vehicles").await.header("service-version"), "2024-01-01");
    assert_eq!(pinned.get_in(LATEST, "/vehicles").await.header("service-version"), LATEST);
    assert_eq!(pinned.get("/vehicles").await.header("service-version"), "2024-01-01");
    let refused = pinned.get_in("2022-01-01", "/vehicles").await;
    assert_eq!((refused.status, refused.title()), (400, "Bad request"));
    assert_eq!(refused.header("service-version"), "2024-01-01");
    // Answers that no handler makes carry it, too.
    assert_eq!(
        asker.get_in("2023-08-01", "/nowhere").await.header("service-version"),
        "2023-08-01"
    );
}

#[tokio::test]
async fn the_oldest_version_names_its_user() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let mine = stage.live(&asker, "u", reading(&vehicle())).await;
    let other = stage.live(&asker, "v", reading(&vehicle())).await;
    assert_eq!(asker.get_about("u", "/vehicles").await.ids(), [mine.to_string()]);
    assert_eq!(asker.get_about("u", &format!("/vehicles/{mine}")).await.status, 200);
    assert_eq!(asker.get_about("u", &format!("/vehicles/{other}")).await.status, 404);
    for path in ["/vehicles", "/chargers", "/hvacs", "/inverters", "/me"] {
        assert_eq!(asker.get_in(OLDEST, path).await.status, 400, "{path}");
        let unknown = asker.get_about("nobody", path).await;
        assert_eq!((unknown.status, unknown.title()), (404, "Entity Not Found"), "{path}");
    }
    for version in ["2023-08-01", "2024-01-01", LATEST] {
        let headers = [(SERVICE_VERSION, version), (SERVICE_USER_ID, "u")];
        let answer = asker.ask(Method::GET, "/vehicles", None, &headers).await;
        assert_eq!((answer.status, answer.title()), (400, "Bad request"), "{version}");
    }
    // AUTH-06: client-wide resources need no user.
    assert_eq!(asker.get_in(OLDEST, "/health/chargers").await.status, 200);
    // Schedules are a user's own, too.
    assert_eq!(asker.get_in(OLDEST, "/schedules/x").await.status, 400);
}

#[tokio::test]
async fn lists_of_the_oldest_version_are_bare() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    stage.live(&asker, "u", reading(&vehicle())).await;
    assert!(asker.get_about("u", "/vehicles").await.body.is_array());
    for version in ["2023-08-01", "2024-01-01", LATEST] {
        let page = asker.get_in(version, "/vehicles").await;
        assert_eq!(Answer::keys(&page.body), ["data", "pagination"], "{version}");
    }
}

#[tokio::test]
async fn places_have_two_names() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let home = stage.place(&asker, "u", None).await;
    let id = stage.live(&asker, "u", reading(&charger())).await;
    stage.live(&asker, "u", reading(&hvac())).await;
    let roof = stage.live(&asker, "u", reading(&inverter())).await;
    let body = json!({ "chargingLocationId": home });
    assert_eq!(asker.put(&format!("/chargers/{id}"), &body).await.status, 200);

    let old = asker.get_about("u", &format!("/chargers/{id}")).await.body;
    assert_eq!(old["chargingLocationId"], json!(home));
    assert_eq!(old["information"]["id"], "u-charger");
    assert!(old.get("location").is_none());
    let new = asker.get(&format!("/chargers/{id}")).await.body;
    assert_eq!(new["location"]["id"], json!(home));
    assert!(new.get("chargingLocationId").is_none() && new["information"].get("id").is_none());

    let old = asker.get_about("u", "/hvacs").await.body[0].clone();
    assert!(old.get("chargingLocationId").is_some() && old.get("locationId").is_none());
    let new = asker.get("/hvacs").await.body["data"][0].clone();
    assert!(new.get("chargingLocationId").is_none() && new.get("locationId").is_some());

    let path = format!("/inverters/{roof}");
    let old = asker.get_about("u", &path).await.body;
    assert!(old.get("chargingLocationId").is_none() && old.get("locationId").is_none());
    assert!(asker.get(&path).await.body.get("locationId").is_some());
}

#[tokio::test]
async fn me_is_of_the_oldest_version() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    stage.live(&asker, "u", reading(&vehicle())).await;
    assert_eq!(asker.get_about("u", "/me").await.body, json!({ "id": "u" }));
    for version in ["2023-08-01", "2024-01-01", LATEST] {
        let answer = asker.get_in(version, "/me").await;
        assert_eq!((answer.status, answer.title()), (404, "Not Found"), "{version}");
    }
}

#[tokio::test]
async fn versions_end_when_dates_are_configured() {
    let since = |version, days| (version, six() - TimeDelta::days(days));
    let releases = Releases::new(vec![
        since(ApiVersion::V2023_05_01, 900),
        // Legacy after six months; brownouts for four weeks from a month on.
        since(ApiVersion::V2023_08_01, 220),
        since(ApiVersion::V2024_01_01, 100),
        since(ApiVersion::V2024_10_01, 10),
    ]);
    let stage = Stage::with(On::Sqlite, |config| {
        config.versions.releases = Some(releases.unwrap());
        config.versions.brownout_percent = 100;
    })
    .await;
    let asker = stage.client("a").await;
    let brownout = asker.get_in(OLDEST, "/health/chargers").await;
    assert_eq!((brownout.status, brownout.title()), (503, "Service Unavailable"));
    assert_eq!(asker.get_in("2023-08-01", "/health/chargers").await.status, 200);
    stage.app.clock().step(TimeDelta::minutes(55)).unwrap();
    let later = stage.client("later").await;
    stage.app.clock().step(TimeDelta::minutes(55)).unwrap();
    assert_eq!(later.get("/users").await.status, 200);
}

#[tokio::test]
async fn an_ended_version_is_answered_in_the_current_one() {
    let since = |version, days| (version, six() - TimeDelta::days(days));
    let releases = Releases::new(vec![
        since(ApiVersion::V2023_05_01, 900),
        since(ApiVersion::V2024_10_01, 400),
    ]);
    let stage =
        Stage::with(On::Sqlite, |config| config.versions.releases = Some(releases.unwrap())).await;
    let app = stage.app.clone();
    let asker = stage.client_in(&app, "old", ApiVersion::V2023_05_01).await;
    let answer = asker.get("/vehicles").await;
    assert_eq!((answer.status, answer.header("service-version")), (200, LATEST));
}

//! Areas whose plans follow their prices.
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use slackwater_control::device::scope::DeviceKind;
use slackwater_control::policy::ask::Cause;
use slackwater_engine::plan::charge::PowerLimit;
use slackwater_engine::shared_supply::ReplanReason;
use slackwater_engine::units::kw;
use slackwater_server::admin;
use slackwater_service::clock::Clock;
use slackwater_service::config::plans::AreaLimit;
use slackwater_service::jobs::poller::poll_now;
use slackwater_service::linking::connect::NewDevice;
use slackwater_service::plans::area::{self, LEASE, work};
use slackwater_service::plans::limit_change::{LimitChange, change_limit};
use slackwater_service::plans::planner::plan_now;
use slackwater_service::plans::show::open_plan;
use slackwater_service::state::{App, Urls};
use slackwater_store::client::Environment;
use slackwater_store::jobs;
use slackwater_store::lease::Lease;
use tower::ServiceExt;
use uuid::Uuid;

use crate::guard::ask;
use crate::harness::{Asker, On, Stage, add_zone, device, six};
use crate::plans::{CENTS, starts};
use crate::priced::{Book, at, charger_at, place, stage_with};
use crate::prices::pull;
use crate::readings::{charger, reading};

const JSON: (&str, &str) = ("content-type", "application/json");

/// Asks for the plans of the north of NO1 to follow.
async fn ask_north(stage: &Stage, asker: &Asker) {
    let mut change = stage.app.store().begin().await.unwrap();
    let area = (asker.id.as_str(), "NO1", "north");
    jobs::request_area(change.connection(), area, stage.app.now()).await.unwrap();
    change.commit(|| ()).await.unwrap();
}

#[tokio::test]
async fn plans_of_an_area_follow_its_prices_and_no_others() {
    for on in [On::Sqlite, On::Postgres] {
        let (stage, book, asker) = stage_with(on, &CENTS).await;
        book.set("south", &CENTS);
        let policy = json!({ "isEnabled": true, "deadline": "23:00", "chargingDuration": "01:00" });
        let mut ids = Vec::new();
        for (user, area) in [("u", "north"), ("v", "south")] {
            let home = place(&stage, &asker, user, area).await;
            let id = charger_at(&stage, &asker, user, home).await;
            asker.put(&format!("/chargers/{id}/smart-charging-policy"), &policy).await;
            ids.push(id);
        }
        for area in ["north", "south"] {
            book.set(area, &[30, 1, 10, 40, 5, 30]);
        }
        assert_eq!(work(&stage.app).await.unwrap(), None);
        ask_north(&stage, &asker).await;
        ask_north(&stage, &asker).await;
        assert_eq!(work(&stage.app).await.unwrap(), Some(1));
        assert_eq!(work(&stage.app).await.unwrap(), None);
        let start = async |id: Uuid| {
            let status = asker.get(&format!("/chargers/{id}/smart-charging-status")).await;
            starts(&status).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(start(ids[0]).await, ["2026-01-05T19:00:00Z"]);
        assert_eq!(start(ids[1]).await, ["2026-01-05T22:00:00Z"]);
        let stage = stage.restarted().await;
        let kept = stage.app.cache().read(|t| t.plans.plan(ids[0]).cloned()).unwrap();
        assert_eq!(kept.planned().unwrap().summary.intervals[0].start, at(1));
    }
}

#[tokio::test]
async fn prices_that_change_during_the_work_on_an_area_are_not_done_with_it() {
    for on in [On::Sqlite, On::Postgres] {
        let (stage, _, asker) = stage_with(on, &CENTS).await;
        ask_north(&stage, &asker).await;
        let acquire = async || {
            let mut change = stage.app.store().begin().await.unwrap();
            let (to, lease) = (change.connection(), Lease::new("one", six(), LEASE));
            let job = jobs::acquire_area(to, stage.app.environment(), &lease).await.unwrap();
            change.commit(|| ()).await.unwrap();
            job
        };
        let finish = async |job| {
            let mut change = stage.app.store().begin().await.unwrap();
            jobs::finish_area(change.connection(), job, "one").await.unwrap();
            change.commit(|| ()).await.unwrap();
        };
        let first = acquire().await.unwrap();
        ask_north(&stage, &asker).await;
        finish(&first).await;
        let second = acquire().await.unwrap();
        assert_eq!((first.asked, second.asked), (1, 2));
        finish(&second).await;
        assert_eq!(acquire().await, None);
    }
}

/// Text of a page of the console.
async fn page_of(stage: &Stage, path: &str) -> String {
    let router = admin::routes::router(std::slice::from_ref(&stage.app), None);
    let request = Request::builder().uri(path).body(Body::empty()).unwrap();
    let body = router.oneshot(request).await.unwrap().into_body();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn plans_of_an_area_with_a_limit_keep_it_and_are_left_alone() {
    // Chargers of 11 kW, of which one fits at a time.
    let stage = Stage::with(On::Sqlite, |config| {
        let (zone, area) = ("NO1".to_owned(), "north".to_owned());
        config.plans.limits.push(AreaLimit { zone, area, power_max: kw(15.0) });
    })
    .await;
    let book = Arc::new(Book::default());
    book.set("north", &CENTS);
    stage.app.set_price_book(Arc::clone(&book) as _);
    let asker = stage.client("a").await;
    let policy = json!({ "isEnabled": true, "deadline": "23:00", "chargingDuration": "01:00" });
    let mut ids = Vec::new();
    for user in ["u", "v", "w"] {
        let home = place(&stage, &asker, user, "north").await;
        let id = charger_at(&stage, &asker, user, home).await;
        asker.put(&format!("/chargers/{id}/smart-charging-policy"), &policy).await;
        ids.push(id);
    }
    let hours = || {
        let hour = |id: &Uuid| {
            let plan = stage.app.cache().read(|tables| tables.plans.plan(*id).cloned()).unwrap();
            let first = plan.planned()?.summary.intervals.first().map(|interval| interval.start);
            first.map(|start| (start - six()).num_hours())
        };
        ids.iter().map(hour).collect::<Vec<_>>()
    };
    // The cheapest hour for the first, then what is left. That is dear, so the area is asked for.
    assert_eq!(hours(), [Some(4), Some(2), Some(1)]);
    assert!(!area::is_idle(&stage.app).await.unwrap());
    let shown = open_plan(&stage.app, ids[2]).await.unwrap().unwrap().shown;
    let reason = shown.shared_reason.unwrap();
    assert!(reason.starts_with("The limit that the devices of its area share"), "{reason}");
    assert!(reason.contains(" NOK, and alone it would pay "), "{reason}");
    // Operators see who uses the limit: the first two, in their hours, while the third would fit.
    let (status, plan) = pull(&stage, Method::GET, &format!("/plans/{}", ids[2]), "").await;
    assert_eq!(status, StatusCode::OK);
    let named = plan["crowded_by"].as_array().unwrap().iter();
    let named: Vec<_> = named.map(|one| (&one["user_id"], &one["power_kw"])).collect();
    let (one, two) = ((&json!("u"), &json!(5.5)), (&json!("v"), &json!(5.5)));
    // In the order of their identifiers, as they take the same.
    assert!(named == [one, two] || named == [two, one], "{named:?}");
    let told = plan["sentences"].as_array().unwrap().last().unwrap().as_str().unwrap();
    let start = "While the limit of its area leaves it too little, most of it is used by ";
    assert!(told.starts_with(start) && told.contains(" of u (5.5 kW)"), "{told}");
    let page = format!("/console/devices/{}", ids[2]);
    let page = page_of(&stage, &page).await;
    assert!(page.contains(&format!("/console/devices/{}", ids[0])), "{page}");
    // What users see, such as in Home Assistant, names no other user's device.
    let shown = open_plan(&stage.app, ids[2]).await.unwrap().unwrap().shown;
    let shown = format!("{} {:?}", json!(shown), shown.sentences(chrono_tz::UTC));
    assert!(ids[..2].iter().all(|id| !shown.contains(&id.to_string())), "{shown}");
    // The first wants nothing any more. Looks at the others change nothing; new prices do.
    let off = json!({ "isEnabled": false });
    asker.put(&format!("/chargers/{}/smart-charging-policy", ids[0]), &off).await;
    for cause in [Cause::Reading, Cause::Review] {
        plan_now(&stage.app, &[(ids[1], cause), (ids[2], cause)]).await.unwrap();
        assert_eq!(hours(), [None, Some(2), Some(1)]);
    }
    plan_now(&stage.app, &[(ids[1], Cause::Prices), (ids[2], Cause::Prices)]).await.unwrap();
    assert_eq!(hours(), [None, Some(4), Some(2)]);
}

/// Whoever would only pay less asks for an area once in a quarter of an hour;
/// whoever goes short asks at once.
#[tokio::test]
async fn an_area_is_not_planned_anew_for_each_newcomer() {
    for on in [On::Sqlite, On::Postgres] {
        let (stage, _, asker) = stage_with(on, &CENTS).await;
        let area = (asker.id.as_str(), "NO1", "north");
        let minute = |minutes| six() + TimeDelta::minutes(minutes);
        let is_asked = async |minutes, wanting: ReplanReason| {
            let mut change = stage.app.store().begin().await.unwrap();
            let to = change.connection();
            jobs::request_area_after(to, area, minute(minutes), wanting.min_interval())
                .await
                .unwrap();
            let environment = stage.app.environment();
            let lease = Lease::new("one", minute(minutes), LEASE);
            let job = jobs::acquire_area(to, environment, &lease).await.unwrap();
            if let Some(job) = &job {
                jobs::finish_area(to, job, "one").await.unwrap();
            }
            change.commit(|| ()).await.unwrap();
            job.is_some()
        };
        assert!(is_asked(0, ReplanReason::Cheaper).await, "nobody asked before");
        assert!(!is_asked(14, ReplanReason::Cheaper).await);
        assert!(is_asked(14, ReplanReason::Energy).await);
        assert!(!is_asked(28, ReplanReason::Cheaper).await);
        assert!(is_asked(29, ReplanReason::Cheaper).await);
        assert!(is_asked(29, ReplanReason::Energy).await);
    }
}

/// In an area with a limit a plan goes on while it does what is asked: that
/// prices changed is kept with them, for whoever is here after a restart.
#[tokio::test]
async fn a_tariff_in_an_area_with_a_limit_asks_for_it() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |config| {
            let (zone, area) = ("NO1".to_owned(), "north".to_owned());
            config.plans.limits.push(AreaLimit { zone, area, power_max: kw(15.0) });
        })
        .await;
        let asker = stage.client("a").await;
        let rates = json!([{ "name": "all", "cost": "0.2" }]);
        assert_eq!(asker.put("/tariffs/t", &rates).await.status, 204);
        let assign = async |area: &str, user: &str| {
            let home = place(&stage, &asker, user, area).await;
            let path = format!("/tariffs/schedule?client={}&location={home}", asker.id);
            let all = r#"{"tariff_id": "t", "intervals": [{"name": "all"}]}"#;
            assert_eq!(pull(&stage, Method::PUT, &path, all).await.0, StatusCode::OK);
        };
        assign("south", "v").await;
        assert_eq!(asker.put("/tariffs/t", &rates).await.status, 204);
        assert!(area::is_idle(&stage.app).await.unwrap(), "no place with a limit has it");
        assign("north", "u").await;
        assert_eq!(work(&stage.app).await.unwrap(), Some(0));
        assert_eq!(asker.put("/tariffs/t", &rates).await.status, 204);
        let stage = stage.restarted().await;
        assert_eq!(work(&stage.app).await.unwrap(), Some(0));
        assert!(area::is_idle(&stage.app).await.unwrap());
    }
}

/// Chargers of 11 kW with the cheapest hour at 22:00, in an area whose limit an operator sets and
/// takes back while the service runs.
#[tokio::test]
async fn an_operator_changes_the_limit_of_an_area_and_plans_follow() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, add_zone).await;
        let book = Arc::new(Book::default());
        book.set("north", &CENTS);
        stage.app.set_price_book(Arc::clone(&book) as _);
        let asker = stage.client("a").await;
        let policy = json!({ "isEnabled": true, "deadline": "23:00", "chargingDuration": "01:00" });
        let mut ids = Vec::new();
        for user in ["u", "v"] {
            let home = place(&stage, &asker, user, "north").await;
            let id = charger_at(&stage, &asker, user, home).await;
            asker.put(&format!("/chargers/{id}/smart-charging-policy"), &policy).await;
            ids.push(id);
        }
        let hours = |app: &App| {
            let hour = |id: &Uuid| {
                let plan = app.cache().read(|tables| tables.plans.plan(*id).cloned()).unwrap();
                let first = plan.planned()?.summary.intervals.first().map(|on| on.start);
                first.map(|start| (start - six()).num_hours())
            };
            let mut all = ids.iter().map(hour).collect::<Vec<_>>();
            all.sort_unstable();
            all
        };
        let change = async |change: &Value| {
            let router = admin::routes::router(std::slice::from_ref(&stage.app), None);
            let path = "/limits/NO1/north";
            ask(&router, (Method::PATCH, path), &[JSON], &change.to_string()).await
        };
        assert_eq!(hours(&stage.app), [Some(4), Some(4)]);
        // One charger fits at a time.
        let (status, _, shown) = change(&json!({ "power_max_kw": 15.0 })).await;
        assert_eq!((status, &shown["now_kw"], &shown["homes"]), (200, &json!(15.0), &json!(2)));
        assert_eq!(work(&stage.app).await.unwrap(), Some(2));
        assert_eq!(hours(&stage.app), [Some(2), Some(4)]);
        // The grid operator leaves nothing in the cheapest hour.
        let dimmed = json!({ "periods": [{ "start": at(4), "end": at(5), "power_max_kw": 0.0 }] });
        assert_eq!(change(&dimmed).await.0, 200);
        assert_eq!(work(&stage.app).await.unwrap(), Some(2));
        let dimmed_hours = hours(&stage.app);
        assert!(!dimmed_hours.contains(&Some(4)), "{dimmed_hours:?}");
        assert_ne!(dimmed_hours[0], dimmed_hours[1]);
        // A restart knows it, and a replan of a single device keeps it.
        let again = stage.replica_at(six()).await;
        assert_eq!(again.limits().areas_set(), [("NO1".to_owned(), "north".to_owned())]);
        plan_now(&stage.app, &[(ids[0], Cause::Prices)]).await.unwrap();
        assert_eq!(hours(&stage.app), dimmed_hours);
        assert_eq!(change(&json!({ "clear": { "from": at(4), "to": at(5) } })).await.0, 200);
        assert_eq!(work(&stage.app).await.unwrap(), Some(2));
        assert_eq!(hours(&stage.app), [Some(2), Some(4)]);
        let (_, _, shown) = change(&json!("reset")).await;
        assert_eq!((&shown["now_kw"], &shown["periods"]), (&Value::Null, &json!([])));
        assert_eq!(work(&stage.app).await.unwrap(), Some(2));
        assert_eq!(hours(&stage.app), [Some(4), Some(4)]);
    }
}

/// Environments share limits. A sandbox whose clock runs may be years ahead of production.
#[tokio::test]
async fn a_limit_is_kept_until_it_is_over_on_the_clocks_of_all_environments() {
    let stage = Stage::with(On::Sqlite, add_zone).await;
    let urls = Urls { base: String::new(), auth: String::new(), link: String::new() };
    let later = Clock::fixed(at(24 * 365));
    let ahead = stage.app.for_environment(Environment::Production, later, urls);
    let period = PowerLimit { start: at(1), end: at(2), power_max: kw(50.0) };
    let (area, wanted) = (("NO1".to_owned(), "north".to_owned()), vec![period]);
    for worlds in [[ahead.clone(), stage.app.clone()], [stage.app.clone(), ahead]] {
        let kept = change_limit(&worlds, &area, LimitChange::Periods(wanted.clone())).await;
        assert_eq!(kept.unwrap().periods(), wanted);
    }
}

#[tokio::test]
async fn limits_that_make_no_sense_are_refused_and_change_nothing() {
    let stage = Stage::with(On::Sqlite, add_zone).await;
    let router = admin::routes::router(std::slice::from_ref(&stage.app), None);
    let period = |start: DateTime<Utc>, end: DateTime<Utc>, kw: f64| json!({ "start": start, "end": end, "power_max_kw": kw });
    for (path, change, reason) in [
        ("/limits/NO9/north", json!({ "power_max_kw": 1.0 }), "\"NO9\" is neither in [zones]"),
        ("/limits/NO1/%20", json!({ "power_max_kw": 1.0 }), "the area is empty"),
        ("/limits/NO1/north", json!({ "power_max_kw": -1.0 }), "-1 kW is below 0"),
        ("/limits/NO1/north", json!({ "periods": [period(at(1), at(1), 1.0)] }), "periods[0] ends"),
        (
            "/limits/NO1/north",
            json!({ "periods": [period(at(1), at(3), 1.0), period(at(2), at(4), 1.0)] }),
            "periods[1] starts at",
        ),
        (
            "/limits/NO1/north",
            json!({ "power_kw": 1.0 }),
            "`power_kw` is not known; expected one of `power_max_kw`",
        ),
        (
            "/limits/NO1/north",
            json!({ "clear": { "from": at(2), "to": at(1) } }),
            "the window ends",
        ),
    ] {
        let (status, _, body) =
            ask(&router, (Method::PATCH, path), &[JSON], &change.to_string()).await;
        assert_eq!(status, 400, "{path} {change}");
        assert!(body.to_string().replace("\\\"", "\"").contains(reason), "{body}");
    }
    assert!(stage.app.limits().is_empty());
    let (_, _, body) = ask(&router, (Method::GET, "/limits"), &[], "").await;
    assert_eq!(body, json!([]));
}

/// Work to fill an area with a limit, and to plan all of it in one turn: the plans that were read to
/// plan a device beside them. It grows with the devices, not with their square.
#[tokio::test]
async fn an_area_with_a_limit_is_filled_and_planned_with_linear_work() {
    for homes in [8, 24] {
        let stage = Stage::with(On::Sqlite, |config| {
            let (zone, area) = ("NO1".to_owned(), "north".to_owned());
            config.plans.limits.push(AreaLimit { zone, area, power_max: kw(1_000.0) });
        })
        .await;
        let book = Arc::new(Book::default());
        book.set("north", &CENTS);
        stage.app.set_price_book(Arc::clone(&book) as _);
        let asker = stage.client("a").await;
        let read = || stage.app.planner().loads_read();
        let policy = json!({ "isEnabled": true, "deadline": "23:00", "chargingDuration": "01:00" });
        let mut ids = Vec::new();
        for home in 0..homes {
            let user = format!("u{home}");
            let place = place(&stage, &asker, &user, "north").await;
            let new = NewDevice { location: Some(place), ..device(&user, DeviceKind::Charger) };
            ids.push(stage.link(&asker, &user, new).await);
        }
        // As a sandbox is filled: policies of devices that were not read yet, one by one.
        for id in &ids {
            let put = asker.put(&format!("/chargers/{id}/smart-charging-policy"), &policy).await;
            assert_eq!(put.status, 200);
        }
        assert_eq!(read(), 0, "nothing is asked for a device that nobody has heard of");
        for (home, id) in ids.iter().enumerate() {
            stage.fjord.says(&format!("u{home}"), Ok(reading(&charger())));
            poll_now(&stage.app, *id).await;
        }
        let due: Vec<_> = ids.iter().map(|id| (*id, Cause::Prices)).collect();
        plan_now(&stage.app, &due).await.unwrap();
        let planned = || {
            stage.app.cache().read(|tables| {
                ids.iter()
                    .filter(|id| {
                        tables.plans.plan(**id).is_some_and(|plan| plan.planned().is_some())
                    })
                    .count()
            })
        };
        assert_eq!((planned(), read()), (homes, 0), "no plan was there to be read");
        let before = read();
        plan_now(&stage.app, &due).await.unwrap();
        assert_eq!((planned(), read() - before), (homes, homes), "each plan is read once a turn");
    }
}

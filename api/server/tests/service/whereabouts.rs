//! Plans of a vehicle that no longer says where it is.
use axum::http::Method;
use serde_json::json;
use slackwater_control::device::command::Switch;
use slackwater_control::device::scope::{DeviceKind, Permission};
use slackwater_service::jobs::poller::poll_now;
use slackwater_service::plans::wanted;

use crate::harness::{self, On, six};
use crate::plans::{CENTS, car, flexible, settle};
use crate::priced::stage_with;

#[tokio::test]
async fn without_the_scope_nobody_learns_that_a_vehicle_is_there() {
    let (stage, _, asker) = stage_with(On::Sqlite, &CENTS).await;
    let (car_id, id) = flexible(&stage, &asker, 20.0).await;
    stage.fjord.says("u-vehicle", Ok(car(10.0, true, 80.0)));
    poll_now(&stage.app, car_id).await;
    settle(&stage.app).await;
    let device = || stage.app.cache().read(|t| t.any_device(car_id).cloned()).unwrap();
    assert_eq!(wanted(&stage.app, &device(), six()).switch, Some(Switch::Start));
    // Linked again, without where it is: the policy holds at a place and cannot know.
    let mut again = harness::device("u-vehicle", DeviceKind::Vehicle);
    again.scopes.remove(&Permission::ReadLocation);
    assert_eq!(stage.link(&asker, "u", again).await, car_id);
    let path = format!("/flex/vehicle-policies/{id}");
    let change = json!({ "batteryReserve": 20 });
    assert_eq!(asker.ask(Method::PATCH, &path, Some(&change), &[]).await.status, 200);
    assert_eq!(stage.events().await.last().unwrap().1["state"], "UNAVAILABLE");
    settle(&stage.app).await;
    assert_eq!(wanted(&stage.app, &device(), six()).switch, None);
}

#[tokio::test]
async fn a_plan_follows_when_a_vehicle_no_longer_says_where_it_is() {
    let (stage, _, asker) = stage_with(On::Sqlite, &CENTS).await;
    let (car_id, _) = flexible(&stage, &asker, 20.0).await;
    let is_planned = async || {
        settle(&stage.app).await;
        stage.app.cache().read(|tables| tables.plans.plan(car_id).unwrap().planned().is_some())
    };
    assert!(is_planned().await);
    let mut again = harness::device("u-vehicle", DeviceKind::Vehicle);
    again.scopes.remove(&Permission::ReadLocation);
    stage.link(&asker, "u", again).await;
    assert!(!is_planned().await);
    stage.link(&asker, "u", harness::device("u-vehicle", DeviceKind::Vehicle)).await;
    assert!(is_planned().await);
}

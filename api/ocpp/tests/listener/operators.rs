//! A charge point as operators see it, and what they do with it.
use serde_json::{Value, json};
use slackwater_ocpp::edge::enrolment::enrol;
use slackwater_ocpp::edge::files::Folder;
use slackwater_ocpp::edge::operator::ForgetError;
use slackwater_ocpp::facts::{Reply, Request, Reset, Trigger};

use crate::point::{House, IDENTITY};

async fn shown(house: &House) -> Value {
    house.vendor.hub().show_charger(IDENTITY).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_charger_is_shown_with_limits_and_last_messages() {
    let house = House::new(&json!({}));
    let hub = house.vendor.hub();
    assert_eq!(hub.show_charger("CP-2").await.unwrap(), None);
    let before = shown(&house).await;
    assert_eq!((&before["is_connected"], &before["heard_at"]), (&json!(false), &Value::Null));
    let mut point = house.connect().await.unwrap();
    point.boots().await;
    let after = shown(&house).await;
    assert_eq!((&after["is_connected"], &after["model"]["model"]), (&json!(true), &json!("Post")));
    let (connector, limits) = (&after["connectors"][0], &after["connectors"][0]["limits"]);
    assert_eq!((&connector["status"], &limits["wanted"]), (&json!("preparing"), &Value::Null));
    assert_eq!((&limits["default_amps"], &limits["has_default"]), (&json!(6.0), &json!(false)));
    let messages = after["messages"].as_array().unwrap();
    let text = |one: &Value, field: &str| one[field].as_str().unwrap().to_owned();
    let told = messages.iter().map(|one| (text(one, "from"), text(one, "what")));
    let expected = [
        ("charger", "BootNotification"),
        ("service", "Accepted"),
        ("charger", "StatusNotification"),
        ("service", "answered"),
    ];
    let expected = expected.map(|(from, what)| (from.to_owned(), what.to_owned()));
    assert_eq!(told.collect::<Vec<_>>(), expected);
    let listed = hub.list_chargers().await.unwrap();
    assert_eq!((listed.len(), &listed[0]["is_connected"]), (1, &json!(true)));
}

#[tokio::test]
async fn a_charger_whose_state_is_damaged_is_named_and_the_others_are_listed() {
    let house = House::new(&json!({}));
    let folder = house.folder.path();
    enrol(&Folder::new(folder), "CP-0", false).unwrap();
    std::fs::write(folder.join("CP-0.state.json"), "{").unwrap();
    let listed = house.vendor.hub().list_chargers().await.unwrap();
    assert_eq!((listed.len(), &listed[1]["identity"]), (2, &json!(IDENTITY)));
    assert_eq!((&listed[0]["identity"], &listed[1]["error"]), (&json!("CP-0"), &Value::Null));
    let error = listed[0]["error"].as_str().unwrap();
    assert!(error.contains("CP-0.state.json"), "{error}");
}

#[tokio::test]
async fn a_deviation_is_shown_with_its_source() {
    let house = House::new(&json!({}));
    let mut point = house.connect().await.unwrap();
    let model = json!({"chargePointVendor": "Fjord", "chargePointModel": "Post"});
    point.says("BootNotification", model).await;
    assert_eq!(shown(&house).await["deviations"], json!([]));
    let model = json!({"chargePointVendor": "ABB", "chargePointModel": "CDT_TACW7"});
    point.says("BootNotification", model).await;
    let found = shown(&house).await["deviations"].clone();
    assert_eq!(found[0]["found"], "catalogue", "{found}");
    assert!(found[0]["source"].as_str().unwrap().contains('#'), "{found}");
}

#[tokio::test]
async fn a_message_is_triggered_and_a_charger_restarted() {
    let house = House::new(&json!({}));
    let hub = house.vendor.hub();
    let trigger = Request::Trigger { message: Trigger::Heartbeat, connector: None };
    assert_eq!(hub.ask_charger("CP-2", trigger.clone()).await.unwrap(), None);
    assert_eq!(hub.ask_charger(IDENTITY, trigger.clone()).await.unwrap(), Some(Reply::Lost));
    let mut point = house.connect().await.unwrap();
    point.boots().await;
    let reset = Request::Reset { reset: Reset::Hard };
    for (request, action, fields, status) in [
        (trigger, "TriggerMessage", json!({"requestedMessage": "Heartbeat"}), "Accepted"),
        (reset, "Reset", json!({"type": "Hard"}), "Rejected"),
    ] {
        let charger = async {
            let asked = point.next().await.unwrap();
            assert_eq!((&asked[2], &asked[3]), (&json!(action), &fields));
            point.replies(&asked, json!({"status": status})).await;
        };
        let (reply, ()) = tokio::join!(hub.ask_charger(IDENTITY, request), charger);
        let expected = match status {
            "Accepted" => Reply::Accepted,
            _ => Reply::Refused { status: status.to_owned() },
        };
        assert_eq!(reply.unwrap(), Some(expected));
    }
}

#[tokio::test]
async fn a_charger_that_is_forgotten_is_cut_off_and_leaves_no_file() {
    let house = House::new(&json!({}));
    let hub = house.vendor.hub();
    let mut point = house.connect().await.unwrap();
    point.boots().await;
    assert!(hub.forget_charger(IDENTITY).await.unwrap());
    assert_eq!(point.next().await, None);
    assert!(house.connect().await.is_err());
    assert!(!hub.forget_charger(IDENTITY).await.unwrap());
    assert_eq!(std::fs::read_dir(house.folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_charger_that_counts_in_a_site_is_not_forgotten() {
    let house = House::new(&json!({"sites": {"garage": {
        "fuse_amps": 20, "base_amps": 14, "chargers": {"CP-1": {}}}}}));
    let refused = house.vendor.hub().forget_charger(IDENTITY).await.unwrap_err();
    assert!(matches!(&refused, ForgetError::InSite { site, .. } if site == "garage"), "{refused}");
    assert_eq!(shown(&house).await["site"], "garage");
    assert!(house.connect().await.is_ok());
}

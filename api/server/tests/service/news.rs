//! News of devices, which do not wait for the next poll.
use std::sync::Arc;

use chrono::TimeDelta;
use slackwater_control::device::scope::DeviceKind;
use slackwater_integration::reading::Reading;
use slackwater_integration::registry::Vendors;
use slackwater_integration::vendor::Vendor;
use slackwater_service::jobs::poller;
use slackwater_service::state::App;

use crate::harness::{Stage, device};
use crate::readings::{charger, reading};
use crate::vendor::Scripted;

/// The charger of a test.
const CHARGER: &str = "u-charger";

/// Waits until the service has taken all news, and polled what is due.
async fn settle(app: &App, vendor: &Scripted) {
    while !vendor.news().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    app.poller().idle(app.now()).await;
}

async fn step(app: &App, vendor: &Scripted, seconds: i64) {
    app.clock().step(TimeDelta::seconds(seconds)).unwrap();
    settle(app, vendor).await;
}

fn charger_that_is(is_reachable: bool) -> Reading {
    Reading { is_reachable: Some(is_reachable), ..reading(&charger()) }
}

#[tokio::test]
async fn a_charger_that_comes_back_is_seen_at_once_and_a_chattering_one_every_ten_seconds() {
    let stage = Stage::new().await;
    let (app, fjord) = (&stage.app, &*stage.fjord);
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", charger_that_is(false)).await;
    let is_reachable =
        async || asker.get(&format!("/chargers/{id}")).await.body["isReachable"].clone();
    tokio::spawn(poller::run(app.clone()));
    settle(app, fjord).await;
    step(app, fjord, 60).await;
    let before = fjord.polls();
    fjord.says(CHARGER, Ok(charger_that_is(true)));
    settle(app, fjord).await;
    assert_eq!((is_reachable().await, fjord.polls()), (false.into(), before), "nobody was told");
    fjord.tells(CHARGER, Ok(charger_that_is(true)));
    settle(app, fjord).await;
    assert_eq!((is_reachable().await, fjord.polls()), (true.into(), before + 1));
    for second in 0..30 {
        fjord.tells(CHARGER, Ok(charger_that_is(second % 2 == 1)));
        settle(app, fjord).await;
        step(app, fjord, 1).await;
    }
    assert_eq!(fjord.polls(), before + 4);
    // The last that it told is not lost.
    assert_eq!(is_reachable().await, true);
}

#[tokio::test]
async fn news_reach_each_user_of_a_device_and_nobody_else() {
    let stage = Stage::new().await;
    let (app, fjord) = (&stage.app, &*stage.fjord);
    let asker = stage.client("a").await;
    stage.live(&asker, "u", charger_that_is(true)).await;
    fjord.says("v-charger", Ok(charger_that_is(true)));
    for (user, name) in [("v", CHARGER), ("w", "v-charger")] {
        stage.link(&asker, user, device(name, DeviceKind::Charger)).await;
    }
    tokio::spawn(poller::run(app.clone()));
    settle(app, fjord).await;
    step(app, fjord, 60).await;
    let before = fjord.polls();
    fjord.tells(CHARGER, Ok(charger_that_is(false)));
    fjord.tells("a charger that nobody has linked", Ok(charger_that_is(true)));
    settle(app, fjord).await;
    assert_eq!(fjord.polls(), before + 2);
    assert!(asker.delete("/users/v").await.status < 300);
    step(app, fjord, 60).await;
    let before = fjord.polls();
    fjord.tells(CHARGER, Ok(charger_that_is(true)));
    settle(app, fjord).await;
    assert_eq!(fjord.polls(), before + 1);
}

#[tokio::test]
async fn news_of_a_manufacturer_that_is_set_later_are_followed() {
    let stage = Stage::new().await;
    let app = &stage.app;
    let asker = stage.client("a").await;
    stage.live(&asker, "u", charger_that_is(true)).await;
    tokio::spawn(poller::run(app.clone()));
    settle(app, &stage.fjord).await;
    step(app, &stage.fjord, 60).await;
    let later = Scripted::new("FJORD");
    let vendor = Arc::clone(&later) as Arc<dyn Vendor>;
    app.set_vendors(Vendors::from([(vendor.profile().code.clone(), vendor)]));
    later.tells(CHARGER, Ok(charger_that_is(false)));
    settle(app, &later).await;
    assert_eq!(later.polls(), 1);
}

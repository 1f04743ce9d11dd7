//! Plans that devices follow.
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use slackwater_control::device::command::{Command, Refusal, Switch};
use slackwater_engine::prices::curve::{PriceCurve, Slot};
use slackwater_engine::prices::resolve::{Sources, resolve};
use slackwater_engine::units::per_kwh;
use slackwater_integration::reading::Reading;
use slackwater_service::cache::price_lookup::{PriceBook, Priced, Purpose};
use slackwater_service::control::orders::OrderError;
use slackwater_service::control::orders::order;
use slackwater_service::linking::connect::{NewUser, connect};
use slackwater_store::actions::Origin;
use slackwater_store::locations::{Location, LocationFacts};
use tokio::time::{Duration, timeout};
use uuid::Uuid;

use crate::actions;
use crate::harness::{On, Stage, six};
use crate::readings::{charger, reading};

const START: Command = Command::Charge(Switch::Start);
const STOP: Command = Command::Charge(Switch::Stop);

/// From six o'clock on, the second half hour is the cheapest.
#[derive(Debug)]
struct Book;

impl PriceBook for Book {
    fn resolved(
        &self,
        _: &Location,
        _: Purpose,
        (from, to): (DateTime<Utc>, DateTime<Utc>),
    ) -> Priced {
        let half = |n: i32| six() + TimeDelta::minutes(30) * n;
        let slots: Vec<Slot> = (0..)
            .zip([0.3, 0.05, 0.3, 0.3])
            .map(|(n, price)| Slot { start: half(n), end: half(n + 1), price: per_kwh(price) })
            .collect();
        let curve = PriceCurve::new(&slots).unwrap();
        let market = Sources { market: Some(&curve), ..Sources::default() };
        Priced { prices: resolve(market, from, to), currency: "NOK".to_owned() }
    }

    fn alike(&self, _: &Location) -> Option<String> {
        Some("north".to_owned())
    }
}

fn standing(state: &str) -> Reading {
    let mut shown = charger();
    shown["facts"]["charger"]["charging"]["power_state"] = state.into();
    shown["facts"]["charger"]["charging"]["is_charging"] = (state == "charging").into();
    reading(&shown)
}

/// A bug at one device is no reason to leave it alone for ever.
#[tokio::test]
async fn a_turn_that_panics_gives_its_device_back() {
    let stage = Stage::new().await;
    let (asker, _, door) = actions::scene(&stage).await;
    let _job = stage.work();
    stage.fjord.breaks(true);
    assert_eq!(asker.post(&door, Some(&actions::ten())).await.status, 200);
    timeout(Duration::from_mins(1), stage.settle()).await.unwrap();
    assert_eq!(stage.fjord.sent("u-charger").len(), 0);
    stage.fjord.breaks(false);
    stage.step(60).await;
    assert_eq!(stage.fjord.sent("u-charger").len(), 1);
}

#[tokio::test]
async fn a_plan_is_followed_and_refuses_commands() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        stage.app.set_price_book(Arc::new(Book));
        let asker = stage.client("a").await;
        let place = Uuid::new_v4();
        let (zone_id, area_id) = (Some("NO1".to_owned()), Some("north".to_owned()));
        let facts = LocationFacts { time_zone: None, position: None, zone_id, area_id };
        let location =
            Location { id: place, client_id: asker.id.clone(), user_id: "u".to_owned(), facts };
        let user = NewUser { id: "u".to_owned(), accounts: Vec::new(), locations: vec![location] };
        connect(&stage.app, &asker.id, vec![user]).await.unwrap();
        let id = stage.live(&asker, "u", standing("charging")).await;
        asker.put(&format!("/chargers/{id}"), &json!({ "chargingLocationId": place })).await;
        let _job = stage.work();

        let outcomes = ["stopped", "charging", "stopped"];
        stage.fjord.obeys("u-charger", outcomes.map(|state| Ok(Some(standing(state)))));
        let policy = json!({ "isEnabled": true, "deadline": "19:30", "chargingDuration": "00:30" });
        let door = format!("/chargers/{id}/smart-charging-policy");
        assert_eq!(asker.put(&door, &policy).await.status, 200);
        // Dear now: it stops.
        stage.settle().await;
        stage.step(30).await;
        assert_eq!(stage.fjord.sent("u-charger"), [STOP]);
        let refused = order(&stage.app, id, START, Origin::Client).await.unwrap_err();
        assert!(matches!(refused, OrderError::Refused(Refusal::Controlled { .. })), "{refused}");
        // Cheap from half past six to seven.
        stage.step(1770).await;
        assert_eq!(stage.fjord.sent("u-charger"), [STOP, START]);
        stage.step(30).await;
        stage.step(1740).await;
        assert_eq!(stage.fjord.sent("u-charger"), [STOP, START], "once each");
        stage.step(30).await;
        assert_eq!(stage.fjord.sent("u-charger"), [STOP, START, STOP]);
        stage.step(30).await;
        let told: Vec<String> = stage
            .events()
            .await
            .iter()
            .map(|(_, body)| body["state"].as_str().unwrap_or("-").to_owned())
            .collect();
        assert_eq!(told, ["PENDING", "CONFIRMED"].repeat(3));
    }
}

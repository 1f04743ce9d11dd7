//! Plans for devices that take less than they may, or nothing.
use std::sync::Arc;

use chrono::TimeDelta;
use serde_json::json;
use slackwater_control::device::command::Switch;
use slackwater_control::policy::ask::{Cause, NoRequest};
use slackwater_control::policy::need::ChargingNeed;
use slackwater_engine::units::kw;
use slackwater_integration::reading::{Facts, Reading};
use slackwater_service::jobs::poller::poll_now;
use slackwater_service::plans::patching::set_vehicle;
use slackwater_service::plans::planner::plan_now;
use slackwater_service::plans::wanted;
use slackwater_store::plans::Outcome;

use crate::harness::{On, Stage, six};
use crate::plans::{CENTS, by_eleven, car, settle};
use crate::priced::{at, charger_at, place, stage_with};

#[tokio::test]
async fn a_charger_whose_vehicle_does_not_want_to_charge_is_left_alone() {
    let (stage, _, asker) = stage_with(On::Sqlite, &CENTS).await;
    let home = place(&stage, &asker, "u", "north").await;
    let id = charger_at(&stage, &asker, "u", home).await;
    let policy = json!({ "isEnabled": true, "deadline": "23:00", "chargingDuration": "02:00" });
    asker.put(&format!("/chargers/{id}/smart-charging-policy"), &policy).await;
    let device = stage.app.cache().read(|t| t.any_device(id).cloned()).unwrap();
    let now = async |minutes| {
        let ahead = at(0) + TimeDelta::minutes(minutes) - stage.app.now();
        stage.app.clock().step(ahead).unwrap();
        settle(&stage.app).await;
        wanted(&stage.app, &device, stage.app.now()).switch
    };
    // Told to charge from eight to nine and from ten to eleven, its vehicle never does.
    assert_eq!([now(0).await, now(124).await], [Switch::Stop, Switch::Start].map(Some));
    assert_eq!([now(125).await, now(184).await], [Some(Switch::Stop); 2]);
    // It is asked again after an hour: by then its two hours are all that is left.
    assert_eq!([now(186).await, now(192).await], [Switch::Start, Switch::Stop].map(Some));
    // After the deadline it waits for the prices of the next, and stays off.
    assert_eq!(now(301).await, Some(Switch::Stop));
    let plan = stage.app.cache().read(|t| t.plans.plan(id).cloned()).unwrap();
    assert_eq!(plan.state.outcome, Outcome::Idle(NoRequest::AwaitingPrices));
}

#[tokio::test]
async fn a_charger_is_told_what_its_plan_still_wants() {
    let (stage, _, asker) = stage_with(On::Sqlite, &CENTS).await;
    let home = place(&stage, &asker, "u", "north").await;
    let id = charger_at(&stage, &asker, "u", home).await;
    let told = async || {
        settle(&stage.app).await;
        poll_now(&stage.app, id).await;
        stage.fjord.need_of("u-charger")
    };
    assert_eq!(told().await, None);
    let mut policy = json!({ "isEnabled": true, "deadline": "23:00", "chargingDuration": "02:00" });
    let door = format!("/chargers/{id}/smart-charging-policy");
    asker.put(&door, &policy).await;
    let need = ChargingNeed { charging: TimeDelta::hours(2), leaves: at(5) };
    assert_eq!(told().await, Some(need));
    policy["isEnabled"] = json!(false);
    asker.put(&door, &policy).await;
    assert_eq!(told().await, None);
}

/// A car at 3.75 kW of 11, so many minutes after six.
fn slow(minutes: i64) -> Reading {
    let mut slow = car(50.0, true, 60.0);
    slow.at = six() + TimeDelta::minutes(minutes);
    if let Facts::Vehicle(facts) = &mut slow.facts {
        facts.charging.is_charging = Some(true);
        facts.charging.charge_rate = Some(kw(3.75));
    }
    slow
}

#[tokio::test]
async fn a_vehicle_that_takes_less_than_it_may_is_given_the_time_for_it() {
    for on in [On::Sqlite, On::Postgres] {
        let (stage, book, asker) = stage_with(on, &CENTS).await;
        place(&stage, &asker, "u", "north").await;
        let id = stage.live(&asker, "u", car(50.0, true, 60.0)).await;
        let device = |stage: &Stage| stage.app.cache().read(|t| t.any_device(id).cloned()).unwrap();
        set_vehicle(&stage.app, &device(&stage), by_eleven()).await.unwrap();
        let starts = async |stage: &Stage| {
            settle(&stage.app).await;
            let plan = stage.app.cache().read(|t| t.plans.plan(id).cloned()).unwrap();
            let intervals = plan.planned().map(|planned| planned.summary.intervals.clone());
            intervals.unwrap().iter().map(|interval| interval.start).collect::<Vec<_>>()
        };
        // 7.5 kWh are 41 minutes at 11 kW, and two hours at what it takes.
        for minutes in [0, 2] {
            assert_eq!(starts(&stage).await, [at(4)]);
            stage.fjord.says("u-vehicle", Ok(slow(minutes)));
            poll_now(&stage.app, id).await;
        }
        assert_eq!(starts(&stage).await, [at(2), at(4)]);
        let stage = stage.restarted().await;
        stage.app.set_price_book(Arc::clone(&book) as _);
        plan_now(&stage.app, &[(id, Cause::Policy)]).await.unwrap();
        assert_eq!(starts(&stage).await, [at(2), at(4)]);
    }
}

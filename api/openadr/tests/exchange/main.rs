//! Turns of the program between a VTN and a service.
#![expect(clippy::unwrap_used, reason = "helpers of tests are blunt, too")]

mod world;

use std::time::Duration;

use serde_json::{Value, json};
use slackwater_control::grid_order::limit::{GridOrder, GridReason};
use slackwater_engine::units::kw;

use world::{World, event, follow, second};

const FREE: (Option<f64>, GridReason) = (None, GridReason::Free);

fn ordered(limit_kw: f64) -> (Option<f64>, GridReason) {
    (Some(limit_kw), GridReason::Ordered)
}

#[tokio::test]
async fn an_event_is_an_order_from_its_start_to_its_end() {
    let mut world = World::start().await;
    world.servers().events = vec![event("e1", 1, 40, 60, &[4.2, 10.0])];
    assert_eq!(world.turn(0).await, Duration::from_secs(30));
    assert_eq!(world.in_force(), FREE);
    // The next turn is at the start of the event.
    assert_eq!(world.turn(30).await, Duration::from_secs(10));
    assert_eq!(world.turn(40).await, Duration::from_secs(30));
    assert_eq!(world.in_force(), ordered(4.2));
    assert_eq!(world.turn(70).await, Duration::from_secs(30));
    world.turn(100).await;
    assert_eq!(world.in_force(), ordered(10.0));
    world.turn(130).await;
    world.turn(160).await;
    assert_eq!(world.in_force(), FREE);
    // The first order ends with the event: no moment without a limit lies between the two intervals.
    let order = |limit| Some(GridOrder { limit: kw(limit), until: Some(second(160)) });
    let servers = world.servers();
    assert_eq!(servers.messages, [order(4.2), order(10.0)]);
    assert_eq!((servers.heartbeats, servers.tokens), (7, 1));
}

#[tokio::test]
async fn a_deleted_or_shortened_event_ends_its_order() {
    let mut world = World::start().await;
    world.servers().events = vec![event("e1", 1, 0, 3600, &[4.2]), event("e2", 5, 0, 7200, &[8.0])];
    world.turn(0).await;
    assert_eq!(world.in_force(), ordered(4.2));
    world.servers().events.remove(0);
    world.turn(30).await;
    assert_eq!(world.in_force(), ordered(8.0));
    world.servers().events[0]["intervals"] = Value::Null;
    world.turn(60).await;
    assert_eq!(world.in_force(), FREE);
    assert_eq!(world.servers().messages.last(), Some(&None));
    world.servers().events = vec![event("e3", 5, 30, 60, &[6.0])];
    world.turn(70).await;
    assert_eq!(world.in_force(), ordered(6.0));
    world.servers().events.clear();
    world.turn(80).await;
    assert_eq!(world.in_force(), FREE);
}

#[tokio::test]
async fn the_event_with_the_lowest_number_wins_where_events_overlap() {
    let mut world = World::start().await;
    world.servers().events = vec![event("e1", 7, 0, 90, &[4.2]), event("e2", 0, 30, 30, &[50.0])];
    let mut found = Vec::new();
    for at in [0, 30, 60, 90] {
        world.turn(at).await;
        found.push(world.in_force());
    }
    assert_eq!(found, [ordered(4.2), ordered(50.0), ordered(4.2), FREE]);
}

#[tokio::test]
async fn without_a_vtn_no_heartbeat_is_sent_and_the_fail_safe_acts_within_120_s() {
    let mut world = World::start().await;
    world.servers().events = vec![event("e1", 1, 0, 60, &[20.0, 10.0, 15.0])];
    world.turn(0).await;
    world.turn(30).await;
    world.servers().is_vtn_down = true;
    // The limits that are known go on: the turn at 60 s orders the second one.
    assert_eq!(world.turn(35).await, Duration::from_secs(5));
    assert_eq!(world.in_force(), ordered(20.0));
    world.turn(60).await;
    assert_eq!(world.in_force(), ordered(10.0));
    world.turn(149).await;
    assert_eq!((world.in_force(), world.heartbeats()), (ordered(15.0), 2));
    world.turn(150).await;
    assert_eq!(world.in_force(), (Some(3.0), GridReason::FailSafe));
    // Back again, with an event that the service keeps already.
    world.servers().is_vtn_down = false;
    world.turn(160).await;
    assert_eq!((world.in_force(), world.heartbeats()), (ordered(15.0), 3));
}

#[tokio::test]
async fn a_vtn_that_nobody_serves_leaves_the_service_alone() {
    let world = World::start().await;
    // Nobody listens on port 1 of this machine.
    let mut follower = follow("http://127.0.0.1:1", "http://127.0.0.1:1");
    assert_eq!(follower.follow_once(|| second(0)).await, Duration::from_secs(5));
    assert_eq!((world.heartbeats(), world.in_force()), (0, FREE));
}

#[tokio::test]
async fn a_service_that_was_down_has_the_order_after_the_next_turn() {
    let mut world = World::start().await;
    world.servers().events = vec![event("e1", 1, 0, 3600, &[4.2])];
    world.servers().is_service_down = true;
    assert_eq!(world.turn(0).await, Duration::from_secs(5));
    assert_eq!(world.turn(5).await, Duration::from_secs(5));
    assert_eq!(world.in_force(), FREE);
    world.servers().is_service_down = false;
    assert_eq!(world.turn(10).await, Duration::from_secs(30));
    assert_eq!((world.in_force(), world.heartbeats()), (ordered(4.2), 1));
}

#[tokio::test]
async fn an_absurd_limit_is_silence_and_the_order_before_it_stays() {
    for value in [json!([-3.5]), json!([1e12]), json!(["4"]), json!([])] {
        let mut world = World::start().await;
        world.servers().events = vec![event("e1", 1, 0, 3600, &[4.2])];
        world.turn(0).await;
        let mut second_event = event("e2", 0, 0, 3600, &[0.0]);
        second_event["intervals"][0]["payloads"][0]["values"] = value.clone();
        world.servers().events.push(second_event);
        world.turn(30).await;
        assert_eq!((world.in_force(), world.heartbeats()), (ordered(4.2), 1), "{value}");
        world.servers().now = second(120);
        assert_eq!(world.in_force(), (Some(3.0), GridReason::FailSafe), "{value}");
    }
}

#[tokio::test]
async fn a_clock_that_is_set_within_an_interval_decides_by_the_new_time() {
    let mut world = World::start().await;
    world.servers().events = vec![event("e1", 1, 600, 600, &[4.2, 10.0])];
    world.turn(700).await;
    assert_eq!(world.in_force(), ordered(4.2));
    // Forward over the end of the interval, back again, and before the event.
    world.turn(1300).await;
    assert_eq!(world.in_force(), ordered(10.0));
    world.turn(650).await;
    assert_eq!(world.in_force(), ordered(4.2));
    assert_eq!(world.turn(590).await, Duration::from_secs(10));
    assert_eq!(world.in_force(), FREE);
}

#[tokio::test]
async fn a_token_is_asked_for_again_when_the_vtn_refuses_it() {
    let mut world = World::start().await;
    world.servers().events = vec![event("e1", 1, 0, 3600, &[4.2])];
    world.turn(0).await;
    world.turn(30).await;
    assert_eq!((world.tokens(), world.heartbeats()), (1, 2));
    // Another token was given: that of the program is not good any more.
    world.servers().tokens = 7;
    assert_eq!(world.turn(60).await, Duration::from_secs(5));
    world.turn(65).await;
    assert_eq!((world.tokens(), world.heartbeats()), (8, 3));
}

#[tokio::test]
async fn all_pages_of_events_are_read_and_other_programs_are_not_followed() {
    let mut world = World::start().await;
    let past = (0..50).map(|place| event(&format!("past-{place}"), 1, -600, 60, &[1.0]));
    let mut other = event("other", 0, 0, 3600, &[0.5]);
    other["programID"] = json!("p2");
    world.servers().events = past.chain([other, event("last", 9, 0, 3600, &[4.2])]).collect();
    world.turn(0).await;
    assert_eq!(world.in_force(), ordered(4.2));
}

#[tokio::test]
async fn a_vtn_that_gives_fewer_events_at_once_is_read_to_its_end() {
    let mut world = World::start().await;
    world.servers().page_max = 25;
    let past = (0..60).map(|place| event(&format!("past-{place}"), 1, -600, 60, &[1.0]));
    world.servers().events = past.chain([event("last", 9, 0, 3600, &[4.2])]).collect();
    world.turn(0).await;
    assert_eq!(world.in_force(), ordered(4.2));
}

#[tokio::test]
async fn a_vtn_that_never_returns_leaves_no_order_behind_the_fail_safe() {
    let mut world = World::start().await;
    world.servers().events = vec![event("e1", 1, 0, 36_000, &[0.0])];
    world.turn(0).await;
    world.servers().is_vtn_down = true;
    world.turn(120).await;
    assert_eq!(world.in_force(), (Some(3.0), GridReason::FailSafe));
    for at in [7319, 7320, 7325, 9000] {
        world.turn(at).await;
    }
    assert_eq!(world.in_force(), FREE);
    // The order is in force again with the heartbeat.
    world.servers().is_vtn_down = false;
    world.turn(9030).await;
    assert_eq!(world.in_force(), ordered(0.0));
}

#[tokio::test]
async fn an_order_that_the_service_refuses_is_followed_by_no_heartbeat() {
    let mut world = World::start().await;
    world.servers().events = vec![event("e1", 1, 0, 3600, &[4.2])];
    world.servers().refuses_orders = true;
    for at in [0, 30, 60, 90] {
        world.turn(at).await;
    }
    assert_eq!(world.heartbeats(), 0);
    world.servers().now = second(120);
    assert_eq!(world.in_force(), (Some(3.0), GridReason::FailSafe));
    world.servers().refuses_orders = false;
    world.turn(125).await;
    assert_eq!((world.in_force(), world.heartbeats()), (ordered(4.2), 1));
}

//! Limits of a control box, passed to a service by the program.
#![expect(clippy::unwrap_used, reason = "helpers of tests are blunt, too")]

mod control_box;
mod world;

use std::time::Duration;

use eebus::usecases::limitation::LimitWrite;
use slackwater_control::grid_order::limit::{GridOrder, GridReason};
use slackwater_engine::units::kw;

use world::{World, holds_within, second};

const FREE: (Option<f64>, GridReason) = (None, GridReason::Free);

const FAIL_SAFE: (Option<f64>, GridReason) = (Some(3.0), GridReason::FailSafe);

fn ordered(limit_kw: f64) -> (Option<f64>, GridReason) {
    (Some(limit_kw), GridReason::Ordered)
}

/// World in which a limit of the box is in force.
async fn limited(limit: LimitWrite) -> World {
    let mut world = World::start(Some(limit)).await;
    world.connect_box();
    world.until_in_force(30, ordered(limit.watts / 1000.0)).await;
    assert!(holds_within(1, || !world.answers().is_empty()).await);
    assert_eq!(world.answers()[0], (limit.watts, true));
    world
}

#[tokio::test(start_paused = true)]
async fn a_limit_for_900_seconds_is_an_order_that_ends_by_itself() {
    let world = limited(LimitWrite::active_for(4200.0, Duration::from_mins(15))).await;
    // The guard of `eebus` writes such a limit again, since the system does not report the time that is left.
    world.pass_time(1).await;
    world.box_mut().is_done = true;
    let last = world.server().messages.last().copied();
    let Some(Some(GridOrder { limit, until: Some(until) })) = last else { panic!("{last:?}") };
    assert_eq!(limit, kw(4.2));
    // Counted from its arrival, in the seconds before.
    let length = (until - second(world.elapsed())).num_seconds();
    assert!((890..=900).contains(&length), "{length} s");
    let (messages, heartbeats) = (world.message_count(), world.heartbeat_count());
    world.pass_time(length.cast_unsigned() - 5).await;
    assert_eq!(world.in_force(), ordered(4.2));
    world.until_in_force(7, FREE).await;
    // The box beats once a minute, and each beat is passed on. The end needs no message.
    world.pass_time(60).await;
    assert!((15..=16).contains(&(world.heartbeat_count() - heartbeats)));
    assert_eq!((world.in_force(), world.message_count()), (FREE, messages));
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_not_active_any_more_is_a_release() {
    let world = limited(LimitWrite::active(4200.0)).await;
    assert_eq!(world.server().messages, [Some(GridOrder { limit: kw(4.2), until: None })]);
    world.box_mut().limit = Some(LimitWrite::deactivated());
    world.until_in_force(5, FREE).await;
    assert!(holds_within(1, || world.answers() == [(4200.0, true), (0.0, true)]).await);
    assert_eq!(world.message_count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_box_without_a_limit_releases_what_was_ordered_before() {
    let mut world = World::start(None).await;
    world.connect_box();
    assert!(holds_within(30, || world.answers() == [(0.0, true)]).await);
    assert_eq!((world.in_force(), world.message_count()), (FREE, 0));
    assert_eq!(world.heartbeat_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_silent_box_has_no_heartbeat_and_the_fail_safe_acts_within_120_s() {
    let mut world = limited(LimitWrite::active(4200.0)).await;
    world.pass_time(70).await;
    world.box_mut().is_silent = true;
    let silent_at = world.elapsed();
    world.until_in_force(120, FAIL_SAFE).await;
    let last = world.server().heartbeats.last().copied().unwrap();
    assert!(last <= silent_at, "{last} s, silent at {silent_at} s");
    assert!((119..=121).contains(&(world.elapsed() - last)), "{} s", world.elapsed() - last);
    // Nothing was sent: the order is kept behind the fail-safe, and holds when the box is back.
    world.pass_time(60).await;
    assert_eq!((world.in_force(), world.message_count()), (FAIL_SAFE, 1));
    world.connect_box();
    world.until_in_force(30, ordered(4.2)).await;
    assert!(holds_within(1, || world.answers().len() == 2).await);
    // Its heartbeats are heard again.
    let count = world.heartbeat_count();
    world.pass_time(130).await;
    assert_eq!(world.heartbeat_count(), count + 2);
    assert_eq!(world.in_force(), ordered(4.2));
}

#[tokio::test(start_paused = true)]
async fn a_limit_is_acknowledged_when_the_service_is_back_in_time() {
    let world = limited(LimitWrite::active(4200.0)).await;
    world.server().is_down = true;
    world.box_mut().limit = Some(LimitWrite::active(2000.0));
    world.pass_time(5).await;
    assert_eq!(world.answers().len(), 1);
    world.server().is_down = false;
    world.until_in_force(3, ordered(2.0)).await;
    assert!(holds_within(1, || world.answers().last() == Some(&(2000.0, true))).await);
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_the_service_does_not_take_is_refused_and_the_newest_wins() {
    let world = limited(LimitWrite::active(4200.0)).await;
    world.server().is_down = true;
    world.box_mut().limit = Some(LimitWrite::active(2000.0));
    assert!(holds_within(10, || world.answers().last() == Some(&(2000.0, false))).await);
    // A refused limit is not followed, also when the service is back.
    world.box_mut().limit = Some(LimitWrite::active(1000.0));
    assert!(holds_within(310, || world.answers().last() == Some(&(1000.0, false))).await);
    world.server().is_down = false;
    // The box writes it again after a minute.
    world.until_in_force(70, ordered(1.0)).await;
    assert!(holds_within(1, || world.answers().last() == Some(&(1000.0, true))).await);
    let limits: Vec<_> =
        world.server().messages.iter().flatten().map(|order| order.limit).collect();
    assert!(!limits.contains(&kw(2.0)), "{limits:?}");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_lost_the_order_has_it_again_with_the_next_heartbeat() {
    let world = limited(LimitWrite::active(4200.0)).await;
    world.server().forget();
    assert_eq!(world.in_force(), FREE);
    world.until_in_force(61, ordered(4.2)).await;
    // No heartbeat is passed on while the service is away.
    world.server().is_down = true;
    let count = world.heartbeat_count();
    world.pass_time(200).await;
    assert_eq!((world.heartbeat_count(), world.in_force()), (count, FAIL_SAFE));
    world.server().is_down = false;
    world.until_in_force(61, ordered(4.2)).await;
}

#[tokio::test(start_paused = true)]
async fn an_absurd_limit_is_refused_and_the_order_before_it_stays() {
    let world = limited(LimitWrite::active(4200.0)).await;
    world.box_mut().limit = Some(LimitWrite::active(1e12));
    assert!(holds_within(5, || world.answers().last() == Some(&(1e12, false))).await);
    assert_eq!((world.in_force(), world.message_count()), (ordered(4.2), 1));
}

#[tokio::test(start_paused = true)]
async fn a_box_that_is_not_trusted_is_refused() {
    let mut world = World::start(Some(LimitWrite::active(4200.0))).await;
    world.connect_stranger();
    assert!(holds_within(60, || world.box_mut().failures > 1).await);
    assert_eq!(world.answers(), []);
    assert_eq!((world.message_count(), world.heartbeat_count()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_program_that_starts_again_has_its_key_and_the_box_returns() {
    let mut world = limited(LimitWrite::active(4200.0)).await;
    let ski = world.ski;
    world.start_program().await;
    assert_eq!(world.ski, ski);
    assert!(holds_within(60, || world.answers() == [(4200.0, true), (4200.0, true)]).await);
    // The service kept the order: it was not sent again.
    assert_eq!((world.in_force(), world.message_count()), (ordered(4.2), 1));
    let count = world.heartbeat_count();
    world.pass_time(130).await;
    assert_eq!(world.heartbeat_count(), count + 2);
}

#[tokio::test(start_paused = true)]
async fn a_fail_safe_limit_is_taken_where_the_service_keeps_it_and_refused_below() {
    let world = limited(LimitWrite::active(4200.0)).await;
    for (watts, is_taken) in [(3000.0, true), (5000.0, true), (2999.0, false), (-1.0, false)] {
        world.box_mut().fail_safe = Some(watts);
        assert!(holds_within(5, || !world.box_mut().fail_safe_answers.is_empty()).await);
        assert_eq!(world.box_mut().fail_safe_answers.pop(), Some(is_taken), "{watts} W");
    }
}

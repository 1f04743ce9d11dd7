//! Policies, what is known of devices, and the cycles that they are in.
use chrono::TimeDelta;
use expect_test::expect_file;
use slackwater_control::policy::ask::{Cause, NoRequest};
use slackwater_control::policy::assumptions::Assumptions;
use slackwater_control::policy::charger::{
    Change, ChargerFacts, ChargerPatch, ChargerPolicy, ChargingInterval, IntervalStatus,
};
use slackwater_control::policy::cycle::{Commitment, Cycle};
use slackwater_control::policy::flex::{DayRequest, FlexPatch, FlexRequest, ReserveRule};
use slackwater_control::policy::flex_facts::FlexFacts;
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_engine::units::{kw, kwh, percent};

use crate::at;
use crate::examples::Examples;

fn cycles(examples: &mut Examples) {
    let promise = Commitment { by: at(780), target: Some(percent(80.5)) };
    examples.add("Promise", &promise);
    examples.add("Promise", &Commitment { target: None, ..promise });
    let cycle = Cycle {
        since: at(0),
        promise: Some(promise),
        charged: TimeDelta::microseconds(1_234_567_890),
        seen_at: at(90),
        was_charging: true,
        told_since: Some(at(60)),
        declined_at: Some(at(30)),
        is_further: true,
    };
    examples.add("Cycle", &cycle);
    let (promise, told_since, declined_at) = (None, None, None);
    examples.add("Cycle", &Cycle { promise, told_since, declined_at, ..cycle });
    let idle = [
        NoRequest::Off,
        NoRequest::NotReachable,
        NoRequest::NotPluggedIn,
        NoRequest::Away,
        NoRequest::NothingAsked,
        NoRequest::SocUnknown,
        NoRequest::CapacityUnknown,
        NoRequest::AwaitingPrices,
        NoRequest::ReserveAtAnyPrice,
    ];
    examples.add("Idle", &idle);
    let causes = [
        Cause::Policy,
        Cause::PluggedIn,
        Cause::Unplugged,
        Cause::Reading,
        Cause::Prices,
        Cause::Review,
    ];
    examples.add("Cause", &causes);
}

fn chargers(examples: &mut Examples) {
    let clock = |text| HourMinute::parse(text).expect("a time of day");
    let policy = ChargerPolicy {
        is_enabled: true,
        deadline: Some(clock("07:30")),
        charging_duration: Some(clock("02:05")),
    };
    examples.add("ChargerPolicy", &policy);
    let patch = ChargerPatch {
        is_enabled: Change::Set(false),
        deadline: Change::Set(Some(clock("06:00"))),
        charging_duration: Change::Keep,
    };
    examples.add("ChargerPatch", &patch);
    let facts = ChargerFacts {
        is_enabled: true,
        is_reachable: Some(true),
        is_plugged_in: Some(false),
        is_charging: None,
        are_prices_known: true,
    };
    examples.add("ChargerFacts", &facts);
    let status = Some(IntervalStatus::InProgress);
    examples.add("ChargingInterval", &ChargingInterval { start: at(0), end: at(15), status });
}

fn flex(examples: &mut Examples) {
    let day = DayRequest { deadline: Some("07:30".into()), target_percent: Some(72.5) };
    let schedule = || [("monday".to_owned(), day.clone())].into();
    let (reserve_percent, observed_limit_percent) = (15.0, 80.0);
    let request = FlexRequest { reserve_percent, schedule: schedule(), observed_limit_percent };
    examples.add("FlexRequest", &request);
    let patch = FlexPatch { reserve_percent: Some(reserve_percent), schedule: schedule() };
    examples.add("FlexPatch", &patch);
    examples.add("ReserveRule", &[ReserveRule::Range, ReserveRule::Fixed(percent(10.0))]);
    let facts = FlexFacts {
        policy_location: "home".into(),
        vehicle_location: Some("work".into()),
        is_plugged_in: Some(true),
        soc: Some(percent(33.25)),
        charge_limit: Some(percent(80.0)),
    };
    examples.add("FlexFacts", &facts);
    let assumptions = Assumptions {
        power_max: kw(11.0),
        capacity: Some(kwh(60.0)),
        efficiency: 0.9,
        soc: Some(percent(50.0)),
        fill_when_negative: true,
    };
    examples.add("Assumptions", &assumptions);
}

#[test]
fn policies_are_written_as_they_were() {
    let mut examples = Examples::default();
    cycles(&mut examples);
    chargers(&mut examples);
    flex(&mut examples);
    expect_file!["../../golden/json/policy.txt"].assert_eq(&examples.0);
}

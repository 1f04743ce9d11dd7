//! A charge point of a site: its limits are decided there, and its model is tried out.
use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use slackwater_control::device::command::{Command, Switch};
use slackwater_control::policy::need::ChargingNeed;
use slackwater_control::quirk::kind::Quirk;
use slackwater_engine::units::{Current, Power, amps, kw, volts};
use slackwater_ocpp::site::balance::Member;
use slackwater_ocpp::site::plan::{BaseLoad, Bounds, Site, SiteCharger};
use slackwater_ocpp::station::state::{Balancing, Station};
use slackwater_ocpp::version::Version;

use crate::rig::{Rig, meter_values, status};
use crate::unknown_models::deviations;

/// A site of one charger behind a fuse.
fn site(fuse: f64) -> Site {
    let identity = "CP-1".to_owned();
    Site {
        name: "garage".to_owned(),
        fuse: [amps(fuse); 3],
        base: [Current::ZERO; 3],
        meter: None,
        base_age_max: TimeDelta::seconds(120),
        turn: TimeDelta::seconds(900),
        grid_voltage: volts(230.0),
        chargers: vec![SiteCharger { identity, phases: [true; 3], connectors: 1, priority: 0 }],
    }
}

/// A charger of 1.6 that has taken its default in a site, and has answered all questions.
fn in_site(probes: bool) -> Rig {
    let mut rig = Rig::booted();
    let clock_error_max = TimeDelta::seconds(20);
    rig.rules.balancing = Some(Balancing { connectors: 1, clock_error_max, probes });
    // It was started long ago.
    rig.station.join(&rig.rules, rig.now - TimeDelta::seconds(3600), rig.now);
    rig.wait(10);
    assert_eq!(limit_of(&rig.asked[0].2), ("TxDefaultProfile".to_owned(), 0, 6.0));
    rig.replies(&json!({"status": "Accepted"}));
    let key = |key: &str, value: &str| json!({"key": key, "value": value, "readonly": true});
    rig.replies(&json!({"configurationKey": [
        key("SupportedFeatureProfiles", "Core,SmartCharging"),
        key("ChargingScheduleAllowedChargingRateUnit", "Current"),
    ]}));
    rig
}

/// Purpose, stack level and limit of a profile.
fn limit_of(payload: &Value) -> (String, i64, f64) {
    let profile = &payload["csChargingProfiles"];
    let limit = &profile["chargingSchedule"]["chargingSchedulePeriod"][0]["limit"];
    let purpose = profile["chargingProfilePurpose"].as_str().unwrap().to_owned();
    (purpose, profile["stackLevel"].as_i64().unwrap(), limit.as_f64().unwrap())
}

/// Balances, and lets a second pass.
fn balance(rig: &mut Rig, site: &Site) -> [Current; 3] {
    balance_within(rig, site, Bounds::default())
}

/// Balances within bounds, and lets a second pass.
fn balance_within(rig: &mut Rig, site: &Site, bounds: Bounds) -> [Current; 3] {
    let mut members = [Member { rules: &rig.rules, station: &mut rig.station }];
    let counted = site.balance(&mut members, bounds, rig.now);
    rig.wait(1);
    counted
}

/// Limits that are written after a balancing; all are accepted.
fn written(rig: &mut Rig, site: &Site) -> Vec<f64> {
    written_within(rig, site, Bounds::default())
}

/// Limits that are written after a balancing within bounds; all are accepted.
fn written_within(rig: &mut Rig, site: &Site, bounds: Bounds) -> Vec<f64> {
    balance_within(rig, site, bounds);
    let seen = rig.accepts_all();
    let set = seen.iter().filter(|(action, _)| action == "SetChargingProfile");
    set.map(|(_, payload)| limit_of(payload).2).collect()
}

#[test]
fn what_the_service_wants_is_an_upper_bound() {
    let mut rig = in_site(false);
    let site = site(13.0);
    rig.starts(1000);
    rig.says("StatusNotification", &status(1, "Charging"));
    assert_eq!(written(&mut rig, &site), [13.0], "the room of the fuse");
    rig.command(Command::MaxCurrent(amps(10.0)), 1);
    assert_eq!(rig.asked, [], "nothing is sent but by the balancing");
    assert_eq!(written(&mut rig, &site), [10.0]);
    balance(&mut rig, &site);
    assert_eq!(rig.facts().max_current, Some(amps(10.0)));
    // A wish beyond the fuse is kept to as well as the fuse allows.
    rig.command(Command::MaxCurrent(amps(16.0)), 2);
    assert_eq!(written(&mut rig, &site).len(), 0, "a raise waits");
    rig.wait(30);
    assert_eq!(written(&mut rig, &site), [13.0]);
    balance(&mut rig, &site);
    assert_eq!(rig.facts().max_current, Some(amps(16.0)));
    rig.command(Command::Charge(Switch::Stop), 3);
    assert_eq!(written(&mut rig, &site), [0.0]);
    rig.command(Command::Charge(Switch::Start), 4);
    assert_eq!(written(&mut rig, &site), [13.0]);
}

#[test]
fn a_grid_order_lowers_the_limit_at_once_and_a_surplus_comes_on_top() {
    let mut rig = in_site(false);
    let site = site(16.0);
    let under = |rig: &Rig, grid: Option<Power>, base: f64| {
        let measured = BaseLoad { at: rig.now, currents: [amps(base); 3] };
        Bounds { measured: Some(measured), grid, ..Bounds::default() }
    };
    rig.starts(1000);
    rig.says("StatusNotification", &status(1, "Charging"));
    let bounds = under(&rig, None, 0.0);
    assert_eq!(written_within(&mut rig, &site, bounds), [16.0]);
    // 6.9 kW are 30 A at 230 V, 10 A on each of three phases.
    let bounds = under(&rig, Some(kw(6.9)), 0.0);
    assert_eq!(written_within(&mut rig, &site, bounds), [10.0]);
    let bounds = under(&rig, Some(kw(6.9)), 2.0);
    assert_eq!(written_within(&mut rig, &site, bounds), [8.0], "the other load counts");
    let bounds = under(&rig, Some(kw(1.4)), 0.0);
    assert_eq!(written_within(&mut rig, &site, bounds), [0.0], "below the lowest current");
    rig.wait(30);
    let bounds = under(&rig, Some(kw(1.4)), -8.0);
    assert_eq!(written_within(&mut rig, &site, bounds), [10.0], "24 A of the sun on top of 6");
    rig.wait(30);
    let bounds = under(&rig, None, 0.0);
    assert_eq!(written_within(&mut rig, &site, bounds), [16.0], "the release");
}

#[test]
fn the_least_power_of_an_order_is_kept_whatever_else_draws() {
    let mut rig = in_site(false);
    let site = site(16.0);
    let under = |rig: &Rig, grid_kw: f64, least_kw: f64| {
        let measured = BaseLoad { at: rig.now, currents: [amps(6.0); 3] };
        Bounds { measured: Some(measured), grid: Some(kw(grid_kw)), least: kw(least_kw) }
    };
    rig.starts(1000);
    rig.says("StatusNotification", &status(1, "Charging"));
    // 4.2 kW are 18.26 A at 230 V: as much as the other load takes.
    let bounds = under(&rig, 4.2, 0.0);
    assert_eq!(written_within(&mut rig, &site, bounds), [0.0]);
    rig.wait(30);
    let bounds = under(&rig, 4.2, 4.2);
    assert_eq!(written_within(&mut rig, &site, bounds), [6.0]);
    rig.wait(30);
    let bounds = under(&rig, 11.04, 4.2);
    assert_eq!(written_within(&mut rig, &site, bounds), [10.0], "the order leaves more");
}

#[test]
fn a_limit_is_sent_once_with_the_expiry_of_the_ledger() {
    let mut rig = in_site(false);
    rig.starts(1000);
    let decided_at = rig.now;
    balance(&mut rig, &site(13.0));
    let (_, _, payload) = rig.asked.last().unwrap().clone();
    let end: DateTime<Utc> =
        payload["csChargingProfiles"]["validTo"].as_str().unwrap().parse().unwrap();
    assert_eq!(end, decided_at + TimeDelta::seconds(300));
    // Without an answer it counts until then, and no other takes its place before the time for it.
    balance(&mut rig, &site(8.0));
    assert_eq!(rig.asked.len(), 1);
    let may_draw = |rig: &Rig, seconds| {
        let balanced = rig.station.balanced(1).unwrap();
        balanced.ledger.may_draw(decided_at + TimeDelta::seconds(seconds))
    };
    rig.wait(60);
    assert_eq!(may_draw(&rig, 319), amps(13.0));
    assert_eq!(may_draw(&rig, 320), amps(6.0));
}

#[test]
fn a_start_raises_nothing_until_earlier_limits_have_ended() {
    let mut rig = in_site(false);
    rig.starts(1000);
    assert_eq!(written(&mut rig, &site(13.0)), [13.0]);
    rig.restarts();
    let until = rig.station.limits_until(&rig.rules, rig.now);
    rig.station.join(&rig.rules, until, rig.now);
    let (at, sampled) = (rig.time(), json!([{"value": "1000", "unit": "Wh"}]));
    rig.says("MeterValues", &meter_values(&at, &sampled));
    rig.wait(10);
    assert_eq!(written(&mut rig, &site(13.0)), [6.0]);
    rig.now = until + TimeDelta::seconds(19);
    assert_eq!(written(&mut rig, &site(13.0)), [6.0], "it is written again");
    rig.wait(31);
    assert_eq!(written(&mut rig, &site(13.0)), [13.0]);
}

#[test]
fn limits_wait_for_the_disk_once_and_are_counted_from_that_file() {
    let mut rig = in_site(false);
    rig.starts(1000);
    balance(&mut rig, &site(13.0));
    assert!(rig.was_urgent, "the file has no lifetime yet");
    let file = serde_json::to_string(&rig.station).unwrap();
    rig.replies(&json!({"status": "Accepted"}));
    assert!(!rig.was_urgent);
    rig.accepts_all();
    rig.wait(200);
    assert_eq!(written(&mut rig, &site(9.0)), [9.0]);
    balance(&mut rig, &site(8.0));
    assert!(!rig.was_urgent);
    let (_, action, payload) = rig.asked.last().unwrap();
    assert_eq!((action.as_str(), limit_of(payload).2), ("SetChargingProfile", 8.0));
    // The service is killed, and starts with a shorter lifetime from the file of long ago.
    let expiry = rig.now - TimeDelta::seconds(1) + rig.rules.limit_lifetime;
    rig.rules.limit_lifetime = TimeDelta::seconds(60);
    for pause in [1, 20] {
        rig.now += TimeDelta::seconds(pause);
        rig.station = serde_json::from_str(&file).unwrap();
        let until = rig.station.limits_until(&rig.rules, rig.now);
        assert!(until >= expiry, "{until} is before {expiry}");
        rig.station.join(&rig.rules, until, rig.now);
        rig.reconnects();
        rig.wait(10);
    }
    // The next limit has to be kept: the file has the lifetime of before.
    rig.says("MeterValues", &meter_values(&rig.time(), &json!([{"value": "1", "unit": "Wh"}])));
    balance(&mut rig, &site(13.0));
    assert!(rig.was_urgent);
    let kept: Station = serde_json::from_value(json!(rig.station)).unwrap();
    assert!(kept.limits_until(&rig.rules, rig.now) >= expiry);
}

#[test]
fn the_charger_whose_plan_needs_more_gets_more() {
    let mut rigs = [in_site(false), in_site(false)];
    for rig in &mut rigs {
        rig.starts(1000);
        rig.says("StatusNotification", &status(1, "Charging"));
    }
    let mut both = site(20.0);
    both.chargers.push(SiteCharger { identity: "CP-2".to_owned(), ..both.chargers[0].clone() });
    let written = |rigs: &mut [Rig; 2]| {
        let now = rigs[0].now;
        let mut members: Vec<Member<'_>> = (rigs.iter_mut())
            .map(|rig| Member { rules: &rig.rules, station: &mut rig.station })
            .collect();
        both.balance(&mut members, Bounds::default(), now);
        rigs.each_mut().map(|rig| {
            rig.wait(1);
            let seen = rig.accepts_all();
            let set = seen.iter().filter(|(action, _)| action == "SetChargingProfile");
            set.map(|(_, payload)| limit_of(payload).2).collect::<Vec<f64>>()
        })
    };
    let now = rigs[0].now;
    let hours = TimeDelta::hours;
    let need = |charging, left| {
        Some(ChargingNeed { charging: hours(charging), leaves: now + hours(left) })
    };
    // 16 A for three hours of four are 12 A, and for one of 16 they are 1 A.
    rigs[0].station.note_need(1, need(3, 4));
    rigs[1].station.note_need(1, need(1, 16));
    assert_eq!(written(&mut rigs), [[12.0], [8.0]]);
    // Without a plan the room is divided equally.
    rigs[0].station.note_need(1, None);
    assert_eq!(written(&mut rigs), [vec![10.0], vec![]]);
    for rig in &mut rigs {
        rig.wait(30);
    }
    assert_eq!(written(&mut rigs), [vec![], vec![10.0]]);
}

/// Answers to the trials of a model, of which the last is the limit after the end.
fn tried(after_end: f64) -> Rig {
    let mut rig = in_site(true);
    let composite = |limit: f64| {
        json!({"status": "Accepted", "connectorId": 1, "chargingSchedule": {
            "chargingRateUnit": "A", "chargingSchedulePeriod": [{"startPeriod": 0, "limit": limit}]}})
    };
    assert_eq!(balance(&mut rig, &site(13.0)), [amps(16.0); 3], "all of its current counts");
    for expected in [("TxDefaultProfile", 0, 6.0), ("TxDefaultProfile", 1, 10.0)] {
        let (purpose, level, limit) = limit_of(&rig.asked.last().unwrap().2);
        assert_eq!((&*purpose, level, limit), expected);
        rig.replies(&json!({"status": "Accepted"}));
    }
    rig.replies(&composite(10.0));
    rig.wait(89);
    assert_eq!(rig.asked, []);
    rig.wait(1);
    assert_eq!(rig.asked.last().unwrap().1, "GetCompositeSchedule");
    rig.replies(&composite(after_end));
    assert_eq!(rig.asked.last().unwrap().1, "ClearChargingProfile");
    rig.replies(&json!({"status": "Accepted"}));
    assert_eq!(limit_of(&rig.asked.last().unwrap().2), ("TxDefaultProfile".to_owned(), 0, 6.0));
    rig.replies(&json!({"status": "Accepted"}));
    rig
}

/// Current that counts at any time, after a start of the service.
fn counted_after_restart(rig: &mut Rig) -> Current {
    rig.restarts();
    rig.station.join(&rig.rules, rig.now - TimeDelta::seconds(3600), rig.now);
    balance(rig, &site(13.0))[0]
}

#[test]
fn a_model_that_keeps_its_limits_counts_with_its_default_once_it_was_tried() {
    let mut rig = tried(6.0);
    assert_eq!(balance(&mut rig, &site(13.0))[0], amps(6.0));
    assert_eq!(counted_after_restart(&mut rig), amps(6.0));
}

#[test]
fn a_model_whose_limits_do_not_end_counts_with_all_of_its_current() {
    let mut rig = tried(10.0);
    assert_eq!(balance(&mut rig, &site(13.0))[0], amps(16.0));
    let file = serde_json::to_value(&rig.station).unwrap();
    assert_eq!(file["trials"]["found"], json!([Quirk::ExpiryIgnored.as_str()]));
    let shown = json!([{"deviation": Quirk::ExpiryIgnored.as_str(), "found": "trial"}]);
    assert_eq!(deviations(&rig), shown);
    assert_eq!(counted_after_restart(&mut rig), amps(16.0));
    assert_eq!(deviations(&rig), shown);
    // Other firmware is another model.
    let model = json!({"chargePointVendor": "Fjord", "chargePointModel": "Post",
        "firmwareVersion": "2.0"});
    rig.says("BootNotification", &model);
    rig.rules.balancing.as_mut().unwrap().probes = false;
    assert!(!rig.station.limits_are_unsafe(&rig.rules));
    assert_eq!(deviations(&rig), json!([]));
}

#[test]
fn a_model_that_refuses_each_form_of_its_trials_counts_with_all_of_its_current() {
    let mut rig = in_site(true);
    let mut forms = BTreeSet::new();
    while let Some((_, _, payload)) = rig.asked.last().filter(|one| one.1 == "SetChargingProfile") {
        let profile = &payload["csChargingProfiles"];
        let unit = &profile["chargingSchedule"]["chargingRateUnit"];
        forms.insert(
            json!([unit, profile["chargingProfileKind"], profile["stackLevel"]]).to_string(),
        );
        assert_eq!(profile["validTo"], Value::Null, "no limit above a default that is refused");
        rig.replies(&json!({"status": "Rejected"}));
    }
    // Two units, absolute and relative, on two stack levels.
    assert_eq!(forms.len(), 8, "{forms:?}");
    assert_eq!(rig.asked.last().unwrap().1, "ClearChargingProfile");
    rig.replies(&json!({"status": "Accepted"}));
    let shown = json!([{"deviation": Quirk::ProfileIgnored.as_str(), "found": "trial"}]);
    assert_eq!(deviations(&rig), shown);
    assert_eq!(balance(&mut rig, &site(13.0))[0], amps(16.0));
}

#[test]
fn a_vehicle_ends_the_trials() {
    let mut rig = in_site(true);
    rig.replies(&json!({"status": "Accepted"}));
    rig.says("StatusNotification", &status(1, "Preparing"));
    // The trial that is under way is answered; then its profiles are removed.
    rig.replies(&json!({"status": "Accepted"}));
    assert_eq!(rig.asked.last().unwrap().1, "ClearChargingProfile");
    rig.replies(&json!({"status": "Accepted"}));
    assert_eq!(limit_of(&rig.asked.last().unwrap().2), ("TxDefaultProfile".to_owned(), 0, 6.0));
    rig.replies(&json!({"status": "Accepted"}));
    rig.wait(1);
    assert_eq!(rig.asked, []);
    assert_eq!(balance(&mut rig, &site(13.0))[0], amps(16.0), "it is not known yet");
    // They begin anew when it is idle.
    rig.accepts_all();
    rig.says("StatusNotification", &status(1, "Available"));
    rig.wait(1);
    assert_eq!(limit_of(&rig.asked.last().unwrap().2), ("TxDefaultProfile".to_owned(), 0, 6.0));
}

#[test]
fn a_known_model_is_not_tried_and_counts_as_it_is_known() {
    for (vendor, firmware, expected) in [("go-e", "56.2", 16.0), ("go-e", "55.0", 6.0)] {
        let mut rig = in_site(false);
        rig.rules.balancing.as_mut().unwrap().probes = true;
        rig.says(
            "BootNotification",
            &json!({"chargePointVendor": vendor, "chargePointModel": "x",
                "firmwareVersion": firmware}),
        );
        assert_eq!(balance(&mut rig, &site(13.0))[0], amps(expected), "{vendor} {firmware}");
    }
}

/// evcc-io/evcc#15028: a model that takes absolute profiles only.
#[test]
fn the_default_is_absolute_where_no_other_is_taken() {
    let mut rig = in_site(false);
    let boot = json!({"chargePointVendor": "ZJBENY", "chargePointModel": "x"});
    rig.says("BootNotification", &boot);
    rig.wait(10);
    let profile = &rig.asked.last().unwrap().2["csChargingProfiles"];
    assert_eq!(profile["chargingProfileKind"], "Absolute");
    assert_eq!(profile["validTo"], Value::Null);
    assert!(profile["chargingSchedule"]["startSchedule"].is_string());
}

#[test]
fn trials_of_a_station_of_2_0_1() {
    let mut rig = Rig::new(Version::V201);
    let clock_error_max = TimeDelta::seconds(20);
    rig.rules.balancing = Some(Balancing { connectors: 1, clock_error_max, probes: true });
    rig.station.join(&rig.rules, rig.now, rig.now);
    let station = json!({"vendorName": "Fjord", "model": "Post"});
    rig.says("BootNotification", &json!({"reason": "PowerUp", "chargingStation": station}));
    let free = json!({"timestamp": rig.time(), "connectorStatus": "Available", "evseId": 1,
        "connectorId": 1});
    rig.says("StatusNotification", &free);
    rig.wait(10);
    let actions: Vec<String> = std::iter::from_fn(|| {
        let action = rig.asked.last()?.1.clone();
        let answer = match action.as_str() {
            "GetVariables" => json!({"getVariableResult": []}),
            "GetCompositeSchedule" => json!({"status": "Rejected"}),
            _ => json!({"status": "Accepted"}),
        };
        rig.replies(&answer);
        Some(action)
    })
    .collect();
    let set = "SetChargingProfile";
    let expected =
        [set, "GetVariables", set, set, "GetCompositeSchedule", "ClearChargingProfile", set];
    assert_eq!(actions, expected);
}

#[test]
fn the_meter_of_the_charge_point_as_a_whole_is_kept() {
    let mut rig = in_site(false);
    let current = |phase: &str, amps: &str| json!({"value": amps, "measurand": "Current.Import", "unit": "A", "phase": phase});
    let mut values = meter_values(&rig.time(), &json!([current("L1", "4.5"), current("L2", "7")]));
    values["connectorId"] = json!(0);
    rig.says("MeterValues", &values);
    let measured = rig.station.currents[&0];
    assert_eq!((measured.at, measured.current), (rig.now, amps(7.0)));
    // It is the load of the other devices for two minutes; then the highest counts that is expected.
    let load = BaseLoad { at: measured.at, currents: [measured.current; 3] };
    let site = Site { base: [amps(9.0); 3], ..site(25.0) };
    let base_at = |seconds| site.base_at(Some(load), rig.now + TimeDelta::seconds(seconds))[0];
    assert_eq!([-1, 0, 120, 121].map(base_at), [9.0, 7.0, 7.0, 9.0].map(amps));
}

#[test]
fn a_charger_that_reports_more_than_it_accepted_counts_with_all_of_its_current() {
    let mut rig = in_site(false);
    rig.starts(1000);
    let schedule = |limit: f64| {
        json!({"status": "Accepted", "connectorId": 1, "chargingSchedule": {
            "chargingRateUnit": "A", "chargingSchedulePeriod": [{"startPeriod": 0, "limit": limit}]}})
    };
    // Up to its default it only begins late, by its own clock.
    for (reported, expected) in [(13.0, 6.0), (6.0, 6.0), (15.0, 16.0)] {
        balance(&mut rig, &site(13.0));
        rig.replies(&json!({"status": "Accepted"}));
        rig.replies(&schedule(reported));
        assert_eq!(balance(&mut rig, &site(13.0))[0], amps(expected), "{reported} A");
        rig.wait(200);
    }
}

/// It accepts its limits, reports them, and charges as it likes: its meter shows that.
#[test]
fn a_charger_that_draws_more_than_it_accepted_counts_with_all_of_its_current() {
    let mut rig = in_site(false);
    let site = site(8.0);
    let says = |rig: &mut Rig, watts: &str| {
        let power = json!([{"value": watts, "measurand": "Power.Active.Import", "unit": "W"}]);
        rig.says("MeterValues", &meter_values(&rig.time(), &power));
        balance(rig, &site)[0]
    };
    rig.starts(1000);
    rig.says("StatusNotification", &status(1, "Charging"));
    assert_eq!(written(&mut rig, &site), [8.0]);
    for (seconds, watts, counted) in [
        (10, "5600", 6.0),
        (90, "6900", 6.0),     // 8 A at 253 V, and the meter is not exact
        (10, "11000000", 6.0), // no power of this charger
        (10, "11000", 16.0),
        (10, "1400", 16.0), // the next vehicle may take all again
    ] {
        rig.wait(seconds);
        assert_eq!(says(&mut rig, watts), amps(counted), "{watts} W");
        rig.accepts_all();
    }
    let model = json!({"chargePointVendor": "Fjord", "chargePointModel": "Post"});
    rig.says("BootNotification", &model);
    assert_eq!(says(&mut rig, "1400"), amps(6.0));
}

/// A vehicle takes some time to follow a lower limit.
#[test]
fn a_vehicle_that_has_yet_to_follow_does_not_draw_more_than_it_may() {
    let mut rig = in_site(false);
    rig.starts(1000);
    rig.says("StatusNotification", &status(1, "Charging"));
    assert_eq!(written(&mut rig, &site(16.0)), [16.0]);
    rig.wait(90);
    assert_eq!(written(&mut rig, &site(6.0)), [6.0]);
    for (seconds, counted) in [(0, 6.0), (57, 6.0), (3, 16.0)] {
        rig.wait(seconds);
        let power = json!([{"value": "11000", "measurand": "Power.Active.Import", "unit": "W"}]);
        rig.says("MeterValues", &meter_values(&rig.time(), &power));
        assert_eq!(balance(&mut rig, &site(6.0))[0], amps(counted));
        rig.accepts_all();
    }
}

/// A charge point that was offline delivers what its meter had shown: that is not the load of now.
#[test]
fn a_load_that_comes_late_is_no_load_of_now() {
    let mut rig = in_site(false);
    let current = |amps: &str| json!([{"value": amps, "measurand": "Current.Import", "unit": "A"}]);
    let says = |rig: &mut Rig, at: DateTime<Utc>, shown: &str| {
        rig.says("MeterValues", &meter_values(&at.to_rfc3339(), &current(shown)));
        let measured = rig.station.currents[&1];
        (measured.at, measured.current)
    };
    let (now, before) = (rig.now, rig.now - TimeDelta::hours(1));
    assert_eq!(says(&mut rig, before, "1"), (before, amps(1.0)));
    assert_eq!(says(&mut rig, now, "20"), (now, amps(20.0)));
    assert_eq!(says(&mut rig, before, "2"), (now, amps(20.0)), "older than what is known");
}

/// A limit would begin an hour late, when nobody counts it any more: by a clock that is late there is none
/// above the default, and as long as nothing is known of the clock.
#[test]
fn no_limit_is_above_the_default_before_the_clock_has_shown_to_be_right() {
    let mut rig = in_site(false);
    let site = site(16.0);
    let says = |rig: &mut Rig, behind: i64| {
        let at = (rig.now - TimeDelta::seconds(behind)).to_rfc3339();
        rig.says("MeterValues", &meter_values(&at, &json!([{"value": "1000", "unit": "Wh"}])));
    };
    rig.says("StatusNotification", &status(1, "Charging"));
    assert_eq!(written(&mut rig, &site), [6.0], "nothing is known");
    for (behind, expected) in [
        (3600, vec![]),      // late
        (21, vec![]),        // the message or the clock
        (-3600, vec![16.0]), // ahead: it expires early
        (0, vec![]),
        (60, vec![]),      // a message that waited
        (3600, vec![6.0]), // set back
        (20, vec![16.0]),  // within the error allowed
    ] {
        rig.wait(31);
        says(&mut rig, behind);
        assert_eq!(written(&mut rig, &site), expected, "{behind} s late");
    }
    assert_eq!(rig.station.clock_lag(), Some(TimeDelta::seconds(20)));
    // A restart may have set the clock.
    let model = json!({"chargePointVendor": "Fjord", "chargePointModel": "Post"});
    rig.says("BootNotification", &model);
    assert_eq!(rig.station.clock_lag(), None);
}

/// Limits of a charge point whose clock is late seem to be ignored.
#[test]
fn a_model_is_not_tried_out_by_a_late_clock() {
    let mut rig = in_site(true);
    let free = |rig: &Rig, behind: i64| {
        let mut free = status(1, "Available");
        free["timestamp"] = json!((rig.now - TimeDelta::seconds(behind)).to_rfc3339());
        free
    };
    rig.reconnects();
    let late = free(&rig, 3600);
    rig.says("StatusNotification", &late);
    rig.wait(10);
    assert_eq!(limit_of(&rig.asked[0].2), ("TxDefaultProfile".to_owned(), 0, 6.0));
    rig.replies(&json!({"status": "Accepted"}));
    rig.wait(60);
    assert_eq!(rig.asked, []);
    let right = free(&rig, 0);
    rig.says("StatusNotification", &right);
    assert_eq!(limit_of(&rig.asked[0].2), ("TxDefaultProfile".to_owned(), 0, 6.0));
}

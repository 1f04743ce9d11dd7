//! Comfort policies: refusals, plans, settings and the clock.
use super::*;
use slackwater_engine::prices::curve::Slot;
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_engine::units::{kw, kw_per_k, per_kwh};

fn policy() -> ComfortPolicy {
    let text = r#"{
        "comfort": {"min_celsius": 20, "max_celsius": 23},
        "set_backs": [
            {"from": "22:00", "to": "06:00", "band": {"min_celsius": 17, "max_celsius": 23}}
        ],
        "capacity_kwh_per_k": 5.0,
        "loss_kw_per_k": 0.2,
        "power_max_kw": 2.0,
        "cop": [{"outdoor_celsius": 5, "cop": 3.0}],
        "outdoor_celsius": [5]
    }"#;
    serde_json::from_str(text).unwrap()
}

fn utc(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// Prices of hours from `start` on.
fn hours(start: DateTime<Utc>, prices: &[f64]) -> PriceCurve {
    let slot = |(hour, &price): (usize, &f64)| {
        let start = start + TimeDelta::hours(hour as i64);
        Slot { start, end: start + TimeDelta::hours(1), price: per_kwh(price) }
    };
    PriceCurve::new(&prices.iter().enumerate().map(slot).collect::<Vec<_>>()).unwrap()
}

fn facts(temperature: f64, at: DateTime<Utc>, time_zone: Tz) -> RoomFacts {
    RoomFacts { temperature: Some((celsius(temperature), at)), time_zone }
}

#[track_caller]
fn check(change: impl FnOnce(&mut ComfortPolicy), expected: &str) {
    let mut policy = policy();
    change(&mut policy);
    assert_eq!(policy.check().unwrap_err().to_string(), expected);
}

#[test]
fn refusals_name_field_value_and_unit() {
    assert_eq!(policy().check(), Ok(()));
    check(|p| p.capacity = None, "capacity_kwh_per_k: give it, or building in place of it");
    let flat = Building { construction: Construction::Medium, floor_area_m2: 80.0 };
    check(|p| p.building = Some(flat), "capacity_kwh_per_k: give it, or building in place of it");
    check(
        |p| (p.capacity, p.building) = (None, Some(Building { floor_area_m2: 0.0, ..flat })),
        "building.floor_area_m2 is 0 m²; it is above 0 m² and at most 1000000 m²",
    );
    check(
        |p| p.comfort.min = celsius(-400.0),
        "comfort.min_celsius is -400 °C; it lies between -90 and 150 °C: temperatures are in degrees \
         Celsius",
    );
    check(
        |p| p.capacity = Some(kwh_per_k(0.0)),
        "capacity_kwh_per_k is 0 kWh/K; it is above 0 kWh/K",
    );
    check(
        |p| p.power_max = kw(-1.0),
        "power_max_kw is -1 kW; it is above 0 kW and at most 1000000 kW",
    );
    check(|p| p.loss = kw_per_k(-0.1), "loss_kw_per_k is -0.1 kW/K; it is 0 kW/K or more");
    check(
        |p| p.outdoor.clear(),
        "outdoor_celsius has 0 values; it has 1, or 24 for the hours of the day",
    );
    check(
        |p| p.deadband = celsius(-0.5),
        "deadband_celsius is -0.5 °C; it is 0 °C or more and at most 5 °C",
    );
    check(
        |p| p.setpoint_step = celsius(0.0),
        "setpoint_step_celsius is 0 °C; it is above 0 °C and at most 5 °C",
    );
    check(
        |p| p.comfort.max = celsius(20.5),
        "comfort is 20 to 20.5 °C; with deadband_celsius of 0.5 °C on both sides it is 1 °C wide or \
         more",
    );
    check(
        |p| p.set_backs[0].band.max = celsius(10.0),
        "set_backs[0]: min_celsius is 17 °C, above max_celsius, 10 °C",
    );
    check(
        |p| p.set_backs[0].to = HourMinute::parse("22:00").unwrap(),
        "set_backs[0] is from 22:00 to 22:00; it has no length",
    );
    check(|p| p.cop[0].cop = 0.0, "cop[0] is 0; it is above 0 and at most 100");
    check(
        |p| p.step_back_minutes = 20_000,
        "step_back_minutes is 20000 min; it is at most 10080 min",
    );
    let unknown = serde_json::from_str::<ComfortPolicy>(r#"{"comfrt": 1}"#).unwrap_err();
    assert!(unknown.to_string().starts_with("unknown field `comfrt`"), "{unknown}");
}

#[test]
fn a_building_has_the_heat_capacity_of_its_construction() {
    let mut policy = policy();
    let building = Building { construction: Construction::Medium, floor_area_m2: 80.0 };
    (policy.capacity, policy.building) = (None, Some(building));
    assert_eq!(policy.check(), Ok(()));
    // 165 kJ/K·m² · 80 m² / 3,600 kJ/kWh.
    assert!((policy.heat_capacity().as_kwh_per_k() - 3.666_667).abs() < 1e-6);
}

#[test]
fn the_unit_runs_in_the_cheap_hour_before_the_dear_ones() {
    let now = utc("2026-01-05T10:00:00Z");
    let policy = ComfortPolicy { loss: kw_per_k(0.08), ..policy() };
    let prices = hours(now, &[0.10, 0.50, 0.50, 0.50]);
    let room = facts(20.5, now, Tz::UTC);
    let plan = policy.plan(&room, &prices, now).unwrap();
    let run: f64 = plan.slots.iter().take(4).map(|slot| slot.used.as_kwh()).sum();
    assert!((run - plan.used.as_kwh()).abs() < 1e-9 && run > 1.0, "{run} kWh");
    let setting = policy.find_setting(&plan, now).unwrap();
    assert!(setting.is_running);
    // At full power towards the upper edge less the dead band; later at rest at the lower one.
    assert_eq!(setting.hold.heat_setpoint, Some(celsius(22.5)));
    assert_eq!(setting.until, utc("2026-01-05T10:15:00Z"));
    let later = policy.find_setting(&plan, utc("2026-01-05T11:20:00Z")).unwrap();
    assert_eq!((later.is_running, later.hold.heat_setpoint), (false, Some(celsius(20.5))));
    assert_eq!(later.until, utc("2026-01-05T11:30:00Z"));
    assert_eq!(policy.find_setting(&plan, utc("2026-01-05T14:00:00Z")), None);
}

#[test]
fn a_modulating_unit_is_held_at_the_planned_temperature() {
    let now = utc("2026-01-05T10:00:00Z");
    let policy = ComfortPolicy { is_modulating: true, ..policy() };
    let prices = hours(now, &[0.10, 0.50]);
    let plan = policy.plan(&facts(20.5, now, Tz::UTC), &prices, now).unwrap();
    let slot = plan.slots.iter().find(|slot| slot.used > Energy::ZERO).unwrap();
    let setting = policy.find_setting(&plan, slot.start).unwrap();
    let setpoint = setting.hold.heat_setpoint.unwrap().as_celsius();
    let planned = slot.temperature.as_celsius();
    assert!(setpoint >= planned - 1e-6 && setpoint < planned + 0.5, "{setpoint} for {planned}");
}

#[test]
fn a_unit_that_cools_is_the_mirror_image() {
    let now = utc("2026-07-06T10:00:00Z");
    let policy = ComfortPolicy {
        mode: HeatMode::Cool,
        outdoor: vec![celsius(32.0)],
        set_backs: Vec::new(),
        ..policy()
    };
    let prices = hours(now, &[0.10, 0.50, 0.50, 0.50]);
    let plan = policy.plan(&facts(22.5, now, Tz::UTC), &prices, now).unwrap();
    let first = policy.find_setting(&plan, now).unwrap();
    assert_eq!((first.is_running, first.hold.cool_setpoint), (true, Some(celsius(20.5))));
    assert_eq!((first.hold.mode, first.hold.heat_setpoint), (Mode::Cool, None));
    let last = policy.find_setting(&plan, utc("2026-01-06T13:50:00Z"));
    assert_eq!(last, None);
    let rest = policy.find_setting(&plan, utc("2026-07-06T13:50:00Z")).unwrap();
    assert_eq!((rest.is_running, rest.hold.cool_setpoint), (false, Some(celsius(22.5))));
}

#[test]
fn without_prices_or_a_fresh_temperature_the_thermostat_keeps_the_band() {
    let now = utc("2026-01-05T10:07:00Z");
    let policy = policy();
    let rests = |room: RoomFacts, prices: &PriceCurve| {
        let plan = policy.plan(&room, prices, now).unwrap();
        let setting = policy.find_setting(&plan, now).unwrap();
        assert_eq!((setting.is_running, setting.hold.heat_setpoint), (false, Some(celsius(20.5))));
        assert_eq!(setting.until, utc("2026-01-05T10:15:00Z"));
    };
    rests(facts(20.5, now, Tz::UTC), &PriceCurve::default());
    let prices = hours(utc("2026-01-05T10:00:00Z"), &[0.10, 0.50, 0.50]);
    rests(facts(20.5, now - TimeDelta::minutes(61), Tz::UTC), &prices);
    rests(RoomFacts { temperature: None, time_zone: Tz::UTC }, &prices);
}

#[test]
fn set_backs_follow_the_clock_when_it_changes() {
    let policy = policy();
    let zone = chrono_tz::Europe::Amsterdam;
    // The set-back ends at 06:00: 05:00 UTC in winter, 04:00 UTC on the morning of the change.
    for (start, end) in [
        ("2026-03-28T03:30:00Z", "2026-03-28T05:00:00Z"),
        ("2026-03-29T02:30:00Z", "2026-03-29T04:00:00Z"),
        ("2026-10-25T03:30:00Z", "2026-10-25T05:00:00Z"),
    ] {
        let now = utc(start);
        let plan = policy.plan(&facts(20.5, now, zone), &hours(now, &[0.2; 4]), now).unwrap();
        let low = |at: DateTime<Utc>| {
            let index = plan.slots.partition_point(|slot| slot.end <= at);
            plan.slots[index].temperature_min
        };
        // The last quarter ends at the change, where the tighter band counts.
        assert_eq!(low(utc(end) - TimeDelta::minutes(20)), celsius(17.5), "{start}");
        assert_eq!(low(utc(end)), celsius(20.5), "{start}");
    }
}

#[test]
fn outdoor_temperatures_follow_the_hours_of_the_location() {
    let now = utc("2026-01-05T10:50:00Z");
    let outdoor = (0..24).map(|hour| celsius(f64::from(hour))).collect();
    let policy = ComfortPolicy { outdoor, ..policy() };
    let zone = chrono_tz::Europe::Amsterdam;
    let plan = policy.plan(&facts(21.0, now, zone), &hours(now, &[0.2]), now).unwrap();
    let shown: Vec<f64> = plan.slots.iter().map(|slot| slot.outdoor.as_celsius()).collect();
    // From 11:50 to 12:50 on the clock.
    assert_eq!(shown, [11.0, 12.0, 12.0, 12.0, 12.0]);
}

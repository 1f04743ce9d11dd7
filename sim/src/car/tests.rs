use super::*;
use crate::trips::Trip;
use proptest::prelude::*;
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_engine::units::{amps, kw, percent};

pub(crate) fn spec() -> CarSpec {
    CarSpec {
        battery: Taper {
            capacity: kwh(60.0),
            power_max: kw(11.0),
            efficiency: percent(90.0),
            from: percent(80.0),
            end: percent(20.0),
        },
        soc: percent(40.0),
        charge_limit: percent(90.0),
        driving_per_100_km: kwh(18.0),
        odometer_km: 12_000.0,
        habits: Habits {
            trips: vec![Trip {
                weekdays: None,
                leave: HourMinute::parse("07:30").unwrap(),
                back: HourMinute::parse("17:00").unwrap(),
                distance_km: 60.0,
            }],
            jitter_minutes: 0,
            time_zone: chrono_tz::UTC,
        },
        plugs_in: percent(100.0),
        plug_in_after_minutes: 5,
        is_plugged_in: true,
        charges_on_plug_in: true,
        initializing_seconds: 30,
        sleeps_after_minutes: Some(20),
    }
}

fn outlet() -> Outlet {
    let supply = Supply { phases: 3, volts: 230.0, current_max: amps(16.0) };
    Outlet { supply, is_live: true, is_free: true }
}

fn utc(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// Settles every event until an instant, and says what each left behind.
fn run(car: &mut Car, to: &str) -> Vec<(String, PowerState)> {
    let mut seen = Vec::new();
    while car.next() <= micros_of(utc(to)) {
        let at = car.next();
        car.settle(at, outlet());
        let now = instant_at(at);
        seen.push((now.format("%d %H:%M:%S").to_string(), car.view(now).power_state));
    }
    seen
}

#[test]
fn a_day_of_a_commuter() {
    let mut car = Car::new(spec(), Chance::seeded(1), utc("2026-01-05T17:00:00Z"), outlet());
    assert_eq!(car.view(utc("2026-01-05T17:00:00Z")).power_state, PowerState::Charging);
    let seen = run(&mut car, "2026-01-06T17:06:00Z");
    let shown: Vec<String> =
        seen.iter().map(|(at, state)| format!("{at} {}", state.as_str())).collect();
    expect_test::expect![[r#"
        05 19:25:27 charging
        05 20:11:53 complete
        06 07:30:00 unplugged
        06 08:06:00 unplugged
        06 16:24:00 unplugged
        06 17:00:00 unplugged
        06 17:05:00 initializing
        06 17:05:30 charging"#]]
    .assert_eq(&shown.join("\n"));
    let view = car.view(utc("2026-01-06T17:05:30Z"));
    assert!((view.soc.as_percent() - 72.0).abs() < 1e-6, "{view:?}");
    assert!((view.odometer_km - 12_060.0).abs() < 1e-9);
}

#[test]
fn a_car_away_is_on_its_way() {
    let mut car = Car::new(spec(), Chance::seeded(1), utc("2026-01-05T07:00:00Z"), outlet());
    run(&mut car, "2026-01-05T07:48:00Z");
    let view = car.view(utc("2026-01-05T07:48:00Z"));
    assert!((view.away_km - 15.0).abs() < 1e-9 && view.is_driving && !view.is_asleep, "{view:?}");
    run(&mut car, "2026-01-05T12:00:00Z");
    let view = car.view(utc("2026-01-05T12:00:00Z"));
    assert!((view.away_km - 30.0).abs() < 1e-9 && !view.is_driving && view.is_asleep, "{view:?}");
    assert!(!car.is_plugged_in());
}

#[test]
fn a_stopped_car_falls_asleep_and_starts_again() {
    let start = utc("2026-01-05T18:00:00Z");
    let mut car = Car::new(spec(), Chance::seeded(1), start, outlet());
    car.switch(micros_of(start), false);
    car.settle(micros_of(start), outlet());
    assert_eq!(car.view(start).power_state, PowerState::Stopped);
    assert!(!car.view(start).is_asleep && car.view(start + TimeDelta::minutes(20)).is_asleep);
    let later = start + TimeDelta::hours(1);
    car.settle(micros_of(later), outlet());
    car.switch(micros_of(later), true);
    car.settle(micros_of(later), outlet());
    assert_eq!(car.view(later).power_state, PowerState::Initializing);
    run(&mut car, "2026-01-05T19:01:00Z");
    assert_eq!(car.view(utc("2026-01-05T19:01:00Z")).power_state, PowerState::Charging);
}

#[test]
fn only_a_person_mends_a_fault() {
    let start = utc("2026-01-05T18:00:00Z");
    let mut car = Car::new(spec(), Chance::seeded(1), start, outlet());
    let at = micros_of(start);
    for state in [PowerState::Fault, PowerState::NoPower] {
        car.handle(at, Hand::Break(state), outlet());
        car.switch(at, true);
        car.settle(at, outlet());
        assert_eq!(car.view(start).power_state, state);
        assert_eq!(car.view(start).power, Power::ZERO);
        car.handle(at, Hand::Repair, outlet());
        car.settle(at, outlet());
        assert_eq!(car.view(start).power_state, PowerState::Charging);
    }
}

#[test]
fn a_limit_slows_it_and_one_below_six_amperes_stops_it() {
    let start = utc("2026-01-05T18:00:00Z");
    let mut car = Car::new(spec(), Chance::seeded(1), start, outlet());
    assert_eq!(car.view(start).power, kw(11.0));
    car.limit_current(micros_of(start), amps(10.0));
    car.settle(micros_of(start), outlet());
    assert_eq!(car.view(start).power, kw(6.9));
    let minutes = car.view(start).minutes_left.unwrap();
    assert!((minutes - 30.0 / 0.9 / 6.9 * 60.0).abs() < 1.0, "{minutes}");
    car.limit_current(micros_of(start), amps(5.0));
    car.settle(micros_of(start), outlet());
    assert_eq!(car.view(start).power_state, PowerState::Stopped);
}

#[test]
fn a_long_way_leaves_something_in_the_battery() {
    let mut far = spec();
    far.habits.trips[0].distance_km = 2_000.0;
    let mut car = Car::new(far, Chance::seeded(1), utc("2026-01-05T07:00:00Z"), outlet());
    run(&mut car, "2026-01-05T17:00:00Z");
    let soc = car.view(utc("2026-01-05T17:00:00Z")).soc.as_percent();
    assert!((soc - 5.0).abs() < 1e-6, "{soc}");
}

proptest! {
    /// Energy at the plug less losses equals the gain of the battery, and the state of charge stays
    /// within its bounds.
    #[test]
    fn energy_is_conserved(
        soc in 0.0..100.0f64, limit in 0.0..100.0f64, switches in prop::collection::vec((1..400i64, any::<bool>(), 6.0..32.0f64), 0..20),
    ) {
        let start = utc("2026-01-05T17:00:00Z");
        let mut one = spec();
        one.soc = percent(soc);
        one.charge_limit = percent(limit);
        one.habits.trips.clear();
        let mut car = Car::new(one, Chance::seeded(1), start, outlet());
        let mut at = micros_of(start);
        for (minutes, on, limit) in switches {
            let to = at + minutes * 60_000_000;
            while car.next() <= to {
                car.settle(car.next(), outlet());
            }
            at = to;
            car.settle(at, outlet());
            car.switch(at, on);
            car.limit_current(at, amps(limit));
            car.settle(at, outlet());
        }
        let now = instant_at(at);
        let counted = car.course().counters_at(now).imported.as_kwh();
        let gained = car.stored_at(now).as_kwh() - soc * 0.6;
        prop_assert!((counted * 0.9 - gained).abs() < 1e-6, "{counted} {gained}");
        let stored = car.stored_at(now).as_kwh();
        prop_assert!(stored <= (limit.max(soc)) * 0.6 + 1e-6 && stored >= soc * 0.6 - 1e-9);
    }
}

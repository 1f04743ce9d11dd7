use super::*;
use crate::car::CarSpec;
use crate::part::PartView;
use crate::room::RoomSpec;
use crate::storage::StorageSpec;
use crate::sun::SolarSpec;
use crate::taper::Taper;
use crate::trips::{Habits, Trip};
use chrono::TimeDelta;
use chrono_tz::Europe::Berlin;
use proptest::prelude::*;
use slackwater_control::device::battery::OperationMode;
use slackwater_control::device::hvac::{Hold, Mode};
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_engine::units::{amps, celsius, kw, kwh, percent};

fn time(text: &str) -> HourMinute {
    HourMinute::parse(text).unwrap()
}

fn start() -> DateTime<Utc> {
    "2026-03-27T18:07:00Z".parse().unwrap()
}

fn supply() -> Supply {
    Supply { phases: 3, volts: 230.0, current_max: amps(16.0) }
}

fn car() -> CarSpec {
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
        odometer_km: 0.0,
        habits: Habits {
            trips: vec![Trip {
                weekdays: Some(vec![0, 1, 2, 3, 4, 6]),
                leave: time("07:30"),
                back: time("17:40"),
                distance_km: 60.0,
            }],
            jitter_minutes: 15,
            time_zone: Berlin,
        },
        plugs_in: percent(80.0),
        plug_in_after_minutes: 5,
        is_plugged_in: true,
        charges_on_plug_in: true,
        initializing_seconds: 30,
        sleeps_after_minutes: Some(20),
    }
}

fn room() -> RoomSpec {
    let heat = |celsius_: f64| Hold {
        mode: Mode::Heat,
        heat_setpoint: Some(celsius(celsius_)),
        cool_setpoint: None,
    };
    RoomSpec {
        time_constant_hours: 40.0,
        celsius_per_kw: 5.0,
        power: kw(2.0),
        gain: 3.0,
        temperature: celsius(20.5),
        by_day: heat(21.0),
        by_night: heat(18.0),
        day_starts: time("06:00"),
        night_starts: time("22:00"),
        time_zone: Berlin,
        held: None,
    }
}

const CHARGER: usize = 0;
const CAR: usize = 1;
const ROOM: usize = 2;
const ROOF: usize = 3;
const BATTERY: usize = 4;
const METER: usize = 5;

fn home(seed: u64) -> Home {
    let spec = HomeSpec {
        chance: Chance::seeded(seed),
        latitude: 52.0,
        longitude: 10.0,
        household: Some(HouseholdSpec { yearly: kwh(4000.0), time_zone: Berlin }),
    };
    let mut home = Home::new(spec, start());
    home.add("charger", PartSpec::Charger(supply()));
    home.add("car", PartSpec::Car(car(), Plug { charger: Some(CHARGER), socket: supply() }));
    home.add("room", PartSpec::Room(room()));
    let roof = SolarSpec {
        peak: kw(8.0),
        inverter_max: kw(7.0),
        tilt_degrees: 35.0,
        azimuth_degrees: 170.0,
    };
    home.add("roof", PartSpec::Solar(roof));
    let battery = StorageSpec {
        capacity: kwh(10.0),
        power_max: kw(5.0),
        round_trip: percent(90.0),
        soc: percent(30.0),
        mode: OperationMode::SelfReliance,
        cheap_from: time("00:00"),
        cheap_to: time("05:00"),
        time_zone: Berlin,
    };
    home.add("battery", PartSpec::Storage(battery));
    home.add("meter", PartSpec::Meter);
    home
}

fn at(minutes: i64) -> DateTime<Utc> {
    start() + TimeDelta::minutes(minutes)
}

fn car_of(home: &Home) -> CarView {
    let PartView::Car(view) = home.view(CAR) else { panic!("a car") };
    view
}

fn charger_of(home: &Home) -> ChargerView {
    let PartView::Charger(view) = home.view(CHARGER) else { panic!("a charger") };
    view
}

#[test]
fn a_command_is_done_when_it_is_due_and_not_before() {
    let mut home = home(1);
    home.advance(at(10));
    assert_eq!(charger_of(&home).power_state, PowerState::Charging);
    home.tell(CHARGER, Command::Charge(Switch::Stop), at(11)).unwrap();
    home.advance(at(11) - TimeDelta::microseconds(1));
    assert_eq!(charger_of(&home).power_state, PowerState::Charging);
    assert!(home.is_pending(CHARGER));
    home.advance(at(11));
    assert_eq!(charger_of(&home).power_state, PowerState::Stopped);
    assert_eq!(car_of(&home).power_state, PowerState::Stopped);
    home.tell(CAR, Command::Charge(Switch::Start), at(60)).unwrap();
    home.hasten(CAR);
    assert_eq!(charger_of(&home).power_state, PowerState::Charging);
    assert!(!home.is_pending(CAR));
}

#[test]
fn a_limit_of_the_rate_is_one_of_the_current() {
    let mut home = home(1);
    home.tell(CHARGER, Command::ChargeRateLimit(kw(6.9)), at(0)).unwrap();
    home.advance(at(0));
    let view = charger_of(&home);
    assert!((view.limit.as_amps() - 10.0).abs() < 1e-9, "{view:?}");
    assert!((view.power.as_kw() - 6.9).abs() < 1e-9, "{view:?}");
    assert_eq!(home.tell(CHARGER, Command::FollowSchedule, at(1)), Err(Misdirected));
    assert_eq!(home.tell(METER, Command::Charge(Switch::Stop), at(1)), Err(Misdirected));
}

#[test]
fn a_broken_charger_gives_its_car_no_power() {
    let mut home = home(1);
    home.handle(CHARGER, Hand::Break(PowerState::Fault));
    assert_eq!(charger_of(&home).power_state, PowerState::Fault);
    assert_eq!(car_of(&home).power_state, PowerState::NoPower);
    home.handle(CHARGER, Hand::Repair);
    assert_eq!(car_of(&home).power_state, PowerState::Charging);
    home.handle(CHARGER, Hand::Unplug);
    assert_eq!(home.car_of(CHARGER), None);
    assert_eq!(charger_of(&home).power_state, PowerState::Unplugged);
    home.handle(CHARGER, Hand::PlugIn);
    assert_eq!((home.car_of(CHARGER), home.charger_of(CAR)), (Some(CAR), Some(CHARGER)));
}

#[test]
fn two_cars_share_a_charger_one_at_a_time() {
    let mut home = home(1);
    let plug = Plug { charger: Some(CHARGER), socket: supply() };
    let second = home.add("second", PartSpec::Car(car(), plug));
    assert_eq!(home.car_of(CHARGER), Some(CAR));
    home.handle(second, Hand::PlugIn);
    assert_eq!(home.car_of(CHARGER), Some(CAR));
    home.handle(CAR, Hand::Unplug);
    home.handle(second, Hand::PlugIn);
    assert_eq!(home.car_of(CHARGER), Some(second));
}

#[test]
fn a_told_mode_is_followed() {
    let mut home = home(1);
    let mode = Command::OperationMode(OperationMode::ImportFocus);
    home.tell(BATTERY, mode, at(1)).unwrap();
    home.advance(at(180));
    let PartView::Storage(view) = home.view(BATTERY) else { panic!("a battery") };
    assert_eq!((view.mode, view.soc), (OperationMode::ImportFocus, percent(100.0)));
}

#[test]
fn nothing_happens_in_a_home_without_events() {
    let spec =
        HomeSpec { chance: Chance::seeded(1), latitude: 52.0, longitude: 10.0, household: None };
    let mut home = Home::new(spec, start());
    home.add("charger", PartSpec::Charger(supply()));
    assert_eq!(home.next(), i64::MAX);
    let mut away = car();
    away.habits.trips.clear();
    away.soc = away.charge_limit;
    home.add("car", PartSpec::Car(away, Plug { charger: Some(0), socket: supply() }));
    assert_eq!(home.next(), i64::MAX);
}

/// All that a home shows and counts.
fn shown(home: &Home) -> Vec<(PartView, Counted)> {
    (0..=METER).map(|part| (home.view(part), home.counters(part, home.now()))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Equal seeds and commands give equal bits, in one step of time or in many.
    #[test]
    fn at_once_and_in_pieces(seed in 0..1000u64, mut cuts in prop::collection::vec(0..4 * 1440i64, 0..30)) {
        let script = |home: &mut Home| {
            home.tell(CHARGER, Command::Charge(Switch::Stop), at(20)).unwrap();
            home.tell(CHARGER, Command::MaxCurrent(amps(9.0)), at(21)).unwrap();
            home.tell(CAR, Command::Charge(Switch::Start), at(600)).unwrap();
            home.tell(ROOM, Command::Hold(room().by_day), at(900)).unwrap();
            home.tell(BATTERY, Command::OperationMode(OperationMode::TimeOfUse), at(901)).unwrap();
        };
        let (mut whole, mut pieces) = (home(seed), home(seed));
        script(&mut whole);
        script(&mut pieces);
        cuts.sort_unstable();
        for cut in cuts {
            pieces.advance(at(cut));
        }
        whole.advance(at(4 * 1440));
        pieces.advance(at(4 * 1440));
        prop_assert_eq!(shown(&whole), shown(&pieces));
        prop_assert_eq!(whole, pieces);
    }

    /// Over some days the meter counts what everything behind it took and
    /// gave, and the charger what its car did.
    #[test]
    fn the_meter_counts_everything_once(seed in 0..1000u64, days in 1..6i64) {
        let mut home = home(seed);
        // To the end of a quarter, at which registers move.
        let end = at(days * 1440 + 8);
        home.advance(end);
        let net = |part| home.counters(part, end).net().as_kwh();
        let household = home.household.counters_at(end).net().as_kwh();
        let sum = net(CAR) + net(ROOM) + net(ROOF) + net(BATTERY) + household;
        prop_assert!((net(METER) - sum).abs() < 1e-6, "{} {}", net(METER), sum);
        prop_assert!((net(CAR) - net(CHARGER)).abs() < 1e-6);
        prop_assert!(net(CAR) > 0.0 && net(ROOF) < 0.0);
        let soc = car_of(&home).soc.as_percent();
        prop_assert!((5.0..=90.1).contains(&soc), "{soc}");
    }

    /// Counters never fall, and looking back shows what was shown.
    #[test]
    fn counters_never_fall(seed in 0..1000u64) {
        let mut home = home(seed);
        let mut seen = vec![Vec::new(); METER + 1];
        for quarter in 1..200 {
            home.advance(at(15 * quarter - 7));
            for (part, seen) in seen.iter_mut().enumerate() {
                seen.push((home.now(), home.counters(part, home.now())));
            }
        }
        for (part, seen) in seen.iter().enumerate() {
            for pair in seen.windows(2) {
                prop_assert!(pair[1].1.imported >= pair[0].1.imported);
                prop_assert!(pair[1].1.exported >= pair[0].1.exported);
            }
            for (at, counted) in seen {
                let again = home.counters(part, *at);
                prop_assert!((again.net() - counted.net()).as_kwh().abs() < 1e-9);
            }
        }
    }
}

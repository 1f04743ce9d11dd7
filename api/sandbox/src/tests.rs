//! The sandbox through the trait of a vendor, as the service uses it.
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use slackwater_control::device::battery::OperationMode;
use slackwater_control::device::command::{Command, Switch};
use slackwater_control::device::hvac::{Hold, Mode};
use slackwater_control::device::power_state::PowerState;
use slackwater_engine::units::{amps, celsius, kw};

use super::conduct::Conduct;
use super::control::{ClockOrder, ConductOrder, HandOrder, HandWord};
use super::devices::Device;
use super::generate::{generate, street};
use super::handle::Sandbox;
use super::scenario::Scenario;
use slackwater_integration::error::VendorError;
use slackwater_integration::profile::{Health, VendorCode};
use slackwater_integration::reading::{Facts, HoldType, Reading};
use slackwater_integration::vendor::{Linked, LogIn, Login, Vendor};
use slackwater_service::clock::Clock;

const START: Command = Command::Charge(Switch::Start);
const STOP: Command = Command::Charge(Switch::Stop);

/// A home with one of each, on a clock that stands still on a Monday evening.
const HOME: &str = r#"
seed: 3
vendors:
  - {code: FJORD, display_name: Fjord, kinds: [vehicle, charger]}
  - {code: HEARTH, display_name: Hearth, kinds: [hvac, inverter, battery, meter], login_code: "1234"}
users: [{id: ada}]
locations:
  - {id: home, user: ada, time_zone: Europe/Oslo, latitude: 59.9, longitude: 10.8,
     household_kwh_per_year: 4000}
chargers:
  - {id: box, user: ada, vendor: FJORD, location: home}
vehicles:
  - {id: car, user: ada, vendor: FJORD, location: home, charger: box, capacity_kwh: 60,
     soc_percent: 40, sleeps_after_minutes: 30,
     trips: [{leave: "07:30", back: "17:00", distance_km: 50}]}
hvacs:
  - {id: pump, user: ada, vendor: HEARTH, location: home, tells_consumption: true}
inverters:
  - {id: roof, user: ada, vendor: HEARTH, location: home, peak_kw: 8, is_linked: false}
batteries:
  - {id: pack, user: ada, vendor: HEARTH, location: home, capacity_kwh: 10}
meters:
  - {id: meter, user: ada, vendor: HEARTH, location: home}
"#;

struct Setup {
    sandbox: Sandbox,
    clock: Clock,
}

fn evening() -> DateTime<Utc> {
    "2026-01-05T18:00:00Z".parse().unwrap()
}

impl Setup {
    fn new() -> Self {
        Self::of(&Scenario::parse(HOME).unwrap())
    }

    fn of(scenario: &Scenario) -> Self {
        let clock = Clock::fixed(evening());
        Self { sandbox: Sandbox::new(scenario, clock.clone()), clock }
    }

    fn vendor(&self, device: &str) -> (Arc<dyn Vendor>, Linked) {
        let devices = self.sandbox.devices();
        let device = devices.iter().map(Device::common).find(|it| it.id == device).unwrap();
        let code = device.vendor.unwrap();
        let connection = self.sandbox.connection(&device.user, &code);
        (self.sandbox.vendor(&code).unwrap(), Linked::new(connection, device.id))
    }

    async fn poll(&self, device: &str) -> Result<Reading, VendorError> {
        let (vendor, linked) = self.vendor(device);
        vendor.poll(&linked, self.clock.now()).await
    }

    async fn send(&self, device: &str, command: Command) -> Result<(), VendorError> {
        let (vendor, linked) = self.vendor(device);
        vendor.send(&linked, &command, self.clock.now()).await
    }

    async fn state(&self, device: &str) -> PowerState {
        match self.poll(device).await.unwrap().facts {
            Facts::Vehicle(facts) => facts.charging.power_state,
            Facts::Charger(facts) => facts.charging.power_state,
            other => panic!("{other:?} does not charge"),
        }
    }

    fn pass(&self, seconds: i64) {
        self.clock.step(TimeDelta::seconds(seconds)).unwrap();
    }

    fn conduct(&self, device: &str, conduct: Conduct) {
        let device = device.to_owned();
        let order = ConductOrder::Device { device, conduct, ignores_commands: None };
        self.sandbox.conduct(&order).unwrap();
    }

    fn hand(&self, device: &str, hand: HandWord) {
        self.sandbox.hand(&HandOrder { device: device.to_owned(), hand }).unwrap();
    }
}

#[tokio::test]
async fn a_command_shows_after_fifteen_to_twenty_seconds() {
    let setup = Setup::new();
    assert_eq!(setup.state("box").await, PowerState::Charging);
    for (command, state) in [(STOP, PowerState::Stopped), (START, PowerState::Initializing)] {
        let before = setup.state("box").await;
        setup.send("box", command).await.unwrap();
        setup.pass(14);
        assert_eq!(setup.state("box").await, before);
        setup.pass(6);
        assert_eq!(setup.state("box").await, state);
    }
    setup.pass(10);
    assert_eq!(setup.state("car").await, PowerState::Charging);
    let received = setup.sandbox.received(Some("box")).unwrap();
    let sent: Vec<Command> = received.iter().map(|it| it.command).collect();
    assert_eq!(sent, [STOP, START]);
    assert!(received.iter().all(|it| it.refused.is_none() && it.done_at.is_some()));
}

#[tokio::test]
async fn the_rate_limit_also_sets_the_current() {
    let setup = Setup::new();
    setup.send("box", Command::ChargeRateLimit(kw(6.9))).await.unwrap();
    setup.sandbox.reach("box").unwrap();
    let Facts::Charger(facts) = setup.poll("box").await.unwrap().facts else { panic!() };
    assert!((facts.max_current.unwrap().as_amps() - 10.0).abs() < 1e-9);
    let command = Command::ChargeRateLimit(kw(30.0));
    let refused = setup.send("box", command).await.unwrap_err();
    assert!(matches!(refused, VendorError::Refused { .. }), "{refused}");
    setup.send("car", Command::MaxCurrent(amps(8.0))).await.unwrap();
    setup.sandbox.reach("car").unwrap();
    let Facts::Vehicle(facts) = setup.poll("car").await.unwrap().facts else { panic!() };
    assert!((facts.charging.charge_rate.unwrap().as_kw() - 5.52).abs() < 1e-9);
}

#[tokio::test]
async fn both_ends_of_a_cable_name_each_other() {
    let setup = Setup::new();
    let Facts::Vehicle(car) = setup.poll("car").await.unwrap().facts else { panic!() };
    let Facts::Charger(charger) = setup.poll("box").await.unwrap().facts else { panic!() };
    assert_eq!(car.plugged_into.unwrap().device, "box");
    assert_eq!(charger.plugged_into.unwrap().device, "car");
    setup.hand("car", HandWord::Unplug);
    let Facts::Vehicle(car) = setup.poll("car").await.unwrap().facts else { panic!() };
    assert_eq!((car.plugged_into, car.charging.charge_rate_limit), (None, None));
}

#[tokio::test]
async fn commands_that_are_taken_and_not_done() {
    let setup = Setup::new();
    let order = ConductOrder::Device {
        device: "box".to_owned(),
        conduct: Conduct::Answer,
        ignores_commands: Some(2),
    };
    setup.sandbox.conduct(&order).unwrap();
    for expected in [PowerState::Charging, PowerState::Charging, PowerState::Stopped] {
        setup.send("box", STOP).await.unwrap();
        setup.pass(30);
        assert_eq!(setup.state("box").await, expected);
    }
    assert_eq!(setup.sandbox.received(None).unwrap().len(), 3);
}

#[tokio::test]
async fn every_conduct_shows_in_polls_and_commands() {
    let setup = Setup::new();
    let detail = "too many commands".to_owned();
    let table = [
        (Conduct::Sleep { may_be_woken: false }, Err(VendorError::Asleep { may_be_woken: false })),
        (Conduct::Unreachable, Err(VendorError::Unreachable)),
        (
            Conduct::RateLimit { retry_after_seconds: Some(30) },
            Err(VendorError::RateLimited { retry_after_seconds: Some(30) }),
        ),
        (Conduct::Revoke, Err(VendorError::Unauthorised)),
        (Conduct::Outage, Err(VendorError::Outage)),
        (Conduct::Answer, Ok(())),
    ];
    for (conduct, expected) in table {
        setup.conduct("box", conduct);
        assert_eq!(setup.poll("box").await.map(|_| ()), expected);
        assert_eq!(setup.send("box", START).await, expected);
    }
    setup.conduct("box", Conduct::Refuse { detail: detail.clone() });
    assert!(setup.poll("box").await.is_ok());
    assert_eq!(setup.send("box", STOP).await, Err(VendorError::Refused { detail }));
    setup.conduct("box", Conduct::Sleep { may_be_woken: true });
    assert_eq!(setup.send("box", STOP).await, Ok(()));
    let log = setup.sandbox.received(Some("box")).unwrap();
    assert_eq!(log.iter().filter(|it| it.refused.is_some()).count(), 6);
}

#[tokio::test]
async fn a_lost_precondition_is_a_state_until_it_is_mended() {
    let setup = Setup::new();
    let state = PowerState::Fault;
    setup.conduct("box", Conduct::LosePrecondition { state });
    assert_eq!(setup.state("box").await, state);
    assert_eq!(setup.state("car").await, PowerState::NoPower);
    let error = setup.send("box", START).await.unwrap_err();
    assert_eq!(error.to_string(), "the device cannot obey: its state is fault");
    setup.conduct("box", Conduct::Answer);
    assert_eq!(setup.state("box").await, PowerState::Charging);
    setup.conduct("car", Conduct::LosePrecondition { state: PowerState::Unplugged });
    assert_eq!(setup.state("box").await, PowerState::Unplugged);
}

#[tokio::test]
async fn a_frozen_device_shows_what_it_showed() {
    let setup = Setup::new();
    setup.conduct("car", Conduct::Freeze);
    let frozen = setup.poll("car").await.unwrap();
    setup.send("car", STOP).await.unwrap();
    setup.pass(3600);
    assert_eq!(setup.poll("car").await.unwrap(), frozen);
    assert_eq!(setup.state("box").await, PowerState::Charging);
    assert_eq!(setup.sandbox.received(Some("car")).unwrap()[0].done_at, None);
    setup.conduct("car", Conduct::Answer);
    assert_ne!(setup.poll("car").await.unwrap(), frozen);
}

#[tokio::test]
async fn an_outage_of_a_vendor_and_one_that_was_planned() {
    let setup = Setup::new();
    let order = |conduct| ConductOrder::Vendor { vendor: "FJORD".to_owned(), conduct };
    setup.sandbox.conduct(&order(Conduct::Outage)).unwrap();
    let (fjord, _) = setup.vendor("car");
    assert_eq!(setup.poll("car").await, Err(VendorError::Outage));
    assert_eq!(fjord.health(setup.clock.now()).devices, Health::Outage);
    setup.sandbox.conduct(&order(Conduct::Answer)).unwrap();
    assert_eq!(fjord.health(setup.clock.now()).devices, Health::Ready);
    let patch = "vendors: [{code: FJORD, display_name: Fjord, kinds: [vehicle, charger], \
                 outages: [{from: \"2026-01-05T18:10:00Z\", to: \"2026-01-05T18:20:00Z\"}]}]";
    setup.sandbox.apply(patch).unwrap();
    assert!(setup.poll("car").await.is_ok());
    setup.pass(600);
    assert_eq!(setup.poll("car").await, Err(VendorError::Outage));
    setup.pass(600);
    assert!(setup.poll("car").await.is_ok());
}

#[tokio::test]
async fn a_car_that_rests_falls_asleep_and_a_command_wakes_it() {
    let setup = Setup::new();
    setup.send("car", STOP).await.unwrap();
    setup.pass(20);
    assert_eq!(setup.state("car").await, PowerState::Stopped);
    setup.pass(30 * 60);
    assert_eq!(setup.poll("car").await, Err(VendorError::Asleep { may_be_woken: true }));
    assert_eq!(setup.state("box").await, PowerState::Stopped);
    setup.send("car", START).await.unwrap();
    setup.pass(30);
    assert_eq!(setup.state("car").await, PowerState::Charging);
}

#[tokio::test]
async fn log_in_with_a_password_and_a_code() {
    let setup = Setup::new();
    let entered = |password: &str, code: Option<&str>| {
        let mut login = Login::new("ada", password);
        login.code = code.map(str::to_owned);
        login
    };
    let vendor = |code| setup.sandbox.vendor(&VendorCode::parse(code).unwrap()).unwrap();
    let (fjord, hearth) = (vendor("FJORD"), vendor("HEARTH"));
    let now = setup.clock.now();
    let trial = fjord.trial().unwrap();
    assert_eq!((&*trial.password, trial.code), ("sandbox", None));
    assert_eq!(hearth.trial().unwrap().code.as_deref(), Some("1234"));
    let wrong = fjord.log_in(&entered("wrong", None), now).await;
    assert_eq!(wrong, Err(VendorError::Unauthorised));
    let LogIn::Connected { connection, offers } =
        fjord.log_in(&entered("sandbox", None), now).await.unwrap()
    else {
        panic!("FJORD wants no code")
    };
    assert_eq!(connection, setup.sandbox.connection("ada", &VendorCode::parse("FJORD").unwrap()));
    let names: Vec<&str> = offers.iter().map(|offer| offer.device.as_str()).collect();
    assert_eq!(names, ["box", "car"]);
    let asked = hearth.log_in(&entered("sandbox", None), now).await.unwrap();
    assert_eq!(asked, LogIn::CodeNeeded { sent_to: "ada@home.example".to_owned() });
    let wrong = hearth.log_in(&entered("sandbox", Some("0000")), now).await;
    assert_eq!(wrong, Err(VendorError::ChallengeFailed));
    let LogIn::Connected { offers, .. } =
        hearth.log_in(&entered("sandbox", Some("1234")), now).await.unwrap()
    else {
        panic!("the code is right")
    };
    assert_eq!(offers.len(), 4);
    assert!(!format!("{:?}", entered("secret", Some("1234"))).contains("secret"));
}

#[tokio::test]
async fn a_device_is_called_by_its_own_vendor_for_its_own_user_only() {
    let setup = Setup::new();
    let (fjord, linked) = setup.vendor("car");
    let (hearth, _) = setup.vendor("pump");
    let now = setup.clock.now();
    assert_eq!(hearth.poll(&linked, now).await, Err(VendorError::NoSuchDevice));
    let foreign = setup.sandbox.connection("bo", &VendorCode::parse("FJORD").unwrap());
    let foreign = Linked::new(foreign, &linked.device);
    assert_eq!(fjord.poll(&foreign, now).await, Err(VendorError::Unauthorised));
    let missing = Linked::new(linked.connection, "bike");
    assert_eq!(fjord.poll(&missing, now).await, Err(VendorError::NoSuchDevice));
}

#[tokio::test]
async fn units_and_batteries_obey() {
    let setup = Setup::new();
    let hold = Hold { mode: Mode::Heat, heat_setpoint: Some(celsius(23.0)), cool_setpoint: None };
    setup.send("pump", Command::Hold(hold)).await.unwrap();
    setup.pass(20);
    let facts = |reading: Reading| match reading.facts {
        Facts::Hvac(facts) => facts,
        other => panic!("{other:?}"),
    };
    let set = facts(setup.poll("pump").await.unwrap());
    assert_eq!(
        (set.hold_type, set.heat_setpoint),
        (Some(HoldType::Permanent), Some(celsius(23.0)))
    );
    setup.send("pump", Command::FollowSchedule).await.unwrap();
    setup.pass(20);
    let free = facts(setup.poll("pump").await.unwrap());
    assert_eq!(free.hold_type, Some(HoldType::Scheduled));
    let hot = Hold { heat_setpoint: Some(celsius(40.0)), ..hold };
    let refused = setup.send("pump", Command::Hold(hot)).await.unwrap_err().to_string();
    assert!(refused.contains("outside 5 to 30 °C"), "{refused}");
    setup.send("pack", Command::OperationMode(OperationMode::ImportFocus)).await.unwrap();
    setup.pass(3 * 3600);
    let Facts::Battery(pack) = setup.poll("pack").await.unwrap().facts else { panic!() };
    assert_eq!(
        (pack.mode, pack.soc.unwrap().as_percent()),
        (Some(OperationMode::ImportFocus), 100.0)
    );
}

#[tokio::test]
async fn slow_vendors_answer_when_the_clock_says_so() {
    let slow =
        HOME.replace("kinds: [vehicle, charger]", "kinds: [vehicle, charger], answer_seconds: 3");
    let setup = Arc::new(Setup::of(&Scenario::parse(&slow).unwrap()));
    let polling = tokio::spawn({
        let setup = Arc::clone(&setup);
        async move { setup.poll("car").await }
    });
    tokio::task::yield_now().await;
    setup.pass(2);
    tokio::task::yield_now().await;
    assert!(!polling.is_finished());
    setup.pass(1);
    assert!(polling.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_patch_is_seen_when_it_returns() {
    let setup = Setup::new();
    setup.pass(600);
    let before = setup.poll("car").await.unwrap();
    let applied = setup.sandbox.apply(
        "users: [{id: bo}]\nlocations:\n  - {id: flat, user: bo, time_zone: Europe/London,\n     \
         latitude: 51.4, longitude: -2.6}\nvehicles:\n  - {id: bo-car, user: bo, vendor: FJORD, \
         location: flat, capacity_kwh: 40}\n",
    );
    assert_eq!(applied.unwrap().devices, ["bo-car"]);
    assert_eq!(setup.poll("car").await.unwrap(), before, "others go on");
    assert_eq!(setup.state("bo-car").await, PowerState::Charging);
    // A new scope is no new battery.
    setup.pass(600);
    setup
        .sandbox
        .apply(
            "vehicles:\n  - {id: bo-car, user: bo, vendor: FJORD, location: flat, \
                         capacity_kwh: 40, scopes: [read_data]}\n",
        )
        .unwrap();
    assert_eq!(setup.state("bo-car").await, PowerState::Charging);
    let moved = setup.sandbox.apply(
        "vehicles:\n  - {id: bo-car, user: bo, vendor: FJORD, \
                                     location: home, capacity_kwh: 40}\n",
    );
    let said = moved.unwrap_err().to_string();
    assert_eq!(said, "vehicle \"bo-car\": the location of a running device does not change");
    assert!(setup.sandbox.apply("users: [{id: \"\"}]").is_err());
    assert_eq!(setup.sandbox.scenario().users.len(), 2);
}

#[tokio::test]
async fn the_clock_is_stepped_and_sped_up() {
    let setup = Setup::new();
    let order = ClockOrder { step_seconds: Some(90.0), speed: None };
    let state = setup.sandbox.set_clock(&order).unwrap();
    assert_eq!(state.now, evening() + TimeDelta::seconds(90));
    let order = ClockOrder { step_seconds: None, speed: Some(60.0) };
    let faster = setup.sandbox.set_clock(&order).unwrap();
    assert!((faster.speed - 60.0).abs() < 1e-9);
    for bad in [-1.0, f64::NAN, 1e300] {
        let step = ClockOrder { step_seconds: Some(bad), speed: None };
        assert!(setup.sandbox.set_clock(&step).is_err(), "{bad}");
        let speed = ClockOrder { step_seconds: None, speed: Some(bad) };
        assert!(setup.sandbox.set_clock(&speed).is_err(), "{bad}");
    }
}

/// All that the devices of a sandbox would report.
fn truths(sandbox: &Sandbox) -> Vec<Reading> {
    let ids = sandbox.devices().into_iter().map(|device| device.common().id);
    ids.filter_map(|id| sandbox.actual_reading(&id)).collect()
}

#[tokio::test]
async fn the_same_seed_and_commands_make_the_same_day() {
    let day = async |pieces: i64| {
        let setup = Setup::of(&street());
        setup.send("ada-charger", STOP).await.unwrap();
        for _ in 0..pieces {
            setup.pass(86_400 / pieces);
            truths(&setup.sandbox);
        }
        truths(&setup.sandbox)
    };
    let once = day(1).await;
    assert!(once.len() > 70);
    assert_eq!(once, day(24).await);
    let other = Setup::of(&Scenario { seed: Some(8), ..street() });
    other.send("ada-charger", STOP).await.unwrap();
    other.pass(86_400);
    assert_ne!(once, truths(&other.sandbox));
}

#[tokio::test]
async fn meters_count_what_they_show_quarter_by_quarter() {
    let setup = Setup::new();
    setup.pass(86_400);
    let end = setup.clock.now();
    for device in ["car", "box", "pump", "roof", "pack", "meter"] {
        let quarters = setup.sandbox.metered(device, evening(), end);
        assert_eq!(quarters.len(), 96, "{device}");
        let imported: f64 = quarters.iter().map(|it| it.imported.as_kwh()).sum();
        let exported: f64 = quarters.iter().map(|it| it.exported.as_kwh()).sum();
        let shown = setup.sandbox.meter(device, end).unwrap();
        assert!((imported - shown.imported.as_kwh()).abs() < 1e-6, "{device}");
        assert!((exported - shown.exported.as_kwh()).abs() < 1e-6, "{device}");
        let (vendor, linked) = setup.vendor(device);
        assert_eq!(vendor.metered(&linked, evening(), end, end).await.unwrap(), quarters);
    }
    let car = setup.sandbox.meter("car", end).unwrap().imported;
    assert!(car > slackwater_engine::units::kwh(20.0), "{car:?}");
}

#[test]
fn a_town_of_a_thousand_homes_runs_for_a_day() {
    let setup = Setup::of(&generate(1000, 1));
    setup.pass(86_400);
    let readings = truths(&setup.sandbox);
    let charging = readings.iter().filter(|reading| match &reading.facts {
        Facts::Vehicle(facts) => facts.charging.power_state == PowerState::Charging,
        _ => false,
    });
    assert!(charging.count() > 10);
    assert!(readings.len() > 3500, "{}", readings.len());
}

//! Laws of a simulation of homes with a battery.
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use proptest::prelude::*;

use crate::prices::curve::PriceCurve;
use crate::prices::curve::tests::curve_of;
use crate::prices::layers::Standing;
use crate::simulate::*;
use crate::statistics::fixed::Amount;
use crate::time::horizon::Horizon;
use crate::units::{kw, kwh, per_kwh, percent};

/// Instant `minutes` after 5 January 2026, 18:00Z, at which the curves of tests start.
pub(crate) fn minute(minutes: i64) -> DateTime<Utc> {
    "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
}

/// Hours of prices in tests.
pub(crate) const HOURS: usize = 24;

pub(crate) fn battery() -> HomeBattery {
    HomeBattery {
        home: 0,
        capacity: kwh(10.0),
        soc: percent(50.0),
        soc_min: percent(10.0),
        charge_limit: percent(90.0),
        target: percent(50.0),
        charge_max: kw(3.0),
        discharge_max: kw(2.5),
        efficiency: 0.95,
        efficiency_discharge: 0.9,
        wear_price: per_kwh(0.01),
    }
}

pub(crate) fn net(slot_minutes: i64, load_kw: &[f64], solar_kw: &[f64]) -> NetLoad {
    let length = TimeDelta::minutes(slot_minutes);
    let horizon = Horizon::steps(minute(0), length, load_kw.len()).unwrap();
    NetLoad::new(horizon, Some(load_kw), Some(solar_kw)).unwrap()
}

fn day_before() -> NetForecast {
    let rule = NaiveRule::Seasonal { days: 1 };
    NetForecast::Naive(NaiveForecast { rule, time_zone: Tz::UTC })
}

pub(crate) fn home(battery: HomeBattery, net: Option<NetLoad>) -> Home {
    let span = (minute(0), minute(60 * HOURS as i64));
    Home { battery, net, forecast: day_before(), span }
}

pub(crate) fn run(
    facts: &HomeFacts,
    book: &ForecastBook,
    options: &SimulationOptions,
) -> Vec<HomeOutcome> {
    let books = TariffBooks { import: book, export: book };
    simulate_homes(facts, books, &HomeReplanner, options, &mut |_| true).unwrap()
}

pub(crate) fn with_steps() -> SimulationOptions {
    SimulationOptions { keeps_steps: true, ..SimulationOptions::default() }
}

/// All of a curve, known long before it begins.
pub(crate) fn all_known(curve: &PriceCurve) -> ForecastBook {
    ForecastBook::new(vec![Forecast::new(minute(-600), Standing::Known, curve.clone())])
}

pub(crate) fn powers() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.0..4.0f64, HOURS)
}

proptest! {
    /// Parts of the regret add up in whole numbers, and steps to the cost; the hindsight optimum
    /// is below the realised cost and below that of a battery that rests.
    #[test]
    fn parts_and_steps_add_up(
        cents in prop::collection::vec(0..60i32, HOURS), fee in 0..20i32, load in powers(),
        solar in powers(), known in 0..1200i64, hours in prop::option::of(2..20i64),
    ) {
        let import = curve_of(60, &cents);
        let export = curve_of(60, &cents.iter().map(|cent| cent - fee).collect::<Vec<_>>());
        let guess = curve_of(60, &cents.iter().rev().copied().collect::<Vec<_>>());
        let book = ForecastBook::new(vec![
            Forecast::new(minute(0), Standing::Estimate, guess),
            Forecast::new(minute(known), Standing::Known, import.clone()),
        ]);
        let homes = vec![home(battery(), Some(net(60, &load, &solar))), home(battery(), None)];
        let facts = HomeFacts::new(import, Some(export), homes, None).unwrap();
        let options = SimulationOptions { horizon: hours.map(TimeDelta::hours), ..with_steps() };
        for outcome in run(&facts, &book, &options) {
            let regret = outcome.regret.unwrap();
            prop_assert_eq!(regret.total(), outcome.cost - outcome.hindsight_cost);
            prop_assert_eq!(regret.policy, Amount::ZERO);
            if hours.is_none() {
                prop_assert_eq!(regret.horizon, Amount::ZERO);
            }
            let steps: Amount = outcome.steps.iter().map(|step| step.cost).sum();
            prop_assert_eq!(steps + outcome.shortfall_cost, outcome.cost);
            prop_assert!(outcome.hindsight_cost.as_units() <= outcome.cost.as_units() + 1e-6);
            prop_assert!(outcome.hindsight_cost.as_units() <= outcome.baseline_cost.as_units() + 1e-6);
            prop_assert!(outcome.shortfall_kwh < 1e-5, "{}", outcome.shortfall_kwh);
            for step in &outcome.steps {
                prop_assert!((1.0 - 1e-6..=9.0 + 1e-6).contains(&step.stored_kwh));
            }
        }
    }

    /// With everything known, re-planning at each step costs what one plan of the whole costs.
    #[test]
    fn the_rest_of_a_plan_is_the_plan_of_the_rest(
        cents in prop::collection::vec(-20..60i32, HOURS), load in powers(), solar in powers(),
    ) {
        let import = curve_of(60, &cents);
        let homes = vec![home(battery(), Some(net(60, &load, &solar)))];
        let facts = HomeFacts::new(import.clone(), Some(import.clone()), homes, None).unwrap();
        // The one sees all of the net load in a forecast, the other by foresight.
        let expected = net(60, &load, &solar);
        let issued = vec![IssuedNetLoad { known_at: minute(-600), expected: expected.clone() }];
        let told = vec![Home {
            forecast: NetForecast::Issued(issued),
            ..home(battery(), Some(expected))
        }];
        let told = HomeFacts::new(import.clone(), Some(import.clone()), told, None).unwrap();
        let realised = &run(&told, &all_known(&import), &with_steps())[0];
        let once = &run(&facts, &all_known(&import), &with_steps())[0];
        prop_assert_eq!(realised.decisions, 96);
        let forecast = realised.regret.unwrap().forecast.as_units();
        prop_assert!(forecast.abs() < 1e-6, "{}", forecast);
        prop_assert_eq!(realised.hindsight_cost, once.hindsight_cost);
    }

    /// Outcomes depend neither on the other homes nor on the number of threads.
    #[test]
    fn a_home_is_simulated_as_if_it_were_alone(
        cents in prop::collection::vec(-20..60i32, HOURS),
        loads in prop::collection::vec(powers(), 2..9),
    ) {
        let import = curve_of(60, &cents);
        let homes: Vec<Home> =
            loads.iter().map(|load| home(battery(), Some(net(60, load, load)))).collect();
        let facts = HomeFacts::new(import.clone(), None, homes.clone(), None).unwrap();
        let book = all_known(&import);
        let outcomes = run(&facts, &book, &with_steps());
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        prop_assert_eq!(&outcomes, &one.install(|| run(&facts, &book, &with_steps())));
        let alone = HomeFacts::new(import, None, vec![homes[1].clone()], None).unwrap();
        prop_assert_eq!(&outcomes[1], &run(&alone, &book, &with_steps())[0]);
    }
}

/// A policy that gives full power in one direction, on and on.
struct Stubborn(f64);

impl HomePolicy for Stubborn {
    type Error = ();

    fn is_sequential(&self) -> bool {
        true
    }

    fn decide(
        &self,
        view: &HomeView<'_>,
        _: &mut HomeMemory,
        commands: &mut HomeCommands,
    ) -> Result<(), ()> {
        commands.battery.push(Command::new(view.now(), view.until(), kw(self.0)));
        Ok(())
    }
}

#[test]
fn the_minute_in_which_a_battery_is_empty_has_one_mean_power() {
    // 4 kWh above the least level give 3.6 kWh at the plug: 86.4 minutes at 2.5 kW. Of the 87th
    // minute 0.4 are left, at a mean of 1 kW, of which 0.5 kW meet the load.
    let import = curve_of(60, &[30; HOURS]);
    let export = curve_of(60, &[10; HOURS]);
    let homes = vec![home(battery(), Some(net(60, &[0.5; HOURS], &[0.0; HOURS])))];
    let facts = HomeFacts::new(import, Some(export), homes, None).unwrap();
    let book = ForecastBook::default();
    let books = TariffBooks { import: &book, export: &book };
    let policy = Stubborn(-99.0);
    let outcome = &simulate_homes(&facts, books, &policy, &with_steps(), &mut |_| true).unwrap()[0];
    assert!((outcome.discharged_kwh - 3.6).abs() < 1e-7, "{}", outcome.discharged_kwh);
    let exported = 86.0 / 60.0 * 2.0 + 0.5 / 60.0;
    assert!((outcome.export_kwh - exported).abs() < 1e-7, "{}", outcome.export_kwh);
    let imported = 0.5 * (24.0 - 87.0 / 60.0);
    assert!((outcome.import_kwh - imported).abs() < 1e-7, "{}", outcome.import_kwh);
    // 4 stored kWh are missing at the end, which take 4 / 0.95 at the plug.
    let cost = 0.3 * imported - 0.1 * exported + 0.01 * 4.0 + 0.3 * 4.0 / 0.95;
    assert!((outcome.cost.as_units() - cost).abs() < 1e-6, "{} {cost}", outcome.cost);
    assert!(outcome.regret.unwrap().policy > Amount::ZERO);
}

#[test]
fn a_battery_follows_its_plan_until_more_is_known() {
    // Nothing is learned after the start, so one plan serves all decisions, with one result.
    let import = curve_of(60, &[10, 40, 20, 50, 5, 60, 10, 10, 10, 10, 30, 10]);
    let span = (minute(0), minute(720));
    let one = Home { span, ..home(battery(), None) };
    let facts = HomeFacts::new(import.clone(), Some(import.clone()), vec![one], None).unwrap();
    let outcome = &run(&facts, &all_known(&import), &with_steps())[0];
    assert_eq!(outcome.decisions, 48);
    assert_eq!(outcome.regret.unwrap().forecast, Amount::ZERO);
    assert!(outcome.cost < outcome.baseline_cost);
}

#[test]
fn errors_name_the_battery_and_the_value() {
    let check = |change: fn(&mut Home), expected: &str| {
        let mut one = home(battery(), Some(net(60, &[1.0; HOURS], &[0.0; HOURS])));
        change(&mut one);
        let facts = HomeFacts::new(curve_of(60, &[30; HOURS]), None, vec![one], None);
        assert_eq!(facts.unwrap_err().to_string(), expected);
    };
    check(
        |home| home.battery.efficiency = 95.0,
        "battery 0: efficiency is 95; it lies between 0.01 and 1; 95 % is 0.95",
    );
    check(
        |home| home.battery.soc = percent(5.0),
        "battery 0: soc_percent is 5; it lies between 10 and 90",
    );
    check(
        |home| home.span.1 = minute(60 * 25),
        "battery 0: prices are missing at 2026-01-06 18:00:00 UTC; facts cover the whole simulation",
    );
    check(
        |home| home.net = Some(net(60, &[1.0; 3], &[0.0; 3])),
        "battery 0: load and solar power are missing at 2026-01-05 21:00:00 UTC; facts cover the \
         whole simulation",
    );
    let one = home(battery(), None);
    let (import, export) = (curve_of(60, &[30; HOURS]), curve_of(60, &[31; HOURS]));
    assert_eq!(
        HomeFacts::new(import, Some(export), vec![one], None).unwrap_err().to_string(),
        "export_prices are 0.31 per kWh at 2026-01-05 18:00:00 UTC, above prices, which are 0.3; a \
         kWh that is fed in earns at most what one from the grid costs at the time"
    );
}

//! Laws of a simulation of homes with a battery and vehicles.
use proptest::prelude::*;

use super::homes::{HOURS, all_known, battery, home, minute, net, powers, run, with_steps};
use crate::plan::charge::{Battery, Target};
use crate::plan::site::{
    Device, Discharge, Load, Phase, Series, SiteProblem, SiteRequest, Solar, StationaryBattery,
    Vehicle, plan_site,
};
use crate::prices::curve::PriceCurve;
use crate::prices::curve::tests::curve_of;
use crate::prices::layers::Standing;
use crate::simulate::*;
use crate::statistics::fixed::Amount;
use crate::units::{Price, kw, kwh, per_kwh};

/// A stay from and to minutes after the start.
fn stay(from: i64, to: i64, need_kwh: f64) -> Stay {
    let (arrival, departure) = (minute(from), minute(to));
    let mut device = ChargeDevice::ideal(kw(7.4));
    device.efficiency = 0.9;
    Stay { home: 0, arrival, departure, need: kwh(need_kwh), device }
}

/// A home whose net load is known from the start.
fn told(load: &[f64], solar: &[f64]) -> Home {
    let expected = net(60, load, solar);
    let issued = vec![IssuedNetLoad { known_at: minute(-600), expected: expected.clone() }];
    Home { forecast: NetForecast::Issued(issued), ..home(battery(), Some(expected)) }
}

/// Cost of the home as one site, planned at the start with all known.
fn cost_of_site(
    import: &PriceCurve,
    export: &PriceCurve,
    (load, solar): (&[f64], &[f64]),
    stays: &[Stay],
) -> f64 {
    let given = battery();
    let mut request = SiteRequest::new(import.clone(), minute(0));
    request.export_prices = Some(export.clone());
    let series = |powers: &[f64]| Series::PerSlot(powers.iter().map(|&power| kw(power)).collect());
    let phases = Phase::ALL.to_vec();
    let wear: Price = per_kwh(given.wear_price.as_per_kwh() / given.efficiency_discharge);
    request.devices = vec![
        Device::Load(Load {
            name: "load".to_owned(),
            group: None,
            phases: phases.clone(),
            forecast: series(load),
        }),
        Device::Solar(Solar {
            name: "sun".to_owned(),
            group: None,
            phases: phases.clone(),
            forecast: series(solar),
            is_curtailable: false,
        }),
        Device::Battery(StationaryBattery {
            name: "battery".to_owned(),
            group: None,
            phases,
            power_max: given.charge_max,
            charge_from_grid: true,
            battery: Battery {
                capacity: given.capacity,
                soc: Some(given.soc),
                soc_fallback: None,
                charge_limit: given.charge_limit,
                efficiency: given.efficiency,
            },
            discharge: Discharge {
                power_max: given.discharge_max,
                efficiency: given.efficiency_discharge,
                soc_min: given.soc_min,
                wear,
                discharge_to_grid: true,
            },
            soc_end: Some(given.target),
            end_value: Price::ZERO,
            soft_bounds: Vec::new(),
            limits: Vec::new(),
            power_wanted: None,
        }),
    ];
    for (row, stay) in stays.iter().enumerate() {
        let mut vehicle = Vehicle::new(format!("car {row}"), stay.device.power_max);
        (vehicle.arrival, vehicle.departure) = (Some(stay.arrival), Some(stay.departure));
        vehicle.targets.push(Target { by: vehicle.departure, energy: stay.need });
        request.devices.push(Device::Vehicle(vehicle));
    }
    plan_site(&SiteProblem::new(request).unwrap()).cost.as_amount()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// With all known from the start, what is realised costs what one plan of the site costs.
    #[test]
    fn a_known_day_costs_what_its_site_costs(
        cents in prop::collection::vec(-10..60i32, HOURS), fee in 1..20i32, load in powers(),
        solar in powers(), (leaves, need) in (500..1400i64, 1.0..40.0f64),
    ) {
        let import = curve_of(60, &cents);
        let export = curve_of(60, &cents.iter().map(|cent| cent - fee).collect::<Vec<_>>());
        let stays = [stay(0, leaves, need)];
        let homes = vec![told(&load, &solar)];
        let facts = HomeFacts::new(import.clone(), Some(export.clone()), homes, None).unwrap();
        let facts = facts.with_stays(stays.to_vec()).unwrap();
        let import_book = all_known(&import);
        let export_book = all_known(&export);
        let books = TariffBooks { import: &import_book, export: &export_book };
        let outcome =
            &simulate_homes(&facts, books, &HomeReplanner, &with_steps(), &mut |_| true).unwrap()[0];
        let best = cost_of_site(&import, &export, (&load, &solar), &stays);
        prop_assert!((outcome.cost.as_units() - best).abs() < 1e-4, "{} {best}", outcome.cost);
        prop_assert!((outcome.vehicle_kwh - need).abs() < 1e-5);
        prop_assert_eq!(outcome.regret.unwrap().policy, Amount::ZERO);
        let forecast = outcome.regret.unwrap().forecast.as_units();
        prop_assert!(forecast.abs() < 1e-4, "{}", forecast);
    }

    /// Parts of the regret, steps and energies add up, whatever is known of prices, net load and
    /// stays, which overlap and need more than there is time for.
    #[test]
    fn parts_steps_and_energies_add_up(
        cents in prop::collection::vec(0..60i32, HOURS), load in powers(), solar in powers(),
        known in 0..600i64, (from, need) in (1..700i64, 1.0..60.0f64),
        (power_min, power_step) in prop::sample::select(vec![(0.0, 0.0), (1.4, 0.0), (0.0, 3.7)]),
    ) {
        let import = curve_of(60, &cents);
        let export = curve_of(60, &cents.iter().map(|cent| cent - 5).collect::<Vec<_>>());
        let guess = curve_of(60, &cents.iter().rev().copied().collect::<Vec<_>>());
        let book = ForecastBook::new(vec![
            Forecast::new(minute(0), Standing::Estimate, guess),
            Forecast::new(minute(known), Standing::Known, import.clone()),
        ]);
        let homes = vec![home(battery(), Some(net(60, &load, &solar)))];
        let facts = HomeFacts::new(import, Some(export), homes.clone(), None).unwrap();
        let mut stays = vec![stay(from, from + 400, need), stay(from + 77, from + 300, 5.0)];
        for stay in &mut stays {
            let device = &mut stay.device;
            (device.power_min, device.power_step) = (kw(power_min), kw(power_step));
        }
        let facts = facts.with_stays(stays).unwrap();
        let options = SimulationOptions {
            step: chrono::TimeDelta::minutes(60),
            horizon: Some(chrono::TimeDelta::hours(8)),
            ..with_steps()
        };
        let outcome = &run(&facts, &book, &options)[0];
        let regret = outcome.regret.unwrap();
        prop_assert_eq!(regret.total(), outcome.cost - outcome.hindsight_cost);
        prop_assert_eq!(regret.policy, Amount::ZERO);
        prop_assert!(outcome.hindsight_cost.as_units() <= outcome.cost.as_units() + 1e-4);
        let steps: Amount = outcome.steps.iter().map(|step| step.cost).sum();
        prop_assert_eq!(steps + outcome.shortfall_cost, outcome.cost);
        let drawn: f64 = outcome.steps.iter().map(|step| step.vehicle_kwh).sum();
        prop_assert!((drawn - outcome.vehicle_kwh).abs() < 1e-9);
        let lacks = (need - 7.4 * 400.0 / 60.0).max(0.0);
        prop_assert!((outcome.vehicle_shortfall_kwh - lacks).abs() < 1e-4, "{} {lacks}", outcome.vehicle_shortfall_kwh);
        let own: f64 = load.iter().sum::<f64>() - solar.iter().sum::<f64>();
        let battery = outcome.charged_kwh - outcome.discharged_kwh;
        let meter = outcome.import_kwh - outcome.export_kwh;
        prop_assert!((meter - own - battery - outcome.vehicle_kwh).abs() < 1e-4);
        // The first arrival lies between two instants of decision, and is one itself.
        prop_assert!(outcome.steps.iter().any(|step| step.start == minute(from).timestamp_micros()));
    }
}

/// Outcome of a home whose vehicle needs 3 kWh at constant prices, under 1 kW of sun.
fn outcome_of_stay(change: fn(&mut ChargeDevice)) -> HomeOutcome {
    let import = curve_of(60, &[30; 24]);
    let homes = vec![told(&[0.0; HOURS], &[1.0; HOURS])];
    let mut stay = stay(0, 240, 3.0);
    change(&mut stay.device);
    let facts = HomeFacts::new(import.clone(), None, homes, None).unwrap();
    let facts = facts.with_stays(vec![stay]).unwrap();
    run(&facts, &all_known(&import), &with_steps()).remove(0)
}

#[test]
fn a_vehicle_beside_a_battery_draws_its_own_powers() {
    let drawn = |change: fn(&mut ChargeDevice)| {
        let outcome = outcome_of_stay(change);
        assert!((outcome.vehicle_kwh - 3.0).abs() < 1e-5, "{}", outcome.vehicle_kwh);
        assert_eq!(outcome.vehicle_shortfall_kwh.to_bits(), 0.0_f64.to_bits());
        let hours = |step: &HomeStep| (step.end - step.start) as f64 / 3.6e9;
        let powers = outcome.steps.iter().map(|step| step.vehicle_kwh / hours(step));
        powers.filter(|&power| power > 1e-6).collect::<Vec<f64>>()
    };
    // The end of the need lies within a step of the simulation, of which it takes a part.
    let others = |powers: &[f64], is_possible: fn(f64) -> bool| {
        powers.iter().filter(|&&power| !is_possible(power)).count()
    };
    let of_steps = drawn(|device| device.power_step = kw(5.0));
    let is_step = |power: f64| (power - 5.0).abs() < 1e-6;
    assert!(others(&of_steps, is_step) <= 1, "{of_steps:?}");
    let least = drawn(|device| device.power_min = kw(2.0));
    assert!(others(&least, |power| power > 2.0 - 1e-6) <= 1, "{least:?}");
    // A vehicle that may draw any power follows the sun.
    let any = drawn(|_| ());
    assert!(others(&any, is_step) > 1 && others(&any, |power| power > 2.0 - 1e-6) > 1, "{any:?}");
}

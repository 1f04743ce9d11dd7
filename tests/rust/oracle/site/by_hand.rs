//! Sites whose plans are worked out by hand. Slots begin at 18:00.
use chrono::TimeDelta;
use slackwater_engine::plan::SearchStatus;
use slackwater_engine::plan::charge::Target;
use slackwater_engine::plan::site::{
    Device, Limit, Series, SitePlan, SiteProblem, SiteRequest, Vehicle, plan_site,
};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{kw, kwh};

use crate::site::case::{Car, Grid, Home, Site, start};
use crate::site::interpreter::interpret;

fn car(most_kw: f64, targets: &[(usize, f64)], departure: usize) -> Car {
    Car {
        most_kw,
        least_kw: 0.0,
        targets: targets.to_vec(),
        departure,
        priority: 1.0,
        in_group: false,
        gives_back: None,
        limit: None,
        drives: Vec::new(),
        brings: (0.0, 0.0),
        fills: false,
        grid: Grid::FREE,
    }
}

fn site(prices: &[f64], cars: Vec<Car>) -> Site {
    Site {
        hours: 1.0,
        prices: prices.to_vec(),
        export: None,
        house_kw: 0.0,
        sun_kw: Vec::new(),
        import_limit: None,
        group_limit: None,
        cars,
        home: None,
    }
}

/// A battery of 10 kWh with `(power, level)` and efficiencies `(in, out)`.
fn home((kw, level): (f64, f64), (efficiency_in, efficiency_out): (f64, f64)) -> Home {
    Home { kw, capacity: 10.0, level, efficiency_in, efficiency_out, grid: Grid::FREE }
}

fn proved(site: &Site) -> SitePlan {
    let plan = plan_site(&site.problem());
    interpret(site, &plan).expect("it keeps all rules");
    assert!(plan.status == SearchStatus::Optimal && plan.certificate.is_proved(), "{plan:#?}");
    plan
}

fn powers(plan: &SitePlan, device: usize) -> Vec<f64> {
    let round = |kw: f64| (kw * 1e4).round() / 1e4 + 0.0;
    plan.devices[device].power.iter().map(|power| round(power.as_kw())).collect()
}

#[test]
fn ten_vehicles_with_a_least_power_share_twelve_kilowatts() {
    let van = Car { least_kw: 4.14, ..car(11.0, &[(2, 20.0)], 2) };
    let depot = Site { import_limit: Some(12.0), ..site(&[0.1, 0.2], vec![van; 10]) };
    let plan = proved(&depot);
    // Both hours are full: 24 of 200 kWh.
    assert!((plan.shortfall.as_kwh() - 176.0).abs() < 1e-4, "{}", plan.shortfall.as_kwh());
}

#[test]
fn a_shortage_beside_a_battery_costs_no_more_than_it_must() {
    let a = Car { priority: 2.0, in_group: true, ..car(11.0, &[(3, 38.7)], 5) };
    let b = car(7.4, &[(1, 18.9)], 5);
    let home = home((5.0, 1.0), (1.0, 1.0));
    let prices = [0.44, -0.17, -0.20, 0.12, -0.27];
    let row = site(&prices, vec![a, b]);
    let plan = proved(&Site { group_limit: Some(4.0), home: Some(home), ..row });
    assert!((plan.cost.as_amount() + 4.0).abs() < 0.01, "{}", plan.cost.as_amount());
}

#[test]
fn a_tight_connection_is_full_in_the_cheap_hour() {
    let short = car(7.4, &[(2, 10.06)], 2);
    let urgent = Car { priority: 2.0, ..car(11.0, &[(2, 19.36), (2, 30.36)], 2) };
    let gives = Some((12.78, 20.0));
    let full = Car { least_kw: 8.27, gives_back: gives, ..car(22.0, &[(2, 20.0)], 2) };
    let full = Car { priority: 2.0, ..full };
    let home = home((2.5, 8.28), (0.9, 0.95));
    let row = site(&[0.13, 0.41], vec![short, urgent, full]);
    let plan = proved(&Site { import_limit: Some(17.78), home: Some(home), ..row });
    // 7.22 kWh fill the battery, in one hour. Beside them fit 11 and 2.06 kW
    // less 2.5 from the battery; the other hour takes 7.4 and 11 less 2.5.
    let cost = 0.13 * 17.78 + 0.41 * 15.9;
    assert!((plan.cost.as_amount() - cost).abs() < 1e-6, "{}", plan.cost.as_amount());
}

#[test]
fn prices_of_any_size_give_the_same_plan() {
    let depot = |scale: f64| {
        let prices = [0.16, -0.05, 0.16].map(|price| price * scale);
        let van = Car { least_kw: 7.4, ..car(7.4, &[(1, 3.35), (3, 12.3)], 3) };
        Site { import_limit: Some(11.3), ..site(&prices, vec![van; 2]) }
    };
    let one = proved(&depot(1.0));
    for scale in [1e-6, 1e-3, 1e3, 1e6] {
        let plan = proved(&depot(scale));
        let part = plan.cost.as_amount() / scale / one.cost.as_amount();
        assert!((part - 1.0).abs() < 1e-6, "{scale}: {part}");
    }
}

#[test]
fn what_one_misses_holds_nobody_else() {
    let earns = |wanted: f64| {
        let a = Car { gives_back: Some((10.0, 10.0)), ..car(10.0, &[(1, 10.0)], 2) };
        let prices = vec![0.10, 0.50];
        let row = site(&prices, vec![a, car(5.0, &[(1, wanted)], 2)]);
        proved(&Site { export: Some(prices), ..row })
    };
    assert_eq!(powers(&earns(5.0), 0), [0.0, -10.0]);
    assert!((earns(5.0).cost.as_amount() + 4.5).abs() < 1e-6);
    // b is late with 0.1 kWh, for which it pays 0.5 each in the second hour.
    assert_eq!(powers(&earns(5.1), 0), [0.0, -10.0]);
    assert!((earns(5.1).cost.as_amount() + 4.45).abs() < 1e-6);
}

#[test]
fn a_missed_target_is_gone_on_with_beside_a_later_one() {
    let plan = proved(&site(&[0.1; 4], vec![car(5.0, &[(1, 10.0), (4, 1.0)], 4)]));
    assert_eq!(powers(&plan, 0), [5.0, 5.0, 0.0, 0.0]);
}

fn quarters(vehicle: Vehicle, prices: &[f64]) -> SitePlan {
    let slots = Horizon::steps(start(), TimeDelta::minutes(15), prices.len()).expect("slots");
    let curve = PriceCurve::from_parts(slots, prices.to_vec()).expect("prices");
    let mut request = SiteRequest::new(curve, start());
    request.devices.push(Device::Vehicle(vehicle));
    plan_site(&SiteProblem::new(request).expect("it makes sense"))
}

#[test]
fn the_last_slot_of_a_run_may_be_short() {
    let mut van = Vehicle::new("van", kw(11.0));
    van.power_min = kw(11.0);
    van.targets.push(Target { by: Some(start() + TimeDelta::hours(4)), energy: kwh(10.0) });
    let prices: Vec<f64> = (0..16).map(|slot| f64::from(slot * 7 % 5) / 10.0).collect();
    let plan = quarters(van.clone(), &prices);
    assert!(plan.status == SearchStatus::Optimal && plan.certificate.is_proved());
    assert!(
        plan.shortfall.as_kwh() < 1e-6 && (plan.devices[0].energy.as_kwh() - 10.0).abs() < 1e-6
    );
    // At one price all of it is early, and the short slot comes last.
    let plan = quarters(van, &[0.2; 16]);
    assert_eq!(powers(&plan, 0)[..5], [11.0, 11.0, 11.0, 7.0, 0.0]);
}

#[test]
fn earlier_is_preferred_with_a_least_power_too() {
    let van = |kwh: f64| Car { least_kw: 4.0, ..car(8.0, &[(6, kwh)], 6) };
    let depot = Site { import_limit: Some(8.0), ..site(&[0.2; 6], vec![van(8.0), van(10.0)]) };
    let plan = proved(&depot);
    let sums: Vec<f64> =
        (0..6).map(|slot| powers(&plan, 0)[slot] + powers(&plan, 1)[slot]).collect();
    assert_eq!(sums, [8.0, 8.0, 2.0, 0.0, 0.0, 0.0]);
}

#[test]
fn a_limit_on_the_search_is_told_and_keeps_all_rules() {
    let van = |kwh: f64| Car { least_kw: 6.0, ..car(11.0, &[(4, kwh)], 8) };
    let vans = (0..6).map(|index| van(13.0 + f64::from(index))).collect();
    let prices: Vec<f64> = (0..8).map(|slot| 0.1 + f64::from(slot * 7 % 5) / 10.0).collect();
    let depot = Site { import_limit: Some(17.0), ..site(&prices, vans) };
    let mut request = depot.problem().request().clone();
    request.effort.seconds_max = Some(0.0);
    let power = Series::Constant(kw(17.0));
    request.import_limit = Some(Limit { power, breach_price: None });
    let plan = plan_site(&SiteProblem::new(request).expect("it makes sense"));
    interpret(&depot, &plan).expect("it keeps all rules");
    assert_eq!(plan.status, SearchStatus::TimeReached);
    assert!(!plan.certificate.is_proved() && !plan.is_reproducible);
}

//! Sites: vehicles that share one limit, from ten to a hundred.
use std::hint::black_box;

use chrono::TimeDelta;
use criterion::{Criterion, criterion_group, criterion_main};
use slackwater_benches::{curve, noon};
use slackwater_engine::plan::charge::Target;
use slackwater_engine::plan::site::{
    Device, Limit, Preference, Series, SiteProblem, SiteRequest, Vehicle, plan_site,
};
use slackwater_engine::units::{kw, kwh};

/// Vehicles that stay overnight behind a limit of four kilowatts for each.
fn site(vehicles: i32, preferences: &[Preference]) -> SiteProblem {
    let mut request = SiteRequest::new(curve(96), noon());
    request.preferences = preferences.to_vec();
    for index in 0..vehicles {
        let mut vehicle = Vehicle::new(format!("vehicle {index}"), kw(11.0));
        let quarter = |count: i32| noon() + TimeDelta::minutes(15) * count;
        vehicle.arrival = Some(quarter(index * 7 % 30));
        vehicle.departure = Some(quarter(60 + index * 5 % 30));
        let energy = kwh(15.0 + f64::from(index * 11 % 30));
        vehicle.targets.push(Target { by: vehicle.departure, energy });
        request.devices.push(Device::Vehicle(vehicle));
    }
    let power = Series::Constant(kw(4.0 * f64::from(vehicles)));
    request.import_limit = Some(Limit { power, breach_price: None });
    SiteProblem::new(request).expect("the request makes sense")
}

/// Vehicles that come at odd minutes behind less power than they need.
fn shortage(vehicles: i32) -> SiteProblem {
    let mut request = SiteRequest::new(curve(96), noon());
    for index in 0..vehicles {
        let mut vehicle = Vehicle::new(format!("vehicle {index}"), kw(11.0));
        vehicle.arrival = Some(noon() + TimeDelta::minutes(i64::from(index * 37 % 457)));
        vehicle.departure = Some(noon() + TimeDelta::minutes(i64::from(901 + index * 53 % 443)));
        vehicle.priority = f64::from(1 + index % 2);
        let energy = kwh(15.0 + f64::from(index * 11 % 30));
        vehicle.targets.push(Target { by: vehicle.departure, energy });
        request.devices.push(Device::Vehicle(vehicle));
    }
    let power = Series::Constant(kw(1.2 * f64::from(vehicles)));
    request.import_limit = Some(Limit { power, breach_price: None });
    SiteProblem::new(request).expect("the request makes sense")
}

fn sites(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("site");
    group.sample_size(10);
    for (name, vehicles, preferences) in [
        ("vehicles-10", 10, &[][..]),
        ("vehicles-100", 100, &[]),
        ("vehicles-10-earlier", 10, &[Preference::Earlier]),
        ("vehicles-100-earlier", 100, &[Preference::Earlier]),
    ] {
        let problem = site(vehicles, preferences);
        let plan = plan_site(&problem);
        assert!(plan.certificate.is_proved() && plan.shortfall.as_kwh() <= 0.0);
        let binding = plan.limits[0].shadow_price.iter().filter(|p| p.as_per_kwh() > 0.0);
        assert!(binding.count() > 0, "the limit binds");
        group.bench_function(name, |bencher| bencher.iter(|| plan_site(black_box(&problem))));
    }
    for (name, vehicles) in [("vehicles-10-shortage", 10), ("vehicles-100-shortage", 100)] {
        let problem = shortage(vehicles);
        let plan = plan_site(&problem);
        assert!(plan.shortfall.as_kwh() > 1.0 && plan.certificate.is_proved());
        group.bench_function(name, |bencher| bencher.iter(|| plan_site(black_box(&problem))));
    }
    group.finish();
}

criterion_group!(benches, sites);
criterion_main!(benches);

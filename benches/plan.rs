//! One vehicle: what a single plan costs, with certificate and reasons.
use std::hint::black_box;

use chrono::TimeDelta;
use criterion::{Criterion, criterion_group, criterion_main};
use slackwater_benches::{curve, noon};
use slackwater_engine::lp::{Column, LinearProgram, Row};
use slackwater_engine::plan::charge::{ChargeProblem, ChargeRequest, Target, explain, plan_charge};
use slackwater_engine::units::{kw, kwh};

/// Targets a quarter of a day apart, each higher by so many kWh than the one before.
fn request(targets: i32, step: f64) -> ChargeRequest {
    let target = |k: i32| Target {
        by: Some(noon() + TimeDelta::hours(18) + TimeDelta::hours(6) * k),
        energy: kwh(30.0 + step * f64::from(k)),
    };
    let mut request = ChargeRequest::new(noon() + TimeDelta::minutes(307), kw(11.0), target(0));
    request.targets = (0..targets).map(target).collect();
    request
}

fn charge(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("charge");
    for (name, slots, targets, step) in [
        ("day-96", 96, 1, 0.0),
        ("week-672", 672, 1, 0.0),
        ("week-672-targets-7", 672, 7, 10.0),
        ("week-672-one-level-7", 672, 7, 0.0),
    ] {
        let curve = curve(slots);
        let request = request(targets, step);
        let problem = ChargeProblem::new(request).expect("the request makes sense");
        group.bench_function(name, |bencher| {
            bencher.iter(|| plan_charge(black_box(&curve), black_box(&problem)));
        });
    }
    group.finish();
}

/// The same problem as a linear programme on HiGHS, to compare.
fn highs(criterion: &mut Criterion) {
    let curve = curve(96);
    let problem = ChargeProblem::new(request(1, 0.0)).expect("the request makes sense");
    let plan = plan_charge(&curve, &problem);
    let mut programme = LinearProgram::default();
    let mut terms = Vec::new();
    for slot in &plan.slots {
        let (cost, upper) = (slot.price.as_per_kwh(), slot.capacity().as_kwh());
        terms.push((programme.add_column(Column { cost, lower: 0.0, upper }), 1.0));
    }
    let wanted = plan.energy.as_kwh();
    programme.rows.push(Row { lower: wanted, upper: wanted, terms });
    let cost = programme.minimise().expect("the need fits").cost;
    assert!((cost - plan.cost.as_amount()).abs() < 1e-6, "both ways give one cost");
    criterion.bench_function("highs/day-96", |bencher| bencher.iter(|| programme.minimise()));
}

fn reasons(criterion: &mut Criterion) {
    let curve = curve(96);
    let problem = ChargeProblem::new(request(1, 0.0)).expect("the request makes sense");
    let plan = plan_charge(&curve, &problem);
    criterion
        .bench_function("explain/day-96", |bencher| bencher.iter(|| explain(black_box(&plan))));
}

criterion_group!(benches, charge, highs, reasons);
criterion_main!(benches);

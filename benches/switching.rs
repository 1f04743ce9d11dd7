//! One device that switches: the exact search, and the same problem as a
//! mixed-integer programme.
use std::hint::black_box;

use chrono::TimeDelta;
use criterion::{Criterion, criterion_group, criterion_main};
use slackwater_benches::{curve, noon};
use slackwater_engine::plan::charge::Target;
use slackwater_engine::plan::switching::{SwitchingProblem, SwitchingRequest, plan_switching};
use slackwater_engine::units::{kw, kwh, money};

/// A day at 4.14 to 11 kW, a start for 5 cents, at most 3 sessions.
fn request(energy: f64) -> SwitchingRequest {
    let target = Target { by: Some(noon() + TimeDelta::hours(24)), energy: kwh(energy) };
    let mut request = SwitchingRequest::new(noon(), kw(11.0), target);
    request.power_min = kw(4.14);
    request.start_cost = money(0.05);
    request.sessions_max = Some(3);
    request
}

fn switching(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("switching");
    let curve = curve(96);
    let mut timed = request(30.0);
    timed.now = noon() + TimeDelta::minutes(7);
    timed.on_min = TimeDelta::hours(1);
    timed.off_min = TimeDelta::minutes(30);
    let mut half = request(130.0);
    half.now = noon() + TimeDelta::minutes(7);
    half.on_min = TimeDelta::hours(1);
    let cases = [
        ("day-96", request(30.0)),
        ("day-96-much", request(120.0)),
        ("day-96-least-times", timed),
        ("day-96-half", half),
    ];
    for (name, request) in cases {
        let problem = SwitchingProblem::new(request, &curve).expect("the request makes sense");
        assert!(problem.uneven().is_none(), "{name} is for the exact search");
        group.bench_function(name, |bencher| bencher.iter(|| plan_switching(black_box(&problem))));
    }
    group.finish();
}

criterion_group!(benches, switching);
criterion_main!(benches);

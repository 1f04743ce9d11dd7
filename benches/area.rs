//! Areas with a limit at 35 % of the unmanaged peak, to a gap of 1e-3.
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use slackwater_benches::{Columns, curve, table};
use slackwater_engine::area::coordinate::{AreaOptions, plan_area};
use slackwater_engine::area::fleet::Curves;
use slackwater_engine::area::limits::{Node, Profile};
use slackwater_engine::area::outcome::AreaPlan;
use slackwater_engine::area::problem::{AreaProblem, AreaVehicles};
use slackwater_engine::units::Power;

const SLOTS: usize = 96;

/// What a second is enough for. Larger areas are measured with their files, by `area_run.py`.
const VEHICLES: usize = 10_000;

fn area<'a>(columns: &'a Columns, curves: Curves<'a>, limit_kw: f64) -> AreaProblem<'a> {
    let fleet = columns.fleet();
    let vehicles =
        AreaVehicles { fleet, node: None, priority: None, power_min_kw: None, storage: None };
    let limit = Profile::Constant(Power::from_kw(limit_kw).expect("a finite limit"));
    AreaProblem::new(vehicles, curves, vec![Node::limited("area", limit)]).expect("a fair area")
}

fn planned(problem: &AreaProblem<'_>) -> AreaPlan {
    let plan = plan_area(problem, &AreaOptions::default(), &mut |_| false);
    let mut rows = 0;
    plan.rows(problem, 65_536, &mut |run| rows += run.len());
    assert_eq!(rows, plan.vehicles());
    assert!(plan.gap <= 1e-3, "a gap of {}", plan.gap);
    plan
}

/// A limit at 35 % of what the fleet draws when nobody manages it.
fn limited<'a>(columns: &'a Columns, curves: Curves<'a>) -> AreaProblem<'a> {
    let free = planned(&area(columns, curves, 9e6));
    let peak = free.unmanaged.load_kw.iter().copied().fold(0.0, f64::max);
    area(columns, curves, 0.35 * peak)
}

fn shared(criterion: &mut Criterion) {
    let curve = curve(SLOTS);
    let mut group = criterion.benchmark_group("area");
    let columns = Columns::new(VEHICLES);
    let problem = limited(&columns, Curves::Shared(&curve));
    group.sample_size(10).measurement_time(Duration::from_secs(10));
    group.bench_function(format!("shared/{VEHICLES}"), |bencher| {
        bencher.iter(|| planned(black_box(&problem)));
    });
    group.finish();
}

fn own(criterion: &mut Criterion) {
    let columns = Columns::new(VEHICLES);
    let table = table(VEHICLES, SLOTS);
    let problem = limited(&columns, Curves::PerVehicle(&table));
    let mut group = criterion.benchmark_group("area");
    group.sample_size(10).measurement_time(Duration::from_secs(10));
    group.bench_function(format!("own/{VEHICLES}"), |bencher| {
        bencher.iter(|| planned(black_box(&problem)));
    });
    group.finish();
}

criterion_group!(benches, shared, own);
criterion_main!(benches);

//! Areas with a limit at 35 % of the unmanaged peak, to a gap of 1e-3.
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use slackwater_benches::area::{SLOTS, area, binding_limit_kw, planned};
use slackwater_benches::{Columns, curve, table};
use slackwater_engine::columns::Curves;

/// What a second is enough for. Larger areas are measured with their files, by `area_run.py`.
const VEHICLES: usize = 10_000;

fn measure(criterion: &mut Criterion, name: &str, columns: &Columns, curves: Curves<'_>) {
    let problem = area(columns, curves, binding_limit_kw(columns, curves));
    let mut group = criterion.benchmark_group("area");
    group.sample_size(10).measurement_time(Duration::from_secs(10));
    group.bench_function(format!("{name}/{VEHICLES}"), |bencher| {
        bencher.iter(|| {
            let plan = planned(black_box(&problem));
            assert!(plan.gap <= 1e-3, "a gap of {}", plan.gap);
        });
    });
    group.finish();
}

fn shared(criterion: &mut Criterion) {
    let curve = curve(SLOTS);
    measure(criterion, "shared", &Columns::new(VEHICLES), Curves::Shared(&curve));
}

fn own(criterion: &mut Criterion) {
    let table = table(VEHICLES, SLOTS);
    measure(criterion, "own", &Columns::new(VEHICLES), Curves::PerVehicle(&table));
}

criterion_group!(benches, shared, own);
criterion_main!(benches);

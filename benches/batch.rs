//! A million vehicles: compact and dense, on one curve and on curves of their own.
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rayon::ThreadPoolBuilder;
use slackwater_benches::{Columns, curve, slots_used, table};
use slackwater_engine::batch::{plan_batch, plan_compact, plan_dense};
use slackwater_engine::columns::{Curves, Fleet};
use slackwater_engine::plan::charge::SlotSelection;

const VEHICLES: usize = 1_000_000;
const SLOTS: usize = 96;

fn shared(criterion: &mut Criterion) {
    let columns = Columns::new(VEHICLES);
    let fleet = columns.fleet();
    let curve = curve(SLOTS);
    let curves = Curves::Shared(&curve);
    let used = slots_used(&fleet, curves);
    assert!(used >= 10.0, "the benchmark is to use ten slots a plan, not {used:.1}");
    println!("slots used per plan: {used:.1}");

    let mut choices = vec![None; VEHICLES];
    let mut group = criterion.benchmark_group("batch");
    group.sample_size(20).throughput(Throughput::Elements(VEHICLES as u64));
    group.bench_function("shared-compact/1000000", |bencher| {
        bencher.iter(|| plan_compact(black_box(&fleet), curves, &mut choices));
    });
    let mut powers = vec![0.0f32; VEHICLES * SLOTS];
    group.bench_function("shared-dense/1000000", |bencher| {
        bencher.iter(|| plan_dense(black_box(&fleet), curves, &mut powers));
    });
    group.bench_function("shared-columns/1000000", |bencher| {
        bencher.iter(|| plan_batch(black_box(&fleet), curves));
    });
    group.finish();
    one_core(criterion, &fleet, curves, &mut choices, &mut powers);
}

/// The same on one thread, to compare with libraries that use one.
fn one_core(
    criterion: &mut Criterion,
    fleet: &Fleet<'_>,
    curves: Curves<'_>,
    choices: &mut [Option<SlotSelection>],
    powers: &mut [f32],
) {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("one thread can be had");
    let mut group = criterion.benchmark_group("batch");
    group.sample_size(20).throughput(Throughput::Elements(VEHICLES as u64));
    group.bench_function("one-core-compact/1000000", |bencher| {
        bencher.iter(|| pool.install(|| plan_compact(black_box(fleet), curves, choices)));
    });
    group.bench_function("one-core-dense/1000000", |bencher| {
        bencher.iter(|| pool.install(|| plan_dense(black_box(fleet), curves, powers)));
    });
    group.finish();
}

fn own(criterion: &mut Criterion) {
    let columns = Columns::new(VEHICLES);
    let fleet = columns.fleet();
    let table = table(VEHICLES, SLOTS);
    let curves = Curves::PerVehicle(&table);
    let used = slots_used(&fleet, curves);
    assert!(used >= 10.0, "the benchmark is to use ten slots a plan, not {used:.1}");

    let mut choices = vec![None; VEHICLES];
    let mut group = criterion.benchmark_group("batch");
    group.sample_size(20).throughput(Throughput::Elements(VEHICLES as u64));
    group.bench_function("own-compact/1000000", |bencher| {
        bencher.iter(|| plan_compact(black_box(&fleet), curves, &mut choices));
    });
    group.finish();
}

criterion_group!(benches, shared, own);
criterion_main!(benches);

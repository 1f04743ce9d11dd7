//! Sums over samples of many devices, and a four-year series of one.
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use slackwater_benches::{QUARTER_MICROS, SampleColumns};
use slackwater_engine::statistics::columns::Aggregator;
use slackwater_engine::statistics::range::Range;
use slackwater_engine::statistics::resolution::{Buckets, Resolution, UtcOffset};
use slackwater_engine::statistics::sample_columns::{Flows, Lengths, Samples};

const DEVICES: usize = 30;
const FOUR_YEARS: usize = 1461 * 96;

fn samples(columns: &SampleColumns) -> Samples<'_> {
    Samples {
        group: Some(&columns.device),
        start: &columns.start,
        lengths: Lengths::Even(QUARTER_MICROS),
        flows: Flows::PowerKw(&columns.power_kw),
        price_per_kwh: Some(&columns.price_per_kwh),
        non_smart: None,
    }
}

fn sum_up(samples: &Samples<'_>, devices: usize, resolution: Resolution) -> usize {
    let buckets = Buckets::new(resolution, UtcOffset::default());
    let mut sums = Aggregator::new(buckets, Range::all());
    sums.add(samples, devices).expect("the samples of the benchmark are in order");
    sums.finish_with(<[_]>::len).into_iter().sum()
}

fn aggregate(criterion: &mut Criterion) {
    let columns = SampleColumns::new(DEVICES, FOUR_YEARS);
    let samples = samples(&columns);
    let mut group = criterion.benchmark_group("statistics");
    group.sample_size(20).throughput(Throughput::Elements(columns.start.len() as u64));
    for resolution in [Resolution::Month, Resolution::Day, Resolution::QuarterHour] {
        let id = BenchmarkId::new(resolution.as_str(), columns.start.len());
        group.bench_function(id, |bencher| {
            bencher.iter(|| sum_up(black_box(&samples), DEVICES, resolution));
        });
    }
    group.finish();
}

fn one_device(criterion: &mut Criterion) {
    let columns = SampleColumns::new(1, FOUR_YEARS);
    let samples = samples(&columns);
    criterion.bench_function("statistics/one-device-four-years-quarter-hour", |bencher| {
        bencher.iter(|| sum_up(black_box(&samples), 1, Resolution::QuarterHour));
    });
}

criterion_group!(benches, aggregate, one_device);
criterion_main!(benches);

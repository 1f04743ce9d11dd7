//! Storage plans over a day of quarter hours, with losses and export prices.
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rayon::ThreadPoolBuilder;
use slackwater_benches::{Random, curve, noon};
use slackwater_engine::batch::plan_storage_batch;
use slackwater_engine::columns::Batteries;
use slackwater_engine::plan::charge::{Battery, SocTarget};
use slackwater_engine::plan::storage::{
    PriceSlots, StorageBuffers, StorageProblem, StorageRequest, plan_on, plan_storage,
};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::units::{Energy, Percent, Power, Price};

const ROWS: usize = 100_000;

/// A selling price below the buying price, as most tariffs have it.
fn export_of(import: &PriceCurve) -> PriceCurve {
    let fee = Price::from_per_kwh(-0.02).expect("a price");
    import.plus_price(fee).expect("prices stay prices")
}

fn problem() -> StorageProblem {
    let percent = |value| Percent::from_percent(value).expect("a percentage");
    let battery = Battery {
        capacity: Energy::from_kwh(60.0).expect("an energy"),
        soc: Some(percent(40.0)),
        soc_fallback: None,
        charge_limit: percent(90.0),
        efficiency: 0.95,
    };
    let power = Power::from_kw(11.0).expect("a power");
    let mut request = StorageRequest::new(noon(), battery, power);
    request.efficiency_discharge = 0.95;
    request.targets.push(SocTarget { by: None, soc: Some(percent(80.0)) });
    StorageProblem::new(request).expect("the request makes sense")
}

fn single(criterion: &mut Criterion) {
    let import = curve(96);
    let export = export_of(&import);
    let problem = problem();
    let grid = PriceSlots::new(&import, Some(&export));
    let mut scratch = StorageBuffers::new();
    criterion.bench_function("storage/day-96", |bencher| {
        bencher.iter(|| plan_storage(black_box(&import), Some(&export), &problem));
    });
    criterion.bench_function("storage/day-96-on-a-grid", |bencher| {
        bencher.iter(|| plan_on(black_box(&grid), &problem, &mut scratch));
    });
}

/// A fleet that is plugged in all day, so that every plan has 96 slots.
struct Columns {
    arrival: Vec<i64>,
    departure: Vec<i64>,
    capacity: Vec<f64>,
    soc: Vec<f64>,
    target: Vec<f64>,
    power: Vec<f64>,
    efficiency: Vec<f64>,
}

impl Columns {
    fn new() -> Self {
        let mut random = Random::new(5);
        let arrival = noon().timestamp_micros();
        let mut draw = |low, high| (0..ROWS).map(|_| random.between(low, high)).collect();
        let (capacity, soc, target): (Vec<f64>, Vec<f64>, Vec<f64>) =
            (draw(40.0, 90.0), draw(10.0, 80.0), draw(50.0, 100.0));
        let powers = [7.4, 11.0, 11.0, 22.0];
        Self {
            arrival: vec![arrival; ROWS],
            departure: vec![arrival + 86_400_000_000; ROWS],
            capacity,
            soc,
            target,
            power: (0..ROWS).map(|row| powers[row % powers.len()]).collect(),
            efficiency: draw(0.9, 0.97),
        }
    }

    fn batteries(&self) -> Batteries<'_> {
        Batteries {
            arrival: &self.arrival,
            departure: &self.departure,
            capacity_kwh: &self.capacity,
            soc_percent: &self.soc,
            target_percent: Some(&self.target),
            charge_max_kw: &self.power,
            discharge_max_kw: &self.power,
            efficiency: Some(&self.efficiency),
            efficiency_discharge: Some(&self.efficiency),
            ..Batteries::default()
        }
    }
}

fn batch(criterion: &mut Criterion) {
    let columns = Columns::new();
    let import = curve(96);
    let grids = [PriceSlots::new(&import, Some(&export_of(&import)))];
    let one = ThreadPoolBuilder::new().num_threads(1).build().expect("one thread can be had");
    let mut group = criterion.benchmark_group("storage");
    group.sample_size(10).throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("batch-columns/100000", |bencher| {
        bencher.iter(|| plan_storage_batch(black_box(&columns.batteries()), &grids));
    });
    group.bench_function("one-core-columns/100000", |bencher| {
        bencher
            .iter(|| one.install(|| plan_storage_batch(black_box(&columns.batteries()), &grids)));
    });
    group.finish();
}

criterion_group!(benches, single, batch);
criterion_main!(benches);

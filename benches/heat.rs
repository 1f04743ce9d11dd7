//! Heat plans over a day of quarter hours: a band that is held, a cold start, traded degree-hours, and
//! a table of rooms.
use std::hint::black_box;

use chrono::TimeDelta;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rayon::ThreadPoolBuilder;
use slackwater_benches::{Random, curve, noon};
use slackwater_engine::batch::plan_heat_batch;
use slackwater_engine::columns::Rooms;
use slackwater_engine::plan::heat::{
    ComfortBand, CopPoint, HeatBuffers, HeatProblem, HeatRequest, OnOff, OutdoorPeriod, SetBack,
    ThermalStore, plan_heat, plan_heat_in,
};
use slackwater_engine::plan::switching::DeviceState;
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_engine::units::{celsius, kw, kw_per_k, kwh_per_k};

/// House with a heat pump, hourly weather and a set-back at night.
fn request(start: f64, power: f64) -> HeatRequest {
    let store = ThermalStore { capacity: kwh_per_k(8.0), loss: kw_per_k(0.2) };
    let comfort = ComfortBand { min: celsius(20.0), max: celsius(23.0) };
    let time = (noon(), noon() + TimeDelta::hours(24));
    let unit = (kw(power), 3.0);
    let mut request = HeatRequest::new(time, store, celsius(start), comfort, unit, celsius(0.0));
    request.cop = [(-7.0, 2.4), (2.0, 3.2), (7.0, 4.0)]
        .map(|(outdoor, cop)| CopPoint { outdoor: celsius(outdoor), cop })
        .to_vec();
    request.outdoor = (0..24)
        .map(|hour| OutdoorPeriod {
            start: noon() + TimeDelta::hours(hour),
            end: noon() + TimeDelta::hours(hour + 1),
            temperature: celsius(4.0 - 6.0 * (hour as f64 / 24.0 * std::f64::consts::PI).sin()),
        })
        .collect();
    let night = ComfortBand { min: celsius(18.0), max: celsius(23.0) };
    let time = |text| HourMinute::parse(text).expect("a time of day");
    request.set_backs.push(SetBack { from: time("22:00"), to: time("06:00"), band: night });
    request
}

fn single(criterion: &mut Criterion) {
    let prices = curve(96);
    let mut bench = |name: &str, request: HeatRequest| {
        let problem = HeatProblem::new(request).expect("the request makes sense");
        let mut buffers = HeatBuffers::new();
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| plan_heat_in(black_box(&prices), &problem, &mut buffers));
        });
    };
    bench("heat/day-96-in-buffers", request(21.0, 3.0));
    bench("heat/day-96-cold-start", request(17.0, 3.0));
    bench("heat/day-96-traded", request(21.0, 1.0));
    let least = TimeDelta::minutes(45);
    let on_off = OnOff { on_min: least, off_min: least, state: DeviceState::Off };
    bench("heat/day-96-on-off", HeatRequest { on_off: Some(on_off), ..request(21.0, 3.0) });
    let problem = HeatProblem::new(request(21.0, 3.0)).expect("the request makes sense");
    criterion.bench_function("heat/day-96", |bencher| {
        bencher.iter(|| plan_heat(black_box(&prices), &problem));
    });
}

const ROWS: usize = 10_000;

/// Rooms of several sizes that share a day of weather, so that every plan has 96 slots.
fn batch(criterion: &mut Criterion) {
    let mut random = Random::new(5);
    let start = noon().timestamp_micros();
    let mut draw = |low, high| (0..ROWS).map(|_| random.between(low, high)).collect();
    let (capacity, loss, temperature): (Vec<f64>, Vec<f64>, Vec<f64>) =
        (draw(3.0, 12.0), draw(0.1, 0.3), draw(19.0, 22.0));
    let power: Vec<f64> = draw(2.0, 5.0);
    let (now, until) = (vec![start; ROWS], vec![start + 86_400_000_000; ROWS]);
    let (least, most) = (vec![20.0; ROWS], vec![23.0; ROWS]);
    let rooms = Rooms {
        now: &now,
        until: &until,
        capacity_kwh_per_k: &capacity,
        loss_kw_per_k: &loss,
        temperature_celsius: &temperature,
        min_celsius: &least,
        max_celsius: &most,
        power_max_kw: &power,
        ..Rooms::default()
    };
    let (shared, prices) = (request(21.0, 3.0), [curve(96)]);
    let one = ThreadPoolBuilder::new().num_threads(1).build().expect("one thread can be had");
    let mut group = criterion.benchmark_group("heat");
    group.sample_size(10).throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("batch-columns/10000", |bencher| {
        bencher.iter(|| plan_heat_batch(black_box(&rooms), &shared, &prices, None));
    });
    group.bench_function("one-core-columns/10000", |bencher| {
        bencher.iter(|| one.install(|| plan_heat_batch(black_box(&rooms), &shared, &prices, None)));
    });
    group.finish();
}

criterion_group!(benches, single, batch);
criterion_main!(benches);

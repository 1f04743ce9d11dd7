//! Policies under uncertain prices: a day of five minutes with 20 states, and its certificate.
use std::hint::black_box;

use chrono::TimeDelta;
use criterion::{Criterion, criterion_group, criterion_main};
use slackwater_benches::noon;
use slackwater_engine::plan::policy::{PolicyProblem, PriceStates, plan_policy};
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{Price, kw, kwh, per_kwh};

/// Chain of prices that wander between 20 levels around a daily wave.
fn chain(slots: usize) -> PriceStates {
    const STATES: usize = 20;
    let price = |slot: usize, state: usize| -> Price {
        let wave = (slot as f64 / slots as f64 * std::f64::consts::TAU).sin();
        per_kwh(0.25 + 0.1 * wave + 0.02 * (state as f64 - 9.5))
    };
    let prices: Vec<Vec<Price>> =
        (0..slots).map(|slot| (0..STATES).map(|state| price(slot, state)).collect()).collect();
    let row = |from: usize| -> Vec<f64> {
        let weights = (0..STATES).map(|to| 0.7_f64.powi(from.abs_diff(to) as i32));
        let sum: f64 = weights.clone().sum();
        weights.map(|weight| weight / sum).collect()
    };
    let matrix = (0..STATES).map(row).collect();
    let first = vec![1.0 / STATES as f64; STATES];
    PriceStates::markov(&prices, &[matrix], &first).expect("a chain")
}

fn single(criterion: &mut Criterion) {
    let slots = 288;
    let horizon = Horizon::steps(noon(), TimeDelta::minutes(5), slots).expect("a horizon");
    let prices = chain(slots);
    let departures = vec![1.0 / slots as f64; slots];
    let problem = PolicyProblem {
        horizon: &horizon,
        prices: &prices,
        power_max: &[kw(11.0)],
        energy: kwh(40.0),
        shortfall_price: per_kwh(1.0),
        departures: Some(&departures),
    };
    criterion.bench_function("policy/day-288-states-20", |bencher| {
        bencher.iter(|| plan_policy(black_box(&problem)));
    });
    let policy = plan_policy(&problem).expect("the problem makes sense");
    criterion.bench_function("policy/day-288-states-20-certificate", |bencher| {
        bencher.iter(|| black_box(&policy).certificate());
    });
}

criterion_group!(benches, single);
criterion_main!(benches);

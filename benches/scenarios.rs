//! Vehicles behind one limit under uncertain prices, beside the deterministic equivalent in HiGHS.
use std::hint::black_box;

use chrono::TimeDelta;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use slackwater_benches::noon;
use slackwater_engine::area::Profile;
use slackwater_engine::area::scenarios::{
    AreaScenario, ScenarioOptions, ScenarioProblem, plan_area_scenarios,
};
use slackwater_engine::columns::{Fleet, Needs};
use slackwater_engine::lp::{Column, LinearProgram, Row};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{kw, per_kwh};

const VEHICLES: usize = 100;
const SLOTS: usize = 96;
const SHARED: usize = 24;
const SCENARIOS: usize = 10;
const QUARTER_MICROS: i64 = 900_000_000;
const POWER_KW: f64 = 11.0;
const SHORTFALL_PRICE: f64 = 2.0;
/// A quarter of the power of all vehicles.
const LIMIT_KW: f64 = 275.0;

/// First slot, slot after the last one, and energy wanted in kWh of a vehicle.
fn stay_and_energy(at: usize) -> (usize, usize, f64) {
    let (from, length) = ((at * 7) % 40, 30 + (at * 13) % 26);
    (from, from + length, 12.0 + ((at * 29) % 30) as f64)
}

/// Price of a slot in a scenario, which begin to differ at [`SHARED`].
fn scenario_price(scenario: usize, slot: usize) -> f64 {
    let wave = (slot as f64 / 96.0 * std::f64::consts::TAU).sin();
    let spread = ((slot * 31 + scenario * 17) % 23) as f64 / 23.0 - 0.5;
    let level = 0.02 * (scenario as f64 - 4.5);
    let own = if slot < SHARED { 0.0 } else { 0.1 * spread + level };
    0.25 + 0.08 * wave + 0.01 * ((slot * 37 % 11) as f64 / 11.0) + own
}

fn scenario_problem() -> ScenarioProblem {
    let horizon = || Horizon::steps(noon(), TimeDelta::minutes(15), SLOTS).expect("a horizon");
    let curve = |scenario| {
        let prices = (0..SLOTS).map(|slot| scenario_price(scenario, slot)).collect();
        PriceCurve::from_parts(horizon(), prices).expect("finite prices")
    };
    let curves: Vec<PriceCurve> = (0..SCENARIOS).map(curve).collect();
    let scenario = |prices| AreaScenario {
        probability: 1.0 / SCENARIOS as f64,
        prices,
        limit: Some(Profile::Constant(kw(LIMIT_KW))),
        base: None,
    };
    let scenarios: Vec<AreaScenario<'_>> = curves.iter().map(scenario).collect();
    let micros = |slot: usize| noon().timestamp_micros() + slot as i64 * QUARTER_MICROS;
    let of_vehicles = |number: fn(usize) -> usize| -> Vec<i64> {
        (0..VEHICLES).map(|at| micros(number(at))).collect()
    };
    let energy_kwh: Vec<f64> = (0..VEHICLES).map(|at| stay_and_energy(at).2).collect();
    let fleet = Fleet {
        arrival: &of_vehicles(|at| stay_and_energy(at).0),
        departure: &of_vehicles(|at| stay_and_energy(at).1),
        needs: Needs::Energy { energy_kwh: &energy_kwh },
        power_max_kw: &[POWER_KW; VEHICLES],
        reserve_kwh: None,
        targets: None,
        curve: None,
    };
    let known_from = noon() + TimeDelta::minutes(15 * SHARED as i64);
    ScenarioProblem::new(&fleet, &scenarios, known_from, per_kwh(SHORTFALL_PRICE))
        .expect("the problem makes sense")
}

/// One variable for each vehicle and node, and one for its missing energy in each scenario.
fn deterministic_equivalent() -> LinearProgram {
    let mut programme = LinearProgram::default();
    let share = 1.0 / SCENARIOS as f64;
    let mut limits = vec![Vec::new(); SHARED + SCENARIOS * (SLOTS - SHARED)];
    let node = |scenario: usize, slot: usize| {
        if slot < SHARED { slot } else { slot + scenario * (SLOTS - SHARED) }
    };
    for at in 0..VEHICLES {
        let (from, to, kwh) = stay_and_energy(at);
        let upper = POWER_KW / 4.0;
        let first: Vec<usize> = (from..to.min(SHARED))
            .map(|slot| {
                let cost = scenario_price(0, slot);
                let column = programme.add_column(Column { cost, lower: 0.0, upper });
                limits[node(0, slot)].push((column, 1.0));
                column
            })
            .collect();
        for scenario in 0..SCENARIOS {
            let mut terms: Vec<(usize, f64)> = first.iter().map(|&column| (column, 1.0)).collect();
            for slot in from.max(SHARED)..to {
                let cost = share * scenario_price(scenario, slot);
                let column = programme.add_column(Column { cost, lower: 0.0, upper });
                limits[node(scenario, slot)].push((column, 1.0));
                terms.push((column, 1.0));
            }
            let cost = share * SHORTFALL_PRICE;
            let missing = Column { cost, lower: 0.0, upper: f64::INFINITY };
            terms.push((programme.add_column(missing), 1.0));
            programme.rows.push(Row { lower: kwh, upper: kwh, terms });
        }
    }
    let upper = LIMIT_KW / 4.0;
    let rows = limits.into_iter().filter(|terms| !terms.is_empty());
    let rows = rows.map(|terms| Row { lower: f64::NEG_INFINITY, upper, terms });
    programme.rows.extend(rows);
    programme
}

fn bench_scenarios(criterion: &mut Criterion) {
    let problem = scenario_problem();
    let programme = deterministic_equivalent();
    let plan = plan_area_scenarios(problem.clone(), &ScenarioOptions::default());
    let optimum = programme.minimise().expect("missing energy is always possible").cost;
    let (cost, bound) = (plan.expected_cost(), plan.bound);
    assert!(bound <= optimum + 1e-6 && optimum <= cost + 1e-6, "{bound} ≤ {optimum} ≤ {cost}");
    let mut group = criterion.benchmark_group("scenarios");
    group.sample_size(10);
    for (name, gap) in [("gap-0.5-percent", 5e-3), ("gap-0.01-percent", 1e-4)] {
        let options = ScenarioOptions { gap, ..ScenarioOptions::default() };
        group.bench_function(format!("area-100-slots-96-scenarios-10/{name}"), |bencher| {
            bencher.iter_batched(
                || problem.clone(),
                |problem| plan_area_scenarios(black_box(problem), &options),
                BatchSize::LargeInput,
            );
        });
    }
    group.bench_function("area-100-slots-96-scenarios-10/highs", |bencher| {
        bencher.iter(|| black_box(&programme).minimise());
    });
    group.finish();
}

criterion_group!(benches, bench_scenarios);
criterion_main!(benches);

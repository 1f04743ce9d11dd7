//! Random requests, planned and judged.
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use slackwater_engine::plan::evcc::{EvccRequest, EvccStatus, plan_evcc};

use crate::evaluator::{Request, evaluate};
use crate::milp::optimum;
use crate::schedules::response_of;

fn batteries(steps: usize) -> impl Strategy<Value = Value> {
    let powers = (0..3usize, 0..3usize, 0..3usize);
    let levels = (0..=10u32, 0..=4u32, any::<bool>());
    let leaves = (any::<bool>(), any::<bool>(), 0..=2u32);
    let demand = prop::option::weighted(0.3, prop::collection::vec(0..3u32, steps));
    let goal = prop::option::weighted(0.4, (1..steps, 1..=12u32));
    (powers, levels, leaves, demand, goal, 0..=4u32).prop_map(
        move |(
            (most, least, back),
            (start, floor, is_roomy),
            (from, to, priority),
            demand,
            goal,
            value,
        )| {
            let c_max = [2000.0, 3700.0, 11000.0][most];
            let c_min = [0.0, 0.0, 1380.0][least];
            let d_max = [0.0, 1500.0, 5000.0][back];
            let mut battery = json!({
                "charge_from_grid": from, "discharge_to_grid": to, "c_priority": priority,
                "s_min": floor * 500, "s_max": 9000, "s_initial": start * 1000,
                "s_capacity": if is_roomy { 12_000 } else { 10_000 },
                "c_min": c_min, "c_max": c_max,
                "d_max": d_max, "p_a": f64::from(value) * 6e-5,
            });
            if let Some(demand) = demand {
                battery["p_demand"] = json!(demand.iter().map(|d| d * 900).collect::<Vec<_>>());
            }
            if let Some((by, level)) = goal {
                let mut goals = vec![0; steps];
                goals[by] = level * 1000;
                battery["s_goal"] = json!(goals);
            }
            battery
        },
    )
}

fn requests() -> impl Strategy<Value = Value> {
    (2..7usize).prop_flat_map(|steps| {
        let series = |from: i32, to: i32| prop::collection::vec(from..to, steps);
        let dt = prop::collection::vec(prop::sample::select(vec![900, 1800, 3600]), steps);
        let grid = (
            prop::option::weighted(0.3, 1..8u32),
            prop::option::weighted(0.3, 0..6u32),
            prop::option::weighted(0.3, 1..50u32),
        );
        let strategy = (0..5usize, 0..2usize);
        let site = (series(0, 30), series(0, 60), series(-8, 40), series(0, 30), dt);
        let batteries = prop::collection::vec(batteries(steps), 1..3);
        (site, grid, strategy, batteries, 6..=10u32).prop_map(build)
    })
}

type Site = (Vec<i32>, Vec<i32>, Vec<i32>, Vec<i32>, Vec<i32>);
type Limits = (Option<u32>, Option<u32>, Option<u32>);

fn build(
    ((house, sun, buys, sells, dt), (import, export, rate), strategy, batteries, eta): (
        Site,
        Limits,
        (usize, usize),
        Vec<Value>,
        u32,
    ),
) -> Value {
    let charging = [
        "none",
        "charge_before_export",
        "attenuate_demand_peaks",
        "attenuate_feedin_peaks",
        "attenuate_grid_peaks",
    ];
    let discharging = ["none", "discharge_before_import"];
    let scaled = |values: &[i32], by: f64| -> Vec<f64> {
        values.iter().map(|&value| f64::from(value) * by).collect()
    };
    let mut grid = json!({});
    if let Some(import) = import {
        grid["p_max_imp"] = json!(import * 1000);
        if let Some(rate) = rate {
            grid["prc_p_exc_imp"] = json!(f64::from(rate) * 1e-5);
        }
    }
    if let Some(export) = export {
        grid["p_max_exp"] = json!(export * 1000);
    }
    let eta = f64::from(eta) / 10.0;
    json!({
        "strategy": {
            "charging_strategy": charging[strategy.0],
            "discharging_strategy": discharging[strategy.1],
        },
        "grid": grid, "batteries": batteries, "eta_c": eta, "eta_d": eta,
        "time_series": {
            "dt": dt, "gt": scaled(&house, 100.0), "ft": scaled(&sun, 100.0),
            "p_N": scaled(&buys, 1e-5), "p_E": scaled(&sells, 1e-5),
        },
    })
}

/// Money and part of it that rounding may move.
const ROUNDING: (f64, f64) = (2e-6, 1e-7);

fn judge(value: &Value) -> Result<bool, String> {
    let request: EvccRequest = serde_json::from_value(value.clone()).map_err(|e| e.to_string())?;
    let schedule = plan_evcc(&request, None).map_err(|error| error.to_string())?;
    let judged = Request::read(value);
    let found = evaluate(&judged, &response_of(&schedule))?;
    let Some(best) = optimum(&judged) else { return Ok(false) };
    let least = best - ROUNDING.0 - ROUNDING.1 * best.abs();
    if found.objective < least || schedule.status != EvccStatus::Optimal {
        return Err(format!("{found:?}, not {best}: {schedule:?}"));
    }
    Ok(true)
}

#[test]
fn no_schedule_of_a_random_request_is_worth_more() {
    let config = Config { cases: 150, failure_persistence: None, ..Config::default() };
    let seed = [7; 32];
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let decided = std::cell::Cell::new(0);
    let judged = runner.run(&requests(), |value| match judge(&value) {
        Ok(is_decided) => {
            decided.set(decided.get() + u32::from(is_decided));
            Ok(())
        }
        Err(rule) => Err(TestCaseError::fail(format!("{rule}\n{value:#}"))),
    });
    if let Err(failure) = judged {
        panic!("{failure}");
    }
    assert!(decided.get() >= 145, "{} are decided", decided.get());
}

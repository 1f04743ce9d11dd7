//! Schedules that a strict case of the contract publishes, and their reasons.
use std::cell::Cell;
use std::f64::consts::{PI, TAU};

use serde_json::{Value, json};
use slackwater_engine::plan::evcc::{EvccRequest, EvccSchedule, EvccStatus, explain, plan_evcc};

use crate::evaluator::{Request, Response, evaluate};

/// The response as a stranger reads it.
pub(crate) fn response_of(schedule: &EvccSchedule) -> Response {
    let value = serde_json::to_value(schedule).expect("JSON");
    serde_json::from_value(value).expect("a response of the contract")
}

fn planned(name: &str) -> (EvccRequest, EvccSchedule) {
    let path = format!("{}/evcc/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let case: Value =
        serde_json::from_str(&std::fs::read_to_string(path).expect("a case")).expect("JSON");
    let request: EvccRequest = serde_json::from_value(case["request"].clone()).expect("a request");
    let schedule = plan_evcc(&request, None).expect("a valid request");
    (request, schedule)
}

fn assert_near(found: &[f64], published: &[f64]) {
    assert_eq!(found.len(), published.len());
    let is_near = found.iter().zip(published).all(|(one, other)| (one - other).abs() < 1.0);
    assert!(is_near, "{found:?}, not {published:?}");
}

#[test]
fn peaks_are_level_as_the_contract_publishes() {
    let (_, demand) = planned("024-attenuate-demand-peaks");
    assert_near(&demand.grid_import, &[1052.6316; 4]);
    let (_, both) = planned("026-attenuate-grid-peaks");
    assert_near(&both.grid_export, &[0.0, 0.0, 0.0, 1000.0, 4000.0, 4000.0, 1000.0, 0.0]);
    let (_, below) = planned("027-attenuate-feedin-peaks-below-cap");
    assert_near(&below.batteries[0].charging_power, &[50.0, 42.5, 42.5, 42.5, 42.5]);
    let (_, rate) = planned("028-demand-rate-peak-shaving");
    assert_near(&rate.grid_import, &[2000.0, 500.0, 500.0, 500.0]);
}

#[test]
fn each_flow_has_a_reason() {
    for name in ["015-low-soc-initial", "018-high-soc-initial", "013-grid-export-limit-hit"] {
        let (request, schedule) = planned(name);
        let flows = schedule
            .batteries
            .iter()
            .flat_map(|battery| battery.charging_power.iter().chain(&battery.discharging_power));
        let reasons = explain(&request, &schedule);
        assert_eq!(reasons.len(), flows.filter(|&&wh| wh > 0.0).count(), "{name}");
    }
    let (request, schedule) = planned("028-demand-rate-peak-shaving");
    let reason = "step 0: battery 0 discharges 2000 Wh: the import limit is reached";
    assert_eq!(explain(&request, &schedule), [reason]);
}

#[test]
fn a_goal_of_the_first_step_is_no_reason() {
    // It charges for the second step, and the contract does not use a goal of the first.
    let request: EvccRequest = serde_json::from_value(json!({
        "batteries": [{
            "charge_from_grid": true, "s_min": 0, "s_max": 5000, "s_initial": 0, "c_min": 0,
            "c_max": 2000, "d_max": 2000, "p_a": 0, "s_goal": [3000, 0]
        }],
        "time_series": {
            "dt": [3600, 3600], "gt": [1000, 1000], "ft": [0, 0],
            "p_N": [0.0001, 0.0003], "p_E": [0, 0]
        }
    }))
    .expect("a request");
    let schedule = plan_evcc(&request, None).expect("a valid request");
    let reason = "the import price of 0.0001 per Wh is below what the energy is worth later";
    assert!(explain(&request, &schedule)[0].ends_with(reason));
}

#[test]
fn a_search_without_time_ends_with_a_schedule_that_keeps_all_rules() {
    for name in ["009-discharge-before-import", "012-early-charging-not-perfect"] {
        let (request, best) = planned(name);
        let judged = Request::read(&serde_json::to_value(&request).expect("JSON"));
        let hurried = plan_evcc(&request, Some(&|| 0.0)).expect("a valid request");
        assert_eq!(hurried.status, EvccStatus::Feasible, "{name}");
        evaluate(&judged, &response_of(&hurried)).unwrap_or_else(|rule| panic!("{name}: {rule}"));
        assert!(hurried.objective_value <= best.objective_value + 1e-6, "{name}");
    }
}

/// Two days of a house with a battery and a car that charges with 1,380 W at least.
fn with_least_power(phase: u32) -> EvccRequest {
    let hours: Vec<f64> = (0..192).map(|step| f64::from(step) / 4.0).collect();
    let wave = |hour: f64, peak: f64| ((hour - peak) / 24.0 * TAU + f64::from(phase)).sin();
    let series = |of: &dyn Fn(f64) -> f64| hours.iter().map(|&hour| of(hour)).collect::<Vec<_>>();
    let battery = json!({
        "charge_from_grid": true, "s_min": 0, "s_max": 10_000, "s_initial": 2_000, "c_min": 0,
        "c_max": 5_000, "d_max": 5_000, "p_a": 1.5e-4,
    });
    let car = json!({
        "charge_from_grid": true, "s_min": 0, "s_max": 48_000, "s_initial": 20_000 + 999 * phase,
        "c_min": 1_380, "c_max": 11_000, "d_max": 0, "p_a": 1.5e-4,
    });
    let steps = json!({
        "dt": vec![900; 192], "gt": series(&|hour| 150.0 + 60.0 * wave(hour, 3.0)),
        "ft": series(&|hour| (1_500.0 * ((hour % 24.0 - 6.0) / 12.0 * PI).sin()).max(0.0)),
        "p_N": series(&|hour| 2.5e-4 + 8e-5 * wave(hour, 9.0)), "p_E": vec![8e-5; 192],
    });
    serde_json::from_value(json!({ "batteries": [battery, car], "time_series": steps }))
        .expect("a request")
}

#[test]
fn a_search_without_time_is_near_the_best_one_with_least_powers() {
    let mut proved = 0;
    for phase in 0..8 {
        let request = with_least_power(phase);
        let hurried = plan_evcc(&request, Some(&|| 0.0)).expect("a valid request");
        let best = plan_evcc(&request, None).expect("a valid request");
        let left = best.objective_value - hurried.objective_value;
        assert!(left <= 1e-2 * best.objective_value.abs(), "phase {phase}: {left} is left");
        if hurried.status == EvccStatus::Optimal {
            proved += 1;
            assert!(left.abs() <= 1e-6, "phase {phase}: {left} is left");
        }
    }
    // Where the rounded schedule is worth as much as the relaxation, no search is needed.
    assert!(proved >= 2, "{proved} are proved");
}

#[test]
fn all_searches_of_a_request_share_its_seconds() {
    let (request, _) = planned("009-discharge-before-import");
    // A clock that counts how often it is asked, and says what is left then.
    let plan_by = |left: fn(usize) -> f64| {
        let asked = Cell::new(0);
        let clock = || {
            asked.set(asked.get() + 1);
            left(asked.get())
        };
        let schedule = plan_evcc(&request, Some(&clock)).expect("a valid request");
        (schedule.status, asked.get())
    };
    let (status, searches) = plan_by(|_| 1e6);
    assert_eq!(status, EvccStatus::Optimal);
    assert!(searches > 1, "{searches}");
    // Time for the first search alone: the second one ends at once, and there is no third.
    let only_first = |asked| if asked == 1 { 1e6 } else { 0.0 };
    assert_eq!(plan_by(only_first), (EvccStatus::Feasible, 2));
}

#[test]
fn what_is_not_of_the_contract_is_refused() {
    let (request, _) = planned("024-attenuate-demand-peaks");
    let given = serde_json::to_value(&request).expect("JSON");
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut value = given.clone();
        change(&mut value);
        let request: EvccRequest = serde_json::from_value(value).map_err(|e| e.to_string())?;
        plan_evcc(&request, None).map(|_| ()).map_err(|error| error.to_string())
    };
    let refusal = |change: &dyn Fn(&mut Value)| refused(change).expect_err("it is refused");
    assert_eq!(refused(&|value| value["M"] = json!(1e6)), Ok(()));
    let unknown = refusal(&|value| value["batteries"][0]["s_maxx"] = json!(1));
    assert!(unknown.starts_with("unknown field `s_maxx`"), "{unknown}");
    let strategy = refusal(&|value| value["strategy"]["charging_strategy"] = json!("fast"));
    assert!(strategy.starts_with("unknown variant `fast`"), "{strategy}");
    let short = refusal(&|value| value["time_series"]["ft"] = json!([0]));
    assert_eq!(short, "time_series.ft has 1 values; time_series.dt has 4, one for each step");
    let efficiency = refusal(&|value| value["eta_c"] = json!(1.5));
    assert_eq!(efficiency, "eta_c is 1.5; it is from 0.001 to 1 Wh per Wh");
    let level = refusal(&|value| value["batteries"][0]["s_initial"] = json!(20_001));
    assert!(
        level.starts_with("batteries.0.s_initial is 20001; it is from 0 to 20000 Wh"),
        "{level}"
    );
    let least = refusal(&|value| value["batteries"][0]["s_min"] = json!(20_001));
    assert!(least.starts_with("batteries.0.s_min is 20001"), "{least}");
    let step = refusal(&|value| value["time_series"]["dt"][2] = json!(0));
    assert_eq!(step, "time_series.dt.2 is 0; it is from 1 to 2678400 s");
    let none = refusal(&|value| value["batteries"] = json!([]));
    assert_eq!(none, "batteries has 0 entries; it has from 1 to 50");
    let rate = refusal(&|value| value["grid"]["prc_p_exc_imp"] = json!(0.1));
    assert!(rate.starts_with("grid.prc_p_exc_imp is 0.1 per W, and there is no"), "{rate}");
}

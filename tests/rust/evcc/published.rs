//! Public cases of the contract.
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use slackwater_engine::plan::evcc::{EvccRequest, EvccStatus, plan_evcc};

use crate::evaluator::{Request, evaluate};
use crate::milp::optimum;
use crate::schedules::response_of;

/// Money that a schedule may be worth less than the published one.
const MONEY: f64 = 1e-6;

/// Rounding of the published energies, of which money is the sum: eight digits of up to 10 kWh.
const PUBLISHED_WH: f64 = 5e-5;

/// Most steps for which the oracle, with all of its binaries, ends within seconds.
const ORACLE_STEPS_MAX: usize = 70;

/// Most steps of a case that is planned twice.
const SHORT_STEPS_MAX: usize = 40;

fn cases() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("evcc");
    let files = fs::read_dir(folder).expect("the folder of the cases");
    let files = files.map(|file| file.expect("a file").path());
    let mut cases: Vec<(String, Value)> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a case");
            (path.display().to_string(), serde_json::from_str(&text).expect("JSON"))
        })
        .collect();
    cases.sort_by(|one, other| one.0.cmp(&other.0));
    cases
}

/// Published money, counted from the start. Some versions of the contract count the value of what is
/// stored from the end of the first step; their cases have that level.
fn published_money(request: &Request, published: &Value) -> f64 {
    let money = published["objective_value"].as_f64().expect("a number");
    let Some(first) = published["stored_after_first_step"].as_array() else { return money };
    let first = first.iter().map(|level| level.as_f64().expect("a number"));
    let batteries = request.batteries.iter().zip(first);
    money + batteries.map(|(b, level)| b.p_a * (level - b.s_initial)).sum::<f64>()
}

#[test]
fn each_public_case_is_worth_its_published_optimum() {
    let cases = cases();
    assert!(cases.len() >= 21, "{} cases", cases.len());
    for (name, case) in cases {
        let request: EvccRequest =
            serde_json::from_value(case["request"].clone()).expect("a request");
        let schedule = plan_evcc(&request, None).expect("a valid request");
        assert_eq!(schedule.status, EvccStatus::Optimal, "{name}");
        let judged = Request::read(&case["request"]);
        let found = evaluate(&judged, &response_of(&schedule))
            .unwrap_or_else(|rule| panic!("{name}: {rule}"));
        let told = schedule.objective_value;
        assert!((told - found.money).abs() < MONEY, "{name}: told {told}, {found:?}");
        let published = published_money(&judged, &case["published"]);
        let digits = PUBLISHED_WH * judged.steps() as f64 * judged.base();
        println!("{name}: {} beside {published}", found.money);
        assert!(found.money >= published - MONEY - digits, "{name}: {found:?}, not {published}");
        if judged.steps() <= ORACLE_STEPS_MAX {
            let best = optimum(&judged).unwrap_or_else(|| panic!("{name}: undecided"));
            let rounding = 1e-8 * best.abs();
            assert!(found.objective >= best - MONEY - rounding, "{name}: {found:?}, not {best}");
        }
        let limits = json!(schedule.limit_violations);
        for limit in ["grid_import_limit_exceeded", "grid_export_limit_hit"] {
            assert_eq!(limits[limit], case["published"][limit], "{name}: {limit}");
        }
    }
}

#[test]
fn the_same_request_gives_the_same_bytes() {
    for (name, case) in cases() {
        let request: EvccRequest =
            serde_json::from_value(case["request"].clone()).expect("a request");
        if request.time_series.dt.len() > SHORT_STEPS_MAX {
            continue;
        }
        let bytes =
            || serde_json::to_vec(&plan_evcc(&request, None).expect("valid")).expect("JSON");
        assert_eq!(bytes(), bytes(), "{name}");
    }
}

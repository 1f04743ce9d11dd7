//! The cases of `tests/cases` through the engine's public functions. The same
//! files run through the Python package, so the two agree.
use serde_json::Value;

mod capacity;
mod devices;
mod given;
mod plans;
mod questions;
mod rules;
mod site;
mod storage;
mod switching;

fn same(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Number(a), Value::Number(b)) => a
            .as_f64()
            .zip(b.as_f64())
            .is_some_and(|(a, b)| (a - b).abs() <= 1e-9 * a.abs().max(1.0)),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

fn run(text: &str) -> usize {
    let cases: Vec<Value> = serde_json::from_str(text).expect("cases are JSON");
    let mut failures = String::new();
    for case in &cases {
        let got = match case["fn"].as_str().unwrap_or_default() {
            "deadline.next" => plans::deadline_next(&case["input"]),
            "plan.closeTo" => questions::close_to(&case["input"]),
            "plan.decideBy" => questions::decide_by(&case["input"]),
            "plan.frontier" => questions::frontier(&case["input"]),
            "plan.risk" => questions::risk(&case["input"]),
            "plan.whatIf" => questions::asked(&case["input"]),
            "plan.switching" => switching::switching(&case["input"]),
            "site.plan" => site::site(&case["input"]),
            "plan.capacity" => capacity::capacity(&case["input"]),
            "plan.storage" => storage::storage(&case["input"]),
            other => match devices::call(other) {
                Some(call) => call(&case["input"]),
                None => rules::answer(other, &case["input"])
                    .unwrap_or_else(|| panic!("no call for {other}")),
            },
        };
        if !same(&case["expected"], &got) {
            failures += &[&case["id"].to_string(), ": ", &got.to_string(), "\n"].concat();
        }
    }
    assert!(failures.is_empty(), "{failures}");
    cases.len()
}

#[test]
fn plans() {
    assert!(run(include_str!("../../cases/plan.json")) > 10);
}

#[test]
fn questions() {
    assert!(run(include_str!("../../cases/questions.json")) > 15);
}

#[test]
fn switching_plans() {
    assert!(run(include_str!("../../cases/switching.json")) >= 10);
}

#[test]
fn sites() {
    assert!(run(include_str!("../../cases/site.json")) > 5);
}

#[test]
fn times() {
    assert!(run(include_str!("../../cases/time.json")) > 5);
}

#[test]
fn plans_under_a_price_of_power() {
    assert!(run(include_str!("../../cases/capacity.json")) > 10);
}

#[test]
fn storage_plans() {
    assert!(run(include_str!("../../cases/storage.json")) > 10);
}

#[test]
fn rules_of_prices_and_policies() {
    assert!(run(include_str!("../../cases/rules.json")) > 100);
}

#[test]
fn rules_of_devices_and_schedules() {
    assert!(run(include_str!("../../cases/devices.json")) > 100);
}

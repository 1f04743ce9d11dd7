//! Questions that are asked of a plan.
use serde_json::{Value, json};
use slackwater_engine::plan::charge::{ChargeProblem, ChargeRequest, Target, plan_charge};
use slackwater_engine::plan::questions::{
    ChangedInput, Departure, InsurancePoint, energy_at_risk, insurance_frontier, provenance,
    what_if,
};
use slackwater_engine::plan::stability::{Budget, SteadyPlan, plan_close_to};
use slackwater_engine::prices::layers::{Layer, LayeredPrices, Standing};
use slackwater_engine::units::{Energy, Money, Power, Price};

use crate::given::{curve, instant, number, wire};

fn targets(given: &Value) -> Vec<Target> {
    let target = |target: &Value| Target {
        by: Some(instant(&target["by"])),
        energy: Energy::from_kwh(number(&target["kwh"])).expect("an energy"),
    };
    given.as_array().expect("targets are a list").iter().map(target).collect()
}

fn problem(given: &Value, wanted: &Value) -> ChargeProblem {
    let targets = targets(wanted);
    let power = Power::from_kw(number(&given["kw"])).expect("a power");
    let mut request = ChargeRequest::new(instant(&given["now"]), power, targets[0]);
    request.targets = targets;
    let reserve = given["reserveKwh"].as_f64().unwrap_or(0.0);
    request.reserve = Energy::from_kwh(reserve).expect("an energy");
    ChargeProblem::new(request).expect("it makes sense")
}

pub(crate) fn close_to(given: &Value) -> Value {
    let older = &given["beforeTargets"];
    let older = if older.is_null() { &given["targets"] } else { older };
    let before = json!({ "prices": given["before"] });
    let before = plan_charge(&curve(&before), &problem(given, older));
    let amount = |amount: f64| Money::from_amount(amount).expect("an amount");
    let budget = Budget::new(amount(number(&given["budget"])), Money::ZERO).expect("a budget");
    let problem = problem(given, &given["targets"]);
    let SteadyPlan { plan, stability } = plan_close_to(&curve(given), &problem, &before, budget);
    json!({
        "changeKwh": stability.change.as_kwh(),
        "cheapestChangeKwh": stability.cheapest_change.as_kwh(),
        "extraCost": stability.extra_cost.as_amount(),
        "cost": plan.cost.as_amount(),
        "spent": stability.budget.spent().as_amount(),
    })
}

pub(crate) fn decide_by(given: &Value) -> Value {
    let layer = |source: &str, standing, curve| Layer {
        source: source.into(),
        standing,
        ceiling: None,
        curve,
    };
    let ceiling = given["ceiling"].as_f64();
    let guess = curve(&json!({ "prices": given["estimates"] }));
    let guess = Layer {
        ceiling: ceiling.map(|price| Price::from_per_kwh(price).expect("a price")),
        ..layer("estimate", Standing::Estimate, guess)
    };
    let known = layer("prices", Standing::Known, curve(given));
    let prices = LayeredPrices::new(vec![known, guess]).expect("layers that make sense");
    let problem = problem(given, &given["targets"]);
    let told = provenance(&prices, &problem, &plan_charge(prices.curve(), &problem));
    json!({
        "decideBy": told.decide_by.map(wire),
        "awaitingPrices": told.awaiting_prices,
        "kwhOnEstimates": told.energy_on_estimates.as_kwh(),
        "costOnEstimates": told.cost_on_estimates.as_amount(),
    })
}

pub(crate) fn frontier(given: &Value) -> Value {
    let plan = plan_charge(&curve(given), &problem(given, &given["targets"]));
    let frontier = insurance_frontier(&plan, instant(&given["at"]));
    let corner = |point: &InsurancePoint| {
        json!({
            "kwh": point.energy.as_kwh(),
            "addedCost": point.added_cost.as_amount(),
        })
    };
    json!({ "corners": frontier.points.iter().map(corner).collect::<Vec<_>>() })
}

pub(crate) fn risk(given: &Value) -> Value {
    let plan = plan_charge(&curve(given), &problem(given, &given["targets"]));
    let departures = given["departures"].as_array().expect("departures are a list").iter();
    let departures: Vec<Departure> = departures
        .map(|leave| Departure { at: instant(&leave["at"]), weight: number(&leave["weight"]) })
        .collect();
    let risk = energy_at_risk(&plan, &departures, None).expect("departures that make sense");
    json!({
        "expectedMissingKwh": risk.expected_missing.as_kwh(),
        "probabilityShort": risk.probability_short,
        "missingMaxKwh": risk.missing_max.as_kwh(),
    })
}

pub(crate) fn asked(given: &Value) -> Value {
    let change = &given["change"];
    let change = if change["noReserve"] == json!(true) {
        ChangedInput::NoReserve
    } else if let Some(more) = change["moreKwh"].as_f64() {
        ChangedInput::MoreEnergy { energy: Energy::from_kwh(more).expect("an energy") }
    } else if change["departure"].is_null() {
        ChangedInput::NoDeadline { by: instant(&change["withoutDeadline"]) }
    } else {
        ChangedInput::Departure { at: instant(&change["departure"]) }
    };
    let problem = problem(given, &given["targets"]);
    let answer = what_if(&curve(given), &problem, &[change]).expect("a change that fits");
    json!({
        "costChange": answer.cost_change.as_amount(),
        "shortfallChangeKwh": answer.shortfall_change.as_kwh(),
    })
}

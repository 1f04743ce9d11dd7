//! The cases of `tests/cases` through the engine's public functions. The same
//! files run through the Python package, so the two agree.
use chrono::{DateTime, NaiveTime, SecondsFormat, TimeDelta, Utc};
use chrono_tz::Tz;
use serde_json::{Value, json};
use slackwater_engine::plan::budget::Budget;
use slackwater_engine::plan::charge::plan_charge;
use slackwater_engine::plan::counterfactual::{Change, what_if};
use slackwater_engine::plan::departure::{
    Departure, InsurancePoint, energy_at_risk, insurance_frontier,
};
use slackwater_engine::plan::estimates::provenance;
use slackwater_engine::plan::plan::Plan;
use slackwater_engine::plan::problem::{AfterDeadline, ChargeProblem, Request, Target};
use slackwater_engine::plan::site::device::{Device, Load, Phase, Solar, Vehicle};
use slackwater_engine::plan::site::plan::SitePlan;
use slackwater_engine::plan::site::planner::plan_site;
use slackwater_engine::plan::site::problem::{
    Carbon, CarbonSlot, DemandCharge, Limit, SiteProblem, SiteRequest, Tier, Tiers,
};
use slackwater_engine::plan::site::series::Series;
use slackwater_engine::plan::stability::{SteadyPlan, plan_close_to};
use slackwater_engine::plan::switching::planner::plan_switching;
use slackwater_engine::plan::switching::request::{
    DeviceState, SwitchingProblem, SwitchingRequest,
};
use slackwater_engine::plan::vehicle::{Battery, SocTarget, VehicleRequest};
use slackwater_engine::prices::curve::{PriceCurve, Slot};
use slackwater_engine::prices::layers::{Layer, LayeredPrices, Standing};
use slackwater_engine::time::deadline::next_deadline;
use slackwater_engine::units::{Energy, Money, Percent, Power, Price};

fn instant(value: &Value) -> DateTime<Utc> {
    value.as_str().expect("an instant is a string").parse().expect("an instant is RFC 3339")
}

fn wire(at: DateTime<Utc>) -> Value {
    json!(at.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

fn percent(value: &Value, absent: f64) -> Percent {
    Percent::from_percent(value.as_f64().unwrap_or(absent)).expect("a percentage")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn curve(given: &Value) -> PriceCurve {
    let slot = |step: &Value| Slot {
        start: instant(&step["from"]),
        end: instant(&step["to"]),
        price: Price::from_per_kwh(number(&step["price"])).expect("a price"),
    };
    let steps = given["prices"].as_array().expect("prices are a list");
    PriceCurve::new(&steps.iter().map(slot).collect::<Vec<_>>()).expect("prices are in order")
}

fn by(given: &Value) -> Option<DateTime<Utc>> {
    (!given["deadline"].is_null()).then(|| instant(&given["deadline"]))
}

fn intervals(plan: &Plan) -> Value {
    plan.intervals.iter().map(|i| json!({ "from": wire(i.start), "to": wire(i.end) })).collect()
}

fn deadline_next(given: &Value) -> Value {
    let zone: Tz = given["tz"].as_str().unwrap_or("UTC").parse().expect("a time zone");
    let time = format!("{}:00", given["deadline"].as_str().expect("HH:MM"));
    let time: NaiveTime = time.parse().expect("a time of day");
    wire(next_deadline(time, zone, instant(&given["now"])))
}

fn vehicle(given: &Value) -> Value {
    let request = VehicleRequest {
        now: instant(&given["now"]),
        until: None,
        power_max: Power::from_kw(number(&given["kw"])).expect("a power"),
        power_limits: Vec::new(),
        battery: Battery {
            capacity: Energy::from_kwh(number(&given["capacityKwh"])).expect("an energy"),
            soc: Some(percent(&given["batteryLevel"], 0.0)),
            soc_fallback: None,
            charge_limit: percent(&given["chargeLimit"], 100.0),
            efficiency: 1.0,
        },
        targets: vec![SocTarget {
            by: by(given),
            soc: (!given["target"].is_null()).then(|| percent(&given["target"], 0.0)),
        }],
        reserve: percent(&given["immediateTo"], 0.0),
        fill_when_negative: false,
        after_deadline: AfterDeadline::Continue,
    };
    let energies = request.in_energy().expect("the vehicle makes sense");
    let plan = plan_charge(&curve(given), &ChargeProblem::new(energies).expect("it makes sense"));
    let delivered = by(given).map_or(plan.energy, |by| plan.energy_by(by));
    let level = request.soc_after(delivered).expect("the state of charge is known");
    json!({
        "intervals": intervals(&plan),
        "energyKwh": plan.energy.as_kwh(),
        "cost": plan.cost.as_amount(),
        "levelAtDeadline": level.as_percent(),
        "feasible": plan.shortfall <= Energy::ZERO,
    })
}

fn charger(given: &Value) -> Value {
    let duration = given["chargingDuration"].as_str().unwrap_or("00:00");
    let (hours, minutes) = duration.split_once(':').expect("HH:MM");
    let minutes = TimeDelta::minutes(minutes.parse().expect("minutes"));
    let duration = TimeDelta::hours(hours.parse().expect("hours")) + minutes;
    let power = Power::from_kw(1.0).expect("a power");
    let target = Target { by: by(given), energy: power.over(duration) };
    let request = Request::new(instant(&given["now"]), power, target);
    let plan = plan_charge(&curve(given), &ChargeProblem::new(request).expect("it makes sense"));
    json!({
        "intervals": intervals(&plan),
        "priceHours": plan.cost.as_amount(),
        "feasible": plan.shortfall <= Energy::ZERO,
    })
}

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
    let mut request = Request::new(instant(&given["now"]), power, targets[0]);
    request.targets = targets;
    let reserve = given["reserveKwh"].as_f64().unwrap_or(0.0);
    request.reserve = Energy::from_kwh(reserve).expect("an energy");
    ChargeProblem::new(request).expect("it makes sense")
}

fn close_to(given: &Value) -> Value {
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

fn decide_by(given: &Value) -> Value {
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

fn frontier(given: &Value) -> Value {
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

fn risk(given: &Value) -> Value {
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

fn asked(given: &Value) -> Value {
    let change = &given["change"];
    let change = if change["noReserve"] == json!(true) {
        Change::NoReserve
    } else if let Some(more) = change["moreKwh"].as_f64() {
        Change::MoreEnergy { energy: Energy::from_kwh(more).expect("an energy") }
    } else if change["departure"].is_null() {
        Change::NoDeadline { by: instant(&change["withoutDeadline"]) }
    } else {
        Change::Departure { at: instant(&change["departure"]) }
    };
    let problem = problem(given, &given["targets"]);
    let answer = what_if(&curve(given), &problem, &[change]).expect("a change that fits");
    json!({
        "costChange": answer.cost_change.as_amount(),
        "shortfallChangeKwh": answer.shortfall_change.as_kwh(),
    })
}

fn switching(given: &Value) -> Value {
    let minutes = |name: &str| TimeDelta::minutes(given[name].as_i64().unwrap_or(0));
    let power = |name: &str| Power::from_kw(number(&given[name])).expect("a power");
    let energy = Energy::from_kwh(number(&given["kwh"])).expect("an energy");
    let target = Target { by: None, energy };
    let mut request = SwitchingRequest::new(instant(&given["now"]), power("kw"), target);
    request.power_min = power("kwMin");
    request.start_cost =
        Money::from_amount(given["startCost"].as_f64().unwrap_or(0.0)).expect("an amount");
    request.sessions_max = given["sessionsMax"].as_u64().map(|most| most as u32);
    request.one_block = given["oneBlock"].as_bool().unwrap_or(false);
    (request.on_min, request.off_min) = (minutes("onMinMinutes"), minutes("offMinMinutes"));
    request.run_last = minutes("runLastMinutes");
    if !given["runningSince"].is_null() {
        request.state = DeviceState::RunningSince(instant(&given["runningSince"]));
    } else if !given["stoppedSince"].is_null() {
        request.state = DeviceState::StoppedSince(instant(&given["stoppedSince"]));
    }
    let curve = curve(given);
    let plan = plan_switching(&SwitchingProblem::new(request, &curve).expect("it makes sense"));
    let interval = |i: &slackwater_engine::plan::switching::plan::SwitchingInterval| json!({ "from": wire(i.start), "to": wire(i.end), "kw": i.power.as_kw() });
    json!({
        "intervals": plan.intervals.iter().map(interval).collect::<Value>(),
        "cost": plan.cost.as_amount(),
        "energyKwh": plan.energy.as_kwh(),
        "sessions": plan.sessions.len(),
        "shortfallKwh": plan.shortfall.as_kwh(),
        "unmet": plan.unmet.iter().map(|wish| json!(wish.as_str())).collect::<Value>(),
    })
}

fn powers(values: &Value) -> Series {
    let power = |kw: &Value| Power::from_kw(number(kw)).expect("a power");
    Series::PerSlot(values.as_array().expect("a list").iter().map(power).collect())
}

fn site_devices(given: &Value) -> Vec<Device> {
    let vehicle = |given: &Value| {
        let power = Power::from_kw(number(&given["kw"])).expect("a power");
        let mut vehicle = Vehicle::new(given["name"].as_str().expect("a name"), power);
        let energy = Energy::from_kwh(number(&given["energyKwh"])).expect("an energy");
        let by = (!given["by"].is_null()).then(|| instant(&given["by"]));
        vehicle.targets.push(Target { by, energy });
        vehicle.priority = number(&given["priority"]);
        Device::Vehicle(vehicle)
    };
    let vehicles = given["vehicles"].as_array().expect("a list").iter();
    let mut devices: Vec<Device> = vehicles.map(vehicle).collect();
    let phases = Phase::ALL.to_vec();
    if !given["loadKw"].is_null() {
        let forecast = powers(&given["loadKw"]);
        let load = Load { name: "load".into(), group: None, phases: phases.clone(), forecast };
        devices.push(Device::Load(load));
    }
    if !given["solarKw"].is_null() {
        let forecast = powers(&given["solarKw"]);
        let (name, group, is_curtailable) = ("solar".into(), None, true);
        devices.push(Device::Solar(Solar { name, group, phases, forecast, is_curtailable }));
    }
    devices
}

/// What else a site is charged for; what is not given is not there.
fn site_charges(given: &Value, request: &mut SiteRequest) {
    let slots = given["prices"].as_array().expect("a list");
    if let Some(prices) = given["export"].as_array() {
        let slot = |(step, price): (&Value, &Value)| Slot {
            start: instant(&step["from"]),
            end: instant(&step["to"]),
            price: Price::from_per_kwh(number(price)).expect("a price"),
        };
        let slots: Vec<Slot> = slots.iter().zip(prices).map(slot).collect();
        request.export_prices = Some(PriceCurve::new(&slots).expect("prices are in order"));
    }
    if !given["peakPrice"].is_null() {
        request.demand_charge = Some(DemandCharge {
            price_per_kw: number(&given["peakPrice"]),
            peak: Power::from_kw(number(&given["peakPaidKw"])).expect("a power"),
            window_minutes: 60,
            window_energy: Energy::ZERO,
            periods: Vec::new(),
        });
    }
    if let Some(blocks) = given["tiers"].as_array() {
        let tier = |block: &Value| Tier {
            until: block[0].as_f64().map(|kwh| Energy::from_kwh(kwh).expect("an energy")),
            surcharge: Price::from_per_kwh(number(&block[1])).expect("a price"),
        };
        let blocks = blocks.iter().map(tier).collect();
        request.tiers = Some(Tiers { blocks, energy_before: Energy::ZERO });
    }
    if let Some(carbon) = given["carbon"].as_array() {
        let slot = |(step, kg): (&Value, &Value)| CarbonSlot {
            start: instant(&step["from"]),
            end: instant(&step["to"]),
            kg_per_kwh: number(kg),
        };
        let intensity = slots.iter().zip(carbon).map(slot).collect();
        request.carbon = Some(Carbon { price_per_kg: number(&given["carbonPrice"]), intensity });
    }
}

fn site(given: &Value) -> Value {
    let mut request = SiteRequest::new(curve(given), instant(&given["now"]));
    request.devices = site_devices(given);
    if let Some(kw) = given["limitKw"].as_f64() {
        let power = Series::Constant(Power::from_kw(kw).expect("a power"));
        request.import_limit = Some(Limit { power, breach_price: None });
    }
    site_charges(given, &mut request);
    let plan = plan_site(&SiteProblem::new(request).expect("it makes sense"));
    // As a value, not as text, which serde_json reads back to the last bit but one.
    let saved = serde_json::to_value(&plan).expect("a plan is data");
    assert_eq!(serde_json::from_value::<SitePlan>(saved).expect("it was one"), plan);
    let shadows = plan.limits.iter().flat_map(|limit| &limit.shadow_price);
    json!({
        "cost": plan.cost.as_amount(),
        "shortfallKwh": plan.devices.iter().map(|d| d.shortfall.as_kwh()).collect::<Vec<_>>(),
        "importKwh": plan.slots.iter().map(|slot| slot.import.as_kwh()).collect::<Vec<_>>(),
        "breachKw": plan.breaches.iter().map(|b| b.excess.as_kw()).collect::<Vec<_>>(),
        "shadowPrice": shadows.map(|price| price.as_per_kwh()).collect::<Vec<_>>(),
    })
}

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
            "deadline.next" => deadline_next(&case["input"]),
            "plan.closeTo" => close_to(&case["input"]),
            "plan.decideBy" => decide_by(&case["input"]),
            "plan.frontier" => frontier(&case["input"]),
            "plan.risk" => risk(&case["input"]),
            "plan.whatIf" => asked(&case["input"]),
            "plan.vehicle" => vehicle(&case["input"]),
            "plan.switching" => switching(&case["input"]),
            "plan.charger" => charger(&case["input"]),
            "site.plan" => site(&case["input"]),
            other => panic!("no call for {other}"),
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
    assert!(run(include_str!("../cases/plan.json")) > 10);
}

#[test]
fn questions() {
    assert!(run(include_str!("../cases/questions.json")) > 15);
}

#[test]
fn switching_plans() {
    assert!(run(include_str!("../cases/switching.json")) >= 10);
}

#[test]
fn sites() {
    assert!(run(include_str!("../cases/site.json")) > 5);
}

#[test]
fn times() {
    assert!(run(include_str!("../cases/time.json")) > 5);
}

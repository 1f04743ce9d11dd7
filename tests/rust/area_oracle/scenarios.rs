//! Areas with scenarios: the deterministic equivalent as one linear programme.
//!
//! The programme has a variable for each vehicle, scenario and slot, and rows that make the scenarios
//! equal until they are known; the engine has shared nodes. `ORACLE_SCALE` multiplies the cases.
use std::ops::Range;

use chrono::{DateTime, TimeDelta, Utc};
use good_lp::solvers::highs::highs;
use good_lp::{
    Expression, ProblemVariables, Solution, SolverModel, Variable, constraint, variable,
};
use slackwater_engine::area::scenarios::{
    AreaScenario, ScenarioError, ScenarioOptions, ScenarioPlan, ScenarioProblem, explain,
    plan_area_scenarios, verify,
};
use slackwater_engine::area::{
    AreaOptions, AreaProblem, AreaVehicles, Node, Profile, Status, plan_area,
};
use slackwater_engine::columns::{Curves, Fleet, Needs};
use slackwater_engine::plan::Check;
use slackwater_engine::plan::policy::{
    PolicyRequest, PriceBranch, UncertainPrices, plan_policy_request,
};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{kw, kwh, per_kwh};

use crate::area::Random;
use crate::scale;

/// Cases of a test, multiplied by `ORACLE_SCALE`.
const CASES: u64 = 200;

/// Evenings before the clocks go forward and back, and another one.
const EVENINGS: [&str; 3] =
    ["2026-03-28T21:00:00Z", "2026-10-24T21:00:00Z", "2026-01-05T18:00:00Z"];

/// Search to the optimum.
const EXACT: ScenarioOptions = ScenarioOptions { gap: 0.0, max_rounds: 500 };

/// Vehicle with times in minutes after the start.
#[derive(Debug, Clone)]
struct Car {
    stay: Range<i64>,
    kwh: f64,
    kw: f64,
}

/// Scenario in plain numbers, one for each slot.
#[derive(Debug, Clone)]
struct Course {
    probability: f64,
    prices: Vec<f64>,
    limit_kw: Vec<Option<f64>>,
    base_kw: Vec<f64>,
}

#[derive(Debug, Clone)]
struct Case {
    start: DateTime<Utc>,
    /// Slots in minutes after the start.
    slots: Vec<Range<i64>>,
    shared: usize,
    courses: Vec<Course>,
    cars: Vec<Car>,
    shortfall_price: f64,
}

impl Case {
    fn random(seed: u64) -> Self {
        let random = &mut Random::new(seed.wrapping_mul(49_979_687) + 3);
        let start =
            EVENINGS[random.below(3) as usize].parse().expect("a time of the test is valid");
        let count = 2 + random.below(14) as usize;
        let mut slots = Vec::new();
        let mut end = 0;
        for _ in 0..count {
            // Slots of several lengths, with a gap now and then.
            let from = end + if random.below(8) == 0 { 20 } else { 0 };
            end = from + [15, 30, 60][random.below(3) as usize];
            slots.push(from..end);
        }
        let shared = random.below(count as u64 + 1) as usize;
        let cars: Vec<Car> = (0..=random.below(6)).map(|_| car(random, end)).collect();
        let all_kw: f64 = cars.iter().map(|car| car.kw).sum();
        let courses = courses(random, (count, shared), all_kw);
        let shortfall_price = [0.2, 1.0, 5.0][random.below(3) as usize];
        Self { start, slots, shared, courses, cars, shortfall_price }
    }

    fn at(&self, minutes: i64) -> DateTime<Utc> {
        self.start + TimeDelta::minutes(minutes)
    }

    fn curve(&self, course: &Course) -> PriceCurve {
        let periods = self.slots.iter().map(|slot| (self.at(slot.start), self.at(slot.end)));
        let horizon = Horizon::new(periods).expect("slots of the test are in order");
        PriceCurve::from_parts(horizon, course.prices.clone()).expect("prices are finite")
    }

    /// First instant of the later slots.
    fn known_from(&self) -> DateTime<Utc> {
        let later = self.slots.get(self.shared).map(|slot| slot.start);
        self.at(later.unwrap_or_else(|| self.slots[self.slots.len() - 1].end))
    }

    /// Hands the fleet over as columns.
    fn with_fleet<T>(&self, plan: impl FnOnce(&Fleet<'_>) -> T) -> T {
        let micros = |minutes: i64| self.at(minutes).timestamp_micros();
        let arrival: Vec<i64> = self.cars.iter().map(|car| micros(car.stay.start)).collect();
        let departure: Vec<i64> = self.cars.iter().map(|car| micros(car.stay.end)).collect();
        let energy_kwh: Vec<f64> = self.cars.iter().map(|car| car.kwh).collect();
        let power_max_kw: Vec<f64> = self.cars.iter().map(|car| car.kw).collect();
        plan(&Fleet {
            arrival: &arrival,
            departure: &departure,
            needs: Needs::Energy { energy_kwh: &energy_kwh },
            power_max_kw: &power_max_kw,
            reserve_kwh: None,
            targets: None,
            curve: None,
        })
    }

    fn try_problem(&self) -> Result<ScenarioProblem, ScenarioError> {
        let curves: Vec<PriceCurve> = self.courses.iter().map(|one| self.curve(one)).collect();
        let scenario = |(course, prices): (&Course, _)| AreaScenario {
            probability: course.probability,
            prices,
            limit: Some(Profile::PerSlot(
                course.limit_kw.iter().map(|limit| limit.map(kw)).collect(),
            )),
            base: Some(Profile::PerSlot(
                course.base_kw.iter().map(|&base| Some(kw(base))).collect(),
            )),
        };
        let scenarios: Vec<AreaScenario<'_>> =
            self.courses.iter().zip(&curves).map(scenario).collect();
        let price = per_kwh(self.shortfall_price);
        self.with_fleet(|fleet| ScenarioProblem::new(fleet, &scenarios, self.known_from(), price))
    }

    fn plan(&self, options: &ScenarioOptions) -> ScenarioPlan {
        let problem = self.try_problem().expect("a case of the test is valid");
        plan_area_scenarios(problem, options)
    }

    /// Most energy of a car in a slot.
    fn most_kwh(&self, car: &Car, slot: usize) -> f64 {
        let Range { start, end } = self.slots[slot];
        let minutes = end.min(car.stay.end) - start.max(car.stay.start);
        car.kw * minutes.max(0) as f64 / 60.0
    }

    /// Least expected cost by the deterministic equivalent.
    fn optimum(&self) -> f64 {
        let mut variables = ProblemVariables::new();
        let mut rows = Vec::new();
        let mut cost = Expression::from(0.0);
        let mut before: Vec<Vec<Vec<Variable>>> = Vec::new();
        for course in &self.courses {
            let mut taken: Vec<Vec<Variable>> = Vec::new();
            for car in &self.cars {
                let most = |slot: usize| self.most_kwh(car, slot);
                let energies: Vec<Variable> = (0..self.slots.len())
                    .map(|slot| variables.add(variable().min(0.0).max(most(slot))))
                    .collect();
                let missing = variables.add(variable().min(0.0));
                rows.push(constraint!(energies.iter().sum::<Expression>() + missing == car.kwh));
                cost += course.probability * self.shortfall_price * missing;
                for (&energy, price) in energies.iter().zip(&course.prices) {
                    cost += course.probability * *price * energy;
                }
                taken.push(energies);
            }
            for (slot, limit) in course.limit_kw.iter().enumerate() {
                if let Some(limit) = limit {
                    let hours = (self.slots[slot].end - self.slots[slot].start) as f64 / 60.0;
                    let left = (limit - course.base_kw[slot]).max(0.0) * hours;
                    let load: Expression = taken.iter().map(|energies| energies[slot]).sum();
                    rows.push(constraint!(load <= left));
                }
            }
            if let Some(first) = before.first() {
                for (mine, first) in taken.iter().zip(first) {
                    for slot in 0..self.shared {
                        rows.push(constraint!(mine[slot] == first[slot]));
                    }
                }
            }
            before.push(taken);
        }
        let mut model = variables.minimise(cost.clone()).using(highs).set_threads(1);
        for row in rows {
            model = model.with(row);
        }
        let solution = model.solve().expect("missing energy is always possible");
        solution.eval(cost)
    }
}

/// Amount of money that tolerances are relative to.
fn money_of(plan: &ScenarioPlan) -> f64 {
    plan.bound.abs().max(plan.baseline_cost.abs()).max(1.0)
}

fn car(random: &mut Random, end: i64) -> Car {
    let from = random.below(end as u64) as i64;
    // Some stay for a time that ends within a slot, or beyond the prices.
    let to = from + 1 + random.below((end - from) as u64 + 30) as i64;
    let kw = [3.7, 7.4, 11.0][random.below(3) as usize];
    let share = random.between(0.0, 1.1);
    Car { stay: from..to, kwh: share * kw * (to - from) as f64 / 60.0, kw }
}

/// Scenarios of `count` slots, the same in the first `shared` ones.
fn courses(random: &mut Random, (count, shared): (usize, usize), all_kw: f64) -> Vec<Course> {
    let scenarios = 1 + random.below(5);
    let weights: Vec<f64> = (0..scenarios).map(|_| 1.0 + random.below(5) as f64).collect();
    let sum: f64 = weights.iter().sum();
    let tightness = random.between(0.05, 1.2);
    let mut courses: Vec<Course> = Vec::new();
    for weight in weights {
        let limit = |random: &mut Random| match random.below(6) {
            0 => None,
            1 => Some(0.0),
            _ => Some(all_kw * tightness * random.between(0.3, 1.7)),
        };
        let mut course = Course {
            probability: weight / sum,
            prices: (0..count).map(|_| random.between(-0.1, 0.6)).collect(),
            limit_kw: (0..count).map(|_| limit(random)).collect(),
            base_kw: (0..count).map(|_| random.between(-2.0, 4.0)).collect(),
        };
        if let Some(first) = courses.first() {
            course.prices[..shared].copy_from_slice(&first.prices[..shared]);
            course.limit_kw[..shared].copy_from_slice(&first.limit_kw[..shared]);
            course.base_kw[..shared].copy_from_slice(&first.base_kw[..shared]);
        }
        courses.push(course);
    }
    courses
}

/// Checks that the plan keeps what its certificate states.
#[track_caller]
fn assert_verified(plan: &ScenarioPlan, seed: u64) {
    let checks = verify(plan.problem(), &plan.statement());
    let failed: Vec<_> = checks.iter().filter(|check| !check.holds()).collect();
    assert!(failed.is_empty(), "case {seed}: {failed:?}");
}

#[test]
fn plans_agree_with_the_deterministic_equivalent() {
    let (mut congested, mut short, mut uncertain) = (0, 0, 0);
    for seed in 0..CASES * scale() {
        let case = Case::random(seed);
        let optimum = case.optimum();
        let plan = case.plan(&ScenarioOptions::default());
        let money = money_of(&plan);
        let (cost, bound) = (plan.expected_cost(), plan.bound);
        assert!(bound <= optimum + 1e-6 * money, "case {seed}: bound {bound} above {optimum}");
        assert!(cost >= optimum - 1e-6 * money, "case {seed}: cost {cost} below {optimum}");
        let told = (plan.status, plan.gap, plan.rounds);
        assert!(plan.gap <= 5e-3, "case {seed}: {told:?}");
        assert!(cost - optimum <= 5e-3 * money + 1e-9, "case {seed}: {cost} for {optimum}");
        assert_verified(&plan, seed);
        let exact = case.plan(&EXACT);
        let found = exact.expected_cost();
        assert!((found - optimum).abs() <= 1e-6 * money, "case {seed}: {found}, not {optimum}");
        assert!(optimum - exact.bound <= 1e-6 * money, "case {seed}: bound {}", exact.bound);
        assert_verified(&exact, seed);
        let is_congested = (0..case.courses.len())
            .any(|scenario| exact.congestion_prices(scenario).iter().any(|&price| price > 1e-6));
        congested += u32::from(is_congested);
        short += u32::from(exact.expected_shortfall_kwh() > 1e-3);
        uncertain += u32::from(case.courses.len() > 1 && case.shared > 0);
    }
    assert!(congested > 60 && short > 40 && uncertain > 80, "{congested}, {short}, {uncertain}");
}

/// One scenario is an area with one course of prices.
#[test]
fn one_scenario_costs_what_the_area_costs() {
    let mut compared = 0;
    for seed in 0..CASES * scale() {
        let mut case = Case::random(seed);
        case.courses.truncate(1);
        case.courses[0].probability = 1.0;
        case.shortfall_price = 5.0;
        let plan = case.plan(&EXACT);
        if plan.expected_shortfall_kwh() > 0.0 {
            continue;
        }
        compared += 1;
        let course = &case.courses[0];
        let curve = case.curve(course);
        let limits = course.limit_kw.iter().map(|limit| limit.map(kw)).collect();
        let mut node = Node::limited("area", Profile::PerSlot(limits));
        node.base =
            Some(Profile::PerSlot(course.base_kw.iter().map(|&base| Some(kw(base))).collect()));
        let area = case.with_fleet(|fleet| {
            let vehicles = AreaVehicles {
                fleet: *fleet,
                node: None,
                priority: None,
                power_min_kw: None,
                storage: None,
            };
            let problem = AreaProblem::new(vehicles, Curves::Shared(&curve), vec![node]);
            let options = AreaOptions { gap: 1e-9, ..AreaOptions::default() };
            plan_area(&problem.expect("the area is valid"), &options)
        });
        let (cost, money) = (plan.expected_cost(), money_of(&plan));
        assert!(
            (cost - area.cost).abs() <= 1e-5 * money,
            "case {seed}: {cost}, and {} in an area",
            area.cost
        );
    }
    assert!(compared > 30, "{compared} cases without shortfall");
}

/// One vehicle without a limit is what a policy on a price tree plans.
#[test]
fn one_vehicle_costs_what_its_policy_costs() {
    let mut compared = 0;
    for seed in 0..CASES * scale() {
        let mut case = Case::random(seed);
        case.cars.truncate(1);
        case.courses.iter_mut().for_each(|course| course.limit_kw.fill(None));
        if case.shared == 0 || case.shared == case.slots.len() || case.courses.len() < 2 {
            continue;
        }
        let stay = case.cars[0].stay.clone();
        if stay.end <= case.slots[0].start || stay.start >= case.slots[case.slots.len() - 1].start {
            continue;
        }
        compared += 1;
        let periods: Vec<(DateTime<Utc>, DateTime<Utc>)> =
            case.slots.iter().map(|slot| (case.at(slot.start), case.at(slot.end))).collect();
        let part = |course: &Course, slots: Range<usize>| {
            let horizon = Horizon::new(periods[slots.clone()].iter().copied()).expect("in order");
            PriceCurve::from_parts(horizon, course.prices[slots].to_vec()).expect("finite")
        };
        let first = part(&case.courses[0], 0..case.shared);
        let later: Vec<PriceCurve> =
            case.courses.iter().map(|one| part(one, case.shared..case.slots.len())).collect();
        let branch = |(curve, course): (_, &Course)| PriceBranch {
            parent: Some(0),
            probability: course.probability,
            curve,
        };
        let mut branches = vec![PriceBranch { parent: None, probability: 1.0, curve: &first }];
        branches.extend(later.iter().zip(&case.courses).map(branch));
        let prices = UncertainPrices::tree(&branches).expect("the tree is valid");
        // The policy leaves by a departure within the prices.
        let end = case.at(stay.end.min(case.slots[case.slots.len() - 1].end));
        let departures = [slackwater_engine::plan::questions::Departure { at: end, weight: 1.0 }];
        let policy = plan_policy_request(&PolicyRequest {
            now: case.at(stay.start),
            prices: &prices,
            power_max: kw(case.cars[0].kw),
            power_limits: &[],
            energy: kwh(case.cars[0].kwh),
            shortfall_price: per_kwh(case.shortfall_price),
            departures: &departures,
        });
        let Ok(policy) = policy else { continue };
        let (found, expected) =
            (case.plan(&EXACT).expected_cost(), policy.expected_cost().as_amount());
        assert!((found - expected).abs() < 1e-6, "case {seed}: {found}, policy {expected}");
    }
    assert!(compared > 40, "{compared} cases with a fork");
}

/// Order of the scenarios, copies of one and scenarios without probability do not count.
#[test]
fn scenarios_count_by_their_probability_alone() {
    for seed in 0..CASES / 2 * scale() {
        let case = Case::random(seed);
        let plan = case.plan(&EXACT);
        let (cost, money) = (plan.expected_cost(), money_of(&plan));
        let assert_same = |other: &Case, what: &str| {
            let other = other.plan(&EXACT);
            let found = other.expected_cost();
            assert!((found - cost).abs() <= 1e-6 * money, "case {seed}, {what}: {found}, {cost}");
            assert_verified(&other, seed);
            other
        };
        let mut turned = case.clone();
        turned.courses.reverse();
        assert_same(&turned, "another order");
        let mut halved = case.clone();
        for course in &case.courses {
            halved.courses.push(course.clone());
        }
        halved.courses.iter_mut().for_each(|course| course.probability /= 2.0);
        assert_same(&halved, "two of each");
        let mut improbable = case.clone();
        let mut never = case.courses[0].clone();
        never.probability = 0.0;
        never.prices[case.shared..].iter_mut().for_each(|price| *price = 0.05 - *price);
        improbable.courses.push(never.clone());
        let planned = assert_same(&improbable, "one without probability");
        // Its recourse is planned all the same: it costs what the scenario alone costs from then on.
        let mut alone = case.clone();
        never.probability = 1.0;
        alone.courses = vec![never];
        let last = improbable.courses.len() - 1;
        let best = alone.plan(&EXACT).expected_cost();
        assert!(planned.cost_in(last) >= best - 1e-6 * money, "case {seed}");
        if case.shared == 0 {
            assert!((planned.cost_in(last) - best).abs() <= 1e-6 * money, "case {seed}");
        }
    }
}

#[test]
fn a_higher_limit_never_costs_more() {
    for seed in 0..CASES / 2 * scale() {
        let mut case = Case::random(seed);
        let plan = case.plan(&EXACT);
        let (cost, money) = (plan.expected_cost(), money_of(&plan));
        for limit in case.courses.iter_mut().flat_map(|course| &mut course.limit_kw).flatten() {
            *limit = *limit * 1.3 + 0.5;
        }
        let higher = case.plan(&EXACT).expected_cost();
        assert!(higher <= cost + 1e-6 * money, "case {seed}: {higher} after {cost}");
    }
}

/// Knowing more never costs more, and mean prices are never better than scenarios.
#[test]
fn information_is_worth_something() {
    let mut gained = 0;
    for seed in 0..CASES / 2 * scale() {
        let case = Case::random(seed);
        let plan = case.plan(&EXACT);
        let (compared, money) = (plan.compare(&EXACT), money_of(&plan));
        let slack = 1e-6 * money;
        assert!(compared.value_of_stochastic_solution() >= -slack, "case {seed}: {compared:?}");
        assert!(compared.value_of_perfect_information() >= -slack, "case {seed}: {compared:?}");
        gained += u32::from(compared.value_of_stochastic_solution() > 1e-3);
        let hindsight: f64 = case
            .courses
            .iter()
            .map(|course| {
                let known = Course { probability: 1.0, ..course.clone() };
                let alone = Case { courses: vec![known], ..case.clone() };
                course.probability * alone.optimum()
            })
            .sum();
        let found = compared.perfect_information_cost;
        assert!((found - hindsight).abs() <= slack, "case {seed}: {found}, not {hindsight}");
    }
    assert!(gained > 2, "planning with scenarios gains in {gained} cases");
}

/// An hour at 0.20, then one of two hours at 0.10 and the other at 0.50: at mean prices both cost 0.30
/// and all is charged at once, but 10 kWh fit into the cheap one, whichever it is.
#[test]
fn mean_prices_hide_what_recourse_can_do() {
    let course = |later: [f64; 2]| Course {
        probability: 0.5,
        prices: vec![0.2, later[0], later[1]],
        limit_kw: vec![Some(10.0); 3],
        base_kw: vec![0.0; 3],
    };
    let case = Case {
        start: EVENINGS[2].parse().expect("a time of the test is valid"),
        slots: vec![0..60, 60..120, 120..180],
        shared: 1,
        courses: vec![course([0.1, 0.5]), course([0.5, 0.1])],
        cars: vec![
            Car { stay: 0..180, kwh: 4.0, kw: 7.0 },
            Car { stay: 0..180, kwh: 6.0, kw: 7.0 },
        ],
        shortfall_price: 1.0,
    };
    let compared = case.plan(&EXACT).compare(&EXACT);
    let costs = [
        (compared.mean_price_cost, 2.0),
        (compared.expected_cost, 1.0),
        (compared.perfect_information_cost, 1.0),
    ];
    assert!(costs.iter().all(|(found, expected)| (found - expected).abs() < 1e-6), "{compared:?}");
}

#[test]
fn one_two_or_eight_threads_give_the_same_plan() {
    for seed in [3, 8, 21] {
        let case = Case::random(seed);
        let planned = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("threads start").install(|| case.plan(&ScenarioOptions::default()))
        };
        let one = planned(1);
        assert!(one == planned(2) && one == planned(8), "case {seed}");
    }
}

/// Plans are cut off at any round, and are still plans with a bound.
#[test]
fn plans_without_rounds_keep_limits_and_bound() {
    let mut open = 0;
    for seed in 0..CASES / 2 * scale() {
        let case = Case::random(seed);
        for max_rounds in [1, 3] {
            let plan = case.plan(&ScenarioOptions { gap: 1e-9, max_rounds });
            assert_verified(&plan, seed);
            let slack = 1e-6 * money_of(&plan);
            assert!(plan.bound <= plan.expected_cost() + slack, "case {seed}");
            assert!(plan.rounds <= max_rounds, "case {seed}: {} rounds", plan.rounds);
            open += u32::from(plan.status == Status::Rounds && plan.gap > 1e-3);
        }
    }
    assert!(open > 20, "{open} plans are cut off");
}

/// A changed number of a plan is noticed.
#[test]
fn a_changed_statement_does_not_hold() {
    for seed in 0..CASES / 4 * scale() {
        let case = Case::random(seed);
        let plan = case.plan(&ScenarioOptions::default());
        let holds = |stated: &_| verify(plan.problem(), stated).iter().all(Check::holds);
        let stated = plan.statement();
        assert!(holds(&stated), "case {seed}");
        let more = 0.01 * money_of(&plan);
        let mut changed = stated.clone();
        changed.expected_cost -= more;
        assert!(!holds(&changed), "case {seed}: cost");
        let mut changed = stated.clone();
        changed.bound += more;
        assert!(!holds(&changed), "case {seed}: bound");
        let mut changed = stated.clone();
        changed.expected_shortfall_kwh += 0.1;
        assert!(!holds(&changed), "case {seed}: shortfall");
        let mut changed = stated.clone();
        changed.duals_per_kwh[0] = -0.1;
        assert!(!holds(&changed), "case {seed}: duals");
        let mut changed = stated.clone();
        changed.energies_kwh[0][0] += 100.0;
        assert!(!holds(&changed), "case {seed}: energies");
        let mut changed = stated;
        changed.energies_kwh.pop();
        assert!(!holds(&changed), "case {seed}: rows");
    }
}

#[test]
fn there_is_a_reason_for_each_vehicle() {
    for seed in 0..CASES / 4 * scale() {
        let case = Case::random(seed);
        let plan = case.plan(&ScenarioOptions::default());
        let reasons = explain(&plan);
        assert_eq!(reasons.len(), case.cars.len(), "case {seed}");
        for reason in &reasons {
            let (before, _) = plan.energy_kwh(reason.row, 0);
            assert!((reason.before_kwh - before).abs() < 1e-9, "case {seed}");
            let (least, most) = reason.later_kwh;
            assert!(least <= most && most + before <= case.cars[reason.row].kwh + 1e-6);
            assert!(reason.later_price_per_kwh <= case.shortfall_price + 1e-9, "case {seed}");
        }
    }
}

#[test]
fn a_wrong_case_is_refused_by_name() {
    let two_courses = |seed: u64| {
        let case = Case::random(seed);
        (case.courses.len() > 1 && case.shared > 0 && case.shared < case.slots.len())
            .then_some(case)
    };
    let case = (0..).find_map(two_courses).expect("some case has a fork");
    let refused = |change: &dyn Fn(&mut Case)| {
        let mut case = case.clone();
        change(&mut case);
        case.try_problem().expect_err("the case is wrong").to_string()
    };
    let text = refused(&|case| case.courses[1].prices[0] = 9.0);
    assert!(text.starts_with("scenarios[1] has a price of 9 at "), "{text}");
    let text = refused(&|case| {
        case.courses[1].limit_kw[0] = Some(30.0);
        case.courses[1].base_kw[0] = 1.0;
    });
    assert!(text.starts_with("limit_kw and base_kw of scenarios[1] leave 29 kW at "), "{text}");
    let text = refused(&|case| case.courses[1].probability = 1.5);
    assert_eq!(text, "probabilities of scenarios hold 1.5; a probability is 0 to 1");
    let text = refused(&|case| case.courses[0].probability = 0.0);
    assert!(text.starts_with("probabilities of scenarios add up to 0."), "{text}");
    let text = refused(&|case| case.courses.clear());
    assert_eq!(text, "scenarios[0] has no price; give it at least one slot");
    let text = refused(&|case| case.courses[1].base_kw.push(1.0));
    assert!(text.starts_with("base_kw of scenarios[1] has "), "{text}");
    let text = refused(&|case| {
        let last = case.slots.len() - 1;
        case.courses[1].limit_kw[last] = Some(-2.0);
    });
    assert_eq!(text, "limit_kw of scenarios[1] is -2 kW; a limit is 0 kW or more");
    let text = refused(&|case| case.shortfall_price = -0.5);
    assert_eq!(text, "shortfall_price_per_kwh is -0.5; a missing kWh costs 0 or more");
}

/// A row with a wrong number is told, and the others are planned.
#[test]
fn a_wrong_row_is_left_out() {
    let mut case =
        (0..CASES).map(Case::random).find(|case| case.cars.len() > 2).expect("there is one");
    case.cars[1].kw = f64::NAN;
    let plan = case.plan(&EXACT);
    let error = plan.problem().row_error(1).expect("the row is wrong");
    assert_eq!(error.to_string(), "power_max_kw is missing");
    assert_verified(&plan, 0);
    assert!(plan.intervals().all(|interval| interval.row != 1));
    case.cars.remove(1);
    let others = case.plan(&EXACT).expected_cost();
    assert!((plan.expected_cost() - others).abs() < 1e-6);
}

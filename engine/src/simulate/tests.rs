//! Laws of a simulation.
use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;

use super::*;
use crate::plan::charge::greedy::plan_charge;
use crate::plan::charge::request::{ChargeProblem, ChargeRequest, Target};
use crate::prices::curve::PriceCurve;
use crate::prices::curve::tests::curve_of;
use crate::prices::layers::Standing;
use crate::statistics::fixed::Amount;
use crate::units::{Energy, Money, Power, kw, kwh, money};

#[cfg(feature = "lp")]
mod home_vehicles;
pub(crate) mod homes;

/// Instant `minutes` after 5 January 2026, 18:00Z, at which the curves of tests start.
fn minute(minutes: i64) -> DateTime<Utc> {
    "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
}

/// Hours of prices in tests.
const HOURS: usize = 30;

fn stay() -> impl Strategy<Value = Stay> {
    let device = (
        prop::sample::select(vec![3.7, 7.4, 11.0]),
        prop::sample::select(vec![0.0, 1.4]),
        prop::sample::select(vec![0.0, 0.7]),
        prop::sample::select(vec![1.0, 0.88]),
        prop::sample::select(vec![0.0, 0.02]),
    );
    (0..3u32, 0..900i64, 1..840i64, 0.0..60.0f64, device).prop_map(
        |(home, arrival, length, need, (power, power_min, power_step, efficiency, start))| Stay {
            home,
            arrival: minute(arrival),
            departure: minute(arrival + length),
            need: kwh(need),
            device: ChargeDevice {
                power_max: kw(power),
                power_min: kw(power_min),
                power_step: kw(power_step),
                efficiency,
                start_cost: money(start),
            },
        },
    )
}

fn ideal(mut stay: Stay) -> Stay {
    stay.device = ChargeDevice::ideal(stay.device.power_max);
    stay
}

fn cents() -> impl Strategy<Value = Vec<i32>> {
    prop::collection::vec(-20..60i32, HOURS)
}

/// Estimates of all hours, each known from a minute on.
fn book() -> impl Strategy<Value = ForecastBook> {
    let forecast = (0..1500i64, any::<bool>(), cents());
    prop::collection::vec(forecast, 0..5).prop_map(|forecasts| {
        let forecasts = forecasts.into_iter().map(|(known, is_known, cents)| {
            let standing = if is_known { Standing::Known } else { Standing::Estimate };
            Forecast::new(minute(known), standing, curve_of(60, &cents))
        });
        ForecastBook::new(forecasts.collect())
    })
}

fn run(
    facts: &Facts,
    book: &ForecastBook,
    budget: Option<Money>,
    options: &SimulationOptions,
) -> Vec<StayOutcome> {
    simulate_replanner(facts, book, budget, options, &mut |_| true).unwrap()
}

fn with_steps() -> SimulationOptions {
    SimulationOptions { keeps_steps: true, ..SimulationOptions::default() }
}

proptest! {
    /// The parts of the regret add up to it in whole numbers, and the steps to the cost.
    #[test]
    fn parts_of_the_regret_add_up(
        cents in cents(), stays in prop::collection::vec(stay(), 1..6), book in book(),
        budget in prop::option::of(0.0..2.0f64), hours in prop::option::of(1..20i64),
    ) {
        let facts = Facts::new(curve_of(60, &cents), stays, None).unwrap();
        let horizon = hours.map(TimeDelta::hours);
        let options = SimulationOptions { horizon, ..with_steps() };
        for outcome in run(&facts, &book, budget.map(money), &options) {
            let regret = outcome.regret.unwrap();
            prop_assert_eq!(regret.total(), outcome.cost - outcome.hindsight_cost);
            prop_assert_eq!(regret.policy, Amount::ZERO);
            let steps: Amount = outcome.steps.iter().map(|step| step.cost).sum();
            prop_assert_eq!(steps + outcome.shortfall_cost, outcome.cost);
            if hours.is_none() {
                prop_assert_eq!(regret.horizon, Amount::ZERO);
            }
        }
    }

    /// With perfect forecasts, a full horizon and an ideal device nothing is regretted, and the
    /// hindsight optimum is the planner's cost.
    #[test]
    fn perfect_forecasts_leave_no_regret(
        cents in cents(), stays in prop::collection::vec(stay(), 1..6), length in 1..200i64,
    ) {
        let prices = curve_of(60, &cents);
        let book = ForecastBook::new(vec![
            Forecast::new(minute(-600), Standing::Known, prices.clone()),
        ]);
        let stays: Vec<Stay> = stays.into_iter().map(ideal).collect();
        let facts = Facts::new(prices, stays, None).unwrap();
        let step = TimeDelta::minutes(length);
        let options = SimulationOptions { step, ..SimulationOptions::default() };
        for (outcome, stay) in run(&facts, &book, None, &options).iter().zip(facts.stays()) {
            prop_assert_eq!(outcome.cost, outcome.hindsight_cost);
            prop_assert_eq!(outcome.regret.unwrap(), RegretParts::default());
            let target = Target { by: Some(stay.departure), energy: stay.need };
            let mut request = ChargeRequest::new(stay.arrival, stay.device.power_max, target);
            request.until = Some(stay.departure);
            let plan = plan_charge(facts.prices(), &ChargeProblem::new(request).unwrap());
            let priced = outcome.hindsight_cost - outcome.shortfall_cost;
            prop_assert!((priced.as_units() - plan.cost.as_amount()).abs() < 1e-6);
            prop_assert!((outcome.shortfall_kwh - plan.shortfall.as_kwh()).abs() < 1e-6);
        }
    }

    /// Outcomes depend neither on the other stays nor on the number of threads.
    #[test]
    fn a_stay_is_simulated_as_if_it_were_alone(
        cents in cents(), stays in prop::collection::vec(stay(), 2..40), book in book(),
    ) {
        let all = Facts::new(curve_of(60, &cents), stays.clone(), None).unwrap();
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let outcomes = run(&all, &book, None, &with_steps());
        prop_assert_eq!(&outcomes, &one.install(|| run(&all, &book, None, &with_steps())));
        let first = Facts::new(curve_of(60, &cents), vec![stays[0]], None).unwrap();
        let alone = run(&first, &book, None, &with_steps());
        prop_assert_eq!(&alone[0].cost, &outcomes[0].cost);
        prop_assert_eq!(&alone[0].steps, &outcomes[0].steps);
    }
}

/// A policy that tries to look ahead, and otherwise charges at once.
struct Curious;

impl Policy for Curious {
    type Error = String;

    fn is_sequential(&self) -> bool {
        true
    }

    fn decide(
        &self,
        view: &View<'_>,
        _: &mut Memory,
        commands: &mut Vec<Command>,
    ) -> Result<(), String> {
        let known_until = view.prices().horizon().end().unwrap();
        if view.history(minute(-600)).horizon().end().is_some_and(|end| end > view.now()) {
            return Err("the history reaches beyond the present".into());
        }
        for hours in 0..30 {
            let at = view.now() + TimeDelta::hours(hours);
            match view.price_at(at) {
                Ok(_) if at >= known_until => return Err(format!("{at} was told too early")),
                Err(error) if at < known_until => return Err(error.to_string()),
                _ => {}
            }
        }
        commands.push(Command::new(view.now(), view.until(), view.power_max()));
        Ok(())
    }
}

fn one_stay(need: f64) -> Stay {
    Stay {
        home: 0,
        arrival: minute(10),
        departure: minute(240),
        need: kwh(need),
        device: ChargeDevice::ideal(kw(10.0)),
    }
}

#[test]
fn a_view_holds_nothing_that_is_not_known_yet() {
    let prices = curve_of(60, &[30, 20, 10, 40, 50]);
    let published = prices.between(minute(120), minute(180));
    let book = ForecastBook::new(vec![Forecast::new(minute(61), Standing::Known, published)]);
    let facts = Facts::new(prices.clone(), vec![one_stay(30.0)], None).unwrap();
    let options = SimulationOptions { splits_regret: false, ..with_steps() };
    let outcomes = simulate(&facts, &book, &Curious, &options, &mut |_| true).unwrap();
    // Charging at once is the baseline, and decisions fall on the quarters, on 18:10 and on 19:01.
    assert_eq!(outcomes[0].cost, outcomes[0].baseline_cost);
    assert_eq!(outcomes[0].steps.iter().filter(|step| step.energy_kwh > 0.0).count(), 14);
    assert!(outcomes[0].regret.is_none());
    // Under relaxed conditions the same policy is handed all prices, and remains what it is.
    // It charges at once, where a smaller need fits into the two cheapest hours.
    let facts = Facts::new(prices, vec![one_stay(20.0)], None).unwrap();
    let options = SimulationOptions::default();
    let split = simulate(&facts, &book, &Curious, &options, &mut |_| true).unwrap();
    let regret = split[0].regret.unwrap();
    assert_eq!(regret.policy, split[0].cost - split[0].hindsight_cost);
    assert!(regret.policy > Amount::ZERO);
}

#[test]
fn waiting_for_a_wrong_forecast_is_regretted() {
    // The third hour was expected to be cheap, and is dear.
    let expected = curve_of(60, &[20, 30, 10, 30]);
    let settled = curve_of(60, &[20, 30, 50, 30]);
    let book = ForecastBook::new(vec![Forecast::new(minute(0), Standing::Estimate, expected)]);
    let facts = Facts::new(settled, vec![one_stay(5.0)], None).unwrap();
    let outcome = &run(&facts, &book, None, &with_steps())[0];
    // At 20:00 the settled price is known, and the rest of the need waits for 21:00 instead.
    assert_eq!(outcome.cost.to_string(), "1.500000000000");
    assert_eq!(outcome.hindsight_cost.to_string(), "1.000000000000");
    let regret = outcome.regret.unwrap();
    assert_eq!(regret.forecast.to_string(), "0.500000000000");
    assert_eq!(regret.amounts().iter().filter(|part| **part != Amount::ZERO).count(), 1);
}

#[test]
fn every_condition_has_its_part() {
    let prices = curve_of(60, &[30, 10, 30, 12, 50]);
    let all = |prices: &PriceCurve| {
        ForecastBook::new(vec![Forecast::new(minute(0), Standing::Known, prices.clone())])
    };
    let parts = |change: fn(&mut Stay), horizon: Option<TimeDelta>| {
        let mut stay = one_stay(12.0);
        change(&mut stay);
        let facts = Facts::new(prices.clone(), vec![stay], None).unwrap();
        let options = SimulationOptions { horizon, ..SimulationOptions::default() };
        let regret = run(&facts, &all(&prices), None, &options)[0].regret.unwrap();
        let named = RegretParts::NAMES.iter().zip(regret.amounts());
        let found = named.filter(|(_, part)| *part != Amount::ZERO);
        found.map(|(name, part)| format!("{name} {}", part.as_units())).collect::<Vec<_>>()
    };
    assert!(parts(|_| {}, None).is_empty());
    // Planning an hour ahead buys at 18:10 and 18:15 what costs a third later.
    let short = parts(|_| {}, Some(TimeDelta::hours(1)));
    assert!(short.len() == 1 && short[0].starts_with("horizon "), "{short:?}");
    assert_eq!(parts(|stay| stay.device.start_cost = money(0.5), None), ["switching 1"]);
    let lossy = parts(|stay| stay.device.efficiency = 0.5, None);
    // 6 kWh instead of 12: 1.24 instead of 0.60.
    assert_eq!(lossy, ["efficiency 0.64"]);
    let steps = parts(|stay| stay.device.power_step = kw(6.0), None);
    assert!(steps.len() == 1 && steps[0].starts_with("power_step "), "{steps:?}");
}

#[test]
fn a_run_is_stopped_by_its_caller_and_by_its_policy() {
    struct Failing;
    impl Policy for Failing {
        type Error = &'static str;
        fn is_sequential(&self) -> bool {
            true
        }
        fn decide(
            &self,
            _: &View<'_>,
            _: &mut Memory,
            _: &mut Vec<Command>,
        ) -> Result<(), &'static str> {
            Err("no idea")
        }
    }
    let facts = Facts::new(curve_of(60, &[1; 5]), vec![one_stay(5.0)], None).unwrap();
    let (book, options) = (ForecastBook::default(), SimulationOptions::default());
    let failed = simulate(&facts, &book, &Failing, &options, &mut |_| true);
    assert!(matches!(failed, Err(Stopped::Policy("no idea"))));
    let stopped = simulate_replanner(&facts, &book, None, &options, &mut |done| done < 0.1);
    assert!(matches!(stopped, Err(Stopped::ByCaller)));
    let none = Facts::new(curve_of(60, &[1]), Vec::new(), None).unwrap();
    assert!(run(&none, &book, None, &options).is_empty());
    let wrong = SimulationOptions { step: TimeDelta::zero(), ..options };
    assert_eq!(wrong.check().unwrap_err().to_string(), "step is 0 minutes; it is longer than 0");
}

#[test]
fn a_budget_keeps_plans_and_is_never_overspent() {
    // Every quarter an estimate that moves the cheapest hour back and forth.
    let settled = curve_of(60, &[30, 20, 21, 22, 23, 24]);
    let forecast = |quarter: i32| {
        let (one, other) = if quarter % 2 == 0 { (19, 21) } else { (21, 19) };
        let cents = curve_of(60, &[30, 30, one, other, 30, 30]);
        Forecast::new(minute(i64::from(quarter) * 15), Standing::Estimate, cents)
    };
    let book = ForecastBook::new((0..12).map(forecast).collect());
    let facts = Facts::new(settled, vec![one_stay(8.0)], None).unwrap();
    let outcome = |budget: Option<f64>| {
        run(&facts, &book, budget.map(money), &SimulationOptions::default()).remove(0)
    };
    let (free, kept) = (outcome(None), outcome(Some(0.5)));
    assert!(kept.shortfall_kwh.abs() < 1e-9, "{}", kept.shortfall_kwh);
    assert_eq!(free.regret.unwrap().switching, Amount::ZERO);
    assert!((kept.cost - kept.hindsight_cost).as_units() <= 0.5 + 0.4);
    assert_eq!(kept.regret.unwrap().total(), kept.cost - kept.hindsight_cost);
}

/// Quantities of a stay that are told by its view.
#[test]
fn a_view_tells_its_stay() {
    struct Asking;
    impl Policy for Asking {
        type Error = (usize, u32, Energy, Power, [DateTime<Utc>; 4]);
        fn is_sequential(&self) -> bool {
            true
        }
        fn decide(
            &self,
            view: &View<'_>,
            _: &mut Memory,
            _: &mut Vec<Command>,
        ) -> Result<(), Self::Error> {
            let times = [view.now(), view.until(), view.arrival(), view.departure()];
            Err((view.row(), view.home(), view.missing(), view.power_max(), times))
        }
    }
    let facts = Facts::new(curve_of(60, &[1; 5]), vec![one_stay(5.0)], None).unwrap();
    let options = SimulationOptions::default();
    let told = simulate(&facts, &ForecastBook::default(), &Asking, &options, &mut |_| true);
    let Err(Stopped::Policy(told)) = told else { panic!("the policy was not asked") };
    let times = [minute(10), minute(15), minute(10), minute(240)];
    assert_eq!(told, (0, 0, kwh(5.0), kw(10.0), times));
}

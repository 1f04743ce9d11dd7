//! Golden bits of requests on one curve, within one power, and of newcomers beside others.
//!
//! The functions are `plan_requests` and `plan_wishes`, `plan_within_capacity`, and `plan_in_residual_capacity` and
//! `hold_current`. Lines are as in `golden_batch`.
use std::fmt::Display;

use chrono::{DateTime, TimeDelta, Utc};
use expect_test::expect_file;
use slackwater_engine::area::AreaOptions;
use slackwater_engine::batch::{plan_requests, plan_wishes};
use slackwater_engine::plan::charge::{
    AfterDeadline, ChargeProblem, ChargeRequest, DurationRequest, PowerLimit, Target,
};
use slackwater_engine::plan::record::{PlanRecord, PlanRequest, PlanSummary, PreviousPlan};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::shared_supply::{
    OtherLoad, SharedPower, SharedWish, hold_current, plan_in_residual_capacity,
    plan_within_capacity,
};
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{Energy, Money, Price, kw, kwh, money};

use crate::area::Random;
use crate::golden::on_any_threads;
use crate::golden_batch::{bits, curve, line};

fn at(minutes: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::minutes(minutes)
}

/// Hours of the first day, without those that `is_gap`.
fn prices(seed: u64, (from, to): (f64, f64), is_gap: impl Fn(i64) -> bool) -> PriceCurve {
    let hours = (0..24).filter(|&hour| !is_gap(hour));
    let horizon = Horizon::new(hours.map(|hour| (at(60 * hour), at(60 * hour + 60))));
    curve(horizon.expect("hours make a horizon"), &mut Random::new(seed), from, to)
}

/// A line about plans; a plan that there is none of counts as missing.
fn briefs<'a>(name: &str, plans: impl IntoIterator<Item = Option<&'a PlanSummary>>) -> String {
    let (mut clear, mut all) = ([vec![], vec![], vec![]], Vec::new());
    for plan in plans {
        let Some(plan) = plan else {
            for column in &mut clear {
                column.push(f64::NAN);
            }
            continue;
        };
        let money = [plan.cost, plan.bound, plan.baseline_cost].map(Money::as_amount);
        let energy = [plan.energy, plan.shortfall].map(Energy::as_kwh);
        let marginal = plan.marginal_price.map_or(f64::NAN, Price::as_per_kwh);
        all.extend(bits(&money).chain(bits(&energy)).chain(bits(&[marginal, plan.unpriced_hours])));
        for interval in &plan.intervals {
            let times = [interval.start, interval.end].map(|at| at.timestamp_micros() as u64);
            all.extend(times.into_iter().chain(bits(&[interval.power.as_kw()])));
        }
        let [cost, energy, short] = &mut clear;
        cost.push(plan.cost.as_amount());
        energy.push(plan.energy.as_kwh());
        short.push(plan.shortfall.as_kwh());
    }
    let [cost, energy, short] = &clear;
    line(name, [cost, energy, short], all)
}

/// A line about a request that cannot be planned.
fn refusal(error: impl Display) -> String {
    format!("    {error}\n")
}

/// A request for one target.
fn plain(random: &mut Random) -> ChargeRequest {
    let from = random.below(10 * 60) as i64;
    let by = from + 30 + random.below(14 * 60) as i64;
    let by = (random.below(6) > 0).then(|| at(by));
    let power = [1.4, 3.7, 11.0][random.below(3) as usize];
    let energy = kwh(random.between(0.0, 30.0));
    ChargeRequest::new(at(from), kw(power), Target { by, energy })
}

/// A request that may want all that a request can.
fn full(random: &mut Random) -> ChargeRequest {
    let mut request = plain(random);
    if random.below(3) == 0 {
        request.until = Some(request.now + TimeDelta::hours(9));
    }
    if random.below(3) == 0 {
        let energy = kwh(random.between(0.0, 50.0));
        request.targets.push(Target { by: Some(request.now + TimeDelta::hours(6)), energy });
    }
    if random.below(4) == 0 {
        request.reserve = kwh(random.between(0.0, 5.0));
    }
    if random.below(4) == 0 {
        let start = request.now + TimeDelta::minutes(100);
        let end = start + TimeDelta::minutes(95);
        request.power_limits.push(PowerLimit { start, end, power_max: kw(1.0) });
    }
    request.charge_limit = (random.below(4) == 0).then(|| kwh(random.between(5.0, 20.0)));
    request.energy_max = (random.below(4) == 0).then(|| kwh(60.0));
    if random.below(2) == 0 {
        request.after_deadline = AfterDeadline::Stop;
    }
    request
}

fn problems(seed: u64, count: usize, of: fn(&mut Random) -> ChargeRequest) -> Vec<ChargeProblem> {
    let mut random = Random::new(seed);
    let problem = |_| ChargeProblem::new(of(&mut random)).expect("the request makes sense");
    (0..count).map(problem).collect()
}

/// Each request alone.
fn alone() -> String {
    let each = |name: &str, curve: &PriceCurve, problems: &[ChargeProblem]| {
        briefs(name, plan_requests(curve, problems).iter().map(Some))
    };
    let (day, negative) = (prices(1, (0.05, 0.4), |_| false), prices(2, (-0.2, 0.2), |_| false));
    let gaps = prices(3, (0.05, 0.4), |hour| hour % 5 == 2);
    let (one, all) = (problems(4, 200, plain), problems(5, 200, full));
    let mut text = each("requests of one target", &day, &one);
    text += &each("requests of all kinds", &day, &all);
    text += &each("requests, negative prices", &negative, &all);
    text += &each("requests, hours without price", &gaps, &all);
    let mut wishes: Vec<PlanRequest> =
        all[..60].iter().map(|problem| PlanRequest::Charge(problem.request().clone())).collect();
    // A wish that makes no sense stops nobody.
    if let PlanRequest::Charge(request) = &mut wishes[7] {
        request.power_max = kw(-1.0);
    }
    let before = plan_wishes(&day, wishes.iter().map(|wish| (wish.clone(), None)).collect(), None);
    let before: Vec<Option<PlanRecord>> = before.into_iter().map(Result::ok).collect();
    let after = wishes.into_iter().zip(&before).map(|(wish, planned)| {
        (wish, planned.as_ref().map(|planned| PreviousPlan { planned, curve: &day }))
    });
    let kept = plan_wishes(&gaps, after.collect(), Some(money(0.2)));
    for error in kept.iter().filter_map(|planned| planned.as_ref().err()) {
        text += &refusal(error);
    }
    let kept: Vec<_> = kept.iter().map(|planned| planned.as_ref().ok()).collect();
    let moved = kept.iter().flatten().filter(|planned| planned.kept_from.is_some()).count();
    let kept = kept.iter().map(|planned| planned.map(|planned| &planned.summary));
    text + &briefs(&format!("close to plans before ({moved})"), kept)
}

/// Requests of devices that are on or off: every other one by the second curve, every fifth on,
/// at their own power or at that of a charger.
fn wishes(problems: &[ChargeProblem], power_kw: Option<f64>) -> Vec<SharedWish<'_>> {
    let wish = |(position, problem)| {
        let problem: &ChargeProblem = problem;
        let power = power_kw.map_or(problem.request().power_max, kw);
        SharedWish { problem, curve: position % 2, power, is_on: position % 5 == 0 }
    };
    problems.iter().enumerate().map(wish).collect()
}

/// A charger that is to be on for so many parts of 50 minutes.
fn hours(parts: i64) -> ChargeProblem {
    let (now, duration) = (at(60), TimeDelta::minutes(50 * parts));
    let by = Some(at(60 * (5 + parts)));
    let request = DurationRequest { now, duration, by, power: kw(1.0) }.in_energy();
    ChargeProblem::new(request.expect("hours are an energy")).expect("hours make sense")
}

/// Devices that are on or off, within one power.
fn within() -> String {
    let curves = [prices(6, (0.05, 0.4), |_| false), prices(7, (-0.1, 0.4), |hour| hour == 9)];
    let plan = |name: &str, wishes: &[SharedWish<'_>], power: SharedPower| {
        let plans = plan_within_capacity(&curves, wishes, &power, &AreaOptions::default());
        let plans = plans.expect("the area makes sense");
        briefs(name, plans.iter().map(Option::as_ref))
    };
    let (cars, full) = (problems(8, 24, plain), problems(9, 24, full));
    let chargers: Vec<ChargeProblem> = (1..8).map(hours).collect();
    let need = Target { by: Some(at(24 * 60)), energy: kwh(10.0) };
    let night = ChargeProblem::new(ChargeRequest::new(at(0), kw(10.0), need));
    let night = vec![night.expect("the request makes sense"); 24];
    let night = wishes(&night, None);
    let (cars, full) = (wishes(&cars, None), wishes(&full, None));
    let mut text = plan("power for all", &cars, SharedPower::whole(kw(200.0)));
    text += &plan("power for some", &cars, SharedPower::whole(kw(40.0)));
    text += &plan("power for few", &cars, SharedPower::whole(kw(12.0)));
    text += &plan("deadlines, limits, reserves", &full, SharedPower::whole(kw(30.0)));
    text += &plan("a tenth kept back", &night, SharedPower::with_headroom(kw(50.0)));
    text += &plan("a tenth kept back, needed", &cars, SharedPower::with_headroom(kw(34.0)));
    text += &plan("nothing kept back", &night, SharedPower::whole(kw(50.0)));
    text +=
        &plan("hours of chargers", &wishes(&chargers, Some(11.0)), SharedPower::whole(kw(25.0)));
    text + &plan("nobody", &[], SharedPower::whole(kw(25.0)))
}

/// Newcomers one after the other, each beside those before it.
fn beside() -> String {
    let day = prices(10, (0.05, 0.4), |_| false);
    let gaps = prices(11, (-0.1, 0.4), |hour| hour == 5);
    let plan = |name: &str, curve: &PriceCurve, problems: &[ChargeProblem], power_max: f64| {
        let (mut others, mut plans, mut crowded_out) = (Vec::<OtherLoad>::new(), Vec::new(), 0.0);
        let mut refused = String::new();
        for problem in problems {
            let power = problem.request().power_max;
            let fitted =
                plan_in_residual_capacity(curve, problem, power, &others, &kw(power_max).into());
            if let Err(error) = &fitted {
                refused += &refusal(error);
            }
            let fitted = fitted.ok();
            if let Some(fitted) = &fitted {
                crowded_out += fitted.crowded_out.as_kwh();
                others.push(OtherLoad { intervals: fitted.summary.intervals.clone(), power });
            }
            plans.push(fitted.map(|fitted| fitted.summary));
        }
        let text = briefs(name, plans.iter().map(Option::as_ref));
        // The same as they go on with it, at other prices.
        let later = problems.iter().zip(&plans);
        let later: Vec<Option<PlanSummary>> =
            later.map(|(problem, plan)| hold_current(&gaps, problem, plan.as_ref()?)).collect();
        text + &format!("    crowded out {crowded_out:.6} kWh\n{refused}")
            + &briefs(&format!("{name}, going on"), later.iter().map(Option::as_ref))
    };
    let (cars, full) = (problems(12, 20, plain), problems(13, 20, full));
    let mut text = plan("newcomers with room", &day, &cars, 300.0);
    text += &plan("newcomers without", &day, &cars, 14.0);
    text += &plan("newcomers of all kinds", &gaps, &full, 16.0);
    text + &plan("newcomers above the power", &day, &cars, 2.0)
}

#[test]
fn shared_supply_has_the_bits_that_it_had() {
    let text = on_any_threads(|| alone() + &within() + &beside());
    expect_file!["../../golden/shared.txt"].assert_eq(&text);
}

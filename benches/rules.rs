//! What the service decides many times an hour: schedules, policies, prices.
use std::hint::black_box;

use chrono::{DateTime, Months, NaiveDate, NaiveTime, TimeDelta, Utc};
use chrono_tz::Europe::Oslo;
use chrono_tz::Tz;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use slackwater_benches::{Random, curve, day_ahead, noon, quarters};
use slackwater_control::device::target::TargetReading;
use slackwater_control::policy::flex::{DayRequest, FlexPolicy, FlexRequest, ReserveRule};
use slackwater_control::schedule::place::TargetType;
use slackwater_control::schedule::rule::{DraftRule, Rules};
use slackwater_control::schedule::status::{Snapshot, Status, StatusFacts};
use slackwater_engine::bill::energy_prices::energy_prices;
use slackwater_engine::bill::file::Direction;
use slackwater_engine::bill::library::find_file;
use slackwater_engine::bill::tariff::BillingTariff;
use slackwater_engine::prices::resolve::{Sources, resolve};
use slackwater_engine::prices::signal::{PriceSignal, SignalRequest, SignalValue};
use slackwater_engine::prices::tariff::{
    IntervalRequest, RateRequest, Rates, Tariff, WeeklyIntervals,
};
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_engine::units::{per_kwh, percent};

const YEAR: usize = 365 * 96;

/// Nights on weekdays, a break within them, a holiday, and the noon of weekends.
fn rules() -> Rules {
    let rule = |should_charge, from: &str, to: &str, weekdays: Option<Vec<i64>>| DraftRule {
        should_charge,
        hour_minute: Some((from.into(), to.into())),
        weekdays,
        ..DraftRule::default()
    };
    let holiday = DraftRule {
        from_timestamp: Some(noon() + TimeDelta::days(40)),
        to_timestamp: Some(noon() + TimeDelta::days(54)),
        ..DraftRule::default()
    };
    let drafts = [
        holiday,
        rule(false, "03:00", "03:30", None),
        rule(true, "22:00", "06:00", Some(vec![0, 1, 2, 3, 4])),
        rule(true, "11:00", "15:00", Some(vec![5, 6])),
    ];
    Rules::parse(false, &drafts).expect("the rules of the benchmark are times of day and weekdays")
}

/// A status with its next two transitions, from rules and facts.
fn status(criterion: &mut Criterion) {
    let rules = rules();
    let mut facts = StatusFacts {
        is_enabled: true,
        target_type: TargetType::Vehicle,
        location_id: Some("home".into()),
        target: TargetReading {
            is_plugged_in: Some(true),
            soc: Some(percent(40.0)),
            location_id: Some("home".into()),
            is_capable: true,
            ..TargetReading::default()
        },
        should_charge: false,
        is_overridden: false,
        is_action_pending: false,
    };
    criterion.bench_function("rules/status", |bencher| {
        bencher.iter(|| {
            let (rules, now) = (black_box(&rules), black_box(noon()));
            facts.should_charge = rules.should_charge(now, Oslo);
            let upcoming = rules.upcoming(now, Oslo);
            Snapshot { status: Status::of(&facts), upcoming, override_created_at: None }
        });
    });
}

/// All deadlines of two weeks, a different one each weekday.
fn flex(criterion: &mut Criterion) {
    let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let day = |hour: usize| DayRequest {
        deadline: Some(format!("{:02}:15", hour + 5)),
        target_percent: Some(80.0),
    };
    let schedule = days.iter().enumerate().map(|(hour, name)| ((*name).into(), day(hour)));
    let request = FlexRequest {
        reserve_percent: 15.0,
        schedule: schedule.collect(),
        observed_limit_percent: 100.0,
    };
    let policy = FlexPolicy::new(&request, ReserveRule::Range).expect("the policy makes sense");
    let until = noon() + TimeDelta::days(14);
    criterion.bench_function("rules/flex-two-weeks", |bencher| {
        bencher.iter(|| policy.deadlines(Oslo, black_box(noon()), until, None));
    });
}

fn tariff() -> Tariff {
    let clock = |text| HourMinute::parse(text).expect("a time of day");
    let interval = |name: &str, weekdays, from, to| IntervalRequest {
        name: name.into(),
        weekdays,
        start: Some(clock(from)),
        end: Some(clock(to)),
    };
    let rate = |name: &str, cost: &str| RateRequest { name: name.into(), cost: cost.into() };
    let rates = Rates::new(&[rate("night", "0.12"), rate("peak", "0.41")]);
    let intervals = WeeklyIntervals::new(vec![
        interval("night", None, "22:00", "06:00"),
        interval("peak", Some(vec![0, 1, 2, 3, 4]), "16:00", "20:00"),
    ]);
    Tariff::new(rates.expect("two rates"), intervals.expect("no overlap")).expect("known rates")
}

/// A year of quarter hours: the tariff written out, over the market.
fn resolved(criterion: &mut Criterion) {
    let (tariff, market) = (tariff(), curve(YEAR));
    let (from, to) = (noon(), noon() + TimeDelta::days(365));
    let mut group = criterion.benchmark_group("rules");
    group.throughput(Throughput::Elements(YEAR as u64));
    group.bench_function("resolve-year", |bencher| {
        bencher.iter(|| {
            let tariff = tariff.curve(Oslo, from, to).expect("a year of the calendar");
            let market = Some(black_box(&market));
            resolve(Sources { price_signal: None, tariff: Some(&tariff), market }, from, to)
        });
    });
    group.finish();
}

/// A year of quarter hours pushed over the year before it, checks included.
fn signal(criterion: &mut Criterion) {
    let before = curve(YEAR);
    let starts = quarters(YEAR);
    let values = starts.periods().zip(day_ahead(&mut Random::new(6), YEAR));
    let values = values.map(|((at, _), price)| SignalValue { at, price: per_kwh(price) });
    let to = noon() + TimeDelta::minutes(15 * YEAR as i64);
    let request = SignalRequest { currency: "EUR".into(), to, values: values.collect() };
    let mut group = criterion.benchmark_group("rules");
    group.throughput(Throughput::Elements(YEAR as u64));
    group.bench_function("signal-35040", |bencher| {
        bencher.iter(|| {
            let signal = PriceSignal::new(black_box(&request)).expect("values in order");
            signal.replacing(&before)
        });
    });
    group.finish();
}

/// A year of two tariffs as they are billed: with seasons, and with public holidays.
fn billed(criterion: &mut Criterion) {
    for (name, first) in [("dk-n1-2025", "2025-01-01"), ("no-elvia-2025-04", "2025-04-01")] {
        let text = find_file(name).expect("a tariff of the library");
        let tariff: BillingTariff = serde_json::from_str(text).expect("its file can be read");
        let first: NaiveDate = first.parse().expect("a date");
        let from = start_of_day(first, tariff.time_zone());
        let to = start_of_day(first + Months::new(12), tariff.time_zone());
        criterion.bench_function(&format!("rules/billed-year-{name}"), |bencher| {
            bencher.iter(|| energy_prices(black_box(&tariff), Direction::Import, None, from, to));
        });
    }
}

/// First instant of a date on the clocks of a zone where midnight is never skipped.
fn start_of_day(date: NaiveDate, zone: Tz) -> DateTime<Utc> {
    let midnight = date.and_time(NaiveTime::MIN).and_local_timezone(zone);
    midnight.earliest().expect("a midnight").to_utc()
}

criterion_group!(benches, status, flex, resolved, signal, billed);
criterion_main!(benches);

//! Days of 23, 23½, 24½ and 25 hours, between the midnights of real clocks.
use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use slackwater_engine::time::civil::instant_of;

use crate::agreement::agrees;
use crate::case::{Case, Slot, Target, even_slots};
use crate::laws;
use crate::lp::Model;
use crate::planner::{plan, plan_from};
use crate::runner::{for_all, near};

/// Days on which clocks change, with their length in minutes.
const DAYS: [(&str, &str, i32); 8] = [
    ("Europe/Oslo", "2026-03-29", 23 * 60),
    ("Europe/Oslo", "2026-10-25", 25 * 60),
    ("Europe/Brussels", "2023-10-29", 25 * 60),
    ("America/New_York", "2026-03-08", 23 * 60),
    ("America/New_York", "2026-11-01", 25 * 60),
    ("Australia/Lord_Howe", "2026-04-05", 24 * 60 + 30),
    ("Australia/Lord_Howe", "2026-10-04", 23 * 60 + 30),
    ("Europe/Oslo", "2026-01-15", 24 * 60),
];

fn midnight(date: &str) -> NaiveDateTime {
    let date: NaiveDate = date.parse().expect("a date");
    date.and_time(chrono::NaiveTime::MIN)
}

/// Minutes from `origin` to a wall clock time.
fn minutes(origin: DateTime<Utc>, local: NaiveDateTime, time_zone: Tz) -> i32 {
    let elapsed = instant_of(local, time_zone) - origin;
    i32::try_from(elapsed.num_minutes()).expect("days apart")
}

fn zone(name: &str) -> Tz {
    name.parse().expect("a time zone")
}

#[test]
fn days_are_as_long_as_clocks_make_them() {
    for (name, date, expected) in DAYS {
        let (start, time_zone) = (midnight(date), zone(name));
        let next = start + TimeDelta::days(1);
        assert_eq!(
            minutes(instant_of(start, time_zone), next, time_zone),
            expected,
            "{name} {date}"
        );
    }
}

/// From ten in the evening to seven in the morning at 10 kW.
#[track_caller]
fn check_night(date: &str, wanted: f64, energy: f64, shortfall: f64) {
    let oslo = zone("Europe/Oslo");
    let evening = midnight(date) - TimeDelta::hours(2);
    let origin = instant_of(evening, oslo);
    let by = minutes(origin, midnight(date) + TimeDelta::hours(7), oslo);
    let prices: Vec<f64> = (0..24).map(|hour| f64::from(hour) / 100.0).collect();
    let target = Target { by: Some(by), kwh: wanted };
    let mut night = Case::simple(even_slots(60, &prices), 10.0, target);
    night.stops = true;
    let answer = plan_from(&night, origin);
    assert!(near(answer.energy, energy, 1e-12), "{} kWh in the night of {date}", answer.energy);
    assert!(near(answer.shortfall, shortfall, 1e-12), "{} kWh missing", answer.shortfall);
}

#[test]
fn a_night_in_spring_is_an_hour_short() {
    check_night("2026-01-15", 95.0, 90.0, 5.0);
    check_night("2026-03-29", 85.0, 80.0, 5.0);
    check_night("2026-10-25", 95.0, 95.0, 0.0);
    check_night("2026-10-25", 105.0, 100.0, 5.0);
}

/// A day of some zone, prices from midnight to midnight, and a car that
/// comes and goes by the clock on the wall.
#[derive(Debug, Clone)]
struct Stay {
    origin: DateTime<Utc>,
    case: Case,
}

fn stays() -> BoxedStrategy<Stay> {
    let day = select(DAYS.to_vec());
    let length = select(vec![15, 30, 60]);
    let cents = prop::collection::vec(-20..60_i32, 100);
    let clock = (0..500_i64, 200..1440_i64);
    let wish = (0.0..1.2_f64, prop::option::weighted(0.3, 0.0..10.0_f64), any::<bool>());
    (day, length, cents, clock, wish)
        .prop_map(
            |((name, date, day), length, cents, (arrival, departure), (share, room, stops))| {
                let (start, time_zone) = (midnight(date), zone(name));
                let origin = instant_of(start, time_zone);
                let at = |minute| minutes(origin, start + TimeDelta::minutes(minute), time_zone);
                let price = |cent: &i32| f64::from(*cent) / 100.0;
                let slot = |(start, price)| Slot { start, end: day.min(start + length), price };
                let starts = (0..day).step_by(usize::try_from(length).expect("positive"));
                let slots = starts.zip(cents.iter().map(price)).map(slot).collect();
                let (now, by) = (at(arrival), at(departure));
                let kwh = share * 11.0 * f64::from((by - now).max(0)) / 60.0;
                let mut case = Case::simple(slots, 11.0, Target { by: Some(by), kwh });
                case.now = now;
                case.stops = stops;
                case.energy_max_kwh = room.map(|room| kwh + room);
                Stay { origin, case }
            },
        )
        .boxed()
}

#[test]
fn plans_over_a_clock_change_are_as_cheap_as_linear_programmes() {
    for_all(600, &stays(), |Stay { origin, case }| {
        let model = Model::new(&case);
        agrees(&case, &model, &model.solve(), &plan_from(&case, origin))
    });
}

#[test]
fn a_clock_change_changes_no_price_and_no_minute() {
    for_all(600, &stays(), |Stay { origin, case }| {
        let (there, elsewhere) = (plan_from(&case, origin), plan(&case));
        prop_assert_eq!(there.cost.to_bits(), elsewhere.cost.to_bits());
        prop_assert_eq!(there.energy.to_bits(), elsewhere.energy.to_bits());
        prop_assert_eq!(there.intervals.len(), elsewhere.intervals.len());
        Ok(())
    });
}

#[test]
fn laws_hold_over_a_clock_change() {
    let values = (stays(), -0.5..0.5_f64, any::<Index>(), 0..1000_i32).boxed();
    for_all(600, &values, |(Stay { case, .. }, constant, which, thousandths)| {
        laws::energy_is_what_is_needed_or_what_there_is(&case)?;
        laws::adding_a_constant_adds_it_to_each_kwh(&case, constant)?;
        laws::scaling_prices_scales_the_cost(&case, 1.5 + constant)?;
        laws::the_cost_has_limits(&case)?;
        laws::ties_go_to_the_earlier_slot(&case)?;
        laws::splitting_a_slot_changes_nothing(&case, which, thousandths)?;
        if plan(&case).shortfall <= 0.0 {
            laws::a_later_deadline_is_never_dearer(&case, which, 60)?;
            laws::more_power_is_never_dearer(&case, 2.0 + constant)?;
        }
        Ok(())
    });
}

//! A minute-by-minute oracle, and laws, for the transitions of schedules.
use super::*;
use crate::schedule::filter::{HourMinuteWindow, Weekdays};
use crate::schedule::rule::{DraftRule, Rule};
use crate::schedule::week::Layer;
use chrono::TimeDelta;
use proptest::prelude::*;
use slackwater_engine::time::hour_minute::HourMinute;
use std::ops::Range;

fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

fn window(from: &str, to: &str) -> DraftRule {
    let hour_minute = Some((from.into(), to.into()));
    DraftRule { should_charge: true, hour_minute, ..DraftRule::default() }
}

#[track_caller]
fn check(drafts: &[DraftRule], zone: &str, now: &str, expected: &[(&str, bool)]) {
    let rules = Rules::parse(false, drafts).unwrap();
    let got = rules.upcoming(at(now), zone.parse().unwrap());
    let got: Vec<(DateTime<Utc>, bool)> = got.iter().map(|t| (t.at, t.should_charge)).collect();
    let expected: Vec<_> = expected.iter().map(|(text, value)| (at(text), *value)).collect();
    assert_eq!(got, expected);
}

#[test]
fn transitions_lie_strictly_after_now_and_are_changes() {
    let tiles = [window("08:00", "10:00"), window("10:00", "12:00")];
    let day = [("2026-01-05T08:00:00Z", true), ("2026-01-05T12:00:00Z", false)];
    check(&tiles, "UTC", "2026-01-05T07:59:59Z", &day);
    let rest = [("2026-01-05T12:00:00Z", false), ("2026-01-06T08:00:00Z", true)];
    check(&tiles, "UTC", "2026-01-05T08:00:00Z", &rest);
}

#[test]
fn no_transitions_after_the_last_change() {
    check(&[], "Europe/Berlin", "2026-01-05T00:00:00Z", &[]);
    check(&[window("07:00", "07:00")], "Europe/Berlin", "2026-01-05T00:00:00Z", &[]);
    let last =
        DraftRule { to_timestamp: Some(at("2026-02-01T00:00:00Z")), ..window("00:00", "00:00") };
    check(&[last], "UTC", "2026-01-05T00:00:00Z", &[("2026-02-01T00:00:00Z", false)]);
}

#[test]
fn a_rule_of_a_fraction_of_a_second_is_seen() {
    let brief = DraftRule {
        should_charge: true,
        from_timestamp: Some(at("2026-03-01T12:34:56.123456Z")),
        to_timestamp: Some(at("2026-03-01T12:34:56.123457Z")),
        ..DraftRule::default()
    };
    let expected = [("2026-03-01T12:34:56.123456Z", true), ("2026-03-01T12:34:56.123457Z", false)];
    check(&[brief], "Asia/Kathmandu", "2026-01-01T00:00:00Z", &expected);
}

#[test]
fn transitions_are_found_without_a_horizon() {
    let far = DraftRule {
        from_timestamp: Some(at("9000-06-01T00:00:00Z")),
        weekdays: Some(vec![2]),
        ..window("09:00", "10:00")
    };
    // 1 June 9000 is a Sunday; clocks in Berlin are an hour ahead in the tables of that time.
    let rules = Rules::parse(false, &[far]).unwrap();
    let found = rules.upcoming(at("2026-01-01T00:00:00Z"), chrono_tz::Europe::Berlin);
    assert_eq!(found.len(), 2);
    assert_eq!(found[1].at - found[0].at, TimeDelta::hours(1));
    assert!(found[0].at - at("9000-06-01T00:00:00Z") < TimeDelta::days(7));
}

#[test]
fn a_day_that_never_happened() {
    // Samoa went from Thursday 29 to Saturday 31 December 2011.
    let friday = DraftRule { should_charge: true, weekdays: Some(vec![4]), ..DraftRule::default() };
    let expected = [("2012-01-05T10:00:00Z", true), ("2012-01-06T10:00:00Z", false)];
    check(&[friday], "Pacific/Apia", "2011-12-25T00:00:00Z", &expected);
    let around = [window("20:00", "04:00")];
    let expected = [("2011-12-30T06:00:00Z", true), ("2011-12-30T14:00:00Z", false)];
    check(&around, "Pacific/Apia", "2011-12-29T20:00:00Z", &expected);
}

#[test]
fn half_hours_of_lord_howe() {
    // 02:00 to 02:30 is skipped on 4 October 2026 and repeated (01:30 to 02:00) on 5 April.
    let expected = [("2026-10-03T15:30:00Z", true), ("2026-10-03T15:45:00Z", false)];
    check(&[window("02:30", "02:45")], "Australia/Lord_Howe", "2026-10-03T00:00:00Z", &expected);
    let expected = [("2026-04-04T14:40:00Z", true), ("2026-04-04T14:50:00Z", false)];
    check(&[window("01:40", "01:50")], "Australia/Lord_Howe", "2026-04-04T00:00:00Z", &expected);
    let again = [("2026-04-04T15:10:00Z", true), ("2026-04-04T15:20:00Z", false)];
    check(&[window("01:40", "01:50")], "Australia/Lord_Howe", "2026-04-04T14:50:00Z", &again);
}

#[test]
fn the_ends_of_the_calendar_have_no_transitions() {
    let rules = Rules::parse(false, &[window("01:00", "02:00")]).unwrap();
    assert_eq!(rules.upcoming(DateTime::<Utc>::MAX_UTC, chrono_tz::Asia::Tokyo), []);
    let last_days = DateTime::<Utc>::MAX_UTC - TimeDelta::days(3);
    assert_eq!(rules.upcoming(last_days, chrono_tz::Asia::Tokyo), []);
    assert_eq!(rules.upcoming(DateTime::<Utc>::MIN_UTC, chrono_tz::Asia::Tokyo).len(), 2);
}

/// A body of two megabytes has room for so many rules. Painting all of them anew
/// whenever one comes or goes would take a quarter of an hour here.
#[test]
fn thirty_thousand_rules_that_come_one_after_the_other() {
    let start = at("2026-01-05T00:00:00Z");
    let last = 29_999;
    let coming = |second: i64| DraftRule {
        should_charge: second == last,
        from_timestamp: Some(start + TimeDelta::seconds(second)),
        ..DraftRule::default()
    };
    let mut drafts: Vec<DraftRule> = (0..=last).map(coming).collect();
    // The rule that comes last is the one that counts from then on.
    drafts.rotate_right(1);
    let rules = Rules::parse(false, &drafts).unwrap();
    let found = rules.upcoming(start - TimeDelta::days(1), chrono_tz::Europe::Berlin);
    let expected = Transition { at: start + TimeDelta::seconds(last), should_charge: true };
    assert_eq!(found, [expected]);
}

/// Instants around which zones change their clocks in surprising ways.
const DAYS: [(&str, &str); 12] = [
    ("Europe/Berlin", "2026-03-27T00:00:00Z"),
    ("Europe/Berlin", "2026-10-23T00:00:00Z"),
    ("America/New_York", "2026-03-06T00:00:00Z"),
    ("America/Sao_Paulo", "2018-11-02T00:00:00Z"),
    ("Asia/Beirut", "2026-03-27T00:00:00Z"),
    ("Australia/Lord_Howe", "2026-10-02T00:00:00Z"),
    ("Pacific/Apia", "2011-12-28T00:00:00Z"),
    ("Pacific/Kwajalein", "1993-08-19T00:00:00Z"),
    ("Africa/Casablanca", "2026-02-13T00:00:00Z"),
    ("Antarctica/Troll", "2026-03-27T00:00:00Z"),
    ("Europe/Dublin", "1971-10-29T00:00:00Z"),
    ("Africa/Monrovia", "1972-01-05T00:00:00Z"),
];

fn instants(day: &str) -> BoxedStrategy<Option<DateTime<Utc>>> {
    let start = at(day);
    prop::option::weighted(
        0.3,
        (0..5 * 8_640_i64).prop_map(move |tens| start + TimeDelta::seconds(tens * 10)),
    )
    .boxed()
}

fn rules_near(day: &'static str, count: Range<usize>) -> BoxedStrategy<Rules> {
    let time = || {
        (0..288_u16).prop_map(|five| five * 5).prop_map(|minute| {
            HourMinute::parse(&format!("{:02}:{:02}", minute / 60, minute % 60)).unwrap()
        })
    };
    let window = (time(), time()).prop_map(|(from, to)| HourMinuteWindow { from, to });
    let days = prop::collection::vec(0..7_i64, 0..5)
        .prop_map(|days| Weekdays::from_numbers(&days).unwrap());
    let rule = (
        any::<bool>(),
        prop::option::weighted(0.8, window),
        instants(day),
        instants(day),
        prop::option::weighted(0.4, days),
    )
        .prop_map(|(should_charge, hour_minute, from_timestamp, to_timestamp, weekdays)| Rule {
            should_charge,
            hour_minute,
            from_timestamp,
            to_timestamp,
            weekdays,
        });
    (any::<bool>(), prop::collection::vec(rule, count))
        .prop_map(|(default_should_charge, rules)| Rules { default_should_charge, rules })
        .boxed()
}

/// A zone with a surprise, a few rules, and an instant in the days around it.
fn scenes() -> BoxedStrategy<(Tz, Rules, DateTime<Utc>)> {
    scenes_of(0..5)
}

fn scenes_of(count: Range<usize>) -> BoxedStrategy<(Tz, Rules, DateTime<Utc>)> {
    prop::sample::select(DAYS.to_vec())
        .prop_flat_map(move |(zone, day)| {
            let zone: Tz = zone.parse().unwrap();
            (
                Just(zone),
                rules_near(day, count.clone()),
                (0..3 * 8_640_i64).prop_map(move |s| at(day) + TimeDelta::seconds(s * 10)),
            )
        })
        .boxed()
}

/// The first of every ten seconds after `after` at which the verdict differs.
///
/// Everything above changes at multiples of ten seconds only; so do the
/// clocks of all zones above, Monrovia's 44½ minutes included.
fn by_hand(rules: &Rules, after: DateTime<Utc>, zone: Tz, tens: i64) -> Option<DateTime<Utc>> {
    let value = rules.should_charge(after, zone);
    let mut instants = (1..=tens).map(|ten| after + TimeDelta::seconds(ten * 10));
    instants.find(|&at| rules.should_charge(at, zone) != value)
}

/// The next transition found without [`Layers`]: the week of all rules in force
/// painted anew in each stretch.
fn painted_anew(rules: &Rules, after: DateTime<Utc>, zone: Tz) -> Option<Transition> {
    let after = micros_of(after);
    let value = rules.verdict(after, zone);
    let mut from = after;
    loop {
        if from > after && rules.verdict(from, zone) != value {
            return Some(Transition { at: instant_at(from), should_charge: !value });
        }
        let week = Layer::of(&rules.rules, from).over(rules.default_should_charge);
        let stamps = rules.rules.iter().flat_map(|rule| [rule.from_timestamp, rule.to_timestamp]);
        let bound = stamps.flatten().map(micros_of).filter(|&at| at > from).min();
        let offset = offset_micros(from, zone);
        let wall = wall_minute(from, offset);
        let Some(minutes) = week.minutes_until_not(minute_of_week(wall), value) else {
            from = bound?;
            continue;
        };
        let change = (wall + minutes) * MICROS_PER_MINUTE - offset;
        let end = bound.unwrap_or(i64::MAX).min(change).min(LAST);
        match next_offset_change(from, end, zone) {
            Some(clocks) => from = clocks,
            None if end < LAST => from = end,
            None => return None,
        }
    }
}

/// The offset changes of a zone from 1970 to 2035.
fn clock_changes(zone: Tz) -> Vec<DateTime<Utc>> {
    let (mut from, until) =
        (micros_of(at("1970-01-01T00:00:00Z")), micros_of(at("2036-01-01T00:00:00Z")));
    let mut found = Vec::new();
    while let Some(change) = next_offset_change(from, until, zone) {
        found.push(instant_at(change));
        from = change;
    }
    found
}

/// Rules that see most of what clocks can do, with a weekday in play.
fn night_and_day() -> Rules {
    let off = DraftRule { should_charge: false, ..window("01:30", "02:10") };
    let sunday = DraftRule { weekdays: Some(vec![6]), ..window("02:20", "23:40") };
    Rules::parse(false, &[off, window("23:30", "02:40"), sunday]).unwrap()
}

/// In every zone of the IANA tables, around clock changes of that zone, the
/// list of transitions and a walk minute by minute say the same. Walks start
/// at the change, so that an offset of odd seconds does not matter.
#[test]
fn every_zone_around_its_clock_changes() {
    let rules = night_and_day();
    let mut seen = 0;
    for zone in chrono_tz::TZ_VARIANTS {
        let changes = clock_changes(zone);
        // The newest in every other zone, else one that depends on the zone's place in the table.
        let which = if seen % 2 == 0 {
            changes.len().saturating_sub(1)
        } else {
            seen % changes.len().max(1)
        };
        if let Some(change) = changes.get(which) {
            seen += 1;
            let start = *change - TimeDelta::hours(20);
            let mut next = rules.next_transition(start, zone);
            let mut value = rules.should_charge(start, zone);
            for minute in 1..=26 * 60 {
                let now = start + TimeDelta::minutes(minute);
                if let Some(transition) = next.filter(|transition| transition.at <= now) {
                    value = transition.should_charge;
                    next = rules.next_transition(transition.at, zone);
                }
                assert_eq!(rules.should_charge(now, zone), value, "{now} in {zone}");
            }
        }
    }
    assert!(seen > 350, "{seen} clock changes");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// EP-01: the oracle looks at two days, ten seconds at a time.
    #[test]
    fn transitions_are_those_found_step_by_step((zone, rules, now) in scenes()) {
        let found = rules.next_transition(now, zone);
        let tens = 2 * 8_640;
        match by_hand(&rules, now, zone, tens) {
            Some(expected) => prop_assert_eq!(found.map(|t| t.at), Some(expected)),
            None => prop_assert!(found.is_none_or(|t| t.at - now > TimeDelta::seconds(tens * 10))),
        }
        if let Some(transition) = found {
            let before = transition.at - TimeDelta::microseconds(1);
            prop_assert_ne!(rules.should_charge(before, zone), transition.should_charge);
            prop_assert_eq!(rules.should_charge(transition.at, zone), transition.should_charge);
        }
    }

    /// Many rules that come and go are one search, and it finds what is found by
    /// painting all of them anew in each stretch.
    #[test]
    fn rules_that_come_and_go_change_no_answer((zone, rules, now) in scenes_of(5..90)) {
        let mut search = TransitionSearch::from(&rules, micros_of(now), zone);
        let mut from = now;
        for _ in 0..40 {
            let expected = painted_anew(&rules, from, zone);
            prop_assert_eq!(search.next(), expected);
            prop_assert_eq!(rules.next_transition(from, zone), expected);
            let Some(expected) = expected else { break };
            from = expected.at;
        }
    }

    /// EP-02: nothing moves until the first transition; there the list loses its head.
    #[test]
    fn the_list_only_moves_at_a_transition((zone, rules, now) in scenes(), part in 0.0..1.0_f64) {
        let found = rules.upcoming(now, zone);
        if let [first, rest @ ..] = &found[..] {
            let micros = ((first.at - now).num_microseconds().unwrap() as f64 * part) as i64;
            prop_assert_eq!(&rules.upcoming(now + TimeDelta::microseconds(micros), zone), &found);
            let next = rules.upcoming(first.at, zone);
            prop_assert_eq!(next.first(), rest.first());
        }
    }

    /// EP-03, EP-05: a rule that never holds changes nothing; negation negates.
    #[test]
    fn expired_rules_change_nothing_and_negation_negates((zone, rules, now) in scenes()) {
        let found = rules.upcoming(now, zone);
        let mut longer = rules.clone();
        let expired = Rule {
            should_charge: true, hour_minute: None, from_timestamp: None,
            to_timestamp: Some(now), weekdays: None,
        };
        longer.rules.insert(0, expired);
        prop_assert_eq!(&longer.upcoming(now, zone), &found);
        let mut negated = rules;
        negated.default_should_charge = !negated.default_should_charge;
        for rule in &mut negated.rules {
            rule.should_charge = !rule.should_charge;
        }
        let opposite = negated.upcoming(now, zone);
        prop_assert_eq!(opposite.len(), found.len());
        for (a, b) in opposite.iter().zip(&found) {
            prop_assert_eq!((a.at, a.should_charge), (b.at, !b.should_charge));
        }
    }

    /// EP-04: in UTC and without timestamps every day is like the next, and
    /// with weekdays every week is.
    #[test]
    fn days_and_weeks_repeat_in_utc((_, rules, now) in scenes()) {
        let mut weekly = rules;
        for rule in &mut weekly.rules {
            (rule.from_timestamp, rule.to_timestamp) = (None, None);
        }
        let mut daily = weekly.clone();
        for rule in &mut daily.rules {
            rule.weekdays = None;
        }
        for (rules, period) in [(daily, TimeDelta::days(1)), (weekly, TimeDelta::days(7))] {
            let found = rules.upcoming(now, Tz::UTC);
            let later = found.iter().map(|t| Transition { at: t.at + period, ..*t });
            prop_assert_eq!(rules.upcoming(now + period, Tz::UTC), later.collect::<Vec<_>>());
            prop_assert!(found.iter().all(|transition| transition.at - now <= period * 2));
            let verdict = rules.should_charge(now, Tz::UTC);
            prop_assert_eq!(rules.should_charge(now + period, Tz::UTC), verdict);
        }
    }
}

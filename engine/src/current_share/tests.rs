//! Certificates of the division, on cases made up.
use proptest::prelude::*;

use super::*;
use crate::units::amps;

fn sharer(phases: [bool; 3], min: f64, max: f64) -> Sharer {
    let (min, max, step) = (amps(min), amps(max), amps(0.001));
    Sharer { phases, min, max, step, reserved: Current::ZERO, priority: 0, need: None }
}

fn room(phases: f64, total: Option<f64>) -> Room {
    Room { phases: [amps(phases); 3], total: total.map(amps) }
}

#[test]
fn a_sum_counts_every_phase() {
    // 4.2 kW at 230 V are 18.26 A in all: 6.087 A on three phases, 18.26 A on one.
    let three = sharer([true; 3], 6.0, 32.0);
    let one = sharer([false, true, false], 6.0, 32.0);
    let room = room(63.0, Some(18.26));
    assert_eq!(share_current(&room, &[three], 0), [amps(6.086)]);
    assert_eq!(share_current(&room, &[one], 0), [amps(18.26)]);
    assert_eq!(share_current(&room, &[three, one], 0), [amps(6.086), Current::ZERO]);
}

#[test]
fn higher_priorities_are_filled_first() {
    let low = sharer([true; 3], 6.0, 32.0);
    let high = Sharer { priority: 1, ..low };
    assert_eq!(share_current(&room(40.0, None), &[low, high], 0), [amps(8.0), amps(32.0)]);
    assert_eq!(share_current(&room(10.0, None), &[low, high], 0), [Current::ZERO, amps(10.0)]);
}

#[test]
fn reserved_current_is_counted_without_being_given() {
    let absent = Sharer { reserved: amps(6.0), ..sharer([true; 3], 6.0, 0.0) };
    let present = sharer([true; 3], 6.0, 32.0);
    assert_eq!(
        share_current(&room(16.0, None), &[absent, present], 0),
        [Current::ZERO, amps(10.0)]
    );
    // More than there is: nobody gets anything.
    let absent = Sharer { reserved: amps(20.0), ..absent };
    assert_eq!(share_current(&room(16.0, None), &[absent, present], 0), [Current::ZERO; 2]);
}

#[test]
fn results_are_whole_steps_and_not_below_the_minimum() {
    let coarse = Sharer { step: amps(4.0), ..sharer([true; 3], 6.0, 32.0) };
    assert_eq!(share_current(&room(7.9, None), &[coarse], 0), [amps(6.0)]);
    assert_eq!(share_current(&room(15.9, None), &[coarse], 0), [amps(12.0)]);
    assert_eq!(share_current(&room(-5.0, None), &[coarse], 0), [Current::ZERO]);
    assert_eq!(share_current(&room(5.0, None), &[], 0), []);
}

#[test]
fn everybody_gets_a_turn() {
    let turn = TimeDelta::minutes(10);
    let start: DateTime<Utc> = "1969-12-31T23:00:00Z".parse().unwrap();
    let sharers = [sharer([true; 3], 6.0, 16.0); 4];
    let mut served = [0; 4];
    for step in 0..12 {
        let first = turn_at(start + turn * step, turn, sharers.len());
        let given = share_current(&room(13.0, None), &sharers, first);
        for (served, given) in served.iter_mut().zip(given) {
            *served += usize::from(given > Current::ZERO);
        }
    }
    assert_eq!(served, [6; 4]);
    assert_eq!((turn_at(start, turn, 0), turn_at(start, TimeDelta::zero(), 4)), (0, 0));
}

fn sharers() -> impl Strategy<Value = Vec<Sharer>> {
    let phases = prop_oneof![
        Just([true, true, true]),
        Just([true, false, false]),
        Just([false, true, false]),
        Just([true, false, true]),
        Just([false, false, false]),
    ];
    let one = (phases, 0..3usize, 0..40i32, prop_oneof![3 => Just(0), 1 => 0..12i32], 0..3i32);
    let one = one.prop_map(|(phases, min, max, reserved, priority)| Sharer {
        reserved: amps(f64::from(reserved)),
        priority,
        ..sharer(phases, [0.0, 6.0, 7.5][min], f64::from(max))
    });
    prop::collection::vec(one, 0..7)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Certificate of progressive filling: rows are kept, and each device is at its maximum or
    /// has a full row in which no device of its priority has more, and no lower one more than
    /// its minimum. Devices without current did not fit after those before them.
    #[test]
    fn every_device_has_a_full_row(
        sharers in sharers(), phases in prop::array::uniform3(-5.0..80.0f64),
        total in prop::option::of(0.0..150.0f64), first in 0..7usize,
    ) {
        let room = Room { phases: phases.map(amps), total: total.map(amps) };
        let first = if sharers.is_empty() { 0 } else { first % sharers.len() };
        let given = share_current(&room, &sharers, first);
        let capacities = [phases[0], phases[1], phases[2], total.unwrap_or(f64::INFINITY)];
        let weight = |sharer: &Sharer, row: usize| match row {
            3 => sharer.phases.iter().filter(|uses| **uses).count() as f64,
            row => f64::from(u8::from(sharer.phases[row])),
        };
        let load_of = |row: usize, given: &[Current]| -> f64 {
            let used = sharers.iter().zip(given);
            used.map(|(s, g)| weight(s, row) * g.max(s.reserved).as_amps()).sum()
        };
        let slack = 0.001 * 22.0;
        let is_given = |index: usize| given[index] > Current::ZERO;
        for (index, sharer) in sharers.iter().enumerate() {
            let current = given[index];
            prop_assert!(!is_given(index) || (sharer.min <= current && current <= sharer.max));
            for row in (0..4).filter(|row| is_given(index) && weight(sharer, *row) > 0.0) {
                let load = load_of(row, &given);
                prop_assert!(load <= capacities[row] + 1e-6, "row {row}: {load} A");
            }
            let usable = sharer.max >= sharer.min && sharer.phases != [false; 3];
            if usable && is_given(index) && current < sharer.max - amps(0.001) {
                let is_bottleneck = |row: &usize| {
                    weight(sharer, *row) > 0.0
                        && load_of(*row, &given) > capacities[*row] - slack
                        && sharers.iter().zip(&given).all(|(other, more)| {
                            weight(other, *row) == 0.0
                                || match other.priority.cmp(&sharer.priority) {
                                    std::cmp::Ordering::Greater => true,
                                    std::cmp::Ordering::Less => {
                                        *more <= other.min.max(other.reserved) + amps(0.01)
                                    }
                                    std::cmp::Ordering::Equal => {
                                        let level = current.max(other.min).max(other.reserved);
                                        *more <= level + amps(0.01)
                                    }
                                }
                        })
                };
                prop_assert!((0..4).any(|row| is_bottleneck(&row)), "device {index} of {given:?}");
            }
            if usable && !is_given(index) && sharer.min > Current::ZERO {
                let rank = |i: usize| {
                    (std::cmp::Reverse(sharers[i].priority), (i + sharers.len() - first) % sharers.len())
                };
                let mut with = vec![Current::ZERO; sharers.len()];
                for before in (0..sharers.len()).filter(|i| rank(*i) < rank(index) && is_given(*i)) {
                    with[before] = sharers[before].min;
                }
                with[index] = sharer.min;
                let is_full = |row: usize| load_of(row, &with) > capacities[row] - slack;
                prop_assert!((0..4).any(|row| weight(sharer, row) > 0.0 && is_full(row)));
            }
        }
    }
}

/// Currents that are counted on a row: a phase, or their sum.
fn load_of(row: usize, sharers: &[Sharer], given: &[Current]) -> f64 {
    let used = sharers.iter().zip(given);
    used.map(|(s, g)| weight(s, row) * g.max(s.reserved).as_amps()).sum()
}

fn weight(sharer: &Sharer, row: usize) -> f64 {
    match row {
        3 => sharer.phases.iter().filter(|uses| **uses).count() as f64,
        row => f64::from(u8::from(sharer.phases[row])),
    }
}

/// The sharers without needs.
fn needless(sharers: &[Sharer]) -> Vec<Sharer> {
    sharers.iter().map(|sharer| Sharer { need: None, ..*sharer }).collect()
}

#[test]
fn the_largest_unmet_need_is_made_small() {
    let needing = |need: f64| Sharer { need: Some(amps(need)), ..sharer([true; 3], 6.0, 32.0) };
    let share = |fuse: f64, needs: &[f64]| {
        let sharers: Vec<Sharer> = needs.iter().map(|need| needing(*need)).collect();
        let given = share_current(&room(fuse, None), &sharers, 0);
        given.iter().map(|given| given.as_amps()).collect::<Vec<_>>()
    };
    // 4 A are missing for each, and 2 A where one can give no more.
    assert_eq!(share(32.0, &[22.0, 18.0]), [18.0, 14.0]);
    assert_eq!(share(24.0, &[20.0, 4.0]), [18.0, 6.0]);
    // More than is needed is divided as ever: the smallest currents first.
    assert_eq!(share(40.0, &[22.0, 8.0]), [22.0, 18.0]);
    // A need beyond all that there is takes all but the lowest currents.
    assert_eq!(share(40.0, &[1e4, 10.0, 10.0]), [28.0, 6.0, 6.0]);
}

#[test]
fn unknown_needs_keep_their_fair_share() {
    let unknown = sharer([true; 3], 6.0, 32.0);
    let soon = Sharer { need: Some(amps(20.0)), ..unknown };
    let late = Sharer { need: Some(amps(8.0)), ..unknown };
    let given = share_current(&room(36.0, None), &[unknown, soon, late], 0);
    assert_eq!(given, [amps(12.0), amps(18.0), amps(6.0)]);
}

fn sharers_with_needs() -> impl Strategy<Value = Vec<Sharer>> {
    let need = prop_oneof![1 => Just(None), 3 => (0..600i32).prop_map(Some)];
    sharers().prop_flat_map(move |sharers| {
        let needs = prop::collection::vec(need.clone(), sharers.len());
        needs.prop_map(move |needs| {
            let with = |(sharer, need): (&Sharer, Option<i32>)| Sharer {
                need: need.map(|need| amps(f64::from(need) / 10.0)),
                ..*sharer
            };
            sharers.iter().zip(needs).map(with).collect()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Rows are kept, whoever has a minimum current by turn has it, no unknown need gets less than the
    /// fair division, and each unmet need has a full row in which nobody of its priority could give
    /// way to it: all others with known needs have as much unmet, or their lowest current.
    #[test]
    fn every_unmet_need_has_a_full_row(
        sharers in sharers_with_needs(), phases in prop::array::uniform3(-5.0..80.0f64),
        total in prop::option::of(0.0..150.0f64), first in 0..7usize,
    ) {
        let room = Room { phases: phases.map(amps), total: total.map(amps) };
        let first = if sharers.is_empty() { 0 } else { first % sharers.len() };
        let given = share_current(&room, &sharers, first);
        let fair = share_current(&room, &needless(&sharers), first);
        let capacities = [phases[0], phases[1], phases[2], total.unwrap_or(f64::INFINITY)];
        let is_alone = |priority: i32| {
            let mut of = sharers.iter().zip(&given).filter(|(s, g)| {
                s.priority == priority && **g > Current::ZERO
            });
            let first = of.clone().find_map(|(s, _)| s.need);
            of.all(|(s, _)| s.need.is_none() || s.need == first)
        };
        for (index, sharer) in sharers.iter().enumerate() {
            let current = given[index];
            // Without a lowest current, one that needs nothing may get nothing.
            let is_as_fair = (current > Current::ZERO) == (fair[index] > Current::ZERO);
            prop_assert!(sharer.min == Current::ZERO || is_as_fair, "{given:?} for {fair:?}");
            if current == Current::ZERO {
                continue;
            }
            prop_assert!(sharer.min <= current && current <= sharer.max);
            for row in (0..4).filter(|row| weight(sharer, *row) > 0.0) {
                let load = load_of(row, &sharers, &given);
                prop_assert!(load <= capacities[row] + 1e-6, "row {row}: {load} A");
            }
            let Some(need) = sharer.need else {
                // What higher priorities get depends on needs, so that this holds in the highest.
                let is_highest = sharers.iter().all(|other| other.priority <= sharer.priority);
                prop_assert!(!is_highest || current >= fair[index], "{given:?} for {fair:?}");
                continue;
            };
            let unmet = need.min(sharer.max) - current;
            if unmet <= amps(0.002) || is_alone(sharer.priority) {
                continue;
            }
            let gap = need - current;
            // Of the milliamperes that did not suffice for all, some get one more.
            let rest = amps(0.03);
            let gives_no_way = |(other, more): (&Sharer, &Current)| {
                let lowest = other.min.max(other.reserved.min(other.max));
                let theirs = other.need.map(|need| need - *more);
                other.priority != sharer.priority
                    || theirs.is_none_or(|theirs| theirs >= gap - rest)
                    || *more <= lowest + rest
            };
            let slack = 0.001 * 22.0;
            let is_bottleneck = |row: &usize| {
                weight(sharer, *row) > 0.0
                    && load_of(*row, &sharers, &given) > capacities[*row] - slack
                    && sharers.iter().zip(&given)
                        .filter(|(other, _)| weight(other, *row) > 0.0)
                        .all(gives_no_way)
            };
            prop_assert!((0..4).any(|row| is_bottleneck(&row)), "device {index} of {given:?}");
        }
    }

    /// Needs that are equal, or known of one device only, change nothing to the last milliampere.
    #[test]
    fn equal_needs_are_divided_as_unknown_ones(
        sharers in sharers(), phases in prop::array::uniform3(-5.0..80.0f64),
        total in prop::option::of(0.0..150.0f64), need in 0.0..60.0f64,
        known in prop::array::uniform7(any::<bool>()),
    ) {
        let room = Room { phases: phases.map(amps), total: total.map(amps) };
        let equal = |(sharer, is_known): (&Sharer, bool)| {
            Sharer { need: is_known.then_some(amps(need)), ..*sharer }
        };
        let equal: Vec<Sharer> = sharers.iter().zip(known).map(equal).collect();
        prop_assert_eq!(share_current(&room, &equal, 0), share_current(&room, &sharers, 0));
    }

    /// Nobody waits for ever: over the turns, each device that fits at its lowest current beside what is
    /// reserved has it at least once among those of its priority.
    #[test]
    fn needs_starve_nobody(
        needs in prop::collection::vec(0.0..600.0f64, 1..7), fuse in 6.0..40.0f64,
    ) {
        let with = |need: &f64| Sharer { need: Some(amps(*need)), ..sharer([true; 3], 6.0, 32.0) };
        let sharers: Vec<Sharer> = needs.iter().map(with).collect();
        for index in 0..sharers.len() {
            let given = share_current(&room(fuse, None), &sharers, index);
            prop_assert!(given[index] >= amps(6.0), "{index} of {given:?}");
        }
    }
}

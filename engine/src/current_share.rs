//! Division of one current among devices that charge now: max-min fair within a priority, with
//! minimum currents and turns.
//!
//! # Problem
//!
//! Device `i` gets a current `x_i` on each of its phases, either zero or between `min_i` and `max_i`.
//! Every row `r`, one for each phase and one for their sum, has a capacity:
//!
//! ```text
//! sum of w_ri · max(x_i, reserved_i) over i  <=  capacity_r
//! w_ri = 1 if the device uses phase r, else 0;  in the row of the sum, the number of its phases
//! ```
//!
//! `reserved_i` is counted even where the device gets nothing: it may draw this current whatever it
//! is told. A device that gets anything gets at least as much of it as it can use. First, minimum currents are given in order of priority, and within a priority by turn;
//! devices that do not fit get nothing until their turn. Then, priority by priority, the smallest
//! currents are raised together until each device is at its maximum or behind a full row.
//!
//! # Source
//!
//! Progressive filling: D. Bertsekas, R. Gallager, *Data Networks*, 2nd edition, 1992, section
//! 6.5.2. Its certificate, which the tests check, is a full row for every device below its maximum,
//! in which no device of its priority has more.
use chrono::{DateTime, TimeDelta, Utc};

use crate::units::Current;

/// Number of phases.
const PHASES: usize = 3;

/// Milliamperes in an ampere. Currents are whole numbers of them inside, so that sums are exact.
const MILLI: f64 = 1000.0;

/// Device that takes part in the division.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sharer {
    /// Phases that the device uses.
    pub phases: [bool; PHASES],
    /// Lowest current of charging; less is none.
    pub min: Current,
    /// Highest current that the device can use now; below `min` it gets none.
    pub max: Current,
    /// Step of currents: results are rounded down to it, but not below `min`.
    pub step: Current,
    /// Current that is counted as used in any case.
    pub reserved: Current,
    /// Rank: higher ranks are served first.
    pub priority: i32,
}

/// Current to divide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Room {
    /// Current of each phase.
    pub phases: [Current; PHASES],
    /// Sum of the currents of all phases; `None` is unlimited. A power `P` at the voltage `U` is
    /// the sum `P / U`.
    pub total: Option<Current>,
}

/// Index of the device whose turn it is among `count` devices: the next one after each `turn`.
///
/// Zero if there is no device, or no turn.
#[must_use]
pub fn turn_at(now: DateTime<Utc>, turn: TimeDelta, count: usize) -> usize {
    let length = turn.num_microseconds().unwrap_or(i64::MAX);
    if count == 0 || length <= 0 {
        return 0;
    }
    now.timestamp_micros().div_euclid(length).rem_euclid(count as i64) as usize
}

/// Current on each phase of each device, in the order of the devices.
///
/// `first` is the index of the device whose turn it is: among equal priorities it and those after it
/// get their minimum first. A device whose row has no capacity left gets zero; that is no error.
/// Negative capacities are none. Runs in O(n² log A) for n devices and A milliamperes.
///
/// # Example
///
/// Twenty amperes on each phase. A car on three phases and one on the first phase share it: 10 A
/// each. On the other phases 10 A are left over, since no car can use them alone.
///
/// ```
/// use slackwater_engine::current_share::{Room, Sharer, share_current};
/// use slackwater_engine::units::{Current, amps};
///
/// let three = Sharer {
///     phases: [true; 3],
///     min: amps(6.0),
///     max: amps(32.0),
///     step: amps(1.0),
///     reserved: Current::ZERO,
///     priority: 0,
/// };
/// let one = Sharer { phases: [true, false, false], ..three };
/// let room = Room { phases: [amps(20.0); 3], total: None };
/// assert_eq!(share_current(&room, &[three, one], 0), [amps(10.0), amps(10.0)]);
///
/// // With 10 A only one of them charges, and they take turns.
/// let room = Room { phases: [amps(10.0); 3], total: None };
/// assert_eq!(share_current(&room, &[three, one], 0), [amps(10.0), Current::ZERO]);
/// assert_eq!(share_current(&room, &[three, one], 1), [Current::ZERO, amps(10.0)]);
/// ```
#[must_use]
pub fn share_current(room: &Room, sharers: &[Sharer], first: usize) -> Vec<Current> {
    let mut division = Division::new(room, sharers);
    division.admit(first);
    let mut priorities: Vec<i32> = sharers.iter().map(|sharer| sharer.priority).collect();
    priorities.sort_unstable_by(|a, b| b.cmp(a));
    priorities.dedup();
    for priority in priorities {
        division.fill(priority);
    }
    let results =
        sharers.iter().zip(&division.devices).map(|(sharer, device)| device.rounded(sharer));
    results.collect()
}

/// Device in whole milliamperes.
#[derive(Debug, Clone, Copy)]
struct Device {
    weights: [i64; PHASES + 1],
    min: i64,
    max: i64,
    reserved: i64,
    /// Lowest current once it is admitted: what is counted anyway costs nothing.
    lowest: i64,
    priority: i32,
    /// Current so far; `None` if it was not admitted.
    current: Option<i64>,
}

impl Device {
    fn new(sharer: &Sharer) -> Self {
        let phase = |index: usize| i64::from(sharer.phases[index]);
        let min = milliamps_up(sharer.min).max(0);
        let max = milliamps_down(sharer.max);
        let reserved = milliamps_up(sharer.reserved).max(0);
        Self {
            weights: [phase(0), phase(1), phase(2), phase(0) + phase(1) + phase(2)],
            min,
            max,
            reserved,
            lowest: min.max(reserved.min(max)),
            priority: sharer.priority,
            current: None,
        }
    }

    /// Current that is counted, also for a device without any.
    fn used(&self) -> i64 {
        self.current.unwrap_or(0).max(self.reserved)
    }

    /// Current at a common level.
    fn at_level(&self, level: i64) -> i64 {
        level.min(self.max).max(self.lowest)
    }

    fn rounded(&self, sharer: &Sharer) -> Current {
        let Some(current) = self.current.filter(|current| *current > 0) else {
            return Current::ZERO;
        };
        let current = Current::from_amps(current as f64 / MILLI).unwrap_or(Current::ZERO);
        current.round_down(sharer.step).max(sharer.min)
    }
}

#[derive(Debug)]
struct Division {
    capacities: [i64; PHASES + 1],
    devices: Vec<Device>,
}

impl Division {
    fn new(room: &Room, sharers: &[Sharer]) -> Self {
        let [one, two, three] = room.phases.map(milliamps_down);
        let total = room.total.map_or(i64::MAX, milliamps_down);
        let devices = sharers.iter().map(Device::new).collect();
        Self { capacities: [one, two, three, total], devices }
    }

    /// Gives minimum currents in order of priority, and within a priority from `first` on.
    fn admit(&mut self, first: usize) {
        let count = self.devices.len();
        let mut order: Vec<usize> = (0..count).map(|index| (first + index) % count).collect();
        order.sort_by_key(|index| std::cmp::Reverse(self.devices[*index].priority));
        for index in order {
            let device = self.devices[index];
            if device.max < device.min || device.weights[PHASES] == 0 {
                continue;
            }
            self.devices[index].current = Some(device.lowest);
            if self.full_row_of(&device).is_some() {
                self.devices[index].current = None;
            }
        }
    }

    /// Raises the smallest currents of a priority together until all are at a maximum or a full row.
    fn fill(&mut self, priority: i32) {
        let is_open = |device: &Device| device.priority == priority && device.current.is_some();
        let indices = 0..self.devices.len();
        let mut open: Vec<usize> = indices.filter(|index| is_open(&self.devices[*index])).collect();
        while let Some(highest) = open.iter().map(|index| self.devices[*index].max).max() {
            let level = self.raise(&open, highest);
            // One milliampere more: rows that are then full stop their devices.
            let before: Vec<Option<i64>> = open.iter().map(|i| self.devices[*i].current).collect();
            self.set_level(&open, level + 1);
            let stopped: Vec<bool> = open.iter().map(|i| self.is_stopped(*i, level)).collect();
            for (index, current) in open.iter().zip(before) {
                self.devices[*index].current = current;
            }
            let mut stopped = stopped.into_iter();
            open.retain(|_| !stopped.next().unwrap_or(true));
        }
    }

    /// Highest common level within all rows, at which the devices are left.
    fn raise(&mut self, open: &[usize], highest: i64) -> i64 {
        let (mut low, mut high) = (0, highest);
        while low < high {
            let middle = high - (high - low) / 2;
            self.set_level(open, middle);
            if self.fits(open) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        self.set_level(open, low);
        low
    }

    fn set_level(&mut self, open: &[usize], level: i64) {
        for index in open {
            let device = &mut self.devices[*index];
            device.current = Some(device.at_level(level));
        }
    }

    /// Returns true if no row that an open device uses is above its capacity.
    fn fits(&self, open: &[usize]) -> bool {
        open.iter().all(|index| self.full_row_of(&self.devices[*index]).is_none())
    }

    /// Returns true if a device at one level above `level` is at its maximum or above a row.
    fn is_stopped(&self, index: usize, level: i64) -> bool {
        let device = self.devices[index];
        device.max <= level || (device.lowest <= level && self.full_row_of(&device).is_some())
    }

    /// A row of a device whose capacity is exceeded.
    fn full_row_of(&self, device: &Device) -> Option<usize> {
        (0..=PHASES).find(|row| device.weights[*row] > 0 && self.load(*row) > self.capacities[*row])
    }

    fn load(&self, row: usize) -> i64 {
        self.devices.iter().map(|device| device.weights[row] * device.used()).sum()
    }
}

/// Whole milliamperes within a current; rounding of a product costs none.
fn milliamps_down(current: Current) -> i64 {
    (current.as_amps() * MILLI + 1e-6).floor() as i64
}

/// Whole milliamperes that hold a current.
fn milliamps_up(current: Current) -> i64 {
    (current.as_amps() * MILLI - 1e-6).ceil() as i64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::amps;

    fn sharer(phases: [bool; 3], min: f64, max: f64) -> Sharer {
        let (min, max, step) = (amps(min), amps(max), amps(0.001));
        Sharer { phases, min, max, step, reserved: Current::ZERO, priority: 0 }
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
}

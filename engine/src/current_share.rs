//! Division of one current among devices that charge now: max-min fair within a priority, by need
//! where needs are known, with minimum currents and turns.
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
//! is told. A device that gets anything gets at least as much of it as it can use. First, minimum
//! currents are given in order of priority, and within a priority by turn; devices that do not fit get
//! nothing until their turn. Then, priority by priority, the smallest currents are raised together until
//! each device is at its maximum or behind a full row: the fair division.
//!
//! # Needs
//!
//! `need_i` is the current that a device has to have on average until it leaves; less leaves
//! it with an unmet need. Among the devices of a priority whose needs are known and not all equal,
//!
//! ```text
//! unmet_i = max(need_i - x_i, 0)
//! ```
//!
//! is made small where it is largest: from their minimum currents on, the devices with the largest
//! unmet need are raised together, until each has its need or its maximum, or is behind a full row. What
//! is left is raised as before. Devices of unknown need keep what the fair division gives them, or get
//! more. Minimum currents and turns do not depend on needs, so that nobody with a minimum current waits
//! for ever.
//!
//! # Source
//!
//! Progressive filling: D. Bertsekas, R. Gallager, *Data Networks*, 2nd edition, 1992, section
//! 6.5.2. Its certificate, which the tests check, is a full row for every device below its maximum,
//! in which no device of its priority has more. With needs it fills `x_i = need_i - unmet` from the
//! largest `unmet` down, and no device in the full row has a smaller unmet need.
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
    /// Current that the device needs on average until it leaves, if that is known:
    /// [`needed_current`].
    pub need: Option<Current>,
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

/// Average current from `now` to `leaves` of a device that charges for `charging` at `highest`;
/// `None` for one that should have left, whose need says nothing any more.
///
/// It exceeds `highest` if the time is too short.
///
/// ```
/// use chrono::{DateTime, TimeDelta, Utc};
/// use slackwater_engine::current_share::needed_current;
/// use slackwater_engine::units::amps;
///
/// let now: DateTime<Utc> = "2026-01-05T18:00:00Z".parse()?;
/// let in_hours = |hours| now + TimeDelta::hours(hours);
/// let three = TimeDelta::hours(3);
/// assert_eq!(needed_current(amps(16.0), three, in_hours(12), now), Some(amps(4.0)));
/// assert_eq!(needed_current(amps(16.0), three, in_hours(2), now), Some(amps(24.0)));
/// assert_eq!(needed_current(amps(16.0), three, now, now), None);
/// # Ok::<(), chrono::ParseError>(())
/// ```
#[must_use]
pub fn needed_current(
    highest: Current,
    charging: TimeDelta,
    leaves: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Option<Current> {
    let left = (leaves - now).as_seconds_f64();
    if left <= 0.0 {
        return None;
    }
    let share = charging.max(TimeDelta::zero()).as_seconds_f64() / left;
    Current::from_amps(highest.as_amps() * share).ok()
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
///     need: None,
/// };
/// let one = Sharer { phases: [true, false, false], ..three };
/// let room = Room { phases: [amps(20.0); 3], total: None };
/// assert_eq!(share_current(&room, &[three, one], 0), [amps(10.0), amps(10.0)]);
///
/// // With 10 A only one of them charges, and they take turns.
/// let room = Room { phases: [amps(10.0); 3], total: None };
/// assert_eq!(share_current(&room, &[three, one], 0), [amps(10.0), Current::ZERO]);
/// assert_eq!(share_current(&room, &[three, one], 1), [Current::ZERO, amps(10.0)]);
///
/// // With 20 A one needs 13 A, the other 7 A to be complete in time.
/// let room = Room { phases: [amps(20.0); 3], total: None };
/// let soon = Sharer { need: Some(amps(13.0)), ..three };
/// let late = Sharer { need: Some(amps(7.0)), ..three };
/// assert_eq!(share_current(&room, &[soon, late], 0), [amps(13.0), amps(7.0)]);
/// ```
#[must_use]
pub fn share_current(room: &Room, sharers: &[Sharer], first: usize) -> Vec<Current> {
    let mut division = Division::new(room, sharers);
    division.admit(first);
    let mut priorities: Vec<i32> = sharers.iter().map(|sharer| sharer.priority).collect();
    priorities.sort_unstable_by(|a, b| b.cmp(a));
    priorities.dedup();
    for priority in priorities {
        let admitted = division.admitted(priority);
        division.fill(admitted.clone());
        division.fill_needs(admitted);
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
    need: Option<i64>,
    /// Highest current for now: its maximum, or its need.
    cap: i64,
    /// Common level at which the device is at zero.
    offset: i64,
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
            need: sharer.need.map(|need| milliamps_up(need).max(0)),
            cap: max,
            offset: 0,
            current: None,
        }
    }

    /// Current that is counted, also for a device without any.
    fn used(&self) -> i64 {
        self.current.unwrap_or(0).max(self.reserved)
    }

    /// Current at a common level.
    fn at_level(&self, level: i64) -> i64 {
        (level - self.offset).min(self.cap).max(self.lowest)
    }

    /// Returns true if it is at its cap at a common level.
    const fn is_at_cap(&self, level: i64) -> bool {
        self.cap <= level - self.offset
    }

    /// Returns true if the device uses one of some rows.
    fn uses_any(&self, rows: [bool; PHASES + 1]) -> bool {
        self.weights.iter().zip(rows).any(|(weight, is_one)| is_one && *weight > 0)
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
            if device.uses_any(self.full_rows()) {
                self.devices[index].current = None;
            }
        }
    }

    /// Devices of a priority that got their minimum current.
    fn admitted(&self, priority: i32) -> Vec<usize> {
        let is_admitted = |device: &Device| device.priority == priority && device.current.is_some();
        let indices = 0..self.devices.len();
        indices.filter(|index| is_admitted(&self.devices[*index])).collect()
    }

    /// Divides what devices with known needs have by these needs, and raises all devices together by what
    /// is left.
    fn fill_needs(&mut self, admitted: Vec<usize>) {
        let need_of = |index: &usize| Some((*index, self.devices[*index].need?));
        let known: Vec<(usize, i64)> = admitted.iter().filter_map(need_of).collect();
        let Some(largest) = known.iter().map(|(_, need)| *need).max() else { return };
        if known.iter().all(|(_, need)| *need == largest) {
            return;
        }
        for (index, need) in &known {
            let device = &mut self.devices[*index];
            // At each level the same need is unmet: the largest one less the level.
            device.offset = largest - need;
            device.cap = device.max.min(*need);
            device.current = Some(device.lowest);
        }
        self.fill(known.into_iter().map(|(index, _)| index).collect());
        for index in &admitted {
            let device = &mut self.devices[*index];
            (device.offset, device.cap) = (0, device.max);
            device.lowest = device.current.unwrap_or(device.lowest);
        }
        self.fill(admitted);
    }

    /// Raises the smallest currents of devices together until all are at a cap or a full row.
    fn fill(&mut self, mut open: Vec<usize>) {
        let top = |device: &Device| device.cap + device.offset;
        while let Some(highest) = open.iter().map(|index| top(&self.devices[*index])).max() {
            let level = self.raise(&open, highest);
            // One milliampere more: rows that are then full stop their devices.
            let before: Vec<Option<i64>> = open.iter().map(|i| self.devices[*i].current).collect();
            self.set_level(&open, level + 1);
            let full = self.full_rows();
            for (index, current) in open.iter().zip(before) {
                self.devices[*index].current = current;
            }
            open.retain(|index| {
                let device = &self.devices[*index];
                let is_raised = device.lowest <= level - device.offset;
                !(device.is_at_cap(level) || is_raised && device.uses_any(full))
            });
        }
    }

    /// Highest common level within all rows, at which the devices are left.
    fn raise(&mut self, open: &[usize], highest: i64) -> i64 {
        let (mut low, mut high) = (0, highest);
        self.set_level(open, highest);
        // Where all that was decided fits, as most of the time, nothing has to be searched.
        if self.fits(open) {
            low = highest;
        }
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
        let full = self.full_rows();
        !open.iter().any(|index| self.devices[*index].uses_any(full))
    }

    /// Rows whose capacity is exceeded.
    fn full_rows(&self) -> [bool; PHASES + 1] {
        let mut loads = [0; PHASES + 1];
        for device in &self.devices {
            let used = device.used();
            for (load, weight) in loads.iter_mut().zip(device.weights) {
                *load += weight * used;
            }
        }
        std::array::from_fn(|row| loads[row] > self.capacities[row])
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
mod tests;

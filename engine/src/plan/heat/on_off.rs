//! Units that are on or off, with least times on and off.
//!
//! Such a unit runs at its highest power or not at all, for whole slots. *Boundary* `i` lies before
//! slot `i`. A unit that switches on at boundary `i` stays on up to the first boundary that is at
//! least `on_min` later, and one that switches off stays off in the same way; the end of the plan ends
//! either. Times are lengths between instants, so a change of the clocks neither shortens nor
//! lengthens them.
//!
//! The unit is off in a slot without a price, or with a limit below the highest power. It does not
//! start if such a slot lies within its least time on. Only a run from before the plan is ended by such a
//! slot before its time.
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::plan::switching::request::DeviceState;
use crate::time::instant::micros_of;
use crate::time::serde_micros;

/// Longest least time, on or off.
pub const LEAST_TIME_MAX: TimeDelta = TimeDelta::days(1);

/// Limits of a unit that runs at its highest power or not at all, for whole slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Least time on, from 0 to [`LEAST_TIME_MAX`].
    #[serde(rename = "on_min_microseconds", with = "serde_micros")]
    pub on_min: TimeDelta,
    /// Least time off, from 0 to [`LEAST_TIME_MAX`].
    #[serde(rename = "off_min_microseconds", with = "serde_micros")]
    pub off_min: TimeDelta,
    /// State of the unit at the start of the plan.
    pub state: DeviceState,
}

impl OnOff {
    /// Instant from which the unit may leave the state in which it begins, in microseconds.
    pub(crate) fn free_from(&self) -> i64 {
        let micros = |length: TimeDelta| length.num_microseconds().unwrap_or(i64::MAX);
        match self.state {
            DeviceState::Off => i64::MIN,
            DeviceState::RunningSince(at) => micros_of(at).saturating_add(micros(self.on_min)),
            DeviceState::StoppedSince(at) => micros_of(at).saturating_add(micros(self.off_min)),
        }
    }
}

/// Part of a schedule: from a boundary on, on or off up to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) is_on: bool,
    pub(crate) until: usize,
}

/// Least times over the slots of a plan, as boundaries.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LeastTimes {
    /// For each boundary, the first one at which a unit that starts there may stop; `None` if it may
    /// not start.
    on_until: Vec<Option<usize>>,
    /// For each boundary, the first one at which a unit that stops there may start.
    off_until: Vec<usize>,
    /// True for slots in which the unit may run.
    is_usable: Vec<bool>,
    /// State at the start, and the first boundary at which it may end.
    pub(crate) first: Stretch,
}

impl LeastTimes {
    /// Least times over slots that end at `ends`, from `start` on, all in microseconds. `is_usable`
    /// says in which slots the unit may run.
    pub(crate) fn new(on_off: &OnOff, start: i64, ends: &[i64], is_usable: Vec<bool>) -> Self {
        let micros = |length: TimeDelta| length.num_microseconds().unwrap_or(i64::MAX);
        let count = ends.len();
        let begin = |boundary: usize| boundary.checked_sub(1).map_or(start, |last| ends[last]);
        // First boundary after `boundary` that is not before an instant.
        let first_from = |boundary: usize, at: i64| {
            let later = ends[boundary..].partition_point(|&end| end < at);
            (boundary + 1 + later).min(count)
        };
        let until = |boundary: usize, length: TimeDelta| {
            first_from(boundary, begin(boundary).saturating_add(micros(length)))
        };
        let usable_until = |boundary: usize| {
            let unusable = is_usable[boundary..].iter().position(|is_usable| !is_usable);
            unusable.map_or(count, |slots| boundary + slots)
        };
        let on_until = |boundary: usize| {
            let until = until(boundary, on_off.on_min);
            (until <= usable_until(boundary)).then_some(until)
        };
        let free_from = on_off.free_from();
        let free = if free_from <= start { 0 } else { first_from(0, free_from) };
        let is_on = matches!(on_off.state, DeviceState::RunningSince(_));
        let free = if is_on { free.min(usable_until(0)) } else { free };
        Self {
            on_until: (0..count).map(on_until).collect(),
            off_until: (0..count).map(|boundary| until(boundary, on_off.off_min)).collect(),
            first: Stretch { is_on, until: free.min(count) },
            is_usable,
        }
    }

    /// Ways to go on at a boundary before the end, where the unit is on or off and may switch.
    pub(crate) fn ways_from(
        &self,
        boundary: usize,
        is_on: bool,
    ) -> impl Iterator<Item = Stretch> + use<> {
        let stays = !is_on || self.is_usable[boundary];
        let stay = stays.then_some(Stretch { is_on, until: boundary + 1 });
        let switched = if is_on { Some(self.off_until[boundary]) } else { self.on_until[boundary] };
        let switch = switched.map(|until| Stretch { is_on: !is_on, until });
        stay.into_iter().chain(switch)
    }

    /// First slot of a schedule that these times do not allow.
    pub(crate) fn first_breach(&self, schedule: &[bool]) -> Option<usize> {
        let mut now = self.first;
        for (slot, &is_on) in schedule.iter().enumerate() {
            if slot >= now.until {
                let goes_on = self.ways_from(slot, now.is_on).find(|next| next.is_on == is_on);
                let Some(next) = goes_on else { return Some(slot) };
                now = next;
            } else if is_on != now.is_on {
                return Some(slot);
            }
        }
        None
    }

    /// For each slot of a schedule in which the unit could not have switched, the boundary up to which
    /// its state lasts.
    pub(crate) fn forced_until(&self, schedule: &[bool]) -> Vec<Option<usize>> {
        let mut now = self.first;
        let forced = |(slot, &is_on): (usize, &bool)| {
            let is_forced = slot < now.until;
            if !is_forced {
                let next = self.ways_from(slot, now.is_on).find(|next| next.is_on == is_on);
                now = next.unwrap_or(Stretch { is_on, until: slot + 1 });
            }
            is_forced.then_some(now.until)
        };
        schedule.iter().enumerate().map(forced).collect()
    }

    /// Slots through which all ways lead, from each boundary on: the work of a search.
    pub(crate) fn count_work(&self) -> usize {
        let both = |boundary| [true, false].map(|is_on| self.ways_from(boundary, is_on));
        let each = |boundary: usize| {
            let ways = both(boundary).into_iter().flatten();
            ways.map(|stretch| stretch.until - boundary).sum::<usize>()
        };
        (0..self.is_usable.len()).map(each).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::instant::instant_at;

    const MINUTE: i64 = 60_000_000;

    /// Least times of 45 minutes on and 30 off over slots of these minutes, of which some are not
    /// usable.
    fn times(minutes: &[i64], unusable: &[usize], state: DeviceState) -> LeastTimes {
        let on_off =
            OnOff { on_min: TimeDelta::minutes(45), off_min: TimeDelta::minutes(30), state };
        let ends: Vec<i64> = minutes
            .iter()
            .scan(0, |end, &length| {
                *end += length * MINUTE;
                Some(*end)
            })
            .collect();
        let is_usable = (0..minutes.len()).map(|slot| !unusable.contains(&slot)).collect();
        LeastTimes::new(&on_off, 0, &ends, is_usable)
    }

    #[test]
    fn times_end_at_the_first_boundary_after_them() {
        let times = times(&[15, 15, 20, 15, 60], &[], DeviceState::Off);
        assert_eq!(times.on_until, [3, 4, 5, 5, 5].map(Some));
        assert_eq!(times.off_until, [2, 3, 4, 5, 5]);
        assert_eq!(times.first, Stretch { is_on: false, until: 0 });
    }

    #[test]
    fn a_slot_in_which_the_unit_may_not_run_forbids_starts_before_it() {
        let times = times(&[15; 6], &[3], DeviceState::Off);
        assert_eq!(times.on_until, [Some(3), None, None, None, Some(6), Some(6)]);
        assert!(times.ways_from(3, true).eq([Stretch { is_on: false, until: 5 }]));
        assert_eq!(times.first_breach(&[true, true, true, false, false, true]), None);
        assert_eq!(times.first_breach(&[true, true, true, false, true, true]), Some(4));
        assert_eq!(times.first_breach(&[true, true, false, false, false, false]), Some(2));
    }

    #[test]
    fn a_state_from_before_lasts_into_the_plan() {
        let ago = |minutes: i64| instant_at(-minutes * MINUTE);
        let first = |state, unusable: &[usize]| times(&[15; 6], unusable, state).first;
        let on = |until| Stretch { is_on: true, until };
        let off = |until| Stretch { is_on: false, until };
        assert_eq!(first(DeviceState::RunningSince(ago(10)), &[]), on(3));
        assert_eq!(first(DeviceState::RunningSince(ago(45)), &[]), on(0));
        assert_eq!(first(DeviceState::RunningSince(ago(0)), &[1]), on(1));
        assert_eq!(first(DeviceState::StoppedSince(ago(10)), &[]), off(2));
        assert_eq!(first(DeviceState::StoppedSince(ago(90)), &[]), off(0));
    }
}

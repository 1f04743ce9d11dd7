//! Wrap-around rule: on-off schedules within a slot that keep a power limit at every instant.
//!
//! The limit of an area holds for the mean of each slot, and a plan uses a slot from its start, so
//! that vehicles that fit in the mean would all be on at once. McNaughton's wrap-around rule \[1\]
//! for preemptive jobs on parallel machines (here *lanes*) runs one vehicle of a lane at a time.
//! Jobs `i = 1, 2, ..` are laid one behind the other, and the part of a job that passes the end of
//! a lane continues at the start of the next one:
//!
//! ```text
//! s_1 = 0 ,   s_{i+1} = (s_i + t_i) mod T
//! i is on in  [s_i, s_i + t_i)                           if s_i + t_i <= T
//!             [s_i, T)  and  [0, s_i + t_i - T)          otherwise
//! lanes = ceil( Σ t_i / T )
//! ```
//!
//! The two parts of a job do not overlap, because `t_i <= T`. The number of lanes is the least
//! possible.
//!
//! Powers differ, so jobs are laid by falling power, and a lane takes the power of its largest job.
//! Every job of a lane has at most the least power of the lane before, which is full. The lanes
//! together therefore take at most `M + w_max`, with `M = Σ t_i·w_i / T`. If `M` is at most that of
//! `n = floor(P / w_max)` lanes of the least power, there are at most `n` lanes. So the limit `P`
//! holds at every instant, for the jobs that are arranged, if
//!
//! ```text
//! M <= m = max( P - w_max ,  floor(P / w_max)·w_min )
//! m_h = m - round( h·m / w_max )·w_max                   with headroom h
//! ```
//!
//! Energy that is wanted at once or due inside the slot stays where it is, and vehicles above `P`
//! do not count: for these the limit holds in the mean only. A job with `t_i = T` is a lane of its
//! own wherever it is laid, so it need not be moved.
//!
//! | Symbol | Meaning | Code |
//! |---|---|---|
//! | `T` | length of the slot | `slot` of [`wrap_around`] |
//! | `t_i` | time that vehicle `i` is on in the slot | `Job::micros` |
//! | `w_i` | its power | `Job::power_kw` |
//! | `w_min`, `w_max` | least and highest power up to `P` | `least`, `most` in [`mean_kw`] |
//! | `s_i` | start of vehicle `i` in its lane | `at` in [`wrap_around`] |
//! | `P` | shared power limit | `power_max` |
//! | `h` | headroom | `headroom` |
//! | `m_h` | limit on the mean power of a slot | result of [`mean_kw`] |
//!
//! \[1\] R. McNaughton, Scheduling with deadlines and loss functions, Management Science 6 (1959).
use std::collections::VecDeque;
use std::ops::Range;

/// Time span from its start up to its end, in microseconds since 1970.
pub(crate) type Span = (i64, i64);

/// On-off schedule of one vehicle.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OnOffSchedule {
    /// Spans in which it is on, in time order.
    pub(crate) on: Vec<Span>,
    pub(crate) power_kw: f64,
    /// Slots that start before this are not rearranged: they hold energy that is wanted at once.
    pub(crate) from: i64,
    /// Deadlines. A slot with a deadline inside is not rearranged.
    pub(crate) due: Vec<i64>,
    /// True if it is on when the first slot starts.
    pub(crate) is_on: bool,
}

/// Job of the wrap-around rule: the time of one vehicle in one slot.
struct Job {
    row: usize,
    micros: i64,
    power_kw: f64,
    /// True if it is on when the slot starts.
    goes_on: bool,
}

/// Limit `m_h` on the mean power of a slot, in kW, that the wrap-around rule can arrange within
/// `power_max` (formula in the module docs).
///
/// Vehicles above `power_max` do not count; without any other the limit is `power_max`. The
/// headroom is a whole number of the highest power, since no vehicle fits into less.
pub(crate) fn mean_kw(powers_kw: impl Iterator<Item = f64>, power_max: f64, headroom: f64) -> f64 {
    let fitting = powers_kw.filter(|&power| 0.0 < power && power <= power_max);
    let (least, most) = fitting
        .fold((f64::INFINITY, 0.0_f64), |(least, most), power| (least.min(power), most.max(power)));
    if most <= 0.0 {
        return power_max;
    }
    let lanes = (power_max / most + LANE_ROUNDING).floor();
    let mean = (power_max - most).max(lanes * least);
    mean - (mean / most * headroom).round() * most
}

/// Rounding of a number of vehicles that charge at once: a quotient of two powers that is a whole
/// number up to it is that number.
const LANE_ROUNDING: f64 = 1e-9;

/// Rearranges vehicles by the wrap-around rule in each slot in which those that are on take more
/// together than its limit, which comes with the slot in kW.
pub(crate) fn apply_wrap_around(
    vehicles: &mut [OnOffSchedule],
    slots: impl Iterator<Item = (Range<i64>, f64)>,
) {
    let mut made: Vec<Vec<Span>> = vec![Vec::new(); vehicles.len()];
    let mut next = vec![0; vehicles.len()];
    for (number, (slot, power_max_kw)) in slots.enumerate() {
        // Jobs that may be rearranged, and the power of all vehicles in the slot.
        let (mut jobs, mut all_kw) = (Vec::new(), 0.0);
        for (row, vehicle) in vehicles.iter().enumerate() {
            let here = within(&vehicle.on, &mut next[row], &slot);
            all_kw += if here.is_empty() { 0.0 } else { vehicle.power_kw };
            if is_free(vehicle, &here, &slot) {
                let micros = here.iter().map(|on| on.1 - on.0).sum();
                let is_on_first = vehicle.is_on && number == 0;
                let goes_on = made[row].last().map_or(is_on_first, |on| on.1 == slot.start);
                jobs.push(Job { row, micros, power_kw: vehicle.power_kw, goes_on });
            }
            made[row].extend(here);
        }
        if all_kw <= power_max_kw {
            continue;
        }
        // Replace the spans of this slot by those of the lanes.
        for (row, on) in wrap_around(jobs, &slot) {
            made[row].retain(|on| on.1 <= slot.start);
            made[row].extend(on);
        }
    }
    // Spans that touch are joined.
    for (vehicle, mut on) in vehicles.iter_mut().zip(made) {
        on.sort_unstable();
        on.dedup_by(|next, kept| {
            let is_next = next.0 == kept.1;
            if is_next {
                kept.1 = next.1;
            }
            is_next
        });
        vehicle.on = on;
    }
}

/// Parts of `on` within a slot. `next` is the position of the first span that has not ended before.
fn within(on: &[Span], next: &mut usize, slot: &Range<i64>) -> Vec<Span> {
    *next += on[*next..].iter().take_while(|on| on.1 <= slot.start).count();
    let here = on[*next..].iter().take_while(|on| on.0 < slot.end);
    here.map(|on| (on.0.max(slot.start), on.1.min(slot.end))).collect()
}

/// Returns true if the time of a vehicle in a slot may be moved: it is on for a part of the slot,
/// which has no deadline inside and no energy wanted at once.
fn is_free(vehicle: &OnOffSchedule, here: &[Span], slot: &Range<i64>) -> bool {
    let micros: i64 = here.iter().map(|on| on.1 - on.0).sum();
    let is_due = vehicle.due.iter().any(|&at| slot.start < at && at < slot.end);
    0 < micros && micros < slot.end - slot.start && !is_due && vehicle.from <= slot.start
}

/// Spans of each row from the wrap-around rule, by falling power.
///
/// Of equal powers, vehicles that are on already start a lane, so that few stop and start again.
fn wrap_around(mut jobs: Vec<Job>, slot: &Range<i64>) -> Vec<(usize, Vec<Span>)> {
    jobs.sort_by(|a, b| b.power_kw.total_cmp(&a.power_kw));
    let mut at = slot.start;
    let mut made = Vec::with_capacity(jobs.len());
    for same in jobs.chunk_by(|a, b| a.power_kw.total_cmp(&b.power_kw).is_eq()) {
        let (mut on, mut off): (VecDeque<&Job>, VecDeque<&Job>) =
            same.iter().partition(|job| job.goes_on);
        loop {
            // A job that starts a lane or wraps into the next is on at the start of the slot:
            // prefer one that is on already.
            let begins =
                at == slot.start || off.front().is_none_or(|job| at + job.micros > slot.end);
            let (first, second) = if begins { (&mut on, &mut off) } else { (&mut off, &mut on) };
            let Some(job) = first.pop_front().or_else(|| second.pop_front()) else { break };
            let end = at + job.micros;
            let taken = if end <= slot.end {
                vec![(at, end)]
            } else {
                vec![(slot.start, slot.start + end - slot.end), (at, slot.end)]
            };
            at = if taken[0].1 == slot.end { slot.start } else { taken[0].1 };
            made.push((job.row, taken));
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use proptest::prelude::*;

    use super::*;

    fn switched(on: Vec<Span>, power_kw: f64) -> OnOffSchedule {
        OnOffSchedule { on, power_kw, from: 0, due: Vec::new(), is_on: false }
    }

    fn is_on(vehicle: &OnOffSchedule, at: i64) -> bool {
        vehicle.on.iter().any(|on| on.0 <= at && at < on.1)
    }

    /// Slots of an hour, in minutes.
    fn hours(count: i64, power_max_kw: f64) -> impl Iterator<Item = (Range<i64>, f64)> {
        (0..count).map(move |hour| (hour * 60..(hour + 1) * 60, power_max_kw))
    }

    fn drawn(vehicles: &[OnOffSchedule], minutes: i64) -> Vec<String> {
        let cell = |vehicle, at| if is_on(vehicle, at) { '#' } else { '.' };
        let row = |vehicle| (0..minutes).step_by(10).map(|at| cell(vehicle, at)).collect();
        vehicles.iter().map(row).collect()
    }

    #[test]
    fn parts_of_an_hour_come_one_after_the_other() {
        // Forty minutes of three vehicles in two lanes; the fourth is on for the hour.
        let mut vehicles = vec![switched(vec![(0, 40)], 10.0); 3];
        vehicles.push(switched(vec![(0, 60)], 10.0));
        apply_wrap_around(&mut vehicles, hours(1, 30.0));
        assert_eq!(drawn(&vehicles, 60), ["####..", "##..##", "..####", "######"]);
        let mut fitting = vec![switched(vec![(0, 40)], 10.0); 3];
        apply_wrap_around(&mut fitting, hours(1, 30.0));
        assert_eq!(drawn(&fitting, 60), ["####.."; 3]);
    }

    #[test]
    fn who_is_on_goes_on() {
        // The third starts, since it is on already; in the second hour those that were on last.
        let mut vehicles = vec![switched(vec![(0, 40), (60, 100)], 10.0); 3];
        vehicles[2].is_on = true;
        apply_wrap_around(&mut vehicles, hours(2, 20.0));
        let drawn = drawn(&vehicles, 120);
        assert_eq!(drawn, ["##..######..", "..######..##", "####....####"]);
    }

    #[test]
    fn who_pauses_first_does_not_go_on_later() {
        let mut vehicles = vec![switched(vec![(60, 100)], 10.0); 3];
        vehicles[2].is_on = true;
        apply_wrap_around(&mut vehicles, hours(2, 20.0));
        let drawn = drawn(&vehicles, 120);
        assert_eq!(drawn, ["......####..", "......##..##", "........####"]);
    }

    #[test]
    fn what_is_due_or_wanted_at_once_stays() {
        let mut vehicles = vec![switched(vec![(0, 30), (60, 90)], 10.0); 3];
        vehicles[0].from = 1;
        vehicles[1].due = vec![90];
        apply_wrap_around(&mut vehicles, hours(2, 20.0));
        let drawn = drawn(&vehicles, 120);
        assert_eq!(drawn, ["###......###", "###...###...", "...######..."]);
    }

    #[test]
    fn a_mean_leaves_room_for_lanes() {
        let mean = |powers: &[f64], most| mean_kw(powers.iter().copied(), most, 0.0);
        let is = |powers: &[f64], most, kw: f64| assert!((mean(powers, most) - kw).abs() < 1e-9);
        is(&[11.0; 3], 40.0, 33.0);
        is(&[11.0, 3.7], 40.0, 29.0);
        is(&[11.0, 10.0], 12.0, 10.0);
        // Vehicles above the limit do not count, and may be the only ones.
        is(&[22.0, 5.0], 10.0, 10.0);
        is(&[22.0], 10.0, 10.0);
    }

    #[test]
    fn headroom_is_that_of_whole_vehicles() {
        let left = |count: f64| mean_kw([11.0].into_iter(), 11.0 * count, 0.05) / 11.0;
        let counts = [2.0, 9.0, 10.0, 29.0, 30.0, 1000.0];
        let close = |(a, b): (f64, f64)| assert!((a - b).abs() < 1e-9, "{a} of {b}");
        counts.map(left).into_iter().zip([2.0, 9.0, 9.0, 28.0, 28.0, 950.0]).for_each(close);
    }

    proptest! {
        /// If the mean of each slot keeps its limit, the lanes keep the power limit at any time,
        /// and each vehicle keeps its time in each slot.
        #[test]
        fn lanes_hold_at_any_time(
            seed in prop::collection::vec((1..4_u8, 0..=60_i64, 0..=60_i64, any::<bool>()), 1..12),
            is_one in any::<bool>(),
            power_max in 10.0..60.0_f64,
        ) {
            let powers: Vec<f64> = seed.iter().map(|(p, ..)| if is_one { 4.0 } else { 2.5 * f64::from(*p) }).collect();
            let mean = mean_kw(powers.iter().copied(), power_max, 0.0);
            let mut left = [mean * 60.0; 2];
            let mut vehicles = Vec::new();
            for ((_, first, second, is_on), &power) in seed.iter().zip(&powers) {
                let mut on = Vec::new();
                for (slot, minutes) in [*first, *second].into_iter().enumerate() {
                    let minutes = minutes.min((left[slot] / power) as i64);
                    left[slot] -= minutes as f64 * power;
                    let start = slot as i64 * 60;
                    on.push((start, start + minutes));
                }
                on.retain(|on| on.0 < on.1);
                vehicles.push(OnOffSchedule { is_on: *is_on, ..switched(on, power) });
            }
            let before = vehicles.clone();
            apply_wrap_around(&mut vehicles, hours(2, power_max));
            for minute in 0..120 {
                let on = vehicles.iter().filter(|vehicle| is_on(vehicle, minute));
                let taken: f64 = on.map(|vehicle| vehicle.power_kw).sum();
                prop_assert!(taken <= power_max + 1e-6, "{} at {}", taken, minute);
            }
            let of_slot = |v: &OnOffSchedule, slot: Range<i64>| -> usize {
                slot.filter(|&at| is_on(v, at)).count()
            };
            for (now, then) in vehicles.iter().zip(&before) {
                prop_assert!(now.on.windows(2).all(|on| on[0].1 < on[1].0));
                for (slot, _) in hours(2, power_max) {
                    prop_assert_eq!(of_slot(now, slot.clone()), of_slot(then, slot));
                }
            }
        }
    }
}

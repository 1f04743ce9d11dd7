//! The periods that a plan may use.
use chrono::{DateTime, TimeDelta, Utc};

use crate::time::instant::{YEARS, instant_at, micros_of};
use crate::units::MICROS_PER_HOUR;

/// Invalid periods of a horizon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HorizonError {
    /// A period ends when it starts, or before.
    #[error("slot {index} ends at {end}, not after its start at {start}")]
    NoLength {
        /// Position in the input.
        index: usize,
        /// Start of the period.
        start: DateTime<Utc>,
        /// End of the period.
        end: DateTime<Utc>,
    },
    /// A period starts before the one ahead of it has ended.
    #[error("slot {index} starts at {start}, before the slot ahead of it ends at {previous_end}")]
    Overlap {
        /// Position in the input.
        index: usize,
        /// Start of the period.
        start: DateTime<Utc>,
        /// End of the period ahead of it.
        previous_end: DateTime<Utc>,
    },
    /// A time outside the years 1 to 9999.
    #[error("slot {index} starts or ends outside the years 1 to 9999")]
    OutOfRange {
        /// Position in the input.
        index: usize,
    },
}

/// Half-open periods `[start, end)` in time order, without overlap.
///
/// Periods may differ in length and may leave gaps between them. A gap is time that no plan may
/// use; it is never filled.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Horizon {
    starts: Vec<i64>,
    ends: Vec<i64>,
    /// Lengths in microseconds, as numbers: whole, and exact below 2^53.
    lengths: Vec<f64>,
    /// Common length of all periods, if they also follow each other without a gap.
    step: Option<i64>,
}

impl Horizon {
    /// A horizon from periods, oldest first. No periods is an empty horizon.
    ///
    /// # Errors
    /// A period has no length, overlaps the one ahead of it, or lies outside
    /// the years 1 to 9999.
    pub fn new(
        periods: impl IntoIterator<Item = (DateTime<Utc>, DateTime<Utc>)>,
    ) -> Result<Self, HorizonError> {
        Self::from_micros(
            periods.into_iter().map(|(start, end)| (micros_of(start), micros_of(end))),
        )
    }

    /// `count` periods of one length that follow each other from `start`.
    ///
    /// Periods are elapsed time: a clock change shifts the wall clock only.
    ///
    /// # Errors
    /// `length` is not positive, or the end lies beyond the year 9999.
    pub fn steps(
        start: DateTime<Utc>,
        length: TimeDelta,
        count: usize,
    ) -> Result<Self, HorizonError> {
        let start = micros_of(start);
        let step = length.num_microseconds().unwrap_or(i64::MAX);
        // A boundary that saturates lies beyond the calendar and is refused as such.
        let boundary = |index: usize| start.saturating_add(step.saturating_mul(index as i64));
        Self::from_micros((0..count).map(|index| (boundary(index), boundary(index + 1))))
    }

    /// Horizon from microseconds since 1970.
    ///
    /// # Errors
    /// As [`Horizon::new`].
    pub fn from_micros(
        periods: impl IntoIterator<Item = (i64, i64)>,
    ) -> Result<Self, HorizonError> {
        let periods = periods.into_iter();
        let mut starts = Vec::with_capacity(periods.size_hint().0);
        let mut ends: Vec<i64> = Vec::with_capacity(periods.size_hint().0);
        for (index, (start, end)) in periods.enumerate() {
            // The range comes first: within it no difference of two instants overflows.
            if !Self::holds(start) || !Self::holds(end) {
                return Err(HorizonError::OutOfRange { index });
            }
            if end <= start {
                let (start, end) = (instant_at(start), instant_at(end));
                return Err(HorizonError::NoLength { index, start, end });
            }
            if let Some(&previous) = ends.last()
                && start < previous
            {
                let (start, previous_end) = (instant_at(start), instant_at(previous));
                return Err(HorizonError::Overlap { index, start, previous_end });
            }
            starts.push(start);
            ends.push(end);
        }
        let step = common_step(&starts, &ends);
        let lengths = starts.iter().zip(&ends).map(|(start, end)| (end - start) as f64).collect();
        Ok(Self { starts, ends, lengths, step })
    }

    /// Number of periods.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns true if the horizon has no period.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Start and end of period `index`.
    ///
    /// # Panics
    /// There is no such period.
    #[must_use]
    pub fn period(&self, index: usize) -> (DateTime<Utc>, DateTime<Utc>) {
        (instant_at(self.starts[index]), instant_at(self.ends[index]))
    }

    /// All periods, oldest first.
    #[must_use = "the periods are made only as they are asked for"]
    pub fn periods(&self) -> impl ExactSizeIterator<Item = (DateTime<Utc>, DateTime<Utc>)> + '_ {
        self.starts
            .iter()
            .zip(&self.ends)
            .map(|(&start, &end)| (instant_at(start), instant_at(end)))
    }

    /// End of the last period.
    #[must_use]
    pub fn end(&self) -> Option<DateTime<Utc>> {
        self.ends.last().map(|&end| instant_at(end))
    }

    /// The periods of `range`, cut to `[from, to)`, which overlaps each of them.
    pub(crate) fn cut(&self, range: std::ops::Range<usize>, from: i64, to: i64) -> Self {
        let periods = range.map(|index| (self.starts[index].max(from), self.ends[index].min(to)));
        Self::from_micros(periods).expect("cutting keeps order and leaves a length")
    }

    /// Microseconds of `[from, to)` that lie in periods.
    #[inline(always)]
    #[must_use]
    pub fn covered(&self, from: i64, to: i64) -> i64 {
        if self.step.is_some() {
            // Without gaps all between the first start and the last end.
            let end = self.ends[self.len() - 1];
            return (to.min(end) - from.max(self.starts[0])).max(0);
        }
        let range = self.overlapping(from, to);
        range.map(|index| self.ends[index].min(to) - self.starts[index].max(from)).sum()
    }

    /// First microsecond of `[from, to)` that lies in no period.
    pub(crate) fn first_gap(&self, from: i64, to: i64) -> Option<i64> {
        if self.covered(from, to) >= to - from {
            return None;
        }
        let mut at = from;
        for period in self.overlapping(from, to) {
            if self.starts[period] > at {
                break;
            }
            at = self.ends[period];
        }
        Some(at)
    }

    /// Length of a period in hours.
    pub(crate) fn hours(&self, index: usize) -> f64 {
        self.lengths[index] / MICROS_PER_HOUR
    }

    /// Returns true for an instant of the years 1 to 9999, and for the end of the year 9999: a
    /// horizon may start or end there.
    pub(crate) fn holds(micros: i64) -> bool {
        (YEARS.start..=YEARS.end).contains(&micros)
    }

    /// Starts in microseconds since 1970.
    pub(crate) fn starts(&self) -> &[i64] {
        &self.starts
    }

    /// Ends in microseconds since 1970.
    pub(crate) fn ends(&self) -> &[i64] {
        &self.ends
    }

    /// Lengths in microseconds.
    pub(crate) fn lengths(&self) -> &[f64] {
        &self.lengths
    }

    /// Common length in microseconds of periods that follow each other without a gap.
    pub(crate) fn step(&self) -> Option<i64> {
        self.step
    }

    /// Periods that overlap `[from, to)`, as a range of positions.
    ///
    /// Constant time where all periods have one length, else a binary search.
    pub(crate) fn overlapping(&self, from: i64, to: i64) -> std::ops::Range<usize> {
        if from >= to || self.is_empty() {
            return 0..0;
        }
        let len = self.len();
        let (first, last) = if let Some(step) = self.step {
            let origin = self.starts[0];
            let first = from.saturating_sub(origin).div_euclid(step).clamp(0, len as i64);
            // The last period is that of the microsecond before `to`.
            let last = to.saturating_sub(origin + 1).div_euclid(step).saturating_add(1);
            (first as usize, last.clamp(0, len as i64) as usize)
        } else {
            let first = self.ends.partition_point(|&end| end <= from);
            (first, self.starts.partition_point(|&start| start < to))
        };
        first..last.max(first)
    }
}

fn common_step(starts: &[i64], ends: &[i64]) -> Option<i64> {
    let step = ends.first()? - starts.first()?;
    let even = starts.iter().zip(ends).all(|(start, end)| end - start == step);
    let seamless = starts.iter().skip(1).zip(ends).all(|(start, end)| start == end);
    (even && seamless).then_some(step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn errors_name_the_slot_and_its_times() {
        let six = at("2026-01-05T06:00:00Z");
        let seven = at("2026-01-05T07:00:00Z");
        let reversed = Horizon::new([(seven, six)]).unwrap_err();
        assert_eq!(
            reversed.to_string(),
            "slot 0 ends at 2026-01-05 06:00:00 UTC, not after its start at 2026-01-05 07:00:00 UTC"
        );
        let twice = Horizon::new([(six, seven), (six, seven)]).unwrap_err();
        assert!(matches!(twice, HorizonError::Overlap { index: 1, .. }));
        let far = Horizon::new([(six, DateTime::<Utc>::MAX_UTC)]).unwrap_err();
        assert_eq!(far, HorizonError::OutOfRange { index: 0 });
    }

    #[test]
    fn a_leap_second_has_no_length_before_midnight() {
        let leap = Horizon::new([(at("2016-12-31T23:59:60Z"), at("2017-01-01T00:00:00Z"))]);
        assert!(matches!(leap, Err(HorizonError::NoLength { index: 0, .. })));
    }

    #[test]
    fn gaps_and_mixed_lengths_have_no_common_step() {
        assert_eq!(Horizon::from_micros([(0, 5), (5, 10)]).unwrap().step(), Some(5));
        assert_eq!(Horizon::from_micros([(0, 5), (6, 11)]).unwrap().step(), None);
        assert_eq!(Horizon::from_micros([(0, 5), (5, 11)]).unwrap().step(), None);
        assert_eq!(Horizon::from_micros([]).unwrap().step(), None);
    }

    #[test]
    fn covered_time_leaves_gaps_out() {
        let seamless = Horizon::from_micros([(0, 10), (10, 20)]).unwrap();
        assert_eq!([seamless.covered(-5, 12), seamless.covered(25, 30)], [12, 0]);
        let gaps = Horizon::from_micros([(0, 10), (15, 20)]).unwrap();
        assert_eq!([gaps.covered(5, 18), gaps.covered(11, 14), gaps.covered(9, 9)], [8, 0, 0]);
        assert_eq!(Horizon::default().covered(0, 9), 0);
    }

    proptest! {
        /// The arithmetic way and the search agree with the definition.
        #[test]
        fn overlapping_is_what_it_says(
            lengths in prop::collection::vec(1..9i64, 0..30), even in any::<bool>(),
            from in -20..250i64, length in -3..80i64,
        ) {
            let mut end = 0;
            let periods: Vec<(i64, i64)> = lengths.iter().map(|&length| {
                let start = if even { end } else { end + length % 3 };
                end = start + if even { 7 } else { length };
                (start, end)
            }).collect();
            let to = from + length;
            let horizon = Horizon::from_micros(periods.iter().copied()).unwrap();
            let found = horizon.overlapping(from, to);
            for (index, &(start, end)) in periods.iter().enumerate() {
                prop_assert_eq!(found.contains(&index), start < to && end > from && from < to);
            }
        }
    }
}

//! Time range of a statistics request.
use chrono::{DateTime, Utc};

use crate::statistics::resolution::years_before;

/// Years after which data are no longer available.
const HISTORY_YEARS: u32 = 4;

/// Invalid range of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RangeError {
    /// The range ends before it starts.
    #[error("start is {start}, after the end at {end}")]
    Reversed {
        /// First instant as given.
        start: DateTime<Utc>,
        /// End as given, or the present.
        end: DateTime<Utc>,
    },
}

/// Half-open range `[start, end)`, cut at the oldest available instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after the range.
    pub end: DateTime<Utc>,
}

impl Range {
    /// Part of `[start, end)` that is available at `now`.
    ///
    /// Without a start the range begins at the oldest available instant, without an end it ends
    /// at `now`. An empty range is allowed. Times older than four calendar years are cut off; a
    /// range that is older as a whole is empty.
    ///
    /// # Errors
    /// `start` is after `end`.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_engine::statistics::range::Range;
    /// let now = "2024-06-15T00:00:00Z".parse().unwrap();
    /// let all = Range::available(None, None, now)?;
    /// assert_eq!(all.start.to_rfc3339(), "2020-06-15T00:00:00+00:00");
    /// # Ok::<(), slackwater_engine::statistics::range::RangeError>(())
    /// ```
    pub fn available(
        start: Option<DateTime<Utc>>,
        end: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Result<Self, RangeError> {
        let oldest = years_before(now, HISTORY_YEARS);
        let end = end.unwrap_or(now);
        match start {
            Some(start) if start > end => Err(RangeError::Reversed { start, end }),
            _ => {
                // A range that is too old as a whole becomes empty at the oldest instant.
                let start = start.map_or(oldest, |start| start.max(oldest));
                Ok(Self { start, end: end.max(start) })
            }
        }
    }

    /// Returns true if an instant lies in it.
    #[must_use]
    pub fn holds(&self, at: DateTime<Utc>) -> bool {
        self.start <= at && at < self.end
    }

    /// The range `[start, end)`, however old; all of time where an end is open.
    ///
    /// # Errors
    /// `start` is after `end`.
    pub fn between(
        start: Option<DateTime<Utc>>,
        end: Option<DateTime<Utc>>,
    ) -> Result<Self, RangeError> {
        let all = Self::all();
        let (start, end) = (start.unwrap_or(all.start), end.unwrap_or(all.end));
        if start > end { Err(RangeError::Reversed { start, end }) } else { Ok(Self { start, end }) }
    }

    /// All of time, for data that were chosen before.
    #[must_use]
    pub fn all() -> Self {
        Self { start: DateTime::<Utc>::MIN_UTC, end: DateTime::<Utc>::MAX_UTC }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn the_start_must_not_exceed_the_end() {
        let now = at("2024-06-01T00:00:00Z");
        let same = at("2024-01-01T00:00:00Z");
        assert!(Range::available(Some(same), Some(same), now).is_ok());
        let later = at("2024-01-01T00:00:01Z");
        let error = Range::available(Some(later), Some(same), now).unwrap_err();
        let text = "start is 2024-01-01 00:00:01 UTC, after the end at 2024-01-01 00:00:00 UTC";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn the_end_is_now_unless_given() {
        let now = at("2024-06-01T00:00:00Z");
        assert_eq!(Range::available(Some(now), None, now).unwrap().end, now);
        assert!(Range::available(Some(at("2024-06-01T00:00:01Z")), None, now).is_err());
    }

    #[test]
    fn data_older_than_four_years_are_left_out() {
        let old = Range::available(
            Some(at("2001-01-01T00:00:00Z")),
            Some(at("2002-01-01T00:00:00Z")),
            at("2024-02-29T12:00:00Z"),
        );
        let cut = at("2020-02-29T12:00:00Z");
        assert_eq!(old, Ok(Range { start: cut, end: cut }));
        let all = Range::available(None, None, at("2027-02-28T00:00:00Z")).unwrap();
        assert_eq!(all.start, at("2023-02-28T00:00:00Z"));
    }
}

//! Findings of an importer: rows dropped, resolved or missing, as facts and as sentences.
use std::fmt;

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use chrono_tz::Tz;

use crate::prices::curve::PriceCurve;

/// Something about a price list that its reader should know.
///
/// Rows carry the number that the caller gave them, so that a person finds
/// them in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PriceFinding {
    /// Rows without a price: a gap.
    EmptyPrices {
        /// First of the rows.
        first_row: usize,
        /// Last of the rows; they follow each other.
        last_row: usize,
        /// Start of the gap.
        from: DateTime<Utc>,
        /// End of the gap.
        to: DateTime<Utc>,
    },
    /// Time between rows that no row covers: a gap.
    MissingRows {
        /// Row ahead of the gap; `None` if it lies ahead of all rows.
        after_row: Option<usize>,
        /// Start of the gap.
        from: DateTime<Utc>,
        /// End of the gap.
        to: DateTime<Utc>,
        /// The gap is the second occurrence of times that clocks repeat.
        second_showing: bool,
    },
    /// A row without a price at a local time that clocks skip: dropped.
    SkippedTime {
        /// The row.
        row: usize,
        /// Its local time.
        local: NaiveDateTime,
        /// The instant of the jump, or shortly after it.
        at: DateTime<Utc>,
    },
    /// Rows at local times that clocks show twice, taken as the second occurrence.
    SecondShowing {
        /// First row of the second occurrence.
        first_row: usize,
        /// Last row of the second occurrence.
        last_row: usize,
        /// Instant of the first of these rows.
        at: DateTime<Utc>,
    },
    /// Change of the slot length from a row on.
    StepChange {
        /// First row with the new length.
        row: usize,
        /// Its instant.
        at: DateTime<Utc>,
        /// Length of the slots before.
        before: TimeDelta,
        /// Length of the slots from here on.
        after: TimeDelta,
    },
    /// Periods without a row that repeat the previous price, as the list specifies.
    RepeatedPrices {
        /// Number of periods filled this way.
        count: usize,
        /// Start of the first of them.
        at: DateTime<Utc>,
    },
    /// All rows name the last second or minute of their slot as its end.
    InclusiveEnds {
        /// Start of the first slot.
        at: DateTime<Utc>,
        /// Amount by which the slots end later than their rows state.
        by: TimeDelta,
    },
    /// A row names no end where others do.
    OpenEnd {
        /// The row.
        row: usize,
        /// Its instant.
        at: DateTime<Utc>,
        /// The end it was given: the usual length, or the next row.
        end: DateTime<Utc>,
    },
}

impl PriceFinding {
    /// The instant from which on the finding matters.
    #[must_use]
    pub fn at(&self) -> DateTime<Utc> {
        match *self {
            Self::EmptyPrices { from, .. } | Self::MissingRows { from, .. } => from,
            Self::SkippedTime { at, .. }
            | Self::SecondShowing { at, .. }
            | Self::StepChange { at, .. }
            | Self::RepeatedPrices { at, .. }
            | Self::InclusiveEnds { at, .. }
            | Self::OpenEnd { at, .. } => at,
        }
    }

    /// The period without a price, if the finding is one.
    #[must_use]
    pub fn gap(&self) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
        match *self {
            Self::EmptyPrices { from, to, .. } | Self::MissingRows { from, to, .. } => {
                Some((from, to))
            }
            _ => None,
        }
    }

    /// The finding as a sentence, its times as clocks in `time_zone` show them.
    #[must_use]
    pub fn sentence(&self, time_zone: Tz) -> String {
        let clock = |at| Clock { at, time_zone };
        match *self {
            Self::EmptyPrices { first_row, last_row, from, to } => {
                let rows = Rows { first_row, last_row };
                let verb = if first_row == last_row { "has" } else { "have" };
                format!("{rows} {verb} no price: {} is a gap", Period(clock(from), clock(to)))
            }
            Self::MissingRows { after_row, from, to, second_showing } => {
                let place = after_row.map_or_else(String::new, |row| format!(" after row {row}"));
                let period = Period(clock(from), clock(to));
                let cause = if second_showing {
                    ", the second occurrence of times that clocks repeat,"
                } else {
                    ""
                };
                format!("{period}{cause} has no row{place}: a gap")
            }
            Self::SkippedTime { row, local, .. } => format!(
                "row {row} was dropped: it has no price, and clocks in {time_zone} skip {}",
                local.format("%Y-%m-%d %H:%M")
            ),
            Self::SecondShowing { first_row, last_row, at } => {
                let rows = Rows { first_row, last_row };
                let verb = if first_row == last_row { "is" } else { "are" };
                format!(
                    "{rows} {verb} the second occurrence of times that clocks in {time_zone} \
                     repeat, from {}",
                    clock(at)
                )
            }
            Self::StepChange { row, at, before, after } => format!(
                "from row {row} at {} on, slots last {} instead of {}",
                clock(at),
                Length(after),
                Length(before)
            ),
            Self::RepeatedPrices { count, at } => format!(
                "{count} {} without a row of {} own {} the price before, the first at {}",
                if count == 1 { "period" } else { "periods" },
                if count == 1 { "its" } else { "their" },
                if count == 1 { "repeats" } else { "repeat" },
                clock(at)
            ),
            Self::InclusiveEnds { by, .. } => format!(
                "rows end {} before the next one starts: they name the last moment of their \
                 slot, which ends with it",
                Length(by)
            ),
            Self::OpenEnd { row, at, end } => {
                format!("row {row} names no end: it is taken for {}", Period(clock(at), clock(end)))
            }
        }
    }
}

/// Prices of a list, and the findings of its import.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedPrices {
    /// The prices per kWh.
    pub curve: PriceCurve,
    /// Findings in the order of time: rows dropped, resolved or missing.
    pub findings: Vec<PriceFinding>,
}

impl ImportedPrices {
    /// Periods inside the list that have no price, oldest first.
    #[must_use]
    pub fn gaps(&self) -> Vec<(DateTime<Utc>, DateTime<Utc>)> {
        self.findings.iter().filter_map(PriceFinding::gap).collect()
    }

    /// The findings as sentences, their times as clocks in `time_zone` show them.
    #[must_use]
    pub fn notes(&self, time_zone: Tz) -> Vec<String> {
        self.findings.iter().map(|finding| finding.sentence(time_zone)).collect()
    }
}

/// An instant as a wall clock shows it, with the name of its offset.
pub(super) struct Clock {
    pub(super) at: DateTime<Utc>,
    pub(super) time_zone: Tz,
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let local = self.at.with_timezone(&self.time_zone);
        let whole_minute = self.at.timestamp() % 60 == 0;
        let form = if whole_minute { "%Y-%m-%d %H:%M %Z" } else { "%Y-%m-%d %H:%M:%S %Z" };
        write!(f, "{}", local.format(form))
    }
}

struct Period(Clock, Clock);

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.0, self.1)
    }
}

struct Rows {
    first_row: usize,
    last_row: usize,
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first_row == self.last_row {
            write!(f, "row {}", self.first_row)
        } else {
            write!(f, "rows {} to {}", self.first_row, self.last_row)
        }
    }
}

/// A length of time in the largest unit that divides it.
pub(super) struct Length(pub(super) TimeDelta);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.num_seconds();
        match seconds {
            _ if seconds % 3600 == 0 => write!(f, "{} h", seconds / 3600),
            _ if seconds % 60 == 0 => write!(f, "{} min", seconds / 60),
            _ => write!(f, "{seconds} s"),
        }
    }
}

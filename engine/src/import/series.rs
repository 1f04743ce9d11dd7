//! Import of price lists whose rows are at known instants.
use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use chrono_tz::Tz;

use crate::import::calendar_step::{are_month_ends, calendar_lengths, regular_step};
use crate::import::finding::{ImportedPrices, Length, PriceFinding};
use crate::import::price_unit::PriceUnit;
use crate::prices::curve::PriceCurve;
use crate::time::civil::{Showing, local_of, showing};
use crate::time::horizon::Horizon;
use crate::time::instant::{instant_at, micros_of};

/// Row of a price list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InstantRow {
    /// Number of the row as its reader counts.
    pub row: usize,
    /// First instant of the slot.
    pub start: DateTime<Utc>,
    /// First instant after the slot, if the row names it.
    pub end: Option<DateTime<Utc>>,
    /// The number in the price column; `None` where it is empty.
    pub price: Option<f64>,
}

impl InstantRow {
    /// The row with an end, if it has one, so many microseconds later.
    fn ending_later(&self, micros: Option<i64>) -> Self {
        let by = TimeDelta::microseconds(micros.unwrap_or(0));
        Self { end: self.end.map(|end| end.checked_add_signed(by).unwrap_or(end)), ..*self }
    }
}

/// Options for reading a price list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesOptions {
    /// Unit of the numbers.
    pub unit: PriceUnit,
    /// Length of a slot whose row has no end. `None` takes the usual distance between rows.
    pub step: Option<TimeDelta>,
    /// A price holds until the next row, however far that is. Otherwise a
    /// slot ends after its step, and the time to the next row is a gap.
    pub holds_until_next: bool,
}

impl SeriesOptions {
    /// Numbers of `unit`, slots of the usual length, gaps where rows are missing.
    #[must_use]
    pub fn new(unit: PriceUnit) -> Self {
        Self { unit, step: None, holds_until_next: false }
    }
}

/// Invalid rows of a price list.
///
/// Instants are in the time zone of the list, so that they read as its rows do.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SeriesError {
    /// There is no row.
    #[error("the list has no rows")]
    Empty,
    /// A row does not come after the one ahead of it.
    #[error("row {row} at {at} does not come after row {previous_row} at {previous_at}")]
    NotChronological {
        /// The row.
        row: usize,
        /// Its start.
        at: DateTime<Tz>,
        /// The row ahead of it.
        previous_row: usize,
        /// Start of the row ahead of it.
        previous_at: DateTime<Tz>,
    },
    /// A row ends when it starts, or before.
    #[error("row {row} ends at {end}, not after its start at {start}")]
    NoLength {
        /// The row.
        row: usize,
        /// Its start.
        start: DateTime<Tz>,
        /// Its end.
        end: DateTime<Tz>,
    },
    /// A row has not ended when the next one starts.
    #[error("row {row} ends at {end}, after the start of row {next_row} at {next_start}")]
    Overlap {
        /// The row.
        row: usize,
        /// Its end.
        end: DateTime<Tz>,
        /// The row after it.
        next_row: usize,
        /// Start of the row after it.
        next_start: DateTime<Tz>,
    },
    /// A time outside the years 1 to 9999.
    #[error("row {row} starts or ends outside the years 1 to 9999")]
    OutOfRange {
        /// The row.
        row: usize,
    },
    /// A price is NaN or infinite.
    #[error("row {row}: the price {value} is not a finite number")]
    NotAPrice {
        /// The row.
        row: usize,
        /// The number as given.
        value: f64,
    },
    /// A single row that names no end.
    #[error("row {row} is the only one and names no end: the length of its slot is not known")]
    NoStep {
        /// The row.
        row: usize,
    },
    /// Rows without ends that are unevenly apart, so that the length of a slot is not known.
    #[error(
        "row {row} at {at} is {} after the row before it, and row {other_row} is {}: no slot \
         length fits; give each row an end", Length(*distance), Length(*other_distance)
    )]
    Uneven {
        /// A row.
        row: usize,
        /// Its start.
        at: DateTime<Tz>,
        /// Its distance from the row before it.
        distance: TimeDelta,
        /// A row at another distance.
        other_row: usize,
        /// Its distance from the row before it.
        other_distance: TimeDelta,
    },
    /// Rows without ends that are at the last days of months, where periods end.
    #[error(
        "row {row} at {at} and all others are at last days of months; a slot begins at the time of \
         its row: give the first days, or each row an end"
    )]
    MonthEnds {
        /// The first row.
        row: usize,
        /// Its start.
        at: DateTime<Tz>,
    },
    /// The length of the slots is zero or negative.
    #[error("a slot of {} s has no length", step.num_seconds())]
    StepWithoutLength {
        /// The length as given.
        step: TimeDelta,
    },
}

/// The longest step that a single day may have of its own: market prices go
/// from hours to quarter hours, and back in no case to longer than an hour.
const DAY_STEP_MAX: i64 = 3_600_000_000;

/// Lengths of the last moment that a list may name as an end: a second, a minute.
const LAST_MOMENTS: [i64; 2] = [1_000_000, 60_000_000];

/// The fewest distances that make a day's step.
const DAY_STEP_EVIDENCE: usize = 3;

/// Prices from rows at known instants, oldest first or newest first.
///
/// A slot lasts to the end that its row names. Where it names none, it lasts
/// for the usual distance between rows, but not beyond the next row: what
/// lies between that and the next row is a gap. The usual distance is the
/// most frequent one of the list; a day on which most rows are another
/// distance apart, of at most an hour, has that one (markets change from
/// hours to quarter hours), and the change is named in the findings. Rows that are days, weeks or
/// months apart on the clocks of a zone have slots of days, weeks or months there, whatever hours
/// these have. Rows that are unevenly apart are refused, unless prices hold until the next row. Where
/// the ends of a list are its last moments, as 18:59 or 18:59:59, slots end
/// with these. An empty price is a gap. No gap is filled.
///
/// # Errors
/// No rows; rows out of order, doubled, overlapping, without length or unevenly apart; a
/// price that is no finite number; a single row without an end.
///
/// # Example: an open end and a gap
///
/// Half hours of 18 July, newest first; the one at 01:00Z is missing and the
/// newest has no end yet.
///
/// ```
/// use slackwater_engine::import::price_unit::PriceUnit;
/// use slackwater_engine::import::series::{InstantRow, SeriesOptions, prices_from_instants};
/// let row = |row, start: &str, end: Option<&str>| InstantRow {
///     row,
///     start: start.parse().unwrap(),
///     end: end.map(|end| end.parse().unwrap()),
///     price: Some(20.0),
/// };
/// let imported = prices_from_instants(
///     &[
///         row(1, "2026-07-18T01:30:00Z", None),
///         row(2, "2026-07-18T00:30:00Z", Some("2026-07-18T01:00:00Z")),
///         row(3, "2026-07-18T00:00:00Z", Some("2026-07-18T00:30:00Z")),
///     ],
///     &SeriesOptions::new(PriceUnit::parse("p/kWh", "GBP").unwrap()),
/// )?;
/// assert_eq!(imported.curve.prices(), [0.2, 0.2, 0.2]);
/// assert_eq!(
///     imported.notes(chrono_tz::UTC),
///     [
///         "2026-07-18 01:00 UTC to 2026-07-18 01:30 UTC has no row after row 2: a gap",
///         "row 1 names no end: it is taken for 2026-07-18 01:30 UTC to 2026-07-18 02:00 UTC",
///     ]
/// );
/// # Ok::<(), slackwater_engine::import::series::SeriesError>(())
/// ```
pub fn prices_from_instants(
    rows: &[InstantRow],
    options: &SeriesOptions,
) -> Result<ImportedPrices, SeriesError> {
    prices_from_zoned_instants(rows, Tz::UTC, options)
}

/// Prices from rows at known instants, as [`prices_from_instants`], whose days and months are those
/// on the clocks of `time_zone`.
///
/// # Errors
/// As [`prices_from_instants`].
pub fn prices_from_zoned_instants(
    rows: &[InstantRow],
    time_zone: Tz,
    options: &SeriesOptions,
) -> Result<ImportedPrices, SeriesError> {
    let newest_first = match rows {
        [first, .., last] => first.start > last.start,
        _ => false,
    };
    if newest_first {
        let oldest_first: Vec<InstantRow> = rows.iter().rev().copied().collect();
        return assemble(&oldest_first, options, time_zone, Vec::new());
    }
    assemble(rows, options, time_zone, Vec::new())
}

/// The curve and the findings of rows that are in the order of time.
/// `findings` are those of the caller; days are days in `time_zone`.
pub(super) fn assemble(
    rows: &[InstantRow],
    options: &SeriesOptions,
    time_zone: Tz,
    mut findings: Vec<PriceFinding>,
) -> Result<ImportedPrices, SeriesError> {
    // The order first, because all that follows compares neighbours.
    check_order(rows, time_zone)?;
    let last_moment = inclusive_by(rows);
    // Inclusive ends are moved to the next start before lengths are computed.
    let rows: Vec<InstantRow> = rows.iter().map(|row| row.ending_later(last_moment)).collect();
    if let Some(by) = last_moment {
        let by = TimeDelta::microseconds(by);
        findings.push(PriceFinding::InclusiveEnds { at: rows[0].start, by });
    }
    let Steps { lengths: steps, are_regular } = steps_of(&rows, options, time_zone)?;
    let mut slots = Slots { time_zone, periods: Vec::new(), prices: Vec::new(), findings };
    let any_end = rows.iter().any(|row| row.end.is_some());
    for (index, row) in rows.iter().enumerate() {
        let next = rows.get(index + 1);
        let start = micros_of(row.start);
        let end = end_of(row, next, steps[index], options.holds_until_next)
            .map_err(|end| end_error(row, next, end, time_zone))?;
        // In a list in which no row names an end, an open end is no finding.
        if row.end.is_none() && any_end {
            let (at, end) = (row.start, instant_at(end));
            slots.findings.push(PriceFinding::OpenEnd { row: row.row, at, end });
        }
        if row.end.is_none() && options.holds_until_next {
            slots.note_repeats(start, end, steps[index]);
        }
        slots.add(row, (start, end), options.unit)?;
        if let Some(next) = next {
            slots.note_missing(Some(row.row), end, micros_of(next.start));
        }
    }
    // A change of step matters only where steps decide how long slots are.
    if !are_regular && !options.holds_until_next {
        slots.findings.extend(step_changes(&rows, &steps));
    }
    Ok(slots.finish())
}

fn check_order(rows: &[InstantRow], time_zone: Tz) -> Result<(), SeriesError> {
    if rows.is_empty() {
        return Err(SeriesError::Empty);
    }
    for row in rows {
        if !Horizon::holds(micros_of(row.start)) {
            return Err(SeriesError::OutOfRange { row: row.row });
        }
    }
    for pair in rows.windows(2) {
        if micros_of(pair[1].start) <= micros_of(pair[0].start) {
            return Err(SeriesError::NotChronological {
                row: pair[1].row,
                at: pair[1].start.with_timezone(&time_zone),
                previous_row: pair[0].row,
                previous_at: pair[0].start.with_timezone(&time_zone),
            });
        }
    }
    Ok(())
}

/// Distance from the ends of all rows to the start of the next row, if that is a second or a
/// minute throughout: such a list gives inclusive ends.
fn inclusive_by(rows: &[InstantRow]) -> Option<i64> {
    let short =
        rows.windows(2).filter_map(|pair| Some(micros_of(pair[1].start) - micros_of(pair[0].end?)));
    let least = short.clone().min()?;
    let (usual, _) = most_frequent(short)?;
    (usual == least && LAST_MOMENTS.contains(&usual)).then_some(usual)
}

/// End of a row's slot, in microseconds. `Err` is an end outside the range, not after the start,
/// or beyond the next row.
fn end_of(
    row: &InstantRow,
    next: Option<&InstantRow>,
    step: i64,
    holds_until_next: bool,
) -> Result<i64, i64> {
    let start = micros_of(row.start);
    let next_start = next.map_or(i64::MAX, |next| micros_of(next.start));
    let end = match row.end {
        Some(end) => micros_of(end),
        None if holds_until_next && next.is_some() => next_start,
        // The usual step may reach beyond a row that comes early.
        None => start.saturating_add(step).min(next_start),
    };
    if Horizon::holds(end) && end > start && end <= next_start { Ok(end) } else { Err(end) }
}

/// Error for the end of a row.
fn end_error(row: &InstantRow, next: Option<&InstantRow>, end: i64, time_zone: Tz) -> SeriesError {
    if !Horizon::holds(end) {
        return SeriesError::OutOfRange { row: row.row };
    }
    let clock = |at: DateTime<Utc>| at.with_timezone(&time_zone);
    let (start, end) = (clock(row.start), clock(instant_at(end)));
    match next {
        Some(next) if end > next.start => {
            let (next_row, next_start) = (next.row, clock(next.start));
            SeriesError::Overlap { row: row.row, end, next_row, next_start }
        }
        _ => SeriesError::NoLength { row: row.row, start, end },
    }
}

/// Lengths of the slots of rows that name no end.
struct Steps {
    /// The length of each row's slot in microseconds.
    lengths: Vec<i64>,
    /// True if another length is no change of the step: of a given step, and of months.
    are_regular: bool,
}

impl Steps {
    fn regular(lengths: Vec<i64>) -> Self {
        Self { lengths, are_regular: true }
    }
}

/// The length of each row's slot, should it name no end.
fn steps_of(
    rows: &[InstantRow],
    options: &SeriesOptions,
    time_zone: Tz,
) -> Result<Steps, SeriesError> {
    if let Some(step) = options.step {
        let micros = step.num_microseconds().unwrap_or(i64::MAX);
        if micros <= 0 {
            return Err(SeriesError::StepWithoutLength { step });
        }
        return Ok(Steps::regular(vec![micros; rows.len()]));
    }
    if rows.iter().all(|row| row.end.is_some()) {
        return Ok(Steps::regular(vec![0; rows.len()]));
    }
    if rows.iter().all(|row| row.end.is_none()) {
        let starts: Vec<DateTime<Utc>> = rows.iter().map(|row| row.start).collect();
        if are_month_ends(&starts, time_zone) && !options.holds_until_next {
            let at = starts[0].with_timezone(&time_zone);
            return Err(SeriesError::MonthEnds { row: rows[0].row, at });
        }
        if let Some(lengths) = calendar_lengths(&starts, time_zone) {
            return Ok(Steps::regular(lengths));
        }
    }
    steps_by_day(rows, options, time_zone)
}

/// The length of each row's slot by the distances of its day, or else of the list.
fn steps_by_day(
    rows: &[InstantRow],
    options: &SeriesOptions,
    time_zone: Tz,
) -> Result<Steps, SeriesError> {
    let distances: Vec<i64> =
        rows.windows(2).map(|pair| micros_of(pair[1].start) - micros_of(pair[0].start)).collect();
    // Lengths that rows name are evidence of the step as well.
    let named = rows.iter().filter_map(|row| Some(micros_of(row.end?) - micros_of(row.start)));
    let usual = most_frequent(distances.iter().copied().chain(named).filter(|&step| step > 0))
        .ok_or(SeriesError::NoStep { row: rows[0].row })?
        .0;
    let days: Vec<NaiveDate> =
        rows.iter().map(|row| local_of(row.start, time_zone).date()).collect();
    let mut steps = Vec::with_capacity(rows.len());
    let mut needs_usual = false;
    // The resolution of a list can change from one day to the next.
    for day in days.chunk_by(|one, other| one == other) {
        let from = steps.len();
        // There is one distance less than there are rows.
        let to = (from + day.len()).min(distances.len());
        let step = step_of_day(&distances[from.min(to)..to]);
        needs_usual |= step.is_none();
        steps.resize(from + day.len(), step.unwrap_or(usual));
    }
    if needs_usual && !options.holds_until_next && rows.iter().all(|row| row.end.is_none()) {
        check_regular(rows, distances, time_zone)?;
    }
    Ok(Steps { lengths: steps, are_regular: false })
}

/// Checks that the distances of rows tell the length of a slot.
fn check_regular(
    rows: &[InstantRow],
    distances: Vec<i64>,
    time_zone: Tz,
) -> Result<(), SeriesError> {
    let other = distances.iter().position(|&distance| distance != distances[0]);
    let Some(other) = other else { return Ok(()) };
    let (first_distance, other_distance) = (distances[0], distances[other]);
    if regular_step(distances).is_some() {
        return Ok(());
    }
    let (row, other_row) = (&rows[1], &rows[other + 1]);
    Err(SeriesError::Uneven {
        row: row.row,
        at: row.start.with_timezone(&time_zone),
        distance: TimeDelta::microseconds(first_distance),
        other_row: other_row.row,
        other_distance: TimeDelta::microseconds(other_distance),
    })
}

/// The distance that most rows of a day have, if it is a step of its own.
fn step_of_day(distances: &[i64]) -> Option<i64> {
    let (step, count) = most_frequent(distances.iter().copied())?;
    let clear = count >= DAY_STEP_EVIDENCE && 2 * count > distances.len();
    (clear && step <= DAY_STEP_MAX).then_some(step)
}

/// The most frequent number and how often it occurs; of several the smallest.
pub(super) fn most_frequent(numbers: impl Iterator<Item = i64>) -> Option<(i64, usize)> {
    let mut sorted: Vec<i64> = numbers.collect();
    sorted.sort_unstable();
    let runs = sorted.chunk_by(|one, other| one == other);
    // `max_by_key` keeps the last of equals: from the largest number down.
    runs.rev().map(|run| (run[0], run.len())).max_by_key(|&(_, count)| count)
}

fn step_changes<'a>(
    rows: &'a [InstantRow],
    steps: &'a [i64],
) -> impl Iterator<Item = PriceFinding> + 'a {
    let changed = rows
        .windows(2)
        .zip(steps.windows(2))
        .filter(|(pair, step)| step[0] != step[1] && pair.iter().all(|row| row.end.is_none()));
    changed.map(|(pair, step)| PriceFinding::StepChange {
        row: pair[1].row,
        at: pair[1].start,
        before: TimeDelta::microseconds(step[0]),
        after: TimeDelta::microseconds(step[1]),
    })
}

/// Slots and findings while they are gathered.
struct Slots {
    time_zone: Tz,
    periods: Vec<(i64, i64)>,
    prices: Vec<f64>,
    findings: Vec<PriceFinding>,
}

impl Slots {
    /// The slot of a row, or the gap that its empty price leaves.
    fn add(
        &mut self,
        row: &InstantRow,
        (start, end): (i64, i64),
        unit: PriceUnit,
    ) -> Result<(), SeriesError> {
        let Some(value) = row.price else {
            self.note_empty(row.row, instant_at(start), instant_at(end));
            return Ok(());
        };
        let price =
            unit.price(value).map_err(|_| SeriesError::NotAPrice { row: row.row, value })?;
        self.periods.push((start, end));
        self.prices.push(price.as_per_kwh());
        Ok(())
    }

    /// A gap of rows without a price; rows that follow each other make one gap.
    fn note_empty(&mut self, row: usize, start: DateTime<Utc>, end: DateTime<Utc>) {
        if let Some(PriceFinding::EmptyPrices { last_row, to, .. }) = self.findings.last_mut()
            && *to == start
        {
            (*last_row, *to) = (row, end);
            return;
        }
        let gap = PriceFinding::EmptyPrices { first_row: row, last_row: row, from: start, to: end };
        self.findings.push(gap);
    }

    /// A gap between `from` and `to`, if there is time between them.
    fn note_missing(&mut self, after_row: Option<usize>, from: i64, to: i64) {
        if from < to {
            let (from, to) = (instant_at(from), instant_at(to));
            let second_showing = is_second_showing(from, self.time_zone);
            let gap = PriceFinding::MissingRows { after_row, from, to, second_showing };
            self.findings.push(gap);
        }
    }

    /// The periods beyond its own step that a price holds for.
    fn note_repeats(&mut self, start: i64, end: i64, step: i64) {
        let own_end = start.saturating_add(step);
        if own_end >= end {
            return;
        }
        // Rounded up, because the next row may cut the last period short.
        let more = usize::try_from((end - own_end + step - 1) / step).unwrap_or(usize::MAX);
        self.findings.push(PriceFinding::RepeatedPrices { count: more, at: instant_at(own_end) });
    }

    fn finish(mut self) -> ImportedPrices {
        merge_repeats(&mut self.findings);
        self.findings.sort_by_key(PriceFinding::at);
        let horizon = Horizon::from_micros(self.periods)
            .expect("ends lie after starts, inside the range and not beyond the next row");
        let curve = PriceCurve::from_parts(horizon, self.prices)
            .expect("each price was checked when it was added");
        ImportedPrices { curve, findings: self.findings }
    }
}

/// Merges all repeated prices of a list into one finding: a list may have thousands.
fn merge_repeats(findings: &mut Vec<PriceFinding>) {
    let (mut total, mut first) = (0, None);
    findings.retain(|finding| {
        let PriceFinding::RepeatedPrices { count, at } = *finding else {
            return true;
        };
        total += count;
        first = first.or(Some(at));
        false
    });
    if let Some(at) = first {
        findings.push(PriceFinding::RepeatedPrices { count: total, at });
    }
}

/// Returns true if clocks show at `at` a time that they have shown before.
fn is_second_showing(at: DateTime<Utc>, time_zone: Tz) -> bool {
    matches!(showing(local_of(at, time_zone), time_zone), Showing::Twice { second, .. } if second == at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    /// A row of an hour each, from midnight on, priced by its number.
    fn hour(hour: usize, price: Option<f64>) -> InstantRow {
        let start = at(&format!("2026-01-05T{hour:02}:00:00Z"));
        InstantRow { row: hour, start, end: None, price }
    }

    fn options() -> SeriesOptions {
        SeriesOptions::new(PriceUnit::PER_KWH)
    }

    #[test]
    fn newest_first_is_as_good_as_oldest_first() {
        let rows = [hour(3, Some(3.0)), hour(2, None), hour(1, Some(1.0))];
        let imported = prices_from_instants(&rows, &options()).unwrap();
        assert_eq!(imported.curve.prices(), [1.0, 3.0]);
        let gap = (at("2026-01-05T02:00:00Z"), at("2026-01-05T03:00:00Z"));
        assert_eq!(imported.gaps(), [gap]);
    }

    /// Rows at local midnights in Berlin, priced by their position.
    fn berlin_rows(dates: &[&str]) -> Vec<InstantRow> {
        let row = |(row, date): (usize, &&str)| {
            let date: NaiveDate = date.parse().unwrap();
            let start =
                crate::time::civil::instant_of(date.and_time(chrono::NaiveTime::MIN), BERLIN);
            InstantRow { row, start, end: None, price: Some(row as f64) }
        };
        dates.iter().enumerate().map(row).collect()
    }

    const BERLIN: Tz = Tz::Europe__Berlin;

    #[test]
    fn months_last_until_the_next_one_and_the_last_one_has_its_own_days() {
        let rows = berlin_rows(&["2026-01-01", "2026-02-01", "2026-03-01"]);
        let imported = prices_from_zoned_instants(&rows, BERLIN, &options()).unwrap();
        assert!(imported.findings.is_empty(), "{:?}", imported.notes(BERLIN));
        let end = imported.curve.horizon().end().unwrap();
        assert_eq!(end, at("2026-03-31T22:00:00Z"));
        let missing = berlin_rows(&["2026-01-01", "2026-02-01", "2026-04-01", "2026-05-01"]);
        let imported = prices_from_zoned_instants(&missing, BERLIN, &options()).unwrap();
        let march = (at("2026-02-28T23:00:00Z"), at("2026-03-31T22:00:00Z"));
        assert_eq!(imported.gaps(), [march]);
    }

    #[test]
    fn uneven_rows_are_refused_with_two_of_their_distances() {
        // Midnights in Berlin are no months in UTC.
        let rows = berlin_rows(&["2026-02-01", "2026-03-01", "2026-04-01"]);
        let error = prices_from_instants(&rows, &options()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "row 1 at 2026-02-28 23:00:00 UTC is 672 h after the row before it, and row 2 is 743 h: \
             no slot length fits; give each row an end"
        );
        let held = SeriesOptions { holds_until_next: true, ..options() };
        assert!(prices_from_instants(&rows, &held).unwrap().gaps().is_empty());
        let ends = berlin_rows(&["2026-01-31", "2026-02-28", "2026-03-31"]);
        let error = prices_from_zoned_instants(&ends, BERLIN, &options()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "row 0 at 2026-01-31 00:00:00 CET and all others are at last days of months; a slot \
             begins at the time of its row: give the first days, or each row an end"
        );
    }

    #[test]
    fn rows_that_go_back_and_forth_are_refused() {
        let rows = [hour(1, None), hour(3, None), hour(2, None), hour(4, None)];
        let error = prices_from_instants(&rows, &options()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "row 2 at 2026-01-05 02:00:00 UTC does not come after row 3 at 2026-01-05 03:00:00 UTC"
        );
    }

    #[test]
    fn prices_that_hold_are_counted() {
        let rows = [hour(0, Some(1.0)), hour(1, Some(2.0)), hour(2, Some(3.0)), hour(6, Some(4.0))];
        let held = SeriesOptions { holds_until_next: true, ..options() };
        let imported = prices_from_instants(&rows, &held).unwrap();
        assert!(imported.gaps().is_empty());
        assert_eq!(
            imported.notes(Tz::UTC),
            ["3 periods without a row of their own repeat the price before, \
              the first at 2026-01-05 03:00 UTC"]
        );
    }

    #[test]
    fn an_end_may_be_the_last_moment_of_its_slot() {
        let ending = |number, short: i64| {
            let row = hour(number, Some(1.0));
            InstantRow { end: Some(row.start + TimeDelta::seconds(3600 - short)), ..row }
        };
        let rows = [ending(1, 1), ending(2, 1), ending(4, 1)];
        let imported = prices_from_instants(&rows, &options()).unwrap();
        let lengths: Vec<i64> =
            imported.curve.slots().map(|slot| (slot.end - slot.start).num_seconds()).collect();
        assert_eq!(lengths, [3600, 3600, 3600]);
        assert_eq!(imported.gaps(), [(at("2026-01-05T03:00:00Z"), at("2026-01-05T04:00:00Z"))]);
        assert_eq!(
            imported.notes(Tz::UTC)[0],
            "rows end 1 s before the next one starts: they name the last moment of their slot, \
             which ends with it"
        );
        // One that ends where the next one starts says that ends are ends.
        let rows = [ending(1, 60), ending(2, 60), ending(3, 0), ending(4, 60)];
        let imported = prices_from_instants(&rows, &options()).unwrap();
        assert_eq!(imported.gaps().len(), 2);
    }

    #[test]
    fn the_end_of_the_calendar_is_an_error() {
        let mut row = hour(1, Some(1.0));
        row.start = DateTime::<Utc>::MAX_UTC;
        let error = prices_from_instants(&[row, row], &options()).unwrap_err();
        assert_eq!(error.to_string(), "row 1 starts or ends outside the years 1 to 9999");
        row.start = at("9999-12-31T23:30:00Z");
        let hours = SeriesOptions { step: Some(TimeDelta::hours(1)), ..options() };
        let error = prices_from_instants(&[row], &hours).unwrap_err();
        assert_eq!(error, SeriesError::OutOfRange { row: 1 });
    }
}

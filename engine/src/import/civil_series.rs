//! Import of price lists whose times are a wall clock without an offset.
//!
//! Clocks show some times twice and skip others. Unless such a list marks those rows as `CEST`
//! and `CET`, only the order of its rows tells the two showings apart: within a list, time
//! increases.
use chrono::{DateTime, Datelike, NaiveDateTime, TimeDelta, Utc};
use chrono_tz::Tz;

use crate::import::finding::{ImportedPrices, PriceFinding};
use crate::import::series::{InstantRow, SeriesError, SeriesOptions, assemble, most_frequent};
use crate::time::civil::{Showing, local_of, showing};

/// Row of a price list with local times.
#[derive(Debug, Clone, PartialEq)]
pub struct CivilRow {
    /// Number of the row as its reader counts.
    pub row: usize,
    /// Wall clock time at the start of the slot.
    pub start: NaiveDateTime,
    /// Abbreviation of the zone's time at the start, such as `CEST`, if the row has it.
    pub mark: Option<String>,
    /// Wall clock time at the end of the slot, if the row has it.
    pub end: Option<NaiveDateTime>,
    /// The number in the price column; `None` where it is empty.
    pub price: Option<f64>,
}

/// Invalid rows of a price list with local times.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CivilSeriesError {
    /// A price at a time that no clock shows.
    #[error("row {row} has the price {price} at {local}, which clocks in {time_zone} skip")]
    PricedSkippedTime {
        /// The row.
        row: usize,
        /// The number in its price column.
        price: f64,
        /// Its local time.
        local: NaiveDateTime,
        /// Time zone in which clocks skip it.
        time_zone: Tz,
    },
    /// Time that never has the mark of its row.
    #[error("row {row} calls {local} {mark}, which clocks in {time_zone} do not")]
    WrongMark {
        /// The row.
        row: usize,
        /// Its local time.
        local: NaiveDateTime,
        /// Mark of the row.
        mark: String,
        /// Time zone of the list.
        time_zone: Tz,
    },
    /// An end that no clock shows or runs up to.
    #[error("row {row} ends at {local}, which clocks in {time_zone} skip")]
    SkippedEnd {
        /// The row.
        row: usize,
        /// Its local end.
        local: NaiveDateTime,
        /// Time zone in which clocks skip it.
        time_zone: Tz,
    },
    /// A row does not come after the one ahead of it, in any showing.
    #[error(
        "row {row} at {local} does not come after row {previous_row} at {previous_local} \
         on clocks in {time_zone}"
    )]
    NotChronological {
        /// The row.
        row: usize,
        /// Its local time.
        local: NaiveDateTime,
        /// The row ahead of it.
        previous_row: usize,
        /// Local time of the row ahead of it.
        previous_local: NaiveDateTime,
        /// Time zone of the list.
        time_zone: Tz,
    },
    /// A time outside the years 1 to 9999.
    #[error("row {row} starts or ends at {local}, outside the years 1 to 9999")]
    OutOfRange {
        /// The row.
        row: usize,
        /// The local time.
        local: NaiveDateTime,
    },
    /// Error of the price list that does not concern clocks.
    #[error(transparent)]
    Series(#[from] SeriesError),
}

/// Prices from rows with local times, oldest first.
///
/// Rows are read in their order. A time that clocks show twice is its first
/// showing, and its second once the first has passed: of the rows 02:00,
/// 02:30, 02:00, 02:30 of an autumn night the last two are the second
/// showing, and they are named in the findings. Where such times stand in
/// the list only once, they are the first occurrence and the second is a gap.
/// (Where a zone repeats less than a step, as half an hour in a list of
/// hours, the showing that keeps the step is meant.) A row that says which
/// showing it is, as `02:00 (CET)`, is taken at its word.
///
/// A row without a price at a time that clocks skip is dropped and named; a
/// price at such a time is an error. Ends may be the time at which the clock
/// is changed, or midnight of the next day; without ends, and in all that
/// clocks do not touch, [`prices_from_instants`] says what happens.
///
/// [`prices_from_instants`]: crate::import::series::prices_from_instants
///
/// # Errors
/// A price at a skipped time; rows out of order or doubled where clocks
/// repeat nothing; ends before their starts; and as in
/// [`prices_from_instants`].
///
/// # Example: the 25-hour day
///
/// Clocks in Brussels went back from 03:00 to 02:00 on 29 October 2023. The
/// list has 02:00 twice, and no price for the hour before.
///
/// ```
/// use slackwater_engine::import::civil_series::{CivilRow, prices_from_civil};
/// use slackwater_engine::import::price_unit::PriceUnit;
/// use slackwater_engine::import::series::SeriesOptions;
/// let row = |row, start: &str, price| {
///     CivilRow { row, start: start.parse().unwrap(), mark: None, end: None, price }
/// };
/// let imported = prices_from_civil(
///     &[
///         row(2, "2023-10-29T00:00:00", Some(40.0)),
///         row(3, "2023-10-29T01:00:00", None),
///         row(4, "2023-10-29T02:00:00", Some(-10.0)),
///         row(5, "2023-10-29T02:00:00", Some(-8.0)),
///         row(6, "2023-10-29T03:00:00", Some(5.0)),
///     ],
///     "Europe/Brussels".parse().unwrap(),
///     &SeriesOptions::new(PriceUnit::PER_MWH),
/// )?;
/// assert_eq!(imported.curve.prices(), [0.04, -0.01, -0.008, 0.005]);
/// assert_eq!(
///     imported.notes(chrono_tz::Europe::Brussels),
///     [
///         "row 3 has no price: 2023-10-29 01:00 CEST to 2023-10-29 02:00 CEST is a gap",
///         "row 5 is the second occurrence of times that clocks in Europe/Brussels repeat, \
///          from 2023-10-29 02:00 CET",
///     ]
/// );
/// # Ok::<(), slackwater_engine::import::civil_series::CivilSeriesError>(())
/// ```
pub fn prices_from_civil(
    rows: &[CivilRow],
    time_zone: Tz,
    options: &SeriesOptions,
) -> Result<ImportedPrices, CivilSeriesError> {
    // All starts come first, because the end of a row can depend on the start of the next.
    let (placed, findings) = place(rows, time_zone)?;
    let mut timed = Vec::with_capacity(placed.len());
    for (index, placed_row) in placed.iter().enumerate() {
        let next = placed.get(index + 1).map(|next| next.at);
        let end = match placed_row.row.end {
            Some(end) => Some(end_instant(placed_row, end, next, time_zone)?),
            None => None,
        };
        let &CivilRow { row, price, .. } = placed_row.row;
        timed.push(InstantRow { row, start: placed_row.at, end, price });
    }
    Ok(assemble(&timed, options, time_zone, findings)?)
}

/// A row and the instant that its local start turned out to be.
struct Placed<'a> {
    row: &'a CivilRow,
    at: DateTime<Utc>,
    /// Clocks show the start once more after this.
    first_of_two: bool,
}

/// The instants of all rows that have one.
fn place(
    rows: &[CivilRow],
    time_zone: Tz,
) -> Result<(Vec<Placed<'_>>, Vec<PriceFinding>), CivilSeriesError> {
    let step = usual_step(rows);
    let mut placed: Vec<Placed<'_>> = Vec::with_capacity(rows.len());
    let mut findings = Vec::new();
    for row in rows {
        let previous = placed.last();
        let Some(start) = start_instant(row, previous, step, time_zone)? else {
            // Only a skipped time has no instant, so the other case does not occur.
            let Showing::Never { before_jump } = showing(row.start, time_zone) else { continue };
            let (row, local) = (row.row, row.start);
            findings.push(PriceFinding::SkippedTime { row, local, at: before_jump });
            continue;
        };
        // Once the repeated hour is told apart, each start is later than the one before it.
        if let Some(previous) = previous
            && start.at <= previous.at
        {
            return Err(CivilSeriesError::NotChronological {
                row: row.row,
                local: row.start,
                previous_row: previous.row.row,
                previous_local: previous.row.start,
                time_zone,
            });
        }
        if start.second_by_order {
            note_second(&mut findings, row.row, start.at, previous);
        }
        placed.push(Placed { row, at: start.at, first_of_two: start.first_of_two });
    }
    Ok((placed, findings))
}

/// The start of a row as an instant.
struct Start {
    at: DateTime<Utc>,
    first_of_two: bool,
    /// True if only the order of the rows shows that it is a second occurrence.
    second_by_order: bool,
}

/// The instant of a row's local start; `None` if the row is to be dropped.
fn start_instant(
    row: &CivilRow,
    previous: Option<&Placed<'_>>,
    step: Option<i64>,
    time_zone: Tz,
) -> Result<Option<Start>, CivilSeriesError> {
    check_range(row.row, row.start)?;
    let is_called = |at: DateTime<Utc>| {
        row.mark.as_ref().is_none_or(|mark| *mark == name_of_offset(at, time_zone))
    };
    let only = |at| Start { at, first_of_two: false, second_by_order: false };
    let start = match showing(row.start, time_zone) {
        Showing::Never { .. } => {
            return match row.price {
                None => Ok(None),
                Some(price) => {
                    let (row, local) = (row.row, row.start);
                    Err(CivilSeriesError::PricedSkippedTime { row, price, local, time_zone })
                }
            };
        }
        Showing::Once(at) => is_called(at).then(|| only(at)),
        Showing::Twice { first, second } => match (is_called(first), is_called(second)) {
            // No mark tells the two apart, so the order of the rows decides.
            (true, true) => {
                let after = previous.map(|previous| previous.at);
                let is_second = is_second(first, second, after, step);
                let at = if is_second { second } else { first };
                Some(Start { at, first_of_two: !is_second, second_by_order: is_second })
            }
            (true, false) => Some(Start { first_of_two: true, ..only(first) }),
            (false, true) => Some(only(second)),
            (false, false) => None,
        },
    };
    start.map(Some).ok_or_else(|| CivilSeriesError::WrongMark {
        row: row.row,
        local: row.start,
        mark: row.mark.clone().unwrap_or_default(),
        time_zone,
    })
}

/// Abbreviation of a zone's time at an instant, such as `CEST`.
fn name_of_offset(at: DateTime<Utc>, time_zone: Tz) -> String {
    at.with_timezone(&time_zone).format("%Z").to_string()
}

/// Returns true if a time that clocks show twice is the second occurrence, given the instant of the
/// row before and the list's usual step.
fn is_second(
    first: DateTime<Utc>,
    second: DateTime<Utc>,
    after: Option<DateTime<Utc>>,
    step: Option<i64>,
) -> bool {
    let Some(after) = after else {
        return false;
    };
    // Rows are in time order, so the first showing is over.
    if first <= after {
        return true;
    }
    // In a list with missing rows, the showing that keeps the usual step is the likely one.
    let on_grid = |at: DateTime<Utc>| {
        let distance = (at - after).num_microseconds();
        distance.zip(step).is_some_and(|(distance, step)| distance % step == 0)
    };
    !on_grid(first) && on_grid(second)
}

/// The most frequent distance of local times that move on, in microseconds.
fn usual_step(rows: &[CivilRow]) -> Option<i64> {
    let distances = rows
        .windows(2)
        .filter_map(|pair| pair[1].start.signed_duration_since(pair[0].start).num_microseconds());
    most_frequent(distances.filter(|&distance| distance > 0)).map(|(step, _)| step)
}

/// Names a row of the second occurrence; rows that follow each other are one finding.
fn note_second(
    findings: &mut Vec<PriceFinding>,
    row: usize,
    at: DateTime<Utc>,
    previous: Option<&Placed<'_>>,
) {
    if let Some(PriceFinding::SecondShowing { last_row, .. }) = findings.last_mut()
        && previous.is_some_and(|previous| previous.row.row == *last_row)
    {
        *last_row = row;
        return;
    }
    findings.push(PriceFinding::SecondShowing { first_row: row, last_row: row, at });
}

/// The instant of a local end.
///
/// Slots end where clocks show their end, or where clocks run up to it and
/// jump: 02:00 to 03:00 is an hour in the autumn night that repeats this
/// hour, for both showings. `next` is the start of the row after it.
fn end_instant(
    placed: &Placed<'_>,
    end: NaiveDateTime,
    next: Option<DateTime<Utc>>,
    time_zone: Tz,
) -> Result<DateTime<Utc>, CivilSeriesError> {
    let row = placed.row.row;
    check_range(row, end)?;
    let start = placed.at;
    // The end by the offset that holds at the start.
    let unchanged = start + (end - placed.row.start);
    match showing(end, time_zone) {
        Showing::Once(at) => {
            // Clocks run up to this end at `unchanged` and jump back there.
            let runs_up =
                at != unchanged && unchanged > start && clock_runs_up_to(end, unchanged, time_zone);
            let taken = next.is_some_and(|next| next < at);
            Ok(if runs_up && (placed.first_of_two || taken) { unchanged } else { at })
        }
        Showing::Twice { first, second } => {
            // The start rules out the first showing, or the next row begins at the second.
            let is_second = first <= start || next == Some(second);
            Ok(if is_second { second } else { first })
        }
        Showing::Never { before_jump } if clock_runs_up_to(end, before_jump, time_zone) => {
            Ok(before_jump)
        }
        Showing::Never { .. } => Err(CivilSeriesError::SkippedEnd { row, local: end, time_zone }),
    }
}

/// Returns true if clocks, just before `at`, are about to show `local`.
fn clock_runs_up_to(local: NaiveDateTime, at: DateTime<Utc>, time_zone: Tz) -> bool {
    let moment = TimeDelta::microseconds(1);
    local_of(at - moment, time_zone) == local - moment
}

fn check_range(row: usize, local: NaiveDateTime) -> Result<(), CivilSeriesError> {
    if (1..=9999).contains(&local.year()) {
        Ok(())
    } else {
        Err(CivilSeriesError::OutOfRange { row, local })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::price_unit::PriceUnit;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    const BRUSSELS: Tz = chrono_tz::Europe::Brussels;

    fn local(text: &str) -> NaiveDateTime {
        let seconds = if text.len() == 16 { ":00" } else { "" };
        format!("{text}{seconds}").parse().unwrap()
    }

    /// Rows as a list has them: `start | end | price`, end and price optional.
    fn rows_of(text: &str) -> Vec<CivilRow> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate();
        lines
            .map(|(index, line)| {
                let cells: Vec<&str> = line.split('|').map(str::trim).collect();
                let [start, end, price] = cells[..] else { panic!("three cells in {line}") };
                let (start, mark) = start.split_once(' ').unwrap_or((start, ""));
                CivilRow {
                    row: index + 1,
                    start: local(start),
                    mark: (!mark.is_empty()).then(|| mark.to_owned()),
                    end: (!end.is_empty()).then(|| local(end)),
                    price: (!price.is_empty()).then(|| price.parse().unwrap()),
                }
            })
            .collect()
    }

    /// Imports a list and draws its slots as UTC, length and price, or the error.
    #[track_caller]
    fn check(time_zone: Tz, list: &str, expected: &Expect) {
        let options = SeriesOptions::new(PriceUnit::PER_KWH);
        let text = match prices_from_civil(&rows_of(list), time_zone, &options) {
            Err(error) => format!("{error}\n"),
            Ok(imported) => {
                let slots = imported.curve.slots().map(|slot| {
                    let minutes = (slot.end - slot.start).num_minutes();
                    let start = slot.start.format("%d %H:%MZ");
                    format!("{start} {minutes:>4} min {:>5}\n", slot.price.as_per_kwh())
                });
                let notes = imported.notes(time_zone);
                slots.chain(notes.iter().map(|note| format!("* {note}\n"))).collect()
            }
        };
        expected.assert_eq(&text);
    }

    #[test]
    fn the_doubled_hour_in_hours() {
        check(
            BRUSSELS,
            "2023-10-29T01:00 | | 1
             2023-10-29T02:00 | | 2
             2023-10-29T02:00 | | 3
             2023-10-29T03:00 | | 4",
            &expect![[r"
                28 23:00Z   60 min     1
                29 00:00Z   60 min     2
                29 01:00Z   60 min     3
                29 02:00Z   60 min     4
                * row 3 is the second occurrence of times that clocks in Europe/Brussels repeat, from 2023-10-29 02:00 CET
            "]],
        );
    }

    #[test]
    fn the_doubled_hour_in_quarters_with_ends() {
        check(
            BRUSSELS,
            "2023-10-29T02:00 | 2023-10-29T02:15 | 1
             2023-10-29T02:15 | 2023-10-29T02:30 | 2
             2023-10-29T02:30 | 2023-10-29T02:45 | 3
             2023-10-29T02:45 | 2023-10-29T02:00 | 4
             2023-10-29T02:00 | 2023-10-29T02:15 | 5
             2023-10-29T02:15 | 2023-10-29T02:30 | 6
             2023-10-29T02:30 | 2023-10-29T02:45 | 7
             2023-10-29T02:45 | 2023-10-29T03:00 | 8
             2023-10-29T03:00 | 2023-10-29T03:15 | 9",
            &expect![[r"
                29 00:00Z   15 min     1
                29 00:15Z   15 min     2
                29 00:30Z   15 min     3
                29 00:45Z   15 min     4
                29 01:00Z   15 min     5
                29 01:15Z   15 min     6
                29 01:30Z   15 min     7
                29 01:45Z   15 min     8
                29 02:00Z   15 min     9
                * rows 5 to 8 are the second occurrence of times that clocks in Europe/Brussels repeat, from 2023-10-29 02:00 CET
            "]],
        );
    }

    #[test]
    fn a_doubled_hour_that_the_list_has_once_is_the_first() {
        let once = "2023-10-29T01:00 | 2023-10-29T02:00 | 1
                    2023-10-29T02:00 | 2023-10-29T03:00 | 2
                    2023-10-29T03:00 | 2023-10-29T04:00 | 3";
        let expected = expect![[r"
            28 23:00Z   60 min     1
            29 00:00Z   60 min     2
            29 02:00Z   60 min     3
            * 2023-10-29 02:00 CET to 2023-10-29 03:00 CET, the second occurrence of times that clocks repeat, has no row after row 2: a gap
        "]];
        check(BRUSSELS, once, &expected);
        check(
            BRUSSELS,
            "2023-10-29T01:30 | | 1
             2023-10-29T02:00 | | 2
             2023-10-29T02:30 | | 3
             2023-10-29T03:00 | | 4",
            &expect![[r"
                28 23:30Z   30 min     1
                29 00:00Z   30 min     2
                29 00:30Z   30 min     3
                29 02:00Z   30 min     4
                * 2023-10-29 02:00 CET to 2023-10-29 03:00 CET, the second occurrence of times that clocks repeat, has no row after row 3: a gap
            "]],
        );
    }

    #[test]
    fn half_of_the_second_showing_is_missing() {
        check(
            BRUSSELS,
            "2023-10-29T02:00 | | 1
             2023-10-29T02:15 | | 2
             2023-10-29T02:30 | | 3
             2023-10-29T02:45 | | 4
             2023-10-29T02:30 | | 5
             2023-10-29T02:45 | | 6
             2023-10-29T03:00 | | 7",
            &expect![[r"
                29 00:00Z   15 min     1
                29 00:15Z   15 min     2
                29 00:30Z   15 min     3
                29 00:45Z   15 min     4
                29 01:30Z   15 min     5
                29 01:45Z   15 min     6
                29 02:00Z   15 min     7
                * 2023-10-29 02:00 CET to 2023-10-29 02:30 CET, the second occurrence of times that clocks repeat, has no row after row 4: a gap
                * rows 5 to 6 are the second occurrence of times that clocks in Europe/Brussels repeat, from 2023-10-29 02:30 CET
            "]],
        );
    }

    #[test]
    fn a_row_that_says_which_showing_it_is() {
        check(
            BRUSSELS,
            "2023-10-29T01:00 CEST | | 1
             2023-10-29T02:00 CET  | | 2
             2023-10-29T03:00      | | 3",
            &expect![[r"
                28 23:00Z   60 min     1
                29 01:00Z   60 min     2
                29 02:00Z   60 min     3
                * 2023-10-29 02:00 CEST to 2023-10-29 02:00 CET has no row after row 1: a gap
            "]],
        );
        check(
            BRUSSELS,
            "2023-06-01T01:00 CET | | 1",
            &expect![[r"
            row 1 calls 2023-06-01 01:00:00 CET, which clocks in Europe/Brussels do not
        "]],
        );
        check(
            BRUSSELS,
            "2023-10-29T02:00 EST | | 1",
            &expect![[r"
            row 1 calls 2023-10-29 02:00:00 EST, which clocks in Europe/Brussels do not
        "]],
        );
    }

    #[test]
    fn one_time_shown_three_times() {
        check(
            BRUSSELS,
            "2023-10-29T02:00 | | 1
             2023-10-29T02:00 | | 2
             2023-10-29T02:00 | | 3",
            &expect![[r"
                row 3 at 2023-10-29 02:00:00 does not come after row 2 at 2023-10-29 02:00:00 on clocks in Europe/Brussels
            "]],
        );
    }

    #[test]
    fn both_showings_side_by_side_are_not_a_list_in_order() {
        check(
            BRUSSELS,
            "2023-10-29T02:00 | | 1
             2023-10-29T02:00 | | 2
             2023-10-29T02:30 | | 3
             2023-10-29T02:30 | | 4",
            &expect![[r"
                row 4 at 2023-10-29 02:30:00 does not come after row 3 at 2023-10-29 02:30:00 on clocks in Europe/Brussels
            "]],
        );
    }

    #[test]
    fn the_skipped_hour() {
        check(
            BRUSSELS,
            "2023-03-26T00:00 | | 1
             2023-03-26T01:00 | | 2
             2023-03-26T02:00 | | 
             2023-03-26T03:00 | | 3",
            &expect![[r"
                25 23:00Z   60 min     1
                26 00:00Z   60 min     2
                26 01:00Z   60 min     3
                * row 3 was dropped: it has no price, and clocks in Europe/Brussels skip 2023-03-26 02:00
            "]],
        );
        check(
            BRUSSELS,
            "2023-03-26T01:00 | 2023-03-26T02:00 | 1
             2023-03-26T03:00 | 2023-03-26T04:00 | 2",
            &expect![[r"
                26 00:00Z   60 min     1
                26 01:00Z   60 min     2
            "]],
        );
        check(
            BRUSSELS,
            "2023-03-26T01:00 | 2023-03-26T03:00 | 1
             2023-03-26T03:00 | 2023-03-26T04:00 | 2",
            &expect![[r"
                26 00:00Z   60 min     1
                26 01:00Z   60 min     2
            "]],
        );
    }

    #[test]
    fn a_price_in_the_skipped_hour_is_refused() {
        check(
            BRUSSELS,
            "2023-03-26T01:00 | | 1
             2023-03-26T02:00 | | 0",
            &expect![[r"
                row 2 has the price 0 at 2023-03-26 02:00:00, which clocks in Europe/Brussels skip
            "]],
        );
        check(
            BRUSSELS,
            "2023-03-26T00:00 | 2023-03-26T02:30 | 1",
            &expect![[r"
            row 1 ends at 2023-03-26 02:30:00, which clocks in Europe/Brussels skip
        "]],
        );
    }

    #[test]
    fn empty_prices_and_missing_rows_are_gaps() {
        check(
            BRUSSELS,
            "2023-06-01T00:00 | | 
             2023-06-01T01:00 | | 1
             2023-06-01T02:00 | | 
             2023-06-01T03:00 | | 
             2023-06-01T04:00 | | 2
             2023-06-01T07:00 | | -1
             2023-06-01T08:00 | |",
            &expect![[r"
                31 23:00Z   60 min     1
                01 02:00Z   60 min     2
                01 05:00Z   60 min    -1
                * row 1 has no price: 2023-06-01 00:00 CEST to 2023-06-01 01:00 CEST is a gap
                * rows 3 to 4 have no price: 2023-06-01 02:00 CEST to 2023-06-01 04:00 CEST is a gap
                * 2023-06-01 05:00 CEST to 2023-06-01 07:00 CEST has no row after row 5: a gap
                * row 7 has no price: 2023-06-01 08:00 CEST to 2023-06-01 09:00 CEST is a gap
            "]],
        );
    }

    #[test]
    fn a_tariff_of_blocks_covers_both_showings() {
        check(
            BRUSSELS,
            "2023-10-28T22:00 | 2023-10-29T06:00 | 1
             2023-10-29T06:00 | 2023-10-29T22:00 | 2
             2023-10-29T22:00 | 2023-10-30T00:00 | 3",
            &expect![[r"
                28 20:00Z  540 min     1
                29 05:00Z  960 min     2
                29 21:00Z  120 min     3
            "]],
        );
        check(
            BRUSSELS,
            "2023-10-29T01:00 | 2023-10-29T03:00 | 1
             2023-10-29T02:00 | 2023-10-29T03:00 | 2",
            &expect![[r"
                row 1 ends at 2023-10-29 02:00:00 CET, after the start of row 2 at 2023-10-29 02:00:00 CEST
            "]],
        );
    }

    #[test]
    fn out_of_order_doubled_or_overlapping_rows_are_refused() {
        check(
            BRUSSELS,
            "2023-06-01T01:00 | | 1
             2023-06-01T00:00 | | 2",
            &expect![[r"
                row 2 at 2023-06-01 00:00:00 does not come after row 1 at 2023-06-01 01:00:00 on clocks in Europe/Brussels
            "]],
        );
        check(
            BRUSSELS,
            "2023-06-01T01:00 | | 1
             2023-06-01T01:00 | | 2",
            &expect![[r"
                row 2 at 2023-06-01 01:00:00 does not come after row 1 at 2023-06-01 01:00:00 on clocks in Europe/Brussels
            "]],
        );
        check(
            BRUSSELS,
            "2023-06-01T01:00 | 2023-06-01T02:30 | 1
             2023-06-01T02:00 | 2023-06-01T03:00 | 2",
            &expect![[r"
                row 1 ends at 2023-06-01 02:30:00 CEST, after the start of row 2 at 2023-06-01 02:00:00 CEST
            "]],
        );
        check(
            BRUSSELS,
            "2023-06-01T01:00 | 2023-06-01T01:00 | 1",
            &expect![[r"
            row 1 ends at 2023-06-01 01:00:00 CEST, not after its start at 2023-06-01 01:00:00 CEST
        "]],
        );
        check(
            BRUSSELS,
            "2023-06-01T01:00 | | 1",
            &expect![[r"
            row 1 is the only one and names no end: the length of its slot is not known
        "]],
        );
        check(
            BRUSSELS,
            "",
            &expect![[r"
            the list has no rows
        "]],
        );
        check(
            BRUSSELS,
            "2023-06-01T01:00 | 2023-06-01T02:00 | NaN",
            &expect![[r"
            row 1: the price NaN is not a finite number
        "]],
        );
    }

    #[test]
    fn a_list_that_goes_from_hours_to_quarters() {
        check(
            BRUSSELS,
            "2025-09-30T20:00 | | 1
             2025-09-30T21:00 | | 2
             2025-09-30T22:00 | | 3
             2025-09-30T23:00 | | 4
             2025-10-01T00:00 | | 5
             2025-10-01T00:15 | | 6
             2025-10-01T00:30 | | 7
             2025-10-01T01:00 | | 8
             2025-10-01T01:15 | | 9
             2025-10-01T01:30 | | 10",
            &expect![[r"
                30 18:00Z   60 min     1
                30 19:00Z   60 min     2
                30 20:00Z   60 min     3
                30 21:00Z   60 min     4
                30 22:00Z   15 min     5
                30 22:15Z   15 min     6
                30 22:30Z   15 min     7
                30 23:00Z   15 min     8
                30 23:15Z   15 min     9
                30 23:30Z   15 min    10
                * from row 5 at 2025-10-01 00:00 CEST on, slots last 15 min instead of 1 h
                * 2025-10-01 00:45 CEST to 2025-10-01 01:00 CEST has no row after row 7: a gap
            "]],
        );
    }

    #[test]
    fn half_an_hour_is_repeated_on_lord_howe_island() {
        check(
            chrono_tz::Australia::Lord_Howe,
            "2026-04-05T01:00 | 2026-04-05T01:30 | 1
             2026-04-05T01:30 | 2026-04-05T02:00 | 2
             2026-04-05T01:30 | 2026-04-05T02:00 | 3
             2026-04-05T02:00 | 2026-04-05T02:30 | 4",
            &expect![[r"
                04 14:00Z   30 min     1
                04 14:30Z   30 min     2
                04 15:00Z   30 min     3
                04 15:30Z   30 min     4
                * row 3 is the second occurrence of times that clocks in Australia/Lord_Howe repeat, from 2026-04-05 01:30 +1030
            "]],
        );
        // Hours that are whole in UTC: one of them starts at the second 01:30.
        check(
            chrono_tz::Australia::Lord_Howe,
            "2026-04-05T00:00 | | 1
             2026-04-05T01:00 | | 2
             2026-04-05T01:30 | | 3
             2026-04-05T02:30 | | 4",
            &expect![[r"
                04 13:00Z   60 min     1
                04 14:00Z   60 min     2
                04 15:00Z   60 min     3
                04 16:00Z   60 min     4
                * row 3 is the second occurrence of times that clocks in Australia/Lord_Howe repeat, from 2026-04-05 01:30 +1030
            "]],
        );
    }

    #[test]
    fn a_given_step_and_prices_that_hold() {
        let rows = rows_of(
            "2023-06-01T00:00 | | 1
             2023-06-01T06:00 | | 2",
        );
        let unit = PriceUnit::PER_KWH;
        let quarter = Some(TimeDelta::minutes(15));
        let cut = SeriesOptions { step: quarter, ..SeriesOptions::new(unit) };
        let imported = prices_from_civil(&rows, BRUSSELS, &cut).unwrap();
        let minutes = |imported: &ImportedPrices| -> Vec<i64> {
            imported.curve.slots().map(|slot| (slot.end - slot.start).num_minutes()).collect()
        };
        assert_eq!(minutes(&imported), [15, 15]);
        let held = SeriesOptions { holds_until_next: true, ..cut };
        let imported = prices_from_civil(&rows, BRUSSELS, &held).unwrap();
        assert_eq!(minutes(&imported), [360, 15]);
        let none = SeriesOptions { step: Some(TimeDelta::zero()), ..cut };
        let error = prices_from_civil(&rows, BRUSSELS, &none).unwrap_err();
        assert_eq!(error.to_string(), "a slot of 0 s has no length");
    }

    /// Zones with every kind of change: by an hour, by half an hour, by two,
    /// at midnight, south of the equator, with winter time as the exception,
    /// across the date line's neighbourhood, and with none at all.
    const ZONES: [Tz; 12] = [
        chrono_tz::Europe::Brussels,
        chrono_tz::Europe::London,
        chrono_tz::Europe::Dublin,
        chrono_tz::Atlantic::Azores,
        chrono_tz::America::New_York,
        chrono_tz::America::Asuncion,
        chrono_tz::America::St_Johns,
        chrono_tz::Africa::Casablanca,
        chrono_tz::Asia::Beirut,
        chrono_tz::Australia::Lord_Howe,
        chrono_tz::Antarctica::Troll,
        chrono_tz::Asia::Kolkata,
    ];

    /// Instants, to the quarter hour, at which the offset of a zone changes.
    fn changes_of(time_zone: Tz) -> Vec<DateTime<Utc>> {
        let start: DateTime<Utc> = "2020-01-01T00:00:00Z".parse().unwrap();
        let offset = |at: DateTime<Utc>| local_of(at, time_zone) - at.naive_utc();
        (0..11 * 366 * 96)
            .map(|quarter| start + TimeDelta::minutes(15) * quarter)
            .filter(|&at| offset(at) != offset(at - TimeDelta::minutes(15)))
            .collect()
    }

    /// Slots of `step` minutes around `change`, whole in UTC, written as a
    /// list of local times, give the same slots again.
    #[track_caller]
    fn round_trip(time_zone: Tz, change: DateTime<Utc>, step: i32, with_ends: bool) {
        let count = 60 * 60 / step;
        let step = TimeDelta::minutes(i64::from(step));
        let from = change - TimeDelta::hours(30);
        let starts: Vec<DateTime<Utc>> = (0..count).map(|index| from + step * index).collect();
        let rows: Vec<CivilRow> = starts
            .iter()
            .enumerate()
            .map(|(index, &at)| CivilRow {
                row: index + 1,
                start: local_of(at, time_zone),
                mark: None,
                end: with_ends.then(|| local_of(at + step, time_zone)),
                price: Some(0.5),
            })
            .collect();
        let options = SeriesOptions::new(PriceUnit::PER_KWH);
        let imported = prices_from_civil(&rows, time_zone, &options).unwrap();
        let slots: Vec<_> = imported.curve.horizon().periods().collect();
        let expected: Vec<_> = starts.iter().map(|&at| (at, at + step)).collect();
        assert_eq!(slots, expected, "{time_zone} at {change}, {step}, ends: {with_ends}");
        assert!(imported.gaps().is_empty());
    }

    #[test]
    fn every_change_of_clocks_survives_a_round_trip() {
        for zone in ZONES {
            let changes = changes_of(zone);
            assert_eq!(changes.is_empty(), zone == chrono_tz::Asia::Kolkata, "{zone}");
            for change in changes {
                for step in [5, 15, 30, 60] {
                    round_trip(zone, change, step, false);
                    round_trip(zone, change, step, true);
                }
            }
        }
    }

    proptest! {
        /// Rows left out of a list become gaps of exactly their length, in
        /// any zone and season; no slot moves and none is longer.
        #[test]
        fn rows_left_out_are_gaps(
            zone in 0..ZONES.len(), hours in 0..24 * 366 * 10i64,
            kept in prop::collection::vec(any::<bool>(), 3..60),
        ) {
            let zone = ZONES[zone];
            let from: DateTime<Utc> = "2020-01-01T00:00:00Z".parse().unwrap();
            let from = from + TimeDelta::hours(hours);
            let step = TimeDelta::minutes(15);
            let starts = (0..).map(|index| from + step * index);
            let starts: Vec<DateTime<Utc>> =
                starts.zip(&kept).filter(|(_, kept)| **kept).map(|(at, _)| at).collect();
            prop_assume!(!starts.is_empty());
            // Two showings cannot be told apart where the rows that would show it are gone.
            prop_assume!(starts.iter().all(|&at| {
                !matches!(showing(local_of(at, zone), zone), Showing::Twice { .. })
            }));
            let rows: Vec<CivilRow> = starts.iter().map(|&at| CivilRow {
                row: 1, start: local_of(at, zone), mark: None, end: None, price: Some(0.5),
            }).collect();
            let options = SeriesOptions {
                step: Some(step), ..SeriesOptions::new(PriceUnit::PER_KWH)
            };
            let imported = prices_from_civil(&rows, zone, &options).unwrap();
            let expected: Vec<_> = starts.iter().map(|&at| (at, at + step)).collect();
            prop_assert_eq!(imported.curve.horizon().periods().collect::<Vec<_>>(), expected);
            prop_assert_eq!(imported.gaps(), imported.curve.gaps());
        }
    }
}

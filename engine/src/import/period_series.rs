//! Price lists of numbered positions inside periods.
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;

use crate::import::finding::{ImportedPrices, PriceFinding};
use crate::import::price_unit::PriceUnit;
use crate::import::series::{InstantRow, SeriesError, SeriesOptions, assemble};

/// A price at a position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PricePoint {
    /// Number of the row as its reader counts.
    pub row: usize,
    /// Position in its period; the first is 1.
    pub position: u32,
    /// The number given for the price; `None` where it is empty.
    pub price: Option<f64>,
}

/// A period that positions divide evenly.
#[derive(Debug, Clone, PartialEq)]
pub struct PointPeriod {
    /// Number of the row, as its reader counts, at which the period starts.
    pub row: usize,
    /// First instant of position 1.
    pub start: DateTime<Utc>,
    /// First instant after the last position.
    pub end: DateTime<Utc>,
    /// Length of a position, such as a quarter of an hour.
    pub resolution: TimeDelta,
    /// A position without a point repeats the price of the position before,
    /// as in lists of curve type A03. Otherwise it is a gap.
    pub repeats_missing: bool,
    /// The points, by position.
    pub points: Vec<PricePoint>,
}

/// Invalid periods of a price list with positions.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PeriodSeriesError {
    /// The resolution does not divide the period into positions.
    #[error(
        "the period at row {row} from {start} to {end} is no whole number of positions of {} s",
        resolution.num_seconds()
    )]
    Uneven {
        /// Row of the period.
        row: usize,
        /// Its start.
        start: DateTime<Utc>,
        /// Its end.
        end: DateTime<Utc>,
        /// Length of a position.
        resolution: TimeDelta,
    },
    /// Periods lie further apart than any price list is long.
    #[error("periods reach from {start} to {end}; a price list covers {DAYS_MAX} days at most")]
    TooLong {
        /// Start of the first period.
        start: DateTime<Utc>,
        /// End of the last period.
        end: DateTime<Utc>,
    },
    /// A position outside the period.
    #[error("row {row}: position {position} lies outside the positions 1 to {last} of its period")]
    Outside {
        /// Row of the point.
        row: usize,
        /// Its position.
        position: u32,
        /// Last position of the period.
        last: u32,
    },
    /// A position is not above the one ahead of it.
    #[error("row {row}: position {position} does not come after position {previous}")]
    NotAscending {
        /// Row of the point.
        row: usize,
        /// Its position.
        position: u32,
        /// Position of the point ahead of it.
        previous: u32,
    },
    /// The slots of the points are no price list.
    #[error(transparent)]
    Series(#[from] SeriesError),
}

/// Most days from the start of the first period to the end of the last: ten years.
pub(crate) const DAYS_MAX: i64 = 3_660;

/// Prices from periods in which points stand at numbered positions.
///
/// Periods may come in any order, since each names its own start; they may
/// differ in resolution and leave gaps, but not overlap. A position without a
/// point is a gap, at the edges of a period, too, unless the period says that
/// it repeats the price before; how many were repeated is named in the
/// findings. A first position has nothing to repeat and stays a gap.
///
/// # Errors
/// A resolution that does not divide its period, positions outside of it or
/// out of order, periods that overlap, a price that is no finite number, no
/// point at all.
///
/// # Example: two hours of quarters, told in three points
///
/// ```
/// use chrono::TimeDelta;
/// use slackwater_engine::import::period_series::{PointPeriod, PricePoint, prices_from_periods};
/// use slackwater_engine::import::price_unit::PriceUnit;
/// let point = |row, position, price| PricePoint { row, position, price: Some(price) };
/// let evening = PointPeriod {
///     row: 10,
///     start: "2026-01-05T18:00:00Z".parse().unwrap(),
///     end: "2026-01-05T20:00:00Z".parse().unwrap(),
///     resolution: TimeDelta::minutes(15),
///     repeats_missing: true,
///     points: vec![point(11, 1, 90.0), point(12, 4, 80.0), point(13, 5, 70.0)],
/// };
/// let repeated = prices_from_periods(&[evening.clone()], PriceUnit::PER_MWH)?;
/// assert_eq!(repeated.curve.prices(), [0.09, 0.09, 0.09, 0.08, 0.07, 0.07, 0.07, 0.07]);
/// assert!(repeated.gaps().is_empty());
/// let as_given = PointPeriod { repeats_missing: false, ..evening };
/// let as_given = prices_from_periods(&[as_given], PriceUnit::PER_MWH)?;
/// assert_eq!(
///     as_given.notes(chrono_tz::UTC),
///     [
///         "2026-01-05 18:15 UTC to 2026-01-05 18:45 UTC has no row after row 11: a gap",
///         "2026-01-05 19:15 UTC to 2026-01-05 20:00 UTC has no row after row 13: a gap",
///     ]
/// );
/// # Ok::<(), slackwater_engine::import::period_series::PeriodSeriesError>(())
/// ```
pub fn prices_from_periods(
    periods: &[PointPeriod],
    unit: PriceUnit,
) -> Result<ImportedPrices, PeriodSeriesError> {
    let mut oldest_first: Vec<&PointPeriod> = periods.iter().collect();
    oldest_first.sort_by_key(|period| period.start);
    // Checked before slots are made: a period that repeats prices has one for each position.
    if let Some(first) = oldest_first.first() {
        let (start, ends) = (first.start, oldest_first.iter().map(|period| period.end));
        let end = ends.fold(start, DateTime::max);
        if end - start > TimeDelta::days(DAYS_MAX) {
            return Err(PeriodSeriesError::TooLong { start, end });
        }
    }
    let mut rows = Vec::new();
    let mut findings = Vec::new();
    for period in &oldest_first {
        let joint = rows.len();
        add_period(period, &mut rows, &mut findings)?;
        // Slots that overlap are refused below. Further periods, each of ten years, would only fill
        // the memory.
        let before = joint.checked_sub(1).and_then(|last| rows[last].end);
        if before.zip(rows.get(joint)).is_some_and(|(end, first)| first.start < end) {
            break;
        }
    }
    if let (Some(first), Some(last)) = (oldest_first.first(), oldest_first.last()) {
        findings.extend(edges(first.start, last.end, &rows));
    }
    Ok(assemble(&rows, &SeriesOptions::new(unit), Tz::UTC, findings)?)
}

/// Adds the slots of a period's points.
fn add_period(
    period: &PointPeriod,
    rows: &mut Vec<InstantRow>,
    findings: &mut Vec<PriceFinding>,
) -> Result<(), PeriodSeriesError> {
    let last = positions_in(period)?;
    let start_of = |position: u32| {
        let offset = period.resolution.num_microseconds().unwrap_or(0) * i64::from(position - 1);
        period.start + TimeDelta::microseconds(offset)
    };
    let mut previous = 0;
    for (index, point) in period.points.iter().enumerate() {
        let PricePoint { row, position, price } = *point;
        if !(1..=last).contains(&position) {
            return Err(PeriodSeriesError::Outside { row, position, last });
        }
        if position <= previous {
            return Err(PeriodSeriesError::NotAscending { row, position, previous });
        }
        previous = position;
        // A repeated price holds until the next point, or else until the end of the period.
        let next = period.points.get(index + 1).map_or(last + 1, |next| next.position);
        // A next point out of order is refused in its own turn, and must not shorten this one.
        let end_position =
            if period.repeats_missing { next.max(position + 1) } else { position + 1 };
        let end_position = end_position.min(last + 1);
        let count = (position + 1..end_position).len();
        if count > 0 {
            let at = start_of(position + 1);
            findings.push(PriceFinding::RepeatedPrices { count, at });
        }
        // A slot for each position: curves of even slots are the fastest to plan on.
        rows.extend((position..end_position).map(|position| {
            let (start, end) = (start_of(position), Some(start_of(position + 1)));
            InstantRow { row, start, end, price }
        }));
    }
    Ok(())
}

/// Number of positions in a period.
fn positions_in(period: &PointPeriod) -> Result<u32, PeriodSeriesError> {
    let PointPeriod { row, start, end, resolution, .. } = *period;
    let length = (end - start).num_microseconds().filter(|&length| length > 0);
    let step = resolution.num_microseconds().filter(|&step| step > 0);
    length
        .zip(step)
        .filter(|(length, step)| length % step == 0)
        .and_then(|(length, step)| u32::try_from(length / step).ok())
        .filter(|&count| count < u32::MAX)
        .ok_or(PeriodSeriesError::Uneven { row, start, end, resolution })
}

/// Gaps ahead of the first point and after the last.
fn edges(
    from: DateTime<Utc>,
    to: DateTime<Utc>,
    rows: &[InstantRow],
) -> impl Iterator<Item = PriceFinding> {
    let gap = |after_row, from, to| {
        (from < to).then_some(PriceFinding::MissingRows {
            after_row,
            from,
            to,
            second_showing: false,
        })
    };
    let ahead = rows.first().and_then(|first| gap(None, from, first.start));
    let after = rows.last().and_then(|last| gap(Some(last.row), last.end?, to));
    ahead.into_iter().chain(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    /// A period from 18:00Z with points at positions; row 1 is the period.
    fn period(hours: i64, minutes: i64, points: &[(u32, f64)]) -> PointPeriod {
        let start = at("2026-01-05T18:00:00Z");
        let points = points.iter().enumerate().map(|(index, &(position, price))| PricePoint {
            row: index + 2,
            position,
            price: Some(price),
        });
        PointPeriod {
            row: 1,
            start,
            end: start + TimeDelta::hours(hours),
            resolution: TimeDelta::minutes(minutes),
            repeats_missing: true,
            points: points.collect(),
        }
    }

    #[track_caller]
    fn check(periods: &[PointPeriod], expected: &Expect) {
        let text = match prices_from_periods(periods, PriceUnit::PER_MWH) {
            Err(error) => format!("{error}\n"),
            Ok(imported) => {
                let slots = imported.curve.slots().map(|slot| {
                    let minutes = (slot.end - slot.start).num_minutes();
                    format!(
                        "{} {minutes:>3} min {}\n",
                        slot.start.format("%H:%MZ"),
                        slot.price.as_per_kwh()
                    )
                });
                let notes = imported.notes(Tz::UTC);
                slots.chain(notes.iter().map(|note| format!("* {note}\n"))).collect()
            }
        };
        expected.assert_eq(&text);
    }

    #[test]
    fn periods_of_one_time_are_refused_before_they_fill_the_memory() {
        let ten_years = period(24 * DAYS_MAX, 15, &[(1, 90.0)]);
        let error = prices_from_periods(&vec![ten_years; 5_000], PriceUnit::PER_MWH).unwrap_err();
        assert!(error.to_string().contains("does not come after"), "{error}");
    }

    #[test]
    fn positions_left_out() {
        let night = period(2, 30, &[(2, 90.0), (4, 80.0)]);
        let as_given = PointPeriod { repeats_missing: false, ..night.clone() };
        check(
            &[as_given],
            &expect![[r"
            18:30Z  30 min 0.09
            19:30Z  30 min 0.08
            * 2026-01-05 18:00 UTC to 2026-01-05 18:30 UTC has no row: a gap
            * 2026-01-05 19:00 UTC to 2026-01-05 19:30 UTC has no row after row 2: a gap
        "]],
        );
        check(
            &[night],
            &expect![[r"
            18:30Z  30 min 0.09
            19:00Z  30 min 0.09
            19:30Z  30 min 0.08
            * 2026-01-05 18:00 UTC to 2026-01-05 18:30 UTC has no row: a gap
            * 1 period without a row of its own repeats the price before, the first at 2026-01-05 19:00 UTC
        "]],
        );
    }

    #[test]
    fn periods_in_any_order_and_of_any_resolution() {
        let mut later = period(1, 30, &[(1, 30.0), (2, 40.0)]);
        later.start = at("2026-01-05T20:00:00Z");
        later.end = at("2026-01-05T21:00:00Z");
        let earlier = period(1, 60, &[(1, 10.0)]);
        check(
            &[later, earlier],
            &expect![[r"
            18:00Z  60 min 0.01
            20:00Z  30 min 0.03
            20:30Z  30 min 0.04
            * 2026-01-05 19:00 UTC to 2026-01-05 20:00 UTC has no row after row 2: a gap
        "]],
        );
    }

    #[test]
    fn two_resolutions_of_one_hour_overlap() {
        let hours = period(1, 60, &[(1, 10.0)]);
        let halves = period(1, 30, &[(1, 10.0), (2, 20.0)]);
        check(
            &[hours, halves],
            &expect![[r"
            row 2 at 2026-01-05 18:00:00 UTC does not come after row 2 at 2026-01-05 18:00:00 UTC
        "]],
        );
    }

    #[test]
    fn positions_that_make_no_sense() {
        check(
            &[period(1, 30, &[(0, 1.0)])],
            &expect![[r"
            row 2: position 0 lies outside the positions 1 to 2 of its period
        "]],
        );
        check(
            &[period(1, 30, &[(1, 1.0), (3, 1.0)])],
            &expect![[r"
            row 3: position 3 lies outside the positions 1 to 2 of its period
        "]],
        );
        check(
            &[period(1, 30, &[(2, 1.0), (1, 1.0)])],
            &expect![[r"
            row 3: position 1 does not come after position 2
        "]],
        );
        check(
            &[period(1, 45, &[(1, 1.0)])],
            &expect![[r"
            the period at row 1 from 2026-01-05 18:00:00 UTC to 2026-01-05 19:00:00 UTC is no whole number of positions of 2700 s
        "]],
        );
        check(
            &[period(1, 0, &[(1, 1.0)])],
            &expect![[r"
            the period at row 1 from 2026-01-05 18:00:00 UTC to 2026-01-05 19:00:00 UTC is no whole number of positions of 0 s
        "]],
        );
        check(
            &[period(0, 30, &[(1, 1.0)])],
            &expect![[r"
            the period at row 1 from 2026-01-05 18:00:00 UTC to 2026-01-05 18:00:00 UTC is no whole number of positions of 1800 s
        "]],
        );
        check(
            &[period(1, 30, &[])],
            &expect![[r"
            the list has no rows
        "]],
        );
        check(
            &[],
            &expect![[r"
            the list has no rows
        "]],
        );
        check(
            &[period(1, 30, &[(1, f64::INFINITY)])],
            &expect![[r"
            row 2: the price inf is not a finite number
        "]],
        );
    }
}

//! Energy by hour and weekday, on the clock of a place.
use chrono::{Datelike, Timelike};
use chrono_tz::Tz;

use crate::statistics::charging::Item;
use crate::units::Energy;

/// Energy of 24 hours of seven days, from Monday on.
pub type HoursOfWeek = [[Energy; 24]; 7];

/// Sums up a series by the weekday and the hour that the clock of a place
/// showed at the start of each bucket.
///
/// Give it quarters of an hour without an offset: they are short enough for
/// every zone, whatever minute it is ahead of UTC. The hour that comes twice
/// when clocks go back is summed up once more, the one that is skipped is
/// there with what other weeks have in it.
///
/// # Example: half past eleven in the evening is past midnight in Berlin
///
/// ```
/// use slackwater_engine::statistics::charging::series;
/// use slackwater_engine::statistics::range::Range;
/// use slackwater_engine::statistics::resolution::{Buckets, Resolution, UtcOffset};
/// use slackwater_engine::statistics::sample::Sample;
/// use slackwater_engine::statistics::week::hours_of_week;
/// use slackwater_engine::units::{kw, kwh};
/// let late_on_monday = Sample {
///     start: "2024-01-01T23:30:00Z".parse().unwrap(),
///     end: "2024-01-01T23:45:00Z".parse().unwrap(),
///     power: Some(kw(8.0)),
///     price: None,
///     non_smart: None,
/// };
/// let quarters = Buckets::new(Resolution::QuarterHour, UtcOffset::default());
/// let items = series(&[late_on_monday], quarters, Range::all())?;
/// let week = hours_of_week(&items, "Europe/Berlin".parse().unwrap());
/// assert_eq!(week[1][0], kwh(2.0));
/// # Ok::<(), slackwater_engine::statistics::sample::SampleError>(())
/// ```
#[must_use]
pub fn hours_of_week(items: &[Item], time_zone: Tz) -> HoursOfWeek {
    let mut week = [[Energy::ZERO; 24]; 7];
    for item in items {
        let local = item.label.with_timezone(&time_zone);
        let day = local.weekday().num_days_from_monday() as usize;
        let sum = &mut week[day][local.hour() as usize];
        *sum = *sum + item.totals.energy;
    }
    week
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::charging::series;
    use crate::statistics::range::Range;
    use crate::statistics::resolution::{Buckets, Resolution, UtcOffset};
    use crate::statistics::sample::Sample;
    use crate::units::{kw, kwh};

    fn week(start: &str, end: &str, zone: &str) -> HoursOfWeek {
        let (start, end) = (start.parse().unwrap(), end.parse().unwrap());
        let constant = Sample { start, end, power: Some(kw(1.0)), price: None, non_smart: None };
        let quarters = Buckets::new(Resolution::QuarterHour, UtcOffset::default());
        let items = series(&[constant], quarters, Range::all()).unwrap();
        hours_of_week(&items, zone.parse().unwrap())
    }

    #[test]
    fn an_hour_that_comes_twice_counts_twice_and_a_skipped_one_not_at_all() {
        let autumn = week("2024-10-20T22:00:00Z", "2024-10-27T23:00:00Z", "Europe/Berlin");
        assert_eq!((autumn[6][1], autumn[6][2], autumn[6][3]), (kwh(1.0), kwh(2.0), kwh(1.0)));
        let spring = week("2024-03-24T23:00:00Z", "2024-03-31T22:00:00Z", "Europe/Berlin");
        assert_eq!((spring[6][1], spring[6][2], spring[6][3]), (kwh(1.0), kwh(0.0), kwh(1.0)));
        let sum: f64 = spring.iter().flatten().map(|energy| energy.as_kwh()).sum();
        assert_eq!(sum.to_bits(), 167.0_f64.to_bits());
    }

    #[test]
    fn zones_may_be_ahead_by_a_quarter_of_an_hour() {
        let quarter = week("2024-01-01T18:00:00Z", "2024-01-01T18:30:00Z", "Asia/Kathmandu");
        assert_eq!((quarter[0][23], quarter[1][0]), (kwh(0.25), kwh(0.25)));
    }
}

//! Totals of one charging session.
use chrono::{DateTime, Utc};

use crate::statistics::charging::total;
use crate::statistics::range::Range;
use crate::statistics::sample::{Sample, SampleError};
use crate::statistics::totals::Totals;

/// The sums of one session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SessionItem {
    /// First instant of the first sample in which something was measured.
    pub from: DateTime<Utc>,
    /// First instant after the last of them.
    pub to: DateTime<Utc>,
    /// Sums of the samples.
    pub totals: Totals,
}

/// Sums up the samples of one session; `None` if nothing was measured.
///
/// Pauses inside a session are not counted: means are over the measured time. Samples may be in
/// any order.
///
/// # Errors
/// A sample has no length.
pub fn session(samples: &[Sample]) -> Result<Option<SessionItem>, SampleError> {
    let totals = total(samples, Range::all())?;
    let measured = || samples.iter().filter(|sample| sample.power.is_some());
    let from = measured().map(|sample| sample.start).min();
    let to = measured().map(|sample| sample.end).max();
    Ok(from.zip(to).map(|(from, to)| SessionItem { from, to, totals }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::charging::tests::sample;
    use crate::units::kw;

    #[test]
    fn a_session_without_smart_charging_has_no_savings() {
        let item = session(&[sample(120, 60, 8.0, 10.0)]).unwrap().unwrap();
        assert_eq!(item.from.to_rfc3339(), "2024-01-01T02:00:00+00:00");
        assert_eq!(item.to.to_rfc3339(), "2024-01-01T03:00:00+00:00");
        assert_eq!(item.totals.non_smart, None);
        assert_eq!(item.totals.cost.as_units().to_bits(), 0.8_f64.to_bits());
    }

    #[test]
    fn the_course_without_smart_charging_is_no_part_of_the_session() {
        let mut evening = sample(0, 60, 0.0, 35.0);
        (evening.power, evening.non_smart) = (None, Some(kw(8.0)));
        let mut night = sample(120, 60, 8.0, 10.0);
        night.non_smart = Some(kw(0.0));
        let item = session(&[evening, night]).unwrap().unwrap();
        assert_eq!(item.from, night.start);
        let instead = item.totals.non_smart.unwrap();
        assert_eq!(instead.savings.to_string(), "2.000000000000");
        assert_eq!(session(&[evening]), Ok(None));
    }
}

//! Exponential backoff with jitter.
use chrono::TimeDelta;

/// After a first failure; each further one doubles it, up to [`LONGEST`].
pub(crate) const FIRST: TimeDelta = TimeDelta::seconds(5);

/// The longest wait.
pub(crate) const LONGEST: TimeDelta = TimeDelta::hours(1);

/// Wait after the `failures`-th consecutive failure, counted from one.
///
/// The wait doubles with each failure. Half of it is fixed, and `dice`, drawn each time from its
/// full range, determines the other half, so that callers that failed together do not retry
/// together. Zero failures give no wait.
///
/// # Example: the third failure
///
/// Twenty seconds, of which ten are certain.
///
/// ```
/// use chrono::TimeDelta;
/// use slackwater_engine::time::backoff::wait;
///
/// assert_eq!(wait(3, 0), TimeDelta::seconds(10));
/// assert_eq!(wait(3, u16::MAX), TimeDelta::seconds(20));
/// ```
#[must_use]
pub fn wait(failures: u32, dice: u16) -> TimeDelta {
    let Some(doublings) = failures.checked_sub(1) else { return TimeDelta::zero() };
    // Twenty doublings exceed the longest wait already.
    let doubled = FIRST.checked_mul(2_i32.pow(doublings.min(20)));
    let whole = doubled.map_or(LONGEST, |doubled| doubled.min(LONGEST));
    let half_micros = whole.num_microseconds().unwrap_or_default() / 2;
    let drawn = half_micros * i64::from(dice) / i64::from(u16::MAX);
    TimeDelta::microseconds(half_micros + drawn)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn waits_double_up_to_an_hour() {
        let longest: Vec<i64> =
            (0..13).map(|failures| wait(failures, u16::MAX).num_seconds()).collect();
        assert_eq!(longest, [0, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]);
        assert_eq!(wait(u32::MAX, u16::MAX), LONGEST);
    }

    proptest! {
        #[test]
        fn a_wait_lies_between_half_and_whole(failures in 1_u32..200, dice: u16) {
            let (least, most) = (wait(failures, 0), wait(failures, u16::MAX));
            let drawn = wait(failures, dice);
            prop_assert!(least <= drawn && drawn <= most);
            prop_assert_eq!(least * 2, most);
            prop_assert!(FIRST <= most && most <= LONGEST);
            prop_assert!(most <= wait(failures + 1, u16::MAX));
        }
    }
}

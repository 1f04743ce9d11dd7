//! Intervals between polls of a device.
use chrono::{DateTime, TimeDelta, Utc};

use crate::device::power_state::PowerState;

/// Result of the last poll of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The device responded; the power state is given for devices that charge.
    Live(Option<PowerState>),
    /// The manufacturer responded and the device did not: it sleeps or has no network.
    Silent,
    /// Its manufacturer did not answer, so many times on end, counting from one.
    Failed(u32),
}

/// Between polls of a device that charges, or is about to.
const CHARGING: TimeDelta = TimeDelta::minutes(2);

/// Interval for an idle device.
const RESTING: TimeDelta = TimeDelta::minutes(7);

/// Between polls of a device that does not answer. It may wake at any time, and
/// is then read before its data are ten minutes old, the maximum age of LIM-04.
const SILENT: TimeDelta = TimeDelta::minutes(9);

/// Shortest time from one poll of a device to the next because of news: a charger that reports a change
/// each second is read this often.
const NEWS_APART: TimeDelta = TimeDelta::seconds(10);

/// Time in which a command that was sent may still be executed, and observed, after its action
/// failed.
pub const OBEYED_WITHIN: TimeDelta = TimeDelta::minutes(1);

/// After a first failure; each further one doubles it, up to [`SILENT`].
const FAILED: TimeDelta = TimeDelta::seconds(30);

/// Time until the next poll (EVT-10).
///
/// Devices that charge are polled most often, devices that sleep least. After a failure of the
/// manufacturer the interval grows to limit the load on a service that is down. It never exceeds
/// the age that data may reach once the service is up again.
#[must_use]
pub fn wait(found: Found) -> TimeDelta {
    match found {
        Found::Live(Some(
            PowerState::Charging | PowerState::Initializing | PowerState::Discharging,
        )) => CHARGING,
        Found::Live(_) => RESTING,
        Found::Silent => SILENT,
        Found::Failed(times) => {
            // Five doublings exceed `SILENT` already, and the bound keeps the power of two small.
            let doublings = times.saturating_sub(1).min(5);
            (FAILED * 2_i32.pow(doublings)).min(SILENT)
        }
    }
}

/// Instant of the poll of a device that has news at `now`: at once, or ten seconds after its last poll
/// began. `polled_at` is `None` if it was never polled.
///
/// A last poll in the future, as after a clock was set back, delays it by ten seconds at most.
#[must_use]
pub fn poll_after_news(polled_at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> DateTime<Utc> {
    polled_at.map_or(now, |at| (at + NEWS_APART).clamp(now, now + NEWS_APART))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Maximum age of the data of a device that responds (LIM-04).
    const AGE_MAX: TimeDelta = TimeDelta::minutes(10);

    #[test]
    fn the_more_happens_the_sooner() {
        let charging = wait(Found::Live(Some(PowerState::Charging)));
        let resting = wait(Found::Live(Some(PowerState::Stopped)));
        assert!(charging < resting && resting < wait(Found::Silent));
        assert_eq!(wait(Found::Live(None)), resting);
    }

    #[test]
    fn no_wait_reaches_the_age_limit() {
        for state in PowerState::ALL {
            assert!(wait(Found::Live(Some(state))) < AGE_MAX);
        }
        for times in [0, 1, 2, 3, 30, u32::MAX] {
            assert!(wait(Found::Failed(times)) < AGE_MAX);
        }
        assert!(wait(Found::Silent) < AGE_MAX);
    }

    #[test]
    fn failures_double_the_wait() {
        let seconds = |times| wait(Found::Failed(times)).num_seconds();
        assert_eq!([1, 2, 3, 4, 5, 6, 7].map(seconds), [30, 60, 120, 240, 480, 540, 540]);
    }

    #[test]
    fn news_are_read_at_once_and_no_more_than_every_ten_seconds() {
        let now: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().unwrap();
        let pause = |polled: i64| {
            let polled_at = now - TimeDelta::seconds(polled);
            (poll_after_news(Some(polled_at), now) - now).num_seconds()
        };
        assert_eq!(poll_after_news(None, now), now);
        assert_eq!([420, 10, 9, 0, -3600].map(pause), [0, 0, 1, 10, 10]);
    }
}

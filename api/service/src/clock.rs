//! Clocks of the service. The only file that reads the time of the machine.
//!
//! A [`Clock`] is read where a request or a job begins, and `now` travels on as
//! an argument. Production has the system's clock. A sandbox has one of its own,
//! which stands still, runs many times faster, or is put forward by hand.
//!
//! A promise to somebody outside of the sandbox is kept by the [`Machine`] under
//! the clock: a token that is good for an hour is good for an hour of the client's
//! time, however fast the sandbox runs.
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use tokio::sync::Notify;
use tokio::time::timeout;

/// Fastest clock: a day in a tenth of a second.
const SPEED_MAX: f64 = 1e6;

/// Longest wait in one piece, so that a correction of the system's clock is noticed.
const LOOK_AGAIN: Duration = Duration::from_mins(1);

/// Fault of a setting of a clock.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ClockError {
    /// The system's clock belongs to the system.
    #[error("the clock of the system cannot be stepped or sped up; use a sandbox")]
    System,
    /// A step into the past.
    #[error("a clock is put forward only, not by {seconds} s")]
    Backwards {
        /// The step as given.
        seconds: i64,
    },
    /// A step beyond what can be written as a date.
    #[error("a step of {seconds} s leads beyond the year 9999")]
    TooFar {
        /// The step as given.
        seconds: i64,
    },
    /// Not a number of times faster.
    #[error("`{given}` is not a speed from 0x to 1000000x, such as 60x")]
    Speed {
        /// The text as given.
        given: String,
    },
}

/// Speed of a clock relative to the machine's. At zero it stands still.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed(f64);

impl Speed {
    /// A clock that moves by steps only.
    pub const STILL: Self = Self(0.0);
    /// A clock that goes with the machine's.
    pub const REAL: Self = Self(1.0);

    /// A speed as a number of times.
    ///
    /// # Errors
    /// `times` is NaN, negative or above a million.
    pub fn times(times: f64) -> Result<Self, ClockError> {
        let is_speed = (0.0..=SPEED_MAX).contains(&times);
        is_speed
            .then_some(Self(times))
            .ok_or_else(|| ClockError::Speed { given: times.to_string() })
    }

    /// Reads `60x` or `60`.
    ///
    /// # Errors
    /// The text is no number from 0 to a million, with or without an `x` at its end.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_service::clock::Speed;
    /// assert_eq!(Speed::parse("60x")?.as_times(), 60.0);
    /// assert!(Speed::parse("fast").is_err());
    /// # Ok::<(), slackwater_service::clock::ClockError>(())
    /// ```
    pub fn parse(given: &str) -> Result<Self, ClockError> {
        let number = given.trim();
        let number = number.strip_suffix(['x', 'X']).unwrap_or(number);
        let times = number.parse().ok().and_then(|times| Self::times(times).ok());
        times.ok_or_else(|| ClockError::Speed { given: given.to_owned() })
    }

    /// The speed as a number of times.
    #[must_use]
    pub const fn as_times(self) -> f64 {
        self.0
    }
}

/// Time of a sandbox's clock, and its speed since then.
#[derive(Debug, Clone, Copy)]
struct Pace {
    /// Time of the clock when the pace was last changed.
    shown: DateTime<Utc>,
    /// Time of the machine's steady clock then.
    since: Instant,
    speed: Speed,
}

impl Pace {
    fn new(from: DateTime<Utc>, speed: Speed) -> Self {
        Self { shown: from.trunc_subsecs(6), since: Instant::now(), speed }
    }

    fn now(&self) -> DateTime<Utc> {
        let passed = self.since.elapsed().as_secs_f64() * self.speed.0;
        let passed = TimeDelta::microseconds((passed * 1e6) as i64);
        self.shown.checked_add_signed(passed).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }
}

/// Zero of the steady clock of this process.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// One instant on both clocks of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The wall clock, to the microsecond. Operators correct it, also backwards.
    pub wall: DateTime<Utc>,
    /// The steady clock, which only goes forward. Its zero means nothing.
    pub steady: Duration,
}

/// The clocks of a machine: the real one, or one that stands still until it is moved.
#[derive(Debug, Clone)]
pub struct Machine(Option<Arc<Mutex<Moment>>>);

impl Machine {
    /// The machine that this process runs on.
    #[must_use]
    pub const fn real() -> Self {
        Self(None)
    }

    /// A machine whose wall clock shows `at` until it is moved.
    #[must_use]
    pub fn still(at: DateTime<Utc>) -> Self {
        let moment = Moment { wall: at.trunc_subsecs(6), steady: Duration::ZERO };
        Self(Some(Arc::new(Mutex::new(moment))))
    }

    /// Both clocks now.
    #[must_use]
    pub fn moment(&self) -> Moment {
        match &self.0 {
            None => Moment { wall: Utc::now().trunc_subsecs(6), steady: START.elapsed() },
            Some(moment) => *moment.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// The wall clock now.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.moment().wall
    }

    /// Lets time pass on a machine that stands still.
    ///
    /// # Errors
    /// It is the real machine, or the step leads beyond the calendar.
    pub fn pass(&self, time: Duration) -> Result<(), ClockError> {
        self.change(|moment| {
            moment.steady = moment.steady.saturating_add(time);
            let too_far = ClockError::TooFar { seconds: time.as_secs().cast_signed() };
            let by = TimeDelta::from_std(time).ok();
            moment.wall = by.and_then(|by| moment.wall.checked_add_signed(by)).ok_or(too_far)?;
            Ok(())
        })
    }

    /// Corrects the wall clock of a machine that stands still, forward or back.
    ///
    /// # Errors
    /// It is the real machine.
    pub fn set_wall(&self, wall: DateTime<Utc>) -> Result<(), ClockError> {
        self.change(|moment| {
            moment.wall = wall;
            Ok(())
        })
    }

    fn change(
        &self,
        change: impl FnOnce(&mut Moment) -> Result<(), ClockError>,
    ) -> Result<(), ClockError> {
        let moment = self.0.as_ref().ok_or(ClockError::System)?;
        change(&mut moment.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Debug)]
struct Shared {
    machine: Machine,
    /// `None` for the system's clock.
    pace: Option<Mutex<Pace>>,
    /// Told of each step and change of speed, so that who waits looks again.
    changes: Notify,
}

/// A clock. Clones show the same time.
#[derive(Debug, Clone)]
pub struct Clock(Arc<Shared>);

impl Clock {
    /// The clock of the system.
    #[must_use]
    pub fn system() -> Self {
        Self::on(Machine::real(), None)
    }

    /// A clock that shows `at` until it is stepped, on a machine that stands still.
    #[must_use]
    pub fn fixed(at: DateTime<Utc>) -> Self {
        Self::on(Machine::still(at), Some(Pace::new(at, Speed::STILL)))
    }

    /// A clock that shows `from` now and goes on from there.
    #[must_use]
    pub fn running(from: DateTime<Utc>, speed: Speed) -> Self {
        Self::on(Machine::real(), Some(Pace::new(from, speed)))
    }

    fn on(machine: Machine, pace: Option<Pace>) -> Self {
        Self(Arc::new(Shared { machine, pace: pace.map(Mutex::new), changes: Notify::new() }))
    }

    /// The machine under the clock, which no step of the clock moves.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.0.machine
    }

    /// A clock that shows the system's time now and goes on from there.
    #[must_use]
    pub fn from_now(speed: Speed) -> Self {
        Self::running(Utc::now(), speed)
    }

    /// The time, to the microsecond.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        match &self.0.pace {
            None => Utc::now().trunc_subsecs(6),
            Some(pace) => pace.lock().unwrap_or_else(PoisonError::into_inner).now(),
        }
    }

    /// The speed now.
    #[must_use]
    pub fn speed(&self) -> Speed {
        let pace = self.0.pace.as_ref();
        pace.map_or(Speed::REAL, |pace| pace.lock().unwrap_or_else(PoisonError::into_inner).speed)
    }

    /// Puts the clock forward and says what it shows then. Who waits is woken
    /// if the time has come. Nothing happens in a step of zero.
    ///
    /// # Errors
    /// It is the system's clock, or the step is negative or leads too far.
    pub fn step(&self, by: TimeDelta) -> Result<DateTime<Utc>, ClockError> {
        let seconds = by.num_seconds();
        if by < TimeDelta::zero() {
            return Err(ClockError::Backwards { seconds });
        }
        self.change(|pace| {
            let latest = DateTime::from_timestamp_micros(LAST_MICROS);
            let shown = pace.now().checked_add_signed(by);
            let shown = shown.filter(|&shown| latest.is_some_and(|latest| shown <= latest));
            pace.shown = shown.ok_or(ClockError::TooFar { seconds })?;
            Ok(pace.shown)
        })
    }

    /// Goes on at another speed from what the clock shows now.
    ///
    /// # Errors
    /// It is the system's clock.
    pub fn set_speed(&self, speed: Speed) -> Result<DateTime<Utc>, ClockError> {
        self.change(|pace| {
            pace.shown = pace.now();
            pace.speed = speed;
            Ok(pace.shown)
        })
    }

    /// Waits until the clock shows `at` or later. Returns at once if it does.
    ///
    /// On a clock that stands still this waits for a step.
    pub async fn until(&self, at: DateTime<Utc>) {
        loop {
            // Made before the look, so that no change is missed.
            let changed = self.0.changes.notified();
            let missing = at - self.now();
            if missing <= TimeDelta::zero() {
                return;
            }
            let seconds = missing.as_seconds_f64() / self.speed().0;
            let wait = Duration::try_from_secs_f64(seconds).unwrap_or(LOOK_AGAIN).min(LOOK_AGAIN);
            // Either ends the wait: time passes, or somebody changes the clock.
            let _: Result<(), _> = timeout(wait.max(TICK), changed).await;
        }
    }

    fn change(
        &self,
        change: impl FnOnce(&mut Pace) -> Result<DateTime<Utc>, ClockError>,
    ) -> Result<DateTime<Utc>, ClockError> {
        let pace = self.0.pace.as_ref().ok_or(ClockError::System)?;
        let now = {
            let mut pace = pace.lock().unwrap_or_else(PoisonError::into_inner);
            let mut changed = *pace;
            let now = change(&mut changed)?;
            changed.since = Instant::now();
            *pace = changed;
            now
        };
        self.0.changes.notify_waiters();
        Ok(now)
    }
}

/// The end of the year 9999.
const LAST_MICROS: i64 = 253_402_300_799_999_999;

/// Shortest wait: below it, waiting is turning in circles.
const TICK: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn six() -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_fixed_clock_moves_by_steps_only() {
        let clock = Clock::fixed(six());
        assert_eq!(clock.now(), six());
        assert_eq!(clock.clone().step(TimeDelta::hours(2)), Ok(six() + TimeDelta::hours(2)));
        assert_eq!(clock.now(), six() + TimeDelta::hours(2));
        assert_eq!(clock.speed(), Speed::STILL);
    }

    #[test]
    fn a_fast_clock_runs_ahead_and_stops() {
        let clock = Clock::running(six(), Speed::parse("1000000x").unwrap());
        while clock.now() < six() + TimeDelta::seconds(10) {
            std::hint::spin_loop();
        }
        let stopped = clock.set_speed(Speed::STILL).unwrap();
        assert_eq!(clock.now(), stopped);
        assert!(stopped >= six() + TimeDelta::seconds(10));
    }

    #[test]
    fn clocks_are_not_put_back_nor_beyond_the_calendar() {
        let clock = Clock::fixed(six());
        let error = clock.step(TimeDelta::seconds(-5)).unwrap_err();
        assert_eq!(error.to_string(), "a clock is put forward only, not by -5 s");
        assert!(matches!(clock.step(TimeDelta::MAX), Err(ClockError::TooFar { .. })));
        assert!(matches!(clock.step(TimeDelta::days(3_000_000)), Err(ClockError::TooFar { .. })));
        assert_eq!(clock.now(), six());
        assert_eq!(Clock::system().step(TimeDelta::hours(1)), Err(ClockError::System));
        assert_eq!(Clock::system().set_speed(Speed::REAL), Err(ClockError::System));
    }

    #[test]
    fn speeds_are_read_or_refused() {
        for (text, times) in [("60x", 60.0), (" 0.5X ", 0.5), ("0", 0.0)] {
            assert_eq!(Speed::parse(text).map(Speed::as_times), Ok(times));
        }
        for bad in ["", "x", "-1x", "NaN", "inf", "1e7x", "60 x", "1xx"] {
            let error = Speed::parse(bad).unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{bad}` is not a speed")), "{error}");
        }
    }

    #[test]
    fn a_machine_goes_on_whatever_its_wall_clock_is_set_to() {
        let clock = Clock::fixed(six());
        let machine = clock.machine();
        machine.pass(Duration::from_secs(90)).unwrap();
        machine.set_wall(six() - TimeDelta::days(1)).unwrap();
        clock.step(TimeDelta::hours(5)).unwrap();
        let steady = Duration::from_secs(90);
        assert_eq!(machine.moment(), Moment { wall: six() - TimeDelta::days(1), steady });
        let real = Clock::system();
        assert_eq!(real.machine().pass(steady), Err(ClockError::System));
        assert_eq!(real.machine().set_wall(six()), Err(ClockError::System));
        assert!(matches!(machine.pass(Duration::MAX), Err(ClockError::TooFar { .. })));
    }

    #[tokio::test]
    async fn waiting_ends_with_the_step_that_reaches_the_time() {
        let clock = Clock::fixed(six());
        clock.until(six()).await;
        let waiting = tokio::spawn({
            let clock = clock.clone();
            async move {
                clock.until(six() + TimeDelta::minutes(10)).await;
                clock.now()
            }
        });
        clock.step(TimeDelta::minutes(9)).unwrap();
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        clock.step(TimeDelta::minutes(1)).unwrap();
        assert_eq!(waiting.await.unwrap(), six() + TimeDelta::minutes(10));
    }

    #[tokio::test]
    async fn waiting_goes_with_the_speed() {
        let clock = Clock::running(six(), Speed::times(1e6).unwrap());
        clock.until(six() + TimeDelta::hours(1)).await;
        assert!(clock.now() >= six() + TimeDelta::hours(1));
    }
}

//! View of a policy: everything that is known of one stay at one instant, and nothing else.
use std::ops::Deref;

use chrono::{DateTime, Utc};

use crate::prices::curve::PriceCurve;
use crate::simulate::exact::{ExactEnergy, Milliwatts};
use crate::simulate::forecast::{KnownPrices, LookAhead};
use crate::simulate::session::Session;
use crate::time::instant::{YEARS, instant_at, micros_of};
use crate::units::{Energy, Power, Price};

/// Present of a decision, with all prices to buy that are known then. There is no way from it to later
/// facts.
#[derive(Debug)]
pub struct Moment<'a> {
    pub(crate) now: i64,
    pub(crate) until: i64,
    /// End of the horizon of planning.
    pub(crate) horizon_end: i64,
    pub(crate) known: &'a KnownPrices,
    /// Settled prices; only what lies before `now` is ever handed out.
    pub(crate) settled: &'a PriceCurve,
}

impl Moment<'_> {
    /// The present.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        instant_at(self.now)
    }

    /// Next instant of decision.
    #[must_use]
    pub fn until(&self) -> DateTime<Utc> {
        instant_at(self.until)
    }

    /// End of planning.
    #[must_use]
    pub fn horizon_end(&self) -> DateTime<Utc> {
        instant_at(self.horizon_end)
    }

    /// Prices to buy that are known now, from now to the end of the horizon.
    #[must_use]
    pub fn prices(&self) -> PriceCurve {
        self.known.all().between(self.now(), self.horizon_end())
    }

    /// Settled prices to buy from `from` until now.
    #[must_use]
    pub fn history(&self, from: DateTime<Utc>) -> PriceCurve {
        self.settled.between(from, self.now())
    }

    /// Price to buy at an instant: settled before now, known or forecast after it.
    ///
    /// # Errors
    /// Nobody knows the price now.
    pub fn price_at(&self, at: DateTime<Utc>) -> Result<Price, LookAhead> {
        let found = if micros_of(at) < self.now {
            self.settled.price_at(at)
        } else {
            self.prices().price_at(at)
        };
        found.ok_or(LookAhead::Price { at, now: self.now() })
    }
}

/// Everything that is known of one stay at one instant: its [`Moment`], the stay and its device.
#[derive(Debug)]
pub struct View<'a> {
    pub(crate) row: usize,
    pub(crate) home: u32,
    pub(crate) arrival: i64,
    pub(crate) departure: i64,
    pub(crate) missing: ExactEnergy,
    pub(crate) power_max: Milliwatts,
    pub(crate) moment: Moment<'a>,
}

impl<'a> View<'a> {
    /// View of a session from `now` to the next decision at `until`, with a horizon of
    /// so many microseconds.
    pub(crate) fn new(
        session: &Session,
        known: &'a KnownPrices,
        settled: &'a PriceCurve,
        (now, until): (i64, i64),
        horizon: i64,
    ) -> Self {
        let horizon_end = now.saturating_add(horizon).min(YEARS.end);
        Self {
            row: session.row,
            home: session.home,
            arrival: session.arrival,
            departure: session.departure,
            missing: session.meter.missing,
            power_max: session.meter.device.power_max,
            moment: Moment { now, until, horizon_end, known, settled },
        }
    }
}

impl<'a> Deref for View<'a> {
    type Target = Moment<'a>;

    fn deref(&self) -> &Moment<'a> {
        &self.moment
    }
}

impl View<'_> {
    /// Position of the stay.
    #[must_use]
    pub fn row(&self) -> usize {
        self.row
    }

    /// Number of the home.
    #[must_use]
    pub fn home(&self) -> u32 {
        self.home
    }

    /// Arrival of the vehicle.
    #[must_use]
    pub fn arrival(&self) -> DateTime<Utc> {
        instant_at(self.arrival)
    }

    /// Departure of the vehicle.
    #[must_use]
    pub fn departure(&self) -> DateTime<Utc> {
        instant_at(self.departure)
    }

    /// Energy at the plug that is still needed.
    #[must_use]
    pub fn missing(&self) -> Energy {
        Energy::from_kwh(self.missing.as_kwh()).unwrap_or(Energy::ZERO)
    }

    /// Highest power of the device.
    #[must_use]
    pub fn power_max(&self) -> Power {
        Power::from_kw(self.power_max.as_kw()).unwrap_or(Power::ZERO)
    }
}

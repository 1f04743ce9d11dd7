//! Forecasts with the instant at which they were known, and the prices known at an instant.
//!
//! Reading a forecast needs the present as an argument and is refused before the forecast was
//! known. [`KnownPrices`] holds what was known at one instant and has no way to the rest, so a
//! policy that gets it cannot look ahead.
use std::sync::Arc;

use chrono::{DateTime, NaiveTime, TimeDelta, Utc};
use chrono_tz::Tz;

use crate::prices::curve::PriceCurve;
use crate::prices::layers::Standing;
use crate::prices::overlay::seen;
use crate::prices::ranking::SLOTS_MAX;
use crate::time::civil::{instant_of, local_of};
use crate::time::instant::{instant_at, micros_of};

/// Use of a forecast, or of a price, before it was known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookAhead {
    /// A forecast was read before it was known.
    #[error("the forecast is known at {known_at}; at {now} nobody has it")]
    Forecast {
        /// Instant from which the forecast may be used.
        known_at: DateTime<Utc>,
        /// Instant at which it was read.
        now: DateTime<Utc>,
    },
    /// A price was asked for that is neither settled nor forecast.
    #[error("the price at {at} is not known at {now}, and no forecast covers it")]
    Price {
        /// Instant of the price.
        at: DateTime<Utc>,
        /// The present.
        now: DateTime<Utc>,
    },
}

/// Prices that were known from an instant on.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    known_at: DateTime<Utc>,
    standing: Standing,
    prices: PriceCurve,
}

impl Forecast {
    /// Prices known from `known_at` on. Published prices are [`Standing::Known`] and win over
    /// estimates; of two with one standing the one that was known later wins.
    #[must_use]
    pub fn new(known_at: DateTime<Utc>, standing: Standing, prices: PriceCurve) -> Self {
        Self { known_at, standing, prices }
    }

    /// Instant from which the forecast may be used.
    #[must_use]
    pub fn known_at(&self) -> DateTime<Utc> {
        self.known_at
    }

    /// True for published prices, false for estimates.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// The prices, for use at `now`.
    ///
    /// # Errors
    /// The forecast is not known yet.
    pub fn read(&self, now: DateTime<Utc>) -> Result<&PriceCurve, LookAhead> {
        if now < self.known_at {
            return Err(LookAhead::Forecast { known_at: self.known_at, now });
        }
        Ok(&self.prices)
    }
}

/// All forecasts of a simulation, in the order in which they became known.
#[derive(Debug, Clone, Default)]
pub struct ForecastBook {
    forecasts: Vec<Forecast>,
}

impl ForecastBook {
    /// A book of forecasts in any order.
    #[must_use]
    pub fn new(mut forecasts: Vec<Forecast>) -> Self {
        forecasts.sort_by_key(|forecast| forecast.known_at);
        Self { forecasts }
    }

    /// Settled prices before the slot of `now`, and what is known from it on.
    #[must_use]
    pub fn known_prices(&self, settled: &PriceCurve, now: DateTime<Utc>) -> PriceCurve {
        let known = self.known_at(settled, micros_of(now));
        stack(&[known.all(), &settled.between(DateTime::<Utc>::MIN_UTC, now)], i64::MIN)
    }

    /// Prices known at an instant, in microseconds.
    pub(crate) fn known_at(&self, settled: &PriceCurve, now: i64) -> KnownPrices {
        Reader::new(self, settled).known_at(now)
    }

    /// Instants at which something became known, in microseconds since 1970.
    pub(crate) fn instants(&self) -> impl Iterator<Item = i64> + '_ {
        self.forecasts.iter().map(|forecast| micros_of(forecast.known_at))
    }
}

/// Prices of each day of a curve, published on the day before at a time of day in a zone.
///
/// An auction of the day ahead is such: with `at` 13:00 and Europe/Brussels all hours of Tuesday
/// are known from Monday, 13:00 on. Days are civil: one has 23 hours and one 25.
#[must_use]
pub fn publish_day_ahead(prices: &PriceCurve, at: NaiveTime, time_zone: Tz) -> Vec<Forecast> {
    let (Some(first), Some(end)) = (prices.slots().next(), prices.horizon().end()) else {
        return Vec::new();
    };
    let mut day = local_of(first.start, time_zone).date();
    let mut forecasts = Vec::new();
    while let (Some(before), Some(next)) = (day.pred_opt(), day.succ_opt()) {
        let start = instant_of(day.and_time(NaiveTime::MIN), time_zone);
        if start >= end {
            break;
        }
        let until = instant_of(next.and_time(NaiveTime::MIN), time_zone);
        let known_at = instant_of(before.and_time(at), time_zone);
        let of_day = prices.between(start, until);
        if !of_day.is_empty() {
            forecasts.push(Forecast::new(known_at, Standing::Known, of_day));
        }
        day = next;
    }
    forecasts
}

/// Prices known at one instant, from the slot of that instant on.
#[derive(Debug, Clone)]
pub struct KnownPrices {
    /// All slots.
    all: Arc<PriceCurve>,
    /// The first slots, few enough for a ranking.
    near: Arc<PriceCurve>,
}

impl KnownPrices {
    /// Known prices from a curve that starts with the present slot.
    pub(crate) fn new(curve: Arc<PriceCurve>) -> Self {
        let near = Arc::new(first_slots(&curve, 0));
        Self { all: curve, near }
    }

    /// The first known prices from an instant on, anew: those before it have passed.
    pub(crate) fn advanced(&self, now: i64) -> Self {
        let first = self.all.horizon().overlapping(now, i64::MAX).start;
        Self { all: self.all.clone(), near: Arc::new(first_slots(&self.all, first)) }
    }

    /// All known slots, and maybe some that have passed.
    pub(crate) fn all(&self) -> &PriceCurve {
        &self.all
    }

    /// The shortest known curve that has every known slot before `to`.
    pub(crate) fn before(&self, from: i64, to: i64) -> &PriceCurve {
        let end = |curve: &PriceCurve| curve.horizon().ends().last().copied().unwrap_or(i64::MIN);
        let covers = end(&self.near) >= to.min(end(&self.all));
        let starts = self.near.horizon().starts().first().is_some_and(|&start| start <= from);
        if covers && starts { &self.near } else { &self.all }
    }
}

/// At most [`SLOTS_MAX`] slots of a curve from position `first` on.
fn first_slots(curve: &PriceCurve, first: usize) -> PriceCurve {
    let last = curve.len().min(first + SLOTS_MAX);
    let horizon = curve.horizon();
    let periods = (first..last).map(|slot| (horizon.starts()[slot], horizon.ends()[slot]));
    PriceCurve::of_pieces(periods.collect(), curve.prices()[first..last].to_vec())
}

/// A walk through a book in time order, with what is known at each instant.
pub(crate) struct Reader<'a> {
    book: &'a ForecastBook,
    settled: &'a PriceCurve,
    /// Position of the next forecast to become known.
    next: usize,
    published: PriceCurve,
    estimated: PriceCurve,
    known: Option<KnownPrices>,
}

impl<'a> Reader<'a> {
    /// A walk that has not begun.
    pub(crate) fn new(book: &'a ForecastBook, settled: &'a PriceCurve) -> Self {
        let (published, estimated) = (PriceCurve::default(), PriceCurve::default());
        Self { book, settled, next: 0, published, estimated, known: None }
    }

    /// Prices known at `now`, in microseconds: forecasts, and the settled price of the present
    /// slot. Instants never go back from call to call.
    pub(crate) fn known_at(&mut self, now: i64) -> KnownPrices {
        let is_new = self.read_until(now);
        if let Some(known) = &self.known
            && !is_new
            && price_in(known.all(), now) == price_in(self.settled, now)
        {
            return known.clone();
        }
        let slot = self.settled.horizon().overlapping(now, now + 1);
        let from = slot.clone().next().map_or(now, |slot| self.settled.horizon().starts()[slot]);
        let present = PriceCurve::of_pieces(
            slot.clone().map(|slot| self.period(slot)).collect(),
            self.settled.prices()[slot].to_vec(),
        );
        let curve = stack(&[&present, &self.published, &self.estimated], from);
        let known = KnownPrices::new(Arc::new(curve));
        self.known = Some(known.clone());
        known
    }

    fn period(&self, slot: usize) -> (i64, i64) {
        let horizon = self.settled.horizon();
        (horizon.starts()[slot], horizon.ends()[slot])
    }

    /// Takes in every forecast that is known at `now`; true if there was a new one.
    fn read_until(&mut self, now: i64) -> bool {
        let before = self.next;
        while let Some(forecast) = self.book.forecasts.get(self.next) {
            let Ok(prices) = forecast.read(instant_at(now)) else { break };
            let below = match forecast.standing {
                Standing::Known => &mut self.published,
                Standing::Estimate => &mut self.estimated,
            };
            // Slots that have passed are dropped, so that the stack stays short.
            *below =
                stack(&[prices, below], now - TimeDelta::days(1).num_microseconds().unwrap_or(0));
            self.next += 1;
        }
        self.next > before
    }
}

/// Price of the slot that holds an instant.
fn price_in(curve: &PriceCurve, at: i64) -> Option<f64> {
    curve.horizon().overlapping(at, at + 1).next().map(|slot| curve.prices()[slot])
}

/// Curves on top of each other from an instant on; the first is the topmost. Slots stay apart.
fn stack(layers: &[&PriceCurve], from: i64) -> PriceCurve {
    let shown = seen(layers, from, i64::MAX);
    let periods = shown.iter().map(|slot| (slot.start, slot.end)).collect();
    PriceCurve::of_pieces(periods, shown.iter().map(|slot| slot.price).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::curve::Slot;
    use crate::prices::curve::tests::curve_of;
    use crate::units::per_kwh;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    /// Hours from 18:00Z on 5 January 2026.
    fn hour(hours: i64) -> i64 {
        micros_of(at("2026-01-05T18:00:00Z")) + hours * 3_600_000_000
    }

    #[test]
    fn a_forecast_cannot_be_read_before_it_is_known() {
        let forecast =
            Forecast::new(at("2026-01-05T19:00:00Z"), Standing::Estimate, curve_of(60, &[1]));
        assert!(forecast.read(at("2026-01-05T19:00:00Z")).is_ok());
        assert_eq!(
            forecast.read(at("2026-01-05T18:59:59Z")).unwrap_err().to_string(),
            "the forecast is known at 2026-01-05 19:00:00 UTC; at 2026-01-05 18:59:59 UTC nobody \
             has it"
        );
    }

    #[test]
    fn published_prices_win_and_later_estimates_win_over_earlier_ones() {
        let settled = curve_of(60, &[10, 11, 12, 13]);
        let known_at = |hours: i64| instant_at(hour(hours));
        let estimate = |hours: i64, cent: i32| {
            Forecast::new(known_at(hours), Standing::Estimate, curve_of(60, &[cent; 4]))
        };
        let published = settled.between(known_at(2), known_at(3));
        let book = ForecastBook::new(vec![
            Forecast::new(known_at(1), Standing::Known, published),
            estimate(1, 30),
            estimate(0, 20),
        ]);
        let mut reader = Reader::new(&book, &settled);
        let mut cents = |hours: i64| -> Vec<f64> {
            let known = reader.known_at(hour(hours));
            known.all().prices().iter().map(|price| (price * 100.0).round()).collect()
        };
        // The present slot is settled; the published third hour wins from the first hour on.
        assert_eq!(cents(0), [10.0, 20.0, 20.0, 20.0]);
        assert_eq!(cents(1), [11.0, 12.0, 30.0].map(|c: f64| c).to_vec().as_slice());
    }

    #[test]
    fn a_day_ahead_is_known_from_the_day_before() {
        // Quarters of the days around the autumn change in Brussels: 25 hours.
        let start = at("2026-10-23T22:00:00Z");
        let slot = |index: i32| Slot {
            start: start + TimeDelta::minutes(15) * index,
            end: start + TimeDelta::minutes(15) * (index + 1),
            price: per_kwh(f64::from(index)),
        };
        let curve = PriceCurve::new(&(0..4 * 73).map(slot).collect::<Vec<_>>()).unwrap();
        let time = NaiveTime::from_hms_opt(13, 0, 0).unwrap();
        let forecasts = publish_day_ahead(&curve, time, Tz::Europe__Brussels);
        let told: Vec<(String, usize)> = forecasts
            .iter()
            .map(|forecast| (forecast.known_at.to_rfc3339(), forecast.prices.len()))
            .collect();
        let expected = [
            ("2026-10-23T11:00:00+00:00", 96),
            ("2026-10-24T11:00:00+00:00", 100),
            ("2026-10-25T12:00:00+00:00", 96),
        ];
        assert_eq!(told, expected.map(|(at, slots)| (at.to_owned(), slots)));
        assert!(publish_day_ahead(&PriceCurve::default(), time, Tz::UTC).is_empty());
    }
}

//! The price of a kWh as a step function of time.
use std::sync::OnceLock;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::prices::ranking::RankedSlots;
use crate::time::horizon::{Horizon, HorizonError};
use crate::time::instant::{instant_at, micros_of};
use crate::units::{Price, UnitError};

/// A period `[start, end)` of constant price.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    /// First instant of the slot.
    pub start: DateTime<Utc>,
    /// First instant after the slot.
    pub end: DateTime<Utc>,
    /// Price per kWh in the slot.
    #[serde(rename = "price_per_kwh")]
    pub price: Price,
}

/// Invalid slots and prices of a curve.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CurveError {
    /// The periods are not a horizon.
    #[error(transparent)]
    Periods(#[from] HorizonError),
    /// A price is NaN or infinite.
    #[error("price of slot {index}: {source}")]
    NotAPrice {
        /// Position in the input.
        index: usize,
        /// Reason why the number was refused.
        source: UnitError,
    },
}

/// Price of a kWh as a step function over half-open slots.
///
/// Slots may differ in length. Time without a slot has no price: a gap is never read as zero nor
/// filled from its neighbours, and no plan uses it. Prices may be negative.
///
/// # Example: a gap stays a gap
///
/// ```
/// use slackwater_engine::prices::curve::{PriceCurve, Slot};
/// use slackwater_engine::units::per_kwh;
/// let at = |text: &str| text.parse().unwrap();
/// let curve = PriceCurve::new(&[
///     Slot { start: at("2026-01-05T18:00:00Z"), end: at("2026-01-05T19:00:00Z"), price: per_kwh(0.3) },
///     Slot { start: at("2026-01-05T20:00:00Z"), end: at("2026-01-05T21:00:00Z"), price: per_kwh(0.1) },
/// ])?;
/// assert_eq!(curve.price_at(at("2026-01-05T18:59:59Z")), Some(per_kwh(0.3)));
/// assert_eq!(curve.price_at(at("2026-01-05T19:00:00Z")), None);
/// assert_eq!(curve.gaps(), [(at("2026-01-05T19:00:00Z"), at("2026-01-05T20:00:00Z"))]);
/// # Ok::<(), slackwater_engine::prices::curve::CurveError>(())
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<Slot>", into = "Vec<Slot>")]
pub struct PriceCurve {
    horizon: Horizon,
    prices: Vec<f64>,
    /// Price order and its bit sets, built when a plan first wants them.
    ranked: OnceLock<Option<RankedSlots>>,
}

impl PartialEq for PriceCurve {
    fn eq(&self, other: &Self) -> bool {
        self.horizon == other.horizon && self.prices == other.prices
    }
}

impl PriceCurve {
    /// A curve from slots, oldest first.
    ///
    /// # Errors
    /// A slot has no length, or overlaps the one ahead of it.
    pub fn new(slots: &[Slot]) -> Result<Self, CurveError> {
        let horizon = Horizon::new(slots.iter().map(|slot| (slot.start, slot.end)))?;
        Ok(Self::assemble(horizon, slots.iter().map(|slot| slot.price.as_per_kwh()).collect()))
    }

    /// A curve from a horizon and one price per period.
    ///
    /// # Errors
    /// A price is NaN or infinite.
    ///
    /// # Panics
    /// There are not as many prices as periods.
    pub fn from_parts(horizon: Horizon, mut prices: Vec<f64>) -> Result<Self, CurveError> {
        assert_eq!(horizon.len(), prices.len(), "one price per period");
        for (index, price) in prices.iter_mut().enumerate() {
            *price = Price::from_per_kwh(*price)
                .map_err(|source| CurveError::NotAPrice { index, source })?
                .as_per_kwh();
        }
        Ok(Self::assemble(horizon, prices))
    }

    /// A curve from pieces of other curves, oldest first.
    pub(crate) fn of_pieces(periods: Vec<(i64, i64)>, prices: Vec<f64>) -> Self {
        let horizon = Horizon::from_micros(periods).expect("pieces of horizons are in order");
        Self::assemble(horizon, prices)
    }

    fn assemble(horizon: Horizon, prices: Vec<f64>) -> Self {
        Self { horizon, prices, ranked: OnceLock::new() }
    }

    /// The periods of the curve.
    #[must_use]
    pub fn horizon(&self) -> &Horizon {
        &self.horizon
    }

    /// Prices per kWh, one per period.
    #[must_use]
    pub fn prices(&self) -> &[f64] {
        &self.prices
    }

    /// Number of slots.
    #[must_use]
    pub fn len(&self) -> usize {
        self.prices.len()
    }

    /// Returns true if the curve has no slot.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.prices.is_empty()
    }

    /// All slots, oldest first.
    pub fn slots(&self) -> impl ExactSizeIterator<Item = Slot> + '_ {
        self.horizon.periods().zip(&self.prices).map(|((start, end), &price)| Slot {
            start,
            end,
            price: Price::from_per_kwh(price).unwrap_or(Price::ZERO), // Checked on the way in.
        })
    }

    /// The price at an instant, or `None` in a gap and outside the curve.
    #[must_use]
    pub fn price_at(&self, at: DateTime<Utc>) -> Option<Price> {
        let at = micros_of(at);
        let index = self.horizon.overlapping(at, at.saturating_add(1)).next()?;
        Price::from_per_kwh(self.prices[index]).ok()
    }

    /// Periods without a price between the first slot and the last.
    #[must_use]
    pub fn gaps(&self) -> Vec<(DateTime<Utc>, DateTime<Utc>)> {
        let starts = self.horizon.starts().iter().skip(1);
        let ends = self.horizon.ends();
        ends.iter()
            .zip(starts)
            .filter(|(end, start)| end < start)
            .map(|(&end, &start)| (instant_at(end), instant_at(start)))
            .collect()
    }

    /// The part of the curve inside `[from, to)`; slots at the edges are cut.
    #[must_use]
    pub fn between(&self, from: DateTime<Utc>, to: DateTime<Utc>) -> Self {
        let (from, to) = (micros_of(from), micros_of(to));
        let range = self.horizon.overlapping(from, to);
        Self::assemble(self.horizon.cut(range.clone(), from, to), self.prices[range].to_vec())
    }

    /// The curve with each price changed to `change(price)`.
    fn map(&self, change: impl Fn(f64) -> f64) -> Result<Self, CurveError> {
        let prices = self.prices.iter().map(|&price| change(price)).collect();
        Self::from_parts(self.horizon.clone(), prices)
    }

    /// The curve with a fee on each kWh.
    ///
    /// # Errors
    /// A sum is too large for a price.
    pub fn plus_price(&self, fee: Price) -> Result<Self, CurveError> {
        self.map(|price| price + fee.as_per_kwh())
    }

    /// The curve with each price multiplied, for a tax: 1.25 adds a quarter.
    ///
    /// # Errors
    /// A product is no price.
    pub fn times(&self, factor: f64) -> Result<Self, CurveError> {
        self.map(|price| price * factor)
    }

    /// Price order and bit sets, if the curve is short and even enough for them.
    pub(crate) fn ranked(&self) -> Option<&RankedSlots> {
        self.ranked.get_or_init(|| RankedSlots::new(&self.horizon, &self.prices)).as_ref()
    }
}

impl TryFrom<Vec<Slot>> for PriceCurve {
    type Error = CurveError;
    fn try_from(slots: Vec<Slot>) -> Result<Self, CurveError> {
        Self::new(&slots)
    }
}

impl From<PriceCurve> for Vec<Slot> {
    fn from(curve: PriceCurve) -> Self {
        curve.slots().collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use chrono::TimeDelta;
    use proptest::prelude::*;

    /// Slots of `minutes` each from 5 January 2026, 18:00Z, priced in cents.
    pub(crate) fn curve_of(minutes: i64, cents: &[i32]) -> PriceCurve {
        let start: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().unwrap();
        let step = TimeDelta::minutes(minutes);
        let periods = (0..cents.len() as i32).map(|i| (start + step * i, start + step * (i + 1)));
        let prices = cents.iter().map(|&cent| f64::from(cent) / 100.0).collect();
        PriceCurve::from_parts(Horizon::new(periods).unwrap(), prices).unwrap()
    }

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn a_price_that_is_no_number_is_named() {
        let horizon = Horizon::from_micros([(0, 5), (5, 10)]).unwrap();
        let error = PriceCurve::from_parts(horizon, vec![0.1, f64::NAN]).unwrap_err();
        assert_eq!(error.to_string(), "price of slot 1: NaN per kWh is not a finite number");
    }

    #[test]
    fn data_take_the_same_door_as_code() {
        let curve = curve_of(60, &[10, -5]);
        let text = serde_json::to_string(&curve).unwrap();
        assert_eq!(serde_json::from_str::<PriceCurve>(&text).unwrap(), curve);
        let slot = text.trim_matches(['[', ']']).split_inclusive('}').next().unwrap();
        assert!(serde_json::from_str::<PriceCurve>(&format!("[{slot},{slot}]")).is_err());
    }

    #[test]
    fn cutting_inside_slots() {
        let cut = curve_of(60, &[10, 20, 30])
            .between(at("2026-01-05T18:30:00Z"), at("2026-01-05T20:15:00Z"));
        let lengths: Vec<i64> =
            cut.slots().map(|slot| (slot.end - slot.start).num_minutes()).collect();
        assert_eq!(lengths, [30, 60, 15]);
        assert!(
            curve_of(60, &[10])
                .between(at("2026-01-07T00:00:00Z"), at("2026-01-06T00:00:00Z"))
                .is_empty()
        );
    }

    #[test]
    fn adding_a_curve_keeps_gaps() {
        let day = curve_of(60, &[10, 20, 30]);
        let fee = PriceCurve::new(&[
            Slot {
                start: at("2026-01-05T17:00:00Z"),
                end: at("2026-01-05T18:30:00Z"),
                price: crate::units::per_kwh(1.0),
            },
            Slot {
                start: at("2026-01-05T20:00:00Z"),
                end: at("2026-01-05T22:00:00Z"),
                price: crate::units::per_kwh(2.0),
            },
        ])
        .unwrap();
        let sum = day.plus(&fee).unwrap();
        assert_eq!(sum.prices(), [1.1, 2.3]);
        assert_eq!(sum.gaps(), [(at("2026-01-05T18:30:00Z"), at("2026-01-05T20:00:00Z"))]);
        assert!(day.map(|price| price * 1e12).is_ok());
        assert!(day.map(|price| price * 1e13).is_err());
    }

    proptest! {
        /// Splitting slots changes no price, whatever instant is asked for.
        #[test]
        fn splitting_a_slot_changes_no_price(
            cents in prop::collection::vec(-50..200i32, 1..40), minute in -30..2700i64,
        ) {
            let hours = curve_of(60, &cents);
            let quarters: Vec<i32> = cents.iter().flat_map(|&cent| [cent; 4]).collect();
            let instant = at("2026-01-05T18:00:00Z") + TimeDelta::minutes(minute);
            prop_assert_eq!(hours.price_at(instant), curve_of(15, &quarters).price_at(instant));
        }
    }
}

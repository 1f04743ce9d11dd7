//! Curves put together: sums over the same time, curves one after the other, and means over
//! coarser slots.
//!
//! None of these adds or drops time that has a value. Where two curves are not over the same time
//! the caller is told, and decides.
use std::ops::Range;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::prices::curve::{CurveError, PriceCurve};
use crate::prices::layers::{Layer, LayerError, LayeredPrices, Standing};
use crate::time::horizon::Horizon;
use crate::time::instant::{instant_at, micros_of};
use crate::units::{MICROS_PER_HOUR, Power, Price};
use crate::words::words;

words! {
    /// Value of a coarse slot, made of those inside of it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Summary {
        /// Mean, weighted with time.
        Mean = "mean",
        /// Least value.
        Min = "min",
        /// Largest value.
        Max = "max",
    }
}

/// Curves that do not go together.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CombineError {
    /// A period has a value in one curve and none in the other.
    #[error(
        "they are not over the same time: the first is {}, the second {}, and only the {} has \
         {from} to {to}",
        span(*first), span(*second), if *is_first { "first" } else { "second" }
    )]
    OtherTime {
        /// Start and end of the first curve, if it has a slot.
        first: Option<(DateTime<Utc>, DateTime<Utc>)>,
        /// Start and end of the second curve.
        second: Option<(DateTime<Utc>, DateTime<Utc>)>,
        /// True if the first curve has the period.
        is_first: bool,
        /// Start of the first such period.
        from: DateTime<Utc>,
        /// Its end.
        to: DateTime<Utc>,
    },
    /// The price of emissions is negative or no number.
    #[error("price_per_kg is {price_per_kg} per kg; a price of emissions is 0 or more")]
    NotACarbonPrice {
        /// The price as given.
        price_per_kg: f64,
    },
    /// The carbon intensity is negative.
    #[error("the intensity from {from} on is {kg_per_kwh} kg per kWh; it is 0 or more")]
    NegativeIntensity {
        /// Start of the first such slot.
        from: DateTime<Utc>,
        /// Its value.
        kg_per_kwh: f64,
    },
    /// The carbon intensity is not known at a time that has a price.
    #[error("the intensity is missing from {from} to {to}, which has a price")]
    NoIntensity {
        /// Start of the first such period.
        from: DateTime<Utc>,
        /// Its end.
        to: DateTime<Utc>,
    },
    /// Two curves have a value at the same time.
    #[error("curve {index} starts at {start}, before curve {before} ends at {end}")]
    Overlap {
        /// Position of the later curve in the input.
        index: usize,
        /// Start of its first slot in the time of the other.
        start: DateTime<Utc>,
        /// Position of the other one.
        before: usize,
        /// End of the slot that it overlaps.
        end: DateTime<Utc>,
    },
    /// A sum is no price.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// A sum of layers is no price.
    #[error(transparent)]
    Layers(#[from] LayerError),
}

/// Both ends of a curve in words.
fn span(ends: Option<(DateTime<Utc>, DateTime<Utc>)>) -> String {
    ends.map_or_else(|| "empty".to_owned(), |(start, end)| format!("{start} to {end}"))
}

/// Part of a slot of each of two curves.
struct Shared {
    start: i64,
    end: i64,
    mine: usize,
    theirs: usize,
}

/// Slots that become one, `[start, end)`; the first and the last may reach beyond it.
struct Joined {
    start: i64,
    end: i64,
    slots: Range<usize>,
}

impl PriceCurve {
    /// Mean value, weighted with time; `None` without a slot.
    #[must_use]
    pub fn mean(&self) -> Option<Price> {
        let all: f64 = self.horizon().lengths().iter().sum();
        let weighed = self.horizon().lengths().iter().zip(self.prices());
        let sum: f64 = weighed.map(|(length, price)| length / all * price).sum();
        if self.is_empty() { None } else { Price::from_per_kwh(sum).ok() }
    }

    /// Least and largest value; `None` without a slot.
    #[must_use]
    pub fn extremes(&self) -> Option<(Price, Price)> {
        let least = self.prices().iter().copied().reduce(f64::min)?;
        let largest = self.prices().iter().copied().reduce(f64::max)?;
        Some((Price::from_per_kwh(least).ok()?, Price::from_per_kwh(largest).ok()?))
    }

    /// Sum over time of the value times a power that is constant over periods, in units of kWh
    /// times the value. Time without a value counts for nothing.
    ///
    /// With a carbon intensity as values it is an amount of emissions.
    #[must_use]
    pub fn weigh(
        &self,
        periods: impl IntoIterator<Item = (DateTime<Utc>, DateTime<Utc>, Power)>,
    ) -> f64 {
        let mut sum = 0.0;
        for (start, end, power) in periods {
            let (start, end) = (micros_of(start), micros_of(end));
            for slot in self.horizon().overlapping(start, end) {
                let (first, last) = (self.horizon().starts()[slot], self.horizon().ends()[slot]);
                let hours = (last.min(end) - first.max(start)) as f64 / MICROS_PER_HOUR;
                sum += power.as_kw() * hours * self.prices()[slot];
            }
        }
        sum
    }

    /// Checks that two curves have values at the same time, whatever their slots are.
    ///
    /// # Errors
    /// A period has a value in one of them only.
    pub fn check_same_time(&self, other: &Self) -> Result<(), CombineError> {
        let alone = |one: &Self, two: &Self| first_uncovered(one.horizon(), two.horizon());
        let found = alone(self, other).map(|period| (true, period));
        let found = found.or_else(|| alone(other, self).map(|period| (false, period)));
        let Some((is_first, (from, to))) = found else { return Ok(()) };
        let (first, second) = (self.ends(), other.ends());
        let (from, to) = (instant_at(from), instant_at(to));
        Err(CombineError::OtherTime { first, second, is_first, from, to })
    }

    /// Start of the first slot and end of the last.
    #[must_use]
    pub fn ends(&self) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
        let start = *self.horizon().starts().first()?;
        Some((instant_at(start), self.horizon().end()?))
    }

    /// Curve of prices with the price of emissions on top, which `intensity` (kg per kWh) and
    /// `price_per_kg` tell.
    ///
    /// # Errors
    /// The price of emissions or an intensity is negative or no number; the intensity is not
    /// known at a time that has a price; a sum is no price.
    pub fn plus_emissions(
        &self,
        intensity: &Self,
        price_per_kg: f64,
    ) -> Result<Self, CombineError> {
        self.check_emissions(intensity, price_per_kg)?;
        Ok(self.plus(&intensity.times(price_per_kg)?)?)
    }

    /// Checks a price of emissions and an intensity, and that it is known wherever `self` is.
    pub(crate) fn check_emissions(
        &self,
        intensity: &Self,
        price_per_kg: f64,
    ) -> Result<(), CombineError> {
        if !(price_per_kg >= 0.0 && price_per_kg.is_finite()) {
            return Err(CombineError::NotACarbonPrice { price_per_kg });
        }
        if let Some(slot) = intensity.prices().iter().position(|kg_per_kwh| *kg_per_kwh < 0.0) {
            let (from, kg_per_kwh) = (intensity.horizon().period(slot).0, intensity.prices()[slot]);
            return Err(CombineError::NegativeIntensity { from, kg_per_kwh });
        }
        if let Some((from, to)) = first_uncovered(self.horizon(), intensity.horizon()) {
            let (from, to) = (instant_at(from), instant_at(to));
            return Err(CombineError::NoIntensity { from, to });
        }
        Ok(())
    }

    /// All slots of several curves, which are over different times and come in any order.
    ///
    /// # Errors
    /// Two curves overlap.
    pub fn concat(curves: &[&Self]) -> Result<Self, CombineError> {
        let slots = in_order(curves)?;
        let periods = slots.iter().map(|&(curve, slot)| {
            let horizon = curves[curve].horizon();
            (horizon.starts()[slot], horizon.ends()[slot])
        });
        let prices = slots.iter().map(|&(curve, slot)| curves[curve].prices()[slot]).collect();
        let horizon = Horizon::from_micros(periods).map_err(CurveError::from)?;
        Ok(Self::from_parts(horizon, prices)?)
    }

    /// Curve over the same time in coarser or finer slots: `period_of` tells the period that
    /// holds an instant.
    ///
    /// A slot ends where its period ends, or where a gap begins: no time gets or loses a value.
    /// The mean of the curve is that of `self` if `summary` is [`Summary::Mean`].
    ///
    /// # Example: quarters of an hour become hours, and a gap stays a gap
    ///
    /// ```
    /// use chrono::{DateTime, DurationRound, TimeDelta, Utc};
    /// use slackwater_engine::prices::combine::Summary;
    /// use slackwater_engine::prices::curve::PriceCurve;
    /// use slackwater_engine::time::horizon::Horizon;
    /// let start = "2026-01-05T18:00:00Z".parse().unwrap();
    /// let quarters = Horizon::steps(start, TimeDelta::minutes(15), 6)?;
    /// let prices = PriceCurve::from_parts(quarters, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let hour_of = |at: DateTime<Utc>| {
    ///     let hour = at.duration_trunc(TimeDelta::hours(1)).unwrap();
    ///     (hour, hour + TimeDelta::hours(1))
    /// };
    /// let hours = prices.resampled(hour_of, Summary::Mean);
    /// assert_eq!(hours.prices(), [2.5, 5.5]);
    /// assert_eq!(hours.horizon().end().unwrap().to_rfc3339(), "2026-01-05T19:30:00+00:00");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn resampled(
        &self,
        period_of: impl Fn(DateTime<Utc>) -> (DateTime<Utc>, DateTime<Utc>),
        summary: Summary,
    ) -> Self {
        let pieces = self.regroup(period_of);
        let prices = pieces.iter().map(|piece| self.summarise(piece, summary)).collect();
        Self::of_pieces(pieces.iter().map(|piece| (piece.start, piece.end)).collect(), prices)
    }

    /// Slots joined by period; gaps and ends of periods part them.
    fn regroup(
        &self,
        period_of: impl Fn(DateTime<Utc>) -> (DateTime<Utc>, DateTime<Utc>),
    ) -> Vec<Joined> {
        let mut pieces: Vec<Joined> = Vec::new();
        let mut period_end = i64::MIN;
        for slot in 0..self.len() {
            let (mut start, end) = (self.horizon().starts()[slot], self.horizon().ends()[slot]);
            while start < end {
                if let Some(last) = pieces.last_mut()
                    && last.end == start
                    && start < period_end
                {
                    last.end = end.min(period_end);
                    last.slots.end = slot + 1;
                    start = last.end;
                    continue;
                }
                period_end = micros_of(period_of(instant_at(start)).1);
                // A period that does not go on would never end this loop.
                let until = if period_end > start { period_end.min(end) } else { end };
                pieces.push(Joined { start, end: until, slots: slot..slot + 1 });
                start = until;
            }
        }
        pieces
    }

    fn summarise(&self, piece: &Joined, summary: Summary) -> f64 {
        let prices = &self.prices()[piece.slots.clone()];
        let first = prices[0];
        // A slot alone keeps its value to the last bit.
        if prices.len() == 1 {
            return first;
        }
        match summary {
            Summary::Min => prices.iter().copied().fold(first, f64::min),
            Summary::Max => prices.iter().copied().fold(first, f64::max),
            Summary::Mean => {
                let all = (piece.end - piece.start) as f64;
                let part = |slot: usize| {
                    let start = self.horizon().starts()[slot].max(piece.start);
                    (self.horizon().ends()[slot].min(piece.end) - start) as f64 / all
                };
                piece.slots.clone().map(|slot| part(slot) * self.prices()[slot]).sum()
            }
        }
    }

    /// Time that both curves have, part by part.
    fn shared(&self, other: &Self) -> Vec<Shared> {
        let mut parts = Vec::new();
        let (mut mine, mut theirs) = (0, 0);
        // Both lists are in time order, so passing the slot that ends first visits every overlap.
        while mine < self.len() && theirs < other.len() {
            let start = self.horizon().starts()[mine].max(other.horizon().starts()[theirs]);
            let (my_end, their_end) = (self.horizon().ends()[mine], other.horizon().ends()[theirs]);
            let end = my_end.min(their_end);
            if start < end {
                parts.push(Shared { start, end, mine, theirs });
            }
            mine += usize::from(my_end == end);
            theirs += usize::from(their_end == end);
        }
        parts
    }

    /// The sum of two curves where both have a value; elsewhere a gap.
    ///
    /// # Errors
    /// A sum is too large for a number.
    pub fn plus(&self, other: &Self) -> Result<Self, CurveError> {
        let parts = self.shared(other);
        let periods = parts.iter().map(|part| (part.start, part.end));
        let sums = parts.iter().map(|part| self.prices()[part.mine] + other.prices()[part.theirs]);
        Self::from_parts(Horizon::from_micros(periods)?, sums.collect())
    }
}

impl LayeredPrices {
    /// The sum of two layered curves where both have a price. A price that rests on an estimate
    /// is an estimate; it has no ceiling.
    ///
    /// # Errors
    /// A sum is too large for a price.
    pub fn plus_layered(&self, other: &Self) -> Result<Self, LayerError> {
        let sum = |part: Shared| {
            let price = self.curve().prices()[part.mine] + other.curve().prices()[part.theirs];
            let label = Label::of(&[self.layer_of(part.mine), other.layer_of(part.theirs)]);
            (part.start, part.end, price, label)
        };
        from_labelled(self.curve().shared(other.curve()).into_iter().map(sum))
    }

    /// As [`PriceCurve::resampled`]. A slot that is an estimate in a part of it is an estimate.
    ///
    /// # Errors
    /// None that the layers did not have: it is checked anew.
    pub fn resampled(
        &self,
        period_of: impl Fn(DateTime<Utc>) -> (DateTime<Utc>, DateTime<Utc>),
        summary: Summary,
    ) -> Result<Self, LayerError> {
        let pieces = self.curve().regroup(period_of).into_iter().map(|piece| {
            let layers: Vec<&Layer> = piece.slots.clone().map(|slot| self.layer_of(slot)).collect();
            let price = self.curve().summarise(&piece, summary);
            (piece.start, piece.end, price, Label::of(&layers))
        });
        from_labelled(pieces)
    }

    /// As [`PriceCurve::concat`]; each slot keeps its source.
    ///
    /// # Errors
    /// Two curves overlap.
    pub fn concat(all: &[&Self]) -> Result<Self, CombineError> {
        let curves: Vec<&PriceCurve> = all.iter().map(|layered| layered.curve()).collect();
        let slots = in_order(&curves)?.into_iter().map(|(curve, slot)| {
            let horizon = curves[curve].horizon();
            let label = Label::of(&[all[curve].layer_of(slot)]);
            (horizon.starts()[slot], horizon.ends()[slot], curves[curve].prices()[slot], label)
        });
        Ok(from_labelled(slots)?)
    }

    fn layer_of(&self, slot: usize) -> &Layer {
        &self.layers()[self.sources()[slot]]
    }
}

/// Origin of a price that comes from one layer, or from several together.
#[derive(PartialEq)]
struct Label {
    source: String,
    standing: Standing,
    ceiling: Option<Price>,
}

impl Label {
    /// Names of all sources, each once; an estimate if one of them is.
    fn of(layers: &[&Layer]) -> Self {
        let mut sources: Vec<&str> = Vec::new();
        for layer in layers {
            if !sources.contains(&layer.source.as_str()) {
                sources.push(&layer.source);
            }
        }
        let is_estimate = layers.iter().any(|layer| layer.standing == Standing::Estimate);
        let ceiling = layers.first().and_then(|first| first.ceiling);
        Self {
            source: sources.join(" + "),
            standing: if is_estimate { Standing::Estimate } else { Standing::Known },
            // The ceiling of a single layer holds for means of it, and for nothing else.
            ceiling: if layers.windows(2).all(|pair| pair[0] == pair[1]) { ceiling } else { None },
        }
    }
}

/// A label, with the periods and the prices of its slots.
type Labelled = (Label, Vec<(i64, i64)>, Vec<f64>);

/// A layer for each label, of slots in time order.
fn from_labelled(
    slots: impl Iterator<Item = (i64, i64, f64, Label)>,
) -> Result<LayeredPrices, LayerError> {
    let mut layers: Vec<Labelled> = Vec::new();
    for (start, end, price, label) in slots {
        let place = layers.iter().position(|(known, ..)| *known == label);
        let place = place.unwrap_or_else(|| {
            layers.push((label, Vec::new(), Vec::new()));
            layers.len() - 1
        });
        layers[place].1.push((start, end));
        layers[place].2.push(price);
    }
    let layer = |(Label { source, standing, ceiling }, periods, prices)| {
        let horizon = Horizon::from_micros(periods)?;
        Ok(Layer { source, standing, ceiling, curve: PriceCurve::from_parts(horizon, prices)? })
    };
    let layers: Result<Vec<Layer>, CurveError> = layers.into_iter().map(layer).collect();
    LayeredPrices::new(layers?)
}

/// Slots of several curves in time order, as positions of curve and slot.
fn in_order(curves: &[&PriceCurve]) -> Result<Vec<(usize, usize)>, CombineError> {
    let numbered = curves.iter().enumerate();
    let mut slots: Vec<(usize, usize)> =
        numbered.flat_map(|(curve, of)| (0..of.len()).map(move |slot| (curve, slot))).collect();
    let starts = |&(curve, slot): &(usize, usize)| curves[curve].horizon().starts()[slot];
    slots.sort_by_key(starts);
    for pair in slots.windows(2) {
        let (before, slot) = pair[0];
        let end = curves[before].horizon().ends()[slot];
        if starts(&pair[1]) < end {
            let start = instant_at(starts(&pair[1]));
            return Err(CombineError::Overlap {
                index: pair[1].0,
                start,
                before,
                end: instant_at(end),
            });
        }
    }
    Ok(slots)
}

/// First period of `horizon` that has no period of `cover`.
fn first_uncovered(horizon: &Horizon, cover: &Horizon) -> Option<(i64, i64)> {
    for (&start, &end) in horizon.starts().iter().zip(horizon.ends()) {
        let mut at = start;
        for place in cover.overlapping(start, end) {
            let begins = cover.starts()[place];
            if begins > at {
                return Some((at, begins));
            }
            at = cover.ends()[place];
        }
        if at < end {
            return Some((at, end));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{kw, per_kwh};
    use proptest::prelude::*;

    /// Curve of a price per hour from 5 January 2026; `None` is a gap.
    fn hours(first: i64, prices: &[Option<i32>]) -> PriceCurve {
        let start = micros_of("2026-01-05T00:00:00Z".parse().unwrap());
        let hour = |index: usize| start + (first + index as i64) * 3_600_000_000;
        let known = || prices.iter().enumerate().filter_map(|(i, price)| Some((i, (*price)?)));
        let horizon = Horizon::from_micros(known().map(|(i, _)| (hour(i), hour(i + 1)))).unwrap();
        PriceCurve::from_parts(horizon, known().map(|(_, price)| f64::from(price)).collect())
            .unwrap()
    }

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    /// Periods of so many hours since 1970.
    fn every(hours: i64) -> impl Fn(DateTime<Utc>) -> (DateTime<Utc>, DateTime<Utc>) {
        move |at| {
            let length = hours * 3_600_000_000;
            let start = micros_of(at).div_euclid(length) * length;
            (instant_at(start), instant_at(start + length))
        }
    }

    fn layered(source: &str, standing: Standing, curve: PriceCurve) -> LayeredPrices {
        let layer = Layer { source: source.into(), standing, ceiling: None, curve };
        LayeredPrices::new(vec![layer]).unwrap()
    }

    #[test]
    fn other_times_are_told_with_both_spans() {
        let day = hours(0, &[Some(1); 4]);
        assert!(day.check_same_time(&hours(0, &[Some(3); 4])).is_ok());
        let error = day.check_same_time(&hours(0, &[Some(1); 3])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "they are not over the same time: the first is 2026-01-05 00:00:00 UTC to \
             2026-01-05 04:00:00 UTC, the second 2026-01-05 00:00:00 UTC to \
             2026-01-05 03:00:00 UTC, and only the first has 2026-01-05 03:00:00 UTC to \
             2026-01-05 04:00:00 UTC"
        );
        // A gap is a difference as well, and so is nothing at all.
        let gap = hours(0, &[Some(1), None, Some(1), Some(1)]);
        let error = gap.check_same_time(&day).unwrap_err().to_string();
        assert!(
            error.ends_with(
                "only the second has 2026-01-05 01:00:00 UTC to 2026-01-05 02:00:00 UTC"
            )
        );
        let error = day.check_same_time(&hours(0, &[])).unwrap_err().to_string();
        assert!(error.contains("the second empty"), "{error}");
    }

    #[test]
    fn curves_that_overlap_are_not_joined() {
        let (one, two) = (hours(2, &[Some(1), Some(2)]), hours(0, &[Some(3), Some(4)]));
        let joined = PriceCurve::concat(&[&one, &two]).unwrap();
        assert_eq!(joined.prices(), [3.0, 4.0, 1.0, 2.0]);
        let error = PriceCurve::concat(&[&one, &two, &hours(1, &[Some(9)])]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "curve 2 starts at 2026-01-05 01:00:00 UTC, before curve 1 ends at \
             2026-01-05 02:00:00 UTC"
        );
        assert!(PriceCurve::concat(&[]).unwrap().is_empty());
    }

    #[test]
    fn emissions_want_an_intensity_wherever_there_is_a_price() {
        let prices = hours(1, &[Some(1), Some(2)]);
        let dirty = hours(0, &[Some(5), Some(10), Some(20), Some(5)]);
        let summed = prices.plus_emissions(&dirty, 0.1).unwrap();
        assert_eq!(summed.prices(), [2.0, 4.0]);
        let error = prices.plus_emissions(&hours(0, &[Some(1), Some(1)]), 0.1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the intensity is missing from 2026-01-05 02:00:00 UTC to 2026-01-05 03:00:00 UTC, \
             which has a price"
        );
        for per_kg in [-0.1, f64::NAN, f64::INFINITY] {
            let error = prices.plus_emissions(&dirty, per_kg).unwrap_err().to_string();
            assert!(error.ends_with("a price of emissions is 0 or more"), "{error}");
        }
        let error = prices.plus_emissions(&hours(0, &[Some(1), Some(-1)]), 0.1).unwrap_err();
        assert!(error.to_string().ends_with("on is -1 kg per kWh; it is 0 or more"), "{error}");
        let night = (at("2026-01-05T00:30:00Z"), at("2026-01-05T02:00:00Z"), kw(2.0));
        assert!((dirty.weigh([night]) - 25.0).abs() < 1e-12);
        assert!((prices.weigh([night]) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn means_and_sums_of_estimates_are_estimates() {
        let market = layered("market", Standing::Known, hours(0, &[Some(1), Some(2)]));
        let guess = layered("guess", Standing::Estimate, hours(2, &[Some(5)]));
        let all = LayeredPrices::concat(&[&guess, &market]).unwrap();
        let origin = |prices: &LayeredPrices| -> Vec<(f64, String, bool)> {
            let of = |slot: crate::prices::layers::SourcedSlot<'_>| {
                let is_estimate = slot.layer.standing == Standing::Estimate;
                (slot.price.as_per_kwh(), slot.layer.source.clone(), is_estimate)
            };
            prices.slots().map(of).collect()
        };
        let owned = |rows: &[(f64, &str, bool)]| -> Vec<(f64, String, bool)> {
            rows.iter().map(|&(price, source, guess)| (price, source.to_owned(), guess)).collect()
        };
        let expected = [(1.0, "market", false), (2.0, "market", false), (5.0, "guess", true)];
        assert_eq!(origin(&all), owned(&expected));
        let whole = all.resampled(every(24), Summary::Mean).unwrap();
        assert_eq!(origin(&whole), owned(&[(8.0 / 3.0, "market + guess", true)]));
        let fee = layered("fee", Standing::Known, hours(0, &[Some(1), Some(1), Some(1)]));
        let sum = fee.plus_layered(&all).unwrap();
        let expected = [
            (2.0, "fee + market", false),
            (3.0, "fee + market", false),
            (6.0, "fee + guess", true),
        ];
        assert_eq!(origin(&sum), owned(&expected));
    }

    #[test]
    fn a_ceiling_holds_for_means_of_its_layer() {
        let curve = hours(0, &[Some(1), Some(3)]);
        let ceiling = Some(per_kwh(4.0));
        let layer = Layer { source: "guess".into(), standing: Standing::Estimate, ceiling, curve };
        let guess = LayeredPrices::new(vec![layer]).unwrap();
        let mean = guess.resampled(every(2), Summary::Mean).unwrap();
        assert_eq!((mean.layers()[0].ceiling, mean.curve().prices()), (ceiling, &[2.0][..]));
        assert_eq!(guess.plus_layered(&mean).unwrap().layers()[0].ceiling, None);
    }

    fn steps() -> impl Strategy<Value = Vec<Option<i32>>> {
        prop::collection::vec(prop::option::weighted(0.8, -50..50), 1..60)
    }

    proptest! {
        /// Means keep the covered time, and the integral over it; least and largest values are
        /// those of the curve.
        #[test]
        fn resampling_keeps_time_and_integral(prices in steps(), hours_of in 1..30_i64) {
            let curve = hours(7, &prices);
            let coarse = curve.resampled(every(hours_of), Summary::Mean);
            prop_assert!(curve.check_same_time(&coarse).is_ok());
            let near = |one: Option<Price>, two: Option<Price>| match (one, two) {
                (Some(one), Some(two)) => (one.as_per_kwh() - two.as_per_kwh()).abs() < 1e-9,
                (one, two) => one == two,
            };
            prop_assert!(near(curve.mean(), coarse.mean()));
            for (start, end) in coarse.horizon().periods() {
                prop_assert_eq!(every(hours_of)(start), every(hours_of)(end - chrono::TimeDelta::microseconds(1)));
                prop_assert!(near(curve.between(start, end).mean(), coarse.price_at(start)));
            }
            let least = curve.resampled(every(hours_of), Summary::Min);
            let largest = curve.resampled(every(hours_of), Summary::Max);
            prop_assert_eq!(least.extremes().map(|e| e.0), curve.extremes().map(|e| e.0));
            prop_assert_eq!(largest.extremes().map(|e| e.1), curve.extremes().map(|e| e.1));
        }

        /// A curve cut apart and joined in any order is the curve.
        #[test]
        fn joining_undoes_cutting(prices in steps(), cut in 0..60_i64) {
            let curve = hours(0, &prices);
            let at = at("2026-01-05T00:00:00Z") + chrono::TimeDelta::hours(cut);
            let (early, late) = (curve.between(DateTime::UNIX_EPOCH, at), curve.between(at, at + chrono::TimeDelta::days(9)));
            prop_assert_eq!(&PriceCurve::concat(&[&late, &early]).unwrap(), &curve);
        }
    }
}

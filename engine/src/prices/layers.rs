//! Layers of prices from several sources, in order of precedence.
//!
//! Known prices come first, in the order given: a tariff before a price signal, that before the
//! market. Estimates fill the remaining time. Time without a price in any layer is a gap.
use serde::{Deserialize, Serialize};

use crate::prices::curve::{CurveError, PriceCurve};
use crate::prices::overlay::seen;
use crate::time::horizon::Horizon;
use crate::units::Price;
use chrono::{DateTime, Utc};

/// Reliability of prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// Prices that will be paid.
    #[serde(rename = "known")]
    Known,
    /// A guess, to be replaced when the price is known.
    #[serde(rename = "estimate")]
    Estimate,
}

/// Prices of one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Name of the source, such as `tariff` or `market`.
    pub source: String,
    /// Reliability of the layer's prices.
    pub standing: Standing,
    /// Upper bound of the price per kWh of an estimate; `None` if there is none. Known prices
    /// have none.
    #[serde(rename = "ceiling_per_kwh")]
    pub ceiling: Option<Price>,
    /// The prices.
    pub curve: PriceCurve,
}

/// Invalid layers of prices.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LayerError {
    /// A known layer has a ceiling.
    #[error("layers[{index}] ({from}) is known and needs no ceiling_per_kwh")]
    CeilingOfKnown {
        /// Position in the input.
        index: usize,
        /// Name of the source.
        from: String,
    },
    /// An estimate is above its own ceiling.
    #[error(
        "layers[{index}] ({from}) estimates {} per kWh, above its ceiling_per_kwh of {}",
        price.as_per_kwh(), ceiling.as_per_kwh()
    )]
    AboveCeiling {
        /// Position in the input.
        index: usize,
        /// Name of the source.
        from: String,
        /// The highest estimate.
        price: Price,
        /// The ceiling.
        ceiling: Price,
    },
    /// A product or a sum is no price.
    #[error(transparent)]
    Curve(#[from] CurveError),
}

/// A period of constant price, with its origin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SourcedSlot<'a> {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Price per kWh.
    pub price: Price,
    /// Layer of the price.
    pub layer: &'a Layer,
}

/// Price curve made of layers, with the layer of each price.
///
/// # Example: an estimate gives way
///
/// ```
/// use slackwater_engine::prices::curve::{PriceCurve, Slot};
/// use slackwater_engine::prices::layers::{Layer, LayeredPrices, Standing};
/// use slackwater_engine::units::per_kwh;
/// let slot = |start: &str, end: &str, price| Slot {
///     start: start.parse().unwrap(),
///     end: end.parse().unwrap(),
///     price: per_kwh(price),
/// };
/// let layer = |source: &str, standing, slot| -> Result<Layer, slackwater_engine::prices::curve::CurveError> {
///     Ok(Layer { source: source.into(), standing, ceiling: None, curve: PriceCurve::new(&[slot])? })
/// };
/// let guess = slot("2026-01-05T18:00:00Z", "2026-01-05T20:00:00Z", 0.25);
/// let market = slot("2026-01-05T18:00:00Z", "2026-01-05T19:00:00Z", 0.30);
///
/// let prices = LayeredPrices::new(vec![
///     layer("yesterday", Standing::Estimate, guess)?,
///     layer("market", Standing::Known, market)?,
/// ])?;
///
/// let sources: Vec<&str> = prices.slots().map(|slot| slot.layer.source.as_str()).collect();
/// assert_eq!(sources, ["market", "yesterday"]);
/// assert_eq!(prices.curve().prices(), [0.30, 0.25]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Layer>", into = "Vec<Layer>")]
pub struct LayeredPrices {
    layers: Vec<Layer>,
    curve: PriceCurve,
    /// Position of its layer, for each slot of the curve.
    sources: Vec<usize>,
}

impl LayeredPrices {
    /// Puts layers on top of each other, the first known one on top.
    ///
    /// # Errors
    /// A known layer has a ceiling, or an estimate is above its own.
    pub fn new(layers: Vec<Layer>) -> Result<Self, LayerError> {
        // Checked in the order of the caller, so that an error names the caller's position.
        for (index, layer) in layers.iter().enumerate() {
            check(index, layer)?;
        }
        let mut order: Vec<usize> = (0..layers.len()).collect();
        // The sort is stable: layers of equal standing keep their order.
        order.sort_by_key(|&index| layers[index].standing == Standing::Estimate);
        let curves: Vec<&PriceCurve> = order.iter().map(|&index| &layers[index].curve).collect();
        let seen = seen(&curves, i64::MIN, i64::MAX);
        let periods = seen.iter().map(|shown| (shown.start, shown.end));
        let horizon = Horizon::from_micros(periods).map_err(CurveError::from)?;
        let prices = seen.iter().map(|shown| shown.price).collect();
        // Positions among the sorted curves become positions among the layers.
        let sources = seen.iter().map(|shown| order[shown.layer]).collect();
        Ok(Self { curve: PriceCurve::from_parts(horizon, prices)?, layers, sources })
    }

    /// Combined price curve of all layers.
    #[must_use]
    pub fn curve(&self) -> &PriceCurve {
        &self.curve
    }

    /// The layers as they were given.
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// All slots with their origin, oldest first.
    pub fn slots(&self) -> impl ExactSizeIterator<Item = SourcedSlot<'_>> + '_ {
        self.curve.slots().zip(&self.sources).map(|(slot, &layer)| SourcedSlot {
            start: slot.start,
            end: slot.end,
            price: slot.price,
            layer: &self.layers[layer],
        })
    }

    /// Periods whose price is an estimate.
    #[must_use]
    pub fn estimated(&self) -> Horizon {
        let (starts, ends) = (self.curve.horizon().starts(), self.curve.horizon().ends());
        let is_estimate =
            |slot: &usize| self.layers[self.sources[*slot]].standing == Standing::Estimate;
        let periods = (0..self.sources.len()).filter(is_estimate);
        // A part of a horizon is a horizon.
        Horizon::from_micros(periods.map(|slot| (starts[slot], ends[slot]))).unwrap_or_default()
    }

    /// Position of the layer of each slot of the curve.
    pub(crate) fn sources(&self) -> &[usize] {
        &self.sources
    }

    /// The part inside `[from, to)`; slots at the edges are cut.
    ///
    /// # Errors
    /// None that the layers did not have: it is checked anew.
    pub fn between(&self, from: DateTime<Utc>, to: DateTime<Utc>) -> Result<Self, LayerError> {
        self.map(|curve| Ok(curve.between(from, to)), Some)
    }

    /// A fee on each kWh, on ceilings too.
    ///
    /// # Errors
    /// A sum is too large for a price.
    pub fn plus_price(&self, fee: Price) -> Result<Self, LayerError> {
        let raise =
            |ceiling: Price| Price::from_per_kwh(ceiling.as_per_kwh() + fee.as_per_kwh()).ok();
        self.map(|curve| curve.plus_price(fee), raise)
    }

    /// Each price multiplied, ceilings too. A factor below zero leaves none.
    ///
    /// # Errors
    /// A product is no price.
    pub fn times(&self, factor: f64) -> Result<Self, LayerError> {
        let raise = |ceiling: Price| {
            let raised = Price::from_per_kwh(ceiling.as_per_kwh() * factor).ok();
            raised.filter(|_| factor >= 0.0)
        };
        self.map(|curve| curve.times(factor), raise)
    }

    /// The sum with another curve where both have a price; ceilings rise by its highest price.
    ///
    /// # Errors
    /// A sum is too large for a price.
    pub fn plus(&self, other: &PriceCurve) -> Result<Self, LayerError> {
        let highest = other.prices().iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let raise = |ceiling: Price| Price::from_per_kwh(ceiling.as_per_kwh() + highest).ok();
        self.map(|curve| curve.plus(other), raise)
    }

    fn map(
        &self,
        change: impl Fn(&PriceCurve) -> Result<PriceCurve, CurveError>,
        raise: impl Fn(Price) -> Option<Price>,
    ) -> Result<Self, LayerError> {
        let layer = |layer: &Layer| {
            let ceiling = layer.ceiling.and_then(&raise);
            let curve = change(&layer.curve)?;
            Ok(Layer { source: layer.source.clone(), standing: layer.standing, ceiling, curve })
        };
        let layers: Result<Vec<Layer>, CurveError> = self.layers.iter().map(layer).collect();
        Self::new(layers?)
    }
}

fn check(index: usize, layer: &Layer) -> Result<(), LayerError> {
    let Some(ceiling) = layer.ceiling else { return Ok(()) };
    let from = || layer.source.clone();
    if layer.standing == Standing::Known {
        return Err(LayerError::CeilingOfKnown { index, from: from() });
    }
    match layer.curve.slots().map(|slot| slot.price).find(|price| *price > ceiling) {
        Some(price) => Err(LayerError::AboveCeiling { index, from: from(), price, ceiling }),
        None => Ok(()),
    }
}

impl TryFrom<Vec<Layer>> for LayeredPrices {
    type Error = LayerError;
    fn try_from(layers: Vec<Layer>) -> Result<Self, LayerError> {
        Self::new(layers)
    }
}

impl From<LayeredPrices> for Vec<Layer> {
    fn from(prices: LayeredPrices) -> Self {
        prices.layers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::curve::tests::curve_of;
    use crate::units::per_kwh;
    use proptest::prelude::*;

    fn layer(source: &str, standing: Standing, curve: PriceCurve) -> Layer {
        Layer { source: source.into(), standing, ceiling: None, curve }
    }

    #[test]
    fn periods_of_estimates_are_those_that_no_known_layer_covers() {
        let layers = LayeredPrices::new(vec![
            layer("market", Standing::Known, curve_of(60, &[5, 6])),
            layer("guess", Standing::Estimate, curve_of(60, &[1, 2, 3, 4])),
        ]);
        let estimated = layers.unwrap().estimated();
        let curve = curve_of(60, &[1, 2, 3, 4]);
        let (from, to) = (curve.horizon().starts()[0], curve.horizon().ends()[3]);
        assert_eq!(estimated.covered(from, to), 2 * 3_600_000_000);
        assert_eq!(estimated.covered(from, from + 2 * 3_600_000_000), 0);
    }

    #[test]
    fn a_ceiling_is_checked() {
        let mut known = layer("market", Standing::Known, curve_of(60, &[10]));
        known.ceiling = Some(per_kwh(1.0));
        let text = LayeredPrices::new(vec![known.clone()]).unwrap_err().to_string();
        assert_eq!(text, "layers[0] (market) is known and needs no ceiling_per_kwh");
        known.standing = Standing::Estimate;
        let capped = LayeredPrices::new(vec![known.clone()]).unwrap();
        assert_eq!(
            capped.plus_price(per_kwh(0.5)).unwrap().layers()[0].ceiling,
            Some(per_kwh(1.5))
        );
        assert_eq!(capped.times(-1.0).unwrap().layers()[0].ceiling, None);
        let sum = capped.plus(&curve_of(60, &[30])).unwrap();
        assert_eq!(sum.layers()[0].ceiling, Some(per_kwh(1.3)));
        known.ceiling = Some(per_kwh(0.05));
        let text = LayeredPrices::new(vec![known]).unwrap_err().to_string();
        let expected =
            "layers[0] (market) estimates 0.1 per kWh, above its ceiling_per_kwh of 0.05";
        assert_eq!(text, expected);
    }

    #[test]
    fn layers_survive_their_json() {
        let prices = LayeredPrices::new(vec![
            layer("market", Standing::Known, curve_of(60, &[10])),
            layer("guess", Standing::Estimate, curve_of(60, &[20, 30])),
        ])
        .unwrap();
        let text = serde_json::to_string(&prices).unwrap();
        assert_eq!(serde_json::from_str::<LayeredPrices>(&text).unwrap(), prices);
        assert!(LayeredPrices::new(Vec::new()).unwrap().curve().is_empty());
    }

    proptest! {
        /// At any instant the first known layer with a price wins, then the first estimate.
        #[test]
        fn the_first_known_price_wins(
            curves in prop::collection::vec(
                (prop::collection::vec(0..50i32, 0..12), 0..4usize, any::<bool>(), 0..600i64), 0..4,
            ),
            minute in -10..900i64,
        ) {
            let step = [15, 20, 45, 60];
            let at = |minutes: i64| {
                "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + chrono::TimeDelta::minutes(minutes)
            };
            let layers: Vec<Layer> = curves.iter().map(|(cents, step_index, known, from)| {
                let standing = if *known { Standing::Known } else { Standing::Estimate };
                let curve = curve_of(step[*step_index], cents).between(at(*from), at(2000));
                layer("x", standing, curve)
            }).collect();
            let prices = LayeredPrices::new(layers.clone()).unwrap();
            let first = |standing| {
                let mut of = layers.iter().filter(move |layer| layer.standing == standing);
                of.find_map(|layer| layer.curve.price_at(at(minute)))
            };
            let expected = first(Standing::Known).or_else(|| first(Standing::Estimate));
            prop_assert_eq!(prices.curve().price_at(at(minute)), expected);
        }
    }
}

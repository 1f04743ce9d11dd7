//! Precedence of several prices for one time, and the source of each.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::prices::curve::{CurveError, PriceCurve, Slot};
use crate::prices::layers::{Layer, LayerError, LayeredPrices, Standing};
use crate::prices::overlay::seen;
use crate::time::instant::micros_of;
use crate::units::Price;
use crate::words::words;

words! {
    /// Source of a price.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Source {
        /// The price signal of the area; counts for Flex only.
        PriceSignal = "price_signal",
        /// The tariff of the location.
        Tariff = "tariff",
        /// The market price of the zone.
        Market = "market",
    }
}

/// The prices that are known, each with gaps of its own.
///
/// Smart charging and statistics have no price signal; there the tariff
/// counts before the market. For Flex the signal counts before both.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sources<'a> {
    /// Price signal of the area.
    pub price_signal: Option<&'a PriceCurve>,
    /// The tariff of the location, written out.
    pub tariff: Option<&'a PriceCurve>,
    /// The market price of the zone.
    pub market: Option<&'a PriceCurve>,
}

impl<'a> Sources<'a> {
    /// The prices that are there, the one that counts first in front.
    fn ranked(&self) -> Vec<(Source, &'a PriceCurve)> {
        let ranked = [
            (Source::PriceSignal, self.price_signal),
            (Source::Tariff, self.tariff),
            (Source::Market, self.market),
        ];
        ranked.into_iter().filter_map(|(source, curve)| Some((source, curve?))).collect()
    }
}

/// A slot with the source of its price.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ResolvedSlot {
    /// Period and price.
    #[serde(flatten)]
    pub slot: Slot,
    /// Source of the price.
    pub source: Source,
}

/// Prices from several sources, slot by slot, in time order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<ResolvedSlot>", into = "Vec<ResolvedSlot>")]
pub struct ResolvedPrices {
    curve: PriceCurve,
    sources: Vec<Source>,
}

/// Effective price at each instant of `[from, to)`.
///
/// The first source with a price decides, and a gap in it falls through to the next one. At an
/// instant without a price in any source there is no slot. Slots keep the boundaries of their
/// source.
///
/// # Example
///
/// A tariff from six to seven over a market of two hours.
///
/// ```
/// use slackwater_engine::prices::curve::{PriceCurve, Slot};
/// use slackwater_engine::prices::resolve::{Source, Sources, resolve};
/// use slackwater_engine::units::per_kwh;
/// let at = |hour: &str| format!("2026-01-05T{hour}:00:00Z").parse().unwrap();
/// let tariff = PriceCurve::new(&[Slot { start: at("06"), end: at("07"), price: per_kwh(0.3) }])?;
/// let market = PriceCurve::new(&[Slot { start: at("06"), end: at("08"), price: per_kwh(0.1) }])?;
/// let sources = Sources { price_signal: None, tariff: Some(&tariff), market: Some(&market) };
/// let resolved = resolve(sources, at("05"), at("09"));
/// let from: Vec<Source> = resolved.slots().map(|slot| slot.source).collect();
/// assert_eq!(from, [Source::Tariff, Source::Market]);
/// assert_eq!(resolved.curve().price_at(at("07")), Some(per_kwh(0.1)));
/// assert_eq!(resolved.curve().price_at(at("08")), None);
/// # Ok::<(), slackwater_engine::prices::curve::CurveError>(())
/// ```
#[must_use]
pub fn resolve(sources: Sources<'_>, from: DateTime<Utc>, to: DateTime<Utc>) -> ResolvedPrices {
    let (origins, curves): (Vec<Source>, Vec<&PriceCurve>) = sources.ranked().into_iter().unzip();
    let shown = seen(&curves, micros_of(from), micros_of(to));
    let periods = shown.iter().map(|shown| (shown.start, shown.end)).collect();
    let prices = shown.iter().map(|shown| shown.price).collect();
    ResolvedPrices {
        curve: PriceCurve::of_pieces(periods, prices),
        sources: shown.iter().map(|shown| origins[shown.layer]).collect(),
    }
}

/// The price that counts at one instant, with its source.
#[must_use]
pub fn resolve_at(sources: Sources<'_>, at: DateTime<Utc>) -> Option<(Price, Source)> {
    let ranked = sources.ranked();
    ranked.iter().find_map(|(source, curve)| Some((curve.price_at(at)?, *source)))
}

impl ResolvedPrices {
    /// The prices without their sources, for plans.
    #[must_use]
    pub fn curve(&self) -> &PriceCurve {
        &self.curve
    }

    /// Resolved prices as layers, one per source, for plans that are saved.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_engine::prices::curve::{PriceCurve, Slot};
    /// use slackwater_engine::prices::resolve::{Sources, resolve};
    /// use slackwater_engine::units::per_kwh;
    /// let at = |hour: &str| format!("2026-01-05T{hour}:00:00Z").parse().unwrap();
    /// let market = PriceCurve::new(&[Slot { start: at("06"), end: at("08"), price: per_kwh(0.1) }])?;
    /// let resolved = resolve(Sources { market: Some(&market), ..Sources::default() }, at("06"), at("08"));
    /// let layers = resolved.layers()?;
    /// assert_eq!(layers.curve(), resolved.curve());
    /// assert_eq!(layers.layers()[0].source, "market");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// None that the slots did not have: the layers are checked anew.
    pub fn layers(&self) -> Result<LayeredPrices, LayerError> {
        let mut layers = Vec::new();
        // Resolved slots do not overlap, so these layers do not hide each other.
        for source in [Source::PriceSignal, Source::Tariff, Source::Market] {
            let own = self.slots().filter(|resolved| resolved.source == source);
            let slots: Vec<Slot> = own.map(|resolved| resolved.slot).collect();
            if !slots.is_empty() {
                layers.push(Layer {
                    source: source.as_str().to_owned(),
                    standing: Standing::Known,
                    ceiling: None,
                    curve: PriceCurve::new(&slots)?,
                });
            }
        }
        LayeredPrices::new(layers)
    }

    /// The slots with their sources, oldest first.
    pub fn slots(&self) -> impl ExactSizeIterator<Item = ResolvedSlot> + '_ {
        let slots = self.curve.slots().zip(&self.sources);
        slots.map(|(slot, &source)| ResolvedSlot { slot, source })
    }
}

impl TryFrom<Vec<ResolvedSlot>> for ResolvedPrices {
    type Error = CurveError;
    fn try_from(resolved: Vec<ResolvedSlot>) -> Result<Self, CurveError> {
        let slots: Vec<Slot> = resolved.iter().map(|resolved| resolved.slot).collect();
        let sources = resolved.iter().map(|resolved| resolved.source).collect();
        Ok(Self { curve: PriceCurve::new(&slots)?, sources })
    }
}

impl From<ResolvedPrices> for Vec<ResolvedSlot> {
    fn from(resolved: ResolvedPrices) -> Self {
        resolved.slots().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::curve::tests::curve_of;
    use crate::units::per_kwh;
    use chrono::TimeDelta;
    use proptest::prelude::*;

    fn at(hour: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::hours(hour)
    }

    /// Slots as `hours price source`.
    #[track_caller]
    fn check(sources: Sources<'_>, from: i64, to: i64, expected: &str) {
        let hours = |instant: DateTime<Utc>| (instant - at(0)).num_minutes() as f64 / 60.0;
        let line = |resolved: ResolvedSlot| {
            let Slot { start, end, price } = resolved.slot;
            let source = resolved.source.as_str();
            format!("{}-{} {} {source}", hours(start), hours(end), price.as_per_kwh())
        };
        let lines: Vec<String> = resolve(sources, at(from), at(to)).slots().map(line).collect();
        assert_eq!(lines.join(", "), expected);
    }

    #[test]
    fn tariff_then_market_then_nothing() {
        let tariff = curve_of(60, &[30]).between(at(0), at(1));
        let market = curve_of(60, &[10, 20]);
        let both = Sources { tariff: Some(&tariff), market: Some(&market), ..Sources::default() };
        check(both, -1, 9, "0-1 0.3 tariff, 1-2 0.2 market");
        check(Sources { tariff: None, ..both }, 0, 1, "0-1 0.1 market");
        check(Sources { market: None, ..both }, 0, 9, "0-1 0.3 tariff");
        check(Sources::default(), 0, 9, "");
        check(both, 5, 2, "");
        assert_eq!(resolve_at(both, at(2)), None);
        assert_eq!(resolve_at(both, at(1)), Some((per_kwh(0.2), Source::Market)));
    }

    #[test]
    fn flex_uses_the_signal_first() {
        let signal = curve_of(60, &[-5]);
        let tariff = curve_of(60, &[30, 30, 30]).between(at(0), at(2));
        let market = curve_of(30, &[1, 2, 3, 4, 5, 6]);
        let all =
            Sources { price_signal: Some(&signal), tariff: Some(&tariff), market: Some(&market) };
        let lines = "0-1 -0.05 price_signal, 1-2 0.3 tariff, 2-2.5 0.05 market, 2.5-3 0.06 market";
        check(all, -1, 9, lines);
        let named = serde_json::to_string(&resolve(all, at(0), at(1))).unwrap();
        assert!(named.contains(r#""price_per_kwh":-0.05,"source":"price_signal""#), "{named}");
    }

    proptest! {
        /// TAR-12: no market price where the tariff has one, no tariff where
        /// it has none, and slot by slot what instants say.
        #[test]
        fn slots_and_instants_agree(
            layers in prop::collection::vec((15..90i64, prop::collection::vec(-9..9i32, 0..9), 0..5i64), 3),
            minute in -60..600i64,
        ) {
            let curves: Vec<PriceCurve> = layers
                .iter()
                .map(|(step, cents, gap)| curve_of(*step, cents).between(at(*gap), at(*gap + 3)))
                .collect();
            let sources = Sources {
                price_signal: Some(&curves[0]),
                tariff: Some(&curves[1]),
                market: Some(&curves[2]),
            };
            let resolved = resolve(sources, at(-1), at(20));
            let instant = at(0) + TimeDelta::minutes(minute);
            let slot = resolved.slots().find(|r| r.slot.start <= instant && instant < r.slot.end);
            let found = slot.map(|resolved| (resolved.slot.price, resolved.source));
            prop_assert_eq!(found, resolve_at(sources, instant));
            let expected = [Source::PriceSignal, Source::Tariff, Source::Market]
                .into_iter()
                .zip(&curves)
                .find_map(|(source, curve)| Some((curve.price_at(instant)?, source)));
            prop_assert_eq!(found, expected);
            let layers = resolved.layers().unwrap();
            prop_assert_eq!(layers.curve(), resolved.curve());
            let named: Vec<&str> = layers.slots().map(|slot| slot.layer.source.as_str()).collect();
            let named_so: Vec<&str> = resolved.slots().map(|slot| slot.source.as_str()).collect();
            prop_assert_eq!(named, named_so);
            let text = serde_json::to_string(&resolved).unwrap();
            prop_assert_eq!(serde_json::from_str::<ResolvedPrices>(&text).unwrap(), resolved.clone());
        }
    }
}

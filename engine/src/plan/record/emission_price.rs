//! Price of emissions that the prices of a plan hold.
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::prices::combine::CombineError;
use crate::prices::curve::{CurveError, PriceCurve, Slot};
use crate::time::horizon::Horizon;

/// Price of emissions within prices to buy at, with the carbon intensity over time.
///
/// Emissions of a plan follow from its intervals and the intensity, so a saved plan that has this
/// knows its emissions.
///
/// # Example
///
/// ```
/// use slackwater_engine::plan::record::EmissionPrice;
/// use slackwater_engine::prices::curve::{PriceCurve, Slot};
/// use slackwater_engine::units::per_kwh;
///
/// let start = "2026-01-05T18:00:00Z".parse().unwrap();
/// let end = "2026-01-05T19:00:00Z".parse().unwrap();
/// // 400 g per kWh.
/// let intensity = PriceCurve::new(&[Slot { start, end, price: per_kwh(0.4) }])?;
/// let emissions = EmissionPrice::new(0.1, intensity)?;
/// assert_eq!(emissions.cost_of(20.0), 2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct EmissionPrice {
    price_per_kg: f64,
    intensity: Arc<PriceCurve>,
}

/// Emission price as it is in files.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    price_per_kg: f64,
    intensity: Vec<IntensitySlot>,
}

/// Period of constant carbon intensity in a file.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IntensitySlot {
    start: DateTime<Utc>,
    end: DateTime<Utc>,
    kg_per_kwh: f64,
}

impl TryFrom<Written> for EmissionPrice {
    type Error = CombineError;
    fn try_from(written: Written) -> Result<Self, CombineError> {
        let slots = &written.intensity;
        let horizon = Horizon::new(slots.iter().map(|slot| (slot.start, slot.end)));
        let values = slots.iter().map(|slot| slot.kg_per_kwh).collect();
        let intensity = PriceCurve::from_parts(horizon.map_err(CurveError::from)?, values)?;
        Self::new(written.price_per_kg, intensity)
    }
}

impl From<EmissionPrice> for Written {
    fn from(emissions: EmissionPrice) -> Self {
        let slot = |slot: Slot| IntensitySlot {
            start: slot.start,
            end: slot.end,
            kg_per_kwh: slot.price.as_per_kwh(),
        };
        Self {
            price_per_kg: emissions.price_per_kg,
            intensity: emissions.intensity.slots().map(slot).collect(),
        }
    }
}

impl EmissionPrice {
    /// Price per kg of emissions, and intensity in kg per kWh.
    ///
    /// # Errors
    /// The price or an intensity is negative or no number.
    pub fn new(
        price_per_kg: f64,
        intensity: impl Into<Arc<PriceCurve>>,
    ) -> Result<Self, CombineError> {
        let intensity = intensity.into();
        // Without slots there is no time at which the intensity could be missing.
        PriceCurve::default().check_emissions(&intensity, price_per_kg)?;
        Ok(Self { price_per_kg, intensity })
    }

    /// Price per kg, in units of the currency of the prices.
    #[must_use]
    pub fn price_per_kg(&self) -> f64 {
        self.price_per_kg
    }

    /// Carbon intensity, in kg per kWh.
    #[must_use]
    pub fn intensity(&self) -> &Arc<PriceCurve> {
        &self.intensity
    }

    /// Cost of emissions in kg, in units of the currency of the prices.
    #[must_use]
    pub fn cost_of(&self, kg: f64) -> f64 {
        self.price_per_kg * kg
    }

    /// Cost of a plan without its part for emissions in kg.
    #[must_use]
    pub fn cost_without(&self, cost: f64, kg: f64) -> f64 {
        cost - self.cost_of(kg)
    }

    /// Checks that the intensity is known wherever `prices` are.
    ///
    /// # Errors
    /// It is missing in a period that has a price.
    pub fn check(&self, prices: &PriceCurve) -> Result<(), CombineError> {
        prices.check_emissions(&self.intensity, self.price_per_kg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::curve::tests::curve_of;

    #[test]
    fn text_gives_the_same_price_of_emissions() {
        let emissions = EmissionPrice::new(0.25, curve_of(60, &[40, 10])).unwrap();
        let text = serde_json::to_string(&emissions).unwrap();
        assert!(text.starts_with(r#"{"price_per_kg":0.25,"intensity":[{"start":"#), "{text}");
        assert!(text.contains(r#""kg_per_kwh":0.1}"#), "{text}");
        assert_eq!(serde_json::from_str::<EmissionPrice>(&text).unwrap(), emissions);
        let flaw = serde_json::from_str::<EmissionPrice>(&text.replace("0.25", "-0.25"));
        assert!(flaw.unwrap_err().to_string().starts_with("price_per_kg is -0.25 per kg"));
        let flaw = serde_json::from_str::<EmissionPrice>(&text.replace("0.1}", "-0.1}"));
        assert!(flaw.unwrap_err().to_string().contains("is -0.1 kg per kWh; it is 0 or more"));
    }

    #[test]
    fn intensities_have_to_be_known_wherever_prices_are() {
        let emissions = EmissionPrice::new(0.25, curve_of(60, &[40])).unwrap();
        assert_eq!(emissions.check(&curve_of(30, &[1, 2])), Ok(()));
        let flaw = emissions.check(&curve_of(60, &[1, 2])).unwrap_err().to_string();
        assert!(flaw.starts_with("the intensity is missing from"), "{flaw}");
    }
}

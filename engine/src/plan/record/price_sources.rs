//! Where the prices of a saved plan come from.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::prices::curve::PriceCurve;
use crate::prices::layers::LayeredPrices;

/// Prices to buy and to sell at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GridPrices {
    /// Price of a bought kWh.
    pub import: Arc<PriceCurve>,
    /// Price of a sold kWh; `None` if nothing may be sold.
    pub export: Option<Arc<PriceCurve>>,
}

/// The price curves that a plan was made on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriceCurves<'a> {
    /// Price of a bought kWh.
    pub import: &'a PriceCurve,
    /// Price of a sold kWh, where there is one.
    pub export: Option<&'a PriceCurve>,
}

/// The layers that prices are made of, where that was said.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceSources {
    /// Layers of the prices to buy at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<Arc<LayeredPrices>>,
    /// Layers of the prices to sell at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub export: Option<Arc<LayeredPrices>>,
}

/// Layers that differ from the prices of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("layers.{name}: they differ from the prices of the plan")]
pub struct PriceSourcesError {
    /// `import` or `export`.
    pub name: &'static str,
}

impl PriceSources {
    /// Whether nothing was said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.import.is_none() && self.export.is_none()
    }

    /// Checks that layers make the curves.
    ///
    /// # Errors
    /// They make others.
    pub fn check(&self, curves: PriceCurves<'_>) -> Result<(), PriceSourcesError> {
        let makes = |layers: &Option<Arc<LayeredPrices>>, curve: Option<&PriceCurve>| {
            layers.as_ref().is_none_or(|layers| curve == Some(layers.curve()))
        };
        if !makes(&self.import, Some(curves.import)) {
            return Err(PriceSourcesError { name: "import" });
        }
        if !makes(&self.export, curves.export) {
            return Err(PriceSourcesError { name: "export" });
        }
        Ok(())
    }
}

//! Prices of a saved plan and their sources.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::prices::curve::PriceCurve;
use crate::prices::layers::LayeredPrices;

/// Import and export prices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GridPrices {
    /// Price of a bought kWh.
    pub import: Arc<PriceCurve>,
    /// Price of a sold kWh; `None` if no energy may be sold.
    pub export: Option<Arc<PriceCurve>>,
}

/// Price curves of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriceCurves<'a> {
    /// Price of a bought kWh.
    pub import: &'a PriceCurve,
    /// Price of a sold kWh; `None` if no energy may be sold.
    pub export: Option<&'a PriceCurve>,
}

/// Layers of the prices of a plan, where they are known.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceSources {
    /// Layers of the import prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<Arc<LayeredPrices>>,
    /// Layers of the export prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub export: Option<Arc<LayeredPrices>>,
}

/// Error of layers whose prices differ from those of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("layers.{name}: they differ from the prices of the plan")]
#[non_exhaustive]
pub struct PriceSourcesError {
    /// Name of the layers: `import` or `export`.
    pub name: &'static str,
}

impl PriceSources {
    /// Returns `true` if there are no layers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.import.is_none() && self.export.is_none()
    }

    /// Checks that the layers give the prices of `curves`.
    ///
    /// # Errors
    /// The layers give other prices.
    pub fn check(&self, curves: PriceCurves<'_>) -> Result<(), PriceSourcesError> {
        // Layers are optional, and without them nothing can differ.
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

//! Facts about a vehicle that its flex policy rests on.
use serde::{Deserialize, Serialize};

use slackwater_engine::plan::charge::Battery;
use slackwater_engine::units::{Energy, Percent};

/// Known facts of a vehicle under a flex policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlexFacts {
    /// Location of the policy.
    pub policy_location: String,
    /// Location the vehicle is at; `None` is none that is known.
    pub vehicle_location: Option<String>,
    /// True if the vehicle is plugged in; `None` if unknown.
    pub is_plugged_in: Option<bool>,
    /// State of charge; `None` if that is not known.
    #[serde(rename = "soc_percent")]
    pub soc: Option<Percent>,
    /// Charge limit of the vehicle now; `None` counts as 100 %.
    #[serde(rename = "charge_limit_percent")]
    pub charge_limit: Option<Percent>,
}

impl FlexFacts {
    /// The battery of the vehicle, as far as the facts tell.
    #[must_use]
    pub fn battery(
        &self,
        capacity: Energy,
        efficiency: f64,
        soc_fallback: Option<Percent>,
    ) -> Battery {
        let charge_limit = self.charge_limit.unwrap_or(Percent::FULL);
        Battery { capacity, soc: self.soc, soc_fallback, charge_limit, efficiency }
    }
}

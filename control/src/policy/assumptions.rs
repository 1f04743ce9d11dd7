//! Default assumptions for vehicles whose charging parameters are unknown.
use serde::{Deserialize, Serialize};

use slackwater_engine::plausibility::suggest_share;
use slackwater_engine::units::{Energy, Percent, Power};

/// Assumptions of an operator for unknown parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Assumptions {
    /// Power of a vehicle whose limit is unknown.
    #[serde(rename = "power_max_kw")]
    pub power_max: Power,
    /// Capacity of a vehicle that does not tell its own; without it such a
    /// vehicle is not planned for.
    #[serde(rename = "capacity_kwh")]
    pub capacity: Option<Energy>,
    /// Stored energy per energy at the plug, above 0 and at most 1.
    pub efficiency: f64,
    /// State of charge where it is not known; without it such a vehicle is not
    /// planned for.
    #[serde(rename = "soc_percent")]
    pub soc: Option<Percent>,
    /// True if negative prices may charge vehicles under a flex policy beyond their targets.
    pub fill_when_negative: bool,
}

impl Default for Assumptions {
    /// One phase of 32 A, no losses, and nothing else.
    fn default() -> Self {
        Self {
            power_max: slackwater_engine::units::kw(7.4),
            capacity: None,
            efficiency: 1.0,
            soc: None,
            fill_when_negative: false,
        }
    }
}

/// An assumption that makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum AssumptionError {
    /// A power below zero.
    #[error("power_max_kw is {} kW; a power is 0 kW or more", power.as_kw())]
    Power {
        /// The power as given.
        power: Power,
    },
    /// A battery without capacity.
    #[error("capacity_kwh is {} kWh; a battery holds more than 0 kWh", capacity.as_kwh())]
    Capacity {
        /// The capacity as given.
        capacity: Energy,
    },
    /// An efficiency outside 0 to 1.
    #[error("efficiency is {efficiency}; it lies above 0 and is at most 1{}", suggest_share(*efficiency))]
    Efficiency {
        /// The efficiency as given.
        efficiency: f64,
    },
}

impl Assumptions {
    /// Checks them.
    ///
    /// # Errors
    /// The first that makes no sense.
    pub fn check(&self) -> Result<(), AssumptionError> {
        let Self { power_max: power, efficiency, .. } = *self;
        if power < Power::ZERO {
            return Err(AssumptionError::Power { power });
        }
        if !(efficiency > 0.0 && efficiency <= 1.0) {
            return Err(AssumptionError::Efficiency { efficiency });
        }
        match self.capacity.filter(|capacity| *capacity <= Energy::ZERO) {
            Some(capacity) => Err(AssumptionError::Capacity { capacity }),
            None => Ok(()),
        }
    }
}

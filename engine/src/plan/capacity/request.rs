//! Request of a battery under a tariff with a price of power, with its checks.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::bill::load::EarlierPeak;
use crate::bill::tariff::BillingTariff;
use crate::plan::storage::request::{StorageError, StorageProblem, StorageRequest};
use crate::units::Power;

/// Power of the rest of the connection over a period.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadPeriod {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Mean power from the grid; negative into it.
    #[serde(rename = "power_kw")]
    pub power: Power,
}

/// A battery, the tariff, and what the tariff has measured or will measure beside the battery.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapacityRequest {
    /// Battery with its wishes and limits.
    pub storage: StorageRequest,
    /// Tariff whose price of power counts. Prices per kWh are given with the curves.
    pub tariff: BillingTariff,
    /// Rest of the connection, in time order; without power where there is none.
    pub load: Vec<LoadPeriod>,
    /// Highest powers of the tariff's windows before the plan, without weights.
    pub peaks: Vec<EarlierPeak>,
}

/// Error of an invalid request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CapacityError {
    /// Invalid battery.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A tariff that has no price of the measured power.
    #[error("the tariff {tariff:?} has no price of the measured power; plan_storage is enough")]
    NoCapacity {
        /// Name of the tariff.
        tariff: String,
    },
    /// A rule that no plan can follow yet.
    #[error("component {component:?} {reason}, which cannot be planned")]
    Rule {
        /// The component.
        component: String,
        /// The rule in words.
        reason: &'static str,
    },
    /// A plan that lies outside of the tariff's dates.
    #[error("the plan reaches into {month}, which is not within the dates of the tariff")]
    NotValid {
        /// The month.
        month: crate::bill::month::Month,
    },
    /// More steps in combination than are searched.
    #[error("the plan has {months} months with steps; plan two months at most")]
    TooManySteps {
        /// Months of the plan.
        months: usize,
    },
    /// A period of the other load without length, or that overlaps the one before it.
    #[error("load[{index}] does not start after load[{}] and end after its start", index.saturating_sub(1))]
    Load {
        /// Position in the input.
        index: usize,
    },
    /// A plan that breaks its own limits by more than rounding.
    #[error("the numbers are too far apart for a plan, which breaks its own limits: {fault}")]
    BreaksLimits {
        /// The first fault that its certificate finds.
        fault: String,
    },
    /// A power below zero.
    #[error("peaks[{index}] is {kw} kW; it is 0 kW or more")]
    Peak {
        /// Position in the input.
        index: usize,
        /// The power as given.
        kw: f64,
    },
}

/// Valid request.
#[derive(Debug, Clone, PartialEq)]
pub struct CapacityProblem {
    pub(crate) storage: StorageProblem,
    pub(crate) tariff: BillingTariff,
    pub(crate) load: Vec<LoadPeriod>,
    pub(crate) peaks: Vec<EarlierPeak>,
}

impl CapacityProblem {
    /// Checks a request; the tariff's rule is checked with the months of the plan.
    ///
    /// # Errors
    /// As [`StorageProblem::new`]; a load out of order; a negative peak.
    pub fn new(request: CapacityRequest) -> Result<Self, CapacityError> {
        let CapacityRequest { storage, tariff, load, peaks } = request;
        let mut last = DateTime::<Utc>::MIN_UTC;
        for (index, period) in load.iter().enumerate() {
            if period.start < last || period.end <= period.start {
                return Err(CapacityError::Load { index });
            }
            last = period.end;
        }
        for (index, peak) in peaks.iter().enumerate() {
            if peak.power < Power::ZERO {
                return Err(CapacityError::Peak { index, kw: peak.power.as_kw() });
            }
        }
        Ok(Self { storage: StorageProblem::new(storage)?, tariff, load, peaks })
    }
}

//! Plan of a vehicle that only charges: slots, purchases, intervals, costs and certificate.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::charge::certificate::Certificate;
use crate::plan::interval::Interval;
use crate::time::instant::instant_at;
use crate::tolerance::INSTANT_MICROS;
use crate::units::{Energy, Money, Power, Price};

/// Reason for a purchase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason")]
#[non_exhaustive]
pub enum Purpose {
    /// Charged at once to the reserve, at any price.
    #[serde(rename = "reserve")]
    Reserve,
    /// Charged without pause because a deadline cannot be met in full.
    #[serde(rename = "missed_deadline")]
    MissedDeadline {
        /// Position of the target in the request.
        target: usize,
    },
    /// The cheapest free energy before a deadline.
    #[serde(rename = "deadline")]
    Deadline {
        /// Position of the target in the request.
        target: usize,
    },
    /// Energy beyond the targets, bought because the price is negative.
    #[serde(rename = "negative_price")]
    NegativePrice,
    /// Energy kept from the previous plan, although cheaper energy is free.
    #[serde(rename = "kept")]
    Kept {
        /// Position of the target in the request.
        target: usize,
    },
}

/// Energy bought in one slot for one purpose.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Purchase {
    /// Position in [`Plan::slots`].
    pub slot: usize,
    /// Energy at the plug.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// Reason for the purchase.
    #[serde(flatten)]
    pub purpose: Purpose,
}

/// A period of constant price and power limit that the plan could use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedSlot {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Price per kWh.
    #[serde(rename = "price_per_kwh")]
    pub price: Price,
    /// Highest power.
    #[serde(rename = "power_max_kw")]
    pub power_max: Power,
    /// Energy bought, from zero to the capacity.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
}

impl PlannedSlot {
    /// Energy bought in the slot before an instant, if it is bought at full power from the start.
    #[inline]
    #[must_use]
    pub fn energy_by(&self, at: DateTime<Utc>) -> Energy {
        if at <= self.start {
            Energy::ZERO
        } else if at >= self.end {
            self.energy
        } else {
            self.power_max.over(at - self.start).min(self.energy)
        }
    }

    /// Energy that fits into the slot.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> Energy {
        self.power_max.over(self.end - self.start)
    }

    /// End of charging, to the microsecond, if it starts with the slot at full power.
    #[inline]
    #[must_use]
    pub fn charged_until(&self) -> DateTime<Utc> {
        if self.energy >= self.capacity() {
            return self.end;
        }
        let micros = self.power_max.micros_for(self.energy).round() as i64;
        instant_at(self.start.timestamp_micros() + micros).min(self.end)
    }
}

/// Outcome of one target.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TargetOutcome {
    /// The deadline; `None` is the end of the known prices.
    pub by: Option<DateTime<Utc>>,
    /// Energy wanted by then.
    #[serde(rename = "wanted_kwh")]
    pub wanted: Energy,
    /// Energy bought by then.
    #[serde(rename = "delivered_kwh")]
    pub delivered: Energy,
    /// Energy missing at the deadline; zero or more.
    #[serde(rename = "shortfall_kwh")]
    pub shortfall: Energy,
    /// The part of the shortfall that lies above the charge limit, which no
    /// plan can deliver.
    #[serde(rename = "above_limit_kwh", default, skip_serializing_if = "Energy::is_zero")]
    pub above_limit: Energy,
    /// Instant at which the target is reached, late or in time; `None` if never.
    pub reached_at: Option<DateTime<Utc>>,
}

/// Plan of a vehicle that only charges: a cheapest one, or one close to a previous plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Plan {
    /// Charging periods, in time order; neighbours of one power are merged.
    pub intervals: Vec<Interval>,
    /// All slots that the vehicle could use, used or not, in time order.
    pub slots: Vec<PlannedSlot>,
    /// Purchases, in the order in which they were made.
    pub purchases: Vec<Purchase>,
    /// Energy bought.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// Cost of the energy.
    pub cost: Money,
    /// Most energy missing at any deadline. Zero if all targets are met.
    #[serde(rename = "shortfall_kwh")]
    pub shortfall: Energy,
    /// One outcome per target, in the order of the request.
    pub targets: Vec<TargetOutcome>,
    /// Price of the next kWh before the last deadline; `None` if no energy is free.
    #[serde(rename = "marginal_price_per_kwh")]
    pub marginal_price: Option<Price>,
    /// Cost of the same energy at full power from plug-in.
    pub baseline_cost: Money,
    /// Hours before the last deadline that have no price and so are not used;
    /// see [`gaps`](fn@crate::plan::charge::gaps).
    #[serde(rename = "unpriced_hours")]
    pub unpriced_hours: f64,
    /// Lower bound on the cost of every plan, with its evidence.
    pub certificate: Certificate,
}

impl Plan {
    /// Baseline cost minus cost. Negative if smart charging costs more.
    #[must_use]
    pub fn savings(&self) -> Money {
        self.baseline_cost - self.cost
    }

    /// Energy bought before an instant.
    #[must_use]
    pub fn energy_by(&self, at: DateTime<Utc>) -> Energy {
        let before = self.slots.iter().take_while(|slot| slot.start < at);
        before.fold(Energy::ZERO, |sum, slot| sum + slot.energy_by(at))
    }

    /// Instant at which the plan has bought `energy`, but for the energy of a microsecond; `None`
    /// if it never has.
    #[must_use]
    pub fn reached_at(&self, energy: Energy) -> Option<DateTime<Utc>> {
        let mut missing = energy;
        for slot in &self.slots {
            let tolerance = slot.power_max.over_micros(INSTANT_MICROS);
            if slot.energy > Energy::ZERO && slot.energy + tolerance >= missing {
                // The part of the slot that buys the remainder ends at the instant.
                let part = PlannedSlot { energy: missing, ..*slot };
                return Some(part.charged_until());
            }
            missing = missing - slot.energy;
        }
        None
    }
}

/// Charging periods of slots at full power; neighbours of one power are merged.
pub(crate) fn intervals(slots: &[PlannedSlot]) -> Vec<Interval> {
    let mut intervals = Vec::new();
    for slot in slots.iter().filter(|slot| slot.energy > Energy::ZERO) {
        let (start, end) = (slot.start, slot.charged_until());
        Interval { start, end, power: slot.power_max }.join(&mut intervals, |a, b| a == b);
    }
    intervals
}

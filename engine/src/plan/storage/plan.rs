//! What a battery is to do, with everything a caller asks of it.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::plan::Interval;
use crate::plan::storage::certificate::StorageCertificate;
use crate::time::instant::{instant_at, micros_between};
use crate::units::{Energy, MICROS_PER_HOUR, Money, Percent, Power, Price};

/// Why stored energy must not be lower at the end of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wish")]
pub enum Wish {
    /// Nothing is less than empty.
    #[serde(rename = "empty")]
    Empty,
    /// The reserve.
    #[serde(rename = "reserve")]
    Reserve,
    /// The lowest state of charge of a period.
    #[serde(rename = "minimum")]
    Minimum,
    /// A target.
    #[serde(rename = "target")]
    Target {
        /// Position in the request.
        target: usize,
    },
    /// What was driven must have been there.
    #[serde(rename = "driving")]
    Driving,
}

/// A period of constant prices and limits. Slots follow each other without a
/// gap; where there is no price to buy at, nothing is charged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StorageSlot {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Price of a bought kWh, where it is known.
    #[serde(rename = "import_price_per_kwh")]
    pub import_price: Option<Price>,
    /// Price of a sold kWh, where something may be sold.
    #[serde(rename = "export_price_per_kwh")]
    pub export_price: Option<Price>,
    /// Highest charging power; zero while away and without a price.
    #[serde(rename = "charge_max_kw")]
    pub charge_max: Power,
    /// Highest discharging power; zero while away and without a price.
    #[serde(rename = "discharge_max_kw")]
    pub discharge_max: Power,
    /// Energy bought, at the plug.
    #[serde(rename = "charged_kwh")]
    pub charged: Energy,
    /// Energy sold, at the plug. Zero if something is bought.
    #[serde(rename = "discharged_kwh")]
    pub discharged: Energy,
    /// Stored energy that driving takes, as far as the battery can serve it.
    #[serde(rename = "driven_kwh")]
    pub driven: Energy,
    /// Stored energy at the end of the slot.
    #[serde(rename = "stored_kwh")]
    pub stored: Energy,
    /// Least stored energy at the end: what is wished, or what is possible.
    #[serde(rename = "stored_min_kwh")]
    pub stored_min: Energy,
    /// Most stored energy at the end: the charge limit, or what the battery
    /// can have that is above it.
    #[serde(rename = "stored_max_kwh")]
    pub stored_max: Energy,
    /// Stored energy beyond which nothing is charged.
    #[serde(rename = "charge_limit_kwh")]
    pub charge_limit: Energy,
    /// What asks for `stored_min`.
    #[serde(flatten)]
    pub wish: Wish,
    /// What one more stored kWh would be worth in this slot.
    #[serde(rename = "marginal_value_per_kwh")]
    pub marginal_value: Price,
}

impl StorageSlot {
    /// When charging or discharging ends; it starts with the slot at full power.
    #[must_use]
    pub fn busy_until(&self) -> DateTime<Utc> {
        let (power, energy) = if self.charged > Energy::ZERO {
            (self.charge_max, self.charged)
        } else {
            (self.discharge_max, self.discharged)
        };
        if energy >= power.over_micros(micros_between(self.start, self.end)) {
            return if energy > Energy::ZERO { self.end } else { self.start };
        }
        let micros = power.micros_for(energy).round() as i64;
        (self.start + TimeDelta::microseconds(micros)).min(self.end)
    }

    /// Power from the start of the slot until [`StorageSlot::busy_until`];
    /// negative discharges.
    #[must_use]
    pub fn power(&self) -> Power {
        if self.charged > Energy::ZERO {
            self.charge_max
        } else if self.discharged > Energy::ZERO {
            -self.discharge_max
        } else {
            Power::ZERO
        }
    }
}

/// What becomes of one target.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorageOutcome {
    /// The deadline; `None` is the end of the plan.
    pub by: Option<DateTime<Utc>>,
    /// State of charge wanted by then.
    #[serde(rename = "wanted_percent")]
    pub wanted: Percent,
    /// State of charge at the deadline.
    #[serde(rename = "soc_percent")]
    pub soc: Percent,
    /// Stored energy missing at the deadline.
    #[serde(rename = "shortfall_kwh")]
    pub shortfall: Energy,
    /// The part of the shortfall that lies above the charge limit, which no
    /// plan can deliver.
    #[serde(rename = "above_limit_kwh", default, skip_serializing_if = "Energy::is_zero")]
    pub above_limit: Energy,
    /// When so much is stored for the first time; `None` if never.
    pub reached_at: Option<DateTime<Utc>>,
}

/// The parts that a cost is made of.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorageCosts {
    /// What the bought energy costs.
    #[serde(rename = "import_cost")]
    pub import: Money,
    /// What the sold energy brings.
    #[serde(rename = "export_revenue")]
    pub export: Money,
    /// Wear of what is discharged to the plug.
    #[serde(rename = "wear_cost")]
    pub wear: Money,
    /// Value of what is stored at the end beyond what was stored at the
    /// start; negative if there is less.
    #[serde(rename = "stored_value")]
    pub stored: Money,
}

impl StorageCosts {
    /// What is minimised: import − export + wear − value stored.
    #[must_use]
    pub fn total(&self) -> Money {
        self.import - self.export + self.wear - self.stored
    }
}

/// The cheapest way to do what was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoragePlan {
    /// Charging (positive) and discharging (negative) periods in time order;
    /// neighbours of one power are merged.
    pub intervals: Vec<Interval>,
    /// All slots from the start of the plan to its end.
    pub slots: Vec<StorageSlot>,
    /// Usable capacity of the battery.
    #[serde(rename = "capacity_kwh")]
    pub capacity: Energy,
    /// Stored energy at the start.
    #[serde(rename = "stored_start_kwh")]
    pub stored_start: Energy,
    /// Energy bought, at the plug.
    #[serde(rename = "charged_kwh")]
    pub charged: Energy,
    /// Energy sold, at the plug.
    #[serde(rename = "discharged_kwh")]
    pub discharged: Energy,
    /// Bought less sold, wear included, less the value of the energy stored
    /// at the end beyond that at the start: the sum of `costs`.
    pub cost: Money,
    /// The parts of the cost.
    pub costs: StorageCosts,
    /// Most stored energy missing at a target. Zero when all are met.
    #[serde(rename = "shortfall_kwh")]
    pub shortfall: Energy,
    /// Most stored energy missing below the reserve or the lowest state of
    /// charge of a period, at the end of any slot.
    #[serde(rename = "floor_shortfall_kwh")]
    pub floor_shortfall: Energy,
    /// Driving that the battery cannot serve, as stored energy.
    #[serde(rename = "unserved_kwh")]
    pub unserved: Energy,
    /// One outcome per target, in the order of the request.
    pub targets: Vec<StorageOutcome>,
    /// Cost of the baseline: no discharging, and at full power from plug-in
    /// what the wishes need, or what the plan gains if that is more.
    pub baseline_cost: Money,
    /// Time without a price to buy at, in hours.
    pub unpriced_hours: f64,
    /// The proof that nothing cheaper exists.
    pub certificate: StorageCertificate,
}

impl StoragePlan {
    /// Baseline cost minus cost. Negative when smart charging cost more.
    #[must_use]
    pub fn savings(&self) -> Money {
        self.baseline_cost - self.cost
    }

    /// Stored energy at an instant: at the start before the plan, at the end after it.
    #[must_use]
    pub fn stored_at(&self, at: DateTime<Utc>) -> Energy {
        let index = self.slots.partition_point(|slot| slot.end <= at);
        let before = self.stored_before(index);
        let Some(slot) = self.slots.get(index).filter(|slot| slot.start < at) else {
            return before;
        };
        let gone = (at - slot.start).num_microseconds().unwrap_or(0) as f64;
        let busy = (slot.busy_until() - slot.start).num_microseconds().unwrap_or(0) as f64;
        let length = (slot.end - slot.start).num_microseconds().unwrap_or(1) as f64;
        let driven = slot.driven.as_kwh();
        let change = slot.stored.as_kwh() - before.as_kwh() + driven;
        let share = if busy > 0.0 { (gone / busy).min(1.0) } else { 0.0 };
        let stored = before.as_kwh() + change * share - driven * gone / length;
        Energy::from_kwh(stored).unwrap_or(before)
    }

    /// State of charge at an instant.
    #[must_use]
    pub fn soc_at(&self, at: DateTime<Utc>) -> Percent {
        Percent::filled(self.stored_at(at), self.capacity)
    }

    /// When so much is stored for the first time, or `None` if it never is.
    #[must_use]
    pub fn reached_at(&self, stored: Energy) -> Option<DateTime<Utc>> {
        let rounding = Energy::from_kwh(1e-9 * self.capacity.as_kwh()).unwrap_or(Energy::ZERO);
        if self.stored_start + rounding >= stored {
            return self.slots.first().map(|slot| slot.start);
        }
        let index = self.slots.iter().position(|slot| slot.stored + rounding >= stored)?;
        let slot = &self.slots[index];
        let (before, after) = (self.stored_before(index).as_kwh(), slot.stored.as_kwh());
        let share = ((stored.as_kwh() - before) / (after - before)).clamp(0.0, 1.0);
        let busy = (slot.busy_until() - slot.start).num_microseconds().unwrap_or(0);
        let micros = (busy as f64 * share).round() as i64;
        Some(instant_at(slot.start.timestamp_micros() + micros))
    }

    /// Stored energy at the start of a slot.
    pub(crate) fn stored_before(&self, index: usize) -> Energy {
        index.checked_sub(1).map_or(self.stored_start, |last| self.slots[last].stored)
    }
}

/// Adds a period of constant power, or lets the one before it go on.
pub(crate) fn join(intervals: &mut Vec<Interval>, next: Interval) {
    match intervals.last_mut() {
        Some(last) if last.end == next.start && last.power == next.power => last.end = next.end,
        _ if next.end > next.start => intervals.push(next),
        _ => {}
    }
}

/// Hours of slots without a price to buy at.
pub(crate) fn unpriced_hours(slots: &[StorageSlot]) -> f64 {
    let unpriced = slots.iter().filter(|slot| slot.import_price.is_none());
    let micros: i64 = unpriced.map(|slot| micros_between(slot.start, slot.end)).sum();
    micros as f64 / MICROS_PER_HOUR
}

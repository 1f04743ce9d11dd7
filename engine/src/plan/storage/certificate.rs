//! Proof of optimality: a bound that needs no solver and a plan that meets it.
//!
//! Let `λ_t` be any value of a stored kWh in slot t, and v its value at the end.
//! With `a`, `b`, `A`, `B`, `L`, `H` as in the folder's docs and `λ_{T+1}` = v,
//! weak duality says that no plan costs less than
//!
//! ```text
//! (v − λ_1)·e_0 + Σ_t λ_t·w_t + Σ_t min over e in [L_t, H_t] of e·(λ_t − λ_{t+1})
//!   + Σ_t min( 0, (a_t − λ_t)·A_t, (λ_t − b_t)·B_t )
//! ```
//!
//! The last term takes the best of idling, charging and discharging, one of
//! them, so the bound knows that no slot does both. [`certify`] rebuilds cost
//! and bound from the slots alone. Where a slot had to be decided by search,
//! the bound of that search is stated beside it, and which of the two counts.
use serde::{Deserialize, Serialize};

use crate::plan::charge::certificate::GAP_MAX;
use crate::plan::storage::plan::StorageSlot;
use crate::time::instant::micros_between;
use crate::units::{Energy, MICROS_PER_HOUR, Money, Price};

/// What a search over slots that had to be decided found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Searched {
    /// Least cost that the search leaves possible.
    pub bound: Money,
    /// Relaxations that it solved.
    pub nodes: usize,
}

/// What a proof rests on, beside the plan's slots.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorageEvidence {
    /// Stored energy at the start.
    #[serde(rename = "stored_start_kwh")]
    pub stored_start: Energy,
    /// Stored energy per energy at the plug.
    pub efficiency: f64,
    /// Energy at the plug per stored energy.
    pub efficiency_discharge: f64,
    /// Wear per stored kWh that is discharged to the plug.
    #[serde(rename = "wear_price_per_kwh")]
    pub wear_price: Price,
    /// Value of a kWh stored at the end.
    #[serde(rename = "end_value_per_kwh")]
    pub end_value: Price,
    /// The search, where marginal values alone could not prove the plan:
    /// negative prices with losses, or a battery above its charge limit.
    pub searched: Option<Searched>,
}

/// Cost of a plan, the bound that no plan can undercut, and what it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorageCertificate {
    /// Cost of the plan, summed anew.
    pub cost: Money,
    /// Cost that no plan can undercut: by the marginal values, or by the
    /// search if there was one.
    pub bound: Money,
    /// The bound by the marginal values alone, which anybody can rebuild.
    pub bound_by_values: Money,
    /// What the bound rests on.
    pub evidence: StorageEvidence,
}

impl StorageCertificate {
    /// Cost minus bound: most that could be left on the table.
    #[must_use]
    pub fn gap(&self) -> Money {
        self.cost - self.bound
    }

    /// Whether the gap is nothing but rounding: at most [`GAP_MAX`] of the cost.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        self.gap().as_amount().abs() <= GAP_MAX * self.cost.as_amount().abs().max(1.0)
    }
}

/// Why slots and evidence prove nothing.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum StorageCertificateError {
    /// Slots do not follow each other.
    #[error("slot {slot} does not start where the one before it ends, or has no length")]
    NotInOrder {
        /// Position of the slot.
        slot: usize,
    },
    /// A slot charges or discharges less than nothing, more than fits, or both.
    #[error(
        "slot {slot} charges {} kWh and discharges {} kWh; it may do one, within its limits",
        charged.as_kwh(), discharged.as_kwh()
    )]
    OutsideLimits {
        /// Position of the slot.
        slot: usize,
        /// Energy bought.
        charged: Energy,
        /// Energy sold.
        discharged: Energy,
    },
    /// The stored energy is not what charging, discharging and driving leave.
    #[error("slot {slot} ends with {} kWh stored where {} kWh are left", stored.as_kwh(), left.as_kwh())]
    NotConserved {
        /// Position of the slot.
        slot: usize,
        /// Stored energy as stated.
        stored: Energy,
        /// Stored energy as it follows.
        left: Energy,
    },
    /// The stored energy leaves its bounds.
    #[error(
        "slot {slot} ends with {} kWh stored, outside {} to {} kWh",
        stored.as_kwh(), least.as_kwh(), most.as_kwh()
    )]
    OutsideLevels {
        /// Position of the slot.
        slot: usize,
        /// Stored energy.
        stored: Energy,
        /// Its lower bound.
        least: Energy,
        /// Its upper bound.
        most: Energy,
    },
    /// A slot charges beyond the charge limit.
    #[error("slot {slot} charges to {} kWh, beyond the charge limit of {} kWh", stored.as_kwh(), limit.as_kwh())]
    BeyondLimit {
        /// Position of the slot.
        slot: usize,
        /// Stored energy at its end.
        stored: Energy,
        /// The charge limit.
        limit: Energy,
    },
}

/// Rebuilds cost and bound of a plan, in time linear in its slots.
///
/// # Errors
/// The slots are no plan: they break their own limits or lose energy.
pub fn certify(
    slots: &[StorageSlot],
    evidence: StorageEvidence,
) -> Result<StorageCertificate, StorageCertificateError> {
    let mut level = evidence.stored_start;
    let mut largest = level.as_kwh();
    for (index, slot) in slots.iter().enumerate() {
        let is_next = index == 0 || slots[index - 1].end == slot.start;
        if !is_next || slot.start >= slot.end {
            return Err(StorageCertificateError::NotInOrder { slot: index });
        }
        largest = check_slot(index, slot, (level, largest), &evidence)?;
        level = slot.stored;
    }
    let cost = cost(slots, &evidence, level);
    let by_values = bound(slots, &evidence);
    let bound = evidence.searched.map_or(by_values, |searched| searched.bound.max(by_values));
    Ok(StorageCertificate { cost: amount(cost), bound, bound_by_values: by_values, evidence })
}

fn amount(sum: f64) -> Money {
    Money::from_amount(sum).unwrap_or(Money::ZERO)
}

/// Checks a slot; returns the largest energy so far, of which rounding is a part.
fn check_slot(
    index: usize,
    slot: &StorageSlot,
    (before, largest): (Energy, f64),
    evidence: &StorageEvidence,
) -> Result<f64, StorageCertificateError> {
    let (charged, discharged) = (slot.charged, slot.discharged);
    let fits = |energy: Energy, power: crate::units::Power| {
        if energy == Energy::ZERO {
            return true; // As most slots are.
        }
        let most = power.over_micros(micros_between(slot.start, slot.end)).as_kwh();
        (0.0..=most + rounding(most)).contains(&energy.as_kwh())
    };
    let is_both = charged > Energy::ZERO && discharged > Energy::ZERO;
    let is_priced = (charged <= Energy::ZERO || slot.import_price.is_some())
        && (discharged <= Energy::ZERO || slot.export_price.is_some());
    if is_both
        || !is_priced
        || !fits(charged, slot.charge_max)
        || !fits(discharged, slot.discharge_max)
    {
        return Err(StorageCertificateError::OutsideLimits { slot: index, charged, discharged });
    }
    let moved = if discharged > Energy::ZERO {
        -discharged.as_kwh() / evidence.efficiency_discharge
    } else {
        charged.as_kwh() * evidence.efficiency
    };
    let left = before.as_kwh() + moved - slot.driven.as_kwh();
    let stored = slot.stored.as_kwh();
    let added = moved.abs().max(slot.driven.as_kwh());
    let largest = largest.max(added).max(slot.stored_max.as_kwh());
    let slack = rounding(largest);
    if (left - stored).abs() > slack {
        let left = Energy::from_kwh(left).unwrap_or(Energy::ZERO);
        return Err(StorageCertificateError::NotConserved {
            slot: index,
            stored: slot.stored,
            left,
        });
    }
    let (least, most) = (slot.stored_min, slot.stored_max);
    if stored < least.as_kwh() - slack || stored > most.as_kwh() + slack {
        return Err(StorageCertificateError::OutsideLevels {
            slot: index,
            stored: slot.stored,
            least,
            most,
        });
    }
    let limit = slot.charge_limit;
    if charged > Energy::ZERO && stored > limit.as_kwh() + slack {
        return Err(StorageCertificateError::BeyondLimit {
            slot: index,
            stored: slot.stored,
            limit,
        });
    }
    Ok(largest)
}

/// Length of a slot in hours.
fn hours(slot: &StorageSlot) -> f64 {
    micros_between(slot.start, slot.end) as f64 / MICROS_PER_HOUR
}

/// Energies may differ from their parts by rounding.
fn rounding(kwh: f64) -> f64 {
    GAP_MAX * kwh.max(1.0)
}

fn cost(slots: &[StorageSlot], evidence: &StorageEvidence, end: Energy) -> f64 {
    let wear = evidence.wear_price.as_per_kwh();
    let mut cost = 0.0;
    for slot in slots {
        if let (Some(price), true) = (slot.import_price, slot.charged > Energy::ZERO) {
            cost += price.as_per_kwh() * slot.charged.as_kwh();
        }
        if let (Some(price), true) = (slot.export_price, slot.discharged > Energy::ZERO) {
            let worn = slot.discharged.as_kwh() / evidence.efficiency_discharge;
            cost += wear * worn - price.as_per_kwh() * slot.discharged.as_kwh();
        }
    }
    cost - evidence.end_value.as_per_kwh() * (end - evidence.stored_start).as_kwh()
}

fn bound(slots: &[StorageSlot], evidence: &StorageEvidence) -> Money {
    let end_value = evidence.end_value.as_per_kwh();
    let (efficiency, wear) = (evidence.efficiency, evidence.wear_price.as_per_kwh());
    let stored_per_sold = 1.0 / evidence.efficiency_discharge;
    let mut next = end_value;
    let mut bound = end_value * evidence.stored_start.as_kwh();
    for slot in slots.iter().rev() {
        let value = slot.marginal_value.as_per_kwh();
        let fall = value - next;
        let level = if fall > 0.0 { slot.stored_min } else { slot.stored_max };
        bound += fall * level.as_kwh() + value * slot.driven.as_kwh();
        let by_charging = slot.import_price.map_or(0.0, |price| {
            (price.as_per_kwh() - value * efficiency) * slot.charge_max.as_kw()
        });
        let by_discharging = slot.export_price.map_or(0.0, |price| {
            let missed = (value + wear) * stored_per_sold - price.as_per_kwh();
            missed * slot.discharge_max.as_kw()
        });
        let per_hour = by_charging.min(by_discharging);
        if per_hour < 0.0 {
            bound += per_hour * hours(slot);
        }
        next = value;
    }
    amount(bound - next * evidence.stored_start.as_kwh())
}

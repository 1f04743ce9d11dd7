//! Certificate of a storage plan: its cost, and a dual bound that needs no solver.
//!
//! # Dual bound
//!
//! Let `λ_t` be any multiplier of the balance of slot `t`: the value of a stored kWh. With the
//! [symbols](super) of the problem and `λ_{T+1} = v`, the Lagrangian separates by slot, and by
//! weak duality no plan costs less than
//!
//! ```text
//! D(λ) = (v − λ_1)·e_0 + Σ_t λ_t·w_t
//!      + Σ_t min over e in [L_t, H_t] of  e·(λ_t − λ_{t+1})
//!      + Σ_t min( 0, (a_t − λ_t)·A_t, (λ_t − b_t)·B_t )
//! ```
//!
//! The last term is the best of idling, full charge and full discharge, so the bound includes
//! the rule that no slot does two of them. The minimum over `e` is at `L_t` if
//! `λ_t > λ_{t+1}`, else at `H_t`.
//!
//! [`certify`] recomputes cost and bound from the slots alone. After a branch and bound
//! ([`branch_and_bound`](super::branch_and_bound)) the bound is the larger of `D(λ)` and the
//! bound of that search.
//!
//! | Symbol | Field |
//! |---|---|
//! | `λ_t` | `StorageSlot::marginal_value` |
//! | `L_t`, `H_t` | `StorageSlot::stored_min`, `stored_max` |
//! | `w_t`, `e_t` | `StorageSlot::driven`, `stored` |
//! | `v`, `e_0` | `StorageEvidence::end_value`, `stored_start` |
//! | `D(λ)` | `StorageCertificate::bound_by_values` |
use serde::{Deserialize, Serialize};

use crate::plan::storage::plan::StorageSlot;
use crate::time::instant::micros_between;
use crate::tolerance::{GAP_MAX, allowed};
use crate::units::{Energy, MICROS_PER_HOUR, Money, Price};

/// Bound and effort of a branch and bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Searched {
    /// Lower bound on the cost of all plans.
    pub bound: Money,
    /// Number of relaxations solved.
    pub nodes: usize,
}

/// Data of a certificate beside the slots of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorageEvidence {
    /// Stored energy at the start, `e_0`.
    #[serde(rename = "stored_start_kwh")]
    pub stored_start: Energy,
    /// Stored energy per energy at the plug when charging, `η_c`.
    pub efficiency: f64,
    /// Energy at the plug per stored energy when discharging, `η_d`.
    pub efficiency_discharge: f64,
    /// Wear per stored kWh that is discharged to the plug.
    #[serde(rename = "wear_price_per_kwh")]
    pub wear_price: Price,
    /// Value of a kWh stored at the end, `v`.
    #[serde(rename = "end_value_per_kwh")]
    pub end_value: Price,
    /// Branch and bound, if the plan needed one: where charging costs less than discharging
    /// earns (negative prices with losses), or for a battery above its charge limit.
    pub searched: Option<Searched>,
}

/// Certificate of a plan: its cost, lower bounds on the cost, and their data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct StorageCertificate {
    /// Cost of the plan, recomputed from its slots.
    pub cost: Money,
    /// Lower bound on the cost of all plans: the larger of the dual bound and that of the branch
    /// and bound, if there was one.
    pub bound: Money,
    /// Dual bound by the marginal values alone, which a caller can recompute.
    pub bound_by_values: Money,
    /// Data of the bound beside the slots.
    pub evidence: StorageEvidence,
}

impl StorageCertificate {
    /// Cost minus bound: the most that another plan can save.
    #[must_use]
    pub fn gap(&self) -> Money {
        self.cost - self.bound
    }

    /// Returns true if the gap is at most [`GAP_MAX`] of the cost, or of 1 if that is larger.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        self.gap().as_amount().abs() <= allowed(GAP_MAX, self.cost.as_amount())
    }
}

/// Reason why slots and evidence are no plan.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StorageCertificateError {
    /// Slot with a gap before it, or without length.
    #[error("slot {slot} does not start where the one before it ends, or has no length")]
    NotInOrder {
        /// Position of the slot.
        slot: usize,
    },
    /// Slot that charges or discharges a negative energy, more than its power allows, without a
    /// price, or both.
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
    /// Stored energy that breaks the balance of charging, discharging and driving.
    #[error("slot {slot} ends with {} kWh stored where {} kWh are left", stored.as_kwh(), left.as_kwh())]
    NotConserved {
        /// Position of the slot.
        slot: usize,
        /// Stored energy of the slot.
        stored: Energy,
        /// Stored energy by the balance.
        left: Energy,
    },
    /// Stored energy outside its levels.
    #[error(
        "slot {slot} ends with {} kWh stored, outside {} to {} kWh",
        stored.as_kwh(), least.as_kwh(), most.as_kwh()
    )]
    OutsideLevels {
        /// Position of the slot.
        slot: usize,
        /// Stored energy.
        stored: Energy,
        /// Least level.
        least: Energy,
        /// Highest level.
        most: Energy,
    },
    /// Slot that charges above the charge limit.
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

/// Recomputes cost and bound of a plan, in time linear in its slots.
///
/// # Errors
/// The slots are no plan: they break their own limits or the balance of energy.
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
    // Both are lower bounds, so the higher one counts.
    let bound = evidence.searched.map_or(by_values, |searched| searched.bound.max(by_values));
    Ok(StorageCertificate { cost: amount(cost), bound, bound_by_values: by_values, evidence })
}

/// Money of a sum; zero if the sum is not finite.
fn amount(sum: f64) -> Money {
    Money::from_amount(sum).unwrap_or(Money::ZERO)
}

/// Checks a slot. `before` is the stored energy at its start, and `largest` the largest energy so
/// far, to which rounding is relative. Returns the new `largest`, in kWh.
fn check_slot(
    index: usize,
    slot: &StorageSlot,
    (before, largest): (Energy, f64),
    evidence: &StorageEvidence,
) -> Result<f64, StorageCertificateError> {
    let (charged, discharged) = (slot.charged, slot.discharged);
    // Power, price and sign.
    let fits = |energy: Energy, power: crate::units::Power| {
        if energy == Energy::ZERO {
            return true; // The usual case.
        }
        let most = power.over_micros(micros_between(slot.start, slot.end)).as_kwh();
        (0.0..=most + allowed(GAP_MAX, most)).contains(&energy.as_kwh())
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
    // Balance of stored energy: `left` is what the slot should end with.
    let moved = if discharged > Energy::ZERO {
        -discharged.as_kwh() / evidence.efficiency_discharge
    } else {
        charged.as_kwh() * evidence.efficiency
    };
    let left = before.as_kwh() + moved - slot.driven.as_kwh();
    let stored = slot.stored.as_kwh();
    let added = moved.abs().max(slot.driven.as_kwh());
    let largest = largest.max(added).max(slot.stored_max.as_kwh());
    let slack = allowed(GAP_MAX, largest);
    if (left - stored).abs() > slack {
        let left = Energy::from_kwh(left).unwrap_or(Energy::ZERO);
        return Err(StorageCertificateError::NotConserved {
            slot: index,
            stored: slot.stored,
            left,
        });
    }
    // Levels and charge limit.
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

/// Cost of a plan: energy bought less sold, plus wear, less the value of the energy gained.
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

/// Dual bound `D(λ)` of the marginal values of the slots.
fn bound(slots: &[StorageSlot], evidence: &StorageEvidence) -> Money {
    let end_value = evidence.end_value.as_per_kwh();
    let (efficiency, wear) = (evidence.efficiency, evidence.wear_price.as_per_kwh());
    let stored_per_sold = 1.0 / evidence.efficiency_discharge;
    let mut next = end_value;
    let mut bound = end_value * evidence.stored_start.as_kwh();
    for slot in slots.iter().rev() {
        let value = slot.marginal_value.as_per_kwh();
        let fall = value - next;
        // The dual function takes the level at which this product is least.
        let level = if fall > 0.0 { slot.stored_min } else { slot.stored_max };
        bound += fall * level.as_kwh() + value * slot.driven.as_kwh();
        // Reduced costs of full charge and full discharge, per hour.
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

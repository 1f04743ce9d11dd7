//! Certificate of a plan under a price of power: its cost, and a dual bound that needs no solver.
//!
//! # Dual bound
//!
//! Let `λ_t` be the value of a stored kWh in slot `t` and `μ_t ≥ 0` the price of a kW of the level
//! that the slot pays, with `π_k = Σ_t μ_t` over the slots of group `k`. The Lagrangian separates by
//! slot and by month ([symbols](super); `λ_{T+1} = v`), and by weak duality no plan costs less than
//!
//! ```text
//! D(λ, μ) = (v − λ_1)·e_0 + Σ_t λ_t·w_t
//!         + Σ_t min over e in [L_t, H_t] of  e·(λ_t − λ_{t+1})
//!         + Σ_t min over x in [−B_t, A_t] of  c_t(x) − λ_t·x + μ_t·f_t·g_t(x)/h_t
//!         + Σ_m K_m(π) − charge_m(D_m before)
//! K_m(π)  = min over M_k ≥ power reached before of  charge_m(D_m(M)) − Σ_k π_k·M_k
//! ```
//!
//! The minimum over `x` is at one of `−B_t`, `A_t`, 0 and the `x` at which nothing flows through the
//! meter, also where `c_t` is not convex.
//!
//! For a price of `p` per kW, the mean of the `n` highest powers is at least any mean of powers with
//! weights of at most `1/n`, and `D_m` at least a mixture of that and the floor with shares `α` and
//! `1 − α`. A weight of `π_k/p` on group `k` cancels `π_k·M_k`. The rest of the weights lies on the
//! highest powers that are known, which gives the bound on `K_m` that [`certify`] uses. It needs
//! `π_k ≤ p/n` and `Σ_k π_k ≤ p`.
//!
//! A month with steps has no such bound: each step has multipliers of its own. There the bound of
//! the search over the steps is taken as it is, as it is after a branch and bound of a battery.
use serde::{Deserialize, Serialize};

use crate::bill::month::Month;
use crate::plan::capacity::groups::{MonthCharge, PowerCharges, PowerGroup, PowerPrice};
use crate::plan::capacity::planned_slot::CapacitySlot;
use crate::plan::storage::certificate::Searched;
use crate::time::instant::micros_between;
use crate::tolerance::{GAP_MAX, allowed};
use crate::units::{Energy, MICROS_PER_HOUR, Money, Power, Price};

/// Step of a charge of power.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerStep {
    /// Highest power of the step; none for the last one.
    #[serde(rename = "power_max_kw")]
    pub power_max: Option<Power>,
    /// Charge of the month, taxes included.
    pub charge: Money,
}

/// Charge of the power of a month.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MonthEvidence {
    /// The month.
    pub month: Month,
    /// Price of a kW, taxes included; none for steps.
    pub price_per_kw: Option<Money>,
    /// Steps of rising power; empty for a price per kW.
    pub steps: Vec<PowerStep>,
    /// Number of powers of which the mean is taken.
    pub highest: usize,
    /// Weighted powers that the plan does not reach, highest first.
    #[serde(rename = "others_kw")]
    pub others: Vec<Power>,
    /// Least power of the month.
    #[serde(rename = "floor_kw")]
    pub floor: Power,
}

/// Group of windows of which one power counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupEvidence {
    /// Position of its month.
    pub month: usize,
    /// Weighted power that was reached before the plan.
    #[serde(rename = "power_before_kw")]
    pub power_before: Power,
}

/// Data of a certificate beside the slots of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapacityEvidence {
    /// Stored energy at the start, `e_0`.
    #[serde(rename = "stored_start_kwh")]
    pub stored_start: Energy,
    /// Stored energy per energy at the plug when charging.
    pub efficiency: f64,
    /// Energy at the plug per stored energy when discharging.
    pub efficiency_discharge: f64,
    /// Wear per stored kWh that is discharged to the plug.
    #[serde(rename = "wear_price_per_kwh")]
    pub wear_price: Price,
    /// Value of a kWh stored at the end, `v`.
    #[serde(rename = "end_value_per_kwh")]
    pub end_value: Price,
    /// Months of the plan with their charges.
    pub months: Vec<MonthEvidence>,
    /// Groups of windows.
    pub groups: Vec<GroupEvidence>,
    /// Search over levels and steps.
    pub searched: Searched,
}

/// Certificate of a plan: cost of energy and power, lower bounds on it, and their data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CapacityCertificate {
    /// Cost of the plan, recomputed from its slots.
    pub cost: Money,
    /// Lower bound on the cost of all plans: the larger of the dual bound and that of the search.
    pub bound: Money,
    /// Dual bound by the multipliers of the slots; none if a month has steps.
    pub bound_by_values: Option<Money>,
    /// Data of the bound beside the slots.
    pub evidence: CapacityEvidence,
}

impl CapacityCertificate {
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
pub enum CapacityCertificateError {
    /// Slot with a gap before it, or without length.
    #[error("slot {slot} does not start where the one before it ends, or has no length")]
    NotInOrder {
        /// Position of the slot.
        slot: usize,
    },
    /// Slot that charges or discharges a negative energy, more than its power allows, or both.
    #[error(
        "slot {slot} charges {} kWh and discharges {} kWh; it may do one, within its limits",
        charged.as_kwh(), discharged.as_kwh()
    )]
    OutsideLimits {
        /// Position of the slot.
        slot: usize,
        /// Energy into the battery.
        charged: Energy,
        /// Energy out of it.
        discharged: Energy,
    },
    /// Stored energy that breaks the balance, or lies outside its levels.
    #[error("slot {slot} ends with {} kWh stored where {} kWh are left", stored.as_kwh(), left.as_kwh())]
    Stored {
        /// Position of the slot.
        slot: usize,
        /// Stored energy of the slot.
        stored: Energy,
        /// Stored energy by the balance, within its levels.
        left: Energy,
    },
    /// Slot of a group that is not there, or group of a month that is not there.
    #[error("slot {slot} is in a group or month that the evidence does not have")]
    NoGroup {
        /// Position of the slot.
        slot: usize,
    },
}

/// Recomputes cost and bound of a plan, in time linear in its slots.
///
/// # Errors
/// The slots are no plan: they break their own limits or the balance of energy.
pub fn certify(
    slots: &[CapacitySlot],
    evidence: CapacityEvidence,
) -> Result<CapacityCertificate, CapacityCertificateError> {
    check_slots(slots, &evidence)?;
    let groups = PowerCharges::of_evidence(&evidence);
    let before = groups.charge(&groups.carried());
    let cost =
        energy_cost(slots, &evidence) + groups.charge(&measure_powers(slots, &groups)) - before;
    let (cost, searched) = (money_or_zero(cost), evidence.searched.bound);
    let by_values = power_bound(slots, &groups)
        .map(|power| money_or_zero(energy_bound(slots, &evidence) + power - before));
    // Both are lower bounds, so the higher one counts.
    let bound = by_values.map_or(searched, |by_values| by_values.max(searched));
    Ok(CapacityCertificate { cost, bound, bound_by_values: by_values, evidence })
}

/// Money of a sum; zero if the sum is not finite.
fn money_or_zero(sum: f64) -> Money {
    Money::from_amount(sum).unwrap_or(Money::ZERO)
}

/// Length of a slot in hours.
fn count_hours(slot: &CapacitySlot) -> f64 {
    micros_between(slot.start, slot.end) as f64 / MICROS_PER_HOUR
}

fn check_slots(
    slots: &[CapacitySlot],
    evidence: &CapacityEvidence,
) -> Result<(), CapacityCertificateError> {
    let mut level = evidence.stored_start.as_kwh();
    let mut largest = level;
    for (index, slot) in slots.iter().enumerate() {
        let is_next = index == 0 || slots[index - 1].end == slot.start;
        if !is_next || slot.start >= slot.end {
            return Err(CapacityCertificateError::NotInOrder { slot: index });
        }
        let (charged, discharged) = (slot.charged.as_kwh(), slot.discharged.as_kwh());
        let fits = |energy: f64, power: Power| {
            let most = power.as_kw() * count_hours(slot);
            (0.0..=most + allowed(GAP_MAX, most)).contains(&energy)
        };
        let is_both = charged > 0.0 && discharged > 0.0;
        if is_both || !fits(charged, slot.charge_max) || !fits(discharged, slot.discharge_max) {
            let (charged, discharged) = (slot.charged, slot.discharged);
            return Err(CapacityCertificateError::OutsideLimits {
                slot: index,
                charged,
                discharged,
            });
        }
        let moved = charged * evidence.efficiency - discharged / evidence.efficiency_discharge;
        level = level + moved - slot.driven.as_kwh();
        let (least, most) = (slot.stored_min.as_kwh(), slot.stored_max.as_kwh());
        let left = level.clamp(least, most.max(least));
        largest = largest.max(moved.abs()).max(slot.driven.as_kwh()).max(most);
        let slack = allowed(GAP_MAX, largest);
        let stored = slot.stored.as_kwh();
        if (stored - left).abs() > slack || (level - left).abs() > slack {
            let left = Energy::from_kwh(left).unwrap_or(Energy::ZERO);
            return Err(CapacityCertificateError::Stored {
                slot: index,
                stored: slot.stored,
                left,
            });
        }
        let group = slot.group.map(|group| evidence.groups.get(group));
        let month = group.map(|group| group.and_then(|own| evidence.months.get(own.month)));
        if month.is_some_and(|month| month.is_none()) {
            return Err(CapacityCertificateError::NoGroup { slot: index });
        }
        level = stored;
    }
    Ok(())
}

/// Cost of energy at the meter, plus wear, less the value of the energy gained.
fn energy_cost(slots: &[CapacitySlot], evidence: &CapacityEvidence) -> f64 {
    let end = slots.last().map_or(evidence.stored_start, |slot| slot.stored);
    let gained = (end - evidence.stored_start).as_kwh();
    let cost = |slot: &CapacitySlot| {
        let worn = slot.discharged.as_kwh() / evidence.efficiency_discharge;
        metered_cost(slot, slot.metered().as_kwh()) + evidence.wear_price.as_per_kwh() * worn
    };
    slots.iter().map(cost).sum::<f64>() - evidence.end_value.as_per_kwh() * gained
}

/// Cost of an energy through the meter; nothing without a price.
fn metered_cost(slot: &CapacitySlot, metered: f64) -> f64 {
    let import = slot.import_price.map_or(0.0, Price::as_per_kwh);
    metered * if metered < 0.0 { slot.export_price.as_per_kwh() } else { import }
}

/// Highest weighted power of each group.
fn measure_powers(slots: &[CapacitySlot], groups: &PowerCharges) -> Vec<f64> {
    let mut powers = groups.carried();
    for slot in slots {
        if let Some(group) = slot.group {
            powers[group] = powers[group].max(slot.power().as_kw());
        }
    }
    powers
}

/// Part of the dual bound that separates by slot.
fn energy_bound(slots: &[CapacitySlot], evidence: &CapacityEvidence) -> f64 {
    let end_value = evidence.end_value.as_per_kwh();
    let mut next = end_value;
    let mut bound = end_value * evidence.stored_start.as_kwh();
    for slot in slots.iter().rev() {
        let value = slot.marginal_value.as_per_kwh();
        let fall = value - next;
        // The dual function takes the level at which this product is least.
        let level = if fall > 0.0 { slot.stored_min } else { slot.stored_max };
        bound += fall * level.as_kwh() + value * slot.driven.as_kwh();
        bound += least_reduced_cost(slot, evidence);
        next = value;
    }
    bound - next * evidence.stored_start.as_kwh()
}

/// Least cost of a slot over all energies of the battery, with `λ_t` and `μ_t`.
fn least_reduced_cost(slot: &CapacitySlot, evidence: &CapacityEvidence) -> f64 {
    let load = slot.load.as_kwh();
    let (charge, discharge) = (
        slot.charge_max.as_kw() * count_hours(slot),
        slot.discharge_max.as_kw() * count_hours(slot),
    );
    let per_kwh = slot.power_price_per_kw.as_amount() * slot.weight / count_hours(slot);
    // `net` is the energy at the plug of the battery.
    let cost = |net: f64| {
        let (stored, worn) = if net > 0.0 {
            (net * evidence.efficiency, 0.0)
        } else {
            (net / evidence.efficiency_discharge, -net / evidence.efficiency_discharge)
        };
        metered_cost(slot, load + net) + evidence.wear_price.as_per_kwh() * worn
            - slot.marginal_value.as_per_kwh() * stored
            + per_kwh * (load + net)
    };
    let corners = [-discharge, charge, 0.0, (-load).clamp(-discharge, charge)];
    corners.into_iter().map(cost).fold(f64::INFINITY, f64::min)
}

/// Sum of the bounds on `K_m`; none if a month has steps.
fn power_bound(slots: &[CapacitySlot], groups: &PowerCharges) -> Option<f64> {
    let mut prices = vec![0.0; groups.groups.len()];
    for slot in slots {
        if let Some(group) = slot.group {
            prices[group] += slot.power_price_per_kw.as_amount();
        }
    }
    let months = groups.months.iter().enumerate();
    months
        .map(|(place, month)| {
            let PowerPrice::PerKw(price) = month.price else { return None };
            let own = groups.groups.iter().zip(&prices).filter(|(group, _)| group.month == place);
            let own: Vec<(f64, f64)> = own.map(|(group, paid)| (group.carried, *paid)).collect();
            month_bound(month, price, &own)
        })
        .sum()
}

/// Lower bound on `K_m` for a price per kW, from the power before and `π_k` of each group; none if
/// `π` exceeds the price.
fn month_bound(month: &MonthCharge, price: f64, groups: &[(f64, f64)]) -> Option<f64> {
    if groups.iter().all(|(_, paid)| *paid == 0.0) {
        return Some(month.charge(month.power(groups.iter().map(|(carried, _)| *carried))));
    }
    let highest = month.highest as f64;
    let paid: f64 = groups.iter().map(|(_, paid)| paid / price).sum();
    let most = groups.iter().map(|(_, paid)| paid / price * highest).fold(paid, f64::max);
    if most > 1.0 {
        return None;
    }
    // Weights beyond those that cancel `π` lie on the highest known powers, each at most `share/n`.
    let with_share = |share: f64| {
        let free = groups.iter().map(|(carried, own)| (*carried, share / highest - own / price));
        let others = month.others.iter().map(|&other| (other, share / highest));
        let mut known: Vec<(f64, f64)> = free.chain(others).collect();
        known.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut rest = share - paid;
        let mut mean = 0.0;
        for (power, most) in known {
            let weight = most.clamp(0.0, rest.max(0.0));
            mean += weight * power;
            rest -= weight;
        }
        price * (mean + (1.0 - share) * month.floor)
    };
    Some(with_share(most).max(with_share(1.0)))
}

impl PowerCharges {
    /// Evidence of the groups and their months.
    pub(crate) fn evidence(&self) -> (Vec<MonthEvidence>, Vec<GroupEvidence>) {
        let power = |kw: f64| Power::from_kw(kw).unwrap_or(Power::ZERO);
        let months = self.months.iter().map(|month| {
            let (price_per_kw, steps) = match &month.price {
                PowerPrice::PerKw(price) => (Some(money_or_zero(*price)), Vec::new()),
                PowerPrice::Steps(steps) => {
                    let step = |&(most, charge): &(f64, f64)| PowerStep {
                        power_max: Power::from_kw(most).ok(),
                        charge: money_or_zero(charge),
                    };
                    (None, steps.iter().map(step).collect())
                }
            };
            MonthEvidence {
                month: month.month,
                price_per_kw,
                steps,
                highest: month.highest,
                others: month.others.iter().map(|&other| power(other)).collect(),
                floor: power(month.floor),
            }
        });
        let groups = self
            .groups
            .iter()
            .map(|group| GroupEvidence { month: group.month, power_before: power(group.carried) });
        (months.collect(), groups.collect())
    }

    /// Groups of the evidence, without slots.
    pub(crate) fn of_evidence(evidence: &CapacityEvidence) -> Self {
        let months = evidence.months.iter().map(|month| MonthCharge {
            month: month.month,
            price: month.price_per_kw.map_or_else(
                || {
                    let most =
                        |step: &PowerStep| step.power_max.map_or(f64::INFINITY, Power::as_kw);
                    let steps = month.steps.iter();
                    PowerPrice::Steps(
                        steps.map(|step| (most(step), step.charge.as_amount())).collect(),
                    )
                },
                |price| PowerPrice::PerKw(price.as_amount()),
            ),
            highest: month.highest.max(1),
            others: month.others.iter().map(|other| other.as_kw()).collect(),
            floor: month.floor.as_kw(),
        });
        let groups = evidence.groups.iter();
        let group = |group: &GroupEvidence| PowerGroup {
            month: group.month,
            carried: group.power_before.as_kw(),
        };
        Self { groups: groups.map(group).collect(), months: months.collect(), slots: Vec::new() }
    }
}

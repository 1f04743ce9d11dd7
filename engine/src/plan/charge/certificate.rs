//! Certificate of optimality: a lower bound on the cost of every plan, by weak duality.
//!
//! For the problem in the [parent module](super) and any `M_1 ≥ … ≥ M_K` no plan costs less than
//!
//! ```text
//! Σ_t p_t·f_t + Σ_k (M_k − M_{k+1})·r'_k + W·(E_max − F) − Σ_t (u_t − f_t)·max(0, M_{k(t)} − p_t)
//! ```
//!
//! | Symbol | Meaning | Code |
//! |---|---|---|
//! | `p_t` | price of slot `t` | [`PlannedSlot::price`] |
//! | `u_t` | capacity of slot `t` | [`PlannedSlot::capacity`] |
//! | `f_t` | energy bought at once in slot `t` | `bought_at_once` |
//! | `F` | sum of the `f_t` | [`ChargeEvidence::at_once`] |
//! | `k(t)` | first deadline that slot `t` counts for | |
//! | `r'_k` | `r_k` less the `f_t` by deadline `k` | [`Requirement::energy`] |
//! | `M_k` | price of one more kWh by deadline `k` | [`Requirement::marginal_price`] |
//! | `E_max` | bound on the energy | [`ChargeEvidence::energy_max`] |
//! | `W` | price of the bound, `W ≤ 0`, `W = M_{K+1}` | [`ChargeEvidence::surplus_price`] |
//!
//! A negative `r'_k` counts as zero. Without `energy_max` the total is fixed, `M_{K+1} = 0`, the
//! term with `W` is absent, and slots after the last deadline hold nothing beyond `f`.
//!
//! Proof: with `z = x − f` the cost is `Σ p_t·f_t + Σ (p_t − M_{k(t)})·z_t + Σ M_{k(t)}·z_t`. The
//! second sum is at least `−Σ (u_t − f_t)·max(0, M_{k(t)} − p_t)`, because `0 ≤ z_t ≤ u_t − f_t`.
//! The third is `Σ_k (M_k − M_{k+1})·z(S_k) + M_{K+1}·Σ z_t`, where `z(S_k) ≥ r'_k` and
//! `Σ z_t ≤ E_max − F`.
//!
//! [`certify`] computes cost and bound from the slots and these prices alone. The bound holds
//! however the prices were found.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::charge::plan::PlannedSlot;
use crate::plan::charge::selection::slot_selection::{SlotSelection, Window};
use crate::time::horizon::Horizon;
use crate::tolerance::{GAP_MAX, INSTANT_MICROS, allowed};
use crate::units::{Energy, MICROS_PER_HOUR, Money, Power, Price};

/// Energy that must be bought by a deadline, and its dual price.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// The deadline; `None` is the end of the slots.
    pub by: Option<DateTime<Utc>>,
    /// Energy wanted by then, or what is possible if that is less.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// `M_k`: price of the last kWh bought for this or a later deadline.
    #[serde(rename = "marginal_price_per_kwh")]
    pub marginal_price: Price,
}

/// Requirements and dual prices from which [`certify`] computes the bound of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargeEvidence {
    /// Energy bought at once, in time order: the reserve, or all that a
    /// missed deadline wants.
    #[serde(rename = "at_once_kwh")]
    pub at_once: Energy,
    /// Deadlines in time order.
    pub requirements: Vec<Requirement>,
    /// Most energy of any plan; `None` fixes the total at the last requirement.
    #[serde(rename = "energy_max_kwh")]
    pub energy_max: Option<Energy>,
    /// `W`: price of the last kWh bought only because its price is negative;
    /// zero or less.
    #[serde(rename = "surplus_price_per_kwh")]
    pub surplus_price: Price,
}

/// Cost of a plan, a lower bound on the cost of every plan, and its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Certificate {
    /// Cost of the plan, summed from its slots.
    pub cost: Money,
    /// Lower bound on the cost of every plan.
    pub bound: Money,
    /// Requirements and dual prices of the bound.
    pub evidence: ChargeEvidence,
}

impl Certificate {
    /// Cost minus bound: an upper bound on what a cheaper plan could save.
    #[must_use]
    pub fn gap(&self) -> Money {
        self.cost - self.bound
    }

    /// Returns `true` if the gap is rounding: at most [`GAP_MAX`] of the cost.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        self.gap().as_amount().abs() <= allowed(GAP_MAX, self.cost.as_amount())
    }
}

/// Reason why slots and evidence give no bound.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// Slots or requirements are not in time order.
    #[error("slots and requirements are not in time order")]
    NotInOrder,
    /// A slot buys less than zero, or more than fits.
    #[error("slot {slot} buys {} kWh of at most {} kWh", energy.as_kwh(), capacity.as_kwh())]
    OutsideLimits {
        /// Position of the slot.
        slot: usize,
        /// Energy bought.
        energy: Energy,
        /// Energy that fits.
        capacity: Energy,
    },
    /// A slot buys less than charging at once requires.
    #[error("slot {slot} buys {} kWh where charging at once needs {} kWh", energy.as_kwh(), needed.as_kwh())]
    NotAtOnce {
        /// Position of the slot.
        slot: usize,
        /// Energy bought.
        energy: Energy,
        /// Energy needed.
        needed: Energy,
    },
    /// A deadline is not met.
    #[error("requirement {index} has {} kWh of {} kWh", delivered.as_kwh(), wanted.as_kwh())]
    DeadlineMissed {
        /// Position of the requirement.
        index: usize,
        /// Energy bought by the deadline.
        delivered: Energy,
        /// Energy wanted.
        wanted: Energy,
    },
    /// More is bought than allowed.
    #[error("{} kWh are bought of at most {} kWh", energy.as_kwh(), energy_max.as_kwh())]
    TooMuch {
        /// Energy bought.
        energy: Energy,
        /// Energy allowed.
        energy_max: Energy,
    },
    /// Marginal prices rise from one deadline to the next, or the surplus price is positive.
    #[error("the marginal price of requirement {index} lies below the one after it")]
    PricesRise {
        /// Position of the requirement.
        index: usize,
    },
}

/// Certificate of a plan made by this crate, which meets its own requirements.
pub(crate) fn certify_own(slots: &[PlannedSlot], evidence: ChargeEvidence) -> Certificate {
    certify(slots, evidence).expect("a plan of this crate meets its own requirements")
}

/// Computes cost and bound of a plan, in time linear in slots and deadlines.
///
/// # Errors
/// The slots violate a requirement, or the marginal prices are not dual
/// feasible; then there is no bound.
pub fn certify(
    slots: &[PlannedSlot],
    evidence: ChargeEvidence,
) -> Result<Certificate, CertificateError> {
    check_order(slots, &evidence.requirements)?;
    check_prices(&evidence)?;
    let at_once = bought_at_once(slots, evidence.at_once);
    check_slots(slots, &at_once)?;
    let (delivered, forced) = sums_by_deadline(slots, &at_once, &evidence.requirements);
    check_sums(slots, &delivered, &evidence)?;

    let cost = slots.iter().fold(Money::ZERO, |sum, slot| sum + slot.price.of(slot.energy));
    let bound = bound(slots, &at_once, &forced, &evidence);
    Ok(Certificate { cost, bound, evidence })
}

/// Lower bound for one target at constant power, from prices and window alone.
///
/// One pass, no allocation: `M·E − P·Σ_t h_t·max(0, M − p_t)`. `E` is the energy bought in kWh,
/// `P` the power in kW, `h_t` the usable hours of slot `t`, and `M` the price of the next kWh, or
/// the highest price if nothing is free. Returns 0 if no slot has a price.
#[inline(always)]
pub(crate) fn bound_of_one(
    horizon: &Horizon,
    prices: &[f64],
    window: Window,
    choice: &SlotSelection,
    power_max: Power,
) -> f64 {
    let mut marginal = choice.marginal_price;
    // Gaps, whose price is NaN, are left out.
    let usable = || (window.first..window.last).filter(|&slot| !prices[slot].is_nan());
    if marginal.is_nan() {
        marginal = usable().map(|slot| prices[slot]).fold(f64::NEG_INFINITY, f64::max);
    }
    if !marginal.is_finite() {
        return 0.0;
    }
    let below = usable().fold(0.0, |sum, slot| {
        sum + (marginal - prices[slot]).max(0.0) * window.usable(horizon, slot) as f64
    });
    marginal * choice.energy_kwh - below * power_max.as_kw() / MICROS_PER_HOUR
}

/// Lower bound of the module's formula, term by term.
fn bound(
    slots: &[PlannedSlot],
    at_once: &[Energy],
    forced: &[Energy],
    evidence: &ChargeEvidence,
) -> Money {
    let requirements = &evidence.requirements;
    // `M_{K+1}`, then the terms `(M_k − M_{k+1})·r_k`.
    let last = if evidence.energy_max.is_some() { evidence.surplus_price } else { Price::ZERO };
    let mut bound = Money::ZERO;
    for (k, requirement) in requirements.iter().enumerate() {
        let next = requirements.get(k + 1).map_or(last, |next| next.marginal_price);
        let rest = (requirement.energy - forced[k]).max(Energy::ZERO);
        bound = bound + (requirement.marginal_price - next).of(rest);
    }
    // The term `W·(E_max − F)`.
    if let Some(energy_max) = evidence.energy_max {
        bound = bound + last.of(energy_max - forced[requirements.len()]);
    }
    // The terms of the slots: `p_t·f_t` and `(u_t − f_t)·max(0, M_{k(t)} − p_t)`; `k` is `k(t)`.
    let mut k = 0;
    for (slot, &forced) in slots.iter().zip(at_once) {
        k += requirements[k..].iter().take_while(|r| r.by.is_some_and(|by| by < slot.end)).count();
        bound = bound + slot.price.of(forced);
        let margin = match requirements.get(k) {
            Some(requirement) => requirement.marginal_price - slot.price,
            None if evidence.energy_max.is_some() => last - slot.price,
            None => Price::ZERO,
        };
        bound = bound - margin.max(Price::ZERO).of(slot.capacity() - forced);
    }
    bound
}

/// Checks that slots and requirements are in time order and that slots do not overlap.
fn check_order(
    slots: &[PlannedSlot],
    requirements: &[Requirement],
) -> Result<(), CertificateError> {
    // A requirement without a deadline is due at the end of the slots, so it comes last.
    let by = |requirement: &Requirement| requirement.by.unwrap_or(DateTime::<Utc>::MAX_UTC);
    let in_order = slots.windows(2).all(|pair| pair[0].end <= pair[1].start)
        && slots.iter().all(|slot| slot.start < slot.end)
        && requirements.windows(2).all(|pair| by(&pair[0]) < by(&pair[1]));
    if in_order { Ok(()) } else { Err(CertificateError::NotInOrder) }
}

/// Checks dual feasibility: `M_1 ≥ … ≥ M_K`, and with an `energy_max` also `M_K ≥ W` and `W ≤ 0`.
fn check_prices(evidence: &ChargeEvidence) -> Result<(), CertificateError> {
    let requirements = &evidence.requirements;
    for (index, pair) in requirements.windows(2).enumerate() {
        if pair[0].marginal_price < pair[1].marginal_price {
            return Err(CertificateError::PricesRise { index });
        }
    }
    let last = requirements.last().map(|requirement| requirement.marginal_price);
    let surplus = evidence.surplus_price;
    if evidence.energy_max.is_some()
        && (surplus > Price::ZERO || last.is_some_and(|last| last < surplus))
    {
        return Err(CertificateError::PricesRise { index: requirements.len().saturating_sub(1) });
    }
    Ok(())
}

/// Energy `f_t` that charging at once buys in each slot: full slots in time order up to `at_once`.
pub(crate) fn bought_at_once(slots: &[PlannedSlot], at_once: Energy) -> Vec<Energy> {
    let mut missing = at_once;
    let take = |slot: &PlannedSlot| {
        let taken = slot.capacity().min(missing).max(Energy::ZERO);
        missing = missing - taken;
        taken
    };
    slots.iter().map(take).collect()
}

/// Rounding of a sum of energies: [`GAP_MAX`] of it, at least 1e-9 kWh.
fn tolerance(energy: Energy) -> Energy {
    Energy::from_kwh(allowed(GAP_MAX, energy.as_kwh())).unwrap_or(energy)
}

/// Checks that each slot buys at least its energy at once and at most its capacity.
fn check_slots(slots: &[PlannedSlot], at_once: &[Energy]) -> Result<(), CertificateError> {
    for (index, (slot, &needed)) in slots.iter().zip(at_once).enumerate() {
        let (energy, capacity) = (slot.energy, slot.capacity());
        let rounding = tolerance(capacity).max(slot.power_max.over_micros(INSTANT_MICROS));
        if energy < Energy::ZERO || energy > capacity + rounding {
            return Err(CertificateError::OutsideLimits { slot: index, energy, capacity });
        }
        if energy + rounding < needed {
            return Err(CertificateError::NotAtOnce { slot: index, energy, needed });
        }
    }
    Ok(())
}

/// Energy bought by each deadline, and the part of it bought at once. The last entries are totals.
fn sums_by_deadline(
    slots: &[PlannedSlot],
    at_once: &[Energy],
    requirements: &[Requirement],
) -> (Vec<Energy>, Vec<Energy>) {
    let mut delivered = vec![Energy::ZERO; requirements.len() + 1];
    let mut forced = delivered.clone();
    let mut k = 0;
    for (slot, &needed) in slots.iter().zip(at_once) {
        k += requirements[k..].iter().take_while(|r| r.by.is_some_and(|by| by < slot.end)).count();
        delivered[k] = delivered[k] + slot.energy;
        forced[k] = forced[k] + needed;
    }
    // From sums per deadline to sums up to each deadline.
    for k in 1..delivered.len() {
        delivered[k] = delivered[k] + delivered[k - 1];
        forced[k] = forced[k] + forced[k - 1];
    }
    (delivered, forced)
}

/// Checks the energy of each requirement, and the total.
fn check_sums(
    slots: &[PlannedSlot],
    delivered: &[Energy],
    evidence: &ChargeEvidence,
) -> Result<(), CertificateError> {
    let power_max = slots.iter().fold(Power::ZERO, |most, slot| most.max(slot.power_max));
    // Ends of charging are whole microseconds, so the energy of one is rounding.
    let rounding = |energy| tolerance(energy).max(power_max.over_micros(INSTANT_MICROS));
    for (index, requirement) in evidence.requirements.iter().enumerate() {
        let (delivered, wanted) = (delivered[index], requirement.energy);
        if delivered + rounding(wanted) < wanted {
            return Err(CertificateError::DeadlineMissed { index, delivered, wanted });
        }
    }
    // The total is bounded by `energy_max`, or fixed at the last requirement or `at_once`.
    let energy = delivered[delivered.len() - 1];
    let wanted = evidence.requirements.last().map_or(Energy::ZERO, |r| r.energy);
    let energy_max = evidence.energy_max.unwrap_or(wanted.max(evidence.at_once));
    if energy > energy_max + rounding(energy_max) {
        return Err(CertificateError::TooMuch { energy, energy_max });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::plan::charge::greedy::plan_charge;
    use crate::plan::charge::plan::Plan;
    use crate::plan::charge::request::{ChargeProblem, ChargeRequest, Target};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, money, per_kwh};

    /// Plan at 10 kW for 10 kWh in two hours at 1 and 5 cents, and 30 kWh in three, the last at
    /// 10 cents.
    fn plan() -> Plan {
        let now: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().unwrap();
        let target =
            |hours, energy| Target { by: Some(now + TimeDelta::hours(hours)), energy: kwh(energy) };
        let mut wish = ChargeRequest::new(now, kw(10.0), target(2, 10.0));
        wish.targets.push(target(3, 30.0));
        plan_charge(&curve_of(60, &[1, 5, 10]), &ChargeProblem::new(wish).unwrap())
    }

    fn refused(change: impl FnOnce(&mut Plan)) -> String {
        let mut plan = plan();
        change(&mut plan);
        match certify(&plan.slots, plan.certificate.evidence) {
            Ok(certificate) if certificate.is_proved() => "proved".to_owned(),
            Ok(certificate) => format!("gap {:.3}", certificate.gap().as_amount()),
            Err(flaw) => flaw.to_string(),
        }
    }

    #[test]
    fn the_bound_meets_the_cost() {
        let certificate = plan().certificate;
        let prices: Vec<f64> = certificate
            .evidence
            .requirements
            .iter()
            .map(|requirement| requirement.marginal_price.as_per_kwh())
            .collect();
        assert_eq!(prices, [0.1, 0.1]);
        assert!((certificate.cost - money(1.6)).as_amount().abs() < 1e-12);
        assert!(certificate.is_proved());
    }

    #[test]
    fn moving_one_kwh_breaks_the_proof() {
        let less_first = |plan: &mut Plan| {
            plan.slots[0].energy = kwh(9.0);
            plan.slots[1].energy = kwh(11.0);
        };
        assert_eq!(refused(less_first), "slot 1 buys 11 kWh of at most 10 kWh");
        let one_missing = |plan: &mut Plan| plan.slots[0].energy = kwh(9.0);
        assert_eq!(refused(one_missing), "requirement 1 has 29 kWh of 30 kWh");
        let negative = |plan: &mut Plan| plan.slots[0].energy = kwh(-1.0);
        assert_eq!(refused(negative), "slot 0 buys -1 kWh of at most 10 kWh");
        let too_much =
            |plan: &mut Plan| plan.certificate.evidence.requirements[1].energy = kwh(29.0);
        assert_eq!(refused(too_much), "30 kWh are bought of at most 29 kWh");
        let not_at_once = |plan: &mut Plan| {
            plan.certificate.evidence.at_once = kwh(30.0);
            plan.slots[1].energy = kwh(8.0);
        };
        assert_eq!(refused(not_at_once), "slot 1 buys 8 kWh where charging at once needs 10 kWh");
    }

    #[test]
    fn slots_and_requirements_out_of_order_prove_nothing() {
        let slots = |plan: &mut Plan| plan.slots.swap(0, 2);
        assert_eq!(refused(slots), "slots and requirements are not in time order");
        let requirements = |plan: &mut Plan| plan.certificate.evidence.requirements.swap(0, 1);
        assert_eq!(refused(requirements), "slots and requirements are not in time order");
    }

    #[test]
    fn a_dearer_plan_shows_its_gap() {
        let mut wish = plan();
        for slot in &mut wish.slots {
            slot.power_max = kw(20.0);
        }
        // With twice the power 10 kWh could move from 10 to 1 cent. The bound at
        // the old marginal prices shows a gap of at least that saving.
        let certificate = certify(&wish.slots, wish.certificate.evidence).unwrap();
        assert!(!certificate.is_proved());
        assert!(certificate.gap() > money(1.0));
    }

    #[test]
    fn changing_one_marginal_price_breaks_the_proof() {
        let higher = |plan: &mut Plan| {
            plan.certificate.evidence.requirements[1].marginal_price = per_kwh(0.12);
        };
        assert_eq!(
            refused(higher),
            "the marginal price of requirement 0 lies below the one after it"
        );
        let lower = |plan: &mut Plan| {
            plan.certificate.evidence.requirements[1].marginal_price = per_kwh(0.09);
        };
        assert_eq!(refused(lower), "gap 0.200");
    }

    #[test]
    fn the_bound_of_one_is_the_bound_of_all() {
        let now: DateTime<Utc> = "2026-01-05T18:10:00Z".parse().unwrap();
        let curve = curve_of(15, &[30, -5, 12, 40, 7, 7, 22, 9]);
        for energy in [0.0, 3.0, 11.0, 14.0, 99.0] {
            let target = Target { by: None, energy: kwh(energy) };
            let plan = plan_charge(
                &curve,
                &ChargeProblem::new(ChargeRequest::new(now, kw(11.0), target)).unwrap(),
            );
            let window = Window::new(curve.horizon(), now.timestamp_micros(), i64::MAX);
            let need = crate::plan::charge::selection::slot_selection::Need {
                energy_kwh: energy,
                power_kw: 11.0,
            };
            let choice =
                crate::plan::charge::single_target::choose_in(&curve, window, need).unwrap();
            let bound = bound_of_one(curve.horizon(), curve.prices(), window, &choice, kw(11.0));
            assert!((bound - plan.certificate.bound.as_amount()).abs() < 1e-9, "{energy} kWh");
        }
    }
}

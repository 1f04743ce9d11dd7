//! Certificate of a heat plan: degree-hours and cost, with dual bounds that need no solver.
//!
//! # Two bounds
//!
//! Let `D` be the degree-hours of a plan and `M` a price on a degree-hour. For any values `λ_t` of a
//! stored kWh, weak duality gives a lower bound on `cost + M·D` of every plan: the Lagrangian
//! separates by slot ([symbols](super)), and with `a_{T+1}·λ_{T+1} = v`
//!
//! ```text
//! B(λ, M) = v·e_0 − a_1·λ_1·e_0 − Σ_t λ_t·g_t
//!         + Σ_t min( 0, (p_t − λ_t·η_t)·X_t )
//!         + Σ_t min over e in [P_t, R_t] of  (λ_t − a_{t+1}·λ_{t+1})·e + M·h_t/C·d_t(e)
//! d_t(e)  = max(0, L_t − e) + max(0, e − H_t)
//! ```
//!
//! The last minimum is at one of `P_t`, `R_t`, `L_t`, `H_t`. Two pairs `(λ, M)` are used:
//!
//! | Pair | Bound |
//! |---|---|
//! | marginal degree-hours, without prices, `M = 1` | on the degree-hours of every plan |
//! | marginal values plus `M` times marginal degree-hours | on `cost + M·D` of every plan |
//!
//! From the second, no plan with at most the degree-hours `D` of this one costs less than
//! `B(λ, M) − M·D`. The price `M` is part of the evidence: above it the plan of a unit that modulates
//! no longer changes.
//!
//! The plans of a unit that is only on or off are some of those of one that modulates, so both bounds
//! hold for it. The larger bounds of [`on_off_bound`](super::on_off_bound), with the same pairs, are
//! for its schedules alone. Of several `M` the evidence has the one with the largest bound.
//!
//! [`certify`] recomputes all of it from slots and evidence alone.
use serde::{Deserialize, Serialize};

use crate::plan::heat::on_off::{LeastTimes, OnOff};
use crate::plan::heat::on_off_bound::bound_schedules;
use crate::plan::heat::planned_slot::{DegreeHours, HeatSlot};
use crate::plan::heat::request::{HeatMode, ThermalStore};
use crate::plan::heat::slots::{ThermalProgramme, ThermalStep, decay, sign};
use crate::time::instant::{micros_between, micros_of};
use crate::tolerance::{GAP_MAX, allowed};
use crate::units::{Energy, MICROS_PER_HOUR, Money, Power, Price, Temperature};

/// Rules of a unit that is on or off, and the precision of the bound on its schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnOffEvidence {
    /// Least times, and the state at the start.
    pub unit: OnOff,
    /// Cells of stored energy at each boundary: at most 1,000, fewer for plans of many slots. More
    /// cells make the bound larger.
    pub cells: usize,
}

/// Data of a certificate beside the slots of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeatEvidence {
    /// Room or tank.
    pub store: ThermalStore,
    /// Direction of the unit.
    pub mode: HeatMode,
    /// Temperature at the start.
    #[serde(rename = "temperature_start_celsius")]
    pub temperature_start: Temperature,
    /// Value of a kWh of heat stored at the end, `v`.
    #[serde(rename = "end_value_per_kwh")]
    pub end_value: Price,
    /// Price of a degree-hour from which degree-hours come before cost, `M`, in units of currency
    /// per °C·h. For a unit that is on or off, the one with the largest bound.
    pub degree_hour_price: f64,
    /// Rules of a unit that is on or off; `None` if it modulates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_off: Option<OnOffEvidence>,
}

/// Certificate of a plan: its degree-hours and cost, and lower bounds on both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct HeatCertificate {
    /// Degree-hours outside the band, recomputed from the slots.
    pub degree_hours: f64,
    /// Lower bound on the degree-hours of all plans.
    pub degree_hours_bound: f64,
    /// Cost of the plan, recomputed from its slots.
    pub cost: Money,
    /// Lower bound on the cost of all plans with at most these degree-hours.
    pub bound: Money,
    /// Data of the bounds beside the slots.
    pub evidence: HeatEvidence,
}

impl HeatCertificate {
    /// Cost minus bound: the most that another plan with these degree-hours can save.
    #[must_use]
    pub fn gap(&self) -> Money {
        self.cost - self.bound
    }

    /// Degree-hours minus their bound: the most that another plan can be closer to the band.
    #[must_use]
    pub fn degree_hours_gap(&self) -> f64 {
        self.degree_hours - self.degree_hours_bound
    }

    /// Returns true if both gaps are rounding: at most [`GAP_MAX`] of the degree-hours, or of 1 if
    /// that is larger, and of the cost with all degree-hours at their price.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        let weighted = self.evidence.degree_hour_price * self.degree_hours;
        let scale = self.cost.as_amount().abs().max(weighted);
        self.gap().as_amount().abs() <= allowed(GAP_MAX, scale)
            && self.degree_hours_gap().abs() <= allowed(GAP_MAX, self.degree_hours)
    }
}

/// Reason why slots and evidence are no plan.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HeatCertificateError {
    /// Slot with a gap before it, or without length.
    #[error("slot {slot} does not start where the one before it ends, or has no length")]
    NotInOrder {
        /// Position of the slot.
        slot: usize,
    },
    /// Slot that uses a negative energy, more than its power allows, or energy without a price.
    #[error("slot {slot} uses {} kWh; it may use 0 to {} kWh", used.as_kwh(), most.as_kwh())]
    OutsideLimits {
        /// Position of the slot.
        slot: usize,
        /// Electrical energy used.
        used: Energy,
        /// Most that its power allows.
        most: Energy,
    },
    /// Temperature that does not follow from heat and losses.
    #[error(
        "slot {slot} ends at {} °C where heat and losses lead to {celsius} °C",
        temperature.as_celsius()
    )]
    NotConserved {
        /// Position of the slot.
        slot: usize,
        /// Temperature of the slot.
        temperature: Temperature,
        /// Temperature by heat and losses, in °C.
        celsius: f64,
    },
    /// Slot of a unit that is on or off with a part of its power, or within a least time.
    #[error("slot {slot} is neither on nor off, or its unit may not yet switch")]
    Switching {
        /// Position of the slot.
        slot: usize,
    },
}

/// Recomputes degree-hours, cost and bounds of a plan, in time linear in its slots.
///
/// # Errors
/// The slots are no plan: they break their own limits, or the balance of heat.
pub fn certify(
    slots: &[HeatSlot],
    evidence: HeatEvidence,
) -> Result<HeatCertificate, HeatCertificateError> {
    let balances = balances(slots, &evidence);
    let mut before = evidence.temperature_start.as_celsius();
    for (index, slot) in slots.iter().enumerate() {
        let is_next = index == 0 || slots[index - 1].end == slot.start;
        if !is_next || slot.start >= slot.end {
            return Err(HeatCertificateError::NotInOrder { slot: index });
        }
        check_slot(index, slot, before, (&evidence, balances[index]))?;
        before = slot.temperature.as_celsius();
    }
    let degree_hours = DegreeHours::of(slots).total();
    let cost = cost(slots, &evidence);
    let price = evidence.degree_hour_price;
    let [mut degree_hours_bound, mut weighted] = bounds((slots, &balances), &evidence);
    let mut bound = weighted - price * degree_hours;
    if let Some(on_off) = &evidence.on_off {
        check_switching(slots, &balances, &evidence)?;
        let searched = on_off_bounds(slots, &evidence, on_off.cells);
        degree_hours_bound = degree_hours_bound.max(searched[0]);
        degree_hours_bound = rounded_to((degree_hours, degree_hours), degree_hours_bound);
        weighted = weighted.max(searched[1]);
        bound = rounded_to((cost, weighted), weighted - price * degree_hours);
    }
    Ok(HeatCertificate {
        degree_hours,
        degree_hours_bound,
        cost: amount(cost),
        bound: amount(bound),
        evidence,
    })
}

/// Bound on a value, or the value itself if rounding alone, relative to `scale`, puts the bound above
/// it.
fn rounded_to((value, scale): (f64, f64), bound: f64) -> f64 {
    if bound > value && bound - value <= allowed(GAP_MAX, scale) { value } else { bound }
}

/// Least times of a unit that is on or off, over the slots of its plan.
pub(crate) fn least_times(slots: &[HeatSlot], evidence: &HeatEvidence) -> Option<LeastTimes> {
    let on_off = evidence.on_off.as_ref()?;
    let ends: Vec<i64> = slots.iter().map(|slot| micros_of(slot.end)).collect();
    let is_usable = slots.iter().map(|slot| slot.power_max > Power::ZERO).collect();
    Some(LeastTimes::new(&on_off.unit, micros_of(slots.first()?.start), &ends, is_usable))
}

/// Checks that a unit is on or off in each slot, and keeps its least times.
fn check_switching(
    slots: &[HeatSlot],
    balances: &[Balance],
    evidence: &HeatEvidence,
) -> Result<(), HeatCertificateError> {
    let parted = slots.iter().zip(balances).position(|(slot, balance)| {
        let used = slot.used.as_kwh();
        used > 0.0 && (balance.most - used).abs() > allowed(GAP_MAX, balance.most)
    });
    let schedule: Vec<bool> = slots.iter().map(|slot| slot.used > Energy::ZERO).collect();
    let breach = || least_times(slots, evidence)?.first_breach(&schedule);
    match parted.or_else(breach) {
        Some(slot) => Err(HeatCertificateError::Switching { slot }),
        None => Ok(()),
    }
}

/// Bounds on the degree-hours, and on the cost with degree-hours at their price, of all schedules of a
/// unit that is on or off.
pub(crate) fn on_off_bounds(slots: &[HeatSlot], evidence: &HeatEvidence, cells: usize) -> [f64; 2] {
    let Some(times) = least_times(slots, evidence) else { return [0.0; 2] };
    let priced = programme(slots, evidence);
    let price = evidence.degree_hour_price;
    let value =
        |slot: &HeatSlot| slot.marginal_value.as_per_kwh() + price * slot.marginal_degree_hours;
    let values: Vec<f64> = slots.iter().map(value).collect();
    let weighted = bound_schedules(&priced, (&times, cells), &values, price);
    // A band that is held needs no bound on its degree-hours.
    if DegreeHours::of(slots).total() <= 0.0 {
        return [0.0, weighted];
    }
    let steps = priced.steps.iter().map(|step| ThermalStep { price: 0.0, ..*step });
    let free = ThermalProgramme { end_value: 0.0, steps: steps.collect(), ..priced };
    let values: Vec<f64> = slots.iter().map(|slot| slot.marginal_degree_hours).collect();
    [bound_schedules(&free, (&times, cells), &values, 1.0).max(0.0), weighted]
}

/// Programme of the slots of a plan.
pub(crate) fn programme(slots: &[HeatSlot], evidence: &HeatEvidence) -> ThermalProgramme {
    let capacity = evidence.store.capacity.as_kwh_per_k();
    let balances = balances(slots, evidence);
    let steps = slots.iter().zip(&balances).map(|(slot, balance)| ThermalStep {
        decay: balance.remains,
        stored_per_kwh: balance.heated,
        power_kwh: balance.most,
        drift_kwh: balance.drift,
        price: slot.price.map_or(0.0, Price::as_per_kwh),
        hours: balance.hours,
        low_kwh: balance.band.0,
        high_kwh: balance.band.1,
    });
    ThermalProgramme {
        stored_kwh: sign(evidence.mode) * capacity * evidence.temperature_start.as_celsius(),
        kwh_per_k: capacity,
        end_value: evidence.end_value.as_per_kwh(),
        steps: steps.collect(),
    }
}

/// Money of a sum; zero if the sum is not finite.
fn amount(sum: f64) -> Money {
    Money::from_amount(sum).unwrap_or(Money::ZERO)
}

/// Checks power, price and temperature of a slot. `before` is the temperature at its start in °C.
fn check_slot(
    index: usize,
    slot: &HeatSlot,
    before: f64,
    (evidence, balance): (&HeatEvidence, Balance),
) -> Result<(), HeatCertificateError> {
    let slack = allowed(GAP_MAX, balance.most);
    let is_within = (0.0..=balance.most + slack).contains(&slot.used.as_kwh());
    if !is_within || slot.price.is_none() && slot.used > Energy::ZERO {
        let most = Energy::from_kwh(balance.most).unwrap_or(Energy::ZERO);
        return Err(HeatCertificateError::OutsideLimits { slot: index, used: slot.used, most });
    }
    let capacity = evidence.store.capacity.as_kwh_per_k();
    let signed = sign(evidence.mode) * capacity;
    let Balance { remains, heated, drift, .. } = balance;
    let celsius = remains * before + (heated * slot.used.as_kwh() + drift) / signed;
    let temperature = slot.temperature;
    let size = before.abs().max(celsius.abs()).max(drift.abs() / capacity);
    if (temperature.as_celsius() - celsius).abs() > allowed(GAP_MAX, size) {
        return Err(HeatCertificateError::NotConserved { slot: index, temperature, celsius });
    }
    Ok(())
}

/// Balance of heat of a slot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Balance {
    /// Share of the stored energy that remains, `a_t`.
    pub(crate) remains: f64,
    /// Stored energy at the end per electrical energy, `η_t`.
    pub(crate) heated: f64,
    /// Energy from losses and gains, `g_t`.
    pub(crate) drift: f64,
    /// Length, `h_t`.
    pub(crate) hours: f64,
    /// Most electrical energy, `X_t`.
    pub(crate) most: f64,
    /// Edges of the band at the end as stored energy, `L_t` and `H_t`.
    pub(crate) band: (f64, f64),
}

/// Balances of all slots. Slots of one length share their exponential.
pub(crate) fn balances(slots: &[HeatSlot], evidence: &HeatEvidence) -> Vec<Balance> {
    let capacity = evidence.store.capacity.as_kwh_per_k();
    let per_hour = evidence.store.loss.as_kw_per_k() / capacity;
    let signed = sign(evidence.mode);
    let mut last = (0.0_f64, (1.0, 1.0));
    let balance = |slot: &HeatSlot| {
        let micros = micros_between(slot.start, slot.end);
        let hours = micros as f64 / MICROS_PER_HOUR;
        if last.0.total_cmp(&hours).is_ne() {
            last = (hours, decay(per_hour, hours));
        }
        let (remains, heat_remains) = last.1;
        let outside = (1.0 - remains) * capacity * slot.outdoor.as_celsius();
        let gained = heat_remains * hours * slot.gain.as_kw();
        let drift = signed * (outside + gained);
        let edges = [slot.temperature_min, slot.temperature_max];
        let edges = edges.map(|edge| signed * capacity * edge.as_celsius());
        Balance {
            remains,
            heated: slot.cop * heat_remains,
            drift,
            hours,
            most: slot.power_max.over_micros(micros).as_kwh(),
            band: (edges[0].min(edges[1]), edges[0].max(edges[1])),
        }
    };
    slots.iter().map(balance).collect()
}

/// Cost of a plan: electricity less the value of the energy stored at the end above the start.
fn cost(slots: &[HeatSlot], evidence: &HeatEvidence) -> f64 {
    let bought =
        |slot: &HeatSlot| slot.price.map_or(0.0, |price| price.as_per_kwh() * slot.used.as_kwh());
    let end = slots.last().map_or(evidence.temperature_start, |last| last.temperature);
    let signed = sign(evidence.mode) * evidence.store.capacity.as_kwh_per_k();
    let gained = signed * (end - evidence.temperature_start).as_celsius();
    slots.iter().map(bought).sum::<f64>() - evidence.end_value.as_per_kwh() * gained
}

/// Dual bounds `B(λ, M)` on the degree-hours and on the cost with degree-hours at their price, in one
/// pass over the slots.
fn bounds((slots, balances): (&[HeatSlot], &[Balance]), evidence: &HeatEvidence) -> [f64; 2] {
    let capacity = evidence.store.capacity.as_kwh_per_k();
    let signed = sign(evidence.mode) * capacity;
    let start = signed * evidence.temperature_start.as_celsius();
    let prices = [1.0, evidence.degree_hour_price];
    let values = |slot: &HeatSlot| {
        let degree_hours = slot.marginal_degree_hours;
        [degree_hours, slot.marginal_value.as_per_kwh() + prices[1] * degree_hours]
    };
    let (mut least, mut most) = (start, start);
    // Values of a kWh that is left after the slot before, and of one at its end.
    let end_values = [0.0, evidence.end_value.as_per_kwh()];
    let mut bounds = end_values.map(|value| value * start);
    let mut now = slots.first().map_or(end_values, values);
    if let Some(first) = balances.first() {
        bounds = std::array::from_fn(|pair| bounds[pair] - first.remains * now[pair] * start);
    }
    for (index, slot) in slots.iter().enumerate() {
        let Balance { remains, heated, drift, hours, most: power, band: (low, high) } =
            balances[index];
        (least, most) = (remains * least + drift, remains * most + drift + heated * power);
        let following = slots.get(index + 1).map(values);
        let next = following
            .map_or(end_values, |next| next.map(|value| balances[index + 1].remains * value));
        let price = [0.0, slot.price.map_or(0.0, Price::as_per_kwh)];
        let levels = [least, most, low.clamp(least, most), high.clamp(least, most)];
        let outside = levels.map(|level| (low - level).max(0.0) + (level - high).max(0.0));
        let weight = hours / capacity;
        bounds = std::array::from_fn(|pair| {
            let reduced = ((price[pair] - now[pair] * heated) * power).min(0.0);
            let kept = now[pair] - next[pair];
            let at = |at: usize| kept * levels[at] + prices[pair] * weight * outside[at];
            let lowest = at(0).min(at(1)).min(at(2).min(at(3)));
            bounds[pair] + reduced - now[pair] * drift + lowest
        });
        now = following.unwrap_or(end_values);
    }
    // Without a slot the value at the end is that at the start.
    if slots.is_empty() { [0.0; 2] } else { bounds }
}

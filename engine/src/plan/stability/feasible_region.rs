//! Feasible region of a plan: all plans that meet the same requirements with the same total energy.
//!
//! The region is made of the slots and of the evidence of a certificate. With the symbols of
//! [`charge`](crate::plan::charge) it is the set of energies `x` with
//!
//! ```text
//! f_t ≤ x_t ≤ u_t,     Σ_{t in S_k} x_t ≥ r_k  for every requirement k,     Σ_t x_t = E
//! ```
//!
//! Convex weights of the slots, given as segments (`SlotRoom`), are minimised over it by the greedy
//! of that module (`FeasibleRegion::fill`) and bounded from below by its duality
//! (`FeasibleRegion::bound`).
//!
//! | Symbol | Code |
//! |---|---|
//! | `f_t` | `forced` |
//! | `u_t` | `capacity` |
//! | `k(t)`, the first requirement that slot `t` counts for | `layer` |
//! | `r_k`, then `E` | `wanted` |
use chrono::{DateTime, Utc};

use crate::plan::charge::certificate::{ChargeEvidence, bought_at_once};
use crate::plan::charge::plan::{Plan, PlannedSlot};
use crate::time::instant::micros_of;
use crate::tolerance::{SNAP_MICROS, SUM_ROUNDING};
use crate::units::{Energy, MICROS_PER_HOUR, Money};

/// Segment of a slot with one weight: the energy between the segment below it and `level`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotRoom {
    pub(crate) slot: usize,
    /// Energy in the slot when the segment is full.
    pub(crate) level: Energy,
    /// Weight of a kWh in the segment.
    pub(crate) weight: f64,
}

/// Plans that meet the requirements of one plan and buy the same energy.
#[derive(Debug, Clone)]
pub(crate) struct FeasibleRegion<'a> {
    pub(crate) slots: &'a [PlannedSlot],
    /// First usable instant of each slot, in microseconds since 1970.
    starts: Vec<i64>,
    /// Energy bought at once in each slot.
    pub(crate) forced: Vec<Energy>,
    /// First requirement that each slot counts for; the number of requirements if none.
    pub(crate) layer: Vec<usize>,
    /// Energy wanted from the slots up to each layer; the last one is the total.
    wanted: Vec<Energy>,
    /// `true` if slots after the last requirement may be used, as below an `energy_max`.
    is_open: bool,
}

/// Energies of least weight, and the marginal weight of each layer.
#[derive(Debug, Clone)]
pub(crate) struct Filled {
    /// Energy in each slot.
    pub(crate) energies: Vec<Energy>,
    /// Greatest weight of the last kWh for each layer and those after it, so that it falls from
    /// layer to layer. Negative infinity where nothing was bought.
    pub(crate) marginal: Vec<f64>,
}

impl<'a> FeasibleRegion<'a> {
    /// The feasible region of a plan.
    pub(crate) fn new(plan: &'a Plan) -> Self {
        let slots = &plan.slots;
        let evidence = &plan.certificate.evidence;
        let requirements = &evidence.requirements;
        let mut wanted: Vec<Energy> = requirements.iter().map(|r| r.energy).collect();
        wanted.push(plan.energy);
        Self {
            starts: slots.iter().map(|slot| micros_of(slot.start)).collect(),
            forced: bought_at_once(slots, evidence.at_once),
            layer: layers(slots, evidence),
            wanted,
            is_open: evidence.energy_max.is_some(),
            slots,
        }
    }

    /// The rest of the region after its plan has run until `now`.
    pub(crate) fn after(mut self, now: DateTime<Utc>) -> Self {
        for (index, slot) in self.slots.iter().enumerate() {
            let done = slot.energy_by(now);
            for wanted in &mut self.wanted[self.layer[index]..] {
                *wanted = *wanted - done;
            }
            self.forced[index] = (self.forced[index] - done).max(Energy::ZERO);
            self.starts[index] = self.starts[index].max(micros_of(now)).min(micros_of(slot.end));
        }
        self
    }

    /// Energy that fits into a slot.
    pub(crate) fn capacity(&self, index: usize) -> Energy {
        let slot = &self.slots[index];
        slot.power_max.over_micros(micros_of(slot.end) - self.starts[index])
    }

    /// Energy wanted from the slots up to a layer.
    pub(crate) fn wanted(&self, layer: usize) -> Energy {
        self.wanted[layer]
    }

    /// Returns `true` if a slot counts for a requirement.
    pub(crate) fn counts(&self, index: usize) -> bool {
        self.layer[index] + 1 < self.wanted.len()
    }

    /// Returns `true` if a slot may hold more than the energy bought at once.
    pub(crate) fn is_usable(&self, index: usize) -> bool {
        self.is_open || self.counts(index)
    }

    /// Buys segments in the order given, layer by layer, until each layer has its wanted energy.
    ///
    /// The segments of one slot must come in the order of their levels.
    pub(crate) fn fill(&self, order: &[SlotRoom]) -> Filled {
        let mut energies = self.forced.clone();
        let mut last = vec![f64::NEG_INFINITY; self.wanted.len()];
        for (k, &wanted) in self.wanted.iter().enumerate() {
            let counted = energies.iter().zip(&self.layer).filter(|(_, layer)| **layer <= k);
            let mut missing = counted.fold(wanted, |missing, (&energy, _)| missing - energy);
            let tolerance = wanted.as_kwh().abs() * SUM_ROUNDING;
            for segment in order {
                if missing.as_kwh() <= tolerance {
                    break;
                }
                let room = segment.level - energies[segment.slot];
                let purchase_min = purchase_min(&self.slots[segment.slot]);
                if self.layer[segment.slot] > k || room <= purchase_min || missing <= purchase_min {
                    continue;
                }
                // A full segment takes its level itself, not a sum: kept energies keep every bit.
                if (room - missing).as_kwh() <= tolerance {
                    energies[segment.slot] = segment.level;
                } else {
                    energies[segment.slot] = energies[segment.slot] + missing;
                }
                last[k] = segment.weight;
                missing = missing - room;
            }
        }
        // Marginal weights must fall: each is the maximum over its own layer and the later ones.
        for k in (1..last.len()).rev() {
            last[k - 1] = last[k - 1].max(last[k]);
        }
        Filled { energies, marginal: last }
    }

    /// Lower bound on the weight of every plan of the region, by weak duality.
    ///
    /// It holds for any `marginal` weights that fall from layer to layer, however they were found.
    /// `order` holds all segments, `forced_weight` is the weight of the energy bought at once. The
    /// formula is that of [`certificate`](crate::plan::charge::certificate).
    pub(crate) fn bound(&self, order: &[SlotRoom], marginal: &[f64], forced_weight: f64) -> f64 {
        let lightest = order.iter().map(|segment| segment.weight).fold(f64::INFINITY, f64::min);
        // Where nothing was bought, the lowest weight of a segment is a marginal weight.
        let lightest = if lightest.is_finite() { lightest } else { 0.0 };
        let marginal: Vec<f64> = marginal.iter().map(|&weight| weight.max(lightest)).collect();
        // Wanted energy of each layer beyond what is bought at once.
        let mut rest = self.wanted.clone();
        for (&forced, &layer) in self.forced.iter().zip(&self.layer) {
            for rest in &mut rest[layer..] {
                *rest = *rest - forced;
            }
        }
        let mut bound = forced_weight;
        for (k, rest) in rest.iter().enumerate() {
            let next = marginal.get(k + 1).copied().unwrap_or(0.0);
            // The total is an equation; the requirements before it are inequalities.
            let is_total = k + 1 == self.wanted.len();
            let rest = if is_total { rest.as_kwh() } else { rest.as_kwh().max(0.0) };
            bound += (marginal[k] - next) * rest;
        }
        // Segments below the marginal weight reduce the bound by their whole length.
        let mut levels = self.forced.clone();
        for segment in order {
            let room = segment.level - levels[segment.slot];
            levels[segment.slot] = segment.level;
            let gain = (marginal[self.layer[segment.slot]] - segment.weight).max(0.0);
            bound -= gain * room.as_kwh().max(0.0);
        }
        bound
    }

    /// Cost of `energies`, one for each slot.
    pub(crate) fn cost(&self, energies: &[Energy]) -> Money {
        let slots = self.slots.iter().zip(energies);
        slots.fold(Money::ZERO, |sum, (slot, &energy)| sum + slot.price.of(energy))
    }

    /// All usable slots as one segment each, weighted by price; of one price the earlier first.
    pub(crate) fn cheapest_first(&self) -> Vec<SlotRoom> {
        let usable = (0..self.slots.len()).filter(|&index| self.is_usable(index));
        let segment = |slot: usize| SlotRoom {
            slot,
            level: self.capacity(slot),
            weight: self.slots[slot].price.as_per_kwh(),
        };
        let mut order: Vec<SlotRoom> = usable.map(segment).collect();
        order.sort_by(|a, b| a.weight.total_cmp(&b.weight));
        order
    }
}

/// First requirement that each slot counts for; the number of requirements if none.
fn layers(slots: &[PlannedSlot], evidence: &ChargeEvidence) -> Vec<usize> {
    let requirements = &evidence.requirements;
    let mut k = 0;
    let layer = |slot: &PlannedSlot| {
        let passed = |by: Option<DateTime<Utc>>| by.is_some_and(|by| by < slot.end);
        k += requirements[k..].iter().take_while(|r| passed(r.by)).count();
        k
    };
    slots.iter().map(layer).collect()
}

/// Energy of a nanosecond of charging at full power; less than that counts as nothing.
pub(crate) fn purchase_min(slot: &PlannedSlot) -> Energy {
    let kwh = slot.power_max.as_kw() * SNAP_MICROS / MICROS_PER_HOUR;
    Energy::from_kwh(kwh).unwrap_or(Energy::ZERO)
}

//! Dynamic programme of one battery: the cheapest path of stored energy, by segments.
//!
//! # Recursion
//!
//! The state is the stored energy `e`, and `F_t(e)` is the least cost of having stored `e` after
//! slot `t` ([symbols](super)):
//!
//! ```text
//! F_0(e_0) = 0
//! F_t(e)   = min over −B_t ≤ x ≤ A_t of  F_{t−1}(e − x + w_t) + c_t(x),    L_t ≤ e ≤ H_t
//! c_t(x)   = a_t·x for x ≥ 0,  b_t·x for x < 0
//! cost     = min over e of  F_T(e) − v·(e − e_0)
//! ```
//!
//! For `b_t ≤ a_t` each `c_t` is convex, so each `F_t` is convex and piecewise linear, and
//! [`Segments`] holds its pieces by slope. The reference path discharges all it can. A slot
//! inserts two segments: keep instead of discharge (length `B_t`, slope `b_t`) and charge
//! (`A_t`, `a_t`). Driving shifts the function. `L_t` cuts it at the cheap end, which uses that
//! energy, and `H_t` at the dear end, which discards it. At the end the segments with a slope
//! below `v` are used.
//!
//! # Relaxation
//!
//! For `a_t < b_t` the function `c_t` is concave: charging and discharging at once would earn
//! money and only burn energy. Its convex hull on `[−B_t, A_t]` is one segment of length
//! `A_t + B_t` and slope `h_t`:
//!
//! ```text
//! h_t = (a_t·A_t + b_t·B_t) / (A_t + B_t)
//! ```
//!
//! With the hull, and without the rule of the charge limit, the cost is a lower bound. It is
//! exact where the path breaks neither rule; elsewhere
//! [`branch_and_bound`](super::branch_and_bound) decides. Slots that are parts of one period
//! (`joined`) have one sign; the relaxation ignores that, too.
//!
//! # Marginal values
//!
//! The dual of the balance of slot `t` is the value `λ_t` of one more stored kWh. From the
//! slopes `l_t` and `r_t` at which `L_t` and `H_t` cut the function:
//!
//! ```text
//! λ_t = min(max(λ_{t+1}, l_t), r_t),    λ_{T+1} = v
//! ```
use crate::plan::storage::segments::{Segment, Segments};
use crate::tolerance::{SUM_DRIFT, SUM_ROUNDING};

/// Limits of one slot, in stored kWh.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[expect(clippy::struct_field_names, reason = "the unit is part of each name")]
pub(crate) struct ProgrammeSlot {
    /// Most energy that charging can add, `A_t`.
    pub(crate) charge_kwh: f64,
    /// Most energy that discharging can take, `B_t`.
    pub(crate) discharge_kwh: f64,
    /// Consumption of driving, `w_t`, as far as the battery can serve it.
    pub(crate) driving_kwh: f64,
    /// Least level at the end of the slot, `L_t`; never above the highest level that can be
    /// reached.
    pub(crate) least_kwh: f64,
    /// Highest level at the end of the slot, `H_t`.
    pub(crate) most_kwh: f64,
    /// Charge limit, `C_t`. It is below `most_kwh` where the battery may be above its charge
    /// limit; such a battery may stay there.
    pub(crate) limit_kwh: f64,
}

impl ProgrammeSlot {
    /// Reduces driving and power to what the battery can use. Before the slot its level is at
    /// most `most_before`, and `reach` on the fullest path.
    ///
    /// Sums of energies then stay near the levels, which bounds rounding. A slot moves at most
    /// the highest level plus driving. Power is cut at twice that, so that the levels bind and
    /// not the cut. Power below rounding becomes zero.
    #[inline(always)]
    pub(crate) fn drop_useless_power(&mut self, reach: f64, most_before: f64) {
        self.driving_kwh = self.driving_kwh.min(reach + self.charge_kwh);
        let useful = most_before.max(self.limit_kwh) + self.driving_kwh;
        for moved in [&mut self.charge_kwh, &mut self.discharge_kwh] {
            *moved = if *moved <= SUM_ROUNDING * useful { 0.0 } else { moved.min(2.0 * useful) };
        }
        self.driving_kwh = self.driving_kwh.min(reach + self.charge_kwh);
    }

    /// Largest energy of the slot, to which rounding is relative.
    #[inline(always)]
    pub(crate) fn largest_kwh(&self) -> f64 {
        self.charge_kwh.max(self.discharge_kwh).max(self.driving_kwh).max(self.most_kwh)
    }
}

/// Battery over its slots, without prices, so that it can be solved for many prices.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct DynamicProgramme {
    /// Stored energy at the start, `e_0`.
    pub(crate) stored_kwh: f64,
    /// Stored energy per energy at the plug, `η_c`.
    pub(crate) efficiency_charge: f64,
    /// Energy at the plug per stored energy, `η_d`.
    pub(crate) efficiency_discharge: f64,
    /// Wear per stored kWh that is discharged to the plug.
    pub(crate) wear_per_kwh: f64,
    /// Value of a kWh stored at the end, `v`.
    pub(crate) end_value_per_kwh: f64,
    /// Usable capacity.
    pub(crate) capacity_kwh: f64,
    pub(crate) slots: Vec<ProgrammeSlot>,
    /// True for each slot that is in the same period as the slot before it: the two charge, or
    /// discharge, or rest together. Empty if each slot is a period of its own.
    pub(crate) joined: Vec<bool>,
}

impl DynamicProgramme {
    /// True if a slot is in the same period as the slot before it.
    #[inline(always)]
    pub(crate) fn is_joined(&self, slot: usize) -> bool {
        self.joined.get(slot).is_some_and(|&is_joined| is_joined)
    }

    /// True if a slot charges and the slot before it, in the same period, discharges, or the other
    /// way round.
    #[inline(always)]
    pub(crate) fn has_two_signs(&self, slot: usize, change: &[f64]) -> bool {
        self.is_joined(slot)
            && ((change[slot - 1] > 0.0 && change[slot] < 0.0)
                || (change[slot - 1] < 0.0 && change[slot] > 0.0))
    }

    /// Cost of a stored kWh that is bought at `import` per kWh at the plug, `a_t`.
    #[inline(always)]
    pub(crate) fn charge_price(&self, import: f64) -> f64 {
        import / self.efficiency_charge
    }

    /// Revenue of a stored kWh that is sold at `export` per kWh at the plug, less wear, `b_t`.
    #[inline(always)]
    pub(crate) fn discharge_price(&self, export: f64) -> f64 {
        export * self.efficiency_discharge - self.wear_per_kwh
    }

    /// Cost `c_t` of changing the stored energy by `change` kWh; negative discharges.
    #[inline(always)]
    pub(crate) fn cost_of(&self, change: f64, import: f64, export: f64) -> f64 {
        if change > 0.0 {
            self.charge_price(import) * change
        } else if change < 0.0 {
            self.discharge_price(export) * change
        } else {
            0.0 // Not a product, because a missing price is NaN.
        }
    }

    /// Energy at the plug in kWh for a change of the stored energy; positive charges.
    #[inline(always)]
    pub(crate) fn at_plug(&self, change: f64) -> f64 {
        if change > 0.0 {
            change / self.efficiency_charge
        } else {
            change * self.efficiency_discharge
        }
    }
}

/// Cost of a solution and a lower bound on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CostAndBound {
    /// Energy bought less energy sold, plus wear, less the value `v·(e_T − e_0)`.
    pub(crate) cost: f64,
    /// Lower bound on the cost of all plans: by the marginal values, or by the search if there
    /// was one. It is below `cost` only by rounding, or if a limit stopped the search.
    pub(crate) bound: f64,
    /// Number of relaxations solved; 1 without a search.
    pub(crate) nodes: usize,
}

/// Dual bound of marginal values, by weak duality; see [`super::certificate`].
#[inline(always)]
pub(crate) fn bound(programme: &DynamicProgramme, prices: Prices<'_>, values: &[f64]) -> f64 {
    let end_value = programme.end_value_per_kwh;
    // Backwards, so that `next` is the value of the slot after.
    let mut next = end_value;
    let mut bound = end_value * programme.stored_kwh;
    for (index, slot) in programme.slots.iter().enumerate().rev() {
        let value = values[index];
        let fall = value - next;
        let level = if fall > 0.0 { slot.least_kwh } else { slot.most_kwh };
        // Reduced cost of the best of idling, full charge and full discharge.
        let mut gain = 0.0;
        if slot.charge_kwh > 0.0 {
            let price = programme.charge_price(prices.import[index]);
            gain = ((price - value) * slot.charge_kwh).min(gain);
        }
        if slot.discharge_kwh > 0.0 {
            let price = programme.discharge_price(prices.export[index]);
            gain = ((value - price) * slot.discharge_kwh).min(gain);
        }
        bound += fall * level + value * slot.driving_kwh + gain;
        next = value;
    }
    bound - next * programme.stored_kwh
}

/// Prices per kWh at the plug, one of each per slot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prices<'a> {
    pub(crate) import: &'a [f64],
    pub(crate) export: &'a [f64],
}

/// Bound and cost of the optimal path of a relaxation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RelaxedSolution {
    /// Cost of the path with the hulls: a lower bound.
    pub(crate) bound: f64,
    /// Cost of the path without the hulls, as it is executed.
    pub(crate) cost: f64,
    /// True if the path keeps both rules and costs no more than the bound.
    pub(crate) is_exact: bool,
}

/// Memory of one relaxation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Relaxation {
    segments: Segments,
    /// Energy used of each segment by tag: `2t` keeps or is the hull, `2t + 1` charges.
    used: Vec<f64>,
    /// Slopes at the cuts after each slot, `(l_t, r_t)`; infinite without a cut.
    cuts: Vec<(f64, f64)>,
    /// Change of the stored energy in each slot, without driving.
    pub(crate) change: Vec<f64>,
}

impl Relaxation {
    /// Solves the relaxation; `None` if no path keeps the levels.
    #[inline(always)]
    pub(crate) fn solve(
        &mut self,
        programme: &DynamicProgramme,
        slots: &[ProgrammeSlot],
        prices: Prices<'_>,
    ) -> Option<RelaxedSolution> {
        self.sweep(programme, slots, prices)?;
        let end_value = programme.end_value_per_kwh;
        for segment in self.segments.iter() {
            // At a slope equal to the end value, energy is kept but not bought.
            let is_kept = segment.tag.is_multiple_of(2) && segment.slope <= end_value;
            if segment.slope < end_value || is_kept {
                self.used[segment.tag as usize] += segment.length;
            }
        }
        Some(self.read(programme, slots, prices))
    }

    /// Adds and cuts the segments slot by slot; `None` if no path keeps the levels.
    #[inline(always)]
    fn sweep(
        &mut self,
        programme: &DynamicProgramme,
        slots: &[ProgrammeSlot],
        prices: Prices<'_>,
    ) -> Option<()> {
        let count = slots.len();
        self.segments.clear(2 * count + 1);
        self.used.clear();
        self.used.resize(2 * count, 0.0);
        self.cuts.clear();
        // Lowest and highest level that the remaining segments can reach.
        let mut largest = programme.stored_kwh;
        let (mut low, mut high) = (programme.stored_kwh, programme.stored_kwh);
        let (import, export) = (&prices.import[..count], &prices.export[..count]);
        for (index, slot) in slots.iter().enumerate() {
            let tag = 2 * index as u32;
            largest = largest.max(slot.largest_kwh());
            let rounding = SUM_DRIFT * largest;
            low -= slot.discharge_kwh + slot.driving_kwh;
            high += slot.charge_kwh - slot.driving_kwh;
            self.add(programme, slot, (import[index], export[index]), tag);
            let mut cuts = (f64::NEG_INFINITY, f64::INFINITY);
            // Energy up to `L_t` must be used: cut it at the cheap end.
            if low < slot.least_kwh {
                let used = &mut self.used;
                let take = |tag: u32, energy: f64| used[tag as usize] += energy;
                let (slope, missing) = self.segments.cut_left(slot.least_kwh - low, take);
                cuts.0 = slope;
                low = slot.least_kwh;
                if missing > rounding {
                    return None;
                }
            }
            // Energy above `H_t` cannot be used: cut it at the dear end.
            if high > slot.most_kwh {
                let (slope, excess) = self.segments.cut_right(high - slot.most_kwh);
                cuts.1 = slope;
                high = slot.most_kwh;
                if excess > rounding {
                    return None;
                }
            }
            self.cuts.push(cuts);
        }
        Some(())
    }

    /// Adds the segments of a slot: two, or the hull if `a_t < b_t`. `prices` are those to buy
    /// and to sell.
    #[inline(always)]
    fn add(
        &mut self,
        programme: &DynamicProgramme,
        slot: &ProgrammeSlot,
        prices: (f64, f64),
        tag: u32,
    ) {
        let (room, fill) = (slot.discharge_kwh, slot.charge_kwh);
        if room > 0.0 {
            let slope = programme.discharge_price(prices.1);
            if fill > 0.0 {
                let charge = programme.charge_price(prices.0);
                // Buying and selling at once would pay, so the relaxation takes the hull.
                if charge < slope {
                    let slope = hull(charge, fill, slope, room);
                    self.segments.insert_first(Segment { slope, length: fill + room, tag });
                    return;
                }
            }
            self.segments.insert_first(Segment { slope, length: room, tag });
        }
        // The odd tag tells charging from keeping energy, which differ at the end value.
        if fill > 0.0 {
            let slope = programme.charge_price(prices.0);
            self.segments.insert_last(Segment { slope, length: fill, tag: tag + 1 });
        }
    }

    /// Reads the changes of the stored energy and the costs from the energy used of each
    /// segment.
    #[inline(always)]
    fn read(
        &mut self,
        programme: &DynamicProgramme,
        slots: &[ProgrammeSlot],
        prices: Prices<'_>,
    ) -> RelaxedSolution {
        self.change.clear();
        let mut largest = programme.stored_kwh;
        let mut level = programme.stored_kwh;
        let mut found = RelaxedSolution { bound: 0.0, cost: 0.0, is_exact: true };
        for (index, slot) in slots.iter().enumerate() {
            let (room, fill) = (slot.discharge_kwh, slot.charge_kwh);
            // Change from the reference path, which discharges all.
            let used = self.used[2 * index] + self.used[2 * index + 1];
            let net = (used - room).clamp(-room, fill);
            largest = largest.max(slot.largest_kwh());
            let change = if net.abs() <= SUM_ROUNDING * largest { 0.0 } else { net };
            self.change.push(change);
            level += change - slot.driving_kwh;
            let (import, export) = (prices.import[index], prices.export[index]);
            let cost = programme.cost_of(change, import, export);
            found.cost += cost;
            found.bound += cost;
            // Inside a hull the executed cost is above that of the relaxation.
            if room > 0.0 && fill > 0.0 {
                let (a, b) = (programme.charge_price(import), programme.discharge_price(export));
                if a < b && change > -room && change < fill {
                    let hulled = hull(a, fill, b, room) * (change + room) - b * room;
                    found.bound += hulled - cost;
                    found.is_exact &= cost - hulled <= 0.0;
                }
            }
            // Charging above the charge limit breaks a rule of the battery.
            if change > 0.0 && slot.limit_kwh < slot.most_kwh {
                found.is_exact &= level <= slot.limit_kwh + SUM_DRIFT * largest;
            }
        }
        if !programme.joined.is_empty() {
            let has_two_signs = |slot| programme.has_two_signs(slot, &self.change);
            found.is_exact &= !(1..slots.len()).any(has_two_signs);
        }
        let gained = programme.end_value_per_kwh * (level - programme.stored_kwh);
        found.cost -= gained;
        found.bound -= gained;
        found
    }

    /// Writes the marginal value `λ_t` of a stored kWh in each slot to `values`, backwards from
    /// the end value and between the slopes of the cuts.
    pub(crate) fn marginal_values(&self, programme: &DynamicProgramme, values: &mut Vec<f64>) {
        values.clear();
        values.resize(self.cuts.len(), 0.0);
        let mut value = programme.end_value_per_kwh;
        for (slot, &(least, most)) in values.iter_mut().zip(&self.cuts).rev() {
            value = value.max(least).min(most);
            *slot = value;
        }
    }
}

/// Slope `h_t` of the convex hull: the line from full discharge to full charge.
#[inline(always)]
pub(crate) fn hull(charge_price: f64, charge: f64, discharge_price: f64, discharge: f64) -> f64 {
    (charge_price * charge + discharge_price * discharge) / (charge + discharge)
}

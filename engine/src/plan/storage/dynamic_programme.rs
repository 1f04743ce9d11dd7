//! The segment method: the cheapest path of stored energy, on plain arrays.
//!
//! Energies are stored kWh here, so that efficiencies are in the prices: a
//! stored kWh costs `a = p / η_c` and brings `b = q·η_d − wear`. The cost
//! F(e) of having stored e is convex and piecewise linear; a slot adds two
//! segments to it (keep instead of discharge, at b; charge, at a), driving
//! shifts it, a least level cuts it from the left and a highest level from the
//! right. What is cut is decided. At the end what costs less than a stored kWh
//! is worth is used.
//!
//! Where `a < b`, charging and discharging at once would pay, which burns
//! energy and is no plan. There the two segments are replaced by the convex
//! hull of "only charge" and "only discharge", one segment from full
//! discharge to full charge. Its answer is a bound, and [`super::branch`]
//! closes the rest.
use crate::plan::storage::segments::{Segment, Segments};

/// What one slot allows, in stored kWh.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProgrammeSlot {
    /// Most that charging can add.
    pub charge_kwh: f64,
    /// Most that discharging can take.
    pub discharge_kwh: f64,
    /// What driving takes, as far as the battery can serve it.
    pub driving_kwh: f64,
    /// Least level at the end of the slot; never beyond what can be reached.
    pub least_kwh: f64,
    /// Highest level at the end of the slot.
    pub most_kwh: f64,
    /// Level that charging does not go beyond. Below `most_kwh` where a
    /// battery may be above its charge limit, from which nothing forces it.
    pub limit_kwh: f64,
}

impl ProgrammeSlot {
    /// Cuts driving and power to what a battery can use that was at most
    /// `most_before` before the slot and reaches `reach` before it.
    ///
    /// Sums of levels then stay near the levels, and rounding with them. A slot
    /// moves at most the highest level and what is driven. Twice that is left, so
    /// that levels bind and not the power that was taken. Power that rounding
    /// would hide is none.
    #[inline(always)]
    pub(crate) fn drop_useless_power(&mut self, reach: f64, most_before: f64) {
        self.driving_kwh = self.driving_kwh.min(reach + self.charge_kwh);
        let useful = most_before.max(self.limit_kwh) + self.driving_kwh;
        for moved in [&mut self.charge_kwh, &mut self.discharge_kwh] {
            *moved = if *moved <= CRUMB * useful { 0.0 } else { moved.min(2.0 * useful) };
        }
        self.driving_kwh = self.driving_kwh.min(reach + self.charge_kwh);
    }

    /// The largest energy of the slot: rounding is a part of it.
    #[inline(always)]
    pub(crate) fn largest_kwh(&self) -> f64 {
        self.charge_kwh.max(self.discharge_kwh).max(self.driving_kwh).max(self.most_kwh)
    }
}

/// One battery over its slots, without prices: it can be asked many times.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DynamicProgramme {
    /// Stored energy at the start.
    pub(crate) stored_kwh: f64,
    /// Stored energy per energy at the plug.
    pub(crate) efficiency_charge: f64,
    /// Energy at the plug per stored energy.
    pub(crate) efficiency_discharge: f64,
    /// Wear per stored kWh that is discharged to the plug.
    pub(crate) wear_per_kwh: f64,
    /// Value of a kWh stored at the end.
    pub(crate) end_value_per_kwh: f64,
    /// Usable capacity.
    pub(crate) capacity_kwh: f64,
    pub(crate) slots: Vec<ProgrammeSlot>,
}

/// Rounding of one energy, as a part of the largest that was at hand so far.
pub(crate) const CRUMB: f64 = 1e-12;

/// Rounding of sums of energies, as a part of the largest so far. So much less
/// than a certificate allows that power beyond the levels makes no difference.
pub(crate) const DRIFT: f64 = 1e-10;

impl DynamicProgramme {
    /// Number of slots: as many prices are wanted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is no slot.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Cost of a stored kWh that is bought at `import`.
    #[inline(always)]
    pub(crate) fn charge_price(&self, import: f64) -> f64 {
        import / self.efficiency_charge
    }

    /// What a stored kWh brings that is sold at `export`.
    #[inline(always)]
    pub(crate) fn discharge_price(&self, export: f64) -> f64 {
        export * self.efficiency_discharge - self.wear_per_kwh
    }

    /// Cost of changing the stored energy by `change` in a slot.
    #[inline(always)]
    pub(crate) fn cost_of(&self, change: f64, import: f64, export: f64) -> f64 {
        if change > 0.0 {
            self.charge_price(import) * change
        } else if change < 0.0 {
            self.discharge_price(export) * change
        } else {
            0.0 // Not by a product: without a price there is NaN.
        }
    }

    /// Energy at the plug for a change of the stored energy; positive charges.
    #[inline(always)]
    pub(crate) fn at_plug(&self, change: f64) -> f64 {
        if change > 0.0 {
            change / self.efficiency_charge
        } else {
            change * self.efficiency_discharge
        }
    }
}

/// The cost of an answer and a bound on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostAndBound {
    /// Bought less sold, wear included, less the value of the energy that is
    /// stored at the end beyond that at the start.
    pub cost: f64,
    /// No plan costs less: by the marginal values, or by the search if there
    /// was one. Below `cost` only by rounding, or where the search was stopped.
    pub bound: f64,
    /// Relaxations solved: 1 where none was needed.
    pub nodes: usize,
}

/// What marginal values prove, by weak duality; see [`super::certificate`].
#[inline(always)]
pub(crate) fn bound(kernel: &DynamicProgramme, prices: Prices<'_>, values: &[f64]) -> f64 {
    let end_value = kernel.end_value_per_kwh;
    let mut next = end_value;
    let mut bound = end_value * kernel.stored_kwh;
    for (index, slot) in kernel.slots.iter().enumerate().rev() {
        let value = values[index];
        let fall = value - next;
        let level = if fall > 0.0 { slot.least_kwh } else { slot.most_kwh };
        let mut gain = 0.0;
        if slot.charge_kwh > 0.0 {
            let price = kernel.charge_price(prices.import[index]);
            gain = ((price - value) * slot.charge_kwh).min(gain);
        }
        if slot.discharge_kwh > 0.0 {
            let price = kernel.discharge_price(prices.export[index]);
            gain = ((value - price) * slot.discharge_kwh).min(gain);
        }
        bound += fall * level + value * slot.driving_kwh + gain;
        next = value;
    }
    bound - next * kernel.stored_kwh
}

/// Prices per kWh at the plug, one of each per slot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prices<'a> {
    pub(crate) import: &'a [f64],
    pub(crate) export: &'a [f64],
}

/// What a relaxation found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RelaxedSolution {
    /// Cost of the path with the hulls: a bound.
    pub(crate) bound: f64,
    /// Cost of the same path as it would be executed.
    pub(crate) cost: f64,
    /// Whether the path is a plan and costs no more than the bound.
    pub(crate) is_exact: bool,
}

/// Memory of one relaxation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Relaxation {
    segments: Segments,
    /// Per slot, what is used of its two segments, and their slopes.
    used: Vec<f64>,
    /// Slopes at the cuts after each slot.
    cuts: Vec<(f64, f64)>,
    pub(crate) change: Vec<f64>,
}

impl Relaxation {
    /// The cheapest path; `None` if no path keeps within the levels.
    #[inline(always)]
    pub(crate) fn solve(
        &mut self,
        kernel: &DynamicProgramme,
        slots: &[ProgrammeSlot],
        prices: Prices<'_>,
    ) -> Option<RelaxedSolution> {
        self.sweep(kernel, slots, prices)?;
        let end_value = kernel.end_value_per_kwh;
        for segment in self.segments.iter() {
            // Kept at a tie, but not bought.
            let is_kept = segment.tag.is_multiple_of(2) && segment.slope <= end_value;
            if segment.slope < end_value || is_kept {
                self.used[segment.tag as usize] += segment.length;
            }
        }
        Some(self.read(kernel, slots, prices))
    }

    /// Walks the slots from the first, cutting as it goes.
    #[inline(always)]
    fn sweep(
        &mut self,
        kernel: &DynamicProgramme,
        slots: &[ProgrammeSlot],
        prices: Prices<'_>,
    ) -> Option<()> {
        let count = slots.len();
        self.segments.clear(2 * count + 1);
        self.used.clear();
        self.used.resize(2 * count, 0.0);
        self.cuts.clear();
        let mut largest = kernel.stored_kwh;
        let (mut low, mut high) = (kernel.stored_kwh, kernel.stored_kwh);
        let (import, export) = (&prices.import[..count], &prices.export[..count]);
        for (index, slot) in slots.iter().enumerate() {
            let tag = 2 * index as u32;
            largest = largest.max(slot.largest_kwh());
            let rounding = DRIFT * largest;
            low -= slot.discharge_kwh + slot.driving_kwh;
            high += slot.charge_kwh - slot.driving_kwh;
            self.add(kernel, slot, (import[index], export[index]), tag);
            let mut cuts = (f64::NEG_INFINITY, f64::INFINITY);
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

    /// Adds the segments of a slot: two, or one hull where burning would pay.
    #[inline(always)]
    fn add(
        &mut self,
        kernel: &DynamicProgramme,
        slot: &ProgrammeSlot,
        prices: (f64, f64),
        tag: u32,
    ) {
        let (room, fill) = (slot.discharge_kwh, slot.charge_kwh);
        if room > 0.0 {
            let slope = kernel.discharge_price(prices.1);
            if fill > 0.0 {
                let charge = kernel.charge_price(prices.0);
                if charge < slope {
                    let slope = hull(charge, fill, slope, room);
                    self.segments.insert_first(Segment { slope, length: fill + room, tag });
                    return;
                }
            }
            self.segments.insert_first(Segment { slope, length: room, tag });
        }
        if fill > 0.0 {
            let slope = kernel.charge_price(prices.0);
            self.segments.insert_last(Segment { slope, length: fill, tag: tag + 1 });
        }
    }

    /// Changes and costs from what is used of each segment.
    #[inline(always)]
    fn read(
        &mut self,
        kernel: &DynamicProgramme,
        slots: &[ProgrammeSlot],
        prices: Prices<'_>,
    ) -> RelaxedSolution {
        self.change.clear();
        let mut largest = kernel.stored_kwh;
        let mut level = kernel.stored_kwh;
        let mut found = RelaxedSolution { bound: 0.0, cost: 0.0, is_exact: true };
        for (index, slot) in slots.iter().enumerate() {
            let (room, fill) = (slot.discharge_kwh, slot.charge_kwh);
            let used = self.used[2 * index] + self.used[2 * index + 1];
            let net = (used - room).clamp(-room, fill);
            largest = largest.max(slot.largest_kwh());
            let change = if net.abs() <= CRUMB * largest { 0.0 } else { net };
            self.change.push(change);
            level += change - slot.driving_kwh;
            let (import, export) = (prices.import[index], prices.export[index]);
            let cost = kernel.cost_of(change, import, export);
            found.cost += cost;
            found.bound += cost;
            if room > 0.0 && fill > 0.0 {
                let (a, b) = (kernel.charge_price(import), kernel.discharge_price(export));
                if a < b && change > -room && change < fill {
                    let hulled = hull(a, fill, b, room) * (change + room) - b * room;
                    found.bound += hulled - cost;
                    found.is_exact &= cost - hulled <= 0.0;
                }
            }
            if change > 0.0 && slot.limit_kwh < slot.most_kwh {
                found.is_exact &= level <= slot.limit_kwh + DRIFT * largest;
            }
        }
        let gained = kernel.end_value_per_kwh * (level - kernel.stored_kwh);
        found.cost -= gained;
        found.bound -= gained;
        found
    }

    /// What a stored kWh is worth in each slot: the end value, walked back and
    /// kept between the slopes at which each level was cut.
    pub(crate) fn marginal_values(&self, kernel: &DynamicProgramme, values: &mut Vec<f64>) {
        values.clear();
        values.resize(self.cuts.len(), 0.0);
        let mut value = kernel.end_value_per_kwh;
        for (slot, &(least, most)) in values.iter_mut().zip(&self.cuts).rev() {
            value = value.max(least).min(most);
            *slot = value;
        }
    }
}

/// Slope of the line from full discharge to full charge.
#[inline(always)]
pub(crate) fn hull(charge_price: f64, charge: f64, discharge_price: f64, discharge: f64) -> f64 {
    (charge_price * charge + discharge_price * discharge) / (charge + discharge)
}

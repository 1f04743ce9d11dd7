//! Dynamic programme of one room or tank: the cheapest path of stored energy, by segments.
//!
//! # Recursion
//!
//! The state is the stored energy `e`, and `F_t(e)` is the least cost of having stored `e` after
//! slot `t` ([symbols](super)):
//!
//! ```text
//! F_0(e_0) = 0
//! F_t(e)   = min over 0 ≤ x ≤ X_t of  F_{t−1}((e − η_t·x − g_t)/a_t) + p_t·x
//! ```
//!
//! # Scaling keeps the segments
//!
//! `F(e/a)` has the segments of `F` with `a` times their lengths and `1/a` times their slopes: it is
//! convex and piecewise linear as before, and the order of the segments stays. So the loss needs no
//! more than a change of the unit of energy. Lengths are kept in the unit `s_t = a_1·…·a_t`, in which
//! nothing is lost, and slot `t` inserts one segment of length `η_t·X_t/s_t` and slope `p_t·s_t/η_t`.
//! The unit is reset before it becomes too small for a double.
//!
//! # Levels
//!
//! Let `P_t` be the path without power and `R_t` the one at full power. No plan ends outside of them,
//! so none is warmer than `R_t < L_t`, or cooler than `P_t > H_t`. If some plan keeps
//!
//! ```text
//! min(L_t, R_t) ≤ e_t ≤ max(H_t, P_t)                         in every slot
//! ```
//!
//! then each slot has its least distance from the band at once, and the plans with the least
//! degree-hours are exactly those within these levels. The levels then cut the function, as those
//! of a battery do. Otherwise distances are traded for each other, and
//! [`soft_band`](super::soft_band) weighs them.
//!
//! # Marginal values
//!
//! The dual `λ_t` of the balance of slot `t` is the value of one more kWh stored: money, and
//! degree-hours that it saves. From the slopes `l_t` and `r_t` at which the levels cut the function:
//!
//! ```text
//! λ_t = min(max(a_{t+1}·λ_{t+1}, l_t), r_t),    a_{T+1}·λ_{T+1} = v
//! ```
//!
//! Up to the last slot with `e_t = R_t < L_t` or `e_t = P_t > H_t` the power is forced. There no
//! cut binds, and `λ_t = a_{t+1}·λ_{t+1}` plus the degree-hours of the slot.
use crate::plan::heat::slots::{ThermalProgramme, ThermalStep};
use crate::plan::heat::soft_band::SoftBand;
use crate::plan::heat::worth::{LENGTH_MIN, UNIT_MIN, Worth, share};
use crate::plan::storage::segments::{Segment, Segments};
use crate::tolerance::{SUM_DRIFT, SUM_ROUNDING};

/// Memory for the plan of one room or tank, reused between plans, and its solution.
#[derive(Debug, Clone, Default)]
pub struct HeatBuffers {
    segments: Segments,
    soft: SoftBand,
    /// Slopes at the cuts after each slot, `(l_t, r_t)`; infinite without a cut.
    cuts: Vec<(f64, f64)>,
    /// Lengths of the segments as they were inserted, in the present unit.
    lengths: Vec<f64>,
    /// Share of its highest power that each slot uses.
    pub(crate) shares: Vec<f64>,
    /// Energies after each slot without power and at full power, `P_t` and `R_t`.
    pub(crate) reach: Vec<(f64, f64)>,
    /// Numbers of slots up to the last one that is too cold at full power, which forces full power
    /// before it, and up to the last one that is too warm without power, which forces none.
    forced: (usize, usize),
    /// Stored energy after each slot.
    pub(crate) levels: Vec<f64>,
    /// Value of a stored kWh after each slot.
    pub(crate) values: Vec<Worth>,
}

impl HeatBuffers {
    /// Empty memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Solves a programme; the solution is left in the buffers.
    pub(crate) fn solve(&mut self, programme: &ThermalProgramme) {
        self.set_reach(programme);
        self.shares.clear();
        self.shares.resize(programme.steps.len(), 0.0);
        let is_within = self.cut_at_levels(programme).is_some() && self.is_forced(programme);
        self.values.clear();
        self.values.resize(programme.steps.len(), Worth::default());
        if is_within {
            self.values_between_cuts(programme);
        } else {
            self.shares.fill(0.0);
            self.soft.solve((programme, None), &mut self.shares, &mut self.values);
        }
        self.set_levels(programme, is_within);
    }

    /// Solves a programme in which a degree-hour costs `price`, in units of currency per °C·h: the
    /// least `cost + price·degree-hours`. The values are money alone.
    #[cfg(feature = "lp")]
    pub(crate) fn solve_at_price(&mut self, programme: &ThermalProgramme, price: f64) {
        let count = programme.steps.len();
        self.shares.clear();
        self.shares.resize(count, 0.0);
        self.values.clear();
        self.values.resize(count, Worth::default());
        self.soft.solve((programme, Some(price)), &mut self.shares, &mut self.values);
        self.set_levels(programme, false);
    }

    /// Replaces the solution by a schedule of a unit that is on or off; the values stay.
    pub(crate) fn set_schedule(&mut self, programme: &ThermalProgramme, schedule: &[bool]) {
        self.shares.clear();
        self.shares.extend(schedule.iter().map(|&is_on| f64::from(u8::from(is_on))));
        self.levels.clear();
        let mut level = programme.stored_kwh;
        let steps = programme.steps.iter().zip(&self.shares);
        self.levels.extend(steps.map(|(step, share)| {
            level = step.after(level, share * step.power_kwh);
            level
        }));
    }

    /// Paths without power and at full power.
    fn set_reach(&mut self, programme: &ThermalProgramme) {
        self.reach.clear();
        self.reach.reserve(programme.steps.len());
        self.forced = (0, 0);
        let (mut least, mut most) = (programme.stored_kwh, programme.stored_kwh);
        for (index, step) in programme.steps.iter().enumerate() {
            (least, most) = (step.after(least, 0.0), step.after(most, step.power_kwh));
            self.reach.push((least, most));
            if most < step.low_kwh {
                self.forced.0 = index + 1;
            }
            if least > step.high_kwh {
                self.forced.1 = index + 1;
            }
        }
    }

    /// Adds the segments of all slots and cuts them at the levels; `None` if no path keeps them.
    fn cut_at_levels(&mut self, programme: &ThermalProgramme) -> Option<()> {
        let count = programme.steps.len();
        self.segments.clear(count + 1);
        self.lengths.clear();
        self.lengths.resize(count, 0.0);
        self.cuts.clear();
        let mut unit = 1.0;
        let mut largest = programme.stored_kwh.abs();
        // Lowest and highest level that the remaining segments can reach, in the present unit.
        let (mut low, mut high) = (programme.stored_kwh, programme.stored_kwh);
        for (index, step) in programme.steps.iter().enumerate() {
            unit *= step.decay;
            if unit < UNIT_MIN {
                (low, high, largest) = (low * unit, high * unit, largest * unit);
                self.reset_unit(unit);
                unit = 1.0;
            }
            let per_unit = 1.0 / unit;
            let (least, most) = levels(step, self.reach[index]);
            let (least, most, length) =
                (least * per_unit, most * per_unit, step.most_kwh() * per_unit);
            largest = largest.max(least.abs()).max(most.abs()).max(length);
            low += step.drift_kwh * per_unit;
            high += step.drift_kwh * per_unit + length;
            if length > 0.0 {
                let slope = step.price / step.stored_per_kwh * unit;
                self.lengths[index] = length;
                self.segments.insert_last(Segment { slope, length, tag: index as u32 });
            }
            let rounding = SUM_DRIFT * largest;
            let mut cuts = (f64::NEG_INFINITY, f64::INFINITY);
            // Energy up to the lower level must be used: cut it at the cheap end.
            if low < least {
                let (shares, lengths) = (&mut self.shares, &self.lengths);
                let take = |tag: u32, energy: f64| {
                    shares[tag as usize] += share(energy, lengths[tag as usize]);
                };
                let (slope, missing) = self.segments.cut_left(least - low, take);
                (low, cuts.0) = (least, slope * per_unit);
                if missing > rounding {
                    return None;
                }
            }
            // Energy above the upper level cannot be used: cut it at the dear end.
            if high > most {
                let (slope, excess) = self.segments.cut_right(high - most);
                (high, cuts.1) = (most, slope * per_unit);
                if excess > rounding {
                    return None;
                }
            }
            self.cuts.push(cuts);
        }
        for segment in self.segments.iter().filter(|at| at.slope < programme.end_value * unit) {
            let whole = self.lengths[segment.tag as usize];
            self.shares[segment.tag as usize] += share(segment.length, whole);
        }
        Some(())
    }

    /// Returns true if the power is full or off wherever a slot outside the band forces it. It may
    /// not be where so little remains of the heat that rounding hides the conflict.
    fn is_forced(&self, programme: &ThermalProgramme) -> bool {
        let (too_cold, too_warm) = self.forced;
        let mut largest = programme.stored_kwh.abs();
        let steps = programme.steps.iter().zip(&self.shares).enumerate();
        steps.take(too_cold.max(too_warm)).all(|(index, (step, &share))| {
            largest = largest.max(self.reach[index].0.abs()).max(self.reach[index].1.abs());
            let rounding = SUM_DRIFT * largest;
            let most = step.most_kwh();
            (index >= too_cold || (1.0 - share) * most <= rounding)
                && (index >= too_warm || share * most <= rounding)
        })
    }

    /// Makes `unit` the unit of all energies. Heat of which nothing remains is bought if the price
    /// is negative.
    fn reset_unit(&mut self, unit: f64) {
        let (shares, lengths) = (&mut self.shares, &self.lengths);
        self.segments.scale(unit, LENGTH_MIN, |segment| {
            if segment.slope < 0.0 {
                shares[segment.tag as usize] +=
                    share(segment.length, lengths[segment.tag as usize]);
            }
        });
        self.lengths.iter_mut().for_each(|length| *length *= unit);
    }

    /// Values of stored energy from the cuts.
    fn values_between_cuts(&mut self, programme: &ThermalProgramme) {
        let forced = self.forced.0.max(self.forced.1);
        let mut next = Worth::of(programme.end_value);
        for (index, step) in programme.steps.iter().enumerate().rev() {
            let mut value = next;
            if index < forced {
                let (least, most) = self.reach[index];
                let per_kwh = step.hours / programme.kwh_per_k;
                if most < step.low_kwh {
                    value = value.plus_degree_hours(per_kwh);
                } else if least > step.high_kwh {
                    value = value.plus_degree_hours(-per_kwh);
                }
            } else {
                let (least, most) = self.cuts[index];
                value.money = value.money.max(least).min(most);
            }
            self.values[index] = value;
            next = value.times(step.decay);
        }
    }

    /// Stored energy after each slot, and shares without rounding.
    fn set_levels(&mut self, programme: &ThermalProgramme, is_within: bool) {
        self.levels.clear();
        let mut level = programme.stored_kwh;
        let mut largest = level.abs();
        for (index, step) in programme.steps.iter().enumerate() {
            largest = largest.max(level.abs()).max(step.drift_kwh.abs());
            // Rounding is relative to the stored energy, from which shares are differences.
            let (share, rounding) = (&mut self.shares[index], SUM_ROUNDING * largest);
            if *share * step.most_kwh() <= rounding {
                *share = 0.0;
            } else if (1.0 - *share) * step.most_kwh() <= rounding {
                *share = 1.0;
            }
            level = step.after(level, *share * step.power_kwh);
            if is_within {
                // Sums drift by less than a billionth; `clamp` keeps the level in bounds.
                let (least, most) = levels(step, self.reach[index]);
                level = level.clamp(least, most);
            }
            self.levels.push(level);
        }
    }
}

/// Levels that every plan with the least degree-hours keeps, if some plan keeps them all.
fn levels(step: &ThermalStep, (least, most): (f64, f64)) -> (f64, f64) {
    (step.low_kwh.min(most), step.high_kwh.max(least))
}

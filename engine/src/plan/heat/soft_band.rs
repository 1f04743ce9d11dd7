//! Segment method with a band that may be left: degree-hours first, then cost.
//!
//! Where some plan is closest to the band in every slot at once, levels replace the band
//! ([`dynamic_programme`](super::dynamic_programme)). Elsewhere one degree too little must be weighed
//! against another: a heat pump that is too weak for a cold evening may overheat the afternoon. Each
//! slot adds the distance from its band, in degree-hours, to the function:
//!
//! ```text
//! F_t(e) ← F_t(e) + h_t/C·( max(0, L_t − e) + max(0, e − H_t) )
//! ```
//!
//! The sum of convex piecewise linear functions is one: segments are cut at `L_t` and `H_t`, those
//! below get `h_t/C` less slope and those above more. Slopes are pairs of degree-hours and money in
//! lexicographic order. Only sums, positive multiples and comparisons of slopes are used, so the
//! recursion holds for pairs as for numbers, and its path has the least degree-hours and of those the
//! least cost. It takes `O(T²)` for `T` slots, because no segment is ever cut off.
//!
//! Where units share limits a degree-hour has a price, `M`: with slopes `(0, money + M·degree-hours)` the
//! same recursion has the path of least `cost + M·degree-hours`.
//!
//! # Marginal values
//!
//! With `s` and `r` the slopes on the left of `L_t` and on the right of `H_t`, before the distance is
//! added, and `w = (h_t/C, 0)`, or `(0, M·h_t/C)`:
//!
//! ```text
//! λ_t = min(s, a_{t+1}·λ_{t+1} + w)    if a_{t+1}·λ_{t+1} < s
//! λ_t = max(r, a_{t+1}·λ_{t+1} − w)    if a_{t+1}·λ_{t+1} > r
//! λ_t = a_{t+1}·λ_{t+1}                otherwise
//! ```
use crate::plan::heat::slots::ThermalProgramme;
use crate::plan::heat::worth::{LENGTH_MIN, UNIT_MIN, Worth, share};
use crate::tolerance::SUM_ROUNDING;

/// Stored energy that can be bought at one price, with the degree-hours that it saves.
#[derive(Debug, Clone, Copy)]
struct WorthSegment {
    slope: Worth,
    /// Sum of the sizes of all degree-hours in the slope, to which rounding is relative.
    size: f64,
    length: f64,
    slot: usize,
}

impl WorthSegment {
    /// Adds degree-hours to the slope, in money if they have a price. Where they cancel out nothing is
    /// left of them, because the rest of rounding would come before all money.
    fn add(&mut self, degree_hours: f64, price: Option<f64>) {
        if let Some(price) = price {
            self.slope.money += price * degree_hours;
            return;
        }
        self.size += degree_hours.abs();
        let sum = self.slope.degree_hours + degree_hours;
        let is_rest = sum.abs() <= SUM_ROUNDING * self.size;
        self.slope.degree_hours = if is_rest { 0.0 } else { sum };
    }
}

/// Slopes where the function ends on the left and on the right.
const LEAST: Slope = (Worth { degree_hours: f64::NEG_INFINITY, money: 0.0 }, 0.0);
const MOST: Slope = (Worth { degree_hours: f64::INFINITY, money: 0.0 }, 0.0);

/// Slope at an edge of the band per kWh, and the size of its degree-hours.
type Slope = (Worth, f64);

/// Memory of the method.
#[derive(Debug, Clone, Default)]
pub(crate) struct SoftBand {
    /// Segments by rising slope, in the present unit of energy.
    segments: Vec<WorthSegment>,
    /// Lengths of the segments as they were inserted, in the present unit.
    lengths: Vec<f64>,
    /// Slopes left of `L_t` and right of `H_t`.
    edges: Vec<(Slope, Slope)>,
}

impl SoftBand {
    /// Writes the share of its power that each slot uses, and the value of a stored kWh after it.
    /// Degree-hours come before money, or are money at a `price` of one.
    pub(crate) fn solve(
        &mut self,
        (programme, price): (&ThermalProgramme, Option<f64>),
        shares: &mut [f64],
        values: &mut [Worth],
    ) {
        let unit = self.sweep((programme, price), shares);
        let end_value = Worth::of(programme.end_value * unit);
        for segment in self.segments.iter().filter(|segment| segment.slope < end_value) {
            shares[segment.slot] += share(segment.length, self.lengths[segment.slot]);
        }
        let (mut next, mut size) = (Worth::of(programme.end_value), 0.0);
        for (index, step) in programme.steps.iter().enumerate().rev() {
            let per_kwh = step.hours / programme.kwh_per_k;
            let (left, right) = self.edges[index];
            (next, size) = between((next, size), left, right, (per_kwh, price));
            values[index] = next;
            (next, size) = (next.times(step.decay), size * step.decay);
        }
    }

    /// Adds the segments and the distances of all slots. Returns the unit of the slopes.
    fn sweep(
        &mut self,
        (programme, price): (&ThermalProgramme, Option<f64>),
        shares: &mut [f64],
    ) -> f64 {
        self.segments.clear();
        self.edges.clear();
        self.lengths.clear();
        self.lengths.resize(programme.steps.len(), 0.0);
        let mut unit = 1.0;
        let mut low = programme.stored_kwh;
        for (slot, step) in programme.steps.iter().enumerate() {
            unit *= step.decay;
            if unit < UNIT_MIN {
                low *= unit;
                self.reset_unit(unit, shares);
                unit = 1.0;
            }
            low += step.drift_kwh / unit;
            let length = step.most_kwh() / unit;
            if length > 0.0 {
                let slope = Worth::of(step.price / step.stored_per_kwh * unit);
                self.lengths[slot] = length;
                let at = self.segments.partition_point(|segment| segment.slope <= slope);
                self.segments.insert(at, WorthSegment { slope, size: 0.0, length, slot });
            }
            let (least, most) = (step.low_kwh / unit, step.high_kwh / unit);
            let below = self.split(least - low);
            let above = self.split(most - low);
            let edge = |at: Option<&WorthSegment>, none: Slope| {
                at.map_or(none, |at| (at.slope.times(1.0 / unit), at.size / unit))
            };
            // A store that no power warms to its band is all below it, and one that drifts above
            // it is all above.
            let left = match below.checked_sub(1) {
                _ if low + self.reach() < least => MOST,
                index => edge(index.and_then(|index| self.segments.get(index)), LEAST),
            };
            let right = if most < low { LEAST } else { edge(self.segments.get(above), MOST) };
            self.edges.push((left, right));
            let per_unit = step.hours / programme.kwh_per_k * unit;
            self.segments[..below].iter_mut().for_each(|segment| segment.add(-per_unit, price));
            self.segments[above..].iter_mut().for_each(|segment| segment.add(per_unit, price));
        }
        unit
    }

    /// Total length of the segments.
    fn reach(&self) -> f64 {
        self.segments.iter().map(|segment| segment.length).sum()
    }

    /// Cuts the segment at `energy` above the lowest level. Returns the number of segments below.
    fn split(&mut self, energy: f64) -> usize {
        let mut rest = energy;
        let mut at = 0;
        while at < self.segments.len() && rest > 0.0 {
            let segment = &mut self.segments[at];
            if segment.length > rest {
                let above = WorthSegment { length: segment.length - rest, ..*segment };
                segment.length = rest;
                self.segments.insert(at + 1, above);
                return at + 1;
            }
            rest -= segment.length;
            at += 1;
        }
        at
    }

    /// Makes `unit` the unit of all energies. Heat of which nothing remains is bought if that has a
    /// negative price, in degree-hours or in money.
    fn reset_unit(&mut self, unit: f64, shares: &mut [f64]) {
        let lengths = &self.lengths;
        self.segments.retain_mut(|segment| {
            let is_left = segment.length * unit >= LENGTH_MIN;
            if !is_left && segment.slope < Worth::default() {
                shares[segment.slot] += share(segment.length, lengths[segment.slot]);
            }
            segment.length *= unit;
            segment.slope = segment.slope.times(1.0 / unit);
            segment.size /= unit;
            is_left
        });
        self.lengths.iter_mut().for_each(|length| *length *= unit);
    }
}

/// Value of a kWh at the end of a slot from that for the slots after it, `next`, and the slopes at both
/// edges. `per_kwh` is `w`, in money if there is a `price`; each value comes with the size of its
/// degree-hours.
fn between(next: Slope, left: Slope, right: Slope, (per_kwh, price): (f64, Option<f64>)) -> Slope {
    let plus = |(value, size): Slope, degree_hours: f64| match price {
        Some(price) => (Worth { money: value.money + price * degree_hours, ..value }, size),
        None => (value.plus_degree_hours(degree_hours), size + degree_hours.abs()),
    };
    let snapped =
        |value: Slope, edge: Slope| (value.0.snapped_to(edge.0, value.1.max(edge.1)), value.1);
    let value = snapped(snapped(next, left), right);
    if value.0 < left.0 {
        let moved = snapped(plus(value, per_kwh), left);
        if left.0 < moved.0 { left } else { moved }
    } else if value.0 > right.0 {
        let moved = snapped(plus(value, -per_kwh), right);
        if right.0 > moved.0 { right } else { moved }
    } else {
        value
    }
}

//! Sums over a span: neighbouring rows of one series that lie in one bucket
//! and are as long as each other.
//!
//! Almost all rows of a table are in such spans. Nothing has to be looked up
//! or split in them, so a span is summed up without a branch, some rows at a
//! time. Money is rounded row by row as it is outside of spans, to the same
//! parts; whatever is out of the ordinary is left to the way that takes rows
//! one by one.
use std::ops::Range as Rows;

use pulp::{Arch, Simd, WithSimd};

use crate::statistics::fixed::{Amount, UNIT};
use crate::statistics::sample_columns::{Flows, Lengths, Samples};
use crate::statistics::tally::{Tally, Values};
use crate::units::{MAGNITUDE_MAX, MICROS_PER_HOUR, POWER_MAX};

/// Longest span. So many amounts below `PARTS_MAX` add up to 64 bits at most.
const SPAN_MAX: usize = 2048;

/// Shorter spans are no faster than their rows one by one.
const SPAN_MIN: usize = 8;

/// Rows that are compared at a time.
const BLOCK: usize = 32;

/// Sums side by side, so that a processor can do several at a time.
const LANES: usize = 8;

/// Adding and taking away this number rounds to a whole number, ties to even,
/// and leaves that number in the low bits on the way.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// Up to here `ROUNDER` does that.
const PARTS_MAX: f64 = 2_251_799_813_685_248.0;

/// Prices where there is no such column.
const NO_PRICES: [f64; SPAN_MAX] = [f64::NAN; SPAN_MAX];

/// Result of the search for a span at the start of some rows.
pub(crate) struct Lead {
    /// Number of rows covered, at least one.
    pub(crate) rows: usize,
    /// Sums of these rows; `None` if they have to be added one by one.
    pub(crate) sums: Option<Tally>,
}

impl Lead {
    const ONE_ROW: Self = Self { rows: 1, sums: None };
}

/// Finds a span at the start of some rows.
///
/// `edges` are those of the bucket that the first row starts in, cut at the requested range.
#[inline(always)]
pub(crate) fn leading(samples: &Samples<'_>, rows: Rows<usize>, edges: Rows<i64>) -> Lead {
    // One probe at the shortest length rejects spans that are too short.
    let (first, probe) = (rows.start, rows.start + SPAN_MIN - 1);
    let is_smart = samples.non_smart.is_some_and(|flows| !flows.numbers()[first].is_nan());
    if probe >= rows.end || is_smart || samples.start[probe] >= edges.end {
        return Lead::ONE_ROW;
    }
    let (start, end) = samples.times(first);
    if end <= start || end > edges.end {
        return Lead::ONE_ROW;
    }
    let rows = first..rows.end.min(first + SPAN_MAX);
    Arch::new().dispatch(Leading { samples, rows, edges, length: end - start })
}

struct Leading<'a> {
    samples: &'a Samples<'a>,
    rows: Rows<usize>,
    edges: Rows<i64>,
    length: i64,
}

impl WithSimd for Leading<'_> {
    type Output = Lead;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Lead {
        let count = self.count();
        if count < SPAN_MIN {
            return Lead { rows: count.max(1), sums: None };
        }
        let rows = self.rows.start..self.rows.start + count;
        let hours = self.length as f64 / MICROS_PER_HOUR;
        let price = self.samples.price_per_kwh;
        let price = price.map_or(&NO_PRICES[..count], |price| &price[rows.clone()]);
        let sums = match self.samples.flows {
            Flows::PowerKw(power) => Sums::over(&power[rows], price, hours, |power| power),
            Flows::EnergyKwh(energy) => Sums::over(&energy[rows], price, hours, |kwh| kwh / hours),
        };
        Lead { rows: count, sums: sums.tally(self.length) }
    }
}

impl Leading<'_> {
    /// Returns the number of rows in the span.
    #[inline(always)]
    fn count(&self) -> usize {
        let mut row = self.rows.start;
        // Whole blocks first, then the rows of the last block one by one.
        while row + BLOCK <= self.rows.end && self.holds(row..row + BLOCK) {
            row += BLOCK;
        }
        while row < self.rows.end && self.holds(row..row + 1) {
            row += 1;
        }
        row - self.rows.start
    }

    /// Returns true if rows all belong to the span.
    #[expect(clippy::needless_bitwise_bool, reason = "a branch would take rows one by one")]
    #[inline(always)]
    fn holds(&self, rows: Rows<usize>) -> bool {
        let (from, to) = (self.edges.start, self.edges.end - self.length);
        let start = &self.samples.start[rows.clone()];
        // Folds without an early exit, which compilers turn into vector instructions.
        let mut is_in = start.iter().fold(true, |all, &at| all & (from <= at) & (at <= to));
        if let Some(group) = self.samples.group {
            let own = group[self.rows.start];
            is_in &= group[rows.clone()].iter().fold(true, |all, &of| all & (of == own));
        }
        if let Lengths::Ends(ends) = self.samples.lengths {
            let pairs = start.iter().zip(&ends[rows.clone()]);
            is_in &= pairs
                .fold(true, |all, (&start, &end)| all & (end.wrapping_sub(start) == self.length));
        }
        if let Some(flows) = self.samples.non_smart {
            is_in &= flows.numbers()[rows].iter().fold(true, |all, number| all & number.is_nan());
        }
        is_in
    }
}

/// Sums side by side.
#[derive(Clone, Copy)]
struct Sums {
    power: Lanes,
    priced_power: [f64; LANES],
    price: Lanes,
    cost: [f64; LANES],
    parts: [i64; LANES],
    power_most: [f64; LANES],
    price_most: [f64; LANES],
    parts_most: [f64; LANES],
}

/// Least, largest, sum and number, side by side.
#[derive(Clone, Copy)]
struct Lanes {
    min: [f64; LANES],
    max: [f64; LANES],
    sum: [f64; LANES],
    count: [f64; LANES],
}

impl Lanes {
    const EMPTY: Self = Self {
        min: [f64::INFINITY; LANES],
        max: [f64::NEG_INFINITY; LANES],
        sum: [0.0; LANES],
        count: [0.0; LANES],
    };

    /// Adds a number; NaN is none.
    #[inline(always)]
    fn add(&mut self, lane: usize, value: f64) {
        let is_number = !value.is_nan();
        self.min[lane] = if value < self.min[lane] { value } else { self.min[lane] };
        self.max[lane] = if value > self.max[lane] { value } else { self.max[lane] };
        self.sum[lane] += if is_number { value } else { 0.0 };
        self.count[lane] += if is_number { 1.0 } else { 0.0 };
    }

    fn values(&self) -> Values {
        Values {
            min: self.min.into_iter().fold(f64::INFINITY, f64::min),
            max: self.max.into_iter().fold(f64::NEG_INFINITY, f64::max),
            sum: self.sum.iter().sum(),
            count: self.count.iter().sum::<f64>() as u64,
        }
    }
}

/// The larger of the two; the first if the second is no number.
#[inline(always)]
fn larger(most: f64, value: f64) -> f64 {
    if value > most { value } else { most }
}

impl Sums {
    const EMPTY: Self = Self {
        power: Lanes::EMPTY,
        priced_power: [0.0; LANES],
        price: Lanes::EMPTY,
        cost: [0.0; LANES],
        parts: [0; LANES],
        power_most: [0.0; LANES],
        price_most: [0.0; LANES],
        parts_most: [0.0; LANES],
    };

    #[inline(always)]
    fn over(flow: &[f64], price: &[f64], hours: f64, power_of: impl Fn(f64) -> f64) -> Self {
        let mut sums = Self::EMPTY;
        let whole = flow.len() - flow.len() % LANES;
        let blocks = flow[..whole].chunks_exact(LANES).zip(price[..whole].chunks_exact(LANES));
        for (flow, price) in blocks {
            for lane in 0..LANES {
                sums.add(lane, power_of(flow[lane]), price[lane], hours);
            }
        }
        // The remainder is shorter than the lanes, so each of its rows has a lane of its own.
        for (lane, (&flow, &price)) in flow[whole..].iter().zip(&price[whole..]).enumerate() {
            sums.add(lane, power_of(flow), price, hours);
        }
        sums
    }

    #[inline(always)]
    fn add(&mut self, lane: usize, power: f64, price: f64, hours: f64) {
        self.power_most[lane] = larger(self.power_most[lane], power.abs());
        self.price_most[lane] = larger(self.price_most[lane], price.abs());
        self.power.add(lane, power);
        // NaN where either is unknown: a price counts where something was measured.
        let cost = power * hours * price;
        let is_priced = !cost.is_nan();
        self.price.add(lane, if is_priced { price } else { f64::NAN });
        self.priced_power[lane] += if is_priced { power } else { 0.0 };
        self.cost[lane] += if is_priced { cost } else { 0.0 };
        let parts = if is_priced { cost * UNIT } else { 0.0 };
        self.parts_most[lane] = larger(self.parts_most[lane], parts.abs());
        let rounded = (parts + ROUNDER).to_bits().wrapping_sub(ROUNDER.to_bits());
        self.parts[lane] = self.parts[lane].wrapping_add(rounded as i64);
    }

    /// Sums of all lanes; `None` if a number is invalid, so that the slow path can name its row,
    /// or if an amount is too large for the fast path.
    #[inline(always)]
    fn tally(&self, length: i64) -> Option<Tally> {
        let most = |lanes: &[f64; LANES]| lanes.iter().copied().fold(0.0, larger);
        // Beyond these limits a number is invalid, or too large for the rounding of the fast path.
        let is_ordinary = most(&self.power_most) <= POWER_MAX
            && most(&self.price_most) <= MAGNITUDE_MAX
            && most(&self.parts_most) < PARTS_MAX;
        is_ordinary.then(|| {
            let cost = Amount::from_parts(self.parts.iter().sum::<i64>().into());
            Tally::of_span(
                length,
                self.power.values(),
                self.price.values(),
                self.priced_power.iter().sum(),
                (cost, self.cost.iter().sum()),
            )
        })
    }
}

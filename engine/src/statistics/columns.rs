//! Many devices at once, as columns.
//!
//! Rows may come in any order and in any number of pieces: an [`Aggregator`]
//! keeps sums only, so that data larger than memory go through it piece by
//! piece. Pieces are cut into runs by their number of rows alone, runs are
//! summed up on all cores and put together in their order, so the last bit
//! does not depend on the number of threads.
use std::ops::Range as Rows;

use rayon::prelude::*;

use crate::statistics::charging::{Item, Tallies};
use crate::statistics::range::Range;
use crate::statistics::resolution::Buckets;
use crate::statistics::sample::{DAYS_MAX, LENGTH_MAX, Row};
use crate::statistics::sample_columns::{Flows, Samples};
use crate::statistics::span;
use crate::time::instant::{YEARS, instant_at};
use crate::units::{MICROS_PER_HOUR, Power, Price, UnitError};

/// Rows that one core sums up at a time: most, and least where there are few.
const RUN: usize = 1 << 17;
const RUN_MIN: usize = 1 << 14;

/// Runs that a piece of few rows is cut into.
const RUNS: usize = 8;

/// Buckets that are let go of at a time, and those that one core takes of them.
const BLOCK: usize = 1 << 16;
const CHUNK: usize = 1 << 13;

/// Invalid row of a table of samples.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnError {
    /// The row has no length.
    #[error("row {row} ends at {end}, not after its start at {start}", start = instant_at(*start), end = instant_at(*end))]
    NoLength {
        /// Position among all rows so far.
        row: usize,
        /// First microsecond.
        start: i64,
        /// First microsecond after it.
        end: i64,
    },
    /// The row is longer than any measurement.
    #[error("row {row} lasts {days} days; it is at most {DAYS_MAX} days")]
    TooLong {
        /// Position among all rows so far.
        row: usize,
        /// Its length in whole days.
        days: i64,
    },
    /// Time outside the range of years that can be represented.
    #[error("row {row} lies outside the years 1 to 9999")]
    OutOfRange {
        /// Position among all rows so far.
        row: usize,
    },
    /// A number is no quantity.
    #[error("{column} of row {row}: {source}")]
    NotAQuantity {
        /// Position among all rows so far.
        row: usize,
        /// Name of the column.
        column: &'static str,
        /// Reason why the number was refused.
        source: UnitError,
    },
}

impl ColumnError {
    /// Returns this error for a row `rows` further on.
    fn later(self, rows: usize) -> Self {
        match self {
            Self::NoLength { row, start, end } => Self::NoLength { row: row + rows, start, end },
            Self::TooLong { row, days } => Self::TooLong { row: row + rows, days },
            Self::OutOfRange { row } => Self::OutOfRange { row: row + rows },
            Self::NotAQuantity { row, column, source } => {
                Self::NotAQuantity { row: row + rows, column, source }
            }
        }
    }
}

/// Sums over samples that come in piece by piece.
#[derive(Debug, Clone)]
pub struct Aggregator {
    buckets: Buckets,
    range: Range,
    groups: Vec<Option<Tallies>>,
    rows: usize,
}

impl Aggregator {
    /// Empty sums.
    #[must_use]
    pub fn new(buckets: Buckets, range: Range) -> Self {
        Self { buckets, range, groups: Vec::new(), rows: 0 }
    }

    /// Rows that have come in.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a piece of samples, whose groups are all below `groups`.
    ///
    /// # Errors
    /// A row has no length or holds a number that is no quantity. Nothing of
    /// the piece has been added then.
    ///
    /// # Panics
    /// The columns differ in length, or a group is not below `groups`.
    pub fn add(&mut self, samples: &Samples<'_>, groups: usize) -> Result<(), ColumnError> {
        samples.check_lengths();
        let count = samples.start.len();
        // The runs depend on the rows alone, and not on the cores, so that sums are equal
        // everywhere.
        let length = count.div_ceil(RUNS).clamp(RUN_MIN, RUN);
        let runs = count.div_ceil(length);
        let empty = Self { groups: Vec::new(), ..*self };
        let run = |index: usize| {
            let rows = index * length..count.min((index + 1) * length);
            empty.run(samples, groups, rows)
        };
        let sums: Vec<Result<Vec<(u32, Tallies)>, ColumnError>> =
            (0..runs).into_par_iter().map(run).collect();
        // Errors are collected in order, so that the first bad row is named in every run.
        let sums = sums.into_iter().collect::<Result<Vec<_>, _>>()?;
        if self.groups.len() < groups {
            self.groups.resize_with(groups, || None);
        }
        // Room for the buckets of all runs, so that a group is moved once at most.
        let mut buckets = vec![0; groups];
        for (group, tallies) in sums.iter().flatten() {
            buckets[*group as usize] += tallies.len();
        }
        for (group, tallies) in sums.into_iter().flatten() {
            let sum = &mut self.groups[group as usize];
            match sum {
                Some(sum) => sum.merge(tallies),
                None => sum.insert(tallies).reserve(buckets[group as usize]),
            }
        }
        self.rows += count;
        Ok(())
    }

    /// The series of each group that has one, by group and then by time.
    #[must_use]
    pub fn finish(self) -> Vec<(u32, Vec<Item>)> {
        let series = self.groups.into_par_iter().enumerate();
        series
            .filter_map(|(group, tallies)| tallies.map(|mut own| (group as u32, own.items())))
            .filter(|(_, items)| !items.is_empty())
            .collect()
    }

    /// Finishes into another form: `make` converts some items at a time, with the group of each.
    ///
    /// Items are dropped as soon as they are used, and the sums that they come from soon after. A
    /// result of millions of buckets is in memory about once, not three times.
    pub fn finish_with<T: Send>(self, make: impl Fn(&[(u32, Item)]) -> T + Sync) -> Vec<T> {
        let groups = (0_u32..).zip(self.groups);
        let mut left = groups.filter_map(|(group, tallies)| Some((group, tallies?)));
        let mut answer = Vec::new();
        loop {
            let (mut block, mut buckets) = (Vec::new(), 0);
            while buckets < BLOCK
                && let Some((group, tallies)) = left.next()
            {
                buckets += tallies.len();
                block.push((group, tallies));
            }
            if block.is_empty() {
                return answer;
            }
            // Items are numbered by position in time order, so the buckets are sorted first.
            block.par_iter_mut().for_each(|(_, own)| own.sort());
            let places = block.iter().flat_map(|(group, own)| {
                (0..own.len() as u32).map(move |index| (*group, own, index))
            });
            let places: Vec<(u32, &Tallies, u32)> = places.collect();
            let items = |&(group, own, index): &(u32, &Tallies, u32)| {
                own.item(index as usize).map(|item| (group, item))
            };
            let chunks = places.par_chunks(CHUNK);
            let chunks = chunks.map(|chunk| {
                let items: Vec<(u32, Item)> = chunk.iter().filter_map(items).collect();
                make(&items)
            });
            answer.extend(chunks.collect::<Vec<T>>());
        }
    }

    /// About as many buckets as rows in time order fill: memory that need not
    /// grow is not moved about.
    fn buckets_of(&self, samples: &Samples<'_>, rows: Rows<usize>) -> usize {
        let (first, last) = (samples.start[rows.start], samples.start[rows.end - 1]);
        if !YEARS.contains(&first) || !YEARS.contains(&last) {
            return 0;
        }
        let bucket = self.buckets.bucket(first);
        let buckets = (last - first).max(0) / (bucket.end - bucket.start) + 2;
        rows.len().min(buckets as usize)
    }

    /// Sums of some rows, by group in the order of their first row.
    fn run(
        &self,
        samples: &Samples<'_>,
        groups: usize,
        rows: Rows<usize>,
    ) -> Result<Vec<(u32, Tallies)>, ColumnError> {
        const NONE: u32 = u32::MAX;
        let mut places = vec![NONE; groups];
        let mut sums: Vec<(u32, Tallies)> = Vec::new();
        let mut next = rows.start;
        while next < rows.end {
            let group = samples.group.map_or(0, |group| group[next]);
            let place = &mut places[group as usize];
            if *place == NONE {
                *place = sums.len() as u32;
                let mut own = Tallies::new(self.buckets, self.range);
                // For one group the number of buckets follows from the times of its rows.
                if groups == 1 {
                    own.reserve(self.buckets_of(samples, rows.clone()));
                }
                sums.push((group, own));
            }
            let own = &mut sums[*place as usize].1;
            // One row, or all rows of a span, at a time.
            let added = samples.add_leading(next..rows.end, own);
            next += added.map_err(|error| error.later(self.rows))?;
        }
        Ok(sums)
    }
}

impl Samples<'_> {
    /// Adds the first of some rows, or more of them if they are one span.
    #[inline(always)]
    fn add_leading(&self, rows: Rows<usize>, own: &mut Tallies) -> Result<usize, ColumnError> {
        let first = rows.start;
        let row = self.row(first)?;
        // A row that starts outside the range takes the slow path, which cuts it.
        let Some((bucket, edges)) = own.open_at(row.start) else {
            own.add(&row);
            return Ok(1);
        };
        let lead = span::leading(self, rows, edges.start..edges.end.min(YEARS.end - 1));
        if let Some(sums) = &lead.sums {
            own.add_at(bucket, sums);
            return Ok(lead.rows);
        }
        // The rows of a span without sums are added one by one, and the bad one is named.
        own.add(&row);
        for index in first + 1..first + lead.rows {
            own.add(&self.row(index)?);
        }
        Ok(lead.rows)
    }

    #[inline(always)]
    fn row(&self, index: usize) -> Result<Row, ColumnError> {
        let (start, end) = self.times(index);
        if !YEARS.contains(&start) || !YEARS.contains(&end) {
            return Err(ColumnError::OutOfRange { row: index });
        }
        if end <= start {
            return Err(ColumnError::NoLength { row: index, start, end });
        }
        if end - start > LENGTH_MAX {
            let days = (end - start) / (LENGTH_MAX / DAYS_MAX);
            return Err(ColumnError::TooLong { row: index, days });
        }
        let hours = (end - start) as f64 / MICROS_PER_HOUR;
        let price = self.price_per_kwh.map_or(f64::NAN, |price| price[index]);
        // NaN is an unknown price; any other number must be a valid one.
        if !price.is_nan() {
            let source = Price::from_per_kwh(price).err();
            refuse(index, "price_per_kwh", source)?;
        }
        let non_smart = self.non_smart.map(|flows| flows.power(index, hours, true));
        Ok(Row {
            start,
            end,
            power_kw: self.flows.power(index, hours, false)?,
            price,
            non_smart_kw: non_smart.unwrap_or(Ok(f64::NAN))?,
        })
    }
}

impl Flows<'_> {
    #[inline(always)]
    fn power(&self, row: usize, hours: f64, is_non_smart: bool) -> Result<f64, ColumnError> {
        let power = match self {
            Self::PowerKw(column) => column[row],
            Self::EnergyKwh(column) => column[row] / hours,
        };
        if power.is_nan() || Power::from_kw(power).is_ok() {
            return Ok(power);
        }
        let column = match (self, is_non_smart) {
            (Self::PowerKw(_), false) => "power_kw",
            (Self::EnergyKwh(_), false) => "energy_kwh",
            (Self::PowerKw(_), true) => "non_smart_kw",
            (Self::EnergyKwh(_), true) => "non_smart_kwh",
        };
        refuse(row, column, Power::from_kw(power).err()).map(|()| power)
    }
}

#[cold]
fn refuse(row: usize, column: &'static str, source: Option<UnitError>) -> Result<(), ColumnError> {
    source.map_or(Ok(()), |source| Err(ColumnError::NotAQuantity { row, column, source }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::charging::series;
    use crate::statistics::charging::tests::random_samples;
    use crate::statistics::resolution::{Resolution, UtcOffset};
    use crate::statistics::sample::Sample;
    use crate::statistics::sample_columns::Lengths;
    use proptest::prelude::*;

    struct Columns {
        group: Vec<u32>,
        start: Vec<i64>,
        ends: Vec<i64>,
        power: Vec<f64>,
        price: Vec<f64>,
        non_smart: Vec<f64>,
    }

    fn columns(samples: &[Sample], groups: u32) -> Columns {
        let rows: Vec<Row> = samples.iter().map(Row::from).collect();
        let of = |number: fn(&Row) -> f64| rows.iter().map(number).collect();
        Columns {
            group: (0..rows.len()).map(|row| (row as u32 * 7) % groups).collect(),
            start: rows.iter().map(|row| row.start).collect(),
            ends: rows.iter().map(|row| row.end).collect(),
            power: of(|row| row.power_kw),
            price: of(|row| row.price),
            non_smart: of(|row| row.non_smart_kw),
        }
    }

    impl Columns {
        fn samples(&self, rows: Rows<usize>) -> Samples<'_> {
            Samples {
                group: Some(&self.group[rows.clone()]),
                start: &self.start[rows.clone()],
                lengths: Lengths::Ends(&self.ends[rows.clone()]),
                flows: Flows::PowerKw(&self.power[rows.clone()]),
                price_per_kwh: Some(&self.price[rows.clone()]),
                non_smart: Some(Flows::PowerKw(&self.non_smart[rows])),
            }
        }
    }

    proptest! {
        /// In one piece or in several, each group is the series of its samples.
        #[test]
        fn groups_are_series_of_their_own(
            samples in random_samples(),
            resolution in prop::sample::select(Resolution::ALL.to_vec()),
            groups in 1..4_u32,
            cut in 0..60_usize,
        ) {
            let buckets = Buckets::new(resolution, UtcOffset::default());
            let columns = columns(&samples, groups);
            let cut = cut.min(samples.len());
            let mut pieces = Aggregator::new(buckets, Range::all());
            pieces.add(&columns.samples(0..cut), groups as usize).unwrap();
            pieces.add(&columns.samples(cut..samples.len()), groups as usize).unwrap();
            prop_assert_eq!(pieces.rows(), samples.len());
            let apart = pieces.clone().finish_with(<[(u32, Item)]>::to_vec).concat();
            let all = pieces.clone().finish().into_iter();
            let together: Vec<(u32, Item)> = all
                .flat_map(|(group, items)| items.into_iter().map(move |item| (group, item)))
                .collect();
            prop_assert_eq!(apart, together);
            for (group, items) in pieces.finish() {
                let own = samples.iter().zip(&columns.group).filter(|(_, of)| **of == group);
                let own: Vec<Sample> = own.map(|(sample, _)| *sample).collect();
                let expected = series(&own, buckets, Range::all()).unwrap();
                prop_assert_eq!(items.len(), expected.len());
                for (one, two) in items.iter().zip(&expected) {
                    prop_assert_eq!(one.label, two.label);
                    prop_assert_eq!(one.totals.cost, two.totals.cost);
                    let savings = |item: &Item| item.totals.non_smart.map(|n| n.savings);
                    prop_assert_eq!(savings(one), savings(two));
                }
            }
        }
    }

    /// Rows of some devices one after the other, a quarter of an hour each,
    /// some with nothing measured, no price, a large price, a bad neighbour.
    fn orderly_rows() -> impl Strategy<Value = Vec<(Row, u32)>> {
        let device = (0..20_000_i64, 1..700_i64, 0..5_u32, 1..40_u64);
        prop::collection::vec(device, 1..4).prop_map(|devices| {
            let mut rows = Vec::new();
            for (first, count, kind, seed) in devices {
                for index in 0..count {
                    let odd = |modulus: u64| (index as u64 * seed).is_multiple_of(modulus);
                    let start = (first + index) * 900_000_000 + i64::from(kind == 4) * index % 7;
                    let price = (index * 7 % 50) as f64 / 100.0 - 0.1;
                    let (is_unpriced, is_dear) = (kind == 1 && odd(5), kind == 3 && odd(97));
                    let row = Row {
                        start,
                        end: start + if kind == 2 && odd(61) { 60_000_000 } else { 900_000_000 },
                        power_kw: if odd(11) { f64::NAN } else { (index * 37 % 113) as f64 / 9.0 },
                        price: match (is_unpriced, is_dear) {
                            (true, _) => f64::NAN,
                            (_, true) => 1e6,
                            _ => price,
                        },
                        non_smart_kw: if kind == 0 && odd(71) { 2.0 } else { f64::NAN },
                    };
                    rows.push((row, kind % 3));
                }
            }
            rows
        })
    }

    fn near(one: f64, two: f64) -> bool {
        (one - two).abs() <= 1e-9 * one.abs().max(two.abs()).max(1e-3)
    }

    proptest! {
        /// Spans sum up to what their rows do one by one: money to the last
        /// digit, least and largest exactly, the rest but for rounding.
        #[test]
        fn spans_are_their_rows(
            rows in orderly_rows(),
            resolution in prop::sample::select(Resolution::ALL.to_vec()),
            hours in -14..=14_i32,
            is_energy: bool,
            from in 0..21_000_i64,
            length in 0..21_000_i64,
        ) {
            let offset = UtcOffset::from_hours(f64::from(hours) / 1.25).unwrap_or_default();
            let buckets = Buckets::new(resolution, offset);
            let at = |quarter: i64| instant_at(quarter * 900_000_000 + 1);
            let range = Range::between(Some(at(from)), Some(at(from + length))).unwrap();
            let of = |number: fn(&Row) -> f64| -> Vec<f64> {
                rows.iter().map(|(row, _)| number(row)).collect()
            };
            let energy = |row: &Row, power: f64| power * ((row.end - row.start) as f64 / MICROS_PER_HOUR);
            let kwh: Vec<f64> = rows.iter().map(|(row, _)| energy(row, row.power_kw)).collect();
            let (power, price, non_smart) =
                (of(|row| row.power_kw), of(|row| row.price), of(|row| row.non_smart_kw));
            let group: Vec<u32> = rows.iter().map(|(_, group)| *group).collect();
            let start: Vec<i64> = rows.iter().map(|(row, _)| row.start).collect();
            let ends: Vec<i64> = rows.iter().map(|(row, _)| row.end).collect();
            let samples = Samples {
                group: Some(&group),
                start: &start,
                lengths: Lengths::Ends(&ends),
                flows: if is_energy { Flows::EnergyKwh(&kwh) } else { Flows::PowerKw(&power) },
                price_per_kwh: Some(&price),
                non_smart: Some(Flows::PowerKw(&non_smart)),
            };
            let mut sums = Aggregator::new(buckets, range);
            sums.add(&samples, 3).unwrap();
            let found = sums.finish();
            let mut expected = Vec::new();
            for own in 0..3_u32 {
                let mut tallies = Tallies::new(buckets, range);
                for (index, _) in rows.iter().enumerate().filter(|(_, (_, group))| *group == own) {
                    tallies.add(&samples.row(index).unwrap());
                }
                expected.push((own, tallies.items()));
            }
            expected.retain(|(_, items)| !items.is_empty());
            prop_assert_eq!(found.len(), expected.len());
            for ((one, items), (two, own)) in found.iter().zip(&expected) {
                prop_assert_eq!((one, items.len()), (two, own.len()));
                for (Item { label, totals }, other) in items.iter().zip(own) {
                    prop_assert_eq!(*label, other.label);
                    prop_assert_eq!(totals.cost, other.totals.cost);
                    let (one, two) = (totals.non_smart, other.totals.non_smart);
                    prop_assert_eq!(one.map(|n| n.savings), two.map(|n| n.savings));
                    let spread = |own: &Item| (own.totals.power.min, own.totals.power.max);
                    prop_assert_eq!((totals.power.min, totals.power.max), spread(other));
                    prop_assert_eq!(totals.hours.to_bits(), other.totals.hours.to_bits());
                    let price = |own: &crate::statistics::totals::Totals| own.price.map(|p| (p.min, p.max));
                    prop_assert_eq!(price(totals), price(&other.totals));
                    let numbers = |own: &crate::statistics::totals::Totals| {
                        let price = own.price.map_or(0.0, |price| price.mean.as_per_kwh());
                        [own.energy.as_kwh(), own.priced_energy.as_kwh(), own.power.mean.as_kw(), price]
                    };
                    let pairs = numbers(totals).into_iter().zip(numbers(&other.totals));
                    for (one, two) in pairs {
                        prop_assert!(near(one, two), "{one} {two}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_last_bit_does_not_depend_on_the_threads() {
        let rows = 3 * RUN + 11;
        let start: Vec<i64> = (0..rows as i64).map(|row| row * 900_000_000).collect();
        let power: Vec<f64> = (0..rows).map(|row| (row * 37 % 101) as f64 / 9.0).collect();
        let price: Vec<f64> = (0..rows).map(|row| (row * 53 % 97) as f64 / 300.0).collect();
        let samples = Samples {
            group: None,
            start: &start,
            lengths: Lengths::Even(900_000_000),
            flows: Flows::PowerKw(&power),
            price_per_kwh: Some(&price),
            non_smart: None,
        };
        let sums = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let buckets = Buckets::new(Resolution::Month, UtcOffset::default());
                let mut sums = Aggregator::new(buckets, Range::all());
                sums.add(&samples, 1).unwrap();
                sums.finish()
            })
        };
        let one = sums(1);
        assert_eq!(sums(2), one);
        assert_eq!(sums(8), one);
    }

    #[test]
    fn many_buckets_come_in_order_and_each_once() {
        let rows = 2 * BLOCK as i64 + 77;
        let group: Vec<u32> = (0..rows).map(|row| u32::from(row >= 100_000) * 2).collect();
        let start: Vec<i64> = (0..rows).map(|row| row * 900_000_000).collect();
        let samples = Samples {
            group: Some(&group),
            start: &start,
            lengths: Lengths::Even(900_000_000),
            flows: Flows::PowerKw(&vec![4.0; rows as usize]),
            price_per_kwh: None,
            non_smart: None,
        };
        let quarters = Buckets::new(Resolution::QuarterHour, UtcOffset::default());
        let mut sums = Aggregator::new(quarters, Range::all());
        sums.add(&samples, 3).unwrap();
        let chunks = sums.finish_with(<[(u32, Item)]>::to_vec);
        assert!(chunks.len() > 2 && chunks.iter().all(|chunk| chunk.len() <= CHUNK));
        let found = chunks.concat().into_iter();
        let found: Vec<(u32, i64)> =
            found.map(|(group, item)| (group, item.label.timestamp_micros())).collect();
        assert_eq!(found, group.iter().copied().zip(start.iter().copied()).collect::<Vec<_>>());
    }

    #[test]
    fn a_bad_row_is_named_and_nothing_is_added() {
        let mut sums =
            Aggregator::new(Buckets::new(Resolution::Day, UtcOffset::default()), Range::all());
        let check = |sums: &mut Aggregator, power: [f64; 2], ends: [i64; 2]| {
            let samples = Samples {
                group: None,
                start: &[0, 0],
                lengths: Lengths::Ends(&ends),
                flows: Flows::PowerKw(&power),
                price_per_kwh: None,
                non_smart: None,
            };
            sums.add(&samples, 1).map_err(|error| error.to_string())
        };
        let refused = check(&mut sums, [1.0, f64::INFINITY], [1, 1]).unwrap_err();
        assert_eq!(refused, "power_kw of row 1: inf kW is not a finite number");
        let refused = check(&mut sums, [1.0, 1.0], [1, i64::MAX]).unwrap_err();
        assert_eq!(refused, "row 1 lies outside the years 1 to 9999");
        let refused = check(&mut sums, [1.0, 1.0], [1, LENGTH_MAX + 1]).unwrap_err();
        assert_eq!(refused, "row 1 lasts 3660 days; it is at most 3660 days");
        let refused = check(&mut sums, [1.0, 1.0], [1, 2 * LENGTH_MAX]).unwrap_err();
        assert_eq!(refused, "row 1 lasts 7320 days; it is at most 3660 days");
        let refused = check(&mut sums, [1.0, 1.0], [1, 0]).unwrap_err();
        let text =
            "row 1 ends at 1970-01-01 00:00:00 UTC, not after its start at 1970-01-01 00:00:00 UTC";
        assert_eq!(refused, text);
        assert_eq!(sums.rows(), 0);
        check(&mut sums, [1.0, f64::NAN], [1, 1]).unwrap();
        assert_eq!(sums.finish().len(), 1);
    }

    #[test]
    fn a_bad_row_inside_a_span_is_named() {
        let start: Vec<i64> = (0..400_000).map(|row| row * 60_000_000).collect();
        let refused = |power: &[f64], price: &[f64]| {
            let samples = Samples {
                group: None,
                start: &start,
                lengths: Lengths::Even(60_000_000),
                flows: Flows::PowerKw(power),
                price_per_kwh: Some(price),
                non_smart: None,
            };
            let buckets = Buckets::new(Resolution::Month, UtcOffset::default());
            let mut sums = Aggregator::new(buckets, Range::all());
            sums.add(&samples, 1).map_err(|error| error.to_string()).unwrap_err()
        };
        let even = vec![1.0; start.len()];
        for row in [1, 77, 5000, 399_999] {
            let mut odd = even.clone();
            odd[row] = f64::NEG_INFINITY;
            odd[399_999] = f64::INFINITY; // The first one is named.
            let sign = if row == 399_999 { "" } else { "-" };
            let text = |column, unit| {
                format!("{column} of row {row}: {sign}inf {unit} is not a finite number")
            };
            assert_eq!(refused(&odd, &even), text("power_kw", "kW"));
            assert_eq!(refused(&even, &odd), text("price_per_kwh", "per kWh"));
            odd[row] = 1.1e12;
            let text = refused(&even, &odd);
            assert_eq!(text, format!("price_per_kwh of row {row}: 1.1e12 per kWh is beyond 1e12"));
        }
    }
}

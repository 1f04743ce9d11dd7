//! Energy and money by bucket.
use std::ops::Range as Rows;

use chrono::{DateTime, Utc};

use crate::statistics::fixed::Amount;
use crate::statistics::range::Range;
use crate::statistics::resolution::Buckets;
use crate::statistics::sample::{Row, Sample, SampleError, check};
use crate::statistics::tally::Tally;
use crate::statistics::totals::Totals;
use crate::time::instant::{instant_at, micros_of};

/// Total savings of some buckets; `None` if smart charging had no part in any of them.
#[must_use]
pub fn savings_of(items: &[Item]) -> Option<Amount> {
    let saved = items.iter().filter_map(|item| item.totals.non_smart);
    saved.map(|instead| instead.savings).reduce(|sum, savings| sum + savings)
}

/// One bucket of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Item {
    /// Start of the bucket, as [`Buckets`] label it.
    pub label: DateTime<Utc>,
    /// Sums of the bucket.
    pub totals: Totals,
}

/// Sums up samples by bucket, in time order.
///
/// A sample that crosses an edge is split in proportion to time. Only the part
/// inside `range` counts. A bucket without a sample is left out: nothing is
/// made up for it. A bucket in which only the course without smart charging
/// would have drawn energy is there with zero energy, because savings would
/// otherwise not add up.
///
/// Samples may be in any order; production is summed up the same way, its
/// cost being what it earns.
///
/// # Errors
/// A sample has no length.
///
/// # Example: one hour in two days
///
/// 8 kW from 23:30 to 00:30 at 0.25 per kWh is 4 kWh for 1.00 on either day.
///
/// ```
/// use slackwater_engine::statistics::charging::series;
/// use slackwater_engine::statistics::range::Range;
/// use slackwater_engine::statistics::resolution::{Buckets, Resolution, UtcOffset};
/// use slackwater_engine::statistics::sample::Sample;
/// use slackwater_engine::units::{kw, per_kwh};
/// let night = Sample {
///     start: "2024-01-01T23:30:00Z".parse().unwrap(),
///     end: "2024-01-02T00:30:00Z".parse().unwrap(),
///     power: Some(kw(8.0)),
///     price: Some(per_kwh(0.25)),
///     non_smart: None,
/// };
/// let days = Buckets::new(Resolution::Day, UtcOffset::default());
/// let items = series(&[night], days, Range::all())?;
/// assert_eq!(items.len(), 2);
/// assert_eq!(items[1].label.to_rfc3339(), "2024-01-02T00:00:00+00:00");
/// assert_eq!(items[1].totals.cost.to_string(), "1.000000000000");
/// # Ok::<(), slackwater_engine::statistics::sample::SampleError>(())
/// ```
pub fn series(
    samples: &[Sample],
    buckets: Buckets,
    range: Range,
) -> Result<Vec<Item>, SampleError> {
    check(samples)?;
    let mut tallies = Tallies::new(buckets, range);
    for sample in samples {
        tallies.add(&Row::from(sample));
    }
    Ok(tallies.items())
}

/// Sums up all samples inside a range, regardless of their bucket.
///
/// # Errors
/// A sample has no length.
pub fn total(samples: &[Sample], range: Range) -> Result<Totals, SampleError> {
    check(samples)?;
    let (from, to) = (micros_of(range.start), micros_of(range.end));
    let mut tally = Tally::EMPTY;
    for row in samples.iter().map(Row::from) {
        let (start, end) = (row.start.max(from), row.end.min(to));
        if start < end {
            tally.add(&row, start, end);
        }
    }
    Ok(tally.totals())
}

/// The buckets of one series while samples come in, in any order.
#[derive(Debug, Clone)]
pub(crate) struct Tallies {
    buckets: Buckets,
    from: i64,
    to: i64,
    /// The first `sorted` are in time order, each bucket once. Those behind
    /// came out of order and may repeat a bucket, until they are sorted in.
    open: Vec<Open>,
    sorted: usize,
    /// Bucket that was added to last: the next sample is most often in it.
    last: usize,
}

#[derive(Debug, Clone)]
struct Open {
    start: i64,
    end: i64,
    tally: Tally,
}

impl Open {
    #[inline(always)]
    fn holds(&self, at: i64) -> bool {
        self.start <= at && at < self.end
    }
}

/// Buckets that may wait to be sorted in, however few there are in order.
const WAITING_MIN: usize = 1024;

impl Tallies {
    pub(crate) fn new(buckets: Buckets, range: Range) -> Self {
        let (from, to) = (micros_of(range.start), micros_of(range.end));
        Self { buckets, from, to, open: Vec::new(), sorted: 0, last: 0 }
    }

    /// Makes room for so many buckets, those that are there included.
    pub(crate) fn reserve(&mut self, buckets: usize) {
        self.open.reserve_exact(buckets.saturating_sub(self.open.len()));
    }

    /// Adds a sample, split at the edges of buckets and cut at those of the range.
    #[inline(always)]
    pub(crate) fn add(&mut self, row: &Row) {
        let (mut start, end) = (row.start.max(self.from), row.end.min(self.to));
        // Each turn fills the sample up to the end of one bucket, so the next turn begins in the
        // next one.
        while start < end {
            let index = self.find(start);
            let open = &mut self.open[index];
            let until = open.end.min(end);
            open.tally.add(row, start, until);
            start = until;
        }
    }

    /// The bucket that holds an instant inside the range: its position, and
    /// its edges inside the range.
    #[inline(always)]
    pub(crate) fn open_at(&mut self, at: i64) -> Option<(usize, Rows<i64>)> {
        if at < self.from || at >= self.to {
            return None;
        }
        let index = self.find(at);
        let open = &self.open[index];
        Some((index, open.start.max(self.from)..open.end.min(self.to)))
    }

    /// Adds sums to the bucket that [`Self::open_at`] has just found.
    #[inline(always)]
    pub(crate) fn add_at(&mut self, index: usize, sums: &Tally) {
        self.open[index].tally.merge(sums);
    }

    /// Position of the bucket that holds an instant.
    #[inline(always)]
    fn find(&mut self, at: i64) -> usize {
        match self.open.get(self.last) {
            Some(open) if open.holds(at) => self.last,
            _ => self.search(at),
        }
    }

    fn search(&mut self, at: i64) -> usize {
        // The next bucket in time is the most frequent case and needs no search.
        if self.is_after_all(at) {
            self.last = self.open_bucket(at);
            return self.last;
        }
        // Only the first buckets are sorted. A bucket that waits is opened again and merged later.
        let index = self.open[..self.sorted].partition_point(|open| open.end <= at);
        self.last = match self.open[..self.sorted].get(index) {
            Some(open) if open.holds(at) => index,
            _ => self.open_bucket(at),
        };
        self.last
    }

    /// A new bucket: in order if it is later than all others, else to be
    /// sorted in. Each waits once per doubling, so any order costs n·log n.
    fn open_bucket(&mut self, at: i64) -> usize {
        // The number that may wait grows with the number that is sorted, hence once per doubling.
        if self.open.len() - self.sorted >= self.sorted.max(WAITING_MIN) {
            self.sort();
        }
        let is_in_order = self.is_after_all(at);
        let bucket = self.buckets.bucket(at);
        let (start, end) = (bucket.start, bucket.end);
        self.open.push(Open { start, end, tally: Tally::EMPTY });
        self.sorted += usize::from(is_in_order);
        self.open.len() - 1
    }

    /// Returns true if an instant is later than all buckets, and they are in order.
    fn is_after_all(&self, at: i64) -> bool {
        self.sorted == self.open.len() && self.open.last().is_none_or(|last| last.end <= at)
    }

    /// Puts the buckets in time order, each once.
    pub(crate) fn sort(&mut self) {
        if self.sorted == self.open.len() {
            return;
        }
        // Stable: equal buckets are summed in the order in which they came.
        self.open.sort_by_key(|open| open.start);
        self.open.dedup_by(|next, kept| {
            let is_same = next.start == kept.start;
            if is_same {
                kept.tally.merge(&next.tally);
            }
            is_same
        });
        self.sorted = self.open.len();
        self.last = 0;
    }

    /// Adds the sums of another part of the same series.
    pub(crate) fn merge(&mut self, other: Self) {
        let Some(first) = other.open.first() else { return };
        // A part that is later as a whole is appended. Parts of rows in time order always are.
        if other.sorted == other.open.len() && self.is_after_all(first.start) {
            self.open.extend(other.open);
            self.sorted = self.open.len();
            return;
        }
        for open in &other.open {
            let index = self.find(open.start);
            self.open[index].tally.merge(&open.tally);
        }
    }

    /// Number of buckets, those without a sample included.
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// Sums of one bucket; `None` if it has no sample.
    pub(crate) fn item(&self, index: usize) -> Option<Item> {
        let open = &self.open[index];
        let label = instant_at(self.buckets.label_of(open.start));
        (!open.tally.is_empty()).then(|| Item { label, totals: open.tally.totals() })
    }

    /// The buckets in time order, those without a sample left out.
    pub(crate) fn items(&mut self) -> Vec<Item> {
        self.sort();
        (0..self.len()).filter_map(|index| self.item(index)).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statistics::resolution::{Resolution, UtcOffset};
    use crate::units::{Price, kw, per_kwh};
    use chrono::TimeDelta;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;
    use std::fmt::Write as _;

    /// A sample of so many minutes from a minute of 1 January 2024 on.
    pub(crate) fn sample(minute: i64, minutes: i64, power: f64, cents: f64) -> Sample {
        let midnight: DateTime<Utc> = "2024-01-01T00:00:00Z".parse().unwrap();
        Sample {
            start: midnight + TimeDelta::minutes(minute),
            end: midnight + TimeDelta::minutes(minute + minutes),
            power: Some(kw(power)),
            price: (!cents.is_nan()).then(|| per_kwh(cents / 100.0)),
            non_smart: None,
        }
    }

    pub(crate) fn draw(items: &[Item]) -> String {
        let mut text = String::new();
        for Item { label, totals } in items {
            let Totals { power, energy, price, cost, non_smart, .. } = totals;
            let price = price.map_or("no price".to_owned(), |price| {
                let per = |value: Price| format!("{:.4}", value.as_per_kwh());
                format!("{}<{}<{}", per(price.min), per(price.mean), per(price.max))
            });
            let _ = write!(
                text,
                "{} {}<{}<{} kW {} kWh {price} cost {:.4}",
                label.format("%d %H:%M"),
                power.min.as_kw(),
                power.mean.as_kw(),
                power.max.as_kw(),
                energy.as_kwh(),
                cost.as_units(),
            );
            if let Some(instead) = non_smart {
                let (cost, saved) = (instead.cost.as_units(), instead.savings.as_units());
                let _ = write!(text, " instead {cost:.4} saves {saved:.4}");
            }
            text += "\n";
        }
        text
    }

    #[track_caller]
    fn check_series(resolution: Resolution, samples: &[Sample], expected: &Expect) {
        let buckets = Buckets::new(resolution, UtcOffset::default());
        expected.assert_eq(&draw(&series(samples, buckets, Range::all()).unwrap()));
    }

    #[test]
    fn means_are_weighted_by_time_and_by_energy() {
        check_series(
            Resolution::Hour,
            &[sample(0, 45, 4.0, 10.0), sample(45, 15, 8.0, 30.0)],
            &expect![[r#"
                01 00:00 4<5<8 kW 5 kWh 0.1000<0.1800<0.3000 cost 0.9000
            "#]],
        );
    }

    #[test]
    fn without_energy_the_mean_price_is_weighted_by_nothing() {
        check_series(
            Resolution::Hour,
            &[sample(0, 15, 0.0, 10.0), sample(15, 30, 0.0, 30.0)],
            &expect![[r#"
                01 00:00 0<0<0 kW 0 kWh 0.1000<0.2000<0.3000 cost 0.0000
            "#]],
        );
    }

    #[test]
    fn energy_without_a_price_counts_in_energy_only() {
        check_series(
            Resolution::Hour,
            &[
                sample(0, 30, 4.0, f64::NAN),
                sample(30, 30, 4.0, 20.0),
                sample(60, 60, 1.0, f64::NAN),
            ],
            &expect![[r#"
                01 00:00 4<4<4 kW 4 kWh 0.2000<0.2000<0.2000 cost 0.4000
                01 01:00 1<1<1 kW 1 kWh no price cost 0.0000
            "#]],
        );
    }

    #[test]
    fn savings_fall_where_energy_was_and_would_have_been() {
        let mut evening = sample(18 * 60, 60, 0.0, 35.0);
        (evening.power, evening.non_smart) = (None, Some(kw(8.0)));
        let mut night = sample(23 * 60, 120, 4.0, 10.0);
        night.non_smart = Some(kw(0.0));
        check_series(
            Resolution::Day,
            &[night, evening],
            &expect![[r#"
                01 00:00 4<4<4 kW 4 kWh 0.1000<0.1000<0.1000 cost 0.4000 instead 2.8000 saves 2.4000
                02 00:00 4<4<4 kW 4 kWh 0.1000<0.1000<0.1000 cost 0.4000 instead 0.0000 saves -0.4000
            "#]],
        );
    }

    #[test]
    fn without_smart_charging_all_energy_would_have_cost_its_own() {
        let mut smart = sample(0, 60, 10.0, 10.0);
        smart.non_smart = Some(kw(0.0));
        let mut instead = sample(18 * 60, 60, 0.0, 30.0);
        (instead.power, instead.non_smart) = (None, Some(kw(10.0)));
        let other = sample(60, 60, 5.0, 20.0);
        let whole = total(&[smart, instead, other], Range::all()).unwrap();
        // 10 kWh at 0.30 instead of at 0.10, and 5 kWh at 0.20 as they were.
        assert_eq!(whole.baseline_cost().unwrap().to_string(), "4.000000000000");
        // The price is of the same energy as the cost.
        let price = whole.baseline_price().unwrap();
        assert!((price.mean.as_per_kwh() * whole.energy.as_kwh() - 4.0).abs() < 1e-12);
        assert_eq!(total(&[other], Range::all()).unwrap().baseline_cost(), None);
        assert_eq!(savings_of(&[]), None);
    }

    #[test]
    fn a_bucket_of_savings_alone_is_kept() {
        let mut evening = sample(18 * 60, 60, 0.0, 35.0);
        (evening.power, evening.non_smart) = (None, Some(kw(8.0)));
        check_series(
            Resolution::Hour,
            &[evening],
            &expect![[r#"
                01 18:00 0<0<0 kW 0 kWh no price cost 0.0000 instead 2.8000 saves 2.8000
            "#]],
        );
    }

    #[test]
    fn a_sample_without_length_is_refused() {
        let error = series(
            &[sample(0, 15, 1.0, 1.0), sample(30, 0, 1.0, 1.0)],
            Buckets::new(Resolution::Day, UtcOffset::default()),
            Range::all(),
        );
        let text = "sample 1 ends at 2024-01-01 00:30:00 UTC, not after its start at 2024-01-01 00:30:00 UTC";
        assert_eq!(error.unwrap_err().to_string(), text);
        let decades = sample(0, 20 * 365 * 24 * 60, 1.0, 1.0);
        let text = total(&[decades], Range::all()).unwrap_err().to_string();
        assert_eq!(text, "sample 0 lasts 7300 days; it is at most 3660 days");
    }

    #[test]
    fn samples_from_the_last_to_the_first_are_no_slower() {
        let quarters = 40_000;
        let mut samples: Vec<Sample> =
            (0..quarters).map(|index| sample(15 * index, 15, 4.0, 10.0)).collect();
        let buckets = Buckets::new(Resolution::QuarterHour, UtcOffset::default());
        let forwards = series(&samples, buckets, Range::all()).unwrap();
        samples.reverse();
        assert_eq!(series(&samples, buckets, Range::all()).unwrap(), forwards);
    }

    /// Whole watts, cents and minutes over some days, in any order.
    pub(crate) fn random_samples() -> impl Strategy<Value = Vec<Sample>> {
        let row = (0..6000_i64, 1..400_i64, 0..22_000_i32, -30..90_i32, 0..4_i32);
        prop::collection::vec(row, 1..60).prop_map(|rows| {
            let build = |(minute, minutes, watts, cents, kind): (i64, i64, i32, i32, i32)| {
                let cents = if kind == 3 { f64::NAN } else { f64::from(cents) };
                let mut built = sample(minute, minutes, f64::from(watts) / 1000.0, cents);
                built.non_smart = (kind == 1).then(|| kw(f64::from(watts % 7)));
                built
            };
            rows.into_iter().map(build).collect()
        })
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
    }

    #[test]
    fn sums_are_the_same_at_every_minute_of_offset() {
        let samples: Vec<Sample> = (0..40)
            .map(|n| Sample {
                non_smart: (n % 3 == 0).then(|| kw(n as f64 / 3.0)),
                ..sample(n * 977, 333, 1.0 + n as f64 / 7.0, (n * 13 % 40) as f64)
            })
            .collect();
        let whole = total(&samples, Range::all()).unwrap();
        let at_once = [Item { label: DateTime::UNIX_EPOCH, totals: whole }];
        assert_ne!(savings_of(&at_once), None);
        for minutes in -840..=840 {
            let offset = UtcOffset::from_hours(f64::from(minutes) / 60.0).unwrap();
            assert_eq!(offset.as_minutes(), i64::from(minutes));
            for resolution in Resolution::ALL {
                let items =
                    series(&samples, Buckets::new(resolution, offset), Range::all()).unwrap();
                assert_eq!(items.iter().map(|item| item.totals.cost).sum::<Amount>(), whole.cost);
                assert_eq!(savings_of(&items), savings_of(&at_once));
                let energy: f64 = items.iter().map(|item| item.totals.energy.as_kwh()).sum();
                assert!(near(energy, whole.energy.as_kwh()), "{minutes} min");
            }
        }
    }

    proptest! {
        /// Buckets of buckets are the larger buckets, but for weeks in months.
        #[test]
        fn buckets_of_buckets_are_larger_buckets(
            samples in random_samples(),
            minutes in -840..=840_i32,
            fine in 0..4_usize,
            coarse in prop::sample::select(vec![
                Resolution::Day, Resolution::Week, Resolution::Month, Resolution::Year,
            ]),
        ) {
            let offset = UtcOffset::from_hours(f64::from(minutes) / 60.0).unwrap();
            let fine = Buckets::new(Resolution::ALL[fine], offset);
            let coarse = Buckets::new(coarse, offset);
            let parts = series(&samples, fine, Range::all()).unwrap();
            // Labels are on the shifted clock already.
            let of_label = Buckets::new(coarse.resolution(), UtcOffset::default());
            for Item { label, totals } in series(&samples, coarse, Range::all()).unwrap() {
                let own: Vec<&Totals> = parts
                    .iter()
                    .filter(|part| of_label.label(part.label) == label)
                    .map(|part| &part.totals)
                    .collect();
                prop_assert_eq!(own.iter().map(|part| part.cost).sum::<Amount>(), totals.cost);
                let hours: f64 = own.iter().map(|part| part.hours).sum();
                prop_assert!(near(hours, totals.hours));
                let energy: f64 = own.iter().map(|part| part.energy.as_kwh()).sum();
                prop_assert!(near(energy, totals.energy.as_kwh()));
                let measured = || own.iter().filter(|part| part.hours > 0.0).map(|part| part.power);
                let most = measured().map(|power| power.max.as_kw()).fold(f64::NEG_INFINITY, f64::max);
                let least = measured().map(|power| power.min.as_kw()).fold(f64::INFINITY, f64::min);
                if totals.hours > 0.0 {
                    prop_assert_eq!((least, most), (totals.power.min.as_kw(), totals.power.max.as_kw()));
                }
            }
        }

        /// STA-39, EP-20: whatever the resolution and the offset, energy is
        /// conserved, and money to the last digit.
        #[test]
        fn sums_do_not_depend_on_the_buckets(
            samples in random_samples(),
            resolution in prop::sample::select(Resolution::ALL.to_vec()),
            minutes in -840..=840_i32,
        ) {
            let offset = UtcOffset::from_hours(f64::from(minutes) / 60.0).unwrap();
            let items = series(&samples, Buckets::new(resolution, offset), Range::all()).unwrap();
            let whole = total(&samples, Range::all()).unwrap();
            let cost: Amount = items.iter().map(|item| item.totals.cost).sum();
            prop_assert_eq!(cost, whole.cost);
            let saved = |totals: &Totals| totals.non_smart.map_or(Amount::ZERO, |n| n.savings);
            prop_assert_eq!(items.iter().map(|i| saved(&i.totals)).sum::<Amount>(), saved(&whole));
            let energy: f64 = items.iter().map(|item| item.totals.energy.as_kwh()).sum();
            prop_assert!(near(energy, whole.energy.as_kwh()));
            prop_assert!(items.windows(2).all(|pair| pair[0].label < pair[1].label));
        }

        /// EP-21, EP-22: means lie in their range and give the sums back.
        #[test]
        fn means_give_the_sums_back(
            samples in random_samples(),
            resolution in prop::sample::select(Resolution::ALL.to_vec()),
        ) {
            let buckets = Buckets::new(resolution, UtcOffset::default());
            for Item { totals, .. } in series(&samples, buckets, Range::all()).unwrap() {
                prop_assert!(totals.power.min <= totals.power.mean);
                prop_assert!(totals.power.mean <= totals.power.max);
                prop_assert!(near(totals.power.mean.as_kw() * totals.hours, totals.energy.as_kwh()));
                if let Some(price) = totals.price {
                    prop_assert!(price.min <= price.mean && price.mean <= price.max);
                    let cost = price.mean.as_per_kwh() * totals.priced_energy.as_kwh();
                    prop_assert!(near(cost, totals.cost.as_units()));
                }
            }
        }

        /// EP-24: the order of samples does not matter, nor do the sums
        /// change when two halves are summed up apart.
        #[test]
        fn the_order_of_samples_does_not_matter(
            samples in random_samples(),
            resolution in prop::sample::select(Resolution::ALL.to_vec()),
            cut in 0..60_usize,
        ) {
            let buckets = Buckets::new(resolution, UtcOffset::default());
            let at_once = series(&samples, buckets, Range::all()).unwrap();
            let mut reversed = samples.clone();
            reversed.reverse();
            let reversed = series(&reversed, buckets, Range::all()).unwrap();
            let (first, second) = samples.split_at(cut.min(samples.len()));
            let mut halves = Tallies::new(buckets, Range::all());
            let mut later = Tallies::new(buckets, Range::all());
            for (half, tallies) in [(first, &mut halves), (second, &mut later)] {
                for sample in half {
                    tallies.add(&Row::from(sample));
                }
            }
            halves.merge(later);
            for other in [reversed, halves.items()] {
                prop_assert_eq!(other.len(), at_once.len());
                for (one, two) in at_once.iter().zip(&other) {
                    prop_assert_eq!(one.label, two.label);
                    prop_assert_eq!(one.totals.cost, two.totals.cost);
                    prop_assert!(near(one.totals.energy.as_kwh(), two.totals.energy.as_kwh()));
                }
            }
        }
    }
}

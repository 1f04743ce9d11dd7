//! Prices to buy and to sell on common slots.
use crate::prices::curve::PriceCurve;

/// Two price curves cut to common slots.
///
/// Each period with a price to buy has a slot. Time without one is not used, even if there is a
/// price to sell. In a slot without a price to sell nothing is sold.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PriceSlots {
    /// Starts of the slots, in microseconds.
    pub(crate) starts: Vec<i64>,
    /// Ends of the slots, in microseconds.
    pub(crate) ends: Vec<i64>,
    /// Prices to buy, per kWh.
    pub(crate) import: Vec<f64>,
    /// Prices to sell, per kWh; NaN where there is none.
    pub(crate) export: Vec<f64>,
    /// True if prices to sell were given.
    pub(crate) may_sell: bool,
}

impl PriceSlots {
    /// Cuts both curves to common slots. Without `export` nothing is sold.
    #[must_use]
    pub fn new(import: &PriceCurve, export: Option<&PriceCurve>) -> Self {
        let horizon = import.horizon();
        let (starts, ends) = (horizon.starts(), horizon.ends());
        // Curves that share their slots need no cuts.
        let same = |export: &&PriceCurve| export.horizon() == horizon;
        match export {
            Some(export) if !same(&export) => Self::cut(import, export),
            _ => Self {
                starts: starts.to_vec(),
                ends: ends.to_vec(),
                import: import.prices().to_vec(),
                export: export.map_or_else(
                    || vec![f64::NAN; starts.len()],
                    |export| export.prices().to_vec(),
                ),
                may_sell: export.is_some(),
            },
        }
    }

    /// Cuts the slots of `import` at those of `export`.
    fn cut(import: &PriceCurve, export: &PriceCurve) -> Self {
        let mut grid = Self { may_sell: true, ..Self::default() };
        let (theirs, selling) = (export.horizon(), export.prices());
        for (slot, (&first, &last)) in
            import.horizon().starts().iter().zip(import.horizon().ends()).enumerate()
        {
            let mut start = first;
            // Time before, between and after their slots has no price to sell.
            for other in theirs.overlapping(first, last) {
                let from = theirs.starts()[other].max(first);
                let to = theirs.ends()[other].min(last);
                grid.push((start, from), import.prices()[slot], f64::NAN);
                grid.push((from, to), import.prices()[slot], selling[other]);
                start = to;
            }
            grid.push((start, last), import.prices()[slot], f64::NAN);
        }
        grid
    }

    /// Adds a slot, unless it is empty.
    fn push(&mut self, (start, end): (i64, i64), import: f64, export: f64) {
        if start < end {
            self.starts.push(start);
            self.ends.push(end);
            self.import.push(import);
            self.export.push(export);
        }
    }

    /// Number of slots.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns true if there is no slot.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};

    use super::*;
    use crate::prices::curve::tests::curve_of;

    #[test]
    fn slots_are_cut_where_either_price_changes() {
        let six: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().unwrap();
        let minutes = |m: i64| six + TimeDelta::minutes(m);
        let import = curve_of(60, &[10, 20, 30]);
        let export = curve_of(60, &[1, 2, 3]).between(minutes(30), minutes(90));
        let grid = PriceSlots::new(&import, Some(&export));
        let origin = six.timestamp_micros();
        let start: Vec<i64> = grid.starts.iter().map(|at| (at - origin) / 60_000_000).collect();
        assert_eq!(start, [0, 30, 60, 90, 120]);
        assert_eq!(grid.import, [0.1, 0.1, 0.2, 0.2, 0.3]);
        let sold: Vec<Option<f64>> =
            grid.export.iter().map(|&price| (!price.is_nan()).then_some(price)).collect();
        assert_eq!(sold, [None, Some(0.01), Some(0.02), None, None]);
        assert!(PriceSlots::new(&import, None).export.iter().all(|price| price.is_nan()));
        assert_eq!(PriceSlots::new(&import, Some(&import)).export, import.prices());
        assert_eq!((grid.len(), PriceSlots::default().is_empty()), (5, true));
    }
}

//! Many price curves over one horizon, a row each.
use crate::prices::curve::PriceCurve;
use crate::time::horizon::Horizon;
use crate::units::Price;

/// Price curves that share their slots, stored row after row.
///
/// A row may leave slots without a price: these are gaps of that row alone.
#[derive(Debug, Clone)]
pub struct PriceTable {
    horizon: Horizon,
    /// Row-major; NaN where a row has no price.
    prices: Vec<f64>,
}

impl PriceTable {
    /// Table from a horizon and rows of prices; a NaN or infinite price is a gap of its row.
    ///
    /// # Panics
    /// The number of prices is no multiple of the number of slots.
    #[must_use]
    pub fn new(horizon: Horizon, mut prices: Vec<f64>) -> Self {
        assert_eq!(prices.len() % horizon.len().max(1), 0, "whole rows of prices");
        for price in &mut prices {
            *price = Price::from_per_kwh(*price).map_or(f64::NAN, Price::as_per_kwh);
        }
        Self { horizon, prices }
    }

    /// A table from curves with slots of their own: one row per curve, over
    /// the slots that all boundaries together cut.
    #[must_use]
    pub fn from_curves(curves: &[PriceCurve]) -> Self {
        // Curves that share their slots need no cuts.
        if let [first, rest @ ..] = curves
            && rest.iter().all(|curve| curve.horizon() == first.horizon())
        {
            let prices = curves.iter().flat_map(PriceCurve::prices).copied().collect();
            return Self { horizon: first.horizon().clone(), prices };
        }
        let horizon = common_horizon(curves);
        let prices = curves.iter().flat_map(|curve| row_of(curve, &horizon)).collect();
        Self { horizon, prices }
    }

    /// Table of the values that `curve` has at the start of each slot, with the gaps of this one.
    #[must_use]
    pub fn with_values_of(&self, curve: &PriceCurve) -> Self {
        let values: Vec<f64> = row_of(curve, &self.horizon).collect();
        let replaced = self.prices.iter().zip(values.iter().cycle());
        let prices = replaced.map(|(price, value)| if price.is_nan() { f64::NAN } else { *value });
        Self { horizon: self.horizon.clone(), prices: prices.collect() }
    }

    /// The slots of all rows.
    #[must_use]
    pub fn horizon(&self) -> &Horizon {
        &self.horizon
    }

    /// Number of curves.
    #[must_use]
    pub fn len(&self) -> usize {
        self.prices.len().checked_div(self.horizon.len()).unwrap_or(0)
    }

    /// Returns true if the table has no curve.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All prices, row after row.
    pub(crate) fn prices(&self) -> &[f64] {
        &self.prices
    }

    /// The prices of one curve, NaN where it has none.
    pub(crate) fn row(&self, row: usize) -> &[f64] {
        let slots = self.horizon.len();
        &self.prices[row * slots..][..slots]
    }
}

/// The periods between all boundaries, where at least one curve has a price.
fn common_horizon(curves: &[PriceCurve]) -> Horizon {
    let mut boundaries: Vec<i64> = curves
        .iter()
        .flat_map(|curve| curve.horizon().starts().iter().chain(curve.horizon().ends()))
        .copied()
        .collect();
    boundaries.sort_unstable();
    boundaries.dedup();
    let priced =
        |from, to| curves.iter().any(|curve| !curve.horizon().overlapping(from, to).is_empty());
    let periods = boundaries.windows(2).map(|pair| (pair[0], pair[1]));
    Horizon::from_micros(periods.filter(|&(from, to)| priced(from, to)))
        .expect("sorted boundaries make a horizon")
}

fn row_of<'a>(curve: &'a PriceCurve, horizon: &'a Horizon) -> impl Iterator<Item = f64> + 'a {
    horizon.starts().iter().zip(horizon.ends()).map(|(&from, &to)| {
        curve.horizon().overlapping(from, to).next().map_or(f64::NAN, |index| curve.prices()[index])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::curve::tests::curve_of;

    #[test]
    fn curves_with_slots_of_their_own_meet_at_all_boundaries() {
        let hourly = curve_of(60, &[10, 20]);
        let halves = curve_of(30, &[1, 2, 3]);
        let table = PriceTable::from_curves(&[hourly.clone(), halves]);
        assert_eq!((table.len(), table.horizon().len()), (2, 4));
        assert_eq!(table.row(0), [0.1, 0.1, 0.2, 0.2]);
        assert_eq!(table.row(1)[..3], [0.01, 0.02, 0.03]);
        assert!(table.row(1)[3].is_nan());
        let values = table.with_values_of(&curve_of(120, &[70, 80]));
        assert_eq!(values.row(0), [0.7; 4]);
        assert_eq!(values.row(1)[..3], [0.7; 3]);
        assert!(values.row(1)[3].is_nan());
        assert_eq!(PriceTable::from_curves(&[hourly.clone(), hourly]).horizon().len(), 2);
    }

    #[test]
    fn what_is_no_price_is_a_gap_of_its_row() {
        let horizon = curve_of(60, &[1, 1]).horizon().clone();
        let table = PriceTable::new(horizon.clone(), vec![0.1, f64::INFINITY, 0.3, 0.4]);
        assert_eq!((table.len(), table.is_empty()), (2, false));
        assert_eq!(table.row(0)[..1], [0.1]);
        assert!(table.row(0)[1].is_nan());
        assert_eq!(table.row(1), [0.3, 0.4]);
        #[cfg(feature = "lp")]
        assert_eq!((table.prices().len(), &table.prices()[2..]), (4, table.row(1)));
        let none = [PriceTable::new(horizon, Vec::new()), PriceTable::from_curves(&[])];
        assert!(none.iter().all(PriceTable::is_empty));
    }
}

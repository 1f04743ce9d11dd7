//! Price curves on top of each other: the topmost with a price counts.
use crate::prices::curve::PriceCurve;

/// A period in which one slot of one layer is the topmost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shown {
    /// First microsecond since 1970.
    pub(crate) start: i64,
    /// First microsecond after it.
    pub(crate) end: i64,
    /// Position of the layer.
    pub(crate) layer: usize,
    /// Price per kWh.
    pub(crate) price: f64,
    slot: usize,
}

/// Visible slots of `layers` in `[from, to)`, in time order. The first layer is the topmost. Time
/// without a price in any layer is a gap.
pub(crate) fn seen(layers: &[&PriceCurve], from: i64, to: i64) -> Vec<Shown> {
    let mut cuts: Vec<i64> = Vec::new();
    for curve in layers {
        let range = curve.horizon().overlapping(from, to);
        cuts.extend(curve.horizon().starts()[range.clone()].iter().map(|&start| start.max(from)));
        cuts.extend(curve.horizon().ends()[range].iter().map(|&end| end.min(to)));
    }
    cuts.sort_unstable();
    cuts.dedup();
    let mut shown: Vec<Shown> = Vec::with_capacity(cuts.len());
    // Between two neighbouring cuts, each layer has one slot or none.
    for pair in cuts.windows(2) {
        let (start, end) = (pair[0], pair[1]);
        let found = layers.iter().enumerate().find_map(|(layer, curve)| {
            let slot = curve.horizon().overlapping(start, end).next()?;
            Some((layer, slot, curve.prices()[slot]))
        });
        let Some((layer, slot, price)) = found else { continue };
        match shown.last_mut() {
            // A slot of the upper layer is not split at the edges of slots below it.
            Some(last) if (last.layer, last.slot, last.end) == (layer, slot, start) => {
                last.end = end;
            }
            _ => shown.push(Shown { start, end, layer, price, slot }),
        }
    }
    shown
}

/// Curve of `top` where it has a price, and of `base` elsewhere. Neighbours of one price are
/// merged, so that equal step functions are equal curves.
///
/// The operation is idempotent and associative.
#[must_use]
pub fn overlaid(base: &PriceCurve, top: &PriceCurve) -> PriceCurve {
    let mut periods: Vec<(i64, i64)> = Vec::new();
    let mut prices: Vec<f64> = Vec::new();
    for Shown { start, end, price, .. } in seen(&[top, base], i64::MIN, i64::MAX) {
        match (periods.last_mut(), prices.last()) {
            (Some(last), Some(&before))
                if last.1 == start && before.to_bits() == price.to_bits() =>
            {
                last.1 = end;
            }
            _ => {
                periods.push((start, end));
                prices.push(price);
            }
        }
    }
    PriceCurve::of_pieces(periods, prices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::horizon::Horizon;
    use proptest::prelude::*;

    /// Periods from bits: one price per microsecond, `None` is a gap.
    fn curve(steps: &[Option<i8>]) -> PriceCurve {
        let priced = || steps.iter().enumerate().filter_map(|(i, p)| p.map(|p| (i as i64, p)));
        let horizon = Horizon::from_micros(priced().map(|(i, _)| (i, i + 1))).unwrap();
        PriceCurve::from_parts(horizon, priced().map(|(_, p)| f64::from(p)).collect()).unwrap()
    }

    fn steps(length: usize) -> impl Strategy<Value = Vec<Option<i8>>> {
        prop::collection::vec(prop::option::of(-2..3i8), length)
    }

    /// Reference implementation: the overlay of `layers`, computed microsecond by microsecond.
    fn by_hand(layers: &[&[Option<i8>]]) -> Vec<Option<i8>> {
        (0..layers[0].len()).map(|i| layers.iter().find_map(|layer| layer[i])).collect()
    }

    fn sampled(curve: &PriceCurve, length: usize) -> Vec<Option<i8>> {
        let slot_at = |i: i64| curve.horizon().overlapping(i, i + 1).next();
        (0..length as i64).map(|i| slot_at(i).map(|slot| curve.prices()[slot] as i8)).collect()
    }

    #[test]
    fn a_cut_below_splits_nothing_above() {
        let wide = PriceCurve::from_parts(Horizon::from_micros([(0, 9)]).unwrap(), vec![1.0]);
        let shown = seen(&[&wide.unwrap(), &curve(&[Some(1); 12])], 2, 11);
        let spans: Vec<(i64, i64, usize)> =
            shown.iter().map(|s| (s.start, s.end, s.layer)).collect();
        assert_eq!(spans, [(2, 9, 0), (9, 10, 1), (10, 11, 1)]);
    }

    #[test]
    fn nothing_over_nothing_is_nothing() {
        let (none, some) = (curve(&[None]), curve(&[Some(1), Some(1), None, Some(1)]));
        assert!(overlaid(&none, &none).is_empty());
        assert_eq!(overlaid(&none, &some), overlaid(&some, &none));
        assert_eq!(overlaid(&none, &some).len(), 2);
    }

    proptest! {
        /// The definition, idempotence and associativity, as equal curves.
        #[test]
        fn the_topmost_price_counts((a, b, c) in (steps(24), steps(24), steps(24))) {
            let (x, y, z) = (curve(&a), curve(&b), curve(&c));
            let all = overlaid(&overlaid(&x, &y), &z);
            prop_assert_eq!(sampled(&all, 24), by_hand(&[&c, &b, &a]));
            prop_assert_eq!(&overlaid(&x, &overlaid(&y, &z)), &all);
            prop_assert_eq!(&overlaid(&all, &z), &all);
            let merged = all.prices().windows(2).zip(all.horizon().starts().iter().skip(1));
            for ((pair, &start), &end) in merged.zip(all.horizon().ends()) {
                prop_assert!(pair[0].to_bits() != pair[1].to_bits() || start > end);
            }
        }
    }
}

//! Known prices as a tree: certain as far as they are published, and after that the quantiles of a
//! forecast as branches.
use std::iter::once;

use chrono::{DateTime, Utc};

use crate::prices::curve::PriceCurve;
use crate::prices::layers::Standing;
use crate::simulate::forecast::Forecast;
use crate::time::instant::micros_of;

/// Forecast with quantiles of its prices.
#[derive(Debug, Clone)]
pub struct QuantileForecast<'a> {
    /// The forecast: its median, its standing, and the instant from which it is known.
    pub forecast: &'a Forecast,
    /// Levels, which lie between 0 and 1 and differ, with their prices, in any order.
    pub quantiles: Vec<(f64, &'a PriceCurve)>,
}

/// Prices that may follow the certain ones.
#[derive(Debug, Clone, PartialEq)]
pub struct ForecastBranch {
    /// Probability of the branch, from 0 to 1.
    pub probability: f64,
    /// Prices of the branch, from the end of the certain ones.
    pub prices: PriceCurve,
}

/// Prices known at an instant, as a tree with at most one fork.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownPriceTree {
    /// Certain prices from that instant on.
    pub certain: PriceCurve,
    /// Branches by rising level; empty if all known prices are certain. Their slots have the same
    /// starts.
    pub branches: Vec<ForecastBranch>,
}

impl KnownPriceTree {
    /// Tree of the prices that are `known` at `now`, until they end or the vehicle departs.
    ///
    /// Prices are certain up to the end of the latest publication, or of the present slot if that
    /// is later. Each quantile of the latest estimate that has quantiles follows with the
    /// probability of the levels that are nearest to its own: 0.3, 0.4 and 0.3 for the levels 0.1,
    /// 0.5 and 0.9, which is Swanson's rule (Hurst, Brown and Swanson, AAPG Bulletin 84, 2000). A
    /// slot that not all quantiles have is left out of all. Forecasts that are not known at `now`
    /// do not count.
    #[must_use]
    pub fn new(
        known: &PriceCurve,
        (now, departure): (DateTime<Utc>, DateTime<Utc>),
        forecasts: &[QuantileForecast<'_>],
    ) -> Self {
        let end = known.horizon().end().map_or(now, |end| end.min(departure));
        let fork = find_certain_end(known, now, forecasts).unwrap_or(end);
        let is_estimate = |each: &&QuantileForecast<'_>| {
            each.forecast.standing() == Standing::Estimate && !each.quantiles.is_empty()
        };
        let branches = match find_latest(forecasts, now, is_estimate) {
            Some(forecast) if fork < end => cut_branches(&forecast.quantiles, fork, end),
            _ => Vec::new(),
        };
        let certain = known.between(now, if branches.is_empty() { end } else { fork });
        Self { certain, branches }
    }
}

/// End of the prices that are certain: of the present slot or of the latest publication.
fn find_certain_end(
    known: &PriceCurve,
    now: DateTime<Utc>,
    forecasts: &[QuantileForecast<'_>],
) -> Option<DateTime<Utc>> {
    let is_published = |each: &&QuantileForecast<'_>| each.forecast.standing() == Standing::Known;
    let publication = find_latest(forecasts, now, is_published);
    let published = publication.and_then(|each| each.forecast.read(now).ok()?.horizon().end());
    let present = known.slots().next().map(|slot| slot.end);
    present.max(published)
}

/// Latest forecast of a kind that is known at an instant; of several with one instant, the last.
fn find_latest<'a, 'b>(
    forecasts: &'b [QuantileForecast<'a>],
    now: DateTime<Utc>,
    is_of_kind: impl Fn(&&'b QuantileForecast<'a>) -> bool,
) -> Option<&'b QuantileForecast<'a>> {
    let known = forecasts.iter().filter(|each| each.forecast.known_at() <= now);
    known.filter(is_of_kind).max_by_key(|each| each.forecast.known_at())
}

/// Quantiles from one instant to another, as branches by rising level. A forecaster that has not
/// seen errors yet may give its median alone, so that quantiles have different slots.
fn cut_branches(
    quantiles: &[(f64, &PriceCurve)],
    from: DateTime<Utc>,
    to: DateTime<Utc>,
) -> Vec<ForecastBranch> {
    let mut quantiles = quantiles.to_vec();
    quantiles.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let levels: Vec<f64> = quantiles.iter().map(|(level, _)| *level).collect();
    let curves: Vec<PriceCurve> =
        quantiles.iter().map(|(_, curve)| curve.between(from, to)).collect();
    let is_shared = |start: DateTime<Utc>| {
        let start = micros_of(start);
        curves.iter().all(|curve| curve.horizon().starts().binary_search(&start).is_ok())
    };
    let branch = |(probability, curve): (f64, &PriceCurve)| {
        let shared = curve.slots().filter(|slot| is_shared(slot.start));
        let (periods, prices) = shared
            .map(|slot| ((micros_of(slot.start), micros_of(slot.end)), slot.price.as_per_kwh()))
            .unzip();
        ForecastBranch { probability, prices: PriceCurve::of_pieces(periods, prices) }
    };
    let branches = weigh_levels(&levels).into_iter().zip(&curves).map(branch);
    branches.filter(|branch| !branch.prices.is_empty()).collect()
}

/// Probabilities of the levels that are nearest to each of these, which rise.
fn weigh_levels(levels: &[f64]) -> Vec<f64> {
    let middles = levels.windows(2).map(|pair| f64::midpoint(pair[0], pair[1]));
    let bounds: Vec<f64> = once(0.0).chain(middles).chain(once(1.0)).collect();
    bounds.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::curve::tests::curve_of;

    /// Instant so many hours after 18:00Z on 5 January 2026, where curves begin.
    fn hour_from_start(hours: i64) -> DateTime<Utc> {
        let start: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().unwrap();
        start + chrono::TimeDelta::hours(hours)
    }

    /// Curve of hours from an hour on, in cents.
    fn curve_of_cents(first: i64, cents: &[i32]) -> PriceCurve {
        let skipped = vec![0; usize::try_from(first).unwrap()];
        let all = curve_of(60, &[&skipped[..], cents].concat());
        all.between(hour_from_start(first), hour_from_start(first + cents.len() as i64))
    }

    fn estimate_known_at(known_at: i64, median: &PriceCurve) -> Forecast {
        Forecast::new(hour_from_start(known_at), Standing::Estimate, median.clone())
    }

    /// Prices in whole cents.
    fn whole_cents(curve: &PriceCurve) -> Vec<i64> {
        curve.prices().iter().map(|price| (price * 100.0).round() as i64).collect()
    }

    /// Branches as their probabilities in percent and prices in cents.
    fn branch_prices(tree: &KnownPriceTree) -> Vec<(i64, Vec<i64>)> {
        let percent = |branch: &ForecastBranch| (branch.probability * 100.0).round() as i64;
        tree.branches.iter().map(|branch| (percent(branch), whole_cents(&branch.prices))).collect()
    }

    #[test]
    fn quantiles_follow_what_is_published_by_the_rule_of_swanson() {
        let known = curve_of_cents(0, &[20, 21, 30, 31]);
        let published =
            Forecast::new(hour_from_start(0), Standing::Known, curve_of_cents(0, &[20, 21]));
        let (low, median, high) = (
            curve_of_cents(2, &[10, 11]),
            curve_of_cents(2, &[30, 31]),
            curve_of_cents(2, &[50, 51]),
        );
        let guess = estimate_known_at(0, &median);
        let forecasts = [
            QuantileForecast { forecast: &published, quantiles: Vec::new() },
            QuantileForecast {
                forecast: &guess,
                quantiles: vec![(0.9, &high), (0.1, &low), (0.5, &median)],
            },
        ];
        let tree =
            KnownPriceTree::new(&known, (hour_from_start(0), hour_from_start(9)), &forecasts);
        assert_eq!(whole_cents(&tree.certain), [20, 21]);
        assert_eq!(
            branch_prices(&tree),
            [(30, vec![10, 11]), (40, vec![30, 31]), (30, vec![50, 51])]
        );
        // The departure ends the tree.
        let tree =
            KnownPriceTree::new(&known, (hour_from_start(0), hour_from_start(3)), &forecasts);
        assert_eq!(branch_prices(&tree), [(30, vec![10]), (40, vec![30]), (30, vec![50])]);
        // Who leaves before the fork has certain prices alone.
        let tree =
            KnownPriceTree::new(&known, (hour_from_start(0), hour_from_start(2)), &forecasts);
        assert_eq!((whole_cents(&tree.certain), branch_prices(&tree)), (vec![20, 21], Vec::new()));
    }

    #[test]
    fn the_latest_forecast_that_is_known_counts() {
        let known = curve_of_cents(0, &[20, 30, 30]);
        let (old, new, later) =
            (curve_of_cents(1, &[1, 1]), curve_of_cents(1, &[2, 2]), curve_of_cents(1, &[3, 3]));
        let (median, bare) =
            (curve_of_cents(1, &[30, 30]), estimate_known_at(0, &curve_of_cents(1, &[9, 9])));
        let guesses = [(0, &old), (0, &new), (5, &later)].map(|(at, low)| {
            let quantiles = vec![(0.25, low), (0.75, &median)];
            (estimate_known_at(at, &median), quantiles)
        });
        let mut forecasts: Vec<_> = guesses
            .iter()
            .map(|(forecast, quantiles)| QuantileForecast {
                forecast,
                quantiles: quantiles.clone(),
            })
            .collect();
        forecasts.push(QuantileForecast { forecast: &bare, quantiles: Vec::new() });
        let tree =
            KnownPriceTree::new(&known, (hour_from_start(0), hour_from_start(3)), &forecasts);
        assert_eq!(whole_cents(&tree.certain), [20]);
        assert_eq!(branch_prices(&tree), [(50, vec![2, 2]), (50, vec![30, 30])]);
        let tree =
            KnownPriceTree::new(&known, (hour_from_start(0), hour_from_start(3)), &forecasts[2..]);
        assert_eq!(
            (whole_cents(&tree.certain), branch_prices(&tree)),
            (vec![20, 30, 30], Vec::new())
        );
    }

    #[test]
    fn a_slot_that_one_quantile_lacks_is_left_out_of_all() {
        let known = curve_of_cents(0, &[20, 30, 30, 30]);
        let (median, high) = (curve_of_cents(1, &[30, 31, 32]), curve_of_cents(2, &[50, 51]));
        let guess = estimate_known_at(0, &median);
        let forecast =
            QuantileForecast { forecast: &guess, quantiles: vec![(0.5, &median), (0.9, &high)] };
        let tree = KnownPriceTree::new(
            &known,
            (hour_from_start(0), hour_from_start(4)),
            std::slice::from_ref(&forecast),
        );
        assert_eq!(branch_prices(&tree), [(70, vec![31, 32]), (30, vec![50, 51])]);
        assert!(
            tree.branches
                .iter()
                .all(|branch| branch.prices.slots().next().unwrap().start == hour_from_start(2))
        );
        // None in common: all that is known is taken as certain.
        let tree =
            KnownPriceTree::new(&known, (hour_from_start(0), hour_from_start(2)), &[forecast]);
        assert_eq!((whole_cents(&tree.certain), branch_prices(&tree)), (vec![20, 30], Vec::new()));
    }

    #[test]
    fn weights_are_the_shares_of_the_nearest_levels() {
        let weights = weigh_levels(&[0.1, 0.5, 0.9]);
        assert!(
            weights.iter().zip([0.3, 0.4, 0.3]).all(|(one, other)| (one - other).abs() < 1e-12)
        );
        assert_eq!(weigh_levels(&[0.7]), [1.0]);
        assert_eq!(weigh_levels(&[0.0, 1.0]), [0.5, 0.5]);
    }

    #[test]
    fn nothing_known_is_no_price() {
        let none = PriceCurve::default();
        let tree = KnownPriceTree::new(&none, (hour_from_start(0), hour_from_start(2)), &[]);
        assert_eq!(tree, KnownPriceTree { certain: none, branches: Vec::new() });
    }
}

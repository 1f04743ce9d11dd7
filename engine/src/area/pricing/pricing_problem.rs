//! Pricing problem of a vehicle that only charges, and of a block of vehicles.
//!
//! ```text
//! minimise   Σ_t (c_t + π_t)·x_t + w(n - Σ_t x_t)      over   0 <= x_t <= C_t,   Σ_t x_t <= n
//! ```
//!
//! `w` is convex, so the optimum is greedy: buy slots from the cheapest on until the need is met or
//! a kWh costs at least the penalty of its shortfall. Of equal prices the earlier slot comes first,
//! and shortfall comes before buying.
//!
//! [`BlockPricing`] solves a block and picks the search for each vehicle; [`solve_pricing`] solves
//! a vehicle without a battery, [`solve_within_capacity`] any vehicle under limited capacity. There
//! are five searches; the first three give the same plan and differ in speed:
//!
//! | Search | Used for | Method |
//! |---|---|---|
//! | `price_by_rank` | blocks with [`PriceRanks`] | binary search on ranks, by counting bits |
//! | `price_by_threshold` | one tier, no ranks | passes over unsorted prices |
//! | `price_by_sort` | several tiers, limited capacity | slots sorted by price |
//! | [`price_by_deadline`] | deadlines before departure | greedy by deadline, then by price |
//! | [`price_by_segments`] | batteries that discharge | dynamic programme on segments |
//!
//! | Symbol | Code |
//! |---|---|
//! | `c_t + π_t` | `EffectivePrices::prices`; `π` is `dual_price` |
//! | `x_t` | the energy passed to `buy`, in µWh |
//! | `C_t` | `Session::cap`, or the capacity in [`FreeCapacity`] if that is less |
//! | `n` | `Session::need` |
//! | `w` | [`ShortfallPenalty`] |
//!
//! The searches return the shortfall in µWh.
use pulp::{Arch, Simd, WithSimd};

use crate::area::model::battery::FreeCapacity;
use crate::area::model::energy_by_slot::{EnergyBySlot, Shortfall, merge_slots};
use crate::area::model::session::{Block, Demand, Session};
use crate::area::pricing::buffers::PricingBuffers;
use crate::area::pricing::by_deadline::price_by_deadline;
use crate::area::pricing::by_segments::price_by_segments;
use crate::area::pricing::context::{BlockResponse, PricingContext};
use crate::area::pricing::effective_prices::{EffectivePrices, PriceRanks, ShortfallPenalty};
use crate::area::problem::micro_wh::as_kwh;
use crate::plan::charge::selection::threshold::threshold;
use crate::prices::ranking::PrefixSets;
use crate::time::horizon::Horizon;

/// Number of `f64` in the widest SIMD vector (512 bits); prices are padded to a multiple of it.
const LANES: usize = 8;

/// Vehicles whose prices are copied together; few enough that the copies stay in the L1 cache.
const FETCHED: usize = 16;

/// Pricing problems of the vehicles of one block, as a type that pulp can dispatch.
pub(crate) struct BlockPricing<'a> {
    pub(crate) context: &'a PricingContext<'a>,
    pub(crate) block: &'a Block,
    pub(crate) dual_price: &'a [f64],
}

impl WithSimd for BlockPricing<'_> {
    type Output = BlockResponse;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> BlockResponse {
        let Self { context, block, dual_price } = self;
        let horizon = context.horizon();
        let mut load = vec![0i64; horizon.len()];
        let mut buffers = PricingBuffers::default();
        let (mut cost, mut shortfall, mut shortfall_penalty, mut slack) = (0.0, 0, 0.0, 0.0);
        // Effective prices, and ranks, once for a block that shares a curve.
        let shared = block.curve.map(|_| context.prices_of_block(block, dual_price));
        let mut fetched = FetchedPrices::default();
        for (at, session) in context.sessions.each[block.sessions.clone()].iter().enumerate() {
            // A block has batteries only or none, so `at` counts the sessions that were fetched.
            if shared.is_none() && !session.has_battery() && at % FETCHED == 0 {
                fetched.fetch(
                    context,
                    &context.sessions.each[block.sessions.start + at..block.sessions.end],
                );
            }
            // On a shared curve only the load is added up; on others the cost too, by vehicle.
            let mut own_cost = 0.0;
            let missing = if let Some(effective) = &shared {
                solve_pricing(simd, context, session, effective, &mut buffers, |slot, energy| {
                    load[slot] += energy;
                })
            } else {
                let buy = |slot: usize, energy| {
                    load[slot] += energy;
                    own_cost += context.cost_of(session, slot, energy);
                };
                if let Some(battery) = context.sessions.battery_of(session) {
                    let served = price_by_segments(
                        context,
                        (session, battery),
                        dual_price,
                        None,
                        &mut buffers.segments,
                        buy,
                    );
                    slack += served.optimality_slack;
                    served.shortfall.into()
                } else {
                    let own = fetched.prices(at % FETCHED);
                    solve_on_own_curve(simd, context, session, (own, dual_price), &mut buffers, buy)
                }
            };
            cost += own_cost;
            shortfall += missing.missing;
            shortfall_penalty += context.penalty_of(session, missing);
        }
        // On one curve the cost follows from the load of the block.
        if let Some(curve) = block.curve {
            let bought = load.iter().enumerate().filter(|(_, energy)| **energy != 0);
            cost = bought.map(|(slot, &e)| context.own_price(curve, slot) * as_kwh(e)).sum();
        }
        BlockResponse { load, cost, shortfall, shortfall_penalty, optimality_slack: slack }
    }
}

/// Copies of the prices of up to [`FETCHED`] sessions with curves of their own. The rows come from
/// main memory; copied together, their cache misses overlap.
#[derive(Default)]
struct FetchedPrices {
    prices: Vec<f64>,
    ends: Vec<usize>,
}

impl FetchedPrices {
    /// Copies the prices of the first [`FETCHED`] of `sessions`.
    fn fetch(&mut self, context: &PricingContext<'_>, sessions: &[Session]) {
        self.prices.clear();
        self.ends.clear();
        for session in sessions.iter().take(FETCHED) {
            let row = context.curves.prices(session.curve as usize);
            self.prices.extend_from_slice(&row[session.first as usize..session.end as usize]);
            self.ends.push(self.prices.len());
        }
    }

    /// Prices of the session at position `at` among those that were copied.
    fn prices(&self, at: usize) -> &[f64] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.prices[start..self.ends[at]]
    }
}

/// Solves the pricing problem of a vehicle without a battery, and returns its shortfall. `buy` is
/// called with each slot and its energy in µWh.
#[inline(always)]
pub(crate) fn solve_pricing<S: Simd>(
    simd: S,
    context: &PricingContext<'_>,
    session: &Session,
    effective: &EffectivePrices,
    buffers: &mut PricingBuffers,
    buy: impl FnMut(usize, i64),
) -> Shortfall {
    let prices = &effective.prices;
    if session.demand != Demand::Departure {
        return price_in_order(context, session, prices, buffers, None, buy);
    }
    let missing = match &effective.ranks {
        Some(ranks) => match &ranks.sets {
            PrefixSets::One(sets) => price_by_rank(session, ranks, sets, context.penalty, buy),
            PrefixSets::Two(sets) => price_by_rank(session, ranks, sets, context.penalty, buy),
        },
        None if context.penalty.tiers > 1 => {
            return price_in_order(context, session, prices, buffers, None, buy);
        }
        None => {
            buffers.prices.clear();
            let window = session.first as usize..session.end as usize;
            buffers.prices.extend_from_slice(&prices[window]);
            price_by_threshold(simd, context, session, buffers, buy)
        }
    };
    missing.into()
}

/// Pricing problem of a vehicle on a curve that its block does not share. `own` holds the prices
/// of the session, `dual_price` what limits add in all slots of the horizon, both per kWh.
#[inline(always)]
fn solve_on_own_curve<S: Simd>(
    simd: S,
    context: &PricingContext<'_>,
    session: &Session,
    (own, dual_price): (&[f64], &[f64]),
    buffers: &mut PricingBuffers,
    buy: impl FnMut(usize, i64),
) -> Shortfall {
    // The threshold takes one tier and no deadlines, and `own` is not zero where energy is free.
    if session.demand != Demand::Departure || context.penalty.tiers > 1 || context.is_free {
        let prices = context.prices_of_session(session, dual_price).prices;
        return price_in_order(context, session, &prices, buffers, None, buy);
    }
    let (first, last) = (session.first as usize, session.end as usize);
    buffers.prices.clear();
    buffers.prices.extend(own.iter().zip(&dual_price[first..last]).map(|(price, dual_price)| {
        let sum = price + dual_price;
        if sum.is_nan() { f64::INFINITY } else { sum }
    }));
    price_by_threshold(simd, context, session, buffers, buy).into()
}

/// Pricing by rank: binary search for the last rank of which all slots are bought whole.
///
/// The energy of the `k` cheapest slots is the number of bits in `sets[k] & window` times
/// `Session::cap`, less what the first and last slot of the session lack of a whole one.
#[inline(always)]
fn price_by_rank<const W: usize>(
    session: &Session,
    ranks: &PriceRanks,
    sets: &[[u128; W]],
    penalty: ShortfallPenalty,
    mut buy: impl FnMut(usize, i64),
) -> i64 {
    let need = session.need;
    if need <= 0 {
        return 0;
    }
    let window = window_bits::<W>(session.first as usize, session.end as usize);
    let (first, last) = (session.first as usize, session.end as usize - 1);
    // Energy that the first and the last slot hold less than a whole one.
    let first_less = session.cap - session.first_cap;
    let last_less = if last == first { 0 } else { session.cap - session.last_cap };
    let energy = |rank: usize| {
        let set = &sets[rank];
        let mut bits = 0;
        for word in 0..W {
            bits += i64::from((set[word] & window[word]).count_ones());
        }
        bits * session.cap - bit(set, first) * first_less - bit(set, last) * last_less
    };
    // Tier of the last energy bought. The shortfall fills tiers from 0 on, so it is the one after.
    let tier_at =
        |bought: i64| (i128::from(need - bought) * i128::from(penalty.tiers)) / i128::from(need);
    // True if the cheapest `rank` slots do not exceed the need, and the dearest of them costs less
    // than the shortfall that it avoids. Once false, it stays false for higher ranks.
    let fits = |rank: usize| {
        let bought = energy(rank);
        if bought > need {
            return false;
        }
        if penalty.tiers == 1 {
            return ranks.prices[rank - 1] < penalty.base;
        }
        let tier = tier_at(bought).min(i128::from(penalty.tiers) - 1) as u32;
        ranks.prices[rank - 1] < penalty.of_tier(tier, session.priority)
    };
    let (mut low, mut high) = (0, sets.len() - 1);
    while low < high {
        let middle = usize::midpoint(low, high + 1);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let mut bought = buy_whole_slots(session, &sets[low], &window, &mut buy);
    // The next slot is bought in part if the need, or a tier, ends inside it.
    if bought < need {
        bought += buy_last_part(session, ranks, low, bought, &window, penalty, buy);
    }
    need - bought
}

/// Buys the slots in `set` and `window` whole, in time order, one per bit. Returns their energy in
/// µWh.
#[inline(always)]
fn buy_whole_slots<const W: usize>(
    session: &Session,
    set: &[u128; W],
    window: &[u128; W],
    buy: &mut impl FnMut(usize, i64),
) -> i64 {
    let (first, last) = (session.first as usize, session.end as usize - 1);
    let mut bought = 0;
    for word in 0..W {
        let mut bits = set[word] & window[word];
        while bits != 0 {
            let slot = word * 128 + bits.trailing_zeros() as usize;
            let cap = if slot == first {
                session.first_cap
            } else if slot == last {
                session.last_cap
            } else {
                session.cap
            };
            buy(slot, cap);
            bought += cap;
            bits &= bits - 1;
        }
    }
    bought
}

/// Buys part of the next cheapest slot of the session, at rank `from` or above: the part of the
/// need whose penalty exceeds its price. `bought` is the energy bought before, in µWh; returns the
/// energy added.
#[inline(always)]
fn buy_last_part<const W: usize>(
    session: &Session,
    ranks: &PriceRanks,
    from: usize,
    bought: i64,
    window: &[u128; W],
    penalty: ShortfallPenalty,
    mut buy: impl FnMut(usize, i64),
) -> i64 {
    let next =
        (from..ranks.order.len()).find(|&rank| bit(window, usize::from(ranks.order[rank])) == 1);
    let Some(rank) = next else { return 0 };
    let (slot, price) = (usize::from(ranks.order[rank]), ranks.prices[rank]);
    // The need without the tiers whose penalty is at most the price.
    let mut wanted = session.need;
    for tier in 0..penalty.tiers {
        if price < penalty.of_tier(tier, session.priority) {
            break;
        }
        wanted -= penalty.tier_energy(session.need, tier);
    }
    let cap = match slot {
        slot if slot == session.first as usize => session.first_cap,
        slot if slot + 1 == session.end as usize => session.last_cap,
        _ => session.cap,
    };
    let part = (wanted - bought).clamp(0, cap);
    if part > 0 {
        buy(slot, part);
    }
    part
}

/// Bit `at` of a set of slots, 0 or 1.
#[inline(always)]
fn bit<const W: usize>(set: &[u128; W], at: usize) -> i64 {
    ((set[at / 128] >> (at % 128)) & 1) as i64
}

/// Set of the slots from `first` to before `last`.
#[inline(always)]
fn window_bits<const W: usize>(first: usize, last: usize) -> [u128; W] {
    let mut bits = [0u128; W];
    for (word, bits) in bits.iter_mut().enumerate() {
        let from = first.saturating_sub(word * 128).min(128);
        let to = last.saturating_sub(word * 128).min(128);
        let below = |count: usize| if count == 128 { u128::MAX } else { (1 << count) - 1 };
        *bits = below(to) & !below(from);
    }
    bits
}

/// Pricing by threshold: finds the price at which the need ends, and buys all that is cheaper.
///
/// `buffers.prices` holds the effective prices of the session. One penalty tier only.
#[inline(always)]
fn price_by_threshold<S: Simd>(
    simd: S,
    context: &PricingContext<'_>,
    session: &Session,
    buffers: &mut PricingBuffers,
    mut buy: impl FnMut(usize, i64),
) -> i64 {
    if session.need <= 0 {
        return 0;
    }
    let (first, count) = (session.first as usize, buffers.prices.len());
    let penalty = context.penalty.base;
    let padded = count.next_multiple_of(LANES);
    buffers.prices.resize(padded, f64::INFINITY);
    session.caps(context.horizon(), &mut buffers.caps);
    buffers.caps.resize(padded, 0.0);
    // Slots that cost no less than the shortfall are not bought, as if they had no price.
    for price in &mut buffers.prices {
        *price = if *price < penalty { *price } else { f64::INFINITY };
    }
    let ends = threshold(simd, &buffers.prices, &buffers.caps, session.need as f64);
    // Without a threshold all slots together do not exceed the need: each is bought whole.
    let price = ends.map_or(f64::INFINITY, |ends| ends.price);
    let mut left = session.need;
    let slots = || buffers.prices[..count].iter().zip(&buffers.caps).zip(first..);
    for ((&own, &cap), slot) in slots() {
        if own < price {
            buy(slot, cap as i64);
            left -= cap as i64;
        }
    }
    if left <= 0 || price >= f64::INFINITY {
        return left;
    }
    // The rest of the need comes from slots at the threshold price, the earliest first.
    for ((&own, &cap), slot) in slots() {
        // The threshold is a copy of one of these prices, so the comparison is exact.
        if left > 0 && own <= price && price <= own {
            let part = (cap as i64).min(left);
            buy(slot, part);
            left -= part;
        }
    }
    left
}

/// Solves the pricing problem of any vehicle within the capacity `free`, in µWh per slot, and adds
/// what it buys to `taken`.
pub(crate) fn solve_within_capacity(
    context: &PricingContext<'_>,
    session: &Session,
    dual_price: &[f64],
    free: FreeCapacity<'_>,
    buffers: &mut PricingBuffers,
    taken: &mut EnergyBySlot,
) {
    let buy = |slot: usize, energy| taken.push((slot as u32, energy));
    if let Some(battery) = context.sessions.battery_of(session) {
        let buffers = &mut buffers.segments;
        price_by_segments(context, (session, battery), dual_price, Some(free), buffers, buy);
    } else {
        let prices = &context.prices_of_session(session, dual_price).prices;
        price_in_order(context, session, prices, buffers, Some(free.import), buy);
    }
    merge_slots(taken);
}

/// Solves the pricing problem of a vehicle without a battery in the order of prices, and returns
/// its shortfall. `limits` is the capacity of each slot of the horizon in µWh, if it is limited.
fn price_in_order(
    context: &PricingContext<'_>,
    session: &Session,
    prices: &[f64],
    buffers: &mut PricingBuffers,
    limits: Option<&[i64]>,
    buy: impl FnMut(usize, i64),
) -> Shortfall {
    let penalty = context.penalty;
    match context.sessions.deadlines_of(session) {
        Some(deadlines) => {
            price_by_deadline(session, deadlines, prices, penalty, buffers, limits, buy)
        }
        None => {
            price_by_sort(context.horizon(), session, prices, penalty, buffers, limits, buy).into()
        }
    }
}

/// Pricing by sort: buys slots from the cheapest on, the tiers of need from the dearest on.
///
/// `limits` is the capacity of each slot of the horizon in µWh, if it is limited.
fn price_by_sort(
    horizon: &Horizon,
    session: &Session,
    prices: &[f64],
    penalty: ShortfallPenalty,
    buffers: &mut PricingBuffers,
    limits: Option<&[i64]>,
    mut buy: impl FnMut(usize, i64),
) -> i64 {
    buffers.order.clear();
    let slots = (session.first..session.end).filter(|&slot| prices[slot as usize] < f64::INFINITY);
    buffers.order.extend(slots.map(|slot| (prices[slot as usize], slot)));
    buffers.order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut left = session.need;
    // `tier - 1` is the tier being bought, and `above` the energy bought of it.
    let mut tier = penalty.tiers;
    let mut above = 0;
    for &(price, slot) in &buffers.order {
        let mut capacity =
            capacity_for(session, session.cap(horizon, slot as usize), left, slot, limits);
        let mut taken = 0;
        // A slot may serve several tiers, as long as their penalty exceeds its price.
        while capacity > 0 && tier > 0 && price < penalty.of_tier(tier - 1, session.priority) {
            let part = (penalty.tier_energy(session.need, tier - 1) - above).min(capacity);
            above += part;
            taken += part;
            capacity -= part;
            if above == penalty.tier_energy(session.need, tier - 1) {
                tier -= 1;
                above = 0;
            }
        }
        if taken > 0 {
            buy(slot as usize, taken);
            left -= taken;
        }
    }
    left
}

/// Energy in µWh that a vehicle can buy in a slot that holds `cap` at full power, with `left` of
/// its need unmet. An indivisible vehicle gets nothing where capacity is less than it would buy.
fn capacity_for(session: &Session, cap: i64, left: i64, slot: u32, limits: Option<&[i64]>) -> i64 {
    let Some(limits) = limits else { return cap };
    let capacity = limits[slot as usize];
    if session.is_indivisible && capacity < cap.min(left) { 0 } else { cap.min(capacity) }
}

impl PricingContext<'_> {
    /// Solves the pricing problems of all vehicles of a block.
    pub(crate) fn price_block(&self, block: &Block, dual_price: &[f64]) -> BlockResponse {
        Arch::new().dispatch(BlockPricing { context: self, block, dual_price })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use pulp::{Arch, Simd, WithSimd};

    use super::*;
    use crate::area::model::battery::FreeCapacity;
    use crate::area::model::session::Demand;
    use crate::area::model::sessions::Sessions;
    use crate::area::pricing::buffers::PricingBuffers;
    use crate::area::pricing::context::PricingContext;
    use crate::area::pricing::effective_prices::{EffectivePrices, ShortfallPenalty};
    use crate::area::recovery::totals::tests::{Car, Town, car, context_of};
    use crate::columns::fleet::Curves;
    use crate::prices::curve::PriceCurve;
    use crate::time::horizon::Horizon;

    /// Energy by slot, in µWh, that each of the three searches buys for one session.
    fn on_each_way(prices: &[f64], session: Session, penalty: ShortfallPenalty) -> Vec<Vec<i64>> {
        let step = 900_000_000;
        let slots = (0..prices.len() as i64).map(|slot| (slot * step, (slot + 1) * step));
        let horizon = Horizon::from_micros(slots).unwrap();
        let curve = PriceCurve::from_parts(horizon, prices.to_vec()).unwrap();
        let sessions = Sessions { each: vec![session], ..Sessions::default() };
        let curves = Curves::Shared(&curve);
        let context = PricingContext {
            curves,
            export: None,
            sessions: &sessions,
            rooms: &[],
            penalty,
            is_free: false,
        };
        let free = vec![0.0; prices.len()];
        let mut found = Vec::new();
        for has_ranks in [true, false] {
            let signal = EffectivePrices::new(prices, &free, has_ranks);
            let mut load = vec![0; prices.len()];
            Arch::new().dispatch(One {
                context: &context,
                session: &session,
                signal: &signal,
                load: &mut load,
            });
            found.push(load);
        }
        let mut load = vec![0; prices.len()];
        let mut buffers = PricingBuffers::default();
        let capacity = vec![i64::MAX; prices.len()];
        let capacity = FreeCapacity { import: &capacity, export: &capacity };
        let mut taken = EnergyBySlot::new();
        solve_within_capacity(&context, &session, &free, capacity, &mut buffers, &mut taken);
        for (slot, energy) in taken {
            load[slot as usize] += energy;
        }
        found.push(load);
        found
    }

    /// Pricing problem of one session, as a type that pulp can dispatch.
    struct One<'a> {
        context: &'a PricingContext<'a>,
        session: &'a Session,
        signal: &'a EffectivePrices,
        load: &'a mut [i64],
    }

    impl WithSimd for One<'_> {
        type Output = ();

        fn with_simd<S: Simd>(self, simd: S) {
            let Self { context, session, signal, load } = self;
            let buy = |slot: usize, energy| load[slot] += energy;
            solve_pricing(simd, context, session, signal, &mut PricingBuffers::default(), buy);
        }
    }

    proptest! {
        /// Rank, threshold and sort buy the same slots, none at or above the highest penalty.
        #[test]
        fn all_ways_buy_the_same(
            cents in prop::collection::vec(-9..10i32, 1..200),
            from in 0..200usize, length in 1..200usize, edges in (1..100i64, 1..100i64),
            share in 0.0..1.0f64, base in -0.1..0.12f64, tiers in 1..6u32, priority in 0.1f32..1.0,
        ) {
            let prices: Vec<f64> = cents.iter().map(|&cents| f64::from(cents) / 100.0).collect();
            let first = from % prices.len();
            let last = (first + length).min(prices.len());
            let first_cap = edges.0;
            let last_cap = if last == first + 1 { first_cap } else { edges.1 };
            let inner = (last - first).saturating_sub(2) as i64 * 100;
            let capacity = inner + first_cap + if last == first + 1 { 0 } else { last_cap };
            let session = Session {
                first: first as u32, end: last as u32, row: 0, node: 0, curve: 0,
                need: (capacity as f64 * share) as i64, first_cap, last_cap, cap: 100, rate: 0.0,
                priority, is_indivisible: false, demand: Demand::Departure,
            };
            let penalty = ShortfallPenalty { base, step: 0.02, tiers };
            let found = on_each_way(&prices, session, penalty);
            prop_assert_eq!(&found[0], &found[1]);
            prop_assert_eq!(&found[0], &found[2]);
            let top = penalty.of_tier(tiers - 1, priority);
            let bought: i64 = found[0].iter().sum();
            prop_assert!(bought <= session.need);
            prop_assert!((0..prices.len()).all(|slot| found[0][slot] == 0 || prices[slot] < top));
        }
    }

    /// The sort of [`solve_within_capacity`] in what is free, slot by slot.
    fn within(prices: &[f64], session: &Session, free: &[i64]) -> Vec<i64> {
        let step = 900_000_000;
        let slots = (0..prices.len() as i64).map(|slot| (slot * step, (slot + 1) * step));
        let horizon = Horizon::from_micros(slots).unwrap();
        let curve = PriceCurve::from_parts(horizon, prices.to_vec()).unwrap();
        let sessions = Sessions::default();
        let penalty = ShortfallPenalty::uniform(1.0);
        let curves = Curves::Shared(&curve);
        let context = PricingContext {
            curves,
            export: None,
            sessions: &sessions,
            rooms: &[],
            penalty,
            is_free: false,
        };
        let (mut taken, no_duals) = (EnergyBySlot::new(), vec![0.0; prices.len()]);
        let capacity = FreeCapacity { import: free, export: free };
        let buffers = &mut PricingBuffers::default();
        solve_within_capacity(&context, session, &no_duals, capacity, buffers, &mut taken);
        let mut load = vec![0; prices.len()];
        for (slot, energy) in taken {
            load[slot as usize] += energy;
        }
        load
    }

    #[test]
    fn a_full_slot_sends_a_vehicle_to_the_next_cheapest() {
        let session = |is_indivisible| Session {
            first: 0,
            end: 3,
            row: 0,
            node: 0,
            curve: 0,
            demand: Demand::Departure,
            need: 150,
            first_cap: 100,
            last_cap: 100,
            cap: 100,
            rate: 0.0,
            priority: 1.0,
            is_indivisible,
        };
        let prices = [0.2, 0.1, 0.3];
        // 40 of 100 are left in the cheapest slot: the rest is 100 in the next and 10 in the last.
        assert_eq!(within(&prices, &session(false), &[100, 40, 100]), [100, 40, 10]);
        // A vehicle that takes whole slots passes by one that has too little for it.
        assert_eq!(within(&prices, &session(true), &[100, 40, 100]), [100, 0, 50]);
        assert_eq!(within(&prices, &session(false), &[0, 0, 0]), [0, 0, 0]);
    }

    #[test]
    fn a_window_has_a_bit_for_each_of_its_slots() {
        for (first, last) in [(0, 1), (3, 128), (127, 129), (128, 256), (0, 256), (200, 200)] {
            let bits = window_bits::<2>(first, last);
            let within = |slot: usize| i64::from((first..last).contains(&slot));
            assert!((0..256).all(|slot| bit(&bits, slot) == within(slot)), "{first} to {last}");
        }
    }

    proptest! {
        /// One target at departure is the need itself, on the way for deadlines.
        #[test]
        fn a_deadline_at_departure_changes_nothing(
            cents in prop::collection::vec(-20..60i32, 4), kwh in 0.0..45.0f64,
            duals in prop::collection::vec(0.0..1.0f64, 4), from in 0..3i64,
        ) {
            let plain = Car { stay: (from, 4), ..car(4, kwh) };
            let with_target = Car { target: Some((4, kwh)), ..plain };
            let [plain, with_target] = [plain, with_target].map(|car| {
                Town::new(&cents, &[car], &[Some(9.0)]).with(|problem, sessions, _| {
                    let context = context_of(problem, sessions);
                    context.price_block(&sessions.blocks[0], &duals)
                })
            });
            prop_assert_eq!(plain, with_target);
        }
    }
}

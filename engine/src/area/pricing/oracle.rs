//! What vehicles buy at given prices: the part of the method that is done
//! millions of times.
//!
//! A vehicle buys the cheapest room of its stay until its need is met or a
//! kWh costs more than it is worth. There are three ways to find that room, with
//! one result: sets of ranks where a block shares its prices, a
//! threshold where each vehicle has its own, and a sort where there are
//! targets before departure. Vehicles that also discharge have a fourth, in
//! `by_segments`.
use pulp::{Arch, Simd, WithSimd};

use crate::area::model::battery::Free;
use crate::area::model::energy_by_slot::Missing;
use crate::area::model::session::{Block, NO_STORE, NO_WISHES, Stay};
use crate::area::pricing::buffers::Scratch;
use crate::area::pricing::by_deadline::by_stage;
use crate::area::pricing::by_segments::by_segments;
use crate::area::pricing::context::{Answer, Asked};
use crate::area::pricing::effective_prices::{Ranks, Sets, Signal, Worth};
use crate::area::problem::micro_wh::as_kwh;
use crate::plan::threshold::threshold;
use crate::time::horizon::Horizon;

/// Widest vector of numbers on any machine.
const LANES: usize = 8;

/// Vehicles whose prices are fetched together; they stay in the nearest cache.
const FETCHED: usize = 16;

/// All vehicles of a block, to be asked.
pub(crate) struct AnswerBlock<'a> {
    pub(crate) asked: &'a Asked<'a>,
    pub(crate) block: &'a Block,
    pub(crate) added: &'a [f64],
}

impl WithSimd for AnswerBlock<'_> {
    type Output = Answer;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Answer {
        let Self { asked, block, added } = self;
        let horizon = asked.horizon();
        let mut load = vec![0i64; horizon.len()];
        let mut scratch = Scratch::default();
        let (mut cost, mut shed, mut shed_worth, mut slack) = (0.0, 0, 0.0, 0.0);
        let shared = block.curve.map(|_| asked.signal(block, added));
        let mut fetched = Fetched::default();
        for (at, stay) in asked.stays.each[block.stays.clone()].iter().enumerate() {
            if shared.is_none() && stay.store == NO_STORE && at % FETCHED == 0 {
                fetched.fetch(asked, &asked.stays.each[block.stays.start + at..block.stays.end]);
            }
            let mut own_cost = 0.0;
            let missing = if let Some(signal) = &shared {
                answer_one(simd, asked, stay, signal, &mut scratch, |slot, energy| {
                    load[slot] += energy;
                })
            } else {
                let buy = |slot: usize, energy| {
                    load[slot] += energy;
                    own_cost += asked.cost_of(stay, slot, energy);
                };
                if stay.store == NO_STORE {
                    let own = fetched.prices(at % FETCHED);
                    answer_own(simd, asked, stay, (own, added), &mut scratch, buy)
                } else {
                    let served = by_segments(asked, stay, added, None, &mut scratch.store, buy);
                    slack += served.slack;
                    served.missing.into()
                }
            };
            cost += own_cost;
            shed += missing.need;
            shed_worth += asked.worth_of(stay, missing);
        }
        if let Some(curve) = block.curve {
            let bought = load.iter().enumerate().filter(|(_, energy)| **energy != 0);
            cost = bought.map(|(slot, &e)| asked.own_price(curve, slot) * as_kwh(e)).sum();
        }
        Answer { load, cost, shed, shed_worth, slack }
    }
}

/// Prices of the stays of a few vehicles with curves of their own. Each row comes
/// from memory, and many of them on the way at once take hardly longer than one.
#[derive(Default)]
struct Fetched {
    prices: Vec<f64>,
    ends: Vec<usize>,
}

impl Fetched {
    fn fetch(&mut self, asked: &Asked<'_>, stays: &[Stay]) {
        self.prices.clear();
        self.ends.clear();
        for stay in stays.iter().take(FETCHED) {
            let row = asked.curves.prices(stay.curve as usize);
            self.prices.extend_from_slice(&row[stay.first as usize..stay.last as usize]);
            self.ends.push(self.prices.len());
        }
    }

    /// Those of the vehicle at a position among them.
    fn prices(&self, at: usize) -> &[f64] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.prices[start..self.ends[at]]
    }
}

/// What one vehicle buys at prices it shares with others; returns the need
/// that it goes without. `buy` is called with each slot and its energy.
#[inline(always)]
pub(crate) fn answer_one<S: Simd>(
    simd: S,
    asked: &Asked<'_>,
    stay: &Stay,
    signal: &Signal,
    scratch: &mut Scratch,
    buy: impl FnMut(usize, i64),
) -> Missing {
    if stay.wishes != NO_WISHES {
        let wishes = &asked.stays.wishes[stay.wishes as usize];
        return by_stage(stay, wishes, &signal.prices, asked.worth, scratch, None, buy);
    }
    let missing = match &signal.ranks {
        Some(ranks) => match &ranks.sets {
            Sets::One(sets) => by_rank(stay, ranks, sets, asked.worth, buy),
            Sets::Two(sets) => by_rank(stay, ranks, sets, asked.worth, buy),
        },
        None => alone(simd, asked, stay, &signal.prices, scratch, buy),
    };
    missing.into()
}

/// The same at prices of its own.
#[inline(always)]
fn answer_own<S: Simd>(
    simd: S,
    asked: &Asked<'_>,
    stay: &Stay,
    (own, added): (&[f64], &[f64]),
    scratch: &mut Scratch,
    buy: impl FnMut(usize, i64),
) -> Missing {
    if stay.wishes != NO_WISHES || asked.worth.tiers > 1 || asked.is_free {
        let prices = asked.signal_of(stay, added).prices;
        return match asked.stays.wishes.get(stay.wishes as usize) {
            Some(wishes) => by_stage(stay, wishes, &prices, asked.worth, scratch, None, buy),
            None => by_sort(asked.horizon(), stay, &prices, asked.worth, scratch, None, buy).into(),
        };
    }
    let (first, last) = (stay.first as usize, stay.last as usize);
    scratch.prices.clear();
    scratch.prices.extend(own.iter().zip(&added[first..last]).map(|(price, added)| {
        let sum = price + added;
        if sum.is_nan() { f64::INFINITY } else { sum }
    }));
    by_threshold(simd, asked, stay, scratch, buy).into()
}

/// A vehicle of a block without an order.
#[inline(always)]
fn alone<S: Simd>(
    simd: S,
    asked: &Asked<'_>,
    stay: &Stay,
    prices: &[f64],
    scratch: &mut Scratch,
    buy: impl FnMut(usize, i64),
) -> i64 {
    if asked.worth.tiers > 1 {
        return by_sort(asked.horizon(), stay, prices, asked.worth, scratch, None, buy);
    }
    scratch.prices.clear();
    scratch.prices.extend_from_slice(&prices[stay.first as usize..stay.last as usize]);
    by_threshold(simd, asked, stay, scratch, buy)
}

/// Finds the last rank that fits by counting bits.
#[inline(always)]
fn by_rank<const W: usize>(
    stay: &Stay,
    ranks: &Ranks,
    sets: &[[u128; W]],
    worth: Worth,
    mut buy: impl FnMut(usize, i64),
) -> i64 {
    let need = stay.need;
    if need <= 0 {
        return 0;
    }
    let window = window_bits::<W>(stay.first as usize, stay.last as usize);
    let (first, last) = (stay.first as usize, stay.last as usize - 1);
    // What the edges hold less than a whole slot.
    let first_less = stay.cap - stay.first_cap;
    let last_less = if last == first { 0 } else { stay.cap - stay.last_cap };
    let energy = |rank: usize| {
        let set = &sets[rank];
        let mut bits = 0;
        for word in 0..W {
            bits += i64::from((set[word] & window[word]).count_ones());
        }
        bits * stay.cap - bit(set, first) * first_less - bit(set, last) * last_less
    };
    // The worth of the last kWh bought when so much is bought.
    let tier_at =
        |bought: i64| (i128::from(need - bought) * i128::from(worth.tiers)) / i128::from(need);
    let fits = |rank: usize| {
        let bought = energy(rank);
        if bought > need {
            return false;
        }
        if worth.tiers == 1 {
            return ranks.prices[rank - 1] < worth.base;
        }
        let tier = tier_at(bought).min(i128::from(worth.tiers) - 1) as u32;
        ranks.prices[rank - 1] < worth.of(tier, stay.priority)
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
    let set = &sets[low];
    let mut bought = 0;
    for word in 0..W {
        let mut bits = set[word] & window[word];
        while bits != 0 {
            let slot = word * 128 + bits.trailing_zeros() as usize;
            let cap = if slot == first {
                stay.first_cap
            } else if slot == last {
                stay.last_cap
            } else {
                stay.cap
            };
            buy(slot, cap);
            bought += cap;
            bits &= bits - 1;
        }
    }
    if bought < need {
        bought += last_part(stay, ranks, low, bought, &window, worth, buy);
    }
    need - bought
}

/// The part of a need that ends inside a slot.
#[inline(always)]
fn last_part<const W: usize>(
    stay: &Stay,
    ranks: &Ranks,
    from: usize,
    bought: i64,
    window: &[u128; W],
    worth: Worth,
    mut buy: impl FnMut(usize, i64),
) -> i64 {
    let next =
        (from..ranks.order.len()).find(|&rank| bit(window, usize::from(ranks.order[rank])) == 1);
    let Some(rank) = next else { return 0 };
    let (slot, price) = (usize::from(ranks.order[rank]), ranks.prices[rank]);
    let mut wanted = stay.need;
    for tier in 0..worth.tiers {
        if price < worth.of(tier, stay.priority) {
            break;
        }
        wanted -= worth.part(stay.need, tier);
    }
    let cap = match slot {
        slot if slot == stay.first as usize => stay.first_cap,
        slot if slot + 1 == stay.last as usize => stay.last_cap,
        _ => stay.cap,
    };
    let part = (wanted - bought).clamp(0, cap);
    if part > 0 {
        buy(slot, part);
    }
    part
}

#[inline(always)]
fn bit<const W: usize>(set: &[u128; W], at: usize) -> i64 {
    ((set[at / 128] >> (at % 128)) & 1) as i64
}

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

/// Finds the price at which the need ends. `scratch.prices` holds the stay.
#[inline(always)]
fn by_threshold<S: Simd>(
    simd: S,
    asked: &Asked<'_>,
    stay: &Stay,
    scratch: &mut Scratch,
    mut buy: impl FnMut(usize, i64),
) -> i64 {
    if stay.need <= 0 {
        return 0;
    }
    let (first, count) = (stay.first as usize, scratch.prices.len());
    let worth = asked.worth.base;
    let padded = count.next_multiple_of(LANES);
    scratch.prices.resize(padded, f64::INFINITY);
    stay.caps(asked.horizon(), &mut scratch.caps);
    scratch.caps.resize(padded, 0.0);
    for price in &mut scratch.prices {
        *price = if *price < worth { *price } else { f64::INFINITY };
    }
    let ends = threshold(simd, &scratch.prices, &scratch.caps, stay.need as f64);
    let price = ends.map_or(f64::INFINITY, |ends| ends.price);
    let mut left = stay.need;
    let slots = || scratch.prices[..count].iter().zip(&scratch.caps).zip(first..);
    for ((&own, &cap), slot) in slots() {
        if own < price {
            buy(slot, cap as i64);
            left -= cap as i64;
        }
    }
    if left <= 0 || price >= f64::INFINITY {
        return left;
    }
    for ((&own, &cap), slot) in slots() {
        // The threshold was copied from these prices: not below and not above is equal.
        if left > 0 && own <= price && price <= own {
            let part = (cap as i64).min(left);
            buy(slot, part);
            left -= part;
        }
    }
    left
}

/// What one vehicle buys where each slot has only so much room left.
pub(crate) fn within(
    asked: &Asked<'_>,
    stay: &Stay,
    added: &[f64],
    free: Free<'_>,
    scratch: &mut Scratch,
    buy: impl FnMut(usize, i64),
) {
    if stay.store != NO_STORE {
        by_segments(asked, stay, added, Some(free), &mut scratch.store, buy);
        return;
    }
    let (prices, room) = (&asked.signal_of(stay, added).prices, free.up);
    match asked.stays.wishes.get(stay.wishes as usize) {
        Some(wishes) => {
            by_stage(stay, wishes, prices, asked.worth, scratch, Some(room), buy);
        }
        None => {
            by_sort(asked.horizon(), stay, prices, asked.worth, scratch, Some(room), buy);
        }
    }
}

/// The plain way: sort the stay and buy in that order.
fn by_sort(
    horizon: &Horizon,
    stay: &Stay,
    prices: &[f64],
    worth: Worth,
    scratch: &mut Scratch,
    limits: Option<&[i64]>,
    mut buy: impl FnMut(usize, i64),
) -> i64 {
    scratch.order.clear();
    let slots = (stay.first..stay.last).filter(|&slot| prices[slot as usize] < f64::INFINITY);
    scratch.order.extend(slots.map(|slot| (prices[slot as usize], slot)));
    scratch.order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut left = stay.need;
    let mut tier = worth.tiers;
    let mut above = 0;
    for &(price, slot) in &scratch.order {
        let mut room = room_for(stay, stay.cap(horizon, slot as usize), left, slot, limits);
        let mut taken = 0;
        while room > 0 && tier > 0 && price < worth.of(tier - 1, stay.priority) {
            let part = (worth.part(stay.need, tier - 1) - above).min(room);
            above += part;
            taken += part;
            room -= part;
            if above == worth.part(stay.need, tier - 1) {
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

/// Energy that a slot has for a vehicle; all or nothing for those that only
/// take whole answers.
fn room_for(stay: &Stay, cap: i64, left: i64, slot: u32, limits: Option<&[i64]>) -> i64 {
    let Some(limits) = limits else { return cap };
    let room = limits[slot as usize];
    if stay.whole && room < cap.min(left) { 0 } else { cap.min(room) }
}

impl Asked<'_> {
    /// Asks all vehicles of a block.
    pub(crate) fn answer(&self, block: &Block, added: &[f64]) -> Answer {
        Arch::new().dispatch(AnswerBlock { asked: self, block, added })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use pulp::{Arch, Simd, WithSimd};

    use super::*;
    use crate::area::model::battery::Free;
    use crate::area::model::session::{NO_STORE, NO_WISHES, Stay};
    use crate::area::model::sessions::Stays;
    use crate::area::pricing::buffers::Scratch;
    use crate::area::pricing::context::Asked;
    use crate::area::pricing::effective_prices::{Signal, Worth};
    use crate::columns::fleet::Curves;
    use crate::prices::curve::PriceCurve;
    use crate::time::horizon::Horizon;

    /// What a vehicle buys on each way there is, slot by slot.
    fn on_each_way(prices: &[f64], stay: Stay, worth: Worth) -> Vec<Vec<i64>> {
        let step = 900_000_000;
        let slots = (0..prices.len() as i64).map(|slot| (slot * step, (slot + 1) * step));
        let horizon = Horizon::from_micros(slots).unwrap();
        let curve = PriceCurve::from_parts(horizon, prices.to_vec()).unwrap();
        let stays = Stays { each: vec![stay], ..Stays::default() };
        let curves = Curves::Shared(&curve);
        let asked = Asked { curves, export: None, stays: &stays, worth, is_free: false };
        let free = vec![0.0; prices.len()];
        let mut found = Vec::new();
        for has_ranks in [true, false] {
            let signal = Signal::new(prices, &free, has_ranks);
            let mut load = vec![0; prices.len()];
            Arch::new().dispatch(One {
                asked: &asked,
                stay: &stay,
                signal: &signal,
                load: &mut load,
            });
            found.push(load);
        }
        let mut load = vec![0; prices.len()];
        let mut scratch = Scratch::default();
        let room = vec![i64::MAX; prices.len()];
        let room = Free { up: &room, down: &room };
        within(&asked, &stay, &free, room, &mut scratch, |slot, energy| load[slot] += energy);
        found.push(load);
        found
    }

    struct One<'a> {
        asked: &'a Asked<'a>,
        stay: &'a Stay,
        signal: &'a Signal,
        load: &'a mut [i64],
    }

    impl WithSimd for One<'_> {
        type Output = ();

        fn with_simd<S: Simd>(self, simd: S) {
            let Self { asked, stay, signal, load } = self;
            let buy = |slot: usize, energy| load[slot] += energy;
            answer_one(simd, asked, stay, signal, &mut Scratch::default(), buy);
        }
    }

    proptest! {
        /// Ranks, threshold and sort find the same room, and buy nothing that
        /// costs more than it is worth.
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
            let room = inner + first_cap + if last == first + 1 { 0 } else { last_cap };
            let stay = Stay {
                first: first as u32, last: last as u32, row: 0, node: 0, curve: 0, wishes: NO_WISHES,
                need: (room as f64 * share) as i64, first_cap, last_cap, cap: 100, rate: 0.0,
                priority, whole: false, store: NO_STORE,
            };
            let worth = Worth { base, step: 0.02, tiers };
            let found = on_each_way(&prices, stay, worth);
            prop_assert_eq!(&found[0], &found[1]);
            prop_assert_eq!(&found[0], &found[2]);
            let top = worth.of(tiers - 1, priority);
            let bought: i64 = found[0].iter().sum();
            prop_assert!(bought <= stay.need);
            prop_assert!((0..prices.len()).all(|slot| found[0][slot] == 0 || prices[slot] < top));
        }
    }
}

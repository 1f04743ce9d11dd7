//! Pricing problem of a vehicle that charges by several deadlines.
//!
//! ```text
//! minimise   Σ_i p_i·x_i + Σ_j w_j·y_j + w_late·z
//! over       0 <= x_i <= C_i,   0 <= y_j <= Y_j,   0 <= z <= Z
//! subject to Σ_{i in time for d} x_i + Σ_j y_j  >=  N_d       for each deadline d but the last
//!            Σ_i x_i + Σ_j y_j + z  =  N_last
//! ```
//!
//! The supply is a list of entries with a price: sub-slots (`x`), tiers of shortfall (`y`), which
//! count for every deadline, and late energy (`z`), which counts for the last one only. Deadlines
//! are met in time order, each with the cheapest entries that are in time for it. What is taken for
//! one deadline counts for all later ones. The sets of entries in time are nested, so that this
//! greedy choice is optimal (J. Edmonds, Submodular functions, matroids, and certain polyhedra, in:
//! Combinatorial Structures and Their Applications, 1970).
//!
//! | Symbol | Code |
//! |---|---|
//! | `p_i`, `C_i` | effective price of the slot, `SubSlot::cap` |
//! | `N_d` | `Deadlines::needs` |
//! | `w_j`, `Y_j` | `ShortfallPenalty::of_tier`, `tier_energy` |
//! | `w_late`, `Z` | `ShortfallPenalty::of_late`, `Deadlines::later` |
use crate::area::model::deadlines::{Deadlines, SubSlot};
use crate::area::model::energy_by_slot::Shortfall;
use crate::area::model::session::Session;
use crate::area::pricing::buffers::PricingBuffers;
use crate::area::pricing::effective_prices::ShortfallPenalty;

/// Solves the pricing problem of a vehicle with deadlines, and returns its shortfall.
///
/// `limits` is the capacity of each slot of the horizon in µWh, if it is limited. `buy` is called
/// with each slot and its energy in µWh, once for each sub-slot.
pub(crate) fn price_by_deadline(
    session: &Session,
    deadlines: &Deadlines,
    prices: &[f64],
    penalty: ShortfallPenalty,
    buffers: &mut PricingBuffers,
    limits: Option<&[i64]>,
    mut buy: impl FnMut(usize, i64),
) -> Shortfall {
    let pieces = &deadlines.sub_slots;
    // Entries below `count` are sub-slots, those below `later` tiers, and `later` is late energy.
    let (count, later) = (pieces.len() as u32, pieces.len() as u32 + penalty.tiers);
    order_supply(session, deadlines, prices, penalty, &mut buffers.order);
    buffers.taken.clear();
    buffers.taken.resize(later as usize + 1, 0);
    let mut capacity =
        DeadlineCapacity { limits, used: limits.map(|limits| vec![0; limits.len()]) };
    let last = deadlines.needs.len() - 1;
    // `have` is the energy taken so far, all of it in time for the present deadline.
    let mut have = 0;
    for (stage, &need) in deadlines.needs.iter().enumerate() {
        for &(price, at) in &buffers.order {
            if have >= need || price >= f64::INFINITY {
                break;
            }
            let taken = buffers.taken[at as usize];
            // Skip entries that are not in time for this deadline.
            let cap = match pieces.get(at as usize) {
                Some(piece) if piece.stage as usize > stage => continue,
                Some(piece) => capacity.cap(session, piece, (taken, need - have)),
                None if at < later => {
                    penalty.tier_energy(session.need - deadlines.later, at - count)
                }
                None if stage < last => continue,
                None => deadlines.later,
            };
            let part = (cap - taken).min(need - have);
            buffers.taken[at as usize] += part;
            have += part;
            if let (Some(used), Some(piece)) = (&mut capacity.used, pieces.get(at as usize)) {
                used[piece.slot as usize] += part;
            }
        }
    }
    // Report sub-slots in time order; what was taken of the tiers is the shortfall.
    for (piece, &taken) in pieces.iter().zip(&buffers.taken) {
        if taken > 0 {
            buy(piece.slot as usize, taken);
        }
    }
    let missing = buffers.taken[pieces.len()..later as usize].iter().sum();
    Shortfall { missing, late: buffers.taken[later as usize] }
}

/// Sorts the supply entries by price into `order`: sub-slots, tiers of shortfall, late energy.
///
/// An entry is (price per kWh, index). Of equal prices shortfall comes before sub-slots, the
/// convention of all pricing searches, and then the lower index.
fn order_supply(
    session: &Session,
    deadlines: &Deadlines,
    prices: &[f64],
    penalty: ShortfallPenalty,
    order: &mut Vec<(f64, u32)>,
) {
    let count = deadlines.sub_slots.len() as u32;
    let real = deadlines.sub_slots.iter().zip(0u32..);
    let tiers =
        (0..penalty.tiers).map(|tier| (penalty.of_tier(tier, session.priority), count + tier));
    order.clear();
    order.extend(real.map(|(piece, at)| (prices[piece.slot as usize], at)));
    order.extend(tiers);
    if deadlines.later > 0 {
        order.push((penalty.of_late(), count + penalty.tiers));
    }
    let tie_break = |at: u32| (at < count, at);
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(tie_break(a.1).cmp(&tie_break(b.1))));
}

/// Limited capacity by slot, and the energy used of it, in µWh; `None` where it is not limited.
struct DeadlineCapacity<'a> {
    limits: Option<&'a [i64]>,
    used: Option<Vec<i64>>,
}

impl DeadlineCapacity<'_> {
    /// Energy that a sub-slot can hold in all, in µWh, with `taken` of it used and `wanted` to be
    /// added. An indivisible vehicle adds nothing where capacity is less than it would add.
    fn cap(&self, session: &Session, piece: &SubSlot, (taken, wanted): (i64, i64)) -> i64 {
        let (Some(used), Some(limits)) = (&self.used, self.limits) else { return piece.cap };
        let slot = piece.slot as usize;
        let capacity = (limits[slot] - used[slot]).max(0);
        let more = (piece.cap - taken).min(wanted);
        if session.is_indivisible && capacity < more {
            taken
        } else {
            piece.cap.min(taken + capacity)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::area::model::session::Demand;

    const PENALTY: ShortfallPenalty = ShortfallPenalty::uniform(0.5);

    /// A stay of so many slots, each cut in no more than two.
    fn session(slots: usize, need: i64, is_indivisible: bool) -> Session {
        Session {
            first: 0,
            end: slots as u32,
            row: 0,
            node: 0,
            curve: 0,
            demand: Demand::Departure,
            need,
            first_cap: 3,
            last_cap: 3,
            cap: 3,
            rate: 0.0,
            priority: 1.0,
            is_indivisible,
        }
    }

    /// Deadlines that want `needs`; each piece of a slot is in time for its stage.
    fn deadlines(needs: &[i64], pieces: &[(u32, u32, i64)], later: i64) -> Deadlines {
        let piece = |&(slot, stage, cap): &(u32, u32, i64)| SubSlot { slot, stage, cap };
        let mut made = Deadlines::default();
        made.needs = needs.to_vec();
        made.later = later;
        made.sub_slots = pieces.iter().map(piece).collect();
        made
    }

    /// Energy of a vehicle by slot, and its shortfall.
    fn bought(
        (session, deadlines): (&Session, &Deadlines),
        prices: &[f64],
        limits: Option<&[i64]>,
    ) -> (Vec<i64>, Shortfall) {
        let mut load = vec![0; prices.len()];
        let buffers = &mut PricingBuffers::default();
        let missing = price_by_deadline(
            session,
            deadlines,
            prices,
            PENALTY,
            buffers,
            limits,
            |slot, energy| {
                load[slot] += energy;
            },
        );
        (load, missing)
    }

    /// Least cost of all energies of the pieces in whole units: what is missing at the worst
    /// deadline is paid for once, and all that is not missing is bought.
    fn least_cost(deadlines: &Deadlines, prices: &[f64]) -> f64 {
        let pieces = &deadlines.sub_slots;
        let mut least = f64::INFINITY;
        for code in 0..4_i64.pow(pieces.len() as u32) {
            let taken = |at: usize| code / 4_i64.pow(at as u32) % 4;
            let by = |stage: usize| {
                let in_time = (0..pieces.len()).filter(|&at| pieces[at].stage as usize <= stage);
                in_time.map(taken).sum::<i64>()
            };
            let stages = 0..deadlines.needs.len();
            let missing = stages.map(|stage| deadlines.needs[stage] - by(stage)).max().unwrap();
            let end = deadlines.needs.len() - 1;
            let is_within = (0..pieces.len()).all(|at| taken(at) <= pieces[at].cap);
            if is_within && by(end) + missing.max(0) == deadlines.needs[end] {
                let paid = (0..pieces.len())
                    .map(|at| prices[pieces[at].slot as usize] * taken(at) as f64)
                    .sum::<f64>();
                least = least.min(paid + PENALTY.base * missing.max(0) as f64);
            }
        }
        least
    }

    proptest! {
        #[test]
        fn no_energies_by_the_deadlines_cost_less(
            cents in prop::collection::vec(-20..90i32, 4), caps in prop::collection::vec(0..4i64, 6),
            wants in (0..7i64, 0..10i64, 0..16i64),
        ) {
            let prices: Vec<f64> = cents.iter().map(|&cents| f64::from(cents) / 100.0).collect();
            // Deadlines inside the second and the third slot.
            let places = [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (3, 2)];
            let pieces: Vec<(u32, u32, i64)> =
                places.iter().zip(&caps).map(|(&(slot, stage), &cap)| (slot, stage, cap)).collect();
            // No deadline wants more than there is time for, nor less than the one before.
            let (a, b, c) = wants;
            let first = a.min(caps[..2].iter().sum());
            let second = b.min(caps[..4].iter().sum()).max(first);
            let need = c.min(caps.iter().sum()).max(second);
            let deadlines = deadlines(&[first, second, need], &pieces, 0);
            let session = session(4, need, false);
            let (load, missing) = bought((&session, &deadlines), &prices, None);
            prop_assert_eq!(load.iter().sum::<i64>() + missing.missing, need);
            let paid: f64 = load.iter().zip(&prices).map(|(&energy, price)| energy as f64 * price).sum();
            let cost = paid + PENALTY.base * missing.missing as f64;
            let least = least_cost(&deadlines, &prices);
            prop_assert!((cost - least).abs() < 1e-9, "{load:?} cost {cost}, not {least}");
        }
    }

    #[test]
    fn energy_for_an_early_deadline_is_bought_in_its_time() {
        let deadlines = deadlines(&[2, 5], &[(0, 0, 3), (1, 1, 3), (2, 1, 3)], 0);
        let prices = [0.4, 0.1, 0.2];
        // 2 before the deadline, at 40 cents, and the other 3 at 10 cents.
        let found = bought((&session(3, 5, false), &deadlines), &prices, None);
        assert_eq!(found, (vec![2, 3, 0], Shortfall::default()));
        // Above 50 cents going without is cheaper, and what is shed is not bought later either.
        let found = bought((&session(3, 5, false), &deadlines), &[0.6, 0.1, 0.2], None);
        assert_eq!(found, (vec![0, 3, 0], Shortfall { missing: 2, late: 0 }));
    }

    #[test]
    fn energy_that_may_come_later_is_shed_at_a_lower_penalty() {
        // 3 of 6 were missed and may come later: they are worth a quarter of 50 cents.
        let deadlines = deadlines(&[0, 6], &[(0, 0, 3), (1, 1, 3), (2, 1, 3)], 3);
        let found = bought((&session(3, 6, false), &deadlines), &[0.4, 0.1, 0.2], None);
        assert_eq!(found, (vec![0, 3, 0], Shortfall { missing: 0, late: 3 }));
        let found = bought((&session(3, 6, false), &deadlines), &[0.4, 0.1, 0.12], None);
        assert_eq!(found, (vec![0, 3, 3], Shortfall::default()));
    }

    #[test]
    fn the_pieces_of_a_slot_share_its_free_capacity() {
        let deadlines = deadlines(&[2, 6], &[(0, 0, 2), (0, 1, 2), (1, 1, 3)], 0);
        let prices = [0.1, 0.2];
        let found = bought((&session(2, 6, false), &deadlines), &prices, Some(&[3, 9]));
        assert_eq!(found, (vec![3, 3], Shortfall::default()));
        // A vehicle that is on or off takes 2 at once, then finds too little in the slot.
        let found = bought((&session(2, 6, true), &deadlines), &prices, Some(&[3, 9]));
        assert_eq!(found, (vec![2, 3], Shortfall { missing: 1, late: 0 }));
    }
}

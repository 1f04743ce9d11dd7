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
//! are met in time order, each with the cheapest entries that are in time for it. What is taken
//! for one deadline counts for all later ones. The sets of entries in time are nested, so that this
//! greedy choice is optimal (J. Edmonds, Submodular functions, matroids, and certain polyhedra,
//! 1970).
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

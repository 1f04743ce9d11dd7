//! What a vehicle buys that wants something before its departure.
use crate::area::model::deadlines::{Deadlines, SubSlot};
use crate::area::model::energy_by_slot::Shortfall;
use crate::area::model::session::Session;
use crate::area::pricing::buffers::PricingBuffers;
use crate::area::pricing::effective_prices::ShortfallPenalty;

/// Deadline by deadline the cheapest room before it. Going without is room at
/// what the energy is worth: there from the start, but for what may come later.
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
    let (count, later) = (pieces.len() as u32, pieces.len() as u32 + penalty.tiers);
    order_supply(session, deadlines, prices, penalty, &mut buffers.order);
    buffers.taken.clear();
    buffers.taken.resize(later as usize + 1, 0);
    let mut capacity =
        DeadlineCapacity { limits, used: limits.map(|limits| vec![0; limits.len()]) };
    let last = deadlines.needs.len() - 1;
    let mut have = 0;
    for (stage, &need) in deadlines.needs.iter().enumerate() {
        for &(price, at) in &buffers.order {
            if have >= need || price >= f64::INFINITY {
                break;
            }
            let taken = buffers.taken[at as usize];
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
    for (piece, &taken) in pieces.iter().zip(&buffers.taken) {
        if taken > 0 {
            buy(piece.slot as usize, taken);
        }
    }
    let need = buffers.taken[pieces.len()..later as usize].iter().sum();
    Shortfall { missing: need, late: buffers.taken[later as usize] }
}

/// The pieces of a stay from the cheapest on, and behind their numbers those of going
/// without, which come before buying at the same price, as elsewhere.
fn order_supply(
    session: &Session,
    deadlines: &Deadlines,
    prices: &[f64],
    penalty: ShortfallPenalty,
    order: &mut Vec<(f64, u32)>,
) {
    let count = deadlines.sub_slots.len() as u32;
    let real = deadlines.sub_slots.iter().zip(0u32..);
    let shed =
        (0..penalty.tiers).map(|tier| (penalty.of_tier(tier, session.priority), count + tier));
    order.clear();
    order.extend(real.map(|(piece, at)| (prices[piece.slot as usize], at)));
    order.extend(shed);
    if deadlines.later > 0 {
        order.push((penalty.of_late(), count + penalty.tiers));
    }
    let shed_first = |at: u32| (at < count, at);
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(shed_first(a.1).cmp(&shed_first(b.1))));
}

/// Room slot by slot, where it is limited, and what is used of it.
struct DeadlineCapacity<'a> {
    limits: Option<&'a [i64]>,
    used: Option<Vec<i64>>,
}

impl DeadlineCapacity<'_> {
    /// Energy that a piece holds in all, of which some is taken already; all or
    /// nothing of what is wanted for those that only take whole answers.
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

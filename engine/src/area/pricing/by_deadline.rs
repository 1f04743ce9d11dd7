//! What a vehicle buys that wants something before its departure.
use crate::area::model::deadlines::{Piece, Wishes};
use crate::area::model::energy_by_slot::Missing;
use crate::area::model::session::Stay;
use crate::area::pricing::buffers::Scratch;
use crate::area::pricing::effective_prices::Worth;

/// Deadline by deadline the cheapest room before it. Going without is room at
/// what the energy is worth: there from the start, but for what may come later.
pub(crate) fn by_stage(
    stay: &Stay,
    wishes: &Wishes,
    prices: &[f64],
    worth: Worth,
    scratch: &mut Scratch,
    limits: Option<&[i64]>,
    mut buy: impl FnMut(usize, i64),
) -> Missing {
    let pieces = &wishes.pieces;
    let (count, later) = (pieces.len() as u32, pieces.len() as u32 + worth.tiers);
    in_order(stay, wishes, prices, worth, &mut scratch.order);
    scratch.taken.clear();
    scratch.taken.resize(later as usize + 1, 0);
    let mut room = Room { limits, used: limits.map(|limits| vec![0; limits.len()]) };
    let last = wishes.needs.len() - 1;
    let mut have = 0;
    for (stage, &need) in wishes.needs.iter().enumerate() {
        for &(price, at) in &scratch.order {
            if have >= need || price >= f64::INFINITY {
                break;
            }
            let taken = scratch.taken[at as usize];
            let cap = match pieces.get(at as usize) {
                Some(piece) if piece.stage as usize > stage => continue,
                Some(piece) => room.cap(stay, piece, (taken, need - have)),
                None if at < later => worth.part(stay.need - wishes.later, at - count),
                None if stage < last => continue,
                None => wishes.later,
            };
            let part = (cap - taken).min(need - have);
            scratch.taken[at as usize] += part;
            have += part;
            if let (Some(used), Some(piece)) = (&mut room.used, pieces.get(at as usize)) {
                used[piece.slot as usize] += part;
            }
        }
    }
    for (piece, &taken) in pieces.iter().zip(&scratch.taken) {
        if taken > 0 {
            buy(piece.slot as usize, taken);
        }
    }
    let need = scratch.taken[pieces.len()..later as usize].iter().sum();
    Missing { need, later: scratch.taken[later as usize] }
}

/// The pieces of a stay from the cheapest on, and behind their numbers those of going
/// without, which come before buying at the same price, as elsewhere.
fn in_order(
    stay: &Stay,
    wishes: &Wishes,
    prices: &[f64],
    worth: Worth,
    order: &mut Vec<(f64, u32)>,
) {
    let count = wishes.pieces.len() as u32;
    let real = wishes.pieces.iter().zip(0u32..);
    let shed = (0..worth.tiers).map(|tier| (worth.of(tier, stay.priority), count + tier));
    order.clear();
    order.extend(real.map(|(piece, at)| (prices[piece.slot as usize], at)));
    order.extend(shed);
    if wishes.later > 0 {
        order.push((worth.of_later(), count + worth.tiers));
    }
    let shed_first = |at: u32| (at < count, at);
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(shed_first(a.1).cmp(&shed_first(b.1))));
}

/// Room slot by slot, where it is limited, and what is used of it.
struct Room<'a> {
    limits: Option<&'a [i64]>,
    used: Option<Vec<i64>>,
}

impl Room<'_> {
    /// Energy that a piece holds in all, of which some is taken already; all or
    /// nothing of what is wanted for those that only take whole answers.
    fn cap(&self, stay: &Stay, piece: &Piece, (taken, wanted): (i64, i64)) -> i64 {
        let (Some(used), Some(limits)) = (&self.used, self.limits) else { return piece.cap };
        let slot = piece.slot as usize;
        let room = (limits[slot] - used[slot]).max(0);
        let more = (piece.cap - taken).min(wanted);
        if stay.whole && room < more { taken } else { piece.cap.min(taken + room) }
    }
}

//! Slots cut so that everything about a piece is constant.
use crate::case::Case;

/// A usable stretch of time with one price and one power limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) start: i32,
    pub(crate) end: i32,
    pub(crate) price: f64,
    pub(crate) kw: f64,
}

impl Piece {
    /// The most that fits.
    pub(crate) fn kwh(&self) -> f64 {
        self.kw * hours(self.start, self.end)
    }
}

pub(crate) fn hours(start: i32, end: i32) -> f64 {
    f64::from(end - start) / 60.0
}

/// All time that the vehicle may use, cut wherever anything changes.
pub(crate) fn pieces(case: &Case) -> Vec<Piece> {
    let mut cuts: Vec<i32> =
        case.limits.iter().flat_map(|limit| [limit.start, limit.end]).collect();
    cuts.extend(case.targets.iter().filter_map(|target| target.by));
    cuts.push(case.now);
    cuts.extend(case.until);
    cuts.sort_unstable();
    cuts.dedup();

    let mut pieces = Vec::new();
    for slot in &case.slots {
        let inside = cuts.iter().copied().filter(|&cut| slot.start < cut && cut < slot.end);
        let mut start = slot.start;
        for end in inside.chain([slot.end]) {
            if start >= case.now && case.until.is_none_or(|until| end <= until) {
                pieces.push(Piece { start, end, price: slot.price, kw: power(case, start) });
            }
            start = end;
        }
    }
    pieces
}

/// Highest power at a minute.
fn power(case: &Case, minute: i32) -> f64 {
    let now = case.limits.iter().filter(|limit| limit.start <= minute && minute < limit.end);
    now.fold(case.kw, |most, limit| most.min(limit.kw))
}

/// How many pieces end by a deadline.
pub(crate) fn count_by(pieces: &[Piece], by: Option<i32>) -> usize {
    by.map_or(pieces.len(), |by| pieces.iter().take_while(|piece| piece.end <= by).count())
}

/// The most that can be charged by a deadline.
pub(crate) fn possible_by(pieces: &[Piece], by: Option<i32>) -> f64 {
    pieces[..count_by(pieces, by)].iter().fold(0.0, |sum, piece| sum + piece.kwh())
}

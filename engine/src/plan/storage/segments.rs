//! Convex piecewise linear function `F(e)` as a list of segments sorted by slope.
//!
//! A segment is stored energy that can be charged (or kept) at one price per kWh, on which the
//! battery can still decide. On the domain `[low, high]` of `F`:
//!
//! ```text
//! F(low + u) = F(low) + cost of the first u kWh of the list,   high − low = Σ length
//! ```
//!
//! | Operation on `F` | Operation on the list |
//! |---|---|
//! | infimal convolution with a segment | insertion by slope |
//! | lower bound on `e` | cut at the cheap end: that energy must be used |
//! | upper bound on `e` | cut at the dear end: that energy cannot be used |
//!
//! The list rarely holds more segments than charge the battery from empty to full, some tens.
//! An array is faster than a tree at that size: a new segment moves in from the nearer end, one
//! position at a time. Counting its position with vector instructions and moving the rest at
//! once was measured to be slower.

/// Stored energy that can be charged or kept at one price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Segment {
    /// Price per stored kWh.
    pub(crate) slope: f64,
    /// Stored kWh.
    pub(crate) length: f64,
    /// Identifier set by the caller.
    pub(crate) tag: u32,
}

/// Segments by rising slope, in `list[head..tail]` of memory that is reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Segments {
    list: Vec<Segment>,
    head: usize,
    tail: usize,
}

impl Segments {
    /// Empties the list and reserves memory for `most` insertions.
    pub(crate) fn clear(&mut self, most: usize) {
        // Insertions may all go to one side of the middle.
        if self.list.len() < 2 * most {
            self.list.resize(2 * most, Segment { slope: 0.0, length: 0.0, tag: 0 });
        }
        self.head = most;
        self.tail = most;
    }

    /// Adds a segment before all of equal slope.
    #[inline(always)]
    pub(crate) fn insert_first(&mut self, segment: Segment) {
        self.insert(segment, |slope| slope < segment.slope);
    }

    /// Adds a segment after all of equal slope.
    #[inline(always)]
    pub(crate) fn insert_last(&mut self, segment: Segment) {
        self.insert(segment, |slope| slope <= segment.slope);
    }

    /// Inserts a segment after those for which `goes_ahead` holds, from the nearer end.
    #[inline(always)]
    fn insert(&mut self, segment: Segment, goes_ahead: impl Fn(f64) -> bool) {
        let middle = self.head.midpoint(self.tail);
        if self.head < self.tail && !goes_ahead(self.list[middle].slope) {
            // Move the segments before the new one by one position to the front.
            let ahead = &mut self.list[self.head - 1..=middle];
            let mut at = 0;
            while at + 1 < ahead.len() && goes_ahead(ahead[at + 1].slope) {
                ahead[at] = ahead[at + 1];
                at += 1;
            }
            ahead[at] = segment;
            self.head -= 1;
        } else {
            // Move the segments after the new one by one position to the back.
            let behind = &mut self.list[middle..=self.tail];
            let mut at = behind.len() - 1;
            while at > 0 && !goes_ahead(behind[at - 1].slope) {
                behind[at] = behind[at - 1];
                at -= 1;
            }
            behind[at] = segment;
            self.tail += 1;
        }
    }

    /// Cuts `energy` off the cheap end and calls `cut` with the tag and loss of each segment.
    ///
    /// Returns the slope of the last segment cut, and the energy that remains when the list is
    /// empty.
    #[inline(always)]
    pub(crate) fn cut_left(&mut self, energy: f64, mut cut: impl FnMut(u32, f64)) -> (f64, f64) {
        let mut missing = energy;
        let mut slope = f64::NEG_INFINITY;
        while missing > 0.0 && self.head < self.tail {
            let segment = &mut self.list[self.head];
            slope = segment.slope;
            if segment.length > missing {
                cut(segment.tag, missing);
                segment.length -= missing;
                return (slope, 0.0);
            }
            cut(segment.tag, segment.length);
            missing -= segment.length;
            self.head += 1;
        }
        (slope, missing)
    }

    /// Cuts `energy` off the dear end. Returns the slope of the last segment cut, and the energy
    /// that remains when the list is empty.
    #[inline(always)]
    pub(crate) fn cut_right(&mut self, energy: f64) -> (f64, f64) {
        let mut excess = energy;
        let mut slope = f64::INFINITY;
        while excess > 0.0 && self.head < self.tail {
            let segment = &mut self.list[self.tail - 1];
            slope = segment.slope;
            if segment.length > excess {
                segment.length -= excess;
                return (slope, 0.0);
            }
            excess -= segment.length;
            self.tail -= 1;
        }
        (slope, excess)
    }

    /// Multiplies all lengths by `factor` and divides all slopes by it: another unit of energy. A
    /// segment that becomes shorter than `length_min` is passed to `vanish`, and left without length.
    pub(crate) fn scale(&mut self, factor: f64, length_min: f64, mut vanish: impl FnMut(Segment)) {
        for segment in &mut self.list[self.head..self.tail] {
            if segment.length * factor < length_min {
                vanish(*segment);
                segment.length = 0.0;
            }
            segment.length *= factor;
            segment.slope /= factor;
        }
    }

    /// Segments by rising slope.
    #[inline(always)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = Segment> + '_ {
        self.list[self.head..self.tail].iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(slope: f64, tag: u32) -> Segment {
        Segment { slope, length: 1.0, tag }
    }

    fn tags(list: &Segments) -> Vec<u32> {
        list.iter().map(|segment| segment.tag).collect()
    }

    #[test]
    fn ties_have_a_place() {
        let mut list = Segments::default();
        list.clear(6);
        for (slope, tag) in [(2.0, 1), (1.0, 2), (2.0, 3)] {
            list.insert_last(of(slope, tag));
        }
        list.insert_first(of(2.0, 4));
        list.insert_first(of(0.0, 5));
        assert_eq!(tags(&list), [5, 2, 4, 1, 3]);
        list.clear(1);
        assert_eq!(tags(&list), [0; 0]);
    }

    #[test]
    fn both_ends_are_cut() {
        let mut list = Segments::default();
        list.clear(4);
        (1..=3).for_each(|tag| list.insert_last(of(f64::from(tag), tag)));
        let mut used = Vec::new();
        assert_eq!(list.cut_left(1.5, |tag, energy| used.push((tag, energy))), (2.0, 0.0));
        assert_eq!(used, [(1, 1.0), (2, 0.5)]);
        assert_eq!(list.cut_right(1.25), (2.0, 0.0));
        assert_eq!(list.iter().collect::<Vec<_>>(), [Segment { slope: 2.0, length: 0.25, tag: 2 }]);
        assert_eq!(list.cut_left(1.0, |_, _| ()), (2.0, 0.75));
        assert_eq!(list.cut_right(1.0), (f64::INFINITY, 1.0));
    }
}

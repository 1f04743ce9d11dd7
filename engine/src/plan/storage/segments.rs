//! A cost-to-reach function as a sorted list of segments.
//!
//! The list holds what the battery may still decide: a segment is stored
//! energy that can be had (or kept) at one price per kWh. Segments are cut
//! from the left when they must be used and from the right when they cannot.
//! It rarely holds more of them than charge the battery from empty to full,
//! some tens, so that an array beats trees: a new segment walks in from the
//! nearer end, and what it passes moves over. (Counting the position on whole
//! vectors and moving the rest in one go was measured to be slower.)

/// Stored energy that can be had at one price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Segment {
    /// Price per stored kWh.
    pub(crate) slope: f64,
    /// Stored kWh.
    pub(crate) length: f64,
    /// What it is for; the caller's business.
    pub(crate) tag: u32,
}

/// Segments, cheapest first, in memory that is used again and again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Segments {
    list: Vec<Segment>,
    head: usize,
    tail: usize,
}

impl Segments {
    /// Empties the list and makes room for `most` insertions.
    pub(crate) fn clear(&mut self, most: usize) {
        // Insertions may all go to one side of the middle.
        if self.list.len() < 2 * most {
            self.list.resize(2 * most, Segment { slope: 0.0, length: 0.0, tag: 0 });
        }
        self.head = most;
        self.tail = most;
    }

    /// Adds a segment ahead of all that cost as much.
    #[inline(always)]
    pub(crate) fn insert_first(&mut self, segment: Segment) {
        self.insert(segment, |slope| slope < segment.slope);
    }

    /// Adds a segment behind all that cost as much.
    #[inline(always)]
    pub(crate) fn insert_last(&mut self, segment: Segment) {
        self.insert(segment, |slope| slope <= segment.slope);
    }

    /// Moves segments over one by one, from the end that is nearer.
    #[inline(always)]
    fn insert(&mut self, segment: Segment, goes_ahead: impl Fn(f64) -> bool) {
        let middle = self.head.midpoint(self.tail);
        if self.head < self.tail && !goes_ahead(self.list[middle].slope) {
            let ahead = &mut self.list[self.head - 1..=middle];
            let mut at = 0;
            while at + 1 < ahead.len() && goes_ahead(ahead[at + 1].slope) {
                ahead[at] = ahead[at + 1];
                at += 1;
            }
            ahead[at] = segment;
            self.head -= 1;
        } else {
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

    /// Cuts `energy` off the cheap end and tells what each segment loses.
    ///
    /// Returns the slope of the last one cut, and what could not be cut
    /// because the list ran out.
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

    /// Cuts `energy` off the dear end; returns the slope of the last one cut,
    /// and what could not be cut.
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

    /// What is left, cheapest first.
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

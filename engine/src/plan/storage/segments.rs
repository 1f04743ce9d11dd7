//! A cost-to-reach function as a sorted list of segments.
//!
//! The list holds what the battery may still decide: a segment is stored
//! energy that can be had (or kept) at one price per kWh. Segments are cut
//! from the left when they must be used and from the right when they cannot.
//! It rarely holds more of them than charge the battery from empty to full,
//! some tens, so that arrays beat trees: a position is counted, not searched,
//! and the shorter side moves over.

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
    slopes: Vec<f64>,
    rest: Vec<(f64, u32)>,
    head: usize,
    tail: usize,
}

impl Segments {
    /// Empties the list and makes room for `most` insertions.
    pub(crate) fn clear(&mut self, most: usize) {
        // Insertions may all go to one side of the middle.
        if self.slopes.len() < 2 * most {
            self.slopes.resize(2 * most, 0.0);
            self.rest.resize(2 * most, (0.0, 0));
        }
        self.head = most;
        self.tail = most;
    }

    /// Adds a segment ahead of all that cost as much.
    #[inline(always)]
    pub(crate) fn insert_first(&mut self, segment: Segment) {
        let cheaper = self.slopes[self.head..self.tail]
            .iter()
            .map(|&slope| usize::from(slope < segment.slope))
            .sum();
        self.insert(cheaper, segment);
    }

    /// Adds a segment behind all that cost as much.
    #[inline(always)]
    pub(crate) fn insert_last(&mut self, segment: Segment) {
        let before = self.slopes[self.head..self.tail]
            .iter()
            .map(|&slope| usize::from(slope <= segment.slope))
            .sum();
        self.insert(before, segment);
    }

    #[inline(always)]
    fn insert(&mut self, position: usize, segment: Segment) {
        let at = if position < (self.tail - self.head) / 2 {
            self.slopes.copy_within(self.head..self.head + position, self.head - 1);
            self.rest.copy_within(self.head..self.head + position, self.head - 1);
            self.head -= 1;
            self.head + position
        } else {
            let at = self.head + position;
            self.slopes.copy_within(at..self.tail, at + 1);
            self.rest.copy_within(at..self.tail, at + 1);
            self.tail += 1;
            at
        };
        self.slopes[at] = segment.slope;
        self.rest[at] = (segment.length, segment.tag);
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
            let (length, tag) = self.rest[self.head];
            slope = self.slopes[self.head];
            if length > missing {
                cut(tag, missing);
                self.rest[self.head].0 = length - missing;
                return (slope, 0.0);
            }
            cut(tag, length);
            missing -= length;
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
            let length = self.rest[self.tail - 1].0;
            slope = self.slopes[self.tail - 1];
            if length > excess {
                self.rest[self.tail - 1].0 = length - excess;
                return (slope, 0.0);
            }
            excess -= length;
            self.tail -= 1;
        }
        (slope, excess)
    }

    /// What is left, cheapest first.
    #[inline(always)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = Segment> + '_ {
        let slopes = self.slopes[self.head..self.tail].iter();
        let rest = self.rest[self.head..self.tail].iter();
        slopes.zip(rest).map(|(&slope, &(length, tag))| Segment { slope, length, tag })
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

//! Marginal costs of the energy still wanted, in rising order, for all states of a slot.
use crate::tolerance::SUM_ROUNDING;

/// Marginal costs of `W_t(·, s)`, with the same segments for each state `s`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MarginalCosts {
    /// Ends of the segments in kWh, rising; the first starts at 0. Empty if no energy is wanted.
    ends: Vec<f64>,
    /// Cost per kWh by state and segment.
    costs: Vec<f64>,
}

/// Origin of the segments of a slot: those of the slot after it, and the same moved up by the
/// energy of the slot.
struct Sources {
    ends: Vec<f64>,
    /// For each segment, that of the slot after it that holds it.
    plain: Vec<usize>,
    /// For each segment, the number of ends of the slot after it which, moved up, lie before its end.
    moved: Vec<usize>,
}

impl MarginalCosts {
    /// One segment at one cost, for each state.
    pub(crate) fn constant(kwh: f64, cost: f64, states: usize) -> Self {
        let ends = if kwh > 0.0 { vec![kwh] } else { Vec::new() };
        Self { costs: vec![cost; states * ends.len()], ends }
    }

    /// Segments by their rising ends, and their costs by state and segment.
    pub(crate) fn from_parts(ends: Vec<f64>, costs: Vec<f64>) -> Self {
        Self { ends, costs }
    }

    /// Ends of the segments in kWh.
    pub(crate) fn ends(&self) -> &[f64] {
        &self.ends
    }

    /// Costs of a state.
    pub(crate) fn costs(&self, state: usize) -> &[f64] {
        &self.costs[state * self.ends.len()..][..self.ends.len()]
    }

    /// Energy whose marginal cost is below a price: what to leave for later at that price.
    pub(crate) fn cheaper_than(&self, state: usize, price: f64) -> f64 {
        let segments = self.costs(state).partition_point(|&cost| cost < price);
        segments.checked_sub(1).map_or(0.0, |last| self.ends[last])
    }

    /// Cost of the next kWh beyond an energy; beyond the last segment, of its last kWh. None if there
    /// is no segment.
    pub(crate) fn next_cost(&self, state: usize, kwh: f64) -> Option<f64> {
        let costs = self.costs(state);
        let index = self.ends.partition_point(|&end| end <= kwh);
        costs.get(index).or(costs.last()).copied()
    }

    /// Cost of an energy in a state: the sum of its cheapest segments.
    pub(crate) fn total(&self, state: usize, kwh: f64) -> f64 {
        let mut start = 0.0;
        let mut total = 0.0;
        for (&end, &cost) in self.ends.iter().zip(self.costs(state)) {
            if start >= kwh {
                break;
            }
            total += cost * (end.min(kwh) - start);
            start = end;
        }
        total
    }

    /// Marginal costs once each state may also charge up to `most_kwh` at its price: `V_t` from `W_t`.
    /// The cheapest energy up to that wanted stays, so the last end is the same.
    pub(crate) fn with_slot(&self, most_kwh: f64, prices: &[f64]) -> Self {
        let sources = self.sources(most_kwh);
        let mut costs = Vec::with_capacity(prices.len() * sources.ends.len());
        for (state, &price) in prices.iter().enumerate() {
            let later = self.costs(state);
            let cheaper = later.partition_point(|&cost| cost < price);
            costs.extend(sources.plain.iter().zip(&sources.moved).map(|(&plain, &moved)| {
                if plain < cheaper {
                    later[plain]
                } else if moved <= cheaper {
                    price
                } else {
                    later[moved - 1]
                }
            }));
        }
        Self { ends: sources.ends, costs }
    }

    /// Ends of all segments with a slot of `most_kwh` in any place, and where they come from.
    fn sources(&self, most_kwh: f64) -> Sources {
        let Some(&whole) = self.ends.last() else {
            return Sources { ends: Vec::new(), plain: Vec::new(), moved: Vec::new() };
        };
        let rounding = SUM_ROUNDING * whole;
        // Ends moved up; that of the empty part before the first segment is among them.
        let moved_end =
            |index: usize| if index == 0 { most_kwh } else { self.ends[index - 1] + most_kwh };
        let mut sources = Sources {
            ends: Vec::with_capacity(self.ends.len() + 1),
            plain: Vec::with_capacity(self.ends.len() + 1),
            moved: Vec::with_capacity(self.ends.len() + 1),
        };
        let (mut plain, mut moved, mut start) = (0, 0, 0.0);
        while plain < self.ends.len() {
            let is_moved = moved <= self.ends.len() && moved_end(moved) < self.ends[plain];
            let end = if is_moved { moved_end(moved) } else { self.ends[plain] };
            if end > start + rounding || end >= whole {
                sources.ends.push(end);
                sources.plain.push(plain);
                sources.moved.push(moved);
                start = end;
            }
            if is_moved {
                moved += 1;
            } else {
                plain += 1;
            }
        }
        sources
    }

    /// Expectation over the states that follow, with a probability of leaving: `W_t` from
    /// `V_{t+1}`. Segments that no state tells apart become one.
    pub(crate) fn expected<'a>(
        &self,
        (leaving, shortfall_price): (f64, f64),
        states: usize,
        after: impl Fn(usize) -> &'a [(usize, f64)],
    ) -> Self {
        let segments = self.ends.len();
        let mut costs = vec![leaving * shortfall_price; states * segments];
        for (state, row) in costs.chunks_exact_mut(segments.max(1)).enumerate() {
            for &(to, probability) in after(state) {
                let weight = (1.0 - leaving) * probability;
                for (cost, next) in row.iter_mut().zip(self.costs(to)) {
                    *cost += weight * next;
                }
            }
        }
        Self { ends: self.ends.clone(), costs }.joined()
    }

    /// Without ends at which the cost of no state changes.
    fn joined(self) -> Self {
        let segments = self.ends.len();
        let changes = |index: &usize| {
            index + 1 == segments
                || self.costs.chunks_exact(segments).any(|row| row[*index] < row[index + 1])
        };
        let kept: Vec<usize> = (0..segments).filter(changes).collect();
        if kept.len() == segments {
            return self;
        }
        let costs =
            self.costs.chunks_exact(segments).flat_map(|row| kept.iter().map(|&index| row[index]));
        Self { costs: costs.collect(), ends: kept.iter().map(|&index| self.ends[index]).collect() }
    }
}

//! Battery behind a meter for given levels: least cost, path, and slopes of the cost in the levels.
//!
//! A slot's cost in the change `x` of the stored energy is convex piecewise linear: the hull of the
//! cost of energy, with a price on each kWh through the meter above the level. Its pieces go into
//! the segment method of [`dynamic_programme`](crate::plan::storage::dynamic_programme).
use crate::plan::storage::segments::{Segment, Segments};
use crate::tolerance::{SUM_DRIFT, SUM_ROUNDING};

/// A slot of the meter and of the battery. Energies are in kWh, those of the battery stored.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct MeterSlot {
    /// Length in hours.
    pub(crate) hours: f64,
    /// Energy of the rest of the connection, negative into the grid.
    pub(crate) load: f64,
    /// Price to buy and to sell, per kWh through the meter.
    pub(crate) import: f64,
    pub(crate) export: f64,
    /// Most that charging adds and discharging takes.
    pub(crate) charge: f64,
    pub(crate) discharge: f64,
    /// Consumption of driving.
    pub(crate) driving: f64,
    /// Least and highest level at the end.
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// True if the battery may be above its charge limit, where it is not charged.
    pub(crate) may_be_above: bool,
    /// Group of the level, and weight of the window; none if it does not count.
    pub(crate) level: Option<(usize, f64)>,
}

/// Battery and its slots.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Programme {
    pub(crate) stored: f64,
    pub(crate) efficiency_charge: f64,
    pub(crate) efficiency_discharge: f64,
    /// Wear per stored kWh that is discharged.
    pub(crate) wear: f64,
    /// Value of a kWh stored at the end.
    pub(crate) end_value: f64,
    pub(crate) slots: Vec<MeterSlot>,
}

/// Part of a slot's cost with one slope.
#[derive(Debug, Clone, Copy, PartialEq)]
struct CostPiece {
    from: f64,
    to: f64,
    slope: f64,
}

/// Pieces of one slot, in the order of `x`: few, so they are kept in place.
#[derive(Debug, Clone, Copy)]
struct Pieces {
    list: [CostPiece; 8],
    count: usize,
}

/// Cost of the best path for given levels.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct LevelSolution {
    /// Cost of the relaxation, with the price of energy above the levels.
    pub(crate) cost: f64,
    /// Change of `cost` per kW of each level; never positive.
    pub(crate) slopes: Vec<f64>,
    /// Cost of energy, wear and stored energy, without a price of energy above the levels.
    pub(crate) executed: f64,
    /// Energy above the levels in kWh.
    pub(crate) excess: f64,
    /// Change of the stored energy in each slot.
    pub(crate) change: Vec<f64>,
    /// Multipliers of balance and levels.
    pub(crate) multipliers: Multipliers,
}

/// Multipliers of a battery at given levels; they make a lower bound
/// ([`certificate`](super::certificate)).
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Multipliers {
    /// Value of a stored kWh in each slot, `λ_t`.
    pub(crate) marginal: Vec<f64>,
    /// Price of a kW of the level that each slot pays, `μ_t`; 0 or more.
    pub(crate) power_price: Vec<f64>,
}

impl Multipliers {
    /// Mean of several multipliers with weights that sum to one.
    pub(crate) fn mean<'a>(count: usize, weighted: impl Iterator<Item = (f64, &'a Self)>) -> Self {
        let mut mean = Self { marginal: vec![0.0; count], power_price: vec![0.0; count] };
        for (weight, multipliers) in weighted {
            let add = |sum: &mut Vec<f64>, own: &[f64]| {
                sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += weight * own);
            };
            add(&mut mean.marginal, &multipliers.marginal);
            add(&mut mean.power_price, &multipliers.power_price);
        }
        mean
    }
}

/// Memory of an evaluation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    segments: Segments,
    /// Energy used of each segment.
    used: Vec<f64>,
    /// First segment of each slot.
    first: Vec<u32>,
    cuts: Vec<(f64, f64)>,
}

impl Pieces {
    const fn new() -> Self {
        Self { list: [CostPiece { from: 0.0, to: 0.0, slope: 0.0 }; 8], count: 0 }
    }

    fn iter(&self) -> impl Iterator<Item = &CostPiece> {
        self.list[..self.count].iter()
    }

    /// Adds a piece after the others, if it has a length.
    fn push(&mut self, from: f64, to: f64, slope: f64) {
        if to > from {
            self.list[self.count] = CostPiece { from, to, slope };
            self.count += 1;
        }
    }

    /// Joins pieces until their slopes rise: the convex hull. Returns true if any were joined.
    fn convexify(&mut self) -> bool {
        let mut kept = 0;
        let mut joined = false;
        for place in 0..self.count {
            let mut piece = self.list[place];
            while kept > 0 && self.list[kept - 1].slope > piece.slope {
                let before = self.list[kept - 1];
                let (a, b) = (before.to - before.from, piece.to - piece.from);
                let slope = (before.slope * a + piece.slope * b) / (a + b);
                piece = CostPiece { from: before.from, to: piece.to, slope };
                kept -= 1;
                joined = true;
            }
            self.list[kept] = piece;
            kept += 1;
        }
        self.count = kept;
        joined
    }

    /// Slope at `x`; of two at a corner the right one.
    fn slope_at(&self, x: f64) -> f64 {
        let found = self.iter().find(|piece| x < piece.to);
        found.or(self.list[..self.count].last()).map_or(0.0, |piece| piece.slope)
    }
}

impl Programme {
    /// Energy into the battery at its plug for a change of the stored energy, negative out of it.
    pub(crate) fn energy_at_plug(&self, change: f64) -> f64 {
        if change > 0.0 {
            change / self.efficiency_charge
        } else {
            change * self.efficiency_discharge
        }
    }

    /// Energy through the meter for a change of the stored energy.
    pub(crate) fn metered(&self, slot: &MeterSlot, change: f64) -> f64 {
        slot.load + self.energy_at_plug(change)
    }

    /// Change of the stored energy for an energy through the meter.
    fn change_for(&self, slot: &MeterSlot, metered: f64) -> f64 {
        let net = metered - slot.load;
        if net > 0.0 { net * self.efficiency_charge } else { net / self.efficiency_discharge }
    }

    /// Cost of energy and wear of a slot.
    pub(crate) fn cost_of(&self, slot: &MeterSlot, change: f64) -> f64 {
        let metered = self.metered(slot, change);
        let price = if metered < 0.0 { slot.export } else { slot.import };
        price * metered + self.wear * (-change).max(0.0)
    }

    /// Pieces of the cost of energy, and whether they are a hull.
    fn energy_pieces(&self, slot: &MeterSlot) -> (Pieces, bool) {
        let (low, high) = (-slot.discharge, slot.charge);
        // Below `turn` the meter runs backwards.
        let turn = self.change_for(slot, 0.0);
        let mut pieces = Pieces::new();
        let discharging = |price: f64| price * self.efficiency_discharge - self.wear;
        let charging = |price: f64| price / self.efficiency_charge;
        pieces.push(low, turn.min(0.0), discharging(slot.export));
        pieces.push(turn.max(low).min(0.0), 0.0, discharging(slot.import));
        pieces.push(0.0, turn.clamp(0.0, high), charging(slot.export));
        pieces.push(turn.clamp(0.0, high), high, charging(slot.import));
        let is_hull = pieces.convexify();
        (pieces, is_hull)
    }

    /// True if buying and selling at once would pay in the slot.
    pub(crate) fn is_hull(&self, slot: &MeterSlot) -> bool {
        self.energy_pieces(slot).1
    }

    /// Pieces with the price of energy above the level, of which the battery changes by `x_level`.
    fn priced_pieces(&self, pieces: &Pieces, x_level: f64, penalty: f64) -> Pieces {
        let mut priced = Pieces::new();
        for piece in pieces.iter() {
            // Cuts where the level begins, and above it where charging begins.
            let level = x_level.clamp(piece.from, piece.to);
            let zero = 0.0_f64.max(level).clamp(piece.from, piece.to);
            priced.push(piece.from, level, piece.slope);
            priced.push(level, zero, piece.slope + penalty * self.efficiency_discharge);
            priced.push(zero, piece.to, piece.slope + penalty / self.efficiency_charge);
        }
        priced
    }

    /// Solves the battery for levels in kW; `penalty` is the price of energy above each, per kW.
    pub(crate) fn evaluate_levels(
        &self,
        levels: &[f64],
        penalties: &[f64],
        memory: &mut Memory,
    ) -> LevelSolution {
        self.sweep_slots(levels, penalties, memory);
        for segment in memory.segments.iter() {
            if segment.slope < self.end_value {
                memory.used[segment.tag as usize] += segment.length;
            }
        }
        let mut found =
            LevelSolution { slopes: vec![0.0; levels.len()], ..LevelSolution::default() };
        self.set_marginal(memory, &mut found);
        self.read_solution(levels, penalties, memory, &mut found);
        found
    }

    /// Change at which a slot's level is reached, and the price of energy above it.
    fn level_of(
        &self,
        slot: &MeterSlot,
        levels: &[f64],
        penalties: &[f64],
    ) -> Option<(usize, f64, f64)> {
        let (group, weight) = slot.level?;
        let energy = levels[group] * slot.hours / weight;
        (energy.is_finite()).then(|| {
            // A kWh in the slot is `weight / hours` kW of the level.
            (group, self.change_for(slot, energy), penalties[group] * weight / slot.hours)
        })
    }

    fn sweep_slots(&self, levels: &[f64], penalties: &[f64], memory: &mut Memory) {
        memory.segments.clear(8 * self.slots.len() + 1);
        memory.used.clear();
        memory.first.clear();
        memory.cuts.clear();
        let (mut low, mut high) = (self.stored, self.stored);
        for slot in &self.slots {
            memory.first.push(memory.used.len() as u32);
            low -= slot.discharge + slot.driving;
            high += slot.charge - slot.driving;
            let (energy, _) = self.energy_pieces(slot);
            let pieces = match self.level_of(slot, levels, penalties) {
                Some((_, x, penalty)) => self.priced_pieces(&energy, x, penalty),
                None => energy,
            };
            for piece in pieces.iter() {
                let tag = memory.used.len() as u32;
                memory.used.push(0.0);
                let segment = Segment { slope: piece.slope, length: piece.to - piece.from, tag };
                if piece.to <= 0.0 {
                    memory.segments.insert_first(segment);
                } else {
                    memory.segments.insert_last(segment);
                }
            }
            let mut cuts = (f64::NEG_INFINITY, f64::INFINITY);
            if low < slot.least {
                let used = &mut memory.used;
                let take = |tag: u32, energy: f64| used[tag as usize] += energy;
                cuts.0 = memory.segments.cut_left(slot.least - low, take).0;
                low = slot.least;
            }
            if high > slot.most {
                cuts.1 = memory.segments.cut_right(high - slot.most).0;
                high = slot.most;
            }
            memory.cuts.push(cuts);
        }
    }

    fn set_marginal(&self, memory: &Memory, found: &mut LevelSolution) {
        let mut value = self.end_value;
        let marginals = &mut found.multipliers.marginal;
        marginals.resize(self.slots.len(), 0.0);
        for (marginal, &(least, most)) in marginals.iter_mut().zip(&memory.cuts).rev() {
            value = value.max(least).min(most);
            *marginal = value;
        }
    }

    /// Reads changes, costs and slopes.
    fn read_solution(
        &self,
        levels: &[f64],
        penalties: &[f64],
        memory: &Memory,
        found: &mut LevelSolution,
    ) {
        let mut stored = self.stored;
        found.multipliers.power_price.resize(self.slots.len(), 0.0);
        for (index, slot) in self.slots.iter().enumerate() {
            let first = memory.first[index] as usize;
            let end = memory.first.get(index + 1).map_or(memory.used.len(), |&end| end as usize);
            let used: f64 = memory.used[first..end].iter().sum();
            let largest = slot.charge.max(slot.discharge).max(slot.most);
            let net = (used - slot.discharge).clamp(-slot.discharge, slot.charge);
            let change = if net.abs() <= SUM_ROUNDING * largest { 0.0 } else { net };
            stored += change - slot.driving;
            found.change.push(change);
            let executed = self.cost_of(slot, change);
            found.executed += executed;
            let (energy, is_hull) = self.energy_pieces(slot);
            found.cost += if is_hull { self.hulled_cost(slot, &energy, change) } else { executed };
            let Some((group, x, penalty)) = self.level_of(slot, levels, penalties) else {
                continue;
            };
            let level = levels[group] * slot.hours / slot.level.map_or(1.0, |level| level.1);
            let above = (self.metered(slot, change) - level).max(0.0);
            // Rounding of the path is no energy above the level.
            let above = if above <= SUM_DRIFT * largest { 0.0 } else { above };
            found.cost += penalty * above;
            found.excess += above;
            let value = found.multipliers.marginal[index];
            let price = penalty_share(self, &energy, slot, (x, value, penalty)) * slot.hours
                / slot.level.map_or(1.0, |level| level.1);
            found.multipliers.power_price[index] = price;
            found.slopes[group] -= price;
        }
        let gained = self.end_value * (stored - self.stored);
        found.cost -= gained;
        found.executed -= gained;
    }

    /// Cost of a change on the hull.
    fn hulled_cost(&self, slot: &MeterSlot, hull: &Pieces, change: f64) -> f64 {
        let below =
            hull.iter().map(|piece| piece.slope * (change.min(piece.to) - piece.from).max(0.0));
        self.cost_of(slot, -slot.discharge) + below.sum::<f64>()
    }
}

/// Multiplier of a slot's level per kWh: what one more kWh below the level saves, at most the price
/// of one above it.
fn penalty_share(
    programme: &Programme,
    pieces: &Pieces,
    slot: &MeterSlot,
    (x, value, penalty): (f64, f64, f64),
) -> f64 {
    if x >= slot.charge {
        return 0.0;
    }
    if x < -slot.discharge {
        return penalty;
    }
    let per_change =
        if x < 0.0 { programme.efficiency_discharge } else { 1.0 / programme.efficiency_charge };
    ((value - pieces.slope_at(x)) / per_change).clamp(0.0, penalty)
}

//! One vehicle of an area, made ready for pricing, and blocks of like vehicles.

use crate::time::horizon::Horizon;

/// One vehicle, ready to be asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Session {
    /// First slot of the stay.
    pub(crate) first: u32,
    /// First slot after it.
    pub(crate) last: u32,
    /// Row of the fleet.
    pub(crate) row: u32,
    /// Its node.
    pub(crate) node: u32,
    /// Row of the price table.
    pub(crate) curve: u32,
    /// Position among the wishes, or [`NO_DEADLINES`].
    pub(crate) deadlines: u32,
    /// Position among the batteries, or [`NO_BATTERY`].
    pub(crate) battery: u32,
    /// Energy that can be bought within the stay if no limit binds; of a
    /// vehicle that discharges, stored energy to be gained.
    pub(crate) need: i64,
    /// Energy of the first slot at full power.
    pub(crate) first_cap: i64,
    /// Energy of the last slot at full power.
    pub(crate) last_cap: i64,
    /// Energy of a whole slot, where all slots have one length.
    pub(crate) cap: i64,
    /// Grains in a microsecond.
    pub(crate) rate: f64,
    /// What its share of a shortage is weighed with; the largest is 1.
    pub(crate) priority: f32,
    /// Whether it only ever gets a whole answer.
    pub(crate) is_indivisible: bool,
}

impl Session {
    /// Energy that a slot of the stay holds at full power.
    #[inline(always)]
    pub(crate) fn cap(&self, horizon: &Horizon, slot: usize) -> i64 {
        if slot == self.first as usize {
            self.first_cap
        } else if slot + 1 == self.last as usize {
            self.last_cap
        } else if horizon.step().is_some() {
            self.cap
        } else {
            (self.rate * horizon.lengths()[slot]).round() as i64
        }
    }

    /// The same for all slots of the stay.
    #[inline(always)]
    pub(crate) fn caps(&self, horizon: &Horizon, caps: &mut Vec<f64>) {
        let count = (self.last - self.first) as usize;
        caps.clear();
        if horizon.step().is_none() {
            caps.extend(
                (self.first..self.last).map(|slot| self.cap(horizon, slot as usize) as f64),
            );
            return;
        }
        caps.resize(count, self.cap as f64);
        if let Some(last) = caps.last_mut() {
            *last = self.last_cap as f64;
        }
        if let Some(first) = caps.first_mut() {
            *first = self.first_cap as f64;
        }
    }
}

/// A run of vehicles that share a node.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Positions in the order of the stays.
    pub(crate) sessions: std::ops::Range<usize>,
    pub(crate) node: u32,
    /// The price curve of all of them, if it is one.
    pub(crate) curve: Option<u32>,
    /// The group that the block belongs to.
    pub(crate) group: usize,
}

/// Stands for a vehicle that only charges.
pub(crate) const NO_BATTERY: u32 = u32::MAX;

/// Stands for a vehicle without targets before its departure.
pub(crate) const NO_DEADLINES: u32 = u32::MAX;

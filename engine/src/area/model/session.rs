//! Session of one vehicle, ready for pricing, and blocks of like sessions.

use crate::time::horizon::Horizon;

/// Kind of demand of a session. A vehicle with a battery has no deadlines before departure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// Energy by departure alone.
    Departure,
    /// Energy by deadlines before departure too, at this position in `Sessions::deadlines`.
    Deadlines(u32),
    /// Stored energy of a battery that also discharges, or is filled at negative prices, at this
    /// position in `Sessions::batteries`.
    Battery(u32),
}

/// Session of a vehicle: its stay as a run of slots, its need and its power. Energy is in µWh.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Session {
    /// First slot of the stay.
    pub(crate) first: u32,
    /// First slot after the stay.
    pub(crate) end: u32,
    /// Row of the fleet.
    pub(crate) row: u32,
    /// Position of the node.
    pub(crate) node: u32,
    /// Row of the price table.
    pub(crate) curve: u32,
    /// Kind of demand, with the position of its data.
    pub(crate) demand: Demand,
    /// Energy to be bought at the plug, at most what the stay allows if no limit binds. With a
    /// battery, stored energy to be gained.
    pub(crate) need: i64,
    /// Energy of the first slot at full power.
    pub(crate) first_cap: i64,
    /// Energy of the last slot at full power.
    pub(crate) last_cap: i64,
    /// Energy of a whole slot at full power if all slots have one length, else 0.
    pub(crate) cap: i64,
    /// Highest charging power, in µWh per microsecond.
    pub(crate) rate: f64,
    /// Weight of the vehicle in a shortage, as a part of the largest one.
    pub(crate) priority: f32,
    /// True if the vehicle is on or off, and therefore follows whole columns only.
    pub(crate) is_indivisible: bool,
}

impl Session {
    /// Returns true if the vehicle also discharges, or is filled at negative prices.
    #[inline(always)]
    pub(crate) fn has_battery(&self) -> bool {
        matches!(self.demand, Demand::Battery(_))
    }

    /// Energy of a slot of the session at full power, in µWh.
    #[inline(always)]
    pub(crate) fn cap(&self, horizon: &Horizon, slot: usize) -> i64 {
        if slot == self.first as usize {
            self.first_cap
        } else if slot + 1 == self.end as usize {
            self.last_cap
        } else if horizon.step().is_some() {
            self.cap
        } else {
            (self.rate * horizon.lengths()[slot]).round() as i64
        }
    }

    /// Writes the energy of each slot of the session at full power into `caps`, in µWh.
    #[inline(always)]
    pub(crate) fn caps(&self, horizon: &Horizon, caps: &mut Vec<f64>) {
        let count = (self.end - self.first) as usize;
        caps.clear();
        if horizon.step().is_none() {
            caps.extend((self.first..self.end).map(|slot| self.cap(horizon, slot as usize) as f64));
            return;
        }
        caps.resize(count, self.cap as f64);
        // The first slot last: it is the one that counts if it is the only one.
        if let Some(last) = caps.last_mut() {
            *last = self.last_cap as f64;
        }
        if let Some(first) = caps.first_mut() {
            *first = self.first_cap as f64;
        }
    }
}

/// Block of consecutive sessions of one node and group, priced as one piece of work.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Positions in `Sessions::each`.
    pub(crate) sessions: std::ops::Range<usize>,
    /// Position of the node.
    pub(crate) node: u32,
    /// Price curve that all of them share, or `None` if each is priced on its own.
    pub(crate) curve: Option<u32>,
    /// Position of the group.
    pub(crate) group: usize,
}

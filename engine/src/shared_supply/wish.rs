//! Request that shares a power limit with others, and the shared power limit.
use std::collections::BTreeMap;

use crate::area::problem::limits::Profile;
use crate::plan::charge::request::ChargeProblem;
use crate::shared_supply::limit::SharedLimit;
use crate::shared_supply::wrap_around::mean_kw;
use crate::time::horizon::Horizon;
use crate::units::Power;

/// Request of one vehicle or device within a shared power limit.
#[derive(Debug, Clone, Copy)]
pub struct SharedWish<'a> {
    /// Charging problem.
    pub problem: &'a ChargeProblem,
    /// Position of its price curve.
    pub curve: usize,
    /// Power that it takes while it is on. It may differ from that of the request: one in hours
    /// states 1 kW.
    pub power: Power,
    /// True if it is on now, or has been told to start.
    pub is_on: bool,
}

/// Shared power limit and its headroom.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedPower {
    /// Highest power of all requests together at any time.
    pub limit: SharedLimit,
    /// Part of it that is kept back after the current slot, and half as much in that slot, because
    /// vehicles start late, arrive and leave.
    pub headroom: f64,
}

impl SharedPower {
    /// Power limit with a headroom of a tenth.
    #[must_use]
    pub fn with_headroom(limit: impl Into<SharedLimit>) -> Self {
        Self { limit: limit.into(), headroom: 0.1 }
    }

    /// Power limit without headroom.
    #[must_use]
    pub fn whole(limit: impl Into<SharedLimit>) -> Self {
        Self { limit: limit.into(), headroom: 0.0 }
    }

    /// Limit on the mean power of each slot for vehicles of the given powers, by [`mean_kw`]. The
    /// limit of a slot is that at its start.
    pub(crate) fn profile(&self, powers_kw: &[f64], horizon: &Horizon) -> Profile {
        let kept_back = |limit: Power, part| {
            Power::from_kw(mean_kw(powers_kw.iter().copied(), limit.as_kw(), part)).ok()
        };
        // Many slots share a few limits, and each mean is a sum over all vehicles.
        let mut later: BTreeMap<u64, Option<Power>> = BTreeMap::new();
        let powers = horizon.periods().enumerate().map(|(slot, (start, _))| {
            let limit = self.limit.at(start)?;
            if slot == 0 {
                return kept_back(limit, self.headroom / 2.0);
            }
            let known = later.entry(limit.as_kw().to_bits());
            *known.or_insert_with(|| kept_back(limit, self.headroom))
        });
        Profile::PerSlot(powers.collect())
    }
}

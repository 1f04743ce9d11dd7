//! What vehicles of an area share: limits, peaks, blocks of price, wishes for
//! the shape of the load.
use serde::{Deserialize, Serialize};

use crate::units::{Power, Price};

/// A power for each slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Profile {
    /// The same in all slots.
    #[serde(rename = "constant")]
    Constant(Power),
    /// One per slot of the horizon; `None` where there is none.
    #[serde(rename = "per_slot")]
    PerSlot(Vec<Option<Power>>),
}

impl Profile {
    /// The power in a slot.
    #[must_use]
    pub fn at(&self, slot: usize) -> Option<Power> {
        match self {
            Self::Constant(power) => Some(*power),
            Self::PerSlot(powers) => powers.get(slot).copied().flatten(),
        }
    }
}

/// A price on power above a level; see [`Limit::Blocks`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// The block begins here.
    #[serde(rename = "above_kw")]
    pub above: Power,
    /// What a kWh in it costs on top of the prices of the vehicles.
    #[serde(rename = "price_per_kwh")]
    pub price: Price,
}

/// One thing that the load of a node is held to. A load is the mean power of
/// a slot, base load included; positive is import.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Limit {
    /// Import stays at or below a power. With a price it may go above, and
    /// each kWh above costs that much; without one it never does.
    #[serde(rename = "import")]
    Import {
        /// Highest import.
        #[serde(rename = "power_max_kw")]
        power_max: Profile,
        /// Price of each kWh above; `None` for a hard limit.
        #[serde(rename = "price_per_kwh")]
        price: Option<Price>,
    },
    /// Export stays at or below a power, as for import.
    #[serde(rename = "export")]
    Export {
        /// Highest export, as a positive number.
        #[serde(rename = "power_max_kw")]
        power_max: Profile,
        /// Price of each kWh above; `None` for a hard limit.
        #[serde(rename = "price_per_kwh")]
        price: Option<Price>,
    },
    /// The highest import of all slots costs `price_per_kw` for each kW above
    /// a peak that has already been incurred.
    #[serde(rename = "peak")]
    Peak {
        /// Price of a kW.
        price_per_kw: f64,
        /// The peak until now.
        #[serde(rename = "incurred_kw")]
        incurred: Power,
    },
    /// Power in higher blocks costs more. Prices increase with the level.
    #[serde(rename = "blocks")]
    Blocks(Vec<Block>),
    /// Each kWh by which the load misses a profile costs `price`.
    #[serde(rename = "follow")]
    Follow {
        /// The load wanted.
        #[serde(rename = "power_kw")]
        power: Profile,
        /// Price of each kWh above or below.
        #[serde(rename = "price_per_kwh")]
        price: Price,
    },
    /// The square of the distance to a profile costs `weight` per kW² and
    /// hour. With a profile at zero or at minus the base load this fills
    /// valleys: the sum of squares is least where the load is level.
    #[serde(rename = "follow_squares")]
    FollowSquares {
        /// The load wanted.
        #[serde(rename = "power_kw")]
        power: Profile,
        /// Price of a kW² for an hour.
        weight: f64,
    },
}

/// A point of the grid whose load is limited: an area, a feeder, a site.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its name, for messages and results.
    pub name: String,
    /// Position of the node that it hangs from; `None` at the top.
    pub parent: Option<usize>,
    /// Load that is there anyway, negative where it feeds in.
    #[serde(rename = "base_kw")]
    pub base: Option<Profile>,
    /// What its load is held to.
    pub limits: Vec<Limit>,
}

impl Node {
    /// A node at the top with one hard limit on its import.
    #[must_use]
    pub fn limited(name: &str, power_max: Profile) -> Self {
        let limits = vec![Limit::Import { power_max, price: None }];
        Self { name: name.to_owned(), parent: None, base: None, limits }
    }
}

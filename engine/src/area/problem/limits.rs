//! Nodes of an area and the limits on their load.
//!
//! With the load `L` of a node in kW (mean power of a slot, base loads included, import positive),
//! the length `h` of a slot in hours, and sums and maximum over the slots in which a profile has a
//! power, a limit costs:
//!
//! | [`Limit`] | Cost |
//! |---|---|
//! | `Import` | hard: `L <= power_max`; priced: `Σ price·h·max(L - power_max, 0)` |
//! | `Export` | hard: `-L <= power_max`; priced: `Σ price·h·max(-L - power_max, 0)` |
//! | `Peak` | `price_per_kw·max(max L - incurred, 0)` |
//! | `Blocks` | `Σ h·(price of the block)·(part of L in the block)`, over all blocks |
//! | `Follow` | `Σ price·h·\|L - power\|` |
//! | `FollowSquares` | `Σ weight·h·(L - power)²` |
//!
//! If base loads alone exceed a hard limit on import, the bound for the vehicles is zero.
use serde::{Deserialize, Serialize};

use crate::units::{Power, Price};

/// Power in each slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Profile {
    /// One power in all slots.
    #[serde(rename = "constant")]
    Constant(Power),
    /// One power per slot of the horizon; `None` in slots without one.
    #[serde(rename = "per_slot")]
    PerSlot(Vec<Option<Power>>),
}

impl Profile {
    /// Power in a slot, or `None` if it has none.
    #[must_use]
    pub fn at(&self, slot: usize) -> Option<Power> {
        match self {
            Self::Constant(power) => Some(*power),
            Self::PerSlot(powers) => powers.get(slot).copied().flatten(),
        }
    }
}

/// Price on power above a level, up to the next block; see [`Limit::Blocks`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceBlock {
    /// Power at which the block begins.
    #[serde(rename = "above_kw")]
    pub above: Power,
    /// Price of a kWh in the block, on top of the prices of the vehicles.
    #[serde(rename = "price_per_kwh")]
    pub price: Price,
}

/// Limit on the load of a node, or a price on it. The load is the mean power of a slot, with the
/// base loads of the node and of all nodes below it; positive is import.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub enum Limit {
    /// Import stays at or below a power. With a price it may exceed the power, and each kWh above
    /// costs the price; without one it never does.
    #[serde(rename = "import")]
    Import {
        /// Highest import.
        #[serde(rename = "power_max_kw")]
        power_max: Profile,
        /// Price of each kWh above; `None` for a hard limit.
        #[serde(rename = "price_per_kwh")]
        price: Option<Price>,
    },
    /// Export stays at or below a power, with or without a price as for import.
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
        /// Price of each kW.
        price_per_kw: f64,
        /// Highest import that has already been incurred.
        #[serde(rename = "incurred_kw")]
        incurred: Power,
    },
    /// Energy in a block of power costs the price of the block. Prices and levels never fall from
    /// one block to the next.
    #[serde(rename = "blocks")]
    Blocks(Vec<PriceBlock>),
    /// Each kWh by which the load is above or below a profile costs `price`.
    #[serde(rename = "follow")]
    Follow {
        /// Load that is wanted.
        #[serde(rename = "power_kw")]
        power: Profile,
        /// Price of each kWh above or below.
        #[serde(rename = "price_per_kwh")]
        price: Price,
    },
    /// The square of the distance to a profile costs `weight` per kW² and hour. With a profile of
    /// zero this fills valleys: for a given energy the sum of squares is least at a level load.
    #[serde(rename = "follow_squares")]
    FollowSquares {
        /// Load that is wanted.
        #[serde(rename = "power_kw")]
        power: Profile,
        /// Price of a kW² for an hour.
        weight: f64,
    },
}

/// Point of the grid whose load is limited: an area, a feeder, a site.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Name, for messages and results.
    pub name: String,
    /// Position of the node above; `None` for a root.
    pub parent: Option<usize>,
    /// Base load: power of everything but the vehicles, negative if it feeds in. It is part of the
    /// load of all nodes above. It does not include the base loads of nodes below.
    #[serde(rename = "base_kw")]
    pub base: Option<Profile>,
    /// Limits on the load of the node.
    pub limits: Vec<Limit>,
}

impl Node {
    /// Creates a root with one hard limit on its import.
    #[must_use]
    pub fn limited(name: &str, power_max: Profile) -> Self {
        let limits = vec![Limit::Import { power_max, price: None }];
        Self { name: name.to_owned(), parent: None, base: None, limits }
    }
}

/// Base load of each node in each slot, in kW: its own and those of all nodes below it.
///
/// A feeder with a base load of 15 kW leaves 5 kW of a transformer of 20 kW:
///
/// ```
/// # use slackwater_engine::area::{Node, Profile, base_loads_kw};
/// # use slackwater_engine::units::kw;
/// let transformer = Node::limited("transformer", Profile::Constant(kw(20.0)));
/// let mut feeder = Node::limited("feeder", Profile::Constant(kw(30.0)));
/// (feeder.parent, feeder.base) = (Some(0), Some(Profile::Constant(kw(15.0))));
/// assert_eq!(base_loads_kw(&[transformer, feeder], 1), [[15.0], [15.0]]);
/// ```
#[must_use]
pub fn base_loads_kw(nodes: &[Node], slots: usize) -> Vec<Vec<f64>> {
    let mut loads = vec![vec![0.0; slots]; nodes.len()];
    for (at, node) in nodes.iter().enumerate() {
        let Some(base) = &node.base else { continue };
        let base: Vec<f64> =
            (0..slots).map(|slot| base.at(slot).map_or(0.0, Power::as_kw)).collect();
        for above in std::iter::successors(Some(at), |&at| nodes[at].parent) {
            loads[above].iter_mut().zip(&base).for_each(|(load, base)| *load += base);
        }
    }
    loads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::kw;

    #[test]
    fn base_load_is_part_of_the_load_of_all_nodes_above_it() {
        let node = |parent, base: Option<Profile>| Node {
            name: String::new(),
            parent,
            base,
            limits: Vec::new(),
        };
        let of = |kws: [Option<f64>; 2]| Some(Profile::PerSlot(kws.map(|at| at.map(kw)).to_vec()));
        // A child may come before its parent. Power that feeds in is subtracted.
        let nodes = [
            node(Some(2), of([Some(5.0), None])),
            node(Some(0), Some(Profile::Constant(kw(-1.0)))),
            node(None, of([Some(3.0), Some(4.0)])),
            node(Some(2), None),
        ];
        assert_eq!(base_loads_kw(&nodes, 2), [[4.0, -1.0], [-1.0, -1.0], [7.0, 3.0], [0.0, 0.0]],);
    }
}

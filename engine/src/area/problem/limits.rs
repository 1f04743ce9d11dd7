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
pub struct PriceBlock {
    /// The block begins here.
    #[serde(rename = "above_kw")]
    pub above: Power,
    /// What a kWh in it costs on top of the prices of the vehicles.
    #[serde(rename = "price_per_kwh")]
    pub price: Price,
}

/// One thing that the load of a node is held to. A load is the mean power of
/// a slot, base loads of the node and of all below it included; positive is
/// import.
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
    Blocks(Vec<PriceBlock>),
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
    /// Load that is there anyway, negative where it feeds in. Like that of
    /// vehicles it is part of the load of the nodes above; those below it have
    /// their own.
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

/// Base load of each node in each slot in kW, its own and that of all below it.
///
/// A feeder with 15 kW of other load leaves a transformer of 20 kW with 5:
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
        // A child may stand before its parent, and what feeds in counts against what is drawn.
        let nodes = [
            node(Some(2), of([Some(5.0), None])),
            node(Some(0), Some(Profile::Constant(kw(-1.0)))),
            node(None, of([Some(3.0), Some(4.0)])),
            node(Some(2), None),
        ];
        assert_eq!(base_loads_kw(&nodes, 2), [[4.0, -1.0], [-1.0, -1.0], [7.0, 3.0], [0.0, 0.0]],);
    }
}

//! An area and its vehicles, checked.
use std::ops::RangeInclusive;

use crate::area::problem::limits::{Limit, Node, Profile};
use crate::columns::fleet::{Curves, Fleet, Needs};
use crate::columns::row_error::RowError;
use crate::time::horizon::Horizon;
use crate::units::{MICROS_PER_HOUR, Power, Price};

/// Weights whose quotients a number of half the usual length still holds.
const PRIORITIES: RangeInclusive<f64> = 1e-12..=1e12;

/// Why an area makes no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AreaError {
    /// There is no node at all.
    #[error("an area needs at least one node")]
    NoNodes,
    /// A node whose parent does not exist, or that is its own ancestor.
    #[error("node {node:?} has an unknown parent, or is its own ancestor")]
    BadParent {
        /// Name of the node.
        node: String,
    },
    /// A profile has another length than the horizon.
    #[error("node {node:?} has a profile of {found} slots; the prices have {expected}")]
    BadProfile {
        /// Name of the node.
        node: String,
        /// Slots of the profile.
        found: usize,
        /// Slots of the prices.
        expected: usize,
    },
    /// A number that limits may not have.
    #[error("{field} of node {node:?} is {value}; it is {wanted}")]
    BadNumber {
        /// Name of the node.
        node: String,
        /// What the number is.
        field: &'static str,
        /// The number.
        value: f64,
        /// What it is to be.
        wanted: &'static str,
    },
    /// A column has another length than the fleet.
    #[error("column {column} has {found} rows; the fleet has {expected}")]
    BadColumn {
        /// Name of the column.
        column: &'static str,
        /// Its rows.
        found: usize,
        /// Rows of the fleet.
        expected: usize,
    },
    /// Prices to sell at that do not belong to those to buy at.
    #[error("export prices have other slots or other ids than the prices")]
    OtherSlots,
    /// The node of a vehicle does not exist.
    #[error("node of row {row} does not exist")]
    UnknownNode {
        /// Row of the vehicle.
        row: usize,
    },
    /// More energy than whole numbers can hold.
    #[error("the vehicles need {energy_kwh:e} kWh together; an area has at most 4e9 kWh")]
    TooMuchEnergy {
        /// Their needs.
        energy_kwh: f64,
    },
}

/// What vehicles that discharge have besides the columns of a fleet, which
/// then gives needs in percent. NaN is a missing number.
#[derive(Debug, Clone, Copy)]
pub struct StorageColumns<'a> {
    /// Highest discharging power, in kW. A vehicle that has none, or 0, only charges.
    pub discharge_max_kw: &'a [f64],
    /// Energy at the plug per stored energy; 1 where missing.
    pub efficiency_discharge: Option<&'a [f64]>,
    /// Where charging ends, in percent; 100 where missing.
    pub charge_limit_percent: Option<&'a [f64]>,
    /// Value of a kWh stored at departure; 0 where missing.
    pub end_value_per_kwh: Option<&'a [f64]>,
    /// Wear per stored kWh that is discharged; 0 where missing.
    pub wear_price_per_kwh: Option<&'a [f64]>,
    /// Prices to sell at, in the same slots and, with curves of their own, in
    /// the same rows as those to buy at. Without them nothing is sold.
    pub export: Option<Curves<'a>>,
}

impl StorageColumns<'_> {
    /// Whether a row is a vehicle that discharges.
    pub(crate) fn has(&self, row: usize) -> bool {
        // A number below zero is one as well: an error in its row.
        let power = self.discharge_max_kw[row];
        !power.is_nan() && power != 0.0
    }

    /// What a kWh at the plug is to be multiplied with at most to be a stored
    /// one that was bought and sold, and the most that wear and the end value add.
    pub(crate) fn dearest(&self, fleet: &Fleet<'_>) -> (f64, f64) {
        let charged = match fleet.needs {
            Needs::Soc { efficiency, .. } => efficiency,
            Needs::Energy { .. } => None,
        };
        let least = |column: Option<&[f64]>| {
            let known = column.into_iter().flatten().filter(|value| **value > 0.0);
            known.fold(1.0, |least: f64, &value| least.min(value))
        };
        let most = |column: Option<&[f64]>| {
            let known = column.into_iter().flatten().filter(|value| value.is_finite());
            known.fold(0.0, |most: f64, &value| most.max(value.abs()))
        };
        let lost = least(charged) * least(self.efficiency_discharge);
        let dual_price = most(self.wear_price_per_kwh) + most(self.end_value_per_kwh);
        // Efficiencies near zero are errors of their rows, or sell nothing.
        (1.0 / lost.max(1e-2), 2.0 * dual_price)
    }

    /// Most energy that those vehicles move, both ways, in kWh.
    pub(crate) fn energy_most_kwh(&self, fleet: &Fleet<'_>, hours: f64) -> f64 {
        let power = |row: usize| fleet.power_max_kw[row].abs() + self.discharge_max_kw[row].abs();
        let powers = (0..fleet.len()).filter(|&row| self.has(row)).map(power);
        powers.filter(|power| power.is_finite()).sum::<f64>() * hours
    }
}

/// The vehicles of an area and what each has to do with the others.
#[derive(Debug, Clone, Copy)]
pub struct AreaVehicles<'a> {
    /// Stays, needs and powers.
    pub fleet: Fleet<'a>,
    /// Position of the node of each vehicle; the first node where absent.
    pub node: Option<&'a [u32]>,
    /// Weight of each vehicle where energy is short, from 1e-12 to 1e12; 1 where
    /// absent or NaN. A vehicle of twice the priority bears half the share.
    pub priority: Option<&'a [f64]>,
    /// Least power of each vehicle while it charges, in kW, at most its highest;
    /// none where absent or NaN. A vehicle with one only ever gets a whole answer.
    pub power_min_kw: Option<&'a [f64]>,
    /// Vehicles that also discharge.
    pub storage: Option<StorageColumns<'a>>,
}

impl AreaVehicles<'_> {
    /// Checks what a row has to do with the others.
    pub(crate) fn check(&self, row: usize) -> Result<(), RowError> {
        let number =
            |column: Option<&[f64]>| column.map(|values| values[row]).filter(|at| !at.is_nan());
        if let Some(value) = number(self.priority)
            && !PRIORITIES.contains(&value)
        {
            return Err(RowError::Priority { value });
        }
        let power_max_kw = self.fleet.power_max_kw[row];
        match number(self.power_min_kw) {
            Some(value) if value < 0.0 => {
                Err(RowError::Negative { column: "power_min_kw", value, unit: "kW" })
            }
            Some(power_min_kw) if power_min_kw > power_max_kw => {
                Err(RowError::PowerMin { power_min_kw, power_max_kw })
            }
            _ => Ok(()),
        }
    }
}

/// An area to plan. Planning it cannot fail.
#[derive(Debug, Clone)]
pub struct AreaProblem<'a> {
    pub(crate) vehicles: AreaVehicles<'a>,
    pub(crate) curves: Curves<'a>,
    pub(crate) nodes: Vec<Node>,
}

impl<'a> AreaProblem<'a> {
    /// Checks an area.
    ///
    /// A row of the fleet that makes no sense is no error here; it is one in
    /// the result, and stops nobody else.
    ///
    /// # Errors
    /// Nodes or their limits make no sense, a column has a wrong length, or a
    /// vehicle names a node that is not there.
    pub fn new(
        vehicles: AreaVehicles<'a>,
        curves: Curves<'a>,
        nodes: Vec<Node>,
    ) -> Result<Self, AreaError> {
        let rows = vehicles.fleet.len();
        let columns = [
            ("node", vehicles.node.map(<[u32]>::len)),
            ("priority", vehicles.priority.map(<[f64]>::len)),
            ("power_min_kw", vehicles.power_min_kw.map(<[f64]>::len)),
            ("discharge_max_kw", vehicles.storage.map(|columns| columns.discharge_max_kw.len())),
        ];
        for (column, found) in columns {
            if let Some(found) = found
                && found != rows
            {
                return Err(AreaError::BadColumn { column, found, expected: rows });
            }
        }
        if nodes.is_empty() {
            return Err(AreaError::NoNodes);
        }
        if let Some(column) = vehicles.node
            && let Some(row) = column.iter().position(|&node| node as usize >= nodes.len())
        {
            return Err(AreaError::UnknownNode { row });
        }
        check_tree(&nodes)?;
        for node in &nodes {
            check_node(node, curves.horizon().len())?;
        }
        let horizon = curves.horizon();
        if let Some(export) = vehicles.storage.and_then(|columns| columns.export)
            && (export.horizon() != horizon || export.rows() != curves.rows())
        {
            return Err(AreaError::OtherSlots);
        }
        let hours = horizon.lengths().iter().sum::<f64>() / MICROS_PER_HOUR;
        let both_ways =
            vehicles.storage.map_or(0.0, |columns| columns.energy_most_kwh(&vehicles.fleet, hours));
        let most = vehicles.fleet.energy_most_kwh(horizon) + both_ways;
        if most * crate::area::problem::micro_wh::MICRO_WH_PER_KWH
            > crate::area::problem::micro_wh::MICRO_WH_MAX
        {
            return Err(AreaError::TooMuchEnergy { energy_kwh: most });
        }
        Ok(Self { vehicles, curves, nodes })
    }

    /// The slots of its prices.
    #[must_use]
    pub fn horizon(&self) -> &Horizon {
        self.curves.horizon()
    }

    /// Prices to sell at.
    pub(crate) fn export(&self) -> Option<Curves<'a>> {
        self.vehicles.storage.and_then(|columns| columns.export)
    }

    /// The nodes of the area.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
}

/// Every node leads to the top.
fn check_tree(nodes: &[Node]) -> Result<(), AreaError> {
    for node in nodes {
        let mut steps = 0;
        let mut at = node.parent;
        while let Some(parent) = at {
            steps += 1;
            if parent >= nodes.len() || steps > nodes.len() {
                return Err(AreaError::BadParent { node: node.name.clone() });
            }
            at = nodes[parent].parent;
        }
    }
    Ok(())
}

fn check_node(node: &Node, slots: usize) -> Result<(), AreaError> {
    let length = |profile: &Profile| match profile {
        Profile::PerSlot(powers) if powers.len() != slots => Err(AreaError::BadProfile {
            node: node.name.clone(),
            found: powers.len(),
            expected: slots,
        }),
        _ => Ok(()),
    };
    let number = |field, value: f64, wanted, is_good: bool| {
        let bad = AreaError::BadNumber { node: node.name.clone(), field, value, wanted };
        if is_good { Ok(()) } else { Err(bad) }
    };
    let above_zero = |field, value: f64| {
        number(field, value, "a number from 0 to 1e12", (0.0..=1e12).contains(&value))
    };
    node.base.as_ref().map_or(Ok(()), length)?;
    for limit in &node.limits {
        match limit {
            Limit::Import { power_max, price } | Limit::Export { power_max, price } => {
                length(power_max)?;
                above_zero("price_per_kwh", price.map_or(0.0, Price::as_per_kwh))?;
                for power in (0..slots).filter_map(|slot| power_max.at(slot)) {
                    above_zero("power_max_kw", power.as_kw())?;
                }
            }
            Limit::Peak { price_per_kw, incurred } => {
                above_zero("price_per_kw", *price_per_kw)?;
                above_zero("incurred_kw", incurred.as_kw())?;
            }
            Limit::Blocks(blocks) => {
                let mut last = (Power::ZERO, Price::ZERO);
                for block in blocks {
                    let rises = block.above >= last.0 && block.price >= last.1;
                    let price = block.price.as_per_kwh();
                    number("price_per_kwh", price, "no less than in the block below", rises)?;
                    last = (block.above, block.price);
                }
            }
            Limit::Follow { power, price } => {
                length(power)?;
                above_zero("price_per_kwh", price.as_per_kwh())?;
            }
            Limit::FollowSquares { power, weight } => {
                length(power)?;
                let is_good = *weight > 0.0 && *weight <= 1e12;
                number("weight", *weight, "above 0 and at most 1e12", is_good)?;
            }
        }
    }
    Ok(())
}

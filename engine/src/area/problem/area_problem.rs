//! Problem of an area: its vehicles, prices and nodes, checked.
use std::ops::RangeInclusive;

use crate::area::problem::limits::{Limit, Node, Profile};
use crate::area::problem::micro_wh::{MICRO_WH_MAX, MICRO_WH_PER_KWH};
use crate::columns::fleet::{Curves, Fleet, Needs};
use crate::columns::row_error::RowError;
use crate::plan::site::device::HeatUnit;
use crate::plan::site::error::SiteError;
use crate::time::horizon::Horizon;
use crate::units::{Energy, MICROS_PER_HOUR, Power, Price};

/// Priorities allowed. The quotient of any two, 1e-24 to 1e24, is within the range of an `f32`.
const PRIORITIES: RangeInclusive<f64> = 1e-12..=1e12;

/// Error in the nodes, limits or columns of an area.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AreaError {
    /// No node is given.
    #[error("an area needs at least one node")]
    NoNodes,
    /// A node whose parent does not exist, or that is its own ancestor.
    #[error("node {node:?} has an unknown parent, or is its own ancestor")]
    BadParent {
        /// Name of the node.
        node: String,
    },
    /// The length of a profile is not the number of slots of the prices.
    #[error("{field} of node {node:?} has {found} slots; the prices have {expected}")]
    BadProfile {
        /// Name of the node.
        node: String,
        /// Name of the profile.
        field: &'static str,
        /// Slots of the profile.
        found: usize,
        /// Slots of the prices.
        expected: usize,
    },
    /// A number of a limit is out of range.
    #[error("{field} of node {node:?} is {value}; it is {wanted}")]
    BadNumber {
        /// Name of the node.
        node: String,
        /// Name of the number.
        field: &'static str,
        /// The number as given.
        value: f64,
        /// Range that is allowed, in words.
        wanted: &'static str,
    },
    /// The length of a column is not the number of rows of the fleet.
    #[error("column {column} has {found} rows; the fleet has {expected}")]
    BadColumn {
        /// Name of the column.
        column: &'static str,
        /// Rows of the column.
        found: usize,
        /// Rows of the fleet.
        expected: usize,
    },
    /// Prices to sell at have other slots or other rows than prices to buy at.
    #[error("export prices have other slots or other ids than the prices")]
    OtherSlots,
    /// The node of a vehicle does not exist.
    #[error("node of row {row} does not exist")]
    UnknownNode {
        /// Row of the vehicle.
        row: usize,
    },
    /// A number or period of a heat unit is invalid.
    #[error(transparent)]
    Heat(SiteError),
    /// A heat unit that an area does not plan.
    #[error("{field} {reason}")]
    HeatUnit {
        /// Position and name of the unit.
        field: String,
        /// Reason, as the rest of the sentence.
        reason: String,
    },
    /// A plan is read with a problem that is not the one it was made of.
    #[error("the plan was made of other vehicles, prices or nodes than those given")]
    OtherProblem,
    /// The energy of all vehicles exceeds what sums in whole µWh can hold, 4e9 kWh.
    #[error("the devices need {energy_kwh:e} kWh together; an area has at most 4e9 kWh")]
    TooMuchEnergy {
        /// Upper bound on the energy of all devices, in kWh.
        energy_kwh: f64,
    },
}

/// Columns of vehicles that discharge, besides those of the fleet, which must give needs in
/// percent. NaN is a missing value.
#[derive(Debug, Clone, Copy)]
pub struct StorageColumns<'a> {
    /// Highest discharging power, in kW. A vehicle with 0 or NaN only charges.
    pub discharge_max_kw: &'a [f64],
    /// Energy at the plug per stored energy; 1 where missing.
    pub efficiency_discharge: Option<&'a [f64]>,
    /// State of charge at which charging ends, in percent; 100 where missing. It also holds for
    /// vehicles that only charge.
    pub charge_limit_percent: Option<&'a [f64]>,
    /// Value of a kWh stored at departure; 0 where missing.
    pub end_value_per_kwh: Option<&'a [f64]>,
    /// Wear per stored kWh that is discharged; 0 where missing.
    pub wear_price_per_kwh: Option<&'a [f64]>,
    /// Prices to sell at, with the slots and rows of the prices to buy at. Without them nothing is
    /// sold.
    pub export: Option<Curves<'a>>,
    /// Vehicles that only charge and may buy beyond their need, up to the charge limit, where that
    /// lowers the cost; see `model::sessions::battery_columns`. None where missing.
    pub fills: Option<&'a [bool]>,
}

impl StorageColumns<'_> {
    /// Returns true if the vehicle of a row discharges.
    pub(crate) fn has(&self, row: usize) -> bool {
        // A negative power counts too, so that it is reported as an error of its row.
        let power = self.discharge_max_kw[row];
        !power.is_nan() && power != 0.0
    }

    /// Factors of the shortfall penalty: the most energy bought per kWh that is stored and sold
    /// again, at least 1, and twice the most that wear and end value add per kWh.
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
        let added = most(self.wear_price_per_kwh) + most(self.end_value_per_kwh);
        // An efficiency below 0.01 is an error of its row; the product is cut off there as well.
        (1.0 / lost.max(1e-2), 2.0 * added)
    }

    /// Charge limit of a row, in percent.
    pub(crate) fn charge_limit_percent(&self, row: usize) -> f64 {
        let limit = self.charge_limit_percent.map(|limits| limits[row]);
        limit.filter(|limit| !limit.is_nan()).unwrap_or(100.0)
    }

    /// Upper bound in kWh on the energy that vehicles which discharge charge and discharge in
    /// `hours`, and that others may be filled with.
    pub(crate) fn energy_most_kwh(&self, fleet: &Fleet<'_>, hours: f64) -> f64 {
        let power = |row: usize| fleet.power_max_kw[row].abs() + self.discharge_max_kw[row].abs();
        let powers = (0..fleet.len()).filter(|&row| self.has(row)).map(power);
        let both_ways = powers.filter(|power| power.is_finite()).sum::<f64>() * hours;
        let fills = |row: &usize| self.fills.is_some_and(|fills| fills[*row]) && !self.has(*row);
        // Rows with errors are not planned, so they count nothing.
        let room = |row| fleet.energy_up_to(row, self.charge_limit_percent(row)).ok();
        let rooms = (0..fleet.len()).filter(fills).filter_map(room);
        both_ways + rooms.map(Energy::as_kwh).sum::<f64>()
    }
}

/// Vehicles of an area: a fleet, and for each vehicle its node, priority and least power.
#[derive(Debug, Clone, Copy)]
pub struct AreaVehicles<'a> {
    /// Stays, needs and powers.
    pub fleet: Fleet<'a>,
    /// Position of the node of each vehicle; the first node where absent.
    pub node: Option<&'a [u32]>,
    /// Weight of each vehicle in a shortage, from 1e-12 to 1e12; 1 where absent or NaN. Of two
    /// vehicles with the same need, the one of twice the priority bears half the shortfall.
    pub priority: Option<&'a [f64]>,
    /// Least power of each vehicle while it charges, in kW, at most its highest; 0 where absent or
    /// NaN. A vehicle with a least power above 0 is on at its highest power, or off.
    pub power_min_kw: Option<&'a [f64]>,
    /// Columns of vehicles that also discharge.
    pub storage: Option<StorageColumns<'a>>,
}

impl AreaVehicles<'_> {
    /// Checks the priority, the least power and the needs of a row.
    pub(crate) fn check(&self, row: usize) -> Result<(), RowError> {
        let number =
            |column: Option<&[f64]>| column.map(|values| values[row]).filter(|at| !at.is_nan());
        if let Some(value) = number(self.priority)
            && !PRIORITIES.contains(&value)
        {
            return Err(RowError::Priority { value });
        }
        if self.storage.is_some_and(|columns| columns.has(row)) {
            let is_above_zero = |column| number(column).is_some_and(|value| value > 0.0);
            let needs = [
                ("reserve_kwh", is_above_zero(self.fleet.reserve_kwh)),
                ("power_min_kw", is_above_zero(self.power_min_kw)),
                ("targets", self.fleet.has_targets(row)),
            ];
            if let Some((column, _)) = needs.into_iter().find(|(_, is_given)| *is_given) {
                return Err(RowError::Discharging { column });
            }
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

/// Heat unit of an area.
#[derive(Debug, Clone)]
pub(crate) struct AreaHeatUnit {
    pub(crate) unit: HeatUnit,
    /// Position of its node.
    pub(crate) node: u32,
}

/// Checked problem of an area. Planning it returns no error.
#[derive(Debug, Clone)]
pub struct AreaProblem<'a> {
    pub(crate) vehicles: AreaVehicles<'a>,
    /// Prices to buy at.
    pub(crate) curves: Curves<'a>,
    pub(crate) nodes: Vec<Node>,
    /// Heat units, in the order given.
    pub(crate) heat: Vec<AreaHeatUnit>,
}

impl<'a> AreaProblem<'a> {
    /// Checks the nodes, limits and columns of an area.
    ///
    /// A wrong value in a row of the fleet is no error here. It is reported for that row in the
    /// result, and the other rows are planned.
    ///
    /// # Errors
    /// No node, a node or limit out of range, a column or profile of the wrong length, a vehicle
    /// at a node that does not exist, prices to sell at with other slots or rows, or too much
    /// energy; see [`AreaError`].
    pub fn new(
        vehicles: AreaVehicles<'a>,
        curves: Curves<'a>,
        nodes: Vec<Node>,
    ) -> Result<Self, AreaError> {
        // Columns: one value per row of the fleet.
        let rows = vehicles.fleet.len();
        let columns = [
            ("node", vehicles.node.map(<[u32]>::len)),
            ("priority", vehicles.priority.map(<[f64]>::len)),
            ("power_min_kw", vehicles.power_min_kw.map(<[f64]>::len)),
            ("discharge_max_kw", vehicles.storage.map(|columns| columns.discharge_max_kw.len())),
            (
                "fill_when_negative",
                vehicles.storage.and_then(|columns| columns.fills).map(<[bool]>::len),
            ),
        ];
        for (column, found) in columns {
            if let Some(found) = found
                && found != rows
            {
                return Err(AreaError::BadColumn { column, found, expected: rows });
            }
        }
        // Nodes: a forest, with limits in range, that holds the node of each vehicle.
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
        // Prices to sell at: the slots and rows of the prices to buy at.
        let horizon = curves.horizon();
        if let Some(export) = vehicles.storage.and_then(|columns| columns.export)
            && (export.horizon() != horizon || export.rows() != curves.rows())
        {
            return Err(AreaError::OtherSlots);
        }
        // The energy of all vehicles, in whole µWh, must leave sums far from overflow.
        let hours = horizon.lengths().iter().sum::<f64>() / MICROS_PER_HOUR;
        let both_ways =
            vehicles.storage.map_or(0.0, |columns| columns.energy_most_kwh(&vehicles.fleet, hours));
        let most = vehicles.fleet.energy_most_kwh(horizon) + both_ways;
        if most * MICRO_WH_PER_KWH > MICRO_WH_MAX {
            return Err(AreaError::TooMuchEnergy { energy_kwh: most });
        }
        Ok(Self { vehicles, curves, nodes, heat: Vec::new() })
    }

    /// Horizon of the prices.
    #[must_use]
    pub fn horizon(&self) -> &Horizon {
        self.curves.horizon()
    }

    /// Prices to sell at, if there are any.
    pub(crate) fn export(&self) -> Option<Curves<'a>> {
        self.vehicles.storage.and_then(|columns| columns.export)
    }

    /// Nodes of the area, in the order given.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
}

/// Checks that the parents of every node lead to a root.
fn check_tree(nodes: &[Node]) -> Result<(), AreaError> {
    for node in nodes {
        let mut steps = 0;
        let mut at = node.parent;
        // A path of more steps than nodes is a cycle.
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

/// Checks the lengths of the profiles of a node, and the numbers of its limits.
fn check_node(node: &Node, slots: usize) -> Result<(), AreaError> {
    let length = |field, profile: &Profile| match profile {
        Profile::PerSlot(powers) if powers.len() != slots => Err(AreaError::BadProfile {
            node: node.name.clone(),
            field,
            found: powers.len(),
            expected: slots,
        }),
        _ => Ok(()),
    };
    let number = |field, value: f64, wanted, is_good: bool| {
        let bad = AreaError::BadNumber { node: node.name.clone(), field, value, wanted };
        if is_good { Ok(()) } else { Err(bad) }
    };
    // `contains` is false for NaN too.
    let check_range = |field, value: f64| {
        number(field, value, "a number from 0 to 1e12", (0.0..=1e12).contains(&value))
    };
    node.base.as_ref().map_or(Ok(()), |base| length("base_kw", base))?;
    for limit in &node.limits {
        match limit {
            Limit::Import { power_max, price } | Limit::Export { power_max, price } => {
                let (limit, breach) = if matches!(limit, Limit::Import { .. }) {
                    ("limit_kw", "breach_price_per_kwh")
                } else {
                    ("export_limit_kw", "export_breach_price_per_kwh")
                };
                length(limit, power_max)?;
                check_range(breach, price.map_or(0.0, Price::as_per_kwh))?;
                for power in (0..slots).filter_map(|slot| power_max.at(slot)) {
                    let is_good = power >= Power::ZERO;
                    number(limit, power.as_kw(), "a power from 0 kW on", is_good)?;
                }
            }
            Limit::Peak { price_per_kw, incurred } => {
                check_range("peak_price_per_kw", *price_per_kw)?;
                check_range("peak_incurred_kw", incurred.as_kw())?;
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
                length("target_kw", power)?;
                check_range("target_price_per_kwh", price.as_per_kwh())?;
            }
            Limit::FollowSquares { power, weight } => {
                length("target_kw", power)?;
                let is_good = *weight > 0.0 && *weight <= 1e12;
                number("target_square_price", *weight, "above 0 and at most 1e12", is_good)?;
            }
        }
    }
    Ok(())
}

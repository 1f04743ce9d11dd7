//! Heat units of an area: each with the node that its electricity comes through, checked.
use std::collections::BTreeSet;

use crate::area::problem::area_problem::{AreaError, AreaHeatUnit, AreaProblem};
use crate::area::problem::micro_wh::{MICRO_WH_MAX, MICRO_WH_PER_KWH};
use crate::columns::fleet::Curves;
use crate::plan::site::check::check_room;
use crate::plan::site::device::{HeatUnit, Phase};
use crate::prices::curve::PriceCurve;
use crate::units::MICROS_PER_HOUR;

impl<'a> AreaProblem<'a> {
    /// Adds heat pumps, heaters and air conditioners that modulate. [`HeatUnit::group`] names the node
    /// of a unit; without it that is the first node. A unit begins at the `now` of its request, and is
    /// planned to its `until` or to the last price, whichever is earlier.
    ///
    /// # Errors
    /// [`AreaError::Heat`] or [`AreaError::HeatUnit`] if a unit is on or off, has phases, a node that
    /// does not exist, the name of another one or a number out of range, or if vehicles have several
    /// price curves; [`AreaError::TooMuchEnergy`].
    pub fn with_heat(mut self, units: Vec<HeatUnit>) -> Result<Self, AreaError> {
        let end = self.horizon().end();
        let mut known = BTreeSet::new();
        for (at, unit) in units.into_iter().enumerate() {
            let field = format!("heat[{at}] ({})", unit.name);
            let refuse = |text: &str| {
                Err(AreaError::HeatUnit { field: field.clone(), reason: text.to_owned() })
            };
            if self.shared_prices().is_none() {
                return refuse("is planned at one price curve for all; the vehicles have several");
            }
            if !known.insert(unit.name.clone()) {
                return refuse("has the name of another unit");
            }
            if unit.heat.on_off.is_some() {
                return refuse(
                    "has on_off: a unit that is on or off cannot be planned in an area; leave it \
                     out, so that the unit modulates, or plan the unit alone",
                );
            }
            if unit.phases != Phase::ALL {
                return refuse("has phases; the nodes of an area have none: leave them out");
            }
            check_room(&field, &unit, end.unwrap_or(unit.heat.now)).map_err(AreaError::Heat)?;
            let place = |group: &String| self.nodes.iter().position(|node| node.name == *group);
            let Some(node) = unit.group.as_ref().map_or(Some(0), place) else {
                return refuse("has a group that is the name of no node");
            };
            self.heat.push(AreaHeatUnit { unit, node: node as u32 });
        }
        self.check_heat_energy()?;
        Ok(self)
    }

    /// Checks that sums of the energy of vehicles and heat units stay far from overflow.
    fn check_heat_energy(&self) -> Result<(), AreaError> {
        let horizon = self.horizon();
        let hours = horizon.lengths().iter().sum::<f64>() / MICROS_PER_HOUR;
        let powers = self.heat.iter().map(|own| own.unit.heat.power_max.as_kw());
        let energy_kwh = powers.sum::<f64>() * hours + self.vehicles.fleet.energy_most_kwh(horizon);
        if energy_kwh * MICRO_WH_PER_KWH > MICRO_WH_MAX {
            return Err(AreaError::TooMuchEnergy { energy_kwh });
        }
        Ok(())
    }

    /// Heat units in the order given.
    pub fn heat_units(&self) -> impl Iterator<Item = &HeatUnit> {
        self.heat.iter().map(|own| &own.unit)
    }

    /// Prices that all devices share; `None` if vehicles have several curves.
    pub(crate) fn shared_prices(&self) -> Option<&'a PriceCurve> {
        match self.curves {
            Curves::Shared(prices) => Some(prices),
            Curves::PerVehicle(_) => None,
        }
    }
}

//! Emissions of plans, at a carbon intensity, and their price.
use pyo3::prelude::*;
use slackwater_engine::columns::IntervalColumns;
use slackwater_engine::plan::capacity::plan as capacity;
use slackwater_engine::plan::record as engine;
use slackwater_engine::plan::{charge, heat};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::horizon::Horizon;

use crate::area_table::add_intervals;
use crate::arrow::{Columns, Table};
use crate::capacity::CapacityPlan;
use crate::error::{Named, Refused};
use crate::heat::HeatPlan;
use crate::plan::Plan;
use crate::series::{self, Series, SlotTuple};
use crate::storage::StoragePlan;
use crate::time::Instant;

/// Price of a kg of emissions, and carbon intensity in kg per kWh.
#[pyclass(frozen, eq, from_py_object, module = "slackwater._engine")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EmissionPrice(pub(crate) engine::EmissionPrice);

#[pymethods]
impl EmissionPrice {
    #[new]
    fn from_slots(
        price_per_kg: f64,
        intensity: Vec<(Instant, Instant, f64)>,
    ) -> Result<Self, Refused> {
        let horizon = Horizon::new(intensity.iter().map(|slot| (slot.0.0, slot.1.0)));
        let values = intensity.iter().map(|slot| slot.2).collect();
        let curve = PriceCurve::from_parts(horizon.named("carbon.intensity")?, values)?;
        Ok(Self(engine::EmissionPrice::new(price_per_kg, curve).named("carbon")?))
    }

    #[getter]
    fn intensity(&self) -> Series {
        Series::of_intensity(self.0.intensity().clone())
    }

    fn cost_of(&self, kg: f64) -> f64 {
        self.0.cost_of(kg)
    }

    fn cost_without(&self, cost: f64, kg: f64) -> f64 {
        self.0.cost_without(cost, kg)
    }

    fn __getnewargs__(&self) -> (f64, Vec<SlotTuple>) {
        (self.0.price_per_kg(), series::slots(self.0.intensity()))
    }
}

/// Emissions in kg of a plan, and of the same energy at full power from plug-in.
#[pyfunction]
pub(crate) fn charge_emissions(py: Python<'_>, plan: &Plan, intensity: &Series) -> (f64, f64) {
    py.detach(|| charge::emissions(plan.intended(), &intensity.curve))
}

/// Emissions in kg of a plan of a battery, and of its baseline.
#[pyfunction]
pub(crate) fn storage_emissions(
    py: Python<'_>,
    plan: &StoragePlan,
    intensity: &Series,
) -> Result<(f64, f64), Refused> {
    py.detach(|| plan.emissions(&intensity.curve))
}

/// Emissions in kg of a plan of a room or tank, and of its baseline.
#[pyfunction]
pub(crate) fn heat_emissions(py: Python<'_>, plan: &HeatPlan, intensity: &Series) -> (f64, f64) {
    py.detach(|| heat::emissions(plan.intended(), &intensity.curve))
}

/// Emissions in kg of the energy from the grid under a price of power, and of the plan that is
/// cheapest in energy.
#[pyfunction]
pub(crate) fn capacity_emissions(
    py: Python<'_>,
    plan: &CapacityPlan,
    intensity: &Series,
) -> Result<(f64, f64), Refused> {
    py.detach(|| {
        let kg = |slots: &[_]| capacity::emissions(slots, &intensity.curve);
        Ok((kg(&plan.intended().slots), kg(&plan.energy_alone_slots()?)))
    })
}

/// Emissions in kg of all plans of a table.
#[pyfunction]
pub(crate) fn table_emissions(
    py: Python<'_>,
    plans: &Table,
    intensity: &Series,
) -> Result<f64, Refused> {
    let mut intervals = IntervalColumns::default();
    for batch in plans.clone().into_batches() {
        add_intervals(&Columns::new(&batch), 0..batch.num_rows(), &mut intervals)?;
    }
    Ok(py.detach(|| intervals.emissions(&intensity.curve)).into_iter().sum())
}

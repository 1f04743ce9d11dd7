//! Emissions of plans, at a carbon intensity.
use pyo3::prelude::*;
use slackwater_engine::columns::IntervalColumns;
use slackwater_engine::plan::{charge, heat};

use crate::area_table::add_intervals;
use crate::arrow::{Columns, Table};
use crate::error::Refused;
use crate::heat::HeatPlan;
use crate::plan::Plan;
use crate::series::Series;
use crate::storage::StoragePlan;

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

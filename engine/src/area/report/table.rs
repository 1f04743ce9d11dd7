//! Table of area plans: columns of numbers by vehicle, and columns of intervals.
use std::ops::Range;

use rayon::prelude::*;

use crate::area::model::battery::Battery;
use crate::area::model::energy_by_slot::EnergyBySlot;
use crate::area::model::session::Session;
use crate::area::pricing::block_loads::charge_at_once;
use crate::area::pricing::buffers::PricingBuffers;
use crate::area::problem::area_problem::AreaProblem;
use crate::area::problem::micro_wh::{as_kwh, to_micro_wh};
use crate::area::recovery::plans::PlanReader;
use crate::batch::charge::unpriced_hours;
use crate::columns::intervals::IntervalColumns;
use crate::columns::plan_table::{NumberColumns, PlanTable};
use crate::plan::charge::selection::slot_selection::Window;
use crate::units::MICROS_PER_HOUR;

/// Numbers of area plans.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct AreaNumbers {
    /// Cost of the energy; NaN for a row in error.
    pub cost: Vec<f64>,
    /// Energy charged, in kWh at the plug.
    pub energy_kwh: Vec<f64>,
    /// Energy discharged, in kWh at the plug.
    pub discharged_kwh: Vec<f64>,
    /// Need that is not met, in kWh.
    pub unmet_kwh: Vec<f64>,
    /// Cost of the same energy at full power from arrival; of the energy gained by departure if the
    /// vehicle discharges.
    pub baseline_cost: Vec<f64>,
    /// Baseline cost minus cost.
    pub savings: Vec<f64>,
    /// Hours of the stay without a price, which no plan uses.
    pub unpriced_hours: Vec<f64>,
}

impl NumberColumns for AreaNumbers {
    fn columns(&mut self) -> impl Iterator<Item = &mut Vec<f64>> {
        [
            &mut self.cost,
            &mut self.energy_kwh,
            &mut self.discharged_kwh,
            &mut self.unmet_kwh,
            &mut self.baseline_cost,
            &mut self.savings,
            &mut self.unpriced_hours,
        ]
        .into_iter()
    }
}

/// Input of the rows.
pub(crate) struct RowWriter<'a> {
    pub(crate) problem: &'a AreaProblem<'a>,
    pub(crate) plans: &'a PlanReader<'a>,
    /// Need that is not met, in kWh by row.
    pub(crate) unmet_kwh: &'a [f64],
}

/// Passes all rows to `sink` in their order, in runs of at most `run`.
pub(crate) fn write_rows(
    writing: &RowWriter<'_>,
    run: usize,
    sink: &mut dyn FnMut(PlanTable<AreaNumbers>),
) {
    let count = writing.problem.vehicles.fleet.len();
    let mut position = vec![u32::MAX; count];
    for (at, session) in writing.plans.context.sessions.each.iter().enumerate() {
        position[session.row as usize] = at as u32;
    }
    let starts = (0..count).step_by(run.max(1));
    let runs: Vec<Range<usize>> =
        starts.map(|start| start..(start + run.max(1)).min(count)).collect();
    // Only as many runs as threads are in memory at a time.
    for runs in runs.chunks(rayon::current_num_threads().max(1)) {
        let made: Vec<PlanTable<AreaNumbers>> =
            runs.par_iter().map(|rows| write_run(writing, &position, rows.clone())).collect();
        made.into_iter().for_each(&mut *sink);
    }
}

/// Plans of the rows of one run. `position` is that of each row among the sessions, `u32::MAX` for
/// a row in error.
fn write_run(
    writing: &RowWriter<'_>,
    position: &[u32],
    rows: Range<usize>,
) -> PlanTable<AreaNumbers> {
    let RowWriter { problem, plans, unmet_kwh } = *writing;
    let mut made = PlanTable::<AreaNumbers>::default();
    let (mut buffers, mut taken) = (PricingBuffers::default(), EnergyBySlot::new());
    let sessions = plans.context.sessions;
    for row in rows {
        if position[row] == u32::MAX {
            made.push_blank();
            continue;
        }
        let at = position[row] as usize;
        let session = &sessions.each[at];
        plans.plan(sessions.group_of(at), at, &mut buffers, &mut taken);
        let (mut bought, mut sold, mut cost) = (0, 0, 0.0);
        for &(slot, energy) in &taken {
            bought += energy.max(0);
            sold -= energy.min(0);
            cost += plans.context.cost_of(session, slot as usize, energy);
        }
        // Baseline: the same energy, or what the battery gains, at full power from arrival.
        let battery = sessions.battery_of(session);
        let gained = |battery: &Battery| battery.at_plug(battery.gained_kwh(&taken).max(0.0));
        let most = battery.map_or(bought, gained);
        let mut baseline = 0.0;
        charge_at_once(plans.context, session, most, |slot, energy| {
            baseline += plans.context.cost_of(session, slot, energy);
        });
        add_intervals(&mut made.intervals, problem, session, row, &taken, plans);
        let stay = (problem.vehicles.fleet.arrival[row], problem.vehicles.fleet.departure[row]);
        let prices = problem.curves.prices(session.curve as usize);
        let window = Window::new(problem.horizon(), stay.0, stay.1);
        made.numbers.unpriced_hours.push(unpriced_hours(problem.horizon(), prices, window));
        made.push(cost, (as_kwh(bought), as_kwh(sold)), unmet_kwh[row], baseline);
    }
    made
}

impl PlanTable<AreaNumbers> {
    /// Adds the numbers of a row and ends its intervals. `(bought, sold)` are in kWh at the plug.
    fn push(&mut self, cost: f64, (bought, sold): (f64, f64), unmet_kwh: f64, baseline_cost: f64) {
        let numbers = &mut self.numbers;
        numbers.cost.push(cost);
        numbers.energy_kwh.push(bought);
        numbers.discharged_kwh.push(sold);
        numbers.unmet_kwh.push(unmet_kwh);
        numbers.baseline_cost.push(baseline_cost);
        numbers.savings.push(baseline_cost - cost);
        self.intervals.end_row();
    }
}

/// Adds the intervals of a plan; neighbours of equal power are joined.
fn add_intervals(
    intervals: &mut IntervalColumns,
    problem: &AreaProblem<'_>,
    session: &Session,
    row: usize,
    taken: &EnergyBySlot,
    plans: &PlanReader<'_>,
) {
    let horizon = plans.context.horizon();
    let fleet = &problem.vehicles.fleet;
    let (arrival, departure) = (fleet.arrival[row], fleet.departure[row]);
    let discharge_max = problem.vehicles.storage.map_or(0.0, |c| c.discharge_max_kw[row]);
    // In a slot with a deadline inside, energy comes first and at full power.
    let deadlines = plans.context.sessions.deadlines_of(session);
    let is_cut = |slot: u32| deadlines.is_some_and(|deadlines| deadlines.is_cut(slot));
    for &(slot, energy) in taken {
        let slot = slot as usize;
        let start = horizon.starts()[slot].max(arrival);
        let full_end = horizon.ends()[slot].min(departure);
        let power_max = if energy > 0 { fleet.power_max_kw[row] } else { -discharge_max };
        let most = if energy > 0 {
            session.cap(horizon, slot)
        } else {
            let hours = (full_end - start) as f64 / MICROS_PER_HOUR;
            to_micro_wh(discharge_max * hours)
        };
        // Full slots keep their full power free of rounding.
        let is_full = energy.abs() >= most;
        let micros = as_kwh(energy) / power_max * MICROS_PER_HOUR;
        let (end, power) = if is_full {
            (full_end, power_max)
        } else if session.is_indivisible || is_cut(slot as u32) {
            ((start + micros.round() as i64).min(full_end), power_max)
        } else {
            (full_end, as_kwh(energy) * MICROS_PER_HOUR / (full_end - start) as f64)
        };
        intervals.join(start, end, power);
    }
}

//! Columns of the linear relaxation, in kWh and kW.
//!
//! | Symbol | Field |
//! |---|---|
//! | `n_t`, `x_t`, `e_t`, `z_t` | `StepColumns::{import, over, export, lost}` |
//! | `c_it`, `d_it`, `s_it` | `BatteryColumns::{charge, discharge, level}` |
//! | `X` | `EvccModel::rate` |
use crate::lp::{Column, LinearProgram, Row};
use crate::plan::evcc::request::{EvccBattery, EvccRequest};
use crate::plan::evcc::weights::{LOSS_FADE, MISSED, Weights};

/// Energy in kWh below which a flow counts as none: a thousandth of a Wh.
pub(crate) const DUST_KWH: f64 = 1e-6;

/// Columns of one step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepColumns {
    pub(crate) import: usize,
    /// Import above the limit.
    pub(crate) over: Option<usize>,
    pub(crate) export: usize,
    /// Energy that the export limit loses.
    pub(crate) lost: Option<usize>,
}

/// Demand of one step: columns of what is missed of it, and of whether the battery is full.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand {
    pub(crate) step: usize,
    /// Energy demanded in kWh, at most that of the highest power.
    pub(crate) wanted: f64,
    pub(crate) missed: usize,
    pub(crate) is_full: usize,
}

/// Columns of one battery, one per step.
#[derive(Debug, Clone, Default)]
pub(crate) struct BatteryColumns {
    pub(crate) charge: Vec<usize>,
    pub(crate) discharge: Vec<usize>,
    pub(crate) level: Vec<usize>,
    pub(crate) demands: Vec<Demand>,
}

/// Linear relaxation of a request. Costs are in units of `Weights::highest`.
#[derive(Debug, Clone)]
pub(crate) struct EvccModel<'r> {
    pub(crate) request: &'r EvccRequest,
    pub(crate) weights: Weights,
    pub(crate) program: LinearProgram,
    pub(crate) steps: Vec<StepColumns>,
    pub(crate) batteries: Vec<BatteryColumns>,
    /// Highest import above the limit in kW, if there is a demand rate.
    pub(crate) rate: Option<usize>,
}

/// Energy of a power in W over some hours, in kWh.
pub(crate) fn kwh(watts: f64, hours: f64) -> f64 {
    watts * hours / 1000.0
}

impl<'r> EvccModel<'r> {
    pub(crate) fn new(request: &'r EvccRequest) -> Self {
        let mut model = Self {
            request,
            weights: Weights::new(request),
            program: LinearProgram::default(),
            steps: Vec::new(),
            batteries: Vec::new(),
            rate: None,
        };
        for battery in &request.batteries {
            let columns = model.add_battery(battery);
            model.batteries.push(columns);
        }
        for step in 0..request.time_series.len() {
            model.add_step(step);
        }
        model.add_rows();
        model
    }

    pub(crate) fn add_column(&mut self, cost: f64, upper: f64) -> usize {
        self.program.add_column(Column { cost, lower: 0.0, upper })
    }

    pub(crate) fn add_row(&mut self, lower: f64, upper: f64, terms: Vec<(usize, f64)>) {
        self.program.rows.push(Row { lower, upper, terms });
    }

    /// Values of the columns if every battery is idle: levels stay, and the meter has the load less
    /// the sun. Goals and demands that idle batteries miss are not among them.
    ///
    /// The simplex method takes a fifth of the steps from here that it takes from its own start,
    /// whose basis has no level.
    pub(crate) fn idle_values(&self) -> Vec<f64> {
        let mut values = vec![0.0; self.program.columns.len()];
        for (columns, battery) in self.batteries.iter().zip(&self.request.batteries) {
            for &level in &columns.level {
                let Column { lower, upper, .. } = self.program.columns[level];
                values[level] = (battery.s_initial / 1000.0).clamp(lower, upper);
            }
        }
        for (step, columns) in self.steps.iter().enumerate() {
            let net = self.request.time_series.net(step) / 1000.0;
            let (within, beyond) = if net > 0.0 {
                (columns.import, columns.over)
            } else {
                (columns.export, columns.lost)
            };
            values[within] = net.abs().min(self.upper(within));
            if let Some(beyond) = beyond {
                values[beyond] = net.abs() - values[within];
            }
        }
        values
    }

    /// Upper bound of a column.
    pub(crate) fn upper(&self, column: usize) -> f64 {
        self.program.columns[column].upper
    }

    fn add_battery(&mut self, battery: &EvccBattery) -> BatteryColumns {
        let mut columns = BatteryColumns::default();
        let request = self.request;
        let count = request.time_series.len();
        for step in 0..count {
            let hours = request.time_series.hours(step);
            let worth = self.weights.priority(battery.c_priority, step);
            columns.charge.push(self.add_column(-worth, kwh(battery.c_max, hours)));
            columns.discharge.push(self.add_column(-worth, kwh(battery.d_max, hours)));
            let value = if step + 1 == count { battery.p_a } else { 0.0 };
            let level = self.add_column(-value / self.weights.highest, battery.capacity() / 1000.0);
            columns.level.push(level);
        }
        columns.demands = self.add_demands(battery);
        columns
    }

    /// Adds the columns of all steps that demand energy.
    fn add_demands(&mut self, battery: &EvccBattery) -> Vec<Demand> {
        let Some(wanted) = &battery.p_demand else { return Vec::new() };
        let request = self.request;
        let mut reached = battery.s_initial / 1000.0;
        let mut demands = Vec::new();
        for (step, &wanted) in wanted.iter().enumerate() {
            let most = kwh(battery.c_max, request.time_series.hours(step));
            reached += request.efficiencies(battery).0 * most;
            let wanted = (wanted / 1000.0).min(most);
            if wanted <= 0.0 {
                continue;
            }
            // Rounding must not forbid what is just possible.
            let can_be_full = reached >= battery.s_max / 1000.0 - DUST_KWH;
            let missed = self.add_column(self.weights.demand(step), wanted);
            let is_full = self.add_column(0.0, f64::from(u8::from(can_be_full)));
            demands.push(Demand { step, wanted, missed, is_full });
        }
        demands
    }

    /// Adds the columns of the meter, after those of the batteries.
    fn add_step(&mut self, step: usize) {
        let (request, highest) = (self.request, self.weights.highest);
        let hours = request.time_series.hours(step);
        let net = request.time_series.net(step) / 1000.0;
        let all = |columns: fn(&BatteryColumns) -> &Vec<usize>| {
            let uppers = self.batteries.iter().map(|battery| columns(battery)[step]);
            uppers.map(|column| self.upper(column)).sum::<f64>()
        };
        let (charges, discharges) = (all(|b| &b.charge), all(|b| &b.discharge));
        // Energy that an export limit of zero loses may be imported at the same time.
        let is_closed = request.grid.p_max_exp == Some(0.0);
        let loses =
            if is_closed { request.time_series.ft[step] / 1000.0 + discharges } else { 0.0 };
        let import_max = (net + charges + loses).max(0.0);
        let export_max = (discharges - net).max(0.0).max(loses);
        let price = request.time_series.p_n[step] / highest;
        let earns = request.time_series.p_e[step] / highest;
        let limit =
            |watts: Option<f64>, most: f64| watts.map_or(most, |watts| kwh(watts, hours).min(most));
        let import = self.add_column(
            price + self.weights.import(step),
            limit(request.grid.p_max_imp, import_max),
        );
        let over = request.grid.p_max_imp.map(|_| {
            let breach = if request.has_demand_rate() { 0.0 } else { MISSED };
            self.add_column(price + breach, import_max)
        });
        let export = self.add_column(
            self.weights.export(step) - earns,
            limit(request.grid.p_max_exp, export_max),
        );
        let lost = request
            .grid
            .p_max_exp
            .map(|_| self.add_column(MISSED * (1.0 - step as f64 * LOSS_FADE), export_max));
        self.steps.push(StepColumns { import, over, export, lost });
    }
}

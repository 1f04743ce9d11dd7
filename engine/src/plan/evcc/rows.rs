//! Rows of the linear relaxation.
use crate::plan::evcc::columns::{EvccModel, kwh};
use crate::plan::evcc::weights::{MISSED, OUTSIDE, PEAK, RAMP};

/// Charging efficiency from which energy outside the bounds of a battery costs more than all that
/// it could save: per Wh at the plug a missed demand, lost solar energy and prices, below 310 units
/// in all, against [`OUTSIDE`] per stored Wh. Bounds that hold at the start are then hard.
const HARD_BOUNDS_EFFICIENCY: f64 = 0.5;

impl EvccModel<'_> {
    /// Adds all rows.
    pub(crate) fn add_rows(&mut self) {
        self.bound_grid_use();
        for step in 0..self.steps.len() {
            self.add_balance(step);
        }
        for battery in 0..self.batteries.len() {
            self.add_levels(battery);
            self.add_bounds(battery);
            self.add_goals(battery);
            self.add_demand_rows(battery);
        }
        self.add_rate();
        let (import, export) = self.weights.levels;
        if import {
            self.add_peaks(&|model, step| model.import_terms(step));
        }
        if export {
            self.add_peaks(&|model, step| model.export_terms(step));
        }
    }

    /// Columns of the import of a step, the part above the limit included.
    pub(crate) fn import_terms(&self, step: usize) -> Vec<usize> {
        let columns = self.steps[step];
        std::iter::once(columns.import).chain(columns.over).collect()
    }

    /// Columns of the export of a step, with what an export limit loses.
    pub(crate) fn export_terms(&self, step: usize) -> Vec<usize> {
        let columns = self.steps[step];
        std::iter::once(columns.export).chain(columns.lost).collect()
    }

    /// Lowers charges and discharges that may not use the grid to what all others can feed or draw.
    fn bound_grid_use(&mut self) {
        for step in 0..self.steps.len() {
            let net = self.request.time_series.net(step) / 1000.0;
            for index in 0..self.batteries.len() {
                let battery = &self.request.batteries[index];
                let others = |columns: &dyn Fn(usize) -> usize| -> f64 {
                    let others = (0..self.batteries.len()).filter(|&other| other != index);
                    others.map(|other| self.upper(columns(other))).sum()
                };
                let fed = others(&|other| self.batteries[other].discharge[step]);
                let drawn = others(&|other| self.batteries[other].charge[step]);
                let columns = &self.batteries[index];
                let (charge, discharge) = (columns.charge[step], columns.discharge[step]);
                if !battery.charge_from_grid {
                    self.lower_upper_bound(charge, fed - net);
                }
                // An export limit of zero loses what is discharged.
                if !battery.discharge_to_grid && self.request.grid.p_max_exp != Some(0.0) {
                    self.lower_upper_bound(discharge, drawn + net);
                }
            }
        }
    }

    fn lower_upper_bound(&mut self, column: usize, most: f64) {
        let column = &mut self.program.columns[column];
        column.upper = column.upper.min(most.max(0.0));
    }

    /// Adds the balance of the meter.
    fn add_balance(&mut self, step: usize) {
        let net = self.request.time_series.net(step) / 1000.0;
        let imports = self.import_terms(step).into_iter().map(|column| (column, 1.0));
        let exports = self.export_terms(step).into_iter().map(|column| (column, -1.0));
        let flows = self
            .batteries
            .iter()
            .flat_map(|battery| [(battery.charge[step], -1.0), (battery.discharge[step], 1.0)]);
        let terms = imports.chain(exports).chain(flows).collect();
        self.add_row(net, net, terms);
    }

    /// Adds the balance of a battery.
    fn add_levels(&mut self, index: usize) {
        let battery = &self.request.batteries[index];
        let (eta_c, eta_d) = self.request.efficiencies(battery);
        let columns = self.batteries[index].clone();
        for step in 0..self.steps.len() {
            let mut terms = vec![
                (columns.level[step], 1.0),
                (columns.charge[step], -eta_c),
                (columns.discharge[step], 1.0 / eta_d),
            ];
            let start = match step.checked_sub(1) {
                Some(before) => {
                    terms.push((columns.level[before], -1.0));
                    0.0
                }
                None => battery.s_initial / 1000.0,
            };
            self.add_row(start, start, terms);
        }
    }

    /// Bounds the levels of a battery: by the columns if it starts within them, else by penalties.
    fn add_bounds(&mut self, index: usize) {
        let battery = &self.request.batteries[index];
        let (least, most) = (battery.s_min / 1000.0, battery.s_max / 1000.0);
        let is_inside = (battery.s_min..=battery.s_max).contains(&battery.s_initial);
        let is_hard = self.request.efficiencies(battery).0 >= HARD_BOUNDS_EFFICIENCY && is_inside;
        for level in self.batteries[index].level.clone() {
            if is_hard {
                let column = &mut self.program.columns[level];
                (column.lower, column.upper) = (least, column.upper.min(most));
                continue;
            }
            let capacity = self.upper(level);
            if most < capacity {
                let above = self.add_column(OUTSIDE, capacity - most);
                self.add_row(f64::NEG_INFINITY, most, vec![(level, 1.0), (above, -1.0)]);
            }
            if least > 0.0 {
                let below = self.add_column(OUTSIDE, least);
                self.add_row(least, f64::INFINITY, vec![(level, 1.0), (below, 1.0)]);
            }
        }
    }

    /// Adds a row per goal. The contract does not use the goal of the first step.
    fn add_goals(&mut self, index: usize) {
        let Some(goals) = &self.request.batteries[index].s_goal else { return };
        for (step, &goal) in goals.iter().enumerate().skip(1).filter(|&(_, &goal)| goal > 0.0) {
            let missed = self.add_column(MISSED, goal / 1000.0);
            let level = self.batteries[index].level[step];
            self.add_row(goal / 1000.0, f64::INFINITY, vec![(level, 1.0), (missed, 1.0)]);
        }
    }

    /// Adds the rows of a battery's demands: energy is charged, or missed, or the battery is full.
    fn add_demand_rows(&mut self, index: usize) {
        let battery = &self.request.batteries[index];
        let full = battery.s_max / 1000.0;
        let least = self.level_least(index).min(full);
        let columns = self.batteries[index].clone();
        for demand in &columns.demands {
            let level = columns.level[demand.step];
            let rise = vec![(level, 1.0), (demand.is_full, least - full)];
            self.add_row(least, f64::INFINITY, rise);
            let charge = columns.charge[demand.step];
            let terms = vec![(charge, 1.0), (demand.missed, 1.0), (demand.is_full, demand.wanted)];
            self.add_row(demand.wanted, f64::INFINITY, terms);
        }
        if battery.d_max <= 0.0 {
            // A battery that only charges stays full.
            for pair in columns.demands.windows(2) {
                let terms = vec![(pair[1].is_full, 1.0), (pair[0].is_full, -1.0)];
                self.add_row(0.0, f64::INFINITY, terms);
            }
        }
    }

    /// Least level that a battery can have, in kWh.
    pub(crate) fn level_least(&self, index: usize) -> f64 {
        let battery = &self.request.batteries[index];
        if battery.d_max > 0.0 { 0.0 } else { battery.s_initial / 1000.0 }
    }

    /// Adds the demand rate on the highest import above the limit.
    fn add_rate(&mut self) {
        if !self.request.has_demand_rate() {
            return;
        }
        let price = self.request.grid.prc_p_exc_imp.unwrap_or(0.0) / self.weights.highest;
        let rate = self.add_column(price, f64::INFINITY);
        for step in 0..self.steps.len() {
            let Some(over) = self.steps[step].over else { continue };
            let hours = self.request.time_series.hours(step);
            self.add_row(f64::NEG_INFINITY, 0.0, vec![(over, 1.0), (rate, -hours)]);
        }
        self.rate = Some(rate);
    }

    /// Adds the peak and the changes of a power, each with its penalty.
    fn add_peaks(&mut self, columns: &dyn Fn(&Self, usize) -> Vec<usize>) {
        let peak = self.add_column(PEAK, f64::INFINITY);
        let power = |model: &Self, step: usize, sign: f64| -> Vec<(usize, f64)> {
            let per_hour = sign / model.request.time_series.hours(step);
            columns(model, step).into_iter().map(|column| (column, per_hour)).collect()
        };
        for step in 0..self.steps.len() {
            let mut terms = power(self, step, 1.0);
            terms.push((peak, -1.0));
            self.add_row(f64::NEG_INFINITY, 0.0, terms);
        }
        for step in 1..self.steps.len() {
            let ramp = self.add_column(RAMP, f64::INFINITY);
            for sign in [1.0, -1.0] {
                let mut terms = power(self, step, sign);
                terms.extend(power(self, step - 1, -sign));
                terms.push((ramp, -1.0));
                self.add_row(f64::NEG_INFINITY, 0.0, terms);
            }
        }
    }

    /// Least energy of a battery that charges in a step, in kWh.
    pub(crate) fn charge_least(&self, index: usize, step: usize) -> f64 {
        kwh(self.request.batteries[index].c_min, self.request.time_series.hours(step))
    }
}

//! Columns of plans: one row of numbers per vehicle, and columns of intervals.

use crate::columns::row_error::RowError;
use crate::plan::charge::plan::{Interval, Plan};
use crate::plan::charge::selection::slot_selection::{SlotSelection, Window};
use crate::time::horizon::Horizon;
use crate::units::{Power, Price};

/// Charging plans of a run of vehicles as columns, in the order of the rows.
///
/// A vehicle that could not be planned has NaN in every column, no interval, and its error in
/// `errors`.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// Cost, in units of the currency.
    pub cost: Vec<f64>,
    /// Energy bought, in kWh.
    pub energy_kwh: Vec<f64>,
    /// Largest shortfall at any deadline, in kWh.
    pub shortfall_kwh: Vec<f64>,
    /// Price of the next kWh before the last deadline; NaN if no more can be charged.
    pub marginal_price: Vec<f64>,
    /// Cost of the same energy at full power from arrival.
    pub baseline_cost: Vec<f64>,
    /// Baseline cost minus cost.
    pub savings: Vec<f64>,
    /// Cost minus the lower bound on the cost of any plan.
    pub gap: Vec<f64>,
    /// Hours of the stay without a price, which no plan uses.
    pub unpriced_hours: Vec<f64>,
    /// Row i has the intervals at `offsets[i]..offsets[i + 1]`.
    pub offsets: Vec<i32>,
    /// Starts of the intervals, in microseconds since 1970.
    pub interval_start: Vec<i64>,
    /// Ends of the intervals, in microseconds since 1970.
    pub interval_end: Vec<i64>,
    /// Charging power in the intervals, in kW.
    pub interval_power_kw: Vec<f64>,
    /// Vehicles that could not be planned, by their position in this run.
    pub errors: Vec<(usize, RowError)>,
}

impl Answers {
    /// Empty columns with memory for `rows` rows.
    pub(crate) fn with_capacity(rows: usize) -> Self {
        let column = || Vec::with_capacity(rows);
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Self {
            cost: column(),
            energy_kwh: column(),
            shortfall_kwh: column(),
            marginal_price: column(),
            baseline_cost: column(),
            savings: column(),
            gap: column(),
            unpriced_hours: column(),
            offsets,
            interval_start: Vec::with_capacity(rows * 4),
            interval_end: Vec::with_capacity(rows * 4),
            interval_power_kw: Vec::with_capacity(rows * 4),
            errors: Vec::new(),
        }
    }

    /// Number of vehicles.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cost.len()
    }

    /// Returns true if there is no vehicle.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cost.is_empty()
    }

    /// Adds the numbers of a row: cost, energy, shortfall, marginal price, baseline cost, gap and
    /// unpriced hours.
    #[inline(always)]
    fn push_numbers(&mut self, numbers: [f64; 7]) {
        let [cost, energy_kwh, shortfall_kwh, marginal_price, baseline_cost, gap, unpriced] =
            numbers;
        self.cost.push(cost);
        self.energy_kwh.push(energy_kwh);
        self.shortfall_kwh.push(shortfall_kwh);
        self.marginal_price.push(marginal_price);
        self.baseline_cost.push(baseline_cost);
        self.savings.push(baseline_cost - cost);
        self.gap.push(gap);
        self.unpriced_hours.push(unpriced);
    }

    /// Adds an interval to the row under way.
    #[inline(always)]
    fn push_interval(&mut self, start: i64, end: i64, power_kw: f64) {
        self.interval_start.push(start);
        self.interval_end.push(end);
        self.interval_power_kw.push(power_kw);
    }

    /// Ends the row under way.
    #[inline(always)]
    fn end_row(&mut self) {
        self.offsets.push(self.interval_start.len() as i32);
    }

    /// Adds the row of a slot selection, which charges at `power_max` in every slot it uses.
    #[inline(always)]
    pub(crate) fn push_choice(
        &mut self,
        choice: &SlotSelection,
        (gap, unpriced_hours): (f64, f64),
        horizon: &Horizon,
        window: Window,
        power_max: Power,
    ) {
        self.push_numbers([
            choice.cost,
            choice.energy_kwh,
            choice.shortfall_kwh,
            choice.marginal_price,
            choice.baseline_cost,
            gap,
            unpriced_hours,
        ]);
        // Slots that touch become one interval; `open` is the one not yet written.
        let mut open: Option<(i64, i64)> = None;
        choice.for_each_used(|slot, is_partial| {
            let start = horizon.starts()[slot].max(window.from);
            let slot_end = horizon.ends()[slot].min(window.to);
            let end = if is_partial {
                start + power_max.micros_for_kwh(choice.partial_kwh).round() as i64
            } else {
                slot_end
            };
            let end = end.min(slot_end);
            open = match open {
                Some((first, last)) if last == start => Some((first, end)),
                Some((first, last)) => {
                    self.push_interval(first, last, power_max.as_kw());
                    Some((start, end)).filter(|_| end > start)
                }
                None => Some((start, end)).filter(|_| end > start),
            };
        });
        if let Some((first, last)) = open {
            self.push_interval(first, last, power_max.as_kw());
        }
        self.end_row();
    }

    /// Adds the row of a plan.
    pub(crate) fn push_plan(&mut self, plan: &Plan) {
        self.push_numbers([
            plan.cost.as_amount(),
            plan.energy.as_kwh(),
            plan.shortfall.as_kwh(),
            plan.marginal_price.map_or(f64::NAN, Price::as_per_kwh),
            plan.baseline_cost.as_amount(),
            plan.certificate.gap().as_amount(),
            plan.unpriced_hours,
        ]);
        for Interval { start, end, power } in &plan.intervals {
            self.push_interval(start.timestamp_micros(), end.timestamp_micros(), power.as_kw());
        }
        self.end_row();
    }

    /// Adds the row of a vehicle that cannot be planned.
    pub(crate) fn push_error(&mut self, error: RowError) {
        self.errors.push((self.len(), error));
        self.push_numbers([f64::NAN; 7]);
        self.end_row();
    }
}

/// Storage plans of a run of rows as columns, in the order of the rows.
///
/// A row that could not be planned has NaN in every column, no interval, and its error in `errors`.
#[derive(Debug, Clone, Default)]
pub struct StorageAnswers {
    /// Cost, in units of the currency.
    pub cost: Vec<f64>,
    /// Energy bought, in kWh at the plug.
    pub charged_kwh: Vec<f64>,
    /// Energy sold, in kWh at the plug.
    pub discharged_kwh: Vec<f64>,
    /// Stored energy missing at departure, in kWh, with what the target wants above the charge
    /// limit.
    pub shortfall_kwh: Vec<f64>,
    /// State of charge at departure, in percent.
    pub soc_percent: Vec<f64>,
    /// Cost of the baseline: charging at once, without discharging.
    pub baseline_cost: Vec<f64>,
    /// Baseline cost minus cost.
    pub savings: Vec<f64>,
    /// Cost minus the lower bound on the cost of any plan.
    pub gap: Vec<f64>,
    /// Row i has the intervals at `offsets[i]..offsets[i + 1]`.
    pub offsets: Vec<i32>,
    /// Starts, in microseconds since 1970.
    pub interval_start: Vec<i64>,
    /// Ends, in microseconds since 1970.
    pub interval_end: Vec<i64>,
    /// Power in kW; negative is discharging.
    pub interval_power_kw: Vec<f64>,
    /// Rows that could not be planned, by their position in this run.
    pub errors: Vec<(usize, RowError)>,
}

impl StorageAnswers {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cost.len()
    }

    /// Returns true if there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cost.is_empty()
    }

    /// Adds a row in error at `position`, and removes what was written of it.
    pub(crate) fn push_error(&mut self, position: usize, error: RowError) {
        let first = self.offsets[position] as usize;
        self.interval_start.truncate(first);
        self.interval_end.truncate(first);
        self.interval_power_kw.truncate(first);
        self.offsets.truncate(position + 1);
        for column in [
            &mut self.cost,
            &mut self.charged_kwh,
            &mut self.discharged_kwh,
            &mut self.shortfall_kwh,
            &mut self.soc_percent,
            &mut self.baseline_cost,
            &mut self.savings,
            &mut self.gap,
        ] {
            column.truncate(position);
            column.push(f64::NAN);
        }
        self.offsets.push(self.interval_start.len() as i32);
        self.errors.push((position, error));
    }

    /// Adds an interval at full power from the start of a slot, as long as `net_kwh` at the plug
    /// takes. It continues the interval before if that touches and has the same power.
    pub(crate) fn push_interval(
        &mut self,
        (start, slot_end): (i64, i64),
        power: Power,
        net_kwh: f64,
    ) {
        let full = power.over_micros(slot_end - start).as_kwh();
        let end = if net_kwh.abs() >= full.abs() {
            slot_end
        } else {
            let micros = (net_kwh / full * (slot_end - start) as f64).round() as i64;
            (start + micros).min(slot_end)
        };
        if end <= start {
            return;
        }
        let first = self.offsets.last().map_or(0, |&offset| offset as usize);
        let kw = power.as_kw();
        if self.interval_start.len() > first
            && self.interval_end.last() == Some(&start)
            && self.interval_power_kw.last().is_some_and(|last| last.total_cmp(&kw).is_eq())
        {
            if let Some(last) = self.interval_end.last_mut() {
                *last = end;
            }
            return;
        }
        self.interval_start.push(start);
        self.interval_end.push(end);
        self.interval_power_kw.push(kw);
    }
}

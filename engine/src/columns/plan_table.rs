//! Tables of plans: numbers of each plan by row, and the intervals of all rows in columns.

use crate::columns::intervals::IntervalColumns;
use crate::columns::row_error::RowError;
use crate::plan::charge::forgone::Forgone;
use crate::plan::charge::plan::Plan;
use crate::plan::charge::selection::slot_selection::{SlotSelection, Window};
use crate::plan::interval::Interval;
use crate::time::horizon::Horizon;
use crate::units::{Power, Price};

/// Plans of a run of rows, in the order of the rows.
///
/// A row that could not be planned has NaN in every column of numbers, no interval, and its error
/// in `errors`.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanTable<N, E = RowError> {
    /// Columns of numbers: [`ChargeNumbers`], [`StorageNumbers`], [`HeatNumbers`] or those of an area.
    pub numbers: N,
    /// Intervals of constant power.
    pub intervals: IntervalColumns,
    /// Rows that could not be planned, by their position in this run. Errors of an area are in the
    /// area's plan.
    pub errors: Vec<(usize, E)>,
}

impl<N: Default, E> Default for PlanTable<N, E> {
    fn default() -> Self {
        let (numbers, intervals) = (N::default(), IntervalColumns::default());
        Self { numbers, intervals, errors: Vec::new() }
    }
}

/// Struct of columns that grow together.
pub(crate) trait NumberColumns {
    /// All columns.
    fn columns(&mut self) -> impl Iterator<Item = &mut Vec<f64>>;
}

impl<N, E> PlanTable<N, E> {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.intervals.rows()
    }

    /// Returns true if there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a row of NaN, without intervals, in place of a row that is not complete.
    pub(crate) fn push_blank(&mut self)
    where
        N: NumberColumns,
    {
        let row = self.len();
        // After a panic some columns may hold a number of this row already.
        for column in self.numbers.columns() {
            column.truncate(row);
            column.push(f64::NAN);
        }
        self.intervals.drop_unfinished();
        self.intervals.end_row();
    }

    /// Adds a row that cannot be planned, and removes what was written of it.
    pub(crate) fn push_error(&mut self, error: E)
    where
        N: NumberColumns,
    {
        self.errors.push((self.len(), error));
        self.push_blank();
    }
}

/// Numbers of charging plans.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChargeNumbers {
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
    /// Energy at negative prices that is not bought, in kWh; see [`Forgone`].
    pub forgone_kwh: Vec<f64>,
    /// Money that this energy would earn, in units of the currency.
    pub forgone_revenue: Vec<f64>,
}

impl NumberColumns for ChargeNumbers {
    fn columns(&mut self) -> impl Iterator<Item = &mut Vec<f64>> {
        [
            &mut self.cost,
            &mut self.energy_kwh,
            &mut self.shortfall_kwh,
            &mut self.marginal_price,
            &mut self.baseline_cost,
            &mut self.savings,
            &mut self.gap,
            &mut self.unpriced_hours,
            &mut self.forgone_kwh,
            &mut self.forgone_revenue,
        ]
        .into_iter()
    }
}

impl PlanTable<ChargeNumbers> {
    /// Empty table with memory for `rows` rows.
    pub(crate) fn with_capacity(rows: usize) -> Self {
        let mut numbers = ChargeNumbers::default();
        numbers.columns().for_each(|column| column.reserve_exact(rows));
        Self { numbers, intervals: IntervalColumns::with_capacity(rows), errors: Vec::new() }
    }

    /// Adds the numbers of a row: cost, energy, shortfall, marginal price, baseline cost, gap and
    /// unpriced hours, and what it leaves at negative prices.
    #[inline(always)]
    fn push_numbers(&mut self, numbers: [f64; 7], forgone: Option<Forgone>) {
        let [cost, energy_kwh, shortfall_kwh, marginal_price, baseline_cost, gap, unpriced] =
            numbers;
        let columns = &mut self.numbers;
        columns.cost.push(cost);
        columns.energy_kwh.push(energy_kwh);
        columns.shortfall_kwh.push(shortfall_kwh);
        columns.marginal_price.push(marginal_price);
        columns.baseline_cost.push(baseline_cost);
        columns.savings.push(baseline_cost - cost);
        columns.gap.push(gap);
        columns.unpriced_hours.push(unpriced);
        columns.forgone_kwh.push(forgone.map_or(0.0, |forgone| forgone.energy.as_kwh()));
        columns.forgone_revenue.push(forgone.map_or(0.0, |forgone| forgone.revenue.as_amount()));
    }

    /// Adds the row of a slot selection, which charges at `power_max` in every slot it uses.
    #[inline(always)]
    pub(crate) fn push_choice(
        &mut self,
        choice: &SlotSelection,
        (gap, unpriced_hours, forgone): (f64, f64, Option<Forgone>),
        horizon: &Horizon,
        window: Window,
        power_max: Power,
    ) {
        let numbers = [
            choice.cost,
            choice.energy_kwh,
            choice.shortfall_kwh,
            choice.marginal_price,
            choice.baseline_cost,
            gap,
            unpriced_hours,
        ];
        self.push_numbers(numbers, forgone);
        // All slots have one power, so only the bounds of the interval under way are needed. Kept out
        // of the columns they stay in registers, which saves 9 % of the time of a batch.
        let (intervals, power_kw) = (&mut self.intervals, power_max.as_kw());
        let mut open = (i64::MIN, i64::MIN);
        choice.for_each_used(|slot, is_partial| {
            let start = horizon.starts()[slot].max(window.from);
            let slot_end = horizon.ends()[slot].min(window.to);
            // A partial slot is used from its start on; rounding must not pass its end.
            let end = if is_partial {
                start + power_max.micros_for_kwh(choice.partial_kwh).round() as i64
            } else {
                slot_end
            };
            if open.1 != start {
                intervals.push_unless_empty(open.0, open.1, power_kw);
                open.0 = start;
            }
            open.1 = end.min(slot_end);
        });
        intervals.push_unless_empty(open.0, open.1, power_kw);
        intervals.end_row();
    }

    /// Adds the row of a plan, with what it leaves at negative prices.
    pub(crate) fn push_plan(&mut self, plan: &Plan, forgone: Option<Forgone>) {
        let numbers = [
            plan.cost.as_amount(),
            plan.energy.as_kwh(),
            plan.shortfall.as_kwh(),
            plan.marginal_price.map_or(f64::NAN, Price::as_per_kwh),
            plan.baseline_cost.as_amount(),
            plan.certificate.gap().as_amount(),
            plan.unpriced_hours,
        ];
        self.push_numbers(numbers, forgone);
        for Interval { start, end, power } in &plan.intervals {
            let (start, end) = (start.timestamp_micros(), end.timestamp_micros());
            self.intervals.push(start, end, power.as_kw());
        }
        self.intervals.end_row();
    }
}

/// Numbers of storage plans.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StorageNumbers {
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
    /// Hours of the stay without a price to buy at; where energy may be sold, without one to sell
    /// at, too.
    pub unpriced_hours: Vec<f64>,
    /// Stored energy of the arrival that is not there at departure, in kWh: it was sold, and its
    /// revenue is a part of the savings.
    pub stock_used_kwh: Vec<f64>,
}

impl NumberColumns for StorageNumbers {
    fn columns(&mut self) -> impl Iterator<Item = &mut Vec<f64>> {
        [
            &mut self.cost,
            &mut self.charged_kwh,
            &mut self.discharged_kwh,
            &mut self.shortfall_kwh,
            &mut self.soc_percent,
            &mut self.baseline_cost,
            &mut self.savings,
            &mut self.gap,
            &mut self.unpriced_hours,
            &mut self.stock_used_kwh,
        ]
        .into_iter()
    }
}

/// Numbers of heat plans.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeatNumbers {
    /// Cost, in units of the currency, less the value of the heat stored at the end.
    pub cost: Vec<f64>,
    /// Electrical energy used, in kWh.
    pub used_kwh: Vec<f64>,
    /// Heat moved, in kWh.
    pub heat_kwh: Vec<f64>,
    /// Degree-hours below the band, in °C·h.
    pub below_celsius_hours: Vec<f64>,
    /// Degree-hours above the band, in °C·h.
    pub above_celsius_hours: Vec<f64>,
    /// Temperature at the end, in °C.
    pub temperature_celsius: Vec<f64>,
    /// Cost of a thermostat.
    pub baseline_cost: Vec<f64>,
    /// Baseline cost minus cost.
    pub savings: Vec<f64>,
    /// Cost minus the lower bound on the cost of any plan with as few degree-hours.
    pub gap: Vec<f64>,
    /// Hours without a price, in which the unit is off.
    pub unpriced_hours: Vec<f64>,
    /// Emissions in kg; NaN without an intensity.
    pub carbon_kg: Vec<f64>,
    /// Emissions of the thermostat in kg; NaN without an intensity.
    pub baseline_carbon_kg: Vec<f64>,
}

impl NumberColumns for HeatNumbers {
    fn columns(&mut self) -> impl Iterator<Item = &mut Vec<f64>> {
        [
            &mut self.cost,
            &mut self.used_kwh,
            &mut self.heat_kwh,
            &mut self.below_celsius_hours,
            &mut self.above_celsius_hours,
            &mut self.temperature_celsius,
            &mut self.baseline_cost,
            &mut self.savings,
            &mut self.gap,
            &mut self.unpriced_hours,
            &mut self.carbon_kg,
            &mut self.baseline_carbon_kg,
        ]
        .into_iter()
    }
}

//! Storage plans of independent batteries, as many as there are.
//!
//! Each row gets the plan that it would get alone, the same bits on any number
//! of threads. The rows share their prices, which are cut
//! once; a row cuts the two slots in which it arrives and leaves.
use std::ops::Range;

use rayon::prelude::*;

use crate::area::batch::RUN;
use crate::area::fleet::{NO_TIME, RowError, catch_defect};
use crate::plan::storage::baseline::baseline_of;
use crate::plan::storage::branch::reached;
use crate::plan::storage::grid::Grid;
use crate::plan::storage::kernel::{Kernel, KernelSlot, Scratch, changes};
use crate::plan::storage::layout::{stored_by, taken_by};
use crate::plan::storage::problem::{check_efficiency, check_power};
use crate::plan::vehicle::check_capacity;
use crate::time::instant::instant_at;
use crate::units::{Energy, Percent, Power, Price, UnitError};

/// Batteries as columns of equal length. Times are microseconds since 1970,
/// [`NO_TIME`] if missing; NaN is a missing number.
#[derive(Debug, Clone, Copy, Default)]
pub struct Batteries<'a> {
    /// When each battery is plugged in.
    pub arrival: &'a [i64],
    /// When it leaves; its target is to be met by then.
    pub departure: &'a [i64],
    /// Usable capacity, in kWh.
    pub capacity_kwh: &'a [f64],
    /// State of charge on arrival, in percent.
    pub soc_percent: &'a [f64],
    /// State of charge wanted at departure, in percent; none where missing.
    pub target_percent: Option<&'a [f64]>,
    /// State of charge reached at once and kept, in percent.
    pub reserve_percent: Option<&'a [f64]>,
    /// Where charging ends, in percent; 100 where missing.
    pub charge_limit_percent: Option<&'a [f64]>,
    /// Highest charging power, in kW.
    pub charge_max_kw: &'a [f64],
    /// Highest discharging power, in kW.
    pub discharge_max_kw: &'a [f64],
    /// Stored energy per energy at the plug; 1 where missing.
    pub efficiency: Option<&'a [f64]>,
    /// Energy at the plug per stored energy; 1 where missing.
    pub efficiency_discharge: Option<&'a [f64]>,
    /// Value of a kWh stored at departure; 0 where missing.
    pub end_value_per_kwh: Option<&'a [f64]>,
    /// Wear per stored kWh that is discharged; 0 where missing.
    pub wear_price_per_kwh: Option<&'a [f64]>,
    /// Position of the prices that a battery pays; the first where not given.
    pub grid: Option<&'a [u32]>,
}

/// Storage plans of a run of rows as columns, in the order of the rows.
///
/// A row that could not be planned has NaN in every column, no interval, and
/// its reason in `errors`.
#[derive(Debug, Clone, Default)]
pub struct StorageAnswers {
    /// Cost, in units of the currency.
    pub cost: Vec<f64>,
    /// Energy bought, in kWh at the plug.
    pub charged_kwh: Vec<f64>,
    /// Energy sold, in kWh at the plug.
    pub discharged_kwh: Vec<f64>,
    /// Stored energy missing at departure, in kWh; what the target wants above
    /// the charge limit is missing, too.
    pub shortfall_kwh: Vec<f64>,
    /// State of charge at departure, in percent.
    pub soc_percent: Vec<f64>,
    /// Cost of the baseline.
    pub baseline_cost: Vec<f64>,
    /// Baseline cost minus cost.
    pub savings: Vec<f64>,
    /// Cost minus the bound that no plan can undercut.
    pub gap: Vec<f64>,
    /// Row i has the intervals at `offsets[i]..offsets[i + 1]`.
    pub offsets: Vec<i32>,
    /// Starts, in microseconds since 1970.
    pub interval_start: Vec<i64>,
    /// Ends, in microseconds since 1970.
    pub interval_end: Vec<i64>,
    /// Power, in kW; negative discharges.
    pub interval_power_kw: Vec<f64>,
    /// Rows that could not be planned, by their position in this run.
    pub errors: Vec<(usize, RowError)>,
}

/// Plans every battery, on all threads of the current rayon pool.
///
/// Answers come in runs of at most [`RUN`] rows, in row order. A row that makes
/// no sense is an error in its row; a target that cannot be met is a shortfall.
#[must_use]
pub fn plan_storage_batch(batteries: &Batteries<'_>, grids: &[Grid]) -> Vec<StorageAnswers> {
    let rows = batteries.arrival.len();
    let runs: Vec<Range<usize>> =
        (0..rows).step_by(RUN).map(|start| start..(start + RUN).min(rows)).collect();
    let mut answers: Vec<StorageAnswers> = Vec::new();
    runs.into_par_iter()
        .map(|rows| plan_run(batteries, grids, rows))
        .collect_into_vec(&mut answers);
    answers
}

fn plan_run(batteries: &Batteries<'_>, grids: &[Grid], rows: Range<usize>) -> StorageAnswers {
    let mut answers = StorageAnswers { offsets: vec![0], ..StorageAnswers::default() };
    let mut desk = Desk::default();
    for (position, row) in rows.enumerate() {
        let planned = catch_defect(|| desk.plan(batteries, grids, row, &mut answers));
        if let Err(error) = planned {
            if matches!(error, RowError::Defect) {
                desk = Desk::default();
            }
            answers.push_error(position, error);
        }
    }
    answers
}

/// Memory that is used for row after row.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    pub(crate) kernel: Kernel,
    periods: Vec<(i64, i64)>,
    import: Vec<f64>,
    export: Vec<f64>,
    scratch: Scratch,
}

/// One battery whose numbers have been checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Battery {
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) target_kwh: f64,
    pub(crate) reserve_kwh: f64,
    pub(crate) limit_kwh: f64,
    pub(crate) charge_max: Power,
    pub(crate) discharge_max: Power,
}

impl Desk {
    /// Checks the numbers of a row, and puts into the kernel what is not of a slot.
    pub(crate) fn read(
        &mut self,
        batteries: &Batteries<'_>,
        row: usize,
    ) -> Result<Battery, RowError> {
        let time = |column: &'static str, values: &[i64]| match values[row] {
            NO_TIME => Err(RowError::Missing { column }),
            time => Ok(time),
        };
        let (from, to) =
            (time("arrival", batteries.arrival)?, time("departure", batteries.departure)?);
        if to < from {
            let (arrival, departure) = (instant_at(from), instant_at(to));
            return Err(RowError::DepartureBeforeArrival { arrival, departure });
        }
        let or = |values: Option<&[f64]>, absent: f64| match values.map(|values| values[row]) {
            Some(value) if !value.is_nan() => value,
            _ => absent,
        };
        let capacity = quantity("capacity_kwh", batteries.capacity_kwh[row], Energy::from_kwh)?;
        check_capacity(capacity)?;
        let share = |column, value| {
            Ok::<f64, RowError>(
                quantity(column, value, Percent::from_percent)?.of(capacity).as_kwh(),
            )
        };
        let price = |column, value| {
            Ok::<f64, RowError>(quantity(column, value, Price::from_per_kwh)?.as_per_kwh())
        };
        let limit_kwh = share("charge_limit_percent", or(batteries.charge_limit_percent, 100.0))?;
        let battery = Battery {
            from,
            to,
            target_kwh: share("target_percent", or(batteries.target_percent, 0.0))?,
            reserve_kwh: share("reserve_percent", or(batteries.reserve_percent, 0.0))?
                .min(limit_kwh),
            limit_kwh,
            charge_max: power("charge_max_kw", batteries.charge_max_kw[row])?,
            discharge_max: power("discharge_max_kw", batteries.discharge_max_kw[row])?,
        };
        let kernel = &mut self.kernel;
        kernel.capacity_kwh = capacity.as_kwh();
        kernel.stored_kwh = share("soc_percent", batteries.soc_percent[row])?;
        kernel.efficiency_charge = or(batteries.efficiency, 1.0);
        kernel.efficiency_discharge = or(batteries.efficiency_discharge, 1.0);
        check_efficiency("efficiency", kernel.efficiency_charge)?;
        check_efficiency("efficiency_discharge", kernel.efficiency_discharge)?;
        kernel.end_value_per_kwh =
            price("end_value_per_kwh", or(batteries.end_value_per_kwh, 0.0))?;
        let wear = or(batteries.wear_price_per_kwh, 0.0);
        kernel.wear_per_kwh = price("wear_price_per_kwh", wear)?;
        if wear < 0.0 {
            let unit = "per kWh";
            return Err(RowError::Negative { column: "wear_price_per_kwh", value: wear, unit });
        }
        Ok(battery)
    }
}

impl Desk {
    fn plan(
        &mut self,
        batteries: &Batteries<'_>,
        grids: &[Grid],
        row: usize,
        answers: &mut StorageAnswers,
    ) -> Result<(), RowError> {
        let position = batteries.grid.map_or(0, |grid| grid[row] as usize);
        let grid = grids.get(position).ok_or(RowError::UnknownPrice)?;
        let battery = self.read(batteries, row)?;
        let reach = self.lay_out(grid, &battery);
        let answer = changes(&self.kernel, &self.import, &self.export, &mut self.scratch);
        self.write(&battery, reach, answer, answers);
        Ok(())
    }

    /// Fills the slots of the kernel; tells the highest level that can be had.
    fn lay_out(&mut self, grid: &Grid, battery: &Battery) -> f64 {
        let first = grid.ends.partition_point(|&end| end <= battery.from);
        let last = grid.starts.partition_point(|&start| start < battery.to).max(first);
        let kernel = &mut self.kernel;
        kernel.slots.clear();
        self.periods.clear();
        self.import.clear();
        self.import.extend_from_slice(&grid.import[first..last]);
        self.export.clear();
        self.export.extend_from_slice(&grid.export[first..last]);
        let mut reach = kernel.stored_kwh;
        let mut most = reach;
        for slot in first..last {
            let start = grid.starts[slot].max(battery.from);
            let end = grid.ends[slot].min(battery.to);
            let sells =
                if grid.export[slot].is_nan() { Power::ZERO } else { battery.discharge_max };
            let mut slot = KernelSlot {
                charge_kwh: stored_by(battery.charge_max, end - start, kernel.efficiency_charge),
                discharge_kwh: taken_by(sells, end - start, kernel.efficiency_discharge),
                limit_kwh: battery.limit_kwh,
                ..KernelSlot::default()
            };
            slot.drop_useless_power(reach, most);
            reach = reached(reach, &slot);
            most = battery.limit_kwh.max(reach);
            slot.most_kwh = most;
            slot.least_kwh = battery.reserve_kwh.min(reach);
            kernel.slots.push(slot);
            self.periods.push((start, end));
        }
        if let Some(slot) = kernel.slots.last_mut() {
            slot.least_kwh = slot.least_kwh.max(battery.target_kwh.min(reach));
        }
        reach
    }

    fn write(
        &self,
        battery: &Battery,
        reach: f64,
        answer: crate::plan::storage::kernel::Answer,
        answers: &mut StorageAnswers,
    ) {
        let kernel = &self.kernel;
        let mut level = kernel.stored_kwh;
        let (mut charged, mut discharged) = (0.0, 0.0);
        for (slot, &change) in self.scratch.change.iter().enumerate() {
            level += change;
            let net = kernel.at_plug(change);
            charged += net.max(0.0);
            discharged -= net.min(0.0);
            if net > 0.0 {
                answers.push_interval(self.periods[slot], battery.charge_max, net);
            } else if net < 0.0 {
                answers.push_interval(self.periods[slot], -battery.discharge_max, net);
            }
        }
        let missing = battery.target_kwh - reach;
        let is_missed = missing > 1e-9 * kernel.capacity_kwh;
        let baseline = baseline_of(kernel, &self.import, level);
        answers.cost.push(answer.cost);
        answers.charged_kwh.push(charged);
        answers.discharged_kwh.push(discharged);
        answers.shortfall_kwh.push(if is_missed { missing } else { 0.0 });
        answers.soc_percent.push((level / kernel.capacity_kwh * 100.0).clamp(0.0, 100.0));
        answers.baseline_cost.push(baseline);
        answers.savings.push(baseline - answer.cost);
        answers.gap.push(answer.cost - answer.bound);
        answers.offsets.push(answers.interval_start.len() as i32);
    }
}

/// A quantity, or an error that names its column.
fn quantity<T>(
    column: &'static str,
    value: f64,
    make: impl Fn(f64) -> Result<T, UnitError>,
) -> Result<T, RowError> {
    if value.is_nan() {
        return Err(RowError::Missing { column });
    }
    make(value).map_err(|source| RowError::NotAQuantity { column, source })
}

fn power(column: &'static str, value: f64) -> Result<Power, RowError> {
    let power = quantity(column, value, Power::from_kw)?;
    check_power(column, power)?;
    Ok(power)
}

impl StorageAnswers {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cost.len()
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cost.is_empty()
    }

    /// Makes an error of a row, in place of what was written of it.
    fn push_error(&mut self, position: usize, error: RowError) {
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

    /// Adds what a slot does at full power from its start; a neighbour of the
    /// same power goes on.
    fn push_interval(&mut self, (start, slot_end): (i64, i64), power: Power, net_kwh: f64) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::storage::planner::plan_on;
    use crate::plan::storage::problem::{StorageProblem, StorageRequest};
    use crate::plan::vehicle::{Battery, SocTarget};
    use crate::prices::curve::tests::curve_of;
    use proptest::prelude::*;
    use rayon::ThreadPoolBuilder;

    const HOUR: i64 = 3_600_000_000;

    /// A row as the tests draw it: arrival and stay in minutes, capacity,
    /// states of charge (now, wanted, reserve, limit), power, efficiency.
    type Row = (i64, i64, f64, (f64, f64, f64, f64), f64, f64);

    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let percent = || 0.0..100.0_f64;
        let row = (
            -60..300_i64,
            0..600_i64,
            5.0..80.0_f64,
            (percent(), percent(), 0.0..40.0_f64, 50.0..100.0_f64),
            0.0..22.0_f64,
            0.8..1.0_f64,
        );
        prop::collection::vec(row, 1..12)
    }

    fn plan(rows: &[Row], grid: &Grid, threads: usize) -> Vec<StorageAnswers> {
        let origin = curve_of(60, &[0]).horizon().starts()[0];
        let minute = |minutes: i64| origin + minutes * HOUR / 60;
        let column = |of: fn(&Row) -> f64| -> Vec<f64> { rows.iter().map(of).collect() };
        let arrival: Vec<i64> = rows.iter().map(|row| minute(row.0)).collect();
        let departure: Vec<i64> = rows.iter().map(|row| minute(row.0 + row.1)).collect();
        let (capacity, power, efficiency) = (column(|r| r.2), column(|r| r.4), column(|r| r.5));
        let (soc, target) = (column(|r| r.3.0), column(|r| r.3.1));
        let (reserve, limit) = (column(|r| r.3.2), column(|r| r.3.3));
        let batteries = Batteries {
            arrival: &arrival,
            departure: &departure,
            capacity_kwh: &capacity,
            soc_percent: &soc,
            target_percent: Some(&target),
            reserve_percent: Some(&reserve),
            charge_limit_percent: Some(&limit),
            charge_max_kw: &power,
            discharge_max_kw: &power,
            efficiency: Some(&efficiency),
            efficiency_discharge: Some(&efficiency),
            ..Batteries::default()
        };
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| plan_storage_batch(&batteries, std::slice::from_ref(grid)))
    }

    /// A row that panics half-way leaves an error and no numbers, and its neighbours alone.
    #[test]
    fn a_row_that_panics_is_an_error_of_that_row() {
        let mut answers = StorageAnswers { offsets: vec![0], ..StorageAnswers::default() };
        for row in 0..3 {
            let planned = catch_defect(|| {
                answers.push_interval((row * HOUR, row * HOUR + HOUR), power("", 2.0)?, 2.0);
                answers.cost.push(0.5);
                assert_ne!(row, 1, "the second row fails");
                answers.offsets.push(answers.interval_start.len() as i32);
                Ok(())
            });
            if let Err(error) = planned {
                assert_eq!(error, RowError::Defect);
                answers.push_error(row as usize, error);
            }
        }
        assert_eq!(answers.offsets, [0, 1, 1, 2]);
        assert_eq!(answers.interval_start, [0, 2 * HOUR]);
        assert!(answers.cost[1].is_nan() && answers.cost.len() == 3);
        assert_eq!(answers.errors, [(1, RowError::Defect)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Each row gets the plan it would get alone, on any number of threads.
        #[test]
        fn a_row_gets_its_own_plan(
            rows in rows(), cents in prop::collection::vec(-30..60_i32, 1..12),
        ) {
            let curve = curve_of(60, &cents);
            let grid = Grid::new(&curve, Some(&curve));
            let answers = plan(&rows, &grid, 1);
            prop_assert_eq!(format!("{:?}", &answers), format!("{:?}", plan(&rows, &grid, 8)));
            let answers = &answers[0];
            let origin = grid.starts[0];
            for (index, row) in rows.iter().enumerate() {
                let percent = |value| Percent::from_percent(value).unwrap();
                let battery = Battery {
                    capacity: Energy::from_kwh(row.2).unwrap(),
                    soc: Some(percent(row.3.0)),
                    soc_fallback: None,
                    charge_limit: percent(row.3.3),
                    efficiency: row.5,
                };
                let now = instant_at(origin + row.0 * HOUR / 60);
                let until = instant_at(origin + (row.0 + row.1) * HOUR / 60);
                let mut request =
                    StorageRequest::new(now, battery, Power::from_kw(row.4).unwrap());
                request.until = Some(until);
                request.efficiency_discharge = row.5;
                request.reserve = percent(row.3.2);
                request.targets.push(SocTarget { by: Some(until), soc: Some(percent(row.3.1)) });
                let problem = StorageProblem::new(request).unwrap();
                let alone = plan_on(&grid, &problem, &mut Scratch::new());
                let scale = alone.cost.as_amount().abs().max(1.0);
                let off = |a: f64, b: f64| (a - b).abs() > 1e-9 * scale;
                prop_assert!(!off(answers.cost[index], alone.cost.as_amount()), "{alone:?}");
                prop_assert!(!off(answers.shortfall_kwh[index], alone.shortfall.as_kwh()));
                prop_assert!(!off(answers.baseline_cost[index], alone.baseline_cost.as_amount()));
                prop_assert!(answers.gap[index] <= 1e-9 * scale);
                let (first, last) = (answers.offsets[index], answers.offsets[index + 1]);
                prop_assert_eq!((last - first) as usize, alone.intervals.len());
            }
        }
    }
}

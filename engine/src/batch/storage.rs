//! Batch of storage plans of independent batteries.
//!
//! Each battery gets the plan that it would get alone, with the same bits on any number of threads.
//! Rows share their [`PriceSlots`]; each cuts only the two slots in which it arrives and departs.
use std::ops::Range;

use rayon::prelude::*;

use crate::batch::charge::RUN;
use crate::columns::batteries::{Batteries, BatteryPlanner, BatteryRow};
use crate::columns::intervals::IntervalColumns;
use crate::columns::plan_table::{PlanTable, StorageNumbers};
use crate::columns::row_error::{RowError, catch_defect};
use crate::plan::storage::baseline::baseline_of;
use crate::plan::storage::branch_and_bound::reached;
use crate::plan::storage::branch_and_bound::solve;
use crate::plan::storage::dynamic_programme::ProgrammeSlot;
use crate::plan::storage::price_slots::PriceSlots;
use crate::plan::storage::slots::{stored_by, taken_by};
use crate::tolerance::ENERGY_SHARE_MIN;
use crate::units::{MICROS_PER_HOUR, Power};

/// Plans every battery, on all threads of the current rayon pool.
///
/// Plans are returned in runs of at most [`RUN`] rows, in row order. A battery with invalid values
/// is an error in its row; a target that cannot be met is a shortfall.
#[must_use]
pub fn plan_storage_batch(
    batteries: &Batteries<'_>,
    grids: &[PriceSlots],
) -> Vec<PlanTable<StorageNumbers>> {
    let rows = batteries.arrival.len();
    let runs: Vec<Range<usize>> =
        (0..rows).step_by(RUN).map(|start| start..(start + RUN).min(rows)).collect();
    let mut plans = Vec::new();
    runs.into_par_iter().map(|rows| plan_run(batteries, grids, rows)).collect_into_vec(&mut plans);
    plans
}

/// Emissions in kg of the baseline of each battery, NaN where it has no plan.
///
/// `intensities` are carbon intensities in place of the prices to buy at, and `soc_percent` is the
/// state of charge at the end of each plan, NaN without one.
#[must_use]
pub fn storage_baseline_emissions(
    batteries: &Batteries<'_>,
    intensities: &[PriceSlots],
    soc_percent: &[f64],
) -> Vec<f64> {
    let rows = soc_percent.par_iter().enumerate().with_min_len(RUN / 8);
    rows.map_init(BatteryPlanner::default, |desk, (row, &percent)| {
        if percent.is_nan() {
            return f64::NAN;
        }
        let kg = desk.baseline_emissions(batteries, intensities, row, percent);
        kg.unwrap_or(f64::NAN)
    })
    .collect()
}

/// Plans one run of rows. After a panic the buffers are replaced, since they may be half written.
fn plan_run(
    batteries: &Batteries<'_>,
    grids: &[PriceSlots],
    rows: Range<usize>,
) -> PlanTable<StorageNumbers> {
    let mut plans = PlanTable::<StorageNumbers>::default();
    let mut desk = BatteryPlanner::default();
    for row in rows {
        let planned = catch_defect(|| desk.plan(batteries, grids, row, &mut plans));
        if let Err(error) = planned {
            if matches!(error, RowError::Defect) {
                desk = BatteryPlanner::default();
            }
            plans.push_error(error);
        }
    }
    plans
}

impl BatteryPlanner {
    /// Plans one row and adds it to `plans`.
    fn plan(
        &mut self,
        batteries: &Batteries<'_>,
        grids: &[PriceSlots],
        row: usize,
        plans: &mut PlanTable<StorageNumbers>,
    ) -> Result<(), RowError> {
        let position = batteries.grid.map_or(0, |grid| grid[row] as usize);
        let grid = grids.get(position).ok_or(RowError::UnknownPrice)?;
        let battery = self.read(batteries, row)?;
        let reach = self.lay_out(grid, &battery);
        let answer = solve(&self.programme, &self.import, &self.export, &mut self.buffers);
        plans.numbers.unpriced_hours.push(self.unpriced_hours(&battery, grid.may_sell));
        self.write(&battery, reach, answer, plans);
        Ok(())
    }

    /// Emissions of the baseline of a row whose plan ends at a state of charge.
    fn baseline_emissions(
        &mut self,
        batteries: &Batteries<'_>,
        intensities: &[PriceSlots],
        row: usize,
        end_percent: f64,
    ) -> Result<f64, RowError> {
        let position = batteries.grid.map_or(0, |grid| grid[row] as usize);
        let grid = intensities.get(position).ok_or(RowError::UnknownPrice)?;
        let battery = self.read(batteries, row)?;
        self.lay_out(grid, &battery);
        // At intensities in place of prices the cost is in kg, and what is stored has no value.
        self.programme.end_value_per_kwh = 0.0;
        let end_kwh = end_percent / 100.0 * self.programme.capacity_kwh;
        Ok(baseline_of(&self.programme, &self.import, end_kwh))
    }

    /// Fills prices and slots of the programme for the stay of a battery. Returns the highest level
    /// that can be reached by departure, in kWh.
    fn lay_out(&mut self, grid: &PriceSlots, battery: &BatteryRow) -> f64 {
        // Slots that the stay overlaps. It may be empty: `max` keeps the range valid.
        let first = grid.ends.partition_point(|&end| end <= battery.from);
        let last = grid.starts.partition_point(|&start| start < battery.to).max(first);
        let programme = &mut self.programme;
        programme.slots.clear();
        self.periods.clear();
        self.import.clear();
        self.import.extend_from_slice(&grid.import[first..last]);
        self.export.clear();
        self.export.extend_from_slice(&grid.export[first..last]);
        let mut reach = programme.stored_kwh;
        let mut most = reach;
        for slot in first..last {
            let start = grid.starts[slot].max(battery.from);
            let end = grid.ends[slot].min(battery.to);
            let sells =
                if grid.export[slot].is_nan() { Power::ZERO } else { battery.discharge_max };
            let mut slot = ProgrammeSlot {
                charge_kwh: stored_by(battery.charge_max, end - start, programme.efficiency_charge),
                discharge_kwh: taken_by(sells, end - start, programme.efficiency_discharge),
                limit_kwh: battery.limit_kwh,
                ..ProgrammeSlot::default()
            };
            slot.drop_useless_power(reach, most);
            reach = reached(reach, &slot);
            most = battery.limit_kwh.max(reach);
            slot.most_kwh = most;
            // Reserve and target are capped at the level within reach, so that a plan exists.
            slot.least_kwh = battery.reserve_kwh.min(reach);
            programme.slots.push(slot);
            self.periods.push((start, end));
        }
        if let Some(slot) = programme.slots.last_mut() {
            slot.least_kwh = slot.least_kwh.max(battery.target_kwh.min(reach));
        }
        reach
    }

    /// Hours of the stay without a price; see [`StorageNumbers::unpriced_hours`].
    fn unpriced_hours(&self, battery: &BatteryRow, may_sell: bool) -> f64 {
        let may_sell = may_sell && battery.discharge_max > Power::ZERO;
        let is_priced = |slot: &usize| !may_sell || !self.export[*slot].is_nan();
        let periods = (0..self.periods.len()).filter(is_priced).map(|slot| self.periods[slot]);
        let priced: i64 = periods.map(|(start, end)| end - start).sum();
        (battery.to - battery.from - priced) as f64 / MICROS_PER_HOUR
    }

    /// Adds a solved row to `plans`. `reach` is the highest level that can be reached, in kWh.
    fn write(
        &self,
        battery: &BatteryRow,
        reach: f64,
        answer: crate::plan::storage::dynamic_programme::CostAndBound,
        plans: &mut PlanTable<StorageNumbers>,
    ) {
        let programme = &self.programme;
        let mut level = programme.stored_kwh;
        let (mut charged, mut discharged) = (0.0, 0.0);
        for (slot, &change) in self.buffers.change.iter().enumerate() {
            level += change;
            let net = programme.at_plug(change);
            charged += net.max(0.0);
            discharged -= net.min(0.0);
            if net > 0.0 {
                push_interval(&mut plans.intervals, self.periods[slot], battery.charge_max, net);
            } else if net < 0.0 {
                push_interval(
                    &mut plans.intervals,
                    self.periods[slot],
                    -battery.discharge_max,
                    net,
                );
            }
        }
        // The plan reaches the target as far as any plan can, which is up to `reach`.
        let missing = battery.target_kwh - reach;
        let is_missed = missing > ENERGY_SHARE_MIN * programme.capacity_kwh;
        let baseline = baseline_of(programme, &self.import, level);
        let numbers = &mut plans.numbers;
        numbers.cost.push(answer.cost);
        numbers.charged_kwh.push(charged);
        numbers.discharged_kwh.push(discharged);
        numbers.shortfall_kwh.push(if is_missed { missing } else { 0.0 });
        numbers.soc_percent.push((level / programme.capacity_kwh * 100.0).clamp(0.0, 100.0));
        numbers.baseline_cost.push(baseline);
        numbers.savings.push(baseline - answer.cost);
        numbers.gap.push(answer.cost - answer.bound);
        let used = programme.stored_kwh - level;
        let is_used = used > ENERGY_SHARE_MIN * programme.capacity_kwh;
        numbers.stock_used_kwh.push(if is_used { used } else { 0.0 });
        plans.intervals.end_row();
    }
}

/// Adds an interval at full power from the start of a slot, as long as `net_kwh` at the plug takes.
fn push_interval(
    intervals: &mut IntervalColumns,
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
    intervals.join(start, end, power.as_kw());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rayon::ThreadPoolBuilder;

    use super::*;
    use crate::columns::batteries::{Batteries, power};
    use crate::columns::plan_table::{PlanTable, StorageNumbers};
    use crate::columns::row_error::{RowError, catch_defect};
    use crate::plan::charge::vehicle::{Battery, SocTarget};
    use crate::plan::storage::baseline::emissions;
    use crate::plan::storage::branch_and_bound::StorageBuffers;
    use crate::plan::storage::planner::plan_on;
    use crate::plan::storage::price_slots::PriceSlots;
    use crate::plan::storage::request::{StorageProblem, StorageRequest};
    use crate::prices::curve::tests::curve_of;
    use crate::time::instant::instant_at;
    use crate::units::{Energy, Percent, Power};

    const HOUR: i64 = 3_600_000_000;

    /// Random row: arrival and stay in minutes, capacity in kWh, states of charge in percent (now,
    /// wanted, reserve, limit), power in kW, efficiency.
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

    fn plan(rows: &[Row], grid: &PriceSlots, threads: usize) -> Vec<PlanTable<StorageNumbers>> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let grids = std::slice::from_ref(grid);
        with_batteries(rows, |batteries| pool.install(|| plan_storage_batch(batteries, grids)))
    }

    fn with_batteries<T>(rows: &[Row], use_them: impl FnOnce(&Batteries<'_>) -> T) -> T {
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
        use_them(&batteries)
    }

    /// A row that panics half-way has an error and no numbers; its neighbours are unchanged.
    #[test]
    fn a_row_that_panics_is_an_error_of_that_row() {
        let mut plans = PlanTable::<StorageNumbers>::default();
        for row in 0..3 {
            let planned = catch_defect(|| {
                let slot = (row * HOUR, row * HOUR + HOUR);
                push_interval(&mut plans.intervals, slot, power("", 2.0)?, 2.0);
                plans.numbers.cost.push(0.5);
                assert_ne!(row, 1, "the second row fails");
                plans.intervals.end_row();
                Ok(())
            });
            if let Err(error) = planned {
                assert_eq!(error, RowError::Defect);
                plans.push_error(error);
            }
        }
        assert_eq!(plans.intervals.offsets, [0, 1, 1, 2]);
        assert_eq!(plans.intervals.start, [0, 2 * HOUR]);
        assert!(plans.numbers.cost[1].is_nan() && plans.numbers.cost.len() == 3);
        assert_eq!(plans.errors, [(1, RowError::Defect)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Each row equals the plan of its battery alone, on any number of threads.
        #[test]
        fn a_row_gets_its_own_plan(
            rows in rows(), cents in prop::collection::vec(-30..60_i32, 1..12),
        ) {
            let curve = curve_of(60, &cents);
            let grid = PriceSlots::new(&curve, Some(&curve));
            let plans = plan(&rows, &grid, 1);
            prop_assert_eq!(format!("{:?}", &plans), format!("{:?}", plan(&rows, &grid, 8)));
            let numbers = &plans[0].numbers;
            let origin = grid.starts[0];
            // Half-hourly intensities, on slots of their own for the batch.
            let grams: Vec<i32> = (0..2 * cents.len() as i32).map(|slot| slot * 37 % 50).collect();
            let intensity = curve_of(30, &grams);
            let finer = curve.times(0.0).unwrap().plus(&intensity).unwrap();
            let finer = PriceSlots::new(&finer, Some(&curve));
            let kg = with_batteries(&rows, |batteries| {
                let grids = std::slice::from_ref(&finer);
                storage_baseline_emissions(batteries, grids, &numbers.soc_percent)
            });
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
                let alone = plan_on(&grid, &problem, &mut StorageBuffers::new());
                let scale = alone.cost.as_amount().abs().max(1.0);
                let off = |a: f64, b: f64| (a - b).abs() > 1e-9 * scale;
                prop_assert!(!off(numbers.cost[index], alone.cost.as_amount()), "{alone:?}");
                prop_assert!(!off(numbers.shortfall_kwh[index], alone.shortfall.as_kwh()));
                prop_assert!(!off(numbers.unpriced_hours[index], alone.unpriced_hours));
                prop_assert!(!off(numbers.stock_used_kwh[index], alone.stock_used().as_kwh()));
                prop_assert!(!off(numbers.baseline_cost[index], alone.baseline_cost.as_amount()));
                let prices = (&curve, Some(&curve));
                let (_, baseline) = emissions(&alone, &problem, prices, &intensity);
                // A single plan rounds the ends of its charging to microseconds.
                prop_assert!((kg[index] - baseline).abs() < 1e-6, "{} {baseline}", kg[index]);
                prop_assert!(numbers.gap[index] <= 1e-9 * scale);
                prop_assert_eq!(plans[0].intervals.range(index).len(), alone.intervals.len());
            }
        }
    }
}

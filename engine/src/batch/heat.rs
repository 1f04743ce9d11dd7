//! Batch of heat plans of independent rooms and tanks.
//!
//! Rows share a [`HeatRequest`]: the weather of a place, its set-backs, the data sheet and the least
//! times of a unit. Each row replaces what its own columns have. A row gets the plan that it would
//! get alone, with the same bits on any number of threads.
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rayon::prelude::*;

use crate::batch::charge::RUN;
use crate::columns::plan_table::{HeatNumbers, NumberColumns, PlanTable};
use crate::columns::rooms::{RoomError, Rooms};
use crate::plan::heat::baseline::emissions;
use crate::plan::heat::dynamic_programme::HeatBuffers;
use crate::plan::heat::plan::HeatPlan;
use crate::plan::heat::planner::plan_heat_in;
use crate::plan::heat::request::{HeatProblem, HeatRequest};
use crate::prices::curve::PriceCurve;
use crate::time::instant::micros_of;

/// Plans of a run of rooms and tanks, in the order of the rows.
type HeatRun = PlanTable<HeatNumbers, RoomError>;

/// Plans every room or tank, on all threads of the current rayon pool.
///
/// `shared` has what is the same for all rows. Plans are returned in runs of at most [`RUN`] rows, in
/// row order. With a carbon intensity, emissions are computed. A row with invalid values is an error
/// in its row; a band that cannot be held is in its degree-hours.
#[must_use]
pub fn plan_heat_batch(
    rooms: &Rooms<'_>,
    shared: &HeatRequest,
    prices: &[PriceCurve],
    intensity: Option<&PriceCurve>,
) -> Vec<HeatRun> {
    let rows = rooms.now.len();
    let runs: Vec<Range<usize>> =
        (0..rows).step_by(RUN).map(|start| start..(start + RUN).min(rows)).collect();
    let plan_run = |rows: Range<usize>| {
        let mut plans = HeatRun::default();
        let mut buffers = HeatBuffers::new();
        for row in rows {
            // `AssertUnwindSafe`: what the row has written is dropped.
            let planned = catch_unwind(AssertUnwindSafe(|| {
                let position = rooms.grid.map_or(0, |grid| grid[row] as usize);
                let curve = prices.get(position).ok_or(RoomError::UnknownPrice)?;
                let problem = HeatProblem::new(rooms.request(row, shared)?)?;
                Ok::<_, RoomError>(plan_heat_in(curve, &problem, &mut buffers))
            }));
            match planned {
                Ok(Ok(plan)) => plans.push_plan(&plan, intensity),
                Ok(Err(error)) => plans.push_error(error),
                Err(_) => {
                    // The buffers may be half written.
                    buffers = HeatBuffers::new();
                    plans.push_error(RoomError::Defect);
                }
            }
        }
        plans
    };
    let mut plans = Vec::new();
    runs.into_par_iter().map(plan_run).collect_into_vec(&mut plans);
    plans
}

impl HeatRun {
    /// Adds the row of a plan.
    fn push_plan(&mut self, plan: &HeatPlan, intensity: Option<&PriceCurve>) {
        let end = plan.slots.last().map_or(plan.temperature_start, |slot| slot.temperature);
        let (planned_kg, baseline_kg) =
            intensity.map_or((f64::NAN, f64::NAN), |intensity| emissions(plan, intensity));
        let row = [
            plan.cost.as_amount(),
            plan.used.as_kwh(),
            plan.heat.as_kwh(),
            plan.discomfort.below,
            plan.discomfort.above,
            end.as_celsius(),
            plan.baseline.cost.as_amount(),
            plan.savings().as_amount(),
            plan.certificate.gap().as_amount(),
            plan.unpriced_hours,
            planned_kg,
            baseline_kg,
        ];
        for (column, value) in self.numbers.columns().zip(row) {
            column.push(value);
        }
        for interval in &plan.intervals {
            let (start, end) = (micros_of(interval.start), micros_of(interval.end));
            self.intervals.push(start, end, interval.power.as_kw());
        }
        self.intervals.end_row();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rayon::ThreadPoolBuilder;

    use super::*;
    use crate::plan::heat::planner::plan_heat;
    use crate::plan::heat::request::tests::{hour, room};
    use crate::plan::heat::request::{ComfortBand, CopPoint, HeatGain, ThermalStore};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{celsius, kw, kw_per_k, kwh_per_k};

    /// Random row: hours to the start and of length, capacity, loss, temperature, lowest temperature
    /// and width of the band, power, coefficient of performance, gain.
    type Row = ((i64, i64), (f64, f64), (f64, f64, f64), f64, (f64, f64));

    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let row = (
            (0..6_i64, 0..12_i64),
            (0.5..9.0_f64, 0.0..0.4_f64),
            (15.0..24.0_f64, 17.0..22.0_f64, 0.0..4.0_f64),
            0.0..5.0_f64,
            (0.8..5.0_f64, -1.0..1.0_f64),
        );
        prop::collection::vec(row, 1..12)
    }

    fn with_rooms<T>(rows: &[Row], use_them: impl FnOnce(&Rooms<'_>) -> T) -> T {
        let column = |of: fn(&Row) -> f64| -> Vec<f64> { rows.iter().map(of).collect() };
        let now: Vec<i64> = rows.iter().map(|row| micros_of(hour(row.0.0))).collect();
        let until: Vec<i64> = rows.iter().map(|row| micros_of(hour(row.0.0 + row.0.1))).collect();
        let (capacity, loss) = (column(|row| row.1.0), column(|row| row.1.1));
        let (start, min) = (column(|row| row.2.0), column(|row| row.2.1));
        let (max, power) = (column(|row| row.2.1 + row.2.2), column(|row| row.3));
        let (cop, gain) = (column(|row| row.4.0), column(|row| row.4.1));
        use_them(&Rooms {
            now: &now,
            until: &until,
            capacity_kwh_per_k: &capacity,
            loss_kw_per_k: &loss,
            temperature_celsius: &start,
            min_celsius: &min,
            max_celsius: &max,
            power_max_kw: &power,
            cop: Some(&cop),
            gain_kw: Some(&gain),
            ..Rooms::default()
        })
    }

    fn alone(row: &Row, curve: &PriceCurve) -> HeatPlan {
        let mut request = room(24);
        request.now = hour(row.0.0);
        request.until = Some(hour(row.0.0 + row.0.1));
        request.store = ThermalStore { capacity: kwh_per_k(row.1.0), loss: kw_per_k(row.1.1) };
        request.temperature = celsius(row.2.0);
        request.comfort = ComfortBand { min: celsius(row.2.1), max: celsius(row.2.1 + row.2.2) };
        request.power_max = kw(row.3);
        request.cop = vec![CopPoint { outdoor: celsius(0.0), cop: row.4.0 }];
        if row.0.1 > 0 {
            let (start, end) = (request.now, hour(row.0.0 + row.0.1));
            request.gains = vec![HeatGain { start, end, power: kw(row.4.1) }];
        }
        plan_heat(curve, &HeatProblem::new(request).unwrap())
    }

    #[test]
    fn a_row_without_sense_stops_no_other_row() {
        let row = ((0, 4), (5.0, 0.2), (20.0, 20.0, 3.0), 3.0, (3.0, 0.0));
        let mut upside_down = row;
        upside_down.2.2 = -1.0;
        let mut missing = row;
        missing.3 = f64::NAN;
        let curve = curve_of(60, &[10, 40, 40, 20]);
        let batches = with_rooms(&[row, upside_down, missing, row], |rooms| {
            let rooms = Rooms { grid: Some(&[0, 0, 0, 7]), ..*rooms };
            plan_heat_batch(&rooms, &room(24), std::slice::from_ref(&curve), None)
        });
        let [batch] = batches.as_slice() else { panic!("one run") };
        let errors: Vec<(usize, String)> =
            batch.errors.iter().map(|(row, error)| (*row, error.to_string())).collect();
        let expected = [
            (1, "comfort: min_celsius is 20 °C, above max_celsius, 19 °C".to_owned()),
            (2, "power_max_kw is missing".to_owned()),
            (3, "price_id names no price curve".to_owned()),
        ];
        assert_eq!(errors, expected);
        let numbers = &batch.numbers;
        let cost = alone(&row, &curve).cost.as_amount();
        assert_eq!(numbers.cost[0].to_bits(), cost.to_bits());
        assert!(numbers.cost[1..].iter().all(|cost| cost.is_nan()));
        assert!(numbers.carbon_kg.iter().all(|kg| kg.is_nan()));
        assert_eq!(batch.len(), 4);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Each row equals the plan of its room alone, on any number of threads.
        #[test]
        fn a_row_gets_its_own_plan(
            rows in rows(), cents in prop::collection::vec(-30..60_i32, 1..18),
        ) {
            let curve = curve_of(60, &cents);
            let intensity = curve_of(60, &vec![30; cents.len()]);
            let plan = |threads: usize| {
                let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                with_rooms(&rows, |rooms| pool.install(|| {
                    let prices = std::slice::from_ref(&curve);
                    plan_heat_batch(rooms, &room(24), prices, Some(&intensity))
                }))
            };
            let batches = plan(1);
            prop_assert_eq!(format!("{:?}", &batches), format!("{:?}", plan(4)));
            let batch = &batches[0];
            prop_assert_eq!(&batch.errors, &[]);
            for (index, row) in rows.iter().enumerate() {
                let plan = alone(row, &curve);
                let numbers = &batch.numbers;
                prop_assert_eq!(batch.intervals.of_row(index), plan.intervals.clone());
                let (kg, baseline_kg) = emissions(&plan, &intensity);
                let pairs = [
                    (numbers.cost[index], plan.cost.as_amount()),
                    (numbers.used_kwh[index], plan.used.as_kwh()),
                    (numbers.heat_kwh[index], plan.heat.as_kwh()),
                    (numbers.below_celsius_hours[index], plan.discomfort.below),
                    (numbers.above_celsius_hours[index], plan.discomfort.above),
                    (numbers.baseline_cost[index], plan.baseline.cost.as_amount()),
                    (numbers.gap[index], plan.certificate.gap().as_amount()),
                    (numbers.unpriced_hours[index], plan.unpriced_hours),
                    (numbers.carbon_kg[index], kg),
                    (numbers.baseline_carbon_kg[index], baseline_kg),
                ];
                for (found, expected) in pairs {
                    prop_assert_eq!(found.to_bits(), expected.to_bits());
                }
            }
        }
    }
}

//! Batch of charging plans of independent vehicles.
//!
//! Each vehicle gets the plan that it would get alone, bit for bit, on any number of threads. Rows
//! are planned in runs of [`RUN`]. Each run has columns of its own, so that nothing is copied
//! afterwards. Most rows have one need in one window and are planned as a [`SlotSelection`]; the
//! others are planned as a whole by [`plan_charge`].
use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::columns::fleet::{Curves, Fleet, Vehicle, kwh as energy_of_column};
use crate::columns::plan_table::{ChargeNumbers, PlanTable};
use crate::columns::row_error::{RowError, catch_defect};
use crate::plan::charge::certificate::bound_of_one;
use crate::plan::charge::forgone::{Forgone, forgone, forgone_in};
use crate::plan::charge::greedy::plan_charge;
use crate::plan::charge::plan::{Plan, PlannedSlot};
use crate::plan::charge::request::{AfterDeadline, ChargeProblem, ChargeRequest};
use crate::plan::charge::selection::slot_selection::{Need, SlotSelection, Window};
use crate::plan::charge::selection::threshold::{self, ThresholdBuffers};
use crate::prices::curve::PriceCurve;
use crate::prices::ranking::SLOTS_MAX;
use crate::time::horizon::Horizon;
use crate::time::instant::instant_at;
use crate::units::{Energy, MICROS_PER_HOUR, Power, Price};

/// Vehicles of one parallel task and of one [`PlanTable`].
pub const RUN: usize = 8_192;

/// Plans every vehicle of a fleet, on all threads of the current rayon pool.
///
/// Plans are returned in runs of at most [`RUN`] rows, in row order. A vehicle with invalid values
/// is an error in its row; a need that cannot be met is a shortfall. Nothing is charged after the
/// departure.
///
/// Linear in rows and slots: a few hundred nanoseconds per vehicle, and some microseconds for one
/// with a target list or a reserve.
#[must_use]
pub fn plan_batch(fleet: &Fleet<'_>, curves: Curves<'_>) -> Vec<PlanTable<ChargeNumbers>> {
    plan_batch_within(fleet, curves, None)
}

/// Most energy of each vehicle of a fleet, one number a row. NaN is a row that buys its need and no
/// more.
#[derive(Debug, Clone, Copy)]
pub enum RoomColumn<'a> {
    /// Energy at the plug in kWh, as [`ChargeRequest::energy_max`].
    EnergyMaxKwh(&'a [f64]),
    /// Charge limit in percent, of a fleet whose needs are states of charge.
    ChargeLimitPercent {
        /// Charge limits.
        percent: &'a [f64],
        /// Rows that are charged up to their limit at negative prices.
        fills: &'a [bool],
    },
}

/// As [`plan_batch`], for vehicles whose batteries end somewhere: at negative prices they buy
/// beyond their need, up to their room.
///
/// A row costs some microseconds if a price of its stay is negative, and is a row of [`plan_batch`]
/// otherwise. Such a row equals the single plan with the same `energy_max` up to rounding only: that
/// one sums up its slots in another order.
#[must_use]
pub fn plan_batch_within(
    fleet: &Fleet<'_>,
    curves: Curves<'_>,
    rooms: Option<RoomColumn<'_>>,
) -> Vec<PlanTable<ChargeNumbers>> {
    prepare(curves);
    let plan = |rows| Arch::new().dispatch(PlanRows { fleet, curves, rooms, rows });
    runs(fleet.len()).into_par_iter().map(plan).collect()
}

/// Most energy of one vehicle at the plug.
#[derive(Debug, Clone, Copy, Default)]
struct Room {
    /// Bound of what is bought at negative prices; `None` buys the need only.
    energy_max: Option<Energy>,
    /// Energy up to the charge limit of the battery.
    charge_limit: Option<Energy>,
}

impl RoomColumn<'_> {
    /// Room of a row.
    fn room(self, fleet: &Fleet<'_>, row: usize) -> Result<Room, RowError> {
        match self {
            Self::EnergyMaxKwh(column) if column[row].is_nan() => Ok(Room::default()),
            Self::EnergyMaxKwh(column) => {
                let energy_max = Some(energy_of_column(column[row], "energy_max_kwh")?);
                Ok(Room { energy_max, charge_limit: None })
            }
            Self::ChargeLimitPercent { percent, .. } if percent[row].is_nan() => {
                Ok(Room::default())
            }
            Self::ChargeLimitPercent { percent, fills } => {
                let limit = fleet.energy_up_to(row, percent[row])?;
                Ok(Room { energy_max: fills[row].then_some(limit), charge_limit: Some(limit) })
            }
        }
    }
}

impl Room {
    /// Returns true if a plan without the room would be another one: the need is above the limit,
    /// or a price of the stay is negative.
    fn matters(&self, vehicle: &Vehicle, prices: &[f64], window: Window) -> bool {
        let holds = |limit: Energy| vehicle.energy <= limit && vehicle.reserve <= limit;
        let is_negative = || prices[window.first..window.last].iter().any(|&price| price < 0.0);
        !self.charge_limit.is_none_or(holds)
            || self.energy_max.is_some_and(|most| !holds(most) || is_negative())
    }
}

/// Writes the slot selection of every vehicle into `choices`, row by row; `None` if it has none.
/// The caller keeps the memory, to plan a fleet many times.
///
/// Rows without a slot selection are those in error, those with a reserve or a target before
/// departure, and stays of more than 256 slots.
///
/// # Panics
/// `choices` has another length than the fleet.
pub fn plan_compact(fleet: &Fleet<'_>, curves: Curves<'_>, choices: &mut [Option<SlotSelection>]) {
    assert_eq!(choices.len(), fleet.len(), "one place per vehicle");
    prepare(curves);
    choices.par_chunks_mut(RUN).enumerate().for_each(|(run, choices)| {
        Arch::new().dispatch(CompactRows { fleet, curves, first: run * RUN, choices });
    });
}

/// Writes the mean power of every vehicle in every slot, in kW, row by row.
///
/// `power_kw` has one number per vehicle and slot of the horizon; a vehicle
/// in error gets zeros. Errors and costs come from [`plan_batch`].
///
/// # Panics
/// `power_kw` has another length.
pub fn plan_dense(fleet: &Fleet<'_>, curves: Curves<'_>, power_kw: &mut [f32]) {
    let slots = curves.horizon().len();
    assert_eq!(power_kw.len(), fleet.len() * slots, "one number per vehicle and slot");
    // Chunks of no numbers would panic.
    if slots == 0 {
        return;
    }
    prepare(curves);
    power_kw.par_chunks_mut(RUN * slots).enumerate().for_each(|(run, powers)| {
        Arch::new().dispatch(DenseRows { fleet, curves, first: run * RUN, powers });
    });
}

/// Ranks the slots of a shared curve once, before threads use the order.
fn prepare(curves: Curves<'_>) {
    if let Curves::Shared(curve) = curves {
        curve.ranked();
    }
}

/// Ranges of at most [`RUN`] rows.
fn runs(rows: usize) -> Vec<Range<usize>> {
    (0..rows).step_by(RUN).map(|start| start..(start + RUN).min(rows)).collect()
}

/// Run of rows that is planned into a [`PlanTable`]. It is a type that pulp can dispatch, so that the
/// work is compiled for the vector instructions of the machine.
struct PlanRows<'a> {
    fleet: &'a Fleet<'a>,
    curves: Curves<'a>,
    rooms: Option<RoomColumn<'a>>,
    rows: Range<usize>,
}

impl WithSimd for PlanRows<'_> {
    type Output = PlanTable<ChargeNumbers>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> PlanTable<ChargeNumbers> {
        let Self { fleet, curves, rooms, rows } = self;
        let mut plans = PlanTable::with_capacity(rows.len());
        let mut buffers = ThresholdBuffers::new();
        let horizon = curves.horizon();
        for row in rows {
            let vehicle = match fleet.vehicle(row) {
                Ok(vehicle) => vehicle,
                Err(error) => {
                    plans.push_error(error);
                    continue;
                }
            };
            let room = match rooms.map(|rooms| rooms.room(fleet, row)).transpose() {
                Ok(room) => room.unwrap_or_default(),
                Err(error) => {
                    plans.push_error(error);
                    continue;
                }
            };
            // `compact` selects no slots without prices, so there are some where it answers.
            let prices = prices_of(fleet, curves, row).unwrap_or(&[]);
            let choice = compact(simd, &mut buffers, fleet, curves, row, &vehicle);
            if let Some((window, choice)) =
                choice.filter(|(window, _)| !room.matters(&vehicle, prices, *window))
            {
                let power_max = vehicle.power_max;
                let gap = choice.cost - bound_of_one(horizon, prices, window, &choice, power_max);
                let unpriced = unpriced_hours(horizon, prices, window);
                let forgone = forgone_beside(horizon, prices, window, (&choice, power_max), room);
                let numbers = (gap, unpriced, forgone);
                plans.push_choice(&choice, numbers, horizon, window, power_max);
                continue;
            }
            // Others, such as rows with a reserve or targets, are planned as a whole.
            match catch_defect(|| plan_row(fleet, curves, row, (&vehicle, room))) {
                Ok((plan, forgone)) => plans.push_plan(&plan, forgone),
                Err(error) => plans.push_error(error),
            }
        }
        plans
    }
}

/// Run of rows that is planned into slot selections.
struct CompactRows<'a> {
    fleet: &'a Fleet<'a>,
    curves: Curves<'a>,
    first: usize,
    choices: &'a mut [Option<SlotSelection>],
}

impl WithSimd for CompactRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { fleet, curves, first, choices } = self;
        let mut buffers = ThresholdBuffers::new();
        for (position, choice) in choices.iter_mut().enumerate() {
            let row = first + position;
            *choice = match fleet.vehicle(row) {
                Ok(vehicle) => compact(simd, &mut buffers, fleet, curves, row, &vehicle),
                Err(_) => None,
            }
            .map(|(_, choice)| choice);
        }
    }
}

/// Run of rows that is planned into mean powers by slot.
struct DenseRows<'a> {
    fleet: &'a Fleet<'a>,
    curves: Curves<'a>,
    first: usize,
    powers: &'a mut [f32],
}

impl WithSimd for DenseRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { fleet, curves, first, powers } = self;
        let mut buffers = ThresholdBuffers::new();
        let slots = curves.horizon().len();
        for (position, powers) in powers.chunks_exact_mut(slots).enumerate() {
            dense_row(simd, &mut buffers, fleet, curves, first + position, powers);
        }
    }
}

/// Slot selection of one row and its window; `None` if the row needs a whole plan.
#[inline(always)]
fn compact<S: Simd>(
    simd: S,
    buffers: &mut ThresholdBuffers,
    fleet: &Fleet<'_>,
    curves: Curves<'_>,
    row: usize,
    vehicle: &Vehicle,
) -> Option<(Window, SlotSelection)> {
    if vehicle.reserve.as_kwh() > 0.0 || fleet.has_targets(row) {
        return None;
    }
    let need = Need { energy_kwh: vehicle.energy.as_kwh(), power_kw: vehicle.power_max.as_kw() };
    // A shared curve has its slots ranked for all rows; other rows search for a price threshold.
    if let Curves::Shared(curve) = curves
        && need.power_kw > 0.0
        && let Some(ranked) = curve.ranked()
    {
        return Some(ranked.choose(vehicle.arrival, vehicle.departure, need));
    }
    let prices = prices_of(fleet, curves, row)?;
    let horizon = curves.horizon();
    let window = Window::new(horizon, vehicle.arrival, vehicle.departure);
    // Without a slot or power there is no threshold to find.
    if window.len() == 0 || need.power_kw <= 0.0 {
        return Some((window, SlotSelection::nothing(need, f64::NAN)));
    }
    let fits = window.len() <= SLOTS_MAX;
    fits.then(|| (window, threshold::choose(simd, buffers, horizon, prices, window, need)))
}

/// Hours of a window without a price: gaps in the slots, and time outside the horizon.
#[inline(always)]
pub(crate) fn unpriced_hours(horizon: &Horizon, prices: &[f64], window: Window) -> f64 {
    let gaps = (window.first..window.last).filter(|&slot| prices[slot].is_nan());
    let unpriced: i64 = gaps.map(|slot| window.usable(horizon, slot)).sum();
    let uncovered = (window.to - window.from) - horizon.covered(window.from, window.to);
    (uncovered + unpriced) as f64 / MICROS_PER_HOUR
}

/// Prices of a row; `None` if its curve does not exist.
#[inline(always)]
fn prices_of<'a>(fleet: &Fleet<'_>, curves: Curves<'a>, row: usize) -> Option<&'a [f64]> {
    match curves {
        Curves::Shared(curve) => Some(curve.prices()),
        Curves::PerVehicle(table) => {
            let curve = fleet.curve.map_or(row, |curve| curve[row] as usize);
            (curve < table.len()).then(|| table.row(curve))
        }
    }
}

/// Request that the plan of a row answers, for [`plan_charge`]: its slots, reasons and proof are
/// those of the row.
///
/// # Errors
/// What makes the row an error of [`plan_batch_within`].
///
/// # Panics
/// The fleet has no such row.
pub fn request_of_row(
    fleet: &Fleet<'_>,
    rooms: Option<RoomColumn<'_>>,
    row: usize,
) -> Result<ChargeRequest, RowError> {
    let vehicle = fleet.vehicle(row)?;
    let room = rooms.map(|rooms| rooms.room(fleet, row)).transpose()?.unwrap_or_default();
    request(fleet, row, (&vehicle, room))
}

fn request(
    fleet: &Fleet<'_>,
    row: usize,
    (vehicle, room): (&Vehicle, Room),
) -> Result<ChargeRequest, RowError> {
    Ok(ChargeRequest {
        now: instant_at(vehicle.arrival),
        until: Some(instant_at(vehicle.departure)),
        power_max: vehicle.power_max,
        power_limits: Vec::new(),
        targets: fleet.targets(row, vehicle)?,
        reserve: vehicle.reserve,
        energy_max: room.energy_max,
        charge_limit: room.charge_limit,
        after_deadline: AfterDeadline::Continue,
    })
}

/// Plan of a row without a slot selection, and what it leaves at negative prices.
#[inline(never)]
fn plan_row(
    fleet: &Fleet<'_>,
    curves: Curves<'_>,
    row: usize,
    limits: (&Vehicle, Room),
) -> Result<(Plan, Option<Forgone>), RowError> {
    let problem = ChargeProblem::new(request(fleet, row, limits)?)?;
    let prices = prices_of(fleet, curves, row).ok_or(RowError::UnknownPrice)?;
    let plan_on = |curve: &PriceCurve| {
        let plan = plan_charge(curve, &problem);
        let left = forgone(curve, &problem, &plan.slots, plan.energy);
        (plan, left)
    };
    Ok(match curves {
        Curves::Shared(curve) => plan_on(curve),
        Curves::PerVehicle(_) => plan_on(&curve_of_row(curves.horizon(), prices)),
    })
}

/// Energy and money that a slot selection leaves at negative prices. Cheaper slots come first in it, so nothing is
/// left unless the next kWh has a negative price.
#[inline(always)]
fn forgone_beside(
    horizon: &Horizon,
    prices: &[f64],
    window: Window,
    (choice, power_max): (&SlotSelection, Power),
    room: Room,
) -> Option<Forgone> {
    if choice.marginal_price >= 0.0 || choice.marginal_price.is_nan() {
        return None;
    }
    add_up_forgone(horizon, prices, window, (choice, power_max), room)
}

#[inline(never)]
fn add_up_forgone(
    horizon: &Horizon,
    prices: &[f64],
    window: Window,
    (choice, power_max): (&SlotSelection, Power),
    room: Room,
) -> Option<Forgone> {
    let slot = |index: usize| {
        let end = horizon.ends()[index].min(window.to);
        let used = if choice.is_full(index) {
            power_max.over_micros(window.usable(horizon, index))
        } else if choice.partial == Some(index as u32) {
            Energy::from_kwh(choice.partial_kwh).ok()?
        } else {
            Energy::ZERO
        };
        Some(PlannedSlot {
            start: instant_at(horizon.starts()[index].max(window.from)),
            end: instant_at(end),
            price: Price::from_per_kwh(prices[index]).ok()?,
            power_max,
            energy: used,
        })
    };
    let is_negative = |index: &usize| prices[*index] < 0.0;
    let slots = (window.first..window.last).filter(is_negative).filter_map(slot);
    let bought = Energy::from_kwh(choice.energy_kwh).ok()?;
    let limit = room.energy_max.or(room.charge_limit);
    forgone_in(slots, limit.map(|limit| (bought, limit)), |_, _| ())
}

/// Price curve of a row of a price table, without its gaps (NaN).
fn curve_of_row(horizon: &Horizon, prices: &[f64]) -> PriceCurve {
    let used = || (0..prices.len()).filter(|&slot| !prices[slot].is_nan());
    let periods = used().map(|slot| (horizon.starts()[slot], horizon.ends()[slot]));
    let horizon = Horizon::from_micros(periods).expect("part of a horizon is a horizon");
    let prices = used().map(|slot| prices[slot]).collect();
    PriceCurve::from_parts(horizon, prices).expect("prices of a table are prices")
}

/// Writes the mean powers of one row, in kW by slot; zeros for a row in error.
#[inline(always)]
fn dense_row<S: Simd>(
    simd: S,
    buffers: &mut ThresholdBuffers,
    fleet: &Fleet<'_>,
    curves: Curves<'_>,
    row: usize,
    powers: &mut [f32],
) {
    let horizon = curves.horizon();
    let Ok(vehicle) = fleet.vehicle(row) else {
        powers.fill(0.0);
        return;
    };
    if let Some((window, choice)) = compact(simd, buffers, fleet, curves, row, &vehicle) {
        choice.write_powers(horizon, window, vehicle.power_max.as_kw(), powers);
        return;
    }
    powers.fill(0.0);
    let Ok((plan, _)) = plan_row(fleet, curves, row, (&vehicle, Room::default())) else {
        return;
    };
    for slot in &plan.slots {
        let start = slot.start.timestamp_micros();
        if let Some(index) = horizon.overlapping(start, start + 1).next() {
            let hours = horizon.hours(index);
            powers[index] += (slot.energy.as_kwh() / hours) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::columns::fleet::{Curves, Fleet, NO_TIME, Needs, TargetLists};
    use crate::columns::plan_table::{ChargeNumbers, PlanTable};
    use crate::columns::row_error::RowError;
    use crate::plan::charge::greedy::plan_charge;
    use crate::plan::charge::plan::Plan;
    use crate::plan::charge::request::{ChargeProblem, ChargeRequest, Target};
    use crate::prices::curve::PriceCurve;
    use crate::prices::curve::tests::curve_of;
    use crate::prices::table::PriceTable;
    use crate::time::instant::instant_at;
    use crate::units::{kw, kwh};

    /// Columns that a test owns.
    #[derive(Debug, Clone, Default)]
    struct Columns {
        arrival: Vec<i64>,
        departure: Vec<i64>,
        energy: Vec<f64>,
        power: Vec<f64>,
        reserve: Vec<f64>,
        curve: Vec<u32>,
    }

    impl Columns {
        fn fleet(&self) -> Fleet<'_> {
            Fleet {
                arrival: &self.arrival,
                departure: &self.departure,
                needs: Needs::Energy { energy_kwh: &self.energy },
                power_max_kw: &self.power,
                reserve_kwh: Some(&self.reserve),
                targets: None,
                curve: Some(&self.curve),
            }
        }

        fn push(&mut self, arrival: i64, minutes: i64, energy: f64, power: f64, reserve: f64) {
            let start = curve_of(15, &[0]).horizon().starts()[0];
            self.arrival.push(start + arrival * 60_000_000);
            self.departure.push(start + (arrival + minutes) * 60_000_000);
            self.energy.push(energy);
            self.power.push(power);
            self.reserve.push(reserve);
            self.curve.push(0);
        }

        /// Request of a row alone.
        fn wish(&self, row: usize) -> ChargeRequest {
            let departure = instant_at(self.departure[row]);
            let target = Target { by: Some(departure), energy: kwh(self.energy[row]) };
            let mut wish =
                ChargeRequest::new(instant_at(self.arrival[row]), kw(self.power[row]), target);
            wish.until = Some(departure);
            wish.reserve = kwh(self.reserve[row]);
            wish
        }

        /// Plan of a row alone.
        fn alone(&self, curve: &PriceCurve, row: usize) -> Plan {
            plan_charge(curve, &ChargeProblem::new(self.wish(row)).unwrap())
        }
    }

    type Row = (Vec<u64>, Vec<(i64, i64)>);

    /// Numbers of each row as bits, intervals as microseconds.
    fn bits(plans: &[PlanTable<ChargeNumbers>]) -> Vec<Row> {
        let mut rows = Vec::new();
        for run in plans {
            for row in 0..run.len() {
                let columns = [
                    &run.numbers.cost,
                    &run.numbers.energy_kwh,
                    &run.numbers.shortfall_kwh,
                    &run.numbers.baseline_cost,
                    &run.numbers.savings,
                    &run.numbers.unpriced_hours,
                ];
                let (start, end) = (&run.intervals.start, &run.intervals.end);
                rows.push((
                    columns.iter().map(|column| column[row].to_bits()).collect(),
                    run.intervals.range(row).map(|i| (start[i], end[i])).collect(),
                ));
            }
        }
        rows
    }

    proptest! {
        /// A batch equals single plans, bit for bit, with a shared curve and with a table.
        #[test]
        fn a_batch_is_as_many_single_plans(
            cents in prop::collection::vec(-20..60i32, 1..120), step in prop::sample::select(vec![15, 60]),
            rows in prop::collection::vec(
                (-40..600i64, 0..900i64, 0.0..90.0f64, 0.0..22.0f64, prop::sample::select(vec![0.0, 0.0, 4.0])),
                1..40,
            ),
        ) {
            let curve = curve_of(step, &cents);
            let mut columns = Columns::default();
            for (arrival, minutes, energy, power, reserve) in rows {
                columns.push(arrival, minutes, energy, power, reserve);
            }
            let fleet = columns.fleet();
            let table = PriceTable::from_curves(std::slice::from_ref(&curve));
            let shared_plans = plan_batch(&fleet, Curves::Shared(&curve));
            let own_plans = plan_batch(&fleet, Curves::PerVehicle(&table));
            let shared = bits(&shared_plans);
            for (row, (numbers, intervals)) in shared.iter().enumerate() {
                let plan = columns.alone(&curve, row);
                let alone = [
                    plan.cost.as_amount(), plan.energy.as_kwh(), plan.shortfall.as_kwh(),
                    plan.baseline_cost.as_amount(), plan.savings().as_amount(), plan.unpriced_hours,
                ];
                prop_assert_eq!(numbers, &alone.map(f64::to_bits).to_vec());
                let alone: Vec<(i64, i64)> = plan.intervals.iter()
                    .map(|i| (i.start.timestamp_micros(), i.end.timestamp_micros())).collect();
                prop_assert_eq!(intervals, &alone);
                let problem = ChargeProblem::new(columns.wish(row)).unwrap();
                let left = forgone(&curve, &problem, &plan.slots, plan.energy);
                let left = left.map_or([0.0; 2], |f| [f.energy.as_kwh(), f.revenue.as_amount()]);
                for table in [&shared_plans, &own_plans] {
                    let numbers = &table[0].numbers;
                    let told = [numbers.forgone_kwh[row], numbers.forgone_revenue[row]];
                    for (told, alone) in told.into_iter().zip(left) {
                        prop_assert!((told - alone).abs() <= 1e-8, "{told} and {alone}");
                    }
                }
            }
            prop_assert_eq!(&shared, &bits(&own_plans));
        }
    }

    proptest! {
        /// A row with room is the plan of a request with that `energy_max`, and an error where that
        /// is one.
        #[test]
        fn a_row_with_room_is_a_plan_up_to_it(
            cents in prop::collection::vec(-20..60i32, 1..60),
            rows in prop::collection::vec(
                (-40..300i64, 0..600i64, 0.0..40.0f64, 0.0..22.0f64, prop::option::of(0.0..60.0f64)),
                1..20,
            ),
        ) {
            let curve = curve_of(15, &cents);
            let mut columns = Columns::default();
            let mut most = Vec::new();
            for (arrival, minutes, energy, power, room) in rows {
                columns.push(arrival, minutes, energy, power, 0.0);
                most.push(room.unwrap_or(f64::NAN));
            }
            let rooms = Some(RoomColumn::EnergyMaxKwh(&most));
            let planned = plan_batch_within(&columns.fleet(), Curves::Shared(&curve), rooms);
            let numbers = &planned[0].numbers;
            for (row, &room) in most.iter().enumerate() {
                let mut wish = columns.wish(row);
                wish.energy_max = (!room.is_nan()).then(|| kwh(room));
                match ChargeProblem::new(wish) {
                    Ok(problem) => {
                        let alone = plan_charge(&curve, &problem);
                        // Sums over slots in another order.
                        let cost = numbers.cost[row] - alone.cost.as_amount();
                        let energy = numbers.energy_kwh[row] - alone.energy.as_kwh();
                        prop_assert!(cost.abs().max(energy.abs()) <= 1e-9, "{} {}", cost, energy);
                    }
                    Err(_) => prop_assert!(planned[0].errors.iter().any(|(bad, _)| *bad == row)),
                }
            }
        }
    }

    fn many() -> Columns {
        let mut columns = Columns::default();
        for row in 0..3 * RUN as i64 + 17 {
            let reserve = if row % 1000 == 0 { 3.0 } else { 0.0 };
            columns.push(
                row % 500,
                200 + row % 700,
                (row % 83) as f64,
                7.4 + (row % 4) as f64,
                reserve,
            );
        }
        columns
    }

    #[test]
    fn one_two_or_eight_threads_give_the_same_bytes() {
        let cents: Vec<i32> = (0..96).map(|slot| slot * 37 % 61 - 10).collect();
        let curve = curve_of(15, &cents);
        let columns = many();
        let planned = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut powers = vec![0.0; columns.arrival.len() * 96];
                plan_dense(&columns.fleet(), Curves::Shared(&curve), &mut powers);
                let powers: Vec<u32> = powers.into_iter().map(f32::to_bits).collect();
                (bits(&plan_batch(&columns.fleet(), Curves::Shared(&curve))), powers)
            })
        };
        let one = planned(1);
        assert_eq!(one.0.len(), columns.arrival.len());
        assert!(one == planned(2) && one == planned(8));
    }

    #[test]
    fn dense_rows_hold_the_energy_of_the_plan() {
        let cents: Vec<i32> = (0..96).map(|slot| slot * 37 % 61 - 10).collect();
        let curve = curve_of(15, &cents);
        let columns = many();
        let mut powers = vec![f32::NAN; columns.arrival.len() * 96];
        plan_dense(&columns.fleet(), Curves::Shared(&curve), &mut powers);
        let plans = plan_batch(&columns.fleet(), Curves::Shared(&curve));
        let energies = plans.iter().flat_map(|run| &run.numbers.energy_kwh);
        for (powers, energy) in powers.chunks_exact(96).zip(energies) {
            let dense: f64 = powers.iter().map(|&power| f64::from(power) * 0.25).sum();
            assert!((dense - energy).abs() < 1e-4, "{dense} kWh and {energy} kWh");
        }
    }

    #[test]
    fn a_bad_row_stops_nobody_else() {
        let mut columns = Columns::default();
        columns.push(0, 600, 10.0, 11.0, 0.0);
        columns.push(0, 600, f64::NAN, 11.0, 0.0);
        columns.push(0, 600, 10.0, -1.0, 0.0);
        columns.push(0, -5, 10.0, 11.0, 0.0);
        columns.push(0, 600, f64::INFINITY, 11.0, 0.0);
        columns.push(0, 600, 10.0, 11.0, 0.0);
        columns.arrival[5] = NO_TIME;
        let plans = plan_batch(&columns.fleet(), Curves::Shared(&curve_of(60, &[9; 12])));
        let texts: Vec<String> =
            plans[0].errors.iter().map(|(row, error)| format!("{row}: {error}")).collect();
        assert_eq!(
            texts,
            [
                "1: energy_kwh is missing",
                "2: power_max_kw is -1 kW; it is 0 kW or more",
                "3: departure at 2026-01-05 17:55:00 UTC is before arrival at 2026-01-05 18:00:00 UTC",
                "4: energy_kwh: inf kWh is not a finite number",
                "5: arrival is missing",
            ]
        );
        assert!(plans[0].numbers.cost[0].is_finite() && plans[0].numbers.cost[1].is_nan());
    }

    #[test]
    fn a_row_without_a_curve_says_so() {
        let mut columns = Columns::default();
        columns.push(0, 600, 10.0, 11.0, 0.0);
        columns.curve[0] = 7;
        let table = PriceTable::from_curves(&[curve_of(60, &[9; 12])]);
        let plans = plan_batch(&columns.fleet(), Curves::PerVehicle(&table));
        assert_eq!(plans[0].errors, [(0, RowError::UnknownPrice)]);
    }

    #[test]
    fn percentages_and_target_lists_become_needs() {
        let mut columns = Columns::default();
        columns.push(0, 300, f64::NAN, 10.0, 0.0);
        let by = [columns.arrival[0] + 3_600_000_000];
        let fleet = Fleet {
            needs: Needs::Soc {
                soc_percent: &[20.0],
                target_percent: &[80.0],
                capacity_kwh: &[50.0],
                reserve_percent: None,
                efficiency: None,
            },
            targets: Some(TargetLists { offsets: &[0, 1], by: &by, energy_kwh: &[4.0] }),
            ..columns.fleet()
        };
        let plans = plan_batch(&fleet, Curves::Shared(&curve_of(60, &[50, 10, 20, 30, 40])));
        // 4 kWh at 0.50 before seven, then 10 kWh at 0.10, 10 at 0.20 and 6 at 0.30.
        assert!((plans[0].numbers.cost[0] - (2.0 + 1.0 + 2.0 + 1.8)).abs() < 1e-9);
        assert!((plans[0].numbers.energy_kwh[0] - 30.0).abs() < 1e-9);
        assert!(plans[0].numbers.gap[0].abs() < 1e-9);
    }
}

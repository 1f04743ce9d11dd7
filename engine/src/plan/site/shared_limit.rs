//! Sites of vehicles behind one limit, without the solver.
//!
//! If the programme of a site has no more than charges, one need for each vehicle and at most one
//! limit on the sum of each slot, and if a slot has one price for all, then it is the
//! [`Transport`] problem: its greedy algorithm gives the least cost, the earliest of these plans, and
//! duals. The programme itself is read, not the request, so that whatever adds a column or a row is
//! left to the solver (`SharedLimitModel::of_model`). So are needs that cannot be met, and energies whose
//! cost is not that of the bound by their duals, to [`GAP_MAX`].
use crate::lp::{Column, Row};
use crate::plan::site::certificate::weak_bound;
use crate::plan::site::model::{SiteModel, StorageColumns};
use crate::plan::site::request::{Preference, SiteRequest};
use crate::plan::site::transport::{Taker, Transport, TransportPlan};
use crate::tolerance::{GAP_MAX, SUM_ROUNDING, allowed};
use crate::units::Money;

/// Optimal values and duals of a programme in which no need is missed.
#[derive(Debug, Clone)]
pub(crate) struct SharedLimitSolution {
    /// Value of each column.
    pub(crate) values: Vec<f64>,
    /// Dual of each row.
    pub(crate) duals: Vec<f64>,
    /// Lower bound on the cost of all values without a shortfall, by the duals.
    pub(crate) bound: f64,
}

/// Optimal values of a model, with the energy as early as it can be; `None` if the model is none of
/// vehicles behind one limit, has a need that cannot be met, or is asked for other preferences.
pub(crate) fn solve_shared_limit(
    request: &SiteRequest,
    model: &SiteModel,
) -> Option<SharedLimitSolution> {
    // Shares of a shortage are equal where nothing is missing.
    let is_met = |preference| matches!(preference, &Preference::Earlier | &Preference::Fairer);
    let has_budget = !request.preferences.is_empty() && request.preference_budget > Money::ZERO;
    if has_budget || !request.preferences.iter().all(is_met) {
        return None;
    }
    let shared = SharedLimitModel::of_model(model)?;
    let plan = shared.transport.find_cheapest_plan()?;
    let solution = shared.make_solution(model, &plan);
    let costs = || model.program.columns.iter().zip(&solution.values);
    let cost: f64 = costs().map(|(column, value)| column.cost * value).sum();
    let turnover: f64 = costs().map(|(column, value)| (column.cost * value).abs()).sum();
    ((cost - solution.bound).abs() <= allowed(GAP_MAX, turnover)).then_some(solution)
}

/// Rows of the sum of a vehicle's charges.
#[derive(Debug, Clone, Copy, Default)]
struct SumRows {
    /// Row of the need, with the shortfall.
    need: Option<usize>,
    /// Row of an upper bound alone.
    most: Option<usize>,
}

/// Programme of a site as a transportation problem.
struct SharedLimitModel {
    transport: Transport,
    /// Device of each taker.
    devices: Vec<usize>,
    sums: Vec<SumRows>,
    /// Row of the limit of each slot.
    limits: Vec<Option<usize>>,
}

impl SharedLimitModel {
    /// Reads the programme of a model; `None` if it has other columns or rows.
    fn of_model(model: &SiteModel) -> Option<Self> {
        let columns = &model.program.columns;
        let is_plain = |own: &StorageColumns| {
            own.level.is_empty() && own.discharge.iter().all(Option::is_none)
        };
        let charges: usize = model.columns.iter().map(|own| own.charge.len()).sum();
        let is_free = |column: &Column| column.cost == 0.0 && column.lower == 0.0;
        if charges + model.misses.len() != columns.len()
            || !model.guards.is_empty()
            || !model.columns.iter().all(is_plain)
            || !model.misses.iter().all(|miss| is_free(&columns[miss.column]))
        {
            return None;
        }
        let limits = limit_rows(model)?;
        let sums = sum_rows(model, &limits)?;
        let prices = slot_prices(model)?;
        let lowest = prices.iter().copied().fold(0.0, f64::min);
        let mut shared = Self {
            transport: Transport {
                rooms: slot_rooms(model, &limits),
                prices,
                takers: Vec::with_capacity(sums.len()),
            },
            devices: Vec::with_capacity(sums.len()),
            sums: Vec::with_capacity(sums.len()),
            limits,
        };
        for (device, (own, sums)) in model.columns.iter().zip(sums).enumerate() {
            let Some(storage) = model.storages[device].as_ref().filter(|_| !own.charge.is_empty())
            else {
                continue;
            };
            let most: Vec<f64> = own.charge.iter().map(|&column| columns[column].upper).collect();
            let need = need_of(&model.program.rows, sums, most.iter().sum(), lowest < 0.0)?;
            shared.transport.takers.push(Taker { need, first: storage.stay.start, most });
            shared.devices.push(device);
            shared.sums.push(sums);
        }
        Some(shared)
    }

    /// Values and duals of the programme.
    fn make_solution(&self, model: &SiteModel, plan: &TransportPlan) -> SharedLimitSolution {
        let program = &model.program;
        let mut values = vec![0.0; program.columns.len()];
        let mut duals = vec![0.0; program.rows.len()];
        for (index, &device) in self.devices.iter().enumerate() {
            for (&column, &kwh) in model.columns[device].charge.iter().zip(&plan.taken[index]) {
                values[column] = kwh;
            }
            // A price belongs to a side that the row has: the need below, what is too much above.
            let (SumRows { need, most }, price) = (self.sums[index], plan.need_prices[index]);
            let has_upper = need.is_some_and(|row| program.rows[row].upper.is_finite());
            if let Some(row) = need {
                duals[row] = if has_upper { price } else { price.max(0.0) };
            }
            if let Some(row) = most.filter(|_| !has_upper) {
                duals[row] = price.min(0.0);
            }
        }
        for (row, price) in self.limits.iter().zip(&plan.room_prices) {
            if let Some(row) = *row {
                duals[row] = -price;
            }
        }
        // Nothing is missing, so that shortfalls at their upper bounds are no part of the bound.
        let rows = self.sums.iter().filter_map(|sums| sums.need);
        let missed = rows.filter_map(|row| Some((row, program.rows[row].terms.last()?.0)));
        let missed = missed.map(|(row, miss)| duals[row].max(0.0) * program.columns[miss].upper);
        let bound = weak_bound(program, &duals) + missed.sum::<f64>();
        SharedLimitSolution { values, duals, bound }
    }
}

/// True if a term counts its column in full.
fn is_whole(&(_, weight): &(usize, f64)) -> bool {
    weight.total_cmp(&1.0).is_eq()
}

/// Row of the limit of each slot. `None` if a slot has two, or one that does not count each device in
/// full.
fn limit_rows(model: &SiteModel) -> Option<Vec<Option<usize>>> {
    let mut rows = vec![None; model.grid.len()];
    for limit in &model.limits {
        for (slot, &[forward, back]) in limit.rows.iter().enumerate() {
            if back.is_some() || forward.is_some() && rows[slot].is_some() {
                return None;
            }
            let Some(row) = forward else { continue };
            let Row { lower, terms, .. } = &model.program.rows[row];
            let counts_all = *lower == f64::NEG_INFINITY
                && terms.len() == model.flows[slot].len()
                && terms.iter().all(is_whole);
            if !counts_all {
                return None;
            }
            rows[slot] = Some(row);
        }
    }
    Some(rows)
}

/// Room of each slot in kWh; infinite without a limit.
fn slot_rooms(model: &SiteModel, limits: &[Option<usize>]) -> Vec<f64> {
    let upper = |row: usize| model.program.rows[row].upper.max(0.0);
    limits.iter().map(|row| row.map_or(f64::INFINITY, upper)).collect()
}

/// Rows of the sum of each device's charges: all rows that are no limits. `None` if one of them is
/// more or less than the sum of all charges of one device, or if a device has two of a kind.
fn sum_rows(model: &SiteModel, limits: &[Option<usize>]) -> Option<Vec<SumRows>> {
    let program = &model.program;
    // Device of each charge, and of each shortfall.
    let mut device_of = vec![None; program.columns.len()];
    let mut missed = vec![None; program.columns.len()];
    for (device, own) in model.columns.iter().enumerate() {
        own.charge.iter().for_each(|&column| device_of[column] = Some(device));
    }
    model.misses.iter().for_each(|miss| missed[miss.column] = Some(miss.device));
    let mut is_limit = vec![false; program.rows.len()];
    limits.iter().flatten().for_each(|&row| is_limit[row] = true);
    let mut sums = vec![SumRows::default(); model.columns.len()];
    for (index, row) in program.rows.iter().enumerate().filter(|(index, _)| !is_limit[*index]) {
        let (&last, others) = row.terms.split_last()?;
        // The shortfall is the last term of a need.
        let (charges, wanting) = match missed[last.0] {
            Some(device) if is_whole(&last) => (others, Some(device)),
            _ => (&row.terms[..], None),
        };
        let device = device_of[charges.first()?.0]?;
        let is_own = |term: &(usize, f64)| device_of[term.0] == Some(device) && is_whole(term);
        let is_sum = charges.len() == model.columns[device].charge.len();
        let is_known = match wanting {
            Some(wanting) => wanting == device,
            None => row.lower == f64::NEG_INFINITY,
        };
        let SumRows { need, most } = &mut sums[device];
        let own = if wanting.is_some() { need } else { most };
        if !is_sum || !is_known || !charges.iter().all(is_own) || own.replace(index).is_some() {
            return None;
        }
    }
    Some(sums)
}

/// Price of each slot in units of the programme; `None` if charges of one slot cost differently.
fn slot_prices(model: &SiteModel) -> Option<Vec<f64>> {
    let columns = &model.program.columns;
    let price = |slot: usize| {
        let mut costs = model.flows[slot].iter().map(|flow| &columns[flow.column]);
        let price = costs.next().map_or(0.0, |column| column.cost);
        costs.all(|column| column.cost.total_cmp(&price).is_eq()).then_some(price)
    };
    let are_from_zero = model.flows.iter().flatten().all(|flow| columns[flow.column].lower == 0.0);
    (0..model.flows.len()).map(price).collect::<Option<Vec<f64>>>().filter(|_| are_from_zero)
}

/// Energy that a vehicle takes, in kWh: its need. `None` if it could take more and it may pay, which
/// is so at prices below zero (`is_paid`).
fn need_of(rows: &[Row], sums: SumRows, possible: f64, is_paid: bool) -> Option<f64> {
    let need = sums.need.map_or(0.0, |row| rows[row].lower);
    let upper = |row: Option<usize>| row.map_or(f64::INFINITY, |row| rows[row].upper);
    let most = upper(sums.need).min(upper(sums.most)).min(possible);
    (!is_paid || most <= need + allowed(SUM_ROUNDING, need)).then_some(need)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use chrono::{DateTime, Days, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};
    use chrono_tz::Europe::Oslo;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

    use super::*;
    use crate::lp::Limits;
    use crate::plan::charge::request::Target;
    use crate::plan::site::device::{Device, Load, Phase, Vehicle};
    use crate::plan::site::planner::plan_site;
    use crate::plan::site::problem::SiteProblem;
    use crate::plan::site::request::tests::{
        at, battery_of, group, hard, home, house, site, sun, van, washer,
    };
    use crate::plan::site::series::Series;
    use crate::plan::site::solve::solve_by_programmes;
    use crate::plan::site::verify::verify;
    use crate::plan::verification::Check;
    use crate::prices::curve::PriceCurve;
    use crate::time::civil::instant_of;
    use crate::time::horizon::Horizon;
    use crate::units::{kw, kwh, money, per_kwh};

    fn solve_request(request: &SiteRequest) -> Option<SharedLimitSolution> {
        solve_shared_limit(request, &SiteModel::new(request, false))
    }

    /// Two vans of 4 kW behind 5 kW.
    fn two_vans() -> SiteRequest {
        let vans = ["a", "b"].map(|name| Device::Vehicle(van(name, 4.0, 6.0)));
        let mut request = site(&[10, 20, 30], &vans);
        request.import_limit = Some(hard(5.0));
        request
    }

    #[test]
    fn duals_are_those_of_the_rows() {
        let request = two_vans();
        let model = SiteModel::new(&request, false);
        let found = solve_shared_limit(&request, &model).unwrap();
        // 5 kWh at 0.10 and 0.20, and 2 at 0.30.
        assert!((found.bound * model.unit - 2.1).abs() < 1e-12);
        let saved = |slot: usize| -found.duals[model.limits[0].rows[slot][0].unwrap()] * model.unit;
        assert!((saved(0) - 0.2).abs() < 1e-12 && (saved(1) - 0.1).abs() < 1e-12);
        assert!(saved(2).abs() < 1e-12);
    }

    #[test]
    fn whatever_adds_a_column_or_a_row_is_left_to_the_solver() {
        let is_read = |change: &dyn Fn(&mut SiteRequest)| {
            let mut request = two_vans();
            change(&mut request);
            solve_request(&request).is_some()
        };
        assert!(is_read(&|_| {}));
        assert!(is_read(&|request| request.devices.push(house(&[1.0, 0.5, 0.0]))));
        assert!(is_read(&|request| request.preferences.clear()));
        let changed = |change: fn(&mut Vehicle)| {
            is_read(&|request| {
                let Device::Vehicle(van) = &mut request.devices[0] else { unreachable!() };
                change(van);
            })
        };
        assert!(changed(|van| van.battery = Some(battery_of(60.0, 50.0))));
        assert!(changed(|van| van.departure = Some(at(150))));
        assert!(!changed(|van| van.power_min = kw(2.0)));
        assert!(!changed(|van| van.targets.push(Target { by: Some(at(60)), energy: kwh(1.0) })));
        assert!(!changed(|van| van.targets[0].energy = kwh(13.0)));
        // Filling up pays below zero, and with a value of what is stored at the end.
        let fill = |van: &mut Vehicle| {
            (van.battery, van.fill_when_worth) = (Some(battery_of(60.0, 50.0)), true);
        };
        assert!(changed(fill));
        assert!(!changed(|van| {
            (van.battery, van.end_value) = (Some(battery_of(60.0, 50.0)), per_kwh(0.15));
        }));
        let mut paid = site(&[10, -20, 30], &two_vans().devices);
        assert!(solve_request(&paid).is_some());
        let Device::Vehicle(first) = &mut paid.devices[0] else { unreachable!() };
        fill(first);
        assert!(solve_request(&paid).is_none());
        assert!(!is_read(&|request| request.devices.push(sun(&[3.0; 3], true))));
        assert!(!is_read(&|r| r.devices.push(Device::Battery(home(5.0, 9.0, 50.0)))));
        assert!(!is_read(&|r| r.devices.push(Device::Shiftable(washer(1.0, 60.0)))));
        assert!(!is_read(&|request| request.preferences.push(Preference::Smoother)));
        assert!(!is_read(&|request| request.preference_budget = money(0.1)));
        assert!(!is_read(&|request| {
            request.import_limit.as_mut().unwrap().breach_price = Some(per_kwh(9.0));
        }));
        assert!(!is_read(&|request| {
            request.groups = vec![group("g", None, Some(hard(4.5)))];
            for device in &mut request.devices {
                let Device::Vehicle(van) = device else { unreachable!() };
                van.group = Some("g".to_owned());
            }
        }));
    }

    /// Vehicle of a random site: its power, the hours on the wall clock of its arrival and departure,
    /// and its need as a share of what it can take at most.
    type Stay = (f64, u32, u32, f64);

    /// Random site: its date, length of slots in minutes, prices by the hour in tens of cents, stays,
    /// limit as a share of all powers, power of the house in kW, and preferences.
    type Draw = ((usize, i64), Vec<i32>, Vec<Stay>, Option<f64>, (f64, usize));

    fn site_draws() -> impl Strategy<Value = Draw> {
        let power = prop::sample::select(vec![3.7, 7.4, 11.0, 22.0]);
        // Of two hours on a wall clock the change of the clocks leaves one.
        let stay = (power, 0..24u32, 2..24u32, 0.0..1.05_f64);
        (
            (0..3usize, prop::sample::select(vec![15, 60, 60, 60])),
            prop::collection::vec(-2..6i32, 25),
            prop::collection::vec(stay, 1..8),
            prop::option::weighted(0.9, 0.05..1.1_f64),
            (prop::sample::select(vec![0.0, 0.0, 1.3]), 0..4usize),
        )
    }

    /// Days of 24, 23 and 25 hours in Oslo.
    const DATES: [(i32, u32, u32); 3] = [(2026, 1, 5), (2026, 3, 29), (2026, 10, 25)];

    fn request_of_draw(draw: &Draw) -> SiteRequest {
        let ((day, minutes), tens, stays, limit, (house_kw, preferences)) = draw;
        let (year, month, day) = DATES[*day];
        let date = NaiveDate::from_ymd_opt(year, month, day).unwrap();
        let next = date.checked_add_days(Days::new(1)).unwrap();
        let instant = |local: NaiveDateTime| -> DateTime<Utc> { instant_of(local, Oslo) };
        let clock = |hour: u32| instant(date.and_hms_opt(hour, 0, 0).unwrap());
        let (start, end) = (clock(0), instant(next.and_time(NaiveTime::MIN)));
        let count = (end - start).num_minutes() / minutes;
        let slots = Horizon::steps(start, TimeDelta::minutes(*minutes), count as usize).unwrap();
        let price = |slot: i64| f64::from(tens[(slot * minutes / 60) as usize]) / 10.0;
        let prices = PriceCurve::from_parts(slots, (0..count).map(price).collect()).unwrap();
        let mut request = SiteRequest::new(prices, start);
        for (index, &(power, arrival, hours, share)) in stays.iter().enumerate() {
            let mut vehicle = Vehicle::new(format!("vehicle {index}"), kw(power));
            let leaves = arrival + hours;
            let departure = if leaves < 24 { clock(leaves) } else { end };
            (vehicle.arrival, vehicle.departure) = (Some(clock(arrival)), Some(departure));
            let stay = (departure - clock(arrival)).num_minutes() as f64 / 60.0;
            // Energies in hundredths meet what can be taken at most exactly, now and then.
            let energy = (power * stay * share * 100.0).round() / 100.0;
            vehicle.targets.push(Target { by: vehicle.departure, energy: kwh(energy) });
            request.devices.push(Device::Vehicle(vehicle));
        }
        let total: f64 = stays.iter().map(|&(power, ..)| power).sum();
        request.import_limit = limit.map(|share| hard((total * share * 10.0).round() / 10.0));
        if *house_kw > 0.0 {
            let forecast = Series::Constant(kw(*house_kw));
            let (name, phases) = ("house".to_owned(), Phase::ALL.to_vec());
            request.devices.push(Device::Load(Load { name, group: None, phases, forecast }));
        }
        request.preferences = match preferences {
            0 => Vec::new(),
            1 => vec![Preference::Fairer, Preference::Earlier],
            _ => vec![Preference::Earlier],
        };
        request
    }

    /// Sum of the charges of each slot in kWh.
    fn slot_sums(model: &SiteModel, values: &[f64]) -> Vec<f64> {
        let sum = |slot: usize| model.flows[slot].iter().map(|flow| values[flow.column]).sum();
        (0..model.grid.len()).map(sum).collect()
    }

    #[test]
    fn plans_are_those_of_the_solver() {
        let (read, binding, short) = (Cell::new(0), Cell::new(0), Cell::new(0));
        let config = Config { cases: 2_500, failure_persistence: None, ..Config::default() };
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let judged = TestRunner::new_with_rng(config, rng).run(&site_draws(), |draw| {
            let request = request_of_draw(&draw);
            let model = SiteModel::new(&request, false);
            let by_programmes = solve_by_programmes(&request, &model, &Limits::default()).unwrap();
            let is_short = model.misses.iter().any(|m| by_programmes.values[m.column] > 1e-5);
            let has_breach = !model.breaches.is_empty();
            short.set(short.get() + i32::from(is_short));
            let Some(found) = solve_shared_limit(&request, &model) else {
                prop_assert!(is_short || has_breach, "left to the solver");
                return Ok(());
            };
            prop_assert!(!is_short && !has_breach);
            let problem = SiteProblem::new(request.clone()).unwrap();
            let plan = plan_site(&problem);
            prop_assert!(plan.certificate.is_proved() && plan.status.is_optimal());
            prop_assert!(verify(&problem, &plan).iter().all(Check::holds));
            read.set(read.get() + 1);
            let mut rows = model.limits.iter().flat_map(|limit| &limit.rows).flatten().flatten();
            binding.set(binding.get() + i32::from(rows.any(|&row| found.duals[row] < -1e-9)));
            let cost = |values: &[f64]| -> f64 {
                model.program.columns.iter().zip(values).map(|(c, value)| c.cost * value).sum()
            };
            let (own, other) = (cost(&found.values), cost(&by_programmes.values));
            prop_assert!((own - other).abs() <= 1e-7 * (1.0 + other.abs()), "{own}, {other}");
            let (own, other) = (found.bound, by_programmes.bound);
            prop_assert!((own - other).abs() <= 1e-7 * (1.0 + other.abs()), "{own}, {other}");
            // The plan that is preferred has one sum for each slot.
            if request.preferences.contains(&Preference::Earlier) {
                let both = slot_sums(&model, &found.values).into_iter();
                for (own, other) in both.zip(slot_sums(&model, &by_programmes.values)) {
                    prop_assert!((own - other).abs() < 1e-6, "{own} and {other} kWh");
                }
            }
            Ok(())
        });
        judged.unwrap();
        let (read, binding, short) = (read.get(), binding.get(), short.get());
        assert!(read > 500 && binding > 200 && short > 200, "{read}, {binding}, {short}");
    }
}

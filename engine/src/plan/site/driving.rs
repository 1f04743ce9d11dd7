//! Drives of a vehicle between its stays: stored energy that it uses while it is away.
//!
//! A drive takes its energy `W` at its start, and the vehicle neither charges nor discharges up to
//! its end. What the battery lacks, `u`, is charged on the way, elsewhere:
//!
//! ```text
//! L' = L − W + u,   u = max(0, W − L)
//! ```
//!
//! Drives divide the session into stays: stay `n` begins after `n` drives. The level has bounds of
//! its own in each of them ([`Bounds`]), because a vehicle falls below the floor by driving only,
//! and a vehicle that arrives above its charge limit is below it after a drive.
//!
//! A drive belongs to the first slot that begins at or after its start. Over a gap in the prices
//! that slot may begin later than the drive, and a deadline may lie between the two.
use std::ops::Range;

use crate::plan::site::device::Vehicle;
use crate::plan::site::goal::Goal;
use crate::plan::site::price_slots::SiteSlots;
use crate::plan::storage::request::Consumption;
use crate::time::instant::micros_of;

/// Bounds on the level of a storage in one stay, in stored kWh.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Stored energy below which the level never falls.
    pub(crate) floor: f64,
    /// Highest stored energy.
    pub(crate) ceiling: f64,
    /// Highest level that a target, the reserve or a later drive wants. More serves none of them.
    pub(crate) wanted: f64,
    /// Level of a storage that never charges nor discharges.
    pub(crate) uncharged: f64,
}

impl Bounds {
    /// Bounds from arrival with `start` on: the floor is `kept`, but at most that level, and the
    /// ceiling is the charge limit, but at least that level.
    pub(crate) fn on_arrival(kept: f64, start: f64, limit: f64) -> Self {
        Self { floor: kept.min(start), ceiling: limit.max(start), wanted: 0.0, uncharged: start }
    }

    /// Bounds after a drive of `energy` that begins within these bounds. What is wanted after it is
    /// not known yet.
    fn after(self, energy: f64, limit: f64) -> Self {
        let uncharged = (self.uncharged - energy).max(0.0);
        let floor = (self.floor - energy).max(0.0);
        Self { floor, ceiling: limit.max(uncharged), wanted: 0.0, uncharged }
    }
}

/// Period in which a vehicle drives.
#[derive(Debug, Clone)]
pub(crate) struct Drive {
    /// Energy of the drive as a level wanted by its start. Its target is the position of the period
    /// in the request.
    pub(crate) goal: Goal,
    /// Stored energy that the drive uses.
    pub(crate) energy: f64,
    /// Start and end in microseconds; the start is not before the present.
    pub(crate) period: (i64, i64),
    /// Most stored energy that can be missing.
    pub(crate) lack_max: f64,
    /// Bounds on the level after the drive.
    pub(crate) after: Bounds,
}

impl Drive {
    /// Slots of the site in which the vehicle is away.
    pub(crate) fn slots(&self, grid: &SiteSlots) -> Range<usize> {
        grid.between(self.period.0, self.period.1)
    }
}

/// Drives of a vehicle in time order, in the slots from `first_slot` on. `limit` is the charge
/// limit, and `first` has the bounds up to the first drive.
///
/// Of a drive that is under way, the part counts that is left of its time.
pub(crate) fn drives(
    vehicle: &Vehicle,
    grid: &SiteSlots,
    first_slot: usize,
    limit: f64,
    first: Bounds,
) -> Vec<Drive> {
    let mut periods: Vec<(usize, &Consumption)> = vehicle.consumption.iter().enumerate().collect();
    periods.sort_by_key(|(_, period)| period.start);
    let mut bounds = first;
    let drive = |(count, (position, period)): (usize, (usize, &Consumption))| {
        let (start, end) = (micros_of(period.start), micros_of(period.end));
        let from = start.max(grid.now);
        let left = (end - from).max(0) as f64 / (end - start) as f64;
        let energy = period.energy.as_kwh() * left;
        let slots = grid.ends.partition_point(|&end| end <= from).max(first_slot);
        let most = limit.max(bounds.uncharged);
        // Up to the first slot nothing changes the level but drives.
        let least = if slots == first_slot { bounds.uncharged } else { bounds.floor };
        bounds = bounds.after(energy, limit);
        Drive {
            goal: Goal::new((Some(position), Some(period.start)), (slots, count), energy, most),
            energy,
            period: (from, end),
            lack_max: (energy - least).max(0.0),
            after: bounds,
        }
    };
    periods.into_iter().enumerate().map(drive).collect()
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::vehicle::SocTarget;
    use crate::plan::site::device::Device;
    use crate::plan::site::plan::{Cause, SitePlan, WishOutcome};
    use crate::plan::site::planner::tests::{planned, powers_of};
    use crate::plan::site::request::SiteRequest;
    use crate::plan::site::request::tests::{at, battery_of, discharge, hard, house, site};
    use crate::plan::site::storage::Storage;
    use crate::prices::curve::PriceCurve;
    use crate::prices::curve::tests::curve_of;
    use crate::time::civil::instant_of;
    use crate::time::horizon::Horizon;
    use crate::units::{kw, kwh, per_kwh, percent};

    /// 4 kW and a battery of 20 kWh, half full, that is not filled up.
    fn car() -> Vehicle {
        let mut car = Vehicle::new("car", kw(4.0));
        car.battery = Some(battery_of(20.0, 50.0));
        car
    }

    fn drive(from: i64, to: i64, energy: f64) -> Consumption {
        Consumption { start: at(from), end: at(to), energy: kwh(energy), is_plugged_in: false }
    }

    fn soc_by(minutes: i64, soc: f64) -> SocTarget {
        SocTarget { by: Some(at(minutes)), soc: Some(percent(soc)) }
    }

    fn plan(cents: &[i32], car: &Vehicle) -> SitePlan {
        planned(&site(cents, &[Device::Vehicle(car.clone())]))
    }

    fn socs(plan: &SitePlan) -> Vec<f64> {
        plan.devices[0].soc.iter().map(|soc| (soc.as_percent() * 1e6).round() / 1e6).collect()
    }

    fn storage(cents: &[i32], car: &Vehicle) -> Storage {
        let request = site(cents, &[Device::Vehicle(car.clone())]);
        Storage::of_vehicle(car, &SiteSlots::new(&request), false)
    }

    /// Energy wanted, energy missing and causes of a wish.
    fn outcome(wish: &WishOutcome) -> (f64, f64, &[Cause]) {
        (wish.wanted.as_kwh(), wish.shortfall.as_kwh(), &wish.causes)
    }

    #[test]
    fn a_car_charges_for_a_drive_and_for_what_is_wanted_after_it() {
        let mut car = car();
        car.consumption = vec![drive(60, 120, 12.0)];
        car.soc_targets = vec![soc_by(240, 50.0)];
        let plan = plan(&[10, 30, 20, 10], &car);
        // The drive takes 12 of 14 kWh. After it two hours of 4 kW lead from 2 to the 10 wanted, so
        // that the first hour takes 4 kWh, too: 0.1·4 + 0.2·4 + 0.1·4.
        assert_eq!(powers_of(&plan, "car"), [4.0, 0.0, 4.0, 4.0]);
        assert_eq!(socs(&plan), [50.0, 70.0, 10.0, 30.0, 50.0]);
        assert!((plan.cost.as_amount() - 1.6).abs() < 1e-9 && plan.certificate.is_proved());
        let wishes = &plan.devices[0].wishes;
        // 12 kWh at the plug until the target: those of the drive.
        assert_eq!(outcome(&wishes[0]), (12.0, 0.0, &[][..]));
        assert_eq!(outcome(&wishes[1]), (12.0, 0.0, &[][..]));
        assert_eq!((wishes[0].reached_at, wishes[1].by), (Some(at(240)), Some(at(60))));
        // 12 kWh are there halfway through the first hour.
        assert_eq!(wishes[1].reached_at, Some(at(30)));
        // At once it charges 4 kWh in the first hour, and 4 + 4 after the drive.
        assert!((plan.baseline.cost.as_amount() - 1.6).abs() < 1e-9);
    }

    #[test]
    fn energy_is_not_bought_beyond_drives_and_targets() {
        let mut car = car();
        car.consumption = vec![drive(60, 120, 12.0)];
        // Two kWh are missing for the drive, and nothing is wanted after it.
        let negative = plan(&[-10, 30, -20, -10], &car);
        assert_eq!(powers_of(&negative, "car"), [2.0, 0.0, 0.0, 0.0]);
        assert!((negative.baseline.cost.as_amount() + 0.2).abs() < 1e-9);
        car.fill_when_worth = true;
        let full = plan(&[-10, 30, -20, -10], &car);
        assert_eq!(powers_of(&full, "car"), [4.0, 0.0, 4.0, 4.0]);
    }

    #[test]
    fn a_drive_that_lacks_energy_returns_empty() {
        let mut car = car();
        car.consumption = vec![drive(60, 120, 17.0), drive(180, 240, 5.0)];
        let plan = plan(&[10, 30, 20, 10], &car);
        assert_eq!(socs(&plan), [50.0, 70.0, 0.0, 20.0, 0.0]);
        let wishes = &plan.devices[0].wishes;
        assert_eq!(outcome(&wishes[0]), (17.0, 3.0, &[Cause::OwnLimits][..]));
        assert_eq!(outcome(&wishes[1]), (5.0, 1.0, &[Cause::OwnLimits][..]));
        assert!((plan.shortfall.as_kwh() - 4.0).abs() < 1e-9 && plan.certificate.is_proved());
    }

    #[test]
    fn losses_count_at_the_plug() {
        let mut car = car();
        car.battery.as_mut().unwrap().efficiency = 0.5;
        car.end_value = per_kwh(0.01);
        car.consumption = vec![drive(60, 120, 15.0)];
        let plan = plan(&[10, 30], &car);
        // 4 kWh store 2; the 3 that are missing of 15 are 6 at the plug.
        assert_eq!(outcome(&plan.devices[0].wishes[0]), (30.0, 6.0, &[Cause::OwnLimits][..]));
        assert!(plan.stored_value.as_amount().abs() < 1e-12 && plan.certificate.is_proved());
    }

    #[test]
    fn a_drive_above_the_charge_limit_says_so() {
        let mut car = car();
        car.battery.as_mut().unwrap().charge_limit = percent(60.0);
        car.consumption = vec![drive(60, 120, 15.0)];
        let plan = plan(&[10, 30], &car);
        assert_eq!(outcome(&plan.devices[0].wishes[0]), (15.0, 3.0, &[Cause::ChargeLimit][..]));
        // Above the limit on arrival, the car may be charged up to the limit after the drive.
        car.battery.as_mut().unwrap().soc = Some(percent(90.0));
        let storage = storage(&[10, 30, 10], &car);
        let ceiling = |count: usize| storage.bounds(count).ceiling;
        assert_eq!((ceiling(0), ceiling(1)), (18.0, 3.0));
        car.fill_when_worth = true;
        assert!((super::tests::storage(&[10], &car).bounds(1).ceiling - 12.0).abs() < 1e-12);
    }

    #[test]
    fn no_drive_charges_on_the_way_for_a_target_a_limit_or_money() {
        let mut car = car();
        car.battery.as_mut().unwrap().soc = Some(percent(0.0));
        car.discharge = Some(discharge(4.0));
        car.consumption = vec![drive(60, 120, 10.0), drive(240, 300, 2.0)];
        car.soc_targets = vec![soc_by(120, 40.0), soc_by(240, 40.0), soc_by(360, 90.0)];
        car.end_value = per_kwh(5.0);
        let devices = [Device::Vehicle(car), house(&[0.0, 0.0, 9.0, 9.0, 0.0, 0.0])];
        let mut request = site(&[10; 6], &devices);
        request.export_prices = Some(curve_of(60, &[5; 6]));
        // The house exceeds the limit by 3 kW for two hours, in which the car could feed.
        request.import_limit = Some(hard(6.0));
        let plan = planned(&request);
        // It comes back empty from the first drive, so that it has nothing to feed, and neither has
        // it room under the limit for the second one.
        let lacks: Vec<f64> =
            plan.devices[0].wishes[3..].iter().map(|wish| wish.shortfall.as_kwh()).collect();
        assert!((lacks[0] - 6.0).abs() < 1e-6 && (lacks[1] - 2.0).abs() < 1e-6, "{lacks:?}");
        assert_eq!(powers_of(&plan, "car"), [4.0, 0.0, 0.0, 0.0, 0.0, 4.0]);
        assert!(plan.certificate.is_proved(), "{:?}", plan.certificate);
    }

    #[test]
    fn a_reserve_remains_after_a_drive_and_is_not_sold() {
        let mut car = car();
        (car.reserve, car.discharge) = (percent(40.0), Some(discharge(4.0)));
        car.consumption = vec![drive(120, 180, 6.0)];
        let mut request = site(&[90, 10, 90, 90], &[Device::Vehicle(car)]);
        request.export_prices = Some(curve_of(60, &[80, 5, 80, 80]));
        let plan = planned(&request);
        // 10 kWh and the 4 of the cheap hour are the 6 of the drive and the reserve of 8: nothing is
        // left to sell.
        assert_eq!(powers_of(&plan, "car"), [0.0, 4.0, 0.0, 0.0]);
        assert_eq!(socs(&plan), [50.0, 50.0, 70.0, 40.0, 40.0]);
    }

    #[test]
    fn a_gap_in_the_prices_may_hold_a_drive_and_a_deadline() {
        let mut car = car();
        car.consumption = vec![drive(90, 150, 8.0)];
        car.soc_targets = vec![soc_by(170, 30.0)];
        let mut request = site(&[10, 10], &[Device::Vehicle(car)]);
        // Prices for the first hour and for the fourth.
        let hours = Horizon::new([(at(0), at(60)), (at(180), at(240))]).unwrap();
        request.import_prices = PriceCurve::from_parts(hours, vec![0.3, 0.1]).unwrap();
        let plan = planned(&request);
        // 14 kWh less 8 for the drive are the 6 that are wanted before the second price.
        assert_eq!(powers_of(&plan, "car"), [4.0, 0.0]);
        assert!(plan.shortfall.as_kwh() < 1e-9 && plan.certificate.is_proved());
    }

    #[test]
    fn drives_after_the_last_price_are_charged_for_before_it() {
        let mut car = car();
        car.consumption = vec![drive(150, 200, 7.0), drive(210, 240, 9.0)];
        let plan = plan(&[30, 10], &car);
        // 16 kWh of 18: six are bought, four of them in the cheap hour.
        assert_eq!(powers_of(&plan, "car"), [2.0, 4.0]);
        assert_eq!(socs(&plan), [50.0, 60.0, 80.0]);
        car.consumption[1].energy = kwh(20.0);
        let short = super::tests::plan(&[30, 10], &car);
        let wishes = &short.devices[0].wishes;
        assert_eq!(wishes[0].shortfall, kwh(0.0));
        // 27 kWh of 18: with prices for ten minutes more it would be 2/3 kWh less.
        assert!((wishes[1].shortfall.as_kwh() - 9.0).abs() < 1e-9);
        assert!(wishes[1].causes.contains(&Cause::NoPrice), "{:?}", wishes[1].causes);
    }

    #[test]
    fn a_drive_under_way_counts_by_the_time_that_is_left() {
        let mut car = car();
        car.consumption = vec![drive(-90, 30, 8.0), drive(-200, -100, 5.0)];
        let plan = plan(&[10, 10], &car);
        // A quarter of two hours is left, and 2 of 8 kWh. The other drive is over.
        assert_eq!(socs(&plan), [50.0, 40.0, 40.0, 40.0]);
        let wanted = plan.devices[0].wishes.iter().map(|wish| wish.wanted);
        assert_eq!(wanted.collect::<Vec<_>>(), [kwh(2.0), kwh(0.0)]);
    }

    #[test]
    fn a_run_may_end_short_at_the_energy_of_the_next_drive() {
        let mut car = car();
        (car.power_min, car.fill_when_worth) = (kw(4.0), true);
        car.consumption = vec![drive(120, 180, 16.0)];
        let plan = plan(&[10, 20, 10], &car);
        assert_eq!(powers_of(&plan, "car"), [4.0, 2.0, 0.0]);
        assert!(plan.certificate.is_proved());
    }

    #[test]
    fn a_taper_binds_again_after_a_drive() {
        let mut car = car();
        let point = |(soc, power)| crate::plan::site::device::TaperPoint {
            soc: percent(soc),
            power_max: kw(power),
        };
        car.taper = [(0.0, 4.0), (80.0, 0.0)].map(point).to_vec();
        (car.fill_when_worth, car.battery) = (true, Some(battery_of(20.0, 90.0)));
        car.consumption = vec![drive(60, 120, 18.0)];
        // Full beyond the taper it takes nothing; empty it takes 4 / (1 + 4/16) kWh in an hour.
        let plan = plan(&[-10, -10, -10], &car);
        let found = powers_of(&plan, "car");
        assert!(found[0].abs() < 1e-9 && (found[2] - 3.2).abs() < 1e-6, "{found:?}");
    }

    /// Departure at 7:30 and return at 17:30 on the clocks of Oslo.
    fn commute(day: NaiveDate, energy: f64) -> Consumption {
        let clock = |hour: u32| NaiveTime::from_hms_opt(hour, 30, 0).unwrap();
        let instant = |hour: u32| instant_of(day.and_time(clock(hour)), chrono_tz::Europe::Oslo);
        let (start, end) = (instant(7), instant(17));
        Consumption { start, end, energy: kwh(energy), is_plugged_in: false }
    }

    /// Least energy that the drives of a car lack, minute by minute at full power.
    fn least_lack(request: &SiteRequest, car: &Vehicle, until: DateTime<Utc>) -> f64 {
        let battery = car.battery.unwrap();
        let capacity = battery.capacity.as_kwh();
        let mut level = battery.soc.unwrap().as_percent() / 100.0 * capacity;
        let (mut lack, mut now) = (0.0, request.now);
        while now < until {
            for drive in car.consumption.iter().filter(|drive| drive.start == now) {
                lack += (drive.energy.as_kwh() - level).max(0.0);
                level = (level - drive.energy.as_kwh()).max(0.0);
            }
            let is_away = car.consumption.iter().any(|d| d.start <= now && now < d.end);
            if !is_away {
                level += car.power_max.as_kw() / 60.0 * battery.efficiency;
                level = level.min(capacity);
            }
            now += TimeDelta::minutes(1);
        }
        lack
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        /// Three days around a change of clocks: energy adds up, the vehicle is idle while it is
        /// away, and a drive lacks what full power could not store before it.
        #[test]
        fn energy_adds_up_over_a_change_of_clocks(
            first in prop_oneof![Just((2026, 3, 28)), Just((2026, 10, 24)), Just((2026, 1, 14))],
            energies in prop::array::uniform3(0.0..30.0_f64), soc in 0.0..100.0_f64,
            cents in prop::collection::vec(1..50i32, 75), efficiency in 0.7..1.0_f64,
            fills in any::<bool>(), feeds in prop::option::of(0.5..5.0_f64),
        ) {
            let day = NaiveDate::from_ymd_opt(first.0, first.1, first.2).unwrap();
            let midnight = |later: u64| {
                let day = day + chrono::Days::new(later);
                instant_of(day.and_time(NaiveTime::MIN), chrono_tz::Europe::Oslo)
            };
            let hours = usize::try_from((midnight(3) - midnight(0)).num_hours()).unwrap();
            prop_assert_eq!(hours, match first.1 { 3 => 71, 10 => 73, _ => 72 });
            let horizon = Horizon::steps(midnight(0), TimeDelta::hours(1), hours).unwrap();
            let prices = cents[..hours].iter().map(|&cent| f64::from(cent) / 100.0).collect();
            let mut request =
                SiteRequest::new(PriceCurve::from_parts(horizon, prices).unwrap(), midnight(0));
            let mut car = car();
            (car.battery, car.power_max) = (Some(battery_of(40.0, soc)), kw(2.0));
            car.battery.as_mut().unwrap().efficiency = efficiency;
            (car.fill_when_worth, car.discharge) = (fills, feeds.map(discharge));
            car.consumption = (0..3).map(|later| {
                commute(day + chrono::Days::new(later as u64), energies[later])
            }).collect();
            request.devices = vec![Device::Vehicle(car.clone())];
            request.export_prices = Some(request.import_prices.clone());
            let plan = planned(&request);
            let device = &plan.devices[0];
            let lack: f64 = device.wishes.iter().map(|wish| wish.shortfall.as_kwh()).sum();
            let driven: f64 = energies.iter().sum();
            let stored = |index: usize| device.soc[index].as_percent() / 100.0 * 40.0;
            let expected = stored(0) + (device.energy.as_kwh() + lack) * efficiency
                - device.fed.as_kwh() - driven;
            let end = stored(plan.slots.len());
            prop_assert!((end - expected).abs() < 1e-3, "{end} kWh and {expected}");
            let least = least_lack(&request, &car, midnight(3)) / efficiency;
            prop_assert!((lack - least).abs() < 1e-3, "{lack} kWh and {least}");
            for (slot, power) in plan.slots.iter().zip(&device.power) {
                let is_away =
                    car.consumption.iter().any(|d| d.start < slot.end && slot.start < d.end);
                prop_assert!(!is_away || power.as_kw() == 0.0);
            }
            prop_assert!(plan.certificate.is_proved(), "{:?}", plan.certificate);
        }
    }
}

//! Columns and rows of the rooms and tanks of heat units.
//!
//! For each step `t`, with the energy `y_t` that the unit has added, `x_t` that it uses, and the edges
//! `L_t`, `H_t` of the band ([`Room`], [symbols](crate::plan::heat)):
//!
//! ```text
//! y_t = a_t·y_{t−1} + η_t·x_t                          balance
//! b_t ≥ min(L_t − z_t, Y_t) − y_t,   b_t ≥ 0           below the band
//! u_t ≥ y_t − max(H_t − z_t, 0),     u_t ≥ 0           above the band
//! ```
//!
//! `Y_t` is `y_t` at full power. Energy that is missing at full power, or that is too much with the unit
//! off, is the same in every plan, so that `b_t` and `u_t` leave it out. Their degree-hours
//! `Σ_t h_t/C·(b_t + u_t)`, times the priority of the unit, are an objective before money.
//!
//! | Symbol | Field |
//! |---|---|
//! | `x_t`, `y_t` | `RoomColumns::{used, added}` |
//! | `z_t`, `Y_t` | `Room::{idle, most}` |
//! | `b_t`, `u_t` | `SiteModel::discomfort` |
use crate::plan::heat::slots::ThermalStep;
use crate::plan::site::model::{Flow, RoomColumns, SiteModel};
use crate::plan::site::room::Room;
use crate::tolerance::SOLVER_ROUNDING;

impl SiteModel {
    /// Adds the columns, flows and rows of a heat unit.
    pub(crate) fn add_room(&mut self, device: usize) {
        let Some(room) = self.rooms[device].clone() else { return };
        let mut columns = RoomColumns::default();
        let mut before = None;
        for (at, step) in room.steps() {
            let used = room.slots[at].filter(|_| step.power_kwh > 0.0).map(|slot| {
                let column = self.add_column(0.0, 0.0, step.power_kwh);
                self.flows[slot].push(Flow { device, column, weight: 1.0 });
                column
            });
            // Of heat that is less than the solver tells from zero, nothing remains.
            let added = (room.most[at] > SOLVER_ROUNDING).then(|| {
                let added = self.add_column(0.0, 0.0, room.most[at]);
                let mut terms = vec![(added, 1.0)];
                terms.extend(before.map(|before| (before, -step.decay)));
                terms.extend(used.map(|used| (used, -step.stored_per_kwh)));
                self.add_row(0.0, 0.0, terms);
                self.add_discomfort(&room, (at, step), added);
                added
            });
            columns.used.push(used);
            columns.added.push(added);
            before = added;
        }
        let programme = &room.layout.programme;
        let idle_gain = room.idle.last().map_or(0.0, |idle| idle - programme.stored_kwh);
        self.constant -= programme.end_value * idle_gain;
        if let Some(last) = before {
            self.program.columns[last].cost -= programme.end_value;
        }
        self.room_columns[device] = columns;
    }

    /// Adds the energies outside the band after a step, of which `added` is the column of the energy
    /// that the unit has added.
    fn add_discomfort(&mut self, room: &Room, (at, step): (usize, &ThermalStep), added: usize) {
        let (idle, most) = (room.idle[at], room.most[at]);
        let weight = room.priority * step.hours / room.layout.programme.kwh_per_k;
        let low = (step.low_kwh - idle).min(most);
        if low > 0.0 {
            let below = self.add_column(0.0, 0.0, low);
            self.add_row(low, f64::INFINITY, vec![(added, 1.0), (below, 1.0)]);
            self.discomfort.push((below, weight));
        }
        let high = (step.high_kwh - idle).max(0.0);
        if most > high {
            let above = self.add_column(0.0, 0.0, most - high);
            self.add_row(f64::NEG_INFINITY, high, vec![(added, 1.0), (above, -1.0)]);
            self.discomfort.push((above, weight));
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};
    use chrono_tz::Tz;
    use proptest::prelude::*;

    use crate::plan::charge::request::PowerLimit;
    use crate::plan::heat::planner::plan_heat;
    use crate::plan::heat::request::{
        ComfortBand, CopPoint, HeatGain, HeatMode, HeatRequest, OutdoorPeriod, SetBack,
    };
    use crate::plan::site::certificate::SiteCertificate;
    use crate::plan::site::device::{Device, HeatUnit};
    use crate::plan::site::plan::{HeatOutcome, SitePlan};
    use crate::plan::site::planner::{plan_site, plan_within};
    use crate::plan::site::problem::SiteProblem;
    use crate::plan::site::request::SiteRequest;
    use crate::plan::site::request::tests::{at, hard, house, pump, site, sun, van};
    use crate::plan::site::verify::verify;
    use crate::plan::switching::request::DeviceState;
    use crate::prices::curve::PriceCurve;
    use crate::time::horizon::Horizon;
    use crate::time::hour_minute::HourMinute;
    use crate::units::{Price, celsius, kw, kw_per_k, kwh_per_k};

    /// Plan of a valid request, all statements of which hold.
    #[track_caller]
    fn planned(request: &SiteRequest) -> SitePlan {
        let problem = SiteProblem::new(request.clone()).unwrap();
        let plan = plan_site(&problem);
        let failed: Vec<_> =
            verify(&problem, &plan).into_iter().filter(|check| !check.holds()).collect();
        assert!(failed.is_empty(), "{failed:?}");
        plan
    }

    /// Electrical energy of a device in each slot, in Wh.
    fn used(plan: &SitePlan, device: usize) -> Vec<i64> {
        let kwh = plan
            .slots
            .iter()
            .zip(&plan.devices[device].power)
            .map(|(slot, power)| power.over(slot.end - slot.start).as_kwh());
        kwh.map(|kwh| (kwh * 1e3).round() as i64).collect()
    }

    fn heat(plan: &SitePlan, device: usize) -> &HeatOutcome {
        plan.devices[device].heat.as_ref().unwrap()
    }

    #[test]
    fn a_room_is_heated_before_a_dear_hour() {
        let plan = planned(&site(&[10, 40, 40, 10], &[Device::Heat(pump(3.0))]));
        assert_eq!(used(&plan, 0), [3000, 0, 115, 1000]);
        assert!(heat(&plan, 0).discomfort.total() <= 0.0);
        assert!(plan.savings().as_amount() > 0.0 && plan.certificate.is_proved());
    }

    #[test]
    fn a_limit_is_shared_by_room_and_van() {
        let devices = [Device::Heat(pump(3.0)), Device::Vehicle(van("van", 4.0, 8.0))];
        let mut request = site(&[10, 10, 40, 40], &devices);
        request.import_limit = Some(hard(4.0));
        let plan = planned(&request);
        // The two cheap hours hold 8 kWh: what the room takes of them, the van misses until 20:00.
        assert!(plan.shortfall.as_kwh() < 1e-9 && heat(&plan, 0).discomfort.total() < 1e-9);
        assert_eq!(used(&plan, 0).iter().zip(used(&plan, 1)).map(|(a, b)| a + b).max(), Some(4000));
        assert!(plan.certificate.is_proved());
    }

    #[test]
    fn a_deadline_comes_before_comfort_and_comfort_before_money() {
        let mut car = van("van", 4.0, 8.0);
        car.targets[0].by = Some(at(120));
        let devices = [Device::Heat(pump(3.0)), Device::Vehicle(car)];
        let mut request = site(&[10, 10, 90, 10], &devices);
        request.import_limit = Some(hard(4.0));
        let plan = planned(&request);
        assert_eq!(used(&plan, 1), [4000, 4000, 0, 0]);
        assert!(plan.shortfall.as_kwh() < 1e-9);
        // The room is warm again as soon as can be, in the dearest hour.
        assert_eq!(used(&plan, 0)[..2], [0, 0]);
        assert_eq!(heat(&plan, 0).slots[2].temperature, celsius(20.0));
        let outside = heat(&plan, 0).discomfort;
        assert!(outside.below > 1.0 && outside.above <= 0.0, "{outside:?}");
        assert!(plan.certificate.is_proved(), "{:?}", plan.certificate);
    }

    #[test]
    fn a_unit_of_higher_priority_is_warm_first() {
        let (mut one, mut other) = (pump(1.0), pump(1.0));
        (one.name, other.name) = ("one".to_owned(), "other".to_owned());
        other.priority = 2.0;
        let mut request = site(&[10, 20], &[Device::Heat(one), Device::Heat(other)]);
        request.import_limit = Some(hard(1.0));
        let plan = planned(&request);
        assert_eq!((used(&plan, 0), used(&plan, 1)), (vec![0, 0], vec![1000, 1000]));
    }

    #[test]
    fn solar_power_that_earns_nothing_is_stored_as_heat() {
        let devices = [Device::Heat(pump(3.0)), sun(&[3.0, 0.0, 0.0], true), house(&[1.0; 3])];
        let plan = planned(&site(&[30, 30, 30], &devices));
        // 2 of the 3 kW are left by the house.
        assert_eq!(used(&plan, 0)[0], 2000);
    }

    #[test]
    fn a_room_cools_down_in_time_without_a_price() {
        let mut request = site(&[10, 10, 10], &[Device::Heat(pump(3.0))]);
        let periods = Horizon::new([(at(0), at(60)), (at(120), at(180))]).unwrap();
        request.import_prices = PriceCurve::from_parts(periods, vec![0.1, 0.1]).unwrap();
        let plan = planned(&request);
        let room = heat(&plan, 0);
        assert_eq!((plan.slots.len(), room.slots.len()), (2, 3));
        assert!(room.slots[1].used.as_kwh() <= 0.0);
        assert!(room.slots[1].temperature < room.slots[0].temperature);
        // 2 kWh hold both hours, and some of the heat that is stored for the second one is lost.
        assert!(used(&plan, 0)[0] > 2000 && room.discomfort.total() <= 0.0);
    }

    #[test]
    fn a_search_that_a_limit_ends_runs_the_thermostat() {
        let mut slow = van("van", 4.0, 6.0);
        slow.power_min = kw(3.0);
        let devices = [Device::Heat(pump(3.0)), Device::Vehicle(slow)];
        let mut request = site(&[30, 10, 20], &devices);
        request.import_limit = Some(hard(4.0));
        let none = crate::lp::Limits { iterations: 0, ..crate::lp::Limits::default() };
        let problem = SiteProblem::new(request).unwrap();
        let plan = plan_within(&problem, &none);
        assert_eq!(used(&plan, 1), [4000, 2000, 0]);
        // The van leaves no power in the first hour, and 2 kW in the second one.
        assert_eq!(used(&plan, 0)[0], 0);
        assert!(used(&plan, 0)[1] > 1900 && used(&plan, 0)[1] <= 2000);
        assert_eq!(heat(&plan, 0).slots[2].temperature, celsius(20.0));
        let failed: Vec<_> =
            verify(&problem, &plan).into_iter().filter(|check| !check.holds()).collect();
        assert!(failed.is_empty(), "{failed:?}");
    }

    #[test]
    fn changed_temperatures_are_named() {
        let request = site(&[10, 40, 10], &[Device::Heat(pump(3.0))]);
        let problem = SiteProblem::new(request).unwrap();
        let failing = |change: fn(&mut HeatOutcome)| {
            let mut plan = plan_site(&problem);
            change(plan.devices[0].heat.as_mut().unwrap());
            let checks = verify(&problem, &plan).into_iter().filter(|check| !check.holds());
            checks.map(|check| check.line).collect::<Vec<_>>()
        };
        assert_eq!(failing(|_| ()), [""; 0]);
        let named = ["devices[0].heat"];
        assert_eq!(failing(|heat| heat.slots[1].temperature = celsius(25.0)), named);
        assert_eq!(failing(|heat| heat.slots[1].outdoor = celsius(25.0)), named);
        assert_eq!(failing(|heat| heat.discomfort.below = 1.0), named);
        assert_eq!(failing(|heat| heat.slots.truncate(1)), named);
        let mut plan = plan_site(&problem);
        plan.devices[0].power[0] = kw(0.0);
        let checks = verify(&problem, &plan);
        assert!(checks.iter().any(|check| check.line == "devices[0].heat" && !check.holds()));
    }

    #[test]
    fn errors_name_unit_field_and_value() {
        let refused = |change: fn(&mut HeatUnit)| {
            let mut unit = pump(3.0);
            change(&mut unit);
            SiteProblem::new(site(&[10], &[Device::Heat(unit)])).unwrap_err().to_string()
        };
        assert_eq!(
            refused(|unit| unit.heat.now = at(15)),
            "devices[0] (pump).now is 2026-01-05 18:15:00 UTC; it is the now of the site, \
             2026-01-05 18:00:00 UTC"
        );
        assert_eq!(
            refused(|unit| unit.heat.on_off = Some(crate::plan::heat::on_off::OnOff {
                state: DeviceState::Off,
                ..Default::default()
            })),
            "devices[0] (pump).on_off: a unit that is on or off cannot be planned on a site; leave \
             it out, so that the unit modulates, or plan the unit alone"
        );
        assert_eq!(
            refused(|unit| unit.heat.temperature = celsius(293.0)),
            "devices[0] (pump).temperature_celsius is 293 °C; it lies between -90 and 150 °C: \
             temperatures are in degrees Celsius"
        );
        assert_eq!(
            refused(|unit| unit.heat.outdoor[0].end = at(30)),
            "devices[0] (pump).outdoor_celsius has no value at 2026-01-05 18:30:00 UTC; it covers \
             the plan from now to until"
        );
        assert_eq!(
            refused(|unit| unit.heat.store.capacity = kwh_per_k(1e-9)),
            "devices[0] (pump).capacity_kwh_per_k is 0.000000001 kWh/K; it is from 0.0001 to 1e6 kWh/K"
        );
        assert_eq!(
            refused(|unit| unit.priority = 0.0),
            "devices[0] (pump).priority is 0; it is from 0.001 to 1000"
        );
    }

    prop_compose! {
        /// Room or tank with everything that a request can have, on a site that begins at `now`.
        fn room(now: DateTime<Utc>)(
            (capacity, rate) in (0.05..20.0_f64, prop_oneof![1 => Just(0.0), 4 => 0.002..0.5_f64]),
            (start, low, width) in (10.0..28.0_f64, 15.0..22.0_f64, 0.0..4.0_f64),
            (power, cops) in (0.0..8.0_f64, (1.0..3.0_f64, 3.0..5.0_f64)),
            outdoor in prop::collection::vec(-15.0..32.0_f64, 24),
            gains in prop::collection::vec((0..22_i64, 1..6_i64, -3.0..4.0_f64), 0..3),
            limit in prop::option::of((0..22_i64, 1..6_i64, 0.0..4.0_f64)),
            (own, drop) in (prop::option::of((0..24_u16, 1..23_u16)), -5.0..5.0_f64),
            end_value in prop_oneof![2 => Just(0.0), 1 => -0.05..0.3_f64],
            cools in any::<bool>(),
        ) -> HeatRequest {
            let hour = |hours: i64| now + chrono::TimeDelta::hours(hours);
            let mut request = pump(power).heat;
            (request.now, request.time_zone) = (now, Tz::Europe__Oslo);
            request.mode = if cools { HeatMode::Cool } else { HeatMode::Heat };
            request.store.capacity = kwh_per_k(capacity);
            request.store.loss = kw_per_k(rate * capacity);
            request.temperature = celsius(start);
            let band = |low: f64| ComfortBand { min: celsius(low), max: celsius(low + width) };
            request.comfort = band(low);
            let point = |(outdoor, cop)| CopPoint { outdoor: celsius(outdoor), cop };
            request.cop = [(-7.0, cops.0), (12.0, cops.1)].map(point).to_vec();
            request.outdoor = (0..24).zip(outdoor).map(|(at, value)| OutdoorPeriod {
                start: hour(at), end: hour(at + 1), temperature: celsius(value),
            }).collect();
            request.gains = gains.iter().map(|&(at, hours, power)| HeatGain {
                start: hour(at), end: hour(at + hours), power: kw(power),
            }).collect();
            request.power_limits = limit.iter().map(|&(at, hours, power)| PowerLimit {
                start: hour(at), end: hour(at + hours), power_max: kw(power),
            }).collect();
            request.set_backs = own.map(|(from, hours)| SetBack {
                from: HourMinute::parse(&format!("{from:02}:00")).unwrap(),
                to: HourMinute::parse(&format!("{:02}:00", (from + hours) % 24)).unwrap(),
                band: band(low + drop),
            }).into_iter().collect();
            request.end_value = Price::from_per_kwh(end_value).unwrap();
            request
        }
    }

    /// Noon before the clocks of Oslo go forward and back, and of another day.
    fn noons() -> [DateTime<Utc>; 3] {
        ["2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z", "2026-01-05T12:00:00Z"]
            .map(|noon| noon.parse().unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        /// Behind a meter of its own a unit has the degree-hours and the cost of its exact plan, on
        /// days on which the clocks change as well.
        #[test]
        fn a_unit_alone_has_its_own_plan(
            (given, now) in prop::sample::select(noons().to_vec())
                .prop_flat_map(|now| (room(now), Just(now))),
            cents in prop::collection::vec(-30..60_i32, 1..24),
        ) {
            let hours = Horizon::steps(now, chrono::TimeDelta::hours(1), cents.len()).unwrap();
            let values = cents.iter().map(|&cents| f64::from(cents) / 100.0).collect();
            let prices = PriceCurve::from_parts(hours, values).unwrap();
            let mut request = SiteRequest::new(prices.clone(), now);
            let unit = HeatUnit::new("pump", given);
            let alone = plan_heat(&prices, &unit.problem(request.import_prices.horizon().end().unwrap()).unwrap());
            request.devices.push(Device::Heat(unit));
            let problem = SiteProblem::new(request).unwrap();
            let plan = plan_site(&problem);
            let failed: Vec<_> =
                verify(&problem, &plan).into_iter().filter(|check| !check.holds()).collect();
            prop_assert!(failed.is_empty(), "{failed:?}");
            let (own, exact) = (heat(&plan, 0).discomfort.total(), alone.discomfort.total());
            prop_assert!((own - exact).abs() <= 1e-5 * exact.max(1.0), "{own} {exact}");
            let SiteCertificate { cost, .. } = &plan.certificate;
            let (own, exact) = (cost.as_amount(), alone.cost.as_amount());
            prop_assert!((own - exact).abs() <= 1e-5 * exact.abs().max(1.0), "{own} {exact}");
            prop_assert!(plan.certificate.is_proved(), "{:?}", plan.certificate);
        }
    }
}

//! Planner of a room or tank: solves a problem and builds the plan with its certificate.
use crate::plan::heat::baseline::baseline;
use crate::plan::heat::certificate::{HeatCertificate, HeatEvidence, OnOffEvidence, certify};
use crate::plan::heat::degree_hour_price::degree_hour_price;
use crate::plan::heat::dynamic_programme::HeatBuffers;
use crate::plan::heat::energy_cells::Cells;
use crate::plan::heat::on_off::LeastTimes;
use crate::plan::heat::on_off_search::find_schedule;
use crate::plan::heat::plan::HeatPlan;
use crate::plan::heat::planned_slot::{DegreeHours, HeatSlot};
use crate::plan::heat::request::{HeatMode, HeatProblem};
use crate::plan::heat::slots::{HeatLayout, HeatSlotPart, ThermalProgramme, ThermalStep, sign};
use crate::plan::interval::Interval;
use crate::prices::curve::PriceCurve;
use crate::time::instant::instant_at;
use crate::tolerance::POWER_ROUNDING_KW;
use crate::units::{Energy, Power, Price, Temperature};

/// Plans a heat pump, heater or air conditioner: the least degree-hours outside the comfort band,
/// and of those plans the least cost.
///
/// The temperature is wanted within the band at every instant. A band that cannot be held is no
/// error: [`HeatPlan::discomfort`] has the degree-hours below and above it, which no plan undercuts.
/// The unit runs at any power up to its highest, constant within a slot. Heat without gain is not
/// bought, and without a price the unit is off. At the end of the plan the store is left at the edge
/// of the band, unless `end_value` says what its heat is worth.
///
/// A unit with [`HeatRequest::on_off`](super::HeatRequest::on_off) runs at its highest power or not at
/// all, for whole slots, and keeps its least times. Its schedule is the best that a search found: no
/// worse than that of a thermostat, and the certificate states how far it can be from the best of all.
///
/// # Example
///
/// Two hours cost 0.10 and 0.40 per kWh. A room of 2 kWh per degree loses 0.1 kW per degree to 0 °C
/// outdoors. It is wanted at 20 °C or more. Its heat pump of 2 kW and COP 3 heats in the first hour
/// for both.
///
/// ```
/// use slackwater_engine::plan::heat::{
///     ComfortBand, HeatProblem, HeatRequest, ThermalStore, plan_heat,
/// };
/// use slackwater_engine::prices::curve::{PriceCurve, Slot};
/// use slackwater_engine::units::{celsius, kw, kw_per_k, kwh_per_k, per_kwh};
///
/// let at = |text: &str| text.parse().unwrap();
/// let slot = |start, end, price| Slot { start: at(start), end: at(end), price: per_kwh(price) };
/// let prices = PriceCurve::new(&[
///     slot("2026-01-05T18:00:00Z", "2026-01-05T19:00:00Z", 0.10),
///     slot("2026-01-05T19:00:00Z", "2026-01-05T20:00:00Z", 0.40),
/// ])?;
/// let store = ThermalStore { capacity: kwh_per_k(2.0), loss: kw_per_k(0.1) };
/// let comfort = ComfortBand { min: celsius(20.0), max: celsius(22.0) };
/// let time = (at("2026-01-05T18:00:00Z"), at("2026-01-05T20:00:00Z"));
/// let unit = (kw(2.0), 3.0);
/// let request = HeatRequest::new(time, store, celsius(20.0), comfort, unit, celsius(0.0));
/// let problem = HeatProblem::new(request).unwrap();
///
/// let plan = plan_heat(&prices, &problem);
///
/// assert_eq!(plan.intervals.len(), 1);
/// assert!((plan.slots[1].temperature.as_celsius() - 20.0).abs() < 1e-9);
/// assert!(plan.savings().as_amount() > 0.1);
/// assert!(plan.certificate.is_proved());
/// # Ok::<(), slackwater_engine::prices::curve::CurveError>(())
/// ```
#[must_use]
pub fn plan_heat(prices: &PriceCurve, problem: &HeatProblem) -> HeatPlan {
    plan_heat_in(prices, problem, &mut HeatBuffers::new())
}

/// Plans a room or tank in memory of the caller; see [`plan_heat`].
#[must_use]
pub fn plan_heat_in(
    prices: &PriceCurve,
    problem: &HeatProblem,
    buffers: &mut HeatBuffers,
) -> HeatPlan {
    let layout = HeatLayout::new(prices, problem);
    let programme = &layout.programme;
    buffers.solve(programme);
    let price = degree_hour_price(programme, buffers);
    let least_times = layout.least_times(problem.request());
    if let Some(times) = &least_times {
        let schedule = find_schedule(programme, times, &buffers.values);
        buffers.set_schedule(programme, &schedule);
    }
    build_plan(&layout, problem, (buffers, price), least_times.as_ref())
}

/// Plan of a solved layout. `price` is that of a degree-hour.
fn build_plan(
    layout: &HeatLayout,
    problem: &HeatProblem,
    (buffers, price): (&HeatBuffers, f64),
    least_times: Option<&LeastTimes>,
) -> HeatPlan {
    let request = problem.request();
    let slots = slots(layout, request.mode, buffers);
    let certificate = certify_plan(&slots, (layout, problem), price, least_times);
    let mut intervals = Vec::with_capacity(slots.len());
    for slot in &slots {
        let power = slot.power();
        if slot.used > Energy::ZERO && power > Power::ZERO {
            let is_same = |a: Power, b: Power| (a - b).as_kw().abs() <= POWER_ROUNDING_KW;
            Interval { start: slot.start, end: slot.end, power }.join(&mut intervals, is_same);
        }
    }
    let sum = |of: fn(&HeatSlot) -> Energy| slots.iter().fold(Energy::ZERO, |a, slot| a + of(slot));
    let end = slots.last().map_or(request.temperature, |last| last.temperature);
    let signed = sign(request.mode) * request.store.capacity.as_kwh_per_k();
    let gained = signed * (end - request.temperature).as_celsius();
    let unpriced = slots.iter().filter(|slot| slot.price.is_none());
    let cools = request.mode == HeatMode::Cool;
    HeatPlan {
        mode: request.mode,
        temperature_start: request.temperature,
        used: sum(|slot| slot.used),
        heat: sum(HeatSlot::heat),
        cost: certificate.cost,
        stored_value: request.end_value.of(Energy::from_kwh(gained).unwrap_or(Energy::ZERO)),
        discomfort: DegreeHours::of(&slots),
        baseline: baseline(&layout.programme, least_times, cools),
        unpriced_hours: unpriced.map(HeatSlot::hours).fold(0.0, |sum, hours| sum + hours),
        certificate,
        intervals,
        slots,
    }
}

/// Slots of a solved layout.
fn slots(layout: &HeatLayout, mode: HeatMode, buffers: &HeatBuffers) -> Vec<HeatSlot> {
    let signed = sign(mode) * layout.programme.kwh_per_k;
    let celsius = |value: f64| Temperature::from_celsius(value).unwrap_or_default();
    let price = |value: f64| Price::from_per_kwh(value).ok();
    let steps = layout.programme.steps.iter().zip(&layout.parts);
    let mut end = layout.parts.first().map(|first| instant_at(first.start));
    let slot = |(index, (step, part)): (usize, (&ThermalStep, &HeatSlotPart))| {
        let start = end.unwrap_or_default();
        let finish = instant_at(part.end);
        end = Some(finish);
        let (least, most) = (part.band.min, part.band.max);
        let level = buffers.levels[index];
        // An edge of the band is written as it was given, not as a quotient of products.
        let is_at = |edge: Temperature| (signed * edge.as_celsius()).total_cmp(&level).is_eq();
        let temperature = [least, most].into_iter().find(|&edge| is_at(edge));
        HeatSlot {
            start,
            end: finish,
            price: part.is_priced.then(|| price(step.price)).flatten(),
            outdoor: celsius(part.outdoor_celsius),
            gain: Power::from_kw(part.gain_kw).unwrap_or(Power::ZERO),
            cop: part.cop,
            power_max: part.power_max,
            used: Energy::from_kwh(buffers.shares[index] * step.power_kwh).unwrap_or(Energy::ZERO),
            temperature: temperature.unwrap_or_else(|| celsius(level / signed)),
            temperature_min: least,
            temperature_max: most,
            marginal_value: price(buffers.values[index].money).unwrap_or(Price::ZERO),
            marginal_degree_hours: buffers.values[index].degree_hours,
        }
    };
    steps.enumerate().map(slot).collect()
}

/// Prices of a degree-hour for the bound of a unit that is on or off, as multiples of the price of heat
/// that makes a slot a degree warmer. Large ones suit bands that are held, small ones others.
const DEGREE_HOUR_PRICES: [f64; 4] = [100.0, 10.0, 1.0, 0.0];

/// Certificate of the slots. `price` is that of a degree-hour for a unit that modulates.
fn certify_plan(
    slots: &[HeatSlot],
    (layout, problem): (&HeatLayout, &HeatProblem),
    price: f64,
    least_times: Option<&LeastTimes>,
) -> HeatCertificate {
    let request = problem.request();
    let unit = request.on_off.zip(least_times);
    let evidence = HeatEvidence {
        store: request.store,
        mode: request.mode,
        temperature_start: request.temperature,
        end_value: request.end_value,
        degree_hour_price: price,
        on_off: unit.map(|(unit, times)| OnOffEvidence { unit, cells: Cells::count(times) }),
    };
    let certify = |price: f64| {
        let evidence = HeatEvidence { degree_hour_price: price, ..evidence };
        certify(slots, evidence).expect("a plan keeps its own limits")
    };
    if evidence.on_off.is_none() {
        return certify(price);
    }
    let heat_price = heat_price(&layout.programme);
    let [most, less @ ..] = DEGREE_HOUR_PRICES.map(|times| price + times * heat_price);
    let first = certify(most);
    // The bound of a plan within the band is the larger, the more a degree-hour costs.
    if first.degree_hours <= 0.0 {
        return first;
    }
    less.into_iter().map(certify).fold(
        first,
        |best, next| {
            if next.bound > best.bound { next } else { best }
        },
    )
}

/// Highest price of the heat that makes the store one degree warmer, for each hour of a slot.
fn heat_price(programme: &ThermalProgramme) -> f64 {
    let usable = programme.steps.iter().filter(|step| step.power_kwh > 0.0);
    let price = |step: &ThermalStep| {
        step.price.abs() / step.stored_per_kwh * programme.kwh_per_k / step.hours
    };
    usable.map(price).filter(|price| price.is_finite()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use chrono_tz::Tz;
    use proptest::prelude::*;

    use super::*;
    use crate::plan::Stated;
    use crate::plan::charge::request::PowerLimit;
    use crate::plan::evaluation::{ConnectionFacts, evaluate_heat};
    use crate::plan::heat::baseline::emissions;
    use crate::plan::heat::on_off::OnOff;
    use crate::plan::heat::request::tests::{hour, room};
    use crate::plan::heat::request::{ComfortBand, HeatGain, HeatRequest, OutdoorPeriod, SetBack};
    use crate::plan::heat::verify::{StatedDegreeHours, verify};
    use crate::plan::switching::request::DeviceState;
    use crate::prices::curve::tests::curve_of;
    use crate::time::hour_minute::HourMinute;
    use crate::units::{Money, celsius, kw, kw_per_k, kwh_per_k, per_kwh};

    fn plan(cents: &[i32], change: impl FnOnce(&mut HeatRequest)) -> HeatPlan {
        let mut request = room(cents.len() as i64);
        change(&mut request);
        plan_heat(&curve_of(60, cents), &HeatProblem::new(request).unwrap())
    }

    /// Electrical energy of each slot in Wh.
    fn used(plan: &HeatPlan) -> Vec<i64> {
        plan.slots.iter().map(|slot| (slot.used.as_kwh() * 1e3).round() as i64).collect()
    }

    #[test]
    fn a_flat_price_holds_the_lower_edge() {
        let plan = plan(&[20; 4], |_| ());
        // 15 degrees above the outside lose 3 kW, which is 1 kW of electricity at COP 3.
        assert_eq!(used(&plan), [1000; 4]);
        assert!(plan.certificate.is_proved());
        assert!(plan.savings().as_amount().abs() < 1e-9);
        assert_eq!(plan.intervals.len(), 1);
    }

    #[test]
    fn a_band_that_is_just_held_has_no_degree_hours_of_rounding() {
        // 1 kW at COP 3 is the loss at 20 °C; sums of energies round to 1e-14 °C below.
        for hours in [3, 7, 24] {
            let plan = plan(&vec![20; hours], |request| request.power_max = kw(1.0));
            assert!(plan.discomfort.total() <= 0.0, "{:?}", plan.discomfort);
            assert!(plan.certificate.is_proved() && plan.certificate.degree_hours <= 0.0);
        }
    }

    #[test]
    fn heat_is_bought_before_a_dear_hour() {
        let plan = plan(&[10, 40, 40, 10], |_| ());
        assert_eq!(used(&plan), [3000, 0, 115, 1000]);
        assert!(plan.certificate.is_proved() && plan.savings().as_amount() > 0.0);
    }

    #[test]
    fn a_cold_room_is_heated_at_full_power() {
        let plan = plan(&[10, 40, 40, 10], |request| request.temperature = celsius(17.0));
        assert_eq!(used(&plan)[..2], [3000, 3000]);
        assert!(plan.discomfort.below > 0.0);
        assert!(plan.certificate.is_proved(), "{:?}", plan.certificate);
    }

    #[test]
    fn a_room_that_the_sun_overheats_is_not_heated() {
        let plan = plan(&[-10; 4], |request| {
            request.gains.push(HeatGain { start: hour(0), end: hour(4), power: kw(40.0) });
        });
        assert_eq!(used(&plan), [0; 4]);
        assert!(plan.discomfort.above > 0.0 && plan.certificate.is_proved());
    }

    #[test]
    fn cooling_is_heating_with_other_signs() {
        let plan = plan(&[10, 40, 40, 10], |request| {
            request.mode = HeatMode::Cool;
            request.temperature = celsius(23.0);
            request.outdoor[0].temperature = celsius(38.0);
        });
        assert_eq!(used(&plan), [3000, 0, 115, 1000]);
        assert!(plan.slots[0].temperature < celsius(23.0) && plan.certificate.is_proved());
    }

    #[test]
    fn a_negative_price_heats_to_the_upper_edge() {
        let plan = plan(&[-10; 12], |_| ());
        assert!((plan.slots[11].temperature - celsius(23.0)).as_celsius().abs() < 1e-12);
        assert!(plan.certificate.is_proved());
    }

    #[test]
    fn an_empty_horizon_has_an_empty_plan() {
        let plan = plan(&[10], |request| request.until = Some(request.now));
        assert_eq!((plan.slots.len(), plan.cost), (0, Money::ZERO));
        assert!(plan.certificate.is_proved());
    }

    #[test]
    fn the_store_may_lose_its_heat_many_times_over() {
        let cents: Vec<i32> = (0..1000).map(|hour| 10 + hour % 7).collect();
        let plan = plan(&cents, |request| request.store.loss = kw_per_k(5.0));
        assert!(plan.certificate.is_proved(), "{:?}", plan.certificate);
    }

    #[test]
    fn the_temperature_between_slots_follows_the_exponential() {
        let plan = plan(&[20, 20], |request| request.power_max = kw(0.0));
        let half = plan.temperature_at(hour(0) + chrono::TimeDelta::minutes(30)).as_celsius();
        assert!((half - (5.0 + 15.0 * (-0.02_f64).exp())).abs() < 1e-12);
        assert_eq!(plan.temperature_at(hour(5)), plan.slots[1].temperature);
    }

    #[test]
    fn at_its_own_prices_a_plan_costs_what_it_cost() {
        let curve = curve_of(60, &[10, 40, 20]);
        let plan = plan(&[10, 40, 20], |request| request.end_value = per_kwh(0.01));
        let facts = ConnectionFacts::new(&curve);
        let found = evaluate_heat(&plan, &facts);
        assert!((found.cost() - plan.cost).as_amount().abs() < 1e-12);
        assert!((found.baseline.total() - plan.baseline.cost).as_amount().abs() < 1e-12);
    }

    proptest! {
        /// At a price of a degree-hour from which plans no longer change, the plan of least
        /// `cost + price·degree-hours` is as good as the one with degree-hours first, and at a lower
        /// price it is not worse than that one.
        #[test]
        #[cfg(feature = "lp")]
        fn a_price_of_degree_hours_orders_them(
            problem in problem(0.2),
            cents in prop::collection::vec(-20..60_i32, 1..24),
            part in 0.0..2.0_f64,
        ) {
            let (prices, problem) = (curve_of(60, &cents), covered(problem, 60));
            let layout = HeatLayout::new(&prices, &problem);
            let programme = &layout.programme;
            let mut buffers = HeatBuffers::new();
            buffers.solve(programme);
            let first = sums(programme, &buffers);
            let price = degree_hour_price(programme, &buffers).max(1e-3);
            for price in [price * 1.001, price * part] {
                buffers.solve_at_price(programme, price);
                let found = sums(programme, &buffers);
                let weighted = |(cost, outside): (f64, f64)| cost + price * outside;
                let scale = first.0.abs() + price * first.1 + 1.0;
                prop_assert!(weighted(found) <= weighted(first) + 1e-9 * scale, "{found:?} {first:?}");
                prop_assert!(found.1 >= first.1 - 1e-9 * (1.0 + first.1), "{found:?} {first:?}");
            }
            buffers.solve_at_price(programme, price * 1.001);
            let outside = sums(programme, &buffers).1 - first.1;
            prop_assert!(outside <= 1e-6 * (1.0 + first.1), "{outside} °C·h more");
        }
    }

    /// Cost and degree-hours of the solution in `buffers`.
    #[cfg(feature = "lp")]
    fn sums(programme: &ThermalProgramme, buffers: &HeatBuffers) -> (f64, f64) {
        let (mut level, mut cost, mut outside) = (programme.stored_kwh, 0.0, 0.0);
        for (step, share) in programme.steps.iter().zip(&buffers.shares) {
            level = step.after(level, share * step.power_kwh);
            cost += step.price * share * step.power_kwh;
            outside += step.hours / programme.kwh_per_k
                * (step.low_kwh - level).max(level - step.high_kwh).max(0.0);
        }
        (cost - programme.end_value * (level - programme.stored_kwh), outside)
    }

    proptest! {
        /// The cost of a plan on prices with emissions is that of its energy and of its kilograms,
        /// and so is the cost of its thermostat.
        #[test]
        fn cost_is_that_of_energy_and_emissions(
            problem in problem(0.5),
            cents in prop::collection::vec(-20..60_i32, 1..24),
            grams in prop::collection::vec(0..100_i32, 48),
            per_kg in 0.0..2.0_f64,
        ) {
            let (prices, intensity) = (curve_of(60, &cents), curve_of(30, &grams));
            let summed = prices.plus_emissions(&intensity, per_kg).unwrap();
            let plan = plan_heat(&summed, &covered(problem, 60));
            let (kg, baseline_kg) = emissions(&plan, &intensity);
            let facts = ConnectionFacts::new(&prices);
            let energy = evaluate_heat(&plan, &facts);
            let rest = (plan.cost - energy.cost()).as_amount() - per_kg * kg;
            prop_assert!(rest.abs() < 1e-6, "{rest}");
            let held = plan.baseline.cost - energy.baseline.total();
            let rest = held.as_amount() - per_kg * baseline_kg;
            prop_assert!(rest.abs() < 1e-6, "{rest}");
        }
    }

    prop_compose! {
        /// Room or tank with everything that a request can have.
        /// `rate_max` is the fastest loss, as a share of the stored energy per hour.
        fn problem(rate_max: f64)(
            (capacity, rate) in (0.05..20.0_f64, prop_oneof![1 => Just(0.0), 4 => 0.002..rate_max]),
            (start, low, width) in (10.0..28.0_f64, 15.0..22.0_f64, 0.0..4.0_f64),
            (power, cops) in (0.0..8.0_f64, (1.0..3.0_f64, 3.0..5.0_f64)),
            outdoor in prop::collection::vec(-15.0..32.0_f64, 24),
            gains in prop::collection::vec((0..22_i64, 1..6_i64, -3.0..4.0_f64), 0..4),
            limits in prop::collection::vec((0..22_i64, 1..6_i64, 0.0..4.0_f64), 0..3),
            (own, drop) in (prop::option::of((0..24_u16, 1..23_u16)), -5.0..5.0_f64),
            end_value in prop_oneof![2 => Just(0.0), 1 => -0.05..0.3_f64],
            cools in any::<bool>(),
        ) -> HeatProblem {
            let mut request = room(24);
            request.mode = if cools { HeatMode::Cool } else { HeatMode::Heat };
            request.store.capacity = kwh_per_k(capacity);
            request.store.loss = kw_per_k(rate * capacity);
            request.temperature = celsius(start);
            request.comfort = ComfortBand { min: celsius(low), max: celsius(low + width) };
            request.power_max = kw(power);
            request.cop = [(-7.0, cops.0), (12.0, cops.1)]
                .map(|(outdoor, cop)| crate::plan::heat::CopPoint { outdoor: celsius(outdoor), cop })
                .to_vec();
            request.outdoor = (0..24).zip(outdoor).map(|(at, value)| OutdoorPeriod {
                start: hour(at), end: hour(at + 1), temperature: celsius(value),
            }).collect();
            request.gains = gains.iter().map(|&(at, hours, power)| HeatGain {
                start: hour(at), end: hour(at + hours), power: kw(power),
            }).collect();
            request.power_limits = limits.iter().map(|&(at, hours, power)| PowerLimit {
                start: hour(at), end: hour(at + hours), power_max: kw(power),
            }).collect();
            request.set_backs = own.map(|(from, hours)| SetBack {
                from: HourMinute::parse(&format!("{from:02}:00")).unwrap(),
                to: HourMinute::parse(&format!("{:02}:00", (from + hours) % 24)).unwrap(),
                band: ComfortBand { min: celsius(low + drop), max: celsius(low + drop + width) },
            }).into_iter().collect();
            request.time_zone = Tz::Europe__Berlin;
            request.end_value = per_kwh(end_value);
            HeatProblem::new(request).unwrap()
        }
    }

    /// Statements of the certificate that do not hold when they are computed in another way.
    fn failed_checks(plan: &HeatPlan) -> Vec<String> {
        let certificate = &plan.certificate;
        let degree_hours = StatedDegreeHours {
            degree_hours: certificate.degree_hours,
            bound: certificate.degree_hours_bound,
        };
        let stated = Stated {
            cost: certificate.cost.as_amount(),
            bound: certificate.bound.as_amount(),
            gap: certificate.gap().as_amount(),
            is_proved: certificate.is_proved(),
        };
        let checks = verify(&plan.slots, &certificate.evidence, degree_hours, stated);
        checks.into_iter().filter(|check| !check.holds()).map(|check| check.line).collect()
    }

    #[test]
    fn changed_statements_are_named() {
        let failing = |change: fn(&mut HeatPlan)| {
            let mut plan = plan(&[10, 40, 20], |request| request.temperature = celsius(18.0));
            change(&mut plan);
            failed_checks(&plan)
        };
        assert_eq!(failing(|_| ()), [""; 0]);
        let cost = failing(|plan| plan.certificate.cost = Money::from_amount(9.0).unwrap());
        assert_eq!(cost, ["cost"]);
        let bound = failing(|plan| plan.certificate.degree_hours_bound -= 1.0);
        assert!(bound.contains(&"degree_hours_bound".to_owned()), "{bound:?}");
        let slot =
            |change: fn(&mut HeatSlot)| move |plan: &mut HeatPlan| change(&mut plan.slots[0]);
        let failing = |change: &dyn Fn(&mut HeatPlan)| {
            let mut plan = plan(&[10, 40, 20], |_| ());
            change(&mut plan);
            failed_checks(&plan).first().cloned().unwrap_or_default()
        };
        assert_eq!(
            failing(&slot(|slot| slot.used = Energy::from_kwh(9.0).unwrap())),
            "slots[0].power"
        );
        assert_eq!(failing(&slot(|slot| slot.price = None)), "slots[0].price");
        assert_eq!(
            failing(&slot(|slot| slot.temperature = celsius(9.0))),
            "slots[0].temperature_celsius"
        );
        assert_eq!(failing(&|plan| plan.slots.swap(0, 1)), "order of slots");
    }

    /// Least times in minutes.
    fn least_times(on_min: i64, off_min: i64) -> OnOff {
        let minutes = chrono::TimeDelta::minutes;
        OnOff { on_min: minutes(on_min), off_min: minutes(off_min), state: DeviceState::Off }
    }

    #[test]
    fn a_unit_that_is_on_or_off_runs_for_whole_slots() {
        let plan = plan(&[10, 40, 40, 10, 40], |request| {
            request.temperature = celsius(20.3);
            request.on_off = Some(least_times(0, 0));
        });
        assert_eq!(used(&plan), [3000, 0, 0, 3000, 0]);
        assert!(plan.discomfort.total() <= 0.0);
        assert_eq!(failed_checks(&plan), [""; 0]);
        // The room is warmer at the end than it must be, and so few schedules are all searched.
        assert!(plan.certificate.is_proved(), "{:?}", plan.certificate);
        assert_eq!(plan.intervals.len(), 2);
    }

    #[test]
    fn least_times_make_runs_and_pauses_longer() {
        let cents = [10, 40, 10, 40, 10, 40, 10, 40];
        let run = |on_min, off_min| {
            let plan = plan(&cents, |request| {
                request.on_off = Some(least_times(on_min, off_min));
                (request.temperature, request.power_max) = (celsius(20.3), kw(2.0));
            });
            assert_eq!(failed_checks(&plan), [""; 0]);
            used(&plan)
        };
        let free = [2000, 0, 2000, 0, 2000, 0, 2000, 0];
        assert_eq!(run(0, 0), free);
        assert_eq!(run(60, 60), free);
        assert_ne!(run(120, 0), free);
        assert_ne!(run(0, 120), free);
    }

    #[test]
    fn a_limit_below_its_power_turns_a_unit_off() {
        let plan = plan(&[10; 4], |request| {
            request.on_off = Some(least_times(120, 0));
            let (start, end) = (hour(1), hour(2));
            request.power_limits.push(PowerLimit { start, end, power_max: kw(2.0) });
        });
        // A run of two hours fits only after the limit.
        assert_eq!(used(&plan)[..2], [0, 0]);
        assert!(plan.slots[1].power_max == Power::ZERO && plan.discomfort.below > 0.0);
        assert_eq!(failed_checks(&plan), [""; 0]);
    }

    #[test]
    fn a_state_from_before_the_plan_lasts() {
        let ago = |minutes| hour(0) - chrono::TimeDelta::minutes(minutes);
        let run = |state| {
            let plan = plan(&[40, 40, 10, 10], |request| {
                request.temperature = celsius(22.0);
                request.on_off = Some(OnOff { state, ..least_times(90, 90) });
            });
            assert_eq!(failed_checks(&plan), [""; 0]);
            used(&plan)
        };
        assert_eq!(run(DeviceState::RunningSince(ago(10)))[..2], [3000, 3000]);
        assert_eq!(run(DeviceState::RunningSince(ago(40)))[..2], [3000, 0]);
        assert_eq!(run(DeviceState::Off)[..2], [0, 0]);
        let cold = |state| {
            let plan = plan(&[10; 4], |request| {
                request.temperature = celsius(18.0);
                request.on_off = Some(OnOff { state, ..least_times(0, 90) });
            });
            used(&plan)
        };
        assert_eq!(cold(DeviceState::StoppedSince(ago(10)))[..3], [0, 0, 3000]);
    }

    /// In the night in which clocks go back, the hour from 02:00 happens twice, with its set-back.
    /// Least times are lengths: an hour on does not last for two.
    #[test]
    fn clocks_that_go_back_double_a_set_back_but_no_least_time() {
        let start: chrono::DateTime<chrono::Utc> = "2026-10-24T22:00:00Z".parse().unwrap();
        let minutes = chrono::TimeDelta::minutes;
        let slots: Vec<crate::prices::curve::Slot> = (0..24)
            .map(|quarter| crate::prices::curve::Slot {
                start: start + minutes(15 * quarter),
                end: start + minutes(15 * quarter + 15),
                price: per_kwh(0.1),
            })
            .collect();
        let mut request = room(6);
        (request.now, request.until) = (start, None);
        (request.outdoor[0].start, request.outdoor[0].end) = (start, start + minutes(360));
        request.time_zone = Tz::Europe__Berlin;
        request.set_backs.push(SetBack {
            from: HourMinute::parse("02:00").unwrap(),
            to: HourMinute::parse("03:00").unwrap(),
            band: ComfortBand { min: celsius(19.0), max: celsius(23.0) },
        });
        request.on_off = Some(least_times(60, 60));
        let curve = PriceCurve::new(&slots).unwrap();
        let plan = plan_heat(&curve, &HeatProblem::new(request).unwrap());
        // 02:00 is at 00:00 and at 01:00 UTC, slots 8 to 15.
        let lows: Vec<bool> =
            plan.slots.iter().map(|slot| slot.temperature_min < celsius(20.0)).collect();
        assert_eq!(lows.iter().position(|&is_low| is_low), Some(8));
        assert_eq!(lows.iter().filter(|&&is_low| is_low).count(), 7);
        assert_eq!(failed_checks(&plan), [""; 0]);
        let lengths = plan.intervals.iter().map(|run| (run.end - run.start).num_minutes());
        assert!(lengths.clone().count() > 0 && lengths.clone().all(|length| length >= 60));
        assert!(plan.discomfort.total() <= plan.baseline.discomfort.total());
    }

    #[test]
    fn a_broken_least_time_is_named() {
        let mut plan = plan(&[10, 40, 40, 10], |request| {
            request.temperature = celsius(20.3);
            request.on_off = Some(least_times(0, 0));
        });
        assert_eq!(used(&plan), [3000, 0, 0, 3000]);
        let rules = plan.certificate.evidence.on_off.as_mut().unwrap();
        rules.unit.on_min = chrono::TimeDelta::minutes(90);
        assert!(failed_checks(&plan).contains(&"slots[1].on_min_minutes".to_owned()));
        let refused = certify(&plan.slots, plan.certificate.evidence).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "slot 1 is neither on nor off, or its unit may not yet switch"
        );
        plan.slots[0].used = Energy::from_kwh(1.5).unwrap();
        assert!(failed_checks(&plan).contains(&"slots[0].on_off".to_owned()));
    }

    /// Problem that ends with the prices, if these are for the hours of its outdoor temperatures.
    fn covered(problem: HeatProblem, minutes: i64) -> HeatProblem {
        if minutes < 60 {
            return problem;
        }
        let request = HeatRequest { until: None, ..problem.request().clone() };
        HeatProblem::new(request).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3_000))]

        /// Every plan proves itself, and no thermostat has fewer degree-hours, or a lower cost with
        /// all degree-hours at their price.
        #[test]
        fn every_plan_proves_itself(
            problem in problem(0.5),
            cents in prop::collection::vec(-30..60_i32, 1..96),
            minutes in prop::sample::select(vec![15_i64, 60]),
        ) {
            let problem = covered(problem, minutes);
            let plan = plan_heat(&curve_of(minutes, &cents), &problem);
            prop_assert!(plan.certificate.is_proved(), "{:?}", plan.certificate);
            let failed = failed_checks(&plan);
            prop_assert!(failed.is_empty(), "{failed:?}");
            let (own, held) = (plan.discomfort.total(), plan.baseline.discomfort.total());
            prop_assert!(own <= held + 1e-9 * held.max(1.0), "{own} {held}");
            let weigh = |cost: Money, degree_hours: f64| {
                cost.as_amount() + plan.certificate.evidence.degree_hour_price * degree_hours
            };
            let (own, held) = (weigh(plan.cost, own), weigh(plan.baseline.cost, held));
            prop_assert!(own <= held + 1e-9 * held.abs().max(1.0), "{own} {held}");
            let text = serde_json::to_string(&plan).unwrap();
            prop_assert_eq!(serde_json::from_str::<HeatPlan>(&text).unwrap(), plan);
        }

        /// A store may lose all of its heat within minutes. Then degree-hours that no number resolves
        /// come before money, so that only they are proved; the certificate states the gap.
        #[test]
        fn any_loss_has_the_least_degree_hours(
            problem in problem(60.0),
            cents in prop::collection::vec(-30..60_i32, 1..96),
            minutes in prop::sample::select(vec![15_i64, 60]),
        ) {
            let plan = plan_heat(&curve_of(minutes, &cents), &covered(problem, minutes));
            let certificate = plan.certificate;
            let scale = certificate.degree_hours.max(1.0);
            prop_assert!(certificate.degree_hours_gap().abs() <= 1e-9 * scale, "{certificate:?}");
            let scale = certificate.evidence.degree_hour_price * certificate.degree_hours;
            prop_assert!(certificate.gap().as_amount() >= -1e-9 * scale.max(1.0), "{certificate:?}");
        }
    }
    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        /// A unit that is on or off keeps its least times, is no worse than a thermostat, and states
        /// a bound that its cost does not undercut.
        #[test]
        fn every_schedule_keeps_its_rules(
            problem in problem(0.5),
            cents in prop::collection::vec(-30..60_i32, 1..32),
            minutes in prop::sample::select(vec![15_i64, 60]),
            (on_min, off_min) in (0..150_i64, 0..150_i64),
            state in prop::option::of((any::<bool>(), 0..180_i64)),
        ) {
            let mut request = covered(problem, minutes).request().clone();
            let state = state.map_or(DeviceState::Off, |(is_on, ago)| {
                let since = hour(0) - chrono::TimeDelta::minutes(ago);
                if is_on {
                    DeviceState::RunningSince(since)
                } else {
                    DeviceState::StoppedSince(since)
                }
            });
            request.on_off = Some(OnOff { state, ..least_times(on_min, off_min) });
            let plan = plan_heat(&curve_of(minutes, &cents), &HeatProblem::new(request).unwrap());
            let failed = failed_checks(&plan);
            prop_assert!(failed.is_empty(), "{failed:?}");
            let certificate = &plan.certificate;
            let scale = certificate.cost.as_amount().abs().max(1.0)
                + certificate.evidence.degree_hour_price * certificate.degree_hours;
            prop_assert!(certificate.gap().as_amount() >= -1e-9 * scale, "{certificate:?}");
            prop_assert!(certificate.degree_hours_gap() >= -1e-9 * certificate.degree_hours.max(1.0));
            let (own, held) = (plan.discomfort.total(), plan.baseline.discomfort.total());
            prop_assert!(own <= held + 1e-9 * held.max(1.0), "{own} {held}");
            let text = serde_json::to_string(&plan).unwrap();
            prop_assert_eq!(serde_json::from_str::<HeatPlan>(&text).unwrap(), plan);
        }
    }
}

//! Energy of a component by the rates that hold, period by period.
//!
//! Of a period, the first rate counts whose calendar holds, that has hours of the day left, and
//! whose rate of another component holds, too:
//!
//! ```text
//! r(t) = first r with  when_r(t)  and  used_r(day(t)) + h <= H_r  and  r'(t) = along_r
//! used_r(d) = h · #{t in day d: e_t > 0, r(t) = r, t counted so far}
//! ```
//!
//! `h` is the length of a period. A day begins at a time of the clocks that the rate states; on a
//! day of 25 hours the repeated hour belongs to the day that has begun.
use std::collections::BTreeMap;

use chrono::{NaiveDate, TimeDelta};

use crate::bill::condition::TIME_STEP_MINUTES;
use crate::bill::demand::Calendar;
use crate::bill::error::BillError;
use crate::bill::file::Direction;
use crate::bill::load::{MINUTE, Metered, MeteredLoad};
use crate::bill::tariff::{BillingTariff, CountedEnergy, DailyHours, EnergyComponent};
use crate::time::civil::{instant_of, local_of};
use crate::time::instant::{instant_at, micros_of};

/// Energy of a component in a month.
#[derive(Debug, Default)]
pub(crate) struct EnergyByRate {
    /// Energy in milliwatt-hours of each rate that held in the month.
    pub(crate) sums: Vec<Option<i128>>,
    /// Rate of each period with energy, by its start; empty if no rate asks for it.
    pub(crate) rates: BTreeMap<i64, usize>,
}

/// Hours of a day that a rate has had.
#[derive(Debug, Clone, Copy, Default)]
struct UsedHours {
    day: NaiveDate,
    micros: i64,
}

/// Load and clocks of a month.
#[derive(Clone, Copy)]
pub(crate) struct EnergyUse<'a> {
    pub(crate) load: &'a MeteredLoad,
    pub(crate) calendar: Calendar<'a>,
    /// First instant from which hours of use are counted.
    pub(crate) counted_from: i64,
    /// First instant of the month, and first one after it.
    pub(crate) span: (i64, i64),
    /// True if another rate holds along with one of the component.
    pub(crate) keeps_rates: bool,
}

/// First instant from which hours of use matter in a month that starts at `month_start`: the
/// start of the earliest day that reaches into the month.
pub(crate) fn first_counted(tariff: &BillingTariff, month_start: i64) -> i64 {
    let zone = tariff.time_zone();
    let midnight = local_of(instant_at(month_start), zone);
    let rates = tariff.energies().flat_map(|energy| &energy.rates);
    let hours = rates.filter_map(|rate| rate.daily_hours);
    let starts = hours.filter(|hours| hours.from > 0).map(|hours| {
        let start = midnight + TimeDelta::minutes(i64::from(hours.from)) - TimeDelta::days(1);
        micros_of(instant_of(start, zone))
    });
    starts.min().unwrap_or(month_start).min(month_start)
}

impl EnergyUse<'_> {
    /// Sums the energy of a component by its rates. `above` are the components before it.
    pub(crate) fn sum_by_rate(
        &self,
        component: &str,
        energy: &EnergyComponent,
        above: &[EnergyByRate],
    ) -> Result<EnergyByRate, BillError> {
        let length = i64::from(self.load.period_minutes()) * MINUTE;
        let step = i64::from(TIME_STEP_MINUTES) * MINUTE;
        let mut found = EnergyByRate { sums: vec![None; energy.rates.len()], ..Default::default() };
        let mut used = vec![UsedHours::default(); energy.rates.len()];
        for (start, metered) in self.load.within(self.counted_from, self.span.1) {
            for (used, rate) in used.iter_mut().zip(&energy.rates) {
                if let Some(hours) = rate.daily_hours {
                    used.begin_day(self.day_of_rate(start, hours));
                }
            }
            let holding = |at| self.rate_holding_at(energy, at, start, &used, above);
            let held = holding(start);
            let day_begins = |at| {
                let days = energy.rates.iter().zip(&used);
                days.filter_map(|(rate, used)| Some((rate.daily_hours?, used)))
                    .any(|(hours, used)| self.day_of_rate(at, hours) > used.day)
            };
            // Rates change at whole quarter-hours on the clocks, and so of UTC.
            let mut cut = start - start.rem_euclid(step) + step;
            while cut < start + length {
                if holding(cut) != held || day_begins(cut) {
                    return Err(BillError::RateChangesWithin {
                        component: component.to_owned(),
                        start: instant_at(start),
                        period_minutes: self.load.period_minutes(),
                    });
                }
                cut += step;
            }
            let Some(held) = held else { continue };
            let counted = self.counted_energy(energy, start, metered);
            if counted > 0 {
                used[held].micros += length;
                if self.keeps_rates {
                    found.rates.insert(start, held);
                }
            }
            if start >= self.span.0 {
                let sum = &mut found.sums[held];
                *sum = Some(sum.unwrap_or(0) + i128::from(counted));
            }
        }
        Ok(found)
    }

    /// Rate that holds at an instant of the period that starts at `start`.
    fn rate_holding_at(
        &self,
        energy: &EnergyComponent,
        at: i64,
        start: i64,
        used: &[UsedHours],
        above: &[EnergyByRate],
    ) -> Option<usize> {
        let clock = self.calendar.clock(at);
        let length = i64::from(self.load.period_minutes()) * MINUTE;
        energy.rates.iter().zip(used).position(|(rate, used)| {
            let has_hours = rate
                .daily_hours
                .is_none_or(|hours| used.micros + length <= i64::from(hours.hours) * 60 * MINUTE);
            let goes_along = rate
                .along_with
                .is_none_or(|(place, other)| above[place].rates.get(&start) == Some(&other));
            has_hours && goes_along && rate.when.holds(clock)
        })
    }

    /// Energy of a period that the component counts, in milliwatt-hours.
    fn counted_energy(&self, energy: &EnergyComponent, start: i64, metered: Metered) -> i64 {
        let whole = match energy.direction {
            Direction::Import => metered.import,
            Direction::Export => metered.export,
        };
        let of_devices = energy.counted.devices().iter();
        let of_devices: i64 = of_devices.map(|name| self.load.device_energy(name, start)).sum();
        match energy.counted {
            CountedEnergy::All => whole,
            CountedEnergy::Device(_) => of_devices,
            CountedEnergy::Without(_) => whole - of_devices,
        }
    }

    /// Date of the day of a rate to which an instant belongs.
    fn day_of_rate(&self, at: i64, hours: DailyHours) -> NaiveDate {
        let local = local_of(instant_at(at), self.calendar.time_zone);
        (local - TimeDelta::minutes(i64::from(hours.from))).date()
    }
}

impl UsedHours {
    /// Forgets the hours of the day before. Clocks that are set back do not begin it again.
    fn begin_day(&mut self, day: NaiveDate) {
        if day > self.day {
            *self = Self { day, micros: 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::Timelike;
    use chrono_tz::Europe::London;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::bill::invoice::{Bill, Contract, bill_month};
    use crate::bill::load::{EnergyPeriod, Reading};
    use crate::bill::month::Month;
    use crate::units::kwh;

    /// A car with six cheap hours a day from noon on, and a house that is cheap at night and
    /// wherever the car charges cheaply.
    fn two_meters() -> serde_json::Value {
        let rate = |name: &str, price: &str| json!({"name": name, "price_per_kwh": price});
        let smart = json!({
            "name": "smart", "price_per_kwh": "0.08", "daily_hours": {"hours": 6, "from": "12:00"},
        });
        let night = json!({
            "name": "night", "price_per_kwh": "0.08", "when": {"times": ["23:30-05:30"]},
        });
        let bonus = json!({
            "name": "bonus", "price_per_kwh": "0.08",
            "along_with": {"component": "car", "rate": "smart"},
        });
        json!([
            {
                "kind": "energy", "id": "car", "category": "energy", "direction": "import",
                "device": "car", "rates": [smart, rate("beyond", "0.30")],
            },
            {
                "kind": "energy", "id": "house", "category": "energy", "direction": "import",
                "without_devices": ["car"], "rates": [night, bonus, rate("day", "0.30")],
            },
        ])
    }

    fn tariff_of(components: &serde_json::Value) -> Result<BillingTariff, String> {
        let file = json!({
            "name": "Test", "operator": "Test", "country": "GB", "currency": "GBP",
            "time_zone": "Europe/London", "valid_from": "2020-01-01", "vat": "included",
            "sources": [{"document": "Test", "url": "https://example.org"}],
            "components": components,
        });
        serde_json::from_value(file).map_err(|error| error.to_string())
    }

    /// Half hours from the noon before a month to its end; house and car in kWh by their number.
    fn load_of_month(month: Month, energies: impl Fn(i64) -> (f64, f64)) -> MeteredLoad {
        let (from, to) = month.span(London);
        let half_hour = 30 * MINUTE;
        let first = from - 24 * half_hour;
        let count = (to - first) / half_hour;
        let start = |number: i64| instant_at(first + number * half_hour);
        let readings = (0..count).map(|number| {
            let (house, car) = energies(number);
            Reading { start: start(number), import: kwh(house + car), export: kwh(0.0) }
        });
        let drawn = (0..count).map(|number| EnergyPeriod {
            start: start(number),
            end: start(number + 1),
            energy: kwh(energies(number).1),
        });
        let readings: Vec<Reading> = readings.collect();
        let drawn: Vec<EnergyPeriod> = drawn.collect();
        MeteredLoad::new(30, &readings).unwrap().with_device("car", &drawn).unwrap()
    }

    fn bill_two_meters(load: &MeteredLoad, month: Month) -> Bill {
        let tariff = tariff_of(&two_meters()).unwrap();
        bill_month(load, &tariff, month, &Contract::default()).unwrap()
    }

    fn line_quantities(bill: &Bill) -> Vec<(&str, String)> {
        bill.lines.iter().map(|line| (&*line.component, line.quantity.to_string())).collect()
    }

    #[test]
    fn six_hours_a_day_are_cheap_and_the_house_goes_along() {
        let january = Month::parse("2026-01").unwrap();
        // The car draws 3 kWh an hour from 14:00 to 22:00 on the first day of January alone, and
        // the house 1 kWh an hour.
        let load = load_of_month(january, |number| {
            let car = if (52..68).contains(&number) { 1.5 } else { 0.0 };
            (0.5, car)
        });
        let bill = bill_two_meters(&load, january);
        let expected = [
            ("car", "18"),
            ("car", "6"),
            // 31 nights of six hours, six hours with the car, and the rest of 744.
            ("house", "186"),
            ("house", "6"),
            ("house", "552"),
        ];
        let expected: Vec<(&str, String)> =
            expected.iter().map(|&(name, quantity)| (name, quantity.to_owned())).collect();
        assert_eq!(line_quantities(&bill), expected);
        let told: Vec<&str> = bill.lines.iter().map(|line| &*line.explanation).collect();
        assert_eq!(
            told[0],
            "18 kWh of \"car\" at the rate \"smart\", for up to 6 hours of use a day from 12:00."
        );
        assert_eq!(
            told[3],
            "6 kWh without \"car\" at the rate \"bonus\", along with \"smart\" of \"car\"."
        );
        assert!(bill.missing.is_empty());
    }

    #[test]
    fn hours_of_the_day_before_the_month_count_and_are_missed_without_readings() {
        let january = Month::parse("2026-01").unwrap();
        // From 20:00 on the last of December to 4:00: four of the six hours are over at midnight.
        let charging = |number| (0.0, if (16..32).contains(&number) { 1.0 } else { 0.0 });
        let whole = load_of_month(january, charging);
        let expected = [("car", "4".to_owned()), ("car", "4".to_owned())];
        assert_eq!(line_quantities(&bill_two_meters(&whole, january))[..2], expected);
        let (from, _) = january.span(London);
        let (midnight, half_hour) = (instant_at(from), TimeDelta::minutes(30));
        let one = |energy| Reading { start: midnight, import: kwh(energy), export: kwh(0.0) };
        let drawn = EnergyPeriod { start: midnight, end: midnight + half_hour, energy: kwh(1.0) };
        let late = MeteredLoad::new(30, &[one(1.0)]).unwrap().with_device("car", &[drawn]).unwrap();
        let noon = midnight - TimeDelta::hours(12);
        assert_eq!(bill_two_meters(&late, january).missing[0].start, noon);
    }

    #[test]
    fn a_device_is_billed_for_energy_from_the_grid_only() {
        let start: chrono::DateTime<chrono::Utc> = "2026-01-05T12:00:00Z".parse().unwrap();
        let reading = Reading { start, import: kwh(2.0), export: kwh(0.0) };
        let drawn = |energy| {
            [EnergyPeriod { start, end: start + TimeDelta::hours(1), energy: kwh(energy) }]
        };
        let load = MeteredLoad::new(60, &[reading]).unwrap();
        // Five of the seven kWh are of the sun.
        let load = load.with_device("car", &drawn(7.0)).unwrap();
        let load = load.with_device("heat pump", &drawn(1.0)).unwrap();
        assert_eq!(load.device_energy("car", micros_of(start)), 2_000_000);
        assert_eq!(load.device_energy("heat pump", micros_of(start)), 0);
        let text = |result: Result<MeteredLoad, _>| match result {
            Ok(_) => String::new(),
            Err(error) => crate::bill::error::LoadError::to_string(&error),
        };
        assert_eq!(
            text(load.clone().with_device("car", &drawn(1.0))),
            "devices[\"car\"] is given twice"
        );
        assert_eq!(
            text(load.clone().with_device("van", &drawn(-1.0))),
            "devices[\"van\"] has -1 kWh from 2026-01-05 12:00:00 UTC; an energy lies in 0 to \
             1000000000 kWh"
        );
        assert_eq!(
            text(load.clone().with_device("van", &[])),
            "devices[\"van\"] has not, and the load has, the period from 2026-01-05 12:00:00 UTC; \
             device and load have the same periods"
        );
        let mut short = drawn(1.0);
        short[0].end = start + TimeDelta::minutes(30);
        assert_eq!(
            text(load.clone().with_device("van", &short)),
            "devices[\"van\"] has a period from 2026-01-05 12:00:00 UTC to 2026-01-05 12:30:00 \
             UTC; those of the load have 60 min"
        );
        let january = Month::parse("2026-01").unwrap();
        let tariff = tariff_of(&two_meters()).unwrap();
        let refusal = |load: &MeteredLoad| {
            bill_month(load, &tariff, january, &Contract::default()).unwrap_err().to_string()
        };
        assert_eq!(
            refusal(&load),
            "devices[\"heat pump\"] is no device of the tariff, which has \"car\""
        );
        let alone = MeteredLoad::new(60, &[reading]).unwrap();
        assert_eq!(
            refusal(&alone),
            "devices[\"car\"] is missing; the tariff has a price for that device"
        );
    }

    #[test]
    fn a_period_is_in_one_day_and_at_one_rate() {
        let mut components = two_meters();
        components[0]["rates"][0]["daily_hours"]["from"] = json!("12:15");
        let tariff = tariff_of(&components).unwrap();
        let january = Month::parse("2026-01").unwrap();
        let load = load_of_month(january, |_| (0.0, 1.0));
        let error = bill_month(&load, &tariff, january, &Contract::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "component \"car\" changes its rate within the 30 min from 2026-01-01 12:00:00 UTC; a \
             load with shorter periods is needed"
        );
    }

    #[test]
    fn faults_are_named_with_field_and_value() {
        let changed = |component: usize, field: &str, value: serde_json::Value| {
            let mut components = two_meters();
            *components[component].pointer_mut(field).unwrap() = value;
            tariff_of(&components).unwrap_err()
        };
        assert_eq!(
            changed(0, "/rates/0/daily_hours/hours", json!(24)),
            "components[0].rates[0].daily_hours.hours is 24; it is 1 to 23"
        );
        assert_eq!(
            changed(0, "/rates/0/daily_hours/from", json!("12:10")),
            "components[0].rates[0].daily_hours.from is \"12:10\"; it is a time in whole \
             quarter-hours, such as 12:00"
        );
        assert_eq!(
            changed(1, "/rates/1/along_with/component", json!("van")),
            "components[1].rates[1].along_with.component is \"van\"; it is the id of a component \
             above"
        );
        assert_eq!(
            changed(1, "/rates/1/along_with/rate", json!("day")),
            "components[1].rates[1].along_with.rate is \"day\"; it is a rate of that component"
        );
        assert_eq!(
            changed(0, "/direction", json!("export")),
            "components[0].direction is export; it is import, because devices are measured by what \
             they draw"
        );
        assert_eq!(
            changed(1, "/without_devices", json!([])),
            "components[1].without_devices is an empty list; it is a list of at least one, or \
             absent"
        );
        assert_eq!(
            changed(0, "/device", json!(" ")),
            "components[0].device is missing: a device has a name"
        );
        let mut both = two_meters();
        both[0]["without_devices"] = json!(["van"]);
        assert_eq!(
            tariff_of(&both).unwrap_err(),
            "components[0].device is \"car\"; it is absent beside without_devices"
        );
        let mut last = two_meters();
        last[0]["rates"].as_array_mut().unwrap().pop();
        assert_eq!(
            tariff_of(&last).unwrap_err(),
            "components[0].rates is missing: the last rate is for all other times"
        );
    }

    /// The rules once more, half hour by half hour, from the clocks of London.
    fn sums_by_hand(load: &MeteredLoad, month: Month) -> [i64; 5] {
        let (from, to) = month.span(London);
        let (mut sums, mut used) = ([0; 5], BTreeMap::<NaiveDate, u32>::new());
        for (start, metered) in load.within(from - 24 * 30 * MINUTE, to) {
            let local = local_of(instant_at(start), London);
            let day = (local - TimeDelta::hours(12)).date();
            let car = load.device_energy("car", start);
            let is_smart = *used.entry(day).or_default() < 12;
            if car > 0 && is_smart {
                *used.entry(day).or_default() += 1;
            }
            if start < from {
                continue;
            }
            let minute = local.hour() * 60 + local.minute();
            let is_night = !(330..1410).contains(&minute);
            sums[usize::from(!is_smart)] += car;
            let house = match (is_night, car > 0 && is_smart) {
                (true, _) => 2,
                (false, true) => 3,
                (false, false) => 4,
            };
            sums[house] += metered.import - car;
        }
        sums
    }

    proptest! {
        /// Among the months are those of both changes of clocks.
        #[test]
        fn energies_are_those_by_hand(number in 0_usize..4, seed in 1_i64..1_000_000, busy in 1_i64..8) {
            let months = ["2026-03", "2026-10", "2026-01", "2026-06"];
            let month = Month::parse(months[number]).unwrap();
            let drawn = |number: i64, salt: i64| {
                let mixed = (number + 7) * seed * 2_654_435_761 % 1_000_003 + salt * 97;
                mixed.rem_euclid(1_000)
            };
            let load = load_of_month(month, |number| {
                let charges = drawn(number / 8, 1) % 8 < busy;
                let car = if charges { drawn(number, 2) as f64 / 100.0 } else { 0.0 };
                (drawn(number, 3) as f64 / 500.0, car)
            });
            let bill = bill_two_meters(&load, month);
            let mut sums = [0.0; 5];
            for line in &bill.lines {
                let names = ["\"smart\",", "\"beyond\"", "\"night\"", "\"bonus\",", "\"day\""];
                let place = names.iter().position(|name| line.explanation.contains(&format!("rate {name}")));
                sums[place.unwrap()] += line.quantity.to_string().parse::<f64>().unwrap();
            }
            for (sum, by_hand) in sums.into_iter().zip(sums_by_hand(&load, month)) {
                prop_assert!((sum * 1e6 - by_hand as f64).abs() < 0.5, "{} {}", sum, by_hand);
            }
        }
    }
}

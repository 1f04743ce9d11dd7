//! Bills computed by hand, laws of bills, and a second implementation of the capacity rules.
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, TimeDelta, Timelike, Utc};
use chrono_tz::Tz;
use proptest::prelude::*;
use rust_decimal::Decimal;
use serde_json::json;

use crate::bill::demand::{Calendar, DemandRule};
use crate::bill::error::{BillError, TariffFileError};
use crate::bill::file::DemandRequest;
use crate::bill::holidays::Holidays;
use crate::bill::invoice::{Bill, Contract, bill_month, bill_months, check_complete};
use crate::bill::library::FILES;
use crate::bill::load::{EarlierPeak, EnergyPeriod, MeteredLoad, Reading};
use crate::bill::month::Month;
use crate::bill::tariff::BillingTariff;
use crate::time::civil::local_of;
use crate::time::instant::instant_at;
use crate::units::{kw, kwh};

fn month(text: &str) -> Month {
    Month::parse(text).unwrap()
}

fn library(name: &str) -> BillingTariff {
    let (_, text) = FILES.iter().find(|(found, _)| *found == name).unwrap();
    serde_json::from_str(text).unwrap()
}

/// A tariff in Oslo with those components.
fn tariff(components: &serde_json::Value) -> Result<BillingTariff, String> {
    let file = json!({
        "name": "Test", "operator": "Test", "country": "NO", "currency": "NOK",
        "time_zone": "Europe/Oslo", "valid_from": "2020-01-01", "vat": "excluded",
        "sources": [{"document": "Test", "url": "https://example.org"}],
        "components": components,
    });
    serde_json::from_value(file).map_err(|error| error.to_string())
}

/// Readings of every period of a month in a zone; `energy` is the import in kWh at a local time.
fn month_of(
    month: Month,
    zone: Tz,
    minutes: u32,
    energy: impl Fn(NaiveDateTime) -> f64,
) -> Vec<Reading> {
    let (from, to) = month.span(zone);
    let step = i64::from(minutes) * 60_000_000;
    let reading = |index| {
        let start = instant_at(from + index * step);
        let import = kwh(energy(local_of(start, zone)));
        Reading { start, import, export: kwh(0.0) }
    };
    (0..(to - from) / step).map(reading).collect()
}

fn billed(readings: &[Reading], minutes: u32, tariff: &BillingTariff, text: &str) -> Bill {
    let mut load = MeteredLoad::new(minutes, readings).unwrap();
    for device in tariff.devices() {
        // Half of what the household draws.
        let drawn = readings.iter().map(|reading| EnergyPeriod {
            start: reading.start,
            end: reading.start + TimeDelta::minutes(i64::from(minutes)),
            energy: kwh(reading.import.as_kwh() / 2.0),
        });
        let drawn: Vec<EnergyPeriod> = drawn.collect();
        load = load.with_device(device, &drawn).unwrap();
    }
    let contract = Contract {
        power_kw: Some(Decimal::from(10)),
        apparent_power_kva: Some(Decimal::from(100)),
        fuse_amps: Some(Decimal::from(25)),
    };
    bill_month(&load, tariff, month(text), &contract).unwrap()
}

/// Component, quantity, unit, rate and amount of each line, and the total.
fn drawn(bill: &Bill) -> Vec<String> {
    let line = |line: &crate::bill::invoice::BillLine| {
        let share = match (line.share.part, line.share.whole) {
            (1, 1) => String::new(),
            (part, whole) => format!(" x {part}/{whole}"),
        };
        let (quantity, unit, rate) = (line.quantity, line.unit, line.rate.normalize());
        format!("{}: {quantity} {unit} x {rate}{share} = {}", line.component, line.amount)
    };
    bill.lines.iter().map(line).chain([format!("total {}", bill.total)]).collect()
}

#[test]
fn a_july_in_norway_with_taxes() {
    // 23 working days of 16 hours by day, and 376 other hours, at 1 kWh each. Four peaks, two of
    // them on one day; the mean of the three that count is 5 kW, which is in the step from 5 kW.
    let peaks = [
        ("2026-07-01T10:00:00", 6.0),
        ("2026-07-01T12:00:00", 5.9),
        ("2026-07-02T23:00:00", 5.0),
        ("2026-07-04T12:00:00", 4.0),
    ];
    let energy = |local: NaiveDateTime| {
        let at = |(text, energy): &(&str, f64)| (text.parse() == Ok(local)).then_some(*energy);
        peaks.iter().find_map(at).unwrap_or(1.0)
    };
    let readings = month_of(month("2026-07"), chrono_tz::Europe::Oslo, 60, energy);
    let bill = billed(&readings, 60, &library("no-elvia-2026-07"), "2026-07");
    assert_eq!(
        drawn(&bill),
        [
            "energy: 377.9 kWh x 0.2915 = 110.16",
            "energy: 383 kWh x 0.1699 = 65.07",
            "capacity: 1 step x 4032 x 1/12 = 336.00",
            "consumption tax: 760.9 kWh x 0.0713 = 54.25",
            "energy fund: 760.9 kWh x 0.01 = 7.61",
            "value-added tax: 573.09 NOK x 25 x 1/100 = 143.27",
            "total 716.36",
        ]
    );
    assert_eq!(
        bill.lines[2].explanation,
        "5 kW: the mean of the 3 highest powers over 60 min on different days (6 kW at 2026-07-01 \
         10:00, 5 kW at 2026-07-02 23:00, 4 kW at 2026-07-04 12:00); the step from 5 kW, 1/12 of \
         the price of a year."
    );
    assert_eq!(
        bill.lines[5].explanation,
        "25 % of energy, capacity, consumption tax, energy fund."
    );
    assert_eq!(bill.missing, []);
}

/// One quarter-hour at noon of the tenth of each month, with those powers in kW.
fn one_peak_a_month(first: &str, powers: &[f64]) -> Vec<Reading> {
    let mut month = month(first);
    let mut readings = Vec::new();
    for power in powers {
        let start = format!("{month}-10T12:00:00Z").parse().unwrap();
        readings.push(Reading { start, import: kwh(power / 4.0), export: kwh(0.0) });
        month = month.next();
    }
    readings
}

#[test]
fn a_december_in_flanders_is_the_mean_of_twelve_months() {
    // January and July are below the floor of 2.5 kW: the sum of the months is 56 kW.
    let powers = [2.0, 3.0, 4.0, 5.0, 6.0, 2.5, 1.0, 8.0, 7.0, 6.0, 5.0, 4.5];
    let readings = one_peak_a_month("2023-01", &powers);
    let bill = billed(&readings, 15, &library("be-flanders-2023"), "2023-12");
    assert_eq!(
        drawn(&bill),
        ["average monthly peak: 4.666667 kW x 40.4 x 1/12 = 15.71", "total 15.71"]
    );
    // All but twelve quarter-hours are missing, and the bill says so: a gap before, between and
    // after the readings, over the twelve months.
    assert_eq!(bill.missing.len(), 13);
    assert_eq!(bill.missing[0].start.to_rfc3339(), "2022-12-31T23:00:00+00:00");
    // In February two months are known; the months before have no reading and take no part.
    let bill = billed(&readings, 15, &library("be-flanders-2023"), "2023-02");
    assert_eq!(drawn(&bill)[0], "average monthly peak: 2.75 kW x 40.4 x 1/12 = 9.26");
    assert_eq!(
        bill.lines[0].explanation,
        "2.75 kW: the mean over 12 months of the highest mean power over 15 min, at least 2.5 kW \
         in each month, without 10 months that are not known (3 kW at 2023-02-10 13:00), 1/12 of \
         the price of a year."
    );
    // Nothing was measured: the floor is due.
    let bill = billed(&[], 15, &library("be-flanders-2023"), "2023-02");
    assert_eq!(drawn(&bill)[0], "average monthly peak: 2.5 kW x 40.4 x 1/12 = 8.42");
    assert!(bill.lines[0].explanation.contains("without a complete measurement"));
}

#[test]
fn a_peak_carried_in_counts_as_its_reading() {
    let powers = [2.0, 3.0, 4.0, 5.0, 6.0, 2.5, 1.0, 8.0, 7.0, 6.0, 5.0, 4.5];
    let readings = one_peak_a_month("2023-01", &powers);
    let flanders = library("be-flanders-2023");
    let whole = billed(&readings, 15, &flanders, "2023-12");
    let peaks: Vec<EarlierPeak> = readings[..11]
        .iter()
        .zip(powers)
        .map(|(reading, power)| EarlierPeak { at: reading.start, power: kw(power) })
        .collect();
    let load = MeteredLoad::new(15, &readings[11..]).unwrap().with_peaks(&peaks).unwrap();
    let carried = bill_month(&load, &flanders, month("2023-12"), &Contract::default()).unwrap();
    assert_eq!(carried.lines, whole.lines);
}

#[test]
fn gaps_that_months_share_are_told_once() {
    let readings = one_peak_a_month("2023-11", &[3.0, 4.0]);
    let load = MeteredLoad::new(15, &readings).unwrap();
    let flanders = library("be-flanders-2023");
    let months = load.months(flanders.time_zone());
    assert_eq!(months, [month("2023-11"), month("2023-12")]);
    let billed = bill_months(&load, &flanders, &months, &Contract::default()).unwrap();
    // Before the first reading, between the two, and after the last one.
    assert_eq!(billed.missing.len(), 3);
    assert_eq!(billed.total, billed.bills[0].total + billed.bills[1].total);
    let refused = check_complete(&load, &flanders, month("2023-12")).unwrap_err().to_string();
    assert!(
        refused.starts_with("the load lacks 2023-11-30 23:00:00 UTC to 2023-12-10"),
        "{refused}"
    );
}

#[test]
fn a_march_in_denmark_has_743_hours() {
    // Low from 0 to 6 without the hour that clocks skip, peak from 17 to 21, high otherwise.
    let readings = month_of(month("2025-03"), chrono_tz::Europe::Copenhagen, 60, |_| 1.0);
    let bill = billed(&readings, 60, &library("dk-n1-2025"), "2025-03");
    assert_eq!(
        drawn(&bill),
        [
            "network tariff C: 185 kWh x 0.1083 = 20.04",
            "network tariff C: 124 kWh x 0.9751 = 120.91",
            "network tariff C: 434 kWh x 0.325 = 141.05",
            "feed-in tariff: 0 kWh x 0.0137 = 0.00",
            "subscription: 1 fee x 400.3 x 1/12 = 33.36",
            "total 315.36",
        ]
    );
}

#[test]
fn a_june_in_california_has_a_baseline() {
    // 10 kWh at the peak of each day, of which 6.5 kWh a day are within the baseline.
    let energy = |local: NaiveDateTime| if local.hour() == 17 { 10.0 } else { 0.0 };
    let readings = month_of(month("2026-06"), chrono_tz::America::Los_Angeles, 60, energy);
    let bill = billed(&readings, 60, &library("us-ca-pge-e-tou-c-2026-03"), "2026-06");
    let lines: Vec<String> =
        drawn(&bill).into_iter().filter(|line| !line.contains(": 0 kWh")).collect();
    assert_eq!(
        lines,
        [
            "generation: 300 kWh x 0.20782 = 62.35",
            "distribution: 300 kWh x 0.20388 = 61.16",
            "transmission, programmes and bonds: 300 kWh x 0.1107 = 33.21",
            "baseline credit: 195 kWh x -0.0814 = -15.87",
            "base services charge: 1 fee x 0.79343 x 30/1 = 23.80",
            "total 164.65",
        ]
    );
    let credit = bill.lines.iter().find(|line| line.component == "baseline credit").unwrap();
    assert_eq!(credit.explanation, "195 of 300 kWh, within the allowance of 195 kWh.");
}

/// Amount of 1000 kWh in one hour that starts at `start`, without fixed lines and credits.
fn per_mwh(tariff: &BillingTariff, start: &str, text: &str) -> String {
    let reading = Reading { start: start.parse().unwrap(), import: kwh(1000.0), export: kwh(0.0) };
    let bill = billed(&[reading], 60, tariff, text);
    let paid = bill.lines.iter().filter(|line| line.unit == "kWh" && line.rate > Decimal::ZERO);
    paid.map(|line| line.amount).sum::<Decimal>().normalize().to_string()
}

#[test]
fn sums_of_components_are_the_published_prices() {
    // Pacific Gas and Electric prints these totals beside the components, in USD per kWh.
    let (summer, winter) = ("2026-06-03T00:00:00Z", "2026-03-04T00:00:00Z");
    let (summer_night, winter_night) = ("2026-06-03T10:00:00Z", "2026-03-04T10:00:00Z");
    for (name, expected) in [
        ("us-ca-pge-e-elec-2026-03", ["552.14", "333.58", "320.63", "284.68"]),
        ("us-ca-pge-ev2-a-2026-03", ["538.09", "225.58", "410.99", "225.58"]),
        ("us-ca-pge-e-tou-c-2026-03", ["522.4", "399.4", "397.57", "367.57"]),
        ("us-ca-pge-e-1-2026-03", ["407.02"; 4]),
    ] {
        let tariff = library(name);
        let found = [
            per_mwh(&tariff, summer, "2026-06"),
            per_mwh(&tariff, summer_night, "2026-06"),
            per_mwh(&tariff, winter, "2026-03"),
            per_mwh(&tariff, winter_night, "2026-03"),
        ];
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn steps_with_tax_are_the_published_ones() {
    // Griug prints both prices of each step, and puts 5.00 kW into the third.
    let expected = [220, 330, 495, 635, 800, 970, 1815, 2665, 3575, 7095];
    let powers = [1.99, 4.99, 5.0, 10.0, 15.0, 20.0, 25.0, 50.0, 75.0, 100.0];
    for (power, expected) in powers.into_iter().zip(expected) {
        let hour = |day: u32| {
            let start = format!("2024-02-{day:02}T12:00:00Z").parse().unwrap();
            Reading { start, import: kwh(power), export: kwh(0.0) }
        };
        let bill = billed(&[5, 6, 7].map(hour), 60, &library("no-griug-2024"), "2024-02");
        let of = |name| bill.lines.iter().filter(move |line| line.component == name);
        let step: Decimal = of("capacity").map(|line| line.amount).sum();
        assert_eq!(step * Decimal::new(125, 2), Decimal::from(expected), "{power} kW");
    }
}

#[test]
fn weekly_maxima_are_weighted_by_their_season() {
    // Weeks of January count in full, the one in July to a quarter, February is billed later.
    let readings = [
        one_hour("2025-07-09T10:00:00Z", 12.0),
        one_hour("2026-01-05T10:00:00Z", 6.0),
        one_hour("2026-01-08T10:00:00Z", 5.0),
        one_hour("2026-01-13T10:00:00Z", 4.0),
        one_hour("2026-02-03T10:00:00Z", 90.0),
    ];
    let bill = billed(&readings, 60, &library("no-fjellnett-2026"), "2026-02");
    // (6 + 4 + 12/4) / 3 kW at 534 a year; 2000/12 base; 90 kWh at 12.90, 7.13 and 1.00 øre.
    assert_eq!(
        drawn(&bill),
        [
            "energy: 90 kWh x 0.129 = 11.61",
            "base: 1 fee x 2000 x 1/12 = 166.67",
            "capacity: 4.333333 kW x 534 x 1/12 = 192.83",
            "consumption tax: 90 kWh x 0.0713 = 6.42",
            "energy fund: 90 kWh x 0.01 = 0.90",
            "value-added tax: 378.43 NOK x 25 x 1/100 = 94.61",
            "total 473.04",
        ]
    );
}

#[test]
fn exports_and_contracts_have_their_lines() {
    let components = json!([
        {"kind": "energy", "id": "export", "category": "energy", "direction": "export",
         "rates": [{"name": "all", "price_per_kwh": "-0.15"}]},
        {"kind": "contracted", "id": "power", "category": "network", "unit": "kw",
         "charge": {"per": "year_by_days", "price": "36.5"}},
        {"kind": "contracted", "id": "fuse", "category": "network", "unit": "ampere",
         "charge": {"per": "month", "at_threshold": "lower",
                    "steps": [{"from": "0", "price": "10"}, {"from": "25", "price": "99"}]}},
    ]);
    let start = "2026-01-05T17:00:00Z".parse().unwrap();
    let reading = Reading { start, import: kwh(1.0), export: kwh(2.5) };
    let bill = billed(&[reading], 60, &tariff(&components).unwrap(), "2026-01");
    assert_eq!(
        drawn(&bill),
        [
            "export: 2.5 kWh x -0.15 = -0.38",
            "power: 10 kW x 36.5 x 31/365 = 31.00",
            "fuse: 1 step x 10 = 10.00",
            "total 40.62",
        ]
    );
    let load = MeteredLoad::new(60, &[reading]).unwrap();
    let tariff = tariff(&components).unwrap();
    let error = bill_month(&load, &tariff, month("2026-01"), &Contract::default()).unwrap_err();
    let expected = "contracted_kw is missing; component \"power\" is priced by it, in kW";
    assert_eq!(error.to_string(), expected);
    let contract = Contract { power_kw: Some(Decimal::from(-3)), ..Contract::default() };
    let error = bill_month(&load, &tariff, month("2026-01"), &contract).unwrap_err();
    assert_eq!(error.to_string(), "contracted_kw is -3 kW; it is zero or more");
    for amps in [-1.0, f64::NAN, 1e30] {
        let error = Contract::from_numbers(None, None, Some(amps)).unwrap_err().to_string();
        assert_eq!(error, format!("fuse_amps is {amps} A; it lies in 0 to 1000000000 A"));
    }
}

/// Import of one hour.
fn one_hour(start: &str, energy: f64) -> Reading {
    Reading { start: start.parse().unwrap(), import: kwh(energy), export: kwh(0.0) }
}

#[test]
fn a_week_over_the_new_year_is_one_week() {
    // 30 December and 2 January lie in the first week of 2026, so the mean is (8 + 3) / 2 kW.
    let components = json!([{
        "kind": "capacity", "id": "power", "category": "network",
        "demand": {"window": "hour", "highest": 2, "one_per": "week", "months": 2,
                   "of_months": "together"},
        "charge": {"per": "month", "price": "1"}
    }]);
    let readings = [
        one_hour("2025-12-30T12:00:00Z", 8.0),
        one_hour("2026-01-02T12:00:00Z", 7.0),
        one_hour("2026-01-14T12:00:00Z", 3.0),
    ];
    let bill = billed(&readings, 60, &tariff(&components).unwrap(), "2026-01");
    assert_eq!(drawn(&bill), ["power: 5.5 kW x 1 = 5.50", "total 5.50"]);
}

#[test]
fn calendars_that_never_count_are_refused() {
    let night =
        json!({"name": "night", "price_per_kwh": "0.1", "when": {"times": ["22:00-06:00"]}});
    let rates = |rates: serde_json::Value| {
        let components = json!([{"kind": "energy", "id": "energy", "category": "energy",
                                 "direction": "import", "rates": rates}]);
        tariff(&components).unwrap_err()
    };
    let all = |name: &str| json!({"name": name, "price_per_kwh": "0.3"});
    assert_eq!(
        rates(json!([all("base"), night, all("rest")])),
        "components[0].rates[0].when is missing: the first that holds counts, so only the last of \
         the list may always hold"
    );
    let day_off = json!({"name": "off", "price_per_kwh": "0.1", "when": {"holidays": "only"}});
    assert_eq!(
        rates(json!([day_off, all("rest")])),
        "holidays is missing: a calendar of the tariff reads them"
    );
    let weights = json!([{
        "kind": "capacity", "id": "power", "category": "network",
        "demand": {"window": "hour", "highest": 1,
                   "weights": [{"factor": "1"}, {"factor": "0", "when": {"months": [7]}}]},
        "charge": {"per": "month", "price": "1"}
    }]);
    let refused = tariff(&weights).unwrap_err();
    assert!(refused.starts_with("components[0].demand.weights[0].when is missing"), "{refused}");
}

#[test]
fn energy_beyond_an_allowance_is_never_negative() {
    let components = json!([{
        "kind": "energy", "id": "tax", "category": "tax", "direction": "import",
        "rates": [{"name": "beyond", "price_per_kwh": "0.5"}],
        "allowance": {"applies": "beyond", "per": "month",
                      "amounts": [{"kwh": "100", "months": [1]}, {"kwh": "400"}]}
    }]);
    let tariff = tariff(&components).unwrap();
    let total = |start: &str, text: &str| {
        billed(&[one_hour(start, 300.0)], 60, &tariff, text).total.to_string()
    };
    assert_eq!(total("2026-01-14T12:00:00Z", "2026-01"), "100.00");
    assert_eq!(total("2026-02-14T12:00:00Z", "2026-02"), "0.00");
}

#[test]
fn halves_are_rounded_as_the_tariff_says() {
    let total = |half: &str, amount: &str| {
        let mut file: serde_json::Value = serde_json::to_value(
            tariff(&json!([{"kind": "fixed", "id": "fee", "category": "fee", "amount": amount,
                           "per": "month"}]))
            .unwrap(),
        )
        .unwrap();
        file["rounding"] = json!({"decimals": 2, "half": half});
        let tariff: BillingTariff = serde_json::from_value(file).unwrap();
        billed(&[], 60, &tariff, "2026-01").total.to_string()
    };
    assert_eq!(total("away_from_zero", "0.125"), "0.13");
    assert_eq!(total("away_from_zero", "-0.125"), "-0.13");
    assert_eq!(total("to_even", "0.125"), "0.12");
    assert_eq!(total("to_even", "0.135"), "0.14");
}

#[test]
fn coarse_readings_are_refused() {
    let refused = |minutes: u32, name: &str, text: &str| {
        let readings = month_of(month(text), chrono_tz::Europe::Berlin, minutes, |_| 1.0);
        let load = MeteredLoad::new(minutes, &readings).unwrap();
        bill_month(&load, &library(name), month(text), &Contract::default()).unwrap_err()
    };
    assert_eq!(
        refused(60, "be-flanders-2023", "2023-05").to_string(),
        "component \"average monthly peak\" measures power over 15 min; the load has periods of \
         60 min, from which that power is not known"
    );
    // From 5:45 on another rate holds.
    assert_eq!(
        refused(60, "de-e-dis-2025", "2025-10").to_string(),
        "component \"network\" changes its rate within the 60 min from 2025-10-01 03:00:00 UTC; a \
         load with shorter periods is needed"
    );
    // Clocks of India are ahead by five and a half hours.
    let mut request = library("gb-octopus-outgoing-2022-10").request().clone();
    request.time_zone = "Asia/Kolkata".into();
    let (load, tariff) = (MeteredLoad::new(60, &[]), BillingTariff::new(request));
    let (load, tariff) = (load.unwrap(), tariff.unwrap());
    let error = bill_month(&load, &tariff, month("2022-12"), &Contract::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the month 2022-12 begins or ends within a period of 60 min of the load; a load with \
         shorter periods is needed"
    );
    let error = refused(15, "de-e-dis-2025", "2026-01");
    assert!(matches!(error, BillError::NotValid { .. }));
    assert_eq!(
        error.to_string(),
        "the month 2026-01 is not within the validity of the tariff, which begins on 2025-04-01 \
         and ends before 2026-01-01"
    );
}

#[track_caller]
fn refused(components: &serde_json::Value, expected: &str) {
    let text = tariff(components).unwrap_err();
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn faults_of_rates_are_named_with_field_and_value() {
    let energy = |rates: serde_json::Value| {
        json!([{"kind": "energy", "id": "e", "category": "energy", "direction": "import",
                "rates": rates}])
    };
    refused(
        &energy(json!([{"name": "a", "price_per_kwh": "1e3"}])),
        "components[0].rates[0].price_per_kwh: \"1e3\" is not a decimal number",
    );
    refused(
        &energy(json!([{"name": "a", "price_per_kwh": "1", "when": {"months": [0]}}])),
        "components[0].rates[0].when.months[0] is 0; it is a month from 1 to 12",
    );
    refused(
        &energy(json!([{"name": "a", "price_per_kwh": "1", "when": {"months": [1]}}])),
        "components[0].rates is missing: the last rate is for all other times",
    );
    refused(&energy(json!([])), "components[0].rates is missing");
    let mut limited = energy(json!([{"name": "a", "price_per_kwh": "1"}]));
    limited[0]["allowance"] =
        json!({"applies": "within", "per": "day", "amounts": [{"kwh": "1", "months": [1]}]});
    refused(&limited, "components[0].allowance.amounts is missing: each month has an amount");
}

#[test]
fn faults_of_capacity_rules_are_named_with_field_and_value() {
    let capacity = |demand: serde_json::Value, charge: serde_json::Value| {
        json!([{"kind": "capacity", "id": "c", "category": "network", "demand": demand,
                "charge": charge}])
    };
    let hour = json!({"window": "hour", "highest": 1});
    let price = json!({"per": "month", "price": "1"});
    refused(
        &capacity(hour.clone(), json!({"per": "month"})),
        "components[0].charge is missing: a charge has a price, or steps with at_threshold",
    );
    let from_two = json!([{"from": "2", "price": "1"}]);
    refused(
        &capacity(hour, json!({"per": "month", "at_threshold": "upper", "steps": from_two})),
        "components[0].charge.steps[0].from is 2; it is ascending, from 0",
    );
    for (demand, expected) in [
        (
            json!({"window": "hour", "highest": 1, "months": 12}),
            "of_months is missing: it is stated if, and only if, months is more than 1",
        ),
        (json!({"window": "hour", "highest": 0}), "highest is 0; it is 1 to 3000"),
        (
            json!({"window": "hour", "highest": 1, "floor_kw": "-1"}),
            "floor_kw is -1; it is zero or more",
        ),
    ] {
        let expected = format!("components[0].demand.{expected}");
        refused(&capacity(demand, price.clone()), &expected);
    }
}

#[test]
fn faults_of_components_are_named_with_field_and_value() {
    let fixed = |id: &str, per: &str| json!({"kind": "fixed", "id": id, "category": "fee", "amount": "1", "per": per});
    refused(&json!([]), "components is a list of 0; it is a list of 1 to 64");
    refused(
        &json!([fixed("a", "month"), fixed("a", "day")]),
        "components[1].id is \"a\"; it is a name that no other component has",
    );
    let tax = json!({"kind": "percentage", "id": "t", "category": "tax", "percent": "25",
                     "of": ["a"]});
    refused(&json!([tax]), "components[0].of[0] is \"a\"; it is the id of a component above");
    refused(&json!([fixed("f", "week")]), "unknown variant `week`");
    let mut unknown = fixed("f", "month");
    unknown["vat"] = "25".into();
    refused(&json!([unknown]), "unknown field `vat`");
}

#[test]
fn faults_of_the_heading_are_named() {
    let request = library("no-elvia-2026-07").request().clone();
    let refused = |change: &dyn Fn(&mut crate::bill::file::TariffRequest)| {
        let mut request = request.clone();
        change(&mut request);
        BillingTariff::new(request).unwrap_err()
    };
    let error = refused(&|request| request.sources.clear());
    assert!(matches!(&error, TariffFileError::Missing { field, .. } if field == "sources"));
    let text = refused(&|request| request.sources[0].url = "elvia.no".into()).to_string();
    assert!(text.starts_with("sources[0] is \"Nettleiepriser, Elvia AS\" at \"elvia.no\""));
    let text = refused(&|request| request.valid_to = Some(request.valid_from)).to_string();
    assert_eq!(text, "valid_to is 2026-07-01; it is a day after valid_from");
    let text = refused(&|request| request.time_zone = "Oslo".into()).to_string();
    assert_eq!(text, "time_zone is \"Oslo\"; it is an IANA name: Europe/Oslo");
    let text = refused(&|request| request.currency = "kr".into()).to_string();
    assert_eq!(text, "currency: \"kr\" is no ISO 4217 currency such as EUR");
    let text = refused(&|request| drop(request.components.pop())).to_string();
    assert_eq!(text, "components is missing: vat is added, but by no component");
    let text = refused(&|request| request.name = " ".into()).to_string();
    assert_eq!(text, "name is missing: the bill states it");
}

#[test]
fn a_tariff_is_read_back_as_it_was_written() {
    for (name, text) in FILES {
        let tariff: BillingTariff = serde_json::from_str(text).unwrap();
        let written = serde_json::to_string(&tariff).unwrap();
        let read: BillingTariff = serde_json::from_str(&written).unwrap();
        assert_eq!(read, tariff, "{name}");
    }
}

/// Zones of the property tests: changes of an hour, of half an hour, and none.
const ZONES: [Tz; 4] = [
    chrono_tz::Europe::Oslo,
    chrono_tz::America::Los_Angeles,
    chrono_tz::Australia::Lord_Howe,
    chrono_tz::Asia::Kolkata,
];

/// Months whose surroundings have a change of clocks, and one without.
const MONTHS: [&str; 4] = ["2026-03", "2026-04", "2026-10", "2026-07"];

/// Readings of about 75 days up to the end of a month, with gaps.
fn any_readings(zone: Tz, month: Month, minutes: u32, seed: u64, keep: u64) -> Vec<Reading> {
    let (_, to) = month.span(zone);
    let step = i64::from(minutes) * 60_000_000;
    let first = (to - 75 * 86_400_000_000).div_euclid(step);
    let last = to.div_euclid(step) + 5;
    let mut state = seed;
    let mut next = move || {
        // SplitMix64, Steele, Lea and Flood (2014).
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let mut readings = Vec::new();
    for index in first..last {
        let (kept, import, export) = (next() % 100 < keep, next() % 9, next() % 4);
        if kept {
            let start = instant_at(index * step);
            let [import, export] = [import, export].map(|energy| kwh(energy as f64 / 4.0));
            readings.push(Reading { start, import, export });
        }
    }
    readings
}

/// Mean power of one window of the oracle.
#[derive(Clone, Copy, PartialEq)]
struct OracleWindow {
    start: DateTime<Utc>,
    date: NaiveDate,
    power: f64,
}

/// Power of a rule by another way: every month, day and window anew, in floating point.
struct Oracle<'a> {
    readings: &'a [Reading],
    minutes: u32,
    zone: Tz,
    rule: &'a serde_json::Value,
}

impl Oracle<'_> {
    fn number(&self, name: &str, otherwise: u64) -> usize {
        self.rule[name].as_u64().unwrap_or(otherwise) as usize
    }

    /// Mean powers of complete windows.
    fn windows(&self) -> Vec<OracleWindow> {
        let width = match self.rule["window"].as_str().unwrap() {
            "quarter_hour" => 15,
            "half_hour" => 30,
            _ => 60,
        };
        let mut windows: Vec<(DateTime<Utc>, Vec<f64>)> = Vec::new();
        let mut readings = self.readings.to_vec();
        readings.sort_by_key(|reading| reading.start);
        for reading in readings {
            let local = reading.start.with_timezone(&self.zone);
            let minutes_in = i64::from(local.minute() % width);
            let start = reading.start - TimeDelta::minutes(minutes_in);
            match windows.last_mut() {
                Some((last, energies)) if *last == start => energies.push(reading.import.as_kwh()),
                _ => windows.push((start, vec![reading.import.as_kwh()])),
            }
        }
        windows.retain(|(_, energies)| energies.len() as u32 * self.minutes == width);
        let window = |(start, energies): (DateTime<Utc>, Vec<f64>)| {
            let local = start.with_timezone(&self.zone);
            let power = energies.iter().sum::<f64>() * 60.0 / f64::from(width);
            let is_night = !(6..22).contains(&local.hour());
            let halved = is_night && self.rule["weights"].is_array();
            let power = if halved { power / 2.0 } else { power };
            OracleWindow { start, date: local.date_naive(), power }
        };
        windows.into_iter().map(window).collect()
    }

    /// Mean of the highest, found one after the other.
    fn mean_of_highest(&self, mut left: Vec<OracleWindow>) -> Option<f64> {
        let mut taken = Vec::new();
        let skip = self.number("skip", 0);
        while taken.len() < skip + self.number("highest", 1) {
            let best = left.iter().copied().max_by(|a, b| a.power.total_cmp(&b.power));
            let Some(best) = best else { break };
            taken.push(best.power);
            left.retain(|other| match self.rule["one_per"].as_str() {
                Some("day") => other.date != best.date,
                Some(_) => other.date.iso_week() != best.date.iso_week(),
                None => other.start != best.start,
            });
        }
        let taken = &taken[skip.min(taken.len())..];
        (!taken.is_empty()).then(|| taken.iter().sum::<f64>() / taken.len() as f64)
    }

    fn power(&self, month: Month) -> f64 {
        let floor =
            |name: &str| self.rule[name].as_str().map_or(0.0, |text| text.parse::<f64>().unwrap());
        let last = month.back(self.number("lag_months", 0) as u32);
        let months: Vec<Month> =
            (0..self.number("months", 1)).map(|back| last.back(back as u32)).collect();
        let windows = self.windows();
        let of = |month: &Month| {
            let first = month.first_day();
            let mut windows = windows.clone();
            windows.retain(|window| window.date.with_day(1) == Some(first));
            windows
        };
        let month_floor = floor("month_floor_kw");
        let power = if self.rule["of_months"] == "together" {
            let all = months.iter().flat_map(of).collect();
            self.mean_of_highest(all).unwrap_or(0.0).max(month_floor)
        } else {
            let powers: Vec<f64> = months
                .iter()
                .filter_map(|month| self.mean_of_highest(of(month)))
                .map(|power| power.max(month_floor))
                .collect();
            match self.rule["of_months"].as_str() {
                _ if powers.is_empty() => month_floor,
                Some("mean") => powers.iter().sum::<f64>() / powers.len() as f64,
                _ => powers.iter().copied().fold(0.0, f64::max),
            }
        };
        power.max(floor("floor_kw"))
    }
}

fn any_rule() -> impl Strategy<Value = serde_json::Value> {
    let months = prop_oneof![
        Just((1, None)),
        (2..4u32, prop::sample::select(vec!["mean", "highest", "together"]))
            .prop_map(|(months, of)| (months, Some(of))),
    ];
    (
        prop::sample::select(vec!["quarter_hour", "half_hour", "hour"]),
        1..5u32,
        0..3u32,
        prop::sample::select(vec![None, Some("day"), Some("week")]),
        months,
        (0..2u32, any::<bool>()),
        prop::sample::select(vec!["0", "2.5", "7.9"]),
        prop::sample::select(vec!["0", "3", "8.5"]),
    )
        .prop_map(
            |(window, highest, skip, one_per, (months, of), (lag, nights), low, floor)| {
                let mut rule = json!({
                    "window": window, "highest": highest, "skip": skip, "months": months,
                    "lag_months": lag, "month_floor_kw": low, "floor_kw": floor,
                });
                if let Some(one_per) = one_per {
                    rule["one_per"] = one_per.into();
                }
                if let Some(of) = of {
                    rule["of_months"] = of.into();
                }
                if nights {
                    rule["weights"] =
                        json!([{"factor": "0.5", "when": {"times": ["22:00-06:00"]}}]);
                }
                rule
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The measured power is that of the oracle, for all rules, zones and gaps.
    #[test]
    fn powers_are_those_of_the_oracle(
        rule in any_rule(), zone in 0..ZONES.len(), text in prop::sample::select(MONTHS.to_vec()),
        seed in any::<u64>(), keep in prop::sample::select(vec![100, 97, 60, 3]),
    ) {
        let (zone, month) = (ZONES[zone], month(text));
        let readings = any_readings(zone, month, 15, seed, keep);
        let request: DemandRequest = serde_json::from_value(rule.clone()).unwrap();
        let demand = DemandRule::new(&request, "demand").unwrap();
        let load = MeteredLoad::new(15, &readings).unwrap();
        let holidays = Holidays::default();
        let calendar = Calendar { time_zone: zone, holidays: &holidays };
        let found: f64 =
            demand.measure(&load, calendar, month).power.to_string().parse().unwrap();
        let oracle = Oracle { readings: &readings, minutes: 15, zone, rule: &rule };
        let expected = oracle.power(month);
        prop_assert!((found - expected).abs() < 1e-6, "{found} kW, {expected} kW, {rule}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The order of readings changes nothing, and each line is its product, rounded.
    #[test]
    fn readings_have_no_order(
        place in 0..FILES.len(), seed in any::<u64>(), keep in prop::sample::select(vec![100, 50]),
    ) {
        let tariff: BillingTariff = serde_json::from_str(FILES[place].1).unwrap();
        let month = first_month(&tariff);
        let readings = any_readings(tariff.time_zone(), month, 15, seed, keep);
        let bill = billed(&readings, 15, &tariff, &month.to_string());
        let mut turned = readings;
        turned.reverse();
        let middle = turned.len() / 3;
        turned.rotate_left(middle);
        prop_assert_eq!(&bill, &billed(&turned, 15, &tariff, &month.to_string()));
        let sum: Decimal = bill.lines.iter().map(|line| line.amount).sum();
        prop_assert_eq!(bill.total, sum);
        for line in &bill.lines {
            let share = Decimal::from(line.share.part) / Decimal::from(line.share.whole);
            let exact = line.quantity * line.rate * share;
            prop_assert!((line.amount - exact).abs() <= Decimal::new(5_000_001, 9), "{line:?}");
        }
    }

    /// Energy is counted once: rates of a component share the month's readings, months share
    /// those of the year, also over changes of the clocks.
    #[test]
    fn every_reading_is_in_one_month_and_one_rate(
        zone in 0..ZONES.len(), text in prop::sample::select(MONTHS.to_vec()), seed in any::<u64>(),
    ) {
        let zone = ZONES[zone];
        let last = month(text);
        let mut request = tariff(&json!([{
            "kind": "energy", "id": "e", "category": "energy", "direction": "import",
            "rates": [
                {"name": "a", "price_per_kwh": "1", "when": {"times": ["02:00-02:30"]}},
                {"name": "b", "price_per_kwh": "2", "when": {"weekdays": [5, 6]}},
                {"name": "c", "price_per_kwh": "3"}
            ]
        }])).unwrap().request().clone();
        request.time_zone = zone.name().into();
        let tariff = BillingTariff::new(request).unwrap();
        let readings = any_readings(zone, last, 15, seed, 90);
        let quantity = |readings: &[Reading], month: Month| -> Decimal {
            let bill = billed(readings, 15, &tariff, &month.to_string());
            bill.lines.iter().map(|line| line.quantity).sum()
        };
        let months: Vec<Month> = (0..4).map(|back| last.next().back(back)).collect();
        let by_month: Decimal = months.iter().map(|month| quantity(&readings, *month)).sum();
        let all = readings.iter().map(|reading| reading.import.as_kwh()).sum::<f64>();
        let difference = by_month.to_string().parse::<f64>().unwrap() - all;
        prop_assert!(difference.abs() < 1e-9, "{difference} kWh");
        // A bill depends on the readings of its month alone, and is the sum over its parts.
        let (even, odd): (Vec<_>, Vec<_>) =
            readings.iter().enumerate().partition(|(index, _)| index % 2 == 0);
        let parts = [even, odd].map(|part| {
            let part: Vec<Reading> = part.into_iter().map(|(_, reading)| *reading).collect();
            quantity(&part, last)
        });
        prop_assert_eq!(parts[0] + parts[1], quantity(&readings, last));
    }

    /// More import never costs less, where no import has a negative price.
    #[test]
    fn bills_grow_with_the_load(
        place in 0..FILES.len(), seed in any::<u64>(), more in 0..3000usize, by in 1..200u32,
    ) {
        let tariff: BillingTariff = serde_json::from_str(FILES[place].1).unwrap();
        // A credit within a baseline is rounded on a line of its own.
        prop_assume!(!FILES[place].1.contains("allowance"));
        let month = first_month(&tariff);
        let mut readings = any_readings(tariff.time_zone(), month, 15, seed, 100);
        let before = billed(&readings, 15, &tariff, &month.to_string()).total;
        let place = more % readings.len();
        let import = readings[place].import.as_kwh() + f64::from(by) / 100.0;
        readings[place].import = kwh(import);
        let after = billed(&readings, 15, &tariff, &month.to_string()).total;
        prop_assert!(before <= after, "{before} and {after}");
    }
}

/// First month that lies within the validity of a tariff as a whole.
pub(super) fn first_month(tariff: &BillingTariff) -> Month {
    let from = tariff.request().valid_from;
    let month = Month::new(from.year(), from.month()).unwrap();
    if month.first_day() < from { month.next() } else { month }
}

#[test]
fn days_of_23_and_25_hours_have_every_quarter_hour_once() {
    let components = json!([{
        "kind": "energy", "id": "e", "category": "energy", "direction": "import",
        "rates": [
            {"name": "night", "price_per_kwh": "1", "when": {"times": ["00:00-06:00"]}},
            {"name": "day", "price_per_kwh": "1"}
        ]
    }]);
    let tariff = tariff(&components).unwrap();
    for (text, night, day) in [("2026-03", 743 - 558, 558), ("2026-10", 745 - 558, 558)] {
        let readings = month_of(month(text), chrono_tz::Europe::Oslo, 15, |_| 0.25);
        let bill = billed(&readings, 15, &tariff, text);
        let quantities: Vec<Decimal> = bill.lines.iter().map(|line| line.quantity).collect();
        assert_eq!(quantities, [Decimal::from(night), Decimal::from(day)], "{text}");
        assert_eq!(bill.missing, []);
    }
}

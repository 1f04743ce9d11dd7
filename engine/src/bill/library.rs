//! Tariffs that come with the engine, as the text of their files.
//!
//! Each file states its sources: the document of the operator or the regulator, and the
//! collection in which it was read. The dates of a file are those that its sources support; a
//! tariff that ended stays in the list. Numbers are facts of the day they were stated: check them
//! against the operator before money depends on them.

/// Names and texts of the files, in the order of the names.
///
/// # Example
///
/// ```
/// use slackwater_engine::bill::library::FILES;
/// use slackwater_engine::bill::tariff::BillingTariff;
/// let (_, text) = FILES.iter().find(|(name, _)| *name == "no-elvia-2026-07").unwrap();
/// let elvia: BillingTariff = serde_json::from_str(text).unwrap();
/// assert_eq!(elvia.request().operator, "Elvia AS");
/// ```
pub const FILES: &[(&str, &str)] = &[
    ("be-elia-30-70kv-2026", include_str!("../../data/tariffs/be-elia-30-70kv-2026.json")),
    ("be-flanders-2023", include_str!("../../data/tariffs/be-flanders-2023.json")),
    (
        "be-fluvius-antwerpen-mv-2026",
        include_str!("../../data/tariffs/be-fluvius-antwerpen-mv-2026.json"),
    ),
    (
        "be-fluvius-halle-vilvoorde-mv-2026",
        include_str!("../../data/tariffs/be-fluvius-halle-vilvoorde-mv-2026.json"),
    ),
    (
        "be-fluvius-kempen-mv-2026",
        include_str!("../../data/tariffs/be-fluvius-kempen-mv-2026.json"),
    ),
    (
        "be-fluvius-limburg-mv-2026",
        include_str!("../../data/tariffs/be-fluvius-limburg-mv-2026.json"),
    ),
    (
        "be-fluvius-midden-vlaanderen-mv-2026",
        include_str!("../../data/tariffs/be-fluvius-midden-vlaanderen-mv-2026.json"),
    ),
    ("de-abita-2026", include_str!("../../data/tariffs/de-abita-2026.json")),
    ("de-ahrtal-2026", include_str!("../../data/tariffs/de-ahrtal-2026.json")),
    ("de-albstadt-2026", include_str!("../../data/tariffs/de-albstadt-2026.json")),
    ("de-albwerk-2026", include_str!("../../data/tariffs/de-albwerk-2026.json")),
    ("de-allgaeu-2026", include_str!("../../data/tariffs/de-allgaeu-2026.json")),
    ("de-ascanetz-2026", include_str!("../../data/tariffs/de-ascanetz-2026.json")),
    ("de-avacon-2025", include_str!("../../data/tariffs/de-avacon-2025.json")),
    ("de-e-dis-2025", include_str!("../../data/tariffs/de-e-dis-2025.json")),
    ("de-ewe-netz-2025", include_str!("../../data/tariffs/de-ewe-netz-2025.json")),
    (
        "de-ewg-werther-heat-pump-2025",
        include_str!("../../data/tariffs/de-ewg-werther-heat-pump-2025.json"),
    ),
    ("de-lew-2025", include_str!("../../data/tariffs/de-lew-2025.json")),
    ("de-mitnetz-2025", include_str!("../../data/tariffs/de-mitnetz-2025.json")),
    ("de-netze-bw-2025", include_str!("../../data/tariffs/de-netze-bw-2025.json")),
    ("de-sh-netz-2025", include_str!("../../data/tariffs/de-sh-netz-2025.json")),
    ("de-swa-netze-2025", include_str!("../../data/tariffs/de-swa-netze-2025.json")),
    ("de-wanfried-2025", include_str!("../../data/tariffs/de-wanfried-2025.json")),
    ("de-westnetz-2025", include_str!("../../data/tariffs/de-westnetz-2025.json")),
    ("dk-cerius-2026-04", include_str!("../../data/tariffs/dk-cerius-2026-04.json")),
    ("dk-elinord-2026-02", include_str!("../../data/tariffs/dk-elinord-2026-02.json")),
    ("dk-konstant-2026-06", include_str!("../../data/tariffs/dk-konstant-2026-06.json")),
    ("dk-n1-2025", include_str!("../../data/tariffs/dk-n1-2025.json")),
    ("dk-n1-2026-04", include_str!("../../data/tariffs/dk-n1-2026-04.json")),
    ("dk-radius-2021", include_str!("../../data/tariffs/dk-radius-2021.json")),
    ("dk-radius-2026-04", include_str!("../../data/tariffs/dk-radius-2026-04.json")),
    (
        "gb-npower-economy-7-2017-07",
        include_str!("../../data/tariffs/gb-npower-economy-7-2017-07.json"),
    ),
    ("gb-octopus-cosy-2024-11", include_str!("../../data/tariffs/gb-octopus-cosy-2024-11.json")),
    (
        "gb-octopus-outgoing-2022-10",
        include_str!("../../data/tariffs/gb-octopus-outgoing-2022-10.json"),
    ),
    (
        "gb-ovo-charge-anytime-2025-10",
        include_str!("../../data/tariffs/gb-ovo-charge-anytime-2025-10.json"),
    ),
    ("gb-price-cap-2024-q3", include_str!("../../data/tariffs/gb-price-cap-2024-q3.json")),
    ("nl-liander-2024", include_str!("../../data/tariffs/nl-liander-2024.json")),
    ("nl-rendo-2024", include_str!("../../data/tariffs/nl-rendo-2024.json")),
    ("nl-stedin-2024", include_str!("../../data/tariffs/nl-stedin-2024.json")),
    ("nl-westland-2024", include_str!("../../data/tariffs/nl-westland-2024.json")),
    ("no-alut-2026", include_str!("../../data/tariffs/no-alut-2026.json")),
    ("no-area-lega-2025", include_str!("../../data/tariffs/no-area-lega-2025.json")),
    ("no-arva-2024", include_str!("../../data/tariffs/no-arva-2024.json")),
    ("no-bkk-2024-04", include_str!("../../data/tariffs/no-bkk-2024-04.json")),
    ("no-bkk-2025-09", include_str!("../../data/tariffs/no-bkk-2025-09.json")),
    ("no-elvia-2025-04", include_str!("../../data/tariffs/no-elvia-2025-04.json")),
    ("no-elvia-2026-07", include_str!("../../data/tariffs/no-elvia-2026-07.json")),
    ("no-fagne-2024-04", include_str!("../../data/tariffs/no-fagne-2024-04.json")),
    ("no-fjellnett-2026", include_str!("../../data/tariffs/no-fjellnett-2026.json")),
    ("no-foie-2025-07", include_str!("../../data/tariffs/no-foie-2025-07.json")),
    ("no-glitre-2024-10", include_str!("../../data/tariffs/no-glitre-2024-10.json")),
    ("no-griug-2024", include_str!("../../data/tariffs/no-griug-2024.json")),
    ("no-griug-2025-01", include_str!("../../data/tariffs/no-griug-2025-01.json")),
    ("no-kystnett-2026-10", include_str!("../../data/tariffs/no-kystnett-2026-10.json")),
    ("no-lede-2024-08", include_str!("../../data/tariffs/no-lede-2024-08.json")),
    ("no-lnett-2025-06", include_str!("../../data/tariffs/no-lnett-2025-06.json")),
    ("no-midtnett-2026-10", include_str!("../../data/tariffs/no-midtnett-2026-10.json")),
    ("no-norgesnett-2025-07", include_str!("../../data/tariffs/no-norgesnett-2025-07.json")),
    ("no-norgesnett-2026-10", include_str!("../../data/tariffs/no-norgesnett-2026-10.json")),
    ("no-sor-aurdal-2024-09", include_str!("../../data/tariffs/no-sor-aurdal-2024-09.json")),
    ("no-sygnir-2024", include_str!("../../data/tariffs/no-sygnir-2024.json")),
    ("no-tensio-ts-2024-09", include_str!("../../data/tariffs/no-tensio-ts-2024-09.json")),
    ("no-vang-2025", include_str!("../../data/tariffs/no-vang-2025.json")),
    ("no-vevig-2025-01", include_str!("../../data/tariffs/no-vevig-2025-01.json")),
    ("se-ellevio-2025", include_str!("../../data/tariffs/se-ellevio-2025.json")),
    ("se-eon-stockholm-2025-07", include_str!("../../data/tariffs/se-eon-stockholm-2025-07.json")),
    ("se-goteborg-2025", include_str!("../../data/tariffs/se-goteborg-2025.json")),
    ("us-ca-pge-e-1-2026-03", include_str!("../../data/tariffs/us-ca-pge-e-1-2026-03.json")),
    ("us-ca-pge-e-elec-2026-03", include_str!("../../data/tariffs/us-ca-pge-e-elec-2026-03.json")),
    (
        "us-ca-pge-e-tou-c-2026-03",
        include_str!("../../data/tariffs/us-ca-pge-e-tou-c-2026-03.json"),
    ),
    ("us-ca-pge-ev2-a-2026-03", include_str!("../../data/tariffs/us-ca-pge-ev2-a-2026-03.json")),
];

/// Text of a file by its name.
#[must_use]
pub fn find_file(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use chrono::TimeDelta;
    use expect_test::expect_file;
    use rust_decimal::Decimal;

    use super::*;
    use crate::bill::invoice::{Contract, bill_month};
    use crate::bill::load::{EnergyPeriod, MeteredLoad, Reading};
    use crate::bill::tariff::BillingTariff;
    use crate::bill::tests::first_month;
    use crate::time::instant::instant_at;
    use crate::units::kwh;

    fn read(text: &str) -> BillingTariff {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn files_are_in_order_and_state_their_sources() {
        assert!(FILES.len() >= 40 && FILES.is_sorted_by(|a, b| a.0 < b.0));
        for (name, text) in FILES {
            let request = read(text).request().clone();
            let country = request.country.to_lowercase();
            assert!(name.starts_with(&country), "{name} is of {country}");
            assert!(request.sources.iter().all(|source| source.url.len() > 15), "{name}");
            // A last day was read, or chosen and explained.
            assert!(request.valid_to.is_some(), "{name} has no last day");
        }
    }

    #[test]
    fn names_are_those_of_one_tariff() {
        let mut names: Vec<String> =
            FILES.iter().map(|(_, text)| read(text).request().name.clone()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), FILES.len());
    }

    /// Total of a made-up household in the first whole month of each tariff, with thirteen months
    /// of readings where powers of earlier months count.
    #[test]
    fn a_fixed_load_has_fixed_bills() {
        let mut table = String::new();
        for (name, text) in FILES {
            let tariff = read(text);
            let month = first_month(&tariff);
            let months = if text.contains("\"months\": 12") { 13 } else { 0 };
            let (from, to) = (month.back(months), month);
            let start = instant_at(from.span(tariff.time_zone()).0);
            let quarters =
                (to.span(tariff.time_zone()).1 - from.span(tariff.time_zone()).0) / 900_000_000;
            let reading = |index: i64| {
                // Multiples of the golden ratio spread evenly: 0 to 1.2 kWh, an eighth exported.
                let phase = (index as f64 * 0.618_033_988_749_895).fract();
                let (import, export) = (kwh(phase * 1.2), kwh((0.125 - phase).max(0.0)));
                Reading { start: start + TimeDelta::minutes(15 * index), import, export }
            };
            let readings: Vec<Reading> = (0..quarters).map(reading).collect();
            let mut load = MeteredLoad::new(15, &readings).unwrap();
            for device in tariff.devices() {
                // Half of what the household draws.
                let drawn = readings.iter().map(|reading| EnergyPeriod {
                    start: reading.start,
                    end: reading.start + TimeDelta::minutes(15),
                    energy: kwh(reading.import.as_kwh() / 2.0),
                });
                let drawn: Vec<EnergyPeriod> = drawn.collect();
                load = load.with_device(device, &drawn).unwrap();
            }
            let contract = Contract {
                power_kw: Some(Decimal::from(5)),
                apparent_power_kva: Some(Decimal::from(5)),
                fuse_amps: Some(Decimal::from(20)),
            };
            let bill = bill_month(&load, &tariff, month, &contract).unwrap();
            assert!(bill.missing.is_empty(), "{name}: {:?}", bill.missing);
            let currency = bill.currency;
            writeln!(table, "{name} {month} {} {currency}", bill.total).unwrap();
        }
        expect_file!["../../data/fixed_load.txt"].assert_eq(&table);
    }
}

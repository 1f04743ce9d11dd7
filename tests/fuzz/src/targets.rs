//! Functions from bytes to what users call: whatever the bytes are, none of them panics, and what
//! they return keeps its laws.
use std::str::FromStr;

use chrono_tz::Tz;
use slackwater_control::schedule::rule::{DraftRule, Rules};
use slackwater_engine::bill::invoice::{Contract, bill_month};
use slackwater_engine::bill::load::{MeteredLoad, Reading};
use slackwater_engine::bill::month::Month;
use slackwater_engine::bill::tariff::BillingTariff;
use slackwater_engine::import::price_unit::PriceUnit;
use slackwater_engine::plan::charge::{AfterDeadline, ChargeRequest, PowerLimit, Target};
use slackwater_engine::plan::charge::{Battery, SocTarget};
use slackwater_engine::plan::record::GridPrices;
use slackwater_engine::plan::record::{SavedPlan, SavedRun};
use slackwater_engine::plan::storage::{Consumption, StorageLimit, StorageRequest};
use slackwater_engine::plan::switching::{DeviceState, SwitchingRequest};
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_engine::units::{Energy, kwh};
use slackwater_wire::market::entsoe::{EntsoeChoice, read_entsoe};
use slackwater_wire::market::nordpool::{NordpoolChoice, read_nordpool};

use crate::bytes::Bytes;

fn after_deadline(bytes: &mut Bytes) -> AfterDeadline {
    if bytes.is() { AfterDeadline::Continue } else { AfterDeadline::Stop }
}

fn target(bytes: &mut Bytes) -> Option<Target> {
    Some(Target { by: bytes.maybe(Bytes::instant), energy: bytes.energy()? })
}

fn power_limit(bytes: &mut Bytes) -> Option<PowerLimit> {
    let (start, end) = (bytes.instant()?, bytes.instant()?);
    Some(PowerLimit { start, end, power_max: bytes.power()? })
}

/// One vehicle that only charges.
pub fn charge(data: &[u8]) {
    let mut bytes = Bytes(data);
    let mut read = || {
        let curve = bytes.curve()?;
        let request = ChargeRequest {
            now: bytes.instant()?,
            until: bytes.maybe(Bytes::instant),
            power_max: bytes.power()?,
            power_limits: bytes.list(4, power_limit),
            targets: bytes.list(4, target),
            reserve: bytes.energy()?,
            energy_max: bytes.maybe(Bytes::energy),
            charge_limit: bytes.maybe(Bytes::energy),
            after_deadline: after_deadline(&mut bytes),
        };
        SavedRun::new(curve.into(), request).ok()
    };
    if let Some(run) = read() {
        let ChargeRequest { energy_max, charge_limit, .. } = run.request();
        let is_next_to_nothing = |most: &Energy| *most < kwh(1e-9);
        // Room for next to nothing is not used, and its proof may be missing.
        if !energy_max.iter().chain(charge_limit).any(is_next_to_nothing) {
            assert!(run.plan().certificate.is_proved(), "{:?}", run.plan().certificate);
        }
        assert_eq!(run.replan(), Ok(run));
    }
}

/// One battery that also discharges.
pub fn storage(data: &[u8]) {
    let mut bytes = Bytes(data);
    let mut read = || {
        let (buy, sell) = (bytes.curve()?, bytes.maybe(Bytes::curve));
        let battery = Battery {
            capacity: bytes.energy()?,
            soc: bytes.maybe(Bytes::percent),
            soc_fallback: bytes.maybe(Bytes::percent),
            charge_limit: bytes.percent()?,
            efficiency: bytes.number(),
        };
        let request = StorageRequest {
            until: bytes.maybe(Bytes::instant),
            efficiency_discharge: bytes.number(),
            discharge_max: bytes.power()?,
            limits: bytes.list(3, storage_limit),
            targets: bytes.list(3, soc_target),
            reserve: bytes.percent()?,
            consumption: bytes.list(3, consumption),
            end_value: Some(bytes.price()?),
            wear_price: bytes.price()?,
            after_deadline: after_deadline(&mut bytes),
            ..StorageRequest::new(bytes.instant()?, battery, bytes.power()?)
        };
        let prices = GridPrices { import: buy.into(), export: sell.map(Into::into) };
        SavedRun::new(prices, request).ok()
    };
    if let Some(run) = read() {
        assert_eq!(run.replan(), Ok(run));
    }
}

fn storage_limit(bytes: &mut Bytes) -> Option<StorageLimit> {
    Some(StorageLimit {
        start: bytes.instant()?,
        end: bytes.instant()?,
        charge_max: bytes.maybe(Bytes::power),
        discharge_max: bytes.maybe(Bytes::power),
        soc_min: bytes.maybe(Bytes::percent),
        soc_max: bytes.maybe(Bytes::percent),
    })
}

fn soc_target(bytes: &mut Bytes) -> Option<SocTarget> {
    Some(SocTarget { by: bytes.maybe(Bytes::instant), soc: bytes.maybe(Bytes::percent) })
}

fn consumption(bytes: &mut Bytes) -> Option<Consumption> {
    let (start, end, energy) = (bytes.instant()?, bytes.instant()?, bytes.energy()?);
    Some(Consumption { start, end, energy, is_plugged_in: bytes.is() })
}

/// One device that switches, with few nodes to search.
pub fn switching(data: &[u8]) {
    let mut bytes = Bytes(data);
    let mut read = || {
        let curve = bytes.curve()?;
        let first = target(&mut bytes)?;
        let minutes = |bytes: &mut Bytes| chrono::TimeDelta::minutes(i64::from(bytes.byte()) - 8);
        let request = SwitchingRequest {
            until: bytes.maybe(Bytes::instant),
            power_min: bytes.power()?,
            power_limits: bytes.list(3, power_limit),
            sessions_max: bytes.maybe(|bytes| Some(u32::from(bytes.below(4)))),
            one_block: bytes.is(),
            on_min: minutes(&mut bytes),
            off_min: minutes(&mut bytes),
            run_last: minutes(&mut bytes),
            state: match bytes.below(3) {
                0 => DeviceState::Off,
                1 => DeviceState::RunningSince(bytes.instant()?),
                _ => DeviceState::StoppedSince(bytes.instant()?),
            },
            nodes_max: u32::from(bytes.below(8)),
            ..SwitchingRequest::new(bytes.instant()?, bytes.power()?, first)
        };
        SavedRun::new(curve.into(), request).ok()
    };
    if let Some(run) = read() {
        assert_eq!(run.replan(), Ok(run));
    }
}

/// A saved plan of any kind: what is read is written and read back the same, and planned again.
pub fn saved_plan(data: &[u8]) {
    let Ok(saved) = serde_json::from_slice::<SavedPlan>(data) else { return };
    let text = serde_json::to_string(&saved).expect("what was read can be written");
    let again: SavedPlan = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(again, saved);
    let Ok(planned) = saved.replan() else { return };
    assert_eq!(planned.replan(), Ok(planned));
}

/// A file with a tariff, and the bill of a month with hours of every size.
pub fn tariff_file(data: &[u8]) {
    let Ok(tariff) = serde_json::from_slice::<BillingTariff>(data) else { return };
    let text = serde_json::to_string(&tariff).expect("what was read can be written");
    let again: BillingTariff = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(again, tariff);
    let mut bytes = Bytes(data);
    let start = "2025-12-31T22:00:00Z".parse::<chrono::DateTime<chrono::Utc>>().ok();
    let readings = start.into_iter().flat_map(|start| {
        (0..760)
            .filter_map(|hour| {
                let start = start + chrono::TimeDelta::hours(hour);
                Some(Reading { start, import: bytes.energy()?, export: bytes.energy()? })
            })
            .collect::<Vec<_>>()
    });
    let (Ok(load), Ok(month)) =
        (MeteredLoad::new(60, &readings.collect::<Vec<_>>()), Month::parse("2026-01"))
    else {
        return;
    };
    // A load or a contract that the tariff cannot bill is an error, and nothing else.
    let _bill = bill_month(&load, &tariff, month, &Contract::default());
}

/// Replies of publishers of prices: XML of ENTSO-E and JSON of Nord Pool, whose prices have a finite
/// number and lie in the order of time.
pub fn market_reply(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let area = |area: &str| NordpoolChoice { area: Some(area.to_owned()), ..Default::default() };
    let read = [
        read_entsoe(text, &EntsoeChoice::default()),
        read_nordpool(text, &NordpoolChoice::default()),
        read_nordpool(text, &area("SE3")),
    ];
    for published in read.into_iter().flatten() {
        let prices = published.prices;
        let mut periods = prices.curve.horizon().periods();
        assert!(periods.all(|(start, end)| start < end));
        assert!(prices.curve.prices().iter().all(|price| price.is_finite()));
        assert!(prices.notes(Tz::UTC).iter().all(|note| !note.is_empty()));
    }
}

/// Short texts that users write: times of day, units of prices, names of zones, rules.
pub fn texts(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(time) = HourMinute::parse(text) {
        assert_eq!(HourMinute::parse(&time.to_string()), Ok(time));
    }
    for currency in ["EUR", "NOK", text] {
        let _unit = PriceUnit::parse(text, currency);
    }
    let _zone = Tz::from_str(text);
    let _month = Month::parse(text);
    let Ok(drafts) = serde_json::from_str::<Vec<DraftRule>>(text) else { return };
    let Ok(rules) = Rules::parse(true, &drafts) else { return };
    let now = chrono::DateTime::from_timestamp_nanos(0);
    let upcoming = rules.upcoming(now, chrono_tz::Europe::Oslo);
    assert!(upcoming.windows(2).all(|pair| pair[0].at < pair[1].at), "{upcoming:?}");
}

//! Prices and recorded energy that a scenario brings.
use std::collections::{BTreeMap, HashSet};

use slackwater_control::device::scope::{DeviceKind, Permission};
use slackwater_engine::prices::signal::Zone;
use slackwater_engine::statistics::recording::{Stay, has_energy, with_prices};
use slackwater_engine::statistics::sample::Sample;
use uuid::Uuid;

use crate::seeding::residents::SandboxSeeder;
use slackwater_sandbox::devices::Common;
use slackwater_sandbox::document::check::{intervals_of, rates_of, samples_of};
use slackwater_sandbox::scenario::Scenario;
use slackwater_service::prices::keep::tariffs_changed;
use slackwater_service::samples::prices_at;
use slackwater_store::database::Change;
use slackwater_store::error::StoreError;
use slackwater_store::prices::{ZoneRow, upsert_zone};
use slackwater_store::samples::{self, ChargeSession, Measured, OnConflict};
use slackwater_store::tariffs::{self, TariffRow, TariffSchedule};

/// Rows of a scenario that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Rows that do not exist yet, so that changes by clients survive a restart of the service.
    New,
    /// All rows, in place of those that exist: a patch brought them.
    All,
}

/// Keeps zones, tariffs, the schedules of locations, and recorded energy.
///
/// Users and locations must be there already.
///
/// # Errors
/// The database failed, and nothing is kept.
pub async fn write_recordings(
    residents: &SandboxSeeder,
    what: &Scenario,
    client_id: &str,
    which: Keep,
) -> Result<(), StoreError> {
    keep_money(residents, what, client_id, which).await?;
    let devices: BTreeMap<String, Common> = residents
        .sandbox
        .devices()
        .iter()
        .map(slackwater_sandbox::devices::Device::common)
        .map(|common| (common.id.clone(), common))
        .collect();
    let mut change = residents.app.store().begin().await?;
    for recorded in &what.samples {
        let Some(device) = devices.get(&recorded.device) else { continue };
        let known = |user: &str| {
            residents.app.cache().read(|tables| tables.user(client_id, user).is_some())
        };
        if known(&device.user) {
            let samples = samples_of(recorded);
            keep_samples(residents, &mut change, client_id, (device, samples), which).await?;
        }
    }
    change.commit(|| ()).await
}

/// Keeps what a device was recorded with. Of a vehicle or charger it is a session.
async fn keep_samples(
    residents: &SandboxSeeder,
    change: &mut Change,
    client_id: &str,
    (device, samples): (&Common, Vec<Sample>),
    which: Keep,
) -> Result<(), StoreError> {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return Ok(()) };
    let stay = Stay { plugged_in: first.start, unplugged: Some(last.end) };
    let device_id = residents.id(&device.id, client_id);
    // The same at each start, so that nothing is kept twice.
    let id = Uuid::new_v5(&device_id, stay.plugged_in.to_rfc3339().as_bytes());
    // As with what is polled: where a vehicle was is for its owner to tell.
    let is_known =
        device.kind != DeviceKind::Vehicle || device.scopes.contains(&Permission::ReadLocation);
    let measured = Measured {
        device_id,
        client_id: client_id.to_owned(),
        user_id: device.user.clone(),
        kind: device.kind,
        location_id: is_known.then(|| residents.id(&device.location, client_id)),
    };
    let owner = (client_id, device.user.as_str());
    let prices = prices_at(&residents.app, measured.location_id, owner, first.start, last.end);
    let there = if which == Keep::New { OnConflict::Stay } else { OnConflict::Yield };
    let with_costs = with_prices(&samples, &prices);
    samples::insert_samples(change.connection(), &measured, Some(id), &with_costs, there).await?;
    let is_charged = matches!(device.kind, DeviceKind::Vehicle | DeviceKind::Charger);
    if is_charged && has_energy(&samples) {
        let is_smart = samples.iter().any(|sample| sample.non_smart.is_some());
        let session = ChargeSession { id, measured, stay, is_smart, is_frozen: true };
        samples::upsert_session(change.connection(), &session).await?;
    }
    Ok(())
}

/// Keeps zones, tariffs, and the schedules of locations.
async fn keep_money(
    residents: &SandboxSeeder,
    what: &Scenario,
    client_id: &str,
    which: Keep,
) -> Result<(), StoreError> {
    let app = &residents.app;
    let is_new = |is_there: bool| which == Keep::All || !is_there;
    let zones = what.zones.iter().map(|zone| ZoneRow {
        client_id: client_id.to_owned(),
        id: zone.id.clone(),
        zone: Zone { is_activated: zone.is_activated, currency: zone.currency },
    });
    let rows = what.tariffs.iter().map(|tariff| TariffRow {
        client_id: client_id.to_owned(),
        id: tariff.id.clone(),
        rates: rates_of(tariff),
    });
    let schedules = what.locations.iter().map(|location| {
        let schedule = location.tariff.as_ref().map(|tariff| TariffSchedule {
            tariff_id: tariff.tariff.clone(),
            intervals: intervals_of(&tariff.intervals),
        });
        (residents.id(&location.id, client_id), schedule)
    });
    let mut change = app.store().begin().await?;
    let (zones, rows, schedules) = app.prices().read(|book| {
        let zones = zones.filter(|row| is_new(book.zone(client_id, &row.id).is_some()));
        let rows = rows.filter(|row| is_new(book.tariff(client_id, &row.id).is_some()));
        let schedules = schedules.filter(|(id, _)| is_new(book.schedule(*id).is_some()));
        (zones.collect::<Vec<_>>(), rows.collect::<Vec<_>>(), schedules.collect::<Vec<_>>())
    });
    for row in &zones {
        upsert_zone(change.connection(), row).await?;
    }
    for row in &rows {
        tariffs::upsert_tariff(change.connection(), row).await?;
    }
    for (location_id, schedule) in &schedules {
        tariffs::assign_tariff(change.connection(), *location_id, schedule.as_ref()).await?;
    }
    let mut places: HashSet<Uuid> = schedules.iter().map(|(place, _)| *place).collect();
    let with = |row: &TariffRow| app.prices().read(|book| book.places_with(&row.id));
    places.extend(rows.iter().flat_map(with));
    let (app, client_id) = (app.clone(), client_id.to_owned());
    change
        .commit(move || {
            app.prices().write(|book| {
                for row in zones {
                    book.keep_zone(row);
                }
                for row in rows {
                    book.keep_tariff(row);
                }
                for (id, schedule) in schedules {
                    book.assign(id, schedule);
                }
            });
            tariffs_changed(&app, &client_id, places);
        })
        .await
}

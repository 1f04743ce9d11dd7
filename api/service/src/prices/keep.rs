//! Every way in which prices change: kept on disk first, then shown.
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io;
use std::path::PathBuf;

use chrono_tz::Tz;
use slackwater_control::policy::ask::Cause;
use slackwater_engine::import::finding::ImportedPrices;
use slackwater_engine::prices::currency::Currency;
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::prices::overlay::overlaid;
use slackwater_engine::prices::signal::{PriceSignal, ZoneError};
use slackwater_engine::prices::tariff::{Rates, Tariff, TariffError, WeeklyIntervals};
use tracing::info;
use uuid::Uuid;

use crate::cache::tables::planned_at;
use crate::config::prices::{PriceFile, ZoneSettings};
use crate::prices;
use crate::prices::list::{self, ListError, ListOptions};
use crate::state::App;
use slackwater_store::clients;
use slackwater_store::database::Change;
use slackwater_store::error::StoreError;
use slackwater_store::jobs;
use slackwater_store::locations::Location;
use slackwater_store::prices::{Series, SeriesName, get_series, overlay_prices};
use slackwater_store::tariffs::{self, TariffRow, TariffSchedule};

/// Reason why a price signal is refused.
#[derive(Debug, thiserror::Error)]
pub enum SignalRefusal {
    /// The zone does not take it.
    #[error(transparent)]
    Zone(#[from] ZoneError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reason why a location is not given a tariff.
#[derive(Debug, thiserror::Error)]
pub enum AssignError {
    /// The client has no such tariff.
    #[error("there is no tariff {id:?}")]
    NoTariff {
        /// The identifier as given.
        id: String,
    },
    /// The intervals do not fit the tariff.
    #[error(transparent)]
    Tariff(#[from] TariffError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reason why a price list of the settings is not kept.
#[derive(Debug, thiserror::Error)]
pub enum PriceFileError {
    /// The file cannot be read.
    #[error("cannot read {}: {reason}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// The file is no price list.
    #[error("{}: {reason}", file.display())]
    List {
        /// The file.
        file: PathBuf,
        /// Why.
        reason: Box<ListError>,
    },
    /// A fault of the list of a zone of the settings.
    #[error("zones.{zone}.prices: {error}")]
    Zone {
        /// The zone.
        zone: String,
        /// The fault.
        error: Box<Self>,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PriceFileError {
    /// The fault with the name of the setting of its zone.
    #[must_use]
    pub fn of_zone(self, zone: &str) -> Self {
        Self::Zone { zone: zone.to_owned(), error: Box::new(self) }
    }
}

/// Keeps the market prices that the settings name (NS-38).
///
/// # Errors
/// A file cannot be read or makes no sense, or the database failed.
pub async fn keep_files(app: &App) -> Result<(), PriceFileError> {
    for (zone_id, zone) in &app.config().zones {
        let Some(PriceFile { file, time_zone, .. }) = &zone.prices else { continue };
        let list = read_file(zone).map_err(|error| error.of_zone(zone_id))?;
        let Some(list) = list else { continue };
        for note in list.notes(time_zone.unwrap_or(Tz::UTC)) {
            info!(zone = zone_id, file = %file.display(), note, "market prices");
        }
        keep_market(app, zone_id, zone.currency, &list.curve).await?;
    }
    Ok(())
}

/// The list of market prices that the settings of a zone name; `None` if they name none.
///
/// # Errors
/// The file cannot be read or makes no sense.
pub fn read_file(zone: &ZoneSettings) -> Result<Option<ImportedPrices>, PriceFileError> {
    let Some(PriceFile { file, unit, time_zone }) = zone.prices.clone() else { return Ok(None) };
    let text = fs::read_to_string(&file)
        .map_err(|reason| PriceFileError::Read { file: file.clone(), reason })?;
    let options = ListOptions { currency: zone.currency, unit, time_zone };
    let list = list::read(&text, &options);
    list.map(Some).map_err(|reason| PriceFileError::List { file, reason: Box::new(reason) })
}

/// Keeps what a client pushed for an area: on disk when this returns.
///
/// # Errors
/// The zone is unknown, not activated, or has another currency; or the
/// database failed. Nothing is kept then.
pub async fn push(
    app: &App,
    client_id: &str,
    zone_id: &str,
    area_id: &str,
    signal: &PriceSignal,
) -> Result<(), SignalRefusal> {
    let zone = app.price_lookup().zone(client_id, zone_id).ok_or(ZoneError::NotActivated)?;
    signal.check_zone(zone)?;
    let name = SeriesName::Area {
        client_id: client_id.to_owned(),
        zone_id: zone_id.to_owned(),
        area_id: area_id.to_owned(),
    };
    let asks = [(client_id.to_owned(), area_id.to_owned())];
    Ok(keep_series(app, name, (signal.currency(), signal.curve()), &asks).await?)
}

/// Keeps market prices of a zone. What they leave out stays as it was. Returns `false` if all of them
/// are known: then nothing is written and no plan is made anew.
///
/// # Errors
/// The database failed, and nothing is kept.
pub async fn keep_market(
    app: &App,
    zone_id: &str,
    currency: Currency,
    curve: &PriceCurve,
) -> Result<bool, StoreError> {
    let name = SeriesName::Market { zone_id: zone_id.to_owned() };
    let is_known = app.prices().read(|book| {
        let series = book.series(&name).filter(|series| series.currency == currency);
        series.is_some_and(|series| overlaid(&series.curve, curve) == series.curve)
    });
    if is_known {
        return Ok(false);
    }
    // All areas of the zone, of all clients.
    let all = clients::all_clients(app.store()).await?.into_iter();
    let asks: Vec<(String, String)> = all.map(|row| (row.client.id, String::new())).collect();
    keep_series(app, name, (currency, curve), &asks).await?;
    Ok(true)
}

/// Lays prices over a series, and asks for the plans of areas of clients to
/// follow in the same change. What a price signal does not cover stays, too.
async fn keep_series(
    app: &App,
    name: SeriesName,
    (currency, new): (Currency, &PriceCurve),
    asks: &[(String, String)],
) -> Result<(), StoreError> {
    let (SeriesName::Market { zone_id } | SeriesName::Area { zone_id, .. }) = name.clone();
    let mut change = app.store().begin().await?;
    let revision = overlay_prices(change.connection(), &name, currency, new).await?;
    let series = match known(app, &name, currency, revision) {
        Some(before) => Series { revision, currency, curve: overlaid(&before, new) },
        // Another replica changed it meanwhile.
        None => read(&mut change, &name, revision, currency).await?,
    };
    for (client_id, area_id) in asks {
        jobs::request_area(change.connection(), (client_id, &zone_id, area_id), app.now()).await?;
    }
    let app = app.clone();
    let show = move || {
        app.prices().write(|book| book.keep_series(name, series));
        prices::changed(&app);
    };
    change.commit(show).await
}

/// The prices of a series before its last change, if memory has them.
fn known(app: &App, name: &SeriesName, currency: Currency, revision: i64) -> Option<PriceCurve> {
    app.prices().read(|book| match book.series(name) {
        None if revision == 1 => Some(PriceCurve::default()),
        Some(series) if series.revision + 1 == revision => {
            let is_same = series.currency == currency;
            Some(if is_same { series.curve.clone() } else { PriceCurve::default() })
        }
        _ => None,
    })
}

async fn read(
    change: &mut Change,
    name: &SeriesName,
    revision: i64,
    currency: Currency,
) -> Result<Series, StoreError> {
    let series = get_series(change.connection(), name).await?;
    Ok(series.unwrap_or(Series { revision, currency, curve: PriceCurve::default() }))
}

/// Keeps a tariff of a client, in place of what it had under that identifier.
///
/// # Errors
/// The database failed, and nothing is kept.
pub async fn keep_tariff(app: &App, row: TariffRow) -> Result<(), StoreError> {
    let mut change = app.store().begin().await?;
    tariffs::upsert_tariff(change.connection(), &row).await?;
    let client_id = row.client_id.clone();
    let places = app.prices().read(|book| book.places_with(&row.id));
    ask_limited(app, &mut change, &client_id, &places).await?;
    let app = app.clone();
    let show = move || {
        app.prices().write(|book| book.keep_tariff(row));
        tariffs_changed(&app, &client_id, places);
        app.planner().areas.notify_one();
    };
    change.commit(show).await
}

/// Says which tariff a location has from now on, and when; `None` takes it away.
///
/// # Errors
/// The client has no such tariff, the intervals overlap or name a rate that it
/// lacks, or the database failed. Nothing is kept then.
pub async fn assign(
    app: &App,
    location: &Location,
    schedule: Option<TariffSchedule>,
) -> Result<(), AssignError> {
    if let Some(schedule) = &schedule {
        let id = &schedule.tariff_id;
        let row = app.prices().read(|book| book.tariff(&location.client_id, id).cloned());
        let row = row.ok_or_else(|| AssignError::NoTariff { id: id.clone() })?;
        let intervals = WeeklyIntervals::new(schedule.intervals.clone())?;
        Tariff::new(Rates::new(&row.rates)?, intervals)?;
    }
    let mut change = app.store().begin().await?;
    tariffs::assign_tariff(change.connection(), location.id, schedule.as_ref()).await?;
    let places = HashSet::from([location.id]);
    ask_limited(app, &mut change, &location.client_id, &places).await?;
    let (app, id, client_id) = (app.clone(), location.id, location.client_id.clone());
    let show = move || {
        app.prices().write(|book| book.assign(id, schedule));
        tariffs_changed(&app, &client_id, places);
        app.planner().areas.notify_one();
    };
    Ok(change.commit(show).await?)
}

/// Asks for new plans of the areas with a limit in which a client has some of
/// these places, in the change in which their prices become others.
///
/// In an area with a limit a plan goes on for as long as it does what is asked,
/// so that after a restart nobody would know that it was made for other prices.
/// Elsewhere each is made anew then anyway.
async fn ask_limited(
    app: &App,
    change: &mut Change,
    client_id: &str,
    places: &HashSet<Uuid>,
) -> Result<(), StoreError> {
    if app.limits().is_empty() {
        return Ok(());
    }
    let areas: BTreeSet<(String, String)> = app.cache().read(|tables| {
        let area = |place: &Uuid| {
            let (client, user) = tables.plans.resident(*place)?;
            let user = tables.user(client, user).filter(|_| **client == *client_id)?;
            let facts = &user.location(*place)?.facts;
            let (zone, area) = (facts.zone_id.clone()?, facts.area_id.clone()?);
            app.area_limit(&zone, &area).map(|_| (zone, area))
        };
        places.iter().filter_map(area).collect()
    });
    for (zone, area) in &areas {
        jobs::request_area(change.connection(), (client_id, zone, area), app.now()).await?;
    }
    Ok(())
}

/// Plans again for devices of a client after the tariffs of places changed. It
/// is about users with such a place; a start looks at all plans anyway.
pub fn tariffs_changed(app: &App, client_id: &str, places: impl IntoIterator<Item = Uuid>) {
    for id in app.cache().read(|tables| planned_at(tables, client_id, places)) {
        app.planner().schedule_now(id, Cause::Prices);
    }
}

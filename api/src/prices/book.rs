//! All prices in memory.
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::prices::overlay::overlaid;
use slackwater_engine::prices::signal::Zone;
use slackwater_engine::prices::tariff::{Rates, Tariff, WeeklyIntervals};
use uuid::Uuid;

use crate::store::database::{Store, StoreError};
use crate::store::locations::Location;
use crate::store::prices::{self, Series, SeriesName, ZoneRow};
use crate::store::tariffs::{self, TariffRow, TariffSchedule};

/// Prices that many look up at once and one changes.
#[derive(Debug, Default)]
pub struct Prices(RwLock<Book>);

/// All that is known of prices.
#[derive(Debug, Default)]
pub struct Book {
    zones: HashMap<(String, String), Zone>,
    series: HashMap<SeriesName, Arc<Series>>,
    tariffs: HashMap<(String, String), TariffRow>,
    schedules: HashMap<Uuid, TariffSchedule>,
}

impl Prices {
    /// All that is kept.
    ///
    /// # Errors
    /// The database failed, or holds what no version of this service has written.
    pub async fn load(store: &Store) -> Result<Self, StoreError> {
        let mut book = Book::default();
        prices::all_zones(store).await?.into_iter().for_each(|row| book.keep_zone(row));
        for (name, series) in prices::all(store).await? {
            book.keep_series(name, series);
        }
        for (location_id, schedule) in tariffs::all_schedules(store).await? {
            book.schedules.insert(location_id, schedule);
        }
        tariffs::all(store).await?.into_iter().for_each(|row| book.keep_tariff(row));
        Ok(Self(RwLock::new(book)))
    }

    /// Looks at the prices. Do nothing slow in it: it holds up writers.
    pub fn read<T>(&self, look: impl FnOnce(&Book) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the prices, after the database.
    pub fn write<T>(&self, change: impl FnOnce(&mut Book) -> T) -> T {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Book {
    /// A client's own zone.
    #[must_use]
    pub fn zone(&self, client_id: &str, zone_id: &str) -> Option<Zone> {
        self.zones.get(&(client_id.to_owned(), zone_id.to_owned())).copied()
    }

    /// A series of prices.
    #[must_use]
    pub fn series(&self, name: &SeriesName) -> Option<&Arc<Series>> {
        self.series.get(name)
    }

    /// A tariff of a client.
    #[must_use]
    pub fn tariff(&self, client_id: &str, id: &str) -> Option<&TariffRow> {
        self.tariffs.get(&(client_id.to_owned(), id.to_owned()))
    }

    /// Which tariff a location has, and when which of its rates holds.
    #[must_use]
    pub fn schedule(&self, location_id: Uuid) -> Option<&TariffSchedule> {
        self.schedules.get(&location_id)
    }

    /// The places that have a tariff of that name, of whichever client.
    #[must_use]
    pub fn places_with(&self, tariff_id: &str) -> HashSet<Uuid> {
        let with = self.schedules.iter().filter(|(_, schedule)| schedule.tariff_id == tariff_id);
        with.map(|(location_id, _)| *location_id).collect()
    }

    /// The tariff of a location, as far as its client has the rates. Both were
    /// checked when they were kept.
    #[must_use]
    pub fn tariff_of(&self, location: &Location) -> Option<Tariff> {
        let schedule = self.schedules.get(&location.id)?;
        let row = self.tariff(&location.client_id, &schedule.tariff_id)?;
        let intervals = WeeklyIntervals::new(schedule.intervals.clone()).ok()?;
        Some(Tariff::of_known(Rates::new(&row.rates).ok()?, &intervals))
    }

    /// Keeps a zone.
    pub fn keep_zone(&mut self, row: ZoneRow) {
        self.zones.insert((row.client_id, row.id), row.zone);
    }

    /// Keeps a series. Neighbours of one price become one step.
    pub fn keep_series(&mut self, name: SeriesName, series: Series) {
        let Series { revision, currency, curve } = series;
        let curve = overlaid(&PriceCurve::default(), &curve);
        self.series.insert(name, Arc::new(Series { revision, currency, curve }));
    }

    /// Keeps a tariff.
    pub fn keep_tariff(&mut self, row: TariffRow) {
        self.tariffs.insert((row.client_id.clone(), row.id.clone()), row);
    }

    /// Keeps the schedule of a location, or takes it away.
    pub fn assign(&mut self, location_id: Uuid, schedule: Option<TariffSchedule>) {
        match schedule {
            Some(schedule) => self.schedules.insert(location_id, schedule),
            None => self.schedules.remove(&location_id),
        };
    }
}

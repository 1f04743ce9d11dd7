//! All prices in memory.
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::prices::overlay::overlaid;
use slackwater_engine::prices::signal::Zone;
use slackwater_engine::prices::tariff::{Rates, Tariff, WeeklyIntervals};
use uuid::Uuid;

use slackwater_store::database::Store;
use slackwater_store::error::StoreError;
use slackwater_store::locations::Location;
use slackwater_store::prices::{self, Series, SeriesName, ZoneRow};
use slackwater_store::rows::Pair;
use slackwater_store::tariffs::{self, TariffRow, TariffSchedule};

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
    /// Locations by the tariff of their schedule: who changes a tariff asks for them.
    places: HashMap<String, HashSet<Uuid>>,
}

impl Prices {
    /// All that is kept.
    ///
    /// # Errors
    /// The database failed, or holds what no version of this service has written.
    pub async fn load(store: &Store) -> Result<Self, StoreError> {
        let mut book = Book::default();
        prices::all_zones(store).await?.into_iter().for_each(|row| book.keep_zone(row));
        for (name, series) in prices::all_series(store).await? {
            book.keep_series(name, series);
        }
        for (location_id, schedule) in tariffs::all_tariff_schedules(store).await? {
            book.assign(location_id, Some(schedule));
        }
        tariffs::all_tariffs(store).await?.into_iter().for_each(|row| book.keep_tariff(row));
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
    /// All series, in no order.
    pub fn all_series(&self) -> impl Iterator<Item = (&SeriesName, &Arc<Series>)> {
        self.series.iter()
    }

    /// A client's own zone.
    #[must_use]
    pub fn zone(&self, client_id: &str, zone_id: &str) -> Option<Zone> {
        self.zones.get(&(client_id.to_owned(), zone_id.to_owned())).copied()
    }

    /// Returns `true` if some client has a zone of its own under the name.
    #[must_use]
    pub fn has_zone(&self, zone_id: &str) -> bool {
        self.zones.keys().any(|(_, id)| id == zone_id)
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

    /// Tariff of a location, with the weekly hours of its rates.
    #[must_use]
    pub fn schedule(&self, location_id: Uuid) -> Option<&TariffSchedule> {
        self.schedules.get(&location_id)
    }

    /// The places that have a tariff of that name, of whichever client.
    #[must_use]
    pub fn places_with(&self, tariff_id: &str) -> HashSet<Uuid> {
        self.places.get(tariff_id).cloned().unwrap_or_default()
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

    /// Keeps a zone of that name, or forgets it.
    pub fn replace_zone(&mut self, name: Pair, zone: Option<Zone>) {
        match zone {
            Some(zone) => self.zones.insert(name, zone),
            None => self.zones.remove(&name),
        };
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

    /// Keeps a tariff of that name, or forgets it. Returns `true` if it is another.
    pub fn replace_tariff(&mut self, name: &Pair, row: Option<TariffRow>) -> bool {
        let has_changed = self.tariffs.get(name) != row.as_ref();
        match row {
            Some(row) => self.keep_tariff(row),
            None => {
                self.tariffs.remove(name);
            }
        }
        has_changed
    }

    /// The keys of all tariffs, of all zones, and of all places with a schedule.
    #[must_use]
    pub fn keys(&self) -> (BTreeSet<Pair>, BTreeSet<Pair>, BTreeSet<Uuid>) {
        (
            self.tariffs.keys().cloned().collect(),
            self.zones.keys().cloned().collect(),
            self.schedules.keys().copied().collect(),
        )
    }

    /// Keeps the schedule of a location, or takes it away.
    pub fn assign(&mut self, location_id: Uuid, schedule: Option<TariffSchedule>) {
        if let Some(before) = self.schedules.remove(&location_id)
            && let Some(places) = self.places.get_mut(&before.tariff_id)
        {
            places.remove(&location_id);
        }
        if let Some(schedule) = schedule {
            self.places.entry(schedule.tariff_id.clone()).or_default().insert(location_id);
            self.schedules.insert(location_id, schedule);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Locations get tariffs, change them and lose them, in any order.
        #[test]
        fn places_with_a_tariff_are_those_whose_schedule_names_it(
            changes in prop::collection::vec((0..4u128, prop::option::of(0..3u8)), 0..40),
        ) {
            let mut book = Book::default();
            for (place, tariff) in changes {
                let tariff_id = tariff.map(|tariff| tariff.to_string());
                let schedule =
                    tariff_id.map(|tariff_id| TariffSchedule { tariff_id, intervals: Vec::new() });
                book.assign(Uuid::from_u128(place), schedule);
                for tariff in ["0", "1", "2"] {
                    let named = (0..4).map(Uuid::from_u128).filter(|place| {
                        book.schedule(*place).is_some_and(|schedule| schedule.tariff_id == tariff)
                    });
                    prop_assert_eq!(book.places_with(tariff), named.collect());
                }
            }
        }
    }
}

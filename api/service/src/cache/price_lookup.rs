//! Prices of a location.
//!
//! The engine decides which of several prices is in force; here they are found in memory.
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::prices::resolve::{ResolvedPrices, Sources, resolve};
use slackwater_engine::prices::signal::Zone;
use slackwater_engine::prices::tariff::SPAN_MAX;
use slackwater_store::locations::Location;
use slackwater_store::prices::SeriesName;

use crate::cache::price_book::{Book, Prices};
use crate::config::prices::ZoneSettings;

/// Purpose of prices. Flex goes by the price signal of the area first, smart charging does not know
/// signals (AMB-35).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Smart charging of a charger or a vehicle.
    SmartCharging,
    /// A flex policy.
    Flex,
}

/// Prices of a place.
#[derive(Debug, Clone, PartialEq)]
pub struct Priced {
    /// The prices, each with its source.
    pub prices: ResolvedPrices,
    /// Their currency, an ISO 4217 code.
    pub currency: String,
}

/// Source of prices.
pub trait PriceBook: fmt::Debug + Send + Sync {
    /// The prices of a place in `[from, to)`.
    fn resolved(
        &self,
        location: &Location,
        purpose: Purpose,
        window: (DateTime<Utc>, DateTime<Utc>),
    ) -> Priced;

    /// Cache key: two locations with one key have the same prices for any one purpose. `None` if
    /// that is not known beforehand.
    fn alike(&self, location: &Location) -> Option<String>;
}

/// Code of "no currency", where nobody says which.
pub const NO_CURRENCY: &str = "XXX";

/// Prices in memory, with the zones of the settings.
#[derive(Debug)]
pub struct PriceLookup {
    prices: Arc<Prices>,
    zones: BTreeMap<String, ZoneSettings>,
}

impl PriceLookup {
    /// Lookup in prices, with zones that no client needs to define.
    #[must_use]
    pub const fn new(prices: Arc<Prices>, zones: BTreeMap<String, ZoneSettings>) -> Self {
        Self { prices, zones }
    }

    /// Market zone of a client; `None` if neither the client nor the settings define it.
    #[must_use]
    pub fn zone(&self, client_id: &str, zone_id: &str) -> Option<Zone> {
        let own = self.prices.read(|book| book.zone(client_id, zone_id));
        own.or_else(|| self.zones.get(zone_id).map(ZoneSettings::zone))
    }

    /// Prices for Flex at a location: those of the area's price signal; where it has none, those
    /// of the tariff, else of the market (AMB-35).
    ///
    /// At most a hundred years from `from` on. Where no price is known there is none.
    #[must_use]
    pub fn flex_prices(
        &self,
        location: &Location,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
    ) -> ResolvedPrices {
        self.of_location(location, true, from, to)
    }

    /// Prices for smart charging and statistics at a location: those of its tariff, else of the
    /// market (AMB-35). Otherwise as [`flex_prices`](Self::flex_prices).
    #[must_use]
    pub fn paid_prices(
        &self,
        location: &Location,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
    ) -> ResolvedPrices {
        self.of_location(location, false, from, to)
    }

    fn of_location(
        &self,
        location: &Location,
        with_signal: bool,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
    ) -> ResolvedPrices {
        let to = to.min(from.checked_add_signed(SPAN_MAX).unwrap_or(to));
        let facts = &location.facts;
        let zone_id = facts.zone_id.as_deref();
        let zone = zone_id.and_then(|id| self.zone(&location.client_id, id));
        let area_id = facts.area_id.as_deref().filter(|_| with_signal);
        let (signal, tariff, market) = self.prices.read(|book: &Book| {
            // Prices in another money than the zone's are not prices of the zone.
            let series = |name: &SeriesName| {
                let series = book.series(name)?;
                zone.is_some_and(|zone| zone.currency == series.currency)
                    .then(|| series.curve.between(from, to))
            };
            let market =
                zone_id.and_then(|id| series(&SeriesName::Market { zone_id: id.to_owned() }));
            let signal = zone_id.zip(area_id).and_then(|(zone_id, area_id)| {
                series(&SeriesName::Area {
                    client_id: location.client_id.clone(),
                    zone_id: zone_id.to_owned(),
                    area_id: area_id.to_owned(),
                })
            });
            (signal, book.tariff_of(location), market)
        });
        let time_zone = facts.time_zone.unwrap_or(Tz::UTC);
        // It fails beyond the years of the calendar only, where no price is known.
        let tariff: Option<PriceCurve> =
            tariff.and_then(|tariff| tariff.curve(time_zone, from, to).ok());
        let sources = Sources {
            price_signal: signal.as_ref(),
            tariff: tariff.as_ref(),
            market: market.as_ref(),
        };
        resolve(sources, from, to)
    }
}

impl PriceBook for PriceLookup {
    fn resolved(
        &self,
        location: &Location,
        purpose: Purpose,
        (from, to): (DateTime<Utc>, DateTime<Utc>),
    ) -> Priced {
        let prices = match purpose {
            Purpose::Flex => self.flex_prices(location, from, to),
            Purpose::SmartCharging => self.paid_prices(location, from, to),
        };
        let zone_id = location.facts.zone_id.as_deref();
        let zone = zone_id.and_then(|id| self.zone(&location.client_id, id));
        let currency = zone.map_or(NO_CURRENCY, |zone| zone.currency.code()).to_owned();
        Priced { prices, currency }
    }

    /// Locations of a client in one area with the same tariff in one time zone.
    fn alike(&self, location: &Location) -> Option<String> {
        let facts = &location.facts;
        let tariff = self.prices.read(|book| book.schedule(location.id).cloned());
        let clocks = facts.time_zone.filter(|_| tariff.is_some());
        serde_json::to_string(&(
            &location.client_id,
            &facts.zone_id,
            &facts.area_id,
            clocks.map(Tz::name),
            tariff,
        ))
        .ok()
    }
}

//! Prices as plans ask for them.
use chrono::{DateTime, Utc};

use crate::plans::pricing::{NO_CURRENCY, PriceBook, Priced, Purpose};
use crate::prices::{paid, resolved, zone};
use crate::state::App;
use slackwater_store::locations::Location;

/// The prices that are kept.
#[derive(Debug)]
pub struct Kept;

impl PriceBook for Kept {
    fn resolved(
        &self,
        app: &App,
        location: &Location,
        purpose: Purpose,
        (from, to): (DateTime<Utc>, DateTime<Utc>),
    ) -> Priced {
        let prices = match purpose {
            Purpose::Flex => resolved(app, location, from, to),
            Purpose::SmartCharging => paid(app, location, from, to),
        };
        let zone_id = location.facts.zone_id.as_deref();
        let zone = zone_id.and_then(|id| zone(app, &location.client_id, id));
        let currency = zone.map_or(NO_CURRENCY, |zone| zone.currency.code()).to_owned();
        Priced { prices, currency }
    }

    /// Places of a client in one area with the same tariff on the same clocks.
    fn alike(&self, app: &App, location: &Location) -> Option<String> {
        let facts = &location.facts;
        let tariff = app.prices().read(|book| book.schedule(location.id).cloned());
        let clocks = facts.time_zone.filter(|_| tariff.is_some());
        serde_json::to_string(&(
            &location.client_id,
            &facts.zone_id,
            &facts.area_id,
            clocks.map(chrono_tz::Tz::name),
            tariff,
        ))
        .ok()
    }
}

//! What a kWh costs: markets, tariffs and price signals, kept and looked up.
//!
//! Which of several prices counts is decided by the engine; here they are
//! found. Prices are read from memory and written to the store first.
//!
//! | File | Does |
//! |---|---|
//! | [`book`] | all prices in memory |
//! | [`keep`] | every way in which prices change |
//! | [`list`] | price lists in files |
//! | [`planning`] | prices as plans ask for them |
//! | [`replicas`] | prices that another replica has taken |

pub mod book;
pub mod keep;
pub mod list;
pub mod planning;
pub mod replicas;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::prices::resolve::{ResolvedPrices, Sources, resolve};
use slackwater_engine::prices::signal::Zone;
use slackwater_engine::prices::tariff::SPAN_MAX;

use crate::config::prices::ZoneSettings;
use crate::prices::book::Book;
use crate::state::App;
use slackwater_store::locations::Location;
use slackwater_store::prices::SeriesName;

/// A market zone of a client; `None` if neither the client nor the settings know it.
#[must_use]
pub fn zone(app: &App, client_id: &str, zone_id: &str) -> Option<Zone> {
    let own = app.prices().read(|book| book.zone(client_id, zone_id));
    own.or_else(|| app.config().zones.get(zone_id).map(ZoneSettings::zone))
}

/// The prices that Flex goes by at a location: those of the area's price
/// signal; where it has none, those of the tariff, else of the market (AMB-35).
///
/// At most a hundred years from `from` on. Where nobody has a price there is none.
#[must_use]
pub fn resolved(
    app: &App,
    location: &Location,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
) -> ResolvedPrices {
    of_location(app, location, true, from, to)
}

/// The prices that smart charging and statistics go by at a location: those of
/// its tariff, else of the market (AMB-35). Otherwise as [`resolved`].
#[must_use]
pub fn paid(
    app: &App,
    location: &Location,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
) -> ResolvedPrices {
    of_location(app, location, false, from, to)
}

fn of_location(
    app: &App,
    location: &Location,
    with_signal: bool,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
) -> ResolvedPrices {
    let to = to.min(from.checked_add_signed(SPAN_MAX).unwrap_or(to));
    let facts = &location.facts;
    let zone_id = facts.zone_id.as_deref();
    let zone = zone_id.and_then(|id| zone(app, &location.client_id, id));
    let area_id = facts.area_id.as_deref().filter(|_| with_signal);
    let (signal, tariff, market) = app.prices().read(|book: &Book| {
        // Prices in another money than the zone's are not prices of the zone.
        let series = |name: &SeriesName| {
            let series = book.series(name)?;
            zone.is_some_and(|zone| zone.currency == series.currency)
                .then(|| series.curve.between(from, to))
        };
        let market = zone_id.and_then(|id| series(&SeriesName::Market { zone_id: id.to_owned() }));
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
    let sources =
        Sources { price_signal: signal.as_ref(), tariff: tariff.as_ref(), market: market.as_ref() };
    resolve(sources, from, to)
}

/// Called after prices were kept. That plans follow was asked for in the same
/// change; this says that they need not wait.
pub fn changed(app: &App) {
    metrics::counter!("slackwater_price_changes_total").increment(1);
    crate::plans::prices_changed(app);
}

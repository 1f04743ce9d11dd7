//! Recorded energy of devices, from polls and from scenarios.
//!
//! After a poll the device's own meter is read for the quarters of an hour that have ended since
//! the last time. Without a meter, the energy is the difference between the counters of two
//! readings. Prices are fixed when a sample is kept. A stay at a plug is frozen, with its cost
//! without smart charging, when all of its energy is known.

pub mod ledger;
pub mod record;
pub mod waiting;

use chrono::{DateTime, Utc};
use slackwater_engine::prices::curve::PriceCurve;
use uuid::Uuid;

use crate::state::App;

/// Price of a kWh at a location; elsewhere no price is known.
pub fn prices_at(
    app: &App,
    location_id: Option<Uuid>,
    (client_id, user_id): (&str, &str),
    from: DateTime<Utc>,
    to: DateTime<Utc>,
) -> PriceCurve {
    let location = app.cache().read(|tables| {
        let user = tables.user(client_id, user_id)?;
        location_id.and_then(|id| user.location(id).cloned())
    });
    location.map_or_else(PriceCurve::default, |location| {
        app.price_lookup().paid_prices(&location, from, to).curve().clone()
    })
}

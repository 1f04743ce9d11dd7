//! Prices on the operators' address: what the specification shows no path for.
use std::fmt::Display;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::Uri;
use axum::routing::{get, post, put};
use axum::{Json, Router};
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde_json::{Value, json};
use slackwater_engine::prices::currency::Currency;
use slackwater_engine::prices::curve::{PriceCurve, Slot};
use slackwater_engine::prices::resolve::ResolvedPrices;
use uuid::Uuid;

use crate::admin::body::read as read_json;
use slackwater_http::problem::Problem;
use slackwater_http::request::query_pairs;
use slackwater_http::routes::price_signals::BODY_MAX;
use slackwater_service::cache::price_lookup::{PriceBook, Priced, Purpose};
use slackwater_service::prices::feeds::{FeedReport, FetchNowError, fetch_now, list_feeds};
use slackwater_service::prices::keep::{assign, keep_market};
use slackwater_service::prices::list::{ListOptions, read};
use slackwater_service::state::App;
use slackwater_store::clients;
use slackwater_store::locations::Location;
use slackwater_store::prices::SeriesName;
use slackwater_store::tariffs::TariffSchedule;

/// Routes of prices.
pub fn router(app: App) -> Router {
    Router::new()
        .route("/prices/market", post(import_market_prices).layer(DefaultBodyLimit::max(BODY_MAX)))
        .route("/prices/feeds", get(list_price_feeds))
        .route("/prices/feeds/fetch", post(fetch_price_feed))
        .route("/prices/at", get(get_price))
        .route("/prices/window", get(resolve_window))
        .route("/prices/signal", get(get_signal))
        .route("/tariffs/schedule", put(schedule_tariff))
        .with_state(app)
}

/// Keeps a list of market prices of `?zone=`.
async fn import_market_prices(
    State(app): State<App>,
    uri: Uri,
    text: String,
) -> Result<Json<Value>, Problem> {
    let zone_id = read_required(&uri, "zone")?;
    let known = app.config().zones.get(&zone_id).map(|zone| zone.currency);
    let currency = match (read_optional(&uri, "currency"), known) {
        (Some(code), _) => {
            Currency::parse(&code).map_err(|error| refuse_parameter("currency", error))?
        }
        (None, Some(currency)) => currency,
        (None, None) => {
            return Err(refuse_parameter(
                "currency",
                "is required: the settings do not know the zone",
            ));
        }
    };
    if let Some(known) = known.filter(|known| *known != currency) {
        return Err(refuse_parameter("currency", format!("is {currency}; the zone's is {known}")));
    }
    let time_zone = read_optional(&uri, "time_zone").map(|name| name.parse::<Tz>());
    let time_zone = time_zone.transpose().map_err(|error| refuse_parameter("time_zone", error))?;
    let options = ListOptions { currency, unit: read_optional(&uri, "unit"), time_zone };
    let list = read(&text, &options)?;
    keep_market(&app, &zone_id, currency, &list.curve).await?;
    let notes = list.notes(time_zone.unwrap_or(Tz::UTC));
    let slots: Vec<Slot> = list.curve.slots().collect();
    Ok(Json(json!({
        "zone": zone_id,
        "currency": currency,
        "slots": slots.len(),
        "from": slots.first().map(|slot| slot.start),
        "to": slots.last().map(|slot| slot.end),
        "notes": notes,
    })))
}

/// All price feeds of the settings, with what came of their last tries.
async fn list_price_feeds(State(app): State<App>) -> Result<Json<Vec<FeedReport>>, Problem> {
    Ok(Json(list_feeds(&app).await?))
}

/// Fetches the feed of `?zone=` at once, and answers with what came of it.
async fn fetch_price_feed(State(app): State<App>, uri: Uri) -> Result<Json<FeedReport>, Problem> {
    let zone_id = read_required(&uri, "zone")?;
    match fetch_now(&app, &zone_id).await {
        Ok(report) => Ok(Json(report)),
        Err(FetchNowError::Store(failure)) => Err(failure.into()),
        Err(FetchNowError::NoFeed { .. }) => {
            Err(Problem::no_entity(&format!("price feed of the zone {zone_id:?}")))
        }
        Err(busy @ FetchNowError::Busy { .. }) => Err(Problem::unavailable(busy.to_string())),
    }
}

/// The price that counts at an instant, with its currency; null if nobody has one.
async fn get_price(State(app): State<App>, uri: Uri) -> Result<Json<Value>, Problem> {
    let at = read_instant(&uri, "at")?;
    let moment = at.checked_add_signed(chrono::TimeDelta::microseconds(1)).unwrap_or(at);
    let Priced { prices, currency } = at_place(&app, &uri, at, moment).await?;
    Ok(Json(prices.slots().next().map_or(Value::Null, |resolved| {
        let (price, source) = (&resolved.slot.price, &resolved.source);
        json!({ "price_per_kwh": price, "currency": currency, "source": source })
    })))
}

/// The prices that count in a window, with their sources.
async fn resolve_window(State(app): State<App>, uri: Uri) -> Result<Json<ResolvedPrices>, Problem> {
    let (from, to) = read_window(&uri)?;
    at_place(&app, &uri, from, to).await.map(|priced| Json(priced.prices))
}

async fn at_place(
    app: &App,
    uri: &Uri,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
) -> Result<Priced, Problem> {
    let location = find_location(app, uri).await?;
    let is_flex = read_optional(uri, "flex").is_some_and(|flex| flex == "true");
    let purpose = if is_flex { Purpose::Flex } else { Purpose::SmartCharging };
    Ok(app.price_lookup().resolved(&location, purpose, (from, to)))
}

/// Price signal of a client for an area in a window (NS-26).
async fn get_signal(State(app): State<App>, uri: Uri) -> Result<Json<PriceCurve>, Problem> {
    let name = SeriesName::Area {
        client_id: find_client(&app, &uri).await?,
        zone_id: read_required(&uri, "zone")?,
        area_id: read_required(&uri, "area")?,
    };
    let (from, to) = read_window(&uri)?;
    let curve = app.prices().read(|book| Some(book.series(&name)?.curve.between(from, to)));
    let missing = || match &name {
        SeriesName::Area { zone_id, area_id, .. } => {
            Problem::no_entity(&format!("price signal of the area {area_id:?} of {zone_id:?}"))
        }
        SeriesName::Market { .. } => Problem::no_entity("price signal"),
    };
    curve.map(Json).ok_or_else(missing)
}

/// Gives a location a tariff, or takes it away with `null` (NS-14).
async fn schedule_tariff(
    State(app): State<App>,
    uri: Uri,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    let location = find_location(&app, &uri).await?;
    let schedule: Option<TariffSchedule> = read_json(&body)?;
    let shown = json!({
        "client": location.client_id, "location": location.id, "schedule": schedule,
    });
    assign(&app, &location, schedule).await?;
    Ok(Json(shown))
}

/// The client of `?client=`.
async fn find_client(app: &App, uri: &Uri) -> Result<String, Problem> {
    let id = read_required(uri, "client")?;
    let known = clients::get_client(app.store(), &id).await?;
    known.map(|row| row.client.id).ok_or_else(|| Problem::no_entity(&format!("client {id:?}")))
}

/// The location of `?location=`.
async fn find_location(app: &App, uri: &Uri) -> Result<Location, Problem> {
    let client_id = find_client(app, uri).await?;
    let given = read_required(uri, "location")?;
    let id = Uuid::parse_str(&given).ok();
    let known = app.cache().read(|tables| tables.location(&client_id, id?).cloned());
    let missing = || format!("location {given:?} of the client {client_id:?}");
    known.ok_or_else(|| Problem::no_entity(&missing()))
}

/// The window of `?from=` and `?to=`.
fn read_window(uri: &Uri) -> Result<(DateTime<Utc>, DateTime<Utc>), Problem> {
    let (from, to) = (read_instant(uri, "from")?, read_instant(uri, "to")?);
    if to <= from {
        return Err(refuse_parameter("to", format!("is {to}; it is after from, {from}")));
    }
    Ok((from, to))
}

fn read_instant(uri: &Uri, name: &'static str) -> Result<DateTime<Utc>, Problem> {
    let text = read_required(uri, name)?.replace(' ', "+");
    DateTime::parse_from_rfc3339(&text)
        .map(|at| at.to_utc())
        .map_err(|error| refuse_parameter(name, error))
}

fn read_required(uri: &Uri, name: &'static str) -> Result<String, Problem> {
    read_optional(uri, name).ok_or_else(|| refuse_parameter(name, "is required"))
}

fn read_optional(uri: &Uri, name: &str) -> Option<String> {
    let found = query_pairs(uri).find(|(given, _)| given == name);
    found.map(|(_, value)| value.into_owned())
}

fn refuse_parameter(name: &str, reason: impl Display) -> Problem {
    Problem::invalid(vec![format!("/{name}: {reason}")])
}

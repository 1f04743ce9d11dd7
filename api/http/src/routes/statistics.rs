//! Statistics: what a user's devices took, gave and cost, by bucket and by session.
//!
//! Samples are read from the store, the only reads that are: four years of
//! them do not fit into memory.
use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::Uri;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
use serde::Serialize;
use slackwater_control::device::scope::DeviceKind;
use slackwater_engine::statistics::charging::Item;
use slackwater_engine::statistics::columns::Aggregator;
use slackwater_engine::statistics::fixed::Amount;
use slackwater_engine::statistics::range::Range;
use slackwater_engine::statistics::resolution::{Buckets, Resolution, UtcOffset};
use slackwater_engine::statistics::sample_columns::{Flows, Lengths, Samples};
use slackwater_engine::statistics::sessions::{SessionItem, session};
use slackwater_engine::statistics::totals::{Spread, Totals};
use slackwater_engine::units::{Power, Price};
use slackwater_wire::version::field::Field;
use slackwater_wire::version::shape::{Record, Shape};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::spawn_blocking;
use tracing::error;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{Deprecated, Required};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::auth::caller::Caller;
use crate::parameters::{parameter, text_schema, word_schema};
use crate::problem::Problem;
use crate::request::{Path, query_pairs};
use crate::routes::users::with_user;
use crate::version::Version;
use slackwater_service::config::RateLimitClass;
use slackwater_service::config::prices::StatisticsQuery;
use slackwater_service::state::App;
use slackwater_store::error::StoreError;
use slackwater_store::samples::{self, ChargeSession, Columns, SampleFilter};

/// The kinds of device that have a series of charging.
const CHARGING: &[DeviceKind] = &[DeviceKind::Vehicle, DeviceKind::Charger, DeviceKind::Hvac];

/// The kind of device that has a series of production.
const PRODUCTION: &[DeviceKind] = &[DeviceKind::Inverter];

/// Ranges that are longer have a place among few: years of quarter hours are 26 MB.
const LONG: TimeDelta = TimeDelta::days(100);

/// Least, largest and mean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
pub struct Aggregate {
    /// Least.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Mean: of power by time, of price by energy.
    pub mean: f64,
}

/// A bucket of energy that devices took.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChargingStatistic {
    /// Power, in kW.
    pub kw: Aggregate,
    /// Energy, in kWh.
    pub kwh_sum: f64,
    /// Price of a kWh; null if none is known.
    pub price: Option<Aggregate>,
    /// The price had smart charging not shifted anything; null where it did not.
    pub non_smart_price: Option<Aggregate>,
    /// Cost of the energy whose price is known.
    pub cost_sum: f64,
    /// The cost had smart charging not shifted anything; null where it did
    /// not. In version 2023-05-01 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub non_smart_cost_sum: Option<Option<f64>>,
    /// Amount that smart charging saved; null where it shifted nothing. Not in version 2023-05-01.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub estimated_savings: Option<Option<f64>>,
    /// Start of the bucket on the clock of the offset, written with a `Z`.
    pub date: DateTime<Utc>,
}

/// A bucket of energy that inverters gave.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProductionStatistic {
    /// Power, in kW.
    pub kw: Aggregate,
    /// Energy, in kWh.
    pub kwh_sum: f64,
    /// Price of a kWh; null if none is known.
    pub price: Option<Aggregate>,
    /// Earnings of the energy whose price is known.
    pub earnings_sum: f64,
    /// Start of the bucket on the clock of the offset, written with a `Z`.
    pub date: DateTime<Utc>,
}

/// A charging session that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChargingSession {
    /// Its identifier.
    pub id: Uuid,
    /// The device that charged.
    pub target_id: Uuid,
    /// The location at which it charged; null if it is none of its user's.
    pub charging_location_id: Option<Uuid>,
    /// When energy flowed first.
    pub from: DateTime<Utc>,
    /// When it ended to flow.
    pub to: DateTime<Utc>,
    /// Power, in kW.
    pub kw: Aggregate,
    /// Energy, in kWh.
    pub kwh_sum: f64,
    /// Price of a kWh; null if none is known.
    pub price: Option<Aggregate>,
    /// Cost of the energy whose price is known.
    pub cost_sum: f64,
    /// The price without smart charging; null for a session without it. Not in
    /// version 2023-05-01.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Aggregate>)]
    pub non_smart_price: Option<Option<Aggregate>>,
    /// Amount that smart charging saved; null for a session without it. Not in version 2023-05-01.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub estimated_savings: Option<Option<f64>>,
    /// True if smart charging had a part in it. In version 2023-05-01 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smart_session: Option<bool>,
    /// Comparison with the session without smart charging. In version 2023-05-01 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smart_stats: Option<SmartStats>,
}

/// Comparison of a session with one without smart charging; all null for one without it.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SmartStats {
    /// The price.
    pub non_smart_price: Option<Aggregate>,
    /// The cost.
    pub non_smart_cost_sum: Option<f64>,
    /// Amount that was saved.
    pub estimated_savings: Option<f64>,
}

/// Parameters of a request for statistics.
#[derive(Debug)]
struct Asked {
    kind: DeviceKind,
    device_id: Option<Uuid>,
    location_id: Option<Uuid>,
    range: Range,
    /// `None` for sessions, which have no buckets.
    buckets: Option<Buckets>,
}

/// Devices that took energy, and a range of time. Locations and identifiers of devices have the
/// names that the operator gives them.
#[derive(Debug)]
pub struct ChargingQuery;

/// Devices that gave energy, and a range of time.
#[derive(Debug)]
pub struct ProductionQuery;

/// Buckets of a series.
#[derive(Debug)]
pub struct BucketQuery;

impl IntoParams for ChargingQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        range_parameters(CHARGING)
    }
}

impl IntoParams for ProductionQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        range_parameters(PRODUCTION)
    }
}

impl IntoParams for BucketQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let lengths = word_schema(Resolution::ALL.map(|length| length.as_str().to_uppercase()));
        let about =
            "The length of the buckets. Provisional: the operator may give it another name.";
        let resolution = parameter("resolution", ParameterIn::Query, lengths, about);
        let number = Schema::from(ObjectBuilder::new().schema_type(Type::Number).build());
        let about = "Hours from UTC at which buckets follow the calendar; -14 to 14. Deprecated.";
        let offset = parameter("utcOffset", ParameterIn::Query, number, about);
        let offset = offset.deprecated(Some(Deprecated::True));
        vec![resolution.required(Required::True).build(), offset.build()]
    }
}

fn range_parameters(kinds: &[DeviceKind]) -> Vec<Parameter> {
    let kinds = word_schema(kinds.iter().map(|kind| kind.as_str()));
    let kind = parameter("type", ParameterIn::Query, kinds, "The kind of device.");
    let about = "First instant after the range; now if left out.";
    let end = parameter("endDate", ParameterIn::Query, text_schema(), about);
    vec![kind.required(Required::True).build(), end.build()]
}

/// Request for statistics of a user.
type StatisticsParts = (State<App>, Caller, Subject, Uri);

/// Energy that a user's devices took, by bucket. Not in version 2023-05-01.
#[utoipa::path(get, path = "/users/{userId}/statistics/charging", tag = "Statistics",
    params(ChargingQuery, BucketQuery),
    responses((status = 200, body = Vec<ChargingStatistic>), (status = 404)))]
pub(crate) async fn list_charging(
    (State(app), caller, Subject(user_id), uri): StatisticsParts,
) -> Result<Response, Problem> {
    check_user(&app, &caller, &user_id)?;
    let asked = Asking::new(&app, &caller, &uri).read_series(CHARGING)?;
    let members = shape(caller.version)?.members(Record::Charging);
    let has = |name| members.contains(&name);
    let (has_cost, has_savings) = (has("nonSmartCostSum"), has("estimatedSavings"));
    let item = move |item: &Item| charging_item(item, has_cost, has_savings);
    answer_series(&app, &caller, &user_id, &asked, item).await
}

/// Energy that a user's inverters gave, by bucket. Not in version 2023-05-01.
#[utoipa::path(get, path = "/users/{userId}/statistics/production", tag = "Statistics",
    params(ProductionQuery, BucketQuery),
    responses((status = 200, body = Vec<ProductionStatistic>), (status = 404)))]
pub(crate) async fn list_production(
    (State(app), caller, Subject(user_id), uri): StatisticsParts,
) -> Result<Response, Problem> {
    check_user(&app, &caller, &user_id)?;
    let asked = Asking::new(&app, &caller, &uri).read_series(PRODUCTION)?;
    answer_series(&app, &caller, &user_id, &asked, production_item).await
}

/// A user's ended charging sessions, oldest first. Not in version 2023-05-01.
#[utoipa::path(get, path = "/users/{userId}/statistics/charging/sessions", tag = "Statistics",
    params(ChargingQuery), responses((status = 200, body = Vec<ChargingSession>), (status = 404)))]
pub(crate) async fn list_sessions(
    (State(app), caller, Subject(user_id), uri): StatisticsParts,
) -> Result<Json<Vec<ChargingSession>>, Problem> {
    check_user(&app, &caller, &user_id)?;
    let asked = Asking::new(&app, &caller, &uri).read_sessions(CHARGING)?;
    let _place = asked.wait_for_place(&app).await?;
    let kept = samples::frozen_sessions(app.store(), &asked.wanted(&caller, &user_id)).await?;
    let members = shape(caller.version)?.members(Record::Session);
    let is_flat = members.contains(&"estimatedSavings");
    let mut all = Vec::with_capacity(kept.len());
    for (kept, samples) in kept {
        let item = session(&samples).map_err(|failure| {
            error!(%failure, session = %kept.id, "a session makes no sense");
            Problem::bad_answer()
        })?;
        if let Some(item) = item.filter(|item| asked.range.holds(item.from)) {
            all.push(session_item(&kept, &item, is_flat));
        }
    }
    all.sort_by_key(|session| session.from);
    Ok(Json(all))
}

/// Energy that devices of the user in the header took, by bucket. In version 2023-05-01 only.
#[utoipa::path(get, path = "/statistics/charging", tag = "Statistics",
    params(ChargingQuery, BucketQuery),
    responses((status = 200, body = Vec<ChargingStatistic>), (status = 404)))]
pub(crate) async fn list_own_charging(asked: StatisticsParts) -> Result<Response, Problem> {
    list_charging(asked).await
}

/// Ended charging sessions of the user in the header, oldest first. In version 2023-05-01 only.
#[utoipa::path(get, path = "/statistics/charging/sessions", tag = "Statistics",
    params(ChargingQuery), responses((status = 200, body = Vec<ChargingSession>), (status = 404)))]
pub(crate) async fn list_own_sessions(
    asked: StatisticsParts,
) -> Result<Json<Vec<ChargingSession>>, Problem> {
    list_sessions(asked).await
}

/// Energy that inverters of the user in the header gave, by bucket. In version 2023-05-01 only.
#[utoipa::path(get, path = "/statistics/production", tag = "Statistics",
    params(ProductionQuery, BucketQuery),
    responses((status = 200, body = Vec<ProductionStatistic>), (status = 404)))]
pub(crate) async fn list_own_production(asked: StatisticsParts) -> Result<Response, Problem> {
    list_production(asked).await
}

/// The user that is asked about: the one in the path, or the one in the header
/// in the version whose paths name none.
pub(crate) struct Subject(String);

impl<S: Send + Sync> FromRequestParts<S> for Subject {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let caller = Caller::from_request_parts(parts, state).await?;
        let named = path.ok().map(|Path(id)| id);
        let id = named.or_else(|| caller.user_id.as_deref().map(ToOwned::to_owned));
        id.map(Self).ok_or_else(|| Problem::no_entity("user"))
    }
}

/// Checks that the user is the caller's, and that neither budget is spent (STA-36).
fn check_user(app: &App, caller: &Caller, user_id: &str) -> Result<(), Problem> {
    with_user(app, caller, user_id, |_| ())?;
    app.check_rate_limit(&caller.client.id, RateLimitClass::Statistics)?;
    Ok(app.check_user_rate_limit(&caller.client.id, user_id, RateLimitClass::StatisticsOfUser)?)
}

fn shape(version: Version) -> Result<Shape, Problem> {
    Shape::of_version(Some(version.0.as_str())).map_err(|failure| {
        error!(%failure, "a version has no shape");
        Problem::server_error()
    })
}

/// Sums samples up, and answers with the buckets.
async fn answer_series<T: Serialize + Send + 'static>(
    app: &App,
    caller: &Caller,
    user_id: &str,
    asked: &Asked,
    shown: impl Fn(&Item) -> T + Send + 'static,
) -> Result<Response, Problem> {
    let place = asked.wait_for_place(app).await?;
    let columns = samples::sample_columns(app.store(), &asked.wanted(caller, user_id)).await?;
    let (range, buckets) = (asked.range, asked.buckets);
    let summed = spawn_blocking(move || {
        let _place = place;
        let buckets = buckets.unwrap_or(Buckets::new(Resolution::Day, UtcOffset::default()));
        let items = summed(&columns, buckets, range)?;
        Ok::<_, Problem>(Json(items.iter().map(shown).collect::<Vec<T>>()).into_response())
    });
    summed.await.map_err(|_| Problem::server_error())?
}

fn summed(columns: &Columns, buckets: Buckets, range: Range) -> Result<Vec<Item>, Problem> {
    let mut aggregator = Aggregator::new(buckets, range);
    let samples = Samples {
        group: None,
        start: &columns.start,
        lengths: Lengths::Ends(&columns.end),
        flows: Flows::PowerKw(&columns.power_kw),
        price_per_kwh: Some(&columns.price_per_kwh),
        non_smart: Some(Flows::PowerKw(&columns.non_smart_kw)),
    };
    aggregator.add(&samples, 1).map_err(|failure| {
        error!(%failure, "samples make no sense");
        Problem::bad_answer()
    })?;
    Ok(aggregator.finish().into_iter().flat_map(|(_, items)| items).collect())
}

fn charging_item(item: &Item, has_cost: bool, has_savings: bool) -> ChargingStatistic {
    let totals = &item.totals;
    ChargingStatistic {
        kw: power(totals.power),
        kwh_sum: totals.energy.as_kwh(),
        price: totals.price.map(price),
        non_smart_price: non_smart_price(totals),
        cost_sum: totals.cost.as_units(),
        non_smart_cost_sum: has_cost.then(|| non_smart_cost(totals)),
        estimated_savings: has_savings.then(|| savings(totals)),
        date: item.label,
    }
}

fn production_item(item: &Item) -> ProductionStatistic {
    let totals = &item.totals;
    ProductionStatistic {
        kw: power(totals.power),
        kwh_sum: totals.energy.as_kwh(),
        price: totals.price.map(price),
        earnings_sum: totals.cost.as_units(),
        date: item.label,
    }
}

fn session_item(kept: &ChargeSession, item: &SessionItem, is_flat: bool) -> ChargingSession {
    let totals = &item.totals;
    let stats = SmartStats {
        non_smart_price: non_smart_price(totals),
        non_smart_cost_sum: non_smart_cost(totals),
        estimated_savings: savings(totals),
    };
    ChargingSession {
        id: kept.id,
        target_id: kept.measured.device_id,
        charging_location_id: kept.measured.location_id,
        from: item.from,
        to: item.to,
        kw: power(totals.power),
        kwh_sum: totals.energy.as_kwh(),
        price: totals.price.map(price),
        cost_sum: totals.cost.as_units(),
        non_smart_price: is_flat.then_some(stats.non_smart_price),
        estimated_savings: is_flat.then_some(stats.estimated_savings),
        smart_session: (!is_flat).then_some(totals.non_smart.is_some()),
        smart_stats: (!is_flat).then_some(stats),
    }
}

fn power(spread: Spread<Power>) -> Aggregate {
    let Spread { min, max, mean } = spread;
    Aggregate { min: min.as_kw(), max: max.as_kw(), mean: mean.as_kw() }
}

fn price(spread: Spread<Price>) -> Aggregate {
    let Spread { min, max, mean } = spread;
    Aggregate { min: min.as_per_kwh(), max: max.as_per_kwh(), mean: mean.as_per_kwh() }
}

fn non_smart_price(totals: &Totals) -> Option<Aggregate> {
    totals.baseline_price().map(price)
}

fn non_smart_cost(totals: &Totals) -> Option<f64> {
    totals.baseline_cost().map(Amount::as_units)
}

fn savings(totals: &Totals) -> Option<f64> {
    totals.non_smart.map(|instead| instead.savings.as_units())
}

impl Asked {
    fn wanted<'a>(&self, caller: &'a Caller, user_id: &'a str) -> SampleFilter<'a> {
        SampleFilter {
            client_id: &caller.client.id,
            user_id,
            kind: self.kind,
            device_id: self.device_id,
            location_id: self.location_id,
            range: self.range,
        }
    }

    /// A place among the long answers that are made at a time, if this is one.
    async fn wait_for_place(&self, app: &App) -> Result<Option<OwnedSemaphorePermit>, StoreError> {
        if self.range.end - self.range.start <= LONG {
            return Ok(None);
        }
        app.store().place_for_many_rows().await.map(Some)
    }
}

/// The parameters of a query, taken one by one, with all that is wrong with them.
struct Asking<'a> {
    caller: &'a Caller,
    names: &'a StatisticsQuery,
    pairs: Vec<(String, String)>,
    issues: Vec<String>,
}

impl<'a> Asking<'a> {
    fn new(app: &'a App, caller: &'a Caller, uri: &Uri) -> Self {
        let pairs = query_pairs(uri).map(|(name, value)| (name.into_owned(), value.into_owned()));
        let names = &app.config().statistics.query;
        Self { caller, names, pairs: pairs.collect(), issues: Vec::new() }
    }

    /// A series by bucket of one of some kinds of device.
    fn read_series(mut self, kinds: &[DeviceKind]) -> Result<Asked, Problem> {
        let name = &self.names.resolution;
        let words = Resolution::ALL.map(|known| known.as_str().to_uppercase());
        let resolution = if self.is_given(name) {
            self.read(name, |text| {
                let at = words.iter().position(|word| word == text);
                let known = at.map(|at| Resolution::ALL[at]);
                known.ok_or_else(|| format!("expected {}", words.join(", ")))
            })
        } else {
            self.issues.push(format!("/{name}: is required; one of {}", words.join(", ")));
            None
        };
        let has_range = self.caller.version.has(Field::UtcOffsetRange);
        let offset = self.read("utcOffset", |text| {
            let hours: f64 = text.parse().map_err(|_| "expected a number of hours")?;
            let offset = if has_range {
                UtcOffset::from_hours(hours)
            } else {
                UtcOffset::from_any_hours(hours)
            };
            offset.map_err(|error| error.to_string())
        });
        let asked = self.rest(kinds)?;
        let buckets = resolution.map(|length| Buckets::new(length, offset.unwrap_or_default()));
        Ok(Asked { buckets, ..asked })
    }

    /// Sessions of one of some kinds of device.
    fn read_sessions(mut self, kinds: &[DeviceKind]) -> Result<Asked, Problem> {
        self.rest(kinds)
    }

    fn rest(&mut self, kinds: &[DeviceKind]) -> Result<Asked, Problem> {
        let kind = self.required("type", |text| {
            let known = kinds.iter().copied().find(|kind| kind.as_str() == text);
            known.ok_or_else(|| {
                let words: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
                format!("expected {}", words.join(", "))
            })
        });
        let names = self.names;
        let start = self.read_renamed(names.start.as_deref(), instant);
        let end = self.read("endDate", instant);
        let id = |text: &str| Uuid::parse_str(text).map_err(|_| "expected a UUID".to_owned());
        let device_id = self.read_renamed(names.entity.as_deref(), id);
        let location_id = self.read_renamed(names.location.as_deref(), id);
        let range = Range::available(start, end, self.caller.now);
        if let Err(error) = &range {
            let name = names.start.as_deref().unwrap_or("endDate");
            self.issues.push(format!("/{name}: {error}"));
        }
        match (kind, range) {
            (Some(kind), Ok(range)) if self.issues.is_empty() => {
                Ok(Asked { kind, device_id, location_id, range, buckets: None })
            }
            _ => Err(Problem::invalid(std::mem::take(&mut self.issues))),
        }
    }

    /// A parameter that must be there.
    fn required<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        if !self.is_given(name) {
            self.issues.push(format!("/{name}: is required"));
        }
        self.read(name, read)
    }

    fn is_given(&self, name: &str) -> bool {
        self.pairs.iter().any(|(given, _)| given == name)
    }

    /// A parameter that may be left out, and is not offered unless it has a name.
    fn read_renamed<T>(
        &mut self,
        name: Option<&str>,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        self.read(name?, read)
    }

    fn read<T>(&mut self, name: &str, read: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let (_, text) = self.pairs.iter().find(|(given, _)| given == name)?;
        read(text).map_err(|reason| self.issues.push(format!("/{name}: {reason}"))).ok()
    }
}

/// An instant, or a date, which is its midnight in UTC.
fn instant(text: &str) -> Result<DateTime<Utc>, String> {
    // A plus that was not escaped is a space.
    let read = DateTime::parse_from_rfc3339(&text.replace(' ', "+")).map(|at| at.to_utc());
    let date =
        || text.parse::<NaiveDate>().ok().map(|date| date.and_time(NaiveTime::MIN).and_utc());
    let expected = || "expected a date such as 2026-01-05 or 2026-01-05T18:00:00Z".to_owned();
    read.ok().or_else(date).ok_or_else(expected)
}

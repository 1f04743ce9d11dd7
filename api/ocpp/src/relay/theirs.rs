//! Charging profiles of the upstream system. The charge point has ours only, with the lower limits.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use slackwater_control::charging_profile::profile::{Kind, Profile, Purpose, Recurrency, Schedule};
use slackwater_control::charging_profile::second_system::{Placed, SecondSystem};

use crate::facts::Connector;
use crate::fields::{Fault, Fields, shown};
use crate::profiles::read_periods;
use crate::station::state::{Rules, Station};

/// Most profiles that are kept.
const PROFILES_MAX: usize = 100;

/// Time ahead whose lowest limit the default must keep.
const AHEAD: TimeDelta = TimeDelta::hours(24);

/// Profile as it came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Received {
    connector: Connector,
    /// Transaction that it belongs to, here; `None` for one of the next that starts.
    transaction: Option<String>,
    /// Time at which it came.
    at: DateTime<Utc>,
    fields: Value,
}

/// Profiles of the upstream system, the oldest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Theirs(Vec<Received>);

/// Result of a profile that is to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// It is kept under its identifier.
    As(i32),
    /// There is no place for it, or no transaction.
    No,
}

impl Theirs {
    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps a profile in place of the one with its identifier, or with its level and purpose.
    ///
    /// `transaction` is that of the connector; a profile of a transaction needs one. One that comes
    /// with a start holds for the next transaction.
    ///
    /// # Errors
    /// A field is missing or unreadable.
    pub fn keep(
        &mut self,
        fields: &Value,
        connector: Connector,
        transaction: Option<String>,
        is_of_start: bool,
        now: DateTime<Utc>,
    ) -> Result<Keeping, Fault> {
        let profile = read_profile(fields, now)?;
        let is_of_transaction = profile.purpose == Purpose::Transaction;
        if is_of_transaction && transaction.is_none() && !is_of_start {
            return Ok(Keeping::No);
        }
        self.0.retain(|one| {
            let Ok(other) = read_profile(&one.fields, one.at) else { return false };
            let is_seat = (one.connector, other.stack_level, other.purpose)
                == (connector, profile.stack_level, profile.purpose);
            !is_seat && other.id != profile.id && !has_ended(&other, now)
        });
        if self.0.len() >= PROFILES_MAX {
            return Ok(Keeping::No);
        }
        let transaction = transaction.filter(|_| is_of_transaction && !is_of_start);
        let fields = fields.clone();
        self.0.push(Received { connector, transaction, at: now, fields });
        Ok(Keeping::As(profile.id))
    }

    /// Removes the profile of an identifier.
    pub fn remove(&mut self, id: i32) {
        self.0.retain(|one| id_of(&one.fields) != Some(i64::from(id)));
    }

    /// Removes profiles by the fields of `ClearChargingProfile`, of either version. Returns true if
    /// there was one.
    pub fn clear(&mut self, fields: &Value) -> bool {
        let before = self.0.len();
        let all = Fields(fields);
        let id = all.integer("id").or_else(|| all.integer("chargingProfileId"));
        let criteria = match fields.get("chargingProfileCriteria") {
            Some(inner) => Fields(inner),
            None => all,
        };
        let connector = criteria.integer("connectorId").or_else(|| criteria.integer("evseId"));
        let (level, purpose) =
            (criteria.integer("stackLevel"), criteria.text("chargingProfilePurpose"));
        self.0.retain(|one| {
            let own = Fields(&one.fields);
            let is_meant = match id {
                Some(id) => id_of(&one.fields) == Some(id),
                None => {
                    connector.is_none_or(|connector| connector == i64::from(one.connector))
                        && level.is_none_or(|level| own.integer("stackLevel") == Some(level))
                        && purpose.is_none_or(|it| own.text("chargingProfilePurpose") == Some(it))
                }
            };
            !is_meant
        });
        self.0.len() < before
    }

    /// Binds profiles that came with a start to its transaction, and removes those of transactions
    /// that have ended.
    pub fn follow(&mut self, station: &Station) {
        for (number, state) in &station.connectors {
            let Some(open) = &state.transactions.open else { continue };
            let waits = |one: &&mut Received| {
                one.transaction.is_none()
                    && is_of_transaction(&one.fields)
                    && (one.connector == *number || one.connector == 0)
            };
            for one in self.0.iter_mut().filter(waits) {
                one.connector = *number;
                one.transaction = Some(open.id.clone());
            }
        }
        self.0.retain(|one| {
            one.transaction.as_ref().is_none_or(|id| {
                station.connectors.values().any(|state| state.transactions.is_open(id))
            })
        });
    }

    /// Removes profiles that wait for a start which was refused.
    pub fn forget_start(&mut self) {
        self.0.retain(|one| one.transaction.is_some() || !is_of_transaction(&one.fields));
    }

    /// Caps the limits of all connectors.
    pub fn cap(&self, station: &mut Station, rules: &Rules, now: DateTime<Utc>) {
        let placed: Vec<Placed> = self.0.iter().filter_map(place_profile).collect();
        let connectors = u32::try_from(station.connectors.len()).unwrap_or(u32::MAX);
        let second = SecondSystem { profiles: &placed, connectors, supply: rules.supply };
        for (number, state) in &mut station.connectors {
            let start = state.transactions.open.as_ref().map(|open| open.started_at);
            let cap = second.cap(*number, start, now, AHEAD);
            state.limits.set_cap(cap, rules.safe_current);
        }
    }
}

fn place_profile(one: &Received) -> Option<Placed> {
    let profile = read_profile(&one.fields, one.at).ok()?;
    Some(Placed { connector: one.connector, profile })
}

fn id_of(fields: &Value) -> Option<i64> {
    let fields = Fields(fields);
    fields.integer("chargingProfileId").or_else(|| fields.integer("id"))
}

fn is_of_transaction(fields: &Value) -> bool {
    Fields(fields).text("chargingProfilePurpose") == Some("TxProfile")
}

/// Returns true if a profile will say nothing any more.
fn has_ended(profile: &Profile, now: DateTime<Utc>) -> bool {
    let is_over = profile.valid_to.is_some_and(|to| to <= now);
    let last = match (profile.kind, profile.schedule.duration()) {
        (Kind::Absolute { start }, Some(length)) => start.checked_add_signed(length),
        _ => None,
    };
    is_over || last.is_some_and(|end| end <= now)
}

/// Reads a profile of either version. A schedule without a start begins when it came.
fn read_profile(value: &Value, received_at: DateTime<Utc>) -> Result<Profile, Fault> {
    let fields = Fields(value);
    let id = id_of(value).and_then(|id| i32::try_from(id).ok());
    let schedule = match value.get("chargingSchedule") {
        Some(Value::Array(all)) => all.first(),
        schedule => schedule,
    };
    let schedule = Fields(schedule.ok_or(Fault::Missing { field: "chargingSchedule" })?);
    let start = schedule.instant("startSchedule").unwrap_or(received_at);
    Ok(Profile {
        id: id.ok_or(Fault::Missing { field: "chargingProfileId" })?,
        stack_level: fields
            .integer("stackLevel")
            .and_then(|level| u32::try_from(level).ok())
            .ok_or(Fault::Missing { field: "stackLevel" })?,
        purpose: read_purpose(fields.required("chargingProfilePurpose")?)?,
        kind: read_kind(fields, start)?,
        valid_from: fields.instant("validFrom"),
        valid_to: fields.instant("validTo"),
        schedule: read_schedule(schedule)?,
    })
}

fn read_purpose(word: &str) -> Result<Purpose, Fault> {
    Ok(match word {
        "ChargePointMaxProfile" | "ChargingStationMaxProfile" => Purpose::StationMax,
        "ChargingStationExternalConstraints" => Purpose::ExternalConstraints,
        "TxDefaultProfile" => Purpose::TransactionDefault,
        "TxProfile" => Purpose::Transaction,
        _ => return Err(wrong("chargingProfilePurpose", word, "a purpose such as TxProfile")),
    })
}

fn read_kind(fields: Fields<'_>, start: DateTime<Utc>) -> Result<Kind, Fault> {
    Ok(match fields.required("chargingProfileKind")? {
        "Absolute" => Kind::Absolute { start },
        "Relative" => Kind::Relative,
        "Recurring" => match fields.text("recurrencyKind") {
            Some("Weekly") => Kind::Recurring { start, every: Recurrency::Weekly },
            Some("Daily") => Kind::Recurring { start, every: Recurrency::Daily },
            other => {
                let given = other.unwrap_or("missing");
                return Err(wrong("recurrencyKind", given, "Daily or Weekly"));
            }
        },
        word => {
            return Err(wrong("chargingProfileKind", word, "Absolute, Recurring or Relative"));
        }
    })
}

/// Limits over time. A period that cannot be read is an error: it may be the lowest.
fn read_schedule(fields: Fields<'_>) -> Result<Schedule, Fault> {
    let field = "chargingSchedulePeriod";
    let periods = read_periods(fields);
    let expected = "periods in order of time, the first at 0 s, with limits of at least 0";
    let refused = || Fault::WrongValue {
        field,
        given: shown(fields.0.get(field).unwrap_or(&Value::Null)),
        expected,
    };
    if periods.len() != fields.list(field).count() {
        return Err(refused());
    }
    if !matches!(fields.text("chargingRateUnit"), Some("A" | "W")) {
        let given = fields.text("chargingRateUnit").unwrap_or("missing");
        return Err(wrong("chargingRateUnit", given, "A or W"));
    }
    let duration = fields.integer("duration").and_then(TimeDelta::try_seconds);
    Schedule::new(periods, duration).map_err(|_| refused())
}

fn wrong(field: &'static str, given: &str, expected: &'static str) -> Fault {
    Fault::WrongValue { field, given: shown(&Value::from(given)), expected }
}

//! Charging profiles as both versions write them: the fields that they have in common.
use chrono::TimeDelta;
use serde_json::{Value, json};
use slackwater_control::charging_profile::profile::{Kind, Profile, Recurrency, SchedulePeriod};
use slackwater_control::charging_profile::supply::Limit;
use slackwater_engine::units::{Current, Power};

use crate::fields::{Fields, write_instant};

/// Fields of a profile but for its identifier, purpose and schedule.
#[must_use]
pub fn profile_fields(profile: &Profile) -> Value {
    let mut fields = json!({"stackLevel": profile.stack_level});
    match profile.kind {
        Kind::Absolute { .. } => fields["chargingProfileKind"] = json!("Absolute"),
        Kind::Relative => fields["chargingProfileKind"] = json!("Relative"),
        Kind::Recurring { every, .. } => {
            fields["chargingProfileKind"] = json!("Recurring");
            fields["recurrencyKind"] = json!(match every {
                Recurrency::Daily => "Daily",
                Recurrency::Weekly => "Weekly",
            });
        }
    }
    for (name, at) in [("validFrom", profile.valid_from), ("validTo", profile.valid_to)] {
        if let Some(at) = at {
            fields[name] = json!(write_instant(at));
        }
    }
    fields
}

/// Fields of the schedule of a profile.
#[must_use]
pub fn schedule_fields(profile: &Profile) -> Value {
    let periods = profile.schedule.periods();
    let is_power = periods.iter().any(|period| matches!(period.limit, Limit::Power(_)));
    let mut fields = json!({
        "chargingRateUnit": if is_power { "W" } else { "A" },
        "chargingSchedulePeriod": periods.iter().map(period_fields).collect::<Vec<_>>(),
    });
    if let Some(duration) = profile.schedule.duration() {
        fields["duration"] = json!(duration.num_seconds());
    }
    // Some charge points refuse an absolute profile without it, and none needs to guess.
    if let Kind::Absolute { start } | Kind::Recurring { start, .. } = profile.kind {
        fields["startSchedule"] = json!(write_instant(start));
    }
    fields
}

fn period_fields(period: &SchedulePeriod) -> Value {
    let limit = match period.limit {
        Limit::Current(current) => current.as_amps(),
        Limit::Power(power) => power.as_kw() * 1e3,
    };
    // The protocol has one decimal; never more than the limit.
    let limit = (limit * 10.0 + 1e-6).floor() / 10.0;
    let mut fields = json!({"startPeriod": period.offset.num_seconds(), "limit": limit});
    if let Some(phases) = period.phases {
        fields["numberPhases"] = json!(phases);
    }
    fields
}

/// Readable periods of a schedule.
#[must_use]
pub fn read_periods(schedule: Fields<'_>) -> Vec<SchedulePeriod> {
    let is_power = schedule.text("chargingRateUnit") == Some("W");
    let period = |fields: Fields<'_>| {
        let value = fields.number("limit")?;
        let limit = if is_power {
            Limit::Power(Power::from_kw(value / 1e3).ok()?)
        } else {
            Limit::Current(Current::from_amps(value).ok()?)
        };
        let offset = TimeDelta::try_seconds(fields.integer("startPeriod")?)?;
        let phases = fields.integer("numberPhases").and_then(|phases| u8::try_from(phases).ok());
        Some(SchedulePeriod { offset, limit, phases })
    };
    schedule.list("chargingSchedulePeriod").filter_map(period).collect()
}

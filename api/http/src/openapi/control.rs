//! Commands, overrides and schedules as operations.
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::operation::{Answer, Operation, add};
use crate::routes::actions::{ChargeRateLimitBody, MaxCurrentBody};
use crate::routes::overrides::SmartOverride;
use crate::routes::schedule_requests::{NewSchedule, ScheduleUpdate};
use crate::routes::schedules::{ScheduleBody, ScheduleStatus};
use slackwater_service::control::body::ActionBody;

/// The operations.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation::post(
        "/chargers/{chargerId}/max-current",
        "Chargers",
        "Limits the current of a charger. Does not wait for it. Deprecated.",
        (Some("MaxCurrentBody"), Answer::One("ActionBody")),
        &[400, 403, 404, 422],
    ),
    Operation::post(
        "/chargers/{chargerId}/charge-rate-limit",
        "Chargers",
        "Limits the power of a charger, and its current with it. Does not wait for it. Beta.",
        (Some("ChargeRateLimitBody"), Answer::One("ActionBody")),
        &[400, 403, 404, 422],
    ),
    Operation::get(
        "/chargers/actions/{actionId}",
        "Chargers",
        "An action of a charger.",
        Answer::One("ActionBody"),
    )
    .one(),
    Operation::post(
        "/chargers/actions/{actionId}/cancel",
        "Chargers",
        "Calls an action of a charger off. What the manufacturer has may still be carried out.",
        (None, Answer::One("ActionBody")),
        &[400, 404, 409],
    ),
    Operation::post(
        "/chargers/{chargerId}/smart-override",
        "Chargers",
        "Has a charger charge now, whatever schedules and smart charging want.",
        (None, Answer::One("SmartOverride")),
        &[400, 403, 404],
    ),
    Operation {
        answer: Answer::One("SmartOverride"),
        ..Operation::delete(
            "/chargers/{chargerId}/smart-override",
            "Chargers",
            "Ends that, and answers with what it was.",
        )
    },
    Operation::post(
        "/hvacs/{hvacId}/follow-schedule",
        "HVAC units",
        "Ends a hold: the unit follows the schedule on it. Takes no body and does not wait.",
        (None, Answer::One("ActionBody")),
        &[400, 403, 404],
    ),
    Operation::get(
        "/batteries/actions/{actionId}",
        "Batteries",
        "An action of a battery. Beta.",
        Answer::One("ActionBody"),
    )
    .one(),
    Operation::post(
        "/batteries/actions/{actionId}/cancel",
        "Batteries",
        "Calls an action of a battery off. Beta.",
        (None, Answer::One("ActionBody")),
        &[400, 404, 409],
    ),
    Operation::get(
        "/users/{userId}/schedules",
        "Schedules",
        "A user's schedules, newest first.",
        Answer::Page("ScheduleBody"),
    )
    .one(),
    Operation::post(
        "/users/{userId}/schedules",
        "Schedules",
        "Makes a schedule.",
        (Some("NewSchedule"), Answer::One("ScheduleBody")),
        &[400, 404],
    ),
    Operation::get(
        "/schedules/{scheduleId}",
        "Schedules",
        "One schedule.",
        Answer::One("ScheduleBody"),
    )
    .one(),
    Operation {
        method: "PUT",
        path: "/schedules/{scheduleId}",
        tag: "Schedules",
        summary: "Changes what the body names, and leaves the rest.",
        body: Some("ScheduleUpdate"),
        answer: Answer::One("ScheduleBody"),
        refusals: &[400, 404],
    },
    Operation::delete("/schedules/{scheduleId}", "Schedules", "Deletes a schedule."),
    Operation::get(
        "/schedules/{scheduleId}/status",
        "Schedules",
        "How a schedule stands.",
        Answer::One("ScheduleStatus"),
    )
    .one(),
];

/// Schemas of their bodies and answers.
pub(super) fn add_schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    add::<ActionBody>(schemas);
    add::<MaxCurrentBody>(schemas);
    add::<ChargeRateLimitBody>(schemas);
    add::<SmartOverride>(schemas);
    add::<ScheduleBody>(schemas);
    add::<NewSchedule>(schemas);
    add::<ScheduleUpdate>(schemas);
    add::<ScheduleStatus>(schemas);
}

//! Events as operators read them: all of them, under their own names.
use serde_json::{Value, json};

use slackwater_store::deliveries::Subscription;
use slackwater_store::events::Event;
use slackwater_store::subscription::shown_url;

/// An event as one JSON object.
#[must_use]
pub fn line(event: &Event) -> Value {
    json!({
        "seq": event.seq,
        "id": event.id,
        "client": event.client_id,
        "user": event.user_id,
        "target": event.target_id,
        "name": event.name,
        "version": event.version,
        "at": event.at,
        "data": event.body,
    })
}

/// A subscription as one JSON object, without its secret and the query of its address.
#[must_use]
pub fn subscription(row: &Subscription) -> Value {
    json!({
        "name": row.name,
        "client": row.client_id,
        "url": shown_url(&row.url),
        "version": row.version,
        "events": row.events,
        "is_configured": row.is_configured,
        "has_template": row.template.is_some(),
        "is_signed": row.secret.is_some(),
        "posted_seq": row.posted_seq,
        "failures": row.failures,
        "last_failure": row.last_failure,
    })
}

//! Events: the newest ones as a table, and those that come, live (server-sent events).
use std::convert::Infallible;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Sse;
use axum::response::sse::{Event as Message, KeepAlive};
use chrono::TimeDelta;
use futures_util::{Stream, stream};
use maud::{PreEscaped, html};
use serde::Serialize;
use serde_json::Value;
use slackwater_service::clock::Clock;
use slackwater_service::state::App;
use slackwater_store::events::{Event, events_after, latest_events};

use crate::admin::console::frame::{LIVE, Page, Refusal, address, given, render};
use crate::admin::console::worlds::first;

/// Events of a page.
const SHOWN: u32 = 50;

/// Events sent at once, and time of the machine between two looks at the outbox.
const BATCH: u32 = 100;
const BETWEEN: TimeDelta = TimeDelta::seconds(1);

/// Most letters of an event's data that are shown.
const DATA_MAX: usize = 300;

/// An event as the page shows it.
#[derive(Debug, Serialize)]
struct Line {
    seq: i64,
    at: String,
    name: String,
    user: String,
    home: String,
    /// Name of the target at its vendor if it is a device, else its identifier.
    target: String,
    /// Page of the target, if it is a device.
    device: Option<String>,
    data: String,
}

impl Line {
    fn new(app: &App, event: &Event) -> Self {
        let id = event.target_id.map(|id| id.to_string()).unwrap_or_default();
        let vendors_name = event.target_id.and_then(|id| {
            app.cache()
                .read(|tables| tables.any_device(id).map(|device| device.vendor_device.clone()))
        });
        let data = describe_body(&event.body);
        let end = data.char_indices().nth(DATA_MAX).map(|(end, _)| end);
        Self {
            seq: event.seq,
            at: event.at.format("%F %T").to_string(),
            name: event.name.clone(),
            user: event.user_id.clone(),
            home: address(
                "/console/home",
                &[("client", &event.client_id), ("user", &event.user_id)],
            ),
            device: vendors_name.as_ref().map(|_| format!("/console/devices/{id}")),
            target: vendors_name.unwrap_or(id),
            data: end.map_or_else(|| data.clone(), |end| format!("{}…", &data[..end])),
        }
    }
}

/// Content of an event in a few words: the facts that changed, an action with its state, or an
/// account with its state. Identifiers and instants have columns of their own. Others are JSON.
fn describe_body(body: &Value) -> String {
    let word = |name: &str| body[name].as_str();
    if let Some(changed) = body["changed"].as_array() {
        return changed.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
    }
    if let Some(state) = word("state") {
        let target = Some(&body["targetState"]).filter(|target| !target.is_null());
        let target = target.map(ToString::to_string);
        let failure = word("failureReason").or_else(|| body["failureReason"]["type"].as_str());
        let parts = [word("kind"), target.as_deref(), Some(state), failure];
        return parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    }
    match (word("vendor"), body["credentials_valid"].as_bool()) {
        (Some(vendor), Some(true)) => format!("{vendor}: log-in is valid"),
        (Some(vendor), Some(false)) => format!("{vendor}: log-in is not valid any more"),
        _ => body.to_string(),
    }
}

/// Shows the newest events.
pub(crate) async fn show_events(State(worlds): State<Vec<App>>) -> Page {
    let app = first(&worlds)?;
    let events = latest_events(app.store(), SHOWN).await?;
    let lines: Vec<Line> = events.iter().map(|event| Line::new(app, event)).collect();
    let content = html! {
        h1 { "Events" }
        p.hint data-live { "The newest " (SHOWN) ". Reload the page for newer ones." }
        p.hint { "With all members: " code { "slackwater-api events tail" } "." }
        div.scroll tabindex="0" role="region" aria-label="Events" {
            table.events.stack {
                thead { tr { th { "Time (UTC)" } th { "Event" } th { "Home" } th { "About" } th { "Content" } } }
                tbody data-last=(lines.first().map_or(0, |line| line.seq)) {
                    @for line in &lines {
                        tr {
                            td { (line.at) } td { (line.name) }
                            td { a href=(line.home) { (line.user) } }
                            td { @match &line.device {
                                Some(device) => { a href=(device) { (line.target) } }
                                None => { (line.target) }
                            } }
                            td { (line.data) }
                        }
                    }
                }
            }
        }
        script { (PreEscaped(LIVE)) }
    };
    Ok(render("Events", Some("/console/events"), &content))
}

/// Sends events after `?after=`, or after the last one that the browser got, until the service
/// stops.
pub(crate) async fn stream_events(
    State(worlds): State<Vec<App>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Message, Infallible>>>, Refusal> {
    let app = first(&worlds)?.clone();
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let after = last.or_else(|| given(&uri, "after")?.parse().ok()).unwrap_or(0);
    let batches = stream::unfold((app, after), next_batch);
    let messages = futures_util::StreamExt::flat_map(batches, stream::iter);
    Ok(Sse::new(messages).keep_alive(KeepAlive::default()))
}

/// The next events, and the place after them; `None` once the service stops. A database that
/// does not answer is asked again.
async fn next_batch(
    (app, after): (App, i64),
) -> Option<(Vec<Result<Message, Infallible>>, (App, i64))> {
    loop {
        if app.is_stopping() {
            return None;
        }
        let events = events_after(app.store(), after, BATCH).await.unwrap_or_default();
        let Some(last) = events.last().map(|event| event.seq) else {
            let machine = Clock::system();
            machine.until(machine.now() + BETWEEN).await;
            continue;
        };
        let message = |event: &Event| {
            let line = serde_json::to_string(&Line::new(&app, event)).unwrap_or_default();
            Ok(Message::default().id(event.seq.to_string()).data(line))
        };
        let messages = events.iter().map(message).collect();
        return Some((messages, (app, last)));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn contents_of_events_are_short_words() {
        let changed = json!({ "kind": "vehicle", "changed": ["charging", "soc_percent"] });
        assert_eq!(describe_body(&changed), "charging, soc_percent");
        let stop = json!({ "kind": "STOP", "state": "CONFIRMED", "failureReason": null });
        assert_eq!(describe_body(&stop), "STOP CONFIRMED");
        let failed = json!({
            "targetState": { "maxCurrent": 16 }, "state": "FAILED",
            "failureReason": { "type": "NO_RESPONSE", "detail": "it is asleep" },
        });
        assert_eq!(describe_body(&failed), "{\"maxCurrent\":16} FAILED NO_RESPONSE");
        let account = json!({ "vendor": "LUMEN", "credentials_valid": false });
        assert_eq!(describe_body(&account), "LUMEN: log-in is not valid any more");
        assert_eq!(describe_body(&json!({ "other": 1 })), "{\"other\":1}");
    }
}

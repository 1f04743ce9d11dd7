//! Those whom the service talks to: manufacturers, and receivers of events.
use axum::extract::State;
use chrono::{DateTime, Utc};
use maud::{Markup, html};
use slackwater_service::clock::Clock;
use slackwater_service::state::App;
use slackwater_store::deliveries::{Subscription, Waiting, all_subscriptions, waiting_events};
use slackwater_store::error::StoreError;
use slackwater_store::subscription::shown_url;

use crate::admin::console::frame::{Page, render};
use crate::admin::console::words::{Tone, ago, badge, health, kind};
use crate::admin::console::worlds::first;

/// Most receivers that a page lists, and most events that are counted for each.
const RECEIVERS_MAX: usize = 100;
const COUNTED_MAX: u32 = 10_000;

/// Shows the health of all manufacturers.
pub(crate) async fn show_vendors(State(worlds): State<Vec<App>>) -> Page {
    let content = html! {
        h1 { "Vendors" }
        @for world in &worlds { (list_vendors(world)) }
    };
    Ok(render("Vendors", Some("/console/vendors"), &content))
}

fn list_vendors(app: &App) -> Markup {
    let (vendors, now) = (app.vendors(), app.now());
    html! {
        h2 { (app.environment().as_str()) }
        @if vendors.is_empty() {
            p { "No integration is open: no device can be linked here. See " code { "[environments.production.integrations]" } "." }
        } @else {
            div.scroll tabindex="0" role="region" aria-label="Vendors" {
                table {
                    thead { tr { th { "Vendor" } th { "Kinds" } th { "Devices" } th { "Linking" } } }
                    tbody {
                        @for vendor in &vendors {
                            @let profile = vendor.profile();
                            @let state = vendor.health(now);
                            tr {
                                td { (profile.display_name) small { code { (profile.code) } } }
                                td { (profile.kinds.iter().map(|one| kind(*one)).collect::<Vec<_>>().join(", ")) }
                                td { (health(state.devices)) }
                                td { (health(state.linking)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Shows how far each receiver of events was served.
pub(crate) async fn show_receivers(State(worlds): State<Vec<App>>) -> Page {
    let app = first(&worlds)?;
    let all = all_subscriptions(app.store()).await?;
    let mut rows = Vec::new();
    for subscription in all.iter().take(RECEIVERS_MAX) {
        rows.push((subscription, waiting(app, subscription).await?));
    }
    // Receivers are served by the machine's clock; events happen by that of their environment.
    let (machine, now) = (Clock::system().now(), app.now());
    let content = html! {
        h1 { "Receivers" }
        @if rows.is_empty() {
            p { "No receiver of events is subscribed. Subscribe one: " code { "slackwater-api events subscribe" } "." }
        } @else {
            div.scroll tabindex="0" role="region" aria-label="Receivers" {
                table.stack {
                    thead { tr { th { "Receiver" } th { "State" } th.number { "Waiting" } th { "Oldest" } th { "Next attempt" } } }
                    tbody { @for (subscription, waiting) in &rows { (row(subscription, *waiting, machine, now)) } }
                }
            }
        }
        @if all.len() > RECEIVERS_MAX { p { "And " (all.len() - RECEIVERS_MAX) " more." } }
    };
    Ok(render("Receivers", Some("/console/receivers"), &content))
}

/// Events that wait for a receiver; none if nothing is posted to it.
async fn waiting(app: &App, subscription: &Subscription) -> Result<Waiting, StoreError> {
    if subscription.template.is_none() {
        return Ok(Waiting { count: 0, since: None });
    }
    waiting_events(app.store(), subscription, COUNTED_MAX).await
}

fn row(
    subscription: &Subscription,
    waiting: Waiting,
    machine: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Markup {
    let is_capped = waiting.count >= i64::from(COUNTED_MAX);
    html! {
        tr {
            td { (subscription.name) small { (shown_url(&subscription.url)) } }
            td {
                @if subscription.template.is_none() {
                    (badge(Tone::Plain, "no template: nothing is posted"))
                } @else if subscription.failures > 0 {
                    (badge(Tone::Bad, &format!("{} failures in a row", subscription.failures)))
                    @if let Some(failure) = &subscription.last_failure { small { (failure) } }
                } @else if waiting.count == 0 {
                    (badge(Tone::Good, "up to date"))
                } @else {
                    (badge(Tone::Plain, "catching up"))
                }
            }
            td.number data-label="Waiting" { (waiting.count) @if is_capped { "+" } }
            @if let Some(since) = waiting.since { td data-label="Oldest" { (ago(since, now)) } } @else { td {} }
            @if subscription.failures > 0 {
                td data-label="Next attempt" {
                    @let seconds = (subscription.due_at - machine).num_seconds();
                    @if seconds > 0 { "in " (seconds) " s" } @else { "now" }
                }
            } @else { td {} }
        }
    }
}

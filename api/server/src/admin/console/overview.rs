//! First page: what runs, for whom, and what needs a look.
use axum::extract::State;
use maud::{Markup, html};
use slackwater_control::device::scope::DeviceKind;
use slackwater_integration::profile::Health;
use slackwater_service::cache::index::Index;
use slackwater_service::cache::tables::Tables;
use slackwater_service::state::App;
use slackwater_store::client::Client;
use slackwater_store::clients::{self, ClientRow, REVOKED};
use slackwater_store::deliveries::all_subscriptions;

use crate::admin::console::frame::{Page, Refusal, address, render};
use crate::admin::console::words::{Tone, badge, clock, count};
use crate::admin::console::worlds::first;

/// Most clients that a page lists.
pub(super) const CLIENTS_MAX: usize = 100;

/// Shows the overview.
pub(crate) async fn show_overview(State(worlds): State<Vec<App>>) -> Page {
    let app = first(&worlds)?;
    let clients = clients_of(app).await?;
    let content = html! {
        h1 { "Overview" }
        (warnings(&worlds).await?)
        @for world in &worlds { (show_world(world)) }
        h2 { "Clients" }
        (list_clients(app, &clients))
    };
    Ok(render("Overview", Some("/console"), &content))
}

/// All clients, of both environments.
pub(super) async fn clients_of(app: &App) -> Result<Vec<ClientRow>, Refusal> {
    Ok(clients::all_clients(app.store()).await?)
}

/// An environment: its clock and its addresses.
fn show_world(app: &App) -> Markup {
    let urls = app.urls();
    let speed = app.clock().speed().as_times();
    html! {
        section {
            h2 { (capital(app.environment().as_str())) }
            dl.facts {
                dt { "Clock" }
                dd {
                    (clock(app.now(), chrono_tz::UTC)) " UTC"
                    @if speed == 0.0 { ", stopped" }
                    @else if (speed - 1.0).abs() > f64::EPSILON { ", " (speed) " times as fast" }
                }
                dt { "Interface" } dd { code { (urls.base) } }
                dt { "Tokens" } dd { code { (urls.auth) "/oauth2/token" } }
                dt { "Link pages" } dd { code { (urls.link) } }
            }
        }
    }
}

/// Vendors and receivers that do not work, with links to their pages.
async fn warnings(worlds: &[App]) -> Result<Markup, Refusal> {
    let ill: Vec<(&str, Vec<String>)> = worlds
        .iter()
        .map(|app| (app.environment().as_str(), failing_vendors(app)))
        .filter(|(_, vendors)| !vendors.is_empty())
        .collect();
    let receivers = all_subscriptions(first(worlds)?.store()).await?;
    let failing = receivers.iter().filter(|one| one.failures > 0).count();
    Ok(html! {
        @if !ill.is_empty() || failing > 0 {
            ul.notice role="list" {
                @for (environment, vendors) in ill {
                    li {
                        a href="/console/vendors" { (count(vendors.len(), "vendor")) " of the " (environment) }
                        " with errors: " (vendors.join(", ")) "."
                    }
                }
                @if failing > 0 {
                    li { a href="/console/receivers" { (count(failing, "receiver")) } " did not take the last event." }
                }
            }
        } @else {
            p { (badge(Tone::Good, "All vendors and receivers work.")) }
        }
    })
}

/// Names of the vendors whose devices or log-ins fail.
fn failing_vendors(app: &App) -> Vec<String> {
    let now = app.now();
    let vendors = app.vendors();
    let failing = vendors.iter().filter(|vendor| {
        let health = vendor.health(now);
        health.devices != Health::Ready || health.linking != Health::Ready
    });
    failing.map(|vendor| vendor.profile().display_name.clone()).collect()
}

/// Clients with their homes and devices.
pub(super) fn list_clients(app: &App, clients: &[ClientRow]) -> Markup {
    if clients.is_empty() {
        let environment = app.environment().as_str();
        return html! {
            p { "There is no client yet. Make one: " code {
                "slackwater-api client create --environment " (environment) " --name NAME"
            } }
        };
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Clients" {
            table.stack {
                thead { tr {
                    th { "Client" } th { "Environment" } th.number { "Homes" }
                    th.number { "Vehicles" } th.number { "Chargers" } th.number { "Other" }
                } }
                tbody {
                    @for ClientRow { client, secret_hash } in clients.iter().take(CLIENTS_MAX) {
                        @let [homes, vehicles, chargers, others] =
                            app.cache().read(|tables| sizes(tables, &client.id));
                        tr {
                            td {
                                a href=(address("/console/homes", &[("client", &client.id)])) {
                                    (name_of(client))
                                }
                                @if secret_hash == REVOKED { " " (badge(Tone::Bad, "revoked")) }
                                small { code { (client.id) } }
                            }
                            td { (client.environment.as_str()) }
                            td.number data-label="Homes" { (homes) }
                            td.number data-label="Vehicles" { (vehicles) }
                            td.number data-label="Chargers" { (chargers) }
                            td.number data-label="Other" { (others) }
                        }
                    }
                }
            }
        }
        @if clients.len() > CLIENTS_MAX {
            p { "And " (count(clients.len() - CLIENTS_MAX, "client")) " more." }
        }
    }
}

/// Name of a client; its identifier if it has none.
pub(super) fn name_of(client: &Client) -> &str {
    if client.name.is_empty() { &client.id } else { &client.name }
}

/// Numbers of homes, vehicles, chargers and other devices of a client. The lists know them.
fn sizes(tables: &Tables, client_id: &str) -> [usize; 4] {
    let homes = tables.users(client_id).map_or(0, Index::len);
    let of = |kind| {
        let list = tables.list(client_id, None, kind);
        list.map_or(0, Index::len)
    };
    let all: usize = DeviceKind::ALL.into_iter().map(of).sum();
    let (vehicles, chargers) = (of(DeviceKind::Vehicle), of(DeviceKind::Charger));
    [homes, vehicles, chargers, all - vehicles - chargers]
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}

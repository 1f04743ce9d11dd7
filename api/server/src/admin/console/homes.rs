//! Homes of a client, and the devices of one home.
use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{Html, IntoResponse, Redirect, Response};
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use maud::{Markup, html};
use slackwater_control::device::scope::DeviceKind;
use slackwater_http::problem::Problem;
use slackwater_link::icons;
use slackwater_service::cache::tables::{OfUser, Tables};
use slackwater_service::control::facts::ControlContext;
use slackwater_service::state::App;
use slackwater_store::devices::Device;
use slackwater_store::locations::Location;
use slackwater_store::plans::KeptPlan;
use uuid::Uuid;

use crate::admin::console::frame::{Page, Refusal, address, given, render};
use crate::admin::console::overview::{clients_of, list_clients, name_of};
use crate::admin::console::words::{Tone, ago, badge, controller, count, kind, name, state};
use crate::admin::console::worlds::{first, world_of};

/// Homes on a page.
const HOMES: usize = 50;

/// A row of the list of homes.
struct Home {
    user_id: String,
    places: String,
    devices: usize,
    unreachable: usize,
    is_unlinked: bool,
}

/// Finds a device by its identifier, or homes by the beginning of theirs.
pub(crate) async fn find(State(worlds): State<Vec<App>>, uri: Uri) -> Result<Response, Refusal> {
    let wanted = given(&uri, "q").unwrap_or_default();
    let wanted = wanted.trim();
    let app = first(&worlds)?;
    if let Ok(id) = Uuid::parse_str(wanted)
        && app.cache().read(|tables| tables.any_device(id).is_some())
    {
        return Ok(Redirect::to(&format!("/console/devices/{id}")).into_response());
    }
    let clients = clients_of(app).await?;
    let has_some = |client: &str| {
        app.cache().read(|tables| tables.users_from(client, wanted, "").next().is_some())
    };
    let found = clients.iter().map(|row| &row.client).find(|client| has_some(&client.id));
    let Some(client) = found else {
        let named = app.cache().read(|tables| {
            tables.devices().find(|device| device.vendor_device == wanted).map(|device| device.id)
        });
        if let Some(id) = named {
            return Ok(Redirect::to(&format!("/console/devices/{id}")).into_response());
        }
        return Ok((StatusCode::NOT_FOUND, say_nothing_found(wanted)).into_response());
    };
    let to = address("/console/homes", &[("client", &client.id), ("find", wanted)]);
    Ok(Redirect::to(&to).into_response())
}

fn say_nothing_found(wanted: &str) -> Html<String> {
    let content = html! {
        h1 { "Nothing found" }
        p {
            "No device has the ID or the vendor's ID " code { (wanted) }
            ", and the ID of no home begins with it."
        }
        p { a href="/console/homes" { "All homes" } }
    };
    render("Nothing found", None, &content)
}

/// Shows a page of the homes of a client; without a client, the clients.
pub(crate) async fn show_homes(State(worlds): State<Vec<App>>, uri: Uri) -> Page {
    let app = first(&worlds)?;
    let clients = clients_of(app).await?;
    let wanted = given(&uri, "client");
    let client = match (&wanted, clients.as_slice()) {
        (Some(id), all) => {
            let found = all.iter().map(|row| &row.client).find(|client| client.id == *id);
            found.ok_or_else(|| Problem::no_entity("client"))?
        }
        (None, [only]) => &only.client,
        (None, all) => {
            let content = html! { h1 { "Homes" } (list_clients(app, all)) };
            return Ok(render("Homes", Some("/console/homes"), &content));
        }
    };
    let prefix = given(&uri, "find").unwrap_or_default();
    let from = given(&uri, "from").unwrap_or_default();
    let (homes, next) = app.cache().read(|tables| {
        let mut users = tables.users_from(&client.id, &prefix, &from);
        let homes: Vec<Home> =
            users.by_ref().take(HOMES).map(|user| home_of(tables, user)).collect();
        (homes, users.next().map(|user| user.id.to_string()))
    });
    let content = html! {
        h1 { "Homes of " (name_of(client)) }
        form.filter {
            input type="hidden" name="client" value=(client.id);
            label for="prefix" { "ID begins with" }
            input #prefix name="find" value=(prefix) autocomplete="off" spellcheck="false";
            button type="submit" { "Show" }
        }
        (list_homes(&client.id, &homes))
        nav.pages aria-label="Pages" {
            @if !from.is_empty() {
                a href=(address("/console/homes", &[("client", &client.id), ("find", &prefix)])) { "First page" }
            }
            @if let Some(next) = next {
                a rel="next" href=(address("/console/homes", &[
                    ("client", &client.id), ("find", &prefix), ("from", &next),
                ])) { "Next page" }
            }
        }
    };
    Ok(render("Homes", Some("/console/homes"), &content))
}

fn home_of(tables: &Tables, user: &OfUser) -> Home {
    let devices = user.device_ids();
    let is_lost = |id: &&Uuid| {
        tables.any_device(**id).is_some_and(|device| device.state.is_reachable == Some(false))
    };
    let places: Vec<String> = user.locations.iter().map(place).collect();
    Home {
        user_id: user.id.to_string(),
        places: places.join("; "),
        devices: devices.len(),
        unreachable: devices.iter().filter(is_lost).count(),
        is_unlinked: user.accounts.values().any(|account| !account.is_valid),
    }
}

/// Zone and area of a location.
fn place(location: &Location) -> String {
    let facts = &location.facts;
    let parts = [facts.zone_id.as_deref(), facts.area_id.as_deref()];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "no zone".to_owned() } else { parts.join(", ") }
}

fn list_homes(client_id: &str, homes: &[Home]) -> Markup {
    if homes.is_empty() {
        return html! { p { "No home." } };
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Homes" {
            table {
                thead { tr { th { "Home" } th { "Zone, area" } th.number { "Devices" } th { "State" } } }
                tbody {
                    @for home in homes {
                        tr {
                            td {
                                a href=(address("/console/home", &[("client", client_id), ("user", &home.user_id)])) {
                                    (home.user_id)
                                }
                            }
                            td { (home.places) }
                            td.number { (home.devices) }
                            td {
                                @if home.unreachable > 0 {
                                    (badge(Tone::Bad, &format!("{} not reachable", home.unreachable)))
                                }
                                @if home.is_unlinked { (badge(Tone::Bad, "log-in refused")) }
                                @if home.unreachable == 0 && !home.is_unlinked {
                                    (badge(Tone::Good, "connected"))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Row of a device.
struct Row {
    device: Arc<Device>,
    controller: Option<&'static str>,
    plan: Option<String>,
}

/// Shows the devices of one home.
pub(crate) async fn show_home(State(worlds): State<Vec<App>>, uri: Uri) -> Page {
    let missing = || Problem::no_entity("home");
    let client_id = given(&uri, "client").ok_or_else(missing)?;
    let user_id = given(&uri, "user").ok_or_else(missing)?;
    let app = world_of(&worlds, &client_id).await?;
    let now = app.now();
    let read = app.cache().read(|tables| {
        let user = tables.user(&client_id, &user_id)?;
        let devices = user.device_ids().into_iter().filter_map(|id| tables.any_device(id));
        let rows: Vec<Row> = devices.map(|device| row(tables, device, now)).collect();
        let accounts: Vec<(String, bool)> = user
            .accounts
            .iter()
            .map(|(vendor, account)| (vendor.to_string(), account.is_valid))
            .collect();
        Some((rows, user.locations.clone(), accounts, user.is_deauthorised))
    });
    let (rows, locations, accounts, is_deauthorised) = read.ok_or_else(missing)?;
    let content = html! {
        p.path { a href=(address("/console/homes", &[("client", &client_id)])) { "Homes" } }
        h1 { (user_id) }
        @if is_deauthorised { p.notice { "The client let go of this home's accounts." } }
        p.lead { (count(rows.len(), "device")) " at " (count(locations.len(), "location")) }
        (list_devices(&rows, now))
        h2 { "Locations" }
        @if locations.is_empty() {
            p { "None: devices wait for prices until the home has a location with a zone or a tariff." }
        }
        ul.plain {
            @for location in &locations {
                li {
                    (place(location)) @if let Some(zone) = location.facts.time_zone { ", " (zone.name()) }
                    small { code { (location.id) } }
                }
            }
        }
        h2 { "Accounts" }
        ul.plain {
            @for (vendor, is_valid) in &accounts {
                li {
                    (vendor) " "
                    @if *is_valid { (badge(Tone::Good, "linked")) } @else { (badge(Tone::Bad, "log-in refused")) }
                }
            }
        }
    };
    Ok(render(&user_id, Some("/console/homes"), &content))
}

fn row(tables: &Tables, device: &Arc<Device>, now: DateTime<Utc>) -> Row {
    let is_switched = matches!(device.kind, DeviceKind::Vehicle | DeviceKind::Charger);
    let context = ControlContext { device, tables, now };
    let time_zone = tables.whereabouts(device).and_then(|place| place.facts.time_zone);
    let plan = tables.plans.plan(device.id);
    let plan = plan.map(|plan| next_charge(plan, time_zone.unwrap_or(Tz::UTC), now));
    Row {
        device: Arc::clone(device),
        controller: is_switched.then(|| controller(&context.controller())),
        plan,
    }
}

/// The next period of charging of a plan, in words.
fn next_charge(plan: &KeptPlan, time_zone: Tz, now: DateTime<Utc>) -> String {
    let Some(planned) = plan.planned() else { return "none".to_owned() };
    let ahead = planned.summary.intervals.iter().find(|interval| interval.end > now);
    let clock = |at: DateTime<Utc>| at.with_timezone(&time_zone).format("%H:%M");
    match ahead {
        None => "done".to_owned(),
        Some(now_on) if now_on.start <= now => format!("charges until {}", clock(now_on.end)),
        Some(later) => format!("charges from {}", clock(later.start)),
    }
}

fn list_devices(rows: &[Row], now: DateTime<Utc>) -> Markup {
    html! {
        ul.devices role="list" {
            @for row in rows {
                @let device = &row.device;
                @let (tone, text) = state(device, now);
                li {
                    (icons::of(device.kind))
                    div {
                        a href={ "/console/devices/" (device.id) } { (name(device)) }
                        small { (kind(device.kind)) " of " (device.vendor) ", " (device.vendor_device) }
                    }
                    div { (badge(tone, &text)) }
                    div {
                        small { "Seen " @match device.state.heard_at {
                            Some(at) => { (ago(at, now)) }
                            None => { "never" }
                        } }
                        @if let Some(controller) = row.controller {
                            small { "Control: " (controller) }
                        }
                        @if let Some(plan) = &row.plan { small { "Plan: " (plan) } }
                    }
                }
            }
        }
    }
}

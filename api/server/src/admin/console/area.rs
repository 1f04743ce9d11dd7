//! Areas: the load of all plans of an area against its limit.
use std::sync::Arc;

use axum::extract::State;
use axum::http::Uri;
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use maud::{Markup, html};
use slackwater_control::policy::ask::price_window;
use slackwater_engine::shared_supply::{LimitStep, SharedLimit};
use slackwater_http::problem::Problem;
use slackwater_service::plans::area_load::{AreaLoad, load_of_area};
use slackwater_service::state::App;
use slackwater_store::locations::LocationFacts;
use tokio::task::spawn_blocking;

use crate::admin::console::chart::{Chart, Drawing, Level, Panel, Step};
use crate::admin::console::frame::{Page, address, given, render};
use crate::admin::console::words::{Tone, badge, clock, count, energy, power};
use crate::admin::console::worlds::{first, world_of};

/// Time ahead that a chart shows.
const AHEAD: TimeDelta = TimeDelta::hours(24);

/// Most areas, and most clients of an area, that a page lists.
const LISTED_MAX: usize = 200;

/// Most changes of a limit that are told in words. The chart shows all.
const LIMITS_SHOWN: usize = 6;

/// Shows the areas.
pub(crate) async fn show_areas(State(worlds): State<Vec<App>>) -> Page {
    let app = first(&worlds)?;
    let (areas, more) = app.cache().read(|tables| {
        let mut all = tables.plans.areas();
        let listed = all.by_ref().take(LISTED_MAX);
        let listed: Vec<(String, String, usize)> =
            listed.map(|(zone, area, homes)| (zone.to_owned(), area.to_owned(), homes)).collect();
        (listed, all.count())
    });
    let limit = |zone: &str, area: &str| app.area_limit(zone, area)?.at(app.now());
    let content = html! {
        h1 { "Areas" }
        @if areas.is_empty() {
            p { "No home has a location in an area of a market zone." }
        } @else {
            div.scroll tabindex="0" role="region" aria-label="Areas" {
                table {
                    thead { tr { th { "Area" } th { "Market zone" } th.number { "Homes" } th.number { "Limit" } } }
                    tbody {
                        @for (zone, area, homes) in &areas {
                            tr {
                                td { a href=(address("/console/area", &[("zone", zone), ("area", area)])) { (area) } }
                                td { (zone) }
                                td.number { (homes) }
                                td.number { (limit(zone, area).map_or_else(|| "none".to_owned(), power)) }
                            }
                        }
                    }
                }
            }
        }
        @if more > 0 { p { "And " (count(more, "area")) " more." } }
        p.hint { "Limits now. " code { "slackwater-api limit set" } " changes them, also for periods; " code { "[[plans.limits]]" } " of the settings count where nothing is set." }
    };
    Ok(render("Areas", Some("/console/areas"), &content))
}

/// Shows an area: for the client that the request names, else for the first one with homes there.
pub(crate) async fn show_area(State(worlds): State<Vec<App>>, uri: Uri) -> Page {
    let missing = || Problem::no_entity("area");
    let zone = given(&uri, "zone").ok_or_else(missing)?;
    let area = given(&uri, "area").ok_or_else(missing)?;
    let clients = clients_in(first(&worlds)?, &zone, &area);
    let wanted = given(&uri, "client");
    let chosen = match &wanted {
        Some(id) => clients.iter().find(|client| ***client == **id),
        None => clients.first(),
    };
    let chosen = chosen.ok_or_else(missing)?;
    let app = world_of(&worlds, chosen).await?;
    let window = (price_window(app.now()).0, price_window(app.now()).0 + AHEAD);
    let load = {
        let (app, client, zone, area) =
            (app.clone(), Arc::clone(chosen), zone.clone(), area.clone());
        // A sum over all plans of the area: seconds, if it has a million.
        let work = move || load_of_area(&app, (&client, &zone, &area), window);
        spawn_blocking(work).await.map_err(|_| Problem::server_error())?
    };
    let time_zone = time_zone_of(&app, chosen, &zone, &area);
    let content = html! {
        p.path { a href="/console/areas" { "Areas" } }
        h1 { (area) }
        p.lead { "Market zone " (zone) }
        @if clients.len() > 1 {
            nav.pages aria-label="Clients" {
                @for client in &clients {
                    a href=(address("/console/area", &[("zone", &zone), ("area", &area), ("client", client)]))
                        aria-current=[(client == chosen).then_some("true")] { (client) }
                }
            }
        }
        (show_load(&load, window, time_zone))
        (draw_load(&app, &load, window, time_zone))
    };
    Ok(render(&area, Some("/console/areas"), &content))
}

/// Clients with homes in an area, at most so many as are listed.
fn clients_in(app: &App, zone: &str, area: &str) -> Vec<Arc<str>> {
    app.cache().read(|tables| {
        let next = |after: &str| tables.plans.next_client_in(zone, area, after);
        let all = std::iter::successors(next(""), |client| next(client));
        all.take(LISTED_MAX).collect()
    })
}

/// Time zone of the first home in an area.
fn time_zone_of(app: &App, client: &str, zone: &str, area: &str) -> Tz {
    app.cache()
        .read(|tables| {
            let mut residents = tables.plans.residents(zone, Some(area));
            let (_, user) = residents.find(|(owner, _)| **owner == *client)?;
            let is_there = |facts: &LocationFacts| {
                facts.zone_id.as_deref() == Some(zone) && facts.area_id.as_deref() == Some(area)
            };
            let locations = &tables.user(client, user)?.locations;
            locations.iter().find(|place| is_there(&place.facts))?.facts.time_zone
        })
        .unwrap_or(Tz::UTC)
}

fn show_load(area: &AreaLoad, (from, to): (DateTime<Utc>, DateTime<Utc>), time_zone: Tz) -> Markup {
    let load = &area.load;
    let above = load.time_above.num_minutes();
    html! {
        dl.facts {
            dt { "Devices" }
            dd { (count(area.devices, "device")) " under a policy, " (area.planned) " with a plan" }
            dt { "Planned" } dd { (energy(load.energy)) " in the next 24 hours" }
            dt { "Highest load" } dd { (power(load.peak)) }
            dt { "Limit" }
            dd { @match &area.limit {
                None => { "none" }
                Some(limit) => {
                    (show_limit(&limit.steps(from, to), time_zone)) " "
                    @if above == 0 { (badge(Tone::Good, "kept")) }
                    @else { (badge(Tone::Bad, &format!("exceeded for {above} min"))) }
                }
            } }
        }
    }
}

/// Limit at the start of a window, and its changes within it.
fn show_limit(steps: &[LimitStep], time_zone: Tz) -> Markup {
    let text = |step: &LimitStep| step.power_max.map_or_else(|| "none".to_owned(), power);
    html! {
        @for (number, step) in steps.iter().take(LIMITS_SHOWN).enumerate() {
            @if number > 0 { ", from " (clock(step.start, time_zone)) " " }
            (text(step))
        }
    }
}

/// Limit of an area as a level of a chart; `None` if nothing is limited in the window.
fn level_of(limit: &SharedLimit, (from, to): (DateTime<Utc>, DateTime<Utc>)) -> Option<Level> {
    let steps = limit.steps(from, to);
    let limited = steps.iter().filter_map(|step| {
        Some(Step { start: step.start, end: step.end, value: step.power_max?.as_kw() })
    });
    let steps: Vec<Step> = limited.collect();
    (!steps.is_empty()).then(|| Level { name: "limit".to_owned(), steps })
}

fn draw_load(
    app: &App,
    area: &AreaLoad,
    (from, to): (DateTime<Utc>, DateTime<Utc>),
    time_zone: Tz,
) -> Markup {
    let steps = area.load.steps.iter().map(|step| Step {
        start: step.start,
        end: step.end,
        value: step.power.as_kw(),
    });
    let chart = Chart {
        label: "Planned load of the area over the next 24 hours, against its limit".to_owned(),
        from,
        to,
        time_zone,
        marks: vec![(app.now(), "now".to_owned())],
        bands: Vec::new(),
        panels: vec![Panel {
            title: "Planned load, kW".to_owned(),
            drawing: Drawing::Area,
            steps: steps.collect(),
            limit: area.limit.as_ref().and_then(|limit| level_of(limit, (from, to))),
        }],
    };
    html! {
        figure {
            (chart.draw())
            figcaption { "Sum of the plans of all devices. Times of " (time_zone.name()) "." }
        }
        details {
            summary { "Load as a table" }
            div.scroll tabindex="0" role="region" aria-label="Load" {
                table {
                    thead { tr { th { "From" } th.number { "Load" } } }
                    tbody {
                        @for step in area.load.steps.iter().take(LISTED_MAX) {
                            tr { td { (clock(step.start, time_zone)) } td.number { (power(step.power)) } }
                        }
                    }
                }
            }
        }
    }
}

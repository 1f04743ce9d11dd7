//! One device: its state, and its plan over the prices with reasons and certificate.
use std::sync::Arc;

use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use maud::{Markup, html};
use slackwater_control::device::control::Controller;
use slackwater_control::device::scope::DeviceKind;
use slackwater_control::policy::ask::price_window;
use slackwater_engine::plan::Interval;
use slackwater_engine::plan::charge::Plan;
use slackwater_engine::plan::record::PlanSummary;
use slackwater_engine::prices::resolve::{ResolvedSlot, Source};
use slackwater_http::request::Path;
use slackwater_service::cache::price_lookup::{Priced, Purpose};
use slackwater_service::control::facts::ControlContext;
use slackwater_service::plans::crowding::{CROWDED, CrowdingDevice, find_crowding_devices};
use slackwater_service::plans::show::{OpenedPlan, ShownPlan, open_plan};
use slackwater_service::state::App;
use slackwater_service::words::{NOTHING_LEFT, SHARED_REASON};
use slackwater_store::actions::Action;
use slackwater_store::devices::Device;
use slackwater_store::error::StoreError;
use slackwater_store::locations::Location;

use crate::admin::console::chart::{Chart, Drawing, Panel, Step};
use crate::admin::console::frame::{Page, address, render};
use crate::admin::console::unit;
use crate::admin::console::words::{
    Tone, ago, badge, cause, clock, command, controller, energy, kind, money, name, percent,
    period, state, trimmed,
};
use crate::admin::console::worlds::device_of;

/// Longest time that a chart shows: two nights.
const SHOWN_MAX: TimeDelta = TimeDelta::hours(36);

/// Shortest time that a chart shows.
const SHOWN_MIN: TimeDelta = TimeDelta::hours(18);

/// All that a page of a device is made of.
struct View {
    device: Arc<Device>,
    now: DateTime<Utc>,
    location: Option<Location>,
    time_zone: Tz,
    controller: Controller,
    pending: Option<Arc<Action>>,
    opened: Option<OpenedPlan>,
    /// Prices of the plan; without one, those of the location now.
    priced: Option<Priced>,
    /// Devices that use the limit of the area while this one waits.
    crowding: Vec<CrowdingDevice>,
}

/// Shows a device.
pub(crate) async fn show_device(
    State(worlds): State<Vec<App>>,
    Path(device): Path<String>,
) -> Page {
    let (app, device) = device_of(&worlds, &device).await?;
    let view = View::read(&app, device).await?;
    let device = &view.device;
    let home =
        address("/console/home", &[("client", &device.client_id), ("user", &device.user_id)]);
    let content = html! {
        p.path { a href="/console/homes" { "Homes" } " / " a href=(home) { (device.user_id) } }
        h1 { (name(device)) }
        p.lead { (kind(device.kind)) " of " (device.vendor) }
        (view.show_facts())
        @if view.is_planned() {
            h2 { "Plan" }
            (view.show_plan())
            (view.show_commands())
        } @else if device.kind == DeviceKind::Hvac {
            h2 { "Plan" }
            (unit::show_plan(&app, device.id, view.time_zone))
        }
    };
    Ok(render(&name(device), Some("/console/homes"), &content))
}

impl View {
    async fn read(app: &App, device: Arc<Device>) -> Result<Self, StoreError> {
        let now = app.now();
        let mut opened = open_plan(app, device.id).await?;
        let (location, controller, pending) = app.cache().read(|tables| {
            let context = ControlContext { device: &device, tables, now };
            let location = tables.whereabouts(&device).cloned();
            (location, context.controller(), tables.control().pending(device.id).cloned())
        });
        let sheet = opened.as_mut().and_then(|opened| opened.sheet.take());
        let is_flex = opened.as_ref().is_some_and(|opened| opened.shown.flex_policy_id.is_some());
        let purpose = if is_flex { Purpose::Flex } else { Purpose::SmartCharging };
        let of_sheet = sheet.map(|sheet| Priced { prices: sheet.prices, currency: sheet.currency });
        let priced = of_sheet.or_else(|| {
            let location = location.as_ref()?;
            Some(app.price_book().resolved(location, purpose, price_window(now)))
        });
        let time_zone = location.as_ref().and_then(|location| location.facts.time_zone);
        let time_zone = time_zone.unwrap_or(Tz::UTC);
        let crowding = find_crowding_devices(app, &device);
        Ok(Self { device, now, location, time_zone, controller, pending, opened, priced, crowding })
    }

    /// True if the device is of a kind that plans are made for.
    fn is_planned(&self) -> bool {
        matches!(self.device.kind, DeviceKind::Vehicle | DeviceKind::Charger)
    }

    fn show_facts(&self) -> Markup {
        let device = &self.device;
        let (tone, text) = state(device, self.now);
        html! {
            dl.facts {
                dt { "State" } dd { (badge(tone, &text)) }
                dt { "Last seen" }
                dd { @match device.state.heard_at {
                    Some(at) => { (ago(at, self.now)) }
                    None => { "never" }
                } }
                @if self.is_planned() {
                    dt { "Control" } dd { (controller(&self.controller)) }
                }
                dt { "Pending command" }
                dd { @match &self.pending {
                    Some(action) => {
                        (command(&action.command)) ", since " (clock(action.progress.created_at, self.time_zone))
                    }
                    None => { "none" }
                } }
                dt { "Location" }
                dd { @match &self.location {
                    Some(location) => {
                        (location.facts.zone_id.as_deref().unwrap_or("no zone"))
                        @if let Some(area) = &location.facts.area_id { ", " (area) }
                        ", " (self.time_zone.name())
                    }
                    None => { "at no known location" }
                } }
                dt { "ID" } dd { code { (device.id) } }
                dt { "Vendor's ID" } dd { code { (device.vendor_device) } }
            }
        }
    }

    fn show_plan(&self) -> Markup {
        let Some(opened) = &self.opened else {
            return html! {
                p { "No policy asks for a plan." }
                (self.draw(&[], None))
            };
        };
        let shown = &opened.shown;
        let about = html! {
            p.hint {
                "Made " (ago(shown.made_at, self.now)) " because " (cause(shown.cause)) "."
                @if let Some(at) = shown.review_at { " Next look: " (clock(at, self.time_zone)) "." }
            }
        };
        let Some(plan) = &shown.plan else {
            return html! {
                @if shown.idle.is_some() {
                    @for sentence in shown.sentences(self.time_zone) { p.notice { (sentence.text) } }
                }
                (self.draw(&[], None))
                (about)
            };
        };
        let currency = self.priced.as_ref().map_or("XXX", |priced| priced.currency.as_str());
        html! {
            (self.show_sums(shown, plan, opened.plan.as_ref(), currency))
            (self.draw(&plan.intervals, shown.cycle.and_then(|cycle| cycle.promise).map(|one| one.by)))
            (self.show_reasons(shown, plan))
            (show_certificate(shown, plan, opened.plan.as_ref(), currency))
            (about)
        }
    }

    /// Energy that is charged, by when, and for how much.
    fn show_sums(
        &self,
        shown: &ShownPlan,
        plan: &PlanSummary,
        whole: Option<&Plan>,
        currency: &str,
    ) -> Markup {
        let promise = shown.cycle.and_then(|cycle| cycle.promise);
        html! {
            dl.facts {
                dt { "Energy" } dd { (energy(plan.energy)) }
                @if let Some(promise) = promise {
                    dt { "Ready" }
                    dd {
                        (clock(promise.by, self.time_zone))
                        @if let Some(target) = promise.target { ", with " (percent(target)) }
                    }
                }
                dt { "Cost" }
                dd {
                    (money(plan.cost, currency)) "; at full power from plug-in "
                    (money(plan.baseline_cost, currency))
                    @if let Some(whole) = whole { "; saves " strong { (money(whole.savings(), currency)) } }
                }
                @if !plan.shortfall.is_zero() {
                    dt { "Missing" }
                    dd { (badge(Tone::Bad, &format!("{} at a deadline", energy(plan.shortfall)))) }
                }
            }
        }
    }

    /// A sentence for each period of charging.
    fn show_reasons(&self, shown: &ShownPlan, plan: &PlanSummary) -> Markup {
        let is_explained = !shown.reasons.is_empty();
        html! {
            h3 { "Why" }
            ol.reasons {
                @if is_explained {
                    @for reason in &shown.reasons { li { (reason.sentence(self.time_zone, shown.currency())) } }
                } @else if plan.intervals.is_empty() {
                    li { (NOTHING_LEFT) }
                } @else {
                    @for interval in &plan.intervals {
                        li {
                            (period(interval.start, interval.end, self.time_zone))
                            ": " (SHARED_REASON) "."
                        }
                    }
                }
            }
            (self.show_crowding())
        }
    }

    /// Devices that use the limit of the area while this one waits.
    fn show_crowding(&self) -> Markup {
        html! {
            @if !self.crowding.is_empty() {
                p { (CROWDED) ":" }
                ul {
                    @for other in &self.crowding {
                        li {
                            a href={ "/console/devices/" (other.device_id) } { (other.name) }
                            " of " (other.user_id) ", " (format!("{:.1} kW", other.power_kw))
                        }
                    }
                }
            }
        }
    }

    /// The prices with the periods of charging, and the power of these.
    fn draw(&self, intervals: &[Interval], deadline: Option<DateTime<Utc>>) -> Markup {
        let slots: Vec<ResolvedSlot> =
            self.priced.iter().flat_map(|priced| priced.prices.slots()).collect();
        if slots.is_empty() && intervals.is_empty() {
            return html! { p.hint { "No prices are known for this device." } };
        }
        let (from, to) = self.window(&slots, intervals, deadline);
        let slots: Vec<ResolvedSlot> =
            slots.into_iter().filter(|one| one.slot.end > from && one.slot.start < to).collect();
        let prices = slots.iter().map(|one| Step {
            start: one.slot.start,
            end: one.slot.end,
            value: one.slot.price.as_per_kwh(),
        });
        let powers = intervals.iter().map(|interval| Step {
            start: interval.start,
            end: interval.end,
            value: interval.power.as_kw(),
        });
        let currency = self.priced.as_ref().map_or("XXX", |priced| priced.currency.as_str());
        let mut panels = vec![Panel {
            title: format!("Price, {currency} per kWh ({})", sources(&slots)),
            drawing: Drawing::Line,
            steps: prices.collect(),
            limit: None,
        }];
        if !intervals.is_empty() {
            panels.push(Panel {
                title: "Charging, kW".to_owned(),
                drawing: Drawing::Area,
                steps: powers.collect(),
                limit: None,
            });
        }
        let mut marks = vec![(self.now, "now".to_owned())];
        marks.extend(deadline.map(|at| (at, "ready by".to_owned())));
        let label = "Prices over time, with the periods in which the device charges".to_owned();
        let bands = intervals.iter().map(|one| (one.start, one.end)).collect();
        let chart = Chart { label, from, to, time_zone: self.time_zone, marks, bands, panels };
        html! {
            figure {
                (chart.draw())
                figcaption { "Shaded: the device charges. Times of " (self.time_zone.name()) "." }
            }
            (self.list_prices(&slots))
        }
    }

    /// The period that a chart shows: from the first price or charge to after the last charge.
    fn window(
        &self,
        slots: &[ResolvedSlot],
        intervals: &[Interval],
        deadline: Option<DateTime<Utc>>,
    ) -> (DateTime<Utc>, DateTime<Utc>) {
        let starts = slots.first().map(|one| one.slot.start).into_iter();
        let starts = starts.chain(intervals.first().map(|one| one.start));
        let from = starts.chain([self.now]).min().unwrap_or(self.now);
        let ends = intervals.last().map(|one| one.end).into_iter().chain(deadline);
        let to = ends.max().unwrap_or(self.now) + TimeDelta::hours(2);
        let to = to.clamp(from + SHOWN_MIN, from + SHOWN_MAX);
        let known = slots.last().map(|one| one.slot.end).filter(|end| *end > self.now);
        (from, known.map_or(to, |known| to.min(known.max(from + TimeDelta::hours(1)))))
    }

    fn list_prices(&self, slots: &[ResolvedSlot]) -> Markup {
        html! {
            details {
                summary { "Prices as a table" }
                div.scroll tabindex="0" role="region" aria-label="Prices" {
                    table {
                        thead { tr { th { "From" } th.number { "Price per kWh" } th { "Source" } } }
                        tbody {
                            @for one in slots {
                                tr {
                                    td { (clock(one.slot.start, self.time_zone)) }
                                    td.number { (trimmed(one.slot.price.as_per_kwh(), 4)) }
                                    td { (source(one.source)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Commands for this device, as they can be copied.
    fn show_commands(&self) -> Markup {
        let id = self.device.id;
        html! {
            h2 { "On the command line" }
            pre tabindex="0" {
                "slackwater-api command override " (id) "  # charge now\n"
                "slackwater-api policy show " (id) "\n"
                "slackwater-api plan show " (id) "  # with all inputs, for slackwater explain\n"
            }
        }
    }
}

/// Proof of the plan's cost, or why it has none.
fn show_certificate(
    shown: &ShownPlan,
    plan: &PlanSummary,
    whole: Option<&Plan>,
    currency: &str,
) -> Markup {
    html! {
        h3 { "Certificate" }
        @match whole {
            Some(whole) if whole.certificate.is_proved() => {
                p {
                    (badge(Tone::Good, "proved cheapest"))
                    " By weak duality every plan for this request costs at least "
                    (money(whole.certificate.bound, currency)) "; this one costs "
                    (money(whole.certificate.cost, currency)) "."
                }
            }
            Some(whole) => {
                p {
                    (badge(Tone::Plain, "near the cheapest"))
                    " No plan costs less than " (money(whole.certificate.bound, currency))
                    "; this one costs " (money(whole.certificate.gap(), currency))
                    " more, because it was kept near the plan before or its prices changed."
                }
            }
            None if shown.is_shared => {
                p {
                    (badge(Tone::Plain, "within a shared limit"))
                    " Alone the device would pay at least " (money(plan.bound, currency))
                    "; beside the others of its area it pays " (money(plan.cost, currency)) "."
                }
            }
            None => { p { "The plan cannot be made again: its prices are gone." } }
        }
    }
}

/// Sources of prices, each once.
fn sources(slots: &[ResolvedSlot]) -> String {
    let is_used = |wanted: &Source| slots.iter().any(|one| one.source == *wanted);
    let used: Vec<&str> = Source::ALL.into_iter().filter(is_used).map(source).collect();
    if used.is_empty() { "none known".to_owned() } else { used.join(" and ") }
}

const fn source(source: Source) -> &'static str {
    match source {
        Source::PriceSignal => "price signal",
        Source::Tariff => "tariff",
        Source::Market => "market",
    }
}

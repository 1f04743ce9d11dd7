//! Plan of a heating or cooling unit: prices, power and temperature, with reasons and certificate.
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use maud::{Markup, html};
use slackwater_control::device::command::Command;
use slackwater_control::policy::comfort_move::UnitMove;
use slackwater_engine::plan::heat::{HeatMode, HeatPlan, HeatSlot};
use slackwater_service::plans::unit::{ShownUnit, show_unit};
use slackwater_service::state::App;
use uuid::Uuid;

use crate::admin::console::chart::{Chart, Drawing, Level, Panel, Step};
use crate::admin::console::words::{Tone, ago, badge, clock, command, energy, money, trimmed};

/// The plan of a unit, or that there is none.
pub(crate) fn show_plan(app: &App, device_id: Uuid, time_zone: Tz) -> Markup {
    let Some(shown) = show_unit(app, device_id) else {
        return html! { p { "No comfort policy asks for a plan, or the unit was not read yet." } };
    };
    let plan = &shown.plan;
    let now = app.now();
    html! {
        (show_sums(&shown, time_zone))
        @if !plan.slots.is_empty() { (draw_plan(plan, &shown.currency, time_zone, now)) }
        h3 { "Why" }
        ol.reasons {
            @for sentence in &shown.sentences { li { (sentence) } }
            @if shown.sentences.is_empty() {
                li { "The unit rests: its thermostat keeps the band." }
            }
        }
        (show_certificate(&shown))
        p.hint { "Made " (ago(shown.made_at, now)) "." }
        h2 { "On the command line" }
        pre tabindex="0" {
            "slackwater-api policy show " (device_id) "\n"
            "slackwater-api plan show " (device_id) "\n"
            "slackwater-api command follow-schedule " (device_id) "  # leave the unit alone for a while\n"
        }
    }
}

fn show_sums(shown: &ShownUnit, time_zone: Tz) -> Markup {
    let plan = &shown.plan;
    let degree_hours = plan.discomfort.total();
    html! {
        dl.facts {
            dt { "Energy" } dd { (energy(plan.used)) }
            dt { "Cost" }
            dd {
                (money(plan.cost, &shown.currency)) "; a thermostat "
                (money(plan.baseline.cost, &shown.currency))
            }
            @if degree_hours > 0.0 {
                dt { "Outside the band" } dd { (trimmed(degree_hours, 2)) " °C·h" }
            }
            dt { "Command" }
            dd {
                @match shown.step {
                    None => { (badge(Tone::Bad, "the unit does not answer")) }
                    Some(UnitMove::Order(hold)) => { (command(&Command::Hold(hold))) }
                    Some(UnitMove::StepBack(until)) => {
                        "left to whoever set the unit, until " (clock(until, time_zone))
                    }
                    Some(UnitMove::Wait(_)) => { "waits for the unit" }
                    Some(UnitMove::Rest) => { "the unit is set as planned" }
                }
                @if let Some(reason) = &shown.refused { " " (badge(Tone::Bad, reason)) }
            }
            @if !shown.has_temperature {
                dt { "Temperature" } dd { "unknown, so that the thermostat keeps the band" }
            }
        }
    }
}

fn show_certificate(shown: &ShownUnit) -> Markup {
    let certificate = &shown.plan.certificate;
    html! {
        h3 { "Certificate" }
        p {
            @if certificate.is_proved() {
                (badge(Tone::Good, "proved cheapest"))
                " No plan with as few degree-hours outside the band costs less."
            } @else {
                (badge(Tone::Plain, "near the cheapest"))
                " A plan with as few degree-hours outside the band costs at most "
                (money(certificate.gap(), &shown.currency)) " less."
            }
        }
    }
}

/// Prices, power and temperature over time.
fn draw_plan(plan: &HeatPlan, currency: &str, time_zone: Tz, now: DateTime<Utc>) -> Markup {
    let steps = |value: &dyn Fn(&HeatSlot) -> Option<f64>| -> Vec<Step> {
        let step =
            |slot: &HeatSlot| Some(Step { start: slot.start, end: slot.end, value: value(slot)? });
        plan.slots.iter().filter_map(step).collect()
    };
    let (edge, name) = match plan.mode {
        HeatMode::Heat => (steps(&|slot| Some(slot.temperature_min.as_celsius())), "lowest"),
        HeatMode::Cool => (steps(&|slot| Some(slot.temperature_max.as_celsius())), "highest"),
    };
    let panel = |title: String, drawing, steps, limit| Panel { title, drawing, steps, limit };
    let panels = vec![
        panel(
            format!("Price, {currency} per kWh"),
            Drawing::Line,
            steps(&|slot| Some(slot.price?.as_per_kwh())),
            None,
        ),
        panel(
            "Power, kW".to_owned(),
            Drawing::Area,
            steps(&|slot| Some(slot.power().as_kw())),
            None,
        ),
        panel(
            "Temperature, °C".to_owned(),
            Drawing::Level,
            steps(&|slot| Some(slot.temperature.as_celsius())),
            Some(Level { name: name.to_owned(), steps: edge }),
        ),
    ];
    let from = plan.slots.first().map_or(now, |slot| slot.start);
    let to = plan.slots.last().map_or(now, |slot| slot.end);
    let bands = plan.intervals.iter().map(|one| (one.start, one.end)).collect();
    let label = "Prices, power and temperature over time".to_owned();
    let marks = vec![(now, "now".to_owned())];
    let chart = Chart { label, from, to, time_zone, marks, bands, panels };
    html! {
        figure {
            (chart.draw())
            figcaption { "Shaded: the unit runs. Times of " (time_zone.name()) "." }
        }
    }
}

//! State of a device as JSON, of which each entity shows a member.
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};
use slackwater_control::device::command::Switch;
use slackwater_control::device::control::Controller;
use slackwater_control::policy::switch::{NextSwitches, find_next_switches};
use slackwater_engine::plan::record::PlanSummary;
use slackwater_service::plans::show::PlanSentence;
use slackwater_service::words::NOTHING_LEFT;

use crate::discovery::{OFF, ON};
use crate::view::DeviceView;

/// Longest state of an entity in Home Assistant, in characters.
const STATE_LENGTH_MAX: usize = 255;

/// Periods and sentences in the attributes, at most: Home Assistant keeps no history of more than
/// 16 KiB of attributes.
const LISTED_MAX: usize = 24;

/// Word for the present state of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanWord {
    /// The plan has the device charge now.
    Charging,
    /// The plan has the device charge later.
    Waiting,
    /// Nothing is left to charge.
    Done,
    /// An override has the device charge now.
    Override,
    /// A schedule controls the device.
    Schedule,
    /// There is no plan that is followed.
    NoPlan,
}

impl PlanWord {
    /// All words.
    pub const ALL: [Self; 6] =
        [Self::Charging, Self::Waiting, Self::Done, Self::Override, Self::Schedule, Self::NoPlan];

    /// The word in messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Charging => "charging",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Override => "override",
            Self::Schedule => "schedule",
            Self::NoPlan => "no_plan",
        }
    }
}

/// State of a device at an instant.
#[must_use]
pub fn describe_state(view: &DeviceView, now: DateTime<Utc>) -> Value {
    let shown = view.plan.as_deref();
    let summary = shown.and_then(|shown| shown.plan.as_ref());
    let next = match (&view.controller, summary) {
        (Controller::Override | Controller::SmartCharging, Some(summary)) => {
            find_next_switches(&summary.intervals, now)
        }
        _ => NextSwitches::default(),
    };
    let sentences = shown.map(|shown| shown.sentences(view.time_zone)).unwrap_or_default();
    let charge_now = if view.controller == Controller::Override { ON } else { OFF };
    let sums = |value: fn(&PlanSummary) -> f64| summary.map(value);
    json!({
        "plan": choose_word(view, summary.is_some(), next).as_str(),
        "reason": shorten_text(choose_reason(view, summary.is_some(), &sentences, now)),
        "next_start": next.on.map(format_instant),
        "next_end": next.off.map(format_instant),
        "energy_kwh": sums(|plan| plan.energy.as_kwh()),
        "cost": sums(|plan| plan.cost.as_amount()),
        "charge_now": charge_now,
        "attributes": {
            "next_start": next.on.map(format_instant),
            "next_end": next.off.map(format_instant),
            "ready_by": shown
                .and_then(|shown| shown.cycle?.promise)
                .map(|promise| format_instant(promise.by)),
            "energy_kwh": sums(|plan| plan.energy.as_kwh()),
            "cost": sums(|plan| plan.cost.as_amount()),
            "cost_without_plan": sums(|plan| plan.baseline_cost.as_amount()),
            "shortfall_kwh": sums(|plan| plan.shortfall.as_kwh()),
            "currency": view.card.currency,
            "made_at": shown.map(|shown| format_instant(shown.made_at)),
            "periods": summary.map(|summary| list_periods(summary, now)),
            "reasons": list_sentences(&sentences, now),
        },
    })
}

fn choose_word(view: &DeviceView, is_planned: bool, next: NextSwitches) -> PlanWord {
    match view.controller {
        Controller::Override => PlanWord::Override,
        Controller::Schedule(_) => PlanWord::Schedule,
        Controller::Nobody => PlanWord::NoPlan,
        Controller::SmartCharging => match view.order {
            Some(Switch::Start) => PlanWord::Charging,
            _ if !is_planned => PlanWord::NoPlan,
            _ if next.on.is_some() => PlanWord::Waiting,
            _ => PlanWord::Done,
        },
    }
}

/// The sentence about the period that lasts or comes next, or about who else is in control.
fn choose_reason<'a>(
    view: &DeviceView,
    is_planned: bool,
    sentences: &'a [PlanSentence],
    now: DateTime<Utc>,
) -> &'a str {
    match view.controller {
        Controller::Override => "Charges now, because somebody asked for it. The plan waits.",
        Controller::Schedule(_) => "A schedule says when to charge.",
        Controller::Nobody if is_planned => "Smart charging does not control the device now.",
        Controller::Nobody | Controller::SmartCharging => {
            let present =
                filter_ahead(sentences, now).next().map(|sentence| sentence.text.as_str());
            present.unwrap_or(if is_planned { NOTHING_LEFT } else { "There is no plan." })
        }
    }
}

/// Sentences about what is not over.
fn filter_ahead(
    sentences: &[PlanSentence],
    now: DateTime<Utc>,
) -> impl Iterator<Item = &PlanSentence> {
    sentences.iter().filter(move |sentence| sentence.until.is_none_or(|until| now < until))
}

fn list_sentences(sentences: &[PlanSentence], now: DateTime<Utc>) -> Vec<&str> {
    filter_ahead(sentences, now).take(LISTED_MAX).map(|sentence| sentence.text.as_str()).collect()
}

/// Periods of charging that are not over.
fn list_periods(summary: &PlanSummary, now: DateTime<Utc>) -> Vec<Value> {
    let ahead = summary.intervals.iter().filter(|interval| now < interval.end);
    let period = |interval: &slackwater_engine::Interval| {
        json!({
            "start": format_instant(interval.start),
            "end": format_instant(interval.end),
            "power_kw": interval.power.as_kw(),
        })
    };
    ahead.take(LISTED_MAX).map(period).collect()
}

fn format_instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// A text that Home Assistant takes as a state.
fn shorten_text(text: &str) -> String {
    if text.chars().count() <= STATE_LENGTH_MAX {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(STATE_LENGTH_MAX - 1).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chrono::TimeDelta;
    use chrono_tz::Tz;
    use expect_test::{Expect, expect};
    use slackwater_control::policy::ask::{Cause, NoRequest};
    use slackwater_engine::plan::charge::{
        ChargeProblem, ChargeRequest, Plan, Target, explain, plan_charge,
    };
    use slackwater_engine::prices::curve::{PriceCurve, Slot};
    use slackwater_engine::units::{kw, kwh, per_kwh};
    use slackwater_service::plans::show::ShownPlan;
    use slackwater_service::words::SHARED_REASON;
    use uuid::Uuid;

    use super::*;
    use crate::view::DeviceCard;

    fn at(hours: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::hours(hours)
    }

    /// Ten kWh at 7 kW over four hours at 0.30, 0.10, 0.40 and 0.20.
    fn plan() -> Plan {
        let hours = (0..).zip([0.30, 0.10, 0.40, 0.20]);
        let slot =
            |(hour, price)| Slot { start: at(hour), end: at(hour + 1), price: per_kwh(price) };
        let curve = PriceCurve::new(&hours.map(slot).collect::<Vec<_>>()).unwrap();
        let target = Target { by: Some(at(4)), energy: kwh(10.0) };
        let request = ChargeRequest::new(at(0), kw(7.0), target);
        plan_charge(&curve, &ChargeProblem::new(request).unwrap())
    }

    fn view(controller: Controller, plan: Option<&Plan>, idle: Option<NoRequest>) -> DeviceView {
        let shown = ShownPlan {
            device_id: Uuid::from_u128(7),
            flex_policy_id: None,
            made_at: at(0),
            cause: Cause::PluggedIn,
            review_at: None,
            cycle: None,
            idle,
            price_gap: None,
            plan: plan.map(PlanSummary::from),
            reasons: plan.map(explain).unwrap_or_default(),
            shared_reason: None,
            is_shared: false,
            saved: None,
        };
        DeviceView {
            card: DeviceCard {
                id: Uuid::from_u128(7),
                name: "Blue car".to_owned(),
                manufacturer: None,
                model: None,
                currency: Some("NOK".to_owned()),
            },
            controller,
            order: None,
            time_zone: Tz::Europe__Oslo,
            plan: Some(Arc::new(shown)),
        }
    }

    #[track_caller]
    fn check(view: &DeviceView, now: DateTime<Utc>, expected: &Expect) {
        expected.assert_eq(&format!("{:#}", describe_state(view, now)));
    }

    #[test]
    fn a_plan_that_waits_shows_its_next_period_and_the_reason_for_it() {
        check(
            &view(Controller::SmartCharging, Some(&plan()), None),
            at(0),
            &expect![[r#"
            {
              "attributes": {
                "cost": 1.3,
                "cost_without_plan": 2.4,
                "currency": "NOK",
                "energy_kwh": 10.0,
                "made_at": "2026-01-05T18:00:00Z",
                "next_end": "2026-01-05T20:00:00Z",
                "next_start": "2026-01-05T19:00:00Z",
                "periods": [
                  {
                    "end": "2026-01-05T20:00:00Z",
                    "power_kw": 7.0,
                    "start": "2026-01-05T19:00:00Z"
                  },
                  {
                    "end": "2026-01-05T21:25:42.857143Z",
                    "power_kw": 7.0,
                    "start": "2026-01-05T21:00:00Z"
                  }
                ],
                "ready_by": null,
                "reasons": [
                  "Mon 20:00 to Mon 21:00: charges 7 kWh for 0.70 (0.10 per kWh) in the cheapest hours before Mon 23:00; the next kWh would be charged at Mon 22:25 (0.20 per kWh).",
                  "Mon 22:00 to Mon 22:25: charges 3 kWh for 0.60 (0.20 per kWh) in the cheapest hours before Mon 23:00; the next kWh would be charged at Mon 22:25 (0.20 per kWh)."
                ],
                "shortfall_kwh": 0.0
              },
              "charge_now": "OFF",
              "cost": 1.3,
              "energy_kwh": 10.0,
              "next_end": "2026-01-05T20:00:00Z",
              "next_start": "2026-01-05T19:00:00Z",
              "plan": "waiting",
              "reason": "Mon 20:00 to Mon 21:00: charges 7 kWh for 0.70 (0.10 per kWh) in the cheapest hours before Mon 23:00; the next kWh would be charged at Mon 22:25 (0.20 per kWh)."
            }"#]],
        );
    }

    #[test]
    fn a_plan_that_charges_shows_when_it_ends_and_starts_again() {
        let mut view = view(Controller::SmartCharging, Some(&plan()), None);
        view.order = Some(Switch::Start);
        let state = describe_state(&view, at(1));
        assert_eq!(state["plan"], "charging");
        assert_eq!(state["next_end"], "2026-01-05T20:00:00Z");
        assert_eq!(state["next_start"], "2026-01-05T21:00:00Z");
        view.order = Some(Switch::Stop);
        let state = describe_state(&view, at(4));
        assert_eq!((&state["plan"], &state["reason"]), (&json!("done"), &json!(NOTHING_LEFT)));
        assert_eq!(state["next_start"], Value::Null);
        assert_eq!(state["attributes"]["periods"], json!([]));
    }

    #[test]
    fn an_override_is_on_and_the_plan_behind_it_stays_in_sight() {
        let state = describe_state(&view(Controller::Override, Some(&plan()), None), at(0));
        assert_eq!((&state["plan"], &state["charge_now"]), (&json!("override"), &json!("ON")));
        assert_eq!(state["next_start"], "2026-01-05T19:00:00Z");
        assert!(state["reason"].as_str().unwrap().starts_with("Charges now"));
    }

    #[test]
    fn who_else_controls_the_device_is_told() {
        let of = |controller, plan, idle| {
            let state = describe_state(&view(controller, plan, idle), at(0));
            format!("{}: {} {}", state["plan"], state["reason"], state["next_start"])
        };
        let plan = plan();
        assert_eq!(
            of(Controller::Schedule("s".to_owned()), Some(&plan), None),
            r#""schedule": "A schedule says when to charge." null"#
        );
        assert_eq!(
            of(Controller::Nobody, Some(&plan), None),
            r#""no_plan": "Smart charging does not control the device now." null"#
        );
        assert_eq!(
            of(Controller::SmartCharging, None, Some(NoRequest::NotPluggedIn)),
            r#""no_plan": "There is no plan: no plug is in." null"#
        );
    }

    #[test]
    fn a_reserve_at_any_price_charges_without_a_plan() {
        let mut view = view(Controller::SmartCharging, None, Some(NoRequest::ReserveAtAnyPrice));
        view.order = Some(Switch::Start);
        assert_eq!(describe_state(&view, at(0))["plan"], "charging");
    }

    #[test]
    fn a_plan_within_a_shared_limit_says_so_for_each_period() {
        let mut view = view(Controller::SmartCharging, Some(&plan()), None);
        let shown = ShownPlan {
            reasons: Vec::new(),
            is_shared: true,
            ..ShownPlan::clone(view.plan.as_deref().unwrap())
        };
        view.plan = Some(Arc::new(shown));
        let reason = format!("Mon 20:00 to Mon 21:00: {SHARED_REASON}.");
        assert_eq!(describe_state(&view, at(0))["reason"], reason);
    }

    #[test]
    fn a_long_reason_is_cut_where_home_assistant_would_refuse_it() {
        assert_eq!(shorten_text("é"), "é");
        let short = shorten_text(&"é".repeat(300));
        assert_eq!(short.chars().count(), STATE_LENGTH_MAX);
        assert!(short.ends_with("é…"));
    }
}

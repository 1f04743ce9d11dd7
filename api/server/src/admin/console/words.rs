//! Times, quantities and states in words.
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use maud::{Markup, html};
use slackwater_control::device::charge_state::{ChargeState, Reporter};
use slackwater_control::device::command::{Command, Switch};
use slackwater_control::device::control::Controller;
use slackwater_control::device::power_state::PowerState;
use slackwater_control::policy::ask::Cause;
use slackwater_engine::units::{Energy, Money, Percent, Power, Temperature};
use slackwater_integration::profile::Health;
use slackwater_integration::reading::{BatteryFacts, Facts, HvacFacts, MeterFacts};
pub(crate) use slackwater_service::words::{name_device as name, name_kind as kind};
use slackwater_store::devices::Device;

/// Weight of a state for an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Energy flows, or all is well.
    Good,
    /// Nothing to do.
    Plain,
    /// Somebody should look.
    Bad,
}

/// A state in a small frame.
pub(crate) fn badge(tone: Tone, text: &str) -> Markup {
    let class = match tone {
        Tone::Good => "badge good",
        Tone::Plain => "badge",
        Tone::Bad => "badge bad",
    };
    html! { span class=(class) { (text) } }
}

/// Time since an instant, with the instant itself for those who point at it.
pub(crate) fn ago(at: DateTime<Utc>, now: DateTime<Utc>) -> Markup {
    html! { time datetime=(at.to_rfc3339()) title=(at.format("%F %T UTC")) { (age(now - at)) } }
}

fn age(age: TimeDelta) -> String {
    match age {
        age if age < TimeDelta::seconds(1) => "just now".to_owned(),
        age if age < TimeDelta::minutes(2) => format!("{} s ago", age.num_seconds()),
        age if age < TimeDelta::hours(2) => format!("{} min ago", age.num_minutes()),
        age if age < TimeDelta::days(2) => format!("{} h ago", age.num_hours()),
        age => format!("{} days ago", age.num_days()),
    }
}

/// Format of an instant in words of chrono.
const DAY_AND_TIME: &str = "%a %d %b, %H:%M";

/// An instant on the wall clock of a zone.
pub(crate) fn clock(at: DateTime<Utc>, time_zone: Tz) -> Markup {
    let local = at.with_timezone(&time_zone).format(DAY_AND_TIME);
    html! { time datetime=(at.to_rfc3339()) { (local) } }
}

/// A period on the wall clock of a zone, with the day of its end where it is another one.
pub(crate) fn period(start: DateTime<Utc>, end: DateTime<Utc>, time_zone: Tz) -> Markup {
    let is_same_day =
        start.with_timezone(&time_zone).date_naive() == end.with_timezone(&time_zone).date_naive();
    let format = if is_same_day { "%H:%M" } else { DAY_AND_TIME };
    html! {
        (clock(start, time_zone)) " to "
        time datetime=(end.to_rfc3339()) { (end.with_timezone(&time_zone).format(format)) }
    }
}

pub(crate) fn power(power: Power) -> String {
    format!("{} kW", trimmed(power.as_kw(), 1))
}

pub(crate) fn energy(energy: Energy) -> String {
    format!("{} kWh", trimmed(energy.as_kwh(), 1))
}

pub(crate) fn percent(percent: Percent) -> String {
    format!("{:.0} %", percent.as_percent())
}

fn temperature(temperature: Temperature) -> String {
    format!("{} °C", trimmed(temperature.as_celsius(), 1))
}

/// An amount with two decimals, and its currency where one is known.
pub(crate) fn money(amount: Money, currency: &str) -> String {
    let text = format!("{:.2}", amount.as_amount());
    let text = if text == "-0.00" { "0.00" } else { text.as_str() };
    if currency == NO_CURRENCY { text.to_owned() } else { format!("{text} {currency}") }
}

/// Code of "no currency" of ISO 4217.
const NO_CURRENCY: &str = slackwater_service::cache::price_lookup::NO_CURRENCY;

/// A number without zeros at its end.
pub(crate) fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text.as_str()
    };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Count of things, with the noun in its number.
pub(crate) fn count(number: usize, one: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    let ending = if one.ends_with('y') && number != 1 { "ies" } else { ending };
    let stem = if ending == "ies" { one.trim_end_matches('y') } else { one };
    format!("{number} {stem}{ending}")
}

/// State of a device as it was read last.
pub(crate) fn state(device: &Device, now: DateTime<Utc>) -> (Tone, String) {
    let Some(reading) = device.state.reading.as_deref() else {
        return (Tone::Plain, "not read yet".to_owned());
    };
    let (tone, text) = match &reading.facts {
        Facts::Vehicle(facts) => {
            let (tone, text) = charging(&facts.charging, Reporter::Vehicle, now);
            let soc = facts.soc.map(|soc| format!(", {}", percent(soc))).unwrap_or_default();
            (tone, text + &soc)
        }
        Facts::Charger(facts) => charging(&facts.charging, Reporter::Charger, now),
        Facts::Hvac(facts) => heating(facts),
        Facts::Inverter(facts) if facts.is_producing => {
            (Tone::Good, format!("gives {}", power(facts.production)))
        }
        Facts::Inverter(_) => (Tone::Plain, "gives nothing".to_owned()),
        Facts::Battery(facts) => battery(facts),
        Facts::Meter(facts) => (Tone::Plain, meter(facts)),
    };
    if device.state.is_reachable == Some(false) {
        return (Tone::Bad, format!("not reachable; {text}"));
    }
    (tone, text)
}

fn charging(state: &ChargeState, reporter: Reporter, now: DateTime<Utc>) -> (Tone, String) {
    let shown = state.shown(reporter, now);
    let rate = shown.charge_rate.map(|rate| format!(" at {}", power(rate))).unwrap_or_default();
    match shown.power_state {
        PowerState::Unknown => (Tone::Plain, "state unknown".to_owned()),
        PowerState::Unplugged => (Tone::Plain, "unplugged".to_owned()),
        PowerState::Initializing => (Tone::Good, "about to charge".to_owned()),
        PowerState::Charging => (Tone::Good, format!("charging{rate}")),
        PowerState::Complete => (Tone::Plain, "full".to_owned()),
        PowerState::Stopped => (Tone::Plain, "plugged in, paused".to_owned()),
        PowerState::NoPower => (Tone::Bad, "plugged in, no power".to_owned()),
        PowerState::Fault => (Tone::Bad, "fault".to_owned()),
        PowerState::Discharging => (Tone::Good, "feeding back".to_owned()),
    }
}

fn heating(facts: &HvacFacts) -> (Tone, String) {
    let at = facts.temperature.map(|at| format!(" at {}", temperature(at))).unwrap_or_default();
    if facts.is_active {
        (Tone::Good, format!("running{at}"))
    } else {
        (Tone::Plain, format!("idle{at}"))
    }
}

fn battery(facts: &BatteryFacts) -> (Tone, String) {
    let soc = facts.soc.map(percent).unwrap_or_default();
    let flow = facts.power.map_or_else(String::new, |now| match now {
        now if now > Power::ZERO => format!(", takes {}", power(now)),
        now if now < Power::ZERO => format!(", gives {}", power(-now)),
        _ => ", idle".to_owned(),
    });
    let text = format!("{soc}{flow}");
    (Tone::Plain, text.trim_start_matches(", ").to_owned())
}

fn meter(facts: &MeterFacts) -> String {
    facts.power.map_or_else(
        || "no power told".to_owned(),
        |now| match now {
            now if now < Power::ZERO => format!("exports {}", power(-now)),
            now => format!("imports {}", power(now)),
        },
    )
}

/// Name of who decides about a device's charging.
pub(crate) fn controller(controller: &Controller) -> &'static str {
    match controller {
        Controller::Override => "Override: charges now",
        Controller::Schedule(_) => "Schedule",
        Controller::SmartCharging => "Smart charging",
        Controller::Nobody => "Nobody",
    }
}

/// A command.
pub(crate) fn command(command: &Command) -> String {
    match command {
        Command::Charge(Switch::Start) => "start charging".to_owned(),
        Command::Charge(Switch::Stop) => "stop charging".to_owned(),
        Command::MaxCurrent(current) => {
            format!("limit to {} A", trimmed(current.as_amps(), 1))
        }
        Command::ChargeRateLimit(most) => format!("limit to {}", power(*most)),
        Command::OperationMode(mode) => format!("mode {}", mode.as_str()),
        Command::FollowSchedule => "follow the schedule on the device".to_owned(),
        Command::Hold(_) => "hold a temperature".to_owned(),
    }
}

/// Cause of a plan.
pub(crate) const fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Policy => "the policy changed",
        Cause::PluggedIn => "a plug went in",
        Cause::Unplugged => "a plug was pulled",
        Cause::Reading => "a reading changed",
        Cause::Prices => "prices changed",
        Cause::Review => "a deadline or period ended",
    }
}

/// Health of a manufacturer.
pub(crate) fn health(health: Health) -> Markup {
    match health {
        Health::Ready => badge(Tone::Good, "ready"),
        Health::ElevatedErrorRate => badge(Tone::Bad, "errors"),
        Health::Outage => badge(Tone::Bad, "outage"),
    }
}

#[cfg(test)]
mod tests {
    use slackwater_engine::units::{kw, money as amount};

    use super::*;

    #[test]
    fn periods_name_their_day_once() {
        let oslo = chrono_tz::Europe::Oslo;
        let shown = |start: &str, end: &str| {
            let html = period(start.parse().unwrap(), end.parse().unwrap(), oslo).into_string();
            let texts = html.split('>').filter_map(|part| part.split('<').next());
            texts.collect::<String>()
        };
        let same = shown("2026-01-15T01:11:00Z", "2026-01-15T02:00:00Z");
        assert_eq!(same, "Thu 15 Jan, 02:11 to 03:00");
        // The day is that of the zone.
        let midnight = shown("2026-01-14T22:30:00Z", "2026-01-14T23:30:00Z");
        assert_eq!(midnight, "Wed 14 Jan, 23:30 to Thu 15 Jan, 00:30");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [power(kw(11.0)), power(kw(7.36)), power(kw(-0.01))],
            ["11 kW", "7.4 kW", "0 kW"]
        );
        assert_eq!(trimmed(100.0, 0), "100");
        assert_eq!(money(amount(-0.001), "NOK"), "0.00 NOK");
        assert_eq!(money(amount(1.5), NO_CURRENCY), "1.50");
        assert_eq!(
            [count(1, "home"), count(2, "home"), count(3, "battery")],
            ["1 home", "2 homes", "3 batteries"]
        );
    }

    #[test]
    fn ages_have_one_unit() {
        let ages = [-5, 0, 90, 300, 7200, 86_400 * 3];
        let told = ages.map(|seconds| age(TimeDelta::seconds(seconds)));
        assert_eq!(
            told,
            ["just now", "just now", "90 s ago", "5 min ago", "2 h ago", "3 days ago"]
        );
    }
}

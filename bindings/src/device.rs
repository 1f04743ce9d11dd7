//! Devices: what they show, what they can do, and whether they take a command.
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use slackwater_control::device::capability::{
    Ability, Capabilities, Capability, PowerRange, merged, within_scopes,
};
use slackwater_control::device::charge_state::{ChargeState, Reporter};
use slackwater_control::device::command::{
    AccountAccess, Command, CommandFacts, DeviceReading, Refusal, Switch,
};
use slackwater_control::device::control::Controller;
use slackwater_control::device::hvac::{
    Hold, HvacLimits, Mode, TemperatureRange, shown_consumption,
};
use slackwater_control::device::pairing::{Owned, are_paired};
use slackwater_control::device::power_state::PowerState;
use slackwater_control::device::reading::{Whereabouts, last_seen, serial_number};
use slackwater_control::device::scope::{Granted, Permission};
use slackwater_engine::units::{Current, Power, Temperature, UnitError};
use slackwater_wire::version::dated::ApiVersion;
use slackwater_wire::version::operation_mode::parse_operation_mode;

use crate::error::{Named, Refused};
use crate::time::Instant;

/// State, plug, charging, full, kW, minutes, limit in kW, time of the reading.
type ChargeTuple<T> = (
    String,
    Option<bool>,
    Option<bool>,
    Option<bool>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<T>,
);

/// Longitude, latitude, time of the reading, location.
type WhereaboutsTuple<T> = (Option<f64>, Option<f64>, Option<T>, Option<String>);

/// Ability, capable, interventions, lowest and highest kW.
type CapabilityTuple = (String, bool, Vec<String>, Option<(Option<f64>, Option<f64>)>);

/// Lowest and highest degree.
type RangeTuple = Option<(f64, f64)>;

fn reporter(word: &str) -> Result<Reporter, Refused> {
    match word {
        "vehicle" => Ok(Reporter::Vehicle),
        "charger" => Ok(Reporter::Charger),
        other => {
            let text = format!("device is {other:?}; it is \"vehicle\" or \"charger\"");
            Err(Refused::Input(text))
        }
    }
}

fn power(value: Option<f64>, name: &str) -> Result<Option<Power>, Refused> {
    value.map(Power::from_kw).transpose().named(name)
}

fn finite(value: Option<f64>, name: &str) -> Result<Option<f64>, Refused> {
    let refused = |value| UnitError::NotFinite { value, unit: "minutes" };
    let checked =
        value.map(|value| if value.is_finite() { Ok(value) } else { Err(refused(value)) });
    checked.transpose().named(name)
}

/// See `slackwater.devices.shown_charge_state`.
#[pyfunction]
#[pyo3(signature = (reported, *, device, now))]
pub(crate) fn device_charge_state(
    reported: ChargeTuple<Instant>,
    device: &str,
    now: Instant,
) -> Result<ChargeTuple<DateTime<Utc>>, Refused> {
    let (state, is_plugged_in, is_charging, is_fully_charged, rate, remaining, limit, read_at) =
        reported;
    let reported = ChargeState {
        power_state: PowerState::parse(&state).named("power_state")?,
        is_plugged_in,
        is_charging,
        is_fully_charged,
        charge_rate: power(rate, "charge_rate_kw")?,
        charge_time_remaining_minutes: finite(remaining, "charge_time_remaining_minutes")?,
        charge_rate_limit: power(limit, "charge_rate_limit_kw")?,
        last_updated: read_at.map(|at| at.0),
    };
    let shown = reported.shown(reporter(device)?, now.0);
    Ok((
        shown.power_state.as_str().to_string(),
        shown.is_plugged_in,
        shown.is_charging,
        shown.is_fully_charged,
        shown.charge_rate.map(Power::as_kw),
        shown.charge_time_remaining_minutes,
        shown.charge_rate_limit.map(Power::as_kw),
        shown.last_updated,
    ))
}

/// See `slackwater.devices.pair`.
#[pyfunction]
#[pyo3(signature = (vehicle, charger, *, is_detected_together))]
pub(crate) fn device_are_paired(
    vehicle: (String, String),
    charger: (String, String),
    is_detected_together: bool,
) -> bool {
    let owned = |(id, user_id)| Owned { id, user_id };
    are_paired(&owned(vehicle), &owned(charger), is_detected_together)
}

fn allowed_range(
    given: Option<(Option<f64>, Option<f64>)>,
    name: &str,
) -> Result<Option<PowerRange>, Refused> {
    let Some((min, max)) = given else { return Ok(None) };
    Ok(Some(PowerRange { min: power(min, name)?, max: power(max, name)? }))
}

fn capabilities(given: Vec<CapabilityTuple>, whose: &str) -> Result<Capabilities, Refused> {
    let capability = |(word, is_capable, intervention_ids, range): CapabilityTuple| {
        let ability = Ability::parse(&word).named(whose)?;
        let allowed_range = allowed_range(range, &format!("{whose}[{word:?}].allowed_range_kw"))?;
        Ok((ability, Capability { is_capable, intervention_ids, allowed_range }))
    };
    given.into_iter().map(capability).collect()
}

fn granted(words: Vec<String>, name: &str) -> Result<Granted, Refused> {
    words.iter().map(|word| Permission::parse(word)).collect::<Result<_, _>>().named(name)
}

/// See `slackwater.devices.merge_capabilities`.
#[pyfunction]
#[pyo3(signature = (vehicle, charger, *, vehicle_permissions, charger_permissions))]
pub(crate) fn device_capabilities(
    vehicle: Vec<CapabilityTuple>,
    charger: Option<Vec<CapabilityTuple>>,
    vehicle_permissions: Option<Vec<String>>,
    charger_permissions: Option<Vec<String>>,
) -> Result<Vec<CapabilityTuple>, Refused> {
    let limited = |own: Capabilities, words: Option<Vec<String>>, name: &str| {
        let Some(words) = words else { return Ok::<_, Refused>(own) };
        Ok(within_scopes(&own, &granted(words, name)?))
    };
    let charger = capabilities(charger.unwrap_or_default(), "charger")?;
    let charger = limited(charger, charger_permissions, "charger_permissions")?;
    let both = merged(&capabilities(vehicle, "vehicle")?, &charger);
    let shown = limited(both, vehicle_permissions, "vehicle_permissions")?;
    let tuple = |(ability, one): (Ability, Capability)| {
        let kw = |power: Option<Power>| power.map(Power::as_kw);
        let range = one.allowed_range.map(|range| (kw(range.min), kw(range.max)));
        (ability.as_str().to_string(), one.is_capable, one.intervention_ids, range)
    };
    Ok(shown.into_iter().map(tuple).collect())
}

/// Commands by name, with the value that some of them have.
pub(crate) fn command(name: &str, value: Option<f64>) -> Result<Command, Refused> {
    let needed =
        || value.ok_or_else(|| Refused::Input(format!("value: the command {name} needs a number")));
    match name {
        "start" => Ok(Command::Charge(Switch::Start)),
        "stop" => Ok(Command::Charge(Switch::Stop)),
        "max_current_amps" => {
            Ok(Command::MaxCurrent(Current::from_amps(needed()?).named("value")?))
        }
        "charge_rate_limit_kw" => {
            Ok(Command::ChargeRateLimit(Power::from_kw(needed()?).named("value")?))
        }
        "follow_schedule" => Ok(Command::FollowSchedule),
        other => {
            let mode = parse_operation_mode(other, ApiVersion::LATEST).map_err(|_| {
                Refused::Input(format!(
                    "command is {other:?}; it is start, stop, max_current_amps, \
                     charge_rate_limit_kw, follow_schedule or a battery's operation mode"
                ))
            })?;
            Ok(Command::OperationMode(mode))
        }
    }
}

fn controller(word: &str) -> Result<Controller, Refused> {
    match word {
        "override" => Ok(Controller::Override),
        "schedule" => Ok(Controller::Schedule("of the device".into())),
        "smart_charging" => Ok(Controller::SmartCharging),
        "nobody" => Ok(Controller::Nobody),
        other => {
            let text = format!(
                "controller is {other:?}; it is override, schedule, smart_charging or nobody"
            );
            Err(Refused::Input(text))
        }
    }
}

/// A refusal as a code and a sentence.
fn refusal(refusal: &Refusal) -> (&'static str, String) {
    let code = match refusal {
        Refusal::NotPermitted { .. } => "not_permitted",
        Refusal::Controlled { .. } => "controlled",
        Refusal::BelowZero { .. } => "below_zero",
        Refusal::Incapable { .. } => "incapable",
        Refusal::OutsideRange { .. } => "outside_range",
        Refusal::Unauthorised => "unauthorised",
        Refusal::CannotAct { .. } => "cannot_act",
        Refusal::FullyCharged => "fully_charged",
        Refusal::AlreadyThere => "already_there",
    };
    (code, refusal.to_string())
}

/// See `slackwater.devices.check_command`.
#[pyfunction]
#[pyo3(signature = (
    command, *, value, power_state, is_fully_charged, is_permitted, controller, is_capable,
    allowed_range_kw
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn device_check_command(
    command: &str,
    value: Option<f64>,
    power_state: &str,
    is_fully_charged: Option<bool>,
    is_permitted: bool,
    controller: &str,
    is_capable: bool,
    allowed_range_kw: Option<(Option<f64>, Option<f64>)>,
) -> Result<Option<(&'static str, String)>, Refused> {
    let state = PowerState::parse(power_state).named("power_state")?;
    let facts = CommandFacts {
        is_permitted,
        controller: self::controller(controller)?,
        is_capable,
        allowed_range: allowed_range(allowed_range_kw, "allowed_range_kw")?,
        reading: DeviceReading { is_fully_charged, ..DeviceReading::of(state) },
        account: AccountAccess::Granted,
        is_unsettled: false,
    };
    let answer = self::command(command, value)?.check(&facts);
    Ok(answer.err().as_ref().map(refusal))
}

fn temperature(value: f64, name: &str) -> Result<Temperature, Refused> {
    Temperature::from_celsius(value).named(name)
}

fn range(given: RangeTuple, name: &str) -> Result<Option<TemperatureRange>, Refused> {
    let Some((min, max)) = given else { return Ok(None) };
    Ok(Some(TemperatureRange { min: temperature(min, name)?, max: temperature(max, name)? }))
}

/// See `slackwater.devices.check_hold`.
#[pyfunction]
#[pyo3(signature = (
    mode, *, heat_setpoint_celsius, cool_setpoint_celsius, capable_modes, heat_range_celsius,
    cool_range_celsius, difference_range_celsius
))]
pub(crate) fn device_check_hold(
    mode: &str,
    heat_setpoint_celsius: Option<f64>,
    cool_setpoint_celsius: Option<f64>,
    capable_modes: Option<Vec<String>>,
    heat_range_celsius: RangeTuple,
    cool_range_celsius: RangeTuple,
    difference_range_celsius: RangeTuple,
) -> Result<Option<String>, Refused> {
    let setpoint = |value: Option<f64>, name: &str| value.map(|v| temperature(v, name)).transpose();
    let hold = Hold {
        mode: Mode::parse(mode)?,
        heat_setpoint: setpoint(heat_setpoint_celsius, "heat_setpoint_celsius")?,
        cool_setpoint: setpoint(cool_setpoint_celsius, "cool_setpoint_celsius")?,
    };
    let modes = capable_modes
        .map(|words| words.iter().map(|word| Mode::parse(word)).collect::<Result<_, _>>());
    let limits = HvacLimits {
        capable_modes: modes.transpose().named("capable_modes")?,
        heat_setpoints: range(heat_range_celsius, "heat_range_celsius")?,
        cool_setpoints: range(cool_range_celsius, "cool_range_celsius")?,
        setpoint_differences: range(difference_range_celsius, "difference_range_celsius")?,
    };
    Ok(hold.check(&limits).err().map(|error| error.to_string()))
}

/// See `slackwater.devices.shown_whereabouts`.
#[pyfunction]
#[pyo3(signature = (reported, *, permissions))]
pub(crate) fn device_whereabouts(
    reported: WhereaboutsTuple<Instant>,
    permissions: Vec<String>,
) -> Result<WhereaboutsTuple<DateTime<Utc>>, Refused> {
    let (longitude, latitude, last_updated, location_id) = reported;
    let last_updated = last_updated.map(|at| at.0);
    let reported = Whereabouts { longitude, latitude, last_updated, location_id };
    let shown = reported.shown(&granted(permissions, "permissions")?);
    Ok((shown.longitude, shown.latitude, shown.last_updated, shown.location_id))
}

/// See `slackwater.devices.shown_consumption_kw`.
#[pyfunction]
#[pyo3(signature = (reported_kw, *, is_active))]
pub(crate) fn device_shown_consumption(
    reported_kw: Option<f64>,
    is_active: bool,
) -> Result<Option<f64>, Refused> {
    let reported = power(reported_kw, "reported_kw")?;
    Ok(shown_consumption(reported, is_active).map(Power::as_kw))
}

/// See `slackwater.devices.is_reached`.
#[pyfunction]
#[pyo3(signature = (
    command, *, value, power_state, max_current_amps, charge_rate_limit_kw, operation_mode,
    follows_schedule
))]
pub(crate) fn device_is_reached(
    command: &str,
    value: Option<f64>,
    power_state: &str,
    max_current_amps: Option<f64>,
    charge_rate_limit_kw: Option<f64>,
    operation_mode: Option<&str>,
    follows_schedule: Option<bool>,
) -> Result<bool, Refused> {
    let state = PowerState::parse(power_state).named("power_state")?;
    let mode = |word| parse_operation_mode(word, ApiVersion::LATEST);
    let reading = DeviceReading {
        max_current: max_current_amps
            .map(Current::from_amps)
            .transpose()
            .named("max_current_amps")?,
        charge_rate_limit: power(charge_rate_limit_kw, "charge_rate_limit_kw")?,
        operation_mode: operation_mode.map(mode).transpose().named("operation_mode")?,
        follows_schedule,
        ..DeviceReading::of(state)
    };
    Ok(self::command(command, value)?.is_reached(&reading))
}

/// See `slackwater.devices.last_seen`.
#[pyfunction]
#[pyo3(signature = (last_data, *, linked_at))]
pub(crate) fn device_last_seen(last_data: Option<Instant>, linked_at: Instant) -> DateTime<Utc> {
    last_seen(last_data.map(|at| at.0), linked_at.0)
}

/// See `slackwater.devices.serial_number`.
#[pyfunction]
#[pyo3(signature = (reported, *, vendor_id))]
pub(crate) fn device_serial_number<'a>(reported: Option<&'a str>, vendor_id: &'a str) -> &'a str {
    serial_number(reported, vendor_id)
}

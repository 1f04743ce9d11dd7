//! Commands to a device: preconditions, refusals and completion.
use serde::{Deserialize, Serialize};

use crate::device::battery::OperationMode;
use crate::device::capability::{Ability, PowerRange};
use crate::device::control::Controller;
use crate::device::hvac::Hold;
use crate::device::power_state::PowerState;
use crate::device::scope::Permission;
use slackwater_engine::units::{Current, Power, Temperature, volts};
use slackwater_engine::words;

/// A device that shows a limit this close to the one it was sent obeys it:
/// many round to a tenth.
const CURRENT_TOLERANCE_A: f64 = 0.05;

/// Highest current and power of a plug for vehicles: those of the Megawatt Charging System
/// (IEC TS 63379), 3,000 A at 1,250 V.
const PLUG_MAX_A: f64 = 3_000.0;

/// See [`PLUG_MAX_A`].
const PLUG_MAX_KW: f64 = 3_750.0;

/// Lowest nominal voltage of public supplies between phase and neutral, in V: that of Japan. A
/// current carries at least its power on one phase at this voltage.
const MAINS_MIN_V: f64 = 100.0;

/// Tolerance of powers, in kW.
const POWER_TOLERANCE_KW: f64 = 0.05;

/// Tolerance of setpoints, in degrees: many devices round to a tenth of a degree.
const TEMPERATURE_TOLERANCE_C: f64 = 0.05;

words! {
    /// Charging, on or off.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Switch {
        /// Start charging.
        Start = "start",
        /// Stop charging.
        Stop = "stop",
    }
}

/// Command to a device (ACT-05, ACT-06).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Start or stop charging.
    #[serde(rename = "charge")]
    Charge(Switch),
    /// Limit the current.
    #[serde(rename = "max_current_amps")]
    MaxCurrent(Current),
    /// Limit the charge rate.
    #[serde(rename = "charge_rate_limit_kw")]
    ChargeRateLimit(Power),
    /// Set a battery's operation mode.
    #[serde(rename = "operation_mode")]
    OperationMode(OperationMode),
    /// Drop a hold and follow the schedule on the device.
    #[serde(rename = "follow_schedule")]
    FollowSchedule,
    /// Hold a unit at a setting until the next command. Check it against the unit's limits first
    /// ([`Hold::check`]).
    #[serde(rename = "hold")]
    Hold(Hold),
}

/// Last reading of the device that a command is for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceReading {
    /// State of power delivery.
    pub power_state: PowerState,
    /// True if the vehicle reports that it is full.
    pub is_fully_charged: Option<bool>,
    /// Its limit of the current.
    #[serde(rename = "max_current_amps")]
    pub max_current: Option<Current>,
    /// Its limit of the charge rate.
    #[serde(rename = "charge_rate_limit_kw")]
    pub charge_rate_limit: Option<Power>,
    /// Operation mode of a battery.
    pub operation_mode: Option<OperationMode>,
    /// True if a heating unit follows its own schedule.
    pub follows_schedule: Option<bool>,
    /// Setting of a heating unit.
    #[serde(default)]
    pub hold: Option<Hold>,
}

impl DeviceReading {
    /// Reading of the power state alone.
    #[must_use]
    pub const fn of(power_state: PowerState) -> Self {
        Self {
            power_state,
            is_fully_charged: None,
            max_current: None,
            charge_rate_limit: None,
            operation_mode: None,
            follows_schedule: None,
            hold: None,
        }
    }
}

/// Answer of a manufacturer to calls for an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum AccountAccess {
    /// The manufacturer accepts calls.
    #[default]
    Granted,
    /// The manufacturer refuses calls: the owner has to link the account again.
    Refused,
}

/// Limit of charging, as a command gives it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ChargeLimit {
    /// Limit of the current.
    Current(Current),
    /// Limit of the power.
    Power(Power),
}

/// Everything that decides whether a command is accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandFacts {
    /// True if the owner granted the permission that the command needs.
    pub is_permitted: bool,
    /// Controller of the device.
    pub controller: Controller,
    /// True if the device is capable of the command.
    pub is_capable: bool,
    /// Limits of the charge rate that it takes; a limit of the current is compared with them, too.
    pub allowed_range: Option<PowerRange>,
    /// Last reading of the device.
    pub reading: DeviceReading,
    /// Manufacturer's response to calls for the device's account.
    #[serde(default)]
    pub account: AccountAccess,
    /// True if another command may still change the device: one is pending, or one was sent and
    /// its effect was not observed. The reading then does not determine the final state.
    #[serde(default)]
    pub is_unsettled: bool,
}

/// Reason that a command is not sent, in the order in which reasons are checked (AMB-05).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// Its owner has not granted it.
    #[error("the owner has not granted {}", permission.as_str())]
    NotPermitted {
        /// Missing permission.
        permission: Permission,
    },
    /// A feature is in charge; disable it or create a smart override.
    #[error("{} controls the device", controlled_by(controller))]
    Controlled {
        /// The feature.
        controller: Controller,
    },
    /// The device cannot do it at all.
    #[error("the device cannot {}", what.map_or("do this", Ability::as_str))]
    Incapable {
        /// Missing ability, if it has a name.
        what: Option<Ability>,
    },
    /// The limit is outside those that the device takes, or that any plug carries.
    #[error("{}", describe_outside(*limit, *range))]
    OutsideRange {
        /// The limit as given.
        limit: ChargeLimit,
        /// Range that the device accepts; `None` if no plug of a vehicle carries so much.
        range: Option<PowerRange>,
    },
    /// The limit is negative.
    #[error("{limit} is {given}; a limit is at least 0")]
    BelowZero {
        /// The limit, with its unit.
        limit: &'static str,
        /// The number as given.
        given: f64,
    },
    /// The manufacturer refuses calls for the device.
    #[error("the manufacturer does not accept the account; it must be linked again")]
    Unauthorised,
    /// The device cannot charge in its present state.
    #[error("the device cannot charge: its state is {}", state.as_str())]
    CannotAct {
        /// The state that forbids it.
        state: PowerState,
    },
    /// The vehicle is full.
    #[error("the vehicle is fully charged")]
    FullyCharged,
    /// The device is in the desired state already.
    #[error("the device is in the desired state already")]
    AlreadyThere,
}

fn controlled_by(controller: &Controller) -> String {
    match controller {
        Controller::Schedule(id) => format!("schedule {id}"),
        Controller::SmartCharging => "smart charging".to_string(),
        Controller::Override => "a smart override".to_string(),
        Controller::Nobody => "nobody".to_string(),
    }
}

/// Sentence about a limit outside the range of a device, or beyond every plug.
fn describe_outside(limit: ChargeLimit, range: Option<PowerRange>) -> String {
    let least = limit.power_at_least();
    let (given, plug) = match limit {
        ChargeLimit::Current(current) => {
            (format!("max_current_amps is {} A", current.as_amps()), format!("{PLUG_MAX_A} A"))
        }
        ChargeLimit::Power(power) => {
            (format!("charge_rate_limit_kw is {} kW", power.as_kw()), format!("{PLUG_MAX_KW} kW"))
        }
    };
    let Some(range) = range else {
        return format!("{given}; no plug of a vehicle carries more than {plug}");
    };
    let carried = match limit {
        ChargeLimit::Current(_) => format!(", {} kW or more", least.as_kw()),
        ChargeLimit::Power(_) => String::new(),
    };
    let bounds = match (range.min, range.max) {
        (Some(min), Some(max)) => format!(": {} to {} kW", min.as_kw(), max.as_kw()),
        (None, Some(max)) => format!(": at most {} kW", max.as_kw()),
        (Some(min), None) => format!(": at least {} kW", min.as_kw()),
        (None, None) => String::new(),
    };
    format!("{given}{carried}, outside the range that the device takes{bounds}")
}

impl ChargeLimit {
    /// Power that a charger may draw within the limit for certain: a current carries it on one
    /// phase of the lowest voltage of public supplies.
    fn power_at_least(self) -> Power {
        match self {
            Self::Current(current) => current.power(volts(MAINS_MIN_V), 1),
            Self::Power(power) => power,
        }
    }

    /// Returns true if no plug of a vehicle carries so much.
    fn is_beyond_plugs(self) -> bool {
        match self {
            Self::Current(current) => current.as_amps() > PLUG_MAX_A,
            Self::Power(power) => power.as_kw() > PLUG_MAX_KW,
        }
    }
}

impl Command {
    /// Permission that the owner has to grant (SCOPE-10, SCOPE-11).
    #[must_use]
    pub const fn permission(&self) -> Permission {
        match self {
            Self::Charge(_) | Self::MaxCurrent(_) | Self::ChargeRateLimit(_) => {
                Permission::ControlCharging
            }
            Self::OperationMode(_) => Permission::ControlOperationMode,
            Self::FollowSchedule | Self::Hold(_) => Permission::ControlMode,
        }
    }

    /// The ability it takes; a battery's mode has none of that name.
    #[must_use]
    pub const fn ability(&self) -> Option<Ability> {
        match self {
            Self::Charge(Switch::Start) => Some(Ability::StartCharging),
            Self::Charge(Switch::Stop) => Some(Ability::StopCharging),
            Self::MaxCurrent(_) => Some(Ability::SetMaxCurrent),
            Self::ChargeRateLimit(_) => Some(Ability::SetChargeRateLimit),
            Self::OperationMode(_) => None,
            Self::FollowSchedule => Some(Ability::SetFollowSchedule),
            Self::Hold(_) => Some(Ability::SetPermanentHold),
        }
    }

    /// Returns true if a reading shows that the command was executed.
    ///
    /// A start is done when the device charges, a stop when no power flows in or out; an unknown
    /// state is neither. Limits are compared to a twentieth of an ampere, kilowatt or degree.
    /// Setpoints that a hold does not name are not compared.
    #[must_use]
    pub fn is_reached(&self, reading: &DeviceReading) -> bool {
        match self {
            Self::Charge(Switch::Start) => reading.power_state == PowerState::Charging,
            Self::Charge(Switch::Stop) => is_still(reading.power_state),
            Self::MaxCurrent(wanted) => reading.max_current.is_some_and(|shown| {
                (shown.as_amps() - wanted.as_amps()).abs() <= CURRENT_TOLERANCE_A
            }),
            Self::ChargeRateLimit(wanted) => reading
                .charge_rate_limit
                .is_some_and(|shown| (shown.as_kw() - wanted.as_kw()).abs() <= POWER_TOLERANCE_KW),
            Self::OperationMode(wanted) => reading.operation_mode == Some(*wanted),
            Self::FollowSchedule => reading.follows_schedule == Some(true),
            Self::Hold(wanted) => {
                reading.follows_schedule == Some(false)
                    && reading.hold.is_some_and(|shown| is_held(wanted, &shown))
            }
        }
    }

    /// Reason why a device in this state cannot start or stop charging. A device with a fault
    /// does not accept a limit either. Other commands have no such precondition.
    #[must_use]
    pub fn unmet_precondition(&self, reading: &DeviceReading) -> Option<Refusal> {
        let state = reading.power_state;
        let switch = match self {
            Self::Charge(switch) => switch,
            Self::MaxCurrent(_) | Self::ChargeRateLimit(_) if state == PowerState::Fault => {
                return Some(Refusal::CannotAct { state });
            }
            _ => return None,
        };
        let is_full = state == PowerState::Complete || reading.is_fully_charged == Some(true);
        match switch {
            _ if state.needs_a_person() => Some(Refusal::CannotAct { state }),
            Switch::Start if state == PowerState::Unplugged => Some(Refusal::CannotAct { state }),
            Switch::Start if is_full => Some(Refusal::FullyCharged),
            _ => None,
        }
    }

    /// Checks whether the command is accepted (CHG-29 to CHG-33, SCOPE-14, AMB-05).
    ///
    /// A limit that no device takes is refused first. The order is then: permission, a controlling
    /// feature (for starting and stopping only), capability with its range, and the last reading. A
    /// device counts as being in the desired state only if no other command may change it.
    ///
    /// # Errors
    /// The first reason against it.
    pub fn check(&self, facts: &CommandFacts) -> Result<(), Refusal> {
        // Such a limit is wrong for any device, whatever is known about this one.
        if let Some(refusal) = self.impossible_limit() {
            return Err(refusal);
        }
        if !facts.is_permitted {
            return Err(Refusal::NotPermitted { permission: self.permission() });
        }
        // A limit can be set beside a controlling feature, which orders starts and stops only.
        let is_switch = matches!(self, Self::Charge(_));
        if is_switch && facts.controller.refuses_commands() {
            return Err(Refusal::Controlled { controller: facts.controller.clone() });
        }
        if !facts.is_capable {
            return Err(Refusal::Incapable { what: self.ability() });
        }
        if let Some(refusal) = self.outside_range(facts.allowed_range) {
            return Err(refusal);
        }
        if facts.account == AccountAccess::Refused {
            return Err(Refusal::Unauthorised);
        }
        if let Some(refusal) = self.unmet_precondition(&facts.reading) {
            return Err(refusal);
        }
        if !facts.is_unsettled && self.is_reached(&facts.reading) {
            return Err(Refusal::AlreadyThere);
        }
        Ok(())
    }

    /// Returns true for a limit outside a known range of the charge rate.
    #[must_use]
    pub fn is_outside(&self, range: Option<PowerRange>) -> bool {
        self.outside_range(range).is_some()
    }

    /// Refusal of a limit for any device: one below zero, or beyond every plug of a vehicle.
    #[must_use]
    pub fn impossible_limit(&self) -> Option<Refusal> {
        let limit = self.limit()?;
        let (name, given) = match limit {
            ChargeLimit::Current(current) => ("max_current_amps", current.as_amps()),
            ChargeLimit::Power(power) => ("charge_rate_limit_kw", power.as_kw()),
        };
        if given < 0.0 {
            return Some(Refusal::BelowZero { limit: name, given });
        }
        limit.is_beyond_plugs().then_some(Refusal::OutsideRange { limit, range: None })
    }

    const fn limit(&self) -> Option<ChargeLimit> {
        match self {
            Self::MaxCurrent(current) => Some(ChargeLimit::Current(*current)),
            Self::ChargeRateLimit(power) => Some(ChargeLimit::Power(*power)),
            Self::Charge(_) | Self::OperationMode(_) | Self::FollowSchedule | Self::Hold(_) => None,
        }
    }

    /// Refusal of a limit outside a known range. The range is one of powers, and phases and voltage
    /// are not known here: a current is outside only if it is so on one phase of a low voltage, and
    /// none is too low.
    fn outside_range(&self, range: Option<PowerRange>) -> Option<Refusal> {
        let (limit, range) = self.limit().zip(range)?;
        let below = match limit {
            ChargeLimit::Current(_) => false,
            ChargeLimit::Power(power) => range.min.is_some_and(|min| power < min),
        };
        let above = range.max.is_some_and(|max| limit.power_at_least() > max);
        (below || above).then_some(Refusal::OutsideRange { limit, range: Some(range) })
    }
}

/// Returns true if a unit shows the wanted setting.
fn is_held(wanted: &Hold, shown: &Hold) -> bool {
    let is_close = |wanted: Option<Temperature>, shown: Option<Temperature>| {
        // A setpoint that the hold does not name is left to the unit, so any reading agrees with
        // it.
        wanted.is_none_or(|wanted| {
            let close =
                |shown: Temperature| (shown - wanted).as_celsius().abs() <= TEMPERATURE_TOLERANCE_C;
            shown.is_some_and(close)
        })
    };
    wanted.mode == shown.mode
        && is_close(wanted.heat_setpoint, shown.heat_setpoint)
        && is_close(wanted.cool_setpoint, shown.cool_setpoint)
}

/// Returns true if it is known that no power flows.
const fn is_still(state: PowerState) -> bool {
    matches!(
        state,
        PowerState::Unplugged
            | PowerState::Complete
            | PowerState::Stopped
            | PowerState::NoPower
            | PowerState::Fault
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::hvac::Mode;
    use expect_test::expect;
    use slackwater_engine::units::{amps, celsius, kw};
    use std::fmt::Write;

    fn facts(state: PowerState) -> CommandFacts {
        CommandFacts {
            is_permitted: true,
            controller: Controller::Nobody,
            is_capable: true,
            allowed_range: None,
            reading: DeviceReading::of(state),
            account: AccountAccess::Granted,
            is_unsettled: false,
        }
    }

    #[test]
    fn a_limit_that_is_set_already_or_that_a_fault_bars() {
        let mut facts = facts(PowerState::Stopped);
        facts.reading.max_current = Some(amps(16.0));
        let set = |facts: &CommandFacts, limit| Command::MaxCurrent(amps(limit)).check(facts);
        assert_eq!(set(&facts, 16.0), Err(Refusal::AlreadyThere));
        assert_eq!(set(&facts, 10.0), Ok(()));
        facts.is_unsettled = true;
        assert_eq!(set(&facts, 16.0), Ok(()));
        facts.reading.power_state = PowerState::Fault;
        let fault = Refusal::CannotAct { state: PowerState::Fault };
        assert_eq!(set(&facts, 10.0), Err(fault));
        facts.account = AccountAccess::Refused;
        assert_eq!(set(&facts, 10.0), Err(Refusal::Unauthorised));
    }

    #[test]
    fn an_unsettled_device_is_never_in_the_desired_state_already() {
        for state in PowerState::ALL {
            let unsettled = CommandFacts { is_unsettled: true, ..facts(state) };
            for switch in [Switch::Start, Switch::Stop] {
                let command = Command::Charge(switch);
                let expected = match command.check(&facts(state)) {
                    Err(Refusal::AlreadyThere) => Ok(()),
                    other => other,
                };
                assert_eq!(command.check(&unsettled), expected, "{switch:?} {state:?}");
            }
        }
    }

    #[test]
    fn start_and_stop_in_every_state() {
        let mut table = String::new();
        for state in PowerState::ALL {
            let answer = |switch| match Command::Charge(switch).check(&facts(state)) {
                Ok(()) => "accepted".to_string(),
                Err(refusal) => refusal.to_string(),
            };
            let (start, stop) = (answer(Switch::Start), answer(Switch::Stop));
            writeln!(table, "{}: start {start}; stop {stop}", state.as_str()).unwrap();
        }
        expect![[r#"
            unknown: start accepted; stop accepted
            unplugged: start the device cannot charge: its state is unplugged; stop the device is in the desired state already
            initializing: start accepted; stop accepted
            charging: start the device is in the desired state already; stop accepted
            complete: start the vehicle is fully charged; stop the device is in the desired state already
            stopped: start accepted; stop the device is in the desired state already
            no_power: start the device cannot charge: its state is no_power; stop the device cannot charge: its state is no_power
            fault: start the device cannot charge: its state is fault; stop the device cannot charge: its state is fault
            discharging: start accepted; stop accepted
        "#]].assert_eq(&table);
    }

    #[test]
    fn permission_before_control_before_precondition() {
        let mut facts = facts(PowerState::Fault);
        facts.controller = Controller::Schedule("nights".into());
        facts.is_capable = false;
        facts.is_permitted = false;
        let start = Command::Charge(Switch::Start);
        let refusal = |facts: &CommandFacts| start.check(facts).unwrap_err().to_string();
        assert_eq!(refusal(&facts), "the owner has not granted control_charging");
        facts.is_permitted = true;
        assert_eq!(refusal(&facts), "schedule nights controls the device");
        facts.controller = Controller::SmartCharging;
        assert_eq!(refusal(&facts), "smart charging controls the device");
        facts.controller = Controller::Override;
        assert_eq!(refusal(&facts), "the device cannot start_charging");
        facts.is_capable = true;
        assert_eq!(refusal(&facts), "the device cannot charge: its state is fault");
    }

    #[test]
    fn a_vehicle_that_says_it_is_full() {
        let mut facts = facts(PowerState::Stopped);
        facts.reading.is_fully_charged = Some(true);
        assert_eq!(Command::Charge(Switch::Start).check(&facts), Err(Refusal::FullyCharged));
    }

    #[test]
    fn limits_are_set_whoever_controls_and_whatever_flows() {
        for state in PowerState::ALL.into_iter().filter(|state| *state != PowerState::Fault) {
            let mut facts = facts(state);
            facts.controller = Controller::SmartCharging;
            facts.allowed_range = Some(PowerRange { min: Some(kw(1.4)), max: Some(kw(11.0)) });
            let set = |limit| Command::ChargeRateLimit(kw(limit)).check(&facts);
            assert_eq!((set(1.4), set(11.0)), (Ok(()), Ok(())));
            assert!(matches!(set(11.1), Err(Refusal::OutsideRange { .. })));
            assert!(matches!(set(1.3), Err(Refusal::OutsideRange { .. })));
            assert_eq!(Command::MaxCurrent(amps(16.0)).check(&facts), Ok(()));
            facts.is_capable = false;
            let what = Some(Ability::SetMaxCurrent);
            let refused = Command::MaxCurrent(amps(16.0)).check(&facts);
            assert_eq!(refused, Err(Refusal::Incapable { what }));
        }
    }

    #[test]
    fn a_current_that_the_device_cannot_carry() {
        let mut facts = facts(PowerState::Stopped);
        let refusal = |command: Command, facts: &CommandFacts| {
            command.check(facts).err().map(|refusal| refusal.to_string())
        };
        let set =
            |current, facts: &CommandFacts| refusal(Command::MaxCurrent(amps(current)), facts);
        let beyond = "max_current_amps is 5000 A; no plug of a vehicle carries more than 3000 A";
        assert_eq!(set(5_000.0, &facts).as_deref(), Some(beyond), "its range is not known");
        assert_eq!(set(3_000.0, &facts), None);
        let power = refusal(Command::ChargeRateLimit(kw(7_400.0)), &facts);
        let beyond =
            "charge_rate_limit_kw is 7400 kW; no plug of a vehicle carries more than 3750 kW";
        assert_eq!(power.as_deref(), Some(beyond));
        facts.allowed_range = Some(PowerRange { min: Some(kw(1.4)), max: Some(kw(22.0)) });
        // 220 A carry 22 kW on one phase of 100 V, and more anywhere else.
        assert_eq!((set(0.0, &facts), set(220.0, &facts)), (None, None));
        let outside = "max_current_amps is 221 A, 22.1 kW or more, outside the range that the device \
                       takes: 1.4 to 22 kW";
        assert_eq!(set(221.0, &facts).as_deref(), Some(outside));
        facts.allowed_range = Some(PowerRange { min: Some(kw(1.4)), max: None });
        let low = refusal(Command::ChargeRateLimit(kw(1.0)), &facts);
        let outside = "charge_rate_limit_kw is 1 kW, outside the range that the device takes: at \
                       least 1.4 kW";
        assert_eq!(low.as_deref(), Some(outside));
    }

    #[test]
    fn when_a_limit_is_reached() {
        let mut reading = DeviceReading::of(PowerState::Charging);
        let current = Command::MaxCurrent(amps(16.0));
        assert!(!current.is_reached(&reading));
        reading.max_current = Some(amps(16.04));
        assert!(current.is_reached(&reading));
        reading.max_current = Some(amps(15.9));
        assert!(!current.is_reached(&reading));
        reading.charge_rate_limit = Some(kw(7.36));
        assert!(Command::ChargeRateLimit(kw(7.4)).is_reached(&reading));
        assert!(!Command::ChargeRateLimit(kw(7.5)).is_reached(&reading));
        let idle = Command::OperationMode(OperationMode::Idle);
        reading.operation_mode = Some(OperationMode::ImportFocus);
        assert!(!idle.is_reached(&reading));
        reading.operation_mode = Some(OperationMode::Idle);
        assert!(idle.is_reached(&reading));
        assert!(!Command::FollowSchedule.is_reached(&reading));
        reading.follows_schedule = Some(true);
        assert!(Command::FollowSchedule.is_reached(&reading));
        let warm = |heat| Hold {
            mode: Mode::Heat,
            heat_setpoint: Some(celsius(heat)),
            cool_setpoint: None,
        };
        let hold = Command::Hold(warm(21.0));
        reading.hold = Some(Hold { cool_setpoint: Some(celsius(26.0)), ..warm(21.04) });
        assert!(!hold.is_reached(&reading), "its own schedule may move it");
        reading.follows_schedule = Some(false);
        assert!(hold.is_reached(&reading));
        reading.hold = Some(warm(20.5));
        assert!(!hold.is_reached(&reading));
    }

    #[test]
    fn a_command_survives_its_json() {
        for (command, text) in [
            (Command::Charge(Switch::Start), r#"{"charge":"start"}"#),
            (Command::MaxCurrent(amps(16.0)), r#"{"max_current_amps":16.0}"#),
            (Command::FollowSchedule, r#""follow_schedule""#),
        ] {
            assert_eq!(serde_json::to_string(&command).unwrap(), text);
            assert_eq!(serde_json::from_str::<Command>(text).unwrap(), command);
        }
    }
}

//! Telling devices something, past the paths that are not printed.
use std::path::Path;

use axum::http::Method;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use slackwater_control::device::battery::OperationMode;
use slackwater_control::device::command::{Command, Switch};
use slackwater_control::device::hvac::{Hold, Mode};
use slackwater_engine::units::{Current, Power, Temperature};

use crate::commands::address::Server;
use crate::commands::failure::Failure;
use crate::commands::operator::{Body, Operator, path_segment};

/// A command line to one device.
#[derive(Debug, Args)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    pub(crate) server: Server,

    #[command(subcommand)]
    what: What,
}

/// A device is named by its identifier, or by its manufacturer's name of it.
#[derive(Debug, Subcommand)]
enum What {
    /// Start charging.
    Start {
        /// Its identifier, or its manufacturer's name of it.
        device: String,
    },
    /// Stop charging.
    Stop {
        /// Its identifier, or its manufacturer's name of it.
        device: String,
    },
    /// Limit the current of a vehicle or charger.
    MaxCurrent {
        /// Its identifier, or its manufacturer's name of it.
        device: String,
        /// In A.
        #[arg(value_parser = parse_amps, allow_negative_numbers = true)]
        amps: Current,
    },
    /// Limit the power of a vehicle or charger.
    ChargeRateLimit {
        /// Its identifier, or its manufacturer's name of it.
        device: String,
        /// In kW.
        #[arg(value_parser = parse_kw, allow_negative_numbers = true)]
        kw: Power,
    },
    /// Set the operation mode of a battery.
    OperationMode {
        /// Its identifier, or its manufacturer's name of it.
        device: String,
        /// The mode.
        #[arg(value_enum)]
        mode: BatteryMode,
    },
    /// Hold a heating unit at a setting until told otherwise.
    Hold {
        /// Its identifier, or its manufacturer's name of it.
        device: String,
        /// Mode of the unit.
        #[arg(long, value_enum)]
        mode: HvacMode,
        /// Heat below this, in degrees Celsius.
        #[arg(long, value_parser = parse_celsius, allow_negative_numbers = true)]
        heat: Option<Temperature>,
        /// Cool above this, in degrees Celsius.
        #[arg(long, value_parser = parse_celsius, allow_negative_numbers = true)]
        cool: Option<Temperature>,
    },
    /// Have a heating unit follow the schedule on it.
    FollowSchedule {
        /// Its identifier, or its manufacturer's name of it.
        device: String,
    },
    /// Have a vehicle or charger charge now, whatever schedules and plans want.
    Override {
        /// Its identifier, or its manufacturer's name of it.
        device: String,
    },
    /// End the override of a vehicle or charger, which then does what schedules and plans want.
    EndOverride {
        /// Its identifier, or its manufacturer's name of it.
        device: String,
    },
    /// Print an action.
    Show {
        /// Its identifier.
        action: String,
    },
    /// Call an action off.
    Cancel {
        /// Its identifier.
        action: String,
    },
}

/// Operation mode of a battery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BatteryMode {
    SelfReliance,
    TimeOfUse,
    ImportFocus,
    ExportFocus,
    Idle,
}

/// Mode of a thermostat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HvacMode {
    Off,
    Auto,
    Cool,
    Heat,
}

/// Runs a command to a device and prints the answer.
pub(crate) async fn run_device_command(
    file: Option<&Path>,
    line: CommandLine,
) -> Result<(), Failure> {
    let (method, path, body) = line.what.into_request();
    let body = body.map(|body| Body::json(&body)).unwrap_or_default();
    Operator::connect(&line.server, file)?
        .print_answer(method, &format!("control/{path}"), body)
        .await
}

impl What {
    /// The request that does it, below `/control`.
    fn into_request(self) -> (Method, String, Option<Value>) {
        let tell = |device: String, command: Command| {
            let path = format!("devices/{}/command", path_segment(&device));
            (Method::POST, path, Some(json!(command)))
        };
        match self {
            Self::Start { device } => tell(device, Command::Charge(Switch::Start)),
            Self::Stop { device } => tell(device, Command::Charge(Switch::Stop)),
            Self::MaxCurrent { device, amps } => tell(device, Command::MaxCurrent(amps)),
            Self::ChargeRateLimit { device, kw } => tell(device, Command::ChargeRateLimit(kw)),
            Self::OperationMode { device, mode } => {
                tell(device, Command::OperationMode(mode.into()))
            }
            Self::Hold { device, mode, heat, cool } => {
                let hold = Hold { mode: mode.into(), heat_setpoint: heat, cool_setpoint: cool };
                tell(device, Command::Hold(hold))
            }
            Self::FollowSchedule { device } => tell(device, Command::FollowSchedule),
            Self::Override { device } => {
                (Method::POST, format!("devices/{}/override", path_segment(&device)), None)
            }
            Self::EndOverride { device } => {
                (Method::DELETE, format!("devices/{}/override", path_segment(&device)), None)
            }
            Self::Show { action } => {
                (Method::GET, format!("actions/{}", path_segment(&action)), None)
            }
            Self::Cancel { action } => {
                (Method::POST, format!("actions/{}/cancel", path_segment(&action)), None)
            }
        }
    }
}

impl From<BatteryMode> for OperationMode {
    fn from(mode: BatteryMode) -> Self {
        match mode {
            BatteryMode::SelfReliance => Self::SelfReliance,
            BatteryMode::TimeOfUse => Self::TimeOfUse,
            BatteryMode::ImportFocus => Self::ImportFocus,
            BatteryMode::ExportFocus => Self::ExportFocus,
            BatteryMode::Idle => Self::Idle,
        }
    }
}

impl From<HvacMode> for Mode {
    fn from(mode: HvacMode) -> Self {
        match mode {
            HvacMode::Off => Self::Off,
            HvacMode::Auto => Self::Auto,
            HvacMode::Cool => Self::Cool,
            HvacMode::Heat => Self::Heat,
        }
    }
}

fn parse_amps(given: &str) -> Result<Current, String> {
    parse_number(given).and_then(|number| Current::from_amps(number).map_err(|e| e.to_string()))
}

pub(crate) fn parse_kw(given: &str) -> Result<Power, String> {
    parse_number(given).and_then(|number| Power::from_kw(number).map_err(|e| e.to_string()))
}

fn parse_celsius(given: &str) -> Result<Temperature, String> {
    parse_number(given)
        .and_then(|number| Temperature::from_celsius(number).map_err(|e| e.to_string()))
}

pub(crate) fn parse_number(given: &str) -> Result<f64, String> {
    given.parse().map_err(|_| format!("`{given}` is not a number"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        line: CommandLine,
    }

    fn request_of(words: &[&str]) -> (Method, String, Option<Value>) {
        let line = Line::try_parse_from([&["command"], words].concat()).unwrap();
        line.line.what.into_request()
    }

    #[test]
    fn every_command_has_its_request() {
        let told = |words: &[&str]| {
            let (method, path, body) = request_of(words);
            assert_eq!((method, path.as_str()), (Method::POST, "devices/x/command"));
            body.unwrap()
        };
        assert_eq!(told(&["start", "x"]), json!({ "charge": "start" }));
        assert_eq!(told(&["stop", "x"]), json!({ "charge": "stop" }));
        assert_eq!(told(&["max-current", "x", "16"]), json!({ "max_current_amps": 16.0 }));
        let limit = told(&["charge-rate-limit", "x", "7.4"]);
        assert_eq!(limit, json!({ "charge_rate_limit_kw": 7.4 }));
        assert_eq!(told(&["operation-mode", "x", "idle"]), json!({ "operation_mode": "idle" }));
        assert_eq!(told(&["follow-schedule", "x"]), json!("follow_schedule"));
        let hold = told(&["hold", "x", "--mode", "heat", "--heat", "-1.5"]);
        assert_eq!(
            hold,
            json!({ "hold": {
                "mode": "heat", "heat_setpoint_celsius": -1.5, "cool_setpoint_celsius": null,
            } })
        );
        let (method, path, body) = request_of(&["end-override", "x"]);
        assert_eq!((method, path.as_str(), body), (Method::DELETE, "devices/x/override", None));
        assert_eq!(request_of(&["cancel", "y"]).1, "actions/y/cancel");
    }

    #[test]
    fn numbers_are_checked() {
        for words in [["max-current", "x", "many"], ["charge-rate-limit", "x", "NaN"]] {
            let words = [&["command"][..], &words].concat();
            assert_eq!(Line::try_parse_from(words).unwrap_err().exit_code(), 2);
        }
    }
}

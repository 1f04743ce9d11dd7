//! Orders to a sandbox, as JSON.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use slackwater_control::device::command::Command;
use slackwater_control::device::power_state::{PowerState, PowerStateError};
use slackwater_engine::units::{Percent, UnitError};
use slackwater_sim::car::Hand;
use utoipa::ToSchema;

use slackwater_service::clock::{Clock, ClockError, Speed};

use super::conduct::Conduct;
use super::document::Flaw;
use super::scenario::Scenario;
use super::world::Received;

/// Reason why an order cannot be carried out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ControlError {
    /// Nothing has this name.
    #[error("there is no {what} {name:?} in the sandbox")]
    Missing {
        /// Thing that is missing.
        what: &'static str,
        /// The name as given.
        name: String,
    },
    /// The clock cannot be set so.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// No state has this name.
    #[error("state: {0}")]
    State(#[from] PowerStateError),
    /// The number is no percentage.
    #[error("percent: {0}")]
    Percent(#[from] UnitError),
}

impl ControlError {
    pub(crate) fn no_device(name: &str) -> Self {
        Self::Missing { what: "device", name: name.to_owned() }
    }

    pub(crate) fn no_vendor(name: &str) -> Self {
        Self::Missing { what: "vendor", name: name.to_owned() }
    }
}

/// Names that a patch added or changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Applied {
    /// Users.
    pub users: Vec<String>,
    /// Locations.
    pub locations: Vec<String>,
    /// Market zones.
    pub zones: Vec<String>,
    /// Vendors.
    pub vendors: Vec<String>,
    /// Tariffs.
    pub tariffs: Vec<String>,
    /// Devices.
    pub devices: Vec<String>,
    /// Flex policies.
    pub flex_policies: Vec<String>,
    /// Chargers that were given a policy.
    pub charger_policies: Vec<String>,
    /// Vehicles that were given a policy.
    pub vehicle_policies: Vec<String>,
    /// Devices of which energy was recorded.
    pub samples: Vec<String>,
}

impl Applied {
    /// Names in a patch.
    #[must_use]
    pub fn of(patch: &Scenario) -> Self {
        Self {
            users: patch.users.iter().map(|user| user.id.clone()).collect(),
            locations: patch.locations.iter().map(|location| location.id.clone()).collect(),
            zones: patch.zones.iter().map(|zone| zone.id.clone()).collect(),
            vendors: patch.vendors.iter().map(|vendor| vendor.code.to_string()).collect(),
            tariffs: patch.tariffs.iter().map(|tariff| tariff.id.clone()).collect(),
            devices: patch.devices().map(|device| device.common().id).collect(),
            flex_policies: patch.flex_policies.iter().map(|policy| policy.id.clone()).collect(),
            charger_policies: names(&patch.charger_policies, |policy| &policy.charger),
            vehicle_policies: names(&patch.vehicle_policies, |policy| &policy.vehicle),
            samples: names(&patch.samples, |samples| &samples.device),
        }
    }
}

fn names<T>(list: &[T], name: impl Fn(&T) -> &String) -> Vec<String> {
    list.iter().map(|item| name(item).clone()).collect()
}

/// Says what a device, or all of a vendor's, do when they are called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "expected a `device` or a `vendor`, and its `conduct`: \"answer\", \"freeze\", \
        {\"sleep\": {\"may_be_woken\": true}}, \"unreachable\", {\"refuse\": {\"detail\": \"...\"}}, \
        {\"rate_limit\": {\"retry_after_seconds\": 60}}, {\"lose_precondition\": {\"state\": \
        \"fault\"}}, \"outage\", \"hang\" or \"revoke\""
)]
pub enum ConductOrder {
    /// A device.
    Device {
        /// Its name in the scenario.
        device: String,
        /// Behaviour of the device.
        conduct: Conduct,
        /// So many commands are taken and not done; as before if left out.
        #[serde(default)]
        ignores_commands: Option<u32>,
    },
    /// A vendor.
    Vendor {
        /// Its code.
        vendor: String,
        /// Behaviour of the vendor, whatever its devices would do.
        conduct: Conduct,
    },
}

/// A person does something to a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HandOrder {
    /// Its name in the scenario.
    pub device: String,
    /// Deed of the person.
    pub hand: HandWord,
}

/// Deed of a person on site.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HandWord {
    /// Puts the plug in; nothing if the car is away or the charger taken.
    PlugIn,
    /// Pulls the plug.
    Unplug,
    /// Something goes wrong: `fault` or `no_power`.
    Break(String),
    /// Mends it.
    Repair,
    /// Sets how full the battery is, past every meter.
    SocPercent(f64),
    /// Sets where a vehicle stops by itself.
    ChargeLimitPercent(f64),
}

impl HandWord {
    pub(crate) fn to_engine(&self) -> Result<Hand, ControlError> {
        Ok(match self {
            Self::PlugIn => Hand::PlugIn,
            Self::Unplug => Hand::Unplug,
            Self::Break(state) => Hand::Break(PowerState::parse(state)?),
            Self::Repair => Hand::Repair,
            Self::SocPercent(number) => Hand::Fill(Percent::from_percent(*number)?),
            Self::ChargeLimitPercent(number) => Hand::ChargeLimit(Percent::from_percent(*number)?),
        })
    }
}

/// Steps a clock, or sets its speed, or both in this order. Neither asks.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockOrder {
    /// Time by which the clock is put forward.
    #[serde(default)]
    pub step_seconds: Option<f64>,
    /// Speed of the clock from then on, relative to the machine's; 0 stands still.
    #[serde(default)]
    pub speed: Option<f64>,
}

impl ClockOrder {
    pub(crate) fn apply(&self, clock: &Clock) -> Result<(), ClockError> {
        let speed = self.speed.map(Speed::times).transpose()?;
        if let Some(seconds) = self.step_seconds {
            let too_far = ClockError::TooFar { seconds: seconds as i64 };
            let micros = seconds * 1e6;
            let is_length = micros.is_finite() && micros.abs() < i64::MAX as f64;
            let length = is_length.then(|| TimeDelta::microseconds(micros as i64));
            clock.step(length.ok_or(too_far)?)?;
        }
        if let Some(speed) = speed {
            clock.set_speed(speed)?;
        }
        Ok(())
    }
}

/// State of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClockState {
    /// The time.
    pub now: DateTime<Utc>,
    /// Speed relative to the machine's clock.
    pub speed: f64,
}

/// A command that a vendor was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReceivedCommand {
    /// Its place among all commands of the sandbox.
    pub number: u64,
    /// When.
    pub at: DateTime<Utc>,
    /// For which device.
    pub device: String,
    /// What, such as `{"charge": "start"}` or `{"max_current_amps": 16.0}`.
    #[schema(value_type = Object)]
    pub command: Command,
    /// Reason of the refusal, if it was refused.
    pub refused: Option<String>,
    /// When the device does it; `null` if it never will.
    pub done_at: Option<DateTime<Utc>>,
}

impl From<&Received> for ReceivedCommand {
    fn from(received: &Received) -> Self {
        Self {
            number: received.number,
            at: received.at,
            device: received.device.clone(),
            command: received.command,
            refused: received.refused.clone(),
            done_at: received.done_at,
        }
    }
}

/// Something wrong in a scenario, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlawBody {
    /// Line of the text, from one.
    pub line: Option<u64>,
    /// The field.
    pub field: String,
    /// Fault.
    pub reason: String,
}

impl From<&Flaw> for FlawBody {
    fn from(flaw: &Flaw) -> Self {
        Self { line: flaw.line, field: flaw.field.clone(), reason: flaw.reason.clone() }
    }
}

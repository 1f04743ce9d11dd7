//! Facts that pass between a charge point and this system, without a version of the protocol.
//!
//! The folders of the versions translate messages to [`Event`] and [`Reply`], and [`Answer`] and
//! [`Request`] to messages. Everything else knows these types only.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use slackwater_control::charging_profile::profile::{Profile, SchedulePeriod};

/// Number of a connector (1.6) or EVSE (2.0.1), from 1. Zero is the charge point as a whole.
pub type Connector = u32;

/// Message that a charge point sends of its own accord.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// It started, or introduces itself.
    Booted(Model),
    /// It is alive.
    Heartbeat,
    /// Somebody holds a token to it.
    Authorize {
        /// The token.
        token: String,
    },
    /// State of a connector.
    Status {
        /// Connector.
        connector: Connector,
        /// Its state.
        status: Status,
        /// Time as it came.
        at: Option<DateTime<Utc>>,
    },
    /// Values of a meter outside of messages about transactions.
    Metered {
        /// Connector.
        connector: Connector,
        /// Measured values.
        samples: Samples,
    },
    /// A transaction begins, goes on or ends.
    Transaction(TransactionFacts),
    /// Vehicles have told their identifiers (EVCCID of ISO 15118), each at a connector.
    Identified(Vec<(Connector, String)>),
    /// Something that is answered and not acted on: firmware, diagnostics, security.
    Noted,
    /// A request for a signature on a certificate.
    SignCertificate,
    /// Data of the manufacturer's own.
    DataTransfer,
}

/// Model of a charge point.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Make.
    pub vendor: String,
    /// Model.
    pub model: String,
    /// Serial number.
    pub serial_number: Option<String>,
    /// Version of the firmware.
    pub firmware: Option<String>,
}

/// State of a connector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// No plug is in.
    Available,
    /// A plug is in; nothing else is known.
    Occupied,
    /// A plug is in, and no transaction delivers energy yet.
    Preparing,
    /// Energy may flow.
    Charging,
    /// The vehicle takes none.
    SuspendedByVehicle,
    /// The charger gives none.
    SuspendedByCharger,
    /// The transaction has ended, the plug is still in.
    Finishing,
    /// Kept for somebody.
    Reserved,
    /// Out of service.
    Unavailable,
    /// Broken.
    Faulted,
}

impl Status {
    /// Returns true if a plug is in; `None` if the state does not say.
    #[must_use]
    pub const fn is_plugged_in(self) -> Option<bool> {
        match self {
            Self::Available | Self::Reserved => Some(false),
            Self::Unavailable | Self::Faulted => None,
            _ => Some(true),
        }
    }
}

/// Stage of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It begins.
    Started,
    /// It goes on.
    Updated,
    /// It has ended.
    Ended,
}

/// Report about a transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct TransactionFacts {
    /// Stage.
    pub stage: Stage,
    /// Identifier, if the charge point has given or got one.
    pub id: Option<String>,
    /// Connector, if it says so.
    pub connector: Option<Connector>,
    /// Time, if there is a readable one.
    pub at: Option<DateTime<Utc>>,
    /// Token that it was started with.
    pub token: Option<String>,
    /// State of charging, if it says so.
    pub status: Option<Status>,
    /// Measured values, the registers at start and end among them.
    pub samples: Samples,
}

/// Measured values of a message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Samples {
    /// Readable values.
    pub values: Vec<Sample>,
    /// Number of values that are no numbers or have a unit of something else.
    pub unreadable: usize,
}

/// Measured value of the connector as a whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Time, if there is a readable one.
    pub at: Option<DateTime<Utc>>,
    /// Quantity.
    pub quantity: Quantity,
    /// Value in the unit of the quantity.
    pub value: f64,
    /// True if the message names the unit.
    pub has_unit: bool,
}

/// Measured quantity, with the unit of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Register of energy taken, Wh.
    Imported,
    /// Register of energy given, Wh.
    Exported,
    /// Power that the vehicle takes, W.
    Power,
    /// Power that the vehicle gives, W.
    PowerGiven,
    /// Highest current of a phase, A.
    Current,
    /// Current offered to the vehicle, A.
    CurrentOffered,
    /// Power offered to the vehicle, W.
    PowerOffered,
}

/// Answer to an [`Event`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The charge point is welcome.
    Booted {
        /// Our time.
        now: DateTime<Utc>,
        /// Interval of heartbeats, s.
        interval_seconds: u32,
    },
    /// Our time.
    Time(DateTime<Utc>),
    /// Judgement of a token.
    Authorized {
        /// True if it may charge.
        is_accepted: bool,
    },
    /// Answer to a report about a transaction.
    Transaction {
        /// Identifier of the transaction.
        id: String,
        /// Judgement of its token, if it has one.
        is_accepted: Option<bool>,
    },
    /// Nothing more than that the message came.
    Empty,
    /// Refused by design.
    Rejected,
    /// Data of a manufacturer that mean nothing here.
    UnknownVendor,
}

/// Setting of a charge point that matters here. Versions have other names for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variable {
    /// `true` if it takes charging profiles.
    SmartCharging,
    /// Units of limits that it takes: `A`, `W` or `A,W`.
    RateUnits,
    /// Highest stack level of a profile.
    StackLevelMax,
    /// Most periods of a schedule.
    PeriodsMax,
    /// Most profiles at a time.
    ProfilesMax,
    /// Quantities sampled during a transaction, separated by commas.
    Measurands,
    /// Interval of samples during a transaction, s.
    MeterInterval,
    /// Interval of samples on the clock, s.
    AlignedInterval,
    /// Number of connectors.
    Connectors,
}

/// Message that a charge point may be asked to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// Its model.
    Boot,
    /// State of its connectors.
    Status,
    /// Values of its meters.
    MeterValues,
    /// A sign of life.
    Heartbeat,
    /// State of the upload of its log.
    Diagnostics,
    /// State of an update of its firmware.
    Firmware,
}

/// Way to restart a charge point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reset {
    /// Transactions are ended in order first (1.6), or it waits until there is none (2.0.1).
    Soft,
    /// At once.
    Hard,
}

/// Request to a charge point.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Values of its variables.
    ReadVariables,
    /// Sets a variable.
    SetVariable {
        /// Variable.
        variable: Variable,
        /// Its value.
        value: String,
    },
    /// Starts a transaction.
    Start {
        /// Connector.
        connector: Connector,
        /// Token to start it with.
        token: String,
        /// Number by which the charge point may name this request.
        number: i64,
    },
    /// Ends a transaction.
    Stop {
        /// Identifier of the transaction.
        transaction: String,
    },
    /// Writes a charging profile.
    SetProfile {
        /// Connector.
        connector: Connector,
        /// Identifier of the transaction, for a profile of one.
        transaction: Option<String>,
        /// Profile.
        profile: Profile,
    },
    /// Removes all default profiles of a connector, also those that expire.
    ClearDefaults {
        /// Connector.
        connector: Connector,
    },
    /// Asks for the limits that follow from all profiles.
    ReadSchedule {
        /// Connector.
        connector: Connector,
        /// Length, s.
        seconds: u32,
    },
    /// Asks for a message.
    Trigger {
        /// Message.
        message: Trigger,
        /// Connector, if it is about one.
        connector: Option<Connector>,
    },
    /// Restarts the charge point.
    Reset {
        /// Way to do it.
        reset: Reset,
    },
    /// Unlocks the cable of a connector.
    Unlock {
        /// Connector.
        connector: Connector,
    },
    /// Has the charge point forget the tokens that it has accepted.
    ClearTokens,
}

impl Request {
    /// Kind of the request, as a label of metrics.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::ReadVariables => "read_variables",
            Self::SetVariable { .. } => "set_variable",
            Self::Start { .. } => "start",
            Self::Stop { .. } => "stop",
            Self::SetProfile { .. } => "set_profile",
            Self::ClearDefaults { .. } => "clear_defaults",
            Self::ReadSchedule { .. } => "read_schedule",
            Self::Trigger { .. } => "trigger",
            Self::Reset { .. } => "reset",
            Self::Unlock { .. } => "unlock",
            Self::ClearTokens => "clear_tokens",
        }
    }
}

/// Reply to a [`Request`].
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Done, or agreed to.
    Accepted,
    /// Values of variables.
    Variables(Vec<(Variable, String)>),
    /// Limits that follow from all profiles.
    Schedule {
        /// Start, if there is a readable one.
        start: Option<DateTime<Utc>>,
        /// Periods in order of time.
        periods: Vec<SchedulePeriod>,
    },
    /// Refused.
    Refused {
        /// In the words of the protocol.
        status: String,
    },
    /// The charge point does not know such a request.
    NotSupported,
    /// The charge point failed at it.
    Failed {
        /// Code and description as they came.
        reason: String,
    },
    /// No reply in time.
    TimedOut,
    /// The connection ended first.
    Lost,
}

//! Events as a VTN sends them.
//!
//! Names and meanings are those of the `OpenAPI` file of `OpenADR` 3.1.0 (`OpenADR` Alliance); 3.0 differs
//! in the targets. Only fields that a limit needs are read, so that an event of another type may hold
//! anything in the others.
use serde::Deserialize;
use serde_json::Value;

/// Event of a program.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Name that the VTN gave it.
    pub id: String,
    /// Name of its program.
    #[serde(rename = "programID")]
    pub program_id: String,
    /// Time of its last change.
    pub modification_date_time: String,
    /// Duration of the event, over which its intervals repeat.
    pub duration: Option<String>,
    /// A lower number comes before a higher one.
    pub priority: Option<i64>,
    /// Receivers; none are all that see the event.
    pub targets: Option<Vec<Target>>,
    /// Units of the payloads.
    pub payload_descriptors: Option<Vec<PayloadDescriptor>>,
    /// Start of the first interval, and the duration of each that has none of its own.
    pub interval_period: Option<IntervalPeriod>,
    /// Intervals, each after the one before.
    pub intervals: Option<Vec<Interval>>,
}

/// Receiver of an event.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Target {
    /// A name, in 3.1.
    Name(String),
    /// Names of a type, in 3.0.
    Names {
        /// The names.
        values: Vec<Value>,
    },
}

/// Unit of payloads of a type.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PayloadDescriptor {
    /// Type of the payloads.
    pub payload_type: Option<String>,
    /// Unit of their values.
    pub units: Option<String>,
}

/// Start and duration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IntervalPeriod {
    /// Start, by ISO 8601. The year 0 or 1 stands for "now".
    pub start: Option<String>,
    /// Duration, by ISO 8601.
    pub duration: Option<String>,
}

/// Interval with values.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interval {
    /// Period of its own.
    pub interval_period: Option<IntervalPeriod>,
    /// Values by type.
    pub payloads: Vec<Payload>,
}

/// Values of a type.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Payload {
    /// Type, such as `IMPORT_CAPACITY_LIMIT`.
    #[serde(rename = "type")]
    pub payload_type: String,
    /// Values.
    pub values: Vec<Value>,
}

impl Target {
    /// Returns true if the target has a name.
    #[must_use]
    pub fn has_name(&self, name: &str) -> bool {
        match self {
            Self::Name(own) => own == name,
            Self::Names { values } => values.iter().any(|value| value.as_str() == Some(name)),
        }
    }
}

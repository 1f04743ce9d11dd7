//! Operation modes of a home battery.
use serde::{Deserialize, Serialize};

/// Operation mode of a battery. The battery itself decides on its power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OperationMode {
    /// Minimises energy from the grid.
    #[serde(rename = "self_reliance")]
    SelfReliance,
    /// Minimises cost under a rate schedule.
    #[serde(rename = "time_of_use")]
    TimeOfUse,
    /// Charging first.
    #[serde(rename = "import_focus")]
    ImportFocus,
    /// Discharging first, to the home and the grid.
    #[serde(rename = "export_focus")]
    ExportFocus,
    /// Neither.
    #[serde(rename = "idle")]
    Idle,
}

impl OperationMode {
    /// All five.
    pub const ALL: [Self; 5] =
        [Self::SelfReliance, Self::TimeOfUse, Self::ImportFocus, Self::ExportFocus, Self::Idle];

    /// The word that stands for it in data.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SelfReliance => "self_reliance",
            Self::TimeOfUse => "time_of_use",
            Self::ImportFocus => "import_focus",
            Self::ExportFocus => "export_focus",
            Self::Idle => "idle",
        }
    }
}

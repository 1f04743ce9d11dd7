//! Operation modes of a home battery.
use serde::{Deserialize, Serialize};

use slackwater_engine::words;

words! {
    /// Operation mode of a battery. The battery itself decides on its power.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum OperationMode {
        /// Minimises energy from the grid.
        SelfReliance = "self_reliance",
        /// Minimises cost under a rate schedule.
        TimeOfUse = "time_of_use",
        /// Charging first.
        ImportFocus = "import_focus",
        /// Discharging first, to the home and the grid.
        ExportFocus = "export_focus",
        /// Neither.
        Idle = "idle",
    }
}

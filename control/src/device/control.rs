//! The one in charge of a device, and whether it leaves room for commands by hand.
use serde::{Deserialize, Serialize};

/// Controller of a target's charging.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Controller {
    /// A smart override forces charging (OVR-05).
    #[serde(rename = "override")]
    Override,
    /// The schedule with this identifier.
    #[serde(rename = "schedule")]
    Schedule(String),
    /// Smart charging follows its plan.
    #[serde(rename = "smart_charging")]
    SmartCharging,
    /// No controller: commands are accepted.
    #[serde(rename = "nobody")]
    Nobody,
}

impl Controller {
    /// Returns true if a start or stop by hand is refused because a feature controls the target
    /// (CHG-29, CHG-30, AMB-79). An override does not refuse.
    #[must_use]
    pub const fn refuses_commands(&self) -> bool {
        matches!(self, Self::Schedule(_) | Self::SmartCharging)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_refuses_commands() {
        assert!(Controller::Schedule("s".into()).refuses_commands());
        assert!(Controller::SmartCharging.refuses_commands());
        assert!(!Controller::Override.refuses_commands());
        assert!(!Controller::Nobody.refuses_commands());
    }
}

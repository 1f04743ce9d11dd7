//! The one in charge of a device, and whether it leaves room for commands by hand.
use serde::{Deserialize, Serialize};

/// Who decides whether a target charges.
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
    /// Nobody: commands are welcome.
    #[serde(rename = "nobody")]
    Nobody,
}

impl Controller {
    /// Whether a start or stop by hand is refused: a feature is in charge
    /// (CHG-29, CHG-30, AMB-79). Not under an override.
    #[must_use]
    pub const fn refuses_commands(&self) -> bool {
        matches!(self, Self::Schedule(_) | Self::SmartCharging)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chg_29_chg_30_who_refuses_commands() {
        assert!(Controller::Schedule("s".into()).refuses_commands());
        assert!(Controller::SmartCharging.refuses_commands());
        assert!(!Controller::Override.refuses_commands());
        assert!(!Controller::Nobody.refuses_commands());
    }
}

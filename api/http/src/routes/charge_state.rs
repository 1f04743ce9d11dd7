//! Words and objects that several kinds of device share.
use serde::Serialize;
use slackwater_control::device::capability::{Ability, Capabilities, Capability};
use slackwater_control::device::power_state::PowerState;
use slackwater_engine::units::{Current, Power};
use utoipa::ToSchema;

/// Ability of a device, and advice for a person who could add it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapabilityBody {
    /// False: not, or in part only.
    pub is_capable: bool,
    /// Steps that a person could take.
    pub intervention_ids: Vec<String>,
}

/// Ability to limit the charge rate, with the range of the limit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RangedCapabilityBody {
    /// False: not, or in part only.
    pub is_capable: bool,
    /// Steps that a person could take.
    pub intervention_ids: Vec<String>,
    /// Between which powers the limit can be set.
    pub allowed_range: AllowedRange,
}

/// A range of powers.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, ToSchema)]
pub struct AllowedRange {
    /// In kW.
    #[serde(rename = "kW")]
    pub kw: MinMax,
}

/// Two ends, both included; null is not known.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, ToSchema)]
pub struct MinMax {
    /// Lowest.
    pub min: Option<f64>,
    /// Highest.
    pub max: Option<f64>,
}

/// Ability that a device reports. One that it does not name, it does not have.
#[must_use]
pub fn capability(of: &Capabilities, ability: Ability) -> CapabilityBody {
    of.get(&ability).map_or_else(CapabilityBody::default, body)
}

/// Ability that a device reports, with the range of the limit.
#[must_use]
pub fn ranged_capability(of: &Capabilities, ability: Ability) -> RangedCapabilityBody {
    let CapabilityBody { is_capable, intervention_ids } = capability(of, ability);
    let range = of.get(&ability).and_then(|capability| capability.allowed_range);
    let range = range.unwrap_or_default();
    let kw = MinMax { min: range.min.map(Power::as_kw), max: range.max.map(Power::as_kw) };
    RangedCapabilityBody { is_capable, intervention_ids, allowed_range: AllowedRange { kw } }
}

fn body(capability: &Capability) -> CapabilityBody {
    CapabilityBody {
        is_capable: capability.is_capable,
        intervention_ids: capability.intervention_ids.clone(),
    }
}

/// The word of the specification for a state.
#[must_use]
pub const fn power_word(state: PowerState) -> &'static str {
    match state {
        PowerState::Unknown => "UNKNOWN",
        PowerState::Unplugged => "UNPLUGGED",
        PowerState::Initializing => "PLUGGED_IN:INITIALIZING",
        PowerState::Charging => "PLUGGED_IN:CHARGING",
        PowerState::Complete => "PLUGGED_IN:COMPLETE",
        PowerState::Stopped => "PLUGGED_IN:STOPPED",
        PowerState::NoPower => "PLUGGED_IN:NO_POWER",
        PowerState::Fault => "PLUGGED_IN:FAULT",
        PowerState::Discharging => "PLUGGED_IN:DISCHARGING",
    }
}

/// Amperes, if there are any.
#[must_use]
pub fn amps(current: Option<Current>) -> Option<f64> {
    current.map(Current::as_amps)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn power_states_have_nine_words() {
        let words: BTreeSet<&str> = PowerState::ALL.map(power_word).into_iter().collect();
        assert_eq!(words.len(), 9);
        assert!(words.contains("PLUGGED_IN:DISCHARGING"));
    }
}

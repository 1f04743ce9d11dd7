//! Capabilities of a device, and advice on how to obtain missing ones.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::device::scope::{Granted, Permission};
use slackwater_engine::units::Power;
use slackwater_engine::words;

words! {
    /// Ability of a device: a command or a reading.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Ability {
        /// Describe itself.
        Information = "information",
        /// Tell its charge state.
        ChargeState = "charge_state",
        /// Tell where it is.
        Location = "location",
        /// Tell how far it has been driven.
        Odometer = "odometer",
        /// Limit its current.
        SetMaxCurrent = "set_max_current",
        /// Start charging.
        StartCharging = "start_charging",
        /// Stop charging.
        StopCharging = "stop_charging",
        /// Follow a smart charging plan.
        SmartCharging = "smart_charging",
        /// Be read afresh.
        RefreshState = "refresh_state",
        /// Limit its charge rate.
        SetChargeRateLimit = "set_charge_rate_limit",
        /// Follow the schedule on the device.
        SetFollowSchedule = "set_follow_schedule",
        /// Hold a setpoint.
        SetPermanentHold = "set_permanent_hold",
    }
}

/// A word that is no ability.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not an ability; one of {}", Ability::ALL.map(Ability::as_str).join(", "))]
pub struct AbilityError {
    /// The word as given.
    pub given: String,
}

impl Ability {
    /// Abilities of vehicles (VEH-36).
    pub const OF_VEHICLES: &'static [Self] =
        Self::ALL.first_chunk::<10>().expect("twelve").as_slice();

    /// Abilities of chargers (CHG-07).
    pub const OF_CHARGERS: &'static [Self] = &[
        Self::Information,
        Self::ChargeState,
        Self::StartCharging,
        Self::StopCharging,
        Self::SetMaxCurrent,
        Self::SetChargeRateLimit,
    ];

    /// The ability that a word stands for.
    ///
    /// # Errors
    /// None does.
    pub fn parse(word: &str) -> Result<Self, AbilityError> {
        let found = Self::ALL.into_iter().find(|ability| ability.as_str() == word);
        found.ok_or_else(|| AbilityError { given: word.to_string() })
    }

    /// Permission that the owner has to grant for it (SCOPE-10 to SCOPE-12).
    #[must_use]
    pub const fn permission(self) -> Permission {
        match self {
            Self::Information | Self::ChargeState | Self::Odometer | Self::RefreshState => {
                Permission::ReadData
            }
            Self::Location => Permission::ReadLocation,
            Self::SetMaxCurrent
            | Self::StartCharging
            | Self::StopCharging
            | Self::SmartCharging
            | Self::SetChargeRateLimit => Permission::ControlCharging,
            Self::SetFollowSchedule | Self::SetPermanentHold => Permission::ControlMode,
        }
    }
}

/// Powers between which a limit can be set; `None` is not known (CAP-04).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerRange {
    /// Lowest limit.
    #[serde(rename = "min_kw")]
    pub min: Option<Power>,
    /// Highest limit.
    #[serde(rename = "max_kw")]
    pub max: Option<Power>,
}

/// Capability of a device for one ability, with advice for its owner.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capability {
    /// True if the device has the ability in full (CAP-02).
    pub is_capable: bool,
    /// Steps that a person could take; also where it can, as advice (CAP-03).
    pub intervention_ids: Vec<String>,
    /// Range of the charge rate; only for the limit of the charge rate (CAP-05).
    #[serde(default)]
    pub allowed_range: Option<PowerRange>,
}

/// Capabilities of one device.
pub type Capabilities = BTreeMap<Ability, Capability>;

/// Restricts capabilities to the granted permissions: an ability without its permission is not
/// available and has no advice (SCOPE-12).
#[must_use]
pub fn within_scopes(capabilities: &Capabilities, granted: &Granted) -> Capabilities {
    let mut left = capabilities.clone();
    for (ability, capability) in &mut left {
        if !granted.contains(&ability.permission()) {
            capability.is_capable = false;
            capability.intervention_ids.clear();
        }
    }
    left
}

/// Capabilities of a vehicle at a charger (CAP-06 to CAP-08, AMB-48).
///
/// For an ability of both, the advice of both is listed, the vehicle's first, each once.
/// Everything else is the vehicle's own: the capability, its range, and abilities that the
/// charger lacks. Apply [`within_scopes`] afterwards, so that a missing permission prevails.
///
/// # Example
///
/// ```
/// use slackwater_control::device::capability::{Ability, Capabilities, Capability, merged};
/// let advice = |ids: [&str; 2]| {
///     let intervention_ids = ids.map(String::from).to_vec();
///     let start = Capability { is_capable: true, intervention_ids, allowed_range: None };
///     Capabilities::from([(Ability::StartCharging, start)])
/// };
/// let both = merged(&advice(["log in", "update"]), &advice(["update", "reset"]));
/// let ids = &both[&Ability::StartCharging].intervention_ids;
/// assert_eq!(ids, &["log in", "update", "reset"]);
/// ```
#[must_use]
pub fn merged(vehicle: &Capabilities, charger: &Capabilities) -> Capabilities {
    let mut both = vehicle.clone();
    for (ability, capability) in &mut both {
        let own = std::mem::take(&mut capability.intervention_ids);
        let others = charger.get(ability).map_or(&[][..], |other| &other.intervention_ids);
        for id in own.iter().chain(others) {
            if !capability.intervention_ids.contains(id) {
                capability.intervention_ids.push(id.clone());
            }
        }
    }
    both
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slackwater_engine::units::kw;

    fn capability(is_capable: bool, ids: &[&str]) -> Capability {
        let intervention_ids = ids.iter().map(ToString::to_string).collect();
        Capability { is_capable, intervention_ids, allowed_range: None }
    }

    #[test]
    fn union_of_shared_abilities_only() {
        let range = PowerRange { min: Some(kw(1.4)), max: None };
        let limit = Capability { allowed_range: Some(range), ..capability(false, &[]) };
        let vehicle = Capabilities::from([
            (Ability::Odometer, capability(true, &["a", "a"])),
            (Ability::SetChargeRateLimit, limit),
        ]);
        let charger = Capabilities::from([
            (Ability::Information, capability(true, &["b"])),
            (Ability::SetChargeRateLimit, capability(true, &["c"])),
        ]);
        let both = merged(&vehicle, &charger);
        assert_eq!(both.len(), 2);
        assert_eq!(both[&Ability::Odometer], capability(true, &["a"]));
        let limit = &both[&Ability::SetChargeRateLimit];
        assert_eq!((limit.is_capable, limit.allowed_range), (false, Some(range)));
        assert_eq!(limit.intervention_ids, ["c"]);
    }

    #[test]
    fn a_missing_scope_takes_its_abilities_and_no_others() {
        let all: Capabilities =
            Ability::ALL.into_iter().map(|ability| (ability, capability(true, &["x"]))).collect();
        for missing in Permission::ALL {
            let granted = Permission::ALL.into_iter().filter(|p| *p != missing).collect();
            for (ability, left) in within_scopes(&all, &granted) {
                let lost = ability.permission() == missing;
                let expected = if lost { capability(false, &[]) } else { all[&ability].clone() };
                assert_eq!(left, expected, "{ability:?} without {missing:?}");
            }
        }
        let control: Vec<Ability> = Ability::OF_VEHICLES
            .iter()
            .copied()
            .filter(|ability| ability.permission() == Permission::ControlCharging)
            .collect();
        assert_eq!(control.len(), 5);
    }

    #[test]
    fn vehicles_have_ten_abilities_and_chargers_six() {
        assert_eq!((Ability::OF_VEHICLES.len(), Ability::OF_CHARGERS.len()), (10, 6));
        for ability in Ability::ALL {
            assert_eq!(Ability::parse(ability.as_str()), Ok(ability));
        }
        assert!(Ability::parse("startCharging").is_err());
    }

    fn capabilities() -> impl Strategy<Value = Capabilities> {
        let ids = prop::collection::vec("[a-e]", 0..4);
        let one = (any::<bool>(), ids).prop_map(|(is_capable, intervention_ids)| Capability {
            is_capable,
            intervention_ids,
            allowed_range: None,
        });
        let ability = prop::sample::select(Ability::ALL.to_vec());
        prop::collection::btree_map(ability, one, 0..6)
    }

    proptest! {
        /// EP-29: merging twice is merging once, and nothing shared is lost.
        #[test]
        fn merging_is_idempotent_and_complete(
            vehicle in capabilities(), charger in capabilities(),
        ) {
            let both = merged(&vehicle, &charger);
            prop_assert_eq!(&merged(&both, &charger), &both);
            for (ability, own) in &vehicle {
                let shared = charger.get(ability).into_iter().flat_map(|c| &c.intervention_ids);
                let ids = &both[ability].intervention_ids;
                prop_assert!(own.intervention_ids.iter().chain(shared).all(|id| ids.contains(id)));
                prop_assert!((1..ids.len()).all(|at| !ids[..at].contains(&ids[at])));
            }
            prop_assert_eq!(both.len(), vehicle.len());
        }
    }
}

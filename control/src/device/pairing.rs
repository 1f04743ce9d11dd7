//! Pairing of a vehicle and a charger that are detected as plugged into each other.
use serde::{Deserialize, Serialize};

/// Device and its owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owned {
    /// The device.
    pub id: String,
    /// The user who linked it.
    pub user_id: String,
}

/// Returns true if a vehicle and a charger may refer to each other: they belong to one user and
/// are detected as plugged into each other (VEH-21, CHG-06). The relation is symmetric.
///
/// Both sides see the pair or neither does.
#[must_use]
pub fn are_paired(vehicle: &Owned, charger: &Owned, is_detected_together: bool) -> bool {
    is_detected_together && vehicle.user_id == charger.user_id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_paired_if_detected_and_of_one_user() {
        let owned = |id: &str, user: &str| Owned { id: id.into(), user_id: user.into() };
        let car = owned("car", "ada");
        assert!(are_paired(&car, &owned("box", "ada"), true));
        assert!(!are_paired(&car, &owned("box", "ada"), false));
        assert!(!are_paired(&car, &owned("box", "Ada"), true));
    }
}

//! Reading of a vehicle or charger as schedules and commands use it.
use serde::{Deserialize, Serialize};

use crate::device::capability::{Ability, Capabilities};
use crate::device::charge_state::ChargeState;
use crate::device::command::DeviceReading;
use crate::device::power_state::PowerState;
use slackwater_engine::units::{Current, Percent};

/// State of charge and related values of a vehicle, as far as it reports them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fullness {
    /// State of charge.
    #[serde(rename = "soc_percent")]
    pub soc: Option<Percent>,
    /// State of charge at which the vehicle stops charging.
    #[serde(rename = "charge_limit_percent")]
    pub charge_limit: Option<Percent>,
    /// True if the vehicle reports that it is full.
    pub is_fully_charged: Option<bool>,
}

impl Fullness {
    /// Values of a vehicle with a given charge state. A complete one is full.
    #[must_use]
    pub fn of(shown: &ChargeState, soc: Option<Percent>, charge_limit: Option<Percent>) -> Self {
        let is_complete = (shown.power_state == PowerState::Complete).then_some(true);
        Self { soc, charge_limit, is_fully_charged: is_complete.or(shown.is_fully_charged) }
    }
}

/// Last reading of the target; `None` is unknown.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetReading {
    /// True if a plug is in.
    pub is_plugged_in: Option<bool>,
    /// True if it charges.
    pub is_charging: Option<bool>,
    /// State of charge; a charger's is that of the vehicle paired with it.
    #[serde(rename = "soc_percent")]
    pub soc: Option<Percent>,
    /// State of charge at which the vehicle stops charging; `None` is 100 %.
    #[serde(rename = "charge_limit_percent")]
    pub charge_limit: Option<Percent>,
    /// True if the vehicle reports that it is full.
    pub is_fully_charged: Option<bool>,
    /// The location it is at.
    pub location_id: Option<String>,
    /// True if the target can be both started and stopped (SCH-44, AMB-19).
    pub is_capable: bool,
}

impl TargetReading {
    /// Returns true if the vehicle can take energy (AMB-18).
    ///
    /// A vehicle that reports to be full needs none; otherwise the state of charge is compared
    /// with the charge limit. If the state of charge is unknown the result is true, so that a
    /// schedule does not stop for lack of data.
    #[must_use]
    pub fn needs_charge(&self) -> bool {
        let limit = self.charge_limit.unwrap_or(Percent::FULL);
        self.is_fully_charged != Some(true) && self.soc.is_none_or(|soc| soc < limit)
    }
}

/// Returns true if the shown state is charging; `None` if unknown.
#[must_use]
pub fn is_charging(shown: &ChargeState) -> Option<bool> {
    let by_state = match shown.power_state {
        PowerState::Unknown => None,
        state => Some(state == PowerState::Charging),
    };
    shown.is_charging.or(by_state)
}

/// Reading on which a command to a vehicle or charger is judged (CHG-28, CHG-32).
///
/// A charger takes the state of charge of the vehicle on its cable; without a known vehicle it is
/// unknown.
#[must_use]
pub fn command_reading(
    shown: &ChargeState,
    max_current: Option<Current>,
    vehicle: Option<Fullness>,
) -> DeviceReading {
    DeviceReading {
        is_fully_charged: vehicle.and_then(|vehicle| vehicle.is_fully_charged),
        max_current,
        charge_rate_limit: shown.charge_rate_limit,
        ..DeviceReading::of(shown.power_state)
    }
}

/// Reading on which a schedule of a vehicle or charger is judged (AMB-18, AMB-19).
///
/// The capabilities are those within the granted permissions.
#[must_use]
pub fn target_reading(
    shown: &ChargeState,
    vehicle: Option<Fullness>,
    location_id: Option<String>,
    capabilities: &Capabilities,
) -> TargetReading {
    let can = |ability| capabilities.get(&ability).is_some_and(|capability| capability.is_capable);
    let vehicle = vehicle.unwrap_or_default();
    TargetReading {
        is_plugged_in: shown.is_plugged_in.or(shown.power_state.is_plugged_in()),
        is_charging: is_charging(shown),
        soc: vehicle.soc,
        charge_limit: vehicle.charge_limit,
        is_fully_charged: vehicle.is_fully_charged,
        location_id,
        is_capable: can(Ability::StartCharging) && can(Ability::StopCharging),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::capability::Capability;
    use crate::device::command::{Command, Refusal, Switch};
    use slackwater_engine::units::{kw, percent};

    fn shown(power_state: PowerState) -> ChargeState {
        ChargeState {
            power_state,
            is_plugged_in: None,
            is_charging: None,
            is_fully_charged: None,
            charge_rate: None,
            charge_time_remaining_minutes: None,
            charge_rate_limit: Some(kw(11.0)),
            last_updated: None,
        }
    }

    fn able(abilities: &[Ability]) -> Capabilities {
        let one = Capability { is_capable: true, ..Capability::default() };
        abilities.iter().map(|ability| (*ability, one.clone())).collect()
    }

    #[test]
    fn a_charger_is_as_full_as_the_vehicle_at_it() {
        let charger = shown(PowerState::Stopped);
        let start = Command::Charge(Switch::Start);
        let at = |vehicle| start.unmet_precondition(&command_reading(&charger, None, vehicle));
        let full = Fullness::of(&shown(PowerState::Complete), None, None);
        assert_eq!(at(Some(full)), Some(Refusal::FullyCharged));
        assert_eq!(at(Some(Fullness::of(&shown(PowerState::Stopped), None, None))), None);
        assert_eq!(at(None), None);
    }

    #[test]
    fn a_charger_needs_charge_as_its_vehicle_does() {
        let both = able(&[Ability::StartCharging, Ability::StopCharging]);
        let charger = shown(PowerState::Stopped);
        let needs = |soc: f64| {
            let state = shown(PowerState::Stopped);
            let vehicle = Fullness::of(&state, Some(percent(soc)), Some(percent(80.0)));
            target_reading(&charger, Some(vehicle), None, &both).needs_charge()
        };
        assert!(needs(79.0) && !needs(80.0));
        assert!(target_reading(&charger, None, None, &both).needs_charge());
    }

    #[test]
    fn capable_is_who_can_start_and_stop() {
        let charger = shown(PowerState::Stopped);
        let capable =
            |list: &[Ability]| target_reading(&charger, None, None, &able(list)).is_capable;
        assert!(capable(&[Ability::StartCharging, Ability::StopCharging]));
        assert!(!capable(&[Ability::StartCharging]) && !capable(&[Ability::StopCharging]));
    }

    #[test]
    fn what_nobody_says_follows_from_the_state() {
        for state in PowerState::ALL {
            let reading = target_reading(&shown(state), None, None, &Capabilities::new());
            assert_eq!(reading.is_plugged_in, state.is_plugged_in());
            let expected = (state != PowerState::Unknown).then_some(state == PowerState::Charging);
            assert_eq!(reading.is_charging, expected);
        }
    }
}

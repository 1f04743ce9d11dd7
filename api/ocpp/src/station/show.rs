//! State of a connector as the service reads it.
use chrono::{DateTime, Utc};
use slackwater_control::charging_profile::supply::Limit;
use slackwater_control::device::capability::{Ability, Capabilities, Capability};
use slackwater_control::device::charge_state::ChargeState;
use slackwater_control::device::power_state::PowerState;
use slackwater_engine::units::{Energy, Power};
use slackwater_integration::reading::{ChargerFacts, ChargerInformation, Counters, Facts, Reading};
use slackwater_integration::vendor::Metered;

use crate::facts::{Connector, Model, Status};
use crate::station::connector::ConnectorState;
use crate::station::register::QUARTER;
use crate::station::state::Station;
use crate::vehicles::Vehicles;

/// Plug and transaction of a connector: facts whose changes do not wait for the next poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occupancy {
    /// State of plug and charging.
    pub status: Option<Status>,
    /// Start of the open transaction, if there is one.
    pub transaction_start: Option<DateTime<Utc>>,
}

impl ConnectorState {
    /// Plug and transaction.
    #[must_use]
    pub fn occupancy(&self) -> Occupancy {
        let open = self.transactions.open.as_ref();
        Occupancy { status: self.status, transaction_start: open.map(|open| open.started_at) }
    }
}

impl Station {
    /// Reading of a connector; `None` if there is no such connector, or the charge point was
    /// never heard of. The vehicle that is plugged in is one of those that are known.
    #[must_use]
    pub fn reading(&self, number: Connector, vehicles: &Vehicles) -> Option<Reading> {
        let state = self.connectors.get(&number)?;
        let at = self.heard_at?;
        let facts = ChargerFacts {
            information: self.information(),
            charging: charge_state(state, at),
            max_current: match state.shown_limit() {
                Some(Limit::Current(current)) => Some(current),
                _ => None,
            },
            plugged_into: vehicles.find_vehicle(state.identification.identifiers()).cloned(),
        };
        Some(Reading {
            at,
            is_reachable: Some(self.link.is_some()),
            capabilities: self.capabilities(),
            counters: read_counters(state),
            facts: Facts::Charger(Box::new(facts)),
        })
    }

    fn information(&self) -> ChargerInformation {
        let Model { vendor, model, serial_number, .. } = self.model.clone().unwrap_or_default();
        ChargerInformation { brand: vendor, model, serial_number, ..ChargerInformation::default() }
    }

    /// Abilities: what every version asks of a charge point, and limits unless it takes none.
    fn capabilities(&self) -> Capabilities {
        let takes_limits = self.takes_limits();
        let can = |ability: &Ability| match ability {
            Ability::SetMaxCurrent | Ability::SetChargeRateLimit => takes_limits,
            Ability::Information => self.model.is_some(),
            _ => true,
        };
        let capability = |ability: &Ability| {
            (*ability, Capability { is_capable: can(ability), ..Capability::default() })
        };
        Ability::OF_CHARGERS.iter().map(capability).collect()
    }

    /// Returns true if the register of a connector was ever read.
    #[must_use]
    pub fn has_meter(&self, number: Connector) -> bool {
        self.connectors.get(&number).is_some_and(|state| state.imported.last().is_some())
    }

    /// Power of its connectors by their last measurements; `None` if it is not connected, or one that
    /// charges has measured none.
    #[must_use]
    pub fn measured_power(&self) -> Option<Power> {
        self.link.as_ref()?;
        self.connectors.values().try_fold(Power::ZERO, |sum, state| match state.power {
            Some(power) => Some(sum + power),
            None if state.status == Some(Status::Charging) => None,
            None => Some(sum),
        })
    }

    /// Energy of the quarters of an hour in `[from, to)` that are known.
    #[must_use]
    pub fn metered(
        &self,
        number: Connector,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
    ) -> Option<Vec<Metered>> {
        let state = self.connectors.get(&number)?;
        let given = state.exported.quarters(from, to);
        let given_at = |start| {
            let found = given.iter().find(|one| one.start == start);
            found.map_or(Energy::ZERO, |one| one.energy)
        };
        let taken = state.imported.quarters(from, to).into_iter();
        let metered = taken.map(|one| Metered {
            start: one.start,
            end: one.start + QUARTER,
            imported: one.energy,
            exported: given_at(one.start),
        });
        Some(metered.collect())
    }
}

fn read_counters(state: &ConnectorState) -> Option<Counters> {
    let (_, imported) = state.imported.last()?;
    let exported = state.exported.last().map_or(Energy::ZERO, |(_, energy)| energy);
    Some(Counters { imported, exported })
}

fn charge_state(state: &ConnectorState, at: DateTime<Utc>) -> ChargeState {
    let status = state.status;
    let is_giving = state.power.is_some_and(|power| power.as_kw() < 0.0);
    ChargeState {
        power_state: status.map_or(PowerState::Unknown, |status| power_state(status, is_giving)),
        is_plugged_in: status.and_then(Status::is_plugged_in),
        is_charging: status.map(|status| status == Status::Charging && !is_giving),
        is_fully_charged: None,
        charge_rate: state.power,
        charge_time_remaining_minutes: None,
        charge_rate_limit: match state.shown_limit() {
            Some(Limit::Power(power)) => Some(power),
            _ => None,
        },
        last_updated: Some(at),
    }
}

/// State of power delivery. A charger does not know whether the vehicle is full.
fn power_state(status: Status, is_giving: bool) -> PowerState {
    match status {
        Status::Available | Status::Reserved => PowerState::Unplugged,
        Status::Charging if is_giving => PowerState::Discharging,
        Status::Charging => PowerState::Charging,
        Status::Occupied
        | Status::Preparing
        | Status::SuspendedByVehicle
        | Status::SuspendedByCharger
        | Status::Finishing => PowerState::Stopped,
        Status::Unavailable => PowerState::Unknown,
        Status::Faulted => PowerState::Fault,
    }
}

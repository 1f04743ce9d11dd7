//! Inputs of the decisions of control: a device, its reading, and its policies and schedules.
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use slackwater_control::device::capability::{Ability, Capabilities, within_scopes};
use slackwater_control::device::charge_state::{ChargeState, Reporter};
use slackwater_control::device::command::{AccountAccess, Command, CommandFacts, DeviceReading};
use slackwater_control::device::control::Controller;
use slackwater_control::device::hvac::{Hold, HvacLimits};
use slackwater_control::device::power_state::PowerState;
use slackwater_control::device::scope::{DeviceKind, Permission};
use slackwater_control::device::target::{
    Fullness, TargetReading, command_reading, is_charging, target_reading,
};
use slackwater_control::schedule::control::Candidate;
use slackwater_control::schedule::place::{Place, TargetType, time_zone_of};
use slackwater_control::schedule::status::{Snapshot, Status, StatusFacts};
use slackwater_engine::units::Current;
use uuid::Uuid;

use crate::cache::tables::Tables;
use crate::plans::is_in_force;
use slackwater_integration::reading::{Facts, HoldType, HvacFacts, VehicleFacts};
use slackwater_store::actions::{Action, Origin};
use slackwater_store::devices::Device;
use slackwater_store::schedules::{Schedule, ScheduleRequest};

/// A device, all else that is known, and the time.
#[derive(Debug, Clone, Copy)]
pub struct ControlContext<'a> {
    /// The device.
    pub device: &'a Device,
    /// Everything else that is known.
    pub tables: &'a Tables,
    /// When it is looked at.
    pub now: DateTime<Utc>,
}

/// State of a vehicle or charger, as it is shown.
struct Shown {
    state: ChargeState,
    max_current: Option<Current>,
    fullness: Option<Fullness>,
}

/// Target of a schedule; `None` if the device has nothing to switch.
#[must_use]
pub const fn target_type(kind: DeviceKind) -> Option<TargetType> {
    match kind {
        DeviceKind::Vehicle => Some(TargetType::Vehicle),
        DeviceKind::Charger => Some(TargetType::Charger),
        _ => None,
    }
}

impl ControlContext<'_> {
    /// Last reading of the device, as a command sees it.
    #[must_use]
    pub fn reading(&self) -> DeviceReading {
        let unknown = DeviceReading::of(PowerState::Unknown);
        match self.device.state.reading.as_deref().map(|reading| &reading.facts) {
            Some(Facts::Hvac(facts)) => DeviceReading {
                follows_schedule: facts.hold_type.map(|hold| hold == HoldType::Scheduled),
                hold: hold_of(facts),
                ..unknown
            },
            Some(Facts::Battery(facts)) => DeviceReading { operation_mode: facts.mode, ..unknown },
            _ => self.shown().map_or(unknown, |shown| {
                command_reading(&shown.state, shown.max_current, shown.fullness)
            }),
        }
    }

    /// Checks that a command of an origin is accepted.
    #[must_use]
    pub fn of_command(&self, command: &Command, origin: Origin) -> CommandFacts {
        let can = self.capabilities();
        let capability = command.ability().map(|ability| can.get(&ability));
        CommandFacts {
            is_permitted: self.is_permitted(command.permission()),
            // Who is in charge does not stand in their own way.
            controller: match origin {
                Origin::Client => self.controller(),
                Origin::Schedule(_) | Origin::Override(_) | Origin::Plan => Controller::Nobody,
            },
            is_capable: match capability {
                Some(capability) => capability.is_some_and(|capability| capability.is_capable),
                None => self.reading().operation_mode.is_some(),
            },
            // Only the limit of the charge rate declares a range (CAP-05), and it bounds a current, too.
            allowed_range: can
                .get(&Ability::SetChargeRateLimit)
                .and_then(|capability| capability.allowed_range),
            reading: self.reading(),
            account: self.account(),
            is_unsettled: self.tables.control().pending(self.device.id).is_some(),
        }
    }

    /// Returns `true` if the owner granted something on this kind of device.
    #[must_use]
    pub fn is_permitted(&self, permission: Permission) -> bool {
        self.device.kind.permissions().contains(&permission)
            && self.device.scopes.contains(&permission)
    }

    /// Access to the account that the device is on: refused where the manufacturer
    /// is not called at all, or refused the last call.
    fn account(&self) -> AccountAccess {
        let user = self.tables.user(&self.device.client_id, &self.device.user_id);
        let account = user.and_then(|user| user.accounts.get(&self.device.vendor));
        match account {
            Some(account) if account.connection.is_some() && account.is_valid => {
                AccountAccess::Granted
            }
            _ => AccountAccess::Refused,
        }
    }

    /// Limits of a heating unit; none of other devices.
    #[must_use]
    pub fn hvac_limits(&self) -> HvacLimits {
        match self.device.state.reading.as_deref().map(|reading| &reading.facts) {
            Some(Facts::Hvac(facts)) => facts.limits.clone(),
            _ => HvacLimits::default(),
        }
    }

    /// Present controller of the device's charging.
    #[must_use]
    pub fn controller(&self) -> Controller {
        let Some(target_type) = target_type(self.device.kind) else { return Controller::Nobody };
        let control = self.tables.control();
        let candidates: Vec<Candidate> =
            control.schedules_of(self.device.id).map(|schedule| candidate(schedule)).collect();
        let here = self.location().map(|id| id.to_string());
        let is_overridden = control.active_override(self.device.id).is_some();
        let is_planned = is_in_force(self.tables, self.device, self.now);
        Controller::of(target_type, here.as_deref(), is_overridden, &candidates, is_planned)
    }

    /// Returns `true` if the device charges; `None` if that is not known.
    #[must_use]
    pub fn is_charging(&self) -> Option<bool> {
        is_charging(&self.shown()?.state)
    }

    /// Last reading of the device, as a schedule sees it.
    #[must_use]
    pub fn target(&self) -> TargetReading {
        let here = self.location().map(|id| id.to_string());
        let can = self.capabilities();
        match self.shown() {
            Some(shown) => target_reading(&shown.state, shown.fullness, here, &can),
            None => TargetReading { location_id: here, ..TargetReading::default() },
        }
    }

    /// Status of a schedule, if `pending` is the device's pending action.
    #[must_use]
    pub fn status(&self, schedule: &Schedule, pending: Option<&Action>) -> Status {
        let wish = &schedule.wish;
        let is_own = |action: &Action| action.origin == Origin::Schedule(schedule.id);
        Status::of(&StatusFacts {
            is_enabled: wish.is_enabled,
            target_type: wish.target_type,
            location_id: wish.location_id.map(|id| id.to_string()),
            target: self.target(),
            should_charge: wish.rules.should_charge(self.now, self.time_zone(wish)),
            is_overridden: self.tables.control().active_override(self.device.id).is_some(),
            is_action_pending: pending.is_some_and(is_own),
        })
    }

    /// Status of a schedule, with all that a reader can see change.
    #[must_use]
    pub fn snapshot(&self, schedule: &Schedule, pending: Option<&Action>) -> Snapshot {
        let wish = &schedule.wish;
        let active = self.tables.control().active_override(self.device.id);
        Snapshot {
            status: self.status(schedule, pending),
            upcoming: wish.rules.upcoming(self.now, self.time_zone(wish)),
            override_created_at: active.map(|active| active.life.created_at),
        }
    }

    /// Location at which the device is.
    #[must_use]
    pub fn location(&self) -> Option<Uuid> {
        self.tables.whereabouts(self.device).map(|location| location.id)
    }

    /// Time zone of a schedule (SCH-20).
    fn time_zone(&self, wish: &ScheduleRequest) -> Tz {
        let user = self.tables.user(&self.device.client_id, &self.device.user_id);
        let place = |id: Uuid| {
            let location = user?.location(id)?;
            Some(Place { time_zone: location.facts.time_zone })
        };
        let here = || self.location().and_then(place);
        time_zone_of(wish.location_id.and_then(place), here())
    }

    /// Abilities of the device, within the scopes that its owner granted.
    fn capabilities(&self) -> Capabilities {
        let reading = self.device.state.reading.as_deref();
        reading.map_or_else(Capabilities::new, |reading| {
            within_scopes(&reading.capabilities, &self.device.scopes)
        })
    }

    fn shown(&self) -> Option<Shown> {
        match &self.device.state.reading.as_deref()?.facts {
            Facts::Vehicle(facts) => {
                let state = facts.charging.shown(Reporter::Vehicle, self.now);
                let fullness = Some(Fullness::of(&state, facts.soc, facts.charge_limit));
                Some(Shown { state, max_current: facts.max_current, fullness })
            }
            Facts::Charger(facts) => {
                let state = facts.charging.shown(Reporter::Charger, self.now);
                let vehicle = self.tables.other_end(self.device).and_then(|other| vehicle(other));
                let fullness = vehicle.map(|facts| {
                    let state = facts.charging.shown(Reporter::Vehicle, self.now);
                    Fullness::of(&state, facts.soc, facts.charge_limit)
                });
                Some(Shown { state, max_current: facts.max_current, fullness })
            }
            _ => None,
        }
    }
}

fn vehicle(device: &Device) -> Option<&VehicleFacts> {
    match &device.state.reading.as_deref()?.facts {
        Facts::Vehicle(facts) => Some(facts),
        _ => None,
    }
}

fn hold_of(facts: &HvacFacts) -> Option<Hold> {
    let (heat_setpoint, cool_setpoint) = (facts.heat_setpoint, facts.cool_setpoint);
    facts.mode.map(|mode| Hold { mode, heat_setpoint, cool_setpoint })
}

fn candidate(schedule: &Schedule) -> Candidate {
    Candidate {
        id: schedule.id.to_string(),
        created_at: schedule.created_at,
        is_enabled: schedule.wish.is_enabled,
        location_id: schedule.wish.location_id.map(|id| id.to_string()),
    }
}

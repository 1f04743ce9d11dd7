//! Readings of simulated devices.
use chrono::{DateTime, Utc};
use slackwater_control::device::capability::{Ability, Capabilities, Capability, PowerRange};
use slackwater_control::device::charge_state::ChargeState;
use slackwater_control::device::hvac::{HvacLimits, Mode, TemperatureRange};
use slackwater_control::device::place::Point;
use slackwater_control::device::power_state::PowerState;
use slackwater_control::device::scope::DeviceKind;
use slackwater_engine::units::{Energy, Power, celsius};
use slackwater_sim::car::CarView;
use slackwater_sim::part::{ChargerView, PartView};
use slackwater_sim::room::RoomView;
use slackwater_sim::storage::StorageView;
use slackwater_sim::supply::Supply;

use slackwater_integration::reading::{
    BatteryFacts, ChargerFacts, ChargerInformation, Counters, Facts, HoldType, HvacFacts,
    HvacInformation, InverterFacts, InverterInformation, MeterFacts, OtherEnd, Reading, Sighting,
    VehicleFacts, VehicleInformation,
};

use super::devices::{Charger, Common, Device, Hvac, Inverter, Vehicle, VehicleFact};
use super::world::{House, Resident};

/// The reading of a device, whose home was advanced to `now`.
pub(crate) fn report(house: &House, resident: &Resident, now: DateTime<Utc>) -> Reading {
    let counted = house.home.counters(resident.part, now);
    let counters = Counters { imported: counted.imported, exported: counted.exported };
    let supply = house.home.outlet_of(resident.part);
    let is_told = match &resident.device {
        Device::Vehicle(vehicle) => !vehicle.untold.contains(&VehicleFact::IsReachable),
        _ => true,
    };
    Reading {
        at: now,
        is_reachable: is_told.then_some(true),
        capabilities: capabilities(&resident.common, supply),
        counters: Some(counters),
        facts: facts(house, resident, now),
    }
}

fn facts(house: &House, resident: &Resident, now: DateTime<Utc>) -> Facts {
    let part = resident.part;
    match (&resident.device, house.home.view(part)) {
        (Device::Vehicle(spec), PartView::Car(view)) => {
            let other = house.home.charger_of(part).and_then(|part| other_end(house, part));
            let supply = house.home.outlet_of(part);
            Facts::Vehicle(Box::new(vehicle(spec, &view, supply, other, house.place, now)))
        }
        (Device::Charger(spec), PartView::Charger(view)) => {
            let other = house.home.car_of(part).and_then(|part| other_end(house, part));
            Facts::Charger(Box::new(charger(spec, &view, other, now)))
        }
        (Device::Hvac(spec), PartView::Room(view)) => Facts::Hvac(Box::new(hvac(spec, &view, now))),
        (Device::Inverter(spec), PartView::Solar(power)) => {
            Facts::Inverter(Box::new(inverter(spec, power, house.place, now)))
        }
        (Device::Battery(spec), PartView::Storage(view)) => {
            Facts::Battery(Box::new(battery(&view, spec.capacity, house.place)))
        }
        (_, view) => {
            let power = if let PartView::Meter(power) = view { Some(power) } else { None };
            Facts::Meter(MeterFacts { power, position: Some(house.place) })
        }
    }
}

/// The device at the other end of a cable, if a vendor connects it.
fn other_end(house: &House, part: usize) -> Option<OtherEnd> {
    let other = house.at_part(part)?;
    Some(OtherEnd { vendor: other.vendor.clone()?, device: other.id.clone() })
}

/// All that its kind can do, but for what it cannot, and what would help.
fn capabilities(common: &Common, supply: Option<Supply>) -> Capabilities {
    let abilities: &[Ability] = match common.kind {
        DeviceKind::Vehicle => Ability::OF_VEHICLES,
        DeviceKind::Charger => Ability::OF_CHARGERS,
        DeviceKind::Hvac => &[Ability::SetFollowSchedule, Ability::SetPermanentHold],
        DeviceKind::Inverter | DeviceKind::Battery | DeviceKind::Meter => &[],
    };
    let range = supply
        .map(|supply| PowerRange { min: Some(supply.power_min()), max: Some(supply.power_max()) });
    let capability = |ability: Ability| Capability {
        is_capable: !common.incapable.contains(&ability),
        intervention_ids: common.interventions.get(&ability).cloned().unwrap_or_default(),
        allowed_range: range.filter(|_| ability == Ability::SetChargeRateLimit),
    };
    abilities.iter().map(|&ability| (ability, capability(ability))).collect()
}

fn vehicle(
    spec: &Vehicle,
    view: &CarView,
    supply: Option<Supply>,
    other: Option<OtherEnd>,
    home: Point,
    now: DateTime<Utc>,
) -> VehicleFacts {
    let told = |fact: VehicleFact| !spec.untold.contains(&fact);
    let limit = view.limit.or(supply.map(|supply| supply.current_max));
    let limit = limit.filter(|_| view.power_state.is_plugged_in() == Some(true));
    let direction = f64::from(spec.id.bytes().fold(0_u16, |sum, byte| sum ^ u16::from(byte)));
    let position = home.towards(direction, view.away_km);
    VehicleFacts {
        information: VehicleInformation {
            vin: spec.vin.clone().filter(|_| told(VehicleFact::Vin)),
            brand: spec.brand.clone(),
            model: spec.model.clone(),
            year: spec.year,
        },
        charging: ChargeState {
            power_state: view.power_state,
            is_plugged_in: view.power_state.is_plugged_in(),
            is_charging: Some(view.power_state == PowerState::Charging),
            is_fully_charged: Some(view.power_state == PowerState::Complete),
            charge_rate: Some(view.power).filter(|_| view.power_state == PowerState::Charging),
            charge_time_remaining_minutes: view.minutes_left,
            charge_rate_limit: limit.zip(supply).map(|(limit, supply)| supply.power_of(limit)),
            last_updated: Some(now),
        },
        soc: Some(view.soc).filter(|_| told(VehicleFact::Soc)),
        capacity: Some(spec.capacity).filter(|_| told(VehicleFact::Capacity)),
        charge_limit: Some(view.charge_limit).filter(|_| told(VehicleFact::ChargeLimit)),
        max_current: limit,
        plugged_into: other,
        odometer_km: Some(view.odometer_km).filter(|_| told(VehicleFact::Odometer)),
        odometer_at: Some(now).filter(|_| told(VehicleFact::Odometer)),
        sighting: Some(Sighting { position, at: now }).filter(|_| told(VehicleFact::Location)),
    }
}

fn charger(
    spec: &Charger,
    view: &ChargerView,
    other: Option<OtherEnd>,
    now: DateTime<Utc>,
) -> ChargerFacts {
    let is_charging = view.power_state == PowerState::Charging;
    ChargerFacts {
        information: ChargerInformation {
            brand: spec.brand.clone(),
            model: spec.model.clone(),
            display_name: spec.name.clone(),
            year: spec.year,
            serial_number: spec.serial_number.clone(),
            image_url: spec.image_url.clone(),
        },
        charging: ChargeState {
            power_state: view.power_state,
            is_plugged_in: view.power_state.is_plugged_in(),
            is_charging: Some(is_charging),
            is_fully_charged: None,
            charge_rate: Some(view.power).filter(|_| is_charging),
            charge_time_remaining_minutes: None,
            charge_rate_limit: Some(view.supply.power_of(view.limit)),
            last_updated: Some(now),
        },
        max_current: Some(view.limit),
        plugged_into: other,
    }
}

/// Limits of a unit, which are those of most units.
pub(crate) fn hvac_limits(spec: &Hvac) -> HvacLimits {
    let has = |mode: Mode| spec.modes.contains(&mode) || spec.modes.contains(&Mode::Auto);
    let range = |min: f64, max: f64| TemperatureRange { min: celsius(min), max: celsius(max) };
    HvacLimits {
        capable_modes: Some(spec.modes.clone()),
        heat_setpoints: has(Mode::Heat).then(|| range(5.0, 30.0)),
        cool_setpoints: has(Mode::Cool).then(|| range(16.0, 35.0)),
        setpoint_differences: spec.modes.contains(&Mode::Auto).then(|| range(1.5, 15.0)),
    }
}

fn hvac(spec: &Hvac, view: &RoomView, now: DateTime<Utc>) -> HvacFacts {
    let limits = hvac_limits(spec);
    let hold_type = if view.follows_schedule { HoldType::Scheduled } else { HoldType::Permanent };
    HvacFacts {
        information: HvacInformation {
            brand: spec.brand.clone(),
            model: spec.model.clone(),
            display_name: spec.name.clone().unwrap_or_else(|| spec.id.clone()),
            group_name: spec.group_name.clone(),
            category: spec.category,
        },
        is_active: view.is_active,
        temperature: Some(view.temperature),
        temperature_at: Some(now),
        consumption: Some(view.power).filter(|_| spec.tells_consumption),
        mode: Some(view.setting.mode),
        heat_setpoint: view.setting.heat_setpoint.filter(|_| limits.heat_setpoints.is_some()),
        cool_setpoint: view.setting.cool_setpoint.filter(|_| limits.cool_setpoints.is_some()),
        hold_type: Some(hold_type),
        thermostat_at: Some(now),
        limits,
    }
}

fn inverter(spec: &Inverter, power: Power, home: Point, now: DateTime<Utc>) -> InverterFacts {
    InverterFacts {
        information: InverterInformation {
            brand: spec.brand.clone(),
            model: spec.model.clone(),
            site_name: spec.name.clone().unwrap_or_else(|| spec.id.clone()),
            installed_on: spec.installed_on,
        },
        production: power,
        is_producing: power > Power::ZERO,
        production_at: now,
        position: Some(home),
    }
}

fn battery(view: &StorageView, capacity: Energy, home: Point) -> BatteryFacts {
    BatteryFacts {
        mode: Some(view.mode),
        soc: Some(view.soc),
        capacity: Some(capacity),
        power: Some(view.power),
        position: Some(home),
    }
}

//! Validation of a [`SiteRequest`], which makes a `SiteProblem` of it.
use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use crate::plan::charge::vehicle::{Battery, VehicleError, check_capacity};
use crate::plan::site::device::{
    Device, Discharge, Phase, ShiftableLoad, StationaryBattery, TaperPoint, Vehicle,
};
use crate::plan::site::error::SiteError;
use crate::plan::site::price_slots::SiteSlots;
use crate::plan::site::request::{Carbon, DemandCharge, Limit, SiteRequest, Tiers};
use crate::plan::site::series::Series;
use crate::time::horizon::Horizon;
use crate::time::instant::instant_at;
use crate::units::{Energy, Power};

/// Largest power (kW) of a device or limit, and largest price (per kWh, kW or kg). With larger
/// numbers the tolerances of the solver would no longer be negligible.
const MAGNITUDE_MAX: f64 = 1e6;

/// Largest number of slots of a site: about 208 days of quarter hours.
const SLOTS_MAX: usize = 20_000;

type Checked = Result<(), SiteError>;

/// Checks that `range.0 <= value <= range.1`; `rule` states the range in words.
fn check_number(
    field: String,
    value: f64,
    unit: &'static str,
    range: (f64, f64),
    rule: &'static str,
) -> Checked {
    // False for NaN too.
    if range.0 <= value && value <= range.1 {
        Ok(())
    } else {
        Err(SiteError::Number { field, value, unit, rule })
    }
}

fn check_power(field: String, value: Power) -> Checked {
    let rule = "it is from 0 to 1e6 kW";
    check_number(field, value.as_kw(), "kW", (0.0, MAGNITUDE_MAX), rule)
}

fn check_energy(field: String, value: Energy) -> Checked {
    let rule = "it is from 0 to 1e9 kWh";
    check_number(field, value.as_kwh(), "kWh", (0.0, 1e9), rule)
}

/// Validates a request and returns the first error found.
pub(crate) fn check(request: &SiteRequest) -> Checked {
    check_names(request)?;
    check_prices(request)?;
    for (index, device) in request.devices.iter().enumerate() {
        let field = format!("devices[{index}] ({})", device.name());
        check_phases(&field, device.phases())?;
        match device {
            Device::Vehicle(vehicle) => check_vehicle(&field, vehicle)?,
            Device::Battery(battery) => check_stationary(&field, battery)?,
            Device::Solar(solar) => {
                check_series(request, &format!("{field}.power"), &solar.forecast)?;
            }
            Device::Load(load) => check_series(request, &format!("{field}.power"), &load.forecast)?,
            Device::Shiftable(load) => check_shiftable(&field, request.now, load)?,
        }
    }
    for (name, limit) in [
        ("import_limit", request.import_limit.as_ref()),
        ("export_limit", request.export_limit.as_ref()),
    ] {
        limit.map_or(Ok(()), |limit| check_limit(request, name, limit))?;
    }
    for (index, group) in request.groups.iter().enumerate() {
        let field = format!("groups[{index}] ({})", group.name);
        for limit in [&group.limit, &group.phase_limit].into_iter().flatten() {
            check_limit(request, &field, limit)?;
        }
    }
    request.demand_charge.as_ref().map_or(Ok(()), check_demand_charge)?;
    request.tiers.as_ref().map_or(Ok(()), check_tiers)?;
    request.carbon.as_ref().map_or(Ok(()), check_carbon)?;
    let budget = request.preference_budget.as_amount();
    let rule = "it is from 0 to 1e12";
    check_number("preference_budget".into(), budget, "units of currency", (0.0, 1e12), rule)?;
    if let Some(seconds) = request.effort.seconds_max {
        check_number(
            "effort.seconds_max".into(),
            seconds,
            "s",
            (0.0, 1e9),
            "it is from 0 to 1e9 s",
        )?;
    }
    // Forecasts come last, because the slots need valid series.
    check_forecasts(request)
}

/// Checks that names are unique and not empty, and that groups exist and form no cycle.
fn check_names(request: &SiteRequest) -> Checked {
    let mut seen = BTreeSet::new();
    let devices = request.devices.iter().map(Device::name);
    let groups = request.groups.iter().map(|group| group.name.as_str());
    for (index, name) in devices.chain(groups).enumerate() {
        if name.is_empty() {
            let count = request.devices.len();
            let (kind, at) =
                if index < count { ("devices", index) } else { ("groups", index - count) };
            return Err(SiteError::NoName { field: format!("{kind}[{at}]") });
        }
        if !seen.insert(name) {
            return Err(SiteError::NameTwice { name: name.to_owned() });
        }
    }
    let known = |name: &str| request.groups.iter().any(|group| group.name == name);
    let devices = request.devices.iter().map(|device| (device.name(), device.group()));
    let groups = request.groups.iter().map(|g| (g.name.as_str(), g.parent.as_deref()));
    for (field, group) in devices.chain(groups) {
        if let Some(name) = group
            && !known(name)
        {
            let (field, name) = (field.to_owned(), name.to_owned());
            return Err(SiteError::NoGroup { field, name });
        }
    }
    for group in &request.groups {
        let mut parent = group.parent.as_deref();
        // A chain of parents that is longer than the number of groups repeats one of them.
        for _ in 0..request.groups.len() {
            let Some(name) = parent else { break };
            let above = request.groups.iter().find(|other| other.name == name);
            parent = above.and_then(|above| above.parent.as_deref());
        }
        if parent.is_some() {
            return Err(SiteError::GroupCycle { name: group.name.clone() });
        }
    }
    Ok(())
}

/// Checks that prices are small enough that sums of costs keep their cents.
fn check_prices(request: &SiteRequest) -> Checked {
    let curves = [
        ("prices", Some(&request.import_prices)),
        ("export_prices", request.export_prices.as_ref()),
    ];
    for (name, curve) in curves {
        for (index, &price) in curve.map_or(&[][..], |curve| curve.prices()).iter().enumerate() {
            let rule = "a site is planned with prices from -1e6 to 1e6 per kWh";
            let range = (-MAGNITUDE_MAX, MAGNITUDE_MAX);
            check_number(format!("{name}[{index}]"), price, "per kWh", range, rule)?;
        }
    }
    Ok(())
}

/// Checks that a device has at least one phase, and none twice.
fn check_phases(field: &str, phases: &[Phase]) -> Checked {
    let unlike: BTreeSet<&Phase> = phases.iter().collect();
    if phases.is_empty() || unlike.len() < phases.len() {
        return Err(SiteError::Phases { field: field.to_owned() });
    }
    Ok(())
}

/// Checks a series against the price slots, and each of its powers against its range.
fn check_series(request: &SiteRequest, field: &str, series: &Series) -> Checked {
    series
        .check(request.import_prices.len())
        .map_err(|source| SiteError::Series { field: field.to_owned(), source })?;
    let powers: Vec<Power> = match series {
        Series::Constant(power) => vec![*power],
        Series::PerSlot(powers) => powers.clone(),
        Series::Periods(periods) => periods.iter().map(|period| period.power).collect(),
    };
    powers
        .into_iter()
        .enumerate()
        .try_for_each(|(index, value)| check_power(format!("{field}[{index}]"), value))
}

/// Checks a limit over time, and the price of its breach.
fn check_limit(request: &SiteRequest, field: &str, limit: &Limit) -> Checked {
    check_series(request, &format!("{field}.power"), &limit.power)?;
    let Some(price) = limit.breach_price else { return Ok(()) };
    let rule = "a breach costs from 0 to 1e6 per kWh";
    let field = format!("{field}.breach_price_per_kwh");
    check_number(field, price.as_per_kwh(), "per kWh", (0.0, MAGNITUDE_MAX), rule)
}

/// Checks that the state of charge is known, and the capacity and efficiency of a battery.
fn check_battery(field: &str, battery: &Battery) -> Checked {
    let refused = |source| SiteError::Battery { field: field.to_owned(), source };
    if battery.soc.or(battery.soc_fallback).is_none() {
        return Err(refused(VehicleError::UnknownSoc));
    }
    check_capacity(battery.capacity).map_err(refused)?;
    check_energy(format!("{field}.battery.capacity_kwh"), battery.capacity)?;
    check_efficiency(format!("{field}.battery.efficiency"), battery.efficiency)
}

/// Checks that an efficiency lies in 0.001 to 1.
fn check_efficiency(field: String, value: f64) -> Checked {
    check_number(field, value, "kWh per kWh", (1e-3, 1.0), "it is from 0.001 to 1")
}

/// Checks the power, wear and efficiency of discharging.
fn check_discharge(field: &str, discharge: &Discharge) -> Checked {
    check_power(format!("{field}.discharge.power_max_kw"), discharge.power_max)?;
    let wear = discharge.wear.as_per_kwh();
    let rule = "wear costs from 0 to 1e6 per kWh";
    let range = (0.0, MAGNITUDE_MAX);
    check_number(format!("{field}.discharge.wear_per_kwh"), wear, "per kWh", range, rule)?;
    check_efficiency(format!("{field}.discharge.efficiency"), discharge.efficiency)
}

fn check_priority(field: &str, value: f64) -> Checked {
    let rule = "it is from 0.001 to 1000";
    check_number(format!("{field}.priority"), value, "", (1e-3, 1e3), rule)
}

fn check_end_value(field: &str, value: f64) -> Checked {
    let rule = "it is from -1e6 to 1e6 per kWh";
    let range = (-MAGNITUDE_MAX, MAGNITUDE_MAX);
    check_number(format!("{field}.end_value_per_kwh"), value, "per kWh", range, rule)
}

/// Checks the numbers and the session of a vehicle, and that it has a battery if a field needs it.
fn check_vehicle(field: &str, vehicle: &Vehicle) -> Checked {
    check_power(format!("{field}.power_max_kw"), vehicle.power_max)?;
    let (least, most) = (vehicle.power_min.as_kw(), vehicle.power_max.as_kw());
    let rule = "it is from 0 kW to power_max_kw";
    check_number(format!("{field}.power_min_kw"), least, "kW", (0.0, most), rule)?;
    check_priority(field, vehicle.priority)?;
    check_end_value(field, vehicle.end_value.as_per_kwh())?;
    for (index, target) in vehicle.targets.iter().enumerate() {
        check_energy(format!("{field}.targets[{index}].energy_kwh"), target.energy)?;
    }
    if let (Some(start), Some(end)) = (vehicle.arrival, vehicle.departure)
        && end <= start
    {
        return Err(SiteError::Stay { field: field.to_owned(), start, end });
    }
    if let Some(given) = &vehicle.battery {
        check_battery(field, given)?;
    } else {
        let needs = [
            ("soc_targets", !vehicle.soc_targets.is_empty()),
            ("reserve_percent", vehicle.reserve.as_percent() > 0.0),
            ("discharge", vehicle.discharge.is_some()),
            ("taper", !vehicle.taper.is_empty()),
            ("fill_when_worth", vehicle.fill_when_worth),
        ];
        if let Some((what, _)) = needs.into_iter().find(|&(_, is_asked)| is_asked) {
            return Err(SiteError::NeedsBattery { field: format!("{field}.{what}") });
        }
    }
    vehicle.discharge.as_ref().map_or(Ok(()), |given| check_discharge(field, given))?;
    check_taper(field, &vehicle.taper)
}

/// Checks that states of charge rise and that the power falls and is concave. A slope may exceed
/// the one before it by 1e-9 kW per percent, which is rounding.
fn check_taper(field: &str, points: &[TaperPoint]) -> Checked {
    let mut slope_before = 0.0;
    for (index, point) in points.iter().enumerate() {
        check_power(format!("{field}.taper[{index}].power_max_kw"), point.power_max)?;
        if index == 0 {
            continue;
        }
        let before = &points[index - 1];
        let wider = point.soc.as_percent() - before.soc.as_percent();
        let slope = (point.power_max.as_kw() - before.power_max.as_kw()) / wider;
        if wider <= 0.0 || slope > slope_before + 1e-9 {
            return Err(SiteError::Taper { field: field.to_owned(), index });
        }
        slope_before = slope;
    }
    Ok(())
}

fn check_stationary(field: &str, device: &StationaryBattery) -> Checked {
    check_power(format!("{field}.power_max_kw"), device.power_max)?;
    check_end_value(field, device.end_value.as_per_kwh())?;
    check_battery(field, &device.battery)?;
    check_discharge(field, &device.discharge)
}

/// Checks a window that ends after its start, and the numbers of a load.
fn check_shiftable(field: &str, now: DateTime<Utc>, load: &ShiftableLoad) -> Checked {
    check_power(format!("{field}.power_kw"), load.power)?;
    check_priority(field, load.priority)?;
    let rule = "it is from 1 s to a year";
    let minutes = load.duration_minutes;
    check_number(format!("{field}.duration"), minutes, "minutes", (1.0 / 60.0, 527_040.0), rule)?;
    let start = load.earliest.unwrap_or(now);
    match load.latest {
        Some(end) if load.earliest.is_some() && end <= start => {
            Err(SiteError::Stay { field: field.to_owned(), start, end })
        }
        _ => Ok(()),
    }
}

/// Checks the numbers and periods of a demand charge. A whole number of windows must be a day.
fn check_demand_charge(charge: &DemandCharge) -> Checked {
    let rule = "it is from 0 to 1e6 per kW";
    let range = (0.0, MAGNITUDE_MAX);
    check_number("demand_charge.price_per_kw".into(), charge.price_per_kw, "per kW", range, rule)?;
    check_power("demand_charge.peak_kw".into(), charge.peak)?;
    check_energy("demand_charge.window_energy_kwh".into(), charge.window_energy)?;
    let minutes = f64::from(charge.window_minutes);
    let rule = "it is from 1 minute to a day";
    check_number("demand_charge.window".into(), minutes, "minutes", (1.0, 1440.0), rule)?;
    if 1440 % charge.window_minutes != 0 {
        let (field, unit) = ("demand_charge.window".into(), "minutes");
        let rule = "a whole number of windows is a day";
        return Err(SiteError::Number { field, value: minutes, unit, rule });
    }
    Horizon::new(charge.periods.iter().map(|period| (period.start, period.end)))
        .map(|_| ())
        .map_err(|source| SiteError::Periods { field: "demand_charge.periods".into(), source })
}

/// Checks that blocks grow, that none is cheaper than the one before, and that only the last one
/// has no upper end.
fn check_tiers(tiers: &Tiers) -> Checked {
    check_energy("tiers.energy_before_kwh".into(), tiers.energy_before)?;
    let last = tiers.blocks.len().saturating_sub(1);
    for (index, tier) in tiers.blocks.iter().enumerate() {
        if tier.until.is_none() != (index == last) {
            return Err(SiteError::OpenTier);
        }
        let surcharge = tier.surcharge.as_per_kwh();
        let rule = "it is from -1e6 to 1e6 per kWh";
        let range = (-MAGNITUDE_MAX, MAGNITUDE_MAX);
        check_number(
            format!("tiers[{index}].surcharge_per_kwh"),
            surcharge,
            "per kWh",
            range,
            rule,
        )?;
        if let Some(until) = tier.until {
            check_energy(format!("tiers[{index}].until_kwh"), until)?;
        }
        let Some(before) = index.checked_sub(1).map(|before| &tiers.blocks[before]) else {
            continue;
        };
        let shrinks = tier.until.is_some_and(|until| before.until.is_some_and(|b| until <= b));
        if tier.surcharge < before.surcharge || shrinks {
            return Err(SiteError::Tiers { index });
        }
    }
    if tiers.blocks.is_empty() { Err(SiteError::OpenTier) } else { Ok(()) }
}

/// Checks the price of emissions, and the periods and numbers of the carbon intensity.
fn check_carbon(carbon: &Carbon) -> Checked {
    let rule = "it is from 0 to 1e6 per kg";
    let range = (0.0, MAGNITUDE_MAX);
    check_number("carbon.price_per_kg".into(), carbon.price_per_kg, "per kg", range, rule)?;
    Horizon::new(carbon.intensity.iter().map(|slot| (slot.start, slot.end)))
        .map_err(|source| SiteError::Periods { field: "carbon.intensity".into(), source })?;
    for (index, slot) in carbon.intensity.iter().enumerate() {
        let rule = "it is from 0 to 1000 kg per kWh";
        let field = format!("carbon.intensity[{index}]");
        check_number(field, slot.kg_per_kwh, "kg per kWh", (0.0, 1e3), rule)?;
    }
    Ok(())
}

/// Checks the number of slots, and that every forecast is known in all of them. A missing
/// forecast is an error, and does not count as zero.
fn check_forecasts(request: &SiteRequest) -> Checked {
    let grid = SiteSlots::new(request);
    if grid.len() > SLOTS_MAX {
        return Err(SiteError::TooLong { slots: grid.len(), most: SLOTS_MAX });
    }
    let unknown = |field: String, slot: usize| {
        Err(SiteError::Unknown { field, at: instant_at(grid.starts[slot]) })
    };
    for device in &request.devices {
        let (Device::Solar(crate::plan::site::device::Solar { forecast, .. })
        | Device::Load(crate::plan::site::device::Load { forecast, .. })) = device
        else {
            continue;
        };
        if let Some(slot) = grid.powers(forecast).iter().position(Option::is_none) {
            return unknown(format!("the power of {:?}", device.name()), slot);
        }
    }
    match grid.carbon.iter().position(|intensity| intensity.is_nan()) {
        Some(slot) => unknown("the carbon intensity".into(), slot),
        None => Ok(()),
    }
}

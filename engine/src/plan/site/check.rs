//! The check that makes a request of a site a problem.
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

/// Largest power of a device or limit in kW, priority, and price per kW:
/// beyond it the solver's tolerances would no longer be next to nothing.
const MAGNITUDE_MAX: f64 = 1e6;

/// Most slots of a site: half a year of quarter hours.
const SLOTS_MAX: usize = 20_000;

type Checked = Result<(), SiteError>;

fn number(
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

fn power(field: String, value: Power) -> Checked {
    let rule = "it is from 0 to 1e6 kW";
    number(field, value.as_kw(), "kW", (0.0, MAGNITUDE_MAX), rule)
}

fn energy(field: String, value: Energy) -> Checked {
    let rule = "it is from 0 to 1e9 kWh";
    number(field, value.as_kwh(), "kWh", (0.0, 1e9), rule)
}

/// Refuses what makes no sense, the first thing first.
pub(crate) fn check(request: &SiteRequest) -> Checked {
    names(request)?;
    prices(request)?;
    for (index, device) in request.devices.iter().enumerate() {
        let field = format!("devices[{index}] ({})", device.name());
        phases(&field, device.phases())?;
        match device {
            Device::Vehicle(vehicle) => self::vehicle(&field, vehicle)?,
            Device::Battery(battery) => stationary(&field, battery)?,
            Device::Solar(solar) => series(request, &format!("{field}.power"), &solar.forecast)?,
            Device::Load(load) => series(request, &format!("{field}.power"), &load.forecast)?,
            Device::Shiftable(load) => shiftable(&field, request.now, load)?,
        }
    }
    for (name, limit) in [
        ("import_limit", request.import_limit.as_ref()),
        ("export_limit", request.export_limit.as_ref()),
    ] {
        limit.map_or(Ok(()), |limit| self::limit(request, name, limit))?;
    }
    for (index, group) in request.groups.iter().enumerate() {
        let field = format!("groups[{index}] ({})", group.name);
        for limit in [&group.limit, &group.phase_limit].into_iter().flatten() {
            self::limit(request, &field, limit)?;
        }
    }
    request.demand_charge.as_ref().map_or(Ok(()), demand_charge)?;
    request.tiers.as_ref().map_or(Ok(()), tiers)?;
    request.carbon.as_ref().map_or(Ok(()), carbon)?;
    let budget = request.preference_budget.as_amount();
    let rule = "it is from 0 to 1e12";
    number("preference_budget".into(), budget, "units of currency", (0.0, 1e12), rule)?;
    if let Some(seconds) = request.effort.seconds_max {
        number("effort.seconds_max".into(), seconds, "s", (0.0, 1e9), "it is from 0 to 1e9 s")?;
    }
    forecasts(request)
}

fn names(request: &SiteRequest) -> Checked {
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

/// Prices per kWh so large that sums lose the cents are refused, not rounded.
fn prices(request: &SiteRequest) -> Checked {
    let curves = [
        ("prices", Some(&request.import_prices)),
        ("export_prices", request.export_prices.as_ref()),
    ];
    for (name, curve) in curves {
        for (index, &price) in curve.map_or(&[][..], |curve| curve.prices()).iter().enumerate() {
            let rule = "a site is planned with prices from -1e6 to 1e6 per kWh";
            let range = (-MAGNITUDE_MAX, MAGNITUDE_MAX);
            number(format!("{name}[{index}]"), price, "per kWh", range, rule)?;
        }
    }
    Ok(())
}

fn phases(field: &str, phases: &[Phase]) -> Checked {
    let unlike: BTreeSet<&Phase> = phases.iter().collect();
    if phases.is_empty() || unlike.len() < phases.len() {
        return Err(SiteError::Phases { field: field.to_owned() });
    }
    Ok(())
}

fn series(request: &SiteRequest, field: &str, series: &Series) -> Checked {
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
        .try_for_each(|(index, value)| power(format!("{field}[{index}]"), value))
}

fn limit(request: &SiteRequest, field: &str, limit: &Limit) -> Checked {
    series(request, &format!("{field}.power"), &limit.power)?;
    let Some(price) = limit.breach_price else { return Ok(()) };
    let rule = "a breach costs from 0 to 1e6 per kWh";
    let field = format!("{field}.breach_price_per_kwh");
    number(field, price.as_per_kwh(), "per kWh", (0.0, MAGNITUDE_MAX), rule)
}

fn battery(field: &str, battery: &Battery) -> Checked {
    let refused = |source| SiteError::Battery { field: field.to_owned(), source };
    if battery.soc.or(battery.soc_fallback).is_none() {
        return Err(refused(VehicleError::UnknownSoc));
    }
    check_capacity(battery.capacity).map_err(refused)?;
    energy(format!("{field}.battery.capacity_kwh"), battery.capacity)?;
    efficiency(format!("{field}.battery.efficiency"), battery.efficiency)
}

/// Below a thousandth nothing would be left of the energy.
fn efficiency(field: String, value: f64) -> Checked {
    number(field, value, "kWh per kWh", (1e-3, 1.0), "it is from 0.001 to 1")
}

fn discharge(field: &str, discharge: &Discharge) -> Checked {
    power(format!("{field}.discharge.power_max_kw"), discharge.power_max)?;
    let wear = discharge.wear.as_per_kwh();
    let rule = "wear costs from 0 to 1e6 per kWh";
    let range = (0.0, MAGNITUDE_MAX);
    number(format!("{field}.discharge.wear_per_kwh"), wear, "per kWh", range, rule)?;
    efficiency(format!("{field}.discharge.efficiency"), discharge.efficiency)
}

fn priority(field: &str, value: f64) -> Checked {
    let rule = "it is from 0.001 to 1000";
    number(format!("{field}.priority"), value, "", (1e-3, 1e3), rule)
}

fn end_value(field: &str, value: f64) -> Checked {
    let rule = "it is from -1e6 to 1e6 per kWh";
    let range = (-MAGNITUDE_MAX, MAGNITUDE_MAX);
    number(format!("{field}.end_value_per_kwh"), value, "per kWh", range, rule)
}

fn vehicle(field: &str, vehicle: &Vehicle) -> Checked {
    power(format!("{field}.power_max_kw"), vehicle.power_max)?;
    let (least, most) = (vehicle.power_min.as_kw(), vehicle.power_max.as_kw());
    let rule = "it is from 0 kW to power_max_kw";
    number(format!("{field}.power_min_kw"), least, "kW", (0.0, most), rule)?;
    priority(field, vehicle.priority)?;
    end_value(field, vehicle.end_value.as_per_kwh())?;
    for (index, target) in vehicle.targets.iter().enumerate() {
        energy(format!("{field}.targets[{index}].energy_kwh"), target.energy)?;
    }
    if let (Some(start), Some(end)) = (vehicle.arrival, vehicle.departure)
        && end <= start
    {
        return Err(SiteError::Stay { field: field.to_owned(), start, end });
    }
    if let Some(given) = &vehicle.battery {
        battery(field, given)?;
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
    vehicle.discharge.as_ref().map_or(Ok(()), |given| discharge(field, given))?;
    taper(field, &vehicle.taper)
}

/// Rounding of the slope of a taper, in kW per percent: powers and states of charge are written
/// with a few digits, so equal slopes differ by less.
const SLOPE_ROUNDING: f64 = 1e-9;

/// States of charge rise, and the power falls, ever faster.
fn taper(field: &str, points: &[TaperPoint]) -> Checked {
    let mut slope_before = 0.0;
    for (index, point) in points.iter().enumerate() {
        power(format!("{field}.taper[{index}].power_max_kw"), point.power_max)?;
        if index == 0 {
            continue;
        }
        let before = &points[index - 1];
        let wider = point.soc.as_percent() - before.soc.as_percent();
        let slope = (point.power_max.as_kw() - before.power_max.as_kw()) / wider;
        if wider <= 0.0 || slope > slope_before + SLOPE_ROUNDING {
            return Err(SiteError::Taper { field: field.to_owned(), index });
        }
        slope_before = slope;
    }
    Ok(())
}

fn stationary(field: &str, device: &StationaryBattery) -> Checked {
    power(format!("{field}.power_max_kw"), device.power_max)?;
    end_value(field, device.end_value.as_per_kwh())?;
    battery(field, &device.battery)?;
    discharge(field, &device.discharge)
}

fn shiftable(field: &str, now: DateTime<Utc>, load: &ShiftableLoad) -> Checked {
    power(format!("{field}.power_kw"), load.power)?;
    priority(field, load.priority)?;
    let rule = "it is from 1 s to a year";
    let minutes = load.duration_minutes;
    number(format!("{field}.duration"), minutes, "minutes", (1.0 / 60.0, 527_040.0), rule)?;
    let start = load.earliest.unwrap_or(now);
    match load.latest {
        Some(end) if load.earliest.is_some() && end <= start => {
            Err(SiteError::Stay { field: field.to_owned(), start, end })
        }
        _ => Ok(()),
    }
}

fn demand_charge(charge: &DemandCharge) -> Checked {
    let rule = "it is from 0 to 1e6 per kW";
    let range = (0.0, MAGNITUDE_MAX);
    number("demand_charge.price_per_kw".into(), charge.price_per_kw, "per kW", range, rule)?;
    power("demand_charge.peak_kw".into(), charge.peak)?;
    energy("demand_charge.window_energy_kwh".into(), charge.window_energy)?;
    let minutes = f64::from(charge.window_minutes);
    let rule = "it is from 1 minute to a day";
    number("demand_charge.window".into(), minutes, "minutes", (1.0, 1440.0), rule)?;
    if 1440 % charge.window_minutes != 0 {
        let (field, unit) = ("demand_charge.window".into(), "minutes");
        let rule = "a whole number of windows is a day";
        return Err(SiteError::Number { field, value: minutes, unit, rule });
    }
    Horizon::new(charge.periods.iter().map(|period| (period.start, period.end)))
        .map(|_| ())
        .map_err(|source| SiteError::Periods { field: "demand_charge.periods".into(), source })
}

fn tiers(tiers: &Tiers) -> Checked {
    energy("tiers.energy_before_kwh".into(), tiers.energy_before)?;
    let last = tiers.blocks.len().saturating_sub(1);
    for (index, tier) in tiers.blocks.iter().enumerate() {
        if tier.until.is_none() != (index == last) {
            return Err(SiteError::OpenTier);
        }
        let surcharge = tier.surcharge.as_per_kwh();
        let rule = "it is from -1e6 to 1e6 per kWh";
        let range = (-MAGNITUDE_MAX, MAGNITUDE_MAX);
        number(format!("tiers[{index}].surcharge_per_kwh"), surcharge, "per kWh", range, rule)?;
        if let Some(until) = tier.until {
            energy(format!("tiers[{index}].until_kwh"), until)?;
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

fn carbon(carbon: &Carbon) -> Checked {
    let rule = "it is from 0 to 1e6 per kg";
    let range = (0.0, MAGNITUDE_MAX);
    number("carbon.price_per_kg".into(), carbon.price_per_kg, "per kg", range, rule)?;
    Horizon::new(carbon.intensity.iter().map(|slot| (slot.start, slot.end)))
        .map_err(|source| SiteError::Periods { field: "carbon.intensity".into(), source })?;
    for (index, slot) in carbon.intensity.iter().enumerate() {
        let rule = "it is from 0 to 1000 kg per kWh";
        let field = format!("carbon.intensity[{index}]");
        number(field, slot.kg_per_kwh, "kg per kWh", (0.0, 1e3), rule)?;
    }
    Ok(())
}

/// A forecast that is missing is not zero: it is refused.
fn forecasts(request: &SiteRequest) -> Checked {
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

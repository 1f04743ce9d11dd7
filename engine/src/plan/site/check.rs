//! Validation of a [`SiteRequest`], which makes a `SiteProblem` of it.
use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use crate::plan::charge::vehicle::{Battery, VehicleError, check_capacity};
use crate::plan::site::device::{
    Device, Discharge, HeatUnit, Phase, ShiftableLoad, SoftBound, StationaryBattery, TaperPoint,
    Vehicle,
};
use crate::plan::site::error::SiteError;
use crate::plan::site::price_slots::SiteSlots;
use crate::plan::site::request::{Carbon, DemandCharge, Limit, SiteRequest, Tiers};
use crate::plan::site::series::{Series, SeriesError};
use crate::plan::stability::previous_powers::check_intervals;
use crate::plan::storage::request::StorageLimit;
use crate::time::horizon::Horizon;
use crate::time::instant::instant_at;
use crate::units::{Energy, Percent, Power};

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
    // Names first, because the fields in other errors contain them.
    check_names(request)?;
    check_prices(request)?;
    check_devices(request)?;
    for (name, limit) in
        [("import", request.import_limit.as_ref()), ("export", request.export_limit.as_ref())]
    {
        let (power, breach) = (format!("{name}_limit_kw"), format!("{name}_breach_price_per_kwh"));
        limit.map_or(Ok(()), |limit| check_limit(request, (&power, &breach), limit))?;
    }
    for (index, group) in request.groups.iter().enumerate() {
        let field = format!("groups[{index}] ({})", group.name);
        let breach = format!("{field}.breach_price_per_kwh");
        for (name, limit) in [("limit_kw", &group.limit), ("amps", &group.phase_limit)] {
            let power = format!("{field}.{name}");
            let check = |limit| check_limit(request, (&power, &breach), limit);
            limit.as_ref().map_or(Ok(()), check)?;
        }
    }
    for (field, charge) in [
        ("demand_charge", &request.demand_charge),
        ("export_demand_charge", &request.export_demand_charge),
    ] {
        charge.as_ref().map_or(Ok(()), |charge| check_demand_charge(field, charge))?;
    }
    request.tiers.as_ref().map_or(Ok(()), check_tiers)?;
    request.carbon.as_ref().map_or(Ok(()), check_carbon)?;
    let budget = request.preference_budget.as_amount();
    let rule = "it is from 0 to 1e12";
    check_number("preference_budget".into(), budget, "units of currency", (0.0, 1e12), rule)?;
    for before in request.previous.iter().flat_map(|previous| &previous.devices) {
        check_intervals(&before.intervals).map_err(|source| SiteError::Series {
            field: format!("previous ({})", before.name),
            source: SeriesError::Periods(source),
        })?;
    }
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

fn check_devices(request: &SiteRequest) -> Checked {
    for (index, device) in request.devices.iter().enumerate() {
        let field = format!("devices[{index}] ({})", device.name());
        check_phases(&field, device.phases())?;
        match device {
            Device::Vehicle(vehicle) => {
                check_vehicle(&field, vehicle)?;
                let power = (vehicle.power_wanted.as_ref(), vehicle.power_max);
                check_power_wanted(request, &field, power)?;
            }
            Device::Battery(battery) => {
                check_stationary(&field, battery)?;
                let power = (battery.power_wanted.as_ref(), battery.power_max);
                check_power_wanted(request, &field, power)?;
            }
            Device::Solar(solar) => {
                check_series(request, &format!("{field}.power_kw"), &solar.forecast)?;
            }
            Device::Load(load) => {
                check_series(request, &format!("{field}.power_kw"), &load.forecast)?;
            }
            Device::Shiftable(load) => check_shiftable(&field, request.now, load)?,
            Device::Heat(unit) => check_heat_unit(request, &field, unit)?,
        }
    }
    Ok(())
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
    // Groups that devices and other groups name.
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
    series
        .powers()
        .enumerate()
        .try_for_each(|(index, value)| check_power(format!("{field}[{index}]"), value))
}

/// Checks a power that is wanted over time, which is at most the highest power of the device.
fn check_power_wanted(
    request: &SiteRequest,
    field: &str,
    (wanted, most): (Option<&Series>, Power),
) -> Checked {
    let Some(series) = wanted else { return Ok(()) };
    let field = format!("{field}.power_wanted_kw");
    check_series(request, &field, series)?;
    let rule = "it is from 0 kW to power_max_kw";
    series.powers().enumerate().try_for_each(|(index, power)| {
        let range = (0.0, most.as_kw());
        check_number(format!("{field}[{index}]"), power.as_kw(), "kW", range, rule)
    })
}

/// Checks a limit over time, and the price of its breach.
fn check_limit(request: &SiteRequest, (power, breach): (&str, &str), limit: &Limit) -> Checked {
    check_series(request, power, &limit.power)?;
    let Some(price) = limit.breach_price else { return Ok(()) };
    let rule = "a breach costs from 0 to 1e6 per kWh";
    check_number(breach.to_owned(), price.as_per_kwh(), "per kWh", (0.0, MAGNITUDE_MAX), rule)
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
    if (1e-3..=1.0).contains(&value) { Ok(()) } else { Err(SiteError::Efficiency { field, value }) }
}

/// Checks the power, wear and efficiency of discharging.
fn check_discharge(field: &str, discharge: &Discharge) -> Checked {
    check_power(format!("{field}.discharge.discharge_max_kw"), discharge.power_max)?;
    let wear = discharge.wear.as_per_kwh();
    let rule = "wear costs from 0 to 1e6 per kWh";
    let range = (0.0, MAGNITUDE_MAX);
    check_number(format!("{field}.discharge.wear_price_per_kwh"), wear, "per kWh", range, rule)?;
    check_efficiency(format!("{field}.discharge.discharge_efficiency"), discharge.efficiency)
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
    check_consumption(field, vehicle)?;
    if let Some(given) = &vehicle.battery {
        check_battery(field, given)?;
    } else {
        // Wishes that are stated in levels of a battery.
        let needs = [
            ("targets in percent", !vehicle.soc_targets.is_empty()),
            ("reserve_percent", vehicle.reserve.as_percent() > 0.0),
            ("discharge", vehicle.discharge.is_some()),
            ("taper", !vehicle.taper.is_empty()),
            ("fill_when_worth", vehicle.fill_when_worth),
            ("consumption", !vehicle.consumption.is_empty()),
            ("soft_bounds", !vehicle.soft_bounds.is_empty()),
            ("limits in percent", vehicle.limits.iter().any(limits_soc)),
            ("power_wanted_kw", vehicle.power_wanted.is_some()),
        ];
        if let Some((what, _)) = needs.into_iter().find(|&(_, is_asked)| is_asked) {
            return Err(SiteError::NeedsBattery { field: format!("{field}.{what}") });
        }
    }
    if let Some(given) = &vehicle.discharge {
        check_discharge(field, given)?;
        let limit = vehicle.battery.map(|battery| battery.charge_limit);
        let field = format!("{field}.discharge");
        check_soc_range(&field, Some(given.soc_min), ("charge_limit_percent", limit))?;
    }
    check_soft_bounds(field, &vehicle.soft_bounds)?;
    check_storage_limits(field, &vehicle.limits)?;
    check_taper(field, &vehicle.taper)
}

/// Checks that drives follow each other within the session, that the vehicle is unplugged
/// meanwhile, and that no target is due in one.
fn check_consumption(field: &str, vehicle: &Vehicle) -> Checked {
    for (index, drive) in vehicle.consumption.iter().enumerate() {
        let field = format!("{field}.consumption[{index}]");
        check_energy(format!("{field}.energy_kwh"), drive.energy)?;
        let (start, end) = (drive.start, drive.end);
        if end <= start {
            return Err(SiteError::Stay { field, start, end });
        }
        if drive.is_plugged_in {
            return Err(SiteError::PluggedIn { field });
        }
        let (arrival, departure) = (vehicle.arrival, vehicle.departure);
        if arrival.is_some_and(|at| start < at) || departure.is_some_and(|at| at < end) {
            return Err(SiteError::DriveOutside { field, start, end, arrival, departure });
        }
        let is_inside = |by: DateTime<Utc>| start < by && by < end;
        let due = vehicle.soc_targets.iter().filter_map(|target| target.by);
        if let Some(by) = due.into_iter().find(|&by| is_inside(by)) {
            return Err(SiteError::DueAway { field, by, start, end });
        }
    }
    let mut drives: Vec<_> = vehicle.consumption.iter().map(|d| (d.start, d.end)).collect();
    drives.sort_unstable();
    if let Some(pair) = drives.windows(2).find(|pair| pair[1].0 < pair[0].1) {
        let (field, start, end) = (field.to_owned(), pair[1].0, pair[0].1);
        return Err(SiteError::DrivesOverlap { field, start, end });
    }
    if vehicle.consumption.is_empty() || vehicle.targets.is_empty() {
        return Ok(());
    }
    Err(SiteError::EnergyTargets { field: field.to_owned() })
}

/// Rounding of the slope of a taper, in kW per percent: powers and states of charge are written
/// with a few digits, so equal slopes differ by less.
const SLOPE_ROUNDING: f64 = 1e-9;

/// Checks that states of charge rise and that the power falls and is concave.
fn check_taper(field: &str, points: &[TaperPoint]) -> Checked {
    let mut slope_before = 0.0;
    for (index, point) in points.iter().enumerate() {
        check_power(format!("{field}.taper[{index}].power_max_kw"), point.power_max)?;
        if index == 0 {
            continue;
        }
        let before = &points[index - 1];
        // A concave taper is the least of its lines, and the model has a row for each line.
        let wider = point.soc.as_percent() - before.soc.as_percent();
        let slope = (point.power_max.as_kw() - before.power_max.as_kw()) / wider;
        if wider <= 0.0 || slope > slope_before + SLOPE_ROUNDING {
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
    check_soft_bounds(field, &device.soft_bounds)?;
    check_storage_limits(field, &device.limits)?;
    check_discharge(field, &device.discharge)?;
    let limit = ("charge_limit_percent", Some(device.battery.charge_limit));
    check_soc_range(field, Some(device.discharge.soc_min), limit)
}

/// Checks periods, bounds and prices of soft bounds.
fn check_soft_bounds(field: &str, bounds: &[SoftBound]) -> Checked {
    for (index, bound) in bounds.iter().enumerate() {
        let field = format!("{field}.soft_bounds[{index}]");
        let rule = "it is from 0 to 1e6 per kWh and hour";
        let (price, range) = (bound.price_per_kwh_hour, (0.0, MAGNITUDE_MAX));
        check_number(
            format!("{field}.price_per_kwh_hour"),
            price,
            "per kWh and hour",
            range,
            rule,
        )?;
        if let (Some(start), Some(end)) = (bound.start, bound.end)
            && end <= start
        {
            return Err(SiteError::Stay { field, start, end });
        }
        check_soc_range(&field, bound.soc_min, ("soc_max_percent", bound.soc_max))?;
        if bound.soc_min.or(bound.soc_max).is_none() {
            return Err(SiteError::NoBound { field });
        }
    }
    Ok(())
}

/// True if a limit is one of the state of charge.
fn limits_soc(limit: &StorageLimit) -> bool {
    limit.soc_min.or(limit.soc_max).is_some()
}

/// Checks periods, powers and states of charge of limits that vary in time.
fn check_storage_limits(field: &str, limits: &[StorageLimit]) -> Checked {
    for (index, limit) in limits.iter().enumerate() {
        let field = format!("{field}.limits[{index}]");
        let (start, end) = (limit.start, limit.end);
        if end <= start {
            return Err(SiteError::Stay { field, start, end });
        }
        for (name, power) in
            [("power_max_kw", limit.charge_max), ("discharge_max_kw", limit.discharge_max)]
        {
            power.map_or(Ok(()), |power| check_power(format!("{field}.{name}"), power))?;
        }
        check_soc_range(&field, limit.soc_min, ("soc_max_percent", limit.soc_max))?;
    }
    Ok(())
}

/// Checks that a least state of charge is not above the highest one.
fn check_soc_range(
    field: &str,
    least: Option<Percent>,
    (most_name, most): (&'static str, Option<Percent>),
) -> Checked {
    match least.zip(most) {
        Some((least, most)) if least > most => {
            let field = format!("{field}.soc_min_percent");
            Err(SiteError::SocRange { field, least, most_name, most })
        }
        _ => Ok(()),
    }
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

/// Checks a heat unit over the time of the site. Larger numbers than those would exceed what the
/// tolerances of the solver are negligible for.
fn check_heat_unit(request: &SiteRequest, field: &str, unit: &HeatUnit) -> Checked {
    let heat = &unit.heat;
    if heat.now != request.now {
        let (at, now) = (heat.now, request.now);
        return Err(SiteError::HeatNow { field: field.to_owned(), at, now });
    }
    if heat.on_off.is_some() {
        return Err(SiteError::HeatOnOff { field: field.to_owned() });
    }
    let end = request.until.or_else(|| request.import_prices.horizon().end());
    check_room(field, unit, end.unwrap_or(request.now))
}

/// Checks the numbers and periods of a heat unit that modulates and is planned to `end`.
pub(crate) fn check_room(field: &str, unit: &HeatUnit, end: DateTime<Utc>) -> Checked {
    let heat = &unit.heat;
    check_priority(field, unit.priority)?;
    check_end_value(field, heat.end_value.as_per_kwh())?;
    let rule = "it is from 0.0001 to 1e6 kWh/K";
    let (capacity, range) = (heat.store.capacity.as_kwh_per_k(), (1e-4, MAGNITUDE_MAX));
    check_number(format!("{field}.capacity_kwh_per_k"), capacity, "kWh/K", range, rule)?;
    let rule = "it is from 0 to 1e6 kW/K";
    let (loss, range) = (heat.store.loss.as_kw_per_k(), (0.0, MAGNITUDE_MAX));
    check_number(format!("{field}.loss_kw_per_k"), loss, "kW/K", range, rule)?;
    check_power(format!("{field}.power_max_kw"), heat.power_max)?;
    for (index, gain) in heat.gains.iter().enumerate() {
        let (rule, range) = ("it is from -1e6 to 1e6 kW", (-MAGNITUDE_MAX, MAGNITUDE_MAX));
        check_number(format!("{field}.gains_kw[{index}]"), gain.power.as_kw(), "kW", range, rule)?;
    }
    let checked = unit.problem(end);
    checked.map(|_| ()).map_err(|source| SiteError::Heat { field: field.to_owned(), source })
}

/// Checks the numbers and periods of a demand charge. A whole number of windows must be a day.
fn check_demand_charge(field: &str, charge: &DemandCharge) -> Checked {
    let rule = "it is from 0 to 1e6 per kW";
    let range = (0.0, MAGNITUDE_MAX);
    check_number(format!("{field}.peak_price_per_kw"), charge.price_per_kw, "per kW", range, rule)?;
    check_power(format!("{field}.peak_incurred_kw"), charge.peak)?;
    check_energy(format!("{field}.window_energy_kwh"), charge.window_energy)?;
    let minutes = f64::from(charge.window_minutes);
    let rule = "it is from 1 minute to a day";
    check_number(format!("{field}.window"), minutes, "minutes", (1.0, 1440.0), rule)?;
    if 1440 % charge.window_minutes != 0 {
        let (field, unit) = (format!("{field}.window"), "minutes");
        let rule = "a whole number of windows is a day";
        return Err(SiteError::Number { field, value: minutes, unit, rule });
    }
    Horizon::new(charge.periods.iter().map(|period| (period.start, period.end)))
        .map(|_| ())
        .map_err(|source| SiteError::Periods { field: format!("{field}.periods"), source })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::charge::request::Target;
    use crate::plan::charge::vehicle::SocTarget;
    use crate::plan::site::request::tests::{
        at, battery_of, demand, discharge, group, hard, home, house, powers, site, sun, tiers, van,
        washer,
    };
    use crate::plan::site::request::{CarbonSlot, Group, Period};
    use crate::plan::storage::request::Consumption;
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, money, per_kwh, percent};

    fn refusal(request: &SiteRequest) -> String {
        check(request).unwrap_err().to_string()
    }

    /// The refusal of one device on two hours of prices.
    fn refused(device: Device) -> String {
        refusal(&site(&[10, 20], &[device]))
    }

    /// The refusal of a vehicle with a battery, changed in one way.
    fn car(change: impl Fn(&mut Vehicle)) -> String {
        let mut car = van("car", 11.0, 5.0);
        car.battery = Some(battery_of(50.0, 20.0));
        assert_eq!(check(&site(&[10, 20], &[Device::Vehicle(car.clone())])), Ok(()));
        change(&mut car);
        refused(Device::Vehicle(car))
    }

    /// The refusal of a site with all that a site has, changed in one way.
    fn changed(change: impl Fn(&mut SiteRequest)) -> String {
        let home = Device::Battery(home(5.0, 10.0, 50.0));
        let mut request = site(&[10, 20], &[sun(&[1.0, 2.0], true), house(&[1.0, 2.0]), home]);
        request.groups = vec![group("a", Some("b"), Some(hard(9.0))), group("b", None, None)];
        request.import_limit = Some(hard(11.0));
        request.demand_charge = Some(demand(3.0, 2.0));
        request.tiers = Some(tiers(&[(10.0, 0.0), (f64::INFINITY, 0.1)], 0.0));
        let slot = CarbonSlot { start: at(0), end: at(120), kg_per_kwh: 0.1 };
        request.carbon = Some(Carbon { price_per_kg: 0.1, intensity: vec![slot] });
        assert_eq!(check(&request), Ok(()));
        change(&mut request);
        refusal(&request)
    }

    #[test]
    fn names_are_there_once_and_lead_somewhere() {
        let groups = |change: fn(&mut Vec<Group>)| changed(|request| change(&mut request.groups));
        assert_eq!(groups(|groups| groups[1].name.clear()), "groups[1] has no name");
        let twice = groups(|groups| groups[1].name = "sun".to_owned());
        assert!(twice.starts_with(r#"the name "sun" is given twice"#), "{twice}");
        let lost = groups(|groups| drop(groups.pop()));
        assert_eq!(lost, r#"a is in group "b", which does not exist"#);
        let circle = groups(|groups| groups[1].parent = Some("a".to_owned()));
        assert_eq!(circle, r#"group "a" is a part of itself"#);
        let nowhere = car(|car| car.group = Some("shed".to_owned()));
        assert_eq!(nowhere, r#"car is in group "shed", which does not exist"#);
        assert_eq!(car(|car| car.name.clear()), "devices[0] has no name");
    }

    #[test]
    fn drives_follow_each_other_between_stays_at_the_plug() {
        let drive = |from: i64, to: i64| Consumption {
            start: at(from),
            end: at(to),
            energy: kwh(3.0),
            is_plugged_in: false,
        };
        let drives = |change: &dyn Fn(&mut Vehicle)| {
            car(|car| {
                car.targets.clear();
                car.soc_targets = vec![SocTarget { by: Some(at(60)), soc: None }];
                car.consumption = vec![drive(60, 90), drive(0, 60)];
                (car.arrival, car.departure) = (Some(at(0)), Some(at(90)));
                assert_eq!(check(&site(&[10, 20], &[Device::Vehicle(car.clone())])), Ok(()));
                change(car);
            })
        };
        let field = "devices[0] (car).consumption";
        let ends = drives(&|car| car.consumption[0].end = at(60));
        assert!(ends.starts_with(&format!("{field}[0] ends at ")), "{ends}");
        let overlap = drives(&|car| {
            car.consumption[0].start = at(50);
            car.soc_targets.clear();
        });
        let first = format!("{field}: a drive starts at 2026-01-05 18:50:00 UTC, before another");
        assert!(overlap.starts_with(&first), "{overlap}");
        let outside = drives(&|car| car.departure = Some(at(80)));
        assert!(outside.contains(" lies outside the session from 2026-01-05 18:00:00 UTC to "));
        let late = drives(&|car| car.arrival = Some(at(30)));
        assert!(late.starts_with(&format!("{field}[1] from ")), "{late}");
        let at_plug = drives(&|car| car.consumption[1].is_plugged_in = true);
        assert!(at_plug.contains("[1].is_plugged_in is true; "), "{at_plug}");
        let due = drives(&|car| car.soc_targets[0].by = Some(at(70)));
        assert!(due.contains("a target is due in between, at 2026-01-05 19:10:00 UTC"), "{due}");
        let energy = drives(&|car| car.targets.push(Target { by: None, energy: kwh(1.0) }));
        assert!(energy.contains("give states of charge"), "{energy}");
        let negative = drives(&|car| car.consumption[0].energy = kwh(-1.0));
        let rule = "[0].energy_kwh is -1 kWh; it is from 0 to 1e9 kWh";
        assert_eq!(negative, format!("{field}{rule}"));
        let unknown = drives(&|car| (car.battery, car.soc_targets) = (None, Vec::new()));
        assert_eq!(unknown, format!("{field} needs the vehicle's battery"));
    }

    #[test]
    fn phases_are_there_once() {
        let message = "devices[0] (car).phases names no phase, or one twice";
        assert_eq!(car(|car| car.phases.clear()), message);
        assert_eq!(car(|car| car.phases = vec![Phase::L1, Phase::L2, Phase::L1]), message);
    }

    #[test]
    fn numbers_of_a_vehicle_lie_in_their_ranges() {
        let number = |change: fn(&mut Vehicle), message: &str| {
            assert_eq!(car(change), format!("devices[0] (car).{message}"));
        };
        number(|car| car.power_max = kw(-1.0), "power_max_kw is -1 kW; it is from 0 to 1e6 kW");
        number(
            |car| car.power_min = kw(12.0),
            "power_min_kw is 12 kW; it is from 0 kW to power_max_kw",
        );
        number(
            |car| car.targets[0].energy = kwh(-2.0),
            "targets[0].energy_kwh is -2 kWh; it is from 0 to 1e9 kWh",
        );
        number(
            |car| car.end_value = per_kwh(-2e6),
            "end_value_per_kwh is -2000000 per kWh; it is from -1e6 to 1e6 per kWh",
        );
        number(
            |car| car.battery.as_mut().unwrap().efficiency = 1.01,
            "battery.efficiency is 1.01 kWh per kWh; it is from 0.001 to 1",
        );
        number(
            |car| car.battery.as_mut().unwrap().efficiency = 92.0,
            "battery.efficiency is 92 kWh per kWh; it is from 0.001 to 1; 92 % is 0.92",
        );
        number(
            |car| car.discharge = Some(Discharge { efficiency: 0.0, ..discharge(5.0) }),
            "discharge.discharge_efficiency is 0 kWh per kWh; it is from 0.001 to 1",
        );
        number(
            |car| car.discharge = Some(Discharge { wear: per_kwh(-0.1), ..discharge(5.0) }),
            "discharge.wear_price_per_kwh is -0.1 per kWh; wear costs from 0 to 1e6 per kWh",
        );
        for priority in [0.0, 1001.0, f64::NAN] {
            let weighs = car(|car| car.priority = priority);
            assert!(weighs.starts_with("devices[0] (car).priority is "), "{weighs}");
        }
    }

    #[test]
    fn soft_bounds_have_a_level_a_price_and_a_length() {
        let bound = SoftBound {
            start: Some(at(0)),
            end: Some(at(60)),
            soc_min: Some(percent(20.0)),
            soc_max: Some(percent(80.0)),
            price_per_kwh_hour: 0.1,
        };
        let refused = |bound: SoftBound| car(|car| car.soft_bounds = vec![bound]);
        let field = "devices[0] (car).soft_bounds[0]";
        let price = refused(SoftBound { price_per_kwh_hour: -0.1, ..bound });
        let rule = "-0.1 per kWh and hour; it is from 0 to 1e6 per kWh and hour";
        assert_eq!(price, format!("{field}.price_per_kwh_hour is {rule}"));
        let crossed = refused(SoftBound { soc_min: Some(percent(90.0)), ..bound });
        assert_eq!(
            crossed,
            format!("{field}.soc_min_percent is 90 %; it is at most soc_max_percent, 80 %")
        );
        let none = refused(SoftBound { soc_min: None, soc_max: None, ..bound });
        assert!(none.starts_with(&format!("{field} has neither soc_min_percent nor")), "{none}");
        let ended = refused(SoftBound { end: Some(at(0)), ..bound });
        assert!(ended.starts_with(&format!("{field} ends at ")), "{ended}");
        let mut battery = home(5.0, 10.0, 50.0);
        battery.soft_bounds = vec![SoftBound { price_per_kwh_hour: f64::NAN, ..bound }];
        let unknown = self::refused(Device::Battery(battery));
        assert!(unknown.starts_with("devices[0] (home).soft_bounds[0].price"), "{unknown}");
    }

    #[test]
    fn a_battery_that_may_discharge_nowhere_below_its_charge_limit_is_refused() {
        let mut battery = home(5.0, 10.0, 50.0);
        (battery.discharge.soc_min, battery.battery.charge_limit) = (percent(80.0), percent(70.0));
        assert_eq!(
            refused(Device::Battery(battery)),
            "devices[0] (home).soc_min_percent is 80 %; it is at most charge_limit_percent, 70 %"
        );
        let crossed = car(|car| {
            let discharge = home(5.0, 10.0, 50.0).discharge;
            car.discharge = Some(Discharge { soc_min: percent(95.0), ..discharge });
            car.battery.as_mut().unwrap().charge_limit = percent(90.0);
        });
        let field = "devices[0] (car).discharge.soc_min_percent";
        assert_eq!(crossed, format!("{field} is 95 %; it is at most charge_limit_percent, 90 %"));
    }

    #[test]
    fn limits_in_time_have_a_length_and_numbers_in_their_ranges() {
        let limit = StorageLimit {
            start: at(0),
            end: at(60),
            charge_max: Some(kw(5.0)),
            discharge_max: None,
            soc_min: Some(percent(20.0)),
            soc_max: Some(percent(80.0)),
        };
        let refused = |limit: StorageLimit| car(|car| car.limits = vec![limit]);
        let field = "devices[0] (car).limits[0]";
        let ended = refused(StorageLimit { end: at(0), ..limit });
        assert!(ended.starts_with(&format!("{field} ends at ")), "{ended}");
        let negative = refused(StorageLimit { charge_max: Some(kw(-1.0)), ..limit });
        assert_eq!(negative, format!("{field}.power_max_kw is -1 kW; it is from 0 to 1e6 kW"));
        let negative = refused(StorageLimit { discharge_max: Some(kw(-1.0)), ..limit });
        assert!(negative.starts_with(&format!("{field}.discharge_max_kw is -1 kW")), "{negative}");
        let crossed = refused(StorageLimit { soc_min: Some(percent(81.0)), ..limit });
        let rule = "81 %; it is at most soc_max_percent, 80 %";
        assert_eq!(crossed, format!("{field}.soc_min_percent is {rule}"));
        let unknown = car(|car| (car.battery, car.limits) = (None, vec![limit]));
        let needs = "limits in percent needs the vehicle's battery";
        assert_eq!(unknown, format!("devices[0] (car).{needs}"));
        let mut battery = home(5.0, 10.0, 50.0);
        battery.limits = vec![StorageLimit { end: at(-60), ..limit }];
        let ended = self::refused(Device::Battery(battery));
        assert!(ended.starts_with("devices[0] (home).limits[0] ends at "), "{ended}");
    }

    #[test]
    fn no_more_power_is_wanted_than_a_device_can_take() {
        let refused = |series: Series| car(|car| car.power_wanted = Some(series.clone()));
        let field = "devices[0] (car).power_wanted_kw";
        let rule = "it is from 0 kW to power_max_kw";
        let above = refused(powers(&[1.0, 11.5]));
        assert_eq!(above, format!("{field}[1] is 11.5 kW; {rule}"));
        assert_eq!(
            refused(powers(&[1.0])),
            format!("{field}: 1 values for 2 price slots; give one for each")
        );
        let mut battery = home(5.0, 10.0, 50.0);
        battery.power_wanted = Some(Series::Constant(kw(6.0)));
        let above = self::refused(Device::Battery(battery));
        assert_eq!(above, format!("devices[0] (home).power_wanted_kw[0] is 6 kW; {rule}"));
    }

    #[test]
    fn percentages_need_a_battery_of_known_charge() {
        let without = |change: fn(&mut Vehicle)| {
            car(|car| {
                car.battery = None;
                change(car);
            })
        };
        let needs = |field: &str| format!("devices[0] (car).{field} needs the vehicle's battery");
        assert_eq!(without(|car| car.reserve = percent(1.0)), needs("reserve_percent"));
        assert_eq!(without(|car| car.discharge = Some(discharge(5.0))), needs("discharge"));
        assert_eq!(without(|car| car.fill_when_worth = true), needs("fill_when_worth"));
        let bound = SoftBound {
            start: None,
            end: None,
            soc_min: Some(percent(20.0)),
            soc_max: None,
            price_per_kwh_hour: 0.1,
        };
        let power = Series::Constant(kw(1.0));
        let wanting = car(|car| (car.battery, car.power_wanted) = (None, Some(power.clone())));
        assert_eq!(wanting, needs("power_wanted_kw"));
        let bounded = car(|car| (car.battery, car.soft_bounds) = (None, vec![bound]));
        assert_eq!(bounded, needs("soft_bounds"));
        let unknown = car(|car| car.battery.as_mut().unwrap().soc = None);
        assert!(unknown.starts_with("devices[0] (car): soc_percent is not known"), "{unknown}");
        let tiny = car(|car| car.battery = Some(battery_of(1e-7, 20.0)));
        assert!(tiny.starts_with("devices[0] (car): capacity_kwh is 0.0000001 kWh"), "{tiny}");
    }

    #[test]
    fn a_taper_falls_ever_faster() {
        let tapered = |points: &[(f64, f64)]| {
            let point = |&(soc, power)| TaperPoint { soc: percent(soc), power_max: kw(power) };
            check_taper("car", &points.iter().map(point).collect::<Vec<_>>())
        };
        let refused = |index| Err(SiteError::Taper { field: "car".to_owned(), index });
        assert_eq!(tapered(&[(50.0, 10.0), (80.0, 8.0), (100.0, 0.0)]), Ok(()));
        assert_eq!(tapered(&[(50.0, 10.0), (80.0, 10.0)]), Ok(()));
        assert_eq!(tapered(&[(50.0, 10.0), (80.0, 11.0)]), refused(1));
        // 6 kW over 30 points, then 4 kW over 20: the same slope. 3 kW over 20 is flatter.
        assert_eq!(tapered(&[(50.0, 10.0), (80.0, 4.0), (100.0, 0.0)]), Ok(()));
        assert_eq!(tapered(&[(50.0, 10.0), (80.0, 4.0), (100.0, 1.0)]), refused(2));
        assert_eq!(tapered(&[(50.0, 10.0), (50.0, 9.0)]), refused(1));
    }

    #[test]
    fn nobody_leaves_before_they_come() {
        let gone = car(|car| (car.arrival, car.departure) = (Some(at(60)), Some(at(60))));
        assert!(gone.starts_with("devices[0] (car) ends at 2026-01-05 19:00:00 UTC"), "{gone}");
        let mut load = washer(2.0, 60.0);
        (load.earliest, load.latest) = (Some(at(30)), Some(at(20)));
        let device = Device::Shiftable(load.clone());
        assert!(refused(device).starts_with("devices[0] (washer) ends at"));
        // Without an earliest start a deadline that has passed is missed, and no mistake.
        (load.earliest, load.latest) = (None, Some(at(-20)));
        assert_eq!(check(&site(&[10, 20], &[Device::Shiftable(load.clone())])), Ok(()));
        load.duration_minutes = 0.0;
        let message = "devices[0] (washer).duration is 0 minutes; it is from 1 s to a year";
        assert_eq!(refused(Device::Shiftable(load)), message);
    }

    #[test]
    fn windows_of_a_demand_charge_divide_the_day() {
        let charge = |change: fn(&mut DemandCharge)| {
            changed(|request| change(request.demand_charge.as_mut().unwrap()))
        };
        let window = "demand_charge.window is";
        let long = charge(|charge| charge.window_minutes = 1441);
        assert_eq!(long, format!("{window} 1441 minutes; it is from 1 minute to a day"));
        let none = charge(|charge| charge.window_minutes = 0);
        assert_eq!(none, format!("{window} 0 minutes; it is from 1 minute to a day"));
        let uneven = charge(|charge| charge.window_minutes = 50);
        assert_eq!(uneven, format!("{window} 50 minutes; a whole number of windows is a day"));
        let paid = charge(|charge| charge.price_per_kw = -1.0);
        assert_eq!(
            paid,
            "demand_charge.peak_price_per_kw is -1 per kW; it is from 0 to 1e6 per kW"
        );
        let period = charge(|charge| charge.periods = vec![Period { start: at(9), end: at(9) }]);
        assert!(period.starts_with("demand_charge.periods: slot 0 ends at"), "{period}");
    }

    #[test]
    fn later_blocks_are_dearer_and_the_last_one_is_open() {
        let blocks = |blocks: &[(f64, f64)]| check_tiers(&tiers(blocks, 0.0));
        let open = f64::INFINITY;
        assert_eq!(blocks(&[(10.0, -0.1), (20.0, 0.0), (open, 0.0)]), Ok(()));
        assert_eq!(blocks(&[(10.0, 0.1), (open, 0.05)]), Err(SiteError::Tiers { index: 1 }));
        let shrinks = [(10.0, 0.1), (10.0, 0.2), (open, 0.3)];
        assert_eq!(blocks(&shrinks), Err(SiteError::Tiers { index: 1 }));
        let unpriced: [&[(f64, f64)]; 3] = [&[], &[(10.0, 0.1)], &[(open, 0.1), (open, 0.2)]];
        for unpriced in unpriced {
            assert_eq!(blocks(unpriced), Err(SiteError::OpenTier));
        }
    }

    #[test]
    fn numbers_of_a_site_lie_in_their_ranges() {
        let carbon = changed(|request| request.carbon.as_mut().unwrap().price_per_kg = -1.0);
        assert_eq!(carbon, "carbon.price_per_kg is -1 per kg; it is from 0 to 1e6 per kg");
        let budget = changed(|request| request.preference_budget = money(-1.0));
        assert_eq!(budget, "preference_budget is -1 units of currency; it is from 0 to 1e12");
        let seconds = changed(|request| request.effort.seconds_max = Some(f64::INFINITY));
        assert_eq!(seconds, "effort.seconds_max is inf s; it is from 0 to 1e9 s");
        let breach = changed(|request| {
            request.import_limit.as_mut().unwrap().breach_price = Some(per_kwh(-1.0));
        });
        let rule = "a breach costs from 0 to 1e6 per kWh";
        assert_eq!(breach, format!("import_breach_price_per_kwh is -1 per kWh; {rule}"));
        let fuse = changed(|request| request.groups[0].limit = Some(hard(2e6)));
        assert_eq!(fuse, "groups[0] (a).limit_kw[0] is 2000000 kW; it is from 0 to 1e6 kW");
        let price = changed(|request| {
            request.export_prices = Some(curve_of(60, &[-1_000_000_000, 0]));
        });
        assert!(price.starts_with("export_prices[0] is -10000000 per kWh"), "{price}");
    }

    #[test]
    fn a_forecast_or_intensity_that_is_unknown_is_refused() {
        let short = changed(|request| request.devices[1] = house(&[1.0]));
        assert!(short.starts_with("devices[1] (house).power_kw: 1 values for 2"), "{short}");
        let carbon = changed(|request| {
            request.carbon.as_mut().unwrap().intensity[0].end = at(30);
        });
        assert!(carbon.starts_with("the carbon intensity is not known at 2026-01-05 18:30:00"));
        let export = Limit { power: powers(&[1.0, -1.0]), breach_price: None };
        let negative = changed(|request| request.export_limit = Some(export.clone()));
        assert_eq!(negative, "export_limit_kw: value 1 is -1 kW; it is 0 kW or more");
    }

    #[test]
    fn more_slots_than_can_be_planned_are_refused() {
        // 15 days in windows of a minute: 21,600 slots.
        let mut request = site(&[10; 360], &[]);
        request.demand_charge = Some(demand(1.0, 0.0));
        request.demand_charge.as_mut().unwrap().window_minutes = 1;
        assert_eq!(check(&request), Err(SiteError::TooLong { slots: 21_600, most: 20_000 }));
        request.until = Some(at(20_000));
        assert_eq!(check(&request), Ok(()));
    }
}

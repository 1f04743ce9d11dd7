//! A site as Python describes it, on its way to the engine.
use chrono::{DateTime, TimeDelta, Utc};
use pyo3::prelude::*;
use slackwater_engine::plan::charge::{SocTarget, Target};
use slackwater_engine::plan::site::{
    Carbon, CarbonSlot, DemandCharge, Device, Discharge, Effort, Group, HeatUnit, Limit, Load,
    Period, Phase, PowerPeriod, Preference, Series, ShiftableLoad, SiteRequest, SoftBound, Solar,
    StationaryBattery, TaperPoint, Tier, Tiers, Vehicle, power_of,
};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::units::{Energy, Money, Percent, Power, Price};

use crate::error::{Named, Refused};
use crate::heat::RoomArgument;
use crate::plan::{BatteryTuple, after_deadline, battery};
use crate::prices::Prices;
use crate::storage::{ConsumptionTuple, LimitTuple, consumption, storage_limit};
use crate::time::Instant;

/// A number, a number per price slot, or periods.
#[derive(FromPyObject)]
pub(crate) enum SeriesArgument {
    Constant(f64),
    PerSlot(Vec<f64>),
    Periods(Vec<(Instant, Instant, f64)>),
}

/// A limit and the price of a breach.
pub(crate) type LimitArgument = (SeriesArgument, Option<f64>);

/// A current, its voltage and its phases.
type Current = (f64, f64);

#[derive(FromPyObject)]
pub(crate) struct DischargeArgument {
    discharge_max_kw: f64,
    discharge_efficiency: f64,
    soc_min_percent: f64,
    wear_price_per_kwh: f64,
    discharge_to_grid: bool,
}

#[derive(FromPyObject)]
pub(crate) struct SoftBoundArgument {
    start: Option<Instant>,
    end: Option<Instant>,
    soc_min_percent: Option<f64>,
    soc_max_percent: Option<f64>,
    price_per_kwh_hour: f64,
}

#[derive(FromPyObject)]
pub(crate) struct VehicleArgument {
    name: String,
    group: Option<String>,
    power_max_kw: Option<f64>,
    #[pyo3(attribute("_current"))]
    current: Option<Current>,
    power_min_kw: f64,
    #[pyo3(attribute("_phases"))]
    phases: Vec<String>,
    arrival: Option<Instant>,
    departure: Option<Instant>,
    #[pyo3(attribute("_battery"))]
    battery: Option<BatteryTuple>,
    #[pyo3(attribute("_energy_targets"))]
    energy_targets: Vec<(Option<Instant>, f64)>,
    #[pyo3(attribute("_soc_targets"))]
    soc_targets: Vec<(Option<Instant>, Option<f64>)>,
    reserve_percent: f64,
    priority: f64,
    #[pyo3(attribute("_fills"))]
    fills: bool,
    discharge: Option<DischargeArgument>,
    charge_from_grid: bool,
    end_value_per_kwh: f64,
    #[pyo3(attribute("_taper"))]
    taper: Vec<(f64, f64)>,
    #[pyo3(attribute("_consumption"))]
    consumption: Vec<ConsumptionTuple>,
    soft_bounds: Vec<SoftBoundArgument>,
    limits: Vec<LimitTuple>,
    #[pyo3(attribute("_power_wanted"))]
    power_wanted: Option<SeriesArgument>,
    after_deadline: String,
}

#[derive(FromPyObject)]
pub(crate) struct BatteryArgument {
    name: String,
    group: Option<String>,
    #[pyo3(attribute("_phases"))]
    phases: Vec<String>,
    power_max_kw: f64,
    #[pyo3(attribute("_battery"))]
    battery: BatteryTuple,
    #[pyo3(attribute("_discharge"))]
    discharge: DischargeArgument,
    charge_from_grid: bool,
    #[pyo3(attribute("_soc_end"))]
    target_percent: Option<f64>,
    #[pyo3(attribute("_end_value"))]
    end_value_per_kwh: f64,
    soft_bounds: Vec<SoftBoundArgument>,
    limits: Vec<LimitTuple>,
    #[pyo3(attribute("_power_wanted"))]
    power_wanted: Option<SeriesArgument>,
}

#[derive(FromPyObject)]
pub(crate) struct SolarArgument {
    name: String,
    group: Option<String>,
    #[pyo3(attribute("_phases"))]
    phases: Vec<String>,
    #[pyo3(attribute("_power"))]
    power: SeriesArgument,
    is_curtailable: bool,
}

#[derive(FromPyObject)]
pub(crate) struct LoadArgument {
    name: String,
    group: Option<String>,
    #[pyo3(attribute("_phases"))]
    phases: Vec<String>,
    #[pyo3(attribute("_power"))]
    power: SeriesArgument,
}

#[derive(FromPyObject)]
pub(crate) struct ShiftableArgument {
    name: String,
    group: Option<String>,
    #[pyo3(attribute("_phases"))]
    phases: Vec<String>,
    power_kw: f64,
    #[pyo3(attribute("_duration_minutes"))]
    duration_minutes: f64,
    earliest: Option<Instant>,
    latest: Option<Instant>,
    priority: f64,
}

#[derive(FromPyObject)]
pub(crate) struct HeatUnitArgument {
    name: String,
    group: Option<String>,
    #[pyo3(attribute("_phases"))]
    phases: Vec<String>,
    priority: f64,
    #[pyo3(attribute("_room"))]
    room: RoomArgument,
}

impl HeatUnitArgument {
    /// The unit, whose plan begins `now`.
    pub(crate) fn unit(&self, now: DateTime<Utc>) -> Result<HeatUnit, Refused> {
        Ok(HeatUnit {
            phases: phases(&self.phases)?,
            group: self.group.clone(),
            priority: self.priority,
            heat: self.room.request(now)?,
            name: self.name.clone(),
        })
    }
}

/// Any device; `_kind` tells which, so that a mistake in one is not reported
/// as being none of the others.
pub(crate) enum DeviceArgument {
    Vehicle(VehicleArgument),
    Battery(BatteryArgument),
    Solar(SolarArgument),
    Load(LoadArgument),
    Shiftable(ShiftableArgument),
    Heat(HeatUnitArgument),
}

impl<'py> FromPyObject<'_, 'py> for DeviceArgument {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let kind: String = value.getattr("_kind")?.extract()?;
        Ok(match kind.as_str() {
            "vehicle" => Self::Vehicle(value.extract()?),
            "battery" => Self::Battery(value.extract()?),
            "solar" => Self::Solar(value.extract()?),
            "load" => Self::Load(value.extract()?),
            "heat_unit" => Self::Heat(value.extract()?),
            _ => Self::Shiftable(value.extract()?),
        })
    }
}

#[derive(FromPyObject)]
pub(crate) struct GroupArgument {
    name: String,
    parent: Option<String>,
    #[pyo3(attribute("_limit"))]
    limit: Option<SeriesArgument>,
    #[pyo3(attribute("_current"))]
    current: Option<Current>,
    breach_price_per_kwh: Option<f64>,
}

#[derive(FromPyObject)]
pub(crate) struct DemandChargeArgument {
    peak_price_per_kw: f64,
    peak_incurred_kw: f64,
    #[pyo3(attribute("_window_minutes"))]
    window_minutes: u32,
    window_energy_kwh: f64,
    #[pyo3(attribute("_periods"))]
    periods: Vec<(Instant, Instant)>,
}

#[derive(FromPyObject)]
pub(crate) struct TiersArgument {
    #[pyo3(attribute("_blocks"))]
    blocks: Vec<(Option<f64>, f64)>,
    energy_before_kwh: f64,
}

#[derive(FromPyObject)]
pub(crate) struct CarbonArgument {
    price_per_kg: f64,
    #[pyo3(attribute("_intensity"))]
    intensity: Vec<(Instant, Instant, f64)>,
}

fn power(kw: f64, name: &str) -> Result<Power, Refused> {
    Power::from_kw(kw).named(name)
}

fn price(per_kwh: f64, name: &str) -> Result<Price, Refused> {
    Price::from_per_kwh(per_kwh).named(name)
}

fn percent(value: f64, name: &str) -> Result<Percent, Refused> {
    Percent::from_percent(value).named(name)
}

fn phases(names: &[String]) -> Result<Vec<Phase>, Refused> {
    let phase = |name: &String| match name.to_ascii_lowercase().as_str() {
        "l1" => Ok(Phase::L1),
        "l2" => Ok(Phase::L2),
        "l3" => Ok(Phase::L3),
        _ => Err(Refused::Input(format!("phases: {name:?} is none of \"L1\", \"L2\", \"L3\""))),
    };
    names.iter().map(phase).collect()
}

fn series(given: SeriesArgument, name: &str) -> Result<Series, Refused> {
    Ok(match given {
        SeriesArgument::Constant(kw) => Series::Constant(power(kw, name)?),
        SeriesArgument::PerSlot(kws) => {
            let at = |(index, kw)| power(kw, &format!("{name}[{index}]"));
            Series::PerSlot(kws.into_iter().enumerate().map(at).collect::<Result<_, _>>()?)
        }
        SeriesArgument::Periods(periods) => {
            let period = |(index, (start, end, kw)): (usize, (Instant, Instant, f64))| {
                let power = power(kw, &format!("{name}[{index}]"))?;
                Ok(PowerPeriod { start: start.0, end: end.0, power })
            };
            Series::Periods(
                periods.into_iter().enumerate().map(period).collect::<Result<_, Refused>>()?,
            )
        }
    })
}

fn limit(given: LimitArgument, (name, breach): (&str, &str)) -> Result<Limit, Refused> {
    let breach_price = given.1.map(|per_kwh| price(per_kwh, breach)).transpose()?;
    Ok(Limit { power: series(given.0, name)?, breach_price })
}

fn discharge(given: &DischargeArgument) -> Result<Discharge, Refused> {
    Ok(Discharge {
        power_max: power(given.discharge_max_kw, "discharge.discharge_max_kw")?,
        efficiency: given.discharge_efficiency,
        soc_min: percent(given.soc_min_percent, "discharge.soc_min_percent")?,
        wear: price(given.wear_price_per_kwh, "discharge.wear_price_per_kwh")?,
        discharge_to_grid: given.discharge_to_grid,
    })
}

fn power_wanted(given: Option<SeriesArgument>, device: &str) -> Result<Option<Series>, Refused> {
    given.map(|given| series(given, &format!("{device}.power_wanted_kw"))).transpose()
}

fn soft_bounds(given: &[SoftBoundArgument]) -> Result<Vec<SoftBound>, Refused> {
    let bound = |(index, given): (usize, &SoftBoundArgument)| {
        let soc = |value: Option<f64>, field: &str| {
            let name = format!("soft_bounds[{index}].{field}");
            value.map(|value| percent(value, &name)).transpose()
        };
        Ok(SoftBound {
            start: given.start.as_ref().map(|at| at.0),
            end: given.end.as_ref().map(|at| at.0),
            soc_min: soc(given.soc_min_percent, "soc_min_percent")?,
            soc_max: soc(given.soc_max_percent, "soc_max_percent")?,
            price_per_kwh_hour: given.price_per_kwh_hour,
        })
    };
    given.iter().enumerate().map(bound).collect()
}

impl VehicleArgument {
    fn into_device(self) -> Result<Device, Refused> {
        let phases = phases(&self.phases)?;
        let kw = match (self.power_max_kw, self.current) {
            (Some(kw), _) => kw,
            (None, Some((amps, volts))) => power_of(amps, volts, phases.len()),
            (None, None) => {
                return Err(Refused::Input(format!(
                    "{}: give power_max_kw, or amps and phases",
                    self.name
                )));
            }
        };
        let target = |(by, kwh): (Option<Instant>, f64)| {
            let energy = Energy::from_kwh(kwh).named("targets.energy_kwh")?;
            Ok::<_, Refused>(Target { by: by.map(|by| by.0), energy })
        };
        let soc_target = |(by, soc): (Option<Instant>, Option<f64>)| {
            let soc = soc.map(|soc| percent(soc, "targets.soc_percent")).transpose()?;
            Ok::<_, Refused>(SocTarget { by: by.map(|by| by.0), soc })
        };
        let point = |(soc, kw): (f64, f64)| {
            let (soc, power_max) = (percent(soc, "taper")?, power(kw, "taper")?);
            Ok::<_, Refused>(TaperPoint { soc, power_max })
        };
        let power_wanted = power_wanted(self.power_wanted, &self.name)?;
        Ok(Device::Vehicle(Vehicle {
            power_wanted,
            power_max: power(kw, "power_max_kw")?,
            power_min: power(self.power_min_kw, "power_min_kw")?,
            name: self.name,
            group: self.group,
            phases,
            arrival: self.arrival.map(|at| at.0),
            departure: self.departure.map(|at| at.0),
            battery: self.battery.map(battery).transpose()?,
            targets: self.energy_targets.into_iter().map(target).collect::<Result<_, _>>()?,
            soc_targets: self.soc_targets.into_iter().map(soc_target).collect::<Result<_, _>>()?,
            reserve: percent(self.reserve_percent, "reserve_percent")?,
            priority: self.priority,
            fill_when_worth: self.fills,
            discharge: self.discharge.as_ref().map(discharge).transpose()?,
            charge_from_grid: self.charge_from_grid,
            end_value: price(self.end_value_per_kwh, "end_value_per_kwh")?,
            taper: self.taper.into_iter().map(point).collect::<Result<_, _>>()?,
            consumption: self
                .consumption
                .iter()
                .enumerate()
                .map(consumption)
                .collect::<Result<_, _>>()?,
            soft_bounds: soft_bounds(&self.soft_bounds)?,
            limits: self.limits.iter().enumerate().map(storage_limit).collect::<Result<_, _>>()?,
            after_deadline: after_deadline(&self.after_deadline)?,
        }))
    }
}

fn device(given: DeviceArgument, now: DateTime<Utc>) -> Result<Device, Refused> {
    Ok(match given {
        DeviceArgument::Vehicle(given) => return given.into_device(),
        DeviceArgument::Battery(given) => Device::Battery(StationaryBattery {
            power_wanted: power_wanted(given.power_wanted, &given.name)?,
            name: given.name,
            group: given.group,
            phases: phases(&given.phases)?,
            power_max: power(given.power_max_kw, "power_max_kw")?,
            battery: battery(given.battery)?,
            discharge: discharge(&given.discharge)?,
            charge_from_grid: given.charge_from_grid,
            soc_end: given.target_percent.map(|soc| percent(soc, "target_percent")).transpose()?,
            end_value: price(given.end_value_per_kwh, "end_value_per_kwh")?,
            soft_bounds: soft_bounds(&given.soft_bounds)?,
            limits: given.limits.iter().enumerate().map(storage_limit).collect::<Result<_, _>>()?,
        }),
        DeviceArgument::Solar(given) => Device::Solar(Solar {
            forecast: series(given.power, &format!("{}.power_kw", given.name))?,
            name: given.name,
            group: given.group,
            phases: phases(&given.phases)?,
            is_curtailable: given.is_curtailable,
        }),
        DeviceArgument::Load(given) => Device::Load(Load {
            forecast: series(given.power, &format!("{}.power_kw", given.name))?,
            name: given.name,
            group: given.group,
            phases: phases(&given.phases)?,
        }),
        DeviceArgument::Shiftable(given) => Device::Shiftable(ShiftableLoad {
            name: given.name,
            group: given.group,
            phases: phases(&given.phases)?,
            power: power(given.power_kw, "power_kw")?,
            duration_minutes: given.duration_minutes,
            earliest: given.earliest.map(|at| at.0),
            latest: given.latest.map(|at| at.0),
            priority: given.priority,
        }),
        DeviceArgument::Heat(given) => Device::Heat(given.unit(now)?),
    })
}

fn group(given: GroupArgument) -> Result<Group, Refused> {
    let breach = given.breach_price_per_kwh;
    let field = |field: &str| format!("{}.{field}", given.name);
    let price = field("breach_price_per_kwh");
    let whole = field("limit_kw");
    let whole_limit = |series| limit((series, breach), (&whole, &price));
    let whole = given.limit.map(whole_limit).transpose()?;
    let per_phase = |(amps, volts): Current| {
        let series = SeriesArgument::Constant(power_of(amps, volts, 1));
        limit((series, breach), (&field("amps"), &price))
    };
    let phase_limit = given.current.map(per_phase).transpose()?;
    Ok(Group { limit: whole, phase_limit, name: given.name, parent: given.parent })
}

fn demand_charge(given: DemandChargeArgument, field: &str) -> Result<DemandCharge, Refused> {
    let periods = given.periods.into_iter();
    Ok(DemandCharge {
        price_per_kw: given.peak_price_per_kw,
        peak: power(given.peak_incurred_kw, &format!("{field}.peak_incurred_kw"))?,
        window_minutes: given.window_minutes,
        window_energy: Energy::from_kwh(given.window_energy_kwh)
            .named(&format!("{field}.window_energy_kwh"))?,
        periods: periods.map(|(start, end)| Period { start: start.0, end: end.0 }).collect(),
    })
}

fn tiers(given: TiersArgument) -> Result<Tiers, Refused> {
    let tier = |(until, surcharge): (Option<f64>, f64)| {
        let until = until.map(Energy::from_kwh).transpose().named("tiers.until_kwh")?;
        Ok::<_, Refused>(Tier { until, surcharge: price(surcharge, "tiers.surcharge_per_kwh")? })
    };
    let before = Energy::from_kwh(given.energy_before_kwh).named("tiers.energy_before_kwh")?;
    let blocks = given.blocks.into_iter().map(tier).collect::<Result<_, _>>()?;
    Ok(Tiers { blocks, energy_before: before })
}

fn carbon(given: CarbonArgument) -> Carbon {
    let slot = |(start, end, kg_per_kwh): (Instant, Instant, f64)| CarbonSlot {
        start: start.0,
        end: end.0,
        kg_per_kwh,
    };
    let intensity = given.intensity.into_iter().map(slot).collect();
    Carbon { price_per_kg: given.price_per_kg, intensity }
}

fn preference(name: &str) -> Result<Preference, Refused> {
    match name {
        "earlier" => Ok(Preference::Earlier),
        "smoother" => Ok(Preference::Smoother),
        "fairer" => Ok(Preference::Fairer),
        other => Err(Refused::Input(format!(
            "prefer holds {other:?}; it holds \"earlier\", \"smoother\" or \"fairer\""
        ))),
    }
}

/// The request from its parts.
pub(crate) fn request(
    (prices, export_prices): (&Prices, Option<&Prices>),
    (now, until): (Instant, Option<Instant>),
    (devices, groups): (Vec<DeviceArgument>, Vec<GroupArgument>),
    (import_limit, export_limit): (Option<LimitArgument>, Option<LimitArgument>),
    (demand, export_demand): (Option<DemandChargeArgument>, Option<DemandChargeArgument>),
    (blocks, emissions): (Option<TiersArgument>, Option<CarbonArgument>),
    (prefer, budget): (Vec<String>, f64),
    (nodes_max, time_max): (u32, Option<TimeDelta>),
) -> Result<SiteRequest, Refused> {
    if let Some(other) = export_prices.filter(|other| other.currency() != prices.currency()) {
        let (mine, theirs) = (prices.currency(), other.currency());
        return Err(Refused::Input(format!("prices are in {mine}, export_prices in {theirs}")));
    }
    Ok(SiteRequest {
        import_prices: PriceCurve::clone(&prices.curve),
        export_prices: export_prices.map(|prices| PriceCurve::clone(&prices.curve)),
        now: now.0,
        until: until.map(|until| until.0),
        devices: devices.into_iter().map(|given| device(given, now.0)).collect::<Result<_, _>>()?,
        groups: groups.into_iter().map(group).collect::<Result<_, _>>()?,
        import_limit: import_limit
            .map(|given| limit(given, ("import_limit_kw", "import_breach_price_per_kwh")))
            .transpose()?,
        export_limit: export_limit
            .map(|given| limit(given, ("export_limit_kw", "export_breach_price_per_kwh")))
            .transpose()?,
        demand_charge: demand.map(|given| demand_charge(given, "demand_charge")).transpose()?,
        export_demand_charge: export_demand
            .map(|given| demand_charge(given, "export_demand_charge"))
            .transpose()?,
        tiers: blocks.map(tiers).transpose()?,
        carbon: emissions.map(carbon),
        preferences: prefer.iter().map(|name| preference(name)).collect::<Result<_, _>>()?,
        preference_budget: Money::from_amount(budget).named("preference_budget")?,
        effort: Effort { nodes_max, seconds_max: time_max.map(TimeDelta::as_seconds_f64) },
        previous: None,
    })
}

//! Request for a plan of a site: prices, devices, limits, tariff and preferences.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::interval::Interval;
use crate::plan::site::device::Device;
use crate::plan::site::plan::SitePlan;
use crate::plan::site::series::Series;
use crate::plan::stability::budget::Budget;
use crate::prices::curve::PriceCurve;
use crate::units::{Energy, Money, Power, Price};

/// Upper limit on a power, as a mean over each slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The limit; there is none at times at which the series is unknown.
    pub power: Series,
    /// Price of each kWh above the limit. `None` makes the limit hard: it is exceeded only in
    /// slots in which fixed loads alone exceed it, and there by as little as possible.
    #[serde(rename = "breach_price_per_kwh")]
    pub breach_price: Option<Price>,
}

/// Devices that share a limit, such as a fuse. The limit holds in both directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Name, unique among the devices and groups of the site.
    pub name: String,
    /// Parent group; `None` is the site itself.
    pub parent: Option<String>,
    /// Limit on the sum of the phases.
    pub limit: Option<Limit>,
    /// Limit on the power of each phase, in kW: amperes times volts over 1000.
    pub phase_limit: Option<Limit>,
}

/// Price of the highest mean power at the meter over windows of time, of import or export.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DemandCharge {
    /// Price per kW of the peak, zero or more.
    #[serde(rename = "price_per_kw")]
    pub price_per_kw: f64,
    /// Peak that is paid for already, in kW. Only the part above it costs.
    #[serde(rename = "peak_kw")]
    pub peak: Power,
    /// Length of a window in minutes, a divisor of 1440. Windows begin at whole multiples of it
    /// since midnight in UTC. In a time zone with an offset of half an hour, a window of an hour
    /// therefore begins at half past on the local clock.
    pub window_minutes: u32,
    /// Energy imported, or exported, so far in the window that contains [`SiteRequest::now`].
    #[serde(rename = "window_energy_kwh")]
    pub window_energy: Energy,
    /// Periods whose energy counts; empty for all times.
    pub periods: Vec<Period>,
}

/// A period `[start, end)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Period {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
}

/// Block of imported energy with a surcharge on the price curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    /// Energy at which the block ends, counted from where [`Tiers::energy_before`] is counted;
    /// `None` for the last block.
    #[serde(rename = "until_kwh")]
    pub until: Option<Energy>,
    /// Price added to the price curve.
    #[serde(rename = "surcharge_per_kwh")]
    pub surcharge: Price,
}

/// Blocks of imported energy, none cheaper than the one before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tiers {
    /// The blocks, in the order in which they fill.
    pub blocks: Vec<Tier>,
    /// Energy imported before [`SiteRequest::now`] in the tariff's billing period.
    #[serde(rename = "energy_before_kwh")]
    pub energy_before: Energy,
}

/// Price of the emissions of imported energy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Carbon {
    /// Price per kg, zero or more.
    pub price_per_kg: f64,
    /// Carbon intensity over time. It must be known wherever there is a price.
    pub intensity: Vec<CarbonSlot>,
}

/// Period `[start, end)` of constant carbon intensity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CarbonSlot {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Emissions of an imported kWh in kg.
    pub kg_per_kwh: f64,
}

/// Criterion of choice among plans of equal shortfall and, within
/// [`SiteRequest::preference_budget`], of equal cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Preference {
    /// Energy earlier rather than later.
    #[serde(rename = "earlier")]
    Earlier,
    /// Fewer and smaller steps of the power at the meter.
    #[serde(rename = "smoother")]
    Smoother,
    /// The largest missing share of a target, weighted by priority, is as small as possible.
    #[serde(rename = "fairer")]
    Fairer,
}

/// Limits on each search with binary variables.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effort {
    /// Most nodes of the search tree.
    pub nodes_max: u32,
    /// Most seconds of the search. If this limit ends a search, the plan may differ from run to
    /// run, and its `is_reproducible` is false.
    pub seconds_max: Option<f64>,
}

impl Default for Effort {
    /// 2,000 nodes, no limit on time.
    fn default() -> Self {
        Self { nodes_max: 2_000, seconds_max: None }
    }
}

/// Plan of the site before, near which a new plan stays within a budget.
///
/// Vehicles, batteries, shiftable loads and heat units that both plans have are matched by name. Time
/// that the intervals of a device do not cover counts as power 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreviousSite {
    /// Devices of the plan before.
    pub devices: Vec<PreviousDevice>,
    /// Money that the new plan may cost beyond the cheapest one.
    pub budget: Budget,
}

/// Plan before of one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreviousDevice {
    /// Name of the device.
    pub name: String,
    /// Periods of constant power, in time order; negative feeds.
    pub intervals: Vec<Interval>,
}

impl PreviousSite {
    /// The devices of a plan, with a budget.
    #[must_use]
    pub fn new(plan: &SitePlan, budget: Budget) -> Self {
        let device = |device: &crate::plan::site::plan::DevicePlan| PreviousDevice {
            name: device.name.clone(),
            intervals: device.intervals.clone(),
        };
        Self { devices: plan.devices.iter().map(device).collect(), budget }
    }
}

/// Request for a plan of all devices behind one meter, as the caller states it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteRequest {
    /// Price of an imported kWh.
    pub import_prices: PriceCurve,
    /// Revenue per exported kWh; `None` is zero.
    pub export_prices: Option<PriceCurve>,
    /// Present time: the first instant that the plan may use.
    pub now: DateTime<Utc>,
    /// End of the plan; `None` is the end of the prices.
    pub until: Option<DateTime<Utc>>,
    /// Devices behind the meter.
    pub devices: Vec<Device>,
    /// Groups of devices with limits inside the site.
    pub groups: Vec<Group>,
    /// Limit on the power from the grid.
    pub import_limit: Option<Limit>,
    /// Limit on the power into the grid.
    pub export_limit: Option<Limit>,
    /// Price of the peak import.
    pub demand_charge: Option<DemandCharge>,
    /// Price of the peak export.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub export_demand_charge: Option<DemandCharge>,
    /// Blocks of imported energy.
    pub tiers: Option<Tiers>,
    /// Price of emissions.
    pub carbon: Option<Carbon>,
    /// Criteria among plans of equal cost, in the order in which they are applied.
    pub preferences: Vec<Preference>,
    /// Most that the preferences together may add to the cost.
    #[serde(rename = "preference_budget")]
    pub preference_budget: Money,
    /// Limits on each search.
    pub effort: Effort,
    /// Plan before, near which the plan stays; `None` for the cheapest plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<PreviousSite>,
}

impl SiteRequest {
    /// Request with these prices, no devices and no limits. Among plans of equal cost the earlier
    /// one is preferred.
    #[must_use]
    pub fn new(import_prices: PriceCurve, now: DateTime<Utc>) -> Self {
        Self {
            import_prices,
            export_prices: None,
            now,
            until: None,
            devices: Vec::new(),
            groups: Vec::new(),
            import_limit: None,
            export_limit: None,
            demand_charge: None,
            export_demand_charge: None,
            tiers: None,
            carbon: None,
            preferences: vec![Preference::Earlier],
            preference_budget: Money::ZERO,
            effort: Effort::default(),
            previous: None,
        }
    }

    /// Most that a plan may cost above the least cost: for the preferences, and for staying near
    /// the plan before.
    pub(crate) fn allowance(&self) -> Money {
        let preferences =
            if self.preferences.is_empty() { Money::ZERO } else { self.preference_budget };
        self.previous.as_ref().map_or(preferences, |before| preferences + before.budget.left())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::plan::charge::request::Target;
    use crate::plan::charge::vehicle::Battery;
    use crate::plan::site::device::{
        Device, Discharge, HeatUnit, Load, Phase, ShiftableLoad, Solar, StationaryBattery, Vehicle,
    };
    use crate::plan::site::price_slots::SiteSlots;
    use crate::plan::site::problem::SiteProblem;
    use crate::plan::site::series::PowerPeriod;
    use crate::prices::curve::tests::curve_of;
    use crate::time::horizon::Horizon;
    use crate::units::{kw, kwh, percent};

    /// An instant so many minutes after the first price of a `site`.
    pub(crate) fn at(minutes: i64) -> DateTime<Utc> {
        let first: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().unwrap();
        first + chrono::TimeDelta::minutes(minutes)
    }

    /// A site with hourly import prices in cents.
    pub(crate) fn site(cents: &[i32], devices: &[Device]) -> SiteRequest {
        let mut request = SiteRequest::new(curve_of(60, cents), at(0));
        request.devices = devices.to_vec();
        request
    }

    /// A vehicle that wants so many kWh at any time.
    pub(crate) fn van(name: &str, power: f64, energy: f64) -> Vehicle {
        let mut van = Vehicle::new(name, kw(power));
        van.targets.push(Target { by: None, energy: kwh(energy) });
        van
    }

    pub(crate) fn battery_of(capacity: f64, soc: f64) -> Battery {
        Battery {
            capacity: kwh(capacity),
            soc: Some(percent(soc)),
            soc_fallback: None,
            charge_limit: percent(100.0),
            efficiency: 1.0,
        }
    }

    /// A discharge without losses and wear, down to an empty battery.
    pub(crate) fn discharge(power: f64) -> Discharge {
        let (soc_min, wear) = (percent(0.0), Price::ZERO);
        let discharge_to_grid = true;
        Discharge { power_max: kw(power), efficiency: 1.0, soc_min, wear, discharge_to_grid }
    }

    /// A battery without losses, of one power in both directions.
    pub(crate) fn home(power: f64, capacity: f64, soc: f64) -> StationaryBattery {
        StationaryBattery {
            name: "home".to_owned(),
            group: None,
            phases: Phase::ALL.to_vec(),
            power_max: kw(power),
            charge_from_grid: true,
            battery: battery_of(capacity, soc),
            discharge: discharge(power),
            soc_end: None,
            end_value: Price::ZERO,
            soft_bounds: Vec::new(),
            limits: Vec::new(),
            power_wanted: None,
        }
    }

    /// A room of 5 kWh/K and 0.2 kW/K at 20 °C, wanted between 20 and 23 °C, at 5 °C outdoors for a
    /// week. To hold it takes a third of 3 kW.
    pub(crate) fn pump(power: f64) -> HeatUnit {
        let mut heat = crate::plan::heat::request::tests::room(168);
        (heat.power_max, heat.until) = (kw(power), None);
        HeatUnit::new("pump", heat)
    }

    /// One power per price slot.
    pub(crate) fn powers(powers: &[f64]) -> Series {
        Series::PerSlot(powers.iter().map(|&power| kw(power)).collect())
    }

    pub(crate) fn sun(kws: &[f64], is_curtailable: bool) -> Device {
        let (name, phases) = ("sun".to_owned(), Phase::ALL.to_vec());
        Device::Solar(Solar { name, group: None, phases, forecast: powers(kws), is_curtailable })
    }

    pub(crate) fn house(kws: &[f64]) -> Device {
        let (name, phases) = ("house".to_owned(), Phase::ALL.to_vec());
        Device::Load(Load { name, group: None, phases, forecast: powers(kws) })
    }

    pub(crate) fn washer(power: f64, duration_minutes: f64) -> ShiftableLoad {
        ShiftableLoad {
            name: "washer".to_owned(),
            group: None,
            phases: Phase::ALL.to_vec(),
            power: kw(power),
            duration_minutes,
            earliest: None,
            latest: None,
            priority: 1.0,
        }
    }

    /// A limit without a price: it is kept wherever it can be.
    pub(crate) fn hard(power: f64) -> Limit {
        Limit { power: Series::Constant(kw(power)), breach_price: None }
    }

    pub(crate) fn group(name: &str, parent: Option<&str>, limit: Option<Limit>) -> Group {
        let parent = parent.map(str::to_owned);
        Group { name: name.to_owned(), parent, limit, phase_limit: None }
    }

    /// A price per kW of the mean power of hours.
    pub(crate) fn demand(price_per_kw: f64, peak: f64) -> DemandCharge {
        DemandCharge {
            price_per_kw,
            peak: kw(peak),
            window_minutes: 60,
            window_energy: Energy::ZERO,
            periods: Vec::new(),
        }
    }

    /// Blocks that end at these kWh, with surcharges per kWh; infinity is the last one.
    pub(crate) fn tiers(blocks: &[(f64, f64)], before: f64) -> Tiers {
        let tier = |&(until, surcharge): &(f64, f64)| Tier {
            until: Energy::from_kwh(until).ok(),
            surcharge: crate::units::per_kwh(surcharge),
        };
        Tiers { blocks: blocks.iter().map(tier).collect(), energy_before: kwh(before) }
    }

    fn noon() -> DateTime<Utc> {
        "2026-01-05T12:00:00Z".parse().unwrap()
    }

    fn request() -> SiteRequest {
        let hours = Horizon::steps(noon(), chrono::TimeDelta::hours(1), 3).unwrap();
        let prices = PriceCurve::from_parts(hours, vec![0.1, 0.2, 0.3]).unwrap();
        let mut request = SiteRequest::new(prices, noon());
        let mut van = Vehicle::new("van", kw(11.0));
        van.arrival = noon().checked_add_signed(chrono::TimeDelta::minutes(10));
        request.devices.push(Device::Vehicle(van));
        request
    }

    #[test]
    fn a_request_survives_its_json() {
        let text = serde_json::to_string(&request()).unwrap();
        assert!(text.contains(r#""kind":"vehicle""#), "{text}");
        assert_eq!(serde_json::from_str::<SiteRequest>(&text).unwrap(), request());
    }

    #[test]
    fn slots_are_cut_where_anything_changes() {
        let mut request = request();
        request.demand_charge = Some(DemandCharge {
            price_per_kw: 1.0,
            peak: kw(0.0),
            window_minutes: 30,
            window_energy: Energy::ZERO,
            periods: Vec::new(),
        });
        let grid = SiteSlots::new(&request);
        let minutes: Vec<f64> = grid.hours.iter().map(|hours| hours * 60.0).collect();
        assert_eq!(minutes, [10.0, 20.0, 30.0, 30.0, 30.0, 30.0, 30.0]);
        assert_eq!(grid.price_slots, [0, 0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn a_forecast_that_ends_early_is_not_zero() {
        let mut request = request();
        let end = noon() + chrono::TimeDelta::hours(2);
        let period = PowerPeriod { start: noon(), end, power: kw(3.0) };
        let forecast = Series::Periods(vec![period]);
        let (name, phases) = ("house".to_owned(), Phase::ALL.to_vec());
        request.devices.push(Device::Load(Load { name, group: None, phases, forecast }));
        let error = SiteProblem::new(request.clone()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the power of \"house\" is not known at 2026-01-05 14:00:00 UTC, where there is a \
             price; give until= or the value"
        );
        request.until = Some(end);
        assert!(SiteProblem::new(request).is_ok());
    }
}

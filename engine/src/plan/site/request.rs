//! What a site is asked to do, and the door through which requests enter.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::site::device::Device;
use crate::plan::site::series::Series;
use crate::prices::curve::PriceCurve;
use crate::units::{Energy, Money, Power, Price};

/// A power that should not be passed, as a mean over each slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The power; where nothing is known there is no limit.
    pub power: Series,
    /// Price of each kWh above the limit; `None` forbids it, and then the
    /// least that nobody can move is above it.
    #[serde(rename = "breach_price_per_kwh")]
    pub breach_price: Option<Price>,
}

/// Devices that share a limit, such as a fuse. Power counts in either
/// direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Name, unlike all others of the site.
    pub name: String,
    /// Group that this one is a part of; `None` is the site itself.
    pub parent: Option<String>,
    /// Limit on the power of all its phases together.
    pub limit: Option<Limit>,
    /// Limit on the power of each phase: amps times volts.
    pub phase_limit: Option<Limit>,
}

/// A price on the highest mean power of the import over windows of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DemandCharge {
    /// Price of each kW of the peak, zero or more.
    #[serde(rename = "price_per_kw")]
    pub price_per_kw: f64,
    /// Peak that is paid for already; only what is above it costs.
    #[serde(rename = "peak_kw")]
    pub peak: Power,
    /// Length of a window in minutes, a whole number of which is a day. Windows
    /// begin at whole multiples of it since midnight in UTC: where clocks are
    /// half an hour off, a window of an hour begins at half past on the wall.
    pub window_minutes: u32,
    /// Energy imported so far in the window that now lies in.
    #[serde(rename = "window_energy_kwh")]
    pub window_energy: Energy,
    /// Periods whose import counts; empty for all time.
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

/// A block of imported energy with a price on top of the price curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    /// Energy at which the block ends, counted with what was imported
    /// before; `None` for the last block.
    #[serde(rename = "until_kwh")]
    pub until: Option<Energy>,
    /// Price on top of the price curve.
    #[serde(rename = "surcharge_per_kwh")]
    pub surcharge: Price,
}

/// Blocks of imported energy, each dearer than the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tiers {
    /// The blocks, the first one first.
    pub blocks: Vec<Tier>,
    /// Energy imported since the count began.
    #[serde(rename = "energy_before_kwh")]
    pub energy_before: Energy,
}

/// A price on the emissions of imported energy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Carbon {
    /// Money per kg, zero or more.
    pub price_per_kg: f64,
    /// Kilograms per kWh over time. Must be known wherever there is a price.
    pub intensity: Vec<CarbonSlot>,
}

/// A period of constant carbon intensity.
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

/// What decides between plans of the same shortfall and, within the money
/// budget, of the same cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Preference {
    /// Energy earlier rather than later.
    #[serde(rename = "earlier")]
    Earlier,
    /// Fewer and smaller steps of the power at the meter.
    #[serde(rename = "smoother")]
    Smoother,
    /// The largest share of a wish that anybody misses is as small as can be.
    #[serde(rename = "fairer")]
    Fairer,
}

/// How hard to search where a choice is either on or off.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effort {
    /// Most nodes of each search.
    pub nodes_max: u32,
    /// Most seconds of each search; with it a plan may differ from run to
    /// run, and then says so.
    pub seconds_max: Option<f64>,
}

impl Default for Effort {
    /// 2,000 nodes, no clock.
    fn default() -> Self {
        Self { nodes_max: 2_000, seconds_max: None }
    }
}

/// The wishes and limits of everything behind one meter, as a caller states
/// them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteRequest {
    /// Price of an imported kWh.
    pub import_prices: PriceCurve,
    /// What an exported kWh earns; `None` earns nothing.
    pub export_prices: Option<PriceCurve>,
    /// The present: the first instant a plan may use.
    pub now: DateTime<Utc>,
    /// First instant that is planned no longer; `None` is the end of prices.
    pub until: Option<DateTime<Utc>>,
    /// Everything behind the meter.
    pub devices: Vec<Device>,
    /// Limits inside the site.
    pub groups: Vec<Group>,
    /// Limit on the power from the grid.
    pub import_limit: Option<Limit>,
    /// Limit on the power into the grid.
    pub export_limit: Option<Limit>,
    /// Price of the peak.
    pub demand_charge: Option<DemandCharge>,
    /// Blocks of imported energy.
    pub tiers: Option<Tiers>,
    /// Price of emissions.
    pub carbon: Option<Carbon>,
    /// What decides between equals, the first one first.
    pub preferences: Vec<Preference>,
    /// What the preferences together may cost.
    #[serde(rename = "preference_budget")]
    pub preference_budget: Money,
    /// How hard to search.
    pub effort: Effort,
}

impl SiteRequest {
    /// A site with these prices and nothing behind the meter. Of equal plans
    /// the earlier one is preferred.
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
            tiers: None,
            carbon: None,
            preferences: vec![Preference::Earlier],
            preference_budget: Money::ZERO,
            effort: Effort::default(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::plan::charge::request::Target;
    use crate::plan::charge::vehicle::Battery;
    use crate::plan::site::device::{
        Device, Discharge, Load, Phase, ShiftableLoad, Solar, StationaryBattery, Vehicle,
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
        Discharge { power_max: kw(power), efficiency: 1.0, soc_min, wear }
    }

    /// A battery without losses, of one power in both directions.
    pub(crate) fn home(power: f64, capacity: f64, soc: f64) -> StationaryBattery {
        StationaryBattery {
            name: "home".to_owned(),
            group: None,
            phases: Phase::ALL.to_vec(),
            power_max: kw(power),
            battery: battery_of(capacity, soc),
            discharge: discharge(power),
            soc_end: None,
            end_value: Price::ZERO,
        }
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

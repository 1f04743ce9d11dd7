//! Plan of a site: slots, devices, limits, costs, baseline and certificate.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::heat::planned_slot::DegreeHours;
use crate::plan::heat::request::HeatMode;
use crate::plan::interval::Interval;
use crate::plan::search_status::SearchStatus;
use crate::plan::site::certificate::SiteCertificate;
use crate::plan::site::device::Phase;
use crate::plan::stability::stay_close::Stability;
use crate::units::{Energy, Money, Percent, Power, Price, Temperature};

/// Slot of a plan, with the prices and energies at the meter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SiteSlot {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Price per imported kWh.
    #[serde(rename = "import_price_per_kwh")]
    pub import_price: Price,
    /// Revenue per exported kWh.
    #[serde(rename = "export_price_per_kwh")]
    pub export_price: Price,
    /// Emissions per imported kWh in kg; zero if the request has none.
    pub carbon_kg_per_kwh: f64,
    /// Energy from the grid.
    #[serde(rename = "import_kwh")]
    pub import: Energy,
    /// Energy into the grid.
    #[serde(rename = "export_kwh")]
    pub export: Energy,
}

/// Cause of a shortfall.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cause", deny_unknown_fields)]
pub enum Cause {
    /// The device cannot meet the target by its deadline, even alone.
    #[serde(rename = "own_limits")]
    OwnLimits,
    /// The target lies above the charge limit of the battery.
    #[serde(rename = "charge_limit")]
    ChargeLimit,
    /// Prices are missing before the deadline; with them the device alone could come closer to the
    /// target.
    #[serde(rename = "no_price")]
    NoPrice,
    /// A shared limit was reached.
    #[serde(rename = "limit")]
    Limit {
        /// Name of the limit.
        name: String,
        /// Phase of the limit, if it is one per phase.
        phase: Option<Phase>,
    },
    /// The device may not charge from the grid, and in too few slots the site imports nothing.
    #[serde(rename = "no_surplus")]
    NoSurplus,
    /// Devices with a higher priority use the capacity of a shared limit.
    #[serde(rename = "priority")]
    Priority,
}

/// Outcome of one wish: an energy target, a target of state of charge, a drive, a period of wanted
/// power, or a run of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct WishOutcome {
    /// The deadline; `None` is the end of the plan or of the session. Of a drive it is the start.
    pub by: Option<DateTime<Utc>>,
    /// Energy wanted by then, at the plug.
    #[serde(rename = "wanted_kwh")]
    pub wanted: Energy,
    /// Energy delivered by then, at the plug.
    #[serde(rename = "delivered_kwh")]
    pub delivered: Energy,
    /// Energy missing at the deadline, at the plug.
    #[serde(rename = "shortfall_kwh")]
    pub shortfall: Energy,
    /// Instant at which the target is reached, in time or late; `None` if never.
    pub reached_at: Option<DateTime<Utc>>,
    /// Causes of the shortfall; empty if there is none.
    pub causes: Vec<Cause>,
}

/// Period of constant prices, temperatures outdoors and limits of a heat unit on a site.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RoomSlot {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Outdoor temperature.
    #[serde(rename = "outdoor_celsius")]
    pub outdoor: Temperature,
    /// Heat from elsewhere; negative is drawn.
    #[serde(rename = "gain_kw")]
    pub gain: Power,
    /// Heat moved per electrical energy.
    pub cop: f64,
    /// Electrical energy used, at constant power.
    #[serde(rename = "used_kwh")]
    pub used: Energy,
    /// Temperature at the end.
    #[serde(rename = "temperature_celsius")]
    pub temperature: Temperature,
    /// Lowest temperature of the band at the end: the higher one of those before and after it.
    #[serde(rename = "temperature_min_celsius")]
    pub temperature_min: Temperature,
    /// Highest temperature of the band at the end: the lower one of those before and after it, but
    /// not below `temperature_min`.
    #[serde(rename = "temperature_max_celsius")]
    pub temperature_max: Temperature,
}

/// Temperatures of the room or tank of a heat unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct HeatOutcome {
    /// Direction of the unit.
    pub mode: HeatMode,
    /// Temperature at the start.
    #[serde(rename = "temperature_start_celsius")]
    pub temperature_start: Temperature,
    /// Slots that follow each other from the start of the plan to its end: those of the site, and time
    /// without a price, in which the unit is off.
    pub slots: Vec<RoomSlot>,
    /// Heat moved.
    #[serde(rename = "heat_kwh")]
    pub heat: Energy,
    /// Value of the heat stored at the end above that at the start.
    pub stored_value: Money,
    /// Degree-hours outside the band. Zero if the band is held throughout.
    pub discomfort: DegreeHours,
}

/// Plan of one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DevicePlan {
    /// Name of the device.
    pub name: String,
    /// Kind of the device, such as `vehicle`.
    pub kind: String,
    /// Mean power in each slot: positive draws, negative feeds.
    #[serde(rename = "power_kw")]
    pub power: Vec<Power>,
    /// Highest power that it could draw in each slot; for a solar system, that it could feed.
    #[serde(rename = "power_max_kw")]
    pub power_max: Vec<Power>,
    /// State of charge at the start of each slot and at the end of the last one; empty if the
    /// battery is unknown.
    #[serde(rename = "soc_percent")]
    pub soc: Vec<Percent>,
    /// Periods of constant power other than zero, in time order.
    pub intervals: Vec<Interval>,
    /// Energy drawn.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// Energy fed, as a positive number.
    #[serde(rename = "fed_kwh")]
    pub fed: Energy,
    /// One outcome per wish: energy targets, then targets of state of charge, then drives, then
    /// periods of wanted power. What a drive lacks is charged elsewhere, on the way.
    pub wishes: Vec<WishOutcome>,
    /// Sum of the shortfalls at the deadlines.
    #[serde(rename = "shortfall_kwh")]
    pub shortfall: Energy,
    /// Temperatures of a heat unit; `None` for other devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heat: Option<HeatOutcome>,
}

/// Outcome of a limit by slot: the limit, the power and the shadow price.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LimitOutcome {
    /// `import`, `export`, or the name of the group.
    pub name: String,
    /// Phase, if it is a limit per phase.
    pub phase: Option<Phase>,
    /// The limit in each slot; `None` where there is none.
    #[serde(rename = "limit_kw")]
    pub limit: Vec<Option<Power>>,
    /// Mean power in each slot; negative where a group feeds.
    #[serde(rename = "power_kw")]
    pub power: Vec<Power>,
    /// Cost saved per additional kWh of the limit, in each slot; zero or more.
    #[serde(rename = "shadow_price_per_kwh")]
    pub shadow_price: Vec<Price>,
}

/// Slot in which a limit is exceeded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Breach {
    /// `import`, `export`, or the name of the group.
    pub name: String,
    /// Phase, if it is a limit per phase.
    pub phase: Option<Phase>,
    /// First instant of the slot.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// The limit.
    #[serde(rename = "limit_kw")]
    pub limit: Power,
    /// Power above the limit.
    #[serde(rename = "excess_kw")]
    pub excess: Power,
    /// Energy above the limit.
    #[serde(rename = "excess_kwh")]
    pub energy: Energy,
    /// True for a limit without a price, which fixed loads exceed.
    pub is_hard: bool,
}

/// Parts of the cost of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Imported energy at the price curve.
    pub energy: Money,
    /// Exported energy; negative if it earns money.
    pub export: Money,
    /// Peaks of import and export above those that are paid for already.
    pub demand: Money,
    /// Surcharges of the blocks of energy.
    pub tiers: Money,
    /// Emissions of imported energy at their price.
    pub carbon: Money,
    /// Wear of batteries that discharge.
    pub wear: Money,
    /// Energy above limits that have a price, and stored energy outside of soft bounds.
    pub breach: Money,
}

impl Costs {
    /// Sum of all parts.
    #[must_use]
    pub fn total(&self) -> Money {
        let Self { energy, export, demand, tiers, carbon, wear, breach } = *self;
        energy + export + demand + tiers + carbon + wear + breach
    }
}

/// Baseline: each vehicle at full power from plug-in, batteries idle, shiftable loads as early as
/// possible, heat units on a thermostat, regardless of the limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SiteBaseline {
    /// Parts of its cost.
    pub costs: Costs,
    /// Sum of the parts.
    pub cost: Money,
    /// Value of the energy stored at the end.
    pub stored_value: Money,
    /// Highest mean power of the import in a slot.
    #[serde(rename = "import_max_kw")]
    pub import_max: Power,
    /// Slots in which it exceeds a limit.
    pub breaches: Vec<Breach>,
}

impl SiteBaseline {
    /// Emissions in kg, as far as their price tells: `None` where emissions cost nothing.
    #[must_use]
    pub fn carbon_kg(&self, price_per_kg: f64) -> Option<f64> {
        (price_per_kg > 0.0).then(|| self.costs.carbon.as_amount() / price_per_kg)
    }
}

/// Plan of a site: of those with the least shortfall the cheapest, or the one that is nearest to a
/// plan before within a budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SitePlan {
    /// The slots, in time order.
    pub slots: Vec<SiteSlot>,
    /// One plan per device, in the order of the request.
    pub devices: Vec<DevicePlan>,
    /// All limits, those of the meter first.
    pub limits: Vec<LimitOutcome>,
    /// Slots in which a limit is exceeded.
    pub breaches: Vec<Breach>,
    /// Parts of the cost.
    pub costs: Costs,
    /// Sum of the parts.
    pub cost: Money,
    /// Value of the energy stored at the end, not part of the cost. Of rooms and tanks the heat above
    /// that at the start counts.
    pub stored_value: Money,
    /// Sum of the shortfalls of all devices at their deadlines.
    #[serde(rename = "shortfall_kwh")]
    pub shortfall: Energy,
    /// Highest mean import power over the windows of the demand charge, at least the peak that is
    /// paid for already; `None` without a demand charge.
    #[serde(rename = "peak_kw")]
    pub peak: Option<Power>,
    /// Highest mean export power over the windows of the demand charge on the export, at least the
    /// peak that is paid for already; `None` without that charge.
    #[serde(rename = "export_peak_kw", default, skip_serializing_if = "Option::is_none")]
    pub export_peak: Option<Power>,
    /// Emissions of the imported energy in kg.
    pub carbon_kg: f64,
    /// Baseline of the request.
    pub baseline: SiteBaseline,
    /// Certificate of the cost.
    pub certificate: SiteCertificate,
    /// Termination of the search.
    pub status: SearchStatus,
    /// True if every run gives this plan: no time limit ended a search.
    pub is_reproducible: bool,
    /// Hours from now to the last deadline without an import price, or without an export price if
    /// the request has any; see [`crate::plan::charge::gaps()`].
    pub unpriced_hours: f64,
    /// Distance from the plan before; `None` if the request has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stability: Option<Stability>,
}

impl SitePlan {
    /// Cost of the baseline minus cost of the plan, each less the value of the energy stored at the
    /// end. It is negative if the plan costs more, for example because it keeps limits that the
    /// baseline exceeds.
    #[must_use]
    pub fn savings(&self) -> Money {
        let baseline = self.baseline.cost - self.baseline.stored_value;
        baseline - (self.cost - self.stored_value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::site::device::Device;
    use crate::plan::site::planner::plan_site;
    use crate::plan::site::problem::SiteProblem;
    use crate::plan::site::request::tests::{home, site, van};
    use crate::units::{money, per_kwh};

    #[test]
    fn every_part_counts_once_in_the_total() {
        // Powers of two: each sum of some of them is another number.
        let costs = Costs {
            energy: money(1.0),
            export: money(-2.0),
            demand: money(4.0),
            tiers: money(8.0),
            carbon: money(16.0),
            wear: money(32.0),
            breach: money(64.0),
        };
        assert_eq!(costs.total(), money(123.0));
    }

    #[test]
    fn what_is_left_in_the_battery_is_no_saving() {
        // At once, 4 kWh cost 2.00 at 0.50; planned they cost 0.40 at 0.10.
        let van = Device::Vehicle(van("van", 4.0, 4.0));
        let mut home = home(2.0, 10.0, 0.0);
        // A stored kWh is worth 0.15, and two hours of 2 kW, bought at 0.10, gain 0.05 a kWh.
        home.end_value = per_kwh(0.15);
        let request = site(&[50, 10, 10], &[van, Device::Battery(home)]);
        let plan = plan_site(&SiteProblem::new(request).unwrap());
        assert!((plan.baseline.cost.as_amount() - 2.0).abs() < 1e-9);
        assert!((plan.cost.as_amount() - 0.8).abs() < 1e-9);
        assert!((plan.stored_value.as_amount() - 0.6).abs() < 1e-9);
        assert!((plan.savings().as_amount() - 1.8).abs() < 1e-9);
    }

    #[test]
    fn a_plan_survives_its_json() {
        let request = site(&[50, 10], &[Device::Vehicle(van("van", 4.0, 9.0))]);
        let plan = plan_site(&SiteProblem::new(request).unwrap());
        let text = serde_json::to_string(&plan).unwrap();
        assert!(text.contains(r#""cause":"own_limits""#), "{text}");
        assert_eq!(serde_json::from_str::<SitePlan>(&text).unwrap(), plan);
    }
}

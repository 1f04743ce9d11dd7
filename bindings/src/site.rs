//! Plans of everything behind one meter.
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, StringArray, TimestampMicrosecondArray};
use chrono::{DateTime, TimeDelta, Utc};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use slackwater_engine::area::StatedHeatUnit;
use slackwater_engine::plan::charge::Gap;
use slackwater_engine::plan::record::SavedRun;
use slackwater_engine::plan::site::{
    Device, DeviceForgone, Phase, PreviousSite, SiteRequest, explain, forgone, gaps, stock_used,
};
use slackwater_engine::plan::stability::Budget;
use slackwater_engine::plan::{questions, site as engine};
use slackwater_engine::units::{Money, Percent, Power, Price};

use crate::arrow::{Table, utc};
use crate::doubts::{warn_of_each, warn_of_values};
use crate::error::Refused;
use crate::heat::word_of;
use crate::interrupt;
use crate::plan::{Interval, NEGATIVE_UNUSED, NO_PRICE};
use crate::prices::Prices;
use crate::provenance::SourceShare;
use crate::record;
use crate::saved::Terms;
use crate::site_request::{
    CarbonArgument, DemandChargeArgument, DeviceArgument, GroupArgument, LimitArgument,
    TiersArgument, request,
};
use crate::steady;
use crate::time::{Instant, time_zone};
use crate::verification::Verification;

record! {
    /// A period in which nothing changes, with what passes the meter.
    pub(crate) struct SiteSlot {
        /// First instant, in UTC.
        start: DateTime<Utc>,
        /// First instant after the slot, in UTC.
        end: DateTime<Utc>,
        /// Price of an imported kWh over the slot, in units of the currency.
        import_price_per_kwh: f64,
        /// Revenue of an exported kWh over the slot, in units of the currency; 0 if nothing is
        /// paid.
        export_price_per_kwh: f64,
        /// Emissions of an imported kWh over the slot, in kg; 0 if no intensity was given.
        carbon_kg_per_kwh: f64,
        /// Energy from the grid over the slot, in kWh; 0 or more.
        import_kwh: f64,
        /// Energy into the grid over the slot, in kWh, as a positive number.
        export_kwh: f64,
    }

    /// Why a wish is not met.
    pub(crate) struct SiteCause {
        /// The cause: `own_limits`, `no_price`, `charge_limit`, `limit`, `no_surplus` or
        /// `priority`.
        code: String,
        /// Name of the limit that was reached; `None` for other causes.
        limit: Option<String>,
        /// Phase of that limit, such as `L1`; `None` if it is not one of a phase.
        phase: Option<String>,
    }

    /// Outcome of one wish of a device.
    pub(crate) struct SiteWish {
        /// The deadline, in UTC; `None` is the end of the plan or of the session.
        by: Option<DateTime<Utc>>,
        /// Energy wanted by the deadline, in kWh at the plug.
        wanted_kwh: f64,
        /// Energy delivered by the deadline, in kWh at the plug.
        delivered_kwh: f64,
        /// Energy missing at the deadline, in kWh at the plug; 0 if the wish is met.
        shortfall_kwh: f64,
        /// Instant at which the wanted energy is there, in time or late, in UTC; `None` if never.
        reached_at: Option<DateTime<Utc>>,
        /// Causes of the shortfall; empty if there is none.
        causes: Vec<SiteCause>,
    }

    /// A period of constant prices, outdoor temperature and limits of a room or tank of a site.
    pub(crate) struct RoomSlot {
        /// First instant, in UTC.
        start: DateTime<Utc>,
        /// First instant after the slot, in UTC.
        end: DateTime<Utc>,
        /// Outdoor temperature, or that around a tank, in °C.
        outdoor_celsius: f64,
        /// Heat from elsewhere over the slot, in kW; negative is drawn.
        gain_kw: f64,
        /// Heat moved per electrical energy (coefficient of performance).
        cop: f64,
        /// Electrical energy used over the slot, in kWh, at constant power.
        used_kwh: f64,
        /// Temperature at the end of the slot, in °C.
        temperature_celsius: f64,
        /// Lowest temperature of the band at the end of the slot, in °C: the higher one of those
        /// before and after that instant.
        temperature_min_celsius: f64,
        /// Highest temperature of the band at the end of the slot, in °C: the lower one of those
        /// before and after that instant, but not below `temperature_min_celsius`.
        temperature_max_celsius: f64,
    }

    /// Temperatures of the room or tank of a heat unit.
    pub(crate) struct HeatOutcome {
        /// Direction of the unit: `heat` or `cool`.
        mode: String,
        /// Temperature at the start, in °C.
        temperature_start_celsius: f64,
        /// Heat moved, in kWh.
        heat_kwh: f64,
        /// Value of the heat stored at the end above that at the start, in units of the currency.
        stored_value: f64,
        /// Degree-hours below the band, in °C·h; 0 if it is held.
        below_celsius_hours: f64,
        /// Degree-hours above the band, in °C·h; 0 if it is held.
        above_celsius_hours: f64,
        /// Slots that follow each other: those of the site, and time without a price, in which the
        /// unit is off.
        slots: Vec<RoomSlot>,
    }

    /// Plan of one device.
    pub(crate) struct DevicePlan {
        /// Name of the device.
        name: String,
        /// Kind of the device, such as `vehicle` or `solar`.
        kind: String,
        /// Mean power over each slot, in kW: positive draws, negative feeds.
        power_kw: Vec<f64>,
        /// Highest power that it could draw over each slot, in kW; for solar power, that it could
        /// feed.
        power_max_kw: Vec<f64>,
        /// State of charge at the start of each slot and at the end of the last one, in percent:
        /// one value more than slots. Empty if no battery is known.
        soc_percent: Vec<f64>,
        /// Periods of constant power other than zero, in time order.
        intervals: Vec<Interval>,
        /// Energy drawn over the plan, in kWh; 0 or more.
        energy_kwh: f64,
        /// Energy fed over the plan, in kWh, as a positive number.
        fed_kwh: f64,
        /// One outcome per wish: energy targets, then targets of state of charge, then drives, then
        /// periods of wanted power.
        wishes: Vec<SiteWish>,
        /// Sum of what is missing at the deadlines, in kWh at the plug.
        shortfall_kwh: f64,
        /// Temperatures and degree-hours of a heat unit; `None` for other devices.
        heat: Option<HeatOutcome>,
    }

    /// A limit over time: what it allows, what passes, what more would save.
    pub(crate) struct SiteLimit {
        /// `import`, `export`, or the name of the group.
        name: String,
        /// Phase, such as `L1`; `None` if it is not a limit of one phase.
        phase: Option<String>,
        /// The limit over each slot, in kW; `None` where there is none.
        limit_kw: Vec<Option<f64>>,
        /// Mean power over each slot, in kW; negative where a group feeds.
        power_kw: Vec<f64>,
        /// Cost saved by one more kWh of the limit in each slot, in units of the currency; 0 or
        /// more.
        shadow_price_per_kwh: Vec<f64>,
    }

    /// A slot in which a limit is passed.
    pub(crate) struct SiteBreach {
        /// `import`, `export`, or the name of the group.
        name: String,
        /// Phase, such as `L1`; `None` if it is not a limit of one phase.
        phase: Option<String>,
        /// First instant of the slot, in UTC.
        start: DateTime<Utc>,
        /// First instant after the slot, in UTC.
        end: DateTime<Utc>,
        /// The limit over the slot, in kW.
        limit_kw: f64,
        /// Mean power above the limit over the slot, in kW; above 0.
        excess_kw: f64,
        /// Energy above the limit over the slot, in kWh; above 0.
        excess_kwh: f64,
        /// True for a limit without a price, which fixed loads pass.
        is_hard: bool,
    }

    /// The parts of a cost; they add up to it.
    pub(crate) struct SiteCosts {
        /// Imported energy at the prices to buy at, in units of the currency.
        energy: f64,
        /// Exported energy, in units of the currency; negative where it earns.
        export: f64,
        /// Demand charges for the peaks above those that are paid for already, of import and export.
        demand: f64,
        /// Surcharges of the blocks of imported energy.
        tiers: f64,
        /// Emissions of the imported energy at their price.
        carbon: f64,
        /// Wear of batteries that discharge.
        wear: f64,
        /// Energy above limits that have a price, and stored energy outside of soft bounds.
        breach: f64,
    }

    /// The same devices without a plan.
    pub(crate) struct SiteBaseline {
        /// Parts of the cost.
        costs: SiteCosts,
        /// Sum of the parts, in units of the currency.
        cost: f64,
        /// Worth of what is stored at the end; not part of the cost.
        stored_value: f64,
        /// Highest mean power of the import over a slot, in kW.
        import_max_kw: f64,
        /// Slots in which a limit is passed, in time order.
        breaches: Vec<SiteBreach>,
    }

    /// Cost of a plan, the bound that no plan can undercut, and the gap.
    pub(crate) struct SiteCertificate {
        /// Cost of the plan less the value stored at the end, in units of the currency.
        cost: f64,
        /// Lower bound on that cost of any plan with no more shortfall.
        bound: f64,
        /// Cost minus bound: the most that another plan can save.
        gap: f64,
        /// Most that the preferences may have added to the cost.
        allowance: f64,
        /// Difference between cost and bound that counts as rounding: 1e-7 of all payments, and a
        /// milliwatt-hour at the highest price.
        tolerance: f64,
        /// True if cost and bound are equal up to `tolerance` and `allowance`.
        is_proved: bool,
        /// Lower bound by the duals of the plan alone, which `SitePlan.verify` computes anew.
        bound_by_duals: f64,
        /// Bound of the solver's search with binaries, where it is higher than `bound_by_duals`;
        /// `None` if it is not. Nothing but that search proves it.
        bound_by_search: Option<f64>,
    }

    /// A period in which a device does one thing for one reason, or that is not used.
    pub(crate) struct SiteReason in SiteReasons {
        /// Name of the device; `None` for time without a price.
        device: Option<String>,
        /// First instant of the period, in UTC.
        start: DateTime<Utc>,
        /// First instant after the period, in UTC.
        end: DateTime<Utc>,
        /// Energy over the period, in kWh: positive is drawn, negative is fed. For solar power that
        /// is turned down, the energy lost.
        energy_kwh: f64,
        /// Highest price of the period, per kWh: of import with its emissions, or of export in
        /// slots that only export; `None` for time without a price.
        price_max_per_kwh: Option<f64>,
        /// The reason, such as `deadline`, `limit`, `peak`, `export_peak`, `solar_surplus`,
        /// `priority`, `soft_bound`, `power_wanted` or `no_price`; of heat units also `hold`,
        /// `ahead` or `recover`.
        code: String,
        /// Next deadline of the device, in UTC; `None` if it has none.
        deadline: Option<DateTime<Utc>>,
        /// Name of the limit that causes the reason; `None` if none does.
        limit: Option<String>,
        /// Phase of that limit; `None` if it is not one of a phase.
        limit_phase: Option<String>,
        /// Start of the cheaper slot in which that limit binds, in UTC; `None` if none does.
        limit_at: Option<DateTime<Utc>>,
        /// Cost saved there by one more kWh of the limit; `None` if no limit causes the reason.
        shadow_price_per_kwh: Option<f64>,
        /// The reason as a sentence, with times on the wall clock that `explain` was asked for.
        sentence: String,
    }
}

impl SiteCosts {
    fn new(costs: &engine::Costs) -> Self {
        Self {
            energy: costs.energy.as_amount(),
            export: costs.export.as_amount(),
            demand: costs.demand.as_amount(),
            tiers: costs.tiers.as_amount(),
            carbon: costs.carbon.as_amount(),
            wear: costs.wear.as_amount(),
            breach: costs.breach.as_amount(),
        }
    }
}

impl SiteBreach {
    fn all(breaches: &[engine::Breach]) -> Vec<Self> {
        let breach = |breach: &engine::Breach| Self {
            name: breach.name.clone(),
            phase: breach.phase.map(phase_name),
            start: breach.start,
            end: breach.end,
            limit_kw: breach.limit.as_kw(),
            excess_kw: breach.excess.as_kw(),
            excess_kwh: breach.energy.as_kwh(),
            is_hard: breach.is_hard,
        };
        breaches.iter().map(breach).collect()
    }
}

impl SiteCause {
    fn new(cause: &engine::Cause) -> Self {
        let bare = |code: &str| Self { code: code.to_owned(), limit: None, phase: None };
        match cause {
            engine::Cause::OwnLimits => bare("own_limits"),
            engine::Cause::ChargeLimit => bare("charge_limit"),
            engine::Cause::NoPrice => bare(NO_PRICE),
            engine::Cause::NoSurplus => bare("no_surplus"),
            engine::Cause::Priority => bare("priority"),
            engine::Cause::Limit { name, phase } => {
                let phase = phase.map(phase_name);
                Self { limit: Some(name.clone()), phase, ..bare("limit") }
            }
        }
    }
}

fn phase_name(phase: Phase) -> String {
    phase.as_str().to_owned()
}

fn powers(powers: &[Power]) -> Vec<f64> {
    powers.iter().map(|power| power.as_kw()).collect()
}

fn device(device: &engine::DevicePlan) -> DevicePlan {
    let wish = |wish: &engine::WishOutcome| SiteWish {
        by: wish.by,
        wanted_kwh: wish.wanted.as_kwh(),
        delivered_kwh: wish.delivered.as_kwh(),
        shortfall_kwh: wish.shortfall.as_kwh(),
        reached_at: wish.reached_at,
        causes: wish.causes.iter().map(SiteCause::new).collect(),
    };
    DevicePlan {
        name: device.name.clone(),
        kind: device.kind.clone(),
        power_kw: powers(&device.power),
        power_max_kw: powers(&device.power_max),
        soc_percent: device.soc.iter().copied().map(Percent::as_percent).collect(),
        intervals: device.intervals.iter().map(Interval::new).collect(),
        energy_kwh: device.energy.as_kwh(),
        fed_kwh: device.fed.as_kwh(),
        wishes: device.wishes.iter().map(wish).collect(),
        shortfall_kwh: device.shortfall.as_kwh(),
        heat: device.heat.as_ref().map(heat),
    }
}

impl HeatOutcome {
    /// Statements of the room of an area, for verification; cost and energy are those of its unit.
    pub(crate) fn state(&self) -> StatedHeatUnit {
        StatedHeatUnit {
            used_kwh: self.slots.iter().map(|slot| slot.used_kwh).collect(),
            temperature_celsius: self.slots.iter().map(|slot| slot.temperature_celsius).collect(),
            below_celsius_hours: self.below_celsius_hours,
            above_celsius_hours: self.above_celsius_hours,
            ..StatedHeatUnit::default()
        }
    }
}

/// Temperatures of a room of the engine.
pub(crate) fn heat(outcome: &engine::HeatOutcome) -> HeatOutcome {
    let slot = |slot: &engine::RoomSlot| RoomSlot {
        start: slot.start,
        end: slot.end,
        outdoor_celsius: slot.outdoor.as_celsius(),
        gain_kw: slot.gain.as_kw(),
        cop: slot.cop,
        used_kwh: slot.used.as_kwh(),
        temperature_celsius: slot.temperature.as_celsius(),
        temperature_min_celsius: slot.temperature_min.as_celsius(),
        temperature_max_celsius: slot.temperature_max.as_celsius(),
    };
    HeatOutcome {
        mode: word_of(outcome.mode).to_owned(),
        temperature_start_celsius: outcome.temperature_start.as_celsius(),
        heat_kwh: outcome.heat.as_kwh(),
        stored_value: outcome.stored_value.as_amount(),
        below_celsius_hours: outcome.discomfort.below,
        above_celsius_hours: outcome.discomfort.above,
        slots: outcome.slots.iter().map(slot).collect(),
    }
}

/// Plan of a site with its request, prices and currency; see `slackwater.SitePlan`.
#[pyclass(frozen, subclass, module = "slackwater._engine")]
#[derive(Debug, Clone)]
pub(crate) struct SitePlan {
    run: Arc<SavedRun<SiteRequest>>,
    terms: Terms,
}

impl SitePlan {
    /// A plan on the terms of its prices.
    pub(crate) fn new(run: SavedRun<SiteRequest>, terms: Terms) -> Self {
        Self { run: Arc::new(run), terms }
    }

    /// The request and the plan, to be evaluated under other facts.
    pub(crate) fn evaluated(&self) -> (&SiteRequest, &engine::SitePlan) {
        (self.run.request(), self.run.plan())
    }

    fn intended(&self) -> &engine::SitePlan {
        self.run.plan()
    }

    /// Revenue that vehicles leave at negative prices.
    fn forgone(&self) -> Vec<DeviceForgone> {
        forgone(self.run.request(), self.intended())
    }

    /// The plan of the same request near another plan.
    pub(crate) fn plan_near(
        &self,
        py: Python<'_>,
        previous: &Self,
        budget: Budget,
    ) -> Result<Self, Refused> {
        let previous = Some(PreviousSite::new(previous.intended(), budget));
        let request = SiteRequest { previous, ..self.run.request().clone() };
        let run = interrupt::run(py, None, move |_| SavedRun::new((), request))??;
        Ok(Self::new(run, self.terms.clone()))
    }

    /// The text of the saved plan.
    pub(crate) fn to_json(&self) -> String {
        self.terms.to_json(SavedRun::clone(&self.run))
    }
}

#[pymethods]
impl SitePlan {
    /// Makes the class of Python, which takes prices beside the plan.
    #[new]
    #[pyo3(signature = (native, *_rest: "object"))]
    fn from_native(native: &Self, _rest: &Bound<'_, PyTuple>) -> Self {
        native.clone()
    }

    /// First instant that the plan could use, in UTC.
    #[getter]
    fn now(&self) -> DateTime<Utc> {
        self.run.request().now
    }

    #[getter(_import_prices)]
    fn prices(&self) -> Prices {
        self.terms.import(self.run.request().import_prices.clone())
    }

    #[getter(_export_prices)]
    fn export_prices(&self) -> Option<Prices> {
        self.run.request().export_prices.clone().map(|curve| self.terms.export(curve))
    }

    /// Cost of the site: the sum of :attr:`costs`.
    #[getter]
    fn cost(&self) -> f64 {
        self.intended().cost.as_amount()
    }

    /// Energy, export (negative where it earns), demand, tiers, carbon, wear, breach.
    #[getter]
    fn costs(&self) -> SiteCosts {
        SiteCosts::new(&self.intended().costs)
    }

    /// Worth of what is stored at the end; not part of the cost.
    #[getter]
    fn stored_value(&self) -> f64 {
        self.intended().stored_value.as_amount()
    }

    /// Sum of what is missing at all deadlines, in kWh at the plug.
    #[getter]
    fn shortfall_kwh(&self) -> f64 {
        self.intended().shortfall.as_kwh()
    }

    /// Peak of the import that a demand charge counts; ``None`` without one.
    #[getter]
    fn peak_kw(&self) -> Option<f64> {
        self.intended().peak.map(Power::as_kw)
    }

    /// Peak of the export that a demand charge on it counts; ``None`` without one.
    #[getter]
    fn export_peak_kw(&self) -> Option<f64> {
        self.intended().export_peak.map(Power::as_kw)
    }

    /// Emissions of the imported energy in kg; 0 if no intensity was given.
    #[getter]
    fn carbon_kg(&self) -> f64 {
        self.intended().carbon_kg
    }

    /// Emissions of the baseline in kg; ``None`` where they have no price.
    #[getter]
    fn baseline_carbon_kg(&self) -> Option<f64> {
        let carbon = self.run.request().carbon.as_ref()?;
        self.intended().baseline.carbon_kg(carbon.price_per_kg)
    }

    /// Cost of the baseline minus the cost; negative if limits made the plan more expensive.
    ///
    /// Stored energy of the start that is sold or used counts as savings, less its value at
    /// ``end_value_per_kwh``: :attr:`stock_used_kwh` tells how much that is.
    #[getter]
    fn savings(&self) -> f64 {
        self.intended().savings().as_amount()
    }

    /// Energy at negative prices that vehicles do not buy, in kWh.
    ///
    /// They may not charge beyond their targets (``fill_when_negative=False``, or no battery). It is
    /// what limits of the site leave them, and of the battery the room up to its charge limit.
    #[getter]
    fn forgone_kwh(&self) -> f64 {
        self.forgone().iter().map(|one| one.forgone.energy.as_kwh()).sum::<f64>() + 0.0
    }

    /// Money that :attr:`forgone_kwh` would earn at most, in units of the currency.
    #[getter]
    fn forgone_revenue(&self) -> f64 {
        self.forgone().iter().map(|one| one.forgone.revenue.as_amount()).sum::<f64>() + 0.0
    }

    /// Stored energy of the start that is not there at the end, in kWh: it was sold or used.
    ///
    /// Of batteries and of vehicles that discharge, without what is driven with. What it saves is a
    /// part of :attr:`savings`, less its value at ``end_value_per_kwh``. A target for the end keeps
    /// it.
    #[getter]
    fn stock_used_kwh(&self) -> f64 {
        stock_used(self.run.request(), self.intended()).as_kwh()
    }

    /// Time before the last deadline without a price, never used, in hours.
    ///
    /// Without a deadline it ends with ``until``, or with the last price. With
    /// ``export_prices``, time without one of the two prices counts.
    #[getter]
    fn unpriced_hours(&self) -> f64 {
        self.intended().unpriced_hours
    }

    /// Energy imported at the prices of each source, in the order of the layers.
    ///
    /// Prices without layers are one known source, ``"prices"``.
    #[getter]
    fn sources(&self) -> Result<Vec<SourceShare>, Refused> {
        let slots = self.intended().slots.iter();
        let bought = slots.map(|slot| (slot.start, slot.import, slot.import_price));
        Ok(SourceShare::all(questions::shares(&self.prices().layered()?, bought)))
    }

    /// Energy exported at the prices of each source, with its revenue.
    #[getter]
    fn export_sources(&self) -> Result<Vec<SourceShare>, Refused> {
        let Some(prices) = self.export_prices() else { return Ok(Vec::new()) };
        let slots = self.intended().slots.iter();
        let sold = slots.map(|slot| (slot.start, slot.export, slot.export_price));
        Ok(SourceShare::all(questions::shares(&prices.layered()?, sold)))
    }

    /// How the search ended.
    ///
    /// ``"optimal"`` comes with a proof; where the search was one of whole
    /// numbers, that proof is the solver's. After
    /// ``"limit_reached"`` or ``"time_reached"`` the gap says what may be
    /// left. After ``"solver_failed"``, or ``"bound_above_cost"`` where the
    /// solver contradicts itself, the plan keeps all limits, and cheaper
    /// plans may exist.
    #[getter]
    fn status(&self) -> &'static str {
        self.intended().status.as_str()
    }

    /// Whether every run gives this plan: no clock ended the search.
    #[getter]
    fn is_reproducible(&self) -> bool {
        self.intended().is_reproducible
    }

    /// How close the plan was kept to the one before; ``None`` if it was not.
    #[getter]
    fn stability(&self) -> Option<steady::Stability> {
        self.intended().stability.as_ref().map(steady::Stability::new)
    }

    /// Import, export and prices, slot by slot.
    #[getter]
    fn slots(&self) -> Vec<SiteSlot> {
        let slot = |slot: &engine::SiteSlot| SiteSlot {
            start: slot.start,
            end: slot.end,
            import_price_per_kwh: slot.import_price.as_per_kwh(),
            export_price_per_kwh: slot.export_price.as_per_kwh(),
            carbon_kg_per_kwh: slot.carbon_kg_per_kwh,
            import_kwh: slot.import.as_kwh(),
            export_kwh: slot.export.as_kwh(),
        };
        self.intended().slots.iter().map(slot).collect()
    }

    /// Plans of the devices, in the order they were given.
    #[getter]
    fn devices(&self) -> Vec<DevicePlan> {
        self.intended().devices.iter().map(device).collect()
    }

    /// All limits with the power through them and their shadow prices.
    #[getter]
    fn limits(&self) -> Vec<SiteLimit> {
        let limit = |limit: &engine::LimitOutcome| SiteLimit {
            name: limit.name.clone(),
            phase: limit.phase.map(phase_name),
            limit_kw: limit.limit.iter().map(|kw| kw.map(Power::as_kw)).collect(),
            power_kw: powers(&limit.power),
            shadow_price_per_kwh: limit.shadow_price.iter().map(|p| p.as_per_kwh()).collect(),
        };
        self.intended().limits.iter().map(limit).collect()
    }

    /// List all limits over time, one row per limit and slot.
    ///
    /// Returns:
    ///     A table with ``name``, ``phase`` (null if it is not a limit of one phase), ``start``,
    ///     ``end`` (in UTC), ``limit_kw`` (null where there is none), ``power_kw`` (mean power of
    ///     the slot; negative where a group feeds) and ``shadow_price_per_kwh``.
    fn limits_table(&self) -> Result<Table, Refused> {
        let plan = self.intended();
        let rows = || {
            let slots = plan.slots.iter().enumerate();
            plan.limits.iter().flat_map(move |limit| slots.clone().map(move |slot| (limit, slot)))
        };
        let times = |of: fn(&engine::SiteSlot) -> DateTime<Utc>| -> ArrayRef {
            let micros = rows().map(|(_, (_, slot))| of(slot).timestamp_micros());
            Arc::new(utc(TimestampMicrosecondArray::from_iter_values(micros)))
        };
        let numbers = |of: fn(&engine::LimitOutcome, usize) -> Option<f64>| -> ArrayRef {
            let values = rows().map(|(limit, (at, _))| of(limit, at));
            Arc::new(Float64Array::from(values.collect::<Vec<Option<f64>>>()))
        };
        // Arrow takes only iterators that know their length.
        let names: Vec<&str> = rows().map(|(limit, _)| limit.name.as_str()).collect();
        let phases: Vec<Option<&str>> =
            rows().map(|(limit, _)| limit.phase.map(Phase::as_str)).collect();
        Table::of_columns([
            ("name", Arc::new(StringArray::from(names)) as ArrayRef, false),
            ("phase", Arc::new(StringArray::from(phases)), true),
            ("start", times(|slot| slot.start), false),
            ("end", times(|slot| slot.end), false),
            ("limit_kw", numbers(|limit, at| limit.limit[at].map(Power::as_kw)), true),
            ("power_kw", numbers(|limit, at| Some(limit.power[at].as_kw())), false),
            (
                "shadow_price_per_kwh",
                numbers(|limit, at| Some(limit.shadow_price[at].as_per_kwh())),
                false,
            ),
        ])
    }

    /// Slots in which a limit is passed, with the kW above it.
    #[getter]
    fn breaches(&self) -> Vec<SiteBreach> {
        SiteBreach::all(&self.intended().breaches)
    }

    /// The part of the cost that is the price of emissions.
    #[getter]
    fn carbon_cost(&self) -> f64 {
        self.intended().costs.carbon.as_amount()
    }

    /// Baseline: the same devices without a plan, at full power at once, limits ignored.
    #[getter]
    fn baseline(&self) -> SiteBaseline {
        let baseline = &self.intended().baseline;
        SiteBaseline {
            costs: SiteCosts::new(&baseline.costs),
            cost: baseline.cost.as_amount(),
            stored_value: baseline.stored_value.as_amount(),
            import_max_kw: baseline.import_max.as_kw(),
            breaches: SiteBreach::all(&baseline.breaches),
        }
    }

    /// The proof: cost less stored value, bound and gap.
    #[getter]
    fn certificate(&self) -> SiteCertificate {
        let certificate = &self.intended().certificate;
        SiteCertificate {
            cost: certificate.cost.as_amount(),
            bound: certificate.bound.as_amount(),
            gap: certificate.gap().as_amount(),
            allowance: certificate.allowance.as_amount(),
            tolerance: certificate.tolerance.as_amount(),
            is_proved: certificate.is_proved(),
            bound_by_duals: certificate.evidence.bound_by_duals.as_amount(),
            bound_by_search: certificate.evidence.searched.map(Money::as_amount),
        }
    }

    /// Compute each statement of the plan and of its certificate anew from its request.
    ///
    /// The powers of the devices have to keep all limits, levels and rules; prices, energies,
    /// outcomes and costs have to be those of the request at these powers. The bound is computed by
    /// weak duality from the duals that the plan holds, without the solver. Where a search with
    /// whole numbers proved more than the duals do, its bound is taken as it is: see
    /// ``certificate.bound_by_search``. That no plan misses less is not checked.
    ///
    /// Returns:
    ///     Each statement with the computed number and the difference. Nothing is raised for a
    ///     statement that does not hold: look at ``failed``. The plan of an older file has no
    ///     duals, and fails with ``duals``.
    ///
    /// Example:
    ///     >>> from datetime import UTC, datetime
    ///     >>> import slackwater as sw
    ///     >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
    ///     >>> prices = sw.Prices.from_values(six, [0.30, 0.10], currency="EUR")
    ///     >>> van = sw.Vehicle("van", power_max_kw=11, targets=[sw.Target(None, 15)])
    ///     >>> plan = sw.plan_site(prices, now=six, devices=[van])
    ///     >>> plan.verify().holds
    ///     True
    ///     >>> text = plan.to_json().replace('"import_kwh": 11.0', '"import_kwh": 10.0')
    ///     >>> sw.SitePlan.from_json(text).verify().failed
    ///     ['slots[1].import_kwh']
    fn verify(&self, py: Python<'_>) -> Result<Verification, Refused> {
        let problem = engine::SiteProblem::new(self.run.request().clone())?;
        let plan = self.intended();
        Ok(Verification::new(py.detach(|| engine::verify(&problem, plan))))
    }

    #[pyo3(signature = (*, time_zone))]
    fn explain(&self, time_zone: &str) -> Result<SiteReasons, Refused> {
        let zone = self::time_zone(time_zone)?;
        let (request, plan) = (self.run.request(), self.intended());
        let reason = |reason: slackwater_engine::plan::site::SiteReason| SiteReason {
            start: reason.start,
            end: reason.end,
            energy_kwh: reason.energy.as_kwh(),
            price_max_per_kwh: Some(reason.price_max.as_per_kwh()),
            code: reason.code.as_str().to_owned(),
            deadline: reason.deadline,
            limit: reason.limit.as_ref().map(|limit| limit.name.clone()),
            limit_phase: reason.limit.as_ref().and_then(|limit| limit.phase.map(phase_name)),
            limit_at: reason.limit.as_ref().map(|limit| limit.at),
            shadow_price_per_kwh: reason.limit.as_ref().map(|l| l.shadow_price.as_per_kwh()),
            sentence: self.terms.tell_both(
                reason.sentence(zone, self.terms.currency()),
                (reason.start, reason.end),
            ),
            device: Some(reason.device),
        };
        let gap = |gap: Gap| SiteReason {
            device: None,
            start: gap.start,
            end: gap.end,
            energy_kwh: 0.0,
            price_max_per_kwh: None,
            code: NO_PRICE.to_owned(),
            deadline: gap.missed.first().and_then(|missed| missed.by),
            limit: None,
            limit_phase: None,
            limit_at: None,
            shadow_price_per_kwh: None,
            sentence: gap.sentence(zone),
        };
        let unused = |one: DeviceForgone| SiteReason {
            start: one.forgone.start,
            end: one.forgone.end,
            energy_kwh: 0.0,
            price_max_per_kwh: None,
            code: NEGATIVE_UNUSED.to_owned(),
            deadline: None,
            limit: None,
            limit_phase: None,
            limit_at: None,
            shadow_price_per_kwh: None,
            sentence: one.forgone.sentence(zone, self.terms.currency(), &way_to_fill(&one)),
            device: Some(one.device),
        };
        let reasons = explain(request, plan).into_iter().map(reason);
        let reasons = reasons.chain(gaps(request, plan).into_iter().map(gap));
        Ok(reasons.chain(self.forgone().into_iter().map(unused)).collect())
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.intended() == other.intended()
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        record::hash(slf.as_any(), &["cost", "shortfall_kwh"])
    }

    /// One row per device and slot.
    /// Hand one row per device and slot to an Arrow library.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> Result<Bound<'py, PyCapsule>, Refused> {
        let plan = self.intended();
        let rows =
            || plan.devices.iter().flat_map(|device| plan.slots.iter().map(move |s| (device, s)));
        let times = |of: fn(&engine::SiteSlot) -> DateTime<Utc>| -> ArrayRef {
            let micros: Vec<i64> = rows().map(|(_, slot)| of(slot).timestamp_micros()).collect();
            Arc::new(utc(TimestampMicrosecondArray::from(micros)))
        };
        let names = |of: fn(&engine::DevicePlan) -> &str| -> ArrayRef {
            Arc::new(StringArray::from(rows().map(|(device, _)| of(device)).collect::<Vec<_>>()))
        };
        let numbers = |values: Vec<f64>| -> ArrayRef { Arc::new(Float64Array::from(values)) };
        let power = plan.devices.iter().flat_map(|device| powers(&device.power)).collect();
        let most = plan.devices.iter().flat_map(|device| powers(&device.power_max)).collect();
        let price = |of: fn(&engine::SiteSlot) -> Price| -> ArrayRef {
            numbers(rows().map(|(_, slot)| of(slot).as_per_kwh()).collect())
        };
        // State of charge at the start of each slot (0), and at its end (1).
        let soc = |later: usize| -> ArrayRef {
            let at = |device: &engine::DevicePlan, slot: usize| {
                device.soc.get(slot + later).copied().map(Percent::as_percent)
            };
            let slots = 0..plan.slots.len();
            let rows = plan.devices.iter();
            let values = rows.flat_map(|device| slots.clone().map(move |slot| at(device, slot)));
            Arc::new(Float64Array::from(values.collect::<Vec<Option<f64>>>()))
        };
        // Temperature at the end of each slot of a room or tank.
        let temperatures = rows().map(|(device, slot)| {
            let room = &device.heat.as_ref()?.slots;
            let at = room.binary_search_by_key(&slot.start, |own| own.start).ok()?;
            Some(room[at].temperature.as_celsius())
        });
        let temperatures = Arc::new(Float64Array::from(temperatures.collect::<Vec<_>>()));
        let table = Table::of_columns([
            ("device", names(|device| &device.name), false),
            ("kind", names(|device| &device.kind), false),
            ("start", times(|slot| slot.start), false),
            ("end", times(|slot| slot.end), false),
            ("power_kw", numbers(power), false),
            ("power_max_kw", numbers(most), false),
            ("import_price_per_kwh", price(|slot| slot.import_price), false),
            ("export_price_per_kwh", price(|slot| slot.export_price), false),
            ("soc_start_percent", soc(0), true),
            ("soc_end_percent", soc(1), true),
            ("temperature_end_celsius", temperatures, true),
        ])?;
        table.stream(py, requested_schema)
    }
}

/// Condition under which a vehicle buys at negative prices beyond its targets.
fn way_to_fill(left: &DeviceForgone) -> String {
    if left.forgone.fits {
        format!("fill_when_negative of {} allows it", left.device)
    } else {
        format!("a battery of {} with fill_when_negative allows it", left.device)
    }
}

/// Warns of prices of batteries and of limits that look like another unit.
fn warn_of_request(py: Python<'_>, currency: &str, request: &SiteRequest) -> Result<(), Refused> {
    for device in &request.devices {
        let values = match device {
            Device::Vehicle(car) => {
                let wear = car.discharge.as_ref().map_or(Price::ZERO, |discharge| discharge.wear);
                (wear, car.end_value)
            }
            Device::Battery(home) => (home.discharge.wear, home.end_value),
            _ => continue,
        };
        warn_of_values(py, currency, (values.0.as_per_kwh(), values.1.as_per_kwh()))?;
    }
    warn_of_each(py, &request.find_limit_doubts())?;
    warn_of_each(py, request.find_carbon_doubt(currency).as_slice())
}

/// See `slackwater.plan_site`.
#[pyfunction]
#[pyo3(signature = (
    prices, *, export_prices, now, until, devices, groups, import_limit, export_limit,
    demand_charge, export_demand_charge, tiers, carbon, prefer, preference_budget, nodes_max, time_max
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn plan_site(
    py: Python<'_>,
    prices: &Prices,
    export_prices: Option<PyRef<'_, Prices>>,
    now: Instant,
    until: Option<Instant>,
    devices: Vec<DeviceArgument>,
    groups: Vec<GroupArgument>,
    import_limit: Option<LimitArgument>,
    export_limit: Option<LimitArgument>,
    demand_charge: Option<DemandChargeArgument>,
    export_demand_charge: Option<DemandChargeArgument>,
    tiers: Option<TiersArgument>,
    carbon: Option<CarbonArgument>,
    prefer: Vec<String>,
    preference_budget: f64,
    nodes_max: u32,
    time_max: Option<TimeDelta>,
) -> Result<SitePlan, Refused> {
    let terms = Terms::new(prices, export_prices.as_deref());
    let request: SiteRequest = request(
        (prices, export_prices.as_deref()),
        (now, until),
        (devices, groups),
        (import_limit, export_limit),
        (demand_charge, export_demand_charge),
        (tiers, carbon),
        (prefer, preference_budget),
        (nodes_max, time_max),
    )?;
    warn_of_request(py, prices.currency(), &request)?;
    // Each search has its own limit, so the clock only watches for signals.
    let run = interrupt::run(py, None, move |_| SavedRun::new((), request))??;
    Ok(SitePlan::new(run, terms))
}

//! Plans of a battery under a tariff with a price of power.
use std::sync::Arc;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use slackwater_engine::bill::load::EarlierPeak;
use slackwater_engine::bill::month::Month;
use slackwater_engine::bill::tariff as checked;
use slackwater_engine::plan::Stated;
use slackwater_engine::plan::capacity::explain::{self as explained, explain};
use slackwater_engine::plan::capacity::request::{CapacityProblem, CapacityRequest, LoadPeriod};
use slackwater_engine::plan::capacity::verify::verify;
use slackwater_engine::plan::capacity::{
    certificate as proof, plan as engine, planned_slot as planned,
};
use slackwater_engine::plan::questions;
use slackwater_engine::plan::record::{GridPrices, SavedRun};
use slackwater_engine::plan::storage::Searched;
use slackwater_engine::units::{Energy, Money, Power, Price};

use crate::bill::BillingTariff;
use crate::doubts::warn_of_values;
use crate::error::{Named, Refused};
use crate::plan::{BatteryTuple, Interval, Intervals};
use crate::prices::Prices;
use crate::provenance::SourceShare;
use crate::record;
use crate::saved::Terms;
use crate::storage::{ConsumptionTuple, LimitTuple, storage_request};
use crate::time::{Instant, time_zone};
use crate::verification::Verification;

record! {
    /// A period of one price, in one window of the tariff.
    pub(crate) struct CapacitySlot in CapacitySlots {
        /// First instant, in UTC.
        start: DateTime<Utc>,
        /// First instant after the slot, in UTC.
        end: DateTime<Utc>,
        /// Price of a kWh bought; `None` if it is not known, then the battery is idle.
        import_price_per_kwh: Option<f64>,
        /// Revenue of a kWh sold; 0 if no price was given.
        export_price_per_kwh: f64,
        /// Energy of the rest of the connection, in kWh; negative into the grid.
        load_kwh: f64,
        /// Energy into the battery, in kWh at the plug.
        charged_kwh: f64,
        /// Energy out of the battery, in kWh at the plug, as a positive number.
        discharged_kwh: f64,
        /// Energy through the meter, in kWh; negative into the grid.
        metered_kwh: f64,
        /// Consumption of driving over the slot, in kWh of stored energy.
        driven_kwh: f64,
        /// Stored energy at the end of the slot, in kWh.
        stored_kwh: f64,
        /// Least stored energy at the end that wishes allow, in kWh.
        stored_min_kwh: f64,
        /// Highest stored energy at the end, in kWh.
        stored_max_kwh: f64,
        /// Highest charging power at the plug, in kW.
        power_max_kw: f64,
        /// Highest discharging power at the plug, in kW.
        discharge_max_kw: f64,
        /// Weight of the window by the tariff; 0 if it does not count.
        weight: f64,
        /// Mean power from the grid times the weight of the window, in kW.
        power_kw: f64,
        /// Highest such power of the windows that count with this one, in kW, before the plan or in
        /// it; `None` if the window does not count.
        level_kw: Option<f64>,
        /// Position of that power in the certificate's `groups`; `None` if the window does not count.
        group: Option<usize>,
        /// Value of one more kWh stored in the slot, in units of the currency.
        marginal_value_per_kwh: f64,
        /// Savings by one more kW of `level_kw` in this slot, in units of the currency per kW.
        power_price_per_kw: f64,
    }

    /// Why the battery runs in a period, or may not run.
    pub(crate) struct CapacityReason in CapacityReasons {
        /// First instant, in UTC.
        start: DateTime<Utc>,
        /// First instant after the period, in UTC.
        end: DateTime<Utc>,
        /// The reason: `charge`, `charge_at_level`, `discharge`, `discharge_at_level` or
        /// `no_price`.
        code: String,
        /// Energy into the battery, in kWh at the plug; negative out of it.
        energy_kwh: f64,
        /// Level of the power, in kW; `None` if the windows do not count.
        level_kw: Option<f64>,
        /// The reason as a sentence, on the clocks of the tariff.
        sentence: String,
    }

    /// Power of a month as the tariff measures it, and its charge.
    pub(crate) struct MonthPower {
        /// Month as `2026-07`.
        month: String,
        /// Power before the plan, in kW.
        power_before_kw: f64,
        /// Power with the plan, in kW.
        power_kw: f64,
        /// Charge of the power before the plan, in units of the currency.
        charge_before: f64,
        /// Charge with the plan, in units of the currency.
        charge: f64,
    }

    /// Cost of energy and power.
    pub(crate) struct CapacityCost {
        /// Sum of both, in units of the currency.
        total: f64,
        /// Energy through the meter, plus wear, less the value of energy stored at the end.
        energy: f64,
        /// Charge of the power above that of before.
        power: f64,
        /// Months with their powers.
        months: Vec<MonthPower>,
    }

    /// Windows of which one power counts.
    pub(crate) struct PowerGroup {
        /// Position of the month in the certificate's `months`.
        month: usize,
        /// Highest weighted power before the plan, in kW.
        power_before_kw: f64,
    }

    /// How a month prices its power, taxes included.
    pub(crate) struct PowerCharge {
        /// Month as `2026-07`.
        month: String,
        /// Price of a kW, in units of the currency; `None` for steps.
        price_per_kw: Option<f64>,
        /// Steps `(power_max_kw, charge)` of rising power; the last one has no highest power.
        steps: Vec<(Option<f64>, f64)>,
        /// Number of powers of which the mean is taken.
        highest: usize,
        /// Weighted powers that count in the month and that the plan does not reach, in kW.
        others_kw: Vec<f64>,
        /// Least power of the month, in kW.
        floor_kw: f64,
    }

    /// Cost of a plan, and bounds that no plan can undercut.
    pub(crate) struct CapacityCertificate {
        /// Cost of energy and of the power above that of before, in units of the currency.
        cost: f64,
        /// Lower bound on the cost of every plan.
        bound: f64,
        /// Cost minus bound: the most that another plan can save; 0 up to rounding if proved.
        gap: f64,
        /// True if the gap is rounding: at most 1e-9 of the cost, or of 1 if that is less.
        is_proved: bool,
        /// Bound by the values of the slots alone; `None` if a month has steps.
        bound_by_values: Option<f64>,
        /// Bound of the search over powers and steps.
        bound_by_search: f64,
        /// Number of times that the battery was solved.
        evaluations: usize,
        /// Stored energy at the start, in kWh.
        stored_start_kwh: f64,
        /// Stored energy per energy at the plug when charging.
        efficiency: f64,
        /// Energy at the plug per stored energy when discharging.
        discharge_efficiency: f64,
        /// Wear per stored kWh that is discharged, in units of the currency.
        wear_price_per_kwh: f64,
        /// Value of a kWh stored at the end, in units of the currency.
        end_value_per_kwh: f64,
        /// How the months of the plan price their power.
        months: Vec<PowerCharge>,
        /// Groups of windows, by the position that slots state.
        groups: Vec<PowerGroup>,
        /// All slots, in time order.
        slots: Vec<CapacitySlot>,
    }
    impl {
        /// Compute each statement anew from the numbers of the certificate alone.
        ///
        /// Energies are followed from slot to slot, powers are measured and charged, and the bound is
        /// a Lagrangian at the stated values. The bound of the search is taken as it is, which is all
        /// that a month with steps has.
        ///
        /// Returns:
        ///     Each statement with the computed number and the difference. Nothing is raised for a
        ///     statement that does not hold: look at ``failed``.
        ///
        /// Raises:
        ///     InputError: A number of the certificate is NaN, infinite or beyond all measure.
        fn verify(&self) -> Result<Verification, Refused> {
            let slots = self.slots.iter().map(CapacitySlot::stated);
            let slots = slots.collect::<Result<Vec<_>, Refused>>()?;
            let Self { cost, bound, gap, is_proved, .. } = *self;
            let stated = Stated { cost, bound, gap, is_proved };
            Ok(Verification::new(verify(&slots, &self.evidence()?, self.bound_by_values, stated)))
        }
    }
}

/// Plan of a battery with its request, tariff, prices and currency; see `slackwater.CapacityPlan`.
#[pyclass(frozen, subclass, module = "slackwater._engine")]
#[derive(Debug, Clone)]
pub(crate) struct CapacityPlan {
    run: Arc<SavedRun<CapacityRequest>>,
    terms: Terms,
}

impl CapacityPlan {
    const FIELDS: &'static [&'static str] = &[
        "tariff",
        "reasons",
        "cost",
        "energy_alone",
        "savings",
        "certificate",
        "shortfall_kwh",
        "floor_shortfall_kwh",
        "sources",
        "export_sources",
    ];

    /// A plan on the terms of its prices.
    pub(crate) fn new(run: SavedRun<CapacityRequest>, terms: Terms) -> Self {
        Self { run: Arc::new(run), terms }
    }

    /// The plan, to be evaluated under other facts.
    pub(crate) fn intended(&self) -> &engine::CapacityPlan {
        self.run.plan()
    }

    /// First instant that the plan could use.
    pub(crate) fn begins_at(&self) -> DateTime<Utc> {
        self.run.request().storage.now
    }

    /// Slots of the plan that is cheapest in energy, which is the baseline.
    pub(crate) fn energy_alone_slots(&self) -> Result<Vec<planned::CapacitySlot>, Refused> {
        let problem = CapacityProblem::new(self.run.request().clone())?;
        let prices = self.run.prices();
        Ok(engine::plan_energy_alone(&prices.import, prices.export.as_deref(), &problem)?)
    }

    /// Reasons with times on the wall clock of a zone.
    fn reasons_in(&self, zone: Tz) -> CapacityReasons {
        let reason = |reason: explained::CapacityReason| CapacityReason {
            start: reason.start,
            end: reason.end,
            code: reason.code.as_str().to_owned(),
            energy_kwh: reason.energy.as_kwh(),
            level_kw: reason.level.map(Power::as_kw),
            sentence: reason.sentence,
        };
        explain(self.intended(), zone).into_iter().map(reason).collect()
    }

    /// The text of the saved plan.
    pub(crate) fn to_json(&self) -> String {
        self.terms.to_json(SavedRun::clone(&self.run))
    }
}

impl CapacityCertificate {
    fn new(plan: &engine::CapacityPlan) -> Self {
        let certificate = &plan.certificate;
        let evidence = &certificate.evidence;
        let charge = |month: &proof::MonthEvidence| PowerCharge {
            month: month.month.to_string(),
            price_per_kw: month.price_per_kw.map(Money::as_amount),
            steps: month
                .steps
                .iter()
                .map(|step| (step.power_max.map(Power::as_kw), step.charge.as_amount()))
                .collect(),
            highest: month.highest,
            others_kw: month.others.iter().map(|other| other.as_kw()).collect(),
            floor_kw: month.floor.as_kw(),
        };
        let group = |group: &proof::GroupEvidence| PowerGroup {
            month: group.month,
            power_before_kw: group.power_before.as_kw(),
        };
        Self {
            cost: certificate.cost.as_amount(),
            bound: certificate.bound.as_amount(),
            gap: certificate.gap().as_amount(),
            is_proved: certificate.is_proved(),
            bound_by_values: certificate.bound_by_values.map(Money::as_amount),
            bound_by_search: evidence.searched.bound.as_amount(),
            evaluations: evidence.searched.nodes,
            stored_start_kwh: evidence.stored_start.as_kwh(),
            efficiency: evidence.efficiency,
            discharge_efficiency: evidence.efficiency_discharge,
            wear_price_per_kwh: evidence.wear_price.as_per_kwh(),
            end_value_per_kwh: evidence.end_value.as_per_kwh(),
            months: evidence.months.iter().map(charge).collect(),
            groups: evidence.groups.iter().map(group).collect(),
            slots: plan.slots.iter().map(write_slot).collect(),
        }
    }

    /// The data of the certificate as the engine has them.
    fn evidence(&self) -> Result<proof::CapacityEvidence, Refused> {
        let money = |value: f64, name: &str| Money::from_amount(value).named(name);
        let power = |value: f64, name: &str| Power::from_kw(value).named(name);
        let charge = |month: &PowerCharge| {
            let step = |&(most, charge): &(Option<f64>, f64)| {
                Ok::<_, Refused>(proof::PowerStep {
                    power_max: most.map(|most| power(most, "power_max_kw")).transpose()?,
                    charge: money(charge, "charge")?,
                })
            };
            let price = month.price_per_kw.map(|price| money(price, "price_per_kw"));
            let others = month.others_kw.iter().map(|&other| power(other, "others_kw"));
            Ok::<_, Refused>(proof::MonthEvidence {
                month: Month::parse(&month.month)?,
                price_per_kw: price.transpose()?,
                steps: month.steps.iter().map(step).collect::<Result<_, _>>()?,
                highest: month.highest,
                others: others.collect::<Result<_, _>>()?,
                floor: power(month.floor_kw, "floor_kw")?,
            })
        };
        let group = |group: &PowerGroup| {
            let power_before = power(group.power_before_kw, "power_before_kw")?;
            Ok::<_, Refused>(proof::GroupEvidence { month: group.month, power_before })
        };
        let price = |value: f64, name: &str| Price::from_per_kwh(value).named(name);
        Ok(proof::CapacityEvidence {
            stored_start: read_energy(self.stored_start_kwh, "stored_start_kwh")?,
            efficiency: self.efficiency,
            efficiency_discharge: self.discharge_efficiency,
            wear_price: price(self.wear_price_per_kwh, "wear_price_per_kwh")?,
            end_value: price(self.end_value_per_kwh, "end_value_per_kwh")?,
            months: self.months.iter().map(charge).collect::<Result<_, _>>()?,
            groups: self.groups.iter().map(group).collect::<Result<_, _>>()?,
            searched: Searched {
                bound: money(self.bound_by_search, "bound_by_search")?,
                nodes: self.evaluations,
            },
        })
    }
}

fn read_energy(value: f64, name: &str) -> Result<Energy, Refused> {
    Energy::from_kwh(value).named(name)
}

impl CapacitySlot {
    /// The slot as the engine has it.
    fn stated(&self) -> Result<planned::CapacitySlot, Refused> {
        let price = |value: f64, name: &str| Price::from_per_kwh(value).named(name);
        let power = |value: f64, name: &str| Power::from_kw(value).named(name);
        let import = self.import_price_per_kwh.map(|value| price(value, "import_price_per_kwh"));
        Ok(planned::CapacitySlot {
            start: self.start,
            end: self.end,
            import_price: import.transpose()?,
            export_price: price(self.export_price_per_kwh, "export_price_per_kwh")?,
            load: read_energy(self.load_kwh, "load_kwh")?,
            charged: read_energy(self.charged_kwh, "charged_kwh")?,
            discharged: read_energy(self.discharged_kwh, "discharged_kwh")?,
            driven: read_energy(self.driven_kwh, "driven_kwh")?,
            stored: read_energy(self.stored_kwh, "stored_kwh")?,
            stored_min: read_energy(self.stored_min_kwh, "stored_min_kwh")?,
            stored_max: read_energy(self.stored_max_kwh, "stored_max_kwh")?,
            charge_max: power(self.power_max_kw, "power_max_kw")?,
            discharge_max: power(self.discharge_max_kw, "discharge_max_kw")?,
            group: self.group,
            level: self.level_kw.map(|level| power(level, "level_kw")).transpose()?,
            weight: self.weight,
            marginal_value: price(self.marginal_value_per_kwh, "marginal_value_per_kwh")?,
            power_price_per_kw: Money::from_amount(self.power_price_per_kw)
                .named("power_price_per_kw")?,
        })
    }
}

fn write_slot(slot: &planned::CapacitySlot) -> CapacitySlot {
    CapacitySlot {
        start: slot.start,
        end: slot.end,
        import_price_per_kwh: slot.import_price.map(Price::as_per_kwh),
        export_price_per_kwh: slot.export_price.as_per_kwh(),
        load_kwh: slot.load.as_kwh(),
        charged_kwh: slot.charged.as_kwh(),
        discharged_kwh: slot.discharged.as_kwh(),
        metered_kwh: slot.metered().as_kwh(),
        driven_kwh: slot.driven.as_kwh(),
        stored_kwh: slot.stored.as_kwh(),
        stored_min_kwh: slot.stored_min.as_kwh(),
        stored_max_kwh: slot.stored_max.as_kwh(),
        power_max_kw: slot.charge_max.as_kw(),
        discharge_max_kw: slot.discharge_max.as_kw(),
        weight: slot.weight,
        power_kw: slot.power().as_kw(),
        level_kw: slot.level.map(Power::as_kw),
        group: slot.group,
        marginal_value_per_kwh: slot.marginal_value.as_per_kwh(),
        power_price_per_kw: slot.power_price_per_kw.as_amount(),
    }
}

fn write_cost(cost: &engine::CapacityCost) -> CapacityCost {
    let month = |month: &engine::MonthPower| MonthPower {
        month: month.month.to_string(),
        power_before_kw: month.power_before.as_kw(),
        power_kw: month.power.as_kw(),
        charge_before: month.charge_before.as_amount(),
        charge: month.charge.as_amount(),
    };
    CapacityCost {
        total: cost.total().as_amount(),
        energy: cost.energy.as_amount(),
        power: cost.power.as_amount(),
        months: cost.months.iter().map(month).collect(),
    }
}

#[pymethods]
impl CapacityPlan {
    /// Makes the class of Python, which takes prices beside the plan.
    #[new]
    #[pyo3(signature = (native, *_rest: "object"))]
    fn from_native(native: &Self, _rest: &Bound<'_, PyTuple>) -> Self {
        native.clone()
    }

    /// First instant that the plan could use, in UTC.
    #[getter]
    fn now(&self) -> DateTime<Utc> {
        self.begins_at()
    }

    #[getter(_import_prices)]
    fn prices(&self) -> Prices {
        self.terms.import(self.run.prices().import.clone())
    }

    #[getter(_export_prices)]
    fn export_prices(&self) -> Option<Prices> {
        self.run.prices().export.clone().map(|curve| self.terms.export(curve))
    }

    /// The tariff whose price of power counts.
    #[getter]
    fn tariff(&self) -> BillingTariff {
        BillingTariff { tariff: Arc::new(self.run.request().tariff.clone()) }
    }

    /// Reasons of the periods in which the battery runs, in time order, on the tariff's clocks.
    #[getter]
    fn reasons(&self) -> CapacityReasons {
        self.reasons_in(self.run.request().tariff.time_zone())
    }

    #[pyo3(signature = (*, time_zone))]
    fn explain(&self, time_zone: Option<&str>) -> Result<CapacityReasons, Refused> {
        let zone = time_zone.map(self::time_zone).transpose()?;
        Ok(zone.map_or_else(|| self.reasons(), |zone| self.reasons_in(zone)))
    }

    /// Cost of energy and of the power above that of before.
    #[getter]
    fn cost(&self) -> CapacityCost {
        write_cost(&self.intended().cost)
    }

    /// Cost of the plan that is cheapest in energy, without regard to power.
    #[getter]
    fn energy_alone(&self) -> CapacityCost {
        write_cost(&self.intended().energy_alone)
    }

    /// Cost of the plan that is cheapest in energy alone, minus that of this plan.
    #[getter]
    fn savings(&self) -> f64 {
        self.intended().savings().as_amount()
    }

    /// The proof: cost with its bound, and all slots.
    #[getter]
    fn certificate(&self) -> CapacityCertificate {
        CapacityCertificate::new(self.intended())
    }

    /// Largest shortfall of a target, in kWh of stored energy.
    #[getter]
    fn shortfall_kwh(&self) -> f64 {
        self.intended().shortfall.as_kwh()
    }

    /// Largest shortfall of the reserve or of the lowest state of charge of a period, in kWh of
    /// stored energy, at the end of a slot: the part that full power does not reach in time.
    #[getter]
    fn floor_shortfall_kwh(&self) -> f64 {
        self.intended().floor_shortfall.as_kwh()
    }

    /// Energy that the battery is charged with at the prices of each source, in the order of the
    /// layers.
    ///
    /// Prices without layers are one known source, ``"prices"``.
    #[getter]
    fn sources(&self) -> Result<Vec<SourceShare>, Refused> {
        let slots = self.intended().slots.iter();
        let price = |slot: &planned::CapacitySlot| slot.import_price.unwrap_or(Price::ZERO);
        let bought = slots.map(|slot| (slot.start, slot.charged, price(slot)));
        Ok(SourceShare::all(questions::shares(&self.prices().layered()?, bought)))
    }

    /// Energy that the battery is discharged at the prices to sell of each source; empty without
    /// such prices.
    #[getter]
    fn export_sources(&self) -> Result<Vec<SourceShare>, Refused> {
        let Some(prices) = self.export_prices() else { return Ok(Vec::new()) };
        let slots = self.intended().slots.iter();
        let sold = slots.map(|slot| (slot.start, slot.discharged, slot.export_price));
        Ok(SourceShare::all(questions::shares(&prices.layered()?, sold)))
    }

    /// Periods of charging (positive kW) and discharging (negative) at the plug, in UTC.
    #[getter]
    fn intervals(&self) -> Intervals {
        self.intended().intervals().iter().map(Interval::new).collect()
    }

    /// All slots, in time order.
    #[getter]
    fn slots(&self) -> CapacitySlots {
        self.intended().slots.iter().map(write_slot).collect()
    }

    /// Return the fields as a dictionary; records inside of it become dictionaries, too.
    fn to_dict<'py>(slf: &Bound<'py, Self>) -> PyResult<record::Fields<'py>> {
        record::to_dict(slf.as_any(), Self::FIELDS)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.intended() == other.intended() && self.begins_at() == other.begins_at()
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        record::hash(slf.as_any(), &["savings", "shortfall_kwh"])
    }
}

/// See `slackwater.plan_capacity`.
#[pyfunction]
#[pyo3(signature = (
    prices, tariff, *, export_prices, now, until, battery, discharge_efficiency, power_max_kw,
    discharge_max_kw, targets, reserve_percent, consumption, limits, end_value_per_kwh,
    wear_price_per_kwh, after_deadline, load, peaks
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn plan_capacity(
    py: Python<'_>,
    prices: &Prices,
    tariff: BillingTariff,
    export_prices: Option<&Prices>,
    now: Instant,
    until: Option<Instant>,
    battery: BatteryTuple,
    discharge_efficiency: f64,
    power_max_kw: f64,
    discharge_max_kw: f64,
    targets: Vec<(Option<Instant>, Option<f64>)>,
    reserve_percent: f64,
    consumption: Vec<ConsumptionTuple>,
    limits: Vec<LimitTuple>,
    end_value_per_kwh: Option<f64>,
    wear_price_per_kwh: f64,
    after_deadline: &str,
    load: Vec<(Instant, Instant, f64)>,
    peaks: Vec<(Instant, f64)>,
) -> Result<CapacityPlan, Refused> {
    if let Some(export) = export_prices {
        prices.require_same_currency(export)?;
    }
    if *prices.currency != *tariff.tariff.currency().code() {
        return Err(Refused::Input(format!(
            "prices are in {}, the tariff is in {}",
            prices.currency,
            tariff.tariff.currency().code()
        )));
    }
    let storage = storage_request(
        now,
        until,
        battery,
        discharge_efficiency,
        power_max_kw,
        discharge_max_kw,
        targets,
        reserve_percent,
        consumption,
        limits,
        end_value_per_kwh,
        wear_price_per_kwh,
        after_deadline,
    )?;
    let end_value = end_value_per_kwh.unwrap_or(0.0);
    warn_of_values(py, prices.currency(), (wear_price_per_kwh, end_value))?;
    let period = |(index, (start, end, kw)): (usize, (Instant, Instant, f64))| {
        let power = Power::from_kw(kw).named(&format!("load_kw[{index}]"))?;
        Ok::<_, Refused>(LoadPeriod { start: start.0, end: end.0, power })
    };
    let peak = |(index, (at, kw)): (usize, (Instant, f64))| {
        let power = Power::from_kw(kw).named(&format!("peaks[{index}]"))?;
        Ok::<_, Refused>(EarlierPeak { at: at.0, power })
    };
    let request = CapacityRequest {
        storage,
        tariff: checked::BillingTariff::clone(&tariff.tariff),
        load: load.into_iter().enumerate().map(period).collect::<Result<_, _>>()?,
        peaks: peaks.into_iter().enumerate().map(peak).collect::<Result<_, _>>()?,
    };
    let export = export_prices.map(|export| export.curve.clone());
    let curves = GridPrices { import: prices.curve.clone(), export };
    let run = py.detach(|| SavedRun::new(curves, request))?;
    Ok(CapacityPlan::new(run, Terms::new(prices, export_prices)))
}

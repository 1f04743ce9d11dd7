//! Plans under other facts.
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use slackwater_engine::plan::evaluation as engine;
use slackwater_engine::plan::evaluation::{ConnectionFacts, DemandPrice, MeasuredPower, SiteFacts};
use slackwater_engine::plan::site::DemandCharge;
use slackwater_engine::units::{Energy, Money, Power};

use crate::capacity::CapacityPlan;
use crate::carbon::EmissionPrice;
use crate::error::{Named, Refused};
use crate::heat::HeatPlan;
use crate::plan::Plan;
use crate::prices::Prices;
use crate::site::SitePlan;
use crate::storage::StoragePlan;
use crate::switching::SwitchingPlan;
use crate::time::Instant;

record! {
    /// A period of a plan that is in no cost, because a fact is missing.
    pub(crate) struct MissingFact {
        /// First instant, in UTC.
        start: DateTime<Utc>,
        /// First instant after the period, in UTC.
        end: DateTime<Utc>,
        /// Name of the fact: `price`, `export_price`, `emissions`, `solar` or `load`.
        fact: String,
        /// Energy of the plan in the period, drawn or fed, in kWh at the plug.
        energy_kwh: f64,
    }

    /// Cost and energy of a plan under facts.
    pub(crate) struct Evaluation {
        /// Cost of the plan under the facts, in units of the currency: the sum of its parts.
        cost: f64,
        /// Cost of the energy from the grid.
        import_cost: f64,
        /// Revenue of the energy into the grid, as a positive number.
        export_revenue: f64,
        /// Cost of the peak, under a demand charge.
        demand_cost: f64,
        /// Costs at prices that the plan was made with: wear, starts, tiers, breaches of limits, and
        /// emissions, unless `prices` hold a price of their own for them.
        other_cost: f64,
        /// Value of the energy stored at the end above that at the start, which is subtracted.
        stored_value: f64,
        /// Cost of the same energy at full power from the start, under the same facts.
        baseline_cost: f64,
        /// Baseline cost less cost; negative if the plan costs more. `None` if energy of the plan or
        /// of the baseline is in no cost, so that these are not the costs of the same energy.
        savings: Option<f64>,
        /// Energy from the grid, in kWh.
        import_kwh: f64,
        /// Energy into the grid, in kWh, as a positive number.
        export_kwh: f64,
        /// Part of the plan's own energy that comes from the grid, in kWh.
        from_grid_kwh: f64,
        /// Part of the plan's own energy covered by solar power that the load leaves, in kWh.
        from_solar_kwh: f64,
        /// Energy from the grid at prices that are only estimated, in kWh.
        energy_on_estimates_kwh: f64,
        /// Highest mean import in a window of the demand charge, or the peak paid for already, in
        /// kW; `None` without a demand charge.
        peak_kw: Option<f64>,
        /// Periods that are in no cost, in time order.
        missing: Vec<MissingFact>,
    }
}

impl Evaluation {
    fn new(found: &engine::Evaluation) -> Self {
        let missing = |fact: &engine::MissingFact| MissingFact {
            start: fact.start,
            end: fact.end,
            fact: fact.kind.as_str().to_owned(),
            energy_kwh: fact.energy.as_kwh(),
        };
        Self {
            cost: found.cost().as_amount(),
            import_cost: found.costs.import.as_amount(),
            export_revenue: found.costs.export.as_amount(),
            demand_cost: found.costs.demand.as_amount(),
            other_cost: found.costs.other.as_amount(),
            stored_value: found.costs.stored.as_amount(),
            baseline_cost: found.baseline.total().as_amount(),
            savings: found.savings().map(Money::as_amount),
            import_kwh: found.import.as_kwh(),
            export_kwh: found.export.as_kwh(),
            from_grid_kwh: found.from_grid.as_kwh(),
            from_solar_kwh: found.from_solar.as_kwh(),
            energy_on_estimates_kwh: found.on_estimates.as_kwh(),
            peak_kw: found.peak.map(Power::as_kw),
            missing: found.missing.iter().map(missing).collect(),
        }
    }
}

/// Periods with their power in kW.
type Periods = Option<Vec<(Instant, Instant, f64)>>;

/// Price per kW, peak that is paid for in kW, and window in minutes.
type Demand = Option<(f64, f64, u32)>;

fn measured(periods: Periods, name: &str) -> Result<Option<MeasuredPower>, Refused> {
    let Some(periods) = periods else { return Ok(None) };
    let period = |(start, end, kw): (Instant, Instant, f64)| {
        Ok::<_, Refused>((start.0, end.0, Power::from_kw(kw).named(name)?))
    };
    let periods = periods.into_iter().map(period).collect::<Result<Vec<_>, _>>()?;
    MeasuredPower::new(periods).named(name).map(Some)
}

/// A plan of any kind.
#[derive(FromPyObject)]
pub(crate) enum AnyPlan<'py> {
    Charge(PyRef<'py, Plan>),
    Storage(PyRef<'py, StoragePlan>),
    Heat(PyRef<'py, HeatPlan>),
    Switching(PyRef<'py, SwitchingPlan>),
    Site(PyRef<'py, SitePlan>),
    Capacity(PyRef<'py, CapacityPlan>),
}

/// See `slackwater.Plan.evaluate`.
#[pyfunction]
#[pyo3(signature = (plan, prices, *, export_prices, solar, load, demand, emissions))]
pub(crate) fn evaluate(
    plan: AnyPlan<'_>,
    prices: &Prices,
    export_prices: Option<&Prices>,
    solar: Periods,
    load: Periods,
    demand: Demand,
    emissions: Option<&EmissionPrice>,
) -> Result<Evaluation, Refused> {
    if let Some(export) = export_prices {
        prices.require_same_currency(export)?;
    }
    let (solar, load) = (measured(solar, "solar")?, measured(load, "load")?);
    let export = export_prices.map(|export| &*export.curve);
    let estimated = prices.estimated();
    if let AnyPlan::Site(plan) = plan {
        let demand = demand.map(site_demand).transpose()?;
        let facts = SiteFacts {
            import: Some(&prices.curve),
            export,
            solar: solar.as_ref(),
            load: load.as_ref(),
            demand: demand.as_ref(),
            estimated: Some(&estimated),
        };
        let (request, plan) = plan.evaluated();
        if prices.emissions.is_some() && request.carbon.is_some() {
            let text = "prices hold a price of emissions, and the site has one of its own";
            return Err(Refused::Input(text.into()));
        }
        let found = engine::evaluate_site(request, plan, &facts);
        return Ok(Evaluation::new(&found.map_err(|error| Refused::Input(error.to_string()))?));
    }
    if matches!(plan, AnyPlan::Capacity(_)) && demand.is_some() {
        let text = "demand_charge: the tariff of this plan prices the power already";
        return Err(Refused::Input(text.into()));
    }
    let demand = demand
        .map(|(price, peak, window)| DemandPrice::new(price, peak, window))
        .transpose()
        .named("demand_charge")?;
    let per_kwh = emissions.map(|price| price.0.intensity().times(price.0.price_per_kg()));
    let per_kwh = per_kwh.transpose()?;
    let facts = ConnectionFacts {
        export,
        solar: solar.as_ref(),
        load: load.as_ref(),
        demand,
        emissions: per_kwh.as_ref(),
        estimated: Some(&estimated),
        ..ConnectionFacts::new(&prices.curve)
    };
    Ok(Evaluation::new(&match plan {
        AnyPlan::Charge(plan) => engine::evaluate_charge(plan.intended(), &facts),
        AnyPlan::Storage(plan) => {
            let (request, plan) = plan.evaluated();
            engine::evaluate_storage(request, plan, &facts)
        }
        AnyPlan::Heat(plan) => engine::evaluate_heat(plan.intended(), &facts),
        AnyPlan::Switching(plan) => engine::evaluate_switching(plan.intended(), &facts),
        AnyPlan::Capacity(plan) => {
            let alone = plan.energy_alone_slots()?;
            engine::evaluate_capacity(plan.intended(), &alone, &facts)
                .map_err(|error| Refused::Input(error.to_string()))?
        }
        // Evaluated above, by the accounting of a site.
        AnyPlan::Site(_) => return Err(Refused::Input("plan: a site".into())),
    }))
}

fn site_demand(
    (price_per_kw, peak, window_minutes): (f64, f64, u32),
) -> Result<DemandCharge, Refused> {
    Ok(DemandCharge {
        price_per_kw,
        peak: Power::from_kw(peak).named("demand_charge.peak_kw")?,
        window_minutes,
        window_energy: Energy::ZERO,
        periods: Vec::new(),
    })
}

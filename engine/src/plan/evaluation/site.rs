//! Evaluation of a plan of a site: the accounting of [`Books`](crate::plan::site) over again, with
//! other prices and measured powers.
use crate::plan::evaluation::connection::covers;
use crate::plan::evaluation::facts::{
    EvaluatedCosts, Evaluation, EvaluationError, MeasuredPower, MissingFact, MissingFactKind,
};
use crate::plan::site::accounting::{Account, Books, energy, money, power};
use crate::plan::site::baseline::without_plan;
use crate::plan::site::device::Device;
use crate::plan::site::error::SiteError;
use crate::plan::site::model::SiteModel;
use crate::plan::site::plan::{Costs, SitePlan};
use crate::plan::site::price_slots::SiteSlots;
use crate::plan::site::problem::SiteProblem;
use crate::plan::site::request::{DemandCharge, Limit, SiteRequest};
use crate::plan::site::series::{PowerPeriod, Series};
use crate::prices::curve::PriceCurve;
use crate::time::horizon::Horizon;
use crate::time::instant::{instant_at, micros_of};
use crate::tolerance::SOLVER_ROUNDING;
use crate::units::{Energy, MICROS_PER_HOUR, Money, Power};

/// Facts of a site. What is not given stays as it was planned.
#[derive(Debug, Clone, Copy, Default)]
pub struct SiteFacts<'a> {
    /// Price of an imported kWh.
    pub import: Option<&'a PriceCurve>,
    /// Revenue per exported kWh.
    pub export: Option<&'a PriceCurve>,
    /// Power that the solar systems could feed, shared in proportion to their forecasts' highest
    /// power.
    pub solar: Option<&'a MeasuredPower>,
    /// Power of the inflexible loads, shared in the same way.
    pub load: Option<&'a MeasuredPower>,
    /// Price of the peak import.
    pub demand: Option<&'a DemandCharge>,
    /// Periods in which `import` is only an estimate.
    pub estimated: Option<&'a Horizon>,
}

/// Evaluates a plan of a site under other facts.
///
/// Vehicles, batteries and shiftable loads do what was planned. Loads draw what was measured.
/// Solar systems feed what was measured; where the plan curtailed one, its planned power stays its
/// highest. Limits, tiers and emissions are those of the request; they are in `other`, with wear.
/// The value of stored energy is not in the cost of a site: `stored` of the baseline is its value
/// there less that in the plan.
///
/// # Errors
/// A measured power does not cover the plan, or there is no device to give it to.
pub fn evaluate_site(
    request: &SiteRequest,
    plan: &SitePlan,
    facts: &SiteFacts<'_>,
) -> Result<Evaluation, SiteEvaluationError> {
    let executed = SiteProblem::new(with_facts(request, plan, facts)?)?;
    let executed = executed.request();
    let model = SiteModel::new(executed, false);
    let accounts = accounts(executed, plan, &model.grid);
    let books = Books::new(executed, &model, &accounts);
    let baseline = without_plan(executed, &model);
    let stored = baseline.stored_value - money(books.stored_value);
    let from_solar = used_solar(executed, model.grid.len(), &accounts);
    let drawn: f64 = flexible(executed, &accounts).flat_map(|account| &account.drawn).sum();
    let guessed = |at: &&i64| facts.estimated.is_some_and(|periods| covers(periods, **at));
    let slots = model.grid.starts.iter().zip(&books.import);
    let on_estimates: f64 = slots.filter(|(at, _)| guessed(at)).map(|(_, kwh)| kwh).sum();
    Ok(Evaluation {
        costs: evaluated(&books.costs, Money::ZERO),
        baseline: evaluated(&baseline.costs, stored),
        import: energy(books.import.iter().sum()),
        export: energy(books.export.iter().sum()),
        from_solar: energy(from_solar),
        from_grid: energy(drawn - from_solar),
        peak: books.peak.map(power),
        on_estimates: energy(on_estimates),
        missing: missing(plan, &model.grid),
        // The baseline charges in the time that has a price.
        baseline_missing: Energy::ZERO,
    })
}

/// Facts that a site cannot be evaluated with.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SiteEvaluationError {
    /// A fact without a device.
    #[error(transparent)]
    Facts(#[from] EvaluationError),
    /// A site with these facts makes no sense, such as a load that is unknown at times.
    #[error(transparent)]
    Site(#[from] SiteError),
}

fn evaluated(costs: &Costs, stored: Money) -> EvaluatedCosts {
    let Costs { energy, export, demand, tiers, carbon, wear, breach } = *costs;
    let other = tiers + carbon + wear + breach;
    EvaluatedCosts { import: energy, export: -export, demand, other, stored }
}

/// Request of the site with the facts in place of what was expected. Its prices are cut at the
/// slots of the plan, so that no power changes within a slot.
fn with_facts(
    request: &SiteRequest,
    plan: &SitePlan,
    facts: &SiteFacts<'_>,
) -> Result<SiteRequest, EvaluationError> {
    let mut executed = request.clone();
    let expected = &request.import_prices;
    for device in &mut executed.devices {
        match device {
            Device::Solar(solar) => unroll(&mut solar.forecast, expected),
            Device::Load(load) => unroll(&mut load.forecast, expected),
            Device::Vehicle(vehicle) => {
                vehicle.power_wanted.iter_mut().for_each(|power| unroll(power, expected));
            }
            Device::Battery(battery) => {
                battery.power_wanted.iter_mut().for_each(|power| unroll(power, expected));
            }
            // The facts may know prices for longer than the outdoor temperature is known.
            Device::Heat(unit) => {
                let end = request.until.or_else(|| expected.horizon().end());
                unit.heat.until = unit.heat.until.or(end);
            }
            _ => {}
        }
    }
    let groups = executed.groups.iter_mut();
    let limits = groups.flat_map(|group| [&mut group.limit, &mut group.phase_limit]);
    let own = [&mut executed.import_limit, &mut executed.export_limit];
    for Limit { power, .. } in limits.chain(own).flatten() {
        unroll(power, expected);
    }
    if let Some(solar) = facts.solar {
        share(&mut executed.devices, solar, "solar")?;
    }
    if let Some(load) = facts.load {
        share(&mut executed.devices, load, "load")?;
    }
    executed.import_prices = cut_at_slots(facts.import.unwrap_or(expected), plan);
    if let Some(export) = facts.export {
        executed.export_prices = Some(export.clone());
    }
    if let Some(demand) = facts.demand {
        executed.demand_charge = Some(demand.clone());
    }
    Ok(executed)
}

/// Turns one power per price slot into periods.
fn unroll(series: &mut Series, prices: &PriceCurve) {
    if let Series::PerSlot(powers) = series {
        let slots = prices.slots().zip(powers.iter());
        let periods =
            slots.map(|(slot, &power)| PowerPeriod { start: slot.start, end: slot.end, power });
        *series = Series::Periods(periods.collect());
    }
}

/// Gives a measured power to all devices of a kind, in proportion to the highest power of their
/// forecasts, or in equal parts if these are zero.
fn share(
    devices: &mut [Device],
    measured: &MeasuredPower,
    kind: &'static str,
) -> Result<(), EvaluationError> {
    let series = |device: &mut Device| match device {
        Device::Solar(solar) if kind == "solar" => {
            Some(std::mem::replace(&mut solar.forecast, Series::Constant(Power::ZERO)))
        }
        Device::Load(load) if kind == "load" => {
            Some(std::mem::replace(&mut load.forecast, Series::Constant(Power::ZERO)))
        }
        _ => None,
    };
    let highest: Vec<Option<f64>> =
        devices.iter_mut().map(|device| series(device).map(|series| highest_kw(&series))).collect();
    let count = highest.iter().flatten().count();
    if count == 0 {
        return Err(EvaluationError::NoDevice { kind });
    }
    let sum: f64 = highest.iter().flatten().sum();
    for (device, highest) in devices.iter_mut().zip(highest) {
        let Some(highest) = highest else { continue };
        let part = if sum > 0.0 { highest / sum } else { 1.0 / count as f64 };
        let period = |(start, end, measured): (_, _, Power)| PowerPeriod {
            start,
            end,
            power: power(measured.as_kw() * part),
        };
        let shared = Series::Periods(measured.periods().map(period).collect());
        match device {
            Device::Solar(solar) => solar.forecast = shared,
            Device::Load(load) => load.forecast = shared,
            _ => {}
        }
    }
    Ok(())
}

fn highest_kw(series: &Series) -> f64 {
    match series {
        Series::Constant(power) => power.as_kw(),
        Series::PerSlot(powers) => powers.iter().map(|power| power.as_kw()).fold(0.0, f64::max),
        Series::Periods(periods) => {
            periods.iter().map(|period| period.power.as_kw()).fold(0.0, f64::max)
        }
    }
}

/// A curve whose slots end wherever a slot of the plan does.
fn cut_at_slots(prices: &PriceCurve, plan: &SitePlan) -> PriceCurve {
    let mut cuts: Vec<i64> =
        plan.slots.iter().flat_map(|slot| [micros_of(slot.start), micros_of(slot.end)]).collect();
    cuts.dedup();
    let (mut periods, mut values) = (Vec::new(), Vec::new());
    let horizon = prices.horizon();
    for (index, &price) in prices.prices().iter().enumerate() {
        let (mut start, end) = (horizon.starts()[index], horizon.ends()[index]);
        let first = cuts.partition_point(|&cut| cut <= start);
        let inner = cuts[first..].iter().copied().take_while(|&cut| cut < end);
        for cut in inner.chain([end]) {
            periods.push((start, cut));
            values.push(price);
            start = cut;
        }
    }
    PriceCurve::of_pieces(periods, values)
}

/// Energies of each device by slot of `grid`.
fn accounts(request: &SiteRequest, plan: &SitePlan, grid: &SiteSlots) -> Vec<Account> {
    let account = |(index, device): (usize, &Device)| {
        let planned = |slot: usize| planned_kw(plan, index, grid.starts[slot]);
        let measured: Option<Vec<Option<f64>>> = match device {
            Device::Solar(solar) => Some(grid.powers(&solar.forecast)),
            Device::Load(load) => Some(grid.powers(&load.forecast)),
            _ => None,
        };
        let net_kw = |slot: usize| match (device, &measured) {
            (Device::Solar(_), Some(powers)) => {
                let most = powers[slot].unwrap_or(0.0);
                -planned(slot).map_or(most, |(power, power_max)| {
                    let is_curtailed = -power < power_max - SOLVER_ROUNDING * power_max.max(1.0);
                    if is_curtailed { most.min(-power) } else { most }
                })
            }
            (_, Some(powers)) => powers[slot].unwrap_or(0.0),
            _ => planned(slot).map_or(0.0, |(power, _)| power),
        };
        let kwh: Vec<f64> = (0..grid.len()).map(|slot| net_kw(slot) * grid.hours[slot]).collect();
        Account {
            drawn: kwh.iter().map(|kwh| kwh.max(0.0)).collect(),
            fed: kwh.iter().map(|kwh| (-kwh).max(0.0)).collect(),
        }
    };
    request.devices.iter().enumerate().map(account).collect()
}

/// Planned and highest power in kW of a device at an instant; `None` outside of the plan.
fn planned_kw(plan: &SitePlan, device: usize, at: i64) -> Option<(f64, f64)> {
    let slot = plan.slots.partition_point(|slot| micros_of(slot.end) <= at);
    plan.slots.get(slot).filter(|slot| micros_of(slot.start) <= at)?;
    let device = &plan.devices[device];
    Some((device.power[slot].as_kw(), device.power_max[slot].as_kw()))
}

/// Accounts of the devices that the plan decides on.
fn flexible<'a>(
    request: &'a SiteRequest,
    accounts: &'a [Account],
) -> impl Iterator<Item = &'a Account> {
    let decided = |device: &Device| !matches!(device, Device::Solar(_) | Device::Load(_));
    let devices = request.devices.iter().zip(accounts);
    devices.filter(move |(device, _)| decided(device)).map(|(_, account)| account)
}

/// Energy of the flexible devices that solar power covers after the load, in kWh.
fn used_solar(request: &SiteRequest, slots: usize, accounts: &[Account]) -> f64 {
    let sum = |slot: usize, is: fn(&Device) -> bool, of: fn(&Account) -> &Vec<f64>| {
        let devices = request.devices.iter().zip(accounts).filter(|(device, _)| is(device));
        devices.map(|(_, account)| of(account)[slot]).sum::<f64>()
    };
    let is_decided = |device: &Device| !matches!(device, Device::Solar(_) | Device::Load(_));
    let covered = |slot: usize| {
        let solar = sum(slot, |device| matches!(device, Device::Solar(_)), |account| &account.fed);
        let load = sum(slot, |device| matches!(device, Device::Load(_)), |account| &account.drawn);
        let drawn = sum(slot, is_decided, |account| &account.drawn);
        drawn.min((solar - load).max(0.0))
    };
    (0..slots).map(covered).sum()
}

/// Slots of the plan for which the facts have no price, with the energy of the plan's devices.
fn missing(plan: &SitePlan, grid: &SiteSlots) -> Vec<MissingFact> {
    let mut missing: Vec<MissingFact> = Vec::new();
    for (index, slot) in plan.slots.iter().enumerate() {
        let (from, to) = (micros_of(slot.start), micros_of(slot.end));
        let powers = plan.devices.iter().map(|device| device.power[index].as_kw().abs());
        let kw: f64 = powers.sum();
        let first = grid.ends.partition_point(|&end| end <= from);
        let mut at = from;
        let inside = grid.starts[first..].iter().zip(&grid.ends[first..]);
        let inside =
            inside.take_while(|(start, _)| **start < to).map(|(&start, &end)| (start, end));
        for (start, end) in inside.chain([(to, to)]) {
            if at < start {
                let kwh = kw * (start - at) as f64 / MICROS_PER_HOUR;
                let kwh = Energy::from_kwh(kwh).unwrap_or(Energy::ZERO);
                let (start, end) = (instant_at(at), instant_at(start));
                match missing.last_mut() {
                    Some(last) if last.end == start => {
                        last.end = end;
                        last.energy = last.energy + kwh;
                    }
                    _ => missing.push(MissingFact {
                        start,
                        end,
                        kind: MissingFactKind::Price,
                        energy: kwh,
                    }),
                }
            }
            at = at.max(end);
        }
    }
    missing
}

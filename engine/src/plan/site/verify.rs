//! Verification of a plan of a site and of its certificate, without the solver.
//!
//! The request gives the rows and columns of its programme again. The powers of the plan alone give
//! the value of each column: levels follow from them, and shortfalls, breaches, the peak and the
//! blocks of energy are the least that the rows leave. All rows, all bounds and all rules of on and
//! off are checked at these values, all sums of the plan are computed anew, and the bound is that of
//! the [`certificate`](super::certificate) at the stated duals.
//!
//! | Part of the proof | How it is checked |
//! |---|---|
//! | the plan keeps limits, levels, powers, rules of on and off | each of them, at its powers |
//! | no plan with as little shortfall costs less than `bound_by_duals` | by weak duality |
//! | no plan costs less than `searched` | not: it is the word of a search with binaries |
//! | no plan misses less | not: shortfalls of the plan are the data of the bound |
//! | shadow prices of limits | not: the bound does not use them |
use std::collections::BTreeMap;

use crate::plan::heat::planned_slot::DegreeHours;
use crate::plan::site::accounting::{Account, Books, money};
use crate::plan::site::certificate::{Duals, SiteCertificate, bound_by_duals};
use crate::plan::site::course::Course;
use crate::plan::site::lexicographic::{Objective, before_money, value_of};
use crate::plan::site::model::{Guard, MissKind, SiteModel};
use crate::plan::site::plan::{
    Breach, Costs, DevicePlan, HeatOutcome, RoomSlot, SitePlan, SiteSlot,
};
use crate::plan::site::planner::{report_device, tolerance_of};
use crate::plan::site::problem::SiteProblem;
use crate::plan::site::request::SiteRequest;
use crate::plan::verification::Check;
use crate::time::instant::instant_at;
use crate::tolerance::{GAP_MAX, SITE_MIN_KWH, SOLVER_AGREEMENT, allowed};
use crate::units::{Energy, Money, Percent, Power};

/// Compares each statement of a plan and of its certificate with what the request, the powers of
/// the plan and the duals give.
///
/// The checks come in this order: slots and devices, prices and energies of each slot, powers and
/// outcomes of each device, limits, the meter, the parts of the cost, and then the certificate. If
/// slots, devices or limits are others than those of the request, nothing else is checked.
///
/// # Example
///
/// A van wants 5 kWh at 0.30 or 0.10 per kWh. Every statement holds, until a price is changed:
///
/// ```
/// use slackwater_engine::plan::charge::Target;
/// use slackwater_engine::plan::site::{Device, SiteProblem, SiteRequest, Vehicle};
/// use slackwater_engine::plan::site::{plan_site, verify};
/// use slackwater_engine::prices::curve::PriceCurve;
/// use slackwater_engine::time::horizon::Horizon;
/// use slackwater_engine::units::{kw, kwh, per_kwh};
/// # let six = "2026-01-05T18:00:00Z".parse().unwrap();
/// # let hour = chrono::TimeDelta::hours(1);
/// let prices = PriceCurve::from_parts(Horizon::steps(six, hour, 2).unwrap(), vec![0.3, 0.1]);
/// let mut request = SiteRequest::new(prices.unwrap(), six);
/// let mut van = Vehicle::new("van", kw(11.0));
/// van.targets.push(Target { by: None, energy: kwh(5.0) });
/// request.devices.push(Device::Vehicle(van));
/// let problem = SiteProblem::new(request)?;
/// let mut plan = plan_site(&problem);
/// assert!(verify(&problem, &plan).iter().all(|check| check.holds()));
/// plan.slots[1].import_price = per_kwh(0.09);
/// let failed = verify(&problem, &plan).into_iter().find(|check| !check.holds());
/// assert_eq!(failed.unwrap().line, "slots[1].import_price_per_kwh");
/// # Ok::<(), slackwater_engine::plan::site::SiteError>(())
/// ```
#[must_use]
pub fn verify(problem: &SiteProblem, plan: &SitePlan) -> Vec<Check> {
    let request = problem.request();
    let model = SiteModel::new(request, plan.certificate.evidence.goes_on);
    let mut checks = check_shape(&model, plan).to_vec();
    if checks.iter().any(|check| !check.holds()) {
        return checks;
    }
    let accounts = read_accounts(&model, plan);
    let books = Books::new(request, &model, &accounts);
    let values = Values::new(&model, &accounts, &books);
    checks.extend(check_slots(&model, &books, plan));
    let excesses = values.excesses();
    for (index, own) in plan.devices.iter().enumerate() {
        let again = report_device(request, &model, &accounts, &books, index);
        checks.extend(values.check_rules(index, &excesses));
        checks.extend(check_device(index, own, &again));
    }
    checks.extend(check_limits(&model, &books, &excesses, plan));
    checks.push(excesses.meter.check("meter"));
    checks.extend(check_costs(&books, plan));
    checks.extend(check_certificate(request, &model, &books, &values.columns, plan));
    checks
}

/// Checks that the plan has the slots, devices and limits of the request, and a dual for each row.
fn check_shape(model: &SiteModel, plan: &SitePlan) -> [Check; 4] {
    let (slots, grid) = (plan.slots.len(), &model.grid);
    let is_other = |(index, slot): &(usize, &SiteSlot)| {
        slot.start != instant_at(grid.starts[*index]) || slot.end != instant_at(grid.ends[*index])
    };
    let others = plan.slots.iter().enumerate().take(grid.len()).filter(is_other).count();
    let misfits = |fits: bool| f64::from(u8::from(!fits));
    let devices = plan.devices.len() == model.storages.len()
        && plan.devices.iter().all(|device| {
            device.power.len() == slots
                && device.power_max.len() == slots
                && (device.soc.is_empty() || device.soc.len() == slots + 1)
        });
    let limits = plan.limits.len() == model.limits.len()
        && plan.limits.iter().all(|limit| limit.limit.len() == slots && limit.power.len() == slots);
    let evidence = &plan.certificate.evidence;
    let is_complete = evidence.duals.len() == model.program.rows.len();
    [
        Check::rule("slots", (slots.abs_diff(grid.len()) + others) as f64, 0.0),
        Check::rule("devices", misfits(devices), 0.0),
        Check::rule("limits", misfits(limits), 0.0),
        Check::rule("duals", misfits(is_complete), 0.0),
    ]
}

/// Energies of each device by slot, from the powers of its plan.
fn read_accounts(model: &SiteModel, plan: &SitePlan) -> Vec<Account> {
    let account = |device: &DevicePlan| {
        let kwh = || device.power.iter().zip(&model.grid.hours).map(|(kw, h)| kw.as_kw() * h);
        Account {
            drawn: kwh().map(|kwh| kwh.max(0.0)).collect(),
            fed: kwh().map(|kwh| (-kwh).max(0.0)).collect(),
        }
    };
    plan.devices.iter().map(account).collect()
}

/// Checks prices and energies of each slot.
fn check_slots(model: &SiteModel, books: &Books, plan: &SitePlan) -> Vec<Check> {
    let (grid, mut checks) = (&model.grid, Vec::with_capacity(5 * plan.slots.len()));
    for (index, slot) in plan.slots.iter().enumerate() {
        let mut compare = |name: &str, stated: f64, computed: f64| {
            checks.push(Check::equal(
                &format!("slots[{index}].{name}"),
                stated,
                computed,
                stated.abs().max(computed.abs()),
            ));
        };
        compare("import_price_per_kwh", slot.import_price.as_per_kwh(), grid.import[index]);
        compare("export_price_per_kwh", slot.export_price.as_per_kwh(), grid.export[index]);
        compare("carbon_kg_per_kwh", slot.carbon_kg_per_kwh, grid.carbon[index]);
        compare("import_kwh", slot.import.as_kwh(), books.import[index]);
        compare("export_kwh", slot.export.as_kwh(), books.export[index]);
    }
    checks
}

/// Compares the sums and outcomes of a device with those of its powers.
fn check_device(index: usize, own: &DevicePlan, again: &DevicePlan) -> Vec<Check> {
    let size = again.energy.as_kwh().max(again.fed.as_kwh());
    let equal = |name: &str, own: Energy, again: Energy| {
        Check::equal(&format!("devices[{index}].{name}"), own.as_kwh(), again.as_kwh(), size)
    };
    let farthest = |own: &[f64], again: &[f64]| {
        let lengths = own.len().abs_diff(again.len()) as f64;
        own.iter().zip(again).map(|(a, b)| (a - b).abs()).fold(lengths, f64::max)
    };
    let soc = |plan: &DevicePlan| plan.soc.iter().map(|s| s.as_percent()).collect::<Vec<_>>();
    let most = |plan: &DevicePlan| plan.power_max.iter().map(|p| p.as_kw()).collect::<Vec<_>>();
    let missing = |plan: &DevicePlan| {
        plan.wishes.iter().map(|wish| wish.shortfall.as_kwh()).collect::<Vec<_>>()
    };
    let largest = |numbers: Vec<f64>| numbers.into_iter().fold(0.0, f64::max);
    let line = |name: &str| format!("devices[{index}].{name}");
    let full = Percent::FULL.as_percent();
    vec![
        equal("energy_kwh", own.energy, again.energy),
        equal("fed_kwh", own.fed, again.fed),
        Check::rule(line("soc_percent"), farthest(&soc(own), &soc(again)), allowed(GAP_MAX, full)),
        Check::rule(
            line("power_max_kw"),
            farthest(&most(own), &most(again)),
            allowed(GAP_MAX, largest(most(again))),
        ),
        // A shortfall of less than the least energy that counts is none.
        Check::rule(line("wishes"), farthest(&missing(own), &missing(again)), SITE_MIN_KWH),
        equal("shortfall_kwh", own.shortfall, again.shortfall),
        Check::rule(line("heat"), differ_in_heat(own.heat.as_ref(), again.heat.as_ref()), HEAT_MAX),
    ]
}

/// Difference of two temperatures in K, or of two sums of degree-hours in K·h, that counts as rounding.
const HEAT_MAX: f64 = 1e-4;

/// Largest difference of two outcomes of a room: of temperatures in K, of degree-hours in K·h and of
/// heat in kWh. One that has no room, or other slots, differs by 1 at least.
fn differ_in_heat(own: Option<&HeatOutcome>, again: Option<&HeatOutcome>) -> f64 {
    let (Some(own), Some(again)) = (own, again) else {
        return f64::from(u8::from(own.is_some() != again.is_some()));
    };
    let slots = own.slots.iter().zip(&again.slots);
    let facts = |slot: &RoomSlot| {
        let RoomSlot { start, end, outdoor, gain, temperature_min, temperature_max, .. } = *slot;
        (start, end, outdoor, gain, temperature_min, temperature_max)
    };
    let are_same = own.slots.len() == again.slots.len()
        && (own.mode, own.temperature_start) == (again.mode, again.temperature_start)
        && slots.clone().all(|(own, again)| facts(own) == facts(again));
    let numbers = |slot: &RoomSlot| [slot.temperature.as_celsius(), slot.cop, slot.used.as_kwh()];
    let outside = |heat: &HeatOutcome| {
        let DegreeHours { below, above } = heat.discomfort;
        [below, above, heat.heat.as_kwh(), heat.stored_value.as_amount()]
    };
    let of_slots = slots.flat_map(|(own, again)| numbers(own).into_iter().zip(numbers(again)));
    let of_sums = outside(own).into_iter().zip(outside(again));
    let differences = of_slots.chain(of_sums).map(|(own, again)| (own - again).abs());
    differences.fold(f64::from(u8::from(!are_same)), f64::max)
}

/// Checks of each limit: its powers, and that it is kept where a hard limit can be.
fn check_limits(
    model: &SiteModel,
    books: &Books,
    excesses: &Excesses,
    plan: &SitePlan,
) -> Vec<Check> {
    let mut checks = Vec::with_capacity(3 * plan.limits.len());
    for (index, own) in plan.limits.iter().enumerate() {
        let (limit, load) = (&model.limits[index], &books.loads[index]);
        let size = load.iter().fold(0.0, |most: f64, kw| most.max(kw.abs()));
        let stated = own.limit.iter().map(|kw| kw.map(Power::as_kw));
        let others = stated.zip(&limit.limit_kw).filter(|(own, again)| own != *again).count();
        let powers = own.power.iter().zip(load).map(|(own, kw)| (own.as_kw() - kw).abs());
        let line = |name: &str| format!("limits[{index}].{name}");
        checks.extend([
            Check::rule(line("limit_kw"), others as f64, 0.0),
            Check::rule(line("power_kw"), powers.fold(0.0, f64::max), allowed(GAP_MAX, size)),
            excesses.limits[index].check(&line("excess_kwh")),
        ]);
    }
    checks
}

/// Compares costs, emissions, peak and breaches.
fn check_costs(books: &Books, plan: &SitePlan) -> Vec<Check> {
    let parts = |costs: &Costs| {
        let Costs { energy, export, demand, tiers, carbon, wear, breach } = *costs;
        [energy, export, demand, tiers, carbon, wear, breach].map(Money::as_amount)
    };
    let names = ["energy", "export", "demand", "tiers", "carbon", "wear", "breach"];
    let scale = parts(&books.costs).iter().map(|part| part.abs()).sum::<f64>();
    let equal = |name: &str, stated: f64, computed: f64, scale: f64| {
        Check::equal(name, stated, computed, scale.max(computed.abs()))
    };
    let own = parts(&plan.costs).into_iter().zip(parts(&books.costs));
    let mut checks: Vec<Check> = names
        .into_iter()
        .zip(own)
        .map(|(name, (own, again))| equal(&format!("costs.{name}"), own, again, scale))
        .collect();
    let excess =
        |breaches: &[Breach]| breaches.iter().map(|breach| breach.energy.as_kwh()).sum::<f64>();
    let paid = |peak: Option<Power>| peak.map_or(0.0, Power::as_kw);
    let [peak, export_peak] = [books.peak, books.export_peak].map(Option::unwrap_or_default);
    checks.extend([
        equal("total_cost", plan.cost.as_amount(), books.costs.total().as_amount(), scale),
        equal("stored_value", plan.stored_value.as_amount(), books.stored_value, scale),
        equal("peak_kw", paid(plan.peak), peak, peak),
        equal("export_peak_kw", paid(plan.export_peak), export_peak, export_peak),
        equal("carbon_kg", plan.carbon_kg, books.carbon_kg, 0.0),
        Check::rule("breaches", plan.breaches.len().abs_diff(books.breaches.len()) as f64, 0.0),
        equal("breaches.energy_kwh", excess(&plan.breaches), excess(&books.breaches), 0.0),
    ]);
    checks
}

/// Checks of the certificate: its programme, its tolerance, and then bound, cost, gap and proof.
fn check_certificate(
    request: &SiteRequest,
    model: &SiteModel,
    books: &Books,
    columns: &[f64],
    plan: &SitePlan,
) -> Vec<Check> {
    let SiteCertificate { cost, bound, allowance, tolerance, evidence } = &plan.certificate;
    let in_money = |units: f64| units * model.unit + model.constant;
    let program = &model.program;
    let before: Vec<Objective> = before_money(model);
    let most: Vec<f64> = before.iter().map(|objective| value_of(objective, columns)).collect();
    let objectives = evidence.objective_prices.clone();
    let duals = Duals { rows: evidence.duals.clone(), objectives };
    let by_duals = in_money(bound_by_duals(program, &before, &most, &duals));
    let searched = evidence.searched.map_or(f64::NEG_INFINITY, Money::as_amount);
    let again = (books.costs.total() - money(books.stored_value)).as_amount();
    let rounding = tolerance_of(model, columns) * model.unit;
    let near = |line: &str, stated: f64, computed: f64| Check {
        line: line.to_owned(),
        stated,
        computed,
        tolerance: rounding,
    };
    let priced: f64 = program.columns.iter().zip(columns).map(|(c, value)| c.cost * value).sum();
    let budget = request.allowance().as_amount();
    let (cost, bound) = (cost.as_amount(), bound.as_amount());
    let is_near = cost + rounding >= bound && cost - bound - allowance.as_amount() <= rounding;
    vec![
        // The bound is one on the costs of the columns, so these have to be the cost of the plan.
        near("programme", again, in_money(priced)),
        Check::equal("allowance", allowance.as_amount(), budget, budget),
        // More tolerance than that would let a gap count as rounding.
        Check::rule(
            "tolerance",
            tolerance.as_amount() - rounding,
            SOLVER_AGREEMENT * rounding + f64::MIN_POSITIVE,
        ),
        near("bound_by_duals", evidence.bound_by_duals.as_amount(), by_duals),
        near("bound", bound, by_duals.max(searched)),
        near("cost", cost, again),
        // A plan whose status is `optimal` has no gap.
        Check::rule("status", f64::from(u8::from(plan.status.is_optimal() && !is_near)), 0.0),
    ]
}

/// Largest excess over a row, a bound or a rule, with the tolerance of that one.
#[derive(Debug, Clone, Copy, Default)]
struct Excess {
    kwh: f64,
    tolerance: f64,
}

impl Excess {
    /// Keeps `kwh` if it is more than before, relative to what counts as rounding.
    fn add(&mut self, kwh: f64, size: f64) {
        let tolerance = allowed(SITE_MIN_KWH, size);
        if self.tolerance == 0.0 || kwh * self.tolerance > self.kwh * tolerance {
            *self = Self { kwh, tolerance };
        }
    }

    fn check(self, line: &str) -> Check {
        Check::rule(line, self.kwh, self.tolerance)
    }
}

/// Excesses over the columns and rows of a programme, by what they belong to.
struct Excesses {
    /// Powers of each device.
    powers: Vec<Excess>,
    /// Levels, taper, sums and targets of each device.
    levels: Vec<Excess>,
    limits: Vec<Excess>,
    /// Balance of the meter, peak and blocks of energy.
    meter: Excess,
}

/// Values of all columns of a model, from the energies of its devices.
struct Values<'m> {
    model: &'m SiteModel,
    columns: Vec<f64>,
    /// Device that a column belongs to; none for a column of the meter, a peak or a block.
    owners: Vec<Option<usize>>,
    /// Columns that are the least that the rows leave: shortfalls, breaches, peak and blocks.
    is_open: Vec<bool>,
    /// Largest energy in a slot of each device that no column explains, in kWh.
    unexplained: Vec<f64>,
}

impl<'m> Values<'m> {
    fn new(model: &'m SiteModel, accounts: &[Account], books: &Books) -> Self {
        let count = model.program.columns.len();
        let mut values = Self {
            model,
            columns: model.program.columns.iter().map(|column| column.lower).collect(),
            owners: vec![None; count],
            is_open: vec![true; count],
            unexplained: vec![0.0; accounts.len()],
        };
        for (device, account) in accounts.iter().enumerate() {
            values.set_storage(device, account);
            values.set_solar(device, account);
            values.set_start(device, account);
            values.set_room(device, account);
        }
        for (slot, meter) in model.meters.iter().enumerate() {
            if let Some(meter) = meter {
                values.set(meter.import, None, books.import[slot]);
                values.set(meter.export, None, books.export[slot]);
            }
        }
        values.find_unexplained(accounts);
        for miss in &model.misses {
            values.owners[miss.column] = Some(miss.device);
        }
        values.complete();
        values
    }

    fn set(&mut self, column: usize, owner: Option<usize>, value: f64) {
        self.columns[column] = value;
        self.owners[column] = owner;
        self.is_open[column] = false;
    }

    /// Charges, discharges, levels and what drives lack.
    fn set_storage(&mut self, device: usize, account: &Account) {
        let model = self.model;
        let Some(storage) = &model.storages[device] else { return };
        let course = Course::new(storage, &account.drawn, &account.fed);
        let columns = &model.columns[device];
        for (index, slot) in storage.stay.clone().enumerate() {
            self.set(columns.charge[index], Some(device), account.drawn[slot]);
            if let Some(discharge) = columns.discharge[index] {
                self.set(discharge, Some(device), account.fed[slot]);
            }
            if let Some(&level) = columns.level.get(index) {
                self.set(level, Some(device), course.levels[slot + 1]);
            }
        }
        for guard in columns.spared.iter().map(|&position| &model.guards[position]) {
            let most = model.program.columns[guard.gate].upper;
            let is_spared = guard.allows_gate(&self.columns);
            self.set(guard.gate, Some(device), if is_spared { most } else { 0.0 });
        }
        let lacks = model.misses.iter().filter(|miss| miss.kind == MissKind::Drive);
        for miss in lacks.filter(|miss| miss.device == device) {
            let driven = course.driven(miss.goal + 1) - course.driven(miss.goal);
            let lack = storage.drives[miss.goal].energy - driven;
            self.set(miss.column, Some(device), lack / storage.efficiency_in);
        }
    }

    /// Energies of a heat unit, and what they add to its room.
    fn set_room(&mut self, device: usize, account: &Account) {
        let model = self.model;
        let Some(room) = &model.rooms[device] else { return };
        let columns = &model.room_columns[device];
        for (&used, &slot) in columns.used.iter().zip(&room.slots) {
            if let Some((used, slot)) = used.zip(slot) {
                self.set(used, Some(device), account.drawn[slot]);
            }
        }
        for (&added, kwh) in columns.added.iter().zip(room.added(&account.drawn)) {
            if let Some(added) = added {
                self.set(added, Some(device), kwh);
            }
        }
    }

    /// Solar power that can be turned down.
    fn set_solar(&mut self, device: usize, account: &Account) {
        let model = self.model;
        for (slot, flows) in model.flows.iter().enumerate() {
            for flow in flows.iter().filter(|flow| flow.device == device) {
                if self.is_open[flow.column] && flow.weight < 0.0 {
                    self.set(flow.column, Some(device), account.fed[slot] / -flow.weight);
                }
            }
        }
    }

    /// The start of a shiftable load that comes closest to its energies; none may come closest.
    fn set_start(&mut self, device: usize, account: &Account) {
        let model = self.model;
        let all: f64 = (0..model.grid.len()).map(|slot| account.net(slot).abs()).sum();
        let mut best = (all, None);
        for start in model.starts.iter().filter(|start| start.device == device) {
            self.set(start.column, Some(device), 0.0);
        }
        // Distance from the energies, by start: that without a run, and the change by the run.
        let mut distances = BTreeMap::new();
        for (slot, flows) in model.flows.iter().enumerate() {
            let net = account.net(slot);
            for flow in flows.iter().filter(|flow| flow.device == device && flow.weight > 0.0) {
                let distance = distances.entry(flow.column).or_insert(all);
                *distance += (net - flow.weight).abs() - net.abs();
            }
        }
        for start in model.starts.iter().filter(|start| start.device == device) {
            let distance = distances.get(&start.column).copied().unwrap_or(all);
            if distance < best.0 {
                best = (distance, Some(start.column));
            }
        }
        if let Some(column) = best.1 {
            self.columns[column] = 1.0;
        }
    }

    /// Sets the largest energy of each device that its columns and fixed energies do not explain.
    fn find_unexplained(&mut self, accounts: &[Account]) {
        for slot in 0..self.model.grid.len() {
            let mut rest: Vec<f64> = accounts.iter().map(|account| account.net(slot)).collect();
            for (rest, fixed) in rest.iter_mut().zip(&self.model.fixed) {
                *rest -= fixed[slot];
            }
            for flow in &self.model.flows[slot] {
                rest[flow.device] -= flow.weight * self.columns[flow.column];
            }
            for (most, rest) in self.unexplained.iter_mut().zip(rest) {
                *most = most.max(rest.abs());
            }
        }
    }

    /// Sum of the terms of a row.
    fn sum(&self, terms: &[(usize, f64)]) -> f64 {
        terms.iter().map(|&(column, weight)| weight * self.columns[column]).sum()
    }

    /// Raises the open columns to the least values that keep the rows. A row with several of them
    /// is that of the blocks of energy, which fill in their order.
    fn complete(&mut self) {
        for row in &self.model.program.rows {
            let is_open = |&&(column, _): &&(usize, f64)| self.is_open[column];
            let open: Vec<(usize, f64)> = row.terms.iter().filter(is_open).copied().collect();
            for (column, weight) in open {
                let sum = self.sum(&row.terms);
                let missing = if weight > 0.0 { row.lower - sum } else { sum - row.upper };
                self.raise(column, missing / weight.abs());
            }
        }
        // A goal after a missed one binds only then, by a guard.
        for guard in &self.model.guards {
            let is_open = |&&(column, _): &&(usize, f64)| self.is_open[column];
            let open = guard.terms.iter().find(is_open).copied();
            if let Some((column, weight)) = open.filter(|(_, weight)| *weight > 0.0)
                && !guard.is_kept(&self.columns)
            {
                self.raise(column, (guard.least - self.sum(&guard.terms)) / weight);
            }
        }
    }

    fn raise(&mut self, column: usize, by: f64) {
        let room = self.model.program.columns[column].upper - self.columns[column];
        self.columns[column] += by.clamp(0.0, room.max(0.0));
    }

    /// Excesses over all bounds and rows.
    fn excesses(&self) -> Excesses {
        let none = Excess::default();
        let devices = self.model.storages.len();
        let mut excesses = Excesses {
            powers: self.unexplained.iter().map(|_| none).collect(),
            levels: vec![none; devices],
            limits: vec![none; self.model.limits.len()],
            meter: none,
        };
        for (excess, &kwh) in excesses.powers.iter_mut().zip(&self.unexplained) {
            excess.add(kwh, 1.0);
        }
        for (index, column) in self.model.program.columns.iter().enumerate() {
            let value = self.columns[index];
            let excess = (column.lower - value).max(value - column.upper);
            let of = self.owners[index].map(|device| &mut excesses.powers[device]);
            of.unwrap_or(&mut excesses.meter).add(excess, value);
        }
        let mut of_limit = vec![None; self.model.program.rows.len()];
        for (index, limit) in self.model.limits.iter().enumerate() {
            for &row in limit.rows.iter().flatten().flatten() {
                of_limit[row] = Some(index);
            }
        }
        for (index, row) in self.model.program.rows.iter().enumerate() {
            let sum = self.sum(&row.terms);
            let (below, above) = (row.lower - sum, sum - row.upper);
            let of = match (of_limit[index], self.owner_of(&row.terms)) {
                (Some(limit), _) => &mut excesses.limits[limit],
                (None, Some(device)) => &mut excesses.levels[device],
                (None, None) => &mut excesses.meter,
            };
            of.add(below.max(above), if below > above { row.lower } else { row.upper });
        }
        excesses
    }

    /// Device that all columns of a row belong to, but for one that is open.
    fn owner_of(&self, terms: &[(usize, f64)]) -> Option<usize> {
        let peaks = [self.model.peak, self.model.export_peak];
        let mut owner = None;
        for &(column, _) in terms {
            match self.owners[column] {
                None if self.is_open[column] && !peaks.contains(&Some(column)) => {}
                None => return None,
                own if owner.is_none() || own == owner => owner = own,
                Some(_) => return None,
            }
        }
        owner
    }

    /// Checks of the powers, levels and rules of on and off of a device.
    fn check_rules(&self, device: usize, excesses: &Excesses) -> [Check; 4] {
        let line = |name: &str| format!("devices[{device}].{name}");
        let semis = self.model.semis.iter().filter(|semi| semi.device == device);
        let low = semis.filter(|semi| !self.model.keeps_least(semi, &self.columns)).count();
        let is_own = |guard: &&Guard| self.owners[guard.gate] == Some(device);
        let guards = self.model.guards.iter().filter(is_own);
        let open = guards.filter(|guard| !guard.is_kept(&self.columns)).count();
        [
            excesses.powers[device].check(&line("power_kw")),
            excesses.levels[device].check(&line("levels")),
            Check::rule(line("power_min_kw"), low as f64, 0.0),
            Check::rule(line("conditions"), open as f64, 0.0),
        ]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lp::Limits;
    use crate::plan::charge::request::Target;
    use crate::plan::charge::vehicle::SocTarget;
    use crate::plan::site::device::{Device, Phase};
    use crate::plan::site::planner::{plan_site, plan_within};
    use crate::plan::site::request::tests::{
        at, battery_of, demand, discharge, group, hard, home, house, site, sun, tiers, van, washer,
    };
    use crate::plan::site::request::{Preference, SiteRequest};
    use crate::plan::storage::request::Consumption;
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, money, per_kwh, percent};

    /// Lines that fail once the plan of a request is changed.
    fn failing(request: &SiteRequest, change: impl FnOnce(&mut SitePlan)) -> Vec<String> {
        let problem = SiteProblem::new(request.clone()).unwrap();
        let mut plan = plan_site(&problem);
        change(&mut plan);
        let checks = verify(&problem, &plan);
        checks.into_iter().filter(|check| !check.holds()).map(|check| check.line).collect()
    }

    /// Two vans under one limit, a battery, the sun and a house, with prices to sell at.
    fn everything(cents: &[i32]) -> SiteRequest {
        let (mut a, mut b) = (van("a", 5.0, 6.0), van("b", 5.0, 4.0));
        a.targets[0].by = Some(at(180));
        b.priority = 2.0;
        let mut home = home(3.0, 6.0, 50.0);
        home.discharge.efficiency = 0.9;
        home.discharge.wear = per_kwh(0.01);
        home.end_value = per_kwh(0.08);
        let hours = cents.len();
        let sunshine: Vec<f64> = (0..hours).map(|hour| [0.0, 2.0, 4.0, 1.0][hour % 4]).collect();
        let devices = [
            Device::Vehicle(a),
            Device::Vehicle(b),
            Device::Battery(home),
            sun(&sunshine, true),
            house(&vec![0.7; hours]),
        ];
        let mut request = site(cents, &devices);
        request.export_prices = Some(curve_of(60, &vec![4; hours]));
        request.import_limit = Some(hard(6.0));
        request
    }

    const CENTS: [i32; 6] = [30, 12, 25, 40, 8, 22];

    #[test]
    fn a_changed_flow_is_named() {
        let request = everything(&CENTS);
        assert_eq!(failing(&request, |_| ()), [""; 0]);
        let moved = failing(&request, |plan| {
            let power = &mut plan.devices[0].power;
            (power[1], power[0]) = (power[1] - kw(0.5), power[0] + kw(0.5));
        });
        assert!(moved.contains(&"slots[0].import_kwh".to_owned()), "{moved:?}");
        assert!(moved.contains(&"cost".to_owned()), "{moved:?}");
        let more = failing(&request, |plan| plan.devices[1].power[4] = kw(5.5));
        assert!(more.contains(&"devices[1].power_kw".to_owned()), "{more:?}");
        let house = failing(&request, |plan| plan.devices[4].power[0] = kw(0.6));
        assert!(house.contains(&"devices[4].power_kw".to_owned()), "{house:?}");
        let drained = failing(&request, |plan| plan.devices[2].power = vec![kw(-3.0); 6]);
        assert!(drained.contains(&"devices[2].power_kw".to_owned()), "{drained:?}");
    }

    #[test]
    fn a_changed_price_is_named() {
        let request = everything(&CENTS);
        let slot = |change: fn(&mut SiteSlot)| failing(&request, |plan| change(&mut plan.slots[1]));
        let import = slot(|slot| slot.import_price = per_kwh(0.11));
        assert_eq!(import, ["slots[1].import_price_per_kwh"]);
        assert_eq!(slot(|s| s.export_price = per_kwh(0.05)), ["slots[1].export_price_per_kwh"]);
        assert_eq!(slot(|s| s.carbon_kg_per_kwh = 0.1), ["slots[1].carbon_kg_per_kwh"]);
        // The same plan, for a request with another price.
        let plan = plan_site(&SiteProblem::new(request).unwrap());
        let mut other = CENTS;
        other[4] = 7;
        let checks = verify(&SiteProblem::new(everything(&other)).unwrap(), &plan);
        let failed: Vec<&str> =
            checks.iter().filter(|check| !check.holds()).map(|c| c.line.as_str()).collect();
        for line in ["slots[4].import_price_per_kwh", "costs.energy", "bound_by_duals", "cost"] {
            assert!(failed.contains(&line), "{line} in {failed:?}");
        }
    }

    #[test]
    fn each_dual_that_counts_is_named() {
        let request = everything(&CENTS);
        let plan = plan_site(&SiteProblem::new(request.clone()).unwrap());
        let duals = &plan.certificate.evidence.duals;
        let counts = |row: &usize| duals[*row].abs() > 1e-6;
        let rows: Vec<usize> = (0..duals.len()).filter(counts).collect();
        assert!(!rows.is_empty());
        // A dual off its best value proves less, unless it is one of several best ones.
        let named = |step: f64| {
            let change =
                |row: usize| failing(&request, |plan| plan.certificate.evidence.duals[row] += step);
            rows.iter().filter(|row| change(**row) == ["bound_by_duals", "bound"]).count()
        };
        assert_eq!(named(0.5), rows.len());
        assert_eq!(named(-0.5), rows.len());
        let fewer = failing(&request, |plan| {
            plan.certificate.evidence.duals.pop();
        });
        assert_eq!(fewer, ["duals"]);
    }

    #[test]
    fn a_changed_statement_is_named() {
        let request = everything(&CENTS);
        let stated = |change: fn(&mut SiteCertificate)| {
            failing(&request, |plan| change(&mut plan.certificate))
        };
        assert_eq!(stated(|c| c.cost = c.cost - money(0.01)), ["cost", "status"]);
        assert_eq!(stated(|c| c.bound = c.bound - money(0.01)), ["bound", "status"]);
        assert_eq!(stated(|c| c.bound = c.bound + money(0.01)), ["bound", "status"]);
        assert_eq!(stated(|c| c.allowance = money(1.0)), ["allowance"]);
        assert_eq!(stated(|c| c.tolerance = money(1.0)), ["tolerance"]);
        let by_duals = stated(|c| c.evidence.bound_by_duals = money(-9.0));
        assert_eq!(by_duals, ["bound_by_duals"]);
        let change = |change: fn(&mut SitePlan)| failing(&request, change);
        assert_eq!(change(|plan| plan.cost = money(0.0)), ["total_cost"]);
        assert_eq!(change(|plan| plan.costs.wear = money(7.0)), ["costs.wear"]);
        assert_eq!(change(|plan| plan.stored_value = money(7.0)), ["stored_value"]);
        assert_eq!(change(|plan| plan.limits[0].power[0] = kw(9.0)), ["limits[0].power_kw"]);
        assert_eq!(change(|plan| plan.limits[0].limit[0] = None), ["limits[0].limit_kw"]);
        let soc = change(|plan| plan.devices[2].soc[3] = percent(1.0));
        assert_eq!(soc, ["devices[2].soc_percent"]);
        let energy = change(|plan| plan.devices[0].energy = kwh(9.0));
        assert_eq!(energy, ["devices[0].energy_kwh"]);
        let wish = change(|plan| plan.devices[0].wishes[0].shortfall = kwh(1.0));
        assert_eq!(wish, ["devices[0].wishes"]);
        assert_eq!(change(|plan| plan.slots.truncate(3))[0], "slots");
        assert_eq!(change(|plan| drop(plan.devices.pop())), ["devices"]);
    }

    /// Requests with shortfalls, peaks, blocks, breaches, whole numbers, drives and preferences.
    fn requests() -> Vec<(&'static str, SiteRequest)> {
        let mut all = vec![("everything", everything(&CENTS))];
        let mut short = everything(&CENTS);
        short.import_limit = Some(hard(1.5));
        all.push(("short", short));
        let mut peak = everything(&CENTS);
        peak.demand_charge = Some(demand(1.0, 1.0));
        peak.tiers = Some(tiers(&[(2.0, 0.01), (6.0, 0.03), (f64::INFINITY, 0.2)], 1.0));
        all.push(("peak", peak));
        let mut feeding = everything(&CENTS);
        feeding.export_demand_charge = Some(demand(0.1, 0.5));
        all.push(("export peak", feeding));
        let mut breach = everything(&CENTS);
        breach.import_limit = Some(hard(1.0));
        breach.import_limit.as_mut().unwrap().breach_price = Some(per_kwh(0.05));
        all.push(("breach", breach));
        let mut broken =
            site(&[10, 20], &[Device::Vehicle(van("van", 5.0, 4.0)), house(&[3.0; 2])]);
        broken.import_limit = Some(hard(2.0));
        all.push(("hard limit that cannot be kept", broken));
        let mut slow = van("slow", 4.0, 5.0);
        slow.power_min = kw(2.0);
        let devices = [Device::Vehicle(slow), Device::Shiftable(washer(2.0, 90.0))];
        let mut whole = site(&[10, 30, 20, 40], &devices);
        whole.import_limit = Some(hard(5.0));
        all.push(("whole numbers", whole));
        let mut car = van("car", 4.0, 0.0);
        car.targets.clear();
        car.battery = Some(battery_of(20.0, 40.0));
        car.discharge = Some(discharge(4.0));
        car.reserve = percent(20.0);
        car.soc_targets.push(SocTarget { by: Some(at(300)), soc: Some(percent(60.0)) });
        let (start, end) = (at(60), at(120));
        car.consumption = vec![Consumption { start, end, energy: kwh(14.0), is_plugged_in: false }];
        let mut drive = site(&CENTS, &[Device::Vehicle(car)]);
        drive.export_prices = Some(curve_of(60, &[20; 6]));
        all.push(("drive", drive));
        let mut phases = everything(&CENTS);
        for device in &mut phases.devices[..2] {
            let Device::Vehicle(vehicle) = device else { unreachable!() };
            (vehicle.group, vehicle.phases) = (Some("garage".to_owned()), vec![Phase::L1]);
        }
        phases.groups = vec![group("garage", None, Some(hard(5.0)))];
        phases.groups[0].phase_limit = Some(hard(4.0));
        phases.preferences = vec![Preference::Fairer, Preference::Smoother];
        phases.preference_budget = money(0.1);
        all.push(("phases", phases));
        let mut paid = everything(&[-20, 12, -25, 40, 8, 22]);
        paid.import_limit = None;
        all.push(("negative prices", paid));
        let mut late = everything(&CENTS);
        let Device::Vehicle(a) = &mut late.devices[0] else { unreachable!() };
        a.targets = vec![Target { by: Some(at(60)), energy: kwh(8.0) }];
        all.push(("late", late));
        all
    }

    #[test]
    fn plans_of_every_kind_hold() {
        for (name, request) in requests() {
            assert_eq!(failing(&request, |_| ()), [""; 0], "{name}");
        }
    }

    #[test]
    fn plans_that_a_limit_ended_hold() {
        for (name, request) in requests() {
            let problem = SiteProblem::new(request).unwrap();
            for limits in [
                Limits { iterations: 0, ..Limits::default() },
                Limits { nodes: 1, ..Limits::default() },
            ] {
                let plan = plan_within(&problem, &limits);
                let checks = verify(&problem, &plan);
                let failed: Vec<&Check> = checks.iter().filter(|check| !check.holds()).collect();
                assert!(failed.is_empty(), "{name}, {:?}: {failed:?}", plan.status);
            }
        }
    }

    #[test]
    fn duals_prove_plans_without_whole_numbers() {
        for (name, request) in requests() {
            let plan = plan_site(&SiteProblem::new(request).unwrap());
            let searched = plan.certificate.evidence.searched;
            let needs_whole = ["whole numbers", "drive", "negative prices"].contains(&name);
            assert!(searched.is_none() || needs_whole, "{name}: {:?}", plan.certificate);
        }
    }

    #[test]
    fn evidence_survives_its_json_and_may_be_missing() {
        let request = everything(&CENTS);
        let problem = SiteProblem::new(request).unwrap();
        let plan = plan_site(&problem);
        let mut data = serde_json::to_value(&plan).unwrap();
        let same: SitePlan = serde_json::from_value(data.clone()).unwrap();
        assert!(verify(&problem, &same).iter().all(Check::holds));
        data["certificate"].as_object_mut().unwrap().remove("evidence");
        let bare: SitePlan = serde_json::from_value(data).unwrap();
        let failed: Vec<Check> =
            verify(&problem, &bare).into_iter().filter(|check| !check.holds()).collect();
        assert_eq!(failed.iter().map(|c| c.line.as_str()).collect::<Vec<_>>(), ["duals"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Every plan of the engine holds, and any other power of a van does not.
        #[test]
        fn honest_plans_hold(
            cents in prop::collection::vec(-20..60i32, 4..9), limit in 1.0..9.0f64,
            wanted in 0.0..20.0f64, slot in 0..4usize,
        ) {
            let mut request = everything(&cents);
            request.import_limit = Some(hard(limit));
            let Device::Vehicle(a) = &mut request.devices[0] else { unreachable!() };
            a.targets[0].energy = kwh(wanted);
            prop_assert_eq!(failing(&request, |_| ()), [""; 0]);
            let changed = failing(&request, |plan| {
                let power = &mut plan.devices[0].power[slot];
                *power = *power + kw(0.01);
            });
            prop_assert!(!changed.is_empty());
        }
    }
}

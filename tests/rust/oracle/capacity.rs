//! Plans under a price of power as mixed-integer programmes on HiGHS, in quarter-hours of the clocks.
//!
//! Windows, days, weeks and months are read off the clocks here, minute by minute. A mean of the
//! highest powers is at least the mean of each subset of so many, and each step of a price has a
//! whole number that says whether it is taken.
use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, NaiveDateTime, TimeDelta, Timelike, Utc};
use chrono_tz::Tz;
use good_lp::solvers::highs::highs;
use good_lp::{
    Expression, ProblemVariables, Solution, SolverModel, Variable, constraint, variable,
};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use slackwater_engine::Money;
use slackwater_engine::bill::invoice::{Contract, bill_month};
use slackwater_engine::bill::load::{EarlierPeak, EnergyPeriod, MeteredLoad};
use slackwater_engine::bill::tariff::BillingTariff;
use slackwater_engine::plan::capacity::certificate::certify;
use slackwater_engine::plan::capacity::plan::{CapacityPlan, plan_capacity};
use slackwater_engine::plan::capacity::request::{CapacityProblem, CapacityRequest, LoadPeriod};
use slackwater_engine::plan::capacity::verify::verify;
use slackwater_engine::plan::charge::{Battery, SocTarget};
use slackwater_engine::plan::storage::StorageRequest;
use slackwater_engine::plan::{Check, Stated};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{kw, kwh, per_kwh, percent};

use crate::runner::{for_all, near};

/// Days with a change of clocks or the end of a month within, and an ordinary one.
const PLACES: [(&str, &str); 6] = [
    ("Europe/Oslo", "2026-03-28T17:00:00Z"),
    ("Europe/Brussels", "2026-10-24T17:15:00Z"),
    ("America/St_Johns", "2026-03-08T01:30:00Z"),
    ("Europe/Oslo", "2026-01-31T15:45:00Z"),
    ("Asia/Kolkata", "2026-05-31T13:00:00Z"),
    ("Europe/Brussels", "2026-07-08T10:30:00Z"),
];

/// Powers of steps, and their prices a month.
const STEPS: [(f64, f64); 4] = [(0.0, 1.0), (2.0, 3.0), (5.0, 7.5), (8.0, 16.0)];

/// Rule of a price of power.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rule {
    minutes: i64,
    highest: usize,
    /// One power a day or a week; all windows of the month compete without it.
    one_per: Option<&'static str>,
    /// Weight from 22:00 to 06:00.
    night: f64,
    /// Price per kW and month; none for the steps.
    price: Option<f64>,
    /// Least power of a month, of which twelve make a mean.
    floor: Option<f64>,
}

/// A battery, its meter and the prices, in kW, kWh and currency.
#[derive(Debug, Clone)]
struct Case {
    place: (&'static str, &'static str),
    rule: Rule,
    taxed: bool,
    slot_minutes: i64,
    prices: Vec<f64>,
    export_share: f64,
    loads: Vec<f64>,
    /// Quarter-hours before the plan, and powers.
    peaks: Vec<(i64, f64)>,
    soc: f64,
    efficiencies: (f64, f64),
    powers: (f64, f64),
    /// Quarter-hour of a target, and its share of what full power reaches.
    target: Option<(i64, f64)>,
    end_value: f64,
    wear: f64,
}

const CAPACITY: f64 = 20.0;

/// Group as the clocks name it: year and month, and year and day or week.
type Key = (i32, u32, i32, u32);

impl Case {
    fn now(&self) -> DateTime<Utc> {
        self.place.1.parse().expect("an instant")
    }

    fn local(&self, at: DateTime<Utc>) -> NaiveDateTime {
        let zone: Tz = self.place.0.parse().expect("a zone");
        at.with_timezone(&zone).naive_local()
    }

    fn cells(&self) -> usize {
        self.prices.len() * (self.slot_minutes / 15) as usize
    }

    fn at(&self, cell: i64) -> DateTime<Utc> {
        self.now() + TimeDelta::minutes(15 * cell)
    }

    fn price(&self, cell: usize) -> f64 {
        self.prices[cell / (self.slot_minutes / 15) as usize]
    }

    /// Start of the window of an instant, as an instant.
    fn window(&self, at: DateTime<Utc>) -> DateTime<Utc> {
        let minute = i64::from(self.local(at).minute());
        at - TimeDelta::minutes(minute % self.rule.minutes)
    }

    /// Group and weight of a window, by its start.
    fn key(&self, at: DateTime<Utc>) -> (Key, f64) {
        let local = self.local(self.window(at));
        let (year, part) = match self.rule.one_per {
            Some("day") => (local.year(), local.ordinal()),
            Some(_) => (local.iso_week().year(), local.iso_week().week()),
            None => (0, 0),
        };
        let is_night = local.hour() >= 22 || local.hour() < 6;
        let weight = if is_night { self.rule.night } else { 1.0 };
        ((local.year(), local.month(), year, part), weight)
    }

    fn tariff(&self) -> BillingTariff {
        let rule = &self.rule;
        let window = match rule.minutes {
            15 => "quarter_hour",
            30 => "half_hour",
            _ => "hour",
        };
        let mut demand = json!({"window": window, "highest": rule.highest, "weights": [
            {"factor": rule.night.to_string(), "when": {"times": ["22:00-06:00"]}}]});
        if let Some(period) = rule.one_per {
            demand["one_per"] = period.into();
        }
        if let Some(floor) = rule.floor {
            demand["months"] = 12.into();
            demand["of_months"] = "mean".into();
            demand["month_floor_kw"] = floor.to_string().into();
        }
        let steps = STEPS
            .map(|(from, price)| json!({"from": from.to_string(), "price": price.to_string()}));
        let charge = rule.price.map_or_else(
            || json!({"per": "month", "at_threshold": "upper", "steps": steps}),
            |price| json!({"per": "month", "price": format!("{price:.4}")}),
        );
        let percent = if self.taxed { "25" } else { "0" };
        let components: Vec<Value> = vec![
            json!({"id": "power", "kind": "capacity", "category": "network",
                "demand": demand, "charge": charge}),
            json!({"id": "tax", "kind": "percentage", "category": "tax", "percent": percent}),
        ];
        serde_json::from_value(json!({
            "name": "Test", "operator": "Test", "country": "NO", "currency": "NOK",
            "time_zone": self.place.0, "valid_from": "2020-01-01", "vat": "added",
            "rounding": {"decimals": 6, "half": "away_from_zero"},
            "sources": [{"document": "Test", "url": "https://example.org"}],
            "components": components,
        }))
        .expect("a tariff")
    }

    /// Stored energy wanted at the target.
    fn wanted_kwh(&self) -> f64 {
        let (by, share) = self.target.unwrap_or((0, 0.0));
        let added = self.powers.0 * self.efficiencies.0 * by as f64 / 4.0;
        share * (CAPACITY * self.soc / 100.0 + added).min(CAPACITY)
    }

    fn curve(&self, share: f64) -> PriceCurve {
        let step = TimeDelta::minutes(self.slot_minutes);
        let horizon = Horizon::steps(self.now(), step, self.prices.len()).expect("a horizon");
        let prices = self.prices.iter().map(|price| price * share).collect();
        PriceCurve::from_parts(horizon, prices).expect("prices")
    }

    fn problem(&self) -> CapacityProblem {
        let battery = Battery {
            capacity: kwh(CAPACITY),
            soc: Some(percent(self.soc)),
            soc_fallback: None,
            charge_limit: percent(100.0),
            efficiency: self.efficiencies.0,
        };
        let mut storage = StorageRequest::new(self.now(), battery, kw(self.powers.0));
        storage.discharge_max = kw(self.powers.1);
        storage.efficiency_discharge = self.efficiencies.1;
        storage.end_value = Some(per_kwh(self.end_value));
        storage.wear_price = per_kwh(self.wear);
        let target = |(cell, _): (i64, f64)| SocTarget {
            by: Some(self.at(cell)),
            soc: Some(percent(self.wanted_kwh() / CAPACITY * 100.0)),
        };
        storage.targets = self.target.map(target).into_iter().collect();
        let load = (0..self.cells()).map(|cell| LoadPeriod {
            start: self.at(cell as i64),
            end: self.at(cell as i64 + 1),
            power: kw(self.loads[cell % self.loads.len()]),
        });
        let peaks = self.peaks.iter();
        let peaks =
            peaks.map(|&(back, power)| EarlierPeak { at: self.at(-back), power: kw(power) });
        let (load, peaks) = (load.collect(), peaks.collect());
        let tariff = self.tariff();
        CapacityProblem::new(CapacityRequest { storage, tariff, load, peaks }).expect("a problem")
    }

    fn plan(&self) -> CapacityPlan {
        let (import, export) = (self.curve(1.0), self.curve(self.export_share));
        plan_capacity(&import, Some(&export), &self.problem()).expect("a plan")
    }
}

/// Level of a group, if the plan has slots in it, and its power before the plan.
type Level = (Option<Variable>, f64);

/// The programme of a case.
struct Model<'a> {
    case: &'a Case,
    variables: ProblemVariables,
    cost: Expression,
    rows: Vec<good_lp::Constraint>,
    /// Powers by group: those of the plan, and the one before.
    groups: BTreeMap<Key, Level>,
}

impl<'a> Model<'a> {
    fn new(case: &'a Case) -> Self {
        let (variables, cost) = (ProblemVariables::new(), Expression::default());
        let mut model = Self { case, variables, cost, rows: Vec::new(), groups: BTreeMap::new() };
        for &(back, power) in &case.peaks {
            let (key, weight) = case.key(case.at(-back));
            let known = &mut model.groups.entry(key).or_default().1;
            *known = known.max(weight * power);
        }
        model
    }

    /// Quarter-hours of each window of the plan; the target cuts a window.
    fn pieces(&self) -> Vec<Vec<usize>> {
        let case = self.case;
        let mut pieces: Vec<Vec<usize>> = Vec::new();
        let mut last = None;
        for cell in 0..case.cells() {
            let is_after = case.target.is_some_and(|(by, _)| cell as i64 >= by);
            let name = (case.window(case.at(cell as i64)), is_after);
            if last != Some(name) {
                pieces.push(Vec::new());
            }
            last = Some(name);
            pieces.last_mut().expect("a piece").push(cell);
        }
        pieces
    }

    /// Level of the group of an instant, and the weight of its window; none if that is zero.
    fn level(&mut self, at: DateTime<Utc>) -> Option<(Variable, f64)> {
        let (key, weight) = self.case.key(at);
        if weight == 0.0 {
            return None;
        }
        let (level, before) = self.groups.entry(key).or_default();
        let least = *before;
        let variables = &mut self.variables;
        let level = *level.get_or_insert_with(|| variables.add(variable().min(least)));
        Some((level, weight))
    }

    /// Adds battery and meter. `exclusive` forbids to charge and discharge, and to buy and sell, at
    /// once; at positive prices that never pays.
    fn add_battery(&mut self, exclusive: bool) {
        let case = self.case;
        let at_start = CAPACITY * case.soc / 100.0;
        let mut stored = Expression::from(at_start);
        for cells in self.pieces() {
            let hours = cells.len() as f64 / 4.0;
            let mean = |of: &dyn Fn(usize) -> f64| {
                cells.iter().map(|&cell| of(cell)).sum::<f64>() / cells.len() as f64
            };
            let price = mean(&|cell| case.price(cell));
            let load = mean(&|cell| case.loads[cell % case.loads.len()]) * hours;
            let (charge_max, discharge_max) = (case.powers.0 * hours, case.powers.1 * hours);
            let charged = self.variables.add(variable().min(0.0).max(charge_max));
            let discharged = self.variables.add(variable().min(0.0).max(discharge_max));
            let bought = self.variables.add(variable().min(0.0));
            let sold = self.variables.add(variable().min(0.0));
            if exclusive {
                let is_charging = self.variables.add(variable().binary());
                let buys = self.variables.add(variable().binary());
                let most = charge_max + discharge_max + load.abs();
                self.rows.push(constraint!(charged <= charge_max * is_charging));
                self.rows
                    .push(constraint!(discharged + discharge_max * is_charging <= discharge_max));
                self.rows.push(constraint!(bought <= most * buys));
                self.rows.push(constraint!(sold + most * buys <= most));
            }
            self.rows.push(constraint!(bought - sold == load + charged - discharged));
            self.cost += price * bought - price * case.export_share * sold;
            self.cost += case.wear / case.efficiencies.1 * discharged;
            let rise = case.efficiencies.0 * charged - 1.0 / case.efficiencies.1 * discharged;
            let end = cells[cells.len() - 1] as i64 + 1;
            let is_due = case.target.is_some_and(|(by, _)| by == end);
            let least = if is_due { case.wanted_kwh() } else { 0.0 };
            let next = self.variables.add(variable().min(least).max(CAPACITY));
            self.rows.push(constraint!(next == stored + rise));
            stored = next.into();
            if let Some((level, weight)) = self.level(case.at(cells[0] as i64)) {
                self.rows.push(constraint!(weight / hours * bought <= level));
            }
        }
        self.cost -= case.end_value * (stored - at_start);
    }

    /// Groups of the months of the plan.
    fn months(&self) -> Vec<Vec<Level>> {
        let mut months: BTreeMap<(i32, u32), Vec<Level>> = BTreeMap::new();
        for (key, group) in &self.groups {
            months.entry((key.0, key.1)).or_default().push(*group);
        }
        let is_planned = |groups: &Vec<Level>| groups.iter().any(|(level, _)| level.is_some());
        months.into_values().filter(is_planned).collect()
    }

    /// Adds the charges of the months, less those of the powers before the plan. Each month stays
    /// within its step.
    fn add_charges(&mut self, steps: &[usize]) {
        let case = self.case;
        let tax = if case.taxed { 1.25 } else { 1.0 };
        for (groups, step) in self.months().into_iter().zip(steps) {
            let power = self.variables.add(variable().min(case.rule.floor.unwrap_or(0.0)));
            let mut padded = groups.clone();
            padded.resize(groups.len().max(case.rule.highest), (None, 0.0));
            for subset in subsets(padded.len(), case.rule.highest) {
                let term = |&place: &usize| {
                    let (level, before) = padded[place];
                    level.map_or_else(|| Expression::from(before), Expression::from)
                };
                let sum: Expression = subset.iter().map(term).sum();
                self.rows.push(constraint!(sum <= case.rule.highest as f64 * power));
            }
            let before = mean_of_highest(groups.iter().map(|group| group.1), &case.rule);
            if let Some(price) = case.rule.price {
                self.cost += tax * price * power - tax * price * before;
                continue;
            }
            // A power at a threshold is in the step above: it stays a milliwatt below.
            if let Some(next) = STEPS.get(step + 1) {
                self.rows.push(constraint!(power <= next.0 - 1e-6));
            }
            let charged = STEPS.iter().rfind(|step| step.0 <= before).expect("a step").1;
            self.cost += tax * (STEPS[*step].1 - charged);
        }
    }

    /// Least cost within steps; none if no plan keeps them.
    fn least_within(mut self, steps: &[usize]) -> Option<f64> {
        self.add_charges(steps);
        let cost = self.cost.clone();
        let mut problem = self.variables.minimise(self.cost).using(highs).set_threads(1);
        for name in ["primal_feasibility_tolerance", "dual_feasibility_tolerance"] {
            problem = problem.set_option(name, 1e-10);
        }
        problem = problem.set_option("mip_rel_gap", 0.0).set_option("mip_abs_gap", 0.0);
        for row in self.rows {
            problem.add_constraint(row);
        }
        problem.solve().ok().map(|solution| solution.eval(&cost))
    }

    /// Least cost over all steps of all months.
    fn least_cost(case: &'a Case, exclusive: bool) -> f64 {
        let model = || {
            let mut model = Self::new(case);
            model.add_battery(exclusive);
            model
        };
        let each = if case.rule.price.is_some() { 1 } else { STEPS.len() };
        let months = model().months().len();
        let ways = (0..each.pow(months as u32)).filter_map(|way| {
            let steps: Vec<usize> =
                (0..months).map(|month| way / each.pow(month as u32) % each).collect();
            model().least_within(&steps)
        });
        ways.min_by(f64::total_cmp).expect("an idle battery is a plan")
    }
}

/// Mean of the highest of some powers, at least the floor.
fn mean_of_highest(powers: impl Iterator<Item = f64>, rule: &Rule) -> f64 {
    let mut powers: Vec<f64> = powers.collect();
    powers.sort_by(|a, b| b.total_cmp(a));
    let sum: f64 = powers.iter().take(rule.highest).sum();
    (sum / rule.highest as f64).max(rule.floor.unwrap_or(0.0))
}

fn subsets(count: usize, size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let with = (size - 1..count).flat_map(|last| {
        subsets(last, size - 1).into_iter().map(move |subset| [subset, vec![last]].concat())
    });
    with.collect()
}

fn rules() -> impl Strategy<Value = Rule> {
    let minutes = select(vec![15_i64, 30, 60]);
    let night = select(vec![1.0, 1.0, 0.5, 0.0]);
    (0..5_u8, minutes, night, 0..60_000_u32).prop_map(|(kind, minutes, night, price)| {
        let price = f64::from(price) / 1e4;
        let one =
            Rule { minutes, highest: 1, one_per: None, night, price: Some(price), floor: None };
        let days = Rule { highest: 3, one_per: Some("day"), ..one };
        match kind {
            0 => one,
            1 => Rule { floor: Some(2.5), ..one },
            2 => days,
            3 => Rule { price: None, ..if price < 2.0 { one } else { days } },
            _ => Rule { highest: 2, one_per: Some("week"), ..one },
        }
    })
}

/// Random cases of at most so many price slots.
fn cases(slots_max: usize, prices: std::ops::Range<f64>) -> BoxedStrategy<Case> {
    let meter = (
        prop::collection::vec(prices, slots_max),
        prop::collection::vec(-3.0..6.0_f64, 1..40),
        0.0..=1.0_f64,
        prop::collection::vec((1..400_i64, 0.0..9.0_f64), 0..4),
    );
    let efficiencies = (select(vec![1.0, 0.9, 0.8]), select(vec![1.0, 0.95]));
    let powers = (0.0..10.0_f64, select(vec![0.0, 3.0, 8.0]));
    let wishes = (
        0.0..=100.0_f64,
        prop::option::of((0..1000_i64, 0.0..=1.0_f64)),
        select(vec![0.0, 0.2]),
        select(vec![0.0, 0.05]),
    );
    let place = (select(PLACES.to_vec()), select(vec![15_i64, 30, 60]), any::<bool>());
    (place, rules(), meter, (efficiencies, powers), wishes)
        .prop_map(|(place, rule, meter, (efficiencies, powers), wishes)| {
            let (place, slot_minutes, taxed) = place;
            let (prices, loads, export_share, peaks) = meter;
            let (soc, target, end_value, wear) = wishes;
            let cells = prices.len() as i64 * slot_minutes / 15;
            let target = target.map(|(part, share)| (1 + part * (cells - 1) / 1000, share));
            Case {
                place,
                rule,
                taxed,
                slot_minutes,
                prices,
                export_share,
                loads,
                peaks,
                soc,
                efficiencies,
                powers,
                target,
                end_value,
                wear,
            }
        })
        .boxed()
}

#[test]
fn plans_cost_what_the_programme_costs() {
    for_all(300, &cases(40, 0.05..0.6), |case| {
        let plan = case.plan();
        let certificate = &plan.certificate;
        let least = Model::least_cost(&case, false);
        let cost = plan.cost.total().as_amount();
        prop_assert!(near(cost, least, 1e-6), "plan {cost}, HiGHS {least}");
        prop_assert!(certificate.is_proved(), "gap {}", certificate.gap().as_amount());
        prop_assert!(near(certificate.cost.as_amount(), cost, 1e-9), "{certificate:?}");
        if let Some(by_values) = certificate.bound_by_values {
            // Where a day is at full power anyway, the search proves more than the values.
            let slack = 1e-6 * least.abs().max(1.0);
            prop_assert!(by_values.as_amount() <= least + slack, "{by_values:?}, HiGHS {least}");
        }
        prop_assert_eq!(plan.shortfall, kwh(0.0));
        let again = certify(&plan.slots, certificate.evidence.clone()).expect("it is a plan");
        prop_assert_eq!(&again, certificate);
        let failed = failed(&plan);
        prop_assert!(failed.is_empty(), "{failed:?}");
        Ok(())
    });
}

/// Statements of the certificate that its own numbers do not give.
fn failed(plan: &CapacityPlan) -> Vec<Check> {
    let certificate = &plan.certificate;
    let stated = Stated {
        cost: certificate.cost.as_amount(),
        bound: certificate.bound.as_amount(),
        gap: certificate.gap().as_amount(),
        is_proved: certificate.is_proved(),
    };
    let by_values = certificate.bound_by_values.map(Money::as_amount);
    let checks = verify(&plan.slots, &certificate.evidence, by_values, stated);
    checks.into_iter().filter(|check| !check.holds()).collect()
}

#[test]
fn bounds_hold_where_prices_are_negative() {
    for_all(60, &cases(12, -0.4..0.6), |case| {
        let plan = case.plan();
        let least = Model::least_cost(&case, true);
        let (cost, bound) = (plan.cost.total().as_amount(), plan.certificate.bound.as_amount());
        let slack = 1e-6 * least.abs().max(1.0);
        prop_assert!(bound <= least + slack && least <= cost + slack, "{bound} {least} {cost}");
        let failed = failed(&plan);
        prop_assert!(failed.is_empty(), "{failed:?}");
        Ok(())
    });
}

#[test]
fn months_are_charged_as_they_are_billed() {
    for_all(40, &cases(40, 0.05..0.6), |case| {
        let plan = case.plan();
        let tariff = case.tariff();
        for month in &plan.cost.months {
            let (start, end) = month.month.period(tariff.time_zone());
            let load = metered(&case, &plan, (start, end));
            let bill = bill_month(&load, &tariff, month.month, &Contract::default());
            let bill = bill.expect("a bill");
            let billed: f64 =
                bill.lines.iter().map(|line| line.amount.to_string().parse::<f64>().unwrap()).sum();
            let charge = month.charge.as_amount();
            prop_assert!(near(billed, charge, 1e-4), "billed {billed}, planned {charge}, {bill:?}");
        }
        Ok(())
    });
}

/// Energies of a month with the powers of the plan and those before it, and nothing else. A window
/// that the plan cuts has the highest of its powers throughout.
fn metered(
    case: &Case,
    plan: &CapacityPlan,
    (start, end): (DateTime<Utc>, DateTime<Utc>),
) -> MeteredLoad {
    let mut powers: BTreeMap<DateTime<Utc>, f64> = BTreeMap::new();
    let planned = plan.slots.iter().map(|slot| {
        let hours = (slot.end - slot.start).num_minutes() as f64 / 60.0;
        (slot.start, slot.metered().as_kwh() / hours)
    });
    let before = case.peaks.iter().map(|&(back, power)| (case.at(-back), power));
    for (at, power) in planned.chain(before) {
        let known = powers.entry(case.window(at)).or_default();
        *known = known.max(power);
    }
    let quarters = (end - start).num_minutes() / 15;
    let period = |quarter: i64| {
        let start = start + TimeDelta::minutes(15 * quarter);
        let power = powers.get(&case.window(start)).copied().unwrap_or(0.0);
        // A meter reads whole milliwatt-hours, and does not round a step up.
        let energy = kwh((power / 4.0 * 1e6 + 1e-3).floor() / 1e6);
        EnergyPeriod { start, end: start + TimeDelta::minutes(15), energy }
    };
    let periods: Vec<EnergyPeriod> = (0..quarters).map(period).collect();
    MeteredLoad::from_periods(&periods, None).expect("a load")
}

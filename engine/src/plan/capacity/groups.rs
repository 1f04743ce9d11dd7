//! Months and groups of windows of a plan, and the price of their powers.
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::bill::demand::{Calendar, DemandRule};
use crate::bill::file::{AtThreshold, OfMonths, OnePer};
use crate::bill::invoice::share_of;
use crate::bill::month::Month;
use crate::bill::tariff::{BillingTariff, Charge, Component, ComponentKind, Pricing, number};
use crate::plan::capacity::request::{CapacityError, CapacityProblem};
use crate::time::civil::local_of;
use crate::time::instant::{instant_at, micros_of};
use crate::tolerance::POWER_ROUNDING_KW;

/// Share of a price per kW that is left to the rounding of a sum over all slots.
const PRICE_ROUNDING: f64 = 1e-13;

/// Windows of which one power counts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PowerGroup {
    /// Position of its month.
    pub(crate) month: usize,
    /// Weighted power that was reached before, in kW.
    pub(crate) carried: f64,
}

/// Price of the power of a month.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PowerPrice {
    /// Price of a kW.
    PerKw(f64),
    /// Highest power of each step, and its price.
    Steps(Vec<(f64, f64)>),
}

/// Month of a plan.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MonthCharge {
    pub(crate) month: Month,
    pub(crate) price: PowerPrice,
    /// Number of powers of which the mean is taken.
    pub(crate) highest: usize,
    /// Weighted powers of groups that the plan does not reach, highest first.
    pub(crate) others: Vec<f64>,
    /// Least power of the month.
    pub(crate) floor: f64,
}

impl MonthCharge {
    /// Power `D` of the month for the powers of its groups.
    pub(crate) fn power(&self, levels: impl Iterator<Item = f64>) -> f64 {
        let mut powers: Vec<f64> = levels.chain(self.others.iter().copied()).collect();
        powers.sort_by(|a, b| b.total_cmp(a));
        let sum: f64 = powers.iter().take(self.highest).sum();
        (sum / self.highest as f64).max(self.floor)
    }

    /// Charge of a power of the month.
    pub(crate) fn charge(&self, power: f64) -> f64 {
        match &self.price {
            PowerPrice::PerKw(price) => price * power,
            PowerPrice::Steps(steps) => {
                let reached =
                    steps.iter().find(|(most, _)| power <= most + POWER_ROUNDING_KW / 2.0);
                reached.or(steps.last()).map_or(0.0, |step| step.1)
            }
        }
    }
}

/// Price of power in a plan: groups, months, and the slots' place in them.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct PowerCharges {
    pub(crate) groups: Vec<PowerGroup>,
    pub(crate) months: Vec<MonthCharge>,
    /// Group and weight of each slot; none if its window does not count.
    pub(crate) slots: Vec<Option<(usize, f64)>>,
}

/// Group as the calendar names it: month, and day or week of the year with the year.
type Key = (Month, i32, u32);

/// The one component of a tariff that prices the measured power, with the factor of the taxes on it.
pub(crate) fn capacity_of(
    tariff: &BillingTariff,
) -> Result<(&Component, &DemandRule, &Charge, f64), CapacityError> {
    let factors = tariff.tax_factors();
    let mut found = None;
    for (component, factor) in tariff.components().iter().zip(factors) {
        if let ComponentKind::Capacity { demand, charge } = &component.kind {
            if found.is_some() {
                return Err(refuse_rule(component, "is a second price of power"));
            }
            found = Some((component, demand, charge, factor));
        }
    }
    let found =
        found.ok_or_else(|| CapacityError::NoCapacity { tariff: tariff.request().name.clone() })?;
    check_rule(found.0, found.1, found.2)?;
    Ok(found)
}

fn refuse_rule(component: &Component, reason: &'static str) -> CapacityError {
    CapacityError::Rule { component: component.id.clone(), reason }
}

fn check_rule(
    component: &Component,
    rule: &DemandRule,
    charge: &Charge,
) -> Result<(), CapacityError> {
    if rule.skip() > 0 {
        return Err(refuse_rule(component, "leaves the highest powers out"));
    }
    if rule.highest() > 1 && rule.one_per().is_none() {
        return Err(refuse_rule(component, "takes several windows of one day"));
    }
    if rule.months() > 1 && rule.of_months() != OfMonths::Mean {
        return Err(refuse_rule(component, "takes the highest of several months"));
    }
    if rule.months() > 1 && !rule.floor().is_zero() {
        return Err(refuse_rule(component, "has a floor of a mean over several months"));
    }
    match &charge.pricing {
        Pricing::Steps(..) if rule.months() > 1 => {
            Err(refuse_rule(component, "has steps of a mean over several months"))
        }
        Pricing::Steps(steps, _) if !steps.is_sorted_by(|a, b| a.1 <= b.1) => {
            Err(refuse_rule(component, "has a step that is cheaper than one below it"))
        }
        Pricing::PerUnit(price) if price.is_sign_negative() => {
            Err(refuse_rule(component, "pays for power"))
        }
        _ => Ok(()),
    }
}

impl PowerCharges {
    /// Groups of slots `(start, end)` in microseconds.
    pub(crate) fn new(
        problem: &CapacityProblem,
        slots: impl Iterator<Item = i64>,
    ) -> Result<Self, CapacityError> {
        let tariff = &problem.tariff;
        let (_, rule, charge, taxes) = capacity_of(tariff)?;
        let calendar = Calendar { time_zone: tariff.time_zone(), holidays: tariff.holidays() };
        let mut found = Self::default();
        let mut places: BTreeMap<Key, usize> = BTreeMap::new();
        let mut months: BTreeMap<Month, usize> = BTreeMap::new();
        for start in slots {
            let (key, factor) = key_of(rule, calendar, start);
            if factor == 0.0 {
                found.slots.push(None);
                continue;
            }
            let month = match months.entry(key.0) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    check_dates(tariff, key.0)?;
                    found.months.push(month_charge(key.0, rule, charge, taxes));
                    *new.insert(found.months.len() - 1)
                }
            };
            let group = *places.entry(key).or_insert_with(|| {
                found.groups.push(PowerGroup { month, carried: 0.0 });
                found.groups.len() - 1
            });
            found.slots.push(Some((group, factor)));
        }
        if found.months.len() > 2
            && found.months.iter().any(|month| matches!(month.price, PowerPrice::Steps(_)))
        {
            return Err(CapacityError::TooManySteps { months: found.months.len() });
        }
        found.add_earlier_powers(problem, rule, calendar, &places, &months);
        Ok(found)
    }

    /// Adds the powers that were reached before the plan.
    fn add_earlier_powers(
        &mut self,
        problem: &CapacityProblem,
        rule: &DemandRule,
        calendar: Calendar<'_>,
        places: &BTreeMap<Key, usize>,
        months: &BTreeMap<Month, usize>,
    ) {
        let mut others: BTreeMap<Key, f64> = BTreeMap::new();
        for peak in &problem.peaks {
            let (key, factor) = key_of(rule, calendar, micros_of(peak.at));
            let power = peak.power.as_kw() * factor;
            let known = match places.get(&key) {
                Some(&group) => &mut self.groups[group].carried,
                None => others.entry(key).or_default(),
            };
            *known = known.max(power);
        }
        for (key, power) in others {
            if let Some(&month) = months.get(&key.0) {
                self.months[month].others.push(power);
            }
        }
        for month in &mut self.months {
            month.others.sort_by(|a, b| b.total_cmp(a));
        }
    }

    /// Powers of the groups of a month.
    pub(crate) fn levels_of<'a>(
        &'a self,
        month: usize,
        levels: &'a [f64],
    ) -> impl Iterator<Item = f64> + 'a {
        let pairs = self.groups.iter().zip(levels);
        pairs.filter(move |(group, _)| group.month == month).map(|(_, &level)| level)
    }

    /// Charge of all months at the powers of the groups.
    pub(crate) fn charge(&self, levels: &[f64]) -> f64 {
        let months = self.months.iter().enumerate();
        months.map(|(place, month)| month.charge(month.power(self.levels_of(place, levels)))).sum()
    }

    /// Scales the prices that slots pay for a kW down to those of their months, which rounding can
    /// exceed.
    pub(crate) fn keep_within_price(&self, power_price: &mut [f64]) {
        let mut paid = vec![0.0; self.groups.len()];
        for (slot, price) in self.slots.iter().zip(&*power_price) {
            if let Some((group, _)) = slot {
                paid[*group] += price;
            }
        }
        let scale = |place: usize, month: &MonthCharge| {
            let PowerPrice::PerKw(price) = month.price else { return 1.0 };
            let own: Vec<f64> = self.levels_of(place, &paid).collect();
            let highest = own.iter().copied().fold(0.0, f64::max) * month.highest as f64;
            let most = own.iter().sum::<f64>().max(highest);
            if most > price * (1.0 - PRICE_ROUNDING) {
                price / most * (1.0 - PRICE_ROUNDING)
            } else {
                1.0
            }
        };
        let months = self.months.iter().enumerate();
        let scales: Vec<f64> = months.map(|(place, month)| scale(place, month)).collect();
        for (slot, price) in self.slots.iter().zip(power_price) {
            if let Some((group, _)) = slot {
                *price *= scales[self.groups[*group].month];
            }
        }
    }

    /// Powers that were reached before the plan.
    pub(crate) fn carried(&self) -> Vec<f64> {
        self.groups.iter().map(|group| group.carried).collect()
    }
}

/// Group and weight of the window that an instant lies in.
fn key_of(rule: &DemandRule, calendar: Calendar<'_>, at: i64) -> (Key, f64) {
    use chrono::Datelike;
    let start = rule.window_start(calendar, at);
    let date = local_of(instant_at(start), calendar.time_zone).date();
    let factor = number(rule.factor(calendar.clock(start)));
    let (year, part) = match rule.one_per() {
        _ if rule.highest() == 1 => (0, 0),
        Some(OnePer::Day) => (date.year(), date.ordinal()),
        Some(OnePer::Week) => (date.iso_week().year(), date.iso_week().week()),
        None => (0, 0),
    };
    ((Month::of(date), year, part), factor)
}

fn check_dates(tariff: &BillingTariff, month: Month) -> Result<(), CapacityError> {
    let request = tariff.request();
    let ends_before = request.valid_to.is_some_and(|to| to <= month.first_day());
    if month.next().first_day() <= request.valid_from || ends_before {
        return Err(CapacityError::NotValid { month });
    }
    Ok(())
}

fn month_charge(month: Month, rule: &DemandRule, charge: &Charge, taxes: f64) -> MonthCharge {
    // A power of a mean over several months is in as many bills, with a part of each.
    let first = std::iter::successors(Some(month), |month| Some(month.next()));
    let bills = first.skip(rule.lag_months() as usize).take(rule.months() as usize);
    let share = |month: Month| {
        let share = share_of(charge.per, month);
        f64::from(share.part) / f64::from(share.whole)
    };
    let factor = taxes * bills.map(share).sum::<f64>() / f64::from(rule.months());
    let price = match &charge.pricing {
        Pricing::PerUnit(price) => PowerPrice::PerKw(number(*price) * factor),
        Pricing::Steps(steps, at) => {
            // A power at the threshold is in the step above, so a step ends a milliwatt below it.
            let below = if *at == AtThreshold::Upper { POWER_ROUNDING_KW } else { 0.0 };
            let ends = steps.iter().skip(1).map(|(from, _)| number(*from) - below);
            let ends = ends.chain([f64::INFINITY]);
            let prices = steps.iter().map(|(_, price)| number(*price) * factor);
            PowerPrice::Steps(ends.zip(prices).collect())
        }
    };
    let floor = number(rule.month_floor().max(rule.floor()));
    MonthCharge { month, price, highest: rule.highest(), others: Vec::new(), floor }
}

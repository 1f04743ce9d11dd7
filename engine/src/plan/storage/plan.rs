//! Plan of a battery: slots, intervals, costs, outcomes of the targets and certificate.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::charge::gaps::{Gap, MissedTarget, MissingPrice};
use crate::plan::interval::Interval;
use crate::plan::stability::stay_close::Stability;
use crate::plan::storage::certificate::StorageCertificate;
use crate::plan::storage::request::StorageRequest;
use crate::time::instant::{instant_at, micros_between};
use crate::tolerance::ENERGY_SHARE_MIN;
use crate::units::{Energy, MICROS_PER_HOUR, Money, Percent, Power, Price};

/// Wish that sets the least level at the end of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wish")]
pub enum Wish {
    /// None: the least level is empty.
    #[serde(rename = "empty")]
    Empty,
    /// The reserve.
    #[serde(rename = "reserve")]
    Reserve,
    /// The lowest state of charge of a period.
    #[serde(rename = "minimum")]
    Minimum,
    /// A target.
    #[serde(rename = "target")]
    Target {
        /// Position in the request.
        target: usize,
    },
    /// Driving in the slot, for which the energy must be stored before.
    #[serde(rename = "driving")]
    Driving,
}

/// Period of constant prices and limits. Slots follow each other without a gap; without a price
/// to buy nothing is charged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StorageSlot {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Price of a kWh bought, if it is known.
    #[serde(rename = "import_price_per_kwh")]
    pub import_price: Option<Price>,
    /// Price of a kWh sold, if energy may be sold.
    #[serde(rename = "export_price_per_kwh")]
    pub export_price: Option<Price>,
    /// Highest charging power; zero while unplugged and without a price.
    #[serde(rename = "charge_max_kw")]
    pub charge_max: Power,
    /// Highest discharging power; zero while unplugged and without a price.
    #[serde(rename = "discharge_max_kw")]
    pub discharge_max: Power,
    /// Energy bought, at the plug.
    #[serde(rename = "charged_kwh")]
    pub charged: Energy,
    /// Energy sold, at the plug, as a positive number. Zero if energy is bought.
    #[serde(rename = "discharged_kwh")]
    pub discharged: Energy,
    /// Consumption of driving in stored energy, as far as the battery can serve it.
    #[serde(rename = "driven_kwh")]
    pub driven: Energy,
    /// Stored energy at the end of the slot.
    #[serde(rename = "stored_kwh")]
    pub stored: Energy,
    /// Least stored energy at the end: the wished level, or the highest possible one if that is
    /// lower.
    #[serde(rename = "stored_min_kwh")]
    pub stored_min: Energy,
    /// Most stored energy at the end: the charge limit, or the highest possible level if that is
    /// higher.
    #[serde(rename = "stored_max_kwh")]
    pub stored_max: Energy,
    /// Charge limit as stored energy.
    #[serde(rename = "charge_limit_kwh")]
    pub charge_limit: Energy,
    /// Wish that sets `stored_min`.
    #[serde(flatten)]
    pub wish: Wish,
    /// Marginal value of a stored kWh in this slot.
    #[serde(rename = "marginal_value_per_kwh")]
    pub marginal_value: Price,
}

impl StorageSlot {
    /// Instant at which charging or discharging ends; it begins with the slot at full power.
    #[must_use]
    pub fn busy_until(&self) -> DateTime<Utc> {
        let (power, energy) = if self.charged > Energy::ZERO {
            (self.charge_max, self.charged)
        } else {
            (self.discharge_max, self.discharged)
        };
        // A slot that is used in full ends with its last microsecond, without rounding.
        if energy >= power.over_micros(micros_between(self.start, self.end)) {
            return if energy > Energy::ZERO { self.end } else { self.start };
        }
        let micros = power.micros_for(energy).round() as i64;
        (self.start + TimeDelta::microseconds(micros)).min(self.end)
    }

    /// Power from the start of the slot until [`StorageSlot::busy_until`]; negative discharges.
    #[must_use]
    pub fn power(&self) -> Power {
        if self.charged > Energy::ZERO {
            self.charge_max
        } else if self.discharged > Energy::ZERO {
            -self.discharge_max
        } else {
            Power::ZERO
        }
    }
}

/// Outcome of one target.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct StorageOutcome {
    /// Deadline; `None` is the end of the plan.
    pub by: Option<DateTime<Utc>>,
    /// State of charge wanted by then.
    #[serde(rename = "wanted_percent")]
    pub wanted: Percent,
    /// State of charge at the deadline.
    #[serde(rename = "soc_percent")]
    pub soc: Percent,
    /// Stored energy missing at the deadline.
    #[serde(rename = "shortfall_kwh")]
    pub shortfall: Energy,
    /// Part of the shortfall above the charge limit, which no plan can deliver.
    #[serde(rename = "above_limit_kwh", default, skip_serializing_if = "Energy::is_zero")]
    pub above_limit: Energy,
    /// First instant at which the wanted energy is stored; `None` if never.
    pub reached_at: Option<DateTime<Utc>>,
}

/// Parts of a cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct StorageCosts {
    /// Cost of the energy bought.
    #[serde(rename = "import_cost")]
    pub import: Money,
    /// Revenue of the energy sold.
    #[serde(rename = "export_revenue")]
    pub export: Money,
    /// Wear of the energy discharged to the plug.
    #[serde(rename = "wear_cost")]
    pub wear: Money,
    /// Value of the energy stored at the end above that at the start; negative if there is less.
    #[serde(rename = "stored_value")]
    pub stored: Money,
}

impl StorageCosts {
    /// Total cost, which the plan minimises: import − export + wear − value stored.
    #[must_use]
    pub fn total(&self) -> Money {
        self.import - self.export + self.wear - self.stored
    }
}

/// Plan of a battery at the least cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct StoragePlan {
    /// Charging (positive) and discharging (negative) periods in time order;
    /// neighbours of one power are merged.
    pub intervals: Vec<Interval>,
    /// All slots from the start of the plan to its end.
    pub slots: Vec<StorageSlot>,
    /// Usable capacity of the battery.
    #[serde(rename = "capacity_kwh")]
    pub capacity: Energy,
    /// Stored energy at the start.
    #[serde(rename = "stored_start_kwh")]
    pub stored_start: Energy,
    /// Energy bought, at the plug.
    #[serde(rename = "charged_kwh")]
    pub charged: Energy,
    /// Energy sold, at the plug.
    #[serde(rename = "discharged_kwh")]
    pub discharged: Energy,
    /// Total of `costs`: energy bought less energy sold, plus wear, less the value of the energy
    /// stored at the end above that at the start.
    pub cost: Money,
    /// Parts of the cost.
    pub costs: StorageCosts,
    /// Largest shortfall of any target, as stored energy. Zero if all are met.
    #[serde(rename = "shortfall_kwh")]
    pub shortfall: Energy,
    /// Largest shortfall of the reserve or of the lowest state of charge of a period, at the end
    /// of any slot, as stored energy.
    #[serde(rename = "floor_shortfall_kwh")]
    pub floor_shortfall: Energy,
    /// Consumption of driving that the battery cannot serve, as stored energy.
    #[serde(rename = "unserved_kwh")]
    pub unserved: Energy,
    /// One outcome per target, in the order of the request.
    pub targets: Vec<StorageOutcome>,
    /// Cost of the baseline: no discharging, and from plug-in at full power what the wishes need,
    /// or what the plan gains if that is more.
    pub baseline_cost: Money,
    /// Hours without a price to buy, or, if energy may be sold, without a price to sell; see
    /// [`crate::plan::charge::gaps()`].
    pub unpriced_hours: f64,
    /// Cost of the plan and lower bound on it. The gap of a plan that stays near the one before is
    /// its cost beyond the least.
    pub certificate: StorageCertificate,
    /// Distance from the plan before; `None` if the request has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stability: Option<Stability>,
}

impl StoragePlan {
    /// Baseline cost minus cost. Negative if the plan costs more.
    #[must_use]
    pub fn savings(&self) -> Money {
        self.baseline_cost - self.cost
    }

    /// Stored energy of the start that is not there at the end, and was not driven with: it was sold.
    ///
    /// The baseline sells nothing. So the revenue of this stock is a part of the savings, less its
    /// value at `end_value_per_kwh`.
    #[must_use]
    pub fn stock_used(&self) -> Energy {
        let driven = self.slots.iter().fold(Energy::ZERO, |sum, slot| sum + slot.driven);
        let end = self.slots.last().map_or(self.stored_start, |slot| slot.stored);
        stock_used(self.capacity, self.stored_start, end + driven)
    }

    /// Stored energy at an instant. Before the plan it is that at the start, after it that at the
    /// end.
    #[must_use]
    pub fn stored_at(&self, at: DateTime<Utc>) -> Energy {
        let index = self.slots.partition_point(|slot| slot.end <= at);
        let before = self.stored_before(index);
        let Some(slot) = self.slots.get(index).filter(|slot| slot.start < at) else {
            return before;
        };
        // Within the slot, power is used from its start and driving is spread evenly.
        let gone = (at - slot.start).num_microseconds().unwrap_or(0) as f64;
        let busy = (slot.busy_until() - slot.start).num_microseconds().unwrap_or(0) as f64;
        let length = (slot.end - slot.start).num_microseconds().unwrap_or(1) as f64;
        let driven = slot.driven.as_kwh();
        // The change by power alone, without driving.
        let change = slot.stored.as_kwh() - before.as_kwh() + driven;
        let share = if busy > 0.0 { (gone / busy).min(1.0) } else { 0.0 };
        let stored = before.as_kwh() + change * share - driven * gone / length;
        Energy::from_kwh(stored).unwrap_or(before)
    }

    /// State of charge at an instant.
    #[must_use]
    pub fn soc_at(&self, at: DateTime<Utc>) -> Percent {
        Percent::filled(self.stored_at(at), self.capacity)
    }

    /// First instant at which the energy `stored` is stored; `None` if it never is.
    #[must_use]
    pub fn reached_at(&self, stored: Energy) -> Option<DateTime<Utc>> {
        let rounding =
            Energy::from_kwh(ENERGY_SHARE_MIN * self.capacity.as_kwh()).unwrap_or(Energy::ZERO);
        if self.stored_start + rounding >= stored {
            return self.slots.first().map(|slot| slot.start);
        }
        let index = self.slots.iter().position(|slot| slot.stored + rounding >= stored)?;
        let slot = &self.slots[index];
        let (before, after) = (self.stored_before(index).as_kwh(), slot.stored.as_kwh());
        let share = ((stored.as_kwh() - before) / (after - before)).clamp(0.0, 1.0);
        let busy = (slot.busy_until() - slot.start).num_microseconds().unwrap_or(0);
        let micros = (busy as f64 * share).round() as i64;
        Some(instant_at(slot.start.timestamp_micros() + micros))
    }

    /// Marginal value of a stored kWh at an instant; zero outside of the plan.
    #[must_use]
    pub fn marginal_value_at(&self, at: DateTime<Utc>) -> Price {
        let slot = self.slots.iter().find(|slot| slot.start <= at && at < slot.end);
        slot.map_or(Price::ZERO, |slot| slot.marginal_value)
    }

    /// Stored energy at the start of a slot.
    pub(crate) fn stored_before(&self, index: usize) -> Energy {
        index.checked_sub(1).map_or(self.stored_start, |last| self.slots[last].stored)
    }
}

/// Price that a slot lacks. With `may_sell` a missing price to sell counts too.
fn missing_price(slot: &StorageSlot, may_sell: bool) -> Option<MissingPrice> {
    match (slot.import_price, slot.export_price) {
        (None, _) => Some(MissingPrice::Any),
        (Some(_), None) if may_sell => Some(MissingPrice::Export),
        _ => None,
    }
}

/// Energy of the start that is not left, without rounding.
pub(crate) fn stock_used(capacity: Energy, start: Energy, left: Energy) -> Energy {
    let used = start - left;
    let least = ENERGY_SHARE_MIN * capacity.as_kwh();
    if used.as_kwh() > least { used } else { Energy::ZERO }
}

/// Hours of slots without a price.
pub(crate) fn unpriced_hours(slots: &[StorageSlot], may_sell: bool) -> f64 {
    let unpriced = slots.iter().filter(|slot| missing_price(slot, may_sell).is_some());
    let micros: i64 = unpriced.map(|slot| micros_between(slot.start, slot.end)).sum();
    micros as f64 / MICROS_PER_HOUR
}

/// Returns the periods without a price, each with the targets that it may cause to be missed.
/// `export` is true if there are prices to sell.
#[must_use]
pub fn gaps(request: &StorageRequest, export: bool, plan: &StoragePlan) -> Vec<Gap> {
    let may_sell = export && request.discharge_max > Power::ZERO;
    let mut gaps: Vec<Gap> = Vec::new();
    for slot in &plan.slots {
        let Some(missing) = missing_price(slot, may_sell) else { continue };
        match gaps.last_mut() {
            Some(last) if last.end == slot.start && last.missing == missing => last.end = slot.end,
            _ => gaps.push(Gap { start: slot.start, end: slot.end, missing, missed: Vec::new() }),
        }
    }
    // Without power a price could not have met any target.
    let may_charge = request.charge_max > Power::ZERO;
    for gap in gaps.iter_mut().filter(|gap| gap.missing == MissingPrice::Any && may_charge) {
        let missed = plan.targets.iter().filter(|target| {
            target.shortfall > Energy::ZERO && target.by.is_none_or(|by| by > gap.start)
        });
        gap.missed = missed.map(|target| MissedTarget { device: None, by: target.by }).collect();
    }
    gaps
}

#[cfg(test)]
mod tests {
    use chrono_tz::Tz;

    use super::*;
    use crate::plan::charge::vehicle::{Battery, SocTarget};
    use crate::plan::storage::planner::plan_storage;
    use crate::plan::storage::request::StorageProblem;
    use crate::prices::curve::PriceCurve;
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, percent};

    /// Checks the gaps of a battery of 10 kWh at 50 %, with 1 kW both ways, and a target of `soc`
    /// percent four hours after 18:00Z.
    #[track_caller]
    fn check(soc: f64, import: &[i32], export: Option<&PriceCurve>, expected: &[&str]) {
        let battery = Battery {
            capacity: kwh(10.0),
            soc: Some(percent(50.0)),
            soc_fallback: None,
            charge_limit: percent(100.0),
            efficiency: 1.0,
        };
        let now: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().unwrap();
        let mut request = StorageRequest::new(now, battery, kw(1.0));
        let by = Some(now + TimeDelta::hours(4));
        request.targets.push(SocTarget { by, soc: Some(percent(soc)) });
        let problem = StorageProblem::new(request.clone()).unwrap();
        let plan = plan_storage(&curve_of(60, import), export, &problem);
        let gaps = gaps(&request, export.is_some(), &plan);
        let sentences: Vec<String> = gaps.iter().map(|gap| gap.sentence(Tz::UTC)).collect();
        assert_eq!(sentences, expected);
        let hours = gaps.iter().map(|gap| (gap.end - gap.start).as_seconds_f64() / 3600.0);
        assert!((hours.sum::<f64>() - plan.unpriced_hours).abs() < 1e-9);
    }

    #[test]
    fn prices_that_end_before_the_target_are_a_gap() {
        let gap = "Mon 20:00 to Mon 22:00: nothing is planned, because no price is known";
        check(60.0, &[10, 20], None, &[&format!("{gap}.")]);
        check(80.0, &[10, 20], None, &[&format!("{gap}; the target for Mon 22:00 is missed.")]);
        check(60.0, &[10, 20, 30, 40], None, &[]);
    }

    #[test]
    fn export_prices_that_are_shorter_are_a_gap() {
        let export = curve_of(60, &[10, 20]);
        let unsold = "nothing is sold, because no export price is known.";
        check(60.0, &[10; 4], Some(&export), &[&format!("Mon 20:00 to Mon 22:00: {unsold}")]);
        let unplanned = "Mon 21:00 to Mon 22:00: nothing is planned, because no price is known.";
        let both = [&*format!("Mon 20:00 to Mon 21:00: {unsold}"), unplanned];
        check(60.0, &[10; 3], Some(&export), &both);
    }
}

//! Explanation of a plan of a site: the reason for each period of each device.
//!
//! The reasons are derived from the finished plan, without the solver. The first rule that holds
//! for a slot gives its code; adjacent slots with the same reason are joined. For a slot that
//! draws, the rules are: below the reserve, power that is wanted, a missed target, solar surplus, a
//! negative price, a cheaper slot with capacity that a soft bound, a limit, the peak or a preference
//! keeps free, all slots before the deadline full, and else a cheap slot. Those of heat units are in
//! `heat_reasons`. For a slot that feeds they are a limit, a
//! dearer slot that a soft bound or the peak of the export keeps free, and else a high price.
use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::plan::charge::explain::{
    END_OF_PRICES, format_kwh_cost, format_price, rounded, wall_clock,
};
use crate::plan::charge::gaps::{Gap, MissedTarget, MissingPrice, uncovered};
use crate::plan::site::demand_charge::{demand_windows, window_powers};
use crate::plan::site::device::{Device, Phase};
use crate::plan::site::limits::is_member;
use crate::plan::site::plan::{Cause, DevicePlan, LimitOutcome, SitePlan, SiteSlot, WishOutcome};
use crate::plan::site::price_slots::SiteSlots;
use crate::plan::site::request::SiteRequest;
use crate::plan::storage::request::StorageLimit;
use crate::time::instant::{instant_at, micros_of};
use crate::units::{Energy, Percent, Power, Price};
use crate::words::words;

/// Tolerance between equal powers in kW: a tenth of a watt.
pub(crate) const SAME_KW: f64 = 1e-4;

/// Tolerance between equal prices per kWh.
pub(crate) const SAME_PRICE: f64 = 1e-9;

/// Tolerance between equal states of charge in percent.
const SAME_SOC: f64 = 1e-6;

words! {
    /// Reason why a device draws, feeds, or is turned down in a period.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[non_exhaustive]
    pub enum SiteReasonCode {
        /// Charged as soon as can be, to the reserve.
        Reserve = "reserve",
        /// Charged at any price, because this power is wanted in this time.
        PowerWanted = "power_wanted",
        /// Charged where it can, because a deadline cannot be met in full.
        MissedDeadline = "missed_deadline",
        /// Charged where it can, because others that weigh more went first.
        Priority = "priority",
        /// Takes sunshine that would else be sold or turned down.
        SolarSurplus = "solar_surplus",
        /// Drawing is paid for.
        NegativePrice = "negative_price",
        /// A cheaper time is full: a shared limit binds there.
        Limit = "limit",
        /// A cheaper time would raise the peak that is charged for.
        Peak = "peak",
        /// Feeding more, here or in dearer time, would raise the peak of the export that is charged
        /// for.
        ExportPeak = "export_peak",
        /// A cheaper or dearer time is later, and the energy would be outside of a soft bound until
        /// then.
        SoftBound = "soft_bound",
        /// Every other slot before the deadline is used as well.
        Deadline = "deadline",
        /// A preference took it, within its budget.
        Preference = "preference",
        /// Drawn or fed to stay near the plan before, within its budget.
        PreviousPlan = "previous_plan",
        /// Holds the edge of the comfort band.
        Hold = "hold",
        /// Heated or cooled ahead, in the cheapest time until the heat is needed.
        Ahead = "ahead",
        /// Heated or cooled because the temperature is outside the comfort band.
        Recover = "recover",
        /// Among the cheapest time there is.
        Cheap = "cheap",
        /// Gives back because energy is dear.
        HighPrice = "high_price",
        /// Turned down, because what it yields has no use.
        Curtailed = "curtailed",
    }
}

/// Limit that causes a reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LimitReason {
    /// `import`, `export`, or the name of the group.
    pub name: String,
    /// Phase, if it is a limit per phase.
    pub phase: Option<Phase>,
    /// Start of the slot in which it binds.
    pub at: DateTime<Utc>,
    /// Cost saved per additional kWh of the limit in that slot.
    #[serde(rename = "shadow_price_per_kwh")]
    pub shadow_price: Price,
}

/// Period of a device with one reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SiteReason {
    /// Name of the device.
    pub device: String,
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Energy drawn; negative is fed. For curtailed solar power, the energy lost.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// Highest price of the period: of import with its emissions, or of export in slots that only
    /// export.
    #[serde(rename = "price_max_per_kwh")]
    pub price_max: Price,
    /// The reason.
    pub code: SiteReasonCode,
    /// Next deadline of the device, if it has one: of a target, or the start of a drive.
    pub deadline: Option<DateTime<Utc>>,
    /// True if the deadline is the start of a drive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_drive: bool,
    /// Limit that causes the reason, if one does.
    pub limit: Option<LimitReason>,
}

/// Reasons of a plan, device by device, each in time order. Inflexible loads have none.
#[must_use]
pub fn explain(request: &SiteRequest, plan: &SitePlan) -> Vec<SiteReason> {
    let mut reasons: Vec<SiteReason> = Vec::new();
    let at_export_peak = find_export_peak(request, plan);
    for (index, device) in plan.devices.iter().enumerate() {
        // Only reasons of one device are merged.
        let first = reasons.len();
        let view = View { request, plan, device, index, at_export_peak: &at_export_peak };
        for slot in 0..plan.slots.len() {
            let Some(next) = view.reason(slot) else { continue };
            match reasons[first..].last_mut() {
                Some(last) if last.end == next.start && continues(last, &next) => {
                    last.end = next.end;
                    last.energy = last.energy + next.energy;
                    last.price_max = last.price_max.max(next.price_max);
                }
                _ => reasons.push(next),
            }
        }
    }
    reasons
}

/// For each slot, true if the export of its window is the peak that is charged for.
fn find_export_peak(request: &SiteRequest, plan: &SitePlan) -> Vec<bool> {
    let mut at_peak = vec![false; plan.slots.len()];
    let charge = request.export_demand_charge.as_ref().filter(|c| c.price_per_kw > 0.0);
    let Some((charge, peak)) = charge.zip(plan.export_peak) else { return at_peak };
    let windows = demand_windows(charge, request, &SiteSlots::new(request));
    let exported: Vec<f64> = plan.slots.iter().map(|slot| slot.export.as_kwh()).collect();
    let powers = window_powers(charge, &windows, &exported);
    for (window, kw) in windows.iter().zip(powers) {
        if kw > 0.0 && kw >= peak.as_kw() - SAME_KW {
            for &slot in &window.slots {
                at_peak[slot] = true;
            }
        }
    }
    at_peak
}

/// Periods up to the last deadline without a price, each with the wishes that are missed because
/// of it.
#[must_use]
pub fn gaps(request: &SiteRequest, plan: &SitePlan) -> Vec<Gap> {
    let imports = request.import_prices.horizon();
    let gap = |(start, end): (i64, i64)| {
        let missing = if uncovered(imports, start, end).is_empty() {
            MissingPrice::SiteExport
        } else {
            MissingPrice::Any
        };
        let (start, end) = (instant_at(start), instant_at(end));
        let missed = plan.devices.iter().flat_map(|device| {
            let late = device.wishes.iter().filter(|wish| {
                wish.causes.contains(&Cause::NoPrice) && wish.by.is_none_or(|by| by > start)
            });
            late.map(|wish| MissedTarget { device: Some(device.name.clone()), by: wish.by })
        });
        Gap { start, end, missing, missed: missed.collect() }
    };
    SiteSlots::new(request).gaps.into_iter().map(gap).collect()
}

/// True if a reason continues the period before it: same code, deadline, limit and direction. What
/// is fed for nothing does not continue what is fed for a price.
fn continues(last: &SiteReason, next: &SiteReason) -> bool {
    let limit = |reason: &SiteReason| reason.limit.clone().map(|limit| (limit.name, limit.phase));
    last.code == next.code
        && last.deadline == next.deadline
        && limit(last) == limit(next)
        && (last.energy < Energy::ZERO) == (next.energy < Energy::ZERO)
        && (last.code != SiteReasonCode::HighPrice || is_paid(last) == is_paid(next))
}

/// True if the energy of a period has a price above zero.
fn is_paid(reason: &SiteReason) -> bool {
    reason.price_max > Price::ZERO
}

/// Side of a soft bound.
#[derive(Debug, Clone, Copy)]
enum Side {
    Below,
    Above,
}

/// One device in the context of its request and plan.
pub(crate) struct View<'a> {
    pub(crate) request: &'a SiteRequest,
    pub(crate) plan: &'a SitePlan,
    pub(crate) device: &'a DevicePlan,
    pub(crate) index: usize,
    /// For each slot, true if the export of its window is the peak that is charged for.
    at_export_peak: &'a [bool],
}

/// Code of a reason with the limit that causes it, if one does.
pub(crate) type LimitedReason = (SiteReasonCode, Option<LimitReason>);

impl View<'_> {
    /// Reason of the device in a slot; `None` if it is idle or an inflexible load.
    fn reason(&self, slot: usize) -> Option<SiteReason> {
        let power = self.device.power[slot].as_kw();
        let period = &self.plan.slots[slot];
        let length = period.end - period.start;
        let mut due = None;
        let (code, limit, energy) = match &self.request.devices[self.index] {
            Device::Load(_) => return None,
            Device::Solar(_) => {
                // Power that is fed is negative, so the sum is what is not fed.
                let lost = self.device.power_max[slot].as_kw() + power;
                let (code, limit) = (lost > SAME_KW).then(|| self.explain_curtailing(slot))?;
                (code, limit, Power::from_kw(lost).unwrap_or_default().over(length))
            }
            _ if power.abs() <= SAME_KW => return None,
            Device::Heat(unit) => {
                let ((code, limit), needed) = self.explain_heating(slot, unit);
                due = needed;
                (code, limit, self.device.power[slot].over(length))
            }
            _ => {
                let (code, limit) = if power > 0.0 {
                    self.explain_drawing(slot)
                } else {
                    self.explain_feeding(slot)
                };
                (code, limit, self.device.power[slot].over(length))
            }
        };
        let price_max = Price::from_per_kwh(self.price(slot)).unwrap_or_default();
        let deadline = due.or_else(|| self.deadline(slot));
        let is_drive = deadline.is_some_and(|by| self.is_drive(by));
        let device = self.device.name.clone();
        let (start, end) = (period.start, period.end);
        Some(SiteReason { device, start, end, energy, price_max, code, deadline, is_drive, limit })
    }

    /// First deadline of the device at or after the end of a slot: of a wish, or of a limit that
    /// wants a higher state of charge.
    fn deadline(&self, slot: usize) -> Option<DateTime<Utc>> {
        let end = self.plan.slots[slot].end;
        let deadlines = self.wishes().iter().filter_map(|wish| wish.by);
        let limits = self.limits().iter().filter(|limit| self.is_below(slot, limit.soc_min));
        deadlines.chain(limits.map(|limit| limit.start)).filter(|&by| by >= end).min()
    }

    /// Wishes with a deadline: all but the periods of wanted power, which come last.
    fn wishes(&self) -> &[WishOutcome] {
        let wishes = &self.device.wishes;
        let count = match &self.request.devices[self.index] {
            Device::Vehicle(vehicle) => {
                vehicle.targets.len() + vehicle.soc_targets.len() + vehicle.consumption.len()
            }
            Device::Battery(battery) => usize::from(battery.soc_end.is_some()),
            _ => wishes.len(),
        };
        &wishes[..count.min(wishes.len())]
    }

    /// True if a power is wanted in a slot.
    fn is_power_wanted(&self, slot: usize) -> bool {
        let wanted = match &self.request.devices[self.index] {
            Device::Vehicle(vehicle) => &vehicle.power_wanted,
            Device::Battery(battery) => &battery.power_wanted,
            _ => &None,
        };
        let Some(series) = wanted else { return false };
        let start = micros_of(self.plan.slots[slot].start);
        let ends = self.request.import_prices.horizon().ends();
        let price_slot = ends.partition_point(|&end| end <= start);
        series.at(price_slot, start).is_some_and(|kw| kw > 0.0)
    }

    /// Limits of the device that vary in time.
    fn limits(&self) -> &[StorageLimit] {
        match &self.request.devices[self.index] {
            Device::Vehicle(vehicle) => &vehicle.limits,
            Device::Battery(battery) => &battery.limits,
            _ => &[],
        }
    }

    /// True if the state of charge at the start of a slot is below another one.
    fn is_below(&self, slot: usize, wanted: Option<Percent>) -> bool {
        let soc = self.device.soc.get(slot).zip(wanted);
        soc.is_some_and(|(soc, wanted)| soc.as_percent() < wanted.as_percent() - SAME_SOC)
    }

    /// True if a drive of the device starts at an instant.
    fn is_drive(&self, at: DateTime<Utc>) -> bool {
        let Device::Vehicle(vehicle) = &self.request.devices[self.index] else { return false };
        vehicle.consumption.iter().any(|drive| drive.start == at)
    }

    /// Marginal price per kWh in a slot: of export if the site only exports, else of import with
    /// its emissions.
    pub(crate) fn price(&self, slot: usize) -> f64 {
        let SiteSlot { import, export, import_price, export_price, carbon_kg_per_kwh, .. } =
            &self.plan.slots[slot];
        if *import <= Energy::ZERO && *export > Energy::ZERO {
            return export_price.as_per_kwh();
        }
        let per_kg = self.request.carbon.as_ref().map_or(0.0, |carbon| carbon.price_per_kg);
        import_price.as_per_kwh() + per_kg * carbon_kg_per_kwh
    }

    /// Reason of a slot in which the device draws.
    fn explain_drawing(&self, slot: usize) -> LimitedReason {
        use SiteReasonCode as Code;
        let period = &self.plan.slots[slot];
        // The reserve comes first, because it is charged at any price.
        if self.is_below_reserve(slot) {
            return (Code::Reserve, None);
        }
        if self.is_power_wanted(slot) {
            return (Code::PowerWanted, None);
        }
        // A target above the charge limit is no reason to charge.
        let missed = self.wishes().iter().find(|wish| {
            let is_missed = wish.causes.iter().any(|cause| *cause != Cause::ChargeLimit);
            is_missed && wish.by.is_none_or(|by| by >= period.end)
        });
        if let Some(wish) = missed {
            let is_last = wish.causes.contains(&Cause::Priority);
            let code = if is_last { Code::Priority } else { Code::MissedDeadline };
            return (code, self.first_binding());
        }
        if self.stays_near() {
            return (Code::PreviousPlan, None);
        }
        if self.is_solar(slot) {
            return (Code::SolarSurplus, None);
        }
        if self.price(slot) < 0.0 {
            return (Code::NegativePrice, None);
        }
        if let Some(cheaper) = self.find_cheaper_slot(slot) {
            if cheaper > slot && self.is_outside(slot, Side::Below) {
                return (Code::SoftBound, None);
            }
            return self.explain_unused(cheaper);
        }
        let is_full = |other: usize| {
            self.device.power[other].as_kw() >= self.device.power_max[other].as_kw() - SAME_KW
        };
        // Without unused time in the window, the deadline decides and not the price.
        let code = if self.window(slot).all(is_full) { Code::Deadline } else { Code::Cheap };
        (code, None)
    }

    /// True if the site imports nothing while the sun shines, so that the energy is that of the sun.
    pub(crate) fn is_solar(&self, slot: usize) -> bool {
        let shines = |d: &DevicePlan| d.kind == "solar" && d.power[slot] < Power::ZERO;
        self.plan.slots[slot].import <= Energy::ZERO && self.plan.devices.iter().any(shines)
    }

    /// True if the plan stays near the plan before, so that prices alone do not decide.
    pub(crate) fn stays_near(&self) -> bool {
        self.plan.stability.is_some_and(|near| near.is_closer())
    }

    /// Reason of a slot in which the device feeds.
    fn explain_feeding(&self, slot: usize) -> LimitedReason {
        if self.stays_near() {
            return (SiteReasonCode::PreviousPlan, None);
        }
        let idle = |&later: &usize| self.device.power[later].as_kw() >= -SAME_KW;
        let is_dearer = |later: usize| self.price(later) > self.price(slot) + SAME_PRICE;
        match self.binding_at(slot) {
            // A limit on what is fed is no reason to feed.
            Some(limit) if self.bounds_feeding(&limit, slot) => {
                (SiteReasonCode::HighPrice, Some(limit))
            }
            Some(limit) => (SiteReasonCode::Limit, Some(limit)),
            None if self.is_outside(slot, Side::Above)
                && (slot + 1..self.plan.slots.len()).filter(idle).any(is_dearer) =>
            {
                (SiteReasonCode::SoftBound, None)
            }
            // A dearer slot, or this one, exports as much as the peak.
            None if (0..self.plan.slots.len())
                .any(|other| self.at_export_peak[other] && (other == slot || is_dearer(other))) =>
            {
                (SiteReasonCode::ExportPeak, None)
            }
            None => (SiteReasonCode::HighPrice, None),
        }
    }

    /// True if a limit that binds in a slot bounds what is fed: the export, or that of a group.
    fn bounds_feeding(&self, limit: &LimitReason, slot: usize) -> bool {
        let is_same =
            |other: &&LimitOutcome| (&other.name, other.phase) == (&limit.name, limit.phase);
        let outcome = self.plan.limits.iter().find(is_same);
        limit.name == "export" || outcome.is_some_and(|group| group.power[slot] < Power::ZERO)
    }

    /// True if the state of charge at the start of a slot is outside of a soft bound of the slot, on
    /// one side.
    fn is_outside(&self, slot: usize, side: Side) -> bool {
        let bounds = match &self.request.devices[self.index] {
            Device::Vehicle(vehicle) => &vehicle.soft_bounds,
            Device::Battery(battery) => &battery.soft_bounds,
            _ => return false,
        };
        let (start, end) = (self.plan.slots[slot].start, self.plan.slots[slot].end);
        let Some(soc) = self.device.soc.get(slot).map(|soc| soc.as_percent()) else { return false };
        bounds.iter().any(|bound| {
            let holds = bound.start.is_none_or(|from| from <= start)
                && bound.end.is_none_or(|to| end <= to);
            holds
                && match side {
                    Side::Below => bound.soc_min.is_some_and(|b| soc < b.as_percent() - SAME_SOC),
                    Side::Above => bound.soc_max.is_some_and(|b| soc > b.as_percent() + SAME_SOC),
                }
        })
    }

    /// Reason of a slot in which solar power is curtailed.
    fn explain_curtailing(&self, slot: usize) -> LimitedReason {
        match self.binding_at(slot) {
            None if self.at_export_peak[slot] => (SiteReasonCode::ExportPeak, None),
            limit => (SiteReasonCode::Curtailed, limit),
        }
    }

    /// True if the state of charge at the start of a slot is below the reserve, or below what a limit
    /// wants in the slot.
    fn is_below_reserve(&self, slot: usize) -> bool {
        let (start, end) = (self.plan.slots[slot].start, self.plan.slots[slot].end);
        let holds = |limit: &&StorageLimit| limit.start <= start && end <= limit.end;
        let mut limits = self.limits().iter().filter(holds);
        let reserve = match &self.request.devices[self.index] {
            Device::Vehicle(vehicle) => Some(vehicle.reserve),
            _ => None,
        };
        self.is_below(slot, reserve) || limits.any(|limit| self.is_below(slot, limit.soc_min))
    }

    /// Slots up to the next deadline in which the device could draw.
    fn window(&self, slot: usize) -> impl Iterator<Item = usize> + '_ {
        let deadline = self.deadline(slot);
        (0..self.plan.slots.len())
            .filter(move |&other| deadline.is_none_or(|by| self.plan.slots[other].end <= by))
            .filter(|&other| self.device.power_max[other] > Power::ZERO)
    }

    /// Cheapest slot of the window below the price of `slot` in which the device is not at full
    /// power; the earliest of equals.
    fn find_cheaper_slot(&self, slot: usize) -> Option<usize> {
        // Prices that differ by less are equal.
        let most = self.price(slot) - SAME_PRICE;
        let has_room = |&other: &usize| {
            self.device.power[other].as_kw() < self.device.power_max[other].as_kw() - SAME_KW
        };
        self.window(slot)
            .filter(has_room)
            .filter(|&other| self.price(other) < most)
            .min_by(|&one, &other| self.price(one).total_cmp(&self.price(other)))
    }

    /// Reason for which the device does not use the cheaper slot `cheaper`.
    pub(crate) fn explain_unused(&self, cheaper: usize) -> LimitedReason {
        use SiteReasonCode as Code;
        // A limit shows in the plan. The other reasons follow by exclusion.
        if let Some(limit) = self.binding_at(cheaper) {
            return (Code::Limit, Some(limit));
        }
        let pays = self.request.demand_charge.as_ref().is_some_and(|c| c.price_per_kw > 0.0);
        if pays {
            return (Code::Peak, None);
        }
        let has_budget = self.request.preference_budget.as_amount() > 0.0;
        (if has_budget { Code::Preference } else { Code::Cheap }, None)
    }

    /// Limit of the device that binds in a slot; of several, the one with the highest shadow price.
    pub(crate) fn binding_at(&self, slot: usize) -> Option<LimitReason> {
        let binds = |limit: &&LimitOutcome| {
            let is_full = limit.limit[slot].is_some_and(|most| {
                limit.power[slot].as_kw().abs() >= most.as_kw() - SAME_KW * most.as_kw().max(1.0)
            });
            self.is_under(limit) && (is_full || limit.shadow_price[slot] > Price::ZERO)
        };
        let price = |limit: &&LimitOutcome| limit.shadow_price[slot];
        // Of equal shadow prices `max_by` takes the last limit in the order of the plan.
        let limit =
            self.plan.limits.iter().filter(binds).max_by(|a, b| price(a).total_cmp(&price(b)))?;
        Some(LimitReason {
            name: limit.name.clone(),
            phase: limit.phase,
            at: self.plan.slots[slot].start,
            shadow_price: limit.shadow_price[slot],
        })
    }

    /// Limit that binds in the first such slot of the device's session.
    fn first_binding(&self) -> Option<LimitReason> {
        let there = |&slot: &usize| self.device.power_max[slot] > Power::ZERO;
        (0..self.plan.slots.len()).filter(there).find_map(|slot| self.binding_at(slot))
    }

    /// True if a limit applies to the device: to its phases, and to the site or one of its groups.
    fn is_under(&self, limit: &LimitOutcome) -> bool {
        let device = &self.request.devices[self.index];
        let is_on = limit.phase.is_none_or(|phase| device.phases().contains(&phase));
        let group = self.request.groups.iter().position(|group| group.name == limit.name);
        is_on && group.is_none_or(|group| is_member(self.request, device, group))
    }
}

impl SiteReason {
    /// The reason as a sentence, with times on the wall clock of `time_zone` and amounts in
    /// `currency`; empty if it is not known.
    #[must_use]
    pub fn sentence(&self, time_zone: Tz, currency: &str) -> String {
        let clock = |at: DateTime<Utc>| wall_clock(at, time_zone);
        let energy = rounded(self.energy.as_kwh().abs(), 2);
        let verb = match self.code {
            _ if self.energy < Energy::ZERO => "discharges",
            SiteReasonCode::Curtailed | SiteReasonCode::ExportPeak => "curtails",
            _ => "draws",
        };
        let mut text = format!(
            "{} to {}: {} {verb} {energy} kWh",
            clock(self.start),
            clock(self.end),
            self.device
        );
        text.push_str(&self.cause(time_zone, currency));
        if let Some(limit) = &self.limit {
            let phase = limit.phase.map_or_else(String::new, |p| format!(" on {}", p.as_str()));
            let (name, at) = (&limit.name, clock(limit.at));
            let _ = write!(text, "; the {name} limit{phase} is reached at {at}");
            if limit.shadow_price > Price::ZERO {
                let saves = format_kwh_cost(limit.shadow_price, currency);
                let _ = write!(text, ", where one more kWh would save {saves}");
            }
        }
        text + "."
    }

    /// Part of the sentence that states the cause.
    fn cause(&self, time_zone: Tz, currency: &str) -> String {
        let clock = |at: DateTime<Utc>| wall_clock(at, time_zone);
        let by = self.deadline.map_or_else(|| END_OF_PRICES.to_owned(), clock);
        let price = format_price(self.price_max, currency);
        let (missed, due) = if self.is_drive {
            (format!("its drive at {by} lacks energy"), format!("its drive at {by}"))
        } else {
            (format!("its target for {by} cannot be met in full"), by)
        };
        match self.code {
            SiteReasonCode::Reserve => " as soon as possible, to reach its reserve".to_owned(),
            SiteReasonCode::PowerWanted => ", because power is wanted in this time".to_owned(),
            SiteReasonCode::MissedDeadline => format!(", because {missed}"),
            SiteReasonCode::Priority => {
                format!(", because {missed}: devices of higher priority come first")
            }
            SiteReasonCode::SolarSurplus => " of surplus solar".to_owned(),
            SiteReasonCode::NegativePrice => format!(", because the price is negative ({price})"),
            SiteReasonCode::Limit if self.energy < Energy::ZERO => {
                " to stay within a limit".to_owned()
            }
            SiteReasonCode::Limit => {
                format!(" at up to {price}, because no capacity is left in cheaper hours")
            }
            SiteReasonCode::Peak => format!(
                " at up to {price}, because drawing more in cheaper hours would raise the \
                 demand charge"
            ),
            SiteReasonCode::ExportPeak if self.energy < Energy::ZERO => format!(
                " at up to {price}, because feeding more would raise the demand charge on the \
                 export"
            ),
            SiteReasonCode::ExportPeak => {
                let charge = "the demand charge on the export";
                format!(" of solar, because feeding it would raise {charge}")
            }
            SiteReasonCode::SoftBound if self.energy < Energy::ZERO => {
                " to come back within a soft bound".to_owned()
            }
            SiteReasonCode::SoftBound => {
                format!(" at up to {price}, to come back within a soft bound")
            }
            SiteReasonCode::Deadline => format!(", because all time before {due} is needed"),
            SiteReasonCode::Preference => {
                format!(" at up to {price}, for a preference within its budget")
            }
            SiteReasonCode::PreviousPlan => {
                ", to stay near the plan before within its budget".to_owned()
            }
            SiteReasonCode::Hold => " to hold the edge of its comfort band".to_owned(),
            SiteReasonCode::Ahead => {
                format!(" ahead of {due}, until when this is the cheapest time (up to {price})")
            }
            SiteReasonCode::Recover => ", because it is outside its comfort band".to_owned(),
            SiteReasonCode::Cheap => {
                format!(" in the cheapest hours before {due} (up to {price})")
            }
            // Energy that earns nothing is fed for the sake of energy that is cheaper still.
            SiteReasonCode::HighPrice if self.price_max <= Price::ZERO => {
                " to make room for cheaper energy later".to_owned()
            }
            SiteReasonCode::HighPrice => format!(", because the price is high (up to {price})"),
            SiteReasonCode::Curtailed if self.limit.is_some() => {
                " of solar, because no capacity is left for it".to_owned()
            }
            SiteReasonCode::Curtailed => {
                " of solar, because it can be neither used nor sold at a gain".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::site::planner::tests::planned;
    use crate::plan::site::request::tests::{
        at, battery_of, demand, hard, home, house, site, sun, van,
    };
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kwh, money, per_kwh, percent};

    fn charger(power: f64, energy: f64) -> Device {
        Device::Vehicle(van("van", power, energy))
    }

    fn reasons(request: &SiteRequest, name: &str) -> Vec<SiteReason> {
        let all = explain(request, &planned(request));
        all.into_iter().filter(|reason| reason.device == name).collect()
    }

    /// Start, end and code of each reason, in minutes.
    fn codes(request: &SiteRequest, name: &str) -> Vec<(i64, i64, &'static str)> {
        let minute = |instant: DateTime<Utc>| (instant - at(0)).num_minutes();
        let reasons = reasons(request, name).into_iter();
        reasons.map(|r| (minute(r.start), minute(r.end), r.code.as_str())).collect()
    }

    #[test]
    fn codes_are_those_of_serialised_data() {
        use SiteReasonCode as Code;
        for code in [Code::Reserve, Code::MissedDeadline, Code::SolarSurplus, Code::Curtailed] {
            let text = serde_json::to_string(&code).unwrap();
            assert_eq!(text.trim_matches('"'), code.as_str());
        }
    }

    #[test]
    fn a_vehicle_takes_the_cheapest_time_or_all_there_is() {
        let request = |energy: f64| site(&[30, 10, 20], &[charger(4.0, energy)]);
        assert_eq!(codes(&request(4.0), "van"), [(60, 120, "cheap")]);
        assert_eq!(codes(&request(12.0), "van"), [(0, 180, "deadline")]);
        assert_eq!(codes(&request(13.0), "van"), [(0, 180, "missed_deadline")]);
        let whole = &reasons(&request(12.0), "van")[0];
        assert_eq!((whole.energy, whole.price_max), (kwh(12.0), per_kwh(0.3)));
    }

    #[test]
    fn a_drive_is_named_as_the_deadline() {
        let mut car = crate::plan::site::device::Vehicle::new("car", crate::units::kw(4.0));
        car.battery = Some(battery_of(20.0, 50.0));
        let drive = |energy: f64| {
            let mut car = car.clone();
            let (start, end) = (at(120), at(180));
            let consumption = crate::plan::storage::request::Consumption {
                start,
                end,
                energy: kwh(energy),
                is_plugged_in: false,
            };
            car.consumption.push(consumption);
            let reasons = reasons(&site(&[30, 10, 20], &[Device::Vehicle(car)]), "car");
            assert!(reasons.iter().all(|reason| reason.is_drive));
            reasons.last().unwrap().sentence(chrono_tz::UTC, "EUR")
        };
        let sentence = "Mon 19:00 to Mon 20:00: car draws 2 kWh in the cheapest hours before its \
                        drive at Mon 20:00 (up to 0.10 EUR/kWh).";
        assert_eq!(drive(12.0), sentence);
        let all = "because all time before its drive at Mon 20:00 is needed.";
        assert!(drive(18.0).ends_with(all), "{}", drive(18.0));
        let short = ", because its drive at Mon 20:00 lacks energy.";
        assert!(drive(19.0).ends_with(short), "{}", drive(19.0));
    }

    #[test]
    fn a_deadline_is_the_first_that_the_energy_can_serve() {
        let mut van = van("van", 4.0, 8.0);
        van.targets[0].by = Some(at(180));
        let early = crate::plan::charge::request::Target { by: Some(at(60)), energy: kwh(4.0) };
        van.targets.push(early);
        let request = site(&[10, 20, 30], &[Device::Vehicle(van)]);
        let deadlines = reasons(&request, "van").into_iter().map(|reason| reason.deadline);
        assert_eq!(deadlines.collect::<Vec<_>>(), [Some(at(60)), Some(at(180))]);
    }

    #[test]
    fn a_full_limit_or_a_peak_sends_energy_to_dearer_time() {
        let mut request = site(&[10, 20], &[charger(4.0, 6.0)]);
        request.import_limit = Some(hard(3.0));
        assert_eq!(codes(&request, "van"), [(0, 60, "cheap"), (60, 120, "limit")]);
        let limit = reasons(&request, "van")[1].limit.clone().unwrap();
        assert_eq!((limit.name.as_str(), limit.at), ("import", at(0)));
        assert!((limit.shadow_price.as_per_kwh() - 0.1).abs() < 1e-9);
        request.import_limit = None;
        request.demand_charge = Some(demand(10.0, 0.0));
        assert_eq!(codes(&request, "van"), [(0, 60, "cheap"), (60, 120, "peak")]);
    }

    #[test]
    fn a_battery_that_sells_up_to_the_export_limit_does_so_for_the_price() {
        let battery = crate::plan::site::request::tests::home(5.0, 10.0, 100.0);
        let mut request = site(&[10, 40], &[Device::Battery(battery)]);
        request.export_prices = Some(crate::prices::curve::tests::curve_of(60, &[5, 35]));
        request.export_limit = Some(hard(2.0));
        let sold = &reasons(&request, "home")[0];
        let told = "discharges 4 kWh, because the price is high (up to 0.35 EUR/kWh); the export \
                    limit is reached at Mon 18:00";
        let sentence = sold.sentence(chrono_tz::UTC, "EUR");
        assert!(sentence.contains(told), "{sentence}");
    }

    #[test]
    fn a_budget_buys_dearer_time() {
        let mut request = site(&[20, 10], &[charger(4.0, 4.0)]);
        request.preference_budget = money(0.2);
        assert_eq!(codes(&request, "van"), [(0, 60, "preference"), (60, 120, "cheap")]);
    }

    #[test]
    fn others_that_weigh_more_go_first() {
        let mut first = van("first", 4.0, 2.0);
        first.priority = 2.0;
        let mut request = site(&[10], &[charger(4.0, 4.0), Device::Vehicle(first)]);
        request.import_limit = Some(hard(4.0));
        assert_eq!(codes(&request, "van"), [(0, 60, "priority")]);
        assert_eq!(codes(&request, "first"), [(0, 60, "cheap")]);
    }

    #[test]
    fn a_reserve_comes_before_the_price() {
        let mut van = van("van", 4.0, 8.0);
        (van.battery, van.reserve) = (Some(battery_of(20.0, 10.0)), percent(20.0));
        let request = site(&[30, 10, 20], &[Device::Vehicle(van)]);
        // From 2 kWh to the reserve of 4 in the first hour, then 4 and 2 where it is cheap.
        assert_eq!(codes(&request, "van"), [(0, 60, "reserve"), (60, 180, "cheap")]);
    }

    #[test]
    fn sunshine_and_negative_prices_are_reasons() {
        let request = site(&[10, 10], &[charger(3.0, 3.0), sun(&[0.0, 3.0], true)]);
        assert_eq!(codes(&request, "van"), [(60, 120, "solar_surplus")]);
        let request = site(&[-10, 10], &[charger(3.0, 3.0)]);
        assert_eq!(codes(&request, "van"), [(0, 60, "negative_price")]);
        let mut request = site(&[10], &[sun(&[3.0], true), house(&[1.0])]);
        request.export_limit = Some(hard(0.5));
        request.export_prices = Some(crate::prices::curve::tests::curve_of(60, &[5]));
        let lost = &reasons(&request, "sun")[0];
        assert_eq!(
            (lost.code, lost.limit.as_ref().unwrap().name.as_str()),
            (SiteReasonCode::Curtailed, "export")
        );
        assert!((lost.energy.as_kwh() - 1.5).abs() < 1e-6);
        assert!(reasons(&request, "house").is_empty());
    }

    #[test]
    fn a_battery_gives_back_at_high_prices_or_to_keep_a_limit() {
        let battery = Device::Battery(home(5.0, 10.0, 20.0));
        let request = site(&[10, 50], &[battery.clone(), house(&[3.0, 3.0])]);
        assert_eq!(codes(&request, "home").last(), Some(&(60, 120, "high_price")));
        assert!(reasons(&request, "home").last().unwrap().energy < Energy::ZERO);
        // The 2 kWh that it has are needed where the house draws 6 of at most 4 kW.
        let mut request = site(&[10, 10], &[battery, house(&[1.0, 6.0])]);
        request.import_limit = Some(hard(4.0));
        assert_eq!(codes(&request, "home"), [(60, 120, "limit")]);
    }

    #[test]
    fn a_battery_that_feeds_for_nothing_claims_no_price() {
        let devices = [Device::Battery(home(5.0, 10.0, 100.0)), house(&[5.0, 0.0, 0.0, 0.0])];
        let found = reasons(&site(&[30, 30, -20, -20], &devices), "home");
        let told = |reason: &SiteReason| reason.sentence(chrono_tz::UTC, "EUR");
        let price = "discharges 5 kWh, because the price is high (up to 0.30 EUR/kWh).";
        assert!(told(&found[0]).ends_with(price), "{}", told(&found[0]));
        let room = "discharges 5 kWh to make room for cheaper energy later.";
        assert!(told(&found[1]).ends_with(room), "{}", told(&found[1]));
        assert_eq!(found[1].code, SiteReasonCode::HighPrice);
    }

    #[test]
    fn a_gap_names_the_wishes_that_are_missed_for_it() {
        let mut late = van("van", 10.0, 40.0);
        late.targets[0].by = Some(at(240));
        let request = site(&[10, 20], &[Device::Vehicle(late)]);
        let found = gaps(&request, &planned(&request));
        assert_eq!((found.len(), found[0].start, found[0].end), (1, at(120), at(240)));
        let missed = MissedTarget { device: Some("van".to_owned()), by: Some(at(240)) };
        assert_eq!(found[0].missed, [missed]);
        assert!(
            found[0].sentence(Tz::UTC).contains("because no price is known; the target of van")
        );
    }

    #[test]
    fn a_gap_names_the_export_price_where_only_that_is_missing() {
        let mut late = van("van", 10.0, 20.0);
        late.targets[0].by = Some(at(120));
        let mut request = site(&[10, 20], &[Device::Vehicle(late)]);
        request.export_prices = Some(curve_of(60, &[5]));
        let found = gaps(&request, &planned(&request));
        assert_eq!((found.len(), found[0].start, found[0].end), (1, at(60), at(120)));
        let sentence = found[0].sentence(Tz::UTC);
        assert!(
            sentence.contains("nothing is planned, because no export price is known"),
            "{sentence}"
        );
    }

    /// A reason of a van for 1.5 kWh, from 01:30 to 02:30 in UTC.
    fn reason(code: SiteReasonCode) -> SiteReason {
        SiteReason {
            device: "van".to_owned(),
            start: "2026-01-05T01:30:00Z".parse().unwrap(),
            end: "2026-01-05T02:30:00Z".parse().unwrap(),
            energy: kwh(1.5),
            price_max: per_kwh(0.25),
            code,
            deadline: None,
            is_drive: false,
            limit: None,
        }
    }

    #[test]
    fn a_sentence_says_what_when_and_why() {
        let oslo = chrono_tz::Europe::Oslo;
        let sentence = |reason: &SiteReason| reason.sentence(oslo, "EUR");
        let mut cheap = reason(SiteReasonCode::Cheap);
        assert_eq!(
            sentence(&cheap),
            "Mon 02:30 to Mon 03:30: van draws 1.5 kWh in the cheapest hours before the end of the \
             known prices (up to 0.25 EUR/kWh)."
        );
        cheap.deadline = Some("2026-01-05T06:00:00Z".parse().unwrap());
        assert!(sentence(&cheap).ends_with("before Mon 07:00 (up to 0.25 EUR/kWh)."));
        let mut limit = reason(SiteReasonCode::Limit);
        limit.energy = kwh(-1.5);
        let (name, at, shadow_price) = ("garage".to_owned(), limit.start, Price::ZERO);
        limit.limit = Some(LimitReason { name, phase: Some(Phase::L2), at, shadow_price });
        assert_eq!(
            sentence(&limit),
            "Mon 02:30 to Mon 03:30: van discharges 1.5 kWh to stay within a limit; the garage \
             limit on l2 is reached at Mon 02:30."
        );
        limit.limit.as_mut().unwrap().shadow_price = per_kwh(0.1);
        let saves = "is reached at Mon 02:30, where one more kWh would save 0.10 EUR.";
        assert!(sentence(&limit).ends_with(saves), "{}", sentence(&limit));
        let lost = sentence(&reason(SiteReasonCode::Curtailed));
        assert!(lost.contains("van curtails 1.5 kWh of solar, because"), "{lost}");
    }

    #[test]
    fn an_hour_that_clocks_show_twice_has_its_zone_and_a_skipped_one_is_not_shown() {
        let clock = |start: &str, end: &str| {
            let mut reason = reason(SiteReasonCode::Reserve);
            (reason.start, reason.end) = (start.parse().unwrap(), end.parse().unwrap());
            let sentence = reason.sentence(chrono_tz::Europe::Oslo, "EUR");
            sentence.split(": van").next().unwrap().to_owned()
        };
        let october = clock("2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z");
        assert_eq!(october, "Sun 02:30 CEST to Sun 02:30 CET");
        let march = clock("2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z");
        assert_eq!(march, "Sun 01:30 to Sun 03:30");
    }

    #[test]
    fn a_device_that_pauses_has_two_reasons() {
        let request = site(&[10, 30, 10], &[charger(4.0, 8.0)]);
        assert_eq!(codes(&request, "van"), [(0, 60, "cheap"), (120, 180, "cheap")]);
        let mut request = site(&[10, 10], &[charger(4.0, 8.0)]);
        request.now = at(15);
        assert_eq!(codes(&request, "van"), [(15, 120, "missed_deadline")]);
        assert!((reasons(&request, "van")[0].energy.as_kwh() - 7.0).abs() < 1e-9);
    }
}

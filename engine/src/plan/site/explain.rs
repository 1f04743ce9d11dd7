//! Why a device of a site does what it does, and when.
use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::plan::charge::explain::{rounded, wall_clock};
use crate::plan::charge::gaps::{Gap, MissedTarget, MissingPrice};
use crate::plan::site::device::{Device, Phase};
use crate::plan::site::limits::is_member;
use crate::plan::site::plan::{Cause, DevicePlan, LimitOutcome, SitePlan, SiteSlot};
use crate::plan::site::price_slots::SiteSlots;
use crate::plan::site::request::SiteRequest;
use crate::time::instant::instant_at;
use crate::units::{Energy, Power, Price};
use crate::words::words;

/// Powers that differ by less are the same: a tenth of a watt.
const SAME_KW: f64 = 1e-4;

words! {
    /// Reason why a device draws, feeds, or is turned down in a period.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum SiteReasonCode {
        /// Charged as soon as can be, to the reserve.
        Reserve = "reserve",
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
        /// Every other slot before the deadline is used as well.
        Deadline = "deadline",
        /// A preference took it, within its budget.
        Preference = "preference",
        /// Among the cheapest time there is.
        Cheap = "cheap",
        /// Gives back because energy is dear.
        HighPrice = "high_price",
        /// Turned down, because what it yields has no use.
        Curtailed = "curtailed",
    }
}

/// The limit behind a reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitReason {
    /// `import`, `export`, or the name of the group.
    pub name: String,
    /// Phase, if it is a limit per phase.
    pub phase: Option<Phase>,
    /// Start of the slot in which it binds.
    pub at: DateTime<Utc>,
    /// What one more kWh through it would save there.
    #[serde(rename = "shadow_price_per_kwh")]
    pub shadow_price: Price,
}

/// A period in which a device does one thing for one reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SiteReason {
    /// Name of the device.
    pub device: String,
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Energy drawn; negative is fed. Of sunshine turned down: what is lost.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// Highest price of the period, of import or else of export, with the
    /// price of emissions.
    #[serde(rename = "price_max_per_kwh")]
    pub price_max: Price,
    /// Why.
    pub code: SiteReasonCode,
    /// Deadline that it serves, where it serves one.
    pub deadline: Option<DateTime<Utc>>,
    /// Limit that it has to do with, where there is one.
    pub limit: Option<LimitReason>,
}

/// One reason for each period in which a device does one thing, device by
/// device, in time order. Loads that nobody can move need none.
#[must_use]
pub fn explain(request: &SiteRequest, plan: &SitePlan) -> Vec<SiteReason> {
    let mut reasons: Vec<SiteReason> = Vec::new();
    for (index, device) in plan.devices.iter().enumerate() {
        let first = reasons.len();
        let view = View { request, plan, device, index };
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

/// The periods up to the last deadline without a price, each with the wishes
/// that are missed because of it.
#[must_use]
pub fn gaps(request: &SiteRequest, plan: &SitePlan) -> Vec<Gap> {
    let gap = |(start, end): (i64, i64)| {
        let (start, end) = (instant_at(start), instant_at(end));
        let missed = plan.devices.iter().flat_map(|device| {
            let late = device.wishes.iter().filter(|wish| {
                wish.causes.contains(&Cause::NoPrice) && wish.by.is_none_or(|by| by > start)
            });
            late.map(|wish| MissedTarget { device: Some(device.name.clone()), by: wish.by })
        });
        Gap { start, end, missing: MissingPrice::Any, missed: missed.collect() }
    };
    SiteSlots::new(request).gaps.into_iter().map(gap).collect()
}

fn continues(last: &SiteReason, next: &SiteReason) -> bool {
    let limit = |reason: &SiteReason| reason.limit.clone().map(|limit| (limit.name, limit.phase));
    last.code == next.code
        && last.deadline == next.deadline
        && limit(last) == limit(next)
        && (last.energy < Energy::ZERO) == (next.energy < Energy::ZERO)
}

/// A device inside of its plan.
struct View<'a> {
    request: &'a SiteRequest,
    plan: &'a SitePlan,
    device: &'a DevicePlan,
    index: usize,
}

type LimitedReason = (SiteReasonCode, Option<LimitReason>);

impl View<'_> {
    fn reason(&self, slot: usize) -> Option<SiteReason> {
        let power = self.device.power[slot].as_kw();
        let period = &self.plan.slots[slot];
        let length = period.end - period.start;
        let (code, limit, energy) = match &self.request.devices[self.index] {
            Device::Load(_) => return None,
            Device::Solar(_) => {
                let lost = self.device.power_max[slot].as_kw() + power;
                let (code, limit) = (lost > SAME_KW).then(|| self.curtailed(slot))?;
                (code, limit, Power::from_kw(lost).unwrap_or_default().over(length))
            }
            _ if power.abs() <= SAME_KW => return None,
            _ => {
                let (code, limit) = if power > 0.0 { self.draws(slot) } else { self.feeds(slot) };
                (code, limit, self.device.power[slot].over(length))
            }
        };
        let price_max = Price::from_per_kwh(self.price(slot)).unwrap_or_default();
        let deadline = self.deadline(slot);
        let device = self.device.name.clone();
        let (start, end) = (period.start, period.end);
        Some(SiteReason { device, start, end, energy, price_max, code, deadline, limit })
    }

    /// The first deadline that energy of a slot can serve.
    fn deadline(&self, slot: usize) -> Option<DateTime<Utc>> {
        let end = self.plan.slots[slot].end;
        let deadlines = self.device.wishes.iter().filter_map(|wish| wish.by);
        deadlines.filter(|&by| by >= end).min()
    }

    /// What a kWh at the margin of a slot costs: bought, or not sold.
    fn price(&self, slot: usize) -> f64 {
        let SiteSlot { import, export, import_price, export_price, carbon_kg_per_kwh, .. } =
            &self.plan.slots[slot];
        if *import <= Energy::ZERO && *export > Energy::ZERO {
            return export_price.as_per_kwh();
        }
        let per_kg = self.request.carbon.as_ref().map_or(0.0, |carbon| carbon.price_per_kg);
        import_price.as_per_kwh() + per_kg * carbon_kg_per_kwh
    }

    fn draws(&self, slot: usize) -> LimitedReason {
        use SiteReasonCode as Code;
        let period = &self.plan.slots[slot];
        if self.is_below_reserve(slot) {
            return (Code::Reserve, None);
        }
        // What lies above the charge limit is no reason to charge.
        let missed = self.device.wishes.iter().find(|wish| {
            let is_missed = wish.causes.iter().any(|cause| *cause != Cause::ChargeLimit);
            is_missed && wish.by.is_none_or(|by| by >= period.end)
        });
        if let Some(wish) = missed {
            let is_last = wish.causes.contains(&Cause::Priority);
            let code = if is_last { Code::Priority } else { Code::MissedDeadline };
            return (code, self.first_binding());
        }
        let sun =
            self.plan.devices.iter().any(|d| d.kind == "solar" && d.power[slot] < Power::ZERO);
        if period.import <= Energy::ZERO && sun {
            return (Code::SolarSurplus, None);
        }
        if self.price(slot) < 0.0 {
            return (Code::NegativePrice, None);
        }
        if let Some(cheaper) = self.cheaper_room(slot) {
            return self.why_not(cheaper);
        }
        let is_full = |other: usize| {
            self.device.power[other].as_kw() >= self.device.power_max[other].as_kw() - SAME_KW
        };
        let code = if self.window(slot).all(is_full) { Code::Deadline } else { Code::Cheap };
        (code, None)
    }

    fn feeds(&self, slot: usize) -> LimitedReason {
        match self.binding_at(slot) {
            Some(limit) => (SiteReasonCode::Limit, Some(limit)),
            None => (SiteReasonCode::HighPrice, None),
        }
    }

    fn curtailed(&self, slot: usize) -> LimitedReason {
        (SiteReasonCode::Curtailed, self.binding_at(slot))
    }

    fn is_below_reserve(&self, slot: usize) -> bool {
        let Device::Vehicle(vehicle) = &self.request.devices[self.index] else { return false };
        let soc = self.device.soc.get(slot);
        soc.is_some_and(|soc| soc.as_percent() < vehicle.reserve.as_percent() - 1e-6)
    }

    /// Slots in which the device is there, up to its next deadline.
    fn window(&self, slot: usize) -> impl Iterator<Item = usize> + '_ {
        let deadline = self.deadline(slot);
        (0..self.plan.slots.len())
            .filter(move |&other| deadline.is_none_or(|by| self.plan.slots[other].end <= by))
            .filter(|&other| self.device.power_max[other] > Power::ZERO)
    }

    /// The cheapest slot with room that costs less, the earliest of equals.
    fn cheaper_room(&self, slot: usize) -> Option<usize> {
        let most = self.price(slot) - 1e-9;
        let has_room = |&other: &usize| {
            self.device.power[other].as_kw() < self.device.power_max[other].as_kw() - SAME_KW
        };
        self.window(slot)
            .filter(has_room)
            .filter(|&other| self.price(other) < most)
            .min_by(|&one, &other| self.price(one).total_cmp(&self.price(other)))
    }

    fn why_not(&self, cheaper: usize) -> LimitedReason {
        use SiteReasonCode as Code;
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

    /// The limit of the device that binds in a slot; of several the one with
    /// the highest shadow price.
    fn binding_at(&self, slot: usize) -> Option<LimitReason> {
        let binds = |limit: &&LimitOutcome| {
            let is_full = limit.limit[slot].is_some_and(|most| {
                limit.power[slot].as_kw().abs() >= most.as_kw() - SAME_KW * most.as_kw().max(1.0)
            });
            self.is_under(limit) && (is_full || limit.shadow_price[slot] > Price::ZERO)
        };
        let price = |limit: &&LimitOutcome| limit.shadow_price[slot];
        // The last of equals is the innermost group.
        let limit =
            self.plan.limits.iter().filter(binds).max_by(|a, b| price(a).total_cmp(&price(b)))?;
        Some(LimitReason {
            name: limit.name.clone(),
            phase: limit.phase,
            at: self.plan.slots[slot].start,
            shadow_price: limit.shadow_price[slot],
        })
    }

    /// The first slot of its stay in which a limit binds.
    fn first_binding(&self) -> Option<LimitReason> {
        let there = |&slot: &usize| self.device.power_max[slot] > Power::ZERO;
        (0..self.plan.slots.len()).filter(there).find_map(|slot| self.binding_at(slot))
    }

    fn is_under(&self, limit: &LimitOutcome) -> bool {
        let device = &self.request.devices[self.index];
        let is_on = limit.phase.is_none_or(|phase| device.phases().contains(&phase));
        let group = self.request.groups.iter().position(|group| group.name == limit.name);
        is_on && group.is_none_or(|group| is_member(self.request, device, group))
    }
}

impl SiteReason {
    /// The reason as a sentence, with times on the wall clock of `time_zone`.
    #[must_use]
    pub fn sentence(&self, time_zone: Tz) -> String {
        let clock = |at: DateTime<Utc>| wall_clock(at, time_zone);
        let energy = rounded(self.energy.as_kwh().abs(), 2);
        let verb = match self.code {
            SiteReasonCode::Curtailed => "is turned down by",
            _ if self.energy < Energy::ZERO => "gives",
            _ => "takes",
        };
        let mut text = format!(
            "{} to {}: {} {verb} {energy} kWh ",
            clock(self.start),
            clock(self.end),
            self.device
        );
        let by = self.deadline.map_or_else(|| "the last price".to_owned(), clock);
        let price = rounded(self.price_max.as_per_kwh(), 5);
        let why = match self.code {
            SiteReasonCode::Reserve => "as soon as can be, to reach its reserve".to_owned(),
            SiteReasonCode::MissedDeadline => {
                format!("because its wish for {by} cannot be met in full")
            }
            SiteReasonCode::Priority => {
                format!("because its wish for {by} cannot be met in full: others weigh more")
            }
            SiteReasonCode::SolarSurplus => "from sunshine that nobody else uses".to_owned(),
            SiteReasonCode::NegativePrice => format!("because it is paid for (price {price})"),
            SiteReasonCode::Limit if self.energy < Energy::ZERO => "to keep a limit".to_owned(),
            SiteReasonCode::Limit => format!("at {price}, because cheaper time is full"),
            SiteReasonCode::Peak => format!("at {price}, to keep the peak down"),
            SiteReasonCode::Deadline => format!("because all time before {by} is needed"),
            SiteReasonCode::Preference => format!("at {price}, as it was preferred"),
            SiteReasonCode::Cheap => format!("because {price} is among the cheapest before {by}"),
            SiteReasonCode::HighPrice => format!("because a kWh is worth {price}"),
            SiteReasonCode::Curtailed => "because nobody can use or buy it".to_owned(),
        };
        text += &why;
        if let Some(limit) = &self.limit {
            let phase = limit.phase.map_or_else(String::new, |p| format!(" on {}", p.as_str()));
            let saves = rounded(limit.shadow_price.as_per_kwh(), 5);
            let _ = write!(text, "; {}{phase} binds at {}", limit.name, clock(limit.at));
            if limit.shadow_price > Price::ZERO {
                let _ = write!(text, ", where one more kWh would save {saves}");
            }
        }
        text + "."
    }
}

//! Reasons for which a heat unit runs.
//!
//! The first rule that holds for a slot gives its code: the temperature is outside the band at its start
//! or end, a plan before, solar surplus, a negative price, a time in which the same heat would cost less and that a
//! limit, the peak or a preference keeps free, the edge of the band at the end of the slot, an edge that
//! is reached later, and else a cheap slot.
//!
//! A kWh of electricity in slot `k`, at the price `p_k`, is `η_k` kWh of heat, of which `Π a_j` is left
//! at the end of slot `m`. The heat costs `p_k / (η_k·a_{k+1}·…·a_m)` per kWh there.
use chrono::{DateTime, Utc};

use crate::plan::heat::request::HeatMode;
use crate::plan::heat::slots::decay;
use crate::plan::site::device::HeatUnit;
use crate::plan::site::explain::{LimitedReason, SAME_KW, SAME_PRICE, SiteReasonCode, View};
use crate::plan::site::plan::RoomSlot;
use crate::time::instant::micros_between;
use crate::units::MICROS_PER_HOUR;

/// Distance of a temperature from an edge of the band, in K, at which it is at that edge.
const SAME_KELVIN: f64 = 1e-4;

impl View<'_> {
    /// Reason of a slot in which a heat unit runs, and the instant at which its heat is needed.
    pub(crate) fn explain_heating(
        &self,
        slot: usize,
        unit: &HeatUnit,
    ) -> (LimitedReason, Option<DateTime<Utc>>) {
        use SiteReasonCode as Code;
        let room = self.device.heat.as_ref().map_or(&[][..], |heat| &heat.slots);
        let start = self.plan.slots[slot].start;
        let at = room.partition_point(|own| own.end <= start);
        let Some(own) = room.get(at) else { return ((Code::Cheap, None), None) };
        // The temperature before the slot, against the band at its end for the first slot.
        let first =
            self.device.heat.as_ref().map_or(own.temperature, |heat| heat.temperature_start);
        let before =
            at.checked_sub(1).map_or(RoomSlot { temperature: first, ..*own }, |at| room[at]);
        if to_edges(unit, own).0.min(to_edges(unit, &before).0) < -SAME_KELVIN {
            return ((Code::Recover, self.binding_at(slot)), None);
        }
        if self.stays_near() {
            return ((Code::PreviousPlan, None), None);
        }
        if self.is_solar(slot) {
            return ((Code::SolarSurplus, None), None);
        }
        if self.price(slot) < 0.0 {
            return ((Code::NegativePrice, None), None);
        }
        // From the last time at the other edge, before which nothing more could be stored, to the
        // first one at this edge, after which nothing stored would be left.
        let is_full = |own: &RoomSlot| to_edges(unit, own).1 < SAME_KELVIN;
        let is_used_up = |own: &RoomSlot| to_edges(unit, own).0 < SAME_KELVIN;
        let due = room[at..].iter().position(is_used_up).map(|after| at + after);
        let from = room[..at].iter().rposition(is_full).map_or(0, |full| full + 1);
        let needed = &room[..=due.unwrap_or(room.len() - 1)];
        match (self.find_cheaper_heat(unit, needed, (from, at)), due) {
            (Some(cheaper), _) => (self.explain_unused(cheaper), None),
            (None, Some(due)) if due == at => ((Code::Hold, None), None),
            (None, Some(due)) => ((Code::Ahead, None), Some(room[due].end)),
            (None, None) => ((Code::Cheap, None), None),
        }
    }

    /// Slot of the site, not before slot `from` of a room, in which the heat that the unit stores in
    /// slot `at` could be had for the least money, if that is less than in `at`. The heat is needed at
    /// the end of `room`.
    fn find_cheaper_heat(
        &self,
        unit: &HeatUnit,
        room: &[RoomSlot],
        (from, at): (usize, usize),
    ) -> Option<usize> {
        let store = unit.heat.store;
        let per_hour = store.loss.as_kw_per_k() / store.capacity.as_kwh_per_k();
        let hours = |start, end| micros_between(start, end) as f64 / MICROS_PER_HOUR;
        let end = room.last()?.end;
        let site_slot = |own: &RoomSlot| {
            self.plan.slots.binary_search_by_key(&own.start, |slot| slot.start).ok()
        };
        let price = |own: &RoomSlot, slot: usize| {
            let stored = own.cop * decay(per_hour, hours(own.start, own.end)).1;
            self.price(slot) / (stored * decay(per_hour, hours(own.end, end)).0)
        };
        let most = price(&room[at], site_slot(&room[at])?) - SAME_PRICE;
        let has_room = |&slot: &usize| {
            self.device.power[slot].as_kw() < self.device.power_max[slot].as_kw() - SAME_KW
        };
        let prices = room[from..].iter().filter_map(|own| {
            let slot = site_slot(own).filter(has_room)?;
            Some((slot, price(own, slot)))
        });
        let cheaper = prices.filter(|&(_, price)| price < most);
        cheaper.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(slot, _)| slot)
    }
}

/// Kelvin to the edge of the band for which a unit runs, and to the other one; negative beyond it.
fn to_edges(unit: &HeatUnit, own: &RoomSlot) -> (f64, f64) {
    let above_low = (own.temperature - own.temperature_min).as_celsius();
    let below_high = (own.temperature_max - own.temperature).as_celsius();
    match unit.heat.mode {
        HeatMode::Heat => (above_low, below_high),
        HeatMode::Cool => (below_high, above_low),
    }
}

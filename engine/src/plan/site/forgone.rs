//! Revenue that vehicles of a site leave at negative prices.
//!
//! A vehicle that may not charge beyond its targets buys their energy alone. Beside the plan, and
//! within the limits of the site, it could take more where the price of a kWh, emissions included,
//! is negative. It is added up for one vehicle after the other, each in its cheapest slots.
//! Surcharges of blocks, peaks that are charged for and tapers are not counted, so that it is at
//! most so much.
use chrono::{DateTime, Utc};

use crate::plan::charge::forgone::{Forgone, forgone_in};
use crate::plan::charge::plan::PlannedSlot;
use crate::plan::site::device::{Device, Vehicle};
use crate::plan::site::limits::is_member;
use crate::plan::site::plan::{DevicePlan, LimitOutcome, SitePlan, SiteSlot};
use crate::plan::site::request::SiteRequest;
use crate::time::instant::micros_of;
use crate::tolerance::SITE_MIN_KWH;
use crate::units::{Energy, Power, Price};

/// Energy at negative prices that a vehicle of a site does not buy.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeviceForgone {
    /// Name of the vehicle.
    pub device: String,
    /// The energy and what it would earn.
    pub forgone: Forgone,
}

/// A limit, and what it leaves in each slot.
struct LimitRoom<'a> {
    outcome: &'a LimitOutcome,
    free_kwh: Vec<f64>,
}

impl<'a> LimitRoom<'a> {
    fn new(plan: &'a SitePlan, outcome: &'a LimitOutcome) -> Self {
        let free = |(slot, (limit, power)): (&SiteSlot, (&Option<Power>, &Power))| {
            let free = limit.map_or(f64::INFINITY, |limit| limit.as_kw() - power.as_kw());
            free * hours(slot)
        };
        let powers = outcome.limit.iter().zip(&outcome.power);
        Self { outcome, free_kwh: plan.slots.iter().zip(powers).map(free).collect() }
    }

    /// Part of the power of a device that counts; 0 if the limit is not one on what it draws.
    fn share(&self, request: &SiteRequest, device: &Device) -> f64 {
        let outcome = self.outcome;
        if outcome.name == "import" {
            return 1.0;
        }
        let group = request.groups.iter().position(|group| group.name == outcome.name);
        if !group.is_some_and(|index| is_member(request, device, index)) {
            return 0.0;
        }
        let on = device.phases();
        match outcome.phase {
            Some(phase) if on.contains(&phase) => 1.0 / on.len() as f64,
            Some(_) => 0.0,
            None => 1.0,
        }
    }
}

/// Returns what the vehicles of a site leave at negative prices, in the order of the request; only
/// vehicles that leave some.
#[must_use]
pub fn forgone(request: &SiteRequest, plan: &SitePlan) -> Vec<DeviceForgone> {
    let mut rooms: Vec<LimitRoom<'_>> =
        plan.limits.iter().map(|outcome| LimitRoom::new(plan, outcome)).collect();
    let devices = request.devices.iter().zip(&plan.devices);
    let of_device = |(device, planned): (&Device, &DevicePlan)| {
        let Device::Vehicle(vehicle) = device else { return None };
        if vehicle.may_fill() || !vehicle.charge_from_grid {
            return None;
        }
        let shares: Vec<f64> = rooms.iter().map(|room| room.share(request, device)).collect();
        let slots = spare_slots(request, plan, (vehicle, planned), (&rooms[..], &shares[..]));
        let mut used = Vec::new();
        let room = room_of(vehicle, planned);
        let forgone = forgone_in(slots, room, |slot, energy| used.push((slot.start, energy)))?;
        for (start, energy) in used {
            use_up(plan, &mut rooms, &shares, (start, energy));
        }
        Some(DeviceForgone { device: vehicle.name.clone(), forgone })
    };
    devices.filter_map(of_device).collect()
}

/// Slots before the last deadline of a vehicle in which energy would be paid for, with the power
/// that it and the limits leave.
fn spare_slots(
    request: &SiteRequest,
    plan: &SitePlan,
    (vehicle, planned): (&Vehicle, &DevicePlan),
    (rooms, shares): (&[LimitRoom<'_>], &[f64]),
) -> Vec<PlannedSlot> {
    let last = vehicle.last_deadline();
    let mut spare = Vec::new();
    for (index, slot) in plan.slots.iter().enumerate() {
        let price = price_of(request, slot);
        if price >= Price::ZERO || micros_of(slot.end) > last {
            continue;
        }
        let own = (planned.power_max[index].as_kw() - planned.power[index].as_kw()) * hours(slot);
        let within = rooms.iter().zip(shares).filter(|(_, share)| **share > 0.0);
        let free = within.map(|(room, share)| room.free_kwh[index] / share);
        let kwh = free.fold(own, f64::min);
        // Rounding of powers is no spare.
        let Ok(power_max) = Power::from_kw(kwh / hours(slot)) else { continue };
        if kwh > SITE_MIN_KWH {
            let (start, end) = (slot.start, slot.end);
            spare.push(PlannedSlot { start, end, price, power_max, energy: Energy::ZERO });
        }
    }
    spare
}

/// Price of one more kWh in a slot, with emissions at their price: of import, or of export that it
/// takes the place of if that is dearer.
fn price_of(request: &SiteRequest, slot: &SiteSlot) -> Price {
    let per_kg = request.carbon.as_ref().map_or(0.0, |carbon| carbon.price_per_kg);
    let import = slot.import_price.as_per_kwh() + per_kg * slot.carbon_kg_per_kwh;
    let price = Price::from_per_kwh(import).unwrap_or(slot.import_price);
    if slot.export > Energy::ZERO { price.max(slot.export_price) } else { price }
}

/// Energy at the plug that a vehicle takes, and what fits beside it up to its charge limit; `None`
/// without a battery. With drives it is what fits at its fullest.
fn room_of(vehicle: &Vehicle, planned: &DevicePlan) -> Option<(Energy, Energy)> {
    let battery = vehicle.battery.as_ref()?;
    let fullest = planned.soc.iter().map(|soc| soc.as_percent()).fold(0.0, f64::max);
    let left = (battery.charge_limit.as_percent() - fullest).max(0.0) / 100.0;
    let left = left * battery.capacity.as_kwh() / battery.efficiency;
    let limit = Energy::from_kwh(planned.energy.as_kwh() + left).ok()?;
    Some((planned.energy, limit))
}

/// Takes the energy of a slot from what the limits leave in it.
fn use_up(
    plan: &SitePlan,
    rooms: &mut [LimitRoom<'_>],
    shares: &[f64],
    (start, energy): (DateTime<Utc>, Energy),
) {
    let Some(index) = plan.slots.iter().position(|slot| slot.start == start) else { return };
    for (room, share) in rooms.iter_mut().zip(shares) {
        room.free_kwh[index] -= share * energy.as_kwh();
    }
}

fn hours(slot: &SiteSlot) -> f64 {
    (slot.end - slot.start).as_seconds_f64() / 3600.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::charge::vehicle::SocTarget;
    use crate::plan::site::planner::plan_site;
    use crate::plan::site::problem::SiteProblem;
    use crate::plan::site::request::Limit;
    use crate::plan::site::request::tests::{battery_of, site, van};
    use crate::plan::site::series::Series;
    use crate::units::{Percent, kw};

    /// Energy in kWh and revenue of each vehicle, at hourly prices of 30, -10 and -20 cents.
    fn left(vans: &[Device], limit_kw: Option<f64>) -> Vec<(f64, f64)> {
        let mut request = site(&[30, -10, -20], vans);
        request.import_limit =
            limit_kw.map(|limit| Limit { power: Series::Constant(kw(limit)), breach_price: None });
        let plan = plan_site(&SiteProblem::new(request.clone()).unwrap());
        let rounded = |value: f64| (value * 1e6).round() / 1e6;
        let numbers = |one: &DeviceForgone| {
            let Forgone { energy, revenue, .. } = one.forgone;
            (rounded(energy.as_kwh()), rounded(revenue.as_amount()))
        };
        forgone(&request, &plan).iter().map(numbers).collect()
    }

    #[test]
    fn vehicles_leave_what_their_power_and_the_limits_of_the_site_allow() {
        // 2 kWh are bought at -20 cents; 2 more fit there, and 4 at -10 cents.
        let first = || Device::Vehicle(van("first", 4.0, 2.0));
        let second = || Device::Vehicle(van("second", 4.0, 0.0));
        assert_eq!(left(&[first()], None), [(6.0, 0.8)]);
        assert_eq!(left(&[first(), second()], None), [(6.0, 0.8), (8.0, 1.2)]);
        // 5 kW leave 3 kWh at -20 cents and 5 at -10 cents.
        assert_eq!(left(&[first(), second()], Some(5.0)), [(6.0, 0.8), (2.0, 0.3)]);
    }

    #[test]
    fn the_battery_bounds_it_and_a_vehicle_that_fills_leaves_none() {
        let mut car = van("car", 4.0, 0.0);
        let target = SocTarget { by: None, soc: Some(Percent::from_percent(20.0).unwrap()) };
        (car.battery, car.soc_targets) = (Some(battery_of(10.0, 10.0)), vec![target]);
        car.battery.as_mut().unwrap().charge_limit = Percent::from_percent(40.0).unwrap();
        car.targets.clear();
        // 1 of 3 kWh is bought.
        assert_eq!(left(&[Device::Vehicle(car.clone())], None), [(2.0, 0.4)]);
        car.fill_when_worth = true;
        assert_eq!(left(&[Device::Vehicle(car)], None), []);
    }
}

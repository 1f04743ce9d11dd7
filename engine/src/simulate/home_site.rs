//! Plans of a home with a battery and vehicles, as a site behind one meter.
//!
//! The site has the battery, with its target at the end, one vehicle for each stay, with its need by its
//! departure, and the net load as a load or, below zero, as solar power that is not curtailed. The
//! planner is [`plan_site`].
use std::collections::BTreeMap;

use crate::plan::charge::request::Target;
use crate::plan::charge::vehicle::Battery;
use crate::plan::site::device::{
    Device, Discharge, Load, Phase, Solar, StationaryBattery, Vehicle,
};
use crate::plan::site::plan::SitePlan;
use crate::plan::site::planner::plan_site;
use crate::plan::site::problem::SiteProblem;
use crate::plan::site::request::SiteRequest;
use crate::plan::site::series::Series;
use crate::plan::storage::behind_meter::{BehindMeterBattery, BehindMeterSlot};
use crate::prices::curve::PriceCurve;
use crate::simulate::command::Command;
use crate::simulate::exact::{MONEY_MAX, Milliwatts};
use crate::simulate::facts::{Stay, check_stay};
use crate::simulate::home::{HomeError, HomeFacts, for_each_part};
use crate::simulate::home_stay::{PlannedStay, StayMeter};
use crate::simulate::home_view::HomeView;
use crate::simulate::net_load::NetLoad;
use crate::simulate::regret::Relaxation;
use crate::time::horizon::Horizon;
use crate::time::instant::{instant_at, micros_of};
use crate::units::{Energy, Percent, Power, Price};

/// Part of a milliwatt by which a power of a vehicle may be below the plan: rounding of the solver.
const MILLIWATT_PART: f64 = 1e-3;

/// Name of the battery in the site.
const BATTERY: &str = "battery";

impl HomeFacts {
    /// Adds vehicles to the facts, each at the plug of a home with a battery during its stay.
    ///
    /// A vehicle is known from its arrival on. Battery and vehicles of a home are planned together, by
    /// [`plan_site`], with any power from the least to the highest of a vehicle; of steps it draws the next
    /// one above. The price of missing energy is that of [`HomeFacts::new`] for both.
    ///
    /// # Errors
    /// A number is out of range, a home has no battery, a stay lasts longer than the simulation of
    /// its home or has a cost of starts, or the home has more slots than can be planned at once.
    pub fn with_stays(mut self, stays: Vec<Stay>) -> Result<Self, HomeError> {
        self.stays_by_home = vec![Vec::new(); self.homes().len()];
        let homes = self.homes().iter().enumerate();
        let rows: BTreeMap<u32, usize> =
            homes.map(|(row, home)| (home.battery.home, row)).collect();
        for (row, stay) in stays.iter().enumerate() {
            check_stay(row, stay, self.import())?;
            check_beside_battery(row, stay)?;
            let &home = rows.get(&stay.home).ok_or(HomeError::NoBattery { row })?;
            let ((start, end), Stay { arrival, departure, .. }) = (self.homes()[home].span, *stay);
            if arrival < start || departure > end {
                return Err(HomeError::StayOutside { row, arrival, departure, start, end });
            }
            self.stays_by_home[home].push(row);
        }
        self.stays = stays;
        for row in 0..self.homes().len() {
            check_site(&self, row)?;
        }
        Ok(self)
    }
}

/// Checks that a vehicle beside a battery has a power that is counted, and starts that are free.
fn check_beside_battery(row: usize, stay: &Stay) -> Result<(), HomeError> {
    let start_cost = stay.device.start_cost.as_amount();
    if start_cost > 0.0 {
        return Err(HomeError::StayStarts { row, start_cost });
    }
    let value = stay.device.power_max.as_kw();
    if value > MONEY_MAX {
        let column = "power_max_kw";
        return Err(HomeError::StayRange { row, column, value, most: MONEY_MAX });
    }
    Ok(())
}

/// Plans the battery and the vehicles of a home for the slots of `slots`, which follow each other and
/// are cut where a vehicle comes or goes. Writes the power of the battery in each slot to `powers_kw`,
/// and returns the plans of the vehicles.
///
/// # Errors
/// A forecast is beyond what a site can be planned with.
pub(crate) fn plan_together(
    view: &HomeView<'_>,
    slots: &[BehindMeterSlot],
    powers_kw: &mut Vec<f64>,
) -> Result<Vec<PlannedStay>, HomeError> {
    let end = slots.last().map_or(view.now, |slot| slot.end);
    let stays: Vec<_> = view.waiting_stays().filter(|(_, stay)| stay.start < end).collect();
    let meters: Vec<&StayMeter> = stays.iter().map(|&(_, stay)| stay).collect();
    let capacity = view.facts.homes()[view.row].battery.capacity;
    let problem = SiteProblem::new(site_of(&view.battery, capacity, slots, &meters));
    let problem = problem.map_err(|source| HomeError::Site { row: view.row, source })?;
    let plan = plan_site(&problem);
    powers_kw.clear();
    powers_kw.extend(powers_of(&plan, BATTERY, slots).map(Power::as_kw));
    let planned = |(position, stay): (usize, &StayMeter)| PlannedStay {
        position,
        need: stay.missing,
        commands: commands_of(&plan, stay, slots),
    };
    Ok(stays.into_iter().map(planned).collect())
}

/// Checks that the battery and the vehicles of home `row` can be planned for all of its simulation.
///
/// # Errors
/// There are too many slots, or a number is beyond what a site can be planned with.
fn check_site(facts: &HomeFacts, row: usize) -> Result<(), HomeError> {
    let relaxed = Relaxation::default();
    let meters = facts.stays_of(row).map(|(row, stay)| StayMeter::new(row, stay, relaxed));
    let meters: Vec<StayMeter> = meters.collect();
    if meters.is_empty() {
        return Ok(());
    }
    let home = &facts.homes()[row];
    let span = (micros_of(home.span.0), micros_of(home.span.1));
    let mut slots = Vec::new();
    let net = home.net.as_ref();
    let settled = |slot: usize| net.map_or(Milliwatts(0), |net| net.powers()[slot]);
    let curves = (facts.import(), facts.export());
    for_each_part(curves, net.map(NetLoad::horizon), span, settled, |part| {
        slots.push(part.as_slot());
    });
    let meters: Vec<&StayMeter> = meters.iter().collect();
    let request = site_of(&home.battery.metered(), home.battery.capacity, &slots, &meters);
    let problem = SiteProblem::new(request);
    problem.map(|_| ()).map_err(|source| HomeError::Site { row, source })
}

/// The home as a site from the start of the first slot to the end of the last one.
fn site_of(
    battery: &BehindMeterBattery,
    capacity: Energy,
    slots: &[BehindMeterSlot],
    stays: &[&StayMeter],
) -> SiteRequest {
    let now = slots.first().map_or(i64::MIN, |slot| slot.start);
    let curve = |of: fn(&BehindMeterSlot) -> f64| {
        let horizon = Horizon::from_micros(slots.iter().map(|slot| (slot.start, slot.end)));
        let horizon = horizon.expect("slots follow each other");
        PriceCurve::from_parts(horizon, slots.iter().map(of).collect())
            .expect("prices of slots are those of curves")
    };
    let mut request = SiteRequest::new(curve(|slot| slot.import), instant_at(now));
    request.export_prices = Some(curve(|slot| slot.export));
    let net = |sign: f64| {
        let power = |slot: &BehindMeterSlot| Power::from_kw((sign * slot.net_kw).max(0.0));
        Series::PerSlot(slots.iter().map(|slot| power(slot).unwrap_or(Power::ZERO)).collect())
    };
    request.devices = vec![
        Device::Battery(stationary(battery, capacity)),
        Device::Load(Load {
            name: "load".to_owned(),
            group: None,
            phases: Phase::ALL.to_vec(),
            forecast: net(1.0),
        }),
        Device::Solar(Solar {
            name: "solar".to_owned(),
            group: None,
            phases: Phase::ALL.to_vec(),
            forecast: net(-1.0),
            is_curtailable: false,
        }),
    ];
    request.devices.extend(stays.iter().map(|stay| {
        let power = |power: Milliwatts| Power::from_kw(power.as_kw()).unwrap_or(Power::ZERO);
        let mut vehicle = Vehicle::new(name_of(stay), power(stay.device.power_max));
        if !stay.device.is_ideal() {
            // The least power that it can draw, which is the next one above nothing.
            vehicle.power_min = power(stay.device.drawn(Milliwatts(1)));
        }
        vehicle.arrival = (stay.start > now).then(|| instant_at(stay.start));
        vehicle.departure = Some(instant_at(stay.end));
        let energy = Energy::from_kwh(stay.missing.as_kwh()).unwrap_or(Energy::ZERO);
        vehicle.targets.push(Target { by: vehicle.departure, energy });
        Device::Vehicle(vehicle)
    }));
    request
}

/// The battery of a home as that of a site.
fn stationary(battery: &BehindMeterBattery, capacity: Energy) -> StationaryBattery {
    let percent =
        |kwh: f64| Percent::filled(Energy::from_kwh(kwh).unwrap_or(Energy::ZERO), capacity);
    let power = |kw: f64| Power::from_kw(kw).unwrap_or(Power::ZERO);
    // A home counts wear per stored kWh, a site at the plug.
    let wear = Price::from_per_kwh(battery.wear_per_kwh / battery.efficiency_discharge);
    StationaryBattery {
        name: BATTERY.to_owned(),
        group: None,
        phases: Phase::ALL.to_vec(),
        power_max: power(battery.charge_max_kw),
        charge_from_grid: true,
        battery: Battery {
            capacity,
            soc: Some(percent(battery.stored_kwh)),
            soc_fallback: None,
            charge_limit: percent(battery.most_kwh),
            efficiency: battery.efficiency_charge,
        },
        discharge: Discharge {
            power_max: power(battery.discharge_max_kw),
            efficiency: battery.efficiency_discharge,
            soc_min: percent(battery.least_kwh),
            wear: wear.unwrap_or(Price::ZERO),
            discharge_to_grid: true,
        },
        soc_end: Some(percent(battery.target_kwh)),
        end_value: Price::ZERO,
        soft_bounds: Vec::new(),
        limits: Vec::new(),
        power_wanted: None,
    }
}

/// Name of the vehicle of a stay in the site.
fn name_of(stay: &StayMeter) -> String {
    format!("vehicle {}", stay.row)
}

/// Power of a device in each slot of `slots`, which the plan has among its own.
fn powers_of(
    plan: &SitePlan,
    name: &str,
    slots: &[BehindMeterSlot],
) -> impl Iterator<Item = Power> {
    let device = plan.devices.iter().find(|device| device.name == name);
    let powers = device.map_or(&[][..], |device| &device.power);
    let starts: Vec<i64> = plan.slots.iter().map(|slot| micros_of(slot.start)).collect();
    slots.iter().map(move |slot| {
        let planned = starts.partition_point(|&start| start <= slot.start).checked_sub(1);
        planned.and_then(|at| powers.get(at)).copied().unwrap_or(Power::ZERO)
    })
}

/// Commands to the vehicle of a stay. Powers are rounded up to whole milliwatts, so that its need is
/// met.
fn commands_of(plan: &SitePlan, stay: &StayMeter, slots: &[BehindMeterSlot]) -> Vec<Command> {
    let name = name_of(stay);
    let powers = powers_of(plan, &name, slots).zip(slots);
    let commands = powers.map(|(power, slot)| {
        let power = Milliwatts((power.as_kw() * 1e6 - MILLIWATT_PART).ceil() as i64);
        Command { start: slot.start, end: slot.end, power }
    });
    commands.filter(|command| command.power.0 > 0).collect()
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::prices::curve::tests::curve_of;
    use crate::simulate::device::ChargeDevice;
    use crate::simulate::tests::homes::{battery, home, minute, net};
    use crate::units::{kw, kwh, money};

    /// A stay of five hours that begins after ten minutes.
    fn stay() -> Stay {
        Stay {
            home: 0,
            arrival: minute(10),
            departure: minute(310),
            need: kwh(9.0),
            device: ChargeDevice::ideal(kw(7.0)),
        }
    }

    #[track_caller]
    fn check(change: fn(&mut Stay), expected: &str) {
        let mut stay = stay();
        change(&mut stay);
        let homes = vec![home(battery(), Some(net(60, &[1.0; 24], &[0.0; 24])))];
        let facts = HomeFacts::new(curve_of(60, &[30; 30]), None, homes, None).unwrap();
        assert_eq!(facts.with_stays(vec![stay]).unwrap_err().to_string(), expected);
    }

    #[test]
    fn errors_name_the_stay_and_the_value() {
        check(
            |stay| stay.home = 3,
            "stay 0: its home has no battery; a stay without a battery is simulated alone",
        );
        check(
            |stay| stay.device.power_max = kw(2e6),
            "stay 0: power_max_kw is 2000000; beside a battery it is at most 1000000",
        );
        check(
            |stay| stay.device.start_cost = money(0.1),
            "stay 0: start_cost is 0.1; the planner of a home with a battery counts no starts: \
             leave the column out, or simulate the stay without a battery",
        );
        check(
            |stay| stay.departure = minute(1500),
            "stay 0 lasts from 2026-01-05 18:10:00 UTC to 2026-01-06 19:00:00 UTC; the simulation of \
             its home lasts from 2026-01-05 18:00:00 UTC to 2026-01-06 18:00:00 UTC",
        );
        check(
            |stay| stay.need = kwh(f64::from(u32::MAX)),
            "stay 0: energy_kwh is 4294967295 kWh; it lies between 0 and 1e6 kWh",
        );
    }

    #[test]
    fn a_simulation_longer_than_a_site_is_an_error() {
        let mut long = home(battery(), None);
        long.span.1 = minute(0) + TimeDelta::minutes(20_001);
        let prices = curve_of(1, &vec![30; 20_001]);
        let facts = HomeFacts::new(prices, None, vec![long], None).unwrap();
        let error = facts.with_stays(vec![stay()]).unwrap_err().to_string();
        assert_eq!(
            error,
            "battery 0 beside its vehicles: the site has 20001 slots; at most 20000 can be planned: \
             give until="
        );
    }
}

//! Power that a storage is to take at any price, until it is full.
//!
//! In a slot that wants `w_t` kWh, the storage charges as much, unless it is full after the slot or
//! its taper leaves less. What misses, `m_t`, counts before targets and money. `f_tk` is what the
//! storage is spared, by condition `k`:
//!
//! ```text
//! c_t + Σ_k f_tk + m_t ≥ w_t                           0 ≤ f_tk, m_t ≤ w_t
//! f_t0 = 0  or  L_t ≥ U_t                              the storage is full
//! f_tj = 0  or  c_t + h_t·b_j·L_t ≥ h_t·a_j            line j of the taper binds
//! ```
//!
//! A storage that discharges in the slot as well would serve `w_t` with the energy that it feeds. Of the
//! two flows one is zero; the linear programme has the hull of both, `c_t / C_t + d_t / D_t ≤ 1`, and a
//! binary where that is not enough.
//!
//! Each condition is a [`Guard`], whose binary enters only if a solution breaks it. A condition that
//! full power from the start does not reach has no `f_tk`.
//!
//! | Symbol | Field |
//! |---|---|
//! | `w_t`, `U_t` | `Storage::{power_wanted, charge_until}` |
//! | `C_t`, `D_t` | `Storage::{charge_max, discharge_max}` |
//! | `a_j`, `b_j` | `TaperLine::{at_zero, fall}` |
//! | `f_tk` | the gates of the guards `StorageColumns::spared` |
//! | `m_t` | `Miss::column` |
use std::ops::Range;

use crate::plan::site::accounting::{Account, Books, energy};
use crate::plan::site::binding_limits::find_binding_limits;
use crate::plan::site::course::Course;
use crate::plan::site::model::{Guard, Miss, MissKind, SiteModel, StorageColumns};
use crate::plan::site::plan::{Cause, WishOutcome};
use crate::plan::site::price_slots::SiteSlots;
use crate::plan::site::request::SiteRequest;
use crate::plan::site::series::Series;
use crate::plan::site::storage::{Storage, TaperLine};
use crate::time::instant::instant_at;
use crate::tolerance::SITE_MIN_KWH;

impl Storage {
    /// Sets the energy that is wanted in each slot, except while the storage is away.
    pub(crate) fn want_power(&mut self, wanted: Option<&Series>, grid: &SiteSlots) {
        let Some(series) = wanted else { return };
        let away = |slot: usize| self.drives.iter().any(|drive| drive.slots(grid).contains(&slot));
        let energy = |slot: usize| {
            let kw = series.at(grid.price_slots[slot], grid.starts[slot]).unwrap_or(0.0);
            if away(slot) { 0.0 } else { kw * grid.hours[slot] }
        };
        self.power_wanted = self.stay.clone().map(energy).collect();
    }

    /// True if a power is wanted in any slot.
    pub(crate) fn wants_power(&self) -> bool {
        self.power_wanted.iter().any(|&kwh| kwh > 0.0)
    }

    /// True if the storage is spared what it did not draw in the slot at position `index` of the
    /// session, of `hours`: after `drawn` kWh it is full at `level`, or the taper leaves no more.
    fn is_spared(&self, (index, hours): (usize, f64), (drawn, level): (f64, f64)) -> bool {
        let binds = |line: &TaperLine| {
            drawn + hours * line.fall * level >= hours * line.at_zero - SITE_MIN_KWH
        };
        level >= self.charge_until[index] - SITE_MIN_KWH || self.taper.iter().any(binds)
    }
}

impl SiteModel {
    /// Adds the rows of the wanted power of a storage. Returns the positions of the guards of the
    /// energy that it is spared.
    pub(crate) fn add_power_wanted(
        &mut self,
        device: usize,
        storage: &Storage,
        columns: &StorageColumns,
    ) -> Vec<usize> {
        if !storage.wants_power() {
            return Vec::new();
        }
        let highest = storage.levels_at_full_power(&self.grid);
        let mut spared = Vec::new();
        for (index, slot) in storage.stay.clone().enumerate() {
            let wanted = storage.power_wanted[index];
            if wanted <= 0.0 {
                continue;
            }
            let (charge, level) = (columns.charge[index], columns.level[index]);
            let (hours, floor) = (self.grid.hours[slot], storage.bounds_in(slot).floor);
            // Terms of each condition, the least value of their sum, and the highest one.
            let until = storage.charge_until[index];
            let mut conditions = vec![(vec![(level, 1.0)], until, highest[index])];
            conditions.extend(storage.taper.iter().map(|line| {
                let (fall, at_zero) = (hours * line.fall, hours * line.at_zero);
                let most = wanted + fall * highest[index];
                (vec![(charge, 1.0), (level, fall)], at_zero, most)
            }));
            let mut terms = vec![(charge, 1.0)];
            for (condition, least, most) in conditions {
                if most >= least - SITE_MIN_KWH {
                    let gate = self.add_column(0.0, 0.0, wanted);
                    terms.push((gate, 1.0));
                    let lower = condition.last().map_or(0.0, |(_, weight)| weight * floor);
                    spared.push(self.guards.len());
                    self.guards.push(Guard { gate, terms: condition, least, lower });
                }
            }
            self.add_hull(storage, columns, index);
            let column = self.add_column(0.0, 0.0, wanted);
            terms.push((column, 1.0));
            self.add_row(wanted, f64::INFINITY, terms);
            let (priority, slots, kind) = (storage.priority, slot + 1, MissKind::Power);
            let miss = Miss { column, energy: 1.0, priority, device, goal: index, slots, kind };
            self.misses.push(miss);
        }
        spared
    }

    /// Adds the hull of the two flows in the slot at position `index` of a session.
    fn add_hull(&mut self, storage: &Storage, columns: &StorageColumns, index: usize) {
        let (charge, discharge) = (storage.charge_max[index], storage.discharge_max[index]);
        let Some(column) = columns.discharge[index].filter(|_| charge > 0.0) else { return };
        let terms = vec![(columns.charge[index], 1.0 / charge), (column, 1.0 / discharge)];
        self.add_row(f64::NEG_INFINITY, 1.0, terms);
    }
}

/// Adjacent slots that want power: their positions, the energy that they want and what misses.
struct WantedPeriod {
    slots: Range<usize>,
    wanted: f64,
    missing: f64,
}

/// Outcomes of the periods of wanted power of a device, in time order.
pub(crate) fn report_power_wishes(
    request: &SiteRequest,
    model: &SiteModel,
    accounts: &[Account],
    books: &Books,
    (device, storage, course): (usize, &Storage, &Course),
) -> Vec<WishOutcome> {
    let periods = find_periods(model, &accounts[device], storage, course).into_iter();
    let outcome = |WantedPeriod { slots, wanted, missing }: WantedPeriod| {
        let by = instant_at(model.grid.ends[slots.end - 1]);
        let missing = if missing > SITE_MIN_KWH { missing } else { 0.0 };
        let mut causes = Vec::new();
        if missing > 0.0 {
            causes = find_binding_limits(request, model, accounts, books, device, slots, true);
            if !storage.charges_from_grid {
                causes.push(Cause::NoSurplus);
            }
            if causes.is_empty() {
                causes.push(Cause::OwnLimits);
            }
        }
        WishOutcome {
            by: Some(by),
            wanted: energy(wanted),
            delivered: energy(wanted - missing),
            shortfall: energy(missing),
            reached_at: Some(by).filter(|_| causes.is_empty()),
            causes,
        }
    };
    periods.map(outcome).collect()
}

/// Periods of wanted power. What the storage is spared is not wanted.
fn find_periods(
    model: &SiteModel,
    account: &Account,
    storage: &Storage,
    course: &Course,
) -> Vec<WantedPeriod> {
    let mut periods: Vec<WantedPeriod> = Vec::new();
    for (index, slot) in storage.stay.clone().enumerate() {
        let wanted = storage.power_wanted[index];
        if wanted <= 0.0 {
            continue;
        }
        let (drawn, hours) = (account.drawn[slot], model.grid.hours[slot]);
        let is_spared = storage.is_spared((index, hours), (drawn, course.levels[slot + 1]));
        let taken = drawn.min(wanted);
        let wanted = if is_spared { taken } else { wanted };
        let joins = |period: &&mut WantedPeriod| {
            let end = period.slots.end;
            end == slot && model.grid.ends[end - 1] == model.grid.starts[slot]
        };
        if let Some(period) = periods.last_mut().filter(joins) {
            period.slots.end += 1;
            period.wanted += wanted;
            period.missing += wanted - taken;
        } else {
            periods.push(WantedPeriod { slots: slot..slot + 1, wanted, missing: wanted - taken });
        }
    }
    periods
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::charge::vehicle::SocTarget;
    use crate::plan::site::device::{Device, StationaryBattery, TaperPoint};
    use crate::plan::site::explain::explain;
    use crate::plan::site::planner::tests::{planned, powers_of};
    use crate::plan::site::problem::SiteProblem;
    use crate::plan::site::request::Limit;
    use crate::plan::site::request::tests::{at, battery_of, hard, home, house, powers, site, van};
    use crate::plan::site::series::PowerPeriod;
    use crate::plan::site::verify::verify;
    use crate::plan::storage::request::StorageLimit;
    use crate::plan::verification::Check;
    use crate::units::{kw, percent};

    /// Powers of a device and its last wish, of a plan whose certificate and verification hold.
    fn verified(request: &SiteRequest, name: &str) -> (Vec<f64>, WishOutcome) {
        let plan = planned(request);
        assert!(plan.certificate.is_proved(), "{:?}", plan.certificate);
        let checks = verify(&SiteProblem::new(request.clone()).unwrap(), &plan);
        assert!(checks.iter().all(Check::holds), "{checks:?}");
        let device = plan.devices.iter().find(|device| device.name == name).unwrap();
        (powers_of(&plan, name), device.wishes.last().unwrap().clone())
    }

    /// A battery of 10 kWh that wants powers.
    fn wanting(soc: f64, wanted: Series) -> StationaryBattery {
        StationaryBattery { power_wanted: Some(wanted), ..home(5.0, 10.0, soc) }
    }

    #[test]
    fn wanted_power_is_taken_at_any_price_until_the_battery_is_full() {
        let battery = wanting(30.0, Series::Constant(kw(5.0)));
        let request = site(&[50, 90, 10], &[Device::Battery(battery)]);
        let (found, wish) = verified(&request, "home");
        assert_eq!(found, [5.0, 2.0, 0.0]);
        assert_eq!((wish.by, wish.shortfall.as_kwh()), (Some(at(180)), 0.0));
        assert!((wish.wanted.as_kwh() - 7.0).abs() < 1e-6);
        let reasons = explain(&request, &planned(&request));
        assert_eq!((reasons.len(), reasons[0].code.as_str()), (1, "power_wanted"));
        let end = "home draws 7 kWh, because power is wanted in this time.";
        assert!(reasons[0].sentence(chrono_tz::UTC, "EUR").ends_with(end));
    }

    #[test]
    fn full_power_in_a_window_cuts_the_slots_and_counts_towards_targets() {
        let mut van = van("van", 4.0, 0.0);
        (van.battery, van.targets) = (Some(battery_of(20.0, 0.0)), Vec::new());
        van.soc_targets.push(SocTarget { by: None, soc: Some(percent(30.0)) });
        let period = PowerPeriod { start: at(30), end: at(90), power: kw(4.0) };
        van.power_wanted = Some(Series::Periods(vec![period]));
        let request = site(&[50, 90, 10], &[Device::Vehicle(van)]);
        // Slots of half an hour, half an hour twice, and an hour: 4 of 6 kWh in the window.
        assert_eq!(verified(&request, "van").0, [0.0, 4.0, 4.0, 0.0, 2.0]);
    }

    #[test]
    fn what_a_limit_leaves_of_wanted_power_is_a_shortfall_with_its_cause() {
        let battery = wanting(0.0, powers(&[3.0, 0.0]));
        let devices = [Device::Battery(battery), house(&[2.0, 0.0])];
        let mut request = site(&[10, 10], &devices);
        request.import_limit = Some(hard(4.0));
        let (found, wish) = verified(&request, "home");
        assert_eq!(found, [2.0, 0.0]);
        assert!((wish.shortfall.as_kwh() - 1.0).abs() < 1e-6);
        assert_eq!(wish.causes, [Cause::Limit { name: "import".to_owned(), phase: None }]);
    }

    #[test]
    fn a_battery_that_is_full_earlier_for_money_is_spared() {
        // Energy at -0.10 in the first hour, and 5 kWh are wanted in the second one.
        let battery = wanting(60.0, powers(&[0.0, 5.0, 0.0]));
        let request = site(&[-10, 50, 50], &[Device::Battery(battery), house(&[0.0, 0.0, 5.0])]);
        let (found, wish) = verified(&request, "home");
        assert_eq!(found, [4.0, 0.0, -5.0]);
        assert_eq!((wish.wanted.as_kwh(), wish.shortfall.as_kwh()), (0.0, 0.0));
    }

    #[test]
    fn a_vehicle_is_spared_what_its_taper_leaves() {
        let mut van = van("van", 5.0, 0.0);
        (van.battery, van.targets) = (Some(battery_of(10.0, 50.0)), Vec::new());
        let point = |soc: f64, power: f64| TaperPoint { soc: percent(soc), power_max: kw(power) };
        // From 5 kWh up to 10 kWh the power falls from 5 kW to 1 kW: by 0.8 kW per kWh.
        van.taper = vec![point(50.0, 5.0), point(100.0, 1.0)];
        van.power_wanted = Some(powers(&[0.0, 5.0, 0.0]));
        let request = site(&[95, 90, 10], &[Device::Vehicle(van.clone())]);
        let (found, wish) = verified(&request, "van");
        // An hour ends at L = 5 + c with c = 5 - 0.8·(L - 5), so c = 5 / 1.8.
        assert_eq!((found[0], found[2]), (0.0, 0.0));
        assert!((found[1] - 5.0 / 1.8).abs() < 1e-6, "{found:?}");
        assert!((wish.wanted.as_kwh() - 5.0 / 1.8).abs() < 1e-6);
        assert!(wish.causes.is_empty());
        // A limit leaves less than the taper, and what is missing of 5 kW is a shortfall.
        let mut request = site(&[95, 90, 10], &[Device::Vehicle(van)]);
        request.import_limit = Some(Limit { power: powers(&[0.0, 2.0, 0.0]), ..hard(0.0) });
        let (found, wish) = verified(&request, "van");
        assert_eq!(found, [0.0, 2.0, 0.0]);
        assert!((wish.shortfall.as_kwh() - 3.0).abs() < 1e-6);
    }

    #[test]
    fn only_a_limit_within_the_window_is_the_cause_of_what_misses() {
        let mut battery = wanting(0.0, powers(&[0.0, 3.0]));
        battery.limits = vec![StorageLimit {
            start: at(60),
            end: at(120),
            charge_max: Some(kw(1.0)),
            discharge_max: None,
            soc_min: None,
            soc_max: None,
        }];
        battery.soc_end = Some(percent(60.0));
        let mut request = site(&[10, 10], &[Device::Battery(battery), house(&[1.0, 0.0])]);
        // The limit binds in the first hour, which charges for the end.
        request.import_limit = Some(hard(5.0));
        let (found, wish) = verified(&request, "home");
        assert_eq!(found, [4.0, 1.0]);
        assert!((wish.shortfall.as_kwh() - 2.0).abs() < 1e-6);
        assert_eq!(wish.causes, [Cause::OwnLimits]);
    }
}

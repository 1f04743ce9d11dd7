//! Bounds on stored energy that cost money to leave.
//!
//! A soft bound of a storage has levels `least` and `most` in stored kWh, and a price `s` per kWh
//! and hour. With the level `L_t` at the end of each of its slots, of `h_t` hours, it costs
//!
//! ```text
//! Σ_t s·h_t·(b_t + a_t),    b_t ≥ least − L_t,   a_t ≥ L_t − most,   b_t, a_t ≥ 0
//! ```
//!
//! | Symbol | Field or function |
//! |---|---|
//! | `least`, `most`, `s` | `SoftLevels::{least, most, price}` |
//! | `b_t + a_t` | `SoftLevels::outside` |
//! | `h_t` | `SiteSlots::hours` |
use crate::plan::site::course::Course;
use crate::plan::site::model::SiteModel;
use crate::plan::site::price_slots::SiteSlots;
use crate::plan::site::soft_levels::SoftLevels;
use crate::plan::site::storage::Storage;

impl Storage {
    /// Cost of all stored energy outside of the soft bounds.
    pub(crate) fn soft_cost(&self, course: &Course, grid: &SiteSlots) -> f64 {
        let cost = |bound: &SoftLevels| -> f64 {
            let outside = |slot: usize| grid.hours[slot] * bound.outside(course.levels[slot + 1]);
            bound.price * bound.slots.clone().map(outside).sum::<f64>()
        };
        self.soft_bounds.iter().map(cost).sum()
    }
}

impl SiteModel {
    /// Adds the energy below and above the soft bounds of a storage in a slot, after which the level
    /// is the column `level`. A level that is always within a bound needs none.
    pub(crate) fn add_soft_bounds(&mut self, storage: &Storage, (slot, level): (usize, usize)) {
        let (lower, upper) = {
            let column = &self.program.columns[level];
            (column.lower, column.upper)
        };
        let hours = self.grid.hours[slot];
        for bound in storage.soft_bounds.iter().filter(|bound| bound.slots.contains(&slot)) {
            let price = bound.price * hours;
            if lower < bound.least {
                let below = self.add_column(price, 0.0, bound.least - lower);
                self.add_row(bound.least, f64::INFINITY, vec![(level, 1.0), (below, 1.0)]);
            }
            if upper > bound.most {
                let above = self.add_column(price, 0.0, upper - bound.most);
                self.add_row(f64::NEG_INFINITY, bound.most, vec![(level, 1.0), (above, -1.0)]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::site::device::SoftBound;
    use crate::plan::site::device::{Device, StationaryBattery};
    use crate::plan::site::explain::explain;
    use crate::plan::site::planner::tests::{planned, powers_of};
    use crate::plan::site::problem::SiteProblem;
    use crate::plan::site::request::tests::{at, home, house, site, van};
    use crate::plan::site::verify::verify;
    use crate::units::percent;

    fn bound(least: f64, most: f64, price_per_kwh_hour: f64) -> SoftBound {
        let (soc_min, soc_max) = (Some(percent(least)), Some(percent(most)));
        SoftBound { start: None, end: None, soc_min, soc_max, price_per_kwh_hour }
    }

    /// A battery of 10 kWh with soft bounds.
    fn bounded(soc: f64, bounds: &[SoftBound]) -> StationaryBattery {
        StationaryBattery { soft_bounds: bounds.to_vec(), ..home(5.0, 10.0, soc) }
    }

    /// Powers and cost of a battery beside a house of 5 kW, verified.
    fn plan_of(cents: &[i32], battery: StationaryBattery) -> (Vec<f64>, f64) {
        let houses = house(&vec![5.0; cents.len()]);
        let request = site(cents, &[Device::Battery(battery), houses]);
        let plan = planned(&request);
        assert!(plan.certificate.is_proved(), "{:?}", plan.certificate);
        let checks = verify(&SiteProblem::new(request).unwrap(), &plan);
        assert!(checks.iter().all(crate::plan::verification::Check::holds), "{checks:?}");
        (powers_of(&plan, "home"), plan.cost.as_amount())
    }

    #[test]
    fn energy_leaves_a_soft_bound_where_that_pays() {
        // A kWh below 20 % saves 0.30 and costs 0.10 in each of the hours that it is gone.
        let cents = [30, 10, 30];
        let cheap = plan_of(&cents, bounded(20.0, &[bound(20.0, 100.0, 0.1)]));
        assert_eq!(cheap.0, [-2.0, 5.0, -5.0]);
        // The house draws 5 kWh an hour; 2 kWh are missing after the first and the last hour.
        assert!((cheap.1 - (0.9 + 1.0 + 0.0 + 0.1 * (2.0 + 2.0))).abs() < 1e-9, "{cheap:?}");
        let dear = plan_of(&cents, bounded(20.0, &[bound(20.0, 100.0, 0.5)]));
        assert_eq!(dear.0, [0.0, 5.0, -5.0]);
    }

    #[test]
    fn a_start_outside_of_soft_bounds_is_left_as_far_as_that_pays() {
        let low = plan_of(&[30, 10], bounded(0.0, &[bound(50.0, 80.0, 0.5)]));
        assert_eq!(low.0, [5.0, 0.0]);
        let high = plan_of(&[10, 10], bounded(100.0, &[bound(50.0, 80.0, 0.5)]));
        assert!((high.0[0] + 5.0).abs() < 1e-12, "{high:?}");
        let cheap = plan_of(&[30, 10], bounded(0.0, &[bound(50.0, 80.0, 0.15)]));
        // A kWh at 0.30 would save 0.15 in each hour, and one at 0.10 does so in the last one.
        assert_eq!(cheap.0, [0.0, 5.0]);
    }

    #[test]
    fn a_soft_bound_holds_from_its_start_to_its_end() {
        let evening = SoftBound { start: Some(at(60)), ..bound(50.0, 100.0, 1.0) };
        assert_eq!(plan_of(&[10, 30], bounded(0.0, &[evening])).0, [5.0, 0.0]);
        let first = SoftBound { end: Some(at(60)), ..bound(50.0, 100.0, 1.0) };
        assert_eq!(plan_of(&[30, 10], bounded(50.0, &[first])).0, [0.0, -5.0]);
    }

    #[test]
    fn a_vehicle_charges_beyond_its_targets_for_a_soft_bound() {
        let mut van = van("van", 5.0, 1.0);
        van.targets[0].by = Some(at(60));
        van.battery = Some(crate::plan::site::request::tests::battery_of(10.0, 0.0));
        van.soft_bounds = vec![bound(40.0, 100.0, 1.0)];
        let plan = planned(&site(&[10, 20, -10], &[Device::Vehicle(van)]));
        // No further than the bound, although the last price is negative.
        assert_eq!(powers_of(&plan, "van"), [4.0, 0.0, 0.0]);
    }

    #[test]
    fn the_reason_for_dear_energy_is_the_soft_bound() {
        let battery = bounded(0.0, &[bound(50.0, 80.0, 0.5)]);
        let request = site(&[30, 10], &[Device::Battery(battery)]);
        let reasons = explain(&request, &planned(&request));
        assert_eq!(reasons[0].code.as_str(), "soft_bound");
        let sentence = reasons[0].sentence(chrono_tz::UTC, "EUR");
        let wanted = "home draws 5 kWh at up to 0.30 EUR/kWh, to come back within a soft bound.";
        assert!(sentence.ends_with(wanted), "{sentence}");
    }
}

//! Stored energy of the start that a plan of a site sells or uses.
use crate::plan::site::device::Device;
use crate::plan::site::plan::{DevicePlan, SitePlan};
use crate::plan::site::request::SiteRequest;
use crate::plan::storage::plan::stock_used as used_of;
use crate::units::{Energy, Percent};

/// Returns the stored energy at the start of a plan that is not there at its end, summed over
/// batteries and vehicles that discharge, without what is driven with.
///
/// The baseline leaves batteries idle. So what this stock saves is a part of the savings, less its
/// value at the end value of the device.
#[must_use]
pub fn stock_used(request: &SiteRequest, plan: &SitePlan) -> Energy {
    let of_device = |(device, planned): (&Device, &DevicePlan)| {
        let (battery, driven) = match device {
            Device::Battery(home) => (&home.battery, Energy::ZERO),
            Device::Vehicle(car) => {
                car.discharge.as_ref()?;
                let drives = car.consumption.iter();
                let on_the_road = drives.fold(Energy::ZERO, |sum, stretch| sum + stretch.energy);
                (car.battery.as_ref()?, on_the_road)
            }
            _ => return None,
        };
        let stored = |soc: &Percent| soc.of(battery.capacity);
        let (start, end) = (planned.soc.first().map(stored)?, planned.soc.last().map(stored)?);
        Some(used_of(battery.capacity, start, end + driven))
    };
    let devices = request.devices.iter().zip(&plan.devices).filter_map(of_device);
    devices.fold(Energy::ZERO, |sum, used| sum + used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::site::planner::plan_site;
    use crate::plan::site::problem::SiteProblem;
    use crate::plan::site::request::tests::{home, site};
    use crate::units::per_kwh;

    #[test]
    fn a_battery_that_is_sold_empty_used_its_stock() {
        let used = |end_value: f64, percent: f64| {
            let mut battery = home(2.0, 10.0, percent);
            battery.end_value = per_kwh(end_value);
            let mut request = site(&[50, 10], &[Device::Battery(battery)]);
            request.export_prices = Some(request.import_prices.clone());
            let plan = plan_site(&SiteProblem::new(request.clone()).unwrap());
            stock_used(&request, &plan).as_kwh()
        };
        assert!((used(0.0, 30.0) - 3.0).abs() < 1e-6, "{}", used(0.0, 30.0));
        assert!(used(0.9, 30.0).abs() < 1e-12);
        assert!(used(0.0, 0.0).abs() < 1e-12);
    }
}

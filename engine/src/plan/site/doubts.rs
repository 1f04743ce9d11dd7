//! Numbers of a site that look like another unit: limits far above all that they limit, and a price
//! of emissions per tonne.
use crate::plan::site::device::Device;
use crate::plan::site::request::{Limit, SiteRequest};
use crate::plan::site::series::Series;
use crate::plausibility::{Doubt, find_carbon_doubt, find_power_doubt};
use crate::units::Power;

impl SiteRequest {
    /// Finds limits that are hardly in kW. Nothing is wrong with the request for it.
    #[must_use]
    pub fn find_limit_doubts(&self) -> Vec<Doubt> {
        let sum_kw: f64 = self.devices.iter().map(|device| highest_power(device).as_kw()).sum();
        // A sum without end is no power to compare with.
        let devices = Power::from_kw(sum_kw).unwrap_or(Power::ZERO);
        let own =
            [("import_limit_kw", &self.import_limit), ("export_limit_kw", &self.export_limit)];
        let own = own.into_iter().map(|(name, limit)| (name.to_owned(), limit));
        let groups = self.groups.iter();
        let groups =
            groups.map(|group| (format!("groups[{:?}].limit_kw", group.name), &group.limit));
        let known = own.chain(groups).filter_map(|(name, limit)| Some((name, limit.as_ref()?)));
        let doubt = |(name, limit): (String, &Limit)| {
            find_power_doubt(&name, highest(&limit.power), ("all devices", devices))
        };
        known.filter_map(doubt).collect()
    }

    /// Finds out whether the price of emissions is hardly one of a kg.
    #[must_use]
    pub fn find_carbon_doubt(&self, currency: &str) -> Option<Doubt> {
        let carbon = self.carbon.as_ref()?;
        let most = carbon.intensity.iter().map(|slot| slot.kg_per_kwh).fold(0.0, f64::max);
        find_carbon_doubt(currency, carbon.price_per_kg, most)
    }
}

/// Highest power of a device, in either direction.
fn highest_power(device: &Device) -> Power {
    match device {
        Device::Vehicle(car) => {
            let feed = car.discharge.as_ref().map_or(Power::ZERO, |discharge| discharge.power_max);
            car.power_max.max(feed)
        }
        Device::Battery(home) => home.power_max.max(home.discharge.power_max),
        Device::Solar(roof) => highest(&roof.forecast),
        Device::Load(load) => highest(&load.forecast),
        Device::Shiftable(load) => load.power,
        Device::Heat(unit) => unit.heat.power_max,
    }
}

fn highest(series: &Series) -> Power {
    match series {
        Series::Constant(power) => *power,
        Series::PerSlot(powers) => powers.iter().copied().fold(Power::ZERO, Power::max),
        Series::Periods(periods) => {
            periods.iter().map(|period| period.power).fold(Power::ZERO, Power::max)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::site::request::Group;
    use crate::plan::site::request::tests::{site, van};
    use crate::units::kw;

    #[test]
    fn limits_far_above_all_devices_are_doubted() {
        let told = |import_kw: f64, group_kw: f64| -> Vec<String> {
            let mut request = site(&[10, 20], &[Device::Vehicle(van("van", 11.0, 20.0))]);
            let limit = |power: f64| Limit {
                power: Series::PerSlot(vec![kw(0.0), kw(power)]),
                breach_price: None,
            };
            request.import_limit = Some(limit(import_kw));
            request.groups = vec![Group {
                name: "fuse".to_owned(),
                parent: None,
                limit: Some(limit(group_kw)),
                phase_limit: None,
            }];
            request.find_limit_doubts().iter().map(ToString::to_string).collect()
        };
        let rest = "kW, beside 11 kW of all devices; a power in W is divided by 1000";
        assert_eq!(
            told(17e3, 11e3),
            [
                format!("import_limit_kw is 17000 {rest}"),
                format!("groups[\"fuse\"].limit_kw is 11000 {rest}")
            ],
        );
        assert!(told(17.0, 1_000.0).is_empty());
    }
}

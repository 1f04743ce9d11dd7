//! Limits of the numbers in a car's specification.
use crate::car::CarSpec;
use slackwater_engine::units::{Energy, Percent, Power};

/// Largest battery: ten times that of the largest mine truck.
const CAPACITY_MAX_KWH: f64 = 10_000.0;

/// Longest distance on an odometer: above that of any known car.
const ODOMETER_MAX_KM: f64 = 1e7;

/// Number that is outside its limits in a car's specification.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum OddCar {
    /// Battery capacity that is not positive or too large.
    #[error("a capacity is above 0 and at most {CAPACITY_MAX_KWH} kWh")]
    Capacity {
        /// The capacity as given.
        capacity: Energy,
    },
    /// Battery efficiency of zero.
    #[error("some of what is taken is stored")]
    Efficiency {
        /// The efficiency as given.
        efficiency: Percent,
    },
    /// A car that takes no power.
    #[error("a vehicle takes some power")]
    PowerMax {
        /// The power as given.
        power: Power,
    },
    /// Battery that takes no power when full.
    #[error("a vehicle that takes nothing at last is never full")]
    TaperEnd {
        /// The share of power at full charge as given.
        end: Percent,
    },
    /// Driving with negative consumption.
    #[error("driving takes energy")]
    Driving {
        /// The energy as given.
        per_100_km: Energy,
    },
    /// Distance outside the limits.
    #[error("a distance is between 0 and {ODOMETER_MAX_KM} km")]
    Odometer {
        /// The distance as given.
        km: f64,
    },
}

impl OddCar {
    /// The name of the number in data.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            Self::Capacity { .. } => "capacity_kwh",
            Self::Efficiency { .. } => "efficiency_percent",
            Self::PowerMax { .. } => "power_max_kw",
            Self::TaperEnd { .. } => "taper_end_percent",
            Self::Driving { .. } => "kwh_per_100_km",
            Self::Odometer { .. } => "odometer_km",
        }
    }
}

impl CarSpec {
    /// Returns the specification if all its numbers are within their limits.
    ///
    /// # Errors
    /// All numbers of which none can, in the order of the fields.
    pub fn checked(self) -> Result<Self, Vec<OddCar>> {
        let battery = self.battery;
        let (capacity, efficiency) = (battery.capacity, battery.efficiency);
        let (power, end) = (battery.power_max, battery.end);
        let (per_100_km, km) = (self.driving_per_100_km, self.odometer_km);
        let is_capacity = capacity > Energy::ZERO && capacity.as_kwh() <= CAPACITY_MAX_KWH;
        let checks = [
            (is_capacity, OddCar::Capacity { capacity }),
            (efficiency > Percent::ZERO, OddCar::Efficiency { efficiency }),
            (power > Power::ZERO, OddCar::PowerMax { power }),
            (end > Percent::ZERO, OddCar::TaperEnd { end }),
            (per_100_km >= Energy::ZERO, OddCar::Driving { per_100_km }),
            ((0.0..=ODOMETER_MAX_KM).contains(&km), OddCar::Odometer { km }),
        ];
        let odd: Vec<OddCar> =
            checks.into_iter().filter(|(is_good, _)| !is_good).map(|(_, odd)| odd).collect();
        if odd.is_empty() { Ok(self) } else { Err(odd) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::car::tests::spec;
    use slackwater_engine::units::{kw, kwh};

    fn fields(change: impl FnOnce(&mut CarSpec)) -> Vec<&'static str> {
        let mut changed = spec();
        change(&mut changed);
        changed.checked().err().unwrap_or_default().iter().map(OddCar::field).collect()
    }

    #[test]
    fn bounds_hold_at_their_ends() {
        assert_eq!(spec().checked(), Ok(spec()));
        assert!(fields(|spec| spec.battery.capacity = kwh(10_000.0)).is_empty());
        assert_eq!(fields(|spec| spec.battery.capacity = kwh(10_000.1)), ["capacity_kwh"]);
        assert_eq!(fields(|spec| spec.battery.capacity = kwh(0.0)), ["capacity_kwh"]);
        assert_eq!(fields(|spec| spec.battery.power_max = kw(0.0)), ["power_max_kw"]);
        assert_eq!(fields(|spec| spec.battery.efficiency = Percent::ZERO), ["efficiency_percent"]);
        assert_eq!(fields(|spec| spec.battery.end = Percent::ZERO), ["taper_end_percent"]);
        assert!(fields(|spec| spec.driving_per_100_km = kwh(0.0)).is_empty());
        assert_eq!(fields(|spec| spec.driving_per_100_km = kwh(-0.1)), ["kwh_per_100_km"]);
        for km in [0.0, 1e7] {
            assert!(fields(|spec| spec.odometer_km = km).is_empty(), "{km}");
        }
        for km in [-1.0, 1.1e7, f64::NAN, f64::INFINITY] {
            assert_eq!(fields(|spec| spec.odometer_km = km), ["odometer_km"], "{km}");
        }
    }

    #[test]
    fn all_that_is_odd_is_said_in_the_order_of_the_fields() {
        let odd = fields(|spec| {
            spec.odometer_km = -1.0;
            spec.battery.capacity = kwh(-1.0);
            spec.battery.power_max = kw(-1.0);
        });
        assert_eq!(odd, ["capacity_kwh", "power_max_kw", "odometer_km"]);
        let text = OddCar::Odometer { km: -1.0 }.to_string();
        assert_eq!(text, "a distance is between 0 and 10000000 km");
    }
}

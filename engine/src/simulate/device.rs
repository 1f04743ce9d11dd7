//! The charging device of a simulation: the powers that it can draw, its losses, its wear.
use crate::plausibility::suggest_share;
use crate::simulate::exact::{ExactMoney, MONEY_MAX, Milliwatts};
use crate::units::{Money, Power};

/// Microseconds in a minute, the shortest time for which a real device holds a power.
pub(crate) const MINUTE: i64 = 60_000_000;

/// A device that charges, as it is.
///
/// An *ideal* device has no least power, no steps and no losses: it draws any power up to its
/// highest and changes it at any instant. A real one holds a power for a whole minute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChargeDevice {
    /// Highest power at the plug.
    pub power_max: Power,
    /// Least power while it charges; zero is none.
    pub power_min: Power,
    /// Step of its powers: it draws whole multiples only. Zero is any power.
    pub power_step: Power,
    /// Stored energy per energy at the plug, above 0, at most 1.
    pub efficiency: f64,
    /// Cost of each start, such as the wear of a contactor.
    pub start_cost: Money,
}

/// Value of a device that makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A power is negative.
    #[error("{column} is {value} kW; a power of a device that only charges is 0 kW or more")]
    Negative {
        /// Name of the column.
        column: &'static str,
        /// Power in kW.
        value: f64,
    },
    /// No power lies between the least and the highest.
    #[error(
        "power_max_kw is {power_max_kw} kW, but the device draws multiples of {power_step_kw} kW \
         from {power_min_kw} kW; no such power is low enough"
    )]
    NoPower {
        /// Highest power in kW.
        power_max_kw: f64,
        /// Least power in kW.
        power_min_kw: f64,
        /// Step in kW.
        power_step_kw: f64,
    },
    /// The efficiency is no share of what is drawn.
    #[error("efficiency is {value}; it lies above 0 and is at most 1{}", suggest_share(*value))]
    Efficiency {
        /// The number as given.
        value: f64,
    },
    /// A start costs less than nothing, or more than a simulation can count.
    #[error("start_cost is {value}; it lies between 0 and {MONEY_MAX:e}")]
    StartCost {
        /// The amount as given.
        value: f64,
    },
}

impl ChargeDevice {
    /// An ideal device.
    #[must_use]
    pub fn ideal(power_max: Power) -> Self {
        Self {
            power_max,
            power_min: Power::ZERO,
            power_step: Power::ZERO,
            efficiency: 1.0,
            start_cost: Money::ZERO,
        }
    }

    /// Checks the device.
    ///
    /// # Errors
    /// A power is negative, no power is possible, or efficiency or cost are out of range.
    pub fn check(&self) -> Result<(), DeviceError> {
        let powers = [
            ("power_max_kw", self.power_max),
            ("power_min_kw", self.power_min),
            ("power_step_kw", self.power_step),
        ];
        for (column, power) in powers {
            if power < Power::ZERO {
                return Err(DeviceError::Negative { column, value: power.as_kw() });
            }
        }
        if !(self.efficiency > 0.0 && self.efficiency <= 1.0) {
            return Err(DeviceError::Efficiency { value: self.efficiency });
        }
        let start_cost = self.start_cost.as_amount();
        if !(0.0..=MONEY_MAX).contains(&start_cost) {
            return Err(DeviceError::StartCost { value: start_cost });
        }
        let exact = ExactDevice::new(self);
        if self.power_max > Power::ZERO && exact.power_max < exact.power_min.max(Milliwatts(1)) {
            return Err(DeviceError::NoPower {
                power_max_kw: self.power_max.as_kw(),
                power_min_kw: self.power_min.as_kw(),
                power_step_kw: self.power_step.as_kw(),
            });
        }
        Ok(())
    }
}

/// A checked device in whole numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ExactDevice {
    /// Highest power that the device can draw: a whole number of steps.
    pub(crate) power_max: Milliwatts,
    power_min: Milliwatts,
    power_step: Milliwatts,
    pub(crate) start_cost: ExactMoney,
}

impl ExactDevice {
    /// The device in whole numbers. Its highest power is cut to a whole number of steps.
    pub(crate) fn new(device: &ChargeDevice) -> Self {
        let step = Milliwatts::from_power(device.power_step);
        let most = Milliwatts::from_power(device.power_max).0;
        let above = if step.0 > 0 { most % step.0 } else { 0 };
        Self {
            power_max: Milliwatts(most - above),
            power_min: Milliwatts::from_power(device.power_min),
            power_step: step,
            start_cost: ExactMoney::from_money(device.start_cost),
        }
    }

    /// True if any power may be drawn at any instant.
    pub(crate) fn is_ideal(&self) -> bool {
        self.power_min.0 == 0 && self.power_step.0 == 0
    }

    /// Power that the device draws when it is asked for one: the next power above that it can
    /// draw, or its highest. Zero stays zero.
    pub(crate) fn drawn(&self, asked: Milliwatts) -> Milliwatts {
        if asked.0 <= 0 {
            return Milliwatts(0);
        }
        let mut power = asked.max(self.power_min).0;
        if self.power_step.0 > 0 {
            power = (power + self.power_step.0 - 1) / self.power_step.0 * self.power_step.0;
        }
        Milliwatts(power).min(self.power_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{kw, money};

    fn device() -> ChargeDevice {
        ChargeDevice {
            power_max: kw(7.4),
            power_min: kw(1.4),
            power_step: kw(0.5),
            efficiency: 0.9,
            start_cost: money(0.01),
        }
    }

    #[test]
    fn a_device_draws_the_next_power_that_it_can() {
        let exact = ExactDevice::new(&device());
        let drawn = |asked: f64| exact.drawn(Milliwatts::from_power(kw(asked))).as_kw();
        let drawn = [0.0, 0.3, 1.6, 6.9, 7.4].map(|asked| drawn(asked).to_bits());
        assert_eq!(drawn, [0.0, 1.5, 2.0, 7.0, 7.0].map(f64::to_bits));
        assert!(!exact.is_ideal());
        let ideal = ExactDevice::new(&ChargeDevice::ideal(kw(7.4)));
        assert!(ideal.is_ideal());
        assert_eq!(ideal.drawn(Milliwatts(1)), Milliwatts(1));
    }

    #[test]
    fn errors_name_the_column_and_the_value() {
        let check = |change: fn(&mut ChargeDevice)| {
            let mut device = device();
            change(&mut device);
            device.check().unwrap_err().to_string()
        };
        assert_eq!(
            check(|device| device.power_min = kw(-1.0)),
            "power_min_kw is -1 kW; a power of a device that only charges is 0 kW or more"
        );
        assert_eq!(
            check(|device| device.power_step = kw(8.0)),
            "power_max_kw is 7.4 kW, but the device draws multiples of 8 kW from 1.4 kW; no such \
             power is low enough"
        );
        assert_eq!(
            check(|device| device.efficiency = 90.0),
            "efficiency is 90; it lies above 0 and is at most 1; 90 % is 0.9"
        );
        assert_eq!(
            check(|device| device.start_cost = money(-1.0)),
            "start_cost is -1; it lies between 0 and 1e6"
        );
        assert!(device().check().is_ok());
    }
}

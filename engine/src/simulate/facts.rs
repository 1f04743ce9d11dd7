//! Facts of a simulation: settled prices, stays of vehicles at their plugs, and the price of
//! energy that is missing at a departure.
use chrono::{DateTime, Utc};

use crate::prices::curve::PriceCurve;
use crate::simulate::device::{ChargeDevice, DeviceError};
use crate::simulate::exact::{ExactPrice, MONEY_MAX};
use crate::time::instant::{instant_at, micros_of};
use crate::units::{Energy, Price};

/// A vehicle at a plug, from its arrival to its departure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stay {
    /// Number of the home.
    pub home: u32,
    /// Instant at which the vehicle is plugged in.
    pub arrival: DateTime<Utc>,
    /// Departure, which is known from the arrival on.
    pub departure: DateTime<Utc>,
    /// Energy at the plug that the vehicle needs, losses included.
    pub need: Energy,
    /// The device that charges it.
    pub device: ChargeDevice,
}

/// Facts that no simulation can use.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FactsError {
    /// A departure is not after its arrival.
    #[error("stay {row}: departure {departure} is not after arrival {arrival}")]
    NoLength {
        /// Position of the stay.
        row: usize,
        /// Arrival.
        arrival: DateTime<Utc>,
        /// Departure.
        departure: DateTime<Utc>,
    },
    /// A need is negative or too large to be counted.
    #[error("stay {row}: energy_kwh is {value} kWh; it lies between 0 and {MONEY_MAX:e} kWh")]
    Need {
        /// Position of the stay.
        row: usize,
        /// Energy in kWh.
        value: f64,
    },
    /// A device makes no sense.
    #[error("stay {row}: {source}")]
    Device {
        /// Position of the stay.
        row: usize,
        /// Reason.
        source: DeviceError,
    },
    /// A part of a stay has no settled price.
    #[error(
        "stay {row} is plugged in at {at}, for which the facts have no price; \
         settled prices cover every stay"
    )]
    NoPrice {
        /// Position of the stay.
        row: usize,
        /// First instant without a price.
        at: DateTime<Utc>,
    },
    /// A kWh that is missing earns money, or costs too much to be counted.
    #[error(
        "shortfall_price_per_kwh is {value} per kWh; a missing kWh costs from 0 to {MONEY_MAX:e}"
    )]
    ShortfallPrice {
        /// The price.
        value: f64,
    },
    /// A price is too high or too low to be counted.
    #[error("{name} is {value} per kWh; a simulation counts from -{MONEY_MAX:e} to {MONEY_MAX:e}")]
    Price {
        /// Name of the price.
        name: &'static str,
        /// The price.
        value: f64,
    },
}

/// Settled prices and stays, checked.
#[derive(Debug, Clone)]
pub struct Facts {
    prices: PriceCurve,
    exact: Vec<ExactPrice>,
    stays: Vec<Stay>,
    missing_price: ExactPrice,
    /// Carbon intensity in kg per kWh, where emissions are counted.
    intensity: Option<PriceCurve>,
}

impl Facts {
    /// Facts from prices and stays. `missing_price` is the price of a kWh that is missing at a
    /// departure; without it, the highest settled price.
    ///
    /// # Errors
    /// A stay has no length, a value out of range, or time without a settled price.
    pub fn new(
        prices: PriceCurve,
        stays: Vec<Stay>,
        missing_price: Option<Price>,
    ) -> Result<Self, FactsError> {
        let highest = || prices.prices().iter().copied().fold(0.0, f64::max);
        let missing = missing_price.map_or_else(highest, Price::as_per_kwh);
        check_shortfall_price(missing)?;
        for &price in prices.prices() {
            check_price("a settled price", price)?;
        }
        for (row, stay) in stays.iter().enumerate() {
            check_stay(row, stay, &prices)?;
        }
        let exact = prices.slots().map(|slot| ExactPrice::from_price(slot.price)).collect();
        let missing_price =
            ExactPrice::from_price(Price::from_per_kwh(missing).unwrap_or(Price::ZERO));
        Ok(Self { prices, exact, stays, missing_price, intensity: None })
    }

    /// Facts with the carbon intensity of the grid in kg per kWh, by which emissions are counted. Time
    /// without an intensity counts for nothing.
    #[must_use]
    pub fn with_intensity(self, intensity: PriceCurve) -> Self {
        Self { intensity: Some(intensity), ..self }
    }

    /// The settled prices.
    #[must_use]
    pub fn prices(&self) -> &PriceCurve {
        &self.prices
    }

    /// The stays.
    #[must_use]
    pub fn stays(&self) -> &[Stay] {
        &self.stays
    }

    /// Carbon intensity of the grid in kg per kWh, where emissions are counted.
    #[must_use]
    pub fn intensity(&self) -> Option<&PriceCurve> {
        self.intensity.as_ref()
    }

    /// Price of a kWh that is missing at a departure.
    pub(crate) fn missing_price(&self) -> ExactPrice {
        self.missing_price
    }

    /// Calls `visit(start, end, price)` for each part of `[from, to)` at one settled price.
    #[inline]
    pub(crate) fn for_each_price(
        &self,
        from: i64,
        to: i64,
        mut visit: impl FnMut(i64, i64, ExactPrice),
    ) {
        let horizon = self.prices.horizon();
        for slot in horizon.overlapping(from, to) {
            visit(horizon.starts()[slot].max(from), horizon.ends()[slot].min(to), self.exact[slot]);
        }
    }
}

fn check_price(name: &'static str, value: f64) -> Result<(), FactsError> {
    if value.abs() <= MONEY_MAX { Ok(()) } else { Err(FactsError::Price { name, value }) }
}

/// Checks the price of a kWh that is missing: it costs, and does not earn.
pub(crate) fn check_shortfall_price(value: f64) -> Result<(), FactsError> {
    let is_price = (0.0..=MONEY_MAX).contains(&value);
    if is_price { Ok(()) } else { Err(FactsError::ShortfallPrice { value }) }
}

/// Checks a stay, and that prices cover it.
pub(crate) fn check_stay(row: usize, stay: &Stay, prices: &PriceCurve) -> Result<(), FactsError> {
    let Stay { arrival, departure, need, device, .. } = *stay;
    if departure <= arrival {
        return Err(FactsError::NoLength { row, arrival, departure });
    }
    if !(0.0..=MONEY_MAX).contains(&need.as_kwh()) {
        return Err(FactsError::Need { row, value: need.as_kwh() });
    }
    device.check().map_err(|source| FactsError::Device { row, source })?;
    let (from, to) = (micros_of(arrival), micros_of(departure));
    match prices.horizon().first_gap(from, to) {
        Some(at) => Err(FactsError::NoPrice { row, at: instant_at(at) }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, per_kwh};

    fn stay() -> Stay {
        let arrival = "2026-01-05T18:20:00Z".parse().unwrap();
        Stay {
            home: 0,
            arrival,
            departure: arrival + TimeDelta::hours(2),
            need: kwh(10.0),
            device: ChargeDevice::ideal(kw(7.0)),
        }
    }

    #[track_caller]
    fn check(change: fn(&mut Stay), expected: &str) {
        let mut stay = stay();
        change(&mut stay);
        let error = Facts::new(curve_of(60, &[30, 10, 20]), vec![stay], None).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn errors_name_the_stay_and_the_value() {
        check(
            |stay| stay.departure = stay.arrival,
            "stay 0: departure 2026-01-05 18:20:00 UTC is not after arrival 2026-01-05 18:20:00 UTC",
        );
        check(
            |stay| stay.need = kwh(-1.0),
            "stay 0: energy_kwh is -1 kWh; it lies between 0 and 1e6 kWh",
        );
        check(
            |stay| stay.departure = stay.arrival + TimeDelta::hours(5),
            "stay 0 is plugged in at 2026-01-05 21:00:00 UTC, for which the facts have no price; \
             settled prices cover every stay",
        );
        check(
            |stay| stay.device.efficiency = 0.0,
            "stay 0: efficiency is 0; it lies above 0 and is at most 1",
        );
        for price in [1e7, -0.5] {
            let facts = Facts::new(curve_of(60, &[1; 9]), vec![stay()], Some(per_kwh(price)));
            let told = "per kWh; a missing kWh costs from 0 to 1e6";
            let expected = format!("shortfall_price_per_kwh is {price} {told}");
            assert_eq!(facts.unwrap_err().to_string(), expected);
        }
    }
}

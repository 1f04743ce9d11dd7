//! Battery that trades, and the checks of a request.
use chrono::{DateTime, TimeDelta, Utc};

use crate::plan::charge::vehicle::check_capacity;
use crate::plan::storage::request::{StorageError, check_efficiency, check_power};
use crate::time::horizon::{Horizon, HorizonError};
use crate::time::instant::micros_between;
use crate::units::{Energy, Power, Price};

/// Battery behind a grid connection of its own, and the price of a trade.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TradingBattery {
    /// Usable capacity.
    pub capacity: Energy,
    /// Stored energy at the start of the first product.
    pub stored: Energy,
    /// Least stored energy after the last product; at most `stored`.
    pub stored_end_min: Energy,
    /// Highest charging power, at the grid.
    pub charge_max: Power,
    /// Highest discharging power, at the grid, as a positive number.
    pub discharge_max: Power,
    /// Stored energy per energy bought, `η_c`.
    pub efficiency: f64,
    /// Energy sold per stored energy, `η_d`.
    pub efficiency_discharge: f64,
    /// Wear per stored kWh that is discharged.
    pub wear_price: Price,
    /// Fee per kWh that is bought or sold.
    pub trading_fee: Price,
}

/// Invalid request of rolling intrinsic trading.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RollingIntrinsicError {
    /// Invalid capacity, power, efficiency or wear.
    #[error(transparent)]
    Battery(#[from] StorageError),
    /// Stored energy outside the battery.
    #[error(
        "{field} is {} kWh; it lies between 0 and the {most_of} of {} kWh",
        energy.as_kwh(), most.as_kwh()
    )]
    Stored {
        /// Name of the field.
        field: &'static str,
        /// The energy as given.
        energy: Energy,
        /// Name of its upper limit.
        most_of: &'static str,
        /// The upper limit.
        most: Energy,
    },
    /// Negative fee.
    #[error("trading_fee_per_kwh is {} per kWh; it is 0 or more", fee.as_per_kwh())]
    NegativeFee {
        /// The fee as given.
        fee: Price,
    },
    /// Gate that closes after the start of the delivery.
    #[error("gate_closure is {seconds} s before the delivery; it is 0 s or more")]
    NegativeGate {
        /// The time as given.
        seconds: i64,
    },
    /// No product.
    #[error("there is no delivery product; give at least one")]
    NoProduct,
    /// Period that products of one length do not fill.
    #[error(
        "{start} to {until} is no whole number of products of {minutes} min; until comes after \
         start, and the products fill the time between"
    )]
    ProductLength {
        /// Start of the first delivery.
        start: DateTime<Utc>,
        /// End of the last delivery.
        until: DateTime<Utc>,
        /// Length of a product in minutes.
        minutes: f64,
    },
    /// Products out of order or beyond the calendar.
    #[error("products: {0}")]
    Products(#[from] HorizonError),
    /// Another number of positions than of products.
    #[error("positions_kwh has {length} entries for {products} products")]
    Positions {
        /// Number of positions.
        length: usize,
        /// Number of products.
        products: usize,
    },
    /// Position that the power cannot deliver.
    #[error(
        "the position of the product from {start} is {} kWh; the power allows {} to {} kWh",
        position.as_kwh(), least.as_kwh(), most.as_kwh()
    )]
    PositionPower {
        /// Start of the delivery.
        start: DateTime<Utc>,
        /// The position as given.
        position: Energy,
        /// Most energy that can be sold, as a negative number.
        least: Energy,
        /// Most energy that can be bought.
        most: Energy,
    },
    /// Positions that the battery cannot deliver.
    #[error(
        "the positions leave {} kWh stored after the product from {start}; it lies between {} and \
         {} kWh", stored.as_kwh(), least.as_kwh(), most.as_kwh()
    )]
    PositionStored {
        /// Start of the delivery.
        start: DateTime<Utc>,
        /// Stored energy after the product.
        stored: Energy,
        /// Least stored energy.
        least: Energy,
        /// Most stored energy.
        most: Energy,
    },
}

impl TradingBattery {
    /// Battery without losses, wear and fee, empty at first, with equal power both ways.
    #[must_use]
    pub fn new(capacity: Energy, power_max: Power) -> Self {
        Self {
            capacity,
            stored: Energy::ZERO,
            stored_end_min: Energy::ZERO,
            charge_max: power_max,
            discharge_max: power_max,
            efficiency: 1.0,
            efficiency_discharge: 1.0,
            wear_price: Price::ZERO,
            trading_fee: Price::ZERO,
        }
    }

    /// Checks all numbers.
    pub(crate) fn check(&self) -> Result<(), RollingIntrinsicError> {
        check_capacity(self.capacity).map_err(StorageError::from)?;
        check_efficiency("efficiency", self.efficiency)?;
        check_efficiency("discharge_efficiency", self.efficiency_discharge)?;
        check_power("power_max_kw", self.charge_max)?;
        check_power("discharge_max_kw", self.discharge_max)?;
        if self.wear_price < Price::ZERO {
            return Err(StorageError::NegativeWear { price: self.wear_price }.into());
        }
        if self.trading_fee < Price::ZERO {
            return Err(RollingIntrinsicError::NegativeFee { fee: self.trading_fee });
        }
        let stored = [
            ("stored_kwh", self.stored, "capacity", self.capacity),
            ("stored_end_min_kwh", self.stored_end_min, "stored_kwh", self.stored),
        ];
        for (field, energy, most_of, most) in stored {
            if energy < Energy::ZERO || energy > most {
                return Err(RollingIntrinsicError::Stored { field, energy, most_of, most });
            }
        }
        Ok(())
    }

    /// Change of the stored energy in kWh by a position, `s(x)`.
    #[inline]
    pub(crate) fn stored_change(&self, position_kwh: f64) -> f64 {
        if position_kwh > 0.0 {
            position_kwh * self.efficiency
        } else {
            position_kwh / self.efficiency_discharge
        }
    }

    /// Position in kWh that changes the stored energy so, the inverse of `s(x)`.
    #[inline]
    pub(crate) fn position_of(&self, change_kwh: f64) -> f64 {
        if change_kwh > 0.0 {
            change_kwh / self.efficiency
        } else {
            change_kwh * self.efficiency_discharge
        }
    }

    /// Cost per stored kWh of a position that grows at `price` per kWh; `charges` says on which
    /// side of zero it is.
    #[inline]
    pub(crate) fn slope(&self, price: f64, charges: bool) -> f64 {
        if charges {
            price / self.efficiency
        } else {
            price * self.efficiency_discharge - self.wear_price.as_per_kwh()
        }
    }
}

/// Delivery products of one length that fill a period, such as the hours of a day.
///
/// # Errors
/// The period is no whole number of products, or lies outside the calendar.
pub fn products_between(
    start: DateTime<Utc>,
    until: DateTime<Utc>,
    length: TimeDelta,
) -> Result<Horizon, RollingIntrinsicError> {
    let (period, step) = (micros_between(start, until), length.num_microseconds().unwrap_or(0));
    if step <= 0 || period <= 0 || period % step != 0 {
        let minutes = length.as_seconds_f64() / 60.0;
        return Err(RollingIntrinsicError::ProductLength { start, until, minutes });
    }
    Ok(Horizon::steps(start, length, (period / step) as usize)?)
}

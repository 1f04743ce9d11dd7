//! Columns of rooms and tanks, one row per heating or cooling unit, and the request of a row.
use crate::columns::fleet::NO_TIME;
use crate::plan::heat::request::{
    ComfortBand, CopPoint, HeatError, HeatGain, HeatRequest, ThermalStore,
};
use crate::time::instant::instant_at;
use crate::units::{HeatCapacity, HeatLoss, Power, Price, Temperature, UnitError};

/// Columns of rooms and tanks, all of equal length. Times are microseconds since 1970, [`NO_TIME`]
/// if missing; NaN is a missing number.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rooms<'a> {
    /// First instant that each plan may use.
    pub now: &'a [i64],
    /// End of each plan.
    pub until: &'a [i64],
    /// Heat capacity, in kWh/K.
    pub capacity_kwh_per_k: &'a [f64],
    /// Heat loss, in kW/K.
    pub loss_kw_per_k: &'a [f64],
    /// Temperature at `now`, in °C.
    pub temperature_celsius: &'a [f64],
    /// Lowest temperature outside of set-backs, in °C.
    pub min_celsius: &'a [f64],
    /// Highest temperature outside of set-backs, in °C.
    pub max_celsius: &'a [f64],
    /// Highest electrical power, in kW.
    pub power_max_kw: &'a [f64],
    /// Coefficient of performance at any outdoor temperature; the shared one where missing.
    pub cop: Option<&'a [f64]>,
    /// Constant heat from elsewhere beside the shared gains, in kW; 0 where missing.
    pub gain_kw: Option<&'a [f64]>,
    /// Value of a kWh of heat (or cold) stored at the end; the shared one where missing.
    pub end_value_per_kwh: Option<&'a [f64]>,
    /// Position of the prices that each row pays; without this column the first.
    pub grid: Option<&'a [u32]>,
}

/// Error of one row of [`Rooms`], which cannot be planned. The other rows are planned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RoomError {
    /// A column has no value in this row.
    #[error("{column} is missing")]
    Missing {
        /// Name of the column.
        column: &'static str,
    },
    /// A value cannot be converted to its quantity.
    #[error("{column}: {source}")]
    NotAQuantity {
        /// Name of the column.
        column: &'static str,
        /// Error of the conversion.
        source: UnitError,
    },
    /// The price curve of the row does not exist.
    #[error("price_id names no price curve")]
    UnknownPrice,
    /// The request of the row is invalid.
    #[error(transparent)]
    Heat(#[from] HeatError),
    /// The planner panicked on this row.
    #[error("internal error of slackwater in this row; please report it with the row")]
    Defect,
}

impl Rooms<'_> {
    /// Request of a row: the shared one with the values of the row.
    pub(crate) fn request(
        &self,
        row: usize,
        shared: &HeatRequest,
    ) -> Result<HeatRequest, RoomError> {
        let time = |column: &'static str, values: &[i64]| match values[row] {
            NO_TIME => Err(RoomError::Missing { column }),
            time => Ok(instant_at(time)),
        };
        let celsius =
            |column, values: &[f64]| quantity(column, values[row], Temperature::from_celsius);
        let (capacity, loss) = (self.capacity_kwh_per_k[row], self.loss_kw_per_k[row]);
        let (now, until) = (time("now", self.now)?, time("until", self.until)?);
        let mut request = HeatRequest {
            now,
            until: Some(until),
            store: ThermalStore {
                capacity: quantity("capacity_kwh_per_k", capacity, HeatCapacity::from_kwh_per_k)?,
                loss: quantity("loss_kw_per_k", loss, HeatLoss::from_kw_per_k)?,
            },
            temperature: celsius("temperature_celsius", self.temperature_celsius)?,
            power_max: quantity("power_max_kw", self.power_max_kw[row], Power::from_kw)?,
            comfort: ComfortBand {
                min: celsius("min_celsius", self.min_celsius)?,
                max: celsius("max_celsius", self.max_celsius)?,
            },
            ..shared.clone()
        };
        // Missing optional values leave what is shared.
        let given = |values: Option<&[f64]>| {
            values.map(|values| values[row]).filter(|value| !value.is_nan())
        };
        if let Some(cop) = given(self.cop) {
            request.cop = vec![CopPoint { outdoor: Temperature::default(), cop }];
        }
        if let Some(kw) = given(self.gain_kw) {
            let power = quantity("gain_kw", kw, Power::from_kw)?;
            // A plan without length has no gain.
            if now < until {
                request.gains.push(HeatGain { start: now, end: until, power });
            }
        }
        if let Some(value) = given(self.end_value_per_kwh) {
            request.end_value = quantity("end_value_per_kwh", value, Price::from_per_kwh)?;
        }
        Ok(request)
    }
}

/// Quantity from a value, or an error that names its column.
fn quantity<T>(
    column: &'static str,
    value: f64,
    make: impl Fn(f64) -> Result<T, UnitError>,
) -> Result<T, RoomError> {
    // NaN is a missing value, not a quantity that is refused.
    if value.is_nan() {
        return Err(RoomError::Missing { column });
    }
    make(value).map_err(|source| RoomError::NotAQuantity { column, source })
}

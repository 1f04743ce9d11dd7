//! Validation of a request.
use crate::plan::evcc::request::{EvccBattery, EvccGrid, EvccRequest, EvccSteps};

/// Most steps of a request: four weeks of quarter-hours.
const STEPS_MAX: usize = 2_688;

/// Most batteries of a request.
const BATTERIES_MAX: usize = 50;

/// Largest energy in Wh and power in W.
const AMOUNT_MAX: f64 = 1e9;

/// Largest price per Wh or per W, without its sign.
const PRICE_MAX: f64 = 1e3;

/// Least efficiency.
const EFFICIENCY_MIN: f64 = 1e-3;

/// Fault of a request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EvccError {
    /// A number is outside its range.
    #[error("{field} is {value}; it is from {least} to {most} {unit}")]
    Range {
        /// Path of the field, such as `batteries.0.s_max`.
        field: String,
        /// The value.
        value: f64,
        /// Least value.
        least: f64,
        /// Largest value.
        most: f64,
        /// Unit of the field.
        unit: &'static str,
    },
    /// A series has another length than `dt`.
    #[error("{field} has {len} values; time_series.dt has {steps}, one for each step")]
    Length {
        /// Path of the field.
        field: String,
        /// Its number of values.
        len: usize,
        /// Number of steps.
        steps: usize,
    },
    /// A number of steps or batteries is outside its range.
    #[error("{field} has {len} entries; it has from 1 to {most}")]
    Count {
        /// Path of the field.
        field: &'static str,
        /// Its number of entries.
        len: usize,
        /// Most entries.
        most: usize,
    },
    /// A demand rate has no limit above which it applies.
    #[error(
        "grid.prc_p_exc_imp is {rate} per W, and there is no grid.p_max_imp above which it is paid"
    )]
    RateWithoutLimit {
        /// The demand rate.
        rate: f64,
    },
}

impl EvccError {
    /// Path of the field, such as `batteries.0.s_max`.
    #[must_use]
    pub fn field(&self) -> &str {
        match self {
            Self::Range { field, .. } | Self::Length { field, .. } => field,
            Self::Count { field, .. } => field,
            Self::RateWithoutLimit { .. } => "grid.prc_p_exc_imp",
        }
    }
}

type FieldResult = Result<(), EvccError>;

impl EvccRequest {
    /// Checks a request.
    ///
    /// # Errors
    /// A number is not finite or outside its range, a series has another length than `dt`, there
    /// are no or too many steps or batteries, or a demand rate has no limit.
    pub fn check(&self) -> FieldResult {
        check_count("time_series.dt", self.time_series.len(), STEPS_MAX)?;
        check_count("batteries", self.batteries.len(), BATTERIES_MAX)?;
        check_steps(&self.time_series)?;
        check_efficiency("eta_c".to_owned(), self.eta_c)?;
        check_efficiency("eta_d".to_owned(), self.eta_d)?;
        check_grid(&self.grid)?;
        let steps = self.time_series.len();
        let mut batteries = self.batteries.iter().enumerate();
        batteries.try_for_each(|(index, battery)| check_battery(index, battery, steps))
    }
}

fn check_steps(steps: &EvccSteps) -> FieldResult {
    let price = (-PRICE_MAX, PRICE_MAX, "per Wh");
    let energy = (0.0, AMOUNT_MAX, "Wh");
    let count = steps.len();
    check_series("time_series.dt".to_owned(), &steps.dt, count, (1.0, 31.0 * 86_400.0, "s"))?;
    check_series("time_series.gt".to_owned(), &steps.gt, count, energy)?;
    for (index, load) in steps.gt_add.iter().enumerate() {
        check_series(format!("time_series.gt_add.{index}"), load, count, energy)?;
    }
    check_series("time_series.ft".to_owned(), &steps.ft, count, energy)?;
    check_series("time_series.p_N".to_owned(), &steps.p_n, count, price)?;
    check_series("time_series.p_E".to_owned(), &steps.p_e, count, price)
}

fn check_grid(grid: &EvccGrid) -> FieldResult {
    let given = |field: &str, value: Option<f64>, range| {
        value.map_or(Ok(()), |value| check_number(format!("grid.{field}"), value, range))
    };
    given("p_max_imp", grid.p_max_imp, (0.0, AMOUNT_MAX, "W"))?;
    given("p_max_exp", grid.p_max_exp, (0.0, AMOUNT_MAX, "W"))?;
    given("prc_p_exc_imp", grid.prc_p_exc_imp, (0.0, PRICE_MAX, "per W"))?;
    match (grid.p_max_imp, grid.prc_p_exc_imp) {
        (None, Some(rate)) if rate > 0.0 => Err(EvccError::RateWithoutLimit { rate }),
        _ => Ok(()),
    }
}

fn check_battery(index: usize, battery: &EvccBattery, steps: usize) -> FieldResult {
    let field = |name: &str| format!("batteries.{index}.{name}");
    let energy = (0.0, AMOUNT_MAX, "Wh");
    let power = (0.0, AMOUNT_MAX, "W");
    check_number(field("s_max"), battery.s_max, energy)?;
    check_number(field("s_min"), battery.s_min, (0.0, battery.s_max, "Wh, which is s_max"))?;
    if let Some(capacity) = battery.s_capacity {
        check_number(field("s_capacity"), capacity, energy)?;
    }
    let full = (0.0, battery.capacity(), "Wh, which is s_capacity, or s_max without one");
    check_number(field("s_initial"), battery.s_initial, full)?;
    check_number(field("c_min"), battery.c_min, power)?;
    check_number(field("c_max"), battery.c_max, power)?;
    check_number(field("d_max"), battery.d_max, power)?;
    check_number(field("p_a"), battery.p_a, (-PRICE_MAX, PRICE_MAX, "per Wh"))?;
    check_number(field("c_priority"), f64::from(battery.c_priority), (0.0, 2.0, ""))?;
    for (name, value) in [("eta_c", battery.eta_c), ("eta_d", battery.eta_d)] {
        value.map_or(Ok(()), |value| check_efficiency(field(name), value))?;
    }
    for (name, values) in [("p_demand", &battery.p_demand), ("s_goal", &battery.s_goal)] {
        values
            .as_ref()
            .map_or(Ok(()), |values| check_series(field(name), values, steps, energy))?;
    }
    Ok(())
}

fn check_efficiency(field: String, value: f64) -> FieldResult {
    check_number(field, value, (EFFICIENCY_MIN, 1.0, "Wh per Wh"))
}

/// Checks the length of a series and the range `(least, most, unit)` of its values.
fn check_series(
    field: String,
    values: &[f64],
    steps: usize,
    range: (f64, f64, &'static str),
) -> FieldResult {
    if values.len() != steps {
        return Err(EvccError::Length { field, len: values.len(), steps });
    }
    let mut values = values.iter().enumerate();
    values.try_for_each(|(index, &value)| check_number(format!("{field}.{index}"), value, range))
}

fn check_number(
    field: String,
    value: f64,
    (least, most, unit): (f64, f64, &'static str),
) -> FieldResult {
    // False for NaN too.
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(EvccError::Range { field, value, least, most, unit })
}

fn check_count(field: &'static str, len: usize, most: usize) -> FieldResult {
    if (1..=most).contains(&len) { Ok(()) } else { Err(EvccError::Count { field, len, most }) }
}

//! Heat loss, heat capacity and gains of a room or tank from what was measured.
//!
//! # The model
//!
//! The first-order model of the [planner](super), with a constant gain and the sun:
//!
//! ```text
//! C·dT/dt = UA·(T_out − T) + q + gain + A·S
//! ```
//!
//! with the heat `q` of the unit and the irradiance `S`. Inputs are constant between readings, for
//! which the solution is exact. The whole course is simulated from its first reading, and the sum of
//! the squared differences from the measured temperatures is minimised (output error method; L. Ljung,
//! System Identification, section 4.3). Fitting one step ahead instead would take the noise of the
//! sensor for heat loss.
//!
//! # The method
//!
//! For a given rate `α = UA/C` the simulated course is linear in `T_0`, `1/C`, `gain/C` and `A/C`, so
//! these follow by linear least squares, and one search over `α` remains (variable projection; G. Golub,
//! V. Pereyra, 1973). The confidence intervals come from the curvature at the minimum, with the
//! variance of the residuals times `(1 + ρ)/(1 − ρ)` for their correlation `ρ` from one reading to the
//! next, because a house is no first-order model and residuals are not independent.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::heat::least_squares::{Fit, covariance, fit};
use crate::plan::heat::request::CELSIUS_RANGE;
use crate::plan::heat::slots::decay;
use crate::time::instant::micros_of;
use crate::units::MICROS_PER_HOUR;

/// Fewest readings from which a model is fitted.
pub const READINGS_MIN: usize = 24;

/// Slowest and fastest loss that is searched, `UA/C` per hour: time constants of 11 years and of 12
/// minutes.
const RATE_RANGE: (f64, f64) = (1e-5, 5.0);

/// Irradiance in kW per m². The sun has 1.36 above the air, sensors are a little below zero at night.
const IRRADIANCE_RANGE: (f64, f64) = (-0.1, 2.0);

/// Rates of the first search, evenly spaced in their logarithm.
const RATES: usize = 96;

/// Steps of the second search; each one narrows it to 0.62 of its width.
const NARROWINGS: usize = 60;

/// Standard errors on each side of an interval that holds the true value in 95 of 100 cases.
const STANDARD_ERRORS: f64 = 1.96;

/// Measured course of a room or tank: one entry per reading, in time order.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeatReadings<'a> {
    /// Instants of the readings.
    pub at: &'a [DateTime<Utc>],
    /// Temperature at each reading, in °C.
    pub temperature_celsius: &'a [f64],
    /// Mean outdoor temperature until the next reading, in °C.
    pub outdoor_celsius: &'a [f64],
    /// Mean heat of the unit until the next reading, in kW of heat; negative cools.
    pub heat_kw: &'a [f64],
    /// Mean irradiance until the next reading, in kW per m², if the sun is to be fitted.
    pub irradiance_kw_per_m2: Option<&'a [f64]>,
}

/// Fitted parameter with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// Value of least squares.
    pub value: f64,
    /// Lower end of the interval that holds the true value in 95 of 100 cases.
    pub low: f64,
    /// Upper end of that interval.
    pub high: f64,
}

impl Estimate {
    fn new(value: f64, variance: f64) -> Self {
        let width = STANDARD_ERRORS * variance.max(0.0).sqrt();
        Self { value, low: value - width, high: value + width }
    }
}

/// Thermal model of a room or tank, fitted to readings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct HeatFit {
    /// Heat loss, `UA`, in kW per kelvin.
    pub loss_kw_per_k: Estimate,
    /// Heat capacity, `C`, in kWh per kelvin.
    pub capacity_kwh_per_k: Estimate,
    /// Constant gain, in kW of heat.
    pub gain_kw: Estimate,
    /// Solar aperture, `A`, in m²: the area of an ideal window. `None` without irradiance.
    pub aperture_m2: Option<Estimate>,
    /// Time constant, `C/UA`, in hours.
    pub time_constant_hours: Estimate,
    /// Root of the mean squared difference between simulated and measured temperature, in °C.
    pub rmse_celsius: f64,
    /// Number of readings.
    pub readings: usize,
}

/// Reason why readings give no model.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentifyError {
    /// Columns of different lengths.
    #[error("{column} has {len} values, at has {readings}; each reading has one of each")]
    Length {
        /// Name of the column.
        column: &'static str,
        /// Its length.
        len: usize,
        /// Number of readings.
        readings: usize,
    },
    /// Too few readings.
    #[error("there are {readings} readings; a model needs at least {READINGS_MIN}")]
    TooFew {
        /// Number of readings.
        readings: usize,
    },
    /// Reading that is not after the one before it.
    #[error("at[{index}] is {at}, not after the reading before it")]
    NotInOrder {
        /// Position in the input.
        index: usize,
        /// The instant as given.
        at: DateTime<Utc>,
    },
    /// Value that is no number.
    #[error("{column}[{index}] is {value}; leave out readings without a value")]
    NotFinite {
        /// Name of the column.
        column: &'static str,
        /// Position in the input.
        index: usize,
        /// The value as given.
        value: f64,
    },
    /// Value that is none in its unit, such as a temperature in kelvins.
    #[error(
        "{column}[{index}] is {value} {unit}; it lies between {} and {} {unit}",
        range.0, range.1
    )]
    OutOfRange {
        /// Name of the column.
        column: &'static str,
        /// Position in the input.
        index: usize,
        /// The value as given.
        value: f64,
        /// Unit of the column.
        unit: &'static str,
        /// Least and greatest value.
        range: (f64, f64),
    },
    /// Column without any change, so that its effect cannot be told from a constant gain.
    #[error("{column} is {value} in all readings; its effect cannot be told from other heat")]
    Constant {
        /// Name of the column.
        column: &'static str,
        /// The value.
        value: f64,
    },
    /// Parameter that the readings leave open.
    #[error(
        "{parameter} cannot be identified: readings allow {low} to {high}; give a longer course \
         in which the unit is on and off and the temperature changes"
    )]
    NotIdentified {
        /// Name of the parameter.
        parameter: &'static str,
        /// Lower end of its confidence interval.
        low: f64,
        /// Upper end of its confidence interval.
        high: f64,
    },
}

/// Fits heat loss, heat capacity, a constant gain and, with irradiance, the solar aperture.
///
/// Takes time linear in the readings: a day of minutes takes milliseconds.
///
/// # Errors
/// Columns differ in length; there are fewer than [`READINGS_MIN`] readings; they are not in time
/// order; a value is NaN, infinite or none in its unit; temperature, heat or irradiance never change;
/// the readings do not determine heat loss or heat capacity: its confidence interval reaches zero, or
/// is wider than twice the value.
pub fn identify_heat(readings: &HeatReadings<'_>) -> Result<HeatFit, IdentifyError> {
    check(readings)?;
    let course = ThermalCourse::new(readings);
    let rate = course.best_rate();
    let best = course.fit(rate);
    let (Some(best), true) = (best, ThermalCourse::is_inside(rate)) else {
        return Err(open("loss_kw_per_k", 0.0, f64::INFINITY));
    };
    course.estimates(rate, &best)
}

fn open(parameter: &'static str, low: f64, high: f64) -> IdentifyError {
    IdentifyError::NotIdentified { parameter, low, high }
}

/// Checks lengths, order and values, and that each input changes.
fn check(readings: &HeatReadings<'_>) -> Result<(), IdentifyError> {
    let count = readings.at.len();
    let columns = [
        ("temperature_celsius", Some(readings.temperature_celsius)),
        ("outdoor_celsius", Some(readings.outdoor_celsius)),
        ("heat_kw", Some(readings.heat_kw)),
        ("irradiance_kw_per_m2", readings.irradiance_kw_per_m2),
    ];
    for (column, values) in columns {
        let Some(values) = values else { continue };
        if values.len() != count {
            return Err(IdentifyError::Length { column, len: values.len(), readings: count });
        }
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            return Err(IdentifyError::NotFinite { column, index, value: values[index] });
        }
    }
    check_units(readings)?;
    if count < READINGS_MIN {
        return Err(IdentifyError::TooFew { readings: count });
    }
    if let Some(index) = (1..count).find(|&index| readings.at[index] <= readings.at[index - 1]) {
        return Err(IdentifyError::NotInOrder { index, at: readings.at[index] });
    }
    for (column, values) in columns {
        let Some(values) = values.filter(|_| column != "outdoor_celsius") else { continue };
        // The inputs of the last reading hold until none.
        let used = if column == "temperature_celsius" { count } else { count - 1 };
        let (least, most) = values[..used]
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &at| (a.min(at), b.max(at)));
        if most - least <= 1e-9 * most.abs().max(least.abs()) {
            return Err(IdentifyError::Constant { column, value: least });
        }
    }
    Ok(())
}

/// Checks that temperatures are in °C, and the irradiance in kW per m².
fn check_units(readings: &HeatReadings<'_>) -> Result<(), IdentifyError> {
    let irradiance = readings.irradiance_kw_per_m2.unwrap_or_default();
    for (column, values, unit, range) in [
        ("temperature_celsius", readings.temperature_celsius, "°C", CELSIUS_RANGE),
        ("outdoor_celsius", readings.outdoor_celsius, "°C", CELSIUS_RANGE),
        ("irradiance_kw_per_m2", irradiance, "kW/m²", IRRADIANCE_RANGE),
    ] {
        let outside = |&(_, value): &(usize, &f64)| !(range.0..=range.1).contains(value);
        if let Some((index, &value)) = values.iter().enumerate().find(outside) {
            return Err(IdentifyError::OutOfRange { column, index, value, unit, range });
        }
    }
    Ok(())
}

/// Readings with the hours between them.
struct ThermalCourse<'a> {
    readings: &'a HeatReadings<'a>,
    hours: Vec<f64>,
}

impl<'a> ThermalCourse<'a> {
    fn new(readings: &'a HeatReadings<'a>) -> Self {
        let hours = readings
            .at
            .windows(2)
            .map(|pair| (micros_of(pair[1]) - micros_of(pair[0])) as f64 / MICROS_PER_HOUR);
        Self { readings, hours: hours.collect() }
    }

    /// Courses that one degree at the start and one unit of each input cause at a rate of loss, and
    /// the course that the outdoor temperature causes.
    fn responses(&self, rate: f64) -> (Vec<Vec<f64>>, Vec<f64>) {
        let kept: Vec<(f64, f64)> = self
            .hours
            .iter()
            .map(|&hours| {
                let (remains, share) = decay(rate, hours);
                (remains, share * hours)
            })
            .collect();
        let response = |start: f64, input: &dyn Fn(usize) -> f64| {
            let mut value = start;
            let mut course = Vec::with_capacity(kept.len() + 1);
            course.push(value);
            for (index, (remains, weight)) in kept.iter().enumerate() {
                value = remains * value + weight * input(index);
                course.push(value);
            }
            course
        };
        let readings = self.readings;
        let mut columns = vec![
            response(1.0, &|_| 0.0),
            response(0.0, &|index| readings.heat_kw[index]),
            response(0.0, &|_| 1.0),
        ];
        if let Some(irradiance) = readings.irradiance_kw_per_m2 {
            columns.push(response(0.0, &|index| irradiance[index]));
        }
        (columns, response(0.0, &|index| rate * readings.outdoor_celsius[index]))
    }

    /// Least squares at a rate of loss; `None` if the columns do not determine it.
    fn fit(&self, rate: f64) -> Option<Fit> {
        let (columns, outdoor) = self.responses(rate);
        let measured = self.readings.temperature_celsius.iter().zip(&outdoor);
        let rest: Vec<f64> = measured.map(|(celsius, outdoor)| celsius - outdoor).collect();
        fit(&columns, &rest)
    }

    /// Sum of squares at the logarithm of a rate.
    fn squares(&self, log_rate: f64) -> f64 {
        self.fit(log_rate.exp()).map_or(f64::INFINITY, |fit| fit.squares)
    }

    /// Rate of loss with the least sum of squares.
    fn best_rate(&self) -> f64 {
        let (from, to) = (RATE_RANGE.0.ln(), RATE_RANGE.1.ln());
        let step = (to - from) / (RATES - 1) as f64;
        let logs = (0..RATES).map(|index| from + step * index as f64);
        let best = logs.min_by(|&a, &b| self.squares(a).total_cmp(&self.squares(b)));
        let best = best.unwrap_or(from);
        // Golden section between the neighbours of the best rate.
        let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
        let (mut low, mut high) = ((best - step).max(from), (best + step).min(to));
        for _ in 0..NARROWINGS {
            let (a, b) = (high - golden * (high - low), low + golden * (high - low));
            if self.squares(a) <= self.squares(b) {
                high = b;
            } else {
                low = a;
            }
        }
        f64::midpoint(low, high).exp()
    }

    /// Returns true if a rate is not at an end of the search.
    fn is_inside(rate: f64) -> bool {
        let slack = 1.0 + 1e-6;
        rate > RATE_RANGE.0 * slack && rate * slack < RATE_RANGE.1
    }

    /// Parameters with their intervals from the fit at the best rate.
    fn estimates(&self, rate: f64, best: &Fit) -> Result<HeatFit, IdentifyError> {
        let (mut columns, _) = self.responses(rate);
        columns.insert(0, self.slope_by_rate(rate, best));
        let count = self.readings.at.len();
        let free = (count - columns.len()) as f64;
        let variance = best.squares / free * correlation_factor(&best.residuals);
        // Rate, temperature at the start, and heat, gain and sun over the capacity.
        let Some(shape) = covariance(&columns) else {
            return Err(open("capacity_kwh_per_k", 0.0, f64::INFINITY));
        };
        let per_capacity = best.coefficients[1];
        if per_capacity <= 0.0 {
            return Err(open("capacity_kwh_per_k", f64::NEG_INFINITY, f64::INFINITY));
        }
        let capacity = 1.0 / per_capacity;
        // A parameter `θ/(1/C)`, and its gradient by `θ` and by `1/C`.
        let quotient = |at: usize, theta: f64| {
            let value = theta * capacity;
            let (by_theta, by_capacity) = (capacity, -value * capacity);
            let spread = by_theta * by_theta * shape[at][at]
                + 2.0 * by_theta * by_capacity * shape[at][2]
                + by_capacity * by_capacity * shape[2][2];
            Estimate::new(value, variance * spread)
        };
        let square = |value: f64| value * value;
        let fit = HeatFit {
            loss_kw_per_k: quotient(0, rate),
            capacity_kwh_per_k: Estimate::new(
                capacity,
                variance * shape[2][2] * square(square(capacity)),
            ),
            gain_kw: quotient(3, best.coefficients[2]),
            aperture_m2: best.coefficients.get(3).map(|&sun| quotient(4, sun)),
            time_constant_hours: Estimate::new(
                1.0 / rate,
                variance * shape[0][0] / square(square(rate)),
            ),
            rmse_celsius: (best.squares / count as f64).sqrt(),
            readings: count,
        };
        let known =
            [("capacity_kwh_per_k", fit.capacity_kwh_per_k), ("loss_kw_per_k", fit.loss_kw_per_k)];
        match known.into_iter().find(|(_, at)| !(at.low > 0.0 && at.high.is_finite())) {
            Some((parameter, at)) => Err(open(parameter, at.low, at.high)),
            None => Ok(fit),
        }
    }

    /// Change of the simulated course by the rate of loss.
    fn slope_by_rate(&self, rate: f64, best: &Fit) -> Vec<f64> {
        let course = |rate: f64| {
            let (columns, outdoor) = self.responses(rate);
            let at = |index: usize| {
                let parts = columns.iter().zip(&best.coefficients);
                outdoor[index] + parts.map(|(column, part)| column[index] * part).sum::<f64>()
            };
            (0..outdoor.len()).map(at).collect::<Vec<f64>>()
        };
        let step = rate * 1e-4;
        let pairs = course(rate + step).into_iter().zip(course(rate - step));
        pairs.map(|(above, below)| (above - below) / (2.0 * step)).collect()
    }
}

/// Factor on the variance for residuals that are correlated from one reading to the next.
fn correlation_factor(residuals: &[f64]) -> f64 {
    let squares: f64 = residuals.iter().map(|at| at * at).sum();
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    // Residuals of rounding alone have no correlation that means anything.
    let correlation = if squares > 0.0 { (products / squares).clamp(0.0, 0.99) } else { 0.0 };
    (1.0 + correlation) / (1.0 - correlation)
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use proptest::prelude::*;

    use super::*;

    /// Readings of a house whose unit switches, with noise on its sensor.
    struct House {
        at: Vec<DateTime<Utc>>,
        temperature: Vec<f64>,
        outdoor: Vec<f64>,
        heat: Vec<f64>,
        sun: Vec<f64>,
    }

    impl House {
        /// Course of `count` quarter hours. `noise` is the standard deviation of the sensor.
        fn new(
            count: usize,
            (loss, capacity, gain, aperture): (f64, f64, f64, f64),
            noise: f64,
            seed: u64,
        ) -> Self {
            let mut random = seed;
            let mut uniform = || {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (random >> 11) as f64 / (1_u64 << 53) as f64
            };
            let start: DateTime<Utc> = "2026-01-05T00:00:00Z".parse().unwrap();
            let mut house = Self {
                at: vec![],
                temperature: vec![],
                outdoor: vec![],
                heat: vec![],
                sun: vec![],
            };
            let mut celsius = 20.0;
            let mut heats = true;
            for index in 0..count {
                let hour = index as f64 / 4.0;
                let error: f64 = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                house.at.push(start + TimeDelta::minutes(15 * index as i64));
                house.temperature.push(celsius + noise * error);
                let outdoor = 3.0 + 5.0 * (hour / 24.0 * std::f64::consts::TAU).sin();
                let sun = (0.5 * ((hour - 6.0) / 24.0 * std::f64::consts::TAU).sin()).max(0.0);
                heats = if heats { celsius < 21.5 } else { celsius < 19.0 };
                let heat = if heats { 6.0 } else { 0.0 };
                house.outdoor.push(outdoor);
                house.heat.push(heat);
                house.sun.push(sun);
                let limit = outdoor + (heat + gain + aperture * sun) / loss;
                celsius = limit + (celsius - limit) * (-0.25 * loss / capacity).exp();
            }
            house
        }

        fn readings(&self) -> HeatReadings<'_> {
            HeatReadings {
                at: &self.at,
                temperature_celsius: &self.temperature,
                outdoor_celsius: &self.outdoor,
                heat_kw: &self.heat,
                irradiance_kw_per_m2: Some(&self.sun),
            }
        }
    }

    const TRUE: (f64, f64, f64, f64) = (0.2, 6.0, 0.4, 3.0);

    #[test]
    fn a_course_without_noise_gives_its_model() {
        let house = House::new(400, TRUE, 0.0, 1);
        let fit = identify_heat(&house.readings()).unwrap();
        for (found, expected) in [
            (fit.loss_kw_per_k, TRUE.0),
            (fit.capacity_kwh_per_k, TRUE.1),
            (fit.gain_kw, TRUE.2),
            (fit.aperture_m2.unwrap(), TRUE.3),
        ] {
            assert!((found.value - expected).abs() < 1e-5 * expected, "{found:?} {expected}");
        }
        assert!(fit.rmse_celsius < 1e-6);
    }

    #[test]
    fn intervals_hold_the_truth_in_95_of_100_cases() {
        let mut held = [0; 4];
        for seed in 0..200 {
            let house = House::new(300, TRUE, 0.1, seed);
            let fit = identify_heat(&house.readings()).unwrap();
            let found =
                [fit.loss_kw_per_k, fit.capacity_kwh_per_k, fit.gain_kw, fit.aperture_m2.unwrap()];
            for (held, (at, truth)) in
                held.iter_mut().zip(found.iter().zip([TRUE.0, TRUE.1, TRUE.2, TRUE.3]))
            {
                *held += i32::from(at.low <= truth && truth <= at.high);
            }
        }
        assert!(held.iter().all(|held| (180..=199).contains(held)), "{held:?} of 200");
    }

    #[track_caller]
    fn refused(change: impl FnOnce(&mut House), expected: &str) {
        let mut house = House::new(200, TRUE, 0.05, 3);
        change(&mut house);
        assert_eq!(identify_heat(&house.readings()).unwrap_err().to_string(), expected);
    }

    #[test]
    fn readings_that_identify_nothing_are_refused_by_name() {
        refused(
            |house| house.temperature.fill(20.0),
            "temperature_celsius is 20 in all readings; its effect cannot be told from other heat",
        );
        refused(
            |house| house.heat.fill(2.0),
            "heat_kw is 2 in all readings; its effect cannot be told from other heat",
        );
        refused(
            |house| house.sun.fill(0.0),
            "irradiance_kw_per_m2 is 0 in all readings; its effect cannot be told from other heat",
        );
        refused(
            |house| house.heat[7] = f64::NAN,
            "heat_kw[7] is NaN; leave out readings without a value",
        );
        refused(
            |house| house.temperature[7] = 293.15,
            "temperature_celsius[7] is 293.15 °C; it lies between -90 and 150 °C",
        );
        refused(
            |house| house.outdoor[3] = 278.0,
            "outdoor_celsius[3] is 278 °C; it lies between -90 and 150 °C",
        );
        refused(
            |house| house.sun[9] = 420.0,
            "irradiance_kw_per_m2[9] is 420 kW/m²; it lies between -0.1 and 2 kW/m²",
        );
        refused(
            |house| house.outdoor.truncate(5),
            "outdoor_celsius has 5 values, at has 200; each reading has one of each",
        );
        refused(
            |house| house.at[3] = house.at[2],
            "at[3] is 2026-01-05 00:30:00 UTC, not after the reading before it",
        );
        let house = House::new(10, TRUE, 0.0, 1);
        let error = identify_heat(&house.readings()).unwrap_err();
        assert_eq!(error.to_string(), "there are 10 readings; a model needs at least 24");
    }

    #[test]
    fn a_course_that_is_too_short_leaves_the_loss_open() {
        let house = House::new(24, TRUE, 0.5, 5);
        let readings = HeatReadings { irradiance_kw_per_m2: None, ..house.readings() };
        let error = identify_heat(&readings).unwrap_err();
        assert!(matches!(error, IdentifyError::NotIdentified { .. }), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// Any numbers give a model with intervals around its values, or a refusal.
        #[test]
        fn any_readings_give_a_model_or_a_refusal(
            rows in prop::collection::vec((-10.0..40.0_f64, -20.0..35.0_f64, 0.0..9.0_f64, 1..90_i64), 24..60),
        ) {
            let mut house = House::new(0, TRUE, 0.0, 0);
            let mut at: DateTime<Utc> = "2026-01-05T00:00:00Z".parse().unwrap();
            for (celsius, outdoor, heat, minutes) in rows {
                at += TimeDelta::minutes(minutes);
                house.at.push(at);
                house.temperature.push(celsius);
                house.outdoor.push(outdoor);
                house.heat.push(heat);
            }
            let readings = HeatReadings { irradiance_kw_per_m2: None, ..house.readings() };
            if let Ok(fit) = identify_heat(&readings) {
                prop_assert!(fit.loss_kw_per_k.low > 0.0 && fit.capacity_kwh_per_k.low > 0.0);
                prop_assert!(fit.gain_kw.low <= fit.gain_kw.value);
            }
        }
    }
}

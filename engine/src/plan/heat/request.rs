//! Request of a heated or cooled room or tank, with its checks.
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::plan::charge::request::PowerLimit;
use crate::plan::heat::on_off::{LEAST_TIME_MAX, OnOff};
use crate::plan::switching::request::StateInFuture;
use crate::time::horizon::{Horizon, HorizonError};
use crate::time::hour_minute::HourMinute;
use crate::time::instant::micros_of;
use crate::time::serde_zone;
use crate::units::{HeatCapacity, HeatLoss, Power, Price, Temperature};

/// Lowest and highest temperature of a request, in °C. A room of 293 °C is one of 293 kelvin.
pub const CELSIUS_RANGE: (f64, f64) = (-90.0, 150.0);

/// Direction in which a unit moves heat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum HeatMode {
    /// The unit brings heat in.
    #[default]
    #[serde(rename = "heat")]
    Heat,
    /// The unit takes heat out.
    #[serde(rename = "cool")]
    Cool,
}

/// Room or tank as one heat capacity with one loss (a first-order RC model).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThermalStore {
    /// Heat that warms it by one degree, `C`.
    #[serde(rename = "capacity_kwh_per_k")]
    pub capacity: HeatCapacity,
    /// Heat that it loses for each degree above its surroundings, `UA`.
    #[serde(rename = "loss_kw_per_k")]
    pub loss: HeatLoss,
}

/// Temperatures between which a room or tank is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComfortBand {
    /// Lowest temperature.
    #[serde(rename = "min_celsius")]
    pub min: Temperature,
    /// Highest temperature.
    #[serde(rename = "max_celsius")]
    pub max: Temperature,
}

/// Period of every day, on the wall clock, with a band of its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetBack {
    /// Time of day from which it holds.
    pub from: HourMinute,
    /// Time of day until which it holds; before `from`, it is that of the next day.
    pub to: HourMinute,
    /// Band in the period.
    pub band: ComfortBand,
}

/// Coefficient of performance at one outdoor temperature.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopPoint {
    /// Outdoor temperature.
    #[serde(rename = "outdoor_celsius")]
    pub outdoor: Temperature,
    /// Heat moved per electrical energy.
    pub cop: f64,
}

/// Period of constant temperature outdoors, or around a tank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutdoorPeriod {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Temperature throughout.
    #[serde(rename = "outdoor_celsius")]
    pub temperature: Temperature,
}

/// Period in which heat comes in from elsewhere (sun, people) or is drawn (hot water).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeatGain {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Heat that comes in; negative is drawn. Gains of overlapping periods add up.
    #[serde(rename = "gain_kw")]
    pub power: Power,
}

/// Wishes and limits of one room or tank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeatRequest {
    /// Present time: the first instant that a plan may use.
    pub now: DateTime<Utc>,
    /// End of the plan; `None` is the last price or the last outdoor temperature, whichever is
    /// earlier.
    pub until: Option<DateTime<Utc>>,
    /// Room or tank.
    pub store: ThermalStore,
    /// Temperature at `now`.
    #[serde(rename = "temperature_celsius")]
    pub temperature: Temperature,
    /// Direction of the unit.
    pub mode: HeatMode,
    /// Highest electrical power of the unit. It runs at any power up to it, unless it has `on_off`.
    #[serde(rename = "power_max_kw")]
    pub power_max: Power,
    /// Periods with a lower highest power, in any order.
    pub power_limits: Vec<PowerLimit>,
    /// Coefficient of performance by outdoor temperature: linear between points, constant beyond
    /// the first and the last.
    pub cop: Vec<CopPoint>,
    /// Outdoor temperature in periods that follow each other.
    pub outdoor: Vec<OutdoorPeriod>,
    /// Heat from elsewhere, in any order.
    pub gains: Vec<HeatGain>,
    /// Band outside of all set-backs.
    pub comfort: ComfortBand,
    /// Periods of every day with bands of their own; where they overlap, the first one holds.
    pub set_backs: Vec<SetBack>,
    /// Time zone of the clock of the set-backs.
    #[serde(with = "serde_zone")]
    pub time_zone: Tz,
    /// Value of a kWh of heat (of cold, for [`HeatMode::Cool`]) stored at the end of the plan.
    #[serde(rename = "end_value_per_kwh")]
    pub end_value: Price,
    /// Least times of a unit that runs at its highest power or not at all, for whole slots. A limit
    /// below the highest power forbids it to run. `None` is a unit that modulates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_off: Option<OnOff>,
}

impl HeatRequest {
    /// Request of a heated room without gains and set-backs, with a constant coefficient of
    /// performance and outdoor temperature.
    #[must_use]
    pub fn new(
        (now, until): (DateTime<Utc>, DateTime<Utc>),
        store: ThermalStore,
        temperature: Temperature,
        comfort: ComfortBand,
        (power_max, cop): (Power, f64),
        outdoor: Temperature,
    ) -> Self {
        Self {
            now,
            until: Some(until),
            store,
            temperature,
            mode: HeatMode::Heat,
            power_max,
            power_limits: Vec::new(),
            cop: vec![CopPoint { outdoor, cop }],
            outdoor: vec![OutdoorPeriod { start: now, end: until, temperature: outdoor }],
            gains: Vec::new(),
            comfort,
            set_backs: Vec::new(),
            time_zone: Tz::UTC,
            end_value: Price::ZERO,
            on_off: None,
        }
    }
}

/// Error of an invalid request. A band that cannot be held is no error.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HeatError {
    /// Heat capacity of zero or less.
    #[error("capacity_kwh_per_k is {} kWh/K; it is above 0 kWh/K", capacity.as_kwh_per_k())]
    Capacity {
        /// The capacity as given.
        capacity: HeatCapacity,
    },
    /// Negative loss.
    #[error("loss_kw_per_k is {} kW/K; it is 0 kW/K or more", loss.as_kw_per_k())]
    NegativeLoss {
        /// The loss as given.
        loss: HeatLoss,
    },
    /// Temperature outside of [`CELSIUS_RANGE`].
    #[error(
        "{field} is {} °C; it lies between {} and {} °C: temperatures are in degrees Celsius",
        temperature.as_celsius(), CELSIUS_RANGE.0, CELSIUS_RANGE.1
    )]
    Temperature {
        /// Name of the field.
        field: String,
        /// The temperature as given.
        temperature: Temperature,
    },
    /// Band whose lowest temperature is above its highest.
    #[error(
        "{field}: min_celsius is {} °C, above max_celsius, {} °C",
        band.min.as_celsius(), band.max.as_celsius()
    )]
    Band {
        /// Name of the field.
        field: String,
        /// The band as given.
        band: ComfortBand,
    },
    /// Set-back without length.
    #[error("set_backs[{index}] is from {at} to {at}; it has no length")]
    SetBackLength {
        /// Position in the input.
        index: usize,
        /// Its start and end.
        at: HourMinute,
    },
    /// Negative power.
    #[error("{field} is {} kW; it is 0 kW or more", power.as_kw())]
    NegativePower {
        /// Name of the field.
        field: String,
        /// The power as given.
        power: Power,
    },
    /// Period without length.
    #[error("{field} ends at {end}, not after its start at {start}")]
    Period {
        /// Name of the field.
        field: String,
        /// Start of the period.
        start: DateTime<Utc>,
        /// End of the period.
        end: DateTime<Utc>,
    },
    /// No coefficient of performance.
    #[error("cop has no points; give one number, or one for each of some outdoor temperatures")]
    NoCop,
    /// Coefficient of performance that is not above zero, or no number.
    #[error("cop[{index}] is {cop}; it is above 0 and at most 100")]
    Cop {
        /// Position in the input.
        index: usize,
        /// The coefficient as given.
        cop: f64,
    },
    /// Points whose outdoor temperatures do not rise.
    #[error(
        "cop[{index}] is at {} °C, not above the point before it; outdoor temperatures rise",
        outdoor.as_celsius()
    )]
    CopOrder {
        /// Position in the input.
        index: usize,
        /// The outdoor temperature as given.
        outdoor: Temperature,
    },
    /// Outdoor temperatures that overlap or have no length.
    #[error("outdoor_celsius: {0}")]
    OutdoorPeriods(#[from] HorizonError),
    /// Time of the plan without an outdoor temperature.
    #[error("outdoor_celsius has no value at {at}; it covers the plan from now to until")]
    OutdoorUnknown {
        /// First instant without a value.
        at: DateTime<Utc>,
    },
    /// Least time of a unit that is on or off, negative or too long.
    #[error(
        "{field} is {} s; it is from 0 to {} s", length.num_seconds(), LEAST_TIME_MAX.num_seconds()
    )]
    LeastTime {
        /// Name of the field.
        field: &'static str,
        /// The length as given.
        length: TimeDelta,
    },
    /// State of a unit that is on or off, which begins after `now`.
    #[error(transparent)]
    State(#[from] StateInFuture),
}

/// Valid request. Its planning cannot fail.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatProblem {
    request: HeatRequest,
    /// Gains as steps in time order without overlap: start, end and kW.
    pub(crate) gains: Vec<(i64, i64, f64)>,
    /// Outdoor temperature as steps that follow each other: start, end and °C.
    pub(crate) outdoor: Vec<(i64, i64, f64)>,
}

impl HeatProblem {
    /// Checks a request.
    ///
    /// # Errors
    /// The capacity is not above zero; loss or a power is negative; a temperature is outside of
    /// [`CELSIUS_RANGE`]; a band is empty; a set-back or another period has no length; there is no
    /// coefficient of performance, one is not above zero, or their temperatures do not rise; the
    /// outdoor temperature overlaps, has a gap, or does not cover `now` to `until`; a least time is
    /// negative or longer than a day; the unit is on or off since an instant after `now`.
    pub fn new(request: HeatRequest) -> Result<Self, HeatError> {
        let store = request.store;
        if store.capacity <= HeatCapacity::ZERO {
            return Err(HeatError::Capacity { capacity: store.capacity });
        }
        if store.loss < HeatLoss::ZERO {
            return Err(HeatError::NegativeLoss { loss: store.loss });
        }
        check_temperature("temperature_celsius", request.temperature)?;
        check_power("power_max_kw", request.power_max)?;
        for (index, limit) in request.power_limits.iter().enumerate() {
            let field = format!("power_limits[{index}]");
            check_period(&field, limit.start, limit.end)?;
            check_power(&format!("{field}.power_max_kw"), limit.power_max)?;
        }
        for (index, gain) in request.gains.iter().enumerate() {
            check_period(&format!("gains[{index}]"), gain.start, gain.end)?;
        }
        check_bands(&request)?;
        check_cop(&request.cop)?;
        check_outdoor(&request)?;
        request.on_off.map_or(Ok(()), |on_off| check_on_off(&on_off, request.now))?;
        let outdoor = request.outdoor.iter().map(|period| {
            (micros_of(period.start), micros_of(period.end), period.temperature.as_celsius())
        });
        Ok(Self { gains: add_up(&request.gains), outdoor: outdoor.collect(), request })
    }

    /// Checked request.
    #[must_use]
    pub fn request(&self) -> &HeatRequest {
        &self.request
    }

    /// Coefficient of performance at an outdoor temperature in °C.
    #[must_use]
    pub fn cop_at(&self, outdoor_celsius: f64) -> f64 {
        let points = &self.request.cop;
        let next = points.partition_point(|point| point.outdoor.as_celsius() <= outdoor_celsius);
        match (next.checked_sub(1).map(|before| points[before]), points.get(next)) {
            (Some(below), Some(above)) => {
                let span = (above.outdoor - below.outdoor).as_celsius();
                let share = (outdoor_celsius - below.outdoor.as_celsius()) / span;
                below.cop + (above.cop - below.cop) * share
            }
            (Some(last), None) => last.cop,
            (None, first) => first.map_or(1.0, |first| first.cop),
        }
    }
}

/// Checks that a temperature is in [`CELSIUS_RANGE`].
fn check_temperature(field: &str, temperature: Temperature) -> Result<(), HeatError> {
    if (CELSIUS_RANGE.0..=CELSIUS_RANGE.1).contains(&temperature.as_celsius()) {
        Ok(())
    } else {
        Err(HeatError::Temperature { field: field.to_owned(), temperature })
    }
}

/// Checks that a power is 0 or more.
fn check_power(field: &str, power: Power) -> Result<(), HeatError> {
    if power < Power::ZERO {
        return Err(HeatError::NegativePower { field: field.to_owned(), power });
    }
    Ok(())
}

/// Checks the least times and the state of a unit that is on or off.
fn check_on_off(on_off: &OnOff, now: DateTime<Utc>) -> Result<(), HeatError> {
    for (field, length) in [("on_min", on_off.on_min), ("off_min", on_off.off_min)] {
        if !(TimeDelta::zero()..=LEAST_TIME_MAX).contains(&length) {
            return Err(HeatError::LeastTime { field, length });
        }
    }
    Ok(on_off.state.check(now)?)
}

/// Checks that a period has a length.
fn check_period(field: &str, start: DateTime<Utc>, end: DateTime<Utc>) -> Result<(), HeatError> {
    if end <= start {
        Err(HeatError::Period { field: field.to_owned(), start, end })
    } else {
        Ok(())
    }
}

/// Checks the band and those of the set-backs.
fn check_bands(request: &HeatRequest) -> Result<(), HeatError> {
    let check = |field: String, band: ComfortBand| {
        check_temperature(&format!("{field}.min_celsius"), band.min)?;
        check_temperature(&format!("{field}.max_celsius"), band.max)?;
        if band.min > band.max { Err(HeatError::Band { field, band }) } else { Ok(()) }
    };
    check("comfort".to_owned(), request.comfort)?;
    for (index, set_back) in request.set_backs.iter().enumerate() {
        check(format!("set_backs[{index}]"), set_back.band)?;
        if set_back.from == set_back.to {
            return Err(HeatError::SetBackLength { index, at: set_back.from });
        }
    }
    Ok(())
}

/// Checks the points of the coefficient of performance.
fn check_cop(points: &[CopPoint]) -> Result<(), HeatError> {
    if points.is_empty() {
        return Err(HeatError::NoCop);
    }
    for (index, point) in points.iter().enumerate() {
        if !(point.cop > 0.0 && point.cop <= 100.0) {
            return Err(HeatError::Cop { index, cop: point.cop });
        }
        check_temperature(&format!("cop[{index}].outdoor_celsius"), point.outdoor)?;
        if index > 0 && points[index - 1].outdoor >= point.outdoor {
            return Err(HeatError::CopOrder { index, outdoor: point.outdoor });
        }
    }
    Ok(())
}

/// Checks that the outdoor temperature is known from `now` to `until`, without a gap.
fn check_outdoor(request: &HeatRequest) -> Result<(), HeatError> {
    let periods = &request.outdoor;
    for (index, period) in periods.iter().enumerate() {
        check_temperature(&format!("outdoor_celsius[{index}]"), period.temperature)?;
    }
    Horizon::new(periods.iter().map(|period| (period.start, period.end)))?;
    let gap =
        periods.windows(2).find(|pair| pair[0].end < pair[1].start && request.now < pair[1].start);
    let is_early = periods.first().is_none_or(|first| first.start > request.now);
    let end = periods.last().map_or(request.now, |last| last.end);
    if is_early {
        Err(HeatError::OutdoorUnknown { at: request.now })
    } else if let Some(pair) = gap {
        Err(HeatError::OutdoorUnknown { at: pair[0].end })
    } else if request.until.is_some_and(|until| until > end.max(request.now)) {
        Err(HeatError::OutdoorUnknown { at: end })
    } else {
        Ok(())
    }
}

/// Gains as steps in time order without overlap; those of one instant are added up.
fn add_up(gains: &[HeatGain]) -> Vec<(i64, i64, f64)> {
    let mut cuts: Vec<i64> =
        gains.iter().flat_map(|gain| [micros_of(gain.start), micros_of(gain.end)]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let mut by_start: Vec<&HeatGain> = gains.iter().collect();
    by_start.sort_by_key(|gain| gain.start);
    let mut open: Vec<&HeatGain> = Vec::new();
    let mut next = 0;
    let mut steps = Vec::with_capacity(cuts.len());
    for pair in cuts.windows(2) {
        let (start, end) = (pair[0], pair[1]);
        open.retain(|gain| micros_of(gain.end) > start);
        while next < by_start.len() && micros_of(by_start[next].start) <= start {
            open.push(by_start[next]);
            next += 1;
        }
        // A sum of its own for each step: adding and subtracting would leave rests of rounding.
        if !open.is_empty() {
            steps.push((start, end, open.iter().map(|gain| gain.power.as_kw()).sum()));
        }
    }
    steps
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::plan::switching::request::DeviceState;
    use crate::units::{celsius, kw, kw_per_k, kwh_per_k};

    /// Start of the prices of `curve_of`.
    pub(crate) fn hour(hours: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::hours(hours)
    }

    /// Room of 5 kWh/K and 0.2 kW/K at 20 °C, wanted between 20 and 23 °C, with a heat pump of
    /// 3 kW and COP 3, at 5 °C outdoors.
    pub(crate) fn room(hours: i64) -> HeatRequest {
        let store = ThermalStore { capacity: kwh_per_k(5.0), loss: kw_per_k(0.2) };
        let comfort = ComfortBand { min: celsius(20.0), max: celsius(23.0) };
        let time = (hour(0), hour(hours));
        HeatRequest::new(time, store, celsius(20.0), comfort, (kw(3.0), 3.0), celsius(5.0))
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut HeatRequest), expected: &str) {
        let mut request = room(4);
        change(&mut request);
        assert_eq!(HeatProblem::new(request).unwrap_err().to_string(), expected);
    }

    #[test]
    fn least_times_and_states_name_field_value_and_unit() {
        let check_on_off = |on_off: OnOff, expected: &str| {
            check(|request| request.on_off = Some(on_off), expected);
        };
        let negative = OnOff { on_min: TimeDelta::minutes(-1), ..OnOff::default() };
        check_on_off(negative, "on_min is -60 s; it is from 0 to 86400 s");
        let long = OnOff { off_min: TimeDelta::hours(25), ..OnOff::default() };
        check_on_off(long, "off_min is 90000 s; it is from 0 to 86400 s");
        let early = OnOff { state: DeviceState::RunningSince(hour(1)), ..OnOff::default() };
        check_on_off(
            early,
            "running_since is 2026-01-05 19:00:00 UTC, after now at 2026-01-05 18:00:00 UTC",
        );
    }

    fn set_back(from: &str, to: &str, min: f64, max: f64) -> SetBack {
        let time = |text| HourMinute::parse(text).unwrap();
        let band = ComfortBand { min: celsius(min), max: celsius(max) };
        SetBack { from: time(from), to: time(to), band }
    }

    #[test]
    fn errors_name_field_value_and_unit() {
        check(
            |r| r.store.capacity = kwh_per_k(0.0),
            "capacity_kwh_per_k is 0 kWh/K; it is above 0 kWh/K",
        );
        check(
            |r| r.store.loss = kw_per_k(-0.1),
            "loss_kw_per_k is -0.1 kW/K; it is 0 kW/K or more",
        );
        check(
            |r| r.temperature = celsius(293.15),
            "temperature_celsius is 293.15 °C; it lies between -90 and 150 °C: \
             temperatures are in degrees Celsius",
        );
        check(|r| r.power_max = kw(-1.0), "power_max_kw is -1 kW; it is 0 kW or more");
        check(
            |r| r.comfort.min = celsius(24.0),
            "comfort: min_celsius is 24 °C, above max_celsius, 23 °C",
        );
        check(
            |r| r.set_backs.push(set_back("22:00", "22:00", 16.0, 20.0)),
            "set_backs[0] is from 22:00 to 22:00; it has no length",
        );
        check(
            |r| r.gains.push(HeatGain { start: hour(1), end: hour(1), power: kw(1.0) }),
            "gains[0] ends at 2026-01-05 19:00:00 UTC, \
             not after its start at 2026-01-05 19:00:00 UTC",
        );
        check(
            |r| {
                r.power_limits.push(PowerLimit {
                    start: hour(1),
                    end: hour(2),
                    power_max: kw(-1.0),
                });
            },
            "power_limits[0].power_max_kw is -1 kW; it is 0 kW or more",
        );
    }

    #[test]
    fn coefficients_of_performance_are_checked() {
        let point = |outdoor, cop| CopPoint { outdoor: celsius(outdoor), cop };
        check(
            |r| r.cop.clear(),
            "cop has no points; give one number, or one for each of some outdoor temperatures",
        );
        check(|r| r.cop[0].cop = 0.0, "cop[0] is 0; it is above 0 and at most 100");
        check(
            |r| r.cop = vec![point(7.0, 3.0), point(-7.0, 2.0)],
            "cop[1] is at -7 °C, not above the point before it; outdoor temperatures rise",
        );
        let mut request = room(4);
        request.cop = vec![point(-7.0, 2.0), point(7.0, 4.0)];
        let problem = HeatProblem::new(request).unwrap();
        let cops = [-20.0, -7.0, 0.0, 7.0, 12.0].map(|outdoor| problem.cop_at(outdoor));
        let expected = [2.0, 2.0, 3.0, 4.0, 4.0];
        assert!(cops.iter().zip(expected).all(|(cop, at)| (cop - at).abs() < 1e-12), "{cops:?}");
    }

    #[test]
    fn the_outdoor_temperature_covers_the_plan() {
        let text = |at: &str| {
            format!(
                "outdoor_celsius has no value at {at} UTC; it covers the plan from now to until"
            )
        };
        check(|r| r.outdoor.clear(), &text("2026-01-05 18:00:00"));
        check(|r| r.outdoor[0].start = hour(1), &text("2026-01-05 18:00:00"));
        check(|r| r.until = Some(hour(9)), &text("2026-01-05 22:00:00"));
        let later = OutdoorPeriod { start: hour(5), end: hour(6), temperature: celsius(1.0) };
        check(|r| r.outdoor.push(later), &text("2026-01-05 22:00:00"));
        check(
            |r| r.outdoor.push(OutdoorPeriod { start: hour(3), ..later }),
            "outdoor_celsius: slot 1 starts at 2026-01-05 21:00:00 UTC, \
             before the slot ahead of it ends at 2026-01-05 22:00:00 UTC",
        );
    }

    #[test]
    fn gains_of_one_instant_add_up() {
        let gain =
            |start, end, power| HeatGain { start: hour(start), end: hour(end), power: kw(power) };
        let steps = add_up(&[gain(2, 4, 1.0), gain(0, 3, -0.5), gain(6, 7, 2.0)]);
        let hours = |micros: i64| (micros - micros_of(hour(0))) / 3_600_000_000;
        let steps: Vec<_> =
            steps.iter().map(|&(start, end, kw)| (hours(start), hours(end), kw)).collect();
        assert_eq!(steps, [(0, 2, -0.5), (2, 3, 0.5), (3, 4, 1.0), (6, 7, 2.0)]);
    }

    #[test]
    fn a_request_comes_back_from_its_data() {
        let mut request = room(4);
        request.set_backs.push(set_back("22:00", "06:00", 16.0, 20.0));
        let text = serde_json::to_string(&request).unwrap();
        assert!(text.contains(r#""to":"06:00","band":{"min_celsius":16.0"#), "{text}");
        assert_eq!(serde_json::from_str::<HeatRequest>(&text).unwrap(), request);
    }
}

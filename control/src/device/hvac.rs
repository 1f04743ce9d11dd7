//! Settings of a heating or cooling unit, and their limits.
use serde::{Deserialize, Serialize};

use slackwater_engine::units::{Power, Temperature};
use slackwater_engine::words;

words! {
    /// Mode of a thermostat.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Mode {
        /// Neither heats nor cools.
        Off = "off",
        /// Heats and cools.
        Auto = "auto",
        /// Cools.
        Cool = "cool",
        /// Heats.
        Heat = "heat",
    }
}

/// A word that is no mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("mode {given:?} is none of off, auto, cool, heat")]
pub struct ModeError {
    /// The word as given.
    pub given: String,
}

impl Mode {
    /// The mode that a word stands for.
    ///
    /// # Errors
    /// None does.
    pub fn parse(word: &str) -> Result<Self, ModeError> {
        let found = Self::ALL.into_iter().find(|mode| mode.as_str() == word);
        found.ok_or_else(|| ModeError { given: word.to_string() })
    }
}

/// A range of temperatures, both ends included (HVAC-11).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemperatureRange {
    /// Lowest.
    #[serde(rename = "min_celsius")]
    pub min: Temperature,
    /// Highest.
    #[serde(rename = "max_celsius")]
    pub max: Temperature,
}

impl TemperatureRange {
    fn contains(self, temperature: Temperature) -> bool {
        self.min <= temperature && temperature <= self.max
    }
}

/// Limits of a unit's settings; `None` is unknown and does not restrict.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HvacLimits {
    /// Modes that it has.
    pub capable_modes: Option<Vec<Mode>>,
    /// Setpoints of heating.
    pub heat_setpoints: Option<TemperatureRange>,
    /// Setpoints of cooling.
    pub cool_setpoints: Option<TemperatureRange>,
    /// Difference of the cooling setpoint above the heating setpoint, in `auto`.
    pub setpoint_differences: Option<TemperatureRange>,
}

/// Setting at which a unit is held.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// Mode of the unit.
    pub mode: Mode,
    /// Heats below this.
    #[serde(rename = "heat_setpoint_celsius")]
    pub heat_setpoint: Option<Temperature>,
    /// Cools above this.
    #[serde(rename = "cool_setpoint_celsius")]
    pub cool_setpoint: Option<Temperature>,
}

/// Setpoints or mode that a unit does not support.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum HoldError {
    /// Mode that the unit lacks.
    #[error("mode is {}, which the unit does not have", mode.as_str())]
    Mode {
        /// The mode as given.
        mode: Mode,
    },
    /// Heating setpoint outside its range.
    #[error("heat_setpoint_celsius is {}, outside {} to {} °C", given.as_celsius(), range.min.as_celsius(), range.max.as_celsius())]
    HeatSetpoint {
        /// The setpoint as given.
        given: Temperature,
        /// Range that the unit accepts.
        range: TemperatureRange,
    },
    /// Cooling setpoint outside its range.
    #[error("cool_setpoint_celsius is {}, outside {} to {} °C", given.as_celsius(), range.min.as_celsius(), range.max.as_celsius())]
    CoolSetpoint {
        /// The setpoint as given.
        given: Temperature,
        /// Range that the unit accepts.
        range: TemperatureRange,
    },
    /// The setpoints are too close together or too far apart.
    #[error(
        "cool_setpoint_celsius is {} °C above heat_setpoint_celsius, outside {} to {} °C in auto",
        difference.as_celsius(), range.min.as_celsius(), range.max.as_celsius()
    )]
    Difference {
        /// Cooling minus heating.
        difference: Temperature,
        /// Range that the unit accepts.
        range: TemperatureRange,
    },
}

impl Hold {
    /// Checks a hold against the limits of a unit. A setpoint that is not given is not checked.
    ///
    /// # Errors
    /// The unit lacks the mode, or a setpoint lies outside its inclusive range
    /// (HVAC-11), or in `auto` their difference does (HVAC-12).
    pub fn check(&self, limits: &HvacLimits) -> Result<(), HoldError> {
        if limits.capable_modes.as_ref().is_some_and(|modes| !modes.contains(&self.mode)) {
            return Err(HoldError::Mode { mode: self.mode });
        }
        let outside = |range: Option<TemperatureRange>, given: Option<Temperature>| {
            range.zip(given).filter(|(range, given)| !range.contains(*given))
        };
        if let Some((range, given)) = outside(limits.heat_setpoints, self.heat_setpoint) {
            return Err(HoldError::HeatSetpoint { given, range });
        }
        if let Some((range, given)) = outside(limits.cool_setpoints, self.cool_setpoint) {
            return Err(HoldError::CoolSetpoint { given, range });
        }
        // Only in `auto` do both setpoints act at a time.
        let pair = self.cool_setpoint.zip(self.heat_setpoint);
        let difference = pair.map(|(cool, heat)| cool - heat).filter(|_| self.mode == Mode::Auto);
        match outside(limits.setpoint_differences, difference) {
            Some((range, difference)) => Err(HoldError::Difference { difference, range }),
            None => Ok(()),
        }
    }
}

/// Consumption shown for a unit: zero while it is inactive, `None` if the device does not report
/// it (HVAC-03).
#[must_use]
pub fn shown_consumption(reported: Option<Power>, is_active: bool) -> Option<Power> {
    reported.map(|power| if is_active { power } else { Power::ZERO })
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_engine::units::{celsius, kw};

    fn range(min: f64, max: f64) -> TemperatureRange {
        TemperatureRange { min: celsius(min), max: celsius(max) }
    }

    fn limits() -> HvacLimits {
        HvacLimits {
            capable_modes: Some(vec![Mode::Heat, Mode::Auto]),
            heat_setpoints: Some(range(5.0, 30.0)),
            cool_setpoints: Some(range(16.0, 32.0)),
            setpoint_differences: Some(range(2.0, 10.0)),
        }
    }

    #[track_caller]
    fn check(mode: Mode, heat: Option<f64>, cool: Option<f64>, expected: &str) {
        let (heat_setpoint, cool_setpoint) = (heat.map(celsius), cool.map(celsius));
        let answer = Hold { mode, heat_setpoint, cool_setpoint }.check(&limits());
        assert_eq!(answer.map_or_else(|error| error.to_string(), |()| "fine".into()), expected);
    }

    #[test]
    fn ranges_are_inclusive() {
        check(Mode::Heat, Some(5.0), None, "fine");
        check(Mode::Heat, Some(30.0), None, "fine");
        check(Mode::Heat, Some(4.9), None, "heat_setpoint_celsius is 4.9, outside 5 to 30 °C");
        check(Mode::Heat, Some(30.1), None, "heat_setpoint_celsius is 30.1, outside 5 to 30 °C");
        check(Mode::Auto, None, Some(15.0), "cool_setpoint_celsius is 15, outside 16 to 32 °C");
    }

    #[test]
    fn the_difference_counts_in_auto_only() {
        check(Mode::Heat, Some(20.0), Some(21.0), "fine");
        check(Mode::Auto, Some(20.0), Some(22.0), "fine");
        check(Mode::Auto, Some(20.0), Some(30.0), "fine");
        check(Mode::Auto, Some(20.0), None, "fine");
        let text =
            "cool_setpoint_celsius is 1 °C above heat_setpoint_celsius, outside 2 to 10 °C in auto";
        check(Mode::Auto, Some(20.0), Some(21.0), text);
        check(Mode::Cool, None, Some(20.0), "mode is cool, which the unit does not have");
        let hold =
            Hold { mode: Mode::Off, heat_setpoint: Some(celsius(99.0)), cool_setpoint: None };
        assert_eq!(hold.check(&HvacLimits::default()), Ok(()));
    }

    #[test]
    fn an_inactive_unit_consumes_nothing() {
        assert_eq!(shown_consumption(Some(kw(1.2)), true), Some(kw(1.2)));
        assert_eq!(shown_consumption(Some(kw(1.2)), false), Some(kw(0.0)));
        assert_eq!(shown_consumption(None, false), None);
    }

    #[test]
    fn words_and_back() {
        assert!(Mode::ALL.into_iter().all(|mode| Mode::parse(mode.as_str()) == Ok(mode)));
        assert_eq!(
            Mode::parse("HEAT").unwrap_err().to_string(),
            "mode \"HEAT\" is none of off, auto, cool, heat"
        );
    }
}

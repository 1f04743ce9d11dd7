//! Household load, apart from the devices that are simulated as parts.
use chrono::{DateTime, Timelike, Utc};
use chrono_tz::Tz;

use crate::weather::Weather;
use slackwater_engine::time::civil::local_of;
use slackwater_engine::units::{Energy, Power, kw};

/// Share of the mean that each hour of the clock takes; their mean is 1.
const HOURS: [f64; 24] = [
    0.55, 0.5, 0.48, 0.47, 0.5, 0.6, 0.95, 1.25, 1.15, 0.95, 0.9, 0.95, 1.05, 0.95, 0.9, 0.95,
    1.15, 1.5, 1.8, 1.8, 1.6, 1.35, 1.0, 0.7,
];

const HOURS_PER_YEAR: f64 = 8766.0;

/// Household, described by its yearly consumption.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HouseholdSpec {
    /// Energy of a year.
    pub yearly: Energy,
    /// Time zone of the household.
    pub time_zone: Tz,
}

impl HouseholdSpec {
    /// Power in the quarter of an hour that begins at `at`.
    #[must_use]
    pub fn power(&self, at: DateTime<Utc>, weather: &Weather) -> Power {
        let hour = local_of(at, self.time_zone).hour() as usize;
        let mean = self.yearly.as_kwh() / HOURS_PER_YEAR;
        kw(mean * HOURS[hour] * weather.restlessness(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Chance;
    use chrono::TimeDelta;
    use slackwater_engine::units::kwh;

    #[test]
    fn a_year_takes_about_what_it_says() {
        let household = HouseholdSpec { yearly: kwh(4000.0), time_zone: chrono_tz::Europe::Oslo };
        let weather = Weather::new(Chance::seeded(1), 59.9, 10.7);
        let start: DateTime<Utc> = "2026-01-01T00:00:00Z".parse().unwrap();
        let quarters = 365 * 96;
        let taken =
            |quarter: i64| household.power(start + TimeDelta::minutes(15 * quarter), &weather);
        let sum: f64 = (0..quarters).map(|quarter| taken(quarter).as_kw() / 4.0).sum();
        assert!((sum - 4000.0).abs() < 120.0, "{sum}");
        assert!((HOURS.iter().sum::<f64>() / 24.0 - 1.0).abs() < 0.01);
    }
}

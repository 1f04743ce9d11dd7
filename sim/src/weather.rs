//! Clouds, and the temperature outside, by quarter of an hour.
use chrono::{DateTime, Datelike, Utc};

use crate::chance::Chance;
use slackwater_engine::units::{Temperature, celsius};

/// Hottest day of the year, and how far summer and winter lie from the mean per
/// degree of latitude.
const HOTTEST_DAY: f64 = 200.0;
const SEASON_PER_DEGREE: f64 = 0.18;

/// Warmest hour of the sun's day, and how far day and night lie from its mean.
const WARMEST_HOUR: f64 = 15.0;
const DAY_SWING: f64 = 3.5;

/// Amplitude of the difference between days, in degrees.
const DAY_NOISE: f64 = 4.0;

/// Weather at a place, determined by a seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weather {
    chance: Chance,
    latitude: f64,
    longitude: f64,
}

impl Weather {
    /// Weather at a point of the globe.
    #[must_use]
    pub fn new(chance: Chance, latitude: f64, longitude: f64) -> Self {
        Self { chance: chance.of("weather"), latitude, longitude }
    }

    /// Days since the epoch and hours of the day, by the sun.
    fn solar_time(&self, at: DateTime<Utc>) -> (i64, f64) {
        let hours = at.timestamp() as f64 / 3600.0 + self.longitude / 15.0;
        ((hours / 24.0).floor() as i64, hours.rem_euclid(24.0))
    }

    /// Temperature outside: colder towards the poles, in winter and at night,
    /// and on some days.
    #[must_use]
    pub fn outside(&self, at: DateTime<Utc>) -> Temperature {
        let (day, hour) = self.solar_time(at);
        let turn = std::f64::consts::TAU;
        let mean = 28.0 - 0.38 * self.latitude.abs();
        let half = if self.latitude < 0.0 { 182.6 } else { 0.0 };
        let season = turn * (f64::from(at.ordinal()) - HOTTEST_DAY + half) / 365.25;
        let swing = SEASON_PER_DEGREE * self.latitude.abs();
        let time = turn * (hour - WARMEST_HOUR) / 24.0;
        let noise = |day: i64| self.chance.of("day").at(day).between(-DAY_NOISE, DAY_NOISE);
        let drift = noise(day) * (1.0 - hour / 24.0) + noise(day + 1) * hour / 24.0;
        celsius(mean + swing * season.cos() + DAY_SWING * time.cos() + drift)
    }

    /// Share of the sun's light that passes the clouds, 0.15 to 1.
    ///
    /// Days are fine or grey, and hours differ within them.
    #[must_use]
    pub fn clearness(&self, at: DateTime<Utc>) -> f64 {
        let (day, hour) = self.solar_time(at);
        let fine = self.chance.of("clouds").at(day).share();
        let hourly = |hour: i64| self.chance.of("cloud").at(day * 24 + hour).share();
        let whole = hour.floor();
        let passing = hourly(whole as i64) * (1.0 - (hour - whole))
            + hourly(whole as i64 + 1) * (hour - whole);
        (0.15 + 0.85 * (0.7 * fine.sqrt() + 0.3 * passing)).min(1.0)
    }

    /// Latitude and longitude.
    pub(crate) const fn place(&self) -> (f64, f64) {
        (self.latitude, self.longitude)
    }

    /// Factor of the household's usual load in the quarter that begins at `at`; one on average.
    pub(crate) fn restlessness(&self, at: DateTime<Utc>) -> f64 {
        let quarter = at.timestamp() / 900;
        let burst = self.chance.of("load").at(quarter).share();
        // Mostly a little less than usual, now and then a kettle.
        let kettle = self.chance.of("kettle").at(quarter).share() < 0.06;
        0.6 + 0.6 * burst + if kettle { 1.5 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;

    fn mean(weather: &Weather, from: &str, days: i64) -> f64 {
        let from: DateTime<Utc> = from.parse().unwrap();
        let hours = days * 24;
        let at = |hour| weather.outside(from + TimeDelta::hours(hour)).as_celsius();
        (0..hours).map(at).sum::<f64>() / hours as f64
    }

    #[test]
    fn winters_are_cold_and_nights_too() {
        let oslo = Weather::new(Chance::seeded(1), 59.9, 10.7);
        let (january, july) =
            (mean(&oslo, "2026-01-01T00:00:00Z", 31), mean(&oslo, "2026-07-01T00:00:00Z", 31));
        assert!(
            (-10.0..0.0).contains(&january) && (12.0..22.0).contains(&july),
            "{january} {july}"
        );
        let sydney = Weather::new(Chance::seeded(1), -33.9, 151.2);
        assert!(
            mean(&sydney, "2026-01-01T00:00:00Z", 31) > mean(&sydney, "2026-07-01T00:00:00Z", 31)
        );
    }

    #[test]
    fn the_sky_changes_within_bounds() {
        let weather = Weather::new(Chance::seeded(1), 52.0, 10.0);
        let start: DateTime<Utc> = "2026-06-01T00:00:00Z".parse().unwrap();
        let sky: Vec<f64> =
            (0..96 * 30).map(|q| weather.clearness(start + TimeDelta::minutes(15 * q))).collect();
        assert!(sky.iter().all(|share| (0.15..=1.0).contains(share)));
        assert!(sky.iter().any(|&share| share < 0.4) && sky.iter().any(|&share| share > 0.8));
        assert!(sky.windows(2).all(|pair| (pair[0] - pair[1]).abs() < 0.6));
    }
}

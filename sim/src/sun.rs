//! Power of a solar roof.
use chrono::{DateTime, Datelike, Utc};

use crate::weather::Weather;
use slackwater_engine::units::{Power, kw};

/// Light above the air, in kW per square metre, and what a column of air lets
/// through (Meinel's fit, good to some percent).
const LIGHT_ABOVE: f64 = 1.353;
const AIR_PASSES: f64 = 0.7;
const AIR_EXPONENT: f64 = 0.678;

/// Diffuse light of the whole sky, as a share of the direct light.
const SKY_SHARE: f64 = 0.1;

/// Share of a panel's rating that remains after losses in cables, dirt and heat.
const SYSTEM_SHARE: f64 = 0.86;

/// Tilt of the earth.
const TILT_DEGREES: f64 = 23.44;

/// A solar roof with its inverter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SolarSpec {
    /// Rated power of the panels.
    pub peak: Power,
    /// Highest power of the inverter.
    pub inverter_max: Power,
    /// Angle of the panels above flat ground.
    pub tilt_degrees: f64,
    /// Azimuth of the panels: 90 is east, 180 south, 270 west.
    pub azimuth_degrees: f64,
}

/// Position of the sun, in radians.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sun {
    /// Elevation above the horizon.
    height: f64,
    /// Azimuth from north over east.
    azimuth: f64,
}

/// The sun over a point of the globe, to about a degree.
fn sun(at: DateTime<Utc>, latitude: f64, longitude: f64) -> Sun {
    let turn = std::f64::consts::TAU;
    let day = f64::from(at.ordinal());
    let declination = -TILT_DEGREES.to_radians() * (turn * (day + 10.0) / 365.25).cos();
    // Minutes by which a sundial is ahead.
    let season = turn * (day - 81.0) / 364.0;
    let ahead = 9.87 * (2.0 * season).sin() - 7.53 * season.cos() - 1.5 * season.sin();
    let hours = at.timestamp().rem_euclid(86_400) as f64 / 3600.0 + longitude / 15.0 + ahead / 60.0;
    let angle = turn * (hours - 12.0) / 24.0;
    let latitude = latitude.to_radians();
    let sine =
        latitude.sin() * declination.sin() + latitude.cos() * declination.cos() * angle.cos();
    let height = sine.clamp(-1.0, 1.0).asin();
    let east = -declination.cos() * angle.sin();
    let north =
        declination.sin() * latitude.cos() - declination.cos() * latitude.sin() * angle.cos();
    Sun { height, azimuth: east.atan2(north).rem_euclid(turn) }
}

impl SolarSpec {
    /// Power at an instant under a weather; zero at night.
    ///
    /// # Example: noon and midnight in midsummer
    ///
    /// ```
    /// use slackwater_sim::chance::Chance;
    /// use slackwater_sim::sun::SolarSpec;
    /// use slackwater_sim::weather::Weather;
    /// use slackwater_engine::units::kw;
    /// let roof = SolarSpec {
    ///     peak: kw(8.0), inverter_max: kw(7.0), tilt_degrees: 35.0, azimuth_degrees: 180.0,
    /// };
    /// let weather = Weather::new(Chance::seeded(1), 52.0, 10.0);
    /// assert!(roof.power("2026-06-21T11:00:00Z".parse().unwrap(), &weather) > kw(1.0));
    /// assert_eq!(roof.power("2026-06-21T23:00:00Z".parse().unwrap(), &weather), kw(0.0));
    /// ```
    #[must_use]
    pub fn power(&self, at: DateTime<Utc>, weather: &Weather) -> Power {
        kw(self.clear_kw(at, weather.place()) * weather.clearness(at)).min(self.inverter_max)
    }

    /// Power in kW under a clear sky, before the inverter's limit.
    fn clear_kw(&self, at: DateTime<Utc>, (latitude, longitude): (f64, f64)) -> f64 {
        let sun = sun(at, latitude, longitude);
        let sine = sun.height.sin();
        if sine <= 0.01 {
            return 0.0;
        }
        let direct = LIGHT_ABOVE * AIR_PASSES.powf((1.0 / sine).powf(AIR_EXPONENT));
        let tilt = self.tilt_degrees.to_radians();
        let turned = sun.azimuth - self.azimuth_degrees.to_radians();
        let facing = sine * tilt.cos() + sun.height.cos() * tilt.sin() * turned.cos();
        let light = direct * facing.max(0.0) + SKY_SHARE * direct * (1.0 + tilt.cos()) / 2.0;
        self.peak.as_kw() * SYSTEM_SHARE * light
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Chance;
    use chrono::TimeDelta;

    fn utc(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn roof(azimuth_degrees: f64) -> SolarSpec {
        SolarSpec { peak: kw(10.0), inverter_max: kw(8.0), tilt_degrees: 35.0, azimuth_degrees }
    }

    /// Energy of a year under a clear sky at a place, in kWh.
    fn clear_year(roof: &SolarSpec, place: (f64, f64)) -> f64 {
        let start = utc("2026-01-01T00:00:00Z");
        (0..365 * 24).map(|hour| roof.clear_kw(start + TimeDelta::hours(hour), place)).sum()
    }

    #[test]
    fn the_sun_stands_where_almanacs_say() {
        // Solar noon at the summer solstice: 90° − latitude + 23.4°, due south.
        let noon = sun(utc("2026-06-21T12:02:00Z"), 51.5, 0.0);
        assert!((noon.height.to_degrees() - 61.9).abs() < 0.5, "{noon:?}");
        assert!((noon.azimuth.to_degrees() - 180.0).abs() < 1.5, "{noon:?}");
        // At the equinox it rises in the east at six.
        let rise = sun(utc("2026-03-20T06:07:00Z"), 51.5, 0.0);
        assert!(rise.height.to_degrees().abs() < 1.5, "{rise:?}");
        assert!((rise.azimuth.to_degrees() - 90.0).abs() < 2.0, "{rise:?}");
    }

    #[test]
    fn power_at_noon_none_at_night() {
        let weather = Weather::new(Chance::seeded(4), 52.0, 10.0);
        let day = utc("2026-06-21T00:00:00Z");
        for quarter in 0..96 {
            let at = day + TimeDelta::minutes(15 * quarter);
            let power = roof(180.0).power(at, &weather);
            assert!(power >= Power::ZERO && power <= kw(8.0));
            if !(2 * 4..21 * 4).contains(&quarter) {
                assert_eq!(power, Power::ZERO, "{at}");
            }
        }
        assert!(roof(180.0).power(utc("2026-06-21T11:20:00Z"), &weather) > kw(1.5));
    }

    #[test]
    fn roofs_give_more_towards_the_equator_and_when_they_face_it() {
        let south = clear_year(&roof(180.0), (52.0, 10.0));
        assert!((11_000.0..22_000.0).contains(&south), "{south}");
        assert!(south > 1.4 * clear_year(&roof(0.0), (52.0, 10.0)));
        assert!(south > clear_year(&roof(180.0), (65.0, 10.0)));
        let morning = utc("2026-06-21T06:00:00Z");
        assert!(
            roof(90.0).clear_kw(morning, (52.0, 10.0))
                > roof(270.0).clear_kw(morning, (52.0, 10.0))
        );
    }
}

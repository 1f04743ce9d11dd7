//! `Service-Version` in and out.
//!
//! Handlers speak the latest version. Where an older one has another member or
//! another path, the table of [`Field`] says so, and [`Version::shows`] asks it.
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use chrono::{DateTime, Utc};
use slackwater_wire::version::dated::{ApiVersion, ApiVersionError};
use slackwater_wire::version::field::Field;
use slackwater_wire::version::lifecycle::Stage;

use slackwater_service::config::VersionSettings;
use slackwater_service::state::App;

/// The header that names a version, in requests and in every answer.
pub const SERVICE_VERSION: HeaderName = HeaderName::from_static("service-version");

/// The version in which a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version(pub ApiVersion);

impl Version {
    /// Returns `true` if this version has a member, path or habit.
    #[must_use]
    pub fn has(self, field: Field) -> bool {
        field.is_in(self.0)
    }

    /// A member that only some versions have.
    pub fn shows<T>(self, field: Field, value: impl FnOnce() -> T) -> Option<T> {
        self.has(field).then(value)
    }

    /// The value of the header.
    #[must_use]
    pub const fn header(self) -> HeaderValue {
        HeaderValue::from_static(self.0.as_str())
    }
}

/// The version that a request asks for; `None` if it leaves that to its pin.
///
/// # Errors
/// The header names no version.
pub fn requested(headers: &HeaderMap) -> Result<Option<ApiVersion>, ApiVersionError> {
    let Some(value) = headers.get(SERVICE_VERSION) else { return Ok(None) };
    let text = String::from_utf8_lossy(value.as_bytes());
    ApiVersion::parse(text.trim()).map(Some)
}

/// The version in which a client is answered that asks for `wanted`, and
/// whether this request falls into a brownout of it (VER-13, VER-14).
///
/// `chance` is a number from 0 to 99 drawn for the request.
#[must_use]
pub fn served(
    settings: &VersionSettings,
    wanted: ApiVersion,
    now: DateTime<Utc>,
    chance: u8,
) -> (Version, bool) {
    let Some(releases) = &settings.releases else { return (Version(wanted), false) };
    let served = releases.served(wanted, now).unwrap_or(ApiVersion::LATEST);
    let is_leaving = releases.stage(served, now) == Stage::LegacyBrownouts;
    (Version(served), is_leaving && chance < settings.brownout_percent)
}

/// Puts the version on answers that no handler made.
pub async fn add_version_header(State(app): State<App>, request: Request, next: Next) -> Response {
    let wanted = requested(request.headers()).ok().flatten();
    let mut response = next.run(request).await;
    let version = wanted.unwrap_or_else(|| app.config().versions.current(app.now()));
    response.headers_mut().entry(SERVICE_VERSION).or_insert(Version(version).header());
    response
}

#[cfg(test)]
mod tests {
    use slackwater_wire::version::lifecycle::Releases;

    use super::*;

    fn at(date: &str) -> DateTime<Utc> {
        format!("{date}T00:00:00Z").parse().unwrap()
    }

    #[test]
    fn the_header_names_a_version_or_nothing() {
        let with = |value: &'static [u8]| {
            HeaderMap::from_iter([(SERVICE_VERSION, HeaderValue::from_bytes(value).unwrap())])
        };
        assert_eq!(requested(&HeaderMap::new()), Ok(None));
        assert_eq!(requested(&with(b"2023-08-01")), Ok(Some(ApiVersion::V2023_08_01)));
        for bad in [&b"2022-01-01"[..], b"", b"latest", b"\xff"] {
            assert!(requested(&with(bad)).is_err());
        }
    }

    #[test]
    fn versions_leave_when_dates_are_set() {
        let all = ApiVersion::ALL.map(|version| (version, at(version.as_str())));
        let releases = Some(Releases::new(all.to_vec()).unwrap());
        let settings = VersionSettings { releases, brownout_percent: 30 };
        let oldest = ApiVersion::V2023_05_01;
        let ask = |date, chance| served(&settings, oldest, at(date), chance);
        assert_eq!(ask("2023-12-01", 0), (Version(oldest), false));
        assert_eq!(ask("2024-03-01", 29), (Version(oldest), true));
        assert_eq!(ask("2024-03-01", 30), (Version(oldest), false));
        assert_eq!(ask("2024-12-01", 0), (Version(ApiVersion::LATEST), false));
        let timeless = VersionSettings::default();
        assert_eq!(served(&timeless, oldest, at("2099-01-01"), 0), (Version(oldest), false));
    }
}

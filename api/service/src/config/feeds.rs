//! Settings of price feeds: where the service fetches market prices by itself.
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use chrono_tz::Tz;
use http::Uri;
use http::uri::{Authority, Scheme};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::error::ConfigError;
use crate::config::secret_file::read_secret;

/// Stands for a day in an address, such as 2026-01-31.
pub(crate) const DATE: &str = "{date}";

/// Shortest interval between two requests to a publisher.
const EVERY_SECONDS_MIN: u32 = 60;

/// Format of the replies of a price feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FeedFormat {
    /// Delimited text or JSON with a start and a price in each row, as `prices import` takes it.
    List,
    /// The XML of the transparency platform of ENTSO-E.
    Entsoe,
    /// The JSON of the data portal of Nord Pool.
    Nordpool,
}

impl FeedFormat {
    /// The word that stands for it in settings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Entsoe => "entsoe",
            Self::Nordpool => "nordpool",
        }
    }
}

/// Secret that a publisher wants. Its debug form hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct FeedToken(String);

impl FeedToken {
    /// The secret, for requests.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for FeedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FeedToken(…)")
    }
}

/// Source that the service asks for the market prices of a zone, again and again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeedSettings {
    /// Format of its replies.
    pub format: FeedFormat,
    /// A file in place of an address. It is read again and again.
    #[serde(default)]
    #[schemars(example = &"/var/lib/prices/day-ahead.xml")]
    pub file: Option<PathBuf>,
    /// Its address, if it is not that of ENTSO-E or Nord Pool. In the address of a list `{date}`
    /// stands for a day: that of today is asked for, and that of tomorrow.
    #[serde(default)]
    #[schemars(example = &"https://prices.example.org/{date}.csv")]
    pub url: Option<String>,
    /// A file with the token that it wants: the security token of ENTSO-E, or else one that is sent
    /// as `Authorization: Bearer`.
    #[serde(default)]
    #[schemars(example = &"/run/secrets/entsoe-token")]
    pub token_file: Option<PathBuf>,
    /// Time between two requests, if the last one succeeded.
    #[serde(default = "usual_interval")]
    #[schemars(range(min = 60), example = 900)]
    pub every_seconds: u32,
    /// Longest time that a request may take.
    #[serde(default = "usual_timeout")]
    #[schemars(range(min = 1))]
    pub timeout_seconds: u32,
    /// For `entsoe`: the code (EIC) of the bidding zone.
    #[serde(default)]
    #[schemars(example = &"10Y1001A1001A82H")]
    pub domain: Option<String>,
    /// For `entsoe`: the auction, where the reply has several.
    #[serde(default)]
    #[schemars(example = &"1")]
    pub sequence: Option<String>,
    /// For `entsoe`: the resolution, where the reply has the same time twice.
    #[serde(default)]
    #[schemars(example = &"PT15M")]
    pub resolution: Option<String>,
    /// For `nordpool`: the delivery area.
    #[serde(default)]
    #[schemars(example = &"SE3")]
    pub delivery_area: Option<String>,
    /// For `list`: unit of its numbers, if its header does not say so.
    #[serde(default)]
    #[schemars(example = &"EUR/MWh")]
    pub unit: Option<String>,
    /// For `list`: time zone of its times, where they name no offset, and of the days of `{date}`.
    #[serde(default)]
    #[schemars(with = "Option<String>", example = &"Europe/Oslo")]
    pub time_zone: Option<Tz>,
    /// The token of the file.
    #[serde(skip)]
    pub token: Option<FeedToken>,
}

const fn usual_interval() -> u32 {
    3600
}

const fn usual_timeout() -> u32 {
    30
}

impl FeedSettings {
    /// Feed of a format that names nothing else.
    #[must_use]
    pub const fn new(format: FeedFormat) -> Self {
        Self {
            format,
            file: None,
            url: None,
            token_file: None,
            every_seconds: usual_interval(),
            timeout_seconds: usual_timeout(),
            domain: None,
            sequence: None,
            resolution: None,
            delivery_area: None,
            unit: None,
            time_zone: None,
            token: None,
        }
    }

    /// Checks what one value alone does not show.
    pub(super) fn check(&self, zone_id: &str) -> Result<(), ConfigError> {
        match self.find_flaw() {
            Some(flaw) => Err(ConfigError::Feed(format!("zones.{zone_id}.feed.{flaw}"))),
            None => Ok(()),
        }
    }

    fn find_flaw(&self) -> Option<String> {
        let foreign = self.foreign_settings().into_iter().find(|(_, is_set)| *is_set);
        if let Some((name, _)) = foreign {
            return Some(format!("{name} is set; the format {} has none", self.format.as_str()));
        }
        if self.every_seconds < EVERY_SECONDS_MIN {
            let given = self.every_seconds;
            return Some(format!("every_seconds is {given}; it is at least {EVERY_SECONDS_MIN}"));
        }
        if self.timeout_seconds == 0 {
            return Some("timeout_seconds is 0; it is at least 1".to_owned());
        }
        if self.file.is_some() {
            let asked = [
                ("url", self.url.is_some()),
                ("token_file", self.token_file.is_some()),
                ("domain", self.domain.is_some()),
            ];
            let asked = asked.into_iter().find(|(_, is_set)| *is_set);
            return asked.map(|(name, _)| format!("file and {name} are both set; set one of them"));
        }
        let missing = match self.format {
            FeedFormat::List if self.url.is_none() => Some("url or file"),
            FeedFormat::Entsoe if self.domain.is_none() => Some("domain or file"),
            FeedFormat::Entsoe if self.token_file.is_none() && self.url.is_none() => {
                Some("token_file")
            }
            FeedFormat::Nordpool if self.delivery_area.is_none() => Some("delivery_area or file"),
            _ => None,
        };
        match missing {
            Some(missing) => Some(format!("{missing} is missing")),
            None => self.url.as_deref().and_then(|url| self.find_flaw_of_url(url)),
        }
    }

    /// Settings that another format has, and whether they are set.
    fn foreign_settings(&self) -> Vec<(&'static str, bool)> {
        let of_entsoe = [
            ("domain", self.domain.is_some()),
            ("sequence", self.sequence.is_some()),
            ("resolution", self.resolution.is_some()),
        ];
        let of_nordpool = [("delivery_area", self.delivery_area.is_some())];
        let of_list = [("unit", self.unit.is_some()), ("time_zone", self.time_zone.is_some())];
        match self.format {
            FeedFormat::List => [&of_entsoe[..], &of_nordpool].concat(),
            FeedFormat::Entsoe => [&of_nordpool[..], &of_list].concat(),
            FeedFormat::Nordpool => [&of_entsoe[..], &of_list].concat(),
        }
    }

    /// The address is not repeated: it may hold a secret.
    fn find_flaw_of_url(&self, url: &str) -> Option<String> {
        let is_list = self.format == FeedFormat::List;
        let plain = if is_list { url.replace(DATE, "2026-01-31") } else { url.to_owned() };
        // The parser takes braces, which no address may have.
        let parsed = plain.parse::<Uri>().ok().filter(|_| !plain.contains(['{', '}']));
        let parts = parsed.as_ref().and_then(|url| Some((url.scheme()?, url.authority()?)));
        let is_web = |scheme: &Scheme| *scheme == Scheme::HTTPS || *scheme == Scheme::HTTP;
        let Some((scheme, authority)) = parts.filter(|(scheme, authority)| {
            is_web(scheme) && !authority.host().is_empty() && !authority.as_str().contains('@')
        }) else {
            return Some(
                "url: expected an address such as https://prices.example.org/day.csv, without a user \
                 name or password, and with no placeholder but the {date} of a list"
                    .to_owned(),
            );
        };
        let is_open = *scheme == Scheme::HTTP && !is_this_machine(authority);
        (is_open && self.token_file.is_some())
            .then(|| "url: a token is sent by https only, or to this machine".to_owned())
    }

    /// Reads the token of the file.
    pub(super) fn read_token_file(&mut self, zone_id: &str) -> Result<(), ConfigError> {
        let Some(file) = &self.token_file else { return Ok(()) };
        let name = format!("zones.{zone_id}.feed.token_file");
        let text = read_secret(&name, file)?;
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            // The text is not repeated: it is a secret.
            return Err(ConfigError::Feed(format!(
                "{name}: the file holds no token of visible ASCII characters in one line"
            )));
        }
        self.token = Some(FeedToken(text));
        Ok(())
    }
}

/// Returns `true` for a host that is this machine.
fn is_this_machine(authority: &Authority) -> bool {
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_flaw(change: impl FnOnce(&mut FeedSettings), format: FeedFormat) -> String {
        let mut feed = FeedSettings::new(format);
        change(&mut feed);
        match feed.check("DE_LU") {
            Ok(()) => String::new(),
            Err(flaw) => flaw.to_string(),
        }
    }

    #[test]
    fn feeds_that_make_sense_are_taken() {
        let text = |text: &str| Some(text.to_owned());
        for url in ["https://example.org/day.csv", "http://example.org/{date}.csv?a=b"] {
            assert_eq!(find_flaw(|feed| feed.url = text(url), FeedFormat::List), "");
        }
        let entsoe = |feed: &mut FeedSettings| {
            feed.domain = text("10Y1001A1001A82H");
            feed.token_file = Some("token".into());
        };
        assert_eq!(find_flaw(entsoe, FeedFormat::Entsoe), "");
        assert_eq!(find_flaw(|feed| feed.delivery_area = text("SE3"), FeedFormat::Nordpool), "");
        for format in [FeedFormat::List, FeedFormat::Entsoe, FeedFormat::Nordpool] {
            assert_eq!(find_flaw(|feed| feed.file = Some("day".into()), format), "");
        }
        let local = |feed: &mut FeedSettings| {
            feed.url = text("http://[::1]:8080/");
            feed.token_file = Some("token".into());
        };
        assert_eq!(find_flaw(local, FeedFormat::List), "");
    }

    #[test]
    fn mistakes_are_named() {
        use FeedFormat::{Entsoe, List, Nordpool};
        let text = |text: &str| Some(text.to_owned());
        let start = "zones.DE_LU.feed.";
        let told = |change: fn(&mut FeedSettings), format| {
            let flaw = find_flaw(change, format);
            flaw.strip_prefix(start).map(ToOwned::to_owned).unwrap_or(flaw)
        };
        assert_eq!(told(|_| (), List), "url or file is missing");
        assert_eq!(told(|_| (), Entsoe), "domain or file is missing");
        assert_eq!(told(|feed| feed.domain = Some("10Y".into()), Entsoe), "token_file is missing");
        assert_eq!(told(|_| (), Nordpool), "delivery_area or file is missing");
        assert_eq!(
            told(|feed| feed.domain = Some("10Y".into()), Nordpool),
            "domain is set; the format nordpool has none"
        );
        assert_eq!(
            told(|feed| feed.unit = Some("EUR/MWh".into()), Entsoe),
            "unit is set; the format entsoe has none"
        );
        assert_eq!(
            told(|feed| feed.every_seconds = 5, List),
            "every_seconds is 5; it is at least 60"
        );
        assert_eq!(
            told(|feed| feed.timeout_seconds = 0, List),
            "timeout_seconds is 0; it is at least 1"
        );
        let both = find_flaw(
            |feed| {
                feed.file = Some("day.csv".into());
                feed.url = text("https://example.org");
            },
            List,
        );
        assert_eq!(both, format!("{start}file and url are both set; set one of them"));
        for url in [
            "ftp://example.org/day.csv",
            "example.org",
            "https://me:secret@example.org/",
            "https://example.org/{day}.csv",
        ] {
            let flaw = find_flaw(|feed| feed.url = text(url), List);
            assert!(flaw.contains("url: expected an address"), "{url}: {flaw}");
            assert!(!flaw.contains("secret"));
        }
        let open = |feed: &mut FeedSettings| {
            feed.url = text("http://example.org/");
            feed.token_file = Some("token".into());
        };
        let flaw = find_flaw(open, List);
        assert!(flaw.contains("a token is sent by https only"), "{flaw}");
    }
}

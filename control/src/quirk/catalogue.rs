//! Catalogue of known deviations, matched by the boot notification of a charge point.
use std::sync::LazyLock;

use serde::Deserialize;

use crate::charging_profile::charge_point::ChargePoint;
use crate::quirk::kind::Quirk;

/// The catalogue of this crate, parsed at its first use.
static BUILT_IN: LazyLock<Catalogue> = LazyLock::new(|| {
    Catalogue::parse(include_str!("models.toml")).expect("a test parses the catalogue of the crate")
});

/// Makers and models with their deviations.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    #[serde(rename = "model")]
    models: Vec<Model>,
}

/// Models of a maker with deviations in common.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Beginning of the vendor; empty for a charge point that leaves it empty.
    pub vendor: String,
    /// Beginning of the model; `None` is any.
    pub model: Option<String>,
    /// Beginning of the firmware version; `None` is any.
    pub firmware: Option<String>,
    /// Thread in which these texts were read in a boot notification; `None` if the vendor is the
    /// name of the maker.
    pub boot: Option<String>,
    /// Deviations with their threads.
    pub quirks: Vec<Report>,
    /// First letter of the vendor, if it has one, by which most entries are passed over.
    #[serde(skip)]
    initial: Option<char>,
}

/// Report of a deviation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Deviation.
    pub kind: Quirk,
    /// Public thread, as `owner/repository#number`.
    pub thread: String,
}

/// Names that a charge point gives when it boots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boot<'a> {
    /// Vendor.
    pub vendor: &'a str,
    /// Model.
    pub model: &'a str,
    /// Firmware version; `None` if it gives none.
    pub firmware: Option<&'a str>,
}

/// Error of a catalogue.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CatalogueError {
    /// The text is no catalogue: a fault with its line.
    #[error("{0}")]
    Text(#[from] toml::de::Error),
    /// An entry that would match every charge point.
    #[error("entry {index}: a vendor, or a model for an empty vendor, is needed")]
    MatchesAll {
        /// Position of the entry.
        index: usize,
    },
    /// An entry without deviations.
    #[error("entry {index} (`{vendor}`) has no deviation")]
    NoQuirk {
        /// Position of the entry.
        index: usize,
        /// Its vendor.
        vendor: String,
    },
    /// A thread that nobody can look up.
    #[error("entry {index}: `{thread}` is not `owner/repository#number`")]
    Thread {
        /// Position of the entry.
        index: usize,
        /// The text as given.
        thread: String,
    },
}

impl Catalogue {
    /// Catalogue of this crate.
    ///
    /// # Panics
    /// Never: a test parses it.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Catalogue from TOML, such as a file with additions of an operator.
    ///
    /// # Errors
    /// The text is no TOML of this form, or an entry matches all, has no deviation, or cites no thread.
    pub fn parse(text: &str) -> Result<Self, CatalogueError> {
        let mut catalogue: Self = toml::from_str(text)?;
        for entry in &mut catalogue.models {
            entry.initial = letters(&entry.vendor).next();
        }
        for (index, entry) in catalogue.models.iter().enumerate() {
            if letters(&entry.vendor).next().is_none() && entry.model.is_none() {
                return Err(CatalogueError::MatchesAll { index });
            }
            if entry.quirks.is_empty() {
                return Err(CatalogueError::NoQuirk { index, vendor: entry.vendor.clone() });
            }
            let threads = entry.quirks.iter().map(|report| &report.thread).chain(&entry.boot);
            if let Some(thread) = threads.into_iter().find(|thread| !is_thread(thread)) {
                return Err(CatalogueError::Thread { index, thread: thread.clone() });
            }
        }
        Ok(catalogue)
    }

    /// Entries in the order of the text.
    #[must_use]
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// Reports about a charge point, those of a whole maker and of a model alike.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_control::quirk::catalogue::{Boot, Catalogue};
    /// use slackwater_control::quirk::kind::Quirk;
    ///
    /// let boot = Boot { vendor: "ABB", model: "CDT_TACW22::NET_WIFI", firmware: None };
    /// let first = Catalogue::built_in().reports(boot).next().expect("it is known");
    /// assert_eq!(first.kind, Quirk::LevelZeroOnly);
    /// assert_eq!(first.thread, "evcc-io/evcc#15493");
    /// ```
    pub fn reports<'a>(&'a self, boot: Boot<'a>) -> impl Iterator<Item = &'a Report> {
        let initial = letters(boot.vendor).next();
        let of_maker = self.models.iter().filter(move |entry| entry.initial == initial);
        of_maker.filter(move |entry| entry.matches(boot)).flat_map(|entry| &entry.quirks)
    }

    /// Restrictions of a charge point under all reports about it.
    #[must_use]
    pub fn restrict(&self, boot: Boot<'_>, point: ChargePoint) -> ChargePoint {
        self.reports(boot).fold(point, |point, report| report.kind.restrict(point))
    }
}

impl Model {
    fn matches(&self, boot: Boot<'_>) -> bool {
        let fits = |text: &str, start: &Option<String>| {
            start.as_ref().is_none_or(|start| begins(text, start))
        };
        let has_maker = letters(&self.vendor).next().is_some();
        let of_maker = begins(boot.vendor, &self.vendor)
            && (has_maker || letters(boot.vendor).next().is_none());
        of_maker
            && fits(boot.model, &self.model)
            && fits(boot.firmware.unwrap_or_default(), &self.firmware)
    }
}

/// Letters and digits in lower case, since makers write their name in several ways.
fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

/// Returns true if the letters of a text begin with those of another. Every charge point is looked
/// up several times a second, which makes no strings for that.
fn begins(text: &str, start: &str) -> bool {
    let mut text = letters(text);
    letters(start).all(|letter| text.next() == Some(letter))
}

fn is_thread(thread: &str) -> bool {
    let parts = thread.split_once('#').and_then(|(repository, number)| {
        repository.split_once('/').map(|(owner, name)| (owner, name, number))
    });
    parts.is_some_and(|(owner, name, number)| {
        let is_name = |text: &str| !text.is_empty() && !text.contains(['/', ' ']);
        is_name(owner) && is_name(name) && number.parse::<u32>().is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(vendor: &str, model: &str, firmware: Option<&str>) -> Vec<Quirk> {
        let boot = Boot { vendor, model, firmware };
        let mut kinds: Vec<Quirk> =
            Catalogue::built_in().reports(boot).map(|report| report.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    #[test]
    fn the_catalogue_has_twenty_makers_and_models() {
        let catalogue = Catalogue::parse(include_str!("models.toml")).unwrap();
        assert!(catalogue.models().len() >= 20, "{}", catalogue.models().len());
        let mut vendors: Vec<String> = catalogue
            .models()
            .iter()
            .map(|entry| letters(&entry.vendor).collect::<String>())
            .collect();
        vendors.dedup();
        assert!(vendors.len() >= 20, "{vendors:?}");
    }

    #[test]
    fn boot_notifications_find_their_maker_model_and_firmware() {
        // Texts of boot notifications in evcc-io/evcc#17979, #15492, #14888 and #32170.
        let abb = kinds("ABB", "CDT_TACW11::NET_WIFI", Some("TAC3Z9119006710273::V1.8.21"));
        assert_eq!(abb, [Quirk::LevelZeroOnly, Quirk::RebootLoop]);
        let pulsar = kinds("Wall Box Chargers", "PLP1-0-2-3", Some("6.4.14"));
        assert_eq!(pulsar, [Quirk::LevelZeroOnly, Quirk::NoStationMax]);
        let ignored = kinds("Wall Box Chargers", "PPR1", Some("6.13.3"));
        assert_eq!(ignored, [Quirk::NoStationMax, Quirk::ProfileIgnored]);
        assert!(kinds("ZJBENY", "BCP-B2N-L", Some("1.0.23")).contains(&Quirk::StopNeedsReplug));
        assert!(kinds("", "ACChargePoint", None).contains(&Quirk::WattsOnly));
        assert_eq!(kinds("go-e", "Gemini", Some("56.2")).len(), 4);
        assert_eq!(kinds("Goe", "Gemini", Some("57.1")).len(), 3);
        assert_eq!(kinds("Nobody", "ACChargePoint", None), []);
        assert_eq!(kinds("", "", None), []);
    }

    #[test]
    fn faults_of_a_catalogue_are_named() {
        let check = |text: &str, expected: &str| {
            let error = Catalogue::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        let entry = |vendor: &str, kind: &str, thread: &str| {
            format!(
                "[[model]]\nvendor = \"{vendor}\"\nquirks = [{{ kind = \"{kind}\", thread = \"{thread}\" }}]"
            )
        };
        check(&entry("A", "amps", "a/b#1"), "unknown variant `amps`");
        check(&entry("A", "amps", "a/b#1"), "line 3");
        check(&entry("-", "amps_only", "a/b#1"), "entry 0: a vendor");
        check(&entry("A", "amps_only", "a/b"), "`a/b` is not `owner/repository#number`");
        check(&entry("A", "amps_only", "a/b/c#1"), "`a/b/c#1` is not");
        check("[[model]]\nvendor = \"A\"\nquirks = []", "entry 0 (`A`) has no deviation");
        check("[[model]]\nvendor = \"A\"", "missing field `quirks`");
    }
}

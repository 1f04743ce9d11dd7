//! Settings of the pages on which people link devices.
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use http::Uri;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::brand::BrandSettings;
use crate::config::error::ConfigError;
use crate::config::forms;
use crate::config::language::{BROWSER, ColourScheme, Languages};
use crate::config::logos::read_vendor_logos;

/// The pages on which people link devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinkSettings {
    /// Code of a language, such as `en`, `de` or `nb`; `browser` is the browser's own, as far as
    /// there is a choice.
    #[schemars(schema_with = "forms::languages")]
    pub language: String,
    /// Folder with further languages, each a file such as `fr.toml`, and with other words for those
    /// that the pages have.
    #[schemars(example = &"/etc/slackwater/languages")]
    pub languages: Option<PathBuf>,
    /// `light`, `dark`, or `system`: what the device is set to.
    pub colour_scheme: ColourScheme,
    /// Longest time that a manufacturer may take for a log-in.
    #[schemars(range(min = 1))]
    pub login_timeout_seconds: u32,
    /// Addresses to which users of a client may be sent back, by client ID and
    /// without query. A client that is not named here may give any.
    #[schemars(example = forms::redirects())]
    pub redirect_uris: BTreeMap<String, BTreeSet<String>>,
    /// Face of the pages.
    pub brand: BrandSettings,
    /// Folder with logos of manufacturers, each a file such as `VOLTBOX.svg`, named by the code of
    /// the manufacturer: SVG or PNG of 8 KiB at most. Others are shown with an icon.
    #[schemars(example = &"/etc/slackwater/logos")]
    pub vendor_logos: Option<PathBuf>,
    /// Logos of manufacturers by their codes, as `data:` addresses, from the folder.
    #[serde(skip)]
    pub logos: BTreeMap<String, String>,
    /// Texts of the pages, from the program and from the folder.
    #[serde(skip)]
    pub texts: Languages,
}

impl Default for LinkSettings {
    fn default() -> Self {
        let colour_scheme = ColourScheme::default();
        Self {
            language: BROWSER.to_owned(),
            languages: None,
            colour_scheme,
            login_timeout_seconds: 45,
            redirect_uris: BTreeMap::new(),
            brand: BrandSettings::default(),
            vendor_logos: None,
            logos: BTreeMap::new(),
            texts: Languages::default(),
        }
    }
}

impl LinkSettings {
    /// Reads the logos and the languages, and checks what depends on them.
    pub(super) fn prepare(&mut self) -> Result<(), ConfigError> {
        self.brand.prepare()?;
        if let Some(folder) = &self.vendor_logos {
            self.logos = read_vendor_logos(folder)?;
        }
        for (client, address) in self
            .redirect_uris
            .iter()
            .flat_map(|(client, all)| all.iter().map(move |one| (client, one)))
        {
            let uri = address.parse::<Uri>().ok();
            let is_absolute = uri.is_some_and(|uri| {
                uri.scheme().is_some() && uri.host().is_some_and(|host| !host.is_empty())
            });
            // Addresses of users are compared without their query.
            if !is_absolute || address.contains(['?', '#']) {
                return Err(ConfigError::Settings(format!(
                    "link.redirect_uris.{client}: `{address}` is not an address without a query, such \
                     as https://app.example.org/linked"
                )));
            }
        }
        if let Some(folder) = &self.languages {
            self.texts = Languages::load(folder)?;
        }
        if self.language != BROWSER && self.texts.find(&self.language).is_none() {
            let codes: Vec<&str> = self.texts.codes().collect();
            return Err(ConfigError::Settings(format!(
                "link.language: `{}` is not a language of the pages; one of {BROWSER}, {}",
                self.language,
                codes.join(", ")
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_to_send_users_back_to_are_absolute_and_without_a_query() {
        let flaw = |address: &str| {
            let allowed = BTreeSet::from([address.to_owned()]);
            let redirect_uris = BTreeMap::from([("c".to_owned(), allowed)]);
            let mut settings = LinkSettings { redirect_uris, ..LinkSettings::default() };
            settings.prepare().err().map(|error| error.to_string())
        };
        for good in ["https://app.example.org/linked", "app.example://linked"] {
            assert_eq!(flaw(good), None, "{good}");
        }
        for bad in ["x", "/linked", "https://app.example.org/linked?a=1"] {
            let flaw = flaw(bad).unwrap();
            assert!(flaw.starts_with(&format!("link.redirect_uris.c: `{bad}` is not")), "{flaw}");
        }
    }
}

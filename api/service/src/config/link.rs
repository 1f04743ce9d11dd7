//! Settings of the pages on which people link devices.
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::brand::BrandSettings;
use crate::config::forms;
use crate::config::language::{ColourScheme, Language};

/// The pages on which people link devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinkSettings {
    /// `en`, `de` or `nb`; `browser` is the browser's own, as far as there is a choice.
    #[serde(with = "wanted_language")]
    #[schemars(schema_with = "forms::languages")]
    pub language: Option<Language>,
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
}

impl Default for LinkSettings {
    fn default() -> Self {
        let colour_scheme = ColourScheme::default();
        Self {
            language: None,
            colour_scheme,
            login_timeout_seconds: 45,
            redirect_uris: BTreeMap::new(),
            brand: BrandSettings::default(),
        }
    }
}

/// A language of the pages, or `browser` for the browser's.
mod wanted_language {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::config::language::{BROWSER, Language};

    #[expect(
        clippy::ref_option,
        clippy::trivially_copy_pass_by_ref,
        reason = "serde calls it with the field"
    )]
    pub(super) fn serialize<S: Serializer>(
        value: &Option<Language>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(value.map_or(BROWSER, Language::code))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Language>, D::Error> {
        let word = String::deserialize(from)?;
        if word == BROWSER {
            return Ok(None);
        }
        let refused = || {
            D::Error::custom(format!(
                "`{word}` is no language of the pages; one of {BROWSER}, {}",
                Language::ALL.map(Language::code).join(", ")
            ))
        };
        Language::from_code(&word).map(Some).ok_or_else(refused)
    }
}

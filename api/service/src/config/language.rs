//! Language and colours of a page.
use http::{HeaderMap, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The word that leaves the choice to the browser.
pub const BROWSER: &str = "browser";

/// A language of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// English.
    En,
    /// German.
    De,
    /// Norwegian.
    Nb,
}

impl Language {
    /// All.
    pub const ALL: [Self; 3] = [Self::En, Self::De, Self::Nb];

    /// The language of a code such as `nb-NO`; `None` if the pages have it not.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        match code.split('-').next().unwrap_or_default().to_ascii_lowercase().as_str() {
            "en" => Some(Self::En),
            "de" => Some(Self::De),
            "nb" | "no" | "nn" => Some(Self::Nb),
            _ => None,
        }
    }

    /// The language that was asked for, if the pages have it, else the one that
    /// the browser likes best, else American English.
    #[must_use]
    pub fn chosen(wanted: &str, headers: &HeaderMap) -> Self {
        let own = Some(wanted).filter(|wanted| *wanted != BROWSER).and_then(Self::from_code);
        own.or_else(|| Self::liked(headers)).unwrap_or(Self::En)
    }

    /// The first language of `Accept-Language` that the pages have.
    fn liked(headers: &HeaderMap) -> Option<Self> {
        let list = headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok()?;
        let mut liked: Vec<(f64, Self)> = Vec::new();
        for item in list.split(',') {
            let mut parts = item.split(';');
            let code = parts.next().unwrap_or_default().trim();
            let weight = parts.find_map(|part| part.trim().strip_prefix("q="));
            let weight = weight.map_or(Some(1.0), |weight| weight.trim().parse().ok());
            if let (Some(language), Some(weight)) = (Self::from_code(code), weight)
                && weight > 0.0
            {
                liked.push((weight, language));
            }
        }
        // Of two that are liked the same, the first: sorting is stable.
        liked.sort_by(|a, b| b.0.total_cmp(&a.0));
        liked.first().map(|(_, language)| *language)
    }

    /// The code for browsers and screen readers.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::En => "en-US",
            Self::De => "de",
            Self::Nb => "nb",
        }
    }
}

/// The colours of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ColourScheme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
    /// Colours of the device's own setting.
    #[default]
    System,
}

impl ColourScheme {
    /// The scheme of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Light, Self::Dark, Self::System].into_iter().find(|scheme| scheme.as_str() == word)
    }

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
            Self::System => "system",
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn liking(list: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT_LANGUAGE, HeaderValue::from_static(list))])
    }

    #[test]
    fn the_browsers_language_falls_back_to_american_english() {
        let chosen = |wanted, list| Language::chosen(wanted, &liking(list));
        assert_eq!(chosen("browser", "fr, de-AT;q=0.7, en;q=0.3"), Language::De);
        assert_eq!(chosen("browser", "en;q=0.2, nn-NO;q=0.9"), Language::Nb);
        assert_eq!(chosen("browser", "de;q=0, fr"), Language::En);
        assert_eq!(chosen("browser", "*"), Language::En);
        assert_eq!(chosen("de-DE", "nb"), Language::De);
        assert_eq!(chosen("fr", "nb"), Language::Nb);
        assert_eq!(chosen("fr", "pt"), Language::En);
        assert_eq!(Language::chosen("browser", &HeaderMap::new()).code(), "en-US");
    }

    #[test]
    fn three_colour_schemes() {
        for scheme in [ColourScheme::Light, ColourScheme::Dark, ColourScheme::System] {
            assert_eq!(ColourScheme::from_word(scheme.as_str()), Some(scheme));
        }
        assert_eq!(ColourScheme::from_word("pink"), None);
        assert_eq!(ColourScheme::default(), ColourScheme::System);
    }
}

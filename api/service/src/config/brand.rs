//! Face of the link pages: the operator's name, logo, colours and links.
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::error::ConfigError;
use crate::config::logos::read_logo;
use crate::config::text::as_optional_text;

/// Most bytes of a logo. It is part of each page.
const LOGO_BYTES_MAX: usize = 48 * 1024;

/// Least contrast of text, by WCAG 2.2, level AA.
const CONTRAST_MIN: f64 = 4.5;

/// Cards of the pages, light and dark, on which links and buttons have the accent.
const CARDS: [Colour; 2] = [Colour([0xff, 0xff, 0xff]), Colour([0x17, 0x1f, 0x1b])];

/// Part of the accent in the background of what is chosen.
const SOFT_SHARE: f64 = 0.1;

/// Face of the link pages. Without it they have ours, and the name of the client.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BrandSettings {
    /// Name of the product, in place of that of the client.
    #[schemars(example = &"Northern Light Charging")]
    pub name: Option<String>,
    /// Logo, as SVG or PNG of 48 KiB at most. It becomes part of the pages.
    #[schemars(example = &"/etc/slackwater/logo.svg")]
    pub logo_file: Option<PathBuf>,
    /// Colour of buttons and links on light pages. It needs a contrast of 4.5 with white.
    #[serde(with = "as_optional_text")]
    #[schemars(with = "Option<String>", example = &"#14664a")]
    pub accent: Option<Colour>,
    /// Colour of buttons and links on dark pages. It needs a contrast of 4.5 with `#171f1b`.
    #[serde(with = "as_optional_text")]
    #[schemars(with = "Option<String>", example = &"#74d3a8")]
    pub accent_dark: Option<Colour>,
    /// Page about the protection of data, at the foot of each page.
    #[schemars(example = &"https://example.org/privacy")]
    pub privacy_url: Option<String>,
    /// Page about who runs the service.
    #[schemars(example = &"https://example.org/imprint")]
    pub imprint_url: Option<String>,
    /// Page, or address by `mailto:`, where users find help.
    #[schemars(example = &"mailto:help@example.org")]
    pub support_url: Option<String>,
    /// The logo as a `data:` address, from its file.
    #[serde(skip)]
    pub logo: Option<String>,
}

/// Colour of the screen, as red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour([u8; 3]);

/// Text that is no colour.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a colour such as #14664a")]
pub struct ColourError {
    /// The text.
    given: String,
}

impl FromStr for Colour {
    type Err = ColourError;

    fn from_str(given: &str) -> Result<Self, ColourError> {
        let refused = || ColourError { given: given.to_owned() };
        let digits = given.strip_prefix('#').filter(|digits| digits.len() == 6);
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let number = u32::from_str_radix(digits.ok_or_else(refused)?, 16).map_err(|_| refused())?;
        let [_, red, green, blue] = number.to_be_bytes();
        Ok(Self([red, green, blue]))
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

impl Colour {
    /// Relative luminance by WCAG 2.
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.0.map(|channel| {
            let share = f64::from(channel) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// Contrast of two colours by WCAG 2: from 1 to 21.
    #[must_use]
    pub fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// Black or white, whichever is read better on this colour.
    fn text_on(self) -> Self {
        let [black, white] = [Self([0; 3]), Self([0xff; 3])];
        if self.contrast(white) >= self.contrast(black) { white } else { black }
    }

    /// This colour over another, by a tenth.
    fn softly_on(self, card: Self) -> Self {
        let mixed = |at: usize| {
            let (own, under) = (f64::from(self.0[at]), f64::from(card.0[at]));
            (own * SOFT_SHARE + under * (1.0 - SOFT_SHARE)).round() as u8
        };
        Self([0, 1, 2].map(mixed))
    }
}

impl BrandSettings {
    /// Reads the logo, and checks colours and addresses.
    pub(super) fn prepare(&mut self) -> Result<(), ConfigError> {
        let refused = |name: &str, reason: &str| {
            Err(ConfigError::Settings(format!("link.brand.{name}: {reason}")))
        };
        let accents =
            [("accent", self.accent, CARDS[0]), ("accent_dark", self.accent_dark, CARDS[1])];
        for (name, accent, card) in accents {
            let Some(accent) = accent else { continue };
            let contrast = accent.contrast(card);
            if contrast < CONTRAST_MIN {
                let reason = format!(
                    "{accent} has a contrast of {contrast:.1} with {card}, on which it is text; \
                     it needs {CONTRAST_MIN}"
                );
                return refused(name, &reason);
            }
        }
        let links = [
            ("privacy_url", &self.privacy_url, false),
            ("imprint_url", &self.imprint_url, false),
            ("support_url", &self.support_url, true),
        ];
        for (name, url, may_be_mail) in links {
            let Some(url) = url else { continue };
            let is_page = ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme));
            if !(is_page || may_be_mail && url.starts_with("mailto:")) {
                return refused(name, &format!("{url:?} is not an address such as https://..."));
            }
        }
        if self.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
            return refused("name", "is empty");
        }
        let Some(file) = &self.logo_file else { return Ok(()) };
        match read_logo(file, LOGO_BYTES_MAX) {
            Ok(logo) => self.logo = Some(logo),
            Err(reason) => return refused("logo_file", &reason),
        }
        Ok(())
    }

    /// Rules for the style of the pages; empty without colours.
    #[must_use]
    pub fn style(&self) -> String {
        let rule = |accent: Colour, card: Colour| {
            let (text, soft) = (accent.text_on(), accent.softly_on(card));
            format!("--accent: {accent}; --on-accent: {text}; --accent-soft: {soft};")
        };
        let light = self.accent.map(|accent| format!(":root {{ {} }}\n", rule(accent, CARDS[0])));
        let dark = self.accent_dark.map(|accent| {
            let rule = rule(accent, CARDS[1]);
            format!(
                "@media (prefers-color-scheme: dark) {{ :root.system {{ {rule} }} }}\n\
                 :root.dark {{ {rule} }}\n"
            )
        });
        light.unwrap_or_default() + &dark.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(text: &str) -> Result<BrandSettings, String> {
        let mut brand: BrandSettings =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        brand.prepare().map_err(|error| error.to_string())?;
        Ok(brand)
    }

    #[test]
    fn what_nobody_could_read_or_open_is_refused_by_name() {
        for (text, reason) in [
            (r##"{"accent": "#ffcc00"}"##, "link.brand.accent: #ffcc00 has a contrast of 1.5"),
            (r##"{"accent_dark": "#14664a"}"##, "link.brand.accent_dark: #14664a has a contrast"),
            (r#"{"accent": "green"}"#, "`green` is not a colour such as #14664a"),
            (r##"{"accent": "#12345g"}"##, "is not a colour"),
            (r#"{"privacy_url": "javascript:alert(1)"}"#, "link.brand.privacy_url: "),
            (r#"{"privacy_url": "mailto:a@b.example"}"#, "link.brand.privacy_url: "),
            (r#"{"name": " "}"#, "link.brand.name: is empty"),
            (r#"{"logo_file": "/nowhere/logo.svg"}"#, "link.brand.logo_file: cannot read"),
            (r#"{"logo_file": "/proc/self/status"}"#, "is neither SVG nor PNG"),
        ] {
            let error = prepared(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert!(prepared(r#"{"support_url": "mailto:a@b.example"}"#).is_ok());
    }

    #[test]
    fn colours_of_a_brand_are_read_on_both_pages() {
        let brand = prepared(r##"{"accent": "#AA0044", "accent_dark": "#ffd166"}"##).unwrap();
        let style = brand.style();
        assert!(style.starts_with(":root { --accent: #aa0044; --on-accent: #ffffff;"), "{style}");
        assert!(style.contains(":root.dark { --accent: #ffd166; --on-accent: #000000;"), "{style}");
        assert_eq!(BrandSettings::default().style(), "");
        // Texts on the background of what is chosen, for the two accents farthest from it.
        let ink = [["#16211b", "#526058"], ["#edf3ef", "#a6b5ac"]];
        let far = ["#000000", "#ffffff"];
        for ((texts, card), accent) in ink.into_iter().zip(CARDS).zip(far) {
            let soft = accent.parse::<Colour>().unwrap().softly_on(card);
            for text in texts {
                let contrast = text.parse::<Colour>().unwrap().contrast(soft);
                assert!(contrast >= CONTRAST_MIN, "{text} on {soft}: {contrast:.2}");
            }
        }
    }
}

//! Frame and style that all pages share.
use std::borrow::Cow;
use std::sync::Arc;

use axum::http::HeaderMap;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::icons;
use slackwater_service::config::brand::BrandSettings;
use slackwater_service::config::language::{ColourScheme, Language};
use slackwater_service::config::texts::{Texts, fill};
use slackwater_service::linking::session::Session;
use slackwater_service::state::App;
use slackwater_store::client::Environment;

/// Colours of all pages, light and dark. Pages of operators have the same.
pub const PALETTE: &str = include_str!("palette.css");

/// The style of all pages.
pub const STYLE: &str = concat!(include_str!("palette.css"), include_str!("style.css"));

/// Language, client and style of a page.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The language.
    pub language: Arc<Language>,
    /// The colours.
    pub scheme: ColourScheme,
    /// Name of the client; empty if it is not known.
    pub app: String,
    /// True if devices are simulated.
    pub is_sandbox: bool,
    /// Face of the pages.
    pub brand: BrandSettings,
    /// Style of the pages, with the colours of the brand.
    pub style: Cow<'static, str>,
}

impl Frame {
    /// Of a session, if there is one. Language and colours: the session's, else the
    /// operator's, else the browser's.
    #[must_use]
    pub fn of(app: &App, session: Option<&Session>, headers: &HeaderMap) -> Self {
        let settings = &app.config().link;
        let request = session.map(|session| &session.request);
        let wanted = request.and_then(|request| request.language.as_deref());
        let client = session.map(|session| session.client.name.trim().to_owned());
        let client = client.unwrap_or_default();
        let scheme: Option<ColourScheme> = request.and_then(|request| request.colour_scheme);
        Self {
            language: settings.texts.choose(wanted.unwrap_or(&settings.language), headers),
            scheme: scheme.unwrap_or(settings.colour_scheme),
            app: settings.brand.name.clone().unwrap_or(client),
            is_sandbox: app.environment() == Environment::Sandbox,
            brand: settings.brand.clone(),
            style: styled(&settings.brand),
        }
    }

    /// The words.
    #[must_use]
    pub fn texts(&self) -> &Texts {
        &self.language.texts
    }

    /// A text about the client.
    #[must_use]
    pub fn about_app(&self, text: &str) -> String {
        self.fill(text, &[])
    }

    /// A text about the client, with other gaps filled as well.
    #[must_use]
    pub fn fill(&self, text: &str, gaps: &[(&str, &str)]) -> String {
        let app = if self.app.is_empty() { &self.texts().app } else { &self.app };
        fill(text, &[&[("app", app.as_str())], gaps].concat())
    }

    /// A whole page.
    #[must_use]
    pub fn page(&self, title: &str, is_error: bool, content: &Markup) -> Markup {
        let texts = self.texts();
        let prefix = if is_error { texts.error_prefix.as_str() } else { "" };
        html! {
            (DOCTYPE)
            html lang=(self.language.lang) class=(self.scheme.as_str()) {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content=(self.meta_scheme());
                    // Without it browsers ask the server for one.
                    link rel="icon" href="data:,";
                    title { (prefix) (title) @if !self.app.is_empty() { " – " (self.app) } }
                    style { (PreEscaped(&self.style)) }
                }
                body {
                    @if !self.app.is_empty() {
                        header {
                            @match &self.brand.logo {
                                // The name beside it says the same.
                                Some(logo) => { img.logo src=(logo) alt=""; }
                                None => { (icons::mark()) }
                            }
                            p { (self.app) }
                        }
                    }
                    main { (content) }
                    (self.foot())
                }
            }
        }
    }

    /// Links of the brand, and a warning where devices are simulated.
    fn foot(&self) -> Markup {
        let (texts, brand) = (self.texts(), &self.brand);
        let links = [
            (&texts.support, &brand.support_url),
            (&texts.privacy, &brand.privacy_url),
            (&texts.imprint, &brand.imprint_url),
        ];
        let links = links.map(|(words, url)| Some((words, url.as_ref()?)));
        let links: Vec<(&String, &String)> = links.into_iter().flatten().collect();
        html! {
            @if self.is_sandbox || !links.is_empty() {
                footer {
                    @if self.is_sandbox { p.sandbox { (texts.sandbox_note) } }
                    @if !links.is_empty() {
                        ul.links {
                            @for (words, url) in links { li { a href=(url) rel="noreferrer" { (words) } } }
                        }
                    }
                }
            }
        }
    }

    /// A page that only says something, with a way on where there is one: its words, and its address;
    /// and with a list of devices that are connected now, if there are any.
    #[must_use]
    pub fn end(
        &self,
        (title, lead): (&str, &str),
        way: Option<(&str, &str)>,
        connected: Option<&Markup>,
    ) -> Markup {
        let content = html! {
            div.end {
                @if connected.is_some() { (icons::tick()) }
                h1 { (title) }
                p.lead { (self.about_app(lead)) }
                @if let Some((words, address)) = way {
                    a.button.main href=(address) rel="noreferrer" { (words) }
                }
            }
            @if let Some(connected) = connected { (connected) }
        };
        self.page(title, false, &content)
    }

    const fn meta_scheme(&self) -> &'static str {
        match self.scheme {
            ColourScheme::Light => "light",
            ColourScheme::Dark => "dark",
            ColourScheme::System => "light dark",
        }
    }
}

/// Style of the pages with the colours of a brand. They are checked where settings are read.
fn styled(brand: &BrandSettings) -> Cow<'static, str> {
    let own = brand.style();
    if own.is_empty() { Cow::Borrowed(STYLE) } else { Cow::Owned(format!("{STYLE}{own}")) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The colours of each block that sets them: light, dark by system, dark.
    fn palettes() -> Vec<BTreeMap<&'static str, [f64; 3]>> {
        let blocks =
            PALETTE.split("color-scheme:").skip(1).filter(|block| block.contains("--page"));
        let blocks = blocks.map(|block| block.split('}').next().unwrap_or_default());
        blocks
            .map(|block| {
                let pairs = block.split(';').filter_map(|line| line.trim().split_once(": #"));
                pairs.map(|(name, digits)| (name, channels(digits))).collect()
            })
            .collect()
    }

    fn channels(digits: &str) -> [f64; 3] {
        [0, 2, 4].map(|at| {
            let byte = u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
            let share = f64::from(byte) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// The contrast of two colours, as WCAG 2 defines it.
    fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
        let luminance = |c: [f64; 3]| 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn both_palettes_have_enough_contrast_for_aa() {
        let palettes = palettes();
        assert_eq!(palettes.len(), 3);
        assert_eq!(palettes[1], palettes[2], "dark is dark, whoever chose it");
        let text = [
            ("--ink", "--page"),
            ("--ink", "--card"),
            ("--ink", "--accent-soft"),
            ("--soft", "--page"),
            ("--soft", "--card"),
            ("--soft", "--accent-soft"),
            ("--accent", "--card"),
            ("--on-accent", "--accent"),
            ("--bad", "--card"),
            ("--bad", "--bad-soft"),
            ("--note", "--note-soft"),
        ];
        // Edges of fields and rings of focus, against what they lie on.
        let parts = [("--edge", "--card"), ("--accent", "--page"), ("--accent", "--card")];
        for palette in palettes {
            for (pairs, least) in [(&text[..], 4.5), (&parts[..], 3.0)] {
                for (a, b) in pairs {
                    let found = contrast(palette[a], palette[b]);
                    assert!(found >= least, "{a} on {b}: {found:.2}");
                }
            }
        }
    }

    #[test]
    fn the_style_loads_nothing() {
        for loading in ["url(", "@import", "//", "</"] {
            assert!(!STYLE.contains(loading), "{loading}");
        }
    }
}

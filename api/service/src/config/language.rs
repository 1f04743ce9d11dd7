//! Languages of the Link pages, and their colours.
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use http::{HeaderMap, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::error::ConfigError;
use crate::config::texts::{LanguageFile, Texts, flaws};

/// The word that leaves the choice to the browser.
pub const BROWSER: &str = "browser";

/// Languages that are part of the program, by code. The first is the one that others are compared
/// with, and that is taken where no other fits.
pub(super) const BUILT_IN: [(&str, &str); 3] = [
    ("en", include_str!("../../languages/en.toml")),
    ("de", include_str!("../../languages/de.toml")),
    ("nb", include_str!("../../languages/nb.toml")),
];

/// Ending of the file of a language.
const ENDING: &str = "toml";

/// Files of the program, read once.
static FILES: LazyLock<BTreeMap<String, LanguageFile>> = LazyLock::new(|| {
    let read = |(code, text): (&str, &str)| {
        let file = LanguageFile::read(text).expect("a test reads each file of the program");
        (code.to_owned(), file)
    };
    BUILT_IN.into_iter().map(read).collect()
});

/// Languages of the program.
static LANGUAGES: LazyLock<Languages> = LazyLock::new(|| {
    Languages::of_files(&FILES).expect("a test compares each file of the program with English")
});

/// A language of the pages.
#[derive(Debug, PartialEq, Eq)]
pub struct Language {
    /// Code for browsers and screen readers, such as `en-US`.
    pub lang: String,
    /// The texts.
    pub texts: Texts,
    /// Codes for which it is taken, in lower case.
    codes: Vec<String>,
}

/// Languages that the pages have: those of the program, and those of the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Languages {
    all: Vec<Arc<Language>>,
    english: Arc<Language>,
}

impl Default for Languages {
    /// Languages of the program.
    fn default() -> Self {
        LANGUAGES.clone()
    }
}

impl Languages {
    /// Languages of the program with those of a folder: a file `CODE.toml` for each. A file of a
    /// language that the program has needs the texts only that it replaces; any other has all.
    ///
    /// # Errors
    /// The folder or a file cannot be read, or a text is missing, unknown, empty, or has other gaps
    /// than in English. The error names all of them.
    pub(super) fn load(folder: &Path) -> Result<Self, ConfigError> {
        let refused = |reason: String| ConfigError::Settings(format!("link.languages: {reason}"));
        let unread = |path: &Path, reason: std::io::Error| {
            refused(format!("cannot read {}: {reason}", path.display()))
        };
        let entries = fs::read_dir(folder).map_err(|reason| unread(folder, reason))?;
        let mut paths = Vec::new();
        for entry in entries {
            paths.push(entry.map_err(|reason| unread(folder, reason))?.path());
        }
        paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
        paths.sort();
        if paths.is_empty() {
            let folder = folder.display();
            return Err(refused(format!("{folder} has no file of a language, such as fr.toml")));
        }
        let mut files = FILES.clone();
        let mut faults = Vec::new();
        for path in paths {
            let text = fs::read_to_string(&path).map_err(|reason| unread(&path, reason))?;
            let code = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let of_file = |fault: String| format!("{}: {fault}", path.display());
            if !is_code(code) {
                faults.push(of_file(format!("`{code}` is not a code of a language, such as fr")));
                continue;
            }
            match LanguageFile::read(&text) {
                Ok(own) => {
                    let file = with_built_in(&code.to_ascii_lowercase(), own);
                    let own = flaws(&file.texts, &FILES["en"].texts);
                    faults.extend(own.into_iter().map(of_file));
                    files.insert(code.to_ascii_lowercase(), file);
                }
                Err(fault) => faults.push(of_file(fault)),
            }
        }
        if !faults.is_empty() {
            let faults: Vec<_> =
                faults.into_iter().map(|fault| format!("link.languages: {fault}")).collect();
            return Err(ConfigError::Settings(faults.join("\n")));
        }
        Self::of_files(&files).map_err(refused)
    }

    /// Languages of files without flaws.
    fn of_files(files: &BTreeMap<String, LanguageFile>) -> Result<Self, String> {
        let mut all = Vec::with_capacity(files.len());
        for (code, file) in files {
            let texts = Texts::read(&file.texts).map_err(|error| format!("{code}: {error}"))?;
            let also = file.also.iter().map(|code| code.to_ascii_lowercase());
            let codes = [code.clone()].into_iter().chain(also).collect();
            all.push(Arc::new(Language { lang: file.lang.clone(), texts, codes }));
        }
        let english = all.iter().find(|language| language.has_code("en")).cloned();
        let english = english.ok_or("there is no English")?;
        Ok(Self { all, english })
    }

    /// All languages, by code.
    pub fn all(&self) -> impl Iterator<Item = &Language> {
        self.all.iter().map(AsRef::as_ref)
    }

    /// Their codes, without further ones for which they are taken.
    pub fn codes(&self) -> impl Iterator<Item = &str> {
        self.all().filter_map(|language| language.codes.first()).map(String::as_str)
    }

    /// The language of a code such as `nb-NO`: of the whole code, else of its first part; `None` if
    /// the pages have it not.
    #[must_use]
    pub fn find(&self, code: &str) -> Option<&Arc<Language>> {
        let code = code.to_ascii_lowercase();
        let first = code.split('-').next().unwrap_or_default();
        let find = |code: &str| self.all.iter().find(|language| language.has_code(code));
        find(&code).or_else(|| find(first))
    }

    /// The language that was asked for, if the pages have it, else the one that
    /// the browser likes best, else American English.
    #[must_use]
    pub fn choose(&self, wanted: &str, headers: &HeaderMap) -> Arc<Language> {
        let own = Some(wanted).filter(|wanted| *wanted != BROWSER);
        let own = own.and_then(|wanted| self.find(wanted));
        Arc::clone(own.or_else(|| self.find_liked(headers)).unwrap_or(&self.english))
    }

    /// The first language of `Accept-Language` that the pages have.
    fn find_liked(&self, headers: &HeaderMap) -> Option<&Arc<Language>> {
        let list = headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok()?;
        let mut liked: Vec<(f64, &Arc<Language>)> = Vec::new();
        for item in list.split(',') {
            let mut parts = item.split(';');
            let code = parts.next().unwrap_or_default().trim();
            let weight = parts.find_map(|part| part.trim().strip_prefix("q="));
            let weight = weight.map_or(Some(1.0), |weight| weight.trim().parse().ok());
            if let (Some(language), Some(weight)) = (self.find(code), weight)
                && weight > 0.0
            {
                liked.push((weight, language));
            }
        }
        // Of two that are liked the same, the first: sorting is stable.
        liked.sort_by(|a, b| b.0.total_cmp(&a.0));
        liked.first().map(|(_, language)| *language)
    }
}

impl Language {
    fn has_code(&self, code: &str) -> bool {
        self.codes.iter().any(|own| own == code)
    }
}

/// The file of an operator on top of that of the program, if it has the language.
fn with_built_in(code: &str, own: LanguageFile) -> LanguageFile {
    let Some(built_in) = FILES.get(code) else { return own };
    let texts = built_in.texts.clone().into_iter().chain(own.texts).collect();
    let also = if own.also.is_empty() { built_in.also.clone() } else { own.also };
    LanguageFile { lang: own.lang, also, texts }
}

/// Returns `true` if a text has the form of a language tag (RFC 5646).
fn is_code(text: &str) -> bool {
    let mut parts = text.split('-');
    let is_part = |part: &str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let first = parts.next().unwrap_or_default();
    first.len() >= 2
        && first.bytes().all(|byte| byte.is_ascii_alphabetic())
        && is_part(first)
        && parts.all(is_part)
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
        let languages = Languages::default();
        let chosen = |wanted, list| languages.choose(wanted, &liking(list)).lang.clone();
        assert_eq!(chosen("browser", "fr, de-AT;q=0.7, en;q=0.3"), "de");
        assert_eq!(chosen("browser", "en;q=0.2, nn-NO;q=0.9"), "nb");
        assert_eq!(chosen("browser", "de;q=0, fr"), "en-US");
        assert_eq!(chosen("browser", "*"), "en-US");
        assert_eq!(chosen("de-DE", "nb"), "de");
        assert_eq!(chosen("fr", "nb"), "nb");
        assert_eq!(chosen("fr", "pt"), "en-US");
        assert_eq!(languages.choose("browser", &HeaderMap::new()).lang, "en-US");
        assert_eq!(languages.codes().collect::<Vec<_>>(), ["de", "en", "nb"]);
    }

    fn load(files: &[(&str, &str)]) -> Result<Languages, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let place = format!("{}/", folder.path().display());
        Languages::load(folder.path()).map_err(|error| error.to_string().replace(&place, ""))
    }

    #[test]
    fn a_folder_adds_languages_and_replaces_words() {
        let french = BUILT_IN[0].1.replace("lang = \"en-US\"", "lang = \"fr\"");
        let french = french.replace("\"Cancel\"", "\"Annuler\"");
        let canada =
            french.replace("Annuler", "Quitter").replace("lang = \"fr\"", "lang = \"fr-CA\"");
        let own = "lang = \"en-GB\"\n[texts]\ncancel = \"Leave\"\n";
        let files = [("fr.toml", &*french), ("fr-CA.toml", &*canada), ("en.toml", own)];
        let languages = load(&[&files[..], &[("README.md", "not read")]].concat()).unwrap();
        let cancel = |wanted| {
            let language = languages.choose(wanted, &HeaderMap::new());
            (language.lang.clone(), language.texts.cancel.clone(), language.texts.search.clone())
        };
        let words = |texts: [&str; 3]| texts.map(ToOwned::to_owned).into();
        assert_eq!(cancel("fr-BE"), words(["fr", "Annuler", "Search"]));
        assert_eq!(cancel("FR-ca"), words(["fr-CA", "Quitter", "Search"]));
        assert_eq!(cancel("en-US"), words(["en-GB", "Leave", "Search"]));
        assert_eq!(cancel("no"), words(["nb", "Avbryt", "Søk"]));
        assert_eq!(languages.codes().collect::<Vec<_>>(), ["de", "en", "fr", "fr-ca", "nb"]);
    }

    #[test]
    fn what_a_folder_lacks_is_told_by_file_and_text() {
        let without = BUILT_IN[1].1.replace("cancel = \"Abbrechen\"\n", "");
        let other_gaps = "lang = \"en\"\n[texts]\nstep = \"{n} of {all}\"\nstop = \"Stop\"";
        for (files, expected) in [
            (vec![], " has no file of a language, such as fr.toml"),
            (vec![("fr.toml", &*without)], "link.languages: fr.toml: the text `cancel` is missing"),
            (
                vec![("en.toml", other_gaps)],
                "link.languages: en.toml: the text `step` has {all}, {n}, and in English it has \
                 {n}, {of}\nlink.languages: en.toml: `stop` is not a text of the pages",
            ),
            (
                vec![("de.toml", "lang = \"de\"\n[texts]\ncancel = 1")],
                "link.languages: de.toml: line 3: invalid type: integer `1`, expected a string",
            ),
            (vec![("de.toml", "[texts]")], "link.languages: de.toml: line 1: missing field `lang`"),
            (
                vec![("french words.toml", "")],
                "link.languages: french words.toml: `french words` is not a code of a language",
            ),
        ] {
            let error = load(&files).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        let none = Languages::load(Path::new("/nowhere")).unwrap_err().to_string();
        assert!(none.starts_with("link.languages: cannot read /nowhere: "), "{none}");
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

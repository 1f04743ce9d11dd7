//! The secret of a browser, in its cookie.
//!
//! Two things hang on it. A form carries a word that only the server can make
//! from the secret, so that no other site can send the form in the user's name.
//! And what is kept between two pages, the password among it while a code is
//! waited for, is sealed with a key made from it: the row alone tells nothing.
use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{ChaCha20Poly1305, KeyInit as _, Nonce};
use hmac::{Hmac, Mac};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Sha256;

use slackwater_service::auth::secret::{NoRandomness, SECRET_BYTES, generate, random};

/// Bytes of a nonce.
const NONCE_BYTES: usize = 12;

/// Lifetime of a browser's secret, as long as that of a session.
const COOKIE_SECONDS: i64 = slackwater_service::linking::session::LIFETIME.num_seconds();

/// The secret of a browser.
#[derive(Clone)]
pub struct Browser {
    secret: String,
    /// True if the browser does not have the cookie yet.
    is_new: bool,
    /// True if the pages are reached by TLS.
    is_secure: bool,
}

impl Browser {
    /// The browser that sent a request, or a new one.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn of(headers: &HeaderMap, url: &str) -> Result<Self, NoRandomness> {
        let is_secure = url.starts_with("https://");
        let known = cookie(headers, name(is_secure)).filter(|secret| is_secret(secret));
        match known {
            Some(secret) => Ok(Self { secret: secret.to_owned(), is_new: false, is_secure }),
            None => Ok(Self { secret: generate()?, is_new: true, is_secure }),
        }
    }

    /// Cookie to set, if the browser does not have it yet. Other sites may lead to the pages
    /// (`Lax`), but never send a form with it.
    #[must_use]
    pub fn set_cookie(&self) -> Option<HeaderValue> {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let (name, secret) = (name(self.is_secure), &self.secret);
        let text = format!(
            "{name}={secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age={COOKIE_SECONDS}{secure}"
        );
        self.is_new.then(|| HeaderValue::from_str(&text).ok()).flatten()
    }

    /// The word that a form of a session carries.
    #[must_use]
    pub fn form_word(&self, session: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.derived("form", session).finalize().into_bytes())
    }

    /// Returns `true` if a form of a session is this browser's own.
    #[must_use]
    pub fn owns(&self, session: &str, word: &str) -> bool {
        let given = URL_SAFE_NO_PAD.decode(word).unwrap_or_default();
        !self.is_new && self.derived("form", session).verify_slice(&given).is_ok()
    }

    /// A value that only this browser can have opened again.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn seal<T: Serialize>(&self, session: &str, value: &T) -> Result<String, NoRandomness> {
        let nonce = random::<NONCE_BYTES>()?;
        let msg = serde_json::to_vec(value).unwrap_or_default();
        let payload = Payload { msg: &msg, aad: session.as_bytes() };
        let sealed = self.cipher(session).encrypt(&Nonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| NoRandomness)?;
        Ok(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    /// Opens a sealed text; `None` if it was sealed for another browser or session.
    #[must_use]
    pub fn open<T: DeserializeOwned>(&self, session: &str, sealed: &str) -> Option<T> {
        let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload { msg: sealed, aad: session.as_bytes() };
        let opened = self.cipher(session).decrypt(&Nonce::from(*nonce), payload).ok()?;
        serde_json::from_slice(&opened).ok()
    }

    fn cipher(&self, session: &str) -> ChaCha20Poly1305 {
        ChaCha20Poly1305::new(&self.derived("seal", session).finalize().into_bytes())
    }

    fn derived(&self, purpose: &str, session: &str) -> Hmac<Sha256> {
        let mac = Hmac::<Sha256>::new_from_slice(self.secret.as_bytes());
        let mut mac = mac.expect("a key of any length fits");
        mac.update(purpose.as_bytes());
        mac.update(&[0]);
        mac.update(session.as_bytes());
        mac
    }
}

impl std::fmt::Debug for Browser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Browser").field("is_new", &self.is_new).finish_non_exhaustive()
    }
}

/// With TLS, a name that browsers let nobody else set.
const fn name(is_secure: bool) -> &'static str {
    if is_secure { "__Host-link" } else { "link" }
}

/// The value of a cookie.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).into_iter();
    let pairs = all.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(';'));
    let mut pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(given, _)| *given == name).map(|(_, value)| value)
}

/// Returns `true` if a text has the form of a secret that the service made.
fn is_secret(text: &str) -> bool {
    URL_SAFE_NO_PAD.decode(text).is_ok_and(|bytes| bytes.len() == SECRET_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(browser: &Browser, url: &str) -> Browser {
        let sent = browser.set_cookie().unwrap();
        let pair = sent.to_str().unwrap().split(';').next().unwrap().to_owned();
        let pair = HeaderValue::from_str(&format!("other=1; {pair}")).unwrap();
        Browser::of(&HeaderMap::from_iter([(header::COOKIE, pair)]), url).unwrap()
    }

    #[test]
    fn a_form_and_a_seal_belong_to_one_browser_and_one_session() {
        let url = "http://link.localhost";
        let new = Browser::of(&HeaderMap::new(), url).unwrap();
        let known = again(&new, url);
        let other = again(&Browser::of(&HeaderMap::new(), url).unwrap(), url);
        let word = new.form_word("a");
        assert!(known.owns("a", &word) && known.set_cookie().is_none());
        for (browser, session, word) in [
            (&new, "a", word.as_str()),
            (&other, "a", &word),
            (&known, "b", &word),
            (&known, "a", ""),
            (&known, "a", &word[1..]),
        ] {
            assert!(!browser.owns(session, word));
        }
        let sealed = known.seal("a", &"password").unwrap();
        assert_eq!(known.open::<String>("a", &sealed).as_deref(), Some("password"));
        assert_eq!(known.open::<String>("b", &sealed), None);
        assert_eq!(other.open::<String>("a", &sealed), None);
        assert_eq!(known.open::<String>("a", "x"), None);
        assert!(!format!("{known:?}").contains(&known.secret));
    }

    #[test]
    fn cookies_are_bound_to_the_host_by_name_where_there_is_tls() {
        let text = |url| {
            let browser = Browser::of(&HeaderMap::new(), url).unwrap();
            browser.set_cookie().unwrap().to_str().unwrap().to_owned()
        };
        let safe = text("https://link.example.org");
        assert!(safe.starts_with("__Host-link=") && safe.ends_with("; Secure"), "{safe}");
        for part in ["Path=/", "HttpOnly", "SameSite=Lax", "Max-Age=86400"] {
            assert!(safe.contains(part), "{safe}");
        }
        let plain = text("http://127.0.0.1:8082");
        assert!(plain.starts_with("link=") && !plain.contains("Secure"), "{plain}");
    }
}

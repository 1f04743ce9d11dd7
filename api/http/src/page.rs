//! Pages of lists: opaque cursors in, opaque cursors out.
//!
//! A cursor is a place between two items, not an offset: items that come or go
//! meanwhile neither repeat nor hide others. It is encrypted for one list of one
//! client (ChaCha20-Poly1305, the nonce a digest of the content): another list refuses it,
//! nobody can make one, and nobody can see what is in it.
use axum::extract::FromRequestParts;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::Aead;
use chacha20poly1305::{ChaCha20Poly1305, Key as Key256, Nonce};
use chrono::DateTime;
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use sha2::Sha256;
use slackwater_service::cache::index::{Id, Index};
use slackwater_service::state::App;
use slackwater_wire::page::cursor::{Cursor, Key, Side};
use slackwater_wire::page::list::{Page, PageRequest};
use utoipa::{IntoParams, ToSchema};

use crate::problem::Problem;
use crate::request::query_pairs;

/// Bytes of the nonce that a cursor begins with.
const NONCE_BYTES: usize = 12;

/// Bytes of the instant in a cursor, and of the side before it.
const HEAD_BYTES: usize = 9;

/// A page of a list, newest item first.
#[derive(Debug, Clone, Serialize)]
pub struct Listing<T> {
    /// The items.
    pub data: Vec<T>,
    /// Cursors of the neighbouring pages.
    pub pagination: Pagination,
}

/// Cursors of the neighbouring pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Pagination {
    /// For the page of newer items; null if there are none.
    pub before: Option<String>,
    /// For the page of older items; null if there are none.
    pub after: Option<String>,
}

/// Page that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// A cursor: the page of older items. Excludes `before`.
    #[param(value_type = String, required = false)]
    after: Option<String>,
    /// A cursor: the page of newer items. Excludes `after`.
    #[param(value_type = String, required = false)]
    before: Option<String>,
    /// Most items on the page.
    #[param(rename = "pageSize", value_type = i64, required = false, minimum = 1, default = 50)]
    size: Option<i64>,
}

/// List of one client, or of one of its users. Cursors are encrypted for it.
#[derive(Debug, Clone, Copy)]
struct List<'a> {
    /// Key of this service.
    key: &'a [u8],
    client_id: &'a str,
    user_id: Option<&'a str>,
    name: &'a str,
}

impl<S: Send + Sync> FromRequestParts<S> for PageQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut query = Self::default();
        for (name, value) in query_pairs(&parts.uri) {
            match &*name {
                "before" => query.before = Some(value.into_owned()),
                "after" => query.after = Some(value.into_owned()),
                "pageSize" => {
                    let size = value.parse().map_err(|_| {
                        Problem::invalid(vec!["/pageSize: expected a positive integer".to_owned()])
                    })?;
                    query.size = Some(size);
                }
                _ => {}
            }
        }
        Ok(query)
    }
}

impl PageQuery {
    /// The page that is wanted of a list, with at most `size_max` items.
    fn request(&self, list: List<'_>, size_max: Option<u32>) -> Result<PageRequest, Problem> {
        let cursor = |name: &str, text: &Option<String>| {
            let text = text.as_deref();
            text.map(|text| list.decrypt_cursor(text).ok_or_else(|| bad_cursor(name))).transpose()
        };
        let before = cursor("before", &self.before)?;
        let after = cursor("after", &self.after)?;
        let size = match (self.size, size_max) {
            (Some(size), Some(most)) => Some(size.min(most.into())),
            (None, Some(most)) if most < 50 => Some(most.into()),
            (size, _) => size,
        };
        Ok(PageRequest::new(before, after, size)?)
    }
}

fn bad_cursor(name: &str) -> Problem {
    Problem::invalid(vec![format!("/{name}: is no cursor of this list")])
}

/// Request of a list: for one of its pages, or for all items in versions without pages.
#[derive(Debug, Clone)]
pub struct ListRequest<'a> {
    list: List<'a>,
    /// The page; `None` for all items.
    page: Option<PageRequest>,
}

impl<'a> ListRequest<'a> {
    /// Checks the page that a request asks for. It is checked in versions without pages, too.
    ///
    /// # Errors
    /// Both cursors, a size below one, or a cursor of another list.
    pub fn new(
        app: &'a App,
        (client_id, user_id): (&'a str, Option<&'a str>),
        name: &'a str,
        query: &PageQuery,
        is_paged: bool,
    ) -> Result<Self, Problem> {
        let list = List { key: app.cursor_key(), client_id, user_id, name };
        let page = query.request(list, app.config().limits.page_size_max)?;
        Ok(Self { list, page: is_paged.then_some(page) })
    }

    /// Cuts the page from an index, newest item first. `view` makes an item from an identifier;
    /// `None` leaves it out.
    pub fn take_page<I: Id, T>(
        &self,
        index: Option<&Index<I>>,
        view: impl Fn(&I) -> Option<T>,
    ) -> Listing<T> {
        let pagination = Pagination { before: None, after: None };
        let Some(index) = index else { return Listing { data: Vec::new(), pagination } };
        let Some(request) = &self.page else {
            let mut data: Vec<T> = index.iter().filter_map(view).collect();
            data.reverse();
            return Listing { data, pagination };
        };
        let page = index.page(request);
        let ids = page.keys.iter().filter_map(|key| I::from_text(&key.id));
        let data = ids.filter_map(|id| view(&id)).collect();
        Listing { data, pagination: self.list.encrypt_neighbours(&page) }
    }

    /// Writes a page, or without pages its items alone, of about `bytes_each` bytes: an answer
    /// that grows while it is written is copied again and again.
    ///
    /// # Errors
    /// The items have no JSON form.
    pub fn answer<T: Serialize>(
        &self,
        listing: &Listing<T>,
        bytes_each: usize,
    ) -> Result<Response, Problem> {
        let mut body = Vec::with_capacity(bytes_each * (1 + listing.data.len()));
        let written = match self.page {
            Some(_) => serde_json::to_writer(&mut body, listing),
            None => serde_json::to_writer(&mut body, &listing.data),
        };
        written.map_err(|_| Problem::bad_answer())?;
        Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
    }
}

impl List<'_> {
    /// The cursors of a page.
    fn encrypt_neighbours(&self, page: &Page) -> Pagination {
        let seal =
            |cursor: &Option<Cursor>| cursor.as_ref().map(|cursor| self.encrypt_cursor(cursor));
        Pagination { before: seal(&page.before), after: seal(&page.after) }
    }

    fn encrypt_cursor(&self, cursor: &Cursor) -> String {
        let mut plain = Vec::with_capacity(HEAD_BYTES + cursor.key.id.len());
        plain.push(u8::from(cursor.side == Side::Below));
        plain.extend(cursor.key.created_at.timestamp_micros().to_be_bytes());
        plain.extend(cursor.key.id.as_bytes());
        // The nonce follows from what is sealed, so that no two contents share one.
        let digest = self.derive_bytes("nonce", &plain);
        let nonce: [u8; NONCE_BYTES] = std::array::from_fn(|at| digest[at]);
        let sealed = self.cipher().encrypt(&Nonce::from(nonce), plain.as_slice());
        let sealed = sealed.expect("a cursor is far shorter than what can be encrypted");
        URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat())
    }

    fn decrypt_cursor(&self, text: &str) -> Option<Cursor> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_BYTES>()?;
        let content = self.cipher().decrypt(&Nonce::from(*nonce), sealed).ok()?;
        let (head, id) = content.split_at_checked(HEAD_BYTES)?;
        let micros = i64::from_be_bytes(head[1..].try_into().ok()?);
        let side = if head[0] == 0 { Side::Above } else { Side::Below };
        let created_at = DateTime::from_timestamp_micros(micros)?;
        let id = String::from_utf8(id.to_vec()).ok()?;
        Some(Cursor { key: Key { created_at, id }, side })
    }

    /// The cipher of this list: another list has another key.
    fn cipher(&self) -> ChaCha20Poly1305 {
        ChaCha20Poly1305::new(&self.derive_bytes("seal", &[]))
    }

    /// Bytes that nobody without the key can tell, of this list and a content.
    fn derive_bytes(&self, purpose: &str, content: &[u8]) -> Key256 {
        let mac = <Hmac<Sha256> as KeyInit>::new_from_slice(self.key);
        let mut mac = mac.expect("a key of any length fits");
        // Each part with its length, so that no two lists read alike.
        for part in [purpose, self.client_id, self.user_id.unwrap_or_default(), self.name] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        mac.update(content);
        mac.finalize().into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: List<'_> = List { key: b"secret", client_id: "a", user_id: None, name: "vehicles" };

    fn cursor() -> Cursor {
        let created_at = "2026-01-05T18:00:00.000001Z".parse().unwrap();
        Cursor { key: Key { created_at, id: "x".to_owned() }, side: Side::Below }
    }

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        let text = LIST.encrypt_cursor(&cursor());
        assert_eq!(LIST.decrypt_cursor(&text), Some(cursor()));
        let above = Cursor { side: Side::Above, ..cursor() };
        assert_eq!(LIST.decrypt_cursor(&LIST.encrypt_cursor(&above)), Some(above));
    }

    #[test]
    fn a_changed_cursor_is_refused() {
        let text = LIST.encrypt_cursor(&cursor());
        for at in 0..text.len() {
            let mut changed: Vec<u8> = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(LIST.decrypt_cursor(&changed), None, "{changed}");
        }
        for bad in ["", "x", "AAAA", "ä", &text[..10]] {
            assert_eq!(LIST.decrypt_cursor(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_cursor_is_of_one_list_only() {
        let text = LIST.encrypt_cursor(&cursor());
        let others = [
            List { name: "chargers", ..LIST },
            List { client_id: "b", ..LIST },
            List { user_id: Some("vehicles"), name: "", ..LIST },
            List { key: b"other", ..LIST },
        ];
        for other in others {
            assert_eq!(other.decrypt_cursor(&text), None, "{other:?}");
        }
    }

    #[test]
    fn a_size_is_cut_by_configuration_only() {
        let size = |size, most| {
            let query = PageQuery { size, ..PageQuery::default() };
            query.request(LIST, most).unwrap().size.get()
        };
        assert_eq!(size(None, None), 50);
        assert_eq!(size(Some(100_000), None), 100_000);
        assert_eq!([size(Some(100_000), Some(200)), size(None, Some(20))], [200, 20]);
        assert_eq!(size(None, Some(200)), 50);
    }
}

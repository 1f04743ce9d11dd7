//! Extractors of paths, queries and bodies; each refusal is a problem.
use std::borrow::Cow;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, FailedToBufferBody};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::Uri;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::issues::{Issues, RequestBody};
use crate::json::Json;
use crate::problem::Problem;

/// The parameters of a path. One that cannot be read names nothing.
#[derive(Debug, Clone)]
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = axum::extract::Path::from_request_parts(parts, state).await;
        path.map(|axum::extract::Path(parameters)| Self(parameters))
            .map_err(|_| Problem::no_such_route(&parts.method, &parts.uri))
    }
}

/// Names and values of a query, decoded, in order.
pub fn query_pairs(uri: &Uri) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes())
}

/// The bytes of a body, whatever they say.
#[derive(Debug, Clone)]
pub struct Raw(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for Raw {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        Bytes::from_request(request, state).await.map(Self).map_err(|rejection| match rejection {
            BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => {
                Problem::too_long()
            }
            _ => Problem::bad_request("the body could not be read"),
        })
    }
}

/// Bodies longer than this are read apart from other requests, in bytes.
const LARGE: usize = 256 * 1024;

/// Large bodies that are read at one time. Each keeps a processor busy.
static LARGE_AT_ONCE: Semaphore = Semaphore::const_new(2);

impl Raw {
    /// These bytes, or others if there are none.
    #[must_use]
    pub fn if_empty(self, instead: &'static [u8]) -> Self {
        if self.0.is_empty() { Self(Bytes::from_static(instead)) } else { self }
    }

    /// Reads the body. A large one is read on a thread of its own, when its turn
    /// has come: nobody else waits for it.
    ///
    /// # Errors
    /// What `read` says.
    pub async fn read<T: Send + 'static>(
        self,
        read: impl FnOnce(&[u8]) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let Self(bytes) = self;
        if bytes.len() <= LARGE {
            return read(&bytes);
        }
        let _turn = LARGE_AT_ONCE.acquire().await;
        spawn_blocking(move || read(&bytes)).await.map_err(|_| Problem::server_error())?
    }
}

/// Longest identifier that a client may choose, in bytes: an index of the
/// database holds several of them.
const ID_BYTES_MAX: usize = 256;

/// Checks an identifier that the client chooses.
///
/// # Errors
/// It is too long, or has characters that do not print.
pub fn check_id(name: &str, id: &str) -> Result<(), Problem> {
    let reason = if id.len() > ID_BYTES_MAX {
        format!("is {} bytes long; an identifier has at most {ID_BYTES_MAX}", id.len())
    } else if id.contains(char::is_control) {
        "has characters that do not print".to_owned()
    } else {
        return Ok(());
    };
    Err(Problem::invalid(vec![format!("/{name}: {reason}")]))
}

/// A body of JSON, read with all that is wrong with it.
///
/// Routes about something that may not be there take it as a `Result` and look at
/// it after that: what does not exist is said before what cannot be read (AMB-05).
#[derive(Debug, Clone)]
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: RequestBody> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        Raw::from_request(request, state).await?.read(read_body).await.map(Self)
    }
}

/// Reads a body of JSON. Members that nobody takes are left alone: newer clients may send more.
///
/// # Errors
/// It is no JSON, or something in it is wrong.
pub fn read_body<T: RequestBody>(bytes: &[u8]) -> Result<T, Problem> {
    let json: Json = serde_json::from_slice(bytes)
        .map_err(|error| Problem::bad_request(format!("the body is no JSON: {error}")))?;
    deserr::deserialize(json).map_err(|issues: Issues| issues.in_order(T::ORDER))
}

#[cfg(test)]
mod tests {
    use deserr::Deserr;
    use serde_json::{Value, json};

    use super::*;
    use crate::problem::ISSUES_MAX;

    #[derive(Debug, PartialEq, Deserr)]
    #[deserr(error = Issues)]
    struct Sample {
        text: String,
        #[deserr(default, from(bool) = Some)]
        flag: Option<bool>,
        #[deserr(default)]
        parts: Vec<Sample>,
    }

    impl RequestBody for Sample {
        const ORDER: &'static [&'static str] = &["text", "flag"];
    }

    fn issues(body: &str) -> Value {
        let problem = read_body::<Sample>(body.as_bytes()).unwrap_err();
        serde_json::to_value(problem).unwrap()["issues"].clone()
    }

    #[test]
    fn all_faults_are_told_in_the_order_of_the_body() {
        let body = r#"{ "parts": [{}, 1, { "text": 2 }], "flag": null, "extra": true }"#;
        let expected = [
            "/text: is required",
            "/flag: expected true or false",
            "/parts/0/text: is required",
            "/parts/1: expected an object",
            "/parts/2/text: expected a string",
        ];
        assert_eq!(issues(body), json!(expected));
        assert_eq!(issues("[]"), json!([": expected an object"]));
    }

    #[test]
    fn nothing_is_read_after_a_hundred_faults() {
        let body = format!(r#"{{ "text": "x", "parts": [{}0] }}"#, "0,".repeat(10_000));
        let issues = issues(&body);
        assert_eq!(issues.as_array().unwrap().len(), ISSUES_MAX + 1);
        assert_eq!(issues[ISSUES_MAX], ": and more");
    }

    #[test]
    fn of_two_members_of_one_name_the_later_one_is_read() {
        let body = br#"{ "text": 1, "later": [], "text": "x" }"#;
        let expected = Sample { text: "x".to_owned(), flag: None, parts: Vec::new() };
        assert_eq!(read_body::<Sample>(body).unwrap(), expected);
    }
}

//! Extractors of paths, queries and bodies; each refusal is a problem.
use std::borrow::Cow;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, FailedToBufferBody};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::Uri;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::problem::{ISSUES_MAX, Problem};

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

/// Problem of a body that is no JSON.
#[must_use]
pub fn no_json(error: &serde_json::Error) -> Problem {
    Problem::bad_request(format!("the body is no JSON: {error}"))
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

/// A body that is a JSON object.
///
/// Routes about something that may not be there take it as a `Result` and look at
/// it after that: what does not exist is said before what cannot be read (AMB-05).
#[derive(Debug, Clone)]
pub struct Body(Map<String, Value>);

impl<S: Send + Sync> FromRequest<S> for Body {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        Raw::from_request(request, state).await?.read(Self::parse).await
    }
}

impl Body {
    fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(members)) => Ok(Self(members)),
            Ok(_) => Err(Problem::invalid(vec![": expected an object".to_owned()])),
            Err(error) => Err(no_json(&error)),
        }
    }
}

/// A body that may be left out where all of its members may.
#[derive(Debug, Clone)]
pub struct MaybeBody(Option<Body>);

impl<S: Send + Sync> FromRequest<S> for MaybeBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let raw = Raw::from_request(request, state).await?;
        if raw.0.is_empty() {
            return Ok(Self(None));
        }
        raw.read(Body::parse).await.map(|body| Self(Some(body)))
    }
}

impl From<MaybeBody> for BodyReader {
    fn from(MaybeBody(body): MaybeBody) -> Self {
        body.unwrap_or_else(|| Body(Map::new())).into()
    }
}

/// The members of a body, taken one by one, with all that is wrong with them.
///
/// Members that nobody takes are left alone: newer clients may send more.
#[derive(Debug)]
pub struct BodyReader {
    members: Map<String, Value>,
    issues: Vec<String>,
}

impl From<Body> for BodyReader {
    fn from(Body(members): Body) -> Self {
        Self { members, issues: Vec::new() }
    }
}

impl BodyReader {
    /// A member that must be there. `read` says what it expected, if it got something else.
    pub fn required<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<T> {
        if !self.members.contains_key(name) {
            self.issue(name, "is required");
            return None;
        }
        self.optional(name, read)
    }

    /// A member that may be missing. Null is a value like any other, for `read` to judge.
    pub fn optional<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.members.get(name)?;
        read(value).map_err(|reason| self.issue(name, &reason)).ok()
    }

    /// Adds what is wrong with a member.
    pub fn issue(&mut self, name: &str, reason: &str) {
        // One more than are listed shows that there are more.
        if self.issues.len() <= ISSUES_MAX {
            self.issues.push(format!("/{name}: {reason}"));
        }
    }

    /// The value, unless something was wrong.
    ///
    /// # Errors
    /// All that was wrong.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, Problem> {
        match value {
            Some(value) if self.issues.is_empty() => Ok(value),
            _ => Err(Problem::invalid(self.issues)),
        }
    }
}

/// Reads a text.
///
/// # Errors
/// The value is none.
pub fn read_text(value: &Value) -> Result<String, String> {
    value.as_str().map(ToOwned::to_owned).ok_or_else(|| "expected a string".to_owned())
}

/// Reads a number.
///
/// # Errors
/// The value is none.
pub fn read_number(value: &Value) -> Result<f64, String> {
    value.as_f64().ok_or_else(|| "expected a number".to_owned())
}

/// Reads true or false.
///
/// # Errors
/// The value is neither.
pub fn read_bool(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| "expected true or false".to_owned())
}

/// A name as a part of a JSON pointer.
pub(crate) fn pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn members(value: &Value) -> BodyReader {
        Body(value.as_object().unwrap().clone()).into()
    }

    #[test]
    fn all_that_is_wrong_is_said() {
        let mut members = members(&json!({ "a": 1, "b": null, "extra": true }));
        let a = members.required("a", read_text);
        let b = members.optional("b", read_text);
        let c = members.required("c", read_text);
        assert_eq!((&a, &b, &c), (&None, &None, &None));
        let problem = serde_json::to_value(members.finish(a).unwrap_err()).unwrap();
        let expected = ["/a: expected a string", "/b: expected a string", "/c: is required"];
        assert_eq!(problem["issues"], json!(expected));
    }

    #[test]
    fn a_body_without_faults_is_read() {
        let mut members = members(&json!({ "a": "x", "later": 1 }));
        let a = members.required("a", read_text);
        assert_eq!(members.optional("b", read_text), None);
        assert_eq!(members.finish(a).unwrap(), "x");
    }
}

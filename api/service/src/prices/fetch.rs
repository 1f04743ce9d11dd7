//! One request of a price feed: a file, or an address by HTTP with conditional requests.
//!
//! A request names the validators of the last reply (RFC 9110, section 13.1), and the server answers
//! 304 where nothing has changed. Redirects are not followed: a token must not go elsewhere.
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use http::header::{
    AUTHORIZATION, ETAG, HeaderMap, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
    RETRY_AFTER, USER_AGENT,
};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::config::feeds::{FeedFormat, FeedSettings};
use crate::prices::requests::{FeedRequest, Source, add_query, hash_text, read_refusal};
use slackwater_https::client::{self, HttpsClient};
use slackwater_https::failure::describe_failure;
use slackwater_store::price_feeds::Validators;

/// Longest reply. Two days of a zone have some tens of kilobytes.
const REPLY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Longest validator that is kept. Without it the next request is not conditional.
const VALIDATOR_LENGTH_MAX: usize = 1024;

/// Reply to a request.
#[derive(Debug)]
pub(crate) enum Reply {
    /// It is the same as the last one.
    Unchanged,
    /// The prices of tomorrow are not there yet.
    NotPublished,
    /// A text with prices.
    Text {
        /// The text.
        text: String,
        /// Its validators.
        validators: Validators,
    },
}

/// Reason why there is no reply.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    /// The file cannot be read.
    #[error("cannot read {}: {reason}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Error of the system.
        reason: io::Error,
    },
    /// The server is not there, or does not speak HTTP, or its reply breaks off.
    #[error("not reached: {reason}")]
    Unreached {
        /// Error of the connection.
        reason: String,
    },
    /// It took too long.
    #[error("no reply in {seconds} s")]
    TimedOut {
        /// Length of the wait.
        seconds: u32,
    },
    /// The reply leads elsewhere.
    #[error("answered {status}; redirects are not followed: set the url to which it leads")]
    Redirect {
        /// Its status.
        status: StatusCode,
    },
    /// The server answered, but without prices.
    #[error("answered {status}{reason}")]
    Refused {
        /// Its status.
        status: StatusCode,
        /// Reason that it gives, after a colon; empty without one.
        reason: String,
        /// Time that it asks to wait.
        retry_after: Option<TimeDelta>,
    },
    /// The reply is too long.
    #[error("the reply is longer than {} MiB", REPLY_BYTES_MAX / 1024 / 1024)]
    TooLong,
    /// The reply is no text.
    #[error("the reply is not text in UTF-8")]
    NotText,
}

impl FetchError {
    /// Time that the server asks to wait.
    pub(crate) fn retry_after(&self) -> Option<TimeDelta> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// Asks for a reply, unless it is the one that `last` validates.
pub(crate) async fn fetch_reply(
    client: &HttpsClient,
    feed: &FeedSettings,
    request: &FeedRequest,
    last: Option<&Validators>,
    now: DateTime<Utc>,
) -> Result<Reply, FetchError> {
    match &request.source {
        Source::File(file) => read_file(file.clone(), last).await,
        Source::Url(url) => {
            let seconds = feed.timeout_seconds;
            let asked = request_reply(client, feed, (url, request.may_be_missing), last, now);
            let asked = timeout(Duration::from_secs(seconds.into()), asked).await;
            asked.unwrap_or(Err(FetchError::TimedOut { seconds }))
        }
    }
}

/// Reads a file. A hash of its text is its validator.
async fn read_file(file: PathBuf, last: Option<&Validators>) -> Result<Reply, FetchError> {
    let path = file.clone();
    let read = move || {
        let mut bytes = Vec::new();
        let limit = u64::try_from(REPLY_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
        File::open(&path)?.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let read = spawn_blocking(read).await.unwrap_or_else(|error| Err(io::Error::other(error)));
    let bytes = read.map_err(|reason| FetchError::File { file, reason })?;
    if bytes.len() > REPLY_BYTES_MAX {
        return Err(FetchError::TooLong);
    }
    let text = String::from_utf8(bytes).map_err(|_| FetchError::NotText)?;
    let validators = Validators { etag: Some(hash_text(&text)), last_modified: None };
    if last == Some(&validators) {
        return Ok(Reply::Unchanged);
    }
    Ok(Reply::Text { text, validators })
}

async fn request_reply(
    client: &HttpsClient,
    feed: &FeedSettings,
    (url, may_be_missing): (&str, bool),
    last: Option<&Validators>,
    now: DateTime<Utc>,
) -> Result<Reply, FetchError> {
    let unreached = |reason: String| FetchError::Unreached { reason };
    let request =
        conditional_request(feed, url, last).map_err(|error| unreached(error.to_string()))?;
    let answer = client.request(request).await;
    let (head, body) = answer.map_err(|error| unreached(describe_failure(&error)))?.into_parts();
    let is_conditional =
        last.is_some_and(|last| last.etag.is_some() || last.last_modified.is_some());
    match head.status {
        StatusCode::OK => {
            let text = read_body(body).await?;
            Ok(Reply::Text { text, validators: validators_of(&head.headers) })
        }
        StatusCode::NOT_MODIFIED if is_conditional => Ok(Reply::Unchanged),
        StatusCode::NO_CONTENT | StatusCode::NOT_FOUND if may_be_missing => Ok(Reply::NotPublished),
        status if status.is_redirection() && status != StatusCode::NOT_MODIFIED => {
            Err(FetchError::Redirect { status })
        }
        status => {
            let retry_after = head.headers.get(RETRY_AFTER).and_then(|wait| wait.to_str().ok());
            let retry_after = retry_after.and_then(|wait| read_retry_after(wait, now));
            // ENTSO-E gives a reason in the form of its documents. Other pages may say anything.
            let said = match feed.format {
                FeedFormat::Entsoe => read_body(body).await.ok().and_then(|it| read_refusal(&it)),
                FeedFormat::List | FeedFormat::Nordpool => None,
            };
            let reason = said.map(|said| format!(": {said}")).unwrap_or_default();
            Err(FetchError::Refused { status, reason, retry_after })
        }
    }
}

/// Time that a server asks to wait: seconds, or an instant.
fn read_retry_after(text: &str, now: DateTime<Utc>) -> Option<TimeDelta> {
    if let Ok(seconds) = text.trim().parse::<u32>() {
        return Some(TimeDelta::seconds(seconds.into()));
    }
    let at = DateTime::parse_from_rfc2822(text.trim()).ok()?;
    Some((at.to_utc() - now).max(TimeDelta::zero()))
}

/// A request that names the validators of the last reply, and carries the token of the publisher.
fn conditional_request(
    feed: &FeedSettings,
    url: &str,
    last: Option<&Validators>,
) -> Result<Request<Full<Bytes>>, http::Error> {
    let token = feed.token.as_ref();
    let url = match (feed.format, token) {
        (FeedFormat::Entsoe, Some(token)) => add_query(url, &[("securityToken", token.text())]),
        _ => url.to_owned(),
    };
    let mut request = Request::get(url).header(USER_AGENT, client::USER_AGENT);
    if let Some(token) = token.filter(|_| feed.format != FeedFormat::Entsoe) {
        request = request.header(AUTHORIZATION, format!("Bearer {}", token.text()));
    }
    if let Some(etag) = last.and_then(|last| last.etag.as_ref()) {
        request = request.header(IF_NONE_MATCH, etag);
    }
    if let Some(at) = last.and_then(|last| last.last_modified.as_ref()) {
        request = request.header(IF_MODIFIED_SINCE, at);
    }
    request.body(Full::default())
}

/// Validators of a reply, for the next request.
fn validators_of(headers: &HeaderMap) -> Validators {
    let text = |name: HeaderName| {
        let text = headers.get(name).and_then(|value| value.to_str().ok());
        text.filter(|text| text.len() <= VALIDATOR_LENGTH_MAX).map(ToOwned::to_owned)
    };
    Validators { etag: text(ETAG), last_modified: text(LAST_MODIFIED) }
}

async fn read_body(body: Incoming) -> Result<String, FetchError> {
    let read = Limited::new(body, REPLY_BYTES_MAX).collect().await;
    let bytes = read.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => FetchError::TooLong,
        None => FetchError::Unreached { reason: describe_failure(&*error) },
    })?;
    String::from_utf8(bytes.to_bytes().into()).map_err(|_| FetchError::NotText)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_seconds_or_an_instant() {
        let now = "2026-01-05T12:00:00Z".parse().unwrap();
        let wait = |text| read_retry_after(text, now).map(|wait| wait.num_seconds());
        assert_eq!(wait("120"), Some(120));
        assert_eq!(wait("Mon, 05 Jan 2026 12:01:30 GMT"), Some(90));
        assert_eq!(wait("Mon, 05 Jan 2026 11:00:00 GMT"), Some(0));
        assert_eq!(wait("soon"), None);
        assert_eq!(wait("-5"), None);
    }
}

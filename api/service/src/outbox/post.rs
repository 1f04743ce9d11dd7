//! One request to a receiver.
use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use tokio::time::timeout;

use slackwater_https::client::{HttpsClient, TlsError, USER_AGENT, connect_https};
use slackwater_https::failure::describe_failure;
use slackwater_store::signing::SigningSecret;
use slackwater_store::trace::TRACEPARENT;

/// Longest part of an answer that is read, so that its connection can be used again.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Headers of Standard Webhooks.
const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// Reason why a receiver did not get an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// It is not there, or does not speak HTTP.
    #[error("not reached: {reason}")]
    Unreached {
        /// Failure of the connection, in words of `slackwater_https`.
        reason: String,
    },
    /// It took too long.
    #[error("no answer in {seconds} s")]
    TimedOut {
        /// Length of the wait.
        seconds: u64,
    },
    /// It answered, but did not take it.
    #[error("answered {status}")]
    Refused {
        /// Its answer.
        status: StatusCode,
    },
}

/// Request to a receiver.
#[derive(Debug, Clone, Copy)]
pub struct WebhookRequest<'a> {
    /// Address of the receiver.
    pub url: &'a str,
    /// The identifier of the event.
    pub id: &'a str,
    /// Seconds since 1970.
    pub timestamp: i64,
    /// The body.
    pub body: &'a str,
    /// Secret that signs the request.
    pub secret: Option<&'a SigningSecret>,
    /// Trace context, if the delivery is part of a trace.
    pub traceparent: Option<&'a str>,
}

/// Future of a request to a receiver.
pub type Posting<'a> = Pin<Box<dyn Future<Output = Result<(), PostError>> + Send + 'a>>;

/// Way to the receivers: the network, or that of a simulation.
pub trait Transport: fmt::Debug + Send + Sync {
    /// Posts a letter. Only a status from 200 to 299 says that it arrived.
    fn post<'a>(&'a self, letter: &'a WebhookRequest<'a>) -> Posting<'a>;
}

/// Connections to receivers, kept open between requests.
#[derive(Debug, Clone)]
pub struct Http {
    client: HttpsClient,
    patience: Duration,
}

impl Http {
    /// Trusts what the system trusts.
    ///
    /// # Errors
    /// There is no TLS. That the system trusts nobody is only logged: receivers
    /// without TLS can be reached all the same.
    pub fn new(patience: Duration) -> Result<Self, TlsError> {
        Ok(Self { client: connect_https()?, patience })
    }

    /// Sends a letter. Other addresses are not followed.
    async fn send(&self, letter: &WebhookRequest<'_>) -> Result<(), PostError> {
        let unreached = |reason: String| PostError::Unreached { reason };
        let request = webhook_request(letter).map_err(|error| unreached(error.to_string()))?;
        let answered = async {
            let answer = self.client.request(request).await;
            let answer = answer.map_err(|error| unreached(describe_failure(&error)))?;
            let status = answer.status();
            // What it says does not matter, and neither does a body that breaks off.
            let _: Result<_, _> =
                Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
            if status.is_success() { Ok(()) } else { Err(PostError::Refused { status }) }
        };
        let seconds = self.patience.as_secs();
        timeout(self.patience, answered).await.unwrap_or(Err(PostError::TimedOut { seconds }))
    }
}

impl Transport for Http {
    fn post<'a>(&'a self, letter: &'a WebhookRequest<'a>) -> Posting<'a> {
        Box::pin(self.send(letter))
    }
}

fn webhook_request(letter: &WebhookRequest<'_>) -> Result<Request<Full<Bytes>>, http::Error> {
    let body = Full::new(Bytes::copy_from_slice(letter.body.as_bytes()));
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(letter.url)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::USER_AGENT, USER_AGENT)
        .body(body)?;
    if let Some(secret) = letter.secret {
        let signature = secret.sign(letter.id, letter.timestamp, letter.body);
        let headers = request.headers_mut();
        headers.insert(ID, HeaderValue::from_str(letter.id)?);
        headers.insert(TIMESTAMP, HeaderValue::from(letter.timestamp));
        headers.insert(SIGNATURE, HeaderValue::from_str(&signature)?);
    }
    if let Some(traceparent) = letter.traceparent {
        request.headers_mut().insert(TRACEPARENT, HeaderValue::from_str(traceparent)?);
    }
    Ok(request)
}

//! Requests over HTTP and TLS, with limits of time and size.
use std::error::Error;
use std::time::Duration;

use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;
use tracing::warn;

/// Body of a request.
pub type Body = Full<Bytes>;

/// Time in which an answer must have arrived. Three requests of a turn, the last of which fails, stay
/// well below the two minutes after which a service takes silence as a lost heartbeat.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// Largest answer in bytes.
const ANSWER_MAX: usize = 8 << 20;

/// Longest answer of a refusal in a message, in characters.
const TOLD_MAX: usize = 300;

/// Failure of a request.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// No answer.
    #[error("{url}: {reason}")]
    Unanswered {
        /// Address of the request.
        url: String,
        /// Innermost cause.
        reason: String,
    },
    /// An answer that says no.
    #[error("{url} answers {status}: {told}")]
    Refused {
        /// Address of the request.
        url: String,
        /// Status of the answer.
        status: StatusCode,
        /// Start of the answer.
        told: String,
    },
    /// An answer that cannot be read.
    #[error("{url}: the answer cannot be read: {reason}")]
    Unreadable {
        /// Address of the request.
        url: String,
        /// Place and reason.
        reason: String,
    },
}

impl RequestError {
    /// Returns true if the answer was that the token is not good, or not any more.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        matches!(self, Self::Refused { status: StatusCode::UNAUTHORIZED, .. })
    }
}

/// Client that trusts what the system trusts, and follows no redirects.
#[derive(Debug, Clone)]
pub struct Https {
    client: Client<HttpsConnector<HttpConnector>, Body>,
    /// Name of the program in its requests.
    agent: HeaderValue,
}

impl Https {
    /// Makes a client of a program with a name and a version, such as `slackwater-openadr/0.1.0`.
    ///
    /// # Errors
    /// There is no TLS.
    pub fn new(agent: &'static str) -> Result<Self, rustls::Error> {
        let mut trusted = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        trusted.add_parsable_certificates(found.certs);
        if trusted.is_empty() {
            warn!(reasons = ?found.errors, "the system has no certificates: only http is possible");
        }
        let provider = rustls::crypto::ring::default_provider();
        let tls = ClientConfig::builder_with_provider(provider.into())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(trusted)
            .with_no_client_auth();
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
        let client = Client::builder(TokioExecutor::new()).build(connector.enable_http1().build());
        Ok(Self { client, agent: HeaderValue::from_static(agent) })
    }

    /// Sends a request and reads the JSON of the answer.
    ///
    /// # Errors
    /// There is no answer in time, it says no, or it cannot be read.
    pub async fn read_json<T: serde::de::DeserializeOwned>(
        &self,
        mut request: Request<Body>,
    ) -> Result<T, RequestError> {
        let url = request.uri().to_string();
        request.headers_mut().insert(header::USER_AGENT, self.agent.clone());
        let unanswered = |reason: String| RequestError::Unanswered { url: url.clone(), reason };
        let answer = async {
            let answer = self
                .client
                .request(request)
                .await
                .map_err(|error| unanswered(innermost_cause(&error)))?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await;
            let body = body.map_err(|error| unanswered(innermost_cause(error.as_ref())))?;
            Ok((status, body.to_bytes()))
        };
        let late = || unanswered(format!("no answer within {} s", ANSWER_TIME.as_secs()));
        let (status, body) = timeout(ANSWER_TIME, answer).await.unwrap_or_else(|_| Err(late()))?;
        if !status.is_success() {
            let told = String::from_utf8_lossy(&body).chars().take(TOLD_MAX).collect();
            return Err(RequestError::Refused { url, status, told });
        }
        let mut reader = serde_json::Deserializer::from_slice(&body);
        serde_path_to_error::deserialize(&mut reader)
            .map_err(|error| RequestError::Unreadable { url, reason: error.to_string() })
    }
}

/// The innermost cause of an error, such as `Connection refused`.
fn innermost_cause(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

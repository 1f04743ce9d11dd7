//! Requests over HTTP and TLS, with limits of time and size.
use std::time::Duration;

use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use slackwater_https::client::{HttpsClient, PemFiles, TlsError, connect_with_files};
use slackwater_https::failure::describe_failure;
use tokio::time::timeout;

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
        /// Failure of the connection.
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

/// Client that trusts what the system trusts, or an authority of its own, and follows no redirects.
#[derive(Debug, Clone)]
pub struct Https {
    client: HttpsClient,
    /// Name of the program in its requests.
    agent: HeaderValue,
}

impl Https {
    /// Makes a client of a program, such as `slackwater-openadr`, which its requests name with its
    /// version.
    ///
    /// # Errors
    /// There is no TLS.
    ///
    /// # Panics
    /// The name has characters that a header cannot have.
    pub fn of_program(name: &str) -> Result<Self, TlsError> {
        Self::with_files(name, &PemFiles::default())
    }

    /// Makes a client of a program with an authority and a certificate of its own.
    ///
    /// # Errors
    /// There is no TLS, or a file is missing or holds something else.
    ///
    /// # Panics
    /// The name has characters that a header cannot have.
    pub fn with_files(name: &str, files: &PemFiles) -> Result<Self, TlsError> {
        let agent = format!("{name}/{}", env!("CARGO_PKG_VERSION"));
        let agent = HeaderValue::try_from(agent).expect("a name of plain letters");
        Ok(Self { client: connect_with_files(files)?, agent })
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
                .map_err(|error| unanswered(describe_failure(&error)))?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await;
            let body = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
                Some(_) => {
                    unanswered(format!("the answer is longer than {} MiB", ANSWER_MAX >> 20))
                }
                None => unanswered(describe_failure(error.as_ref())),
            })?;
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

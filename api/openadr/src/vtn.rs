//! Events of a program at a VTN, and the access token that it asks for.
//!
//! The token is that of the client credentials grant (RFC 6749, section 4.4), with name and secret by
//! HTTP Basic. It is asked for again a minute before it expires, and after the VTN refused it.
use std::collections::BTreeSet;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use form_urlencoded::Serializer;
use http::{Request, header};
use serde::Deserialize;
use slackwater_grid_client::http::{Body, Https, RequestError};
use tokio::time::Instant;

use crate::event::Event;

/// Events of one page: the most that a VTN gives, by the `OpenAPI` file.
const PAGE_EVENTS: usize = 50;

/// Most pages. More events than these are a fault of the VTN, such as one that ignores `skip`.
const PAGES_MAX: usize = 100;

/// Time before the end of a token at which another is asked for.
const TOKEN_MARGIN: Duration = Duration::from_mins(1);

/// Validity of a token whose answer does not tell it.
const TOKEN_TIME: Duration = Duration::from_hours(1);

/// Failure to read events.
#[derive(Debug, thiserror::Error)]
pub enum VtnError {
    /// A request failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// A request could not be made.
    #[error("cannot ask the VTN: {0}")]
    Form(#[from] http::Error),
    /// Too many events.
    #[error("the program has {} events or more", PAGE_EVENTS * PAGES_MAX)]
    TooMany,
    /// A token of another kind.
    #[error("the token is of the type {0:?}; it must be a bearer token")]
    NoBearer(String),
}

/// Name and secret of a client, and the address that gives tokens for them.
#[derive(Clone)]
pub struct Credentials {
    /// Address of tokens.
    pub token_url: String,
    /// Name.
    pub client_id: String,
    /// Secret.
    pub client_secret: String,
}

/// VTN with a program.
pub struct Vtn {
    https: Https,
    url: String,
    program: String,
    credentials: Option<Credentials>,
    token: Option<Token>,
}

struct Token {
    text: String,
    renewed_at: Instant,
}

#[derive(Deserialize)]
struct TokenAnswer {
    access_token: String,
    token_type: String,
    expires_in: Option<u64>,
}

impl Vtn {
    /// VTN at an address without a slash at its end. Without credentials requests have no token.
    #[must_use]
    pub const fn new(
        https: Https,
        url: String,
        program: String,
        credentials: Option<Credentials>,
    ) -> Self {
        Self { https, url, program, credentials, token: None }
    }

    /// All events of the program.
    ///
    /// # Errors
    /// No token is given, or a page does not arrive or cannot be read.
    pub async fn read_events(&mut self) -> Result<Vec<Event>, VtnError> {
        let (mut events, mut seen, mut skip) = (Vec::new(), BTreeSet::new(), 0);
        for _ in 0..PAGES_MAX {
            let read = self.read_page(skip).await;
            if matches!(&read, Err(VtnError::Request(error)) if error.is_unauthorized()) {
                self.token = None;
            }
            let read = read?;
            // A VTN may give fewer events than a page has room for: the last page has none.
            if read.is_empty() {
                return Ok(events);
            }
            skip += read.len();
            let count = seen.len();
            for event in read.into_iter().filter(|event| seen.insert(event.id.clone())) {
                // A VTN may ignore the parameter of the program.
                if event.program_id == self.program {
                    events.push(event);
                }
            }
            // One that ignores `skip` gives the same events again, all of them or the first ones.
            if seen.len() == count {
                return if count < PAGE_EVENTS { Ok(events) } else { Err(VtnError::TooMany) };
            }
        }
        Err(VtnError::TooMany)
    }

    async fn read_page(&mut self, skip: usize) -> Result<Vec<Event>, VtnError> {
        let query = Serializer::new(String::new())
            .append_pair("programID", &self.program)
            .append_pair("skip", &skip.to_string())
            .append_pair("limit", &PAGE_EVENTS.to_string())
            .finish();
        let mut request = Request::get(format!("{}/events?{query}", self.url))
            .header(header::ACCEPT, "application/json");
        if let Some(token) = self.current_token().await? {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        Ok(self.https.read_json(request.body(Body::default())?).await?)
    }

    /// Token that is good for a minute at least; `None` without credentials.
    async fn current_token(&mut self) -> Result<Option<&str>, VtnError> {
        let Some(credentials) = &self.credentials else { return Ok(None) };
        let now = Instant::now();
        if self.token.as_ref().is_none_or(|token| token.renewed_at <= now) {
            self.token = Some(ask_token(&self.https, credentials, now).await?);
        }
        Ok(self.token.as_ref().map(|token| token.text.as_str()))
    }
}

async fn ask_token(
    https: &Https,
    credentials: &Credentials,
    now: Instant,
) -> Result<Token, VtnError> {
    let Credentials { token_url, client_id, client_secret } = credentials;
    let basic = STANDARD.encode(format!("{client_id}:{client_secret}"));
    let request = Request::post(token_url)
        .header(header::ACCEPT, "application/json")
        .header(header::AUTHORIZATION, format!("Basic {basic}"))
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from("grant_type=client_credentials"))?;
    let answer: TokenAnswer = https.read_json(request).await?;
    if !answer.token_type.eq_ignore_ascii_case("bearer") {
        return Err(VtnError::NoBearer(answer.token_type));
    }
    // A validity beyond a day is cut: the sum must not leave the range of the clock.
    let validity =
        answer.expires_in.map_or(TOKEN_TIME, |seconds| Duration::from_secs(seconds.min(86_400)));
    let renewed_at = now + validity.saturating_sub(TOKEN_MARGIN);
    Ok(Token { text: answer.access_token, renewed_at })
}

//! A manufacturer's own log-in: an authorization server with PKCE, as a test wants it.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::json;
use sha2::{Digest, Sha256};
use slackwater_integration::authorization::{Authorization, ClientSecret, Endpoint};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// The one redirect URI that is registered.
pub(crate) const REDIRECT: &str = "http://link.localhost/link/return/FJORD";

const CLIENT: &str = "slackwater";
const SECRET: &str = "s:cr/t";

/// Behaviour of the page and of the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    /// The owner allows access, and the code is exchanged.
    Allow,
    /// The page comes back with an error.
    Fail(&'static str),
    /// The token endpoint is down.
    Down,
    /// The token endpoint does not know the client.
    Forget,
    /// The token endpoint issues tokens, and its answer is lost on the way.
    Lose,
}

/// A code that was issued, with its challenge.
#[derive(Debug)]
struct Issued {
    challenge: String,
    is_used: bool,
}

#[derive(Debug)]
struct Provided {
    does: Does,
    codes: BTreeMap<String, Issued>,
    /// Requests for tokens so far.
    asked: watch::Sender<usize>,
    /// Number of times that the refresh token was replaced.
    rotations: usize,
    /// The refresh token before the present one is accepted, too, and yields the present one.
    has_grace: bool,
    /// A refresh token was used twice: all tokens of the log-in are void (RFC 9700, section 4.14.2).
    is_revoked: bool,
}

/// An authorization server. Its page is called by [`authorize`](Self::authorize), as a browser
/// would; its token endpoint has a socket.
pub(crate) struct Provider {
    state: Arc<Mutex<Provided>>,
    hangs: watch::Sender<bool>,
    address: String,
    served: AbortHandle,
}

#[derive(Clone)]
struct Served {
    state: Arc<Mutex<Provided>>,
    hangs: watch::Receiver<bool>,
}

impl Provider {
    pub(crate) async fn start() -> Self {
        let provided = Provided {
            does: Does::Allow,
            codes: BTreeMap::new(),
            asked: watch::Sender::new(0),
            rotations: 0,
            has_grace: false,
            is_revoked: false,
        };
        let (state, hangs) = (Arc::new(Mutex::new(provided)), watch::Sender::new(false));
        let served = Served { state: Arc::clone(&state), hangs: hangs.subscribe() };
        let router = Router::new().route("/token", post(issue_tokens)).with_state(served);
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", socket.local_addr().unwrap());
        let served = tokio::spawn(async move { axum::serve(socket, router).await.unwrap() });
        Self { state, hangs, address, served: served.abort_handle() }
    }

    /// Declaration of an integration that uses it.
    pub(crate) fn declared(&self) -> Authorization {
        let endpoint = |path| Endpoint::parse(&format!("{}{path}", self.address)).unwrap();
        Authorization {
            authorization_endpoint: endpoint("/authorize?brand=fjord"),
            token_endpoint: endpoint("/token"),
            client_id: CLIENT.to_owned(),
            client_secret: Some(ClientSecret::Basic(SECRET.to_owned())),
            scopes: vec!["cars".to_owned(), "offline".to_owned()],
            parameters: vec![("audience".to_owned(), "fleet".to_owned())],
        }
    }

    pub(crate) fn does(&self, does: Does) {
        self.state.lock().unwrap().does = does;
    }

    /// While true, the token endpoint does not answer.
    pub(crate) fn hang(&self, hangs: bool) {
        self.hangs.send_replace(hangs);
    }

    /// Requests for tokens so far.
    pub(crate) fn asked(&self) -> usize {
        *self.state.lock().unwrap().asked.borrow()
    }

    /// Waits until it was asked for tokens so often.
    pub(crate) async fn was_asked(&self, count: usize) {
        let mut asked = self.state.lock().unwrap().asked.subscribe();
        asked.wait_for(|asked| *asked >= count).await.unwrap();
    }

    /// From now on the refresh token before the present one is accepted, too.
    pub(crate) fn gives_grace(&self) {
        self.state.lock().unwrap().has_grace = true;
    }

    /// Other tokens take the place of the present ones, as at a log-in elsewhere.
    pub(crate) fn rotates(&self) {
        self.state.lock().unwrap().rotations += 1;
    }

    /// Number of times that the refresh token was replaced; `None` after one was used twice.
    pub(crate) fn rotations(&self) -> Option<usize> {
        let provided = self.state.lock().unwrap();
        (!provided.is_revoked).then_some(provided.rotations)
    }

    /// The page: checks the address that a browser was sent to, and returns the path to which it
    /// leads back.
    pub(crate) fn authorize(&self, address: &str) -> String {
        let uri: Uri = address.parse().unwrap();
        assert!(address.starts_with(&format!("{}/authorize?brand=fjord&", self.address)));
        let query = pairs(uri.query().unwrap().as_bytes());
        let given = |name: &str| query.get(name).map_or("", String::as_str);
        assert_eq!(
            ["response_type", "client_id", "redirect_uri", "scope", "audience"].map(given),
            ["code", CLIENT, REDIRECT, "cars offline", "fleet"]
        );
        assert_eq!(given("code_challenge_method"), "S256");
        assert_eq!(given("code_challenge").len(), 43);
        let mut back = form_urlencoded::Serializer::new(String::new());
        back.append_pair("state", given("state"));
        let mut provided = self.state.lock().unwrap();
        if let Does::Fail(error) = provided.does {
            back.append_pair("error", error).append_pair("error_description", "<b>no</b>");
        } else {
            let code = format!("code/{}", provided.codes.len());
            let challenge = given("code_challenge").to_owned();
            provided.codes.insert(code.clone(), Issued { challenge, is_used: false });
            back.append_pair("code", &code);
        }
        let path = REDIRECT.strip_prefix("http://link.localhost").unwrap();
        format!("{path}?{}", back.finish())
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.served.abort();
    }
}

fn pairs(text: &[u8]) -> BTreeMap<String, String> {
    let all: Vec<_> = form_urlencoded::parse(text).into_owned().collect();
    let pairs: BTreeMap<String, String> = all.iter().cloned().collect();
    assert_eq!(pairs.len(), all.len(), "a parameter is there twice");
    pairs
}

/// The token endpoint (RFC 6749, section 4.1.3; RFC 7636, section 4.6).
async fn issue_tokens(State(served): State<Served>, headers: HeaderMap, body: String) -> Response {
    let does = {
        let provided = served.state.lock().unwrap();
        provided.asked.send_modify(|asked| *asked += 1);
        provided.does
    };
    served.hangs.clone().wait_for(|hangs| !hangs).await.unwrap();
    let refused =
        |status: StatusCode, error: &str| (status, Json(json!({ "error": error }))).into_response();
    match does {
        Does::Down => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Does::Forget => return refused(StatusCode::UNAUTHORIZED, "invalid_client"),
        Does::Allow | Does::Fail(_) | Does::Lose => {}
    }
    // The secret is encoded before it is joined to the name.
    let credentials = format!("Basic {}", STANDARD.encode(format!("{CLIENT}:s%3Acr%2Ft")));
    let given = headers.get(header::AUTHORIZATION).map_or("", |value| value.to_str().unwrap());
    assert_eq!(given, credentials);
    let form = pairs(body.as_bytes());
    let number = served.state.lock().unwrap().tokens_for(&form);
    if does == Does::Lose {
        std::future::pending::<()>().await;
    }
    let Some(number) = number else { return refused(StatusCode::BAD_REQUEST, "invalid_grant") };
    Json(json!({
        "access_token": token("access", number), "refresh_token": token("refresh", number),
        "token_type": "Bearer", "expires_in": 3600,
    }))
    .into_response()
}

/// Token after so many rotations.
pub(crate) fn token(kind: &str, number: usize) -> String {
    if number == 0 {
        format!("{kind}-token-of-ada")
    } else {
        format!("{kind}-token-of-ada-{number}")
    }
}

impl Provided {
    /// Number of the tokens that a grant yields; `None` if it is not accepted.
    fn tokens_for(&mut self, form: &BTreeMap<String, String>) -> Option<usize> {
        match form["grant_type"].as_str() {
            "authorization_code" => {
                let issued = self.codes.get_mut(&form["code"])?;
                let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&form["code_verifier"]));
                let is_its_own = challenge == issued.challenge && form["redirect_uri"] == REDIRECT;
                if issued.is_used || !is_its_own {
                    return None;
                }
                issued.is_used = true;
                self.is_revoked = false;
                Some(self.rotations)
            }
            "refresh_token" => self.rotate(&form["refresh_token"]),
            other => panic!("{other}"),
        }
    }

    fn rotate(&mut self, given: &str) -> Option<usize> {
        let is_before = self.rotations > 0 && given == token("refresh", self.rotations - 1);
        if given == token("refresh", self.rotations) && !self.is_revoked {
            self.rotations += 1;
        } else if !is_before || !self.has_grace {
            self.is_revoked = true;
        }
        (!self.is_revoked).then_some(self.rotations)
    }
}

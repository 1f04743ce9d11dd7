//! The way to a manufacturer's own page, and back.
//!
//! The browser is sent away with a `state` that is sealed with its own secret: another browser, and
//! one without cookies, cannot open it (CSRF, RFC 9700, section 4.7). It names the link session and
//! the attempt, whose verifier is kept with the progress of the session. A `state` goes on once: of
//! several returns with one `state` the first takes the attempt, before the manufacturer is asked.
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use tracing::{error, warn};

use super::browser::Browser;
use super::form::Form;
use super::frame::Frame;
use super::routes::{Entered, Visit, VisitError, elsewhere, page, redirect};
use slackwater_http::problem::LinkPageError;
use slackwater_integration::authorization::Authorization;
use slackwater_integration::error::VendorError;
use slackwater_integration::profile::VendorCode;
use slackwater_integration::vendor::LogIn;
use slackwater_service::config::texts::fill;
use slackwater_service::linking::authorization::{
    Attempted, CodeGrant, authorization_address, challenge, redirect_uri,
};
use slackwater_service::linking::ending::Failure;
use slackwater_service::linking::flow::{self, Attempt, Credentials};
use slackwater_service::linking::session::{Progress, Step};
use slackwater_service::state::App;

/// Name for which a `state` is sealed. No hash of a session is like it.
const RETURN: &str = "return";

/// Content of a `state`.
#[derive(Serialize, Deserialize)]
struct ReturnState {
    /// Token of the link session.
    token: String,
    /// Nonce of the attempt.
    nonce: String,
}

/// Takes a browser back from a manufacturer's page.
pub(super) async fn come_back(
    State(app): State<App>,
    Path(vendor): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let query = Form::read(uri.query().unwrap_or_default().as_bytes());
    let browser = Browser::of(&headers, &app.urls().link);
    if let Err(failure) = &browser {
        error!(%failure, "a link page could not be made");
    }
    let state = browser.ok().and_then(|browser| browser.open(RETURN, query.get("state")));
    let Some(ReturnState { token, nonce }) = state else {
        let frame = Frame::of(&app, None, &headers);
        let texts = frame.texts();
        let html = frame.end((&texts.return_title, &texts.return_foreign), None, None);
        return page(LinkPageError::ForeignForm, &frame, &html, &[]);
    };
    match Visit::begin(&app, &token, &headers).await {
        Ok(visit) => {
            let done = visit.finish_authorization(&vendor, &nonce, &query).await;
            done.unwrap_or_else(|failure| visit.failure_page(&failure))
        }
        Err(over) => *over,
    }
}

impl Visit {
    /// Log-in at the manufacturer's own page, if it has one.
    pub(super) fn authorization_of(&self, vendor: &VendorCode) -> Option<Authorization> {
        self.app.vendor(vendor)?.authorization()
    }

    /// Sends the browser to the manufacturer's page with secrets of a new attempt.
    pub(super) async fn begin_authorization(
        &self,
        vendor: VendorCode,
        declared: &Authorization,
    ) -> Result<Response, VisitError> {
        let attempted = Attempted::generate()?;
        let token = self.session.token().to_owned();
        let state = ReturnState { token, nonce: attempted.nonce.clone() };
        let state = self.browser.seal(RETURN, &state)?;
        let (uri, challenge) = (redirect_uri(&self.app, &vendor), challenge(&attempted.verifier));
        let address = authorization_address(declared, (&uri, &state, &challenge));
        let step = Step::Authorization { vendor, attempted };
        self.keep_progress(&Progress { step, failure: None }).await?;
        Ok(redirect(StatusCode::SEE_OTHER, &address))
    }

    /// Takes the answer of a manufacturer's page: a code, or an error (RFC 6749, section 4.1.2).
    async fn finish_authorization(
        &self,
        from: &str,
        nonce: &str,
        query: &Form,
    ) -> Result<Response, VisitError> {
        let Step::Authorization { vendor, attempted } = self.progress().step else {
            return Ok(self.page_of_used());
        };
        if attempted.nonce != nonce || vendor.as_str() != from {
            return Ok(self.page_of_used());
        }
        // Taken before the manufacturer is asked: of several returns one goes on.
        let sealed = self.session.sealed().unwrap_or_default();
        let step = Step::LogIn { vendor: vendor.clone() };
        let before = Progress { step, failure: None };
        let Some(sealed) = self.advance(sealed, &before).await? else {
            return Ok(self.page_of_used());
        };
        let code = query.get("code");
        if code.is_empty() || !query.get("error").is_empty() {
            let progress = Progress { failure: Some(failure_of(query.get("error"))), ..before };
            self.advance(&sealed, &progress).await?;
            return Ok(self.page_of_error(&progress, &vendor, query.get("error")));
        }
        let uri = redirect_uri(&self.app, &vendor);
        let grant = CodeGrant { code, verifier: &attempted.verifier, redirect_uri: &uri };
        let credentials = Credentials::Code(grant);
        let attempt = flow::try_log_in(&self.app, &self.session, &vendor, credentials).await?;
        let error = match attempt {
            Attempt::Spent => return Ok(self.page_of_spent()),
            Attempt::Answered(Ok(LogIn::Connected { connection, offers })) => {
                return self.logged_in(vendor, connection, offers).await;
            }
            // A code of a second step is a matter of the manufacturer's page.
            Attempt::Answered(Ok(LogIn::CodeNeeded { .. })) => VendorError::Unauthorised,
            Attempt::Answered(Err(error)) => error,
        };
        let progress = Progress { failure: Some(flow::failure_of(&error)), ..before };
        self.advance(&sealed, &progress).await?;
        Ok(self.page_with_failure(&progress, &vendor, &error, &Entered::default()))
    }

    /// Page about a return whose attempt is over, with the way to where the session is.
    fn page_of_used(&self) -> Response {
        let texts = self.frame.texts();
        let path = self.session.path();
        let way = Some((texts.go_on.as_str(), path.as_str()));
        let html = self.frame.end((&texts.return_title, &texts.return_used), way, None);
        page(LinkPageError::SessionOver, &self.frame, &html, &[])
    }

    /// The log-in again, with what the manufacturer's page said.
    fn page_of_error(&self, progress: &Progress, vendor: &VendorCode, error: &str) -> Response {
        let texts = self.frame.texts();
        let (mishap, text) = match error {
            "access_denied" => (LinkPageError::Entry, &texts.declined),
            "server_error" | "temporarily_unavailable" => (LinkPageError::Vendor, &texts.outage),
            // The word is that of an address, which anybody may have written.
            _ => {
                let known = KNOWN.into_iter().find(|known| *known == error);
                let reason = known.unwrap_or("neither a code nor a known error");
                warn!(%vendor, reason, "a log-in at a manufacturer's page was not completed");
                (LinkPageError::Vendor, &texts.not_completed)
            }
        };
        let text = fill(text, &[("vendor", &self.name_of(vendor))]);
        self.page_of(Some(mishap), progress, &Entered::default(), &[elsewhere(&text)])
    }
}

/// Errors of a manufacturer's page that the operator can do something about (RFC 6749, section
/// 4.1.2.1).
const KNOWN: [&str; 4] =
    ["invalid_request", "unauthorized_client", "unsupported_response_type", "invalid_scope"];

/// Reason to tell the client if the user gives up after an error of the manufacturer's page.
fn failure_of(error: &str) -> Failure {
    match error {
        "access_denied" => Failure::AccessDenied,
        "server_error" | "temporarily_unavailable" => Failure::TemporarilyUnavailable,
        _ => Failure::ServerError,
    }
}

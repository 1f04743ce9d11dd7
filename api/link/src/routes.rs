//! Requests for the pages, and answers.
//!
//! A page is shown by GET. A form is posted to the page's own address; what it
//! says moves the session on and is answered with the page anew (303), or with
//! the same page and what is wrong.
use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::Markup;
use tracing::error;

use super::browser::Browser;
use super::form::Form;
use super::frame::Frame;
use super::guard::{is_cross_site, protect};
use super::pages::{Notice, Place, StepPage, list_connected};
use super::returning::come_back;
use slackwater_http::problem::LinkPageError;
use slackwater_integration::error::VendorError;
use slackwater_integration::profile::VendorCode;
use slackwater_integration::vendor::{Connection, LogIn, Login, Offer};
use slackwater_service::auth::secret::NoRandomness;
use slackwater_service::config::texts::fill;
use slackwater_service::linking::authorization::RETURN_PATH;
use slackwater_service::linking::ending::{self, Failure};
use slackwater_service::linking::flow::{self, Attempt, Credentials, Refusal, failure_of};
use slackwater_service::linking::session::{self, Progress, Session, Step};
use slackwater_service::state::App;
use slackwater_store::error::StoreError;
use slackwater_store::links;

/// Most bytes of a form.
const FORM_BYTES_MAX: usize = 64 * 1024;

/// Wrong codes after which the log-in begins anew.
const WRONG_CODES_MAX: u8 = 5;

/// Routes of the link address. A session's token is longer than any word in their place.
pub fn router() -> Router<App> {
    Router::new()
        .route("/link/{token}", get(show).post(act))
        .route(&format!("{RETURN_PATH}/{{vendor}}"), get(come_back))
        .layer(DefaultBodyLimit::max(FORM_BYTES_MAX))
}

/// Shows the step that a session is at.
async fn show(
    State(app): State<App>,
    Path(token): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let query = Form::read(uri.query().unwrap_or_default().as_bytes());
    let entered = Entered { search: query.get("q").trim().to_owned(), ..Entered::default() };
    match Visit::begin(&app, &token, &headers).await {
        Ok(visit) => visit.page_of(None, &visit.progress(), &entered, &[]),
        Err(over) => *over,
    }
}

/// Takes what a form says.
async fn act(
    State(app): State<App>,
    Path(token): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let visit = match Visit::begin(&app, &token, &headers).await {
        Ok(visit) => visit,
        Err(over) => return *over,
    };
    let form = Form::read(&body.unwrap_or_default());
    let progress = visit.progress();
    let is_own = visit.browser.owns(visit.session.hash(), form.get("form"));
    if is_cross_site(&headers, &app.urls().link) || !is_own {
        let notice = elsewhere(&visit.frame.texts().foreign_form);
        return visit.page_of(
            Some(LinkPageError::ForeignForm),
            &progress,
            &Entered::default(),
            &[notice],
        );
    }
    if form.get("step") != progress.step.as_str() {
        return visit.see_page();
    }
    let done = match (form.get("do"), progress.step) {
        ("leave", step) => visit.leave_session(progress.failure, &step).await,
        ("back", step) => visit.step_back(&step).await,
        (_, Step::Choose) => visit.choose(&form).await,
        (switch @ ("show" | "hide"), step @ Step::LogIn { .. }) => {
            Ok(visit.switch_password(step, &form, switch == "show"))
        }
        (_, Step::LogIn { vendor } | Step::Authorization { vendor, .. }) => {
            visit.log_in(vendor, &form).await
        }
        (_, step @ Step::Code { .. }) => visit.enter_code(step, &form).await,
        ("allow", step @ Step::Consent { .. }) => visit.accept(step, &form).await,
        _ => Ok(visit.see_page()),
    };
    done.unwrap_or_else(|failure| visit.failure_page(&failure))
}

/// Input that is shown again. Never a password.
#[derive(Debug, Default)]
pub(super) struct Entered {
    user_name: String,
    chosen: Vec<String>,
    /// Part of the name of a brand that is looked for.
    search: String,
    /// True if the password can be read while it is entered.
    shows_password: bool,
}

/// Failure of a visit.
#[derive(Debug, thiserror::Error)]
pub(super) enum VisitError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
}

impl VisitError {
    fn page_error(&self) -> LinkPageError {
        match self {
            Self::Store(error) => error.into(),
            Self::Randomness(_) => LinkPageError::Ours,
        }
    }
}

/// One request of one browser for one session that is open.
pub(super) struct Visit {
    pub(super) app: App,
    pub(super) session: Session,
    pub(super) browser: Browser,
    pub(super) frame: Frame,
}

impl Visit {
    /// The session that an address names, or the page about why there is none.
    pub(super) async fn begin(
        app: &App,
        token: &str,
        headers: &HeaderMap,
    ) -> Result<Self, Box<Response>> {
        let found = Session::find(app, token).await;
        let frame = Frame::of(app, found.as_ref().ok().and_then(Option::as_ref), headers);
        let texts = frame.texts();
        let over = |mishap, (title, lead): (&String, &String), back: Option<String>| {
            let way = back.as_deref().map(|back| (texts.back_to.as_str(), back));
            Box::new(page(mishap, &frame, &frame.end((title, lead), way, None), &[]))
        };
        let browser = Browser::of(headers, &app.urls().link).map_err(VisitError::from);
        let (session, browser) = match (found.map_err(VisitError::from), browser) {
            (Ok(Some(session)), Ok(browser)) => (session, browser),
            (Ok(None), _) => {
                let words = (&texts.unknown_title, &texts.unknown_lead);
                return Err(over(LinkPageError::NoSession, words, None));
            }
            (Err(failure), _) | (_, Err(failure)) => {
                error!(%failure, "a link page could not be made");
                return Err(over(failure.page_error(), (&texts.left_title, &texts.ours), None));
            }
        };
        match session.state(app.clock().machine().now()) {
            session::State::Open => Ok(Self { app: app.clone(), session, browser, frame }),
            session::State::Used => {
                Err(over(LinkPageError::SessionOver, (&texts.used_title, &texts.used_lead), None))
            }
            session::State::Expired => {
                let words = (&texts.expired_title, &texts.expired_lead);
                let back = session.end(Some(Failure::InvalidRequest));
                Err(over(LinkPageError::SessionOver, words, back))
            }
        }
    }

    /// Progress of this browser.
    pub(super) fn progress(&self) -> Progress {
        let sealed = self.session.sealed();
        let opened = sealed.and_then(|sealed| self.browser.open(self.session.hash(), sealed));
        opened.unwrap_or_else(|| self.session.beginning())
    }

    /// The page of a step, with what is wrong.
    pub(super) fn page_of(
        &self,
        mishap: Option<LinkPageError>,
        progress: &Progress,
        entered: &Entered,
        notices: &[Notice],
    ) -> Response {
        let form_word = self.browser.form_word(self.session.hash());
        let html = StepPage {
            app: &self.app,
            session: &self.session,
            frame: &self.frame,
            form_word: &form_word,
            notices,
            user_name: &entered.user_name,
            chosen: &entered.chosen,
            search: &entered.search,
            shows_password: entered.shows_password,
        }
        .of(&progress.step);
        let ends = self.form_targets(&progress.step);
        let mut response = match mishap {
            Some(mishap) => page(mishap, &self.frame, &html, &ends),
            None => answer(StatusCode::OK, &self.frame.style, &html, &ends),
        };
        if let Some(cookie) = self.browser.set_cookie() {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        response
    }

    /// Places to which the answer of a form may lead, as sources of a content security policy.
    fn form_targets(&self, step: &Step) -> Vec<String> {
        let end = self.session.request.redirect_uri.as_deref().and_then(ending::source);
        let declared = match step {
            Step::LogIn { vendor } | Step::Authorization { vendor, .. } => {
                self.authorization_of(vendor)
            }
            Step::Choose | Step::Code { .. } | Step::Consent { .. } => None,
        };
        // Browsers apply the policy to redirects, too, and a manufacturer's page may lead to others.
        let page = declared.and_then(|declared| {
            let endpoint = declared.authorization_endpoint.as_str();
            let is_safe = endpoint.starts_with("https:");
            if is_safe { Some("https:".to_owned()) } else { ending::source(endpoint) }
        });
        end.into_iter().chain(page).collect()
    }

    /// Sends the browser to the page anew.
    pub(super) fn see_page(&self) -> Response {
        redirect(StatusCode::SEE_OTHER, &self.session.path())
    }

    /// Goes on to a step.
    async fn advance_to(&self, step: Step) -> Result<Response, VisitError> {
        self.keep_progress(&Progress { step, failure: None }).await?;
        Ok(self.see_page())
    }

    /// Keeps how far the user came, unless another request went on from the same
    /// point before. What is kept then, sealed.
    pub(super) async fn advance(
        &self,
        from: &str,
        to: &Progress,
    ) -> Result<Option<String>, VisitError> {
        let hash = self.session.hash();
        let sealed = self.browser.seal(hash, to)?;
        let mut change = self.app.store().begin().await?;
        let steps = (from, sealed.as_str());
        let is_first = links::advance_progress(change.connection(), hash, steps).await?;
        change.commit(|| ()).await?;
        Ok(is_first.then_some(sealed))
    }

    pub(super) async fn keep_progress(&self, progress: &Progress) -> Result<(), VisitError> {
        let sealed = self.browser.seal(self.session.hash(), progress)?;
        let mut change = self.app.store().begin().await?;
        links::keep_progress(change.connection(), self.session.hash(), &sealed).await?;
        Ok(change.commit(|| ()).await?)
    }

    /// Back to where something else can be entered.
    async fn step_back(&self, step: &Step) -> Result<Response, VisitError> {
        let is_free = self.session.request.vendor.is_none();
        let step = match step {
            Step::Choose => Step::Choose,
            Step::LogIn { .. } | Step::Authorization { .. } if is_free => Step::Choose,
            Step::LogIn { vendor }
            | Step::Authorization { vendor, .. }
            | Step::Code { vendor, .. }
            | Step::Consent { vendor, .. } => Step::LogIn { vendor: vendor.clone() },
        };
        self.advance_to(step).await
    }

    async fn choose(&self, form: &Form) -> Result<Response, VisitError> {
        let code = VendorCode::parse(form.get("vendor")).ok();
        let vendor = code.and_then(|code| self.app.vendor(&code));
        let profile = vendor.map(|vendor| vendor.profile());
        match profile.filter(|profile| self.session.takes(profile)) {
            Some(profile) => self.advance_to(Step::LogIn { vendor: profile.code.clone() }).await,
            None => Ok(self.see_page()),
        }
    }

    async fn log_in(&self, vendor: VendorCode, form: &Form) -> Result<Response, VisitError> {
        if let Some(declared) = self.authorization_of(&vendor) {
            return self.begin_authorization(vendor, &declared).await;
        }
        let texts = self.frame.texts();
        let user_name = form.get("user_name").trim().to_owned();
        let password = form.get("password").to_owned();
        let mut missing = Vec::new();
        if user_name.is_empty() {
            missing.push(Notice { place: Place::UserName, text: texts.no_user_name.clone() });
        }
        if password.is_empty() {
            missing.push(Notice { place: Place::Password, text: texts.no_password.clone() });
        }
        let shows_password = form.get("shown") == "yes";
        let entered =
            Entered { user_name: user_name.clone(), shows_password, ..Entered::default() };
        if !missing.is_empty() {
            let progress = Progress { step: Step::LogIn { vendor }, failure: None };
            return Ok(self.page_of(Some(LinkPageError::Entry), &progress, &entered, &missing));
        }
        let login = Login::new(user_name, password);
        let entry = Credentials::Entered(&login);
        let answer = match flow::try_log_in(&self.app, &self.session, &vendor, entry).await? {
            Attempt::Answered(answer) => answer,
            Attempt::Spent => return Ok(self.page_of_spent()),
        };
        match answer {
            Ok(LogIn::CodeNeeded { sent_to }) => {
                let Login { user_name, password, .. } = login;
                self.advance_to(Step::Code { vendor, user_name, password, sent_to, wrong: 0 }).await
            }
            Ok(LogIn::Connected { connection, offers }) => {
                self.logged_in(vendor, connection, offers).await
            }
            Err(error) => {
                let step = Step::LogIn { vendor: vendor.clone() };
                self.refuse_log_in(step, &vendor, &error, &entered).await
            }
        }
    }

    /// The page of a log-in whose password can be read, or no longer, while it is entered.
    fn switch_password(&self, step: Step, form: &Form, shows_password: bool) -> Response {
        let user_name = form.get("user_name").trim().to_owned();
        let entered = Entered { user_name, shows_password, ..Entered::default() };
        self.page_of(None, &Progress { step, failure: None }, &entered, &[])
    }

    /// The end, after too many log-ins that were refused.
    pub(super) fn page_of_spent(&self) -> Response {
        let texts = self.frame.texts();
        self.end_page(Err(Failure::AccessDenied), (&texts.left_title, &texts.spent_lead))
    }

    /// Page after a log-in: the devices, if the account has the right ones.
    pub(super) async fn logged_in(
        &self,
        vendor: VendorCode,
        connection: Connection,
        offers: Vec<Offer>,
    ) -> Result<Response, VisitError> {
        if offers.is_empty() && self.session.device.is_some() {
            let progress = Progress { step: Step::LogIn { vendor }, failure: None };
            self.keep_progress(&progress).await?;
            let notice =
                Notice { place: Place::LogIn, text: self.frame.texts().other_account.clone() };
            return Ok(self.page_of(
                Some(LinkPageError::Entry),
                &progress,
                &Entered::default(),
                &[notice],
            ));
        }
        self.advance_to(Step::Consent { vendor, connection, offers }).await
    }

    async fn enter_code(&self, step: Step, form: &Form) -> Result<Response, VisitError> {
        let Step::Code { vendor, user_name, password, sent_to, wrong } = step else {
            return Ok(self.see_page());
        };
        let texts = self.frame.texts();
        let code: String = form.get("code").chars().filter(|c| !c.is_whitespace()).collect();
        let again = |wrong| Step::Code {
            vendor: vendor.clone(),
            user_name: user_name.clone(),
            password: password.clone(),
            sent_to: sent_to.clone(),
            wrong,
        };
        if code.is_empty() {
            let progress = Progress { step: again(wrong), failure: None };
            let notice = Notice { place: Place::Code, text: texts.no_code.clone() };
            return Ok(self.page_of(
                Some(LinkPageError::Entry),
                &progress,
                &Entered::default(),
                &[notice],
            ));
        }
        if wrong >= WRONG_CODES_MAX {
            return self.codes_spent(vendor).await;
        }
        // Counted before the manufacturer is asked: of many codes at once one is tried.
        let from = self.session.sealed().unwrap_or_default();
        let counted = Progress { step: again(wrong + 1), failure: Some(Failure::AccessDenied) };
        let Some(kept) = self.advance(from, &counted).await? else { return Ok(self.see_page()) };
        let (name, secret) = (user_name.clone(), password.clone());
        let mut login = Login::new(name, secret);
        login.code = Some(code);
        let entered = Entered::default();
        let entry = Credentials::Entered(&login);
        let answer = match flow::try_log_in(&self.app, &self.session, &vendor, entry).await? {
            Attempt::Answered(answer) => answer,
            Attempt::Spent => return Ok(self.page_of_spent()),
        };
        match answer {
            Ok(LogIn::Connected { connection, offers }) => {
                self.logged_in(vendor, connection, offers).await
            }
            // It wants another code: the page says where that one went.
            Ok(LogIn::CodeNeeded { sent_to }) => {
                self.advance_to(Step::Code { vendor, user_name, password, sent_to, wrong }).await
            }
            Err(VendorError::ChallengeFailed) if wrong + 1 >= WRONG_CODES_MAX => {
                self.codes_spent(vendor).await
            }
            Err(error @ VendorError::ChallengeFailed) => {
                Ok(self.page_with_failure(&counted, &vendor, &error, &entered))
            }
            // The password was changed meanwhile.
            Err(error @ VendorError::Unauthorised) => {
                let step = Step::LogIn { vendor: vendor.clone() };
                self.refuse_log_in(step, &vendor, &error, &entered).await
            }
            // Nobody's fault, so it does not count.
            Err(error) => {
                let progress = Progress { step: again(wrong), failure: Some(failure_of(&error)) };
                self.advance(&kept, &progress).await?;
                Ok(self.page_with_failure(&progress, &vendor, &error, &entered))
            }
        }
    }

    /// Back to the log-in, after too many wrong codes.
    async fn codes_spent(&self, vendor: VendorCode) -> Result<Response, VisitError> {
        let step = Step::LogIn { vendor };
        let progress = Progress { step, failure: Some(Failure::AccessDenied) };
        self.keep_progress(&progress).await?;
        let notice = elsewhere(&self.frame.texts().codes_spent);
        Ok(self.page_of(Some(LinkPageError::Code), &progress, &Entered::default(), &[notice]))
    }

    /// A step again, with what the manufacturer said.
    async fn refuse_log_in(
        &self,
        step: Step,
        code: &VendorCode,
        error: &VendorError,
        entered: &Entered,
    ) -> Result<Response, VisitError> {
        let progress = Progress { step, failure: Some(failure_of(error)) };
        self.keep_progress(&progress).await?;
        Ok(self.page_with_failure(&progress, code, error, entered))
    }

    /// The page of a step, with what the manufacturer said.
    pub(super) fn page_with_failure(
        &self,
        progress: &Progress,
        code: &VendorCode,
        error: &VendorError,
        entered: &Entered,
    ) -> Response {
        let texts = self.frame.texts();
        let vendor = self.name_of(code);
        let (mishap, place, text, detail) = match error {
            // Nothing was entered here.
            VendorError::Unauthorised if self.authorization_of(code).is_some() => {
                (LinkPageError::Entry, Place::Elsewhere, &texts.not_completed, "")
            }
            VendorError::Unauthorised => {
                (LinkPageError::Entry, Place::LogIn, &texts.wrong_login, "")
            }
            VendorError::ChallengeFailed => {
                (LinkPageError::Code, Place::Code, &texts.wrong_code, "")
            }
            VendorError::TimedOut => (LinkPageError::Vendor, Place::Elsewhere, &texts.slow, ""),
            VendorError::RateLimited { .. } => {
                (LinkPageError::Vendor, Place::Elsewhere, &texts.busy, "")
            }
            VendorError::Refused { detail } | VendorError::PreconditionLost { detail } => {
                (LinkPageError::Vendor, Place::Elsewhere, &texts.refused, detail.as_str())
            }
            VendorError::Outage
            | VendorError::Unreachable
            | VendorError::Asleep { .. }
            | VendorError::NoSuchDevice => {
                (LinkPageError::Vendor, Place::Elsewhere, &texts.outage, "")
            }
        };
        let text = fill(text, &[("vendor", &vendor), ("detail", detail)]);
        self.page_of(Some(mishap), progress, entered, &[Notice { place, text }])
    }

    /// Name of a manufacturer for people.
    pub(super) fn name_of(&self, code: &VendorCode) -> String {
        let known = self.app.vendor(code).map(|vendor| vendor.profile());
        known.map_or_else(|| code.to_string(), |known| known.display_name.clone())
    }

    /// Name of the account of a manufacturer.
    fn portal_of(&self, code: &VendorCode) -> String {
        let known = self.app.vendor(code).map(|vendor| vendor.profile());
        known.map_or_else(|| code.to_string(), |known| known.portal_name.clone())
    }

    async fn accept(&self, step: Step, form: &Form) -> Result<Response, VisitError> {
        let Step::Consent { vendor, connection, offers } = &step else {
            return Ok(self.see_page());
        };
        let texts = self.frame.texts();
        let chosen = form.all("device");
        let taken: Vec<Offer> =
            offers.iter().filter(|offer| chosen.contains(&offer.device)).cloned().collect();
        let account = (vendor, connection.clone());
        let (mishap, failure, notice) =
            match flow::accept(&self.app, &self.session, account, &taken).await {
                Ok(_) => {
                    let connected = list_connected(&self.frame, &self.portal_of(vendor), &taken);
                    let words = (texts.done_title.as_str(), texts.done_lead.as_str());
                    return Ok(self.end_page(Ok(&connected), words));
                }
                Err(Refusal::Closed) => return Ok(self.see_page()),
                Err(Refusal::Store(failure)) => return Err(failure.into()),
                Err(Refusal::NoDevice) => {
                    let notice = Notice { place: Place::Devices, text: texts.no_device.clone() };
                    (LinkPageError::Entry, None, notice)
                }
                Err(Refusal::Limit(_)) => {
                    let notice = elsewhere(&self.frame.about_app(&texts.limit));
                    (LinkPageError::Limit, Some(Failure::UnauthorizedClient), notice)
                }
            };
        let progress = Progress { step, failure };
        self.keep_progress(&progress).await?;
        let entered = Entered { chosen, ..Entered::default() };
        Ok(self.page_of(Some(mishap), &progress, &entered, &[notice]))
    }

    /// Ends the session without devices.
    async fn leave_session(
        &self,
        failure: Option<Failure>,
        step: &Step,
    ) -> Result<Response, VisitError> {
        if !flow::leave(&self.app, &self.session).await? {
            return Ok(self.see_page());
        }
        let is_hopeless = *step == Step::Choose && self.session.vendors(&self.app).is_empty();
        let usual = if is_hopeless { Failure::InvalidScope } else { Failure::AccessDenied };
        let texts = self.frame.texts();
        Ok(self.end_page(Err(failure.unwrap_or(usual)), (&texts.left_title, &texts.left_lead)))
    }

    /// The end: back to the client (302), or a page that says how it went, with what is connected now.
    fn end_page(&self, ended: Result<&Markup, Failure>, words: (&str, &str)) -> Response {
        if let Some(end) = self.session.end(ended.err()) {
            return redirect(StatusCode::FOUND, &end);
        }
        let html = self.frame.end(words, None, ended.ok());
        answer(StatusCode::OK, &self.frame.style, &html, &[])
    }

    /// The page again after a failure of ours.
    pub(super) fn failure_page(&self, failure: &VisitError) -> Response {
        error!(%failure, "a link page failed");
        let mut progress = self.progress();
        progress.failure = Some(Failure::ServerError);
        let notice = elsewhere(&self.frame.texts().ours);
        self.page_of(Some(failure.page_error()), &progress, &Entered::default(), &[notice])
    }
}

pub(super) fn elsewhere(text: &str) -> Notice {
    Notice { place: Place::Elsewhere, text: text.to_owned() }
}

pub(super) fn page(
    mishap: LinkPageError,
    frame: &Frame,
    html: &Markup,
    ends: &[String],
) -> Response {
    let mut response = answer(mishap.status(), &frame.style, html, ends);
    if let Some(wait) = mishap.wait() {
        response.headers_mut().insert(header::RETRY_AFTER, wait.as_secs().into());
    }
    response
}

fn answer(status: StatusCode, style: &str, html: &Markup, ends: &[String]) -> Response {
    let mut response = (status, html.0.clone()).into_response();
    protect(response.headers_mut(), style, ends);
    response
}

pub(super) fn redirect(status: StatusCode, place: &str) -> Response {
    let mut response = answer(status, "", &Markup::default(), &[]);
    match HeaderValue::from_str(place) {
        Ok(place) => {
            response.headers_mut().insert(header::LOCATION, place);
        }
        // Addresses are checked when a session is made, so this one was not made here.
        Err(reason) => error!(%reason, "an address to go back to is no header"),
    }
    response
}

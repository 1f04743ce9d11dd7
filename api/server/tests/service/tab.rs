//! A browser without scripts, as tests of pages need it.
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, header};
use tower::ServiceExt;

use crate::harness::Stage;

/// A browser window at a link address.
#[derive(Clone)]
pub(crate) struct Tab {
    pub(crate) router: Router,
    pub(crate) path: String,
    pub(crate) cookie: Option<String>,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
}

/// A page as it came.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) html: String,
}

impl Tab {
    pub(crate) fn at(stage: &Stage, link_url: &str) -> Self {
        let path = link_url.strip_prefix("http://link.localhost").unwrap().to_owned();
        Self {
            router: slackwater_link::router(stage.app.clone()),
            path,
            cookie: None,
            headers: Vec::new(),
        }
    }

    pub(crate) async fn open(&mut self) -> Seen {
        self.ask(Method::GET, String::new()).await
    }

    /// Sends the form of a page with what was entered.
    pub(crate) async fn send(&mut self, page: &Seen, entered: &[(&str, &str)]) -> Seen {
        let hidden = [("form", page.hidden("form")), ("step", page.hidden("step"))];
        let form = {
            let mut form = form_urlencoded::Serializer::new(String::new());
            form.extend_pairs(hidden).extend_pairs(entered).finish()
        };
        self.ask(Method::POST, form).await
    }

    /// Sends the form and sees the page that it leads to.
    pub(crate) async fn follow(&mut self, page: &Seen, entered: &[(&str, &str)]) -> Seen {
        let sent = self.send(page, entered).await;
        assert_eq!(sent.status, 303, "{}", sent.html);
        assert_eq!(sent.header("location"), self.path);
        self.open().await
    }

    pub(crate) async fn ask(&mut self, method: Method, form: String) -> Seen {
        let mut request = Request::builder().method(method).uri(&self.path);
        if let Some(cookie) = &self.cookie {
            request = request.header(header::COOKIE, cookie);
        }
        for (name, value) in &self.headers {
            request = request.header(*name, *value);
        }
        let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let answer = self.router.clone().oneshot(request.body(Body::from(form)).unwrap()).await;
        let (head, body) = answer.unwrap().into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let html = String::from_utf8(bytes.to_vec()).unwrap();
        let seen = Seen { status: head.status.as_u16(), headers: head.headers, html };
        seen.check();
        if let Some(cookie) = seen.headers.get(header::SET_COOKIE) {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap();
            self.cookie = Some(pair.to_owned());
        }
        seen
    }

    /// To the step at which devices are chosen.
    pub(crate) async fn logged_in(&mut self) -> Seen {
        let page = self.open().await;
        let page = match page.hidden("step") {
            "choose" => self.follow(&page, &[("vendor", "FJORD")]).await,
            _ => page,
        };
        self.follow(&page, &[("user_name", "ada"), ("password", "a secret")]).await
    }
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn hidden(&self, name: &str) -> &str {
        let field = format!("name=\"{name}\" value=\"");
        let (_, rest) = self.html.split_once(&field).unwrap_or_else(|| panic!("{}", self.html));
        rest.split('"').next().unwrap()
    }

    pub(crate) fn says(&self, text: &str) -> bool {
        self.html.contains(text)
    }

    /// Checks that hold for every page.
    pub(crate) fn check(&self) {
        for (name, value) in [
            ("cache-control", "no-store"),
            ("content-type", "text/html; charset=utf-8"),
            ("referrer-policy", "same-origin"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
        ] {
            assert_eq!(self.header(name), value);
        }
        let policy = self.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(policy.contains("base-uri 'none'; frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
        if self.html.is_empty() {
            assert!(matches!(self.status, 302 | 303));
            return;
        }
        // A logo is part of the page.
        let html = self.html.replace(" src=\"data:image/", "");
        for never in ["<script", " src=", "style=\"", "onclick", "url(", "@import"] {
            assert!(!html.contains(never), "{never}");
        }
        for once in ["<h1>", "<main>", "<title>", "<html lang=\"", "name=\"viewport\""] {
            assert_eq!(self.html.matches(once).count(), 1, "{once}: {}", self.html);
        }
        // Every field has a label, and every id that is pointed at is there, once.
        for part in self.html.split("<input id=\"").skip(1) {
            let id = part.split('"').next().unwrap();
            assert!(self.html.contains(&format!("<label for=\"{id}\">")), "{id}");
        }
        for part in self.html.split("aria-describedby=\"").skip(1) {
            let id = part.split('"').next().unwrap();
            assert_eq!(self.html.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
        }
    }
}

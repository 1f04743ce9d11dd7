//! Log-in at an identity provider that nobody here wrote: `oidc-provider` of npm, by its own pages.
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use axum::body::Bytes;
use axum::http::{Request, header};
use chrono::TimeDelta;
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use slackwater_https::client::{HttpsClient, connect_https};
use slackwater_integration::authorization::{Authorization, ClientSecret, Endpoint};
use slackwater_integration::error::VendorError;
use slackwater_integration::profile::VendorCode;
use slackwater_service::linking::authorization::refresh_tokens;

use crate::harness::On;
use crate::link_redirect::{Scene, opens};
use crate::link_renewal::{is_reached, kept};
use crate::plans::car;
use crate::provider::REDIRECT;

const CLIENT: &str = "slackwater";
const SECRET: &str = "s:cr/t";

/// Address of the service's own pages, at which a browser is back.
const OURS: &str = "http://link.localhost";

/// The provider, as a process that ends with the test.
struct Independent {
    process: Child,
    address: String,
    /// Kept open: the provider writes on after its address, and ends if nobody reads.
    _output: BufReader<ChildStdout>,
}

impl Independent {
    fn start() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oidc");
        assert!(folder.join("node_modules/oidc-provider").is_dir(), "run `make rust-test`");
        let mut command = Command::new("node");
        command.arg(folder.join("provider.mjs")).args([REDIRECT, CLIENT, SECRET]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("node is on PATH: run `make setup`");
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut lines = output.by_ref().lines().map_while(Result::ok);
        let address = lines.find(|line| line.starts_with("http://"));
        let address = address.expect("the provider says where it listens");
        Self { process, address, _output: output }
    }

    fn declared(&self) -> Authorization {
        let endpoint = |path| Endpoint::parse(&format!("{}{path}", self.address)).unwrap();
        Authorization {
            authorization_endpoint: endpoint("/auth"),
            token_endpoint: endpoint("/token"),
            client_id: CLIENT.to_owned(),
            client_secret: Some(ClientSecret::Basic(SECRET.to_owned())),
            scopes: vec!["openid".to_owned(), "offline_access".to_owned()],
            // The provider issues a refresh token only if the owner was asked for it.
            parameters: vec![("prompt".to_owned(), "consent".to_owned())],
        }
    }

    /// Account of an access token, by the provider's own answer; `None` if it is not accepted.
    async fn account_of(&self, access_token: &str) -> Option<String> {
        let request = Request::get(format!("{}/me", self.address))
            .header(header::AUTHORIZATION, format!("Bearer {access_token}"));
        let request = request.body(Full::new(Bytes::new())).unwrap();
        let answer = connect_https().unwrap().request(request).await.unwrap();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        body["sub"].as_str().map(str::to_owned)
    }
}

impl Drop for Independent {
    fn drop(&mut self) {
        // To wait closes its input, which ends it. The program of a wheel has a process below it, which
        // a signal would not reach.
        let _: std::io::Result<_> = self.process.wait();
    }
}

/// A browser at the pages of the provider.
struct Browser {
    client: HttpsClient,
    cookies: BTreeMap<String, String>,
}

impl Browser {
    /// Sends a form, or follows a link, and all redirects after it. Returns the last address and its
    /// page; the page of the service itself is not asked for.
    async fn go(&mut self, address: &str, form: Option<&str>) -> (String, String) {
        let (mut address, mut form) = (address.to_owned(), form.map(str::to_owned));
        while !address.starts_with(OURS) {
            let cookies: Vec<String> =
                self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let request = Request::builder()
                .method(if form.is_some() { "POST" } else { "GET" })
                .uri(&address)
                .header(header::COOKIE, cookies.join("; "))
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
            let body = Full::new(Bytes::from(form.take().unwrap_or_default()));
            let answer = self.client.request(request.body(body).unwrap()).await.unwrap();
            for cookie in answer.headers().get_all(header::SET_COOKIE) {
                let pair = cookie.to_str().unwrap().split(';').next().unwrap();
                let (name, value) = pair.split_once('=').unwrap();
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
            let next = answer.headers().get(header::LOCATION);
            let next = next.map(|next| next.to_str().unwrap().to_owned());
            let page = answer.into_body().collect().await.unwrap().to_bytes();
            let Some(next) = next else {
                return (address, String::from_utf8(page.to_vec()).unwrap());
            };
            let origin: String = address.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
            address = if next.starts_with('/') { format!("{origin}{next}") } else { next };
        }
        (address, String::new())
    }

    /// Logs in and allows access at the provider's own pages. Returns the path of the way back.
    async fn log_in(&mut self, address: &str) -> String {
        let (page, _) = self.go(address, None).await;
        let (page, text) = self.go(&page, Some("prompt=login&login=ada&password=any")).await;
        assert!(text.contains("offline_access"), "{text}");
        let (back, text) = self.go(&page, Some("prompt=consent")).await;
        back.strip_prefix(OURS).unwrap_or_else(|| panic!("{back}: {text}")).to_owned()
    }
}

#[tokio::test]
async fn an_independent_identity_provider_lets_owners_in_and_rotates_their_tokens() {
    let provider = Independent::start();
    let scene = Scene::set_patient(On::Sqlite, 60).await;
    let app = &scene.stage.app;
    scene.stage.fjord.logs_in_at(provider.declared());
    scene.stage.fjord.accepts("");
    scene.stage.fjord.says("car", Ok(car(50.0, true, 80.0)));
    let (mut tab, page) = scene.at_log_in().await;
    let sent = tab.send(&page, &[]).await;
    assert_eq!(sent.status, 303, "{}", sent.html);
    let mut browser = Browser { client: connect_https().unwrap(), cookies: BTreeMap::new() };
    let back = browser.log_in(sent.header("location")).await;
    let returned = opens(&tab, &back).await;
    assert_eq!(returned.status, 303, "{}", returned.html);
    let page = tab.open().await;
    let end = tab.send(&page, &[("device", "car"), ("do", "allow")]).await;
    assert_eq!(end.status, 302);
    let vehicles = scene.asker.get("/users/ada/vehicles").await;
    let id = vehicles.ids()[0].parse().unwrap();

    let (first, is_valid) = kept(&scene.stage).await;
    assert!(is_valid && first.refresh_token.is_some());
    assert_eq!(provider.account_of(&first.access_token).await.as_deref(), Some("ada"));
    app.clock().step(TimeDelta::hours(1)).unwrap();
    assert!(is_reached(app, id).await);
    let (second, is_valid) = kept(&scene.stage).await;
    assert!(is_valid && second.access_token != first.access_token);
    assert_ne!(second.refresh_token, first.refresh_token, "the provider rotates");
    assert_eq!(provider.account_of(&second.access_token).await.as_deref(), Some("ada"));

    // Somebody else uses the old refresh token: the provider voids the log-in, and its owner must
    // log in again.
    let (code, declared) = (VendorCode::parse("FJORD").unwrap(), provider.declared());
    let old = first.refresh_token.unwrap();
    let reused = refresh_tokens(app, &code, &declared, &old).await;
    assert_eq!(reused, Err(VendorError::Unauthorised));
    assert_eq!(provider.account_of(&second.access_token).await, None);
    app.clock().step(TimeDelta::hours(1)).unwrap();
    assert!(!is_reached(app, id).await);
    assert!(!kept(&scene.stage).await.1);
}

//! Log-in at a manufacturer's own page: authorization code with PKCE, from the Link page and back.
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::json;
use slackwater_control::device::scope::DeviceKind;
use slackwater_integration::error::VendorError;
use slackwater_integration::vendor::{Connection, LogIn, Offer};
use slackwater_service::auth::secret::digest;
use slackwater_store::accounts::all_accounts;
use slackwater_store::keyring::Keyring;
use slackwater_store::links;
use sqlx::Row;
use tokio::task::JoinSet;

use crate::harness::{Asker, On, Stage, device, six};
use crate::provider::{Does, Provider};
use crate::tab::{Seen, Tab};

const END: &str = "https://app.example.org/linked";

/// A service with a manufacturer whose owners log in elsewhere.
pub(crate) struct Scene {
    pub(crate) stage: Stage,
    pub(crate) asker: Asker,
    pub(crate) provider: Provider,
}

impl Scene {
    pub(crate) async fn set(on: On) -> Self {
        Self::set_patient(on, 1).await
    }

    /// A scene in which the manufacturer may take so many seconds to let somebody in.
    pub(crate) async fn set_patient(on: On, seconds: u32) -> Self {
        let keys = Keyring::new(Some(STANDARD.encode([1; 32]).parse().unwrap()), Vec::new());
        let stage = Stage::with(on, |config| {
            config.store.keys = keys;
            config.link.login_timeout_seconds = seconds;
        })
        .await;
        let provider = Provider::start().await;
        stage.fjord.logs_in_at(provider.declared());
        let offer = |device: &str, kind| Offer {
            device: device.to_owned(),
            kind,
            name: format!("My {device}"),
        };
        stage.fjord.lets_in(Ok(LogIn::Connected {
            connection: Connection::new("not that of the tokens"),
            offers: vec![offer("car", DeviceKind::Vehicle), offer("box", DeviceKind::Charger)],
        }));
        let asker = stage.client("a").await;
        Self { stage, asker, provider }
    }

    /// A browser at a new session, and its page of the manufacturer.
    pub(crate) async fn at_log_in(&self) -> (Tab, Seen) {
        let body = json!({
            "scopes": ["vehicle:read:data"], "redirectUri": END, "vendor": "FJORD",
        });
        let made = self.asker.post("/users/ada/link", Some(&body)).await;
        let mut tab = Tab::at(&self.stage, made.body["linkUrl"].as_str().unwrap());
        let page = tab.open().await;
        (tab, page)
    }

    /// Follows the button of a page to the manufacturer's, and returns where that leads back.
    pub(crate) async fn goes_there(&self, tab: &mut Tab, page: &Seen) -> String {
        let sent = tab.send(page, &[]).await;
        assert_eq!(sent.status, 303, "{}", sent.html);
        self.provider.authorize(sent.header("location"))
    }

    async fn has_vehicle(&self) -> bool {
        !self.asker.get("/users/ada/vehicles").await.ids().is_empty()
    }
}

/// The page at another path in the same browser.
pub(crate) async fn opens(tab: &Tab, path: &str) -> Seen {
    Tab { path: path.to_owned(), ..tab.clone() }.open().await
}

#[tokio::test]
async fn a_log_in_at_the_manufacturers_page_links_devices() {
    for on in [On::Sqlite, On::Postgres] {
        let scene = Scene::set(on).await;
        let body = json!({ "scopes": ["vehicle:read:data"], "redirectUri": END });
        let made = scene.asker.post("/users/ada/link", Some(&body)).await;
        let mut tab = Tab::at(&scene.stage, made.body["linkUrl"].as_str().unwrap());
        let page = tab.open().await;
        let page = tab.follow(&page, &[("vendor", "FJORD")]).await;
        assert!(page.says("Log in to My FJORD") && page.says(">Continue at FJORD Cars</button>"));
        assert!(page.says("you enter it on the page of FJORD Cars") && page.says("Step 2 of 3"));
        assert!(!page.says("name=\"password\"") && page.says("Choose another brand"));
        // The answer of the form may lead there, else browsers stop it.
        let there = scene.provider.declared().authorization_endpoint;
        let origin = there.as_str().split("/authorize").next().unwrap();
        let policy = page.header("content-security-policy");
        assert!(policy.contains(&format!("form-action 'self' https://app.example.org {origin};")));

        let back = scene.goes_there(&mut tab, &page).await;
        // Neither the address nor the database shows the token of the session or the verifier.
        let token = tab.path.rsplit('/').next().unwrap();
        let row = links::get_session(scene.stage.app.store(), &digest(token)).await;
        let sealed = URL_SAFE_NO_PAD.decode(row.unwrap().unwrap().progress.unwrap()).unwrap();
        assert!(!back.contains(token) && !String::from_utf8_lossy(&sealed).contains("verifier"));
        // Whoever goes back by the browser's button finds the same page.
        assert!(tab.open().await.says("Continue at FJORD Cars"));

        let returned = opens(&tab, &back).await;
        assert_eq!((returned.status, returned.header("location")), (303, tab.path.as_str()));
        let page = tab.open().await;
        assert!(page.says("Choose your devices") && page.says("My car") && !page.says("My box"));
        let end = tab.send(&page, &[("device", "car"), ("do", "allow")]).await;
        assert_eq!(end.status, 302);
        assert!(end.header("location").starts_with(END) && scene.has_vehicle().await);

        // The integration got all tokens, and its connection is encrypted like any other.
        let tokens = scene.stage.fjord.tokens();
        let [tokens] = &tokens[..] else { panic!("{tokens:?}") };
        assert_eq!(tokens.refresh_token.as_deref(), Some("refresh-token-of-ada"));
        assert_eq!(tokens.expires_at, Some(six() + chrono::TimeDelta::hours(1)));
        let kept = all_accounts(scene.stage.app.store()).await.unwrap();
        assert_eq!(kept[0].connection, Some(Connection::new("access-token-of-ada")));
        let query = sqlx::query("select secret, secret_key from connections");
        let row = query.fetch_one(scene.stage.app.store().reader()).await.unwrap();
        let (secret, key): (String, Option<String>) = (row.get("secret"), row.get("secret_key"));
        assert!(!secret.contains("ada") && key.is_some(), "{secret}");
    }
}

#[tokio::test]
async fn each_error_of_the_manufacturers_page_is_told_and_has_a_way_on() {
    let scene = Scene::set(On::Sqlite).await;
    for (error, status, words, told) in [
        ("access_denied", 422, "You did not allow access at FJORD Cars.", "access_denied"),
        ("server_error", 503, "FJORD Cars is not available", "temporarily_unavailable"),
        ("temporarily_unavailable", 503, "is not available", "temporarily_unavailable"),
        ("invalid_scope", 503, "The log-in at FJORD Cars was not completed.", "server_error"),
        ("<script>", 503, "was not completed.", "server_error"),
    ] {
        let (mut tab, page) = scene.at_log_in().await;
        scene.provider.does(Does::Fail(error));
        let back = scene.goes_there(&mut tab, &page).await;
        let page = opens(&tab, &back).await;
        assert_eq!(page.status, status, "{error}");
        assert!(page.says(words) && page.says("role=\"alert\""), "{error}: {}", page.html);
        assert!(!page.says("&lt;") && page.says("Continue at FJORD Cars"), "{error}");
        // Another attempt succeeds.
        scene.provider.does(Does::Allow);
        let back = scene.goes_there(&mut tab, &page).await;
        assert_eq!(opens(&tab, &back).await.status, 303);
        assert!(tab.open().await.says("Choose your devices"));
        // Who leaves after an error tells the client which it was.
        let (mut tab, page) = scene.at_log_in().await;
        scene.provider.does(Does::Fail(error));
        let back = scene.goes_there(&mut tab, &page).await;
        let page = opens(&tab, &back).await;
        let end = tab.send(&page, &[("do", "leave")]).await;
        assert!(end.header("location").contains(&format!("&error={told}&")), "{error}");
    }
    // A page that came back with neither a code nor an error.
    let (mut tab, page) = scene.at_log_in().await;
    scene.provider.does(Does::Allow);
    let back = scene.goes_there(&mut tab, &page).await;
    let bare = back.split("&code=").next().unwrap();
    let page = opens(&tab, bare).await;
    assert!(page.status == 503 && page.says("was not completed."));
    assert!(!scene.has_vehicle().await);
}

#[tokio::test]
async fn a_code_that_cannot_be_exchanged_is_told_and_may_be_tried_again() {
    let scene = Scene::set(On::Sqlite).await;
    for (does, words) in
        [(Does::Down, "is not available at the moment"), (Does::Forget, "is not available")]
    {
        let (mut tab, page) = scene.at_log_in().await;
        let back = scene.goes_there(&mut tab, &page).await;
        scene.provider.does(does);
        let page = opens(&tab, &back).await;
        assert!(page.status == 503 && page.says(words), "{does:?}");
        scene.provider.does(Does::Allow);
        let back = scene.goes_there(&mut tab, &page).await;
        assert_eq!(opens(&tab, &back).await.status, 303, "{does:?}");
    }
    // A server that does not answer, and one that is not there.
    let (mut tab, page) = scene.at_log_in().await;
    let back = scene.goes_there(&mut tab, &page).await;
    scene.provider.hang(true);
    let page = opens(&tab, &back).await;
    assert!(page.status == 503 && page.says("FJORD Cars did not answer in time."));
    scene.provider.hang(false);
    let mut away = scene.provider.declared();
    let nowhere = "http://127.0.0.1:1/token";
    away.token_endpoint = nowhere.to_owned().try_into().unwrap();
    scene.stage.fjord.logs_in_at(away);
    let back = scene.goes_there(&mut tab, &page).await;
    let page = opens(&tab, &back).await;
    assert!(page.status == 503 && page.says("FJORD Cars is not available"));
    // Tokens that the manufacturer itself refuses.
    scene.stage.fjord.logs_in_at(scene.provider.declared());
    scene.stage.fjord.lets_in(Err(VendorError::Unauthorised));
    let back = scene.goes_there(&mut tab, &page).await;
    let page = opens(&tab, &back).await;
    assert!(page.status == 422 && page.says("The log-in at FJORD Cars was not completed."));
    assert!(!scene.has_vehicle().await);
}

#[tokio::test]
async fn a_return_of_another_browser_does_nothing() {
    let scene = Scene::set(On::Sqlite).await;
    let (mut tab, page) = scene.at_log_in().await;
    let back = scene.goes_there(&mut tab, &page).await;
    let (other, _) = scene.at_log_in().await;
    let without = Tab { cookie: None, ..tab.clone() };
    let forged = back.replace("state=", "state=A");
    let stateless = back.split("&code").next().unwrap().replace("state=", "other=");
    for (from, path) in [(&other, &back), (&without, &back), (&tab, &forged), (&tab, &stateless)] {
        let page = opens(from, path).await;
        assert_eq!(page.status, 403, "{path}");
        assert!(page.says("This log-in cannot go on") && page.says("Open the link from the app"));
    }
    assert_eq!(scene.provider.asked(), 0);
    // The attempt is still good for the browser that made it, at its own manufacturer only.
    let moved = back.replace("/FJORD?", "/HEATH?");
    assert_eq!(opens(&tab, &moved).await.status, 410);
    assert_eq!(opens(&tab, &back).await.status, 303);
    assert_eq!(scene.provider.asked(), 1);
}

#[tokio::test]
async fn a_return_goes_on_once() {
    for on in [On::Sqlite, On::Postgres] {
        let scene = Scene::set(on).await;
        let (mut tab, page) = scene.at_log_in().await;
        let earlier = scene.goes_there(&mut tab, &page).await;
        let back = scene.goes_there(&mut tab, &page).await;
        // An attempt that was begun anew is over.
        let over = opens(&tab, &earlier).await;
        assert!(over.status == 410 && over.says("It was used before, or begun anew meanwhile."));
        assert!(over.says(&format!("href=\"{}\"", tab.path)) && over.says(">Continue</a>"));
        // Of twenty at once one goes on, and one asks for tokens.
        let (tab, back) = (Arc::new(tab), Arc::new(back));
        let mut all = JoinSet::new();
        for _ in 0..20 {
            let (tab, back) = (Arc::clone(&tab), Arc::clone(&back));
            all.spawn(async move { opens(&tab, &back).await.status });
        }
        let statuses = all.join_all().await;
        let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
        assert_eq!((count(303), count(410)), (1, 19), "{statuses:?}");
        assert_eq!(scene.provider.asked(), 1);
        // Replayed afterwards, with another code, and once the session is used.
        let page = opens(&tab, &tab.path).await;
        assert!(page.says("Choose your devices"));
        let other_code = format!("{}x", back.as_str());
        for path in [back.as_str(), &other_code] {
            assert_eq!(opens(&tab, path).await.status, 410);
        }
        let end = Tab::clone(&tab).send(&page, &[("device", "car"), ("do", "allow")]).await;
        assert_eq!(end.status, 302);
        let used = opens(&tab, &back).await;
        assert!(used.status == 410 && used.says("This link has been used"));
        assert_eq!(scene.provider.asked(), 1);
    }
}

/// RFC 9700, section 4.5: a code that was issued to another browser does not fit the verifier.
#[tokio::test]
async fn a_code_of_another_log_in_is_not_exchanged() {
    let scene = Scene::set(On::Sqlite).await;
    let (mut tab, page) = scene.at_log_in().await;
    let (mut other, others_page) = scene.at_log_in().await;
    let back = scene.goes_there(&mut tab, &page).await;
    let stolen = scene.goes_there(&mut other, &others_page).await;
    let code = stolen.split("&code=").nth(1).unwrap();
    let injected = format!("{}&code={code}", back.split("&code=").next().unwrap());
    let page = opens(&tab, &injected).await;
    assert!(page.status == 422 && page.says("was not completed."), "{}", page.html);
    assert!(scene.stage.fjord.tokens().is_empty() && !scene.has_vehicle().await);
}

#[tokio::test]
async fn codes_are_guessed_no_more_often_than_passwords() {
    let scene = Scene::set(On::Sqlite).await;
    let (mut tab, mut page) = scene.at_log_in().await;
    for attempt in 1..=20 {
        let back = scene.goes_there(&mut tab, &page).await;
        let guess = format!("{}&code=guess", back.split("&code=").next().unwrap());
        page = opens(&tab, &guess).await;
        assert_eq!(page.status, if attempt == 20 { 302 } else { 422 }, "{attempt}");
    }
    assert!(page.header("location").contains("error=access_denied"));
    assert_eq!(opens(&tab, &tab.path).await.status, 410);
}

#[tokio::test]
async fn a_return_after_a_day_finds_that_the_session_has_expired() {
    let scene = Scene::set(On::Sqlite).await;
    let (mut tab, page) = scene.at_log_in().await;
    let back = scene.goes_there(&mut tab, &page).await;
    let day = Duration::from_hours(24);
    scene.stage.app.clock().machine().pass(day).unwrap();
    let page = opens(&tab, &back).await;
    assert!(page.status == 410 && page.says("This link has expired") && page.says(END));
    assert_eq!(scene.provider.asked(), 0);
}

#[tokio::test]
async fn a_device_is_linked_again_by_the_manufacturers_page() {
    let scene = Scene::set(On::Sqlite).await;
    let id = scene.stage.link(&scene.asker, "ada", device("car", DeviceKind::Vehicle)).await;
    let again = scene.asker.post(&format!("/assets/{id}/relink"), None).await;
    let mut tab = Tab::at(&scene.stage, again.body["linkUrl"].as_str().unwrap());
    let page = tab.open().await;
    assert!(page.says("needs you to log in again") && page.says("Continue at FJORD Cars"));
    let back = scene.goes_there(&mut tab, &page).await;
    assert_eq!(opens(&tab, &back).await.status, 303);
    let page = tab.open().await;
    assert_eq!(page.html.matches("type=\"checkbox\"").count(), 1);
    let end = tab.send(&page, &[("device", "car"), ("do", "allow")]).await;
    assert!(end.says("<h1>Connected</h1>"));
    // An account without that device.
    scene
        .stage
        .fjord
        .lets_in(Ok(LogIn::Connected { connection: Connection::new("x"), offers: Vec::new() }));
    let again = scene.asker.post(&format!("/assets/{id}/relink"), None).await;
    let mut tab = Tab::at(&scene.stage, again.body["linkUrl"].as_str().unwrap());
    let page = tab.open().await;
    let back = scene.goes_there(&mut tab, &page).await;
    let page = opens(&tab, &back).await;
    assert!(page.status == 422 && page.says("This account does not have the device"));
}

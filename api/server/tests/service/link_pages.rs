//! The pages on which people link devices, as a browser without scripts meets them.
use std::sync::Arc;
use std::time::Duration;

use axum::http::Method;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chrono::TimeDelta;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use slackwater_control::device::scope::DeviceKind;
use slackwater_integration::error::VendorError;
use slackwater_integration::profile::Health;
use slackwater_integration::registry::Vendors;
use slackwater_integration::vendor::{Connection, LogIn, Offer, Vendor};
use slackwater_service::auth::secret::digest;
use slackwater_store::links;
use slackwater_wire::version::dated::ApiVersion;
use tokio::task::JoinSet;

use crate::harness::{Asker, OLDEST, On, Stage, device};
use crate::tab::{Seen, Tab};
use crate::vendor::Scripted;

const END: &str = "https://app.example.org/linked?x=1";

fn offer(device: &str, kind: DeviceKind) -> Offer {
    Offer { device: device.to_owned(), kind, name: format!("<b>My</b> {device}") }
}

fn account(offers: &[Offer]) -> LogIn {
    LogIn::Connected { connection: Connection::new("of ada"), offers: offers.to_vec() }
}

fn car_and_box() -> LogIn {
    account(&[offer("car", DeviceKind::Vehicle), offer("box", DeviceKind::Charger)])
}

async fn session(asker: &Asker, user: &str, body: &Value) -> (String, String) {
    let answer = asker.post(&format!("/users/{user}/link"), Some(body)).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let text = |name: &str| answer.body[name].as_str().unwrap().to_owned();
    (text("linkUrl"), text("linkToken"))
}

fn wanted() -> Value {
    json!({
        "scopes": ["vehicle:read:data", "vehicle:control:charging", "charger:read:data"],
        "redirectUri": END,
    })
}

#[tokio::test]
async fn choose_log_in_accept_and_come_back() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let asker = stage.client("a").await;
        stage.fjord.lets_in(Ok(car_and_box()));
        let (url, token) = session(&asker, "ada", &wanted()).await;
        let mut tab = Tab::at(&stage, &url);

        let page = tab.open().await;
        assert_eq!(page.status, 200);
        assert!(page.says("Which brand is your device?") && page.says("Step 1 of 3"));
        assert!(page.says("FJORD Cars") && page.says("HEATH Cars") && page.says("Sandbox:"));
        let page = tab.follow(&page, &[("vendor", "FJORD")]).await;
        assert!(page.says("Log in to My FJORD") && page.says("Step 2 of 3"));
        let page = tab.follow(&page, &[("user_name", " ada "), ("password", "a secret")]).await;
        assert!(page.says("Choose your devices") && page.says("Step 3 of 3"));
        assert!(page.says("&lt;b&gt;My&lt;/b&gt; car"), "names are text");
        assert!(page.says("start, stop and plan charging") && !page.says("where the vehicle is"));
        assert_eq!(page.html.matches("type=\"checkbox\"").count(), 2);
        assert!(page.header("content-security-policy").contains("'self' https://app.example.org;"));

        let none = tab.send(&page, &[("do", "allow")]).await;
        assert_eq!(none.status, 422);
        assert!(none.says("Choose at least one device.") && none.says("<title>Error: "));
        let end = tab.send(&none, &[("device", "car"), ("do", "allow")]).await;
        assert_eq!(end.status, 302);
        assert_eq!(end.header("location"), format!("{END}&state={token}"));

        let vehicles = asker.get("/users/ada/vehicles").await;
        let scopes = &vehicles.body["data"][0]["scopes"];
        assert_eq!(*scopes, json!(["vehicle:control:charging", "vehicle:read:data"]));
        assert!(asker.get("/users/ada/chargers").await.ids().is_empty());
        // Once means once, in the same window and in any other.
        for mut tab in [tab.clone(), Tab { cookie: None, ..tab }] {
            let page = tab.open().await;
            assert_eq!(page.status, 410);
            assert!(page.says("This link has been used"));
            assert_eq!(tab.send(&none, &[("device", "box"), ("do", "allow")]).await.status, 410);
        }
        assert!(asker.get("/users/ada/chargers").await.ids().is_empty());
    }
}

#[tokio::test]
async fn a_password_can_be_read_while_it_is_entered_and_is_never_sent_back() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let (url, _) = session(&asker, "u", &wanted()).await;
    let mut tab = Tab::at(&stage, &url);
    let page = tab.open().await;
    let page = tab.follow(&page, &[("vendor", "FJORD")]).await;
    let field = |kind: &str| format!("name=\"password\" type=\"{kind}\" value=\"\"");
    assert!(page.says(&field("password")) && page.says("value=\"show\""));
    // The first button of a form is the one of the Enter key.
    let buttons = page.html.split("<button ").skip(1).map(|rest| rest.split('>').next().unwrap());
    assert_eq!(buttons.collect::<Vec<_>>()[0], "class=\"button main\" type=\"submit\"");
    let entered = [("user_name", "ada"), ("password", "a secret")];
    let shown = tab.send(&page, &[&entered[..], &[("do", "show")]].concat()).await;
    assert_eq!(shown.status, 200);
    assert!(shown.says(&field("text")) && shown.says("Hide password"));
    assert!(shown.says("value=\"ada\"") && !shown.says("a secret"), "{}", shown.html);
    // It stays so after a wrong log-in, until it is hidden again.
    stage.fjord.lets_in(Err(VendorError::Unauthorised));
    let wrong = tab.send(&shown, &[&entered[..], &[("shown", "yes")]].concat()).await;
    assert_eq!(wrong.status, 422);
    assert!(wrong.says(&field("text")) && !wrong.says("a secret"));
    let hidden = tab.send(&wrong, &[("user_name", "ada"), ("shown", "yes"), ("do", "hide")]).await;
    assert!(
        hidden.status == 200 && hidden.says(&field("password")) && !hidden.says("name=\"shown\"")
    );
    stage.fjord.lets_in(Ok(car_and_box()));
    let page = tab.follow(&hidden, &entered).await;
    assert!(page.says("Choose your devices"));
}

#[tokio::test]
async fn a_given_vendor_skips_the_choice() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    stage.heath.lets_in(Ok(car_and_box()));
    let body = json!({ "vendor": "HEATH", "redirectUri": "myapp://done" });
    let headers = [(slackwater_http::version::SERVICE_VERSION, OLDEST)];
    let made = asker.ask(Method::POST, "/users/u/link", Some(&body), &headers).await;
    let mut tab = Tab::at(&stage, made.body["linkUrl"].as_str().unwrap());
    let page = tab.open().await;
    assert!(page.says("Log in to My HEATH") && page.says("Step 1 of 2"));
    assert!(!page.says("Choose another brand"));
    let page = tab.follow(&page, &[("user_name", "u"), ("password", "p")]).await;
    // Only vehicles, which is the default of the oldest version, and the only one is chosen.
    assert_eq!(page.html.matches("type=\"checkbox\"").count(), 1);
    assert!(page.says(" checked"));
    assert!(page.header("content-security-policy").contains("form-action 'self' myapp:;"));
    let end = tab.send(&page, &[("device", "car"), ("do", "allow")]).await;
    let token = made.body["linkState"].as_str().unwrap();
    assert_eq!(end.header("location"), format!("myapp://done?state={token}"));
}

#[tokio::test]
async fn who_says_no_comes_back_with_access_denied() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    stage.fjord.lets_in(Ok(car_and_box()));
    let denied = "&error=access_denied&error_description=the+user+did+not+grant+access";
    // From the first page, and from the last.
    for is_last in [false, true] {
        let (url, token) = session(&asker, "u", &wanted()).await;
        let mut tab = Tab::at(&stage, &url);
        let page = if is_last { tab.logged_in().await } else { tab.open().await };
        let end = tab.send(&page, &[("do", "leave"), ("device", "car")]).await;
        assert_eq!(end.status, 302);
        assert_eq!(end.header("location"), format!("{END}&state={token}{denied}"));
        assert_eq!(tab.open().await.status, 410);
    }
    assert!(asker.get("/users/u/vehicles").await.ids().is_empty());
    // A session that has nowhere to go ends with a page.
    let (url, _) = session(&asker, "u", &json!({ "scopes": ["vehicle:read:data"] })).await;
    let mut tab = Tab::at(&stage, &url);
    let page = tab.open().await;
    let end = tab.send(&page, &[("do", "leave")]).await;
    assert_eq!(end.status, 200);
    assert!(end.says("Not connected") && end.says("Nothing was shared."));
    let (url, _) = session(&asker, "u", &json!({ "scopes": ["vehicle:read:data"] })).await;
    let mut tab = Tab::at(&stage, &url);
    let page = tab.logged_in().await;
    let end = tab.send(&page, &[("device", "car"), ("do", "allow")]).await;
    assert!(end.status == 200 && end.says("<h1>Connected</h1>"));
}

#[tokio::test]
async fn a_session_that_has_nowhere_to_go_ends_with_what_is_connected_now() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let garage = offer("garage", DeviceKind::Charger);
    let offers = [offer("car", DeviceKind::Vehicle), offer("box", DeviceKind::Charger), garage];
    stage.fjord.lets_in(Ok(account(&offers)));
    let (url, _) = session(&asker, "u", &json!({ "scopes": wanted()["scopes"] })).await;
    let mut tab = Tab::at(&stage, &url);
    let page = tab.logged_in().await;
    let chosen = [("device", "car"), ("device", "garage"), ("do", "allow")];
    let end = tab.send(&page, &chosen).await;
    assert!(end.status == 200 && end.says("<h2 id=\"connected\">Devices in My FJORD</h2>"));
    for (name, kind) in [("car", "Vehicle"), ("garage", "Charger")] {
        let told = format!("<span>&lt;b&gt;My&lt;/b&gt; {name} – {kind}</span>");
        assert!(end.says(&told), "{}", end.html);
    }
    assert_eq!(end.html.matches("<li>").count(), 2, "{}", end.html);
}

#[tokio::test]
async fn each_failure_is_told_kindly_and_has_a_way_on() {
    let stage = Stage::with(On::Sqlite, |config| config.link.login_timeout_seconds = 1).await;
    let asker = stage.client("a").await;
    let detail = "the account is <locked>".to_owned();
    let unavailable = "temporarily_unavailable";
    let failures = [
        (VendorError::Unauthorised, 422, "does not know this name", "access_denied"),
        (VendorError::Outage, 503, "is not available at the moment", unavailable),
        (VendorError::TimedOut, 503, "did not answer in time", unavailable),
        (
            VendorError::RateLimited { retry_after_seconds: None },
            503,
            "asks for a break",
            unavailable,
        ),
        (
            VendorError::Refused { detail },
            503,
            "says: the account is &lt;locked&gt;",
            "access_denied",
        ),
    ];
    for (failure, status, words, error) in failures {
        let (url, _) = session(&asker, "u", &wanted()).await;
        let mut tab = Tab::at(&stage, &url);
        stage.fjord.lets_in(Err(failure));
        let page = tab.open().await;
        let page = tab.follow(&page, &[("vendor", "FJORD")]).await;
        let page = tab.send(&page, &[("user_name", "ada"), ("password", "a secret")]).await;
        assert_eq!(page.status, status, "{words}");
        assert!(page.says(words) && page.says("role=\"alert\""), "{words}");
        assert!(page.says("value=\"ada\"") && !page.says("a secret"), "{words}");
        // Another brand, and the way back; leaving now tells the client why.
        let back = tab.follow(&page, &[("do", "back")]).await;
        assert!(back.says("Which brand is your device?"));
        let page = tab.follow(&back, &[("vendor", "FJORD")]).await;
        let page = tab.send(&page, &[("user_name", "ada"), ("password", "x")]).await;
        let end = tab.send(&page, &[("do", "leave")]).await;
        assert!(end.header("location").contains(&format!("&error={error}&")), "{words}");
    }
    // One that never answers.
    let (url, _) = session(&asker, "u", &wanted()).await;
    let mut tab = Tab::at(&stage, &url);
    stage.fjord.hang(true);
    let page = tab.open().await;
    let page = tab.follow(&page, &[("vendor", "FJORD")]).await;
    let page = tab.send(&page, &[("user_name", "ada"), ("password", "x")]).await;
    assert!(page.status == 503 && page.says("FJORD Cars did not answer in time."));
    stage.fjord.hang(false);
    stage.fjord.lets_in(Ok(car_and_box()));
    let page = tab.follow(&page, &[("user_name", "ada"), ("password", "x")]).await;
    assert!(page.says("Choose your devices"));
}

#[tokio::test]
async fn a_code_is_asked_for_and_a_wrong_one_is_told() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let (url, _) = session(&asker, "u", &wanted()).await;
    let mut tab = Tab::at(&stage, &url);
    let wants_code = Ok(LogIn::CodeNeeded { sent_to: "+47 ••• 12".to_owned() });
    stage.fjord.lets_in(wants_code.clone());
    let page = tab.logged_in().await;
    assert!(page.says("Enter your code") && page.says("FJORD Cars sent a code to +47 ••• 12."));
    assert!(page.says("autocomplete=\"one-time-code\"") && !page.says("a secret"));
    let empty = tab.send(&page, &[("code", "  ")]).await;
    assert!(empty.status == 422 && empty.says("Enter the code."));
    stage.fjord.lets_in(Err(VendorError::ChallengeFailed));
    for attempt in 1..=5 {
        let page = tab.send(&page, &[("code", "000 000")]).await;
        assert_eq!(page.status, 401);
        let is_last = attempt == 5;
        assert_eq!(page.says("The code was wrong too often."), is_last);
        assert_eq!(page.says("This is not the code that was sent."), !is_last);
        assert_eq!(page.hidden("step"), if is_last { "login" } else { "code" });
    }
    stage.fjord.lets_in(wants_code);
    let page = tab.logged_in().await;
    stage.fjord.lets_in(Ok(car_and_box()));
    let page = tab.follow(&page, &[("code", "123 456")]).await;
    assert!(page.says("Choose your devices"));
}

#[tokio::test]
async fn a_session_ends_with_its_twentieth_wrong_log_in() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let asker = stage.client("a").await;
        let (url, _) = session(&asker, "u", &wanted()).await;
        // A guesser brings no cookie along, so each attempt is a browser of its own.
        let attempt = async |entered| {
            stage.fjord.lets_in(entered);
            let mut tab = Tab::at(&stage, &url);
            let page = tab.open().await;
            let page = tab.follow(&page, &[("vendor", "FJORD")]).await;
            tab.send(&page, &[("user_name", "ada"), ("password", "guess")]).await
        };
        for _ in 1..20 {
            assert_eq!(attempt(Err(VendorError::Unauthorised)).await.status, 422);
        }
        // What is not the user's fault does not count, nor does the right password.
        assert_eq!(attempt(Err(VendorError::Outage)).await.status, 503);
        assert_eq!(attempt(Ok(car_and_box())).await.status, 303);
        let end = attempt(Err(VendorError::ChallengeFailed)).await;
        assert!(end.status == 302 && end.header("location").contains("error=access_denied"));
        assert_eq!(Tab::at(&stage, &url).open().await.status, 410);
    }
}

#[tokio::test]
async fn a_session_lives_24_hours() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    stage.fjord.lets_in(Ok(car_and_box()));
    let (late, late_token) = session(&asker, "u", &wanted()).await;
    let (just, _) = session(&asker, "u", &wanted()).await;
    let mut tab = Tab::at(&stage, &just);
    let page = tab.logged_in().await;
    // Hours of the person who links: the sandbox's clock may run as it likes.
    stage.app.clock().step(TimeDelta::days(3)).unwrap();
    let machine = stage.app.clock().machine();
    machine.pass(Duration::from_secs(24 * 3_600 - 1)).unwrap();
    let end = tab.send(&page, &[("device", "car"), ("do", "allow")]).await;
    assert_eq!(end.status, 302);
    machine.pass(Duration::from_secs(2)).unwrap();
    let mut tab = Tab::at(&stage, &late);
    let page = tab.open().await;
    assert_eq!(page.status, 410);
    assert!(page.says("This link has expired"));
    // The way back says what happened.
    let back = format!("{END}&state={late_token}&error=invalid_request&").replace('&', "&amp;");
    assert!(page.says(&back), "{}", page.html);
}

#[tokio::test]
async fn of_twenty_at_once_exactly_one_succeeds() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let asker = stage.client("a").await;
        stage.fjord.lets_in(Ok(car_and_box()));
        let (url, _) = session(&asker, "u", &wanted()).await;
        let mut tab = Tab::at(&stage, &url);
        let page = std::sync::Arc::new(tab.logged_in().await);
        let mut all = JoinSet::new();
        for _ in 0..20 {
            let (mut tab, page) = (tab.clone(), page.clone());
            all.spawn(async move { tab.send(&page, &[("device", "car"), ("do", "allow")]).await });
        }
        let statuses: Vec<u16> = all.join_all().await.iter().map(|seen| seen.status).collect();
        assert_eq!(statuses.iter().filter(|status| **status == 302).count(), 1, "{statuses:?}");
        assert_eq!(asker.get("/users/u/vehicles").await.ids().len(), 1);
    }
}

#[tokio::test]
async fn forms_of_others_do_nothing() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    stage.fjord.lets_in(Ok(car_and_box()));
    let (url, _) = session(&asker, "u", &wanted()).await;
    let mut tab = Tab::at(&stage, &url);
    let page = tab.logged_in().await;
    let allow = [("device", "car"), ("do", "allow")];
    // Another browser, one without cookies, and one that another site leads.
    let mut other = Tab { cookie: None, ..tab.clone() };
    let others_page = other.open().await;
    let mut led = tab.clone();
    led.headers.push(("sec-fetch-site", "cross-site"));
    let mut foreign = tab.clone();
    foreign.headers.extend([("host", "link.localhost"), ("origin", "https://evil.example")]);
    let mut framed = tab.clone();
    framed.headers.push(("origin", "null"));
    let without = Tab { cookie: None, ..tab.clone() };
    for (mut from, form) in [
        (other, &page),
        (without, &page),
        (led, &page),
        (foreign, &page),
        (framed, &page),
        (tab.clone(), &others_page),
    ] {
        let refused = from.send(form, &allow).await;
        assert_eq!(refused.status, 403);
        assert!(refused.says("This page was also open elsewhere"));
    }
    // The word of one session is not that of another.
    let (second, _) = session(&asker, "u", &wanted()).await;
    let mut moved = Tab { path: Tab::at(&stage, &second).path, ..tab.clone() };
    assert_eq!(moved.send(&page, &allow).await.status, 403);
    assert!(asker.get("/users/u/vehicles").await.ids().is_empty());
    // A form of an earlier step shows where the session is.
    let late = tab.send(&others_page_of(&page), &allow).await;
    assert_eq!(late.status, 303);
    // Where a session ends is what its client said, whatever a form says.
    tab.headers.push(("origin", "http://link.localhost"));
    let end = tab
        .send(&page, &[("device", "car"), ("do", "allow"), ("redirectUri", "https://evil.example")])
        .await;
    assert!(end.header("location").starts_with(END));
}

/// Page with the word of another step.
fn others_page_of(page: &Seen) -> Seen {
    let html =
        page.html.replace("name=\"step\" value=\"consent\"", "name=\"step\" value=\"login\"");
    Seen { status: page.status, headers: page.headers.clone(), html }
}

#[tokio::test]
async fn the_database_holds_no_password_between_two_pages() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let (url, _) = session(&asker, "u", &wanted()).await;
    let mut tab = Tab::at(&stage, &url);
    stage.fjord.lets_in(Ok(LogIn::CodeNeeded { sent_to: "here".to_owned() }));
    tab.logged_in().await;
    let hash = digest(tab.path.rsplit('/').next().unwrap());
    let row = links::get_session(stage.app.store(), &hash).await.unwrap().unwrap();
    let bytes = URL_SAFE_NO_PAD.decode(row.progress.unwrap()).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.len() > 100 && !text.contains("a secret") && !text.contains("FJORD"));
    // Once the session is used, not even that is kept.
    stage.fjord.lets_in(Ok(car_and_box()));
    let page = tab.open().await;
    let page = tab.follow(&page, &[("code", "1")]).await;
    assert_eq!(tab.send(&page, &[("device", "car"), ("do", "allow")]).await.status, 302);
    let row = links::get_session(stage.app.store(), &hash).await.unwrap().unwrap();
    assert!(row.used_at.is_some() && row.progress.is_none());
}

#[tokio::test]
async fn language_and_colours() {
    let stage = Stage::with(On::Sqlite, |config| {
        config.names.link_language = Some("language".to_owned());
        config.names.link_colour_scheme = Some("colourScheme".to_owned());
    })
    .await;
    let asker = stage.client("a").await;
    let read = "vehicle:read:data";
    let cases = [
        (json!({ "scopes": [read] }), "de-AT, en;q=0.5", "lang=\"de\" class=\"system\"", "Marke"),
        (json!({ "scopes": [read], "language": "nb" }), "de", "lang=\"nb\"", "Hvilket merke"),
        (json!({ "scopes": [read], "language": "browser" }), "fr", "lang=\"en-US\"", "Which brand"),
        (json!({ "scopes": [read], "forceLanguage": "de" }), "nb", "lang=\"de\"", "Marke"),
        (json!({ "scopes": [read], "colourScheme": "dark" }), "en", "class=\"dark\"", "Which"),
    ];
    for (body, likes, head, words) in cases {
        let (url, _) = session(&asker, "u", &body).await;
        let mut tab = Tab::at(&stage, &url);
        tab.headers.push(("accept-language", likes));
        let page = tab.open().await;
        assert!(page.says(head) && page.says(words), "{body}");
    }
    let body = json!({ "scopes": [read], "colourScheme": "pink", "language": "e" });
    let refused = asker.post("/users/u/link", Some(&body)).await;
    assert_eq!((refused.status, refused.body["issues"].as_array().unwrap().len()), (400, 2));
    // The operator's choice, where the client makes none.
    let stage = Stage::with(On::Sqlite, |config| {
        config.link.language = "nb".to_owned();
        config.link.colour_scheme = slackwater_service::config::language::ColourScheme::Dark;
    })
    .await;
    let asker = stage.client("a").await;
    let body = json!({ "scopes": [read], "colourScheme": "light" });
    let (url, _) = session(&asker, "u", &body).await;
    assert!(Tab::at(&stage, &url).open().await.says("lang=\"nb\" class=\"dark\""));
}

#[tokio::test]
async fn a_limit_that_is_reached_meanwhile_refuses_the_account() {
    let stage = Stage::with(On::Sqlite, |config| config.limits.connections_max = Some(1)).await;
    let asker = stage.client("a").await;
    stage.fjord.lets_in(Ok(car_and_box()));
    let (url, _) = session(&asker, "u", &wanted()).await;
    let mut tab = Tab::at(&stage, &url);
    let page = tab.logged_in().await;
    stage.link(&asker, "v", device("d", DeviceKind::Vehicle)).await;
    let page = tab.send(&page, &[("device", "car"), ("do", "allow")]).await;
    assert_eq!(page.status, 403);
    assert!(page.says("cannot connect any more accounts"));
    let end = tab.send(&page, &[("do", "leave")]).await;
    assert!(end.header("location").contains("error=unauthorized_client"));
    assert!(asker.get("/users/u/vehicles").await.ids().is_empty());
}

#[tokio::test]
async fn linking_again_keeps_the_device() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.link(&asker, "u", device("car", DeviceKind::Vehicle)).await;
    let again = asker.post(&format!("/assets/{id}/relink"), None).await;
    let mut tab = Tab::at(&stage, again.body["linkUrl"].as_str().unwrap());
    stage.fjord.lets_in(Ok(account(&[offer("other", DeviceKind::Vehicle)])));
    let page = tab.open().await;
    assert!(page.says("needs you to log in again"));
    let page = tab.send(&page, &[("user_name", "u"), ("password", "p")]).await;
    assert!(page.status == 422 && page.says("This account does not have the device"));
    stage.fjord.lets_in(Ok(car_and_box()));
    let page = tab.follow(&page, &[("user_name", "u"), ("password", "p")]).await;
    assert_eq!(page.html.matches("type=\"checkbox\"").count(), 1);
    let end = tab.send(&page, &[("device", "car"), ("do", "allow")]).await;
    assert!(end.says("<h1>Connected</h1>"));
    assert_eq!(asker.get("/users/u/vehicles").await.ids(), [id.to_string()]);
    // A device that is gone cannot be linked again.
    let again = asker.post(&format!("/assets/{id}/relink"), None).await;
    let mut tab = Tab::at(&stage, again.body["linkUrl"].as_str().unwrap());
    asker.delete("/users/u/vendor/FJORD").await;
    assert_eq!(tab.open().await.status, 404);
}

#[tokio::test]
async fn sessions_that_are_no_more_or_elsewhere() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let (deleted, _) = session(&asker, "u", &wanted()).await;
    let (let_go, _) = session(&asker, "v", &wanted()).await;
    assert_eq!(asker.delete("/users/u").await.status, 204);
    assert_eq!(asker.delete("/users/v/authorization").await.status, 204);
    let unknown = "http://link.localhost/link/unknown".to_owned();
    for url in [deleted, let_go, unknown] {
        let mut tab = Tab::at(&stage, &url);
        let page = tab.open().await;
        assert_eq!(page.status, 404);
        assert!(page.says("This link does not work") && !page.says("<form"));
    }
    // A session of the other environment is unknown here.
    let production = stage.production();
    let (url, _) = session(&asker, "w", &wanted()).await;
    let path = url.strip_prefix("http://link.localhost").unwrap().to_owned();
    let router = slackwater_link::router(production);
    let mut tab = Tab { router, path, cookie: None, headers: Vec::new() };
    assert_eq!(tab.open().await.status, 404);
}

#[tokio::test]
async fn scopes_that_nobody_offers_connect_nothing() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    // In the oldest version a list may be all words and no permission.
    let body = json!({ "scopes": ["offline_access"], "redirectUri": END });
    let headers = [(slackwater_http::version::SERVICE_VERSION, OLDEST)];
    let made = asker.ask(Method::POST, "/users/u/link", Some(&body), &headers).await;
    let mut tab = Tab::at(&stage, made.body["linkUrl"].as_str().unwrap());
    let page = tab.open().await;
    assert!(page.says("There is nothing to connect"));
    let end = tab.send(&page, &[("do", "leave")]).await;
    assert!(end.header("location").contains("error=invalid_scope"));
}

#[tokio::test]
async fn an_outage_shows_before_anything_is_entered() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    stage.heath.does(Health::Outage, Health::Outage);
    let (url, _) = session(&asker, "u", &wanted()).await;
    let page = Tab::at(&stage, &url).open().await;
    assert_eq!(page.html.matches("Not available at the moment").count(), 1);
    // An account without anything that fits: another log-in, or the way back.
    stage.fjord.lets_in(Ok(account(&[offer("meter", DeviceKind::Meter)])));
    let mut tab = Tab::at(&stage, &url);
    let page = tab.logged_in().await;
    assert!(page.says("No device fits") && page.says("This My FJORD account has no device"));
    let page = tab.follow(&page, &[("do", "back")]).await;
    assert!(page.says("Log in to My FJORD"));
    let sent = tab.send(&page, &[("user_name", ""), ("password", "")]).await;
    assert!(
        sent.status == 422 && sent.says("Enter your email") && sent.says("Enter your password")
    );
}

/// Style of a page.
fn style_of(page: &Seen) -> &str {
    page.html.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0
}

#[tokio::test]
async fn pages_have_the_face_that_the_operator_gave_them() {
    let stage = Stage::with(On::Sqlite, |config| {
        let brand = &mut config.link.brand;
        brand.name = Some("Nordlys <Lading>".to_owned());
        brand.logo = Some("data:image/png;base64,AAAA".to_owned());
        brand.accent = Some("#aa0044".parse().unwrap());
        brand.privacy_url = Some("https://example.org/privacy?a=1&b=\"2".to_owned());
        brand.imprint_url = Some("https://example.org/imprint".to_owned());
        brand.support_url = Some("mailto:help@example.org".to_owned());
        let logo = "data:image/png;base64,BBBB".to_owned();
        config.link.logos.insert("FJORD".to_owned(), logo);
    })
    .await;
    let asker = stage.client("a").await;
    let (url, _) = session(&asker, "ada", &wanted()).await;
    let mut tab = Tab::at(&stage, &url);
    let page = tab.open().await;
    assert!(page.says("<header><img class=\"logo\" src=\"data:image/png;base64,AAAA\" alt=\"\">"));
    // One manufacturer has a logo, and the other one an icon.
    let logo = "<img src=\"data:image/png;base64,BBBB\" alt=\"\"><span>FJORD Cars";
    assert!(page.says(logo) && page.says("</svg><span>HEATH Cars"), "{}", page.html);
    assert!(
        page.says("<p>Nordlys &lt;Lading&gt;</p>") && page.says("– Nordlys &lt;Lading&gt;</title>")
    );
    assert!(page.says("<a href=\"https://example.org/privacy?a=1&amp;b=&quot;2\""));
    assert!(page.says("<a href=\"mailto:help@example.org\" rel=\"noreferrer\">Help</a>"));
    assert!(page.says("<a href=\"https://example.org/imprint\" rel=\"noreferrer\">Imprint</a>"));
    // The policy allows the style with these colours, and no other.
    let style = style_of(&page);
    assert!(
        style.ends_with(
            ":root { --accent: #aa0044; --on-accent: #ffffff; --accent-soft: #f7e6ec; }\n"
        )
    );
    let policy = page.header("content-security-policy");
    let hash = STANDARD.encode(Sha256::digest(style));
    assert!(policy.contains(&format!("style-src 'sha256-{hash}'; img-src data:;")), "{policy}");
    assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"));
}

#[tokio::test]
async fn a_brand_is_found_among_many_without_a_script() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let codes =
        ["AALTO", "BERGEN", "CALAIS", "DUBLIN", "ESBO", "FAROE", "GDANSK", "HANKO", "IBIZA"];
    let all = |count: usize| -> Vendors {
        let few = codes.iter().take(count).map(|code| Scripted::new(code));
        few.map(|vendor| (vendor.profile().code.clone(), vendor as Arc<dyn Vendor>)).collect()
    };
    stage.app.set_vendors(all(8));
    let (url, _) = session(&asker, "ada", &wanted()).await;
    assert!(!Tab::at(&stage, &url).open().await.says("Search for a brand"));
    stage.app.set_vendors(all(9));
    let page = Tab::at(&stage, &url).open().await;
    assert!(page.says("Search for a brand") && page.says("AALTO Cars") && !page.says("Show all"));
    let found = Tab::at(&stage, &format!("{url}?q=%20gDaNsK")).open().await;
    assert!(
        found.says("GDANSK Cars") && !found.says("AALTO Cars") && found.says("Show all brands")
    );
    let none = Tab::at(&stage, &format!("{url}?q=%3Cb%3E%22")).open().await;
    assert!(none.says("No brand here has “&lt;b&gt;&quot;” in its name."), "{}", none.html);
    assert!(none.says("value=\"&lt;b&gt;&quot;\"") && !none.says("<b>"));
}

#[tokio::test]
async fn a_page_says_what_to_know_before_a_password_is_entered() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let (url, _) = session(&asker, "ada", &wanted()).await;
    let mut tab = Tab::at(&stage, &url);
    stage.heath.does(Health::Outage, Health::Outage);
    let page = tab.open().await;
    assert_eq!(page.html.matches("class=\"card off\"").count(), 1);
    let page = tab.follow(&page, &[("vendor", "HEATH")]).await;
    assert!(page.says("HEATH Cars is not available at the moment."));
    assert!(page.says("user name trial-ada, password trial-password"));
    stage.heath.does(Health::Ready, Health::Ready);
    stage.heath.lets_in(Ok(LogIn::CodeNeeded { sent_to: "a phone".to_owned() }));
    let page = tab.open().await;
    assert!(!page.says("not available"));
    let page =
        tab.follow(&page, &[("user_name", "trial-ada"), ("password", "trial-password")]).await;
    assert!(page.says("the code is 4711"));
    // Nobody is told of log-ins in production, not even of a vendor that has one.
    let production = stage.production();
    production.set_vendors(
        stage.app.vendors().into_iter().map(|v| (v.profile().code.clone(), v)).collect(),
    );
    let client = stage.client_in(&production, "p", ApiVersion::LATEST).await;
    let mut body = wanted();
    body["vendor"] = "HEATH".into();
    let (url, _) = session(&client, "ada", &body).await;
    let mut tab = Tab {
        router: slackwater_link::router(production.clone()),
        path: url.strip_prefix("https://link.example.org").unwrap().to_owned(),
        cookie: None,
        headers: Vec::new(),
    };
    let page = tab.open().await;
    assert!(page.says("Log in to My HEATH") && !page.says("trial"), "{}", page.html);
}

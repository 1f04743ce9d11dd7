//! Guessing at accounts on link pages: how often, one after the other and at once.
use serde_json::json;
use slackwater_control::device::scope::DeviceKind;
use slackwater_integration::error::VendorError;
use slackwater_integration::vendor::{Connection, LogIn, Offer};
use tokio::task::JoinSet;

use crate::harness::{On, Stage};
use crate::tab::Tab;

/// A session, and the manufacturer's own page of it in a browser of its own.
async fn tab_at_log_in(stage: &Stage, url: &str) -> (Tab, crate::tab::Seen) {
    let mut tab = Tab::at(stage, url);
    let page = tab.open().await;
    let page = tab.follow(&page, &[("vendor", "FJORD")]).await;
    (tab, page)
}

async fn session(stage: &Stage) -> String {
    let asker = stage.client("a").await;
    let body = json!({ "scopes": ["vehicle:read:data"], "redirectUri": "https://a.example.org/" });
    let made = asker.post("/users/u/link", Some(&body)).await;
    made.body["linkUrl"].as_str().unwrap().to_owned()
}

fn lets_in() -> LogIn {
    let offer =
        Offer { device: "car".to_owned(), kind: DeviceKind::Vehicle, name: "Car".to_owned() };
    LogIn::Connected { connection: Connection::new("of ada"), offers: vec![offer] }
}

const GUESS: [(&str, &str); 2] = [("user_name", "ada"), ("password", "guess")];

#[tokio::test]
async fn of_many_log_ins_at_once_no_more_reach_the_manufacturer_than_the_limit() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let url = session(&stage).await;
        let (tab, page) = tab_at_log_in(&stage, &url).await;
        let page = std::sync::Arc::new(page);
        stage.fjord.lets_in(Err(VendorError::Unauthorised));
        stage.fjord.hang(true);
        let mut all = JoinSet::new();
        for _ in 0..60 {
            let (mut tab, page) = (tab.clone(), page.clone());
            all.spawn(async move { tab.send(&page, &GUESS).await.status });
        }
        // The manufacturer answers nobody until all others were turned away.
        for _ in 0..40 {
            let status = all.join_next().await.unwrap().unwrap();
            assert!([302, 410].contains(&status), "{status}");
        }
        stage.fjord.hang(false);
        all.join_all().await;
        assert_eq!(stage.fjord.log_ins(), 20);
        assert_eq!(Tab::at(&stage, &url).open().await.status, 410);
    }
}

#[tokio::test]
async fn a_log_in_that_was_not_refused_is_given_back() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let url = session(&stage).await;
        for answer in [Err(VendorError::Outage), Ok(lets_in()), Err(VendorError::TimedOut)] {
            stage.fjord.lets_in(answer);
            for _ in 0..20 {
                let (mut tab, page) = tab_at_log_in(&stage, &url).await;
                assert!([303, 503].contains(&tab.send(&page, &GUESS).await.status));
            }
        }
        // As many as ever are left.
        stage.fjord.lets_in(Err(VendorError::Unauthorised));
        for attempt in 1..=20 {
            let (mut tab, page) = tab_at_log_in(&stage, &url).await;
            let expected = if attempt == 20 { 302 } else { 422 };
            assert_eq!(tab.send(&page, &GUESS).await.status, expected, "{attempt}");
        }
        assert_eq!(stage.fjord.log_ins(), 80);
    }
}

#[tokio::test]
async fn of_many_codes_at_once_the_manufacturer_is_asked_for_one() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let url = session(&stage).await;
        let (mut tab, page) = tab_at_log_in(&stage, &url).await;
        stage.fjord.lets_in(Ok(LogIn::CodeNeeded { sent_to: "+47".to_owned() }));
        let page = std::sync::Arc::new(tab.follow(&page, &GUESS).await);
        stage.fjord.lets_in(Err(VendorError::ChallengeFailed));
        let mut asked = stage.fjord.log_ins();
        // Five codes, however many come along with each.
        for turn in 1..=5 {
            stage.fjord.hang(true);
            let mut all = JoinSet::new();
            for _ in 0..8 {
                let (mut tab, page) = (tab.clone(), page.clone());
                all.spawn(async move { tab.send(&page, &[("code", "000")]).await.status });
            }
            stage.fjord.asked(asked + 1).await;
            stage.fjord.hang(false);
            let statuses = all.join_all().await;
            let tried = statuses.iter().filter(|status| **status == 401).count();
            assert!(tried >= 1, "{statuses:?}");
            asked = stage.fjord.log_ins();
            if asked >= 6 {
                break;
            }
            assert!(turn < 5, "five turns try five codes");
        }
        assert_eq!(asked, 6, "the log-in and five codes");
        let page = tab.open().await;
        assert_eq!(page.hidden("step"), "login");
    }
}

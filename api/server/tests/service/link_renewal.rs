//! Tokens of accounts: renewed before they expire, kept whatever the database does, and used once.
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::TimeDelta;
use serde_json::json;
use slackwater_control::device::command::{Command, Switch};
use slackwater_integration::authorization::AccountTokens;
use slackwater_integration::vendor::{Connection, Vendor};
use slackwater_service::device_calls::call_device;
use slackwater_service::jobs::poller::poll_now;
use slackwater_service::linking::connect::deauthorise;
use slackwater_service::state::App;
use slackwater_store::accounts::all_accounts;
use slackwater_store::events::latest_events;
use sqlx::{Executor, Row};
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;
use uuid::Uuid;

use crate::harness::{On, Stage};
use crate::link_redirect::{Scene, opens};
use crate::plans::car;
use crate::provider::{Does, token};

impl Scene {
    /// A user who linked a vehicle at the manufacturer's page, to a connection of tokens.
    async fn linked(on: On) -> (Self, Uuid) {
        let scene = Self::set(on).await;
        scene.stage.fjord.says("car", Ok(car(50.0, true, 80.0)));
        scene.stage.fjord.accepts(&token("access", 0));
        let id = scene.logs_in().await;
        (scene, id)
    }

    async fn logs_in(&self) -> Uuid {
        let (mut tab, page) = self.at_log_in().await;
        let back = self.goes_there(&mut tab, &page).await;
        assert_eq!(opens(&tab, &back).await.status, 303);
        let page = tab.open().await;
        let end = tab.send(&page, &[("device", "car"), ("do", "allow")]).await;
        assert_eq!(end.status, 302, "{}", end.html);
        let vehicles = self.asker.get("/users/ada/vehicles").await;
        vehicles.ids()[0].parse().unwrap()
    }

    /// An hour later the access token has expired, and the next one is accepted.
    fn expires(&self, rotations: usize) {
        self.stage.app.clock().step(TimeDelta::hours(1)).unwrap();
        self.stage.fjord.accepts(&token("access", rotations));
    }
}

pub(crate) async fn is_reached(app: &App, id: Uuid) -> bool {
    poll_now(app, id).await;
    app.cache().read(|tables| tables.any_device(id).unwrap().state.is_reachable == Some(true))
}

/// Tokens and validity of the one account, as the database has them.
pub(crate) async fn kept(stage: &Stage) -> (AccountTokens, bool) {
    let accounts = all_accounts(stage.app.store()).await.unwrap();
    let [account] = &accounts[..] else { panic!("{accounts:?}") };
    (account.connection.as_ref().and_then(Connection::tokens).unwrap(), account.is_valid)
}

#[tokio::test]
async fn tokens_are_renewed_before_they_expire_and_outlive_a_restart() {
    for on in [On::Sqlite, On::Postgres] {
        let (mut scene, id) = Scene::linked(on).await;
        assert!(is_reached(&scene.stage.app, id).await);
        assert_eq!(scene.provider.asked(), 1, "tokens that are good are not renewed");
        for rotations in 1..=2 {
            scene.expires(rotations);
            assert!(is_reached(&scene.stage.app, id).await);
            assert!(is_reached(&scene.stage.app, id).await);
            let (tokens, is_valid) = kept(&scene.stage).await;
            assert_eq!(tokens.access_token, token("access", rotations));
            assert_eq!(tokens.refresh_token, Some(token("refresh", rotations)));
            let expires_at = scene.stage.app.now() + TimeDelta::hours(1);
            assert!(is_valid && tokens.expires_at == Some(expires_at));
            assert_eq!(scene.provider.asked(), 1 + rotations);
            // Encrypted like all secrets of accounts.
            let query = sqlx::query("select secret, secret_key from connections");
            let row = query.fetch_one(scene.stage.app.store().reader()).await.unwrap();
            let secret: String = row.get("secret");
            let key: Option<String> = row.get("secret_key");
            assert!(!secret.contains("ada") && key.is_some());
            scene.stage = scene.stage.restarted().await;
        }
    }
}

#[tokio::test]
async fn an_access_token_that_is_refused_early_is_renewed_for_reads_and_commands() {
    let (scene, id) = Scene::linked(On::Sqlite).await;
    let app = &scene.stage.app;
    scene.stage.fjord.accepts(&token("access", 1));
    assert!(is_reached(app, id).await);
    assert_eq!(scene.provider.rotations(), Some(1));
    scene.stage.fjord.accepts(&token("access", 2));
    let device = app.cache().read(|tables| tables.any_device(id).cloned()).unwrap();
    let (stop, now) = (Command::Charge(Switch::Stop), app.now());
    let sent = call_device(app, (&*device, "send"), |vendor: Arc<dyn Vendor>, linked| async move {
        vendor.send(&linked, &stop, now).await
    });
    assert_eq!(sent.await, Ok(()));
    assert_eq!(scene.stage.fjord.sent("car"), [stop]);
    assert_eq!(scene.provider.rotations(), Some(2));
    // A manufacturer that refuses new tokens, too, is not asked for more of them.
    scene.stage.fjord.accepts("another");
    poll_now(app, id).await;
    let asked = scene.provider.asked();
    assert!(!kept(&scene.stage).await.1);
    for _ in 0..3 {
        poll_now(app, id).await;
    }
    assert_eq!(scene.provider.asked(), asked);
}

/// The process dies after the manufacturer replaced the refresh token and before that was kept.
#[tokio::test]
async fn a_crash_before_new_tokens_are_kept_does_not_lose_the_link() {
    for on in [On::Sqlite, On::Postgres] {
        let (mut scene, id) = Scene::linked(on).await;
        scene.provider.gives_grace();
        scene.provider.does(Does::Lose);
        scene.expires(1);
        let app = scene.stage.app.clone();
        let dying = tokio::spawn(async move { poll_now(&app, id).await });
        scene.provider.was_asked(2).await;
        dying.abort();
        let (tokens, _) = kept(&scene.stage).await;
        assert_eq!(tokens.refresh_token, Some(token("refresh", 0)), "the old one is kept");
        scene.stage = scene.stage.restarted().await;
        scene.provider.does(Does::Allow);
        // The lease of the process that died expires.
        scene.stage.app.clock().machine().pass(Duration::from_mins(1)).unwrap();
        assert!(is_reached(&scene.stage.app, id).await);
        let (tokens, is_valid) = kept(&scene.stage).await;
        assert!(is_valid && tokens.refresh_token == Some(token("refresh", 1)));
        assert_eq!(scene.provider.rotations(), Some(1));
    }
}

/// Lines of the log of this thread.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn count(&self, message: &str) -> usize {
        String::from_utf8_lossy(&self.0.lock().unwrap()).matches(message).count()
    }

    /// Waits for a message that comes for the `number`-th time.
    async fn wait_for(&self, message: &str, number: usize) {
        let comes = async {
            while self.count(message) < number {
                yield_now().await;
            }
        };
        timeout(Duration::from_mins(1), comes).await.expect(message);
    }
}

/// Statements after which the database takes no new tokens, and those after which it does again.
fn fault(on: On) -> (&'static [&'static str], &'static str) {
    match on {
        On::Sqlite => (
            &["create trigger fails before update of secret on connections begin
                   select raise(abort, 'no room'); end"],
            "drop trigger fails",
        ),
        On::Postgres => (
            &[
                "create function fail() returns trigger language plpgsql as $$ begin
                     raise exception 'no room'; end $$",
                "create trigger fails before update of secret on connections
                     for each row execute function fail()",
            ],
            "drop trigger fails on connections",
        ),
    }
}

#[tokio::test]
async fn renewed_tokens_that_the_database_refuses_are_used_and_stored_when_it_takes_them() {
    const NOT_YET: &str = "renewed tokens are not stored yet";
    const AT_LAST: &str = "renewed tokens are stored at last";
    for on in [On::Sqlite, On::Postgres] {
        let lines = Lines::default();
        let written = lines.clone();
        let log = tracing_subscriber::fmt().json().with_writer(move || written.clone());
        let _log = tracing::subscriber::set_default(log.finish());
        let (mut scene, id) = Scene::linked(on).await;
        let app = scene.stage.app.clone();
        let (fails, works) = fault(on);
        for statement in fails {
            app.store().reader().execute(*statement).await.unwrap();
        }
        // The manufacturer has replaced the refresh token, and the database has the old one.
        scene.expires(1);
        assert!(is_reached(&app, id).await);
        let (tokens, is_valid) = kept(&scene.stage).await;
        assert!(is_valid && tokens.refresh_token == Some(token("refresh", 0)));
        for failures in 1..=3 {
            lines.wait_for(NOT_YET, failures).await;
            assert!(is_reached(&app, id).await, "calls have the new tokens meanwhile");
            app.clock().step(TimeDelta::seconds(30)).unwrap();
        }
        lines.wait_for(NOT_YET, 4).await;
        assert_eq!(scene.provider.asked(), 2, "the old refresh token is not sent again");
        assert_eq!(lines.count(AT_LAST), 0);

        app.store().reader().execute(works).await.unwrap();
        app.clock().step(TimeDelta::seconds(30)).unwrap();
        lines.wait_for(AT_LAST, 1).await;
        let (tokens, is_valid) = kept(&scene.stage).await;
        assert!(is_valid && tokens.refresh_token == Some(token("refresh", 1)));
        // Another process goes on from there.
        scene.stage = scene.stage.restarted().await;
        scene.expires(2);
        assert!(is_reached(&scene.stage.app, id).await);
        assert_eq!((scene.provider.rotations(), scene.provider.asked()), (Some(2), 3));
        assert_eq!(kept(&scene.stage).await.0.refresh_token, Some(token("refresh", 2)));
        assert_eq!((lines.count(NOT_YET), lines.count("-token-of-ada")), (4, 0));
    }
}

/// A user who links anew meanwhile has newer tokens than those that were not stored.
#[tokio::test]
async fn tokens_that_were_not_stored_do_not_replace_those_of_a_new_log_in() {
    let (scene, id) = Scene::linked(On::Sqlite).await;
    let app = &scene.stage.app;
    let (fails, works) = fault(On::Sqlite);
    app.store().reader().execute(fails[0]).await.unwrap();
    scene.expires(1);
    assert!(is_reached(app, id).await);
    app.store().reader().execute(works).await.unwrap();
    scene.provider.rotates();
    assert_eq!(scene.logs_in().await, id);
    let (linked, _) = kept(&scene.stage).await;
    assert_eq!(linked.refresh_token, Some(token("refresh", 2)));
    // The tokens in memory are given up in their next turn, which ends before the next renewal.
    scene.expires(3);
    assert!(is_reached(app, id).await);
    assert_eq!(kept(&scene.stage).await.0.refresh_token, Some(token("refresh", 3)));
}

#[tokio::test]
async fn tokens_of_a_user_who_withdrew_meanwhile_are_not_stored() {
    let lines = Lines::default();
    let written = lines.clone();
    let log = tracing_subscriber::fmt().json().with_writer(move || written.clone());
    let _log = tracing::subscriber::set_default(log.finish());
    let (scene, id) = Scene::linked(On::Sqlite).await;
    let app = &scene.stage.app;
    let (fails, works) = fault(On::Sqlite);
    app.store().reader().execute(fails[0]).await.unwrap();
    scene.expires(1);
    assert!(is_reached(app, id).await);
    lines.wait_for("renewed tokens are not stored yet", 1).await;
    app.store().reader().execute(works).await.unwrap();
    let account = all_accounts(app.store()).await.unwrap().remove(0);
    deauthorise(app, &account.client_id, &account.user_id).await.unwrap();
    app.clock().step(TimeDelta::seconds(30)).unwrap();
    lines.wait_for("renewed tokens are given up: the account has others", 1).await;
    let query =
        "select count(*) as stored from connections where secret is not null or is_valid = 1";
    let row = app.store().reader().fetch_one(query).await.unwrap();
    assert_eq!(row.get::<i64, _>("stored"), 0);
}

/// Without grace the manufacturer ends the log-in when it sees the old refresh token again.
#[tokio::test]
async fn a_refresh_token_that_was_used_before_asks_the_owner_to_log_in_again() {
    let (scene, id) = Scene::linked(On::Sqlite).await;
    let app = &scene.stage.app;
    scene.provider.does(Does::Lose);
    scene.expires(1);
    // The answer was lost: nothing is known, and nothing is refused.
    assert!(!is_reached(app, id).await && kept(&scene.stage).await.1);
    scene.provider.does(Does::Allow);
    assert!(!is_reached(app, id).await);
    assert_eq!(scene.provider.rotations(), None);
    assert!(!kept(&scene.stage).await.1);
    let told = latest_events(app.store(), 20).await.unwrap();
    let refusal = json!({ "vendor": "FJORD", "credentials_valid": false });
    assert_eq!(told.iter().filter(|event| event.body == refusal).count(), 1);
    let asked = scene.provider.asked();
    assert!(!is_reached(app, id).await);
    assert_eq!(scene.provider.asked(), asked, "a void token is not sent again");
    // The owner logs in again, and all goes on with the same device.
    assert_eq!(scene.logs_in().await, id);
    assert!(is_reached(app, id).await && kept(&scene.stage).await.1);
}

#[tokio::test]
async fn of_many_calls_on_two_replicas_one_uses_the_refresh_token() {
    let (scene, id) = Scene::linked(On::Postgres).await;
    let replica = scene.stage.replica().await;
    scene.expires(1);
    let mut calls = JoinSet::new();
    for number in 0..20 {
        let app = if number % 2 == 0 { &scene.stage.app } else { &replica.app };
        let app = app.clone();
        calls.spawn(async move { is_reached(&app, id).await });
    }
    assert!(calls.join_all().await.into_iter().all(|is_reached| is_reached));
    assert_eq!((scene.provider.rotations(), scene.provider.asked()), (Some(1), 2));
}

#[tokio::test]
async fn a_manufacturer_that_is_down_leaves_the_tokens_as_they_are() {
    let (scene, id) = Scene::linked(On::Sqlite).await;
    scene.expires(1);
    scene.provider.does(Does::Down);
    assert!(!is_reached(&scene.stage.app, id).await);
    assert!(kept(&scene.stage).await.1);
    scene.provider.does(Does::Allow);
    assert!(is_reached(&scene.stage.app, id).await);
}

//! Price feeds: fetched once, asked for conditionally, and harmless when they fail.
use std::sync::{Arc, Mutex};

use axum::http::Method;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use slackwater_engine::prices::currency::Currency;
use slackwater_service::config::Config;
use slackwater_service::config::feeds::{FeedFormat, FeedSettings};
use slackwater_service::config::prices::ZoneSettings;
use slackwater_service::prices::feeds::{FeedReport, fetch_due, list_feeds};
use slackwater_service::state::App;
use slackwater_store::prices::{SeriesName, series_revisions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::harness::{On, Stage, six};
use crate::prices::pull;

/// Prices of today, from three in the afternoon.
const TODAY: &str = "start,price_nok_per_kwh\n\
    2026-01-05T15:00Z,1.5\n2026-01-05T16:00Z,1.25\n2026-01-05T17:00Z,-0.5\n";

/// Prices of tomorrow.
const TOMORROW: &str = "start,price_nok_per_kwh\n\
    2026-01-05T18:00Z,2\n2026-01-05T19:00Z,3\n2026-01-05T20:00Z,4\n";

/// From the head of a request to the bytes of its answer; none leaves the request unanswered.
type Answer = Box<dyn Fn(&str) -> Option<Vec<u8>> + Send>;

/// A publisher of prices, by plain sockets: its answers may be broken in any way.
struct Publisher {
    url: String,
    answer: Arc<Mutex<Answer>>,
    heads: Arc<watch::Sender<Vec<String>>>,
    served: AbortHandle,
}

impl Publisher {
    async fn start() -> Self {
        let answer: Arc<Mutex<Answer>> = Arc::new(Mutex::new(Box::new(|_| Some(status("404")))));
        let heads = Arc::new(watch::Sender::new(Vec::new()));
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", socket.local_addr().unwrap());
        let (answers, seen) = (Arc::clone(&answer), Arc::clone(&heads));
        let serve = async move {
            loop {
                let (stream, _) = socket.accept().await.unwrap();
                tokio::spawn(answer_one(stream, Arc::clone(&answers), Arc::clone(&seen)));
            }
        };
        Self { url, answer, heads, served: tokio::spawn(serve).abort_handle() }
    }

    fn answers(&self, answer: impl Fn(&str) -> Vec<u8> + Send + 'static) {
        *self.answer.lock().unwrap() = Box::new(move |head| Some(answer(head)));
    }

    /// From now on requests are not answered.
    fn hangs(&self) {
        *self.answer.lock().unwrap() = Box::new(|_| None);
    }

    /// Heads of the requests since the last call.
    fn take_heads(&self) -> Vec<String> {
        self.heads.send_replace(Vec::new())
    }

    /// Waits until it was asked.
    async fn was_asked(&self) {
        self.heads.subscribe().wait_for(|heads| !heads.is_empty()).await.unwrap();
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.served.abort();
    }
}

async fn answer_one(
    mut stream: TcpStream,
    answer: Arc<Mutex<Answer>>,
    heads: Arc<watch::Sender<Vec<String>>>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let bytes = answer.lock().unwrap()(&head);
    heads.send_modify(|heads| heads.push(head));
    match bytes {
        // Who stops reading may close the connection first.
        Some(bytes) => drop(stream.write_all(&bytes).await),
        None => std::future::pending().await,
    }
}

fn status(status: &str) -> Vec<u8> {
    answer(status, "", "")
}

fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n");
    format!("{head}{headers}\r\n{body}").into_bytes()
}

/// Lists of today and tomorrow with validators, unless the request names them.
fn published(head: &str) -> Vec<u8> {
    let (body, tag) =
        if head.contains("/2026-01-05.csv") { (TODAY, "today") } else { (TOMORROW, "tomorrow") };
    if head.to_lowercase().contains(&format!("if-none-match: \"{tag}\"")) {
        return status("304");
    }
    let headers = format!("etag: \"{tag}\"\r\nlast-modified: Mon, 05 Jan 2026 12:00:00 GMT\r\n");
    answer("200", &headers, body)
}

fn only_today(head: &str) -> Vec<u8> {
    if head.contains("/2026-01-05.csv") { published(head) } else { status("404") }
}

fn of_lists(publisher: &Publisher) -> FeedSettings {
    let url = Some(format!("{}/{{date}}.csv", publisher.url));
    FeedSettings { url, ..FeedSettings::new(FeedFormat::List) }
}

fn with_feed(feed: FeedSettings, currency: &str) -> impl FnOnce(&mut Config) + use<> {
    let currency = Currency::parse(currency).unwrap();
    move |config| {
        let zone = ZoneSettings { currency, is_activated: true, prices: None, feed: Some(feed) };
        config.zones.insert("NO1".to_owned(), zone);
    }
}

/// Lets time pass on the machine and on the clock of the service.
fn passes(app: &App, time: TimeDelta) {
    app.clock().machine().pass(time.to_std().unwrap()).unwrap();
    app.clock().step(time).unwrap();
}

async fn report(app: &App) -> FeedReport {
    let mut all = list_feeds(app).await.unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn at(clock: &str) -> DateTime<Utc> {
    format!("2026-01-05T{clock}:00Z").parse().unwrap()
}

/// The market prices that memory has.
fn known(app: &App) -> Vec<f64> {
    let name = SeriesName::Market { zone_id: "NO1".to_owned() };
    app.prices().read(|book| {
        book.series(&name).map(|series| series.curve.prices().to_vec()).unwrap_or_default()
    })
}

async fn revision(app: &App) -> i64 {
    series_revisions(app.store()).await.unwrap().iter().map(|(_, revision)| revision).sum()
}

#[tokio::test]
async fn prices_are_fetched_and_then_asked_for_conditionally_also_after_a_restart() {
    for on in [On::Sqlite, On::Postgres] {
        let publisher = Publisher::start().await;
        publisher.answers(only_today);
        let mut stage = Stage::with(on, with_feed(of_lists(&publisher), "NOK")).await;
        assert_eq!(report(&stage.app).await.next_at, None);
        assert_eq!(fetch_due(&stage.app).await.unwrap(), 1);
        // Tomorrow's prices are not there yet, which is no failure.
        let first = report(&stage.app).await;
        assert_eq!((first.failures, first.failure, first.rows), (0, None, Some(3)));
        assert_eq!(first.prices_until, Some(at("18:00")));
        assert_eq!(first.next_at, Some(six() + TimeDelta::hours(1)));
        assert_eq!(known(&stage.app), [1.5, 1.25, -0.5]);
        let heads = publisher.take_heads();
        assert_eq!(heads.len(), 2);
        assert!(heads.iter().all(|head| !head.to_lowercase().contains("if-none-match")));
        assert_eq!(fetch_due(&stage.app).await.unwrap(), 0, "not due");
        assert_eq!(publisher.take_heads(), [""; 0]);

        publisher.answers(published);
        passes(&stage.app, TimeDelta::hours(1));
        assert_eq!(fetch_due(&stage.app).await.unwrap(), 1);
        let heads = publisher.take_heads();
        let today = heads.iter().find(|head| head.contains("/2026-01-05.csv")).unwrap();
        let today = today.to_lowercase();
        assert!(today.contains("if-none-match: \"today\""), "{today}");
        assert!(today.contains("if-modified-since: mon, 05 jan 2026 12:00:00 gmt"), "{today}");
        let both = [1.5, 1.25, -0.5, 2.0, 3.0, 4.0];
        assert_eq!(known(&stage.app), both);
        assert_eq!(report(&stage.app).await.prices_until, Some(at("21:00")));

        let revision_before = revision(&stage.app).await;
        stage = stage.restarted().await;
        passes(&stage.app, TimeDelta::hours(1));
        assert_eq!(fetch_due(&stage.app).await.unwrap(), 1);
        let heads = publisher.take_heads();
        assert_eq!(heads.len(), 2);
        assert!(heads.iter().all(|head| head.to_lowercase().contains("if-none-match: \"to")));
        assert_eq!(known(&stage.app), both);
        assert_eq!(revision(&stage.app).await, revision_before, "nothing has changed");
    }
}

#[tokio::test]
async fn the_same_prices_again_change_nothing_without_validators_either() {
    let publisher = Publisher::start().await;
    publisher.answers(|_| answer("200", "", TODAY));
    let url = Some(format!("{}/all.csv", publisher.url));
    let feed = FeedSettings { url, ..FeedSettings::new(FeedFormat::List) };
    let stage = Stage::with(On::Sqlite, with_feed(feed, "NOK")).await;
    assert_eq!(fetch_due(&stage.app).await.unwrap(), 1);
    let revision_before = revision(&stage.app).await;
    passes(&stage.app, TimeDelta::hours(1));
    assert_eq!(fetch_due(&stage.app).await.unwrap(), 1);
    assert_eq!(publisher.take_heads().len(), 2);
    assert_eq!(revision(&stage.app).await, revision_before);
    publisher.answers(|_| answer("200", "", &TODAY.replace("1.25", "1.75")));
    passes(&stage.app, TimeDelta::hours(1));
    assert_eq!(fetch_due(&stage.app).await.unwrap(), 1);
    assert_eq!(known(&stage.app), [1.5, 1.75, -0.5]);
}

#[tokio::test]
async fn a_failing_feed_takes_no_prices_away_and_is_asked_ever_less_often() {
    let publisher = Publisher::start().await;
    publisher.answers(published);
    let stage = Stage::with(On::Sqlite, with_feed(of_lists(&publisher), "NOK")).await;
    assert_eq!(fetch_due(&stage.app).await.unwrap(), 1);
    let prices = known(&stage.app);
    let long = 9 * 1024 * 1024;
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 5000\r\nconnection: close\r\n\r\nstart,price\n";
    let elsewhere = "location: ftp://127.0.0.1/day.csv\r\n";
    let faults: Vec<(Vec<u8>, &str)> = vec![
        (status("500"), "answered 500"),
        (answer("200", "", &" ".repeat(long)), "the reply is longer than 8 MiB"),
        (cut.as_bytes().to_vec(), "not reached: the connection was closed before"),
        (b"nonsense\r\n\r\n".to_vec(), "not reached: the answer is not HTTP"),
        (answer("302", elsewhere, ""), "redirects are not followed"),
        (answer("200", "", "<html>"), "there is not one column of times"),
        (
            answer("200", "", &TODAY.replace("nok", "eur")),
            "nothing says what the prices count; say a unit such as NOK/MWh",
        ),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n\xff".to_vec(), "not text in UTF-8"),
        (status("404"), "answered 404"),
        (status("304"), "answered 304"),
    ];
    for (count, (reply, expected)) in (1..).zip(faults) {
        publisher.answers(move |_| reply.clone());
        let due = report(&stage.app).await.next_at.unwrap();
        passes(&stage.app, due - stage.app.clock().machine().now());
        // The days after tomorrow have no validators yet.
        if count == 1 {
            passes(&stage.app, TimeDelta::days(2));
        }
        assert_eq!(fetch_due(&stage.app).await.unwrap(), 1);
        let failed = report(&stage.app).await;
        let failure = failed.failure.unwrap();
        assert!(failure.contains(expected), "{expected}: {failure}");
        assert_eq!(failed.failures, count);
        let wait = failed.next_at.unwrap() - stage.app.clock().machine().now();
        // Each failure doubles the wait, of which half is drawn.
        let least = TimeDelta::milliseconds(2_500) * 2_i32.pow(count - 1);
        assert!(least <= wait && wait <= least * 2, "{wait} after {count} failures");
        assert_eq!(known(&stage.app), prices, "{expected}");
    }
    publisher.answers(|_| answer("200", "", TODAY));
    let due = report(&stage.app).await.next_at.unwrap();
    passes(&stage.app, due - stage.app.clock().machine().now());
    assert_eq!(fetch_due(&stage.app).await.unwrap(), 1);
    let well = report(&stage.app).await;
    assert_eq!((well.failures, well.failure), (0, None));
}

#[tokio::test]
async fn a_publisher_says_how_long_to_wait() {
    let publisher = Publisher::start().await;
    let stage = Stage::with(On::Sqlite, with_feed(of_lists(&publisher), "NOK")).await;
    let replies = [
        ("retry-after: 7200\r\n", TimeDelta::hours(2)),
        ("retry-after: Mon, 05 Jan 2026 23:00:00 GMT\r\n", TimeDelta::hours(3)),
        ("retry-after: 999999999\r\n", TimeDelta::days(1)),
    ];
    for (header, expected) in replies {
        publisher.answers(move |_| answer("429", header, ""));
        assert_eq!(fetch_due(&stage.app).await.unwrap(), 1);
        let failed = report(&stage.app).await;
        assert!(failed.failure.unwrap().contains("answered 429"));
        let now = stage.app.clock().machine().now();
        assert_eq!(failed.next_at.unwrap() - now, expected, "{header}");
        passes(&stage.app, expected);
    }
}

#[tokio::test]
async fn one_of_two_replicas_fetches() {
    let publisher = Publisher::start().await;
    publisher.answers(published);
    let stage = Stage::with(On::Postgres, with_feed(of_lists(&publisher), "NOK")).await;
    let replica = stage.replica().await;
    for _ in 0..3 {
        let (one, other) = tokio::join!(fetch_due(&stage.app), fetch_due(&replica.app));
        assert_eq!(one.unwrap() + other.unwrap(), 1);
        assert_eq!(publisher.take_heads().len(), 2, "today and tomorrow, once each");
        // Both have the same machine.
        passes(&stage.app, TimeDelta::hours(1));
    }
    assert_eq!(report(&stage.app).await.failures, 0);
}

#[tokio::test]
async fn a_process_that_dies_while_it_fetches_is_followed_by_another() {
    for on in [On::Sqlite, On::Postgres] {
        let publisher = Publisher::start().await;
        publisher.hangs();
        let mut stage = Stage::with(on, with_feed(of_lists(&publisher), "NOK")).await;
        let app = stage.app.clone();
        let dying = tokio::spawn(async move { fetch_due(&app).await });
        publisher.was_asked().await;
        dying.abort();
        assert!(dying.await.unwrap_err().is_cancelled());
        publisher.answers(published);
        stage = stage.restarted().await;
        assert_eq!(fetch_due(&stage.app).await.unwrap(), 0, "the lease is held");
        passes(&stage.app, TimeDelta::minutes(2));
        assert_eq!(fetch_due(&stage.app).await.unwrap(), 1);
        assert_eq!(known(&stage.app).len(), 6);
    }
}

/// A day of quarter hours of an area, as ENTSO-E replies with it.
fn entsoe_day() -> String {
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
    <Publication_MarketDocument xmlns=\"urn:iec62325.351:tc57wg16:451-3:publicationdocument:7:3\">
    <TimeSeries><in_Domain.mRID codingScheme=\"A01\">10YBE----------2</in_Domain.mRID>
    <currency_Unit.name>EUR</currency_Unit.name>
    <price_Measure_Unit.name>MWH</price_Measure_Unit.name><curveType>A03</curveType>
    <Period><timeInterval><start>2026-01-04T23:00Z</start><end>2026-01-05T23:00Z</end></timeInterval>
    <resolution>PT15M</resolution>
    <Point><position>1</position><price.amount>80</price.amount></Point>
    <Point><position>50</position><price.amount>-40</price.amount></Point>
    </Period></TimeSeries></Publication_MarketDocument>"
        .to_owned()
}

/// Settings as an operator writes them, with the token in a file.
fn entsoe_settings(publisher: &Publisher, currency: &str) -> (tempfile::TempDir, Config) {
    let folder = tempfile::tempdir().unwrap();
    let (token, settings) = (folder.path().join("token"), folder.path().join("settings.toml"));
    std::fs::write(&token, "s3cret-token\n").unwrap();
    let text = format!(
        "[zones.NO1]\ncurrency = \"{currency}\"\n[zones.NO1.feed]\nformat = \"entsoe\"\n\
         domain = \"10YBE----------2\"\nurl = \"{}/api?key=hidden\"\ntoken_file = \"{}\"\n",
        publisher.url,
        token.display()
    );
    std::fs::write(&settings, text).unwrap();
    let config = Config::load(Some(&settings)).unwrap();
    (folder, config)
}

#[tokio::test]
async fn the_token_of_entsoe_is_sent_and_shown_nowhere() {
    let publisher = Publisher::start().await;
    let (_folder, loaded) = entsoe_settings(&publisher, "EUR");
    let (shown, debug) = (loaded.shown().to_string(), format!("{loaded:?}"));
    assert!(!shown.contains("s3cret") && !shown.contains("hidden"), "{shown}");
    assert!(!debug.contains("s3cret"), "{debug}");
    let zones = loaded.zones.clone();
    let stage = Stage::with(On::Sqlite, move |config| config.zones = zones).await;
    publisher.answers(|_| answer("200", "", &entsoe_day()));
    assert_eq!(fetch_due(&stage.app).await.unwrap(), 1);
    let heads = publisher.take_heads();
    assert_eq!(heads.len(), 1);
    for part in [
        "/api?key=hidden&documentType=A44&",
        "&in_Domain=10YBE----------2&",
        "&periodStart=202601042300&periodEnd=202601062300&",
        "&securityToken=s3cret-token ",
    ] {
        assert!(heads[0].contains(part), "{part}: {}", heads[0]);
    }
    // Equal prices in a row are one step.
    assert_eq!(known(&stage.app), [0.08, -0.04]);
    assert_eq!(report(&stage.app).await.rows, Some(96));
    let revision_before = revision(&stage.app).await;
    passes(&stage.app, TimeDelta::hours(1));
    assert_eq!(fetch_due(&stage.app).await.unwrap(), 1);
    assert_eq!(revision(&stage.app).await, revision_before, "nothing has changed");
    // A publisher that repeats the token in its reason.
    let refused = "<Acknowledgement_MarketDocument><Reason><code>999</code>\
        <text>token s3cret-token\u{9}has no right</text></Reason></Acknowledgement_MarketDocument>";
    publisher.answers(move |_| answer("401", "", refused));
    passes(&stage.app, TimeDelta::hours(1));
    assert_eq!(fetch_due(&stage.app).await.unwrap(), 1);
    let failure = report(&stage.app).await.failure.unwrap();
    assert_eq!(failure, "answered 401 Unauthorized: token *** has no right");
}

#[tokio::test]
async fn prices_in_another_currency_are_refused() {
    let publisher = Publisher::start().await;
    let (_folder, loaded) = entsoe_settings(&publisher, "NOK");
    let stage = Stage::with(On::Sqlite, move |config| config.zones = loaded.zones).await;
    publisher.answers(|_| answer("200", "", &entsoe_day()));
    assert_eq!(fetch_due(&stage.app).await.unwrap(), 1);
    let failure = report(&stage.app).await.failure.unwrap();
    let expected = "prices are not in NOK; found: PT15M, sequence None, area 10YBE----------2, EUR";
    assert_eq!(failure, expected);
    assert!(known(&stage.app).is_empty());
}

#[tokio::test]
async fn nord_pool_is_asked_for_today_and_tomorrow() {
    let publisher = Publisher::start().await;
    let feed = FeedSettings {
        url: Some(publisher.url.clone()),
        delivery_area: Some("NO1".to_owned()),
        ..FeedSettings::new(FeedFormat::Nordpool)
    };
    let stage = Stage::with(On::Sqlite, with_feed(feed, "NOK")).await;
    publisher.answers(|head| {
        if head.contains("date=2026-01-06") {
            return b"HTTP/1.1 204 X\r\nconnection: close\r\n\r\n".to_vec();
        }
        let entries = json!([{
            "deliveryStart": "2026-01-05T18:00:00Z", "deliveryEnd": "2026-01-05T18:15:00Z",
            "entryPerArea": { "NO1": 512.5 },
        }]);
        let body = json!({ "currency": "NOK", "multiAreaEntries": entries }).to_string();
        answer("200", "", &body)
    });
    assert_eq!(fetch_due(&stage.app).await.unwrap(), 1);
    assert_eq!(report(&stage.app).await.failure, None);
    assert_eq!(known(&stage.app), [0.5125]);
    let heads = publisher.take_heads();
    let asked = "?date=2026-01-05&market=DayAhead&deliveryArea=NO1&currency=NOK ";
    assert!(heads[0].contains(asked), "{}", heads[0]);
}

#[tokio::test]
async fn a_file_is_read_again_when_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("day.csv");
    let feed = FeedSettings { file: Some(file.clone()), ..FeedSettings::new(FeedFormat::List) };
    let stage = Stage::with(On::Sqlite, with_feed(feed, "NOK")).await;
    assert_eq!(fetch_due(&stage.app).await.unwrap(), 1);
    assert!(report(&stage.app).await.failure.unwrap().starts_with("cannot read "));
    for (text, count) in [(TODAY, 3), (TODAY, 3), (TOMORROW, 6)] {
        std::fs::write(&file, text).unwrap();
        let due = report(&stage.app).await.next_at.unwrap();
        passes(&stage.app, due - stage.app.clock().machine().now());
        assert_eq!(fetch_due(&stage.app).await.unwrap(), 1);
        assert_eq!(report(&stage.app).await.failure, None);
        assert_eq!(known(&stage.app).len(), count);
    }
}

#[tokio::test]
async fn operators_list_feeds_and_fetch_one_at_once() {
    let publisher = Publisher::start().await;
    publisher.answers(published);
    let stage = Stage::with(On::Sqlite, with_feed(of_lists(&publisher), "NOK")).await;
    let (status, listed) = pull(&stage, Method::GET, "/prices/feeds", "").await;
    assert_eq!(status, 200);
    assert_eq!(
        listed,
        json!([{
            "zone": "NO1", "format": "list", "tried_at": null, "succeeded_at": null,
            "next_at": null, "failures": 0, "failure": null, "rows": null, "prices_until": null,
        }])
    );
    for _ in 0..2 {
        // Due or not.
        let (status, fetched) =
            pull(&stage, Method::POST, "/prices/feeds/fetch?zone=NO1", "").await;
        assert_eq!((status.as_u16(), &fetched["rows"]), (200, &json!(6)), "{fetched}");
        assert_eq!(fetched["prices_until"], json!("2026-01-05T21:00:00Z"));
        assert_eq!(fetched["next_at"], json!("2026-01-05T19:00:00Z"));
        assert_eq!(publisher.take_heads().len(), 2);
    }
    let (_, audit) = pull(&stage, Method::GET, "/audit", "").await;
    assert!(audit.to_string().contains("/prices/feeds/fetch?zone=NO1"), "{audit}");
    let unknown = pull(&stage, Method::POST, "/prices/feeds/fetch?zone=SE3", "").await;
    assert_eq!(unknown.0, 404);
    let missing = pull(&stage, Method::POST, "/prices/feeds/fetch", "").await;
    assert_eq!(missing.0, 400);
    // Another process fetches it.
    publisher.hangs();
    let app = stage.app.clone();
    passes(&app, TimeDelta::hours(1));
    let fetching = tokio::spawn(async move { fetch_due(&app).await });
    publisher.was_asked().await;
    let (status, busy) = pull(&stage, Method::POST, "/prices/feeds/fetch?zone=NO1", "").await;
    assert_eq!(status, 503);
    assert!(busy["detail"].as_str().unwrap().contains("is being fetched"), "{busy}");
    fetching.abort();
}

//! Charge points of 1.6 that load a central system. `make ocpp-load` measures the service with them.
//!
//! `charge_points prepare FOLDER SITES SIZE` writes the credentials of `SITES * SIZE` charge points,
//! and prints the password of all. `charge_points run ADDRESS SITES SIZE PASSWORD` connects them. Each
//! charges without end, sends meter values every ten seconds, takes every limit, and connects again
//! a second or two after it was cut off. The first one of a site has the meter of its other load,
//! which rises every minute.
//!
//! It reads orders, one a line, and prints a JSON document for each: `state` has the number of charge
//! points that are connected and were answered; `times` has the times since the last one from the
//! meter value of a rise to the lower limit at each charge point, and from a meter value to its answer,
//! with the number of rises, and of those in the busiest second. `wave` lets the load of all sites rise
//! for a while from their next meter values on, which are spread over ten seconds, and `surge` at
//! once.
use std::error::Error;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::Utc;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use slackwater_ocpp::edge::files::{Credentials, Folder};
use slackwater_ocpp::edge::secret::{generate_password, hash_password};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, interval_at, sleep_until};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{WebSocketStream, client_async};

type Failure = Box<dyn Error + Send + Sync>;

/// Interval of meter values.
const METER_INTERVAL: Duration = Duration::from_secs(10);

/// Meter values in a period of the other load, and those of it in which the load is low.
const PERIOD: u64 = 6;
const LOW: u64 = 4;

/// Other load in A.
const LOAD_LOW: f64 = 10.0;
const LOAD_HIGH: f64 = 20.0;

/// Load beside it in a wave or surge, in A, and its length: all sites have reported it by then.
const LOAD_EXTRA: f64 = 20.0;
const EXTRA_LENGTH: Duration = Duration::from_secs(40);

/// State that all charge points share.
struct Fleet {
    address: String,
    password: String,
    size: usize,
    began: Instant,
    connected: AtomicUsize,
    answered: AtomicU64,
    /// Time of the last rise in each site, in microseconds since the start; zero for none.
    rises: Vec<AtomicU64>,
    /// Times of all rises, in microseconds since the start.
    rise_times: Mutex<Vec<u64>>,
    /// Start of the last wave or surge, in microseconds since the start; zero for none.
    extra_since: AtomicU64,
    /// Number of surges, which meters report at once.
    surges: watch::Sender<u64>,
    limit_times: Mutex<Vec<u64>>,
    answer_times: Mutex<Vec<u64>>,
}

impl Fleet {
    fn micros(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn state(&self) -> Value {
        json!({
            "connected": self.connected.load(Ordering::Relaxed),
            "answered": self.answered.load(Ordering::Relaxed),
        })
    }

    fn times(&self) -> Value {
        let rises = take_sorted(&self.rise_times);
        json!({
            "limit": quantiles(&self.limit_times),
            "answer": quantiles(&self.answer_times),
            "rises": rises.len(),
            "rises_of_busiest_second": most_within(&rises, Duration::from_secs(1)),
        })
    }

    /// Lets the load of all sites rise from their next meter values on.
    fn begin_wave(&self) -> Value {
        self.extra_since.store(self.micros(), Ordering::Relaxed);
        json!({"sites": self.rises.len()})
    }

    /// Lets the load of all sites rise at once.
    fn begin_surge(&self) -> Value {
        let begun = self.begin_wave();
        self.surges.send_modify(|count| *count += 1);
        begun
    }

    /// Start of the wave or surge that lasts; zero for none.
    fn extra_since(&self) -> u64 {
        let since = self.extra_since.load(Ordering::Relaxed);
        let lasts = u128::from(self.micros() - since) < EXTRA_LENGTH.as_micros();
        if lasts { since } else { 0 }
    }

    fn note_rise(&self, site: usize) {
        let now = self.micros();
        self.rises[site].store(now, Ordering::Relaxed);
        note(&self.rise_times, now);
    }
}

fn note(times: &Mutex<Vec<u64>>, micros: u64) {
    if let Ok(mut times) = times.lock() {
        times.push(micros);
    }
}

/// The times that were noted, in order. They are taken out.
fn take_sorted(times: &Mutex<Vec<u64>>) -> Vec<u64> {
    let mut all = times.lock().map(|mut times| std::mem::take(&mut *times)).unwrap_or_default();
    all.sort_unstable();
    all
}

/// Most times within a length, of times in order.
fn most_within(times: &[u64], length: Duration) -> usize {
    let length = u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
    let within = |(index, first): (usize, &u64)| {
        times[index..].partition_point(|time| time - first < length)
    };
    times.iter().enumerate().map(within).max().unwrap_or(0)
}

/// Quantiles in milliseconds of the times that were noted, which are taken out.
fn quantiles(times: &Mutex<Vec<u64>>) -> Value {
    let all = take_sorted(times);
    let at = |per_thousand: usize| {
        let index = (all.len() * per_thousand / 1000).min(all.len().saturating_sub(1));
        all.get(index).map(|micros| *micros as f64 / 1e3)
    };
    json!({"count": all.len(), "p50_ms": at(500), "p99_ms": at(990), "max_ms": at(1000)})
}

/// A charge point.
struct Point {
    fleet: Arc<Fleet>,
    number: usize,
    last_id: u64,
    /// Number of its meter values.
    measured: u64,
    register_wh: f64,
    limit: f64,
    transaction: Option<i64>,
    /// Rise that its last lower limit followed.
    followed: u64,
    /// Wave or surge that its meter has reported.
    reported: u64,
    /// Identifier and time of the meter value that was not answered yet.
    open: Option<(String, u64)>,
    is_connected: bool,
}

type Socket = WebSocketStream<TcpStream>;

impl Point {
    fn new(fleet: Arc<Fleet>, number: usize) -> Self {
        Self {
            fleet,
            number,
            last_id: 0,
            measured: 0,
            register_wh: 0.0,
            limit: 0.0,
            transaction: None,
            followed: 0,
            reported: 0,
            open: None,
            is_connected: false,
        }
    }

    fn site(&self) -> usize {
        self.number / self.fleet.size
    }

    fn has_meter(&self) -> bool {
        self.number.is_multiple_of(self.fleet.size)
    }

    /// Spreads the charge points over a duration.
    fn share_of(&self, whole: Duration) -> Duration {
        // Consecutive numbers are far apart (golden ratio).
        whole.mul_f64((self.number as f64 * 0.618_033_988_75).fract())
    }

    async fn live(mut self) {
        loop {
            // A connection that ends or cannot be made is made anew.
            let _ended = self.exchange_messages().await;
            if std::mem::take(&mut self.is_connected) {
                self.fleet.connected.fetch_sub(1, Ordering::Relaxed);
            }
            let pause = Duration::from_secs(1) + self.share_of(Duration::from_secs(1));
            sleep_until(Instant::now() + pause).await;
        }
    }

    async fn exchange_messages(&mut self) -> Result<(), Failure> {
        let mut socket = self.connect().await?;
        let model = json!({"chargePointVendor": "Fjord", "chargePointModel": "Post"});
        self.send(&mut socket, "BootNotification", model).await?;
        let first = Instant::now() + self.share_of(METER_INTERVAL);
        let mut ticks = interval_at(first, METER_INTERVAL);
        let mut surges = self.fleet.surges.subscribe();
        loop {
            tokio::select! {
                message = socket.next() => match message {
                    Some(Ok(Message::Text(text))) => self.hear(&mut socket, &text).await?,
                    Some(Ok(Message::Close(_))) | None => return Ok(()),
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Err(error.into()),
                },
                _ = ticks.tick() => self.measure(&mut socket).await?,
                Ok(()) = surges.changed(), if self.has_meter() && self.is_connected => {
                    self.report_load(&mut socket).await?;
                }
            }
        }
    }

    async fn connect(&self) -> Result<Socket, Failure> {
        let identity = identity_of(self.number);
        let stream = TcpStream::connect(&self.fleet.address).await?;
        stream.set_nodelay(true)?;
        let address = format!("ws://{}/{identity}", self.fleet.address);
        let mut request = address.into_client_request()?;
        let pair = STANDARD.encode(format!("{identity}:{}", self.fleet.password));
        let headers = request.headers_mut();
        headers.insert("Sec-WebSocket-Protocol", "ocpp1.6".parse()?);
        headers.insert("Authorization", format!("Basic {pair}").parse()?);
        Ok(client_async(request, stream).await?.0)
    }

    async fn send(
        &mut self,
        socket: &mut Socket,
        action: &str,
        fields: Value,
    ) -> Result<String, Failure> {
        self.last_id += 1;
        let id = format!("{action}-{}", self.last_id);
        socket.send(Message::text(json!([2, id, action, fields]).to_string())).await?;
        Ok(id)
    }

    async fn hear(&mut self, socket: &mut Socket, text: &str) -> Result<(), Failure> {
        let now = self.fleet.micros();
        let frame: Value = serde_json::from_str(text)?;
        let id = frame[1].as_str().unwrap_or_default();
        if frame[0] == 2 {
            let answer = self.answer(frame[2].as_str().unwrap_or_default(), &frame[3], now);
            let answer = json!([3, id, answer]);
            return Ok(socket.send(Message::text(answer.to_string())).await?);
        }
        if let Some((_, sent)) = self.open.take_if(|(open, _)| open.as_str() == id) {
            self.fleet.answered.fetch_add(1, Ordering::Relaxed);
            note(&self.fleet.answer_times, now - sent);
        }
        match id.split('-').next() {
            Some("BootNotification") => {
                self.is_connected = true;
                self.fleet.connected.fetch_add(1, Ordering::Relaxed);
                let status =
                    json!({"connectorId": 1, "errorCode": "NoError", "status": "Charging"});
                self.send(socket, "StatusNotification", status).await?;
            }
            Some("StatusNotification") if self.transaction.is_none() => {
                let start = json!({
                    "connectorId": 1, "idTag": "ada", "meterStart": 0, "timestamp": Utc::now(),
                });
                self.send(socket, "StartTransaction", start).await?;
            }
            Some("StartTransaction") => self.transaction = frame[2]["transactionId"].as_i64(),
            _ => {}
        }
        Ok(())
    }

    /// Answer to a request.
    fn answer(&mut self, action: &str, fields: &Value, now: u64) -> Value {
        match action {
            "GetConfiguration" => json!({"configurationKey": [
                {"key": "SupportedFeatureProfiles", "readonly": true, "value": "Core,SmartCharging"},
                {"key": "MeterValueSampleInterval", "readonly": false, "value": "10"},
                {"key": "NumberOfConnectors", "readonly": true, "value": "1"},
            ]}),
            "SetChargingProfile" => {
                let profile = &fields["csChargingProfiles"];
                let period = &profile["chargingSchedule"]["chargingSchedulePeriod"][0];
                if profile["validTo"].is_string() {
                    self.follow(period["limit"].as_f64().unwrap_or_default(), now);
                }
                json!({"status": "Accepted"})
            }
            // The limit is the one that was accepted: nothing else is reported.
            "GetCompositeSchedule" => json!({"status": "Rejected"}),
            _ => json!({"status": "Accepted"}),
        }
    }

    /// Takes over a limit. The first lower one after a rise follows it.
    fn follow(&mut self, limit: f64, now: u64) {
        let rise = self.fleet.rises[self.site()].load(Ordering::Relaxed);
        if limit < self.limit && rise > self.followed {
            note(&self.fleet.limit_times, now - rise);
            self.followed = rise;
        }
        self.limit = limit;
    }

    async fn measure(&mut self, socket: &mut Socket) -> Result<(), Failure> {
        if !self.is_connected {
            return Ok(());
        }
        self.measured += 1;
        if self.has_meter() {
            self.report_load(socket).await?;
        }
        self.register_wh += self.limit * 3.0 * 230.0 / 360.0;
        let values = json!([
            {"value": self.register_wh.to_string(), "unit": "Wh"},
            {"value": (self.limit * 690.0).to_string(), "measurand": "Power.Active.Import", "unit": "W"},
            {"value": self.limit.to_string(), "measurand": "Current.Import", "unit": "A"},
        ]);
        let sent = self.fleet.micros();
        let fields = json!({
            "connectorId": 1, "transactionId": self.transaction,
            "meterValue": [{"timestamp": Utc::now(), "sampledValue": values}],
        });
        let id = self.send(socket, "MeterValues", fields).await?;
        self.open = Some((id, sent));
        Ok(())
    }

    /// Reports the other load of the site.
    async fn report_load(&mut self, socket: &mut Socket) -> Result<(), Failure> {
        let phase = (self.measured + self.site() as u64) % PERIOD;
        let extra = self.fleet.extra_since();
        let own = if phase < LOW { LOAD_LOW } else { LOAD_HIGH };
        let load = if extra > 0 { own + LOAD_EXTRA } else { own };
        let value = json!({"value": load.to_string(), "measurand": "Current.Import", "unit": "A"});
        let fields = json!({
            "connectorId": 0,
            "meterValue": [{"timestamp": Utc::now(), "sampledValue": [value]}],
        });
        let is_rise = if extra > 0 { self.reported != extra } else { phase == LOW };
        self.reported = extra;
        if is_rise {
            self.fleet.note_rise(self.site());
        }
        self.send(socket, "MeterValues", fields).await?;
        Ok(())
    }
}

fn identity_of(number: usize) -> String {
    format!("CP-{number}")
}

fn prepare(folder: &str, count: usize) -> Result<(), Failure> {
    let folder = Folder::new(folder);
    let password = generate_password()?;
    let password_hash = hash_password(&password);
    for number in 0..count {
        folder.keep_credentials(&Credentials {
            identity: identity_of(number),
            password_hash: password_hash.clone(),
            code_hash: String::new(),
        })?;
    }
    println!("{}", json!({"password": password}));
    Ok(())
}

async fn run(address: &str, (sites, size): (usize, usize), password: &str) -> Result<(), Failure> {
    let fleet = Arc::new(Fleet {
        address: address.to_owned(),
        password: password.to_owned(),
        size,
        began: Instant::now(),
        connected: AtomicUsize::default(),
        answered: AtomicU64::default(),
        rises: (0..sites).map(|_| AtomicU64::default()).collect(),
        rise_times: Mutex::default(),
        extra_since: AtomicU64::default(),
        surges: watch::Sender::new(0),
        limit_times: Mutex::default(),
        answer_times: Mutex::default(),
    });
    for number in 0..sites * size {
        tokio::spawn(Point::new(Arc::clone(&fleet), number).live());
    }
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let answer = match line.trim() {
            "state" => fleet.state(),
            "times" => fleet.times(),
            "wave" => fleet.begin_wave(),
            "surge" => fleet.begin_surge(),
            _ => json!({"error": "state, times, wave or surge"}),
        };
        println!("{answer}");
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = given.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["prepare", folder, sites, size] => {
            prepare(folder, sites.parse::<usize>()? * size.parse::<usize>()?)
        }
        ["run", address, sites, size, password] => {
            run(address, (sites.parse()?, size.parse()?), password).await
        }
        _ => Err("prepare FOLDER SITES SIZE, or run ADDRESS SITES SIZE PASSWORD".into()),
    }
}

//! Requests over many connections at once.
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::Failure;

/// Durations of many requests.
pub(crate) struct Run {
    requests_per_second: f64,
    p50: Duration,
    p99: Duration,
}

impl Run {
    /// Of requests that took so long each, one after the other on so many connections.
    pub(crate) fn new(mut times: Vec<Duration>, span: Duration) -> Self {
        times.sort_unstable();
        let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
        let requests_per_second = times.len() as f64 / span.as_secs_f64();
        Self { requests_per_second, p50: at(50), p99: at(99) }
    }

    /// Prints a row of the table. Returns the same as a value.
    pub(crate) fn tell(&self, name: &str) -> Value {
        let [p50, p99] = [self.p50, self.p99].map(|time| time.as_secs_f64());
        let per_second = self.requests_per_second;
        println!("| {name} | {per_second:.0} | {:.2} ms | {:.2} ms |", p50 * 1e3, p99 * 1e3);
        json!({ "what": name, "requests_per_s": per_second, "median_s": p50, "p99_s": p99 })
    }
}

/// Answers on a free port of this machine.
pub(crate) async fn listen(router: Router) -> Result<SocketAddr, io::Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

/// A request without a body.
pub(crate) fn get(path: &str, token: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer {token}\r\n\r\n")
}

/// A request with a body.
pub(crate) fn send(method: &str, path: &str, token: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Asks over so many connections at once, each as soon as it has its answer.
pub(crate) async fn measure(
    address: SocketAddr,
    requests: &[String],
    (connections, span): (usize, Duration),
) -> Result<Run, Failure> {
    let requests: Arc<[String]> = requests.into();
    let mut askers = JoinSet::new();
    let start = Instant::now();
    for connection in 0..connections {
        let requests = Arc::clone(&requests);
        askers.spawn(async move { ask(address, &requests, connection, start + span).await });
    }
    let mut times = Vec::new();
    while let Some(asked) = askers.join_next().await {
        times.extend(asked??);
    }
    Ok(Run::new(times, start.elapsed()))
}

async fn ask(
    address: SocketAddr,
    requests: &[String],
    connection: usize,
    until: Instant,
) -> Result<Vec<Duration>, Failure> {
    let mut asker = Asker::connect(address).await?;
    let mut times = Vec::new();
    // A fixed walk over the requests, another for each connection.
    let mut next = connection.wrapping_mul(7_919);
    while Instant::now() < until {
        next = next.wrapping_mul(25_214_903_917).wrapping_add(11);
        times.push(asker.ask(&requests[(next >> 16) % requests.len()]).await?);
    }
    Ok(times)
}

/// One connection.
pub(crate) struct Asker {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Asker {
    pub(crate) async fn connect(address: SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; 256 * 1024] })
    }

    /// Sends a request and reads its answer, which must be a good one. Returns how long it took.
    pub(crate) async fn ask(&mut self, request: &str) -> Result<Duration, Failure> {
        let start = Instant::now();
        self.stream.write_all(request.as_bytes()).await?;
        let mut length = 0;
        loop {
            if length == self.buffer.len() {
                self.buffer.resize(2 * length, 0);
            }
            let read = self.stream.read(&mut self.buffer[length..]).await?;
            if read == 0 {
                return Err("the service hung up".into());
            }
            length += read;
            if whole(&self.buffer[..length])?.is_some_and(|whole| length >= whole) {
                return Ok(start.elapsed());
            }
        }
    }
}

/// The length of an answer; `None` while its head is not there.
fn whole(read: &[u8]) -> Result<Option<usize>, Failure> {
    let Some(head) = read.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let text = std::str::from_utf8(&read[..head])?;
    if !text.starts_with("HTTP/1.1 20") {
        return Err(String::from_utf8_lossy(read).into_owned().into());
    }
    let named = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let body = match named {
        Some(length) => length.parse()?,
        None if text.starts_with("HTTP/1.1 204") => 0,
        None => return Err("an answer without a length".into()),
    };
    Ok(Some(head + 4 + body))
}

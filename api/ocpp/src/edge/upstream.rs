//! Connection to the upstream system, as the charge point that this system stands for.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use futures_util::{SinkExt, StreamExt};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_rustls::TlsConnector;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use tracing::{info, warn};

use crate::edge::files::file_name;
use crate::edge::tls::configure_client;
use crate::frame::TEXT_LENGTH_MAX;
use crate::upstream::UpstreamSettings;
use crate::version::Version;

/// Part of the name of a file in whose place the identity of the charge point is put.
const IDENTITY: &str = "{identity}";

/// Time for the connection with TLS and the opening handshake.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Pause before the second attempt, which doubles with each one.
const PAUSE_MIN: Duration = Duration::from_secs(1);

/// Longest pause between attempts.
const PAUSE_MAX: Duration = Duration::from_mins(1);

/// Texts that wait for the upstream system or for the charge point.
const TEXTS_MAX: usize = 256;

/// Pings without a sign of life after which a connection counts as dead.
const PINGS_MAX: u32 = 3;

/// Way to the upstream system of one charge point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Address with the identity.
    address: String,
    /// Identity there.
    identity: String,
    password_file: Option<PathBuf>,
    /// Certificate and key of the charge point.
    certificate: Option<(PathBuf, PathBuf)>,
    /// Authority of the upstream system.
    authority: Option<PathBuf>,
}

impl Route {
    /// Way for a charge point.
    #[must_use]
    pub fn new(settings: &UpstreamSettings, identity: &str) -> Self {
        let own = file_name(identity);
        let path = |file: &Path| PathBuf::from(file.to_string_lossy().replace(IDENTITY, &own));
        let of = |file: &Option<PathBuf>| file.as_deref().map(path);
        let there = settings.identity.clone().unwrap_or_else(|| identity.to_owned());
        // All letters that an identity may have are those of a path, but for this one.
        let last = there.replace('|', "%7C");
        Self {
            address: format!("{}/{last}", settings.address.trim_end_matches('/')),
            identity: there,
            password_file: of(&settings.password_file),
            certificate: of(&settings.certificate_file).zip(of(&settings.key_file)),
            authority: of(&settings.ca_file),
        }
    }
}

/// Event of the connection.
#[derive(Debug)]
pub enum News {
    /// The upstream system is there, and takes texts.
    Connected(mpsc::Sender<String>),
    /// It sent a text.
    Text(String),
    /// It is away.
    Lost,
}

/// Connection to the upstream system, made anew whenever it ends.
#[derive(Debug)]
pub struct Upstream {
    news: Option<mpsc::Receiver<News>>,
    texts: Option<mpsc::Sender<String>>,
    task: Option<AbortHandle>,
}

impl Upstream {
    /// No upstream system.
    #[must_use]
    pub const fn none() -> Self {
        Self { news: None, texts: None, task: None }
    }

    /// Connects, with the version that the charge point speaks.
    #[must_use]
    pub fn open(route: Route, version: Version, ping: TimeDelta) -> Self {
        let (sender, news) = mpsc::channel(TEXTS_MAX);
        let ping = ping.to_std().unwrap_or(PAUSE_MAX);
        let task = tokio::spawn(keep_connected(route, version, ping, sender));
        Self { news: Some(news), texts: None, task: Some(task.abort_handle()) }
    }

    /// The next event; never, if there is no upstream system.
    pub async fn next(&mut self) -> News {
        let news = match &mut self.news {
            Some(news) => news.recv().await,
            None => None,
        };
        match news {
            Some(news) => news,
            None => std::future::pending().await,
        }
    }

    /// Takes over the way to a new connection.
    pub fn take_up(&mut self, texts: mpsc::Sender<String>) {
        self.texts = Some(texts);
    }

    /// Ends the connection, if there is one: it is made anew.
    pub fn let_go(&mut self) {
        self.texts = None;
    }

    /// Sends texts. A connection that takes no more of them is ended.
    pub fn send(&mut self, all: Vec<String>) {
        for text in all {
            let Some(texts) = &self.texts else { return };
            if texts.try_send(text).is_err() {
                self.texts = None;
            }
        }
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// Connects until nobody listens to the news.
async fn keep_connected(route: Route, version: Version, ping: Duration, news: mpsc::Sender<News>) {
    let mut pause = PAUSE_MIN;
    loop {
        let identity = &route.identity;
        match timeout(CONNECT_MAX, connect_upstream(&route, version)).await {
            Ok(Ok(stream)) => {
                pause = PAUSE_MIN;
                let (texts, receiver) = mpsc::channel(TEXTS_MAX);
                info!(identity, "connected to the upstream system");
                if news.send(News::Connected(texts)).await.is_err() {
                    return;
                }
                let ended = serve_upstream(stream, receiver, ping, &news).await;
                info!(identity, ?ended, "the connection to the upstream system ended");
            }
            Ok(Err(error)) => warn!(identity, %error, "the upstream system was not reached"),
            Err(_) => warn!(identity, "the upstream system was not reached in time"),
        }
        if news.send(News::Lost).await.is_err() {
            return;
        }
        let _ = timeout(pause, std::future::pending::<()>()).await;
        pause = PAUSE_MAX.min(pause * 2);
    }
}

/// Stream of either kind.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

type Socket = WebSocketStream<Box<dyn Stream>>;

async fn connect_upstream(route: &Route, version: Version) -> io::Result<Socket> {
    let request = write_hello(route, version).await?;
    let uri = request.uri();
    let is_encrypted = uri.scheme_str() == Some("wss");
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = uri.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 });
    let stream = TcpStream::connect((host.as_str(), port)).await?;
    stream.set_nodelay(true)?;
    let stream: Box<dyn Stream> = if is_encrypted {
        let files = route.clone();
        let config = spawn_blocking(move || {
            configure_client(files.authority.as_deref(), files.certificate.as_ref())
        });
        let config = config.await.map_err(io::Error::other)?.map_err(io::Error::other)?;
        let name = ServerName::try_from(host).map_err(io::Error::other)?;
        Box::new(TlsConnector::from(Arc::new(config)).connect(name, stream).await?)
    } else {
        Box::new(stream)
    };
    let config = WebSocketConfig::default()
        .read_buffer_size(4096)
        .max_message_size(Some(TEXT_LENGTH_MAX))
        .max_frame_size(Some(TEXT_LENGTH_MAX));
    let connected = client_async_with_config(request, stream, Some(config)).await;
    Ok(connected.map_err(io::Error::other)?.0)
}

async fn write_hello(route: &Route, version: Version) -> io::Result<Request> {
    let mut request = route.address.as_str().into_client_request().map_err(io::Error::other)?;
    let name = HeaderValue::from_static(version.subprotocol());
    request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, name);
    if let Some(file) = route.password_file.clone() {
        let password = spawn_blocking(move || fs::read_to_string(file)).await;
        let password = password.map_err(io::Error::other)??;
        let pair = STANDARD.encode(format!("{}:{}", route.identity, password.trim_end()));
        let mut value =
            HeaderValue::from_str(&format!("Basic {pair}")).map_err(io::Error::other)?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    Ok(request)
}

/// Passes texts on until the connection ends, falls silent, or is let go.
async fn serve_upstream(
    mut socket: Socket,
    mut texts: mpsc::Receiver<String>,
    ping: Duration,
    news: &mpsc::Sender<News>,
) -> Result<(), Error> {
    let mut alive_at = Instant::now();
    let mut ticks = interval(ping);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            message = socket.next() => {
                alive_at = Instant::now();
                match message.transpose()? {
                    Some(Message::Text(text)) => {
                        if news.send(News::Text(text.to_string())).await.is_err() {
                            return Ok(());
                        }
                    }
                    Some(_) => {}
                    None => return Ok(()),
                }
            }
            text = texts.recv() => match text {
                Some(text) => socket.send(Message::text(text)).await?,
                None => return socket.close(None).await,
            },
            _ = ticks.tick() => {
                if alive_at.elapsed() > ping * PINGS_MAX {
                    return Ok(());
                }
                socket.send(Message::Ping(Vec::new().into())).await?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn route(changes: &Value, identity: &str) -> Route {
        let mut all = json!({"address": "wss://billing.example/ocpp/"});
        all.as_object_mut().unwrap().extend(changes.as_object().cloned().unwrap());
        Route::new(&serde_json::from_value(all).unwrap(), identity)
    }

    #[test]
    fn the_identity_is_put_into_address_and_files() {
        let files = json!({"password_file": "/etc/{identity}.password"});
        let found = route(&files, "A:1|2");
        assert_eq!(found.address, "wss://billing.example/ocpp/A:1%7C2");
        assert_eq!(found.identity, "A:1|2");
        assert_eq!(found.password_file, Some(PathBuf::from("/etc/A~3a1~7c2.password")));
        let found = route(&json!({"identity": "DE*1"}), "A");
        assert_eq!(found.address, "wss://billing.example/ocpp/DE*1");
    }
}

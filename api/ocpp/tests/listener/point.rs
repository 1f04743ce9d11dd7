//! A charge point on a socket, and the integration that it connects to.
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Map, Value, json};
use slackwater_integration::registry::Settings;
use slackwater_ocpp::edge::clock::Clock;
use slackwater_ocpp::edge::enrolment::{Enrolled, enrol};
use slackwater_ocpp::edge::files::Folder;
use slackwater_ocpp::settings::OcppSettings;
use slackwater_ocpp::vendor::Ocpp;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

/// Identity of the charge point.
pub(crate) const IDENTITY: &str = "CP-1";

/// Time that a test moves.
#[derive(Clone)]
pub(crate) struct Hands(Arc<Mutex<DateTime<Utc>>>);

impl Hands {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new("2026-01-05T18:00:00Z".parse().unwrap())))
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap()
    }

    pub(crate) fn advance(&self, by: TimeDelta) {
        *self.0.lock().unwrap() += by;
    }

    fn clock(&self) -> Clock {
        let hands = self.clone();
        Arc::new(move || hands.now())
    }
}

/// The integration with one charge point that was added.
pub(crate) struct House {
    pub(crate) folder: TempDir,
    pub(crate) vendor: Ocpp,
    pub(crate) hands: Hands,
    pub(crate) secrets: Enrolled,
}

/// Opens the integration on a free port with settings besides the usual ones.
pub(crate) fn open(folder: &TempDir, hands: &Hands, more: &Value) -> Ocpp {
    let mut all = json!({
        "listen": "127.0.0.1:0", "security_profile": 1, "state_folder": folder.path(),
    });
    for (name, value) in more.as_object().cloned().unwrap_or_default() {
        all[name] = value;
    }
    let values: Map<String, Value> = all.as_object().cloned().unwrap();
    let settings: OcppSettings = Settings::new("ocpp", values).read().unwrap();
    Ocpp::open(&settings, hands.clock()).unwrap()
}

impl House {
    pub(crate) fn new(more: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let secrets = enrol(&Folder::new(folder.path()), IDENTITY, false).unwrap();
        let hands = Hands::new();
        let vendor = open(&folder, &hands, more);
        Self { folder, vendor, hands, secrets }
    }

    /// Starts the integration anew, as after a restart of the machine.
    pub(crate) fn restart(&mut self) {
        self.vendor = open(&self.folder, &self.hands, &json!({}));
    }

    /// Connects the charge point with its password.
    pub(crate) async fn connect(&self) -> Result<Point<TcpStream>, Error> {
        let stream = TcpStream::connect(self.vendor.address()).await.unwrap();
        Point::open(stream, IDENTITY, Some(&self.secrets.password)).await
    }
}

/// A charge point of 1.6 on a socket.
pub(crate) struct Point<S> {
    socket: WebSocketStream<S>,
    last: u64,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Point<S> {
    pub(crate) async fn open(
        stream: S,
        identity: &str,
        password: Option<&str>,
    ) -> Result<Self, Error> {
        let mut request = format!("ws://localhost/{identity}").into_client_request()?;
        let headers = request.headers_mut();
        headers.insert("Sec-WebSocket-Protocol", "ocpp1.6".parse().unwrap());
        if let Some(password) = password {
            let pair = STANDARD.encode(format!("{identity}:{password}"));
            headers.insert("Authorization", format!("Basic {pair}").parse().unwrap());
        }
        let (socket, _) = client_async(request, stream).await?;
        Ok(Self { socket, last: 0 })
    }

    /// Sends a request and returns the fields of its answer.
    pub(crate) async fn says(&mut self, action: &str, payload: Value) -> Value {
        self.last += 1;
        let id = self.last.to_string();
        let text = json!([2, id, action, payload]).to_string();
        self.socket.send(Message::text(text)).await.unwrap();
        loop {
            let frame = self.next().await.expect("an answer");
            if frame[0] == 3 && frame[1] == json!(id) {
                return frame[2].clone();
            }
        }
    }

    /// Next frame of the other side; `None` at the end of the connection.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            match self.socket.next().await? {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Answers a request.
    pub(crate) async fn replies(&mut self, request: &Value, payload: Value) {
        let text = json!([3, request[1], payload]).to_string();
        self.socket.send(Message::text(text)).await.unwrap();
    }

    /// Introduces the charge point and its connector.
    pub(crate) async fn boots(&mut self) {
        let model = json!({"chargePointVendor": "Fjord", "chargePointModel": "Post"});
        assert_eq!(self.says("BootNotification", model).await["status"], "Accepted");
        self.shows("Preparing").await;
    }

    pub(crate) async fn shows(&mut self, status: &str) {
        let payload = json!({"connectorId": 1, "errorCode": "NoError", "status": status});
        self.says("StatusNotification", payload).await;
    }

    /// Ends the connection.
    pub(crate) async fn leaves(mut self) {
        self.socket.close(None).await.unwrap();
        while self.next().await.is_some() {}
    }
}

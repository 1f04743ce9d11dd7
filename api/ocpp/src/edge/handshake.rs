//! Opening handshake of a charge point: its identity, password and versions.
//!
//! Read here rather than by the WebSocket library, because comparing a password takes tens of
//! milliseconds on another thread.
use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_tungstenite::tungstenite::handshake::machine::TryParse;
use tokio_tungstenite::tungstenite::handshake::server::{Request, create_response, write_response};
use tokio_tungstenite::tungstenite::http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use tokio_tungstenite::tungstenite::http::{HeaderValue, Response, StatusCode};

use crate::version::Version;

/// Longest request that is read, in bytes.
const REQUEST_MAX: usize = 8 * 1024;

/// First request on a connection.
#[derive(Debug)]
pub struct Hello {
    /// Identity: the last part of the path.
    pub identity: String,
    /// User name and password with a colon in between, if there are some.
    credentials: Option<Vec<u8>>,
    /// Version that both know.
    pub version: Option<Version>,
    request: Request,
    /// Bytes after the request.
    pub rest: Vec<u8>,
}

/// Reads the first request; `None` if it is none of a WebSocket.
///
/// # Errors
/// The connection failed.
pub async fn read_hello(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Hello>> {
    let mut bytes = Vec::new();
    while bytes.len() < REQUEST_MAX {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
        match Request::try_parse(&bytes) {
            Ok(None) => {}
            Ok(Some((length, request))) => {
                return Ok(Some(hello_of(request, bytes.split_off(length))));
            }
            Err(_) => return Ok(None),
        }
    }
    Ok(None)
}

fn hello_of(request: Request, rest: Vec<u8>) -> Hello {
    let path = request.uri().path();
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let identity = percent_decode_str(last).decode_utf8_lossy().into_owned();
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let offered: Vec<&str> = request
        .headers()
        .get_all(SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .collect();
    Hello {
        identity,
        credentials: header(AUTHORIZATION).and_then(read_basic),
        version: Version::choose(&offered.join(",")),
        request,
        rest,
    }
}

/// User name and password of a header of Basic authentication. Where one ends and the other begins
/// depends on the identity, which may have colons.
fn read_basic(header: &str) -> Option<Vec<u8>> {
    let (scheme, encoded) = header.trim().split_once(' ')?;
    let decoded = STANDARD.decode(encoded.trim()).ok()?;
    scheme.eq_ignore_ascii_case("basic").then_some(decoded)
}

impl Hello {
    /// Password of the charge point; `None` if there is none or the name is another's.
    #[must_use]
    pub fn own_password(&self) -> Option<Vec<u8>> {
        let rest = self.credentials.as_ref()?.strip_prefix(self.identity.as_bytes())?;
        rest.strip_prefix(b":").map(<[u8]>::to_vec)
    }

    /// Accepts the charge point. Without a common version the handshake ends without one, as the
    /// protocol asks, and the connection is closed after it.
    ///
    /// # Errors
    /// The request is none of a WebSocket, or the connection failed.
    pub async fn accept(&self, stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let mut response = create_response(&self.request).map_err(io::Error::other)?;
        if let Some(version) = self.version {
            let name = HeaderValue::from_static(version.subprotocol());
            response.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, name);
        }
        send_response(stream, &response).await
    }
}

/// Refuses a connection with a status.
///
/// # Errors
/// The connection failed.
pub async fn refuse(stream: &mut (impl AsyncWrite + Unpin), status: StatusCode) -> io::Result<()> {
    let mut builder = Response::builder()
        .status(status)
        .header("Content-Length", "0")
        .header("Connection", "close");
    if status == StatusCode::UNAUTHORIZED {
        builder = builder.header("WWW-Authenticate", "Basic realm=\"OCPP\"");
    }
    send_response(stream, &builder.body(()).map_err(io::Error::other)?).await
}

async fn send_response(
    stream: &mut (impl AsyncWrite + Unpin),
    response: &Response<()>,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    write_response(&mut bytes, response).map_err(io::Error::other)?;
    stream.write_all(&bytes).await?;
    stream.flush().await
}

//! Listener for charge points: connections, TLS, the opening handshake.
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tracing::{debug, warn};

use crate::edge::connection::serve_point;
use crate::edge::enrolment::is_identity;
use crate::edge::files::Credentials;
use crate::edge::handshake::{Hello, read_hello, refuse};
use crate::edge::hub::Hub;
use crate::edge::secret::matches_password;
use crate::edge::tls::common_name;
use crate::frame::TEXT_LENGTH_MAX;
use crate::version::Version;

/// Connections at a time.
const CONNECTIONS_MAX: usize = 10_000;

/// Bytes that a connection reads at a time. Most messages are shorter, and each connection has its
/// buffer as long as it lasts.
const READ_BUFFER: usize = 512;

/// Time for TLS and the opening handshake.
const HANDSHAKE_MAX: Duration = Duration::from_secs(20);

/// Pause after a connection that could not be taken, such as for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Proof that a charge point has to give.
#[derive(Clone)]
pub enum Proof {
    /// None.
    Nothing,
    /// Its password.
    Password,
    /// A certificate with its identity.
    Certificate,
}

/// Demands of the listener on connections.
#[derive(Clone)]
pub struct Door {
    /// Proof that a charge point has to give.
    pub proof: Proof,
    /// TLS, if connections have it.
    pub tls: Option<TlsAcceptor>,
}

/// Takes connections until the task is dropped, and ends them with it.
pub async fn listen(listener: TcpListener, door: Door, hub: Arc<Hub>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut tasks = JoinSet::new();
    loop {
        while tasks.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let (door, hub) = (door.clone(), Arc::clone(&hub));
                tasks.spawn(async move {
                    if let Err(error) = take_connection(stream, door, hub).await {
                        debug!(%error, "a connection failed");
                    }
                    drop(place);
                });
            }
            Err(error) => {
                warn!(%error, "no connection was taken");
                let _ = timeout(PAUSE, std::future::pending::<()>()).await;
            }
        }
    }
}

async fn take_connection(stream: TcpStream, door: Door, hub: Arc<Hub>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let Some(tls) = &door.tls else { return open_connection(stream, None, &door, hub).await };
    // Boxed, since what follows has several places for it, also for connections without TLS.
    let stream = Box::new(limit_time(tls.accept(stream)).await??);
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let name = certificates.first().and_then(common_name);
    open_connection(stream, name, &door, hub).await
}

async fn limit_time<T>(work: impl Future<Output = T>) -> io::Result<T> {
    timeout(HANDSHAKE_MAX, work).await.map_err(|_| io::ErrorKind::TimedOut.into())
}

/// Charge point that was let in. Its request and password are not kept: a connection lasts for weeks.
struct Admitted {
    identity: String,
    version: Option<Version>,
    /// Bytes after the request.
    rest: Vec<u8>,
}

/// Reads the opening handshake; `None` if the charge point was refused.
async fn admit_point(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    certified: Option<String>,
    door: &Door,
    hub: &Hub,
) -> io::Result<Option<Admitted>> {
    let Some(hello) = limit_time(read_hello(stream)).await?? else {
        refuse(stream, StatusCode::BAD_REQUEST).await?;
        return Ok(None);
    };
    if let Err(status) = judge_hello(&hello, certified.as_deref(), door, hub).await {
        // A stranger chose the identity: it is logged in an escaped form.
        warn!(identity = ?hello.identity, status = status.as_u16(), "a charge point was refused");
        refuse(stream, status).await?;
        return Ok(None);
    }
    hello.accept(stream).await?;
    let Hello { identity, version, rest, .. } = hello;
    Ok(Some(Admitted { identity, version, rest }))
}

/// Lets a charge point in and serves it.
async fn open_connection<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    certified: Option<String>,
    door: &Door,
    hub: Arc<Hub>,
) -> io::Result<()> {
    let admitted = admit_point(&mut stream, certified, door, &hub).await?;
    let Some(Admitted { identity, version, rest }) = admitted else { return Ok(()) };
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .max_message_size(Some(TEXT_LENGTH_MAX))
        .max_frame_size(Some(TEXT_LENGTH_MAX));
    let mut socket =
        WebSocketStream::from_partially_read(stream, rest, Role::Server, Some(config)).await;
    let Some(version) = version else {
        warn!(identity, "a charge point speaks no version that is known");
        return socket.close(None).await.map_err(io::Error::other);
    };
    let point = hub.point(&identity).await.map_err(io::Error::other)?;
    // The operator may have removed it in between: from here on that ends its connection.
    if hub.credentials(&identity).await.map_err(io::Error::other)?.is_none() {
        return socket.close(None).await.map_err(io::Error::other);
    }
    // Lent, since each future that owns it has a place for it.
    serve_point(&mut socket, hub, point, version).await;
    Ok(())
}

/// Decides whether a charge point is let in.
async fn judge_hello(
    hello: &Hello,
    certified: Option<&str>,
    door: &Door,
    hub: &Hub,
) -> Result<(), StatusCode> {
    if !is_identity(&hello.identity) {
        return Err(StatusCode::NOT_FOUND);
    }
    let credentials = hub.credentials(&hello.identity).await.map_err(|error| {
        warn!(%error, "credentials were not read");
        StatusCode::SERVICE_UNAVAILABLE
    })?;
    let Some(Credentials { password_hash, .. }) = credentials else {
        return Err(StatusCode::NOT_FOUND);
    };
    let is_proved = match door.proof {
        Proof::Nothing => true,
        Proof::Certificate => certified == Some(hello.identity.as_str()),
        Proof::Password => match hello.own_password() {
            Some(password) => {
                hub.compare(move || matches_password(&password, &password_hash)).await
            }
            None => false,
        },
    };
    is_proved.then_some(()).ok_or(StatusCode::UNAUTHORIZED)
}

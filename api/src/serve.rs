//! Sockets: which service answers on which, until a signal says stop.
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::header;
use axum::response::IntoResponse;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower::ServiceExt;
use tracing::{info, warn};

use crate::config::{ConfigError, Door};
use crate::problem::Problem;

/// How long requests may take to finish once the service is told to stop.
pub const GRACE: Duration = Duration::from_secs(10);

/// Why the service does not answer.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address is taken, or not ours.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        reason: io::Error,
    },
    /// Two services share a socket and cannot be told apart.
    #[error(transparent)]
    Doors(#[from] ConfigError),
    /// The server failed.
    #[error("the server failed: {0}")]
    Server(io::Error),
}

/// A socket, its address, and the doors on it.
type Bound<R> = (TcpListener, SocketAddr, Vec<(Door, R)>);

/// Sockets that are listened on, before anything answers.
#[derive(Debug)]
pub struct Sockets<R> {
    bound: Vec<Bound<R>>,
}

impl<R: Copy> Sockets<R> {
    /// Listens at all doors. Doors with one address share a socket and are told
    /// apart by host; port 0 is a socket of its own each time.
    ///
    /// # Errors
    /// An address cannot be listened on, or doors cannot be told apart.
    pub async fn bind(doors: Vec<(Door, R)>) -> Result<Self, ServeError> {
        let mut groups: BTreeMap<(SocketAddr, usize), Vec<(Door, R)>> = BTreeMap::new();
        for (index, (door, role)) in doors.into_iter().enumerate() {
            let address = door.listen.0;
            let alone = if address.port() == 0 { index } else { 0 };
            groups.entry((address, alone)).or_default().push((door, role));
        }
        let mut bound = Vec::new();
        for ((address, _), doors) in groups {
            tell_apart(address, &doors)?;
            let refused = |reason| ServeError::Listen { address, reason };
            let listener = TcpListener::bind(address).await.map_err(refused)?;
            let address = listener.local_addr().map_err(refused)?;
            bound.push((listener, address, doors));
        }
        Ok(Self { bound })
    }

    /// Where users reach each door.
    pub fn urls(&self) -> impl Iterator<Item = (R, String)> {
        let each = |(_, address, doors): &(_, SocketAddr, Vec<(Door, R)>)| {
            let url = |(door, role): &(Door, R)| (*role, door.public_url(*address));
            doors.iter().map(url).collect::<Vec<_>>()
        };
        self.bound.iter().flat_map(each).collect::<Vec<_>>().into_iter()
    }

    /// Answers until `stop`, then finishes what is under way, but not for longer
    /// than [`GRACE`]. `stopping` is called in between.
    ///
    /// # Errors
    /// A server failed.
    pub async fn serve(
        self,
        router_of: impl Fn(R) -> Router,
        stop: impl Future<Output = ()>,
        stopping: impl FnOnce(),
    ) -> Result<(), ServeError> {
        let (close, closed) = watch::channel(false);
        let mut servers = JoinSet::new();
        for (listener, _, doors) in self.bound {
            let router = by_host(doors.into_iter().map(|(door, role)| (door, router_of(role))));
            let mut closed = closed.clone();
            // Answers are small and wait for nobody: without it they wait for more to send.
            let listener = listener.tap_io(|stream| {
                if let Err(reason) = stream.set_nodelay(true) {
                    warn!(%reason, "a connection delays small answers");
                }
            });
            let service = router.into_make_service_with_connect_info::<SocketAddr>();
            let server = axum::serve(listener, service).with_graceful_shutdown(async move {
                // Closing says stop, and so does dropping the other end.
                let _: Result<_, _> = closed.wait_for(|is_closed| *is_closed).await;
            });
            servers.spawn(server.into_future());
        }
        let mut serving = pin!(all(servers));
        tokio::select! {
            ended = &mut serving => return ended,
            () = stop => stopping(),
        }
        close.send_replace(true);
        let Ok(ended) = timeout(GRACE, serving).await else {
            warn!(seconds = GRACE.as_secs(), "connections were still open and are cut");
            return Ok(());
        };
        info!("stopped");
        ended
    }
}

async fn all(mut servers: JoinSet<io::Result<()>>) -> Result<(), ServeError> {
    while let Some(ended) = servers.join_next().await {
        ended.map_err(io::Error::other).and_then(|ended| ended).map_err(ServeError::Server)?;
    }
    Ok(())
}

/// Doors of one socket need hosts of their own.
fn tell_apart<R>(listen: SocketAddr, doors: &[(Door, R)]) -> Result<(), ConfigError> {
    let mut hosts: Vec<String> =
        doors.iter().map(|(door, _)| host(&door.public_url(listen)).to_owned()).collect();
    hosts.sort();
    match hosts.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(ConfigError::Ambiguous { listen, host: pair[0].clone() }),
        None => Ok(()),
    }
}

/// The host of an address, without scheme and port.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    match rest.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => rest,
    }
}

/// One router for all doors of a socket.
fn by_host(doors: impl Iterator<Item = (Door, Router)>) -> Router {
    let mut doors: Vec<(Door, Router)> = doors.collect();
    if doors.len() == 1 {
        return doors.remove(0).1;
    }
    Router::new().fallback(async move |request: Request| {
        let asked = request.headers().get(header::HOST).and_then(|value| value.to_str().ok());
        let asked = asked.map(|asked| host(asked).to_ascii_lowercase());
        let is_asked = |door: &Door| {
            door.url.as_ref().is_some_and(|url| Some(host(url.host())) == asked.as_deref())
        };
        let router =
            doors.iter().find(|(door, _)| is_asked(door)).map(|(_, router)| router.clone());
        match router {
            Some(router) => router.oneshot(request).await.into_response(),
            None => Problem::no_such_route(request.method(), request.uri()).into_response(),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::sync::oneshot;

    use super::*;

    fn door(listen: &str, url: Option<&str>) -> Door {
        let url = url.map(|url| url.parse().unwrap());
        Door { listen: listen.parse().unwrap(), url }
    }

    async fn ask(address: SocketAddr, host: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn env_10_doors_of_one_socket_are_told_apart_by_host() {
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let listen = free.to_string();
        let doors = vec![
            (door(&listen, Some("http://api.localhost")), "api"),
            (door(&listen, Some("https://auth.localhost:8443")), "auth"),
        ];
        let sockets = Sockets::bind(doors).await.unwrap();
        assert_eq!(sockets.urls().next().unwrap(), ("api", "http://api.localhost".to_owned()));
        let (stop, stopped) = oneshot::channel::<()>();
        let router_of = |name: &'static str| Router::new().route("/", get(async move || name));
        let server = sockets.serve(router_of, async { stopped.await.unwrap() }, || ());
        let client = async {
            let mut answers = Vec::new();
            for host in ["api.localhost", "AUTH.localhost:8443", "elsewhere"] {
                answers.push(ask(free, host).await);
            }
            stop.send(()).unwrap();
            answers
        };
        let (ended, answers) = tokio::join!(server, client);
        ended.unwrap();
        assert!(answers[0].ends_with("api") && answers[1].ends_with("auth"), "{answers:?}");
        assert!(answers[2].starts_with("HTTP/1.1 404"), "{answers:?}");
    }

    #[tokio::test]
    async fn doors_that_cannot_be_told_apart_are_refused() {
        let doors = vec![(door("127.0.0.1:1", None), 1), (door("127.0.0.1:1", None), 2)];
        let error = Sockets::bind(doors).await.unwrap_err().to_string();
        assert!(error.starts_with("127.0.0.1:1 has two services at 127.0.0.1"), "{error}");
    }

    #[tokio::test]
    async fn stopping_closes_the_listener() {
        let sockets = Sockets::bind(vec![(door("127.0.0.1:0", None), ())]).await.unwrap();
        let address = sockets.bound[0].1;
        let mut was_told = false;
        sockets.serve(|()| Router::new(), ready(()), || was_told = true).await.unwrap();
        assert!(was_told);
        assert!(TcpStream::connect(address).await.is_err());
    }
}

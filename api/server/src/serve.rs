//! Sockets: which service answers on which, until a signal says stop.
//!
//! | File | Holds |
//! |---|---|
//! | `admission` | how many connections a socket holds, and which one makes room |
//! | `descriptors` | file descriptors, and the share of each socket |
//! | `connection` | one connection: its requests, one after the other |
//! | `tls` | TLS of a socket, and the names in certificates of its clients |
//! | `stream`, `body`, `pace` | time limits on what is sent and taken |

pub mod admission;
mod body;
mod connection;
pub mod descriptors;
mod pace;
mod stream;
pub mod tls;

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::header;
use axum::response::IntoResponse;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;
use tracing::{debug, error, info, warn};

use crate::serve::admission::{Admission, Limits};
use crate::serve::connection::{Answerer, Client};
use slackwater_http::problem::Problem;
use slackwater_service::config::Listener;
use slackwater_service::config::error::ConfigError;
use slackwater_service::config::proxies::Proxies;

/// Time in which requests may finish once the service is told to stop.
pub const GRACE: Duration = Duration::from_secs(10);

/// Pause after a failure to accept.
const ACCEPT_AGAIN: Duration = Duration::from_secs(1);

/// Reason why the service does not answer.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address is taken, or not ours.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Error of the system.
        reason: io::Error,
    },
    /// Two services share a socket and cannot be told apart.
    #[error(transparent)]
    Listeners(#[from] ConfigError),
    /// The server failed.
    #[error("the server failed: {0}")]
    Server(io::Error),
}

/// A socket, its address, the doors on it, and its TLS.
type Bound<R> = (TcpListener, SocketAddr, Vec<(Listener, R)>, Option<Arc<ServerConfig>>);

/// Sockets that are listened on, before anything answers.
#[derive(Debug)]
pub struct Sockets<R> {
    bound: Vec<Bound<R>>,
}

impl<R: Copy> Sockets<R> {
    /// Listens at all doors. Listeners with one address share a socket and are told
    /// apart by host; port 0 is a socket of its own each time.
    ///
    /// # Errors
    /// An address cannot be listened on, or doors cannot be told apart.
    pub async fn bind(doors: Vec<(Listener, R)>) -> Result<Self, ServeError> {
        let mut bound = Vec::new();
        for (address, doors) in group_by_socket(doors)? {
            let refused = |reason| ServeError::Listen { address, reason };
            let listener = TcpListener::bind(address).await.map_err(refused)?;
            let address = listener.local_addr().map_err(refused)?;
            bound.push((listener, address, doors, None));
        }
        Ok(Self { bound })
    }

    /// Has the socket of a door speak TLS.
    pub fn secure(&mut self, role: R, tls: &Arc<ServerConfig>)
    where
        R: PartialEq,
    {
        let has_door = |doors: &[(Listener, R)]| doors.iter().any(|(_, other)| *other == role);
        for (_, _, _, own) in self.bound.iter_mut().filter(|(_, _, doors, _)| has_door(doors)) {
            *own = Some(Arc::clone(tls));
        }
    }

    /// Address at which users reach each door.
    pub fn urls(&self) -> impl Iterator<Item = (R, String)> {
        let each = |(_, address, doors, _): &Bound<R>| {
            let url = |(door, role): &(Listener, R)| (*role, door.public_url(*address));
            doors.iter().map(url).collect::<Vec<_>>()
        };
        self.bound.iter().flat_map(each).collect::<Vec<_>>().into_iter()
    }

    /// Answers until `stop`, then finishes what is under way, but not for longer
    /// than [`GRACE`].
    ///
    /// # Errors
    /// A server failed.
    pub async fn serve(
        self,
        router_of: impl Fn(R) -> Router,
        limits_of: impl Fn(R) -> Limits,
        terms: Terms,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let (close, closed) = watch::channel(false);
        let mut servers = JoinSet::new();
        for (listener, _, doors, tls) in self.bound {
            let Some(limits) = doors.first().map(|(_, role)| limits_of(*role)) else { continue };
            let router = by_host(doors.into_iter().map(|(door, role)| (door, router_of(role))));
            let Terms { proxies, is_leaving } = terms.clone();
            let server = Server {
                listener,
                admission: Admission::new(limits),
                answerer: Arc::new(Answerer { router, proxies, is_leaving }),
                closed: closed.clone(),
                tls: tls.map(TlsAcceptor::from),
            };
            servers.spawn(server.run());
        }
        let mut serving = pin!(all(servers));
        tokio::select! {
            ended = &mut serving => return ended,
            () = stop => {}
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

/// Terms on which all sockets answer.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// Proxies that are believed about their clients, and have no limit of their own.
    pub proxies: Proxies,
    /// Set while the service is about to stop: each answer ends its connection.
    pub is_leaving: Arc<AtomicBool>,
}

/// A socket that is being answered on.
struct Server {
    listener: TcpListener,
    admission: Arc<Admission>,
    answerer: Arc<Answerer>,
    closed: watch::Receiver<bool>,
    tls: Option<TlsAcceptor>,
}

impl Server {
    /// Answers until the socket is closed, then until all connections have ended.
    async fn run(mut self) {
        let mut connections = JoinSet::new();
        let mut closed = self.closed.clone();
        loop {
            tokio::select! {
                // Dropping the other end says stop as well.
                _ = closed.wait_for(|is_closed| *is_closed) => break,
                () = self.accept(&mut connections) => {}
            }
        }
        drop(self.listener);
        while let Some(ended) = connections.join_next().await {
            tell_of_panic(ended);
        }
    }

    /// Takes the next connection and answers it in the background.
    async fn accept(&mut self, connections: &mut JoinSet<()>) {
        while let Some(ended) = connections.try_join_next() {
            tell_of_panic(ended);
        }
        let (stream, address) = match self.listener.accept().await {
            Ok(accepted) => accepted,
            Err(reason) if is_of_peer(&reason) => return,
            Err(reason) => {
                // Such as: no file descriptor is left. Trying at once would fail again.
                warn!(%reason, "no connection can be accepted");
                return sleep(ACCEPT_AGAIN).await;
            }
        };
        let peer = address.ip();
        let limited = Some(peer).filter(|peer| !self.answerer.proxies.contain(*peer));
        let Some(admitted) = self.admission.admit_when_possible(limited).await else {
            debug!(%peer, "a peer has too many connections");
            return;
        };
        set_nodelay(&stream);
        let (answerer, closed) = (Arc::clone(&self.answerer), self.closed.clone());
        let Some(acceptor) = self.tls.clone() else {
            let client = Client { peer, certificate: None };
            connections.spawn(connection::serve(stream, client, admitted, answerer, closed));
            return;
        };
        connections.spawn(async move {
            let shaken = tokio::select! {
                shaken = tls::accept(&acceptor, stream) => shaken,
                () = admitted.displaced() => return,
            };
            match shaken {
                Ok((stream, certificate)) => {
                    let client = Client { peer, certificate };
                    connection::serve(stream, client, admitted, answerer, closed).await;
                }
                // Whoever has no certificate sees the reason as an alert of TLS.
                Err(reason) => warn!(%peer, %reason, "a TLS connection was refused"),
            }
        });
    }
}

/// Answers are small and wait for nobody: without it they wait for more to send.
fn set_nodelay(stream: &TcpStream) {
    if let Err(reason) = stream.set_nodelay(true) {
        warn!(%reason, "a connection delays small answers");
    }
}

/// Returns `true` for failures of one connection, which say nothing of the socket.
fn is_of_peer(reason: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(reason.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

fn tell_of_panic(ended: Result<(), JoinError>) {
    if let Err(reason) = ended {
        error!(%reason, "a connection ended by a panic");
    }
}

async fn all(mut servers: JoinSet<()>) -> Result<(), ServeError> {
    while let Some(ended) = servers.join_next().await {
        ended.map_err(io::Error::other).map_err(ServeError::Server)?;
    }
    Ok(())
}

/// Address of a socket, and the doors that share it.
type SocketDoors<R> = (SocketAddr, Vec<(Listener, R)>);

/// Doors of each socket: those with one address share it, and port 0 is a socket of its own each
/// time.
///
/// # Errors
/// Doors of one socket cannot be told apart by host.
pub(crate) fn group_by_socket<R>(
    doors: Vec<(Listener, R)>,
) -> Result<Vec<SocketDoors<R>>, ConfigError> {
    let mut groups: BTreeMap<(SocketAddr, usize), Vec<(Listener, R)>> = BTreeMap::new();
    for (index, (door, role)) in doors.into_iter().enumerate() {
        let address = door.listen.0;
        let alone = if address.port() == 0 { index } else { 0 };
        groups.entry((address, alone)).or_default().push((door, role));
    }
    let groups = groups.into_iter().map(|((address, _), doors)| {
        tell_apart(address, &doors)?;
        Ok((address, doors))
    });
    groups.collect()
}

/// Listeners of one socket need hosts of their own.
fn tell_apart<R>(listen: SocketAddr, doors: &[(Listener, R)]) -> Result<(), ConfigError> {
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
fn by_host(doors: impl Iterator<Item = (Listener, Router)>) -> Router {
    let mut doors: Vec<(Listener, Router)> = doors.collect();
    if doors.len() == 1 {
        return doors.remove(0).1;
    }
    Router::new().fallback(async move |request: Request| {
        let asked = request.headers().get(header::HOST).and_then(|value| value.to_str().ok());
        let asked = asked.map(|asked| host(asked).to_ascii_lowercase());
        let is_asked = |door: &Listener| {
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
    use std::future::{pending, ready};

    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::{Notify, oneshot};

    use super::*;

    fn door(listen: &str, url: Option<&str>) -> Listener {
        let url = url.map(|url| url.parse().unwrap());
        Listener { listen: listen.parse().unwrap(), url }
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
    async fn doors_of_one_socket_are_told_apart_by_host() {
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
        let told = async { stopped.await.unwrap() };
        let server = sockets.serve(router_of, |_| MANY, Terms::default(), told);
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

    /// Sockets on loopback that any number of connections fit into.
    const MANY: Limits = Limits { total: 1_000, of_peer: 1_000 };

    async fn one_socket() -> (Sockets<()>, SocketAddr) {
        let sockets = Sockets::bind(vec![(door("127.0.0.1:0", None), ())]).await.unwrap();
        let address = sockets.bound[0].1;
        (sockets, address)
    }

    #[tokio::test]
    async fn stopping_closes_the_listener() {
        let (sockets, address) = one_socket().await;
        let serving = sockets.serve(|()| Router::new(), |()| MANY, Terms::default(), ready(()));
        serving.await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }

    #[tokio::test]
    async fn requests_under_way_are_finished_after_the_listener_is_closed() {
        let (sockets, address) = one_socket().await;
        let (began, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (is_in, released) = (Arc::clone(&began), Arc::clone(&release));
        let slow = async move || {
            is_in.notify_one();
            released.notified().await;
            "done"
        };
        let router = Router::new().route("/", get(slow));
        let (stop, stopped) = oneshot::channel::<()>();
        let stop_told = async { stopped.await.unwrap() };
        let router_of = move |()| router.clone();
        let server = tokio::spawn(sockets.serve(router_of, |()| MANY, Terms::default(), stop_told));
        let asked = tokio::spawn(ask(address, "a"));
        // One that has sent nothing holds nobody up.
        let _silent = TcpStream::connect(address).await.unwrap();
        began.notified().await;
        stop.send(()).unwrap();
        while TcpStream::connect(address).await.is_ok() {}
        assert!(!asked.is_finished());
        release.notify_one();
        assert!(asked.await.unwrap().ends_with("done"));
        server.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn silent_connections_keep_nobody_out() {
        let (sockets, address) = one_socket().await;
        let router_of = |()| Router::new().route("/", get(async || "here"));
        let limits_of = |()| Limits { total: 8, of_peer: 8 };
        let server = sockets.serve(router_of, limits_of, Terms::default(), pending());
        let client = async {
            let mut silent = Vec::new();
            for _ in 0..50 {
                silent.push(TcpStream::connect(address).await.unwrap());
            }
            for stream in silent.iter_mut().step_by(2) {
                // Those that were displaced may be gone already.
                let _: io::Result<()> = stream.write_all(b"GET / HTTP/1.1\r\nHost: a").await;
            }
            for _ in 0..20 {
                assert!(ask(address, "a").await.ends_with("here"));
            }
            let mut rest = Vec::new();
            // The first has long been closed to make room.
            let _: io::Result<usize> = silent[1].read_to_end(&mut rest).await;
            assert!(rest.is_empty());
        };
        tokio::select! {
            ended = server => panic!("{ended:?}"),
            () = client => {}
        }
    }

    #[tokio::test]
    async fn proxies_that_are_trusted_have_no_limit_of_their_own() {
        let held = Arc::new(Notify::new());
        for (proxies, lets_in) in [(vec![], false), (vec!["127.0.0.0/8".to_owned()], true)] {
            let (sockets, address) = one_socket().await;
            let is_in = Arc::clone(&held);
            let slow = async move || {
                is_in.notify_one();
                pending::<()>().await;
            };
            let router = Router::new().route("/slow", get(slow)).route("/", get(async || "here"));
            let limits_of = |()| Limits { total: 4, of_peer: 1 };
            let terms = Terms { proxies: Proxies::try_from(proxies).unwrap(), ..Terms::default() };
            let server = sockets.serve(move |()| router.clone(), limits_of, terms, pending());
            let client = async {
                let mut busy = TcpStream::connect(address).await.unwrap();
                busy.write_all(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
                held.notified().await;
                let mut second = TcpStream::connect(address).await.unwrap();
                let request = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
                let mut answer = Vec::new();
                // A peer with too many is cut, at a moment that is its system's affair.
                let _: io::Result<()> = second.write_all(request).await;
                let _: io::Result<usize> = second.read_to_end(&mut answer).await;
                assert_eq!(answer.ends_with(b"here"), lets_in);
            };
            tokio::select! {
                ended = server => panic!("{ended:?}"),
                () = client => {}
            }
        }
    }
}

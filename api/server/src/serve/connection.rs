//! One connection: its requests, one after the other, until either side has enough.
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Version, header};
use axum::response::{IntoResponse, Response};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tower::ServiceExt;
use tracing::debug;

use super::admission::Admitted;
use super::body::{Outcome, pace_body};
use super::stream::TimedStream;
use slackwater_http::problem::Problem;
use slackwater_service::config::admin::ClientCertificate;
use slackwater_service::config::proxies::{Peer, Proxies};
use slackwater_store::trace::TRACEPARENT;

/// Most bytes of a head. A longer one is refused with 431.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// All that answers on a socket.
#[derive(Debug)]
pub(super) struct Answerer {
    pub(super) router: Router,
    pub(super) proxies: Proxies,
    /// Set while the service is about to stop: clients are told to leave.
    pub(super) is_leaving: Arc<AtomicBool>,
}

/// The connection had to make room before its request was read.
#[derive(Debug, thiserror::Error)]
#[error("the connection was displaced")]
struct Displaced;

/// The other end of a connection.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) peer: IpAddr,
    /// Certificate that it showed.
    pub(super) certificate: Option<ClientCertificate>,
}

/// Answers the requests of a connection until it ends, has to make room, or the
/// socket is closed. A request that has begun by then is still answered.
pub(super) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    client: Client,
    admitted: Arc<Admitted>,
    answerer: Arc<Answerer>,
    mut closed: watch::Receiver<bool>,
) {
    let io = TokioIo::new(TimedStream::new(stream, Arc::clone(&admitted)));
    let (to, by, client) = (&admitted, &*answerer, &client);
    let service = service_fn(move |request| by.answer(request, client, to));
    let mut http = http1::Builder::new();
    let mut connection = pin!(http.max_buf_size(HEAD_BYTES_MAX).serve_connection(io, service));
    let mut is_closed = false;
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => {
                if let Err(reason) = ended {
                    debug!(peer = %client.peer, %reason, "a connection was cut");
                }
                return;
            }
            () = admitted.displaced() => return,
            // Dropping the other end says stop as well.
            _ = closed.wait_for(|is_closed| *is_closed), if !is_closed => {
                if admitted.displace_if_waiting() {
                    return;
                }
                is_closed = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

impl Answerer {
    async fn answer(
        &self,
        request: hyper::Request<Incoming>,
        client: &Client,
        admitted: &Arc<Admitted>,
    ) -> Result<hyper::Response<Answer>, Displaced> {
        if !admitted.begin() {
            return Err(Displaced);
        }
        let (mut parts, incoming) = request.into_parts();
        let flaw = host_flaw(parts.version, &parts.headers);
        parts.extensions.insert(Peer(self.proxies.client(client.peer, &parts.headers)));
        if !self.proxies.contain(client.peer) {
            // Others would choose which traces are sent, and join traces of strangers.
            parts.headers.remove(TRACEPARENT);
        }
        if let Some(certificate) = &client.certificate {
            parts.extensions.insert(certificate.clone());
        }
        let (body, fate) = pace_body(&parts, incoming);
        let mut response = match flaw {
            Some(flaw) => Problem::bad_request(flaw).into_response(),
            None => routed(&self.router, Request::from_parts(parts, body)).await,
        };
        let outcome = fate.outcome().await;
        if outcome == Outcome::TooSlow {
            response = Problem::slow_body().into_response();
        }
        if outcome != Outcome::Read {
            admitted.leave_unread();
        }
        if outcome != Outcome::Read || flaw.is_some() || self.is_leaving.load(Ordering::Relaxed) {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        let end = AnswerEnd(Arc::clone(admitted));
        Ok(response.map(|body| Answer { body, _end: end }))
    }
}

async fn routed(router: &Router, request: Request) -> Response {
    let response: Result<Response, Infallible> = router.clone().oneshot(request).await;
    response.unwrap_or_else(|never| match never {})
}

/// Defect of the `Host` lines of a head, by which RFC 9112, section 3.2 refuses it.
fn host_flaw(version: Version, headers: &HeaderMap) -> Option<&'static str> {
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) if version == Version::HTTP_10 => None,
        (None, _) => Some("the header Host is missing"),
        (Some(_), Some(_)) => Some("the header Host is given more than once"),
        (Some(host), None) if host.is_empty() => None,
        (Some(host), None) => match Authority::try_from(host.as_bytes()) {
            Ok(authority) if !authority.as_str().contains('@') => None,
            Ok(_) | Err(_) => Some("the header Host is not a host with or without a port"),
        },
    }
}

/// The body of an answer, which says when all of it was handed over.
#[derive(Debug)]
struct Answer {
    body: Body,
    _end: AnswerEnd,
}

#[derive(Debug)]
struct AnswerEnd(Arc<Admitted>);

impl Drop for AnswerEnd {
    fn drop(&mut self) {
        self.0.answered();
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        HttpBody::size_hint(&self.body)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::extract::Extension;
    use axum::routing::{get, post};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::task::JoinHandle;
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::serve::admission::{Admission, Limits};
    use crate::serve::pace::{LEAST_BYTES, SPAN};
    use crate::serve::stream::{HEAD_TIME, IDLE_TIME};

    /// Longer than any system buffers.
    const LONG: usize = 20 * LEAST_BYTES;

    const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    fn router() -> Router {
        Router::new()
            .route("/", get(async || "here"))
            .route(
                "/from",
                get(async |Extension(Peer(address)): Extension<Peer>| address.to_string()),
            )
            .route("/long", get(async || vec![b'x'; LONG]))
            .route("/unread", post(async || "unread"))
            .route("/read", post(async |body: Bytes| body.len().to_string()))
    }

    /// A connection and the task that serves it.
    fn connect(terms: Answerer) -> (DuplexStream, JoinHandle<()>) {
        let (client, server) = duplex(64);
        let peer = IpAddr::from([10, 0, 0, 1]);
        let admitted = Admission::new(Limits { total: 1, of_peer: 1 }).admit(Some(peer)).unwrap();
        let (open, closed) = watch::channel(false);
        let serving = tokio::spawn(async move {
            let client = Client { peer, certificate: None };
            serve(server, client, admitted, Arc::new(terms), closed).await;
            drop(open);
        });
        (client, serving)
    }

    fn plain() -> Answerer {
        Answerer { router: router(), proxies: Proxies::default(), is_leaving: Arc::default() }
    }

    /// Everything that comes until the service closes the connection.
    async fn rest(client: &mut DuplexStream) -> String {
        let mut text = Vec::new();
        client.read_to_end(&mut text).await.unwrap();
        String::from_utf8(text).unwrap()
    }

    /// One answer with a body of a known length.
    async fn answer(client: &mut DuplexStream) -> (String, String) {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            head.push(client.read_u8().await.unwrap().into());
        }
        let head = head.to_ascii_lowercase();
        let (_, length) = head.split_once("content-length: ").unwrap();
        let length = length.split_once('\r').unwrap().0.parse().unwrap();
        let mut body = vec![0; length];
        client.read_exact(&mut body).await.unwrap();
        (head, String::from_utf8(body).unwrap())
    }

    async fn answer_to(request: &[u8]) -> String {
        let (mut client, _) = connect(plain());
        client.write_all(request).await.unwrap();
        let (head, body) = answer(&mut client).await;
        head + &body
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_does_not_come_is_waited_for_for_half_a_minute() {
        for sent in [&b""[..], b"GET / HT"] {
            let start = Instant::now();
            let (mut client, serving) = connect(plain());
            client.write_all(sent).await.unwrap();
            serving.await.unwrap();
            assert_eq!(start.elapsed(), HEAD_TIME);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_comes_byte_by_byte_is_given_no_more_time() {
        let start = Instant::now();
        let (mut client, serving) = connect(plain());
        for byte in GET {
            if client.write_all(&[*byte]).await.is_err() {
                break;
            }
            sleep(Duration::from_secs(5)).await;
        }
        serving.await.unwrap();
        assert!(start.elapsed() <= HEAD_TIME + Duration::from_secs(5), "{:?}", start.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_is_kept_for_longer_than_balancers_keep_it() {
        let (mut client, serving) = connect(plain());
        for _ in 0..3 {
            client.write_all(GET).await.unwrap();
            assert_eq!(answer(&mut client).await.1, "here");
            sleep(Duration::from_secs(74)).await;
        }
        let start = Instant::now();
        client.write_all(GET).await.unwrap();
        answer(&mut client).await;
        serving.await.unwrap();
        assert_eq!(start.elapsed(), IDLE_TIME);
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_head_is_cut_as_well() {
        let (mut client, serving) = connect(plain());
        client.write_all(GET).await.unwrap();
        answer(&mut client).await;
        sleep(Duration::from_mins(1)).await;
        let start = Instant::now();
        client.write_all(b"GET / HT").await.unwrap();
        serving.await.unwrap();
        assert_eq!(start.elapsed(), HEAD_TIME);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_comes_too_slowly_is_answered_with_408() {
        for (head, chunk) in
            [("Content-Length: 9", ""), ("Transfer-Encoding: chunked", "1\r\nx\r\n")]
        {
            let start = Instant::now();
            let (client, _) = connect(plain());
            let (mut from, mut to) = tokio::io::split(client);
            let head = format!("POST /read HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n");
            to.write_all(head.as_bytes()).await.unwrap();
            let trickle = tokio::spawn(async move {
                while to.write_all(chunk.as_bytes()).await.is_ok() {
                    sleep(Duration::from_secs(1)).await;
                }
            });
            let mut text = String::new();
            from.read_to_string(&mut text).await.unwrap();
            trickle.abort();
            assert!(text.starts_with("HTTP/1.1 408"), "{text}");
            assert!(text.contains("connection: close") && text.contains("/problems/timeout"));
            let late = Duration::from_secs(3);
            assert!((SPAN..=SPAN + late).contains(&start.elapsed()), "{:?}", start.elapsed());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_body_at_the_least_rate_is_read() {
        let start = Instant::now();
        let (mut client, _) = connect(plain());
        let (chunks, chunk) = (18, vec![b'x'; LEAST_BYTES / 5]);
        let length = chunks * chunk.len();
        let head = format!("POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
        client.write_all(head.as_bytes()).await.unwrap();
        for _ in 0..chunks {
            sleep(Duration::from_secs(5)).await;
            client.write_all(&chunk).await.unwrap();
        }
        assert_eq!(answer(&mut client).await.1, length.to_string());
        assert!(start.elapsed() > 2 * SPAN);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_not_taken_ends_the_connection() {
        let start = Instant::now();
        let (mut client, serving) = connect(plain());
        client.write_all(b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        serving.await.unwrap();
        assert_eq!(start.elapsed(), SPAN);
        assert!(rest(&mut client).await.len() < LONG);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_taken_at_the_least_rate_arrives_whole() {
        let start = Instant::now();
        let (mut client, _) = connect(plain());
        client
            .write_all(b"GET /long HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            .await
            .unwrap();
        let (mut taken, mut part) = (0, vec![0; LEAST_BYTES / 5]);
        while client.read_exact(&mut part).await.is_ok() {
            taken += part.len();
            sleep(Duration::from_secs(5)).await;
        }
        assert!(taken > LONG - part.len() && start.elapsed() > 10 * SPAN);
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_body_that_nobody_reads_leaves_the_connection_usable() {
        let (mut client, _) = connect(plain());
        for _ in 0..3 {
            let head = b"POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\n";
            client.write_all(&[&head[..], &[b'x'; 500]].concat()).await.unwrap();
            let (head, body) = answer(&mut client).await;
            assert!(body == "unread" && !head.contains("connection: close"), "{head}");
        }
        client.write_all(GET).await.unwrap();
        assert_eq!(answer(&mut client).await.1, "here");
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_before_a_long_body_says_that_the_connection_closes() {
        let announced = [
            "Content-Length: 9999999",
            "Transfer-Encoding: chunked",
            "Content-Length: 9\r\nExpect: 100-continue",
            // Short, and does not come.
            "Content-Length: 9",
        ];
        for announced in announced {
            let (mut client, serving) = connect(plain());
            let head = format!("POST /unread HTTP/1.1\r\nHost: a\r\n{announced}\r\n\r\n");
            client.write_all(head.as_bytes()).await.unwrap();
            let (head, body) = answer(&mut client).await;
            assert!(body == "unread" && head.contains("connection: close"), "{announced}: {head}");
            // What is still sent is taken, or the answer might get lost on its way.
            client.write_all(&[b'x'; 10_000]).await.unwrap();
            drop(client);
            serving.await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_request_names_one_host() {
        let flawed = [
            "",
            "Host: a\r\nHost: b\r\n",
            "Host: a\r\nHost: a\r\n",
            "Host: a b\r\n",
            "Host: x@a\r\n",
        ];
        for hosts in flawed {
            let text = answer_to(format!("GET / HTTP/1.1\r\n{hosts}\r\n").as_bytes()).await;
            assert!(text.starts_with("http/1.1 400"), "{hosts}: {text}");
            assert!(
                text.contains("connection: close") && text.contains("the header Host"),
                "{text}"
            );
        }
        for good in ["HTTP/1.1\r\nHost: a:80\r\n", "HTTP/1.1\r\nHost: [::1]:80\r\n", "HTTP/1.0\r\n"]
        {
            let text = answer_to(format!("GET / {good}\r\n").as_bytes()).await;
            assert!(text.contains(" 200 ok") && text.ends_with("here"), "{good}: {text}");
        }
        let two = answer_to(b"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n").await;
        assert!(two.contains(" 400 bad request"), "{two}");
    }

    #[tokio::test]
    async fn handlers_see_the_client_behind_a_trusted_proxy() {
        for (networks, seen) in [(vec![], "10.0.0.1"), (vec!["10.0.0.0/8".to_owned()], "192.0.2.1")]
        {
            let proxies = Proxies::try_from(networks).unwrap();
            let (mut client, _) = connect(Answerer { proxies, ..plain() });
            let head = b"GET /from HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n";
            client.write_all(head).await.unwrap();
            assert_eq!(answer(&mut client).await.1, seen);
        }
    }

    #[tokio::test]
    async fn a_service_that_is_leaving_says_so_with_each_answer() {
        let terms = plain();
        terms.is_leaving.store(true, Ordering::Relaxed);
        let (mut client, serving) = connect(terms);
        client.write_all(GET).await.unwrap();
        assert!(answer(&mut client).await.0.contains("connection: close"));
        serving.await.unwrap();
    }
}

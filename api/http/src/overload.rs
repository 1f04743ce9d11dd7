//! Load shedding: how many requests are worked on at once, and the answers to those beyond.
//!
//! A request is worked on from when its body has come until its answer is made. Beyond a number of
//! them a new one is refused at once, which costs next to nothing, so that those that are worked on
//! end in time. One client has at most three quarters of the places: it cannot take them all from
//! others. A body that comes slowly holds no place, and the server's time limits end it; if there is
//! no place when it has come, its request is refused then. A handler that does not read a body works
//! from when it lets go of it, and holds a place in any case.
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body::{Frame, SizeHint};

use crate::auth::caller::Caller;
use crate::problem::{Problem, RATE_LIMITED};
use slackwater_store::client::Client;

/// Pause that a client is asked for.
const PAUSE: Duration = Duration::from_secs(1);

/// Requests that are worked on.
#[derive(Debug, Default)]
struct Places {
    all: usize,
    of_client: HashMap<String, usize>,
}

/// Requests that are worked on, and how many there may be.
#[derive(Debug)]
pub(crate) struct Load {
    total_max: usize,
    of_client_max: usize,
    places: Mutex<Places>,
}

/// Place of a request that is worked on. It is free again when this is dropped.
#[derive(Debug)]
struct Place {
    load: Arc<Load>,
    client: Arc<Client>,
}

/// Reason why there is no place for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Busy {
    /// All are taken.
    All,
    /// The client has taken its share.
    Client {
        /// Number of its requests.
        own: usize,
    },
}

impl IntoResponse for Busy {
    fn into_response(self) -> Response {
        let problem = match self {
            Self::All => Problem::unavailable("too many requests at once; try again later"),
            Self::Client { own } => {
                let detail = format!("{own} requests of the client are worked on; try again later");
                Problem::new(RATE_LIMITED, detail)
            }
        };
        problem.retry_after(PAUSE).into_response()
    }
}

impl Load {
    /// Room for `requests_max` requests at once.
    pub(crate) fn new(requests_max: u32) -> Arc<Self> {
        let total_max = (requests_max as usize).max(1);
        let of_client_max = (total_max - total_max / 4).max(1);
        Arc::new(Self { total_max, of_client_max, places: Mutex::default() })
    }

    /// Refuses a request for which there is no place.
    fn check_room(&self, places: &Places, client: &Client) -> Result<(), Busy> {
        if places.all >= self.total_max {
            return Err(Busy::All);
        }
        let own = places.of_client.get(&client.id).copied().unwrap_or_default();
        if own >= self.of_client_max { Err(Busy::Client { own }) } else { Ok(()) }
    }

    /// Takes a place if there is one.
    fn take_place(self: &Arc<Self>, client: &Arc<Client>) -> Result<Place, Busy> {
        let mut places = self.lock_places();
        self.check_room(&places, client)?;
        Ok(self.count_place(&mut places, client))
    }

    fn count_place(self: &Arc<Self>, places: &mut Places, client: &Arc<Client>) -> Place {
        places.all += 1;
        *places.of_client.entry(client.id.clone()).or_default() += 1;
        Place { load: Arc::clone(self), client: Arc::clone(client) }
    }

    fn lock_places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = self.load.lock_places();
        places.all -= 1;
        if let Some(own) = places.of_client.get_mut(&self.client.id) {
            *own -= 1;
            if *own == 0 {
                places.of_client.remove(&self.client.id);
            }
        }
    }
}

/// Answers a request if there is room for it, else with 503, or with 429 if its client has more
/// than its share.
pub(crate) async fn shed_load(
    State(load): State<Arc<Load>>,
    request: Request,
    next: Next,
) -> Response {
    let Some(Caller { client, .. }) = request.extensions().get::<Caller>().cloned() else {
        return Problem::unauthorized("no token was sent").into_response();
    };
    if request.body().is_end_stream() {
        let place = load.take_place(&client);
        return match &place {
            Ok(_) => next.run(request).await,
            Err(busy) => busy.into_response(),
        };
    }
    let checked = load.check_room(&load.lock_places(), &client);
    if let Err(busy) = checked {
        return busy.into_response();
    }
    let place = Arc::new(OnceLock::new());
    let awaited = |body| AwaitedBody { body, load, client, place: Arc::clone(&place) };
    let response = next.run(request.map(|body| Body::new(awaited(body)))).await;
    match place.get() {
        // The handler could not read the body.
        Some(Err(busy)) => busy.into_response(),
        _ => response,
    }
}

/// Body of a request, whose end takes a place, or fails for lack of one.
#[derive(Debug)]
struct AwaitedBody {
    body: Body,
    load: Arc<Load>,
    client: Arc<Client>,
    place: Arc<OnceLock<Result<Place, Busy>>>,
}

impl HttpBody for AwaitedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if self.body.is_end_stream() || !matches!(frame, Some(Ok(_))) {
            let place = self.place.get_or_init(|| self.load.take_place(&self.client));
            if place.is_err() {
                return Poll::Ready(Some(Err(axum::Error::new("there is no place"))));
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        HttpBody::size_hint(&self.body)
    }
}

impl Drop for AwaitedBody {
    /// Counts a request whose handler works without its body.
    fn drop(&mut self) {
        let count = || self.load.count_place(&mut self.load.lock_places(), &self.client);
        self.place.get_or_init(|| Ok(count()));
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::to_bytes;
    use axum::http::{StatusCode, header};
    use axum::middleware::from_fn_with_state;
    use axum::routing::post;
    use chrono::DateTime;
    use serde_json::Value;
    use slackwater_store::client::Environment;
    use slackwater_wire::version::dated::ApiVersion;
    use tokio::sync::{Notify, Semaphore, oneshot};
    use tower::ServiceExt;

    use super::*;
    use crate::version::Version;

    /// Requests that wait until they are let go on.
    struct Held {
        router: Router,
        load: Arc<Load>,
        began: Arc<Notify>,
        go_on: Arc<Semaphore>,
    }

    impl Held {
        fn new(requests_max: u32) -> Self {
            let (began, go_on) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
            let (is_in, may_go) = (Arc::clone(&began), Arc::clone(&go_on));
            let wait = async move || {
                is_in.notify_one();
                may_go.acquire().await.unwrap().forget();
            };
            let other = wait.clone();
            let work = async move |body: Bytes| {
                wait().await;
                body
            };
            let load = Load::new(requests_max);
            let router = Router::new()
                .route("/", post(work))
                .route("/unread", post(other))
                .layer(from_fn_with_state(Arc::clone(&load), shed_load));
            Self { router, load, began, go_on }
        }

        async fn ask(router: Router, client: &'static str, body: Body) -> Response {
            Self::ask_at(router, client, Request::post("/").body(body).unwrap()).await
        }

        async fn ask_at(router: Router, client: &'static str, mut request: Request) -> Response {
            let client = Client {
                id: client.to_owned(),
                environment: Environment::Sandbox,
                name: String::new(),
                version: ApiVersion::LATEST,
                created_at: DateTime::UNIX_EPOCH,
            };
            request.extensions_mut().insert(Caller {
                client: Arc::new(client),
                version: Version(ApiVersion::LATEST),
                user_id: None,
                now: DateTime::UNIX_EPOCH,
            });
            router.oneshot(request).await.unwrap()
        }

        /// Begins a request, and returns once it is worked on.
        async fn begin(
            &self,
            client: &'static str,
            body: Body,
        ) -> tokio::task::JoinHandle<Response> {
            let began = self.began.notified();
            let asked = tokio::spawn(Self::ask(self.router.clone(), client, body));
            began.await;
            asked
        }

        /// Status, pause and title of a request that is refused.
        async fn refused(&self, client: &'static str) -> (StatusCode, String, Value) {
            let response = Self::ask(self.router.clone(), client, Body::empty()).await;
            let (head, body) = response.into_parts();
            let body: Value =
                serde_json::from_slice(&to_bytes(body, 9_999).await.unwrap()).unwrap();
            let pause = head.headers[header::RETRY_AFTER].to_str().unwrap().to_owned();
            (head.status, pause, body["title"].clone())
        }
    }

    #[tokio::test]
    async fn beyond_their_places_requests_are_refused_until_others_have_ended() {
        let held = Held::new(4);
        let mut asked = Vec::new();
        // With a body and without: both take a place.
        for body in [Body::empty(), Body::from("x"), Body::empty()] {
            asked.push(held.begin("a", body).await);
        }
        let one = "1".to_owned();
        let spent = (StatusCode::TOO_MANY_REQUESTS, one.clone(), "Rate Limited".into());
        assert_eq!(held.refused("a").await, spent, "it has three quarters");
        asked.push(held.begin("b", Body::empty()).await);
        let full = (StatusCode::SERVICE_UNAVAILABLE, one, "Service Unavailable".into());
        assert_eq!(held.refused("c").await, full);
        assert_eq!(held.refused("a").await, full);
        held.go_on.add_permits(5);
        for asked in asked {
            assert_eq!(asked.await.unwrap().status(), StatusCode::OK);
        }
        let after = Held::ask(held.router.clone(), "c", Body::empty()).await;
        assert_eq!(after.status(), StatusCode::OK);
        let places = held.load.lock_places();
        assert!(places.all == 0 && places.of_client.is_empty(), "{places:?}");
    }

    #[tokio::test]
    async fn a_request_that_is_dropped_gives_its_place_back() {
        let held = Held::new(1);
        let asked = held.begin("a", Body::from("x")).await;
        assert_eq!(held.refused("b").await.0, StatusCode::SERVICE_UNAVAILABLE);
        asked.abort();
        assert!(asked.await.unwrap_err().is_cancelled());
        held.go_on.add_permits(1);
        let after = Held::ask(held.router.clone(), "b", Body::empty()).await;
        assert_eq!(after.status(), StatusCode::OK);
    }

    /// A body that comes when it is sent.
    struct Late(oneshot::Receiver<Bytes>);

    impl HttpBody for Late {
        type Data = Bytes;
        type Error = axum::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
            if self.0.is_terminated() {
                return Poll::Ready(None);
            }
            let sent = ready!(Pin::new(&mut self.0).poll(cx));
            Poll::Ready(sent.ok().map(|bytes| Ok(Frame::data(bytes))))
        }
    }

    #[tokio::test]
    async fn a_body_that_does_not_come_takes_no_place_and_finds_none_if_it_comes_too_late() {
        let held = Held::new(1);
        let (send, body) = oneshot::channel();
        let late = tokio::spawn(Held::ask(held.router.clone(), "a", Body::new(Late(body))));
        tokio::task::yield_now().await;
        let other = held.begin("b", Body::from("x")).await;
        send.send(Bytes::from("x")).unwrap();
        let late = late.await.unwrap();
        assert_eq!(late.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(late.headers()[header::RETRY_AFTER], "1");
        held.go_on.add_permits(1);
        assert_eq!(other.await.unwrap().status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn a_request_whose_body_nobody_reads_has_a_place_too() {
        let held = Held::new(1);
        let unread = Request::post("/unread").body(Body::from("x")).unwrap();
        let began = held.began.notified();
        let asked = tokio::spawn(Held::ask_at(held.router.clone(), "a", unread));
        began.await;
        assert_eq!(held.refused("b").await.0, StatusCode::SERVICE_UNAVAILABLE);
        held.go_on.add_permits(1);
        assert_eq!(asked.await.unwrap().status(), StatusCode::OK);
        assert_eq!(held.load.lock_places().all, 0);
    }
}

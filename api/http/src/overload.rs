//! Load shedding: how many requests are worked on at once, and the answers to those beyond.
//!
//! A request is worked on from when its body has come until its answer is made. Beyond a number of
//! them a new one is refused at once, which costs next to nothing, so that those that are worked on
//! end in time. One client has at most three quarters of the places: it cannot take them all from
//! others. A body that comes slowly holds no place; the server's time limits end it.
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

impl Load {
    /// Room for `requests_max` requests at once.
    pub(crate) fn new(requests_max: u32) -> Arc<Self> {
        let total_max = (requests_max as usize).max(1);
        let of_client_max = (total_max - total_max / 4).max(1);
        Arc::new(Self { total_max, of_client_max, places: Mutex::default() })
    }

    /// Refuses a request for which there is no room.
    fn check(&self, client: &Client) -> Result<(), Problem> {
        let places = self.places();
        if places.all >= self.total_max {
            return Err(Problem::unavailable("too many requests at once; try again later")
                .retry_after(PAUSE));
        }
        let own = places.of_client.get(&client.id).copied().unwrap_or_default();
        if own >= self.of_client_max {
            let detail = format!("{own} requests of the client are worked on; try again later");
            return Err(Problem::new(RATE_LIMITED, detail).retry_after(PAUSE));
        }
        Ok(())
    }

    fn take(self: &Arc<Self>, client: &Arc<Client>) -> Place {
        let mut places = self.places();
        places.all += 1;
        *places.of_client.entry(client.id.clone()).or_default() += 1;
        Place { load: Arc::clone(self), client: Arc::clone(client) }
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = self.load.places();
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
    if let Err(problem) = load.check(&client) {
        return problem.into_response();
    }
    let place = Arc::new(OnceLock::new());
    let body = AwaitedBody { body: Body::empty(), load, client, place: Arc::clone(&place) };
    if request.body().is_end_stream() {
        body.take_place();
        return next.run(request).await;
    }
    let response =
        next.run(request.map(|inner| Body::new(AwaitedBody { body: inner, ..body }))).await;
    drop(place);
    response
}

/// Body of a request, whose end takes a place.
#[derive(Debug)]
struct AwaitedBody {
    body: Body,
    load: Arc<Load>,
    client: Arc<Client>,
    place: Arc<OnceLock<Place>>,
}

impl AwaitedBody {
    fn take_place(&self) {
        self.place.get_or_init(|| self.load.take(&self.client));
    }
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
            self.take_place();
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

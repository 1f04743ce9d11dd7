//! Bodies of requests: read at a least rate, and given back where nobody reads them.
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::EXPECT;
use axum::http::request::Parts;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::pace::LeastRate;

/// Longest body that is read only to keep the connection.
const DISCARDED_MAX: u64 = 64 * 1024;

/// Time for that: the body was sent with its head, or the connection is given up.
const DISCARD_TIME: Duration = Duration::from_secs(1);

/// A body came too slowly, see [`pace`](super::pace).
#[derive(Debug, thiserror::Error)]
#[error("the body came too slowly")]
struct TooSlow;

/// A body as its handler sees it.
#[derive(Debug)]
struct PacedBody {
    incoming: Option<Incoming>,
    rate: LeastRate,
    /// Told how the body ended, unless it was read.
    rest: Option<oneshot::Sender<Rest>>,
}

/// End of a body that was not read.
#[derive(Debug)]
enum Rest {
    Unread(Incoming),
    TooSlow,
}

/// State of a body after its request was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was read, or there was none: another request may follow.
    Read,
    /// Some of it may still be on its way.
    Unread,
    /// It came too slowly, and what was answered is about half a body.
    TooSlow,
}

/// Fate of a body.
#[derive(Debug)]
pub(super) struct Fate {
    rest: Option<oneshot::Receiver<Rest>>,
    /// The client sends no body before it is told to.
    is_expecting: bool,
}

/// Puts a least rate on a body. Its fate is known after the answer.
pub(super) fn pace_body(parts: &Parts, incoming: Incoming) -> (Body, Fate) {
    let is_expecting = parts.headers.contains_key(EXPECT);
    if incoming.is_end_stream() {
        return (Body::empty(), Fate { rest: None, is_expecting });
    }
    let (tell, rest) = oneshot::channel();
    let (incoming, rate) = (Some(incoming), LeastRate::default());
    let body = PacedBody { incoming, rate, rest: Some(tell) };
    (Body::new(body), Fate { rest: Some(rest), is_expecting })
}

impl Fate {
    /// Says how the body ended. A short one that nobody read is read now, so
    /// that the connection can be kept.
    pub(super) async fn outcome(self) -> Outcome {
        let Some(mut rest) = self.rest else { return Outcome::Read };
        match rest.try_recv() {
            Err(oneshot::error::TryRecvError::Closed) => Outcome::Read,
            Ok(Rest::TooSlow) => Outcome::TooSlow,
            Ok(Rest::Unread(body)) if !self.is_expecting && is_short(&body) => {
                match timeout(DISCARD_TIME, body.collect()).await {
                    Ok(Ok(_)) => Outcome::Read,
                    Ok(Err(_)) | Err(_) => Outcome::Unread,
                }
            }
            Ok(Rest::Unread(_)) | Err(oneshot::error::TryRecvError::Empty) => Outcome::Unread,
        }
    }
}

fn is_short(body: &Incoming) -> bool {
    body.size_hint().upper().is_some_and(|bytes| bytes <= DISCARDED_MAX)
}

impl PacedBody {
    fn report_end(&mut self, rest: Rest) {
        if let Some(tell) = self.rest.take() {
            // Nobody asks any more where the connection is gone.
            let _: Result<(), Rest> = tell.send(rest);
        }
    }
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(incoming) = &mut self.incoming else { return Poll::Ready(None) };
        let polled = Pin::new(incoming).poll_frame(cx);
        match polled {
            Poll::Ready(Some(Ok(frame))) => {
                self.rate.count_bytes(frame.data_ref().map_or(0, Bytes::len));
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => {
                // Read to its end, so there is nothing to tell.
                self.rest = None;
                Poll::Ready(None)
            }
            Poll::Pending if self.rate.poll_too_slow(cx).is_ready() => {
                self.incoming = None;
                self.report_end(Rest::TooSlow);
                Poll::Ready(Some(Err(TooSlow.into())))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.as_ref().map(HttpBody::size_hint).unwrap_or_default()
    }
}

impl Drop for PacedBody {
    fn drop(&mut self) {
        if let Some(incoming) = self.incoming.take().filter(|body| !body.is_end_stream()) {
            self.report_end(Rest::Unread(incoming));
        }
    }
}

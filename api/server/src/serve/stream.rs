//! A connection's bytes, with time limits on both directions.
//!
//! | Limit | Counted |
//! |---|---|
//! | [`HEAD_TIME`] | from the opening, or from the first byte of a later head, to its end |
//! | [`IDLE_TIME`] | from an answer to the first byte of the next head |
//! | [`pace`](super::pace) | while the peer does not take an answer |
//!
//! Bodies of requests have theirs in [`body`](super::body).
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::admission::Admitted;
use super::pace::LeastRate;

/// Longest time for the head of a request.
pub(super) const HEAD_TIME: Duration = Duration::from_secs(30);

/// Longest time between an answer and the next request. Balancers keep idle
/// connections for 60 s and must be the first to close them.
pub(super) const IDLE_TIME: Duration = Duration::from_secs(75);

/// Longest time for which a peer that was answered early is still listened to.
/// Closed at once, its system would throw the answer away with the connection.
const LINGER_TIME: Duration = Duration::from_secs(2);

/// A stream that fails with [`io::ErrorKind::TimedOut`] when a limit is reached.
#[derive(Debug)]
pub(super) struct TimedStream<S> {
    stream: S,
    admitted: Arc<Admitted>,
    /// The waiting phase that `deadline` belongs to.
    turn: Option<u64>,
    has_head_begun: bool,
    deadline: Instant,
    timer: Option<Pin<Box<Sleep>>>,
    taking: LeastRate,
    linger: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> TimedStream<S> {
    pub(super) fn new(stream: S, admitted: Arc<Admitted>) -> Self {
        Self {
            stream,
            turn: admitted.waiting(),
            admitted,
            // The first head is due from the opening.
            has_head_begun: true,
            deadline: Instant::now() + HEAD_TIME,
            timer: None,
            taking: LeastRate::default(),
            linger: None,
        }
    }

    /// Notes that bytes came.
    fn note_bytes(&mut self) {
        let turn = self.admitted.waiting();
        if turn.is_some() && (turn != self.turn || !self.has_head_begun) {
            self.turn = turn;
            self.has_head_begun = true;
            self.deadline = Instant::now() + HEAD_TIME;
        }
    }

    /// Waits for the time at which a silent peer is given up.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(turn) = self.admitted.waiting() else { return Poll::Pending };
        if self.turn != Some(turn) {
            self.turn = Some(turn);
            self.has_head_begun = false;
            self.deadline = Instant::now() + IDLE_TIME;
        }
        let deadline = self.deadline;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(cx)
    }

    /// The outcome of a write, or the end of one that does not get on.
    fn limit_write(
        &mut self,
        written: Poll<io::Result<usize>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(bytes)) => {
                self.taking.count_bytes(bytes);
                Poll::Ready(Ok(bytes))
            }
            Poll::Pending if self.taking.poll_too_slow(cx).is_ready() => {
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            other => other,
        }
    }

    /// Reads what nobody wants until the peer closes too.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let end = self.linger.get_or_insert_with(|| Box::pin(sleep(LINGER_TIME)));
        if end.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let mut bytes = [0; 8 * 1024];
        loop {
            let mut unread = ReadBuf::new(&mut bytes);
            let read = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut unread));
            if read.is_err() || unread.filled().is_empty() {
                return Poll::Ready(());
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.note_bytes();
        }
        if read.is_pending() && self.poll_silence(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.limit_write(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.limit_write(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.taking.reset();
        // The next read may have been tried before: nobody else would look at the time.
        if self.admitted.flushed() && self.poll_silence(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        }
        if self.admitted.has_unread() {
            ready!(self.poll_linger(cx));
        }
        Poll::Ready(Ok(()))
    }
}

//! A change that is being made, and its end: made and shown, or undone.
use std::collections::BTreeSet;
use std::time::Duration;

use sqlx::{AnyConnection, Executor};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tracing::field::Empty;
use tracing::{Span, info_span, warn};
use uuid::Uuid;

use crate::commit_log::CommitLog;
use crate::connect::{Connector, PATIENCE, Use};
use crate::error::StoreError;
use crate::finish::Finish;
use crate::health::Health;
use crate::trace::TRACES;
use crate::writer::WriterGuard;

/// Time after which the outcome of a commit counts as unknown.
const COMMIT_WITHIN: Duration = Duration::from_secs(15);

/// A change that is being made. Nothing of it is kept before [`commit`](Self::commit).
/// One that is dropped before that is undone, and the next waits for that.
pub struct Change {
    /// The turn with the connection on which it is made; `None` once it ended.
    turn: Option<WriterGuard>,
    log: Option<CommitLog>,
    health: Health,
    /// From the wait for the turn to the end, in traces.
    span: Span,
}

/// Span of a change, from before the wait for its turn. Disabled where it would be a trace of its
/// own, as in the loops of the service.
pub(super) fn transaction_span() -> Span {
    if Span::current().is_none() {
        return Span::none();
    }
    info_span!(target: TRACES, "store transaction", otel.kind = "client", outcome = Empty)
}

impl Change {
    /// Begins a change in the turn of the writer.
    ///
    /// # Errors
    /// The database does not answer, or another process writes.
    pub(super) async fn begin(
        (turn, span): (WriterGuard, Span),
        connector: &Connector,
        log: Option<CommitLog>,
        health: Health,
    ) -> Result<Self, StoreError> {
        // From here on it undoes itself when it is dropped.
        let mut change = Self { turn: Some(turn), log, health, span };
        timeout(PATIENCE, change.open(connector)).await.map_err(|_| StoreError::silent())??;
        Ok(change)
    }

    async fn open(&mut self, connector: &Connector) -> Result<(), StoreError> {
        let begin = if self.log.is_some() { "begin immediate" } else { "begin" };
        let turn = self.turn.as_mut().expect("a change has its turn until it ends");
        if let Some(connection) = turn.as_mut() {
            match connection.execute(begin).await.map_err(StoreError::from) {
                Ok(_) => return Ok(()),
                // Lost since the last change: a server that was started again.
                Err(StoreError::Down(_)) => **turn = None,
                Err(other) => return Err(other),
            }
        }
        let connection = turn.insert(connector.connect(Use::Write).await?);
        connection.execute(begin).await?;
        Ok(())
    }

    /// The connection on which the statements of the change run.
    ///
    /// # Panics
    /// Never: only the end of the change takes the connection, and the change with it.
    pub fn connection(&mut self) -> &mut AnyConnection {
        let connection = self.turn.as_mut().and_then(|turn| turn.as_mut());
        connection.expect("a change has its connection until it ends")
    }

    /// Has other processes wait that change something about these devices, before any
    /// event is written: first devices in the order of their identifiers, then what
    /// belongs to them, and last the counter of events. Of changes that keep to it,
    /// no two wait for each other. A file has one change at a time.
    ///
    /// # Errors
    /// The database failed, or others took too long.
    pub async fn claim(&mut self, ids: impl IntoIterator<Item = Uuid>) -> Result<(), StoreError> {
        if self.log.is_some() {
            return Ok(());
        }
        for id in ids.into_iter().collect::<BTreeSet<_>>() {
            lock_device(self.connection(), id).await?;
        }
        Ok(())
    }

    /// Commits without waiting for the disk, and shows the change. For the middle steps of a job
    /// that begins anew after a crash; its last step must be a [`commit`](Self::commit), which
    /// brings all of them to the disk.
    ///
    /// # Errors
    /// It was not made, and not shown.
    pub async fn commit_unflushed<T: Send + 'static>(
        self,
        show: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let log = self.log.clone();
        let (shown, _) = self.make(show).await?;
        if let Some(log) = log {
            log.checkpointer.after_step();
        }
        Ok(shown)
    }

    /// Makes the change, and then shows it: `show` runs before the next change
    /// begins. It is on disk when this returns; others may have seen it a moment
    /// before that.
    ///
    /// Both happen or neither does, also if the caller is dropped meanwhile. What
    /// comes after the commit and must not be left out belongs into `show`.
    ///
    /// # Errors
    /// It was not made, and not shown. Or the disk failed afterwards: then it is
    /// not known whether it outlives a failure of the machine.
    pub async fn commit<T: Send + 'static>(
        self,
        show: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let (log, _span) = (self.log.clone(), self.span.clone());
        let (shown, number) = self.make(show).await?;
        if let (Some(log), Some(number)) = (log, number) {
            log.checkpointer.after_commit(number);
            log.flusher.reach(number).await?;
        }
        Ok(shown)
    }

    /// Commits. A failure of the connection leaves open whether a server made the change.
    async fn end(&mut self) -> Result<(), StoreError> {
        let committed = timeout(COMMIT_WITHIN, self.connection().execute("commit")).await;
        committed.map_err(|_| StoreError::silent())??;
        Ok(())
    }

    /// Makes the change and shows it, whoever waits. Returns its number in the log.
    fn make<T: Send + 'static>(
        mut self,
        show: impl FnOnce() -> T + Send + 'static,
    ) -> Finish<Result<(T, Option<u64>), StoreError>> {
        Finish::new(async move {
            let committed = self.end().await;
            if let (Err(StoreError::Down(_)), None) = (&committed, &self.log) {
                self.health.has_lost_answer();
            }
            committed?;
            // Nothing is left to be undone. The turn is held until all is shown.
            let turn = self.turn.take();
            let number = self.log.as_ref().map(|log| log.flusher.committed());
            self.health.was_made();
            self.span.record("outcome", "committed");
            let shown = show();
            drop(turn);
            Ok((shown, number))
        })
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        let Some(mut turn) = self.turn.take() else { return };
        self.health.was_undone();
        self.span.record("outcome", "undone");
        // Taken out, so that a rollback that is cut short leaves no connection behind.
        let Some(connection) = turn.take() else { return };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { *turn = undone(connection).await });
        }
    }
}

/// The connection of a change after its rollback; `None` if that failed.
///
/// SQLite undoes a change by itself when the disk is full, and there is nothing to
/// roll back any more. A connection in whose state nobody can be sure is closed.
async fn undone(mut connection: AnyConnection) -> Option<AnyConnection> {
    match timeout(PATIENCE, connection.execute("rollback")).await {
        Ok(Ok(_)) => return Some(connection),
        Ok(Err(reason)) => warn!(%reason, "a change was not rolled back: its connection is closed"),
        Err(_) => warn!("the rollback of a change had no answer: its connection is closed"),
    }
    None
}

/// Makes other changes about a device wait for this one, those of other
/// replicas among them.
///
/// # Errors
/// The database failed.
pub async fn lock_device(to: &mut AnyConnection, id: Uuid) -> Result<(), StoreError> {
    // Both databases lock a row that is written, whatever is written.
    let query = sqlx::query("update devices set id = id where id = $1").bind(id.to_string());
    query.execute(to).await?;
    Ok(())
}

//! The writer's turn, and the connection that goes with it.
//!
//! A file has one writer at a time, and to wait here is fairer than to wait at its
//! lock. A server has many, but what readers are shown in memory must change in the
//! order of the commits. Readers have connections of their own: however many of them
//! wait for the database, the writer has its connection.
use std::sync::Arc;
use std::time::Duration;

use sqlx::AnyConnection;
use tokio::sync::{Mutex, OwnedMutexGuard, Semaphore};
use tokio::time::timeout;

use crate::connect::PATIENCE;
use crate::error::StoreError;

/// Changes that wait for their turn, at most. More would not come to it in time.
const QUEUE_MAX: usize = 4_096;

/// The turn: whoever holds it has the writer's connection, which is `None` before
/// the first change and after one whose end was not clean.
pub type WriterGuard = OwnedMutexGuard<Option<AnyConnection>>;

/// Queue of those who write.
#[derive(Debug, Clone)]
pub struct Writer {
    connection: Arc<Mutex<Option<AnyConnection>>>,
    places: Arc<Semaphore>,
    /// Longest wait for the turn.
    patience: Duration,
}

impl Default for Writer {
    fn default() -> Self {
        let places = Arc::new(Semaphore::new(QUEUE_MAX));
        Self { connection: Arc::default(), places, patience: PATIENCE }
    }
}

impl Writer {
    /// Waits for the turn, first come, first served.
    ///
    /// # Errors
    /// Too many others wait, or they took too long ([`StoreError::Queue`]).
    pub async fn turn(&self) -> Result<WriterGuard, StoreError> {
        let _place = self.places.try_acquire().map_err(|_| StoreError::Queue)?;
        let turn = Arc::clone(&self.connection).lock_owned();
        timeout(self.patience, turn).await.map_err(|_| StoreError::Queue)
    }

    /// Waits for the turn for as long as it takes, at the end of the process.
    pub async fn last_turn(&self) -> WriterGuard {
        Arc::clone(&self.connection).lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    /// A writer with so few places, whose turns do not take long to be late.
    fn hasty(places: usize) -> Writer {
        let places = Arc::new(Semaphore::new(places));
        Writer { places, patience: Duration::ZERO, ..Writer::default() }
    }

    #[tokio::test]
    async fn a_turn_that_does_not_come_in_time_is_told_to_all_who_wait() {
        let writer = hasty(100);
        let held = writer.turn().await.unwrap();
        let late = join_all((0..100).map(|_| writer.turn())).await;
        assert!(late.iter().all(|turn| matches!(turn, Err(StoreError::Queue))));
        drop(held);
        assert!(writer.turn().await.is_ok());
    }

    #[tokio::test]
    async fn the_queue_has_an_end_and_places_are_given_back() {
        let writer = Writer { places: Arc::new(Semaphore::new(2)), ..Writer::default() };
        let held = writer.turn().await.unwrap();
        let (first, second) = (writer.turn(), writer.turn());
        let beyond = async {
            assert!(matches!(writer.turn().await, Err(StoreError::Queue)));
            drop(held);
        };
        // One after the other, as each of them holds the turn only here.
        let first = async { drop(first.await.unwrap()) };
        let second = async { drop(second.await.unwrap()) };
        tokio::join!(biased; first, second, beyond);
        assert!(writer.turn().await.is_ok());
    }
}

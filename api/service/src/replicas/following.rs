//! Hears the notes, gathers them, and looks at everything after a loss.
use std::io;
use std::time::Duration;

use metrics::counter;
use tokio::select;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tracing::{error, info, warn};

use crate::replicas::learning::{apply_changes, clients_met};
use crate::replicas::rows::ReloadedRows;
use crate::replicas::telling::Environments;
use crate::state::App;
use slackwater_store::error::StoreError;
use slackwater_store::notes::{ChangeNotifications, ChangedKeys, Notification};

/// Time after the first notification within which others are read together.
const TOGETHER: Duration = Duration::from_millis(100);

/// Keys that are read in one turn of the writer, which others wait for.
const KEYS_MAX: usize = 1_000;

/// After so long without a note the connection is tried.
const SILENCE: Duration = Duration::from_secs(10);

/// Longest time that an attempt to connect may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Pause between the loss of a connection and the next attempt.
const RECONNECT_DELAY: Duration = Duration::from_secs(1);

/// Rows of other processes that this one keeps in memory.
#[derive(Debug)]
pub struct Replicas {
    worlds: Environments,
    notes: ChangeNotifications,
    touched: ChangedKeys,
}

/// Follows other replicas until the task is dropped; ends at once on a file, which
/// has none. The notes must have been listened to since before the tables were
/// filled; without them all is looked at anew.
pub async fn run(apps: Vec<App>, notes: Option<ChangeNotifications>) {
    let Some(store) = apps.first().map(|app| app.store().clone()) else { return };
    let lost = || ChangeNotifications::lost(&store);
    let Some(notes) = notes.or_else(lost) else { return };
    let mut replicas = Replicas::new(apps, notes);
    loop {
        let failure = select! {
            biased;
            failure = replicas.follow() => failure,
            // What was committed is not shown, and the process does not hear its own notes.
            () = store.wait_for_lost_answer() => silent(),
        };
        error!(%failure, "changes may have been missed, and are looked for");
        while let Err(failure) = replicas.start_again().await {
            warn!(%failure, "changes of other replicas are not seen");
            sleep_until(Instant::now() + RECONNECT_DELAY).await;
        }
        info!("changes of other replicas are seen again");
    }
}

impl Replicas {
    /// With notes that have been listened to since before the tables were filled.
    #[must_use]
    pub fn new(apps: Vec<App>, notes: ChangeNotifications) -> Self {
        Self { worlds: Environments::new(apps), notes, touched: ChangedKeys::default() }
    }

    /// Learns of changes until something fails.
    async fn follow(&mut self) -> StoreError {
        loop {
            if let Err(failure) = self.next().await {
                return failure;
            }
        }
    }

    /// Waits for a change of another process, and learns of it and of those that
    /// come right after it. Returns of how many keys something was read.
    ///
    /// # Errors
    /// The database failed. Changes may have been missed: [start
    /// again](Self::start_again).
    pub async fn next(&mut self) -> Result<usize, StoreError> {
        let Ok(heard) = timeout(SILENCE, self.notes.hear(&mut self.touched)).await else {
            // A connection that is gone is silent, too.
            timeout(PATIENCE, self.hear_all()).await.map_err(|_| silent())??;
            return self.take_in().await;
        };
        heard?;
        let until = Instant::now() + TOGETHER;
        while let Ok(heard) = timeout_at(until, self.notes.hear(&mut self.touched)).await {
            heard?;
        }
        self.take_in().await
    }

    /// Learns of all that was committed before. Returns of how many keys
    /// something was read.
    ///
    /// # Errors
    /// As for [`next`](Self::next).
    pub async fn catch_up(&mut self) -> Result<usize, StoreError> {
        self.hear_all().await?;
        self.take_in().await
    }

    /// Hears all notes of what was committed before.
    async fn hear_all(&mut self) -> Result<(), StoreError> {
        let Some(app) = self.worlds.shared() else { return Ok(()) };
        let mark = self.notes.mark(app.store()).await?;
        while self.notes.hear(&mut self.touched).await? != Notification::Mark(mark) {}
        Ok(())
    }

    /// Listens anew, and compares all rows with what is known: what was noted
    /// in between is lost. Returns of how many keys something was read.
    ///
    /// # Errors
    /// The database failed.
    pub async fn start_again(&mut self) -> Result<usize, StoreError> {
        let Some(app) = self.worlds.shared() else { return Ok(0) };
        // Listened to first, so that nothing is missed again.
        let notes = ChangeNotifications::listen(app.store()).await?;
        self.notes = notes.ok_or(StoreError::Down(sqlx::Error::PoolClosed))?;
        self.touched.is_more = true;
        self.take_in().await
    }

    async fn take_in(&mut self) -> Result<usize, StoreError> {
        if std::mem::take(&mut self.touched.is_more) {
            self.touch_all().await?;
        }
        let mut count = 0;
        let touched = std::mem::take(&mut self.touched);
        for part in touched.parts(KEYS_MAX) {
            match self.apply_changes(&part).await {
                Ok(()) => {}
                Err(StoreError::Corrupt { .. }) => self.learn_each(&part).await?,
                Err(failure) => return Err(failure),
            }
            count += part.count();
        }
        counter!("slackwater_replica_keys_total").increment(count as u64);
        Ok(count)
    }

    /// One by one, so that what cannot be read does not hide the rest.
    async fn learn_each(&mut self, part: &ChangedKeys) -> Result<(), StoreError> {
        for one in part.parts(1) {
            match self.apply_changes(&one).await {
                Err(failure @ StoreError::Corrupt { .. }) => {
                    error!(%failure, "a change of another replica cannot be read");
                }
                done => done?,
            }
        }
        Ok(())
    }

    async fn apply_changes(&mut self, touched: &ChangedKeys) -> Result<(), StoreError> {
        let Some(app) = self.worlds.shared().cloned() else { return Ok(()) };
        // In the writer's turn, so that nothing older takes the place of what this
        // process writes meanwhile.
        let mut change = app.store().begin().await?;
        let keys = app.store().keys();
        let rows = ReloadedRows::read(change.connection(), touched, keys).await?;
        let met = app.cache().read(|tables| clients_met(tables, touched, &rows));
        self.worlds.meet(app.store(), &met).await?;
        let (worlds, touched) = (self.worlds.clone(), touched.clone());
        change.commit(move || apply_changes(&worlds, &touched, rows)).await
    }

    /// Adds the keys of all rows, and of all that is known and may be deleted.
    async fn touch_all(&mut self) -> Result<(), StoreError> {
        let Some(app) = self.worlds.shared() else { return Ok(()) };
        let mut connection = app.store().reader().acquire().await?;
        let mut all = ChangedKeys::all(&mut connection).await?;
        app.cache().read(|tables| {
            let owned = |(client, user): (&str, &str)| (client.to_owned(), user.to_owned());
            all.users.extend(tables.all_users().map(owned));
            all.add_devices(&tables.devices().map(|device| device.id).collect());
        });
        let (tariffs, zones, places) = app.prices().read(crate::cache::price_book::Book::keys);
        all.tariffs.extend(tariffs);
        all.zones.extend(zones);
        all.places.extend(places);
        all.limits.extend(app.limits().areas_set());
        self.touched = all;
        Ok(())
    }
}

/// A connection that does not answer.
fn silent() -> StoreError {
    StoreError::Down(sqlx::Error::Io(io::ErrorKind::TimedOut.into()))
}

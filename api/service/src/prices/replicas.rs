//! Prices that another replica has taken.
//!
//! Each series counts its changes in its row, so that who compares the counts
//! with those in memory knows what to read again.
use std::time::Duration;

use tracing::error;

use crate::clock::Clock;
use crate::state::App;
use slackwater_store::error::StoreError;
use slackwater_store::prices::{SeriesName, get_series, series_revisions};

/// Longest time that the prices of another replica stay unseen.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Follows the prices of other replicas until the task is dropped.
pub async fn run(app: App) {
    let machine = Clock::system();
    while app.store().is_shared() {
        machine.until(machine.now() + LOOK_AGAIN).await;
        if let Err(failure) = catch_up(&app).await {
            error!(%failure, "prices of other replicas were not read");
        }
    }
}

/// Reads the series again that other replicas have changed. Returns how many.
///
/// # Errors
/// The database failed, and memory is as it was.
pub async fn catch_up(app: &App) -> Result<usize, StoreError> {
    let kept = series_revisions(app.store()).await?;
    let behind: Vec<SeriesName> = app.prices().read(|book| {
        let is_behind = |(name, revision): &(SeriesName, i64)| {
            book.series(name).is_none_or(|series| series.revision < *revision)
        };
        kept.into_iter().filter(is_behind).map(|(name, _)| name).collect()
    });
    if behind.is_empty() {
        return Ok(0);
    }
    // In the writer's turn, so that nothing older takes the place of what this
    // process writes meanwhile.
    let mut change = app.store().begin().await?;
    let mut found = Vec::with_capacity(behind.len());
    for name in behind {
        if let Some(series) = get_series(change.connection(), &name).await? {
            found.push((name, series));
        }
    }
    let count = found.len();
    let app = app.clone();
    let show = move |(name, series)| app.prices().write(|book| book.keep_series(name, series));
    change.commit(move || found.into_iter().for_each(show)).await?;
    Ok(count)
}

//! Changes of limits of areas while the service runs: kept on disk first, then shown.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use slackwater_engine::plan::charge::PowerLimit;
use slackwater_engine::shared_supply::{SharedLimit, SharedLimitError};
use slackwater_engine::units::Power;

use crate::state::App;
use slackwater_store::database::Change;
use slackwater_store::error::StoreError;
use slackwater_store::jobs;
use slackwater_store::limits::{LimitRow, delete_limit, lock_limit, upsert_limit};
use slackwater_store::rows::Pair;

/// Age at which periods that are over are forgotten, with the next change of their area.
const REMEMBERED: TimeDelta = TimeDelta::days(7);

/// Change of what operators set for an area.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitChange {
    /// Sets the limit outside of periods.
    #[serde(rename = "power_max_kw")]
    Usual(Power),
    /// Sets the limits of periods, in place of what their times had.
    Periods(Vec<PowerLimit>),
    /// Sets periods in place of all that there are.
    AllPeriods(Vec<PowerLimit>),
    /// Lets the usual limit hold again from one instant to another.
    Clear {
        /// First instant.
        from: DateTime<Utc>,
        /// First instant after it.
        to: DateTime<Utc>,
    },
    /// Takes all away that was set: the settings count again.
    Reset,
}

/// Reason why a limit is not changed.
#[derive(Debug, thiserror::Error)]
pub enum LimitChangeError {
    /// No zone has the name.
    #[error("{zone:?} is neither in [zones] of the settings nor a zone of a client")]
    NoZone {
        /// The zone as given.
        zone: String,
    },
    /// The area has no name, or a name that none can have.
    #[error("the area is empty; name a part of the zone")]
    NoArea,
    /// A window ends before it starts, or has no length.
    #[error("the window ends at {to}, and starts at {from}; it has to end later")]
    Window {
        /// Its start.
        from: DateTime<Utc>,
        /// Its end.
        to: DateTime<Utc>,
    },
    /// Nothing plans within limits.
    #[error("limits need a service that was built with the feature `lp`")]
    NoPlans,
    /// The limit outside of periods.
    #[error(transparent)]
    Usual(SharedLimitError),
    /// Powers or times of periods.
    #[error(transparent)]
    Limit(#[from] SharedLimitError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Changes the limit of an area, and asks for the plans of its devices to follow in the same
/// change. Returns what is set from now on; empty, if nothing is.
///
/// # Errors
/// The zone is unknown, the limit makes no sense, or the database failed. Nothing is changed then.
pub async fn change_limit(
    worlds: &[App],
    area: &Pair,
    wanted: LimitChange,
) -> Result<SharedLimit, LimitChangeError> {
    // Environments share limits, and the clock of a sandbox may be far ahead: a period is over when
    // it is over on all clocks.
    let now = worlds.iter().map(App::now).min();
    let (Some(app), Some(now)) = (worlds.first(), now) else { return Ok(SharedLimit::default()) };
    check_area(app, area)?;
    let mut change = app.store().begin().await?;
    let before = lock_limit(change.connection(), area).await?.limit;
    let limit = changed(&before, wanted)?;
    let forgotten = now.checked_sub_signed(REMEMBERED).unwrap_or_default();
    let limit = limit.cleared(DateTime::<Utc>::MIN_UTC, forgotten);
    let is_empty = limit == SharedLimit::default();
    if is_empty {
        delete_limit(change.connection(), area).await?;
    } else {
        let row = LimitRow { area: area.clone(), limit: limit.clone() };
        upsert_limit(change.connection(), &row).await?;
    }
    request_area(app, &mut change, (area, now)).await?;
    let (worlds, area, shown) = (worlds.to_vec(), area.clone(), limit.clone());
    let show = move || {
        let Some(app) = worlds.first() else { return };
        app.limits().replace(&area, (!is_empty).then_some(shown));
        for app in &worlds {
            app.planner().areas.notify_one();
        }
    };
    change.commit(show).await?;
    Ok(limit)
}

fn check_area(app: &App, area: &Pair) -> Result<(), LimitChangeError> {
    if !cfg!(feature = "lp") {
        return Err(LimitChangeError::NoPlans);
    }
    let (zone, name) = area;
    let is_known =
        app.config().zones.contains_key(zone) || app.prices().read(|book| book.has_zone(zone));
    // What was set for a zone that is no more can be taken back.
    if !is_known && app.limits().set_for(area).is_none() {
        return Err(LimitChangeError::NoZone { zone: zone.clone() });
    }
    if name.trim().is_empty() { Err(LimitChangeError::NoArea) } else { Ok(()) }
}

fn changed(limit: &SharedLimit, wanted: LimitChange) -> Result<SharedLimit, LimitChangeError> {
    Ok(match wanted {
        LimitChange::Usual(power) => SharedLimit::new(Some(power), limit.periods().to_vec())
            .map_err(LimitChangeError::Usual)?,
        LimitChange::Periods(periods) => limit.overlaid(periods)?,
        LimitChange::AllPeriods(periods) => SharedLimit::new(limit.usual(), periods)?,
        LimitChange::Clear { from, to } if to <= from => {
            return Err(LimitChangeError::Window { from, to });
        }
        LimitChange::Clear { from, to } => limit.cleared(from, to),
        LimitChange::Reset => SharedLimit::default(),
    })
}

/// Asks for new plans of an area for each client with homes there.
pub(crate) async fn request_area(
    app: &App,
    change: &mut Change,
    ((zone, area), now): (&Pair, DateTime<Utc>),
) -> Result<(), StoreError> {
    let clients: Vec<_> = app.cache().read(|tables| {
        let next = |after: &str| tables.plans.next_client_in(zone, area, after);
        std::iter::successors(next(""), |client| next(client)).collect()
    });
    for client in &clients {
        jobs::request_area(change.connection(), (client, zone, area), now).await?;
    }
    Ok(())
}

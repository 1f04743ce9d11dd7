//! Task of a site: the limits of its charge points from their states, once a second and whenever
//! one of them has sent something.
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use slackwater_control::grid_order::limit::GridLimit;
use slackwater_engine::units::{Current, Power};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tracing::{debug, info, warn};

use crate::edge::hub::{Hub, read_base_load};
use crate::edge::point::{Point, lock};
use crate::site::balance::Member;
use crate::site::plan::{BaseLoad, Bounds, PHASES, Site};

/// Longest interval of the balancing.
const TICK: Duration = Duration::from_secs(1);

/// Shortest interval: charge points that send without end do not keep a core busy.
const PAUSE: Duration = Duration::from_millis(10);

/// Site with its charge points.
#[derive(Debug)]
pub struct LiveSite {
    pub(crate) site: Site,
    /// Charge points in the order of the site.
    pub(crate) points: Vec<Arc<Point>>,
    /// Charge point with the meter of the other load.
    pub(crate) meter: Option<Arc<Point>>,
    /// File with the other load.
    pub(crate) file: Option<PathBuf>,
    /// Told when the state of a charge point or of the meter has changed.
    pub(crate) changed: Arc<Notify>,
    /// Orders of a grid operator, and signs of life.
    pub(crate) grid: Arc<Mutex<Option<GridLimit>>>,
}

/// Way to the task of a site, for the grid orders that it follows.
#[derive(Debug)]
pub struct SiteControl {
    points: Vec<Arc<Point>>,
    changed: Arc<Notify>,
    grid: Arc<Mutex<Option<GridLimit>>>,
}

impl SiteControl {
    /// Has the site follow a limit from now on, as time passes.
    pub fn follow_grid_limit(&self, limit: GridLimit) {
        let before = lock(&self.grid).replace(limit);
        if before != Some(limit) {
            self.changed.notify_one();
        }
    }

    /// Power of its charge points by their last measurements; `None` if that of one is not known.
    #[must_use]
    pub fn measured_power(&self) -> Option<Power> {
        let add = |sum, point: &Arc<Point>| Some(sum + point.kept().station.measured_power()?);
        self.points.iter().try_fold(Power::ZERO, add)
    }
}

impl LiveSite {
    /// Name of the site.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.site.name
    }

    /// Way to its task.
    #[must_use]
    pub fn control(&self) -> SiteControl {
        SiteControl {
            points: self.points.clone(),
            changed: Arc::clone(&self.changed),
            grid: Arc::clone(&self.grid),
        }
    }

    /// Balances until the task is dropped. The connections send what was decided.
    pub async fn keep_balanced(self, hub: Arc<Hub>) {
        let mut tick = hub.clock.wait(Duration::ZERO);
        let mut was_full = false;
        loop {
            tokio::select! {
                () = &mut tick => tick = hub.clock.wait(TICK),
                () = self.changed.notified() => {}
            }
            let measured = self.read_base().await;
            let now = hub.clock.now();
            let limit = *lock(&self.grid);
            let grid = limit.and_then(|limit| limit.in_force(now).limit);
            let least = limit.map_or(Power::ZERO, GridLimit::least);
            let is_full = self.balance_site(Bounds { measured, grid, least }, now);
            if is_full != was_full {
                self.log_fullness(is_full);
            }
            was_full = is_full;
            sleep_until(Instant::now() + PAUSE).await;
        }
    }

    fn log_fullness(&self, is_full: bool) {
        let site = self.name();
        if is_full {
            warn!(
                site,
                "what counts at any time is more than the fuse or a grid order allows: chargers are stopped"
            );
        } else {
            info!(site, "what counts at any time is within the fuse and the grid order");
        }
    }

    /// Other load as it was measured last, if there is a source that can be read.
    async fn read_base(&self) -> Option<BaseLoad> {
        if let Some(file) = &self.file {
            return match read_base_load(file.clone()).await {
                Ok(load) => load,
                Err(error) => {
                    debug!(site = self.name(), %error, "the base load was not read");
                    None
                }
            };
        }
        let number = self.site.meter.as_ref()?.connector;
        let kept = self.meter.as_ref()?.kept();
        let measured = kept.station.currents.get(&number)?;
        Some(BaseLoad { at: measured.at, currents: [measured.current; PHASES] })
    }

    /// Decides limits, and tells the connections that are to send one. Returns true if what counts
    /// at any time exceeds the fuse or a grid order.
    fn balance_site(&self, bounds: Bounds, now: DateTime<Utc>) -> bool {
        // Others lock one charge point at a time, and these in their order.
        let mut kept: Vec<_> = self.points.iter().map(|point| point.kept()).collect();
        let mut members: Vec<Member<'_>> = (kept.iter_mut().zip(&self.points))
            .map(|(kept, point)| Member { rules: &point.rules, station: &mut kept.station })
            .collect();
        let counted = self.site.balance(&mut members, bounds, now);
        for (member, point) in members.iter().zip(&self.points) {
            if member.station.has_decision() {
                point.tell_connection();
            }
        }
        let sum = counted.into_iter().fold(Current::ZERO, |sum, counted| sum + counted);
        let connection = self.site.connection(bounds, self.site.base_at(bounds.measured, now));
        let is_over_fuse =
            counted.iter().zip(self.site.fuse).any(|(counted, fuse)| *counted > fuse);
        is_over_fuse || connection.grid_max().is_some_and(|most| sum > most)
    }
}

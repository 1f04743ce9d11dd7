//! Task of a site: the limits of its charge points from their states, once a second and whenever
//! one of them has sent something.
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tracing::{debug, info, warn};

use crate::edge::hub::{Hub, read_base_load};
use crate::edge::point::Point;
use crate::site::balance::Member;
use crate::site::plan::{BaseLoad, PHASES, Site};

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
}

impl LiveSite {
    /// Name of the site.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.site.name
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
            let base = self.read_base().await;
            let is_full = self.balance_site(base, hub.clock.now());
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
                "what counts at any time is more than the fuse carries: chargers are stopped"
            );
        } else {
            info!(site, "what counts at any time is within the fuse");
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
    /// at any time exceeds the fuse.
    fn balance_site(&self, base: Option<BaseLoad>, now: DateTime<Utc>) -> bool {
        // Others lock one charge point at a time, and these in their order.
        let mut kept: Vec<_> = self.points.iter().map(|point| point.kept()).collect();
        let mut members: Vec<Member<'_>> = (kept.iter_mut().zip(&self.points))
            .map(|(kept, point)| Member { rules: &point.rules, station: &mut kept.station })
            .collect();
        let counted = self.site.balance(&mut members, base, now);
        for (member, point) in members.iter().zip(&self.points) {
            if member.station.has_decision() {
                point.tell_connection();
            }
        }
        counted.iter().zip(self.site.fuse).any(|(counted, fuse)| *counted > fuse)
    }
}

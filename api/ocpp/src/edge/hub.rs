//! All charge points of an integration, connected or not.
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use slackwater_integration::news::News;
use slackwater_integration::registry::SettingsError;
use tokio::sync::{Notify, Semaphore};
use tokio::task::spawn_blocking;

use crate::edge::balancing::LiveSite;
use crate::edge::clock::Clock;
use crate::edge::enrolment::is_identity;
use crate::edge::files::{Credentials, FileError, Folder, read};
use crate::edge::point::{Point, lock};
use crate::edge::upstream::Route;
use crate::facts::Request;
use crate::settings::OcppSettings;
use crate::site::plan::{BaseLoad, Site};
use crate::site::settings::SiteSettings;
use crate::vehicles::Vehicles;

/// Hashes that are computed at a time: each takes 19 MiB, and all charge points of a street
/// connect at once after a power cut.
const HASHES_MAX: usize = 2;

/// States that are written at a time. Each waits for the disk on a thread of its own, and those are
/// shared with all other work on files: a street that connects at once must not take them all.
const WRITES_MAX: u32 = 32;

/// Files that are read at a time. A thread for each charge point of a street that connects at once would
/// take more memory than all that the charge points need afterwards.
const READS_MAX: usize = 8;

/// All charge points of an integration.
pub struct Hub {
    /// Settings of the integration.
    settings: OcppSettings,
    vehicles: Vehicles,
    /// Source of the time.
    pub clock: Clock,
    folder: Folder,
    news: Arc<News>,
    points: Mutex<BTreeMap<String, Arc<Point>>>,
    hashes: Semaphore,
    writes: Semaphore,
    reads: Semaphore,
    links: AtomicU64,
}

impl Hub {
    /// A hub without charge points in memory, for settings that were checked: identifiers of vehicles
    /// that are wrong are known for none.
    #[must_use]
    pub fn new(settings: OcppSettings, clock: Clock) -> Self {
        Self {
            folder: Folder::new(&settings.state_folder),
            vehicles: Vehicles::check(&settings.vehicles).unwrap_or_default(),
            settings,
            clock,
            news: Arc::default(),
            points: Mutex::default(),
            hashes: Semaphore::new(HASHES_MAX),
            writes: Semaphore::new(WRITES_MAX as usize),
            reads: Semaphore::new(READS_MAX),
            links: AtomicU64::default(),
        }
    }

    /// Time for the reply to a request.
    #[must_use]
    pub fn call_timeout(&self) -> TimeDelta {
        TimeDelta::seconds(i64::from(self.settings.call_timeout_seconds))
    }

    /// Interval of pings.
    #[must_use]
    pub fn ping_interval(&self) -> TimeDelta {
        TimeDelta::seconds(i64::from(self.settings.ping_seconds))
    }

    /// Way to the upstream system of a charge point, if it has one.
    #[must_use]
    pub fn route(&self, identity: &str) -> Option<Route> {
        self.settings.upstream_of(identity).map(|upstream| Route::new(upstream, identity))
    }

    /// A request with the token that the upstream system knows, if it is a start.
    #[must_use]
    pub fn with_token(&self, mut request: Request, identity: &str) -> Request {
        let known = self.settings.upstream_of(identity).and_then(|one| one.token.clone());
        if let (Request::Start { token, .. }, Some(known)) = (&mut request, known) {
            *token = known;
        }
        request
    }

    /// Connectors that the service has yet to read.
    #[must_use]
    pub const fn news(&self) -> &Arc<News> {
        &self.news
    }

    /// Vehicles that are known by an identifier.
    #[must_use]
    pub const fn vehicles(&self) -> &Vehicles {
        &self.vehicles
    }

    /// Folder with the files of the charge points.
    #[must_use]
    pub const fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Name of the site that a charge point is part of, as a charger or as its meter.
    pub(crate) fn site_of(&self, identity: &str) -> Option<&str> {
        let is_part = |site: &SiteSettings| {
            let is_meter = site.base_meter.as_ref().is_some_and(|one| one.charger == identity);
            is_meter || site.chargers.contains_key(identity)
        };
        let mut sites = self.settings.sites.iter();
        sites.find(|(_, site)| is_part(site)).map(|(name, _)| name.as_str())
    }

    /// A charge point that is in memory.
    pub(crate) fn find_point(&self, identity: &str) -> Option<Arc<Point>> {
        lock(&self.points).get(identity).cloned()
    }

    /// Takes a charge point out of memory.
    pub(crate) fn remove_point(&self, identity: &str) -> Option<Arc<Point>> {
        lock(&self.points).remove(identity)
    }

    /// Returns true if every connection has looked at a time of the clock and no request is under
    /// way. Whoever moves the clock by steps waits for it before the next one.
    #[must_use]
    pub fn is_idle(&self, at: DateTime<Utc>) -> bool {
        lock(&self.points).values().all(|point| point.is_idle(at))
    }

    /// Number for the next connection.
    pub fn next_link(&self) -> u64 {
        self.links.fetch_add(1, Ordering::Relaxed)
    }

    /// Credentials of a charge point; `None` if there is none of that identity, or the text is none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn credentials(&self, identity: &str) -> Result<Option<Credentials>, FileError> {
        if !is_identity(identity) {
            return Ok(None);
        }
        let (folder, identity) = (self.folder.clone(), identity.to_owned());
        self.read_file(move || folder.credentials(&identity)).await
    }

    /// A charge point that was added, with its state from memory or from its file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn point(&self, identity: &str) -> Result<Arc<Point>, FileError> {
        if let Some(point) = self.find_point(identity) {
            return Ok(point);
        }
        let (folder, name) = (self.folder.clone(), identity.to_owned());
        let kept = self.read_file(move || folder.state(&name)).await?.unwrap_or_default();
        let rules = self.settings.rules(identity).map_err(|error| FileError {
            path: self.settings.state_folder.clone(),
            reason: error.to_string(),
        })?;
        let mut points = lock(&self.points);
        let point = points
            .entry(identity.to_owned())
            .or_insert_with(|| Arc::new(Point::new(identity.to_owned(), rules, kept)));
        Ok(Arc::clone(point))
    }

    /// Reads a file off the async threads, and few at a time.
    async fn read_file<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> Result<T, FileError> + Send + 'static,
    ) -> Result<T, FileError> {
        // Never closed: no permit means no bound.
        let _permit = self.reads.acquire().await;
        run_blocking(read).await
    }

    /// Charge points of all sites, with their states from their files, in the order of the sites.
    /// Each takes part in the balancing of its site from then on.
    ///
    /// # Errors
    /// A site is wrong, or a file cannot be read.
    pub fn join_sites(&self) -> Result<Vec<LiveSite>, SettingsError> {
        self.settings.sites()?.into_iter().map(|site| self.join_site(site)).collect()
    }

    fn join_site(&self, site: Site) -> Result<LiveSite, SettingsError> {
        let load = |identity: &str| {
            if let Some(point) = self.find_point(identity) {
                return Ok(point);
            }
            let failed = |error: FileError| SettingsError::new("state_folder", error.to_string());
            let kept = self.folder.state(identity).map_err(failed)?.unwrap_or_default();
            let rules = self.settings.rules(identity)?;
            let point = Arc::new(Point::new(identity.to_owned(), rules, kept));
            lock(&self.points).insert(identity.to_owned(), Arc::clone(&point));
            Ok::<_, SettingsError>(point)
        };
        let points = site.chargers.iter().map(|charger| load(&charger.identity));
        let points: Vec<Arc<Point>> = points.collect::<Result<_, _>>()?;
        let meter = site.meter.as_ref().map(|meter| load(&meter.charger)).transpose()?;
        let now = self.clock.now();
        // Limits of an earlier run, also of one with a longer lifetime, may be in force until then.
        let until = |point: &Arc<Point>| point.kept().station.limits_until(&point.rules, now);
        let until = points.iter().map(until).max().unwrap_or(now);
        let changed = Arc::new(Notify::new());
        for point in &points {
            point.kept().station.join(&point.rules, until, now);
        }
        for point in points.iter().chain(&meter) {
            point.join_site(Arc::clone(&changed));
        }
        let file = self.settings.sites.get(&site.name).and_then(|one| one.base_file.clone());
        Ok(LiveSite { site, points, meter, file, changed, grid: Arc::default() })
    }

    /// Keeps the state of a charge point.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn save(&self, point: &Point) -> Result<(), FileError> {
        let _turn = point.saving.lock().await;
        // Never closed: no permit means no bound.
        let _permit = self.writes.acquire().await;
        if point.is_forgotten() {
            return Ok(());
        }
        let kept = point.kept().clone();
        let (folder, identity) = (self.folder.clone(), point.identity.clone());
        run_blocking(move || folder.keep_state(&identity, &kept)).await
    }

    /// Compares a secret with a hash, off the async threads and few at a time.
    pub async fn compare(&self, check: impl FnOnce() -> bool + Send + 'static) -> bool {
        let Ok(_permit) = self.hashes.acquire().await else { return false };
        spawn_blocking(check).await.unwrap_or(false)
    }
}

/// Other load of a site, as another program has written it; `None` without a file.
///
/// # Errors
/// The file cannot be read.
pub async fn read_base_load(path: PathBuf) -> Result<Option<BaseLoad>, FileError> {
    run_blocking(move || read(&path)).await
}

/// Runs work that may wait for a file off the async threads.
///
/// # Errors
/// The work failed.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
) -> Result<T, FileError> {
    let failed = |error: tokio::task::JoinError| FileError {
        path: PathBuf::new(),
        reason: error.to_string(),
    };
    spawn_blocking(work).await.map_err(failed)?
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};
    use slackwater_integration::registry::Settings;
    use tempfile::TempDir;

    use super::*;
    use crate::edge::enrolment::enrol;

    const IDENTITY: &str = "CP-1";

    /// A hub with one charge point that was added.
    fn open_hub(folder: &TempDir) -> Arc<Hub> {
        enrol(&Folder::new(folder.path()), IDENTITY, false).unwrap();
        let values: Map<String, Value> =
            json!({"listen": "127.0.0.1:0", "security_profile": 1, "state_folder": folder.path()})
                .as_object()
                .cloned()
                .unwrap();
        let settings = Settings::new("ocpp", values).read().unwrap();
        Arc::new(Hub::new(settings, Arc::new(|| DateTime::UNIX_EPOCH)))
    }

    #[tokio::test]
    async fn states_are_written_few_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let hub = open_hub(&folder);
        let point = hub.point(IDENTITY).await.unwrap();
        let others = hub.writes.acquire_many(WRITES_MAX).await.unwrap();
        let saving = tokio::spawn({
            let hub = Arc::clone(&hub);
            async move { hub.save(&point).await }
        });
        // Work on other files goes on.
        for _ in 0..100 {
            assert!(hub.credentials(IDENTITY).await.unwrap().is_some());
        }
        assert!(!saving.is_finished());
        drop(others);
        saving.await.unwrap().unwrap();
        assert!(hub.folder.state(IDENTITY).unwrap().is_some());
    }

    #[tokio::test]
    async fn a_text_that_is_no_identity_has_no_credentials() {
        let folder = tempfile::tempdir().unwrap();
        let hub = open_hub(&folder);
        for text in ["", "a/b", &"x".repeat(5000)] {
            assert!(hub.credentials(text).await.unwrap().is_none(), "{text}");
        }
    }

    #[tokio::test]
    async fn a_charge_point_that_is_forgotten_has_no_link_whoever_looks_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let hub = open_hub(&folder);
        let point = hub.point(IDENTITY).await.unwrap();
        point.add_link("digest".to_owned());
        hub.save(&point).await.unwrap();
        let turn = point.saving.lock().await;
        let forgetting = tokio::spawn({
            let hub = Arc::clone(&hub);
            async move { hub.forget_charger(IDENTITY).await }
        });
        while !point.is_forgotten() {
            tokio::task::yield_now().await;
        }
        // Its file is still there.
        assert!(hub.point(IDENTITY).await.unwrap().kept().links.is_empty());
        drop(turn);
        assert!(forgetting.await.unwrap().unwrap());
        let after = hub.point(IDENTITY).await.unwrap();
        assert!(after.kept().links.is_empty() && !after.is_forgotten());
    }
}

//! All charge points of an integration, connected or not.
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use chrono::TimeDelta;
use slackwater_integration::registry::SettingsError;
use tokio::sync::{Notify, Semaphore};
use tokio::task::spawn_blocking;

use crate::edge::balancing::LiveSite;
use crate::edge::clock::Clock;
use crate::edge::files::{Credentials, FileError, Folder, read};
use crate::edge::point::{Point, lock};
use crate::edge::upstream::Route;
use crate::facts::Request;
use crate::settings::OcppSettings;
use crate::site::plan::{BaseLoad, Site};
use crate::site::settings::SiteSettings;

/// Hashes that are computed at a time: each takes 19 MiB, and all charge points of a street
/// connect at once after a power cut.
const HASHES_MAX: usize = 2;

/// All charge points of an integration.
pub struct Hub {
    /// Settings of the integration.
    settings: OcppSettings,
    /// Source of the time.
    pub clock: Clock,
    folder: Folder,
    points: Mutex<BTreeMap<String, Arc<Point>>>,
    hashes: Semaphore,
    links: AtomicU64,
}

impl Hub {
    /// A hub without charge points in memory.
    #[must_use]
    pub fn new(settings: OcppSettings, clock: Clock) -> Self {
        Self {
            folder: Folder::new(&settings.state_folder),
            settings,
            clock,
            points: Mutex::default(),
            hashes: Semaphore::new(HASHES_MAX),
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

    /// Folder with the files of the charge points.
    pub(crate) const fn folder(&self) -> &Folder {
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

    /// Takes a charge point out of memory.
    pub(crate) fn remove_point(&self, identity: &str) -> Option<Arc<Point>> {
        lock(&self.points).remove(identity)
    }

    /// Number for the next connection.
    pub fn next_link(&self) -> u64 {
        self.links.fetch_add(1, Ordering::Relaxed)
    }

    /// Credentials of a charge point; `None` if there is none of that identity.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn credentials(&self, identity: &str) -> Result<Option<Credentials>, FileError> {
        let (folder, identity) = (self.folder.clone(), identity.to_owned());
        run_blocking(move || folder.credentials(&identity)).await
    }

    /// A charge point that was added, with its state from memory or from its file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn point(&self, identity: &str) -> Result<Arc<Point>, FileError> {
        if let Some(point) = lock(&self.points).get(identity) {
            return Ok(Arc::clone(point));
        }
        let (folder, name) = (self.folder.clone(), identity.to_owned());
        let kept = run_blocking(move || folder.state(&name)).await?.unwrap_or_default();
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
            if let Some(point) = lock(&self.points).get(identity) {
                return Ok(Arc::clone(point));
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
        let now = (self.clock)();
        // Limits of an earlier run, also of one with a longer lifetime, may be in force until then.
        let until = |point: &Arc<Point>| {
            let last = point.kept().station.last_expiry();
            last.max(Some(now + point.rules.limit_lifetime))
        };
        let until = points.iter().filter_map(until).max().unwrap_or(now);
        let changed = Arc::new(Notify::new());
        for point in &points {
            point.kept().station.join(&point.rules, until, now);
        }
        for point in points.iter().chain(&meter) {
            point.join_site(Arc::clone(&changed));
        }
        let file = self.settings.sites.get(&site.name).and_then(|one| one.base_file.clone());
        Ok(LiveSite { site, points, meter, file, changed })
    }

    /// Keeps the state of a charge point.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn save(&self, point: &Point) -> Result<(), FileError> {
        let _turn = point.saving.lock().await;
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

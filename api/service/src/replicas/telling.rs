//! Notifications of the workers of this process about changes of others.
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::jobs::poller;
use crate::queue::orders::Task;
use crate::state::App;
use slackwater_store::client::Environment;
use slackwater_store::clients;
use slackwater_store::database::Store;
use slackwater_store::error::StoreError;

/// Time after which other replicas look whether the work that follows a change was done. The
/// replica that commits the change does it; another takes over if that one died.
pub const LATER: TimeDelta = TimeDelta::seconds(10);

/// Something that a job has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowUp {
    /// There is a new device to poll.
    Watch(Uuid),
    /// A device has another pending action.
    Pursue(Uuid),
    /// The controller or the state of a device changed.
    Look(Uuid),
    /// An input of the plan of a device changed.
    Replan(Uuid),
    /// A device has another plan, to be looked at again then.
    Review(Uuid, Option<DateTime<Utc>>),
}

impl FollowUp {
    fn tell(self, app: &App) {
        let now = app.now();
        match self {
            Self::Watch(id) => poller::watch_from(app, id, now),
            Self::Pursue(id) => app.control().put(Task::Pursue(id), now + LATER),
            Self::Look(id) => app.control().put(Task::Look(id), now + LATER),
            // A plan that another process makes meanwhile sets its own time.
            Self::Replan(id) => app.planner().schedule_review(id, Some(now + LATER)),
            Self::Review(id, at) => app.planner().schedule_review(id, at),
        }
    }
}

/// The environments of this process, and which of them a client is in.
#[derive(Debug, Clone)]
pub struct Environments {
    apps: Vec<App>,
    of_clients: Arc<HashMap<String, Environment>>,
}

impl Environments {
    /// Of these, with the clients still to be learned.
    #[must_use]
    pub fn new(apps: Vec<App>) -> Self {
        Self { apps, of_clients: Arc::default() }
    }

    /// State that the environments share.
    pub(super) fn shared(&self) -> Option<&App> {
        self.apps.first()
    }

    /// Learns where clients are, if one of these is not known yet.
    ///
    /// # Errors
    /// The database failed.
    pub(super) async fn meet(
        &mut self,
        store: &Store,
        met: &BTreeSet<Arc<str>>,
    ) -> Result<(), StoreError> {
        if met.iter().all(|id| self.of_clients.contains_key(&**id)) {
            return Ok(());
        }
        let all = clients::all_clients(store).await?.into_iter();
        let all = all.map(|row| (row.client.id, row.client.environment));
        self.of_clients = Arc::new(all.collect());
        Ok(())
    }

    /// The environment of a client; `None` if this process does not have it.
    pub(super) fn of_client(&self, client_id: &str) -> Option<&App> {
        let environment = self.of_clients.get(client_id)?;
        self.apps.iter().find(|app| app.environment() == *environment)
    }

    /// Tells jobs about devices of clients.
    pub(super) fn tell(&self, client_id: &str, jobs: impl IntoIterator<Item = FollowUp>) {
        let Some(app) = self.of_client(client_id) else { return };
        jobs.into_iter().for_each(|job| job.tell(app));
    }
}

//! What plans are made by: the queue, the source of prices, and who calls it.
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

use slackwater_control::policy::ask::{Cause, DeviceFacts, managing_policy};
use slackwater_engine::prices::resolve::{Sources, resolve};
use tokio::sync::Notify;
use tracing::error;
use uuid::Uuid;

use crate::cache::tables::{OfUser, Tables};
use crate::control;
use crate::plans::agenda::{Agenda, Due};
use crate::plans::facts::known;
use crate::plans::making::{Made, make};
use crate::plans::pricing::{NO_CURRENCY, PriceBook, Priced, Pricer, Purpose};
use crate::state::App;
use crate::supervise::{AGAIN, OnPanic};
use slackwater_store::database::StoreError;
use slackwater_store::locations::Location;

/// Devices that are planned for in one change. Others wait for the writer so
/// long, and no longer.
pub(crate) const TURN: usize = 256;

/// After a failure of the database nothing is planned for so long.
const PAUSE_SECONDS: i64 = 5;

/// What an environment plans with.
#[derive(Debug)]
pub struct Planner {
    agenda: Agenda,
    /// Rings when an area may wait for new plans.
    pub(crate) areas: Notify,
    /// Rings when work on an area has ended.
    pub(crate) areas_ended: Notify,
    /// The name of this process on leases.
    owner: String,
    prices: RwLock<Arc<dyn PriceBook>>,
}

/// No prices at all.
#[derive(Debug)]
struct NoPrices;

impl PriceBook for NoPrices {
    fn resolved(
        &self,
        _: &App,
        _: &Location,
        _: Purpose,
        (from, to): (chrono::DateTime<chrono::Utc>, chrono::DateTime<chrono::Utc>),
    ) -> Priced {
        let prices = resolve(Sources::default(), from, to);
        Priced { prices, currency: NO_CURRENCY.to_owned() }
    }

    fn alike(&self, _: &App, _: &Location) -> Option<String> {
        Some(String::new())
    }
}

impl Default for Planner {
    fn default() -> Self {
        Self {
            agenda: Agenda::default(),
            areas: Notify::new(),
            areas_ended: Notify::new(),
            owner: Uuid::new_v4().to_string(),
            prices: RwLock::new(Arc::new(NoPrices)),
        }
    }
}

impl Planner {
    /// When which device is planned for next.
    #[must_use]
    pub const fn agenda(&self) -> &Agenda {
        &self.agenda
    }

    /// The name of this process on leases.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Where prices come from.
    #[must_use]
    pub fn prices(&self) -> Arc<dyn PriceBook> {
        Arc::clone(&self.prices.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes prices from somewhere else from now on.
    pub fn set_prices(&self, prices: Arc<dyn PriceBook>) {
        *self.prices.write().unwrap_or_else(PoisonError::into_inner) = prices;
    }
}

/// Plans for a device as soon as may be.
pub fn look_again(app: &App, device_id: Uuid, cause: Cause) {
    app.planner().agenda().soon(device_id, cause);
}

/// Rings the bell after prices changed. That plans follow is asked for in the
/// same change as the prices ([`slackwater_store::jobs::ask`]), so that a crash
/// in between loses nothing.
pub fn prices_changed(app: &App) {
    app.planner().areas.notify_one();
}

/// Plans again for devices of a client after the tariffs of places changed. It
/// is about users with such a place; a start looks at all plans anyway.
pub fn tariffs_changed(app: &App, client_id: &str, places: impl IntoIterator<Item = Uuid>) {
    for id in app.cache().read(|tables| planned_at(tables, client_id, places)) {
        look_again(app, id, Cause::Prices);
    }
}

/// The devices under a policy of those users of a client who have such a place.
pub fn planned_at(
    tables: &Tables,
    client_id: &str,
    places: impl IntoIterator<Item = Uuid>,
) -> BTreeSet<Uuid> {
    let residents = places.into_iter().filter_map(|place| tables.plans.resident(place));
    let own = residents.filter(|(client, _)| **client == *client_id);
    let users = own.filter_map(|(client, user)| tables.user(client, user));
    let ids = users.flat_map(OfUser::device_ids);
    ids.filter(|id| tables.plans.has_policy(*id)).collect()
}

/// What is known of a device under a policy, before a reading changes it.
#[must_use]
pub fn before_reading(app: &App, tables: &Tables, id: Uuid) -> Option<DeviceFacts> {
    let device = tables.any_device(id).filter(|_| tables.plans.has_policy(id))?;
    Some(known(tables, device, app.now()))
}

/// Plans again if the reading changed something that plans rest on.
pub fn after_reading(app: &App, tables: &Tables, id: Uuid, before: Option<DeviceFacts>) {
    if let Some(cause) = cause_after(app, tables, id, before) {
        look_again(app, id, cause);
    }
}

/// What a reading changed of what plans rest on, if anything.
#[must_use]
pub fn cause_after(
    app: &App,
    tables: &Tables,
    id: Uuid,
    before: Option<DeviceFacts>,
) -> Option<Cause> {
    managing_policy(&before?, &known(tables, tables.any_device(id)?, app.now()))
}

/// Plans for devices now. Readers see the plans when this returns.
///
/// # Errors
/// The database failed, and all plans are as they were.
pub async fn plan_now(app: &App, due: &[Due]) -> Result<(), StoreError> {
    for due in due.chunks(TURN) {
        let mut change = app.store().begin().await?;
        // Under the writer's turn, so that what is read stays as it is.
        let mut pricer = Pricer::new(app, app.now());
        let made = make(app, &mut change, &mut pricer, due).await?;
        let app = app.clone();
        change.commit(move || show(&app, made)).await?;
    }
    Ok(())
}

/// Shows what was planned, and looks at it again in its time.
pub(crate) fn show(app: &App, made: Made) {
    let reviews: Vec<_> =
        made.plans.iter().map(|plan| (plan.device_id, plan.state.review_at)).collect();
    app.cache().write(|tables| {
        made.flex.into_iter().for_each(|row| tables.plans.keep_flex(row));
        made.plans.into_iter().for_each(|plan| tables.plans.keep_plan(plan));
    });
    for (id, at) in reviews {
        app.planner().agenda().review(id, at);
        control::look_again(app, id);
    }
    if made.is_shared {
        app.planner().areas.notify_one();
    }
}

/// Plans for a device whose policy changed. A failure is logged, and tried again.
pub async fn plan_for(app: &App, device_id: Uuid, cause: Cause) {
    if let Err(failure) = plan_now(app, &[(device_id, cause)]).await {
        error!(%failure, "a plan was not kept");
        look_again(app, device_id, cause);
    }
}

/// Plans anew for a device that stands at another place now, if it is under a
/// policy: its prices and the clock of its deadlines may be others.
pub async fn replan(app: &App, device_id: Uuid) {
    if app.cache().read(|tables| tables.plans.has_policy(device_id)) {
        plan_for(app, device_id, Cause::Policy).await;
    }
}

/// Looks at the plans of all devices with a policy of the clients of this
/// environment: a start is the one time at which nobody knows what was missed.
pub fn watch_all(app: &App, is_ours: impl Fn(&str) -> bool) {
    let ids: Vec<Uuid> = app.cache().read(|tables| {
        let own = |id: &Uuid| tables.any_device(*id).is_some_and(|d| is_ours(&d.client_id));
        tables.plans.with_policy().filter(own).collect()
    });
    for id in ids {
        app.planner().agenda().review(id, Some(app.now()));
    }
}

/// Plans what is due until the task is dropped.
pub async fn run(app: App) {
    let agenda = app.planner().agenda();
    loop {
        match agenda.take(app.now(), TURN) {
            Ok(due) => {
                let taken = OnPanic(|| put_back(&app, &due));
                let done = plan_now(&app, &due).await;
                drop(taken);
                if let Err(failure) = &done {
                    error!(%failure, "plans were not kept");
                    for &(id, cause) in &due {
                        agenda.soon(id, cause);
                    }
                }
                agenda.done(due.len());
                if done.is_err() {
                    let pause = chrono::TimeDelta::seconds(PAUSE_SECONDS);
                    app.clock().until(app.now() + pause).await;
                }
            }
            Err(None) => agenda.woken().await,
            Err(Some(at)) => tokio::select! {
                () = app.clock().until(at) => {}
                () = agenda.woken() => {}
            },
        }
    }
}

/// Gives back what was taken, for a while later: the planner failed over it.
fn put_back(app: &App, due: &[Due]) {
    let agenda = app.planner().agenda();
    if let Some(at) = app.now().checked_add_signed(AGAIN) {
        for &(id, cause) in due {
            agenda.again(id, at, cause);
        }
    }
    agenda.done(due.len());
}

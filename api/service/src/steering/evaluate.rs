//! One look at what schedules and plans want of devices, and what follows.
use chrono::{DateTime, TimeDelta, Utc};
use slackwater_control::device::action::ActionEvent;
use slackwater_control::device::command::{Command, Switch};
use slackwater_control::device::control::Controller;
use slackwater_control::schedule::status::Snapshot;
use slackwater_control::schedule::steer::{Asker, InFlight, Move, SteerFacts, Tries};
use tracing::error;
use uuid::Uuid;

use crate::control::actions::{self, PendingUpdates};
use crate::control::facts::{ControlContext, target_type};
use crate::plans::{PlanOrder, is_in_force, wanted_in};
use crate::state::App;
use slackwater_store::actions::{self as rows, Action, Origin};
use slackwater_store::change::lock_device;
use slackwater_store::database::Change;
use slackwater_store::devices::Device;
use slackwater_store::error::StoreError;
use slackwater_store::schedules::{self, Schedule};

/// When a look that the database cut short is taken again.
const EVALUATE_RETRY: TimeDelta = TimeDelta::seconds(5);

/// Decision about one device.
struct Decision {
    device: Device,
    next: Move,
    origin: Origin,
    tries: Option<Tries>,
    /// When a rule or a plan will want something else.
    turns_at: Option<DateTime<Utc>>,
    is_stale: bool,
}

/// Looks at devices, and does what is needed. Returns when to look again.
pub(crate) async fn evaluate_devices(
    app: &App,
    ids: &[Uuid],
) -> Vec<(Uuid, Option<DateTime<Utc>>)> {
    match evaluate_device(app, ids).await {
        Ok(next) => next,
        Err(failure) => {
            error!(%failure, "what schedules want was not done");
            let again = app.now().checked_add_signed(EVALUATE_RETRY);
            ids.iter().map(|id| (*id, again)).collect()
        }
    }
}

/// Looks at devices: orders what is wanted and is not so, calls off what nobody
/// wants any more, and keeps the status of schedules where it changed. Returns
/// when to look again, by device.
///
/// Devices of which nothing is to be kept cost no change.
///
/// # Errors
/// The database failed, and nothing was done.
pub async fn evaluate_device(
    app: &App,
    ids: &[Uuid],
) -> Result<Vec<(Uuid, Option<DateTime<Utc>>)>, StoreError> {
    let is_due =
        |found: &Decision| found.is_stale || matches!(found.next, Move::Order(_) | Move::CallOff);
    let glances: Vec<(Uuid, Option<Decision>)> =
        ids.iter().map(|id| (*id, decide(app, *id))).collect();
    let due = glances.iter().any(|(_, found)| found.as_ref().is_some_and(is_due));
    if !due {
        let remembered = |(id, found): (Uuid, Option<Decision>)| {
            app.control().remember(id, found.as_ref().and_then(|found| found.tries));
            (id, found.and_then(|found| found.again_at()))
        };
        return Ok(glances.into_iter().map(remembered).collect());
    }
    let mut change = app.store().begin().await?;
    let mut effects = PendingUpdates::default();
    let (mut next, mut seen, mut tries) = (Vec::new(), Vec::new(), Vec::new());
    change.claim(ids.iter().copied()).await?;
    for &id in ids {
        // Anew, within the writer's turn.
        let Some(found) = decide(app, id) else {
            next.push((id, None));
            continue;
        };
        let pending = carry_out(app, &mut change, &mut effects, &found).await?;
        for (schedule_id, snapshot) in changed(app, &found.device, pending.as_ref()) {
            let snapshot = (snapshot, app.now());
            schedules::set_status(change.connection(), schedule_id, &snapshot).await?;
            seen.push((schedule_id, snapshot));
        }
        next.push((id, found.again_at()));
        tries.push((id, found.tries));
    }
    let app = app.clone();
    change
        .commit(move || {
            app.cache().write(|tables| {
                for (id, snapshot) in seen {
                    tables
                        .control_mut()
                        .change_schedule(id, |kept| kept.seen = Some(snapshot.into()));
                }
            });
            for (id, tries) in tries {
                app.control().remember(id, tries);
            }
            effects.apply(&app);
        })
        .await?;
    Ok(next)
}

impl Decision {
    fn again_at(&self) -> Option<DateTime<Utc>> {
        let waits = match self.next {
            Move::WaitUntil(at) => Some(at),
            Move::Rest | Move::Order(_) | Move::CallOff => None,
        };
        [waits, self.turns_at].into_iter().flatten().min()
    }
}

/// Carries out a decision. Returns the pending action afterwards.
async fn carry_out(
    app: &App,
    change: &mut Change,
    effects: &mut PendingUpdates,
    found: &Decision,
) -> Result<Option<Action>, StoreError> {
    let (device, now) = (&found.device, app.now());
    let pending = app.cache().read(|tables| tables.control().pending(device.id).cloned());
    match found.next {
        Move::Order(switch) => {
            let command = Command::Charge(switch);
            let is_taken = app.cache().read(|tables| {
                let scene = ControlContext { device, tables, now };
                command.check(&scene.of_command(&command, found.origin)).is_ok()
            });
            if is_taken {
                let kept = begun_elsewhere(app, change, device, pending.as_deref()).await?;
                if let Some(kept) = kept {
                    return Ok(kept);
                }
                let order = (command, found.origin);
                return actions::begin_action(change, effects, device, order, now).await.map(Some);
            }
        }
        Move::CallOff => {
            let end = (&ActionEvent::OwnerCancelled, now);
            let is_meant = |action: &Action| action.origin != Origin::Client;
            actions::end_pending(change, effects, device.id, is_meant, end).await?;
            return Ok(None);
        }
        Move::Rest | Move::WaitUntil(_) => {}
    }
    Ok(pending.map(|action| Action::clone(&action)))
}

/// The pending action of a device, or that there is none, if that is not what is
/// known here: another replica looked at the same time, for the same reasons. To
/// order once more would end what it has begun.
async fn begun_elsewhere(
    app: &App,
    change: &mut Change,
    device: &Device,
    known: Option<&Action>,
) -> Result<Option<Option<Action>>, StoreError> {
    if !app.store().is_shared() {
        return Ok(None);
    }
    lock_device(change.connection(), device.id).await?;
    let kept = rows::pending_action(change.connection(), device.id).await?;
    let is_known = kept.as_ref().map(|action| action.id) == known.map(|action| action.id);
    Ok((!is_known).then_some(kept))
}

/// Decides about a device; `None` if there is nothing to switch, or no controller that would.
fn decide(app: &App, id: Uuid) -> Option<Decision> {
    let device = app.cache().read(|tables| tables.any_device(id).cloned())?;
    target_type(device.kind)?;
    let now = app.now();
    let tries = app.control().tries(id);
    app.cache().read(|tables| {
        let scene = ControlContext { device: &device, tables, now };
        let control = tables.control();
        let wanted = wanted_in(tables, id, now);
        let pending = control.pending(id).map(|action| &**action);
        let is_left_alone = pending.is_none() && control.schedules_of(id).next().is_none();
        if is_left_alone && tries.is_none() && !is_in_force(tables, &device, now) {
            return None;
        }
        let controller = scene.controller();
        let (desired, origin) = controller_order(&scene, &controller, &wanted, pending);
        let facts = SteerFacts {
            desired,
            is_plugged_in: scene.target().is_plugged_in,
            reading: scene.reading(),
            in_flight: pending.map(|action| in_flight(action, &controller)),
            tries,
        };
        let (next, tries) = match controller {
            // An override looks after itself.
            Controller::Override => (Move::Rest, tries),
            _ => facts.next_move(app.config().action.patience(), now),
        };
        // Rules are walked through once: there may be thousands of them.
        let schedules = control.schedules_of(id);
        let shown: Vec<_> = schedules.map(|s| (s, scene.snapshot(s, pending))).collect();
        let transitions = shown.iter().filter_map(|(_, shown)| Some(shown.upcoming.first()?.at));
        let until = wanted.until.filter(|at| *at > now);
        let turns_at = transitions.chain(until).min();
        let is_stale = shown.iter().any(|(schedule, shown)| is_news(schedule, shown));
        Some(Decision { device: Device::clone(&device), next, origin, tries, turns_at, is_stale })
    })
}

/// Order of the controller, and its origin.
fn controller_order(
    scene: &ControlContext<'_>,
    controller: &Controller,
    wanted: &PlanOrder,
    pending: Option<&Action>,
) -> (Option<Switch>, Origin) {
    match controller {
        Controller::Schedule(_) => {
            let mut schedules = scene.tables.control().schedules_of(scene.device.id);
            let own = schedules.find(|s| Origin::Schedule(s.id).is_in_charge(controller));
            let desired = own.and_then(|own| scene.status(own, pending).desired());
            (desired, own.map_or(Origin::Plan, |own| Origin::Schedule(own.id)))
        }
        Controller::SmartCharging => (wanted.switch, Origin::Plan),
        Controller::Override | Controller::Nobody => (None, Origin::Plan),
    }
}

fn in_flight(action: &Action, controller: &Controller) -> InFlight {
    let asker = match action.origin {
        Origin::Client => Asker::Client,
        origin if origin.is_in_charge(controller) => Asker::InCharge,
        Origin::Schedule(_) | Origin::Override(_) | Origin::Plan => Asker::Former,
    };
    InFlight { asker, command: action.command }
}

/// The schedules of a device whose status is another than was kept, if this is
/// its pending action.
fn changed(app: &App, device: &Device, pending: Option<&Action>) -> Vec<(Uuid, Snapshot)> {
    let now = app.now();
    app.cache().read(|tables| ControlContext { device, tables, now }.changed(pending))
}

impl ControlContext<'_> {
    /// The schedules of the device whose status is another than was kept.
    fn changed(&self, pending: Option<&Action>) -> Vec<(Uuid, Snapshot)> {
        let schedules = self.tables.control().schedules_of(self.device.id);
        let snapshots = schedules.map(|schedule| (schedule, self.snapshot(schedule, pending)));
        snapshots
            .filter(|(schedule, snapshot)| is_news(schedule, snapshot))
            .map(|(schedule, snapshot)| (schedule.id, snapshot))
            .collect()
    }
}

/// Returns `true` if the status of a schedule differs from the stored one.
fn is_news(schedule: &Schedule, shown: &Snapshot) -> bool {
    schedule.seen.as_deref().is_none_or(|(kept, _)| kept != shown)
}

//! One look at a heating or cooling unit under a comfort policy: its plan, and the command that
//! follows.
use chrono::{DateTime, TimeDelta, Utc};
use slackwater_control::device::command::Command;
use slackwater_control::device::hvac::Hold;
use slackwater_control::policy::comfort::next_quarter;
use slackwater_control::policy::comfort_move::{Deviation, GivenCommand, UnitFacts, UnitMove};
use tracing::{error, warn};
use uuid::Uuid;

use crate::cache::unit_plans::UnitState;
use crate::control::actions::{self, PendingUpdates};
use crate::control::facts::ControlContext;
use crate::plans::unit::{Unit, plan_unit, read_unit};
use crate::state::App;
use slackwater_store::actions::{Action, Origin, latest_action};
use slackwater_store::change::lock_device;
use slackwater_store::error::StoreError;

/// When a look that the database cut short is taken again.
const STEER_RETRY: TimeDelta = TimeDelta::seconds(5);

/// Looks at a unit, and commands what its plan wants. Returns when to look again; `None` for a device
/// without a plan.
pub(crate) async fn steer_unit(app: &App, id: Uuid) -> Option<DateTime<Utc>> {
    match try_steer(app, id).await {
        Ok(next) => next,
        Err(failure) => {
            error!(%failure, device = %id, "what a comfort policy wants was not done");
            app.now().checked_add_signed(STEER_RETRY)
        }
    }
}

async fn try_steer(app: &App, id: Uuid) -> Result<Option<DateTime<Utc>>, StoreError> {
    let now = app.now();
    let planned = read_unit(app, id).and_then(|unit| Some((plan_unit(app, &unit, now)?, unit)));
    let Some((planned, unit)) = planned else {
        app.units().remove_state(id);
        return Ok(None);
    };
    let Some(setting) = unit.policy.find_setting(&planned.plan, now) else { return Ok(None) };
    let before = app.units().state(id);
    let deviation = before.as_ref().and_then(|before| before.deviation);
    let mut state = UnitState { planned, step: None, refused: None, deviation };
    // A unit that does not answer would not take a command.
    if unit.device.state.is_reachable != Some(false) {
        let mut connection = app.store().reader().acquire().await?;
        let given = latest_action(&mut connection, id).await?;
        drop(connection);
        let facts = unit_facts(app, &unit, setting.hold, given.as_ref(), deviation);
        let step = facts.next_move(now);
        (state.step, state.deviation) = (Some(step), facts.deviates());
        if let UnitMove::Order(hold) = step {
            let said = before.and_then(|before| before.refused.clone());
            state.refused = order_setting(app, &unit, hold, given.as_ref()).await?;
            if let Some(reason) = state.refused.as_ref().filter(|now| Some(*now) != said.as_ref()) {
                warn!(device = %id, %reason, "a unit does not take the setting of its plan");
            }
        }
    }
    let again = match state.step {
        Some(UnitMove::StepBack(at) | UnitMove::Wait(Some(at))) => Some(at),
        _ => None,
    };
    app.units().keep_state(id, state);
    let next = [Some(setting.until), again].into_iter().flatten().min();
    Ok(next.map(|at| if at > now { at } else { next_quarter(now) }))
}

fn unit_facts(
    app: &App,
    unit: &Unit,
    wanted: Hold,
    given: Option<&Action>,
    deviation: Option<Deviation>,
) -> UnitFacts {
    let now = app.now();
    let reading =
        app.cache().read(|tables| ControlContext { device: &unit.device, tables, now }.reading());
    let given = given.map(|action| GivenCommand {
        command: action.command,
        is_of_plan: action.origin == Origin::Plan,
        state: action.progress.state,
        updated_at: action.progress.updated_at,
    });
    let pause = TimeDelta::seconds(app.config().action.pause_seconds.into());
    UnitFacts {
        wanted,
        reading,
        read_at: unit.device.state.heard_at,
        given,
        deviation,
        step_back: unit.policy.step_back(),
        pause,
    }
}

/// Begins an action that holds the unit at a setting. Returns the reason against it, if there is one.
///
/// Another replica that looked at the same time may have begun one since `known` was read; then
/// nothing is done.
async fn order_setting(
    app: &App,
    unit: &Unit,
    hold: Hold,
    known: Option<&Action>,
) -> Result<Option<String>, StoreError> {
    let (device, now) = (&unit.device, app.now());
    let command = Command::Hold(hold);
    let refused = app.cache().read(|tables| {
        let scene = ControlContext { device, tables, now };
        let checked = command.check(&scene.of_command(&command, Origin::Plan));
        let refused = checked.err().map(|refusal| refusal.to_string());
        refused.or_else(|| Some(hold.check(&scene.hvac_limits()).err()?.to_string()))
    });
    if refused.is_some() {
        return Ok(refused);
    }
    let mut change = app.store().begin().await?;
    lock_device(change.connection(), device.id).await?;
    let latest = latest_action(change.connection(), device.id).await?;
    let same = |action: &Action| (action.id, action.progress.state);
    if latest.as_ref().map(same) != known.map(same) {
        return Ok(None);
    }
    let mut effects = PendingUpdates::default();
    let order = (command, Origin::Plan);
    actions::begin_action(&mut change, &mut effects, device, order, now).await?;
    change.commit(effects.shown_in(app)).await?;
    Ok(None)
}

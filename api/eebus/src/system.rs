//! Controllable system of a control box: its limits, heartbeats and fail-safe values.
//!
//! A limit is acknowledged after the service has taken it. Until then the write is held back from the
//! state machine of LPC, which decides at once.
use std::net::SocketAddr;
use std::time::Duration;

use chrono::{DateTime, Utc};
use eebus::cert::Identity;
use eebus::model::{DeviceType, EntityType, ErrorNumber};
use eebus::runtime::{ConnectionError, Hub, HubEvent, Node, TrustStore};
use eebus::ship::Ski;
use eebus::spine::{
    DeviceError, Engine, LocalDevice, LocalEntity, SpineEvent, WriteRequest, same_entity,
};
use eebus::tls::ShipTls;
use eebus::usecases::limitation::{
    self, ControllableSystem, ControllableSystemActor, CsConfig, CsEvent, CsFeatures, LIMIT_ID,
    LimitWrite, LimitationState, LocalDecision,
};
use eebus::usecases::lpc;
use slackwater_control::grid_order::limit::{GridMessage, is_fail_safe_kept};
use slackwater_engine::units::Power;
use tokio::sync::watch::{Receiver, Sender};
use tracing::{error, info, warn};

use crate::identity::device_name;
use crate::limits::{read_message, written_fail_safe};
use crate::wanted::WantedState;

/// Time in which the service must have taken a limit. The box waits 10 s for its answer (SPINE 1.3,
/// 5.2.5).
const ANSWER_TIME: Duration = Duration::from_secs(8);

/// Time between two looks for the answer of the service: a hub can be woken by time alone.
const LOOK: Duration = Duration::from_millis(20);

/// Entity of the energy manager.
const ENTITY: [u32; 1] = [1];

/// Scenarios of LPC: limit, fail-safe values and heartbeat. The fourth, nominal power, is optional.
const SCENARIOS: [u32; 3] = [1, 2, 3];

/// Fail-safe of the service, which is offered to the box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OfferedFailSafe {
    /// Limit while the box is silent.
    pub limit: Power,
    /// Least time for which it holds.
    pub hold: Duration,
}

/// Limit of the box that the service has not taken yet.
struct PendingLimit {
    event: SpineEvent,
    write: Box<WriteRequest>,
    message: GridMessage,
    /// Number of the message.
    number: u64,
    arrived: Duration,
}

/// System that a control box limits.
pub struct LpcSystem<C> {
    hub: Hub,
    actor: ControllableSystemActor,
    features: CsFeatures,
    fail_safe: OfferedFailSafe,
    clock: C,
    wanted: Sender<WantedState>,
    taken: Receiver<u64>,
    /// Message that the box was told is in force.
    accepted: Option<GridMessage>,
    pending: Option<PendingLimit>,
}

impl<C: Fn() -> DateTime<Utc>> LpcSystem<C> {
    /// System with a key that trusts one control box. States for the service go to `wanted`, and the
    /// numbers of those that it took come from `taken`.
    ///
    /// # Errors
    /// The features of the device contradict each other, which `eebus` checks.
    pub fn new(
        identity: Identity,
        trusted: Ski,
        fail_safe: OfferedFailSafe,
        clock: C,
        (wanted, taken): (Sender<WantedState>, Receiver<u64>),
    ) -> Result<Self, DeviceError> {
        let name = device_name(identity.ski);
        let (mut engine, features) = build_engine(&name)?;
        let mut config = CsConfig::new(fail_safe.limit.as_kw() * 1000.0, fail_safe.hold).on_cem();
        config.failsafe_duration_max = fail_safe.hold;
        let system = ControllableSystem::new(config, Duration::ZERO);
        let builder = ControllableSystemActor::builder(system, lpc::DIRECTION, features.clone());
        let actor = builder.install(&mut engine, Duration::ZERO);
        let node = Node::new(name, ShipTls::new(identity), TrustStore::with([trusted]));
        let hub = Hub::new(node, engine);
        let (accepted, pending) = (None, None);
        Ok(Self { hub, actor, features, fail_safe, clock, wanted, taken, accepted, pending })
    }

    /// Connections to and from control boxes.
    pub const fn hub_mut(&mut self) -> &mut Hub {
        &mut self.hub
    }

    /// Opens the address to which control boxes connect, and returns it with its port.
    ///
    /// # Errors
    /// The address cannot be opened.
    pub async fn listen(&mut self, address: SocketAddr) -> Result<SocketAddr, ConnectionError> {
        self.hub.listen(address).await
    }

    /// Waits for the next event and handles it.
    ///
    /// # Errors
    /// The connections cannot be kept up.
    pub async fn handle_next(&mut self) -> Result<(), ConnectionError> {
        self.hub.wake_at(self.actor.poll_timeout());
        if self.pending.is_some() {
            self.hub.wake_at(self.hub.now() + LOOK);
        }
        let event = self.hub.next().await?;
        let now = self.hub.now();
        match event {
            HubEvent::Spine(event) => self.take_event(event, now),
            HubEvent::Tick => {
                let event = self.actor.handle_timeout(self.hub.engine_mut(), now);
                log_decision(event.as_ref());
            }
            other => self.take_connection(other, now),
        }
        self.settle_limit(now);
        self.publish_state();
        Ok(())
    }

    fn take_event(&mut self, event: SpineEvent, now: Duration) {
        match &event {
            SpineEvent::WriteRequested(write) if write.feature == self.features.load_control => {
                let write = write.clone();
                self.take_limit(event, write, now);
            }
            SpineEvent::WriteRequested(write)
                if write.feature == self.features.device_configuration
                    && !self.keeps_fail_safe(write) =>
            {
                let token = write.token;
                self.hub.engine_mut().reject_write(token, ErrorNumber::CommandRejected, now);
            }
            SpineEvent::WriteAbandoned { token, .. } => {
                self.pending.take_if(|pending| pending.write.token == *token);
            }
            _ => {
                self.pass_event(&event, now);
                if self.is_heartbeat(&event) {
                    self.wanted.send_modify(|wanted| wanted.heartbeats += 1);
                }
            }
        }
    }

    /// Hands an event to the state machine.
    fn pass_event(&mut self, event: &SpineEvent, now: Duration) -> Option<CsEvent> {
        let decided = self.actor.handle_event(self.hub.engine_mut(), event, now);
        log_decision(decided.as_ref());
        decided
    }

    /// Returns true for a heartbeat of the box that holds both bindings.
    fn is_heartbeat(&self, event: &SpineEvent) -> bool {
        let (SpineEvent::DataNotified { feature, resolved, .. }
        | SpineEvent::ReplyReceived { feature, resolved, .. }) = event
        else {
            return false;
        };
        self.actor.guard().is_some_and(|guard| same_entity(guard, feature))
            && limitation::read_heartbeat(resolved).is_some()
    }

    /// Asks the service to take a limit, if the state machine would.
    fn take_limit(&mut self, event: SpineEvent, write: Box<WriteRequest>, now: Duration) {
        let is_addressed = limitation::read_limit_write(&write.data, LIMIT_ID).is_some();
        let limit = limitation::read_limit_write(&write.resolved, LIMIT_ID);
        let Some(limit) = limit.filter(|limit| is_addressed && self.would_take(limit, now)) else {
            self.pass_event(&event, now);
            return;
        };
        match read_message(&limit, (self.clock)()) {
            Ok(message) => {
                // The newest limit wins: the one before is refused.
                self.refuse_pending(now);
                let number = self.wanted.borrow().number + 1;
                self.wanted.send_modify(|wanted| {
                    (wanted.message, wanted.number) = (Some(message), number);
                });
                self.pending = Some(PendingLimit { event, write, message, number, arrived: now });
            }
            Err(reason) => {
                error!(%reason, "refused");
                let token = write.token;
                self.hub.engine_mut().reject_write(token, ErrorNumber::CommandRejected, now);
            }
        }
    }

    /// Returns true if the state machine accepts a limit: a copy of it is asked.
    fn would_take(&self, limit: &LimitWrite, now: Duration) -> bool {
        let mut system = self.actor.system().clone();
        system.on_limit_write(limit, LocalDecision::Apply, now).is_accepted()
    }

    /// Acknowledges the pending limit once the service took it, and refuses it after some time.
    fn settle_limit(&mut self, now: Duration) {
        let taken = *self.taken.borrow();
        let settled = self.pending.take_if(|pending| taken >= pending.number);
        if let Some(PendingLimit { event, message, arrived, .. }) = settled {
            // By the time of its arrival, from which its duration counts.
            let decided = self.pass_event(&event, arrived);
            if matches!(decided, Some(CsEvent::LimitDecided { outcome, .. }) if outcome.is_accepted())
            {
                self.accepted = Some(message);
            }
        } else if self.pending.as_ref().is_some_and(|one| now >= one.arrived + ANSWER_TIME) {
            error!("the service did not take the limit in time");
            self.refuse_pending(now);
        }
    }

    fn refuse_pending(&mut self, now: Duration) {
        if let Some(PendingLimit { write, .. }) = self.pending.take() {
            warn!("refused: the limit before it stays");
            let token = write.token;
            self.hub.engine_mut().reject_write(token, ErrorNumber::CommandRejected, now);
        }
    }

    /// Returns true if the fail-safe limit of a write is kept by that of the service.
    fn keeps_fail_safe(&self, write: &WriteRequest) -> bool {
        let own = self.fail_safe.limit;
        let Some(watts) = written_fail_safe(&write.data, &write.resolved) else { return true };
        // The state machine refuses one below zero itself.
        let asked = Power::from_kw(watts / 1000.0);
        let is_kept = watts < 0.0 || asked.is_ok_and(|asked| is_fail_safe_kept(own, asked));
        let own_kw = own.as_kw();
        if is_kept {
            info!(watts, own_kw, "the box writes a fail-safe limit that the service keeps");
        } else {
            error!(watts, own_kw, "refused: the box writes a fail-safe limit below fail_safe_kw");
        }
        is_kept
    }

    /// Publishes the message that holds by the state machine, where it changed.
    fn publish_state(&mut self) {
        let state = self.actor.system().state();
        self.accepted = match (state, self.accepted) {
            (LimitationState::Limited, accepted) => accepted,
            // Its duration is over.
            (LimitationState::UnlimitedControlled, Some(_)) => Some(GridMessage::Release),
            // The box is not in control.
            _ => None,
        };
        let message = self.pending.as_ref().map(|pending| pending.message).or(self.accepted);
        self.wanted.send_if_modified(|wanted| {
            let is_new = wanted.message != message;
            if is_new {
                (wanted.message, wanted.number) = (message, wanted.number + 1);
            }
            is_new
        });
    }

    fn take_connection(&mut self, event: HubEvent, now: Duration) {
        match event {
            HubEvent::TrustRequested { peer, origin } => {
                warn!(ski = %peer.ski, %origin, "refused: --trust names another control box");
                self.hub.refuse(peer.ski);
            }
            HubEvent::Connected { ski, .. } => info!(%ski, "connected"),
            HubEvent::HandshakeFailed { origin, error, .. } => {
                warn!(%origin, %error, "not connected");
            }
            HubEvent::Disconnected { ski, reason } => {
                warn!(%ski, ?reason, "disconnected");
                self.forget_bindings(now);
            }
            HubEvent::PeerKeysUpdated { trusted, .. } => {
                warn!(?trusted, "the box announces another SKI: name it by --trust from now on");
            }
            _ => {}
        }
    }

    /// Tells the state machine that the bindings of a lost connection are gone. `eebus` 0.10 does not, and
    /// would not listen for the heartbeats of a box that returns.
    fn forget_bindings(&mut self, now: Duration) {
        let Some(client) = self.actor.guard().cloned() else { return };
        let server = self.features.load_control.clone();
        // Of two connections to one box, the second is closed and the bindings stay.
        if !self.hub.engine().relations().is_bound(&client, &server) {
            self.pass_event(&SpineEvent::BindingReleased { client, server }, now);
        }
    }
}

fn build_engine(name: &str) -> Result<(Engine, CsFeatures), DeviceError> {
    let mut device = LocalDevice::new("n:slackwater", name, DeviceType::EnergyManagementSystem)?;
    device.add_entity(
        LocalEntity::new(ENTITY, EntityType::CEM)
            .with_feature(limitation::load_control_feature(1))
            .with_feature(limitation::device_configuration_feature(2))
            .with_feature(limitation::device_diagnosis_feature(3))
            .with_feature(limitation::device_diagnosis_client_feature(4)),
    )?;
    let features = CsFeatures {
        load_control: device.address_of(&ENTITY, 1),
        device_configuration: device.address_of(&ENTITY, 2),
        device_diagnosis: device.address_of(&ENTITY, 3),
        device_diagnosis_client: device.address_of(&ENTITY, 4),
    };
    let mut engine = Engine::new(device);
    engine.add_use_case_scenarios(ENTITY, 1, &lpc::CONTROLLABLE_SYSTEM, &SCENARIOS);
    Ok((engine, features))
}

fn log_decision(event: Option<&CsEvent>) {
    match event {
        Some(CsEvent::LimitDecided { write, outcome, .. }) => {
            let LimitWrite { is_active, watts, duration } = write;
            info!(is_active, watts, ?duration, ?outcome, "answered a limit");
        }
        Some(CsEvent::LimitUnreadable { outcome, .. }) => warn!(?outcome, "answered a limit"),
        Some(CsEvent::FailsafeDecided { outcome, .. }) => {
            info!(?outcome, "answered a fail-safe value");
        }
        Some(CsEvent::StateChanged { from, to }) => info!(%from, %to, "state of LPC"),
        Some(CsEvent::GuardIdentified { .. }) => info!("the box is in control"),
        _ => {}
    }
}

//! A control box made of the energy guard of `eebus`.
//!
//! It is of the library of the program, so it is no independent counterpart.
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use eebus::cert::Identity;
use eebus::model::{AddressDevice, DeviceType, EntityType, MsgCounter};
use eebus::runtime::{Hub, HubEvent, Node, TrustStore};
use eebus::ship::Ski;
use eebus::spine::{Engine, LocalDevice, LocalEntity, SpineEvent};
use eebus::tls::ShipTls;
use eebus::usecases::limitation::{self, EnergyGuardActor, GuardEvent, LimitWrite};
use eebus::usecases::lpc;

/// Time between two looks for changed wishes.
const LOOK: Duration = Duration::from_millis(100);

const NAME: &str = "ControlBox-1";

/// Wishes of the grid operator, and the answers of the system.
#[derive(Debug, Default)]
pub(crate) struct BoxState {
    /// Limit that the system shall keep; `None` is unlimited.
    pub(crate) limit: Option<LimitWrite>,
    /// Fail-safe limit in watts that is written next.
    pub(crate) fail_safe: Option<f64>,
    /// While true, the box has no heartbeat and does nothing, and the connection stays.
    pub(crate) is_silent: bool,
    /// Once true, the box beats and writes nothing any more.
    pub(crate) is_done: bool,
    /// Limits that were answered, and true for those that were acknowledged.
    pub(crate) answers: Vec<(LimitWrite, bool)>,
    /// Answers to fail-safe limits, true for those that were acknowledged.
    pub(crate) fail_safe_answers: Vec<bool>,
    /// Connections that failed.
    pub(crate) failures: u32,
}

pub(crate) type SharedBox = Arc<Mutex<BoxState>>;

/// A box with its connection.
pub(crate) struct ControlBox {
    hub: Hub,
    guard: EnergyGuardActor,
    state: SharedBox,
    /// The system, once it is known.
    device: Option<AddressDevice>,
    /// Limit that was passed to the guard last.
    required: Option<LimitWrite>,
    /// Number of the fail-safe limit that is not answered yet.
    asked: Option<MsgCounter>,
}

impl ControlBox {
    /// Connects to a system, and again whenever the connection is lost.
    pub(crate) fn connect(
        identity: Identity,
        system: Ski,
        address: SocketAddr,
        state: SharedBox,
    ) -> Self {
        let kind = DeviceType::ElectricitySupplySystem;
        let mut device = LocalDevice::new("n:test", NAME, kind).unwrap();
        let entity = LocalEntity::new([1], EntityType::GridGuard)
            .with_feature(limitation::client_feature(1))
            .with_feature(limitation::device_diagnosis_feature(2));
        device.add_entity(entity).unwrap();
        let (client, diagnosis) = (device.address_of(&[1], 1), device.address_of(&[1], 2));
        let mut engine = Engine::new(device);
        engine.add_use_case([1], 1, &lpc::ENERGY_GUARD);
        let guard = EnergyGuardActor::new(lpc::DIRECTION, client, diagnosis, Duration::ZERO);
        let node = Node::new(NAME, ShipTls::new(identity), TrustStore::with([system]));
        let mut hub = Hub::new(node, engine);
        hub.remember(system, address);
        Self { hub, guard, state, device: None, required: None, asked: None }
    }

    /// Follows its wishes for ever.
    pub(crate) async fn run_forever(mut self) {
        loop {
            self.hub.wake_at(self.hub.now() + LOOK);
            let event = self.hub.next().await.unwrap();
            let state = self.state.clone();
            let mut state = state.lock().unwrap();
            if !state.is_silent {
                self.handle_event(event, &mut state);
                self.pass_wishes(&mut state);
            }
        }
    }

    fn handle_event(&mut self, event: HubEvent, state: &mut BoxState) {
        let now = self.hub.now();
        let mut reports = Vec::new();
        if state.is_done
            && let Some(device) = self.device.take()
        {
            self.guard.detach(&device);
        }
        match event {
            HubEvent::Spine(_) if state.is_done => {}
            HubEvent::Spine(event) => {
                if let SpineEvent::ResultReceived { request, error } = &event
                    && self.asked.take_if(|asked| asked == request).is_some()
                {
                    state.fail_safe_answers.push(error.is_success());
                }
                reports.extend(self.guard.handle_event(self.hub.engine_mut(), &event, now));
            }
            HubEvent::Tick => reports = self.guard.handle_timeout(self.hub.engine_mut(), now),
            HubEvent::PeerDiscovered { device, .. } => {
                self.guard.require(&device, state.limit, now);
                (self.device, self.required) = (Some(device), state.limit);
            }
            HubEvent::Disconnected { .. } => {
                if let Some(device) = self.device.take() {
                    self.guard.detach(&device);
                }
            }
            HubEvent::HandshakeFailed { .. } => state.failures += 1,
            _ => {}
        }
        for report in reports {
            match report {
                GuardEvent::LimitAccepted { limit, .. } => state.answers.push((limit, true)),
                GuardEvent::LimitRefused { limit, .. } => state.answers.push((limit, false)),
                _ => {}
            }
        }
    }

    fn pass_wishes(&mut self, state: &mut BoxState) {
        let Some(device) = &self.device else { return };
        let now = self.hub.now();
        if self.required != state.limit {
            self.required = state.limit;
            self.guard.require(device, state.limit, now);
        }
        if let Some(watts) = state.fail_safe {
            let engine = self.hub.engine_mut();
            self.asked = self.guard.write_failsafe_limit(engine, device, watts, now);
            state.fail_safe.take_if(|_| self.asked.is_some());
        }
    }
}

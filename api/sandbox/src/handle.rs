//! The handle of a sandbox: vendors, patches, orders.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use chrono::{DateTime, Utc};
use slackwater_sim::flow::Counted;
use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncMutexGuard};

use slackwater_integration::profile::VendorCode;
use slackwater_integration::reading::Reading;
use slackwater_integration::vendor::{Connection, Metered, Vendor};
use slackwater_service::clock::Clock;

use super::control::{
    Applied, ClockOrder, ClockState, ConductOrder, ControlError, HandOrder, ReceivedCommand,
};
use super::devices::Device;
use super::document::ScenarioError;
use super::report::report;
use super::scenario::Scenario;
use super::simulated::{Simulated, connection, later, quarters};
use super::world::World;

/// A running sandbox. Clones are the same sandbox.
///
/// Orders take effect before they return: whoever polls a vendor afterwards
/// sees them. What the service keeps in its own memory is refreshed by a poll.
#[derive(Debug, Clone)]
pub struct Sandbox(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: Clock,
    world: RwLock<World>,
    numbers: AtomicU64,
    /// The turn of whoever patches and keeps the patch.
    patching: AsyncMutex<()>,
}

impl Sandbox {
    /// A sandbox that goes by a clock. Everything begins at what it shows now.
    ///
    /// The scenario must make sense: it comes from [`Scenario::parse`] or
    /// [`generate`](super::generate::generate).
    #[must_use]
    pub fn new(scenario: &Scenario, clock: Clock) -> Self {
        let world = RwLock::new(World::new(scenario, clock.now()));
        Self(Arc::new(Shared {
            clock,
            world,
            numbers: AtomicU64::new(0),
            patching: AsyncMutex::default(),
        }))
    }

    pub(crate) fn world(&self) -> RwLockReadGuard<'_, World> {
        // Only a patch writes, and it writes a world that is whole.
        self.0.world.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.0.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits until so many seconds after `now` have passed on the clock.
    pub(crate) async fn wait(&self, now: DateTime<Utc>, seconds: f64) {
        if seconds > 0.0 {
            self.0.clock.until(later(now, seconds)).await;
        }
    }

    /// The clock that it goes by.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Scenario with all patches.
    #[must_use]
    pub fn scenario(&self) -> Scenario {
        self.world().scenario.clone()
    }

    /// All patches so far as one.
    #[must_use]
    pub fn patches(&self) -> Scenario {
        self.world().patches.clone()
    }

    /// Waits until nobody else patches.
    pub async fn patching(&self) -> AsyncMutexGuard<'_, ()> {
        self.0.patching.lock().await
    }

    /// The vendors, in the order of their codes.
    #[must_use]
    pub fn vendors(&self) -> Vec<Arc<dyn Vendor>> {
        let codes: Vec<VendorCode> = self.world().vendors.keys().cloned().collect();
        codes.into_iter().filter_map(|code| self.vendor(&code)).collect()
    }

    /// The vendor of a code.
    #[must_use]
    pub fn vendor(&self, code: &VendorCode) -> Option<Arc<dyn Vendor>> {
        let is_known = self.world().vendors.contains_key(code);
        let simulated = || Simulated { sandbox: self.clone(), code: code.clone() };
        is_known.then(simulated).map(|vendor| Arc::new(vendor) as Arc<dyn Vendor>)
    }

    /// The connection that a user's log-in at a vendor yields, for devices that
    /// the scenario says are linked already.
    #[must_use]
    pub fn connection(&self, user: &str, vendor: &VendorCode) -> Connection {
        connection(user, vendor)
    }

    /// Adds what a patch names, or changes it. A device whose physics changed
    /// begins anew; any other goes on as it was.
    ///
    /// # Errors
    /// The patch makes no sense, or not with what there is. Then nothing changes.
    pub fn apply(&self, text: &str) -> Result<Applied, ScenarioError> {
        let mut world = self.0.world.write().unwrap_or_else(PoisonError::into_inner);
        let patched = world.scenario.parse_patch(text)?;
        world.refuse_moves(&patched.patch)?;
        let applied = Applied::of(&patched.patch);
        world.patches.patch(patched.patch.clone());
        world.settle(patched.whole, &patched.patch, self.0.clock.now());
        Ok(applied)
    }

    /// Says what a device, or a vendor, does when it is called.
    ///
    /// # Errors
    /// There is no such device or vendor.
    pub fn conduct(&self, order: &ConductOrder) -> Result<(), ControlError> {
        match order {
            ConductOrder::Vendor { vendor, conduct } => {
                let code = VendorCode::parse(vendor);
                let mut world = self.0.world.write().unwrap_or_else(PoisonError::into_inner);
                let known = code.ok().and_then(|code| world.vendors.get_mut(&code));
                let known = known.ok_or_else(|| ControlError::no_vendor(vendor))?;
                known.conduct = conduct.clone();
            }
            ConductOrder::Device { device, conduct, ignores_commands } => {
                let now = self.0.clock.now();
                let world = self.world();
                let house = world.house_of(device);
                let mut house = house.ok_or_else(|| ControlError::no_device(device))?;
                house.home.advance(now);
                house.behave(device, conduct);
                if let Some(resident) = house.residents.get_mut(device) {
                    resident.ignores = ignores_commands.unwrap_or(resident.ignores);
                }
            }
        }
        Ok(())
    }

    /// A device does now what it was told, and says when that is.
    ///
    /// # Errors
    /// There is no such device.
    pub fn reach(&self, device: &str) -> Result<DateTime<Utc>, ControlError> {
        let now = self.0.clock.now();
        let world = self.world();
        let mut house = world.house_of(device).ok_or_else(|| ControlError::no_device(device))?;
        house.home.advance(now);
        let Some(part) = house.residents.get(device).map(|resident| resident.part) else {
            return Err(ControlError::no_device(device));
        };
        house.home.hasten(part);
        Ok(now)
    }

    /// A person does something to a device: plugs it in, unplugs it, mends it.
    ///
    /// # Errors
    /// There is no such device.
    pub fn hand(&self, order: &HandOrder) -> Result<DateTime<Utc>, ControlError> {
        let now = self.0.clock.now();
        let world = self.world();
        let missing = || ControlError::no_device(&order.device);
        let mut house = world.house_of(&order.device).ok_or_else(missing)?;
        house.home.advance(now);
        let part = house.residents.get(&order.device).ok_or_else(missing)?.part;
        house.home.handle(part, order.hand.to_engine()?);
        Ok(now)
    }

    /// Commands that vendors were sent, in order: of one device, or of all.
    /// The last thousand of each device are remembered.
    ///
    /// # Errors
    /// There is no such device.
    pub fn received(&self, device: Option<&str>) -> Result<Vec<ReceivedCommand>, ControlError> {
        let world = self.world();
        let mut received = Vec::new();
        if let Some(device) = device {
            let house = world.house_of(device).ok_or_else(|| ControlError::no_device(device))?;
            let resident = house.residents.get(device);
            received.extend(resident.into_iter().flat_map(|resident| &resident.received).cloned());
        } else {
            for house in world.houses() {
                let residents = house.residents.values();
                received.extend(residents.flat_map(|resident| resident.received.iter().cloned()));
            }
        }
        received.sort_by_key(|received| received.number);
        Ok(received.iter().map(ReceivedCommand::from).collect())
    }

    /// Steps the clock, sets its speed, or asks what it shows.
    ///
    /// # Errors
    /// A step back or too far, or a speed that no clock has.
    pub fn set_clock(&self, order: &ClockOrder) -> Result<ClockState, ControlError> {
        order.apply(&self.0.clock)?;
        Ok(ClockState { now: self.0.clock.now(), speed: self.0.clock.speed().as_times() })
    }

    /// Reading of a device that is awake and whose vendor is honest: for those who check a service,
    /// not for the service.
    #[must_use]
    pub fn actual_reading(&self, device: &str) -> Option<Reading> {
        let now = self.0.clock.now();
        let world = self.world();
        let mut house = world.house_of(device)?;
        house.home.advance(now);
        let resident = house.residents.get(device)?;
        Some(report(&house, resident, now))
    }

    /// Reading of a device's own meter at an instant of the last six weeks.
    #[must_use]
    pub fn meter(&self, device: &str, at: DateTime<Utc>) -> Option<Counted> {
        let world = self.world();
        let mut house = world.house_of(device)?;
        house.home.advance(at.min(self.0.clock.now()));
        let part = house.residents.get(device)?.part;
        Some(house.home.counters(part, at))
    }

    /// Count of a device's own meter in each whole quarter of an hour of `[from, to)`.
    #[must_use]
    pub fn metered(&self, device: &str, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<Metered> {
        let now = self.0.clock.now();
        let world = self.world();
        let Some(mut house) = world.house_of(device) else { return Vec::new() };
        house.home.advance(now);
        let part = house.residents.get(device).map(|resident| resident.part);
        part.map_or_else(Vec::new, |part| quarters(&house, part, from, to.min(now)))
    }

    /// The devices as the scenario describes them.
    #[must_use]
    pub fn devices(&self) -> Vec<Device> {
        self.world().scenario.devices().collect()
    }
}

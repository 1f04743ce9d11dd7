//! All homes, and who is where in them.
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use slackwater_control::device::command::Command;
use slackwater_control::device::place::Point;
use slackwater_sim::car::Hand;
use slackwater_sim::chance::Chance;
use slackwater_sim::home::Home;

use slackwater_integration::profile::VendorCode;
use slackwater_integration::reading::Reading;

use super::build::{self, Built};
use super::conduct::Conduct;
use super::devices::{Common, Device};
use super::document::{Flaw, ScenarioError};
use super::scenario::{Scenario, User, Vendor};
use crate::document::check::word;

/// Commands that are remembered per device.
const REMEMBERED: usize = 1000;

/// A command that a vendor was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// Its place among all commands of the sandbox.
    pub number: u64,
    /// When.
    pub at: DateTime<Utc>,
    /// For which device.
    pub device: String,
    /// What.
    pub command: Command,
    /// Reason of the refusal, if it was refused.
    pub refused: Option<String>,
    /// When the device does it; `None` if it never will.
    pub done_at: Option<DateTime<Utc>>,
}

/// A device in a home.
#[derive(Debug)]
pub(crate) struct Resident {
    pub(crate) device: Device,
    pub(crate) common: Common,
    pub(crate) part: usize,
    pub(crate) conduct: Conduct,
    /// Commands that it will take and not do.
    pub(crate) ignores: u32,
    /// Reading that it shows while it is frozen.
    pub(crate) frozen: Option<Box<Reading>>,
    pub(crate) polls: i64,
    pub(crate) sends: i64,
    pub(crate) received: Vec<Received>,
}

impl Resident {
    fn new(device: Device, part: usize) -> Self {
        let common = device.common();
        Self {
            device,
            conduct: common.conduct.clone(),
            ignores: common.ignores_commands,
            frozen: None,
            polls: 0,
            sends: 0,
            received: Vec::new(),
            part,
            common,
        }
    }

    pub(crate) fn remember(&mut self, received: Received) {
        if self.received.len() >= REMEMBERED {
            self.received.remove(0);
        }
        self.received.push(received);
    }
}

/// A home and its devices.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) home: Home,
    pub(crate) place: Point,
    pub(crate) residents: BTreeMap<String, Resident>,
}

impl House {
    /// The number of a device among the parts of the home.
    fn number_of(&self, device: &str) -> Option<usize> {
        self.residents.get(device).map(|resident| resident.part)
    }

    /// The device that is a part of the home.
    pub(crate) fn at_part(&self, part: usize) -> Option<&Common> {
        let mut residents = self.residents.values();
        residents.find(|resident| resident.part == part).map(|resident| &resident.common)
    }

    /// Something breaks, or is mended, with a change of conduct.
    pub(crate) fn behave(&mut self, device: &str, conduct: &Conduct) {
        let Some(resident) = self.residents.get_mut(device) else { return };
        let part = resident.part;
        let before = std::mem::replace(&mut resident.conduct, conduct.clone());
        resident.frozen = None;
        if before == *conduct {
            return;
        }
        if let Conduct::LosePrecondition { .. } = before {
            self.home.handle(part, Hand::Repair);
        }
        if let Conduct::LosePrecondition { state } = conduct {
            let is_unplugged = state.is_plugged_in() == Some(false);
            let hand = if is_unplugged { Hand::Unplug } else { Hand::Break(*state) };
            self.home.handle(part, hand);
        }
    }

    /// Adds a device, or changes one. What it is physically begins anew only
    /// if that changed.
    fn put(&mut self, device: Device, built: &Built, before: Option<&Built>) {
        let spec = built.part(|charger| self.number_of(charger));
        let common = device.common();
        let id = common.id.clone();
        let conduct = common.conduct.clone();
        if let Some(resident) = self.residents.get_mut(&id) {
            let was = before.map(|before| before.part(|_| None));
            let is_same = was == Some(built.part(|_| None));
            resident.ignores = common.ignores_commands;
            resident.common = common;
            resident.device = device;
            let part = resident.part;
            if !is_same {
                self.home.replace(part, &id, spec);
            }
        } else {
            let part = self.home.add(&id, spec);
            let resident = Resident::new(device, part);
            // Its conduct is set below, with all that follows from it.
            self.residents.insert(id.clone(), Resident { conduct: Conduct::Answer, ..resident });
        }
        self.behave(&id, &conduct);
    }
}

/// Everything that is simulated.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) scenario: Scenario,
    /// All patches of the scenario so far.
    pub(crate) patches: Scenario,
    pub(crate) vendors: BTreeMap<VendorCode, Vendor>,
    pub(crate) users: BTreeMap<String, User>,
    /// Devices of each user, in the order in which they came.
    pub(crate) devices_of: BTreeMap<String, Vec<String>>,
    houses: Vec<Mutex<House>>,
    house_of_location: BTreeMap<String, usize>,
    house_of_device: BTreeMap<String, usize>,
}

impl World {
    /// The world of a scenario that makes sense, at `now`.
    pub(crate) fn new(scenario: &Scenario, now: DateTime<Utc>) -> Self {
        let mut world = Self {
            scenario: Scenario::default(),
            patches: Scenario::default(),
            vendors: BTreeMap::new(),
            users: BTreeMap::new(),
            devices_of: BTreeMap::new(),
            houses: Vec::new(),
            house_of_location: BTreeMap::new(),
            house_of_device: BTreeMap::new(),
        };
        world.settle(scenario.clone(), scenario, now);
        world
    }

    /// Goes on with a scenario of which some things are new.
    pub(crate) fn settle(&mut self, whole: Scenario, news: &Scenario, now: DateTime<Utc>) {
        let seed = whole.seed();
        for vendor in &news.vendors {
            self.vendors.insert(vendor.code.clone(), vendor.clone());
        }
        for user in &news.users {
            self.users.insert(user.id.clone(), user.clone());
        }
        for location in &news.locations {
            if !self.house_of_location.contains_key(&location.id) {
                let home = Home::new(build::home(location, seed), now);
                let place = Point { latitude: location.latitude, longitude: location.longitude };
                let house = House { home, place, residents: BTreeMap::new() };
                self.house_of_location.insert(location.id.clone(), self.houses.len());
                self.houses.push(Mutex::new(house));
            }
        }
        let (before, after) = (build::parts(&self.scenario), build::parts(&whole));
        for device in news.devices() {
            let common = device.common();
            let Some(&index) = self.house_of_location.get(&common.location) else { continue };
            let Some(built) = after.get(&common.id) else { continue };
            if self.house_of_device.insert(common.id.clone(), index).is_none() {
                self.devices_of.entry(common.user.clone()).or_default().push(common.id.clone());
            }
            let mut house = self.house(index);
            house.home.advance(now);
            house.put(device, built, before.get(&common.id));
        }
        self.scenario = whole;
    }

    /// A device stays at its location, with its user and of its kind.
    pub(crate) fn refuse_moves(&self, patch: &Scenario) -> Result<(), ScenarioError> {
        let mut flaws = Vec::new();
        for device in patch.devices() {
            let common = device.common();
            let Some(house) = self.house_of(&common.id) else { continue };
            let Some(resident) = house.residents.get(&common.id) else { continue };
            let was = &resident.common;
            let pairs = [
                ("location", was.location == common.location),
                ("user", was.user == common.user),
                ("kind", was.kind == common.kind),
            ];
            for (member, _) in pairs.iter().filter(|(_, is_same)| !is_same) {
                let field = format!("{} {:?}", word(common.kind), common.id);
                let reason = format!("the {member} of a running device does not change");
                flaws.push(Flaw { line: None, field, reason });
            }
        }
        if flaws.is_empty() { Ok(()) } else { Err(ScenarioError(flaws)) }
    }

    fn house(&self, index: usize) -> MutexGuard<'_, House> {
        // A panic elsewhere leaves a home between two events, at worst.
        self.houses[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The home of a device.
    pub(crate) fn house_of(&self, device: &str) -> Option<MutexGuard<'_, House>> {
        self.house_of_device.get(device).map(|&index| self.house(index))
    }

    /// Every home in turn.
    pub(crate) fn houses(&self) -> impl Iterator<Item = MutexGuard<'_, House>> {
        (0..self.houses.len()).map(|index| self.house(index))
    }

    /// Draws about a device.
    pub(crate) fn chance(&self, about: &str, device: &str) -> Chance {
        Chance::seeded(self.scenario.seed()).of(about).of(device)
    }
}

/// Returns `true` if a vendor's service is down.
pub(crate) fn is_out(vendor: &Vendor, now: DateTime<Utc>) -> bool {
    vendor.conduct == Conduct::Outage
        || vendor.outages.iter().any(|outage| outage.from <= now && now < outage.to)
}

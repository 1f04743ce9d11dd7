//! A simulated vendor as the service sees it.
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use slackwater_control::device::capability::PowerRange;
use slackwater_control::device::command::Command;
use slackwater_engine::units::Percent;
use slackwater_sim::chance::Chance;

use slackwater_integration::error::VendorError;
use slackwater_integration::profile::{Health, Profile, VendorCode, VendorHealth};
use slackwater_integration::reading::Reading;
use slackwater_integration::vendor::{Connection, Linked, LogIn, Login, Metered, Offer, Vendor};

use super::conduct::Conduct;
use super::devices::Device;
use super::handle::Sandbox;
use super::report::{hvac_limits, report};
use super::scenario;
use super::world::{House, Received, Resident, World, is_out};
use crate::document::check::reserve_of;

/// Quarters of an hour.
const QUARTER: TimeDelta = TimeDelta::minutes(15);

/// Most quarters that one call counts: six weeks.
const QUARTERS_MAX: i64 = 42 * 96;

/// The vendor of a code, in a sandbox.
#[derive(Debug, Clone)]
pub struct Simulated {
    pub(crate) sandbox: Sandbox,
    pub(crate) code: VendorCode,
}

/// The connection that a log-in at a simulated vendor yields.
pub(crate) fn connection(user: &str, vendor: &VendorCode) -> Connection {
    Connection::new(format!("sandbox:{vendor}:{user}"))
}

impl Simulated {
    fn vendor(&self) -> Option<scenario::Vendor> {
        self.sandbox.world().vendors.get(&self.code).cloned()
    }

    /// The vendor, if its service is up and its answer has come.
    async fn answering(&self, now: DateTime<Utc>) -> Result<scenario::Vendor, VendorError> {
        let vendor = self.vendor().ok_or(VendorError::Outage)?;
        if vendor.conduct == Conduct::Hang {
            std::future::pending::<()>().await;
        }
        if is_out(&vendor, now) {
            return Err(VendorError::Outage);
        }
        self.sandbox.wait(now, vendor.answer_seconds).await;
        Ok(vendor)
    }

    /// Checks that a device exists, is this vendor's, and may be called by the connection.
    fn known(&self, house: &House, linked: &Linked) -> Result<(), VendorError> {
        let resident = house.residents.get(&linked.device).ok_or(VendorError::NoSuchDevice)?;
        if resident.common.vendor.as_ref() != Some(&self.code) {
            return Err(VendorError::NoSuchDevice);
        }
        if linked.connection != connection(&resident.common.user, &self.code) {
            return Err(VendorError::Unauthorised);
        }
        Ok(())
    }

    fn poll_now(&self, linked: &Linked, vendor: &scenario::Vendor, now: DateTime<Utc>) -> Answer {
        let world = self.sandbox.world();
        let mut house = world.house_of(&linked.device).ok_or(VendorError::NoSuchDevice)?;
        self.known(&house, linked)?;
        house.home.advance(now);
        let chance = world.chance("poll", &linked.device);
        let resident = house.residents.get_mut(&linked.device).ok_or(VendorError::NoSuchDevice)?;
        resident.polls += 1;
        let is_lost = chance.at(resident.polls).happens(vendor.fails);
        let conduct = resident.conduct.clone();
        if conduct == Conduct::Hang || is_lost {
            return Err(if is_lost { VendorError::Unreachable } else { VendorError::TimedOut });
        }
        if let Some(error) = vendor.conduct.poll_error().or_else(|| conduct.poll_error()) {
            return Err(error);
        }
        let resident = &house.residents[&linked.device];
        if let Some(frozen) = &resident.frozen {
            return Ok(frozen.as_ref().clone());
        }
        if let Some(may_be_woken) = sleeps(&house, resident) {
            return Err(VendorError::Asleep { may_be_woken });
        }
        let reading = report(&house, resident, now);
        if vendor.conduct == Conduct::Freeze || conduct == Conduct::Freeze {
            let kept = Some(Box::new(reading.clone()));
            if let Some(resident) = house.residents.get_mut(&linked.device) {
                resident.frozen = kept;
            }
        }
        Ok(reading)
    }

    fn send_now(
        &self,
        linked: &Linked,
        command: &Command,
        vendor: &scenario::Vendor,
        now: DateTime<Utc>,
    ) -> Result<(), VendorError> {
        let world = self.sandbox.world();
        let mut house = world.house_of(&linked.device).ok_or(VendorError::NoSuchDevice)?;
        self.known(&house, linked)?;
        house.home.advance(now);
        let number = self.sandbox.next_number();
        let chance = world.chance("send", &linked.device);
        let resident = house.residents.get_mut(&linked.device).ok_or(VendorError::NoSuchDevice)?;
        resident.sends += 1;
        let chance = chance.at(resident.sends);
        let resident = &house.residents[&linked.device];
        let refused = refusal(&house, resident, command, vendor, chance).err();
        let is_ignored = resident.ignores > 0
            || resident.conduct == Conduct::Freeze
            || vendor.conduct == Conduct::Freeze;
        let part = resident.part;
        let latency = vendor.command_seconds;
        let takes = chance.of("takes").between(latency.least, latency.most);
        let done_at = (refused.is_none() && !is_ignored).then(|| later(now, takes));
        let told = done_at.map(|at| house.home.tell(part, *command, at));
        let refused = refused.or_else(|| {
            let misdirected = told.and_then(Result::err)?;
            Some(VendorError::Refused { detail: misdirected.to_string() })
        });
        if let Some(resident) = house.residents.get_mut(&linked.device) {
            if refused.is_none() {
                resident.ignores = resident.ignores.saturating_sub(1);
            }
            resident.remember(Received {
                number,
                at: now,
                device: linked.device.clone(),
                command: *command,
                refused: refused.as_ref().map(ToString::to_string),
                done_at: done_at.filter(|_| refused.is_none()),
            });
        }
        refused.map_or(Ok(()), Err)
    }
}

type Answer = Result<Reading, VendorError>;

/// Returns `true` for a vehicle that sleeps and may be woken, `false` if it may not; `None` if it
/// is awake.
fn sleeps(house: &House, resident: &Resident) -> Option<bool> {
    let Device::Vehicle(vehicle) = &resident.device else { return None };
    house.home.is_asleep(resident.part).then_some(vehicle.may_be_woken)
}

/// Reason why a command is not taken.
fn refusal(
    house: &House,
    resident: &Resident,
    command: &Command,
    vendor: &scenario::Vendor,
    chance: Chance,
) -> Result<(), VendorError> {
    let refused = |detail: String| Err(VendorError::Refused { detail });
    if let Some(error) = vendor.conduct.send_error().or_else(|| resident.conduct.send_error()) {
        return Err(error);
    }
    if sleeps(house, resident) == Some(false) {
        return Err(VendorError::Asleep { may_be_woken: false });
    }
    if command.ability().is_some_and(|ability| resident.common.incapable.contains(&ability)) {
        return refused("the device cannot do this".to_owned());
    }
    if let (Command::Hold(hold), Device::Hvac(spec)) = (command, &resident.device)
        && let Err(error) = hold.check(&hvac_limits(spec))
    {
        return refused(error.to_string());
    }
    let supply = house.home.outlet_of(resident.part);
    let range = supply
        .map(|supply| PowerRange { min: Some(supply.power_min()), max: Some(supply.power_max()) });
    if command.is_outside(range) {
        return refused("the limit is outside the range that the device takes".to_owned());
    }
    if chance.of("rejects").happens(vendor.rejects) {
        return refused("too many commands".to_owned());
    }
    Ok(())
}

/// So many seconds later.
pub(crate) fn later(at: DateTime<Utc>, seconds: f64) -> DateTime<Utc> {
    let length = TimeDelta::try_milliseconds((seconds * 1000.0) as i64).unwrap_or_default();
    at.checked_add_signed(length).unwrap_or(DateTime::<Utc>::MAX_UTC)
}

#[async_trait]
impl Vendor for Simulated {
    fn profile(&self) -> Arc<Profile> {
        let vendor = self.vendor();
        let name = || self.code.to_string();
        Arc::new(Profile {
            code: self.code.clone(),
            display_name: vendor.as_ref().map_or_else(name, |vendor| vendor.display_name.clone()),
            portal_name: vendor.as_ref().map_or_else(name, |vendor| {
                vendor.portal_name.clone().unwrap_or_else(|| vendor.display_name.clone())
            }),
            kinds: vendor.as_ref().map_or_else(Vec::new, |vendor| vendor.kinds.clone()),
            reserve: vendor.as_ref().map(reserve_of).unwrap_or_default(),
        })
    }

    fn health(&self, now: DateTime<Utc>) -> VendorHealth {
        let Some(vendor) = self.vendor() else {
            return VendorHealth { devices: Health::Outage, linking: Health::Outage };
        };
        if is_out(&vendor, now) {
            return VendorHealth { devices: Health::Outage, linking: Health::Outage };
        }
        let health = |fails: Percent, is_odd: bool| {
            let is_well = fails == Percent::ZERO && !is_odd;
            if is_well { Health::Ready } else { Health::ElevatedErrorRate }
        };
        let is_odd = !matches!(vendor.conduct, Conduct::Answer | Conduct::Freeze);
        VendorHealth {
            devices: health(vendor.fails, is_odd),
            linking: health(vendor.login_fails, is_odd),
        }
    }

    async fn log_in(&self, login: &Login, now: DateTime<Utc>) -> Result<LogIn, VendorError> {
        let vendor = self.answering(now).await?;
        self.sandbox.wait(now, vendor.login_seconds).await;
        let world = self.sandbox.world();
        let attempt = self.sandbox.next_number() as i64;
        let chance = world.chance("log in", &login.user_name).at(attempt);
        if chance.happens(vendor.login_fails) {
            return Err(VendorError::TimedOut);
        }
        let user = world.users.get(&login.user_name).ok_or(VendorError::Unauthorised)?;
        if user.password != login.password {
            return Err(VendorError::Unauthorised);
        }
        match (&vendor.login_code, &login.code) {
            (Some(_), None) => {
                // An address reads the same in every language.
                return Ok(LogIn::CodeNeeded { sent_to: format!("{}@home.example", user.id) });
            }
            (Some(sent), Some(given)) if sent != given => {
                return Err(VendorError::ChallengeFailed);
            }
            _ => (),
        }
        let offers = world.offers(&user.id, &self.code);
        Ok(LogIn::Connected { connection: connection(&user.id, &self.code), offers })
    }

    async fn poll(&self, device: &Linked, now: DateTime<Utc>) -> Result<Reading, VendorError> {
        let vendor = self.answering(now).await?;
        let answer = self.poll_now(device, &vendor, now);
        if answer == Err(VendorError::TimedOut) {
            std::future::pending::<()>().await;
        }
        answer
    }

    async fn send(
        &self,
        device: &Linked,
        command: &Command,
        now: DateTime<Utc>,
    ) -> Result<(), VendorError> {
        let vendor = self.answering(now).await?;
        let answer = self.send_now(device, command, &vendor, now);
        if answer == Err(VendorError::TimedOut) {
            std::future::pending::<()>().await;
        }
        answer
    }

    fn trial(&self) -> Option<Login> {
        let vendor = self.vendor()?;
        let world = self.sandbox.world();
        let has_offer = |user: &&String| !world.offers(user, &self.code).is_empty();
        let names = world.users.keys();
        let name = names.filter(has_offer).min()?;
        let mut login = Login::new(name, &world.users[name].password);
        login.code.clone_from(&vendor.login_code);
        Some(login)
    }

    async fn metered(
        &self,
        device: &Linked,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<Vec<Metered>, VendorError> {
        self.answering(now).await?;
        let world = self.sandbox.world();
        let mut house = world.house_of(&device.device).ok_or(VendorError::NoSuchDevice)?;
        self.known(&house, device)?;
        house.home.advance(now);
        let resident = &house.residents[&device.device];
        Ok(quarters(&house, resident.part, from, to.min(now)))
    }
}

/// Count of a part in each whole quarter of `[from, to)`, the last six weeks of it.
pub(crate) fn quarters(
    house: &House,
    part: usize,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
) -> Vec<Metered> {
    let seconds = QUARTER.num_seconds();
    let last = to.timestamp().div_euclid(seconds);
    let first = -(-from.timestamp()).div_euclid(seconds);
    let first = first.max(last - QUARTERS_MAX);
    let at = |quarter: i64| DateTime::from_timestamp(quarter * seconds, 0).unwrap_or(from);
    let mut made = Vec::new();
    for quarter in first..last {
        let (start, end) = (at(quarter), at(quarter + 1));
        let (before, after) = (house.home.counters(part, start), house.home.counters(part, end));
        let counted = after.since(&before);
        made.push(Metered { start, end, imported: counted.imported, exported: counted.exported });
    }
    made
}

impl World {
    /// The devices of a user's account at a vendor.
    fn offers(&self, user: &str, vendor: &VendorCode) -> Vec<Offer> {
        let mut offers = Vec::new();
        for device in self.devices_of.get(user).into_iter().flatten() {
            let Some(house) = self.house_of(device) else { continue };
            let Some(resident) = house.residents.get(device) else { continue };
            if resident.common.vendor.as_ref() == Some(vendor) {
                offers.push(Offer {
                    device: device.clone(),
                    kind: resident.common.kind,
                    name: resident.common.name.clone(),
                });
            }
        }
        offers
    }
}

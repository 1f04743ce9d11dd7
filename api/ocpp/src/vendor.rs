//! The integration: chargers as the service knows them.
use std::collections::BTreeMap;
use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use slackwater_control::device::command::{Command, Switch};
use slackwater_control::device::scope::DeviceKind;
use slackwater_control::grid_order::limit::GridLimit;
use slackwater_control::policy::flex::ReserveRule;
use slackwater_engine::units::Power;
use slackwater_integration::error::VendorError;
use slackwater_integration::news::News;
use slackwater_integration::profile::{Health, Profile, VendorHealth};
use slackwater_integration::reading::Reading;
use slackwater_integration::registry::{Settings, SettingsError};
use slackwater_integration::vendor::{Connection, Linked, LogIn, Login, Metered, Offer, Vendor};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;
use tracing::{error, info};

use crate::edge::balancing::SiteControl;
use crate::edge::clock::{Clock, system};
use crate::edge::hub::Hub;
use crate::edge::listener::{Door, Proof, listen};
use crate::edge::point::Point;
use crate::edge::secret::{digest, generate_token, is_same, matches, normalised};
use crate::edge::tls::configure;
use crate::facts::{Connector, Reply};
use crate::settings::{OcppSettings, Security};
use crate::station::orders::OrderError;

/// Hash of no code: a log-in to an unknown charge point takes as long as any.
const NO_HASH: &str = "$argon2id$v=19$m=19456,t=2,p=1$c29tZSBzYWx0IG9mIG91cnM$\
                       AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Chargers that connect to an address of ours.
pub struct Ocpp {
    profile: Arc<Profile>,
    hub: Arc<Hub>,
    address: SocketAddr,
    listener: AbortHandle,
    /// Tasks of the sites.
    balancing: Vec<AbortHandle>,
    /// Ways to these tasks, by name.
    sites: BTreeMap<String, SiteControl>,
}

/// Opens the integration with its settings, and its address.
///
/// # Errors
/// A setting is missing or wrong, a file is not readable, or the address is taken.
pub fn open(settings: &Settings) -> Result<Arc<dyn Vendor>, SettingsError> {
    Ok(Arc::new(Ocpp::open(&settings.read()?, system())?))
}

impl Ocpp {
    /// Opens the integration with a clock.
    ///
    /// # Errors
    /// A setting is wrong, a file is not readable, the address is taken, or there is no runtime.
    pub fn open(settings: &OcppSettings, clock: Clock) -> Result<Self, SettingsError> {
        settings.check()?;
        let door = make_door(&settings.security()?)?;
        let failed = |error: std::io::Error| {
            SettingsError::new("listen", format!("{}: {error}", settings.listen))
        };
        let socket = TcpListener::bind(settings.listen).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let runtime = Handle::try_current()
            .map_err(|error| SettingsError { field: None, reason: error.to_string() })?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(socket).map_err(failed)?
        };
        let hub = Arc::new(Hub::new(settings.clone(), clock));
        let joined = hub.join_sites()?;
        let sites = joined.iter().map(|site| (site.name().to_owned(), site.control())).collect();
        let balancing = joined.into_iter().map(|site| {
            info!(site = site.name(), "limits of a site are decided together");
            runtime.spawn(site.keep_balanced(Arc::clone(&hub))).abort_handle()
        });
        let balancing = balancing.collect();
        let task = runtime.spawn(listen(listener, door, Arc::clone(&hub)));
        info!(%address, profile = settings.security_profile, "listening for charge points");
        let profile = Arc::new(make_profile(settings));
        Ok(Self { profile, hub, address, listener: task.abort_handle(), balancing, sites })
    }

    /// Address for charge points.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its charge points, for operators.
    #[must_use]
    pub const fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// The charge point of a connection, if its token is that of a link.
    async fn find_linked_point(&self, connection: &Connection) -> Result<Arc<Point>, VendorError> {
        let secret = connection.secret();
        let (identity, token) = secret.rsplit_once(' ').ok_or(VendorError::Unauthorised)?;
        let credentials = self.hub.credentials(identity).await.map_err(log_outage)?;
        if credentials.is_none() {
            return Err(VendorError::Unauthorised);
        }
        let point = self.hub.point(identity).await.map_err(log_outage)?;
        let kept = digest(token);
        let is_linked = point.kept().links.iter().any(|link| is_same(link, &kept));
        if is_linked { Ok(point) } else { Err(VendorError::Unauthorised) }
    }

    /// The charge point and connector of a device.
    async fn find_connector(
        &self,
        device: &Linked,
    ) -> Result<(Arc<Point>, Connector), VendorError> {
        let point = self.find_linked_point(&device.connection).await?;
        let number = device.device.strip_prefix(&point.identity);
        let number = number.and_then(|rest| rest.strip_prefix('/')?.parse().ok());
        let known = number.filter(|number| list_connectors(&point).contains(number));
        Ok((point, known.ok_or(VendorError::NoSuchDevice)?))
    }
}

fn make_profile(settings: &OcppSettings) -> Profile {
    Profile {
        code: settings.vendor_code.clone(),
        display_name: settings.display_name.clone(),
        portal_name: settings.display_name.clone(),
        kinds: vec![DeviceKind::Charger],
        reserve: ReserveRule::default(),
    }
}

fn make_door(security: &Security) -> Result<Door, SettingsError> {
    let (proof, files) = match security {
        Security::None => (Proof::Nothing, None),
        Security::Password => (Proof::Password, None),
        Security::PasswordByTls(files) => (Proof::Password, Some(files)),
        Security::Certificate(files) => (Proof::Certificate, Some(files)),
    };
    let tls = files.map(configure).transpose()?.map(TlsAcceptor::from);
    Ok(Door { proof, tls })
}

/// Connectors of a charge point; one, as long as it has not reported any.
fn list_connectors(point: &Point) -> Vec<Connector> {
    let known: Vec<Connector> = point.kept().station.connectors.keys().copied().collect();
    if known.is_empty() { vec![1] } else { known }
}

fn log_outage(error: impl fmt::Display) -> VendorError {
    error!(%error, "a file of a charge point failed");
    VendorError::Outage
}

fn list_offers(point: &Point) -> Vec<Offer> {
    let all = list_connectors(point);
    let kept = point.kept();
    let model = kept.station.model.as_ref();
    let name = model.map_or_else(
        || point.identity.clone(),
        |model| format!("{} {} {}", model.vendor, model.model, point.identity),
    );
    let named = |number: &Connector| match all.len() {
        1 => name.clone(),
        _ => format!("{name}, connector {number}"),
    };
    let offer = |number: &Connector| Offer {
        device: format!("{}/{number}", point.identity),
        kind: DeviceKind::Charger,
        name: named(number),
    };
    all.iter().map(offer).collect()
}

/// Reply to a request of ours.
///
/// # Errors
/// The charge point refused, failed, or did not answer.
pub fn check_reply(reply: Reply) -> Result<(), VendorError> {
    match reply {
        Reply::Accepted | Reply::Variables(_) | Reply::Schedule { .. } => Ok(()),
        Reply::Refused { status } => Err(VendorError::Refused { detail: status }),
        Reply::NotSupported => {
            Err(VendorError::Refused { detail: "the charger does not support it".to_owned() })
        }
        Reply::Failed { reason } => Err(VendorError::Refused { detail: reason }),
        Reply::TimedOut => Err(VendorError::TimedOut),
        Reply::Lost => Err(VendorError::Unreachable),
    }
}

#[async_trait]
impl Vendor for Ocpp {
    fn profile(&self) -> Arc<Profile> {
        Arc::clone(&self.profile)
    }

    fn health(&self, _now: DateTime<Utc>) -> VendorHealth {
        let health = if self.listener.is_finished() { Health::Outage } else { Health::Ready };
        VendorHealth { devices: health, linking: health }
    }

    async fn log_in(&self, login: &Login, _now: DateTime<Utc>) -> Result<LogIn, VendorError> {
        let identity = login.user_name.trim();
        let credentials = self.hub.credentials(identity).await.map_err(log_outage)?;
        let hash = credentials.as_ref().map_or(NO_HASH, |own| &own.code_hash).to_owned();
        let code = normalised(&login.password);
        let is_right = self.hub.compare(move || matches(code.as_bytes(), &hash)).await;
        if !is_right || credentials.is_none() {
            return Err(VendorError::Unauthorised);
        }
        let point = self.hub.point(identity).await.map_err(log_outage)?;
        let token = generate_token().map_err(log_outage)?;
        point.add_link(digest(&token));
        self.hub.save(&point).await.map_err(log_outage)?;
        let connection = Connection::new(format!("{identity} {token}"));
        Ok(LogIn::Connected { connection, offers: list_offers(&point) })
    }

    fn news(&self) -> Option<Arc<News>> {
        Some(Arc::clone(self.hub.news()))
    }

    async fn poll(&self, device: &Linked, _now: DateTime<Utc>) -> Result<Reading, VendorError> {
        let (point, number) = self.find_connector(device).await?;
        point.kept().station.note_need(number, device.need);
        let reading = point.kept().station.reading(number, self.hub.vehicles());
        reading.ok_or(VendorError::Unreachable)
    }

    async fn send(
        &self,
        device: &Linked,
        command: &Command,
        _now: DateTime<Utc>,
    ) -> Result<(), VendorError> {
        let (point, number) = self.find_connector(device).await?;
        let now = self.hub.clock.now();
        if *command == Command::Charge(Switch::Start) && point.kept().shared.is_stopped(number) {
            let detail = "the upstream system has stopped charging".to_owned();
            return Err(VendorError::PreconditionLost { detail });
        }
        point.kept().station.note_need(number, device.need);
        let order = point.kept().station.order(number, command, &point.rules, now);
        let request = match order {
            Ok(Some(request)) => self.hub.with_token(request, &point.identity),
            // A limit of a site follows once the charger can be reached.
            Ok(None) if point.kept().station.link.is_none() => {
                return Err(VendorError::Unreachable);
            }
            Ok(None) => {
                // It is sent with the limits of its site, which do not wait for the disk.
                point.tell_site();
                let saved = self.hub.save(&point).await;
                return saved.map_err(log_outage);
            }
            Err(OrderError::NoConnector { .. }) => return Err(VendorError::Unreachable),
            Err(error) => return Err(VendorError::PreconditionLost { detail: error.to_string() }),
        };
        let reply = point.order(request).ok_or(VendorError::Unreachable)?;
        check_reply(reply.await.unwrap_or(Reply::Lost))
    }

    async fn metered(
        &self,
        device: &Linked,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
        _now: DateTime<Utc>,
    ) -> Result<Vec<Metered>, VendorError> {
        let (point, number) = self.find_connector(device).await?;
        let kept = point.kept();
        // A charge point that was away delivers its meter values later.
        if kept.station.link.is_none() {
            return Err(VendorError::Unreachable);
        }
        let metered = kept.station.metered(number, from, to).unwrap_or_default();
        // A meter that has yet to report at the end of a quarter is not one that is missing.
        if metered.is_empty() && kept.station.has_meter(number) {
            return Err(VendorError::Unreachable);
        }
        Ok(metered)
    }

    fn follow_grid_limit(&self, site: &str, limit: GridLimit) -> bool {
        let site = self.sites.get(site);
        site.map(|site| site.follow_grid_limit(limit)).is_some()
    }

    fn site_power(&self, site: &str) -> Option<Power> {
        self.sites.get(site)?.measured_power()
    }
}

impl fmt::Debug for Ocpp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ocpp").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for Ocpp {
    fn drop(&mut self) {
        self.listener.abort();
        self.balancing.iter().for_each(AbortHandle::abort);
    }
}

//! Settings of an operator. Every value is checked before anything starts.
//!
//! A file in TOML comes first, then the environment (`SLACKWATER_STORE__URL` is
//! `url` in `[store]`), then arguments. A value that cannot be used is refused
//! with its name and where it came from.

pub mod admin;
pub mod brand;
pub mod comfort;
pub mod error;
pub mod events;
pub mod feeds;
mod forms;
pub mod grid;
pub mod home_assistant;
pub mod language;
pub mod link;
pub mod load;
pub mod log;
mod logos;
pub mod plans;
pub mod prices;
pub mod proxies;
pub mod schema;
mod secret_file;
pub mod secrets;
pub mod serving;
pub mod telemetry;
pub mod text;
pub mod texts;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slackwater_control::device::pursuit::Persistence;
use slackwater_control::policy::comfort::ComfortPolicy;
use slackwater_control::schedule::steer::Patience;
use slackwater_engine::units::Power;
use slackwater_wire::version::dated::ApiVersion;
use slackwater_wire::version::lifecycle::Releases;

pub use crate::config::admin::AdminSettings;
use crate::config::error::ConfigError;
pub use crate::config::events::EventSettings;
use crate::config::grid::GridSettings;
pub use crate::config::home_assistant::HomeAssistantSettings;
pub use crate::config::link::LinkSettings;
pub use crate::config::log::{log_filter, unknown_crates};
use crate::config::plans::PlanSettings;
use crate::config::prices::{StatisticsSettings, ZoneSettings};
use crate::config::serving::{AuthSettings, ServeSettings};
use crate::config::telemetry::TelemetrySettings;
use crate::config::text::{Listen, PublicUrl, as_optional_text, as_text};
use slackwater_integration::registry::Settings as IntegrationSettings;
use slackwater_store::keyring::Keyring;
use slackwater_store::url::StoreUrl;
use uuid::Uuid;

/// Longest time of draining that is not doubted, s: an hour, many times what balancers need.
const DRAIN_SECONDS_USUAL: u32 = 3600;

/// Address on which a service listens, and the address at which its users reach it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Listener {
    /// Address and port to listen on. Listeners with one address are told apart by host.
    #[serde(with = "as_text")]
    #[schemars(with = "String", example = &"127.0.0.1:8080")]
    pub listen: Listen,
    /// Address that users see, if it is not that of the socket.
    #[serde(default, with = "as_optional_text")]
    #[schemars(with = "Option<String>", example = &"https://api.example.org")]
    pub url: Option<PublicUrl>,
}

/// The three addresses of an environment (ENV-10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Listeners {
    /// The service itself.
    pub base: Listener,
    /// Address at which tokens are issued.
    pub auth: Listener,
    /// Address at which people link devices.
    pub link: Listener,
    /// Integrations of manufacturers, by names of the operator's choice; of production only.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "forms::integrations")]
    pub integrations: BTreeMap<String, IntegrationSettings>,
}

/// The environments that are served. There are two, and no third (ENV-06).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environments {
    /// Simulated devices.
    #[serde(default)]
    pub sandbox: Option<Listeners>,
    /// Devices of people.
    #[serde(default)]
    pub production: Option<Listeners>,
}

/// Settings of the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StoreSettings {
    /// The database.
    #[serde(with = "as_text")]
    #[schemars(with = "String", example = &"postgres://slackwater@db.example.org/slackwater")]
    pub url: StoreUrl,
    /// A file with the URL, for one with a password.
    #[schemars(example = &"/run/secrets/database-url")]
    pub url_file: Option<PathBuf>,
    /// A file with the key that encrypts credentials of manufacturers' accounts and secrets of
    /// receivers in the database, made by `slackwater-api store key`. Without one they are kept in
    /// clear text.
    #[schemars(example = &"/run/secrets/database-key")]
    pub key_file: Option<PathBuf>,
    /// Files with earlier keys, which are still read.
    pub old_key_files: Vec<PathBuf>,
    /// Keys of these files.
    #[serde(skip)]
    pub keys: Keyring,
}

/// A number of requests in a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Requests that are answered.
    #[schemars(range(min = 1), example = 6000)]
    pub requests: u32,
    /// The time after which they may be made again.
    #[schemars(range(min = 1), example = 60)]
    pub seconds: u32,
}

/// Limits. There are none unless they are set (NS-29 to NS-31).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSettings {
    /// Most items on a page. A longer page is cut, not refused.
    #[schemars(range(min = 1), example = 100)]
    pub page_size_max: Option<u32>,
    /// Most connections of one client.
    #[schemars(example = 1000)]
    pub connections_max: Option<u32>,
    /// Budgets of each client, by the name of what they limit.
    pub budgets: BTreeMap<RateLimitClass, Budget>,
    /// Other budgets for single clients, by client ID.
    pub clients: BTreeMap<String, BTreeMap<RateLimitClass, Budget>>,
}

/// Subject of a budget.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RateLimitClass {
    /// Requests of any kind.
    Requests,
    /// Link sessions.
    Link,
    /// Refresh hints.
    RefreshHint,
    /// Statistics of all users of a client.
    Statistics,
    /// Statistics of one user.
    StatisticsOfUser,
}

/// Polls of devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PollingSettings {
    /// Devices that are read at one time, at most.
    #[schemars(range(min = 1))]
    pub concurrency: u32,
    /// Longest time that a read may take.
    #[schemars(range(min = 1))]
    pub timeout_seconds: u32,
}

/// Settings of commands: attempts, and the patience of schedules and plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ActionSettings {
    /// After this time an action has failed (NS-34).
    #[schemars(range(min = 1))]
    pub timeout_seconds: u32,
    /// Between two attempts.
    #[schemars(range(min = 1))]
    pub retry_seconds: u32,
    /// Before a device that does not obey is told the same by its schedule or
    /// plan again; each further time doubles it.
    #[schemars(range(min = 1))]
    pub pause_seconds: u32,
    /// The longest such pause.
    #[schemars(range(min = 1))]
    pub pause_seconds_max: u32,
    /// Actions that are pursued at one time, at most.
    #[schemars(range(min = 1))]
    pub concurrency: u32,
}

/// When versions were released, oldest first. Without it all are served, for ever (AMB-60).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VersionSettings {
    /// Pairs of version and time.
    #[schemars(with = "Option<Vec<(String, DateTime<Utc>)>>", example = forms::releases())]
    pub releases: Option<Releases>,
    /// Of a hundred requests in a version that is leaving, how many are rejected.
    #[schemars(range(max = 100), example = 10)]
    pub brownout_percent: u8,
}

/// Names of members that the specification says exist, but does not print. A
/// member without a name is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NameSettings {
    /// Name of the member that tells if a user's credentials with a manufacturer are valid
    /// (LNK-27).
    #[schemars(example = &"isValid")]
    pub credentials_valid: Option<String>,
    /// The language of the pages, in requests for a link session (LNK-15).
    #[schemars(example = &"language")]
    pub link_language: Option<String>,
    /// Their colour scheme (LNK-16).
    #[schemars(example = &"colorScheme")]
    pub link_colour_scheme: Option<String>,
    /// The status of a charging interval that has not begun.
    #[schemars(example = &"PLANNED")]
    pub charging_interval_planned: Option<String>,
}

/// Settings of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxSettings {
    /// The scenario file; `street` is the one that comes with the service.
    #[schemars(example = &"street")]
    pub scenario: Option<PathBuf>,
    /// Homes to make up, in place of a scenario file.
    #[schemars(range(min = 1), example = 1000)]
    pub homes: Option<u32>,
    /// The client whose users live in the scenario; the first of the sandbox, if none is named.
    #[schemars(example = forms::CLIENT)]
    pub client: Option<String>,
    /// Speed of time, such as `60x`; `0x` stands still.
    #[schemars(example = &"60x")]
    pub clock: Option<String>,
    /// When the simulated time starts; now, if it is not given.
    #[schemars(example = &"2026-01-05T12:00:00Z")]
    pub start: Option<DateTime<Utc>>,
}

/// All settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Environments that are served.
    pub environments: Environments,
    /// The door for operators.
    pub admin: AdminSettings,
    /// Database.
    pub store: StoreSettings,
    /// Clients and their tokens.
    pub auth: AuthSettings,
    /// Connections, and their end.
    pub serve: ServeSettings,
    /// Limits.
    pub limits: LimitSettings,
    /// Polls of manufacturers.
    pub polling: PollingSettings,
    /// Commands.
    pub action: ActionSettings,
    /// Plans.
    pub plans: PlanSettings,
    /// The life of versions.
    pub versions: VersionSettings,
    /// Names of members that the specification withholds.
    pub names: NameSettings,
    /// The pages on which people link devices.
    pub link: LinkSettings,
    /// Events, and who is told of them.
    pub events: EventSettings,
    /// Senders of orders of grid operators, by names of the operator's choice.
    pub grid: BTreeMap<String, GridSettings>,
    /// Comfort policies of heating and cooling units, by the identifiers of the devices: their power
    /// is planned over prices within a band of temperatures. One that was set while the service ran
    /// (`slackwater-api policy set`) comes first.
    #[schemars(schema_with = "comfort::describe_policies")]
    pub comfort: BTreeMap<Uuid, ComfortPolicy>,
    /// Devices of one user in Home Assistant, by a broker of MQTT. Off without this table.
    pub home_assistant: Option<HomeAssistantSettings>,
    /// Traces.
    pub telemetry: TelemetrySettings,
    /// Sandbox.
    pub sandbox: SandboxSettings,
    /// Market zones, by their names.
    pub zones: BTreeMap<String, ZoneSettings>,
    /// Statistics.
    pub statistics: StatisticsSettings,
}

impl Default for StoreSettings {
    /// A file in this folder.
    fn default() -> Self {
        Self {
            url: StoreUrl::here(),
            url_file: None,
            key_file: None,
            old_key_files: Vec::new(),
            keys: Keyring::default(),
        }
    }
}

impl Default for PollingSettings {
    fn default() -> Self {
        Self { concurrency: 256, timeout_seconds: 60 }
    }
}

impl Default for ActionSettings {
    fn default() -> Self {
        let (persistence, patience) = (Persistence::default(), Patience::default());
        Self {
            timeout_seconds: persistence.timeout_seconds,
            retry_seconds: persistence.retry_seconds,
            pause_seconds: patience.pause_seconds,
            pause_seconds_max: patience.pause_seconds_max,
            concurrency: 256,
        }
    }
}

impl ActionSettings {
    /// Number and spacing of the attempts to send a command.
    #[must_use]
    pub const fn persistence(&self) -> Persistence {
        let Self { timeout_seconds, retry_seconds, .. } = *self;
        Persistence { timeout_seconds, retry_seconds }
    }

    /// Time that schedules and plans wait before they order the same again.
    #[must_use]
    pub const fn patience(&self) -> Patience {
        let Self { pause_seconds, pause_seconds_max, .. } = *self;
        Patience { pause_seconds, pause_seconds_max }
    }
}

impl Default for Config {
    /// The sandbox on this machine only, kept in a file in this folder.
    fn default() -> Self {
        let here = |port| Listen(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
        let door = |port| Listener { listen: here(port), url: None };
        let sandbox = Listeners {
            base: door(8080),
            auth: door(8081),
            link: door(8082),
            integrations: BTreeMap::new(),
        };
        Self {
            environments: Environments { sandbox: Some(sandbox), production: None },
            admin: AdminSettings::default(),
            store: StoreSettings::default(),
            auth: AuthSettings::default(),
            serve: ServeSettings::default(),
            limits: LimitSettings::default(),
            polling: PollingSettings::default(),
            action: ActionSettings::default(),
            plans: PlanSettings::default(),
            versions: VersionSettings::default(),
            names: NameSettings::default(),
            link: LinkSettings::default(),
            events: EventSettings::default(),
            grid: BTreeMap::new(),
            comfort: BTreeMap::new(),
            home_assistant: None,
            telemetry: TelemetrySettings::default(),
            sandbox: SandboxSettings::default(),
            zones: BTreeMap::new(),
            statistics: StatisticsSettings::default(),
        }
    }
}

impl Config {
    /// The defaults, overlaid by a file and by the environment.
    ///
    /// # Errors
    ///
    /// The file cannot be read, has a name that means nothing, or a value that cannot be used.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        let mut config = load::read(file)?;
        config.read_secret_files()?;
        config.link.prepare()?;
        config.check()?;
        Ok(config)
    }

    /// Returns `true` if production is served without an integration, so that nobody can link a device.
    #[must_use]
    pub fn opens_without_integrations(&self) -> bool {
        self.environments.production.as_ref().is_some_and(|own| own.integrations.is_empty())
    }

    /// Settings that can be used and are probably not meant, each in a sentence.
    #[must_use]
    pub fn doubts(&self) -> Vec<String> {
        let ActionSettings { timeout_seconds, retry_seconds, .. } = self.action;
        let drain_seconds = self.serve.drain_seconds;
        let retry = (retry_seconds > timeout_seconds).then(|| {
            format!(
                "action.retry_seconds is {retry_seconds} s, longer than action.timeout_seconds \
                 ({timeout_seconds} s): no command is sent a second time"
            )
        });
        let drain = (drain_seconds > DRAIN_SECONDS_USUAL).then(|| {
            format!(
                "serve.drain_seconds is {drain_seconds} s, more than {DRAIN_SECONDS_USUAL} s: systemd \
                 (TimeoutStopSec) or a cluster kills the service before"
            )
        });
        retry.into_iter().chain(drain).collect()
    }

    /// Checks what one value alone does not show. Arguments change settings: a process
    /// checks them again.
    ///
    /// # Errors
    ///
    /// The first setting that cannot be used, with its name.
    pub fn check(&self) -> Result<(), ConfigError> {
        if let Some(flaw) = self.plans.flaw() {
            return Err(ConfigError::Plans(flaw));
        }
        if let Some(flaw) = grid::find_flaw(&self.grid) {
            return Err(ConfigError::Grid(flaw));
        }
        if let Some(flaw) = comfort::find_flaw(&self.comfort) {
            return Err(ConfigError::Comfort(flaw));
        }
        self.admin.check()?;
        if let Some(home_assistant) = &self.home_assistant {
            home_assistant.check()?;
        }
        if let Some(traces) = &self.telemetry.traces {
            traces.check()?;
        }
        for (zone_id, zone) in &self.zones {
            if let Some(feed) = &zone.feed {
                feed.check(zone_id)?;
            }
        }
        self.check_sandbox()?;
        if self.statistics.power_max <= Power::ZERO {
            let given = self.statistics.power_max.as_kw();
            return Err(ConfigError::NoPower { name: "statistics.power_max_kw", given });
        }
        for (index, subscription) in self.events.subscriptions.iter().enumerate() {
            let refused = |error| ConfigError::Subscription { index, error };
            subscription.check().map_err(refused)?;
        }
        self.check_positive()
    }

    /// Checks numbers of seconds and items, of which at least one is needed.
    fn check_positive(&self) -> Result<(), ConfigError> {
        let positive = [
            ("polling.concurrency", self.polling.concurrency),
            ("polling.timeout_seconds", self.polling.timeout_seconds),
            ("link.login_timeout_seconds", self.link.login_timeout_seconds),
            ("events.timeout_seconds", self.events.timeout_seconds),
            ("events.attempts_max", self.events.attempts_max.unwrap_or(1)),
            ("admin.audit_days", self.admin.audit_days),
            ("events.keep_days", self.events.keep_days),
            ("action.timeout_seconds", self.action.timeout_seconds),
            ("action.retry_seconds", self.action.retry_seconds),
            ("action.pause_seconds", self.action.pause_seconds),
            ("action.pause_seconds_max", self.action.pause_seconds_max),
            ("action.concurrency", self.action.concurrency),
            ("limits.page_size_max", self.limits.page_size_max.unwrap_or(1)),
            ("serve.connections_max", self.serve.connections_max.unwrap_or(1)),
            ("serve.connections_of_peer_max", self.serve.connections_of_peer_max.unwrap_or(1)),
            ("serve.requests_max", self.serve.requests_max),
            ("sandbox.homes", self.sandbox.homes.unwrap_or(1)),
            (
                "telemetry.traces.timeout_seconds",
                self.telemetry.traces.as_ref().map_or(1, |traces| traces.timeout_seconds),
            ),
        ];
        let zero = positive.into_iter().find(|(_, value)| *value == 0);
        match zero.map(|(name, _)| name.to_owned()).or_else(|| self.limits.empty_budget()) {
            Some(name) => Err(ConfigError::Zero { name }),
            None => Ok(()),
        }
    }

    /// Checks that one thing is simulated, and that there is a sandbox for it.
    fn check_sandbox(&self) -> Result<(), ConfigError> {
        let SandboxSettings { scenario, homes, .. } = &self.sandbox;
        if self.environments.sandbox.as_ref().is_some_and(|own| !own.integrations.is_empty()) {
            return Err(ConfigError::SandboxIntegrations);
        }
        if scenario.is_some() && homes.is_some() {
            return Err(ConfigError::Both {
                one: "sandbox.scenario".to_owned(),
                other: "sandbox.homes".to_owned(),
            });
        }
        let name = match (scenario, homes) {
            (Some(_), _) => "sandbox.scenario",
            (_, Some(_)) => "sandbox.homes",
            (None, None) => return Ok(()),
        };
        match self.environments.sandbox {
            Some(_) => Ok(()),
            None => Err(ConfigError::NoSandbox { name }),
        }
    }
}

impl LimitSettings {
    /// Name of the first number of a budget that is zero.
    fn empty_budget(&self) -> Option<String> {
        let general = [("limits.budgets".to_owned(), &self.budgets)];
        let own = self.clients.iter().map(|(id, own)| (format!("limits.clients.{id}"), own));
        let all = general.into_iter().chain(own).flat_map(|(table, budgets)| {
            let named = |class: &RateLimitClass| format!("{table}.{}", class.as_str());
            budgets.iter().map(|(class, budget)| (named(class), *budget)).collect::<Vec<_>>()
        });
        let mut parts = all.flat_map(|(name, Budget { requests, seconds })| {
            [(format!("{name}.requests"), requests), (format!("{name}.seconds"), seconds)]
        });
        parts.find(|(_, value)| *value == 0).map(|(name, _)| name)
    }

    /// The budget of a client for something; `None` if there is none.
    #[must_use]
    pub fn budget(&self, client_id: &str, limited: RateLimitClass) -> Option<Budget> {
        let own = self.clients.get(client_id).and_then(|budgets| budgets.get(&limited));
        own.or_else(|| self.budgets.get(&limited)).copied()
    }
}

impl RateLimitClass {
    /// The word that stands for it in settings and in details of problems.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Link => "link",
            Self::RefreshHint => "refresh_hint",
            Self::Statistics => "statistics",
            Self::StatisticsOfUser => "statistics_of_user",
        }
    }
}

impl VersionSettings {
    /// The version that a client without a wish is given at `now`.
    #[must_use]
    pub fn current(&self, now: DateTime<Utc>) -> ApiVersion {
        let released = self.releases.as_ref().and_then(|releases| releases.current(now));
        released.unwrap_or(ApiVersion::LATEST)
    }
}

impl Listener {
    /// The address that users see, when the socket is `bound`.
    #[must_use]
    pub fn public_url(&self, bound: SocketAddr) -> String {
        self.url.as_ref().map_or_else(|| format!("http://{bound}"), ToString::to_string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::text::listen_address;

    fn read(text: &str) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.toml");
        std::fs::write(&file, text).unwrap();
        Config::load(Some(&file))
    }

    #[test]
    fn two_environments_of_three_addresses() {
        let doors = |of: &str| {
            let door = |name: &str, port| {
                format!("[environments.{of}.{name}]\nlisten = \"127.0.0.1:{port}\"\n")
            };
            door("base", 1) + &door("auth", 2) + &door("link", 3)
        };
        assert!(read(&doors("production")).unwrap().environments.production.is_some());
        let third = read(&doors("staging")).unwrap_err().to_string();
        assert!(third.contains("staging") && third.contains("settings.toml"), "{third}");
        let two = read("[environments.production.base]\nlisten = \"127.0.0.1:1\"\n").unwrap_err();
        assert!(two.to_string().contains("auth"), "{two}");
    }

    #[test]
    fn values_are_refused_with_their_names() {
        let refusals = [
            ("[store]\nurl = \"mysql://x\"", "is not a database"),
            ("[store]\nurl = \"sqlite:\"", "is not a database"),
            ("[admin]\nlisten = \"here\"", "`here` is not an address and a port"),
            ("[polling]\nconcurrency = 0", "polling.concurrency is 0"),
            ("[polling]\nconcurrency = -1", "concurrency"),
            ("[action]\nretry_seconds = 0", "action.retry_seconds is 0"),
            ("[limits]\npage_size_max = 0", "limits.page_size_max is 0"),
            (
                "[limits.budgets.link]\nrequests = 1\nseconds = 0",
                "limits.budgets.link.seconds is 0",
            ),
            ("[limits.budgets.sleep]\nrequests = 1\nseconds = 1", "sleep"),
            ("[versions]\nreleases = [[\"2022-01-01\", \"2022-01-01T00:00:00Z\"]]", "2022-01-01"),
            ("[link]\nlanguage = \"fr\"", "`fr` is not a language of the pages"),
            ("[link]\ncolour_scheme = \"pink\"", "pink"),
            ("[link]\nlogin_timeout_seconds = 0", "link.login_timeout_seconds is 0"),
            ("[events]\nkeep_days = 0", "events.keep_days is 0"),
            (
                "[[events.subscriptions]]\nname = \"a\"\nclient = \"c\"\nurl = \"ftp://x\"",
                "events.subscriptions[0].url: \"ftp://x\" is not an address",
            ),
            (
                "[[events.subscriptions]]\nname = \"a\"\nclient = \"c\"\nurl = \"http://x\"\n\
                 template = '\"{nome}\"'",
                "events.subscriptions[0].template: the template has `{nome}`",
            ),
            (
                "[[events.subscriptions]]\nname = \"a\"\nclient = \"c\"\nurl = \"http://x\"\n\
                 secret = \"short\"",
                "a secret is whsec_",
            ),
            ("[plans]\nstability_budget = -1.0", "plans.stability_budget is below 0"),
            ("[plans.assume]\nefficiency = 0.0", "plans.assume.efficiency is 0"),
            ("[auth]\ntrusted_proxies = [\"lan\"]", "`lan` is not an address or a network"),
            ("[serve]\nconnections_max = 0", "serve.connections_max is 0"),
            ("[serve]\nrequests_max = 0", "serve.requests_max is 0"),
            ("[serve]\ndrain_seconds = -1", "drain_seconds"),
            (
                "[limits.budgets.link]\nrequests = 0\nseconds = 1",
                "limits.budgets.link.requests is 0",
            ),
            ("[statistics]\npower_max_kw = 0", "statistics.power_max_kw is 0 kW; it is above 0"),
            ("[sandbox]\nhomes = 0", "sandbox.homes is 0"),
            (
                "[sandbox]\nhomes = 2\nscenario = \"street\"",
                "sandbox.scenario and sandbox.homes are both set",
            ),
            ("[admin]\nlisten = \"0.0.0.0:8083\"", "which other machines can reach"),
            ("[admin]\ntoken = \"short\"", "admin.token: a token is at least 20"),
            ("[admin]\ntoken_file = \"/nowhere/token\"", "cannot read /nowhere/token"),
            (
                "[admin]\ntoken = \"0123456789abcdefghij\"\ntoken_file = \"t\"",
                "admin.token and admin.token_file are both set",
            ),
            ("unknown = 1", "unknown"),
            ("[environments.sandbox.base]\nurl = \"ftp://x\"", "is not an address such as"),
        ];
        for (text, reason) in refusals {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert_eq!(read("").unwrap(), Config::default());
        let guarded = "[admin]\nlisten = \"0.0.0.0:8083\"\ntoken = \"0123456789abcdefghij\"";
        assert!(read(guarded).is_ok());
    }

    #[test]
    fn settings_that_are_probably_not_meant_are_doubted() {
        assert!(Config::default().doubts().is_empty());
        let all = read(
            "[action]\nretry_seconds = 301\ntimeout_seconds = 300\n[serve]\ndrain_seconds = 3601",
        );
        let doubts = all.unwrap().doubts();
        assert_eq!(doubts.len(), 2, "{doubts:?}");
        assert!(doubts[0].starts_with("action.retry_seconds is 301 s, longer than"), "{doubts:?}");
        assert!(doubts[1].starts_with("serve.drain_seconds is 3601 s, more than 3600 s"));
    }

    #[test]
    fn home_assistant_is_off_by_default_and_needs_a_broker_and_a_user() {
        assert_eq!(read("").unwrap().home_assistant, None);
        let refused =
            |text: &str| read(&format!("[home_assistant]\n{text}")).unwrap_err().to_string();
        let broker = refused("broker = \"broker\"\nuser = \"ada\"");
        let told = "settings.toml: home_assistant.broker: expected mqtt://HOST";
        assert!(broker.contains(told), "{broker}");
        let user = refused("broker = \"mqtt://b\"");
        assert!(user.contains("user"), "{user}");
    }

    #[test]
    fn a_sandbox_opens_if_it_is_named_or_nothing_is() {
        let production = "[environments.production]\nbase = { listen = \"127.0.0.1:1\" }\n\
             auth = { listen = \"127.0.0.1:2\" }\nlink = { listen = \"127.0.0.1:3\" }\n";
        let environments = |text: &str| {
            let Environments { sandbox, production } = read(text).unwrap().environments;
            (sandbox.is_some(), production.is_some())
        };
        assert_eq!(environments(""), (true, false));
        assert_eq!(environments(production), (false, true));
        assert_eq!(environments("[environments]"), (false, false));
        let both = format!("{production}[environments.sandbox.base]\nlisten = \"127.0.0.1:4\"");
        assert_eq!(environments(&both), (true, true));
        let homes = format!("{production}[sandbox]\nhomes = 3");
        let error = read(&homes).unwrap_err().to_string();
        assert!(error.starts_with("sandbox.homes is set, and [environments.sandbox]"), "{error}");
    }

    #[test]
    fn errors_name_the_setting_and_the_file_and_no_secret() {
        for (text, expected) in [
            (
                "[polling]\nconcurrency = -1",
                "polling.concurrency: expected a whole number from 0 to 4294967295, found -1",
            ),
            (
                "[polling]\nconcurrency = \"many\"",
                "polling.concurrency: expected a whole number from 0 to 4294967295, found a text",
            ),
            ("store = \"postgres://u:sesame@h/d\"", "store: expected a table, found a text"),
            (
                "[store]\nurl = \"postgre://u:sesame@h/d\"",
                "store.url: `postgre://u:***@h/d` is not a database",
            ),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert!(error.contains("settings.toml"), "{error}");
            assert!(!error.contains("sesame") && !error.contains("default"), "{error}");
        }
    }

    #[test]
    fn addresses_have_a_port() {
        for good in ["127.0.0.1:8080", " 0.0.0.0:0 ", "[::]:65535"] {
            assert!(listen_address(good).is_ok(), "{good}");
        }
        for bad in
            ["", "8080", ":8080", "127.0.0.1", "127.0.0.1:65536", "localhost:8080", "::1:8080x"]
        {
            let error = listen_address(bad).unwrap_err();
            assert!(
                error.to_string().starts_with(&format!("`{bad}` is not an address")),
                "{error}"
            );
        }
    }
}

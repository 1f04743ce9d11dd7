//! Arguments of the command line.
use std::path::PathBuf;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use serde::de::IgnoredAny;
use slackwater_control::device::scope::{DeviceKind, DeviceKindError};
use slackwater_engine::units::Power;
use slackwater_service::clock::{ClockError, Speed};
use slackwater_service::config::admin::Role;
use slackwater_service::config::error::ConfigError;
use slackwater_service::config::log_filter;
use slackwater_service::config::text::Listen;
use slackwater_store::client::{Environment, EnvironmentError};
use slackwater_wire::version::dated::{ApiVersion, ApiVersionError};
use uuid::Uuid;

use crate::admin::clients::NewClient;
use crate::commands::address::{CONNECTION, Server};
use crate::commands::command::{CommandLine, parse_kw, parse_number};
use crate::commands::evidence::EvidenceCommand;
use crate::commands::grid::GridCommand;

/// Form of the output, below the help of the program.
const OUTPUT: &str =
    "Commands of operators print JSON. `slackwater-api COMMAND --help` lists their options.";

/// Flexible electricity use over HTTP.
#[derive(Debug, Parser)]
#[command(name = "slackwater-api", version, after_help = OUTPUT)]
pub(crate) struct Arguments {
    /// Settings in TOML. Without it there is a sandbox on this machine only.
    #[arg(
        long,
        global = true,
        help_heading = CONNECTION,
        env = "SLACKWATER_CONFIG",
        value_name = "FILE"
    )]
    pub(crate) config: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve requests until a stop signal.
    Serve(Serve),
    /// Make and list clients, at a running server or in its database.
    Client(Kept<ClientCommand>),
    /// List and show users of clients.
    User(Asked<UserCommand>),
    /// List, show and make locations of users.
    Location(Asked<LocationCommand>),
    /// List and show linked devices.
    Device(Asked<DeviceCommand>),
    /// Add, list, show, restart, unlock and forget chargers that connect by OCPP.
    Charger(ChargerLine),
    /// Send commands to devices, and follow their actions.
    #[command(name = "command")]
    Tell(CommandLine),
    /// Read events, and manage their receivers, at a running server or in its database.
    Events(Kept<EventsCommand>),
    /// Answer a link session of a running sandbox, as its user would in a browser.
    Link(Asked<LinkCommand>),
    /// Control a running sandbox.
    Sandbox(Asked<SandboxCommand>),
    /// Import and look up prices of a running server.
    Prices(Asked<PricesCommand>),
    /// List, show and set limits of areas, at a running server.
    Limit(Asked<LimitCommand>),
    /// Pass orders of grid operators to a running server, and show the limits in force.
    Grid(Asked<GridCommand>),
    /// Make keys that sign evidence of grid orders, and check such evidence.
    #[command(subcommand)]
    Evidence(EvidenceCommand),
    /// Set the tariff of a location, at a running server.
    Tariff(Asked<TariffCommand>),
    /// Show and set the policies of smart charging.
    Policy(Asked<PolicyCommand>),
    /// Show the plans of devices.
    Plan(Asked<PlanCommand>),
    /// Make tokens for the operators' address, list what operators did, and ask whether a server answers.
    Admin(Asked<AdminCommand>),
    /// Make keys for secrets in the database, and encrypt them with another key.
    #[command(subcommand)]
    Store(StoreCommand),
    /// Check and print settings.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print the OpenAPI document.
    Openapi,
    /// Print completions of these commands for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// List users.
    List {
        /// Users of this client only.
        #[arg(long)]
        client: Option<String>,
    },
    /// Show a user with accounts, locations and devices.
    Show {
        /// The client.
        #[arg(long)]
        client: String,
        /// The identifier that the client chose.
        user: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum LocationCommand {
    /// List locations.
    List {
        /// Locations of this client only.
        #[arg(long)]
        client: Option<String>,
        /// Locations of this user only.
        #[arg(long)]
        user: Option<String>,
        /// Locations in this market zone only.
        #[arg(long)]
        zone: Option<String>,
        /// Locations in this area only.
        #[arg(long)]
        area: Option<String>,
    },
    /// Show a location with its tariff and the devices that are there.
    Show {
        /// Its identifier.
        location: String,
    },
    /// Make a location of a user, and print it with its identifier.
    Create(CreateLocation),
}

#[derive(Debug, Args)]
pub(crate) struct CreateLocation {
    /// The client.
    #[arg(long)]
    pub(crate) client: String,
    /// The user, by the identifier that the client chose. One that is not known yet is made.
    #[arg(long)]
    pub(crate) user: String,
    /// Its identifier, to change a location or to choose the identifier of a new one.
    #[arg(long, value_parser = parse_id)]
    pub(crate) id: Option<Uuid>,
    /// Its time zone, such as Europe/Oslo.
    #[arg(long, value_parser = time_zone)]
    pub(crate) time_zone: Option<Tz>,
    /// Its latitude, in degrees.
    #[arg(long, requires = "longitude", allow_negative_numbers = true)]
    pub(crate) latitude: Option<f64>,
    /// Its longitude, in degrees.
    #[arg(long, requires = "latitude", allow_negative_numbers = true)]
    pub(crate) longitude: Option<f64>,
    /// The market zone that it lies in.
    #[arg(long)]
    pub(crate) zone: Option<String>,
    /// The client's own part of that zone.
    #[arg(long, requires = "zone")]
    pub(crate) area: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DeviceCommand {
    /// List devices.
    List {
        /// Devices of this client only.
        #[arg(long)]
        client: Option<String>,
        /// Devices of this user only.
        #[arg(long)]
        user: Option<String>,
        /// Devices of this kind only, such as charger.
        #[arg(long, value_parser = kind)]
        kind: Option<DeviceKind>,
        /// Devices of this manufacturer only.
        #[arg(long)]
        vendor: Option<String>,
    },
    /// Show a device with its last reading.
    Show {
        /// Its identifier, or its manufacturer's name of it.
        device: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AdminCommand {
    /// Make tokens.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Fail unless the server answers, for checks of liveness. Its database is not asked.
    Ping,
    /// List what operators did: who, when, from where, what, and the status of the answer.
    Audit {
        /// Begin after this `seq`.
        #[arg(long, value_name = "SEQ", default_value_t = 0, value_parser = parse_whole::<u64>)]
        after: u64,
        /// Most acts to list.
        #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = parse_whole::<u32>)]
        limit: u32,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it, this once only, with its hash for `admin.tokens` of the settings.
    /// A token is taken back by taking its table out of the settings.
    Create {
        /// Name in the audit log.
        #[arg(long)]
        name: String,
        /// Rights: `read`, or `operate` to change things, too.
        #[arg(long, value_parser = role)]
        role: Role,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Print a new key, for a file that `store.key_file` of the settings names.
    Key,
    /// Encrypt all secrets in the database of the settings with the key of `store.key_file`: those in
    /// clear text, and those of `store.old_key_files`. A service may run meanwhile.
    Rekey,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the settings as a start would, without starting: values, files that they name, and
    /// who can read files with secrets.
    Check,
    /// Print the settings in force, in TOML. Secrets are shown as `***`.
    Print {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of the file of settings, for editors.
    Schema,
}

/// A command about chargers that connect by OCPP, for a running server or for the files of the
/// integration.
#[derive(Debug, Args)]
pub(crate) struct ChargerLine {
    #[command(flatten)]
    pub(crate) server: Server,

    /// Work on the files in this folder, for when no server runs.
    #[arg(long, global = true, help_heading = CONNECTION, value_name = "FOLDER")]
    pub(crate) state_folder: Option<PathBuf>,

    /// Vendor code of the integration, where several have a charger of that identity.
    #[arg(long, global = true, value_name = "CODE")]
    pub(crate) vendor: Option<String>,

    #[command(subcommand)]
    pub(crate) command: ChargerCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChargerCommand {
    /// Add a charger, and print its password and the code for its owner. Both are kept as hashes
    /// only. It works on the files: in the folder of the settings, if none is named.
    Add {
        /// Identity with which it connects: the last part of its address.
        identity: String,
        /// Replace the password and the code of a charger that was added before.
        #[arg(long)]
        replace: bool,
    },
    /// List the chargers that were added: model, connection, last message, and how many users
    /// linked each.
    List,
    /// Show what is known of a charger: connectors with transactions, limits in force against those
    /// that are wanted, its deviations from the standard, variables, and its last messages. In a
    /// folder: its state as it was last written.
    Show {
        /// Its identity.
        identity: String,
    },
    /// Remove a charger with its credentials and its state. Its connection ends, it cannot connect
    /// any more, and its users' links to it end. In a folder a connection goes on until it is closed.
    Forget {
        /// Its identity.
        identity: String,
    },
    /// Have a charger send a message.
    Trigger {
        /// Its identity.
        identity: String,
        /// The message.
        #[arg(value_enum)]
        message: TriggerWord,
        /// Its connector or EVSE, if the message is about one.
        #[arg(long, value_name = "NUMBER", value_parser = parse_whole::<u32>)]
        connector: Option<u32>,
    },
    /// Restart a charger. It ends its transactions in order first (1.6), or waits until there is
    /// none (2.0.1).
    Reset {
        /// Its identity.
        identity: String,
        /// Restart it at once.
        #[arg(long)]
        hard: bool,
    },
    /// Unlock the cable of a connector. A transaction that uses it ends (1.6), or keeps it locked
    /// (2.0.1).
    Unlock {
        /// Its identity.
        identity: String,
        /// Its connector or EVSE.
        #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = parse_whole::<u32>)]
        connector: u32,
    },
    /// Have a charger forget the tokens (RFID cards) that it has accepted.
    ClearTokens {
        /// Its identity.
        identity: String,
    },
}

/// Message that a charger may be asked to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TriggerWord {
    /// Its model and firmware.
    Boot,
    /// State of its connectors.
    Status,
    /// Values of its meters.
    MeterValues,
    /// A sign of life.
    Heartbeat,
    /// State of the upload of its log.
    Diagnostics,
    /// State of an update of its firmware.
    Firmware,
}

/// A command for a running server.
#[derive(Debug, Args)]
pub(crate) struct Asked<C: Subcommand> {
    #[command(flatten)]
    pub(crate) server: Server,

    #[command(subcommand)]
    pub(crate) command: C,
}

/// A command for a running server, or for its database while no server runs.
#[derive(Debug, Args)]
pub(crate) struct Kept<C: Subcommand> {
    #[command(flatten)]
    pub(crate) server: Server,

    /// Work on the database of the settings, for when no server runs.
    #[arg(long, global = true, help_heading = CONNECTION)]
    pub(crate) store: bool,

    #[command(subcommand)]
    pub(crate) command: C,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Print the policies of a device.
    Show {
        /// Its identifier, or its manufacturer's name of it.
        device: String,
    },
    /// Set the smart charging policy of a vehicle or charger, or the comfort policy of a heating or
    /// cooling unit.
    Set {
        /// Its identifier, or its manufacturer's name of it.
        device: String,
        /// The policy as JSON; `-` reads the standard input. Of a vehicle:
        /// `is_enabled`, `deadline`, `minimum_charge_limit_percent`; of a charger:
        /// `is_enabled`, `deadline`, `charging_duration`; of a heating or cooling unit: the members
        /// of the settings below `comfort`, or `null` to go back to the settings.
        file: PathBuf,
    },
    /// Make a flex policy, or put it in the place of one.
    Flex {
        /// Its identifier.
        #[arg(value_parser = parse_id)]
        policy: Uuid,
        /// The policy as JSON; `-` reads the standard input: `vehicle_id`,
        /// `location_id`, and `policy` with `reserve_percent`, `schedule` and
        /// `observed_limit_percent`.
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// Print the last plan of a device, with reasons, certificate and prices.
    Show {
        /// Its identifier, or its manufacturer's name of it.
        device: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PricesCommand {
    /// Import a list of market prices, in delimited text or JSON.
    Import {
        /// The list; `-` reads the standard input.
        file: PathBuf,
        /// The market zone.
        #[arg(long)]
        zone: String,
        /// The currency, where the settings do not know the zone.
        #[arg(long)]
        currency: Option<String>,
        /// Unit of the numbers, such as EUR/MWh, if the header has none.
        #[arg(long)]
        unit: Option<String>,
        /// Time zone of times without an offset.
        #[arg(long)]
        time_zone: Option<String>,
    },
    /// List price feeds: last and next try, last failure, and the end of the prices.
    Feeds,
    /// Fetch the price feed of a zone at once.
    Fetch {
        /// The market zone.
        #[arg(long)]
        zone: String,
    },
    /// Print the price in force at a location at an instant, and its source.
    At {
        #[command(flatten)]
        place: Place,
        /// The instant, such as 2026-01-05T18:00:00Z.
        #[arg(long, value_parser = parse_instant)]
        at: DateTime<Utc>,
    },
    /// Print the prices in force at a location in a window.
    Window {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        window: TimeWindow,
    },
    /// Print the price signal of a client for an area in a window.
    Signal {
        /// The client.
        #[arg(long)]
        client: String,
        /// The market zone.
        #[arg(long)]
        zone: String,
        /// The area.
        #[arg(long)]
        area: String,
        #[command(flatten)]
        window: TimeWindow,
    },
}

/// A location, and whose prices are meant.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The client.
    #[arg(long)]
    pub(crate) client: String,
    /// The identifier of one of its locations.
    #[arg(long, value_parser = parse_id)]
    pub(crate) location: Uuid,
    /// Let the price signal of the area count before tariff and market, as for Flex.
    #[arg(long)]
    pub(crate) flex: bool,
}

/// A time.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct TimeWindow {
    /// First instant.
    #[arg(long, value_parser = parse_instant)]
    pub(crate) from: DateTime<Utc>,
    /// First instant after it.
    #[arg(long, value_parser = parse_instant)]
    pub(crate) to: DateTime<Utc>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LimitCommand {
    /// List all areas with a limit.
    List,
    /// Show the limit of an area: now, as set, and as in the settings.
    Show {
        #[command(flatten)]
        area: AreaName,
    },
    /// Set the limit of an area: from now on, or from one instant to another.
    Set {
        #[command(flatten)]
        area: AreaName,
        /// Highest power of all its devices together, in kW.
        #[arg(long, value_parser = parse_kw, allow_negative_numbers = true)]
        power_max_kw: Power,
        /// First instant of the period, such as 2026-01-05T18:00:00Z.
        #[arg(long, requires = "to", value_parser = parse_instant)]
        from: Option<DateTime<Utc>>,
        /// First instant after it.
        #[arg(long, requires = "from", value_parser = parse_instant)]
        to: Option<DateTime<Utc>>,
    },
    /// Set the limits of many periods, in place of what their times had.
    Import {
        #[command(flatten)]
        area: AreaName,
        /// Delimited text with the columns `start`, `end` and `power_max_kw`; `-` reads the
        /// standard input.
        file: PathBuf,
        /// Forget all other periods.
        #[arg(long)]
        replace: bool,
    },
    /// Take back what was set: in a window, or all of it. The usual limit holds there again.
    Clear {
        #[command(flatten)]
        area: AreaName,
        /// First instant of the window.
        #[arg(long, requires = "to", value_parser = parse_instant)]
        from: Option<DateTime<Utc>>,
        /// First instant after it.
        #[arg(long, requires = "from", value_parser = parse_instant)]
        to: Option<DateTime<Utc>>,
    },
}

/// An area of a market zone.
#[derive(Debug, Clone, Args)]
pub(crate) struct AreaName {
    /// The market zone.
    #[arg(long)]
    pub(crate) zone: String,
    /// The area.
    #[arg(long)]
    pub(crate) area: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TariffCommand {
    /// Set the tariff of a location, in place of the previous one.
    Assign {
        /// The client.
        #[arg(long)]
        client: String,
        /// The identifier of one of its locations.
        #[arg(long, value_parser = parse_id)]
        location: Uuid,
        /// The tariff; without one the location has none from now on.
        #[arg(long)]
        tariff: Option<String>,
        /// When which rate holds, such as
        /// `[{"name": "night", "weekdays": [0, 1], "start": "22:00", "end": "06:00"}]`.
        #[arg(long, default_value = "[]")]
        intervals: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Address and port of the sandbox's service. Port 0 takes free ports for all addresses.
    #[arg(long, env = "SLACKWATER_LISTEN", value_name = "ADDRESS")]
    pub(crate) listen: Option<Listen>,

    /// Log filter: a level, or levels per module.
    #[arg(
        long,
        env = "SLACKWATER_LOG",
        value_name = "FILTER",
        default_value = "info",
        value_parser = checked_log_filter,
    )]
    pub(crate) log: String,

    /// Speed of the sandbox's clock, such as 60x; 0x stops it.
    #[arg(long, value_name = "SPEED", value_parser = checked_speed)]
    pub(crate) clock: Option<String>,

    /// Scenario of the sandbox: a file, or `street`.
    #[arg(long, value_name = "FILE", conflicts_with = "homes")]
    pub(crate) scenario: Option<PathBuf>,

    /// Number of generated homes to simulate.
    #[arg(long, value_name = "NUMBER", value_parser = parse_count)]
    pub(crate) homes: Option<u32>,

    /// Print requests to try, with a fresh token.
    #[arg(long)]
    pub(crate) welcome: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EventsCommand {
    /// Print events as lines of JSON, and follow new ones.
    Tail(Tail),
    /// Subscribe a receiver from now on.
    Subscribe(Subscribe),
    /// List receivers, and how far each was served. Secrets are not shown.
    List,
    /// Remove a receiver that was subscribed by hand.
    Remove {
        /// Its name.
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Tail {
    /// Begin after this `seq`.
    #[arg(long, value_name = "SEQ", default_value_t = 0, value_parser = parse_whole::<i64>)]
    pub(crate) after: i64,

    /// Events of this client only.
    #[arg(long)]
    pub(crate) client: Option<String>,

    /// Stop at the last event that there is.
    #[arg(long)]
    pub(crate) once: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Subscribe {
    /// Name of the subscription.
    pub(crate) name: String,

    /// The client whose events are posted.
    #[arg(long)]
    pub(crate) client: String,

    /// Address to post them to.
    #[arg(long)]
    pub(crate) url: String,

    /// The version that they carry, if not that of the client.
    #[arg(long, value_parser = version)]
    pub(crate) version: Option<ApiVersion>,

    /// Names of the events; all, if none are named.
    #[arg(long = "event", value_name = "NAME")]
    pub(crate) events: Vec<String>,

    /// A file with the body, in JSON with placeholders such as {name}. Without
    /// it nothing is posted.
    #[arg(long, value_name = "FILE")]
    pub(crate) template: Option<PathBuf>,

    /// A file with the secret for signatures, `whsec_...`.
    #[arg(long, value_name = "FILE")]
    pub(crate) secret_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LinkCommand {
    /// Log in at the manufacturer and link its devices.
    Accept {
        /// The `linkUrl` of the session.
        link_url: String,
        /// The manufacturer, if the session does not name it.
        #[arg(long)]
        vendor: Option<String>,
        /// The name of the account: that of a user of the scenario.
        #[arg(long)]
        user: String,
        /// Its password.
        #[arg(long, default_value = "sandbox")]
        password: String,
        /// The code, where the manufacturer wants one.
        #[arg(long)]
        code: Option<String>,
        /// Devices to link, by the names of the scenario; by default all that match.
        #[arg(long = "device", value_name = "DEVICE")]
        devices: Vec<String>,
    },
    /// Refuse the link session.
    Deny {
        /// The `linkUrl` of the session.
        link_url: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Add or change what a patch in YAML or JSON names.
    Apply {
        /// The patch; `-` reads the standard input.
        file: PathBuf,
        /// The client of the linked devices, if not the scenario's own.
        #[arg(long)]
        client: Option<String>,
    },
    /// Print the whole scenario, patches included.
    Scenario,
    /// List the devices and their identifiers.
    Devices,
    /// Print the true state of a device, without sleep or faults of its manufacturer.
    Truth {
        /// Its name or identifier.
        device: String,
    },
    /// Set the behaviour of a device or manufacturer.
    Conduct {
        /// Such as `{"device": "ada-car", "conduct": {"sleep": {"may_be_woken": true}}}`.
        #[arg(value_parser = checked_json)]
        order: String,
    },
    /// Operate a device by hand, such as its plug.
    Hand {
        /// Such as `{"device": "ada-car", "hand": "unplug"}`.
        #[arg(value_parser = checked_json)]
        order: String,
    },
    /// Let a device execute its pending command now.
    Reach {
        /// Its name or identifier.
        device: String,
    },
    /// Send a command without an action.
    Send {
        /// Its name or identifier.
        device: String,
        /// Such as `{"charge": "start"}`.
        #[arg(value_parser = checked_json)]
        command: String,
    },
    /// List the commands sent to manufacturers.
    Commands {
        /// Commands to one device only.
        #[arg(long)]
        device: Option<String>,
    },
    /// Show the clock, put it forward, or set its speed.
    Clock {
        /// Seconds to put it forward.
        #[arg(
            long,
            value_name = "SECONDS",
            value_parser = parse_number,
            allow_negative_numbers = true
        )]
        step: Option<f64>,
        /// Speed relative to the machine's clock; 0 stops it.
        #[arg(long, value_parser = parse_number)]
        speed: Option<f64>,
    },
    /// Print a generated scenario.
    Generate {
        /// Number of homes.
        #[arg(long, default_value_t = 20, value_parser = parse_count)]
        homes: u32,
        /// Seed of the random numbers.
        #[arg(long, default_value_t = 1, value_parser = parse_whole::<u64>)]
        seed: u64,
    },
    /// Print the JSON Schema of scenarios.
    Schema,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClientCommand {
    /// Make a client and print its secret, which is shown this once only.
    Create(CreateClient),
    /// List all clients, without their secrets.
    List,
    /// Show a client, and how many users and devices it has.
    Show {
        /// Its identifier.
        client: String,
    },
    /// Give a client a new secret, which is shown this once only. The old one ends at once; tokens
    /// go on until their hour is over.
    Rotate {
        /// Its identifier.
        client: String,
        /// End its tokens at once, too: for a secret that others may know.
        #[arg(long)]
        end_tokens: bool,
    },
    /// Take a client's secret and tokens back. Its users and devices stay, and `rotate` lets it in
    /// again.
    Revoke {
        /// Its identifier.
        client: String,
    },
    /// Change the name of a client.
    Rename {
        /// Its identifier.
        client: String,
        /// Its new name.
        name: String,
    },
    /// Pin a client to a version.
    Pin {
        /// Its identifier.
        client: String,
        /// The version, such as 2024-10-01.
        version: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreateClient {
    /// The environment that the client belongs to, for ever.
    #[arg(long, value_parser = environment)]
    pub(crate) environment: Environment,

    /// Name of the client.
    #[arg(long, default_value = "")]
    pub(crate) name: String,

    /// The version to pin it to, if not the current one.
    #[arg(long, value_parser = version)]
    pub(crate) version: Option<ApiVersion>,
}

impl From<CreateClient> for NewClient {
    fn from(CreateClient { environment, name, version }: CreateClient) -> Self {
        let environment = environment.as_str().to_owned();
        Self { environment, name, version: version.map(|version| version.as_str().to_owned()) }
    }
}

/// Filters cannot be cloned, which arguments must be: the text is kept, once it is known to be good.
fn checked_log_filter(given: &str) -> Result<String, ConfigError> {
    log_filter(given).map(|_| given.to_owned())
}

fn time_zone(given: &str) -> Result<Tz, String> {
    given.parse().map_err(|_| "no IANA time zone, such as Europe/Oslo".to_owned())
}

fn kind(given: &str) -> Result<DeviceKind, DeviceKindError> {
    DeviceKind::parse(given)
}

fn parse_id(given: &str) -> Result<Uuid, String> {
    let example = "such as 0b3c8f52-5b43-4b6e-9b0e-3f3c6f0e6a51";
    given.parse().map_err(|_| format!("`{given}` is not an identifier {example}"))
}

/// Instant with an offset.
pub(crate) fn parse_instant(given: &str) -> Result<DateTime<Utc>, String> {
    let expected = "is not an instant with an offset, such as 2026-01-05T18:00:00Z or \
                    2026-01-05T19:00:00+01:00";
    given.parse().map_err(|_| format!("`{given}` {expected}"))
}

fn parse_whole<N: FromStr>(given: &str) -> Result<N, String> {
    // Numbers of the database are signed, and none of them is below 0.
    let whole = given.parse().ok().filter(|_| !given.starts_with('-'));
    whole.ok_or_else(|| format!("`{given}` is not a whole number of 0 or more"))
}

fn parse_count(given: &str) -> Result<u32, String> {
    let count = given.parse::<u32>().ok().filter(|count| *count > 0);
    count.ok_or_else(|| format!("`{given}` is not a whole number of 1 or more"))
}

fn checked_json(given: &str) -> Result<String, String> {
    let read: Result<IgnoredAny, serde_json::Error> = serde_json::from_str(given);
    read.map(|_| given.to_owned())
        .map_err(|_| format!("`{given}` is not JSON; `--help` has an example"))
}

fn role(given: &str) -> Result<Role, String> {
    let known = [Role::Read, Role::Operate].into_iter().find(|role| role.as_str() == given);
    known.ok_or_else(|| "one of read, operate".to_owned())
}

fn checked_speed(given: &str) -> Result<String, ClockError> {
    Speed::parse(given).map(|_| given.to_owned())
}

fn environment(given: &str) -> Result<Environment, EnvironmentError> {
    Environment::parse(given)
}

fn version(given: &str) -> Result<ApiVersion, ApiVersionError> {
    ApiVersion::parse(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from([&["slackwater-api"], words].concat())
    }

    #[test]
    fn arguments_are_checked() {
        let refusals = [
            (&["serve", "--listen", "nowhere"][..], "`nowhere` is not an address and a port"),
            (&["serve", "--log", "a=b=c"], "is not a log filter"),
            (&["serve", "--clock", "fast"], "`fast` is not a speed"),
            (&["serve", "--log", "verbose"], "`verbose` is not a level"),
            (&["serve", "--log", ""], "it is empty"),
            (&["serve", "--homes", "0"], "`0` is not a whole number of 1 or more"),
            (&["sandbox", "generate", "--homes", "0"], "`0` is not a whole number of 1 or more"),
            (&["events", "tail", "--after", "x"], "`x` is not a whole number of 0 or more"),
            (&["events", "tail", "--after=-5"], "`-5` is not a whole number of 0 or more"),
            (&["admin", "audit", "--after=-5"], "`-5` is not a whole number of 0 or more"),
            (&["sandbox", "clock", "--step", "soon"], "`soon` is not a number"),
            (&["sandbox", "hand", "unplug"], "`unplug` is not JSON; `--help` has an example"),
            (&["client", "list", "--admin-token", "short"], "a token is at least 20"),
            (&["client", "create", "--environment", "staging"], "`staging` is not an environment"),
            (&["client", "create", "--environment", "sandbox", "--version", "1"], "not a version"),
            (
                &["client", "list", "--admin", "localhost:8083"],
                "`localhost:8083` is not an address such",
            ),
            (
                &["device", "list", "--kind", "car"],
                "\"car\" is not a kind of device; one of battery",
            ),
            (
                &["prices", "at", "--client", "c", "--location", "home"],
                "`home` is not an identifier such",
            ),
            (
                &["grid", "order", "dso", "--limit-kw", "-5", "--until", "now"],
                "`now` is not an instant",
            ),
            (
                &["limit", "set", "--power-max-kw", "-3", "--from", "2026-01-05"],
                "is not an instant with",
            ),
        ];
        for (words, reason) in refusals {
            let error = parse(words).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(reason), "{error}");
        }
    }

    #[test]
    fn arguments_have_defaults() {
        let Command::Serve(serve) = parse(&["serve"]).unwrap().command else { panic!("serve") };
        assert_eq!((serve.listen, serve.log.as_str(), serve.clock), (None, "info", None));
    }

    #[test]
    fn the_address_for_operators_is_named_before_or_after_the_command() {
        let url = "http://127.0.0.1:9";
        for words in [
            &["sandbox", "devices", "--admin", url][..],
            &["sandbox", "--admin", url, "devices"],
            &["events", "tail", "--once", "--admin", url],
            &["client", "list", "--admin", url],
            &["command", "start", "ada-charger", "--admin", url],
            &["link", "deny", "x", "--admin", url],
        ] {
            let admin = match parse(words).unwrap().command {
                Command::Sandbox(asked) => asked.server.admin,
                Command::Events(asked) => asked.server.admin,
                Command::Client(asked) => asked.server.admin,
                Command::Tell(line) => line.server.admin,
                Command::Link(asked) => asked.server.admin,
                other => panic!("{other:?}"),
            };
            assert_eq!(admin.as_deref(), Some(url), "{words:?}");
        }
    }
}

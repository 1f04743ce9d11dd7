//! Settings that are refused.
use std::net::SocketAddr;
use std::path::PathBuf;

use slackwater_store::subscription::SubscriptionError;

/// Fault of a setting.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// Not an address with a port.
    #[error("`{given}` is not an address and a port, such as 127.0.0.1:8080 or [::1]:8080")]
    Listen {
        /// The text that was given.
        given: String,
    },
    /// Not a log filter.
    #[error("`{given}` is not a log filter, such as info or slackwater_http=debug: {reason}")]
    Log {
        /// The text that was given.
        given: String,
        /// Message of the filter's parser.
        reason: String,
    },
    /// Not an address of the web.
    #[error("`{given}` is not an address such as https://api.example.org, without a path")]
    Url {
        /// The text that was given.
        given: String,
    },
    /// Not an address of a broker. The text is not repeated: it may hold a password.
    #[error(
        "expected mqtt://HOST or mqtts://HOST, with a port or without; the account is in user_name \
         and password_file, and TLS needs a host name or an address of IPv4"
    )]
    Broker,
    /// Settings of Home Assistant.
    #[error("home_assistant.{0}")]
    HomeAssistant(String),
    /// Settings of traces.
    #[error("telemetry.traces.{0}")]
    Traces(String),
    /// The token of the operators' address.
    #[error("admin.token: {0}")]
    Token(#[from] TokenError),
    /// A file with a secret.
    #[error("{name}: cannot read {file}: {reason}")]
    SecretFile {
        /// The setting that names it.
        name: String,
        /// The file.
        file: PathBuf,
        /// The reason of the operating system.
        reason: String,
    },
    /// Other machines reach the operators' address, and nothing proves who they are.
    #[error(
        "admin.listen is {listen}, which other machines can reach, and no token is set; \
         set admin.tokens, admin.token, admin.token_file or admin.tls.client_ca_file, or \
         listen on 127.0.0.1"
    )]
    OpenAdmin {
        /// The address to listen on.
        listen: SocketAddr,
    },
    /// A name that does not tell whose token it is.
    #[error(
        "admin.tokens: {name:?} is empty, used twice or reserved; give each token its own name"
    )]
    TokenName {
        /// The name.
        name: String,
    },
    /// Two settings, of which one is meant.
    #[error("{one} and {other} are both set; set one of them")]
    Both {
        /// The first setting.
        one: String,
        /// The second setting.
        other: String,
    },
    /// Integrations of the sandbox, whose devices are simulated.
    #[error("environments.sandbox.integrations is set; the devices of the sandbox are simulated")]
    SandboxIntegrations,
    /// A setting of the sandbox, without a sandbox.
    #[error("{name} is set, and [environments.sandbox] is not: no sandbox is served")]
    NoSandbox {
        /// The setting or argument.
        name: &'static str,
    },
    /// A power that lets nothing through.
    #[error("{name} is {given} kW; it is above 0")]
    NoPower {
        /// The setting.
        name: &'static str,
        /// The power that was given, in kW.
        given: f64,
    },
    /// A limit of an area in a zone that does not exist.
    #[error("{name}: neither [zones] nor the scenario of the sandbox has the zone {zone:?}")]
    NoZone {
        /// The setting.
        name: String,
        /// The zone.
        zone: String,
    },
    /// A number of seconds or items that must not be zero.
    #[error("{name} is 0; it is at least 1")]
    Zero {
        /// The setting.
        name: String,
    },
    /// Something about plans makes no sense.
    #[error("{0}")]
    Plans(String),
    /// A sender of grid orders.
    #[error("{0}")]
    Grid(String),
    /// A price feed.
    #[error("{0}")]
    Feed(String),
    /// A comfort policy.
    #[error("{0}")]
    Comfort(String),
    /// Two services share a socket and cannot be told apart.
    #[error("{listen} has two services at {host}; give them hosts of their own by `url`, or ports")]
    Ambiguous {
        /// The socket.
        listen: SocketAddr,
        /// Host that both would answer to.
        host: String,
    },
    /// A receiver of events.
    #[error("events.subscriptions[{index}].{error}")]
    Subscription {
        /// Its place in the list.
        index: usize,
        /// Its fault.
        error: SubscriptionError,
    },
    /// The file, or values in it: one line for each.
    #[error("{0}")]
    Settings(String),
}

/// Shortest token: 20 characters of base64 are 120 random bits.
pub(super) const TOKEN_LENGTH_MIN: usize = 20;

/// A text that is no token. The text is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a token is at least {TOKEN_LENGTH_MIN} visible ASCII characters without spaces")]
pub struct TokenError;

/// A text that is no hash of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the hash of a token is 64 hexadecimal digits, as `slackwater-api admin token create` prints"
)]
pub struct TokenHashError;

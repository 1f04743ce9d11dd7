//! Arguments that name the sender, the operators' address, its token and certificates; and the log.
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use http::{HeaderValue, Uri};
use slackwater_https::client::{PemFiles, TlsError};
use tracing_subscriber::filter::LevelFilter;

use crate::http::Https;
use crate::service::Service;

/// Sender, address and token, among the arguments of a program.
#[derive(Debug, Clone, clap::Args)]
pub struct ServiceArguments {
    /// The sender of the orders: NAME of [grid.NAME] in the settings of the service.
    #[arg(long, value_name = "NAME", value_parser = parse_segment)]
    grid: String,

    /// The operators' address of the service.
    #[arg(long, env = "SLACKWATER_ADMIN_URL", value_name = "URL", value_parser = parse_url)]
    admin: String,

    /// The token of the operators' address. Other users of this machine see arguments: better put it
    /// into the environment or a file.
    #[arg(
        long,
        env = "SLACKWATER_ADMIN_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN",
        conflicts_with = "admin_token_file"
    )]
    admin_token: Option<String>,

    /// File with the token of the operators' address.
    #[arg(long, value_name = "FILE")]
    admin_token_file: Option<PathBuf>,

    /// Authority of the certificate of the operators' address, in PEM; those of this machine, if it is
    /// not named.
    #[arg(long, env = "SLACKWATER_ADMIN_CA", value_name = "FILE")]
    admin_ca: Option<PathBuf>,

    /// Certificate to show to the operators' address, and its key, in PEM, in one file.
    #[arg(long, env = "SLACKWATER_ADMIN_CERTIFICATE", value_name = "FILE")]
    admin_certificate: Option<PathBuf>,
}

/// Log of a program, among its arguments.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct LogArguments {
    /// Least level of the log: `info` has each order, `error` faults alone.
    #[arg(
        long = "log",
        default_value = "info",
        value_name = "LEVEL",
        value_parser = level_parser(),
        ignore_case = true
    )]
    level: LevelFilter,
}

impl LogArguments {
    /// Begins the log, on the standard error output.
    pub fn begin_log(self) {
        let log = tracing_subscriber::fmt().with_max_level(self.level).with_writer(io::stderr);
        // Colours are for terminals: files and journals would have their codes.
        log.with_ansi(io::stderr().is_terminal()).init();
    }
}

/// Secret that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// A file that cannot be read.
    #[error("{option} {}: {reason}", file.display())]
    File {
        /// Name of the option.
        option: &'static str,
        /// The file.
        file: PathBuf,
        /// Reason.
        reason: String,
    },
    /// A token that cannot be sent.
    #[error("{option} is empty, or has characters that a header of HTTP cannot hold")]
    Token {
        /// Name of the option.
        option: &'static str,
    },
}

/// Sender that cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// A secret that cannot be used.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// There is no TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A certificate that cannot be used.
    #[error("--admin-ca, --admin-certificate: {0}")]
    Files(TlsError),
}

impl ServiceArguments {
    /// The sender at the operators' address, asked by a program of a name, and its client for
    /// requests to others.
    ///
    /// # Errors
    /// A file cannot be read, the token cannot be sent, or there is no TLS.
    pub fn connect(self, program: &str) -> Result<(Service, Https), ConnectError> {
        let token = read_secret(
            ("--admin-token", self.admin_token),
            ("--admin-token-file", self.admin_token_file.as_deref()),
        )?;
        let others = Https::of_program(program)?;
        let files = PemFiles { authority: self.admin_ca, certificate: self.admin_certificate };
        let own = Https::with_files(program, &files).map_err(ConnectError::Files)?;
        Ok((Service::new(own, &self.admin, &self.grid, token), others))
    }
}

/// Parser of the least level of a log: a word. `LevelFilter` itself takes digits, and an empty text as
/// `error`.
fn level_parser() -> impl TypedValueParser<Value = LevelFilter> {
    let words = PossibleValuesParser::new(["off", "error", "warn", "info", "debug", "trace"]);
    words.try_map(|word| word.parse::<LevelFilter>())
}

/// Secret that is given itself, or in a file, each with the name of its option.
///
/// # Errors
/// The file cannot be read, or the secret cannot be sent.
pub fn read_secret(
    (option, given): (&'static str, Option<String>),
    (file_option, file): (&'static str, Option<&Path>),
) -> Result<Option<String>, SecretError> {
    let (option, secret) = match (given, file) {
        (Some(secret), _) => (option, secret),
        (None, Some(file)) => {
            let failed = |reason: std::io::Error| SecretError::File {
                option: file_option,
                file: file.to_owned(),
                reason: reason.to_string(),
            };
            (file_option, std::fs::read_to_string(file).map_err(failed)?.trim().to_owned())
        }
        (None, None) => return Ok(None),
    };
    if secret.is_empty() || HeaderValue::from_str(&secret).is_err() {
        return Err(SecretError::Token { option });
    }
    Ok(Some(secret))
}

/// Address of HTTP, without the slash at its end.
///
/// # Errors
/// It is none, or has a query.
pub fn parse_url(text: &str) -> Result<String, String> {
    let refused =
        || "it must begin with http:// or https:// and a host, and have no query".to_owned();
    let uri: Uri = text.parse().map_err(|_| refused())?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    let has_host = uri.host().is_some_and(|host| !host.is_empty());
    if !is_http || !has_host || uri.query().is_some() || text.contains(['@', '#']) {
        return Err(refused());
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// Name that stands in a path as it is.
fn parse_segment(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if text.is_empty() || !text.bytes().all(is_plain) {
        return Err("a name has letters, digits, `-`, `_`, `.` and `~` only".to_owned());
    }
    Ok(text.to_owned())
}

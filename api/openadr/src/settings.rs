//! Arguments of the program, checked.
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use http::{HeaderValue, Uri};
use tracing_subscriber::filter::LevelFilter;

use crate::follow::Follower;
use crate::http::Https;
use crate::service::Service;
use crate::vtn::{Credentials, Vtn};

/// Follows limits of OpenADR 3 events (IMPORT_CAPACITY_LIMIT) as orders of a grid operator.
#[derive(Parser)]
#[command(name = "slackwater-openadr", version)]
#[expect(clippy::doc_markdown, reason = "these lines are the help of the command")]
pub struct Arguments {
    /// Address of the VTN, such as `https://vtn.example.org/openadr3/3.1.0`.
    #[arg(long, value_name = "URL", value_parser = parse_url)]
    vtn: String,

    /// The program whose events are followed, by the programID that the VTN gave it.
    #[arg(long, value_name = "ID", value_parser = parse_name)]
    program: String,

    /// A name for which events are followed; may be repeated. Events that name nobody are for all.
    /// Without it all events of the program that the VTN shows are followed.
    #[arg(long = "target", value_name = "NAME", value_parser = parse_name)]
    targets: Vec<String>,

    /// Name of this client at the VTN. Without one, requests have no token.
    #[arg(long, env = "OPENADR_CLIENT_ID", value_name = "ID", value_parser = parse_name)]
    client_id: Option<String>,

    /// Secret of this client. Other users of this machine see arguments: better put it into the
    /// environment or a file.
    #[arg(
        long,
        env = "OPENADR_CLIENT_SECRET",
        hide_env_values = true,
        value_name = "SECRET",
        requires = "client_id",
        conflicts_with = "client_secret_file"
    )]
    client_secret: Option<String>,

    /// File with the secret of this client.
    #[arg(long, value_name = "FILE", requires = "client_id")]
    client_secret_file: Option<PathBuf>,

    /// Address that gives tokens for the client; by default auth/token below that of the VTN.
    #[arg(long, value_name = "URL", value_parser = parse_url, requires = "client_id")]
    token_url: Option<String>,

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

    /// Seconds between two looks at the events. A heartbeat follows each: with the fail-safe after
    /// 120 s, three looks may fail at 30 s.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=60))]
    poll_seconds: u64,

    /// Least level of the log: `info` has each order, `error` faults alone.
    #[arg(long, default_value = "info", value_name = "LEVEL")]
    pub log: LevelFilter,
}

/// Setting that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
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
    /// A client without a secret.
    #[error("--client-id needs --client-secret-file, or OPENADR_CLIENT_SECRET in the environment")]
    NoSecret,
    /// A token that cannot be sent.
    #[error("{option} is empty, or has characters that a header of HTTP cannot hold")]
    Token {
        /// Name of the option.
        option: &'static str,
    },
    /// There is no TLS.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}

impl Arguments {
    /// Follower of these settings.
    ///
    /// # Errors
    /// A file cannot be read, a client has no secret, or a token cannot be sent.
    pub fn connect(self) -> Result<Follower, SettingError> {
        let secret = read_secret(
            ("--client-secret", self.client_secret),
            ("--client-secret-file", self.client_secret_file.as_deref()),
        )?;
        let token = read_secret(
            ("--admin-token", self.admin_token),
            ("--admin-token-file", self.admin_token_file.as_deref()),
        )?;
        let credentials = match (self.client_id, secret) {
            (Some(client_id), Some(client_secret)) => {
                let below = || format!("{}/auth/token", self.vtn);
                let token_url = self.token_url.unwrap_or_else(below);
                Some(Credentials { token_url, client_id, client_secret })
            }
            (Some(_), None) => return Err(SettingError::NoSecret),
            (None, _) => None,
        };
        let https = Https::new()?;
        let vtn = Vtn::new(https.clone(), self.vtn, self.program, credentials);
        let service = Service::new(https, &self.admin, &self.grid, token);
        Ok(Follower::new(vtn, service, self.targets, Duration::from_secs(self.poll_seconds)))
    }
}

/// Secret that is given itself, or in a file.
fn read_secret(
    (option, given): (&'static str, Option<String>),
    (file_option, file): (&'static str, Option<&Path>),
) -> Result<Option<String>, SettingError> {
    let (option, secret) = match (given, file) {
        (Some(secret), _) => (option, secret),
        (None, Some(file)) => {
            let failed = |reason: std::io::Error| SettingError::File {
                option: file_option,
                file: file.to_owned(),
                reason: reason.to_string(),
            };
            (file_option, std::fs::read_to_string(file).map_err(failed)?.trim().to_owned())
        }
        (None, None) => return Ok(None),
    };
    if secret.is_empty() || HeaderValue::from_str(&secret).is_err() {
        return Err(SettingError::Token { option });
    }
    Ok(Some(secret))
}

/// Address of HTTP, without the slash at its end.
fn parse_url(text: &str) -> Result<String, String> {
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

fn parse_name(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("it is empty".to_owned()) } else { Ok(text.to_owned()) }
}

/// Name that stands in a path as it is.
fn parse_segment(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if text.is_empty() || !text.bytes().all(is_plain) {
        return Err("a name has letters, digits, `-`, `_`, `.` and `~` only".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    const GOOD: [&str; 9] = [
        "slackwater-openadr",
        "--vtn",
        "https://vtn.example.org/openadr3/3.1.0/",
        "--program",
        "p1",
        "--grid",
        "dso",
        "--admin",
        "http://127.0.0.1:7002",
    ];

    /// Error of the good arguments with more of them, or with others in the place of those with a name.
    fn refusal(more: &[&str]) -> String {
        let mut line: Vec<&str> = GOOD.to_vec();
        let place = more.first().and_then(|name| line.iter().position(|word| word == name));
        match place {
            Some(place) => line[place + 1] = more[1],
            None => line.extend(more),
        }
        match Arguments::try_parse_from(line) {
            Err(error) => error.to_string(),
            Ok(arguments) => match arguments.connect() {
                Err(error) => error.to_string(),
                Ok(_) => panic!("{more:?} were taken"),
            },
        }
    }

    #[test]
    fn arguments_are_consistent() {
        Arguments::command().debug_assert();
        assert!(Arguments::try_parse_from(GOOD).is_ok_and(|arguments| arguments.connect().is_ok()));
    }

    #[test]
    fn a_bad_setting_is_one_error_that_names_the_option() {
        for (more, expected) in [
            (&["--vtn", "vtn.example.org"][..], "'--vtn <URL>': it must begin with http://"),
            (&["--vtn", "https:///x"], "'--vtn <URL>': it must begin"),
            (&["--vtn", "ftp://x"], "'--vtn <URL>': it must begin"),
            (&["--admin", "http://x?y"], "'--admin <URL>': it must begin"),
            (&["--token-url", "x", "--client-id", "a"], "'--token-url <URL>': it must begin"),
            (&["--grid", "a/b"], "'--grid <NAME>': a name has letters"),
            (&["--program", ""], "'--program <ID>': it is empty"),
            (&["--poll-seconds", "0"], "'--poll-seconds <POLL_SECONDS>': 0 is not in 1..=60"),
            (&["--poll-seconds", "61"], "'--poll-seconds <POLL_SECONDS>': 61 is not in 1..=60"),
            (
                &["--client-id", "a"],
                "--client-id needs --client-secret-file, or OPENADR_CLIENT_SECRET",
            ),
            (&["--client-secret-file", "/x"], "--client-id <ID>"),
            (&["--log", "louder"], "'--log <LEVEL>': error parsing level filter"),
            (&["--admin-token-file", "/no/file"], "--admin-token-file /no/file: No such file"),
            (&["--admin-token", "a\nb"], "--admin-token is empty, or has characters"),
            (
                &["--admin-token", "a", "--admin-token-file", "b"],
                "'--admin-token <TOKEN>' cannot be used",
            ),
        ] {
            let found = refusal(more);
            assert!(found.contains(expected), "{more:?}: {found}");
        }
    }
}

//! Arguments of the program, checked.
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use slackwater_grid_client::arguments::{
    ConnectError, LogArguments, SecretError, ServiceArguments, parse_url, read_secret,
};

use crate::follow::Follower;
use crate::vtn::{Credentials, Vtn};

/// Name of the program.
const PROGRAM: &str = "slackwater-openadr";

/// Follows limits of OpenADR 3 events (IMPORT_CAPACITY_LIMIT) as orders of a grid operator.
#[derive(Parser)]
#[command(name = PROGRAM, version)]
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

    #[command(flatten)]
    service: ServiceArguments,

    /// Seconds between two looks at the events. A heartbeat follows each: with the fail-safe after
    /// 120 s, three looks may fail at 30 s.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=60))]
    poll_seconds: u64,

    /// The log.
    #[command(flatten)]
    pub log: LogArguments,
}

/// Setting that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// A secret that cannot be used.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// A client without a secret.
    #[error("--client-id needs --client-secret-file, or OPENADR_CLIENT_SECRET in the environment")]
    NoSecret,
    /// The service cannot be reached with these arguments.
    #[error(transparent)]
    Service(#[from] ConnectError),
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
        let credentials = match (self.client_id, secret) {
            (Some(client_id), Some(client_secret)) => {
                let below = || format!("{}/auth/token", self.vtn);
                let token_url = self.token_url.unwrap_or_else(below);
                Some(Credentials { token_url, client_id, client_secret })
            }
            (Some(_), None) => return Err(SettingError::NoSecret),
            (None, _) => None,
        };
        let (service, https) = self.service.connect(PROGRAM)?;
        let vtn = Vtn::new(https, self.vtn, self.program, credentials);
        Ok(Follower::new(vtn, service, self.targets, Duration::from_secs(self.poll_seconds)))
    }
}

fn parse_name(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("it is empty".to_owned()) } else { Ok(text.to_owned()) }
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
            (&["--log", "3"], "'--log <LEVEL>'\n  [possible values: off, error, warn"),
            (&["--log", ""], "'--log <LEVEL>' but none was supplied\n  [possible values: off"),
            (&["--log", "louder"], "'--log <LEVEL>'\n  [possible values: off, error, warn"),
            (&["--admin-token-file", "/no/file"], "--admin-token-file /no/file: No such file"),
            (
                &["--admin-ca", "/no/file"],
                "--admin-ca, --admin-certificate: cannot set up TLS: /no/file",
            ),
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

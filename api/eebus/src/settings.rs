//! Arguments of the program, checked.
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use eebus::ship::Ski;
use slackwater_grid_client::arguments::{ConnectError, LogArguments, ServiceArguments};
use slackwater_grid_client::service::Service;

/// Name of the program.
const PROGRAM: &str = "slackwater-eebus";

/// Follows limits of an EEBUS control box (LPC, limitation of power consumption) as orders of a grid
/// operator.
#[derive(Debug, Parser)]
#[command(name = PROGRAM, version)]
pub struct Arguments {
    /// The control box that is trusted, by the 40 hexadecimal digits of its SKI.
    #[arg(long, value_name = "SKI")]
    pub trust: Ski,

    /// File with the private key, which is made if there is none. The SKI that follows from it is printed.
    #[arg(long, value_name = "FILE")]
    pub key_file: PathBuf,

    /// Address and port to which the control box connects.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:4712")]
    pub listen: SocketAddr,

    /// An address of this machine that is announced by mDNS, so that control boxes find it; may be
    /// repeated. Control boxes that announce themselves are connected to. Without it there is no mDNS.
    #[arg(long, value_name = "IP")]
    pub announce: Vec<IpAddr>,

    /// Least time in seconds for which the service holds its fail-safe: `hold_min_seconds` of
    /// `[grid.NAME]`. A control box may ask for less, and is refused more.
    #[arg(long, default_value_t = 7200, value_parser = clap::value_parser!(u32).range(7200..=86400))]
    hold_seconds: u32,

    #[command(flatten)]
    service: ServiceArguments,

    /// The log.
    #[command(flatten)]
    pub log: LogArguments,
}

impl Arguments {
    /// The sender at the service.
    ///
    /// # Errors
    /// The file of the token cannot be read, the token cannot be sent, or there is no TLS.
    pub fn connect_service(&self) -> Result<Service, ConnectError> {
        self.service.clone().connect(PROGRAM).map(|(service, _)| service)
    }

    /// Least time for which the fail-safe of the service holds.
    #[must_use]
    pub fn hold_time(&self) -> Duration {
        Duration::from_secs(self.hold_seconds.into())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    const GOOD: [&str; 9] = [
        "slackwater-eebus",
        "--trust",
        "5555 AAAA FFFF 1111 CCCC 3333 EEEE DDDD 9999 2222",
        "--key-file",
        "eebus.key",
        "--grid",
        "dso",
        "--admin",
        "http://127.0.0.1:7002",
    ];

    #[test]
    fn arguments_are_consistent() {
        Arguments::command().debug_assert();
        let arguments = Arguments::try_parse_from(GOOD).unwrap();
        assert!(arguments.connect_service().is_ok());
        assert_eq!(arguments.hold_time(), Duration::from_hours(2));
    }

    #[test]
    fn a_bad_setting_is_an_error_that_names_the_option() {
        for (more, expected) in [
            (["--trust", "5555"], "'--trust <SKI>': a SKI has 40 hexadecimal digits, found 4"),
            (["--listen", "box"], "'--listen <ADDRESS>'"),
            (["--announce", "box"], "'--announce <IP>'"),
            (["--hold-seconds", "7199"], "7199 is not in 7200..=86400"),
            (["--grid", "a/b"], "'--grid <NAME>': a name has letters"),
            (["--log", "3"], "'--log <LEVEL>'\n  [possible values: off, error, warn"),
            (["--log", ""], "'--log <LEVEL>' but none was supplied\n  [possible values: off"),
            (["--log", "louder"], "'--log <LEVEL>'\n  [possible values: off, error, warn"),
        ] {
            let mut line = GOOD.to_vec();
            match line.iter().position(|word| *word == more[0]) {
                Some(place) => line[place + 1] = more[1],
                None => line.extend(more),
            }
            let found = Arguments::try_parse_from(line).unwrap_err().to_string();
            assert!(found.contains(expected), "{more:?}: {found}");
        }
    }
}

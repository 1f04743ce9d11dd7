//! Program that answers the optimiser contract of evcc on a socket of its own.
use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use slackwater_evcc::routes::{Planner, routes};
use tokio::net::TcpListener;
use tokio::signal;
use tokio::signal::unix::SignalKind;
use tracing::{error, info};
use tracing_subscriber::filter::LevelFilter;

/// Answers the optimiser contract of evcc: set `OPTIMIZER_URI` there to `http://` and the address.
#[derive(Debug, Parser)]
#[command(name = "slackwater-evcc", version)]
struct Arguments {
    /// Address to listen on. Nobody is asked for a password: keep it in your home network.
    #[arg(long, default_value = "127.0.0.1:7050", value_parser = parse_address)]
    listen: SocketAddr,
    /// Seconds after which the searches of a request end with what they have. evcc waits for 30 s.
    #[arg(long, default_value_t = 10.0, value_parser = parse_seconds)]
    seconds_max: f64,
    /// Least level of the log: `info` has a reason for each step, `warn` refusals alone.
    #[arg(
        long,
        default_value = "info",
        value_name = "LEVEL",
        value_parser = level_parser(),
        ignore_case = true
    )]
    log: LevelFilter,
}

/// Parser of words: `LevelFilter` itself takes digits, and an empty text as `error`.
fn level_parser() -> impl TypedValueParser<Value = LevelFilter> {
    let words = PossibleValuesParser::new(["off", "error", "warn", "info", "debug", "trace"]);
    words.try_map(|word| word.parse::<LevelFilter>())
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    let refused = || format!("{text:?} is not a number of seconds above 0");
    let seconds: f64 = text.parse().map_err(|_| refused())?;
    if seconds.is_finite() && seconds > 0.0 { Ok(seconds) } else { Err(refused()) }
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let example = "such as 127.0.0.1:7050 or [::1]:7050";
    text.parse().map_err(|_| format!("{text:?} is not an address and a port, {example}"))
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let log = tracing_subscriber::fmt().with_max_level(arguments.log).with_writer(io::stderr);
    // Colours are for terminals: files and journals would have their codes.
    log.with_ansi(io::stderr().is_terminal()).init();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let planner = Planner::new(cores, Some(arguments.seconds_max));
    match serve_contract(arguments.listen, planner).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            error!("cannot listen on {}: {reason}", arguments.listen);
            ExitCode::FAILURE
        }
    }
}

/// Serves until a signal says stop.
async fn serve_contract(address: SocketAddr, planner: Planner) -> io::Result<()> {
    let socket = TcpListener::bind(address).await?;
    let mut stop = signal::unix::signal(SignalKind::terminate())?;
    info!("listening on http://{}", socket.local_addr()?);
    let stopped = async move {
        tokio::select! {
            _ = stop.recv() => {}
            _ = signal::ctrl_c() => {}
        }
    };
    axum::serve(socket, routes(planner)).with_graceful_shutdown(stopped).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_no_level_are_refused() {
        for level in ["off", "error", "WARN", "debug", "trace"] {
            assert!(
                Arguments::try_parse_from(["slackwater-evcc", "--log", level]).is_ok(),
                "{level}"
            );
        }
        for given in ["louder", "info,louder"] {
            let line = ["slackwater-evcc", "--log", given];
            let refusal = Arguments::try_parse_from(line).unwrap_err().to_string();
            assert!(refusal.contains("'--log <LEVEL>'"), "{given}: {refusal}");
        }
    }
}

//! The process around the service: arguments, log, listener, signals.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use slackwater_api::config::{listen_address, log_filter};
use slackwater_api::router;
use slackwater_api::state::App;
use tokio::net::TcpListener;
use tokio::signal;
use tokio::signal::unix::SignalKind;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::{info, warn};

/// How long requests may take to finish once the service is told to stop.
const GRACE: Duration = Duration::from_secs(10);

/// Flexible electricity use over HTTP.
#[derive(Debug, Parser)]
#[command(name = "slackwater-api", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve requests until a signal says stop.
    Serve(Serve),
}

#[derive(Debug, Args)]
struct Serve {
    /// Address and port to listen on.
    #[arg(
        long,
        env = "SLACKWATER_LISTEN",
        value_name = "ADDRESS",
        default_value = "127.0.0.1:8080",
        value_parser = listen_address,
    )]
    listen: SocketAddr,

    /// What to log: a level, or levels per module.
    #[arg(
        long,
        env = "SLACKWATER_LOG",
        value_name = "FILTER",
        default_value = "info",
        value_parser = checked_log_filter,
    )]
    log: String,
}

/// Why the process could not do its work.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("cannot listen on {address}: {reason}")]
    Listen { address: SocketAddr, reason: io::Error },
    #[error("cannot watch for signals: {0}")]
    Signals(io::Error),
    #[error("the server failed: {0}")]
    Server(io::Error),
}

#[tokio::main]
async fn main() -> ExitCode {
    let Command::Serve(arguments) = Arguments::parse().command;
    match run(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Filters cannot be cloned, which arguments must be: the text is kept, once it is known to be good.
fn checked_log_filter(given: &str) -> Result<String, slackwater_api::config::ConfigError> {
    log_filter(given).map(|_| given.to_owned())
}

async fn run(arguments: Serve) -> Result<(), Failure> {
    if let Ok(filter) = log_filter(&arguments.log) {
        let json = tracing_subscriber::fmt().json().flatten_event(true);
        json.with_env_filter(filter).with_writer(io::stderr).init();
    }
    let address = arguments.listen;
    let refused = |reason| Failure::Listen { address, reason };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    // Watched from before the first request, so that an early signal is not lost.
    let mut interrupt = signal::unix::signal(SignalKind::interrupt()).map_err(Failure::Signals)?;
    let mut terminate = signal::unix::signal(SignalKind::terminate()).map_err(Failure::Signals)?;

    info!(%address, "listening");
    serve(listener, App::new(), async move {
        tokio::select! {
            _ = interrupt.recv() => info!(signal = "SIGINT", "stopping"),
            _ = terminate.recv() => info!(signal = "SIGTERM", "stopping"),
        }
    })
    .await
    .map_err(Failure::Server)
}

/// Answers requests until `stop`, then finishes those under way, but not for longer than [`GRACE`].
async fn serve(
    listener: TcpListener,
    app: App,
    stop: impl Future<Output = ()>,
) -> Result<(), io::Error> {
    let (close, closed) = oneshot::channel();
    let server = axum::serve(listener, router(app.clone()));
    let server = server.with_graceful_shutdown(async {
        // Closing says stop, and so does dropping the other end.
        let _: Result<(), _> = closed.await;
    });
    let mut serving = pin!(server.into_future());
    tokio::select! {
        ended = &mut serving => return ended,
        () = stop => app.stop(),
    }
    drop::<oneshot::Sender<()>>(close);
    let Ok(ended) = timeout(GRACE, serving).await else {
        warn!(seconds = GRACE.as_secs(), "connections were still open and are cut");
        return Ok(());
    };
    info!("stopped");
    ended
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    async fn free_port() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    #[tokio::test]
    async fn a_request_is_answered_over_the_socket() {
        let (listener, address) = free_port().await;
        let (stop, stopped) = oneshot::channel::<()>();
        let server = serve(listener, App::new(), async { stopped.await.unwrap() });
        let client = async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = b"GET /health/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
            stream.write_all(request).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            stop.send(()).unwrap();
            answer
        };
        let (ended, answer) = tokio::join!(server, client);
        ended.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("{}"), "{answer}");
    }

    #[tokio::test]
    async fn stopping_closes_the_listener() {
        let (listener, address) = free_port().await;
        let app = App::new();
        serve(listener, app.clone(), ready(())).await.unwrap();
        assert!(app.is_stopping());
        assert!(TcpStream::connect(address).await.is_err());
    }

    #[test]
    fn arguments_have_defaults_and_are_checked() {
        let parse =
            |words: &[&str]| Arguments::try_parse_from([&["slackwater-api"], words].concat());
        let Command::Serve(serve) = parse(&["serve"]).unwrap().command;
        assert_eq!(serve.listen.to_string(), "127.0.0.1:8080");
        let error = parse(&["serve", "--listen", "nowhere"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("`nowhere` is not an address and a port"), "{error}");
        assert!(parse(&["serve", "--log", "a=b=c"]).is_err());
    }
}

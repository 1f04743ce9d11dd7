//! Program that follows limits of `OpenADR` 3 events as orders of a grid operator.
use std::io;
use std::process::ExitCode;

use chrono::Utc;
use clap::Parser;
use slackwater_openadr::follow::Follower;
use slackwater_openadr::settings::Arguments;
use tokio::signal;
use tokio::signal::unix::SignalKind;
use tokio::time::{Instant, sleep_until};
use tracing::{error, info};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    arguments.log.begin_log();
    let follower = match arguments.connect() {
        Ok(follower) => follower,
        Err(reason) => {
            error!(%reason, "cannot start");
            return ExitCode::FAILURE;
        }
    };
    match follow_events(follower).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            error!(%reason, "cannot wait for signals");
            ExitCode::FAILURE
        }
    }
}

/// Follows until a signal says stop. The order that was sent last is left to the service.
async fn follow_events(mut follower: Follower) -> io::Result<()> {
    let mut stop = signal::unix::signal(SignalKind::terminate())?;
    let stopped = async move {
        tokio::select! {
            _ = stop.recv() => {}
            _ = signal::ctrl_c() => {}
        }
    };
    info!("following events");
    let turns = async {
        loop {
            let pause = follower.follow_once(Utc::now).await;
            sleep_until(Instant::now() + pause).await;
        }
    };
    tokio::select! {
        () = stopped => {}
        () = turns => {}
    }
    Ok(())
}

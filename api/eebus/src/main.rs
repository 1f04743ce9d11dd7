//! Program that follows limits of an EEBUS control box as orders of a grid operator.
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use chrono::Utc;
use clap::Parser;
use eebus::cert::Identity;
use eebus::mdns::{Mdns, MdnsError};
use eebus::runtime::{ConnectionError, Hub};
use eebus::ship::{DeviceCategory, DiscoveryError, ShipTxtRecord};
use eebus::spine::DeviceError;
use slackwater_eebus::identity::{IdentityError, device_name, open_identity};
use slackwater_eebus::settings::Arguments;
use slackwater_eebus::system::{LpcSystem, OfferedFailSafe};
use slackwater_eebus::wanted::{WantedState, follow_states};
use slackwater_engine::units::Power;
use slackwater_grid_client::arguments::ConnectError;
use slackwater_grid_client::service::Service;
use tokio::signal;
use tokio::signal::unix::SignalKind;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tracing::{error, info};

/// Time after which a service that does not answer at the start is asked again.
const RETRY: Duration = Duration::from_secs(5);

/// Failure of the program.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Setting(#[from] ConnectError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error("--trust is the SKI of this program; it must be that of the control box")]
    OwnSki,
    #[error("the sender has no fail_safe_kw in the settings of the service; LPC needs one")]
    NoFailSafe,
    #[error("cannot describe the device: {0}")]
    Device(#[from] DeviceError),
    #[error("cannot describe the announcement: {0}")]
    Record(#[from] DiscoveryError),
    #[error("cannot announce by mDNS: {0}")]
    Mdns(#[from] MdnsError),
    #[error("{0}")]
    Connection(#[from] ConnectionError),
    #[error("cannot wait for signals: {0}")]
    Signals(io::Error),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    arguments.log.begin_log();
    match follow_box(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            error!(%reason, "ends");
            ExitCode::FAILURE
        }
    }
}

/// Follows until a signal says stop. The order that was sent last is left to the service.
async fn follow_box(arguments: &Arguments) -> Result<(), Failure> {
    let mut stop = signal::unix::signal(SignalKind::terminate()).map_err(Failure::Signals)?;
    tokio::select! {
        _ = stop.recv() => Ok(()),
        _ = signal::ctrl_c() => Ok(()),
        ended = serve_box(arguments) => ended,
    }
}

async fn serve_box(arguments: &Arguments) -> Result<(), Failure> {
    let service = arguments.connect_service()?;
    let identity = open_identity(&arguments.key_file)?;
    if identity.ski == arguments.trust {
        return Err(Failure::OwnSki);
    }
    println!("SKI {}", identity.ski.to_display_string());
    let limit = read_fail_safe(&service).await?;
    let fail_safe = OfferedFailSafe { limit, hold: arguments.hold_time() };
    let record = describe_device(&identity)?;

    let (wanted, states) = watch::channel(WantedState::default());
    let (taken, numbers) = watch::channel(0);
    tokio::spawn(follow_states(service, states, taken));
    let channels = (wanted, numbers);
    let mut system = LpcSystem::new(identity, arguments.trust, fail_safe, Utc::now, channels)?;
    let address = system.listen(arguments.listen).await?;
    println!("listening on {address}");
    let _announced = announce_device(arguments, system.hub_mut(), &record, address.port())?;
    loop {
        system.handle_next().await?;
    }
}

/// Fail-safe limit of the service, as soon as it answers.
async fn read_fail_safe(service: &Service) -> Result<Power, Failure> {
    loop {
        match service.read_sender().await {
            Ok(state) => {
                let limit = state.fail_safe.ok_or(Failure::NoFailSafe)?;
                info!(limit_kw = limit.as_kw(), "fail-safe of the service");
                return Ok(limit);
            }
            Err(failure) => error!(%failure, "the service does not answer"),
        }
        sleep_until(Instant::now() + RETRY).await;
    }
}

fn describe_device(identity: &Identity) -> Result<ShipTxtRecord, Failure> {
    let id = device_name(identity.ski).parse()?;
    Ok(ShipTxtRecord::new(id, identity.ski)
        .with_brand("Slackwater")
        .with_model("slackwater-eebus")
        .with_device_type("EnergyManagementSystem")
        .with_categories([DeviceCategory::EnergyManagementSystem]))
}

/// Announces the device and looks for its control box; the announcement ends with the value returned.
fn announce_device(
    arguments: &Arguments,
    hub: &mut Hub,
    record: &ShipTxtRecord,
    port: u16,
) -> Result<Option<Mdns>, Failure> {
    if arguments.announce.is_empty() {
        return Ok(None);
    }
    let mut mdns = Mdns::new()?;
    let name = hub.ship_id().to_owned();
    mdns.announce(&name, record, port, &arguments.announce)?;
    hub.browse(&mdns)?;
    Ok(Some(mdns))
}

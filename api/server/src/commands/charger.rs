//! Chargers that connect to the service by OCPP, in the files of the integration.
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use slackwater_ocpp::edge::enrolment::enrol;
use slackwater_ocpp::edge::files::{FileError, Folder};
use slackwater_ocpp::settings::OcppSettings;
use slackwater_service::config::Config;

use crate::commands::arguments::{ChargerCommand, ChargerLine};
use crate::commands::failure::Failure;
use crate::commands::output::{print, print_secret};

/// Runs a command about chargers.
pub(crate) fn run_charger_command(
    settings: Option<&Path>,
    line: ChargerLine,
) -> Result<(), Failure> {
    let path = match line.state_folder {
        Some(folder) => folder,
        None => folder_of_settings(settings)?,
    };
    let folder = Folder::new(&path);
    let missing =
        |identity: &String| Failure::NoCharger { identity: identity.clone(), folder: path.clone() };
    match &line.command {
        ChargerCommand::Add { identity, replace } => {
            let new = enrol(&folder, identity, *replace)?;
            print_secret(&format!("password {}\ncode {}", new.password, new.code))
        }
        ChargerCommand::List => {
            let all = folder.identities()?.into_iter().map(|identity| summary(&folder, &identity));
            print(&format!("{:#}", Value::from(all.collect::<Result<Vec<_>, _>>()?)))
        }
        ChargerCommand::Show { identity } => {
            folder.credentials(identity)?.ok_or_else(|| missing(identity))?;
            let mut shown = summary(&folder, identity)?;
            shown["station"] = json!(folder.state(identity)?.map(|kept| kept.station));
            print(&format!("{shown:#}"))
        }
        ChargerCommand::Forget { identity } => {
            if !folder.forget(identity)? {
                return Err(missing(identity));
            }
            print(&format!("{:#}", json!({ "forgotten": identity })))
        }
    }
}

/// Folder of the integration of OCPP in the settings.
fn folder_of_settings(settings: Option<&Path>) -> Result<PathBuf, Failure> {
    let environments = Config::load(settings)?.environments;
    let integrations = environments.production.map(|own| own.integrations).unwrap_or_default();
    let ocpp = integrations.values().filter(|own| own.kind() == "ocpp");
    let mut folders = ocpp.filter_map(|own| own.read::<OcppSettings>().ok());
    folders.next().map(|own| own.state_folder).ok_or(Failure::NoChargerFolder)
}

/// Summary of a charger.
fn summary(folder: &Folder, identity: &str) -> Result<Value, FileError> {
    let kept = folder.state(identity)?.unwrap_or_default();
    let station = &kept.station;
    Ok(json!({
        "identity": identity,
        "model": station.model,
        "heard_at": station.heard_at,
        "connectors": station.connectors.len(),
        "links": kept.links.len(),
    }))
}

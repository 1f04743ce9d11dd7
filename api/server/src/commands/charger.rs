//! Chargers that connect by OCPP, at a running server or in the files of the integration.
use std::path::{Path, PathBuf};

use axum::http::Method;
use serde_json::{Value, json};
use slackwater_ocpp::edge::enrolment::enrol;
use slackwater_ocpp::edge::files::{FileError, Folder};
use slackwater_ocpp::edge::operator::{describe_briefly, describe_failure};
use slackwater_ocpp::facts::{Reset, Trigger};
use slackwater_ocpp::settings::OcppSettings;
use slackwater_service::config::Config;

use crate::admin::chargers::{ResetOrder, TriggerOrder, UnlockOrder};
use crate::commands::arguments::{ChargerCommand, ChargerLine, TriggerWord};
use crate::commands::failure::Failure;
use crate::commands::inventory::path_of;
use crate::commands::operator::{Body, Operator, path_segment};
use crate::commands::output::{print, print_secret};

/// Runs a command about chargers.
pub(crate) async fn run_charger_command(
    settings: Option<&Path>,
    line: ChargerLine,
) -> Result<(), Failure> {
    let ChargerLine { server, state_folder, vendor, command } = line;
    let folder = match (state_folder, &command) {
        (None, ChargerCommand::Add { .. }) => Some(folder_of_settings(settings)?),
        (given, _) => given,
    };
    if let Some(folder) = folder {
        return run_in_folder(&folder, &command);
    }
    let (method, path, body) = request_of(&command).ok_or(Failure::NoChargerFolder)?;
    let operator = Operator::connect(&server, settings)?;
    operator.print_answer(method, &path_of(&path, &[("vendor", vendor)]), body).await
}

/// Runs a command on the files of a folder.
fn run_in_folder(path: &Path, command: &ChargerCommand) -> Result<(), Failure> {
    let folder = Folder::new(path);
    let missing = |identity: &String| Failure::NoCharger {
        identity: identity.clone(),
        folder: path.to_owned(),
    };
    match command {
        ChargerCommand::Add { identity, replace } => {
            let new = enrol(&folder, identity, *replace)?;
            print_secret(&format!("password {}\ncode {}", new.password, new.code))
        }
        ChargerCommand::List => {
            // One whose state cannot be read is named; the others are shown.
            let show = |identity: String| {
                summary(&folder, &identity)
                    .unwrap_or_else(|failure| describe_failure(&identity, &failure))
            };
            let all: Vec<Value> = folder.identities()?.into_iter().map(show).collect();
            print(&format!("{:#}", Value::from(all)))
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
        ChargerCommand::Trigger { .. }
        | ChargerCommand::Reset { .. }
        | ChargerCommand::Unlock { .. }
        | ChargerCommand::ClearTokens { .. } => Err(Failure::ChargerNeedsServer),
    }
}

/// The request that does it at a running server; `None` for what is done in files only.
fn request_of(command: &ChargerCommand) -> Option<(Method, String, Body)> {
    let of = |identity: &String| format!("chargers/{}", path_segment(identity));
    Some(match command {
        ChargerCommand::Add { .. } => return None,
        ChargerCommand::List => (Method::GET, "chargers".to_owned(), Body::default()),
        ChargerCommand::Show { identity } => (Method::GET, of(identity), Body::default()),
        ChargerCommand::Forget { identity } => (Method::DELETE, of(identity), Body::default()),
        ChargerCommand::Trigger { identity, message, connector } => {
            let order = TriggerOrder { message: (*message).into(), connector: *connector };
            (Method::POST, format!("{}/trigger", of(identity)), Body::json(&json!(order)))
        }
        ChargerCommand::Reset { identity, hard } => {
            let order = ResetOrder { kind: if *hard { Reset::Hard } else { Reset::Soft } };
            (Method::POST, format!("{}/reset", of(identity)), Body::json(&json!(order)))
        }
        ChargerCommand::Unlock { identity, connector } => {
            let order = UnlockOrder { connector: *connector };
            (Method::POST, format!("{}/unlock", of(identity)), Body::json(&json!(order)))
        }
        ChargerCommand::ClearTokens { identity } => {
            (Method::POST, format!("{}/clear-tokens", of(identity)), Body::default())
        }
    })
}

/// Folder of the integration of OCPP in the settings.
fn folder_of_settings(settings: Option<&Path>) -> Result<PathBuf, Failure> {
    let environments = Config::load(settings)?.environments;
    let integrations = environments.production.map(|own| own.integrations).unwrap_or_default();
    let ocpp = integrations.values().filter(|own| own.kind() == "ocpp");
    let mut folders = ocpp.filter_map(|own| own.read::<OcppSettings>().ok());
    folders.next().map(|own| own.state_folder).ok_or(Failure::NoChargerFolder)
}

/// Summary of a charger in a folder. Its file does not say whether it is connected.
fn summary(folder: &Folder, identity: &str) -> Result<Value, FileError> {
    let mut brief = describe_briefly(identity, &folder.state(identity)?.unwrap_or_default());
    if let Some(fields) = brief.as_object_mut() {
        fields.remove("is_connected");
    }
    Ok(brief)
}

impl From<TriggerWord> for Trigger {
    fn from(word: TriggerWord) -> Self {
        match word {
            TriggerWord::Boot => Self::Boot,
            TriggerWord::Status => Self::Status,
            TriggerWord::MeterValues => Self::MeterValues,
            TriggerWord::Heartbeat => Self::Heartbeat,
            TriggerWord::Diagnostics => Self::Diagnostics,
            TriggerWord::Firmware => Self::Firmware,
        }
    }
}

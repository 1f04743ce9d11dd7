//! Settings: checked without a start, and printed.
use std::collections::BTreeSet;
use std::path::Path;

use slackwater_integration::profile::VendorCode;
use slackwater_integration::registry::{Registry, RegistryError, Settings, SettingsError};
use slackwater_ocpp::settings::OcppSettings;
use slackwater_service::config::error::ConfigError;
use slackwater_service::config::grid::GridTarget;
use slackwater_service::config::load::ignored_variables;
use slackwater_service::config::schema::schema_text;
use slackwater_service::config::{Config, Environments};
use slackwater_service::grid::orders::GridSiteError;
use slackwater_service::outbox::subscribing::check_events;
use slackwater_service::prices::keep::read_file;
use slackwater_store::evidence::EvidenceKey;
use slackwater_sunspec::settings::SunSpecSettings;
use uuid::Uuid;

use crate::commands::arguments::ConfigCommand;
use crate::commands::failure::Failure;
use crate::commands::output::print;
use crate::commands::serve::{find_unknown_zones, read_scenario, sandbox_clock};
use crate::running::{ServiceError, check_sockets};
use crate::serve::tls;

/// Runs a command about settings.
pub(crate) fn run_config_command(
    file: Option<&Path>,
    command: &ConfigCommand,
    registry: &Registry,
) -> Result<(), Failure> {
    match command {
        ConfigCommand::Schema => print(&schema_text()),
        ConfigCommand::Print { json: true } => print(&format!("{:#}", Config::load(file)?.shown())),
        ConfigCommand::Print { json: false } => {
            let text = toml::to_string(&Config::load(file)?.shown());
            print(&text.map_err(|error| ConfigError::Settings(error.to_string()))?)
        }
        ConfigCommand::Check => {
            let config = Config::load(file)?;
            for warning in warnings(&config, file) {
                eprintln!("warning: {warning}");
            }
            let faults = faults(&config, registry);
            if faults.is_empty() {
                print("The settings can be used.")
            } else {
                Err(Failure::Settings(faults))
            }
        }
    }
}

/// Faults that a start tolerates.
fn warnings(config: &Config, file: Option<&Path>) -> Vec<String> {
    let open = config.open_files(file).into_iter().map(|open| open.to_string());
    let ignored = ignored_variables().into_iter();
    let ignored = ignored.map(|name| format!("{name} is not a setting and is ignored"));
    let linkless = config.opens_without_integrations().then(|| {
        "environments.production has no integrations, so that no device can be linked".to_owned()
    });
    open.chain(ignored).chain(linkless).chain(config.doubts()).collect()
}

/// Everything that a start would refuse beyond single values, each in a line.
fn faults(config: &Config, registry: &Registry) -> Vec<String> {
    let mut faults = Vec::new();
    let scenario = read_scenario(config).unwrap_or_else(|fault| {
        faults.push(format!("sandbox.scenario: {fault}"));
        None
    });
    let unknown = find_unknown_zones(config, scenario.as_ref());
    faults.extend(unknown.map(|fault| fault.to_string()));
    let clock = sandbox_clock(config, scenario.as_ref());
    faults.extend(clock.err().map(|fault| format!("sandbox.clock: {fault}")));
    for (id, zone) in &config.zones {
        faults.extend(read_file(zone).err().map(|fault| fault.of_zone(id).to_string()));
    }
    faults.extend(check_sockets(config).err().map(|fault| fault.to_string()));
    let tls = config.admin.tls.as_ref().map(tls::read).transpose();
    faults.extend(tls.err().map(|fault| format!("admin.tls.{fault}")));
    let broker = config.home_assistant.as_ref().map(tls::read_broker).transpose();
    faults.extend(broker.err().map(|fault| format!("home_assistant.{fault}")));
    if config.environments == Environments::default() {
        faults.push(ServiceError::Nothing.to_string());
    }
    for (index, new) in config.events.subscriptions.iter().enumerate() {
        let place = format!("events.subscriptions[{index}]");
        let fault = check_events(&config.events, new).err();
        faults.extend(fault.map(|fault| format!("{place}.{fault}")));
        faults.extend(find_fault_of_client(&format!("{place}.client"), &new.client));
    }
    if let (Some(id), true) = (&config.sandbox.client, scenario.is_some()) {
        faults.extend(find_fault_of_client("sandbox.client", id));
    }
    for (name, sender) in &config.grid {
        let key = sender.evidence_key_file.as_deref().map(EvidenceKey::read_file).transpose();
        faults.extend(key.err().map(|fault| format!("grid.{name}.evidence_key_file: {fault}")));
    }
    faults.extend(faults_of_integrations(config, registry));
    faults
}

/// Fault of the name of a client, whether or not the database has such a client.
fn find_fault_of_client(setting: &str, id: &str) -> Option<String> {
    let is_id = Uuid::parse_str(id).is_ok();
    (!is_id).then(|| {
        format!(
            "{setting}: {id:?} is not the ID of a client, such as \
             0b3c8f52-5b43-4b6e-9b0e-3f3c6f0e6a51; `slackwater-api client list` has them"
        )
    })
}

/// Parts of the settings of an integration that others refer to.
struct OpenedSettings {
    code: VendorCode,
    sites: Vec<String>,
}

/// Checks the settings of an integration; `None` if only the integration can read them. Its opening
/// would take its address.
fn check_integration(settings: &Settings) -> Result<Option<OpenedSettings>, SettingsError> {
    match settings.kind() {
        "ocpp" => {
            let own = settings.read::<OcppSettings>()?;
            own.check()?;
            own.security()?;
            let sites = own.sites.into_keys().collect();
            Ok(Some(OpenedSettings { code: own.vendor_code, sites }))
        }
        "sunspec" => {
            let own = settings.read::<SunSpecSettings>()?;
            own.check()?;
            Ok(Some(OpenedSettings { code: own.vendor_code, sites: Vec::new() }))
        }
        _ => Ok(None),
    }
}

/// Faults of integrations, and of grid orders for their sites.
fn faults_of_integrations(config: &Config, registry: &Registry) -> Vec<String> {
    let (mut faults, mut opened, mut codes) = (Vec::new(), Vec::new(), BTreeSet::new());
    let production = config.environments.production.as_ref();
    let all = production.into_iter().flat_map(|own| &own.integrations);
    for (name, settings) in all {
        let refused = |error| RegistryError::Settings { name: name.clone(), error };
        let checked = registry.check_type(name, settings);
        let checked = checked.and_then(|()| check_integration(settings).map_err(refused));
        let checked = checked.and_then(|one| {
            let code = one.as_ref().map(|one| one.code.clone());
            match code.filter(|code| !codes.insert(code.clone())) {
                Some(code) => Err(RegistryError::Duplicate { name: name.clone(), code }),
                None => Ok(one),
            }
        });
        match checked {
            Ok(one) => opened.push(one),
            Err(fault) => {
                faults.push(ServiceError::Integrations(fault).to_string());
                opened.push(None);
            }
        }
    }
    // Sites of an integration that was not read are known to the start alone.
    let Some(opened) = opened.into_iter().collect::<Option<Vec<_>>>() else { return faults };
    for (name, sender) in &config.grid {
        let Some(GridTarget::Site(site)) = sender.target() else { continue };
        let count = opened.iter().filter(|one| one.sites.contains(&site)).count();
        if count != 1 {
            faults.push(GridSiteError { name: name.clone(), site, count }.to_string());
        }
    }
    faults
}

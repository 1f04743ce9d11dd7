//! Settings: checked without a start, and printed.
use std::path::Path;

use slackwater_integration::registry::Registry;
use slackwater_ocpp::settings::OcppSettings;
use slackwater_service::config::Config;
use slackwater_service::config::error::ConfigError;
use slackwater_service::config::load::ignored_variables;
use slackwater_service::config::schema::schema_text;
use slackwater_service::outbox::subscribing::check_events;
use slackwater_service::prices::keep::read_file;
use slackwater_store::evidence::EvidenceKey;
use slackwater_sunspec::settings::SunSpecSettings;

use crate::commands::arguments::ConfigCommand;
use crate::commands::failure::Failure;
use crate::commands::output::print;
use crate::commands::serve::{find_unknown_zones, read_scenario, sandbox_clock};
use crate::running::check_sockets;
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
    let ignored = ignored.map(|name| format!("{name} is no setting and is ignored"));
    let linkless = config.opens_without_integrations().then(|| {
        "environments.production has no integrations, so that no device can be linked".to_owned()
    });
    open.chain(ignored).chain(linkless).collect()
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
        faults.extend(read_file(zone).err().map(|fault| format!("zones.{id}.prices: {fault}")));
    }
    faults.extend(check_sockets(config).err().map(|fault| fault.to_string()));
    let tls = config.admin.tls.as_ref().map(tls::read).transpose();
    faults.extend(tls.err().map(|fault| format!("admin.tls.{fault}")));
    let broker = config.home_assistant.as_ref().map(tls::read_broker).transpose();
    faults.extend(broker.err().map(|fault| format!("home_assistant.{fault}")));
    for new in &config.events.subscriptions {
        let fault = check_events(&config.events, new).err();
        faults.extend(fault.map(|fault| format!("events.subscriptions: {fault}")));
    }
    for (name, sender) in &config.grid {
        let key = sender.evidence_key_file.as_deref().map(EvidenceKey::read_file).transpose();
        faults.extend(key.err().map(|fault| format!("grid.{name}.evidence_key_file: {fault}")));
    }
    let production = config.environments.production.as_ref();
    for (name, settings) in production.into_iter().flat_map(|own| &own.integrations) {
        let checked = registry.check_type(name, settings).map_err(|fault| fault.to_string());
        let checked = checked.and_then(|()| match settings.kind() {
            // Only the integration knows its settings, and its opening takes its address.
            "ocpp" => settings
                .read::<OcppSettings>()
                .and_then(|own| own.check().and_then(|()| own.security()).map(|_| ()))
                .map_err(|fault| format!("{name}: {fault}")),
            "sunspec" => settings
                .read::<SunSpecSettings>()
                .and_then(|own| own.check())
                .map_err(|fault| format!("{name}: {fault}")),
            _ => Ok(()),
        });
        let place = "environments.production.integrations";
        faults.extend(checked.err().map(|fault| format!("{place}.{fault}")));
    }
    faults
}

//! Chargers that connect to the service by OCPP.
use slackwater_ocpp::edge::enrolment::enrol;
use slackwater_ocpp::edge::files::Folder;

use crate::commands::arguments::ChargerCommand;
use crate::commands::failure::Failure;
use crate::commands::output::print_secret;

/// Adds a charger, and prints its password and its code for the only time.
pub(crate) fn run_charger_command(command: &ChargerCommand) -> Result<(), Failure> {
    let ChargerCommand::Add { identity, state_folder, replace } = command;
    let new = enrol(&Folder::new(state_folder), identity, *replace)?;
    print_secret(&format!("password {}\ncode {}", new.password, new.code))
}

//! Pulling the strings of a running sandbox.
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::sandbox::generate::{generate, text_of};
use crate::sandbox::schema::schema_text;
use axum::http::Method;
use serde_json::json;

use crate::arguments::{SandboxCommand, Strings};
use crate::commands::failure::Failure;
use crate::commands::operator::ask;

/// Does what the command line says and prints the answer.
pub(crate) async fn pull(strings: Strings) -> Result<(), Failure> {
    let (method, path, body) = match strings.command {
        SandboxCommand::Schema => {
            print!("{}", schema_text());
            return Ok(());
        }
        SandboxCommand::Generate { homes, seed } => {
            print!("{}", text_of(&generate(homes, seed)));
            return Ok(());
        }
        SandboxCommand::Apply { file, client } => {
            let query = client.map(|id| format!("?client={id}")).unwrap_or_default();
            (Method::POST, format!("scenario{query}"), read(&file)?)
        }
        SandboxCommand::Scenario => (Method::GET, "scenario".to_owned(), String::new()),
        SandboxCommand::Devices => (Method::GET, "devices".to_owned(), String::new()),
        SandboxCommand::Truth { device } => {
            (Method::GET, format!("devices/{device}"), String::new())
        }
        SandboxCommand::Conduct { order } => (Method::POST, "conduct".to_owned(), order),
        SandboxCommand::Hand { order } => (Method::POST, "hand".to_owned(), order),
        SandboxCommand::Reach { device } => {
            (Method::POST, format!("devices/{device}/reach"), String::new())
        }
        SandboxCommand::Send { device, command } => {
            (Method::POST, format!("devices/{device}/send"), command)
        }
        SandboxCommand::Commands { device } => {
            let query = device.map(|device| format!("?device={device}")).unwrap_or_default();
            (Method::GET, format!("commands{query}"), String::new())
        }
        SandboxCommand::Clock { step, speed } => {
            let order = json!({ "step_seconds": step, "speed": speed });
            (Method::POST, "clock".to_owned(), order.to_string())
        }
    };
    ask(&strings.admin, method, &format!("sandbox/{path}"), body).await
}

/// The text of a file; `-` is the standard input.
pub(crate) fn read(file: &PathBuf) -> Result<String, Failure> {
    let failed = |reason: io::Error| Failure::Read { file: file.clone(), reason };
    if file == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(failed)?;
        return Ok(text);
    }
    fs::read_to_string(file).map_err(failed)
}

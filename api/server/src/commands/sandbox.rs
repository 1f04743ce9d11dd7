//! Control of a running sandbox.
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use axum::http::Method;
use form_urlencoded::Serializer;
use serde_json::json;
use slackwater_sandbox::generate::{generate, text_of};
use slackwater_sandbox::schema::schema_text;

use crate::commands::arguments::{Asked, SandboxCommand};
use crate::commands::failure::Failure;
use crate::commands::operator::{Body, Operator, path_segment};
use crate::commands::output::print;

/// Runs a command to the sandbox and prints the answer.
pub(crate) async fn run_sandbox_command(
    settings: Option<&Path>,
    line: Asked<SandboxCommand>,
) -> Result<(), Failure> {
    let json = |text: String| Body::text(text, "application/json");
    let (method, path, body) = match line.command {
        SandboxCommand::Schema => {
            return print(&schema_text());
        }
        SandboxCommand::Generate { homes, seed } => {
            return print(&text_of(&generate(homes as usize, seed)));
        }
        SandboxCommand::Apply { file, client } => {
            let query = client.map(|id| query_of("client", &id)).unwrap_or_default();
            let patch = Body::text(read_file(&file)?, "application/yaml");
            (Method::POST, format!("scenario{query}"), patch)
        }
        SandboxCommand::Scenario => (Method::GET, "scenario".to_owned(), Body::default()),
        SandboxCommand::Devices => (Method::GET, "devices".to_owned(), Body::default()),
        SandboxCommand::Truth { device } => {
            (Method::GET, format!("devices/{}", path_segment(&device)), Body::default())
        }
        SandboxCommand::Conduct { order } => (Method::POST, "conduct".to_owned(), json(order)),
        SandboxCommand::Hand { order } => (Method::POST, "hand".to_owned(), json(order)),
        SandboxCommand::Reach { device } => {
            (Method::POST, format!("devices/{}/reach", path_segment(&device)), Body::default())
        }
        SandboxCommand::Send { device, command } => {
            (Method::POST, format!("devices/{}/send", path_segment(&device)), json(command))
        }
        SandboxCommand::Commands { device } => {
            let query = device.map(|device| query_of("device", &device)).unwrap_or_default();
            (Method::GET, format!("commands{query}"), Body::default())
        }
        SandboxCommand::Clock { step: None, speed: None } => {
            (Method::GET, "clock".to_owned(), Body::default())
        }
        SandboxCommand::Clock { step, speed } => {
            let order = json!({ "step_seconds": step, "speed": speed });
            (Method::POST, "clock".to_owned(), Body::json(&order))
        }
    };
    let operator = Operator::connect(&line.server, settings)?;
    operator.print_answer(method, &format!("sandbox/{path}"), body).await
}

fn query_of(name: &str, value: &str) -> String {
    format!("?{}", Serializer::new(String::new()).append_pair(name, value).finish())
}

/// The text of a file; `-` is the standard input.
pub(crate) fn read_file(file: &PathBuf) -> Result<String, Failure> {
    let failed = |reason: io::Error| Failure::Read { file: file.clone(), reason };
    if file == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(failed)?;
        return Ok(text);
    }
    fs::read_to_string(file).map_err(failed)
}

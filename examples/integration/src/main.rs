//! The service with devices of one's own.
use std::process::ExitCode;

use slackwater_integration::registry::Registry;

fn main() -> ExitCode {
    let registry = Registry::new().with("folder", folder_integration::open);
    slackwater_server::process::run(&registry)
}

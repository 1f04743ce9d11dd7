//! The program, with the integrations of chargers by OCPP and of inverters by SunSpec. Its sandbox simulates devices.
use std::process::ExitCode;

use mimalloc::MiMalloc;
use slackwater_integration::registry::Registry;

/// Answers are many small texts that live for microseconds.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let registry = Registry::new()
        .with("ocpp", slackwater_ocpp::vendor::open)
        .with("sunspec", slackwater_sunspec::vendor::open);
    slackwater_server::process::run(&registry)
}

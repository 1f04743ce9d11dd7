//! The program, with no integration: its sandbox simulates devices.
use std::process::ExitCode;

use mimalloc::MiMalloc;
use slackwater_integration::registry::Registry;

/// Answers are many small texts that live for microseconds.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    slackwater_server::process::run(&Registry::new())
}

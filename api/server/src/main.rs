//! The program. All of it is in the library, where it is compiled once.
use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Answers are many small texts that live for microseconds.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    slackwater_server::process::run()
}

//! Functions that libFuzzer calls. `make fuzz-engine` builds and runs them.
mod bytes;
pub mod targets;

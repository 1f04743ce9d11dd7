//! Rows of a scenario: users, devices, policies and recorded energy of the sandbox.

pub mod residents;
pub mod samples;

//! Rows of a scenario: users, devices, policies and recorded energy of the sandbox.
//!
//! | File | Holds |
//! |---|---|
//! | [`residents`] | the sandbox behind a service |
//! | [`moving`] | users, devices and policies of a scenario, written for a client |
//! | [`samples`] | recorded energy of a scenario |
//! | [`kept`] | clock and patches of the sandbox, which outlive a restart |

pub mod kept;
pub mod moving;
pub mod residents;
pub mod samples;

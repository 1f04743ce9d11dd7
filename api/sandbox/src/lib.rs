//! Vendors, devices and homes that are simulated, for people who test their
//! own applications.
//!
//! A scenario says what there is; the engine's `sim` says how it behaves; this
//! folder puts vendors in front of it, with their latency, moods and outages,
//! and takes orders from whoever tests.
//!
//! | File | Does |
//! |---|---|
//! | [`scenario`], [`devices`], [`conduct`], [`words`] | what a scenario file says |
//! | [`document`], [`check`] | reads it, with lines and fields of what is wrong |
//! | [`schema`] | its JSON Schema |
//! | [`generate`] | scenarios of any size |
//! | [`build`] | from a scenario to the engine's homes |
//! | [`world`] | all homes, and who is where in them |
//! | [`handle`] | the running sandbox: vendors, patches, orders |
//! | [`simulated`] | a vendor as the service sees it |
//! | [`report`] | what a device reports |
//! | [`control`] | orders as JSON |

pub mod build;
pub mod check;
pub mod conduct;
pub mod control;
mod defaults;
pub mod devices;
pub mod document;
pub mod generate;
pub mod handle;
pub mod report;
pub mod scenario;
pub mod schema;
pub mod simulated;
pub mod words;
pub mod world;

#[cfg(test)]
mod tests;

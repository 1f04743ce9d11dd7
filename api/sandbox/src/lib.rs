//! Simulated manufacturers, devices and homes, for tests of client applications.
//!
//! A scenario lists homes, devices and manufacturers. The crate `slackwater-sim` computes the
//! homes. This crate puts manufacturers in front of them, with latency, faults and outages, and
//! takes orders while the sandbox runs.
//!
//! | File | Holds |
//! |---|---|
//! | [`scenario`], [`devices`], [`conduct`], [`words`] | format of a scenario |
//! | [`document`] | reading of a scenario, with line and field of each error |
//! | [`schema`] | JSON Schema of a scenario |
//! | [`generate`] | scenarios of any size |
//! | [`build`] | from a scenario to the homes of `slackwater-sim` |
//! | [`world`] | all homes, and the place of each device in them |
//! | [`handle`] | running sandbox: manufacturers, patches, orders |
//! | [`simulated`] | simulated manufacturer as a `Vendor` |
//! | [`report`] | readings of a device |
//! | [`control`] | orders as JSON |

pub mod build;
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
